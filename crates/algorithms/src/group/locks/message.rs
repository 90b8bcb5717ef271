//! What the nodes of locks on views tell each other.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::group::message::Beat;
use crate::layer::kinds::MOST_KINDS;

/// What nodes say to each other: `V` about views, `M` as nodes of the algorithm.
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
        /// What it says.
        word: Word<M>,
    },
}

/// What nodes say to each other within a view.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word<M> {
    /// I was inside when the view began, and have left.
    Left,
    /// Have you?
    HaveYouLeft,
    /// Of the algorithm.
    Lock(M),
}

const OWN: [&str; 2] = ["LEFT", "HAVE_YOU_LEFT"];

/// One list after the other, then its own. The rest is empty: see
/// [`with`](crate::layer::kinds::with).
const fn kinds(
    first: &'static [&'static str],
    then: &'static [&'static str],
) -> [&'static str; MOST_KINDS] {
    let (mut all, mut kind) = ([""; MOST_KINDS], 0);
    while kind < first.len() {
        all[kind] = first[kind];
        kind += 1;
    }
    all[kind] = OWN[0];
    all[kind + 1] = OWN[1];
    kind = 0;
    while kind < then.len() {
        all[first.len() + OWN.len() + kind] = then[kind];
        kind += 1;
    }
    all
}

impl<V: vorrang_protocol::Message, M: vorrang_protocol::Message> Message<V, M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &kinds(V::KINDS, M::KINDS);
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
            Self::Within { word: Word::Left, .. } => V::KINDS.len(),
            Self::Within { word: Word::HaveYouLeft, .. } => V::KINDS.len() + 1,
            Self::Within { word: Word::Lock(message), .. } => {
                V::KINDS.len() + OWN.len() + message.kind()
            }
        }
    }

    fn kind_name(&self) -> &'static str {
        match self {
            Self::Views(message) => message.kind_name(),
            Self::Within { word: Word::Left, .. } => OWN[0],
            Self::Within { word: Word::HaveYouLeft, .. } => OWN[1],
            Self::Within { word: Word::Lock(message), .. } => message.kind_name(),
        }
    }
}

impl<V: fmt::Display, M: fmt::Display> fmt::Display for Message<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Views(message) => message.fmt(f),
            Self::Within { view, clock, word } => {
                match word {
                    Word::Left => f.write_str(OWN[0]),
                    Word::HaveYouLeft => f.write_str(OWN[1]),
                    Word::Lock(message) => message.fmt(f),
                }?;
                write!(f, " [view {view}, clock {clock}]")
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
}

/// What a node may be woken for: what its algorithm has set, in this view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Timer<T>(pub u64, pub T);
