//! Reliable multicast: every carrier under every order, with losses and duplicates.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::multicast::ack::Ack;
use vorrang_algorithms::multicast::flaws::{
    EVERY_GAP_IS_ASKED_FOR_KEPT, ONE_BACK_OFF_KEPT, SuppressedForEver,
};
use vorrang_algorithms::multicast::nack::Nack;
use vorrang_algorithms::multicast::ordered::carrier::Carrier;
use vorrang_algorithms::multicast::spec::Deliveries;
use vorrang_algorithms::multicast::srm::Srm;
use vorrang_algorithms::multicast::{Command, Notice, Ordered, Text};
use vorrang_algorithms::setup::{Distances, Ordering, Setup, Tail, Waits};
use vorrang_check::{
    Ask, Bounds, Demands, Faults, Links, Order, Outcome, Plan, Report, Run, System, explore,
    explore_after,
};
use vorrang_protocol::{
    Group, Guard, Invariant, Message as _, NodeId, NodeSet, Protocol, Situation, StateValue,
};
use vorrang_trace::Stage;

fn setup(casts: &[u32], ordering: Ordering) -> Setup {
    let mut setup = Setup::new(Group::of(casts.len() as u32));
    setup.ordering = ordering;
    setup.distances = Distances::Known;
    setup.draws = NonZeroU32::MIN.saturating_add(1);
    setup
}

fn system<C: Carrier>(
    casts: &[u32],
    setup: &Setup,
    faults: Faults,
) -> System<Ordered<C>, Deliveries> {
    let asks =
        |count: &u32| (0..*count).map(|_| Ask::at_once(Command::Cast(Text::default()))).collect();
    System {
        nodes: setup.group.members().map(|id| Ordered::<C>::of(id, setup)).collect(),
        plan: Plan::PerNode(casts.iter().map(asks).collect()),
        monitor: Deliveries::new(setup.group, setup.ordering),
        links: Links::from(Order::Any).within(Some(setup.within)),
        faults,
        demands: Demands::default(),
    }
}

/// The number of states, or what is wrong.
fn explored<P: Protocol<Command = Command, Notice = Notice>>(
    system: &System<P, Deliveries>,
) -> Result<u64, &'static str> {
    let bounds = Bounds::default().states(Some(2_000_000));
    let report = explore(system, &bounds, NonZeroUsize::MIN, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, .. } => Err(violation.property),
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

fn all_orders<C: Carrier>(casts: &[u32], faults: Faults) {
    for ordering in Ordering::ALL {
        let setup = setup(casts, ordering);
        let found = explored(&system::<C>(casts, &setup, faults));
        println!("{casts:?} {ordering:?} {faults:?}: {found:?}");
        assert!(found.is_ok(), "{casts:?} {ordering:?} {faults:?}: {found:?}");
    }
}

#[test]
fn two_who_speak_are_heard_in_every_order_though_a_message_is_lost() {
    let faults = Faults::NONE.losses(1);
    all_orders::<Ack>(&[1, 1], faults);
    all_orders::<Nack>(&[1, 1], faults);
}

#[test]
fn doubled_messages_are_heard_once_in_every_order() {
    let faults = Faults::NONE.duplicates(1);
    all_orders::<Ack>(&[1, 1], faults);
    all_orders::<Nack>(&[1, 1], faults);
    all_orders::<Srm>(&[1, 0], faults);
}

#[test]
fn three_agree_on_an_order_where_nothing_is_lost() {
    let casts = [1, 1, 0];
    for ordering in [Ordering::Causal, Ordering::Sequencer, Ordering::Token] {
        let setup = setup(&casts, ordering);
        let found = explored(&system::<Ack>(&casts, &setup, Faults::NONE));
        assert!(found.is_ok(), "{ordering:?}: {found:?}");
    }
}

