//! The figures of a run, beside the theory.

use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Agreement, Span};
use vorrang_sim::FaultCounts;
use vorrang_trace::Wrong;

use crate::format::figure;

/// One figure of a run.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name for programs, a promise.
    pub key: &'static str,
    /// The measurements.
    pub value: Reading,
    /// Its name for people, if they want to know.
    pub label: Option<&'static str>,
    /// The unit that follows the value.
    pub unit: &'static str,
    /// The theory.
    pub theory: Option<Span>,
    /// Whether it is of a kind that theories speak of, even if they say nothing of this one.
    pub is_predicted: bool,
    /// The standard error of the value, where it is a mean and the run was long enough to tell.
    pub error: Option<f64>,
    /// Its column in a comparison, if it has one.
    pub column: Option<&'static str>,
    /// Whether that column comes after all others: it says what was measured and compares nothing.
    pub is_aside: bool,
}

/// A unit of time: what it is called, and how many nanoseconds it is.
pub type Unit = (&'static str, f64);

/// The value.
#[derive(Clone, Debug)]
pub enum Reading {
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
    /// A word or a sentence.
    Text(String),
    /// How many of each kind.
    Counts(Vec<(&'static str, u64)>),
    /// It could not be measured.
    Unknown,
}

impl Figure {
    /// A count, with its name for people.
    pub const fn count(key: &'static str, label: &'static str, count: u64) -> Self {
        Self::of(key, Reading::Count(count)).labelled(label)
    }

    /// A number, if there is one.
    pub fn real(key: &'static str, value: Option<f64>) -> Self {
        Self::of(key, value.map_or(Reading::Unknown, Reading::Real))
    }

    /// The value.
    pub const fn of(key: &'static str, value: Reading) -> Self {
        let (label, theory, error, column) = (None, None, None, None);
        let (is_predicted, is_aside) = (false, false);
        Self { key, value, label, unit: "", theory, is_predicted, error, column, is_aside }
    }

    /// With a name for people.
    #[must_use]
    pub const fn labelled(mut self, label: &'static str) -> Self {
        self.label = Some(label);
        self
    }

    /// With a unit.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// With a column in a comparison.
    #[must_use]
    pub const fn column(mut self, column: &'static str) -> Self {
        self.column = Some(column);
        self
    }

    /// With a column in a comparison after all others.
    #[must_use]
    pub const fn last_column(mut self, column: &'static str) -> Self {
        (self.column, self.is_aside) = (Some(column), true);
        self
    }

    /// With what the theory says, and the standard error of the value.
    #[must_use]
    pub const fn theory(mut self, theory: Option<Span>, error: Option<f64>) -> Self {
        (self.theory, self.error, self.is_predicted) = (theory, error, true);
        self
    }

    /// How it stands to the theory, if both say something.
    pub fn agreement(&self) -> Option<Agreement> {
        Some(self.theory?.compare(self.number()?, self.error))
    }

    /// The value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Reading::Count(count) => Some(count as f64),
            Reading::Real(real) => Some(real),
            Reading::Text(_) | Reading::Counts(_) | Reading::Unknown => None,
        }
    }

    fn json(&self) -> Value {
        match &self.value {
            Reading::Count(count) => json!(count),
            Reading::Real(real) => json!(real),
            Reading::Text(text) => json!(text),
            Reading::Counts(counts) => {
                let counts = counts.iter().map(|&(kind, count)| (kind.to_owned(), json!(count)));
                Value::Object(counts.collect::<Map<String, Value>>())
            }
            Reading::Unknown => Value::Null,
        }
    }
}

/// A run's figures and verdicts.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the algorithm.
    pub name: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// Its header.
    pub head: Vec<(&'static str, Value)>,
    /// The measurements.
    pub figures: Vec<Figure>,
    /// The faults, where there were any.
    pub faults: Option<FaultCounts>,
    /// Whether nothing happened that never should.
    pub safe: bool,
    /// Whether nothing was left undone.
    pub quiescent: bool,
    /// How far it came, and how far it was to go, as its meter counts.
    pub done: (u64, u64),
    /// The violation, as text.
    pub violation: Option<String>,
    /// When it was that something happened which never should.
    pub violated_ns: Option<u64>,
    /// How many events there were.
    pub events: u64,
    /// How long it took.
    pub wall_seconds: f64,
    /// Why the figures may not be those that were meant.
    pub warning: Option<String>,
}

impl Measured {
    /// Nothing was wrong, and nothing was left undone.
    pub const fn is_fine(&self) -> bool {
        self.safe && self.quiescent
    }

    /// How far a run came that went wrong: its figures are those of a part, and no cost of the
    /// algorithm.
    pub fn broke_off(&self) -> Option<String> {
        let (done, total) = self.done;
        match (self.safe, self.quiescent) {
            (true, true) => None,
            (true, false) => Some(format!("STUCK after {done} of {total}")),
            (false, _) => Some(format!("UNSAFE after {done} of {total}")),
        }
    }

    /// The kinds of messages that were not sent: what they are for was not exercised.
    pub fn unsent(&self) -> Vec<&'static str> {
        let kinds = |figure: &Figure| match &figure.value {
            Reading::Counts(counts) => counts.clone(),
            Reading::Count(_) | Reading::Real(_) | Reading::Text(_) | Reading::Unknown => vec![],
        };
        let counts = self.figure("messages_by_kind").map(kinds).unwrap_or_default();
        counts.into_iter().filter(|&(_, count)| count == 0).map(|(kind, _)| kind).collect()
    }

    /// The violation, as in the end of a trace.
    pub fn wrong(&self) -> Option<Wrong> {
        let what = self.violation.clone()?;
        Some(Wrong { what, at_ns: self.violated_ns })
    }

    /// How the algorithm was set up, as it would have to be typed.
    pub fn setup(&self) -> &str {
        let setup = self.head.iter().find(|(key, _)| *key == "setup");
        setup.and_then(|(_, text)| text.as_str()).unwrap_or_default()
    }

    /// The value of the figure of that name, if it is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.figure(key)?.number()
    }

    /// The figure of that name.
    pub fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// One object; its names are a promise, and the same for all runs of a problem.
    pub fn json(&self) -> Value {
        let mut object = Map::new();
        for (key, value) in &self.head {
            object.insert((*key).to_owned(), value.clone());
        }
        for figure in &self.figures {
            object.insert(figure.key.to_owned(), figure.json());
            if figure.is_predicted {
                object.insert(format!("{}_error", figure.key), json!(figure.error));
                insert_theory(&mut object, figure.key, figure.theory, figure.agreement());
            }
        }
        for (key, count) in counts(&self.faults.unwrap_or_default()) {
            object.insert(key.to_owned(), json!(count));
        }
        object.insert("safe".to_owned(), json!(self.safe));
        object.insert("quiescent".to_owned(), json!(self.quiescent));
        object.insert("violation".to_owned(), json!(self.violation));
        if let Some(warning) = &self.warning {
            object.insert("warning".to_owned(), json!(warning));
        }
        object.insert("events".to_owned(), json!(self.events));
        object.insert("wall_seconds".to_owned(), json!(self.wall_seconds));
        Value::Object(object)
    }
}

