//! Failure detection: what its runs are runs of, what is measured, what is asked of the checker.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::detection::card::{Card, DETECTION, Jitter, MESSAGES, MISTAKES, Setting};
use vorrang_algorithms::detection::spec::Suspicions;
use vorrang_algorithms::detection::{Command, Detection, Notice};
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_check::{Ask, Plan};
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{Message as _, Needs, NodeId, Protocol, show_duration_ns};
use vorrang_sim::{Distribution, Fault, Faults, Orders, Workload};

use super::remarks::{nodes_in_words, surroundings};
use super::suspicion::Tally;
use super::{Doing, Driven, Extremes, Made, Question, Remarks, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading};
use crate::network::Place;
use crate::network::once::{self, Until};
use crate::options::RunArgs;
use crate::real::beats_if_real;
use crate::selection::Axis;

/// Everyone watches everyone, and something is kept of every two.
const MOST_NODES: u32 = 2_000;
/// More than anybody waits for.
const MOST_MESSAGES: u128 = 1_000_000_000;
/// How many heartbeats a run lasts, if nothing is said.
const USUAL_BEATS: u32 = 100;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    between: Between,
    lasts: Duration,
    is_real: bool,
}

/// What goes wrong besides crashes that last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Trouble {
    Nothing,
    /// Nodes come up again, or the network is cut: a monitor sees that.
    Seen,
    /// Messages are lost or late in a way that nobody can see.
    Unseen,
}

impl Scenario {
    fn trouble(&self) -> Trouble {
        let Some(faults) = &self.between.faults else { return Trouble::Nothing };
        if !faults.is_scripted() {
            return Trouble::Unseen;
        }
        let of = |fault: &Fault| match fault {
            Fault::Crash(_) => Trouble::Nothing,
            Fault::Restart(_) | Fault::Partition(_) | Fault::Heal(_) => Trouble::Seen,
            Fault::Pause(_) | Fault::Resume(_) | Fault::Slow(_) | Fault::Recover(_) => {
                Trouble::Unseen
            }
        };
        faults.script.iter().map(|(_, fault)| of(fault)).max().unwrap_or(Trouble::Nothing)
    }

    /// How often each may be wrong about each, if there is a saying.
    fn allowed(&self) -> Option<u32> {
        let jitter = jitter(self.between.latency).filter(|_| !self.is_real)?;
        let is_kept = self.trouble() < Trouble::Unseen && !self.between.is_reliable;
        (self.card.terms.mistakes)(&self.setup, jitter).filter(|_| is_kept)
    }

    fn setting(&self) -> Option<Setting> {
        let (setup, lasts) = (self.setup.clone(), self.lasts);
        let crashes = self.between.faults.iter().flat_map(Faults::crashes);
        let crashes = crashes.map(|(at_ns, node)| (node, Duration::from_nanos(at_ns))).collect();
        let is_plain = self.trouble() == Trouble::Nothing && !self.between.is_reliable;
        let jitter = jitter(self.between.latency);
        (is_plain && !self.is_real).then_some(Setting { setup, lasts, jitter, crashes })
    }

    /// What the theory says of a quantity, where it says anything.
    fn theory(&self, of: Quantity) -> Option<Span> {
        let span = self.card.cost(of, &self.setting()?)?;
        Some(span).filter(|span| span.high.is_finite())
    }

