//! A model checker: every interleaving of a protocol's nodes, and a shortest counterexample.
//!
//! A [`System`] is a handful of nodes, a [`Plan`] of what their applications do, a monitor that
//! says what must hold, and the [`Order`] in which messages may arrive. [`explore()`] follows every
//! run of it: every order of commands, deliveries and timers, every answer to every choice. What
//! comes of it is one of three: [`Outcome::Verified`], the space of states is exhausted;
//! [`Outcome::Violated`], with a shortest run to the violation; [`Outcome::Bounded`], with the
//! bound that was hit.
//!
//! # A whole check
//!
//! Two nodes take a token each from a heap that node 0 keeps. The monitor counts them, and believes
//! that one is all there is.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use serde::{Deserialize, Serialize};
//! use vorrang_check::{Ask, Bounds, Order, Outcome, Plan, System, explore};
//! use vorrang_protocol::{Effects, Message, Monitor, Never, NodeId, Protocol, Refused, Violation};
//!
//! #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
//! enum Say { Please, Here }
//! impl std::fmt::Display for Say {
//!     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
//!         f.write_str(self.kind_name())
//!     }
//! }
//! impl Message for Say {
//!     const KINDS: &'static [&'static str] = &["PLEASE", "HERE"];
//!     fn kind(&self) -> usize { match self { Self::Please => 0, Self::Here => 1 } }
//! }
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! struct Node;
//! impl Protocol for Node {
//!     type Message = Say;
//!     type Timer = Never;
//!     type Command = char;
//!     type Notice = char;
//!     fn on_command(&mut self, _: char, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
//!         fx.send(NodeId(0), Say::Please);
//!         Ok(())
//!     }
//!     fn on_message(&mut self, from: NodeId, message: Say, fx: &mut impl Effects<Self>) {
//!         match message {
//!             Say::Please => fx.send(from, Say::Here),
//!             Say::Here => fx.notify('t'),
//!         }
//!     }
//! }
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! struct AtMostOne(u32);
//! impl Monitor for AtMostOne {
//!     type Command = char;
//!     type Notice = char;
//!     type Tag = ();
//!     fn on_command(&mut self, _: NodeId, _: &char) -> Result<(), Violation> { Ok(()) }
//!     fn on_notice(&mut self, at: NodeId, _: &char) -> Result<(), Violation> {
//!         self.0 += 1;
//!         let what = format!("node {at} got another token");
//!         if self.0 > 1 { Err(Violation { property: "scarcity", what }) } else { Ok(()) }
//!     }
//!     fn at_rest(&self) -> Result<(), Violation> { Ok(()) }
//! }
//!
//! let plan = Plan::PerNode(vec![vec![Ask::then_wait('t')], vec![Ask::then_wait('t')]]);
//! let system = System::new(vec![Node, Node], plan, AtMostOne(0)).links(Order::Any);
//! let report = explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {});
//! let Outcome::Violated { violation, run } = report.outcome else { panic!() };
//! assert_eq!(violation.property, "scarcity");
//! assert_eq!(run.moves.len(), 6);
//! ```
//!
//! # What a state is
//!
//! The nodes, the messages in flight, the armed timers, how far the plan has come, and the monitor;
//! nothing of how it came about. To start the nodes is not a step; a step is a command, a delivery
//! or a timer that runs out. See [`Bounds`] for the limits of the search, and [`Report`] for its
//! counts.
#![forbid(unsafe_code)]

mod catch_panic;
mod channels;
mod choices;
mod determinism;
mod ended;
mod explore;
mod fingerprint;
mod follow;
mod handler;
mod handler_oracle;
mod level;
mod liveness;
mod lowest;
mod machine;
mod memory;
mod model;
mod obligations;
mod parts;
mod plan;
mod report;
mod retrace;
mod run;
mod shift;
mod state;
mod state_hash;
mod step;
mod system;
mod table;
mod timers;
mod trial;
mod walk;

pub use catch_panic::catch_panic;
pub use explore::{explore, explore_after, walk};
pub use follow::Stray;
pub use plan::{Ask, FOREVER, Plan};
pub use report::{Answer, Bound, Bounds, Fingerprint, Outcome, Progress, Report};
pub use run::{Move, Run, Start};
pub use system::{Demands, Faults, Links, Liveness, System};
pub use vorrang_protocol::{Occurrence, Order, Prefix, Transition};
pub use walk::Walks;
