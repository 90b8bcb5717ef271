//! Runs a distributed algorithm's state machine between real processes, over TCP or UDP.
//!
//! A [`Node`] drives one [`Protocol`](vorrang_protocol::Protocol): the same machine, unchanged,
//! that the simulator measures and the checker explores. It never knows which algorithm it runs.
//!
//! - **Links** between the nodes are reliable and in order for as long as both processes live,
//!   across broken connections; a process that was restarted has lost its state and is refused, and
//!   so is one with another set-up. See [`wire`] for the format and [`hello`] for admission. Both
//!   sides send heartbeats, so that a dead connection is detected ([`Timing`]); the queue for a
//!   peer is bounded ([`Limits`]).
//! - **An open group** ([`Open`]) has members that join, leave and come back without their state:
//!   for machines with a membership protocol. A process that has the address of one member can join
//!   ([`request_id`]).
//! - **One task a node** owns the machine and its sockets and handles one event at a time. It is
//!   compiled once, in this crate: an algorithm adds only its handlers and the reading and writing
//!   of its messages.
//! - **The program** talks to a node through its [`Handle`], or runs inside it as an
//!   [`Application`]. Both know the problem, by its commands and notices, and not the algorithm.
//! - **A request can be given up** ([`Handle::withdraw`], [`Handle::ask_within`]), and a node can
//!   leave without blocking the others ([`Handle::leave`]), if it knows what a turn is
//!   ([`Node::steps`]). An [`Event`] reports members that are lost, back or gone, and what that
//!   means; a request that can never be granted is refused.
//! - **Over UDP** ([`udp`]) messages are lost, duplicated and reordered, and a message to all is
//!   one multicast: for machines that tolerate losses, and layers that add reliability.
//! - **A run can be recorded**, on a [`Clock`] that all processes of a machine share, and judged by
//!   the same monitors as a simulated one.
//! - **Trust**: anyone who can reach the port can pose as a member that has not been met yet, and
//!   anyone who can read the traffic can take the place of one that has. Others cannot: two nodes
//!   that have met know each other by secret numbers. Over [`Tcp`] links are neither encrypted nor
//!   authenticated; keep them on a network of your own. A [`Transport`] that knows who is at the
//!   other end of a connection says so ([`Stream::proves`]), and then nobody poses as another.
//!
//! Several nodes in one process are fastest on a `current_thread` runtime: then a hand-over between
//! two of them wakes no other thread. A node alone in its process works the same on either.
//!
//! # Three nodes in one process, one enters
//!
//! ```
//! use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
//! use vorrang_algorithms::mutex::{Claim, Command, Notice};
//! use vorrang_net::{Config, Node, bind_loopback};
//! use vorrang_protocol::{Group, NodeId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (listeners, peers) = bind_loopback(3).await?;
//! let mut nodes = Vec::new();
//! for (id, listener) in (0..).map(NodeId).zip(listeners) {
//!     let machine = RicartAgrawala::new(id, Group::of(3));
//!     let config = Config::new(id, peers.clone(), "ricart-agrawala");
//!     nodes.push(Node::new(machine, config).listener(listener).start().await?);
//! }
//!
//! let (node, notices) = &mut nodes[1];
//! node.command(Command::Acquire(Claim::Exclusive)).await?;
//! assert_eq!(notices.recv().await, Some(Notice::Entered));
//! // One at a time, across all nodes.
//! node.command(Command::Release).await?;
//!
//! for (node, _) in nodes {
//!     node.shutdown().await?;
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod address_book;
mod application;
mod backlog;
mod clock;
mod config;
mod connecting;
mod connection;
mod directory;
mod drawn;
mod driver;
mod error;
mod event;
mod excerpt;
mod files;
mod handle;
mod handshake;
pub mod hello;
mod identity;
mod incarnations;
mod link;
mod loopback;
mod machine;
mod machine_io;
mod meaning;
mod node;
mod node_core;
mod open_group;
mod peers;
mod rate_limit;
mod ready_links;
mod recorder;
mod refusal;
mod stable_storage;
mod standing;
mod status;
mod tcp_network;
mod timers;
mod transport;
mod turns;
pub mod udp;
mod unidentified;
mod waiting;
pub mod wire;

pub use vorrang_erased::{MAX_INTEGER, OpaqueMessage, OpaqueNode};

pub use address_book::{JoinGrant, JoinRequest, MAX_ROOM};
pub use application::{Application, ApplicationEffects};
pub use backlog::WARN_LEN;
pub use clock::Clock;
pub use config::{Config, Generation, Limits, Membership, Open, Start, Timing};
pub use connecting::{request_id, request_id_over};
pub use directory::DirectoryStart;
pub use error::{CommandError, NetError, StopReason, Stopped};
pub use event::{EVENT_TARGET, Event, Eviction};
pub use files::reserve_files;
pub use handle::{EVENTS_KEPT, Goodbye, Handle};
pub use hello::MAX_NAME_LEN;
pub use loopback::bind_loopback;
pub use meaning::{Meaning, Service};
pub use node::{Node, Started, Starting};
pub use rate_limit::RateLimit;
pub use recorder::{Log, RecordOf, Recorder};
pub use stable_storage::{Owner, StableStorage, StorageError};
pub use status::{Datagrams, GroupStatus, LinkState, LinkStatus, Status};
pub use transport::{Claim, Listener, Stream, Tcp, Transport, Unproved};
pub use turns::{ReleaseOutcome, Stage, Steps};
pub use udp::{Cast, Faults, Multicast, Udp};
