//! Ricart–Agrawala, explored to the end, with the number of states pinned: a checker that suddenly
//! sees fewer is broken, and so is one that sees more.

use crate::support;
#[path = "support/model.rs"]
mod model;

use std::collections::HashSet;

use model::Model;
use support::{ONE, TWO, group, mutex, ricart_agrawala, verified};
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::mutex::flaws::ricart_agrawala::RepliesCarryNoClock;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_check::{Bounds, Fingerprint, Order, Outcome, explore};

/// Entries of each node; then states, steps and depth in any order, and on FIFO links.
type Pinned = (&'static [u32], (u64, u64, u32), (u64, u64, u32));

/// The depth is exact by hand: with N nodes, an entry takes two commands and 2(N-1) deliveries.
///
/// Other models of this algorithm count other numbers for the same bounds, without being wrong. For
/// two entries each of three nodes in any order: 36 883 states if replies carry no clock, as in the
/// paper; 45 401 if a node also remembers the stamp of its last entry; 486 845 if the clock also
/// ticks on a request's receipt. A count belongs to a representation: a state should hold what
/// decides the future and nothing else. What stands here is confirmed by the independent model
/// below.
const PINNED: &[Pinned] = &[
    (&[1, 1], (34, 46, 8), (30, 38, 8)),
    (&[2, 2], (162, 244, 16), (125, 175, 16)),
    (&[3, 3], (447, 698, 24), (320, 465, 24)),
    (&[1, 1, 1], (4_516, 14_631, 18), (2_490, 6_563, 18)),
    (&[2, 1, 1], (14_399, 48_879, 24), (6_235, 16_699, 24)),
    (&[2, 2, 2], (103_784, 369_706, 36), (37_666, 103_755, 36)),
];

#[test]
fn is_safe_and_makes_progress_in_exactly_so_many_states() {
    for &(entries, any, fifo) in PINNED {
        for (order, pinned) in [(Order::Any, any), (Order::Fifo, fifo)] {
            let system = ricart_agrawala(entries, order, Exclusion::default());
            assert_eq!(verified(&system), pinned, "{entries:?}, {order:?}");
        }
    }
}

#[test]
fn an_independent_model_has_as_many_states() {
    for &(entries, any, fifo) in PINNED {
        for (order, pinned) in [(Order::Any, any), (Order::Fifo, fifo)] {
            let entries = entries.to_vec();
            let model = Model { entries, order };
            assert_eq!(states_of(&model), pinned.0, "{model:?}");
        }
    }
}

/// How many different states a model can be in, none of which is wrong: a search that keeps whole
/// states.
fn states_of(model: &Model) -> u64 {
    let mut known = HashSet::from([model.start()]);
    let mut open = vec![model.start()];
    let mut actions = Vec::new();
    while let Some(world) = open.pop() {
        assert!(world.is_safe() && world.makes_progress(), "{world:?}");
        model.actions(&world, &mut actions);
        for action in actions.drain(..) {
            let next = model.next(&world, action);
            if !known.contains(&next) {
                known.insert(next.clone());
                open.push(next);
            }
        }
    }
    known.len() as u64
}

#[test]
fn the_report_is_the_same_on_one_thread_and_on_two() {
    let bounds = Bounds::default();
    for order in [Order::Any, Order::Fifo] {
        let system = ricart_agrawala(&[2, 2, 1], order, Exclusion::default());
        let one = explore(&system, &bounds, ONE, |_| {});
        assert_eq!(one, explore(&system, &bounds, TWO, |_| {}));

        let entries = &[2, 1, 1];
        let group = group(entries);
        let flawed = |id| Flawed::new(RicartAgrawala::new(id, group), &RepliesCarryNoClock);
        let monitor = (Exclusion::default(), HappenedBefore::default());
        let system = mutex(entries, order, monitor, flawed);
        let one = explore(&system, &bounds, ONE, |_| {});
        assert!(matches!(one.outcome, Outcome::Violated { .. }));
        for _ in 0..3 {
            assert_eq!(one, explore(&system, &bounds, TWO, |_| {}), "down to the run");
        }
    }
}

#[test]
fn twice_the_bits_find_the_same_states_and_are_surer_of_it() {
    let system = ricart_agrawala(&[2, 2, 2], Order::Any, Exclusion::default());
    let explored = |bits, by| explore(&system, &Bounds::NONE.fingerprint(bits), by, |_| {});
    let both = |by| (explored(Fingerprint::Bits64, by), explored(Fingerprint::Bits128, by));
    let (plain, wide) = both(TWO);
    assert_eq!(plain, wide);
    assert!(wide.odds() > 0.0);
    assert_eq!(plain.odds().to_bits(), (wide.odds() * 2_f64.powi(64)).to_bits());
    // What two threads keep in mind for themselves depends on who was faster.
    let (plain, wide) = both(ONE);
    assert!(wide.memory_bytes > plain.memory_bytes, "{plain:?} {wide:?}");
}
