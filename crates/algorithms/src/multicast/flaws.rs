//! The mistakes that people make with reliable multicast.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Effects, Invariant, NodeId, Protocol as _};

use super::ack::{self, Ack};
use super::body::{Body, Id};
use super::nack::{self, Nack};
use super::ordered::carrier::Carrier;
use super::ordered::{Message, Ordered, Timer};
use super::srm::{self, Srm};
use crate::flaw::{Flawed, Mistake};

/// Duplicates are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoDuplicateFilter;

/// Whether something has been handed up, and what it is.
fn again(handed_up: Option<u64>, number: u64, body: &Body) -> Option<Body> {
    handed_up.filter(|&next| number < next).map(|_| body.clone())
}

impl NoDuplicateFilter {
    fn hand_up<C: Carrier>(
        node: &mut Ordered<C>,
        from: NodeId,
        body: Option<Body>,
        fx: &mut impl Effects<Ordered<C>>,
    ) {
        if let Some(body) = body {
            // It has the number that it had, if it was the last.
            node.heard[from.index()] -= u64::from(body.kind() == 0);
            node.hear(from, body, fx);
        }
    }
}

impl Mistake<Ordered<Ack>> for NoDuplicateFilter {
    fn on_message(
        self,
        node: &mut Ordered<Ack>,
        from: NodeId,
        message: Message<ack::Message>,
        fx: &mut impl Effects<Ordered<Ack>>,
    ) {
        if let Message::Carried(ack::Message::Data { number, body }) = &message {
            let next = node.carrier.inboxes.get(&from).map(|inbox| inbox.next);
            let body = again(next, *number, body);
            Self::hand_up(node, from, body, fx);
        }
        node.on_message(from, message, fx);
    }
}

impl Mistake<Ordered<Nack>> for NoDuplicateFilter {
    fn on_message(
        self,
        node: &mut Ordered<Nack>,
        from: NodeId,
        message: Message<nack::Message>,
        fx: &mut impl Effects<Ordered<Nack>>,
    ) {
        if let Message::Carried(nack::Message::Data { number, body }) = &message {
            let next = node.carrier.streams.get(&from).map(|stream| stream.inbox.next);
            let body = again(next, *number, body);
            Self::hand_up(node, from, body, fx);
        }
        node.on_message(from, message, fx);
    }
}

impl Mistake<Ordered<Srm>> for NoDuplicateFilter {
    fn on_message(
        self,
        node: &mut Ordered<Srm>,
        from: NodeId,
        message: Message<srm::Message>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        let said = match &message {
            Message::Carried(srm::Message::Data { number, body, .. }) => Some((from, number, body)),
            Message::Carried(srm::Message::Repair { of, body, .. }) => {
                Some((of.from, &of.number, body))
            }
            Message::Carried(srm::Message::Request { .. } | srm::Message::Session(_))
            | Message::Mail(_)
            | Message::Member(_) => None,
        };
        if let Some((source, number, body)) = said {
            let next = node.carrier.streams.get(&source).map(|stream| stream.inbox.next);
            let body = again(next, *number, body);
            Self::hand_up(node, source, body, fx);
        }
        node.on_message(from, message, fx);
    }
}

/// A message that one member has is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FreedWhenOneHasIt;

impl Mistake<Ordered<Ack>> for FreedWhenOneHasIt {
    fn on_message(
        self,
        node: &mut Ordered<Ack>,
        from: NodeId,
        message: Message<ack::Message>,
        fx: &mut impl Effects<Ordered<Ack>>,
    ) {
        if let Message::Carried(ack::Message::Ack(number)) = &message {
            for other in node.carrier.others() {
                node.carrier.on_ack(other, *number, fx);
            }
            return node.look(fx);
        }
        node.on_message(from, message, fx);
    }
}

impl Mistake<Ordered<Nack>> for FreedWhenOneHasIt {
    fn on_message(
        self,
        node: &mut Ordered<Nack>,
        from: NodeId,
        message: Message<nack::Message>,
        fx: &mut impl Effects<Ordered<Nack>>,
    ) {
        if let Message::Carried(nack::Message::Digest(upto)) = &message {
            for other in node.carrier.others() {
                node.carrier.on_digest(other, *upto, fx);
            }
            return node.look(fx);
        }
        node.on_message(from, message, fx);
    }
}

/// What is gone is skipped, and nobody is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GapNotReported;

