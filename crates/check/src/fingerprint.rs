//! Fingerprints: 64 bits that stand for a state.
//!
//! A state's fingerprint is the wrapping sum of its parts' fingerprints. So messages in flight need
//! no order, and a step changes the sum by the parts that it touches. Each part is hashed with a
//! salt of its place, so that equal values in different places do not look alike.
//!
//! Two states with one fingerprint are taken for the same. Among n states the odds that any two
//! collide are about n² / 2⁶⁵: for ten million states, three in a million. Parts are another
//! matter: they are compared, and no two that differ share a print (see [`Parts`]). So the odds are
//! those of sums of pseudo-random numbers, independent of the quality of the parts' own `Hash`. A
//! second sum makes them n² / 2¹²⁹ (see [`StateHash`]).
//!
//! [`Parts`]: crate::parts::Shelf
//! [`StateHash`]: crate::state_hash::Total

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// The fingerprint of a state or of a part of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Print(pub(crate) u64);

impl Print {
    /// The print of no parts.
    pub(crate) const NONE: Self = Self(0);

    /// The print of `value` as that part of a state.
    pub(crate) fn of(part: Part, value: &impl Hash) -> Self {
        Self::salted(part.salt(), value)
    }

    /// Another print of it, which has nothing to do with the first: for a second lane.
    pub(crate) fn of_once_more(part: Part, value: &impl Hash) -> Self {
        Self::salted(part.salt() ^ SECOND, value)
    }

    /// The contribution of a part with this print to a second lane.
    #[inline]
    pub(crate) const fn again(self) -> Self {
        Self(stirred(self.0 ^ SECOND))
    }

    #[inline]
    fn salted(salt: u64, value: &impl Hash) -> Self {
        let mut mixer = Mixer::new(salt);
        value.hash(&mut mixer);
        Self(mixer.finish())
    }

    /// The print of a sequence that has one more element.
    pub(crate) const fn then(self, next: Self) -> Self {
        Self(folded(self.0 ^ LEFT, next.0 ^ RIGHT))
    }
}

impl Add for Print {
    type Output = Self;
    fn add(self, part: Self) -> Self {
        Self(self.0.wrapping_add(part.0))
    }
}

impl AddAssign for Print {
    fn add_assign(&mut self, part: Self) {
        *self = *self + part;
    }
}

impl Sum for Print {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::NONE, Self::add)
    }
}

impl Sub for Print {
    type Output = Self;
    fn sub(self, part: Self) -> Self {
        Self(self.0.wrapping_sub(part.0))
    }
}

impl SubAssign for Print {
    fn sub_assign(&mut self, part: Self) {
        *self = *self - part;
    }
}

/// A place in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Node(usize),
    Place(usize),
    Message,
    Timer,
    Armed,
    Rooms,
    Monitor,
    Down(usize),
    Faults,
    /// Not in a state, but happening to one.
    Nothing,
    Start,
    Command,
    Crash,
    Restart,
}

impl Part {
    const fn salt(self) -> u64 {
        let (kind, index) = match self {
            Self::Node(index) => (1, index),
            Self::Place(index) => (2, index),
            Self::Message => (3, 0),
            Self::Timer => (4, 0),
            Self::Armed => (5, 0),
            Self::Monitor => (6, 0),
            Self::Start => (7, 0),
            Self::Command => (8, 0),
            Self::Rooms => (9, 0),
            Self::Down(index) => (10, index),
            Self::Faults => (11, 0),
            Self::Crash => (12, 0),
            Self::Restart => (13, 0),
            Self::Nothing => (14, 0),
        };
        ((index as u64) << 4 | kind).wrapping_mul(ODD)
    }
}

/// A table from fingerprints, which need no more hashing.
pub(crate) type ByPrint<T> = ByTotal<Print, T>;

/// The same from fingerprints of states, of any width.
pub(crate) type ByTotal<K, T> = HashMap<K, T, BuildHasherDefault<Few>>;

/// A table from three fingerprints that are only ever looked at together. All three are compared,
/// so that no two triples are taken for one.
pub(crate) type ByThree<T> = HashMap<Three, T, BuildHasherDefault<Few>>;

