//! Elections: timers, crashes, restarts and losses, on links that are timely and on links that are
//! not.

use std::num::NonZeroUsize;

use vorrang_algorithms::election::flaws::tree_election::CoinsDiffer;
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::tree_election;
use vorrang_algorithms::election::{Command, Election};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{NodeOf, find};
use vorrang_check::{
    Ask, Bounds, Demands, Faults, Links, Liveness, Order, Outcome, Plan, System, explore,
};
use vorrang_protocol::NodeId;

/// An algorithm, set up as on the command line, and who calls.
#[derive(Clone, Copy)]
struct Case {
    of: &'static str,
    flaw: Option<&'static str>,
    initiators: &'static [u32],
    calls: usize,
    faults: Faults,
    timely: bool,
    liveness: Liveness,
}

/// Links are timely and nothing goes wrong.
fn case(of: &'static str, initiators: &'static [u32]) -> Case {
    let (faults, timely, liveness) = (Faults::NONE, true, Liveness::Possible);
    Case { of, flaw: None, initiators, calls: 1, faults, timely, liveness }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults::NONE.crashes(crashes).restarts(restarts)
}

type Any = NodeOf<Election>;

fn system(case: &Case) -> System<Any, Leadership> {
    let (name, rest) = case.of.split_once(' ').expect("a name and a set-up");
    let entry = find::<Election>(name, case.flaw).expect(name);
    let card = entry.card;
    let setup = &Setup::read(rest, card.takes).expect(rest);
    let must = card.terms.everyone_calls;
    let ask = || if must { Ask::at_once(Command::Elect) } else { Ask::then_wait(Command::Elect) };
    let calls = |id: NodeId| if must || case.initiators.contains(&id.0) { case.calls } else { 0 };
    let members = || setup.group.members();
    let guards = entry.guards.iter().cloned();
    System {
        nodes: entry.nodes(setup).unwrap(),
        plan: Plan::PerNode(members().map(|id| (0..calls(id)).map(|_| ask()).collect()).collect()),
        monitor: card.watch(setup, case.timely),
        links: Links::from(card.assumes.order).within(case.timely.then_some(setup.within)),
        faults: case.faults,
        demands: Demands::default().liveness(case.liveness).invariants(guards),
    }
}

