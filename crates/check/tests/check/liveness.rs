//! What is owed comes, also where a system never rests: systems built to fool a search that is
//! blind to loops.

use crate::support;

use std::ops::ControlFlow;
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::table::{
    ASK, Arm, Asks, Enter, Leave, Node, On, Poke, Rule, Say, Waits, Wish, desk, orders, rule,
    turns, with_plan,
};
use support::{ONE, TWO, explore_all, ricart_agrawala};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_check::{
    Bound, Bounds, Faults, Liveness, Order, Outcome, Plan, Report, System, Walks, explore, walk,
};
use vorrang_protocol::{Monitor, NodeId, Obligation, Violation};

type Lock = System<Node, Waits>;

/// How a system is judged: what is violated, and the run.
fn found(system: &Lock) -> Option<(&'static str, String)> {
    let report = explore_all(system);
    assert_eq!(report, explore(system, &Bounds::default(), TWO, |_| {}));
    match report.outcome {
        Outcome::Verified => None,
        Outcome::Violated { violation, run } => {
            let moves = run.moves.len();
            assert!(run.repeats_from.is_none_or(|it| it < moves), "a loop is not empty");
            Some((violation.property, run.to_string()))
        }
        Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
    }
}

/// The same if runs must be fair to starve somebody.
fn found_fair(system: &Lock) -> Option<(&'static str, String)> {
    let mut system = system.clone();
    system.demands.liveness = Liveness::Fair;
    found(&system)
}

const REPEATS: &str = "# what follows repeats for ever\n";

fn progress(stem: &str, around: &str) -> (&'static str, String) {
    ("progress", format!("{stem}{REPEATS}{around}"))
}

/// A token goes round; whoever wants to enter does when it comes by.
fn ring(next: &[u32]) -> Vec<Rule> {
    let mut rules = vec![rule(0, 0, On::Start, 0, &[Say(next[0], 't')])];
    for (at, &next) in (0..).zip(next) {
        rules.push(rule(at, 0, ASK, 1, &[]));
        rules.push(rule(at, 0, On::Hear('t'), 0, &[Say(next, 't')]));
        rules.push(rule(at, 1, On::Hear('t'), 0, &[Enter, Say(next, 't')]));
    }
    rules
}

#[test]
fn a_token_that_goes_round_serves_everyone() {
    let system = turns(&[2, 1, 1], &ring(&[1, 2, 0]));
    assert_eq!(found(&system), None);
    assert_eq!(found_fair(&system), None);
}

#[test]
fn a_token_that_skips_a_node_leaves_it_waiting_for_ever() {
    let system = turns(&[1, 1, 1], &ring(&[1, 0, 0]));
    let expected = Some(progress("ask 2\n", "deliver 0->1 t\ndeliver 1->0 t\n"));
    assert_eq!(found(&system), expected);
    assert_eq!(found_fair(&system), expected);
    let Outcome::Violated { violation, run } = explore_all(&system).outcome else { panic!() };
    assert_eq!(
        violation.what,
        "after 1 step nothing that is bound to happen can ever give node 2 what it waits for; the \
         last 2 steps can repeat for ever"
    );
    assert_eq!(run.repeats_from, Some(1));
}

#[test]
fn a_monitor_that_only_objects_at_rest_is_heard_where_there_is_no_rest() {
    let mut system = turns(&[1, 1, 1], &ring(&[1, 0, 0]));
    system.monitor.is_silent = true;
    assert_eq!(found(&system), Some(progress("ask 2\n", "deliver 0->1 t\ndeliver 1->0 t\n")));
    let mut system = turns(&[2, 1, 1], &ring(&[1, 2, 0]));
    system.monitor.is_silent = true;
    assert_eq!(found(&system), None);
    assert_eq!(found_fair(&system), None);
}

/// A node whose heart beats whatever else it does, as long as it is in state 0.
fn heart(at: u32) -> [Rule; 2] {
    [rule(at, 0, On::Start, 0, &[Arm('b')]), rule(at, 0, On::Ring('b'), 0, &[Arm('b')])]
}

