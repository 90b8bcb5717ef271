//! The configuration of a node.

use std::fmt;
use std::time::{Duration, SystemTime};

use vorrang_protocol::{Needs, NodeId};

use crate::address_book::{MAX_ROOM, is_address};
use crate::directory::DirectoryStart;
use vorrang_erased::MAX_INTEGER;

use crate::error::NetError;
use crate::hello::MAX_NAME_LEN;
use crate::meaning::Service;

/// The identity of a node, and its group.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which node of the group this is.
    pub id: NodeId,
    /// Every node's address, as `host:port`; `peers[id]` is where the others find this one.
    ///
    /// Every node is given the same list, word for word and in the same order: a node with another
    /// list is refused, even if its names mean the same hosts. So ports that the system assigns
    /// must be known before the first node starts; see [`Node::listener`](crate::Node::listener).
    pub peers: Vec<String>,
    /// The group's name: nodes of other groups are refused.
    pub group: String,
    /// The algorithm's name: nodes that run another are refused.
    pub algorithm: String,
    /// How the algorithm is set up, in words that are the same wherever it is set up alike, such as
    /// `--nodes 5 --k 2`: nodes with another set-up are refused.
    pub setup: String,
    /// The seed of the node's choices and delays, combined with its id.
    pub seed: u64,
    /// When the machine starts.
    pub start: Start,
    /// How long things may take.
    pub timing: Timing,
    /// Where this node listens, if that is not where the others find it: behind a translation of
    /// addresses, or on all interfaces.
    pub listen: Option<String>,
    /// Limits of queues and of numbers in messages.
    pub limits: Limits,
    /// The nodes that a request needs. Where too many of those have left for good, a request is
    /// refused with a reason instead of waiting for ever
    /// ([`CommandError::Hopeless`](crate::CommandError)).
    pub needs: Needs,
    /// What the machine does for its application.
    pub service: Service,
    /// Whether those who belong to the group are known from the beginning.
    pub membership: Membership,
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
            listen: None,
            limits: Limits::default(),
            needs: Needs::default(),
            service: Service::default(),
            membership: Membership::Fixed,
        }
    }

    /// The same in an open group: for a machine with a membership protocol that tolerates the loss
    /// of members and of messages to them.
    #[must_use]
    pub fn open(self, open: Open) -> Self {
        let (start, needs) = (Start::AtOnce, Needs::Nobody);
        Self { membership: Membership::Open(open), start, needs, ..self }
    }

    /// The same in a group of fixed members in which a process that restarts without its state is
    /// let in again: for a machine that [stands that](vorrang_protocol::Protocol::without_memory).
    #[must_use]
    pub fn returning(self, generation: Generation) -> Self {
        Self { membership: Membership::Returning(generation), ..self }
    }

    /// The generation of this process, where it counts.
    pub(crate) const fn generation(&self) -> Option<Generation> {
        match &self.membership {
            Membership::Open(open) => Some(open.generation),
            Membership::Returning(generation) => Some(*generation),
            Membership::Fixed => None,
        }
    }

    /// How it is open, if it is.
    pub(crate) const fn openness(&self) -> Option<&Open> {
        match &self.membership {
            Membership::Open(open) => Some(open),
            Membership::Fixed | Membership::Returning(_) => None,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), NetError> {
        if self.id.index() >= self.peers.len() {
            return Err(NetError::NotAMember { id: self.id, nodes: self.peers.len() });
        }
        if self.openness().is_some() {
            let (nodes, own) = (self.peers.len(), &self.peers[self.id.index()]);
            if nodes > MAX_ROOM {
                return Err(NetError::TooMuchRoom { nodes });
            }
            let mut known = self.peers.iter().filter(|it| !it.is_empty()).chain([own]);
            if let Some(wrong) = known.find(|it| !is_address(it)) {
                return Err(NetError::NotAnAddress(wrong.clone()));
            }
        }
        for name in [&self.group, &self.algorithm] {
            if name.len() > MAX_NAME_LEN {
                return Err(NetError::NameTooLong(name.clone()));
            }
        }
        self.timing.validate()
    }

    /// Where this node listens.
    pub(crate) fn listens_on(&self) -> &str {
        self.listen.as_ref().unwrap_or(&self.peers[self.id.index()])
    }
}

/// Whether the members of a group are fixed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Membership {
    /// They are, and all have the same list. A process that restarts without its state is refused.
    #[default]
    Fixed,
    /// They are, and a process that restarts without its state takes the place of the one before:
    /// links of the former process end at both ends, with all that was under way on them. The
    /// machine starts when all have met; that of a process which the others have known in another
    /// life restarts, when it has met all others or for a second some.
    Returning(Generation),
    /// They come and go.
    Open(Open),
}

