//! The checker's throughput: Ricart–Agrawala, three nodes, messages in any order.
//!
//! The yardstick is Stateright with a model of the same protocol and the same bounds; both explore
//! the same states, which is checked. Machines are noisy, so every repetition runs all rivals one
//! after the other, and ratios are taken between their medians.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{Bounds, Demands, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::Group;
use yardstick::Yardstick;

#[path = "../../check/tests/check/support/yardstick.rs"]
mod yardstick;

const REPETITIONS: usize = 7;

fn main() {
    compare(&[2, 2, 2]);
    compare(&[3, 3, 3]);
}

/// Measures all rivals on one system and prints what came of it.
fn compare(entries: &[u32]) {
    let (states, steps) = ours(entries, 1);
    println!("Ricart-Agrawala, entries {entries:?}, any order: {states} states, {steps} steps");
    let mut ours_on_one = Times::default();
    let mut ours_on_two = Times::default();
    let mut theirs_on_one = Times::default();
    // The first round only warms up.
    for round in 0..=REPETITIONS {
        let one = timed(|| assert_eq!(ours(entries, 1), (states, steps)));
        let two = timed(|| assert_eq!(ours(entries, 2), (states, steps)));
        let theirs = timed(|| assert_eq!(theirs(entries), states));
        if round > 0 {
            ours_on_one.0.push(one);
            ours_on_two.0.push(two);
            theirs_on_one.0.push(theirs);
        }
    }
    ours_on_one.print("vorrang, 1 thread", steps);
    ours_on_two.print("vorrang, 2 threads", steps);
    theirs_on_one.print("stateright, 1 thread", steps);
    let base = ours_on_one.median();
    println!("  against stateright, 1 thread each: {:.2} x", ratio(theirs_on_one.median(), base));
    println!("  2 threads against 1: {:.2} x", ratio(base, ours_on_two.median()));
}

/// States and steps.
fn ours(entries: &[u32], threads: usize) -> (u64, u64) {
    let group = Group::of(entries.len() as u32);
    let system = System {
        nodes: group.members().map(|id| RicartAgrawala::new(id, group)).collect(),
        plan: Plan::turns(entries, &Command::Acquire(Claim::Exclusive), &Command::Release),
        monitor: Exclusion::default(),
        links: Order::Any.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    };
    let threads = NonZeroUsize::new(threads).expect("at least one thread");
    let report = explore(&system, &Bounds::default(), threads, |_| {});
    assert_eq!(report.outcome, Outcome::Verified);
    (report.states, report.steps)
}

/// States.
fn theirs(entries: &[u32]) -> u64 {
    let entries = entries.to_vec();
    let order = Order::Any;
    Yardstick { entries, order }.explore(1)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn ratio(slow: Duration, fast: Duration) -> f64 {
    slow.as_secs_f64() / fast.as_secs_f64()
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn median(&self) -> Duration {
        let mut times = self.0.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }

    fn print(&self, who: &str, steps: u64) {
        let rate = |time: Duration| steps as f64 / time.as_secs_f64() / 1e6;
        let (median, best) = (self.median(), self.0.iter().copied().min().unwrap_or_default());
        println!(
            "  {who:<22} median {:>7.2} million steps/s ({median:.1?}), best {:.2}",
            rate(median),
            rate(best),
        );
    }
}
