//! The wire format: frames over a connection.
//!
//! ```text
//!   0     1     2         3      4                8
//!   +-----+-----+---------+------+----------------+---------------------------+
//!   | 'V' | 'R' | version | kind | length, u32 LE | body, `length` bytes      |
//!   +-----+-----+---------+------+----------------+---------------------------+
//!
//!   kind  body (postcard; integers are varints)        sent
//!   1     hello: see `Hello`                           first, by both sides; the dialler begins
//!   2     refuse: see `Refusal`                        instead of a hello, or in answer to one
//!   3     data: seq, received, message                 one for every message
//!   4     ack: received                                when there is no data for it to ride on,
//!                                                      and when nothing was said for a while
//!   5     bye: empty                                   last; the sender will not be back
//!   6     request to dial: see `DialRequest`           first, by one who waits to be called
//!   7     join: see `JoinRequest`                      first, by one who has no number yet
//!   8     place: see `JoinGrant`                       in answer to that
//! ```
//!
//! `seq` counts the messages from one node to another, from 0, over all connections between the
//! two. `received` is how many of the other side's messages have been handled: it acknowledges all
//! with a lower `seq`. A hello says the same number, so both sides know where to go on.
//!
//! The first three bytes, and that a foreign version answers a hello with a frame of its own
//! version, will hold for every version: so each side can always say which version the other one
//! speaks.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hello::{DialRequest, Hello, JoinGrant, JoinRequest, Refusal};

/// The version that this crate speaks.
pub const VERSION: u8 = 7;
/// The magic bytes of every frame.
pub const MAGIC: [u8; 2] = *b"VR";
/// How long a frame's header is.
pub const HEADER_LEN: usize = 8;
/// How long a frame's body may be; a longer one is neither sent nor read.
pub const MAX_BODY_LEN: usize = 1 << 20;
/// How long a body may be before the two sides know each other: enough for the addresses of 128
/// nodes with the longest names that there are, and little enough to be read from a stranger.
pub const MAX_HELLO_LEN: usize = 1 << 16;

/// One frame; `M` is the algorithm's message, or a reference to it when sending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame<M> {
    /// A hello.
    Hello(Hello),
    /// Why the other side is not wanted.
    Refuse(Refusal),
    /// A message.
    Data {
        /// Its number on this link, from 0.
        seq: u64,
        /// How many messages the sender has handled of the receiver's.
        received: u64,
        /// The message.
        message: M,
    },
    /// How many messages the sender has handled of the receiver's.
    Ack {
        /// All with a lower number.
        received: u64,
    },
    /// The sender ends for good.
    Bye {
        /// Whether it leaves a request behind that was not granted yet.
        asks: bool,
    },
    /// The sender waits to be called.
    DialRequest(DialRequest),
    /// The sender has no number yet.
    Join(JoinRequest),
    /// The receiver is given one.
    JoinGrant(JoinGrant),
}

const HELLO: u8 = 1;
const REFUSE: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;
const BYE: u8 = 5;
const DIAL_REQUEST: u8 = 6;
const JOIN: u8 = 7;
const PLACE: u8 = 8;

/// Why bytes are not a frame.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// Something else than us is talking.
    #[error("the bytes {0:02x?} are not the beginning of a frame")]
    Foreign([u8; 2]),
    /// The beginning of a record of TLS.
    #[error("it speaks TLS, and this side does not: only one of the two was given keys")]
    Tls,
    /// One of us, but older or newer.
    #[error("a frame of version {0}, and this side speaks version {VERSION}")]
    Version(u8),
    /// No such kind of frame.
    #[error("there is no frame of kind {0}")]
    Kind(u8),
    /// Longer than is allowed.
    #[error("a frame with a body of {length} bytes, and at most {limit} are allowed")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The body is not what its kind says.
    #[error("the body of a frame of kind {0} cannot be read")]
    Body(u8),
    /// A message with a number beyond the largest plausible value.
    #[error("a message with a counter beyond the largest plausible value")]
    Number,
    /// A message that cannot be written.
    #[error("a message cannot be encoded: {0}")]
    Encode(postcard::Error),
}

