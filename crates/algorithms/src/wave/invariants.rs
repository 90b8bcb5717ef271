//! Invariants of every wave that returns by echoes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, NodeState, Protocol, Situation, StateValue};

use super::Gathered;

/// The state of a node that has passed on the wave and waits for echoes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Red {
    /// The other end of the activation edge; the initiator has none.
    pub(super) parent: Option<NodeId>,
    /// Neighbours over whose links no answer has come, lowest first.
    pub(super) pending: Vec<NodeId>,
    pub(super) gathered: Gathered,
}

impl Red {
    /// As it is shown.
    pub(super) fn state(&self) -> NodeState {
        NodeState::new()
            .with("parent", self.parent)
            .with("awaits", StateValue::set(self.pending.iter().copied()))
            .with("gathered", self.gathered.shown())
    }

    /// Whether an answer is awaited over the link to this node, and now no longer.
    pub(super) fn takes_answer(&mut self, from: NodeId) -> bool {
        let place = self.pending.binary_search(&from);
        place.map(|place| self.pending.remove(place)).is_ok()
    }
}

/// A node whose part in a wave is to pass it on and to echo.
pub(super) trait Echoing: Protocol {
    fn phase(&self) -> Phase<'_>;
    /// What it gives.
    fn own(&self) -> &Gathered;
    /// The value in a message, if it is an echo.
    fn echo(message: &Self::Message) -> Option<Gathered>;
}

/// How far the wave is at a node.
pub(super) enum Phase<'a> {
    Before,
    Waiting(&'a Red),
    After { is_initiator: bool },
}

/// That everyone is waited for, and that everything is in one place.
pub(super) const fn invariants<P: Echoing>() -> [Invariant<P>; 2] {
    [
        Invariant { name: "waited for", holds: waited_for },
        Invariant { name: "in one place", holds: in_one_place },
    ]
}

/// From everyone who has not echoed the activation edges lead to the initiator, and everyone on
/// this way is waited for by the next.
fn waited_for<P: Echoing>(at: &Situation<'_, P>) -> Result<(), String> {
    for (first, _) in at.up() {
        let mut id = first;
        let mut hops = 0;
        while let Phase::Waiting(Red { parent: Some(parent), .. }) = at.node(id).phase() {
            match at.node(*parent).phase() {
                Phase::Waiting(red) if red.pending.contains(&id) => {}
                Phase::Before | Phase::Waiting(_) | Phase::After { .. } => {
                    return Err(format!("node {parent} does not wait for node {id}"));
                }
            }
            id = *parent;
            hops += 1;
            if hops > at.up().count() {
                return Err(format!("activation edges lead from node {first} round in a circle"));
            }
        }
    }
    Ok(())
}

/// As long as the initiator waits: what everyone who takes part has given is at one who has not
/// echoed, or in an echo that is awaited. (One that came twice is awaited once.)
fn in_one_place<P: Echoing>(at: &Situation<'_, P>) -> Result<(), String> {
    let under_way = |from, to| {
        let mut on_the_link =
            at.messages().filter(|&(sender, receiver, _)| (sender, receiver) == (from, to));
        on_the_link.find_map(|(_, _, message)| P::echo(message))
    };
    let (mut found, mut given) = (Gathered::NOTHING, Gathered::NOTHING);
    for (id, node) in at.up() {
        match node.phase() {
            Phase::Before => continue,
            Phase::After { is_initiator: true } => return Ok(()),
            Phase::After { is_initiator: false } => {}
            Phase::Waiting(red) => {
                let awaited = red.pending.iter().filter_map(|&from| under_way(from, id));
                found = awaited.fold(found.and(red.gathered.clone()), Gathered::and);
            }
        }
        given = given.and(node.own().clone());
    }
    if found == given {
        Ok(())
    } else {
        Err(format!("the nodes that take part gave {given}, and of that {found} is there"))
    }
}
