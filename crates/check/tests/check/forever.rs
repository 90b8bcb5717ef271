//! Nodes that ask for ever: who can be kept waiting, and what is the same up to a shift of
//! counters.

use crate::support;

use std::fmt;

use serde::{Deserialize, Serialize};
use support::table::{Asks, Enter, Leave, On, Rule, Say, rule, turns};
use support::{ONE, TWO, explore_all, group, mutex, ricart_agrawala};
use vorrang_algorithms::mutex::lamport::Lamport;
use vorrang_algorithms::mutex::singhal::{CARD, Singhal};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Parameter;
use vorrang_check::{Bound, Bounds, FOREVER, Liveness, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Message, Monitor, Never, NodeId, Protocol, Refused, Violation,
};

const ASK: On = On::Command(Asks);
const LEAVE: On = On::Command(Leave);

/// Node 0 keeps a key. Asked for it while inside, it hands the key over when it has left and its
/// own note to itself has come, unless it has entered again before that.
fn greedy_desk() -> Vec<Rule> {
    vec![
        rule(0, 0, ASK, 1, &[Enter]),
        rule(0, 0, On::Hear('?'), 2, &[Say(1, '!')]),
        rule(0, 1, LEAVE, 0, &[]),
        rule(0, 1, On::Hear('?'), 3, &[]),
        rule(0, 3, LEAVE, 5, &[Say(0, 'g')]),
        rule(0, 5, On::Hear('g'), 2, &[Say(1, '!')]),
        rule(0, 5, ASK, 6, &[Enter]),
        rule(0, 6, On::Hear('g'), 3, &[]),
        rule(0, 6, LEAVE, 5, &[]),
        rule(0, 2, ASK, 4, &[]),
        rule(0, 2, On::Hear('.'), 0, &[]),
        rule(0, 4, On::Hear('.'), 1, &[Enter]),
        rule(1, 0, ASK, 0, &[Say(0, '?')]),
        rule(1, 0, On::Hear('!'), 0, &[Enter]),
        rule(1, 0, LEAVE, 0, &[Say(0, '.')]),
    ]
}

#[test]
fn who_is_passed_again_and_again_is_found_only_where_others_ask_for_ever() {
    for order in [Order::Any, Order::Fifo] {
        let judged = |entries: &[u32], liveness| {
            let mut system = turns(entries, &greedy_desk());
            (system.links.order, system.demands.liveness) = (order, liveness);
            let report = explore_all(&system);
            assert_eq!(report, explore(&system, &Bounds::default(), TWO, |_| {}));
            report.outcome
        };
        assert_eq!(judged(&[9, 1], Liveness::Fair), Outcome::Verified, "nobody asks for ever");
        assert_eq!(judged(&[FOREVER, 1], Liveness::Possible), Outcome::Verified);
        let Outcome::Violated { violation, run } = judged(&[FOREVER, 1], Liveness::Fair) else {
            panic!("node 1 starves");
        };
        assert_eq!(violation.property, "no starvation");
        let round = &run.moves[run.repeats_from.unwrap()..];
        let round: Vec<String> = round.iter().map(ToString::to_string).collect();
        assert!(round.contains(&"ask 0".to_owned()), "{round:?}");
    }
}

fn fair<P, M>(mut system: System<P, M>, bounds: &Bounds) -> (Outcome<P>, u64)
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    system.demands.liveness = Liveness::Fair;
    let report = explore(&system, bounds, ONE, |_| {});
    (report.outcome, report.states)
}

#[test]
fn stamps_that_grow_for_ever_make_finitely_many_states() {
    let entries = [FOREVER, FOREVER];
    for order in [Order::Any, Order::Fifo] {
        let system = ricart_agrawala(&entries, order, Exclusion::default());
        let (outcome, states) = fair(system, &Bounds::NONE.states(10_000));
        assert_eq!(outcome, Outcome::Verified, "{order:?}: {states}");
    }
    let system =
        mutex(&entries, Order::Fifo, Exclusion::default(), |id| Lamport::new(id, group(&entries)));
    assert_eq!(fair(system, &Bounds::NONE.states(10_000)).0, Outcome::Verified);
}

