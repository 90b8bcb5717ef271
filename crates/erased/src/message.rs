//! A message of any algorithm.

use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::SerializeTuple as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::{RawValue, to_raw_value};
use vorrang_protocol::{CounterVisitor, Data, Message, NodeId};

use crate::bounded_integers::{MessageBounds, is_bounded};

/// A message of any algorithm: a shared pointer to it, so that the copies of a broadcast are one
/// allocation.
#[derive(Clone)]
pub struct AnyMessage(Arc<dyn ErasedMessage>);

impl AnyMessage {
    /// A message, without its type. One that has lost its type already stays as it is.
    pub fn new(message: impl Message) -> Self {
        match flattened(message) {
            Ok(message) => message,
            Err(message) => Self(Arc::new(message)),
        }
    }

    /// The message with its type again; a copy if others share it. None if it is of another type.
    pub fn downcast<M: Message>(self) -> Option<M> {
        let message: Arc<dyn Any + Send + Sync> = self.0;
        message.downcast().ok().map(Arc::unwrap_or_clone)
    }

    /// The same, by reference.
    pub fn downcast_ref<M: Message>(&self) -> Option<&M> {
        let message: &dyn Any = &*self.0;
        message.downcast_ref()
    }

    /// Appends the bytes that go over a wire; [`AnyNode::decode`](crate::AnyNode::decode) reads
    /// them.
    ///
    /// # Errors
    ///
    /// If the message cannot be written in the wire's format.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), postcard::Error> {
        self.0.encode(out)
    }

    /// Whether nothing in it is out of bounds; see [`is_bounded`].
    pub fn is_bounded(&self, bounds: MessageBounds) -> bool {
        self.0.is_bounded(bounds)
    }
}

/// A message's kind is the one that it has with its type: [`AnyNode::kinds`](crate::AnyNode::kinds)
/// has the names of all.
impl Message for AnyMessage {
    const KINDS: &'static [&'static str] = &["message"];

    fn kind(&self) -> usize {
        self.0.kind()
    }
    fn kind_name(&self) -> &'static str {
        self.0.kind_name()
    }
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        self.0.carries(from)
    }
    fn is_status(&self) -> bool {
        self.0.is_status()
    }
    fn counters(&mut self, from: NodeId, to: NodeId, visit: CounterVisitor<'_>) {
        if let Some(changed) = self.0.with_counters((from, to), visit) {
            *self = changed;
        }
    }
}

impl Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl Display for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// In a text as with its type; in bytes, which could not be read back without the type, as many
/// zeros as the message takes.
impl Serialize for AnyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return self.0.json().serialize(serializer);
        }
        let mut bytes = serializer.serialize_tuple(self.0.encoded_len())?;
        for _ in 0..self.0.encoded_len() {
            bytes.serialize_element(&0_u8)?;
        }
        bytes.end()
    }
}

/// The value as one of type `U` if that is what it is, and else itself.
pub(crate) fn flattened<T: 'static, U: 'static>(value: T) -> Result<U, T> {
    let mut value = Some(value);
    let any: &mut dyn Any = &mut value;
    match any.downcast_mut::<Option<U>>().and_then(Option::take) {
        Some(value) => Ok(value),
        None => Err(value.expect("it was not taken")),
    }
}

/// How many bytes the message takes on the wire, without its frame.
pub fn encoded_len(message: &impl Message) -> usize {
    postcard::experimental::serialized_size(message).expect("plain data can be encoded")
}

/// A value without its type.
pub(crate) trait ErasedValue: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Eq + Hash + Debug + Send + Sync> ErasedValue for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// Plain data, a timer or a message, without its type.
pub(crate) trait ErasedData: ErasedValue {
    fn compare(&self, other: &dyn Any) -> Ordering;
    /// As it is written in a trace: the very text that is written with its type, fields in the
    /// order in which the type has them.
    fn json(&self) -> Box<RawValue>;
}

impl<T: Data> ErasedData for T {
    fn compare(&self, other: &dyn Any) -> Ordering {
        match other.downcast_ref() {
            Some(other) => self.cmp(other),
            None => TypeId::of::<T>().cmp(&other.type_id()),
        }
    }
    fn json(&self) -> Box<RawValue> {
        to_raw_value(self).expect("what happens in a run can be written as JSON")
    }
}

