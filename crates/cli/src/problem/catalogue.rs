//! All algorithms, with their types gone.

use std::fmt;
use std::sync::OnceLock;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::registry::{Recipe, Register};
use vorrang_catalogue as any;
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
    &CATALOGUE.get().expect("the program says first what it knows").0
}

/// Takes in the algorithms that there are.
pub(crate) fn know(register: fn(&mut Catalogue)) {
    CATALOGUE.get_or_init(|| {
        let mut catalogue = Catalogue(Vec::new());
        register(&mut catalogue);
        catalogue
    });
}

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

/// The algorithms that the program knows.
pub struct Catalogue(Vec<Entry>);

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|entry| entry.algorithm.about().name)).finish()
    }
}

impl Catalogue {
    fn file(&mut self, name: &str, flaw: &'static str, subject: Box<dyn Subject>) {
        let entry = self.0.iter_mut().find(|it| it.algorithm.about().name == name);
        let entry = entry.expect("an algorithm comes before its mistakes");
        entry.flawed.push((flaw, subject));
    }
}

impl<Q: Driven> Register<Q> for Catalogue {
    fn algorithm<P>(&mut self, card: &'static Card<Q>, _: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let any = any::find::<Q>(card.name, None).expect("both are of one registry");
        let correct = Box::new(SubjectOf(any));
        let algorithm = Box::new(Of { any });
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
