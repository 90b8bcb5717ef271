//! Group communication: scenario, figures, appearance.

mod question;
mod scenario;

use std::time::Duration;

use vorrang_algorithms::group::card::{Card, Setting};
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::spec::WithSuspicions;
use vorrang_algorithms::group::{Command, GroupCommunication, Notice};
use vorrang_algorithms::setup::{Detector, Setup, Unfit};
use vorrang_check::Ask;
use vorrang_draw::{Bar, Look, Mark};
use vorrang_protocol::NodeId;
use vorrang_sim::Distribution;

use self::question::question;
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::group::GroupArgs;
use crate::options::multicast::MulticastArgs;
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Drawn, Extremes, Faulted, Networked, Question,
    Role, Simulated, Stepped, Survives, Until,
};
use vorrang_workload::group::Tally;
use vorrang_workload::group::{GroupWorkload, Move};
use vorrang_workload::multicast::{in_rounds, shares};

pub use scenario::Scenario;

impl Compared for GroupCommunication {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let nodes = setup.group.size();
        let of = |by_sequencer: bool| Setting {
            setup: setup.clone(),
            by_sequencer: u32::from(by_sequencer),
            by_others: u32::from(!by_sequencer),
            lowest_goes: by_sequencer,
        };
        Ok(Extremes {
            common: format!("--nodes {nodes}, ONE WHO MULTICASTS OR GOES"),
            settings: [("BY THE SEQUENCER", of(true)), ("BY ANOTHER", of(false))],
        })
    }

    fn contrast(_: &'static Card) -> Axis {
        Axis::losses(["0%", "1%", "5%"])
    }
}

impl Simulated for GroupCommunication {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
    }

    fn monitor(scenario: &Scenario) -> WithSuspicions {
        scenario.card.watch(&scenario.setup)
    }

    fn workload(scenario: &Scenario) -> GroupWorkload {
        let said = (shares(scenario.multicasts, scenario.senders), scenario.every);
        let who = (scenario.setup.group.size(), scenario.setup.founders);
        let moves = (scenario.moves.clone(), scenario.calm());
        GroupWorkload::new(said, who, moves, scenario.card.terms.beats)
    }

    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.environment.latency.mean_ns()))
    }

    /// Nodes that are down or have left multicast nothing more; else all multicasts must have been
    /// made.
    fn undone(scenario: &Scenario, tally: &Tally) -> Option<String> {
        let said = tally.multicasts();
        let crashes =
            scenario.environment.faults.iter().any(|faults| faults.crashes().next().is_some());
        let all_stay = !crashes && scenario.moves.iter().all(|it| it.joins);
        (said < scenario.multicasts && all_stay).then(|| {
            let all = scenario.multicasts;
            format!("progress: {said} of {all} multicasts were made")
        })
    }
}

impl Faulted for GroupCommunication {
    const ROLES: &'static [Role] = &[Role::Other, Role::Leader];

    /// If all members of a view are gone for good that alone know what was said, nobody may go on.
    fn survives(_: &'static Card, setup: &Setup) -> Survives {
        Survives { all_return: true, ..Survives::majority(setup.group.size()) }
    }

    fn trials(_: &'static Card, nodes: u32) -> Vec<RunArgs> {
        let few = 3.min(nodes);
        let multicast = MulticastArgs {
            multicasts: Some(u64::from(few)),
            senders: Some(few),
            every: Some(Distribution::Constant(4_000_000)),
        };
        let steady = RunArgs { multicast, ..RunArgs::default() };
        if nodes < 2 {
            return vec![steady];
        }
        // A node that leaves and joins causes two more views.
        let group =
            GroupArgs { leave: vec![(NodeId(1), 7_000_000)], join: vec![(NodeId(1), 15_000_000)] };
        vec![steady.clone(), RunArgs { group, ..steady }]
    }

    /// The sequencer counts as the leader.
    fn activity(said: ApplicationEvent<'_, Input<Command>, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Notice(Notice::View { view, .. }) => {
                view.sequencer().map(Activity::Follows)
            }
            ApplicationEvent::Notice(Notice::Delivered { .. } | Notice::Blocked | Notice::Out)
            | ApplicationEvent::Command(
                Input::Ask(_) | Input::Suspect(_) | Input::Trust(_) | Input::Beat,
            ) => None,
        }
    }
}

