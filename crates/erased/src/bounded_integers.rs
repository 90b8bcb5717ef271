//! Bounds on the integers in messages.
//!
//! Logical clocks, epochs, ballots and counts of all kinds are words of 64 bits in messages; they
//! begin at 0 and are incremented by one for an event. A number beyond [`MAX_INTEGER`] cannot come
//! about by that. Were it believed, the next increment could overflow, and a clock that saturates
//! or wraps round breaks the proofs of the algorithms. So such a message is refused when it is
//! decoded; and a node that would have to send one stops with an error.
//!
//! The integers are found by serialising the message without output. What is no count says so by
//! its type: a [`Digest`](vorrang_protocol::Digest) may have any value, and so may bytes, texts and
//! numbers of fewer bits. A [`NodeId`](vorrang_protocol::NodeId) must be that of a node there is:
//! machines look things up by it.

use std::fmt;

use serde::Serialize;
use serde::ser::{
    self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use vorrang_protocol::NodeId;

/// The largest plausible number of 64 bits in a message: at ten million steps a second it would
/// take two hundred years to count to it. Sums over all nodes are far from overflow.
pub const MAX_INTEGER: u64 = (1 << 56) - 1;

/// What a message may say at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageBounds {
    /// The largest integer of 64 bits.
    pub largest: u64,
    /// How many nodes there are.
    pub nodes: u32,
}

/// Whether it has no larger number in it, and names no other node.
pub fn is_bounded(bounds: MessageBounds, message: &impl Serialize) -> bool {
    message.serialize(BoundChecker { bounds, is_node: false }).is_ok()
}

/// A serialiser without output that fails at the first number that is out of bounds.
#[derive(Clone, Copy)]
struct BoundChecker {
    bounds: MessageBounds,
    /// Whether the number that comes is that of a node.
    is_node: bool,
}

#[derive(Debug)]
struct OutOfBounds;

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a counter beyond the largest plausible value")
    }
}

impl std::error::Error for OutOfBounds {}

impl ser::Error for OutOfBounds {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Checked = Result<(), OutOfBounds>;

fn judge(is_sane: bool) -> Checked {
    if is_sane { Ok(()) } else { Err(OutOfBounds) }
}

/// Kinds of values without integers of 64 bits.
macro_rules! harmless {
    ($($name:ident($($of:ty),*);)*) => {
        $(fn $name(self $(, _: $of)*) -> Checked { Ok(()) })*
    };
}

impl ser::Serializer for BoundChecker {
    type Ok = ();
    type Error = OutOfBounds;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    harmless! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_i64(self, number: i64) -> Checked {
        judge(number.unsigned_abs() <= self.bounds.largest)
    }

    fn serialize_u32(self, number: u32) -> Checked {
        judge(!self.is_node || number < self.bounds.nodes)
    }

    fn serialize_u64(self, number: u64) -> Checked {
        judge(number <= self.bounds.largest)
    }

    fn serialize_i128(self, number: i128) -> Checked {
        judge(number.unsigned_abs() <= u128::from(self.bounds.largest))
    }

    fn serialize_u128(self, number: u128) -> Checked {
        judge(number <= u128::from(self.bounds.largest))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        it: &T,
    ) -> Checked {
        it.serialize(Self { is_node: name == NodeId::NAME, ..self })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, OutOfBounds> {
        Ok(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Checked {
        Ok(())
    }

    /// As frames are.
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Compound values are checked one by one.
macro_rules! several {
    ($($of:ident: $name:ident($($key:ty)?);)*) => {
        $(impl $of for BoundChecker {
            type Ok = ();
            type Error = OutOfBounds;

            fn $name<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Checked {
                value.serialize(*self)
            }

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

several! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}

impl SerializeMap for BoundChecker {
    type Ok = ();
    type Error = OutOfBounds;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Checked {
        key.serialize(*self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        value.serialize(*self)
    }

    fn end(self) -> Checked {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vorrang_protocol::Digest;

    use super::*;

    fn are_sane(message: &impl Serialize) -> bool {
        is_bounded(MessageBounds { largest: MAX_INTEGER, nodes: 3 }, message)
    }

    #[derive(Serialize)]
    enum Any {
        Unit,
        One(u64),
        Two(u8, u64),
        Named { list: Vec<(Option<u64>, i64)>, map: BTreeMap<u64, [u64; 2]> },
    }

    fn named(in_list: u64, signed: i64, key: u64, in_map: u64) -> Any {
        let list = vec![(None, 0), (Some(in_list), signed)];
        Any::Named { list, map: BTreeMap::from([(key, [0, in_map])]) }
    }

    #[test]
    fn a_number_is_found_wherever_it_is() {
        let last = MAX_INTEGER;
        let sane = [
            Any::Unit,
            Any::One(last),
            Any::Two(255, last),
            named(last, -last.cast_signed(), last, last),
        ];
        assert!(sane.iter().all(are_sane));
        for large in [MAX_INTEGER + 1, u64::MAX] {
            let absurd = [
                Any::One(large),
                Any::Two(0, large),
                named(large, 0, 0, 0),
                named(0, -MAX_INTEGER.cast_signed() - 1, 0, 0),
                named(0, i64::MIN, 0, 0),
                named(0, 0, large, 0),
                named(0, 0, 0, large),
            ];
            assert!(!absurd.iter().any(are_sane));
        }
    }

    #[test]
    fn a_digest_is_no_count_and_a_count_beside_it_is_one() {
        for digest in [0, MAX_INTEGER + 1, u64::MAX].map(Digest) {
            assert!(are_sane(&(digest, Some(7_u64))), "{digest}");
            assert!(!are_sane(&(digest, Some(MAX_INTEGER + 1))), "{digest}");
            let bytes = postcard::to_allocvec(&digest).unwrap();
            assert_eq!(bytes.len(), 8, "as many bits as it has");
            assert_eq!(postcard::from_bytes::<Digest>(&bytes), Ok(digest));
            let text = serde_json::to_string(&digest).unwrap();
            assert_eq!(text, digest.to_string(), "in a trace it is a number");
            assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        }
    }

    #[test]
    fn numbers_that_are_no_counts_may_be_as_large_as_they_like() {
        assert!(are_sane(&(u32::MAX, i32::MIN, f64::MAX, "18446744073709551615", char::MAX)));
        assert!(!are_sane(&u128::MAX) && !are_sane(&i128::MIN));
        let drawn = MessageBounds { largest: u64::MAX, nodes: 3 };
        assert!(is_bounded(drawn, &u64::MAX), "whoever draws numbers by lot says so");
    }

    #[test]
    fn only_nodes_that_there_are_may_be_named() {
        for (id, is_there) in [(0, true), (2, true), (3, false), (u32::MAX, false)] {
            let named = NodeId(id);
            assert_eq!(are_sane(&named), is_there, "{id}");
            assert_eq!(are_sane(&(Some(7_u32), vec![(named, u32::MAX)])), is_there, "{id}");
            assert_eq!(are_sane(&BTreeMap::from([(named, 0)])), is_there, "{id}");
            let bytes = postcard::to_allocvec(&named).unwrap();
            assert_eq!(bytes, postcard::to_allocvec(&id).unwrap(), "its name costs nothing");
            assert_eq!(serde_json::to_string(&named).unwrap(), id.to_string());
        }
    }
}
