//! A scenario in the simulator.

use std::cell::RefCell;
use std::mem;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::NodeOf;
use vorrang_sim::{FaultCounts, Faults, Recorder, Report, SimError, Simulation};
use vorrang_trace::{End, Ending, Header, Record, Recording};
use vorrang_workload::SimulationOf;

use super::observation::{Observation, RecordSink, RunRecorder};
use super::to_file::ToFile;
use super::{Nodes, ProblemDriver, Scene, SummaryOf};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::progress::Progress;

/// How far a simulation goes.
#[derive(Clone, Copy)]
pub(crate) enum Extent<'a> {
    /// Nowhere: only the names of its figures are wanted.
    Begun,
    /// To its end, told to a bar.
    Over(Option<Progress<'a>>),
}

/// The report of a simulation, and its recorder.
pub(super) type Outcome<Q> = (Report<SummaryOf<Q>>, Option<RunRecorder<Q>>);

/// Runs a scenario and returns its figures. Compiled once for every problem.
pub(crate) fn measure<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
    trace: Option<&Path>,
    until: Extent<'_>,
) -> Result<Measured, Failure> {
    let to_file = |path| ToFile::new(path, &run_header(scenario, ""));
    let file = trace.map(to_file).transpose()?;
    let (measured, witness) = told(scenario, nodes, file.map(RecordSink::File), until)?;
    if let (Some(RecordSink::File(file)), Some(path)) = (witness, trace) {
        file.finish(path, measured.wrong())?;
    }
    Ok(measured)
}

/// The same, with a record of it; also if it ends early because a node refused a command.
pub(crate) fn record<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
) -> Result<Recording, Failure> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let tape = Some(RecordSink::Tape(Arc::clone(&lines)));
    let wrong = match told(scenario, nodes, tape, Extent::Over(None)) {
        Ok((measured, _)) => Some(measured.wrong()),
        Err(Failure::Failed(_)) => None,
        Err(failure) => return Err(failure),
    };
    let lines = mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    let records = lines.len() as u64;
    let ending = match wrong {
        Some(wrong) => Ending::Whole(End { records, wrong, repeats_from: None }),
        None => Ending::CutOff(records),
    };
    Ok(Recording { header: run_header(scenario, ""), lines, ending })
}

/// The same, with all that was asked and told.
pub(crate) fn overhear<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
) -> Result<Vec<Observation>, Failure> {
    let ears = Some(RecordSink::ApplicationEvents(Vec::new()));
    match told(scenario, nodes, ears, Extent::Over(None))? {
        (_, Some(RecordSink::ApplicationEvents(heard))) => Ok(heard),
        (_, Some(RecordSink::File(_) | RecordSink::Tape(_) | RecordSink::Memory(_)) | None) => {
            Ok(Vec::new())
        }
    }
}

/// The same, with all that happened.
pub(crate) fn observe<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
) -> Result<(Measured, Vec<Observation>), Failure> {
    let memory = Some(RecordSink::Memory(Vec::new()));
    match told(scenario, nodes, memory, Extent::Over(None))? {
        (measured, Some(RecordSink::Memory(seen))) => Ok((measured, seen)),
        (
            measured,
            Some(RecordSink::File(_) | RecordSink::Tape(_) | RecordSink::ApplicationEvents(_))
            | None,
        ) => Ok((measured, Vec::new())),
    }
}

/// Runs a scenario before a witness, and says what came of it.
fn told<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
    witness: Option<RecordSink<Q>>,
    until: Extent<'_>,
) -> Result<(Measured, Option<RecordSink<Q>>), Failure> {
    let start = Instant::now();
    let about = scenario.about();
    let (report, told) = simulate(scenario, nodes, witness.map(RunRecorder::of), until)?;
    let violation = report.first_violation.as_ref().map(|(at_ns, violation)| {
        format!("{violation} (at {})", vorrang_protocol::show_duration_ns(*at_ns))
    });
    let complaint = Q::complaint(scenario, &report.summary);
    let undone = Q::undone(scenario, &report.summary).filter(|_| report.is_over);
    let is_done = undone.is_none();
    let at_rest = report.at_rest.as_ref().map(ToString::to_string).or(undone);
    let measured = Measured {
        name: about.name,
        seed: scenario.seed(),
        head: scenario.head(false),
        figures: Q::figures(scenario, &report.summary),
        faults: scenario.faults().map(|_| report.faults),
        safe: report.is_safe() && complaint.is_none(),
        quiescent: report.is_quiescent() && is_done,
        done: (report.progress, scenario.total()),
        violation: violation.or(complaint).or(at_rest).map(|what| match report.faults {
            faults if faults == FaultCounts::default() => what,
            _ => format!("{what}; {}", scenario.caveat()),
        }),
        violated_ns: report.first_violation.as_ref().map(|(at_ns, _)| *at_ns),
        events: report.events,
        wall_seconds: start.elapsed().as_secs_f64(),
        warning: scenario.warning(),
    };
    Ok((measured, told.map(|told| told.witness)))
}

