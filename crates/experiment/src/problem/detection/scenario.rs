//! The scenario of a run, and its theory.

use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::detection::card::{Card, DETECTION, Jitter, MESSAGES, MISTAKES, Setting};
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_protocol::show_duration_ns;
use vorrang_sim::{Fault, Faults};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Figure, Reading, Unit};
use crate::latency::Latency;
use crate::net_defaults::Pace;
use crate::options::{LastingArgs, RunArgs};
use crate::problem::Scene;
use vorrang_workload::detection::Tally;

/// Everyone watches everyone, and something is kept of every two.
pub(super) const MOST_NODES: u32 = 2_000;

/// A larger run would take too long.
pub(super) const MOST_MESSAGES: u128 = 1_000_000_000;

/// How many heartbeats a run lasts, if nothing is said.
pub(super) const USUAL_BEATS: u32 = 100;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) environment: Environment,
    pub(crate) lasts: Duration,
    /// How long it was to last at least.
    pub(crate) lasting: LastingArgs,
    pub(crate) is_real: bool,
}

/// Faults besides permanent crashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum OtherFaults {
    Nothing,
    /// Nodes come up again, or the network is cut: a monitor sees that.
    Observation,
    /// Messages are lost or late, undetectably.
    Unseen,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let (nodes, is_real) = (args.common.nodes, args.common.is_real);
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: everyone watches everyone, so at most \
                 {MOST_NODES}",
                card.name
            )));
        }
        let (mut setup, environment) = args.placed(&card.about())?;
        if is_real {
            Pace::REAL.unless_told(&mut setup, &args.setup);
        }
        let lasting = args.lasting.clone();
        let usual = if is_real { 20 } else { USUAL_BEATS };
        let lasts = lasting.time().unwrap_or(setup.beat.saturating_mul(usual));
        let mut scenario = Scenario { card, setup, environment, lasts, lasting, is_real };
        scenario.lasts = scenario.lasts.max(scenario.noticed());
        if messages(&scenario.setup, scenario.lasts) > MOST_MESSAGES {
            return Err(Failure::usage(format!(
                "--for {} and --beat {}: that is more than {MOST_MESSAGES} messages among {nodes} \
                 nodes",
                show_duration_ns(scenario.ends_ns()),
                Parameter::Beat.show(&scenario.setup)
            )));
        }
        Ok(scenario)
    }
}

impl Scenario {
    pub(super) fn trouble(&self) -> OtherFaults {
        let Some(faults) = &self.environment.faults else { return OtherFaults::Nothing };
        if !faults.is_scripted() {
            return OtherFaults::Unseen;
        }
        let of = |fault: &Fault| match fault {
            Fault::Crash(_) => OtherFaults::Nothing,
            Fault::Restart(_)
            | Fault::Partition(_)
            | Fault::Heal(_)
            | Fault::Cut(_)
            | Fault::Mend(_) => OtherFaults::Observation,
            Fault::Pause(_) | Fault::Resume(_) | Fault::Slow(_) | Fault::Recover(_) => {
                OtherFaults::Unseen
            }
        };
        faults.script.iter().map(|(_, fault)| of(fault)).max().unwrap_or(OtherFaults::Nothing)
    }

    /// How often nodes may be suspected rightly and be heard again.
    fn returns(&self) -> u32 {
        let script = self.environment.faults.iter().flat_map(|faults| &faults.script);
        let is_return =
            |it: &&(u64, Fault)| matches!(it.1, Fault::Restart(_) | Fault::Partition(_));
        u32::try_from(script.filter(is_return).count()).unwrap_or(u32::MAX)
    }

    /// How often each may be wrong about each, if there is a saying.
    pub(crate) fn allowed(&self) -> Option<u32> {
        let jitter = jitter(&self.environment.latency).filter(|_| !self.is_real)?;
        let is_kept = self.trouble() < OtherFaults::Unseen && !self.environment.is_reliable;
        (self.card.terms.mistakes)(&self.setup, jitter, Some(self.lasts)).filter(|_| is_kept)
    }

    pub(crate) fn setting(&self) -> Option<Setting> {
        let (setup, lasts) = (self.setup.clone(), self.lasts);
        let crashes = self.environment.faults.iter().flat_map(Faults::crashes);
        let crashes = crashes.map(|(at_ns, node)| (node, Duration::from_nanos(at_ns))).collect();
        let is_plain = self.trouble() == OtherFaults::Nothing && !self.environment.is_reliable;
        let jitter = jitter(&self.environment.latency);
        (is_plain && !self.is_real).then_some(Setting { setup, lasts, jitter, crashes })
    }