impl Mistake<Ordered<Nack>> for GapNotReported {
    fn on_message(
        self,
        node: &mut Ordered<Nack>,
        from: NodeId,
        message: Message<nack::Message>,
        fx: &mut impl Effects<Ordered<Nack>>,
    ) {
        if let Message::Carried(nack::Message::Gone { first, .. }) = &message
            && let Some(stream) = node.carrier.streams.get_mut(&from)
            && stream.inbox.early.is_empty()
            && stream.inbox.next < *first
        {
            stream.inbox.next = *first;
            node.heard[from.index()] = *first;
        }
        node.on_message(from, message, fx);
    }
}

/// A request for something that was dropped is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GoneNotSaid;

impl Mistake<Ordered<Nack>> for GoneNotSaid {
    fn on_message(
        self,
        node: &mut Ordered<Nack>,
        from: NodeId,
        message: Message<nack::Message>,
        fx: &mut impl Effects<Ordered<Nack>>,
    ) {
        match &message {
            Message::Carried(nack::Message::Nack { first, .. }) if *first < node.carrier.first => {}
            Message::Carried(_) | Message::Mail(_) | Message::Member(_) => {
                node.on_message(from, message, fx);
            }
        }
    }
}

/// Who has crashed is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeverRemoved;

impl Mistake<Ordered<Ack>> for NeverRemoved {
    fn on_timer(
        self,
        node: &mut Ordered<Ack>,
        timer: Timer<ack::Resend>,
        fx: &mut impl Effects<Ordered<Ack>>,
    ) {
        node.carrier.silence.most = None;
        node.on_timer(timer, fx);
    }
}

impl Mistake<Ordered<Nack>> for NeverRemoved {
    fn on_timer(
        self,
        node: &mut Ordered<Nack>,
        timer: Timer<nack::Timer>,
        fx: &mut impl Effects<Ordered<Nack>>,
    ) {
        node.carrier.silence.most = None;
        node.on_timer(timer, fx);
    }
}

impl Mistake<Ordered<Srm>> for NeverRemoved {
    fn on_timer(
        self,
        node: &mut Ordered<Srm>,
        timer: Timer<srm::Timer>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        node.carrier.silence.most = None;
        node.on_timer(timer, fx);
    }
}

/// Senders do not repeat their highest number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoSessions;

impl Mistake<Ordered<Srm>> for NoSessions {
    fn on_timer(
        self,
        node: &mut Ordered<Srm>,
        timer: Timer<srm::Timer>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        match timer {
            Timer::Carrier(srm::Timer::Session) => {}
            timer => node.on_timer(timer, fx),
        }
    }
}

/// A new incarnation takes up what its former one had not acknowledged, and acknowledgements of
/// that one count for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaleIncarnation;

impl<C: Carrier> Mistake<Ordered<C>> for StaleIncarnation {
    fn on_message(
        self,
        node: &mut Ordered<C>,
        from: NodeId,
        message: Message<C::Message>,
        fx: &mut impl Effects<Ordered<C>>,
    ) {
        if let Some(members) = &mut node.members {
            members.resumes = true;
        }
        node.on_message(from, message, fx);
    }
}

/// Every request for a missing message doubles the wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoIgnoreInterval;

impl Mistake<Ordered<Srm>> for NoIgnoreInterval {
    fn on_message(
        self,
        node: &mut Ordered<Srm>,
        from: NodeId,
        message: Message<srm::Message>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        if let Message::Carried(srm::Message::Request { of, .. }) = &message
            && let Some(stream) = node.carrier.streams.get_mut(&of.from)
            && let Some(missing) = stream.missing.get_mut(&of.number)
        {
            missing.is_ignoring = false;
        }
        node.on_message(from, message, fx);
    }
}

/// While two miss the same message and nothing else is lost, the requests for it are of one round:
/// with the waits of the paper all of them arrive before any member repeats its request. This holds
/// for the correct machine where at most one message to each of two members is lost.
fn one_back_off<'a>(carriers: impl Iterator<Item = &'a Srm>) -> Result<(), String> {
    let missing = carriers.flat_map(|carrier| {
        carrier.streams.iter().flat_map(|(&from, stream)| {
            stream.missing.iter().map(move |(&number, it)| (Id { from, number }, it.doublings))
        })
    });
    let mut missing: Vec<(Id, u8)> = missing.collect();
    missing.sort_unstable();
    for pair in missing.windows(2) {
        let [(one, _), (other, doublings)] = *pair else { continue };
        if one == other && doublings > 1 {
            return Err(format!("a wait for {one} was doubled {doublings} times in one round"));
        }
    }
    Ok(())
}

/// The same as an invariant, of those who make the mistake.
pub const ONE_BACK_OFF: &[Invariant<Flawed<Ordered<Srm>>>] = &[Invariant {
    name: "one back-off a round",
    holds: |at| one_back_off((0..at.size() as u32).map(|id| &at.node(NodeId(id)).node().carrier)),
}];