/// Appends a frame; on an error, nothing.
///
/// # Errors
///
/// If the body is too long, or the message does not let itself be written.
pub fn encode<M: Serialize>(frame: &Frame<M>, out: &mut Vec<u8>) -> Result<(), WireError> {
    match frame {
        Frame::Hello(hello) => encode_body(HELLO, hello, out),
        Frame::Refuse(refusal) => encode_body(REFUSE, refusal, out),
        Frame::Data { seq, received, message } => encode_body(DATA, &(seq, received, message), out),
        Frame::Ack { received } => encode_body(ACK, received, out),
        Frame::Bye { asks } => encode_body(BYE, asks, out),
        Frame::DialRequest(request) => encode_body(DIAL_REQUEST, request, out),
        Frame::Join(wish) => encode_body(JOIN, wish, out),
        Frame::JoinGrant(place) => encode_body(PLACE, place, out),
    }
}

/// Appends a frame of data whose message has been encoded; on an error, nothing.
pub(crate) fn encode_data(
    seq: u64,
    received: u64,
    message: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    finish(DATA, out, |out| {
        postcard::to_extend(&(seq, received), Appender(out)).map(|_| ())?;
        out.extend_from_slice(message);
        Ok(())
    })
}

/// Whether this message fits into a frame of data, with any sequence number.
pub(crate) const fn fits(message: &[u8]) -> Result<(), WireError> {
    const NUMBERS: usize = 2 * 10;
    let length = message.len() + NUMBERS;
    if length > MAX_BODY_LEN {
        return Err(WireError::TooLong { length, limit: MAX_BODY_LEN });
    }
    Ok(())
}

fn encode_body(kind: u8, body: &impl Serialize, out: &mut Vec<u8>) -> Result<(), WireError> {
    finish(kind, out, |out| postcard::to_extend(body, Appender(out)).map(|_| ()))
}

fn finish(
    kind: u8,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[MAGIC[0], MAGIC[1], VERSION, kind, 0, 0, 0, 0]);
    let written = write(out);
    let length = out.len() - start - HEADER_LEN;
    let outcome = match written {
        Err(error) => Err(WireError::Encode(error)),
        Ok(()) if length > MAX_BODY_LEN => Err(WireError::TooLong { length, limit: MAX_BODY_LEN }),
        Ok(()) => Ok(()),
    };
    match outcome {
        Ok(()) => {
            out[start + 4..start + HEADER_LEN].copy_from_slice(&(length as u32).to_le_bytes());
        }
        Err(_) => out.truncate(start),
    }
    outcome
}

/// Lets postcard append to a vector that it does not own, so that no message is allocated for.
struct Appender<'a>(&'a mut Vec<u8>);

impl Extend<u8> for Appender<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}

/// Reads the frame that `bytes` begin with, and says how long it was; none if it is not whole yet.
///
/// # Errors
///
/// If the bytes can never become a frame, however many follow.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(Frame<M>, usize)>, WireError> {
    let Some(header) = Header::decode(bytes, MAX_BODY_LEN)? else {
        return Ok(None);
    };
    let end = HEADER_LEN + header.length;
    match bytes.get(HEADER_LEN..end) {
        Some(body) => Ok(Some((header.decode_body(body)?, end))),
        None => Ok(None),
    }
}

/// Whether the frame that `bytes` begin with is one of data, as far as can be told.
pub(crate) fn is_data(bytes: &[u8]) -> bool {
    bytes.get(3) == Some(&DATA)
}

/// As [`decode`], with the message of a frame of data left as it is, in `message`.
pub(crate) fn decode_raw(
    bytes: &[u8],
    message: &mut Vec<u8>,
) -> Result<Option<(Frame<()>, usize)>, WireError> {
    let Some(header) = Header::decode(bytes, MAX_BODY_LEN)? else {
        return Ok(None);
    };
    let end = HEADER_LEN + header.length;
    let Some(body) = bytes.get(HEADER_LEN..end) else {
        return Ok(None);
    };
    if header.kind != DATA {
        return Ok(Some((header.decode_body(body)?, end)));
    }
    let read = postcard::take_from_bytes::<(u64, u64)>(body);
    let ((seq, received), rest) = read.map_err(|_| WireError::Body(DATA))?;
    message.clear();
    message.extend_from_slice(rest);
    Ok(Some((Frame::Data { seq, received, message: () }, end)))
}

