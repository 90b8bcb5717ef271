//! Delivery orders, independent of the carrier.
//!
//! | order | promises | how | costs |
//! | --- | --- | --- | --- |
//! | `fifo` | those of one sender as it sent them | as they are carried | nothing, T |
//! | `causal` | besides, none before its causes | counts on every message | nothing, T |
//! | `sequencer` | besides, the same at all | member 0 announces the next | N−1 more, 2T |
//! | `token` | the same | the token gives places | who asks for it, T with it |
//! | `lamport` | the same | by stamps, once all were heard | up to (N−1)² more, 2T |
//! | `skeen` | the same | the highest of all proposals | 2(N−1) more, 3T |
//!
//! All need a carrier that keeps each sender's order. A total order of messages that are delivered
//! before their sender says anything that depends on them is causal, too.

mod causal;
mod lamport;
mod sequencer;
mod skeen;
mod token;

use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Never, NodeId, NodeState, Protocol, Refused, SortedMap,
};

use super::Text;
use super::body::Body;
use crate::setup::Ordering;
pub use causal::Causal;
pub use lamport::Lamport;
pub use sequencer::Sequencer;
pub use skeen::Skeen;
pub use token::Token;

/// The effects of an ordering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Tell the application.
    Deliver {
        /// Whose message.
        from: NodeId,
        /// Which of its messages.
        number: u64,
        /// The content.
        text: Text,
    },
    /// Have this carried to all, this member included.
    Put(Body),
    /// Send a letter to one.
    Mail {
        /// The receiver.
        to: NodeId,
        /// The content.
        letter: OrderMessage,
    },
}

/// The state of an order at one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// As they come.
    Fifo,
    /// After what caused them.
    Causal(Causal),
    /// As one member says.
    Sequencer(Sequencer),
    /// By the holder of the token.
    Token(Token),
    /// By stamps.
    Lamport(Lamport),
    /// By the highest proposal.
    Skeen(Skeen),
}

impl Order {
    /// Nothing has been said yet.
    pub fn new(ordering: Ordering, me: NodeId, group: Group) -> Self {
        match ordering {
            Ordering::Fifo => Self::Fifo,
            Ordering::Causal => Self::Causal(Causal::new(group)),
            Ordering::Sequencer => Self::Sequencer(Sequencer::new(me)),
            Ordering::Token => Self::Token(Token::new(me, group)),
            Ordering::Lamport => Self::Lamport(Lamport::new(me, group)),
            Ordering::Skeen => Self::Skeen(Skeen::new(me, group)),
        }
    }

    /// Its variables, under their names.
    pub fn state(&self) -> NodeState {
        match self {
            Self::Fifo => NodeState::new(),
            Self::Causal(order) => order.state(),
            Self::Sequencer(order) => order.state(),
            Self::Token(order) => order.state(),
            Self::Lamport(order) => order.state(),
            Self::Skeen(order) => order.state(),
        }
    }

    /// Shows clocks and places, of which there is one order for all, and numbers of messages.
    pub fn counters(&mut self, visit: CounterVisitor<'_>) {
        match self {
            Self::Fifo => {}
            Self::Causal(order) => order.counters(visit),
            Self::Sequencer(order) => order.counters(visit),
            Self::Token(order) => order.counters(visit),
            Self::Lamport(order) => order.counters(visit),
            Self::Skeen(order) => order.counters(visit),
        }
    }

    /// The last stamp that was heard of a member, or that it has used itself: by stamps only.
    pub fn last_stamp_of(&self, member: NodeId) -> Option<u64> {
        match self {
            Self::Lamport(order) => order.last.get(member.index()).copied(),
            Self::Fifo | Self::Causal(_) | Self::Sequencer(_) | Self::Token(_) | Self::Skeen(_) => {
                None
            }
        }
    }

    /// Whether members write to each other alone.
    pub const fn writes_letters(&self) -> bool {
        matches!(self, Self::Token(_) | Self::Skeen(_))
    }

    /// The application says something.
    pub fn on_cast(&mut self, text: Text, acts: &mut Vec<Act>) {
        match self {
            Self::Fifo => acts.push(Act::Put(Body::Plain(text))),
            Self::Causal(order) => acts.push(Act::Put(order.cast(text))),
            Self::Sequencer(order) => acts.push(Act::Put(order.cast(text))),
            Self::Token(order) => order.cast(text, acts),
            Self::Lamport(order) => acts.push(Act::Put(order.cast(text))),
            Self::Skeen(order) => acts.push(Act::Put(order.cast(text))),
        }
    }

