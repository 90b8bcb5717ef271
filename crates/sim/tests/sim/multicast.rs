//! Reliable multicast: whatever the network does, everyone delivers everything, once and in order.

use std::time::Duration;

use vorrang_algorithms::multicast::{Command, Multicast, Notice, Text};
use vorrang_algorithms::setup::{Distances, Ordering, Parameter, Setup};
use vorrang_catalogue::find;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Faults, Network, Random, Report, Simulation, Workload, WorkloadEffects,
};
use vorrang_trace::{Meter, Sent};

const MS: u64 = 1_000_000;

/// Everyone speaks so often, as soon as there is room.
#[derive(Clone, Debug)]
pub(crate) struct Speakers {
    left: Vec<u32>,
    gap: Distribution,
    is_full: Vec<bool>,
    is_late: Vec<bool>,
}

impl Speakers {
    pub(crate) fn new(nodes: u32, often: u32, gap: Distribution) -> Self {
        let none = vec![false; nodes as usize];
        Self { left: vec![often; nodes as usize], gap, is_full: none.clone(), is_late: none }
    }

    fn speak(&self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        let in_ns = orders.draw(self.gap);
        orders.command_in(in_ns, at, Command::Cast(Text::default()));
    }
}

impl Workload<Command, Notice> for Speakers {
    type Meter = Tally;

