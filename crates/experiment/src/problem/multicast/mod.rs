//! Reliable multicast: scenario, figures, question to the checker.

mod question;
pub(super) mod scenario;

use std::time::Duration;

use vorrang_algorithms::multicast::card::{Card, Setting};
use vorrang_algorithms::multicast::spec::Deliveries;
use vorrang_algorithms::multicast::{Command, Multicast, Notice, Text};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_check::Ask;
use vorrang_draw::{Look, Mark};
use vorrang_protocol::NodeId;
use vorrang_sim::Distribution;

use self::question::question;
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::multicast::MulticastArgs;
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Drawn, Extremes, Faulted, Networked, Question,
    Role, Simulated, Stepped, Survives, Until,
};
use vorrang_workload::group::Move;
use vorrang_workload::multicast::Tally;
use vorrang_workload::multicast::{MulticastWorkload, in_rounds, shares};

pub use scenario::Scenario;

impl Compared for Multicast {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let nodes = setup.group.size();
        let at = |loss| Setting { setup: setup.clone(), loss, senders: nodes, is_complete: true };
        Ok(Extremes {
            common: format!("--nodes {nodes}, {} ORDER", setup.ordering.name()),
            settings: [("NOTHING LOST", at(0.0)), ("10% LOST", at(0.1))],
        })
    }

    fn contrast(_: &'static Card) -> Axis {
        Axis::losses(["0%", "1%", "10%"])
    }
}

impl Simulated for Multicast {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
    }

    fn monitor(scenario: &Scenario) -> Deliveries {
        scenario.card.watch(&scenario.setup)
    }

    fn workload(scenario: &Scenario) -> MulticastWorkload {
        let said = (scenario.multicasts, scenario.senders);
        let data = scenario.card.terms.data;
        let moves = scenario.moves.iter().map(|it| (it.at_ns, it.node, command(it)));
        MulticastWorkload::new(said, scenario.every, scenario.setup.group.size(), data)
            .moving(moves.collect())
    }

    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.environment.latency.mean_ns()))
    }

    /// Crashed nodes and those that have left multicast nothing more; else all multicasts must have
    /// been made.
    fn undone(scenario: &Scenario, tally: &Tally) -> Option<String> {
        let said = tally.multicasts();
        let crashes =
            scenario.environment.faults.iter().any(|faults| faults.crashes().next().is_some());
        let all_stay = !crashes && scenario.moves.is_empty();
        (said < scenario.multicasts && all_stay).then(|| {
            let all = scenario.multicasts;
            format!("progress: {said} of {all} multicasts were made, and the window is full")
        })
    }
}

impl Faulted for Multicast {
    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator];

    fn survives(_: &'static Card, _: &Setup) -> Survives {
        Survives::LINKS
    }

    fn trials(_: &'static Card, nodes: u32) -> Vec<RunArgs> {
        let few = 2.min(nodes);
        let multicast = MulticastArgs {
            multicasts: Some(3 * u64::from(few)),
            senders: Some(few),
            every: Some(Distribution::Constant(5_000_000)),
        };
        vec![RunArgs { multicast, ..RunArgs::default() }]
    }

    fn activity(said: ApplicationEvent<'_, Command, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Command(Command::Cast(_)) => Some(Activity::Began),
            ApplicationEvent::Command(Command::Leave | Command::Join)
            | ApplicationEvent::Notice(
                Notice::Delivered { .. }
                | Notice::Missed { .. }
                | Notice::Begins { .. }
                | Notice::Removed
                | Notice::Left
                | Notice::Full
                | Notice::Room,
            ) => None,
        }
    }
}

impl Drawn for Multicast {
    fn look(at: NodeId, said: ApplicationEvent<'_, Command, Notice>) -> Look {
        match said {
            ApplicationEvent::Command(Command::Cast(_)) => Look::mark(Mark::Begins("multicasts")),
            ApplicationEvent::Command(Command::Leave) => Look::mark(Mark::Begins("wants to leave")),
            ApplicationEvent::Command(Command::Join) => Look::mark(Mark::Begins("joins again")),
            // That it hears itself is no news.
            ApplicationEvent::Notice(Notice::Delivered { from, .. }) if *from == at => {
                Look::default()
            }
            ApplicationEvent::Notice(Notice::Delivered { .. }) => {
                Look::mark(Mark::Diamond("delivers"))
            }
            ApplicationEvent::Notice(Notice::Missed { .. }) => {
                Look::mark(Mark::Warns("misses something for ever"))
            }
            ApplicationEvent::Notice(Notice::Full) => Look::mark(Mark::Warns("has no room")),
            ApplicationEvent::Notice(Notice::Begins { from, .. }) if *from == at => {
                Look::mark(Mark::Diamond("begins as a new incarnation"))
            }
            ApplicationEvent::Notice(Notice::Removed) => Look::mark(Mark::Warns("was removed")),
            ApplicationEvent::Notice(Notice::Left) => Look::mark(Mark::Diamond("has left")),
            ApplicationEvent::Notice(Notice::Begins { .. } | Notice::Room) => Look::default(),
        }
    }

    fn tokens(_: &'static Card) -> &'static [&'static str] {
        &["TOKEN"]
    }
}

impl Checked for Multicast {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }
}

impl Stepped for Multicast {
    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Deliveries {
        card.watch(setup)
    }

    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        vec![Ask::at_once(Command::Cast(Text::default()))]
    }
}

impl Networked for Multicast {
    fn told(scenario: &Scenario) -> (Vec<(NodeId, Command)>, Until) {
        let speakers = in_rounds(&shares(scenario.multicasts, scenario.senders));
        let casts = speakers.into_iter().map(|at| (at, Command::Cast(Text::default())));
        (casts.collect(), Until::Quiet)
    }

    fn later(scenario: &Scenario) -> Vec<(Duration, NodeId, Command)> {
        let moves = scenario.moves.iter();
        moves.map(|it| (Duration::from_nanos(it.at_ns), it.node, command(it))).collect()
    }

    fn net_figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" us", 1_000.0))
    }
}

/// Whoever moves says so.
fn command(moving: &Move) -> Command {
    if moving.joins { Command::Join } else { Command::Leave }
}
