//! All algorithms, with their types gone.

use std::sync::LazyLock;

use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::wave::Wave;

use super::{Algorithm, Driven, Of, Subject, SubjectOf};

/// An algorithm, and it with each of its known mistakes.
pub struct Entry {
    pub algorithm: Box<dyn Algorithm>,
    /// The algorithm as it should be, for the checker and for a stage.
    pub correct: Box<dyn Subject>,
    pub flawed: Vec<(&'static str, Box<dyn Subject>)>,
}

/// All algorithms, in the order of the catalogue.
pub fn catalogue() -> &'static [Entry] {
    static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let mut all = Vec::new();
        add::<Mutex>(&mut all);
        add::<Election>(&mut all);
        add::<Wave>(&mut all);
        add::<Detection>(&mut all);
        add::<Multicast>(&mut all);
        add::<Grouping>(&mut all);
        all
    });
    &CATALOGUE
}

/// Adds the algorithms of a problem, each with its mistakes, which follow it in the catalogue.
fn add<Q: Driven>(all: &mut Vec<Entry>) {
    for any in Q::entries() {
        match (any.flaw, all.last_mut()) {
            (Some(flaw), Some(entry)) => entry.flawed.push((flaw, Box::new(SubjectOf(any)))),
            (None, _) | (_, None) => {
                let (algorithm, correct) = (Box::new(Of { any }), Box::new(SubjectOf(any)));
                all.push(Entry { algorithm, correct, flawed: Vec::new() });
            }
        }
    }
}
