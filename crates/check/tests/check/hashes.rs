//! A `Hash` that leaves something out is legal Rust, and must not change what the checker says.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_check::{Ask, Bounds, Demands, Faults, Order, Outcome, Plan, Report, System, explore};
use vorrang_protocol::{Delay, Effects, Message, Monitor, NodeId, Protocol, Refused, Violation};

/// A value that is hashed as what it is, or else all alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Hashed<T, const FULL: bool>(T);

impl<T: Hash, const FULL: bool> Hash for Hashed<T, FULL> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if FULL {
            self.0.hash(hasher);
        }
    }
}

impl<const FULL: bool> fmt::Display for Hashed<u32, FULL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NUMBER({})", self.0)
    }
}

impl<const FULL: bool> Message for Hashed<u32, FULL> {
    const KINDS: &'static [&'static str] = &["NUMBER"];
    fn kind(&self) -> usize {
        0
    }
}

/// Adds up the numbers that it is told, passes each on, and sets a timer by it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Adder<const FULL: bool>(Hashed<u32, FULL>);

impl<const FULL: bool> Protocol for Adder<FULL> {
    type Message = Hashed<u32, FULL>;
    type Timer = Hashed<u32, FULL>;
    type Command = Hashed<u32, FULL>;
    type Notice = u32;

    fn on_command(
        &mut self,
        number: Hashed<u32, FULL>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.0.0 += number.0;
        fx.send(NodeId(0), number);
        fx.send(NodeId(1), Hashed(number.0 + 10));
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, number: Hashed<u32, FULL>, fx: &mut impl Effects<Self>) {
        self.0.0 += 2 * number.0;
        let second = Duration::from_secs(1);
        fx.set_timer(Hashed(number.0 % 4), Delay::between(second, 9 * second));
        fx.cancel_timer(Hashed(number.0 % 4 + 1));
    }
    fn on_timer(&mut self, timer: Hashed<u32, FULL>, fx: &mut impl Effects<Self>) {
        fx.notify(self.0.0 + timer.0);
    }
}

/// Remembers the largest number and the sum, and objects to a sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sum<const FULL: bool> {
    seen: Hashed<(u32, u32), FULL>,
    never: u32,
}

impl<const FULL: bool> Monitor for Sum<FULL> {
    type Command = Hashed<u32, FULL>;
    type Notice = u32;
    type Tag = Hashed<u32, FULL>;
    fn on_command(&mut self, _: NodeId, _: &Hashed<u32, FULL>) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &u32) -> Result<(), Violation> {
        let (most, sum) = self.seen.0;
        self.seen.0 = (most.max(*notice), sum + notice);
        if sum + notice == self.never {
            return Err(Violation { property: "sum", what: format!("{notice} at {at}") });
        }
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
    fn on_send(&self, at: NodeId) -> Hashed<u32, FULL> {
        Hashed(at.0 + self.seen.0.0 % 2)
    }
    fn on_receive(&mut self, _: NodeId, tag: &Hashed<u32, FULL>) {
        self.seen.0.0 = self.seen.0.0.max(tag.0);
    }
}

impl<T: Default, const FULL: bool> Default for Hashed<T, FULL> {
    fn default() -> Self {
        Self(T::default())
    }
}

fn explored<const FULL: bool>(never: u32, threads: usize, faults: Faults) -> Report<Adder<FULL>> {
    let list = |numbers: &[u32]| numbers.iter().map(|&it| Ask::at_once(Hashed(it))).collect();
    let system = System {
        nodes: vec![Adder(Hashed(0)), Adder(Hashed(0))],
        plan: Plan::PerNode(vec![list(&[1, 2]), list(&[3])]),
        monitor: Sum::<FULL> { seen: Hashed((0, 0)), never },
        links: Order::Any.into(),
        faults,
        demands: Demands::default(),
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    explore(&system, &Bounds::default(), threads, |_| {})
}

#[test]
fn a_constant_hash_of_everything_changes_neither_verdict_nor_counts() {
    let crash = Faults::NONE.crashes(1);
    for faults in [Faults::NONE, crash] {
        let full = explored::<true>(u32::MAX, 1, faults);
        assert_eq!(full.outcome, Outcome::Verified);
        assert!(full.states > 1000, "{}", full.states);
        for threads in [1, 2] {
            let constant = explored::<false>(u32::MAX, threads, faults);
            assert_eq!(constant.outcome, Outcome::Verified);
            let counts = (constant.states, constant.steps, constant.depth);
            assert_eq!(counts, (full.states, full.steps, full.depth), "{faults:?}, {threads}");
        }
    }
}

#[test]
fn what_is_wrong_is_found_with_a_constant_hash_as_with_a_full_one() {
    let mut found = 0;
    for never in [40, 41, 55, 77, 78, 100] {
        let full = explored::<true>(never, 1, Faults::NONE);
        let constant = explored::<false>(never, 1, Faults::NONE);
        match (full.outcome, constant.outcome) {
            (Outcome::Violated { run: full, .. }, Outcome::Violated { run, .. }) => {
                assert_eq!(run.moves.len(), full.moves.len());
                found += 1;
            }
            (full, constant) => {
                assert!(matches!((full, constant), (Outcome::Verified, Outcome::Verified)));
            }
        }
    }
    assert!(found > 0);
}
