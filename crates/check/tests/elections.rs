//! Elections: timers, crashes, restarts and losses, on links that are timely and on links that are
//! not.

use std::num::NonZeroUsize;
use std::time::Duration;

use vorrang_algorithms::election::bully::{self, Bully};
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, flaws};
use vorrang_check::{Ask, Bounds, Faults, Links, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Group, NodeId};

const WITHIN: Duration = Duration::from_millis(1);

type New = fn(NodeId, Group, Duration) -> Bully;

fn system(new: New, nodes: u32, initiators: &[u32], faults: Faults) -> System<Bully, Leadership> {
    let group = Group::of(nodes);
    let asks = |id: NodeId| if initiators.contains(&id.0) { vec![Command::Elect] } else { vec![] };
    let list = |id| asks(id).into_iter().map(Ask::then_wait).collect();
    System {
        nodes: group.members().map(|id| new(id, group, WITHIN)).collect(),
        plan: Plan::PerNode(group.members().map(list).collect()),
        monitor: Leadership::new(group),
        links: Links { order: Order::Any, within: Some(WITHIN) },
        faults,
    }
}

/// The states of a system that is verified, or the property broken and the run to it.
fn explored(system: &System<Bully, Leadership>) -> Result<u64, (&'static str, Vec<String>)> {
    let bounds = Bounds { memory_bytes: Some(4 << 30), ..Bounds::default() };
    let report = explore(system, &bounds, NonZeroUsize::MIN, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            eprintln!("{violation}\n{run}");
            Err((violation.property, run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults { crashes, restarts, ..Faults::NONE }
}

#[test]
fn bully_elects_the_highest_that_is_up_on_timely_links() {
    let states = |nodes, initiators: &[u32], faults| {
        let states = explored(&system(Bully::new, nodes, initiators, faults));
        eprintln!("{nodes} {initiators:?} {faults:?}: {states:?}");
        states.unwrap()
    };
    for (nodes, initiators, faults, pinned) in [
        (2, &[0][..], crashes(0, 0), 0),
        (2, &[0, 1], crashes(1, 0), 0),
        (2, &[0, 1], crashes(1, 1), 0),
        (3, &[0], crashes(0, 0), 0),
        (3, &[0], crashes(1, 0), 0),
        (3, &[0, 1], crashes(1, 0), 0),
        (3, &[0, 1, 2], crashes(1, 0), 0),
        (3, &[0, 1], crashes(2, 0), 0),
        (4, &[0], crashes(0, 0), 0),
        (4, &[0], crashes(1, 0), 0),
    ] {
        let _ = pinned;
        states(nodes, initiators, faults);
    }
}

/// Node 1 takes the lead in the moment in which node 2 comes up again, and both say so: who of them
/// node 0 hears last, it follows. The literature's cure is a number on every election.
#[test]
fn a_node_that_comes_up_again_can_divide_the_others() {
    let (property, run) = explored(&system(Bully::new, 3, &[0], crashes(1, 1))).unwrap_err();
    assert_eq!((property, run.len()), ("agreement", 11), "{run:?}");
}

/// The dead node's last word overrules the living: its COORDINATOR, under way when it crashed,
/// arrives after that of its successor.
#[test]
fn a_crash_that_takes_along_what_was_sent_can_leave_a_dead_leader() {
    let severing = Faults { severing: true, ..crashes(1, 0) };
    let (property, run) = explored(&system(Bully::new, 3, &[0, 1], severing)).unwrap_err();
    assert_eq!((property, run.len()), ("agreement", 15), "{run:?}");
}

#[test]
fn on_links_that_are_late_two_may_lead() {
    let mut late = system(Bully::new, 2, &[0], Faults::NONE);
    late.links.within = None;
    let (property, run) = explored(&late).unwrap_err();
    assert_eq!((property, run.len()), ("legitimacy", 2), "{run:?}");
}

#[test]
fn a_message_lost_is_as_bad_as_one_that_is_late() {
    let lossy = system(Bully::new, 2, &[0], Faults { losses: 1, ..Faults::NONE });
    let (property, run) = explored(&lossy).unwrap_err();
    assert_eq!((property, run.len()), ("legitimacy", 3), "{run:?}");
}

#[test]
fn every_flaw_on_the_card_is_caught_with_its_shortest_run() {
    for flaw in bully::CARD.flaws {
        let new: New = match flaw.name {
            "no-second-time-out" => flaws::no_second_time_out,
            "short-time-out" => flaws::short_time_out,
            other => panic!("{other} is not on record"),
        };
        let flawed = system(new, flaw.nodes, flaw.initiators, crashes(flaw.crashes, 0));
        let (property, run) = explored(&flawed).unwrap_err();
        assert_eq!((property, run.len()), (flaw.breaks, flaw.steps), "{}: {run:#?}", flaw.name);
    }
}