    /// The theory of a quantity, if any.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        let span = self.card.cost(of, &self.setting()?)?;
        Some(span).filter(|span| span.high.is_finite())
    }

    /// The figures of a run, with times in a unit of so many nanoseconds.
    pub(crate) fn figures(&self, tally: &Tally, (unit, unit_ns): Unit) -> Vec<Figure> {
        let tally = tally.ended(self.lasts.as_nanos() as u64);
        let in_units = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
        let (found, mistakes) = (tally.detections(), tally.mistakes());
        let detects = in_units(found.mean()).and_then(|_| self.theory(DETECTION));
        vec![
            Figure::count("detections", "crashes noticed", found.count()),
            Figure::real(DETECTION.key, in_units(found.mean()))
                .labelled(DETECTION.name)
                .unit(unit)
                .column("DETECTION/T")
                .theory(detects, None),
            Figure::real("detection_max", in_units(found.max()))
                .labelled("at most")
                .unit(unit)
                .column("AT MOST/T"),
            Figure::count("undetected", "crashes not noticed", tally.undetected()),
            Figure::count(MISTAKES.key, MISTAKES.name, mistakes.count())
                .column("MISTAKES")
                .theory(self.theory(MISTAKES), None),
            Figure::real("mistake_mean", in_units(mistakes.mean()))
                .labelled("until taken back")
                .unit(unit)
                .column("LASTING/T"),
            Figure::real("accuracy", tally.accuracy()),
            Figure::real("wrong_share", tally.accuracy().map(|accuracy| 1.0 - accuracy))
                .labelled("share of time wrong")
                .column("WRONG"),
            Figure::count(MESSAGES.key, MESSAGES.name, tally.traffic().messages())
                .column("MESSAGES")
                .theory(self.theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(tally.traffic().by_kind())),
            Figure::count("bytes", "bytes", tally.traffic().bytes()).column("BYTES"),
        ]
    }
}

/// How long messages take, if there is a bound.
pub(super) fn jitter(latency: &Latency) -> Option<Jitter> {
    let (shortest, longest) = (latency.shortest_ns(), latency.longest_ns()?);
    let (shortest, longest) = (Duration::from_nanos(shortest), Duration::from_nanos(longest));
    Some(Jitter { longest, spread: longest.saturating_sub(shortest) })
}

impl Scene for Scenario {
    fn about(&self) -> About {
        self.card.about()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Environment {
        &self.environment
    }
    fn total(&self) -> u64 {
        messages(&self.setup, self.lasts).try_into().unwrap_or(u64::MAX)
    }
    fn ends_ns(&self) -> u64 {
        self.lasts.as_nanos() as u64
    }
    fn warning(&self) -> Option<String> {
        self.lasting.too_short(self.lasts, "all that the last fault does has been noticed")
    }
    fn title(&self) -> String {
        "failure detection".to_owned()
    }
    fn own_options(&self, _net: bool) -> String {
        format!("--for {}", show_duration_ns(self.ends_ns()))
    }
    fn own_head(&self, _net: bool) -> Vec<(&'static str, Value)> {
        vec![("for", json!(show_duration_ns(self.ends_ns())))]
    }
}

/// How many heartbeats there are about.
pub(super) fn messages(setup: &Setup, lasts: Duration) -> u128 {
    let nodes = u128::from(setup.group.size());
    nodes * (nodes - 1) * (lasts.as_nanos() / setup.beat.as_nanos() + 1)
}

impl Scenario {
    /// When everyone must have noticed all that happens to nodes and links.
    pub(crate) fn noticed(&self) -> Duration {
        let Some(faults) = &self.environment.faults else { return Duration::ZERO };
        let Some(last_ns) = faults.last_ns() else { return Duration::ZERO };
        // In the exponential distribution, one in ten million million takes longer.
        let mean_ns = self.environment.latency.mean_ns() as u64;
        let longest = jitter(&self.environment.latency)
            .map_or(Duration::from_nanos(mean_ns.saturating_mul(30)), |it| it.longest);
        // What was sent before the last crash may be heard long after it.
        let longest = Duration::from_nanos(faults.longest_ns(longest.as_nanos() as u64));
        // On a real network that is no worse than it seems, a margin is soon long enough.
        let mistakes = if self.is_real { Some(3) } else { self.allowed() };
        // A node that was cut off or down, and is heard again, lengthens margins like a mistake.
        let mistakes = mistakes.map(|many| many.saturating_add(self.returns()));
        let takes = (self.card.terms.detects)(&self.setup, longest, mistakes);
        Duration::from_nanos(last_ns).saturating_add(takes)
    }
}
