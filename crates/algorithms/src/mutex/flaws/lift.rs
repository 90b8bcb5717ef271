//! What people get wrong in the lift.

use vorrang_protocol::{Invariant, NodeId};

use crate::mutex::lift::{Calls, PASSED_OVER, nobody_passed_over_too_often, with};
use crate::mutex::tree_token::{Clients, TreeToken};
use crate::registry::Recipe;

/// Calls of which the lowest number is always next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LowestFirst(Calls);

impl Clients for LowestFirst {
    fn remember(&mut self, who: NodeId) {
        self.0.remember(who);
    }
    fn next(&mut self, _: NodeId) -> Option<NodeId> {
        (!self.0.waiting.is_empty()).then(|| self.0.serve(0))
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The nodes of a set-up, which keep no bound and are held to it.
pub fn lowest_first() -> Recipe<TreeToken<LowestFirst>> {
    const BOUND: &[Invariant<TreeToken<LowestFirst>>] = &[Invariant {
        name: PASSED_OVER,
        holds: |at| nobody_passed_over_too_often(at, |LowestFirst(calls)| calls),
    }];
    with(|neighbours| LowestFirst(Calls::new(neighbours))).guarded(BOUND)
}
