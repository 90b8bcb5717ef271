//! A token made anew without a generation, or by a leader that asks once.

use vorrang_protocol::{Effects, NodeId};

use crate::flaw::Mistake;
use crate::mutex::regenerating::{Message, Regenerating, Renewable, Timer};

/// Messages of the algorithm are accepted from any generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoGeneration;

impl<P: Renewable> Mistake<Regenerating<P>> for NoGeneration {
    fn on_message(
        self,
        node: &mut Regenerating<P>,
        from: NodeId,
        mut message: Message<P::Message>,
        fx: &mut impl Effects<Regenerating<P>>,
    ) {
        use vorrang_protocol::Protocol as _;

        if let Message::Token { generation, .. } = &mut message {
            *generation = node.generation;
        }
        node.on_message(from, message, fx);
    }
}

/// A node that does not answer the first question is taken for crashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AskedOnce;

impl<P: Renewable> Mistake<Regenerating<P>> for AskedOnce {
    fn on_timer(
        self,
        node: &mut Regenerating<P>,
        timer: Timer<P::Timer>,
        fx: &mut impl Effects<Regenerating<P>>,
    ) {
        use vorrang_protocol::Protocol as _;

        match timer {
            Timer::Census => node.finish_census(fx),
            Timer::Suspect
            | Timer::Have
            | Timer::Install
            | Timer::Election(_)
            | Timer::Token(..) => node.on_timer(timer, fx),
        }
    }
}
