//! Named locks, semaphores and elections with drawn faults: crashes, restarts, pauses, slow links,
//! partitions, and losses between two lives.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test sim named` tries so many seeds, and
//! `VORRANG_SEED=17` that one alone.

use std::collections::BTreeMap;
use std::time::Duration;

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::{Exclusive, Lease, NodeFactory};
use vorrang_algorithms::group::named::flaws::RestartSkipsWait;
use vorrang_algorithms::group::named::spec::NamedLocked;
use vorrang_algorithms::group::named::{
    Batch, Client, Command, Key, Kind, Limits, Name, NamedLocks, Notice, Value, Want,
    without_memory,
};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::{Peers, Retries};
use vorrang_algorithms::layer::second_process::{Process, Shared};
use vorrang_algorithms::mutex::readers_writers::ClaimedExclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Setup;
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Order, Protocol};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Severity, Simulation,
    Workload, WorkloadEffects,
};
use vorrang_testkit::seeds;
use vorrang_trace::{Meter, Sent};

use crate::users::MS;

/// Clients of every node.
const CLIENTS: u64 = 3;

/// Every client wants something, has it, gives it back and wants something else, until the time is
/// over. Now and then one loses patience.
#[derive(Debug)]
struct Users {
    until_ns: u64,
    /// How long clients have what they want.
    stay_ns: u64,
    shares: bool,
    /// What each client waits for or has.
    has: BTreeMap<(NodeId, Client), Key>,
}

impl Users {
    fn want(&self, at: NodeId, client: Client, orders: &mut WorkloadEffects<'_, Command>) {
        let in_ns = orders.random.exponential(4.0 * MS as f64) as u64 + 1;
        if orders.now_ns + in_ns >= self.until_ns {
            return;
        }
        let (text, want) = match orders.random.below(10) {
            0..=3 => ("a", Want::Exclusive),
            5 | 6 if self.shares => ("a", Want::Shared),
            4..=6 => ("b", Want::Exclusive),
            7 | 8 => ("c", Want::PermitOf(2)),
            _ => ("d", Want::Lead(Value::new(&format!("{client} of {at}")).unwrap())),
        };
        let name = Name::new(text).unwrap();
        orders.command_in(in_ns, at, Command::Acquire { name, client, want });
    }

    fn give_back_in(
        &self,
        in_ns: u64,
        (at, client): (NodeId, Client),
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if let Some(key) = self.has.get(&(at, client)).cloned() {
            orders.command_in(in_ns, at, Command::Withdraw { key, client });
        }
    }
}

