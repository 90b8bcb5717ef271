//! Mukesh Singhal, "A heuristically-aided algorithm for mutual exclusion in distributed systems",
//! IEEE Transactions on Computers 38(5), 1989.
//!
//! There is one token, and its holder may enter. A node without it asks only those nodes that, as
//! far as it knows, may have the token or get it before it does: those marked R. A node that
//! receives a request marks its sender R; the token carries the latest state of every node, and a
//! node that leaves merges its own knowledge with it. The marks begin as a staircase (every node
//! marks those below it), and so of any two nodes one will always ask the other.
//!
//! **Use it** like Suzuki and Kasami's where few want in at once: it asks only about half of the
//! nodes then.
//!
//! ```text
//!   0  ──[ inside ]────▲──────▲──TOKEN─┬───────────────────────────────────────────►
//!                      │      │        │ R = [1, 2]
//!   1  ──REQUEST(1)────┘  ▲───┼────────▼──[ inside ]──TOKEN─┬──────────────────────►
//!                         │   │                             │ R = [2]
//!   2  ──REQUEST(1)───────┴───┘  (asks 0 and 1, not 3)      ▼──[ inside ]──────────►
//!
//! 3 (marks 0, 1 and 2, and no node asks it) ─────────────────────────────────────►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 0 … N; more only where a request is overtaken by the news that it was served |
//! | the same without contention | (N−1)(N+2)/2N on average, if all are as likely to ask |
//! | the same under saturation | about N |
//! | synchronisation delay | T; none to enter again, up to 2T for a request that was just made |
//! | response without contention | E with the token, 2T + E without |
//! | response under saturation | up to N(T + E) + T with round robin |
//!
//! If one node at a time asks, all stand in a row at rest, the holder first, and each marks just
//! those before it. The one with p before it sends p requests and gets the token: if all are as
//! likely to ask, that is (0 + 2 + 3 + … + N)/N = (N−1)(N+2)/2N messages.
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. A node that waits or has the token must not stop.
//!
//! **Why it is safe.** The node inside has the token, and there is one: a node that sends it has it
//! no longer.
//!
//! **Why no request starves.** Of any two nodes one marks the other, or is about to: a REQUEST
//! between them is in flight. So a waiting node is known to the holder, or to a node that is, and
//! each exit merges that knowledge into the token. The token goes to a waiting node as long as it
//! knows of any, and round robin brings it to all of them: a node that has heard of a request
//! enters at most once before it. The other two rules of the paper promise no such thing. With
//! `least-served` a node that has asked less often may enter again and again; with `nearest` two
//! neighbours may keep a distant third out for as long as they like.
//!
//! **Where we depart from the paper.** As published the algorithm starves a node, even if links
//! keep their order: a request may be overtaken by the token, which already knows that it was
//! served; it is then dropped as outdated, and with it goes the mark that it should have left (the
//! flaw `as-published` shows the run). So, first, a node that gets the token adopts its knowledge
//! at once where it is at least as new, and not only at the exit. And second, an outdated request
//! from one that is not marked still restores the rule that one of the two asks the other: an idle
//! node marks the sender; one that waits marks it and asks it; one that has the token asks it, so
//! as to be marked there. Such a mark is false. It costs a message, and it never gets into the
//! token, since its number is not larger than the token's. But it may still be there at rest, so
//! that two nodes mark each other: the paper's theorem that idle nodes are totally ordered then
//! holds only as far as that one of any two asks the other. A message that does not fit the group
//! is dropped.

use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Never, NodeId, NodeState, Protocol, Refused,
    StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, Promises, RESPONSE, SYNC_DELAY, Setting,
    Terms, UNBOUNDED,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::setup::{Arbitration, Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// May I have the token, if you have it or get it?
    Request {
        /// The number of the request among those of its sender.
        number: u64,
    },
    /// Here it is.
    Token(Token),
}

/// The token: the latest known state of every node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Token(pub Vec<Word>);

