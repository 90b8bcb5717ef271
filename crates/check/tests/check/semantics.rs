//! What a step is, what a state is and when the search ends, on protocols as small as can be.

use crate::support;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use support::toy::{All, each, to_one, toys};
use support::toy::{Arm, Disarm, Do, Hears, Keep, Refuse, Say, Send, Toss};
use support::{ONE, TWO, explore_all, ricart_agrawala, verified};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{Ask, Bound, Bounds, Order, Outcome, Plan, Report, explore};
use vorrang_protocol::{Graph, Group, NodeId, Protocol};

/// The moves to where a text is heard.
fn way_to(text: &'static str, plan: &Plan<Do>, order: Order) -> Option<Vec<String>> {
    let report = explore_all(&toys(plan.clone(), Hears::never(text), order));
    match report.outcome {
        Outcome::Violated { run, .. } => Some(run.moves.iter().map(ToString::to_string).collect()),
        Outcome::Verified => None,
        Outcome::Bounded { .. } => panic!("there were no bounds"),
    }
}

fn can_hear(text: &'static str, plan: &Plan<Do>, order: Order) -> bool {
    way_to(text, plan, order).is_some()
}

#[test]
fn commands_of_different_nodes_come_in_every_order_and_those_of_one_in_its_own() {
    let plan = each(&[Say('a'), Say('b')], &[Say('c')]);
    for text in ["AaBbCc", "AaCcBb", "CcAaBb"] {
        assert!(can_hear(text, &plan, Order::Any), "{text}");
    }
    assert!(!can_hear("BbAa", &plan, Order::Any));
    assert!(!can_hear("aA", &plan, Order::Any), "a command is heard before what it does");
}

#[test]
fn messages_overtake_each_other_on_a_link_only_in_any_order() {
    let plan = each(&[All(vec![to_one(Say('a')), to_one(Say('b'))])], &[]);
    assert!(can_hear("ab", &plan, Order::Fifo));
    assert!(!can_hear("ba", &plan, Order::Fifo));
    assert!(can_hear("ab", &plan, Order::Any));
    assert!(can_hear("ba", &plan, Order::Any));
}

#[test]
fn equal_messages_in_a_bag_are_one_step_but_arrive_as_often_as_sent() {
    let twice = each(&[All(vec![to_one(Keep('x')), to_one(Keep('x'))])], &[]);
    for order in [Order::Any, Order::Fifo] {
        assert_eq!(verified(&toys(twice.clone(), Hears::default(), order)), (4, 3, 3));
    }
    let both = each(&[All(vec![to_one(Keep('x')), to_one(Keep('y'))])], &[]);
    // Start, sent, x or y kept, xy or yx kept.
    assert_eq!(verified(&toys(both.clone(), Hears::default(), Order::Any)), (6, 5, 3));
    assert_eq!(verified(&toys(both, Hears::default(), Order::Fifo)), (4, 3, 3));
}

#[test]
fn states_that_were_reached_in_two_ways_are_one() {
    let system = toys(each(&[Keep('a')], &[Keep('b')]), Hears::default(), Order::Any);
    assert_eq!(verified(&system), (4, 4, 2));
}

#[test]
fn every_answer_to_every_choice_is_tried_and_told() {
    let plan = each(&[Toss(NonZeroU32::new(3).unwrap())], &[]);
    // Start, and nine pairs.
    assert_eq!(verified(&toys(plan.clone(), Hears::default(), Order::Any)), (10, 9, 1));
    assert_eq!(way_to("21", &plan, Order::Any).unwrap(), ["do 0 choose 2 1"]);
    assert!(!can_hear("3", &plan, Order::Any));
}

#[test]
fn choices_at_the_start_make_several_initial_states() {
    let mut system = toys(each(&[], &[]), Hears::never_at_rest("1001"), Order::Any);
    for node in &mut system.nodes {
        node.on_start = Some(Toss(NonZeroU32::new(2).unwrap()));
    }
    let report = explore_all(&system);
    assert_eq!((report.states, report.steps, report.depth), (16, 0, 0));
    let Outcome::Violated { run, .. } = report.outcome else {
        panic!("one of them is at rest where it must not be");
    };
    let choices: Vec<_> = run.starts.iter().map(|start| start.choices.clone()).collect();
    assert_eq!((choices, run.moves.len()), (vec![vec![1, 0], vec![0, 1]], 0));
    assert_eq!(run.starts[0].effects.len(), 2);

    system.monitor = Hears::never("10");
    let report = explore_all(&system);
    assert!(matches!(report.outcome, Outcome::Violated { run, .. } if run.moves.is_empty()));
}

