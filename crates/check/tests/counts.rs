//! Every algorithm, explored to the end, with the number of states pinned: a checker that suddenly
//! sees fewer is broken, and so is one that sees more. (Ricart–Agrawala, with its independent
//! model, has a file of its own.)

mod support;

use support::{claiming, explore_all, group, mutex};
use vorrang_algorithms::card::Setup;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::spec::{BoundedBypass, Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit, mutex_cards};
use vorrang_check::{Order, Outcome, System};
use vorrang_protocol::{Monitor, NodeId, Protocol};

/// One configuration of an algorithm.
#[derive(Clone, Copy)]
struct Explore {
    entries: &'static [u32],
    order: Order,
    /// A node that never leaves after its last entry.
    stays: Option<NodeId>,
    /// All that the card promises, or only exclusion and progress.
    promises: bool,
}

impl Explore {
    fn states<P, M>(&self, card: &Card, node: impl Make<P>, monitor: M) -> u64
    where
        P: Protocol<Command = Command, Notice = Notice>,
        M: Monitor<Command = Command, Notice = Notice>,
    {
        let mut system: System<P, M> = mutex(self.entries, self.order, monitor, node);
        system.plan = claiming(self.entries, card.terms.claims, self.stays.as_slice());
        let report = explore_all(&system);
        match report.outcome {
            Outcome::Verified => report.states,
            Outcome::Violated { violation, run } => {
                panic!("{} with {:?}: {violation}\n{run}", card.name, self.entries)
            }
            Outcome::Bounded { by } => panic!("no bound was set, and {by:?} was hit"),
        }
    }
}

impl Visit for Explore {
    type Output = u64;

    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> u64
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let exclusion = Exclusion::new((card.terms.admission)(&Setup::new(group(self.entries))));
        if !self.promises {
            return self.states(card, node, exclusion);
        }
        let ordering = card.terms.promises.ordering.then(HappenedBefore::default);
        let bypass = card.terms.promises.bypass.map(BoundedBypass::new);
        self.states(card, node, (exclusion, (ordering, bypass)))
    }
}

fn states(name: &str, explore: Explore) -> u64 {
    registry::visit(name, Setup::new(group(explore.entries)), explore).expect(name)
}

/// The name; entries of each node; states in any order, where the algorithm stands that and a
/// test has the time, and on FIFO links.
type Pinned = (&'static str, &'static [u32], Option<u64>, u64);

///
/// Counts published elsewhere for the same algorithms can be larger: there a node keeps variables
/// that are never read again, such as the stamp of its request after it has entered, and states
/// that differ in nothing else count twice. Here a node forgets what it will not read; with those
/// variables cleared, both agree.
const PINNED: &[Pinned] = &[
    ("central", &[2, 2], Some(71), 64),
    ("central", &[3, 3], Some(155), 135),
    ("central", &[2, 2, 2], Some(869), 727),
    ("central", &[1, 1, 1, 1], Some(681), 681),
    ("lamport", &[2, 2], None, 771),
    ("lamport", &[3, 3], None, 3_949),
    ("lamport", &[1, 1, 1], None, 424_153),
    ("carvalho-roucairol", &[2, 2], Some(131), 113),
    ("carvalho-roucairol", &[3, 3], Some(387), 334),
    ("carvalho-roucairol", &[2, 2, 2], Some(19_438), 12_617),
    ("carvalho-roucairol", &[1, 1, 1, 1], Some(2_082_697), 1_411_230),
    ("k-exclusion", &[3, 3], Some(40_852), 7_672),
    ("k-exclusion", &[1, 1, 1], Some(10_522), 7_004),
    ("k-exclusion", &[2, 2, 1], Some(754_740), 250_263),
    ("k-exclusion", &[3, 1, 1], Some(368_832), 129_050),
    ("k-exclusion", &[1, 1, 1, 1], None, 3_922_162),
    ("ricart-agrawala", &[1, 1, 1, 1], None, 2_832_730),
    ("readers-writers", &[1, 1, 1, 1], None, 3_965_851),
    ("group-exclusion", &[1, 1, 1, 1], None, 5_625_502),
    ("readers-writers", &[3, 3], Some(447), 320),
    ("readers-writers", &[2, 2, 2], Some(189_062), 55_036),
    ("group-exclusion", &[3, 3], Some(447), 320),
    ("group-exclusion", &[2, 2, 2], Some(189_062), 55_036),
];

#[test]
fn is_safe_and_makes_progress_in_exactly_so_many_states() {
    for &(name, entries, any, fifo) in PINNED {
        let explore = Explore { entries, order: Order::Fifo, stays: None, promises: false };
        assert_eq!(states(name, explore), fifo, "{name} {entries:?} on FIFO links");
        if let Some(any) = any {
            let explore = Explore { order: Order::Any, ..explore };
            assert_eq!(states(name, explore), any, "{name} {entries:?} in any order");
        }
    }
}

#[test]
fn every_algorithm_keeps_all_its_promises() {
    for card in mutex_cards() {
        let orders: &[Order] = match card.order {
            Order::Fifo => &[Order::Fifo],
            Order::Any => &[Order::Fifo, Order::Any],
        };
        let plans: &[&[u32]] = match card.name {
            "lamport" | "k-exclusion" => &[&[3, 3], &[1, 1, 1]],
            _ => &[&[3, 3], &[2, 2, 1]],
        };
        for &order in orders {
            for entries in plans {
                states(card.name, Explore { entries, order, stays: None, promises: true });
            }
        }
    }
}

#[test]
fn with_two_places_one_who_never_leaves_keeps_nobody_out() {
    for stays in 0..3 {
        let entries = &[3, 1, 1];
        let stays = Some(NodeId(stays));
        states("k-exclusion", Explore { entries, order: Order::Any, stays, promises: false });
    }
}

#[test]
fn every_algorithm_is_pinned() {
    for card in mutex_cards() {
        let is_pinned = PINNED.iter().any(|(name, ..)| *name == card.name);
        assert!(is_pinned, "{}", card.name);
    }
}
