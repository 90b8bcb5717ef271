//! Cao and Singhal's algorithm with fallback quorums, where the dead are forgotten, or forget.

use core::mem;

use vorrang_protocol::{Effects, Protocol};

use crate::flaw::Mistake;
use crate::mutex::cao_singhal_fallback::{CaoSinghalFallback, Timer};

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
