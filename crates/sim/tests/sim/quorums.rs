//! Algorithms that ask quorums, on many quorum systems and many schedules: nobody is left waiting,
//! and messages stay within the bound. Maekawa's hands a lock over in two message delays, Cao and
//! Singhal's in one.
//!
//! `VORRANG_SCHEDULES=10000 cargo test -p vorrang-sim --test sim quorums::random -- --nocapture`
//! tries so many schedules of each instead of some.

use std::time::Instant;

use vorrang_algorithms::mutex::card::{Load, MESSAGES, Setting};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::find;
use vorrang_protocol::Group;
use vorrang_sim::{self as sim, Distribution, Network, Order, Report, Simulation, Turns};
use vorrang_trace::Summary;

const MS: u64 = 1_000_000;

/// Everybody asks.
#[derive(Clone)]
struct Busy {
    setup: Setup,
    network: Network,
    load: sim::Load<Command>,
    entries: u64,
    seed: u64,
    /// Whether the invariants are looked at after every event.
    guarded: bool,
}

fn run(name: &str, run: &Busy) -> Report<Summary> {
    let entry = find::<Mutex>(name, None).expect("it is in the catalogue");
    let asks = entry.card.terms.claims.iter().copied().map(Command::Acquire).collect();
    let workload = Turns::new(run.load.clone(), Command::Release, Command::Release)
        .acquire_any_of(asks)
        .entries(run.entries)
        .hold(Distribution::Constant(MS));
    let population = if run.guarded {
        entry.guarded_population(&run.setup)
    } else {
        entry.population(&run.setup)
    };
    let (population, monitor) =
        (population.expect("the quorums fit"), entry.card.exclusion(&run.setup));
    let simulation = Simulation::new(population, monitor, run.network, workload, run.seed);
    simulation.run().expect("no command is refused")
}

/// So many schedules of each.
fn schedules(usually: u64) -> u64 {
    vorrang_testkit::number("VORRANG_SCHEDULES").unwrap_or(usually)
}

/// Everybody always wants in.
const SATURATION: sim::Load<Command> = sim::Load::Closed { think: Distribution::Constant(0) };

fn setup(nodes: u32, quorum: &str) -> Setup {
    Setup { quorum: quorum.parse().expect("a system"), ..Setup::new(Group::of(nodes)) }
}

/// What is asked for in an algorithm when a permission is wanted back, and how it is given back.
const GIVEN_BACK: [(&str, &str, &str); 2] =
    [("maekawa", "INQUIRE", "RELINQUISH"), ("cao-singhal", "TRANSFER", "YIELD")];

/// Messages take a time drawn anew for each, and most of them come in any order. Most runs are
/// saturated; in bursts, and where nodes pause, locks have to be given back more often.
#[test]
fn random_schedules_leave_nobody_waiting_and_cost_no_more_than_the_bound() {
    for (nodes, quorum, usually) in [
        (13, "plane", 200),
        (21, "plane", 100),
        (31, "plane", 50),
        (16, "grid", 100),
        (100, "grid", 10),
        (15, "triangle", 100),
        (9, "majority", 100),
        (12, "wall", 100),
        (7, "tree", 100),
    ] {
        for (name, asked, given_back) in GIVEN_BACK {
            let start = Instant::now();
            let Tried { total, delay, messages, by_kind } =
                try_many(name, &setup(nodes, quorum), schedules(usually));
            let count = |kind| by_kind.iter().filter(|it| it.0 == kind).map(|it| it.1).sum::<u64>();
            let (asked, given_back) = (count(asked), count(given_back));
            assert!(given_back > 0 && given_back <= asked, "{name} {nodes} {quorum}");
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{name} {nodes} {quorum}: {total} schedules in {seconds:.1} s, at most \
                 {messages:.2} messages an entry, hand-over after {delay:.2} T on average, \
                 {given_back} given back"
            );
        }
    }
}

