//! Which process is at each end of a link, as far as this end knows.
//!
//! See [`hello`](crate::hello) for what incarnations are for. This module only decides what a hello
//! means; others act on it.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use crate::drawn::draw_number;
use crate::hello::{Hello, Refusal};

/// How far a peer's count of connections may jump. It counts unanswered calls, too: at one every
/// millisecond this is seven weeks of them. Without a bound one hello could claim the largest
/// number, and no later one would count.
const MAX_JUMP: u64 = 1 << 32;

/// The incarnations by which the two ends of a link know each other.
#[derive(Debug)]
pub(crate) struct Incarnations {
    /// Our incarnation for this peer; no other node is told.
    ours: u64,
    /// The peer's incarnation for us, once we have met.
    theirs: Option<u64>,
    /// Where processes come back: the latest generation of the peer that was admitted, or has
    /// knocked.
    generation: u64,
    /// The latest connection, as its dialler counts.
    latest: u64,
    /// How often we have dialled; shared with the task that does.
    calls: Arc<AtomicU64>,
    /// Whether we had met this process of the peer when we began, in our first life.
    is_original: bool,
}

/// The state of a link, for a hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    pub(crate) incarnation: u64,
    pub(crate) knows: Option<u64>,
    pub(crate) received: u64,
    pub(crate) attempt: u64,
    pub(crate) is_original: bool,
}

/// The state of the node and the link when a hello comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// Whether we have begun: handled anything, or sent anything.
    pub(crate) has_begun: bool,
    /// Whether the process that we have met is connected, or was a moment ago.
    pub(crate) is_taken: bool,
    /// Whether the two have parted, and why we do not come together again.
    pub(crate) is_parted: Option<Parting>,
    /// Whether a process that comes back without its state is let in.
    pub(crate) readmits: bool,
}

/// Why the two ends of a link will not come together again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parting {
    /// One of them has said that it leaves.
    Left,
    /// The peer has, and left a request behind that was not granted yet.
    LeftAsking,
    /// More messages waited than are kept.
    GivenUp,
    /// The peer was restarted.
    Restarted,
}

impl Parting {
    pub(crate) const fn refusal(self) -> Refusal {
        match self {
            Self::Left | Self::LeftAsking => Refusal::Left,
            Self::GivenUp => Refusal::GivenUp,
            Self::Restarted => Refusal::Restarted,
        }
    }
}

/// The decision about a hello.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// Admit it: it is the process that we know, or we know none.
    Welcome,
    /// Forget the process that we knew, since it has not begun, and admit this one.
    NodeFactory,
    /// Drop it: a later one has come already.
    Overtaken,
    /// Say no.
    Refuse(Refusal),
    /// Close the connection: a correct member never sends this.
    Nonsense(&'static str),
}

impl Incarnations {
    pub(crate) fn new() -> Self {
        Self {
            ours: draw_number(),
            theirs: None,
            generation: 0,
            latest: 0,
            calls: Arc::default(),
            is_original: false,
        }
    }

    pub(crate) fn terms(&self, received: u64, attempt: u64) -> Terms {
        let (incarnation, knows, is_original) = (self.ours, self.theirs, self.is_original);
        Terms { incarnation, knows, received, attempt, is_original }
    }

    /// We begin, in our first life.
    pub(crate) const fn begin(&mut self) {
        self.is_original = self.has_met();
    }

    pub(crate) const fn has_met(&self) -> bool {
        self.theirs.is_some()
    }

    pub(crate) const fn are_we(&self, incarnation: u64) -> bool {
        self.ours == incarnation
    }

