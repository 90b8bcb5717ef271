//! The central coordinator: folklore, here as in George Coulouris, Jean Dollimore, Tim Kindberg and
//! Gordon Blair, "Distributed Systems: Concepts and Design", 5th edition, 2012, section 15.2.
//!
//! One node, the coordinator, keeps the key. A node that wants to enter asks it and waits for the
//! key; a node that leaves gives it back. Requests that arrive meanwhile wait in a queue, first
//! come, first served.
//!
//! **Use it** where one node may be trusted to stay up: nothing is simpler or takes fewer messages
//! at every load, but all requests go through that node.
//!
//! ```text
//!   0  ──REQUEST─┬──────────▲──[ inside ]──RELEASE─┬───────────────────────────►
//!                │          │                      │
//!   1  ───REQUEST│─┬────────│──────────────────────│────────▲──[ inside ]──────►
//!                │ │        │                      │        │
//!   2  ──────────▼─▼──REPLY─┘  (1 is queued)       ▼──REPLY─┘   the coordinator
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 3; none for the coordinator's own entries |
//! | synchronisation delay | 2T; less if the coordinator leaves or enters |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(2T + E) |
//! | busiest node | the coordinator handles all 3 |
//!
//! **Assumes** that messages are not lost or duplicated and that the coordinator and the node
//! inside do not fail; the order of messages does not matter, because each names its request. The
//! coordinator is the last node of the group. It may compete like any other, without messages.
//!
//! **Why it is safe.** There is one key: the coordinator gives it out only when it has it, and gets
//! it back only by the release of the request that it gave it to.
//!
//! **Why no request starves.** The queue is first in, first out, and the node inside leaves. But
//! "first" is the order of arrival at the coordinator: a request may be overtaken by another that
//! it caused, if its message is slower, so entries do not respect happened-before.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Invariant, Message as _, Never, NodeId, NodeState,
    Protocol, Refused, Situation, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, Promises, RESPONSE, SYNC_DELAY, Setting,
    THE_LAST, Terms,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Layout, Span};

/// The messages between nodes. Every message names the request that it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// To the coordinator: may I have the key?
    Request {
        /// The number of the request among those of its sender.
        number: u64,
    },
    /// From the coordinator: here it is.
    Reply {
        /// The number of the request.
        number: u64,
    },
    /// To the coordinator: here it is back.
    Release {
        /// The number of the request.
        number: u64,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "REPLY", "RELEASE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply { .. } => 1,
            Self::Release { .. } => 2,
        }
    }

    fn counters(&mut self, from: NodeId, to: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { number } | Self::Release { number } => {
                visit(Counter::Ranked(from), number);
            }
            Self::Reply { number } => visit(Counter::Ranked(to), number),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Request { number } | Self::Reply { number } | Self::Release { number }) = self;
        write!(f, "{}({number})", self.kind_name())
    }
}

/// One node; the coordinator is one like the others, and decides besides.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Central {
    pub(super) me: NodeId,
    pub(super) coordinator: NodeId,
    /// The number of our last request.
    pub(super) number: u64,
    pub(super) phase: Phase,
    pub(super) as_coordinator: CoordinatorState,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// The state of the coordinator. At other nodes it is unused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct CoordinatorState {
    pub(super) holder: Option<Ticket>,
    pub(super) queue: VecDeque<Ticket>,
}

/// A request, as the coordinator knows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ticket {
    pub(super) node: NodeId,
    pub(super) number: u64,
}

impl Central {
    /// A node of `group`, whose last node coordinates.
    pub fn new(me: NodeId, group: Group) -> Self {
        let coordinator = NodeId(group.size() - 1);
        Self {
            me,
            coordinator,
            number: 0,
            phase: Phase::Outside,
            as_coordinator: CoordinatorState::default(),
        }
    }

    const fn ticket(&self) -> Ticket {
        Ticket { node: self.me, number: self.number }
    }

    fn on_request(&mut self, ticket: Ticket, fx: &mut impl Effects<Self>) {
        if self.as_coordinator.holder.is_none() {
            self.grant(ticket, fx);
        } else {
            self.as_coordinator.queue.push_back(ticket);
        }
    }

    fn on_release(&mut self, ticket: Ticket, fx: &mut impl Effects<Self>) {
        if self.as_coordinator.holder == Some(ticket) {
            self.as_coordinator.holder = None;
            if let Some(next) = self.as_coordinator.queue.pop_front() {
                self.grant(next, fx);
            }
        }
    }

