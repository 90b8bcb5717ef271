//! The token ring in time: when it serves whom, and what it costs while nobody wants in.

use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::token_ring::TokenRing;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::setup::{Parameter, Priorities, Setup};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{InMemoryRecorder, Load, Network, Simulation, Turns};
use vorrang_trace::{Record, What};

const MS: u64 = 1_000_000;
const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

fn setup(nodes: u32, rest_ms: u64) -> Setup {
    let rest = core::time::Duration::from_millis(rest_ms);
    Setup { rest, ..Setup::new(Group::of(nodes)) }
}

fn ring(setup: Setup) -> Population<TokenRing> {
    Population::new(setup.group.size(), move |id| TokenRing::of(id, &setup))
}

fn turns(load: Load<Command>) -> Turns<Command> {
    Turns::new(load, ACQUIRE, Command::Release).perpetual(true)
}

/// Everyone always wants in, and has a fifth of 500 entries.
fn saturated() -> Turns<Command> {
    turns(Load::Closed { think: "0".parse().unwrap() })
}

/// Runs to the end, and says when who entered, in milliseconds.
fn entries(setup: Setup, workload: Turns<Command>) -> (Vec<(u64, u32)>, u64, u64) {
    let mut run = Simulation::recorded(
        ring(setup),
        Exclusion::default(),
        Network::constant_ms(1),
        workload,
        1,
        InMemoryRecorder(Vec::new()),
    );
    while run.run_for(u64::MAX).expect("no command is refused") {}
    let report = run.report();
    assert!(report.is_safe() && report.is_quiescent());
    let (messages, idle) = (report.summary.messages, report.summary.idle_messages);
    let entered = |Record { at_ns, node, what }: Record<AnyNode<Command, Notice>>| match what {
        What::Notice(_) => Some((at_ns / MS, node.0)),
        What::Command(_)
        | What::Send { .. }
        | What::Receive { .. }
        | What::Timer(_)
        | What::Choice(_)
        | What::Lost { .. }
        | What::Crash
        | What::Restart
        | What::Doubled { .. }
        | What::Fault(_) => None,
    };
    (run.into_recorder().0.into_iter().filter_map(entered).collect(), messages, idle)
}

#[test]
fn if_all_want_in_the_token_serves_them_round_the_ring_a_message_each() {
    let workload = turns(Load::Burst).entries(4).hold("3ms".parse().unwrap());
    let (entered, messages, idle) = entries(setup(4, 1), workload);
    assert_eq!(entered, [(0, 0), (4, 1), (8, 2), (12, 3)]);
    assert_eq!((messages, idle), (4, 0), "the last goes on when all have been served");
}

#[test]
fn a_ring_that_rests_no_time_sends_a_message_every_t_for_nothing() {
    let script = vec![(10 * MS, NodeId(2), ACQUIRE), (15 * MS, NodeId(2), Command::Release)];
    let (entered, messages, idle) = entries(setup(4, 0), turns(Load::Script(script)));
    assert_eq!(entered, [(10, 2)], "it was just passing by");
    assert_eq!((messages, idle), (11, 10));
}

#[test]
fn rest_spares_messages_and_costs_time() {
    let script = vec![(100 * MS, NodeId(2), ACQUIRE), (150 * MS, NodeId(2), Command::Release)];
    let (entered, messages, idle) = entries(setup(4, 9), turns(Load::Script(script)));
    // A hop takes ten: nine of rest and one under way. At 100 it comes to node 2.
    assert_eq!(entered, [(100, 2)]);
    assert_eq!((messages, idle), (11, 10));
}

#[test]
fn whoever_is_alone_needs_no_messages_and_ends() {
    let workload = turns(Load::OneAtATime).entries(5);
    assert_eq!(entries(setup(1, 1), workload).0.len(), 5);
}

#[test]
fn the_most_urgent_enter_most_often_and_the_others_all_the_same() {
    let mut setup = setup(5, 1);
    setup.set(Parameter::Priorities, "0,0,20,0,0").unwrap();
    // They always want in, so whoever enters more often than the others gets in sooner.
    let (entered, ..) = entries(setup.clone(), saturated().entries(500));
    let first = &entered[..100];
    let of = |node| first.iter().filter(|(_, who)| *who == node).count();
    assert!(of(2) > 4 * of(0), "{} against {}", of(2), of(0));
    assert!((0..5).all(|node| of(node) > 0), "{first:?}");
    let alike =
        entries(Setup { priorities: Priorities::NONE, ..setup }, saturated().entries(500)).0;
    let of = |node| alike[..100].iter().filter(|(_, who)| *who == node).count();
    assert_eq!((0..5).map(of).collect::<Vec<_>>(), [20; 5]);
}
