//! Ricart–Agrawala in the simulator: what it costs is what the theory says, and a run is decided by
//! its seed.

use vorrang_algorithms::card::Agreement;
use vorrang_algorithms::mutex::card::{self, MESSAGES, RESPONSE, SYNC_DELAY, Setting};
use vorrang_algorithms::mutex::ricart_agrawala::{CARD, RicartAgrawala};
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{
    Distribution, InMemoryRecorder, Load, Network, Order, Report, Simulation, Turns,
};
use vorrang_trace::{Header, Summary, Trace, judge};

const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
const SATURATION: Load<Command> = Load::Closed { think: Distribution::Constant(0) };
const MS: u64 = 1_000_000;

fn nodes(size: u32) -> Population<RicartAgrawala> {
    let group = Group::of(size);
    Population::new(size, move |id| RicartAgrawala::new(id, group))
}

fn workload(load: Load<Command>, entries: u64, hold_ns: u64) -> Turns<Command> {
    Turns::new(load, ACQUIRE, Command::Release)
        .entries(entries)
        .hold(Distribution::Constant(hold_ns))
}

fn run(size: u32, network: Network, workload: Turns<Command>, seed: u64) -> Report<Summary> {
    Simulation::new(nodes(size), Exclusion::default(), network, workload, seed).run().unwrap()
}

fn network(latency: &str, order: Order) -> Network {
    Network { latency: latency.parse().unwrap(), order }
}

#[test]
fn an_entry_costs_exactly_two_messages_for_every_other_node() {
    for size in [1, 2, 3, 13, 64, 200] {
        for load in [SATURATION, Load::OneAtATime, Load::Burst] {
            for net in [Network::constant_ms(1), network("exp:2ms", Order::Any)] {
                let report = run(size, net, workload(load.clone(), 400, 0), 3);
                assert_eq!(report.summary.entries, 400);
                assert_eq!(
                    report.summary.messages,
                    400 * 2 * u64::from(size - 1),
                    "{size} {load:?}"
                );
                let (requests, replies) =
                    (report.summary.by_kind[0].1, report.summary.by_kind[1].1);
                assert_eq!(requests, replies);
                assert!(report.is_safe() && report.is_quiescent());
                assert_eq!(report.summary.overtakes, Some(0));
            }
        }
    }
}

#[test]
fn under_saturation_a_hand_over_takes_exactly_one_message_delay() {
    for size in [2, 3, 13, 64] {
        for hold_ns in [0, MS / 3, 5 * MS] {
            let report = run(size, Network::constant_ms(1), workload(SATURATION, 500, hold_ns), 1);
            assert_eq!(report.summary.sync_delay_mean_ns, Some(MS as f64), "{size} {hold_ns}");
            assert_eq!(report.summary.sync_delays, 499);
        }
    }
}

#[test]
fn alone_a_request_takes_a_round_trip_and_its_stay() {
    for size in [2, 3, 13] {
        for hold_ns in [0, 5 * MS] {
            let load = Load::OneAtATime;
            let report = run(size, Network::constant_ms(1), workload(load, 500, hold_ns), 1);
            assert_eq!(report.summary.response_mean_ns, Some((2 * MS + hold_ns) as f64));
            assert_eq!(report.summary.sync_delay_mean_ns, None, "nobody ever waits for an exit");
        }
    }
}

#[test]
fn measured_costs_agree_with_the_card() {
    for size in [2, 5, 31] {
        for hold_ns in [0, 2 * MS] {
            let loads = [(card::Load::Light, Load::OneAtATime), (card::Load::Heavy, SATURATION)];
            for (load, simulated) in loads {
                let hold = hold_ns as f64 / MS as f64;
                let setup = Setup::new(Group::of(size));
                let setting = Setting { hold, ..Setting::new(&CARD, &setup, load) };
                let net = Network::constant_ms(1);
                let summary = run(size, net, workload(simulated, 300, hold_ns), 9).summary;
                let in_t = |ns: Option<f64>| ns.map(|ns| ns / MS as f64);
                for (of, measured, expected) in [
                    (MESSAGES, summary.messages_per_entry(), Agreement::Agrees),
                    (SYNC_DELAY, in_t(summary.sync_delay_mean_ns), Agreement::Agrees),
                    (
                        RESPONSE,
                        in_t(summary.response_mean_ns),
                        match load {
                            card::Load::Light => Agreement::Agrees,
                            card::Load::Heavy => Agreement::Within,
                        },
                    ),
                ] {
                    let Some(measured) = measured else { continue };
                    let theory = CARD.cost(of, &setting).unwrap();
                    assert_eq!(theory.compare(measured, None), expected, "{of:?}: {measured}");
                }
            }
        }
    }
}

