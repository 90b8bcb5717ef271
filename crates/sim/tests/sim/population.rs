//! A run is the same whether its population knows the type of its nodes or not, whatever goes
//! wrong; and when it is at rest, no message is left in flight.

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use vorrang_algorithms::election::bully::{self, Bully};
use vorrang_algorithms::election::card::Terms;
use vorrang_algorithms::election::tree_election;
use vorrang_algorithms::group::spec::Synchrony;
use vorrang_algorithms::group::virtual_synchrony;
use vorrang_algorithms::layer::Reliable;
use vorrang_algorithms::layer::reliable::{Peers, Retries};
use vorrang_algorithms::multicast::srm::{self, Srm};
use vorrang_algorithms::multicast::{self, Ordered, Text};
use vorrang_algorithms::mutex::lemmas;
use vorrang_algorithms::mutex::ricart_agrawala::{self, RicartAgrawala};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::mutex::token_ring::TokenRing;
use vorrang_algorithms::mutex::{Claim, Command, raymond};
use vorrang_algorithms::setup::{Contention, Distances, Parameter, Setup};
use vorrang_erased::{AnyNode, AnyPopulation, Fresh, Population};
use vorrang_protocol::{Data, Graph, Group, Invariant, Message as _, Monitor, NodeId, Protocol};
use vorrang_sim::{
    Distribution, Fault, FaultCounts, Faults, InMemoryRecorder, Load, Network, Order, Random,
    Report, Severity, Simulation, Turns, Workload, WorkloadEffects,
};
use vorrang_trace::{Meter, Record, Sent, What};

use crate::elections::Calls;
use crate::groups::Chatter;
use crate::multicast::Speakers;
use crate::puppet::{self, Puppet, Unwatched};

const MS: u64 = 1_000_000;
const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

/// All that decides a run but its nodes.
#[derive(Clone)]
struct Run<M, W> {
    nodes: u32,
    monitor: M,
    network: Network,
    workload: W,
    faults: Option<Faults>,
    /// Messages are passed on along the links of this graph.
    over: Option<Graph>,
    end_ns: u64,
    seed: u64,
}

/// The result.
struct Outcome<C: Data, N: Data, S> {
    report: Report<S>,
    /// Why it cannot go on, if it cannot.
    error: Option<String>,
    nodes: Vec<AnyNode<C, N>>,
    records: Vec<Record<AnyNode<C, N>>>,
    in_flight: usize,
}

type SummaryOf<W, C, N> = <<W as Workload<C, N>>::Meter as Meter<C, N>>::Summary;
type OutcomeOf<W, C, N> = Outcome<C, N, SummaryOf<W, C, N>>;

impl<M, W> Run<M, W>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice> + Clone,
{
    fn new(nodes: u32, monitor: M, network: Network, workload: W) -> Self {
        let (faults, over, end_ns, seed) = (None, None, u64::MAX, 1);
        Self { nodes, monitor, network, workload, faults, over, end_ns, seed }
    }

    fn played_by(
        &self,
        population: Box<dyn AnyPopulation<M::Command, M::Notice>>,
    ) -> OutcomeOf<W, M::Command, M::Notice> {
        let (monitor, workload, keep) =
            (self.monitor.clone(), self.workload.clone(), InMemoryRecorder(Vec::new()));
        let mut run =
            Simulation::recorded(population, monitor, self.network, workload, self.seed, keep)
                .until(self.end_ns);
        if let Some(faults) = &self.faults {
            run = run.with_faults(faults.clone(), self.seed);
        }
        if let Some(graph) = &self.over {
            run = run.over(graph.clone());
        }
        let error = loop {
            match run.run_for(u64::MAX) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        let population = run.population();
        Outcome {
            report: run.report(),
            error,
            nodes: (0..self.nodes).map(|id| population.node(NodeId(id))).collect(),
            in_flight: population.in_flight(),
            records: run.into_recorder().0,
        }
    }

    /// Plays it with nodes of a type and with the same nodes without, and requires the same of
    /// both.
    fn played_alike<P>(
        &self,
        fresh: Fresh<P>,
        invariants: &'static [Invariant<P>],
    ) -> OutcomeOf<W, M::Command, M::Notice>
    where
        P: Protocol<Command = M::Command, Notice = M::Notice>,
        SummaryOf<W, M::Command, M::Notice>: Debug,
    {
        let typed = Population::of(self.nodes, Arc::clone(&fresh)).guarded(invariants);
        let any = Population::new(self.nodes, move |id| AnyNode::new(fresh(id)))
            .guarded(invariants.iter().map(AnyNode::guard))
            .with_kinds(P::Message::KINDS);
        let (typed, any) = (self.played_by(typed.into()), self.played_by(any.into()));
        assert_eq!(format!("{:?}", typed.report), format!("{:?}", any.report));
        assert_eq!(typed.error, any.error);
        assert_eq!(typed.in_flight, any.in_flight);
        assert_eq!(format!("{:?}", typed.nodes), format!("{:?}", any.nodes));
        assert_eq!(typed.nodes, any.nodes);
        let lines = |of: &[Record<_>]| of.iter().map(Record::line).collect::<Vec<_>>();
        assert_eq!(lines(&typed.records), lines(&any.records));
        assert!(typed.records == any.records);
        typed
    }
}

impl<C: Data, N: Data, S> Outcome<C, N, S> {
    /// The run is over because nothing is under way any more.
    fn is_at_rest(&self) -> bool {
        self.error.is_none() && self.report.is_over
    }

