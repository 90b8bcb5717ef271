//! The plan of the applications, and its progress.

use std::hash::{Hash, Hasher};

use vorrang_protocol::NodeId;

use crate::fingerprint::Print;

/// As a number of turns: a node asks again for ever. Then a run may go on for ever, and the search
/// comes to an end only if finitely many states can be told apart.
pub const FOREVER: u32 = u32::MAX;

/// The plan of the applications.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Plan<C> {
    /// A list for every node; the lists are interleaved in every way.
    ///
    /// A list says what an application may do, and not that it will: a system in which nothing but
    /// commands are left is at rest, and judged, unless one of them [goes on](Ask::goes_on) with
    /// what was begun. So no node is served only because another asks later.
    PerNode(Vec<Vec<Ask<C>>>),
    /// One list for all, in this order, each command only when the system is at rest: no message
    /// in flight, no timer armed. While the node to be commanded is down, the script stands still;
    /// if it never comes up again, for ever. The commands of a script are bound to be given, so
    /// the rest between two of them is not judged.
    Script(Vec<(NodeId, C)>),
    /// The same for systems that never rest, because something is always to be waited for: each
    /// command in some moment in which no message is in flight, whether timers are armed or not.
    InLulls(Vec<(NodeId, C)>),
    /// Every node takes turns: it asks, waits to be told that it may, and leaves. As
    /// [`PerNode`](Self::PerNode), but kept as numbers, since turns may be many.
    Turns {
        /// How often each node asks, or [`FOREVER`], and how.
        turns: Vec<(u32, C)>,
        /// How nodes leave.
        leave: C,
        /// The nodes that never leave after their last turn.
        stay: Vec<NodeId>,
        /// Whether a node asks only when no other waits or is inside and no message is in flight.
        one_at_a_time: bool,
    },
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
    /// If a node that stays is not there or asks for ever.
    pub fn turns_with(
        turns: impl IntoIterator<Item = (u32, C)>,
        leave: &C,
        stay: &[NodeId],
    ) -> Self {
        let turns: Vec<(u32, C)> = turns.into_iter().collect();
        for node in stay {
            let nodes = turns.len();
            assert!(
                node.index() < nodes,
                "node {node} is to stay, but there are only {nodes} nodes"
            );
            assert!(turns[node.index()].0 != FOREVER, "node {node} is to stay and to ask for ever");
        }
        Self::Turns { turns, leave: leave.clone(), stay: stay.to_vec(), one_at_a_time: false }
    }

    /// The same, each turn only when all others are over: no node waits or is inside, and no
    /// message is in flight. Plans that are not turns stay as they are.
    #[must_use]
    pub fn one_at_a_time(mut self) -> Self {
        if let Self::Turns { one_at_a_time, .. } = &mut self {
            *one_at_a_time = true;
        }
        self
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// How many commands have been given.
    pub(crate) given: u32,
    /// Whether the next need not wait for a notice.
    pub(crate) ready: bool,
}

/// As one word: every step that moves a list on hashes its place.
impl Hash for Place {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(u64::from(self.given) << 1 | u64::from(self.ready));
    }
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
            Self::Turns { turns, .. } => assert!(
                turns.len() == nodes,
                "a plan with turns for {} nodes does not fit {nodes} nodes: one list for every \
                 node",
                turns.len()
            ),
            Self::Script(commands) | Self::InLulls(commands) => {
                for (at, _) in commands {
                    assert!(
                        at.index() < nodes,
                        "the script commands node {at}, but there are only {nodes} nodes"
                    );
                }
            }
        }
    }

    /// Whether some node asks for ever.
    pub fn goes_on_for_ever(&self) -> bool {
        match self {
            Self::Turns { turns, .. } => turns.iter().any(|it| it.0 == FOREVER),
            Self::PerNode(_) | Self::Script(_) | Self::InLulls(_) => false,
        }
    }

    /// How many lists it has.
    pub(crate) fn lists(&self) -> usize {
        match self {
            Self::PerNode(lists) => lists.len(),
            Self::Turns { turns, .. } => turns.len(),
            Self::Script(_) | Self::InLulls(_) => 1,
        }
    }

    /// A command that is on the agenda.
    pub(crate) fn command(&self, list: usize, given: u32) -> &C {
        match self {
            Self::PerNode(lists) => &lists[list][given as usize].command,
            Self::Script(commands) | Self::InLulls(commands) => &commands[given as usize].1,
            Self::Turns { turns, .. } if given.is_multiple_of(2) => &turns[list].1,
            Self::Turns { leave, .. } => leave,
        }
    }
}