#[test]
fn a_heart_that_beats_beside_a_lock_does_no_harm() {
    let rules = [desk(), heart(1).to_vec()].concat();
    for order in [Order::Any, Order::Fifo] {
        let mut system = turns(&[2, 1], &rules);
        system.links.order = order;
        assert_eq!(found(&system), None);
        assert_eq!(found_fair(&system), None, "no message is ignored for ever");
    }
}

#[test]
fn after_a_crash_a_heart_that_beats_helps_nobody() {
    let rules = [desk(), heart(1).to_vec()].concat();
    let mut system = turns(&[0, 1], &rules);
    system.faults = Faults::NONE.crashes(1);
    let (property, run) = found(&system).expect("the desk is down");
    assert_eq!(property, "progress");
    assert!(run.contains("crash 0\n") && run.ends_with(&format!("{REPEATS}timer 1 'b'\n")));
    // To come up again is an accident too, and no help that can be relied on.
    system.faults.restarts = 1;
    assert_eq!(found(&system).unwrap().0, "progress");
}

#[test]
fn two_who_let_each_other_go_first_for_ever_are_found() {
    let polite = |at: u32| {
        [
            rule(at, 0, ASK, 1, &[Say(1 - at, 'a')]),
            rule(at, 0, On::Hear('a'), 0, &[Say(1 - at, 'y')]),
            rule(at, 1, On::Hear('y'), 0, &[Enter]),
            rule(at, 1, On::Hear('a'), 1, &[Say(1 - at, 'n')]),
            rule(at, 1, On::Hear('n'), 1, &[Say(1 - at, 'a')]),
        ]
    };
    let rules = [polite(0), polite(1)].concat();
    assert_eq!(found(&turns(&[1, 0], &rules)), None);
    let (property, run) = found(&turns(&[1, 1], &rules)).expect("each waits for the other");
    assert_eq!(property, "progress");
    assert!(run.starts_with("ask ") && run.contains(REPEATS), "{run}");
}

#[test]
fn a_message_sent_to_oneself_for_ever_is_a_loop_of_one_step() {
    let rules = [rule(0, 0, ASK, 1, &[Say(0, 's')]), rule(0, 1, On::Hear('s'), 1, &[Say(0, 's')])];
    assert_eq!(found(&turns(&[1], &rules)), Some(progress("ask 0\n", "deliver 0->0 s\n")));
}

#[test]
fn what_others_may_ask_for_later_is_no_help_where_there_is_no_rest() {
    let helped = [
        rule(0, 0, ASK, 1, &[]),
        rule(0, 1, On::Hear('!'), 0, &[Enter]),
        rule(1, 0, On::Command(Poke), 0, &[Say(0, '!')]),
    ];
    let rules = [&helped[..], &heart(1)].concat();
    let system = orders(&[&[Asks], &[Poke]], &rules);
    assert_eq!(found(&system), Some(progress("ask 0\n", "timer 1 'b'\n")));
}

/// Two ways on, each with a loop of its own, by what a coin says; `ends` says which of them end.
fn forked(ends: [bool; 2]) -> Vec<Rule> {
    let mut rules = vec![
        rule(0, 0, ASK, 1, &[Say(0, 'a')]),
        rule(0, 0, ASK, 2, &[Say(0, 'a')]),
        rule(0, 3, On::Hear('z'), 0, &[Enter]),
    ];
    for (state, ends) in [(1, ends[0]), (2, ends[1])] {
        rules.push(rule(0, state, On::Hear('a'), state, &[Say(0, 'b')]));
        rules.push(rule(0, state, On::Hear('b'), state, &[Say(0, 'a')]));
        if ends {
            rules.push(rule(0, state, On::Hear('b'), 3, &[Say(0, 'z')]));
        }
    }
    rules
}

#[test]
fn two_loops_with_an_end_in_common_end_if_the_coin_wills_it() {
    let system = turns(&[1], &forked([true, true]));
    assert_eq!(found(&system), None);
    let (property, run) = found_fair(&system).expect("the coin may always fall the same way");
    assert_eq!(property, "no starvation");
    assert!(run.contains(REPEATS), "{run}");
}

