//! Mutual exclusion: scenario, figures, question to the checker.

mod check_scope;
pub mod figures;
pub mod on_views;
mod question;
mod question_on_views;
mod scenario;
mod stage_on_views;
mod turns;

use std::sync::Arc;

use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::virtual_synchrony;
use vorrang_algorithms::mutex::card::{self, Card, Setting, THROUGHPUT, Terms};
use vorrang_algorithms::mutex::spec::{Admission, Exclusion, Watch};
use vorrang_algorithms::mutex::{Claim, Command, Mutex, Notice};
use vorrang_algorithms::registry::Node;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue::on_views::LockBetweenProcesses;
use vorrang_catalogue::{self as any, NodeOf};
use vorrang_check::Ask;
use vorrang_draw::Look;
use vorrang_protocol::{Needs, NodeId};
use vorrang_sim::{Distribution, Load, Turns};
use vorrang_trace::{Header, Recording, Summary};

use self::figures::{explain_throughput, figures, of_views, show_transmissions};
use self::on_views::Views;
use self::question::question;
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::mutex::{LoadKind, MutexArgs, Property};
use crate::options::views::takes;
use crate::options::{CALM, RunArgs};
use crate::problem::{
    Activity, ApplicationEvent, Checked, Compared, Derived, Drawn, Extremes, FLAW_OVER_TCP,
    Faulted, GuardedNodes, InitialRoles, Nodes, Past, Query, Question, Retraced, Role, Simulated,
    Staged, Stepped, Survives, Watching,
};
use vorrang_workload::mutex::{Users, Uses};

pub use scenario::Scenario;

impl Compared for Mutex {
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

    const DERIVED: &'static [Derived<Self>] = &[(THROUGHPUT, Card::throughput)];

    fn contrast(_: &'static Card) -> Axis {
        Axis::new("load", [LoadKind::Heavy, LoadKind::Light], |args, load| args.mutex.load = *load)
    }
}

impl Simulated for Mutex {
    type Scenario = Scenario;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        Scenario::new(card, args)
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
            .contenders(scenario.asking())
            .perpetual(scenario.card.terms.perpetual || scenario.views.is_some());
        Users { turns, numbered: scenario.views.as_ref().map(|_| admission) }
    }

    fn figures(scenario: &Scenario, uses: &Uses) -> Vec<Figure> {
        let summary = &uses.turns;
        let unit_ns = scenario.environment.latency.mean_ns();
        let per = (" per T", unit_ns);
        // By acknowledgements nodes hear of each other, and the algorithm does not know.
        let overtakes = summary.overtakes.filter(|_| scenario.is_bare());
        let summary = &Summary { overtakes, ..summary.clone() };
        let mut figures =
            figures(scenario.card, summary, (" T", unit_ns), per, &|of| scenario.theory(of));
        explain_throughput(&mut figures, scenario, summary, (scenario.hold(), per));
        show_transmissions(&mut figures, scenario.broadcast_medium);
        figures.extend(of_views(scenario, uses.used.as_ref(), (" T", unit_ns)));
        figures
    }

    fn complaint(scenario: &Scenario, uses: &Uses) -> Option<String> {
        if let Some(used) = uses.used.as_ref().filter(|it| it.late != it.refused) {
            return Some(format!(
                "fencing: of {} stale writes a resource that checks fencing tokens refuses {}",
                used.late, used.refused
            ));
        }
        let promised =
            (scenario.card.terms.promises.ordering)(&scenario.setup) && scenario.is_bare();
        let overtaken = promised && uses.turns.overtakes.is_some_and(|count| count > 0);
        overtaken.then(|| "ordering: a request was overtaken by a later one".to_owned())
    }

    fn on_views(
        of: &any::Entry<Self>,
        scenario: &Scenario,
    ) -> Result<Option<Nodes<Self>>, Failure> {
        let (Some(views), setup) = (&scenario.views, &scenario.setup) else { return Ok(None) };
        let found = |flaw| any::find(of.card.name, flaw).map_err(|it| Failure::Usage(it.0));
        let flaw = scenario.environment.flaw;
        let of = found(flaw)?;
        let over_tcp = match flaw {
            None => {
                let (lock, own) = (views.between_processes(of, setup)?, setup.clone());
                // Those of a run begin in incarnations of their own.
                let node = Arc::new(move |id| lock.without_memory(id, &own, (1, None)));
                Ok(GuardedNodes { node, entry: of, kinds: LockBetweenProcesses::kinds() })
            }
            Some(_) => Err(FLAW_OVER_TCP),
        };
        Ok(Some(Nodes::apart(on_views::nodes(of, setup, views)?, over_tcp)))
    }

    fn again_on_views(
        of: &any::Entry<Self>,
        header: &Header,
    ) -> Result<Option<Node<NodeOf<Self>>>, Failure> {
        let Some(views) = Views::noted(header) else { return Ok(None) };
        let text = header.get("setup").unwrap_or_default();
        let setup = Setup::read(text, takes(of.card.takes));
        let setup = setup.map_err(|unfit| Failure::Usage(unfit.0))?;
        Ok(Some(on_views::nodes(of, &setup, &views)?.node))
    }

    fn retrace_told(
        of: &any::Entry<Self>,
        run: &Recording,
        watch: Watching<'_>,
    ) -> Result<Option<Retraced>, Failure> {
        question_on_views::retrace(of, run, watch)
    }
}

