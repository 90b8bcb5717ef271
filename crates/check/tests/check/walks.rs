//! Random walks find what is wrong, and never say that nothing is.

use crate::support;

use std::time::Duration;

use support::toy::{Hears, Say, each, toys};
use support::{group, mutex, ricart_agrawala};
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::mutex::flaws::ricart_agrawala::RepliesCarryNoClock;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_check::{Bound, Bounds, Order, Outcome, Walks, walk};
use vorrang_protocol::{Guard, Situation};

const NONE: Bounds = Bounds::NONE;

#[test]
fn walks_through_a_correct_system_prove_nothing() {
    let system = ricart_agrawala(&[1, 1], Order::Any, Exclusion::default());
    let report = walk(&system, &Walks::new(1000, 100, 1), &NONE, |_| {});
    assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Walks });
    assert_eq!(report.states, 34, "all of them, though nobody knows");
    assert!(report.depth >= 8 && report.memory_bytes > 0);
}

#[test]
fn a_mistake_is_found_and_its_run_leads_there() {
    let entries = &[9, 9, 9];
    let group = group(entries);
    let flawed = |id| Flawed::new(RicartAgrawala::new(id, group), &RepliesCarryNoClock);
    let monitor = (Exclusion::default(), HappenedBefore::default());
    let system = mutex(entries, Order::Any, monitor, flawed);
    let walks = Walks::new(10_000, 200, 7);
    let report = walk(&system, &walks, &NONE, |_| {});
    let Outcome::Violated { violation, run } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(violation.property, "ordering");
    assert!(!run.moves.is_empty() && run.moves.len() <= 200);
    assert_eq!(report, walk(&system, &walks, &NONE, |_| {}), "the same seed, the same walks");
}

#[test]
fn an_end_that_may_not_be_is_found_and_one_beyond_the_depth_is_not() {
    let plan = each(&[Say('a'), Say('b')], &[]);
    let system = toys(plan, Hears::never_at_rest("AaBb"), Order::Any);
    let outcome = |depth| walk(&system, &Walks::new(5, depth, 1), &NONE, |_| {}).outcome;
    let Outcome::Violated { violation, run } = outcome(2) else { panic!() };
    assert_eq!((violation.property, run.moves.len()), ("silence", 2));
    assert_eq!(outcome(1), Outcome::Bounded { by: Bound::Walks });
}

#[test]
fn other_bounds_end_walks_too() {
    let system = ricart_agrawala(&[9, 9, 9], Order::Any, Exclusion::default());
    let walks = Walks::new(u64::MAX, u32::MAX, 1);
    let by = |bounds| match walk(&system, &walks, &bounds, |_| {}).outcome {
        Outcome::Bounded { by } => by,
        Outcome::Verified | Outcome::Violated { .. } => panic!(),
    };
    assert_eq!(by(NONE.states(1000)), Bound::States);
    assert_eq!(by(NONE.memory_bytes(100_000)), Bound::Memory);
    assert_eq!(by(NONE.time(Duration::from_millis(20))), Bound::Time);
}

#[test]
fn what_must_hold_at_every_moment_is_looked_at_on_the_way() {
    let mut system = ricart_agrawala(&[2, 2], Order::Any, Exclusion::default());
    let walks = Walks::new(100, 100, 1);
    let quiet = Guard::new("quiet", |at: &Situation<'_, RicartAgrawala>| {
        let count = at.messages().count();
        if count > 1 { Err(format!("{count} messages are under way")) } else { Ok(()) }
    });
    system.demands = system.demands.invariants([quiet]);
    let Outcome::Violated { violation, .. } = walk(&system, &walks, &NONE, |_| {}).outcome else {
        panic!("two may ask at once");
    };
    assert_eq!(violation.property, "quiet");
}