#[test]
fn a_debt_that_is_settled_in_one_loop_and_not_in_the_other_is_not_settled() {
    for (ends, choice) in [([true, false], 1), ([false, true], 0)] {
        let stem = format!("ask 0 choose {choice}\n");
        let expected = progress(&stem, "deliver 0->0 a\ndeliver 0->0 b\n");
        assert_eq!(found(&turns(&[1], &forked(ends))), Some(expected));
    }
}

#[test]
fn a_fair_loop_starves_and_one_that_ignores_a_message_does_not() {
    // Node 1 is in the mood every other beat; node 0 asks until it is.
    let rules = [
        rule(0, 0, ASK, 1, &[Say(1, '?')]),
        rule(0, 1, On::Hear('~'), 1, &[Say(1, '?')]),
        rule(0, 1, On::Hear('!'), 0, &[Enter]),
        rule(1, 0, On::Start, 0, &[Arm('b')]),
        rule(1, 0, On::Ring('b'), 1, &[Arm('b')]),
        rule(1, 1, On::Ring('b'), 0, &[Arm('b')]),
        rule(1, 0, On::Hear('?'), 0, &[Say(0, '~')]),
        rule(1, 1, On::Hear('?'), 1, &[Say(0, '!')]),
    ];
    for order in [Order::Any, Order::Fifo] {
        let mut system = turns(&[1, 0], &rules);
        system.links.order = order;
        assert_eq!(found(&system), None, "it can catch the mood");
        let (property, run) = found_fair(&system).expect("it can miss the mood for ever");
        assert_eq!(property, "no starvation");
        let (_, around) = run.split_once(REPEATS).expect("a loop");
        for step in ["deliver 0->1 ?", "deliver 1->0 ~", "timer 1 'b'"] {
            assert!(around.contains(step), "{step} is ignored for ever in\n{run}");
        }
    }
    // If it is always in the mood, only who ignores a message for ever keeps node 0 waiting.
    let mut patient = rules.to_vec();
    patient[6] = rule(1, 0, On::Hear('?'), 0, &[Say(0, '!')]);
    assert_eq!(found_fair(&turns(&[1, 0], &patient)), None);
}

#[test]
fn on_a_link_without_order_each_message_must_arrive_and_not_only_some() {
    // Beats and the question share a link: in a bag, beats may overtake it, but not for ever.
    let rules = [
        rule(0, 0, ASK, 1, &[Say(1, '?'), Arm('b')]),
        rule(0, 1, On::Ring('b'), 2, &[Say(1, 'b')]),
        rule(0, 2, On::Hear('b'), 1, &[Arm('b')]),
        rule(0, 1, On::Hear('!'), 3, &[Enter]),
        rule(0, 2, On::Hear('!'), 3, &[Enter]),
        rule(1, 0, On::Hear('b'), 0, &[Say(0, 'b')]),
        rule(1, 0, On::Hear('?'), 0, &[Say(0, '!')]),
    ];
    for order in [Order::Any, Order::Fifo] {
        let mut system = turns(&[1, 0], &rules);
        system.links.order = order;
        assert_eq!(found_fair(&system), None);
    }
}

#[test]
fn a_timer_that_is_set_again_need_not_run_out() {
    // Every beat of node 1 sets back the clock that would give up and let node 0 enter.
    let rules = [
        rule(0, 0, ASK, 1, &[Arm('w'), Say(1, 'p')]),
        rule(0, 1, On::Hear('p'), 1, &[Arm('w'), Say(1, 'p')]),
        rule(0, 1, On::Ring('w'), 0, &[Enter]),
        rule(1, 0, On::Hear('p'), 0, &[Say(0, 'p')]),
    ];
    let system = turns(&[1, 0], &rules);
    assert_eq!(found(&system), None);
    assert_eq!(found_fair(&system).unwrap().0, "no starvation");
    let mut left_alone = rules.to_vec();
    left_alone[1] = rule(0, 1, On::Hear('p'), 1, &[Say(1, 'p')]);
    assert_eq!(found_fair(&turns(&[1, 0], &left_alone)), None, "then it must");
}

