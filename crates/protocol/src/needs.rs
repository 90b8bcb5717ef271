//! Whom an algorithm needs: what a node that is gone means to the others.

use crate::NodeId;

/// Of whom a request needs something before it can be granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Needs {
    /// Of every other node but so many: with more of them gone, no request is ever granted.
    AllBut(u32),
    /// Of this node, which serves all others, and of nobody else.
    One(NodeId),
    /// Perhaps of any other node: of whoever has a token, or stands between it and whoever asks.
    #[default]
    Anyone,
    /// Of nobody in particular: those who are left go on.
    Nobody,
}

/// What becomes of requests while some nodes are gone, worst last.
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
    /// What becomes of the requests of a node without these others.
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