/// A member that speaks again while it waits for the token must not ask for it again.
#[test]
fn one_who_speaks_twice_and_one_who_speaks_once_share_a_token() {
    for casts in [&[2, 1][..], &[1, 2], &[0, 2]] {
        let setup = setup(casts, Ordering::Token);
        assert!(explored(&system::<Ack>(casts, &setup, Faults::NONE)).is_ok(), "{casts:?}");
    }
}

#[test]
fn a_stop_signal_helps_against_as_many_losses_as_it_is_repeated() {
    let lossy = |tail, losses| {
        let mut setup = setup(&[1, 0], Ordering::Fifo);
        setup.tail = tail;
        explored(&system::<Nack>(&[1, 0], &setup, Faults::NONE.losses(losses)))
    };
    assert_eq!(lossy(Tail::None, 1), Err("validity"));
    assert!(lossy(Tail::Stop, Tail::STOPS).is_ok());
    assert_eq!(lossy(Tail::Stop, Tail::STOPS + 1), Err("validity"));
    assert!(lossy(Tail::Heartbeat, Tail::STOPS + 1).is_ok());
}

/// One member speaks to two, and requests and repairs wait for much less than a session does: the
/// smallest system with suppressed requests that can be exhausted.
fn quick_srm(losses: u8) -> System<Ordered<Srm>, Deliveries> {
    let casts = [1, 0, 0];
    let mut setup = setup(&casts, Ordering::Fifo);
    setup.waits = Waits::Given([100, 100, 100, 0]);
    let mut system = system::<Srm>(&casts, &setup, Faults::NONE.losses(losses));
    system.links = Links::from(Order::Fifo).within(Duration::from_micros(1));
    system
}

const TWO_LOSSES: &str = "cast 0\nlose 0->1 DATA(0)\nlose 0->2 DATA(0)";

/// All that can follow a script, judged with these invariants too.
fn explored_after<P>(
    system: System<P, Deliveries>,
    script: &str,
    invariants: &'static [Invariant<P>],
) -> Report<P>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let mut stage = Stage::new(system.nodes.iter().cloned(), system.monitor.clone());
    stage.play(script).unwrap();
    let demands = system.demands.clone().invariants(invariants.iter());
    let system = System { demands, ..system };
    let bounds = Bounds::default().states(Some(2_000_000));
    let explored = explore_after(&system, stage.prefix(), &bounds, NonZeroUsize::MIN, |_| {});
    explored.unwrap().0
}

/// Whether a member has backed off while the request of another is under way, and none of its own.
fn is_suppressed(at: &Situation<'_, Ordered<Srm>>, who: NodeId) -> bool {
    let asks = |id| at.messages().any(|it| it.0 == id && it.2.kind_name() == "REQUEST");
    let others = || at.up().map(|it| it.0).filter(|&id| id != who);
    let backs_off = || format!("{:?}", at.node(who).state()).contains("ignores requests");
    !asks(who) && others().any(asks) && backs_off()
}

/// Not a promise: whoever breaks it shows that it can happen.
const NOBODY_IS_SUPPRESSED: &[Invariant<Ordered<Srm>>] = &[Invariant {
    name: "nobody is suppressed",
    holds: |at| match at.up().find(|it| is_suppressed(at, it.0)) {
        Some((id, _)) => Err(format!("{id}")),
        None => Ok(()),
    },
}];

const NOBODY_HAS_IT: &[Invariant<Ordered<Srm>>] = &[Invariant {
    name: "not all have it",
    holds: |at| {
        let has = |id| format!("{:?}", at.node(NodeId(id)).state().get("heard")).contains('1');
        if has(1) && has(2) { Err(String::new()) } else { Ok(()) }
    },
}];

