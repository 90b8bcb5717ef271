//! How the nodes of an algorithm are made.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use vorrang_protocol::{Group, Invariant, NodeId, Protocol};

use crate::flaw::{AnyMistake, Flawed};
use crate::quorum::QuorumSchedule;
use crate::setup::{Setup, Unfit};

/// How the nodes of an algorithm are made for a set-up, if it fits.
pub struct Recipe<P: Protocol> {
    prepare: Prepare<P>,
    invariants: &'static [Invariant<P>],
}

type Prepare<P> = Box<dyn Fn(&Setup) -> Result<Node<P>, Unfit> + Send + Sync>;

/// Makes one node; a restart is one more call.
pub type Node<P> = Arc<dyn Fn(NodeId) -> P + Send + Sync>;

impl<P: Protocol> Recipe<P> {
    /// A factory of nodes from a set-up.
    pub fn new<F>(prepare: impl Fn(&Setup) -> Result<F, Unfit> + Send + Sync + 'static) -> Self
    where
        F: Fn(NodeId) -> P + Send + Sync + 'static,
    {
        let prepare: Prepare<P> =
            Box::new(move |setup| prepare(setup).map(|node| Arc::new(node) as Node<P>));
        Self { prepare, invariants: &[] }
    }

    /// The same, with what holds at every moment as long as nothing goes wrong that the algorithm
    /// does not stand.
    #[must_use]
    pub fn guarded(self, invariants: &'static [Invariant<P>]) -> Self {
        Self { invariants, ..self }
    }

    /// The invariants of its proof.
    pub const fn invariants(&self) -> &'static [Invariant<P>] {
        self.invariants
    }

    /// A way to make the nodes of a set-up.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot work with it, with a sentence that says why.
    pub fn nodes(&self, setup: &Setup) -> Result<Node<P>, Unfit> {
        (self.prepare)(setup)
    }

    /// The same with a mistake around every node, and without what it would break.
    #[must_use]
    pub fn with(self, mistake: &'static dyn AnyMistake<P>) -> Recipe<Flawed<P>> {
        Recipe::new(move |setup| {
            let node = self.nodes(setup)?;
            Ok(move |id| Flawed::new(node(id), mistake))
        })
    }
}

impl<P: Protocol> fmt::Debug for Recipe<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipe")
    }
}

/// Nodes that need to know their group and nothing else.
pub fn of_group<P: Protocol>(new: fn(NodeId, Group) -> P) -> Recipe<P> {
    Recipe::new(move |setup| {
        let group = setup.group;
        Ok(move |id| new(id, group))
    })
}

/// Nodes that look up what they need in the set-up, and fit any.
pub fn of_setup<P: Protocol>(new: fn(NodeId, &Setup) -> P) -> Recipe<P> {
    Recipe::new(move |setup| {
        let setup = setup.clone();
        Ok(move |id| new(id, &setup))
    })
}

/// Nodes that need to know their quorums.
pub fn of_quorums<P: Protocol>(new: fn(NodeId, QuorumSchedule) -> P) -> Recipe<P> {
    Recipe::new(move |setup| {
        let system = setup.quorum.system(setup.group)?;
        Ok(move |id| new(id, system.schedule(id)))
    })
}
