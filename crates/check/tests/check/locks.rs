//! Locks on views: every crash and every suspicion at every moment, around small algorithms.

use std::num::NonZeroUsize;

use vorrang_algorithms::flaw::{AnyMistake, Flawed, Mistake};
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::{
    ClockNotCarried, EntersFrozen, HolderForgotten, ViewIgnored,
};
use vorrang_algorithms::group::locks::spec::{Locked, WithSuspicions};
use vorrang_algorithms::group::locks::{Exclusive, Locks, NodeFactory};
use vorrang_algorithms::mutex::central::Central;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_check::{Ask, Bounds, Demands, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Effects, Group, NodeId, Protocol, Refused};

/// Whom a node suspects, some time, and then so many turns of it.
type List = (&'static [u32], u32);

fn asks((suspects, turns): List) -> Vec<Ask<Input<Command>>> {
    let turn = [
        Ask::then_wait(Input::Ask(Command::Acquire(Claim::Exclusive))),
        Ask::to_end(Input::Ask(Command::Release)),
    ];
    let suspects = suspects.iter().map(|&of| Ask::at_once(Input::Suspect(NodeId(of))));
    suspects.chain((0..turns).flat_map(|_| turn.clone())).collect()
}

fn system<N>(
    lists: &[List],
    monitor: Locked,
    node: impl Fn(NodeId) -> N,
) -> System<N, WithSuspicions>
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    let group = Group::of(lists.len() as u32);
    System::new(
        group.members().map(node).collect(),
        Plan::PerNode(lists.iter().copied().map(asks).collect()),
        WithSuspicions::new(monitor),
    )
    .links(Order::Fifo)
}

/// Nodes, of which the first so many have founded the group.
fn locks<P: Exclusive>(
    founders: u32,
    of: u32,
    anew: NodeFactory<P>,
) -> impl Fn(NodeId) -> Locks<P> {
    let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
    move |id| Locks::new(id, Group::of(of), &founders, anew.clone())
}

fn ricart_agrawala() -> NodeFactory<RicartAgrawala> {
    NodeFactory::new(RicartAgrawala::new)
}

fn suzuki_kasami() -> NodeFactory<SuzukiKasami> {
    NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
}

fn central() -> NodeFactory<Central> {
    NodeFactory::new(Central::new)
}

/// Those who wait ask again in every view, as where an algorithm goes by time or chance.
fn asking_again() -> NodeFactory<RicartAgrawala> {
    ricart_agrawala().asking_again()
}

