//! The nodes of a run, whatever their type.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::problem::Problem;
use vorrang_erased::{AnyNode, Fresh, Population};
use vorrang_protocol::{Group, Guard, Protocol};

use crate::{NodeOf, PopulationOf, correct};

/// The names of kinds of messages.
pub type Kinds = &'static [&'static str];

/// These names, kept for ever, and each distinct list once: there may be a million runs.
pub(crate) fn kept(kinds: Vec<&'static str>) -> Kinds {
    static KNOWN: Mutex<Vec<Kinds>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(list) = known.iter().find(|it| **it == kinds) {
        return list;
    }
    known.push(kinds.leak());
    known[known.len() - 1]
}

/// Nodes for the simulator, the checker and a stage.
pub struct Nodes<Q: Problem> {
    /// How each is made.
    pub node: Fresh<NodeOf<Q>>,
    /// Their invariants.
    pub guards: Vec<Guard<NodeOf<Q>>>,
    /// The names of their kinds of messages.
    pub kinds: Kinds,
    /// Makes all of them for the simulator, with or without their invariants.
    pub populate: Box<dyn Fn(bool) -> PopulationOf<Q> + Send + Sync>,
}

impl<Q: Problem> Nodes<Q> {
    /// Nodes of one type, without a mistake. Without their types they are of the same type as those
    /// with one.
    pub(crate) fn correct<P>(
        group: Group,
        node: Fresh<P>,
        guards: Vec<Guard<P>>,
        kinds: Kinds,
    ) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let any = Arc::clone(&node);
        Self {
            node: Arc::new(move |id| correct(any(id))),
            guards: guards.iter().cloned().map(of_correct).collect(),
            kinds,
            populate: Box::new(move |is_guarded| {
                let guards = if is_guarded { &guards[..] } else { &[] };
                let population = Population::erased_by(correct, group.size(), Arc::clone(&node));
                population.with_kinds(kinds).guarded(guards.iter().cloned()).into()
            }),
        }
    }

    /// Nodes of one type, which have no invariants.
    pub(crate) fn unguarded<P>(group: Group, node: Fresh<P>, kinds: Kinds) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let any = Arc::clone(&node);
        let populate =
            move |_| Population::of(group.size(), Arc::clone(&node)).with_kinds(kinds).into();
        let node: Fresh<NodeOf<Q>> = Arc::new(move |id| AnyNode::new(any(id)));
        Self { node, guards: Vec::new(), kinds, populate: Box::new(populate) }
    }

    /// Nodes that have lost their types, and have no invariants: fewer types are compiled for them.
    pub(crate) fn without_types(group: Group, node: Fresh<NodeOf<Q>>, kinds: Kinds) -> Self {
        let any = Arc::clone(&node);
        let populate =
            move |_| Population::of(group.size(), Arc::clone(&any)).with_kinds(kinds).into();
        Self { node, guards: Vec::new(), kinds, populate: Box::new(populate) }
    }
}

fn of_correct<P: Protocol>(guard: Guard<P>) -> Guard<AnyNode<P::Command, P::Notice>> {
    AnyNode::guard_of_inside(guard, Flawed::<P>::node)
}

impl<Q: Problem> fmt::Debug for Nodes<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}
