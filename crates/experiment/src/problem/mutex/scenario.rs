//! The scenario of a run, and its theory.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::mutex::card::{self, Card, MESSAGES, SYNC_DELAY, Setting, THROUGHPUT};
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::{Needs, NodeId};
use vorrang_sim::{Contenders, Distribution};

use super::on_views::Views;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::options::choice::name;
use crate::options::mutex::{LoadKind, requesters};
use crate::options::views::takes;
use crate::options::{RunArgs, list};
use crate::problem::Scene;

/// How many messages an entry may take. Nodes that talk to all others also remember something of
/// each, so that memory grows alike.
pub(super) const MOST_MESSAGES: f64 = 20_000.0;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) entries: u64,
    pub(crate) load: LoadKind,
    pub(crate) think: Distribution,
    pub(crate) hold: Option<Distribution>,
    pub(crate) hot: Option<u32>,
    /// Whether it is shown what it costs where a message to many is sent once.
    pub(crate) broadcast_medium: bool,
    /// The nodes that ask, lowest first; none if `hot` says it or nothing does.
    pub(crate) requesters: Vec<u32>,
    pub(crate) environment: Environment,
    pub(crate) views: Option<Views>,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let own = &args.mutex;
        let load = own.load;
        if load != LoadKind::Heavy && own.think != Distribution::Constant(0) {
            return Err(Failure::usage(format!(
                "--think {} applies to --load heavy only: under {} load a node asks when no \
                 request is pending",
                own.think,
                name(&load),
            )));
        }
        let nodes = args.common.nodes;
        if let Some(hot) = own.hot.filter(|&hot| hot > nodes) {
            return Err(Failure::usage(format!(
                "--hot {hot} is more than there are: --nodes {nodes}"
            )));
        }
        let requesters = requesters(&own.requesters, nodes)?;
        if let (Some(hot), [_, ..]) = (own.hot, &requesters[..]) {
            return Err(Failure::usage(format!(
                "--hot {hot} and --requesters {}: both say who asks, so leave out one of them",
                list(&requesters)
            )));
        }
        let (setup, environment) = args.placed(&card.about())?;
        if args.common.is_real && environment.faults.is_some() && load != LoadKind::Heavy {
            return Err(Failure::usage(format!(
                "--crash over a real network is for --load heavy: under {} load all wait for one",
                name(&load)
            )));
        }
        let views = Views::new(card, args, (&setup, &environment))?;
        let contenders = own.hot.unwrap_or_else(|| card.contenders(nodes));
        let is_alone = load == LoadKind::Light || contenders == 1 || requesters.len() == 1;
        if card.assumes.one_at_a_time && !is_alone && !args.common.break_assumptions {
            return Err(Failure::usage(format!(
                "{} assumes that requests come one at a time, and may deadlock under {} load: use \
                 --load light, or --break-assumptions to see it break",
                card.name,
                name(&load),
            )));
        }
        let setting = Setting::new(card, &setup, card::Load::Heavy);
        let messages = card.cost(MESSAGES, &setting).map_or(0.0, |cost| cost.high);
        if messages.is_finite() && messages > MOST_MESSAGES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: an entry would take up to {messages} \
                 messages, and {MOST_MESSAGES} are as many as fit a simulation",
                card.name
            )));
        }
        Ok(Self {
            card,
            setup,
            entries: own.entries,
            load,
            think: own.think,
            hold: own.hold,
            hot: own.hot,
            broadcast_medium: own.broadcast_medium,
            requesters,
            environment,
            views,
        })
    }
}

impl Scenario {
    /// The nodes that ever ask.
    pub(crate) fn asking(&self) -> Contenders {
        if let [_, ..] = self.requesters[..] {
            return Contenders::these(self.requesters.iter().copied().map(NodeId));
        }
        let all = match self.views {
            // Coordinators change from view to view.
            Some(_) => self.nodes(),
            None => self.card.contenders(self.nodes()),
        };
        Contenders::First(self.hot.unwrap_or(all))
    }

    /// How many nodes ever ask.
    pub(crate) fn contenders(&self) -> u32 {
        self.asking().count(self.nodes())
    }

