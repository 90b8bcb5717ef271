//! Bully: Hector Garcia-Molina, "Elections in a distributed computing system", IEEE Transactions on
//! Computers C-31(1), 1982.
//!
//! A node that believes that there is no leader asks all higher nodes. If one answers, it takes
//! over, and the first waits for the result; if none answers in time, the node leads and informs
//! all lower ones. A node that restarts asks at once, and so takes the lead from any lower one.
//!
//! **Use it** where everybody knows everybody, nodes may crash, messages take no longer than a
//! known time, and the highest live node is to lead.
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
//! As many of these go to crashed nodes as nodes ask. Several nodes that ask at once cost no more
//! than the lowest of them alone. If the highest is up after all, it informs all lower nodes at
//! once, and those that ask it before they know once more: an election that the lowest calls takes
//! N² − 1 messages at most. If it restarts, it says so at once, and that takes N − 1.
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled.
//! Nodes may crash and come up again; a number survives that.
//!
//! **Why there is one leader.** A time-out of two messages is never early, so a node that leads has
//! no higher one that was up to answer. Links that are late, or that lose a message, break it: two
//! may lead at once (`vorrang check bully --asynchronous`, `--losses 1`).
//!
//! **Why everyone is told.** A node that asks is answered, or leads after its time-out. One that
//! was answered is informed by the highest live node within four messages, or asks again: the node
//! that answered may have crashed.
//!
//! **Why all follow the same.** A node may restart in the very moment in which a lower one takes
//! the lead; both announce it, and without further rules each of the others follows the one that it
//! hears last (`vorrang check bully --flaw unnumbered`). So every election has a number: a leader's
//! is higher than all that it has seen, and of two leaders the others follow the one with the
//! higher number, of equal numbers the higher node. A restarted node may have missed some numbers.
//! Then a node that follows another leader tells it so, and it holds another election. At least the
//! other one does: its number lies on stable storage, so that an announcement from before a crash
//! stays valid (without, two crashes and two restarts suffice to divide three nodes again: `--flaw
//! number-forgotten`). A
//! process without stable storage leads by a number that is higher than the time of its restart: no
//! election has come so far, as each takes longer than a microsecond.
//!
//! **Why elections do not multiply.** A node holds one election at a time: without that guard they
//! double at every node (`--flaw no-guard`: 382 messages between eight nodes, and not 55). That is
//! not enough: a node that knows the leader holds none, and if it held another for every question
//! that comes late, elections would multiply as well where some messages are slower than others. So
//! a question carries the number of the last election that its sender knows. A node that knows a
//! later one answers, with its number, and holds none: its leader is asked as well, and informs the
//! sender. If that leader is down, the sender asks again, and then knows as much as the others.
//!
//! **Where we depart from the paper.** There, a leader first halts the others and then tells them
//! what to do, and elections are numbered in the paper's second algorithm only.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Delay, Effects, Group, Message as _, NodeId, NodeState, Protocol, Refused};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, Terms};
use super::{Command, Notice};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// To all higher nodes: does anyone of you take over? I know of an election of this number.
    Election(u64),
    /// To a lower one: I do, or know who leads, by an election of this number.
    Answer(u64),
    /// To all lower ones: I lead, by the election of this number.
    Coordinator(u64),
    /// To one that says that it leads: I know of an election of this number.
    Outdated(u64),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["ELECTION", "ANSWER", "COORDINATOR", "OUTDATED"];

    fn kind(&self) -> usize {
        match self {
            Self::Election(_) => 0,
            Self::Answer(_) => 1,
            Self::Coordinator(_) => 2,
            Self::Outdated(_) => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind_name();
        match self {
            Self::Election(number)
            | Self::Answer(number)
            | Self::Coordinator(number)
            | Self::Outdated(number) => write!(f, "{name}({number})"),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// An answer of a higher node.
    Answer,
    /// The result, from the node that takes over.
    Result,
}

/// How long a node waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timeouts {
    pub(super) answer: Delay,
    /// For ever, if there is none.
    pub(super) result: Option<Delay>,
}

impl Timeouts {
    /// An answer takes two messages. The result takes the message that the highest node may still
    /// have to get, its own wait for an answer, and its message. Both timers may be late.
    pub(super) const fn new(within: Duration, late: Duration) -> Self {
        let round_trip = within.saturating_mul(2);
        let answer = Delay::between(round_trip, round_trip.saturating_add(late));
        let result = answer.max.saturating_add(round_trip);
        Self { answer, result: Some(Delay::between(result, result.saturating_add(late))) }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bully {
    pub(super) me: NodeId,
    group: Group,
    patience: Timeouts,
    /// The number of the election of its leader; without one, the highest that it has seen.
    number: u64,
    /// In a later life without stable storage, the time: no election has had this number. Else 0.
    begins_at: u64,
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
        Self::with(me, group, Timeouts::new(within, Duration::ZERO))
    }

    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self::with(me, setup.group, Timeouts::new(setup.within, setup.late))
    }

    /// The number of the last election that it knows.
    pub const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn with(me: NodeId, group: Group, patience: Timeouts) -> Self {
        Self { me, group, patience, number: 0, begins_at: 0, leader: None, phase: Phase::Normal }
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
        fx.broadcast(higher, Message::Election(self.number));
        fx.set_timer(Timer::Answer, self.patience.answer);
    }

    fn lead(&mut self, fx: &mut impl Effects<Self>) {
        let me = self.me;
        self.number = self.number.max(self.begins_at).saturating_add(1);
        let lower = self.group.members().filter(move |&id| id < me);
        fx.broadcast(lower, Message::Coordinator(self.number));
        self.follow(me, fx);
    }

    pub(super) fn follow(&mut self, leader: NodeId, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Normal => {}
            Phase::AwaitsAnswer => fx.cancel_timer(Timer::Answer),
            Phase::AwaitsResult => fx.cancel_timer(Timer::Result),
        }
        self.phase = Phase::Normal;
        self.leader = Some(leader);
        fx.notify(Notice::Leader(leader));
    }

    /// Knows from now on that there was an election of this number; if it was a later one, not who
    /// leads.
    const fn learn(&mut self, number: u64) {
        if number > self.number {
            self.number = number;
            self.leader = None;
        }
    }

    /// Takes over, unless it knows a later election than the sender. A leader's application is told
    /// again when a node does not know its leader, since that may have restarted.
    fn on_election(&mut self, from: NodeId, known: u64, fx: &mut impl Effects<Self>) {
        if known < self.number && self.leader == Some(self.me) {
            fx.send(from, Message::Coordinator(self.number));
            return fx.notify(Notice::Leader(self.me));
        }
        fx.send(from, Message::Answer(self.number));
        if known >= self.number {
            self.learn(known);
            self.hold_election(fx);
        }
    }

    /// Waits for the result, if it has waited for this.
    fn on_answer(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Normal => return,
            Phase::AwaitsResult => {}
            Phase::AwaitsAnswer => {
                self.phase = Phase::AwaitsResult;
                fx.cancel_timer(Timer::Answer);
                if let Some(delay) = self.patience.result {
                    fx.set_timer(Timer::Result, delay);
                }
            }
        }
        self.learn(number);
    }

    fn on_coordinator(&mut self, from: NodeId, number: u64, fx: &mut impl Effects<Self>) {
        if from < self.me {
            self.learn(number);
            self.hold_election(fx);
        } else if (number, Some(from)) >= (self.number, self.leader) {
            self.number = number;
            self.follow(from, fx);
        } else if self.leader != Some(from) {
            // Else it has been overtaken by what the same leader said later.
            fx.send(from, Message::Outdated(self.number));
        }
    }

    /// A leader that is told of an election as late as its own believes no more that it leads.
    fn on_outdated(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        if self.leader == Some(self.me) && number >= self.number {
            self.number = number;
            self.leader = None;
            self.hold_election(fx);
        }
    }
}