    /// Something has come that is this member's so-many-th message of an application, if it is one.
    pub fn on_heard(&mut self, from: NodeId, number: u64, body: Body, acts: &mut Vec<Act>) {
        match (self, body) {
            (Self::Fifo, Body::Plain(text)) => acts.push(Act::Deliver { from, number, text }),
            (Self::Causal(order), Body::After(past, text)) => {
                order.heard(from, number, (past, text), acts);
            }
            (Self::Sequencer(order), Body::Plain(text)) => order.heard(from, number, text, acts),
            (Self::Sequencer(order), Body::Next(ids)) => order.next(from, &ids.0, acts),
            (Self::Token(order), Body::Placed(place, text)) => {
                order.heard(place, Act::Deliver { from, number, text }, acts);
            }
            (Self::Lamport(order), Body::Stamped(stamp, text)) => {
                order.heard(from, stamp, Some((number, text)), acts);
            }
            (Self::Lamport(order), Body::Clock(stamp)) => order.heard(from, stamp, None, acts),
            (Self::Skeen(order), Body::Plain(text)) => order.heard(from, number, text, acts),
            (Self::Skeen(order), Body::Final { number, place }) => {
                order.decided(from, number, place, acts);
            }
            // A member with the same set-up never sends it.
            (
                Self::Fifo
                | Self::Causal(_)
                | Self::Sequencer(_)
                | Self::Token(_)
                | Self::Lamport(_)
                | Self::Skeen(_),
                Body::Plain(_)
                | Body::After(..)
                | Body::Placed(..)
                | Body::Stamped(..)
                | Body::Clock(_)
                | Body::Next(_)
                | Body::Final { .. },
            ) => {}
        }
    }

    /// A letter has come.
    pub fn on_letter(&mut self, from: NodeId, letter: OrderMessage, acts: &mut Vec<Act>) {
        match (self, letter) {
            (Self::Token(order), OrderMessage::Want(by)) => order.wanted(by, acts),
            (Self::Token(order), OrderMessage::Token(next)) => order.came(next, acts),
            (Self::Skeen(order), OrderMessage::Propose { number, clock }) => {
                order.proposed(from, number, clock, acts);
            }
            (
                Self::Fifo
                | Self::Causal(_)
                | Self::Sequencer(_)
                | Self::Token(_)
                | Self::Lamport(_)
                | Self::Skeen(_),
                OrderMessage::Want(_) | OrderMessage::Token(_) | OrderMessage::Propose { .. },
            ) => {}
        }
    }

    /// Whether something waits until the carrier has room.
    pub fn waits_for_room(&self) -> bool {
        match self {
            Self::Fifo | Self::Causal(_) | Self::Token(_) | Self::Skeen(_) => false,
            Self::Sequencer(order) => order.waits_for_room(),
            Self::Lamport(order) => order.waits_for_room(),
        }
    }

    /// The carrier has room.
    pub fn on_room(&mut self, acts: &mut Vec<Act>) {
        match self {
            Self::Fifo | Self::Causal(_) | Self::Token(_) | Self::Skeen(_) => {}
            Self::Sequencer(order) => order.speak(acts),
            Self::Lamport(order) => order.speak(acts),
        }
    }

    /// How many of this member's own messages it has not delivered.
    pub fn own_pending(&self) -> usize {
        match self {
            Self::Fifo | Self::Causal(_) => 0,
            Self::Sequencer(order) => order.own_pending(),
            Self::Token(order) => order.own_pending(),
            Self::Lamport(order) => order.own_pending(),
            Self::Skeen(order) => order.own_pending(),
        }
    }

    /// How many messages it keeps because their turn has not come.
    pub fn buffered(&self) -> usize {
        match self {
            Self::Fifo => 0,
            Self::Causal(order) => order.buffered(),
            Self::Sequencer(order) => order.buffered(),
            Self::Token(order) => order.buffered(),
            Self::Lamport(order) => order.buffered(),
            Self::Skeen(order) => order.buffered(),
        }
    }
}

/// Changes the keys and values of a map.
fn change_all<K: Ord, V>(map: &mut SortedMap<K, V>, mut change: impl FnMut(&mut K, &mut V)) {
    let changed = mem::take(map).into_iter().map(|(mut key, mut value)| {
        change(&mut key, &mut value);
        (key, value)
    });
    *map = changed.collect();
}

impl OrderMessage {
    /// As of a message to this member: the numbers are of its messages.
    pub(crate) fn counters(&mut self, to: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Want(_) => {}
            Self::Token(place) => visit(Counter::Common, place),
            Self::Propose { number, clock } => {
                visit(Counter::Sequence(to), number);
                visit(Counter::Common, clock);
            }
        }
    }
}

/// A unicast of an ordering.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderMessage {
    /// This member wants the token.
    Want(NodeId),
    /// The token: the next place to be given.
    Token(u64),
    /// A proposal for the place of the receiver's message.
    Propose {
        /// Which message.
        number: u64,
        /// The clock of who proposes.
        clock: u64,
    },
}

impl vorrang_protocol::Message for OrderMessage {
    const KINDS: &'static [&'static str] = &["WANT", "TOKEN", "PROPOSE"];

    fn kind(&self) -> usize {
        match self {
            Self::Want(_) => 0,
            Self::Token(_) => 1,
            Self::Propose { .. } => 2,
        }
    }
}

impl fmt::Display for OrderMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Want(by) => write!(f, "WANT({by})"),
            Self::Token(next) => write!(f, "TOKEN({next})"),
            Self::Propose { number, clock } => write!(f, "PROPOSE({number},{clock})"),
        }
    }
}

/// Writes letters and hands them up: a node that does nothing else, for a layer of reliable
/// channels to be around.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Post;

impl Protocol for Post {
    type Message = OrderMessage;
    type Timer = Never;
    type Command = (NodeId, OrderMessage);
    type Notice = (NodeId, OrderMessage);

    fn on_command(
        &mut self,
        (to, letter): (NodeId, OrderMessage),
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        fx.send(to, letter);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, letter: OrderMessage, fx: &mut impl Effects<Self>) {
        fx.notify((from, letter));
    }
}