#[test]
fn a_request_is_suppressed_only_where_two_miss_the_same() {
    let one = explored_after(quick_srm(1), "", NOBODY_IS_SUPPRESSED);
    assert_eq!(one.outcome, Outcome::Verified, "one loss shows no suppressed request");

    let two = explored_after(quick_srm(2), "", NOBODY_IS_SUPPRESSED);
    let Outcome::Violated { run, violation } = two.outcome else { panic!("{:?}", two.outcome) };
    assert_eq!(violation.property, "nobody is suppressed");
    let who = violation.what;
    let taken = |run: &Run<Ordered<Srm>>| -> Vec<String> {
        run.moves.iter().map(|it| it.step.to_string()).collect()
    };
    let asks = |run: &Run<Ordered<Srm>>| {
        let own = format!("timer {who} Request(0/0)");
        taken(run).iter().any(|step| step.starts_with(&own))
    };
    assert!(!asks(&run), "{:?}", taken(&run));
    // From there on both get it, and the one that was suppressed has not asked.
    let script = taken(&run).join("\n");
    let rest = explored_after(quick_srm(2), &script, NOBODY_HAS_IT);
    let Outcome::Violated { run: rest, .. } = rest.outcome else { panic!("{:?}", rest.outcome) };
    assert!(!asks(&rest), "{:?}", taken(&rest));
}

#[test]
fn whoever_misses_the_same_backs_off_once_a_round_and_asks_in_the_end() {
    for lemma in [ONE_BACK_OFF_KEPT, EVERY_GAP_IS_ASKED_FOR_KEPT] {
        let report = explored_after(quick_srm(2), TWO_LOSSES, lemma);
        assert_eq!((report.outcome, report.states), (Outcome::Verified, 6_479));
    }
}

/// Two miss it, the request of one suppresses that of the other, and to that one the repair is
/// lost.
const REPAIR_LOST: &str = "cast 0\nlose 0->1 DATA(0)\nlose 0->2 DATA(0)\ntimer 0 Session\ntimer 0 \
     Session\ndeliver 0->1\ndeliver 0->2\ntimer 1 Request(0/0)\ndeliver 1->2 \
     REQUEST(0/0)\ndeliver 1->0 REQUEST(0/0)\ntimer 0 Repair(0/0)\nlose 0->2 REPAIR(0/0)";

#[test]
fn whoever_leaves_its_request_to_another_may_never_get_it() {
    let drawless = || {
        let casts = [1, 0, 0];
        let mut setup = setup(&casts, Ordering::Fifo);
        setup.waits = Waits::Given([100, 0, 100, 0]);
        setup.draws = NonZeroU32::MIN;
        let system = system::<Srm>(&casts, &setup, Faults::NONE.losses(3));
        System { links: quick_srm(0).links, ..system }
    };
    assert_eq!(explored_after(drawless(), REPAIR_LOST, &[]).outcome, Outcome::Verified);
    let System { nodes, plan, monitor, links, faults, .. } = drawless();
    let nodes = nodes.into_iter().map(|node| Flawed::new(node, &SuppressedForEver)).collect();
    let flawed = System { nodes, plan, monitor, links, faults, demands: Demands::default() };
    let outcome = explored_after(flawed, REPAIR_LOST, &[]).outcome;
    let Outcome::Violated { violation, .. } = outcome else { panic!("it never asks") };
    assert_eq!(violation.property, "validity");
}

/// A sender that does not know its receivers drops what is too old, and the receiver says what it
/// misses: with as many losses as there are, and one message too old or two.
#[test]
fn what_a_sender_has_dropped_is_reported_or_delivered() {
    for (casts, history, losses) in [(2, 1, 1), (2, 1, 2), (3, 2, 1)] {
        let casts = [casts, 0];
        let mut setup = setup(&casts, Ordering::Fifo);
        setup.history = NonZeroU32::new(history);
        let mut system = system::<Nack>(&casts, &setup, Faults::NONE.losses(losses));
        system.monitor = system.monitor.keeping(setup.history);
        assert!(explored(&system).is_ok(), "{casts:?}, {history} kept, {losses} lost");
        // Without the report, a monitor that was promised everything objects.
        system.monitor = Deliveries::new(setup.group, setup.ordering);
        assert_eq!(explored(&system), Err("validity"));
    }
}

