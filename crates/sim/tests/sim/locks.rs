//! Locks on views: every algorithm for mutual exclusion survives crashes, restarts, losses, pauses
//! and partitions, and none of its messages knows.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test sim locks` tries so many seeds of
//! each, and `VORRANG_SEED=17` that one alone.

use crate::users;

use std::time::Duration;

use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{Lease, NodeFactory, OnViews, on_views};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::Retries;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::mutex::{Claim, Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{Catalogued, Entry, NodeOf};
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Severity, Simulation, Skew,
    Workload, WorkloadEffects,
};
use vorrang_testkit::seeds;

use self::users::{ACQUIRE, MS, Resource, Users};

type Node = OnViews<Reliable<NodeOf<Mutex>>>;

/// Those that let one in at a time, whoever asks when.
fn algorithms() -> impl Iterator<Item = &'static Entry<Mutex>> {
    Mutex::entries().iter().filter(|entry| {
        let (card, setup) = (entry.card, Setup::new(Group::of(3)));
        let is_plain = !card.assumes.timely && !card.assumes.one_at_a_time;
        let is_exclusive = card.terms.claims.contains(&Claim::Exclusive)
            && matches!((card.terms.admission)(&setup), Admission::One);
        entry.flaw.is_none() && is_plain && is_exclusive
    })
}

fn node(entry: &'static Entry<Mutex>, me: NodeId, setup: &Setup) -> Node {
    let anew = NodeFactory::new(move |rank, group| {
        let node = entry.recipe.nodes(&entry.card.setup(group)).expect("any number of nodes");
        node(rank)
    });
    let anew = anew.over_channels(Retries::within(setup.within, 200));
    let founders: Vec<NodeId> = setup.group.members().collect();
    on_views(me, setup, &founders, anew, None)
}

struct Run {
    nodes: u32,
    latency: Distribution,
    faults: Faults,
    is_fenced: bool,
    until_ns: u64,
    seed: u64,
}

impl Run {
    fn done(self, entry: &'static Entry<Mutex>) -> Report<Resource> {
        let setup = Setup::new(Group::of(self.nodes));
        let locked = Locked::new(setup.group);
        Simulation::new(
            Population::new(self.nodes, move |id| node(entry, id, &setup)),
            if self.is_fenced { locked.fenced() } else { locked },
            Network { latency: self.latency, order: Order::Any },
            Users { until_ns: self.until_ns },
            self.seed,
        )
        .with_faults(self.faults, self.seed)
        .until(self.until_ns + 1500 * MS)
        .run()
        .unwrap()
    }
}

/// Three nodes; the one that asks first stays inside for long, is cut off meanwhile, and the others
/// ask. How often the monitor objects to two inside, and the resource to a late number, if the
/// clock of that node runs so many times too slowly.
fn cut_off(lease: Option<Lease>, slow: u32) -> (Option<&'static str>, Resource) {
    // A heartbeat that is eight times as late is not too late.
    let setup = Setup { margin: Duration::from_millis(50), ..Setup::new(Group::of(3)) };
    let founders: Vec<NodeId> = setup.group.members().collect();
    let pace = setup.clone();
    let node = move |id: NodeId| {
        on_views(id, &pace, &founders, NodeFactory::new(RicartAgrawala::new), lease)
    };
    let clocks = vec![Skew { node: NodeId(2), per_mille: slow * 1000 }];
    let cut = Partition::new(&[vec![NodeId(2)]]).unwrap();
    let script = vec![(20 * MS, Fault::Partition(cut.clone())), (200 * MS, Fault::Heal(cut))];
    let report = Simulation::new(
        Population::new(3, node),
        Locked::new(setup.group),
        Network::constant_ms(1),
        LongStay,
        1,
    )
    .with_faults(Faults::default().script(script).clocks(clocks), 1)
    .until(2000 * MS)
    .run()
    .unwrap();
    assert!(report.is_quiescent(), "{report:#?}");
    assert_eq!(report.summary.entries(), 3, "{report:#?}");
    (report.first_violation.map(|it| it.1.property), report.summary)
}

/// Node 2 stays inside from the beginning until 150 ms, the others ask at 30 ms and stay for 5 ms.
#[derive(Debug)]
struct LongStay;

