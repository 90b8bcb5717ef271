//! Ricart–Agrawala, with an answer to every request and probes of nodes that have not replied yet:
//! the way to survive crashes that Ricart and Agrawala sketch, CACM 24(1), 1981, as a request–reply
//! protocol.
//!
//! In [Ricart–Agrawala](super::ricart_agrawala) a silent node may be busy or crashed. Here every
//! request is answered at once, by the reply or by a notice that the reply is deferred. A node
//! whose reply is deferred probes from time to time whether the other is still up. A node that does
//! not answer two messages in a row is down: its permission is not needed until it is heard of
//! again.
//!
//! **Use it** where nodes may crash and messages take no longer than a known time: it goes on
//! without those that are down.
//!
//! ```text
//!   0  ──REQUEST(1)─┬────▲──── … ──PROBE(1)─┬────▲──── … ──PROBE(1)─┬─(silence)─[ inside ]─►
//!                   │    │                  │    │                  │
//!   1  ──[ inside ]─▼─DEFERRED(1)───────────▼─PROBE OK(1)──✗        ▼   (down)
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 2(N−1); one more for every node that puts it off, two for every probe |
//! | synchronisation delay | T; after a crash up to 12T, until it is noticed |
//! | response without contention | 2T + E; 4T + E if a node has gone down unnoticed |
//!
//! **Assumes** that a message takes no longer than a known time T. Nodes may crash, and restart
//! with the time that their clocks had reached. Of the messages between two nodes one at a time may
//! be lost or duplicated: a message that is not answered is sent again, once.
//!
//! **Why it is safe.** As there, the node of the younger of two requests does not defer the older
//! one, and the node inside defers all. A node is passed over only if it is down, since an answer
//! takes 2T; so a live node inside has the permission of every live node. A node that restarts asks
//! all others, and each node that had passed it over, or has no answer from it yet, asks it again:
//! it may never have received the first request. It keeps its clock: with a clock of 0 it would ask
//! with an older time than those it has given permission to, and two would enter.
//!
//! It is safe only because time-outs are never early. If a message is late, a node that is inside
//! is passed over (`vorrang check ricart-agrawala-probing --asynchronous` shows it in a few steps),
//! and nothing that the nodes could say to each other would help.
//!
//! **Why no request starves.** Every node that it waits for answers, and replies when it leaves, or
//! is found to be down. A lost reply is repeated when the other node probes.
//!
//! **Where we depart.** Not every message is acknowledged: a request is answered and a lost reply
//! is found by the next probe, so nothing else needs to be. A request is sent twice, and not any
//! number of times, before its receiver counts as down.

use core::fmt;
use core::mem;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Group, NodeId, NodeSet, NodeState, Protocol, Refused, SortedMap, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, NOBODY, RESPONSE, SYNC_DELAY, Setting,
    Terms,
};
use super::stamps::Stamping;
use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::card::{Assumes, Span};
use crate::clock::{Clock, Stamp};
use crate::setup::{Parameter, Setup};

/// The messages between nodes, each about the request of this time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// May I?
    Request(u64),
    /// You may, as far as I am concerned.
    Reply(u64),
    /// You may later.
    Deferred(u64),
    /// You said later: are you still there?
    Probe(u64),
    /// I am.
    ProbeOk(u64),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "REPLY", "DEFERRED", "PROBE", "PROBE OK"];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Deferred(_) => 2,
            Self::Probe(_) => 3,
            Self::ProbeOk(_) => 4,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use vorrang_protocol::Message as _;

        let (Self::Request(time)
        | Self::Reply(time)
        | Self::Deferred(time)
        | Self::Probe(time)
        | Self::ProbeOk(time)) = self;
        write!(f, "{}({time})", self.kind_name())
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// This node would have answered.
    Answer(NodeId),
    /// It is time to see whether this node is still there.
    Probe(NodeId),
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RicartAgrawalaProbing {
    me: NodeId,
    group: Group,
    /// How long a message takes at most.
    within: Duration,
    clock: Clock,
    phase: Phase,
    /// The nodes that wait for our reply, with the times of their requests.
    deferred: SortedMap<NodeId, u64>,
    /// The nodes that did not answer, and have not been heard of since.
    pub(super) down: NodeSet,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Outside,
    Waiting {
        /// The time of our request.
        time: u64,
        /// The nodes that have yet to reply, each with its state.
        missing: SortedMap<NodeId, Missing>,
    },
    Inside,
}

