//! Mutual exclusion on views: the question to the checker.
//!
//! Crashes are a budget, as everywhere; suspicions are commands, since a failure detector may say
//! anything at any moment, and nodes that have not founded the group come in by themselves. After a
//! restart heartbeats come, or a node would wait for ever for what it has missed and others repeat.

use std::time::Duration;

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::group::locks::spec::{Locked, WithSuspicions};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::Entry;
use vorrang_catalogue::on_views::{ToldGroup, ToldNode};
use vorrang_check::{Ask, FOREVER, Faults, Links, Order, Plan};
use vorrang_protocol::{Group, NodeId, parse_duration_ns, show_duration_ns};
use vorrang_trace::{Header, Recording};
use vorrang_workload::mutex::ToldLocks;

use super::check_scope;
use super::on_views::{Views, refuse_named_nodes};
use super::turns::Turns;
use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::options::choice::{Choice as _, name};
use crate::options::command_line::CommandLine;
use crate::options::views::Suspicions;
use crate::problem::remarks::surroundings;
use crate::problem::retrace::{self, Retraced, Watching};
use crate::problem::{Query, Question, Remarks, header, minority, verify};

/// In the head of a trace: nodes are told whom to suspect.
const TOLD: &str = "told";
/// What leases assume of clocks, which run at one rate here: so little that they are over a moment
/// before others enter.
const DRIFT: u32 = 1;
/// How long they last where nothing is said, in a question about them.
const USUAL_LEASE: Duration = Duration::from_millis(20);

/// The nodes of a question, and of its counterexample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// How many have founded the group.
    pub(super) founders: u32,
    pub(super) lease: Option<Duration>,
    /// Whether there is no stable storage.
    pub(super) forgets: bool,
    /// The number under which a second process is started.
    pub(super) second: Option<NodeId>,
    pub(super) slip: Option<LocksFlaw>,
}

impl Made {
    pub(super) fn nodes(&self, of: &Entry<Mutex>, setup: &Setup) -> Result<Vec<ToldNode>, Failure> {
        let Self { founders, lease, forgets, second, slip } = *self;
        let lease = lease.map(|length| (length, DRIFT));
        Ok(Views::checked(of, setup, (lease, forgets))?.told(ToldGroup { founders, second }, slip))
    }

    /// How many processes there are.
    const fn processes(&self, setup: &Setup) -> u32 {
        setup.group.size() + self.second.is_some() as u32
    }

    pub(super) fn note(&self, of: &Entry<Mutex>, setup: &Setup) -> Header {
        let mut header = header(&of.card.about(), setup).with("on_views", &TOLD);
        header.nodes = self.processes(setup);
        let parameters = [
            ("flaw", of.flaw.map(str::to_owned)),
            ("founders", Some(self.founders.to_string())),
            ("lease", self.lease.map(shown)),
            ("forgetful", self.forgets.then(|| true.to_string())),
            ("second", self.second.map(|it| it.to_string())),
            ("views_flaw", self.slip.map(|it| name(&it).to_owned())),
        ];
        for (key, value) in parameters {
            header = value.into_iter().fold(header, |header, value| header.with(key, &value));
        }
        header
    }

    /// As it is noted in a trace, if its nodes were told whom to suspect.
    fn noted(header: &Header) -> Option<Self> {
        let number = |key| header.get(key).and_then(|text| text.parse().ok());
        let lease = header.get("lease").and_then(|text| parse_duration_ns(text).ok());
        (header.get("on_views") == Some(TOLD)).then(|| Self {
            founders: number("founders").unwrap_or(header.nodes),
            lease: lease.map(Duration::from_nanos),
            forgets: header.get("forgetful").is_some(),
            second: number("second").map(NodeId),
            slip: header.get("views_flaw").and_then(LocksFlaw::named),
        })
    }
}