/// What many schedules came to.
struct Tried {
    total: u32,
    /// From an exit to the next entry, in T, on average.
    delay: f64,
    /// The most messages that an entry took, on average over a run.
    messages: f64,
    by_kind: Vec<(&'static str, u64)>,
}

/// Runs so many schedules, none of which may leave anybody waiting or take more than the card says.
fn try_many(name: &str, setup: &Setup, many: u64) -> Tried {
    let card = find::<Mutex>(name, None).expect("it is in the catalogue").card;
    let nodes = setup.group.size();
    let mut tried = Tried { total: 0, delay: 0.0, messages: 0.0, by_kind: Vec::new() };
    let span = card.cost(MESSAGES, &Setting::new(card, setup, Load::Heavy));
    let span = span.expect("the card speaks of messages");
    for seed in 0..many {
        let latencies = ["exp:1ms", "uniform:0..2ms", "uniform:1us..9ms"];
        let latency = latencies[seed as usize % 3].parse().expect("a latency");
        let order = if seed % 4 == 0 { Order::Fifo } else { Order::Any };
        let entries = u64::from(5 * nodes);
        let network = Network { latency, order };
        let guarded = nodes < 32 && seed % 10 == 0;
        let load = match seed % 5 {
            0..3 => SATURATION,
            3 => sim::Load::Burst,
            _ => sim::Load::Closed { think: Distribution::Exponential(30 * MS) },
        };
        let one = Busy { setup: setup.clone(), network, load, entries, seed, guarded };
        let report = run(name, &one);
        let what = format!("{name} {} seed {seed}", setup.text(card.takes));
        assert!(report.is_safe(), "{what}: {:?}", report.first_violation);
        assert!(report.is_quiescent(), "{what}: {:?}", report.at_rest);
        assert_eq!(report.summary.entries, entries, "{what}");
        let cost = report.summary.messages_per_entry().expect("there were entries");
        assert!(span.low <= cost && cost <= span.high, "{what}: {cost} not in {span:?}");
        tried.messages = tried.messages.max(cost);
        let mean = one.network.latency.mean_ns();
        tried.delay += report.summary.sync_delay_mean_ns.expect("somebody waited") / mean;
        tried.by_kind.extend(report.summary.by_kind.iter().copied());
        tried.total += 1;
    }
    tried.delay /= f64::from(tried.total);
    tried
}

/// The same of any majority of exclusive votes.
#[test]
fn random_schedules_of_majorities_leave_nobody_waiting_either() {
    for (nodes, usually) in [(5, 200), (9, 100), (21, 50)] {
        let Tried { total, delay, messages, by_kind } =
            try_many("majority-votes", &Setup::new(Group::of(nodes)), schedules(usually));
        let count = |kind| by_kind.iter().filter(|it| it.0 == kind).map(|it| it.1).sum::<u64>();
        let (asked, given_back) = (count("INQUIRE"), count("RELINQUISH"));
        assert!(given_back > 0 && given_back <= asked, "{nodes}");
        // Some were over before they were answered.
        assert!(count("LOCKED") < count("REQUEST") + given_back, "{nodes}");
        println!(
            "majority-votes {nodes}: {total} schedules, at most {messages:.2} messages an entry, \
             hand-over after {delay:.2} T on average, {given_back} of {asked} given back"
        );
    }
}

/// Where every message takes T, all vote alike, and others than the leaver and the entrant are
/// needed if there are more than three.
#[test]
fn a_majority_takes_three_messages_for_every_other_node_and_two_message_delays() {
    for (nodes, delay) in [(2, 1.0), (3, 1.0), (4, 2.0), (5, 2.0), (9, 2.0), (31, 2.0)] {
        let (setup, network) = (Setup::new(Group::of(nodes)), Network::constant_ms(1));
        let light = sim::Load::OneAtATime;
        let one = Busy { setup, network, load: light, entries: 1000, seed: 1, guarded: false };
        let expected = f64::from(3 * (nodes - 1));
        let alone = run("majority-votes", &one).summary.messages_per_entry().expect("entries");
        assert!((alone - expected).abs() < 1e-9, "{nodes}: {alone}");
        let summary = run("majority-votes", &Busy { load: SATURATION, ..one }).summary;
        let busy = summary.messages_per_entry().expect("entries");
        assert!((busy / expected - 1.0).abs() < 0.03, "{nodes}: {busy}");
        let measured = summary.sync_delay_mean_ns.expect("somebody waited") / MS as f64;
        assert!((measured - delay).abs() < 0.03, "{nodes}: {measured} T");
    }
}

/// Where every message takes T, a lock that a third node has to give is handed over in 2 T; in a
/// plane, the one arbiter that both need may be the leaver or the entrant, which saves a message.
/// If whoever leaves hands it on itself, it takes T, but where it learns too late to whom.
#[test]
fn a_lock_is_handed_over_in_two_message_delays_and_a_permission_in_one() {
    for (nodes, quorum, (low, high), (low_direct, high_direct)) in [
        (16, "grid", (2.0, 2.0), (1.0, 1.0)),
        (100, "grid", (2.0, 2.0), (1.0, 1.02)),
        (13, "plane", (1.4, 2.0), (1.0, 1.1)),
        (21, "plane", (1.4, 2.0), (1.0, 1.3)),
        (31, "plane", (1.4, 2.0), (1.0, 1.3)),
        (9, "majority", (2.0, 2.0), (1.0, 1.5)),
        (2, "all", (1.0, 1.0), (1.0, 1.0)),
    ] {
        for (name, low, high) in [("maekawa", low, high), ("cao-singhal", low_direct, high_direct)]
        {
            let (setup, network) = (setup(nodes, quorum), Network::constant_ms(1));
            let load = SATURATION;
            let one = Busy { setup, network, load, entries: 1000, seed: 1, guarded: false };
            let delay = run(name, &one).summary.sync_delay_mean_ns.expect("somebody waited");
            let delay = delay / MS as f64;
            // The first entries, when all have just asked, are not like the others.
            let is_so = low - 0.01 <= delay && delay <= high + 0.03;
            assert!(is_so, "{name} {nodes} {quorum}: {delay} T");
        }
    }
}

/// Without the rules against deadlock the same runs get stuck, and are seen to.
#[test]
fn without_rules_against_deadlock_a_saturated_run_gets_stuck_and_is_safe() {
    for (nodes, quorum) in [(3, "sets:0-1,1-2,0-2"), (13, "plane"), (16, "grid")] {
        let (setup, network) = (setup(nodes, quorum), Network::constant_ms(1));
        let one = Busy { setup, network, load: SATURATION, entries: 100, seed: 1, guarded: true };
        let report = run("maekawa-basic", &one);
        assert!(report.is_safe(), "{:?}", report.first_violation);
        let stuck = report.at_rest.expect("somebody waits for ever");
        assert_eq!(stuck.property, "progress");
        assert!(report.summary.entries < 100);
    }
}

/// A grid of ten thousand nodes, with quorums of 199.
#[test]
fn ten_thousand_nodes_are_no_trouble() {
    for name in ["maekawa", "cao-singhal"] {
        let (setup, network) = (setup(10_000, "grid"), Network::constant_ms(1));
        let load = SATURATION;
        let one = Busy { setup, network, load, entries: 10_000, seed: 1, guarded: false };
        let report = run(name, &one);
        assert!(report.is_safe() && report.is_quiescent(), "{name}");
        assert_eq!(report.summary.entries, 10_000, "{name}");
    }
}

#[test]
fn quorums_that_do_not_fit_are_refused_before_anything_is_made() {
    let setup = Setup { quorum: Quorums::Plane, ..Setup::new(Group::of(14)) };
    let refused = find::<Mutex>("maekawa", None).unwrap().population(&setup).unwrap_err();
    assert!(refused.0.starts_with("--quorum plane: 14 nodes do not make"), "{refused}");
}
