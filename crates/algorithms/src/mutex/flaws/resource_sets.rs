//! Resources that are taken one after the other: a lock for each, and no order in which to ask.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effect, Effects, Group, Never, NodeId, Outbox, Protocol, Refused};

use crate::mutex::ricart_agrawala::{self, RicartAgrawala};
use crate::mutex::{
    ALREADY_INSIDE, ALREADY_WAITING, CLAIM_NOT_GRANTED, Claim, Command, NOT_INSIDE, Notice,
    Resources,
};

/// A message of the lock of one resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Message {
    resource: u8,
    of: ricart_agrawala::Message,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        <ricart_agrawala::Message as vorrang_protocol::Message>::KINDS;

    fn kind(&self) -> usize {
        self.of.kind()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.of, char::from(self.resource))
    }
}

/// A node with a lock for each resource, as soon as it has heard of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OneAfterTheOther {
    me: NodeId,
    group: Group,
    /// The lock of each resource, by its name.
    locks: Vec<(u8, RicartAgrawala)>,
    phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Outside,
    Waiting {
        all: Resources,
        /// Those not yet asked for, the next one last.
        left: Vec<u8>,
    },
    Inside(Resources),
}

impl OneAfterTheOther {
    /// A node of `group` that has neither asked nor been asked.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { me, group, locks: Vec::new(), phase: Phase::Outside }
    }

    /// Lets the lock of a resource do something; whether it was entered.
    fn lock(
        &mut self,
        resource: u8,
        fx: &mut impl Effects<Self>,
        act: impl FnOnce(&mut RicartAgrawala, &mut Outbox<RicartAgrawala>) -> Result<(), Refused>,
    ) -> Result<bool, Refused> {
        let place = match self.locks.binary_search_by_key(&resource, |lock| lock.0) {
            Ok(place) => place,
            Err(place) => {
                let lock = RicartAgrawala::new(self.me, self.group);
                self.locks.insert(place, (resource, lock));
                place
            }
        };
        let mut done = Outbox::default();
        act(&mut self.locks[place].1, &mut done)?;
        let mut is_entered = false;
        for effect in done.take() {
            match effect {
                Effect::Send { to, message } => fx.send(to, Message { resource, of: message }),
                Effect::Notify(notice) => is_entered |= notice.is_entry(),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
        Ok(is_entered)
    }

    /// Asks for one after the other, as long as each is granted at once.
    fn ask_for_the_next(&mut self, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        while let Phase::Waiting { all, left } = &mut self.phase {
            let Some(next) = left.pop() else {
                self.phase = Phase::Inside(*all);
                fx.notify(Notice::Entered);
                return Ok(());
            };
            let ask = Command::Acquire(Claim::Exclusive);
            if !self.lock(next, fx, |lock, fx| lock.on_command(ask, fx))? {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Protocol for OneAfterTheOther {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &self.phase) {
            (Command::Acquire(Claim::Of(all)), Phase::Outside) => {
                let left: Vec<u8> = match self.me.0 % 2 {
                    0 => all.names().rev().collect(),
                    _ => all.names().collect(),
                };
                self.phase = Phase::Waiting { all, left };
                self.ask_for_the_next(fx)
            }
            (Command::Release, &Phase::Inside(all)) => {
                self.phase = Phase::Outside;
                for resource in all.names() {
                    self.lock(resource, fx, |lock, fx| lock.on_command(Command::Release, fx))?;
                }
                Ok(())
            }
            (
                Command::Acquire(Claim::Exclusive | Claim::Shared | Claim::Group(_)),
                Phase::Outside,
            ) => Err(CLAIM_NOT_GRANTED),
            (Command::Acquire(_), Phase::Waiting { .. }) => Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside(_)) => Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => Err(NOT_INSIDE),
        }
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let heard = self.lock(message.resource, fx, |lock, fx| {
            lock.on_message(from, message.of, fx);
            Ok(())
        });
        if heard == Ok(true) {
            // A lock that was never asked for is not refused.
            let _ = self.ask_for_the_next(fx);
        }
    }
}
