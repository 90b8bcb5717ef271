//! Processes that are killed while the others go on.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Data, NodeId, Protocol};
use vorrang_sim::{FaultCounts, Faults};
use vorrang_trace::{Line, Record, What};

use super::processes::Recorded;
use super::{Counted, News};
use crate::failure::Failure;
use crate::problem::Scene;

/// The planned kills, with times from when all are connected; and those done.
#[derive(Debug)]
pub(super) struct Kills {
    /// The next one last.
    to_come: Vec<(Duration, NodeId)>,
    begun: Instant,
    killed: BTreeSet<NodeId>,
}

impl Kills {
    /// Those of a scene, which begins now.
    pub(super) fn of(scene: &impl Scene) -> Self {
        let mut to_come = planned(scene);
        to_come.reverse();
        Self { to_come, begun: Instant::now(), killed: BTreeSet::new() }
    }

    /// The killed nodes.
    pub(super) const fn killed(&self) -> &BTreeSet<NodeId> {
        &self.killed
    }

    /// Whether all kills are done.
    pub(super) const fn are_over(&self) -> bool {
        self.to_come.is_empty()
    }

    /// Carries out the kills that are due.
    pub(super) async fn strike(&mut self, nodes: &mut impl Counted) -> Result<(), Failure> {
        while let Some((_, node)) = self.to_come.pop_if(|(at, _)| *at <= self.begun.elapsed()) {
            nodes.kill(node).await?;
            self.killed.insert(node);
        }
        Ok(())
    }

    /// Carries out kills that are due, and waits for a node to be done, but not for long; returns
    /// which one. The silence of a killed node does not count.
    pub(super) async fn next_done(
        &mut self,
        nodes: &mut impl Counted,
        news: &mut UnboundedReceiver<News>,
    ) -> Result<Option<NodeId>, Failure> {
        self.strike(nodes).await?;
        let next = self.to_come.last().map(|(at, _)| at.saturating_sub(self.begun.elapsed()));
        let most = next.unwrap_or(Duration::MAX).min(Duration::from_secs(1));
        match timeout(most, news.recv()).await {
            Err(_elapsed) => Ok(None),
            Ok(Some(News::Done(node))) => Ok(Some(node)),
            Ok(Some(News::Failed(node, _))) if self.killed.contains(&node) => Ok(None),
            Ok(Some(News::Failed(node, why))) => Err(Failure::World(format!("node {node}: {why}"))),
            Ok(None) => Err(Failure::World("all nodes have gone".to_owned())),
        }
    }
}

/// After a kill, a silence of this length ends the run: time-outs are a few message delays for each
/// of the other nodes.
pub(super) fn patience(scene: &impl Scene) -> Duration {
    let (about, setup) = (scene.about(), scene.setup());
    let least = Duration::from_secs(5);
    if !about.assumes.timely {
        return least;
    }
    let waits = setup.within.saturating_mul(8).saturating_mul(setup.group.size());
    least.saturating_add(waits)
}

/// The planned kills, in the order of their times.
pub(super) fn planned(scene: &impl Scene) -> Vec<(Duration, NodeId)> {
    let crashes = scene.between().faults.iter().flat_map(Faults::crashes);
    let mut all: Vec<(Duration, NodeId)> =
        crashes.map(|(at_ns, node)| (Duration::from_nanos(at_ns), node)).collect();
    all.sort_unstable();
    all
}

/// The records of all nodes in the order of their times, read by one of their kind. The events of a
/// killed node after it was last heard are unknown: it counts as down from there on.
pub(super) fn in_order<C: Data, N: Data>(
    node: &AnyNode<C, N>,
    recorded: Recorded,
) -> Result<Vec<Record<AnyNode<C, N>>>, Failure> {
    let read = |line: String| {
        Line::parse(&line, |_, _, _| None)
            .and_then(|line| Record::read_by(node, &line))
            .map_err(|why| Failure::World(format!("a node says '{line}': {why}")))
    };
    let mut records = recorded.lines.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    for &(node, at_ns) in &recorded.killed {
        records.push(Record { at_ns, node, what: What::Crash });
    }
    records.sort_by_key(|record| record.at_ns);
    Ok(records)
}

/// The kills, if any were planned.
pub(super) fn counts<P: Protocol>(
    scene: &impl Scene,
    records: &[Record<P>],
) -> Option<FaultCounts> {
    scene.between().faults.as_ref()?;
    let crashes = records.iter().filter(|it| it.what == What::Crash).count() as u64;
    Some(FaultCounts { crashes, ..FaultCounts::default() })
}
