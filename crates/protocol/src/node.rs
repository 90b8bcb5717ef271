//! Members of a group, and sets of them.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::iter;

use serde::{Deserialize, Serialize, Serializer};

/// A member of the group: a dense index from 0, never an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The name under which it is serialised, so that formats and checks can tell it from other
    /// numbers.
    pub const NAME: &'static str = "NodeId";

    /// This node's place in a dense table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// As its number: timers are shown by the names that they have here, such as `Probe(2)`.
impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// All nodes that take part: those numbered below its size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Group {
    size: u32,
}

impl Group {
    /// The nodes numbered `0..size`.
    ///
    /// # Panics
    ///
    /// If `size` is zero: a group has members.
    pub const fn of(size: u32) -> Self {
        assert!(size > 0, "a group has at least one member");
        Self { size }
    }

    /// How many nodes there are.
    pub const fn size(self) -> u32 {
        self.size
    }

    /// Whether `id` is one of them.
    pub const fn contains(self, id: NodeId) -> bool {
        id.0 < self.size
    }

    /// All nodes, lowest first.
    pub fn members(self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + Clone {
        (0..self.size).map(NodeId)
    }

    /// All nodes but `me`, lowest first.
    pub fn others(self, me: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + Clone {
        self.members().filter(move |&id| id != me)
    }
}

/// In which order messages from one node to another may arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// As they were sent.
    Fifo,
    /// In any order.
    Any,
}

/// A set of nodes, of any group size: two words inline, on the heap only beyond node 127.
#[derive(Clone)]
pub struct NodeSet(Words);

#[derive(Clone)]
enum Words {
    Inline([u64; INLINE]),
    Spilled(Vec<u64>),
}

const INLINE: usize = 2;
const BITS: usize = u64::BITS as usize;

impl NodeSet {
    /// No node.
    pub const EMPTY: Self = Self(Words::Inline([0; INLINE]));

    /// Adds `id`; true if it was not there.
    #[inline]
    pub fn insert(&mut self, id: NodeId) -> bool {
        let (word, bit) = place(id);
        let slot = self.word_mut(word);
        let is_new = *slot & bit == 0;
        *slot |= bit;
        is_new
    }

    /// Removes `id`; true if it was there.
    #[inline]
    pub fn remove(&mut self, id: NodeId) -> bool {
        let (word, bit) = place(id);
        let Some(slot) = self.words_mut().get_mut(word) else {
            return false;
        };
        let was_there = *slot & bit != 0;
        *slot &= !bit;
        was_there
    }

    /// Removes all, keeping the room.
    pub fn clear(&mut self) {
        self.words_mut().fill(0);
    }

    /// Adds all of `other`.
    pub fn extend_from(&mut self, other: &Self) {
        let needed = other.trimmed().len();
        if needed > 0 {
            self.word_mut(needed - 1);
        }
        for (ours, theirs) in self.words_mut().iter_mut().zip(other.words()) {
            *ours |= theirs;
        }
    }

    /// Whether `id` is in the set.
    #[inline]
    pub fn contains(&self, id: NodeId) -> bool {
        let (word, bit) = place(id);
        self.words().get(word).is_some_and(|slot| slot & bit != 0)
    }

    /// Whether the set has no node.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.words().iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The nodes, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.words().iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(NodeId((index * BITS) as u32 + bit))
            })
        })
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match &self.0 {
            Words::Inline(words) => words,
            Words::Spilled(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Words::Inline(words) => words,
            Words::Spilled(words) => words,
        }
    }

    /// The words up to the last that is not zero: what equality and hashing see, so that how a set
    /// came about does not matter.
    fn trimmed(&self) -> &[u64] {
        let words = self.words();
        let len = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        &words[..len]
    }

    #[inline]
    fn word_mut(&mut self, index: usize) -> &mut u64 {
        if index >= self.words().len() {
            self.spill(index + 1);
        }
        &mut self.words_mut()[index]
    }

    #[cold]
    fn spill(&mut self, len: usize) {
        let mut spilled = self.words().to_vec();
        spilled.resize(len, 0);
        self.0 = Words::Spilled(spilled);
    }
}

const fn place(id: NodeId) -> (usize, u64) {
    (id.index() / BITS, 1 << (id.index() % BITS))
}

impl Default for NodeSet {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &Self) -> bool {
        self.trimmed() == other.trimmed()
    }
}

impl Eq for NodeSet {}

impl PartialOrd for NodeSet {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NodeSet {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.trimmed().cmp(other.trimmed())
    }
}

impl Hash for NodeSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let words = self.trimmed();
        state.write_usize(words.len());
        for &word in words {
            state.write_u64(word);
        }
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.0)).finish()
    }
}

/// As a list, lowest first.
impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::EMPTY;
        set.extend(nodes);
        set
    }
}

impl Extend<NodeId> for NodeSet {
    fn extend<I: IntoIterator<Item = NodeId>>(&mut self, nodes: I) {
        for id in nodes {
            self.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn set(ids: &[u32]) -> NodeSet {
        ids.iter().copied().map(NodeId).collect()
    }

    fn hash_of(set: &NodeSet) -> u64 {
        struct Fnv(u64);
        impl Hasher for Fnv {
            fn finish(&self) -> u64 {
                self.0
            }
            fn write(&mut self, bytes: &[u8]) {
                for &byte in bytes {
                    self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
                }
            }
        }
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        set.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn holds_nodes_on_both_sides_of_the_inline_edge() {
        let mut nodes = set(&[0, 63, 64, 127, 128, 1_000_000]);
        assert_eq!(nodes.len(), 6);
        assert!(!nodes.insert(NodeId(127)));
        assert!(nodes.remove(NodeId(128)));
        assert!(!nodes.remove(NodeId(128)));
        let left: Vec<u32> = nodes.iter().map(|id| id.0).collect();
        assert_eq!(left, [0, 63, 64, 127, 1_000_000]);
    }

    #[test]
    fn equality_and_hash_forget_how_a_set_came_about() {
        let mut spilled = set(&[3, 500]);
        spilled.remove(NodeId(500));
        assert_eq!(spilled, set(&[3]));
        assert_eq!(hash_of(&spilled), hash_of(&set(&[3])));
        assert_ne!(spilled, set(&[4]));
        spilled.clear();
        assert_eq!(spilled, NodeSet::EMPTY);
        assert!(spilled.is_empty());
    }

    #[test]
    fn a_union_grows_the_smaller_side() {
        let mut small = set(&[1]);
        small.extend_from(&set(&[2, 300]));
        assert_eq!(small, set(&[1, 2, 300]));
        let mut large = set(&[1, 300]);
        large.extend_from(&set(&[2]));
        assert_eq!(large, set(&[1, 2, 300]));
    }

    #[test]
    fn asking_for_a_node_beyond_the_room_is_no() {
        assert!(!set(&[1]).contains(NodeId(4_000_000)));
    }

    #[test]
    fn others_are_all_but_me() {
        let ids: Vec<u32> = Group::of(4).others(NodeId(2)).map(|id| id.0).collect();
        assert_eq!(ids, [0, 1, 3]);
        assert!(!Group::of(4).contains(NodeId(4)));
    }
}
