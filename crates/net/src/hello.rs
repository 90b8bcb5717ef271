//! How two nodes come to know each other, and why one may refuse the other.
//!
//! ```text
//!   higher number                                lower number
//!        │───hello: who I am, whom I want,            │
//!        │          what I have of yours─────────────►│  judges it
//!        │◄──hello: the same, from its side───────────│  or refuses, and closes
//!        │   judges it, or refuses, and closes        │
//!        │◄═══data, acks, both ways══════════════════►│
//! ```
//!
//! Of two nodes, the one with the higher number dials.
//!
//! All nodes of a group are **set up alike**: the same algorithm, the same settings, the same list
//! of peers, in the same order and the same words. Nodes that are not would each run an algorithm
//! of their own, and nothing that was proved of either would hold. So a hello says it all, and
//! whoever finds a difference refuses, in words from which both sides learn what differs. Two names
//! of one host are a difference, too: whether they mean the same can change while nodes run.
//!
//! An **incarnation** is a number drawn when a
//! node starts: a peer that comes back with another one has lost its memory. A group of fixed
//! members cannot readmit it: with an empty memory it would ask with a time that others think long
//! past, or grant again what it has granted already. So it is refused, and once it learns so, it is
//! fenced: it neither handles messages nor takes commands any more.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vorrang_protocol::{Never, NodeId};

use crate::config::Config;
use crate::error::NetError;
pub use crate::excerpt::{EXCERPT_LEN, Excerpt};
use crate::transport::AnyStream;
use crate::wire::{self, Frame, HEADER_LEN, Header, MAX_HELLO_LEN, WireError};

/// What a node says first on a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The group's name.
    pub group: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// Every node's address, as the sender was given it.
    pub peers: Vec<String>,
    /// Who speaks.
    pub sender: NodeId,
    /// Who is spoken to.
    pub target: NodeId,
    /// Drawn when the sender started.
    pub incarnation: u64,
    /// The target's incarnation, if the two have met.
    pub knows: Option<u64>,
    /// How many of the target's messages the sender has handled.
    pub received: u64,
    /// Which connection between the two this is, counted by the one who dials: a hello that was
    /// overtaken by a later one is dropped.
    pub attempt: u32,
}

/// Why a node refuses another; written by the one who refuses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// They speak different versions.
    Version {
        /// That of the one who refuses.
        refuser: u8,
        /// That of the other.
        refused: u8,
    },
    /// They belong to different groups.
    Group {
        /// That of the one who refuses.
        refuser: Excerpt,
        /// That of the other.
        refused: Excerpt,
    },
    /// They run different algorithms.
    Algorithm {
        /// That of the one who refuses.
        refuser: Excerpt,
        /// That of the other.
        refused: Excerpt,
    },
    /// They are set up differently.
    Setup {
        /// How the one who refuses is.
        refuser: Excerpt,
        /// How the other is.
        refused: Excerpt,
    },
    /// They think the group of different size.
    Size {
        /// According to the one who refuses.
        refuser: u32,
        /// According to the other.
        refused: u32,
    },
    /// Their lists of peers differ: the same addresses in another order, or others.
    Peers {
        /// The first node for which they have different addresses.
        node: NodeId,
        /// Where it is according to the one who refuses.
        refuser: Excerpt,
        /// Where it is according to the other.
        refused: Excerpt,
    },
    /// The other wanted somebody else: the right list, and the wrong node at one of its addresses.
    Target {
        /// Who it reached.
        reached: NodeId,
        /// Whom it wanted.
        wanted: NodeId,
    },
    /// The other cannot be who it says: not of the group, the refuser itself, or one whom the
    /// refuser dials and not the other way round.
    Sender {
        /// Who it says it is.
        claimed: NodeId,
        /// Who is asked.
        refuser: NodeId,
    },
    /// The other was restarted since they met, and has lost its memory.
    Restarted {
        /// The incarnation that the refuser has met.
        known: u64,
        /// The one that has come.
        new: u64,
    },
    /// The one who refuses was restarted itself, has learned so, and deals with nobody.
    Fenced,
    /// The other has said that it leaves for good.
    Left,
}

/// Who refused, from where a sentence is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refuser {
    /// We refused the other.
    Us,
    /// The other refused us.
    Them,
}

impl Refusal {
    /// Whether the refused process can never be let in, whatever the other side does.
    pub(crate) const fn is_final(&self) -> bool {
        match self {
            Self::Restarted { .. } | Self::Left => true,
            Self::Version { .. }
            | Self::Group { .. }
            | Self::Algorithm { .. }
            | Self::Setup { .. }
            | Self::Size { .. }
            | Self::Peers { .. }
            | Self::Target { .. }
            | Self::Sender { .. }
            | Self::Fenced => false,
        }
    }