/// The known state of a node.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Word {
    /// The number of its last request that is known of: SN in the paper.
    pub number: u64,
    /// Whether it may have the token or get it before us (R in the paper, otherwise N); on the
    /// token: whether it waits.
    pub is_marked: bool,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "TOKEN"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Token(_) => 1,
        }
    }

    fn counters(&mut self, from: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { number } => visit(Counter::Ranked(from), number),
            Self::Token(token) => Counter::by_owner(Counter::Ranked, numbers(&mut token.0), visit),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { number } => write!(f, "REQUEST({number})"),
            Self::Token(token) => write!(f, "TOKEN({token})"),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<u64> = self.0.iter().map(|word| word.number).collect();
        let marked = |(node, word): (u32, &Word)| word.is_marked.then_some(node);
        let marks: Vec<u32> = (0..).zip(&self.0).filter_map(marked).collect();
        write!(f, "R = {marks:?}, SN = {numbers:?}")
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Singhal {
    pub(super) me: NodeId,
    pub(super) group: Group,
    arbitration: Arbitration,
    pub(super) phase: Phase,
    /// The known states of all nodes: ST and SN in the paper. Our own entry has only the number;
    /// our own state is the phase.
    pub(super) known: Vec<Word>,
}

/// Where a node stands, and the token if it is here. In the paper: N, R, H and E.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting,
    /// Outside, with a token for which no request is known.
    Holding(Token),
    Inside(Token),
}

impl Singhal {
    /// A node that is set up like this: `holder` has the token, and the staircase goes up from it.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let (group, size) = (setup.group, setup.group.size());
        let stair = |node: NodeId| (node.0 + size - setup.holder.0) % size;
        let is_below = |node: NodeId| stair(node) < stair(me);
        let word = |node| Word { number: 0, is_marked: is_below(node) };
        let phase = if me == setup.holder {
            Phase::Holding(Token(group.members().map(|_| Word::default()).collect()))
        } else {
            Phase::Outside
        };
        let known = group.members().map(word).collect();
        Self { me, group, arbitration: setup.arbitration, phase, known }
    }

    fn on_request(&mut self, from: NodeId, number: u64, fx: &mut impl Effects<Self>) {
        let before = self.known[from.index()];
        if number > before.number {
            let word = Word { number, is_marked: true };
            self.known[from.index()] = word;
            match &mut self.phase {
                Phase::Outside | Phase::Inside(_) => {}
                // If it was marked, we have asked it.
                Phase::Waiting if before.is_marked => {}
                Phase::Waiting => self.ask(from, fx),
                Phase::Holding(token) => {
                    token.0[from.index()] = word;
                    self.give_away(from, fx);
                }
            }
        } else if !before.is_marked {
            self.on_outdated_request(from, fx);
        }
    }

    /// The request was served before it arrived, and neither of us may have the other marked now.
    fn on_outdated_request(&mut self, from: NodeId, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Outside => self.known[from.index()].is_marked = true,
            Phase::Waiting => {
                self.known[from.index()].is_marked = true;
                self.ask(from, fx);
            }
            Phase::Holding(_) | Phase::Inside(_) => self.ask(from, fx),
        }
    }

    fn ask(&self, node: NodeId, fx: &mut impl Effects<Self>) {
        fx.send(node, Message::Request { number: self.known[self.me.index()].number });
    }

    /// Sends on the token, which this node does not need.
    fn give_away(&mut self, to: NodeId, fx: &mut impl Effects<Self>) {
        if let Phase::Holding(token) = &mut self.phase {
            let token = mem::take(token);
            self.phase = Phase::Outside;
            fx.send(to, Message::Token(token));
        }
    }

    fn on_token(&mut self, token: Token, fx: &mut impl Effects<Self>) {
        // There is no other, so what it says is not so.
        if let Phase::Holding(_) | Phase::Inside(_) = self.phase {
            return;
        }
        let ours = self.known[self.me.index()];
        for (ours, theirs) in self.known.iter_mut().zip(&token.0) {
            if theirs.number >= ours.number {
                *ours = *theirs;
            }
        }
        self.known[self.me.index()] = ours; // nobody knows better
        match self.phase {
            Phase::Waiting => {
                self.phase = Phase::Inside(token);
                fx.notify(Notice::Entered);
            }
            // A correct node never sends it to one that does not wait for it.
            Phase::Outside => self.phase = Phase::Holding(token),
            Phase::Holding(_) | Phase::Inside(_) => {}
        }
    }

    fn leave(&mut self, mut token: Token, fx: &mut impl Effects<Self>) {
        token.0[self.me.index()] = self.known[self.me.index()];
        for (ours, theirs) in self.known.iter_mut().zip(&mut token.0) {
            // For the same request the token's state is newer.
            if ours.number > theirs.number {
                *theirs = *ours;
            } else {
                *ours = *theirs;
            }
        }
        self.phase = Phase::Holding(token);
        if let Some(next) = self.choose() {
            self.give_away(next, fx);
        }
    }

    /// The next holder of the token, of the nodes that wait for it.
    fn choose(&self) -> Option<NodeId> {
        let (me, size) = (self.me.0, self.group.size());
        let to_the_right = (me + 1..size).chain(0..me).map(NodeId);
        let mut waiting = to_the_right.filter(|node| self.known[node.index()].is_marked);
        match self.arbitration {
            Arbitration::RoundRobin => waiting.next(),
            Arbitration::LeastServed => waiting.min_by_key(|node| self.known[node.index()].number),
            Arbitration::Nearest => waiting.min_by_key(|node| {
                let to_the_right = (node.0 + size - me) % size;
                to_the_right.min(size - to_the_right)
            }),
        }
    }

    /// The nodes that we would ask.
    fn marked(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.group.members().filter(|node| self.known[node.index()].is_marked)
    }
}

