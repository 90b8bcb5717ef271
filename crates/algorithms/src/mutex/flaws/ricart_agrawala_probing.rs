//! Mistakes of Ricart–Agrawala with probes.

use vorrang_protocol::{
    Effect, Effects, NodeId, NodeSet, NodeState, Outbox, Protocol, Refused, Relay,
};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::ricart_agrawala_probing::{Message, RicartAgrawalaProbing, Timer};

/// A node that was passed over as down is not asked, though it has been heard of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeverHeardOfAgain;

impl Mistake<RicartAgrawalaProbing> for NeverHeardOfAgain {
    fn on_message(
        self,
        node: &mut RicartAgrawalaProbing,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawalaProbing>,
    ) {
        let down = core::mem::replace(&mut node.down, NodeSet::EMPTY);
        node.on_message(from, message, fx);
        node.down.extend_from(&down);
    }
}

/// There are no probes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PutOffForEver;

impl Mistake<RicartAgrawalaProbing> for PutOffForEver {
    fn on_message(
        self,
        node: &mut RicartAgrawalaProbing,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawalaProbing>,
    ) {
        let mut done = Outbox::default();
        node.on_message(from, message, &mut done);
        for effect in done.take() {
            match effect {
                Effect::SetTimer { timer: Timer::Probe(_), .. } => {}
                Effect::SetTimer { timer, delay } => fx.set_timer(timer, delay),
                Effect::CancelTimer(timer) => fx.cancel_timer(timer),
                Effect::Send { to, message } => fx.send(to, message),
                Effect::Notify(notice) => fx.notify(notice),
            }
        }
    }
}

/// A node whose clock is not on stable storage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClockForgotten(pub RicartAgrawalaProbing);

impl Protocol for ClockForgotten {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = crate::mutex::Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.0.on_command(command, &mut Relay::<Self, _, _>::new(fx))
    }
    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, &mut Relay::<Self, _, _>::new(fx));
    }
    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut Relay::<Self, _, _>::new(fx));
    }

    fn state(&self) -> NodeState {
        self.0.state()
    }
}