    fn has(&self, what: impl Fn(&What<AnyNode<C, N>>) -> bool) -> bool {
        self.records.iter().any(|record| what(&record.what))
    }
}

fn of<P>(node: impl Fn(NodeId, &Setup) -> P + Send + Sync + 'static, setup: &Setup) -> Fresh<P> {
    let setup = setup.clone();
    Arc::new(move |id| node(id, &setup))
}

fn turns(load: Load<Command>, entries: u64) -> Turns<Command> {
    Turns::new(load, ACQUIRE, Command::Release).entries(entries).hold(Distribution::Constant(MS))
}

fn saturation() -> Load<Command> {
    Load::Closed { think: Distribution::Constant(0) }
}

/// All of each, counted together.
fn add(all: &mut FaultCounts, more: FaultCounts) {
    let FaultCounts {
        crashes,
        restarts,
        pauses,
        partitions,
        lost,
        cut_off,
        duplicated,
        reordered,
        slowed,
        to_the_dead,
    } = more;
    all.crashes += crashes;
    all.restarts += restarts;
    all.pauses += pauses;
    all.partitions += partitions;
    all.lost += lost;
    all.cut_off += cut_off;
    all.duplicated += duplicated;
    all.reordered += reordered;
    all.slowed += slowed;
    all.to_the_dead += to_the_dead;
}

/// Everything has gone wrong at least once.
#[track_caller]
fn is_all(counts: FaultCounts) {
    let FaultCounts { crashes, restarts, pauses, partitions, lost, .. } = counts;
    let FaultCounts { cut_off, duplicated, reordered, slowed, to_the_dead, .. } = counts;
    let nodes = [crashes, restarts, pauses, partitions];
    let messages = [lost, cut_off, duplicated, reordered, slowed, to_the_dead];
    assert!(nodes.iter().chain(&messages).all(|&count| count > 0), "{counts:?}");
}

#[test]
fn where_nothing_goes_wrong() {
    for latency in ["1ms", "uniform:1us..9ms", "exp:2ms"] {
        for order in [Order::Fifo, Order::Any] {
            for load in [saturation(), Load::OneAtATime, Load::Burst] {
                let network = Network { latency: latency.parse().unwrap(), order };
                let run = Run::new(6, Exclusion::default(), network, turns(load, 100));
                let setup = Setup::new(Group::of(6));
                let ended = run.played_alike(
                    of(|id, setup| RicartAgrawala::new(id, setup.group), &setup),
                    &[],
                );
                assert!(ended.is_at_rest() && ended.report.is_quiescent());
                assert_eq!((ended.in_flight, ended.report.summary.entries), (0, 100));
                let kinds = ended.report.summary.by_kind.iter().map(|it| it.0);
                assert!(kinds.eq(ricart_agrawala::Message::KINDS.iter().copied()));
            }
        }
    }
}

#[test]
fn with_timers_that_are_set_and_cancelled() {
    let setup = Setup::new(Group::of(5));
    for load in [saturation(), Load::OneAtATime] {
        let network = Network { latency: Distribution::Uniform(1, 3 * MS), order: Order::Any };
        let workload = turns(load, 200).perpetual(true);
        let ended = Run::new(5, Exclusion::default(), network, workload)
            .played_alike(of(TokenRing::of, &setup), lemmas::token_ring::INVARIANTS);
        assert!(ended.report.is_quiescent() && ended.report.is_safe(), "{:?}", ended.report);
        assert_eq!(ended.report.summary.entries, 200);
    }
    let light = turns(Load::OneAtATime, 20).hold(Distribution::Constant(0)).perpetual(true);
    let ended = Run::new(5, Exclusion::default(), Network::constant_ms(1), light)
        .played_alike(of(TokenRing::of, &setup), &[]);
    assert!(ended.has(|what| matches!(what, What::Timer(_))), "the token rests");
}

/// A lock over channels that send again, on a network on which everything goes wrong.
#[test]
fn where_everything_goes_wrong() {
    let setup = Setup::new(Group::of(4));
    let mut all = FaultCounts::default();
    let mut at_rest = 0;
    for seed in 0..30 {
        let network = Network { latency: Distribution::Uniform(MS / 10, MS), order: Order::Any };
        let load = Load::Closed { think: Distribution::Uniform(0, 30 * MS) };
        let faults = Faults::drawn(Severity::Harsh, 4, MS, 500 * MS, seed).late_ns(5 * MS);
        let run = Run {
            seed,
            faults: Some(faults),
            ..Run::new(4, None::<Exclusion>, network, turns(load, 200))
        };
        let node = |id, setup: &Setup| {
            let patience = Retries::within(setup.within, 20);
            Reliable::new(id, SuzukiKasami::of(id, setup), Peers::All(setup.group), patience)
        };
        let ended = run.played_alike(of(node, &setup), &[]);
        add(&mut all, ended.report.faults);
        if ended.is_at_rest() {
            at_rest += 1;
            assert_eq!(ended.in_flight, 0, "seed {seed}");
        }
    }
    is_all(all);
    assert!(at_rest > 0, "no run came to rest");
}

/// A token that is lost is missed at once by the invariants, which know nodes and messages.
#[test]
fn where_invariants_are_judged_and_messages_are_passed_on() {
    let mut setup = Setup::new(Group::of(7));
    setup.set(Parameter::Topology, "tree:2").unwrap();
    let graph = setup.topology.graph(setup.group).unwrap();
    let network = Network { latency: Distribution::Uniform(1, 9 * MS), order: Order::Any };
    let mut objections = 0;
    for (over, lost) in [None, Some(graph)].into_iter().flat_map(|over| {
        (0..60).step_by(3).map(move |number| (over.clone(), (number > 0).then_some(number)))
    }) {
        let faults = Some(Faults::default().lost(lost.into_iter().collect()));
        let workload = turns(Load::Burst, 70);
        let run = Run::new(7, Exclusion::default(), network, workload);
        let is_routed = over.is_some();
        let ended = Run { faults, over, ..run }
            .played_alike(raymond::recipe().nodes(&setup).unwrap(), raymond::INVARIANTS);
        let violation = ended.report.first_violation.as_ref().map(|it| it.1.property);
        objections += u64::from(violation == Some("one token"));
        assert!(lost.is_some() || violation.is_none());
        assert!(ended.is_at_rest());
        // Routes keep the message that was sent last.
        assert_eq!(ended.in_flight, usize::from(is_routed));
    }
    assert!(objections > 4, "{objections}");
}

#[test]
fn where_nodes_come_up_again_and_choose() {
    let mut all = FaultCounts::default();
    for seed in 0..20 {
        let setup = Setup::new(Group::of(5));
        let network = Network { latency: Distribution::Uniform(MS / 10, MS), order: Order::Any };
        let calls = Calls { who: setup.group.members().collect(), terms: &Terms::PLAIN };
        let script = (0..3).flat_map(|at| {
            let (node, at_ns) = (NodeId(((seed + 2 * at) % 5) as u32), (at * 7 + seed) * MS);
            [(at_ns, Fault::Crash(node)), (at_ns + (at + 1) * 5 * MS, Fault::Restart(node))]
        });
        let monitor = bully::CARD.watch(&setup, true);
        let faults = Some(Faults::default().script(script.collect()));
        let run = Run { faults, seed, ..Run::new(5, monitor, network, calls.clone()) };
        let ended = run.played_alike(of(Bully::of, &setup), &[]);
        assert!(ended.is_at_rest());
        assert_eq!(ended.in_flight, 0, "seed {seed}");
        add(&mut all, ended.report.faults);

        let mut setup = Setup { contention: Contention::Wait, gather: Duration::ZERO, ..setup };
        setup.set(Parameter::Topology, "random-tree:5").unwrap();
        let monitor = tree_election::CARD.watch(&setup, true);
        let run = Run { seed, ..Run::new(5, monitor, Network::constant_ms(1), calls) };
        let nodes = tree_election::recipe().nodes(&setup).unwrap();
        let ended = run.played_alike(nodes, tree_election::INVARIANTS);
        assert!(ended.is_at_rest() && ended.report.is_safe());
        assert_eq!(ended.in_flight, 0, "seed {seed}");
        assert!(seed > 0 || ended.has(|what| matches!(what, What::Choice(_))), "coins are tossed");
    }
    assert!(all.crashes > 50 && all.restarts > 50 && all.to_the_dead > 0, "{all:?}");
}

#[test]
fn where_links_that_many_share_lose_messages() {
    for (seed, topology) in (0..).zip(["line", "star", "tree:2", "complete"]) {
        let mut setup = Setup { distances: Distances::Measured, ..Setup::new(Group::of(8)) };
        setup.set(Parameter::Topology, topology).unwrap();
        let over = Some(setup.topology.graph(setup.group).unwrap());
        let workload = Speakers::new(8, 5, Distribution::Exponential(5 * MS));
        let network = Network { latency: Distribution::Exponential(MS), order: Order::Any };
        let share = |text: &str| text.parse().unwrap();
        let faults = Faults::default().loss(share("5%")).duplication(share("5%"));
        let faults = Some(faults.reordering(share("5%")).late_ns(5 * MS));
        let run = Run::new(8, srm::CARD.watch(&setup), network, workload);
        let ended =
            Run { faults, over, seed, ..run }.played_alike(of(Ordered::<Srm>::of, &setup), &[]);
        let faults = ended.report.faults;
        assert!(faults.lost > 0 && faults.duplicated > 0 && faults.reordered > 0, "{faults:?}");
        assert!(ended.is_at_rest() && ended.report.is_quiescent(), "{topology}");
        assert_eq!(ended.in_flight, 1, "the one that routes keep");
    }
}

#[test]
fn where_the_members_of_a_group_come_and_go() {
    let setup = Setup::new(Group::of(4));
    let mut all = FaultCounts::default();
    for seed in 0..10 {
        let until_ns = 300 * MS;
        let workload = Chatter::new(4, 2.0 * MS as f64, until_ns).leaving(10);
        let network =
            Network { latency: Distribution::Uniform(MS / 10, 2 * MS), order: Order::Any };
        let faults = Faults::drawn(Severity::Harsh, 4, MS, until_ns, seed).late_ns(5 * MS);
        let monitor = Synchrony::new(setup.group, setup.group.members());
        let run = Run::new(4, monitor, network, workload);
        let run = Run { faults: Some(faults), end_ns: until_ns + 200 * MS, seed, ..run };
        let ended = run.played_alike(of(virtual_synchrony::of, &setup), &[]);
        assert!(ended.report.is_safe(), "{:?}", ended.report.first_violation);
        add(&mut all, ended.report.faults);
    }
    is_all(all);
}

/// Messages, timers and choices in any order, whatever goes wrong meanwhile.
#[test]
fn whatever_puppets_are_told() {
    let mut all = FaultCounts::default();
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let nodes = 1 + random.below(5) as u32;
        let mut below = |bound: u64| random.below(bound);
        let script = (0..300_u32).map(|number| {
            let (at_ns, node) = (below(1000), NodeId(below(nodes.into()) as u32));
            let timer = below(4) as u8;
            let command = match below(6) {
                0 => puppet::Command::Set(timer, below(200)),
                1 => puppet::Command::SetBetween(timer, 3, 3 + below(100)),
                2 => puppet::Command::Cancel(timer),
                3 => puppet::Command::Choose(NonZeroU32::new(1 + u32::from(timer)).unwrap()),
                _ => puppet::Command::Tell(NodeId(below(nodes.into()) as u32), number % 9),
            };
            (at_ns, node, command)
        });
        let load = Load::Script(script.collect());
        let workload = Turns::new(load, puppet::Command::Ask, puppet::Command::Leave);
        let order = if seed % 2 == 0 { Order::Any } else { Order::Fifo };
        let latency = [Distribution::Constant(20), Distribution::Uniform(0, 50)];
        let network = Network { latency: latency[seed as usize / 2 % 2], order };
        let links = (1..nodes).map(|id| (NodeId(id - 1), NodeId(id)));
        let over = (seed % 3 == 0).then(|| Graph::new(Group::of(nodes), links));
        let is_routed = over.is_some();
        let faults = Faults::drawn(Severity::Harsh, nodes, 10, 1100, seed).late_ns(70);
        let faults = (seed % 5 > 0).then_some(faults);
        let run = Run::new(nodes, Unwatched, network, workload);
        let run = Run { faults, over, seed, ..run };
        let ended = run.played_alike::<Puppet>(Arc::new(|_| Puppet::default()), &[]);
        assert!(ended.is_at_rest(), "seed {seed}");
        assert_eq!(ended.in_flight, usize::from(is_routed), "seed {seed}");
        add(&mut all, ended.report.faults);
    }
    is_all(all);
}

