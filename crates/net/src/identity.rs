//! What a node says of itself to all others, and whether it accepts what they say of themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use vorrang_protocol::NodeId;

use crate::address_book::{AddressBook, MAX_ADDRESS_LEN, is_address};
use crate::config::{Config, Generation};
use crate::directory::{DirectoryStart, Starts};
use crate::error::NetError;
use crate::hello::{DialRequest, Excerpt, Hello, Introduction, JoinRequest, Refusal};
use crate::incarnations::Terms;
use crate::wire::{self, MAX_HELLO_LEN};

/// The part of hellos that is the same for all peers.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) group: String,
    pub(crate) algorithm: String,
    pub(crate) setup: String,
    pub(crate) peers: Vec<String>,
    pub(crate) me: NodeId,
    /// In an open group: where the others are by now.
    pub(crate) address_book: Option<AddressBook>,
    /// Whether a process that comes back without its state is let in.
    pub(crate) readmits: bool,
    /// Whether the machine has begun; known to the tasks that call others.
    pub(crate) has_begun: Arc<AtomicBool>,
    pub(crate) generation: u64,
    founders: u32,
    start: Option<DirectoryStart>,
    /// The newest starts of others in their directories.
    starts: Starts,
    heartbeat: Duration,
    give_up: Duration,
}

impl Identity {
    /// The node that `config` describes.
    pub(crate) fn new(config: &Config) -> Self {
        let Config {
            id,
            peers,
            group,
            algorithm,
            setup,
            timing,
            seed: _,
            start: _,
            listen: _,
            limits: _,
            needs: _,
            service: _,
            membership: _,
        } = config;
        Self {
            group: group.clone(),
            algorithm: algorithm.clone(),
            setup: setup.clone(),
            peers: peers.clone(),
            me: *id,
            address_book: config.openness().map(|_| AddressBook::new(peers.clone())),
            readmits: config.generation().is_some(),
            has_begun: Arc::default(),
            generation: config.generation().map_or(0, Generation::number),
            founders: config.openness().map_or(0, |open| open.founders),
            start: config.openness().and_then(|open| open.start),
            starts: Starts::default(),
            heartbeat: timing.heartbeat,
            give_up: timing.give_up,
        }
    }

    /// Every how many milliseconds this node says something.
    pub(crate) fn heartbeat_ms(&self) -> u64 {
        millis(self.heartbeat)
    }

    pub(crate) const fn nodes(&self) -> u32 {
        self.peers.len() as u32
    }

    pub(crate) fn introduce(&self, target: NodeId) -> Introduction {
        Introduction {
            group: self.group.clone(),
            algorithm: self.algorithm.clone(),
            setup: self.setup.clone(),
            peers: self
                .address_book
                .as_ref()
                .map_or_else(|| self.peers.clone(), AddressBook::addresses),
            sender: self.me,
            target,
            generation: self.generation,
            founders: self.founders,
            start: self.start,
        }
    }

    pub(crate) fn hello(&self, target: NodeId, terms: Terms) -> Hello {
        let Terms { incarnation, knows, received, attempt, is_original } = terms;
        Hello {
            who: self.introduce(target),
            heartbeat_ms: self.heartbeat_ms(),
            incarnation,
            knows,
            received,
            attempt,
            returns: self.returns(is_original),
        }
    }

    /// Whether a peer has come back to a group that began without it, unless it was there then.
    pub(crate) fn returns(&self, was_there: bool) -> bool {
        self.readmits && !was_there && self.has_begun.load(Ordering::Relaxed)
    }

    /// Makes sure that others can read what this node says first.
    pub(crate) fn validate(&self) -> Result<(), NetError> {
        // The numbers of a hello are longest when they are largest.
        let (last, most) = (NodeId(u32::MAX), u64::MAX);
        let terms = Terms {
            incarnation: most,
            knows: Some(most),
            received: most,
            attempt: most,
            is_original: false,
        };
        let mut longest = Hello { heartbeat_ms: most, ..self.hello(last, terms) };
        longest.who.sender = last;
        if self.address_book.is_some() {
            let longest_address = "x".repeat(MAX_ADDRESS_LEN);
            longest.who.peers.fill(longest_address);
        }
        let mut bytes = Vec::new();
        let limit = MAX_HELLO_LEN;
        match wire::write(&longest, &mut bytes) {
            Ok(()) if bytes.len() <= limit => Ok(()),
            Ok(()) | Err(_) => Err(NetError::HelloTooLong { length: bytes.len(), limit }),
        }
    }

