//! A second process under the number of another that is cut off and goes on: with leases nobody
//! enters before the first has lost the lock.

use crate::users;

use std::time::Duration;

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::ReplacedLifeNotAwaited;
use vorrang_algorithms::group::locks::message::{Message, Timer};
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{Lease, Locks, NodeFactory, ViewLayer, without_memory};
use vorrang_algorithms::layer::second_process::{Process, Shared};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Protocol};
use vorrang_sim::{
    Fault, Faults, Network, Partition, Random, Report, Simulation, Workload, WorkloadEffects,
};
use vorrang_testkit::seeds;

use self::users::{ACQUIRE, MS, Resource, Script, Users};

type Node = Locks<RicartAgrawala>;
type NamedMessage =
    Message<<ViewLayer as Protocol>::Message, <RicartAgrawala as Protocol>::Message>;
type Alarm = Timer<<RicartAgrawala as Protocol>::Timer>;

/// Three numbers, and a second process, the last, under number 2.
const SHARED: Shared = Shared { number: NodeId(2), second: NodeId(3) };

/// How long a lease is, in milliseconds.
const LEASE: u64 = 100;

/// A run of processes without stable storage, as over a network; the second one has a later
/// incarnation.
fn run<L, W>(around: fn(Node) -> L, script: Vec<(u64, Fault)>, asks: W) -> Report<Resource>
where
    L: Protocol<Command = Input<Command>, Notice = Notice, Message = NamedMessage, Timer = Alarm>,
    W: Workload<Command, Notice, Meter = Resource>,
{
    // It takes longer to be suspected than to be replaced.
    let setup = Setup { margin: Duration::from_millis(300), ..Setup::new(Group::of(3)) };
    let process = move |place: NodeId| -> Process<Detecting<L>> {
        let founders: Vec<NodeId> = setup.group.members().collect();
        let founding = Some(Founding { view: 1, founders, patience: 0 });
        let incarnation = if place == SHARED.second { 1000 } else { 0 };
        let lease = Some(Lease::new(Duration::from_millis(LEASE), 0));
        let anew = NodeFactory::new(RicartAgrawala::new);
        let me = SHARED.number_of(place);
        let node = without_memory(me, &setup, (incarnation, founding), anew, lease);
        Process::new(place, SHARED, node.map(around))
    };
    let script = script.into_iter().map(|(at_ms, fault)| (at_ms * MS, fault)).collect();
    Simulation::new(
        Population::new(4, process),
        Locked::new(Group::of(4)),
        Network::constant_ms(1),
        asks,
        1,
    )
    .with_faults(Faults::default().script(script), 1)
    .until(2000 * MS)
    .run()
    .unwrap()
}

fn cut_off() -> Fault {
    Fault::Partition(Partition::new(&[vec![NodeId(2)]]).unwrap())
}

/// Node 2 is inside from 200 ms on and cut off at 250 ms, its number is begun anew at 251 ms, and
/// node 0 asks.
fn holder_is_replaced() -> (Vec<(u64, Fault)>, Script) {
    let release = Command::Release;
    let asks = vec![(200, 2, ACQUIRE), (251, 3, ACQUIRE), (252, 0, ACQUIRE), (600, 0, release)];
    (vec![(250, cut_off())], Script(asks))
}

/// When each has entered, in milliseconds, and what the monitor objects to.
fn entries(report: &Report<Resource>) -> (Vec<(u64, u32)>, Option<&'static str>) {
    let entered = report.summary.entered.iter().map(|&(at_ns, at)| (at_ns / MS, at.0));
    (entered.collect(), report.first_violation.as_ref().map(|it| it.1.property))
}

#[test]
fn a_replaced_holder_is_waited_for_until_its_lease_is_over() {
    let (faults, asks) = holder_is_replaced();
    let report = run(|node| node, faults, asks);
    let (entered, objection) = entries(&report);
    assert_eq!(objection, None, "{entered:?}");
    let [(_, 2), (first_ms, _), (_, 3 | 0)] = entered[..] else { panic!("{entered:?}") };
    assert!((340..370).contains(&first_ms), "the lease, and not much longer: {entered:?}");
}

