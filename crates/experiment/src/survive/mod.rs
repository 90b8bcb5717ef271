//! Single-fault injection: some short runs without faults, and for every place where a fault can be
//! injected the same run again, with that one fault.
//!
//! A run is the same for the same options up to where something goes wrong; so the messages and the
//! moments of a run in which all went well are the places to strike, and a run that ends badly is
//! told by the one line that repeats it. Messages that are sent only to recover from a crash are
//! struck in a run with one.

mod after_crash;
mod fault;
mod fault_points;
mod json;
mod on_views;
mod scattered;

use std::cmp::Ordering;
use std::path::Path;
use std::sync::atomic::{self, AtomicU64};

use rayon::prelude::*;
use vorrang_algorithms::card::Order;
use vorrang_protocol::NodeId;

use crate::catalogue::{Entry, Run};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::options::cable::Cable;
use crate::options::fault_args::FaultArgs;
use crate::options::single_fault::SingleFault;
use crate::options::{RunArgs, SetupArgs};
use crate::problem::{InitialRoles, Kinds, Observation, Role};
use crate::progress::Progress;

use scattered::scattered;

pub use fault::Fault;
pub use json::json;

/// In one run, a fault strikes at most so many places of a kind.
pub const MOST: usize = 1000;
/// The same in a hurry.
pub const MOST_QUICK: usize = 20;

/// Under which circumstances.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// How many nodes there are.
    pub nodes: u32,
    /// The set-up of the algorithms.
    pub setup: SetupArgs,
    /// The first seed.
    pub seed: u64,
    /// How many seeds there are.
    pub seeds: u64,
    /// Whether nodes have reliable channels.
    pub reliable: bool,
    /// Whether locks are on views: in all runs, or in a column of their own.
    pub on_views: bool,
    /// Whether nodes crash at every moment in that column: a table of all algorithms has a sample.
    pub every_moment: bool,
    /// How many places of a kind a fault strikes in one run at most.
    pub most: usize,
}

/// In the column of runs on views, so many crashes in a role are injected in a table of all
/// algorithms: most moments differ from the next by a heartbeat.
const MOST_ON_VIEWS: usize = 10;

/// The outcome of a fault, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Safe, and everyone alive was served.
    Fine,
    /// Safe, but a live node waits for ever.
    Stuck,
    /// Something happened that never should.
    Unsafe,
}

impl Verdict {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Stuck => "stuck",
            Self::Unsafe => "unsafe",
        }
    }
}

/// The outcome of all injections of a fault.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The fault.
    pub fault: Fault,
    /// How many ended how, from best to worst.
    counts: [u64; 3],
    /// The worst, and which try it was.
    worst: Option<(Outcome, usize)>,
    /// The run that shows it, if it is not fine.
    pub witness: Option<Witness>,
}

/// How a try ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outcome {
    verdict: Verdict,
    events: u64,
    /// When it was that something happened which never should.
    violated_ns: Option<u64>,
}

impl Outcome {
    fn of(run: Result<Measured, Failure>) -> Result<Self, Failure> {
        match run {
            Ok(measured) => {
                let verdict = match (measured.safe, measured.quiescent) {
                    (false, _) => Verdict::Unsafe,
                    (true, false) => Verdict::Stuck,
                    (true, true) => Verdict::Fine,
                };
                let Measured { events, violated_ns, .. } = measured;
                Ok(Self { verdict, events, violated_ns })
            }
            // A node refused what it should have been ready for.
            Err(Failure::Failed(_)) => {
                Ok(Self { verdict: Verdict::Unsafe, events: 0, violated_ns: None })
            }
            Err(failure) => Err(failure),
        }
    }

    /// Whether it is worse, or as bad and shows it sooner.
    fn is_worse_than(&self, other: &Self) -> bool {
        let sooner = |it: &Self| (it.violated_ns.unwrap_or(u64::MAX), it.events);
        match self.verdict.cmp(&other.verdict) {
            Ordering::Greater => true,
            Ordering::Equal => sooner(self) < sooner(other),
            Ordering::Less => false,
        }
    }
}

/// A run that ended badly.
#[derive(Clone, Debug)]
pub struct Witness {
    args: RunArgs,
    /// The command that repeats it.
    pub line: String,
    /// The violation.
    pub what: String,
    /// How many events the run has.
    pub events: u64,
    /// When it was that something happened which never should.
    pub violated_ns: Option<u64>,
}

impl Cell {
    /// None if there was nothing to try.
    pub fn verdict(&self) -> Option<Verdict> {
        self.worst.map(|(worst, _)| worst.verdict)
    }

