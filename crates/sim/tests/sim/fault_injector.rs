//! Nodes that stand still, networks that fall apart, links that are slow, messages that are
//! overtaken, and all of it drawn at random.

use crate::puppet;

use std::time::Duration;

use puppet::{Command as Do, Node, Notice, Script, Unwatched, play, puppets, told};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{self, Claim, Command};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Delay, Effects, Group, NodeId, Protocol, Refused};
use vorrang_sim::{
    Distribution, Fault, FaultCounts, Faults, InMemoryRecorder, Load, Network, Order, Severity,
    Simulation, Turns,
};
use vorrang_trace::{Fault as Noted, Loss, Record, What, judge};

const MS: u64 = 1_000_000;
const TEN: Network = Network { latency: Distribution::Constant(10), order: Order::Any };
const NONE: FaultCounts = FaultCounts {
    crashes: 0,
    restarts: 0,
    pauses: 0,
    partitions: 0,
    lost: 0,
    cut_off: 0,
    duplicated: 0,
    reordered: 0,
    slowed: 0,
    to_the_dead: 0,
};

fn tell(at_ns: u64, from: u32, to: u32, number: u32) -> (u64, NodeId, Do) {
    (at_ns, NodeId(from), Do::Tell(NodeId(to), number))
}

fn scripted(script: Vec<(u64, Fault)>) -> Faults {
    Faults::default().script(script)
}

fn still(node: u32, from_ns: u64, to_ns: u64) -> Vec<(u64, Fault)> {
    vec![(from_ns, Fault::Pause(NodeId(node))), (to_ns, Fault::Resume(NodeId(node)))]
}

fn apart(sides: &str, from_ns: u64, to_ns: u64) -> Vec<(u64, Fault)> {
    let partition: vorrang_sim::Partition = sides.parse().unwrap();
    vec![(from_ns, Fault::Partition(partition.clone())), (to_ns, Fault::Heal(partition))]
}

fn slow(links: &str, from_ns: u64, to_ns: u64) -> Vec<(u64, Fault)> {
    let slow = links.parse().unwrap();
    vec![(from_ns, Fault::Slow(slow)), (to_ns, Fault::Recover(slow))]
}

/// What nodes heard, when and where.
fn heard(records: &[Record<Node>]) -> Vec<(u64, u32, u32)> {
    let heard = told(records).into_iter().filter_map(|(at_ns, at, notice)| match notice {
        Notice::Heard(number) => Some((at_ns, at, number)),
        _ => None,
    });
    heard.collect()
}

fn go(
    nodes: u32,
    network: Network,
    script: Script,
    faults: Faults,
) -> (FaultCounts, Vec<Record<Node>>) {
    let (report, records) = play(puppets(nodes, network, script, 1).with_faults(faults, 1));
    assert!(report.is_over);
    (report.faults, records)
}

fn noted(records: &[Record<Node>]) -> Vec<(u64, u32, Noted)> {
    let noted = records.iter().filter_map(|it| match &it.what {
        What::Fault(fault) => Some((it.at_ns, it.node.0, fault.clone())),
        _ => None,
    });
    noted.collect()
}

#[test]
fn what_comes_to_a_node_that_stands_still_waits_and_then_happens_in_the_order_in_which_it_came() {
    let mut script = vec![(0, NodeId(1), Do::Set(1, 25)), tell(5, 0, 1, 5), tell(12, 0, 1, 12)];
    script.extend([(28, NodeId(1), Do::Set(2, 1)), tell(21, 0, 1, 21)]);
    let (counts, records) = go(2, TEN, script, scripted(still(1, 16, 30)));
    assert_eq!(counts, FaultCounts { pauses: 1, ..NONE });
    let told: Vec<_> =
        told(&records).into_iter().map(|(at_ns, _, notice)| (at_ns, notice)).collect();
    let expected = [
        (15, Notice::Heard(5)),
        (30, Notice::Heard(12)),
        (30, Notice::Rang(1)),
        // What was set when it went on counts from then.
        (31, Notice::Heard(21)),
        (31, Notice::Rang(2)),
    ];
    assert_eq!(told, expected);
    assert_eq!(noted(&records), [(16, 1, Noted::Pause), (30, 1, Noted::Resume)]);
}

