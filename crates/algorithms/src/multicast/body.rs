//! The payload of carriers: messages of applications and of orderings.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vorrang_protocol::{Counter, CounterVisitor, NodeId, StateValue};

use super::Text;
use super::incarnation::{CLOSED, split};

/// A message of an application: whose, and which of its messages, from 0; those of a later
/// incarnation from [its first](super::ordered::membership) on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Id {
    /// Whose.
    pub from: NodeId,
    /// Which.
    pub number: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match split(self.number) {
            (0, number) => write!(f, "{}/{number}", self.from),
            (incarnation, number) => write!(f, "{}'{incarnation}/{number}", self.from),
        }
    }
}

/// The number of a message, with that of its incarnation if it is not the first.
pub(super) struct Numbered(pub u64);

/// As messages say it: a number in the first incarnation, and `1'0` in the next; of a sender that
/// is not heeded, none.
impl From<Numbered> for StateValue {
    fn from(number: Numbered) -> Self {
        match split(number.0) {
            (_, CLOSED) => Self::Nothing,
            (0, number) => number.into(),
            (..) => Self::shown(&number),
        }
    }
}

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match split(self.0) {
            (0, number) => write!(f, "{number}"),
            (incarnation, number) => write!(f, "{incarnation}'{number}"),
        }
    }
}

impl Id {
    /// Shows its number, which is of its sender.
    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Sequence(self.from), &mut self.number);
    }
}

/// A list that many messages share, and none changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Shared<T>(pub Arc<[T]>);

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|list| Self(list.into()))
    }
}

impl<T: Clone> Shared<T> {
    /// Changes each in a list of its own.
    fn change(&mut self, change: impl FnMut(&mut T)) {
        let mut list = self.0.to_vec();
        list.iter_mut().for_each(change);
        *self = list.into_iter().collect();
    }
}

impl Shared<u64> {
    /// Shows how many of each.
    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        let mut owners = (0..).map(NodeId);
        self.change(|count| {
            owners.next().into_iter().for_each(|owner| visit(Counter::Sequence(owner), count));
        });
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        Self(list.into_iter().collect())
    }
}

/// The payload of a carrier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A message of an application.
    Plain(Text),
    /// The same, after all that its sender had delivered: so many of every member.
    After(Shared<u64>, Text),
    /// The same, with its place in the order of all.
    Placed(u64, Text),
    /// The same, with the sender's clock.
    Stamped(u64, Text),
    /// The sender's clock alone.
    Clock(u64),
    /// These come next in the order of all.
    Next(Shared<Id>),
    /// The sender's message of this number has this place, after those that all would give it.
    Final {
        /// Which.
        number: u64,
        /// Its place.
        place: Place,
    },
}

/// A place in the order of all: a clock, and whose it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The clock.
    pub clock: u64,
    /// Whose.
    pub by: NodeId,
}

impl Body {
    /// Its name and what it says.
    pub(super) fn shown(&self, id: Id) -> StateValue {
        (StateValue::shown(&id), StateValue::shown(self)).into()
    }

    /// Shows the clock, place or numbers in it, as of a message of this member.
    pub(crate) fn counters(&mut self, from: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Plain(_) => {}
            Self::After(past, _) => past.counters(visit),
            Self::Placed(time, _) | Self::Stamped(time, _) | Self::Clock(time) => {
                visit(Counter::Common, time);
            }
            Self::Next(ids) => ids.change(|id| id.counters(visit)),
            Self::Final { number, place } => {
                visit(Counter::Sequence(from), number);
                visit(Counter::Common, &mut place.clock);
            }
        }
    }

    /// The kinds that bodies are of.
    pub(super) const KINDS: [&'static str; 4] = ["DATA", "CLOCK", "ORDER", "FINAL"];

    /// Whether it is a message of an application.
    pub(crate) const fn is_of_application(&self) -> bool {
        self.kind() == 0
    }

    /// Which of them this is.
    pub(super) const fn kind(&self) -> usize {
        match self {
            Self::Plain(_) | Self::After(..) | Self::Placed(..) | Self::Stamped(..) => 0,
            Self::Clock(_) => 1,
            Self::Next(_) => 2,
            Self::Final { .. } => 3,
        }
    }
}

/// The text in the brackets of a message, after its number.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, text: &Text| {
            if text.0.is_empty() { Ok(()) } else { write!(f, ": {text}") }
        };
        match self {
            Self::Plain(text) => quoted(f, text),
            Self::After(past, text) => {
                f.write_str(" after ")?;
                for (at, count) in past.0.iter().enumerate() {
                    write!(f, "{}{count}", if at > 0 { "," } else { "" })?;
                }
                quoted(f, text)
            }
            Self::Placed(place, text) => {
                write!(f, " at {place}")?;
                quoted(f, text)
            }
            Self::Stamped(clock, text) => {
                write!(f, " stamp {clock}")?;
                quoted(f, text)
            }
            Self::Clock(clock) => write!(f, " stamp {clock}"),
            Self::Next(ids) => {
                for id in ids.0.iter() {
                    write!(f, " {id}")?;
                }
                Ok(())
            }
            Self::Final { number, place } => {
                write!(f, ": {number} at {}.{}", place.clock, place.by)
            }
        }
    }
}
