//! The search that begins where a run led.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use vorrang_algorithms::election;
use vorrang_algorithms::election::bully::Bully;
use vorrang_algorithms::election::spec::{Leadership, Promise};
use vorrang_algorithms::mutex::lamport::Lamport;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{
    Ask, Bounds, Demands, Faults, Links, Order, Outcome, Plan, Prefix, Report, Stray, System,
    explore, explore_after,
};
use vorrang_protocol::{Group, Monitor, NodeId, Protocol};
use vorrang_trace::Stage;

fn after<P, M>(system: &System<P, M>, before: &Prefix<P>) -> Result<Report<P>, Stray>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let explored =
        explore_after(system, before, &Bounds::default(), NonZeroUsize::MIN, &mut |_| {});
    explored.map(|(report, early)| {
        assert_eq!(early, None);
        report
    })
}

/// The steps of a script, taken on a stage.
fn staged<P, M>(system: &System<P, M>, script: &str) -> Prefix<P>
where
    P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut stage = Stage::new(system.nodes.iter().cloned(), system.monitor.clone());
    stage.play(script).unwrap();
    stage.prefix().clone()
}

fn lamport() -> System<Lamport, Exclusion> {
    let group = Group::of(2);
    let (ask, leave) = (Command::Acquire(Claim::Exclusive), Command::Release);
    System {
        nodes: group.members().map(|id| Lamport::new(id, group)).collect(),
        plan: Plan::turns(&[1, 1], &ask, &leave),
        monitor: Exclusion::default(),
        links: Order::Any.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    }
}

#[test]
fn the_rest_of_a_shortest_run_is_a_shortest_rest() {
    let system = lamport();
    let whole = explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {});
    let Outcome::Violated { run, violation } = whole.outcome else { panic!("it breaks") };
    for taken in 0..run.moves.len() {
        let Outcome::Violated { run: rest, violation: same } =
            after(&system, &run.prefix(taken)).unwrap().outcome
        else {
            panic!("it still breaks")
        };
        assert_eq!(rest.moves[..], run.moves[taken..]);
        assert_eq!(same.property, violation.property);
    }
}

#[test]
fn a_step_that_cannot_be_taken_is_told_by_its_place() {
    let system = lamport();
    let mut before = staged(&system, "acquire 0");
    before.steps.push(before.steps[0].clone());
    let stray = after(&system, &before).unwrap_err();
    assert_eq!(stray, Stray::Step { place: 1 });
    assert_eq!(stray.to_string(), "step 2 of the run cannot be taken there");
}

#[test]
fn a_node_that_does_not_come_up_so_is_told() {
    let system = lamport();
    let starts = |starts: &[&[u32]]| {
        let starts = Some(starts.iter().map(|it| it.to_vec()).collect());
        after(&system, &Prefix { starts, ..Prefix::default() }).map(drop)
    };
    assert_eq!(starts(&[&[], &[]]), Ok(()));
    let stray = starts(&[&[], &[1]]).unwrap_err();
    assert_eq!(stray, Stray::Start { at: NodeId(1) });
    assert_eq!(stray.to_string(), "node 1 of the run cannot come up so");
}

#[test]
fn timers_keep_what_they_are_bound_by() {
    let group = Group::of(2);
    let within = Duration::from_millis(1);
    let system = System {
        nodes: group.members().map(|id| Bully::new(id, group, within)).collect(),
        plan: Plan::PerNode(vec![vec![Ask::then_wait(election::Command::Elect)], vec![]]),
        monitor: Leadership::new(group, Promise::Highest),
        links: Links::from(Order::Any).within(within),
        faults: Faults::NONE.crashes(1),
        demands: Demands::default(),
    };
    assert_eq!(after(&system, &staged(&system, "elect 0")).unwrap().outcome, Outcome::Verified);
    // The message to the dead node is not there any more, and need not arrive.
    let script = "elect 0\ncrash 1\ndeliver 0->1 ELECTION(0)\ntimer 0 Answer";
    assert_eq!(after(&system, &staged(&system, script)).unwrap().outcome, Outcome::Verified);
}

#[test]
fn a_timer_that_runs_out_too_soon_is_told_and_time_goes_on_from_there() {
    let group = Group::of(3);
    let within = Duration::from_millis(1);
    let elect = || vec![Ask::then_wait(election::Command::Elect)];
    let system = System {
        nodes: group.members().map(|id| Bully::new(id, group, within)).collect(),
        plan: Plan::PerNode(vec![elect(), vec![], vec![]]),
        monitor: Leadership::new(group, Promise::Highest),
        links: Links::from(Order::Any).within(within),
        faults: Faults::NONE.crashes(1),
        demands: Demands::default(),
    };
    let script = "elect 0\ndeliver 0->1 ELECTION(0)\ncrash 2\ntimer 1 Answer";
    let steps = staged(&system, script);
    let bounds = Bounds::default();
    let explored = explore_after(&system, &steps, &bounds, NonZeroUsize::MIN, &mut |_| {});
    let (report, early) = explored.unwrap();
    assert_eq!(early, Some(3), "the answer to node 0 is still under way");
    assert_eq!(report.outcome, Outcome::Verified);
}
