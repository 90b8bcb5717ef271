//! Reliable multicast where losses are real: over datagrams, by IP multicast, some of which are
//! dropped on purpose.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::multicast::ack::Ack;
use vorrang_algorithms::multicast::nack::Nack;
use vorrang_algorithms::multicast::ordered::carrier::Carrier;
use vorrang_algorithms::multicast::spec::Deliveries;
use vorrang_algorithms::multicast::srm::Srm;
use vorrang_algorithms::multicast::{Command, Notice, Ordered, Text};
use vorrang_algorithms::setup::{Ordering, Setup};
use vorrang_net::udp::{Cast, Faults, Multicast, Udp, bind_loopback};
use vorrang_net::{Clock, CommandError, Config, Event, Generation, Handle, Log, Node, Timing};
use vorrang_protocol::{Group, NodeId};
use vorrang_trace::judge;

use crate::support::{event, soon};

const NODES: u32 = 4;
const SAID: u32 = 40;

type Member<C> = (Handle<Command>, UnboundedReceiver<Notice>, std::marker::PhantomData<C>);

async fn group<C: Carrier>(
    ordering: Ordering,
    lost: f64,
) -> (Vec<Member<C>>, Log<Command, Notice>, Setup) {
    let mut setup = Setup::new(Group::of(NODES));
    setup.ordering = ordering;
    setup.within = Duration::from_millis(5);
    let (sockets, peers) = bind_loopback(NODES).unwrap();
    let (log, clock) = (Log::new(), Clock::start());
    let mut members = Vec::new();
    for (id, socket) in (0..).map(NodeId).zip(sockets) {
        let faults = Faults { lost, seed: 7, ..Faults::default() };
        let cast = Cast::Multicast(Multicast::of(&peers).or_unicast());
        let config = Config::new(id, peers.clone(), "multicast");
        let node = Node::over_udp(Udp { cast, faults }, Ordered::<C>::of(id, &setup), config);
        let started = node.socket(socket).record(log.clone(), clock).start().await.unwrap();
        members.push((started.0, started.1, std::marker::PhantomData));
    }
    (members, log, setup)
}