    /// Whether nodes may wait for each other for ever, though nothing goes wrong between them: the
    /// algorithm assumes that requests come one at a time, and they do not.
    pub(crate) fn may_deadlock(&self) -> bool {
        let is_alone = self.load == LoadKind::Light || self.contenders() == 1;
        self.card.assumes.one_at_a_time && !is_alone
    }

    /// Whether the theory speaks of those who ask: the first nodes, or any if each asks all others.
    /// Elsewhere costs may depend on who asks: on its quorum, or on its place in a graph.
    fn speaks_of_requesters(&self) -> bool {
        let are_first = (0..).zip(&self.requesters).all(|(place, &node)| place == node);
        are_first || (self.card.terms.needs)(&self.setup) == Needs::AllBut(0)
    }

    /// Why 1/(delay + E) says nothing of the throughput, or why the theory does not say what it is.
    pub(crate) fn no_throughput(&self, has_delay: bool) -> &'static str {
        let is_one = (self.card.terms.admission)(&self.setup) == Admission::One;
        match (is_one, has_delay) {
            (false, _) => "several may be inside at once, so no delay and stay add up to it",
            (true, false) => "nobody waited when a node left, so there was no delay",
            (true, true) if !self.speaks_of_requesters() => {
                "what an entry costs depends on who asks, and the theory speaks of the first nodes \
                 (--hot)"
            }
            (true, true) => {
                "it is known only where every message takes T, every stay E, nothing goes wrong, \
                 and some node always waits"
            }
        }
    }

    /// How long a node stays inside: T, if nothing is said.
    pub(crate) fn hold(&self) -> Distribution {
        let one_latency = Distribution::Constant(self.environment.latency.mean_ns().round() as u64);
        self.hold.unwrap_or(one_latency)
    }

    /// The same over a real network, where T is not known: 0 by default.
    pub(crate) fn hold_over_tcp(&self) -> Distribution {
        self.hold.unwrap_or(Distribution::Constant(0))
    }

    /// How long a node stays inside, in the simulator or over a real network.
    fn stay(&self, net: bool) -> Distribution {
        if net { self.hold_over_tcp() } else { self.hold() }
    }

    /// Whether the lock lives on views.
    pub(crate) const fn is_on_views(&self) -> bool {
        self.views.is_some()
    }

    /// N.
    pub(crate) fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// The theory of a quantity, if any.
    ///
    /// For times only if every message takes T and every stay is the same, at the two extremes of
    /// the load; for counts always, but between the extremes only the common range.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        if of == THROUGHPUT {
            return self.throughput();
        }
        let span = self.theory_with(of, self.hold(), true)?;
        let is_exact = span.low >= span.high;
        let speaks = is_exact || self.is_typical();
        Some(if speaks { span } else { Span::between(span.low, span.high) })
    }

    /// Entries per T, if every node always wants in.
    fn throughput(&self) -> Option<Span> {
        let is_busy = self.is_saturated() && self.card.is_exclusive(&self.setup, self.contenders());
        let delay = self.theory(SYNC_DELAY).filter(|_| is_busy)?;
        Some(card::throughput(delay, self.hold().mean_ns() / self.environment.latency.mean_ns()))
    }

    /// The same over a real network: none for times, since message delays are not known, and none
    /// at all where messages travel before the first and after the last request.
    pub(crate) fn theory_over_tcp(&self, of: Quantity) -> Option<Span> {
        let says_nothing = of.is_time || self.card.terms.perpetual;
        self.theory_with(of, self.hold_over_tcp(), false).filter(|_| !says_nothing)
    }

    /// Whether every node always wants in.
    pub(crate) fn is_saturated(&self) -> bool {
        self.load == LoadKind::Heavy && self.think == Distribution::Constant(0)
    }

    pub(crate) fn theory_with(
        &self,
        of: Quantity,
        stay: Distribution,
        is_known: bool,
    ) -> Option<Span> {
        let latency = &self.environment.latency;
        let at = |load| {
            let hold =
                if latency.mean_ns() > 0.0 { stay.mean_ns() / latency.mean_ns() } else { 0.0 };
            let setting =
                Setting { setup: self.setup.clone(), contenders: self.contenders(), load, hold };
            self.card.cost(of, &setting)
        };
        let load = match self.load {
            // Between the ends a token that goes round for ever may do so for nothing.
            LoadKind::Heavy | LoadKind::Burst
                if self.card.terms.perpetual && !self.is_saturated() =>
            {
                return None;
            }
            LoadKind::Light => Some(card::Load::Light),
            LoadKind::Heavy if self.is_saturated() => Some(card::Load::Heavy),
            LoadKind::Heavy | LoadKind::Burst => None,
        };
        let is_plain =
            is_known && latency.is_constant() && stay.is_constant() && latency.mean_ns() > 0.0;
        match load {
            _ if self.environment.is_altered() || self.views.is_some() => None,
            _ if !self.speaks_of_requesters() => None,
            _ if of.is_time && !is_plain => None,
            // The figures of a saturated run depend on the order of requests: they are known only
            // if all messages take the same time.
            Some(card::Load::Heavy) if !is_plain => {
                let span = at(card::Load::Heavy)?;
                let is_exact = span.low >= span.high;
                Some(if is_exact { span } else { Span::between(span.low, span.high) })
            }
            Some(load) => at(load),
            None if of.is_time => None,
            None => {
                let (light, heavy) = (at(card::Load::Light)?, at(card::Load::Heavy)?);
                let is_exact = light == heavy && light.low >= light.high;
                Some(if is_exact { light } else { light.or(heavy) })
            }
        }
    }

    /// Whether nodes hear of each other by nothing but the algorithm's own messages.
    pub(crate) const fn is_bare(&self) -> bool {
        !self.environment.is_reliable && self.views.is_none()
    }

    /// Whether typical values can be expected: in a long run, in which the token of a ring does not
    /// rest for longer than a message takes before the first request.
    pub(crate) fn is_typical(&self) -> bool {
        const AT_LEAST: u64 = 100;
        const EACH: u64 = 20;
        let rest_ns = self.setup.rest.as_nanos() as f64;
        let rests = self.card.terms.perpetual && rest_ns > self.environment.latency.mean_ns();
        self.entries >= AT_LEAST.max(EACH * u64::from(self.contenders())) && !rests
    }
}

