//! The checker's throughput: Ricart–Agrawala, three nodes, messages in any order.
//!
//! The yardstick is Stateright with a model of the same protocol and the same bounds; both explore
//! the same states, which is checked. Machines are noisy, so every repetition runs all rivals one
//! after the other, and ratios are taken between their medians.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use model::{Act, Model, World};
use stateright::{Checker as _, Model as _, Property};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{Bounds, Demands, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::Group;

#[path = "../../check/tests/check/support/model.rs"]
mod model;

const REPETITIONS: usize = 7;

fn main() {
    confirm(&[&[1, 1], &[2, 2], &[3, 3], &[1, 1, 1], &[2, 1, 1], &[2, 2, 2]]);
    compare(&[2, 2, 2]);
    compare(&[3, 3, 3]);
}

/// Lets Stateright count the states that the tests of the checker pin.
fn confirm(all: &[&[u32]]) {
    for &entries in all {
        for order in [Order::Any, Order::Fifo] {
            assert_eq!(theirs(entries, order), ours(entries, order, 1).0, "{entries:?}, {order:?}");
        }
    }
    println!("Ricart-Agrawala: Stateright finds as many states as the tests of the checker pin");
}

/// Measures all rivals on one system and prints what came of it.
fn compare(entries: &[u32]) {
    let (states, steps) = ours(entries, Order::Any, 1);
    println!("Ricart-Agrawala, entries {entries:?}, any order: {states} states, {steps} steps");
    let mut ours_on_one = Times::default();
    let mut ours_on_two = Times::default();
    let mut theirs_on_one = Times::default();
    // The first round only warms up.
    for round in 0..=REPETITIONS {
        let one = timed(|| assert_eq!(ours(entries, Order::Any, 1), (states, steps)));
        let two = timed(|| assert_eq!(ours(entries, Order::Any, 2), (states, steps)));
        let theirs = timed(|| assert_eq!(theirs(entries, Order::Any), states));
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
fn ours(entries: &[u32], order: Order, threads: usize) -> (u64, u64) {
    let group = Group::of(entries.len() as u32);
    let system = System {
        nodes: group.members().map(|id| RicartAgrawala::new(id, group)).collect(),
        plan: Plan::turns(entries, &Command::Acquire(Claim::Exclusive), &Command::Release),
        monitor: Exclusion::default(),
        links: order.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    };
    let threads = NonZeroUsize::new(threads).expect("at least one thread");
    let report = explore(&system, &Bounds::default(), threads, |_| {});
    assert_eq!(report.outcome, Outcome::Verified);
    (report.states, report.steps)
}

/// States.
fn theirs(entries: &[u32], order: Order) -> u64 {
    let entries = entries.to_vec();
    let checker = Yardstick(Model { entries, order }).checker().threads(1).spawn_bfs().join();
    assert!(checker.discoveries().is_empty(), "Stateright found a violation");
    checker.unique_state_count() as u64
}

/// The model as Stateright wants it.
#[derive(Clone, Debug)]
struct Yardstick(Model);

impl stateright::Model for Yardstick {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.start()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Act>) {
        self.0.actions(world, actions);
    }

    fn next_state(&self, last: &World, action: Act) -> Option<World> {
        Some(self.0.next(last, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("exclusion", |_, world: &World| world.is_safe()),
            Property::always("progress", |_, world: &World| world.makes_progress()),
        ]
    }
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
