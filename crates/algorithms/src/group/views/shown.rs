//! The state of a member of a group, as it is shown.

use vorrang_protocol::{NodeId, NodeState, SortedMap, StateValue};

use super::{Inside, Phase, Views};
use crate::group::decision::Decision;
use crate::group::log::Log;
use crate::group::message::{Entry, Install};
use crate::group::shown::Shown;

/// The view, and what it begins with.
impl<B: Shown, I: Shown> Shown for Install<B, I> {
    fn shown(&self) -> StateValue {
        NodeState::new().with("view", StateValue::shown(&self.view)).and(installed(self)).into()
    }
}

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// The view, this node's place in it, what it knows of others, and how the next is decided.
    pub(super) fn shown(&self) -> NodeState {
        let peers = self.peers.iter().map(|(&id, peer)| {
            (id, peer.incarnation, if peer.wants_out { "leaves" } else { "stays" })
        });
        let early = self.early.iter().map(|(from, it)| (*from, StateValue::shown(it)));
        let founds = self.founding.as_ref().filter(|it| it.founders.contains(&self.me));
        let state = NodeState::new().with("view", StateValue::shown(&self.last.view));
        let state = match &self.inside {
            None => state.with("phase", "outside"),
            Some(inside) => state.and(inside.shown()),
        };
        state
            .with("wants in", self.wants)
            .with("incarnation", self.incarnation)
            .with("suspects", &self.suspects)
            .and(self.claims.state())
            .and(self.voting.state())
            .with("others", StateValue::list(peers))
            .with("for next view", StateValue::list(self.queue.iter().map(Shown::shown)))
            .with("of later views", StateValue::list(early))
            .with("begun with", installed(&self.last))
            .with("founds", founds.map(|founding| founding.view))
            .beneath("decision", self.decision.state())
    }
}

impl<B: Shown, I: Shown> Inside<B, I> {
    fn shown(&self) -> NodeState {
        let phase = match self.phase {
            Phase::Running => "running",
            Phase::Blocking => "blocking",
            Phase::Frozen => "frozen",
        };
        let reports = self.reports.iter().map(|(&id, report)| {
            let entries = report.entries.iter().map(entry);
            let pending = report.pending.iter().map(entry);
            let early = report.early.iter().map(|(place, it)| (*place, entry(it)));
            let report = NodeState::new()
                .with("stable", report.base)
                .with("delivered", StateValue::list(entries))
                .with("early", StateValue::list(early))
                .with("pending", StateValue::list(pending))
                .with("state", report.info.shown());
            (id, report)
        });
        NodeState::new()
            .with("phase", phase)
            .and(self.log.state())
            .with("flush asked by", &self.asked_by)
            .with("flush asked of", &self.asked)
            .with("flushed", StateValue::list(reports))
            .with("proposed", self.has_proposed)
    }
}

impl<B: Shown> Log<B> {
    /// Messages by place, those of the sequencer by sender and number.
    fn state(&self) -> NodeState {
        let early = self.early.iter().map(|(&place, it)| (place, entry(it)));
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|(&(from, number), it)| (from, number, it.shown()));
        let by_node = |counts: &SortedMap<NodeId, u32>| {
            StateValue::list(counts.iter().map(|(&id, &count)| (id, count)))
        };
        NodeState::new()
            .with("stable", self.base)
            .with("delivered", StateValue::list(self.entries.iter().map(entry)))
            .with("early", StateValue::list(early))
            .with("sent", self.sent)
            .with("pending", StateValue::list(self.pending.iter().map(entry)))
            .with("slow", self.is_slow)
            .with("placed", by_node(&self.placed))
            .with("unplaced", StateValue::list(waiting))
            .with("delivered by", by_node(&self.had))
    }
}

/// What a view began with, if it is more than its members.
fn installed<B: Shown, I: Shown>(install: &Install<B, I>) -> NodeState {
    let infos = install.infos.iter();
    let infos = infos.map(|it| (it.of, it.upto, it.info.shown()));
    // The usual first number goes without saying.
    let founded = Some(install.founded).filter(|&founded| founded > 1);
    let state = NodeState::new().with("founded as", founded);
    let state = if install.voters.is_empty() {
        state
    } else {
        let voters = install.voters.iter().map(|it| (it.node, it.since));
        state.with("voters", StateValue::list(voters))
    };
    state
        .with("stable", install.base)
        .with("messages", StateValue::list(install.log.iter().map(entry)))
        .with("states", StateValue::list(infos))
        .with("gone", StateValue::set(install.gone.iter().copied()))
}

fn entry<B: Shown>(entry: &Entry<B>) -> StateValue {
    (entry.from, entry.number, entry.payload.shown()).into()
}