    /// Counts our calls.
    pub(crate) fn calls(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.calls)
    }

    /// The decision about the hello of a peer that dialled us. Its identity is judged first; its
    /// claim about us counts only if the identity may be true.
    pub(crate) fn admit(&self, hello: &Hello, moment: Moment) -> Admission {
        let Moment { has_begun, is_taken, is_parted, readmits } = moment;
        match self.theirs {
            Some(theirs) if theirs == hello.incarnation => self.admit_known(hello, is_parted),
            Some(_) | None if readmits => self.admit_later(hello, moment),
            Some(_) if has_begun => Admission::Refuse(Refusal::Restarted),
            Some(_) if is_taken => Admission::Refuse(Refusal::Taken),
            Some(_) => self.admit_stranger(hello),
            None => match is_parted {
                Some(parting) if has_begun => Admission::Refuse(parting.refusal()),
                Some(_) | None => self.admit_stranger(hello),
            },
        }
    }

    /// The process that we have met.
    fn admit_known(&self, hello: &Hello, is_parted: Option<Parting>) -> Admission {
        if hello.knows.is_some_and(|known| known != self.ours) {
            return Admission::Nonsense(
                "we met it, and it names an incarnation of us that we \
                                        never sent",
            );
        }
        if let Some(parting) = is_parted {
            return Admission::Refuse(parting.refusal());
        }
        match hello.attempt.checked_sub(self.latest) {
            None => Admission::Overtaken,
            Some(jump) if jump > MAX_JUMP => Admission::Nonsense(JUMPED),
            Some(_) => Admission::Welcome,
        }
    }

    /// Where processes come back, one with another incarnation than the one that we have met, if
    /// any: it replaces that one if it was started later, or is the same and calls anew.
    fn admit_later(&self, hello: &Hello, moment: Moment) -> Admission {
        let Moment { is_taken, is_parted, .. } = moment;
        match hello.who.generation.cmp(&self.generation) {
            Ordering::Less => {
                return Admission::Refuse(self.replaced(hello.who.generation, is_taken));
            }
            // The process that we have met, if it has forgotten us since: its later call counts.
            Ordering::Equal if self.theirs.is_some() => match hello.attempt.cmp(&self.latest) {
                Ordering::Less => return Admission::Overtaken,
                Ordering::Equal => return Admission::Refuse(Refusal::Taken),
                Ordering::Greater => {}
            },
            Ordering::Equal | Ordering::Greater => {}
        }
        match self.admit_stranger(hello) {
            Admission::Welcome if is_parted.is_some() => Admission::NodeFactory,
            other => other,
        }
    }

    /// Why a process of an earlier generation than the latest one is not let in.
    pub(crate) const fn replaced(&self, generation: u64, is_there: bool) -> Refusal {
        let later_by = self.generation.saturating_sub(generation).div_ceil(1_000_000);
        Refusal::Replaced { later_by, is_there }
    }

    /// Whether a peer with this generation is another process than we know: none if it is an
    /// earlier one.
    pub(crate) fn is_later(&self, generation: u64) -> Option<bool> {
        (generation >= self.generation).then_some(generation > self.generation)
    }

    /// A process that we have not met, and may.
    fn admit_stranger(&self, hello: &Hello) -> Admission {
        if hello.attempt > MAX_JUMP {
            return Admission::Nonsense(JUMPED);
        }
        match hello.knows {
            // It knows another incarnation of ours.
            Some(known) if known != self.ours => Admission::Refuse(Refusal::Forgotten),
            Some(_) | None if self.theirs.is_some() => Admission::NodeFactory,
            Some(_) | None => Admission::Welcome,
        }
    }

    /// The latest generation of the peer.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// The peer is in this earlier generation after all: nothing has come of a later one.
    pub(crate) fn fall_back(&mut self, generation: u64) {
        self.forget();
        self.generation = generation;
    }

    /// The decision about the answer of a peer that we dialled.
    pub(crate) fn recognise(&self, answer: &Hello) -> Admission {
        if answer.knows != Some(self.ours) {
            return Admission::Nonsense("it answers another node");
        }
        if answer.who.generation < self.generation {
            return Admission::Refuse(self.replaced(answer.who.generation, false));
        }
        match self.theirs {
            Some(theirs) if theirs != answer.incarnation => Admission::Refuse(Refusal::Restarted),
            Some(_) | None if answer.attempt < self.latest => Admission::Overtaken,
            Some(_) | None if answer.attempt > self.calls.load(Memory::Relaxed) => {
                Admission::Nonsense(JUMPED)
            }
            Some(_) | None => Admission::Welcome,
        }
    }

    /// A connection with one that was let in.
    pub(crate) fn meet(&mut self, hello: &Hello) {
        self.theirs = Some(hello.incarnation);
        self.generation = self.generation.max(hello.who.generation);
        self.latest = self.latest.max(hello.attempt);
    }

    /// The peer's process is another one, and nothing has come of the former; or that is over. An
    /// earlier life does not count even then. Our calls are counted on: a peer that does not forget
    /// can tell which is the latest.
    pub(crate) fn forget(&mut self) {
        *self = Self { generation: self.generation, calls: self.calls(), ..Self::new() };
    }

    /// The process that we have met has left, before we began: another may take its place. Our
    /// incarnation stays: the one that leaves may still call, and answer, and it must not take us
    /// for another process.
    pub(crate) const fn let_go(&mut self) {
        (self.theirs, self.latest, self.is_original) = (None, 0, false);
    }

    /// The peer is in this generation by now, and former ones are over. Our
    /// incarnation for it stays if we have met none: it may have been told that already, by a call
    /// which it has answered.
    pub(crate) fn begin_anew(&mut self, generation: u64) {
        let latest = if generation > self.generation { 0 } else { self.latest };
        if self.theirs.is_some() {
            self.forget();
        }
        (self.generation, self.latest) = (generation, latest);
    }
}

