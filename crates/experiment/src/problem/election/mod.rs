//! Elections: scenario and figures.

mod question;
mod scenario;

use std::collections::BTreeMap;
use std::time::Duration;

use vorrang_algorithms::election::card::{Card, Setting};
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, Election, Notice};
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_check::Ask;
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{NodeId, NodeSet};

use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::election::ElectionArgs;
use crate::options::{CALM, RunArgs, list};
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Drawn, Extremes, Faulted, Networked, Question,
    Role, Simulated, Stepped, Survives, Until, minority,
};
use vorrang_workload::election::Calls;
use vorrang_workload::election::Tally;

pub use scenario::Scenario;

impl Compared for Election {
    fn extremes(card: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, group) = (setup.group.size(), setup.group);
        let (setup, lockstep) = (setup.clone(), true);
        if card.terms.everyone_calls {
            let (initiators, dead) = (group.members().collect(), NodeSet::EMPTY);
            let shape = setup.topology.in_short();
            let here = Setting { setup, initiators, dead, lockstep };
            let mut gathers = here.clone();
            gathers.setup.gather = gathers.setup.within;
            return Ok(Extremes {
                common: format!("--nodes {nodes} --topology {shape}, ALL CALL"),
                settings: [("AS SET UP", here), ("IF NODES GATHER", gathers)],
            });
        }
        let dead: NodeSet =
            group.members().rev().take(usize::from(card.terms.crashes && nodes > 1)).collect();
        let (down, highest) = match dead.len() as u32 {
            0 => ("", nodes - 1),
            _ => (", THE HIGHEST DOWN", nodes - 2),
        };
        let calls = |id: u32| Setting {
            setup: setup.clone(),
            initiators: vec![NodeId(id)],
            dead: dead.clone(),
            lockstep,
        };
        let shape = setup.topology.in_short();
        let has_shape = card.takes.contains(&Parameter::Topology);
        let on = if has_shape { format!(" --topology {shape}") } else { String::new() };
        Ok(Extremes {
            common: format!("--nodes {nodes}{on}{down}"),
            settings: [("HIGHEST UP CALLS", calls(highest)), ("LOWEST CALLS", calls(0))],
        })
    }

    fn contrast(card: &'static Card) -> Axis {
        let all: &[&str] = &["highest", "lowest", "all"];
        let callers = if card.terms.everyone_calls { &["all"] } else { all };
        Axis::new("initiators", callers.iter().copied(), |args, callers| {
            args.election.initiators = Some((*callers).to_owned());
        })
    }
}

impl Simulated for Election {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
    }

    fn monitor(scenario: &Scenario) -> Leadership {
        scenario.card.watch(&scenario.setup, true)
    }

    fn workload(scenario: &Scenario) -> Calls {
        let callers = scenario.initiators.iter().copied().map(NodeId).collect();
        Calls { callers, cables: scenario.noticed.clone() }
    }

    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.environment.latency.mean_ns()))
    }
}

impl Faulted for Election {
    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator, Role::Leader];

    /// Where the leader is watched, every side of a partition has one until it has healed, unless
    /// it takes a majority.
    fn survives(card: &'static Card, setup: &Setup) -> Survives {
        let (terms, nodes) = (card.terms, setup.group.size());
        if !terms.crashes {
            return Survives::NOTHING;
        }
        let partitions = terms.settles.is_some() && !terms.majority;
        let down = if terms.majority { minority(nodes) } else { nodes - 1 };
        Survives { partitions, ..Survives::crashes(down) }
    }

    /// One calls, low or high, who must ask many or none; two call; all call.
    fn trials(card: &'static Card, nodes: u32) -> Vec<RunArgs> {
        let called_by = |initiators: String| RunArgs {
            election: ElectionArgs { initiators: Some(initiators), ..ElectionArgs::default() },
            ..RunArgs::taking(CALM)
        };
        if card.terms.everyone_calls {
            return vec![called_by("all".to_owned())];
        }
        let high = |by: u32| vec![nodes.saturating_sub(by)];
        let mut calls: Vec<Vec<u32>> = Vec::new();
        for mut some in [vec![0], vec![0, nodes / 2], high(2), high(1), (0..nodes).collect()] {
            some.dedup();
            if !calls.contains(&some) {
                calls.push(some);
            }
        }
        calls.iter().map(|it| called_by(list(it))).collect()
    }

    fn activity(said: ApplicationEvent<'_, Command, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Command(Command::Elect) => Some(Activity::Began),
            ApplicationEvent::Notice(&Notice::Leader(leader)) => Some(Activity::Follows(leader)),
            ApplicationEvent::Command(Command::Plug(_) | Command::Unplug(_))
            | ApplicationEvent::Notice(Notice::Reset(_)) => None,
        }
    }
}

