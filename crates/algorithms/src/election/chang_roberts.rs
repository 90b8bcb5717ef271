//! Chang and Roberts: Ernest Chang and Rosemary Roberts, "An improved algorithm for decentralized
//! extrema-finding in circular configurations of processes", CACM 22(5), 1979.
//!
//! The nodes stand on a ring, and each knows only the next. A node that believes that there is no
//! leader sends its number round. A node passes a higher number on and drops a lower one; if it had
//! not taken part before, it sends its own number instead. Only the highest comes back to where it
//! came from: that node leads, and tells all others once round.
//!
//! **Use it** where nodes stand on a ring, know only the next, and do not crash.
//!
//! ```text
//!   0  ──ELECTION(0)──┐                  ┌─►ELECTION(2)─┐                ┌─►ELECTED(2)─┐
//!                     ▼                  │              ▼                │             ▼
//!   1               ELECTION(1)──┐       │         ELECTION(2)──┐        │        [ 2 leads ]
//!                                ▼       │                      ▼        │
//!   2                          ELECTION(2)                 [ 2 leads ]──ELECTED(2)
//! ```
//!
//! | N nodes | one calls | all call |
//! | --- | --- | --- |
//! | messages | 2N and its distance to the highest | from 3N − 1 to N(N + 3)/2 |
//! | duration | (2N − 1)T and as much more | (2N − 1)T |
//!
//! If all call it depends on the ring: least if each stands before the next higher one (`--ring
//! ascending`), most if behind it (`descending`), and N·H(N) + N on average over all orders.
//! H(N) = 1 + 1/2 + … + 1/N: on a ring in a drawn order (`--ring random`) the number of a node that
//! has k − 1 higher ones comes N/k places far on average.
//!
//! **Assumes** that messages from one node to the next arrive, once, as they were sent, and that no
//! node crashes: a broken ring elects no leader.
//!
//! **Why there is one leader.** A number that comes back has passed all others, and none of them
//! was higher. **Why everyone is told.** The highest number is dropped by no node, and it is sent:
//! if not before, when the first lower one comes by.
//!
//! **Where we depart from the paper.** There, nodes that have not called pass on all numbers, so
//! that the highest caller wins; and the others do not learn the winner. That a node sends its own
//! number instead, so that the highest node wins, and the last round, are the textbooks'
//! (Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems", 2012, §15.3). With them, order
//! matters: a number that overtakes the result of the election before is dropped by a node that
//! still takes part in that one (`vorrang check chang-roberts --initiators 0,2 --order any`).