/// A counterexample once more, if it is one of such a question.
pub(super) fn retrace(
    of: &Entry<Mutex>,
    run: &Recording,
    watch: Watching<'_>,
) -> Result<Option<Retraced>, Failure> {
    let Some(made) = Made::noted(&run.header) else { return Ok(None) };
    let text = run.header.get("setup").unwrap_or_default();
    let setup = Setup::read(text, of.card.takes).map_err(|unfit| Failure::Usage(unfit.0))?;
    let nodes = made.nodes(of, &setup)?;
    if nodes.len() != run.header.nodes as usize {
        return Err(Failure::usage("the trace is of another number of nodes than its set-up"));
    }
    let fresh = |at: NodeId| nodes[at.index()].clone();
    retrace::retrace::<ToldLocks>(&fresh, run, watch).map(Some)
}

/// What goes on around the algorithm.
struct Around {
    suspicions: Suspicions,
    made: Made,
    /// How many nodes have not founded the group.
    joins: u32,
    /// What may go wrong.
    faults: Faults,
    /// The same, where nothing was said.
    usual: (u8, u8),
}

impl Around {
    /// As was said, or as shows the mistake, or else as is usual.
    fn of(args: &CheckArgs, nodes: u32) -> Result<Self, Failure> {
        let (slip, own) = (args.slip(), &args.views);
        let is_replaced = slip == Some(LocksFlaw::ReplacedLifeNotAwaited);
        let last = NodeId(nodes - 1);
        let second = own.second.map(NodeId).or(is_replaced.then_some(last));
        let forgets = own.forgetful || is_replaced;
        let lease = own.lease.or(is_replaced.then_some(USUAL_LEASE));
        let shows_by_join = slip.is_some() && second.is_none() && nodes > 1;
        let joins = own.joins.unwrap_or_else(|| u32::from(shows_by_join));
        if joins >= nodes {
            return Err(Failure::usage(format!(
                "--joins {joins}: of {nodes} nodes at least one must have founded the group"
            )));
        }
        let usual = || match (joins, second) {
            (0, None) => Suspicions((0..nodes - 1).map(|by| (NodeId(by), last)).collect()),
            _ => Suspicions::default(),
        };
        let suspicions = own.suspicions.clone().unwrap_or_else(usual);
        let mut named = suspicions.0.iter().flat_map(|&(by, of)| [by, of]);
        if let Some(node) = named.find(|node| *node > last) {
            return Err(Failure::usage(format!(
                "--suspicions {suspicions}: there is no node {node}, the last is {last}"
            )));
        }
        refuse_second(second, forgets, last)?;
        let is_about_crashes = joins == 0 && !suspicions.0.is_empty() && lease.is_none();
        let usual = (u8::from(is_about_crashes), u8::from(second.is_some()));
        let faults = args.faults_of((usual.0, 0), (usual.1, 0));
        let made = Made { founders: nodes - joins, lease, forgets, second, slip };
        Ok(Self { suspicions, made, joins, faults, usual })
    }

    /// Whether two may be inside, so that only their fencing tokens tell.
    fn is_fenced(&self) -> bool {
        let may_be_left_behind = !self.suspicions.0.is_empty() || self.made.second.is_some();
        may_be_left_behind && self.made.lease.is_none()
    }

