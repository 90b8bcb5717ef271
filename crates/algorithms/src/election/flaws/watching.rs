//! Mistakes of elections whose leaders are watched.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::detection::heartbeat;
use crate::election::watching::{Message, Timer, Watched, Watching};
use crate::flaw::Mistake;

/// A node that suspects its leader does not call an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NobodyCalls;

impl<P: Watched> Mistake<Watching<P>> for NobodyCalls {
    fn on_timer(
        self,
        node: &mut Watching<P>,
        timer: Timer<P::Timer>,
        fx: &mut impl Effects<Watching<P>>,
    ) {
        match timer {
            Timer::Heartbeat(heartbeat::Timer::Overdue(_)) => {}
            Timer::Heartbeat(heartbeat::Timer::Beat | heartbeat::Timer::Quiet(_))
            | Timer::Election(_) => {
                node.on_timer(timer, fx);
            }
        }
    }
}

/// Heartbeats of other nodes than the leader are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeafToOthers;

impl<P: Watched> Mistake<Watching<P>> for DeafToOthers {
    fn on_message(
        self,
        node: &mut Watching<P>,
        from: NodeId,
        message: Message<P::Message>,
        fx: &mut impl Effects<Watching<P>>,
    ) {
        if message != Message::Heartbeat || !node.is_news(from) {
            node.on_message(from, message, fx);
        }
    }
}
