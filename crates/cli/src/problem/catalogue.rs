//! All algorithms, with their types gone.

use std::sync::{Arc, LazyLock};

use vorrang_algorithms::card::Card;
use vorrang_algorithms::registry::{self, Recipe, Register};
use vorrang_protocol::Protocol;

use super::{Algorithm, Driven, Of, Subject, SubjectOf};

/// An algorithm, and it with each of its known mistakes.
pub(crate) struct Entry {
    pub(crate) algorithm: Box<dyn Algorithm>,
    /// The algorithm as it should be, for the checker and for a stage.
    pub(crate) correct: Box<dyn Subject>,
    pub(crate) flawed: Vec<(&'static str, Box<dyn Subject>)>,
}

/// All algorithms, in the order of the catalogue.
pub(crate) fn catalogue() -> &'static [Entry] {
    static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let mut catalogue = Catalogue(Vec::new());
        registry::register(&mut catalogue);
        catalogue.0
    });
    &CATALOGUE
}

struct Catalogue(Vec<Entry>);

impl Catalogue {
    fn file(&mut self, name: &str, flaw: &'static str, subject: Box<dyn Subject>) {
        let entry = self.0.iter_mut().find(|it| it.algorithm.about().name == name);
        let entry = entry.expect("an algorithm comes before its mistakes");
        entry.flawed.push((flaw, subject));
    }
}

impl<Q: Driven> Register<Q> for Catalogue {
    fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let recipe = Arc::new(recipe);
        let correct = Box::new(SubjectOf::new(card, None, Arc::clone(&recipe)));
        let algorithm = Box::new(Of::<Q, P> { card, recipe });
        self.0.push(Entry { algorithm, correct, flawed: Vec::new() });
    }

    fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let subject = SubjectOf::new(card, Some(flaw), Arc::new(recipe));
        self.file(card.name, flaw, Box::new(subject));
    }
}
