//! The hot loop uses the room that it has: once warm, no event allocates.

use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::Group;
use vorrang_sim::{Distribution, Load, Network, Order, Simulation, Turns};

/// The first sends to many at once, the second to itself as well.
const ALGORITHMS: [&str; 2] = ["ricart-agrawala", "maekawa"];

#[test]
fn a_warm_simulation_does_not_allocate() {
    for algorithm in ALGORITHMS {
        for latency in ["1ms", "uniform:1ms..3ms", "exp:1ms"] {
            for order in [Order::Fifo, Order::Any] {
                does_not_allocate(algorithm, latency, order);
            }
        }
    }
}

fn does_not_allocate(algorithm: &str, latency: &str, order: Order) {
    let setup = Setup::new(Group::of(64));
    let population = vorrang_catalogue::find::<Mutex>(algorithm, None).unwrap().population(&setup);
    let saturation = Load::Closed { think: Distribution::Constant(0) };
    let mut simulation = Simulation::new(
        population.unwrap(),
        Exclusion::default(),
        Network { latency: latency.parse().unwrap(), order },
        Turns::new(saturation, Command::Acquire(Claim::Exclusive), Command::Release),
        7,
    );
    assert!(simulation.run_for(500_000).unwrap());
    let allocated = allocation_counter::measure(|| {
        assert!(simulation.run_for(500_000).unwrap());
    });
    assert_eq!(allocated.count_total, 0, "{algorithm}, latency {latency}, {order:?}");
}
