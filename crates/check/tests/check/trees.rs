//! Token algorithms on trees: what their proofs rest on holds in every state.

use crate::support;

use support::{explore_all, group, mutex};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Command, Notice, elected_lift, lift, raymond};
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Liveness, Order, Outcome, Report};
use vorrang_protocol::{NodeId, Protocol};

/// Explores nodes that take so many turns each on such a graph, with the token at the last of them.
fn explored<P>(recipe: &Recipe<P>, topology: &str, entries: &[u32], order: Order) -> Report<P>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let group = group(entries);
    let mut setup = Setup::new(group);
    setup.topology = topology.parse().unwrap();
    setup.holder = NodeId(group.size() - 1);
    let node = recipe.nodes(&setup).unwrap();
    let mut system = mutex(entries, order, Exclusion::default(), |id| node(id));
    system.demands = system.demands.invariants(recipe.invariants());
    system.demands.liveness = Liveness::Fair;
    system.demands.graph = Some(setup.topology.graph(group).unwrap().into());
    explore_all(&system)
}

const TREES: [&str; 4] = ["line", "star", "tree:2", "links:2-0,2-1,1-3"];

#[test]
fn nobody_is_passed_over_more_often_than_there_are_neighbours() {
    for order in [Order::Fifo, Order::Any] {
        for tree in TREES {
            let report = explored(&lift::counted(), tree, &[2, 2, 2, 1], order);
            assert_eq!(report.outcome, Outcome::Verified, "{tree} {order:?}");
        }
    }
}

#[test]
fn tokens_are_neither_lost_nor_doubled_and_edges_lead_to_them_on_every_tree() {
    for order in [Order::Fifo, Order::Any] {
        for tree in TREES {
            let recipe = raymond::recipe().guarded(raymond::INVARIANTS);
            let report = explored(&recipe, tree, &[2, 2, 2, 1], order);
            assert_eq!(report.outcome, Outcome::Verified, "raymond: {tree} {order:?}");
            let recipe = lift::recipe().guarded(lift::INVARIANTS);
            let report = explored(&recipe, tree, &[2, 2, 2, 1], order);
            assert_eq!(report.outcome, Outcome::Verified, "lift: {tree} {order:?}");
        }
    }
}

/// One token, made by whoever is elected, and a way to it, from nodes that know only their links.
#[test]
fn whoever_is_elected_makes_the_one_token_on_every_shape() {
    let any = ["line", "links:1-2,0-2"].map(|shape| (shape, &[1, 1, 1][..], Order::Any));
    let fifo = ["ring", "line"].map(|shape| (shape, &[2, 1, 1][..], Order::Fifo));
    let ring = [("ring", &[1, 0, 0][..], Order::Any), ("star", &[1, 0, 1, 0], Order::Fifo)];
    for (shape, entries, order) in any.into_iter().chain(fifo).chain(ring) {
        let recipe = elected_lift::recipe().guarded(elected_lift::INVARIANTS);
        let report = explored(&recipe, shape, entries, order);
        assert_eq!(report.outcome, Outcome::Verified, "{shape} {order:?}");
    }
}
