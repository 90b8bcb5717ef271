//! Ricart–Agrawala as published, where replies carry no clock, and what else can be wrong with it.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::clock::Stamp;
use crate::flaw::Mistake;
use crate::mutex::ricart_agrawala::{Message, Phase, RicartAgrawala};
use crate::mutex::{Command, Notice};

/// A reply as the paper has it.
fn without_clock(message: Message) -> Message {
    match message {
        Message::Reply { time, .. } => Message::Reply { time, clock: 0 },
        Message::Request { .. } => message,
    }
}

/// The algorithm as published: safe and live, but requests may be overtaken by ones they caused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RepliesCarryNoClock;

impl Mistake<RicartAgrawala> for RepliesCarryNoClock {
    fn edit(message: Message) -> Message {
        without_clock(message)
    }
}

/// Receiving a request leaves the clock as it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClockNotAdvanced;

impl Mistake<RicartAgrawala> for ClockNotAdvanced {
    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        let clock = node.clock;
        node.on_message(from, message, fx);
        node.clock = clock;
    }

    fn edit(message: Message) -> Message {
        without_clock(message)
    }
}

/// Deferred replies are flags that a release forgets to clear, and replies are only counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeferredNeverCleared;

impl Mistake<RicartAgrawala> for DeferredNeverCleared {
    fn on_command(
        self,
        node: &mut RicartAgrawala,
        command: Command,
        fx: &mut impl Effects<RicartAgrawala>,
    ) -> Result<(), Refused> {
        let deferred = node.deferred.clone();
        node.on_command(command, fx)?;
        if command == Command::Release {
            node.deferred = deferred;
        }
        Ok(())
    }

    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        match (message, &node.phase) {
            (Message::Reply { clock, .. }, Phase::Waiting { time, missing }) => {
                // The first missing node counts as having replied: the set is used as a count.
                let counted = missing.iter().next().unwrap_or(from);
                node.on_message(counted, Message::Reply { time: *time, clock }, fx);
            }
            (Message::Reply { .. }, Phase::Outside | Phase::Inside) => {}
            (Message::Request { .. }, _) => {
                let is_from = |request: &Stamp| request.node == from;
                let flag = node.deferred.iter().position(is_from);
                let flag = flag.map(|place| node.deferred.remove(place));
                node.on_message(from, message, fx);
                // A flag stays as it was unless it was raised anew.
                if !node.deferred.iter().any(is_from) {
                    node.deferred.extend(flag);
                    node.deferred.sort();
                }
            }
        }
    }

    fn edit(message: Message) -> Message {
        // All replies look the same.
        match message {
            Message::Reply { .. } => Message::Reply { time: 0, clock: 0 },
            Message::Request { .. } => message,
        }
    }
}

/// More than half of the nodes, the asker included, are enough.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Majority;

impl Mistake<RicartAgrawala> for Majority {
    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        node.on_message(from, message, fx);
        if let Phase::Waiting { missing, .. } = &node.phase {
            let size = node.group.size() as usize;
            if 2 * (size - missing.len()) > size {
                node.phase = Phase::Inside;
                fx.notify(Notice::Entered);
            }
        }
    }

    fn edit(message: Message) -> Message {
        without_clock(message)
    }
}

/// Two requests of the same time have no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoTieBreak;

impl Mistake<RicartAgrawala> for NoTieBreak {
    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        match (message, &node.phase) {
            (Message::Request { time }, Phase::Waiting { time: ours, .. }) if time == *ours => {
                fx.send(from, Message::Reply { time, clock: 0 });
            }
            (Message::Request { .. } | Message::Reply { .. }, _) => {
                node.on_message(from, message, fx);
            }
        }
    }

    fn edit(message: Message) -> Message {
        without_clock(message)
    }
}

/// Whoever hears of an older request while it waits pretends to have asked before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StampLowered;

impl Mistake<RicartAgrawala> for StampLowered {
    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        let me = node.me;
        if let (Message::Request { time: theirs }, Phase::Waiting { time, .. }) =
            (message, &mut node.phase)
            && Stamp::new(theirs, from) < Stamp::new(*time, me)
        {
            *time = theirs.saturating_sub(1);
        }
        node.on_message(from, message, fx);
    }
}

/// Clocks are not advanced by requests, and this time it does no harm on FIFO links: whoever waits
/// and replies to one whose own reply it has gives that up and asks again, as Carvalho and
/// Roucairol do. It is in no list of mistakes; it shows what the third condition on requests is
/// about ([`lemmas`](crate::mutex::lemmas::ricart_agrawala)).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RepliesGivenUp;

impl Mistake<RicartAgrawala> for RepliesGivenUp {
    fn on_message(
        self,
        node: &mut RicartAgrawala,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RicartAgrawala>,
    ) {
        let clock = node.clock;
        node.on_message(from, message, fx);
        node.clock = clock;
        let is_deferred = node.deferred.iter().any(|request| request.node == from);
        if let (Message::Request { .. }, Phase::Waiting { time, missing }) =
            (message, &mut node.phase)
            && !is_deferred
            && missing.insert(from)
        {
            fx.send(from, Message::Request { time: *time });
        }
    }

    fn edit(message: Message) -> Message {
        without_clock(message)
    }
}