    /// The reason as a sentence in which "we" are the ones who say it.
    pub fn sentence(&self, by: Refuser) -> String {
        // Whatever was refused is "it" if we refused, and "we" if it was us.
        let two = |verb_it: &str,
                   verb_we: &str,
                   refuser: &dyn fmt::Display,
                   refused: &dyn fmt::Display| {
            let (it, we) = match by {
                Refuser::Us => (refused, refuser),
                Refuser::Them => (refuser, refused),
            };
            format!("it {verb_it} {it}, we {verb_we} {we}")
        };
        match self {
            Self::Version { refuser, refused } => {
                two("speaks version", "speak version", refuser, refused)
            }
            Self::Group { refuser, refused } => {
                two("belongs to group", "belong to group", refuser, refused)
            }
            Self::Algorithm { refuser, refused } => two("runs", "run", refuser, refused),
            Self::Setup { refuser, refused } => {
                two("is set up with", "are set up with", refuser, refused)
            }
            Self::Peers { node, refuser, refused } => {
                let (it, we) =
                    (format!("expects node {node} at"), format!("expect node {node} at"));
                two(&it, &we, refuser, refused)
            }
            Self::Size { refuser, refused } => {
                two("belongs to a group of", "belong to a group of", refuser, refused)
            }
            Self::Target { reached, wanted } => match by {
                Refuser::Us => format!("it looks for node {wanted}, we are node {reached}"),
                Refuser::Them => format!("it is node {reached}, we look for node {wanted}"),
            },
            Self::Sender { claimed, refuser } => match by {
                Refuser::Us => {
                    format!("it says it is node {claimed}, which we, node {refuser}, do not expect")
                }
                Refuser::Them => {
                    format!(
                        "we say we are node {claimed}, which it, node {refuser}, does not expect"
                    )
                }
            },
            Self::Restarted { known, new } => {
                let who = match by {
                    Refuser::Us => "it was restarted and has lost its memory",
                    Refuser::Them => "we were restarted and have lost our memory",
                };
                format!("{who} (incarnation {new:016x}, met as {known:016x})")
            }
            Self::Fenced => match by {
                Refuser::Us => "we were restarted and have lost our memory".to_owned(),
                Refuser::Them => "it was restarted and has lost its memory".to_owned(),
            },
            Self::Left => match by {
                Refuser::Us => "it has left for good".to_owned(),
                Refuser::Them => "we have left for good".to_owned(),
            },
        }
    }
}

/// What a node says of itself, whomever it speaks to.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) group: String,
    pub(crate) algorithm: String,
    pub(crate) setup: String,
    pub(crate) peers: Vec<String>,
    pub(crate) me: NodeId,
    pub(crate) incarnation: u64,
}

impl Identity {
    /// A new incarnation of the node that `config` describes.
    pub(crate) fn new(config: &Config) -> Self {
        let Config { id, peers, group, algorithm, setup, seed: _, start: _, timing: _ } = config;
        Self {
            group: group.clone(),
            algorithm: algorithm.clone(),
            setup: setup.clone(),
            peers: peers.clone(),
            me: *id,
            incarnation: draw_incarnation(),
        }
    }

    pub(crate) const fn nodes(&self) -> u32 {
        self.peers.len() as u32
    }

    pub(crate) fn hello(
        &self,
        target: NodeId,
        knows: Option<u64>,
        received: u64,
        attempt: u32,
    ) -> Hello {
        Hello {
            group: self.group.clone(),
            algorithm: self.algorithm.clone(),
            setup: self.setup.clone(),
            peers: self.peers.clone(),
            sender: self.me,
            target,
            incarnation: self.incarnation,
            knows,
            received,
            attempt,
        }
    }

    /// Makes sure that others can read what this node says first.
    pub(crate) fn validate(&self) -> Result<(), NetError> {
        // The numbers of a hello are longest when they are largest.
        let last = NodeId(u32::MAX);
        let mut longest = self.hello(last, Some(u64::MAX), u64::MAX, u32::MAX);
        (longest.sender, longest.incarnation) = (last, u64::MAX);
        let mut bytes = Vec::new();
        let limit = MAX_HELLO_LEN;
        match wire::write(&longest, &mut bytes) {
            Ok(()) if bytes.len() <= limit => Ok(()),
            Ok(()) | Err(_) => Err(NetError::HelloTooLong { length: bytes.len(), limit }),
        }
    }

