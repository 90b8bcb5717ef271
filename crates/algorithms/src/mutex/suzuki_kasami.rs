//! Ichiro Suzuki and Tadao Kasami, "A distributed mutual exclusion algorithm", ACM Transactions on
//! Computer Systems 3(4), 1985.
//!
//! There is one token, and its holder may enter. A node without it asks all others, with the number
//! of its request, and waits; an idle holder sends the token. The token carries the number of each
//! node's last served request, and a queue of the next ones: so an outdated request is told from a
//! new one, wherever it arrives, and no request is forgotten.
//!
//! **Use it** where the last node inside is often the next, which takes no message then, and idle
//! nodes may crash; a lost token stops all.
//!
//! ```text
//!   0  ──[ inside ]───────▲──────▲──PRIVILEGE─┬──────────────────────────────────────►
//!                         │      │            │ Q = [2]
//!   1  ──REQUEST(1)─┬─────┘      │   ▲────────▼──[ inside ]──PRIVILEGE─┬─────────────►
//!                   │            │   │                                 │ Q = []
//!   2  ─────────────▼──REQUEST(1)┴───┴─────────────────────────────────▼──[ inside ]──►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | N: N−1 requests and the token; 0 for the holder |
//! | the same without contention | N−1 on average, if all are as likely to ask |
//! | synchronisation delay | T; none to enter again, up to 2T for a request that was just made |
//! | response without contention | E with the token, 2T + E without |
//! | response under saturation | up to N(T + E) + T |
//!
//! If one node at a time asks, each of the N equally likely and independent of the last, the token
//! is where it is wanted once in N times: N · (N−1)/N = N−1 messages on average.
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. A node may stop unnoticed as long as it has not asked and the token is elsewhere; a
//! token that is lost stops all, and a first holder that comes up anew brings a second one.
//!
//! **Why it is safe.** The node inside has the token, and there is one: a node that sends it has it
//! no longer.
//!
//! **Why no request starves.** A request reaches every node, and so the one that has the token or
//! gets it next. If that is idle, it sends the token; if it is inside, it puts the request into the
//! queue when it leaves, and the queue is first in, first out. A node that has heard of a request
//! enters at most once before it: leaving, it puts that request before all of its own. Entries do
//! not respect happened-before: a request may overtake the one that caused it on its way to the
//! token.
//!
//! **Where we depart from the paper.** A node notes its own request as served when it enters and
//! not when it leaves; no other node can tell the difference. A node that leaves looks for new
//! requests from its right-hand neighbour on and not from node 0, so that low numbers have no
//! advantage. A message that does not fit the group (a token with too few or too many numbers, or
//! with a queue of strangers or of one node twice) is not from a node of this group, and is
//! dropped.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Invariant, Never, NodeId, NodeSet, NodeState,
    Protocol, Refused, Situation, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, Promises, RESPONSE, SYNC_DELAY, Setting,
    Terms,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A request for the token.
    Request {
        /// The number of the request among those of its sender.
        number: u64,
    },
    /// Here is the token.
    Privilege(Token),
}

/// The token.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Token {
    /// The queue of its next holders.
    pub queue: VecDeque<NodeId>,
    /// The number of the last request of each node that was served: LN in the paper.
    pub served: Vec<u64>,
}

impl Token {
    /// Whether it can be the token of this group.
    fn fits(&self, group: Group) -> bool {
        let mut seen = NodeSet::EMPTY;
        self.served.len() == group.size() as usize
            && self.queue.iter().all(|&node| group.contains(node) && seen.insert(node))
    }

    /// Whether this is the request of the node that is to be served next.
    pub(super) fn is_next(&self, node: NodeId, number: u64) -> bool {
        number.checked_sub(self.served[node.index()]) == Some(1)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "PRIVILEGE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Privilege(_) => 1,
        }
    }

    fn counters(&mut self, from: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { number } => visit(Counter::Of(from), number),
            Self::Privilege(token) => Counter::by_owner(Counter::Of, &mut token.served, visit),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { number } => write!(f, "REQUEST({number})"),
            Self::Privilege(token) => write!(f, "PRIVILEGE({token})"),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Q = [")?;
        for (place, node) in self.queue.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{node}")?;
        }
        write!(f, "], LN = {:?}", self.served)
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SuzukiKasami {
    pub(super) me: NodeId,
    pub(super) group: Group,
    /// The highest number of a request of each node that we know of: RN in the paper.
    pub(super) asked: Vec<u64>,
    pub(super) phase: Phase,
}

/// Where a node stands, and the token if it is here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting,
    /// Outside, with a token for which no request is known.
    Holding(Token),
    Inside(Token),
}

