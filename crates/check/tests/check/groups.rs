//! Virtual synchrony: every crash, every suspicion, right or wrong, at every moment.
//!
//! Suspicions come from nowhere here: the failure detector is replaced by whatever the plan allows,
//! so that all that a detector could ever say is among what is tried.
//! `VORRANG_LARGE=1 cargo test -p vorrang-check --test groups large` explores what has more than a
//! million states, and nothing else.

use std::num::NonZeroUsize;

use vorrang_algorithms::flaw::{AnyMistake, Flawed};
use vorrang_algorithms::group::flaws::{AcrossTheBarrier, Misjudgement, NoFreeze, Wrong};
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::message::Install;
use vorrang_algorithms::group::replica::{HasViews, Replica};
use vorrang_algorithms::group::spec::WithSuspicions;
use vorrang_algorithms::group::synod::Synod;
use vorrang_algorithms::group::views::Views;
use vorrang_algorithms::group::virtual_synchrony::CARD;
use vorrang_algorithms::group::{Command, Payload};
use vorrang_check::{Ask, Bounds, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Digest, Group, NodeId};

type Value = Install<Payload, Digest>;
type Right = Synod<Value>;

/// A word for every command: `send`, `join`, `leave`, `beat`, `suspect 2`, `trust 2`.
fn command(text: &str) -> Input<Command> {
    match text.split_once(' ') {
        Some(("send", number)) => Input::Ask(Command::Multicast(number.into())),
        Some(("suspect", node)) => Input::Suspect(NodeId(node.parse().unwrap())),
        Some(("trust", node)) => Input::Trust(NodeId(node.parse().unwrap())),
        None if text == "join" => Input::Ask(Command::Join),
        None if text == "leave" => Input::Ask(Command::Leave),
        None if text == "beat" => Input::Beat,
        _ => panic!("no command: {text}"),
    }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults::NONE.crashes(crashes).restarts(restarts)
}

/// Nodes, of which the first so many have founded the group, each with what may happen to it, in
/// this order. Nothing need be settled in the end, since nobody beats.
fn system<C: HasViews>(
    founders: u32,
    lists: &[&[&str]],
    node: impl Fn(NodeId, Group, &[NodeId]) -> C,
) -> System<Replica<C>, WithSuspicions> {
    let universe = Group::of(lists.len() as u32);
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    let list = |list: &&[&str]| list.iter().map(|it| Ask::at_once(command(it))).collect();
    System::new(
        universe.members().map(|id| Replica::new(node(id, universe, &founders))).collect(),
        Plan::PerNode(lists.iter().map(list).collect()),
        WithSuspicions::new(universe, founders.iter().copied()).cut_off(),
    )
}

/// The same, with what happens in this order, each when no message is under way; then all beat,
/// three times, and all must be settled.
fn settling<C: HasViews>(
    founders: u32,
    nodes: u32,
    script: &[(u32, &str)],
    node: impl Fn(NodeId, Group, &[NodeId]) -> C,
) -> System<Replica<C>, WithSuspicions> {
    let lists = vec![&[][..]; nodes as usize];
    let beats = (0..3).flat_map(|_| (0..nodes).map(|at| (at, "beat")));
    let script = script.iter().copied().chain(beats);
    let commands = script.map(|(at, text)| (NodeId(at), command(text))).collect();
    let founded: Vec<NodeId> = (0..founders).map(NodeId).collect();
    System {
        plan: Plan::InLulls(commands),
        monitor: WithSuspicions::new(Group::of(nodes), founded),
        ..system(founders, &lists, node)
    }
}

fn right(id: NodeId, universe: Group, founders: &[NodeId]) -> Views<Payload, Digest, Right> {
    Views::new(id, universe, founders)
}