/// One sends to one, with a window of one and so many tries; whoever hears may crash.
fn crashing<C: Carrier>(tries: u32, losses: u8) -> Result<u64, String> {
    let casts = [1, 0];
    let mut setup = setup(&casts, Ordering::Fifo);
    (setup.window, setup.tries) = (1, NonZeroU32::new(tries));
    let faults = Faults::NONE.crashes(1).sparing([NodeId(0)]).losses(losses);
    let mut system = system::<C>(&casts, &setup, faults);
    system.monitor = system.monitor.of_incarnations(true);
    let is_accurate = Guard::new("accuracy", |at: &Situation<'_, Ordered<C>>| {
        let removed = at.node(NodeId(0)).state().get("removed").cloned();
        let is_there = removed.is_some_and(|it| it != StateValue::from(&NodeSet::EMPTY));
        if is_there && !at.is_down(NodeId(1)) { Err("1 is up".to_owned()) } else { Ok(()) }
    });
    // Where the assumption does not hold, what comes of it matters.
    if u32::from(losses) < tries {
        system.demands = system.demands.invariants([is_accurate]);
    }
    explored(&system).map_err(str::to_owned)
}

/// Fewer losses in a row than tries is what is assumed; with more, a member that is up is removed,
/// and what it has missed is dropped.
#[test]
fn whoever_crashes_is_waited_for_no_longer_and_nobody_else_is_removed() {
    for tries in [1, 2, 3] {
        let few = tries as u8 - 1;
        let all = [crashing::<Ack>, crashing::<Nack>, crashing::<Srm>];
        for crashing in all {
            assert!(crashing(tries, few).is_ok(), "{tries}: {:?}", crashing(tries, few));
            assert_eq!(crashing(tries, few + 2), Err("validity".to_owned()), "{tries}");
        }
    }
}

/// Members that come and go: so many tries, these faults, and whoever leaves and joins again.
fn coming<C: Carrier>(
    casts: &[u32],
    tries: u32,
    faults: Faults,
    leavers: &[usize],
) -> Result<u64, String> {
    let mut setup = setup(casts, Ordering::Fifo);
    setup.tries = NonZeroU32::new(tries);
    let mut system = system::<C>(casts, &setup, faults);
    system.monitor = system.monitor.of_incarnations(true);
    let Plan::PerNode(plan) = &mut system.plan else { unreachable!() };
    for &leaver in leavers {
        plan[leaver].extend([Command::Leave, Command::Join].map(Ask::at_once));
    }
    let found = explored(&system).map_err(str::to_owned);
    println!("{casts:?} {tries} {faults:?} {leavers:?}: {found:?}");
    found
}

#[test]
fn whoever_restarts_is_let_in_from_the_next_message_on() {
    for coming in [coming::<Ack>, coming::<Nack>, coming::<Srm>] {
        let faults = Faults::NONE.crashes(1).restarts(1);
        assert!(coming(&[1, 0], 1, faults, &[]).is_ok());
        assert!(coming(&[2, 0], 1, faults.sparing([NodeId(0)]), &[]).is_ok());
        assert!(coming(&[1, 0], 2, faults.losses(1), &[]).is_ok());
    }
}

#[test]
fn whoever_leaves_has_told_all_and_may_come_back() {
    for coming in [coming::<Ack>, coming::<Nack>, coming::<Srm>] {
        assert!(coming(&[1, 0], 1, Faults::NONE, &[0]).is_ok());
        assert!(coming(&[1, 0], 1, Faults::NONE, &[1]).is_ok());
    }
}

#[test]
fn what_srm_loses_is_repaired() {
    let setup = setup(&[1, 0], Ordering::Fifo);
    assert!(explored(&system::<Srm>(&[1, 0], &setup, Faults::NONE.losses(1))).is_ok());
}
