//! Locks on views without stable storage, as processes over a network are: whoever comes back knows
//! nothing, and nobody but the founders is there from the beginning.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test sim forgetful` tries so many seeds.

use crate::users;

use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{NodeFactory, OnViews, with_memory, without_memory};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::Retries;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Setup;
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Severity, Simulation,
};
use vorrang_testkit::seeds;

use self::users::{MS, Resource, Users};

type Node = OnViews<Reliable<SuzukiKasami>>;

/// Of the nodes, the first so many found the group.
fn node(me: NodeId, setup: &Setup, founders: u32) -> Node {
    let anew = NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
        .over_channels(Retries::within(setup.within, 200));
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    let founding = founders.contains(&me).then_some(Founding { view: 1, founders, patience: 0 });
    without_memory(me, setup, (0, founding), anew, None)
}

/// The same with stable storage.
fn remembering(me: NodeId, setup: &Setup, founders: u32) -> Node {
    let anew = NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
        .over_channels(Retries::within(setup.within, 200));
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    with_memory(me, setup, (0, Founding { view: 1, founders, patience: 0 }), anew, None)
}

/// A run of so many nodes, of which so many found the group.
fn run(
    (nodes, founders): (u32, u32),
    latency: Distribution,
    faults: Faults,
    is_fenced: bool,
    seed: u64,
) -> Report<Resource> {
    run_of(node, (nodes, founders), latency, faults, is_fenced, seed)
}

fn run_of(
    node: fn(NodeId, &Setup, u32) -> Node,
    (nodes, founders): (u32, u32),
    latency: Distribution,
    faults: Faults,
    is_fenced: bool,
    seed: u64,
) -> Report<Resource> {
    let setup = Setup::new(Group::of(nodes));
    let until_ns = 600 * MS;
    let locked = Locked::new(setup.group);
    Simulation::new(
        Population::new(nodes, move |id| node(id, &setup, founders)),
        if is_fenced { locked.fenced() } else { locked },
        Network { latency, order: Order::Any },
        Users { until_ns },
        seed,
    )
    .with_faults(faults, seed)
    .until(until_ns + 1500 * MS)
    .run()
    .unwrap()
}

/// Two of five crash and come back, one of six has not founded the group: nobody is ever beside
/// another, all who ask enter, and so do those who came back.
#[test]
fn a_minority_that_forgets_all_does_no_harm_and_comes_back() {
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let mut script = Vec::new();
        for id in [0, 2].map(|at| NodeId((seed as u32 + at) % 5)) {
            let at_ns = 50 * MS + random.below(200 * MS);
            script.push((at_ns, Fault::Crash(id)));
            script.push((at_ns + 1 + random.below(50 * MS), Fault::Restart(id)));
        }
        script.sort_by_key(|it| it.0);
        let faults = Faults::default().script(script);
        let report = run((6, 5), Distribution::Constant(MS), faults, false, seed);
        assert!(report.is_safe(), "{seed}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "{seed}: {report:#?}");
        assert!(report.summary.entries_of.iter().all(|&it| it > 2), "{seed}: {report:#?}");
    }
}

/// Whatever happens numbers grow. (Whether anybody enters in the end is another matter: if most
/// members of a view forget it, it has no next one.)
#[test]
fn whatever_is_forgotten_numbers_grow() {
    let mut entries = 0;
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let nodes = 3 + random.below(3) as u32;
        let faults = Faults::drawn(Severity::Harsh, nodes, MS, 600 * MS, seed).late_ns(5 * MS);
        let latency = Distribution::Uniform(MS / 10, 2 * MS);
        let report = run((nodes, nodes), latency, faults, true, seed);
        assert!(report.is_safe(), "{seed}: {:?}", report.first_violation);
        entries += report.summary.entries();
    }
    assert!(entries > 100, "{entries}");
}

/// Nodes 3 and 4 are left of a group and then cut off, and its founders found another one. When all
/// hear each other again, the older group gives way: numbers grow, and all who ask enter.
#[test]
fn of_two_groups_that_meet_the_older_one_gives_way() {
    for seed in seeds(30) {
        let mut random = Random::new(seed);
        let apart = Partition::new(&[vec![NodeId(3), NodeId(4)]]).unwrap();
        let founders = (0..3).map(NodeId);
        let crashes = (1..).zip(founders.clone()).map(|(at, id)| (at * 30 * MS, Fault::Crash(id)));
        let restarts = founders.map(|id| (150 * MS + random.below(MS), Fault::Restart(id)));
        let mut script: Vec<(u64, Fault)> = crashes.chain(restarts).collect();
        script.push((140 * MS, Fault::Partition(apart.clone())));
        script.push((200 * MS + random.below(200 * MS), Fault::Heal(apart)));
        script.sort_by_key(|it| it.0);
        let faults = Faults::default().script(script);
        let report = run((5, 3), Distribution::Constant(MS), faults, true, seed);
        assert!(report.is_safe(), "{seed}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "{seed}: {report:#?}");
        let Resource { entered, .. } = &report.summary;
        let of = |from_ms: u64, to_ms: u64, ids: [u32; 2]| {
            let within = |it: &&(u64, NodeId)| (from_ms * MS..to_ms * MS).contains(&it.0);
            entered.iter().filter(within).any(|it| ids.contains(&it.1.0))
        };
        assert!(of(160, 200, [0, 1]) && of(160, 200, [3, 4]), "{seed}: two groups: {entered:?}");
        assert!(of(420, 600, [0, 1]) && of(420, 600, [3, 4]), "{seed}: one group: {entered:?}");
    }
}

/// With stable storage all may crash at once, founders and whoever has joined, and come back in any
/// order: the same group goes on, and all who ask enter.
#[test]
fn what_is_on_disk_outlives_all_processes() {
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let mut script = Vec::new();
        for id in (0..4).map(NodeId) {
            script.push((100 * MS + random.below(MS), Fault::Crash(id)));
            script.push((102 * MS + random.below(100 * MS), Fault::Restart(id)));
        }
        script.sort_by_key(|it| it.0);
        let faults = Faults::default().script(script);
        let report = run_of(remembering, (4, 3), Distribution::Constant(MS), faults, false, seed);
        assert!(report.is_safe(), "{seed}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "{seed}: {report:#?}");
        assert!(report.summary.entries_of.iter().all(|&it| it > 2), "{seed}: {report:#?}");
    }
}
