//! `vorrang check`: every interleaving, and a shortest run to what is wrong.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Instant;

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use vorrang_algorithms::card::{Card, Flaw, Setup};
use vorrang_algorithms::mutex::spec::{BoundedBypass, Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit};
use vorrang_check::{Bound, Bounds, Move, Outcome, Plan, Report, System, explore};
use vorrang_protocol::{Effect, Group, Monitor, NodeId, Protocol};

use crate::failure::Failure;
use crate::lookup;
use crate::output::{
    BAD, BOLD, DIM, GOOD, RESET, figure, grouped, print, print_json, show_after_a_second, spinner,
    table,
};
use crate::workload::{OrderKind, asked_k, name};

/// Explore every interleaving of an algorithm and show a shortest run to what is wrong
///
/// Every order in which requests can be made and messages can arrive is followed. The outcome is
/// verified (all states were seen and nothing was wrong), violated (with a shortest run to it), or
/// bounded (nothing was wrong as far as the bounds allowed to look).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang check ricart-agrawala --nodes 3 --entries 2\n  \
    vorrang check ricart-agrawala --flaw list\n  \
    vorrang check ricart-agrawala --flaw deferred-never-cleared\n  \
    vorrang check lamport --order any\n  \
    vorrang check ricart-agrawala --property ordering,no-starvation")]
pub(crate) struct Check {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    /// How many nodes, N [default: 3, or as many as show the flaw]
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..=64))]
    nodes: Option<u32>,
    /// How many entries each node makes: one number, or one a node as in 2,2,1 [default: 1]
    #[arg(long, short, value_delimiter = ',', value_name = "ENTRIES")]
    entries: Vec<u32>,
    /// What each node claims, one a node: exclusive, shared or group:2 [default: in turn]
    #[arg(long, value_delimiter = ',', value_name = "CLAIMS", value_parser = parse_claim)]
    claims: Vec<Claim>,
    /// Nodes that never leave after their last entry, as in 0,2
    #[arg(long, value_delimiter = ',', value_name = "NODES")]
    stay: Vec<u32>,
    /// Whether messages from one node to another keep their order [default: what is assumed]
    #[arg(long, value_enum)]
    order: Option<OrderKind>,
    /// What must hold besides exclusion and progress
    #[arg(long, value_enum, value_delimiter = ',')]
    property: Vec<Property>,
    /// Build in a known mistake; `list` lists them
    #[arg(long, value_name = "NAME")]
    flaw: Option<String>,
    /// How many may be inside together, for k-exclusion
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// How many threads search [default: one a core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Follow no run further than this many steps
    #[arg(long, value_name = "STEPS")]
    max_depth: Option<u32>,
    /// Stop when more states than this are known
    #[arg(long, value_name = "STATES")]
    max_states: Option<u64>,
    /// Stop when the search takes more memory than this
    #[arg(long, value_name = "MIB", default_value_t = 8192)]
    max_memory: u64,
    /// Print JSON instead of text, for programs
    #[arg(long)]
    json: bool,
}

/// What can be asked for besides exclusion and progress, which are always checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Property {
    /// A request that happened before another enters first
    Ordering,
    /// Nobody who is known to wait is passed more often than promised (once, if nothing is)
    NoStarvation,
    /// All that the algorithm promises
    Promised,
}

