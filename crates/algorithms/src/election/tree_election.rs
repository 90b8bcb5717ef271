//! Tree election: how a `FireWire` bus finds its root. IEEE Standard 1394-1995, "tree identify"; as
//! a protocol to be verified, Marco Devillers, David Griffioen, Judi Romijn and Frits Vaandrager,
//! "Verification of a leader election protocol: formal methods applied to IEEE 1394", Formal
//! Methods in System Design 16(3), 2000.
//!
//! The nodes form a tree, and each knows only its links. A node that has been asked on all links
//! but one to be the parent asks on that one, so leaves begin. A node that is asked on all links is
//! the root. Two nodes may ask each other: both take it back, toss a coin, wait for a short or a
//! long time, and ask again, unless they have been asked by then.
//!
//! **Use it** where links form a tree and any node may lead, as with devices on a `FireWire` bus.
//!
//! ```text
//!   0  ──BE_MY_PARENT─┐                                                 ┌─► [ 2 leads ]
//!                     ▼                                                 │
//!   1                [ asks 2 ]─BE_MY_PARENT─┬─(short)─BE_MY_PARENT─┐   └── [ 2 leads ]
//!                                            X contention           ▼          ▲
//!   2  ────────────────────────BE_MY_PARENT──┴─(long)──────────[ 2 leads ]─────┘
//!                                                                 YOU_ARE_MY_CHILD
//! ```
//!
//! | N nodes, diameter D | no contention | root contention |
//! | --- | --- | --- |
//! | messages | 2(N − 1) | 2 more a toss, two tosses on average; by number 1 more |
//! | duration | D·T, and D/2 − 1 times to gather | T more by number, else 3T more at least |
//!
//! A node that asks at once always meets one that does so, too: N nodes ask on N − 1 links. With a
//! time to gather (`--gather`) an inner node whose last link is silent waits to be asked. If all
//! messages take the same time, nobody contends where D is even, and two nodes do where it is odd.
//!
//! **Assumes** that messages arrive, once, in any order, that all nodes notice when an election
//! begins (a reset of the bus), and that no node crashes. Only coins need the bound on delays.
//!
//! **Why there is one leader.** The root has been asked on all its links. A node that asks has been
//! asked on all its other links; so on every path to the root each node asks towards it, and no
//! other node on it can have been asked on all links.
//!
//! **Why it ends.** It need not: coins may fall alike for ever (`vorrang check tree-election
//! --fair` shows a run). But each time they differ with probability one half, independent of the
//! past, so that it ends with probability one. The checker verifies that there is no state from
//! which it cannot end any more. With `--contention id` the higher of the two is the root, and no
//! coin is tossed.
//!
//! **Ports.** A node knows its links as ports, by numbers from 0, and nothing of what is behind
//! them. Its state says of every port whether a child is there, the parent, one that it asks or
//! contends with, or yet nobody knows.
//!
//! **Acknowledgements.** In the standard, a node that asks its last neighbour acknowledges its
//! children first: `YOU_ARE_MY_CHILD`, at once. They know their parent then, and not the root; of
//! that they hear in a later phase, the self-identification. `--acknowledge at-once` does so, and
//! `YOU_ARE_MY_CHILD` with the name of the root follows down the tree: N − 1 more messages. By
//! default children are acknowledged when the root is known, and one message says both.
//!
//! **How long to wait.** Two that contend notice it up to a message apart. So a short wait and two
//! messages must be over before a long wait: then the one that waits for longer is asked in time,
//! and different coins decide. By default short is 1 to 1¼ of the longest message delay, long 3¼
//! to 3½. The standard has fixed times (`--contention firewire`): 240 to 260 ns and 570 to 600 ns.
//! With a delay of d they decide if 260 ns + 2d ≤ 570 ns. (Lectures ask for 260 ns + d < 570 ns,
//! which suffices if both notice the contention at the same time.) On longer links different coins
//! may contend again, and do so until what they differ by adds up to more than a message takes.
//! IEEE 1394a-2000 has longer times for longer cables (`--contention firewire-a`).
//!
//! **Where we depart from the standard.** Signals are messages here, and one that is taken back has
//! been sent. A node that waits and is asked answers at once, and not when its time is over. Resets
//! are numbered, so that what was asked before one is not taken for an answer to it (`--flaw
//! stale-be-my-parent`). How a node notices a reset, and what happens when devices are plugged in
//! or unplugged, is left to the environment here; `bus-reset` adds both.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Graph, Invariant, Message as _, NodeId, NodeState, Protocol, Refused,
    Situation, StateValue,
};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Terms};
use super::{Command, Notice, tree_theory};
use crate::card::{Assumes, Layout};
use crate::recipe::Recipe;
use crate::setup::{Acknowledge, Contention, Parameter, Setup};
use crate::topology::Topology;