impl Protocol for Bully {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.hold_election(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(known) => self.on_election(from, known, fx),
            Message::Answer(number) => self.on_answer(number, fx),
            Message::Coordinator(number) => self.on_coordinator(from, number, fx),
            Message::Outdated(number) => self.on_outdated(number, fx),
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

    fn state(&self) -> NodeState {
        let phase = match self.phase {
            Phase::Normal => "normal",
            Phase::AwaitsAnswer => "awaits answer",
            Phase::AwaitsResult => "awaits result",
        };
        NodeState::new()
            .with("phase", phase)
            .with("coordinator", self.leader)
            .with("election", self.number)
    }

    /// The number lies on stable storage.
    fn after_crash(&self, fresh: Self) -> Self {
        Self { number: self.number, ..fresh }
    }

    /// Without stable storage, a clock must do: a number that it then leads by is higher than all
    /// before. To claim at once that there was such an election would be wrong: others would take
    /// the announcement of a leader for outdated.
    fn without_memory(self, life: u64) -> Option<Self> {
        Some(Self { begins_at: life, ..self })
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "bully",
    title: "Bully",
    solves: "election",
    citation: "Garcia-Molina, IEEE ToC C-31(1), 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Late],
    terms: Terms::PLAIN,
    theory: &[MESSAGES.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("bully.rs"),
};

/// The participants of an election: all live nodes, from the lowest caller on.
struct Parties {
    all: Vec<NodeId>,
    /// The highest of all nodes is up, so that there is no time-out.
    has_highest: bool,
    highest_calls: bool,
    /// Some of them, the highest of all nodes aside, are asked before they call.
    some_are_asked: bool,
}

impl Parties {
    fn of(at: &Setting) -> Self {
        let highest = NodeId(at.nodes() - 1);
        let calls = |id: NodeId| at.initiators.contains(&id);
        let lowest = at.initiators.first().copied().unwrap_or(highest);
        let all: Vec<NodeId> = at.up().filter(|&id| id >= lowest).collect();
        Self {
            has_highest: at.is_up(highest),
            highest_calls: calls(highest),
            some_are_asked: all.iter().any(|&id| id != highest && !calls(id)),
            all,
        }
    }

    /// Whether everyone holds one election if all messages take the same time. Else a node that
    /// was told by the highest may be asked once more by one that was not.
    const fn hold_one_each(&self) -> bool {
        !(self.highest_calls && self.some_are_asked)
    }
}

/// Every participant asks all higher nodes and answers all lower ones that ask; the highest live
/// node informs all lower ones. If it is the highest of all it need not wait, and nodes that ask it
/// later are informed instead of answered. Then, if messages do not all take the same time, a node
/// that did not call may be told before it is asked, and need not ask.
pub(super) fn messages(at: &Setting) -> Span {
    let parties = Parties::of(at);
    let highest = at.nodes() - 1;
    let cost = |takes_part: &dyn Fn(NodeId) -> bool| {
        let (mut sum, mut asked) = (0.0, 0.0);
        for (place, &id) in parties.all.iter().enumerate() {
            if id.0 < highest && takes_part(id) {
                let above = (parties.all.len() - 1 - place) as f64;
                let answered = if parties.has_highest { above - 1.0 } else { above };
                sum += f64::from(highest - id.0) + answered;
                asked += 1.0;
            }
        }
        let leader = f64::from(parties.all.last().map_or(0, |id| id.0));
        // It answers the first, and tells the others; if it has called, it tells all of them.
        sum + leader + if parties.has_highest { asked } else { 0.0 }
    };
    let most = cost(&|_| true);
    if !parties.has_highest || at.lockstep && parties.hold_one_each() {
        return Span::exactly(most);
    }
    let least = cost(&|id| at.initiators.contains(&id));
    if least < most { Span::between(least, most) } else { Span::exactly(most) }
}

/// The leader must hear of the election, wait for its time-out unless it is the highest of all, and
/// inform the others. The highest of all informs them once more when it is asked by the nodes that
/// the callers have asked.
pub(super) fn duration(at: &Setting) -> Span {
    let parties = Parties::of(at);
    let Some(&leader) = parties.all.last() else { return Span::exactly(0.0) };
    let told = if at.up().any(|id| id < leader) { 1.0 } else { 0.0 };
    if !parties.has_highest {
        let asked = if at.initiators.contains(&leader) { 0.0 } else { 1.0 };
        let least = asked + 2.0 + told;
        return Span::between(least, least + at.in_units(at.setup.late));
    }
    let asked = match (parties.all.len(), parties.some_are_asked) {
        (..=1, _) => 0.0,
        (_, false) => 1.0,
        (_, true) => 2.0,
    };
    if parties.hold_one_each() {
        return Span::exactly(asked + told);
    }
    Span::between(asked + told, parties.all.len() as f64 + told)
}

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-guard",
        what: "a node that is asked holds an election although it holds one already: elections \
               multiply",
        breaks: "one election at a time",
        shown_by: Demonstration::of(3, &[0, 1]),
    },
    Flaw {
        name: "no-second-time-out",
        what: "a node that was answered waits for ever: if all that answered crash, no leader is \
               elected",
        breaks: "termination",
        shown_by: Demonstration::of(3, &[0]).crashing(2, 0),
    },
    Flaw {
        name: "short-time-out",
        what: "the time-out is one message long: an answer that is in time comes too late",
        breaks: "one leader",
        shown_by: Demonstration::of(2, &[0]),
    },
    Flaw {
        name: "unnumbered",
        what: "elections have no number: of two leaders a node follows whom it hears last",
        breaks: "agreement",
        shown_by: Demonstration::of(3, &[0]).crashing(1, 1),
    },
    Flaw {
        name: "number-forgotten",
        what: "the number of the last election is lost in a crash: what a leader announced before \
               outdoes what all agree on later",
        breaks: "agreement",
        shown_by: Demonstration::of(3, &[1, 2]).crashing(2, 2),
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const WITHIN: Duration = Duration::from_millis(1);

    #[test]
    fn the_highest_leads_at_once() {
        let mut node = Bully::new(NodeId(2), Group::of(3), WITHIN);
        let mut fx = Outbox::default();
        node.on_command(Command::Elect, &mut fx).unwrap();
        let told = |to| Effect::Send { to: NodeId(to), message: Message::Coordinator(1) };
        assert_eq!(fx.take(), [told(0), told(1), Effect::Notify(Notice::Leader(NodeId(2)))]);
    }

    #[test]
    fn one_election_is_held_at_a_time() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        let mut fx = Outbox::default();
        node.on_message(NodeId(0), Message::Election(0), &mut fx);
        assert_eq!(fx.take().len(), 3);
        node.on_message(NodeId(0), Message::Election(0), &mut fx);
        let answer = Effect::Send { to: NodeId(0), message: Message::Answer(0) };
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
        assert_eq!(asked, ["2 ELECTION(0)", "set Answer 2ms"]);
        let led = effects(&mut node, |node, fx| node.on_timer(Timer::Answer, fx));
        assert_eq!(led, ["0 COORDINATOR(1)", "cancel Answer", "node 1 leads"]);
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
        let answered = effects(&mut node, from_2(Message::Answer(0)));
        assert_eq!(answered, ["cancel Answer", "set Result 4ms"]);
        assert_eq!(effects(&mut node, from_2(Message::Answer(0))), [""; 0], "once is enough");
        let again = effects(&mut node.clone(), |node, fx| node.on_timer(Timer::Result, fx));
        assert_eq!(again, ["2 ELECTION(0)", "set Answer 2ms"]);
        let told = effects(&mut node, from_2(Message::Coordinator(1)));
        assert_eq!(told, ["cancel Result", "node 2 leads"]);
    }

    #[test]
    fn a_lower_one_that_claims_the_lead_is_challenged() {
        let mut node = Bully::new(NodeId(2), Group::of(3), WITHIN);
        let claim = |node: &mut Bully, fx: &mut Outbox<Bully>| {
            node.on_message(NodeId(1), Message::Coordinator(1), fx);
        };
        let challenge = ["0 COORDINATOR(2)", "1 COORDINATOR(2)", "node 2 leads"];
        assert_eq!(effects(&mut node, claim), challenge);
    }

    #[test]
    fn whoever_comes_up_again_asks() {
        let mut node = Bully::new(NodeId(1), Group::of(3), WITHIN);
        let asked = effects(&mut node, Protocol::on_restart);
        assert_eq!(asked, ["2 ELECTION(0)", "set Answer 2ms"]);
    }

    fn claims(node: &mut Bully, from: u32, number: u64) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(from), Message::Coordinator(number), fx))
    }

    #[test]
    fn of_two_leaders_the_one_with_the_higher_number_is_followed_then_the_higher_one() {
        let mut node = Bully::new(NodeId(0), Group::of(3), WITHIN);
        assert_eq!(claims(&mut node, 1, 1), ["node 1 leads"]);
        assert_eq!(claims(&mut node, 2, 1), ["node 2 leads"], "it is higher");
        assert_eq!(claims(&mut node, 1, 1), ["1 OUTDATED(1)"], "this one spoke before");
        assert_eq!(claims(&mut node, 1, 2), ["node 1 leads"], "the other must have crashed");
        assert_eq!(claims(&mut node, 2, 1), ["2 OUTDATED(2)"], "it came up again");
        assert_eq!(claims(&mut node, 2, 3), ["node 2 leads"]);
        assert_eq!(claims(&mut node, 2, 3), ["node 2 leads"], "it says so again");
        assert_eq!(claims(&mut node, 2, 1), [""; 0], "it has said more since");
    }

    #[test]
    fn a_leader_that_is_outdated_holds_another_election_once() {
        let outdated = |number| {
            move |node: &mut Bully, fx: &mut Outbox<Bully>| {
                node.on_message(NodeId(0), Message::Outdated(number), fx);
            }
        };
        let mut highest = Bully::new(NodeId(2), Group::of(3), WITHIN);
        effects(&mut highest, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        let again = ["0 COORDINATOR(6)", "1 COORDINATOR(6)", "node 2 leads"];
        assert_eq!(effects(&mut highest, outdated(5)), again);
        assert_eq!(effects(&mut highest, outdated(5)), [""; 0], "node 1 says the same");
        let mut middle = Bully::new(NodeId(1), Group::of(3), WITHIN);
        effects(&mut middle, |node, fx| node.on_timer(Timer::Answer, fx));
        assert_eq!(effects(&mut middle, outdated(1)), ["2 ELECTION(1)", "set Answer 2ms"]);
        effects(&mut middle, |node, fx| node.on_message(NodeId(2), Message::Coordinator(1), fx));
        assert_eq!(effects(&mut middle, outdated(9)), [""; 0], "it does not lead");
    }

    #[test]
    fn a_number_survives_a_crash_and_a_claim_makes_it_higher() {
        let mut node = Bully::new(NodeId(2), Group::of(3), WITHIN);
        effects(&mut node, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        let mut again = node.after_crash(Bully::new(NodeId(2), Group::of(3), WITHIN));
        let led = effects(&mut again, Protocol::on_restart);
        assert_eq!(led, ["0 COORDINATOR(2)", "1 COORDINATOR(2)", "node 2 leads"]);
        let same = effects(&mut again, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        assert_eq!(same[0], "0 COORDINATOR(3)", "by an election of its own");
    }

    #[test]
    fn whoever_knows_of_a_later_election_answers_and_holds_none() {
        let asks = |node: &mut Bully, known| {
            effects(node, |node, fx| node.on_message(NodeId(0), Message::Election(known), fx))
        };
        let mut follower = Bully::new(NodeId(1), Group::of(3), Duration::from_millis(1));
        claims(&mut follower, 2, 4);
        assert_eq!(asks(&mut follower, 3), ["0 ANSWER(4)"], "node 2 is asked as well");
        let held = ["0 ANSWER(4)", "2 ELECTION(4)", "set Answer 2ms"];
        assert_eq!(asks(&mut follower.clone(), 4), held, "who knows as much misses node 2");
        let held = ["0 ANSWER(4)", "2 ELECTION(6)", "set Answer 2ms"];
        assert_eq!(asks(&mut follower, 6), held, "and who knows more another");
        let mut leader = Bully::new(NodeId(2), Group::of(3), Duration::from_millis(1));
        let leads = asks(&mut leader, 0);
        let told = ["0 ANSWER(0)", "0 COORDINATOR(1)", "1 COORDINATOR(1)", "node 2 leads"];
        assert_eq!(leads, told);
        let again = ["0 COORDINATOR(1)", "node 2 leads"];
        assert_eq!(asks(&mut leader, 0), again, "that it had not heard");
        assert_eq!(asks(&mut leader, 1)[1], "0 COORDINATOR(2)", "that it believes no more");
    }

    #[test]
    fn whoever_is_answered_learns_of_elections_that_it_has_missed() {
        let mut node = Bully::new(NodeId(0), Group::of(3), Duration::from_millis(1));
        effects(&mut node, Bully::on_restart);
        let answered = |node: &mut Bully, number| {
            effects(node, |node, fx| node.on_message(NodeId(1), Message::Answer(number), fx))
        };
        assert_eq!(answered(&mut node, 3), ["cancel Answer", "set Result 4ms"]);
        assert_eq!(answered(&mut node, 4), [""; 0]);
        let again = effects(&mut node, |node, fx| node.on_timer(Timer::Result, fx));
        assert_eq!(again[0], "1 ELECTION(4)", "the leader of that one did not tell it");
    }

    #[test]
    fn a_late_timer_makes_the_others_wait_longer() {
        let ms = Duration::from_millis;
        let Timeouts { answer, result } = Timeouts::new(ms(1), ms(3));
        assert_eq!(answer, Delay::between(ms(2), ms(5)));
        assert_eq!(result, Some(Delay::between(ms(7), ms(10))));
        assert_eq!(Timeouts::new(ms(1), ms(0)).result, Some(Delay::exactly(ms(4))));
    }

    fn at(nodes: u32, initiators: &[u32], dead: &[u32]) -> Setting {
        let ids = |list: &[u32]| list.iter().copied().map(NodeId).collect::<Vec<_>>();
        Setting {
            setup: Setup::new(Group::of(nodes)),
            initiators: ids(initiators),
            dead: ids(dead).into_iter().collect(),
            lockstep: true,
        }
    }

    fn exactly(setting: &Setting) -> u32 {
        let span = messages(setting);
        assert_eq!(span, Span::exactly(span.low), "{setting:?}");
        span.low as u32
    }

    #[test]
    fn counts_are_those_of_the_literature() {
        let of = |nodes, initiator| exactly(&at(nodes, &[initiator], &[nodes - 1]));
        assert_eq!((of(5, 0), of(8, 0)), (19, 55));
        assert_eq!((of(5, 3), of(8, 6)), (4, 7));
        assert_eq!(of(4, 0), 11);
        let all_up = |nodes, initiator| exactly(&at(nodes, &[initiator], &[]));
        assert_eq!(all_up(4, 3), 3, "the highest tells the others");
        assert_eq!(all_up(2, 0), 3, "it is asked, answers, and tells");
        assert_eq!((all_up(4, 0), all_up(13, 0)), (15, 168), "N² − 1");
        assert_eq!(exactly(&at(1, &[0], &[])), 0);
    }

    #[test]
    fn several_callers_cost_what_the_lowest_does_if_the_highest_is_down() {
        assert_eq!(exactly(&at(8, &[0, 3, 6], &[7])), 55);
        assert_eq!(exactly(&at(8, &[0, 1, 2, 3, 4, 5, 6], &[7])), 55);
        // 0, 2 and 4 are up: 5 + 3 + 1 questions, 2 + 1 answers, and 4 are told.
        assert_eq!(exactly(&at(6, &[0], &[1, 3, 5])), 9 + 3 + 4);
    }

    #[test]
    fn without_a_common_pace_only_a_range_is_known_if_the_highest_is_up() {
        let slow = Setting { lockstep: false, ..at(4, &[0], &[]) };
        assert_eq!(messages(&slow), Span::between(9.0, 15.0));
        let down = Setting { lockstep: false, ..at(4, &[0], &[3]) };
        assert_eq!(messages(&down), Span::exactly(11.0));
        let crossing = messages(&at(4, &[0, 3], &[]));
        assert!(crossing.low < crossing.high, "{crossing:?}");
    }

    #[test]
    fn a_late_timer_is_part_of_the_duration() {
        assert_eq!(duration(&at(5, &[0], &[4])), Span::between(4.0, 4.0));
        let mut late = at(5, &[3], &[4]);
        late.setup.late = Duration::from_millis(2);
        assert_eq!(duration(&late), Span::between(3.0, 5.0));
        let alone = duration(&at(5, &[4], &[0, 1, 2, 3]));
        assert_eq!(alone, Span::exactly(0.0), "nobody is to be told");
    }
}
