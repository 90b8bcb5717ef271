//! The hot loop uses the room that it has: once warm, no event allocates.

use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_erased::Population;
use vorrang_protocol::Group;
use vorrang_sim::{Distribution, Load, Network, Order, Simulation, Turns};

#[test]
fn a_warm_simulation_does_not_allocate() {
    for latency in ["1ms", "uniform:1ms..3ms", "exp:1ms"] {
        for order in [Order::Fifo, Order::Any] {
            let group = Group::of(64);
            let saturation = Load::Closed { think: Distribution::Constant(0) };
            let mut simulation = Simulation::new(
                Population::new(64, move |id| RicartAgrawala::new(id, group)),
                Exclusion::default(),
                Network { latency: latency.parse().unwrap(), order },
                Turns::new(saturation, Command::Acquire(Claim::Exclusive), Command::Release),
                7,
            );
            assert!(simulation.run_for(1_000_000).unwrap());
            let allocated = allocation_counter::measure(|| {
                assert!(simulation.run_for(1_000_000).unwrap());
            });
            assert_eq!(allocated.count_total, 0, "latency {latency}, {order:?}");
        }
    }
}
