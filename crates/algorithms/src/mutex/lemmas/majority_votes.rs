//! Why only one node has a majority of votes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, Situation};

use crate::clock::Stamp;
use crate::mutex::locking::Phase;
use crate::mutex::majority_votes::{MajorityVotes, Message};

/// The invariants of its proof. The first two hold also if nodes crash and restart, the third if
/// they do not restart.
pub const INVARIANTS: &[Invariant<MajorityVotes>] = &[
    Invariant { name: "one vote an arbiter", holds: one_vote_an_arbiter },
    Invariant { name: "one majority", holds: one_majority },
    Invariant { name: "the younger are asked", holds: the_younger_are_asked },
];

/// A node that has an arbiter's vote, or is sent it, is the one that the arbiter has given it to.
fn one_vote_an_arbiter(at: &Situation<'_, MajorityVotes>) -> Result<(), String> {
    let had = at.up().flat_map(|(id, node)| {
        let (Phase::Waiting(time) | Phase::Inside(time)) = node.phase else { return Vec::new() };
        node.votes.iter().map(|arbiter| (arbiter, Stamp::new(time, id), "has")).collect()
    });
    let sent = at.messages().filter_map(|(arbiter, to, message)| match *message {
        Message::Locked { time } if at.node(to).phase == Phase::Waiting(time) => {
            Some((arbiter, Stamp::new(time, to), "is sent"))
        }
        Message::Locked { .. }
        | Message::Request { .. }
        | Message::Inquire { .. }
        | Message::Relinquish { .. }
        | Message::Release { .. }
        | Message::Restarted { .. } => None,
    });
    let sent = sent.filter(|(_, stamp, _)| !at.is_down(stamp.node));
    let mut all = had.chain(sent);
    match all.find(|&(arbiter, stamp, _)| at.node(arbiter).arbiter.lock != Some(stamp)) {
        None => Ok(()),
        Some((arbiter, stamp, what)) => Err(format!(
            "node {} {what} the vote of arbiter {arbiter}, which has not given it to that node",
            stamp.node
        )),
    }
}

/// Only one node has more than half of all votes.
fn one_majority(at: &Situation<'_, MajorityVotes>) -> Result<(), String> {
    let mut all = at.up().filter(|(_, node)| node.votes.len() >= node.majority() as usize);
    match (all.next(), all.next()) {
        (Some((one, _)), Some((other, _))) => {
            Err(format!("nodes {one} and {other} have the votes of more than half each"))
        }
        (None | Some(_), None) | (None, Some(_)) => Ok(()),
    }
}

/// The holder of a vote for which an older request waits is down or inside, or has been asked for
/// it, or is about to be, or is giving it back.
fn the_younger_are_asked(at: &Situation<'_, MajorityVotes>) -> Result<(), String> {
    let is_under_way = |from: NodeId, to: NodeId, message: Message| {
        at.messages().any(|it| it == (from, to, &message))
    };
    for (id, node) in at.up() {
        let Some(lock) = node.arbiter.lock else { continue };
        if node.arbiter.waiting.last().is_none_or(|first| lock < *first) || at.is_down(lock.node) {
            continue;
        }
        let Stamp { time, node: holder } = lock;
        let knows = match at.node(holder).phase {
            Phase::Waiting(of) => of == time && at.node(holder).inquired.contains(id),
            Phase::Inside(of) => of == time,
            Phase::Outside => false,
        };
        let is_about_to = is_under_way(id, holder, Message::Inquire { time })
            || is_under_way(holder, id, Message::Relinquish { time })
            || is_under_way(holder, id, Message::Release { time });
        if !(knows || is_about_to) {
            return Err(format!(
                "node {holder} has the vote of arbiter {id} and has not been asked for it, though \
                 an older request waits"
            ));
        }
    }
    Ok(())
}
