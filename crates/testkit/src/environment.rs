//! Variables by which somebody asks a test for more than it usually does.

use std::env;
use std::ops::Range;

/// The number that a variable has, if it is set.
///
/// # Panics
///
/// If it has something else: a mistyped number must not pass for the usual one.
pub fn number(name: &str) -> Option<u64> {
    read(name, |name| env::var(name).ok())
}

/// Whether a variable is 1.
///
/// # Panics
///
/// If it is set to something else than 0 and 1.
pub fn is_set(name: &str) -> bool {
    switch(name, |name| env::var(name).ok())
}

/// The seeds of so many runs, unless somebody asks for another number of them (by
/// `VORRANG_SCHEDULES`) or for one run alone (by `VORRANG_SEED`).
pub fn seeds(usually: u64) -> Range<u64> {
    seeds_by(usually, |name| env::var(name).ok())
}

fn seeds_by(usually: u64, value: impl Fn(&str) -> Option<String>) -> Range<u64> {
    match read("VORRANG_SEED", &value) {
        Some(seed) => seed..seed + 1,
        None => 0..read("VORRANG_SCHEDULES", &value).unwrap_or(usually),
    }
}

fn read(name: &str, value: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let text = value(name)?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
}

fn switch(name: &str, value: impl Fn(&str) -> Option<String>) -> bool {
    match value(name).as_deref() {
        Some("1") => true,
        None | Some("0" | "") => false,
        Some(other) => panic!("{name} is 0 or 1, not '{other}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            let found = variables.iter().find(|(it, _)| *it == name)?;
            Some(found.1.to_owned())
        }
    }

    #[test]
    fn one_seed_outranks_a_number_of_seeds() {
        assert_eq!(seeds_by(10, set(&[])), 0..10);
        assert_eq!(seeds_by(10, set(&[("VORRANG_SCHEDULES", "3")])), 0..3);
        let both = [("VORRANG_SCHEDULES", "3"), ("VORRANG_SEED", "7")];
        assert_eq!(seeds_by(10, set(&both)), 7..8);
    }

    #[test]
    #[should_panic(expected = "VORRANG_SEED is a number, not '1o'")]
    fn a_mistyped_number_is_not_passed_over() {
        read("VORRANG_SEED", set(&[("VORRANG_SEED", "1o")]));
    }

    #[test]
    fn a_switch_is_on_if_it_is_one() {
        let is_on = |text| switch("LARGE", set(&[("LARGE", text)]));
        assert_eq!((is_on("1"), is_on("0"), switch("LARGE", set(&[]))), (true, false, false));
    }

    #[test]
    #[should_panic(expected = "LARGE is 0 or 1, not 'yes'")]
    fn a_switch_is_nothing_else() {
        switch("LARGE", set(&[("LARGE", "yes")]));
    }
}
