//! Events a second of the simulator, monitors and statistics on.

use std::collections::BinaryHeap;
use std::hint::black_box;

use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_bench::time;
use vorrang_erased::Population;
use vorrang_protocol::Group;
use vorrang_sim::{Distribution, Load, Network, Order, Random, Simulation, Turns};

const EVENTS: u64 = 2_000_000;

fn main() {
    println!("simulator, Ricart-Agrawala under saturation, one core, {EVENTS} events a run");
    let heap = bare_heap();
    println!("  a bare binary heap of 64 keys, push and pop: {:.1} million a second", heap / 1e6);
    for nodes in [3, 64, 1000] {
        for latency in ["1ms", "uniform:1ms..3ms"] {
            let mut simulation = saturated(nodes, latency);
            // The first million events fill queues and sets to their working size.
            simulation.run_for(1_000_000).expect("the workload fits the algorithm");
            let times = time(5, || {
                simulation.run_for(EVENTS).expect("the workload fits the algorithm");
            });
            let rate = |time: std::time::Duration| EVENTS as f64 / time.as_secs_f64();
            println!(
                "  N = {nodes:4}, latency {latency:16}: best {:5.1}, median {:5.1} million events \
                 a second; {:.2} of the bare heap",
                rate(times.best) / 1e6,
                rate(times.median) / 1e6,
                rate(times.best) / heap
            );
        }
    }
}

fn saturated(nodes: u32, latency: &str) -> Simulation<Exclusion, Turns<Command>> {
    let group = Group::of(nodes);
    let saturation = Load::Closed { think: Distribution::Constant(0) };
    Simulation::new(
        Population::new(nodes, move |id| RicartAgrawala::new(id, group)),
        Exclusion::default(),
        Network { latency: latency.parse().expect("a latency"), order: Order::Any },
        Turns::new(saturation, Command::Acquire(Claim::Exclusive), Command::Release),
        7,
    )
}

/// The yardstick: what a heap of keys alone can do on this machine, now.
fn bare_heap() -> f64 {
    let mut random = Random::new(1);
    let mut heap: BinaryHeap<u64> = (0..64).map(|_| random.below(1 << 40)).collect();
    let times = time(5, || {
        for _ in 0..EVENTS {
            let earliest = heap.pop().expect("the heap stays full");
            heap.push(black_box(earliest.wrapping_sub(random.below(1 << 20))));
        }
    });
    EVENTS as f64 / times.best.as_secs_f64()
}
