//! The scenario of a run, and its theory.

use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::multicast::card::{CONTROL, Card, IMPLOSION, LATENCY, REQUESTS, Setting};
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_protocol::Graph;
use vorrang_sim::{Distribution, Share};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Figure, Reading, Unit};
use crate::net_defaults::within_if_real;
use crate::options::RunArgs;
use crate::problem::Scene;
use vorrang_workload::group::Move;
use vorrang_workload::multicast::Tally;
use vorrang_workload::multicast::shares;

/// Something is kept for every sender at every member.
pub(super) const MOST_NODES: u32 = 20_000;

/// How often there is something to say, if nothing is said of it.
pub(super) const USUAL_MULTICASTS: u64 = 1_000;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    /// The topology as it was asked for: without a seed, if that is the seed of the run.
    pub(crate) asked: Topology,
    pub(crate) environment: Environment,
    pub(crate) multicasts: u64,
    pub(crate) senders: u32,
    pub(crate) every: Distribution,
    pub(crate) moves: Vec<Move>,
    pub(crate) is_real: bool,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let (nodes, is_real) = (args.common.nodes, args.common.is_real);
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: something is kept of every sender at every \
                 member, so at most {MOST_NODES}",
                card.name
            )));
        }
        let asked = args.setup.setup(&card.about(), nodes)?.topology;
        let (mut setup, environment) = args.placed(&card.about())?;
        if !args.setup.says(Parameter::Within) {
            let real = within_if_real(&card.about()).filter(|_| is_real);
            let simulated = || Duration::from_nanos(environment.nearly_longest_ns());
            setup.within = real.unwrap_or_else(simulated);
        }
        let given = &args.multicast;
        let senders = given.senders.unwrap_or(nodes);
        if senders > nodes {
            return Err(Failure::usage(format!(
                "--senders {senders}: there are only {nodes} members"
            )));
        }
        let usual = if is_real { u64::from(senders) * 10 } else { USUAL_MULTICASTS };
        let multicasts = given.multicasts.unwrap_or(usual);
        let mean_ns = environment.latency.mean_ns() as u64;
        let every = given.every.unwrap_or(Distribution::Exponential(mean_ns));
        let most = shares(multicasts, senders).into_iter().max().unwrap_or(0);
        if is_real && most > u64::from(setup.window) {
            return Err(Failure::usage(format!(
                "--multicasts {multicasts}: over a network a member multicasts all at once, and \
                 {most} of one are more than its --window of {}",
                setup.window
            )));
        }
        let moves = moves(args, &setup)?;
        Ok(Self { card, setup, asked, environment, multicasts, senders, every, moves, is_real })
    }
}

/// Who leaves and joins again, and when.
fn moves(args: &RunArgs, setup: &Setup) -> Result<Vec<Move>, Failure> {
    let moves = args.group.moves(setup, "")?;
    let Some(first) = moves.first() else { return Ok(moves) };
    let option = if first.joins { "--join" } else { "--leave" };
    if setup.tries.is_none() {
        return Err(Failure::usage(format!(
            "{option}: members of a reliable multicast are fixed, unless silent ones are removed; \
             add --tries, such as --tries 3"
        )));
    }
    Ok(moves)
}

impl Scenario {
    pub(crate) fn is_complete(&self) -> bool {
        self.setup.topology == Topology::Complete
    }

    /// The parameters of the theory, if the only faults are independent losses.
    pub(crate) fn setting(&self) -> Option<Setting> {
        let loss = match &self.environment.faults {
            None => 0.0,
            Some(faults) => {
                let rest = faults.clone().loss(Share::default());
                let is_plain = rest.is_scripted() && rest.script.is_empty();
                let loss = faults.loss.value();
                Some(loss).filter(|_| is_plain && faults.until_ns.is_none())?
            }
        };
        let is_complete = self.is_complete();
        let is_plain = !self.environment.is_reliable && (is_complete || loss == 0.0);
        let setup = self.setup.clone();
        is_plain.then_some(Setting { setup, loss, senders: self.senders, is_complete })
    }

