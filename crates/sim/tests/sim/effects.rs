//! What a node does has the effect that it should: starting, timers, choices, order on links.

use crate::puppet;

use std::num::NonZeroU32;

use puppet::{Command, Notice, heard_by, play, puppets, told};
use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Network, Order};
use vorrang_trace::What;

const NETWORK: Network = Network { latency: Distribution::Constant(10), order: Order::Any };

#[test]
fn every_node_starts_once_before_anything_else() {
    let (report, records) = play(puppets(3, NETWORK, vec![(0, NodeId(1), Command::Set(1, 5))], 1));
    let started = |id| (0, NodeId(id), What::Notice(Notice::Started));
    let first: Vec<_> =
        records[..3].iter().map(|it| (it.at_ns, it.node, it.what.clone())).collect();
    assert_eq!(first, [started(0), started(1), started(2)]);
    let starts = records.iter().filter(|it| it.what == What::Notice(Notice::Started));
    assert_eq!(starts.count(), 3);
    assert_eq!((report.events, report.now_ns), (2, 5), "a command and a timer");
}

#[test]
fn a_timer_runs_out_when_it_should_and_once() {
    let script = vec![(3, NodeId(0), Command::Set(7, 20)), (4, NodeId(1), Command::Set(7, 1))];
    let (_, records) = play(puppets(2, NETWORK, script, 1));
    assert_eq!(told(&records), [(5, 1, Notice::Rang(7)), (23, 0, Notice::Rang(7))]);
}

#[test]
fn a_timer_that_is_replaced_runs_out_at_its_new_time_only() {
    for again in [5, 20, 50] {
        let script =
            vec![(0, NodeId(0), Command::Set(7, 20)), (10, NodeId(0), Command::Set(7, again))];
        let (report, records) = play(puppets(1, NETWORK, script, 1));
        assert_eq!(told(&records), [(10 + again, 0, Notice::Rang(7))], "{again}");
        assert_eq!(report.now_ns, 10 + again, "what does not happen takes no time");
        assert_eq!(report.events, 3);
    }
}

#[test]
fn a_timer_that_is_cancelled_does_not_run_out() {
    let script = vec![
        (0, NodeId(0), Command::Set(7, 20)),
        (0, NodeId(0), Command::Set(8, 30)),
        (10, NodeId(0), Command::Cancel(7)),
        (10, NodeId(0), Command::Cancel(6)),
        // Cancelled, and then set anew.
        (0, NodeId(0), Command::Set(9, 40)),
        (12, NodeId(0), Command::Cancel(9)),
        (14, NodeId(0), Command::Set(9, 50)),
    ];
    let (report, records) = play(puppets(1, NETWORK, script, 1));
    assert_eq!(told(&records), [(30, 0, Notice::Rang(8)), (64, 0, Notice::Rang(9))]);
    assert!(report.is_over);
}

#[test]
fn a_timer_runs_out_anywhere_in_its_range() {
    let script = (0..200).map(|at| (100 * at, NodeId(0), Command::SetBetween(1, 3, 6))).collect();
    let (_, records) = play(puppets(1, NETWORK, script, 1));
    let mut delays: Vec<u64> = told(&records).iter().map(|(at_ns, ..)| at_ns % 100).collect();
    assert_eq!(delays.len(), 200);
    delays.sort_unstable();
    delays.dedup();
    assert_eq!(delays, [3, 4, 5, 6]);
}

#[test]
fn what_arrives_at_the_instant_of_a_time_out_has_arrived_in_time() {
    let script = vec![
        (0, NodeId(0), Command::Set(7, 20)),
        (10, NodeId(1), Command::Tell(NodeId(0), 4)),
        (0, NodeId(0), Command::Set(8, 19)),
    ];
    let (_, records) = play(puppets(2, NETWORK, script, 1));
    let expected = [(19, Notice::Rang(8)), (20, Notice::Heard(4)), (20, Notice::Rang(7))];
    assert_eq!(told(&records), expected.map(|(at_ns, notice)| (at_ns, 0, notice)));
}

#[test]
fn a_choice_is_drawn_from_all_that_there_is() {
    let bound = NonZeroU32::new(5).unwrap();
    let script: Vec<_> = (0..500).map(|at| (at, NodeId(0), Command::Choose(bound))).collect();
    let chosen = |seed| {
        let (_, records) = play(puppets(1, NETWORK, script.clone(), seed));
        let chosen = told(&records).into_iter().map(|(_, _, notice)| match notice {
            Notice::Chose(chosen) => chosen,
            other => panic!("{other:?}"),
        });
        chosen.collect::<Vec<u32>>()
    };
    for value in 0..5 {
        let times = chosen(1).iter().filter(|&&it| it == value).count();
        assert!((60..140).contains(&times), "{value} was chosen {times} times of 500");
    }
    assert!(chosen(1).iter().all(|&it| it < 5));
    assert_eq!(chosen(1), chosen(1));
    assert_ne!(chosen(1), chosen(2));
}

/// Node 0 tells node 1 the numbers from 0, node 2 as many others.
fn heard(order: Order, seed: u64) -> Vec<u32> {
    let network = Network { latency: Distribution::Uniform(1, 1000), order };
    let tell = |at: u32| {
        [(0, at), (2, 1000 + at)]
            .map(|(from, number)| (u64::from(at), NodeId(from), Command::Tell(NodeId(1), number)))
    };
    let mut run = puppets(3, network, (0..100).flat_map(tell).collect(), seed);
    while run.run_for(u64::MAX).unwrap() {}
    heard_by(&run, NodeId(1))
}

#[test]
fn a_later_message_arrives_first_only_where_links_keep_no_order() {
    let from = |heard: &[u32], low: u32| -> Vec<u32> {
        heard.iter().copied().filter(|it| (low..low + 100).contains(it)).collect()
    };
    for seed in 0..20 {
        let fifo = heard(Order::Fifo, seed);
        assert!(from(&fifo, 0).is_sorted() && from(&fifo, 1000).is_sorted(), "seed {seed}");
        assert!(!fifo.is_sorted(), "seed {seed}: two links do not wait for each other");
        assert_eq!(fifo.len(), 200);
        assert!(!from(&heard(Order::Any, seed), 0).is_sorted(), "seed {seed}");
    }
}
