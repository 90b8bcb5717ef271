//! Processes that are killed while the others go on, and started again.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Data, NodeId, Protocol};
use vorrang_sim::{Fault, FaultCounts};
use vorrang_trace::{Line, Record, What};

use super::{Counted, News};
use crate::failure::Failure;
use crate::problem::Scene;

/// The records of processes.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Their records, each as a line.
    pub(super) lines: Vec<String>,
    /// The killed nodes, and when they were last heard.
    pub(super) killed: Vec<(NodeId, u64)>,
}

/// What is done to a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ProcessFault {
    /// It is killed.
    Kill(NodeId),
    /// It is started again.
    Restart(NodeId),
}

/// The planned faults, with times from when all are connected; and those done.
#[derive(Debug)]
pub(super) struct Kills {
    /// The next one last.
    to_come: Vec<(Duration, ProcessFault)>,
    begun: Instant,
    killed: BTreeSet<NodeId>,
    /// Those that were started again, and not asked for since.
    restarted: Vec<NodeId>,
    was_killed: BTreeSet<NodeId>,
}

impl Kills {
    /// Those of a scene, which begins now.
    pub(super) fn of(scene: &impl Scene) -> Self {
        let mut to_come = planned(scene);
        to_come.reverse();
        Self {
            to_come,
            begun: Instant::now(),
            killed: BTreeSet::new(),
            restarted: Vec::new(),
            was_killed: BTreeSet::new(),
        }
    }

