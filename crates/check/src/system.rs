//! What is explored: the nodes, what their applications do, and what must hold.

use std::hash::Hash;
use std::time::Duration;

use vorrang_protocol::{Invariant, NodeId, Order, Protocol};

use crate::fingerprint::{Part, Print};

/// A closed system: nothing happens in it but what its nodes, its plan and its faults do.
#[derive(Clone, Debug)]
pub struct System<P: Protocol, M> {
    /// The nodes as they are before they start; node `i` is the one at place `i`.
    pub nodes: Vec<P>,
    /// What the applications do.
    pub plan: Plan<P::Command>,
    /// What must hold.
    pub monitor: M,
    /// What lies between the nodes.
    pub links: Links,
    /// What may go wrong.
    pub faults: Faults,
    /// What must hold besides.
    pub demands: Demands<P>,
}

/// What must hold of a system besides what its monitor says.
#[derive(Clone, Debug)]
pub struct Demands<P: Protocol> {
    /// What it means that what is owed comes.
    pub liveness: Liveness,
    /// What holds of all nodes and messages in every state.
    pub invariants: Vec<Invariant<P>>,
}

impl<P: Protocol> Default for Demands<P> {
    fn default() -> Self {
        Self { liveness: Liveness::default(), invariants: Vec::new() }
    }
}

/// What it means that what the monitor says is [owed](vorrang_protocol::Monitor::owed) comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Liveness {
    /// From every state in which it is owed, a state can be reached in which it is not: by messages
    /// that arrive, timers that run out and commands that are bound to be given, and without
    /// anything going wrong and any application asking for more. Coins fall as they need to.
    #[default]
    Possible,
    /// Besides, it comes in every fair run. A run is fair if every message arrives, every timer
    /// that may run out does unless it is set again or cancelled, and every command that is bound
    /// to be given is: weak fairness for each link that keeps its order, for each message on
    /// others, for each timer and for each list of the plan. Coins fall as badly as they can.
    Fair,
}

/// How messages travel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Links {
    /// In which order messages from one node to another arrive.
    pub order: Order,
    /// How long a message takes at most; without a bound, no time-out can tell a late message from
    /// a lost one.
    pub within: Option<Duration>,
}

impl From<Order> for Links {
    /// Messages arrive some time.
    fn from(order: Order) -> Self {
        Self { order, within: None }
    }
}

/// How much may go wrong, in all: every run with at most so many faults is followed, each at every
/// moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Faults {
    /// Crashes, each between two steps.
    pub crashes: u8,
    /// Crashed nodes that come up again.
    pub restarts: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that arrive once more.
    pub duplicates: u8,
    /// Whether a crash may take along what the node has sent and has not arrived, as it does on
    /// connections, and in the middle of a step on any links. Not counted as losses.
    pub severing: bool,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { crashes: 0, restarts: 0, losses: 0, duplicates: 0, severing: false };

    /// The same, without what cannot happen if so many nodes are down: no more can come up again
    /// than are down or yet to crash, and what the dead have sent is lost only where some are. So
    /// states with the same future look the same.
    pub(crate) fn within_reach(self, down: u32) -> Self {
        let most = u32::from(self.crashes) + down;
        Self {
            restarts: u32::from(self.restarts).min(most) as u8,
            severing: self.severing && most > 0,
            ..self
        }
    }
}

/// What the applications do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Plan<C> {
    /// A list for every node; the lists are interleaved in every way.
    ///
    /// A list says what an application may do, and not that it will: a system in which nothing but
    /// commands are left is at rest, and judged, unless one of them [goes on](Ask::goes_on) with
    /// what was begun. So nobody is served only because somebody else asks later.
    PerNode(Vec<Vec<Ask<C>>>),
    /// One list for all, in this order, each command only when the system is at rest: no message
    /// in flight, no timer armed. While the node to be commanded is down, the script stands still;
    /// if it never comes up again, for ever. The commands of a script are bound to be given, so
    /// the rest between two of them is not judged.
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
            let turn = [Ask::then_wait(ask), Ask::to_end(leave.clone())];
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
    /// Whether this goes on with what the command before began: the application is bound to give
    /// it, once it may. After a crash, the list goes on with the next command that does not.
    pub goes_on: bool,
}

impl<C> Ask<C> {
    /// A command whose answer the application waits for.
    pub const fn then_wait(command: C) -> Self {
        Self { command, then_wait: true, goes_on: false }
    }

    /// A command that has no answer, or whose answer the application does not wait for.
    pub const fn at_once(command: C) -> Self {
        Self { command, then_wait: false, goes_on: false }
    }

    /// As [`at_once`](Self::at_once), and only together with the command before.
    pub const fn to_end(command: C) -> Self {
        Self { command, then_wait: false, goes_on: true }
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

    /// A command that is on the agenda.
    pub(crate) fn command(&self, list: usize, given: u32) -> &C {
        match self {
            Self::PerNode(lists) => &lists[list][given as usize].command,
            Self::Script(commands) => &commands[given as usize].1,
        }
    }
}

impl<C: Hash> Plan<C> {
    /// The plan as the search needs it, without the commands themselves.
    pub(crate) fn agenda(&self) -> Agenda {
        let print = |command: &C| Print::of(Part::Command, command);
        match self {
            Self::PerNode(lists) => {
                let item = |at: u32, ask: &Ask<C>| Item {
                    at: NodeId(at),
                    print: print(&ask.command),
                    then_wait: ask.then_wait,
                    goes_on: ask.goes_on,
                };
                let list = |(at, list): (u32, &Vec<Ask<C>>)| {
                    list.iter().map(|ask| item(at, ask)).collect()
                };
                Agenda { lists: (0..).zip(lists).map(list).collect(), is_script: false }
            }
            Self::Script(commands) => {
                let item = |(at, command): &(NodeId, C)| Item {
                    at: *at,
                    print: print(command),
                    then_wait: false,
                    goes_on: false,
                };
                Agenda { lists: vec![commands.iter().map(item).collect()], is_script: true }
            }
        }
    }
}

/// A plan without its commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Agenda {
    lists: Vec<Vec<Item>>,
    /// One list for all nodes, that waits for rest.
    pub(crate) is_script: bool,
}

