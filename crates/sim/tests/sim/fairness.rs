//! Fairness is seen though every contender makes the same number of entries in the end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Delay, Effects, NodeId, Protocol, Refused};
use vorrang_sim::{Distribution, InMemoryRecorder, Load, Network, Simulation, Turns};
use vorrang_trace::{Measure, What};

const MS: u64 = 1_000_000;
const SERVER: NodeId = NodeId(3);

/// The last of four nodes is a server that serves node 0 so many times as often as the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Favour {
    me: NodeId,
    times: u64,
    waiting: Vec<NodeId>,
    served: [u64; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Message {
    Ask,
    Grant,
    Done,
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(vorrang_protocol::Message::kind_name(self))
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["ASK", "GRANT", "DONE"];
    fn kind(&self) -> usize {
        *self as usize
    }
}

/// Time for whoever has left to ask again.
const PAUSE: Delay = Delay::exactly(Duration::from_millis(5));

impl Protocol for Favour {
    type Message = Message;
    type Timer = ();
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.me == SERVER {
            fx.set_timer((), PAUSE);
        }
    }
    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match command {
            Command::Acquire(_) => fx.send(SERVER, Message::Ask),
            Command::Release => fx.send(SERVER, Message::Done),
        }
        Ok(())
    }
    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Ask => self.waiting.push(from),
            Message::Grant => fx.notify(Notice::Entered),
            Message::Done => fx.set_timer((), PAUSE),
        }
    }
    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        let weight = |node: NodeId| if node == NodeId(0) { 1 } else { self.times };
        let owed = |node: &NodeId| (self.served[node.index()] * weight(*node), *node);
        if let Some(next) = self.waiting.iter().copied().min_by_key(owed) {
            self.waiting.retain(|&node| node != next);
            self.served[next.index()] += 1;
            fx.send(next, Message::Grant);
        }
    }
}

/// The fairness that the simulator saw, and the one in its record.
fn fairness(times: u64) -> (f64, f64) {
    let node = move |me| Favour { me, times, waiting: Vec::new(), served: [0; 3] };
    let load = Load::Closed { think: Distribution::Constant(0) };
    let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release);
    let mut simulation = Simulation::recorded(
        Population::new(4, node),
        Exclusion::default(),
        Network::constant_ms(1),
        turns.entries(90).hot(3).hold(Distribution::Constant(MS)),
        1,
        InMemoryRecorder(Vec::new()),
    );
    while simulation.run_for(u64::MAX).unwrap() {}
    let report = simulation.report();
    assert!(report.is_safe() && report.is_quiescent());
    let records = simulation.into_recorder().0;
    for id in (0..3).map(NodeId) {
        let is_entry =
            |what: &What<AnyNode<Command, Notice>>| *what == What::Notice(Notice::Entered);
        let entries = records.iter().filter(|it| it.node == id && is_entry(&it.what)).count();
        assert_eq!(entries, 30, "every contender makes its share");
    }
    (
        report.summary.fairness,
        Measure::of(4, <Message as vorrang_protocol::Message>::KINDS, &records).summary().fairness,
    )
}

#[test]
fn a_node_that_is_served_three_times_as_often_is_seen() {
    let (seen, recorded) = fairness(3);
    // 29 entries against 10 and 10, or one less.
    assert!((0.74..0.78).contains(&seen), "{seen}");
    assert_eq!(seen.to_bits(), recorded.to_bits());
}

#[test]
fn nodes_that_are_served_alike_are_seen_to_be() {
    let (seen, recorded) = fairness(1);
    assert!((seen - 1.0).abs() < 1e-12 && (recorded - 1.0).abs() < 1e-12, "{seen}, {recorded}");
}