/// The state of a node whose reply is missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Missing {
    /// It was asked, and has not answered yet.
    Asked(Patience),
    /// It has answered that it will reply later.
    PutOff,
    /// It was asked whether it is still there.
    Probed(Patience),
}

/// Whether a node that does not answer is asked once more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Patience {
    Once,
    NoMore,
}

impl Stamping for RicartAgrawalaProbing {
    fn time(&self) -> u64 {
        self.clock.now()
    }
    fn is_inside(&self) -> bool {
        self.phase == Phase::Inside
    }
}

impl RicartAgrawalaProbing {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            within: setup.within,
            clock: Clock::default(),
            phase: Phase::Outside,
            deferred: SortedMap::new(),
            down: NodeSet::EMPTY,
        }
    }

    fn messages(&self, count: u32) -> Delay {
        Delay::exactly(self.within.saturating_mul(count))
    }

    fn ask(&mut self, whom: NodeId, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { time, missing } = &mut self.phase {
            missing.insert(whom, Missing::Asked(Patience::Once));
            fx.send(whom, Message::Request(*time));
            fx.set_timer(Timer::Answer(whom), self.messages(2));
        }
    }

    /// A message of the node has arrived. If it was passed over as down, it is asked after all. If
    /// it makes a request itself and has yet to answer, it may have restarted since it was asked:
    /// it will be asked once more.
    fn is_up(&mut self, node: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        if self.down.remove(node) {
            return self.ask(node, fx);
        }
        let asks = matches!(message, Message::Request(_) | Message::Probe(_));
        let within = self.messages(2);
        if let Phase::Waiting { missing, .. } = &mut self.phase
            && let Some(missing @ (Missing::Asked(_) | Missing::Probed(_))) = missing.get_mut(&node)
            && asks
        {
            *missing = Missing::Asked(Patience::Once);
            fx.set_timer(Timer::Answer(node), within);
        }
    }

    fn on_request(&mut self, theirs: Stamp, is_probe: bool, fx: &mut impl Effects<Self>) {
        self.clock.witness(theirs.time);
        let we_go_first = match self.phase {
            Phase::Outside => false,
            Phase::Waiting { time, .. } => Stamp::new(time, self.me) < theirs,
            Phase::Inside => true,
        };
        let answer = match (we_go_first, is_probe) {
            (true, false) => Message::Deferred(theirs.time),
            (true, true) => Message::ProbeOk(theirs.time),
            (false, _) => Message::Reply(theirs.time),
        };
        if we_go_first {
            self.deferred.insert(theirs.node, theirs.time);
        } else {
            self.deferred.remove(&theirs.node);
        }
        fx.send(theirs.node, answer);
    }

    /// It will reply later.
    fn on_put_off(&mut self, from: NodeId, answered: u64, fx: &mut impl Effects<Self>) {
        let within = self.messages(4);
        if let Phase::Waiting { time, missing } = &mut self.phase
            && *time == answered
            && let Some(missing @ (Missing::Asked(_) | Missing::Probed(_))) = missing.get_mut(&from)
        {
            *missing = Missing::PutOff;
            fx.cancel_timer(Timer::Answer(from));
            fx.set_timer(Timer::Probe(from), within);
        }
    }

    fn on_reply(&mut self, from: NodeId, answered: u64, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { time, missing } = &mut self.phase
            && *time == answered
            && let Some(was) = missing.remove(&from)
        {
            fx.cancel_timer(match was {
                Missing::Asked(_) | Missing::Probed(_) => Timer::Answer(from),
                Missing::PutOff => Timer::Probe(from),
            });
            self.enter_if_all_replied(fx);
        }
    }

    fn enter_if_all_replied(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { missing, .. } = &self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }

    /// It has not answered in time.
    fn on_silence(&mut self, of: NodeId, fx: &mut impl Effects<Self>) {
        let within = self.messages(2);
        let Phase::Waiting { time, missing } = &mut self.phase else { return };
        let (again, message) = match missing.get(&of) {
            Some(Missing::Asked(Patience::Once)) => {
                (Missing::Asked(Patience::NoMore), Message::Request(*time))
            }
            Some(Missing::Probed(Patience::Once)) => {
                (Missing::Probed(Patience::NoMore), Message::Probe(*time))
            }
            Some(Missing::Asked(Patience::NoMore) | Missing::Probed(Patience::NoMore)) => {
                missing.remove(&of);
                self.down.insert(of);
                return self.enter_if_all_replied(fx);
            }
            Some(Missing::PutOff) | None => return,
        };
        missing.insert(of, again);
        fx.send(of, message);
        fx.set_timer(Timer::Answer(of), within);
    }
}

