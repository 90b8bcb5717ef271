//! The format of datagrams: one frame each.
//!
//! ```text
//!   0     1     2         3      4          12        16       20            28
//!   +-----+-----+---------+------+----------+---------+--------+-------------+------+
//!   | 'V' | 'U' | version | kind | digest   | from    | to     | life of the | body |
//!   |     |     |         |      | u64      | u32     | u32    | sender, u64 |      |
//!   +-----+-----+---------+------+----------+---------+--------+-------------+------+
//!
//!   kind  body (postcard; integers are varints)   sent
//!   1     hello: see `Greeting`                   to one, until it is heard and has heard us
//!   2     refuse: see `Refuse`                    in answer to a hello
//!   3     data: number, message                   to one, or to all at once
//!   4     here: empty                             to all, if nothing else was for a while
//!   5     bye: empty                              to all, last
//! ```
//!
//! Numbers are little-endian; `to` is `u32::MAX` in a frame for all. The **digest** is a hash of
//! everything that members have in common: group, algorithm, set-up, list of peers and the
//! multicast address. A list of peers may be too long for a datagram, so a hello has only the
//! addresses of the two.
//!
//! A **life** is the incarnation number that a process draws when it starts: by it the others tell
//! whether it is still the same process. The `number` of a message counts the messages of its
//! sender, so that records of a run can be put together; nothing is made of it otherwise.
//!
//! The first four bytes will mean the same in every version, so that a hello of another one can be
//! refused.

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::hello::Refusal;
use crate::identity::Identity;
use crate::wire;

/// The magic bytes of every frame: others than over TCP, so that neither is taken for the other.
pub const MAGIC: [u8; 2] = *b"VU";
/// The version that this crate speaks.
pub const VERSION: u8 = 2;
/// How long a header is.
pub const HEADER_LEN: usize = 28;
/// How long a message may be, in bytes. With a header of ours (28), the longest number of a message
/// (10) and those of UDP and IP (28, or 48 with IPv6) this is less than the 1,500 bytes that an
/// Ethernet carries in one piece. A longer datagram would be cut into pieces, and be lost if one of
/// them is; and many networks drop pieces.
pub const MAX_PAYLOAD: usize = 1_400;
/// How long a whole frame may be.
pub const MAX_DATAGRAM: usize = HEADER_LEN + MAX_NUMBER_LEN + MAX_PAYLOAD;

/// How long a number of 64 bits may become.
const MAX_NUMBER_LEN: usize = 10;
const ALL: u32 = u32::MAX;

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame<B> {
    /// The digest of the group's set-up.
    pub digest: u64,
    /// The sender.
    pub from: NodeId,
    /// The receiver; none if it is for all others.
    pub to: Option<NodeId>,
    /// Which process of that number sends it.
    pub incarnation: u64,
    /// The body.
    pub body: B,
}

/// The body of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body<'a> {
    /// A hello.
    Hello(Box<Greeting>),
    /// Why the other is not wanted.
    Refuse(Refuse),
    /// A message.
    Data {
        /// The number of the message at its sender.
        number: u64,
        /// The message, as bytes.
        message: &'a [u8],
    },
    /// The sender is there.
    Here,
    /// The sender ends for good.
    Bye,
}

/// The hello to a node that was not met yet, or is not heard any more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Greeting {
    /// The group's name.
    pub group: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// How all members are reached at once.
    pub cast: String,
    /// Where the sender is, according to its own list.
    pub here: String,
    /// Where the receiver is, according to the sender's list.
    pub there: String,
    /// Every how many milliseconds the sender says something.
    pub heartbeat_ms: u64,
    /// Where processes come back: when this one was started, for the later of two counts; else 0.
    pub generation: u64,
    /// Whether the group has begun without the receiver, as far as the sender knows: then it has
    /// come back.
    pub returns: bool,
    /// The incarnation of the receiver that the sender has met.
    pub knows: Option<u64>,
    /// Whether the sender has heard a multicast of that incarnation; none if it uses unicast.
    pub hears: Option<bool>,
    /// The number of this call, as its sender counts them; in an answer, that of the call.
    pub call: u64,
    /// Whether this is an answer; others are answered.
    pub is_answer: bool,
}

/// Why a node is not wanted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refuse {
    /// Its incarnation: another one ignores the refusal.
    pub incarnation: u64,
    /// Why.
    pub why: Refusal,
}

const HELLO: u8 = 1;
const REFUSE: u8 = 2;
const DATA: u8 = 3;
const HERE: u8 = 4;
const BYE: u8 = 5;

