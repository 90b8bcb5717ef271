//! Which nodes an algorithm needs, and what the loss of a node means to the others.

use crate::NodeId;

/// The nodes from which a request needs an answer before it can be granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Needs {
    /// Every other node but so many: with more of them gone, no request is ever granted.
    AllBut(u32),
    /// This node alone, which serves all others.
    One(NodeId),
    /// Perhaps any other node: the holder of the token, or a node between it and the requester.
    #[default]
    Anyone,
    /// No node in particular: the remaining ones go on.
    Nobody,
}

/// The outlook of requests while some nodes are gone, worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Prospect {
    /// They are granted as ever.
    Fine,
    /// Some may never be granted.
    Doubtful,
    /// None is granted.
    Hopeless,
}

impl Needs {
    /// The outlook of a node's requests without these others.
    pub fn without(self, gone: &[NodeId]) -> Prospect {
        match self {
            _ if gone.is_empty() => Prospect::Fine,
            Self::AllBut(many) if gone.len() > many as usize => Prospect::Hopeless,
            Self::One(it) if gone.contains(&it) => Prospect::Hopeless,
            Self::AllBut(_) | Self::One(_) | Self::Nobody => Prospect::Fine,
            Self::Anyone => Prospect::Doubtful,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_suffices_or_not() {
        let [one, two] = [&[NodeId(1)][..], &[NodeId(1), NodeId(2)]];
        for (needs, with_one, with_two) in [
            (Needs::AllBut(0), Prospect::Hopeless, Prospect::Hopeless),
            (Needs::AllBut(1), Prospect::Fine, Prospect::Hopeless),
            (Needs::One(NodeId(2)), Prospect::Fine, Prospect::Hopeless),
            (Needs::Anyone, Prospect::Doubtful, Prospect::Doubtful),
            (Needs::Nobody, Prospect::Fine, Prospect::Fine),
        ] {
            assert_eq!(needs.without(&[]), Prospect::Fine, "{needs:?}");
            assert_eq!(needs.without(one), with_one, "{needs:?}");
            assert_eq!(needs.without(two), with_two, "{needs:?}");
        }
    }
}
