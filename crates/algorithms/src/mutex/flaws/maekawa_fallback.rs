//! Maekawa's algorithm with fallback quorums, where the dead are forgotten, or forget.

use core::mem;

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::flaw::Mistake;
use crate::mutex::maekawa_fallback::{MaekawaFallback, Message, Timer};

/// A node goes on with what is left of its quorum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeadMembersDropped;

impl Mistake<MaekawaFallback> for DeadMembersDropped {
    fn on_timer(
        self,
        node: &mut MaekawaFallback,
        timer: Timer,
        fx: &mut impl Effects<MaekawaFallback>,
    ) {
        let silent = mem::take(&mut node.fallback.probed);
        node.fallback.quorum.retain(|&id| !silent.contains(id));
        node.on_timer(timer, fx);
    }
}

/// An arbiter that comes up again knows nothing of its lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArbiterForgets;

impl Mistake<MaekawaFallback> for ArbiterForgets {
    fn after_crash(self, _: &MaekawaFallback, fresh: MaekawaFallback) -> MaekawaFallback {
        fresh
    }
}

/// Nobody is ever suspected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WaitsForTheDead;

impl Mistake<MaekawaFallback> for WaitsForTheDead {
    fn on_timer(
        self,
        node: &mut MaekawaFallback,
        timer: Timer,
        fx: &mut impl Effects<MaekawaFallback>,
    ) {
        node.fallback.probed.clear();
        node.on_timer(timer, fx);
    }
}

/// That an arbiter was down means nothing to those who wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RestartUnheeded;

impl Mistake<MaekawaFallback> for RestartUnheeded {
    fn on_message(
        self,
        node: &mut MaekawaFallback,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<MaekawaFallback>,
    ) {
        match message {
            Message::Restarted { .. } => {}
            Message::Lock(_) | Message::Probe(_) | Message::Alive(_) => {
                node.on_message(from, message, fx);
            }
        }
    }
}
