//! Ricart–Agrawala, explored to the end, with the number of states pinned: a checker that suddenly
//! sees fewer is broken, and so is one that sees more.

use crate::support;
#[path = "support/model.rs"]
mod model;

use std::collections::HashSet;

use model::Model;
use support::{ONE, TWO, explore_all, group, mutex, ricart_agrawala, verified};
use vorrang_algorithms::flaw::AnyMistake;
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::mutex::flaws::ricart_agrawala::{
    ClockNotAdvanced, NoTieBreak, RepliesCarryNoClock, RepliesGivenUp, StampLowered,
};
use vorrang_algorithms::mutex::lemmas::ricart_agrawala::INVARIANTS;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_check::{Bounds, Fingerprint, Order, Outcome, explore};
use vorrang_protocol::{Guard, Monitor, NodeId, Situation, Violation};

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

/// Node `i` of three, which makes a mistake, on FIFO links; what is asked is one condition alone.
type Mistaken = &'static dyn AnyMistake<RicartAgrawala>;

/// Whether the condition with this number is violated, and by how long a run.
fn violated(mistake: Mistaken, condition: usize) -> Option<usize> {
    let entries = &[1, 1, 1];
    let node = |id| Flawed::new(RicartAgrawala::new(id, group(entries)), mistake);
    let mut system = mutex(entries, Order::Fifo, Unheeding, node);
    let invariant = &INVARIANTS[condition];
    let holds = invariant.holds;
    let guard = Guard::new(invariant.name, move |at: &Situation<'_, Flawed<RicartAgrawala>>| {
        holds(&at.within(Flawed::node, Some))
    });
    system.demands.invariants = vec![guard];
    match explore_all(&system).outcome {
        Outcome::Verified => None,
        Outcome::Violated { violation, run } => {
            assert_eq!(violation.property, invariant.name, "{mistake:?}: {violation}");
            Some(run.moves.len())
        }
        Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
    }
}

/// Nothing is wrong, whatever applications are told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Unheeding;

impl Monitor for Unheeding {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &Notice) -> Result<(), Violation> {
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

#[test]
fn each_of_the_three_conditions_is_violated_by_a_mistake_that_violates_no_other() {
    let mistakes: [Mistaken; 3] = [&NoTieBreak, &StampLowered, &RepliesGivenUp];
    let table = mistakes.map(|it| [0, 1, 2].map(|condition| violated(it, condition)));
    assert_eq!(
        table,
        [
            [Some(5), None, None], // an older one replies
            [None, Some(4), None], // a younger one becomes an older one
            [None, None, Some(4)], // who has replied asks with an older stamp
        ]
    );
}

#[test]
fn without_the_third_condition_it_is_safe_only_if_replies_are_given_up() {
    let entries = &[1, 1, 1];
    let node = |id| Flawed::new(RicartAgrawala::new(id, group(entries)), &RepliesGivenUp);
    let system = mutex(entries, Order::Fifo, Exclusion::default(), node);
    assert_eq!(explore_all(&system).outcome, Outcome::Verified);
    let node = |id| Flawed::new(RicartAgrawala::new(id, group(entries)), &ClockNotAdvanced);
    let system = mutex(entries, Order::Fifo, Exclusion::default(), node);
    assert!(matches!(explore_all(&system).outcome, Outcome::Violated { .. }));
    // The request is seen before it does harm, under way; then it is known, and not served.
    assert_eq!([0, 1, 2].map(|it| violated(&ClockNotAdvanced, it)), [Some(5), None, Some(4)]);
}
