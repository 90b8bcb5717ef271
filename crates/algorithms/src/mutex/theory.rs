//! Costs that several algorithms share, in units of the one-way delay T.

use vorrang_protocol::NodeId;

use super::card::{Card, Load, Setting};
use crate::card::{Quantity, Span};
use crate::quorum::QuorumSystem;
use crate::setup::Setup;

/// The response of an algorithm that asks everyone and hands over in one message delay.
///
/// Alone, a request goes out and its answers come back. Under saturation the last of all contenders
/// waits for all others; the first of a burst finds no node inside.
pub(super) fn round_trip_or_queue(at: &Setting) -> Span {
    queue_of(at.contenders, 1.0, at)
}

/// The response where `ahead` contenders at most are served in turn, with a hand-over of `delay`.
pub(super) fn queue_of(ahead: u32, delay: f64, at: &Setting) -> Span {
    let alone = if at.nodes() == 1 { at.hold } else { 2.0 + at.hold };
    match at.load {
        Load::Light => Span::exactly(alone),
        Load::Heavy => Span::between(alone, f64::from(ahead) * (delay + at.hold) + 2.0 - delay),
    }
}

/// The busiest node's share where every node talks to every other: an even share if all ask evenly,
/// everything that one node sends and receives if only one ever asks.
pub(super) fn handled_by_all(messages: f64, at: &Setting) -> Span {
    Span::between(2.0 * messages / f64::from(at.nodes()), messages)
}

/// Where nodes lock the members of their quorums: the time from an exit to the next entry at most,
/// in T, if no request with an older stamp comes meanwhile. After one T the locks of the leaver are
/// back, and all waiting requests have arrived; after two all requests that block others know it,
/// after three their locks are back as well, and after four the youngest of those that were refused
/// nowhere has all its locks.
pub(super) const MOST_LOCKING_DELAY: f64 = 4.0;

/// The quorums of a set-up.
pub(super) fn system(at: &Setting) -> QuorumSystem {
    // Costs are asked for set-ups that nodes can be made for.
    at.setup.quorum.system(at.setup.group).expect("a quorum system")
}

/// The cost of an entry from its cost for each contender with each of its quorums: the least, the
/// most, and the mean if all ask equally often.
pub(super) fn of_quorums(at: &Setting, cost: impl Fn(NodeId, &[NodeId]) -> f64) -> Span {
    let system = system(at);
    let (mut low, mut high, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
    for id in (0..at.contenders).map(NodeId) {
        for turn in 0..system.turns() {
            let cost = cost(id, &system.of_turn(id, turn));
            (low, high, sum) = (low.min(cost), high.max(cost), sum + cost);
        }
    }
    if low >= high {
        return Span::exactly(low);
    }
    let many = f64::from(at.contenders) * system.turns() as f64;
    Span::between(low, high).typically(sum / many)
}

/// How many of a quorum are other nodes.
pub(super) fn others(me: NodeId, quorum: &[NodeId]) -> f64 {
    quorum.iter().filter(|&&id| id != me).count() as f64
}

/// The response time of a quorum algorithm without contention: a round trip, unless the quorum is
/// the node itself.
pub(super) fn round_trip(at: &Setting) -> Span {
    of_quorums(at, |me, quorum| at.hold + if others(me, quorum) > 0.0 { 2.0 } else { 0.0 })
}

/// The least time from an exit to the next entry where quorums meet: one message, unless a node
/// whose quorum is itself enters again.
pub(super) fn least_hand_over(at: &Setting) -> f64 {
    of_quorums(at, |me, quorum| if others(me, quorum) > 0.0 { 1.0 } else { 0.0 }).low
}

/// The busiest node's share of so many messages: an even one at least, and all at most.
pub(super) fn handled_by_some(messages: Span, at: &Setting) -> Span {
    Span::between(2.0 * messages.low / f64::from(at.nodes()), messages.high)
}

/// As long as no node times out, all costs are those of the algorithm inside, with this set-up.
pub(super) fn like(card: &Card, of: Quantity, at: &Setting, setup: Setup) -> Span {
    let span = card.cost(of, &Setting { setup, ..at.clone() });
    let span = span.expect("these cards know what they cost");
    if at.hold <= 1.0 { span } else { Span::between(span.low, f64::INFINITY) }
}
