//! Locks on views without stable storage, as processes over a network are: whoever comes back knows
//! nothing, and nobody but the founders is there from the beginning.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test forgetful` tries so many seeds.

use vorrang_algorithms::group::forgetful::Founding;
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{Anew, OnViews, without_memory};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::Patience;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::{Group, Message, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Orders, Random, Report, Severity, Simulation, Workload,
};
use vorrang_trace::Meter;

const MS: u64 = 1_000_000;

type Node = OnViews<Reliable<SuzukiKasami>>;

/// Of the nodes, the first so many found the group.
fn node(me: NodeId, setup: &Setup, founders: u32) -> Node {
    let anew = Anew::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
        .over_channels(Patience::within(setup.within, 200));
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    let founding = founders.contains(&me).then_some(Founding { view: 1, founders });
    without_memory(me, setup, (0, founding), anew, None)
}

/// Every node asks, stays and leaves, until the time is over.
#[derive(Debug)]
struct Users {
    until_ns: u64,
}

impl Users {
    fn ask(&self, at: NodeId, orders: &mut Orders<'_, Command>) {
        let in_ns = orders.random.exponential(4.0 * MS as f64) as u64 + 1;
        if orders.now_ns + in_ns < self.until_ns {
            orders.command_in(in_ns, at, Command::Acquire(Claim::Exclusive));
        }
    }
}

impl Workload<Command, Notice> for Users {
    type Meter = Entries;

    fn meter(&self, nodes: u32, _: &'static [&'static str]) -> Entries {
        Entries { of: vec![0; nodes as usize] }
    }
    fn on_start(&mut self, orders: &mut Orders<'_, Command>) {
        for at in (0..orders.nodes).map(NodeId) {
            self.ask(at, orders);
        }
    }
    fn on_command(&mut self, at: NodeId, command: &Command, orders: &mut Orders<'_, Command>) {
        if *command == Command::Release {
            self.ask(at, orders);
        }
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice, orders: &mut Orders<'_, Command>) {
        if notice.is_entry() {
            let in_ns = orders.random.exponential(3.0 * MS as f64) as u64;
            orders.command_in(in_ns, at, Command::Release);
        }
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut Orders<'_, Command>) {
        self.ask(at, orders);
    }
}

/// How often each has entered.
#[derive(Clone, Debug)]
struct Entries {
    of: Vec<u64>,
}

impl Meter<Command, Notice> for Entries {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, _: u64, at: NodeId, notice: &Notice) {
        self.of[at.index()] += u64::from(notice.is_entry());
    }
    fn on_send<M: Message>(&mut self, _: NodeId, _: NodeId, _: &M) {}
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn progress(&self) -> u64 {
        self.of.iter().sum()
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

/// A run of so many nodes, of which so many found the group.
fn run(
    (nodes, founders): (u32, u32),
    latency: Distribution,
    faults: Faults,
    is_fenced: bool,
    seed: u64,
) -> Report<Entries> {
    let setup = Setup::new(Group::of(nodes));
    let again = setup.clone();
    let until_ns = 600 * MS;
    let locked = Locked::new(setup.group);
    Simulation::new(
        setup.group.members().map(|id| node(id, &setup, founders)),
        if is_fenced { locked.fenced() } else { locked },
        Network { latency, order: Order::Any },
        Users { until_ns },
        seed,
    )
    .with_faults(faults, seed, move |id| node(id, &again, founders))
    .until(until_ns + 1500 * MS)
    .run()
    .unwrap()
}

fn seeds(usually: u64) -> std::ops::Range<u64> {
    let many = std::env::var("VORRANG_SCHEDULES").ok();
    0..many.map_or(usually, |it| it.parse().expect("VORRANG_SCHEDULES is a number"))
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
        assert!(report.summary.of.iter().all(|&entries| entries > 2), "{seed}: {report:#?}");
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
        entries += report.summary.of.iter().sum::<u64>();
    }
    assert!(entries > 100, "{entries}");
}
