//! The messages between members of a group.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use super::list;
use super::shown::Shown;
use super::view::View;
use super::voters::{Change, Voter};
use crate::layer::kinds::{MOST_KINDS, with};

/// The messages between nodes; `B` is the payload of multicasts, `I` the state that is transferred
/// when a view ends, and `M` the messages of the consensus module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<B, I, M> {
    /// How I stand: I want in, I want out, I am up, I have come so far.
    Status(Status),
    /// To the sequencer: put this in order.
    Data {
        /// In this view.
        view: u64,
        /// The sender's, in this view, from 0.
        number: u32,
        /// The multicast.
        payload: B,
    },
    /// From the sequencer: this comes at this place.
    Ordered {
        /// In this view.
        view: u64,
        /// From 0.
        place: u32,
        /// The message at that place.
        entry: Entry<B>,
    },
    /// This view ends: stop, and tell what you have.
    Flush {
        /// The view.
        view: u64,
    },
    /// I have stopped, and this is what I have.
    FlushOk {
        /// The view.
        view: u64,
        /// The report of a stopped member.
        report: Report<B, I>,
    },
    /// This comes next: it is decided.
    NewView(Install<B, I>),
    /// To decide it.
    Decision(M),
}

/// How a node stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Status {
    /// In which life it is. Earlier ones are over.
    pub incarnation: u64,
    /// Whether its application wants to belong to the group.
    pub wants: bool,
    /// The newest view that it knows.
    pub view: u64,
    /// How far it has come in that view, if it belongs to it.
    pub inside: Option<Progress>,
    /// The nodes that it cannot hear, lowest first.
    pub misses: Vec<NodeId>,
    /// Since which life it has its directory, [where that matters](super::voters).
    pub since: Option<u64>,
    /// What it was asked to change, and is not done.
    pub changes: Vec<Change>,
}

/// How far a node has come in its view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// How many messages it has delivered.
    pub upto: u32,
    /// Whether it has stopped.
    pub is_frozen: bool,
}

/// A message of an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Entry<B> {
    /// The sender.
    pub from: NodeId,
    /// The sender's, in this view, from 0.
    pub number: u32,
    /// The payload.
    pub payload: B,
}

/// The report of a member that has stopped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Report<B, I> {
    /// How many messages all members have delivered, as far as it knows.
    pub base: u32,
    /// The messages that it has delivered after these.
    pub entries: Vec<Entry<B>>,
    /// The messages of later places that it knows.
    pub early: Vec<(u32, Entry<B>)>,
    /// Its own multicasts that it has not delivered.
    pub pending: Vec<Entry<B>>,
    /// The state of its application, for transfer.
    pub info: I,
}

/// A view, and what those who come from the one before must know.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Install<B, I> {
    /// The view.
    pub view: View,
    /// The number of the view with which its group was founded: another one is another group.
    pub founded: u64,
    /// Who votes on the next view, where views [name](super::voters) their voters: lowest first,
    /// each node once. Else none.
    pub voters: Vec<Voter>,
    /// How many messages of the last view all members had delivered.
    pub base: u32,
    /// Those after these, up to its end.
    pub log: Vec<Entry<B>>,
    /// The transferred states of the members that go on.
    pub infos: Vec<Info<I>>,
    /// Members of the view before that have not reported in the life that it has: they may not
    /// know that it has ended, though another life may have begun under their number. Where a
    /// group is founded, the founders: of a group that they have forgotten a member may be left.
    pub gone: Vec<NodeId>,
}

/// The transferred state of an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Info<I> {
    /// Whose.
    pub of: NodeId,
    /// How many messages of the view it had delivered by then.
    pub upto: u32,
    /// The transferred state.
    pub info: I,
}