impl SuzukiKasami {
    /// A node of `group`, where `holder` has the token at first.
    pub fn new(me: NodeId, group: Group, holder: NodeId) -> Self {
        let none = vec![0; group.size() as usize];
        let phase = if me == holder {
            Phase::Holding(Token { queue: VecDeque::new(), served: none.clone() })
        } else {
            Phase::Outside
        };
        Self { me, group, asked: none, phase }
    }

    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self::new(me, setup.group, setup.holder)
    }

    fn on_request(&mut self, from: NodeId, number: u64, fx: &mut impl Effects<Self>) {
        let asked = &mut self.asked[from.index()];
        *asked = number.max(*asked);
        if let Phase::Holding(token) = &self.phase
            && token.is_next(from, *asked)
        {
            self.give_away(from, fx);
        }
    }

    /// Sends on the token, which this node does not need.
    pub(super) fn give_away(&mut self, to: NodeId, fx: &mut impl Effects<Self>) {
        if let Phase::Holding(token) = &mut self.phase {
            let token = mem::take(token);
            self.phase = Phase::Outside;
            fx.send(to, Message::Privilege(token));
        }
    }

    fn on_token(&mut self, mut token: Token, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Waiting => {
                token.served[self.me.index()] = self.asked[self.me.index()];
                self.phase = Phase::Inside(token);
                fx.notify(Notice::Entered);
            }
            // A correct node never sends it to one that does not wait for it.
            Phase::Outside => self.phase = Phase::Holding(token),
            // Nor is there another.
            Phase::Holding(_) | Phase::Inside(_) => {}
        }
    }

    fn leave(&mut self, mut token: Token, fx: &mut impl Effects<Self>) {
        let queued: NodeSet = token.queue.iter().copied().collect();
        for other in self.to_the_right() {
            let is_new = token.is_next(other, self.asked[other.index()]);
            if is_new && !queued.contains(other) {
                token.queue.push_back(other);
            }
        }
        let next = token.queue.pop_front();
        self.phase = Phase::Holding(token);
        if let Some(next) = next {
            self.give_away(next, fx);
        }
    }

    /// All others, from the right-hand neighbour on.
    pub(super) fn to_the_right(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (me, size) = (self.me.0, self.group.size());
        (me + 1..size).chain(0..me).map(NodeId)
    }
}

impl Protocol for SuzukiKasami {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &mut self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let number = self.asked[self.me.index()] + 1;
                self.asked[self.me.index()] = number;
                self.phase = Phase::Waiting;
                fx.broadcast(self.group.others(self.me), Message::Request { number });
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
            Message::Privilege(token) if token.fits(self.group) => self.on_token(token, fx),
            Message::Privilege(_) => {}
        }
    }

    /// LN and Q are on the token.
    fn state(&self) -> NodeState {
        let (phase, token) = match &self.phase {
            Phase::Outside => ("outside", None),
            Phase::Waiting => ("waiting", None),
            Phase::Holding(token) => ("outside", Some(token)),
            Phase::Inside(token) => ("inside", Some(token)),
        };
        let served = token.map(|token| StateValue::vector(token.served.iter().copied()));
        let queue = token.map(|token| StateValue::list(token.queue.iter().copied()));
        NodeState::new()
            .with("phase", phase)
            .with("token", token.is_some())
            .with("RN", StateValue::vector(self.asked.iter().copied()))
            .with("LN", served)
            .with("Q", queue)
    }

    /// A number is compared with numbers of the same node, and only its owner counts on from it.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        Counter::by_owner(Counter::Of, &mut self.asked, visit);
        match &mut self.phase {
            Phase::Holding(token) | Phase::Inside(token) => {
                Counter::by_owner(Counter::Of, &mut token.served, visit);
            }
            Phase::Outside | Phase::Waiting => {}
        }
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<SuzukiKasami>] =
    &[Invariant { name: "one token", holds: one_token }];

