//! Why the one whose vote is over goes first: three conditions on all other requests.
//!
//! Take a node x that waits with the stamp Cx, and a node y whose reply it has: between the two the
//! vote is over. A request of y that is still to be served belongs to one of three groups, and of
//! each something must hold, since stamps could change while others still vote:
//!
//! | x knows the request, and its stamp was | condition |
//! | --- | --- |
//! | lower than Cx: x has replied | 1: it is served, or has taken a higher stamp |
//! | higher than Cx: x defers its reply | 2: it does not take a lower stamp than Cx |
//! | x does not know it: it is under way | 3: it has a higher stamp than Cx |
//!
//! All three follow from two rules: a stamp stays as it was when the request was made, and whoever
//! receives a request sets its clock to at least its time before it replies. Together they say
//! that nobody whose reply x has is before x, and so that of two nodes one waits for the other.
//!
//! The third is sufficient, not necessary. Whoever does not advance its clock may give the reply
//! and then ask with a lower stamp; that does no harm on FIFO links if the other then gives up the
//! reply that it has, replies and asks this one again, which is what Carvalho and Roucairol do.

use alloc::format;
use alloc::string::String;

use vorrang_protocol::{Invariant, NodeId, Situation};

use crate::clock::Stamp;
use crate::mutex::ricart_agrawala::{Message, Phase, RicartAgrawala};

/// The three conditions, in their order.
pub const INVARIANTS: &[Invariant<RicartAgrawala>] = &[
    Invariant { name: "known older served", holds: known_older_are_served },
    Invariant { name: "known younger stay younger", holds: known_younger_stay_younger },
    Invariant { name: "unknown younger", holds: unknown_are_younger },
];

/// A request, as another node that waits sees it.
struct Pair {
    /// The request of the one who waits.
    ours: Stamp,
    /// The other node.
    other: NodeId,
    /// The time of the other's request as it is now, unless it is inside with it.
    theirs: Option<u64>,
    /// Whether the one who waits has the other's reply.
    is_over: bool,
    /// What the one who waits knows of the other's request.
    known: Known,
}

/// What a node knows of another's request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It has replied.
    Answered,
    /// It defers its reply to a request of this stamp.
    Deferred(Stamp),
    /// The request is under way, with this stamp.
    UnderWay(Stamp),
}

/// Every node that waits beside every other that waits or is inside.
fn pairs<'a>(at: &'a Situation<'_, RicartAgrawala>) -> impl Iterator<Item = Pair> + 'a {
    let waiting = at.up().filter_map(|(id, node)| match &node.phase {
        Phase::Waiting { time, missing } => Some((Stamp::new(*time, id), node, missing)),
        Phase::Outside | Phase::Inside => None,
    });
    waiting.flat_map(move |(ours, node, missing)| {
        let others = at.up().filter(move |&(other, _)| other != ours.node);
        others.filter_map(move |(other, it)| {
            let theirs = match it.phase {
                Phase::Outside => return None,
                Phase::Waiting { time, .. } => Some(time),
                Phase::Inside => None,
            };
            let under_way = at.messages().find_map(|(from, to, message)| match *message {
                Message::Request { time } if (from, to) == (other, ours.node) => {
                    Some(Known::UnderWay(Stamp::new(time, other)))
                }
                Message::Request { .. } | Message::Reply { .. } => None,
            });
            let deferred = node.deferred.iter().find(|stamp| stamp.node == other);
            let deferred = deferred.map(|stamp| Known::Deferred(*stamp));
            let known = under_way.or(deferred).unwrap_or(Known::Answered);
            Some(Pair { ours, other, theirs, is_over: !missing.contains(other), known })
        })
    })
}

/// Condition 1: a request to which a waiting node has replied is served, or has a higher stamp,
/// once that node has the reply of whoever made it.
fn known_older_are_served(at: &Situation<'_, RicartAgrawala>) -> Result<(), String> {
    let is_served = |it: &Pair| {
        let is_later = |time| Stamp::new(time, it.other) > it.ours;
        it.theirs.is_some_and(is_later)
    };
    let mut answered = pairs(at).filter(|it| it.is_over && it.known == Known::Answered);
    answered.find(|it| !is_served(it)).map_or(Ok(()), |it| {
        let Pair { ours, other, .. } = it;
        Err(format!(
            "node {} waits with the stamp {} and has the reply of node {other}, to whose older \
             request it has replied and which is not done with it",
            ours.node,
            shown(ours)
        ))
    })
}

/// Condition 2: a request that a waiting node defers as younger does not become an older one.
fn known_younger_stay_younger(at: &Situation<'_, RicartAgrawala>) -> Result<(), String> {
    for Pair { ours, other, theirs, known, .. } in pairs(at) {
        let now = theirs.map(|time| Stamp::new(time, other));
        if let (Known::Deferred(stamp), Some(now)) = (known, now)
            && stamp > ours
            && now < ours
        {
            return Err(format!(
                "node {} waits with the stamp {} and knows of the request {}, which has become {}",
                ours.node,
                shown(ours),
                shown(stamp),
                shown(now)
            ));
        }
    }
    Ok(())
}

/// Condition 3: a request that has yet to reach a waiting node has a higher stamp, once that node
/// has the reply of whoever made it.
fn unknown_are_younger(at: &Situation<'_, RicartAgrawala>) -> Result<(), String> {
    for Pair { ours, other, theirs, is_over, known } in pairs(at) {
        // A copy of an earlier request of the other is none of the requests still to be served.
        if let Known::UnderWay(stamp) = known
            && is_over
            && theirs == Some(stamp.time)
            && stamp < ours
        {
            return Err(format!(
                "node {} waits with the stamp {} and has the reply of node {other}, whose request \
                 {} is on its way",
                ours.node,
                shown(ours),
                shown(stamp)
            ));
        }
    }
    Ok(())
}

fn shown(stamp: Stamp) -> String {
    format!("({}, {})", stamp.time, stamp.node)
}
