//! The messages about names, within a view.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::command::Lead;
use super::name::Key;
use super::permit;
use super::report::Chunk;
use crate::group::locks::message::ViewMessage;
use crate::layer::kinds::{MOST_KINDS, with};
use crate::mutex::FencingToken;

/// The messages between members; `M` are those of the algorithm.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedMessage<M> {
    /// About a name.
    About {
        /// The sender's number of it, in this view.
        number: u32,
        /// The name, if the receiver has not heard this number yet.
        key: Option<Key>,
        /// What is said of it.
        said: Said<M>,
    },
    /// You have used this number: what is its name?
    WhatIs(u32),
    /// It is this.
    Is(u32, Key),
    /// When the last view ended you had names: what comes after so many of them?
    SendNames(u32),
    /// This.
    Names(Chunk),
}

/// What is said of a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said<M> {
    /// Of a lock, or an election.
    Lock(ViewMessage<M>),
    /// Of a semaphore.
    Permit(permit::Message),
    /// Of who leads, since this token.
    Leads(FencingToken, Option<Lead>),
}

const OWN: [&str; 11] = [
    "WHAT_IS",
    "IS",
    "SEND_NAMES",
    "NAMES",
    "LEFT",
    "HAVE_YOU_LEFT",
    "LEADS",
    "ASK_PERMIT",
    "PERMIT",
    "NO_PERMIT",
    "FREE_PERMIT",
];

impl<M: vorrang_protocol::Message> NamedMessage<M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &with(OWN, M::KINDS);

    /// Its place among the layer's own, or what it says of the algorithm.
    const fn own(&self) -> Result<usize, &M> {
        match self {
            Self::WhatIs(_) => Ok(0),
            Self::Is(..) => Ok(1),
            Self::SendNames(_) => Ok(2),
            Self::Names(_) => Ok(3),
            Self::About { said, .. } => match said {
                Said::Lock(ViewMessage::Lock(message)) => Err(message),
                Said::Lock(ViewMessage::Left) => Ok(4),
                // Of members these are said elsewhere, and of names never.
                Said::Lock(
                    ViewMessage::HaveYouLeft
                    | ViewMessage::AreYouThere(_)
                    | ViewMessage::IAmThere(_),
                ) => Ok(5),
                Said::Leads(..) => Ok(6),
                Said::Permit(message) => Ok(7 + message.kind()),
            },
        }
    }
}

impl<M: vorrang_protocol::Message> vorrang_protocol::Message for NamedMessage<M> {
    const KINDS: &'static [&'static str] =
        Self::KINDS_AND_MORE.split_at(OWN.len() + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self.own() {
            Ok(place) => place,
            Err(message) => OWN.len() + message.kind(),
        }
    }

    fn kind_name(&self) -> &'static str {
        match self.own() {
            Ok(place) => OWN[place],
            Err(message) => message.kind_name(),
        }
    }
}

impl<M: vorrang_protocol::Message> fmt::Display for NamedMessage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = vorrang_protocol::Message::kind_name(self);
        match self {
            Self::About { number, key, said } => {
                match said {
                    Said::Lock(word) => fmt::Display::fmt(word, f)?,
                    Said::Permit(message) => fmt::Display::fmt(message, f)?,
                    Said::Leads(token, None) => write!(f, "{kind}(nobody since {token})")?,
                    Said::Leads(_, Some(lead)) => write!(f, "{kind}({})", lead.value)?,
                }
                match key {
                    None => write!(f, " about {number}"),
                    Some(key) => write!(f, " about {number}: {key}"),
                }
            }
            Self::WhatIs(number) | Self::SendNames(number) => write!(f, "{kind}({number})"),
            Self::Is(number, key) => write!(f, "{kind}({number}: {key})"),
            Self::Names(chunk) => {
                write!(f, "{kind}({} after {})", chunk.names.len(), chunk.after)
            }
        }
    }
}

/// The timers of a view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// Of the algorithm of the name of this number.
    Lock(u32, T),
    /// Clients of this member have had the name of this number for long enough.
    Turn(u32),
    /// More names are to be begun.
    More,
}
