//! Waves: scenario, figures, and question to the checker.

mod scenario;

use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_algorithms::wave::card::{Card, Setting, Terms};
use vorrang_algorithms::wave::spec::Watch;
use vorrang_algorithms::wave::{Command, Notice, Wave};
use vorrang_catalogue::NodeOf;
use vorrang_check::{Ask, Plan};
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{NodeId, Occurrence, Transition};
use vorrang_sim::Distribution;

use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::{CALM, RunArgs};
use crate::problem::remarks::{nodes_in_words, surroundings};
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Drawn, Extremes, Faulted, Networked, Question,
    Remarks, Role, Simulated, Stepped, Until,
};
use vorrang_workload::wave::Once;
use vorrang_workload::wave::Tally;

pub use scenario::Scenario;

impl Compared for Wave {
    fn extremes(card: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, from) = (setup.group.size(), setup.initiator);
        let topology = setup.topology.in_short();
        let common = format!("--nodes {nodes} --topology {topology} --initiator {from}");
        let here = Setting::new(&setup.topology.graph(setup.group)?, from);
        let (here, complete) =
            (here.working(setup.work), Setting::complete(nodes).working(setup.work));
        Ok(Extremes {
            common: match card.terms {
                Terms::Traversal => common,
                Terms::Termination => format!("{common} --work {}", setup.work),
            },
            settings: [("AS SET UP", here), ("IF COMPLETE", complete)],
        })
    }

    fn contrast(_: &'static Card) -> Axis {
        let shapes = ["ring", "tree:2", "grid", "random:0.2", "complete"];
        Axis::new("topology", shapes, |args, shape| args.setup.say(Parameter::Topology, shape))
    }
}

impl Simulated for Wave {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
    }

    fn monitor(scenario: &Scenario) -> Watch {
        scenario.monitor.clone()
    }

    fn workload(scenario: &Scenario) -> Once {
        Once(scenario.setup.initiator)
    }

    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        let unit = (" T", scenario.environment.latency.mean_ns());
        scenario.figures(tally, unit, |of| scenario.theory(of))
    }
}

impl Faulted for Wave {
    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator];

    fn trials(_: &'static Card, _: u32) -> Vec<RunArgs> {
        [CALM, Distribution::Exponential(1_000_000)].map(RunArgs::taking).to_vec()
    }

    fn activity(said: ApplicationEvent<'_, Command, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Command(Command::Start) => Some(Activity::Began),
            ApplicationEvent::Notice(
                Notice::Joined { .. } | Notice::Worked | Notice::Done(_) | Notice::Over(_),
            ) => None,
        }
    }
}

impl Drawn for Wave {
    fn look(_: NodeId, said: ApplicationEvent<'_, Command, Notice>) -> Look {
        match said {
            ApplicationEvent::Command(Command::Start) => Look::mark(Mark::Begins("begins")),
            ApplicationEvent::Notice(Notice::Joined { parent }) => {
                let parent = Some(parent.index());
                Look { parent, ..Look::mark(Mark::Diamond("joins, below its parent")) }
            }
            ApplicationEvent::Notice(Notice::Worked) => Look::default(),
            ApplicationEvent::Notice(Notice::Done(_) | Notice::Over(_)) => {
                Look::mark(Mark::Star("is done"))
            }
        }
    }
}

impl Checked for Wave {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
        let nodes = args.nodes.unwrap_or_else(|| shown.map_or(3, |shown| shown.nodes));
        let mut setup = args.setup.setup(&card.about(), nodes)?;
        if let Some(shown) = shown.filter(|_| !args.setup.says(Parameter::Topology)) {
            setup.topology = shown.topology.clone();
        }
        let order = args.order(card.assumes.order);
        let turns = setup.group.members().map(|id| Self::turn(card, &setup, id));
        let (about, faults) = (card.about(), args.faults((0, 0)));
        let links = args.links(&about, &setup, order);
        let mut remarks = Remarks::default();
        if nodes == 1 {
            remarks.warnings.push("a single node has no other to reach".to_owned());
        }
        if let (Some(flaw), Some(shown)) = (flaw, shown) {
            let takes = format!("--nodes {} --topology {}", shown.nodes, shown.topology);
            let falls_short = nodes < shown.nodes || setup.topology != *shown.topology;
            remarks.of_flaw(flaw, &takes, falls_short);
        }
        let around = surroundings(&about, &setup, &links, faults);
        Ok(Question {
            plan: Plan::PerNode(turns.collect()),
            monitor: card.watch(&setup).map_err(|unfit| Failure::Usage(unfit.0))?,
            links,
            faults,
            fair: args.demand.fair,
            beat: None,
            properties: ["tree", "decision", "dependence", "aggregate", "termination"]
                .map(str::to_owned)
                .to_vec(),
            covers: format!("{}, {around}", nodes_in_words(nodes as usize)),
            remarks,
            line: args.line(&about, &setup, order),
            setup,
        })
    }
}

impl Stepped for Wave {
    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Watch {
        card.watch(setup).expect("the nodes were made on this graph")
    }

    fn turn(_: &'static Card, setup: &Setup, at: NodeId) -> Vec<Ask<Command>> {
        let starts = at == setup.initiator;
        starts.then(|| Ask::then_wait(Command::Start)).into_iter().collect()
    }

    fn turns_left(steps: &[Transition<NodeOf<Self>>], wanted: u32) -> u32 {
        let has_started = steps.iter().any(|step| match step.what {
            Occurrence::Command { command: Command::Start, .. } => true,
            Occurrence::Deliver { .. }
            | Occurrence::Timer { .. }
            | Occurrence::Crash { .. }
            | Occurrence::Restart { .. }
            | Occurrence::Lose { .. }
            | Occurrence::Duplicate { .. } => false,
        });
        wanted.min(u32::from(!has_started))
    }
}

impl Networked for Wave {
    fn told(scenario: &Scenario) -> (Vec<(NodeId, Command)>, Until) {
        (vec![(scenario.setup.initiator, Command::Start)], Until::Quiet)
    }

    fn net_figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" us", 1_000.0), |of| scenario.theory_over_tcp(of))
    }
}
