//! Algorithms that are to survive crashes: every crash, at every moment, in small groups.

use crate::support;

use std::num::NonZeroUsize;
use std::time::Duration;

use support::{group, mutex};
use vorrang_algorithms::mutex::raymond::Raymond;
use vorrang_algorithms::mutex::regenerating::{Regenerating, Renewable};
use vorrang_algorithms::mutex::ricart_agrawala_probing::RicartAgrawalaProbing;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::mutex::token_ring::TokenRing;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Bounds, Faults, Links, Order, Outcome, System, explore};
use vorrang_protocol::{NodeId, Protocol};

const WITHIN: Duration = Duration::from_millis(1);

/// Nodes that take so many turns each, where messages are in time and so much goes wrong.
fn system<P>(
    node: impl Fn(NodeId, &Setup) -> P + Clone + Send + Sync + 'static,
    entries: &[u32],
    faults: Faults,
) -> System<P, Exclusion>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let setup = Setup::new(group(entries));
    let mut system = mutex(entries, Order::Any, Exclusion::default(), move |id| node(id, &setup));
    system.links = Links::from(Order::Any).within(WITHIN);
    system.faults = faults;
    system
}

fn outcome<P>(system: &System<P, Exclusion>) -> String
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    match explore(system, &Bounds::default().states(300_000), NonZeroUsize::MIN, |_| {}).outcome {
        Outcome::Verified => "verified".to_owned(),
        Outcome::Violated { violation, run } => format!("{} {violation}", run.moves.len()),
        Outcome::Bounded { .. } => "bounded".to_owned(),
    }
}

#[test]
fn probes_survive_crashes_restarts_and_a_lost_message() {
    let crash = Faults::NONE.crashes(1);
    let restart = crash.restarts(1);
    let cases: [(&[u32], Faults); 4] = [
        (&[2, 1], crash),
        (&[1, 1], restart),
        (&[1, 1, 0], crash),
        (&[1, 1], Faults::NONE.losses(1)),
    ];
    for (entries, faults) in cases {
        let system = system(RicartAgrawalaProbing::of, entries, faults);
        assert_eq!(outcome(&system), "verified", "{entries:?} {faults:?}");
    }
}

fn regenerates<P: Renewable>(name: &str) {
    let crash = Faults::NONE.crashes(1);
    let cases: [(&[u32], Faults); 3] =
        [(&[2, 1], crash), (&[0, 1], crash.restarts(1)), (&[1, 0, 0], crash)];
    for (entries, faults) in cases {
        let mut system = system(Regenerating::<P>::of, entries, faults);
        system.demands = system.demands.invariants(Regenerating::<P>::INVARIANTS);
        assert_eq!(outcome(&system), "verified", "{name} {entries:?} {faults:?}");
    }
}

#[test]
fn lost_tokens_are_made_anew_once() {
    regenerates::<TokenRing>("ring");
    regenerates::<SuzukiKasami>("suzuki-kasami");
    regenerates::<Raymond>("raymond");
}