impl Workload<Command, Notice> for Users {
    type Meter = Grants;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Grants {
        Grants::default()
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in (0..orders.nodes).map(NodeId) {
            self.on_restart(at, orders);
        }
    }
    fn withholds(&mut self, at: NodeId, command: &Command) -> bool {
        match command {
            Command::Acquire { client, .. } => self.has.contains_key(&(at, *client)),
            Command::Withdraw { key, client } => self.has.get(&(at, *client)) != Some(key),
            Command::Release { .. }
            | Command::Observe(_)
            | Command::Ignore(_)
            | Command::Renew
            | Command::Leave
            | Command::Evict(_)
            | Command::AddVoter(_)
            | Command::RemoveVoter(_) => false,
        }
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        match command {
            Command::Acquire { name, client, want } => {
                let key = Key { kind: want.kind(), name: name.clone() };
                self.has.insert((at, *client), key);
                if orders.random.below(8) == 0 {
                    let in_ns = orders.random.exponential(5.0 * MS as f64) as u64;
                    self.give_back_in(in_ns, (at, *client), orders);
                }
            }
            Command::Withdraw { client, .. } => {
                self.has.remove(&(at, *client));
                self.want(at, *client, orders);
            }
            Command::Release { .. }
            | Command::Observe(_)
            | Command::Ignore(_)
            | Command::Renew
            | Command::Leave
            | Command::Evict(_)
            | Command::AddVoter(_)
            | Command::RemoveVoter(_) => {}
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        match notice {
            Notice::Granted { client, .. } => {
                let in_ns = orders.random.exponential(self.stay_ns as f64) as u64;
                self.give_back_in(in_ns, (at, *client), orders);
            }
            Notice::Lost { client, .. } | Notice::Refused { client, .. } => {
                self.has.remove(&(at, *client));
                self.want(at, *client, orders);
            }
            Notice::AtRisk
            | Notice::Safe
            | Notice::Leader { .. }
            | Notice::View { .. }
            | Notice::Removed { .. } => {}
        }
    }
    fn on_crash(&mut self, at: NodeId, _: &mut WorkloadEffects<'_, Command>) {
        self.has.retain(|it, _| it.0 != at);
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        for client in 0..CLIENTS {
            self.want(at, client, orders);
        }
    }
}

/// How often something was granted, by kind, and lost.
#[derive(Clone, Debug, Default)]
struct Grants {
    of: BTreeMap<Kind, u64>,
    lost: u64,
    at_risk: u64,
}

impl Meter<Command, Notice> for Grants {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, _: u64, _: NodeId, notice: &Notice) {
        match notice {
            Notice::Granted { key, .. } => *self.of.entry(key.kind).or_default() += 1,
            Notice::Lost { .. } => self.lost += 1,
            Notice::AtRisk => self.at_risk += 1,
            Notice::Refused { .. }
            | Notice::Safe
            | Notice::Leader { .. }
            | Notice::View { .. }
            | Notice::Removed { .. } => {}
        }
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, _: Sent) {}
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn on_crash(&mut self, _: u64, _: NodeId) {}
    fn progress(&self) -> u64 {
        self.of.values().sum()
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

struct Run {
    nodes: u32,
    latency: Distribution,
    faults: Faults,
    lease: Option<Lease>,
    margin: Duration,
    stay_ns: u64,
    limits: Limits,
    seed: u64,
}

const UNTIL_NS: u64 = 400 * MS;

impl Run {
    fn done<P: Exclusive>(self, shares: bool, anew: &NodeFactory<P>) -> Report<Grants> {
        let Self { nodes, latency, faults, lease, margin, stay_ns, limits, seed } = self;
        let setup = Setup { margin, ..Setup::new(Group::of(nodes)) };
        let (group, locked) = (setup.group, NamedLocked::new(setup.group));
        let anew = anew.clone();
        let node = move |id: NodeId| {
            let founders: Vec<NodeId> = group.members().collect();
            let locks = NamedLocks::named(id, group, &founders, anew.clone(), limits);
            let node = Detecting::new(id, &setup, locks.with_lease(lease).telling_views());
            Reliable::new(id, node, Peers::All(group), Retries::within(setup.within, 200))
        };
        Simulation::new(
            Population::new(nodes, node),
            if lease.is_some() { locked } else { locked.fenced() },
            Network { latency, order: Order::Any },
            Users { until_ns: UNTIL_NS, stay_ns, shares, has: BTreeMap::new() },
            seed,
        )
        .with_faults(faults, seed)
        .until(UNTIL_NS + 1500 * MS)
        .run()
        .unwrap()
    }

    /// The same in the algorithm that the seed says.
    fn drawn(self) -> Report<Grants> {
        if self.seed.is_multiple_of(2) {
            self.done(true, &NodeFactory::new(ClaimedExclusion::readers_writers))
        } else {
            self.done(false, &NodeFactory::new(|me, of| SuzukiKasami::new(me, of, NodeId(0))))
        }
    }
}

/// Small numbers, so that everything happens.
fn limits(random: &mut Random) -> Limits {
    let time = (random.below(2) == 0).then(|| Duration::from_millis(1 + random.below(8)));
    Limits {
        batch: Batch { clients: 1 + random.below(4) as u32, time },
        idle_names: 1 + random.below(20) as usize,
        bytes: random.below(60) as usize,
        at_once: 1 + random.below(3) as usize,
    }
}

#[track_caller]
fn is_fine(seed: u64, report: &Report<Grants>) {
    let violation = report.first_violation.as_ref().map(|it| &it.1);
    assert!(report.is_safe(), "VORRANG_SEED={seed}: {violation:?}");
    assert!(report.is_quiescent(), "VORRANG_SEED={seed}: {report:#?}");
}

#[test]
fn whatever_goes_wrong_tokens_grow_and_whoever_waits_is_served_in_the_end() {
    let mut all = BTreeMap::new();
    for seed in seeds(250) {
        let mut random = Random::new(seed);
        let nodes = 2 + random.below(4) as u32;
        let faults = Faults::drawn(Severity::Harsh, nodes, MS, UNTIL_NS, seed).late_ns(5 * MS);
        let run = Run {
            nodes,
            latency: Distribution::Uniform(MS / 10, 2 * MS),
            faults,
            lease: None,
            margin: Duration::from_micros(500),
            stay_ns: 3 * MS,
            limits: limits(&mut random),
            seed,
        };
        let report = run.drawn();
        is_fine(seed, &report);
        for (kind, grants) in &report.summary.of {
            *all.entry(*kind).or_default() += grants;
        }
    }
    println!("{all:?}");
    let runs = seeds(250).count() as u64;
    assert!(all.values().all(|&it: &u64| it > 5 * runs) && all.len() == 3, "{all:?}");
}

/// With leases nobody has what another has, even if one is cut off and does not know that the
/// others have gone on.
#[test]
fn with_leases_nobody_ever_has_what_another_has() {
    let (mut lost, mut at_risk) = (0, 0);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let mut script = Vec::new();
        let mut at_ns = 0;
        while at_ns < UNTIL_NS - 100 * MS {
            at_ns += (20 + random.below(100)) * MS;
            let end_ns = at_ns + (1 + random.below(90)) * MS;
            let node = NodeId(random.below(3) as u32);
            if random.below(2) == 0 {
                script.push((at_ns, Fault::Crash(node)));
                script.push((end_ns, Fault::Restart(node)));
            } else {
                let cut = Partition::new(&[vec![node]]).unwrap();
                script.push((at_ns, Fault::Partition(cut.clone())));
                script.push((end_ns, Fault::Heal(cut)));
            }
            at_ns = end_ns;
        }
        let run = Run {
            nodes: 3,
            latency: Distribution::Constant(MS),
            faults: Faults::default().script(script),
            lease: Some(
                Lease::new(Duration::from_millis(25), 0).with_grace(Duration::from_millis(8)),
            ),
            margin: Duration::from_millis(15),
            stay_ns: 20 * MS,
            limits: limits(&mut random),
            seed,
        };
        let report = run.drawn();
        is_fine(seed, &report);
        lost += report.summary.lost;
        at_risk += report.summary.at_risk;
    }
    println!("{lost} lost, {at_risk} times at risk");
    let runs = seeds(60).count() as u64;
    assert!(lost > runs / 4 && at_risk > lost / 4, "{lost} {at_risk}");
}

/// Commands at these times, in milliseconds, and no others.
#[derive(Debug)]
struct Script(Vec<(u64, u32, Command)>);

impl Workload<Command, Notice> for Script {
    type Meter = Grants;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Grants {
        Grants::default()
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for (at_ms, at, command) in self.0.drain(..) {
            orders.command_in(at_ms * MS, NodeId(at), command);
        }
    }
}

type Member = NamedLocks<SuzukiKasami>;

/// A client of member 2 has the lock when that is cut off; the two others crash, and a second
/// process comes up under number 2. These know nothing and found the group once more, and a client
/// of the second process asks.
fn founded_anew<L>(around: fn(Member) -> L) -> Report<Grants>
where
    L: Protocol<
            Command = Input<Command>,
            Notice = Notice,
            Message = <Member as Protocol>::Message,
            Timer = <Member as Protocol>::Timer,
        >,
{
    const SHARED: Shared = Shared { number: NodeId(2), second: NodeId(3) };
    // It takes longer to be suspected than to be replaced.
    let setup = Setup { margin: Duration::from_millis(300), ..Setup::new(Group::of(3)) };
    let process = move |place: NodeId| -> Process<Detecting<L>> {
        let founders: Vec<NodeId> = setup.group.members().collect();
        let founding = Some(Founding { view: 1, founders, patience: 0 });
        let incarnation = if place == SHARED.second { 1000 } else { 0 };
        let lease = Some(Lease::new(Duration::from_millis(100), 0));
        let anew = NodeFactory::new(|me, of| SuzukiKasami::new(me, of, NodeId(0)));
        let (me, anew) = (SHARED.number_of(place), (anew, Limits::USUAL));
        let node = without_memory(me, &setup, (incarnation, founding), anew, lease);
        Process::new(place, SHARED, node.map(around))
    };
    let cut_off = Fault::Partition(Partition::new(&[vec![NodeId(2)]]).unwrap());
    let crash = |at| [(255, Fault::Crash(NodeId(at))), (260, Fault::Restart(NodeId(at)))];
    let script = [vec![(250, cut_off)], crash(0).to_vec(), crash(1).to_vec()].concat();
    let script = script.into_iter().map(|(at_ms, fault)| (at_ms * MS, fault)).collect();
    let ask = |client| {
        let name = Name::new("a").unwrap();
        Command::Acquire { name, client, want: Want::Exclusive }
    };
    Simulation::new(
        Population::new(4, process),
        NamedLocked::new(Group::of(4)),
        Network::constant_ms(1),
        Script(vec![(200, 2, ask(1)), (262, 3, ask(2))]),
        1,
    )
    .with_faults(Faults::default().script(script), 1)
    .until(2000 * MS)
    .run()
    .unwrap()
}

#[test]
fn a_group_that_is_founded_anew_waits_for_what_the_one_before_has_granted() {
    let report = founded_anew(|node| node);
    assert!(report.is_safe(), "{report:?}");
    assert_eq!((report.progress, report.summary.lost), (2, 1), "the second has it in the end");
    let flawed = founded_anew(|node| Flawed::new(node, &RestartSkipsWait as _));
    let (_, violation) = flawed.first_violation.expect("two have it");
    assert_eq!(violation.property, "exclusion", "{violation:?}");
}