#[test]
fn a_timer_that_what_waited_before_it_cancels_does_not_run_out() {
    let script = vec![
        (0, NodeId(0), Do::Set(1, 20)),
        (15, NodeId(0), Do::Cancel(1)),
        (16, NodeId(0), Do::Set(2, 1)),
    ];
    let (_, records) = go(1, TEN, script, scripted(still(0, 10, 30)));
    let rang: Vec<_> = told(&records).into_iter().map(|(at_ns, _, it)| (at_ns, it)).collect();
    assert_eq!(rang, [(31, Notice::Rang(2))]);
}

#[test]
fn a_node_that_crashes_while_it_stands_still_has_no_more_to_catch_up_on() {
    let script = vec![
        (0, NodeId(1), Do::Set(1, 18)),
        tell(5, 0, 1, 5),
        (17, NodeId(1), Do::Set(2, 1)),
        tell(30, 0, 1, 30),
    ];
    let mut faults = still(1, 12, 40);
    faults.push((20, Fault::Crash(NodeId(1))));
    faults.push((35, Fault::Restart(NodeId(1))));
    let (counts, records) = go(2, TEN, script, scripted(faults));
    let expected = FaultCounts { pauses: 1, crashes: 1, restarts: 1, to_the_dead: 1, ..NONE };
    assert_eq!(counts, expected, "what had waited is lost");
    let told: Vec<_> = told(&records).into_iter().map(|(at_ns, _, it)| (at_ns, it)).collect();
    assert_eq!(told, [(35, Notice::Restarted), (40, Notice::Heard(30))], "and it does not wait");
    assert_eq!(noted(&records), [(12, 1, Noted::Pause)], "there was nothing to resume");
    assert_eq!(judge(&records, Unwatched).in_flight, 0);
}

#[test]
fn what_is_down_cannot_stand_still_and_what_stands_still_cannot_do_so_twice() {
    let mut faults = vec![(1, Fault::Crash(NodeId(0)))];
    faults.extend(still(0, 2, 3));
    faults.extend(still(1, 4, 10));
    faults.extend(still(1, 5, 6));
    let (counts, records) = go(2, TEN, vec![tell(20, 1, 1, 7)], scripted(faults));
    assert_eq!(counts, FaultCounts { crashes: 1, pauses: 1, ..NONE });
    assert_eq!(noted(&records), [(4, 1, Noted::Pause), (6, 1, Noted::Resume)]);
}

#[test]
fn nothing_crosses_a_partition_and_all_else_does() {
    // Sent before it and arriving before, during and after; sent in it; sent after.
    let times = [0, 10, 15, 20, 29, 30];
    let mut script: Script = times.map(|at| tell(at, 0, 2, at as u32)).to_vec();
    script.extend([tell(20, 0, 1, 100), tell(20, 2, 3, 200), tell(20, 3, 1, 300)]);
    let (counts, records) = go(4, TEN, script, scripted(apart("0,1|2", 18, 30)));
    // Node 3 is not named: it is alone.
    let expected = FaultCounts { partitions: 1, cut_off: 6, ..NONE };
    assert_eq!(counts, expected);
    assert_eq!(heard(&records), [(10, 2, 0), (30, 1, 100), (40, 2, 30)]);
    let why = |it: &Record<Node>| match it.what {
        What::Lost { why, .. } => Some((it.at_ns, why)),
        _ => None,
    };
    let lost: Vec<_> = records.iter().filter_map(why).collect();
    let expected = [20, 20, 20, 20, 25, 29].map(|at_ns| (at_ns, Loss::Partition));
    assert_eq!(lost, expected, "at 10 and 15 it was sent, and would have arrived");
    let sides = vec![vec![NodeId(0), NodeId(1)], vec![NodeId(2)]];
    let both = [Noted::Partition { sides: sides.clone() }, Noted::Heal { sides }];
    assert_eq!(noted(&records).iter().map(|it| &it.2).collect::<Vec<_>>(), both.each_ref());
}

