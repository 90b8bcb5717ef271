//! Faults: what is drawn can be ordered, and what is down hears nothing.

use crate::puppet;

use puppet::{Command as Do, Node, Notice, Script, Unwatched, play, puppets, told};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{self, Claim, Command};
use vorrang_erased::{AnyNode, AnyTimer, Population};
use vorrang_protocol::{Group, NodeId, Protocol};
use vorrang_sim::{
    Distribution, Fault, FaultCounts, Faults, InMemoryRecorder, Load, Network, Order, Simulation,
    Turns,
};
use vorrang_trace::{Record, What, judge};

const MS: u64 = 1_000_000;
const SLOW: Network = Network { latency: Distribution::Constant(10), order: Order::Any };

/// A node crashes at one time and comes up again at another.
fn down(node: NodeId, from_ns: u64, to_ns: u64) -> Vec<(u64, Fault)> {
    vec![(from_ns, Fault::Crash(node)), (to_ns, Fault::Restart(node))]
}

/// The number of the message that was sent.
fn sent<P: Protocol>(record: &Record<P>) -> Option<u64> {
    match record.what {
        What::Send { seq, .. } => Some(seq),
        _ => None,
    }
}

/// The numbers of those that were lost.
fn lost<P: Protocol>(records: &[Record<P>]) -> Vec<u64> {
    let lost = records.iter().filter_map(|record| match record.what {
        What::Lost { seq, .. } => Some(seq),
        _ => None,
    });
    lost.collect()
}

/// A node of a lock, as it is recorded.
type Lock = AnyNode<Command, mutex::Notice>;

fn locks(size: u32) -> Population<RicartAgrawala> {
    let group = Group::of(size);
    Population::new(size, move |id| RicartAgrawala::new(id, group))
}

fn run(faults: Option<Faults>) -> (Vec<Record<Lock>>, u64) {
    let load = Load::Closed { think: Distribution::Uniform(0, 3 * MS) };
    let mut simulation = Simulation::recorded(
        locks(5),
        Exclusion::default(),
        Network { latency: Distribution::Uniform(MS, 3 * MS), order: Order::Any },
        Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release).entries(200),
        7,
        InMemoryRecorder(Vec::new()),
    );
    if let Some(faults) = faults {
        simulation = simulation.with_faults(faults, 7);
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
    let (drawn, count) = run(Some(Faults::default().loss("1%".parse().unwrap())));
    assert!(count > 0, "a share of some hundred messages");
    let (ordered, _) = run(Some(Faults::default().lost(lost(&drawn))));
    assert_eq!(drawn, ordered, "byte for byte");
}

#[test]
fn a_node_that_is_down_does_nothing_and_begins_anew() {
    let script = vec![(20 * MS, Fault::Crash(NodeId(2))), (40 * MS, Fault::Restart(NodeId(2)))];
    let (records, _) = run(Some(Faults::default().script(script)));
    let at = |what: &What<Lock>| {
        records.iter().position(|record| record.node == NodeId(2) && record.what == *what).unwrap()
    };
    let (crash, restart) = (at(&What::Crash), at(&What::Restart));
    assert!(records[crash + 1..restart].iter().all(|record| record.node != NodeId(2)));
    assert!(records[restart + 1..].iter().any(|record| record.node == NodeId(2)));
}

#[test]
fn losses_can_be_ordered_where_others_arrive_twice_by_chance() {
    let duplication = "5%".parse().unwrap();
    let by_chance = Faults::default().loss("1%".parse().unwrap()).duplication(duplication);
    let (drawn, count) = run(Some(by_chance));
    let numbers = lost(&drawn);
    assert_eq!((numbers.len() as u64, numbers.is_empty()), (count, false));
    let (ordered, _) = run(Some(Faults::default().lost(numbers).duplication(duplication)));
    assert_eq!(drawn, ordered, "byte for byte");
}

