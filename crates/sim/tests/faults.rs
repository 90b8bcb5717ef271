//! Faults: what is drawn can be ordered, and what is down hears nothing.

use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{Distribution, Fault, Faults, Keep, Load, Network, Order, Simulation, Turns};
use vorrang_trace::{Record, What};

const MS: u64 = 1_000_000;

fn run(faults: Option<Faults>) -> (Vec<Record<RicartAgrawala>>, u64) {
    let group = Group::of(5);
    let new = move |id| RicartAgrawala::new(id, group);
    let load = Load::Closed { think: Distribution::Uniform(0, 3 * MS) };
    let mut simulation = Simulation::recorded(
        group.members().map(new),
        Exclusion::default(),
        Network { latency: Distribution::Uniform(MS, 3 * MS), order: Order::Any },
        Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release).entries(200),
        7,
        Keep(Vec::new()),
    );
    if let Some(faults) = faults {
        simulation = simulation.with_faults(faults, 7, new);
    }
    while simulation.run_for(u64::MAX).unwrap() {}
    let lost = simulation.report().faults.lost;
    (simulation.into_recorder().0, lost)
}

#[test]
fn a_run_in_which_nothing_goes_wrong_is_as_if_nothing_could() {
    assert_eq!(run(None).0, run(Some(Faults::default())).0);
}

#[test]
fn what_was_lost_by_chance_can_be_lost_on_order() {
    let (drawn, lost) = run(Some(Faults { loss: "1%".parse().unwrap(), ..Faults::default() }));
    assert!(lost > 0, "a share of some hundred messages");
    let lost = drawn.iter().filter_map(|record| match record.what {
        What::Lost { seq, .. } => Some(seq),
        _ => None,
    });
    let (ordered, _) = run(Some(Faults { lost: lost.collect(), ..Faults::default() }));
    assert_eq!(drawn, ordered, "byte for byte");
}

#[test]
fn a_node_that_is_down_does_nothing_and_begins_anew() {
    let script = vec![(20 * MS, Fault::Crash(NodeId(2))), (40 * MS, Fault::Restart(NodeId(2)))];
    let (records, _) = run(Some(Faults { script, ..Faults::default() }));
    let at = |what: &What<RicartAgrawala>| {
        records.iter().position(|record| record.node == NodeId(2) && record.what == *what).unwrap()
    };
    let (crash, restart) = (at(&What::Crash), at(&What::Restart));
    assert!(records[crash + 1..restart].iter().all(|record| record.node != NodeId(2)));
    assert!(records[restart + 1..].iter().any(|record| record.node == NodeId(2)));
}