impl Protocol for Singhal {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &mut self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.known[self.me.index()].number += 1;
                self.phase = Phase::Waiting;
                for node in self.marked() {
                    self.ask(node, fx);
                }
            }
            (Command::Acquire(Claim::Exclusive), Phase::Holding(token)) => {
                self.phase = Phase::Inside(mem::take(token));
                fx.notify(Notice::Entered);
            }
            (Command::Release, Phase::Inside(token)) => {
                let token = mem::take(token);
                self.leave(token, fx);
            }
            (
                Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)),
                Phase::Outside | Phase::Holding(_),
            ) => return Err(EXCLUSIVE_ONLY),
            (Command::Acquire(_), Phase::Waiting) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting | Phase::Holding(_)) => {
                return Err(NOT_INSIDE);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        if !self.group.contains(from) || from == self.me {
            return;
        }
        match message {
            Message::Request { number } => self.on_request(from, number, fx),
            Message::Token(token) if token.0.len() == self.known.len() => self.on_token(token, fx),
            Message::Token(_) => {}
        }
    }

    /// SV: every node's state as far as this one knows it, its own included (R: requests, E:
    /// executes, H: holds the idle token, N: none of these); those of all nodes, one below the
    /// other, are the state matrix. TSV and TSN are on the token.
    fn state(&self) -> NodeState {
        let (own, token) = match &self.phase {
            Phase::Outside => ("N", None),
            Phase::Waiting => ("R", None),
            Phase::Holding(token) => ("H", Some(token)),
            Phase::Inside(token) => ("E", Some(token)),
        };
        let mark = |word: &Word| if word.is_marked { "R" } else { "N" };
        let known = (0..).map(NodeId).zip(&self.known);
        let known = known.map(|(id, word)| if id == self.me { own } else { mark(word) });
        let numbers = |words: &[Word]| StateValue::vector(words.iter().map(|word| word.number));
        NodeState::new()
            .with("SV", StateValue::vector(known))
            .with("SN", numbers(&self.known))
            .with("TSV", token.map(|Token(words)| StateValue::vector(words.iter().map(mark))))
            .with("TSN", token.map(|Token(words)| numbers(words)))
    }

    /// A number is compared with numbers of the same node, and only its owner counts on from it;
    /// unless the least served is to be next, which compares those of different nodes.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        match self.arbitration {
            Arbitration::LeastServed => return,
            Arbitration::RoundRobin | Arbitration::Nearest => {}
        }
        Counter::by_owner(Counter::Ranked, numbers(&mut self.known), visit);
        match &mut self.phase {
            Phase::Holding(token) | Phase::Inside(token) => {
                Counter::by_owner(Counter::Ranked, numbers(&mut token.0), visit);
            }
            Phase::Outside | Phase::Waiting => {}
        }
    }
}

