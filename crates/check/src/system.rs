//! What is explored: the nodes, what their applications do, and what must hold.

use vorrang_protocol::{NodeId, Order, Protocol};

/// A closed system: nothing happens in it but what its nodes and its plan do.
#[derive(Clone, Debug)]
pub struct System<P: Protocol, M> {
    /// The nodes as they are before they start; node `i` is the one at place `i`.
    pub nodes: Vec<P>,
    /// What the applications do.
    pub plan: Plan<P::Command>,
    /// What must hold.
    pub monitor: M,
    /// In which order messages arrive.
    pub order: Order,
}

/// What the applications do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Plan<C> {
    /// A list for every node; the lists are interleaved in every way.
    PerNode(Vec<Vec<Ask<C>>>),
    /// One list for all, in this order, each command only when the system is at rest: no message
    /// in flight, no timer armed.
    Script(Vec<(NodeId, C)>),
}

impl<C: Clone> Plan<C> {
    /// Every node takes so many turns: it asks, waits to be told that it may, and leaves.
    pub fn turns(entries: &[u32], ask: &C, leave: &C) -> Self {
        Self::turns_with(entries.iter().map(|&count| (count, ask.clone())), leave, &[])
    }

    /// The same, each node asking in its own way; the nodes in `stay` never leave after their last
    /// entry.
    ///
    /// # Panics
    ///
    /// If a node that stays is not there.
    pub fn turns_with(
        turns: impl IntoIterator<Item = (u32, C)>,
        leave: &C,
        stay: &[NodeId],
    ) -> Self {
        let list = |(count, ask): (u32, C)| {
            let turn = [Ask::then_wait(ask), Ask::at_once(leave.clone())];
            turn.into_iter().cycle().take(2 * count as usize).collect()
        };
        let mut lists: Vec<Vec<_>> = turns.into_iter().map(list).collect();
        for node in stay {
            lists[node.index()].pop();
        }
        Self::PerNode(lists)
    }
}

/// One command of a node's list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ask<C> {
    /// The command.
    pub command: C,
    /// Whether the list's next command waits for a notice at this node. Without, it may come at
    /// any moment after this one.
    pub then_wait: bool,
}

impl<C> Ask<C> {
    /// A command whose answer the application waits for.
    pub const fn then_wait(command: C) -> Self {
        Self { command, then_wait: true }
    }

    /// A command that has no answer, or whose answer the application does not wait for.
    pub const fn at_once(command: C) -> Self {
        Self { command, then_wait: false }
    }
}

/// How far the application of a node, or the script of all, has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    /// How many commands have been given.
    pub(crate) given: u32,
    /// Whether the next need not wait for a notice.
    pub(crate) ready: bool,
}

impl<C> Plan<C> {
    /// Objects to a plan that does not fit so many nodes.
    pub(crate) fn assert_fits(&self, nodes: usize) {
        match self {
            Self::PerNode(lists) => assert!(
                lists.len() == nodes,
                "a plan with {} lists does not fit {nodes} nodes: one list for every node",
                lists.len()
            ),
            Self::Script(commands) => {
                for (at, _) in commands {
                    assert!(
                        at.index() < nodes,
                        "the script commands node {at}, but there are only {nodes} nodes"
                    );
                }
            }
        }
    }

    /// One place for every list.
    pub(crate) fn first_places(&self) -> Vec<Place> {
        let lists = match self {
            Self::PerNode(lists) => lists.len(),
            Self::Script(_) => 1,
        };
        let first = Place { given: 0, ready: true };
        vec![first; lists]
    }

    /// The command that the list is at, if it has one left and need not wait for a notice.
    pub(crate) fn next(&self, list: usize, place: Place) -> Option<(NodeId, &C)> {
        let given = place.given as usize;
        match self {
            Self::PerNode(_) if !place.ready => None,
            Self::PerNode(lists) => {
                let ask = lists[list].get(given)?;
                Some((NodeId(list as u32), &ask.command))
            }
            Self::Script(commands) => commands.get(given).map(|(at, command)| (*at, command)),
        }
    }

