//! When a system is at rest, and so is judged: as soon as nothing is bound to happen any more.

use crate::support;

use support::explore_all;
use support::table::{
    ASK, Asks, Enter, Leave, Node, On, Poke, Say, Waits, Wish, desk, orders, rule, turns, with_plan,
};
use vorrang_check::{Ask, Demands, Faults, Outcome, Plan, System};
use vorrang_protocol::{Monitor, NodeId, Protocol};

fn violated<P, M>(system: &System<P, M>) -> Option<(&'static str, String)>
where
    P: Protocol<Command: std::fmt::Display>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    match explore_all(system).outcome {
        Outcome::Verified => None,
        Outcome::Violated { violation, run } => Some((violation.property, run.to_string())),
        Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
    }
}

#[test]
fn whoever_is_inside_is_bound_to_leave_and_whoever_waits_for_that_is_not_left_waiting() {
    assert_eq!(violated(&turns(&[1, 1], &desk())), None);
    assert_eq!(violated(&turns(&[2, 1], &desk())), None);
    let mut system = turns(&[1, 1], &desk());
    system.plan = Plan::turns_with([(1, Asks), (1, Asks)], &Leave, &[NodeId(1)]);
    let (property, _) = violated(&system).expect("node 1 stays inside");
    assert_eq!(property, "progress");
}

#[test]
fn to_be_served_only_if_somebody_asks_later_is_to_be_left_waiting() {
    // The key is handed on only when the next one asks.
    let rules = [
        rule(0, 0, ASK, 0, &[Say(1, '?')]),
        rule(0, 0, On::Hear('!'), 0, &[Enter]),
        rule(1, 0, On::Hear('?'), 1, &[]),
        rule(1, 1, ASK, 0, &[Say(0, '!'), Enter]),
        rule(1, 0, ASK, 0, &[Enter]),
    ];
    let found = violated(&turns(&[1, 1], &rules));
    assert_eq!(found, Some(("progress", "ask 0\ndeliver 0->1 ?\n".to_owned())));
    // The same if it is its own next command that helps.
    let rules = [rule(0, 0, ASK, 1, &[]), rule(0, 1, On::Command(Poke), 0, &[Enter])];
    let found = violated(&orders(&[&[Asks, Poke]], &rules));
    assert_eq!(found, Some(("progress", "ask 0\n".to_owned())));
}

#[test]
fn a_command_that_goes_on_with_what_was_begun_is_bound_to_come() {
    let rules = [rule(0, 0, ASK, 1, &[]), rule(0, 1, On::Command(Poke), 0, &[Enter])];
    let list = vec![Ask::at_once(Asks), Ask::to_end(Poke)];
    let system = with_plan(1, Plan::PerNode(vec![list]), &rules);
    assert_eq!(violated(&system), None);
    // Where nothing was begun, nothing goes on.
    let rules = [rule(0, 0, ASK, 0, &[]), rule(1, 0, On::Command(Poke), 0, &[Say(0, '!')])];
    let lists = vec![vec![Ask::at_once(Asks)], vec![Ask::to_end(Poke)]];
    let system = with_plan(2, Plan::PerNode(lists), &rules);
    assert_eq!(violated(&system), Some(("progress", "ask 0\n".to_owned())));
}

#[test]
fn the_commands_of_a_script_are_bound_to_come() {
    let script = vec![(NodeId(0), Asks), (NodeId(1), Asks), (NodeId(0), Leave), (NodeId(1), Leave)];
    assert_eq!(violated(&with_plan(2, Plan::Script(script.clone()), &desk())), None);
    let cut = script[..2].to_vec();
    let found = violated(&with_plan(2, Plan::Script(cut), &desk()));
    assert_eq!(found, Some(("progress", "ask 0\nask 1\ndeliver 1->0 ?\n".to_owned())));
}

#[test]
fn a_crash_while_others_could_still_ask_is_judged_too() {
    let system = System { faults: Faults::NONE.crashes(1), ..turns(&[1, 1], &desk()) };
    let (property, run) = violated(&system).expect("the desk is down");
    assert_eq!((property, run.as_str()), ("progress", "ask 1\ncrash 0\n"));
}

/// Node 0 lets node 1 in once and for all, and a crash makes that forget it.
fn let_in_once(again: Option<Wish>) -> System<Node, Waits> {
    let mut rules = vec![
        rule(0, 0, On::Start, 0, &[Say(1, '!')]),
        rule(1, 0, On::Hear('!'), 1, &[]),
        rule(1, 1, ASK, 1, &[Enter]),
        rule(1, 0, ASK, 2, &[]),
        rule(1, 2, On::Hear('!'), 1, &[Enter]),
    ];
    rules.extend(again.map(|wish| rule(0, 0, On::Command(wish), 0, &[Say(1, '!')])));
    let faults = Faults::NONE.crashes(1).restarts(1);
    System { faults, ..orders(&[&[], &[Asks, Asks]], &rules) }
}

fn beating(system: System<Node, Waits>) -> System<Node, Waits> {
    System { demands: Demands::default().beating(Poke), ..system }
}

#[test]
fn what_is_repeated_after_a_crash_is_bound_to_come() {
    let (property, run) = violated(&let_in_once(Some(Poke))).expect("nobody repeats it");
    let forgotten = "deliver 0->1 !\ncrash 1\nrestart 1\nask 1\n";
    assert_eq!((property, run.as_str()), ("progress", forgotten));
    assert_eq!(violated(&beating(let_in_once(Some(Poke)))), None);
    let found = violated(&beating(let_in_once(None)));
    let (property, run) = found.expect("nothing is repeated that would help");
    assert!(property == "progress" && run.ends_with("poke 0\n"), "{run}");
}

#[test]
fn nothing_is_repeated_before_anybody_has_come_back() {
    let only_crashes = |system: System<Node, Waits>| {
        let faults = Faults::NONE.crashes(1);
        explore_all(&System { faults, ..system }).states
    };
    let without = only_crashes(let_in_once(Some(Poke)));
    assert_eq!(only_crashes(beating(let_in_once(Some(Poke)))), without);
}

/// To be told it in the midst of something is more than node 1 stands.
#[test]
fn it_is_repeated_when_nothing_else_is_bound_to_happen() {
    let rules = [
        rule(0, 0, On::Hear('?'), 0, &[Say(1, '!')]),
        rule(1, 0, ASK, 1, &[Say(0, '?')]),
        rule(1, 1, On::Hear('!'), 2, &[Enter]),
        rule(1, 2, On::Command(Leave), 0, &[]),
        rule(1, 1, On::Command(Poke), 9, &[]),
        rule(1, 2, On::Command(Poke), 9, &[]),
    ];
    let faults = Faults::NONE.crashes(1).restarts(1).sparing([NodeId(0)]);
    let system = System { faults, ..turns(&[0, 3], &rules) };
    assert_eq!(violated(&beating(system)), None);
}
