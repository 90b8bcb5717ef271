//! The mistakes that people make with these algorithms.

use vorrang_protocol::{Effects, NodeId, Protocol};

use super::dijkstra_scholten::{self, DijkstraScholten, Engaged, Part};
use super::echo::{self, Echo};
use super::echo_taboo::{self, EchoTaboo};
use super::invariants::Echoing as _;
use super::{Gathered, Notice, Summed};
use crate::flaw::Mistake;

/// Whether all have answered is asked only when an answer comes, and a leaf gets none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeafNeverEchoes;

impl Mistake<Echo> for LeafNeverEchoes {
    fn on_message(
        self,
        node: &mut Echo,
        from: NodeId,
        message: echo::Message,
        fx: &mut impl Effects<Echo>,
    ) {
        if (&node.colour, &message) == (&echo::Colour::White, &echo::Message::Explorer) {
            fx.notify(Notice::Joined { parent: from });
            node.explore(Some(from), fx);
        } else {
            node.on_message(from, message, fx);
        }
    }
}

/// A node echoes when the first answer has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FirstAnswerSuffices;

impl Mistake<Echo> for FirstAnswerSuffices {
    fn on_message(
        self,
        node: &mut Echo,
        from: NodeId,
        message: echo::Message,
        fx: &mut impl Effects<Echo>,
    ) {
        if let echo::Colour::Red(red) = &mut node.colour {
            red.pending.retain(|&id| id == from);
        }
        node.on_message(from, message, fx);
    }
}

/// An explorer that crosses is answered with an echo as well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CrossingIsEchoed;

impl Mistake<Echo> for CrossingIsEchoed {
    fn on_message(
        self,
        node: &mut Echo,
        from: NodeId,
        message: echo::Message,
        fx: &mut impl Effects<Echo>,
    ) {
        let is_red = matches!(node.colour, echo::Colour::Red(_));
        if is_red && message == echo::Message::Explorer {
            fx.send(from, echo::Message::Echo(node.own().clone()));
        }
        node.on_message(from, message, fx);
    }
}

/// Every explorer makes the link on which it comes the activation edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SecondActivationEdge;

impl Mistake<Echo> for SecondActivationEdge {
    fn on_message(
        self,
        node: &mut Echo,
        from: NodeId,
        message: echo::Message,
        fx: &mut impl Effects<Echo>,
    ) {
        if let echo::Colour::Red(red) = &mut node.colour
            && message == echo::Message::Explorer
        {
            red.parent = Some(from);
            fx.notify(Notice::Joined { parent: from });
        }
        node.on_message(from, message, fx);
    }
}

/// A node echoes its own value alone, and what its children gave is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChildrenForgotten;

impl Mistake<Echo> for ChildrenForgotten {
    fn on_message(
        self,
        node: &mut Echo,
        from: NodeId,
        message: echo::Message,
        fx: &mut impl Effects<Echo>,
    ) {
        let message = match message {
            echo::Message::Echo(_) if !node.is_initiator() => {
                echo::Message::Echo(Gathered::NOTHING)
            }
            echo::Message::Echo(_) | echo::Message::Explorer => message,
        };
        node.on_message(from, message, fx);
    }
}

/// A red node swallows explorers, as in the plain algorithm: the rule as it is printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SwallowsExplorers;

impl Mistake<EchoTaboo> for SwallowsExplorers {
    fn on_message(
        self,
        node: &mut EchoTaboo,
        from: NodeId,
        message: echo_taboo::Message,
        fx: &mut impl Effects<EchoTaboo>,
    ) {
        if !is_no_answer(node, from, &message) {
            node.on_message(from, message, fx);
        }
    }
}

/// The echo that answers an explorer at once counts its sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StrangerIsCounted;

impl Mistake<EchoTaboo> for StrangerIsCounted {
    fn on_message(
        self,
        node: &mut EchoTaboo,
        from: NodeId,
        message: echo_taboo::Message,
        fx: &mut impl Effects<EchoTaboo>,
    ) {
        if is_no_answer(node, from, &message) {
            fx.send(from, echo_taboo::Message::Echo(node.own().clone()));
        } else {
            node.on_message(from, message, fx);
        }
    }
}

/// Whether this is an explorer for a node that takes part already, and crosses none of its own.
fn is_no_answer(node: &EchoTaboo, from: NodeId, message: &echo_taboo::Message) -> bool {
    let takes_part_and_asks_not = match &node.colour {
        echo_taboo::Colour::White => false,
        echo_taboo::Colour::Red(red) => !red.pending.contains(&from),
        echo_taboo::Colour::Green { .. } => true,
    };
    matches!(message, echo_taboo::Message::Explorer(_)) && takes_part_and_asks_not
}

/// The message that engages a node is acknowledged like any other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AcknowledgedAtOnce;

impl Mistake<DijkstraScholten> for AcknowledgedAtOnce {
    fn on_message(
        self,
        node: &mut DijkstraScholten,
        from: NodeId,
        message: dijkstra_scholten::Message,
        fx: &mut impl Effects<DijkstraScholten>,
    ) {
        match (node.part, message) {
            (Part::Idle, dijkstra_scholten::Message::Work(pieces)) => {
                fx.notify(Notice::Joined { parent: from });
                node.works(&mut Engaged::by(Some(from)), pieces, fx);
                fx.send(from, dijkstra_scholten::Message::Ack(Summed::NOTHING));
            }
            (Part::Idle | Part::Engaged(_) | Part::Over, _) => node.on_message(from, message, fx),
        }
    }
}

/// An engaged node takes the sender of the latest message for its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LatestParent;

impl Mistake<DijkstraScholten> for LatestParent {
    fn on_message(
        self,
        node: &mut DijkstraScholten,
        from: NodeId,
        message: dijkstra_scholten::Message,
        fx: &mut impl Effects<DijkstraScholten>,
    ) {
        match (&mut node.part, message) {
            (
                Part::Engaged(Engaged { parent: Some(parent), .. }),
                dijkstra_scholten::Message::Work(_),
            ) => *parent = from,
            (Part::Idle | Part::Engaged(_) | Part::Over, _) => {}
        }
        node.on_message(from, message, fx);
    }
}

/// A node that is engaged already does its work and acknowledges nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OnlyEngagingWorkAcknowledged;

impl Mistake<DijkstraScholten> for OnlyEngagingWorkAcknowledged {
    fn on_message(
        self,
        node: &mut DijkstraScholten,
        from: NodeId,
        message: dijkstra_scholten::Message,
        fx: &mut impl Effects<DijkstraScholten>,
    ) {
        match (node.part, message) {
            (Part::Engaged(mut engaged), dijkstra_scholten::Message::Work(pieces)) => {
                node.works(&mut engaged, pieces, fx);
                node.goes_on(engaged, fx);
            }
            (Part::Idle | Part::Engaged(_) | Part::Over, _) => node.on_message(from, message, fx),
        }
    }
}
