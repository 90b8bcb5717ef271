//! The state of a node that gives and gets locks, as it is shown.

use vorrang_protocol::{NodeState, StateValue};

use super::locking::{Arbiter, Locking, Phase, Request, Structure};
use crate::clock::Clock;

impl<S: Structure> Locking<S> {
    /// What it has asked for, and what it has given as an arbiter: Maekawa's lists.
    pub(super) fn shown(&self) -> NodeState {
        self.request
            .state(self.clock)
            .and(self.arbiter.state("locked for"))
            .and(self.structure.sets())
    }
}

impl Request {
    /// The request, and what its arbiters have said.
    pub(super) fn state(&self, clock: Clock) -> NodeState {
        let Self { phase, locked, failed, inquired } = self;
        phase
            .state()
            .with("clock", clock.now())
            .with("locks", locked)
            .with("failed", failed)
            .with("inquired", inquired)
    }
}

impl Arbiter {
    /// The request that has it, under this name, and the queue, oldest first.
    pub(super) fn state(&self, lock: &'static str) -> NodeState {
        let queue = self.waiting.iter().rev().copied();
        NodeState::new().with(lock, self.lock).with("queue", StateValue::list(queue))
    }
}

impl Phase {
    /// The phase, and the time of the request.
    pub(super) fn state(&self) -> NodeState {
        let (phase, time) = match *self {
            Self::Outside => ("outside", None),
            Self::Waiting(time) => ("waiting", Some(time)),
            Self::Inside(time) => ("inside", Some(time)),
        };
        NodeState::new().with("phase", phase).with("request", time)
    }
}
