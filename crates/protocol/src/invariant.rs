//! Invariants over all nodes and all messages in flight.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::{NodeId, NodeSet, Protocol, Violation};

/// An invariant of an algorithm, over all nodes and all messages in flight: a lemma of its proof,
/// as code that a driver can check.
///
/// A [`Monitor`](crate::Monitor) sees what applications see and judges every algorithm of a
/// problem; an invariant knows one algorithm from within, and finds a mistake when it is made, not
/// when it first leads to a violation.
pub struct Invariant<P: Protocol> {
    /// What it is called.
    pub name: &'static str,
    /// Whether it holds; if not, what is wrong, in a sentence.
    pub holds: fn(&Situation<'_, P>) -> Result<(), String>,
}

impl<P: Protocol> Clone for Invariant<P> {
    fn clone(&self) -> Self {
        Self { name: self.name, holds: self.holds }
    }
}

impl<P: Protocol> fmt::Debug for Invariant<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Invariant").field(&self.name).finish()
    }
}

/// An invariant as drivers take it: a closure, with the data that it needs.
pub struct Guard<P: Protocol> {
    name: &'static str,
    holds: Arc<Holds<P>>,
}

type Holds<P> = dyn Fn(&Situation<'_, P>) -> Result<(), String> + Send + Sync;

impl<P: Protocol> Guard<P> {
    /// An invariant that is violated, under this name, whenever `buffered` returns an error.
    pub fn new(
        name: &'static str,
        holds: impl Fn(&Situation<'_, P>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, holds: Arc::new(holds) }
    }

    /// What it is called.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it holds; if not, what is wrong, in a sentence.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn judge(&self, at: &Situation<'_, P>) -> Result<(), String> {
        (self.holds)(at)
    }
}

impl<P: Protocol> From<&Invariant<P>> for Guard<P> {
    fn from(invariant: &Invariant<P>) -> Self {
        Self::new(invariant.name, invariant.holds)
    }
}

impl<P: Protocol> Clone for Guard<P> {
    fn clone(&self) -> Self {
        Self { name: self.name, holds: Arc::clone(&self.holds) }
    }
}

impl<P: Protocol> fmt::Debug for Guard<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.name).finish()
    }
}

/// All nodes and all messages in flight, between two steps.
pub struct Situation<'a, P: Protocol> {
    nodes: Vec<&'a P>,
    down: NodeSet,
    flight: Vec<(NodeId, NodeId, &'a P::Message)>,
}

impl<'a, P: Protocol> Situation<'a, P> {
    /// Nodes by their numbers, crashed ones as their stable storage restores them, and messages,
    /// each with its sender and its receiver.
    pub const fn new(
        nodes: Vec<&'a P>,
        down: NodeSet,
        flight: Vec<(NodeId, NodeId, &'a P::Message)>,
    ) -> Self {
        Self { nodes, down, flight }
    }

    /// How many nodes there are, up or down.
    pub const fn size(&self) -> usize {
        self.nodes.len()
    }

    /// A node, up or down.
    pub fn node(&self, id: NodeId) -> &'a P {
        self.nodes[id.index()]
    }

    /// The nodes that are up.
    pub fn up(&self) -> impl Iterator<Item = (NodeId, &'a P)> {
        let nodes = (0..).map(NodeId).zip(self.nodes.iter().copied());
        nodes.filter(|&(id, _)| !self.down.contains(id))
    }

    /// Whether a node is down.
    pub fn is_down(&self, id: NodeId) -> bool {
        self.down.contains(id)
    }

    /// The messages in flight, in no particular order: sender, receiver, message.
    pub fn messages(&self) -> impl Iterator<Item = (NodeId, NodeId, &'a P::Message)> {
        self.flight.iter().copied()
    }

    /// The same situation for inner nodes, each a part of one of these, and for their messages;
    /// messages of the outer layer are left out.
    pub fn within<Inner: Protocol>(
        &self,
        node: impl Fn(&'a P) -> &'a Inner,
        message: impl Fn(&'a P::Message) -> Option<&'a Inner::Message>,
    ) -> Situation<'a, Inner> {
        // Loops, since this is compiled for every algorithm: iterators took four times as long.
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for it in &self.nodes {
            nodes.push(node(it));
        }
        let mut flight = Vec::with_capacity(self.flight.len());
        for &(from, to, it) in &self.flight {
            if let Some(inner) = message(it) {
                flight.push((from, to, inner));
            }
        }
        Situation { nodes, down: self.down.clone(), flight }
    }

    /// Returns the violation of the first invariant that does not hold.
    ///
    /// # Errors
    ///
    /// If one does not.
    pub fn judge(&self, guards: &[Guard<P>]) -> Result<(), Violation> {
        guards
            .iter()
            .try_for_each(|it| it.judge(self).map_err(|what| Violation { property: it.name, what }))
    }
}

impl<P: Protocol> fmt::Debug for Situation<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Situation")
            .field("nodes", &self.nodes)
            .field("down", &self.down)
            .field("flight", &self.flight)
            .finish()
    }
}
