//! The state of a node of an algorithm on views, as it is shown.

use vorrang_protocol::{NodeState, Protocol as _, StateValue};

use super::{Application, Exclusive, Locks, Work};

impl<P: Exclusive> Locks<P> {
    /// The application, the algorithm inside the view (which numbers nodes as `members` does, from
    /// 0), the lease, and the views below.
    pub(super) fn shown(&self) -> NodeState {
        let (application, claim, since) = match self.application {
            Application::Outside => ("outside", None, None),
            Application::Waits { claim, since } => ("waiting", Some(claim), Some(since)),
            Application::Inside(claim) => ("inside", Some(claim), None),
            Application::Evicted => ("evicted", None, None),
        };
        let early = self.early.iter().flat_map(|(&view, heard)| {
            heard.iter().map(move |(from, word)| (view, *from, StateValue::shown(word)))
        });
        let state = NodeState::new()
            .with("application", application)
            .with("claim", claim.map(|claim| StateValue::shown(&claim)))
            .with("since", since)
            .with("entries", self.clock.now());
        let state = match &self.work {
            None => state,
            Some(work) => state.and(work.shown()),
        };
        let state = match &self.lease {
            None => state,
            Some(_) => state.with("lease", self.tenure.state()),
        };
        state.with("early locks", StateValue::list(early)).beneath("group", self.views.state())
    }
}

impl<P: Exclusive> Work<P> {
    fn shown(&self) -> NodeState {
        NodeState::new()
            .with("in view", self.view)
            .with("members", StateValue::list(self.members.iter().copied()))
            .with("inside before", &self.inside)
            .with("must wait", self.is_early)
            .with("granted", self.is_granted)
            .beneath("lock", self.node.state())
    }
}
