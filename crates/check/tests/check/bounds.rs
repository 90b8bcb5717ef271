//! Bounds bound, whatever is explored, and say so.

use crate::support;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use support::toy::{All, Do, Hears, Keep, each, to_one, toys};
use support::{ONE, TWO, ricart_agrawala};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{Bound, Bounds, Order, Outcome, Plan, Report, explore};
use vorrang_protocol::Protocol;

const MIB: u64 = 1 << 20;

fn is_bounded<P: Protocol>(report: &Report<P>, by: Bound) -> bool {
    matches!(report.outcome, Outcome::Bounded { by: bound } if bound == by)
}

#[test]
fn a_bound_on_the_memory_ends_the_search_before_it_is_crossed() {
    let system = ricart_agrawala(&[2, 2, 2], Order::Any, Exclusion::default());
    for threads in [ONE, TWO] {
        let memory = |bytes| explore(&system, &Bounds::NONE.memory_bytes(bytes), threads, |_| {});
        for bytes in [60_000, MIB, 2 * MIB, 4 * MIB] {
            let report = memory(bytes);
            assert!(is_bounded(&report, Bound::Memory), "{bytes}, {threads}: {report:?}");
            assert!(report.states < 103_784);
        }
        assert_eq!(memory(8192 * MIB).outcome, Outcome::Verified);
    }
}

#[test]
fn turns_without_number_are_planned_in_little_memory() {
    let mut system = ricart_agrawala(&[1, 1, 1], Order::Any, Exclusion::default());
    system.plan =
        Plan::turns(&[u32::MAX; 3], &Command::Acquire(Claim::Exclusive), &Command::Release);
    let report = explore(&system, &Bounds::NONE.states(1000), ONE, |_| {});
    assert!(is_bounded(&report, Bound::States));
    assert!(report.memory_bytes < 1024 * MIB);
}

#[test]
fn what_nodes_and_messages_keep_on_the_heap_is_seen() {
    if !cfg!(target_os = "linux") {
        return;
    }
    // Every message says many letters, of which the search itself holds one number.
    let letters = |letter| All(vec![Keep(letter); 20_000]);
    let asks: Vec<Do> = ('a'..='p').map(|letter| to_one(letters(letter))).collect();
    let system = toys(each(&asks, &[]), Hears::default(), Order::Any);
    for threads in [ONE, TWO] {
        let report = explore(&system, &Bounds::NONE.memory_bytes(16 * MIB), threads, |_| {});
        assert!(is_bounded(&report, Bound::Memory), "{report:?}");
    }
}

#[test]
fn many_messages_in_flight_end_in_a_bound() {
    let many: Vec<Do> =
        (0..600_u32).map(|it| to_one(Keep(char::from_u32(0x4e00 + it).unwrap()))).collect();
    let system = toys(each(&[All(many)], &[]), Hears::default(), Order::Any);
    let report = explore(&system, &Bounds::NONE.memory_bytes(64 * MIB), TWO, |_| {});
    assert!(is_bounded(&report, Bound::Memory), "{report:?}");
    assert!(report.memory_bytes < 512 * MIB, "{} MiB", report.memory_bytes / MIB);
}

#[test]
fn a_bound_on_the_time_ends_the_search() {
    let system = ricart_agrawala(&[9, 9, 9], Order::Any, Exclusion::default());
    for threads in [ONE, TWO] {
        let start = Instant::now();
        let time = Duration::from_millis(50);
        let report = explore(&system, &Bounds::NONE.time(time), threads, |_| {});
        assert!(is_bounded(&report, Bound::Time));
        assert!(report.states > 1 && start.elapsed() >= time);
    }
    let small = ricart_agrawala(&[1, 1], Order::Any, Exclusion::default());
    let report = explore(&small, &Bounds::NONE.time(Duration::from_secs(3600)), ONE, |_| {});
    assert_eq!(report.outcome, Outcome::Verified);
}

#[test]
fn whoever_is_told_of_the_progress_may_end_the_search() {
    let system = ricart_agrawala(&[9, 9, 9], Order::Any, Exclusion::default());
    for threads in [ONE, TWO] {
        let mut told = 0;
        let report = explore(&system, &Bounds::NONE, threads, |progress| {
            told = progress.states;
            ControlFlow::Break(())
        });
        assert!(is_bounded(&report, Bound::Interruption));
        assert!(told > 0 && report.states >= told && report.steps > 0 && report.depth > 0);
    }
}

#[test]
fn a_report_tells_of_memory_and_of_the_odds() {
    let system = ricart_agrawala(&[2, 2, 2], Order::Any, Exclusion::default());
    let report = explore(&system, &Bounds::NONE, NonZeroUsize::MIN, |_| {});
    assert_eq!(report.states, 103_784);
    // The table alone takes 16 bytes a slot.
    assert!(report.bytes_per_state() > 16.0 && report.memory_bytes > 16 * report.states);
    let odds = report.odds();
    assert!((2.9e-10..3.0e-10).contains(&odds), "{odds}");
}

#[test]
fn one_state_collides_with_none() {
    let report =
        explore(&toys(each(&[], &[]), Hears::default(), Order::Any), &Bounds::NONE, ONE, |_| {});
    assert_eq!((report.states, report.odds().to_bits()), (1, 0));
}
