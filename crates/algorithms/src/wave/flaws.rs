//! The mistakes that people make with these algorithms.

use vorrang_protocol::{Effects, NodeId, Protocol};

use super::echo::{self, Echo};
use super::echo_taboo::{self, EchoTaboo};
use super::{Gathered, Notice};
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
        if (&node.colour, message) == (&echo::Colour::White, echo::Message::Explorer) {
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
            fx.send(from, echo::Message::Echo(Gathered::of(node.me())));
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
            fx.send(from, echo_taboo::Message::Echo(Gathered::of(node.me())));
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
