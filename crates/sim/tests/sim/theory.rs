//! Every algorithm costs what its card says, wherever the card says something exact; and a swarm of
//! networks and loads finds nothing wrong with any of them.

use std::time::Duration;

use vorrang_algorithms::card::{Agreement, Layout};
use vorrang_algorithms::mutex::card::{
    self, BUSIEST, Card, MESSAGES, RESPONSE, SYNC_DELAY, Setting,
};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_catalogue::{NodeOf, find};
use vorrang_protocol::{Group, Message as _, NodeId};
use vorrang_sim::{
    Distribution, InMemoryRecorder, Load, Network, Order, Report, Simulation, Turns,
};
use vorrang_trace::{Record, Summary, What};

const MS: u64 = 1_000_000;

/// One run of an algorithm.
#[derive(Clone, Debug)]
struct Run {
    setup: Setup,
    contenders: u32,
    network: Network,
    load: Load<Command>,
    hold_ns: u64,
    entries: u64,
    seed: u64,
}

impl Run {
    fn report(&self, card: &Card) -> Report<Summary> {
        let asks = card.terms.claims.iter().copied().map(Command::Acquire).collect();
        let workload = Turns::new(self.load.clone(), Command::Release, Command::Release)
            .acquire_any_of(asks)
            .entries(self.entries)
            .hold(Distribution::Constant(self.hold_ns))
            .hot(self.contenders)
            .perpetual(card.terms.perpetual);
        let entry = find::<Mutex>(card.name, None).unwrap();
        let population = entry.population(&self.setup).unwrap();
        let monitor = card.exclusion(&self.setup);
        Simulation::new(population, monitor, self.network, workload, self.seed).run().unwrap()
    }
}

fn run(card: &Card, run: &Run) -> Report<Summary> {
    let report = run.report(card);
    let what = || format!("{} {run:?}", card.name);
    assert!(report.is_safe(), "{}: {:?}", what(), report.first_violation);
    assert!(report.is_quiescent(), "{}: {:?}", what(), report.at_rest);
    assert_eq!(report.summary.entries, run.entries, "{}", what());
    if (card.terms.promises.ordering)(&run.setup) {
        assert_eq!(report.summary.overtakes, Some(0), "{}", what());
    }
    report
}

fn compare(card: &Card, setting: &Setting, simulated: Load<Command>) {
    let entries = 400;
    let run_of = Run {
        setup: setting.setup.clone(),
        contenders: setting.contenders,
        network: Network::constant_ms(1),
        load: simulated,
        hold_ns: (setting.hold * MS as f64) as u64,
        entries,
        seed: 3,
    };
    let summary = run(card, &run_of).summary;
    let in_t = |ns: Option<f64>| ns.map(|ns| ns / MS as f64);
    let busiest = Some(summary.load_max as f64 / entries as f64);
    let figures = [
        (MESSAGES, summary.messages_per_entry()),
        (SYNC_DELAY, in_t(summary.sync_delay_mean_ns)),
        (RESPONSE, in_t(summary.response_mean_ns)),
        (BUSIEST, busiest),
    ];
    for (of, measured) in figures {
        let span = card.cost(of, setting).expect("every card speaks of all four");
        if let Some(measured) = measured {
            assert_ne!(
                span.compare(measured, None),
                Agreement::Disagrees,
                "{}, {}: measured {measured}, theory {span:?} at {setting:?}",
                card.name,
                of.name
            );
        }
    }
}

/// Some that the algorithm runs on.
fn topologies(card: &Card) -> Vec<Topology> {
    let mut some = vec![card.assumes.layout.usual()];
    if let Layout::Tree(_) = card.assumes.layout {
        let texts = ["line", "star", "tree:3", "random-tree:5"];
        some.extend(texts.map(|text| text.parse::<Topology>().unwrap()));
    }
    some
}

/// Some quorums that the algorithm runs on, of so many nodes.
fn quorums(card: &Card, nodes: u32) -> Vec<Quorums> {
    let mut some = vec![Quorums::usual(Group::of(nodes))];
    if card.takes.contains(&Parameter::Quorum) && nodes < 10 {
        let texts = ["majority", "all", "singleton", "triangle", "tree", "wall"];
        some.extend(texts.map(|text| text.parse::<Quorums>().unwrap()));
    }
    some
}

/// One at a time and saturation, each as the theory and as the simulator has it; what assumes that
/// nobody asks while another does is not held to anything else.
fn loads(card: &Card, contenders: u32) -> Vec<(card::Load, Load<Command>)> {
    let mut loads = vec![(card::Load::Light, Load::OneAtATime)];
    if !card.assumes.one_at_a_time || contenders == 1 {
        let saturation = Load::Closed { think: Distribution::Constant(0) };
        loads.push((card::Load::Heavy, saturation));
    }
    loads
}

#[test]
fn every_algorithm_costs_what_its_card_says() {
    for card in vorrang_catalogue::cards::<Mutex>() {
        for nodes in [1, 2, 3, 5, 31] {
            for contenders in [card.contenders(nodes), nodes, 2.min(nodes)] {
                for (hold, k) in [(0.0, 1), (0.5, 2), (7.0, 3)] {
                    for (load, simulated) in loads(card, contenders) {
                        let usual = card.setup(Group::of(nodes));
                        let on = topologies(card).into_iter();
                        let on = on.map(|topology| Setup { k, topology, ..usual.clone() });
                        let with = quorums(card, nodes).into_iter();
                        let with = with.map(|quorum| Setup { k, quorum, ..usual.clone() });
                        for setup in on.chain(with.skip(1)) {
                            let setting = Setting { setup, contenders, load, hold };
                            compare(card, &setting, simulated.clone());
                        }
                    }
                }
            }
        }
    }
}

