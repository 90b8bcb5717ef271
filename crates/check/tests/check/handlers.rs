//! Handlers that do something else when they are called once more, however late; and handlers that
//! ask for more than can be answered.

use crate::support;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use support::{ONE, TWO};
use vorrang_check::{Ask, Bound, Bounds, Outcome, Plan, Report, System, explore};
use vorrang_protocol::{Effects, Message, Monitor, Never, NodeId, Protocol, Refused, Violation};

/// What nobody sends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

impl Message for Nothing {
    const KINDS: &'static [&'static str] = &["NOTHING"];
    fn kind(&self) -> usize {
        0
    }
}

/// Objects to nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Content;

impl Monitor for Content {
    type Command = ();
    type Notice = ();
    type Tag = ();
    fn on_command(&mut self, _: NodeId, (): &()) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, (): &()) -> Result<(), Violation> {
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

/// Counts its commands, from its so manieth call on by two.
#[derive(Clone, Debug)]
struct Turncoat {
    number: u32,
    turns_at: u32,
    /// Hidden from all states.
    calls: Arc<AtomicU32>,
}

impl PartialEq for Turncoat {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Turncoat {}

impl Hash for Turncoat {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.number.hash(hasher);
    }
}

impl Protocol for Turncoat {
    type Message = Nothing;
    type Timer = Never;
    type Command = ();
    type Notice = ();

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) -> Result<(), Refused> {
        let has_turned = self.calls.fetch_add(1, Ordering::Relaxed) >= self.turns_at;
        self.number += 1 + u32::from(has_turned);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, _: Nothing, _: &mut impl Effects<Self>) {}
}

const COMMANDS: u32 = 50;

fn explored(turns_at: u32, bounds: &Bounds) -> (Report<Turncoat>, u32) {
    let calls = Arc::new(AtomicU32::new(0));
    let node = Turncoat { number: 0, turns_at, calls: Arc::clone(&calls) };
    let plan = Plan::PerNode(vec![vec![Ask::at_once(()); COMMANDS as usize]]);
    let report = explore(&System::new(vec![node], plan, Content), bounds, TWO, |_| {});
    (report, calls.load(Ordering::Relaxed))
}

#[test]
fn a_handler_that_turns_at_any_call_of_the_search_is_found_out() {
    // Of every command it is told twice, and twice again when all states are known.
    let (report, calls) = explored(u32::MAX, &Bounds::NONE);
    assert_eq!((report.outcome, calls), (Outcome::Verified, 4 * COMMANDS));
    assert_eq!(explored(0, &Bounds::NONE).0.outcome, Outcome::Verified, "it has always been so");
    for turns_at in 1..calls {
        let (report, _) = explored(turns_at, &Bounds::NONE);
        let Outcome::Violated { violation, run } = report.outcome else {
            panic!("turned at call {turns_at} and not found out");
        };
        assert_eq!(violation.property, "determinism", "{turns_at}");
        assert!(!run.moves.is_empty(), "{turns_at}");
    }
}

#[test]
fn a_search_that_ends_early_asks_nobody_again() {
    let (report, calls) = explored(20, &Bounds::NONE.depth(10));
    assert_eq!((report.outcome, calls), (Outcome::Bounded { by: Bound::Depth }, 20));
}

/// Wants one of four thousand million, when it starts or when it is told to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Greedy {
    at_start: bool,
    chosen: u32,
}

impl Greedy {
    fn choose(&mut self, fx: &mut impl Effects<Self>) {
        self.chosen = fx.choose(NonZeroU32::MAX);
    }
}

impl Protocol for Greedy {
    type Message = Nothing;
    type Timer = Never;
    type Command = ();
    type Notice = ();

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.at_start {
            self.choose(fx);
        }
    }
    fn on_command(&mut self, (): (), fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.choose(fx);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, _: Nothing, _: &mut impl Effects<Self>) {}
}

#[test]
fn more_choices_than_memory_or_time_allow_end_in_that_bound() {
    let memory = (Bounds::NONE.memory_bytes(8 << 20), Bound::Memory);
    let time = (Bounds::NONE.time(Duration::from_millis(50)), Bound::Time);
    for (bounds, bound) in [memory, time] {
        for (at_start, threads) in [(false, ONE), (false, TWO), (true, ONE)] {
            let plan = Plan::PerNode(vec![vec![Ask::at_once(())]]);
            let system = System::new(vec![Greedy { at_start, chosen: 0 }], plan, Content);
            let report = explore(&system, &bounds, threads, |_| {});
            let by = Outcome::Bounded { by: bound };
            assert_eq!(report.outcome, by, "{at_start}, {threads}");
        }
    }
}
