//! A majority of exclusive votes, withdrawn from nodes that are down: votes after R. H. Thomas, ACM
//! Transactions on Database Systems 4(2), 1979, and M. Maekawa, ACM Transactions on Computer
//! Systems 3(2), 1985; the probes are those that Ricart and Agrawala sketch, CACM 24(1), 1981.
//!
//! In [majority-votes](super::majority_votes) the votes of a node that crashes while it waits or is
//! inside are gone. Here an arbiter whose vote has been out for long probes the node that has it,
//! and withdraws the vote if that is silent.
//!
//! **Use it** where a minority may crash at any moment, inside as well, and messages take no longer
//! than a known time.
//!
//! Without a bound on delays others may wait for ever: nothing else is possible then. Here messages
//! take no longer than a known time T, so that silence means something. An arbiter probes while
//! another request waits for its vote. If no answer comes within 2T, the node that has the vote is
//! down or its request is over: the arbiter withdraws the vote, as if the RELEASE had come, and
//! gives it to the next.
//!
//! ```text
//!   0  ──REQUEST(1)─┬────▲───[ inside ]──✗          ▼   (down)
//!                   │    │                          │
//!   2  ─────────────▼─LOCKED(1)──▲── … ──PROBE(1)───┘ … (silence) ──LOCKED(1)─┐
//!                                │                                            │
//!   1  ───────────────REQUEST(1)─┘ ───────────────────────────────────────────▼─[ inside ]──►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | as majority-votes; two more for every 6T that a vote is out which others want |
//! | synchronisation delay | as majority-votes; after a crash 8T, until it is noticed, and 2T |
//! | response without contention | 2T + E |
//!
//! **Assumes** that a message takes no longer than a known time T, and that none is lost or
//! duplicated; their order does not matter. Up to ⌊(N−1)/2⌋ nodes may be down at a time, whatever
//! they did when they crashed: waited, were inside, or had given their vote. They may restart, with
//! what a node of majority-votes keeps: its clock, the holder of its vote, and which requests are
//! over. What was sent to them while they were down is lost; whoever waits when they are up again
//! asks anew.
//!
//! **Why it is safe.** As there, two inside would share an arbiter. Its vote goes from one to the
//! other if the first has given it back or is over, or if it is withdrawn. A node that is up and
//! still wants what it asked for answers a probe at once, and the answer is there within 2T; so
//! nothing is withdrawn from it. A node that is down is not inside, and after a restart its request
//! is over. A LOCKED that it was sent before names a request that it no longer makes.
//!
//! It is safe only because time-outs are never early. If a message is late, the vote of a node that
//! is inside is withdrawn, and another enters (`vorrang check majority-votes-timely
//! --asynchronous`).
//!
//! **Why no request starves.** Every live arbiter has its vote, or has given it to a node that is
//! up, or probes the one that has it, since an older request waits, and withdraws it. So the oldest
//! request of live nodes gets the votes of all live arbiters, as in majority-votes, and these are a
//! majority. That holds for arbiters that were down as well: what they have missed of a request
//! that still waits is said again when their RESTARTED arrives, and one that missed a RELEASE
//! withdraws the vote after a probe.
//!
//! **Where we depart.** Votes are not leased for a time, so a node may stay inside for as long as
//! it likes. An arbiter asks only while another waits: where nobody does, there are no messages.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Lift, Message as _, Never, NodeId, NodeState, Protocol, Refused,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, MORE_THAN_HALF, RESPONSE, SYNC_DELAY, Terms,
};
use super::locking::Phase;
use super::majority_votes::{self, MajorityVotes};
use super::stamps::Stamping;
use super::theory::like;
use super::{Command, Notice};
use crate::card::Assumes;
use crate::clock::Stamp;
use crate::setup::{Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A message of majority-votes.
    Votes(majority_votes::Message),
    /// An arbiter: do you still need my vote, for your request of this time?
    Probe(u64),
    /// A requester: I do.
    Alive(u64),
}

impl From<majority_votes::Message> for Message {
    fn from(message: majority_votes::Message) -> Self {
        Self::Votes(message)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "LOCKED", "INQUIRE", "RELINQUISH", "RELEASE", "RESTARTED", "PROBE", "ALIVE"];

