//! Bus reset: tree election on a `FireWire` bus whose devices are plugged in and unplugged while it
//! runs. IEEE Standard 1394-1995, "bus reset" and "tree identify".
//!
//! Whoever calls, and whoever notices that a cable has come or gone, begins a bus reset of the next
//! generation and tells its neighbours: `BUS_RESET`. Whoever hears of a higher generation than its
//! own joins it, forgets the election before, passes the news on and begins [tree
//! election](super::tree_election) on the cables that are plugged in. A message of a lower
//! generation is dropped. So every part of a bus that was torn apart elects its root, and so does a
//! bus that was put together of two.
//!
//! **Use it** where links form a tree that changes while it runs: cables are plugged in and pulled
//! out.
//!
//! ```text
//!   0  ─BE_MY_PARENT(1)─► … 1 leads  ◄─BUS_RESET(2)─┐             ┌─BE_MY_PARENT(2)─► … 1 leads
//!   1      [ 1 leads ]               [ unplug 2 ]───┴─[ reset 2 ]─┘
//!                                         X  the cable between 1 and 2 is pulled out
//!   2  ─BE_MY_PARENT(1)─► … 1 leads  [ unplug 1 ]─────[ reset 2 ]  2 leads, alone
//! ```
//!
//! | N nodes in a component, k callers | no contention | root contention |
//! | --- | --- | --- |
//! | messages | N − 2 + k and 2(N − 1) | as in tree election |
//! | duration | that of tree election if all call | as in tree election |
//!
//! **Assumes** what tree election does, but not that all nodes notice a reset. Both ends of a cable
//! notice what happens to it, at any time, each by itself. What arrives at a port without a cable
//! is lost. No node crashes: a device without power is one whose cables are unplugged, and it
//! remembers its generation.
//!
//! **Why there is one root in each generation and component.** A node begins a generation once,
//! since its generations only grow, and its cables are the same all through it, since a change
//! begins the next. A message of a generation was sent on a cable that its sender had in it, and
//! counts only if its receiver has that cable in it. So a generation is a tree election on the
//! cables that both ends have in it. These are a forest, and in each of its trees there is one root
//! at most: for a node to be the root, all its cables must be among them.
//!
//! **Why it ends.** Let all cables have been noticed for the last time, and let G be the highest
//! generation of a component. Whoever enters G tells all its neighbours. The neighbour has that
//! cable, or else it will have to notice it yet: but then it begins a generation above all that it
//! has heard of at that port, which would be above G. (That is what it must remember of a port
//! without a cable, `heard`; `--flaw early-lost` does not.) So all join G, with the cables that
//! they keep; none of their messages is lost, and tree election ends as it does. `--flaw
//! reset-not-flooded` shows why the news must be passed on: an inner node that waits to be asked on
//! two ports says nothing by itself.
//!
//! **Where we depart from the standard.** There a reset is a signal that holds the bus for longer
//! than it takes to reach every node, so that none is left over; generations are not numbered in
//! tree identify, but are in packets. Here the number does what that time does: `--flaw
//! stale-generation` takes what is left over of an earlier election.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Lift, NodeId, NodeSet, NodeState, Protocol, Refused};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Terms};
use super::tree_election::{self, Delays, Timer, TreeElection};
use super::{Command, Notice, tree_theory};
use crate::card::{Assumes, Layout};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;

/// The messages over a cable, each with its generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The bus was reset.
    BusReset(u32),
    /// Of the election in that generation.
    Tree(tree_election::Message),
}

impl Message {
    /// The generation that it is of.
    pub const fn generation(self) -> u32 {
        match self {
            Self::BusReset(generation) => generation,
            Self::Tree(message) => message.reset(),
        }
    }
}

