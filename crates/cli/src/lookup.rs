//! Names that people type, and what they may have meant.

use crate::failure::Failure;
use crate::problem::{Entry, Subject, catalogue};

/// The algorithm of that name.
pub(crate) fn algorithm(name: &str) -> Result<&'static Entry, Failure> {
    let named = |entry: &&Entry| entry.algorithm.about().name == name;
    catalogue().iter().find(named).ok_or_else(|| {
        let names = catalogue().iter().map(|entry| entry.algorithm.about().name);
        unknown("algorithm", name, names, "vorrang list")
    })
}

/// The algorithms of these names; `all` for all, a problem's name for all that solve it.
pub(crate) fn algorithms(names: &[String], problem: &str) -> Result<Vec<&'static Entry>, Failure> {
    match names {
        [] => {
            let solves = |entry: &&Entry| entry.algorithm.about().problem == problem;
            Ok(catalogue().iter().filter(solves).collect())
        }
        [all] if all == "all" => Ok(catalogue().iter().collect()),
        names => names.iter().map(|name| algorithm(name)).collect(),
    }
}

/// The algorithm with that mistake.
pub(crate) fn flawed(entry: &'static Entry, name: &str) -> Result<&'static dyn Subject, Failure> {
    let found = entry.flawed.iter().find(|(known, _)| known == name);
    found.map(|(_, flawed)| &**flawed).ok_or_else(|| {
        let hint = format!("vorrang check {} --flaw list", entry.algorithm.about().name);
        unknown("flaw", name, entry.flawed.iter().map(|(name, _)| name.as_str()), &hint)
    })
}

fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    hint: &str,
) -> Failure {
    let message = match nearest(name, known) {
        Some(nearest) => format!("unknown {what} '{name}'; did you mean '{nearest}'?"),
        None => format!("unknown {what} '{name}'; '{hint}' lists what there is"),
    };
    Failure::Usage(message)
}

/// The known name that is most like `name`, if any is much like it.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.7;
    known
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|&(likeness, _)| likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let message = algorithm("ricart-agrawla").err().unwrap().to_string();
        assert_eq!(message, "unknown algorithm 'ricart-agrawla'; did you mean 'ricart-agrawala'?");
    }

    #[test]
    fn nonsense_is_pointed_to_the_list() {
        let message = algorithm("xyzzy").err().unwrap().to_string();
        assert_eq!(message, "unknown algorithm 'xyzzy'; 'vorrang list' lists what there is");
    }
}
