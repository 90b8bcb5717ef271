//! Processes that are killed while the others go on.

use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::{FaultCounts, Faults};
use vorrang_trace::{Record, What};

use super::processes::Recorded;
use crate::failure::Failure;
use crate::problem::Scene;

/// Who is to be killed, and when, counted from when all have met.
#[derive(Debug)]
pub(super) struct Kills {
    /// The next one last.
    to_come: Vec<(Duration, NodeId)>,
    begun: Instant,
}

impl Kills {
    /// Those of a scene, which begins now.
    pub(super) fn of(scene: &impl Scene) -> Self {
        let mut to_come = planned(scene);
        to_come.reverse();
        Self { to_come, begun: Instant::now() }
    }

    /// Who is to be killed by now, if anybody is; to be asked again.
    pub(super) fn due(&mut self) -> Option<NodeId> {
        let &(at, node) = self.to_come.last()?;
        (at <= self.begun.elapsed()).then(|| {
            self.to_come.pop();
            node
        })
    }

    /// How long nothing of the kind happens; none if nothing will.
    pub(super) fn next_in(&self) -> Option<Duration> {
        self.to_come.last().map(|(at, _)| at.saturating_sub(self.begun.elapsed()))
    }
}

/// Where somebody was killed and no message was sent for so long, none will be: who relies on time
/// waits for a few messages of each of the others before it does anything about it.
pub(super) fn patience(scene: &impl Scene) -> Duration {
    let (about, setup) = (scene.about(), scene.setup());
    let least = Duration::from_secs(5);
    if !about.assumes.timely {
        return least;
    }
    let waits = setup.within.saturating_mul(8).saturating_mul(setup.group.size());
    least.saturating_add(waits)
}

/// Who is to be killed, and when, in that order.
pub(super) fn planned(scene: &impl Scene) -> Vec<(Duration, NodeId)> {
    let crashes = scene.between().faults.iter().flat_map(Faults::crashes);
    let mut all: Vec<(Duration, NodeId)> =
        crashes.map(|(at_ns, node)| (Duration::from_nanos(at_ns), node)).collect();
    all.sort_unstable();
    all
}

/// The records of all nodes in the order of their times. Of a node that was killed nobody knows
/// what it did after it was last heard: it is down from there on.
pub(super) fn in_order<P: Protocol>(recorded: Recorded) -> Result<Vec<Record<P>>, Failure> {
    let read = |line: String| {
        serde_json::from_str(&line)
            .map_err(|why| Failure::World(format!("a node says '{line}': {why}")))
    };
    let mut records: Vec<Record<P>> =
        recorded.lines.into_iter().map(read).collect::<Result<_, _>>()?;
    for &(node, at_ns) in &recorded.killed {
        records.push(Record { at_ns, node, what: What::Crash });
    }
    records.sort_by_key(|record| record.at_ns);
    Ok(records)
}

/// What went wrong, if anything was to.
pub(super) fn counts<P: Protocol>(
    scene: &impl Scene,
    records: &[Record<P>],
) -> Option<FaultCounts> {
    scene.between().faults.as_ref()?;
    let crashes = records.iter().filter(|it| it.what == What::Crash).count() as u64;
    Some(FaultCounts { crashes, ..FaultCounts::default() })
}
