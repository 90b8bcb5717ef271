//! Nodes, messages and whole populations of any algorithm, without their types.
//!
//! Code that is generic over a protocol is compiled again for every algorithm and for every mistake
//! in one. Here types end, in two ways, and everything behind them is compiled once for a problem:
//!
//! - An [`AnyNode`] is one node. It takes the problem's commands and tells its notices; its
//!   messages are [`AnyMessage`]s, its timers [`AnyTimer`]s. The checker, the stage, replay and the
//!   network use it: they ask a node seldom, or wait much longer for it than a virtual call takes.
//! - An [`AnyPopulation`] is all nodes of a run with their messages in flight and their timers. The
//!   simulator uses it: messages stay in a typed table and never become objects of their own, and a
//!   broadcast is stored once, however many receive it.
//!
//! An [`OpaqueNode`] is a node whose messages are bytes, for layers that go over links.
//!
//! An algorithm's handlers are compiled once for both, with
//! [`DynEffects`](vorrang_protocol::DynEffects).
#![forbid(unsafe_code)]

mod bounded_integers;
mod message;
mod node;
mod opaque_node;
mod population;
mod slab;
mod timer;
mod timer_table;

pub use bounded_integers::{MAX_INTEGER, MessageBounds, is_bounded};
pub use message::{AnyMessage, encoded_len};
pub use node::AnyNode;
pub use opaque_node::{OpaqueMessage, OpaqueNode};
pub use population::{
    AnyPopulation, Driver, Fresh, MessageId, Messages, Population, Stored, TimerId,
};
pub use timer::AnyTimer;
