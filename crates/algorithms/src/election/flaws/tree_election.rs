//! Mistakes of tree election.

use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, Protocol};

use crate::election::Notice;
use crate::election::tree_election::{Message, Timer, TreeElection};
use crate::flaw::Mistake;

/// No coin is tossed: both wait for a short time, and as long as each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EqualWaits;

impl Mistake<TreeElection> for EqualWaits {
    fn on_message(
        self,
        node: &mut TreeElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TreeElection>,
    ) {
        node.on_message(from, message, &mut Alike(fx));
    }
}

/// A coin that always falls on the same side, and a clock that is never late.
struct Alike<'a, E>(&'a mut E);

impl<E: Effects<TreeElection>> Effects<TreeElection> for Alike<'_, E> {
    fn send(&mut self, to: NodeId, message: Message) {
        self.0.send(to, message);
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.0.set_timer(timer, Delay::exactly(delay.min));
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.0.cancel_timer(timer);
    }
    fn notify(&mut self, notice: Notice) {
        self.0.notify(notice);
    }
    fn choose(&mut self, _: NonZeroU32) -> u32 {
        0
    }
}

/// Coins never fall alike, so that what the times of root contention are for can be tried: in the
/// end they decide, or they do not. It is in no list of mistakes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CoinsDiffer;

impl Mistake<TreeElection> for CoinsDiffer {
    fn on_message(
        self,
        node: &mut TreeElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TreeElection>,
    ) {
        let side = u32::from(node.me() < from);
        node.on_message(from, message, &mut Loaded { fx, side });
    }
}

/// A coin that falls on this side.
struct Loaded<'a, E> {
    fx: &'a mut E,
    side: u32,
}

impl<E: Effects<TreeElection>> Effects<TreeElection> for Loaded<'_, E> {
    fn send(&mut self, to: NodeId, message: Message) {
        self.fx.send(to, message);
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, _: NonZeroU32) -> u32 {
        self.side
    }
}

/// A leaf is never the root: it asks even when it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoLeafIsRoot;

impl Mistake<TreeElection> for NoLeafIsRoot {
    fn on_message(
        self,
        node: &mut TreeElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TreeElection>,
    ) {
        if !(node.is_leaf() && matches!(message, Message::BeMyParent(_))) {
            node.on_message(from, message, fx);
        }
    }
}

/// A request from before a reset is taken for an answer to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaleBeMyParent;

impl Mistake<TreeElection> for StaleBeMyParent {
    fn on_message(
        self,
        node: &mut TreeElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TreeElection>,
    ) {
        let message = match message {
            Message::BeMyParent(reset) => Message::BeMyParent(reset.max(node.reset)),
            Message::YouAreMyChild(..) | Message::Acknowledged(_) => message,
        };
        node.on_message(from, message, fx);
    }
}