#[test]
fn without_that_two_are_inside_at_once() {
    let (faults, asks) = holder_is_replaced();
    let flawed = |node| Flawed::new(node, &ReplacedLifeNotAwaited as _);
    let (entered, objection) = entries(&run(flawed, faults, asks));
    assert_eq!(objection, Some("exclusion"), "{entered:?}");
}

/// Node 2 is inside and cut off; the two others crash and come back, and its number is begun anew:
/// they know nothing and found the group once more.
#[test]
fn a_group_that_is_founded_anew_waits_for_the_leases_of_the_one_before() {
    let crash = |at| [(255, Fault::Crash(NodeId(at))), (260, Fault::Restart(NodeId(at)))];
    let faults = [vec![(250, cut_off())], crash(0).to_vec(), crash(1).to_vec()].concat();
    let asks = vec![(200, 2, ACQUIRE), (262, 3, ACQUIRE), (600, 3, Command::Release)];
    let (entered, objection) = entries(&run(|node| node, faults, Script(asks)));
    assert_eq!(objection, None, "{entered:?}");
    let [(_, 2), (first_ms, 3)] = entered[..] else { panic!("{entered:?}") };
    assert!((350..380).contains(&first_ms), "{entered:?}");
}

/// Nothing but a view that somebody is missing in makes others wait.
#[test]
fn whoever_has_released_the_lock_is_not_waited_for() {
    let asks = vec![(200, 2, ACQUIRE), (230, 2, Command::Release), (231, 0, ACQUIRE)];
    let (entered, objection) = entries(&run(|node| node, Vec::new(), Script(asks)));
    assert_eq!((objection, entered.len()), (None, 2));
    assert!(entered[1].0 < 240, "{entered:?}");
}

/// All use the lock again and again, the second process from this time on, in milliseconds.
#[derive(Debug)]
struct WithSecond {
    users: Users,
    from_ms: u64,
}

impl Workload<Command, Notice> for WithSecond {
    type Meter = Resource;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Resource {
        self.users.meter(nodes, kinds)
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in [0, 1, 2].map(NodeId) {
            self.users.ask(at, orders);
        }
        orders.command_in(self.from_ms * MS, SHARED.second, ACQUIRE);
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        self.users.on_command(at, command, orders);
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        self.users.on_notice(at, notice, orders);
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        self.users.on_restart(at, orders);
    }
}

/// The first process under number 2 is cut off, or not, and the second started at about that time;
/// one of the others may crash as well. (Whether anybody enters in the end is another matter.)
fn drawn<L>(around: fn(Node) -> L, seed: u64) -> Report<Resource>
where
    L: Protocol<Command = Input<Command>, Notice = Notice, Message = NamedMessage, Timer = Alarm>,
{
    let mut random = Random::new(seed);
    let cut_ms = 150 + random.below(100);
    let from_ms = cut_ms + random.below(30);
    let mut script = Vec::new();
    if random.below(4) > 0 {
        let cut = Partition::new(&[vec![NodeId(2)]]).unwrap();
        script.push((cut_ms, Fault::Partition(cut.clone())));
        script.push((cut_ms + 1 + random.below(300), Fault::Heal(cut)));
    }
    if random.below(2) == 0 {
        let (other, at_ms) = (NodeId(random.below(2) as u32), cut_ms + random.below(60));
        script.push((at_ms, Fault::Crash(other)));
        script.push((at_ms + 1 + random.below(40), Fault::Restart(other)));
    }
    script.sort_by_key(|it| it.0);
    run(around, script, WithSecond { users: Users { until_ns: 600 * MS }, from_ms })
}

/// `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test sim replaced` tries so many seeds.
#[test]
fn whenever_a_number_is_begun_anew_no_two_are_inside() {
    let (mut entries, mut found) = (0, 0);
    for seed in seeds(60) {
        let report = drawn(|node| node, seed);
        assert!(report.is_safe(), "VORRANG_SEED={seed}: {:?}", report.first_violation);
        entries += report.summary.entries_of[SHARED.second.index()];
        let flawed = drawn(|node| Flawed::new(node, &ReplacedLifeNotAwaited as _), seed);
        found += u64::from(!flawed.is_safe());
    }
    assert!(entries > 60, "the second process enters {entries} times");
    assert!(found > 0 || seeds(60).count() < 60, "the mistake is found in none");
}
