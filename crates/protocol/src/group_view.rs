//! The view of a group, as a node with a membership protocol knows it.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

use crate::NodeSet;

/// The newest view of a group that a node knows, for status displays.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct GroupView {
    /// Its number; 0 if the node knows no view.
    pub view: u64,
    /// Whether the node is a member.
    pub is_in: bool,
    /// The members.
    pub members: NodeSet,
}

impl fmt::Display for GroupView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.view == 0 {
            return f.write_str("no view yet");
        }
        let members: Vec<_> = self.members.iter().map(|it| it.to_string()).collect();
        write!(f, "view {} {{{}}}", self.view, members.join(", "))?;
        if self.is_in { Ok(()) } else { f.write_str(", to which this node does not belong") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    #[test]
    fn a_view_is_shown_and_whether_one_belongs_to_it() {
        let members = [0, 2].map(NodeId).into_iter().collect();
        let belonging = GroupView { view: 7, is_in: true, members };
        assert_eq!(belonging.to_string(), "view 7 {0, 2}");
        let out = GroupView { is_in: false, ..belonging };
        assert_eq!(out.to_string(), "view 7 {0, 2}, to which this node does not belong");
        assert_eq!(GroupView { view: 0, ..out }.to_string(), "no view yet");
    }
}