impl Workload<Command, Notice> for LongStay {
    type Meter = Resource;

    fn meter(&self, nodes: u32, _: &'static [&'static str]) -> Resource {
        Resource::new(nodes)
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        orders.command_in(0, NodeId(2), ACQUIRE);
        orders.command_in(150 * MS, NodeId(2), Command::Release);
        orders.command_in(30 * MS, NodeId(0), ACQUIRE);
        orders.command_in(30 * MS, NodeId(1), ACQUIRE);
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if notice.is_entry() && at != NodeId(2) {
            orders.command_in(5 * MS, at, Command::Release);
        }
    }
}

/// With a lease it is put out before the others enter; without, or if its clock is slower than
/// anybody assumed, it is not, and only the resource knows.
#[test]
fn whoever_is_cut_off_leaves_before_others_enter_if_clocks_are_as_assumed() {
    let lease = |drift| Some(Lease::new(Duration::from_millis(20), drift));
    for (lease, slow, objection, refused) in [
        (None, 1, Some("exclusion"), 1),
        (lease(0), 1, None, 0),
        (lease(0), 8, Some("exclusion"), 1),
        (lease(900), 8, None, 0),
    ] {
        let (found, resource) = cut_off(lease, slow);
        assert_eq!(found, objection, "{lease:?}, {slow} times too slow");
        assert_eq!(resource.refused, refused, "{lease:?}, {slow} times too slow");
    }
}

#[track_caller]
fn is_fine(name: &str, seed: u64, report: &Report<Resource>) {
    let violation = report.first_violation.as_ref().map(|it| &it.1);
    assert!(report.is_safe(), "{name}, VORRANG_SEED={seed}: {violation:?}");
    assert!(report.is_quiescent(), "{name}, VORRANG_SEED={seed}: {report:#?}");
}

/// Messages take equally long, so nobody is suspected who is up: then nobody is ever beside
/// another, whoever crashes when, and comes back or not.
#[test]
fn with_crashes_alone_nobody_is_ever_beside_another() {
    let mut names = 0;
    for entry in algorithms() {
        names += 1;
        let mut entries = 0;
        for seed in seeds(10) {
            let mut random = Random::new(seed);
            let mut script = Vec::new();
            for id in [0, 2].map(|at| NodeId((seed as u32 + at) % 5)) {
                let at_ns = random.below(200 * MS);
                script.push((at_ns, Fault::Crash(id)));
                if random.below(2) == 0 {
                    script.push((at_ns + 1 + random.below(50 * MS), Fault::Restart(id)));
                }
            }
            script.sort_by_key(|it| it.0);
            let run = Run {
                nodes: 5,
                latency: Distribution::Constant(MS),
                faults: Faults::default().script(script),
                is_fenced: false,
                until_ns: 300 * MS,
                seed,
            };
            let report = run.done(entry);
            is_fine(entry.card.name, seed, &report);
            assert_eq!(report.summary.refused, 0, "{}: {report:?}", entry.card.name);
            entries += report.summary.entries();
        }
        println!("{}: {entries} entries", entry.card.name);
        assert!(entries > 20 * seeds(10).count() as u64, "{}: {entries}", entry.card.name);
    }
    assert!(names >= 15, "only {names} algorithms");
}

#[test]
fn whatever_goes_wrong_numbers_grow_and_whoever_waits_enters_in_the_end() {
    for entry in algorithms() {
        let (mut entries, mut refused) = (0, 0);
        for seed in seeds(10) {
            let mut random = Random::new(seed);
            let (nodes, until_ns) = (3 + random.below(3) as u32, 500 * MS);
            let run = Run {
                nodes,
                latency: Distribution::Uniform(MS / 10, 2 * MS),
                faults: Faults::drawn(Severity::Harsh, nodes, MS, until_ns, seed).late_ns(5 * MS),
                is_fenced: true,
                until_ns,
                seed,
            };
            let report = run.done(entry);
            is_fine(entry.card.name, seed, &report);
            entries += report.summary.entries();
            refused += report.summary.refused;
        }
        println!("{}: {entries} entries, {refused} refused", entry.card.name);
    }
}
