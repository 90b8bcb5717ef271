//! Another member, as one that hears datagrams of it sees it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::datagram::Greeting;
use crate::config::Timing;
use crate::hello::{Refusal, Refuser};
use crate::lives::{Admission, Parting};
use crate::network::Member;
use crate::standing::{Pulse, Standing, Trouble};
use crate::status::LinkStatus;

/// Another member.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: NodeId,
    pub(super) address: String,
    /// Where that is, once it is known.
    pub(super) at: Option<SocketAddr>,
    /// The process that we have met.
    pub(super) life: Option<u64>,
    pub(super) hearing: Hearing,
    /// Whether each of us knows that the other hears it.
    pub(super) is_there: bool,
    /// When it came, or went, or was met at all.
    pub(super) since: Instant,
    pub(super) pulse: Pulse,
    pub(super) standing: Standing,
    /// Why we refused it last, and why it refused us: here both may.
    pub(super) we_refused: Option<Refusal>,
    pub(super) refused_us: Option<Refusal>,
    pub(super) trouble: Trouble,
    /// Whether it remembers a former life of ours, and refuses this one.
    pub(super) is_remembered: bool,
    pub(super) connections: u64,
    pub(super) calls: Calls,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) dropped: u64,
}

/// Who hears whom.
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
    /// Whether somebody finds out where it is.
    pub(super) is_looked_up: bool,
}

impl Peer {
    pub(super) fn new(id: NodeId, address: String, timing: &Timing) -> Self {
        let now = Instant::now();
        Self {
            id,
            at: address.parse().ok(),
            address,
            life: None,
            hearing: Hearing::NOTHING,
            is_there: false,
            since: now,
            pulse: Pulse::new(now),
            standing: Standing::Open,
            we_refused: None,
            refused_us: None,
            trouble: Trouble::default(),
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

    /// What to do about a hello of a process that is set up as we are, from where the member is.
    /// The same as over connections ([`Lives`](crate::lives::Lives)), with one difference: here all
    /// members know a process by the same number.
    pub(super) fn admit(
        &self,
        (life, ours): (u64, u64),
        greeting: &Greeting,
        has_begun: bool,
        timing: &Timing,
    ) -> Admission {
        let remembers_another = greeting.knows.is_some_and(|known| known != ours);
        match self.life {
            Some(met) if met == life => match self.parting() {
                Some(parting) => Admission::Refuse(parting.refusal()),
                None if remembers_another => {
                    Admission::Nonsense("we met it, and it knows a life that we are not")
                }
                None => Admission::Welcome,
            },
            Some(_) if has_begun => Admission::Refuse(Refusal::Restarted),
            // Whoever had this place is perhaps still there.
            Some(_) if self.pulse.is_fresh(timing.heartbeat * 2) => {
                Admission::Refuse(Refusal::Taken)
            }
            None if has_begun && self.is_gone() => {
                Admission::Refuse(self.parting().map_or(Refusal::Left, Parting::refusal))
            }
            Some(_) | None if remembers_another => Admission::Refuse(Refusal::Forgotten),
            Some(_) => Admission::Anew,
            None => Admission::Welcome,
        }
    }

    /// Its process is another one, and nothing has come of the former: we had not begun.
    pub(super) fn forget(&mut self, timing: &Timing) {
        (self.life, self.hearing, self.calls.answered) = (None, Hearing::NOTHING, 0);
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

    /// What is wrong with one that is not there.
    pub(super) fn complaint(&self) -> &'static str {
        match (self.life, self.hearing.knows_us, self.hearing.is_heard) {
            (None, ..) => "it does not answer",
            (Some(_), false, _) => "it speaks, and does not hear us",
            (Some(_), true, false) => "it answers, and its multicasts do not come through",
            (Some(_), true, true) if !self.hears_casts() => {
                "it answers, and our multicasts do not come through to it"
            }
            (Some(_), true, true) => "it has fallen silent",
        }
    }

    pub(super) fn member(&self) -> Member {
        Member {
            peer: self.id,
            parting: self.parting(),
            missing_for: (!self.is_there).then(|| self.since.elapsed()),
            // Nobody knows what has arrived.
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
