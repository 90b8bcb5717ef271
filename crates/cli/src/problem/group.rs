//! Group communication: what its runs are runs of, what is measured, what it looks like.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::group::card::{CHANGE, Card, LATENCY, MESSAGES, Setting};
use vorrang_algorithms::group::informed::Detector;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::spec::Fed;
use vorrang_algorithms::group::{Command, Grouping, Notice};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_check::Ask;
use vorrang_draw::{Bar, Look, Mark};
use vorrang_protocol::{Message as _, Needs, NodeId, Protocol, show_duration_ns};
use vorrang_sim::{Distribution, Fault, Faults};

use super::casting::shares;
use super::group_question::question;
use super::group_tally::Tally;
use super::grouping::{Calm, Chatter, Move};
use super::multicast::there;
use super::{Doing, Driven, Extremes, Made, Question, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading};
use crate::network::Place;
use crate::network::once::{self, Until};
use crate::options::RunArgs;
use crate::real::beats_if_real;
use crate::selection::Axis;
use crate::trouble::parse_moment;

/// Everyone watches everyone.
const MOST_NODES: u32 = 2_000;
/// When each was made is kept.
const MOST_MULTICASTS: u64 = 100_000_000;
/// How often there is something to say, if nothing is said of it.
const USUAL_MULTICASTS: u64 = 1_000;
/// How many heartbeats a run over a real network lasts.
const REAL_BEATS: u32 = 30;

/// Who comes and goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GroupArgs {
    /// Nodes that join the group, and when: 4@30ms [default: at once, those that have not founded
    /// it]
    #[arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)]
    join: Vec<(NodeId, u64)>,
    /// Nodes that leave it, and when: 1@80ms
    #[arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)]
    leave: Vec<(NodeId, u64)>,
}

impl GroupArgs {
    /// Who comes and goes, the first first; who is not said to come in comes in at once.
    fn moves(&self, setup: &Setup) -> Result<Vec<Move>, Failure> {
        let moves = |all: &[(NodeId, u64)], joins| {
            let of = move |&(node, at_ns): &(NodeId, u64)| Move { at_ns, node, joins };
            all.iter().map(of).collect::<Vec<_>>()
        };
        let mut all = moves(&self.join, true);
        let comes = |id: &NodeId| !self.join.iter().any(|(node, _)| node == id);
        let late = (setup.founders..setup.group.size()).map(NodeId).filter(comes);
        all.extend(late.map(|node| Move { at_ns: 0, node, joins: true }));
        all.extend(moves(&self.leave, false));
        all.sort_by_key(|it| (it.at_ns, it.node, it.joins));
        let mut is_in: Vec<bool> = setup.group.members().map(|id| id.0 < setup.founders).collect();
        for Move { at_ns, node, joins } in &all {
            let typed = if *joins { "--join" } else { "--leave" };
            let typed = format!("{typed} {node}@{}", show_duration_ns(*at_ns));
            let last = setup.group.size() - 1;
            let Some(is_in) = is_in.get_mut(node.index()) else {
                let why = format!("{typed}: there is no node {node}, the last is {last}");
                return Err(Failure::Usage(why));
            };
            if *is_in == *joins {
                let how = if *joins { "belongs to the group by then" } else { "is not in it then" };
                let founders = setup.founders;
                return Err(Failure::usage(format!(
                    "{typed}: node {node} {how}; --founders {founders} have founded it"
                )));
            }
            *is_in = *joins;
        }
        Ok(all)
    }
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    between: Between,
    multicasts: u64,
    senders: u32,
    every: Distribution,
    moves: Vec<Move>,
    is_real: bool,
}

impl Scenario {
    /// After how long a silence somebody is suspected.
    fn time_out(&self) -> Duration {
        self.setup.beat.saturating_add(self.setup.margin)
    }

    /// How long it takes until there will be no more news.
    fn calm(&self) -> Calm {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let longest = Duration::from_nanos(self.between.nearly_longest_ns());
        let noticed = self.time_out().saturating_add(self.setup.late).saturating_add(longest);
        let script = self.between.faults.iter().flat_map(|faults| &faults.script);
        // Of who is up and who is down, applications know.
        let is_unseen = |it: &&(u64, Fault)| !matches!(it.1, Fault::Crash(_) | Fault::Restart(_));
        let last_ns = script.filter(is_unseen).map(|it| it.0).max();
        let takes = longest.saturating_mul(20);
        let settles = (self.card.terms.settles)(&self.setup).saturating_add(takes);
        Calm {
            noticed: last_ns.map_or(0, |it| it.saturating_add(ns(noticed.saturating_mul(2)))),
            settles: ns(settles),
            gap: ns(self.setup.beat),
        }
    }

