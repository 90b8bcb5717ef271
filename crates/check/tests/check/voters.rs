//! Views that name their voters: one is added, replaced or evicted at any moment, members crash and
//! come back, with their directories and without.
//!
//! `VORRANG_LARGE=1 cargo test -p vorrang-check --test check voters` asks larger questions, too.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use vorrang_algorithms::flaw::Mistake as _;
use vorrang_algorithms::group::Payload;
use vorrang_algorithms::group::decision::Decision;
use vorrang_algorithms::group::flaws::{Misjudgement, Misjudging, TakenForTheFormer, Wrong};
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::message::Install;
use vorrang_algorithms::group::synod::Synod;
use vorrang_algorithms::group::view::View;
use vorrang_algorithms::group::views::{Ask, Told, Views};
use vorrang_algorithms::group::voters::Voter;
use vorrang_algorithms::layer::second_process::{Process, Shared};
use vorrang_check::{Ask as Step, Bounds, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{
    Digest, Effects, Group, Lift, Monitor, NodeId, NodeState, Protocol, Refused, Violation,
};

type Value = Install<Payload, Digest>;
type Right = Synod<Value>;
type Middle<D> = Views<Payload, Digest, D>;

/// What a crash leaves of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Disk {
    Kept,
    /// Its directory is lost as well.
    Lost,
    /// The same, and it takes itself for the voter that it was.
    Mistaken,
}

/// A member whose application stops as soon as it is told to, and takes no for an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node<D: Decision<Value>> {
    views: Middle<D>,
    disk: Disk,
}

impl<D: Decision<Value>> Node<D> {
    fn below<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Middle<D>, &mut Lift<'_, Middle<D>, Self, E>),
    ) {
        let mut told = Vec::new();
        act(&mut self.views, &mut Lift::new(fx, &mut told));
        while !told.is_empty() {
            for it in std::mem::take(&mut told) {
                match it {
                    Told::Block => {
                        let ok = Input::Ask(Ask::BlockOk(Digest(0)));
                        let lift = &mut Lift::new(fx, &mut told);
                        self.views.on_command(ok, lift).expect("it was told to block");
                    }
                    Told::Deliver(_) => {}
                    Told::Installed { .. } | Told::Out { .. } => fx.notify(it),
                }
            }
        }
    }
}

impl<D: Decision<Value>> Protocol for Node<D> {
    type Message = <Middle<D> as Protocol>::Message;
    type Timer = <Middle<D> as Protocol>::Timer;
    type Command = Input<Ask<Payload, Digest>>;
    type Notice = Told<Payload, Digest>;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, lift| views.on_start(lift));
    }
    fn on_command(
        &mut self,
        command: Self::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.below(fx, |views, lift| {
            let _ = views.on_command(command, lift);
        });
        Ok(())
    }
    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, lift| views.on_message(from, message, lift));
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, lift| views.on_restart(lift));
    }
    fn on_timer(&mut self, timer: Self::Timer, _: &mut impl Effects<Self>) {
        match timer {}
    }
    fn state(&self) -> NodeState {
        self.views.state()
    }
    fn after_crash(&self, fresh: Self) -> Self {
        let views = match self.disk {
            Disk::Kept => self.views.after_crash(fresh.views),
            Disk::Lost => self.views.after_loss(fresh.views),
            Disk::Mistaken => TakenForTheFormer.after_crash(&self.views, fresh.views),
        };
        Self { views, ..fresh }
    }
}

/// One chain of views, each with one set of members and voters; and how it ends, where that is
/// asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chain {
    views: BTreeMap<u64, (View, Vec<Voter>)>,
    nodes: Vec<Seen>,
    /// The voters in the end, when all members that are up are in one view.
    ends_with: Option<Vec<Voter>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen {
    is_up: bool,
    last: u64,
    is_in: bool,
}

fn violation(property: &'static str, what: String) -> Result<(), Violation> {
    Err(Violation { property, what })
}

