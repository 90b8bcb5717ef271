//! The events that a node reports, besides the log.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use vorrang_protocol::{GroupView, NodeId};

use crate::config::Limits;
use crate::hello::{Refusal, Refuser};
use crate::meaning::Meaning;

/// Where events are logged, each once. A program that shows them by itself turns it off.
pub const EVENT_TARGET: &str = "vorrang_net::event";

/// Something happened to a link, or to the node as a member of its group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Connected, for the first time or again.
    Connected {
        /// The peer.
        peer: NodeId,
        /// How many connections there were before.
        before: u64,
    },
    /// The connection ended; it is being made anew, and what was sent is kept.
    Lost {
        /// The peer.
        peer: NodeId,
        /// The cause.
        why: String,
    },
    /// We refused a node. Repeated refusals for the same reason are reported once.
    WeRefused {
        /// The id that it claimed, or its address.
        who: String,
        /// Why.
        why: Refusal,
    },
    /// A node refused us. Repeated refusals for the same reason are reported once.
    RefusedUs {
        /// The peer.
        peer: NodeId,
        /// Why.
        why: Refusal,
    },
    /// A connection was closed because it made no sense: a stranger, or broken bytes.
    Malformed {
        /// The node or the address that it came from.
        from: String,
        /// The reason.
        why: String,
    },
    /// A node does not answer at its address. Reported after a while, and again whenever the number
    /// of attempts has doubled, or for another reason.
    Unanswered {
        /// The peer.
        peer: NodeId,
        /// Where it should be.
        address: String,
        /// The error of the system.
        why: String,
        /// How many calls in a row.
        tries: u64,
    },
    /// More waited for a node than may: it is given up for good, and nothing is sent to it any
    /// more.
    GivenUp {
        /// Who.
        peer: NodeId,
        /// How much may wait.
        limits: Limits,
    },
    /// A node has said goodbye; nothing is sent to it any more.
    Left {
        /// Who.
        peer: NodeId,
    },
    /// A node has not been connected with for as long as a silence may last. Said once, until it is
    /// back, which is [`Connected`](Self::Connected).
    Missing {
        /// Who.
        peer: NodeId,
        /// For how long.
        since: Duration,
        /// What that means for requests, until it is back.
        means: Meaning,
    },
    /// A node will not be back: it left, was restarted or was given up.
    Gone {
        /// Who.
        peer: NodeId,
        /// What it did, as text.
        why: &'static str,
        /// What that means for requests.
        means: Meaning,
    },
    /// Something that was sent to a node which is gone never arrived: said once for each node, by
    /// nodes that may need what was in it.
    Undelivered {
        /// The receiver.
        peer: NodeId,
    },
    /// Something was asked that may have to wait for a node that is not there, or for ever.
    Doubt {
        /// The absent nodes, and what that means.
        why: String,
    },
    /// A request was not granted in the time that it had: it is given up, and will be released when
    /// it is granted.
    TimedOut {
        /// How long that was.
        after: Duration,
    },
    /// A request that was given up has been granted, and released at once.
    WithdrawnReleased,
    /// The machine has started.
    Started,
    /// The others have known this node in a former life: its machine restarts without its memory.
    Returned,
    /// This node was restarted and others remember its past: as long as they do, it neither handles
    /// messages nor takes commands.
    Fenced {
        /// The peer that knows it.
        by: NodeId,
    },
    /// In an open group: another process has this node's number and began later. This one neither
    /// handles messages nor takes commands any more.
    Replaced {
        /// The peer that knows it.
        by: NodeId,
        /// By how many seconds the other one began later, by its clock.
        later_by: u64,
        /// Whether the peer is connected with the other one. If not, it may be gone, and the clock
        /// of this machine may have been set back since.
        is_there: bool,
    },
    /// The application was told that it is inside no more.
    Evicted(Eviction),
    /// In an open group: a newcomer was given a number.
    Given {
        /// The number.
        number: NodeId,
        /// Where the newcomer will be found.
        address: String,
    },
    /// The machine's group is another one by now.
    View(GroupView),
    /// This node belonged to a group beside which another one was founded later: it joins that one.
    Superseded {
        /// Its last view.
        was: GroupView,
    },
    /// The machine's group cannot go on, as far as this node knows.
    NoMajority {
        /// Who is missing, and what to do about it.
        why: String,
    },
    /// It can again.
    Majority {
        /// The newest view that is known here.
        view: u64,
    },
    /// Over UDP: a datagram was dropped because it made no sense, or because of who sent it.
    Stray {
        /// Where it came from.
        from: String,
        /// The reason.
        why: String,
        /// How many more of this kind were not reported since the last that was.
        more: u64,
    },
    /// Over UDP: a message of the machine is longer than fits into a datagram, and was not sent. As
    /// far as the machine can tell, it was lost.
    TooLarge {
        /// The receiver; none if the message was for a command of the application inside the node,
        /// which was refused.
        to: Option<NodeId>,
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
        /// How many more of this kind were not reported since the last that was.
        more: u64,
    },
    /// Over UDP: the system did not send a datagram.
    Unsent {
        /// Where it should have gone.
        to: String,
        /// The error of the system.
        why: String,
        /// How many more of this kind were not reported since the last that was.
        more: u64,
    },
    /// Over UDP: multicasts do not work here, or not with a peer, so members are sent datagrams of
    /// their own.
    Unicast {
        /// The peer; none if multicast does not work at all.
        peer: Option<NodeId>,
        /// Why they do not.
        why: String,
    },
}

