//! Bully: Hector Garcia-Molina, "Elections in a distributed computing system", IEEE Transactions on
//! Computers C-31(1), 1982.
//!
//! Whoever believes that nobody leads asks all higher nodes. If one answers, it takes over, and the
//! asker waits to be told the result; if none answers in time, the asker leads and tells all lower
//! ones. A node that comes up again asks at once, and so takes the lead from any lower one.
//!
//! ```text
//!   0  ──ELECTION─┬─┬─┬───▲─▲────────────────────────────────────▲──[ 2 leads ]──►
//!                 │ │ │   │ │                                    │
//!   1  ───────────▼─│─│─ANSWER──ELECTION─┬─┬──▲──────────────▲───│──[ 2 leads ]──►
//!                   │ │     │            │ │  │              │   │
//!   2  ─────────────▼─│───ANSWER──ELECTION─▼─ANSWER──(…time-out)─COORDINATOR──────►
//!                     │                  │
//!   3  (down)         ▼                  ▼
//! ```
//!
//! | one node asks, the highest is down | cost |
//! | --- | --- |
//! | messages | N − 1 if the second highest asks, N² − N − 1 if the lowest does |
//! | duration | 2T and the time-out of the new leader; one T less if it asks itself |
//!
//! If the highest is up after all, it tells everyone below anew whenever it is asked, and an
//! election that the lowest calls takes (N − 1)(2N − 1) messages.
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled.
//! Nodes may crash and come up again.
//!
//! **Why there is one leader.** A time-out of two messages is never early, so a node that leads has
//! no higher one that was up to answer. Links that are late, or that lose a message, break it: two
//! may lead at once (`vorrang check bully --asynchronous`, `--losses 1`).
//!
//! **Why everyone is told.** A node that asks is answered, or leads after its time-out. One that
//! was answered is told by the highest node up within four messages, or asks again: whoever
//! answered may have crashed.
//!
//! **Where we depart from the paper.** Elections are not numbered here. So a node that comes up
//! again in the very moment in which another takes the lead can divide the others: each follows
//! whom it hears last (`vorrang check bully --crashes 1 --restarts 1`). The same happens if a crash
//! takes along what the node had sent (`--severing --initiators 0,1`). A node holds one election
//! at a time; without that guard elections would multiply at every node.

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Delay, Effects, Group, Message as _, NodeId, Protocol, Refused};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, Terms};
use super::{Command, Notice};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// What nodes say to each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// To all higher nodes: does anyone of you take over?
    Election,
    /// To a lower one: I do.
    Answer,
    /// To all lower ones: I lead.
    Coordinator,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["ELECTION", "ANSWER", "COORDINATOR"];

    fn kind(&self) -> usize {
        match self {
            Self::Election => 0,
            Self::Answer => 1,
            Self::Coordinator => 2,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

/// What a node waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// An answer of a higher node.
    Answer,
    /// The result, from whoever takes over.
    Result,
}

/// How long a node waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Patience {
    pub(super) answer: Delay,
    /// For ever, if there is none.
    pub(super) result: Option<Delay>,
}