/// There is exactly one token, at a node or under way.
fn one_token(at: &Situation<'_, SuzukiKasami>) -> Result<(), String> {
    let here = at.up().filter(|(_, node)| match node.phase {
        Phase::Holding(_) | Phase::Inside(_) => true,
        Phase::Outside | Phase::Waiting => false,
    });
    let under_way = at.messages().filter(|(_, _, message)| match message {
        Message::Privilege(_) => true,
        Message::Request { .. } => false,
    });
    match here.count() + under_way.count() {
        1 => Ok(()),
        count => Err(format!("there are {count} tokens")),
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "suzuki-kasami",
    title: "Suzuki–Kasami",
    solves: "mutual exclusion",
    citation: "Suzuki and Kasami, ACM TOCS 3(4), 1985",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Holder],
    terms: Terms {
        promises: Promises { bypass: Some(|_| 1), ..Promises::NONE },
        tokens: &["PRIVILEGE"],
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(sync_delay),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| Span::between(0.0, all(at))),
    ],
    flaws: FLAWS,
    page: page!("suzuki_kasami.rs"),
};

/// N−1 requests and the token.
fn all(at: &Setting) -> f64 {
    if at.nodes() == 1 { 0.0 } else { f64::from(at.nodes()) }
}

/// How often the token is elsewhere if requests come one at a time: unless the same node asks
/// again.
fn elsewhere(at: &Setting) -> f64 {
    f64::from(at.contenders - 1) / f64::from(at.contenders)
}

/// Under saturation the token is handed on at every exit once all requests are known. The first
/// holder may enter T/E times before it hears of any: only a stay of T or more makes that one.
fn is_handed_on(at: &Setting) -> bool {
    at.contenders > 1 && at.hold >= 1.0
}