impl Scene for Scenario {
    fn about(&self) -> About {
        let about = self.card.about();
        match self.views {
            Some(_) => About { takes: takes(about.takes), ..about },
            None => about,
        }
    }
    fn views(&self) -> Option<&Views> {
        self.views.as_ref()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Environment {
        &self.environment
    }
    fn total(&self) -> u64 {
        self.entries
    }
    fn title(&self) -> String {
        format!("{} load", name(&self.load))
    }
    /// A run without a deadlock is no evidence where the order of messages hardly ever varies.
    fn warning(&self) -> Option<String> {
        let latency = &self.environment.latency;
        (self.may_deadlock() && latency.is_constant()).then(|| {
            format!(
                "{} may deadlock if several ask at once, which takes requests that arrive in \
                 different orders; with {} all messages take the same time: --latency exp:1ms \
                 makes a deadlock likely",
                self.card.name,
                latency.typed()
            )
        })
    }
    fn own_options(&self, net: bool) -> String {
        let (entries, load) = (self.entries, name(&self.load));
        let hold = self.stay(net);
        let mut text = format!("--entries {entries} --load {load} --hold {hold}");
        if self.think != Distribution::Constant(0) {
            let _ = write!(text, " --think {}", self.think);
        }
        if let Some(hot) = self.hot {
            let _ = write!(text, " --hot {hot}");
        }
        if self.broadcast_medium {
            text += " --broadcast-medium";
        }
        if !self.requesters.is_empty() {
            let _ = write!(text, " --requesters {}", list(&self.requesters));
        }
        text + &self.views.as_ref().map_or_else(String::new, Views::options)
    }
    fn own_head(&self, net: bool) -> Vec<(&'static str, Value)> {
        let mut head = vec![
            ("entries_asked", json!(self.entries)),
            ("load", json!(name(&self.load))),
            ("think", json!(self.think.to_string())),
            ("hold", json!(self.stay(net).to_string())),
            ("contenders", json!(self.contenders())),
        ];
        head.extend(Views::head(self.views.as_ref()));
        head
    }
}