/// An open group: it has as many ids as [`Config::peers`] is long, and an address that is not known
/// yet is empty there. A member that crashes is silent; a process with its id and a larger
/// generation replaces it, and messages of the former are not delivered any more. Messages from one
/// process to another arrive once and in order, though the two be disconnected for ten minutes, and
/// as many messages be sent meanwhile as [`Limits`] allow and no more than 32768: of more, the
/// oldest are lost. Messages sent while a peer is away may also reach the next process with its id.
/// Only for machines that tolerate all this.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// The life of this process: larger than that of any other under the same number before.
    pub generation: Generation,
    /// Numbers below this belong to those who have them, and are not given to newcomers.
    pub founders: u32,
    /// Whether the machine was given what an earlier process had stored: then it restarts.
    pub(crate) is_restored: bool,
    /// Which start in its directory this is, if it has stable storage.
    pub(crate) start: Option<DirectoryStart>,
}

impl Open {
    /// In this life, of a group that so many nodes found.
    pub const fn new(generation: Generation, founders: u32) -> Self {
        Self { generation, founders, is_restored: false, start: None }
    }
}

/// The generation of a process: its start time, in microseconds since 1970.
///
/// No process may be taken for an earlier one with the same id. With [stable
/// storage](crate::StableStorage) a life is larger than the one before, whatever the clock says.
/// Without, there is nothing to count restarts with, so a clock decides: a process is started later
/// than its predecessor with the
/// same id, by more than a microsecond, as starting a process takes longer. Where a clock was set
/// back meanwhile, the new process is taken for an older one and refused, with a reason, until the
/// clock has caught up: it is not admitted, and not confused with another. The same happens to one
/// of two processes that run with one id at a time: the later one counts, wherever it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Generation(u64);

impl Generation {
    /// By how much a clock may be ahead of ours, in microseconds: an hour. Without a bound one
    /// process could claim a generation after which no other counts.
    const AHEAD: u64 = 3_600_000_000;

    /// One that begins now.
    pub fn now() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self(now.map_or(1, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX)).max(1))
    }

    /// One that was on stable storage.
    pub(crate) const fn stored(number: u64) -> Self {
        Self(number)
    }

    /// Its number, which is never 0.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Whether a process can have started with it by now, by our clock.
    pub(crate) fn is_plausible(number: u64) -> bool {
        number <= Self::now().0.saturating_add(Self::AHEAD)
    }
}

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
    /// How long a link is left without a word: a side that has nothing to say for so long says that
    /// it is there. Peers learn it with the hello, and refuse who would speak too seldom for them.
    pub heartbeat: Duration,
    /// After how long a silence the connection is taken for dead and made anew; at least two
    /// heartbeats. Both sides look, so a connection of which the network has forgotten one
    /// direction, or both, does not last.
    pub give_up: Duration,
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
            heartbeat: Duration::from_secs(1),
            give_up: Duration::from_secs(5),
            linger: Duration::from_secs(2),
        }
    }
}

impl Timing {
    fn validate(&self) -> Result<(), NetError> {
        let Self { hello, backoff_min, backoff_max, ack: _, heartbeat, give_up, linger: _ } = *self;
        let wrong = |why: String| Err(NetError::Timing(why));
        if heartbeat < Duration::from_millis(1) {
            return wrong(format!("a heartbeat of {heartbeat:?} is shorter than 1 ms"));
        }
        if give_up < heartbeat.saturating_mul(2) {
            return wrong(format!(
                "to give up after {give_up:?} is too soon for a heartbeat of {heartbeat:?}: \
                 it takes two at least"
            ));
        }
        if backoff_min.is_zero() || backoff_min > backoff_max {
            return wrong(format!(
                "pauses from {backoff_min:?} to {backoff_max:?} between calls make no sense"
            ));
        }
        if hello.is_zero() {
            return wrong("no time for a hello".to_owned());
        }
        Ok(())
    }
}

/// How much may wait for one peer before it is given up, and the largest plausible number in a
/// message.
///
/// A machine cannot be told to wait, and dropping one message would break what every algorithm here
/// relies on. So a link on which more waits than this is over for good: what waited is dropped, the
/// peer is refused from then on, and both sides are told. To the algorithm the peer has crashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Messages that were sent and are not acknowledged.
    pub messages: usize,
    /// How many bytes they may take.
    pub bytes: usize,
    /// The largest number of 64 bits in a message; see [`MAX_INTEGER`]. A number that is drawn and
    /// not counted is a [`Digest`](vorrang_protocol::Digest).
    pub number: u64,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages or {} bytes", self.messages, self.bytes)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { messages: 1 << 18, bytes: 1 << 26, number: MAX_INTEGER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_make_no_sense_are_named() {
        let usual = Timing::default();
        usual.validate().unwrap();
        let second = Duration::from_secs(1);
        let zero = Duration::ZERO;
        for (timing, words) in [
            (Timing { heartbeat: zero, ..usual }, "a heartbeat of 0ns"),
            (Timing { give_up: second, ..usual }, "give up after 1s is too soon"),
            (Timing { backoff_max: zero, ..usual }, "pauses from 10ms to 0ns"),
            (Timing { backoff_min: zero, ..usual }, "pauses from 0ns to 1s"),
            (Timing { hello: zero, ..usual }, "no time for a hello"),
        ] {
            let error = timing.validate().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