    fn kind(&self) -> usize {
        match self {
            Self::Votes(message) => message.kind(),
            Self::Probe(_) => 6,
            Self::Alive(_) => 7,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Votes(message) => write!(f, "{message}"),
            Self::Probe(time) | Self::Alive(time) => write!(f, "{}({time})", self.kind_name()),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// The vote has been out for long.
    Probe,
    /// The time by which a live node has answered.
    Answer,
}

/// Majority-votes has no timers.
impl From<Never> for Timer {
    fn from(never: Never) -> Self {
        match never {}
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MajorityVotesTimely {
    /// How long a message takes at most.
    within: Duration,
    pub(super) votes: MajorityVotes,
    /// The holder of this node's vote, while another waits for it, and whether it was probed.
    watched: Option<(Stamp, Probed)>,
}

/// Whether an answer is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Probed {
    NotYet,
    Unanswered,
}

impl Stamping for MajorityVotesTimely {
    fn time(&self) -> u64 {
        self.votes.time()
    }
    fn is_inside(&self) -> bool {
        self.votes.is_inside()
    }
    fn waits_since(&self) -> Option<u64> {
        self.votes.waits_since()
    }
}

impl MajorityVotesTimely {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let votes = MajorityVotes::new(me, setup.group);
        Self { within: setup.within, votes, watched: None }
    }

    fn messages(&self, count: u32) -> Delay {
        Delay::exactly(self.within.saturating_mul(count))
    }

    /// Lets majority-votes act, and then watches whoever has the vote.
    fn on_votes<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut MajorityVotes, &mut Lift<'_, MajorityVotes, Self, E>) -> T,
    ) -> T {
        let mut heard = Vec::new();
        let done = act(&mut self.votes, &mut Lift::new(fx, &mut heard));
        for notice in heard {
            fx.notify(notice);
        }
        self.watch(fx);
        done
    }

    /// The holder of the vote, if it is another node and a request waits.
    fn holder(&self) -> Option<Stamp> {
        let arbiter = &self.votes.arbiter;
        arbiter.lock.filter(|it| it.node != self.votes.me && !arbiter.waiting.is_empty())
    }

    fn watch(&mut self, fx: &mut impl Effects<Self>) {
        let holder = self.holder();
        if holder == self.watched.map(|(stamp, _)| stamp) {
            return;
        }
        match self.watched {
            Some((_, Probed::NotYet)) => fx.cancel_timer(Timer::Probe),
            Some((_, Probed::Unanswered)) => fx.cancel_timer(Timer::Answer),
            None => {}
        }
        self.watched = holder.map(|stamp| (stamp, Probed::NotYet));
        if self.watched.is_some() {
            fx.set_timer(Timer::Probe, self.patience());
        }
    }

    /// How long a vote may be out before its holder is probed: longer than a hand-over takes.
    fn patience(&self) -> Delay {
        self.messages(6)
    }

    fn probe(&mut self, fx: &mut impl Effects<Self>) {
        let within = self.messages(2);
        if let Some((stamp, probed)) = &mut self.watched {
            *probed = Probed::Unanswered;
            fx.send(stamp.node, Message::Probe(stamp.time));
            fx.set_timer(Timer::Answer, within);
        }
    }

    fn on_probe(&self, from: NodeId, time: u64, fx: &mut impl Effects<Self>) {
        // Else the request is over, and the RELEASE is on its way.
        if self.votes.phase == Phase::Waiting(time) || self.votes.phase == Phase::Inside(time) {
            fx.send(from, Message::Alive(time));
        }
    }

    fn on_alive(&mut self, holder: Stamp, fx: &mut impl Effects<Self>) {
        if self.watched == Some((holder, Probed::Unanswered)) {
            self.watched = Some((holder, Probed::NotYet));
            fx.cancel_timer(Timer::Answer);
            fx.set_timer(Timer::Probe, self.patience());
        }
    }

    /// The holder of the vote is down: its requests are over.
    pub(super) fn withdraw(&mut self, fx: &mut impl Effects<Self>) {
        if let Some((Stamp { time, node }, _)) = self.watched.take() {
            let release = majority_votes::Message::Release { time };
            self.on_votes(fx, |votes, up| votes.on_message(node, release, up));
        }
    }
}

impl Protocol for MajorityVotesTimely {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.on_votes(fx, |votes, up| votes.on_command(command, up))
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Votes(message) => {
                self.on_votes(fx, |votes, up| votes.on_message(from, message, up));
            }
            Message::Probe(time) => self.on_probe(from, time, fx),
            Message::Alive(time) => self.on_alive(Stamp::new(time, from), fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Probe => self.probe(fx),
            Timer::Answer => self.withdraw(fx),
        }
    }

