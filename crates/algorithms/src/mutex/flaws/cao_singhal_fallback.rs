//! Cao and Singhal's algorithm with fallback quorums, where the dead are forgotten, or forget.

use core::mem;

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::flaw::Mistake;
use crate::mutex::cao_singhal_fallback::{CaoSinghalFallback, Message, Timer};

/// A node goes on with what is left of its quorum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeadMembersDropped;

impl Mistake<CaoSinghalFallback> for DeadMembersDropped {
    fn on_timer(
        self,
        node: &mut CaoSinghalFallback,
        timer: Timer,
        fx: &mut impl Effects<CaoSinghalFallback>,
    ) {
        if let Some(fallback) = node.fallback() {
            let silent = mem::take(&mut fallback.probed);
            fallback.quorum.retain(|&id| !silent.contains(id));
        }
        node.on_timer(timer, fx);
    }
}

/// An arbiter that comes up again knows nothing of its permission.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArbiterForgets;

impl Mistake<CaoSinghalFallback> for ArbiterForgets {
    fn after_crash(self, _: &CaoSinghalFallback, fresh: CaoSinghalFallback) -> CaoSinghalFallback {
        fresh
    }
}

/// Nobody is ever suspected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WaitsForTheDead;

impl Mistake<CaoSinghalFallback> for WaitsForTheDead {
    fn on_timer(
        self,
        node: &mut CaoSinghalFallback,
        timer: Timer,
        fx: &mut impl Effects<CaoSinghalFallback>,
    ) {
        if let Some(fallback) = node.fallback() {
            fallback.probed.clear();
        }
        node.on_timer(timer, fx);
    }
}

/// That an arbiter was down means nothing to those who wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RestartUnheeded;

impl Mistake<CaoSinghalFallback> for RestartUnheeded {
    fn on_message(
        self,
        node: &mut CaoSinghalFallback,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghalFallback>,
    ) {
        match message {
            Message::Restarted => {}
            Message::Permit(_) | Message::Withdraw(_) | Message::Probe(_) | Message::Alive(_) => {
                node.on_message(from, message, fx);
            }
        }
    }
}

/// An arbiter answers probes, whatever has become of its permission.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReturnMissed;

impl Mistake<CaoSinghalFallback> for ReturnMissed {
    fn on_message(
        self,
        node: &mut CaoSinghalFallback,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghalFallback>,
    ) {
        match message {
            Message::Probe(time) => fx.send(from, Message::Alive(time)),
            Message::Permit(_) | Message::Withdraw(_) | Message::Alive(_) | Message::Restarted => {
                node.on_message(from, message, fx);
            }
        }
    }
}
