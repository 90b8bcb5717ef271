//! Ring election with lists: the textbook variant (Andrew S. Tanenbaum, "Distributed Operating
//! Systems", 1995, §3.3.2) of Ernest Chang and Rosemary Roberts, "An improved algorithm for
//! decentralized extrema-finding in circular configurations of processes", CACM 22(5), 1979.
//!
//! The nodes stand on a ring, and each knows the order. A node that believes that there is no
//! leader sends a list with itself in it to the next; every node adds itself and passes the list
//! on, skipping crashed ones. A node that finds itself in the list knows that it has come round:
//! the highest in it leads, and the list goes round once more to tell all.
//!
//! **Use it** where nodes stand on a ring, may crash, and know the order: a call takes two rounds,
//! whoever makes it.
//!
//! ```text
//!   0  ──ELECTION[0]──┐                ┌─►COORDINATOR[2,1,0]─┐                  ┌─►(stop)
//!                     ▼                │                     ▼                  │
//!   1              ELECTION[1,0]──┐    │                  [ 2 leads ]──┐        │
//!                                 ▼    │                               ▼        │
//!   2               ELECTION[2,1,0]─┬──┘                           [ 2 leads ]──┤
//!                                   │ not acknowledged                          │
//!   3  (down)                       ▼                                           ▼
//! ```
//!
//! | M of N nodes are up, one node asks | cost |
//! | --- | --- |
//! | messages | 2N + 2M: M ELECTION, M COORDINATOR, 2M ACK, and 2(N − M) to the dead |
//! | messages as in textbooks | 2M: M ELECTION and M COORDINATOR |
//! | duration | (2M − 1)T, and a time-out of 2T whenever one that is down is passed |
//!
//! Each of several that ask costs the same. The textbooks let a node see whether the next one is
//! up, and so count no message to the dead and no acknowledgement. Here it sees that by the
//! acknowledgement, and waits for as long as one takes.
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled.
//! Nodes may crash and come up again.
//!
//! **Why there is one leader.** A time-out of two messages is never early, so only crashed nodes
//! are left out. All lists that come round while no node crashes or restarts hold the same nodes.
//! Links that are late break it: a node that believes all others to be down leads itself (`vorrang
//! check ring-election --asynchronous`).
//!
//! **Why all follow the same.** A node sends its next message only when the one before it has been
//! acknowledged, so no message overtakes another on its way round, also on links that reorder: of
//! two results, all hear the later one last. A restarted node calls for an election; so does one
//! that is higher than a result that it hears, and drops that result.
//!
//! **Why everyone is told.** A list is lost only if its last sender crashes before it has been
//! delivered. Every node that has passed on a list waits for a result, and calls itself if there is
//! none. If the leader is found to be down when the result reaches it, the result goes no further
//! and the node that found out calls again. If the one at which the round would end is down, it
//! ends before it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Message as _, NodeId, NodeState, Protocol, Refused, StateValue,
};

use super::card::{COUNTED, Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, Terms};
use super::{Command, Notice};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};
use crate::topology::ring::RingPosition;

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Those that this has come by, the last of them first.
    Election(Vec<NodeId>),
    /// The highest of these leads.
    Coordinator {
        /// All that the election came by.
        list: Vec<NodeId>,
        /// The node that found itself in the list: there the round ends.
        converter: NodeId,
    },
    /// Your message has come.
    Ack,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["ELECTION", "COORDINATOR", "ACK"];

    fn kind(&self) -> usize {
        match self {
            Self::Election(_) => 0,
            Self::Coordinator { .. } => 1,
            Self::Ack => 2,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        let list = match self {
            Self::Election(list) | Self::Coordinator { list, .. } => list,
            Self::Ack => return Ok(()),
        };
        let mut before = "[";
        for id in list {
            write!(f, "{before}{id}")?;
            before = ",";
        }
        f.write_str("]")
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// That what it has sent is acknowledged.
    Ack,
    /// The result of an election that it has passed on.
    Result,
}

/// How long a node waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timeouts {
    ack: Delay,
    pub(super) result: Delay,
}

