//! A single fault, as an option of a run.

use vorrang_protocol::NodeId;
use vorrang_sim::Link;

use super::fault_args::{During, FaultArgs};
use super::whom::Whom;

/// One thing that goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingleFault {
    /// The message of this number is lost.
    Lose(u64),
    /// It arrives twice: the copy at some time as others do, or as late as if it were overtaken.
    Double {
        /// The number of the message.
        number: u64,
        /// Whether the copy is overtaken.
        late: bool,
    },
    /// It is overtaken.
    Delay(u64),
    /// The node crashes at this time, in nanoseconds.
    Crash(NodeId, u64),
    /// The same, and it comes up again at the later time, as another incarnation.
    Replace(NodeId, u64, u64),
    /// It stands still from one time to another.
    Pause(NodeId, u64, u64),
    /// A link is cut from one time to another.
    Cut(Link, u64, u64),
    /// All cables of the device are pulled out at this time: told to the election, not to the
    /// network.
    Unplug(NodeId, u64),
}

impl SingleFault {
    /// Instead of a crash, the cables of that node.
    pub(crate) const fn unplugged(self) -> Option<Self> {
        match self {
            Self::Crash(node, at_ns) => Some(Self::Unplug(node, at_ns)),
            Self::Lose(_)
            | Self::Double { .. }
            | Self::Delay(_)
            | Self::Replace(..)
            | Self::Pause(..)
            | Self::Cut(..)
            | Self::Unplug(..) => None,
        }
    }
}

impl From<SingleFault> for FaultArgs {
    fn from(mishap: SingleFault) -> Self {
        let mut args = Self::default();
        match mishap {
            SingleFault::Lose(number) => args.lose.push(number),
            SingleFault::Double { number, late } => {
                args.double.push(number);
                args.delay.extend(late.then_some(number));
            }
            SingleFault::Delay(number) => args.delay.push(number),
            SingleFault::Crash(node, at_ns) => args.crash.push((Whom::Node(node), at_ns)),
            SingleFault::Replace(node, at_ns, back_ns) => {
                args.crash.push((Whom::Node(node), at_ns));
                args.restart.push((Whom::Node(node), back_ns));
            }
            SingleFault::Pause(node, from_ns, to_ns) => {
                let (what, to_ns) = (Whom::Node(node), Some(to_ns));
                args.pause.push(During { what, from_ns, to_ns });
            }
            SingleFault::Cut(what, from_ns, to_ns) => {
                args.cut.push(During { what, from_ns, to_ns: Some(to_ns) });
            }
            SingleFault::Unplug(..) => {}
        }
        args
    }
}
