//! Why there is one token, and why it is found.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, Situation};

use crate::mutex::singhal::{Message, Phase, Singhal, Token, Word};

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Singhal>] = &[
    Invariant { name: "one token", holds: one_token },
    Invariant { name: "no false mark on the token", holds: only_those_who_wait },
    Invariant { name: "one of two asks the other", holds: one_of_two_asks },
    Invariant { name: "no error 1", holds: no_error_1 },
    Invariant { name: "no error 2", holds: no_error_2 },
    Invariant { name: "no error 3", holds: no_error_3 },
];

/// The tokens, at nodes or in flight; each with its receiver if it is in flight.
fn tokens<'a>(at: &Situation<'a, Singhal>) -> impl Iterator<Item = (Option<NodeId>, &'a Token)> {
    let here = at.up().filter_map(|(_, node)| match &node.phase {
        Phase::Holding(token) | Phase::Inside(token) => Some((None, token)),
        Phase::Outside | Phase::Waiting => None,
    });
    let under_way = at.messages().filter_map(|(_, to, message)| match message {
        Message::Token(token) => Some((Some(to), token)),
        Message::Request { .. } => None,
    });
    here.chain(under_way)
}

/// There is exactly one token.
fn one_token(at: &Situation<'_, Singhal>) -> Result<(), String> {
    match tokens(at).count() {
        1 => Ok(()),
        count => Err(format!("there are {count} tokens")),
    }
}

/// A node that the token marks waits for it, or has got it for that request.
pub(super) fn only_those_who_wait(at: &Situation<'_, Singhal>) -> Result<(), String> {
    for (_, token) in tokens(at) {
        for (id, node) in at.up() {
            let waits = matches!(node.phase, Phase::Waiting | Phase::Inside(_));
            if token.0[id.index()].is_marked && !waits {
                return Err(format!("the token takes node {id} for one that waits"));
            }
        }
    }
    Ok(())
}

/// What a node inside knows of another, and what the token does: the two that it merges when it
/// leaves. Lectures print that step with a case for each combination and three that cannot be,
/// in which the program says `error 1`, `error 2` and `error 3`.
fn merged<'a>(
    at: &Situation<'a, Singhal>,
) -> impl Iterator<Item = (NodeId, NodeId, Word, Word)> + use<'a> {
    let all: Vec<(NodeId, &'a Singhal)> = at.up().collect();
    all.into_iter().flat_map(|(id, node)| {
        let token = match &node.phase {
            Phase::Inside(token) => &token.0[..],
            Phase::Outside | Phase::Waiting | Phase::Holding(_) => &[],
        };
        let both = node.known.iter().zip(token).zip(0..);
        let others = both.map(move |((ours, theirs), of)| (id, NodeId(of), *ours, *theirs));
        others.filter(|(id, of, _, _)| id != of)
    })
}

/// A node does not know that a request was served of which the token says that it waits.
pub(super) fn no_error_1(at: &Situation<'_, Singhal>) -> Result<(), String> {
    never(at, |ours, theirs| !ours.is_marked && theirs.is_marked && ours.number == theirs.number)
}

/// Nor that a later one was.
pub(super) fn no_error_2(at: &Situation<'_, Singhal>) -> Result<(), String> {
    never(at, |ours, theirs| !ours.is_marked && theirs.is_marked && ours.number > theirs.number)
}

/// Nor that a later one was than the last that was served as far as the token knows.
pub(super) fn no_error_3(at: &Situation<'_, Singhal>) -> Result<(), String> {
    never(at, |ours, theirs| !ours.is_marked && !theirs.is_marked && ours.number > theirs.number)
}

fn never(at: &Situation<'_, Singhal>, is_wrong: fn(Word, Word) -> bool) -> Result<(), String> {
    match merged(at).find(|(_, _, ours, theirs)| is_wrong(*ours, *theirs)) {
        None => Ok(()),
        Some((id, of, ours, theirs)) => {
            let say =
                |word: Word| format!("{} {}", if word.is_marked { "R" } else { "N" }, word.number);
            let (ours, theirs) = (say(ours), say(theirs));
            Err(format!("of node {of} node {id} knows {ours}, and its token {theirs}"))
        }
    }
}

/// Of any two nodes one marks the other, or a REQUEST between them is in flight. So at rest all
/// nodes mark the holder, which marks none: the next request goes to it.
fn one_of_two_asks(at: &Situation<'_, Singhal>) -> Result<(), String> {
    let marks = |from: NodeId, to: NodeId| at.node(from).known[to.index()].is_marked;
    let under_way = |from: NodeId, to: NodeId| {
        at.messages().any(|(sender, receiver, message)| match message {
            Message::Request { .. } => (sender, receiver) == (from, to),
            Message::Token(_) => false,
        })
    };
    for (one, node) in at.up() {
        for other in node.group.members().filter(|&other| other < one) {
            let is_so =
                |asks: &dyn Fn(NodeId, NodeId) -> bool| asks(one, other) || asks(other, one);
            if !at.is_down(other) && !is_so(&marks) && !is_so(&under_way) {
                return Err(format!("neither {other} nor {one} would ask the other"));
            }
        }
    }
    Ok(())
}