/// The messages over a link, each with the number of the reset that it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// I have no other that could be.
    BeMyParent(u32),
    /// To one that has asked: I am, and this is the root.
    YouAreMyChild(u32, NodeId),
    /// The same, and who the root is will be said later.
    Acknowledged(u32),
}

impl Message {
    /// The reset that it is about.
    pub(super) const fn reset(self) -> u32 {
        match self {
            Self::BeMyParent(reset) | Self::YouAreMyChild(reset, _) | Self::Acknowledged(reset) => {
                reset
            }
        }
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["BE_MY_PARENT", "YOU_ARE_MY_CHILD"];

    fn kind(&self) -> usize {
        match self {
            Self::BeMyParent(_) => 0,
            Self::YouAreMyChild(..) | Self::Acknowledged(_) => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        match self {
            Self::BeMyParent(reset) | Self::Acknowledged(reset) => write!(f, "({reset})"),
            Self::YouAreMyChild(reset, root) => write!(f, "({reset}, root {root})"),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// That its last neighbour asks it.
    Gather,
    /// That one which it has asked, and which has asked it, asks again.
    Contention,
}

/// How long a node waits, and for what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Delays {
    contention: Contention,
    acknowledge: Acknowledge,
    /// As the coin falls.
    waits: [Delay; 2],
    gather: Option<Delay>,
}

impl Delays {
    pub(super) fn of(setup: &Setup) -> Self {
        let quarters = |count| setup.within.saturating_mul(count) / 4;
        let wait = |from| Delay::between(quarters(from), quarters(from + 1));
        let fixed =
            |(min, max)| Delay::between(Duration::from_nanos(min), Duration::from_nanos(max));
        let waits = setup.contention.times_ns().map(|times| times.map(fixed));
        Self {
            contention: setup.contention,
            acknowledge: setup.acknowledge,
            waits: waits.unwrap_or([wait(4), wait(13)]),
            gather: (setup.gather > Duration::ZERO).then_some(Delay::exactly(setup.gather)),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TreeElection {
    me: NodeId,
    /// Its ports: who is at the other end of each.
    links: Arc<[NodeId]>,
    manners: Delays,
    /// How many resets it has noticed.
    pub(super) reset: u32,
    /// For every port the reset in which it was last asked to be the parent there; 0 if that was
    /// never, or both have taken it back.
    asked: Vec<u32>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Not enough have asked it.
    Listens,
    /// All but one have asked it.
    Gathers,
    /// It has asked this one.
    Asks(NodeId),
    /// This one is its parent, and the root is not known.
    Child(NodeId),
    /// It and this one have asked each other.
    Contends(NodeId),
    /// The root is known.
    Done,
}

/// The nodes of a set-up, if its topology is a tree.
pub fn recipe() -> Recipe<TreeElection> {
    Recipe::new(|setup| {
        let (tree, manners) = (setup.topology.tree(setup.group)?, Delays::of(setup));
        Ok(move |id: NodeId| TreeElection::new(id, &tree, manners))
    })
}

impl TreeElection {
    fn new(me: NodeId, tree: &Graph, manners: Delays) -> Self {
        Self::on_links(me, tree.neighbours(me).into(), manners, 0)
    }

    /// A node with these neighbours that has noticed so many resets.
    pub(super) fn on_links(me: NodeId, links: Arc<[NodeId]>, manners: Delays, reset: u32) -> Self {
        let asked = vec![0; links.len()];
        Self { me, links, manners, reset, asked, phase: Phase::Listens }
    }

    pub(super) const fn me(&self) -> NodeId {
        self.me
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.links.len() == 1
    }

    /// All but one have asked: then there is only one who could be the parent. If all have, there
    /// is none.
    fn look_around(&mut self, fx: &mut impl Effects<Self>) {
        let silent = |asked: &u32| *asked != self.reset;
        match self.asked.iter().filter(|it| silent(it)).count() {
            0 => self.be_root(fx),
            1 => {
                let place = self.asked.iter().position(silent).unwrap_or_default();
                match self.manners.gather.filter(|_| self.links.len() > 1) {
                    Some(delay) if self.phase == Phase::Listens => {
                        self.phase = Phase::Gathers;
                        fx.set_timer(Timer::Gather, delay);
                    }
                    Some(_) | None => {
                        let parent = self.links[place];
                        self.acknowledge(|child| child != parent, fx);
                        self.ask(parent, fx);
                    }
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self, parent: NodeId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Asks(parent);
        fx.send(parent, Message::BeMyParent(self.reset));
    }

    /// Tells these that they are children, if they are not to wait until the root is known.
    fn acknowledge(&self, whom: impl Fn(NodeId) -> bool, fx: &mut impl Effects<Self>) {
        match self.manners.acknowledge {
            Acknowledge::WithRoot => {}
            Acknowledge::AtOnce => {
                let children = self.links.iter().copied().filter(|&id| whom(id));
                fx.broadcast(children, Message::Acknowledged(self.reset));
            }
        }
    }

    fn be_root(&mut self, fx: &mut impl Effects<Self>) {
        self.wait_no_more(fx);
        match self.phase {
            Phase::Listens | Phase::Gathers => self.acknowledge(|_| true, fx),
            // All others are acknowledged: this one was to be the parent.
            Phase::Asks(last) | Phase::Contends(last) => self.acknowledge(|it| it == last, fx),
            Phase::Child(_) | Phase::Done => {}
        }
        self.tell_children(None, self.me, fx);
    }

    pub(super) fn wait_no_more(&self, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Gathers => fx.cancel_timer(Timer::Gather),
            Phase::Contends(_) => fx.cancel_timer(Timer::Contention),
            Phase::Listens | Phase::Asks(_) | Phase::Child(_) | Phase::Done => {}
        }
    }

    fn tell_children(&mut self, parent: Option<NodeId>, root: NodeId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Done;
        let children = self.links.iter().copied().filter(|&id| Some(id) != parent);
        fx.broadcast(children, Message::YouAreMyChild(self.reset, root));
        fx.notify(Notice::Leader(root));
    }

    /// Both take it back: the other will find out as well.
    fn contend(&mut self, other: NodeId, place: usize, fx: &mut impl Effects<Self>) {
        match self.manners.contention {
            Contention::Id if self.me > other => self.be_root(fx),
            Contention::Id => {}
            Contention::Wait | Contention::Firewire | Contention::FirewireA => {
                const SIDES: NonZeroU32 = NonZeroU32::new(2).expect("two is not zero");
                self.asked[place] = 0;
                self.phase = Phase::Contends(other);
                let side = fx.choose(SIDES) as usize;
                fx.set_timer(Timer::Contention, self.manners.waits[side]);
            }
        }
    }

    fn on_be_my_parent(&mut self, from: NodeId, reset: u32, fx: &mut impl Effects<Self>) {
        let Some(place) = self.links.iter().position(|&id| id == from) else { return };
        self.asked[place] = self.asked[place].max(reset);
        // An older message is obsolete, and the node will notice a newer reset itself.
        if (reset, self.asked[place]) != (self.reset, self.reset) {
            return;
        }
        match self.phase {
            Phase::Listens | Phase::Gathers => self.look_around(fx),
            Phase::Asks(parent) if parent == from => self.contend(from, place, fx),
            Phase::Contends(other) if other == from => self.be_root(fx),
            Phase::Asks(_) | Phase::Child(_) | Phase::Contends(_) | Phase::Done => {}
        }
    }

    /// What is known of the port towards this neighbour, if it has one.
    pub(super) fn port_to(&self, peer: NodeId) -> Option<&'static str> {
        let place = self.links.iter().position(|&id| id == peer)?;
        Some(self.port(place))
    }

    /// The parent of a node that knows who leads; none of the root. All others have asked it.
    fn parent(&self) -> Option<NodeId> {
        let mut all = self.links.iter().zip(&self.asked);
        all.find(|(_, asked)| **asked != self.reset).map(|(&peer, _)| peer)
    }

    /// What is known of a port, in the words of the standard.
    fn port(&self, place: usize) -> &'static str {
        let (peer, has_asked) = (self.links[place], self.asked[place] == self.reset);
        let is_known = self.reset > 0 && has_asked;
        match self.phase {
            Phase::Asks(parent) if parent == peer => "asked",
            Phase::Contends(other) if other == peer => "contention",
            Phase::Child(parent) if parent == peer => "parent",
            Phase::Done if !has_asked => "parent",
            Phase::Listens
            | Phase::Gathers
            | Phase::Asks(_)
            | Phase::Child(_)
            | Phase::Contends(_)
            | Phase::Done => {
                if is_known {
                    "child"
                } else {
                    "unknown"
                }
            }
        }
    }
}

impl Protocol for TreeElection {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.wait_no_more(fx);
        self.phase = Phase::Listens;
        self.reset = self.reset.saturating_add(1);
        self.look_around(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::BeMyParent(reset) => self.on_be_my_parent(from, reset, fx),
            Message::YouAreMyChild(reset, root) => {
                let is_parent = [Phase::Asks(from), Phase::Child(from)].contains(&self.phase);
                if reset == self.reset && is_parent {
                    self.tell_children(Some(from), root, fx);
                }
            }
            Message::Acknowledged(reset) => {
                if (reset, Phase::Asks(from)) == (self.reset, self.phase) {
                    self.phase = Phase::Child(from);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match (timer, self.phase) {
            (Timer::Gather, Phase::Gathers) => self.look_around(fx),
            (Timer::Contention, Phase::Contends(other)) => self.ask(other, fx),
            (Timer::Gather | Timer::Contention, _) => {}
        }
    }

    fn state(&self) -> NodeState {
        self.state_with((0..self.links.len()).map(|it| self.port(it)))
    }
}

impl TreeElection {
    /// What is known of every port, and of every neighbour the reset in which it last asked.
    pub(super) fn state_with(&self, ports: impl Iterator<Item = &'static str>) -> NodeState {
        let (phase, peer) = match self.phase {
            Phase::Listens => ("listens", None),
            Phase::Gathers => ("gathers", None),
            Phase::Asks(peer) => ("asks", Some(peer)),
            Phase::Child(peer) => ("child", Some(peer)),
            Phase::Contends(peer) => ("contends", Some(peer)),
            Phase::Done => ("done", self.parent()),
        };
        let asked = self.links.iter().zip(&self.asked).filter(|(_, reset)| **reset > 0);
        NodeState::new()
            .with("phase", phase)
            .with("parent", peer)
            .with("reset", self.reset)
            .with("ports", StateValue::vector(ports))
            .with("asked by", StateValue::list(asked.map(|(&peer, &reset)| (peer, reset))))
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<TreeElection>] =
    &[Invariant { name: "one contention", holds: one_contention }];

/// Among the nodes that have noticed the last reset, at most two contend, and with each other.
fn one_contention(now: &Situation<'_, TreeElection>) -> Result<(), String> {
    let last = now.up().map(|(_, node)| node.reset).max().unwrap_or(0);
    let mut links = now.up().filter_map(|(id, node)| match node.phase {
        Phase::Contends(other) if node.reset == last => Some((id.min(other), id.max(other))),
        Phase::Contends(_)
        | Phase::Listens
        | Phase::Gathers
        | Phase::Asks(_)
        | Phase::Child(_)
        | Phase::Done => None,
    });
    let Some(first) = links.next() else { return Ok(()) };
    match links.find(|&link| link != first) {
        None => Ok(()),
        Some(link) => Err(format!(
            "nodes {} and {} contend while nodes {} and {} do",
            link.0, link.1, first.0, first.1
        )),
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "tree-election",
    title: "Tree election (FireWire)",
    solves: "election",
    citation: "IEEE 1394-1995, tree identify",
    assumes: Assumes::TIMELY.on(Layout::Tree(&Topology::Tree(2))),
    takes: &[
        Parameter::Within,
        Parameter::Topology,
        Parameter::Contention,
        Parameter::Acknowledge,
        Parameter::Gather,
    ],
    terms: Terms {
        highest: false,
        crashes: false,
        everyone_calls: true,
        quadratic: false,
        ..Terms::PLAIN
    },
    theory: &[MESSAGES.costs(tree_theory::messages), DURATION.costs(tree_theory::duration)],
    flaws: FLAWS,
    page: page!("tree_election.rs"),
};

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "equal-waits",
        what: "no coin is tossed: two that contend wait for as long, and ask each other for ever",
        breaks: "no starvation",
        shown_by: Demonstration::of(2, &[]).for_ever(),
    },
    Flaw {
        name: "no-leaf-is-root",
        what: "only an inner node may be the root, as it is printed: two leaves never agree",
        breaks: "termination",
        shown_by: Demonstration::of(2, &[]),
    },
    Flaw {
        name: "stale-be-my-parent",
        what: "what was asked before a reset is taken for an answer to it",
        breaks: "one leader",
        shown_by: Demonstration::of(2, &[]).calling(2),
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;

    fn setup(topology: &str, nodes: u32) -> Setup {
        Setup { topology: topology.parse().unwrap(), ..Setup::new(Group::of(nodes)) }
    }

    fn node(me: u32, setup: &Setup) -> TreeElection {
        recipe().nodes(setup).unwrap()(NodeId(me))
    }

    /// What a node does, if coins fall on this side.
    fn effects(
        node: &mut TreeElection,
        side: u32,
        step: impl FnOnce(&mut TreeElection, &mut Outbox<TreeElection, &dyn Fn(NonZeroU32) -> u32>),
    ) -> Vec<String> {
        let coin = |_: NonZeroU32| side;
        let mut fx = Outbox::new(&coin as &dyn Fn(NonZeroU32) -> u32);
        step(node, &mut fx);
        let shown = |effect: &Effect<TreeElection>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } => format!("set {timer:?} {:?}", delay.min),
            Effect::CancelTimer(timer) => format!("cancel {timer:?}"),
            Effect::Notify(notice) => notice.to_string(),
        };
        fx.take().iter().map(shown).collect()
    }

    fn resets(node: &mut TreeElection) -> Vec<String> {
        effects(node, 0, |node, fx| node.on_command(Command::Elect, fx).unwrap())
    }

    fn is_asked(node: &mut TreeElection, from: u32, reset: u32, side: u32) -> Vec<String> {
        effects(node, side, |node, fx| {
            node.on_message(NodeId(from), Message::BeMyParent(reset), fx);
        })
    }

    fn is_told(node: &mut TreeElection, from: u32, reset: u32, root: u32) -> Vec<String> {
        effects(node, 0, |node, fx| {
            let told = Message::YouAreMyChild(reset, NodeId(root));
            node.on_message(NodeId(from), told, fx);
        })
    }

    #[test]
    fn leaves_begin_and_inner_nodes_ask_on_the_last_link_that_is_silent() {
        let star = setup("star", 4);
        assert_eq!(resets(&mut node(1, &star)), ["0 BE_MY_PARENT(1)"]);
        let mut centre = node(0, &star);
        assert_eq!(resets(&mut centre), [""; 0]);
        assert_eq!(is_asked(&mut centre, 3, 1, 0), [""; 0]);
        assert_eq!(is_asked(&mut centre, 1, 1, 0), ["2 BE_MY_PARENT(1)"]);
        let told =
            ["1 YOU_ARE_MY_CHILD(1, root 2)", "3 YOU_ARE_MY_CHILD(1, root 2)", "node 2 leads"];
        assert_eq!(is_told(&mut centre, 2, 1, 2), told);
    }

    #[test]
    fn whoever_is_asked_on_all_links_in_time_is_the_root() {
        let star = Setup { gather: Duration::from_millis(2), ..setup("star", 3) };
        let mut centre = node(0, &star);
        resets(&mut centre);
        assert_eq!(is_asked(&mut centre, 1, 1, 0), ["set Gather 2ms"]);
        let mut late = centre.clone();
        let root = [
            "cancel Gather",
            "1 YOU_ARE_MY_CHILD(1, root 0)",
            "2 YOU_ARE_MY_CHILD(1, root 0)",
            "node 0 leads",
        ];
        assert_eq!(is_asked(&mut centre, 2, 1, 0), root);
        let asks = effects(&mut late, 0, |node, fx| node.on_timer(Timer::Gather, fx));
        assert_eq!(asks, ["2 BE_MY_PARENT(1)"]);
        assert_eq!(
            resets(&mut node(1, &star)),
            ["0 BE_MY_PARENT(1)"],
            "a leaf has nobody to wait for"
        );
    }

    #[test]
    fn two_that_ask_each_other_wait_as_the_coin_falls_and_ask_again() {
        let two = setup("line", 2);
        let mut leaf = node(0, &two);
        resets(&mut leaf);
        assert_eq!(is_asked(&mut leaf.clone(), 1, 1, 0), ["set Contention 1ms"]);
        assert_eq!(is_asked(&mut leaf, 1, 1, 1), ["set Contention 3.25ms"]);
        let mut again = leaf.clone();
        let root = ["cancel Contention", "1 YOU_ARE_MY_CHILD(1, root 0)", "node 0 leads"];
        assert_eq!(is_asked(&mut leaf, 1, 1, 0), root, "a leaf may be the root");
        let asks = effects(&mut again, 0, |node, fx| node.on_timer(Timer::Contention, fx));
        assert_eq!(asks, ["1 BE_MY_PARENT(1)"]);
        assert_eq!(is_asked(&mut again, 1, 1, 0), ["set Contention 1ms"], "alike once more");
    }

    /// The rule of the lecture, word for word; and the root's name follows.
    #[test]
    fn children_are_acknowledged_at_once_if_that_is_asked_for() {
        let line = Setup { acknowledge: Acknowledge::AtOnce, ..setup("line", 4) };
        let [mut leaf, mut inner, mut next] = [0, 1, 2].map(|me| node(me, &line));
        for node in [&mut leaf, &mut inner, &mut next] {
            resets(node);
        }
        let asks = ["0 YOU_ARE_MY_CHILD(1)", "2 BE_MY_PARENT(1)"];
        assert_eq!(is_asked(&mut inner, 0, 1, 0), asks);
        let acknowledged = |node: &mut TreeElection, from: u32, reset: u32| {
            effects(node, 0, |node, fx| {
                node.on_message(NodeId(from), Message::Acknowledged(reset), fx);
            })
        };
        assert_eq!(acknowledged(&mut leaf, 1, 0), [""; 0], "of an earlier reset");
        assert_eq!(leaf.phase, Phase::Asks(NodeId(1)));
        assert_eq!(acknowledged(&mut leaf, 1, 1), [""; 0]);
        assert_eq!(leaf.phase, Phase::Child(NodeId(1)));
        assert_eq!(is_told(&mut leaf, 1, 1, 3), ["node 3 leads"]);
        assert_eq!(is_asked(&mut next, 3, 1, 0), ["3 YOU_ARE_MY_CHILD(1)", "1 BE_MY_PARENT(1)"]);
        is_asked(&mut next, 1, 1, 1);
        let root = [
            "cancel Contention",
            "1 YOU_ARE_MY_CHILD(1)",
            "1 YOU_ARE_MY_CHILD(1, root 2)",
            "3 YOU_ARE_MY_CHILD(1, root 2)",
            "node 2 leads",
        ];
        assert_eq!(is_asked(&mut next, 1, 1, 0), root, "3 is acknowledged already");
        let mut overtaken = inner.clone();
        let told = ["0 YOU_ARE_MY_CHILD(1, root 2)", "node 2 leads"];
        assert_eq!(is_told(&mut overtaken, 2, 1, 2), told, "the root's name may come first");
        assert_eq!(acknowledged(&mut overtaken, 2, 1), [""; 0]);
        assert_eq!(overtaken.phase, Phase::Done);
    }

    #[test]
    fn a_node_knows_its_links_as_ports() {
        let star = setup("star", 4);
        let mut centre = node(0, &star);
        let ports = |node: &TreeElection| -> Vec<&'static str> {
            (0..node.links.len()).map(|place| node.port(place)).collect()
        };
        assert_eq!(ports(&centre), ["unknown"; 3]);
        resets(&mut centre);
        is_asked(&mut centre, 3, 1, 0);
        assert_eq!(ports(&centre), ["unknown", "unknown", "child"]);
        is_asked(&mut centre, 1, 1, 0);
        assert_eq!(ports(&centre), ["child", "asked", "child"]);
        let mut contends = centre.clone();
        is_asked(&mut contends, 2, 1, 0);
        assert_eq!(ports(&contends), ["child", "contention", "child"]);
        is_asked(&mut contends, 2, 1, 0);
        assert_eq!(ports(&contends), ["child"; 3], "the root has no parent");
        let parent = |node: &TreeElection| node.state().get("parent").cloned();
        let two = Some(StateValue::Node(NodeId(2)));
        assert_eq!(parent(&contends), Some(StateValue::Nothing), "the root has none");
        assert_eq!(parent(&centre), two);
        is_told(&mut centre, 2, 1, 2);
        assert_eq!(ports(&centre), ["child", "parent", "child"]);
        assert_eq!(parent(&centre), two, "still, as it knows the root");
        resets(&mut centre);
        assert_eq!(ports(&centre), ["unknown"; 3], "after a reset");
        let shown = alloc::format!("{:?}", centre.state());
        assert!(shown.contains("ports"), "{shown}");
    }

    #[test]
    fn the_standard_has_times_of_its_own() {
        let firewire = Setup { contention: Contention::Firewire, ..setup("line", 2) };
        let mut leaf = node(0, &firewire);
        resets(&mut leaf);
        assert_eq!(is_asked(&mut leaf.clone(), 1, 1, 0), ["set Contention 240ns"]);
        assert_eq!(is_asked(&mut leaf, 1, 1, 1), ["set Contention 570ns"]);
    }

    #[test]
    fn by_their_numbers_the_higher_of_two_is_the_root() {
        let two = Setup { contention: Contention::Id, ..setup("line", 2) };
        let (mut lower, mut higher) = (node(0, &two), node(1, &two));
        resets(&mut lower);
        resets(&mut higher);
        assert_eq!(is_asked(&mut lower, 1, 1, 0), [""; 0]);
        let root = ["0 YOU_ARE_MY_CHILD(1, root 1)", "node 1 leads"];
        assert_eq!(is_asked(&mut higher, 0, 1, 0), root);
        assert_eq!(is_told(&mut lower, 1, 1, 1), ["node 1 leads"]);
        assert_eq!(is_asked(&mut lower, 1, 1, 0), [""; 0], "this one came late");
    }

    #[test]
    fn what_was_asked_before_a_reset_is_no_answer_to_it_and_what_comes_early_is_kept() {
        let two = setup("line", 2);
        let mut leaf = node(0, &two);
        resets(&mut leaf);
        assert_eq!(resets(&mut leaf), ["1 BE_MY_PARENT(2)"]);
        assert_eq!(is_asked(&mut leaf, 1, 1, 0), [""; 0], "before");
        assert_eq!(is_told(&mut leaf, 1, 1, 1), [""; 0], "before");
        assert_eq!(is_asked(&mut leaf, 1, 3, 0), [""; 0], "it has not noticed that reset");
        assert_eq!(is_asked(&mut leaf, 1, 2, 0), [""; 0], "the other is further already");
        let root = ["1 YOU_ARE_MY_CHILD(3, root 0)", "node 0 leads"];
        assert_eq!(resets(&mut leaf), root);
        assert_eq!(resets(&mut node(0, &setup("line", 1))), ["node 0 leads"]);
    }

    #[test]
    fn a_topology_with_a_cycle_is_refused() {
        let ring = recipe().nodes(&setup("ring", 3)).err().unwrap();
        assert!(ring.0.contains("a tree is needed"), "{ring}");
    }
}