    /// The nodes that were started again since this was last asked.
    pub(super) fn take_restarted(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.restarted)
    }

    /// Whether any node was killed, be it up again or not.
    pub(super) fn have_struck(&self) -> bool {
        !self.was_killed.is_empty()
    }

    /// How long it has been since all were connected.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The nodes that were killed and are not up again.
    pub(super) const fn killed(&self) -> &BTreeSet<NodeId> {
        &self.killed
    }

    /// Whether a node was killed, be it up again or not.
    pub(super) fn has_killed(&self, node: NodeId) -> bool {
        self.was_killed.contains(&node)
    }

    /// Whether all kills are done.
    pub(super) const fn are_over(&self) -> bool {
        self.to_come.is_empty()
    }

    /// Carries out the kills that are due.
    pub(super) async fn strike(&mut self, nodes: &mut impl Counted) -> Result<(), Failure> {
        while let Some((_, fault)) = self.to_come.pop_if(|(at, _)| *at <= self.begun.elapsed()) {
            match fault {
                ProcessFault::Kill(node) => {
                    nodes.kill(node).await?;
                    self.killed.insert(node);
                    self.was_killed.insert(node);
                }
                ProcessFault::Restart(node) => {
                    nodes.restart(node).await?;
                    self.killed.remove(&node);
                    self.restarted.push(node);
                }
            }
        }
        Ok(())
    }

    /// Carries out kills that are due, and waits for a node to be done, but not for long; returns
    /// which one. The silence of a killed node does not count.
    pub(super) async fn next_done(
        &mut self,
        nodes: &mut impl Counted,
        news: &mut UnboundedReceiver<News>,
        no_longer: Duration,
    ) -> Result<Option<NodeId>, Failure> {
        self.strike(nodes).await?;
        let next = self.to_come.last().map(|(at, _)| at.saturating_sub(self.begun.elapsed()));
        let most = next.unwrap_or(Duration::MAX).min(Duration::from_secs(1)).min(no_longer);
        match timeout(most, news.recv()).await {
            Err(_elapsed) => Ok(None),
            Ok(Some(News::Done(node))) => Ok(Some(node)),
            Ok(Some(News::Entered(_))) => Ok(None),
            // The pipe of a killed process ends, perhaps after the next one has begun.
            Ok(Some(News::Gone(node))) if self.has_killed(node) => Ok(None),
            Ok(Some(News::Gone(node))) => {
                Err(Failure::World(format!("node {node}: its process has gone")))
            }
            Ok(Some(News::Failed(node, _))) if self.killed.contains(&node) => Ok(None),
            Ok(Some(News::Failed(node, why))) => {
                Err(Failure::Failed(format!("node {node}: {why}")))
            }
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

/// The planned faults, in the order of their times.
pub(super) fn planned(scene: &impl Scene) -> Vec<(Duration, ProcessFault)> {
    let script = scene.between().faults.iter().flat_map(|faults| &faults.script);
    let fault = |(at_ns, fault): &(u64, Fault)| {
        let fault = match fault {
            Fault::Crash(node) => ProcessFault::Kill(*node),
            Fault::Restart(node) => ProcessFault::Restart(*node),
            Fault::Pause(_)
            | Fault::Resume(_)
            | Fault::Partition(_)
            | Fault::Heal(_)
            | Fault::Cut(_)
            | Fault::Mend(_)
            | Fault::Slow(_)
            | Fault::Recover(_) => return None,
        };
        Some((Duration::from_nanos(*at_ns), fault))
    };
    let mut all: Vec<(Duration, ProcessFault)> = script.filter_map(fault).collect();
    all.sort_unstable();
    all
}

/// Whether processes are started again.
pub(super) fn restarts(scene: &impl Scene) -> bool {
    planned(scene).iter().any(|(_, fault)| matches!(fault, ProcessFault::Restart(_)))
}

/// Refuses to start a process again whose algorithm is not safe without its memory.
pub(super) fn check<C: Data, N: Data>(
    scene: &impl Scene,
    node: &AnyNode<C, N>,
) -> Result<(), Failure> {
    if !restarts(scene) || node.clone().without_memory(0).is_some() {
        return Ok(());
    }
    let name = scene.about().name;
    Err(Failure::usage(format!(
        "--restart: a process that is started again has lost its memory, and {name} is not safe \
         then, so the others would refuse it; in the simulator nodes keep what must not be lost"
    )))
}

/// The records of all nodes in the order of their times, read by one of their kind. A killed node
/// counts as down from when it was last heard: nobody has seen what it did after that.
pub(super) fn in_order<C: Data, N: Data>(
    node: &AnyNode<C, N>,
    recorded: Recorded,
) -> Result<Vec<Record<AnyNode<C, N>>>, Failure> {
    in_order_by(|line| Record::read_by(node, line), recorded)
}

/// The same, read so.
pub(super) fn in_order_by<C: Data, N: Data>(
    mut read: impl FnMut(&Line) -> serde_json::Result<Record<AnyNode<C, N>>>,
    recorded: Recorded,
) -> Result<Vec<Record<AnyNode<C, N>>>, Failure> {
    let read = |line: String| {
        Line::parse(&line, |_, _, _| None)
            .and_then(|line| read(&line))
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
    let count = |what: &What<P>| records.iter().filter(|it| it.what == *what).count() as u64;
    let (crashes, restarts) = (count(&What::Crash), count(&What::Restart));
    let to_the_dead = unheard(records);
    Some(FaultCounts { crashes, restarts, to_the_dead, ..FaultCounts::default() })
}

/// How many messages to nodes that were killed these are not known to have handled: they came too
/// late, or in the turn in which the node was killed.
fn unheard<P: Protocol>(records: &[Record<P>]) -> u64 {
    let crashed: BTreeSet<NodeId> =
        records.iter().filter(|it| it.what == What::Crash).map(|it| it.node).collect();
    let among =
        |is_one: &dyn Fn(&Record<P>) -> bool| records.iter().filter(|it| is_one(it)).count();
    let sent = among(&|it| matches!(&it.what, What::Send { to, .. } if crashed.contains(to)));
    let heard = among(&|it| crashed.contains(&it.node) && matches!(it.what, What::Receive { .. }));
    sent.saturating_sub(heard) as u64
}