    /// Whether one who belongs to this group, and says this of it, is set up as we are.
    pub(crate) fn judge_setup(
        &self,
        group: &str,
        algorithm: &str,
        nodes: u32,
        setup: &str,
    ) -> Result<(), Refusal> {
        if group != self.group {
            let (ours, theirs) = Excerpt::pair(&self.group, group);
            return Err(Refusal::Group { refuser: ours, refused: theirs });
        }
        if algorithm != self.algorithm {
            let (ours, theirs) = Excerpt::pair(&self.algorithm, algorithm);
            return Err(Refusal::Algorithm { refuser: ours, refused: theirs });
        }
        if nodes != self.nodes() {
            return Err(Refusal::Size { refuser: self.nodes(), refused: nodes });
        }
        if setup != self.setup {
            let (ours, theirs) = Excerpt::pair(&self.setup, setup);
            return Err(Refusal::Setup { refuser: ours, refused: theirs });
        }
        Ok(())
    }

    /// Whether a member of the same group speaks, and means us.
    pub(crate) fn judge(&self, who: &Introduction) -> Result<(), Refusal> {
        self.judge_setup(&who.group, &who.algorithm, who.peers.len() as u32, &who.setup)?;
        self.judge_generation(who.generation)?;
        if self.readmits {
            self.judge_life(who)?;
        }
        let mut places = (0..).map(NodeId).zip(self.peers.iter().zip(&who.peers));
        let is_same = |(_, (ours, theirs)): &(_, (&String, &String))| ours == theirs;
        if self.address_book.is_none()
            && let Some((node, (ours, theirs))) = places.find(|it| !is_same(it))
        {
            let (ours, theirs) = Excerpt::pair(ours, theirs);
            return Err(Refusal::Peers { node, refuser: ours, refused: theirs });
        }
        if who.target != self.me {
            return Err(Refusal::Target { reached: self.me, wanted: who.target });
        }
        Ok(())
    }

    /// Whether processes come back here and there, or neither; and whether one can be in the life
    /// that it says.
    pub(crate) fn judge_generation(&self, generation: u64) -> Result<(), Refusal> {
        let fixed = ("a fixed group", "a group whose members come back");
        let (ours, theirs) = match (self.readmits, generation) {
            (false, 0) => return Ok(()),
            (true, 1..) if Generation::is_plausible(generation) => return Ok(()),
            (true, 1..) => return Err(Refusal::Ahead),
            (false, 1..) => fixed,
            (true, 0) => (fixed.1, fixed.0),
        };
        let (ours, theirs) = Excerpt::pair(ours, theirs);
        Err(Refusal::Setup { refuser: ours, refused: theirs })
    }

    /// Whether a member of a group in which processes come back can be where it says.
    fn judge_life(&self, who: &Introduction) -> Result<(), Refusal> {
        if who.founders != self.founders {
            return Err(Refusal::Founders { refuser: self.founders, refused: who.founders });
        }
        let claimed = who.sender;
        if !who.peers.get(claimed.index()).is_some_and(|it| is_address(it)) {
            return Err(Refusal::Sender { claimed, refuser: self.me });
        }
        who.start.map_or(Ok(()), |start| self.starts.judge(claimed, start))
    }

    /// Whether one who has no number yet may be given one.
    pub(crate) fn judge_wish(&self, wish: &JoinRequest) -> Result<(), Refusal> {
        self.judge_setup(&wish.group, &wish.algorithm, wish.room, &wish.setup)?;
        if self.address_book.is_none() {
            return Err(Refusal::Closed);
        }
        if !is_address(&wish.address) {
            return Err(Refusal::Nowhere(Excerpt::from(wish.address.as_str())));
        }
        Ok(())
    }

    /// Whether the one who dialled us may: a member with a higher number.
    pub(crate) fn judge_dialler(&self, hello: &Hello) -> Result<(), Refusal> {
        self.judge(&hello.who)?;
        let claimed = hello.who.sender;
        if claimed <= self.me || claimed.0 >= self.nodes() {
            return Err(Refusal::Sender { claimed, refuser: self.me });
        }
        self.judge_pace(hello.heartbeat_ms)
    }

