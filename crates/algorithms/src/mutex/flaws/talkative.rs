//! Applications that talk to each other: whoever asks tells the others.
//!
//! A coordinator serves in the order of arrival, and a ring in the order of its nodes. As long as
//! nodes exchange nothing but the messages of either, no node can tell that order from
//! happened-before: the coordinator's answers say nothing of others who wait, and the token stops
//! where somebody waits. Let an application tell another that it has asked, and let that one ask
//! as well: the second request may be served first.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Group, Lift, NodeId, NodeState, Protocol, Refused};

use crate::mutex::central::Central;
use crate::mutex::token_ring::TokenRing;
use crate::mutex::{Command, Notice};
use crate::recipe::Recipe;

/// The messages between nodes, of the kind M, and between applications.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<M> {
    /// One node to another.
    Node(M),
    /// One application to another: I have just asked.
    Told,
}

impl<M> From<M> for Message<M> {
    fn from(message: M) -> Self {
        Self::Node(message)
    }
}

/// An algorithm whose applications can talk.
pub trait Lock: Protocol<Command = Command, Notice = Notice, Message: WithTold> {}

impl Lock for Central {}
impl Lock for TokenRing {}

/// The kinds of an algorithm's messages, and one more.
pub trait WithTold: vorrang_protocol::Message {
    /// The algorithm's own kinds, and `TOLD`.
    const ALL_KINDS: &'static [&'static str];
}

impl WithTold for crate::mutex::central::Message {
    const ALL_KINDS: &'static [&'static str] = &["REQUEST", "REPLY", "RELEASE", "TOLD"];
}

impl WithTold for crate::mutex::token_ring::Message {
    const ALL_KINDS: &'static [&'static str] = &["TOKEN", "TOLD"];
}

impl<M: WithTold> vorrang_protocol::Message for Message<M> {
    const KINDS: &'static [&'static str] = M::ALL_KINDS;

    fn kind(&self) -> usize {
        match self {
            Self::Node(message) => message.kind(),
            Self::Told => M::KINDS.len(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(message) => message.fmt(f),
            Self::Told => f.write_str("TOLD"),
        }
    }
}

/// A node whose application tells all others when it asks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Talkative<P> {
    node: P,
    me: NodeId,
    group: Group,
}

/// The same nodes among applications that talk.
pub fn talkative<P: Lock>(recipe: Recipe<P>) -> Recipe<Talkative<P>> {
    Recipe::new(move |setup| {
        let (node, group) = (recipe.nodes(setup)?, setup.group);
        Ok(move |me| Talkative { node: node(me), me, group })
    })
}

impl<P: Lock> Talkative<P> {
    /// Lets the node below do something, and passes on what it tells.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        step: impl FnOnce(&mut P, &mut Lift<'_, P, Self, E>) -> T,
    ) -> T {
        let mut heard = alloc::vec::Vec::new();
        let done = step(&mut self.node, &mut Lift::new(fx, &mut heard));
        for notice in heard {
            fx.notify(notice);
        }
        done
    }
}

impl<P: Lock> Protocol for Talkative<P> {
    type Message = Message<P::Message>;
    type Timer = P::Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.below(fx, |node, fx| node.on_start(fx));
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.below(fx, |node, fx| node.on_command(command, fx))?;
        if let Command::Acquire(_) = command {
            fx.broadcast(self.group.others(self.me), Message::Told);
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Node(message) => {
                self.below(fx, |node, fx| node.on_message(from, message, fx));
            }
            Message::Told => {}
        }
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.below(fx, |node, fx| node.on_timer(timer, fx));
    }

    fn state(&self) -> NodeState {
        self.node.state()
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Message as _;

    use super::*;

    /// The one list is the other and one more: kinds are numbers.
    #[test]
    fn kinds_of_an_algorithm_keep_their_numbers() {
        fn with_told<M: WithTold>() -> alloc::vec::Vec<&'static str> {
            let mut kinds = M::KINDS.to_vec();
            kinds.push(Message::<M>::Told.kind_name());
            assert_eq!(kinds, M::ALL_KINDS);
            kinds
        }
        assert_eq!(with_told::<crate::mutex::central::Message>().len(), 4);
        assert_eq!(with_told::<crate::mutex::token_ring::Message>().len(), 2);
    }
}