/// The same, of those who do not.
pub const ONE_BACK_OFF_KEPT: &[Invariant<Ordered<Srm>>] = &[Invariant {
    name: "one back-off a round",
    holds: |at| one_back_off((0..at.size() as u32).map(|id| &at.node(NodeId(id)).carrier)),
}];

/// A member that hears the request of another leaves the message to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SuppressedForEver;

impl Mistake<Ordered<Srm>> for SuppressedForEver {
    fn on_message(
        self,
        node: &mut Ordered<Srm>,
        from: NodeId,
        message: Message<srm::Message>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        let asked = match &message {
            Message::Carried(srm::Message::Request { of, .. }) => Some(*of),
            Message::Carried(
                srm::Message::Data { .. } | srm::Message::Repair { .. } | srm::Message::Session(_),
            )
            | Message::Mail(_)
            | Message::Member(_) => None,
        };
        node.on_message(from, message, fx);
        if let Some(of) = asked {
            node.carrier.found(of, fx);
        }
    }
}

/// Every request goes to the neighbourhood, as if it were the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeverWidened;

impl Mistake<Ordered<Srm>> for NeverWidened {
    fn on_timer(
        self,
        node: &mut Ordered<Srm>,
        timer: Timer<srm::Timer>,
        fx: &mut impl Effects<Ordered<Srm>>,
    ) {
        if let Timer::Carrier(srm::Timer::Request(of)) = timer
            && let Some(missing) = node.carrier.stream(of.from).missing.get_mut(&of.number)
        {
            missing.doublings = 0;
        }
        node.on_timer(timer, fx);
    }
}

/// A member asks for whatever it knows to be missing: the lemma on which it rests that a request
/// which was suppressed is made after all if no repair comes.
fn every_gap_is_asked_for<'a>(carriers: impl Iterator<Item = &'a Srm>) -> Result<(), String> {
    for carrier in carriers {
        for (&from, stream) in carrier.streams.iter().filter(|it| *it.0 != carrier.me) {
            let is_left = |number: &u64| !stream.missing.contains_key(number);
            if let Some(number) = stream.inbox.missing(stream.below).find(is_left) {
                let (me, of) = (carrier.me, Id { from, number });
                return Err(format!("node {me} knows that it misses {of} and never asks for it"));
            }
        }
    }
    Ok(())
}

/// The same as an invariant, of those who make the mistake.
pub const EVERY_GAP_IS_ASKED_FOR: &[Invariant<Flawed<Ordered<Srm>>>] = &[Invariant {
    name: "every gap is asked for",
    holds: |at| {
        every_gap_is_asked_for((0..at.size() as u32).map(|id| &at.node(NodeId(id)).node().carrier))
    },
}];

/// The same, of those who do not.
pub const EVERY_GAP_IS_ASKED_FOR_KEPT: &[Invariant<Ordered<Srm>>] = &[Invariant {
    name: "every gap is asked for",
    holds: |at| {
        every_gap_is_asked_for((0..at.size() as u32).map(|id| &at.node(NodeId(id)).carrier))
    },
}];

/// Messages do not carry their causes: delivery is in FIFO order only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CausalByFifoOnly;

impl Mistake<Ordered<Ack>> for CausalByFifoOnly {
    fn edit(mut message: Message<ack::Message>) -> Message<ack::Message> {
        if let Message::Carried(ack::Message::Data { body: Body::After(past, _), .. }) =
            &mut message
        {
            *past = past.0.iter().map(|_| 0).collect();
        }
        message
    }
}

/// The first by stamp is delivered as soon as it is here, and not when all have been heard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeliveredBeforeStable;

impl Mistake<Ordered<Ack>> for DeliveredBeforeStable {
    fn on_message(
        self,
        node: &mut Ordered<Ack>,
        from: NodeId,
        message: Message<ack::Message>,
        fx: &mut impl Effects<Ordered<Ack>>,
    ) {
        let stamp = match &message {
            Message::Carried(ack::Message::Data { body: Body::Stamped(stamp, _), .. }) => *stamp,
            Message::Carried(ack::Message::Data { .. } | ack::Message::Ack(_))
            | Message::Mail(_)
            | Message::Member(_) => 0,
        };
        node.on_message(from, message, fx);
        if stamp > 0 {
            // As if everyone had said something later.
            let mut acts = Vec::new();
            let others = (0..node.heard.len() as u32).filter(|&id| id != node.me.0);
            for id in others.collect::<Vec<_>>() {
                node.order.on_heard(NodeId(id), 0, Body::Clock(stamp + 1), &mut acts);
            }
            node.act(acts, fx);
        }
    }
}