use alloc::collections::BTreeSet;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Message as _, Never, NodeId, NodeState, Protocol, Refused};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, Terms};
use super::{Command, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::setup::{Parameter, Setup};

/// The messages to the next node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// No node that this has passed is higher.
    Election(NodeId),
    /// This one leads.
    Elected(NodeId),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["ELECTION", "ELECTED"];

    fn kind(&self) -> usize {
        match self {
            Self::Election(_) => 0,
            Self::Elected(_) => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Election(id) | Self::Elected(id)) = self;
        write!(f, "{}({id})", self.kind_name())
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ChangRoberts {
    pub(super) me: NodeId,
    pub(super) next: NodeId,
    /// It has sent its own number or passed on a higher one, and has not heard since who leads.
    takes_part: bool,
}

impl ChangRoberts {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let order = setup.ring.order(setup.group);
        let mut from_me = order.iter().copied().cycle().skip_while(|&id| id != me).skip(1);
        Self { me, next: from_me.next().unwrap_or(me), takes_part: false }
    }

    fn call(&mut self, fx: &mut impl Effects<Self>) {
        if self.takes_part {
            return;
        }
        if self.next == self.me {
            return fx.notify(Notice::Leader(self.me));
        }
        self.takes_part = true;
        fx.send(self.next, Message::Election(self.me));
    }

    fn on_election(&mut self, id: NodeId, fx: &mut impl Effects<Self>) {
        match id.cmp(&self.me) {
            Ordering::Less => self.call(fx),
            Ordering::Greater => {
                self.takes_part = true;
                fx.send(self.next, Message::Election(id));
            }
            Ordering::Equal => {
                self.takes_part = false;
                fx.send(self.next, Message::Elected(id));
                fx.notify(Notice::Leader(id));
            }
        }
    }
}

impl Protocol for ChangRoberts {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.call(fx);
        Ok(())
    }

    fn on_message(&mut self, _: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(id) => self.on_election(id, fx),
            Message::Elected(id) if id == self.me => {}
            Message::Elected(id) => {
                self.takes_part = false;
                fx.send(self.next, Message::Elected(id));
                fx.notify(Notice::Leader(id));
            }
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.call(fx);
    }

    fn state(&self) -> NodeState {
        NodeState::new().with("participant", self.takes_part).with("next", self.next)
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "chang-roberts",
    title: "Chang–Roberts",
    solves: "election",
    citation: "Chang and Roberts, CACM 22(5), 1979",
    assumes: Assumes::FIFO.on(Layout::Ring),
    takes: &[Parameter::Ring],
    terms: Terms { crashes: false, ..Terms::PLAIN },
    theory: &[MESSAGES.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("chang_roberts.rs"),
};

/// How many places it is from a node to the next that is higher, all the way round from the
/// highest; and who that is.
fn to_next_higher(at: &Setting, from: NodeId) -> (f64, NodeId) {
    let order = at.setup.ring.order(at.setup.group);
    let behind = order.iter().copied().cycle().skip_while(|&id| id != from).skip(1);
    let (mut places, mut next) = (0.0, from);
    for id in behind.take(order.len()) {
        (places, next) = (places + 1.0, id);
        if id > from {
            break;
        }
    }
    (places, next)
}

/// A number gets as far as the next higher node, and the highest all the way round; then comes the
/// result. That higher node sends its own number as well if it has not called, unless a higher one
/// has come by before.
fn messages(at: &Setting) -> Span {
    let nodes = at.nodes();
    if nodes == 1 {
        return Span::exactly(0.0);
    }
    let highest = NodeId(nodes - 1);
    let places = |sent: &BTreeSet<NodeId>| -> f64 {
        sent.iter().map(|&id| to_next_higher(at, id).0).sum::<f64>() + f64::from(nodes)
    };
    let mut least: BTreeSet<NodeId> = at.initiators.iter().copied().collect();
    let mut most = least.clone();
    least.insert(highest);
    for &caller in &at.initiators {
        let mut id = caller;
        while id < highest {
            (_, id) = to_next_higher(at, id);
            if !most.insert(id) {
                break;
            }
        }
    }
    // With one caller, no other number is on the ring.
    let least = if at.initiators.len() == 1 { &most } else { &least };
    Span::between(places(least), places(&most))
}

/// The first number reaches the highest node from the nearest caller before it; its own number goes
/// round, and then the result, but for the last step.
fn duration(at: &Setting) -> Span {
    let nodes = at.nodes();
    if nodes == 1 {
        return Span::exactly(0.0);
    }
    let order = at.setup.ring.order(at.setup.group);
    let before = order.iter().rev().skip_while(|id| id.0 < nodes - 1);
    let all = before.chain(order.iter().rev());
    let nearest = all.take_while(|id| !at.initiators.contains(id)).count();
    Span::exactly(nearest as f64 + 2.0 * f64::from(nodes) - 1.0)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "lower-ones-pass",
    what: "a lower number is passed on like a higher one: every caller's comes back to it",
    breaks: "legitimacy",
    shown_by: Demonstration::of(2, &[0]),
}];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::topology::ring::Ring;

    fn node(me: u32) -> ChangRoberts {
        ChangRoberts::of(NodeId(me), &Setup::new(Group::of(4)))
    }

    fn effects(
        node: &mut ChangRoberts,
        step: impl FnOnce(&mut ChangRoberts, &mut Outbox<ChangRoberts>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        step(node, &mut fx);
        let shown = |effect: &Effect<ChangRoberts>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::Notify(notice) => notice.to_string(),
            Effect::SetTimer { .. } | Effect::CancelTimer(_) => unreachable!("it has no timers"),
        };
        fx.take().iter().map(shown).collect()
    }

    fn hears(node: &mut ChangRoberts, message: Message) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(3), message, fx))
    }

    #[test]
    fn higher_numbers_pass_and_lower_ones_do_not() {
        let mut second = node(1);
        assert_eq!(hears(&mut second, Message::Election(NodeId(0))), ["2 ELECTION(1)"]);
        assert_eq!(hears(&mut second, Message::Election(NodeId(0))), [""; 0], "once is enough");
        assert_eq!(hears(&mut second, Message::Election(NodeId(3))), ["2 ELECTION(3)"]);
        let mut passed = node(1);
        hears(&mut passed, Message::Election(NodeId(2)));
        assert_eq!(hears(&mut passed, Message::Election(NodeId(0))), [""; 0], "2 is ahead");
    }

    #[test]
    fn whose_number_comes_back_leads_and_tells_all() {
        let mut last = node(3);
        let called = effects(&mut last, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        assert_eq!(called, ["0 ELECTION(3)"]);
        let again = effects(&mut last, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        assert_eq!(again, [""; 0], "it is under way");
        let led = hears(&mut last, Message::Election(NodeId(3)));
        assert_eq!(led, ["0 ELECTED(3)", "node 3 leads"]);
        assert_eq!(
            hears(&mut node(0), Message::Elected(NodeId(3))),
            ["1 ELECTED(3)", "node 3 leads"]
        );
        assert_eq!(hears(&mut last, Message::Elected(NodeId(3))), [""; 0], "all know");
        assert_eq!(last, node(3), "the next election begins as the first did");
    }

    #[test]
    fn whoever_is_alone_leads() {
        let mut alone = ChangRoberts::of(NodeId(0), &Setup::new(Group::of(1)));
        let led = effects(&mut alone, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        assert_eq!(led, ["node 0 leads"]);
    }

    fn at(nodes: u32, initiators: &[u32], ring: Ring) -> Setting {
        let setup = Setup { ring, ..Setup::new(Group::of(nodes)) };
        let initiators = initiators.iter().copied().map(NodeId).collect();
        Setting { setup, initiators, dead: [].into_iter().collect(), lockstep: true }
    }

    fn exactly(setting: &Setting) -> u32 {
        let span = messages(setting);
        assert!(span.high - span.low < 0.5, "{setting:?}: {span:?}");
        span.low as u32
    }

    #[test]
    fn counts_are_those_of_the_literature() {
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(exactly(&at(8, &all, Ring::Ascending)), 3 * 8 - 1);
        assert_eq!(exactly(&at(8, &all, Ring::Descending)), 8 * 11 / 2);
        assert_eq!(exactly(&at(8, &[7], Ring::Ascending)), 16);
        assert_eq!(exactly(&at(8, &[0], Ring::Ascending)), 3 * 8 - 1);
        assert_eq!(exactly(&at(8, &[0], Ring::Descending)), 17, "the highest is next");
        assert_eq!(exactly(&at(1, &[0], Ring::Ascending)), 0);
        // 2 swallows 0 or 1, whoever is first; before that, 1 may have sent its own number or not.
        let between = messages(&at(3, &[0, 2], Ring::Ascending));
        assert_eq!((between.low, between.high), (7.0, 8.0));
    }

    #[test]
    fn over_all_orders_of_the_ring_the_mean_is_n_times_the_harmonic_number() {
        let all: Vec<u32> = (0..5).collect();
        let (mut sum, mut orders) = (0, 0);
        for code in 0..5_u32.pow(5) {
            let order: Vec<u32> = (0..5).map(|place| code / 5_u32.pow(place) % 5).collect();
            if all.iter().all(|id| order.contains(id)) {
                let given = order.into_iter().map(NodeId).collect::<Vec<_>>();
                sum += exactly(&at(5, &all, Ring::Given(given.into())));
                orders += 1;
            }
        }
        // 5 (1 + 1/2 + 1/3 + 1/4 + 1/5) = 137/12, and 5 that tell the result.
        assert_eq!((orders, sum), (120, 120 * 137 / 12 + 120 * 5));
    }

    #[test]
    fn the_nearest_caller_before_the_highest_decides_how_long_it_takes() {
        let of = |initiators: &[u32], ring| duration(&at(8, initiators, ring)).low as u32;
        assert_eq!(of(&[7], Ring::Ascending), 15);
        assert_eq!(of(&[0, 7], Ring::Ascending), 15);
        assert_eq!(of(&[0, 5], Ring::Ascending), 15 + 2);
        assert_eq!(of(&[0], Ring::Ascending), 15 + 7);
        assert_eq!(of(&[6], Ring::Descending), 15 + 7);
        assert_eq!(of(&[0], Ring::Descending), 15 + 1);
    }
}
