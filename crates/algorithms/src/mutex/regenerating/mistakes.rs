//! Known mistakes, for the cards; built in [`flaws`](crate::mutex::flaws).

use crate::mutex::card::{Demonstration, Flaw};

/// The mistakes, each with the smallest system that shows it around an algorithm.
pub(in crate::mutex) const fn flaws(
    no_generation: Demonstration,
    asked_once: Demonstration,
) -> [Flaw; 2] {
    [
        Flaw {
            name: "no-generation",
            what: "tokens carry no generation: an old one that was only late counts beside the \
                   new one",
            breaks: "exclusion",
            shown_by: no_generation,
        },
        Flaw {
            name: "asked-once",
            what: "a node that does not answer one question counts as crashed: if a QUERY is \
                   lost, it goes on with its token beside the new one",
            breaks: "exclusion",
            shown_by: asked_once,
        },
    ]
}
