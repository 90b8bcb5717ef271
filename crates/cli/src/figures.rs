//! What a run came to, beside the theory: figures with names, whatever they are of.

use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Agreement, Span};
use vorrang_sim::FaultCounts;
use vorrang_trace::Wrong;

use crate::output::{BAD, DIM, GOOD, RESET, figure, grouped};
use crate::table::{table_right, wrapped};

/// One figure of a run.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Its name for programs, a promise.
    pub(crate) key: &'static str,
    pub(crate) value: Reading,
    /// Its name for people, if they want to know.
    pub(crate) label: Option<&'static str>,
    pub(crate) unit: &'static str,
    /// What the theory says.
    pub(crate) theory: Option<Span>,
    /// Whether it is of a kind that theories speak of, even if they say nothing of this one.
    pub(crate) is_predicted: bool,
    /// The standard error of the value, where it is a mean and the run was long enough to tell.
    pub(crate) error: Option<f64>,
    /// Its column in a comparison, if it has one.
    pub(crate) column: Option<&'static str>,
}

/// What was read off.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    Count(u64),
    Real(f64),
    Text(String),
    Counts(Vec<(&'static str, u64)>),
    Unknown,
}

impl Figure {
    pub(crate) const fn count(key: &'static str, label: &'static str, count: u64) -> Self {
        Self::of(key, Reading::Count(count)).labelled(label)
    }

    pub(crate) fn real(key: &'static str, value: Option<f64>) -> Self {
        Self::of(key, value.map_or(Reading::Unknown, Reading::Real))
    }

    pub(crate) const fn of(key: &'static str, value: Reading) -> Self {
        let (label, theory, error, column) = (None, None, None, None);
        Self { key, value, label, unit: "", theory, is_predicted: false, error, column }
    }

    pub(crate) const fn labelled(mut self, label: &'static str) -> Self {
        self.label = Some(label);
        self
    }

    pub(crate) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    pub(crate) const fn column(mut self, column: &'static str) -> Self {
        self.column = Some(column);
        self
    }

    pub(crate) const fn theory(mut self, theory: Option<Span>, error: Option<f64>) -> Self {
        (self.theory, self.error, self.is_predicted) = (theory, error, true);
        self
    }

    /// How it stands to the theory, if both say something.
    pub(crate) fn agreement(&self) -> Option<Agreement> {
        Some(self.theory?.compare(self.number()?, self.error))
    }

    /// The value, if it is a number.
    pub(crate) fn number(&self) -> Option<f64> {
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

    fn text(&self) -> String {
        match &self.value {
            Reading::Count(count) => grouped(*count) + self.unit,
            Reading::Real(real) => figure(*real) + self.unit,
            Reading::Text(text) => text.clone(),
            Reading::Counts(_) => String::new(),
            Reading::Unknown => "–".to_owned(),
        }
    }
}

/// A run's figures and verdicts.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    /// What it was a run of.
    pub(crate) head: Vec<(&'static str, Value)>,
    pub(crate) figures: Vec<Figure>,
    /// What went wrong, where anything could.
    pub(crate) faults: Option<FaultCounts>,
    pub(crate) safe: bool,
    pub(crate) quiescent: bool,
    pub(crate) violation: Option<String>,
    /// When it was that something happened which never should.
    pub(crate) violated_ns: Option<u64>,
    pub(crate) events: u64,
    pub(crate) wall_seconds: f64,
}

impl Measured {
    /// Nothing was wrong, and nothing was left undone.
    pub(crate) const fn is_fine(&self) -> bool {
        self.safe && self.quiescent
    }

    /// What was wrong, as a trace of it ends with it.
    pub(crate) fn wrong(&self) -> Option<Wrong> {
        let what = self.violation.clone()?;
        Some(Wrong { what, at_ns: self.violated_ns })
    }

    /// How the algorithm was set up, as it would have to be typed.
    pub(crate) fn setup(&self) -> &str {
        let setup = self.head.iter().find(|(key, _)| *key == "setup");
        setup.and_then(|(_, text)| text.as_str()).unwrap_or_default()
    }

    pub(crate) fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// One object; its names are a promise, and the same for all runs of a problem.
    pub(crate) fn json(&self) -> Value {
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
        object.insert("events".to_owned(), json!(self.events));
        object.insert("wall_seconds".to_owned(), json!(self.wall_seconds));
        Value::Object(object)
    }

    /// A summary for people.
    pub(crate) fn text(&self) -> String {
        let mut rows = vec![["", "measured", "theory"].map(str::to_owned).to_vec()];
        let mut add = |what: &str, measured: String, theory: String| {
            rows.push(vec![what.to_owned(), measured, theory]);
        };
        for figure in &self.figures {
            if let Reading::Counts(counts) = &figure.value {
                for &(kind, count) in counts {
                    add(&format!("  {kind}"), grouped(count), String::new());
                }
            }
            let Some(label) = figure.label else { continue };
            let theory = match (figure.agreement(), figure.theory) {
                (Some(agreement), Some(theory)) => {
                    format!("{}{} {}", span(theory), figure.unit, coloured(mark(agreement)))
                }
                (None, _) | (_, None) => String::new(),
            };
            add(label, figure.text(), theory);
        }
        if let Some(faults) = &self.faults {
            for (what, count) in counts(faults).into_iter().filter(|(_, count)| *count > 0) {
                add(&what.replace('_', " "), grouped(count), String::new());
            }
            if *faults == FaultCounts::default() {
                add("faults", "none".to_owned(), String::new());
            }
        }
        for (what, holds) in [("safe", self.safe), ("quiescent", self.quiescent)] {
            let (style, word) = if holds { (GOOD, "yes") } else { (BAD, "NO") };
            add(what, format!("{style}{word}{RESET}"), String::new());
        }
        let mut text = table_right(&rows, &[1]);
        if let Some(violation) = &self.violation {
            let what = if self.safe { "safe but stuck" } else { "violation" };
            text.push_str(&wrapped(&format!("{BAD}{what}: {violation}{RESET}\n")));
        }
        if self.faults.is_some_and(|faults| faults.crashes > 0) {
            text.push_str(&wrapped(&format!("{DIM}{NOTE_ON_CRASHES}{RESET}\n")));
        }
        let rate = self.events as f64 / self.wall_seconds.max(1e-9) / 1e6;
        text + &wrapped(&format!(
            "\n{DIM}{} events in {} s, {} million a second{RESET}\n",
            grouped(self.events),
            figure(self.wall_seconds),
            figure(rate)
        ))
    }
}

/// How often which fault really happened, with names that are a promise.
const fn counts(faults: &FaultCounts) -> [(&'static str, u64); 10] {
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

/// What the theory says of a figure, beside it.
pub(crate) fn insert_theory(
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

/// How a figure stands to the theory, in one sign; [`LEGEND`] explains them.
pub(crate) const fn mark(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "✓",
        Agreement::Within => "○",
        Agreement::Disagrees => "✗",
    }
}

/// How those are judged who are down.
const NOTE_ON_CRASHES: &str =
    "A crashed node does not count: it is not inside, does not wait and need not be served.";

/// What the marks mean.
pub(crate) const LEGEND: &str =
    "✓ as the theory predicts   ○ within the range of the theory   ✗ not as predicted";

/// A text with its marks coloured.
pub(crate) fn coloured(text: &str) -> String {
    text.replace('✓', &format!("{GOOD}✓{RESET}"))
        .replace('○', &format!("{DIM}○{RESET}"))
        .replace('✗', &format!("{BAD}✗{RESET}"))
}

/// A cost as text: `24`, or `0…24` where it is a range, or `≈12 in 0…24` with what is typical.
pub(crate) fn span(span: Span) -> String {
    let (low, high) = (figure(span.low), figure(span.high));
    match span.typical.map(figure) {
        Some(typical) if span.high.is_infinite() => format!("≈{typical}, {low} at least"),
        None if span.high.is_infinite() => format!("{low} at least"),
        _ if low == high => low,
        Some(typical) => format!("≈{typical} in {low}…{high}"),
        None => format!("{low}…{high}"),
    }
}
