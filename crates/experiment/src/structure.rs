//! All that is known of an information structure: its sets, whether it is safe, what an entry costs
//! and how long it is from one node's exit to another's entry, by the theory and measured.

use serde_json::{Value, json};
use vorrang_algorithms::mutex::{Claim, Command, Mutex};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_algorithms::structure::bounds::{delay, informed_by, messages, published_delay};
use vorrang_algorithms::structure::{Sets, Structures, safety};
use vorrang_protocol::{Group, NodeId, NodeSet};
use vorrang_sim::{Distribution, Load, Network, Simulation, Turns};
use vorrang_trace::Summary;
use vorrang_workload::mutex::Users;
use vorrang_workload::{Simulated, SimulationOf};

use crate::failure::Failure;

/// T, in nanoseconds.
const T: u64 = 1_000;

/// A run for every two nodes is made up to so many.
pub const MOST_MEASURED: u32 = 32;

/// Entries of a run in which everybody always wants in.
const ENTRIES: u64 = 1_000;

/// The findings.
#[derive(Clone, Debug)]
pub struct Report {
    structure: Structures,
    /// The sets of every node.
    pub sets: Vec<Sets>,
    /// Who informs each of its exit: St.
    pub informed_by: Vec<NodeSet>,
    /// The messages of an entry of each, at least and at most.
    pub bounds: Vec<(u32, u32)>,
    /// Why two could be inside together, if they could.
    pub unsafe_because: Option<String>,
    /// What was measured, if it is safe and not too large.
    pub measured: Option<Measured>,
}

/// What runs come to.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The messages of an entry of each node if nobody else wants in.
    pub alone: Vec<u64>,
    /// In T: from the exit of a node (row) to the entry of one that waits (column), if nobody else
    /// wants in. The diagonal is 0.
    pub delays: Vec<Vec<f64>>,
    /// The messages of an entry if everybody always wants in.
    pub saturated: Option<f64>,
}

impl Report {
    /// All that can be said of a structure of so many nodes.
    ///
    /// # Errors
    ///
    /// If there is no such structure.
    pub fn new(structure: &Structures, group: Group, quorums: &Quorums) -> Result<Self, Failure> {
        let usage = |unfit: Unfit| Failure::Usage(unfit.0);
        let sets = structure.unchecked(group, quorums).map_err(usage)?;
        let informed_by = informed_by(&sets);
        let bounds = (0..).map(NodeId).zip(&sets);
        let bounds = bounds.map(|(id, it)| messages(id, it, &informed_by)).collect();
        let unsafe_because = safety(&sets).err();
        let mut report = Self {
            structure: structure.clone(),
            sets,
            informed_by,
            bounds,
            unsafe_because,
            measured: None,
        };
        if report.unsafe_because.is_none() && group.size() <= MOST_MEASURED {
            let (structure, quorum) = (structure.clone(), quorums.clone());
            let setup = Setup { structure, quorum, ..Setup::new(group) };
            report.measured = Some(measured(&setup)?);
        }
        Ok(report)
    }

    /// D, as it is published: at most so many T from the exit of a node (row) to the entry of one
    /// that waits (column).
    pub fn published(&self) -> Vec<Vec<u32>> {
        self.matrix(published_delay)
    }

    /// The same, exactly.
    pub fn expected(&self) -> Vec<Vec<u32>> {
        self.matrix(delay)
    }

    fn matrix(&self, of: fn(&[Sets], NodeId, NodeId) -> u32) -> Vec<Vec<u32>> {
        let all = || (0..self.sets.len() as u32).map(NodeId);
        all().map(|from| all().map(|to| of(&self.sets, from, to)).collect()).collect()
    }