/// Node 0 says something to all, again and again.
#[derive(Clone, Debug)]
struct Caster<const READS: bool>;

impl<const READS: bool> Workload<multicast::Command, multicast::Notice> for Caster<READS> {
    type Meter = Inspector<READS>;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Inspector<READS> {
        Inspector::default()
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, multicast::Command>) {
        for time in 0..5 {
            let cast = multicast::Command::Cast(Text::default());
            orders.command_in(time * MS, NodeId(0), cast);
        }
    }
}

/// Writes down all that a meter can know of messages, and asks what they carry or does not.
#[derive(Clone, Debug, Default)]
struct Inspector<const READS: bool> {
    sent: Vec<(NodeId, NodeId, Sent)>,
}

impl<const READS: bool> Meter<multicast::Command, multicast::Notice> for Inspector<READS> {
    type Tag = ();
    type Summary = Vec<(NodeId, NodeId, Sent)>;
    const READS_CONTENT: bool = READS;

    fn on_command(&mut self, _: u64, _: NodeId, _: &multicast::Command) {}
    fn on_notice(&mut self, _: u64, _: NodeId, _: &multicast::Notice) {}
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.sent.push((from, to, sent));
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn progress(&self) -> u64 {
        0
    }
    fn summary(&self) -> Self::Summary {
        self.sent.clone()
    }
}