impl Protocol for RicartAgrawalaProbing {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let time = self.clock.tick();
                self.phase = Phase::Waiting { time, missing: SortedMap::new() };
                for other in self.group.others(self.me) {
                    if !self.down.contains(other) {
                        self.ask(other, fx);
                    }
                }
                self.enter_if_all_replied(fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                for (node, time) in mem::take(&mut self.deferred) {
                    fx.send(node, Message::Reply(time));
                }
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.is_up(from, message, fx);
        match message {
            Message::Request(time) => self.on_request(Stamp::new(time, from), false, fx),
            Message::Probe(time) => self.on_request(Stamp::new(time, from), true, fx),
            Message::Reply(time) => self.on_reply(from, time, fx),
            Message::Deferred(time) | Message::ProbeOk(time) => self.on_put_off(from, time, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Answer(of) => self.on_silence(of, fx),
            Timer::Probe(of) => {
                let within = self.messages(2);
                if let Phase::Waiting { time, missing } = &mut self.phase
                    && let Some(missing @ Missing::PutOff) = missing.get_mut(&of)
                {
                    *missing = Missing::Probed(Patience::Once);
                    fx.send(of, Message::Probe(*time));
                    fx.set_timer(Timer::Answer(of), within);
                }
            }
        }
    }

    fn state(&self) -> NodeState {
        let (phase, time, missing) = match &self.phase {
            Phase::Outside => ("outside", None, None),
            Phase::Waiting { time, missing } => ("waiting", Some(*time), Some(missing)),
            Phase::Inside => ("inside", None, None),
        };
        let missing = missing.map(|missing| {
            StateValue::list(missing.iter().map(|(&node, missing)| {
                let how = match missing {
                    Missing::Asked(Patience::Once) => "asked",
                    Missing::Asked(Patience::NoMore) => "asked again",
                    Missing::PutOff => "put off",
                    Missing::Probed(Patience::Once) => "probed",
                    Missing::Probed(Patience::NoMore) => "probed again",
                };
                (node, how)
            }))
        });
        let deferred = self.deferred.iter().map(|(&node, &time)| (time, node));
        NodeState::new()
            .with("phase", phase)
            .with("our number", time)
            .with("highest number", self.clock.now())
            .with("awaits reply", missing)
            .with("deferred", StateValue::list(deferred))
            .with("down", &self.down)
    }

    /// The clock lies on stable storage.
    fn after_crash(&self, fresh: Self) -> Self {
        Self { clock: self.clock, ..fresh }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "ricart-agrawala-probing",
    title: "Ricart–Agrawala with probes",
    solves: "mutual exclusion",
    citation: "after Ricart and Agrawala, CACM 24(1), 1981",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within],
    terms: Terms { needs: NOBODY, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|_| Span::between(0.0, f64::INFINITY)),
        RESPONSE.costs(response),
        BUSIEST.costs(|_| Span::between(0.0, f64::INFINITY)),
    ],
    flaws: FLAWS,
    page: page!("ricart_agrawala_probing.rs"),
};

/// Without contention no reply is deferred. Else the cost depends on how long it is deferred.
fn messages(at: &Setting) -> Span {
    let all = 2.0 * at.others();
    match at.load {
        Load::Light => Span::exactly(all),
        Load::Heavy => Span::between(all, f64::INFINITY),
    }
}