#[test]
fn whoever_is_inside_leaves_also_where_there_is_no_rest() {
    let rules = [desk(), heart(1).to_vec()].concat();
    let mut system = turns(&[1, 1], &rules);
    system.plan = Plan::turns_with([(1, Asks), (1, Asks)], &Leave, &[NodeId(1)]);
    let (property, run) = found(&system).expect("node 1 stays inside for ever");
    assert_eq!(property, "progress");
    assert!(run.ends_with(&format!("{REPEATS}timer 1 'b'\n")), "{run}");
}

#[test]
fn a_script_that_waits_for_rest_in_vain_is_told() {
    let script = Plan::Script(vec![(NodeId(0), Asks), (NodeId(0), Leave)]);
    let rules = [desk(), heart(1).to_vec()].concat();
    let (property, run) = found(&with_plan(2, script.clone(), &rules)).expect("it never starts");
    assert_eq!((property, run.as_str()), ("script", &*format!("{REPEATS}timer 1 'b'\n")));
    assert_eq!(found(&with_plan(2, script, &desk())), None);
}

#[test]
fn a_script_in_lulls_goes_on_where_a_timer_is_always_armed() {
    let steps = vec![(NodeId(0), Asks), (NodeId(0), Leave)];
    let rules = [desk(), heart(1).to_vec()].concat();
    assert_eq!(found(&with_plan(2, Plan::InLulls(steps.clone()), &rules)), None);
    let stays = vec![(NodeId(0), Asks), (NodeId(1), Asks)];
    let (property, run) = found(&with_plan(2, Plan::InLulls(stays), &rules)).expect("0 stays");
    assert_eq!(property, "progress");
    assert!(run.ends_with(&format!("{REPEATS}timer 1 'b'\n")), "{run}");
}

fn bounded(system: &Lock, bounds: Bounds) -> Report<Node> {
    explore(system, &bounds, ONE, |_| {})
}

#[test]
fn what_lies_beyond_a_bound_may_settle_everything() {
    let system = turns(&[2, 1, 1], &ring(&[1, 2, 0]));
    let depth = explore_all(&system).depth;
    for depth in 0..depth {
        let report = bounded(&system, Bounds::default().depth(depth));
        assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Depth }, "{depth}");
    }
    for states in [1, 5, 20] {
        let report = bounded(&system, Bounds::default().states(states));
        assert_eq!(report.outcome, Outcome::Bounded { by: Bound::States }, "{states}");
    }
    let unfair = turns(&[1, 1, 1], &ring(&[1, 0, 0]));
    let report = bounded(&unfair, Bounds::default().depth(1));
    assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Depth });
    let is_found = (1..20).any(|depth| {
        let report = bounded(&unfair, Bounds::default().depth(depth));
        matches!(report.outcome, Outcome::Violated { .. })
    });
    assert!(is_found);
}

#[test]
fn the_graph_counts_as_memory() {
    let system = turns(&[3, 3, 3], &ring(&[1, 2, 0]));
    let memory = |bytes| {
        let bounds = Bounds::default().memory_bytes(bytes);
        bounded(&system, bounds).outcome
    };
    let mut bytes = 10_000;
    let mut seen = Vec::new();
    // Each bound is tried once: other tests of this program change the memory of the process.
    loop {
        let outcome = memory(bytes);
        if outcome == Outcome::Verified {
            break;
        }
        assert_eq!(outcome, Outcome::Bounded { by: Bound::Memory });
        seen.push(bytes);
        bytes += bytes / 8;
    }
    assert!(seen.len() > 2);
}