    fn grant(&mut self, ticket: Ticket, fx: &mut impl Effects<Self>) {
        self.as_coordinator.holder = Some(ticket);
        if ticket.node == self.me {
            self.on_reply(ticket.number, fx);
        } else {
            fx.send(ticket.node, Message::Reply { number: ticket.number });
        }
    }

    fn on_reply(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        if self.phase == Phase::Waiting && number == self.number {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for Central {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.number += 1;
                self.phase = Phase::Waiting;
                if self.me == self.coordinator {
                    self.on_request(self.ticket(), fx);
                } else {
                    fx.send(self.coordinator, Message::Request { number: self.number });
                }
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                if self.me == self.coordinator {
                    self.on_release(self.ticket(), fx);
                } else {
                    fx.send(self.coordinator, Message::Release { number: self.number });
                }
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number } => self.on_request(Ticket { node: from, number }, fx),
            Message::Reply { number } => self.on_reply(number, fx),
            Message::Release { number } => self.on_release(Ticket { node: from, number }, fx),
        }
    }

    /// What it keeps as coordinator is that of the coordinator alone.
    fn state(&self) -> NodeState {
        let phase = match self.phase {
            Phase::Outside => "outside",
            Phase::Waiting => "waiting",
            Phase::Inside => "inside",
        };
        let state = NodeState::new().with("phase", phase).with("request", self.number);
        if self.me != self.coordinator {
            return state;
        }
        let shown = |ticket: &Ticket| (ticket.node, ticket.number);
        state
            .with("holder", self.as_coordinator.holder.as_ref().map(shown))
            .with("queue", StateValue::list(self.as_coordinator.queue.iter().map(shown)))
    }

    /// A number is compared with numbers of the same node, and only its owner counts on from it.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Ranked(self.me), &mut self.number);
        for ticket in self.as_coordinator.holder.iter_mut().chain(&mut self.as_coordinator.queue) {
            visit(Counter::Ranked(ticket.node), &mut ticket.number);
        }
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Central>] = &[Invariant { name: "one key", holds: one_key }];

/// The node inside, or the one that the key is in flight to, is the one that the coordinator has
/// noted. (A REPLY to an earlier request is not the key, and is ignored.)
fn one_key(at: &Situation<'_, Central>) -> Result<(), String> {
    let Some((_, as_coordinator)) = at.up().find(|(_, node)| node.me == node.coordinator) else {
        return Ok(());
    };
    let inside = at.up().filter(|(_, node)| node.phase == Phase::Inside);
    let inside = inside.map(|(_, node)| (node.ticket(), "is inside"));
    let under_way = at.messages().filter_map(|(_, to, message)| match *message {
        Message::Reply { number } => {
            let node = at.node(to);
            let is_key = node.phase == Phase::Waiting && node.number == number;
            is_key.then(|| (node.ticket(), "is sent the key"))
        }
        Message::Request { .. } | Message::Release { .. } => None,
    });
    match inside
        .chain(under_way)
        .find(|&(ticket, _)| as_coordinator.as_coordinator.holder != Some(ticket))
    {
        None => Ok(()),
        Some((Ticket { node, .. }, what)) => {
            Err(format!("node {node} {what}, and that is not what the coordinator has noted"))
        }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "central",
    title: "Central coordinator",
    solves: "mutual exclusion",
    citation: "folklore; Coulouris et al., 2012, §15.2",
    assumes: Assumes::ANY_ORDER.on(Layout::ThroughTheLast),
    takes: &[],
    terms: Terms {
        promises: Promises { bypass: Some(|_| 1), ..Promises::NONE },
        servers: 1,
        needs: THE_LAST,
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(|at| free_for_the_coordinator(at, 3.0)),
        SYNC_DELAY.costs(sync_delay),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| free_for_the_coordinator(at, 3.0)),
    ],
    flaws: FLAWS,
    page: page!("central.rs"),
};

/// A cost that the coordinator is spared, if it competes.
fn free_for_the_coordinator(at: &Setting, cost: f64) -> Span {
    if at.nodes() == 1 {
        Span::exactly(0.0)
    } else if at.contenders < at.nodes() {
        Span::exactly(cost)
    } else {
        let share = at.others() / f64::from(at.nodes());
        Span::between(0.0, cost).typically(cost * share)
    }
}

