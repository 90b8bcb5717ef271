//! Invariants of token regeneration.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use vorrang_protocol::{Invariant, Situation};

use super::{Generation, Message, Regenerating, Renewable, Work};

impl<P: Renewable> Regenerating<P> {
    /// The invariants of its proof.
    pub const INVARIANTS: &'static [Invariant<Self>] = &[
        Invariant { name: "one token", holds: one_token },
        Invariant { name: "one token a generation", holds: one_token_a_generation },
    ];
}

/// No two nodes have a token, of any generation.
fn one_token<P: Renewable>(at: &Situation<'_, Regenerating<P>>) -> Result<(), String> {
    let mut having = at.up().filter(|(_, node)| node.has_token()).map(|(id, _)| id);
    match (having.next(), having.next()) {
        (Some(one), Some(other)) => Err(format!("nodes {one} and {other} have a token")),
        (_, None) | (None, _) => Ok(()),
    }
}

/// In no generation there are two, at a node or on the way to one.
fn one_token_a_generation<P: Renewable>(at: &Situation<'_, Regenerating<P>>) -> Result<(), String> {
    let mut tokens = BTreeMap::<Generation, u32>::new();
    let mut count = |generation| *tokens.entry(generation).or_default() += 1;
    for (_, node) in at.up() {
        match &node.work {
            Work::Goes { node: work, .. } if work.has_token() => count(node.generation),
            Work::Goes { .. } => {}
            Work::Stopped { early, .. } => {
                let early = early.iter().filter(|(_, message)| P::is_token(message));
                early.for_each(|_| count(node.generation));
            }
        }
    }
    for (.., message) in at.messages() {
        if let Message::Token { generation, message } = message
            && P::is_token(message)
        {
            count(*generation);
        }
    }
    match tokens.into_iter().find(|(_, count)| *count > 1) {
        None => Ok(()),
        Some((generation, count)) => {
            Err(format!("there are {count} tokens of generation {generation}"))
        }
    }
}
