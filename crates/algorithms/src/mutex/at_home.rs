//! What a node sends to itself.
//!
//! A node that must also ask itself does so without a message: it is told at once, in the same
//! step, and nothing is counted. So handlers send to everybody alike, and whoever calls them lets
//! the node [hear itself out](AtHome::take) before the step is over.

use alloc::collections::VecDeque;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, Protocol};

/// The effects of a node, but for what it sends to itself, which stays here.
#[derive(Debug)]
pub struct AtHome<'a, P: Protocol, E> {
    me: NodeId,
    mail: VecDeque<P::Message>,
    fx: &'a mut E,
}

impl<'a, P: Protocol, E: Effects<P>> AtHome<'a, P, E> {
    /// Passes on to `fx` what is not for the node itself.
    pub const fn new(me: NodeId, fx: &'a mut E) -> Self {
        Self { me, mail: VecDeque::new(), fx }
    }

    /// What the node is to be told next by itself.
    pub fn take(&mut self) -> Option<P::Message> {
        self.mail.pop_front()
    }
}

impl<P: Protocol, E: Effects<P>> Effects<P> for AtHome<'_, P, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        if to == self.me {
            self.mail.push_back(message);
        } else {
            self.fx.send(to, message);
        }
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