/// The error for a count that jumps too far.
const JUMPED: &str = "it counts connections that cannot have been";

#[cfg(test)]
mod tests {
    use vorrang_protocol::NodeId;

    use super::*;
    use crate::hello::Introduction;

    const GATHERING: Moment =
        Moment { has_begun: false, is_taken: false, is_parted: None, readmits: false };
    const RUNNING: Moment =
        Moment { has_begun: true, is_taken: true, is_parted: None, readmits: false };
    const OPEN: Moment = Moment { readmits: true, ..RUNNING };

    /// What node 2 says to node 0.
    fn hello(incarnation: u64, knows: Option<u64>, attempt: u64) -> Hello {
        let who = Introduction {
            group: String::new(),
            algorithm: String::new(),
            setup: String::new(),
            peers: Vec::new(),
            sender: NodeId(2),
            target: NodeId(0),
            generation: 0,
            founders: 0,
            start: None,
        };
        Hello { who, heartbeat_ms: 1, incarnation, knows, received: 0, attempt, returns: false }
    }

    /// Node 0, which has met node 2 as 7.
    fn met() -> Incarnations {
        let mut incarnations = Incarnations::new();
        assert_eq!(incarnations.admit(&hello(7, None, 1), GATHERING), Admission::Welcome);
        incarnations.meet(&hello(7, None, 1));
        incarnations
    }

    #[test]
    fn whoever_was_met_comes_again_and_says_what_only_the_two_know() {
        let incarnations = met();
        let ours = incarnations.terms(0, 0).incarnation;
        for moment in [GATHERING, RUNNING] {
            assert_eq!(incarnations.admit(&hello(7, Some(ours), 2), moment), Admission::Welcome);
            // Our answer to its first hello was lost on the way.
            assert_eq!(incarnations.admit(&hello(7, None, 2), moment), Admission::Welcome);
        }
    }

    /// A group is restarted while one of its processes stands still; when that goes on, it knows
    /// node 0 by a number that is long gone.
    #[test]
    fn a_process_that_has_outlived_its_group_fences_nobody() {
        let incarnations = met();
        let stale = hello(999, Some(42), 1_000);
        assert_eq!(incarnations.admit(&stale, RUNNING), Admission::Refuse(Refusal::Restarted));
        let away = Moment { is_taken: false, ..RUNNING };
        assert_eq!(incarnations.admit(&stale, away), Admission::Refuse(Refusal::Restarted));
        let taken = Moment { is_taken: true, ..GATHERING };
        assert_eq!(incarnations.admit(&stale, taken), Admission::Refuse(Refusal::Taken));
    }

    #[test]
    fn one_that_remembers_us_is_believed_only_if_it_may_be_the_peer() {
        let fresh = Incarnations::new();
        let forgotten = Admission::Refuse(Refusal::Forgotten);
        assert_eq!(fresh.admit(&hello(7, Some(42), 1), GATHERING), forgotten);
        let incarnations = met();
        let nonsense = incarnations.admit(&hello(7, Some(42), 2), RUNNING);
        assert!(matches!(nonsense, Admission::Nonsense(_)), "{nonsense:?}");
    }

