//! Maekawa's algorithm with the rules against deadlock as they are commonly printed, each with one
//! of the corrections missing.

use vorrang_protocol::{Effects, NodeId};

use crate::clock::Stamp;
use crate::flaw::Mistake;
use crate::mutex::locking::{Message, Oldest, Phase, Request};
use crate::mutex::maekawa::Maekawa;
use crate::mutex::maekawa_basic::MaekawaBasic;
use crate::mutex::self_messages::{HandlesSelfMessages as _, MishandlesSelfMessages};

/// Nothing wrong with the code: for nodes that ask at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsItIs;

impl Mistake<MaekawaBasic> for AsItIs {}

/// A waiting request that an older one overtakes is not told: a request that is asked for its lock,
/// and was refused nowhere, keeps it in the belief that it may get all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OvertakenNotTold;

impl MishandlesSelfMessages<Maekawa> for OvertakenNotTold {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        if let (Message::Request { time }, Some(Oldest::Waits(first))) =
            (message, node.arbiter.oldest())
            && Stamp::new(time, from) < first
        {
            node.clock.witness(time);
            node.arbiter.enqueue(Stamp::new(time, from));
        } else {
            node.hear(from, message, fx);
        }
    }
}

/// A lock that was given back does not count as refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GivenBackForgotten;

impl MishandlesSelfMessages<Maekawa> for GivenBackForgotten {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        let locked = node.request.locked.clone();
        node.hear(from, message, fx);
        for arbiter in locked.iter().filter(|&it| !node.request.locked.contains(it)) {
            node.request.failed.remove(arbiter);
        }
    }
}

/// A refusal answers one remembered inquiry, and the others stay remembered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OneInquiryAnswered;

impl MishandlesSelfMessages<Maekawa> for OneInquiryAnswered {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        let mut others = node.request.inquired.clone();
        let first = others.iter().next();
        match (message, first) {
            (Message::Failed { .. }, Some(first)) => {
                others.remove(first);
                node.request.inquired = [first].into_iter().collect();
                node.hear(from, message, fx);
                node.request.inquired.extend_from(&others);
            }
            _ => node.hear(from, message, fx),
        }
    }
}

/// That a request was refused is one flag, and any lock clears it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OneFlagForAll;

impl MishandlesSelfMessages<Maekawa> for OneFlagForAll {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        if let Message::Locked { .. } = message {
            node.request.failed.clear();
        }
        node.hear(from, message, fx);
    }
}

/// Messages do not name requests, and an inquiry is remembered until it is answered: one that comes
/// when its request is over is answered by the next, though another node may have the lock by then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InquiryOutlivesRequest;

impl MishandlesSelfMessages<Maekawa> for InquiryOutlivesRequest {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        let remembered = node.request.inquired.clone();
        match (message, node.request.phase, node.arbiter.lock) {
            (Message::Inquire { .. }, Phase::Waiting(time), _) => {
                node.hear(from, Message::Inquire { time }, fx);
                answer_all(node, fx);
            }
            (Message::Inquire { .. }, Phase::Outside | Phase::Inside(_), _) => {
                node.request.inquired.insert(from);
            }
            (Message::Relinquish { .. }, _, Some(Stamp { time, node: holder })) => {
                node.hear(holder, Message::Relinquish { time }, fx);
            }
            _ => {
                node.hear(from, message, fx);
                match node.request.phase {
                    Phase::Waiting(_) => answer_all(node, fx),
                    Phase::Outside | Phase::Inside(_) => node.request.inquired = remembered,
                }
            }
        }
    }
}

/// A refused request answers all inquiries that it remembers, also for a lock that it does not
/// have.
fn answer_all(node: &mut Maekawa, fx: &mut impl Effects<Maekawa>) {
    let Request { phase, failed, inquired, .. } = &mut node.request;
    if let (Phase::Waiting(time), false) = (*phase, failed.is_empty()) {
        for arbiter in inquired.iter() {
            failed.insert(arbiter);
            fx.send(arbiter, Message::Relinquish { time });
        }
        inquired.clear();
    }
}

/// An inquiry that overtakes the lock that it is about is answered at once; then the lock comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AnsweredBeforeLocked;

impl MishandlesSelfMessages<Maekawa> for AnsweredBeforeLocked {
    fn hear(node: &mut Maekawa, from: NodeId, message: Message, fx: &mut impl Effects<Maekawa>) {
        if let (Message::Inquire { time }, Phase::Waiting(own)) = (message, node.request.phase)
            && time == own
            && !node.request.failed.is_empty()
        {
            node.request.locked.insert(from);
        }
        node.hear(from, message, fx);
    }
}