impl<B, I> Install<B, I> {
    /// The first view of a group, before which there was nothing.
    pub const fn first(view: View) -> Self {
        let founded = view.id;
        Self {
            view,
            founded,
            voters: Vec::new(),
            base: 0,
            log: Vec::new(),
            infos: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// The messages to deliver after so many.
    pub fn after(&self, upto: u32) -> &[Entry<B>] {
        let had = upto.saturating_sub(self.base) as usize;
        self.log.get(had..).unwrap_or_default()
    }
}

impl<B, I, M> From<M> for Message<B, I, M> {
    fn from(message: M) -> Self {
        Self::Decision(message)
    }
}

/// A message by which a node is heard to be up.
pub trait Beat {
    /// Whether it is one.
    fn is_beat(&self) -> bool;

    /// In which life it says that the sender is.
    fn life(&self) -> Option<u64>;
}

impl<B, I, M> Beat for Message<B, I, M> {
    fn is_beat(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    fn life(&self) -> Option<u64> {
        match self {
            Self::Status(status) => Some(status.incarnation),
            Self::Data { .. }
            | Self::Ordered { .. }
            | Self::Flush { .. }
            | Self::FlushOk { .. }
            | Self::NewView(_)
            | Self::Decision(_) => None,
        }
    }
}

const OWN: [&str; 6] = ["STATUS", "DATA", "ORDER", "FLUSH", "FLUSH_OK", "NEWVIEW"];

impl<B: Shown, I: Shown, M: vorrang_protocol::Message> Message<B, I, M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &with(OWN, M::KINDS);
}

impl<B: Shown, I: Shown, M: vorrang_protocol::Message> vorrang_protocol::Message
    for Message<B, I, M>
{
    const KINDS: &'static [&'static str] =
        Self::KINDS_AND_MORE.split_at(OWN.len() + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self {
            Self::Status(_) => 0,
            Self::Data { .. } => 1,
            Self::Ordered { .. } => 2,
            Self::Flush { .. } => 3,
            Self::FlushOk { .. } => 4,
            Self::NewView(_) => 5,
            Self::Decision(message) => OWN.len() + message.kind(),
        }
    }

    fn is_status(&self) -> bool {
        self.is_beat()
    }
}

impl<B: Shown, I: Shown, M: vorrang_protocol::Message> fmt::Display for Message<B, I, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "STATUS({status})"),
            Self::Data { view, number, payload } => {
                write!(f, "DATA({view}: number {number}, {payload:?})")
            }
            Self::Ordered { view, place, entry } => write!(f, "ORDER({view}: {place}, {entry})"),
            Self::Flush { view } => write!(f, "FLUSH({view})"),
            Self::FlushOk { view, report } => {
                let Report { base, entries, early, pending, info } = report;
                let upto = base.saturating_add(entries.len() as u32);
                write!(f, "FLUSH_OK({view}: {upto} delivered, {} ahead, ", early.len())?;
                write!(f, "{} pending, {})", pending.len(), info.shown())
            }
            Self::NewView(install) => {
                let log: Vec<_> = install.log.iter().map(ToString::to_string).collect();
                write!(f, "NEWVIEW({} after [{}])", install.view, log.join("; "))
            }
            Self::Decision(message) => fmt::Display::fmt(message, f),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { incarnation, wants, view, inside, misses, changes, .. } = self;
        write!(f, "life {incarnation}, {}, view {view}", if *wants { "in" } else { "out" })?;
        match inside {
            Some(Progress { upto, is_frozen: false }) => write!(f, ", {upto} delivered")?,
            Some(Progress { upto, is_frozen: true }) => write!(f, ", {upto} delivered, blocked")?,
            None => {}
        }
        if !misses.is_empty() {
            write!(f, ", misses {}", list(misses))?;
        }
        if changes.is_empty() { Ok(()) } else { write!(f, ", asks to {}", list(changes)) }
    }
}

impl<B: fmt::Debug> fmt::Display for Entry<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {} of {}, {:?}", self.number, self.from, self.payload)
    }
}
