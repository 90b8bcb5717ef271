//! Groups whose views name their voters: members are evicted, voters come and go, and directories
//! are lost, with drawn faults besides.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test sim voters` tries so many seeds, and
//! `VORRANG_SEED=17` that one alone.

use std::time::Duration;

use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::{Lease, NodeFactory};
use vorrang_algorithms::group::named::spec::NamedLocked;
use vorrang_algorithms::group::named::{
    Client, Command, Key, Kind, Limits, Name, Notice, OnViews, Want, with_memory,
};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::{Peers, Retries};
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Setup;
use vorrang_erased::Population;
use vorrang_protocol::{
    Effects, Group, GroupHealth, GroupView, NodeId, NodeState, Order, Protocol, Refused, Relay,
};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Severity, Simulation,
    Workload, WorkloadEffects,
};
use vorrang_testkit::seeds;
use vorrang_trace::{Meter, Sent};

use crate::users::MS;

const NODES: u32 = 4;
const FOUNDERS: u32 = 3;
const UNTIL_NS: u64 = 400 * MS;

type Inside = OnViews<SuzukiKasami>;

/// How a node is set up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Made {
    me: NodeId,
    lease: Option<Lease>,
    margin: Duration,
    /// A crash takes the directory along, if it is one of so many.
    loses_every: u64,
}

impl Made {
    /// In this life, with an empty directory.
    fn node(self, life: u64) -> Inside {
        let setup = Setup { margin: self.margin, ..Setup::new(Group::of(NODES)) };
        let founders = (0..FOUNDERS).map(NodeId).collect();
        let founding = Founding { view: 1 + life, founders, patience: 0 };
        let anew = NodeFactory::new(|me, of| SuzukiKasami::new(me, of, NodeId(0)));
        with_memory(self.me, &setup, (life, founding), (anew, Limits::USUAL), self.lease)
    }
}

/// A node whose directory may be lost. Whoever asks it to change the group takes no for an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Member {
    made: Made,
    crashes: u64,
    node: Inside,
}

impl Member {
    fn new(made: Made) -> Self {
        Self { made, crashes: 0, node: made.node(0) }
    }
}

impl Protocol for Member {
    type Message = <Inside as Protocol>::Message;
    type Timer = <Inside as Protocol>::Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_start(&mut Relay::<Self, _, _>::new(fx));
    }
    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let is_asked_of_group =
            matches!(command, Command::Evict(_) | Command::AddVoter(_) | Command::RemoveVoter(_));
        let done = self.node.on_command(command, &mut Relay::<Self, _, _>::new(fx));
        if is_asked_of_group { Ok(()) } else { done }
    }
    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.node.on_message(from, message, &mut Relay::<Self, _, _>::new(fx));
    }
    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.node.on_timer(timer, &mut Relay::<Self, _, _>::new(fx));
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_restart(&mut Relay::<Self, _, _>::new(fx));
    }
    fn state(&self) -> NodeState {
        self.node.state()
    }
    fn group_view(&self) -> Option<GroupView> {
        self.node.group_view()
    }
    fn group_health(&self) -> Option<GroupHealth> {
        self.node.group_health()
    }
    fn after_crash(&self, fresh: Self) -> Self {
        let crashes = self.crashes + 1;
        let node = if crashes.is_multiple_of(self.made.loses_every) {
            // By a clock, as it were: larger than all lives before.
            self.made.node(crashes * 1_000_000)
        } else {
            self.node.after_crash(fresh.node)
        };
        Self { crashes, node, ..fresh }
    }
}

/// One client of every node wants the lock, has it, gives it back, and wants it again; and somebody
/// changes the group.
#[derive(Debug)]
struct Users {
    has: Vec<bool>,
    changes: Vec<(u64, u32, Command)>,
}

const CLIENT: Client = 1;

fn name() -> Name {
    Name::new("a").unwrap()
}

impl Users {
    fn new(changes: Vec<(u64, u32, Command)>) -> Self {
        Self { has: vec![false; NODES as usize], changes }
    }

