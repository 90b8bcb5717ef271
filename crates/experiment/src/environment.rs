//! The environment of a run (latency, order, faults), checked against the algorithm's assumptions.

use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::About;
use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_sim::{Distribution, Faults, LatencyMatrix, Network};

use crate::failure::Failure;
use crate::latency::Latency;
use crate::names::unknown;
use crate::net_defaults::{Pace, TIMELY_ENOUGH};
use crate::options::choice::{Choice as _, name};
use crate::options::fault_args::FaultArgs;
use crate::options::{CABLE, OrderKind, RunArgs, check_within};

/// One millisecond.
const DEFAULT_LATENCY: Latency = Latency::Alike(Distribution::Constant(1_000_000));

/// So many heartbeats in a row may be lost.
const MISSED: u32 = 3;

/// The environment of a run, checked against the algorithm's assumptions.
#[derive(Clone, Debug)]
pub struct Environment {
    /// How long a message takes.
    pub latency: Latency,
    /// Whether messages from one node to another keep their order.
    pub order: OrderKind,
    asked_order: Option<OrderKind>,
    pub(crate) breaks: bool,
    /// Whether invariants are looked at.
    pub is_guarded: bool,
    /// Whether the nodes have reliable channels.
    pub is_reliable: bool,
    /// The mistake that they make.
    pub flaw: Option<&'static str>,
    /// Decides all that is drawn.
    pub seed: u64,
    /// The faults, as typed.
    trouble: FaultArgs,
    /// The same as a plan, if anything does.
    pub faults: Option<Faults>,
}

impl RunArgs {
    /// The set-up of the algorithm and the network between its nodes, checked against what the
    /// algorithm assumes.
    pub fn placed(&self, about: &About) -> Result<(Setup, Environment), Failure> {
        let nodes = self.common.nodes;
        let about = &self.on_views(about.clone());
        let mut setup = self.setup.setup(about, nodes)?;
        if about.takes.contains(&Parameter::Structure) {
            // As of quorums; but mistakes, which are not run, are made with structures that are
            // not safe.
            let sets = setup.structure.sets(setup.group, &setup.quorum);
            sets.map_err(|unfit| Failure::Usage(unfit.0))?;
        }
        let latency = self.latency(&setup)?;
        let breaks = self.common.break_assumptions;
        if about.assumes.timely {
            self.bound_waits(about, &latency, &mut setup)?;
        }
        let (seed, trouble) = (self.common.seed, self.faults.clone());
        trouble.check_holders()?;
        let faults = trouble.faults(nodes, latency.mean_ns() as u64, seed)?;
        if self.views.on_views && self.common.is_real {
            Pace::ON_VIEWS.unless_told(&mut setup, &self.setup);
        } else if self.views.on_views {
            self.pace(&mut setup, &latency);
        }
        check_within(&setup)?;
        let is_reliable = self.common.reliable;
        // Reliable channels assume nothing of the order, and on views an algorithm has them where
        // anything goes wrong.
        let has_channels = is_reliable || self.views.on_views && faults.is_some();
        let assumed =
            if has_channels { OrderKind::Any } else { OrderKind::from(about.assumes.order) };
        let order = self.common.order.unwrap_or(assumed);
        if (assumed, order) == (OrderKind::Fifo, OrderKind::Any) && !breaks {
            let varied = if latency.is_constant() {
                "--break-assumptions --latency uniform:1us..2ms"
            } else {
                "--break-assumptions"
            };
            return Err(Failure::usage(format!(
                "{} assumes that messages between two nodes keep their order: use --order fifo, \
                 or {varied} to see it break",
                about.name
            )));
        }
        setup.topology = setup.topology.seeded(seed);
        setup.ring = setup.ring.seeded(seed);
        about.assumes.layout.graph(&setup).map_err(|unfit| Failure::Usage(unfit.0))?;
        let flaw = self.flaw(about)?;
        let asked_order = self.common.order;
        let is_guarded = self.common.invariants;
        let environment = Environment {
            latency,
            order,
            asked_order,
            breaks,
            is_guarded,
            is_reliable,
            flaw,
            seed,
            trouble,
            faults,
        };
        Ok((setup, environment))
    }

    /// How long messages take: as was said, or else as the set-up has it, or 1 ms.
    fn latency(&self, setup: &Setup) -> Result<Latency, Failure> {
        match (&self.common.latency_matrix, self.common.latency) {
            (Some(_), Some(latency)) => Err(Failure::usage(format!(
                "--latency {latency} is for all links, and --latency-matrix says it for each: \
                 give one of the two"
            ))),
            (Some(text), None) => Latency::matrix(text, self.common.nodes),
            (None, Some(latency)) => Ok(Latency::Alike(latency)),
            (None, None) if setup.contention.times_ns().is_some() => {
                Ok(Latency::Alike(Distribution::Constant(CABLE.as_nanos() as u64)))
            }
            (None, None) => Ok(DEFAULT_LATENCY),
        }
    }

