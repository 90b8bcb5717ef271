//! Numbers that nobody else draws.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::SystemTime;

/// A number that cannot be guessed and is unlikely to be drawn twice: from the randomness with
/// which the standard library seeds its hash tables, so it is independent of the run's seed.
pub(crate) fn draw_number() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    hasher.write_u128(now.map_or(0, |since| since.as_nanos()));
    hasher.finish()
}
