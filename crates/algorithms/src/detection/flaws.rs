//! The mistakes that people make with heartbeats.

use core::time::Duration;

use vorrang_protocol::{Effects, NodeId, NodeState, Protocol, Refused};

use super::heartbeat::{Belief, Heartbeat, Message, Timer};
use super::{Command, Notice};
use crate::flaw::Mistake;
use crate::setup::Setup;

/// A suspected node stays suspected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeverRecovers;

impl Mistake<Heartbeat> for NeverRecovers {
    fn on_message(
        self,
        node: &mut Heartbeat,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Heartbeat>,
    ) {
        if node.peers.get(&from).is_some_and(|peer| peer.belief != Belief::Down) {
            node.on_message(from, message, fx);
        }
    }
}

/// Time-outs stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LearnsNothing;

impl Mistake<Heartbeat> for LearnsNothing {
    fn on_message(
        self,
        node: &mut Heartbeat,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Heartbeat>,
    ) {
        if let Some(peer) = node.peers.get_mut(&from)
            && peer.belief == Belief::Down
        {
            peer.belief = Belief::Up;
            fx.notify(Notice::Trust(from));
        }
        node.on_message(from, message, fx);
    }
}

/// A node is watched from its first heartbeat on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FirstAwaitedForEver(Heartbeat);

impl FirstAwaitedForEver {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self(Heartbeat::of(me, setup))
    }
}

impl Protocol for FirstAwaitedForEver {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.0.beat(&mut vorrang_protocol::Relay::<Self, _, _>::new(fx));
    }
    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) -> Result<(), Refused> {
        match command {}
    }
    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let fx = &mut vorrang_protocol::Relay::<Self, _, _>::new(fx);
        if !self.0.peers.contains_key(&from) {
            self.0.watch(from, Duration::ZERO, fx);
        }
        self.0.on_message(from, message, fx);
    }
    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut vorrang_protocol::Relay::<Self, _, _>::new(fx));
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on_start(fx);
    }

    fn state(&self) -> NodeState {
        self.0.state()
    }
}
