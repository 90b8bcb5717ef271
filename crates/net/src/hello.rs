//! The handshake of two nodes, and why one may refuse the other.
//!
//! ```text
//!   higher number                                lower number
//!        │───hello: who I am, whom I want,            │
//!        │          what I have of yours─────────────►│  judges it
//!        │◄──hello: the same, from its side───────────│  or refuses, and closes
//!        │   judges it, or refuses, and closes        │
//!        │◄═══data, acks, both ways══════════════════►│
//! ```
//!
//! Of two nodes, the one with the higher number dials.
//!
//! All nodes of a group are **set up alike**: the same algorithm, the same settings, the same list
//! of peers, in the same order and the same words. Nodes with different set-ups would each run an
//! algorithm of their own, and the proofs of neither would hold. So a hello has the whole set-up,
//! and a node that finds a difference refuses, with a reason from which both sides learn what
//! differs. Two names of one host are a difference, too: whether they mean the same can change
//! while nodes run.
//!
//! An **incarnation** is a number that a process draws for each of its peers when it starts, and
//! tells only that peer: by it the two know each other on every later connection, and a process
//! that merely knows the group cannot pass for a member that was met. (One that reads the traffic
//! can: links are not encrypted yet.) A restarted process has drawn other numbers, and has lost its
//! state. A group that has begun cannot readmit it: without its state it would ask with an outdated
//! time, or grant again what it has granted already. So it is refused, and as long as a peer
//! refuses it for that, it is fenced: it neither handles messages nor takes commands. A peer that
//! has not begun itself has handled nothing and sent nothing; it forgets the previous incarnation
//! and admits the new one.
//!
//! A hello is judged in this order (see `Incarnations`): the **identity** of its sender, by its
//! incarnation; and only if that is not known to be another process, **its claim about us**. So a
//! process that has outlived its group cannot fence later ones.
//!
//! The node with the lower number does not dial. If it is not called for a while, it **asks to be
//! dialled**: it sends its identity, without the secret numbers, and is told whether it will be
//! called, or why not. So two nodes with different lists learn so even if neither dials the other.

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::directory::DirectoryStart;

pub use crate::address_book::{JoinGrant, JoinRequest};
pub use crate::excerpt::{EXCERPT_LEN, Excerpt};
pub use crate::refusal::{Refusal, Refuser};

/// How long the name of a group or an algorithm may be, in bytes: it must fit into a hello.
pub const MAX_NAME_LEN: usize = 255;

/// The sender, the receiver, and the sender's set-up: the public part of a hello.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Introduction {
    /// The group's name.
    pub group: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// Every node's address, as the sender was given it.
    pub peers: Vec<String>,
    /// The sender.
    pub sender: NodeId,
    /// The receiver.
    pub target: NodeId,
    /// The life of the sender, where processes come back; else 0.
    pub generation: u64,
    /// How many nodes found the group, if it is open; else 0.
    pub founders: u32,
    /// Which start in its directory this is, if the sender has stable storage.
    pub start: Option<DirectoryStart>,
}

/// The first frame on a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The sender and the receiver.
    pub who: Introduction,
    /// Every how many milliseconds the sender says something, be it only that it is there.
    pub heartbeat_ms: u64,
    /// Drawn by the sender when it started, for the target alone.
    pub incarnation: u64,
    /// The target's incarnation for the sender, if the two have met.
    pub knows: Option<u64>,
    /// How many of the target's messages the sender has handled.
    pub received: u64,
    /// Which connection between the two this is, counted by the one who dials: a hello that was
    /// overtaken by a later one is dropped.
    pub attempt: u64,
    /// Whether the sender's group has begun without this process of the target: where processes
    /// may come back, it is a later one of its node.
    pub returns: bool,
}

/// The request of a node to be called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DialRequest {
    /// The sender and the receiver.
    pub who: Introduction,
}
