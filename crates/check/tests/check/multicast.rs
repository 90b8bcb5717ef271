//! Reliable multicast: every carrier under every order, with losses and duplicates.

use std::num::{NonZeroU32, NonZeroUsize};

use vorrang_algorithms::multicast::ack::Ack;
use vorrang_algorithms::multicast::carrier::Carrier;
use vorrang_algorithms::multicast::flaws::ONE_BACK_OFF_KEPT;
use vorrang_algorithms::multicast::nack::Nack;
use vorrang_algorithms::multicast::spec::Deliveries;
use vorrang_algorithms::multicast::srm::Srm;
use vorrang_algorithms::multicast::{Command, Ordered, Text};
use vorrang_algorithms::setup::{Distances, Ordering, Setup, Tail};
use vorrang_check::{
    Ask, Bounds, Demands, Faults, Links, Order, Outcome, Plan, System, Walks, explore, walk,
};
use vorrang_protocol::{Group, Protocol};

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
fn explored<P: Protocol<Command = Command, Notice = vorrang_algorithms::multicast::Notice>>(
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

#[test]
fn whoever_misses_the_same_backs_off_once_a_round() {
    let setup = setup(&[1, 0, 0], Ordering::Fifo);
    let mut system = system::<Srm>(&[1, 0, 0], &setup, Faults::NONE.losses(2));
    system.demands = system.demands.invariants(ONE_BACK_OFF_KEPT.iter());
    let walks = Walks::new(3_000, 120, 1);
    let report = walk(&system, &walks, &Bounds::default(), |_| {});
    assert!(!matches!(report.outcome, Outcome::Violated { .. }), "{:?}", report.outcome);
}

#[test]
fn what_srm_loses_is_repaired() {
    let setup = setup(&[1, 0], Ordering::Fifo);
    assert!(explored(&system::<Srm>(&[1, 0], &setup, Faults::NONE.losses(1))).is_ok());
}