/// How often which fault really happened, with names that are a promise.
pub const fn counts(faults: &FaultCounts) -> [(&'static str, u64); 10] {
    [
        ("crashes", faults.crashes),
        ("restarts", faults.restarts),
        ("pauses", faults.pauses),
        ("partitions", faults.partitions),
        ("lost", faults.lost),
        ("cut_off", faults.cut_off),
        ("duplicated", faults.duplicated),
        ("reordered", faults.reordered),
        ("slowed", faults.slowed),
        ("messages_to_dead", faults.to_the_dead),
    ]
}

/// The theory of a figure, beside it.
pub fn insert_theory(
    object: &mut Map<String, Value>,
    key: &str,
    theory: Option<Span>,
    agreement: Option<Agreement>,
) {
    object.insert(format!("{key}_theory_low"), json!(theory.map(|it| it.low)));
    object.insert(format!("{key}_theory_typical"), json!(theory.and_then(|it| it.typical)));
    object.insert(format!("{key}_theory_high"), json!(theory.map(|it| it.high)));
    object.insert(format!("{key}_agreement"), json!(agreement.map(word)));
}

const fn word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Within => "within",
        Agreement::Disagrees => "disagrees",
    }
}

/// How a figure stands to the theory, in one sign.
pub const fn mark(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "✓",
        Agreement::Within => "○",
        Agreement::Disagrees => "✗",
    }
}

/// A cost as text: `24`, or `0…24` where it is a range, or `≈12 in 0…24` with the typical value.
pub fn span(span: Span) -> String {
    let (low, high) = (figure(span.low), figure(span.high));
    match span.typical.map(figure) {
        Some(typical) if span.high.is_infinite() => format!("≈{typical}, {low} at least"),
        None if span.high.is_infinite() => format!("{low} at least"),
        _ if low == high => low,
        Some(typical) => format!("≈{typical} in {low}…{high}"),
        None => format!("{low}…{high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theory_is_said_as_shortly_as_it_can_be() {
        let (exact, range) = (Span::exactly(2.0), Span::between(0.0, 3.0));
        let open = Span::between(1.0, f64::INFINITY);
        let said = [exact, range, range.typically(1.5), open, open.typically(4.0)].map(span);
        assert_eq!(said, ["2", "0…3", "≈1.5 in 0…3", "1 at least", "≈4, 1 at least"]);
    }

    #[test]
    fn every_agreement_has_a_mark_and_a_word_of_its_own() {
        let all = [Agreement::Agrees, Agreement::Within, Agreement::Disagrees];
        assert_eq!(all.map(mark), ["✓", "○", "✗"]);
        assert_eq!(all.map(word), ["agrees", "within", "disagrees"]);
    }
}
