//! Raymond's algorithm and the lift in runs whose every step is known, and in very large ones.

use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command, Notice, lift, raymond};
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::topology::measure::shape_of;
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Protocol};
use vorrang_sim::{Distribution, Faults, InMemoryRecorder, Load, Network, Simulation, Turns};
use vorrang_trace::What;

const MS: u64 = 1_000_000;
const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

fn on(topology: &str, nodes: u32) -> Setup {
    let topology: Topology = topology.parse().unwrap();
    Setup { topology, ..Setup::new(Group::of(nodes)) }
}

/// When nodes enter, in milliseconds, and how many messages that takes. A message takes one
/// millisecond; nodes leave when they are told to.
fn entries<P>(
    recipe: &Recipe<P>,
    asks: &[(u64, u32)],
    leaves: &[(u64, u32)],
) -> (Vec<(u64, u32)>, usize)
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let setup = on("tree:2", 5);
    let population = Population::of(5, recipe.nodes(&setup).unwrap());
    let at = |command| move |&(ms, id): &(u64, u32)| (ms * MS, NodeId(id), command);
    let script = asks.iter().map(at(ACQUIRE)).chain(leaves.iter().map(at(Command::Release)));
    let mut run = Simulation::recorded(
        population,
        Exclusion::default(),
        Network::constant_ms(1),
        Turns::new(Load::Script(script.collect()), ACQUIRE, Command::Release),
        1,
        InMemoryRecorder(Vec::new()),
    );
    while run.run_for(u64::MAX).unwrap() {}
    assert!(run.report().is_safe() && run.report().is_quiescent());
    let records = run.into_recorder().0;
    let sent = records.iter().filter(|it| matches!(it.what, What::Send { .. })).count();
    let entered = records.iter().filter(|it| matches!(it.what, What::Notice(_)));
    (entered.map(|it| (it.at_ns / MS, it.node.0)).collect(), sent)
}

/// Nodes 3 and 4 share a parent, node 2 sits on the other side, and the token starts at the root.
/// Whoever waits is served on the way: 2, 2 and 3 edges from one to the next.
#[test]
fn the_token_goes_from_the_nearest_to_the_farthest_that_has_asked() {
    let (asks, leaves) = ([(0, 3), (1, 4), (2, 2)], [(7, 3), (12, 4), (18, 2)]);
    let expected = (vec![(4, 3), (9, 4), (15, 2)], 14);
    assert_eq!(entries(&raymond::recipe(), &asks, &leaves), expected);
    assert_eq!(entries(&lift::recipe(), &asks, &leaves), expected);
    // One that asks alone: two edges there, two back.
    assert_eq!(entries(&raymond::recipe(), &[(0, 4)], &[(7, 4)]), (vec![(4, 4)], 4));
}

/// What a hundred thousand nodes and as many entries take grows with the distance, and so with the
/// logarithm of their number, if one asks at a time; and not at all if all do.
#[test]
fn large_trees_cost_what_small_ones_do() {
    let per_entry = |load, nodes| {
        let setup = on("tree:2", nodes);
        let population = Population::of(nodes, lift::recipe().nodes(&setup).unwrap());
        let turns = Turns::new(load, ACQUIRE, Command::Release).entries(100_000);
        let turns = turns.hold(Distribution::Constant(MS));
        let monitor = Exclusion::default();
        let run = Simulation::new(population, monitor, Network::constant_ms(1), turns, 1);
        let report = run.run().unwrap();
        assert!(report.is_safe() && report.is_quiescent());
        report.summary.messages_per_entry().unwrap()
    };
    let heavy = Load::Closed { think: Distribution::Constant(0) };
    assert!((per_entry(heavy, 100_000) - 4.0).abs() < 0.01);
    let tree: Topology = "tree:2".parse().unwrap();
    let mean = shape_of(&tree.graph(Group::of(100_000)).unwrap()).mean_distance.unwrap();
    let light = per_entry(Load::OneAtATime, 100_000);
    assert!((light / (2.0 * mean) - 1.0).abs() < 0.01, "{light} messages, {mean} apart");
}

/// A run is guarded at every event, and a token that goes astray is seen when it does.
#[test]
fn what_the_proof_rests_on_is_looked_at_after_every_event() {
    let guarded = |lost: Vec<u64>| {
        let setup = on("tree:2", 7);
        let turns = Turns::new(Load::Burst, ACQUIRE, Command::Release).entries(70);
        let network =
            Network { latency: Distribution::Uniform(1, 9 * MS), ..Network::constant_ms(1) };
        let population = Population::of(7, raymond::recipe().nodes(&setup).unwrap())
            .guarded(raymond::INVARIANTS);
        let mut run = Simulation::new(population, Exclusion::default(), network, turns, 1)
            .with_faults(Faults::default().lost(lost), 1);
        while run.run_for(1000).unwrap() {}
        run.report()
    };
    assert_eq!(guarded(Vec::new()).first_violation, None);
    let lost = (0..100).find_map(|number| guarded(vec![number]).first_violation).unwrap().1;
    assert_eq!(lost.property, "one token");
    assert_eq!(lost.what, "0 nodes have a token, and 0 tokens are under way");
}
