//! Mutual exclusion: what its runs are runs of, what is measured, and what is asked of the checker.

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::mutex::card::{self, Card, MESSAGES, Setting, Terms};
use vorrang_algorithms::mutex::spec::{Exclusion, Watch};
use vorrang_algorithms::mutex::{Claim, Command, Mutex, Notice};
use vorrang_algorithms::registry::{Node, Recipe};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue::{self as any, NodeOf};
use vorrang_check::Ask;
use vorrang_net::Steps;
use vorrang_protocol::{Needs, NodeId, Protocol};
use vorrang_sim::{Distribution, Load, Turns};
use vorrang_trace::{Header, Summary};

use super::mutex_figures::{figures, of_views};
use super::mutex_question::question;
use super::on_views::{self, Views};
use super::resource::{Users, Uses};
use super::{Doing, Driven, Extremes, Future, Made, Nodes, Posts, Question, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured};
use crate::network::conversation::Served;
use crate::network::on_views::{Ranked, serve};
use crate::network::worker::Work;
use crate::network::{self, Place};
use crate::options::{MOST_NODES, RunArgs, name};
use crate::selection::Axis;
use crate::values::whole;

/// How many messages an entry may take. Nodes that talk to all others also remember something of
/// each, so that memory grows alike.
const MOST_MESSAGES: f64 = 20_000.0;

/// How many entries a run may have: a day's work.
const MOST_ENTRIES: u64 = 1_000_000_000_000;

/// Latencies under which hardly any two things happen at once.
const CALM: &str = "uniform:500us..1500us";

/// What the applications of a lock do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MutexArgs {
    /// How many entries in all; then no new request is made and the run drains
    #[arg(long, short, default_value_t = 10_000, value_parser = whole(1..=MOST_ENTRIES))]
    pub(crate) entries: u64,
    /// How busy the nodes are
    #[arg(long, short, value_enum, default_value = "heavy")]
    pub(crate) load: LoadKind,
    /// Under heavy load: how long a node waits after leaving before it asks again
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) think: Distribution,
    /// How long a node stays inside, E [default: T, the mean latency; 0 with --net]
    ///
    /// With no stay at all a node that may enter again without asking, such as the holder of a
    /// token, would do so for ever before anyone else is heard, and all figures would speak of it
    /// alone.
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<Distribution>,
    /// Only the first so many nodes ever ask [default: all but those that only serve]
    #[arg(long, value_name = "NODES", value_parser = whole(1..=MOST_NODES))]
    pub(crate) hot: Option<u32>,
}

/// How busy the nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LoadKind {
    /// Every node asks again when it has left: saturation, or less with --think
    Heavy,
    /// One request at a time, from a node drawn at random
    Light,
    /// All nodes ask at once; when all have been served, again
    Burst,
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) entries: u64,
    pub(crate) load: LoadKind,
    pub(crate) think: Distribution,
    hold: Option<Distribution>,
    pub(crate) hot: Option<u32>,
    pub(crate) between: Between,
    pub(crate) views: Option<Views>,
}

impl Scenario {
    /// How many nodes, the first ones, ever ask.
    pub(crate) fn contenders(&self) -> u32 {
        let all = match self.views {
            // Who only serves changes from view to view.
            Some(_) => self.nodes(),
            None => self.card.contenders(self.nodes()),
        };
        self.hot.unwrap_or(all)
    }

    /// How long a node stays inside: T, if nothing is said.
    fn hold(&self) -> Distribution {
        let one_latency = Distribution::Constant(self.between.latency.mean_ns().round() as u64);
        self.hold.unwrap_or(one_latency)
    }

    /// The same over a real network, where nobody knows T: no time, if nothing is said.
    pub(crate) fn hold_over_tcp(&self) -> Distribution {
        self.hold.unwrap_or(Distribution::Constant(0))
    }

    /// N.
    pub(crate) fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// What the theory says of a quantity, where it says anything.
    ///
    /// Of times it speaks only if every message takes T and every stay the same, at the two ends of
    /// the load; of numbers always, but between the two ends only what holds at both.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        let span = self.theory_with(of, self.hold(), true)?;
        let is_exact = span.low >= span.high;
        let speaks = is_exact || self.is_typical();
        Some(if speaks { span } else { Span::between(span.low, span.high) })
    }

    /// The same over a real network: nothing of times, since nobody knows how long a message takes,
    /// and nothing at all where messages travel before the first and after the last request.
    pub(crate) fn theory_over_tcp(&self, of: Quantity) -> Option<Span> {
        let says_nothing = of.is_time || self.card.terms.perpetual;
        self.theory_with(of, self.hold_over_tcp(), false).filter(|_| !says_nothing)
    }

    /// Whether every node always wants in.
    fn is_saturated(&self) -> bool {
        self.load == LoadKind::Heavy && self.think == Distribution::Constant(0)
    }

    fn theory_with(&self, of: Quantity, stay: Distribution, is_known: bool) -> Option<Span> {
        let latency = self.between.latency;
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
            _ if self.between.is_altered() || self.views.is_some() => None,
            _ if of.is_time && !is_plain => None,
            // What a saturated run comes to depends on which requests overtake which: it is known
            // only if all messages take the same time.
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
    const fn is_bare(&self) -> bool {
        !self.between.is_reliable && self.views.is_none()
    }

    /// Whether what is typical can be expected: of a run that is long, and in which the token of a
    /// ring does not rest for longer than a message takes before the first request.
    fn is_typical(&self) -> bool {
        const AT_LEAST: u64 = 100;
        const EACH: u64 = 20;
        let rest_ns = self.setup.rest.as_nanos() as f64;
        let rests = self.card.terms.perpetual && rest_ns > self.between.latency.mean_ns();
        self.entries >= AT_LEAST.max(EACH * u64::from(self.contenders())) && !rests
    }
}