    /// Whether `hello` comes from a member of the same group that means us.
    pub(crate) fn judge(&self, hello: &Hello) -> Result<(), Refusal> {
        if hello.group != self.group {
            let (ours, theirs) = Excerpt::pair(&self.group, &hello.group);
            return Err(Refusal::Group { refuser: ours, refused: theirs });
        }
        if hello.algorithm != self.algorithm {
            let (ours, theirs) = Excerpt::pair(&self.algorithm, &hello.algorithm);
            return Err(Refusal::Algorithm { refuser: ours, refused: theirs });
        }
        if hello.peers.len() != self.peers.len() {
            let refused = hello.peers.len() as u32;
            return Err(Refusal::Size { refuser: self.nodes(), refused });
        }
        if hello.setup != self.setup {
            let (ours, theirs) = Excerpt::pair(&self.setup, &hello.setup);
            return Err(Refusal::Setup { refuser: ours, refused: theirs });
        }
        let mut places = (0..).map(NodeId).zip(self.peers.iter().zip(&hello.peers));
        if let Some((node, (ours, theirs))) = places.find(|(_, (ours, theirs))| ours != theirs) {
            let (ours, theirs) = Excerpt::pair(ours, theirs);
            return Err(Refusal::Peers { node, refuser: ours, refused: theirs });
        }
        if hello.target != self.me {
            return Err(Refusal::Target { reached: self.me, wanted: hello.target });
        }
        Ok(())
    }

    /// Whether the one who dialled us may: a member with a higher number.
    pub(crate) fn judge_dialler(&self, hello: &Hello) -> Result<(), Refusal> {
        self.judge(hello)?;
        if hello.sender <= self.me || hello.sender.0 >= self.nodes() {
            return Err(Refusal::Sender { claimed: hello.sender, refuser: self.me });
        }
        Ok(())
    }
}

/// A number that no other start of a node is likely to have: from the randomness with which the
/// standard library seeds its hash tables, so it is independent of the run's seed.
pub(crate) fn draw_incarnation() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    hasher.write_u128(now.map_or(0, |since| since.as_nanos()));
    hasher.finish()
}

/// Why a connection did not come about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("a frame other than a hello came first")]
    NotHello,
    #[error("no whole hello within the time allowed")]
    TooSlow,
}

/// Reads one frame and not a byte more.
pub(crate) async fn read_frame(stream: &mut AnyStream) -> Result<Frame<Never>, HandshakeError> {
    let mut bytes = vec![0; HEADER_LEN];
    let mut filled = 0;
    let header = loop {
        // Judged as it comes, so that a stranger is not waited for.
        if let Some(header) = Header::decode(&bytes[..filled], MAX_HELLO_LEN)? {
            break header;
        }
        let more = stream.read(&mut bytes[filled..]).await?;
        if more == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        filled += more;
    };
    bytes.resize(header.length, 0);
    stream.read_exact(&mut bytes).await?;
    Ok(header.decode_body(&bytes)?)
}

