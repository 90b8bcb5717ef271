//! What a run came to, beside the theory: as text and as JSON.

use serde_json::{Map, Value, json};
use vorrang_algorithms::card::Span;
use vorrang_trace::Summary;

use crate::output::{BAD, BOLD, DIM, GOOD, RESET, figure, grouped};
use crate::workload::{Scenario, name, span};

/// A run's figures and verdicts.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) scenario: Scenario,
    pub(crate) clock: Clock,
    pub(crate) summary: Summary,
    pub(crate) overtakes: Option<u64>,
    pub(crate) safe: bool,
    pub(crate) quiescent: bool,
    pub(crate) violation: Option<String>,
    pub(crate) events: u64,
    pub(crate) wall_seconds: f64,
}

/// What the times were measured with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// The simulator's: times are given in units of the mean latency T.
    Simulated,
    /// The machine's: times are given in microseconds.
    Real,
}

impl Clock {
    const fn unit(self) -> &'static str {
        match self {
            Self::Simulated => "T",
            Self::Real => "us",
        }
    }
}

impl Measured {
    /// Nothing was wrong, and nothing was left undone.
    pub(crate) const fn is_fine(&self) -> bool {
        self.safe && self.quiescent
    }

    /// A duration in the run's unit.
    fn in_units(&self, ns: f64) -> Option<f64> {
        let unit_ns = match self.clock {
            Clock::Simulated => self.scenario.latency.mean_ns(),
            Clock::Real => 1_000.0,
        };
        (unit_ns > 0.0).then(|| ns / unit_ns)
    }

    /// From one exit to the next entry, in the run's unit.
    pub(crate) fn sync_delay(&self) -> Option<f64> {
        self.summary.sync_delay_mean_ns.and_then(|ns| self.in_units(ns))
    }

    /// From request to exit, in the run's unit.
    pub(crate) fn response(&self) -> Option<f64> {
        self.summary.response_mean_ns.and_then(|ns| self.in_units(ns))
    }

    /// Entries per T in the simulator, per second in reality.
    pub(crate) fn throughput(&self) -> Option<f64> {
        let per_ns = self.summary.throughput_per_ns()?;
        Some(match self.clock {
            Clock::Simulated => per_ns * self.scenario.latency.mean_ns(),
            Clock::Real => per_ns * 1e9,
        })
    }

    /// Messages per entry.
    pub(crate) fn messages(&self) -> Option<f64> {
        self.summary.messages_per_entry()
    }

    /// Bytes per entry.
    pub(crate) fn bytes(&self) -> Option<f64> {
        self.summary.bytes_per_entry()
    }

    /// Messages handled by the busiest node, per entry of anyone.
    pub(crate) fn busiest(&self) -> Option<f64> {
        (self.summary.entries > 0)
            .then(|| self.summary.load_max as f64 / self.summary.entries as f64)
    }

    /// How evenly the nodes that asked got in.
    #[expect(clippy::unnecessary_wraps, reason = "all figures of a comparison have one shape")]
    pub(crate) fn fairness(&self) -> Option<f64> {
        Some(self.summary.fairness)
    }

    /// Entries that overtook a request that happened before theirs.
    pub(crate) fn overtakings(&self) -> Option<f64> {
        self.overtakes.map(|count| count as f64)
    }