    #[test]
    fn a_new_life_is_let_in_before_the_start_once_the_old_one_is_gone_and_never_later() {
        let incarnations = met();
        let reborn = hello(8, None, 1);
        assert_eq!(incarnations.admit(&reborn, GATHERING), Admission::NodeFactory);
        let taken = Moment { is_taken: true, ..GATHERING };
        assert_eq!(incarnations.admit(&reborn, taken), Admission::Refuse(Refusal::Taken));
        for is_taken in [false, true] {
            let moment = Moment { is_taken, ..RUNNING };
            assert_eq!(incarnations.admit(&reborn, moment), Admission::Refuse(Refusal::Restarted));
        }
        let left = Moment { is_parted: Some(Parting::Left), ..GATHERING };
        assert_eq!(
            incarnations.admit(&reborn, left),
            Admission::NodeFactory,
            "it left, and came back"
        );
        let same = incarnations.admit(&hello(7, None, 2), left);
        assert_eq!(same, Admission::Refuse(Refusal::Left));
    }

    #[test]
    fn a_forgotten_life_cannot_come_back() {
        let mut incarnations = met();
        let before = incarnations.terms(0, 0).incarnation;
        incarnations.forget();
        assert_eq!(incarnations.theirs, None);
        assert_ne!(incarnations.terms(0, 0).incarnation, before);
        let admission = incarnations.admit(&hello(7, Some(before), 2), GATHERING);
        assert_eq!(admission, Admission::Refuse(Refusal::Forgotten));
    }

    #[test]
    fn connections_are_counted_upwards_and_not_by_leaps() {
        let mut incarnations = met();
        let again = |attempt| hello(7, None, attempt);
        incarnations.meet(&again(5));
        assert_eq!(incarnations.admit(&again(4), RUNNING), Admission::Overtaken);
        assert_eq!(incarnations.admit(&again(5), RUNNING), Admission::Welcome);
        assert_eq!(incarnations.admit(&again(5 + MAX_JUMP), RUNNING), Admission::Welcome);
        for attempt in [6 + MAX_JUMP, u64::MAX] {
            assert_eq!(incarnations.admit(&again(attempt), RUNNING), Admission::Nonsense(JUMPED));
        }
        let first = Incarnations::new().admit(&again(u64::MAX), GATHERING);
        assert_eq!(first, Admission::Nonsense(JUMPED));
    }

    #[test]
    fn an_answer_must_come_from_the_one_we_met_and_be_for_us() {
        let mut incarnations = Incarnations::new();
        incarnations.calls().store(3, Memory::Relaxed);
        let ours = incarnations.terms(0, 0).incarnation;
        assert_eq!(incarnations.recognise(&hello(7, Some(ours), 3)), Admission::Welcome);
        incarnations.meet(&hello(7, Some(ours), 3));
        assert_eq!(incarnations.recognise(&hello(7, Some(ours), 2)), Admission::Overtaken);
        let other = incarnations.recognise(&hello(8, Some(ours), 3));
        assert_eq!(other, Admission::Refuse(Refusal::Restarted));
        for nonsense in [hello(7, None, 3), hello(7, Some(ours ^ 1), 3), hello(7, Some(ours), 4)] {
            let verdict = incarnations.recognise(&nonsense);
            assert!(matches!(verdict, Admission::Nonsense(_)), "{verdict:?}");
        }
    }

    /// The same in an open group, in this life.
    fn alive(generation: u64, incarnation: u64, knows: Option<u64>) -> Hello {
        let mut hello = hello(incarnation, knows, 1);
        hello.who.generation = generation;
        hello
    }

