//! What the simulator says of a run is so: a run that must violate does, what is owed is named, and
//! overtakings are counted one by one.

use crate::puppet;

use puppet::{Command as Do, play, puppets};
use vorrang_algorithms::mutex::carvalho_roucairol::CarvalhoRoucairol;
use vorrang_algorithms::mutex::lamport::{self, Lamport};
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Graph, Group, Message as _, NodeId};
use vorrang_sim::{
    Distribution, Faults, InMemoryRecorder, Load, Network, Order, Simulation, Turns,
};
use vorrang_trace::{Measure, judge};

const MS: u64 = 1_000_000;

type Run = Simulation<Exclusion, Turns<Command>, InMemoryRecorder<AnyNode<Command, Notice>>>;

/// Lamport's algorithm needs links that keep their order. Without, it soon ends with somebody
/// inside who should not be, or with everybody waiting for a request that was done long ago.
fn lamport(order: Order, load: Load<Command>, seed: u64) -> Run {
    let group = Group::of(2);
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    Simulation::recorded(
        Population::new(2, move |id| Lamport::new(id, group)),
        Exclusion::default(),
        Network { latency: Distribution::Uniform(MS / 100, 20 * MS), order },
        turns.entries(400).hold(Distribution::Constant(9 * MS)),
        seed,
        InMemoryRecorder(Vec::new()),
    )
}

fn closed() -> Load<Command> {
    Load::Closed { think: Distribution::Constant(0) }
}

#[test]
fn runs_that_must_violate_are_seen_to_and_judged_alike_afterwards() {
    let mut unsafe_runs = 0;
    for seed in 0..50 {
        let mut run = lamport(Order::Any, closed(), seed);
        while run.run_for(1000).unwrap() {}
        let report = run.report();
        let records = run.into_recorder().0;
        let verdict = judge(&records, Exclusion::default());
        assert_eq!(verdict.is_safe(), report.is_safe());
        assert_eq!(verdict.violations.len() as u64, report.violations);
        if let Some((at_ns, violation)) = report.first_violation {
            unsafe_runs += 1;
            assert_eq!(violation.property, "exclusion");
            assert_eq!((records[verdict.violations[0].0].at_ns), at_ns);
            assert_eq!(verdict.violations[0].1, violation);
        }
    }
    assert!(unsafe_runs > 10, "{unsafe_runs} of 50");
}

/// In Carvalho and Roucairol's algorithm a node that has all permissions enters at once, even if it
/// has heard from a third that another has asked, whose request is still on its way.
#[test]
fn overtakings_are_those_that_the_specification_counts_in_the_record() {
    let group = Group::of(70);
    let load = Load::Closed { think: Distribution::Exponential(MS) };
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    let mut run = Simulation::recorded(
        Population::new(70, move |id| CarvalhoRoucairol::new(id, group)),
        Exclusion::default(),
        Network { latency: Distribution::Uniform(MS / 100, 20 * MS), order: Order::Fifo },
        turns.entries(3500).hold(Distribution::Constant(MS)),
        7,
        InMemoryRecorder(Vec::new()),
    );
    while run.run_for(u64::MAX).unwrap() {}
    let overtakes = run.report().summary.overtakes.unwrap();
    let verdict = judge(&run.into_recorder().0, HappenedBefore::default());
    assert_eq!(verdict.count("ordering"), overtakes);
    assert!(overtakes > 0, "nobody was overtaken: the run shows nothing");
}

#[test]
fn on_links_that_keep_their_order_the_same_run_is_fine() {
    let mut run = lamport(Order::Fifo, closed(), 7);
    while run.run_for(u64::MAX).unwrap() {}
    let report = run.report();
    assert!(report.is_safe() && report.is_quiescent() && report.first_violation.is_none());
    assert_eq!(report.summary.overtakes, Some(0));
}

#[test]
fn a_recorded_run_has_the_figures_of_the_run() {
    for load in [closed(), Load::OneAtATime, Load::Burst] {
        let mut run = lamport(Order::Fifo, load.clone(), 7);
        while run.run_for(u64::MAX).unwrap() {}
        let mut summary = run.report().summary;
        let measured = Measure::of(2, lamport::Message::KINDS, &run.into_recorder().0).summary();
        summary.overtakes = None;
        if load != closed() {
            // Bursts look like shares to whoever sees the record alone.
            assert!((summary.fairness - measured.fairness).abs() < 0.001);
            summary.fairness = measured.fairness;
        }
        assert_eq!(summary, measured, "{load:?}");
    }
}

#[test]
fn who_waits_in_vain_is_owed_an_entry_whatever_the_load() {
    for load in [closed(), Load::OneAtATime, Load::Burst] {
        // The first messages are lost, and nobody sends them again.
        let faults = Faults::default().lost((0..40).collect());
        let mut run = lamport(Order::Fifo, load, 7).with_faults(faults, 7);
        while run.run_for(u64::MAX).unwrap() {}
        let report = run.report();
        assert!(report.is_over && report.at_rest.is_some() && !report.is_quiescent());
        assert!(report.is_safe(), "what never happens is no violation of safety");
    }
}

/// Node `first` asks and tells `second`, which asks knowing that and enters before.
fn overtaking(size: u32, first: u32, second: u32) -> Option<u64> {
    let (first, second) = (NodeId(first), NodeId(second));
    let script = vec![
        (0, first, Do::Ask),
        (1, first, Do::Tell(second, 0)),
        (20, second, Do::Ask),
        (21, second, Do::Enter),
        (22, second, Do::Leave),
        (23, first, Do::Enter),
        (24, first, Do::Leave),
        // Nobody waits now, and neither knows of the other's next request.
        (30, first, Do::Ask),
        (30, second, Do::Ask),
        (31, second, Do::Enter),
        (32, second, Do::Leave),
        (33, first, Do::Enter),
    ];
    let network = Network { latency: Distribution::Constant(10), order: Order::Any };
    let (report, _) = play(puppets(size, network, script, 1));
    assert_eq!(report.summary.entries, 4);
    report.summary.overtakes
}

#[test]
fn one_overtaking_is_one() {
    assert_eq!(overtaking(2, 0, 1), Some(1));
    for (first, second) in [(3, 70), (70, 3), (64, 128), (128, 129)] {
        assert_eq!(overtaking(130, first, second), Some(1), "{first} and {second}");
    }
    assert_eq!(overtaking(4097, 3, 70), None, "beyond 4096 nodes nobody keeps track");
}

#[test]
fn a_message_where_there_is_no_link_is_a_violation_and_does_not_arrive() {
    let on = |links: &[(u32, u32)]| {
        let links = links.iter().map(|&(one, other)| (NodeId(one), NodeId(other)));
        let mut run = lamport(Order::Fifo, closed(), 1).on(Graph::new(Group::of(2), links));
        while run.run_for(1000).unwrap() {}
        run.report()
    };
    assert!(on(&[(0, 1)]).is_safe());
    let cut = on(&[]);
    let (at_ns, violation) = cut.first_violation.clone().unwrap();
    assert_eq!((at_ns, violation.property), (0, "stray message"));
    assert!(violation.what.ends_with("to node 1, to which it has no link"), "{violation}");
    assert!(!cut.is_safe() && cut.summary.entries == 0);
}