    /// One flat object; its names are a promise.
    pub(crate) fn json(&self) -> Value {
        let by_kind: Map<String, Value> =
            self.summary.by_kind.iter().map(|&(kind, n)| (kind.to_owned(), json!(n))).collect();
        let quantile = |ns: Option<u64>| ns.and_then(|ns| self.in_units(ns as f64));
        json!({
            "algorithm": self.scenario.card.name,
            "driver": match self.clock { Clock::Simulated => "sim", Clock::Real => "net" },
            "nodes": self.scenario.nodes(),
            "seed": self.scenario.seed,
            "load": name(&self.scenario.load),
            "think": self.scenario.think.to_string(),
            "hold": self.scenario.hold.to_string(),
            "latency": match self.clock {
                Clock::Simulated => json!(self.scenario.latency.to_string()),
                Clock::Real => Value::Null,
            },
            "order": match self.clock {
                Clock::Simulated => name(&self.scenario.order),
                Clock::Real => "fifo".to_owned(),
            },
            "contenders": self.scenario.contenders(),
            "k": self.scenario.k(),
            "time_unit": self.clock.unit(),
            "entries": self.summary.entries,
            "messages": self.summary.messages,
            "messages_per_entry": self.summary.messages_per_entry(),
            "messages_by_kind": by_kind,
            "bytes_per_entry": self.summary.bytes_per_entry(),
            "sync_delay_mean": self.sync_delay(),
            "response_mean": self.response(),
            "response_p50": quantile(self.summary.response_p50_ns),
            "response_p99": quantile(self.summary.response_p99_ns),
            "throughput": self.throughput(),
            "load_max": self.summary.load_max,
            "load_fairness": self.summary.load_fairness,
            "fairness": self.summary.fairness,
            "overtakes": self.overtakes,
            "safe": self.safe,
            "quiescent": self.quiescent,
            "violation": self.violation,
            "events": self.events,
            "wall_seconds": self.wall_seconds,
        })
    }

    /// A summary for people.
    pub(crate) fn text(&self) -> String {
        let theory = &self.scenario.card.theory;
        let setting = match self.clock {
            Clock::Simulated => self.scenario.setting(),
            Clock::Real => None,
        };
        let unit = format!(" {}", self.clock.unit());
        let mut text = Text(format!("{BOLD}{:24}{:>14}   theory{RESET}\n", "", "measured"));
        let summary = &self.summary;
        text.line("entries", &grouped(summary.entries));
        text.line("messages", &grouped(summary.messages));
        for &(kind, count) in &summary.by_kind {
            text.line(&format!("  {kind}"), &grouped(count));
        }
        let compare = |text: &mut Text, what: &str, measured: Option<f64>, unit: &str, cost| {
            text.compared(what, measured, unit, setting.as_ref().map(cost));
        };
        let per_entry = summary.messages_per_entry();
        compare(&mut text, "messages per entry", per_entry, "", theory.messages);
        compare(&mut text, "synchronisation delay", self.sync_delay(), &unit, theory.sync_delay);
        compare(&mut text, "response time", self.response(), &unit, theory.response);
        let per = match self.clock {
            Clock::Simulated => " per T",
            Clock::Real => " per s",
        };
        text.line("throughput", &optional(self.throughput(), per));
        text.line("bytes per entry", &optional(summary.bytes_per_entry(), ""));
        text.line("busiest node handled", &grouped(summary.load_max));
        text.line("fairness (Jain)", &figure(summary.fairness));
        text.line("overtakes", &self.overtakes.map_or("not tracked".to_owned(), grouped));
        text.verdict("safe", self.safe);
        text.verdict("quiescent", self.quiescent);
        if let Some(violation) = &self.violation {
            text.0.push_str(&format!("{BAD}violation: {violation}{RESET}\n"));
        }
        let rate = self.events as f64 / self.wall_seconds.max(1e-9) / 1e6;
        text.0.push_str(&format!(
            "\n{DIM}{} events in {} s, {} million a second{RESET}\n",
            grouped(self.events),
            figure(self.wall_seconds),
            figure(rate)
        ));
        text.0
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, what: &str, value: &str) {
        self.0.push_str(&format!("{what:24}{value:>14}\n"));
    }

    fn compared(&mut self, what: &str, measured: Option<f64>, unit: &str, theory: Option<Span>) {
        let value = optional(measured, unit);
        self.0.push_str(&format!("{what:24}{value:>14}"));
        if let (Some(measured), Some(theory)) = (measured, theory) {
            let verdict = if theory.agrees_with(measured) {
                format!("{GOOD}✓{RESET}")
            } else {
                format!("{BAD}✗{RESET}")
            };
            self.0.push_str(&format!("   {}{unit} {verdict}", span(theory)));
        }
        self.0.push('\n');
    }

    fn verdict(&mut self, what: &str, holds: bool) {
        let (style, word) = if holds { (GOOD, "yes") } else { (BAD, "NO") };
        self.0.push_str(&format!("{what:24}{style}{word:>14}{RESET}\n"));
    }
}

fn optional(value: Option<f64>, unit: &str) -> String {
    value.map_or("–".to_owned(), |value| figure(value) + unit)
}