/// What messages are to a meter is what they say of themselves, whether the run is recorded or not.
#[test]
fn meters_see_what_was_sent() {
    let setup = Setup { window: 64, ..Setup::new(Group::of(4)) };
    let loss = Faults::default().loss("20%".parse().unwrap());
    for faults in [None, Some(loss)] {
        let (monitor, network) = (srm::CARD.watch(&setup), Network::constant_ms(1));
        let reading = Run::new(4, monitor.clone(), network, Caster::<true>);
        let reading = Run { faults: faults.clone(), end_ns: 100 * MS, ..reading };
        let ended = reading.played_alike(of(Ordered::<Srm>::of, &setup), &[]);
        let mut last = None;
        let mut expected = Vec::new();
        for Record { at_ns, node, what } in &ended.records {
            let What::Send { to, message, .. } = what else { continue };
            // What a node sends to several in one step is one message and its copies.
            let is_copy = last == Some((at_ns, node, message));
            last = Some((at_ns, node, message));
            expected.push((*node, *to, Sent { is_copy, ..Sent::of(message, *node) }));
        }
        assert!(expected.iter().any(|(.., sent)| sent.carries.is_some()));
        assert_eq!(ended.report.summary, expected);

        // Nobody listens: messages are not looked into unless the meter asks.
        let node = of(Ordered::<Srm>::of, &setup);
        let alone =
            |population| Simulation::new(population, monitor.clone(), network, Caster::<true>, 1);
        let mut unheard = alone(Population::of(4, Arc::clone(&node))).until(100 * MS);
        if let Some(faults) = &faults {
            unheard = unheard.with_faults(faults.clone(), 1);
        }
        assert_eq!(unheard.run().unwrap().summary, expected);

        let blind = Run::new(4, monitor.clone(), network, Caster::<false>);
        let blind = Run { faults, end_ns: 100 * MS, ..blind };
        let bare = |(from, to, sent)| (from, to, Sent { carries: None, ..sent });
        let ended = blind.played_alike(node, &[]);
        assert_eq!(ended.report.summary, expected.into_iter().map(bare).collect::<Vec<_>>());
    }
}