    /// The mistake that was asked for, if there is such a one.
    fn flaw(&self, about: &About) -> Result<Option<&'static str>, Failure> {
        let Some(asked) = self.common.flaw.as_ref().filter(|_| self.slip().is_none()) else {
            return Ok(None);
        };
        let own = about.mistakes.iter().map(|mistake| mistake.name);
        if let Some(name) = own.clone().find(|name| name == asked) {
            return Ok(Some(name));
        }
        let slips = if self.views.on_views { LocksFlaw::ALL } else { &[] };
        let known = own.chain(slips.iter().map(|(_, name)| *name));
        Err(unknown(&format!("flaw of {}", about.name), asked, known))
    }

    /// Sets defaults of the failure detector: heartbeats every five message delays, and a margin
    /// that tolerates the longest delay; where messages are lost by chance, also a few losses in a
    /// row.
    fn pace(&self, setup: &mut Setup, latency: &Latency) {
        let (shortest_ns, longest_ns) = (latency.shortest_ns(), latency.nearly_longest_ns());
        let mean_ns = latency.mean_ns() as u64;
        let time = Duration::from_nanos;
        if !self.setup.says(Parameter::Within) {
            setup.within = time(longest_ns);
        }
        if mean_ns == 0 {
            return;
        }
        if !self.setup.says(Parameter::Beat) {
            setup.beat = time(mean_ns.saturating_mul(5));
        }
        if !self.setup.says(Parameter::Margin) {
            let late = time((mean_ns / 2).max(longest_ns - shortest_ns).max(1));
            let missed =
                if self.faults.loses() { setup.beat.saturating_mul(MISSED) } else { time(0) };
            setup.margin = late.saturating_add(missed);
        }
    }

    /// Sets the bound on message delay of an algorithm to that of the network, unless it is given.
    fn bound_waits(
        &self,
        about: &About,
        latency: &Latency,
        setup: &mut Setup,
    ) -> Result<(), Failure> {
        let (bound_ns, typed) = (latency.longest_ns().map(|ns| ns.max(1)), latency.typed());
        match (self.setup.says(Parameter::Within), bound_ns) {
            (true, _) if self.common.is_real => {}
            (false, _) if self.common.is_real => setup.within = TIMELY_ENOUGH,
            (false, Some(bound_ns)) => setup.within = Duration::from_nanos(bound_ns),
            (true, Some(bound_ns)) if setup.within.as_nanos() >= u128::from(bound_ns) => {}
            (true, _) if self.common.break_assumptions => {}
            (true, _) => {
                return Err(Failure::usage(format!(
                    "{} assumes that no message takes longer than --within: with {typed} \
                     some do; --break-assumptions lets you see it break",
                    about.name
                )));
            }
            (false, None) => {
                return Err(Failure::usage(format!(
                    "{typed} has no bound: say with --within how long {} believes a \
                     message to take, and --break-assumptions",
                    about.name
                )));
            }
        }
        Ok(())
    }
}

impl Environment {
    /// The same for the simulator.
    pub fn network(&self) -> Network {
        let latency = match &self.latency {
            Latency::Alike(latency) => *latency,
            // What the matrix says counts instead.
            Latency::Matrix(_) => Distribution::Constant(self.latency.mean_ns().round() as u64),
        };
        Network { latency, order: self.order.into() }
    }

    /// How long messages take on each link, if not on all alike.
    pub fn matrix(&self) -> Option<LatencyMatrix> {
        match &self.latency {
            Latency::Alike(_) => None,
            Latency::Matrix(matrix) => Some(matrix.clone()),
        }
    }

    /// The same, and what goes wrong, as figures begin with it.
    ///
    /// Over a real network TCP decides how messages travel: delays are not known, and links are
    /// FIFO.
    pub fn head(&self, net: bool) -> Vec<(&'static str, Value)> {
        let order = if net { OrderKind::Fifo } else { self.order };
        let mut head = if net { vec![("latency", Value::Null)] } else { self.latency.head() };
        head.extend([
            ("order", json!(name(&order))),
            ("break_assumptions", json!(self.breaks)),
            ("reliable", json!(self.is_reliable)),
            ("flaw", json!(self.flaw)),
        ]);
        head.extend(self.trouble.head(self.faults.as_ref()));
        head
    }

    /// Whether anything happens between the nodes that theories of algorithms do not speak of.
    pub const fn is_altered(&self) -> bool {
        self.faults.is_some() || self.is_reliable
    }

    /// How long nearly every message takes at most.
    pub fn nearly_longest_ns(&self) -> u64 {
        self.latency.nearly_longest_ns()
    }

    /// How much longer one message may take than another, if there is a bound.
    pub fn spread_ns(&self) -> Option<u64> {
        let longest_ns = self.latency.longest_ns()?.max(1);
        Some(longest_ns - self.latency.shortest_ns().max(1))
    }

    /// Whether no message takes longer than a set-up says.
    pub fn is_within(&self, setup: &Setup) -> bool {
        let longest_ns = self.latency.longest_ns().map(|ns| ns.max(1));
        longest_ns.is_some_and(|ns| u128::from(ns) <= setup.within.as_nanos())
    }

    /// The options as they would be typed, the seed included.
    pub fn options(&self) -> String {
        let order = name(&self.order);
        let text = format!("--seed {} {} --order {order}", self.seed, self.latency.typed());
        text + &self.besides()
    }

    /// The same for all algorithms on a page of a comparison: without the seed, and without an
    /// order that was not given.
    pub fn page(&self) -> String {
        let order = self.asked_order.map_or(String::new(), |it| format!(" --order {}", name(&it)));
        format!("{}{order}{}", self.latency.on_page(), self.besides())
    }

    /// The faults, as they would be typed.
    pub fn faults_typed(&self) -> String {
        self.trouble.options()
    }

    /// The checks and faults, as they would be typed.
    fn besides(&self) -> String {
        let mut text = String::new();
        if self.breaks {
            text.push_str(" --break-assumptions");
        }
        if self.is_guarded {
            text.push_str(" --invariants");
        }
        if self.is_reliable {
            text.push_str(" --reliable");
        }
        if let Some(flaw) = self.flaw {
            text.push_str(" --flaw ");
            text.push_str(flaw);
        }
        text + &self.trouble.options()
    }
}