impl<C> Plan<C> {
    /// The plan as the search needs it, without the commands themselves.
    pub(crate) fn agenda(&self, print: impl Fn(&C) -> Print) -> Agenda {
        let item = |at: u32, ask: &Ask<C>| Item {
            at: NodeId(at),
            print: print(&ask.command),
            then_wait: ask.then_wait,
            goes_on: ask.goes_on,
        };
        match self {
            Self::PerNode(lists) => {
                let list = |(at, list): (u32, &Vec<Ask<C>>)| {
                    List::of(list.iter().map(|ask| item(at, ask)).collect())
                };
                let lists = (0..).zip(lists).map(list).collect();
                Agenda { lists, waits_for: None, one_at_a_time: false, beats: None }
            }
            Self::Script(commands) | Self::InLulls(commands) => {
                let item = |(at, command): &(NodeId, C)| Item {
                    at: *at,
                    print: print(command),
                    then_wait: false,
                    goes_on: false,
                };
                let list = List::of(commands.iter().map(item).collect());
                let lull = matches!(self, Self::InLulls(_));
                let waits_for = Some(if lull { Pause::Lull } else { Pause::Rest });
                Agenda { lists: vec![list], waits_for, one_at_a_time: false, beats: None }
            }
            Self::Turns { turns, leave, stay, one_at_a_time } => {
                let list = |(at, (count, ask)): (u32, &(u32, C))| {
                    let ask = Item { at: NodeId(at), print: print(ask), ..ASK };
                    let leave = Item { at: NodeId(at), print: print(leave), ..LEAVE };
                    let stays = *count > 0 && stay.contains(&NodeId(at));
                    match *count {
                        FOREVER => List { items: vec![ask, leave], len: 2, is_endless: true },
                        count => List::turns([ask, leave], 2 * u64::from(count) - u64::from(stays)),
                    }
                };
                let lists = (0..).zip(turns).map(list).collect();
                let one_at_a_time = *one_at_a_time;
                Agenda { lists, waits_for: None, one_at_a_time, beats: None }
            }
        }
    }
}

const ASK: Item = Item { at: NodeId(0), print: Print::NONE, then_wait: true, goes_on: false };
const LEAVE: Item = Item { then_wait: false, goes_on: true, ..ASK };

/// A plan without its commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Agenda {
    pub(crate) lists: Vec<List>,
    /// The condition that a script, the one list for all nodes, waits for before every command.
    pub(crate) waits_for: Option<Pause>,
    /// Whether a node asks only when all others are done.
    pub(crate) one_at_a_time: bool,
    /// What all nodes are told again and again, as if each had one more list for that, behind all
    /// others.
    pub(crate) beats: Option<Beats>,
}

/// What all nodes are told again and again, when nothing else is bound to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beats {
    pub(crate) print: Print,
    /// Once fewer nodes than these may come up again.
    pub(crate) restarts: u8,
}

/// When a script goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// No message is in flight, and no timer armed.
    Rest,
    /// No message is in flight.
    Lull,
}

/// The commands of an application, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct List {
    /// All of it, or else so much that the rest goes on like this.
    items: Vec<Item>,
    /// May be more than places can count. No search comes so far: each command is a step, and
    /// steps are counted in as many bits.
    len: u64,
    /// Whether it begins anew after its last command, as if none had been given.
    is_endless: bool,
}

/// A multiple of what repeats itself, and so many that to look one up is to index.
const MOST_ITEMS: u64 = 1 << 10;

impl List {
    fn of(items: Vec<Item>) -> Self {
        let len = items.len() as u64;
        Self { items, len, is_endless: false }
    }

