//! Another member, as one that hears datagrams of it sees it.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::datagram::Greeting;
use crate::config::Timing;
use crate::driver::Member;
use crate::hello::{Refusal, Refuser};
use crate::incarnations::{Admission, Parting};
use crate::standing::{ConnectFailures, SilenceMonitor, Standing};
use crate::status::LinkStatus;

/// Another member.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: NodeId,
    pub(super) address: String,
    /// Where that is, once it is known.
    pub(super) at: Option<SocketAddr>,
    /// The process that we have met.
    pub(super) incarnation: Option<u64>,
    /// Where processes come back: when the latest one was started that was met.
    pub(super) generation: u64,
    /// Whether we had met this process when we began, in our first life.
    pub(super) is_original: bool,
    pub(super) hearing: Hearing,
    /// Whether each of us knows that the other hears it.
    pub(super) is_there: bool,
    /// When it came, or went, or was met at all.
    pub(super) since: Instant,
    pub(super) pulse: SilenceMonitor,
    pub(super) standing: Standing,
    /// Why we refused it last, and why it refused us: here both may.
    pub(super) we_refused: Option<Refusal>,
    pub(super) refused_us: Option<Refusal>,
    pub(super) trouble: ConnectFailures,
    /// Whether it remembers a former life of ours, and refuses this one.
    pub(super) is_remembered: bool,
    pub(super) connections: u64,
    pub(super) calls: Calls,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) dropped: u64,
}

/// Which of the two hears the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hearing {
    /// Whether it has met us.
    pub(super) knows_us: bool,
    /// Whether it hears our multicasts, as it says; none if it does without.
    pub(super) hears_us: Option<bool>,
    /// Whether we hear its multicasts.
    pub(super) is_heard: bool,
    /// Whether we do without multicasts between us, since they do not come through.
    pub(super) is_plain: bool,
}

impl Hearing {
    const NOTHING: Self =
        Self { knows_us: false, hears_us: Some(false), is_heard: false, is_plain: false };

    /// Whether each hears the other, by multicast where `casts` says so.
    pub(super) fn is_mutual(self, casts: bool) -> bool {
        let Self { knows_us, hears_us, is_heard, is_plain } = self;
        let does_without = !casts || is_plain || hears_us.is_none();
        knows_us && (does_without || is_heard && hears_us == Some(true))
    }
}

/// How it is called while it is not there.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) next: Instant,
    pub(super) pause: Duration,
    /// Whether it was called since it last said anything.
    pub(super) is_open: bool,
    /// The number of the latest of our calls that it has answered.
    pub(super) answered: u64,
    /// Whether its address is being looked up.
    pub(super) is_looked_up: bool,
}

impl Peer {
    pub(super) fn new(id: NodeId, address: String, timing: &Timing) -> Self {
        let now = Instant::now();
        Self {
            id,
            at: address.parse().ok(),
            address,
            incarnation: None,
            generation: 0,
            is_original: false,
            hearing: Hearing::NOTHING,
            is_there: false,
            since: now,
            pulse: SilenceMonitor::new(now),
            standing: Standing::Open,
            we_refused: None,
            refused_us: None,
            trouble: ConnectFailures::default(),
            is_remembered: false,
            connections: 0,
            calls: Calls {
                next: now,
                pause: timing.backoff_min,
                is_open: false,
                answered: 0,
                is_looked_up: false,
            },
            sent: 0,
            received: 0,
            dropped: 0,
        }
    }

    pub(super) const fn parting(&self) -> Option<Parting> {
        self.standing.parting()
    }

    pub(super) const fn is_gone(&self) -> bool {
        self.parting().is_some()
    }

    /// One of us refuses the other. True if that is news.
    pub(super) fn refuse(&mut self, why: &Refusal, by: Refuser) -> bool {
        let (told, who) = match by {
            Refuser::Us => (&mut self.we_refused, "we refused it"),
            Refuser::Them => (&mut self.refused_us, "it refused us"),
        };
        let is_news = told.replace(why.clone()).as_ref() != Some(why);
        self.standing.refuse(why, format!("{who}: {}", why.sentence(by)));
        is_news && !self.is_gone()
    }

    /// Whether one multicast reaches it.
    pub(super) const fn hears_casts(&self) -> bool {
        matches!(self.hearing.hears_us, Some(true))
    }