    fn want(at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        let in_ns = orders.random.exponential(4.0 * MS as f64) as u64 + 1;
        if orders.now_ns + in_ns < UNTIL_NS {
            let want = Command::Acquire { name: name(), client: CLIENT, want: Want::Exclusive };
            orders.command_in(in_ns, at, want);
        }
    }
}

impl Workload<Command, Notice> for Users {
    type Meter = Grants;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Grants {
        Grants::default()
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in (0..NODES).map(NodeId) {
            Self::want(at, orders);
        }
        for (at_ns, at, command) in self.changes.drain(..) {
            orders.command_in(at_ns, NodeId(at), command);
        }
    }
    fn withholds(&mut self, at: NodeId, command: &Command) -> bool {
        matches!(command, Command::Withdraw { .. }) && !self.has[at.index()]
            || matches!(command, Command::Acquire { .. }) && self.has[at.index()]
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if matches!(command, Command::Acquire { .. }) {
            self.has[at.index()] = true;
        } else if matches!(command, Command::Withdraw { .. }) {
            self.has[at.index()] = false;
            Self::want(at, orders);
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if matches!(notice, Notice::Granted { .. }) {
            let key = Key { kind: Kind::Lock, name: name() };
            let in_ns = orders.random.exponential(3.0 * MS as f64) as u64;
            orders.command_in(in_ns, at, Command::Withdraw { key, client: CLIENT });
        } else if matches!(notice, Notice::Lost { .. }) {
            self.has[at.index()] = false;
            Self::want(at, orders);
        }
    }
    fn on_crash(&mut self, at: NodeId, _: &mut WorkloadEffects<'_, Command>) {
        self.has[at.index()] = false;
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        Self::want(at, orders);
    }
}

/// How often each node was granted the lock after some time, and how often one has lost it.
#[derive(Clone, Debug, Default)]
struct Grants {
    late: [u64; NODES as usize],
    all: u64,
    lost: u64,
}

const LATE_NS: u64 = 330 * MS;

impl Meter<Command, Notice> for Grants {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        if matches!(notice, Notice::Granted { .. }) {
            self.all += 1;
            self.late[at.index()] += u64::from(at_ns > LATE_NS);
        }
        self.lost += u64::from(matches!(notice, Notice::Lost { .. }));
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, _: Sent) {}
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn on_crash(&mut self, _: u64, _: NodeId) {}
    fn progress(&self) -> u64 {
        self.all
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

struct Run {
    latency: Distribution,
    faults: Faults,
    changes: Vec<(u64, u32, Command)>,
    made: Made,
    seed: u64,
}

impl Run {
    fn done(self) -> Report<Grants> {
        let Self { latency, faults, changes, made, seed } = self;
        let group = Group::of(NODES);
        let locked = NamedLocked::new(group);
        let within = Setup::new(group).within;
        let node = move |me: NodeId| {
            let member = Member::new(Made { me, ..made });
            Reliable::new(me, member, Peers::All(group), Retries::within(within, 200))
        };
        Simulation::new(
            Population::new(NODES, node),
            if made.lease.is_some() { locked } else { locked.fenced() },
            Network { latency, order: Order::Any },
            Users::new(changes),
            seed,
        )
        .with_faults(faults, seed)
        .until(UNTIL_NS + 1500 * MS)
        .run()
        .unwrap()
    }
}

const MADE: Made =
    Made { me: NodeId(0), lease: None, margin: Duration::from_micros(500), loses_every: 1 };

/// At any time, at any node, about any.
fn changes(random: &mut Random) -> Vec<(u64, u32, Command)> {
    let node = |random: &mut Random| random.below(NODES.into()) as u32;
    let change = |_| {
        let of = NodeId(node(random));
        let command = match random.below(4) {
            0 => Command::Evict(of),
            1 => Command::RemoveVoter(of),
            _ => Command::AddVoter(of),
        };
        (random.below(UNTIL_NS), node(random), command)
    };
    (0..20).map(change).collect()
}

/// Whether anybody is served in the end is another matter: most voters may be lost.
#[test]
fn whatever_is_lost_and_whoever_votes_tokens_grow() {
    let (mut all, mut late) = (0, 0);
    for seed in seeds(250) {
        let mut random = Random::new(seed);
        let faults = Faults::drawn(Severity::Harsh, NODES, MS, UNTIL_NS, seed).late_ns(5 * MS);
        let run = Run {
            latency: Distribution::Uniform(MS / 10, 2 * MS),
            faults,
            changes: changes(&mut random),
            made: Made { loses_every: 1 + random.below(4), ..MADE },
            seed,
        };
        let report = run.done();
        let violation = report.first_violation.as_ref().map(|it| &it.1);
        assert!(report.is_safe(), "VORRANG_SEED={seed}: {violation:?}");
        all += report.summary.all;
        late += u64::from(report.summary.late.iter().any(|&it| it > 0));
    }
    let runs = seeds(250).count() as u64;
    println!("{all} grants, in {late} of {runs} runs to the end");
    assert!(all > 10 * runs && late > runs / 4, "{all} {late}");
}

/// The voters of a view vouch for those who have something in it.
#[test]
fn with_leases_nobody_has_what_another_has_whoever_votes() {
    let (mut all, mut lost) = (0, 0);
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let (mut script, mut at_ns) = (Vec::new(), 0);
        while at_ns < UNTIL_NS - 100 * MS {
            at_ns += (20 + random.below(60)) * MS;
            let end_ns = at_ns + (1 + random.below(90)) * MS;
            let node = NodeId(random.below(NODES.into()) as u32);
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
        let lease = Some(Lease::new(Duration::from_millis(25), 0));
        let run = Run {
            latency: Distribution::Constant(MS),
            faults: Faults::default().script(script),
            changes: changes(&mut random),
            made: Made {
                lease,
                margin: Duration::from_millis(15),
                loses_every: 1 + random.below(4),
                ..MADE
            },
            seed,
        };
        let report = run.done();
        let violation = report.first_violation.as_ref().map(|it| &it.1);
        assert!(report.is_safe(), "VORRANG_SEED={seed}: {violation:?}");
        all += report.summary.all;
        lost += report.summary.lost;
    }
    let runs = seeds(100).count() as u64;
    println!("{all} grants, {lost} lost");
    assert!(all > 10 * runs && lost > runs / 4, "{all} {lost}");
}

/// One founder after the other loses its directory and is let vote with the new one, and one that
/// was none is let vote, too: in the end nobody has the directory that it had in the beginning, and
/// all are served.
#[test]
fn voters_are_replaced_one_by_one_until_none_is_left_of_the_first() {
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let (mut script, mut changes) = (Vec::new(), Vec::new());
        for (turn, node) in (0..u64::from(FOUNDERS)).zip((0..FOUNDERS).map(NodeId)) {
            let at_ns = (30 + 90 * turn) * MS + random.below(5 * MS);
            let back_ns = at_ns + 1 + random.below(30 * MS);
            script.push((at_ns, Fault::Crash(node)));
            script.push((back_ns, Fault::Restart(node)));
            // Somebody asks until it is so; who does is up again, or still.
            for _ in 0..8 {
                let asked = (node.0 + 1 + random.below(3) as u32) % NODES;
                let in_ns = 20 * MS + random.below(30 * MS);
                changes.push((back_ns + in_ns, asked, Command::AddVoter(node)));
            }
        }
        changes.push((10 * MS + random.below(10 * MS), 3, Command::AddVoter(NodeId(3))));
        let run = Run {
            latency: Distribution::Constant(MS),
            faults: Faults::default().script(script),
            changes,
            made: MADE,
            seed,
        };
        let report = run.done();
        assert!(report.is_safe(), "VORRANG_SEED={seed}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "VORRANG_SEED={seed}: {report:#?}");
        let served = report.summary.late;
        assert!(served.iter().all(|&it| it > 0), "VORRANG_SEED={seed}: {report:#?}");
    }
}