/// Where the card knows what is typical, a long run comes within three per cent of it.
#[test]
fn long_runs_come_to_what_is_typical() {
    for card in vorrang_catalogue::cards::<Mutex>() {
        let usual = card.setup(Group::of(9));
        let with = quorums(card, 9).into_iter();
        let setups: Vec<Setup> = with.map(|quorum| Setup { quorum, ..usual.clone() }).collect();
        let loads = loads(card, 9).into_iter();
        let every = loads.flat_map(|load| setups.iter().map(move |setup| (load.clone(), setup)));
        for ((load, simulated), setup) in every {
            let setting = Setting::new(card, setup, load);
            let Some(typical) = card.cost(MESSAGES, &setting).and_then(|it| it.typical) else {
                continue;
            };
            let run_of = Run {
                setup: setup.clone(),
                contenders: setting.contenders,
                network: Network::constant_ms(1),
                load: simulated,
                hold_ns: MS,
                entries: 20_000,
                seed: 5,
            };
            let messages = run(card, &run_of).summary.messages_per_entry().unwrap();
            let error = (messages / typical - 1.0).abs();
            assert!(
                error < 0.03,
                "{}: {messages} messages, typically {typical} at {setting:?}",
                card.name
            );
        }
    }
}

/// Safety under every drawn network, and then rest: if a run fails, the message says which.
#[test]
fn a_swarm_of_networks_and_loads_finds_nothing_wrong_with_any_algorithm() {
    for card in vorrang_catalogue::cards::<Mutex>() {
        for seed in 0..120 {
            let nodes = 1 + (seed % 8) as u32;
            // Time-outs are made for a bound.
            let latencies = ["1ms", "uniform:1us..9ms", "exp:2ms", "uniform:0..1ns"];
            let bounded = ["1ms", "uniform:1us..9ms", "uniform:8ms..9ms", "uniform:0..1ns"];
            let latencies = if card.assumes.timely { bounded } else { latencies };
            let order = match card.assumes.order {
                Order::Any if seed % 2 == 0 => Order::Any,
                Order::Any | Order::Fifo => Order::Fifo,
            };
            let load = match seed % 3 {
                _ if card.assumes.one_at_a_time => Load::OneAtATime,
                0 => Load::Closed { think: Distribution::Exponential(MS * (seed % 7)) },
                1 => Load::Burst,
                _ => Load::OneAtATime,
            };
            let latency = latencies[seed as usize % 4].parse().unwrap();
            let within = Duration::from_millis(9);
            let run_of = Run {
                setup: Setup { k: 1 + (seed % 3) as u32, within, ..card.setup(Group::of(nodes)) },
                contenders: nodes,
                network: Network { latency, order },
                load,
                hold_ns: (seed % 5) * MS / 2,
                entries: 60,
                seed,
            };
            run(card, &run_of);
        }
    }
}

/// Whom an algorithm sends to, in a run in which everybody asks.
fn sends(card: &Card, setup: &Setup) -> Vec<(NodeId, NodeId)> {
    let asks = card.terms.claims.iter().copied().map(Command::Acquire).collect();
    let load = if card.assumes.one_at_a_time {
        Load::OneAtATime
    } else {
        Load::Closed { think: Distribution::Constant(0) }
    };
    let workload = Turns::new(load, Command::Release, Command::Release)
        .acquire_any_of(asks)
        .entries(100)
        .perpetual(card.terms.perpetual);
    let entry = find::<Mutex>(card.name, None).unwrap();
    let (monitor, network) = (card.exclusion(setup), Network::constant_ms(1));
    let (population, keep) = (entry.population(setup).unwrap(), InMemoryRecorder(Vec::new()));
    let mut run = Simulation::recorded(population, monitor, network, workload, 1, keep);
    while run.run_for(u64::MAX).unwrap() {}
    let sent = |record: Record<NodeOf<Mutex>>| match record.what {
        What::Send { to, message, .. } => {
            // The kind that is counted is the one that people read.
            let shown = message.to_string();
            assert!(shown.starts_with(entry.kinds[message.kind()]), "{}: {shown}", card.name);
            Some((record.node, to))
        }
        What::Command(_)
        | What::Notice(_)
        | What::Receive { .. }
        | What::Timer(_)
        | What::Choice(_)
        | What::Lost { .. }
        | What::Crash
        | What::Restart
        | What::Doubled { .. }
        | What::Fault(_) => None,
    };
    run.into_recorder().0.into_iter().filter_map(sent).collect()
}

#[test]
fn messages_go_only_where_the_card_says_that_there_are_links() {
    for card in vorrang_catalogue::cards::<Mutex>() {
        let setup = card.setup(Group::of(5));
        let sent = sends(card, &setup);
        let graph = card.assumes.layout.graph(&setup).unwrap();
        let is_link = |&(from, to)| graph.as_ref().is_none_or(|graph| graph.has(from, to));
        assert!(sent.iter().all(is_link), "{}", card.name);
        let last = Layout::ThroughTheLast.graph(&setup).unwrap().unwrap();
        let needs_all = card.assumes.layout == Layout::Complete;
        let avoids_last = sent.iter().any(|&(from, to)| !last.has(from, to));
        assert!(!needs_all || avoids_last, "{} says too much", card.name);
    }
}