    /// What a run came to, with times in a unit of so many nanoseconds.
    fn figures(&self, tally: &Tally, (unit, unit_ns): (&'static str, f64)) -> Vec<Figure> {
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
fn jitter(latency: Distribution) -> Option<Jitter> {
    let (shortest, longest) = match latency {
        Distribution::Constant(ns) => (ns, ns),
        Distribution::Uniform(from, to) => (from, to),
        Distribution::Exponential(_) => return None,
    };
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
    fn between(&self) -> &Between {
        &self.between
    }
    fn total(&self) -> u64 {
        messages(&self.setup, self.lasts).try_into().unwrap_or(u64::MAX)
    }
    fn ends_ns(&self) -> u64 {
        self.lasts.as_nanos() as u64
    }
    fn title(&self) -> String {
        "failure detection".to_owned()
    }
    fn own_options(&self, _net: bool) -> String {
        format!("--for {}", show_duration_ns(self.ends_ns()))
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        vec![("for", json!(show_duration_ns(self.ends_ns())))]
    }
}

/// How many heartbeats there are about.
fn messages(setup: &Setup, lasts: Duration) -> u128 {
    let nodes = u128::from(setup.group.size());
    nodes * (nodes - 1) * (lasts.as_nanos() / setup.beat.as_nanos() + 1)
}

/// Nobody asks for anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silent;

impl Workload<Command, Notice> for Silent {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally::new(nodes, kinds)
    }
    fn on_start(&mut self, _: &mut Orders<'_, Command>) {}
}

impl Driven for Detection {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, last) = (setup.group.size(), NodeId(setup.group.size() - 1));
        let unit = Duration::from_millis(1);
        let crash = |at: Duration| Setting {
            setup: setup.clone(),
            lasts: setup.beat * USUAL_BEATS,
            jitter: Some(Jitter { longest: unit, spread: Duration::ZERO }),
            crashes: vec![(last, at)],
        };
        let beats = setup.beat * 10;
        Ok(Extremes {
            common: format!("--nodes {nodes}, {USUAL_BEATS} BEATS, T = 1ms, A CRASH"),
            settings: [
                ("JUST BEFORE A HEARTBEAT", crash(beats)),
                ("JUST AFTER", crash(beats + Duration::from_nanos(1))),
            ],
        })
    }
    fn contrast(_: &'static Card) -> Axis {
        ("latency", &["1ms", "uniform:0..2ms", "exp:1ms"])
    }

    type Scenario = Scenario;
    type Monitor = Suspicions;
    type Workload = Silent;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let (nodes, is_real) = (args.common.nodes, args.common.is_real);
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: everyone watches everyone, so at most \
                 {MOST_NODES}",
                card.name
            )));
        }
        let (mut setup, between) = args.placed(&card.about())?;
        if is_real {
            beats_if_real(&mut setup, &args.setup);
        }
        let asked = args.lasting.time();
        let usual = if is_real { 20 } else { USUAL_BEATS };
        let lasts = asked.unwrap_or(setup.beat.saturating_mul(usual));
        let mut scenario = Scenario { card, setup, between, lasts, is_real };
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
    fn monitor(scenario: &Scenario) -> Suspicions {
        Suspicions::new(scenario.setup.group, scenario.allowed()).cut_off()
    }
    /// Whoever is up is heard within a heartbeat and the time that it takes: an older suspicion is
    /// none that the next message takes back.
    fn complaint(scenario: &Scenario, tally: &Tally) -> Option<String> {
        scenario.allowed()?;
        let longest = jitter(scenario.between.latency)?.longest;
        let setup = &scenario.setup;
        let heard = setup.beat.saturating_add(setup.late).saturating_add(longest);
        let (at, of, since_ns) = tally.oldest_wrong()?;
        let lasted = scenario.lasts.saturating_sub(Duration::from_nanos(since_ns));
        (lasted > heard).then(|| {
            format!(
                "accuracy: node {at} suspects node {of}, which is up, since {}",
                show_duration_ns(since_ns)
            )
        })
    }
    fn workload(_: &Scenario) -> Silent {
        Silent
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.between.latency.mean_ns()))
    }

    const ROLES: &'static [Role] = &[Role::Other];

    fn trials(_: &'static Card, _: u32) -> Vec<String> {
        vec!["--latency uniform:500us..1500us --for 20ms".to_owned()]
    }
    fn doing(said: Said<'_, Command, Notice>) -> Option<Doing> {
        match said {
            Said::Command(command) => match *command {},
            Said::Notice(Notice::Suspect(_) | Notice::Trust(_)) => None,
        }
    }

    fn look(_: NodeId, said: Said<'_, Command, Notice>) -> Look {
        match said {
            Said::Command(command) => match *command {},
            Said::Notice(Notice::Suspect(_)) => Look::mark(Mark::Warns("suspects")),
            Said::Notice(Notice::Trust(_)) => Look::mark(Mark::Diamond("trusts again")),
        }
    }

    type Watch = Suspicions;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }

    fn staged(_: &'static Card, setup: &Setup, _: Option<&str>) -> Suspicions {
        Suspicions::new(setup.group, None)
    }
    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        Vec::new()
    }

    const COMMANDS: &'static [(&'static str, &'static str)] = &[];

    fn needs(_: &'static Card, _: &Setup) -> Needs {
        Needs::Nobody
    }
    fn over_tcp<P>(
        scenario: &Scenario,
        made: &Made<P>,
        place: Place,
        trace: Option<&Path>,
    ) -> Result<Measured, Failure>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let meter = Tally::new(scenario.setup.group.size(), P::Message::KINDS);
        let figures = |tally: &Tally| scenario.figures(tally, (" us", 1_000.0));
        let watched = (Self::monitor(scenario), meter);
        let until = Until::Over(scenario.lasts);
        once::run(scenario, made, (&[], until), watched, figures, (place, trace))
    }
}