/// The states of a system that is verified, or the property broken and the run to it.
fn explored(system: &System<Any, Leadership>) -> Result<u64, (&'static str, Vec<String>)> {
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

#[track_caller]
fn breaks(case: &Case, property: &str, steps: usize) -> Vec<String> {
    let (broken, run) = explored(&system(case)).expect_err("it is wrong");
    assert_eq!((broken, run.len()), (property, steps), "{run:#?}");
    run
}

#[track_caller]
fn is_right(case: &Case) {
    let found = explored(&system(case));
    assert!(found.is_ok(), "{}, {:?}, {:?}: {found:#?}", case.of, case.initiators, case.faults);
}

#[test]
fn the_highest_that_is_up_is_elected_on_timely_links() {
    for (of, initiators, faults) in [
        ("bully --nodes 2", &[0][..], crashes(0, 0)),
        ("bully --nodes 2", &[0, 1], crashes(1, 1)),
        ("bully --nodes 3", &[0, 1], crashes(2, 0)),
        ("bully --nodes 3 --late 1ms", &[0, 1], crashes(1, 0)),
        ("bully --nodes 4", &[1], crashes(2, 0)),
        ("ring-election --nodes 1", &[0], crashes(0, 0)),
        ("ring-election --nodes 2", &[0, 1], crashes(1, 1)),
        ("ring-election --nodes 3", &[0, 1], crashes(2, 0)),
        ("ring-election --nodes 3 --late 1ms", &[0, 1], crashes(1, 0)),
        ("ring-election --nodes 4 --ring 2-0-3-1", &[1], crashes(2, 0)),
    ] {
        is_right(&Case { faults, ..case(of, initiators) });
    }
}

/// Node 1 takes the lead in the moment in which node 2 comes up again, and both say so. Without a
/// number on every election, whom of them node 0 hears last it follows.
#[test]
fn a_node_that_comes_up_again_divides_the_others_unless_elections_are_numbered() {
    let once = Case { faults: crashes(1, 1), ..case("bully --nodes 3", &[0]) };
    is_right(&once);
    let run = breaks(&Case { flaw: Some("unnumbered"), ..once }, "agreement", 11);
    assert!(run.contains(&"restart 2".to_owned()), "{run:#?}");
    is_right(&Case { of: "ring-election --nodes 3", ..once });
}

/// What the dead have said may be lost on the way to some: then those follow the living, and others
/// a leader that is down, which they have yet to notice.
#[test]
fn a_crash_that_takes_along_what_was_sent_divides_nobody_who_is_up() {
    let severing = crashes(1, 0).severing(true);
    is_right(&Case { faults: severing, ..case("bully --nodes 3", &[0, 1]) });
    is_right(&Case { faults: severing, ..case("ring-election --nodes 3", &[0]) });
}

#[test]
fn the_report_is_the_same_on_one_thread_and_on_two() {
    let threads = |count| NonZeroUsize::new(count).unwrap();
    let bully = Case { faults: crashes(2, 0), ..case("bully --nodes 3", &[0, 1]) };
    let flawed = Case { flaw: Some("unnumbered"), faults: crashes(1, 1), ..bully };
    for case in [bully, flawed, case("tree-election --nodes 3 --topology line", &[])] {
        let system = system(&case);
        let report = |count| explore(&system, &Bounds::default(), threads(count), |_| {});
        assert_eq!(report(1), report(2), "{}", case.of);
    }
}

#[test]
fn on_links_that_are_late_two_may_lead() {
    let late = Case { timely: false, ..case("bully --nodes 2", &[0]) };
    let run = breaks(&late, "one leader", 3);
    assert_eq!(run, ["elect 0", "deliver 0->1 ELECTION(0)", "timer 0 Answer"]);
    let ring = Case { of: "ring-election --nodes 2", ..late };
    let run = breaks(&ring, "one leader", 4);
    assert_eq!(run, ["elect 0", "deliver 0->1 ELECTION[0]", "timer 1 Ack", "timer 0 Ack"]);
}

#[test]
fn a_message_lost_is_as_bad_as_one_that_is_late() {
    let lossy = Case { faults: Faults::NONE.losses(1), ..case("bully --nodes 2", &[0]) };
    breaks(&lossy, "legitimacy", 3);
}

/// Node 0 waits for ever for one that answered and then crashed.
#[test]
fn without_a_second_time_out_crashes_leave_somebody_waiting() {
    let twice = Case { faults: crashes(2, 0), ..case("bully --nodes 3", &[0]) };
    breaks(&Case { flaw: Some("no-second-time-out"), ..twice }, "termination", 5);
}

#[test]
fn a_time_out_shorter_than_a_round_trip_makes_two_lead() {
    let short = Case { flaw: Some("short-time-out"), ..case("bully --nodes 2", &[0]) };
    breaks(&short, "one leader", 3);
}

#[test]
fn without_a_guard_a_node_holds_two_elections_at_a_time() {
    let two = case("bully --nodes 3", &[0, 1]);
    breaks(&Case { flaw: Some("no-guard"), ..two }, "one election at a time", 3);
}

#[test]
fn chang_and_roberts_elect_the_highest_whoever_calls_and_however_often() {
    for of in ["chang-roberts --nodes 4", "chang-roberts --nodes 4 --ring 1-3-0-2"] {
        is_right(&Case { calls: 2, ..case(of, &[0, 1, 2, 3]) });
    }
}

/// Node 1's number overtakes the result, and node 2 swallows it as if that were still to come.
#[test]
fn on_links_that_keep_no_order_a_caller_of_chang_and_roberts_may_wait_for_ever() {
    let mut overtaking = system(&case("chang-roberts --nodes 3", &[0, 2]));
    overtaking.links = Links::from(Order::Any);
    let (property, run) = explored(&overtaking).unwrap_err();
    assert_eq!((property, run.len()), ("termination", 9), "{run:#?}");
}

#[test]
fn a_ring_that_is_broken_elects_nobody() {
    let broken = Case { faults: crashes(1, 0), ..case("chang-roberts --nodes 3", &[0]) };
    breaks(&broken, "termination", 2);
}

#[test]
fn echoes_elect_the_highest_on_every_shape_in_every_order() {
    for (of, initiators, calls) in [
        ("echo-election --nodes 1 --topology line", &[0][..], 3),
        ("echo-election --nodes 2 --topology line", &[0, 1], 2),
        ("echo-election --nodes 3 --topology line", &[0, 1, 2], 1),
        ("echo-election --nodes 3 --topology links:1-2,0-2", &[0, 1], 2),
        ("echo-election --nodes 3 --topology ring", &[0, 1], 1),
        ("echo-election --nodes 4 --topology ring", &[0], 1),
        ("echo-election --nodes 4 --topology grid", &[1, 2], 1),
        ("echo-election --nodes 4 --topology star", &[1, 2], 1),
    ] {
        let any = Case { calls, timely: false, ..case(of, initiators) };
        is_right(&any);
        is_right(&Case { liveness: Liveness::Fair, ..any });
    }
    let mut doubled = case("echo-election --nodes 3 --topology line", &[0]);
    doubled.faults = Faults::NONE.duplicates(2);
    is_right(&Case { timely: false, ..doubled });
}

#[test]
fn a_wave_that_does_not_die_out_elects_another() {
    let two = Case { timely: false, ..case("echo-election --nodes 2 --topology line", &[0]) };
    let run = breaks(&Case { flaw: Some("lower-waves-answered"), ..two }, "legitimacy", 3);
    assert_eq!(run[2], "deliver 1->0 AGREED(0, round 1)", "{run:#?}");
    breaks(&Case { flaw: Some("first-wave-stays"), ..two }, "termination", 3);
}

/// Node 1 takes the result of the first election for that of the second, and does not pass on that
/// its neighbour has agreed.
#[test]
fn what_is_left_of_an_election_stops_the_next_if_they_have_no_numbers() {
    let twice = Case { calls: 2, ..case("echo-election --nodes 3 --topology line", &[2]) };
    is_right(&twice);
    let run = breaks(&Case { flaw: Some("unnumbered"), ..twice }, "termination", 10);
    assert!(run.contains(&"deliver 2->1 LEADER(2, round 1)".to_owned()), "{run:#?}");
}

/// A message that is lost is missed for ever: nobody asks again.
#[test]
fn an_echo_election_needs_every_message() {
    let lossy = Case {
        faults: Faults::NONE.losses(1),
        ..case("echo-election --nodes 2 --topology line", &[1])
    };
    breaks(&lossy, "termination", 2);
}

/// From every state it can still end, coins falling as they need to: so it ends with probability
/// one. That it ends however they fall is more than it promises.
#[test]
fn trees_elect_one_with_probability_one() {
    for of in [
        "tree-election --nodes 1 --topology line",
        "tree-election --nodes 2 --topology line",
        "tree-election --nodes 3 --topology line",
        "tree-election --nodes 3 --topology line --gather 1ms",
        "tree-election --nodes 4 --topology star",
        "tree-election --nodes 7 --topology tree:2",
        "tree-election --nodes 4 --topology line --contention id",
        "tree-election --nodes 3 --topology line --acknowledge at-once",
        "tree-election --nodes 4 --topology line --contention id --acknowledge at-once",
        "tree-election --nodes 3 --topology line --acknowledge at-once --gather 1ms",
        "tree-election --nodes 3 --within 155ns --topology line --contention firewire",
    ] {
        for timely in [true, false] {
            is_right(&Case { timely, ..case(of, &[]) });
        }
        let fair = Case { liveness: Liveness::Fair, ..case(of, &[]) };
        if of.contains("--contention id") || of.contains("--nodes 1 ") {
            is_right(&fair);
        } else {
            let (property, _) = explored(&system(&fair)).expect_err("coins may fall alike");
            assert_eq!(property, "no starvation", "{of}");
        }
    }
}

#[test]
fn a_second_reset_finds_one_root_as_the_first_did() {
    for of in ["tree-election --nodes 2 --topology line", "tree-election --nodes 3 --topology line"]
    {
        for timely in [true, false] {
            is_right(&Case { calls: 2, timely, ..case(of, &[]) });
        }
    }
    let stale = Case { calls: 2, ..case("tree-election --nodes 2 --topology line", &[]) };
    breaks(&Case { flaw: Some("stale-be-my-parent"), ..stale }, "one leader", 8);
}

/// A short wait and two messages must be over before a long wait: 260 ns + 2d ≤ 570 ns. Then coins
/// that differ decide at once, however messages are delayed; else they may contend once more. (One
/// message is not enough, since the two may notice the contention a message apart.)
#[test]
fn coins_that_differ_decide_on_links_that_are_short_enough() {
    let ended = |within_ns: u64| {
        let text =
            format!("--nodes 2 --within {within_ns}ns --topology line --contention firewire");
        let entry = find::<Election>("tree-election", None).expect("it is there");
        let setup = &Setup::read(&text, entry.card.takes).expect("a set-up");
        let node = tree_election::recipe().with(&CoinsDiffer).nodes(setup).expect("a tree");
        let system = System {
            nodes: setup.group.members().map(|id| node(id)).collect(),
            plan: Plan::PerNode(vec![vec![Ask::at_once(Command::Elect)]; 2]),
            monitor: entry.card.watch(setup, true),
            links: Links::from(entry.card.assumes.order).within(Some(setup.within)),
            faults: Faults::NONE,
            demands: Demands::default().liveness(Liveness::Fair),
        };
        let report = explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {});
        match report.outcome {
            Outcome::Verified => Ok(()),
            Outcome::Violated { violation, .. } => Err(violation.property),
            Outcome::Bounded { by } => panic!("{by:?}"),
        }
    };
    for within_ns in [1, 23, 155] {
        assert_eq!(ended(within_ns), Ok(()), "{within_ns} ns");
    }
    for within_ns in [156, 309, 1000] {
        assert_eq!(ended(within_ns), Err("no starvation"), "{within_ns} ns");
    }
}

/// Two that wait for as long may ask each other for ever, though no coin falls badly.
#[test]
fn equal_waits_never_end_in_a_fair_run() {
    let of = "tree-election --nodes 2 --topology line";
    let equal = Case { flaw: Some("equal-waits"), ..case(of, &[]) };
    is_right(&equal);
    let run = explored(&system(&Case { liveness: Liveness::Fair, ..equal })).unwrap_err();
    assert_eq!(run.0, "no starvation");
    assert!(run.1.iter().all(|step| !step.contains("choose")), "{run:#?}");
}