impl Patience {
    /// An answer takes two messages. The result takes the message that the highest node may still
    /// have to get, its own wait for an answer, and its message.
    pub(super) const fn new(within: Duration) -> Self {
        Self {
            answer: Delay::exactly(within.saturating_mul(2)),
            result: Some(Delay::exactly(within.saturating_mul(4))),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bully {
    me: NodeId,
    group: Group,
    patience: Patience,
    leader: Option<NodeId>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Normal,
    AwaitsAnswer,
    AwaitsResult,
}

impl Bully {
    /// A node of `group`, between whose nodes a message takes no longer than `within`.
    pub fn new(me: NodeId, group: Group, within: Duration) -> Self {
        Self::with(me, group, Patience::new(within))
    }

    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self::new(me, setup.group, setup.within)
    }

    pub(super) const fn with(me: NodeId, group: Group, patience: Patience) -> Self {
        Self { me, group, patience, leader: None, phase: Phase::Normal }
    }

    /// Asks all higher nodes, unless it has and waits.
    fn hold_election(&mut self, fx: &mut impl Effects<Self>) {
        if self.phase != Phase::Normal {
            return;
        }
        let me = self.me;
        let higher = self.group.members().filter(move |&id| id > me);
        if higher.clone().next().is_none() {
            return self.lead(fx);
        }
        self.phase = Phase::AwaitsAnswer;
        fx.broadcast(higher, Message::Election);
        fx.set_timer(Timer::Answer, self.patience.answer);
    }

    fn lead(&mut self, fx: &mut impl Effects<Self>) {
        let me = self.me;
        fx.broadcast(self.group.members().filter(move |&id| id < me), Message::Coordinator);
        self.follow(me, fx);
    }

    fn follow(&mut self, leader: NodeId, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Normal => {}
            Phase::AwaitsAnswer => fx.cancel_timer(Timer::Answer),
            Phase::AwaitsResult => fx.cancel_timer(Timer::Result),
        }
        self.phase = Phase::Normal;
        self.leader = Some(leader);
        fx.notify(Notice::Leader(leader));
    }
}

impl Protocol for Bully {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(
        &mut self,
        Command::Elect: Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.hold_election(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election => {
                fx.send(from, Message::Answer);
                self.hold_election(fx);
            }
            Message::Answer if self.phase == Phase::AwaitsAnswer => {
                self.phase = Phase::AwaitsResult;
                fx.cancel_timer(Timer::Answer);
                if let Some(delay) = self.patience.result {
                    fx.set_timer(Timer::Result, delay);
                }
            }
            Message::Answer => {}
            Message::Coordinator if from < self.me => self.hold_election(fx),
            Message::Coordinator => self.follow(from, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Answer => self.lead(fx),
            Timer::Result => {
                self.phase = Phase::Normal;
                self.hold_election(fx);
            }
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.hold_election(fx);
    }
}

/// What the algorithm says of itself.
pub const CARD: Card = Card {
    name: "bully",
    title: "Bully",
    solves: "election",
    citation: "Garcia-Molina, IEEE ToC C-31(1), 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within],
    terms: Terms,
    theory: &[MESSAGES.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    source: include_str!("bully.rs"),
};

/// Everyone up from the initiator on asks everyone above and answers everyone below who asks; the
/// highest that is up tells everyone below. If it is the highest of all it need not wait for
/// anybody, so it does that anew for everyone who asks.
fn messages(at: &Setting) -> Span {
    let Setting { nodes, initiator, dead } = *at;
    let leader = nodes - 1 - dead;
    let elections: u32 = (initiator..=leader).map(|id| nodes - 1 - id).sum();
    let answers: u32 = (initiator..=leader).map(|id| id - initiator).sum();
    let announcements = if dead == 0 { (leader - initiator).max(1) } else { 1 };
    Span::exactly(f64::from(elections + answers) + f64::from(announcements) * f64::from(leader))
}

/// The leader must hear of the election, wait for its time-out unless nobody is above it, and tell
/// the others. The highest of all tells them once more when those have asked it whom the initiator
/// has asked.
fn duration(at: &Setting) -> Span {
    let Setting { nodes, initiator, dead } = *at;
    let leader = nodes - 1 - dead;
    let asked = match (leader - initiator, dead) {
        (0, _) => 0.0,
        (2.., 0) => 2.0,
        (_, _) => 1.0,
    };
    let waited = if dead == 0 { 0.0 } else { 2.0 };
    let told = if leader == 0 { 0.0 } else { 1.0 };
    Span::exactly(asked + waited + told)
}

/// What the literature got wrong; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-second-time-out",
        what: "whoever was answered waits for ever: if all that answered crash, nobody leads",
        breaks: "termination",
        shown_by: Demonstration { nodes: 3, initiators: &[0], crashes: 2 },
    },
    Flaw {
        name: "short-time-out",
        what: "the time-out is one message long: an answer that is in time comes too late",
        breaks: "legitimacy",
        shown_by: Demonstration { nodes: 2, initiators: &[0], crashes: 0 },
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const WITHIN: Duration = Duration::from_millis(1);

    #[test]
    fn the_highest_leads_at_once() {
        let mut node = Bully::new(NodeId(2), Group::of(3), WITHIN);
        let mut fx = Outbox::default();
        node.on_command(Command::Elect, &mut fx).unwrap();
        let told = |to| Effect::Send { to: NodeId(to), message: Message::Coordinator };
        assert_eq!(fx.take(), [told(0), told(1), Effect::Notify(Notice::Leader(NodeId(2)))]);
    }

    #[test]
    fn one_election_is_held_at_a_time() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        let mut fx = Outbox::default();
        node.on_message(NodeId(0), Message::Election, &mut fx);
        assert_eq!(fx.take().len(), 3);
        node.on_message(NodeId(0), Message::Election, &mut fx);
        let answer = Effect::Send { to: NodeId(0), message: Message::Answer };
        assert_eq!(fx.take(), [answer], "else elections multiply at every node");
    }

    fn effects(node: &mut Bully, step: impl FnOnce(&mut Bully, &mut Outbox<Bully>)) -> Vec<String> {
        let mut fx = Outbox::default();
        step(node, &mut fx);
        let shown = |effect: &Effect<Bully>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } => format!("set {timer:?} {:?}", delay.min),
            Effect::CancelTimer(timer) => format!("cancel {timer:?}"),
            Effect::Notify(notice) => format!("{notice}"),
        };
        fx.take().iter().map(shown).collect()
    }