    /// The list that something at this node moves on, and where it then stands.
    pub(crate) fn advance(
        &self,
        at: NodeId,
        places: &[Place],
        commanded: bool,
        heard: bool,
    ) -> (usize, Place) {
        match self {
            Self::PerNode(lists) => {
                let list = at.index();
                let mut place = places[list];
                if commanded {
                    place.ready = !lists[list][place.given as usize].then_wait;
                    place.given += 1;
                }
                place.ready |= heard;
                (list, place)
            }
            Self::Script(_) => {
                let mut place = places[0];
                place.given += u32::from(commanded);
                (0, place)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { given: 0, ready: true };

    #[test]
    fn turns_ask_and_wait_and_leave() {
        let plan = Plan::turns(&[2, 0], &'a', &'r');
        let turn = [Ask::then_wait('a'), Ask::at_once('r')];
        let twice = [turn.clone(), turn].concat();
        assert_eq!(plan, Plan::PerNode(vec![twice, vec![]]));
    }

    #[test]
    fn whoever_stays_does_not_leave_after_the_last_turn() {
        let plan = Plan::turns_with([(1, 'a'), (2, 'b')], &'r', &[NodeId(1)]);
        let [ask, leave] = [Ask::then_wait('b'), Ask::at_once('r')];
        let first = vec![Ask::then_wait('a'), leave.clone()];
        assert_eq!(plan, Plan::PerNode(vec![first, vec![ask.clone(), leave, ask]]));
    }

    #[test]
    fn a_list_waits_for_a_notice_only_where_it_says_so() {
        let plan = Plan::turns(&[1, 0], &'a', &'r');
        let places = plan.first_places();
        assert_eq!(places, [PLACE, PLACE]);
        assert_eq!(plan.next(0, PLACE), Some((NodeId(0), &'a')));
        assert_eq!(plan.next(1, PLACE), None);

        let (list, asked) = plan.advance(NodeId(0), &places, true, false);
        assert_eq!((list, asked.given, asked.ready), (0, 1, false));
        assert_eq!(plan.next(0, asked), None);
        let (_, told) = plan.advance(NodeId(0), &[asked, PLACE], false, true);
        assert_eq!(plan.next(0, told), Some((NodeId(0), &'r')));
        let (_, left) = plan.advance(NodeId(0), &[told, PLACE], true, false);
        assert_eq!((left.given, left.ready), (2, true));
        assert_eq!(plan.next(0, left), None);
    }

    #[test]
    fn a_notice_within_the_command_itself_counts() {
        let plan = Plan::turns(&[1], &'a', &'r');
        let (_, place) = plan.advance(NodeId(0), &[PLACE], true, true);
        assert_eq!(plan.next(0, place), Some((NodeId(0), &'r')));
    }

    #[test]
    fn a_script_has_one_place_whoever_is_commanded() {
        let plan = Plan::Script(vec![(NodeId(4), 'x'), (NodeId(2), 'y')]);
        let (list, place) = plan.advance(NodeId(4), &plan.first_places(), true, false);
        assert_eq!(plan.next(list, place), Some((NodeId(2), &'y')));
        let (_, same) = plan.advance(NodeId(3), &[place], false, true);
        assert_eq!(same, place, "a notice moves no script on");
    }

    #[test]
    #[should_panic(expected = "one list for every node")]
    fn a_plan_for_another_number_of_nodes_is_an_error() {
        Plan::turns(&[1, 1], &'a', &'r').assert_fits(3);
    }

    #[test]
    #[should_panic(expected = "the script commands node 3")]
    fn a_script_for_a_node_that_is_not_there_is_an_error() {
        Plan::Script(vec![(NodeId(3), 'x')]).assert_fits(3);
    }
}
