//! Time ends; it does not wrap around, and no verdict is given over what lies beyond.

use crate::puppet;

use puppet::{Command as Do, heard_by, puppets};
use vorrang_algorithms::mutex::lamport::Lamport;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{
    Distribution, Load, Network, Order, Pending, SimError, Simulation, Turns, show_duration_ns,
};

const S: u64 = 1_000_000_000;
const LAST: u64 = u64::MAX - 1;

type Run = Simulation<Exclusion, Turns<Command>>;

fn lamport(network: Network, load: Load<Command>, hold: Distribution, entries: u64) -> Run {
    let group = Group::of(3);
    let nodes = Population::new(3, move |id| Lamport::new(id, group));
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    Simulation::new(nodes, Exclusion::default(), network, turns.entries(entries).hold(hold), 1)
}

fn saturation() -> Load<Command> {
    Load::Closed { think: Distribution::Constant(0) }
}

#[test]
fn stays_that_do_not_fit_into_time_are_an_error_and_no_verdict() {
    let network = Network { order: Order::Fifo, ..Network::constant_ms(1) };
    let hold = Distribution::Constant(2_000_000 * S);
    let mut run = lamport(network, saturation(), hold, 10_000);
    let error = run.run_for(u64::MAX).unwrap_err();
    let SimError::OutOfTime { node, at_ns, in_ns, pending } = error else { panic!("{error}") };
    assert_eq!((pending, in_ns), (Pending::Command, 2_000_000 * S));
    assert!(at_ns > u64::MAX - in_ns, "just before the end");
    assert_eq!(
        error.to_string(),
        format!(
            "simulated time ran out: at {}, a command for node {node} would come 2000000s later, \
             but time ends at 18446744073709551615ns, after some 584 years",
            show_duration_ns(at_ns)
        )
    );
    let report = run.report();
    assert!(report.is_safe() && !report.is_over, "what did happen was fine");
    assert_eq!(report.now_ns, at_ns);
    assert_eq!(report.summary.entries, 9224, "2^64 ns are 9223 such stays and a rest");
    assert_eq!(run.run_for(1), Err(error), "a run that has failed stays failed");
}

#[test]
fn entries_that_fit_into_time_come_to_an_end() {
    let network = Network { order: Order::Fifo, ..Network::constant_ms(1) };
    let hold = Distribution::Constant(2_000_000 * S);
    let report = lamport(network, saturation(), hold, 9_000).run().unwrap();
    assert!(report.is_safe() && report.is_quiescent());
}

#[test]
fn a_message_that_takes_too_long_is_named() {
    let network = Network::constant_ms(u64::MAX);
    let error = lamport(network, saturation(), Distribution::Constant(0), 9).run().unwrap_err();
    let pending = Pending::Message { from: NodeId(0) };
    assert_eq!(error, SimError::OutOfTime { node: NodeId(1), at_ns: 0, in_ns: u64::MAX, pending });
    assert!(error.to_string().contains("a message from node 0 to node 1 would come"), "{error}");
}

#[test]
fn a_first_request_that_never_comes_is_named_as_soon_as_the_run_begins() {
    let load = Load::Closed { think: Distribution::Exponential(u64::MAX) };
    let error =
        lamport(Network::constant_ms(1), load, Distribution::Constant(0), 300).run().unwrap_err();
    let SimError::OutOfTime { at_ns, in_ns, pending, .. } = error else { panic!("{error}") };
    assert_eq!(pending, Pending::Command);
    assert!(u64::MAX - at_ns <= in_ns);
}

#[test]
fn the_last_instant_can_be_used_and_the_next_cannot() {
    let network = Network { latency: Distribution::Constant(10), order: Order::Fifo };
    let play = |at_ns, command| {
        let mut run = puppets(2, network, vec![(at_ns, NodeId(0), command)], 1);
        run.run_for(u64::MAX).map(|_| run.report().now_ns)
    };
    let beyond = |at_ns, node, in_ns, pending| {
        Err(SimError::OutOfTime { node: NodeId(node), at_ns, in_ns, pending })
    };
    assert_eq!(play(LAST - 10, Do::Tell(NodeId(1), 4)), Ok(LAST));
    let message = Pending::Message { from: NodeId(0) };
    assert_eq!(play(LAST - 9, Do::Tell(NodeId(1), 4)), beyond(LAST - 9, 1, 10, message));
    assert_eq!(play(LAST - 7, Do::Set(1, 7)), Ok(LAST));
    assert_eq!(play(LAST - 7, Do::Set(1, 8)), beyond(LAST - 7, 0, 8, Pending::Timer));
    assert_eq!(play(5, Do::Set(1, u64::MAX)), beyond(5, 0, u64::MAX, Pending::Timer));
    assert_eq!(play(LAST, Do::Ask), Ok(LAST));
    assert_eq!(play(u64::MAX, Do::Ask), beyond(0, 0, u64::MAX, Pending::Command));
}

#[test]
fn a_fifo_link_keeps_its_order_up_to_the_end_of_time() {
    let network = Network { latency: Distribution::Uniform(0, 40), order: Order::Fifo };
    for seed in 0..50 {
        let tell = |at: u32| (LAST - 45 + u64::from(at), NodeId(0), Do::Tell(NodeId(1), at));
        let mut run = puppets(2, network, (0..45).map(tell).collect(), seed);
        let error = run.run_for(u64::MAX).unwrap_err();
        assert!(matches!(error, SimError::OutOfTime { .. }), "{error}");
        let heard = heard_by(&run, NodeId(1));
        assert!(heard.is_sorted(), "seed {seed}: {heard:?}");
    }
}