    #[test]
    fn whoever_is_not_answered_in_time_leads() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        let asked = effects(&mut node, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        assert_eq!(asked, ["2 ELECTION", "set Answer 2ms"]);
        let led = effects(&mut node, |node, fx| node.on_timer(Timer::Answer, fx));
        assert_eq!(led, ["0 COORDINATOR", "cancel Answer", "node 1 leads"]);
    }

    #[test]
    fn whoever_is_answered_waits_for_the_result_and_then_asks_again() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        effects(&mut node, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        let from_2 = |message| {
            move |node: &mut Bully, fx: &mut Outbox<Bully>| {
                node.on_message(NodeId(2), message, fx);
            }
        };
        let answered = effects(&mut node, from_2(Message::Answer));
        assert_eq!(answered, ["cancel Answer", "set Result 4ms"]);
        assert_eq!(effects(&mut node, from_2(Message::Answer)), [""; 0], "once is enough");
        let again = effects(&mut node.clone(), |node, fx| node.on_timer(Timer::Result, fx));
        assert_eq!(again, ["2 ELECTION", "set Answer 2ms"]);
        let told = effects(&mut node, from_2(Message::Coordinator));
        assert_eq!(told, ["cancel Result", "node 2 leads"]);
    }

    #[test]
    fn a_lower_one_that_claims_the_lead_is_challenged() {
        let mut node = Bully::new(NodeId(2), Group::of(3), WITHIN);
        let claim = |node: &mut Bully, fx: &mut Outbox<Bully>| {
            node.on_message(NodeId(1), Message::Coordinator, fx);
        };
        let challenge = ["0 COORDINATOR", "1 COORDINATOR", "node 2 leads"];
        assert_eq!(effects(&mut node, claim), challenge);
    }

    #[test]
    fn whoever_comes_up_again_asks() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        let asked = effects(&mut node, Protocol::on_restart);
        assert_eq!(asked, ["2 ELECTION", "set Answer 2ms"]);
    }

    #[test]
    fn counts_are_those_of_the_literature() {
        let of = |nodes, initiator| messages(&Setting { nodes, initiator, dead: 1 }).low as u32;
        assert_eq!((of(5, 0), of(8, 0)), (19, 55));
        assert_eq!((of(5, 3), of(8, 6)), (4, 7));
        assert_eq!(of(4, 0), 11);
        let all_up = |nodes, initiator| messages(&Setting { nodes, initiator, dead: 0 }).low as u32;
        assert_eq!(all_up(4, 3), 3, "the highest tells the others");
        assert_eq!(all_up(2, 0), 3, "it is asked, answers, and tells");
        assert_eq!((all_up(4, 0), all_up(13, 0)), (3 * 7, 12 * 25), "(N − 1)(2N − 1)");
    }
}