impl From<tree_election::Message> for Message {
    fn from(message: tree_election::Message) -> Self {
        Self::Tree(message)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["BUS_RESET", "BE_MY_PARENT", "YOU_ARE_MY_CHILD"];

    fn kind(&self) -> usize {
        match self {
            Self::BusReset(_) => 0,
            Self::Tree(message) => 1 + message.kind(),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BusReset(generation) => write!(f, "BUS_RESET({generation})"),
            Self::Tree(message) => message.fmt(f),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BusReset {
    me: NodeId,
    /// Its ports: who is at the other end of each, if there is a cable.
    ports: Arc<[NodeId]>,
    manners: Delays,
    /// The ports without a cable.
    unplugged: NodeSet,
    /// The highest generation that was heard of at a port without a cable, if above its own.
    heard: u32,
    /// The election of its generation, on the ports that have a cable.
    tree: TreeElection,
}

/// The nodes of a set-up, if its topology is a tree.
pub fn recipe() -> Recipe<BusReset> {
    Recipe::new(|setup| {
        let (tree, manners) = (setup.topology.tree(setup.group)?, Delays::of(setup));
        Ok(move |id: NodeId| BusReset::new(id, tree.neighbours(id).into(), manners))
    })
}

impl BusReset {
    fn new(me: NodeId, ports: Arc<[NodeId]>, manners: Delays) -> Self {
        let tree = TreeElection::on_links(me, ports.clone(), manners, 0);
        Self { me, ports, manners, unplugged: NodeSet::EMPTY, heard: 0, tree }
    }

    pub(super) const fn generation(&self) -> u32 {
        self.tree.reset
    }

    pub(super) fn has_cable(&self, peer: NodeId) -> bool {
        self.ports.contains(&peer) && !self.unplugged.contains(peer)
    }

    /// Lets the election act, and passes on what it tells.
    fn on_tree<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut TreeElection, &mut Lift<'_, TreeElection, Self, E>),
    ) {
        let mut told: Vec<Notice> = Vec::new();
        act(&mut self.tree, &mut Lift::new(fx, &mut told));
        for notice in told {
            fx.notify(notice);
        }
    }

    /// Begins a generation above all that it has heard of.
    fn reset(&mut self, fx: &mut impl Effects<Self>) {
        let newest = self.generation().max(self.heard);
        self.enter(newest.saturating_add(1), None, fx);
    }

    /// Forgets the election before, and passes the news on to all but the one that it comes from.
    fn enter(&mut self, generation: u32, from: Option<NodeId>, fx: &mut impl Effects<Self>) {
        self.on_tree(fx, |tree, up| tree.wait_no_more(up));
        if self.heard <= generation {
            self.heard = 0;
        }
        let cables: Arc<[NodeId]> =
            self.ports.iter().copied().filter(|&peer| self.has_cable(peer)).collect();
        fx.notify(Notice::Reset(generation));
        let others = cables.iter().copied().filter(|&peer| Some(peer) != from);
        fx.broadcast(others, Message::BusReset(generation));
        let before = generation.saturating_sub(1);
        self.tree = TreeElection::on_links(self.me, cables, self.manners, before);
        self.on_tree(fx, |tree, up| {
            tree.on_command(Command::Elect, up).expect("an election may always begin");
        });
    }

    /// Takes note of a cable, if this is news.
    fn notice(&mut self, peer: NodeId, is_there: bool) -> Result<(), Refused> {
        if !self.ports.contains(&peer) {
            return Err(Refused("it has no port for a cable to that node"));
        }
        match (self.has_cable(peer), is_there) {
            (true, true) => Err(Refused("that cable is plugged in")),
            (false, false) => Err(Refused("that cable is unplugged")),
            (false, true) => {
                self.unplugged.remove(peer);
                Ok(())
            }
            (true, false) => {
                self.unplugged.insert(peer);
                Ok(())
            }
        }
    }
}

impl Protocol for BusReset {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match command {
            Command::Elect => {}
            Command::Plug(peer) => self.notice(peer, true)?,
            Command::Unplug(peer) => self.notice(peer, false)?,
        }
        self.reset(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let generation = message.generation();
        if !self.has_cable(from) {
            if generation > self.generation() {
                self.heard = self.heard.max(generation);
            }
            return;
        }
        if generation > self.generation() {
            self.enter(generation, Some(from), fx);
        }
        match message {
            Message::Tree(message) if generation == self.generation() => {
                self.on_tree(fx, |tree, up| tree.on_message(from, message, up));
            }
            // Of an earlier generation, or known by now.
            Message::Tree(_) | Message::BusReset(_) => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.on_tree(fx, |tree, up| tree.on_timer(timer, up));
    }

    fn state(&self) -> NodeState {
        let port = |&peer: &NodeId| {
            if self.has_cable(peer) {
                self.tree.port_to(peer).unwrap_or("unknown")
            } else {
                "unplugged"
            }
        };
        self.tree.state_with(self.ports.iter().map(port)).with("heard", self.heard)
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "bus-reset",
    title: "Bus reset and tree election (FireWire)",
    solves: "election",
    citation: "IEEE 1394-1995, bus reset and tree identify",
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
        hot_plug: true,
        quadratic: false,
        ..Terms::PLAIN
    },
    theory: &[MESSAGES.costs(tree_theory::bus_messages), DURATION.costs(tree_theory::bus_duration)],
    flaws: FLAWS,
    page: page!("bus_reset.rs"),
};

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "stale-generation",
        what: "a message of an earlier generation is taken for one of the current",
        breaks: "one leader",
        shown_by: Demonstration::of(2, &[0, 1]).replugging("0-1"),
    },
    Flaw {
        name: "reset-not-flooded",
        what: "who hears of a bus reset does not pass it on",
        breaks: "termination",
        shown_by: Demonstration::of(4, &[1]).given(&[(Parameter::Topology, "star")]),
    },
    Flaw {
        name: "early-lost",
        what: "what comes from a cable that a node has yet to notice is lost without a trace",
        breaks: "termination",
        shown_by: Demonstration::of(2, &[0]).replugging("0-1"),
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;
    use core::num::NonZeroU32;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::setup::{Contention, Setup};

    /// A node of a line of three, where the higher of two that contend is the root.
    fn node(me: u32) -> BusReset {
        let contention = Contention::Id;
        let topology = "line".parse().unwrap();
        let setup = Setup { topology, contention, ..Setup::new(Group::of(3)) };
        recipe().nodes(&setup).unwrap()(NodeId(me))
    }

    type Coin<'a> = &'a dyn Fn(NonZeroU32) -> u32;

    fn effects(
        node: &mut BusReset,
        step: impl FnOnce(&mut BusReset, &mut Outbox<BusReset, Coin<'_>>),
    ) -> Vec<String> {
        let coin = |_: NonZeroU32| 0_u32;
        let mut fx = Outbox::new(&coin as Coin<'_>);
        step(node, &mut fx);
        let shown = |effect: &Effect<BusReset>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, .. } => format!("set {timer:?}"),
            Effect::CancelTimer(timer) => format!("cancel {timer:?}"),
            Effect::Notify(notice) => notice.to_string(),
        };
        fx.take().iter().map(shown).collect()
    }

    fn does(node: &mut BusReset, command: Command) -> Vec<String> {
        effects(node, |node, fx| node.on_command(command, fx).unwrap())
    }

    fn hears(node: &mut BusReset, from: u32, message: impl Into<Message>) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(from), message.into(), fx))
    }