impl Scene for Scenario {
    fn about(&self) -> About {
        let about = self.card.about();
        match self.views {
            Some(_) => About { takes: on_views::takes(about.takes), ..about },
            None => about,
        }
    }
    fn views(&self) -> Option<&Views> {
        self.views.as_ref()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Between {
        &self.between
    }
    fn total(&self) -> u64 {
        self.entries
    }
    fn title(&self) -> String {
        format!("{} load", name(&self.load))
    }
    fn own_options(&self, net: bool) -> String {
        let (entries, load) = (self.entries, name(&self.load));
        let hold = if net { self.hold_over_tcp() } else { self.hold() };
        let mut text = format!("--entries {entries} --load {load} --hold {hold}");
        if self.think != Distribution::Constant(0) {
            let _ = write!(text, " --think {}", self.think);
        }
        if let Some(hot) = self.hot {
            let _ = write!(text, " --hot {hot}");
        }
        text + &self.views.as_ref().map_or_else(String::new, Views::options)
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        let mut head = vec![
            ("entries_asked", json!(self.entries)),
            ("load", json!(name(&self.load))),
            ("think", json!(self.think.to_string())),
            ("hold", json!(self.hold().to_string())),
            ("contenders", json!(self.contenders())),
        ];
        head.extend(Views::head(self.views.as_ref()));
        head
    }
}

impl Driven for Mutex {
    fn extremes(card: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let at = |load| Setting::new(card, setup, load);
        Ok(Extremes {
            common: format!("{}, E = T", setup.text(card.takes)),
            settings: [
                ("ONE AT A TIME", at(card::Load::Light)),
                ("SATURATION", at(card::Load::Heavy)),
            ],
        })
    }
    fn contrast(_: &'static Card) -> Axis {
        ("load", &["heavy", "light"])
    }

    type Scenario = Scenario;
    type Monitor = (Option<Exclusion>, Option<Locked>);
    type Workload = Users;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
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
        let (setup, between) = args.placed(&card.about())?;
        if args.common.is_real && between.faults.is_some() && load != LoadKind::Heavy {
            return Err(Failure::usage(format!(
                "--crash over a real network is for --load heavy: under {} load all wait for one",
                name(&load)
            )));
        }
        let views = Views::new(card, args, (&setup, &between))?;
        let contenders = own.hot.unwrap_or_else(|| card.contenders(nodes));
        let is_alone = load == LoadKind::Light || contenders == 1;
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
        Ok(Scenario {
            card,
            setup,
            entries: own.entries,
            load,
            think: own.think,
            hold: own.hold,
            hot: own.hot,
            between,
            views,
        })
    }

    fn monitor(scenario: &Scenario) -> (Option<Exclusion>, Option<Locked>) {
        let Scenario { card, setup, views, .. } = scenario;
        match views {
            Some(views) => (None, Some(views.monitor(card, setup))),
            None => (Some(card.exclusion(setup)), None),
        }
    }

