//! Fingerprints: 64 bits that stand for a state.
//!
//! A state's fingerprint is the wrapping sum of its parts' fingerprints. So messages in flight need
//! no order, and a step changes the sum by the parts that it touches. Each part is hashed with a
//! salt of its place, so that equal values in different places do not look alike.
//!
//! Two states with one fingerprint are taken for the same. Among n states the odds that any two
//! collide are about n² / 2⁶⁵: for ten million states, three in a million.

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
        let mut mixer = Mixer(part.salt());
        value.hash(&mut mixer);
        Self(mixer.finish())
    }

    /// The print of three things that are only ever looked at together.
    pub(crate) const fn joined(self, second: Self, third: Self) -> Self {
        let pair = self.0.wrapping_mul(ODD) ^ second.0.rotate_left(32);
        Self(pair.wrapping_mul(ODD) ^ third.0)
    }

    /// The print of a sequence that has one more element.
    pub(crate) const fn then(self, next: Self) -> Self {
        Self(finish(absorb(self.0, next.0)))
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
pub(crate) type ByPrint<T> = HashMap<Print, T, BuildHasherDefault<AsItIs>>;

#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a fingerprint is one word");
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A deterministic hasher: for a given rest of the input, every step is a bijection of the word
/// taken in, so that inputs that differ in one word never collide.
struct Mixer(u64);

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
        self.0 = absorb(self.0, word);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        finish(self.0)
    }
}

/// Odd, with its ones and zeros well spread: 2⁶⁴ divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The product carries a word's low bits up, the shift brings the high ones down.
const fn absorb(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(ODD);
    mixed ^ (mixed >> 32)
}

/// The finish of `SplitMix64`, after which every bit of the input bears on every bit of the output.
const fn finish(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
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
            let mut mixer = Mixer(0);
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

    #[test]
    fn joined_prints_tell_their_parts_apart() {
        let [a, b, c] = [1, 2, 3].map(|it| Print::of(Part::Message, &it));
        let orders = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
        let joined: HashSet<Print> = orders.map(|[x, y, z]| x.joined(y, z)).into();
        assert_eq!(joined.len(), orders.len());
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