/// Runs a scenario.
fn simulate<Q: ProblemDriver>(
    scenario: &Q::Scenario,
    nodes: &Nodes<Q>,
    recorder: Option<RunRecorder<Q>>,
    until: Extent<'_>,
) -> Result<Outcome<Q>, Failure> {
    let told = recorder.map(|told| Rc::new(RefCell::new(told)));
    let recorder = told
        .as_ref()
        .map(|told| -> Box<dyn Recorder<NodeOf<Q>>> { Box::new(Shared(Rc::clone(told))) });
    let mut simulation: SimulationOf<Q> = Simulation::recorded(
        nodes.population(scenario.between().is_guarded),
        Q::monitor(scenario),
        scenario.network(),
        Q::workload(scenario),
        scenario.seed(),
        recorder,
    )
    .until(scenario.ends_ns());
    if let Some(graph) = scenario.graph().map_err(|unfit| Failure::Usage(unfit.0))? {
        simulation = simulation.on(graph);
    }
    if let Some(routes) = scenario.routes() {
        simulation = simulation.over(routes);
    }
    if let Some(matrix) = scenario.between().matrix() {
        simulation = simulation.taking(matrix);
    }
    // With a mistake, a fault or such options a run may never make progress: that must be detected.
    let may_fail = scenario.between().flaw.is_some() || scenario.may_get_stuck();
    let flawed = may_fail.then(Faults::default);
    if let Some(faults) = scenario.faults().or(flawed) {
        simulation = simulation.with_faults(faults, scenario.seed());
    }
    let ended = match until {
        Extent::Over(bar) => to_the_end::<Q>(&mut simulation, bar),
        Extent::Begun => Ok(()),
    };
    let report = simulation.report();
    // The simulation has the other half of what is shared.
    drop(simulation);
    let mut told = told.and_then(Rc::into_inner).map(RefCell::into_inner);
    if let Some(RunRecorder { witness: RecordSink::File(file) }) = &mut told {
        file.end();
    }
    // Records up to then are kept.
    ended.map(|()| (report, told))
}

/// Who is told of a run, while the simulation has it.
struct Shared<Q: Problem>(Rc<RefCell<RunRecorder<Q>>>);

impl<Q: ProblemDriver> Recorder<NodeOf<Q>> for Shared<Q> {
    fn listens(&self) -> bool {
        true
    }
    fn record(&mut self, record: Record<NodeOf<Q>>) {
        self.0.borrow_mut().record(record);
    }
}

/// Runs it to its end.
fn to_the_end<Q: ProblemDriver>(
    simulation: &mut SimulationOf<Q>,
    bar: Option<Progress<'_>>,
) -> Result<(), Failure> {
    const EVENTS_BETWEEN_LOOKS: u64 = 1 << 18;
    loop {
        match Q::run_for(simulation, EVENTS_BETWEEN_LOOKS) {
            Ok(true) => {}
            Ok(false) => break,
            // Where two are inside, one may well be told to leave when it is not: the run ends
            // here, and what was wrong is the verdict, not what came of it.
            Err(_) if !simulation.report().is_safe() => break,
            Err(error @ SimError::Refused { .. }) => {
                return Err(Failure::Failed(error.to_string()));
            }
            // So long a run was asked for.
            Err(error @ SimError::OutOfTime { .. }) => {
                return Err(Failure::Usage(error.to_string()));
            }
        }
        if let Some(bar) = bar {
            bar(simulation.progress());
        }
    }
    Ok(())
}

/// The header of a trace: the algorithm and its set-up.
pub fn header(about: &About, setup: &Setup) -> Header {
    Header::new(about.name, setup.group.size())
        .with("version", &env!("CARGO_PKG_VERSION"))
        .with("problem", &about.problem)
        .with("setup", &setup.text(about.takes))
}

/// The same of a run that was decided on, in the simulator or over a real network.
pub fn run_header(scene: &impl Scene, net: &str) -> Header {
    let is_real = !net.is_empty();
    let (about, environment, options) = (scene.about(), scene.between(), scene.options(is_real));
    let mut header = header(&about, scene.setup())
        .with("driver", &if is_real { "net" } else { "sim" })
        .with("seed", &scene.seed())
        .with("options", &options)
        .with("command", &format!("vorrang run {}{net} {options}", about.name));
    if let Some(flaw) = environment.flaw {
        header = header.with("flaw", &flaw);
    }
    scene.note(header)
}