impl Monitor for Chain {
    type Command = Input<Ask<Payload, Digest>>;
    type Notice = Told<Payload, Digest>;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Self::Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &Self::Notice) -> Result<(), Violation> {
        let seen = &mut self.nodes[at.index()];
        let Told::Installed { install: Install { view, voters, .. }, .. } = notice else {
            seen.is_in = false;
            return Ok(());
        };
        if view.id <= seen.last {
            let what = format!("node {at} goes from view {} to {}", seen.last, view.id);
            return violation("increasing views", what);
        }
        (seen.last, seen.is_in) = (view.id, true);
        let mine = (view.clone(), voters.clone());
        let agreed = self.views.entry(view.id).or_insert_with(|| mine.clone());
        if *agreed == mine {
            return Ok(());
        }
        let what = format!("view {view} of {voters:?} at node {at}, {agreed:?} at another");
        violation("view agreement", what)
    }
    fn at_rest(&self) -> Result<(), Violation> {
        let Some(expected) = &self.ends_with else { return Ok(()) };
        let (view, voters) = self.views.values().next_back().expect("there is a first view");
        if voters != expected {
            return violation("settling", format!("view {view} has the voters {voters:?}"));
        }
        let is_settled = |it: &Seen| !it.is_up || (it.is_in && it.last == view.id);
        match self.nodes.iter().position(|it| !is_settled(it)) {
            Some(at) => violation("settling", format!("node {at} is not in view {view}")),
            None => Ok(()),
        }
    }
    fn on_crash(&mut self, at: NodeId) {
        let seen = &mut self.nodes[at.index()];
        (seen.is_up, seen.is_in) = (false, false);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.nodes[at.index()].is_up = true;
    }
}

/// A word or two for every command: `beat`, `join`, `leave`, `evict 2`, `add 2`, `remove 2`,
/// `suspect 2`, `trust 2`.
fn command(text: &str) -> Input<Ask<Payload, Digest>> {
    let (verb, node) = text.split_once(' ').unwrap_or((text, "0"));
    let node = NodeId(node.parse().unwrap());
    match verb {
        "beat" => Input::Beat,
        "suspect" => Input::Suspect(node),
        "trust" => Input::Trust(node),
        "join" => Input::Ask(Ask::Join),
        "leave" => Input::Ask(Ask::Leave),
        "evict" => Input::Ask(Ask::Evict(node)),
        "add" => Input::Ask(Ask::AddVoter(node)),
        "remove" => Input::Ask(Ask::RemoveVoter(node)),
        _ => panic!("no command: {text}"),
    }
}

