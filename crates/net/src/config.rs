//! What a node must be told before it starts.

use std::time::Duration;

use vorrang_protocol::NodeId;

use crate::NetError;

/// Who a node is, and whom it belongs to.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which node of the group this is.
    pub id: NodeId,
    /// Every node's address, as `host:port`; `peers[id]` is where this one listens.
    ///
    /// Every node is given the same list, word for word and in the same order: whoever has another
    /// is refused, even if its names mean the same hosts. So ports that the system draws must be
    /// known before the first node starts; see [`Node::listener`](crate::Node::listener).
    pub peers: Vec<String>,
    /// The group's name: nodes of other groups are refused.
    pub group: String,
    /// The algorithm's name: nodes that run another are refused.
    pub algorithm: String,
    /// How the algorithm is set up, in words that are the same wherever it is set up alike, such as
    /// `--nodes 5 --k 2`: nodes with another set-up are refused.
    pub setup: String,
    /// What the node's choices and delays are drawn from, together with its id.
    pub seed: u64,
    /// When the machine starts.
    pub start: Start,
    /// How long things may take.
    pub timing: Timing,
}

impl Config {
    /// The node `id` of those at `peers`; everything else is as it usually is.
    pub fn new(id: NodeId, peers: Vec<String>, algorithm: &str) -> Self {
        Self {
            id,
            peers,
            group: "default".to_owned(),
            algorithm: algorithm.to_owned(),
            setup: String::new(),
            seed: 0,
            start: Start::default(),
            timing: Timing::default(),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), NetError> {
        if self.id.index() >= self.peers.len() {
            return Err(NetError::NotAMember { id: self.id, nodes: self.peers.len() });
        }
        for name in [&self.group, &self.algorithm] {
            if name.len() > MAX_NAME_LEN {
                return Err(NetError::NameTooLong(name.clone()));
            }
        }
        Ok(())
    }
}

/// How long the name of a group or an algorithm may be, in bytes: it must fit into a hello.
pub const MAX_NAME_LEN: usize = 255;

/// When the machine starts: handles messages and commands, and may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// When this node has met every other; commands given before wait.
    ///
    /// This is what makes it safe to refuse restarted nodes: a node that ever did anything is known
    /// to all, so none of them can take its next incarnation for a newcomer.
    #[default]
    WhenAllMet,
    /// At once. A node that is restarted before all others have met it may then be taken for a
    /// newcomer by those who had not, though others already rely on what it said before.
    AtOnce,
}

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// From connecting to the end of the hello.
    pub hello: Duration,
    /// The first pause before dialling again; it doubles with every failure.
    pub backoff_min: Duration,
    /// The longest pause before dialling again. Pauses are drawn between half and all of their
    /// length, so that nodes do not dial in step.
    pub backoff_max: Duration,
    /// How long a message stays unacknowledged while there is nothing for its acknowledgement to
    /// ride on.
    pub ack: Duration,
    /// How long a peer may acknowledge nothing while something is owed before the connection is
    /// taken for dead and made anew.
    pub silence: Duration,
    /// How long a shutdown waits for what was sent to be acknowledged.
    pub linger: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(5),
            backoff_min: Duration::from_millis(10),
            backoff_max: Duration::from_secs(1),
            ack: Duration::from_millis(20),
            silence: Duration::from_secs(10),
            linger: Duration::from_secs(2),
        }
    }
}