fn messages(at: &Setting) -> Span {
    let range = Span::between(0.0, all(at));
    match at.load {
        Load::Light => range.typically(all(at) * elsewhere(at)),
        Load::Heavy if is_handed_on(at) => range.typically(all(at)),
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
    match at.load {
        Load::Light => range.typically(at.hold + 2.0 * elsewhere(at)),
        Load::Heavy => range,
    }
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "outdated-requests-served",
        what: "an idle token goes to any node that asks, so an outdated request takes it to no use",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "everyone-is-queued",
        what: "RN >= LN instead of RN = LN + 1 at an exit: a node that never asked is queued and \
               served",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "requests-missed-inside",
        what: "a request that arrives at a node inside is not noted, and so never queued",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "queue-left-behind",
        what: "the token goes without its queue to the lowest number: two can keep a third out",
        breaks: "no starvation",
        shown_by: Demonstration::of(&[3, 3, 1]),
    },
    Flaw {
        name: "token-lost",
        what: "a node that leaves with an empty queue forgets that it has the token",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "token-doubled",
        what: "a node that sends away an idle token believes that it still has it",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn send(to: u32, message: Message) -> Effect<SuzukiKasami> {
        Effect::Send { to: NodeId(to), message }
    }
    fn request(number: u64) -> Message {
        Message::Request { number }
    }
    fn token<const N: usize>(queue: [u32; N], served: [u64; 3]) -> Message {
        let queue = queue.into_iter().map(NodeId).collect();
        Message::Privilege(Token { queue, served: served.to_vec() })
    }
    /// Node `me` of three, of which node 0 has the token, and a sink.
    fn node(me: u32) -> (SuzukiKasami, Outbox<SuzukiKasami>) {
        (SuzukiKasami::new(NodeId(me), Group::of(3), NodeId(0)), Outbox::default())
    }

    #[test]
    fn with_the_token_a_node_enters_again_and_again_without_a_message() {
        let (mut node, mut fx) = node(0);
        let before = node.clone();
        for _ in 0..2 {
            node.on_command(ACQUIRE, &mut fx).unwrap();
            assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
            node.on_command(Command::Release, &mut fx).unwrap();
            assert_eq!(fx.take(), []);
        }
        assert_eq!(node, before);
    }

    #[test]
    fn without_the_token_a_node_asks_everyone_and_enters_when_it_comes() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, request(1)), send(2, request(1))]);
        node.on_message(NodeId(0), token([], [0, 0, 0]), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(2), request(1), &mut fx);
        assert_eq!(fx.take(), [send(2, token([], [0, 1, 0]))]);
    }

    #[test]
    fn an_idle_token_goes_to_whoever_asks_first() {
        let (mut node, mut fx) = node(0);
        node.on_message(NodeId(2), request(1), &mut fx);
        assert_eq!(fx.take(), [send(2, token([], [0, 0, 0]))]);
        node.on_message(NodeId(1), request(1), &mut fx);
        assert_eq!(fx.take(), [], "the token is gone");
    }

    #[test]
    fn leaving_appends_those_who_asked_and_are_not_yet_queued() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), request(3), &mut fx);
        node.on_message(NodeId(2), request(1), &mut fx);
        node.on_message(NodeId(2), token([2], [2, 0, 0]), &mut fx);
        fx.take();
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, token([0], [2, 1, 0]))]);
    }

    #[test]
    fn an_outdated_request_is_not_served() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), token([], [0, 0, 2]), &mut fx);
        fx.take();
        node.on_message(NodeId(2), request(1), &mut fx);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_message(NodeId(2), request(2), &mut fx);
        assert_eq!(fx.take(), [], "the token has served both");
        node.on_message(NodeId(2), request(3), &mut fx);
        assert_eq!(fx.take(), [send(2, token([], [0, 1, 2]))]);
    }

    #[test]
    fn whoever_leaves_begins_to_look_at_its_right() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), request(1), &mut fx);
        node.on_message(NodeId(2), request(1), &mut fx);
        node.on_message(NodeId(0), token([], [0, 0, 0]), &mut fx);
        fx.take();
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, token([0], [0, 1, 0]))]);
    }

    #[test]
    fn what_does_not_fit_the_group_is_dropped() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let waiting = node.clone();
        let lists = |queue: &[u32], served: &[u64]| {
            let queue = queue.iter().copied().map(NodeId).collect();
            Message::Privilege(Token { queue, served: served.to_vec() })
        };
        for strange in [
            lists(&[], &[]),
            lists(&[], &[0, 0]),
            lists(&[], &[0, 0, 0, 0]),
            lists(&[3], &[0, 0, 0]),
            lists(&[2, 2], &[0, 0, 0]),
        ] {
            node.on_message(NodeId(0), strange, &mut fx);
            assert_eq!((&node, fx.take()), (&waiting, vec![]));
        }
        node.on_message(NodeId(7), request(1), &mut fx);
        node.on_message(NodeId(1), request(9), &mut fx);
        for stranger in [7, 1] {
            node.on_message(NodeId(stranger), lists(&[], &[0, 0, 0]), &mut fx);
        }
        assert_eq!((&node, fx.take()), (&waiting, vec![]));
    }

    #[test]
    fn the_largest_numbers_overflow_nothing() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), token([], [u64::MAX; 3]), &mut fx);
        node.on_message(NodeId(2), request(u64::MAX), &mut fx);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_message(NodeId(0), request(1), &mut fx);
        fx.take();
        node.give_away(NodeId(0), &mut fx);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take()[1], send(0, request(2)), "its own numbers are its own");
    }

    #[test]
    fn the_token_is_shown_as_in_the_paper() {
        assert_eq!(token([2, 0], [1, 0, 2]).to_string(), "PRIVILEGE(Q = [2, 0], LN = [1, 0, 2])");
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
        let waiting = node.clone();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        assert_eq!((&node, fx.take()), (&waiting, vec![]));
        node.on_message(NodeId(0), token([], [0, 0, 0]), &mut fx);
        fx.take();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn a_request_that_comes_late_does_not_replace_a_later_one() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        for number in [3, 2] {
            node.on_message(NodeId(0), request(number), &mut fx);
        }
        node.on_message(NodeId(2), token([], [2, 0, 0]), &mut fx);
        fx.take();
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, token([], [2, 1, 0]))]);
    }
}