/// How many states it has; or what is wrong, and the run to it.
fn explored<N>(system: &System<N, WithSuspicions>) -> Result<u64, (String, Vec<String>)>
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    let bounds = Bounds::default().memory_bytes(4 << 30);
    let report = explore(system, &bounds, NonZeroUsize::MIN.saturating_add(1), |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            Err((violation.to_string(), run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

/// How many states each of these has.
fn states<P: Exclusive>(anew: fn() -> NodeFactory<P>) -> Vec<u64> {
    let crash = Faults::NONE.crashes(1);
    let cases: [(&[List], Faults); 5] = [
        (&[(&[2], 1), (&[2], 1), (&[], 1)], crash),
        (&[(&[], 1), (&[0], 1), (&[0], 0)], crash),
        (&[(&[1], 1), (&[0], 1)], crash.restarts(1)),
        (&[(&[], 1), (&[0], 1), (&[0], 0)], Faults::NONE),
        (&[(&[2], 1), (&[], 0), (&[], 2)], Faults::NONE),
    ];
    let mut found = Vec::new();
    for (lists, faults) in cases {
        let nodes = lists.len() as u32;
        let monitor = Locked::new(Group::of(nodes)).fenced();
        let system = system(lists, monitor, locks(nodes, nodes, anew())).faults(faults);
        match explored(&system) {
            Ok(states) => found.push(states),
            Err((what, run)) => panic!("{lists:?}: {what}\n{}", run.join("\n")),
        }
    }
    found
}

/// Whoever is suspected wrongly is left behind, and does not know: numbers tell.
#[test]
fn whoever_is_suspected_numbers_grow_and_whoever_waits_enters() {
    let found =
        [states(ricart_agrawala), states(suzuki_kasami), states(central), states(asking_again)];
    let expected = [
        [55_499, 26_943, 1_008, 12_090, 2_536],
        [37_949, 10_435, 1_017, 4_356, 1_369],
        [22_253, 23_160, 1_008, 9_826, 752],
        [61_920, 26_943, 1_009, 12_090, 2_536],
    ];
    assert_eq!(found, expected);
}

/// A view ends at any moment because another comes in, and nobody is suspected: then nobody is ever
/// beside another.
fn joined(anew: NodeFactory<SuzukiKasami>) -> impl Fn(NodeId) -> Locks<SuzukiKasami> {
    locks(2, 3, anew)
}

const JOINED: &[List] = &[(&[], 1), (&[], 2), (&[], 1)];

#[test]
fn who_comes_in_disturbs_nobody() {
    let strict = || Locked::new(Group::of(3));
    let states = [
        explored(&system(JOINED, strict(), joined(suzuki_kasami()))),
        explored(&system(JOINED, strict(), locks(2, 3, ricart_agrawala()))),
        explored(&system(JOINED, strict(), locks(2, 3, central()))),
        explored(&system(JOINED, strict(), locks(2, 3, asking_again()))),
    ];
    // Of what is said before a view begins only the order of each sender is kept, and clocks of
    // those that say it wait with it.
    assert_eq!(states, [Ok(76_377), Ok(164_819), Ok(22_957), Ok(210_250)]);
}

#[test]
fn what_is_wrong_on_purpose_is_found() {
    fn flawed(
        mistake: &'static dyn AnyMistake<Locks<SuzukiKasami>>,
    ) -> impl Fn(NodeId) -> Flawed<Locks<SuzukiKasami>> {
        let node = joined(suzuki_kasami().asking_again());
        move |id| Flawed::new(node(id), mistake)
    }
    let strict = || Locked::new(Group::of(3));
    let found = [
        explored(&system(JOINED, strict(), flawed(&EntersFrozen))),
        explored(&system(JOINED, strict(), flawed(&HolderForgotten))),
        explored(&system(JOINED, strict(), flawed(&ViewIgnored)).links(Order::Any)),
        explored(&system(JOINED, strict(), flawed(&ClockNotCarried))),
        explored(&system(JOINED, strict(), joined(suzuki_kasami().in_own_order()))),
    ];
    let shown = found.map(|it| {
        let (what, run) = it.expect_err("it is wrong");
        println!("{what}\n{}", run.join("\n"));
        (what.split(':').next().unwrap_or_default().to_owned(), run.len())
    });
    let shown = shown.each_ref().map(|(property, steps)| (property.as_str(), *steps));
    assert_eq!(
        shown,
        [("exclusion", 9), ("exclusion", 9), ("progress", 22), ("fencing", 5), ("fencing", 15)]
    );
}

/// It says nothing with its heartbeats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Beatless;

impl<P: Exclusive> Mistake<Locks<P>> for Beatless {
    fn on_command(
        self,
        node: &mut Locks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<Locks<P>>,
    ) -> Result<(), Refused> {
        if command == Input::Beat { Ok(()) } else { node.on_command(command, fx) }
    }
}

/// A node that crashes and comes back while another joins, and what it has missed meanwhile. Who
/// waits for ever though heartbeats come does so because of something else.
#[test]
fn what_a_node_has_missed_while_it_was_down_comes_with_a_heartbeat() {
    let lists: &[List] = &[(&[1], 1), (&[], 1)];
    let restart = Faults::NONE.crashes(1).restarts(1);
    let monitor = || Locked::new(Group::of(2)).fenced();
    let node = || locks(2, 2, central());
    let silent = system(lists, monitor(), node()).faults(restart).links(Order::Any);
    let (what, _) = explored(&silent).expect_err("nobody repeats anything");
    assert!(what.starts_with("progress"), "{what}");
    let demands = Demands::default().beating(Input::Beat);
    explored(&System { demands, ..silent }).unwrap_or_else(|(what, run)| panic!("{what} {run:?}"));

    let flawed = |id| Flawed::new(node()(id), &Beatless as &dyn AnyMistake<Locks<Central>>);
    let flawed = system(lists, monitor(), flawed).faults(restart).links(Order::Any);
    let demands = Demands::default().beating(Input::Beat);
    let found = explored(&System { demands, ..flawed });
    let (what, run) = found.expect_err("heartbeats say nothing");
    assert!(what.starts_with("progress") && run.len() > 3, "{what} {run:?}");
}