    /// The theory of a quantity: for times, if all messages take T and no window is full; for
    /// others, if there are no false retransmissions.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        let setting = self.setting()?;
        let latency = &self.environment.latency;
        let is_constant = latency.is_constant() && latency.mean_ns() > 0.0 && !self.is_real;
        let is_timely = self.is_real || self.environment.is_within(&self.setup);
        let has_room = self.every.mean_ns() > 0.0;
        let speaks = if of.is_time { is_constant && has_room } else { is_timely };
        let says = |span: &Span| span.high.is_finite() || span.low > 0.0 || span.typical.is_some();
        self.card.cost(of, &setting).filter(|span| speaks && says(span))
    }

    /// The figures of a run, with times in a unit of so many nanoseconds.
    pub(crate) fn figures(&self, tally: &Tally, (unit, unit_ns): Unit) -> Vec<Figure> {
        let in_units = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
        let per = |count: f64, of: u64| (of > 0).then(|| count / of as f64);
        let multicasts = tally.multicasts();
        let others = f64::from(self.setup.group.size().max(2) - 1);
        // A multicast counts once, and one to a neighbourhood as the part of all that it goes to.
        let asked = tally.sent("NACK") as f64 + tally.sent("REQUEST") as f64 / others;
        let repaired = tally.sent("REPAIR") as f64 / others;
        let (latency, recovery) = (tally.latency(), tally.recovery());
        let losses = tally.losses();
        let spread = self.setting().map(|at| {
            // The copies that it takes are drawn for every member and every multicast.
            let each = at.loss / (1.0 - at.loss).powi(2);
            (each * others / (multicasts.max(1) as f64)).sqrt()
        });
        let counts = |kind: &'static str| tally.traffic().by_kind().iter().any(|it| it.0 == kind);
        let mut figures = vec![
            Figure::count("multicasts", "multicasts", multicasts),
            Figure::count("delivered", "delivered", tally.delivered()),
            Figure::count("control_messages", "control messages", tally.control()),
            Figure::real(CONTROL.key, per(tally.control() as f64, multicasts))
                .labelled(CONTROL.name)
                .column("CONTROL")
                .theory(self.theory(CONTROL), spread),
            Figure::real(IMPLOSION.key, per(tally.busiest() as f64, multicasts))
                .labelled(IMPLOSION.name)
                .column("BUSIEST")
                .theory(self.theory(IMPLOSION), None),
            Figure::count("duplicates", "duplicates", tally.duplicates()).column("DUPLICATES"),
            Figure::count("losses", "messages lost to some", losses),
            Figure::count("recoveries", "recovered", recovery.count()),
            Figure::real("recovery_mean", in_units(recovery.mean()))
                .labelled("recovery")
                .unit(unit)
                .column("RECOVERY/T"),
            Figure::real("recovery_max", in_units(recovery.max())).labelled("at most").unit(unit),
        ];
        if counts("REQUEST") || counts("NACK") {
            let requests = per(asked, losses);
            figures.push(
                Figure::real(REQUESTS.key, requests)
                    .labelled(REQUESTS.name)
                    .column("REQUESTS/LOSS")
                    .theory(requests.and_then(|_| self.theory(REQUESTS)), None),
            );
        }
        figures.extend(self.missed(tally));
        if counts("REPAIR") {
            figures.push(
                Figure::real("repairs_per_loss", per(repaired, losses))
                    .labelled("repairs per loss")
                    .column("REPAIRS/LOSS"),
            );
        }
        figures.extend([
            Figure::real(LATENCY.key, in_units(latency.mean()))
                .labelled(LATENCY.name)
                .unit(unit)
                .column("LATENCY/T")
                .theory(latency.mean().and_then(|_| self.theory(LATENCY)), None),
            Figure::real("latency_max", in_units(latency.max())).labelled("at most").unit(unit),
            Figure::of("buffer_max", self.buffer(tally))
                .labelled("most messages kept")
                .column("KEPT"),
            Figure::count("messages", "messages", tally.traffic().messages()).column("MESSAGES"),
            Figure::of("messages_by_kind", Reading::Counts(there(tally.traffic().by_kind()))),
            Figure::count("bytes", "bytes", tally.traffic().bytes()),
        ]);
        figures
    }

    /// What members gave up, where that may be.
    fn missed(&self, tally: &Tally) -> Option<Figure> {
        let missed = || Figure::count("missed", "missed for ever", tally.missed()).column("MISSED");
        self.setup.history.map(|_| missed())
    }

    /// Buffers of processes are not measured.
    pub(crate) fn buffer(&self, tally: &Tally) -> Reading {
        if self.is_real { Reading::Unknown } else { Reading::Count(tally.buffer_max() as u64) }
    }
}

/// Without those that there were none of: most belong to orders that are not asked for.
pub(in crate::problem) fn there(mut by_kind: Vec<(&'static str, u64)>) -> Vec<(&'static str, u64)> {
    by_kind.retain(|(_, count)| *count > 0);
    by_kind
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
        self.multicasts.saturating_mul(self.setup.group.size().into())
    }
    fn title(&self) -> String {
        format!("reliable multicast, {} order", self.setup.ordering.name())
    }
    fn own_options(&self, net: bool) -> String {
        let text = format!("--multicasts {} --senders {}", self.multicasts, self.senders);
        if net {
            return text;
        }
        format!("{text} --every {}{}", self.every, Move::typed(&self.moves))
    }
    fn own_head(&self, _net: bool) -> Vec<(&'static str, Value)> {
        vec![
            ("topology", json!(self.asked.to_string())),
            ("ordering", json!(self.setup.ordering.name())),
            ("senders", json!(self.senders)),
            ("every", json!(self.every.to_string())),
        ]
    }
    fn routes(&self) -> Option<Graph> {
        if self.is_complete() {
            return None;
        }
        Some(
            self.setup.topology.graph(self.setup.group).expect("the nodes were made on this graph"),
        )
    }
}
