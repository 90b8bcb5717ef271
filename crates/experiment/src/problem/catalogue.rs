//! All algorithms, with their types gone.

use std::sync::LazyLock;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::registry::{self, Recipe, Register};
use vorrang_catalogue as any;
use vorrang_protocol::Protocol;

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
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let mut catalogue = Catalogue(Vec::new());
        registry::register(&mut catalogue);
        catalogue
    });
    &CATALOGUE.0
}

/// What is registered.
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
        let any = any::find(card.name, None).expect("both are of one registry");
        let correct = Box::new(SubjectOf(any));
        let algorithm = Box::new(Of::<Q, P> { card, recipe, any });
        self.0.push(Entry { algorithm, correct, flawed: Vec::new() });
    }

    fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, _: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let any = any::find::<Q>(card.name, Some(flaw)).expect("both are of one registry");
        self.file(card.name, flaw, Box::new(SubjectOf(any)));
    }
}
