//! What Maekawa's proof and those after it rest on: of locks, of failures and of inquiries.

use alloc::format;
use alloc::string::String;

use vorrang_protocol::{NodeId, Situation};

use crate::clock::Stamp;
use crate::mutex::locking::{Locking, Message, Oldest, Phase, Request, Structure};

/// A node that has an arbiter's lock, or is sent it, is the one that the arbiter has given it to.
pub(in crate::mutex) fn one_lock_an_arbiter<S: Structure>(
    at: &Situation<'_, Locking<S>>,
) -> Result<(), String> {
    let had = at.up().flat_map(|(id, node)| {
        let Request { phase, locked, .. } = &node.request;
        let time = match *phase {
            Phase::Waiting(time) | Phase::Inside(time) => Some(time),
            Phase::Outside => None,
        };
        let stamp = time.map(|time| Stamp::new(time, id));
        locked.iter().filter_map(move |arbiter| Some((arbiter, stamp?, "has")))
    });
    let sent = at.messages().filter_map(|(arbiter, to, message)| match *message {
        Message::Locked { time } if at.node(to).waits_for(arbiter, time) => {
            Some((arbiter, Stamp::new(time, to), "is sent"))
        }
        Message::Locked { .. }
        | Message::Request { .. }
        | Message::Failed { .. }
        | Message::Inquire { .. }
        | Message::Relinquish { .. }
        | Message::Release { .. } => None,
    });
    let is_wrong = |(arbiter, stamp): (NodeId, Stamp)| {
        let arbiter = at.node(arbiter);
        arbiter.structure.is_told_by(stamp.node) && arbiter.arbiter.lock != Some(stamp)
    };
    match had.chain(sent).find(|&(arbiter, stamp, _)| is_wrong((arbiter, stamp))) {
        None => Ok(()),
        Some((arbiter, stamp, what)) => Err(format!(
            "node {} {what} the lock of arbiter {arbiter}, which has not given it to that node",
            stamp.node
        )),
    }
}

/// Every request that waits for an arbiter's lock and is not the oldest there knows, or is about to
/// learn it. If the oldest waits, the holder of the lock is inside, knows, or is about to learn it,
/// or has given it back already.
pub(in crate::mutex) fn those_in_the_way_are_told<S: Structure>(
    at: &Situation<'_, Locking<S>>,
) -> Result<(), String> {
    let is_under_way = |from: NodeId, to: NodeId, message: Message| {
        at.messages().any(|it| it == (from, to, &message))
    };
    for (id, node) in at.up() {
        let Some(oldest) = node.arbiter.oldest() else { continue };
        for &Stamp { time, node: waiter } in &node.arbiter.waiting {
            let Request { phase, failed, .. } = &at.node(waiter).request;
            let knows = *phase == Phase::Waiting(time) && failed.contains(id);
            let is_oldest = oldest == Oldest::Waits(Stamp::new(time, waiter));
            if !(knows || is_oldest || is_under_way(id, waiter, Message::Failed { time })) {
                return Err(format!(
                    "node {waiter} waits for arbiter {id} and has not been told that it is not \
                     the oldest"
                ));
            }
        }
        if let (Oldest::Waits(_), Some(Stamp { time, node: holder })) = (oldest, node.arbiter.lock)
        {
            let Request { phase, inquired, .. } = &at.node(holder).request;
            let knows = match *phase {
                Phase::Waiting(of) => of == time && inquired.contains(id),
                Phase::Inside(of) => of == time,
                Phase::Outside => false,
            };
            let is_about_to = is_under_way(id, holder, Message::Inquire { time })
                || is_under_way(holder, id, Message::Relinquish { time })
                || is_under_way(holder, id, Message::Release { time });
            if !(knows || is_about_to) {
                return Err(format!(
                    "node {holder} has the lock of arbiter {id} and has not been asked for it, \
                     though an older request waits"
                ));
            }
        }
    }
    Ok(())
}

/// No request that was refused somewhere keeps a lock that it was asked for.
pub(in crate::mutex) fn nothing_is_kept_in_vain<S: Structure>(
    at: &Situation<'_, Locking<S>>,
) -> Result<(), String> {
    match at.up().find_map(|(id, node)| Some((id, node.request.obligations()?))) {
        None => Ok(()),
        Some((id, arbiter)) => Err(format!(
            "node {id} cannot have all locks and keeps that of arbiter {arbiter}, which asked for \
             it"
        )),
    }
}