    const UNPLUG: fn(u32) -> Command = |peer| Command::Unplug(NodeId(peer));
    const PLUG: fn(u32) -> Command = |peer| Command::Plug(NodeId(peer));
    use tree_election::Message::{BeMyParent, YouAreMyChild};

    #[test]
    fn whoever_calls_tells_its_neighbours_and_they_pass_it_on() {
        let mut middle = node(1);
        assert_eq!(
            does(&mut middle, Command::Elect),
            ["bus reset 1", "0 BUS_RESET(1)", "2 BUS_RESET(1)"]
        );
        let mut end = node(0);
        let news = Message::BusReset(1);
        assert_eq!(hears(&mut end, 1, news), ["bus reset 1", "1 BE_MY_PARENT(1)"], "a leaf asks");
        assert_eq!(hears(&mut end, 1, news), [""; 0], "it knows");
        let mut other = node(1);
        assert_eq!(hears(&mut other, 0, news), ["bus reset 1", "2 BUS_RESET(1)"]);
    }

    #[test]
    fn any_message_of_a_higher_generation_is_news_of_its_reset() {
        let mut middle = node(1);
        does(&mut middle, Command::Elect);
        assert_eq!(
            hears(&mut middle, 0, BeMyParent(4)),
            ["bus reset 4", "2 BUS_RESET(4)", "2 BE_MY_PARENT(4)"]
        );
        assert_eq!(hears(&mut middle, 2, BeMyParent(3)), [""; 0], "it is over");
        assert_eq!(hears(&mut middle, 2, YouAreMyChild(3, NodeId(2))), [""; 0]);
        assert_eq!(hears(&mut middle, 2, Message::BusReset(3)), [""; 0]);
    }