type Lists = &'static [&'static [&'static str]];

/// Nodes, of which the first so many have founded the group and vote; each with what may happen to
/// it at any moment, in this order, and what a crash leaves of it.
fn system<D: Decision<Value>>(
    founders: u32,
    lists: Lists,
    disk: impl Fn(u32) -> Disk,
) -> System<Node<D>, Chain> {
    let universe = Group::of(lists.len() as u32);
    let list = |list: &&[&str]| list.iter().map(|it| Step::at_once(command(it))).collect();
    System::new(
        universe.members().map(|id| node(id, universe, founders, disk(id.0))).collect(),
        Plan::PerNode(lists.iter().map(list).collect()),
        chain(universe, None),
    )
    .links(Order::Fifo)
}

fn node<D: Decision<Value>>(id: NodeId, universe: Group, founders: u32, disk: Disk) -> Node<D> {
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    Node { views: Views::new(id, universe, &founders).naming_voters().without_state(), disk }
}

fn chain(universe: Group, ends_with: Option<Vec<Voter>>) -> Chain {
    let seen = Seen { is_up: true, last: 0, is_in: false };
    Chain { views: BTreeMap::new(), nodes: vec![seen; universe.size() as usize], ends_with }
}

/// The same, with what happens in this order, each when no message is under way; then all beat,
/// some times, and all must be in one view with these voters.
fn settling(
    (founders, nodes): (u32, u32),
    script: &[(u32, &str)],
    ends_with: &[(u32, u64)],
    disk: impl Fn(u32) -> Disk,
) -> System<Node<Right>, Chain> {
    let universe = Group::of(nodes);
    let beats = (0..4).flat_map(|_| (0..nodes).map(|at| (at, "beat")));
    let script = script.iter().copied().chain(beats);
    let voter = |&(node, since)| Voter { node: NodeId(node), since };
    System::new(
        universe.members().map(|id| node(id, universe, founders, disk(id.0))).collect(),
        Plan::InLulls(script.map(|(at, text)| (NodeId(at), command(text))).collect()),
        chain(universe, Some(ends_with.iter().map(voter).collect())),
    )
    .links(Order::Fifo)
}

/// What these processes are asked and say.
trait Spoken: Protocol<Command = Input<Ask<Payload, Digest>>, Notice = Told<Payload, Digest>> {}

impl<N: Protocol<Command = Input<Ask<Payload, Digest>>, Notice = Told<Payload, Digest>>> Spoken
    for N
{
}

/// How many states it has; or what is wrong, and the run to it.
fn explored<N: Spoken>(system: &System<N, Chain>) -> Result<u64, (String, Vec<String>)> {
    let bounds = Bounds::default().memory_bytes(4 << 30);
    let report = explore(system, &bounds, NonZeroUsize::MIN.saturating_add(1), |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => Err((
            violation.to_string(),
            run.moves.iter().map(|it| format!("{:?}", it.step.what)).collect(),
        )),
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

#[track_caller]
fn states<N: Spoken>(system: &System<N, Chain>) -> u64 {
    match explored(system) {
        Ok(states) => states,
        Err((what, run)) => panic!("{:?}: {what}\n{}", system.plan, run.join("\n")),
    }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults::NONE.crashes(crashes).restarts(restarts)
}

/// What a crash leaves of each node.
type Disks = fn(u32) -> Disk;

const KEPT: Disks = |_| Disk::Kept;
const ALL_LOST: Disks = |_| Disk::Lost;
const FIRST_LOST: Disks = |id| if id == 0 { Disk::Lost } else { Disk::Kept };
const SECOND_LOST: Disks = |id| if id == 1 { Disk::Lost } else { Disk::Kept };

#[test]
fn whoever_is_added_or_evicted_at_any_moment_there_is_one_chain_of_views() {
    let none = Faults::NONE;
    let cases: &[(u32, Lists, Faults, u64)] = &[
        (3, &[&["evict 2"], &[], &[]], none, 63),
        (3, &[&["evict 2"], &["evict 0"], &[]], none, 56_273),
        (2, &[&["evict 1"], &["evict 0"]], crashes(1, 1), 802),
        (2, &[&["add 2"], &["suspect 0"], &["join"]], none, 614),
        (2, &[&["add 2", "evict 1"], &[], &["join"]], none, 1_331),
        (3, &[&["remove 2"], &["remove 0"], &["suspect 0"]], none, 10_698),
        (2, &[&["add 2"], &["beat"], &["join"]], crashes(1, 1), 209_017),
    ];
    let found: Vec<u64> = cases
        .iter()
        .map(|(founders, lists, faults, _)| {
            states(&system::<Right>(*founders, lists, KEPT).faults(*faults))
        })
        .collect();
    let expected: Vec<u64> = cases.iter().map(|it| it.3).collect();
    assert_eq!(found, expected);
}

/// How many have founded the group, what may happen where, what goes wrong besides, what a crash
/// leaves, and how many states there are.
type Lossy = (u32, Lists, Faults, Disks, u64);

#[test]
fn whoever_comes_back_without_its_directory_is_another_voter() {
    let cases: &[Lossy] = &[
        (2, &[&["suspect 1"], &["suspect 0"]], crashes(1, 1), ALL_LOST, 130),
        (2, &[&["add 1", "add 1"], &["add 0"]], crashes(1, 1), ALL_LOST, 100),
        (3, &[&["suspect 1"], &[], &[]], crashes(1, 1), FIRST_LOST, 7_124),
        (3, &[&[], &["add 0", "suspect 0"], &[]], crashes(1, 1), FIRST_LOST, 101_632),
        (3, &[&[], &["add 0"], &[]], crashes(1, 1).severing(true), FIRST_LOST, 636),
        (3, &[&["evict 1"], &["add 1"], &[]], crashes(1, 1), SECOND_LOST, 55_761),
    ];
    let found: Vec<u64> = cases
        .iter()
        .map(|(founders, lists, faults, disk, _)| {
            states(&system::<Right>(*founders, lists, disk).faults(*faults))
        })
        .collect();
    let expected: Vec<u64> = cases.iter().map(|it| it.4).collect();
    assert_eq!(found, expected);
    if vorrang_testkit::is_set("VORRANG_LARGE") {
        let suspects: Lists = &[&["suspect 1"], &["suspect 0"], &[]];
        let large = system::<Right>(3, suspects, SECOND_LOST).faults(crashes(1, 1));
        assert!(states(&large) > 1_000_000);
    }
}

/// A node joins, and when it is certainly in asks for a vote.
const JOINED: &[(u32, &str)] = &[(2, "join"), (0, "beat"), (2, "beat"), (0, "beat"), (2, "add 2")];

/// How many have founded the group of how many, what happens in this order, who votes in the end,
/// what goes wrong besides, what a crash leaves, and how many states there are.
type Settling =
    ((u32, u32), &'static [(u32, &'static str)], &'static [(u32, u64)], Faults, Disks, u64);

/// Suspicions come right, and then heartbeats are all that it takes.
#[test]
fn in_the_end_those_vote_who_should() {
    let none = Faults::NONE;
    let cases: &[Settling] = &[
        ((2, 3), &[(2, "join"), (0, "add 2")], &[(0, 0), (1, 0), (2, 0)], none, KEPT, 85),
        ((2, 3), JOINED, &[(0, 0), (1, 0), (2, 0)], none.losses(1), KEPT, 628),
        ((3, 3), &[(1, "evict 2")], &[(0, 0), (1, 0)], none.losses(1), KEPT, 1_134),
        ((3, 3), &[(1, "remove 0")], &[(1, 0), (2, 0)], none, KEPT, 120),
        ((3, 3), &[(2, "evict 0")], &[(1, 0), (2, 0)], none, KEPT, 351),
        ((3, 3), &[(1, "evict 2"), (1, "evict 1")], &[(0, 0)], none, KEPT, 289),
    ];
    let found: Vec<u64> = cases
        .iter()
        .map(|(size, script, voters, faults, disk, _)| {
            states(&settling(*size, script, voters, disk).faults(*faults))
        })
        .collect();
    let expected: Vec<u64> = cases.iter().map(|it| it.5).collect();
    assert_eq!(found, expected);
}

/// Three numbers, and a second process under number 0, with a directory of its own, which joins.
fn with_second_process(lists: [&[&str]; 4]) -> System<Process<Node<Right>>, Chain> {
    const SHARED: Shared = Shared { number: NodeId(0), second: NodeId(3) };
    let universe = Group::of(3);
    let founding = Founding { view: 1, founders: universe.members().collect(), patience: 0 };
    let views = Views::remembering(SHARED.number, universe, 1000, founding).without_state();
    let first = universe.members().map(|id| node(id, universe, 3, Disk::Kept));
    let nodes = first.chain([Node { views, disk: Disk::Kept }]);
    let list = |list: &[&str]| list.iter().map(|it| Step::at_once(command(it))).collect();
    System::new(
        (0..).map(NodeId).zip(nodes).map(|(at, it)| Process::new(at, SHARED, it)).collect(),
        Plan::PerNode(lists.into_iter().map(list).collect()),
        chain(Group::of(4), None),
    )
    .links(Order::Fifo)
}

#[test]
fn a_second_process_under_the_number_of_a_voter_does_not_vote() {
    let found = [
        states(&with_second_process([&[], &[], &[], &["join"]])),
        states(&with_second_process([&[], &[], &[], &["join", "add 0"]])),
    ];
    assert_eq!(found, [3530, 57_351]);
    if vorrang_testkit::is_set("VORRANG_LARGE") {
        let large = states(&with_second_process([&["suspect 2"], &[], &[], &["join"]]));
        assert!(large > 1_000_000, "{large}");
    }
}

/// What is broken, and how long the shortest run to it is.
#[track_caller]
fn wrong<N: Spoken>(system: &System<N, Chain>) -> (String, usize) {
    let (what, run) = explored(system).expect_err("it is wrong");
    println!("{what}\n{}\n", run.join("\n"));
    (what.split(':').next().unwrap_or_default().to_owned(), run.len())
}

fn old_voters_forgotten(right: System<Node<Misjudging>, Chain>) -> System<Node<Misjudging>, Chain> {
    let mistaken = |Node { views, disk }| Node {
        views: Wrong::misjudging(views, Misjudgement::OldVotersForgotten),
        disk,
    };
    System { nodes: right.nodes.into_iter().map(mistaken).collect(), ..right }
}

#[test]
fn what_is_wrong_on_purpose_is_found() {
    const MISTAKEN: Disks = |id| if id == 0 { Disk::Mistaken } else { Disk::Kept };
    let evicts: Lists = &[&["evict 1", "evict 2"], &["suspect 0"], &[]];
    let suspects: Lists = &[&["suspect 1"], &[], &[]];
    let severed = crashes(1, 1).severing(true);
    assert_eq!(states(&system::<Right>(3, suspects, FIRST_LOST).faults(severed)), 11_158);
    assert_eq!(states(&system::<Right>(3, evicts, KEPT)), 639_126);
    let found = [
        wrong(&old_voters_forgotten(system(3, evicts, KEPT))),
        wrong(&system::<Right>(3, suspects, MISTAKEN).faults(severed)),
    ];
    let found = found.each_ref().map(|(property, steps)| (property.as_str(), *steps));
    assert_eq!(found, [("view agreement", 9), ("view agreement", 17)]);
}
