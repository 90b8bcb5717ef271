//! Messages of a node to itself.
//!
//! A node that must also ask itself does so without a message: it handles it at once, in the same
//! step, and no message is counted. So the handlers of a node that [`HandlesSelfMessages`] send to
//! all members alike, and a message to the node itself is handled when they are done, before the
//! step is over.
//!
//! A mistake in what a node does with messages is made with those from itself as well; that is what
//! [`MishandlesSelfMessages`] is for.

use alloc::collections::VecDeque;
use core::fmt::Debug;
use core::hash::Hash;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, Protocol, Refused};

use crate::flaw::Mistake;

/// Messages in the order in which they were sent. Most steps send one at most, and a first message
/// needs no memory from the allocator: runs of Maekawa's algorithm with three nodes took a seventh
/// longer with it.
#[derive(Debug)]
struct Mail<M> {
    first: Option<M>,
    /// Those after the first.
    others: VecDeque<M>,
}

impl<M> Mail<M> {
    const fn new() -> Self {
        Self { first: None, others: VecDeque::new() }
    }

    fn push(&mut self, message: M) {
        if self.first.is_none() && self.others.is_empty() {
            self.first = Some(message);
        } else {
            self.others.push_back(message);
        }
    }

    fn take(&mut self) -> Option<M> {
        self.first.take().or_else(|| self.others.pop_front())
    }
}

/// The effects of a node, except messages to itself, which are queued here.
#[derive(Debug)]
struct SelfMessages<'a, P: Protocol, E> {
    me: NodeId,
    mail: Mail<P::Message>,
    fx: &'a mut E,
}

impl<'a, P: Protocol, E: Effects<P>> SelfMessages<'a, P, E> {
    /// Passes on to `fx` all but messages to the node itself.
    const fn new(me: NodeId, fx: &'a mut E) -> Self {
        Self { me, mail: Mail::new(), fx }
    }
}

impl<P: Protocol, E: Effects<P>> Effects<P> for SelfMessages<'_, P, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        if to == self.me {
            self.mail.push(message);
        } else {
            self.fx.send(to, message);
        }
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        let Self { me, mail, fx } = self;
        let kept = message.clone();
        let mut others = to.filter(|id| {
            let is_me = id == me;
            if is_me {
                mail.push(kept.clone());
            }
            !is_me
        });
        fx.send_to_each(&mut others, message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: P::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// A node that sends to itself, by the two things that it does: to do as it is told, and to hear,
/// each without what comes of it at home.
pub trait HandlesSelfMessages: Protocol {
    /// The node itself.
    fn me(&self) -> NodeId;

    /// The application asks for something.
    ///
    /// # Errors
    ///
    /// As [`Protocol::on_command`].
    fn obey(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) -> Result<(), Refused>;

    /// A message comes, from another node or from this one.
    fn hear(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>);

    /// A timer runs out.
    fn expire(&mut self, _timer: Self::Timer, _fx: &mut impl Effects<Self>) {}

    /// A timer, and all that comes of it at home.
    fn expire_at_home(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let mut home = SelfMessages::new(self.me(), fx);
        self.expire(timer, &mut home);
        hear_out::<Self, Correctly>(self, &mut home);
    }

    /// A command, and all that comes of it at home.
    ///
    /// # Errors
    ///
    /// As [`obey`](Self::obey).
    fn obey_at_home(
        &mut self,
        command: Self::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        obey_with::<Self, Correctly>(self, command, fx)
    }

    /// A message, and all that comes of it at home.
    fn hear_at_home(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        hear_with::<Self, Correctly>(self, from, message, fx);
    }
}

/// A mistake in what a node does with a message, be it from another node or from itself.
pub trait MishandlesSelfMessages<P: HandlesSelfMessages> {
    /// What it does.
    fn hear(node: &mut P, from: NodeId, message: P::Message, fx: &mut impl Effects<P>);
}

/// No mistake.
enum Correctly {}

impl<P: HandlesSelfMessages> MishandlesSelfMessages<P> for Correctly {
    fn hear(node: &mut P, from: NodeId, message: P::Message, fx: &mut impl Effects<P>) {
        node.hear(from, message, fx);
    }
}

fn obey_with<P: HandlesSelfMessages, H: MishandlesSelfMessages<P>>(
    node: &mut P,
    command: P::Command,
    fx: &mut impl Effects<P>,
) -> Result<(), Refused> {
    let mut home = SelfMessages::new(node.me(), fx);
    node.obey(command, &mut home)?;
    hear_out::<P, H>(node, &mut home);
    Ok(())
}

fn hear_with<P: HandlesSelfMessages, H: MishandlesSelfMessages<P>>(
    node: &mut P,
    from: NodeId,
    message: P::Message,
    fx: &mut impl Effects<P>,
) {
    let mut home = SelfMessages::new(node.me(), fx);
    H::hear(node, from, message, &mut home);
    hear_out::<P, H>(node, &mut home);
}

fn hear_out<P: HandlesSelfMessages, H: MishandlesSelfMessages<P>>(
    node: &mut P,
    home: &mut SelfMessages<'_, P, impl Effects<P>>,
) {
    while let Some(message) = home.mail.take() {
        H::hear(node, node.me(), message, home);
    }
}

impl<P, T> Mistake<P> for T
where
    P: HandlesSelfMessages,
    T: MishandlesSelfMessages<P> + Copy + Eq + Hash + Debug + Send + Sync + 'static,
{
    fn on_command(
        self,
        node: &mut P,
        command: P::Command,
        fx: &mut impl Effects<P>,
    ) -> Result<(), Refused> {
        obey_with::<P, Self>(node, command, fx)
    }

    fn on_message(self, node: &mut P, from: NodeId, message: P::Message, fx: &mut impl Effects<P>) {
        hear_with::<P, Self>(node, from, message, fx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_in_the_order_in_which_they_were_sent() {
        let mut mail = Mail::new();
        mail.push(1);
        mail.push(2);
        assert_eq!(mail.take(), Some(1));
        // It comes after the one that waits, though the place of a first message is free.
        mail.push(3);
        assert_eq!((mail.take(), mail.take(), mail.take()), (Some(2), Some(3), None));
        mail.push(4);
        assert_eq!((mail.take(), mail.take()), (Some(4), None));
    }
}
