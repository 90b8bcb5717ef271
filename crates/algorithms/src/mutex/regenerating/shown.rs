//! The state of a node, as it is shown.

use vorrang_protocol::{NodeState, Protocol as _, StateValue};

use super::{Application, Regenerating, Renewable, Work};

impl<P: Renewable> Regenerating<P> {
    /// The algorithm's own variables number the nodes as `members` does, from 0.
    pub(super) fn shown(&self) -> NodeState {
        let application = match self.application {
            Application::Outside => "outside",
            Application::Waits => "waiting",
            Application::Inside => "inside",
        };
        let state = NodeState::new()
            .with("application", application)
            .with("generation", (self.generation.number, self.generation.by))
            .with("asks for token", self.asks);
        let state = match &self.work {
            Work::Goes { members, node } => state
                .with("members", StateValue::list(members.iter().copied()))
                .beneath("lock", node.state()),
            Work::Stopped { has, early } => {
                let early = early.iter().map(|(from, message)| (*from, StateValue::shown(message)));
                state.with("stopped with token", *has).with("early", StateValue::list(early))
            }
        };
        let census = self.census.as_ref().map(|census| {
            let has = census.has.iter().map(|(&node, &has)| (node, has));
            NodeState::new()
                .with("has token", StateValue::list(has))
                .with("again", census.again)
                .with("asked twice", census.asked_twice)
        });
        state.beneath("election", self.election.state()).with("census", census)
    }
}