impl Event {
    pub(crate) fn log(&self) {
        match self {
            Self::WeRefused { .. }
            | Self::RefusedUs { .. }
            | Self::GivenUp { .. }
            | Self::Replaced { .. }
            | Self::Evicted(_)
            | Self::NoMajority { .. }
            | Self::Superseded { .. }
            | Self::Fenced { .. } => tracing::error!(target: EVENT_TARGET, "{self}"),
            Self::Malformed { .. }
            | Self::Stray { .. }
            | Self::TooLarge { .. }
            | Self::Unsent { .. }
            | Self::Unicast { .. }
            | Self::Unanswered { .. }
            | Self::Missing { .. }
            | Self::Gone { .. }
            | Self::Undelivered { .. } => tracing::warn!(target: EVENT_TARGET, "{self}"),
            Self::Connected { .. }
            | Self::Lost { .. }
            | Self::Left { .. }
            | Self::Returned
            | Self::TimedOut { .. }
            | Self::WithdrawnReleased
            | Self::Given { .. }
            | Self::View(_)
            | Self::Majority { .. }
            | Self::Started => tracing::info!(target: EVENT_TARGET, "{self}"),
            // One for every request while a node is away.
            Self::Doubt { .. } => tracing::debug!(target: EVENT_TARGET, "{self}"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { peer, before: 0 } => write!(f, "connected with node {peer}"),
            Self::Connected { peer, before: _ } => write!(f, "connected again with node {peer}"),
            Self::Lost { peer, why } => write!(f, "lost the connection with node {peer}: {why}"),
            Self::WeRefused { who, why } => {
                write!(f, "we refused {who}: {}", why.sentence(Refuser::Us))
            }
            Self::RefusedUs { peer, why } => {
                write!(f, "node {peer} refused us: {}", why.sentence(Refuser::Them))
            }
            Self::Malformed { from, why } => write!(f, "closed a connection with {from}: {why}"),
            Self::Unanswered { peer, address, why, tries } => {
                let nth = ordinal(*tries);
                write!(f, "waiting for node {peer} at {address}: {why}, {nth} try")
            }
            Self::GivenUp { peer, limits } => {
                write!(f, "node {peer} is given up for good: its queue exceeded {limits}")
            }
            Self::Left { peer } => write!(f, "node {peer} has left for good"),
            Self::Missing { peer, since, means } => {
                let since = since.as_secs_f64();
                write!(f, "node {peer} has not answered for {since:.1} s")?;
                means.until_back(f)
            }
            Self::Gone { peer, why, means } => {
                write!(f, "node {peer} {why}")?;
                means.for_ever(f)
            }
            Self::Undelivered { peer } => undelivered(*peer, f),
            Self::Doubt { why } | Self::NoMajority { why } => f.write_str(why),
            Self::TimedOut { after } => {
                let after = after.as_secs_f64();
                write!(f, "gave up after {after} s: not granted in time, released as soon as it is")
            }
            Self::WithdrawnReleased => {
                f.write_str("the withdrawn request was granted, and released at once")
            }
            Self::Started => f.write_str("started"),
            Self::Returned => f.write_str(CAME_BACK),
            Self::Fenced { by } => write!(f, "fenced: node {by} knows our previous incarnation"),
            Self::Replaced { by, later_by, is_there } => {
                write!(f, "fenced: {}", replaced(*by, *later_by, *is_there))
            }
            Self::Evicted(why) => write!(f, "lost the lock: {why}"),
            Self::Given { number, address } => given(*number, address, f),
            Self::View(belonging) => belonging.fmt(f),
            Self::Superseded { was } => write!(
                f,
                "evicted: there were two groups, and that of {was}, to which this node belonged, \
                 is over; it joins the other one, whose view is later"
            ),
            Self::Majority { view } => write!(f, "a majority of view {view} answers again"),
            Self::Stray { from, why, more } => {
                write!(f, "dropped a datagram from {from}: {why}{}", More(*more))
            }
            Self::TooLarge { to: None, length, limit, more: _ } => write!(
                f,
                "a command was refused: a message of {length} bytes does not fit into {limit}"
            ),
            Self::TooLarge { to: Some(to), length, limit, more } => write!(
                f,
                "a message to node {to} was not sent: its {length} bytes are more than the \
                 {limit} that fit into a datagram{}",
                More(*more)
            ),
            Self::Unsent { to, why, more } => {
                write!(f, "a datagram to {to} was not sent: {why}{}", More(*more))
            }
            Self::Unicast { peer: None, why } => {
                write!(f, "{why}: falling back to unicast to every member")
            }
            Self::Unicast { peer: Some(peer), why } => {
                write!(f, "node {peer} is sent unicasts: {why}")
            }
        }
    }
}

/// Why an application inside was told that it is inside no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Eviction {
    /// The others have gone on without its node.
    Excluded {
        /// The newest view that it knows.
        view: u64,
    },
    /// Its node could not renew its lease.
    LeaseOver {
        /// The view that it belongs to.
        view: u64,
    },
    /// Another process was started under the number of its node.
    Replaced {
        /// The peer that knows it.
        by: NodeId,
    },
    /// Its node was restarted, and a peer knows its previous incarnation.
    Restarted {
        /// The peer.
        by: NodeId,
    },
}