impl Timeouts {
    /// An acknowledgement takes two messages. In that time, or in a time-out, a message gets one
    /// place further and makes room for the next. A result takes two rounds, and each of the two
    /// messages of every node's election may stand before it at the node that takes longest.
    pub(super) fn new(nodes: u32, within: Duration, late: Duration) -> Self {
        let round_trip = within.saturating_mul(2);
        let ack = Delay::between(round_trip, round_trip.saturating_add(late));
        let places = nodes.saturating_mul(nodes.saturating_add(1)).saturating_mul(2);
        let result = ack.max.saturating_mul(places);
        Self { ack, result: Delay::between(result, result.saturating_add(late)) }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RingElection {
    position: RingPosition,
    patience: Timeouts,
    /// Messages to pass on. The first is in flight.
    outbox: VecDeque<Message>,
    /// How many nodes have not acknowledged the first.
    skipped: usize,
    /// It has passed on an election and not heard of a result since.
    awaits: bool,
}

impl RingElection {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            position: RingPosition::of(me, setup.ring.order(setup.group)),
            patience: Timeouts::new(setup.group.size(), setup.within, setup.late),
            outbox: VecDeque::new(),
            skipped: 0,
            awaits: false,
        }
    }

    fn call(&mut self, fx: &mut impl Effects<Self>) {
        if !self.awaits {
            self.add_me(Vec::new(), fx);
        }
    }

    fn add_me(&mut self, mut list: Vec<NodeId>, fx: &mut impl Effects<Self>) {
        self.awaits = true;
        fx.set_timer(Timer::Result, self.patience.result);
        list.insert(0, self.position.me());
        self.pass_on(Message::Election(list), fx);
    }

    fn pass_on(&mut self, message: Message, fx: &mut impl Effects<Self>) {
        self.outbox.push_back(message);
        if self.outbox.len() == 1 {
            self.send_first(fx);
        }
    }

    /// Sends the first that is to be passed on to the next that may be up. Where all others are
    /// down, it has come round.
    fn send_first(&mut self, fx: &mut impl Effects<Self>) {
        let next = self.position.after(self.skipped + 1);
        let Some(message) = self.outbox.front() else { return };
        if next != self.position.me() {
            fx.send(next, message.clone());
            fx.set_timer(Timer::Ack, self.patience.ack);
        } else if let Some(Message::Election(list)) = self.take_first(fx) {
            self.convert(list, fx);
        }
    }

    /// The first has been passed on, and the next is sent.
    fn take_first(&mut self, fx: &mut impl Effects<Self>) -> Option<Message> {
        self.skipped = 0;
        let first = self.outbox.pop_front();
        self.send_first(fx);
        first
    }

    /// A list has come round.
    fn convert(&mut self, list: Vec<NodeId>, fx: &mut impl Effects<Self>) {
        self.follow(highest(&list), fx);
        let converter = self.position.me();
        self.pass_on(Message::Coordinator { list, converter }, fx);
    }

    pub(super) fn follow(&mut self, leader: NodeId, fx: &mut impl Effects<Self>) {
        if self.awaits {
            self.awaits = false;
            fx.cancel_timer(Timer::Result);
        }
        fx.notify(Notice::Leader(leader));
    }

    /// The node that the first was sent to is down.
    fn skip(&mut self, fx: &mut impl Effects<Self>) {
        let down = self.position.after(self.skipped + 1);
        match self.outbox.front() {
            Some(Message::Coordinator { list, .. }) if highest(list) == down => {
                self.take_first(fx);
                self.call(fx);
            }
            Some(Message::Coordinator { converter, .. }) if *converter == down => {
                self.take_first(fx);
            }
            Some(_) | None => {
                self.skipped += 1;
                self.send_first(fx);
            }
        }
    }

    fn on_ack(&mut self, from: NodeId, fx: &mut impl Effects<Self>) {
        if from == self.position.after(self.skipped + 1) && !self.outbox.is_empty() {
            fx.cancel_timer(Timer::Ack);
            self.take_first(fx);
        }
    }

    fn on_election(&mut self, list: Vec<NodeId>, fx: &mut impl Effects<Self>) {
        if list.contains(&self.position.me()) {
            self.convert(list, fx);
        } else {
            self.add_me(list, fx);
        }
    }

