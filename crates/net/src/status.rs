//! How a node is, when asked.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use vorrang_protocol::{GroupHealth, GroupView, NodeId, NodeState};

use crate::event::Eviction;
use crate::turns::Stage;

/// A node, at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// Which node.
    pub id: NodeId,
    /// Whether the machine runs yet; before, it waits to meet all peers.
    pub started: bool,
    /// Why the node is fenced, if it is: as long as a peer knows a previous incarnation of it.
    pub fenced: Option<String>,
    /// How long ago its application was last told that it has lost the lock, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction: Option<(Duration, Eviction)>,
    /// How far this node is with its turn, and since when; none if it was not told what a turn is
    /// ([`Node::steps`](crate::Node::steps)).
    pub turn: Option<(Stage, Duration)>,
    /// The view of the group, if the machine runs a membership protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupView>,
    /// Whether that group can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<GroupHealth>,
    /// Why it cannot, if it is so, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// How long its lease lasts, if it is inside with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_left: Option<Duration>,
    /// The links to all others that are known, lowest first.
    pub links: Vec<LinkStatus>,
    /// The counts of datagrams; none over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Messages sent to others, by kind.
    pub sent: Vec<(&'static str, u64)>,
    /// Messages handled from others, by kind.
    pub received: Vec<(&'static str, u64)>,
    /// Whether others may still need this node for what its application has asked: if it left now,
    /// something could be lost.
    pub owes: bool,
    /// Whether the machine has set a timer, so that something may come of it without a message.
    #[serde(skip)]
    pub awaits_timer: bool,
    /// The machine's variables, under the names of the algorithm's paper.
    pub machine: NodeState,
}

/// A report of a machine.
#[derive(Debug)]
pub(crate) struct MachineReport {
    /// Messages sent to others, by kind.
    pub(crate) sent: Vec<(&'static str, u64)>,
    /// Messages handled from others, by kind.
    pub(crate) received: Vec<(&'static str, u64)>,
    /// Whether others may still need it.
    pub(crate) owes: bool,
    /// Whether a timer is set, so that something may come of it without a message.
    pub(crate) awaits_timer: bool,
    /// The machine's variables.
    pub(crate) machine: NodeState,
}

/// What a node knows of the group of its machine, if that runs a membership protocol: as its
/// application is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupStatus {
    /// Its newest view.
    pub view: Option<GroupView>,
    /// Whether the group can go on.
    pub health: Option<GroupHealth>,
    /// The addresses of all numbers; empty if unknown.
    pub addresses: Vec<String>,
}

/// The counts of datagrams of a node over UDP, hellos and heartbeats included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Datagrams {
    /// Sent to one member each.
    pub unicast: u64,
    /// Sent to all members at once: one datagram each, however many members there are.
    pub multicast: u64,
    /// Not sent: the system did not take them as fast as they came, or at all.
    pub unsent: u64,
    /// Received, those that were dropped on purpose included.
    pub received: u64,
    /// Received and not heeded: of strangers, of other lives, malformed, or at the wrong moment.
    pub refused: u64,
    /// Received and dropped on purpose ([`Faults`](crate::Faults)).
    pub lost: u64,
    /// Received and heeded twice on purpose.
    pub doubled: u64,
    /// Received and put behind the next one on purpose.
    pub overtaken: u64,
}

/// The link to one other node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkStatus {
    /// The peer.
    pub peer: NodeId,
    /// Where it listens.
    pub address: String,
    /// How it stands.
    pub state: LinkState,
    /// How many connections there have been.
    pub connections: u64,
    /// Messages sent and not acknowledged yet.
    pub unacknowledged: usize,
    /// How many bytes they take.
    pub unacknowledged_bytes: usize,
    /// Messages ever sent on this link.
    pub sent: u64,
    /// Messages ever handled from this link.
    pub received: u64,
    /// Messages not delivered because the peer has left for good, or was given up.
    pub dropped: u64,
    /// Unanswered calls in a row.
    pub unanswered: u64,
    /// The error of the last of them.
    pub trouble: Option<String>,
}

/// How a link stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// For so long.
    Connected(Duration),
    /// Not connected, for so long; the one with the higher number dials.
    Connecting(Duration),
    /// One side refuses the other.
    Refused(String),
    /// The peer has left for good, or we have.
    Gone(String),
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(since) => write!(f, "connected for {:.1} s", since.as_secs_f64()),
            Self::Connecting(since) => write!(f, "connecting for {:.1} s", since.as_secs_f64()),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Gone(why) => write!(f, "gone: {why}"),
        }
    }
}