    fn turns(turn: [Item; 2], len: u64) -> Self {
        let items = turn.into_iter().cycle().take(len.min(MOST_ITEMS) as usize).collect();
        Self { items, len, is_endless: false }
    }

    /// The place after so many commands.
    #[inline]
    fn wrapped(&self, given: u32) -> u32 {
        if self.is_endless { given % self.items.len() as u32 } else { given }
    }

    #[inline]
    fn get(&self, given: u32) -> Option<&Item> {
        let item = self.items.get(given as usize);
        if item.is_some() || u64::from(given) >= self.len {
            return item;
        }
        self.items.get(given as usize % self.items.len())
    }
}

/// A command to be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) at: NodeId,
    pub(crate) print: Print,
    then_wait: bool,
    goes_on: bool,
}

impl Item {
    /// A command that nothing waits for.
    pub(crate) const fn at_once(at: NodeId, print: Print) -> Self {
        Self { at, print, then_wait: false, goes_on: false }
    }
}

impl Agenda {
    /// Whether one list tells all nodes what to do.
    #[inline]
    pub(crate) const fn is_script(&self) -> bool {
        self.waits_for.is_some()
    }

    /// The list with which this node is told to beat.
    pub(crate) fn list_of_beats(&self, of: NodeId) -> usize {
        self.lists.len() + of.index()
    }

    /// Whom this list tells to beat, if it does that.
    pub(crate) fn beats(&self, list: usize) -> Option<NodeId> {
        list.checked_sub(self.lists.len()).map(|node| NodeId(node as u32))
    }

    /// One place for every list.
    pub(crate) fn first_places(&self) -> Vec<Place> {
        vec![Place { given: 0, ready: true }; self.lists.len()]
    }

    /// The command that the list is at, if it has one left and need not wait for a notice.
    pub(crate) fn next(&self, list: usize, place: Place) -> Option<Item> {
        let item = self.lists[list].get(place.given)?;
        (place.ready || self.is_script()).then_some(*item)
    }

    /// Whether every node has left that has asked.
    pub(crate) fn are_all_done(&self, places: &[Place]) -> bool {
        places.iter().enumerate().all(|(list, place)| place.ready && !self.goes_on(list, *place))
    }

    /// Whether this list never ends.
    pub(crate) fn is_endless(&self, list: usize) -> bool {
        self.lists.get(list).is_none_or(|it| it.is_endless)
    }

    /// Whether the command that the list is at goes on with one that was given.
    pub(crate) fn goes_on(&self, list: usize, place: Place) -> bool {
        place.given > 0 && self.lists[list].get(place.given).is_some_and(|it| it.goes_on)
    }

    /// The list that something at this node moves on, and where it then stands.
    #[inline]
    pub(crate) fn advance(
        &self,
        at: NodeId,
        places: &[Place],
        commanded: bool,
        heard: bool,
    ) -> (usize, Place) {
        let list = if self.is_script() { 0 } else { at.index() };
        let mut place = places[list];
        if commanded {
            let waits = self.lists[list].get(place.given).is_some_and(|item| item.then_wait);
            place.ready = !waits;
            place.given = self.lists[list].wrapped(place.given + 1);
        }
        // A notice moves no script on.
        place.ready |= heard || self.is_script();
        (list, place)
    }

