//! Locks on views: every algorithm for mutual exclusion survives crashes, restarts, losses, pauses
//! and partitions, and none of its messages knows.
//!
//! `VORRANG_SCHEDULES=100000 cargo test -p vorrang-sim --test locks` tries so many seeds of each,
//! and `VORRANG_SEED=17` that one alone.

use std::time::Duration;

use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{Anew, Fence, Lease, Locks, Notice};
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::{Patience, Peers};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::mutex::{Claim, Command, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{Catalogued, Entry, NodeOf};
use vorrang_protocol::{Delay, Effects, Group, Message, NodeId, Order, Protocol, Refused};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Orders, Partition, Random, Report, Severity, Simulation,
    Workload,
};
use vorrang_trace::Meter;

const MS: u64 = 1_000_000;
const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

type Node = Detecting<Locks<Reliable<NodeOf<Mutex>>>>;

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
    let patience = Patience::within(setup.within, 200);
    let anew = Anew::new(move |rank, group| {
        let node = entry.recipe.nodes(&entry.card.setup(group)).expect("any number of nodes");
        Reliable::new(rank, node(rank), Peers::All(group), patience)
    });
    let founders: Vec<NodeId> = setup.group.members().collect();
    Detecting::new(me, setup, Locks::new(me, setup.group, &founders, anew))
}

/// Every node asks, stays, leaves and asks again, until the time is over. The resource that they
/// use checks their numbers, when they come and when they go.
#[derive(Debug)]
struct Users {
    nodes: u32,
    until_ns: u64,
    pause_ns: f64,
    stay_ns: f64,
}

impl Users {
    fn ask(&self, at: NodeId, orders: &mut Orders<'_, Command>) {
        let in_ns = orders.random.exponential(self.pause_ns) as u64 + 1;
        if orders.now_ns + in_ns < self.until_ns {
            orders.command_in(in_ns, at, ACQUIRE);
        }
    }
}

impl Workload<Command, Notice> for Users {
    type Meter = Resource;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Resource {
        Resource { held: vec![None; self.nodes as usize], ..Resource::default() }
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
        if let Notice::Entered(_) = notice {
            let in_ns = orders.random.exponential(self.stay_ns) as u64;
            orders.command_in(in_ns, at, Command::Release);
        }
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut Orders<'_, Command>) {
        self.ask(at, orders);
    }
}

/// A resource that refuses whoever shows a lower number than it has seen.
#[derive(Clone, Debug, Default)]
struct Resource {
    held: Vec<Option<Fence>>,
    highest: Option<Fence>,
    entries: u64,
    refused: u64,
    messages: u64,
}

impl Meter<Command, Notice> for Resource {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, at: NodeId, command: &Command) {
        if *command == Command::Release
            && let Some(fence) = self.held[at.index()].take()
        {
            self.refused += u64::from(Some(fence) < self.highest);
        }
    }
    fn on_notice(&mut self, _: u64, at: NodeId, notice: &Notice) {
        match *notice {
            Notice::Entered(fence) => {
                self.held[at.index()] = Some(fence);
                self.refused += u64::from(Some(fence) < self.highest);
                self.highest = self.highest.max(Some(fence));
                self.entries += 1;
            }
            Notice::PutOut => self.held[at.index()] = None,
        }
    }
    fn on_send<M: Message>(&mut self, _: NodeId, _: NodeId, message: &M) {
        self.messages += u64::from(message.kind_name() != "STATUS");
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.held[at.index()] = None;
    }
    fn progress(&self) -> u64 {
        self.entries
    }
    fn summary(&self) -> Self {
        self.clone()
    }
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
        let again = setup.clone();
        Simulation::new(
            setup.group.members().map(|id| node(entry, id, &setup)),
            if self.is_fenced { locked.fenced() } else { locked },
            Network { latency: self.latency, order: Order::Any },
            Users {
                nodes: self.nodes,
                until_ns: self.until_ns,
                pause_ns: 4.0 * MS as f64,
                stay_ns: 3.0 * MS as f64,
            },
            self.seed,
        )
        .with_faults(self.faults, self.seed, move |id| node(entry, id, &again))
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
        let anew = Anew::new(RicartAgrawala::new);
        let locks = Locks::new(id, Group::of(3), &founders, anew);
        let locks = lease.iter().fold(locks, |locks, lease| locks.with_lease(*lease));
        let node = Detecting::new(id, &pace, locks);
        Slow { node, times: if id == NodeId(2) { slow } else { 1 } }
    };
    let cut = Partition::new(&[vec![NodeId(2)]]).unwrap();
    let script = vec![(20 * MS, Fault::Partition(cut.clone())), (200 * MS, Fault::Heal(cut))];
    let report = Simulation::new(
        setup.group.members().map(&node),
        Locked::new(setup.group),
        Network::constant_ms(1),
        LongStay,
        1,
    )
    .with_faults(Faults::default().script(script), 1, node)
    .until(2000 * MS)
    .run()
    .unwrap();
    assert!(report.is_quiescent(), "{report:#?}");
    assert_eq!(report.summary.entries, 3, "{report:#?}");
    (report.first_violation.map(|it| it.1.property), report.summary)
}

/// Node 2 stays inside from the beginning until 150 ms, the others ask at 30 ms and stay for 5 ms.
#[derive(Debug)]
struct LongStay;

impl Workload<Command, Notice> for LongStay {
    type Meter = Resource;

    fn meter(&self, nodes: u32, _: &'static [&'static str]) -> Resource {
        Resource { held: vec![None; nodes as usize], ..Resource::default() }
    }
    fn on_start(&mut self, orders: &mut Orders<'_, Command>) {
        orders.command_in(0, NodeId(2), ACQUIRE);
        orders.command_in(150 * MS, NodeId(2), Command::Release);
        orders.command_in(30 * MS, NodeId(0), ACQUIRE);
        orders.command_in(30 * MS, NodeId(1), ACQUIRE);
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice, orders: &mut Orders<'_, Command>) {
        if let Notice::Entered(_) = notice
            && at != NodeId(2)
        {
            orders.command_in(5 * MS, at, Command::Release);
        }
    }
}

/// A node whose clock is so many times too slow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Slow<P> {
    node: P,
    times: u32,
}

struct Slowly<'a, E> {
    fx: &'a mut E,
    times: u32,
}

impl<P: Protocol, E: Effects<Slow<P>>> Effects<P> for Slowly<'_, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.fx.send(to, message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let delay = Delay::between(delay.min * self.times, delay.max * self.times);
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: P::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: std::num::NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

impl<P: Protocol> Protocol for Slow<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_start(&mut Slowly { fx, times: self.times });
    }
    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.node.on_command(command, &mut Slowly { fx, times: self.times })
    }
    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        self.node.on_message(from, message, &mut Slowly { fx, times: self.times });
    }
    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.node.on_timer(timer, &mut Slowly { fx, times: self.times });
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

fn seeds(usually: u64) -> std::ops::Range<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
    };
    match number("VORRANG_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("VORRANG_SCHEDULES").unwrap_or(usually),
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
            entries += report.summary.entries;
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
            entries += report.summary.entries;
            refused += report.summary.refused;
        }
        println!("{}: {entries} entries, {refused} refused", entry.card.name);
    }
}
