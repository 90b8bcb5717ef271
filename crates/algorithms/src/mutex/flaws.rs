//! Known mistakes, each around a correct machine that knows nothing of it.
//!
//! A checker that finds nothing may be looking at nothing. So every mistake that the literature has
//! made with these algorithms can be made here on purpose, and a test requires that the checker
//! finds it, with a shortest run of the expected length. The algorithms' cards describe them.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused, Relay};

use super::ricart_agrawala::{Message, Phase, RicartAgrawala};
use super::{Command, Notice};

/// Ricart–Agrawala as published, where replies carry no clock, with one of the mistakes on its card.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlawedRicartAgrawala {
    node: RicartAgrawala,
    flaw: RicartAgrawalaFlaw,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum RicartAgrawalaFlaw {
    ClockNotAdvanced,
    RepliesCarryNoClock,
    DeferredNeverCleared,
    Majority,
    NoTieBreak,
}

impl FlawedRicartAgrawala {
    /// Puts the mistake of that name around `node`.
    pub fn new(node: RicartAgrawala, flaw: &str) -> Option<Self> {
        let flaw = match flaw {
            "clock-not-advanced" => RicartAgrawalaFlaw::ClockNotAdvanced,
            "replies-carry-no-clock" => RicartAgrawalaFlaw::RepliesCarryNoClock,
            "deferred-never-cleared" => RicartAgrawalaFlaw::DeferredNeverCleared,
            "majority" => RicartAgrawalaFlaw::Majority,
            "no-tie-break" => RicartAgrawalaFlaw::NoTieBreak,
            _ => return None,
        };
        Some(Self { node, flaw })
    }

    /// The inner machine's effects, its replies as the paper has them.
    fn relay<E>(fx: &mut E) -> Relay<'_, Self, Message, E> {
        Relay::editing(fx, without_clock)
    }

    /// Counts a reply without looking which request it answers.
    fn on_any_reply(&mut self, from: NodeId, clock: u64, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { time, .. } = self.node.phase {
            self.node.on_message(from, Message::Reply { time, clock }, &mut Self::relay(fx));
        }
    }

    /// Keeps one flag per node, as the code does that this is taken from.
    fn defer_once(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let flagged = self.node.deferred.iter().position(|request| request.node == from);
        let flagged = flagged.map(|place| self.node.deferred.remove(place));
        self.node.on_message(from, message, &mut Self::relay(fx));
        if let Some(old) = flagged
            && self.node.deferred.iter().all(|request| request.node != from)
        {
            let place = self.node.deferred.partition_point(|request| *request < old);
            self.node.deferred.insert(place, old);
        }
    }

    fn asked_at(&self, time: u64) -> bool {
        matches!(self.node.phase, Phase::Waiting { time: ours, .. } if ours == time)
    }

    fn enter_with_a_majority(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { missing, .. } = &self.node.phase {
            let size = self.node.group.size() as usize;
            let votes = size - missing.len();
            if 2 * votes > size {
                self.node.phase = Phase::Inside;
                fx.notify(Notice::Entered);
            }
        }
    }
}

impl Protocol for FlawedRicartAgrawala {
    type Message = Message;
    type Timer = <RicartAgrawala as Protocol>::Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let deferred = self.node.deferred.clone();
        self.node.on_command(command, &mut Self::relay(fx))?;
        if self.flaw == RicartAgrawalaFlaw::DeferredNeverCleared && command == Command::Release {
            self.node.deferred = deferred;
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match (self.flaw, message) {
            (RicartAgrawalaFlaw::ClockNotAdvanced, Message::Request { .. }) => {
                let clock = self.node.clock;
                self.node.on_message(from, message, &mut Self::relay(fx));
                self.node.clock = clock;
            }
            (RicartAgrawalaFlaw::DeferredNeverCleared, Message::Request { .. }) => {
                self.defer_once(from, message, fx);
            }
            (RicartAgrawalaFlaw::DeferredNeverCleared, Message::Reply { clock, .. }) => {
                self.on_any_reply(from, clock, fx);
            }
            (RicartAgrawalaFlaw::Majority, Message::Reply { .. }) => {
                self.node.on_message(from, message, &mut Self::relay(fx));
                self.enter_with_a_majority(fx);
            }
            (RicartAgrawalaFlaw::NoTieBreak, Message::Request { time }) if self.asked_at(time) => {
                fx.send(from, Message::Reply { time, clock: 0 });
            }
            (
                RicartAgrawalaFlaw::RepliesCarryNoClock
                | RicartAgrawalaFlaw::NoTieBreak
                | RicartAgrawalaFlaw::Majority,
                Message::Request { .. },
            )
            | (
                RicartAgrawalaFlaw::RepliesCarryNoClock
                | RicartAgrawalaFlaw::NoTieBreak
                | RicartAgrawalaFlaw::ClockNotAdvanced,
                Message::Reply { .. },
            ) => self.node.on_message(from, message, &mut Self::relay(fx)),
        }
    }
}

/// A reply as the paper has it.
fn without_clock(message: Message) -> Message {
    match message {
        Message::Reply { time, .. } => Message::Reply { time, clock: 0 },
        Message::Request { .. } => message,
    }
}