impl Eviction {
    /// One word for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Excluded { .. } => "excluded",
            Self::LeaseOver { .. } => "lease over",
            Self::Replaced { .. } => "replaced",
            Self::Restarted { .. } => "restarted",
        }
    }
}

impl fmt::Display for Eviction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded { view } => write!(
                f,
                "the others had not heard this node in time and went on without it, in view {view}"
            ),
            Self::LeaseOver { view } => {
                write!(f, "this node could not renew its lease in view {view} in time")
            }
            Self::Replaced { by } => write!(
                f,
                "another process was started under the id of this node, and node {by} has let it in"
            ),
            Self::Restarted { by } => {
                write!(f, "node {by} knows a previous incarnation of this node")
            }
        }
    }
}

const CAME_BACK: &str = "came back: the others have known a former life of this node";

fn undelivered(peer: NodeId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "a message was lost with node {peer}: if it had a grant or a token in it, no request is \
         granted any more"
    )
}

/// What a peer knows of another process under the id of this one.
pub(crate) fn replaced(by: NodeId, later_by: u64, is_there: bool) -> String {
    if is_there {
        return format!("node {by} knows a later incarnation of this node");
    }
    let why = Refusal::Replaced { later_by, is_there }.sentence(Refuser::Them);
    format!("node {by} knows a later incarnation of this node: {why}")
}

fn given(number: NodeId, address: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "gave id {number} to a new member at {address}")
}

/// How many more there were.
struct More(u64);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            more => write!(f, " (and {more} more of the kind)"),
        }
    }
}

/// 1st, 2nd, 3rd, 4th.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_endings() {
        let numbers = [1, 2, 3, 4, 11, 12, 13, 21, 111, 122];
        let words = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th", "122nd"];
        assert_eq!(numbers.map(ordinal), words);
    }
}