    #[test]
    fn a_cable_that_goes_or_comes_resets_the_bus() {
        let mut middle = node(1);
        does(&mut middle, Command::Elect);
        let reset = ["bus reset 2", "0 BUS_RESET(2)", "0 BE_MY_PARENT(2)"];
        assert_eq!(does(&mut middle, UNPLUG(2)), reset, "it is a leaf now");
        let mut shown = format!("{:?}", middle.state());
        assert!(shown.contains("unplugged"), "{shown}");
        assert_eq!(does(&mut middle, UNPLUG(0)), ["bus reset 3", "node 1 leads"], "alone");
        assert_eq!(middle.state().get("parent"), Some(&vorrang_protocol::StateValue::Nothing));
        assert_eq!(
            does(&mut middle, PLUG(2)),
            ["bus reset 4", "2 BUS_RESET(4)", "2 BE_MY_PARENT(4)"]
        );
        shown = format!("{:?}", middle.state());
        assert!(shown.contains("unplugged") && shown.contains("asked"), "{shown}");
    }

    #[test]
    fn what_comes_before_a_cable_is_noticed_is_outnumbered_and_not_obeyed() {
        let mut end = node(2);
        does(&mut end, UNPLUG(1));
        assert_eq!(hears(&mut end, 1, BeMyParent(7)), [""; 0]);
        assert_eq!(hears(&mut end, 1, Message::BusReset(6)), [""; 0]);
        assert_eq!(does(&mut end, PLUG(1)), ["bus reset 8", "1 BUS_RESET(8)", "1 BE_MY_PARENT(8)"]);
        does(&mut end, UNPLUG(1));
        assert_eq!(does(&mut end, PLUG(1))[0], "bus reset 10", "what was heard is forgotten");
    }

    #[test]
    fn what_cannot_happen_to_a_cable_is_refused_and_changes_nothing() {
        let mut end = node(0);
        let before = end.clone();
        let mut refused = |command: Command| {
            let mut why = "";
            effects(&mut end, |node, fx| why = node.on_command(command, fx).unwrap_err().0);
            why
        };
        assert!(refused(PLUG(1)).contains("plugged in"));
        assert!(refused(UNPLUG(2)).contains("no port"));
        assert_eq!(end, before);
        does(&mut end, UNPLUG(1));
        let mut why = "";
        effects(&mut end, |node, fx| why = node.on_command(UNPLUG(1), fx).unwrap_err().0);
        assert!(why.contains("unplugged"));
        assert_eq!(Command::Elect.only_elect(), Ok(()));
        assert!(UNPLUG(1).only_elect().unwrap_err().0.contains("bus-reset"));
    }

    #[test]
    fn commands_are_read_as_they_are_written() {
        for command in [Command::Elect, PLUG(3), UNPLUG(0)] {
            assert_eq!(command.to_string().parse(), Ok(command));
        }
        assert!("plug x".parse::<Command>().unwrap_err().contains("'x'"));
        assert!("pull 1".parse::<Command>().unwrap_err().contains("unplug 1"));
    }
}