    /// What the theory says of a quantity, if it is of such a run: all messages take as long, and
    /// nothing goes wrong but that one node crashes.
    fn theory(&self, of: Quantity, tally: &Tally) -> Option<Span> {
        let latency = self.between.latency;
        // Else what was sent is sent again before it can have been heard of.
        let is_quick = 2.0 * latency.mean_ns() < self.setup.beat.as_nanos() as f64;
        let is_constant = latency.is_constant() && latency.mean_ns() > 0.0;
        let script = self.between.faults.as_ref().map_or(&[][..], |faults| &faults.script);
        let is_scripted = self.between.faults.as_ref().is_none_or(Faults::is_scripted);
        let gone = match script {
            [] => None,
            [(_, Fault::Crash(node))] => Some(*node),
            _ => return None,
        };
        let is_plain = is_constant && is_quick && is_scripted && self.moves.is_empty();
        let speaks = match gone {
            None => of != CHANGE && tally.views() == 1,
            Some(_) => of == CHANGE && tally.changes().count() == 1,
        };
        if !is_plain || !speaks || self.is_altered() {
            return None;
        }
        let by_sequencer = u32::try_from(tally.by_lowest()).ok()?;
        let all = u32::try_from(tally.multicasts()).ok()?;
        let (setup, lowest_goes) = (self.setup.clone(), gone == Some(NodeId(0)));
        let by_others = all - by_sequencer;
        let setting = Setting { setup, by_sequencer, by_others, lowest_goes };
        let span = self.card.cost(of, &setting).filter(|span| span.high.is_finite())?;
        if of != MESSAGES {
            return Some(span);
        }
        // A heartbeat that crosses a message on its way makes for a copy of it.
        let copies = f64::from(all) * f64::from(self.setup.group.size() - 1);
        Some(Span::between(span.low, span.high + copies))
    }

    fn is_altered(&self) -> bool {
        self.is_real || self.between.is_reliable || self.between.flaw.is_some()
    }

    /// What a run came to, with times in a unit of so many nanoseconds.
    fn figures(&self, tally: &Tally, (unit, unit_ns): (&'static str, f64)) -> Vec<Figure> {
        let in_units = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
        let time_out_ns = self.time_out().as_nanos() as f64;
        let in_time_outs = |ns: Option<f64>| ns.map(|ns| ns / time_out_ns);
        let multicasts = tally.multicasts();
        let (beats, all) = (tally.beats(), tally.traffic().messages());
        let messages = all - beats;
        let per = (multicasts > 0).then(|| messages as f64 / multicasts as f64);
        let theory = |of: Quantity| self.theory(of, tally);
        let each = |span: Span| {
            let many = multicasts.max(1) as f64;
            Span::between(span.low / many, span.high / many)
        };
        let per_theory = per.and_then(|_| theory(MESSAGES)).map(each);
        let (latency, blocked) = (tally.latency(), tally.blocked());
        let (changes, repairs) = (tally.changes(), tally.repairs());
        let time = |key, label, ns: Option<f64>| {
            Figure::real(key, in_units(ns)).labelled(label).unit(unit)
        };
        let time_outs =
            |key, ns: Option<f64>| Figure::real(key, in_time_outs(ns)).labelled("in time-outs");
        vec![
            Figure::count("multicasts", "multicasts", multicasts),
            Figure::count("delivered", "delivered", tally.delivered()),
            Figure::real("messages_per_multicast", per)
                .labelled("messages per multicast")
                .column("MESSAGES/CAST")
                .theory(per_theory, None),
            time(LATENCY.key, LATENCY.name, latency.mean())
                .column("LATENCY/T")
                .theory(latency.mean().and_then(|_| theory(LATENCY)), None),
            time("latency_max", "at most", latency.max()),
            Figure::count("views", "views", tally.views()).column("VIEWS"),
            time(CHANGE.key, CHANGE.name, changes.mean())
                .column("CHANGE/T")
                .theory(changes.mean().and_then(|_| theory(CHANGE)), None),
            time("change_max", "at most", changes.max()),
            time_outs("change_time_outs", changes.mean()),
            time("repair_mean", "from crash to view", repairs.mean()).column("REPAIR/T"),
            time_outs("repair_time_outs", repairs.mean()),
            time("blocked_mean", "blocked", blocked.mean()).column("BLOCKED/T"),
            time("blocked_max", "at most", blocked.max()),
            Figure::count("still_blocked", "still blocked at the end", tally.still_blocked()),
            Figure::count("evictions", "evicted", tally.outs()).column("EVICTED"),
            Figure::count("heartbeats", "heartbeats", beats),
            Figure::count(MESSAGES.key, "other messages", messages)
                .column("MESSAGES")
                .theory(theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(there(tally.traffic().by_kind()))),
            Figure::count("bytes", "bytes", tally.traffic().bytes()),
        ]
    }

    /// Those who come and go, as it would have to be typed.
    fn moves_typed(&self) -> String {
        let mut text = String::new();
        for (option, joins) in [("join", true), ("leave", false)] {
            let moves = self.moves.iter().filter(|it| it.joins == joins);
            let moves: Vec<String> =
                moves.map(|it| format!("{}@{}", it.node, show_duration_ns(it.at_ns))).collect();
            if !moves.is_empty() {
                text += &format!(" --{option} {}", moves.join(","));
            }
        }
        text
    }
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
        "group communication".to_owned()
    }
    fn own_options(&self, net: bool) -> String {
        let text = format!("--multicasts {} --senders {}", self.multicasts, self.senders);
        if net { text } else { format!("{text} --every {}{}", self.every, self.moves_typed()) }
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        let of = |joins| {
            let moves = self.moves.iter().filter(|it| it.joins == joins);
            let typed = moves.map(|it| format!("{}@{}", it.node, show_duration_ns(it.at_ns)));
            json!(typed.collect::<Vec<_>>().join(","))
        };
        vec![
            ("senders", json!(self.senders)),
            ("every", json!(self.every.to_string())),
            ("join", of(true)),
            ("leave", of(false)),
        ]
    }
}