    fn on_coordinator(
        &mut self,
        list: Vec<NodeId>,
        converter: NodeId,
        fx: &mut impl Effects<Self>,
    ) {
        let leader = highest(&list);
        if leader < self.position.me() {
            self.call(fx);
        } else if converter != self.position.me() {
            self.follow(leader, fx);
            self.pass_on(Message::Coordinator { list, converter }, fx);
        }
    }
}

/// The leader according to a list.
pub(super) fn highest(list: &[NodeId]) -> NodeId {
    list.iter().copied().max().unwrap_or_default()
}

impl Protocol for RingElection {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.call(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Ack => self.on_ack(from, fx),
            Message::Election(list) => {
                fx.send(from, Message::Ack);
                self.on_election(list, fx);
            }
            Message::Coordinator { list, converter } => {
                fx.send(from, Message::Ack);
                self.on_coordinator(list, converter, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Ack => self.skip(fx),
            Timer::Result => {
                self.awaits = false;
                self.call(fx);
            }
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.call(fx);
    }

    fn state(&self) -> NodeState {
        let outbox = self.outbox.iter().map(|message| StateValue::shown(message));
        NodeState::new()
            .with("awaits result", self.awaits)
            .with("to pass on", StateValue::list(outbox))
            .with("skipped", self.skipped)
    }

    /// There is nothing that it keeps over a crash.
    fn without_memory(self, _: u64) -> Option<Self> {
        Some(self)
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "ring-election",
    title: "Ring election",
    solves: "election",
    citation: "Tanenbaum, 1995, §3.3.2; after Chang and Roberts, CACM 22(5), 1979",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Late, Parameter::Ring],
    terms: Terms { receipts: &["ACK"], sees_crashes: true, ..Terms::PLAIN },
    theory: &[COUNTED.costs(counted), MESSAGES.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("ring_election.rs"),
};

/// In each of two rounds, all live nodes are sent to. One that is alone finds nobody to send to.
pub(super) fn counted(at: &Setting) -> Span {
    let round = if at.alive() > 1 { f64::from(at.alive()) } else { 0.0 };
    Span::exactly(at.initiators.len() as f64 * 2.0 * round)
}

/// In each of two rounds, all nodes but the one that begins it are sent to, those that are down in
/// vain, and the round ends where it began. The live ones acknowledge.
fn messages(at: &Setting) -> Span {
    let nodes = f64::from(at.nodes());
    let round = if at.alive() > 1 { nodes } else { nodes - 1.0 };
    Span::exactly(at.initiators.len() as f64 * 2.0 * round + counted(at).low)
}

/// A single caller gets its own list back after a round, with a time-out for every crashed node;
/// the last step of the second round informs no new node. Where several call, each takes no less,
/// and no longer than the sum of time-outs.
pub(super) fn duration(at: &Setting) -> Span {
    let order = at.setup.ring.order(at.setup.group);
    let (alive, dead) = (at.alive(), at.dead.len() as f64);
    let alone = |caller: NodeId| {
        let before = order.iter().rev().cycle().skip_while(|&&id| id != caller).skip(1);
        let passed_last = before.take_while(|&&id| !at.is_up(id)).count() as f64;
        match alive {
            ..=1 => (0.0, dead),
            _ => (2.0 * f64::from(alive) - 1.0, 2.0 * dead - passed_last),
        }
    };
    let time = |(hops, passed): (f64, f64), time_out: f64| hops + passed * time_out;
    let (least, most) = (2.0, 2.0 + at.in_units(at.setup.late));
    if let [caller] = at.initiators[..] {
        return Span::between(time(alone(caller), least), time(alone(caller), most));
    }
    let Timeouts { result, .. } = Timeouts::new(at.nodes(), at.setup.within, at.setup.late);
    let each = at.initiators.iter().map(|&caller| time(alone(caller), least));
    Span::between(each.fold(0.0, f64::max), at.in_units(result.min))
}

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "result-not-spread",
        what: "a node that receives the result does not forward it: all beyond it never hear of it",
        breaks: "agreement",
        shown_by: Demonstration::of(3, &[0]),
    },
    Flaw {
        name: "dead-not-skipped",
        what: "a node whose message is not acknowledged waits on: a list sent to a crashed node \
               gets no further",
        breaks: "termination",
        shown_by: Demonstration::of(2, &[0]).crashing(1, 0),
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use alloc::vec;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::topology::ring::Ring;

    fn node(me: u32, nodes: u32) -> RingElection {
        RingElection::of(NodeId(me), &Setup::new(Group::of(nodes)))
    }

    fn ids(list: &[u32]) -> Vec<NodeId> {
        list.iter().copied().map(NodeId).collect()
    }

    fn effects(
        node: &mut RingElection,
        step: impl FnOnce(&mut RingElection, &mut Outbox<RingElection>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        step(node, &mut fx);
        let shown = |effect: &Effect<RingElection>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, .. } => format!("set {timer:?}"),
            Effect::CancelTimer(timer) => format!("cancel {timer:?}"),
            Effect::Notify(notice) => notice.to_string(),
        };
        fx.take().iter().map(shown).collect()
    }

    fn calls(node: &mut RingElection) -> Vec<String> {
        effects(node, |node, fx| node.on_command(Command::Elect, fx).unwrap())
    }

    fn hears(node: &mut RingElection, from: u32, message: Message) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    fn waits_in_vain(node: &mut RingElection) -> Vec<String> {
        effects(node, |node, fx| node.on_timer(Timer::Ack, fx))
    }

    fn result(list: &[u32], converter: u32) -> Message {
        Message::Coordinator { list: ids(list), converter: NodeId(converter) }
    }

    #[test]
    fn everyone_adds_itself_and_passes_the_list_on() {
        let mut first = node(0, 4);
        assert_eq!(calls(&mut first), ["set Result", "1 ELECTION[0]", "set Ack"]);
        assert_eq!(calls(&mut first), [""; 0], "it will be told");
        let passed = hears(&mut node(1, 4), 0, Message::Election(ids(&[0])));
        assert_eq!(passed, ["0 ACK", "set Result", "2 ELECTION[1,0]", "set Ack"]);
    }

    #[test]
    fn a_list_that_has_come_round_becomes_the_result() {
        let mut first = node(0, 3);
        calls(&mut first);
        hears(&mut first, 1, Message::Ack);
        let told = hears(&mut first, 2, Message::Election(ids(&[2, 1, 0])));
        assert_eq!(
            told,
            ["2 ACK", "cancel Result", "node 2 leads", "1 COORDINATOR[2,1,0]", "set Ack"]
        );
        let passed = hears(&mut node(1, 3), 0, result(&[2, 1, 0], 0));
        assert_eq!(passed, ["0 ACK", "node 2 leads", "2 COORDINATOR[2,1,0]", "set Ack"]);
        hears(&mut first, 1, Message::Ack);
        assert_eq!(hears(&mut first, 2, result(&[2, 1, 0], 0)), ["2 ACK"], "there it ends");
    }

    #[test]
    fn a_message_waits_for_the_one_before_it() {
        let mut first = node(0, 3);
        calls(&mut first);
        let queued = hears(&mut first, 2, Message::Election(ids(&[2])));
        assert_eq!(queued, ["2 ACK", "set Result"]);
        assert_eq!(hears(&mut first, 2, Message::Ack), [""; 0], "nothing was sent there");
        let next = hears(&mut first, 1, Message::Ack);
        assert_eq!(next, ["cancel Ack", "1 ELECTION[0,2]", "set Ack"]);
    }

    #[test]
    fn whoever_does_not_acknowledge_is_skipped_each_time() {
        let mut first = node(0, 4);
        calls(&mut first);
        assert_eq!(waits_in_vain(&mut first), ["2 ELECTION[0]", "set Ack"]);
        assert_eq!(hears(&mut first, 1, Message::Ack), [""; 0], "too late");
        hears(&mut first, 2, Message::Ack);
        let told = hears(&mut first, 3, Message::Election(ids(&[3, 2, 0])));
        assert!(told.contains(&"1 COORDINATOR[3,2,0]".to_string()), "it may be up again: {told:?}");
    }

    #[test]
    fn whoever_is_left_alone_leads() {
        let mut alone = node(0, 3);
        calls(&mut alone);
        assert_eq!(waits_in_vain(&mut alone), ["2 ELECTION[0]", "set Ack"]);
        let led = waits_in_vain(&mut alone);
        assert_eq!(led, ["cancel Result", "node 0 leads", "1 COORDINATOR[0]", "set Ack"]);
        waits_in_vain(&mut alone);
        assert_eq!(waits_in_vain(&mut alone), [""; 0], "there is nobody to tell");
        assert_eq!(alone, node(0, 3), "and nothing left to do");
        let only = calls(&mut node(0, 1));
        assert_eq!(only, ["set Result", "cancel Result", "node 0 leads"]);
    }

    #[test]
    fn a_leader_that_is_down_when_it_is_to_be_told_is_not_announced_further() {
        let mut last = node(1, 3);
        hears(&mut last, 0, result(&[2, 1, 0], 0));
        let again = waits_in_vain(&mut last);
        assert_eq!(again, ["set Result", "2 ELECTION[1]", "set Ack"]);
    }

    #[test]
    fn a_round_whose_end_is_down_ends_before_it() {
        let mut last = node(2, 3);
        hears(&mut last, 1, result(&[2, 1, 0], 0));
        assert_eq!(waits_in_vain(&mut last), [""; 0]);
    }

    #[test]
    fn whoever_is_higher_than_a_result_calls_and_passes_nothing_on() {
        let mut higher = node(2, 3);
        let calls = hears(&mut higher, 1, result(&[1, 0], 0));
        assert_eq!(calls, ["1 ACK", "set Result", "0 ELECTION[2]", "set Ack"]);
        assert_eq!(hears(&mut higher, 1, result(&[1, 0], 0)), ["1 ACK"], "it has called");
    }

    #[test]
    fn whoever_hears_of_no_result_or_comes_up_again_calls() {
        let mut first = node(0, 3);
        calls(&mut first);
        let again = effects(&mut first, |node, fx| node.on_timer(Timer::Result, fx));
        assert_eq!(again, ["set Result"], "behind what is under way");
        let up = effects(&mut node(0, 3), Protocol::on_restart);
        assert_eq!(up, ["set Result", "1 ELECTION[0]", "set Ack"]);
    }

    fn at(nodes: u32, initiators: &[u32], dead: &[u32]) -> Setting {
        Setting {
            setup: Setup::new(Group::of(nodes)),
            initiators: ids(initiators),
            dead: ids(dead).into_iter().collect(),
            lockstep: true,
        }
    }

    #[test]
    fn counts_are_those_of_the_literature_and_those_to_the_dead() {
        let of = |it: &Setting| (counted(it).low as u32, messages(it).low as u32);
        assert_eq!(of(&at(7, &[3], &[6])), (12, 2 * (7 - 1) + 2 + 12), "with acknowledgements");
        assert_eq!(of(&at(7, &[3, 0], &[6])), (24, 2 * 26));
        assert_eq!(of(&at(5, &[0], &[])), (10, 20));
        assert_eq!((of(&at(1, &[0], &[])), of(&at(3, &[1], &[0, 2]))), ((0, 0), (0, 4)));
    }

    #[test]
    fn whoever_is_down_costs_a_time_out_a_round_unless_it_is_passed_last() {
        let of = |setting: &Setting| duration(setting).low as u32;
        assert_eq!(of(&at(4, &[0], &[])), 7);
        assert_eq!(of(&at(4, &[0], &[1])), 5 + 2 * 2);
        assert_eq!(of(&at(4, &[0], &[3])), 5 + 2);
        assert_eq!(of(&at(4, &[2], &[0, 1, 3])), 6);
        let mut turned = at(4, &[0], &[3]);
        turned.setup.ring = Ring::Given(vec![NodeId(0), NodeId(3), NodeId(2), NodeId(1)].into());
        turned.setup.late = Duration::from_millis(1);
        assert_eq!(duration(&turned), Span::between(9.0, 11.0));
        let both = duration(&at(4, &[0, 1], &[3]));
        assert_eq!((both.low, both.high), (9.0, 80.0), "node 1 passes the dead one twice");
    }
}