#[test]
fn one_message_lost_on_order_is_lost_and_no_other() {
    let tell = |at: u32| (u64::from(at), NodeId(0), Do::Tell(NodeId(1), at));
    let script: Script = (0..10).map(tell).collect();
    let seqs: Vec<u64> =
        play(puppets(2, SLOW, script.clone(), 1)).1.iter().filter_map(sent).collect();
    let faults = Faults::default().lost(vec![seqs[3]]);
    let (report, records) = play(puppets(2, SLOW, script, 1).with_faults(faults, 1));
    assert_eq!((report.faults.lost, report.summary.messages), (1, 10));
    let heard: Vec<_> = told(&records).iter().map(|&(at_ns, _, notice)| (at_ns, notice)).collect();
    let expected = (0..10).filter(|&at| at != 3).map(|at| (u64::from(at) + 10, Notice::Heard(at)));
    assert_eq!(heard, expected.collect::<Vec<_>>());
    assert_eq!(lost(&records), [seqs[3]]);
}

#[test]
fn a_message_that_arrives_twice_was_sent_once_and_disturbs_nobody() {
    let network = Network { latency: Distribution::Uniform(1, 500), order: Order::Any };
    let tell = |at: u32| (u64::from(at), NodeId(0), Do::Tell(NodeId(1), at));
    let script: Script = (0..100).map(tell).collect();
    let (plain, once) = play(puppets(2, network, script.clone(), 1));
    let faults = Faults::default().duplication("100%".parse().unwrap());
    let (report, twice) = play(puppets(2, network, script, 1).with_faults(faults, 1));
    assert_eq!(report.faults.duplicated, 100);
    assert_eq!((report.summary.messages, plain.summary.messages), (100, 100));
    assert_eq!((report.events, plain.events), (300, 200));
    let receipts = |records: &[Record<Node>], seq: u64| -> Vec<u64> {
        let is_it =
            |it: &&Record<Node>| matches!(it.what, What::Receive { seq: s, .. } if s == seq);
        records.iter().filter(is_it).map(|it| it.at_ns).collect()
    };
    let seqs = |records: &[Record<Node>]| records.iter().filter_map(sent).collect::<Vec<_>>();
    for (&alone, &doubled) in seqs(&once).iter().zip(&seqs(&twice)) {
        let (alone, doubled) = (receipts(&once, alone), receipts(&twice, doubled));
        assert_eq!((alone.len(), doubled.len()), (1, 2));
        assert!(doubled.contains(&alone[0]), "the first is drawn as it was: {alone:?} {doubled:?}");
    }
}

#[test]
fn what_arrives_at_a_node_that_is_down_is_counted_and_recorded_as_lost() {
    let tell = |at: u32| (u64::from(at), NodeId(0), Do::Tell(NodeId(1), at));
    let script: Script = (0..30).map(tell).collect();
    let faults = Faults::default().script(down(NodeId(1), 15, 25));
    let (report, records) = play(puppets(2, SLOW, script, 1).with_faults(faults, 1));
    let expected =
        FaultCounts { crashes: 1, restarts: 1, to_the_dead: 10, ..FaultCounts::default() };
    assert_eq!(report.faults, expected, "those that arrive from 15 to 24");
    let heard: Vec<u64> = told(&records)
        .iter()
        .filter(|(.., notice)| matches!(notice, Notice::Heard(_)))
        .map(|(at_ns, ..)| *at_ns)
        .collect();
    assert_eq!(heard, (10..15).chain(25..40).collect::<Vec<_>>());
    assert_eq!(lost(&records).len(), 10);
    let verdict = judge(&records, Unwatched);
    assert_eq!(verdict.in_flight, 0, "nobody waits for what is lost");
}

#[test]
fn faults_happen_when_they_should_before_all_else_of_their_instant() {
    let at = |at_ns, node, command| (at_ns, NodeId(node), command);
    let script = vec![at(0, 0, Do::Set(1, 3)), at(5, 0, Do::Set(2, 9)), at(8, 0, Do::Set(3, 2))];
    // Down twice, and up twice: the second time changes nothing.
    let faults = Faults::default().script(vec![
        (8, Fault::Restart(NodeId(0))),
        (5, Fault::Crash(NodeId(0))),
        (6, Fault::Crash(NodeId(0))),
        (100, Fault::Restart(NodeId(0))),
    ]);
    let (report, records) = play(puppets(2, SLOW, script, 1).with_faults(faults, 1));
    assert_eq!((report.faults.crashes, report.faults.restarts), (1, 1));
    let happened: Vec<_> = records[2..].iter().map(|it| (it.at_ns, it.what.clone())).collect();
    let set = |timer, ns| What::Command(Do::Set(timer, ns));
    assert_eq!(
        happened,
        [
            (0, set(1, 3)),
            (3, What::Timer(AnyTimer::new(1_u8))),
            (3, What::Notice(Notice::Rang(1))),
            (5, What::Crash),
            (8, What::Restart),
            (8, What::Notice(Notice::Restarted)),
            (8, set(3, 2)),
            (10, What::Timer(AnyTimer::new(3_u8))),
            (10, What::Notice(Notice::Rang(3))),
        ],
        "what was to be done at 5 is not"
    );
    assert_eq!(report.now_ns, 100, "when the last fault was");
}

