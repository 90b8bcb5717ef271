//! Invariants of the proofs, for every arbiter.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, Situation};

use super::arbiter::Arbiter;
use super::message::Message;
use super::{ArbiterState, CaoSinghal, Phase};
use crate::clock::Stamp;

/// A permission, wherever it is: of which arbiter, of which epoch, whose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    arbiter: NodeId,
    epoch: u64,
    by: NodeId,
}

/// Permissions at those who have them, on their way there and on their way back.
fn permissions(at: &Situation<'_, CaoSinghal>) -> Vec<Held> {
    let mut all = Vec::new();
    for (by, node) in at.up() {
        let epochs: Vec<Option<u64>> = match &node.phase {
            Phase::Outside => Vec::new(),
            Phase::Waiting { arbiter_states, .. } => {
                arbiter_states.iter().map(ArbiterState::epoch).collect()
            }
            Phase::Inside(permissions) => {
                permissions.iter().map(|it| it.map(|it| it.epoch)).collect()
            }
        };
        for (&arbiter, epoch) in node.schedule.quorum().iter().zip(epochs) {
            all.extend(epoch.map(|epoch| Held { arbiter, epoch, by }));
        }
        let epoch = node.arbiter.epoch + 1;
        all.extend(node.arbiter.early.map(|early| Held { arbiter: by, epoch, by: early }));
    }
    all.extend(at.messages().filter_map(|(from, to, message)| match *message {
        Message::Reply { arbiter, epoch, .. } => Some(Held { arbiter, epoch, by: to }),
        Message::Yield { epoch } | Message::Release { epoch, next: None } => {
            Some(Held { arbiter: to, epoch, by: from })
        }
        Message::Request { .. }
        | Message::Fail { .. }
        | Message::Transfer { .. }
        | Message::Release { next: Some(_), .. } => None,
    }));
    all
}

/// Messages in flight to an arbiter that report a forwarded permission: epoch, sender and new
/// holder.
fn news(at: &Situation<'_, CaoSinghal>, of: NodeId) -> Vec<(u64, NodeId, Stamp)> {
    let handed_on = at.messages().filter_map(|(from, to, message)| match *message {
        Message::Release { epoch, next: Some(next) } if to == of => Some((epoch, from, next)),
        Message::Release { .. }
        | Message::Request { .. }
        | Message::Reply { .. }
        | Message::Fail { .. }
        | Message::Transfer { .. }
        | Message::Yield { .. } => None,
    });
    handed_on.collect()
}

/// A locked arbiter has one permission outside, and a free one none. It is with the request that
/// the arbiter has noted, or, while the report is in flight, with the one that it was forwarded to,
/// an epoch later.
pub(in crate::mutex) fn one_permission(at: &Situation<'_, CaoSinghal>) -> Result<(), String> {
    let all = permissions(at);
    for (id, node) in at.up() {
        let Arbiter { lock, epoch, waiting, .. } = &node.arbiter;
        let held: Vec<Held> = all.iter().copied().filter(|it| it.arbiter == id).collect();
        let wanted = match (lock, &news(at, id)[..]) {
            (None, []) => None,
            (Some(lock), []) => Some((*epoch, lock.node)),
            (Some(lock), [(old, from, next)])
                if (*old, *from) == (*epoch, lock.node) && waiting.contains(next) =>
            {
                Some((*epoch + 1, next.node))
            }
            (_, [(old, from, _), ..]) => {
                return Err(format!(
                    "node {from} has handed on the permission of arbiter {id} in epoch {old}, \
                     which it did not have"
                ));
            }
        };
        let wanted = wanted.map(|(epoch, by)| Held { arbiter: id, epoch, by });
        if held.iter().copied().ne(wanted) {
            let shown = |it: &Held| format!("node {} in epoch {}", it.by, it.epoch);
            let held: Vec<String> = held.iter().map(shown).collect();
            return Err(format!(
                "the permission of arbiter {id} should be with {}, and is with [{}]",
                wanted.as_ref().map_or("nobody".into(), shown),
                held.join(", ")
            ));
        }
    }
    Ok(())
}

/// A request that waits at an arbiter knows that another goes first there, or is being told; except
/// the oldest waiting one, if it is older than the holder's. Then that one knows that it is to give
/// it back if it does not get in, or is being told, or gives it back or on.
pub(in crate::mutex) fn nobody_hopes_in_vain(at: &Situation<'_, CaoSinghal>) -> Result<(), String> {
    for (id, node) in at.up() {
        let Arbiter { lock: Some(lock), epoch, waiting, .. } = &node.arbiter else { continue };
        let handed_to: Vec<Stamp> = news(at, id).iter().map(|it| it.2).collect();
        for (place, waiter) in waiting.iter().enumerate() {
            let may_hope = place == 0 && waiter < lock;
            if may_hope && !is_asked(at, (id, *epoch), lock.node) {
                return Err(format!(
                    "node {} waits at arbiter {id} and is older than the request of node {}, \
                     which was not asked to yield",
                    waiter.node, lock.node
                ));
            }
            if !may_hope && !handed_to.contains(waiter) && !knows(at, id, *waiter) {
                return Err(format!(
                    "node {} waits at arbiter {id} behind others and does not know it",
                    waiter.node
                ));
            }
        }
    }
    Ok(())
}

/// Whether a node with, or about to have, an arbiter's permission of this epoch knows that it is
/// wanted back, or is being told, or need not know because it will give it away.
fn is_asked(at: &Situation<'_, CaoSinghal>, (arbiter, epoch): (NodeId, u64), by: NodeId) -> bool {
    let node = at.node(by);
    let remembers = match (&node.phase, node.place(arbiter)) {
        (Phase::Inside(permissions), Some(place)) => {
            permissions[place].is_some_and(|it| it.epoch == epoch)
        }
        (Phase::Waiting { arbiter_states, .. }, Some(place)) => match arbiter_states[place] {
            ArbiterState::Granted { permission, inquired } => inquired && permission.epoch == epoch,
            ArbiterState::Asked { ahead: Some(ahead), .. } => {
                ahead.inquired && ahead.epoch == epoch
            }
            ArbiterState::Asked { ahead: None, .. } => false,
        },
        (Phase::Outside | Phase::Waiting { .. } | Phase::Inside(_), _) => false,
    };
    let is_under_way = |(from, to, message): (NodeId, NodeId, &Message)| match *message {
        Message::Transfer { epoch: of, inquire, .. } => {
            (from, to, of, inquire) == (arbiter, by, epoch, true)
        }
        Message::Yield { epoch: of } | Message::Release { epoch: of, .. } => {
            (from, to, of) == (by, arbiter, epoch)
        }
        Message::Request { .. } | Message::Reply { .. } | Message::Fail { .. } => false,
    };
    remembers || at.is_down(by) || at.messages().any(is_under_way)
}

/// Whether the node of a request knows, or is being told, that it must wait at an arbiter.
fn knows(at: &Situation<'_, CaoSinghal>, arbiter: NodeId, request: Stamp) -> bool {
    let fail = Message::Fail { time: request.time };
    let node = at.node(request.node);
    let has_failed = match (&node.phase, node.place(arbiter)) {
        (Phase::Waiting { time, arbiter_states }, Some(place)) => {
            *time == request.time && arbiter_states[place].has_failed()
        }
        (Phase::Outside | Phase::Waiting { .. } | Phase::Inside(_), _) => false,
    };
    has_failed
        || at.is_down(request.node)
        || at.messages().any(|it| it == (arbiter, request.node, &fail))
}