impl Drawn for GroupCommunication {
    fn beats(card: &'static Card, _: bool) -> &'static [&'static str] {
        card.terms.beats
    }
    /// A flag where a view begins, with its name; bars where nothing goes on.
    fn look(at: NodeId, said: ApplicationEvent<'_, Input<Command>, Notice>) -> Look {
        match said {
            ApplicationEvent::Notice(Notice::View { .. }) => {
                let (mark, era) = (Some(Mark::Flag("view")), Some("in a view"));
                Look { mark, era, ..Look::bar(Bar::Ends) }
            }
            ApplicationEvent::Notice(Notice::Blocked) => Look::bar(Bar::Filled("blocked")),
            ApplicationEvent::Notice(Notice::Out) => Look::bar(Bar::Outlined("out of the group")),
            // That it hears itself is news here: only now has it a place.
            ApplicationEvent::Notice(Notice::Delivered { .. }) => {
                Look::mark(Mark::Diamond("delivers"))
            }
            ApplicationEvent::Command(Input::Ask(Command::Multicast(_))) => {
                Look::mark(Mark::Begins("multicasts"))
            }
            ApplicationEvent::Command(Input::Ask(Command::Join)) => {
                Look::mark(Mark::Begins("wants in"))
            }
            ApplicationEvent::Command(Input::Ask(Command::Leave)) => {
                Look::mark(Mark::Begins("wants out"))
            }
            ApplicationEvent::Command(Input::Suspect(of)) if *of != at => {
                Look::mark(Mark::Warns("suspects"))
            }
            ApplicationEvent::Command(Input::Suspect(_) | Input::Trust(_) | Input::Beat) => {
                Look::default()
            }
        }
    }
}

impl Checked for GroupCommunication {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }
}

impl Stepped for GroupCommunication {
    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> WithSuspicions {
        card.watch(setup)
    }

    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Input<Command>>> {
        vec![Ask::at_once(Input::Ask(Command::Multicast(1.into())))]
    }

    fn offers(_: &'static Card, setup: &Setup) -> Vec<Input<Command>> {
        let mut all = vec![Input::Ask(Command::Join), Input::Ask(Command::Leave)];
        if setup.detector == Detector::Told {
            all.extend(setup.group.members().map(Input::Suspect));
            all.extend(setup.group.members().map(Input::Trust));
            all.push(Input::Beat);
        }
        all
    }
}

impl Networked for GroupCommunication {
    fn told(scenario: &Scenario) -> (Vec<(NodeId, Input<Command>)>, Until) {
        let nodes = scenario.setup.group.size();
        let joins = (scenario.setup.founders..nodes).map(NodeId);
        let joins = joins.filter(|&id| comes_ns(scenario, id) == 0);
        let joins = joins.map(|id| (id, Input::Ask(Command::Join)));
        let says = says(scenario).into_iter().filter(|(at, _)| comes_ns(scenario, *at) == 0);
        (joins.chain(says).collect(), Until::Over(scenario.lasts_over_tcp()))
    }

    /// Whoever comes later speaks when it has asked to come in, as in the simulator: before that
    /// its
    /// node would refuse.
    fn later(scenario: &Scenario) -> Vec<(Duration, NodeId, Input<Command>)> {
        let is_later = |it: &&Move| it.at_ns > 0 || !it.joins;
        let moves = scenario.moves.iter().filter(is_later);
        let moves = moves.map(|it| (it.at_ns, it.node, it.command()));
        let says = says(scenario).into_iter();
        let says = says.map(|(at, command)| (comes_ns(scenario, at), at, command));
        // After the moves: who sorts them by time leaves those of one time in this order.
        let all = moves.chain(says.filter(|(at_ns, ..)| *at_ns > 0));
        all.map(|(at_ns, at, command)| (Duration::from_nanos(at_ns), at, command)).collect()
    }

    /// Founders come in by themselves; whoever else was in asks again, and whoever had left goes.
    fn again(scenario: &Scenario, node: NodeId, by: Duration) -> Option<Input<Command>> {
        let is_past = |it: &&Move| it.node == node && Duration::from_nanos(it.at_ns) <= by;
        let last = scenario.moves.iter().rfind(is_past)?;
        (last.joins != (node.0 < scenario.setup.founders)).then(|| last.command())
    }

    fn net_figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" us", 1_000.0))
    }
}

/// When a node asks to come in for the first time; founders need not.
fn comes_ns(scenario: &Scenario, node: NodeId) -> u64 {
    if node.0 < scenario.setup.founders {
        return 0;
    }
    scenario.moves.iter().find(|it| it.node == node && it.joins).map_or(0, |it| it.at_ns)
}

/// Who multicasts what, one after the other.
fn says(scenario: &Scenario) -> Vec<(NodeId, Input<Command>)> {
    let speakers = in_rounds(&shares(scenario.multicasts, scenario.senders));
    let all = speakers.into_iter().zip(1..);
    all.map(|(at, it)| (at, Input::Ask(Command::Multicast(it.into())))).collect()
}