impl Driven for Grouping {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let nodes = setup.group.size();
        let of = |by_sequencer: bool| Setting {
            setup: setup.clone(),
            by_sequencer: u32::from(by_sequencer),
            by_others: u32::from(!by_sequencer),
            lowest_goes: by_sequencer,
        };
        Ok(Extremes {
            common: format!("--nodes {nodes}, ONE WHO MULTICASTS OR GOES"),
            settings: [("BY THE SEQUENCER", of(true)), ("BY ANOTHER", of(false))],
        })
    }
    fn contrast(_: &'static Card) -> Axis {
        ("loss", &["0%", "1%", "5%"])
    }

    type Scenario = Scenario;
    type Monitor = Fed;
    type Workload = Chatter;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        scenario(card, args)
    }
    fn monitor(scenario: &Scenario) -> Fed {
        scenario.card.watch(&scenario.setup)
    }
    fn workload(scenario: &Scenario) -> Chatter {
        let said = (shares(scenario.multicasts, scenario.senders), scenario.every);
        let who = (scenario.setup.group.size(), scenario.setup.founders);
        let moves = (scenario.moves.clone(), scenario.calm());
        Chatter::new(said, who, moves, scenario.card.terms.beats)
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.between.latency.mean_ns()))
    }

    /// Whoever is down or has left says nothing more; else all that was to be said must have been.
    fn undone(scenario: &Scenario, tally: &Tally) -> Option<String> {
        let said = tally.multicasts();
        let crashes =
            scenario.between.faults.iter().any(|faults| faults.crashes().next().is_some());
        let all_stay = !crashes && scenario.moves.iter().all(|it| it.joins);
        (said < scenario.multicasts && all_stay).then(|| {
            let all = scenario.multicasts;
            format!("progress: {said} of {all} multicasts were made")
        })
    }

    const ROLES: &'static [Role] = &[Role::Other, Role::Leader];

    fn trials(_: &'static Card, nodes: u32) -> Vec<String> {
        let few = 3.min(nodes);
        let line = format!("--multicasts {few} --senders {few} --every 4ms");
        if nodes < 2 {
            return vec![line];
        }
        // Whoever goes and comes makes for two more views.
        vec![line.clone(), line + " --leave 1@7ms --join 1@15ms"]
    }
    /// Whoever puts messages in order leads.
    fn doing(said: Said<'_, Input<Command>, Notice>) -> Option<Doing> {
        match said {
            Said::Notice(Notice::View { view, .. }) => view.sequencer().map(Doing::Follows),
            Said::Notice(Notice::Delivered { .. } | Notice::Blocked | Notice::Out)
            | Said::Command(Input::Ask(_) | Input::Suspect(_) | Input::Trust(_) | Input::Beat) => {
                None
            }
        }
    }

    /// A flag where a view begins, with its name; bars where nothing goes on.
    fn look(at: NodeId, said: Said<'_, Input<Command>, Notice>) -> Look {
        match said {
            Said::Notice(Notice::View { .. }) => {
                Look { mark: Some(Mark::Flag("view")), ..Look::bar(Bar::Ends) }
            }
            Said::Notice(Notice::Blocked) => Look::bar(Bar::Filled("blocked")),
            Said::Notice(Notice::Out) => Look::bar(Bar::Outlined("out of the group")),
            // That it hears itself is news here: only now has it a place.
            Said::Notice(Notice::Delivered { .. }) => Look::mark(Mark::Diamond("delivers")),
            Said::Command(Input::Ask(Command::Multicast(_))) => {
                Look::mark(Mark::Begins("multicasts"))
            }
            Said::Command(Input::Ask(Command::Join)) => Look::mark(Mark::Begins("wants in")),
            Said::Command(Input::Ask(Command::Leave)) => Look::mark(Mark::Begins("wants out")),
            Said::Command(Input::Suspect(of)) if *of != at => Look::mark(Mark::Warns("suspects")),
            Said::Command(Input::Suspect(_) | Input::Trust(_) | Input::Beat) => Look::default(),
        }
    }

    type Watch = Fed;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw, args)
    }

    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Fed {
        card.watch(setup)
    }
    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Input<Command>>> {
        vec![Ask::at_once(Input::Ask(Command::Multicast(1)))]
    }
    fn offers(_: &'static Card, setup: &Setup) -> Vec<Input<Command>> {
        let mut all = vec![Input::Ask(Command::Join), Input::Ask(Command::Leave)];
        if setup.detector == Detector::Told {
            all.extend(setup.group.members().map(Input::Suspect));
            all.extend(setup.group.members().map(Input::Trust));
            all.push(Input::Beat);
        }
        all
    }

    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("multicast NUMBER", "tell all members this number"),
        ("leave", "leave the group; the process stays"),
        ("join", "join the group, again or for the first time"),
    ];

    fn obeyed(command: &Input<Command>) -> Option<&'static str> {
        match command {
            Input::Ask(Command::Join) => Some("asks to join"),
            Input::Ask(Command::Leave) => Some("wants to leave"),
            Input::Ask(Command::Multicast(_))
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::Beat => None,
        }
    }
    /// Those who are left go on, if they are most.
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
        P: Protocol<Command = Input<Command>, Notice = Notice>,
    {
        let nodes = scenario.setup.group.size();
        let meter = Tally::new(nodes, P::Message::KINDS, scenario.card.terms.beats);
        let figures = |tally: &Tally| scenario.figures(tally, (" us", 1_000.0));
        let joins = (scenario.setup.founders..nodes).map(|id| (NodeId(id), Command::Join));
        let each = shares(scenario.multicasts, scenario.senders);
        let most = each.iter().copied().max().unwrap_or(0);
        let rounds = (0..most).flat_map(|round| {
            let speaks = each.iter().enumerate().filter(move |(_, count)| round < **count);
            speaks.map(|(at, _)| NodeId(at as u32))
        });
        let says = rounds.zip(1..).map(|(at, number)| (at, Command::Multicast(number)));
        let commands: Vec<(NodeId, Input<Command>)> =
            joins.chain(says).map(|(at, command)| (at, Input::Ask(command))).collect();
        let watched = (Self::monitor(scenario), meter);
        let until = Until::Over(scenario.setup.beat.saturating_mul(REAL_BEATS));
        once::run(scenario, made, (&commands, until), watched, figures, (place, trace))
    }
}

fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
    let (nodes, is_real) = (args.common.nodes, args.common.is_real);
    let name = card.name;
    if nodes > MOST_NODES {
        return Err(Failure::usage(format!(
            "--nodes {nodes} is too many for {name}: everyone watches everyone, so at most \
             {MOST_NODES}"
        )));
    }
    let (mut setup, between) = args.placed(&card.about())?;
    if setup.detector == Detector::Told {
        return Err(Failure::usage(format!(
            "--detector told: a run has no one to say which nodes are down; 'vorrang step {name}' \
             and 'vorrang check {name}' are for that"
        )));
    }
    if is_real {
        beats_if_real(&mut setup, &args.setup);
    }
    let given = &args.multicast;
    let senders = given.senders.unwrap_or(nodes);
    if senders > nodes {
        return Err(Failure::usage(format!("--senders {senders}: there are only {nodes} nodes")));
    }
    let usual = if is_real { u64::from(senders) * 10 } else { USUAL_MULTICASTS };
    let multicasts = given.multicasts.unwrap_or(usual);
    if multicasts > MOST_MULTICASTS {
        return Err(Failure::usage(format!(
            "--multicasts {multicasts} is too many for {name}: at most {MOST_MULTICASTS}"
        )));
    }
    if is_real && (!args.group.join.is_empty() || !args.group.leave.is_empty()) {
        return Err(Failure::usage(
            "--join and --leave are for the simulator; with --net, those that have not founded the \
             group join at once",
        ));
    }
    let beat_ns = setup.beat.as_nanos() as u64;
    let every = given.every.unwrap_or(Distribution::Exponential(beat_ns));
    let moves = args.group.moves(&setup)?;
    Ok(Scenario { card, setup, between, multicasts, senders, every, moves, is_real })
}
