//! What may go wrong: for every kind of fault something that it brings about, and something that
//! it does not.

use crate::support;

use std::num::NonZeroUsize;
use std::time::Duration;

use support::toy::{All, Arm, Do, Hears, Keep, Say, Send, Toy, Write, each, to_one, toys};
use support::{explore_all, verified};
use vorrang_check::{Ask, Bounds, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::NodeId;

const NONE: Faults = Faults::NONE;
const CRASH: Faults = NONE.crashes(1);
const CRASH_AND_RESTART: Faults = CRASH.restarts(1);
const LOSS: Faults = NONE.losses(1);
const DUPLICATE: Faults = NONE.duplicates(1);

/// The moves to where the monitor objects.
fn objection(plan: &Plan<Do>, monitor: Hears, faults: Faults, order: Order) -> Option<Vec<String>> {
    let system = System { faults, ..toys(plan.clone(), monitor, order) };
    match explore_all(&system).outcome {
        Outcome::Violated { run, .. } => Some(run.moves.iter().map(ToString::to_string).collect()),
        Outcome::Verified => None,
        Outcome::Bounded { .. } => panic!("there were no bounds"),
    }
}

/// The moves to where a text is heard.
fn way_to(text: &'static str, plan: &Plan<Do>, faults: Faults) -> Option<Vec<String>> {
    // Texts end in something said: a monitor cannot object to a crash.
    objection(plan, Hears::never(text), faults, Order::Any)
}

fn can_hear(text: &'static str, plan: &Plan<Do>, faults: Faults) -> bool {
    way_to(text, plan, faults).is_some()
}

/// The moves to where nothing is bound to happen after this text.
fn way_to_rest(text: &'static str, plan: &Plan<Do>, faults: Faults) -> Option<Vec<String>> {
    objection(plan, Hears::never_at_rest(text), faults, Order::Any)
}

/// The same, after a command.
fn way_to_end(text: &'static str, plan: &Plan<Do>, faults: Faults) -> Option<Vec<String>> {
    objection(plan, Hears::never_at_rest_after(1, text), faults, Order::Any)
}

#[test]
fn a_crash_comes_between_any_two_steps_and_ends_what_the_node_does() {
    let plan = each(&[Say('a'), Say('b')], &[Say('c')]);
    assert_eq!(way_to("Aa!0Cc", &plan, CRASH).unwrap(), ["do 0", "crash 0", "do 1"]);
    for text in ["!0Cc", "!1AaBb", "Aa!1Bb", "AaBb!0Cc"] {
        assert!(can_hear(text, &plan, CRASH), "{text}");
        assert!(!can_hear(text, &plan, NONE), "{text}");
    }
    assert!(!can_hear("Aa!0Bb", &plan, CRASH), "the dead do nothing");
    assert!(way_to_rest("!0!1", &plan, CRASH).is_none(), "one crash");
    assert!(way_to_rest("!0!1", &plan, NONE.crashes(2)).is_some());
}

#[test]
fn a_crash_takes_the_timers_of_the_node_along_and_no_others() {
    let plan = each(&[Arm('t', 1, 1)], &[]);
    let mut way = way_to("!1t", &plan, CRASH).unwrap();
    // The first two in either order: the runs are as short.
    way[..2].sort_unstable();
    assert_eq!(way, ["crash 1", "do 0", "timer 0 't'"]);
    assert!(!can_hear("!0t", &plan, CRASH));
    // Asked before it crashed, the list has nothing left for the time after.
    assert_eq!(way_to_end("!0?0", &plan, CRASH_AND_RESTART).unwrap().len(), 3);
    let written = each(&[All(vec![Write('w'), Arm('t', 1, 1)])], &[]);
    assert!(can_hear("!0?0w", &written, CRASH_AND_RESTART));
    assert!(!can_hear("!0?0wt", &written, CRASH_AND_RESTART), "armed in an earlier life");
}

#[test]
fn a_timer_no_longer_waits_for_one_that_a_crash_took_along() {
    let plan = each(&[All(vec![Arm('a', 5, 5), to_one(Arm('b', 10, 10))])], &[]);
    let can_hear = |text, faults| {
        let mut system = System { faults, ..toys(plan.clone(), Hears::never(text), Order::Any) };
        system.links.within = Some(Duration::from_millis(1));
        matches!(explore_all(&system).outcome, Outcome::Violated { .. })
    };
    assert!(!can_hear("b", NONE), "bound to be the later one");
    assert!(!can_hear("b", CRASH));
    assert!(can_hear("!0b", CRASH));
}

#[test]
fn what_is_on_its_way_to_the_dead_vanishes_if_they_cannot_come_back() {
    let plan = each(&[to_one(Say('a'))], &[]);
    assert!(can_hear("a", &plan, CRASH));
    assert!(!can_hear("!1a", &plan, CRASH));
    assert_eq!(way_to_end("!1", &plan, CRASH).unwrap().len(), 2, "there is nothing to deliver");
}

#[test]
fn what_is_on_its_way_to_the_dead_may_wait_for_them_or_be_lost_if_they_can_come_back() {
    let plan = each(&[to_one(Say('a'))], &[]);
    let way = way_to("!1?1a", &plan, CRASH_AND_RESTART).unwrap();
    assert_eq!(way.last().unwrap(), "deliver 0->1 do");
    assert_eq!(way.len(), 4);
    let way = way_to_end("!1?1", &plan, CRASH_AND_RESTART).unwrap();
    assert_eq!(way.len(), 4, "delivered to nobody, between crash and restart: {way:?}");
}

#[test]
fn with_the_last_restart_all_others_who_are_down_are_down_for_ever() {
    let plan = each(&[to_one(Say('a'))], &[]);
    let faults = NONE.crashes(2).restarts(1);
    let way = way_to_end("!1!0?0", &plan, faults).unwrap();
    assert_eq!(way.len(), 4, "the message to node 1 vanishes when node 0 comes up: {way:?}");
}

#[test]
fn only_what_was_written_down_survives_a_crash() {
    let plan = each(&[All(vec![Write('w'), Keep('k')])], &[]);
    assert_eq!(
        way_to("!0?0w", &plan, CRASH_AND_RESTART).unwrap(),
        ["do 0", "crash 0", "restart 0"]
    );
    assert!(!can_hear("!0?0k", &plan, CRASH_AND_RESTART));
    assert!(!can_hear("!0?0w", &plan, CRASH), "nobody comes up again");
}

#[test]
fn after_a_restart_the_list_goes_on_with_what_the_crash_did_not_interrupt() {
    let turn = [Ask::then_wait(Keep('x')), Ask::to_end(Say('b')), Ask::at_once(Say('c'))];
    let plan = Plan::PerNode(vec![turn.to_vec(), vec![]]);
    assert!(can_hear("!0?0Cc", &plan, CRASH_AND_RESTART));
    assert!(!can_hear("!0?0Bb", &plan, CRASH_AND_RESTART));
    assert!(!can_hear("Cc", &plan, CRASH_AND_RESTART), "without a crash it waits");
}

#[test]
fn so_many_messages_are_lost_and_no_more() {
    let twice = each(&[All(vec![to_one(Say('a')), to_one(Say('a'))])], &[]);
    assert_eq!(way_to_end("a", &twice, LOSS).unwrap().len(), 3);
    assert!(way_to_end("a", &twice, NONE).is_none());
    let never = |losses| way_to_end("", &twice, NONE.losses(losses));
    assert!(never(1).is_none());
    assert_eq!(never(2).unwrap(), ["do 0", "lose 0->1 do", "lose 0->1 do"]);
}

#[test]
fn so_many_messages_arrive_again_and_no_more() {
    let plan = each(&[to_one(Say('a'))], &[]);
    assert!(!can_hear("aa", &plan, NONE));
    assert_eq!(
        way_to("aa", &plan, DUPLICATE).unwrap(),
        ["do 0", "duplicate 0->1 do", "deliver 0->1 do"]
    );
    assert!(!can_hear("aaa", &plan, DUPLICATE));
    assert!(can_hear("aaa", &plan, NONE.duplicates(2)));
}

#[test]
fn on_a_fifo_link_loss_and_duplication_change_no_order() {
    let plan = each(&[All(vec![to_one(Say('a')), to_one(Say('b'))])], &[]);
    let can_hear = |text, faults, order| objection(&plan, Hears::never(text), faults, order);
    for (text, faults) in [("b", LOSS), ("aa", DUPLICATE), ("aab", DUPLICATE), ("abb", DUPLICATE)] {
        assert!(can_hear(text, faults, Order::Fifo).is_some(), "{text}");
    }
    for (text, faults) in [("ba", LOSS), ("ba", DUPLICATE), ("aba", DUPLICATE)] {
        assert!(can_hear(text, faults, Order::Fifo).is_none(), "{text}");
        assert!(can_hear(text, faults, Order::Any).is_some(), "{text}");
    }
}

#[test]
fn a_crash_takes_along_what_was_sent_only_where_it_severs() {
    let plan = each(&[All(vec![Say('z'), to_one(Say('a')), to_one(Say('b'))])], &[]);
    let severing = CRASH.severing(true);
    assert!(way_to_rest("z!0", &plan, CRASH).is_none());
    assert_eq!(way_to_rest("z!0", &plan, severing).unwrap().len(), 4, "at no cost in losses");
    assert!(can_hear("z!0b", &plan, severing), "or some of it, or nothing");
    assert!(way_to_rest("zab", &plan, severing).is_some());
    assert!(way_to_rest("za", &plan, severing).is_none(), "nobody who is up is cut off");
}

#[test]
fn what_a_crash_takes_along_from_a_queue_may_lie_behind_what_arrives_after_the_restart() {
    let plan =
        each(&[All(vec![Say('z'), to_one(Say('a')), to_one(Say('b')), to_one(Say('c'))])], &[]);
    let severing = CRASH_AND_RESTART.severing(true);
    for order in [Order::Any, Order::Fifo] {
        for text in ["z!0?0a", "z!0?0ab", "za!0?0b", "z!0?0"] {
            let way = objection(&plan, Hears::never_at_rest(text), severing, order);
            assert!(way.is_some(), "{order:?}: {text}");
            let way = objection(&plan, Hears::never_at_rest(text), CRASH_AND_RESTART, order);
            assert!(way.is_none(), "{order:?}: {text} without severing");
        }
        let way = objection(&plan, Hears::never("z!0?0ba"), severing, order);
        assert_eq!(way.is_some(), order == Order::Any, "the order is kept");
        // A connection that has lost a message delivers nothing that was sent after it.
        for (faults, text) in [(severing, "z!0?0ac"), (CRASH.severing(true), "z!0b")] {
            let way = objection(&plan, Hears::never(text), faults, order);
            assert_eq!(way.is_some(), order == Order::Any, "{text}: {way:?}");
        }
    }
}

#[test]
fn a_script_stands_still_while_the_node_to_be_commanded_is_down() {
    let script = Plan::Script(vec![(NodeId(0), Say('a')), (NodeId(1), Say('b'))]);
    assert!(can_hear("Aa!0Bb", &script, CRASH));
    assert!(!can_hear("!0Bb", &script, CRASH));
    assert!(way_to_rest("!0", &script, CRASH).is_some(), "that is the end");
    assert!(can_hear("!0?0AaBb", &script, CRASH_AND_RESTART));
}

#[test]
fn a_script_waits_for_timers_but_not_for_those_that_a_crash_took_along() {
    let script = Plan::Script(vec![(NodeId(0), Arm('t', 5, 5)), (NodeId(1), Say('b'))]);
    assert!(can_hear("tBb", &script, CRASH));
    assert!(!can_hear("Bb", &script, CRASH), "not before the timer");
    assert_eq!(way_to("!0Bb", &script, CRASH).unwrap(), ["do 0", "crash 0", "do 1"]);
}

#[test]
fn restarts_without_crashes_are_nothing() {
    let plan = each(&[to_one(Say('a'))], &[Say('b')]);
    let explored = |faults, depth| {
        let system = System { faults, ..toys(plan.clone(), Hears::default(), Order::Any) };
        explore(&system, &Bounds::default().depth(depth), NonZeroUsize::MIN, |_| {})
    };
    let idle = NONE.restarts(255).severing(true);
    assert_eq!(explored(idle, None), explored(NONE, None));
    let all = explored(NONE, None).depth;
    assert_eq!(explored(idle, Some(all)).outcome, Outcome::Verified, "nothing lies beyond");
}

#[test]
fn a_bound_on_the_depth_is_told_only_if_something_can_still_go_wrong() {
    let explored = |faults, depth| {
        let system = System {
            nodes: vec![Toy::default()],
            faults,
            ..toys(Plan::PerNode(vec![vec![]]), Hears::default(), Order::Any)
        };
        let bounds = Bounds::default().depth(depth);
        explore(&system, &bounds, NonZeroUsize::MIN, |_| {}).outcome == Outcome::Verified
    };
    assert!(!explored(CRASH, 0) && explored(CRASH, 1));
    assert!(!explored(CRASH_AND_RESTART, 1) && explored(CRASH_AND_RESTART, 2));
    let many = NONE.crashes(9).losses(9).duplicates(9);
    assert!(explored(many, 1), "whoever is down cannot crash, and there are no messages");
}

#[test]
fn the_largest_budgets_can_be_spent() {
    let system = |faults| System {
        nodes: vec![Toy::default()],
        faults,
        ..toys(Plan::PerNode(vec![vec![]]), Hears::default(), Order::Any)
    };
    let faults = NONE.crashes(255).restarts(255);
    assert_eq!(verified(&system(faults)), (511, 510, 510), "down and up again, 255 times");
    let own = Send(NodeId(0), Box::new(Keep('x')));
    let mut lossy = system(NONE.losses(255).duplicates(255));
    lossy.plan = Plan::PerNode(vec![vec![Ask::at_once(own)]]);
    // Before; sent and arrived 0 to 255 times; arrived for good 1 to 256 times, or lost after 0 to
    // 255 times.
    assert_eq!(verified(&lossy).0, 1 + 256 + 256 + 256);
}

/// The last of so many nodes says something.
fn crowd(nodes: usize, faults: Faults) -> Vec<String> {
    let mut lists = vec![Vec::new(); nodes];
    lists[nodes - 1].push(Ask::at_once(Send(NodeId(0), Box::new(Say('a')))));
    let system = System {
        nodes: vec![Toy::default(); nodes],
        faults,
        ..toys(Plan::PerNode(lists), Hears::never("a"), Order::Any)
    };
    let Outcome::Violated { run, .. } = explore_all(&system).outcome else { panic!("it does") };
    run.moves.iter().map(ToString::to_string).collect()
}

#[test]
fn without_crashes_there_may_be_any_number_of_nodes_and_with_them_64() {
    assert_eq!(crowd(70, NONE), ["do 69", "deliver 69->0 do"]);
    assert_eq!(crowd(70, LOSS), ["do 69", "deliver 69->0 do"]);
    assert_eq!(crowd(64, CRASH), ["do 63", "deliver 63->0 do"]);
}

#[test]
#[should_panic(expected = "a system in which nodes crash has at most 64 nodes, not 65")]
fn crashes_among_more_than_64_nodes_are_an_error() {
    crowd(65, CRASH);
}
