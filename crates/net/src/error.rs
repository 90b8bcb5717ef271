//! The errors of a node.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use vorrang_protocol::{NodeId, Refused};

use crate::address_book::MAX_ROOM;
use crate::hello::MAX_NAME_LEN;

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The address to listen on is taken, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The node's own number is beyond the list of peers.
    #[error("there is no node {id} in a group of {nodes}")]
    NotAMember {
        /// The number.
        id: NodeId,
        /// How many peers were listed.
        nodes: usize,
    },
    /// An open group has room for more than a hello can name.
    #[error("an open group has at most {MAX_ROOM} nodes, not {nodes}")]
    TooMuchRoom {
        /// For how many it should have.
        nodes: usize,
    },
    /// A process of this algorithm cannot come back without its memory.
    #[error("{algorithm} is not safe if a process loses its memory, so none can come back")]
    Remembers {
        /// The algorithm.
        algorithm: String,
    },
    /// What is on stable storage is nothing that this machine has stored.
    #[error("what is on stable storage was not stored by this version of {algorithm}")]
    Unreadable {
        /// The algorithm.
        algorithm: String,
    },
    /// It is no address.
    #[error("'{0}' is not an address: write HOST:PORT, as in 127.0.0.1:7000")]
    NotAnAddress(String),
    /// A member that was asked to let this process in did not.
    #[error("{address} does not let us in: {why}")]
    NotLetIn {
        /// Where the member is.
        address: String,
        /// Its answer, or the error.
        why: String,
    },
    /// A name does not fit into a hello.
    #[error("the name '{0}' is longer than {MAX_NAME_LEN} bytes")]
    NameTooLong(String),
    /// Times that do not go together.
    #[error("{0}")]
    Timing(String),
    /// The list of peers, with all that a node says besides, does not fit into a hello.
    #[error(
        "a hello with the set-up and the list of peers has {length} bytes, and at most {limit} \
         are allowed: use shorter addresses"
    )]
    HelloTooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A hello does not fit into one datagram: names, set-up or addresses are too long.
    #[error(
        "a hello with the set-up has {length} bytes, and a datagram at most {limit}: use shorter \
         names"
    )]
    GreetingTooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The settings of UDP are invalid.
    #[error("{0}")]
    Udp(String),
    /// There is no multicast here, or not for us.
    #[error(
        "cannot join the multicast group {group} on the interface {interface}: {source} \
         (without multicast, members can be sent datagrams of their own)"
    )]
    Multicast {
        /// The group.
        group: SocketAddrV4,
        /// The address of the interface.
        interface: Ipv4Addr,
        /// The error of the system.
        source: io::Error,
    },
}

/// Why a command was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// It came at the wrong moment; the machine is as it was before.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// This node was restarted, and others still know what it has forgotten: it must not act.
    #[error("this node must not act: {0}")]
    Fenced(String),
    /// A node that it needs is gone for good: it could only have waited for ever.
    #[error("{0}")]
    Hopeless(String),
    /// It was given up before the node had met all others, so that nothing was asked.
    #[error("given up: this node has not met all others yet, and has sent no request")]
    GivenUp,
    /// Over UDP: a message that the machine would send for it does not fit into a datagram. Nothing
    /// was done.
    #[error("a message of {length} bytes would have to be sent, and at most {limit} are")]
    TooLarge {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// There is no node any more; whether the command was carried out is not known.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

/// The node does not run any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the node has stopped: {why}")]
pub struct Stopped {
    /// Why it does not.
    pub why: StopReason,
}

/// How a node ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StopReason {
    /// It was asked to.
    #[error("it was shut down")]
    ShutDown,
    /// It was stopped at once, or all its handles were dropped.
    #[error("it was killed")]
    Killed,
    /// The machine did something that cannot be carried out, or it or the application panicked.
    #[error("{0}")]
    Failed(Arc<str>),
    /// Stable storage has failed, so the node could forget what it has promised.
    #[error("{0}")]
    Storage(Arc<str>),
    /// Its task is gone without a word: the runtime ended.
    #[error("its task ended unexpectedly")]
    Vanished,
}

/// Why the machine does not carry out a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    Refused(Refused),
    TooLarge { length: usize, limit: usize },
}

impl From<Refused> for Denied {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Denied> for CommandError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Refused(refused) => Self::Refused(refused),
            Denied::TooLarge { length, limit } => Self::TooLarge { length, limit },
        }
    }
}