#[test]
fn a_partition_that_came_and_went_while_a_message_was_under_way_took_it_along() {
    let script = vec![tell(0, 0, 1, 1), tell(0, 0, 0, 2), tell(5, 0, 1, 3)];
    let (counts, records) = go(2, TEN, script, scripted(apart("0", 2, 4)));
    assert_eq!(counts, FaultCounts { partitions: 1, cut_off: 1, ..NONE });
    assert_eq!(heard(&records), [(10, 0, 2), (15, 1, 3)], "nobody is cut off from itself");
}

#[test]
fn two_partitions_at_a_time_both_cut_and_heal_by_themselves() {
    let mut faults = apart("0|1", 0, 20);
    faults.extend(apart("0|2", 10, 30));
    let at = |at_ns| [tell(at_ns, 0, 1, at_ns as u32), tell(at_ns, 0, 2, 100 + at_ns as u32)];
    let script: Script = [5, 15, 25, 35].into_iter().flat_map(at).collect();
    let (counts, records) = go(3, TEN, script, scripted(faults));
    // In '0|1' node 2 is a side of its own, and so is node 1 in '0|2'.
    assert_eq!((counts.partitions, counts.cut_off), (2, 6));
    assert_eq!(heard(&records), [(45, 1, 35), (45, 2, 135)]);
}

#[test]
fn slow_links_are_slow_for_what_is_sent_while_they_are() {
    let mut faults = slow("0->1:x3", 10, 20);
    faults.extend(slow("*-1:+7ns", 15, 30));
    let script = vec![
        tell(0, 0, 1, 0),
        tell(10, 0, 1, 10),
        tell(10, 1, 0, 110),
        tell(15, 0, 1, 15),
        tell(20, 0, 1, 20),
        tell(20, 1, 0, 120),
        tell(20, 0, 0, 220),
        tell(30, 0, 1, 30),
    ];
    let (counts, records) = go(2, TEN, script, scripted(faults));
    assert_eq!(counts, FaultCounts { slowed: 4, ..NONE });
    let mut heard: Vec<_> = heard(&records).iter().map(|&(at, _, number)| (number, at)).collect();
    heard.sort_unstable();
    let expected =
        [(0, 10), (10, 40), (15, 52), (20, 37), (30, 40), (110, 20), (120, 37), (220, 30)];
    assert_eq!(heard, expected);
    let by: Vec<u64> = noted(&records)
        .iter()
        .filter_map(|it| if let Noted::Delayed { by_ns, .. } = it.2 { Some(by_ns) } else { None })
        .collect();
    assert_eq!(by, [20, 27, 7, 7]);
    let links: Vec<_> = noted(&records).into_iter().filter(|it| it.0 == 30).collect();
    assert_eq!(links, [(30, 1, Noted::Recover { links: "*-1:+7ns".to_owned() })]);
}

#[test]
fn a_slow_link_keeps_its_order_if_links_do() {
    let fifo = Network { order: Order::Fifo, ..TEN };
    let script: Script = vec![tell(0, 0, 1, 1), tell(5, 0, 1, 2), tell(50, 0, 1, 3)];
    let faults = || scripted(slow("0-1:x4", 0, 3));
    let order = |network| heard(&go(2, network, script.clone(), faults()).1);
    assert_eq!(order(TEN), [(15, 1, 2), (40, 1, 1), (60, 1, 3)]);
    assert_eq!(order(fifo), [(40, 1, 1), (40, 1, 2), (60, 1, 3)]);
}