pub(crate) async fn write_frame(
    stream: &mut AnyStream,
    frame: &Frame<Never>,
) -> Result<(), HandshakeError> {
    let mut bytes = Vec::new();
    wire::encode(frame, &mut bytes)?;
    stream.write_all(&bytes).await?;
    Ok(stream.flush().await?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Node 1 of three.
    fn identity() -> Identity {
        let peers = ["a:1", "b:2", "c:3"].map(str::to_owned).to_vec();
        let config = Config::new(NodeId(1), peers, "lamport");
        Identity::new(&Config { setup: "--nodes 3".to_owned(), ..config })
    }

    /// What node 2, set up alike, says to node 1.
    fn hello() -> Hello {
        Identity { me: NodeId(2), ..identity() }.hello(NodeId(1), None, 0, 1)
    }

    fn verdict(change: impl FnOnce(&mut Hello)) -> Result<(), Refusal> {
        let mut hello = hello();
        change(&mut hello);
        identity().judge_dialler(&hello)
    }

    #[test]
    fn a_node_that_is_set_up_alike_is_let_in() {
        assert_eq!(verdict(|_| ()), Ok(()));
    }

    #[test]
    fn every_difference_is_refused_and_named() {
        let why = Refusal::Group { refuser: "default".into(), refused: "blue".into() };
        assert_eq!(verdict(|hello| hello.group = "blue".into()), Err(why));

        let why = Refusal::Algorithm { refuser: "lamport".into(), refused: "".into() };
        assert_eq!(verdict(|hello| hello.algorithm.clear()), Err(why));

        let why = Refusal::Setup { refuser: "--nodes 3".into(), refused: "--nodes 3 --k 2".into() };
        assert_eq!(verdict(|hello| hello.setup += " --k 2"), Err(why));

        let why = Refusal::Size { refuser: 3, refused: 2 };
        assert_eq!(verdict(|hello| hello.peers.truncate(2)), Err(why));

        let why = Refusal::Peers { node: NodeId(1), refuser: "b:2".into(), refused: "c:3".into() };
        assert_eq!(verdict(|hello| hello.peers.swap(1, 2)), Err(why));

        let why = Refusal::Target { reached: NodeId(1), wanted: NodeId(0) };
        assert_eq!(verdict(|hello| hello.target = NodeId(0)), Err(why));

        for claimed in [0, 1, 3].map(NodeId) {
            let why = Refusal::Sender { claimed, refuser: NodeId(1) };
            assert_eq!(verdict(|hello| hello.sender = claimed), Err(why));
        }
    }

    /// The size says more than the first place at which lists of different lengths differ, and more
    /// than a set-up that repeats it.
    #[test]
    fn of_several_differences_the_most_telling_is_named() {
        let verdict = verdict(|hello| {
            hello.peers.remove(0);
            hello.setup = "--nodes 2".to_owned();
            hello.target = NodeId(0);
        });
        assert_eq!(verdict, Err(Refusal::Size { refuser: 3, refused: 2 }));
    }

    #[test]
    fn both_sides_say_the_same_with_we_and_it_exchanged() {
        let (ours, theirs) = (|| Excerpt::new("ours"), || Excerpt::new("theirs"));
        let cases = [
            (
                Refusal::Version { refuser: 2, refused: 1 },
                "it speaks version 1, we speak version 2",
                "it speaks version 2, we speak version 1",
            ),
            (
                Refusal::Group { refuser: ours(), refused: theirs() },
                "it belongs to group theirs, we belong to group ours",
                "it belongs to group ours, we belong to group theirs",
            ),
            (
                Refusal::Algorithm { refuser: ours(), refused: theirs() },
                "it runs theirs, we run ours",
                "it runs ours, we run theirs",
            ),
            (
                Refusal::Setup { refuser: ours(), refused: theirs() },
                "it is set up with theirs, we are set up with ours",
                "it is set up with ours, we are set up with theirs",
            ),
            (
                Refusal::Size { refuser: 3, refused: 2 },
                "it belongs to a group of 2, we belong to a group of 3",
                "it belongs to a group of 3, we belong to a group of 2",
            ),
            (
                Refusal::Peers { node: NodeId(4), refuser: ours(), refused: theirs() },
                "it expects node 4 at theirs, we expect node 4 at ours",
                "it expects node 4 at ours, we expect node 4 at theirs",
            ),
            (
                Refusal::Target { reached: NodeId(1), wanted: NodeId(0) },
                "it looks for node 0, we are node 1",
                "it is node 1, we look for node 0",
            ),
            (
                Refusal::Sender { claimed: NodeId(7), refuser: NodeId(1) },
                "it says it is node 7, which we, node 1, do not expect",
                "we say we are node 7, which it, node 1, does not expect",
            ),
            (
                Refusal::Restarted { known: 1, new: 0xab },
                "it was restarted and has lost its memory \
                 (incarnation 00000000000000ab, met as 0000000000000001)",
                "we were restarted and have lost our memory \
                 (incarnation 00000000000000ab, met as 0000000000000001)",
            ),
            (
                Refusal::Fenced,
                "we were restarted and have lost our memory",
                "it was restarted and has lost its memory",
            ),
            (Refusal::Left, "it has left for good", "we have left for good"),
        ];
        for (refusal, from_us, from_them) in cases {
            assert_eq!(refusal.sentence(Refuser::Us), from_us);
            assert_eq!(refusal.sentence(Refuser::Them), from_them);
            let is_about_the_process = matches!(refusal, Refusal::Restarted { .. } | Refusal::Left);
            assert_eq!(refusal.is_final(), is_about_the_process, "{refusal:?}");
        }
    }

    #[test]
    fn a_node_that_says_too_much_is_told_so_before_it_says_it() {
        let mut long = identity();
        long.setup = "x".repeat(MAX_HELLO_LEN - 200);
        long.validate().unwrap();
        long.setup = "x".repeat(MAX_HELLO_LEN);
        let error = long.validate().unwrap_err();
        let NetError::HelloTooLong { length, limit } = error else {
            panic!("{error}");
        };
        assert!(length > limit && limit == MAX_HELLO_LEN, "{length} and {limit}");
    }

    proptest! {
        /// However long the texts of the two are, a refusal fits into what the other will read.
        #[test]
        fn a_refusal_is_short(ours in ".{0,400}", theirs in ".{0,400}") {
            let ours = Identity { setup: ours.repeat(9), ..identity() };
            let theirs = Hello { setup: theirs.repeat(9), ..hello() };
            if let Err(why) = ours.judge(&theirs) {
                let mut bytes = Vec::new();
                wire::encode::<Never>(&Frame::Refuse(why), &mut bytes).unwrap();
                prop_assert!(bytes.len() <= 2 * 4 * EXCERPT_LEN + 32);
            }
        }
    }
}