/// Appends a message as it stands in a frame of data.
pub(crate) fn write(message: &impl Serialize, out: &mut Vec<u8>) -> Result<(), WireError> {
    match postcard::to_extend(message, Appender(out)) {
        Ok(_) => Ok(()),
        Err(error) => Err(WireError::Encode(error)),
    }
}

/// Reads all of `bytes` and nothing less.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        Ok(_) | Err(_) => None,
    }
}

/// The error for data that cannot be decoded.
pub(crate) const UNREADABLE: WireError = WireError::Body(DATA);

/// A header that was found in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    kind: u8,
    pub(crate) length: usize,
}

impl Header {
    /// Judges as much of the header as is there, so that a stranger is known by its first bytes.
    pub(crate) fn decode(bytes: &[u8], limit: usize) -> Result<Option<Self>, WireError> {
        let seen = bytes.len().min(2);
        if bytes[..seen] != MAGIC[..seen] {
            if matches!(bytes, [0x14..=0x17] | [0x14..=0x17, 3, ..]) {
                return Err(WireError::Tls);
            }
            let second = bytes.get(1).copied().unwrap_or_default();
            return Err(WireError::Foreign([bytes[0], second]));
        }
        match bytes.get(2) {
            Some(&version) if version != VERSION => return Err(WireError::Version(version)),
            Some(_) | None => {}
        }
        match bytes.get(3) {
            Some(&kind) if !(HELLO..=PLACE).contains(&kind) => return Err(WireError::Kind(kind)),
            Some(_) | None => {}
        }
        let Some(&[_, _, _, kind, a, b, c, d]) = bytes.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > limit {
            return Err(WireError::TooLong { length, limit });
        }
        Ok(Some(Self { kind, length }))
    }

    pub(crate) fn decode_body<M: DeserializeOwned>(
        self,
        body: &[u8],
    ) -> Result<Frame<M>, WireError> {
        match self.kind {
            HELLO => self.read(body).map(Frame::Hello),
            REFUSE => self.read(body).map(Frame::Refuse),
            DATA => self.read(body).map(|(seq, received, message)| Frame::Data {
                seq,
                received,
                message,
            }),
            ACK => self.read(body).map(|received| Frame::Ack { received }),
            BYE => self.read(body).map(|asks| Frame::Bye { asks }),
            DIAL_REQUEST => self.read(body).map(Frame::DialRequest),
            JOIN => self.read(body).map(Frame::Join),
            PLACE => self.read(body).map(Frame::JoinGrant),
            kind => Err(WireError::Kind(kind)),
        }
    }

