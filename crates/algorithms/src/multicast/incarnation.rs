//! The incarnations of a member that comes and goes, as the numbers of their first messages.

/// Nothing of a sender is heeded.
pub(super) const CLOSED: u64 = u64::MAX;

/// Incarnations with smaller names are counted, each with so many numbers; larger ones are clocks.
const COUNTED_BELOW: u64 = 1 << 50;
const NUMBERS: u32 = 32;

/// The incarnation after one that comes to this number next.
pub(super) const fn after(life: u64, next: u64, window: u32) -> u64 {
    if life < COUNTED_BELOW { ((life >> NUMBERS) + 1) << NUMBERS } else { next + window as u64 + 1 }
}

/// Which of a member's incarnations this is, from 0, if they are counted.
pub(super) const fn counted(life: u64) -> Option<u64> {
    if life < COUNTED_BELOW { Some(life >> NUMBERS) } else { None }
}

/// A number as the incarnation that it belongs to, if they are counted, and what is left of it.
pub(super) const fn split(number: u64) -> (u64, u64) {
    match counted(number) {
        Some(count) => (count, number & ((1 << NUMBERS) - 1)),
        None => (0, number),
    }
}