    /// Why nobody need be served, if so.
    fn why_safety_alone(&self, nodes: u32) -> Option<&'static str> {
        let Made { lease, forgets, second, .. } = self.made;
        if second.is_some() {
            Some("of two processes under one number the older is never let in again")
        } else if self.faults.losses > 0 {
            Some("within a view messages are sent once, so that a loss leaves somebody waiting")
        } else if lease.is_some() {
            Some("who waits for a lease asks again and again, and questions are numbered")
        } else if forgets && u32::from(self.faults.crashes) > minority(nodes) {
            Some("a view of which most members have forgotten all has no successor")
        } else {
            None
        }
    }

    /// Whether somebody may ask for a lease that it never gets.
    fn may_ask_for_ever(&self) -> bool {
        let may_lack_answers = self.faults.crashes > 0 || self.faults.losses > 0;
        self.made.lease.is_some() && self.made.second.is_none() && may_lack_answers
    }

    /// Whether heartbeats come, without which progress could not be expected.
    fn has_beats(&self, nodes: u32) -> bool {
        self.faults.restarts > 0 && self.why_safety_alone(nodes).is_none()
    }

    /// Adds what would have to be typed for it.
    fn add_to(&self, line: &mut CommandLine, args: &CheckArgs) {
        let Made { lease, forgets, second, .. } = self.made;
        line.flag("on-views");
        line.option("suspicions", &self.suspicions);
        line.maybe("joins", Some(self.joins).filter(|&joins| joins > 0));
        if forgets {
            line.flag("forgetful");
        }
        line.maybe("second", second);
        line.maybe("lease", lease.map(shown));
        let (crashes, losses) = self.usual;
        line.maybe("crashes", (args.crashes().is_none() && crashes > 0).then_some(crashes));
        line.maybe("losses", (args.losses().is_none() && losses > 0).then_some(losses));
    }

    /// In words, as in `node 0 suspects 2, 1 node joins`.
    fn in_words(&self, nodes: u32) -> String {
        let suspects = |(by, of): &(NodeId, NodeId)| format!("node {by} may suspect {of}");
        let mut parts: Vec<String> = self.suspicions.0.iter().map(suspects).collect();
        match self.joins {
            0 => {}
            1 => parts.push("1 node joins".to_owned()),
            many => parts.push(format!("{many} nodes join")),
        }
        if parts.is_empty() {
            parts.push("nobody is suspected".to_owned());
        }
        let Made { lease, forgets, second, .. } = self.made;
        parts.extend(forgets.then(|| "no stable storage".to_owned()));
        parts.extend(second.map(|it| format!("a second process under number {it}")));
        parts.extend(lease.map(|it| format!("leases of {}", shown(it))));
        parts.extend(self.has_beats(nodes).then(|| "heartbeats after a restart".to_owned()));
        parts.join(", ")
    }
}

fn refuse_second(second: Option<NodeId>, forgets: bool, last: NodeId) -> Result<(), Failure> {
    const MOST: u32 = 63;
    match second {
        Some(number) if number > last => Err(Failure::usage(format!(
            "--second {number}: there is no node {number}, the last is {last}"
        ))),
        Some(number) if last.0 >= MOST => Err(Failure::usage(format!(
            "--second {number}: with --nodes {} there would be more than {} processes",
            last.0 + 1,
            MOST + 1
        ))),
        Some(number) if !forgets => Err(Failure::usage(format!(
            "--second {number}: two processes with one stable storage are prevented where it is \
             opened; say --forgetful"
        ))),
        Some(_) | None => Ok(()),
    }
}

fn shown(time: Duration) -> String {
    show_duration_ns(time.as_nanos() as u64)
}

