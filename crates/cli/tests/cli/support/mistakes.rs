//! What the checker says of every known mistake, asked once for all tests.

use std::sync::LazyLock;

use serde_json::Value;
use vorrang_algorithms::card::{About, Mistake};
use vorrang_catalogue::abouts;

use super::json;

/// A mistake in an algorithm, and how `vorrang check --json` ends with it.
pub(crate) struct CheckedMistake {
    pub(crate) about: About,
    pub(crate) flaw: Mistake,
    pub(crate) code: i32,
    pub(crate) answer: Value,
}

/// All mistakes of all algorithms. Seconds of searching, which several tests would repeat.
pub(crate) static CHECKED_MISTAKES: LazyLock<Vec<CheckedMistake>> = LazyLock::new(|| {
    let of = |about: About| about.mistakes.clone().into_iter().map(move |it| (about.clone(), it));
    let checked = |(about, flaw): (About, Mistake)| {
        let (code, answer) = json(&["check", about.name, "--flaw", flaw.name]);
        CheckedMistake { about, flaw, code, answer }
    };
    abouts().into_iter().flat_map(of).map(checked).collect()
});