impl Check {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let card = lookup::card(&self.algorithm)?;
        if self.flaw.as_deref() == Some("list") {
            return list_flaws(card);
        }
        let flaw = self.flaw.as_ref().map(|name| lookup::flaw(card, name)).transpose()?;
        let question = self.question(card, flaw)?;
        if !self.json {
            print(&format!("{}\n\n", question.command_line()))?;
        }
        let setup = question.setup;
        let answer = match flaw {
            None => registry::visit(card.name, setup, &question),
            Some(flaw) => registry::visit_flawed(card.name, flaw.name, setup, &question),
        };
        let answer = answer.expect("what is on a card can be made");
        if self.json {
            print_json(&answer.json())?;
        } else {
            print(&answer.text())?;
        }
        if answer.outcome == "verified" { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    /// Fills in what was not said, from the flaw or from the algorithm.
    fn question(
        &self,
        card: &'static Card,
        flaw: Option<&'static Flaw>,
    ) -> Result<Question, Failure> {
        let nodes = match (self.nodes, flaw, &self.entries[..]) {
            (Some(nodes), _, _) => nodes,
            (None, Some(flaw), []) => flaw.entries.len() as u32,
            (None, _, [] | [_]) => 3,
            (None, _, entries) => entries.len() as u32,
        };
        let entries = match (&self.entries[..], flaw) {
            ([], Some(flaw)) if flaw.entries.len() == nodes as usize => flaw.entries.to_vec(),
            ([], _) => vec![1; nodes as usize],
            ([same], _) => vec![*same; nodes as usize],
            (entries, _) if entries.len() == nodes as usize => entries.to_vec(),
            (entries, _) => return Err(one_a_node("--entries", entries.len(), nodes)),
        };
        let claims = match (&self.claims[..], flaw) {
            ([], Some(flaw)) if flaw.claims.len() == nodes as usize => flaw.claims.to_vec(),
            ([], _) => card.claims.iter().copied().cycle().take(nodes as usize).collect(),
            (claims, _) if claims.len() == nodes as usize => claims.to_vec(),
            (claims, _) => return Err(one_a_node("--claims", claims.len(), nodes)),
        };
        if let Some(claim) = claims.iter().find(|claim| !is_granted(card, **claim)) {
            return Err(Failure::usage(format!("{} grants no {claim} claims", card.name)));
        }
        let stay = match (&self.stay[..], flaw) {
            ([], Some(flaw)) => flaw.stay.to_vec(),
            (stay, _) => stay.to_vec(),
        };
        check_stay(&stay, &entries)?;
        let assumed = flaw.map_or(card.order, |flaw| flaw.order);
        let order = self.order.unwrap_or(OrderKind::from(assumed));
        let (ordering, bypass) = self.properties(card, flaw);
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Question {
            card,
            flaw,
            setup: Setup { group: Group::of(nodes), k: self.k },
            entries,
            claims,
            stay,
            order,
            ordering,
            bypass,
            threads: self.threads.unwrap_or(cores),
            bounds: Bounds {
                depth: self.max_depth,
                states: self.max_states,
                memory_bytes: Some(self.max_memory.saturating_mul(1 << 20)),
            },
            shows_progress: !self.json,
        })
    }

    /// What must hold besides exclusion and progress: ordering, and how often one may be passed.
    fn properties(&self, card: &Card, flaw: Option<&Flaw>) -> (bool, Option<u32>) {
        let promised = self.property.contains(&Property::Promised);
        let breaks = |property| flaw.is_some_and(|flaw| flaw.breaks == property);
        let ordering = self.property.contains(&Property::Ordering)
            || promised && card.promises.ordering
            || self.property.is_empty() && breaks("ordering");
        let promise = card.promises.bypass;
        let bypass = match promise {
            Some(bound) if promised => Some(bound),
            promise if self.property.contains(&Property::NoStarvation) => {
                Some(promise.unwrap_or(1))
            }
            promise if self.property.is_empty() && breaks("no starvation") => promise,
            Some(_) | None => None,
        };
        (ordering, bypass)
    }
}

fn one_a_node(option: &str, given: usize, nodes: u32) -> Failure {
    Failure::usage(format!("{option} has {given} values for {nodes} nodes: give one a node"))
}

/// A node that stays must exist, must enter, and can stay only once.
fn check_stay(stay: &[u32], entries: &[u32]) -> Result<(), Failure> {
    for (place, &id) in stay.iter().enumerate() {
        let last = entries.len() - 1;
        let why = match entries.get(id as usize) {
            None => format!("does not exist: the last node is {last}"),
            Some(0) => "makes no entry that it could stay in".to_owned(),
            Some(_) if stay[..place].contains(&id) => "is named twice".to_owned(),
            Some(_) => continue,
        };
        return Err(Failure::usage(format!("--stay: node {id} {why}")));
    }
    Ok(())
}

fn is_granted(card: &Card, claim: Claim) -> bool {
    card.claims.iter().any(|granted| match (granted, claim) {
        (Claim::Group(_), Claim::Group(_)) => true,
        (granted, claim) => *granted == claim,
    })
}

