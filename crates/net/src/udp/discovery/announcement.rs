//! The format of announcements: one datagram each, to the multicast group.
//!
//! ```text
//!   0     1     2         3
//!   +-----+-----+---------+--------------------------------------------------------+
//!   | 'V' | 'D' | version | postcard: name, settings, text, sender, what it says   |
//!   +-----+-----+---------+--------------------------------------------------------+
//! ```
//!
//! `name` and `settings` are digests: of the group's name, and of all that members must have in
//! common. `text` says the settings in words, as far as there is room.

use serde::{Deserialize, Serialize};

use super::agreement::{Candidate, Said};
use crate::udp::datagram::MAX_DATAGRAM;
use crate::wire;

/// The magic bytes of every announcement: others than those of a frame between members.
pub(crate) const MAGIC: [u8; 2] = *b"VD";
const VERSION: u8 = 1;
const HEADER_LEN: usize = 3;
/// How long a text may be, in bytes: the rest is for a list of 64 candidates.
const MAX_TEXT_LEN: usize = 200;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Announcement {
    pub(super) name: u64,
    pub(super) settings: u64,
    pub(super) text: String,
    pub(super) from: Candidate,
    pub(super) said: Said,
}

/// As much of a text as an announcement has room for.
pub(super) fn shorten(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT_LEN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

impl Announcement {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![MAGIC[0], MAGIC[1], VERSION];
        wire::write(self, &mut bytes).expect("numbers and texts can be written");
        bytes
    }

    /// None if it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, body) = bytes.split_first_chunk::<HEADER_LEN>()?;
        if *header != [MAGIC[0], MAGIC[1], VERSION] || bytes.len() > MAX_DATAGRAM {
            return None;
        }
        let announcement: Self = wire::read(body)?;
        (announcement.text.len() <= MAX_TEXT_LEN).then_some(announcement)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use proptest::prelude::*;

    use super::super::agreement::MOST_CANDIDATES;
    use super::*;

    fn candidate() -> impl Strategy<Value = Candidate> {
        any::<(u32, u16, u64)>().prop_map(|(ip, port, life)| Candidate {
            address: SocketAddrV4::new(Ipv4Addr::from(ip), port),
            life,
        })
    }

    fn said() -> impl Strategy<Value = Said> {
        let list = || proptest::collection::vec(candidate(), 0..=MOST_CANDIDATES);
        prop_oneof![
            Just(Said::Looks),
            list().prop_map(Said::Proposes),
            list().prop_map(Said::Commits),
            list().prop_map(Said::Agreed),
            Just(Said::Leaves),
        ]
    }

    proptest! {
        #[test]
        fn announcements_fit_and_are_read_back(
            name: u64, settings: u64, text in ".{0,400}", from in candidate(), said in said(),
        ) {
            let text = shorten(&text);
            let announcement = Announcement { name, settings, text, from, said };
            let bytes = announcement.encode();
            prop_assert!(bytes.len() <= MAX_DATAGRAM, "{}", bytes.len());
            prop_assert_eq!(Announcement::decode(&bytes), Some(announcement));
            for cut in 0..bytes.len() {
                prop_assert_eq!(Announcement::decode(&bytes[..cut]), None);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 3..99)) {
            let _ = Announcement::decode(&bytes);
            bytes[..3].copy_from_slice(&[MAGIC[0], MAGIC[1], VERSION]);
            let _ = Announcement::decode(&bytes);
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shorten("--window 8"), "--window 8");
        assert_eq!(shorten(&"ü".repeat(300)).len(), MAX_TEXT_LEN);
        assert_eq!(shorten(&format!("a{}", "ü".repeat(300))).len(), MAX_TEXT_LEN - 1);
    }
}