#[test]
fn the_second_pass_tells_of_its_progress_and_can_be_ended() {
    let system = turns(&[24, 24, 24], &ring(&[1, 2, 0]));
    let (mut depth, mut states) = (0, 0);
    let report = explore(&system, &Bounds::NONE, ONE, |progress| {
        // Then all states are known, and the levels begin anew.
        let is_second = progress.depth < depth;
        (depth, states) = (depth.max(progress.depth), progress.states);
        if is_second { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Interruption });
    assert_eq!(report.states, states);
    assert!(report.has_unjudged_loops);

    let (mut depth, start, time) = (0, Instant::now(), Duration::from_secs(2));
    let report = explore(&system, &Bounds::NONE.time(time), ONE, |progress| {
        if progress.depth < depth {
            sleep(time.saturating_sub(start.elapsed()));
        }
        depth = depth.max(progress.depth);
    });
    assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Time });
    assert!(report.has_unjudged_loops);
}

#[test]
fn loops_that_a_bound_left_unjudged_are_told() {
    let system = turns(&[24, 24, 24], &ring(&[1, 2, 0]));
    let ended = |bounds| explore(&system, &bounds, ONE, |_| {});
    // Within these bounds levels are complete, and loops are judged.
    for bounds in [Bounds::NONE, Bounds::NONE.depth(30), Bounds::NONE.states(500)] {
        assert!(!ended(bounds).has_unjudged_loops, "{bounds:?}");
    }
    let stopped = explore(&system, &Bounds::NONE, ONE, |it| {
        if it.depth > 30 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(stopped.outcome, Outcome::Bounded { by: Bound::Interruption });
    assert!(stopped.has_unjudged_loops, "the first pass saw loops and no second was made");
    let walked = walk(&system, &Walks::new(3, 20, 1), &Bounds::NONE, |_| {});
    assert!(walked.has_unjudged_loops, "walks never look for loops");
    // Where no step closes a loop there is nothing to judge.
    let system = ricart_agrawala(&[9, 9, 9], Order::Any, Exclusion::default());
    let report = explore(&system, &Bounds::NONE.time(Duration::from_millis(20)), ONE, |_| {});
    assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Time });
    assert!(!report.has_unjudged_loops);
}

/// Owes what `Waits` owes, and objects at rest, by another name, as long as anybody has poked and
/// not entered; but first to those who wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Poked(Waits, bool);

impl Monitor for Poked {
    type Command = Wish;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, at: NodeId, wish: &Wish) -> Result<(), Violation> {
        self.1 |= *wish == Poke;
        self.0.on_command(at, wish)
    }
    fn on_notice(&mut self, at: NodeId, notice: &char) -> Result<(), Violation> {
        // Entered, it waits again at once if it is node 1: it is always owed something.
        self.0.on_notice(at, notice)?;
        if at == NodeId(1) { self.0.on_command(NodeId(0), &Asks) } else { Ok(()) }
    }
    fn at_rest(&self) -> Result<(), Violation> {
        self.0.at_rest()?;
        let poked = Violation { property: "poked", what: "somebody has poked".to_owned() };
        if self.1 { Err(poked) } else { Ok(()) }
    }
    fn obligations(&self) -> Vec<Obligation> {
        self.0.obligations()
    }
}

#[test]
fn an_objection_that_debts_hide_in_the_loop_itself_is_found() {
    // After the poke, notices at 0 and 1 alternate for ever: 0 is owed something every other step.
    let rules = [
        rule(1, 0, On::Command(Poke), 0, &[Say(1, 'x')]),
        rule(1, 0, On::Hear('x'), 0, &[Enter, Say(0, 'x')]),
        rule(0, 0, On::Hear('x'), 0, &[Enter, Say(1, 'x')]),
    ];
    let Lock { nodes, plan, links, faults, demands, .. } = orders(&[&[], &[Poke]], &rules);
    let system = System { nodes, plan, links, faults, demands, monitor: Poked::default() };
    let Outcome::Violated { violation, run } = explore_all(&system).outcome else {
        panic!("what was poked stays poked");
    };
    assert_eq!((violation.property, run.moves.len()), ("poked", 4), "{violation}\n{run}");
}