    /// Where the list of a node that crashes goes on, should the node come up again.
    pub(crate) fn skip(&self, at: NodeId, places: &[Place]) -> (usize, Place) {
        if self.is_script() {
            return (0, places[0]);
        }
        let list = at.index();
        let mut given = places[list].given;
        while self.lists[list].get(given).is_some_and(|item| item.goes_on) {
            given = self.lists[list].wrapped(given + 1);
        }
        (list, Place { given, ready: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Part;

    const PLACE: Place = Place { given: 0, ready: true };

    #[test]
    fn turns_ask_and_wait_and_leave() {
        let turn = [Ask::then_wait('a'), Ask::to_end('r')];
        let twice = [turn.clone(), turn].concat();
        assert_same(&Plan::turns(&[2, 0], &'a', &'r'), &Plan::PerNode(vec![twice, vec![]]));
    }

    #[test]
    fn whoever_stays_does_not_leave_after_the_last_turn() {
        let plan = Plan::turns_with([(1, 'a'), (2, 'b'), (0, 'c')], &'r', &[NodeId(1), NodeId(2)]);
        let [ask, leave] = [Ask::then_wait('b'), Ask::to_end('r')];
        let first = vec![Ask::then_wait('a'), leave.clone()];
        assert_same(&plan, &Plan::PerNode(vec![first, vec![ask.clone(), leave, ask], vec![]]));
    }

    fn assert_same(plan: &Plan<char>, other: &Plan<char>) {
        let [agenda, same] = [plan, other].map(|it| it.agenda(|it| of(*it)));
        assert_eq!(agenda, same);
        for (list, items) in agenda.lists.iter().enumerate() {
            for given in 0..items.len as u32 {
                assert_eq!(plan.command(list, given), other.command(list, given));
            }
        }
    }

    #[test]
    fn turns_without_number_take_no_room_and_go_on_as_they_began() {
        let plan = Plan::turns(&[FOREVER - 1, 1000], &'a', &'r');
        let agenda = plan.agenda(|it| of(*it));
        for given in [0, 1, 1022, 1023, 1024, 1025, 5_000_000, u32::MAX] {
            let asked = if given.is_multiple_of(2) { 'a' } else { 'r' };
            assert_eq!(*plan.command(0, given), asked);
            let place = Place { given, ready: true };
            assert_eq!(next(&agenda, 0, place), Some((0, of(asked))), "{given}");
            assert_eq!(next(&agenda, 1, place).is_some(), given < 2000, "{given}");
        }
        assert!(agenda.lists.iter().all(|list| list.items.len() <= 2000));
    }

    #[test]
    fn who_asks_for_ever_stands_again_where_it_began() {
        let plan = Plan::turns(&[FOREVER, 1], &'a', &'r');
        let agenda = plan.agenda(|it| of(*it));
        let mut places = agenda.first_places();
        for _ in 0..3 {
            assert_eq!(next(&agenda, 0, places[0]), Some((0, of('a'))));
            assert!(!agenda.goes_on(0, places[0]), "it need not ask");
            places[0] = agenda.advance(NodeId(0), &places, true, true).1;
            assert_eq!(next(&agenda, 0, places[0]), Some((0, of('r'))));
            assert!(agenda.goes_on(0, places[0]), "it must leave");
            assert_eq!(agenda.skip(NodeId(0), &places), (0, PLACE), "or crash");
            places[0] = agenda.advance(NodeId(0), &places, true, false).1;
            assert_eq!(places[0], PLACE);
        }
        assert!(agenda.is_endless(0) && !agenda.is_endless(1) && plan.goes_on_for_ever());
    }

    fn next(agenda: &Agenda, list: usize, place: Place) -> Option<(u32, Print)> {
        agenda.next(list, place).map(|item| (item.at.0, item.print))
    }

    fn of(command: char) -> Print {
        Print::of(Part::Command, &command)
    }

    #[test]
    fn a_list_waits_for_a_notice_only_where_it_says_so() {
        let plan = Plan::turns(&[1, 0], &'a', &'r').agenda(|it| of(*it));
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
        let plan = Plan::turns(&[1], &'a', &'r').agenda(|it| of(*it));
        let (_, place) = plan.advance(NodeId(0), &[PLACE], true, true);
        assert_eq!(next(&plan, 0, place), Some((0, of('r'))));
    }

    #[test]
    fn a_crash_ends_the_turn_and_not_the_list() {
        let plan = Plan::turns(&[2], &'a', &'r').agenda(|it| of(*it));
        let asked = Place { given: 1, ready: false };
        assert_eq!(plan.skip(NodeId(0), &[asked]), (0, Place { given: 2, ready: true }));
        assert_eq!(plan.skip(NodeId(0), &[PLACE]), (0, PLACE));
    }

    #[test]
    fn a_script_has_one_place_whoever_is_commanded() {
        let plan = Plan::Script(vec![(NodeId(4), 'x'), (NodeId(2), 'y')]).agenda(|it| of(*it));
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