fn numbers(words: &mut [Word]) -> impl Iterator<Item = &mut u64> {
    words.iter_mut().map(|word| &mut word.number)
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "singhal",
    title: "Singhal",
    solves: "mutual exclusion",
    citation: "Singhal, IEEE Trans. Computers 38(5), 1989",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Holder, Parameter::Arbitration],
    terms: Terms {
        promises: Promises { bypass: Some(bypass), ..Promises::NONE },
        tokens: &["TOKEN"],
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(sync_delay),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| Span::between(0.0, most(at))),
    ],
    flaws: FLAWS,
    page: page!("singhal.rs"),
};

/// How often a node may pass another that it was told of.
const fn bypass(setup: &Setup) -> u32 {
    match setup.arbitration {
        Arbitration::RoundRobin => 1,
        Arbitration::LeastServed | Arbitration::Nearest => UNBOUNDED,
    }
}

/// N−1 requests, each of which may be answered by another, and the token.
fn most(at: &Setting) -> f64 {
    if at.nodes() == 1 { 0.0 } else { 2.0 * at.others() + 1.0 }
}

/// Whether everyone who asks is served in turn. Those nearest each other keep the token to
/// themselves if some never ask.
fn is_even(at: &Setting) -> bool {
    at.contenders == at.nodes() || at.setup.arbitration != Arbitration::Nearest
}

/// Under saturation the token is handed on at every exit once all requests are known; see
/// [`suzuki_kasami`](super::suzuki_kasami).
fn is_handed_on(at: &Setting) -> bool {
    at.contenders > 1 && at.hold >= 1.0
}

/// Those who never ask end up behind all that do.
fn messages(at: &Setting) -> Span {
    let (range, rivals) = (Span::between(0.0, most(at)), f64::from(at.contenders));
    match at.load {
        Load::Light => range.typically((rivals - 1.0) * (rivals + 2.0) / (2.0 * rivals)),
        Load::Heavy if is_handed_on(at) && is_even(at) => range.typically(rivals),
        Load::Heavy => range,
    }
}

/// One message hands over the token. But a node that leaves before a request arrives keeps it: it
/// may enter again, or the token leaves only when the request arrives.
fn sync_delay(at: &Setting) -> Span {
    let range = Span::between(0.0, 2.0);
    match at.load {
        Load::Heavy if is_handed_on(at) => range.typically(1.0),
        Load::Light | Load::Heavy => range,
    }
}

fn response(at: &Setting) -> Span {
    let range = theory::round_trip_or_queue(at).or(Span::exactly(at.hold));
    let elsewhere = f64::from(at.contenders - 1) / f64::from(at.contenders);
    match at.load {
        Load::Light => range.typically(at.hold + 2.0 * elsewhere),
        Load::Heavy => range,
    }
}

