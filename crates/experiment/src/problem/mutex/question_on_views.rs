//! Mutual exclusion on views: the question to the checker.
//!
//! Crashes are a budget, as everywhere; suspicions are commands, since a failure detector may say
//! anything at any moment, and nodes that have not founded the group come in by themselves.

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::spec::{Fed, Locked};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_catalogue::Entry;
use vorrang_check::{Ask, FOREVER, Links, Order, Plan};
use vorrang_protocol::NodeId;
use vorrang_workload::mutex::ToldLocks;

use super::check_scope;
use super::on_views::{Views, refuse_named_nodes};
use super::turns::Turns;
use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::options::choice::name;
use crate::options::views::Suspicions;
use crate::problem::remarks::surroundings;
use crate::problem::{Query, Question, Remarks, header, verify};

/// In the head of a trace: nodes are told whom to suspect.
pub(super) const TOLD: &str = "told";

/// What goes on around the algorithm.
struct Around {
    suspicions: Suspicions,
    /// How many nodes have not founded the group.
    joins: u32,
    /// How many may crash, if nothing is said.
    crashes: u8,
}

impl Around {
    /// As was said, or as shows the mistake, or else as is usual.
    fn of(args: &CheckArgs, nodes: u32) -> Result<Self, Failure> {
        let slips = args.slip().is_some();
        let joins = args.views.joins.unwrap_or_else(|| u32::from(slips && nodes > 1));
        if joins >= nodes {
            return Err(Failure::usage(format!(
                "--joins {joins}: of {nodes} nodes at least one must have founded the group"
            )));
        }
        let last = NodeId(nodes - 1);
        let usual = || match joins {
            0 => Suspicions((0..nodes - 1).map(|by| (NodeId(by), last)).collect()),
            _ => Suspicions::default(),
        };
        let suspicions = args.views.suspicions.clone().unwrap_or_else(usual);
        let mut named = suspicions.0.iter().flat_map(|&(by, of)| [by, of]);
        if let Some(node) = named.find(|node| *node > last) {
            return Err(Failure::usage(format!(
                "--suspicions {suspicions}: there is no node {node}, the last is {last}"
            )));
        }
        let crashes = u8::from(joins == 0 && !suspicions.0.is_empty());
        Ok(Self { suspicions, joins, crashes })
    }

    /// In words, as in `node 0 suspects 2, 1 node joins`.
    fn in_words(&self) -> String {
        let suspects = |(by, of): &(NodeId, NodeId)| format!("node {by} may suspect {of}");
        let mut parts: Vec<String> = self.suspicions.0.iter().map(suspects).collect();
        match self.joins {
            0 => {}
            1 => parts.push("1 node joins".to_owned()),
            many => parts.push(format!("{many} nodes join")),
        }
        if parts.is_empty() { "nobody is suspected".to_owned() } else { parts.join(", ") }
    }
}

/// Fills in what was not said.
pub(super) fn query(of: &Entry<Mutex>, args: &CheckArgs) -> Result<Query, Failure> {
    let (card, about) = (of.card, of.card.about());
    refuse_what_does_not_fit(args)?;
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
    let setup = args.setup.setup(&about, nodes)?;
    refuse_named_nodes(&setup)?;
    let order = args.order(card.assumes.order);
    let faults = args.faults((around.crashes, 0));
    let links = Links::from(Order::from(order));
    let told = Views::checked(of, &setup)?.told(nodes - around.joins, args.slip());
    let locked = Locked::new(setup.group).admitting((card.terms.admission)(&setup));
    let is_fenced = !around.suspicions.0.is_empty();
    let locked = if is_fenced { locked.fenced() } else { locked };

    let mut line = args.line(&about, &setup, order);
    turns.add_to(&mut line, card);
    line.flag("on-views");
    line.option("suspicions", &around.suspicions);
    line.maybe("joins", Some(around.joins).filter(|&joins| joins > 0));
    let usual = around.crashes;
    line.maybe("crashes", (args.crashes().is_none() && usual > 0).then_some(usual));

    let mut remarks = Remarks::default();
    if let Some(slip) = args.slip() {
        let shown_by = "suzuki-kasami --entries 1,2,1 --joins 1, view-ignored with --order any";
        remarks.of_flaw(name(&slip), shown_by, false);
    }
    let words = check_scope::turns_in_words(card, &turns);
    let surroundings = surroundings(&about, &setup, &links, faults);
    let mut header = header(&about, &setup).with("on_views", &TOLD);
    if let Some(flaw) = of.flaw {
        header = header.with("flaw", &flaw);
    }
    let question = Question::<ToldLocks> {
        covers: format!("{words} on views, {}, {surroundings}", around.in_words()),
        plan: plan(&turns, &around.suspicions),
        monitor: Fed::new(locked),
        links,
        faults,
        fair: args.demand.fair,
        properties: properties(is_fenced),
        remarks,
        line,
        setup,
    };
    Ok(verify::query(question, (told, None), (&[], header), args))
}

fn properties(is_fenced: bool) -> Vec<String> {
    let safety: &[&str] = if is_fenced { &["fencing"] } else { &["exclusion", "fencing"] };
    safety.iter().chain(&["progress"]).map(|&it| it.to_owned()).collect()
}

/// Whoever is to be suspected first, and then the turns.
fn plan(turns: &Turns, suspicions: &Suspicions) -> Plan<Input<Command>> {
    let of_node = |(at, (&entries, &claim)): (u32, (&u32, _))| {
        let its = suspicions.0.iter().filter(|(by, _)| by.0 == at);
        let suspects = its.map(|&(_, of)| Ask::at_once(Input::Suspect(of)));
        let turn = [
            Ask::then_wait(Input::Ask(Command::Acquire(claim))),
            Ask::to_end(Input::Ask(Command::Release)),
        ];
        suspects.chain((0..entries).flat_map(|_| turn.clone())).collect()
    };
    let nodes = turns.entries.iter().zip(&turns.claims);
    Plan::PerNode((0..).zip(nodes).map(of_node).collect())
}

/// The turns: as was said, or as show a mistake of locks on views.
fn turns(of: &Entry<Mutex>, args: &CheckArgs) -> Result<Turns, Failure> {
    let mut args = args.clone();
    if args.slip().is_some() && args.mutex.entries.is_empty() && args.nodes.is_none_or(|it| it == 3)
    {
        args.mutex.entries = vec![1, 2, 1];
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
fn refuse_what_does_not_fit(args: &CheckArgs) -> Result<(), Failure> {
    let own = &args.mutex;
    let typed = [
        (args.reliable.is_some(), "--reliable"),
        (args.losses().is_some_and(|it| it > 0), "--losses"),
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
            Around::of(args, 3).map(|it| (it.suspicions.to_string(), it.joins, it.crashes))
        };
        let mut args = CheckArgs::default();
        args.views.on_views = true;
        assert_eq!(around(&args).unwrap(), ("0:2,1:2".to_owned(), 0, 1));
        args.views.joins = Some(1);
        assert_eq!(around(&args).unwrap(), ("none".to_owned(), 1, 0));
        args.views.suspicions = Some(Suspicions(vec![(NodeId(0), NodeId(3))]));
        let why = around(&args).unwrap_err().to_string();
        assert_eq!(why, "--suspicions 0:3: there is no node 3, the last is 2");
        args.views.joins = Some(3);
        assert!(around(&args).unwrap_err().to_string().contains("--joins 3"));
        args.views = ViewsCheckArgs::default();
        args.views.on_views = true;
        args.flaw = Some("own-order".to_owned());
        assert_eq!(around(&args).unwrap(), ("none".to_owned(), 1, 0));
    }
}
