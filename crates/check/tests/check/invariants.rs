//! Invariants over all nodes and all messages: they find a mistake when it is made.

use crate::support;

use support::explore_all;
use support::table::{Asks, Enter, Leave, Node, On, Poke, Rule, Say, Waits, orders, rule, turns};
use vorrang_check::{Faults, Outcome, System};
use vorrang_protocol::{Guard, Invariant, NodeId, Situation};

const ASK: On = On::Command(Asks);

/// A token goes round, as a message; in state 2 a node holds it.
fn ring() -> Vec<Rule> {
    let mut rules = vec![rule(0, 0, On::Start, 2, &[])];
    for at in 0..2 {
        rules.push(rule(at, 0, ASK, 1, &[Say(1 - at, '?')]));
        rules.push(rule(at, 2, ASK, 3, &[Enter]));
        rules.push(rule(at, 3, On::Command(Leave), 2, &[]));
        rules.push(rule(at, 1, On::Hear('t'), 3, &[Enter]));
        rules.push(rule(at, 2, On::Hear('?'), 0, &[Say(1 - at, 't')]));
    }
    rules
}

fn tokens(at: &Situation<'_, Node>) -> Result<(), String> {
    let held = at.up().filter(|(_, node)| node.state() >= 2).count();
    let under_way = at.messages().filter(|(.., word)| word.0 == 't').count();
    match held + under_way {
        0 | 1 => Ok(()),
        count => Err(format!("there are {count} tokens")),
    }
}

const ONE_TOKEN: Invariant<Node> = Invariant { name: "one token", holds: tokens };

fn guarded(mut system: System<Node, Waits>) -> System<Node, Waits> {
    system.demands.invariants = vec![(&ONE_TOKEN).into()];
    system
}

fn found(system: &System<Node, Waits>) -> Option<(String, String)> {
    match explore_all(system).outcome {
        Outcome::Verified => None,
        Outcome::Violated { violation, run } => Some((violation.to_string(), run.to_string())),
        Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
    }
}

#[test]
fn an_invariant_that_holds_changes_nothing() {
    let system = turns(&[1, 1], &ring());
    let plain = explore_all(&system);
    // Node 1 may ask while node 0 is inside, and is then forgotten: the ring is a simple one.
    let report = explore_all(&guarded(system));
    assert_eq!((plain.states, plain.steps), (report.states, report.steps));
    assert_eq!(plain.outcome, report.outcome);
}

#[test]
fn a_second_token_is_found_when_it_is_made_and_not_when_it_does_harm() {
    let mut rules = ring();
    rules.push(rule(0, 2, On::Command(Poke), 2, &[Say(1, 't')]));
    let system = orders(&[&[Poke], &[]], &rules);
    assert_eq!(found(&system), None, "nobody has asked, so the monitor has nothing to say");
    let expected = ("one token: there are 2 tokens".to_owned(), "poke 0\n".to_owned());
    assert_eq!(found(&guarded(system)), Some(expected));
}

#[test]
fn an_invariant_is_judged_before_the_first_step() {
    let mut rules = ring();
    rules.push(rule(1, 0, On::Start, 2, &[]));
    let expected = ("one token: there are 2 tokens".to_owned(), String::new());
    assert_eq!(found(&guarded(orders(&[&[], &[]], &rules))), Some(expected));
}

#[test]
fn what_is_down_is_known_to_be_down() {
    fn nobody_is_down(at: &Situation<'_, Node>) -> Result<(), String> {
        let down = [0, 1].map(NodeId).into_iter().find(|&it| at.is_down(it));
        down.map_or(Ok(()), |it| Err(format!("node {it} is down, of {} up", at.up().count())))
    }
    let mut system = orders(&[&[], &[]], &ring());
    system.demands.invariants = vec![(&ONE_TOKEN).into(), Guard::new("up", nobody_is_down)];
    assert_eq!(found(&system), None);
    system.faults = Faults::NONE.crashes(1);
    let (what, run) = found(&system).expect("a crash");
    assert!(what.starts_with("up: node ") && what.ends_with(" is down, of 1 up"), "{what}");
    assert!(run.starts_with("crash "), "{run}");
}