    /// Its vote may be with a node that has crashed meanwhile.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on_votes(fx, |votes, up| votes.on_restart(up));
    }

    /// As in majority-votes; besides, whose hold of the vote is watched.
    fn state(&self) -> NodeState {
        let is_probed = |(_, probed): (Stamp, Probed)| match probed {
            Probed::NotYet => false,
            Probed::Unanswered => true,
        };
        self.votes
            .state()
            .with("watched", self.watched.map(|(holder, _)| holder))
            .with("probed", self.watched.map(is_probed))
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { votes: self.votes.after_crash(fresh.votes.clone()), ..fresh }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "majority-votes-timely",
    title: "Majority of exclusive votes, withdrawn from nodes that are down",
    solves: "mutual exclusion",
    citation: "after Thomas, 1979, Maekawa, 1985, and Ricart and Agrawala, 1981",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within],
    terms: Terms { needs: MORE_THAN_HALF, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| like(&majority_votes::CARD, MESSAGES, at, at.setup.clone())),
        SYNC_DELAY.costs(|at| like(&majority_votes::CARD, SYNC_DELAY, at, at.setup.clone())),
        RESPONSE.costs(|at| like(&majority_votes::CARD, RESPONSE, at, at.setup.clone())),
        BUSIEST.costs(|at| like(&majority_votes::CARD, BUSIEST, at, at.setup.clone())),
    ],
    flaws: FLAWS,
    page: page!("majority_votes_timely.rs"),
};

/// What goes wrong without each of its rules; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "withdrawn-unasked",
        what: "a vote that has been out for long is withdrawn, though its holder may be inside",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "never-withdrawn",
        what: "a vote stays with a node that does not answer, as if it could still come back",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 0]).crashing(1, 0),
    },
    Flaw {
        name: "inside-and-silent",
        what: "a node that is inside does not answer probes, as if only waiting ones were meant",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "amnesia",
        what: "an arbiter that comes up again has forgotten to whom it gave its vote",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]).crashing(1, 1),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, Outbox};

    use super::majority_votes::Message::{Locked, Release, Request};
    use super::*;
    use crate::mutex::Claim;

    type Node = MajorityVotesTimely;

    fn node(me: u32) -> (Node, Outbox<Node>) {
        (Node::of(NodeId(me), &Setup::new(Group::of(3))), Outbox::default())
    }

    fn send(to: u32, message: impl Into<Message>) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message: message.into() }
    }

    /// The arbiter 2 has given its vote to 0, and 1 waits for it.
    fn contended() -> (Node, Outbox<Node>) {
        let (mut node, mut fx) = node(2);
        node.on_message(NodeId(0), Request { time: 1 }.into(), &mut fx);
        assert_eq!(fx.take(), [send(0, Locked { time: 1 })], "nobody waits, so nothing is timed");
        node.on_message(NodeId(1), Request { time: 1 }.into(), &mut fx);
        let delay = node.patience();
        assert_eq!(fx.take(), [Effect::SetTimer { timer: Timer::Probe, delay }]);
        (node, fx)
    }

    #[test]
    fn a_vote_is_withdrawn_from_a_node_that_does_not_answer() {
        let (mut node, mut fx) = contended();
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take()[..1], [send(0, Message::Probe(1))]);
        node.on_timer(Timer::Answer, &mut fx);
        assert_eq!(fx.take(), [send(1, Locked { time: 1 })]);
        node.on_message(NodeId(0), Release { time: 1 }.into(), &mut fx);
        assert_eq!(fx.take(), [], "it was over already");
    }

    #[test]
    fn whoever_answers_keeps_it_and_is_probed_again() {
        let (mut node, mut fx) = contended();
        node.on_timer(Timer::Probe, &mut fx);
        fx.take();
        node.on_message(NodeId(1), Message::Alive(1), &mut fx);
        assert_eq!(fx.take(), [], "it was not asked");
        node.on_message(NodeId(0), Message::Alive(1), &mut fx);
        let delay = node.patience();
        let again = Effect::SetTimer { timer: Timer::Probe, delay };
        assert_eq!(fx.take(), [Effect::CancelTimer(Timer::Answer), again]);
        node.on_message(NodeId(0), Release { time: 1 }.into(), &mut fx);
        assert_eq!(fx.take(), [send(1, Locked { time: 1 }), Effect::CancelTimer(Timer::Probe)]);
    }

    #[test]
    fn only_the_request_in_question_is_answered_for() {
        let (mut node, mut fx) = node(0);
        node.on_command(Command::Acquire(Claim::Exclusive), &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(2), Message::Probe(1), &mut fx);
        assert_eq!(fx.take(), [send(2, Message::Alive(1))]);
        node.on_message(NodeId(2), Message::Probe(7), &mut fx);
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn an_arbiter_that_comes_up_again_still_watches() {
        let (node, mut fx) = contended();
        let mut again = node.after_crash(super::tests::node(2).0);
        again.on_restart(&mut fx);
        let delay = again.patience();
        assert!(fx.take().contains(&Effect::SetTimer { timer: Timer::Probe, delay }));
    }
}