    /// How many tries ended so.
    pub const fn count(&self, verdict: Verdict) -> u64 {
        self.counts[verdict as usize]
    }

    /// How often it was tried.
    pub fn tries(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// The outcomes of all faults for an algorithm.
#[derive(Debug)]
pub struct Row {
    /// The algorithm.
    pub entry: &'static Entry,
    /// The outcome of each fault.
    pub cells: Vec<Cell>,
    /// How it was set up.
    setup: String,
    /// How many runs without a fault there were.
    pub runs: usize,
    posts: InitialRoles,
}

impl Row {
    /// The kinds of messages that a fault has not struck, since no run sent any.
    pub fn not_tried(&self, fault: Fault) -> Vec<&'static str> {
        let is_part = |cell: &&Cell| fault != cell.fault && fault.covers(cell.fault);
        let parts = self.cells.iter().filter(is_part).filter(|cell| cell.tries() == 0);
        parts.filter_map(|cell| cell.fault.kind()).collect()
    }

    /// The outcome of a fault.
    pub fn cell(&self, fault: Fault) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.fault == fault)
    }

    /// How it was set up, as it would have to be typed.
    pub fn setup(&self) -> &str {
        &self.setup
    }

    /// Writes the run that shows what a fault does to a file.
    pub fn save(&self, witness: &Witness, path: &Path) -> Result<(), Failure> {
        let saved = self.entry.algorithm.run(&witness.args)?.simulate(Some(path), None);
        match saved {
            // A node refused what it should have been ready for: that is what it shows.
            Ok(_) | Err(Failure::Failed(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The run that shows what a fault does, with all that happened, if it ends badly.
    pub fn observe(&self, witness: &Witness) -> Result<Vec<Observation>, Failure> {
        Ok(self.entry.algorithm.run(&witness.args)?.observe()?.1)
    }
}

/// A run without a fault, and where faults can strike it.
#[derive(Debug)]
struct Trial {
    args: RunArgs,
    points: Vec<(Fault, SingleFault)>,
}

/// All runs of an algorithm, before anything has gone wrong.
#[derive(Debug)]
pub struct Trials {
    entry: &'static Entry,
    runs: Vec<Trial>,
    kinds: Kinds,
    setup: String,
    posts: InitialRoles,
    /// Whether all runs are on views.
    on_views: bool,
}

impl Trials {
    /// Runs the algorithm without faults.
    ///
    /// Options that do not fit are wrong use; a run that ends badly without a fault is a failure.
    pub fn new(entry: &'static Entry, under: &Conditions) -> Result<Self, Failure> {
        let mut this = Self {
            entry,
            runs: Vec::new(),
            kinds: &[],
            setup: String::new(),
            posts: InitialRoles::default(),
            on_views: under.on_views,
        };
        let roles = entry.algorithm.roles();
        for trial in entry.algorithm.trials(under.nodes) {
            for seed in (under.seed..).take(under.seeds as usize) {
                let mut args = trial.clone();
                (args.common.nodes, args.common.seed) = (under.nodes, seed);
                args.common.reliable = under.reliable;
                args.setup = under.setup.clone();
                args.views.on_views = under.on_views;
                let (run, measured, seen) = calm(entry, &args)?;
                (this.kinds, this.posts) = (run.kinds(), run.posts());
                measured.setup().clone_into(&mut this.setup);
                let struck = fault_points::FaultFreeRun {
                    seen: &seen,
                    posts: &this.posts,
                    roles,
                    nodes: under.nodes,
                    any_order: under.reliable
                        || under.on_views
                        || run.about().assumes.order == Order::Any,
                    has_cables: has_cables(entry, &args),
                };
                let points = sampled(&fault_points::all(&struck), under.most);
                let (place, these) = ((&struck, &points[..]), (this.kinds, under.most));
                let of = after_crash::trial(entry, these, &args, place, &this.runs)?;
                this.runs.extend(of);
                if roles.contains(&Role::Holder) && !under.on_views {
                    let most = if under.every_moment { MOST } else { MOST_ON_VIEWS };
                    let most = most.min(under.most);
                    this.runs.extend(on_views::trial(entry, &args, &struck, most)?);
                }
                this.runs.push(Trial { args, points });
            }
        }
        Ok(this)
    }

    /// All faults that there are for it.
    pub fn faults(&self) -> Vec<Fault> {
        Fault::all(self.kinds, self.entry.algorithm.roles())
    }

    /// The same, to be struck by this one only.
    #[must_use]
    pub fn only(mut self, fault: Fault) -> Self {
        for trial in &mut self.runs {
            trial.points.retain(|&(of, _)| fault.covers(of));
        }
        self
    }

    fn tries(&self) -> impl Iterator<Item = (&Trial, Fault, SingleFault)> {
        self.runs.iter().flat_map(|trial| {
            trial.points.iter().map(move |&(fault, mishap)| (trial, fault, mishap))
        })
    }

    /// The summary of outcomes, one of each injection.
    fn row(self, outcomes: &[Outcome]) -> Result<Row, Failure> {
        let tries: Vec<(&Trial, Fault, SingleFault)> = self.tries().collect();
        let cell = |fault: Fault| {
            let mut cell = Cell { fault, counts: [0; 3], worst: None, witness: None };
            for (number, (&(_, of, _), &outcome)) in tries.iter().zip(outcomes).enumerate() {
                if !fault.covers(of) {
                    continue;
                }
                cell.counts[outcome.verdict as usize] += 1;
                if cell.worst.is_none_or(|(worst, _)| outcome.is_worse_than(&worst)) {
                    cell.worst = Some((outcome, number));
                }
            }
            if let Some((worst, number)) = cell.worst
                && worst.verdict > Verdict::Fine
            {
                let (trial, _, mishap) = tries[number];
                cell.witness = Some(self.witness(trial, mishap, worst)?);
            }
            Ok(cell)
        };
        let cells = self.faults().into_iter().map(cell).collect::<Result<_, Failure>>()?;
        let is_column = |it: &&Trial| {
            it.args.views.on_views == self.on_views && it.args.faults.crash.is_empty()
        };
        let runs = self.runs.iter().filter(is_column).count();
        Ok(Row { entry: self.entry, cells, setup: self.setup, runs, posts: self.posts })
    }

    fn witness(
        &self,
        trial: &Trial,
        mishap: SingleFault,
        outcome: Outcome,
    ) -> Result<Witness, Failure> {
        let args = struck(&trial.args, mishap);
        let run = self.entry.algorithm.run(&args)?;
        let name = run.about().name;
        let what = match run.simulate(None, None) {
            Ok(measured) => measured.violation.unwrap_or_default(),
            Err(failure) => failure.to_string(),
        };
        // Its assumptions are on its card.
        let what = match what.split_once(&format!("; {name} assumes ")) {
            Some((what, _)) => what.to_owned(),
            None => what,
        };
        let line = format!("vorrang run {name} {}", run.options(false));
        let Outcome { events, violated_ns, .. } = outcome;
        Ok(Witness { args, line, what, events, violated_ns })
    }
}

/// A run, what it came to, and all that happened.
type Calm = (Box<dyn Run>, Measured, Vec<Observation>);

/// A run in which all goes well: if it does not, that is a failure.
fn calm(entry: &Entry, args: &RunArgs) -> Result<Calm, Failure> {
    let run = entry.algorithm.run(args)?;
    let (measured, seen) = run.observe()?;
    if !measured.is_fine() {
        let why = measured.violation.as_deref().unwrap_or("it does not come to rest");
        let name = run.about().name;
        return Err(Failure::Failed(format!(
            "{name} goes wrong by itself: {why}\n  vorrang run {name} {}",
            run.options(false)
        )));
    }
    Ok((run, measured, seen))
}

/// The same run, with one fault more.
fn struck(args: &RunArgs, mishap: SingleFault) -> RunArgs {
    let mut faults = FaultArgs::from(mishap);
    faults.crash.extend_from_slice(&args.faults.crash);
    let mut struck = RunArgs { faults, ..args.clone() };
    if let SingleFault::Unplug(node, at_ns) = mishap {
        struck.election.unplug.push((Cable::Device(node), at_ns));
    }
    struck
}

/// Whether cables of the first device can be pulled out in this run: other algorithms refuse that.
fn has_cables(entry: &Entry, args: &RunArgs) -> bool {
    let elects = Fault::columns(entry.algorithm.roles()).contains(&Fault::Unplug);
    elects && entry.algorithm.run(&struck(args, SingleFault::Unplug(NodeId(0), 1))).is_ok()
}

/// At most so many places for every fault.
fn sampled(all: &[(Fault, SingleFault)], most: usize) -> Vec<(Fault, SingleFault)> {
    let mut faults: Vec<Fault> = Vec::new();
    for (fault, _) in all {
        if !faults.contains(fault) {
            faults.push(*fault);
        }
    }
    let of = |fault: Fault| -> Vec<(Fault, SingleFault)> {
        let places: Vec<_> = all.iter().copied().filter(|it| it.0 == fault).collect();
        fault_points::spread(&places, most)
    };
    faults.into_iter().flat_map(of).collect()
}

/// How many runs it takes to let every fault strike.
pub fn tries(all: &[Trials]) -> u64 {
    all.iter().map(|of| of.tries().count() as u64).sum()
}

/// Lets every fault strike, on all cores, and tells how many runs are over.
pub fn strike(all: Vec<Trials>, progress: Progress<'_>) -> Result<Vec<Row>, Failure> {
    let tries: Vec<(&Entry, &Trial, SingleFault)> = all
        .iter()
        .flat_map(|of| of.tries().map(|(trial, _, mishap)| (of.entry, trial, mishap)))
        .collect();
    let over = AtomicU64::new(0);
    let one = |place: usize| {
        let (entry, trial, mishap) = tries[place];
        let run = entry.algorithm.run(&struck(&trial.args, mishap))?;
        let ended = run.simulate(None, None);
        progress(over.fetch_add(1, atomic::Ordering::Relaxed) + 1);
        Ok((place, Outcome::of(ended)?))
    };
    let order = scattered(tries.len());
    let mut outcomes = order.into_par_iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
    outcomes.sort_unstable_by_key(|(place, _)| *place);
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    let mut rest = &outcomes[..];
    let mut rows = Vec::new();
    for of in all {
        let (mine, others) = rest.split_at(of.tries().count());
        rest = others;
        rows.push(of.row(mine)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::problem::{Activity, doing};

    /// Whether everyone who enters has a token, if these messages carry it.
    fn has_token_inside(seen: &[Observation], tokens: &'static [&'static str]) -> bool {
        let posts = InitialRoles { coordinators: Vec::new(), tokens };
        let (roles, nodes) = (&[Role::Idle][..], 5);
        let run = fault_points::FaultFreeRun {
            seen,
            posts: &posts,
            roles,
            nodes,
            any_order: true,
            has_cables: false,
        };
        let mut group = fault_points::Group::new(&run);
        seen.iter().all(|it| {
            group.see(it);
            let enters = doing(it) == Some(Activity::IsInside);
            !enters || group.has_token(it.node)
        })
    }

    #[test]
    fn whoever_is_inside_has_the_token_that_the_card_tells_of() {
        let tree = ["raymond", "echo-lift", "elected-lift"];
        let tokens = [&["token-ring", "suzuki-kasami", "singhal"][..], &tree].concat();
        let (mut found, mut objections) = (Vec::new(), 0);
        let named = |name| lookup::algorithm(name).unwrap();
        for entry in ["central"].into_iter().chain(tokens.iter().copied()).map(named) {
            for mut args in entry.algorithm.trials(5) {
                args.common.nodes = 5;
                let run = entry.algorithm.run(&args).unwrap();
                let tokens = run.posts().tokens;
                let name = run.about().name;
                assert!(tokens.iter().all(|it| run.kinds().contains(it)), "{name}: {tokens:?}");
                let (_, seen) = run.observe().unwrap();
                if tokens.is_empty() {
                    continue;
                }
                assert!(has_token_inside(&seen, tokens), "{name}");
                found.push(name);
                // Where messages are named that carry none, somebody is inside without.
                assert!(!has_token_inside(&seen, &[]), "{name}");
                objections += usize::from(!has_token_inside(&seen, &["REQUEST"]));
            }
        }
        found.dedup();
        assert_eq!(found, tokens);
        assert!(objections > 10, "{objections}");
    }

    #[test]
    fn of_bad_outcomes_the_one_that_shows_it_sooner_is_kept() {
        let of = |verdict, events, violated_ns| Outcome { verdict, events, violated_ns };
        let fine = of(Verdict::Fine, 1, None);
        let (short, long) = (of(Verdict::Stuck, 5, None), of(Verdict::Stuck, 6, None));
        let (soon, late) = (of(Verdict::Unsafe, 9, Some(1)), of(Verdict::Unsafe, 2, Some(3)));
        let order = [fine, long, short, late, soon];
        for (index, worse) in order.iter().enumerate() {
            for other in &order[..index] {
                assert!(worse.is_worse_than(other) && !other.is_worse_than(worse), "{worse:?}");
            }
        }
    }

    #[test]
    fn a_fault_of_any_message_covers_those_of_a_kind() {
        let lose = |kind| Fault::Lose(kind);
        assert!(lose(None).covers(lose(Some("A"))) && !lose(Some("A")).covers(lose(Some("B"))));
        assert!(!lose(None).covers(Fault::Reorder(Some("A"))));
        let names: Vec<String> =
            Fault::all(&["A"], &[Role::Idle]).iter().map(ToString::to_string).collect();
        let known = ["lose", "lose:A", "duplicate", "duplicate:A", "reorder", "reorder:A"];
        assert_eq!(names[..6], known);
        assert_eq!(names[6..], ["crash-idle"]);
    }
}
