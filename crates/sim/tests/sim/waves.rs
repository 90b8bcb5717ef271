//! Waves on many graphs: what they cost is what the cards say, however long messages take.

use std::collections::BTreeSet;

use vorrang_algorithms::card::{Agreement, Quantity};
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::topology::{Density, Topology};
use vorrang_algorithms::wave::card::{DURATION, MESSAGES, Setting, TREE_DEPTH};
use vorrang_algorithms::wave::{Command, Notice, Wave};
use vorrang_catalogue::find;
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{Distribution, Network, Order, Simulation, Workload, WorkloadEffects};
use vorrang_trace::{Meter, Sent, Traffic};

const MS: u64 = 1_000_000;

/// The initiator starts.
#[derive(Debug)]
struct Once(NodeId);

impl Workload<Command, Notice> for Once {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        let traffic = Traffic::new(nodes, kinds);
        Tally { traffic, depth: vec![0; nodes as usize], ended_ns: 0 }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        orders.command_in(0, self.0, Command::Start);
    }
}

#[derive(Clone, Debug)]
struct Tally {
    traffic: Traffic,
    depth: Vec<u32>,
    ended_ns: u64,
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match notice {
            Notice::Joined { parent } => {
                self.depth[at.index()] = self.depth[parent.index()] + 1;
            }
            Notice::Worked => {}
            Notice::Done(_) | Notice::Over(_) => self.ended_ns = at_ns,
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.traffic.on_send(from, to, sent);
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (): ()) {
        self.traffic.on_receive(from, at);
    }
    fn progress(&self) -> u64 {
        0
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

/// One wave: messages, depth of the tree, and how many milliseconds it took.
#[derive(Clone, Debug)]
struct Run {
    setup: Setup,
    network: Network,
    seed: u64,
}

impl Run {
    fn outcome(&self, name: &str) -> (u64, u32, f64) {
        let graph = self.setup.topology.graph(self.setup.group).unwrap();
        let entry = find::<Wave>(name, None).unwrap();
        let population = entry.population(&self.setup).unwrap();
        let monitor = entry.card.watch(&self.setup).unwrap();
        let once = Once(self.setup.initiator);
        let simulation = Simulation::new(population, monitor, self.network, once, self.seed);
        let report = simulation.on(graph).run().unwrap();
        let what = || format!("{name} {self:?}");
        assert!(report.is_safe(), "{}: {:?}", what(), report.first_violation);
        assert!(report.is_quiescent(), "{}: {:?}", what(), report.at_rest);
        let tally = report.summary;
        let depth = tally.depth.iter().copied().max().unwrap();
        (tally.traffic.messages(), depth, tally.ended_ns as f64 / MS as f64)
    }
}

fn wave(name: &str, setup: &Setup, network: Network, seed: u64) -> (u64, u32, f64) {
    Run { setup: setup.clone(), network, seed }.outcome(name)
}

/// How a figure stands to what the card says.
fn agreement(name: &str, setup: &Setup, of: Quantity, measured: f64) -> Agreement {
    let graph = setup.topology.graph(setup.group).unwrap();
    let cards = vorrang_catalogue::cards::<Wave>();
    let card = cards.iter().find(|card| card.name == name).unwrap();
    let setting = Setting::new(&graph, setup.initiator).working(setup.work);
    card.cost(of, &setting).unwrap().compare(measured, None)
}

/// Graphs of many sizes and densities, from a tree to complete.
fn graphs() -> impl Iterator<Item = Setup> {
    let sizes = [1, 2, 3, 5, 8, 13, 30];
    sizes.into_iter().flat_map(|nodes| {
        (0..40).map(move |seed| {
            let density = Density::millionths([0, 100_000, 300_000, 1_000_000][seed as usize % 4]);
            let topology = Topology::Random { density: density.unwrap(), seed: Some(seed) };
            let initiator = NodeId(seed as u32 % nodes);
            Setup { topology, initiator, ..Setup::new(Group::of(nodes)) }
        })
    })
}

#[test]
fn whatever_the_latencies_echo_takes_two_messages_a_link_and_taboo_no_more() {
    let uniform = |longest| Distribution::Uniform(1, longest);
    let networks = [uniform(MS), uniform(3), Distribution::Exponential(MS)]
        .map(|latency| [Order::Any, Order::Fifo].map(|order| Network { latency, order }));
    let (mut saved, mut runs) = (0, 0);
    for (seed, setup) in (0..).zip(graphs()) {
        let edges = setup.topology.graph(setup.group).unwrap().edges() as u64;
        for network in networks.iter().flatten() {
            let (plain, depth, _) = wave("echo", &setup, *network, seed);
            assert_eq!(plain, 2 * edges, "{setup:?}");
            let depth = f64::from(depth);
            assert_ne!(agreement("echo", &setup, TREE_DEPTH, depth), Agreement::Disagrees);
            let (taboo, depth, _) = wave("echo-taboo", &setup, *network, seed);
            assert!(taboo <= plain, "{taboo} messages on {setup:?}");
            for (of, measured) in [(MESSAGES, taboo as f64), (TREE_DEPTH, f64::from(depth))] {
                let agrees = agreement("echo-taboo", &setup, of, measured);
                assert_ne!(agrees, Agreement::Disagrees, "{}: {measured} on {setup:?}", of.name);
            }
            saved += plain - taboo;
            runs += 1;
        }
    }
    assert!(runs > 1_000 && saved > 10_000, "{saved} messages saved in {runs} runs");
}

#[test]
fn if_all_messages_take_the_same_time_it_is_known_how_long_a_wave_takes() {
    let mut differences = BTreeSet::new();
    for (seed, setup) in (0..).zip(graphs()) {
        for order in [Order::Any, Order::Fifo] {
            let network = Network { order, ..Network::constant_ms(1) };
            let graph = setup.topology.graph(setup.group).unwrap();
            let farthest = Setting::new(&graph, setup.initiator).farthest;
            let (_, depth, plain) = wave("echo", &setup, network, seed);
            assert_eq!(agreement("echo", &setup, DURATION, plain), Agreement::Agrees, "{setup:?}");
            assert_eq!(u64::from(depth), farthest, "everyone joins by a shortest way");
            let (_, depth, taboo) = wave("echo-taboo", &setup, network, seed);
            let agrees = agreement("echo-taboo", &setup, DURATION, taboo);
            assert_ne!(agrees, Agreement::Disagrees, "{taboo} on {setup:?}");
            assert_eq!(u64::from(depth), farthest, "everyone joins by a shortest way");
            differences.insert((taboo - plain) as i64);
        }
    }
    assert_eq!(differences, BTreeSet::from([-1, 0, 1]), "taboo sets save time, or cost it");
}

/// Work of any amount on graphs of many shapes: it ends, that is noticed, and it costs a WORK and
/// an ACK for every piece but the first.
#[test]
fn termination_is_detected_on_any_graph_at_the_stated_cost() {
    let (mut runs, mut deepest) = (0, 0);
    for (seed, mut setup) in (0..).zip(graphs()) {
        setup.work = [1, 2, 7, 100][seed as usize % 4];
        for latency in [Distribution::Constant(MS), Distribution::Exponential(MS)] {
            let network = Network { latency, order: Order::Any };
            let (messages, depth, took) = wave("dijkstra-scholten", &setup, network, seed);
            let mut figures = vec![(MESSAGES, messages as f64), (TREE_DEPTH, f64::from(depth))];
            figures.extend(latency.is_constant().then_some((DURATION, took)));
            for (of, measured) in figures {
                let agrees = agreement("dijkstra-scholten", &setup, of, measured);
                assert_ne!(agrees, Agreement::Disagrees, "{}: {measured} on {setup:?}", of.name);
            }
            deepest = deepest.max(depth);
            runs += 1;
        }
    }
    assert!(runs > 500 && deepest > 4, "{runs} runs, {deepest} deep");
}

#[test]
fn shapes_cost_what_the_literature_says() {
    for (text, nodes, plain, taboo) in [
        ("complete", 4, 12, [6, 6]),
        ("ring", 4, 8, [8, 8]),
        ("line", 3, 4, [4, 4]),
        ("links:0-1,0-2,1-3,2-3,2-4,3-4", 5, 12, [10, 12]),
    ] {
        let mut setup = Setup::new(Group::of(nodes));
        setup.topology = text.parse().unwrap();
        let latency = Distribution::Uniform(1, MS);
        let mut seen = Vec::new();
        for seed in 0..100 {
            let network = Network { latency, order: Order::Any };
            assert_eq!(wave("echo", &setup, network, seed).0, plain, "{text}");
            seen.push(wave("echo-taboo", &setup, network, seed).0);
        }
        let ends = [seen.iter().min(), seen.iter().max()].map(|it| *it.unwrap());
        assert_eq!(ends, taboo, "{text}");
    }
}

#[test]
fn latencies_decide_which_tree_it_becomes() {
    let mut setup = Setup::new(Group::of(30));
    let slow = Network { latency: Distribution::Exponential(MS), order: Order::Any };
    let depths: Vec<u32> = (0..20).map(|seed| wave("echo", &setup, slow, seed).1).collect();
    assert!(depths.iter().all(|&depth| depth > 2), "a complete graph, and yet: {depths:?}");
    setup.topology = Topology::Star;
    assert_eq!(wave("echo", &setup, slow, 1).1, 1);
}

#[test]
fn a_large_tree_is_no_trouble() {
    let mut setup = Setup::new(Group::of(200_000));
    setup.topology = Topology::Tree(2);
    assert_eq!(wave("echo", &setup, Network::constant_ms(1), 1), (399_998, 17, 34.0));
}
