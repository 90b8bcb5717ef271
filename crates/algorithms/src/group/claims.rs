//! What others say of whom they cannot hear. What comes of it is in `views/left_out.rs`.

use vorrang_protocol::{NodeId, NodeSet, NodeState, SortedMap, StateValue};

/// So often a node is heard before others are believed that they miss it.
pub(super) const TWICE: u8 = 2;

/// What others say of whom they cannot hear.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Claims {
    /// The nodes that each says it misses, if any.
    pub(super) missed_by: SortedMap<NodeId, NodeSet>,
    /// By who claims and who is missed: how often the latter was heard since.
    heard_since: SortedMap<(NodeId, NodeId), u8>,
    /// How often others were heard since this node missed several.
    pub(super) unsure: SortedMap<NodeId, u8>,
}

impl Claims {
    /// Whether a node says that it misses another.
    pub(super) fn says(&self, by: NodeId, of: NodeId) -> bool {
        self.missed_by.get(&by).is_some_and(|missed| missed.contains(of))
    }

    fn is_believed(&self, by: NodeId, of: NodeId) -> bool {
        let is_old = self.heard_since.get(&(by, of)).is_some_and(|&often| often >= TWICE);
        self.says(by, of) && (is_old || self.says(of, by))
    }

    /// Whether one of two nodes does not hear the other.
    pub(super) fn is_cut(&self, one: NodeId, other: NodeId) -> bool {
        self.is_believed(one, other) || self.is_believed(other, one)
    }

    /// A node was heard, and says that it misses these.
    pub(super) fn hear(&mut self, me: NodeId, from: NodeId, missed: NodeSet) {
        let is_regular = *self.missed_by.get(&from).unwrap_or(&NodeSet::EMPTY) == missed;
        for (&by, them) in self.missed_by.iter().filter(|_| is_regular) {
            // What is said of this node itself is repeated by the one that misses it.
            let (of, counts) = if by == from { (me, TWICE) } else { (from, 1) };
            if them.contains(of) {
                let often = self.heard_since.get_or_insert((by, of), 0);
                *often = TWICE.min(*often + counts);
            }
        }
        self.heard_since.retain(|&(by, of), _| by != from || missed.contains(of));
        if missed.is_empty() {
            self.missed_by.remove(&from);
        } else {
            self.missed_by.insert(from, missed);
        }
        if let Some(often) = self.unsure.get_mut(&from) {
            *often = TWICE.min(*often + 1);
        }
    }

    /// A node is not heard any more: what it last said may be over.
    pub(super) fn forget(&mut self, of: NodeId) {
        self.missed_by.remove(&of);
        self.heard_since.retain(|&(by, _), _| by != of);
        self.unsure.remove(&of);
    }

    /// A view begins.
    pub(super) fn settle(&mut self) {
        self.unsure.clear();
    }

    /// As it is shown.
    pub(super) fn state(&self) -> NodeState {
        let missed = self.missed_by.iter();
        let missed = missed.map(|(&by, them)| (by, StateValue::set(them.iter())));
        let since = self.heard_since.iter();
        let since = since.map(|(&(by, of), &often)| (by, of, u64::from(often)));
        let unsure = self.unsure.iter().map(|(&of, &often)| (of, u64::from(often)));
        NodeState::new()
            .with("missed by", StateValue::list(missed))
            .with("heard since", StateValue::list(since))
            .with("unsure until heard", StateValue::list(unsure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(0);

    fn hears(claims: &mut Claims, from: u32, missed: &[u32]) {
        claims.hear(ME, NodeId(from), missed.iter().copied().map(NodeId).collect());
    }

    fn is_cut(claims: &Claims, one: u32, other: u32) -> bool {
        claims.is_cut(NodeId(one), NodeId(other))
    }

    #[test]
    fn two_that_miss_each_other_are_believed_at_once() {
        let mut claims = Claims::default();
        hears(&mut claims, 1, &[2]);
        assert!(!is_cut(&claims, 1, 2));
        hears(&mut claims, 2, &[1]);
        assert!(is_cut(&claims, 1, 2) && is_cut(&claims, 2, 1) && !is_cut(&claims, 1, 3));
    }

    #[test]
    fn one_that_misses_another_is_believed_when_the_other_was_heard_twice() {
        let mut claims = Claims::default();
        hears(&mut claims, 2, &[]);
        hears(&mut claims, 1, &[2]);
        for _ in 0..5 {
            hears(&mut claims, 1, &[2]);
            hears(&mut claims, 3, &[]);
        }
        assert!(!is_cut(&claims, 1, 2), "it may have crashed");
        hears(&mut claims, 2, &[]);
        assert!(!is_cut(&claims, 1, 2), "it may have been late");
        let mut withdrawn = claims.clone();
        hears(&mut withdrawn, 1, &[]);
        hears(&mut withdrawn, 2, &[]);
        assert_eq!(withdrawn, Claims::default());
        hears(&mut claims, 2, &[]);
        assert!(is_cut(&claims, 1, 2));
        claims.forget(NodeId(1));
        assert_eq!(claims, Claims::default());
    }

    #[test]
    fn what_comes_out_of_turn_does_not_count() {
        let mut claims = Claims::default();
        hears(&mut claims, 1, &[2]);
        for missed in [&[3][..], &[3, 4], &[4], &[]] {
            hears(&mut claims, 2, missed);
        }
        assert!(!is_cut(&claims, 1, 2));
    }

    #[test]
    fn whoever_misses_this_node_says_so_twice() {
        let mut claims = Claims::default();
        hears(&mut claims, 1, &[0]);
        hears(&mut claims, 1, &[0, 2]);
        assert!(!is_cut(&claims, 0, 1), "it may be about to hear this node");
        hears(&mut claims, 1, &[0, 2]);
        assert!(is_cut(&claims, 0, 1));
        hears(&mut claims, 1, &[]);
        assert!(!is_cut(&claims, 0, 1));
    }
}