impl Faulted for Mutex {
    const ROLES: &'static [Role] = &[Role::Idle, Role::Waiting, Role::Holder, Role::Coordinator];

    /// Where messages are timely, silence tells that a node is down: then an algorithm that needs
    /// nobody in particular, or a part of the others, goes on without the rest.
    fn survives(card: &'static Card, setup: &Setup) -> Survives {
        match (card.terms.needs)(setup) {
            Needs::Nobody if card.assumes.timely => Survives::crashes(setup.group.size() - 1),
            Needs::AllBut(down) if card.assumes.timely => Survives::crashes(down),
            Needs::Nobody | Needs::AllBut(_) | Needs::One(_) | Needs::Anyone => Survives::NOTHING,
        }
    }

    /// Nodes that think between requests, so that some are idle; all at once; one after the other.
    fn trials(card: &'static Card, nodes: u32) -> Vec<RunArgs> {
        const MILLISECOND: u64 = 1_000_000;
        let trial = |load, turns: u64, latency, think| {
            let entries = turns * u64::from(nodes);
            let mutex = MutexArgs { entries, load, think, ..MutexArgs::default() };
            RunArgs { mutex, ..RunArgs::taking(latency) }
        };
        let at_once = Distribution::Constant(0);
        // Time-outs are made for a bound; without one, messages overtake each other far more often.
        let wild = if card.assumes.timely { CALM } else { Distribution::Exponential(MILLISECOND) };
        let one_by_one = trial(LoadKind::Light, 2, CALM, at_once);
        if card.assumes.one_at_a_time {
            return vec![one_by_one];
        }
        let think = Distribution::Uniform(0, 2 * u64::from(nodes) * MILLISECOND);
        let mut trials = vec![
            trial(LoadKind::Heavy, 3, CALM, think),
            trial(LoadKind::Burst, 2, wild, at_once),
            one_by_one,
        ];
        if card.assumes.timely {
            // Whoever waits asks whether the others are still there if one stays for long.
            let mut long = trial(LoadKind::Burst, 1, CALM, at_once);
            long.mutex.hold = Some(Distribution::Constant(5 * u64::from(nodes) * MILLISECOND));
            trials.push(long);
        }
        trials
    }

    fn activity(said: ApplicationEvent<'_, Command, Notice>) -> Option<Activity> {
        match said {
            ApplicationEvent::Command(Command::Acquire(_)) => Some(Activity::Waits),
            ApplicationEvent::Command(Command::Release)
            | ApplicationEvent::Notice(Notice::Evicted) => Some(Activity::Rests),
            ApplicationEvent::Notice(Notice::Entered | Notice::EnteredAs(_)) => {
                Some(Activity::IsInside)
            }
            ApplicationEvent::Notice(Notice::View { .. }) => None,
        }
    }

    fn posts(scenario: &Scenario) -> InitialRoles {
        let Terms { servers, tokens, .. } = scenario.card.terms;
        let members = scenario.setup.group.members();
        InitialRoles { coordinators: members.rev().take(servers as usize).collect(), tokens }
    }
}

impl Drawn for Mutex {
    fn tokens(card: &'static Card) -> &'static [&'static str] {
        card.terms.tokens
    }
    fn beats(_: &'static Card, on_views: bool) -> &'static [&'static str] {
        if on_views { virtual_synchrony::CARD.terms.beats } else { &[] }
    }
    fn look(at: NodeId, said: ApplicationEvent<'_, Command, Notice>) -> Look {
        if let ApplicationEvent::Notice(Notice::View { .. }) = said {
            return Look { era: Some("in a view"), ..Look::default() };
        }
        Self::activity(said).map_or_else(Look::default, |doing| doing.look(at))
    }
}

impl Checked for Mutex {
    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw.and_then(|name| card.flaw(name)), args)
    }

    fn question_on_views(
        of: &any::Entry<Self>,
        args: &CheckArgs,
    ) -> Result<Option<Query>, Failure> {
        args.views.on_views.then(|| question_on_views::query(of, args)).transpose()
    }

    fn asks_of_the_past(args: &CheckArgs) -> Option<Past<'_>> {
        if args.mutex.property.contains(&Property::Stamps) {
            return Some(Past::Stamps);
        }
        (!args.mutex.lemma.is_empty()).then_some(Past::Lemmas(&args.mutex.lemma))
    }

    fn why_unstamped(card: &'static Card, setup: &Setup) -> &'static str {
        if (card.terms.admission)(setup) == Admission::One {
            "its requests have no stamps (t, i)"
        } else {
            "several may be inside together, and a younger request may fit in beside them while an \
             older one waits"
        }
    }
}

impl Stepped for Mutex {
    fn staged(card: &'static Card, setup: &Setup, flaw: Option<&str>) -> Watch {
        card.staged(setup, flaw)
    }

    fn staged_on_views(
        of: &any::Entry<Self>,
        args: &CheckArgs,
    ) -> Result<Option<Box<dyn Staged>>, Failure> {
        args.views.on_views.then(|| stage_on_views::stage(of, args)).transpose()
    }

    fn turn(card: &'static Card, _: &Setup, at: NodeId) -> Vec<Ask<Command>> {
        let claims = card.terms.claims;
        let acquire = Command::Acquire(claims[at.index() % claims.len()]);
        vec![Ask::then_wait(acquire), Ask::to_end(Command::Release)]
    }
}