/// A queue like any other; the coordinator itself need not wait for messages.
fn response(at: &Setting) -> Span {
    let queue = theory::queue_of(at.contenders, 2.0, at);
    if at.contenders < at.nodes() { queue } else { queue.or(Span::exactly(at.hold)) }
}

/// The key comes back and goes out again. The coordinator is spared one or both if it competes: it
/// may even enter again while requests are still under way to it.
fn sync_delay(at: &Setting) -> Span {
    if at.contenders < at.nodes() { Span::exactly(2.0) } else { Span::between(0.0, 2.0) }
}

/// Properties that it does not promise, with a counterexample; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "last-come-first-served",
        what: "the coordinator serves the latest request first, so that two can keep a third out",
        breaks: "no starvation",
        shown_by: Demonstration::of(&[3, 1, 3, 0]),
    },
    Flaw {
        name: "applications-talk",
        what: "no mistake, but a limit: an application that hears of a request may get in first",
        breaks: "ordering",
        shown_by: Demonstration::of(&[1, 1, 0]).fifo(),
    },
    Flaw {
        name: "always-denied",
        what: "the trivial solution that is safe and not live: nobody is ever let in",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "always-granted",
        what: "the trivial solution that is live and not safe: everybody is let in at once",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn node(me: u32) -> (Central, Outbox<Central>) {
        (Central::new(NodeId(me), Group::of(4)), Outbox::default())
    }
    fn send(to: u32, message: Message) -> Effect<Central> {
        Effect::Send { to: NodeId(to), message }
    }

    #[test]
    fn a_client_asks_the_coordinator_and_gives_the_key_back() {
        let (mut client, mut fx) = node(1);
        client.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(3, Message::Request { number: 1 })]);
        client.on_message(NodeId(3), Message::Reply { number: 1 }, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        client.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(3, Message::Release { number: 1 })]);
    }

    #[test]
    fn the_coordinator_serves_in_the_order_of_arrival() {
        let (mut as_coordinator, mut fx) = node(3);
        for client in [2, 0, 1] {
            as_coordinator.on_message(NodeId(client), Message::Request { number: 1 }, &mut fx);
        }
        assert_eq!(fx.take(), [send(2, Message::Reply { number: 1 })]);
        as_coordinator.on_message(NodeId(2), Message::Release { number: 1 }, &mut fx);
        assert_eq!(fx.take(), [send(0, Message::Reply { number: 1 })]);
        as_coordinator.on_message(NodeId(0), Message::Release { number: 1 }, &mut fx);
        assert_eq!(fx.take(), [send(1, Message::Reply { number: 1 })]);
        as_coordinator.on_message(NodeId(1), Message::Release { number: 1 }, &mut fx);
        assert_eq!(
            (fx.take(), as_coordinator.as_coordinator),
            (vec![], CoordinatorState::default())
        );
    }

    #[test]
    fn the_coordinator_competes_without_messages() {
        let (mut as_coordinator, mut fx) = node(3);
        as_coordinator.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        as_coordinator.on_message(NodeId(0), Message::Request { number: 1 }, &mut fx);
        assert_eq!(fx.take(), []);
        as_coordinator.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, Message::Reply { number: 1 })]);
    }

    #[test]
    fn a_stale_release_and_a_stale_reply_change_nothing() {
        let (mut as_coordinator, mut fx) = node(3);
        as_coordinator.on_message(NodeId(0), Message::Request { number: 2 }, &mut fx);
        as_coordinator.on_message(NodeId(1), Message::Request { number: 1 }, &mut fx);
        fx.take();
        as_coordinator.on_message(NodeId(0), Message::Release { number: 1 }, &mut fx);
        as_coordinator.on_message(NodeId(2), Message::Release { number: 2 }, &mut fx);
        assert_eq!(fx.take(), []);
        let (mut client, mut fx) = node(0);
        client.on_message(NodeId(3), Message::Reply { number: 0 }, &mut fx);
        client.on_command(ACQUIRE, &mut fx).unwrap();
        client.on_message(NodeId(3), Message::Reply { number: 7 }, &mut fx);
        assert_eq!(fx.take(), [send(3, Message::Request { number: 1 })]);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        node.on_message(NodeId(3), Message::Reply { number: 1 }, &mut fx);
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }
}
