//! Reliable multicast: what its runs are runs of, what is measured, what is asked of the checker.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::multicast::card::{CONTROL, Card, IMPLOSION, LATENCY, REQUESTS, Setting};
use vorrang_algorithms::multicast::ordered::FULL;
use vorrang_algorithms::multicast::spec::Deliveries;
use vorrang_algorithms::multicast::{Command, Multicast, Notice, Text};
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_algorithms::topology::Topology;
use vorrang_check::Ask;
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{Graph, Message as _, Needs, NodeId, Protocol, Refused};
use vorrang_sim::{Distribution, Share};

use super::casting::{Casting, Tally, shares};
use super::multicast_question::question;
use super::{Doing, Driven, Extremes, Made, Question, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading};
use crate::network::Place;
use crate::network::once::{self, Until};
use crate::options::RunArgs;
use crate::real::within_if_real;
use crate::selection::Axis;
use crate::values::whole;

/// Something is kept for every sender at every member.
const MOST_NODES: u32 = 20_000;
/// More than anybody waits for.
const MOST_MULTICASTS: u64 = 1_000_000_000;
/// How often there is something to say, if nothing is said of it.
const USUAL_MULTICASTS: u64 = 1_000;

/// What members say.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MulticastArgs {
    /// How many multicasts there are, of all senders together [default: 1000; 10 a sender with
    /// --net]
    #[arg(long, value_name = "NUMBER", value_parser = whole(1..=MOST_MULTICASTS))]
    pub(crate) multicasts: Option<u64>,
    /// How many members multicast: those with the lowest numbers [default: all]
    #[arg(long, value_name = "MEMBERS", value_parser = whole(1..=MOST_NODES))]
    pub(crate) senders: Option<u32>,
    /// How long a sender waits from one multicast to the next: a time as --latency has them; 0 for
    /// as fast as its window allows [default: exp: and the mean of --latency; in group
    /// communication exp: and --beat]
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<Distribution>,
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    /// The topology as it was asked for: without a seed, if that is the seed of the run.
    asked: Topology,
    between: Between,
    multicasts: u64,
    senders: u32,
    every: Distribution,
    is_real: bool,
}

impl Scenario {
    fn is_complete(&self) -> bool {
        self.setup.topology == Topology::Complete
    }

    /// What the theory needs to know, if nothing goes wrong but that messages are lost, each by
    /// itself.
    fn setting(&self) -> Option<Setting> {
        let loss = match &self.between.faults {
            None => 0.0,
            Some(faults) => {
                let rest = faults.clone().loss(Share::default());
                let is_plain = rest.is_scripted() && rest.script.is_empty();
                let loss = faults.loss.value();
                Some(loss).filter(|_| is_plain && faults.until_ns.is_none())?
            }
        };
        let is_complete = self.is_complete();
        let is_plain = !self.between.is_reliable && (is_complete || loss == 0.0);
        let setup = self.setup.clone();
        is_plain.then_some(Setting { setup, loss, senders: self.senders, is_complete })
    }

    /// What the theory says of a quantity: of times, if all messages take T and nobody waits for
    /// room; of others, if none is taken for lost that is not.
    fn theory(&self, of: Quantity) -> Option<Span> {
        let setting = self.setting()?;
        let latency = self.between.latency;
        let is_constant = latency.is_constant() && latency.mean_ns() > 0.0 && !self.is_real;
        let is_timely = self.is_real || self.between.is_within(&self.setup);
        let has_room = self.every.mean_ns() > 0.0;
        let speaks = if of.is_time { is_constant && has_room } else { is_timely };
        let says = |span: &Span| span.high.is_finite() || span.low > 0.0 || span.typical.is_some();
        self.card.cost(of, &setting).filter(|span| speaks && says(span))
    }

