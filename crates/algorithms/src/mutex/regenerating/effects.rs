//! The effects of the algorithm inside.

use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId};

use super::{Generation, Message, Regenerating, Renewable, Timer};
use crate::mutex::Notice;

/// The effects of the algorithm, as this layer passes them on.
pub(super) struct Among<'a, E> {
    pub(super) fx: &'a mut E,
    pub(super) generation: Generation,
    pub(super) members: &'a [NodeId],
    pub(super) entered: bool,
}

impl<P: Renewable, E: Effects<Regenerating<P>>> Effects<P> for Among<'_, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let (to, generation) = (self.members[to.index()], self.generation);
        self.fx.send(to, Message::Token { generation, message });
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        let (members, generation) = (self.members, self.generation);
        let message = Message::Token { generation, message };
        self.fx.send_to_each(&mut to.map(|id| members[id.index()]), message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Token(self.generation, timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Token(self.generation, timer));
    }
    fn notify(&mut self, notice: Notice) {
        self.entered |= notice.is_entry();
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}