fn parse_claim(text: &str) -> Result<Claim, String> {
    match format!("acquire {}", text.replace(':', " ")).parse() {
        Ok(Command::Acquire(claim)) => Ok(claim),
        Ok(Command::Release) | Err(_) => {
            Err(format!("'{text}' is not a claim: write exclusive, shared or group:2"))
        }
    }
}

fn list_flaws(card: &Card) -> Result<(), Failure> {
    if card.flaws.is_empty() {
        return print(&format!("No mistakes in {} are on record.\n", card.name));
    }
    let mut rows = vec![["FLAW", "BREAKS", "STEPS", "WHAT IS WRONG"].map(str::to_owned).to_vec()];
    rows.extend(card.flaws.iter().map(|flaw| {
        let (name, breaks, what) = (flaw.name, flaw.breaks, flaw.what);
        vec![name.to_owned(), breaks.to_owned(), flaw.steps.to_string(), what.to_owned()]
    }));
    print(&table(&rows))
}

/// Everything that decides a check.
struct Question {
    card: &'static Card,
    flaw: Option<&'static Flaw>,
    setup: Setup,
    entries: Vec<u32>,
    claims: Vec<Claim>,
    stay: Vec<u32>,
    order: OrderKind,
    ordering: bool,
    bypass: Option<u32>,
    threads: NonZeroUsize,
    bounds: Bounds,
    shows_progress: bool,
}

impl Question {
    /// What would have to be typed to ask exactly this again.
    fn command_line(&self) -> String {
        let mut text = format!("vorrang check {}", self.card.name);
        if let Some(flaw) = self.flaw {
            text.push_str(&format!(" --flaw {}", flaw.name));
        }
        let entries: Vec<String> = self.entries.iter().map(u32::to_string).collect();
        text.push_str(&format!(
            " --nodes {} --entries {} --order {}",
            self.setup.group.size(),
            entries.join(","),
            name(&self.order)
        ));
        if let Some(k) = asked_k(self.card, self.setup) {
            text.push_str(&format!(" --k {k}"));
        }
        if self.card.claims.len() > 1 {
            let claims: Vec<String> =
                self.claims.iter().map(|claim| claim.to_string().replace(' ', ":")).collect();
            text.push_str(&format!(" --claims {}", claims.join(",")));
        }
        if !self.stay.is_empty() {
            let stay: Vec<String> = self.stay.iter().map(u32::to_string).collect();
            text.push_str(&format!(" --stay {}", stay.join(",")));
        }
        let properties = [(self.ordering, "ordering"), (self.bypass.is_some(), "no-starvation")];
        let asked: Vec<&str> =
            properties.iter().filter(|(asked, _)| *asked).map(|(_, name)| *name).collect();
        if !asked.is_empty() {
            text.push_str(&format!(" --property {}", asked.join(",")));
        }
        text
    }

    fn plan(&self) -> Plan<Command> {
        let asks = self.claims.iter().copied().map(Command::Acquire);
        let stay: Vec<NodeId> = self.stay.iter().copied().map(NodeId).collect();
        Plan::turns_with(self.entries.iter().copied().zip(asks), &Command::Release, &stay)
    }

    fn ask<P, M>(&self, node: impl Make<P>, monitor: M) -> Answer
    where
        P: Protocol<Command = Command, Notice = Notice>,
        M: Monitor<Command = Command, Notice = Notice>,
    {
        let start = Instant::now();
        let system = System {
            nodes: self.setup.group.members().map(node).collect(),
            plan: self.plan(),
            monitor,
            order: self.order.into(),
        };
        let bar = if self.shows_progress { spinner() } else { ProgressBar::hidden() };
        let report = explore(&system, &self.bounds, self.threads, |progress| {
            bar.set_message(format!(
                "{} states, {} steps, depth {}, {} MiB",
                grouped(progress.states),
                grouped(progress.steps),
                progress.depth,
                progress.memory_bytes >> 20
            ));
            if self.shows_progress {
                show_after_a_second(&bar);
            }
        });
        bar.finish_and_clear();
        self.answer(report, start.elapsed().as_secs_f64())
    }

