//! Mistakes of bus reset.

use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, Protocol};

use crate::election::Notice;
use crate::election::bus_reset::{BusReset, Message};
use crate::election::tree_election::{Message as Tree, Timer};
use crate::flaw::Mistake;

/// A message of an earlier generation is taken for one of the current.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaleGeneration;

impl Mistake<BusReset> for StaleGeneration {
    fn on_message(
        self,
        node: &mut BusReset,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<BusReset>,
    ) {
        let at_least = |generation: u32| generation.max(node.generation());
        let message = match message {
            Message::BusReset(it) => Message::BusReset(at_least(it)),
            Message::Tree(Tree::BeMyParent(it)) => Tree::BeMyParent(at_least(it)).into(),
            Message::Tree(Tree::YouAreMyChild(it, root)) => {
                Tree::YouAreMyChild(at_least(it), root).into()
            }
            Message::Tree(Tree::Acknowledged(it)) => Tree::Acknowledged(at_least(it)).into(),
        };
        node.on_message(from, message, fx);
    }
}

/// Who hears of a bus reset does not pass it on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResetNotFlooded;

impl Mistake<BusReset> for ResetNotFlooded {
    fn on_message(
        self,
        node: &mut BusReset,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<BusReset>,
    ) {
        node.on_message(from, message, &mut WithoutNews(fx));
    }
}

/// Sends everything but the news of a reset.
struct WithoutNews<'a, E>(&'a mut E);

impl<E: Effects<BusReset>> Effects<BusReset> for WithoutNews<'_, E> {
    fn send(&mut self, to: NodeId, message: Message) {
        match message {
            Message::BusReset(_) => {}
            Message::Tree(_) => self.0.send(to, message),
        }
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.0.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.0.cancel_timer(timer);
    }
    fn notify(&mut self, notice: Notice) {
        self.0.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.0.choose(bound)
    }
}

/// What comes from a cable that a node has yet to notice is lost without a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EarlyLost;

impl Mistake<BusReset> for EarlyLost {
    fn on_message(
        self,
        node: &mut BusReset,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<BusReset>,
    ) {
        if node.has_cable(from) {
            node.on_message(from, message, fx);
        }
    }
}