fn response(at: &Setting) -> Span {
    let there_and_back = if at.nodes() == 1 { 0.0 } else { 2.0 };
    match at.load {
        Load::Light => Span::exactly(there_and_back + at.hold),
        Load::Heavy => Span::between(at.hold, f64::INFINITY),
    }
}

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "never-heard-of-again",
        what: "a node that was passed over as down is not asked again after it restarts",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[2, 1]).crashing(1, 1),
    },
    Flaw {
        name: "clock-forgotten",
        what: "a restarted node counts from 0, and asks with a time before those that it has \
               replied to",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]).crashing(1, 1),
    },
    Flaw {
        name: "put-off-for-ever",
        what: "a node whose reply was deferred waits, and does not probe whether the other is \
               still up",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]).crashing(1, 0),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    type Node = RicartAgrawalaProbing;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<Node> = Effect::Notify(Notice::Entered);

    fn node(me: u32, nodes: u32) -> Node {
        Node::of(NodeId(me), &Setup::new(Group::of(nodes)))
    }
    fn send(to: u32, message: Message) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message }
    }
    fn sends(fx: &mut Outbox<Node>) -> Vec<Effect<Node>> {
        let is_said = |effect: &Effect<Node>| match effect {
            Effect::Send { .. } | Effect::Notify(_) => true,
            Effect::SetTimer { .. } | Effect::CancelTimer(_) => false,
        };
        fx.take().into_iter().filter(is_said).collect()
    }

    #[test]
    fn every_request_is_answered_at_once() {
        let (mut node, mut fx) = (node(0, 2), Outbox::default());
        node.on_message(NodeId(1), Message::Request(1), &mut fx);
        assert_eq!(sends(&mut fx), [send(1, Message::Reply(1))]);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), Message::Reply(2), &mut fx);
        assert_eq!(sends(&mut fx), [send(1, Message::Request(2)), ENTERED]);
        node.on_message(NodeId(1), Message::Request(3), &mut fx);
        assert_eq!(sends(&mut fx), [send(1, Message::Deferred(3))]);
        node.on_message(NodeId(1), Message::Probe(3), &mut fx);
        assert_eq!(sends(&mut fx), [send(1, Message::ProbeOk(3))]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(sends(&mut fx), [send(1, Message::Reply(3))]);
        node.on_message(NodeId(1), Message::Probe(3), &mut fx);
        assert_eq!(sends(&mut fx), [send(1, Message::Reply(3))], "the first may have been lost");
    }

    #[test]
    fn whoever_does_not_answer_twice_is_down_until_it_is_heard_of() {
        let (mut node, mut fx) = (node(0, 3), Outbox::default());
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), Message::Reply(1), &mut fx);
        sends(&mut fx);
        node.on_timer(Timer::Answer(NodeId(2)), &mut fx);
        assert_eq!(sends(&mut fx), [send(2, Message::Request(1))]);
        node.on_timer(Timer::Answer(NodeId(2)), &mut fx);
        assert_eq!(sends(&mut fx), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(sends(&mut fx), [send(1, Message::Request(2))], "2 is not asked");
        node.on_message(NodeId(2), Message::Request(1), &mut fx);
        let both = [send(2, Message::Request(2)), send(2, Message::Reply(1))];
        assert_eq!(sends(&mut fx), both, "it is up, and older");
        node.on_message(NodeId(1), Message::Reply(2), &mut fx);
        assert_eq!(sends(&mut fx), [], "2 has to reply as well");
    }

    #[test]
    fn whoever_asks_while_its_answer_is_missing_is_given_time_to_answer() {
        let (mut node, mut fx) = (node(1, 2), Outbox::default());
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_timer(Timer::Answer(NodeId(0)), &mut fx);
        sends(&mut fx);
        // It has come up again, and knows nothing of the request.
        node.on_message(NodeId(0), Message::Request(1), &mut fx);
        assert_eq!(sends(&mut fx), [send(0, Message::Reply(1))]);
        node.on_timer(Timer::Answer(NodeId(0)), &mut fx);
        assert_eq!(sends(&mut fx), [send(0, Message::Request(1))], "and not: it is down");
    }

    #[test]
    fn the_clock_survives_a_crash_and_nothing_else_does() {
        let (mut old, mut fx) = (node(0, 2), Outbox::default());
        old.on_message(NodeId(1), Message::Request(9), &mut fx);
        old.on_command(ACQUIRE, &mut fx).unwrap();
        let mut new = old.after_crash(node(0, 2));
        fx.take();
        new.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(sends(&mut fx), [send(1, Message::Request(11))]);
    }

    #[test]
    fn answers_to_other_requests_are_nothing() {
        let (mut node, mut fx) = (node(0, 2), Outbox::default());
        node.on_command(ACQUIRE, &mut fx).unwrap();
        let waiting = node.clone();
        fx.take();
        for stale in [Message::Reply(7), Message::Deferred(0), Message::ProbeOk(2)] {
            node.on_message(NodeId(1), stale, &mut fx);
            assert_eq!((&node, fx.take()), (&waiting, alloc::vec![]));
        }
    }
}
