//! The node of a fault, by its number or as the one that holds the lock.

use std::fmt;

use vorrang_protocol::NodeId;

/// The node of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// To this node.
    Node(NodeId),
    /// The node that is inside then, or else the next to enter.
    Holder,
}

pub(super) const HOLDER: &str = "holder";

impl Whom {
    /// Reads a node's number or `holder`.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim() {
            HOLDER => Some(Self::Holder),
            number => Some(Self::Node(NodeId(number.parse().ok()?))),
        }
    }

    /// The node, if it is known.
    pub const fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Holder => None,
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Holder => f.write_str(HOLDER),
        }
    }
}