/// Three fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Three(pub(crate) Print, pub(crate) Print, pub(crate) Print);

/// Hashes a few fingerprints, which are random enough already.
#[derive(Default)]
pub(crate) struct Few(u64);

impl Hasher for Few {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a fingerprint is one word");
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.rotate_left(21) ^ word;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A deterministic hasher with 128 bits of state, in two lanes: what collides in one, by its
/// structure or by chance, differs in the other.
struct Mixer {
    left: u64,
    right: u64,
}

impl Mixer {
    const fn new(salt: u64) -> Self {
        Self { left: salt ^ LEFT, right: salt.rotate_left(32) ^ RIGHT }
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        // Else a last chunk would look like one with zeros after it.
        self.write_usize(bytes.len());
    }
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        // The one lane folds products, as wyhash does; the other is a bijection of the word, so
        // that inputs that differ in one word differ in it. Adding a constant tells a zero word
        // from none.
        self.left = folded(self.left ^ word, PRIME);
        self.right = stirred(self.right.wrapping_add(ODD) ^ word);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        stirred(folded(self.left ^ LEFT, PRIME) ^ self.right)
    }
}

/// Odd, with its ones and zeros well spread: 2⁶⁴ divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The fractions of the square roots of 2, 3, 5 and 7, made odd: no structure that inputs may have.
const LEFT: u64 = 0x6a09_e667_f3bc_c909;
const RIGHT: u64 = 0xbb67_ae85_84ca_a73b;
const PRIME: u64 = 0x3c6e_f372_fe94_f82b;
const SECOND: u64 = 0xa54f_f53a_5f1d_36f1;

