//! A scenario in the simulator.

use std::time::Instant;

use indicatif::ProgressBar;
use vorrang_algorithms::card::Card;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit};
use vorrang_protocol::Protocol;
use vorrang_sim::{Recorder, Simulation};

use crate::failure::Failure;
use crate::measured::{Clock, Measured};
use crate::output::show_after_a_second;
use crate::workload::Scenario;

/// Runs a scenario in the simulator, where nobody watches.
pub(crate) fn simulate_quietly(scenario: &Scenario) -> Result<Measured, Failure> {
    struct Quietly<'a>(&'a Scenario);

    impl Visit for Quietly<'_> {
        type Output = Result<Measured, Failure>;

        fn visit<P>(self, _: &'static Card, node: impl Make<P>) -> Self::Output
        where
            P: Protocol<Command = Command, Notice = Notice>,
        {
            simulate(self.0, node, (), None).map(|(measured, ())| measured)
        }
    }

    registry::visit(scenario.card.name, scenario.setup, Quietly(scenario))
        .expect("a card's algorithm can be made")
}

/// Runs a scenario in the simulator; the bar counts entries.
pub(crate) fn simulate<P, R>(
    scenario: &Scenario,
    node: impl Make<P>,
    recorder: R,
    bar: Option<&ProgressBar>,
) -> Result<(Measured, R), Failure>
where
    P: Protocol<Command = Command, Notice = Notice>,
    R: Recorder<P>,
{
    const EVENTS_BETWEEN_LOOKS: u64 = 1 << 18;
    let start = Instant::now();
    let mut simulation = Simulation::recorded(
        scenario.setup.group.members().map(node),
        scenario.monitor(),
        scenario.network(),
        scenario.workload(),
        scenario.seed,
        recorder,
    );
    let refused = |error: vorrang_sim::SimError| Failure::Failed(error.to_string());
    while simulation.run_for(EVENTS_BETWEEN_LOOKS).map_err(refused)? {
        if let Some(bar) = bar {
            bar.set_position(simulation.entries());
            show_after_a_second(bar);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = simulation.report();
    let violation = report.first_violation.as_ref().map(|(at_ns, violation)| {
        format!("{violation} (at {})", vorrang_sim::show_duration_ns(*at_ns))
    });
    let overtaken = scenario.card.promises.ordering && report.overtakes.is_some_and(|it| it > 0);
    let ordering = overtaken.then(|| "ordering: a request was overtaken by a later one".to_owned());
    let at_rest = report.at_rest.as_ref().map(ToString::to_string);
    let measured = Measured {
        scenario: scenario.clone(),
        clock: Clock::Simulated,
        overtakes: report.overtakes,
        safe: report.is_safe() && !overtaken,
        quiescent: report.is_quiescent(),
        violation: violation.or(ordering).or(at_rest),
        events: report.events,
        wall_seconds: start.elapsed().as_secs_f64(),
        summary: report.summary,
    };
    Ok((measured, simulation.into_recorder()))
}
