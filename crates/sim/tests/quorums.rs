//! Maekawa's algorithm on many quorum systems and many schedules: nobody is left waiting, messages
//! stay within the bound, and a lock is handed over in two message delays.
//!
//! `VORRANG_SCHEDULES=10000 cargo test -p vorrang-sim --test quorums random -- --nocapture` tries
//! so many schedules of each instead of some.

use std::time::Instant;

use vorrang_algorithms::mutex::card::{Card, Load, MESSAGES, Setting};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::registry::{self, Invariants, Node, Visit};
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::{Group, Protocol};
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

impl Visit<Mutex> for Busy {
    type Output = Report<Summary>;

    fn visit<P>(self, card: &'static Card, node: Node<P>, holds: Invariants<P>) -> Report<Summary>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let asks = card.terms.claims.iter().copied().map(Command::Acquire).collect();
        let workload = Turns::new(self.load, Command::Release, Command::Release)
            .acquire_any_of(asks)
            .entries(self.entries)
            .hold(Distribution::Constant(MS));
        let nodes = self.setup.group.members().map(|id| node(id));
        let monitor = card.exclusion(&self.setup);
        let simulation = Simulation::new(nodes, monitor, self.network, workload, self.seed);
        let holds = if self.guarded { holds } else { &[] };
        simulation.guarded(holds).run().expect("no command is refused")
    }
}

fn run(name: &str, run: &Busy) -> Report<Summary> {
    registry::visit(name, None, &run.setup, run.clone()).expect("the quorums fit")
}

fn count(summary: &Summary, kind: &str) -> u64 {
    summary.by_kind.iter().filter(|(name, _)| *name == kind).map(|(_, count)| *count).sum()
}

/// So many schedules of each.
fn schedules(usually: u64) -> u64 {
    let asked = std::env::var("VORRANG_SCHEDULES").ok();
    asked.map_or(usually, |text| text.parse().expect("VORRANG_SCHEDULES is a number"))
}

/// Everybody always wants in.
const SATURATION: sim::Load<Command> = sim::Load::Closed { think: Distribution::Constant(0) };

fn setup(nodes: u32, quorum: &str) -> Setup {
    Setup { quorum: quorum.parse().expect("a system"), ..Setup::new(Group::of(nodes)) }
}

/// Messages take a time drawn anew for each, and most of them come in any order. Most runs are
/// saturated; in bursts, and where nodes pause, locks have to be given back more often.
#[test]
fn random_schedules_leave_nobody_waiting_and_cost_no_more_than_the_bound() {
    let card = registry::cards::<Mutex>().into_iter().find(|card| card.name == "maekawa");
    let card = card.expect("it is in the catalogue");
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
        let setup = setup(nodes, quorum);
        let start = Instant::now();
        let (mut delays, mut messages, mut total) = (0.0_f64, 0.0_f64, 0);
        let (mut inquiries, mut relinquished) = (0, 0);
        for seed in 0..schedules(usually) {
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
            let report = run(card.name, &one);
            let what = format!("{nodes} {quorum} seed {seed}");
            assert!(report.is_safe(), "{what}: {:?}", report.first_violation);
            assert!(report.is_quiescent(), "{what}: {:?}", report.at_rest);
            assert_eq!(report.summary.entries, entries, "{what}");
            let span = card.cost(MESSAGES, &Setting::new(card, &setup, Load::Heavy));
            let span = span.expect("the card speaks of messages");
            let cost = report.summary.messages_per_entry().expect("there were entries");
            assert!(span.low <= cost && cost <= span.high, "{what}: {cost} not in {span:?}");
            messages = messages.max(cost);
            let mean = one.network.latency.mean_ns();
            delays += report.summary.sync_delay_mean_ns.expect("somebody waited") / mean;
            inquiries += count(&report.summary, "INQUIRE");
            relinquished += count(&report.summary, "RELINQUISH");
            total += 1;
        }
        let (delay, seconds) = (delays / f64::from(total), start.elapsed().as_secs_f64());
        assert!(relinquished > 0 && relinquished <= inquiries, "{nodes} {quorum}");
        println!(
            "{nodes} {quorum}: {total} schedules in {seconds:.1} s, at most {messages:.2} messages \
             an entry, hand-over after {delay:.2} T on average, {inquiries} inquiries, \
             {relinquished} locks given back"
        );
    }
}

/// Where every message takes T, a lock that a third node has to give is handed over in 2 T; in a
/// plane, the one arbiter that both need may be the leaver or the entrant, which saves a message.
#[test]
fn a_lock_is_handed_over_in_two_message_delays() {
    for (nodes, quorum, low, high) in [
        (16, "grid", 2.0, 2.0),
        (100, "grid", 2.0, 2.0),
        (13, "plane", 1.4, 2.0),
        (21, "plane", 1.4, 2.0),
        (31, "plane", 1.4, 2.0),
        (9, "majority", 2.0, 2.0),
        (2, "all", 1.0, 1.0),
    ] {
        let (setup, network) = (setup(nodes, quorum), Network::constant_ms(1));
        let one = Busy { setup, network, load: SATURATION, entries: 1000, seed: 1, guarded: false };
        let delay = run("maekawa", &one).summary.sync_delay_mean_ns.expect("somebody waited");
        let delay = delay / MS as f64;
        // The first entries, when all have just asked, are not like the others.
        assert!(low - 0.01 <= delay && delay <= high + 0.01, "{nodes} {quorum}: {delay} T");
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
    let setup = setup(10_000, "grid");
    let network = Network::constant_ms(1);
    let one = Busy { setup, network, load: SATURATION, entries: 10_000, seed: 1, guarded: false };
    let report = run("maekawa", &one);
    assert!(report.is_safe() && report.is_quiescent());
    assert_eq!(report.summary.entries, 10_000);
}

#[test]
fn quorums_that_do_not_fit_are_refused_before_anything_is_made() {
    let setup = Setup { quorum: Quorums::Plane, ..Setup::new(Group::of(14)) };
    let network = Network::constant_ms(1);
    let one = Busy { setup, network, load: SATURATION, entries: 1, seed: 1, guarded: false };
    let refused = registry::visit("maekawa", None, &one.setup, one.clone()).unwrap_err();
    assert!(refused.0.starts_with("--quorum plane: 14 nodes do not make"), "{refused}");
}