/// Fills in what was not said.
pub(super) fn query(of: &Entry<Mutex>, args: &CheckArgs) -> Result<Query, Failure> {
    let (card, about) = (of.card, of.card.about());
    if card.assumes.timely {
        return Err(Failure::usage(format!(
            "{} goes by time, and in the checker a view may take for ever: 'vorrang run {} \
             --on-views' simulates it",
            card.name, card.name
        )));
    }
    let turns = turns(of, args)?;
    let nodes = turns.entries.len() as u32;
    let around = Around::of(args, nodes)?;
    refuse_what_does_not_fit(args, &around)?;
    let setup = args.setup.setup(&about, nodes)?;
    refuse_named_nodes(&setup)?;
    let (order, faults) = (args.order(card.assumes.order), around.faults);
    let links = Links::from(Order::from(order)).within(around.made.lease.map(|_| setup.within));
    let told = around.made.nodes(of, &setup)?;
    let safety_alone = around.why_safety_alone(nodes);
    let processes = Group::of(around.made.processes(&setup));
    let locked = Locked::new(processes).admitting((card.terms.admission)(&setup));
    let locked = if around.is_fenced() { locked.fenced() } else { locked };
    let locked = if safety_alone.is_some() { locked.about_safety() } else { locked };

    let mut line = args.line(&about, &setup, order);
    turns.add_to(&mut line, card);
    around.add_to(&mut line, args);

    let mut remarks = Remarks::default();
    if let Some(slip) = args.slip() {
        let shown_by = match slip {
            LocksFlaw::ReplacedLifeNotAwaited => {
                "ricart-agrawala --nodes 2 --forgetful --second 1 --lease 20ms"
            }
            _ => "suzuki-kasami --entries 1,2,1 --joins 1, view-ignored with --order any",
        };
        remarks.of_flaw(name(&slip), shown_by, false);
    }
    let why = safety_alone.map(|why| format!("progress is not checked: {why}"));
    remarks.notes.extend(why);
    if around.may_ask_for_ever() {
        let why = "whoever gets no lease asks again and again, and questions are numbered: where \
                   answers may be missing the search has no end of its own, say --max-states";
        remarks.warnings.push(why.to_owned());
    }
    let words = check_scope::turns_in_words(card, &turns);
    let surroundings = surroundings(&about, &setup, &links, faults);
    let question = Question::<ToldLocks> {
        covers: format!("{words} on views, {}, {surroundings}", around.in_words(nodes)),
        plan: plan(&turns, &around),
        monitor: WithSuspicions::new(locked),
        links,
        faults,
        fair: args.demand.fair,
        beat: around.has_beats(nodes).then_some(Input::Beat),
        properties: properties(around.is_fenced(), safety_alone.is_some()),
        remarks,
        line,
        setup,
    };
    let header = around.made.note(of, &question.setup);
    Ok(verify::query(question, (told, None), (&[], header), args))
}

fn properties(is_fenced: bool, is_about_safety: bool) -> Vec<String> {
    let all = [("exclusion", !is_fenced), ("fencing", true), ("progress", !is_about_safety)];
    all.iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect()
}

/// Whoever is to be suspected first, and then the turns. A second process starts at any
/// moment, and asks for nothing.
fn plan(turns: &Turns, around: &Around) -> Plan<Input<Command>> {
    let turns_of = |at: usize| {
        let turn = [
            Ask::then_wait(Input::Ask(Command::Acquire(turns.claims[at]))),
            Ask::to_end(Input::Ask(Command::Release)),
        ];
        (0..turns.entries[at]).flat_map(move |_| turn.clone())
    };
    let of_node = |at: usize| {
        let its = around.suspicions.0.iter().filter(|(by, _)| by.index() == at);
        let suspects = its.map(|&(_, of)| Ask::at_once(Input::Suspect(of)));
        suspects.chain(turns_of(at)).collect()
    };
    let mut lists: Vec<Vec<_>> = (0..turns.entries.len()).map(of_node).collect();
    lists.extend(around.made.second.map(|_| vec![Ask::at_once(Input::Beat)]));
    Plan::PerNode(lists)
}

/// The turns: as was said, or as show a mistake of locks on views.
fn turns(of: &Entry<Mutex>, args: &CheckArgs) -> Result<Turns, Failure> {
    let mut args = args.clone();
    let is_open = args.mutex.entries.is_empty();
    match args.slip() {
        Some(LocksFlaw::ReplacedLifeNotAwaited) if is_open && args.nodes.is_none() => {
            args.nodes = Some(2);
        }
        Some(_) if is_open && args.nodes.is_none_or(|it| it == 3) => {
            args.mutex.entries = vec![1, 2, 1];
        }
        Some(_) | None => {}
    }
    let turns = Turns::of(of.card, None, &args)?;
    if turns.entries.contains(&FOREVER) {
        return Err(Failure::usage(
            "--entries forever: views and fencing tokens grow with every change, so on views say \
             how many",
        ));
    }
    Ok(turns)
}