/// How many states it has; or what is wrong, and the run to it.
fn explored<C: HasViews>(
    system: &System<Replica<C>, WithSuspicions>,
) -> Result<u64, (String, Vec<String>)> {
    let bounds = Bounds::default().memory_bytes(6 << 30);
    let threads = NonZeroUsize::MIN.saturating_add(1);
    let report = explore(system, &bounds, threads, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            Err((violation.to_string(), run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

/// Explores all of them, and compares how many states they have with what was found before.
#[track_caller]
fn have_states<'a, C: HasViews>(
    systems: impl Iterator<Item = (System<Replica<C>, WithSuspicions>, &'a u64)>,
) {
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for (system, &states) in systems {
        match explored(&system) {
            Ok(states) => found.push(states),
            Err((what, run)) => panic!("{:?}: {what}\n{}", system.plan, run.join("\n")),
        }
        expected.push(states);
    }
    assert_eq!(found, expected);
}

/// How many have founded the group, what may happen at each node, what goes wrong, in which order
/// messages arrive, and how many states there are.
type Case = (u32, &'static [&'static [&'static str]], Faults, Order, u64);

/// How many have founded the group of how many, what happens where, what goes wrong besides, and
/// how many states there are.
type Scripted = (u32, u32, &'static [(u32, &'static str)], Faults, u64);

#[test]
fn members_go_on_from_view_to_view_together_whoever_is_suspected() {
    let none = Faults::NONE;
    let cases: &[Case] = &[
        (3, &[&["send 1"], &["send 2"], &[]], none, Order::Any, 46),
        (3, &[&["suspect 2"], &["send 1"], &[]], none, Order::Any, 761),
        (3, &[&[], &["suspect 0"], &["send 1"]], none, Order::Any, 6_622),
        (3, &[&["suspect 2", "trust 2"], &["send 1"], &[]], none, Order::Any, 50_828),
        (3, &[&["suspect 1"], &["suspect 0"], &["send 1"]], none, Order::Fifo, 80_454),
        (3, &[&["suspect 1"], &["suspect 0"], &[]], crashes(1, 0), Order::Any, 1_225_793),
        (3, &[&["suspect 1"], &["suspect 2"], &[]], none, Order::Fifo, 669),
        (3, &[&["suspect 2"], &["suspect 2"], &["send 7"]], crashes(1, 0), Order::Any, 8_782),
        (
            3,
            &[&["send 1"], &["suspect 0", "send 2"], &["suspect 0"]],
            crashes(1, 0).severing(true),
            Order::Any,
            291_972,
        ),
        (3, &[&["suspect 1"], &[], &[]], crashes(1, 1), Order::Fifo, 16_184),
        (3, &[&["suspect 2"], &["send 1"], &[]], none.duplicates(1), Order::Any, 7_289),
        (3, &[&["suspect 2", "beat"], &["send 1"], &[]], none.losses(1), Order::Any, 1_296_256),
        (2, &[&["suspect 1"], &["suspect 0"]], crashes(2, 2), Order::Fifo, 1_428),
        (2, &[&["suspect 1"], &[], &[]], crashes(1, 1), Order::Fifo, 5_085),
        (1, &[&["send 1", "send 2"]], none, Order::Any, 3),
    ];
    have_states(cases.iter().map(|(founders, lists, faults, order, states)| {
        (system(*founders, lists, right).faults(*faults).links(*order), states)
    }));
}

#[test]
fn who_comes_and_goes_does_so_between_views() {
    let none = Faults::NONE;
    let cases: &[Case] = &[
        (2, &[&[], &["send 1"], &["join"]], none, Order::Any, 752),
        (2, &[&["suspect 1"], &["send 1"], &["join"]], crashes(1, 0), Order::Any, 203_424),
        (2, &[&["suspect 1"], &["suspect 0"], &["join"]], none, Order::Fifo, 541_265),
        (
            3,
            &[&["suspect 2"], &["suspect 2"], &[], &["join"]],
            crashes(1, 0),
            Order::Fifo,
            1_008_272,
        ),
        (3, &[&["leave"], &["send 1"], &["leave"]], none, Order::Fifo, 36_476),
        (2, &[&["leave"], &["leave"], &["join"]], none, Order::Fifo, 78_396),
        (3, &[&["leave"], &[], &["leave"]], none, Order::Fifo, 7_125),
    ];
    have_states(cases.iter().map(|(founders, lists, faults, order, states)| {
        (system(*founders, lists, right).faults(*faults).links(*order), states)
    }));
}

/// Crashes, restarts and losses at any moment; suspicions come right, and then heartbeats are all
/// that it takes.
#[test]
fn in_the_end_all_who_want_in_are_in_one_view_with_all_messages() {
    let none = Faults::NONE;
    let cases: &[Scripted] = &[
        (3, 3, &[(1, "send 1"), (0, "suspect 2"), (1, "suspect 2")], crashes(1, 0), 338),
        (3, 3, &[(2, "send 1"), (1, "suspect 0"), (2, "suspect 0")], crashes(1, 0), 1_375),
        (3, 3, &[(1, "suspect 0"), (1, "trust 0")], none, 574),
        (3, 3, &[(1, "suspect 0"), (1, "trust 0"), (2, "send 1")], none.losses(1), 3_682),
        (2, 3, &[(2, "join"), (0, "suspect 1"), (2, "suspect 1")], crashes(1, 0), 578),
        (2, 3, &[(2, "join"), (1, "leave"), (0, "send 1")], none.losses(1), 4_519),
        (3, 3, &[(0, "send 1")], crashes(1, 1), 53_895),
        (2, 2, &[(0, "send 1")], crashes(1, 1), 319),
    ];
    have_states(cases.iter().map(|(founders, nodes, script, faults, states)| {
        (settling(*founders, *nodes, script, right).faults(*faults), states)
    }));
}

/// Two members miss each other, or one misses the other, and say so while the coordinator hears
/// both: whenever it believes them, views follow as they should.
#[test]
fn whoever_is_left_out_for_a_broken_link_is_as_if_it_were_suspected() {
    let none = Faults::NONE;
    let cases: &[Case] = &[
        (3, &[&[], &["suspect 2"], &["suspect 1"]], none, Order::Any, 145),
        (3, &[&[], &["suspect 2"], &["suspect 1", "send 1"]], none, Order::Fifo, 357),
        (3, &[&[], &["suspect 2"], &["suspect 1"]], crashes(1, 0), Order::Fifo, 247),
        (3, &[&[], &["suspect 2", "trust 2"], &["beat", "beat"]], none, Order::Fifo, 4_020),
        (3, &[&[], &["beat", "beat"], &["suspect 0", "beat"]], none, Order::Fifo, 308),
        (2, &[&[], &["suspect 2"], &["join", "suspect 1", "beat"]], none, Order::Fifo, 13_719),
    ];
    have_states(cases.iter().map(|(founders, lists, faults, order, states)| {
        (system(*founders, lists, right).faults(*faults).links(*order), states)
    }));
}

fn without_storage(id: NodeId, of: Group, founders: &[NodeId]) -> Views<Payload, Digest, Right> {
    right(id, of, founders).without_storage()
}

/// Whoever comes back without what it has promised and voted for may not vote before it is let in:
/// then it does no harm. Without that rule the first of these is how to [break
/// it](what_is_decided_wrongly_is_found).
#[test]
fn whoever_comes_back_without_its_votes_does_not_vote() {
    let cases: &[Case] = &[
        (3, &[&["suspect 1"], &["suspect 0"], &[]], crashes(1, 1), Order::Fifo, 501_944),
        (3, &[&["suspect 1"], &[], &[]], crashes(1, 1), Order::Any, 83_368),
        (3, &[&[], &["suspect 0"], &["send 1"]], crashes(1, 1), Order::Fifo, 109_399),
    ];
    have_states(cases.iter().map(|(founders, lists, faults, order, states)| {
        (system(*founders, lists, without_storage).faults(*faults).links(*order), states)
    }));
    let settles = settling(3, 3, &[(1, "send 1")], without_storage).faults(crashes(1, 1));
    assert!(explored(&settles).is_ok_and(|states| states > 10_000));
}

/// What it costs: of a view of two, the lower is a primary set and the other is not. Whoever has
/// stable storage comes back and votes; without it, the other must begin anew as well.
#[test]
fn without_storage_the_rest_must_be_enough() {
    let script: &[(u32, &str)] = &[(2, "join"), (0, "send 1")];
    let stuck = settling(2, 3, script, without_storage).faults(crashes(1, 1));
    let (what, _) = explored(&stuck).expect_err("the lower one crashes");
    assert_eq!(what, "settling: node 0 is in no view");
}

/// With more than a million states: see above.
#[test]
fn the_same_for_large_systems() {
    if !vorrang_testkit::is_set("VORRANG_LARGE") {
        return;
    }
    let cases: &[(u32, &[&[&str]], Faults)] = &[
        (3, &[&["suspect 1"], &["suspect 0"], &[]], crashes(1, 1)),
        (3, &[&["suspect 2"], &["suspect 2"], &["send 1"], &["join"]], crashes(1, 0)),
        (3, &[&["send 1"], &["suspect 0"], &["suspect 0"]], crashes(1, 1)),
        (2, &[&["suspect 1"], &["suspect 0", "send 1"], &["join"]], crashes(1, 0)),
    ];
    for (founders, lists, faults) in cases {
        match explored(&system(*founders, lists, right).faults(*faults).links(Order::Fifo)) {
            Ok(states) => println!("{lists:?}: {states} states"),
            Err((what, run)) => panic!("{lists:?}: {what}\n{}", run.join("\n")),
        }
    }
}

fn misjudging(how: Misjudgement) -> impl Fn(NodeId, Group, &[NodeId]) -> Wrong {
    move |id, universe, founders| Wrong::new(id, universe, founders).misjudging(how)
}

/// The card says what is broken; the run is a shortest one.
#[track_caller]
fn breaks<C: HasViews>(name: &str, system: &System<Replica<C>, WithSuspicions>, steps: usize) {
    let flaw = CARD.flaw(name).expect(name);
    assert_eq!(system.nodes.len() as u32, flaw.shown_by.nodes(), "{name}");
    assert_eq!(system.faults.crashes, flaw.shown_by.crashes, "{name}");
    let (what, run) = explored(system).expect_err(name);
    println!("{name}: {what}\n{}", run.join("\n"));
    assert!(what.starts_with(flaw.breaks), "{name}: {what}");
    assert_eq!(run.len(), steps, "{name}");
}

#[test]
fn what_is_decided_wrongly_is_found() {
    let once = crashes(1, 0);
    let suspects: &[&[&str]] = &[&["suspect 2"], &["suspect 0"], &["suspect 0"]];
    let hasty = misjudging(Misjudgement::NoSecondPhase);
    breaks("no-second-phase", &system(3, suspects, hasty), 6);
    let minority = misjudging(Misjudgement::MinorityGoesOn);
    breaks("minority-goes-on", &system(2, &[&["suspect 1"], &["suspect 0"]], minority), 2);
    let orphans = misjudging(Misjudgement::OrphansDropped);
    let sends: &[&[&str]] = &[&["suspect 2"], &[], &["send 7"]];
    breaks("orphans-dropped", &system(3, sends, orphans).faults(once), 8);
    let nothing = misjudging(Misjudgement::NothingHandedOver);
    breaks("nothing-handed-over", &system(1, &[&["send 7"], &["join"]], nothing), 4);
    let forgetful = misjudging(Misjudgement::VotesForgotten);
    let votes: &[&[&str]] = &[&["suspect 1"], &["suspect 0"], &[]];
    let forgets = system(3, votes, forgetful).faults(crashes(1, 1)).links(Order::Fifo);
    breaks("votes-forgotten", &forgets, 13);
}

fn mistaken(
    mistake: &'static dyn AnyMistake<Views<Payload, Digest, Right>>,
) -> impl Fn(NodeId, Group, &[NodeId]) -> Flawed<Views<Payload, Digest, Right>> {
    move |id, universe, founders| Flawed::new(right(id, universe, founders), mistake)
}

#[test]
fn what_is_done_wrongly_with_messages_is_found() {
    let lists: &[&[&str]] = &[&["send 1"], &["suspect 0"], &[]];
    breaks("no-freeze", &system(3, lists, mistaken(&NoFreeze)), 10);
    let lists: &[&[&str]] = &[&["send 1", "suspect 2"], &[], &[]];
    breaks("across-the-barrier", &system(3, lists, mistaken(&AcrossTheBarrier)), 8);
}