/// The mistake of the publication, and other known ones; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "as-published",
        what: "a request that the token knows to be served is dropped, and neither node asks the \
               other",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 2]).fifo(),
    },
    Flaw {
        name: "no-re-send",
        what: "a node that waits does not ask one whose request it hears of only now",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "inside-as-if-idle",
        what: "a missing break: a node that is asked while inside gives the token away as if it \
               were idle",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "staircase-believed",
        what: "of the same number the node is believed and not the token: first marks are false",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "last-asker-only",
        what: "who is asked marks the sender alone: it forgets whom else it would have to ask",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "older-believed",
        what: "a comparison the wrong way round: of what a node that leaves and the token know, \
               the older is believed",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn send(to: u32, message: Message) -> Effect<Singhal> {
        Effect::Send { to: NodeId(to), message }
    }
    fn request(number: u64) -> Message {
        Message::Request { number }
    }
    fn token<const N: usize>(marks: [u32; N], numbers: [u64; 4]) -> Message {
        let word = |(node, number)| Word { number, is_marked: marks.contains(&node) };
        Message::Token(Token((0..).zip(numbers).map(word).collect()))
    }
    fn setup(nodes: u32) -> Setup {
        Setup::new(Group::of(nodes))
    }
    /// Node `me` of four, of which node 0 has the token, and a sink.
    fn node(me: u32) -> (Singhal, Outbox<Singhal>) {
        (Singhal::of(NodeId(me), &setup(4)), Outbox::default())
    }
    fn marks(node: &Singhal) -> Vec<u32> {
        node.marked().map(|id| id.0).collect()
    }

    /// A whole group, in which every message arrives before anything else happens.
    struct Ring(Vec<Singhal>);

    impl Ring {
        fn of(nodes: u32) -> Self {
            let setup = setup(nodes);
            Self(setup.group.members().map(|id| Singhal::of(id, &setup)).collect())
        }
        /// Gives a command, lets all messages arrive, and counts them.
        fn command(&mut self, at: u32, command: Command) -> usize {
            let mut fx = Outbox::default();
            self.0[at as usize].on_command(command, &mut fx).unwrap();
            let mut flight: Vec<(u32, Effect<Singhal>)> = Vec::new();
            let mut messages = 0;
            flight.extend(fx.take().into_iter().map(|effect| (at, effect)));
            while !flight.is_empty() {
                let (from, effect) = flight.remove(0);
                if let Effect::Send { to, message } = effect {
                    messages += 1;
                    self.0[to.index()].on_message(NodeId(from), message, &mut fx);
                    flight.extend(fx.take().into_iter().map(|effect| (to.0, effect)));
                }
            }
            messages
        }
        fn enter_and_leave(&mut self, at: u32) -> usize {
            self.command(at, ACQUIRE) + self.command(at, Command::Release)
        }
        fn marks(&self) -> Vec<Vec<u32>> {
            self.0.iter().map(marks).collect()
        }
    }

    #[test]
    fn at_first_the_marks_are_a_staircase() {
        assert_eq!(Ring::of(4).marks(), [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
        let late = Setup { holder: NodeId(2), ..setup(4) };
        let marked = |id| marks(&Singhal::of(NodeId(id), &late));
        assert_eq!([0, 1, 2, 3].map(marked), [vec![2, 3], vec![0, 2, 3], vec![], vec![2]]);
    }

    /// Those who mark fewer stand before those who mark more, and are marked by them.
    fn assert_in_a_row(ring: &Ring) {
        let mut row: Vec<u32> = (0..ring.0.len() as u32).collect();
        row.sort_by_key(|&id| marks(&ring.0[id as usize]).len());
        for (place, &id) in row.iter().enumerate() {
            let mut before = row[..place].to_vec();
            before.sort_unstable();
            assert_eq!(marks(&ring.0[id as usize]), before, "node {id} of {row:?}");
        }
        assert!(matches!(ring.0[row[0] as usize].phase, Phase::Holding(_)), "the first has it");
    }

    #[test]
    fn if_one_at_a_time_asks_all_stand_in_a_row_and_ask_those_before_them() {
        for nodes in [1, 2, 5, 9] {
            let mut ring = Ring::of(nodes);
            assert_in_a_row(&ring);
            let mut drawn = 7_u32;
            for _ in 0..100 {
                drawn = drawn.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                let id = (drawn >> 16) % nodes;
                let before = marks(&ring.0[id as usize]).len();
                let messages = ring.enter_and_leave(id);
                assert_eq!(messages, if before == 0 { 0 } else { before + 1 });
                assert_in_a_row(&ring);
            }
        }
    }

    /// The example of the lectures after the paper, where nodes are counted from 1.
    #[test]
    fn thirteen_nodes_of_which_the_last_five_enter_one_after_the_other() {
        let mut ring = Ring::of(13);
        for id in (8..13).rev() {
            assert_eq!(ring.enter_and_leave(id), 13, "twelve requests and the token");
        }
        let marks = ring.marks();
        assert_eq!(marks[12], [8, 9, 10, 11]);
        assert_eq!(marks[11], [8, 9, 10]);
        assert_eq!(marks[10], [8, 9]);
        assert_eq!(marks[9], [8]);
        assert_eq!(marks[8], []);
        for id in 0..8 {
            let below_and_above: Vec<u32> = (0..id).chain(8..13).collect();
            assert_eq!(marks[id as usize], below_and_above);
        }
        let Phase::Holding(token) = &ring.0[8].phase else { panic!("the token is at 8") };
        assert!(token.0.iter().all(|word| !word.is_marked), "nobody waits");
    }

    /// The other example: three ask while a fourth is inside.
    #[test]
    fn those_who_ask_together_all_come_to_mark_each_other_and_the_one_inside() {
        let mut ring = Ring::of(13);
        assert_eq!(ring.command(1, ACQUIRE), 2, "one request and the token");
        for id in [7, 5, 3] {
            ring.command(id, ACQUIRE);
        }
        let marks = ring.marks();
        let asked = [1, 3, 5, 7];
        for id in [3, 5, 7] {
            let of_these: Vec<u32> =
                marks[id].iter().copied().filter(|it| asked.contains(it)).collect();
            let others: Vec<u32> = asked.into_iter().filter(|&it| it != id as u32).collect();
            assert_eq!(of_these, others, "node {id}");
        }
        assert_eq!(marks[1], [3, 5, 7]);
    }

    #[test]
    fn a_request_goes_to_the_marked_only_and_the_token_is_believed_on_arrival() {
        let (mut node, mut fx) = node(2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, request(1)), send(1, request(1))]);
        node.on_message(NodeId(0), token([2], [0, 0, 1, 0]), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        assert_eq!(marks(&node), [], "the staircase is gone");
    }

    #[test]
    fn who_waits_asks_whoever_it_hears_of_only_now() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(3), request(1), &mut fx);
        assert_eq!(fx.take(), [send(3, request(1))]);
        node.on_message(NodeId(3), request(2), &mut fx);
        assert_eq!(fx.take(), [], "it was asked");
    }

    #[test]
    fn an_outdated_request_still_sees_to_it_that_one_of_two_asks_the_other() {
        // Node 2 enters and learns from the token that node 3 was served twice.
        let (mut node, mut fx) = node(2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), token([2], [0, 0, 1, 2]), &mut fx);
        fx.take();
        node.on_message(NodeId(3), request(1), &mut fx);
        assert_eq!(fx.take(), [send(3, request(1))], "it shall mark us");
        assert_eq!(marks(&node), []);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_message(NodeId(1), request(1), &mut fx);
        fx.take();
        node.on_message(NodeId(3), request(2), &mut fx);
        assert_eq!(marks(&node), [1, 3], "without the token it is enough to mark it");
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(1, request(2)), send(3, request(2))]);
    }

    #[test]
    fn of_those_who_wait_the_rule_picks_one() {
        for (arbitration, chosen) in
            [(Arbitration::RoundRobin, 4), (Arbitration::LeastServed, 7), (Arbitration::Nearest, 0)]
        {
            let setup = Setup { arbitration, holder: NodeId(1), ..setup(9) };
            let mut node = Singhal::of(NodeId(1), &setup);
            let mut fx = Outbox::default();
            node.on_command(ACQUIRE, &mut fx).unwrap();
            for (from, number) in [(4, 2), (7, 1), (0, 5)] {
                node.on_message(NodeId(from), request(number), &mut fx);
            }
            fx.take();
            node.on_command(Command::Release, &mut fx).unwrap();
            let [Effect::Send { to, message: Message::Token(token) }] = &fx.take()[..] else {
                panic!("the token goes to somebody");
            };
            assert_eq!(to.0, chosen, "{}", arbitration.name());
            assert_eq!(token.to_string(), "R = [0, 4, 7], SN = [5, 0, 0, 0, 2, 0, 0, 1, 0]");
        }
    }

    #[test]
    fn what_does_not_fit_the_group_is_dropped() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let waiting = node.clone();
        for length in [0, 3, 5] {
            let strange = Message::Token(Token(vec![Word::default(); length]));
            node.on_message(NodeId(0), strange, &mut fx);
        }
        node.on_message(NodeId(4), request(1), &mut fx);
        node.on_message(NodeId(1), request(9), &mut fx);
        for stranger in [4, 1] {
            node.on_message(NodeId(stranger), token([], [0; 4]), &mut fx);
        }
        assert_eq!((&node, fx.take()), (&waiting, vec![]));
        node.on_message(NodeId(0), token([], [u64::MAX; 4]), &mut fx);
        fx.take();
        let inside = node.clone();
        node.on_message(NodeId(0), token([3], [9; 4]), &mut fx);
        assert_eq!((&node, fx.take()), (&inside, vec![]), "a second token is not believed");
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(node.known[1].number, 1, "its own number is its own");
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused_and_change_nothing() {
        for me in [0, 1] {
            let (mut node, mut fx) = node(me);
            let outside = node.clone();
            assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
            let shared = Command::Acquire(Claim::Shared);
            assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
            assert_eq!((&node, fx.take()), (&outside, vec![]));
        }
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        node.on_message(NodeId(0), token([1], [0, 1, 0, 0]), &mut fx);
        fx.take();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
        assert_eq!(fx.take(), []);
    }
}