/// A command to be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) at: NodeId,
    pub(crate) print: Print,
    then_wait: bool,
    goes_on: bool,
}

impl Agenda {
    /// One place for every list.
    pub(crate) fn first_places(&self) -> Vec<Place> {
        vec![Place { given: 0, ready: true }; self.lists.len()]
    }

    /// The command that the list is at, if it has one left and need not wait for a notice.
    pub(crate) fn next(&self, list: usize, place: Place) -> Option<Item> {
        let item = self.lists[list].get(place.given as usize)?;
        (place.ready || self.is_script).then_some(*item)
    }

    /// Whether the command that the list is at goes on with one that was given.
    pub(crate) fn goes_on(&self, list: usize, place: Place) -> bool {
        place.given > 0 && self.lists[list].get(place.given as usize).is_some_and(|it| it.goes_on)
    }

    /// The list that something at this node moves on, and where it then stands.
    pub(crate) fn advance(
        &self,
        at: NodeId,
        places: &[Place],
        commanded: bool,
        heard: bool,
    ) -> (usize, Place) {
        let list = if self.is_script { 0 } else { at.index() };
        let mut place = places[list];
        if commanded {
            place.ready = !self.lists[list][place.given as usize].then_wait;
            place.given += 1;
        }
        // A notice moves no script on.
        place.ready |= heard || self.is_script;
        (list, place)
    }

    /// Where the list of a node that crashes goes on, should the node come up again.
    pub(crate) fn skip(&self, at: NodeId, places: &[Place]) -> (usize, Place) {
        if self.is_script {
            return (0, places[0]);
        }
        let list = at.index();
        let rest = &self.lists[list][places[list].given as usize..];
        let skipped = rest.iter().take_while(|item| item.goes_on).count() as u32;
        (list, Place { given: places[list].given + skipped, ready: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { given: 0, ready: true };

    #[test]
    fn turns_ask_and_wait_and_leave() {
        let plan = Plan::turns(&[2, 0], &'a', &'r');
        let turn = [Ask::then_wait('a'), Ask::to_end('r')];
        let twice = [turn.clone(), turn].concat();
        assert_eq!(plan, Plan::PerNode(vec![twice, vec![]]));
    }

    #[test]
    fn whoever_stays_does_not_leave_after_the_last_turn() {
        let plan = Plan::turns_with([(1, 'a'), (2, 'b')], &'r', &[NodeId(1)]);
        let [ask, leave] = [Ask::then_wait('b'), Ask::to_end('r')];
        let first = vec![Ask::then_wait('a'), leave.clone()];
        assert_eq!(plan, Plan::PerNode(vec![first, vec![ask.clone(), leave, ask]]));
    }

    fn next(agenda: &Agenda, list: usize, place: Place) -> Option<(u32, Print)> {
        agenda.next(list, place).map(|item| (item.at.0, item.print))
    }

    fn of(command: char) -> Print {
        Print::of(Part::Command, &command)
    }

    #[test]
    fn a_list_waits_for_a_notice_only_where_it_says_so() {
        let plan = Plan::turns(&[1, 0], &'a', &'r').agenda();
        let places = plan.first_places();
        assert_eq!(places, [PLACE, PLACE]);
        assert_eq!(next(&plan, 0, PLACE), Some((0, of('a'))));
        assert_eq!(next(&plan, 1, PLACE), None);

        let (list, asked) = plan.advance(NodeId(0), &places, true, false);
        assert_eq!((list, asked.given, asked.ready), (0, 1, false));
        assert_eq!(next(&plan, 0, asked), None);
        let (_, told) = plan.advance(NodeId(0), &[asked, PLACE], false, true);
        assert_eq!(next(&plan, 0, told), Some((0, of('r'))));
        let (_, left) = plan.advance(NodeId(0), &[told, PLACE], true, false);
        assert_eq!((left.given, left.ready), (2, true));
        assert_eq!(next(&plan, 0, left), None);
    }

    #[test]
    fn a_notice_within_the_command_itself_counts() {
        let plan = Plan::turns(&[1], &'a', &'r').agenda();
        let (_, place) = plan.advance(NodeId(0), &[PLACE], true, true);
        assert_eq!(next(&plan, 0, place), Some((0, of('r'))));
    }

    #[test]
    fn a_crash_ends_the_turn_and_not_the_list() {
        let plan = Plan::turns(&[2], &'a', &'r').agenda();
        let asked = Place { given: 1, ready: false };
        assert_eq!(plan.skip(NodeId(0), &[asked]), (0, Place { given: 2, ready: true }));
        assert_eq!(plan.skip(NodeId(0), &[PLACE]), (0, PLACE));
    }

    #[test]
    fn a_script_has_one_place_whoever_is_commanded() {
        let plan = Plan::Script(vec![(NodeId(4), 'x'), (NodeId(2), 'y')]).agenda();
        let (list, place) = plan.advance(NodeId(4), &plan.first_places(), true, false);
        assert_eq!(next(&plan, list, place), Some((2, of('y'))));
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