/// The two halves of a product of 128 bits, one upon the other: every bit of either factor bears
/// on most bits. The mixing step of wyhash (Wang Yi, 2019).
#[inline]
const fn folded(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The finish of `SplitMix64`, after which every bit of the input bears on every bit of the output;
/// a bijection.
pub(crate) const fn stirred(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_values_in_different_places_look_different() {
        let parts = [
            Part::Node(0),
            Part::Node(1),
            Part::Place(0),
            Part::Place(1),
            Part::Message,
            Part::Timer,
            Part::Armed,
            Part::Rooms,
            Part::Monitor,
            Part::Down(0),
            Part::Down(1),
            Part::Faults,
            Part::Start,
            Part::Command,
            Part::Crash,
            Part::Restart,
            Part::Nothing,
        ];
        let prints: HashSet<Print> = parts.map(|part| Print::of(part, &7_u8)).into();
        assert_eq!(prints.len(), parts.len());
    }

    #[test]
    fn texts_that_differ_in_zeros_at_the_end_look_different() {
        let of = |text: &str| Print::of(Part::Message, &text);
        assert_ne!(of("a"), of("a\0"));
        assert_ne!(of("12345678"), of("12345678\0"));
        assert_ne!(of(""), of("\0\0\0\0\0\0\0\0"));
        assert_eq!(of("a"), of("a"));
    }

    #[test]
    fn numbers_of_every_width_are_taken_in() {
        let of = |value: &dyn Fn(&mut Mixer)| {
            let mut mixer = Mixer::new(0);
            value(&mut mixer);
            mixer.finish()
        };
        let untouched = of(&|_| {});
        assert_ne!(of(&|it| it.write_u8(1)), untouched);
        assert_ne!(of(&|it| it.write_u16(1)), untouched);
        assert_ne!(of(&|it| it.write_u32(1)), untouched);
        assert_ne!(of(&|it| it.write_u64(1)), untouched);
        assert_ne!(of(&|it| it.write_u128(1)), untouched);
        assert_ne!(of(&|it| it.write_isize(1)), untouched);
    }

    #[test]
    fn a_sum_of_parts_forgets_their_order_and_a_sequence_does_not() {
        let [a, b] = [1, 2].map(|it| Print::of(Part::Message, &it));
        assert_eq!(a + b - a, b);
        assert_ne!(Print::NONE.then(a).then(b), Print::NONE.then(b).then(a));
        assert_ne!(Print::NONE.then(a), Print::NONE);
    }

    /// Asserts that no two of these different inputs share a print, and no half of one.
    fn assert_distinct<T: Hash>(what: &str, inputs: impl IntoIterator<Item = T>) {
        let mut prints: Vec<Print> =
            inputs.into_iter().map(|it| Print::of(Part::Message, &it)).collect();
        let count = prints.len();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), count, "{what} collide");
    }

    /// Words that differ in at most two bits from one another or from none.
    fn few_bits() -> Vec<u64> {
        let pairs = (0..64).flat_map(|high| (0..=high).map(move |low| 1_u64 << high | 1 << low));
        [0].into_iter().chain(pairs).collect()
    }

    #[test]
    fn inputs_with_structure_do_not_collide() {
        for base in [0, 1, u64::MAX, ODD, PRIME, LEFT, RIGHT, 0x0123_4567_89ab_cdef] {
            let near: Vec<u64> = few_bits().iter().map(|bits| base ^ bits).collect();
            assert_distinct("words that differ in few bits", near.iter());
            let singles = || near.iter().step_by(7);
            let pairs = singles().flat_map(|a| near.iter().map(move |b| (a, b)));
            assert_distinct("pairs of words that differ in few bits", pairs);
        }
        let triples = (0..1 << 18_u32).map(|it| (it & 63, it >> 6 & 63, it >> 12));
        assert_distinct("small numbers in every order", triples);
        assert_distinct("sequences of zeros", (0..2000).map(|len| vec![0_u64; len]));
        assert_distinct("texts of zeros", (0..2000).map(|len| "\0".repeat(len)));
        let nested = |it: u32| {
            let lens = [it & 7, it >> 3 & 7, it >> 6 & 7, it >> 9 & 7];
            lens.map(|len| vec![0_u8; len as usize]).to_vec()
        };
        assert_distinct("sequences of sequences of zeros", (0..1 << 12).map(nested));
        let high = (0..1_u64 << 16).map(|it| (it << 48, it.rotate_right(16) ^ it));
        assert_distinct("numbers in upper bits", high);
    }

    #[test]
    fn what_a_weaker_mixer_took_for_one_is_told_apart() {
        let top = 1_u64 << 63;
        for (a, b) in (0..300_u64).flat_map(|a| (0..300_u64).map(move |b| (a, b))) {
            let other = (a ^ top, b ^ top ^ 1 << 31);
            assert_ne!(Print::of(Part::Message, &(a, b)), Print::of(Part::Message, &other));
        }
    }

    #[test]
    fn sums_of_two_parts_and_sequences_of_two_are_told_apart() {
        let prints: Vec<Print> = (0..700_u64).map(|it| Print::of(Part::Message, &it)).collect();
        let sequences = prints.iter().flat_map(|&a| prints.iter().map(move |&b| a.then(b)));
        let longer = prints.iter().map(|&a| Print::NONE.then(a));
        let sums = (0..prints.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
        let sums = sums.map(|(a, b)| prints[a] + prints[b]);
        let all: HashSet<Print> = sequences.chain(longer).chain(sums).collect();
        assert_eq!(all.len(), 700 * 700 + 700 + 700 * 701 / 2);
    }

    #[test]
    fn sequences_of_small_numbers_as_prints_are_told_apart() {
        // Prints are never so small; but if they were, nothing would be lost.
        let pairs = (0..500_u64).flat_map(|a| (0..500_u64).map(move |b| (Print(a), Print(b))));
        let all: HashSet<Print> = pairs.map(|(a, b)| Print::NONE.then(a).then(b)).collect();
        assert_eq!(all.len(), 250_000);
    }

    #[test]
    fn small_pairs_do_not_collide_and_fill_both_ends_of_the_word() {
        let pairs = (0..500_u64).flat_map(|a| (0..500_u64).map(move |b| (a, b)));
        let prints: HashSet<Print> = pairs.map(|it| Print::of(Part::Message, &it)).collect();
        assert_eq!(prints.len(), 250_000);
        for shift in [0, 56] {
            let mut counts = [0_u32; 256];
            for print in &prints {
                counts[(print.0 >> shift) as usize & 255] += 1;
            }
            // A thousand on average; chance alone would leave this range once in ten thousand
            // tries.
            assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        }
    }
}