    fn workload(scenario: &Scenario) -> Users {
        let load = match scenario.load {
            LoadKind::Heavy => Load::Closed { think: scenario.think },
            LoadKind::Light => Load::OneAtATime,
            LoadKind::Burst => Load::Burst,
        };
        let claims = scenario.card.terms.claims.iter().copied();
        let admission = (scenario.card.terms.admission)(&scenario.setup);
        let turns = Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release)
            .acquire_any_of(claims.map(Command::Acquire).collect())
            .entries(scenario.entries)
            .hold(scenario.hold())
            .hot(scenario.contenders())
            .perpetual(scenario.card.terms.perpetual || scenario.views.is_some());
        Users { turns, numbered: scenario.views.as_ref().map(|_| admission) }
    }

    fn figures(scenario: &Scenario, uses: &Uses) -> Vec<Figure> {
        let summary = &uses.turns;
        let unit_ns = scenario.between.latency.mean_ns();
        let per = (" per T", unit_ns);
        // By acknowledgements nodes hear of each other, and the algorithm does not know.
        let overtakes = summary.overtakes.filter(|_| scenario.is_bare());
        let summary = &Summary { overtakes, ..summary.clone() };
        let mut figures =
            figures(scenario.card, summary, (" T", unit_ns), per, &|of| scenario.theory(of));
        figures.extend(of_views(scenario, uses.used.as_ref()));
        figures
    }

    fn complaint(scenario: &Scenario, uses: &Uses) -> Option<String> {
        if let Some(used) = uses.used.as_ref().filter(|it| it.late != it.refused) {
            return Some(format!(
                "fencing: of {} stale writes a resource that checks fencing tokens refuses {}",
                used.late, used.refused
            ));
        }
        let promised = scenario.card.terms.promises.ordering && scenario.is_bare();
        let overtaken = promised && uses.turns.overtakes.is_some_and(|count| count > 0);
        overtaken.then(|| "ordering: a request was overtaken by a later one".to_owned())
    }

    fn on_views(
        of: &any::Entry<Self>,
        scenario: &Scenario,
    ) -> Result<Option<Box<dyn Nodes<Self>>>, Failure> {
        let Some(views) = &scenario.views else { return Ok(None) };
        let of = match scenario.between.flaw {
            None => of,
            flaw => any::find(of.card.name, flaw).map_err(|unfit| Failure::Usage(unfit.0))?,
        };
        on_views::nodes(of, scenario, views).map(Some)
    }
    fn again_on_views(
        of: &any::Entry<Self>,
        header: &Header,
    ) -> Result<Option<Node<NodeOf<Self>>>, Failure> {
        let Some(views) = Views::noted(header) else { return Ok(None) };
        let text = header.get("setup").unwrap_or_default();
        let setup = Setup::read(text, on_views::takes(of.card.takes));
        let setup = setup.map_err(|unfit| Failure::Usage(unfit.0))?;
        on_views::again(of, &setup, &views).map(Some)
    }

    const ROLES: &'static [Role] = &[Role::Idle, Role::Waiting, Role::Holder, Role::Coordinator];

    /// Nodes that think between requests, so that some are idle; all at once; one after the other.
    fn trials(card: &'static Card, nodes: u32) -> Vec<String> {
        let (twice, thrice) = (2 * nodes, 3 * nodes);
        // Time-outs are made for a bound; without one, messages overtake each other far more often.
        let wild = if card.assumes.timely { CALM } else { "exp:1ms" };
        let one_by_one = format!("--load light --entries {twice} --latency {CALM}");
        if card.assumes.one_at_a_time {
            return vec![one_by_one];
        }
        let think = format!("--think uniform:0ms..{twice}ms");
        vec![
            format!("--load heavy --entries {thrice} {think} --latency {CALM}"),
            format!("--load burst --entries {twice} --latency {wild}"),
            one_by_one,
        ]
    }

    fn doing(said: Said<'_, Command, Notice>) -> Option<Doing> {
        match said {
            Said::Command(Command::Acquire(_)) => Some(Doing::Waits),
            Said::Command(Command::Release) | Said::Notice(Notice::PutOut) => Some(Doing::Rests),
            Said::Notice(Notice::Entered | Notice::EnteredAs(_)) => Some(Doing::IsInside),
            Said::Notice(Notice::View { .. }) => None,
        }
    }

    fn posts(scenario: &Scenario) -> Posts {
        let Terms { servers, tokens, .. } = scenario.card.terms;
        let members = scenario.setup.group.members();
        Posts { coordinators: members.rev().take(servers as usize).collect(), tokens }
    }

    fn tokens(card: &'static Card) -> &'static [&'static str] {
        card.terms.tokens
    }

    type Watch = Watch;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw.and_then(|name| card.flaw(name)), args)
    }

    fn staged(card: &'static Card, setup: &Setup, flaw: Option<&str>) -> Watch {
        card.staged(setup, flaw)
    }
    fn turn(card: &'static Card, _: &Setup, at: NodeId) -> Vec<Ask<Command>> {
        let claims = card.terms.claims;
        let acquire = Command::Acquire(claims[at.index() % claims.len()]);
        vec![Ask::then_wait(acquire), Ask::to_end(Command::Release)]
    }

    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("acquire", "wait to enter (also: acquire shared, acquire group 2)"),
        ("release", "leave"),
        ("acquire --timeout 5s", "the same, and give up if it takes longer"),
        ("withdraw", "give up waiting: what is granted later is released at once"),
    ];

    fn steps() -> Option<Steps<Command, Notice>> {
        Some(Steps::ended_by(Command::Release))
    }
    fn serve_on_views(
        served: Served,
        made: Vec<Ranked<Command, Notice>>,
    ) -> Result<Future<'static>, Failure> {
        Ok(serve(served, made))
    }
    fn needs(card: &'static Card, setup: &Setup) -> Needs {
        (card.terms.needs)(setup)
    }
    fn obeyed(command: &Command) -> Option<&'static str> {
        (*command == Command::Release).then_some("released")
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
        network::run(scenario, made, place, trace)
    }
    fn work<P>(card: &'static Card, recipe: &Recipe<P>, work: Work) -> Future<'static>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        network::worker::take_turns(work, card, recipe)
    }
}