/// A message without its type.
trait ErasedMessage: ErasedData + Display {
    fn kind(&self) -> usize;
    fn kind_name(&self) -> &'static str;
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)>;
    fn is_status(&self) -> bool;
    /// A copy of it after its counters were seen, if they were changed.
    fn with_counters(
        &self,
        link: (NodeId, NodeId),
        visit: CounterVisitor<'_>,
    ) -> Option<AnyMessage>;
    fn encoded_len(&self) -> usize;
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), postcard::Error>;
    fn is_bounded(&self, bounds: MessageBounds) -> bool;
}

impl<T: Message> ErasedMessage for T {
    fn kind(&self) -> usize {
        Message::kind(self)
    }
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
    }
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        Message::carries(self, from)
    }
    fn is_status(&self) -> bool {
        Message::is_status(self)
    }
    fn with_counters(
        &self,
        (from, to): (NodeId, NodeId),
        visit: CounterVisitor<'_>,
    ) -> Option<AnyMessage> {
        let mut copy = self.clone();
        Message::counters(&mut copy, from, to, visit);
        (copy != *self).then(|| AnyMessage::new(copy))
    }
    fn encoded_len(&self) -> usize {
        encoded_len(self)
    }
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), postcard::Error> {
        postcard::to_extend(self, Appender(out)).map(|_| ())
    }
    fn is_bounded(&self, bounds: MessageBounds) -> bool {
        is_bounded(bounds, self)
    }
}

/// Lets postcard append to a vector that it does not own.
pub(crate) struct Appender<'a>(pub(crate) &'a mut Vec<u8>);

impl Extend<u8> for Appender<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}

/// Equality, order and hash are those of the type inside.
macro_rules! compared_by_content {
    ($type:ty) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.0.equals(&*other.0)
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.compare(&*other.0)
            }
        }

        impl Hash for $type {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.0.hash_into(hasher);
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(de::Error::custom("a value without its type cannot be read back"))
            }
        }
    };
}

pub(crate) use compared_by_content;

compared_by_content!(AnyMessage);

#[cfg(test)]
mod tests {
    use vorrang_algorithms::election::bully;
    use vorrang_algorithms::mutex::ricart_agrawala;

    use super::*;

    #[test]
    fn messages_are_compared_as_their_types_do() {
        let (call, answer) = (bully::Message::Election(0), bully::Message::Answer(0));
        let any = |message: bully::Message| AnyMessage::new(message);
        assert!(any(call) == any(call) && any(call) != any(answer));
        assert_eq!(any(call).cmp(&any(answer)), call.cmp(&answer));
        assert_eq!(any(call).to_string(), "ELECTION(0)");
    }

    #[test]
    fn messages_keep_their_kinds_and_their_size() {
        let request = ricart_agrawala::Message::Request { time: 300 };
        let any = AnyMessage::new(request);
        assert_eq!((Message::kind(&any), Message::kind_name(&any)), (0, "REQUEST"));
        assert_eq!(encoded_len(&any), encoded_len(&request));
        let reply = ricart_agrawala::Message::Reply { time: 300, clock: 7 };
        let text = serde_json::to_string(&reply).unwrap();
        assert_eq!(text, r#"{"reply":{"time":300,"clock":7}}"#, "not in alphabetical order");
        assert_eq!(serde_json::to_string(&AnyMessage::new(reply)).unwrap(), text);
        assert_eq!(serde_json::to_value(&any).unwrap(), serde_json::to_value(request).unwrap());
        let mut bytes = vec![7];
        any.encode(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 1 + encoded_len(&request));
    }

    #[test]
    fn a_message_has_its_type_back_only_where_that_is_its_type() {
        let request = ricart_agrawala::Message::Request { time: 300 };
        let any = AnyMessage::new(request);
        assert_eq!(any.downcast_ref(), Some(&request));
        assert_eq!(any.downcast_ref::<bully::Message>(), None);
        assert_eq!(any.clone().downcast::<bully::Message>(), None);
        assert_eq!(AnyMessage::new(any.clone()).downcast_ref(), Some(&request), "erased once");
        assert_eq!(any.downcast(), Some(request));
    }
}
