//! A run as data: what happened, step by step.

use std::fmt;

use vorrang_protocol::{Effect, Prefix, Protocol, Transition};

/// A run from the start of all nodes.
///
/// Shown, it is one line a move, as its [`Transition`] shows itself. Before moves that repeat for
/// ever stands a comment that says so.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run<P: Protocol> {
    /// How each node came up, in the order of their numbers.
    pub starts: Vec<Start<P>>,
    /// Its steps.
    pub moves: Vec<Move<P>>,
    /// For a violation that goes on for ever: the place in `moves` from which on they repeat.
    pub repeats_from: Option<usize>,
}

/// How a node came up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Start<P: Protocol> {
    /// The answers that it got to its choices.
    pub choices: Vec<u32>,
    /// Its effects.
    pub effects: Vec<Effect<P>>,
}

/// One step of a run, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Move<P: Protocol> {
    /// The step.
    pub step: Transition<P>,
    /// The effects of the node; none if it refused.
    pub effects: Vec<Effect<P>>,
}

impl<P: Protocol> Run<P> {
    /// How it begins: so many steps of it.
    ///
    /// # Panics
    ///
    /// If it has fewer.
    pub fn prefix(&self, steps: usize) -> Prefix<P> {
        Prefix {
            starts: Some(self.starts.iter().map(|it| it.choices.clone()).collect()),
            steps: self.moves[..steps].iter().map(|it| it.step.clone()).collect(),
        }
    }
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Move<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.step.fmt(f)
    }
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Run<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.moves.iter().enumerate() {
            if self.repeats_from == Some(place) {
                writeln!(f, "# what follows repeats for ever")?;
            }
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}