    /// The decision about a hello of a process with our set-up, from the address of the member. The
    /// same as over connections ([`Incarnations`](crate::incarnations::Incarnations)), with one
    /// difference: here a process has the same incarnation for all members.
    pub(super) fn admit(
        &self,
        (incarnation, ours): (u64, u64),
        greeting: &Greeting,
        (has_begun, readmits): (bool, bool),
        timing: &Timing,
    ) -> Admission {
        let remembers_another = greeting.knows.is_some_and(|known| known != ours);
        match self.incarnation {
            Some(met) if met == incarnation => match self.parting() {
                Some(parting) => Admission::Refuse(parting.refusal()),
                None if remembers_another => {
                    Admission::Nonsense("we met it, and it knows another incarnation of us")
                }
                None => Admission::Welcome,
            },
            Some(_) | None if readmits => self.admit_later(greeting, remembers_another),
            Some(_) if has_begun => Admission::Refuse(Refusal::Restarted),
            // The process that had this place is perhaps still up.
            Some(_) if self.pulse.is_fresh(timing.heartbeat * 2) => {
                Admission::Refuse(Refusal::Taken)
            }
            None if has_begun && self.is_gone() => {
                Admission::Refuse(self.parting().map_or(Refusal::Left, Parting::refusal))
            }
            Some(_) | None if remembers_another => Admission::Refuse(Refusal::Forgotten),
            Some(_) => Admission::NodeFactory,
            None => Admission::Welcome,
        }
    }

    /// Where processes come back, one that we have not met: it replaces the one that we have, if it
    /// was started later. So a datagram of a former one that comes late brings nothing back.
    fn admit_later(&self, greeting: &Greeting, remembers_another: bool) -> Admission {
        let has_met = self.incarnation.is_some();
        match greeting.generation.cmp(&self.generation) {
            Ordering::Less => {
                let later_by = (self.generation - greeting.generation).div_ceil(1_000_000);
                Admission::Refuse(Refusal::Replaced { later_by, is_there: self.is_there })
            }
            Ordering::Equal if has_met => Admission::Refuse(Refusal::Taken),
            Ordering::Equal | Ordering::Greater if remembers_another => {
                Admission::Refuse(Refusal::Forgotten)
            }
            Ordering::Equal | Ordering::Greater if has_met || self.is_gone() => {
                Admission::NodeFactory
            }
            Ordering::Equal | Ordering::Greater => Admission::Welcome,
        }
    }

    /// Its process is another one, and nothing comes of the former any more.
    pub(super) fn forget(&mut self, timing: &Timing) {
        self.is_original = false;
        (self.incarnation, self.hearing, self.calls.answered) = (None, Hearing::NOTHING, 0);
        self.standing = Standing::Open;
        self.go(timing);
    }

    /// It will not be back, or we will not.
    pub(super) fn part(&mut self, parting: Parting, why: &str, timing: &Timing) {
        self.standing = Standing::Gone(parting, why.to_owned());
        self.go(timing);
    }

    /// It is not there any more; true if it was.
    pub(super) fn go(&mut self, timing: &Timing) -> bool {
        let was_there = std::mem::replace(&mut self.is_there, false);
        if was_there {
            self.since = Instant::now();
        }
        self.hasten(timing);
        was_there
    }

    /// Something has changed: it is to be called at once.
    pub(super) fn hasten(&mut self, timing: &Timing) {
        (self.calls.next, self.calls.pause) = (Instant::now(), timing.backoff_min);
    }

    /// It was called; says when that may be done again.
    pub(super) fn called(&mut self, now: Instant, jitter: f64, timing: &Timing) {
        let Calls { next, pause, is_open, .. } = &mut self.calls;
        *next = now + pause.mul_f64(0.5 + jitter / 2.0);
        *pause = (*pause * 2).min(timing.backoff_max);
        *is_open = true;
    }

