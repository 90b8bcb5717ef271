//! Failure detection: scenario, figures, question to the checker.

mod question;
mod scenario;

use std::time::Duration;

use vorrang_algorithms::detection::card::{Card, Jitter, Setting};
use vorrang_algorithms::detection::spec::Suspicions;
use vorrang_algorithms::detection::{Command, Detection, Notice};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_check::Ask;
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{NodeId, show_duration_ns};
use vorrang_sim::Distribution;

use self::question::question;
use self::scenario::{USUAL_BEATS, jitter};
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::{CALM, LastingArgs, RunArgs};
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Drawn, Extremes, Faulted, Networked, Question,
    Role, Simulated, Stepped, Survives, Until,
};
use vorrang_workload::detection::NoWorkload;
use vorrang_workload::detection::Tally;

pub use scenario::Scenario;

impl Compared for Detection {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, last) = (setup.group.size(), NodeId(setup.group.size() - 1));
        let unit = Duration::from_millis(1);
        let crash = |at: Duration| Setting {
            setup: setup.clone(),
            lasts: setup.beat * USUAL_BEATS,
            jitter: Some(Jitter { longest: unit, spread: Duration::ZERO }),
            crashes: vec![(last, at)],
        };
        let beats = setup.beat * 10;
        Ok(Extremes {
            common: format!("--nodes {nodes}, {USUAL_BEATS} BEATS, T = 1ms, A CRASH"),
            settings: [
                ("JUST BEFORE A HEARTBEAT", crash(beats)),
                ("JUST AFTER", crash(beats + Duration::from_nanos(1))),
            ],
        })
    }

    fn contrast(_: &'static Card) -> Axis {
        let latencies = [
            Distribution::Constant(1_000_000),
            Distribution::Uniform(0, 2_000_000),
            Distribution::Exponential(1_000_000),
        ];
        Axis::new("latency", latencies, |args, latency| args.common.latency = Some(*latency))
    }
}

impl Simulated for Detection {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
    }

    fn monitor(scenario: &Scenario) -> Suspicions {
        Suspicions::new(scenario.setup.group, scenario.allowed()).cut_off()
    }

    fn workload(_: &Scenario) -> NoWorkload {
        NoWorkload
    }

    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.environment.latency.mean_ns()))
    }

    /// A live node is heard within a heartbeat interval and a message delay: an older suspicion is
    /// not taken back by the next heartbeat.
    fn complaint(scenario: &Scenario, tally: &Tally) -> Option<String> {
        scenario.allowed()?;
        let longest = jitter(&scenario.environment.latency)?.longest;
        let setup = &scenario.setup;
        let heard = setup.beat.saturating_add(setup.late).saturating_add(longest);
        let (at, of, since_ns) = tally.oldest_wrong()?;
        let lasted = scenario.lasts.saturating_sub(Duration::from_nanos(since_ns));
        (lasted > heard).then(|| {
            format!(
                "accuracy: node {at} suspects node {of}, which is up, since {}",
                show_duration_ns(since_ns)
            )
        })
    }
}

impl Faulted for Detection {
    const ROLES: &'static [Role] = &[Role::Other];

    fn survives(_: &'static Card, setup: &Setup) -> Survives {
        Survives { down: setup.group.size() - 1, ..Survives::LINKS }
    }

    fn trials(_: &'static Card, _: u32) -> Vec<RunArgs> {
        let lasting = LastingArgs { lasting: Some(Duration::from_millis(20)) };
        vec![RunArgs { lasting, ..RunArgs::taking(CALM) }]
    }

    fn activity(said: ApplicationEvent<'_, Command, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Command(command) => match *command {},
            ApplicationEvent::Notice(Notice::Suspect(_) | Notice::Trust(_)) => None,
        }
    }
}

impl Drawn for Detection {
    fn look(_: NodeId, said: ApplicationEvent<'_, Command, Notice>) -> Look {
        match said {
            ApplicationEvent::Command(command) => match *command {},
            ApplicationEvent::Notice(Notice::Suspect(_)) => Look::mark(Mark::Warns("suspects")),
            ApplicationEvent::Notice(Notice::Trust(_)) => Look::mark(Mark::Diamond("trusts again")),
        }
    }
}

impl Checked for Detection {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }
}

impl Stepped for Detection {
    fn staged(_: &'static Card, setup: &Setup, _: Option<&str>) -> Suspicions {
        Suspicions::new(setup.group, None)
    }

    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        Vec::new()
    }
}

impl Networked for Detection {
    fn told(scenario: &Scenario) -> (Vec<(NodeId, Command)>, Until) {
        (Vec::new(), Until::Over(scenario.lasts))
    }

    fn net_figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" us", 1_000.0))
    }
}
