//! Elections: timers, crashes, restarts and losses, on links that are timely and on links that are
//! not.

use std::num::NonZeroUsize;
use std::time::Duration;

use vorrang_algorithms::election::bully::Bully;
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, flaws};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Ask, Bounds, Demands, Faults, Links, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Group, NodeId};

const WITHIN: Duration = Duration::from_millis(1);

type New = fn(NodeId, &Setup) -> Bully;

fn system(new: New, nodes: u32, initiators: &[u32], faults: Faults) -> System<Bully, Leadership> {
    let group = Group::of(nodes);
    let setup = Setup { within: WITHIN, ..Setup::new(group) };
    let asks = |id: NodeId| if initiators.contains(&id.0) { vec![Command::Elect] } else { vec![] };
    let list = |id| asks(id).into_iter().map(Ask::then_wait).collect();
    System {
        nodes: group.members().map(|id| new(id, &setup)).collect(),
        plan: Plan::PerNode(group.members().map(list).collect()),
        monitor: Leadership::new(group),
        links: Links::from(Order::Any).within(WITHIN),
        faults,
        demands: Demands::default(),
    }
}

/// The states of a system that is verified, or the property broken and the run to it.
fn explored(system: &System<Bully, Leadership>) -> Result<u64, (&'static str, Vec<String>)> {
    let bounds = Bounds::default().memory_bytes(4 << 30);
    let report = explore(system, &bounds, NonZeroUsize::MIN, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            Err((violation.property, run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults::NONE.crashes(crashes).restarts(restarts)
}

#[test]
fn bully_elects_the_highest_that_is_up_on_timely_links() {
    for (nodes, initiators, faults, states) in [
        (2, &[0][..], crashes(0, 0), 6),
        (2, &[0, 1], crashes(1, 0), 53),
        (2, &[0, 1], crashes(1, 1), 298),
        (3, &[0], crashes(0, 0), 287),
        (3, &[0], crashes(1, 0), 632),
        (3, &[0, 1], crashes(1, 0), 7_429),
        (3, &[0, 1], crashes(2, 0), 7_726),
        (3, &[0, 1, 2], crashes(1, 0), 40_705),
        (4, &[2], crashes(1, 0), 66),
        (4, &[1], crashes(1, 0), 2_246),
        (4, &[1], crashes(2, 0), 2_758),
    ] {
        let found = explored(&system(Bully::of, nodes, initiators, faults));
        assert_eq!(found, Ok(states), "{nodes} nodes, {initiators:?} ask, {faults:?}");
    }
}

/// Node 1 takes the lead in the moment in which node 2 comes up again, and both say so: who of them
/// node 0 hears last, it follows. The literature's cure is a number on every election.
#[test]
fn a_node_that_comes_up_again_can_divide_the_others() {
    let (property, run) = explored(&system(Bully::of, 3, &[0], crashes(1, 1))).unwrap_err();
    assert_eq!((property, run.len()), ("agreement", 11), "{run:?}");
}

/// The dead node's last word overrules the living: its COORDINATOR, under way when it crashed,
/// arrives after that of its successor.
#[test]
fn a_crash_that_takes_along_what_was_sent_can_leave_a_dead_leader() {
    let severing = crashes(1, 0).severing(true);
    let (property, run) = explored(&system(Bully::of, 3, &[0, 1], severing)).unwrap_err();
    assert_eq!((property, run.len()), ("agreement", 15), "{run:?}");
}

#[test]
fn the_report_is_the_same_on_one_thread_and_on_two() {
    let threads = |count| NonZeroUsize::new(count).unwrap();
    for (initiators, faults) in [(&[0, 1][..], crashes(2, 0)), (&[0], crashes(1, 1))] {
        let system = system(Bully::of, 3, initiators, faults);
        let report = |count| explore(&system, &Bounds::default(), threads(count), |_| {});
        assert_eq!(report(1), report(2), "{faults:?}");
    }
}

#[test]
fn on_links_that_are_late_two_may_lead() {
    let mut late = system(Bully::of, 2, &[0], Faults::NONE);
    late.links.within = None;
    let (property, run) = explored(&late).unwrap_err();
    assert_eq!((property, run.len()), ("legitimacy", 2), "{run:?}");
}

#[test]
fn a_message_lost_is_as_bad_as_one_that_is_late() {
    let lossy = system(Bully::of, 2, &[0], Faults::NONE.losses(1));
    let (property, run) = explored(&lossy).unwrap_err();
    assert_eq!((property, run.len()), ("legitimacy", 3), "{run:?}");
}

/// Node 0 waits for ever for one that answered and then crashed.
#[test]
fn without_a_second_time_out_crashes_leave_somebody_waiting() {
    let flawed = system(flaws::no_second_time_out, 3, &[0], crashes(2, 0));
    let (property, run) = explored(&flawed).unwrap_err();
    assert_eq!((property, run.len()), ("termination", 5), "{run:#?}");
}

#[test]
fn a_time_out_shorter_than_a_round_trip_makes_two_lead() {
    let flawed = system(flaws::short_time_out, 2, &[0], crashes(0, 0));
    let (property, run) = explored(&flawed).unwrap_err();
    assert_eq!((property, run.len()), ("legitimacy", 3), "{run:#?}");
}
