//! The messages of locks on views.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::group::message::Beat;
use crate::layer::kinds::MOST_KINDS;

/// The messages between nodes: `V` about views, `M` of the algorithm.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<V, M> {
    /// About views.
    Views(V),
    /// Within a view.
    Within {
        /// The view.
        view: u64,
        /// The sender's clock.
        clock: u64,
        /// The message.
        word: ViewMessage<M>,
    },
}

/// The messages within a view.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewMessage<M> {
    /// I was inside when the view began, and have left.
    Left,
    /// Have you?
    HaveYouLeft,
    /// Is this the newest view, as far as you might decide? The number of the question.
    AreYouThere(u32),
    /// It is.
    IAmThere(u32),
    /// A message of the algorithm.
    Lock(M),
}

impl<M> ViewMessage<M> {
    /// Its place among the layer's own, or what it says of the algorithm.
    const fn own(&self) -> Result<usize, &M> {
        match self {
            Self::Left => Ok(0),
            Self::HaveYouLeft => Ok(1),
            Self::AreYouThere(_) => Ok(2),
            Self::IAmThere(_) => Ok(3),
            Self::Lock(message) => Err(message),
        }
    }
}

const OWN: [&str; 4] = ["LEFT", "HAVE_YOU_LEFT", "ARE_YOU_THERE", "I_AM_THERE"];

/// One list after the other, then its own. The rest is empty: see
/// [`with`](crate::layer::kinds::with).
const fn joined(
    first: &'static [&'static str],
    then: &'static [&'static str],
) -> [&'static str; MOST_KINDS] {
    let (mut all, mut kind) = ([""; MOST_KINDS], 0);
    while kind < first.len() {
        all[kind] = first[kind];
        kind += 1;
    }
    kind = 0;
    while kind < OWN.len() {
        all[first.len() + kind] = OWN[kind];
        kind += 1;
    }
    kind = 0;
    while kind < then.len() {
        all[first.len() + OWN.len() + kind] = then[kind];
        kind += 1;
    }
    all
}

/// The kinds of messages about views of this type, and within views of these kinds.
pub fn kinds<V: vorrang_protocol::Message>(within: &[&'static str]) -> Vec<&'static str> {
    [V::KINDS, &OWN, within].concat()
}

impl<V: vorrang_protocol::Message, M: vorrang_protocol::Message> Message<V, M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &joined(V::KINDS, M::KINDS);
}

impl<V, M> vorrang_protocol::Message for Message<V, M>
where
    V: vorrang_protocol::Message,
    M: vorrang_protocol::Message,
{
    const KINDS: &'static [&'static str] =
        Self::KINDS_AND_MORE.split_at(V::KINDS.len() + OWN.len() + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self {
            Self::Views(message) => message.kind(),
            Self::Within { word, .. } => match word.own() {
                Ok(place) => V::KINDS.len() + place,
                Err(message) => V::KINDS.len() + OWN.len() + message.kind(),
            },
        }
    }

    fn is_status(&self) -> bool {
        match self {
            Self::Views(message) => message.is_status(),
            Self::Within { .. } => false,
        }
    }

    fn kind_name(&self) -> &'static str {
        match self {
            Self::Views(message) => message.kind_name(),
            Self::Within { word, .. } => match word.own() {
                Ok(place) => OWN[place],
                Err(message) => message.kind_name(),
            },
        }
    }
}

impl<M: fmt::Display> fmt::Display for ViewMessage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.own() {
            Ok(place) => f.write_str(OWN[place]),
            Err(message) => message.fmt(f),
        }
    }
}

impl<V: fmt::Display, M: fmt::Display> fmt::Display for Message<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Views(message) => message.fmt(f),
            Self::Within { view, clock, word } => {
                write!(f, "{word} [view {view}, clock {clock}]")
            }
        }
    }
}

impl<V: Beat, M> Beat for Message<V, M> {
    fn is_beat(&self) -> bool {
        match self {
            Self::Views(message) => message.is_beat(),
            Self::Within { .. } => false,
        }
    }

    fn life(&self) -> Option<u64> {
        match self {
            Self::Views(message) => message.life(),
            Self::Within { .. } => None,
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// A timer of the algorithm, in this view.
    Lock(u64, T),
    /// A lease is over that began with the last question of this number, modulo a small one.
    Lease(u32),
    /// It is over soon.
    Risk(u32),
    /// The time by which leases of members evicted before this view are over.
    Over(u64),
}