    /// The reason why a peer counts as absent.
    pub(super) fn complaint(&self) -> &'static str {
        match (self.incarnation, self.hearing.knows_us, self.hearing.is_heard) {
            (None, ..) => "it does not answer",
            (Some(_), false, _) => "it sends, and does not hear us",
            (Some(_), true, false) => "it answers, and its multicasts do not come through",
            (Some(_), true, true) if !self.hears_casts() => {
                "it answers, and our multicasts do not come through to it"
            }
            (Some(_), true, true) => "it has not been heard for too long",
        }
    }

    pub(super) fn member(&self) -> Member {
        Member {
            peer: self.id,
            parting: self.parting(),
            missing_for: (!self.is_there).then(|| self.since.elapsed()),
            // There are no acknowledgements.
            has_dropped: false,
            is_remembered: self.is_remembered,
        }
    }

    pub(super) fn status(&self) -> LinkStatus {
        LinkStatus {
            peer: self.id,
            address: self.address.clone(),
            state: self.standing.state(self.is_there, self.since.elapsed()),
            connections: self.connections,
            unacknowledged: 0,
            unacknowledged_bytes: 0,
            sent: self.sent,
            received: self.received,
            dropped: self.dropped,
            unanswered: self.trouble.unanswered,
            trouble: self.trouble.why.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: u64 = 1;

    /// A peer that was met as 7, and was heard a moment ago.
    fn met() -> Peer {
        let mut peer = Peer::new(NodeId(2), "127.0.0.1:9".to_owned(), &Timing::default());
        peer.incarnation = Some(7);
        peer
    }

    fn greeting(generation: u64, knows: Option<u64>) -> Greeting {
        Greeting {
            group: String::new(),
            algorithm: String::new(),
            setup: String::new(),
            nodes: 3,
            cast: String::new(),
            here: String::new(),
            there: String::new(),
            heartbeat_ms: 1,
            generation,
            returns: false,
            knows,
            hears: None,
            call: 1,
            is_answer: false,
        }
    }

    fn admit(peer: &Peer, incarnation: u64, knows: Option<u64>, has_begun: bool) -> Admission {
        let of = (incarnation, OURS);
        peer.admit(of, &greeting(0, knows), (has_begun, false), &Timing::default())
    }

    /// As after a long silence.
    fn quiet(mut peer: Peer) -> Peer {
        let long_ago = Instant::now() - Duration::from_secs(3);
        peer.pulse = SilenceMonitor::new(long_ago);
        peer.pulse.look(long_ago, Duration::from_secs(1));
        peer
    }

    #[test]
    fn whoever_was_met_is_welcome_again() {
        for has_begun in [false, true] {
            for knows in [None, Some(OURS)] {
                assert_eq!(admit(&met(), 7, knows, has_begun), Admission::Welcome);
            }
            let confused = admit(&met(), 7, Some(5), has_begun);
            assert!(matches!(confused, Admission::Nonsense(_)), "{confused:?}");
        }
    }

    #[test]
    fn another_life_is_let_in_before_the_start_once_the_former_is_silent_and_never_later() {
        assert_eq!(admit(&met(), 8, None, false), Admission::Refuse(Refusal::Taken));
        assert_eq!(admit(&quiet(met()), 8, None, false), Admission::NodeFactory);
        for peer in [met(), quiet(met())] {
            assert_eq!(admit(&peer, 8, None, true), Admission::Refuse(Refusal::Restarted));
            // It has outlived its group, and fences nobody.
            assert_eq!(admit(&peer, 8, Some(5), true), Admission::Refuse(Refusal::Restarted));
        }
    }

    #[test]
    fn where_processes_come_back_the_later_one_counts() {
        let admit = |peer: &Peer, incarnation: u64, generation: u64, knows: Option<u64>| {
            let greeting = greeting(generation, knows);
            peer.admit((incarnation, OURS), &greeting, (true, true), &Timing::default())
        };
        let mut peer = met();
        peer.generation = 3_000_000;
        assert_eq!(admit(&peer, 8, 3_000_001, None), Admission::NodeFactory);
        let replaced = Refusal::Replaced { later_by: 2, is_there: false };
        assert_eq!(admit(&peer, 8, 1_500_000, None), Admission::Refuse(replaced.clone()));
        assert_eq!(admit(&peer, 8, 3_000_000, None), Admission::Refuse(Refusal::Taken));
        assert_eq!(admit(&peer, 7, 3_000_000, Some(OURS)), Admission::Welcome);
        // It knows the process that was here before us, and forgets it when it is told.
        let forgotten = Admission::Refuse(Refusal::Forgotten);
        assert_eq!(admit(&peer, 8, 4_000_000, Some(5)), forgotten);
        peer.part(Parting::Left, "it has left", &Timing::default());
        assert_eq!(admit(&peer, 8, 4_000_000, None), Admission::NodeFactory);
        // What it said in its former life may come late.
        peer.forget(&Timing::default());
        assert_eq!(admit(&peer, 7, 1_500_000, None), Admission::Refuse(replaced));
        assert_eq!(admit(&peer, 8, 4_000_000, None), Admission::Welcome);
    }

    #[test]
    fn whoever_remembers_another_life_of_ours_says_so() {
        let mut fresh = met();
        fresh.forget(&Timing::default());
        assert_eq!(admit(&fresh, 7, None, false), Admission::Welcome);
        let forgotten = Admission::Refuse(Refusal::Forgotten);
        assert_eq!(admit(&fresh, 7, Some(5), false), forgotten);
        assert_eq!(admit(&quiet(met()), 8, Some(5), false), forgotten);
    }

    #[test]
    fn whoever_has_left_stays_away() {
        let mut gone = met();
        gone.part(Parting::Left, "it has left", &Timing::default());
        assert_eq!(admit(&gone, 7, Some(OURS), true), Admission::Refuse(Refusal::Left));
        assert_eq!(admit(&gone, 8, None, true), Admission::Refuse(Refusal::Restarted));
    }

    #[test]
    fn two_hear_each_other_by_multicast_or_do_without() {
        let both =
            Hearing { knows_us: true, hears_us: Some(true), is_heard: true, is_plain: false };
        let does_not_hear = Hearing { hears_us: Some(false), ..both };
        let is_not_heard = Hearing { is_heard: false, ..both };
        assert!(both.is_mutual(true) && both.is_mutual(false));
        for half in [does_not_hear, is_not_heard] {
            assert!(!half.is_mutual(true) && half.is_mutual(false));
            assert!(Hearing { is_plain: true, ..half }.is_mutual(true));
            assert!(Hearing { hears_us: None, ..half }.is_mutual(true));
        }
        let stranger = Hearing { knows_us: false, ..both };
        assert!(!stranger.is_mutual(true) && !stranger.is_mutual(false));
    }
}