/// Why a datagram is not a frame.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DatagramError {
    /// Too short for a header.
    #[error("{0} bytes are not a whole header, which has {HEADER_LEN}")]
    Short(usize),
    /// Longer than any frame.
    #[error("it is longer than {MAX_DATAGRAM} bytes")]
    Long,
    /// Something else than us is talking.
    #[error("the bytes {0:02x?} are not the beginning of a frame")]
    Foreign([u8; 2]),
    /// One of us, but older or newer.
    #[error("a frame of version {version}, and this side speaks version {VERSION}")]
    Version {
        /// Which version.
        version: u8,
        /// Whether it is a hello.
        is_hello: bool,
    },
    /// No such kind of frame.
    #[error("there is no frame of kind {0}")]
    Kind(u8),
    /// The body is not what its kind says.
    #[error("the body of a frame of kind {0} cannot be read")]
    Body(u8),
}

/// Appends a frame.
///
/// # Errors
///
/// Says how long the frame would be if it does not fit into a datagram; then nothing is appended.
pub fn encode(frame: &Frame<Body<'_>>, out: &mut Vec<u8>) -> Result<(), usize> {
    let start = out.len();
    let kind = match frame.body {
        Body::Hello(_) => HELLO,
        Body::Refuse(_) => REFUSE,
        Body::Data { .. } => DATA,
        Body::Here => HERE,
        Body::Bye => BYE,
    };
    out.extend_from_slice(&[MAGIC[0], MAGIC[1], VERSION, kind]);
    out.extend_from_slice(&frame.digest.to_le_bytes());
    out.extend_from_slice(&frame.from.0.to_le_bytes());
    out.extend_from_slice(&frame.to.map_or(ALL, |to| to.0).to_le_bytes());
    out.extend_from_slice(&frame.incarnation.to_le_bytes());
    let written = match &frame.body {
        Body::Hello(greeting) => wire::write(greeting, out),
        Body::Refuse(refuse) => wire::write(refuse, out),
        Body::Data { number, message } => {
            let written = wire::write(number, out);
            out.extend_from_slice(message);
            written
        }
        Body::Here | Body::Bye => Ok(()),
    };
    written.expect("numbers and texts can be written");
    let length = out.len() - start;
    if length > MAX_DATAGRAM {
        out.truncate(start);
        return Err(length);
    }
    Ok(())
}

/// Addresses a frame to another member, or to all.
pub(crate) fn readdress(frame: &mut [u8], to: Option<NodeId>) {
    frame[16..20].copy_from_slice(&to.map_or(ALL, |to| to.0).to_le_bytes());
}

/// Reads a datagram.
///
/// # Errors
///
/// If it is not a frame.
pub fn decode(bytes: &[u8]) -> Result<Frame<Body<'_>>, DatagramError> {
    if let [first, second, ..] = *bytes
        && [first, second] != MAGIC
    {
        return Err(DatagramError::Foreign([first, second]));
    }
    if let [_, _, version, kind, ..] = *bytes
        && version != VERSION
    {
        return Err(DatagramError::Version { version, is_hello: kind == HELLO });
    }
    if bytes.len() > MAX_DATAGRAM {
        return Err(DatagramError::Long);
    }
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Err(DatagramError::Short(bytes.len()));
    };
    let kind = header[3];
    let unreadable = DatagramError::Body(kind);
    let body = match kind {
        HELLO => Body::Hello(Box::new(wire::read(body).ok_or(unreadable)?)),
        REFUSE => Body::Refuse(wire::read(body).ok_or(unreadable)?),
        DATA => {
            let read = postcard::take_from_bytes(body);
            let (number, message) = read.map_err(|_| DatagramError::Body(DATA))?;
            Body::Data { number, message }
        }
        HERE if body.is_empty() => Body::Here,
        BYE if body.is_empty() => Body::Bye,
        HERE | BYE => return Err(unreadable),
        _ => return Err(DatagramError::Kind(kind)),
    };
    let to = word(header, 16);
    Ok(Frame {
        digest: long_word(header, 4),
        from: NodeId(word(header, 12)),
        to: (to != ALL).then_some(NodeId(to)),
        incarnation: long_word(header, 20),
        body,
    })
}

fn word(header: &[u8; HEADER_LEN], at: usize) -> u32 {
    u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"))
}

fn long_word(header: &[u8; HEADER_LEN], at: usize) -> u64 {
    u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"))
}

/// The digest of the group's set-up.
pub(crate) fn digest(identity: &Identity, cast: &str) -> u64 {
    let Identity { group, algorithm, setup, peers, .. } = identity;
    digest_of(&(group, algorithm, setup, peers, cast))
}

