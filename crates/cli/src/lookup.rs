//! Names that people type, and what they may have meant.

use vorrang_algorithms::card::{Card, Flaw};
use vorrang_algorithms::registry::CARDS;

use crate::failure::Failure;

/// The card of that name.
pub(crate) fn card(name: &str) -> Result<&'static Card, Failure> {
    vorrang_algorithms::registry::card(name).ok_or_else(|| {
        unknown("algorithm", name, CARDS.iter().map(|card| card.name), "vorrang list")
    })
}

/// The cards of these names; `all` for all, and none at all for every algorithm that solves plain
/// mutual exclusion.
pub(crate) fn cards(names: &[String]) -> Result<Vec<&'static Card>, Failure> {
    match names {
        [] => Ok(CARDS.iter().copied().filter(|card| card.problem == "mutual exclusion").collect()),
        [all] if all == "all" => Ok(CARDS.to_vec()),
        names => names.iter().map(|name| card(name)).collect(),
    }
}

/// The flaw of that name.
pub(crate) fn flaw(card: &Card, name: &str) -> Result<&'static Flaw, Failure> {
    card.flaw(name).ok_or_else(|| {
        let hint = format!("vorrang check {} --flaw list", card.name);
        unknown("flaw", name, card.flaws.iter().map(|flaw| flaw.name), &hint)
    })
}

fn unknown(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'static str>,
    hint: &str,
) -> Failure {
    let message = match nearest(name, known) {
        Some(nearest) => format!("unknown {what} '{name}'; did you mean '{nearest}'?"),
        None => format!("unknown {what} '{name}'; '{hint}' lists what there is"),
    };
    Failure::Usage(message)
}

/// The known name that is most like `name`, if any is much like it.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
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
        let message = card("ricart-agrawla").unwrap_err().to_string();
        assert_eq!(message, "unknown algorithm 'ricart-agrawla'; did you mean 'ricart-agrawala'?");
    }

    #[test]
    fn nonsense_is_pointed_to_the_list() {
        let message = card("xyzzy").unwrap_err().to_string();
        assert_eq!(message, "unknown algorithm 'xyzzy'; 'vorrang list' lists what there is");
    }
}