/// Refuses what has no meaning on views, as if it had been looked at.
fn refuse_what_does_not_fit(args: &CheckArgs, around: &Around) -> Result<(), Failure> {
    let own = &args.mutex;
    let nodes = around.made.founders + around.joins;
    let is_about_safety = around.made.lease.is_some() || around.made.second.is_some();
    if args.losses().is_some_and(|it| it > 0) && !is_about_safety {
        return Err(Failure::usage(
            "--losses is not for --on-views without --lease or --second: within a view messages of \
             the algorithm are sent once, so that a loss leaves somebody waiting",
        ));
    }
    if args.demand.fair && around.has_beats(nodes) {
        return Err(Failure::usage(
            "--fair with --restarts: on views heartbeats come after a restart whenever nothing \
             else happens, and which node's comes next is open; leave out one of them",
        ));
    }
    let typed = [
        (args.reliable.is_some(), "--reliable"),
        (args.duplicates().is_some_and(|it| it > 0), "--duplicates"),
        (args.timely.is_some(), "--timely"),
        (own.asks_of_causes(), "--property and --bypass"),
        (!own.lemma.is_empty(), "--lemma"),
        (own.only.is_some(), "--only"),
        (!own.stay.is_empty(), "--stay"),
        (own.one_at_a_time, "--one-at-a-time"),
    ];
    match typed.iter().find(|it| it.0) {
        None => Ok(()),
        Some((_, option)) => Err(Failure::usage(format!(
            "{option} is not for --on-views: there links lose nothing and messages may take any \
             time, nodes crash, are suspected and join, and fencing, exclusion and progress are \
             checked"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::views::ViewsCheckArgs;

    #[test]
    fn what_goes_on_is_as_was_said_or_as_is_usual() {
        let around = |args: &CheckArgs| {
            let around = Around::of(args, 3)?;
            let Faults { crashes, losses, .. } = around.faults;
            Ok::<_, Failure>((around.suspicions.to_string(), around.joins, crashes, losses))
        };
        let mut args = CheckArgs::default();
        args.views.on_views = true;
        assert_eq!(around(&args).unwrap(), ("0:2,1:2".to_owned(), 0, 1, 0));
        args.views.joins = Some(1);
        assert_eq!(around(&args).unwrap(), ("none".to_owned(), 1, 0, 0));
        args.views.suspicions = Some(Suspicions(vec![(NodeId(0), NodeId(3))]));
        let why = around(&args).unwrap_err().to_string();
        assert_eq!(why, "--suspicions 0:3: there is no node 3, the last is 2");
        args.views.joins = Some(3);
        assert!(around(&args).unwrap_err().to_string().contains("--joins 3"));
        args.views = ViewsCheckArgs::default();
        args.views.on_views = true;
        args.flaw = Some("own-order".to_owned());
        assert_eq!(around(&args).unwrap(), ("none".to_owned(), 1, 0, 0));
        args.flaw = Some("replaced-life-not-awaited".to_owned());
        assert_eq!(around(&args).unwrap(), ("none".to_owned(), 0, 0, 1));
        let made = Around::of(&args, 3).unwrap().made;
        assert_eq!((made.second, made.forgets), (Some(NodeId(2)), true));
        assert_eq!(made.lease, Some(USUAL_LEASE));
    }

    #[test]
    fn progress_is_asked_for_where_it_can_be_expected() {
        let is_asked = |more: fn(&mut CheckArgs)| {
            let mut args = CheckArgs::default();
            args.views.on_views = true;
            more(&mut args);
            let around = Around::of(&args, 3).unwrap();
            (around.why_safety_alone(3).is_none(), around.has_beats(3))
        };
        assert_eq!(is_asked(|_| {}), (true, false));
        assert_eq!(is_asked(|it| it.budget.restarts = Some(1)), (true, true));
        assert_eq!(is_asked(|it| it.views.forgetful = true), (true, false));
        let forgotten = is_asked(|it| {
            it.views.forgetful = true;
            (it.budget.crashes, it.budget.restarts) = (Some(2), Some(2));
        });
        assert_eq!(forgotten, (false, false));
        assert_eq!(is_asked(|it| it.views.lease = Some(USUAL_LEASE)), (false, false));
    }
}