impl Drawn for Election {
    fn beats(card: &'static Card, _: bool) -> &'static [&'static str] {
        if card.terms.settles.is_some() { card.terms.receipts } else { &[] }
    }
    fn look(at: NodeId, said: ApplicationEvent<'_, Command, Notice>) -> Look {
        match said {
            ApplicationEvent::Command(Command::Plug(_)) => Look::mark(Mark::Begins("plugged in")),
            ApplicationEvent::Command(Command::Unplug(_)) => Look::mark(Mark::Warns("unplugged")),
            ApplicationEvent::Notice(Notice::Reset(_)) => Look::mark(Mark::Flag("bus reset")),
            ApplicationEvent::Command(Command::Elect)
            | ApplicationEvent::Notice(Notice::Leader(_)) => {
                Self::activity(said).map_or_else(Look::default, |doing| doing.look(at))
            }
        }
    }
}

impl Checked for Election {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question::question(card, flaw.and_then(|name| card.flaw(name)), args)
    }
}

impl Stepped for Election {
    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Leadership {
        card.watch(setup, true)
    }

    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        vec![Ask::then_wait(Command::Elect)]
    }

    fn offers(card: &'static Card, setup: &Setup) -> Vec<Command> {
        let peers = setup.group.members().filter(|_| card.terms.hot_plug);
        peers.flat_map(|peer| [Command::Unplug(peer), Command::Plug(peer)]).collect()
    }
}

impl Networked for Election {
    fn told(scenario: &Scenario) -> (Vec<(NodeId, Command)>, Until) {
        let calls = scenario.initiators.iter().map(|&id| (NodeId(id), Command::Elect));
        let until = match scenario.lasts {
            Some(lasts) if scenario.lasting.time().is_some() => Until::Over(lasts),
            // Who was told of a bus reset may yet wait to be told who leads.
            None if scenario.card.terms.hot_plug => Until::Over(scenario.settles_over_tcp()),
            Some(_) | None => Until::Told,
        };
        (calls.collect(), until)
    }

    fn later(scenario: &Scenario) -> Vec<(Duration, NodeId, Command)> {
        let noticed = scenario.noticed.iter();
        noticed.map(|&(at_ns, at, command)| (Duration::from_nanos(at_ns), at, command)).collect()
    }

    /// All follow one of them.
    fn is_settled(up: &NodeSet, last: &BTreeMap<NodeId, Notice>) -> bool {
        let follows = |at: NodeId, leader| last.get(&at) == Some(&Notice::Leader(leader));
        up.iter().any(|leader| up.iter().all(|at| follows(at, leader)))
    }

    fn net_figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" us", 1_000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_settled_when_all_that_are_up_follow_one_that_is_up() {
        let up: NodeSet = [0, 1].map(NodeId).into_iter().collect();
        let settled = |leaders: &[(u32, u32)]| {
            let told = |&(at, leader)| (NodeId(at), Notice::Leader(NodeId(leader)));
            Election::is_settled(&up, &leaders.iter().map(told).collect())
        };
        assert!(settled(&[(0, 1), (1, 1)]) && settled(&[(0, 1), (1, 1), (2, 2)]));
        assert!(!settled(&[(0, 2), (1, 2)]), "that is down");
        assert!(!settled(&[(0, 0), (1, 1)]) && !settled(&[(0, 1)]) && !settled(&[]));
    }
}