    /// Whether the node that we dialled is the one we wanted.
    pub(crate) fn judge_answer(&self, wanted: NodeId, hello: &Hello) -> Result<(), Refusal> {
        self.judge(&hello.who)?;
        if hello.who.sender != wanted {
            return Err(Refusal::Sender { claimed: hello.who.sender, refuser: self.me });
        }
        self.judge_pace(hello.heartbeat_ms)
    }

    /// Whether the one who asks to be dialled may: a member with a lower number.
    pub(crate) fn judge_dial_request(&self, request: &DialRequest) -> Result<(), Refusal> {
        self.judge(&request.who)?;
        let claimed = request.who.sender;
        if claimed >= self.me {
            return Err(Refusal::Sender { claimed, refuser: self.me });
        }
        Ok(())
    }

    /// Whether we would hear from it before we take it for dead.
    pub(crate) fn judge_pace(&self, heartbeat_ms: u64) -> Result<(), Refusal> {
        let patience = millis(self.give_up);
        if heartbeat_ms.saturating_mul(2) > patience {
            return Err(Refusal::TooQuiet { refuser: patience, refused: heartbeat_ms });
        }
        Ok(())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vorrang_protocol::Never;

    use super::*;
    use crate::hello::EXCERPT_LEN;
    use crate::wire::Frame;

    /// Node 1 of three.
    fn identity() -> Identity {
        let peers = ["a:1", "b:2", "c:3"].map(str::to_owned).to_vec();
        let config = Config::new(NodeId(1), peers, "lamport");
        Identity::new(&Config { setup: "--nodes 3".to_owned(), ..config })
    }

    /// What node 2, set up alike, says to node 1.
    fn hello() -> Hello {
        let terms =
            Terms { incarnation: 7, knows: None, received: 0, attempt: 1, is_original: false };
        Identity { me: NodeId(2), ..identity() }.hello(NodeId(1), terms)
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
        assert_eq!(verdict(|hello| hello.who.group = "blue".into()), Err(why));

        let why = Refusal::Algorithm { refuser: "lamport".into(), refused: "".into() };
        assert_eq!(verdict(|hello| hello.who.algorithm.clear()), Err(why));

        let why = Refusal::Setup { refuser: "--nodes 3".into(), refused: "--nodes 3 --k 2".into() };
        assert_eq!(verdict(|hello| hello.who.setup += " --k 2"), Err(why));

        let why = Refusal::Size { refuser: 3, refused: 2 };
        assert_eq!(verdict(|hello| hello.who.peers.truncate(2)), Err(why));

        let why = Refusal::Peers { node: NodeId(1), refuser: "b:2".into(), refused: "c:3".into() };
        assert_eq!(verdict(|hello| hello.who.peers.swap(1, 2)), Err(why));

        let why = Refusal::Target { reached: NodeId(1), wanted: NodeId(0) };
        assert_eq!(verdict(|hello| hello.who.target = NodeId(0)), Err(why));

        for claimed in [0, 1, 3].map(NodeId) {
            let why = Refusal::Sender { claimed, refuser: NodeId(1) };
            assert_eq!(verdict(|hello| hello.who.sender = claimed), Err(why));
        }
    }

    /// The size says more than the first place at which lists of different lengths differ, and more
    /// than a set-up that repeats it.
    #[test]
    fn of_several_differences_the_most_telling_is_named() {
        let verdict = verdict(|hello| {
            hello.who.peers.remove(0);
            hello.who.setup = "--nodes 2".to_owned();
            hello.who.target = NodeId(0);
        });
        assert_eq!(verdict, Err(Refusal::Size { refuser: 3, refused: 2 }));
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
            let theirs = Introduction { setup: theirs.repeat(9), ..hello().who };
            if let Err(why) = ours.judge(&theirs) {
                let mut bytes = Vec::new();
                wire::encode::<Never>(&Frame::Refuse(why), &mut bytes).unwrap();
                prop_assert!(bytes.len() <= 2 * 4 * EXCERPT_LEN + 32);
            }
        }
    }
}