#[test]
fn throughput_under_saturation_is_one_entry_per_delay_and_stay() {
    let report = run(5, Network::constant_ms(1), workload(SATURATION, 10_000, 3 * MS), 1);
    let per_ms = report.summary.throughput_per_ns().unwrap() * MS as f64;
    assert!((per_ms * 4.0 - 1.0).abs() < 0.001, "{per_ms} entries a millisecond");
}

fn recorded(seed: u64) -> Trace<AnyNode<Command, Notice>> {
    let mut simulation = Simulation::recorded(
        nodes(4),
        Exclusion::default(),
        network("uniform:1ms..3ms", Order::Any),
        workload(Load::Closed { think: Distribution::Exponential(2 * MS) }, 60, MS / 2),
        seed,
        InMemoryRecorder(Vec::new()),
    );
    while simulation.run_for(7).unwrap() {}
    let records = simulation.into_recorder().0;
    Trace { header: Header::new("ricart-agrawala", 4).with("seed", &seed), records }
}

#[test]
fn the_same_seed_gives_the_same_run_byte_for_byte() {
    assert_eq!(recorded(7), recorded(7));
    assert_ne!(recorded(7).records, recorded(8).records);
    assert_eq!(format!("{:016x}", recorded(7).digest()), "afbaa69736f17ac6");
}

#[test]
fn a_recorded_run_judged_afterwards_gets_the_same_verdict() {
    let trace = recorded(11);
    let verdict = judge(&trace.records, (Exclusion::default(), HappenedBefore::default()));
    assert!(verdict.is_safe() && verdict.is_quiescent(), "{verdict:?}");
}

#[test]
fn a_script_is_followed_to_the_nanosecond() {
    let script = vec![
        (0, NodeId(1), ACQUIRE),
        (0, NodeId(0), ACQUIRE),
        (5 * MS, NodeId(0), Command::Release),
        (9 * MS, NodeId(1), Command::Release),
    ];
    let report = run(3, Network::constant_ms(1), workload(Load::Script(script), 0, 0), 1);
    assert_eq!(report.summary.entries, 2);
    assert_eq!(report.summary.sync_delay_mean_ns, Some(MS as f64));
    assert_eq!(report.now_ns, 9 * MS);
}

#[test]
fn a_script_that_misuses_a_node_is_an_error_that_says_so() {
    let script = vec![(4, NodeId(2), Command::Release)];
    let simulation = Simulation::new(
        nodes(3),
        Exclusion::default(),
        Network::constant_ms(1),
        workload(Load::Script(script), 0, 0),
        1,
    );
    assert_eq!(
        simulation.run().unwrap_err().to_string(),
        "node 2 refused a command of the workload at 4 ns: cannot release: not inside"
    );
}

/// Safety under every drawn network, and then rest: if a seed fails, its number is in the message.
#[test]
fn a_swarm_of_networks_and_loads_finds_nothing_wrong() {
    for seed in 0..300 {
        let size = 1 + (seed % 9) as u32;
        let latency = ["1ms", "uniform:1us..9ms", "exp:2ms", "uniform:0..1ns"][seed as usize % 4];
        let order = if seed % 2 == 0 { Order::Any } else { Order::Fifo };
        let load = match seed % 3 {
            0 => Load::Closed { think: Distribution::Exponential(MS * (seed % 7)) },
            1 => Load::Burst,
            _ => Load::OneAtATime,
        };
        let net = network(latency, order);
        let report = run(size, net, workload(load, 100, (seed % 5) * MS / 2), seed);
        assert!(report.is_safe(), "seed {seed}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "seed {seed}: {:?}", report.at_rest);
        assert_eq!(report.summary.entries, 100, "seed {seed}");
        assert_eq!(report.summary.overtakes, Some(0), "seed {seed}");
    }
}
