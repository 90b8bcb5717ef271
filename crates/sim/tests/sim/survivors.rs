//! Locks that are to survive crashes, in runs in which nodes crash and come up again: nobody is
//! inside beside another, and when no more goes wrong everybody who is up is served.

use std::time::Duration;

use vorrang_algorithms::mutex::{Claim, Command, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::find;
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{
    Distribution, Fault, Faults, Load, Network, Order, Random, Report, Simulation, Turns,
};
use vorrang_trace::Summary;

const MS: u64 = 1_000_000;
const ENTRIES: u64 = 40;

const SURVIVORS: [&str; 4] = [
    "ricart-agrawala-probing",
    "regenerating-ring",
    "regenerating-suzuki-kasami",
    "regenerating-raymond",
];

fn loads() -> [Load<Command>; 4] {
    let closed = |think| Load::Closed { think };
    let saturated = closed(Distribution::Constant(0));
    [saturated, closed(Distribution::Exponential(5 * MS)), Load::OneAtATime, Load::Burst]
}

/// A run of so many nodes, among which these things go wrong.
fn run(
    (name, flaw): (&str, Option<&str>),
    nodes: u32,
    load: Load<Command>,
    script: Vec<(u64, Fault)>,
    seed: u64,
) -> Report<Summary> {
    let entry = find::<Mutex>(name, flaw).unwrap();
    let within = Duration::from_millis(1);
    let setup = Setup { within, ..entry.card.setup(Group::of(nodes)) };
    let latency = Distribution::Uniform(MS / 10, MS);
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release)
        .entries(ENTRIES)
        .hold(Distribution::Uniform(0, 2 * MS))
        .perpetual(entry.card.terms.perpetual);
    let population = entry.population(&setup).unwrap();
    let network = Network { latency, order: Order::Any };
    let monitor = entry.card.exclusion(&setup);
    let simulation = Simulation::new(population, monitor, network, turns, seed);
    simulation.with_faults(Faults::default().script(script), seed).run().unwrap()
}

/// Crashes of some nodes, of all but one at most, of which most come up again.
fn crashes(nodes: u32, seed: u64) -> Vec<(u64, Fault)> {
    let mut random = Random::new(seed);
    let mut script = Vec::new();
    let first = random.below(nodes.into()) as u32;
    for place in 0..=random.below(u64::from(nodes) - 1) as u32 {
        let node = NodeId((first + place) % nodes);
        let mut at_ns = random.below(60 * MS);
        for _ in 0..=random.below(2) {
            script.push((at_ns, Fault::Crash(node)));
            if random.below(4) == 0 {
                break;
            }
            // Before anybody can have noticed, or after all have.
            at_ns +=
                if random.below(2) == 0 { random.below(2 * MS) } else { random.below(90 * MS) };
            script.push((at_ns, Fault::Restart(node)));
            at_ns += random.below(40 * MS);
        }
    }
    script.sort_by_key(|(at_ns, _)| *at_ns);
    script
}

#[test]
fn crashes_and_restarts_never_let_two_in_and_end_in_everyone_being_served() {
    let (mut struck, mut wrong) = (0, Vec::new());
    for name in SURVIVORS {
        for seed in 0..400 {
            let nodes = 2 + (seed % 5) as u32;
            let load = loads()[(seed / 5 % 4) as usize].clone();
            let report = run((name, None), nodes, load.clone(), crashes(nodes, seed), seed);
            struck += report.faults.crashes + report.faults.restarts;
            if !report.is_safe() || !report.is_quiescent() {
                let (first, rest) = (&report.first_violation, &report.at_rest);
                wrong.push(format!("{name} {nodes} {load:?} seed {seed}: {first:?} {rest:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
    assert!(struck > 4000, "{struck}");
}

/// The same crashes, without what makes them harmless.
#[test]
fn what_was_left_out_is_missed() {
    let flaws = [
        ("ricart-agrawala-probing", "never-heard-of-again"),
        ("ricart-agrawala-probing", "put-off-for-ever"),
    ];
    for (name, flaw) in flaws {
        let is_wrong = |seed: u64| {
            let nodes = 2 + (seed % 5) as u32;
            let load = loads()[(seed / 5 % 4) as usize].clone();
            let report = run((name, Some(flaw)), nodes, load, crashes(nodes, seed), seed);
            !report.is_safe() || !report.is_quiescent()
        };
        assert!((0..400).any(is_wrong), "{flaw}");
    }
}

/// Where messages travel for ever a run ends all the same, when those who are up have done theirs.
#[test]
fn nobody_waits_for_what_the_dead_had_to_do() {
    for load in loads() {
        let dies = vec![(5 * MS, Fault::Crash(NodeId(0)))];
        let report = run(("regenerating-ring", None), 3, load.clone(), dies, 1);
        assert!(report.is_over && report.is_quiescent(), "{load:?}: {:?}", report.at_rest);
        let comes_back =
            vec![(5 * MS, Fault::Crash(NodeId(0))), (20_000 * MS, Fault::Restart(NodeId(0)))];
        let report = run(("regenerating-ring", None), 3, load.clone(), comes_back, 1);
        assert!(report.is_over && report.is_quiescent(), "{load:?}: {:?}", report.at_rest);
        if matches!(load, Load::Closed { .. }) {
            assert_eq!(report.faults.restarts, 1, "it had more to do");
        }
    }
}