#[test]
fn a_timer_of_an_earlier_life_does_not_run_out_in_the_next() {
    let node = NodeId(0);
    // Set again in the new life: it runs out once, when the new life said.
    for again in [None, Some(10), Some(50)] {
        let mut script = vec![(0, node, Do::Set(1, 40)), (0, NodeId(1), Do::Set(1, 40))];
        script.extend(again.map(|ns| (30, node, Do::Set(1, ns))));
        let faults = Faults::default().script(down(node, 10, 20));
        let (_, records) = play(puppets(2, SLOW, script, 1).with_faults(faults, 1));
        let rang: Vec<u64> = told(&records)
            .iter()
            .filter(|(_, at, notice)| (*at, *notice) == (0, Notice::Rang(1)))
            .map(|(at_ns, ..)| *at_ns)
            .collect();
        assert_eq!(rang, again.map(|ns| 30 + ns).into_iter().collect::<Vec<_>>());
        assert!(told(&records).contains(&(40, 1, Notice::Rang(1))), "the other node's is its own");
    }
}

#[test]
fn a_command_of_an_earlier_life_does_not_reach_the_next() {
    let load = Load::Closed { think: Distribution::Constant(0) };
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    let faults = Faults::default().script(down(NodeId(0), 5, 7));
    let mut simulation = Simulation::recorded(
        locks(1),
        None::<Exclusion>,
        Network::constant_ms(1),
        turns.entries(3).hold(Distribution::Constant(10)),
        1,
        InMemoryRecorder(Vec::new()),
    )
    .with_faults(faults, 1);
    // A release that was planned before the crash would be refused.
    while simulation.run_for(u64::MAX).unwrap() {}
    let report = simulation.report();
    let releases: Vec<u64> = simulation
        .into_recorder()
        .0
        .iter()
        .filter(|it| it.what == What::Command(Command::Release))
        .map(|it| it.at_ns)
        .collect();
    assert_eq!(releases, [17, 27]);
    assert_eq!((report.summary.entries, report.summary.response_mean_ns), (3, Some(10.0)));
}

#[test]
fn a_crash_to_come_does_not_keep_a_light_load_waiting() {
    for load in [Load::OneAtATime, Load::Burst] {
        let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
        let script = vec![(20 * MS, Fault::Crash(NodeId(2)))];
        let mut simulation = Simulation::recorded(
            locks(3),
            None::<Exclusion>,
            Network::constant_ms(1),
            turns.entries(300).hold(Distribution::Constant(MS)),
            1,
            InMemoryRecorder(Vec::new()),
        )
        .with_faults(Faults::default().script(script), 1);
        while simulation.run_for(u64::MAX).unwrap() {}
        let report = simulation.report();
        assert!(report.is_over && report.summary.entries > 5, "{report:?}");
        assert!(report.now_ns > 20 * MS && report.faults.to_the_dead > 0);
        let records = simulation.into_recorder().0;
        let crash = records.iter().position(|it| it.what == What::Crash).unwrap();
        assert_eq!(records[crash].at_ns, 20 * MS);
        assert!(records[..crash].iter().all(|it| it.at_ns <= 20 * MS));
        assert!(crash > 20, "entries are made before");
    }
}

#[test]
#[should_panic(expected = "there is no node 2 among 2 to go wrong")]
fn a_node_that_does_not_exist_cannot_crash() {
    let faults = Faults::default().script(down(NodeId(2), 1, 2));
    let _ = puppets(2, SLOW, Vec::new(), 1).with_faults(faults, 1);
}