    #[test]
    fn in_an_open_group_the_latest_life_counts() {
        let mut incarnations = Incarnations::new();
        assert_eq!(incarnations.admit(&alive(5, 7, None), OPEN), Admission::Welcome);
        incarnations.meet(&alive(5, 7, None));
        assert_eq!(incarnations.admit(&alive(5, 7, None), OPEN), Admission::Welcome, "the same");
        let replaced = Admission::Refuse(Refusal::Replaced { later_by: 1, is_there: true });
        assert_eq!(incarnations.admit(&alive(4, 8, None), OPEN), replaced);
        let taken = Admission::Refuse(Refusal::Taken);
        assert_eq!(incarnations.admit(&alive(5, 8, None), OPEN), taken, "two at a time");
        assert_eq!(incarnations.admit(&alive(6, 8, None), OPEN), Admission::NodeFactory);
        assert_eq!((incarnations.is_later(4), incarnations.is_later(5)), (None, Some(false)));

        incarnations.forget();
        incarnations.meet(&alive(6, 8, None));
        assert_eq!(incarnations.admit(&alive(5, 7, None), OPEN), replaced, "its time is over");
        incarnations.forget();
        assert_eq!(incarnations.admit(&alive(5, 7, None), OPEN), replaced, "even so");
        assert_eq!(incarnations.admit(&alive(6, 8, None), OPEN), Admission::Welcome);
    }

    /// It has forgotten us, for whatever reason, and we have not forgotten it.
    #[test]
    fn in_an_open_group_the_later_call_of_one_process_counts() {
        let call = |incarnation, attempt| Hello { attempt, ..alive(5, incarnation, None) };
        let mut incarnations = Incarnations::new();
        incarnations.meet(&call(7, 3));
        assert_eq!(incarnations.admit(&call(8, 4), OPEN), Admission::NodeFactory);
        assert_eq!(
            incarnations.admit(&call(6, 2), OPEN),
            Admission::Overtaken,
            "it was made before"
        );
        assert_eq!(incarnations.admit(&call(8, 3), OPEN), Admission::Refuse(Refusal::Taken));
        assert_eq!(incarnations.admit(&call(8, 4 + MAX_JUMP), OPEN), Admission::Nonsense(JUMPED));
        incarnations.begin_anew(5);
        assert_eq!(incarnations.latest, 3, "of the same process");
        incarnations.meet(&call(8, 4));
        assert_eq!(incarnations.admit(&call(7, 3), OPEN), Admission::Overtaken);
        incarnations.begin_anew(6);
        assert_eq!(incarnations.latest, 0, "another one counts anew");
    }

    #[test]
    fn in_an_open_group_a_call_that_may_have_been_answered_is_not_taken_back() {
        let mut incarnations = Incarnations::new();
        let ours = incarnations.terms(0, 0).incarnation;
        incarnations.calls().store(1, Memory::Relaxed);
        incarnations.begin_anew(5);
        assert_eq!(incarnations.recognise(&alive(5, 7, Some(ours))), Admission::Welcome);
        incarnations.meet(&alive(5, 7, Some(ours)));
        incarnations.begin_anew(6);
        assert!(!incarnations.are_we(ours), "the process that was told that is gone");
        assert_eq!(incarnations.calls().load(Memory::Relaxed), 1, "calls are counted on");
    }

    #[test]
    fn in_an_open_group_whoever_left_may_come_back_and_whoever_remembers_us_is_told() {
        let mut incarnations = Incarnations::new();
        incarnations.meet(&alive(5, 7, None));
        let left = Moment { is_parted: Some(Parting::Left), ..OPEN };
        let refused = Admission::Refuse(Refusal::Left);
        assert_eq!(incarnations.admit(&alive(5, 7, None), left), refused, "the same process");
        assert_eq!(incarnations.admit(&alive(6, 8, None), left), Admission::NodeFactory);
        let forgotten = Admission::Refuse(Refusal::Forgotten);
        assert_eq!(incarnations.admit(&alive(6, 8, Some(42)), OPEN), forgotten);

        incarnations.calls().store(9, Memory::Relaxed);
        let ours = incarnations.terms(0, 0).incarnation;
        assert_eq!(incarnations.recognise(&alive(5, 7, Some(ours))), Admission::Welcome);
        let replaced = Admission::Refuse(Refusal::Replaced { later_by: 1, is_there: false });
        assert_eq!(incarnations.recognise(&alive(4, 7, Some(ours))), replaced);
    }
}