#[test]
fn timers_run_out_in_any_order_that_their_delays_allow() {
    let free = each(&[All(vec![Arm('a', 5, 20), Arm('b', 10, 10)])], &[]);
    assert_eq!(way_to("ba", &free, Order::Any).unwrap(), ["do 0", "timer 0 'b'", "timer 0 'a'"]);
    assert!(can_hear("ab", &free, Order::Any));
    let forced = each(&[All(vec![Arm('a', 5, 10), Arm('b', 10, 20)])], &[]);
    assert!(can_hear("ab", &forced, Order::Any));
    assert!(!can_hear("b", &forced, Order::Any));
    let again = each(&[All(vec![Arm('a', 5, 10), Arm('b', 10, 10), Arm('a', 10, 20)])], &[]);
    assert!(!can_hear("a", &again, Order::Any), "set again, it is the later one");
    let gone = each(&[All(vec![Arm('a', 5, 10), Arm('b', 10, 20), Disarm('a')])], &[]);
    assert!(can_hear("b", &gone, Order::Any));
    assert!(!can_hear("ba", &gone, Order::Any));
}

#[test]
fn timers_of_different_nodes_are_in_order_only_on_timely_links_and_only_if_that_is_forced() {
    let hears = |text, (a, b), within| {
        let mut system = toys(
            each(&[All(vec![Arm('a', a, a), to_one(Arm('b', b, b))])], &[]),
            Hears::never(text),
            Order::Any,
        );
        system.links.within = within;
        !matches!(explore_all(&system).outcome, Outcome::Verified)
    };
    let timely = Some(Duration::from_millis(1));
    assert!(hears("ab", (10, 20), timely) && !hears("b", (10, 20), timely));
    assert!(hears("ba", (10, 20), None), "clocks run at any speed");
    assert!(hears("ab", (10, 10), timely) && hears("ba", (10, 10), timely), "the same instant");
    assert!(hears("ba", (10, 9), timely), "the message may take half as long");
}

#[test]
fn equal_timers_set_at_the_start_run_out_in_every_order() {
    for within in [None, Some(Duration::from_millis(1))] {
        for text in ["ab", "ba"] {
            let mut system = toys(each(&[], &[]), Hears::never(text), Order::Any);
            system.links.within = within;
            for (node, timer) in system.nodes.iter_mut().zip(['a', 'b']) {
                node.on_start = Some(Arm(timer, 10, 10));
            }
            let outcome = explore_all(&system).outcome;
            assert!(matches!(outcome, Outcome::Violated { .. }), "{text} {within:?}");
        }
    }
}

#[test]
fn timers_set_in_another_order_are_another_state_only_if_that_forces_something() {
    let states = |b, within| {
        let timers = each(&[Arm('a', 10, 10)], &[Arm('b', b, b)]);
        let mut system = toys(timers, Hears::never("x"), Order::Any);
        system.links.within = within;
        verified(&system).0
    };
    let timely = Some(Duration::from_millis(1));
    // None, a, b, both; then what was said: which of the two is armed still makes the difference.
    let free = 4 + 2 + 2 + 2;
    assert_eq!(states(20, None), free, "no common clock");
    assert_eq!(states(10, timely), free, "perhaps set at one instant");
    assert_eq!(states(20, timely), free + 1, "a and then b, or b and nobody knows when a");
}

#[test]
fn a_list_waits_for_its_notice_and_a_node_left_waiting_is_at_rest() {
    let wait = |first: Do| {
        let list = vec![Ask::then_wait(first), Ask::at_once(Say('b'))];
        Plan::PerNode(vec![list, vec![]])
    };
    assert!(can_hear("aBb", &wait(Send(NodeId(0), Box::new(Say('a')))), Order::Any));
    assert!(!can_hear("Bb", &wait(Send(NodeId(0), Box::new(Say('a')))), Order::Any));
    let silent = toys(wait(Keep('x')), Hears::never_at_rest_after(1, ""), Order::Any);
    let Outcome::Violated { run, .. } = explore_all(&silent).outcome else {
        panic!("at rest with a plan unfinished");
    };
    assert_eq!(run.to_string(), "do 0\n");
}

#[test]
fn a_script_goes_on_only_when_all_is_quiet() {
    let script = Plan::Script(vec![
        (NodeId(0), to_one(Say('a'))),
        (NodeId(1), Arm('t', 1, 1)),
        (NodeId(0), Say('b')),
    ]);
    assert_eq!(verified(&toys(script.clone(), Hears::default(), Order::Any)), (6, 5, 5));
    assert!(can_hear("atBb", &script, Order::Any));
}

#[test]
fn a_refused_command_is_a_violation_of_the_plans_making() {
    let report = explore_all(&toys(each(&[], &[Keep('x'), Refuse]), Hears::default(), Order::Any));
    let Outcome::Violated { violation, run } = report.outcome else {
        panic!("refused");
    };
    assert_eq!(violation.property, "refused");
    assert_eq!(violation.what, "node 1 refused a command of the plan: not in the mood");
    assert_eq!(run.moves.len(), 2);
    assert_eq!(run.moves[1].effects, []);
    assert_eq!((report.states, report.steps), (2, 2));
}