    fn meter(&self, _: u32, kinds: &'static [&'static str]) -> Tally {
        Tally { kinds, ..Tally::default() }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in 0..self.left.len() as u32 {
            self.speak(NodeId(at), orders);
        }
    }
    fn withholds(&mut self, at: NodeId, _: &Command) -> bool {
        self.is_late[at.index()] |= self.is_full[at.index()];
        self.is_full[at.index()]
    }
    fn on_command(&mut self, at: NodeId, _: &Command, orders: &mut WorkloadEffects<'_, Command>) {
        self.left[at.index()] -= 1;
        if self.left[at.index()] > 0 {
            self.speak(at, orders);
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        match notice {
            Notice::Delivered { .. }
            | Notice::Missed { .. }
            | Notice::Begins { .. }
            | Notice::Removed
            | Notice::Left => {}
            Notice::Full => self.is_full[at.index()] = true,
            Notice::Room => {
                self.is_full[at.index()] = false;
                if std::mem::take(&mut self.is_late[at.index()]) {
                    orders.command_in(0, at, Command::Cast(Text::default()));
                }
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    kinds: &'static [&'static str],
    sent: Vec<u64>,
    delivered: u64,
    missed: u64,
    most_kept: usize,
    last_ns: u64,
}

impl Tally {
    fn sent(&self, kind: &str) -> u64 {
        let place = self.kinds.iter().position(|it| *it == kind).expect(kind);
        self.sent.get(place).copied().unwrap_or(0)
    }
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;
    const WEIGHS: bool = true;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, at_ns: u64, _: NodeId, notice: &Notice) {
        match notice {
            Notice::Delivered { .. } => self.delivered += 1,
            Notice::Missed { first, below, .. } => self.missed += below - first,
            Notice::Full
            | Notice::Room
            | Notice::Begins { .. }
            | Notice::Removed
            | Notice::Left => {}
        }
        self.last_ns = at_ns;
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, sent: Sent) {
        let kind = usize::from(sent.kind);
        if self.sent.len() <= kind {
            self.sent.resize(kind + 1, 0);
        }
        self.sent[kind] += 1;
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn on_weight(&mut self, _: NodeId, holds: usize) {
        self.most_kept = self.most_kept.max(holds);
    }
    fn progress(&self) -> u64 {
        self.delivered
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

struct Run {
    name: &'static str,
    flaw: Option<&'static str>,
    setup: Setup,
    often: u32,
    gap: Distribution,
    network: Network,
    faults: Faults,
    seed: u64,
}

impl Run {
    fn of(name: &'static str, nodes: u32) -> Self {
        Self {
            name,
            flaw: None,
            setup: Setup::new(Group::of(nodes)),
            often: 5,
            gap: Distribution::Exponential(MS),
            network: Network::constant_ms(1),
            faults: Faults::default(),
            seed: 1,
        }
    }

    fn done(&self) -> Report<Tally> {
        let entry = find::<Multicast>(self.name, self.flaw).unwrap();
        let nodes = self.setup.group.size();
        let mut simulation = Simulation::new(
            entry.population(&self.setup).unwrap(),
            entry.card.watch(&self.setup),
            self.network,
            Speakers::new(nodes, self.often, self.gap),
            self.seed,
        )
        .with_faults(self.faults.clone(), self.seed);
        let graph = self.setup.topology.graph(self.setup.group).unwrap();
        if !self.setup.text(&[Parameter::Topology]).ends_with("complete") {
            simulation = simulation.over(graph);
        }
        // What is bad enough takes days.
        simulation.until(1_000_000_000 * MS).run().unwrap()
    }
}

/// Draws one of these.
fn one<T: Copy>(of: &[T], random: &mut Random) -> T {
    of[random.below(of.len() as u64) as usize]
}

fn drawn(seed: u64) -> Run {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut run = Run::of(one(&["ack", "nack", "srm"], random), 1 + random.below(7) as u32);
    run.setup.ordering = one(&Ordering::ALL, random);
    run.setup.window = one(&[1, 2, 5, 64], random);
    run.setup.distances = one(&Distances::ALL, random);
    for (parameter, texts) in [
        (Parameter::Waits, &["fixed", "adaptive", "star", "line", "0,0,0,0"][..]),
        (Parameter::Topology, &["complete", "line", "star", "tree:2"]),
        (Parameter::Scope, &["all", "1", "2"]),
    ] {
        run.setup.set(parameter, one(texts, random)).unwrap();
    }
    let latency = one(
        &[
            Distribution::Constant(MS),
            Distribution::Uniform(0, 3 * MS),
            Distribution::Exponential(MS),
        ],
        random,
    );
    run.network = Network { latency, order: one(&[Order::Any, Order::Fifo], random) };
    run.gap = one(&[Distribution::Constant(0), Distribution::Exponential(5 * MS)], random);
    run.often = 1 + random.below(12) as u32;
    let share = |random: &mut Random| one(&["0%", "5%", "30%"], random).parse().unwrap();
    run.faults = Faults::default()
        .loss(share(random))
        .duplication(share(random))
        .reordering(share(random))
        .late_ns(5 * MS);
    run.seed = seed;
    run
}

/// As many drawn runs as `VORRANG_SWARM` says, from there on.
fn swarm() -> std::ops::Range<u64> {
    0..vorrang_testkit::number("VORRANG_SWARM").unwrap_or(600)
}

#[test]
fn everyone_delivers_everything_whatever_the_network_does() {
    for seed in swarm() {
        let run = drawn(seed);
        let report = run.done();
        let nodes = u64::from(run.setup.group.size());
        let all = nodes * nodes * u64::from(run.often);
        let what = format!(
            "seed {seed}: {} {} {:?} {:?}",
            run.name,
            run.setup.text(&[
                Parameter::Topology,
                Parameter::Ordering,
                Parameter::Window,
                Parameter::Scope
            ]),
            run.network,
            run.faults
        );
        assert!(report.is_safe(), "{what}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "{what}: {:?} {:?}", report.at_rest, report.summary);
        assert_eq!(report.summary.delivered, all, "{what}");
    }
}

#[test]
fn without_losses_every_multicast_is_acknowledged_once_by_everyone_else() {
    for nodes in [1, 2, 5, 20] {
        let mut run = Run::of("ack", nodes);
        run.setup.within = Duration::from_millis(1);
        let (others, all) = (u64::from(nodes) - 1, u64::from(nodes * run.often));
        let report = run.done();
        assert_eq!(report.summary.sent("ACK"), all * others, "{nodes}");
        assert_eq!(report.summary.sent("DATA"), all * others, "{nodes}");
    }
}

#[test]
fn buffers_are_bounded_by_the_window_of_every_sender() {
    for name in ["ack", "nack", "srm"] {
        for window in [1, 4, 32] {
            let mut run = Run::of(name, 6);
            run.setup.window = window;
            run.often = 200;
            run.gap = Distribution::Constant(0);
            run.faults = Faults::default().loss("10%".parse().unwrap());
            let report = run.done();
            assert!(report.is_safe() && report.is_quiescent(), "{name}");
            let most = report.summary.most_kept as u32;
            assert!(most <= 6 * window && most >= window, "{name}: {most} of {window}");
        }
    }
}

#[test]
fn a_loss_near_the_sender_is_asked_for_about_once() {
    for (topology, waits) in [("line", "line"), ("star", "fixed"), ("tree:2", "fixed")] {
        let mut run = Run::of("srm", 20);
        run.setup.set(Parameter::Topology, topology).unwrap();
        run.setup.set(Parameter::Waits, waits).unwrap();
        run.setup.distances = Distances::Known;
        run.often = 20;
        run.gap = Distribution::Exponential(50 * MS);
        run.faults = Faults::default().loss("1%".parse().unwrap());
        let report = run.done();
        assert!(report.is_safe() && report.is_quiescent(), "{topology}: {:?}", report.at_rest);
        let asked = report.summary.sent("REQUEST") / 19;
        // Of a message that is lost on a link, all copies behind it are.
        let lost = report.faults.lost;
        assert!(asked > 0 && asked < lost, "{topology}: {asked} for {lost} copies");
    }
}

/// Every message over a link counts. Of losses in a tree most concern few, and with a scope few
/// hear of them.
#[test]
fn a_scope_spares_those_who_miss_nothing() {
    let of_scope = |scope: &str| {
        let mut run = Run::of("srm", 31);
        run.setup.set(Parameter::Topology, "tree:2").unwrap();
        run.setup.set(Parameter::Scope, scope).unwrap();
        run.setup.distances = Distances::Known;
        run.often = 10;
        run.gap = Distribution::Exponential(50 * MS);
        run.faults = Faults::default().loss("1%".parse().unwrap());
        let report = run.done();
        assert!(report.is_safe() && report.is_quiescent(), "{scope}: {:?}", report.at_rest);
        assert_eq!(report.summary.delivered, 31 * 31 * 10);
        report.summary.sent("REQUEST") + report.summary.sent("REPAIR")
    };
    let [all, near] = ["all", "1"].map(of_scope);
    assert!(near * 3 < all * 2, "{near} of {all}");
}

/// Whatever is not delivered is reported, and the larger the history the less that is.
#[test]
fn what_unknown_receivers_miss_is_reported() {
    let mut before = u64::MAX;
    for (history, loss) in [("1", "30%"), ("4", "30%"), ("64", "5%")] {
        let mut run = Run::of("nack", 6);
        run.setup.set(Parameter::History, history).unwrap();
        run.often = 200;
        run.faults = Faults::default().loss(loss.parse().unwrap());
        let report = run.done();
        assert!(report.is_safe() && report.is_quiescent(), "{history}: {:?}", report.at_rest);
        let Tally { delivered, missed, most_kept, .. } = report.summary;
        assert_eq!(delivered + missed, 6 * 6 * 200, "{history}");
        assert!(missed < before && (missed > 0) == (history != "64"), "{history}: {missed}");
        assert!(most_kept <= 64 * 6, "{most_kept}");
        before = missed;
    }
}

/// Over many links that lose, sessions are few and far between: had time to be counted all the
/// while, nearly all that happens would be ticks.
#[test]
fn time_is_not_counted_for_nothing() {
    for seed in 0..4 {
        let mut run = Run::of("srm", 9);
        run.setup.set(Parameter::Topology, "line").unwrap();
        run.setup.distances = Distances::Measured;
        run.setup.window = 1;
        run.faults = Faults::default().loss("25%".parse().unwrap());
        run.seed = seed;
        let report = run.done();
        assert!(report.is_safe() && report.is_quiescent(), "{:?}", report.at_rest);
        let sent: u64 = report.summary.sent.iter().sum();
        assert!(report.events < 50 * sent, "{} events for {sent} messages", report.events);
    }
}