    /// What a run came to, with times in a unit of so many nanoseconds.
    fn figures(&self, tally: &Tally, (unit, unit_ns): (&'static str, f64)) -> Vec<Figure> {
        let in_units = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
        let per = |count: f64, of: u64| (of > 0).then(|| count / of as f64);
        let multicasts = tally.multicasts();
        let others = f64::from(self.setup.group.size().max(2) - 1);
        // What goes to all counts once.
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

    /// Nobody weighs what processes keep.
    fn buffer(&self, tally: &Tally) -> Reading {
        if self.is_real { Reading::Unknown } else { Reading::Count(tally.buffer_max() as u64) }
    }
}

/// Without those that there were none of: most belong to orders that are not asked for.
pub(super) fn there(mut by_kind: Vec<(&'static str, u64)>) -> Vec<(&'static str, u64)> {
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
    fn between(&self) -> &Between {
        &self.between
    }
    fn total(&self) -> u64 {
        self.multicasts.saturating_mul(self.setup.group.size().into())
    }
    fn title(&self) -> String {
        format!("reliable multicast, {} order", self.setup.ordering.name())
    }
    fn own_options(&self, net: bool) -> String {
        let text = format!("--multicasts {} --senders {}", self.multicasts, self.senders);
        if net { text } else { format!("{text} --every {}", self.every) }
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
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

impl Driven for Multicast {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let nodes = setup.group.size();
        let at = |loss| Setting { setup: setup.clone(), loss, senders: nodes, is_complete: true };
        Ok(Extremes {
            common: format!("--nodes {nodes}, {} ORDER", setup.ordering.name()),
            settings: [("NOTHING LOST", at(0.0)), ("10% LOST", at(0.1))],
        })
    }
    fn contrast(_: &'static Card) -> Axis {
        ("loss", &["0%", "1%", "10%"])
    }

    type Scenario = Scenario;
    type Monitor = Deliveries;
    type Workload = Casting;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let (nodes, is_real) = (args.common.nodes, args.common.is_real);
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: something is kept of every sender at every \
                 member, so at most {MOST_NODES}",
                card.name
            )));
        }
        let asked = args.setup.setup(&card.about(), nodes)?.topology;
        let (mut setup, between) = args.placed(&card.about())?;
        if !args.setup.says(Parameter::Within) {
            let real = within_if_real(&card.about()).filter(|_| is_real);
            let simulated = || Duration::from_nanos(between.nearly_longest_ns());
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
        let mean_ns = between.latency.mean_ns() as u64;
        let every = given.every.unwrap_or(Distribution::Exponential(mean_ns));
        let most = shares(multicasts, senders).into_iter().max().unwrap_or(0);
        if is_real && most > u64::from(setup.window) {
            return Err(Failure::usage(format!(
                "--multicasts {multicasts}: over a network a member multicasts all at once, and \
                 {most} of one are more than its --window of {}",
                setup.window
            )));
        }
        Ok(Scenario { card, setup, asked, between, multicasts, senders, every, is_real })
    }
    fn monitor(scenario: &Scenario) -> Deliveries {
        scenario.card.watch(&scenario.setup)
    }
    fn workload(scenario: &Scenario) -> Casting {
        let said = (scenario.multicasts, scenario.senders);
        let data = scenario.card.terms.data;
        Casting::new(said, scenario.every, scenario.setup.group.size(), data)
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.between.latency.mean_ns()))
    }

    /// Whoever is down says nothing more; else all that was to be said must have been.
    fn undone(scenario: &Scenario, tally: &Tally) -> Option<String> {
        let said = tally.multicasts();
        let crashes =
            scenario.between.faults.iter().any(|faults| faults.crashes().next().is_some());
        (said < scenario.multicasts && !crashes).then(|| {
            let all = scenario.multicasts;
            format!("progress: {said} of {all} multicasts were made, and the window is full")
        })
    }

    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator];

    fn trials(_: &'static Card, nodes: u32) -> Vec<String> {
        let few = 2.min(nodes);
        vec![format!("--multicasts {} --senders {few} --every 5ms", 3 * few)]
    }
    fn doing(said: Said<'_, Command, Notice>) -> Option<Doing> {
        match said {
            Said::Command(Command::Cast(_)) => Some(Doing::Began),
            Said::Notice(Notice::Delivered { .. } | Notice::Full | Notice::Room) => None,
        }
    }

    fn look(at: NodeId, said: Said<'_, Command, Notice>) -> Look {
        match said {
            Said::Command(Command::Cast(_)) => Look::mark(Mark::Begins("says something")),
            // That it hears itself is no news.
            Said::Notice(Notice::Delivered { from, .. }) if *from == at => Look::default(),
            Said::Notice(Notice::Delivered { .. }) => Look::mark(Mark::Diamond("delivers")),
            Said::Notice(Notice::Full) => Look::mark(Mark::Warns("has no room")),
            Said::Notice(Notice::Room) => Look::default(),
        }
    }
    fn tokens(_: &'static Card) -> &'static [&'static str] {
        &["TOKEN"]
    }

    type Watch = Deliveries;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }

    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Deliveries {
        card.watch(setup)
    }
    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        vec![Ask::at_once(Command::Cast(Text::default()))]
    }

    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("cast TEXT", "multicast this to all members; so does any line that is no command")];

    fn said(line: &str) -> Option<Command> {
        let line = line.trim();
        let text = match line.split_once(' ') {
            Some(("cast", text)) => text.trim_start(),
            Some(_) | None => line,
        };
        Some(Command::Cast(text.into()))
    }
    fn waits(refused: Refused) -> bool {
        refused == FULL
    }
    fn room(notice: &Notice) -> Option<bool> {
        match notice {
            Notice::Delivered { .. } => None,
            Notice::Full => Some(false),
            Notice::Room => Some(true),
        }
    }
    /// A sender gives nobody up.
    fn needs(_: &'static Card, _: &Setup) -> Needs {
        Needs::Anyone
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
        let nodes = scenario.setup.group.size();
        let meter = Tally::new(nodes, P::Message::KINDS, scenario.card.terms.data);
        let figures = |tally: &Tally| scenario.figures(tally, (" us", 1_000.0));
        let each = shares(scenario.multicasts, scenario.senders);
        let most = each.iter().copied().max().unwrap_or(0);
        let rounds = (0..most).flat_map(|round| {
            let speaks = each.iter().enumerate().filter(move |(_, count)| round < **count);
            speaks.map(|(at, _)| (NodeId(at as u32), Command::Cast(Text::default())))
        });
        let commands: Vec<(NodeId, Command)> = rounds.collect();
        let watched = (Self::monitor(scenario), meter);
        once::run(scenario, made, (&commands, Until::Quiet), watched, figures, (place, trace))
    }
}