#[test]
fn a_message_that_is_overtaken_is_so_on_any_links_and_holds_up_nobody() {
    let script: Script = (0..10).map(|at| tell(at, 0, 1, at as u32)).collect();
    for order in [Order::Any, Order::Fifo] {
        let network = Network { order, ..TEN };
        let (_, plain) = play(puppets(2, network, script.clone(), 1));
        let seq = plain.iter().filter_map(|it| match it.what {
            What::Send { seq, .. } => Some(seq),
            _ => None,
        });
        let third = seq.clone().nth(3).unwrap();
        let faults = Faults::default().delayed(vec![third]).late_ns(100);
        let (counts, records) = go(2, network, script.clone(), faults);
        assert_eq!(counts, FaultCounts { reordered: 1, ..NONE });
        let mut expected: Vec<_> = (0..10).map(|at| (at + 10, 1, at as u32)).collect();
        expected.remove(3);
        expected.push((113, 1, 3));
        assert_eq!(heard(&records), expected, "{order:?}");
    }
}

#[test]
fn what_befell_messages_by_chance_can_be_ordered() {
    let run = |faults: Faults| {
        let network = Network { latency: Distribution::Uniform(5, 15), order: Order::Any };
        let script: Script = (0..500).map(|at| tell(at, at as u32 % 3, 0, at as u32)).collect();
        let faults = faults.late_ns(40);
        let (report, records) = play(puppets(3, network, script, 1).with_faults(faults, 9));
        (report.faults, records)
    };
    let share = |text: &str| text.parse().unwrap();
    let chance = Faults::default().loss(share("5%")).reordering(share("5%"));
    let (counts, drawn) = run(chance);
    assert!(counts.lost > 5 && counts.reordered > 5, "{counts:?}");
    let numbers = |of: fn(&What<Node>) -> Option<u64>| -> Vec<u64> {
        drawn.iter().filter_map(|it| of(&it.what)).collect()
    };
    let lost = numbers(|it| if let What::Lost { seq, .. } = it { Some(*seq) } else { None });
    let delayed = numbers(|it| match it {
        What::Fault(Noted::Delayed { seq, .. }) => Some(*seq),
        _ => None,
    });
    assert_eq!(run(Faults::default().lost(lost).delayed(delayed)), (counts, drawn));
}

#[test]
fn a_message_doubled_on_order_arrives_twice_and_is_noted() {
    let script: Script = vec![tell(0, 0, 1, 1), tell(20, 0, 1, 2)];
    let (_, plain) = play(puppets(2, TEN, script.clone(), 1));
    let seq = plain.iter().find_map(|it| match it.what {
        What::Send { seq, .. } => Some(seq),
        _ => None,
    });
    let faults = Faults::default().doubled(seq.into_iter().collect());
    let (counts, records) = go(2, TEN, script, faults);
    assert_eq!(counts, FaultCounts { duplicated: 1, ..NONE });
    assert_eq!(heard(&records), [(10, 1, 1), (10, 1, 1), (30, 1, 2)]);
    let doubled = What::Doubled { to: NodeId(1), seq: seq.unwrap() };
    assert_eq!(records.iter().filter(|it| it.what == doubled).count(), 1);
    let cut = records.iter().rposition(|it| it.at_ns == 10 && it.node == NodeId(1)).unwrap();
    let verdict = judge(&records[..cut - 1], Unwatched);
    assert_eq!(verdict.in_flight, 1, "the second is still under way when one has arrived");
}

#[test]
fn chance_ends_when_it_should() {
    let script: Script = (0..100).map(|at| tell(at, 0, 1, at as u32)).collect();
    let all = "100%".parse().unwrap();
    let (counts, records) = go(2, TEN, script, Faults::default().loss(all).until_ns(60));
    assert_eq!((counts.lost, heard(&records).len()), (60, 40));
}

/// A node of a lock, as it is recorded.
type Lock = AnyNode<Command, mutex::Notice>;

fn drawn(severity: Severity, seed: u64) -> (FaultCounts, Vec<Record<Lock>>) {
    let group = Group::of(5);
    let load = Load::Closed { think: Distribution::Uniform(0, 30 * MS) };
    let faults = Faults::drawn(severity, 5, MS, 1000 * MS, seed).late_ns(10 * MS);
    let mut simulation = Simulation::recorded(
        Population::new(5, move |id| RicartAgrawala::new(id, group)),
        None::<Exclusion>,
        Network { latency: Distribution::Uniform(MS, 3 * MS), order: Order::Any },
        Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release).entries(200),
        seed,
        InMemoryRecorder(Vec::new()),
    )
    .with_faults(faults, seed);
    // Where messages are lost and doubled, a node may well be told to leave when it is not inside.
    while simulation.run_for(u64::MAX).is_ok_and(|goes_on| goes_on) {}
    (simulation.report().faults, simulation.into_recorder().0)
}