#[test]
fn a_release_too_many_is_refused() {
    let mut system = ricart_agrawala(&[1, 1], Order::Any, Exclusion::default());
    system.plan = Plan::PerNode(vec![
        vec![Ask::at_once(Command::Acquire(Claim::Exclusive)), Ask::at_once(Command::Release)],
        vec![],
    ]);
    let report = explore_all(&system);
    assert!(matches!(report.outcome, Outcome::Violated { violation, run }
        if violation.property == "refused" && run.to_string() == "acquire 0\nrelease 0\n"));
}

fn bounded(bounds: Bounds) -> Report<impl Protocol> {
    let system = ricart_agrawala(&[1, 1, 1], Order::Any, Exclusion::default());
    let one = explore(&system, &bounds, ONE, |_| {});
    if bounds.memory_bytes.is_none() {
        assert_eq!(one, explore(&system, &bounds, TWO, |_| {}));
    }
    one
}

#[test]
fn a_bound_on_the_depth_is_told_unless_nothing_lies_beyond_it() {
    let depth = |depth| {
        let report = bounded(Bounds::default().depth(depth));
        (matches!(report.outcome, Outcome::Bounded { by: Bound::Depth }), report.depth)
    };
    assert_eq!(depth(0), (true, 0));
    assert_eq!(depth(17), (true, 17));
    assert_eq!(depth(18), (false, 18), "all runs end there");
    assert_eq!(depth(19), (false, 18));
}

#[test]
fn a_bound_on_the_states_ends_the_search_after_the_level_that_crosses_it() {
    let states = |states| bounded(Bounds::default().states(states));
    let report = states(1_000);
    assert!(matches!(report.outcome, Outcome::Bounded { by: Bound::States }));
    assert!((1_001..4_516).contains(&report.states), "{}", report.states);
    assert!(matches!(states(4_516).outcome, Outcome::Verified));
}

#[test]
fn a_violation_within_the_bounds_is_found_and_one_beyond_is_not() {
    let plan = each(&[Keep('x'), Say('a')], &[]);
    let depth = |depth| {
        let bounds = Bounds::default().depth(depth);
        let system = toys(plan.clone(), Hears::never("Aa"), Order::Any);
        explore(&system, &bounds, ONE, |_| {}).outcome
    };
    assert!(matches!(depth(1), Outcome::Bounded { by: Bound::Depth }));
    assert!(matches!(depth(2), Outcome::Violated { .. }));
}

#[test]
fn progress_is_told_and_never_runs_backwards() {
    let system = ricart_agrawala(&[3, 3, 3], Order::Any, Exclusion::default());
    let mut told = Vec::new();
    let report = explore(&system, &Bounds::default(), ONE, |progress| {
        told.push(progress);
    });
    assert!(told.is_sorted_by_key(|it| (it.states, it.steps, it.depth)));
    for progress in told {
        assert!(progress.states <= report.states && progress.steps <= report.steps);
        // Nothing is left to follow when handlers are asked once more, at the end.
        assert!(progress.memory_bytes > 0 && progress.frontier <= report.states);
    }
}

#[test]
fn a_message_to_nobody_is_a_violation() {
    let plan = each(&[Keep('x'), Send(NodeId(7), Box::new(Say('a')))], &[Say('b')]);
    let report = explore_all(&toys(plan, Hears::default(), Order::Any));
    let Outcome::Violated { violation, run } = report.outcome else { panic!() };
    assert_eq!(violation.property, "stray message");
    assert_eq!(violation.what, "node 0 sent do to node 7, which is not there");
    assert_eq!(run.moves.len(), 2);
}

#[test]
fn a_message_where_there_is_no_link_is_a_violation() {
    let on = |links: &[(u32, u32)]| {
        let mut system = ricart_agrawala(&[1, 0, 0], Order::Any, Exclusion::default());
        let links = links.iter().map(|&(one, other)| (NodeId(one), NodeId(other)));
        system.demands.graph = Some(Arc::new(Graph::new(Group::of(3), links)));
        explore_all(&system).outcome
    };
    assert!(matches!(on(&[(0, 1), (0, 2)]), Outcome::Verified), "only node 0 asks");
    let Outcome::Violated { violation, run } = on(&[(0, 1), (1, 2)]) else { panic!() };
    assert_eq!(violation.property, "stray message");
    assert_eq!(violation.what, "node 0 sent REQUEST(1) to node 2, to which it has no link");
    assert_eq!(run.moves.len(), 1);
}
