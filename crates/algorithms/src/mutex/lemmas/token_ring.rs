//! Why there is one token.

use alloc::format;
use alloc::string::String;

use vorrang_protocol::{Invariant, Situation};

use crate::mutex::token_ring::{Message, TokenRing};

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<TokenRing>] =
    &[Invariant { name: "one token a resource", holds: one_token_a_resource }];

/// There is exactly one token of every resource, at a node or under way.
fn one_token_a_resource(at: &Situation<'_, TokenRing>) -> Result<(), String> {
    let resources = at.up().map(|(_, node)| node.resources).max().unwrap_or(0);
    for wanted in 0..resources {
        let here = at.up().filter(|(_, node)| node.has(wanted));
        let under_way = at.messages().filter(|(_, _, message)| {
            let Message::Token { resource, .. } = message;
            *resource == wanted
        });
        let count = here.count() + under_way.count();
        if count != 1 {
            return Err(format!("there are {count} tokens of resource {wanted}"));
        }
    }
    Ok(())
}