    /// Two nodes of which the second waits longer than D says, and whom the first informs and the
    /// second only asks.
    pub fn longer(&self) -> Option<(NodeId, NodeId, NodeId)> {
        let all = || (0..self.sets.len() as u32).map(NodeId);
        all().flat_map(|from| all().map(move |to| (from, to))).find_map(|(from, to)| {
            if delay(&self.sets, from, to) <= published_delay(&self.sets, from, to) {
                return None;
            }
            let asked = &self.sets[to.index()].asks;
            let third = |it: &&NodeId| **it != from && **it != to && asked.contains(it);
            Some((from, to, *self.sets[from.index()].informs.iter().find(third)?))
        })
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let ids = |nodes: &[NodeId]| nodes.iter().map(|id| id.0).collect::<Vec<_>>();
        let node = |(place, sets): (usize, &Sets)| {
            let told: Vec<u32> = self.informed_by[place].iter().map(|id| id.0).collect();
            json!({
                "asks": ids(&sets.asks),
                "informs": ids(&sets.informs),
                "informed_by": told,
                "messages_min": self.bounds[place].0,
                "messages_max": self.bounds[place].1,
                "messages_alone": self.measured.as_ref().map(|it| it.alone[place]),
            })
        };
        let measured = self.measured.as_ref();
        json!({
            "structure": self.structure.to_string(),
            "nodes": self.sets.len(),
            "sets": self.sets.iter().enumerate().map(node).collect::<Vec<_>>(),
            "safe": self.unsafe_because.is_none(),
            "unsafe_because": self.unsafe_because,
            "delay_published": self.published(),
            "delay_expected": self.expected(),
            "delay_measured": measured.map(|it| &it.delays),
            "messages_saturated": measured.and_then(|it| it.saturated),
        })
    }
}

/// Runs Sanders' algorithm on the structure: every node alone, every two, and all.
fn measured(setup: &Setup) -> Result<Measured, Failure> {
    let all = || setup.group.members();
    // The first is long inside when the second asks, and stays until nothing else is under way.
    let [asks, then, leaves, again] = [0, 10 * T, 30 * T, 60 * T];
    let acquire = Command::Acquire(Claim::Exclusive);
    let mut alone = Vec::new();
    let mut delays = Vec::new();
    for from in all() {
        let script = vec![(asks, from, acquire), (leaves, from, Command::Release)];
        alone.push(run(setup, turns(Load::Script(script)))?.messages);
        let mut row = Vec::new();
        for to in all() {
            if from == to {
                row.push(0.0);
                continue;
            }
            let script = vec![
                (asks, from, acquire),
                (then, to, acquire),
                (leaves, from, Command::Release),
                (again, to, Command::Release),
            ];
            let summary = run(setup, turns(Load::Script(script)))?;
            // The second was waiting at the exit: there is just one delay.
            row.push(summary.sync_delay_mean_ns.unwrap_or(f64::NAN) / T as f64);
        }
        delays.push(row);
    }
    let heavy = Load::Closed { think: Distribution::Constant(0) };
    let heavy = turns(heavy).entries(ENTRIES).hold(Distribution::Constant(T));
    let summary = run(setup, heavy)?;
    let saturated = (summary.entries > 0).then(|| summary.messages as f64 / summary.entries as f64);
    Ok(Measured { alone, delays, saturated })
}

fn turns(load: Load<Command>) -> Turns<Command> {
    Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release)
}

fn run(setup: &Setup, turns: Turns<Command>) -> Result<Summary, Failure> {
    let wrong = |unfit: Unfit| Failure::Usage(unfit.0);
    let entry = vorrang_catalogue::find::<Mutex>("sanders", None).map_err(wrong)?;
    let network = Network { latency: Distribution::Constant(T), order: vorrang_sim::Order::Any };
    let mut simulation: SimulationOf<Mutex> = Simulation::recorded(
        entry.population(setup).map_err(wrong)?,
        (Some(entry.card.exclusion(setup)), None),
        network,
        Users { turns, numbered: None },
        1,
        None,
    );
    while Mutex::run_for(&mut simulation, u64::MAX)
        .map_err(|error| Failure::Failed(error.to_string()))?
    {}
    let report = simulation.report();
    match report.first_violation {
        Some((_, violation)) => Err(Failure::Failed(violation.to_string())),
        None => Ok(report.summary.turns),
    }
}