/// Everyone says something, again and again; all hear all of it, and the monitors agree.
async fn all_is_heard<C: Carrier>(ordering: Ordering) {
    let (mut members, log, setup) = group::<C>(ordering, 0.2).await;
    for (handle, ..) in &members {
        let handle = handle.clone();
        tokio::spawn(async move {
            for number in 0..SAID {
                let text: Text = format!("line {number}").as_str().into();
                while let Err(error) = handle.command(Command::Cast(text.clone())).await {
                    assert!(matches!(error, CommandError::Refused(_)), "{error}");
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        });
    }
    let mut heard = vec![Vec::new(); NODES as usize];
    for ((_, notices, _), heard) in members.iter_mut().zip(&mut heard) {
        while heard.len() < (NODES * SAID) as usize {
            match soon("a delivery", notices.recv()).await.expect("the node goes on") {
                Notice::Delivered { from, number, text, .. } => {
                    assert_eq!(*text.0, *format!("line {number}"));
                    heard.push((from, number));
                }
                Notice::Missed { .. }
                | Notice::Full
                | Notice::Room
                | Notice::Begins { .. }
                | Notice::Removed
                | Notice::Left => {}
            }
        }
    }
    if ordering.is_total() {
        assert!(heard.iter().all(|other| *other == heard[0]), "one order");
    }
    for (handle, ..) in members {
        let counts = handle.status().await.unwrap().datagrams.unwrap();
        assert!(counts.lost > 20, "{counts:?}");
        handle.kill().await;
    }
    let verdict = judge(&log.take(), Deliveries::new(setup.group, setup.ordering));
    assert!(verdict.is_safe(), "{ordering:?}: {:?}", verdict.violations);
    assert_eq!(verdict.owed, None, "{ordering:?}");
}

#[tokio::test]
async fn acknowledgements_get_over_datagrams_that_are_dropped() {
    all_is_heard::<Ack>(Ordering::Fifo).await;
    all_is_heard::<Ack>(Ordering::Skeen).await;
}

#[tokio::test]
async fn negative_acknowledgements_get_over_datagrams_that_are_dropped() {
    all_is_heard::<Nack>(Ordering::Causal).await;
    all_is_heard::<Nack>(Ordering::Sequencer).await;
}

#[tokio::test]
async fn srm_gets_over_datagrams_that_are_dropped() {
    all_is_heard::<Srm>(Ordering::Fifo).await;
    all_is_heard::<Srm>(Ordering::Token).await;
}

/// A member that comes back without its memory, over datagrams of which some are lost.
async fn member<C: Carrier>(
    id: u32,
    peers: &[String],
    socket: Option<std::net::UdpSocket>,
) -> (Member<C>, broadcast::Receiver<Event>) {
    let mut setup = Setup::new(Group::of(peers.len() as u32));
    setup.within = Duration::from_millis(50);
    setup.tries = NonZeroU32::new(12);
    let cast = Cast::Multicast(Multicast::of(peers).or_unicast());
    let faults = Faults { lost: 0.1, seed: 7, ..Faults::default() };
    let timing = Timing { backoff_max: Duration::from_millis(300), ..Timing::default() };
    let config = Config { timing, ..Config::new(NodeId(id), peers.to_vec(), "multicast") };
    let machine = Ordered::<C>::of(NodeId(id), &setup);
    let config = config.returning(Generation::now());
    let mut node = Node::over_udp(Udp { cast, faults }, machine, config);
    if let Some(socket) = socket {
        node = node.socket(socket);
    }
    let (handle, notices) = node.start().await.unwrap();
    let events = handle.events();
    ((handle, notices, std::marker::PhantomData), events)
}

/// Where somebody was taken for crashed meanwhile, as on a busy machine, what was said may be lost,
/// and is said again.
async fn hears<C>(member: &mut Member<C>, (of, speaker): (u32, &Handle<Command>), said: &str) {
    let is_it = |notice: Notice| match notice {
        Notice::Delivered { from, text, .. } => from.0 == of && *text.0 == *said,
        Notice::Missed { .. }
        | Notice::Full
        | Notice::Room
        | Notice::Begins { .. }
        | Notice::Removed
        | Notice::Left => false,
    };
    let hears = async {
        loop {
            match tokio::time::timeout(Duration::from_millis(500), member.1.recv()).await {
                Ok(notice) => {
                    if is_it(notice.expect("the node goes on")) {
                        return;
                    }
                }
                Err(_) => {
                    let _ = speaker.command(Command::Cast(said.into())).await;
                }
            }
        }
    };
    soon("a delivery", hears).await;
}

async fn cast<C>(member: &Member<C>, said: &str) {
    member.0.command(Command::Cast(said.into())).await.unwrap();
}

/// Each in turn is killed while others speak, and is back as another incarnation, to which all say
/// what they say from then on.
async fn comes_back<C: Carrier>() {
    let (sockets, peers) = bind_loopback(3).unwrap();
    let mut members = Vec::new();
    for (id, socket) in (0..).zip(sockets) {
        members.push(member::<C>(id, &peers, Some(socket)).await.0);
    }
    for (handle, ..) in &members {
        soon("the start", handle.started()).await.unwrap();
    }
    for victim in [1, 0, 1] {
        cast(&members[2], "before").await;
        let (former, ..) = members.remove(victim as usize);
        soon("its end", former.kill()).await;
        cast(&members[1], "meanwhile").await;
        let (mut back, mut events) = member::<C>(victim, &peers, None).await;
        event(&mut events, &["came back"]).await;
        cast(&back, "here again").await;
        for other in &mut members {
            hears(other, (victim, &back.0), "here again").await;
            cast(other, "welcome").await;
        }
        for (id, other) in (0..3).filter(|id| *id != victim).zip(&members) {
            hears(&mut back, (id, &other.0), "welcome").await;
        }
        members.insert(victim as usize, back);
    }
}

#[tokio::test]
async fn members_that_were_killed_come_back_over_datagrams() {
    comes_back::<Ack>().await;
    comes_back::<Nack>().await;
    comes_back::<Srm>().await;
}

/// One datagram for all, however many they are.
#[tokio::test]
async fn what_is_said_to_all_is_one_datagram() {
    let (mut members, ..) = group::<Nack>(Ordering::Fifo, 0.0).await;
    let handle = members[0].0.clone();
    for (_, notices, _) in &mut members {
        handle.command(Command::Cast("once".into())).await.unwrap();
        soon("a delivery", notices.recv()).await.unwrap();
    }
    let status = handle.status().await.unwrap();
    let sent = status.sent.iter().find(|it| it.0 == "DATA").unwrap().1;
    assert_eq!(sent, u64::from(NODES * (NODES - 1)), "to each, as an algorithm counts");
    let counts = status.datagrams.unwrap();
    assert!(counts.multicast >= u64::from(NODES), "{counts:?}");
}

#[tokio::test]
async fn a_text_that_does_not_fit_a_datagram_is_refused_with_the_limit() {
    let (members, ..) = group::<Ack>(Ordering::Fifo, 0.0).await;
    let long: Text = "x".repeat(Text::MOST_BYTES + 1).as_str().into();
    let refused = members[0].0.command(Command::Cast(long)).await.unwrap_err();
    assert!(refused.to_string().contains(&Text::MOST_BYTES.to_string()), "{refused}");
    let longest: Text = "x".repeat(Text::MOST_BYTES).as_str().into();
    members[0].0.command(Command::Cast(longest)).await.expect("the longest fits");
    members[0].0.command(Command::Cast("short".into())).await.expect("nothing was counted on");
}
