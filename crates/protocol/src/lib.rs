//! The contract between a distributed algorithm and its drivers.
//!
//! An algorithm is a [`Protocol`]: one node's side of it, as a deterministic state machine. It is
//! told of [`Event`]s and answers by calling [`Effects`]. It has no clock, no sockets, no threads
//! and no randomness of its own; being `no_std`, an algorithm's crate cannot even reach for them.
//!
//! The simulator, the checker and the network differ only in the [`Effects`] that they pass, so
//! the code that was measured and verified is the code that runs.
//!
//! # A whole protocol
//!
//! Every node that is told to `shout` sends its number to all others; a node that hears a number
//! larger than any before tells its application.
//!
//! ```
//! use std::fmt;
//!
//! use serde::{Deserialize, Serialize};
//! use vorrang_protocol::{Effect, Effects, Group, Message, Never, NodeId, Outbox};
//! use vorrang_protocol::{Protocol, Refused};
//!
//! #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
//! struct Heard(u32);
//! impl fmt::Display for Heard {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         write!(f, "HEARD({})", self.0)
//!     }
//! }
//! impl Message for Heard {
//!     const KINDS: &'static [&'static str] = &["HEARD"];
//!     fn kind(&self) -> usize { 0 }
//! }
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! struct Shouter { me: NodeId, group: Group, largest: u32 }
//! impl Protocol for Shouter {
//!     type Message = Heard;
//!     type Timer = Never;
//!     type Command = ();
//!     type Notice = u32;
//!     fn on_command(&mut self, (): (), fx: &mut impl Effects<Self>) -> Result<(), Refused> {
//!         fx.broadcast(self.group.others(self.me), Heard(self.me.0));
//!         Ok(())
//!     }
//!     fn on_message(&mut self, _from: NodeId, Heard(number): Heard, fx: &mut impl Effects<Self>) {
//!         if number > self.largest {
//!             self.largest = number;
//!             fx.notify(number);
//!         }
//!     }
//! }
//!
//! let group = Group::of(3);
//! let mut node = Shouter { me: NodeId(0), group, largest: 0 };
//! let mut fx = Outbox::default();
//! node.on_message(NodeId(2), Heard(2), &mut fx);
//! node.on_message(NodeId(1), Heard(1), &mut fx);
//! assert_eq!(fx.take(), [Effect::Notify(2)]);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod counters;
mod delay;
mod digest;
mod duration;
mod effects;
mod graph;
mod group_view;
mod invariant;
mod layer;
mod monitor;
mod needs;
mod node;
mod node_state;
mod protocol;
mod sorted;
mod transition;
mod turn;

pub use counters::{Counter, CounterVisitor};
pub use delay::Delay;
pub use digest::Digest;
pub use duration::{WallTime, parse_duration_ns, show_duration_ns};
pub use effects::{DynEffects, Effect, Outbox};
pub use graph::Graph;
pub use group_view::{GroupHealth, GroupView, Wording};
pub use invariant::{Guard, Invariant, Situation};
pub use layer::{Lift, Relay};
pub use monitor::{Monitor, Obligation, Violation};
pub use needs::{Needs, Prospect};
pub use node::{Group, NodeId, NodeSet, Order};
pub use node_state::{NodeState, StateValue};
pub use protocol::{Data, Effects, Event, Message, Never, Protocol, Refused};
pub use sorted::{SortedMap, SortedSet};
pub use transition::{Occurrence, Prefix, Transition};
pub use turn::{Step, Turn};