#[test]
fn numbers_of_requests_are_shifted_for_each_owner() {
    let entries = [FOREVER, FOREVER];
    let system = mutex(&entries, Order::Fifo, Exclusion::default(), |id| {
        SuzukiKasami::new(id, group(&entries), NodeId(0))
    });
    assert_eq!(fair(system, &Bounds::NONE.states(10_000)).0, Outcome::Verified);
}

/// Counts how often it has entered, and says that the count is a counter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Liar {
    count: u64,
    /// From this count on it does not enter any more.
    ends_at: u64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Number(u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NUMBER({})", self.0)
    }
}

impl Message for Number {
    const KINDS: &'static [&'static str] = &["NUMBER"];
    fn kind(&self) -> usize {
        0
    }
    fn counters(&mut self, _: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.0);
    }
}

impl Protocol for Liar {
    type Message = Number;
    type Timer = Never;
    type Command = char;
    type Notice = char;

    fn on_command(&mut self, command: char, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        if command == 'a' {
            fx.send(NodeId(0), Number(self.count));
        }
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, Number(number): Number, fx: &mut impl Effects<Self>) {
        self.count = number + 1;
        if self.count < self.ends_at {
            fx.notify('e');
        }
    }
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.count);
    }
}

/// Objects to nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Nobody;

impl Monitor for Nobody {
    type Command = char;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

#[test]
fn what_is_called_a_counter_and_means_something_by_itself_is_found() {
    let judged = |ends_at| {
        let plan = Plan::turns(&[FOREVER], &'a', &'r');
        let nodes = vec![Liar { count: 0, ends_at }];
        fair(System::new(nodes, plan, Nobody), &Bounds::NONE.states(1_000))
    };
    let (outcome, states) = judged(u64::MAX);
    assert_eq!((outcome, states <= 4), (Outcome::Verified, true), "{states} up to a shift");
    let Outcome::Violated { violation, .. } = judged(5).0 else { panic!("it was not found") };
    assert_eq!(violation.property, "counters");
}

/// Objects to the third notice.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct AtMostTwo(u8);

impl Monitor for AtMostTwo {
    type Command = char;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        self.0 += 1;
        let violation = Violation { property: "two", what: "a third".to_owned() };
        if self.0 > 2 { Err(violation) } else { Ok(()) }
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

#[test]
fn a_violation_after_many_entries_is_told_in_the_numbers_that_the_run_has() {
    let plan = Plan::turns(&[FOREVER], &'a', &'r');
    let nodes = vec![Liar { count: 0, ends_at: u64::MAX }];
    let (outcome, _) = fair(System::new(nodes, plan, AtMostTwo(0)), &Bounds::NONE);
    let Outcome::Violated { run, .. } = outcome else { panic!("it was not found") };
    let moves: Vec<String> = run.moves.iter().map(ToString::to_string).collect();
    let delivered: Vec<&str> =
        moves.iter().filter_map(|it| it.strip_prefix("deliver 0->0 ")).collect();
    assert_eq!(delivered, ["NUMBER(0)", "NUMBER(1)", "NUMBER(2)"]);
}

#[test]
fn nearest_first_starves_who_is_far_and_in_turn_nobody() {
    // Nodes 0 and 1 are neighbours and enter again and again; node 3 wants in once.
    let entries = [FOREVER, FOREVER, 0, 1];
    let judged = |arbitration| {
        let mut setup = CARD.setup(group(&entries));
        setup.set(Parameter::Arbitration, arbitration).unwrap();
        let system =
            mutex(&entries, Order::Fifo, Exclusion::default(), |id| Singhal::of(id, &setup));
        // Requests to node 3 may pile up without end.
        fair(system, &Bounds::NONE.depth(24)).0
    };
    let Outcome::Violated { violation, run } = judged("nearest") else {
        panic!("nearest first starves somebody")
    };
    assert_eq!(violation.property, "no starvation");
    assert!(violation.what.starts_with("node 3 waits for ever"), "{violation}");
    assert!(run.repeats_from.is_some());
    assert_eq!(judged("round-robin"), Outcome::Bounded { by: Bound::Depth });
}
