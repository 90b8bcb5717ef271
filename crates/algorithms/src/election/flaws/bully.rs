//! Mistakes of bully as it is printed, and of implementations.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{
    Delay, Effects, Group, Invariant, NodeId, NodeState, Protocol, Refused, StateValue,
};

use crate::election::bully::{Bully, Message, Timeouts};
use crate::election::{Command, Notice};
use crate::flaw::Mistake;
use crate::setup::Setup;

/// A node that was answered waits for the result for ever: if all that answered crash, no leader is
/// elected.
pub fn no_second_time_out(me: NodeId, setup: &Setup) -> Bully {
    let patience = Timeouts { result: None, ..Timeouts::new(setup.within, setup.late) };
    Bully::with(me, setup.group, patience)
}

/// The time-out is one message long and not two: an answer that is in time comes too late.
pub fn short_time_out(me: NodeId, setup: &Setup) -> Bully {
    let answer = Delay::exactly(setup.within);
    let patience = Timeouts { answer, ..Timeouts::new(setup.within, setup.late) };
    Bully::with(me, setup.group, patience)
}

/// Elections have no number: nodes follow the leader that they hear last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unnumbered;

impl Mistake<Bully> for Unnumbered {
    fn on_message(
        self,
        node: &mut Bully,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Bully>,
    ) {
        match message {
            Message::Coordinator(_) if from > node.me => node.follow(from, fx),
            Message::Coordinator(_)
            | Message::Election(_)
            | Message::Answer(_)
            | Message::Outdated(_) => node.on_message(from, message, fx),
        }
    }
}

/// The code as it is printed: a node that is asked holds an election, whether it holds one or not.
/// Each election asks all higher nodes, has a time-out of its own, and without an answer informs
/// all lower nodes.
///
/// Let `e(j)` be how many elections node `j` holds: one for every question from below, so as many
/// as all below hold together. With one caller that is 1, 1, 2, 4, 8, …
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unguarded {
    me: NodeId,
    group: Group,
    within: Duration,
    /// The elections that it holds and in which no node has answered yet.
    held: Vec<u32>,
}

/// The invariant that is violated.
pub const INVARIANTS: &[Invariant<Unguarded>] = &[Invariant {
    name: "one election at a time",
    holds: |now| match now.up().find(|(_, node)| node.held.len() > 1) {
        None => Ok(()),
        Some((id, node)) => Err(format!("node {id} holds {} at a time", node.held.len())),
    },
}];

impl Unguarded {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self { me, group: setup.group, within: setup.within, held: Vec::new() }
    }

    fn hold_election(&mut self, fx: &mut impl Effects<Self>) {
        let me = self.me;
        let higher = self.group.members().filter(move |&id| id > me);
        if higher.clone().next().is_none() {
            return self.lead(fx);
        }
        fx.broadcast(higher, Message::Election(0));
        let number = (0..=self.held.len() as u32)
            .find(|number| !self.held.contains(number))
            .unwrap_or_default();
        self.held.push(number);
        fx.set_timer(number, Delay::exactly(self.within.saturating_mul(2)));
    }

    fn lead(&self, fx: &mut impl Effects<Self>) {
        let me = self.me;
        fx.broadcast(self.group.members().filter(move |&id| id < me), Message::Coordinator(0));
        fx.notify(Notice::Leader(me));
    }
}

impl Protocol for Unguarded {
    type Message = Message;
    type Timer = u32;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.hold_election(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(_) => {
                fx.send(from, Message::Answer(0));
                self.hold_election(fx);
            }
            Message::Answer(_) => {
                for number in self.held.drain(..) {
                    fx.cancel_timer(number);
                }
            }
            Message::Coordinator(_) if from < self.me => self.hold_election(fx),
            Message::Coordinator(_) => fx.notify(Notice::Leader(from)),
            Message::Outdated(_) => {}
        }
    }

    fn on_timer(&mut self, number: u32, fx: &mut impl Effects<Self>) {
        self.held.retain(|&it| it != number);
        self.lead(fx);
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.hold_election(fx);
    }

    fn state(&self) -> NodeState {
        NodeState::new().with("holds", StateValue::list(self.held.iter().copied()))
    }
}

/// A crash takes the number of the last election along.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NumberForgotten;

impl Mistake<Bully> for NumberForgotten {
    fn after_crash(self, _: &Bully, fresh: Bully) -> Bully {
        fresh
    }
}