impl Scenario {
    /// When everyone must have noticed all that happens to nodes and links.
    fn noticed(&self) -> Duration {
        let Some(last_ns) = self.between.faults.as_ref().and_then(Faults::last_ns) else {
            return Duration::ZERO;
        };
        // Of the exponential distribution, one in ten million million takes longer.
        let mean_ns = self.between.latency.mean_ns() as u64;
        let longest = jitter(self.between.latency)
            .map_or(Duration::from_nanos(mean_ns.saturating_mul(30)), |it| it.longest);
        // On a real network that is no worse than it seems, a margin is soon long enough.
        let mistakes = if self.is_real { Some(3) } else { self.allowed() };
        let takes = (self.card.terms.detects)(&self.setup, longest, mistakes);
        Duration::from_nanos(last_ns).saturating_add(takes)
    }
}

fn question(
    card: &'static Card,
    flaw: Option<&str>,
    args: &CheckArgs,
) -> Result<Question<Detection>, Failure> {
    let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
    let nodes = args.nodes.unwrap_or_else(|| shown.map_or(2, |shown| shown.nodes));
    let about = card.about();
    let mut setup = args.setup.setup(&about, nodes)?;
    for (parameter, text) in shown.map_or(&[][..], |shown| shown.given) {
        if !args.setup.says(*parameter) {
            setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
    }
    let order = args.order(card.assumes.order);
    let usual = (shown.map_or(1, |shown| shown.crashes), shown.map_or(0, |shown| shown.restarts));
    let faults = args.faults(usual);
    // Where messages take for ever, there is no end to those that are under way. Nobody is told
    // how long they take.
    let mut links = args.links(&about, &setup, order);
    links.within = args.timely.or(Some(setup.within)).filter(|_| !args.asynchronous);
    let is_kept = faults.losses == 0 && args.reliable.is_none();
    let monitor = card.watch(&setup, links.within.filter(|_| is_kept));

    let mut line = args.line(&about, &setup, order);
    let more = [
        (args.crashes().is_none(), format!(" --crashes {}", usual.0)),
        (args.restarts().is_none() && usual.1 > 0, format!(" --restarts {}", usual.1)),
    ];
    line.extend(more.into_iter().filter(|(is_new, _)| *is_new).map(|(_, text)| text));

    let mut remarks = remarks(nodes, links.within, monitor.allowed());
    if let (Some(flaw), Some(shown)) = (flaw, shown) {
        let mut takes = format!("--nodes {} --crashes {}", shown.nodes, shown.crashes);
        if shown.restarts > 0 {
            let _ = write!(takes, " --restarts {}", shown.restarts);
        }
        for (parameter, value) in shown.given {
            let _ = write!(takes, " --{} {value}", parameter.name());
        }
        remarks.of_flaw(flaw, &takes, nodes < shown.nodes || faults.crashes < shown.crashes);
    }
    let around = surroundings(&about, &setup, &links, faults);
    Ok(Question {
        plan: Plan::PerNode(vec![Vec::new(); nodes as usize]),
        monitor,
        links,
        faults,
        fair: args.demand.fair,
        properties: ["completeness", "accuracy"].map(str::to_owned).to_vec(),
        covers: format!("{}, {around}", nodes_in_words(nodes as usize)),
        remarks,
        line,
        setup,
    })
}

/// What is covered of mistakes, in words.
fn remarks(nodes: u32, within: Option<Duration>, allowed: Option<u32>) -> Remarks {
    let mut remarks = Remarks::default();
    let mut warn = |what: &str| remarks.warnings.push(what.to_owned());
    if nodes == 1 {
        warn("a single node has no other to watch");
    }
    match (within, allowed) {
        (None, _) => {
            warn(
                "without a bound on message delay, heartbeats pile up without end: say --max-depth",
            );
        }
        (Some(_), None) => {
            warn("accuracy is not checked: messages are lost, or later than any margin")
        }
        (Some(_), Some(times)) => {
            let often = match times {
                0 => "never wrong about another".to_owned(),
                1 => "wrong about another once at most".to_owned(),
                _ => format!("wrong about another {times} times at most"),
            };
            remarks.notes.push(format!("a node that was up all along may be {often}"));
        }
    }
    remarks
}
