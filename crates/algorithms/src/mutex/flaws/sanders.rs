//! Sanders' algorithm without a way to take permissions back.

use vorrang_protocol::{Effects, NodeId};

use crate::mutex::locking::Message;
use crate::mutex::sanders::Sanders;
use crate::mutex::self_messages::{HandlesSelfMessages as _, MishandlesSelfMessages};

/// No node gives back a permission that it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoWayBack;

impl MishandlesSelfMessages<Sanders> for NoWayBack {
    fn hear(node: &mut Sanders, from: NodeId, message: Message, fx: &mut impl Effects<Sanders>) {
        match message {
            Message::Inquire { .. } | Message::Failed { .. } => {}
            Message::Request { .. }
            | Message::Locked { .. }
            | Message::Relinquish { .. }
            | Message::Release { .. } => node.hear(from, message, fx),
        }
    }
}
