//! Known mistakes in the lift.

use vorrang_protocol::{Invariant, NodeId, NodeState};

use crate::mutex::lift::{Calls, Counted, PASSED_OVER, nobody_passed_over_too_often, with};
use crate::mutex::tree_token::{Clients, TreeToken};
use crate::recipe::Recipe;

/// Calls of which the lowest number is always next.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LowestFirst(Calls);

impl Clients for LowestFirst {
    fn remember(&mut self, who: NodeId) {
        self.0.remember(who);
    }
    fn next(&mut self, _: NodeId, _: NodeId) -> Option<NodeId> {
        let Self(Calls(waiting)) = self;
        (!waiting.is_empty()).then(|| waiting.remove(0))
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn state(&self) -> NodeState {
        self.0.state()
    }
}

/// The nodes of a set-up, which keep no bound and are held to it.
pub fn lowest_first() -> Recipe<TreeToken<Counted<LowestFirst>>> {
    const BOUND: &[Invariant<TreeToken<Counted<LowestFirst>>>] =
        &[Invariant { name: PASSED_OVER, holds: nobody_passed_over_too_often }];
    with(|neighbours| Counted::new(LowestFirst::default(), neighbours)).guarded(BOUND)
}