    fn read<T: DeserializeOwned>(self, body: &[u8]) -> Result<T, WireError> {
        read(body).ok_or(WireError::Body(self.kind))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vorrang_protocol::NodeId;

    use super::*;
    use crate::directory::DirectoryStart;
    use crate::hello::Introduction;

    type Message = (u32, String, Option<bool>);

    fn introduction() -> impl Strategy<Value = Introduction> {
        let numbers = any::<(u32, u32)>();
        let peers = proptest::collection::vec(".{0,20}", 0..4);
        let names = (".{0,20}", ".{0,20}", ".{0,20}");
        (numbers, names, peers).prop_map(|(n, (group, algorithm, setup), peers)| Introduction {
            group,
            algorithm,
            setup,
            peers,
            sender: NodeId(n.0),
            target: NodeId(n.1),
            generation: u64::from(n.0) << 20,
            founders: n.1,
            start: (n.1 % 2 == 1).then(|| DirectoryStart::after(None)),
        })
    }

    fn hello() -> impl Strategy<Value = Hello> {
        let numbers = any::<(u64, u64, Option<u64>, u64, u64)>();
        (introduction(), numbers).prop_map(|(who, n)| Hello {
            who,
            heartbeat_ms: n.0,
            incarnation: n.1,
            knows: n.2,
            received: n.3,
            attempt: n.4,
            returns: n.4 % 2 == 1,
        })
    }

    fn frame() -> impl Strategy<Value = Frame<Message>> {
        prop_oneof![
            hello().prop_map(Frame::Hello),
            any::<(u8, u8)>().prop_map(|(refuser, refused)| {
                Frame::Refuse(Refusal::Version { refuser, refused })
            }),
            (any::<(u64, u64, u32, Option<bool>)>(), ".{0,200}").prop_map(|(n, text)| {
                Frame::Data { seq: n.0, received: n.1, message: (n.2, text, n.3) }
            }),
            any::<u64>().prop_map(|received| Frame::Ack { received }),
            any::<bool>().prop_map(|asks| Frame::Bye { asks }),
            introduction().prop_map(|who| Frame::DialRequest(DialRequest { who })),
            introduction().prop_map(|who| {
                let Introduction { group, algorithm, setup, sender, peers, .. } = who;
                let (room, address) = (sender.0, peers.concat());
                let but = (room % 2 == 1).then_some(sender);
                Frame::Join(JoinRequest { group, algorithm, setup, room, address, but })
            }),
            introduction().prop_map(|who| Frame::JoinGrant(JoinGrant {
                id: who.sender,
                peers: who.peers,
                founders: 3
            })),
        ]
    }

    proptest! {
        #[test]
        fn frames_are_read_back_as_they_were_written(
            frames in proptest::collection::vec(frame(), 0..8),
        ) {
            let mut bytes = Vec::new();
            for frame in &frames {
                encode(frame, &mut bytes).unwrap();
            }
            let mut rest = &bytes[..];
            for frame in frames {
                let (read, len) = decode::<Message>(rest).unwrap().unwrap();
                prop_assert_eq!(read, frame);
                rest = &rest[len..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_frame_cut_anywhere_is_incomplete_and_never_wrong(frame in frame()) {
            let mut bytes = Vec::new();
            encode(&frame, &mut bytes).unwrap();
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode::<Message>(&bytes[..cut]), Ok(None));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Message>(&bytes);
        }

        #[test]
        fn arbitrary_bodies_never_panic(
            kind in HELLO..=PLACE,
            body in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = vec![MAGIC[0], MAGIC[1], VERSION, kind];
            bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&body);
            if let Ok(read) = decode::<Message>(&bytes) {
                prop_assert_eq!(read.expect("the frame is whole").1, bytes.len());
            }
        }
    }

    #[test]
    fn a_stranger_is_known_by_its_first_bytes() {
        let error = decode::<Message>(b"G").unwrap_err();
        assert_eq!(error, WireError::Foreign([b'G', 0]));
        let error = decode::<Message>(b"GET / HTTP/1.1\r\n").unwrap_err();
        assert_eq!(error, WireError::Foreign(*b"GE"));
        assert_eq!(error.to_string(), "the bytes [47, 45] are not the beginning of a frame");
        assert_eq!(decode::<Message>(b"VR\x09"), Err(WireError::Version(9)));
        assert_eq!(decode::<Message>(&[b'V', b'R', VERSION, 0x63]), Err(WireError::Kind(0x63)));
    }

    #[test]
    fn a_body_over_the_limit_is_neither_written_nor_read() {
        let mut bytes = vec![7];
        let message = (0, "x".repeat(MAX_BODY_LEN), None);
        let frame: Frame<Message> = Frame::Data { seq: 0, received: 0, message };
        let error = encode(&frame, &mut bytes).unwrap_err();
        assert!(matches!(error, WireError::TooLong { .. }), "{error}");
        assert_eq!(bytes, [7], "nothing was appended");

        let mut header = vec![MAGIC[0], MAGIC[1], VERSION, DATA];
        header.extend_from_slice(&u32::MAX.to_le_bytes());
        let error = decode::<Message>(&header).unwrap_err();
        assert!(error.to_string().contains("4294967295 bytes"), "{error}");
    }

    #[test]
    fn bytes_after_a_body_are_an_error() {
        let mut bytes = Vec::new();
        encode::<Message>(&Frame::Bye { asks: false }, &mut bytes).unwrap();
        bytes[4] = 2;
        bytes.push(0);
        assert_eq!(decode::<Message>(&bytes), Err(WireError::Body(BYE)));
    }
}