/// FNV-1a over what would be written: not against forgers, who can read what it must be, but so
/// that members on different machines come to the same.
pub(crate) fn digest_of(what: &impl Serialize) -> u64 {
    let mut bytes = Vec::new();
    wire::write(what, &mut bytes).expect("texts can be written");
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn greeting() -> impl Strategy<Value = Greeting> {
        let texts = (".{0,20}", ".{0,20}", ".{0,20}", ".{0,20}", ".{0,20}", ".{0,20}");
        let numbers = any::<(u32, u64, Option<u64>, Option<bool>, u64, bool, u64, bool)>();
        (texts, numbers).prop_map(|(t, n)| Greeting {
            group: t.0,
            algorithm: t.1,
            setup: t.2,
            cast: t.3,
            here: t.4,
            there: t.5,
            nodes: n.0,
            heartbeat_ms: n.1,
            knows: n.2,
            hears: n.3,
            call: n.4,
            is_answer: n.5,
            generation: n.6,
            returns: n.7,
        })
    }

    fn body() -> impl Strategy<Value = Body<'static>> {
        let message: &'static [u8] = &[7; MAX_PAYLOAD];
        prop_oneof![
            greeting().prop_map(|greeting| Body::Hello(Box::new(greeting))),
            any::<u64>()
                .prop_map(|incarnation| Body::Refuse(Refuse { incarnation, why: Refusal::Taken })),
            (any::<u64>(), 0..=MAX_PAYLOAD)
                .prop_map(|(number, len)| Body::Data { number, message: &message[..len] }),
            Just(Body::Here),
            Just(Body::Bye),
        ]
    }

    fn frame() -> impl Strategy<Value = Frame<Body<'static>>> {
        let to = proptest::option::of(0..ALL);
        (any::<(u64, u32, u64)>(), to, body()).prop_map(
            |((digest, from, incarnation), to, body)| Frame {
                digest,
                from: NodeId(from),
                to: to.map(NodeId),
                incarnation,
                body,
            },
        )
    }

    proptest! {
        #[test]
        fn frames_are_read_back_as_they_were_written(frame in frame()) {
            let mut bytes = Vec::new();
            encode(&frame, &mut bytes).unwrap();
            prop_assert!(bytes.len() <= MAX_DATAGRAM);
            prop_assert_eq!(decode(&bytes), Ok(frame.clone()));
            readdress(&mut bytes, Some(NodeId(77)));
            prop_assert_eq!(decode(&bytes), Ok(Frame { to: Some(NodeId(77)), ..frame }));
        }

        #[test]
        fn a_frame_cut_in_its_header_is_short_and_cut_anywhere_never_panics(frame in frame()) {
            let mut bytes = Vec::new();
            encode(&frame, &mut bytes).unwrap();
            for cut in 0..bytes.len() {
                let read = decode(&bytes[..cut]);
                if cut < HEADER_LEN {
                    prop_assert_eq!(read, Err(DatagramError::Short(cut)));
                } else if !matches!(frame.body, Body::Data { .. }) {
                    let kind = bytes[3];
                    prop_assert_eq!(read, Err(DatagramError::Body(kind)));
                }
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            kind in 0_u8..8,
        ) {
            let _ = decode(&bytes);
            for (place, byte) in [MAGIC[0], MAGIC[1], VERSION, kind].into_iter().enumerate() {
                if let Some(place) = bytes.get_mut(place) {
                    *place = byte;
                }
            }
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn strangers_are_told_apart() {
        assert_eq!(decode(b"GET / HTTP"), Err(DatagramError::Foreign(*b"GE")));
        assert_eq!(decode(b""), Err(DatagramError::Short(0)));
        assert_eq!(decode(b"VU\x01"), Err(DatagramError::Short(3)));
        let newer = DatagramError::Version { version: 9, is_hello: true };
        assert_eq!(decode(b"VU\x09\x01"), Err(newer));
        let mut long = b"VU\x02\x03".to_vec();
        long.resize(MAX_DATAGRAM + 1, 0);
        assert_eq!(decode(&long), Err(DatagramError::Long));
        long.truncate(HEADER_LEN);
        long[3] = 99;
        assert_eq!(decode(&long), Err(DatagramError::Kind(99)));
        // The beginning of a frame over TCP.
        assert_eq!(decode(b"VR\x03\x01"), Err(DatagramError::Foreign(*b"VR")));
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let message = vec![0; MAX_PAYLOAD + 10];
        let body = Body::Data { number: 0, message: &message };
        let frame = Frame { digest: 0, from: NodeId(0), to: None, incarnation: 0, body };
        let mut bytes = vec![1];
        assert_eq!(encode(&frame, &mut bytes), Err(MAX_DATAGRAM + 1));
        assert_eq!(bytes, [1]);
    }

    #[test]
    fn digests_tell_texts_apart_wherever_one_ends() {
        let one = digest_of(&("ab", "c"));
        assert_eq!(one, digest_of(&("ab", "c")));
        assert_ne!(one, digest_of(&("a", "bc")));
        assert_ne!(one, digest_of(&("ab", "d")));
    }
}
