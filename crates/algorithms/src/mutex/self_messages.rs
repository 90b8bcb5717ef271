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

/// The effects of a node, except messages to itself, which are queued here.
#[derive(Debug)]
struct SelfMessages<'a, P: Protocol, E> {
    me: NodeId,
    mail: VecDeque<P::Message>,
    fx: &'a mut E,
}

impl<'a, P: Protocol, E: Effects<P>> SelfMessages<'a, P, E> {
    /// Passes on to `fx` all but messages to the node itself.
    const fn new(me: NodeId, fx: &'a mut E) -> Self {
        Self { me, mail: VecDeque::new(), fx }
    }

    /// The next message of the node to itself.
    fn take(&mut self) -> Option<P::Message> {
        self.mail.pop_front()
    }
}

impl<P: Protocol, E: Effects<P>> Effects<P> for SelfMessages<'_, P, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        if to == self.me {
            self.mail.push_back(message);
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
                mail.push_back(kept.clone());
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
    while let Some(message) = home.take() {
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