#[test]
fn a_drawn_run_is_the_same_again_and_all_that_was_drawn_is_in_its_trace() {
    let mut all = NONE;
    for seed in 0..20 {
        let (counts, records) = drawn(Severity::Harsh, seed);
        assert_eq!((counts, records.clone()), drawn(Severity::Harsh, seed), "seed {seed}");
        let count = |of: &dyn Fn(&What<Lock>) -> bool| {
            records.iter().filter(|it| of(&it.what)).count() as u64
        };
        let lost = |why| count(&|it| matches!(it, What::Lost { why: it, .. } if *it == why));
        let traced = FaultCounts {
            crashes: count(&|it| *it == What::Crash),
            restarts: count(&|it| *it == What::Restart),
            pauses: count(&|it| *it == What::Fault(Noted::Pause)),
            partitions: count(&|it| matches!(it, What::Fault(Noted::Partition { .. }))),
            lost: lost(Loss::Network),
            cut_off: lost(Loss::Partition),
            to_the_dead: lost(Loss::Down),
            duplicated: count(&|it| matches!(it, What::Doubled { .. })),
            // Both are delays, and a message may be delayed by both.
            reordered: counts.reordered,
            slowed: counts.slowed,
        };
        assert_eq!(traced, counts, "seed {seed}");
        let delayed = count(&|it| matches!(it, What::Fault(Noted::Delayed { .. })));
        let (one, both) = (counts.reordered.max(counts.slowed), counts.reordered + counts.slowed);
        assert!((one..=both).contains(&delayed), "seed {seed}");
        all = FaultCounts {
            crashes: all.crashes + counts.crashes,
            pauses: all.pauses + counts.pauses,
            partitions: all.partitions + counts.partitions,
            lost: all.lost + counts.lost,
            cut_off: all.cut_off + counts.cut_off,
            duplicated: all.duplicated + counts.duplicated,
            reordered: all.reordered + counts.reordered,
            slowed: all.slowed + counts.slowed,
            ..all
        };
    }
    let FaultCounts { crashes, pauses, partitions, lost, cut_off, duplicated, .. } = all;
    let counts =
        [crashes, pauses, partitions, lost, cut_off, duplicated, all.reordered, all.slowed];
    assert!(counts.iter().all(|&count| count > 0), "{all:?}");
}

/// Wakes up for ever, and lets nobody in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Insomniac;

impl Protocol for Insomniac {
    type Message = puppet::Note;
    type Timer = ();
    type Command = Command;
    type Notice = mutex::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer((), Delay::exactly(Duration::from_millis(1)));
    }
    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) -> Result<(), Refused> {
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, _: puppet::Note, _: &mut impl Effects<Self>) {}
    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        self.on_start(fx);
    }
}

#[test]
fn a_run_that_goes_on_for_ever_and_gets_nowhere_is_ended_and_says_so() {
    let load = Load::Closed { think: Distribution::Constant(0) };
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    let mut simulation = Simulation::new(
        Population::new(2, |_| Insomniac),
        Exclusion::default(),
        Network::constant_ms(1),
        turns.entries(2).perpetual(true),
        1,
    )
    .with_faults(scripted(vec![(3000 * MS, Fault::Crash(NodeId(0)))]), 1);
    while simulation.run_for(u64::MAX).unwrap() {}
    let report = simulation.report();
    assert!(report.is_safe() && !report.is_over && !report.is_quiescent());
    assert_eq!(report.faults.crashes, 1, "not before the last fault");
    assert_eq!(
        report.at_rest.unwrap().to_string(),
        "progress: messages go on for ever without progress, and node 1 still waits"
    );
}