    fn answer<P>(&self, report: Report<P>, seconds: f64) -> Answer
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let mut properties = vec!["exclusion", "progress"];
        properties.extend(self.ordering.then_some("ordering"));
        properties.extend(self.bypass.map(|_| "no starvation"));
        let (outcome, violation, bound, run) = match report.outcome {
            Outcome::Verified => ("verified", None, None, Vec::new()),
            Outcome::Bounded { by } => ("bounded", None, Some(bound_name(by)), Vec::new()),
            Outcome::Violated { violation, run } => {
                let moves = run.moves.iter().map(|it| (it.to_string(), effects(it))).collect();
                ("violated", Some((violation.property, violation.what)), None, moves)
            }
        };
        Answer {
            outcome,
            properties,
            violation,
            bound,
            run,
            states: report.states,
            steps: report.steps,
            depth: report.depth,
            seconds,
        }
    }
}

impl Visit for &Question {
    type Output = Answer;

    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> Answer
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let exclusion = Exclusion::new((card.admission)(&self.setup));
        if !self.ordering && self.bypass.is_none() {
            return self.ask(node, exclusion);
        }
        let ordering = self.ordering.then(HappenedBefore::default);
        let bypass = self.bypass.map(BoundedBypass::new);
        self.ask(node, (exclusion, (ordering, bypass)))
    }
}

const fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Depth => "depth",
        Bound::States => "states",
        Bound::Memory => "memory",
    }
}

/// What a move made its node do, as a stage would write it.
fn effects<P: Protocol<Command = Command, Notice = Notice>>(step: &Move<P>) -> Vec<String> {
    let at = step.what.at();
    let shown = |effect: &Effect<P>| match effect {
        Effect::Send { to, message } => format!("{at} -> {to} {message:?}"),
        Effect::SetTimer { timer, .. } => format!("{at} sets {timer:?}"),
        Effect::CancelTimer(timer) => format!("{at} cancels {timer:?}"),
        Effect::Notify(notice) => format!("{at} {notice}"),
    };
    step.effects.iter().map(shown).collect()
}

/// What came of a check.
struct Answer {
    outcome: &'static str,
    properties: Vec<&'static str>,
    violation: Option<(&'static str, String)>,
    bound: Option<&'static str>,
    run: Vec<(String, Vec<String>)>,
    states: u64,
    steps: u64,
    depth: u32,
    seconds: f64,
}

impl Answer {
    fn json(&self) -> Value {
        json!({
            "outcome": self.outcome,
            "property": self.violation.as_ref().map(|(property, _)| property),
            "violation": self.violation.as_ref().map(|(_, what)| what),
            "bound": self.bound,
            "checked": self.properties,
            "states": self.states,
            "steps": self.steps,
            "depth": self.depth,
            "seconds": self.seconds,
            "trace": self.run.iter().map(|(step, _)| step).collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let checked = self.properties.join(", ");
        let mut text = match (&self.violation, self.bound) {
            (Some((property, what)), _) => format!(
                "{BAD}violated{RESET} {property}: {what}\n\n{BOLD}A shortest run to it, {} \
                 steps:{RESET}\n{}",
                self.run.len(),
                self.run_text()
            ),
            (None, Some(bound)) => {
                format!("{BAD}bounded{RESET} by {bound}; nothing wrong so far with {checked}\n")
            }
            (None, None) => format!("{GOOD}verified{RESET} {checked}\n"),
        };
        text.push_str(&format!(
            "\n{DIM}{} states, {} steps, depth {}, {} s, {} million steps a second{RESET}\n",
            grouped(self.states),
            grouped(self.steps),
            self.depth,
            figure(self.seconds),
            figure(self.steps as f64 / self.seconds.max(1e-9) / 1e6)
        ));
        text
    }

    fn run_text(&self) -> String {
        let mut text = String::new();
        for (number, (step, effects)) in (1..).zip(&self.run) {
            text.push_str(&format!("{number:4}. {step}\n"));
            for effect in effects {
                text.push_str(&format!("        {DIM}{effect}{RESET}\n"));
            }
        }
        text
    }
}
