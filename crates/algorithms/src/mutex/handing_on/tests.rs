//! Handing on permissions, a handler at a time.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Effect, Message as _, NodeSet, Outbox, Situation};

use super::*;
use crate::quorum::Quorums;

const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
const ENTERED: Effect<CaoSinghal> = Effect::Notify(Notice::Entered);

/// Node `me` of four in a square: each asks all but the one that it does not touch.
fn node(me: u32) -> (CaoSinghal, Outbox<CaoSinghal>) {
    (of("grid", 4, me), Outbox::default())
}

fn of(quorums: &str, nodes: u32, me: u32) -> CaoSinghal {
    let group = Group::of(nodes);
    let system = quorums.parse::<Quorums>().unwrap().system(group).unwrap();
    CaoSinghal::new(NodeId(me), group, system.schedule(NodeId(me)))
}

fn send(to: u32, message: Message) -> Effect<CaoSinghal> {
    Effect::Send { to: NodeId(to), message }
}

const fn stamp(time: u64, node: u32) -> Stamp {
    Stamp::new(time, NodeId(node))
}

const fn request(time: u64) -> Message {
    Message::Request { time }
}

const fn fail(time: u64) -> Message {
    Message::Fail { time }
}

const fn reply(time: u64, arbiter: u32, epoch: u64, next: Option<Stamp>) -> Message {
    Message::Reply { time, arbiter: NodeId(arbiter), epoch, next }
}

const fn transfer(epoch: u64, next: Stamp) -> Message {
    Message::Transfer { epoch, next, inquire: false }
}

const fn inquire(epoch: u64, next: Stamp) -> Message {
    Message::Transfer { epoch, next, inquire: true }
}

const fn give_back(epoch: u64) -> Message {
    Message::Yield { epoch }
}

const fn release(epoch: u64, next: Option<Stamp>) -> Message {
    Message::Release { epoch, next }
}

impl CaoSinghal {
    /// What comes of a message.
    fn on(&mut self, from: u32, message: Message) -> Vec<Effect<Self>> {
        let mut fx = Outbox::default();
        self.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }

    fn does(&mut self, command: Command) -> Vec<Effect<Self>> {
        let mut fx = Outbox::default();
        self.on_command(command, &mut fx).unwrap();
        fx.take()
    }
}

#[test]
fn asks_its_quorum_and_itself_without_a_message_and_enters_with_all_permissions() {
    let (mut node, _) = node(0);
    assert_eq!(node.does(ACQUIRE), [send(1, request(1)), send(2, request(1))]);
    assert_eq!(node.on(1, reply(1, 1, 1, None)), []);
    assert_eq!(node.on(2, reply(1, 2, 1, None)), [ENTERED]);
    let left = node.does(Command::Release);
    assert_eq!(left, [send(1, release(1, None)), send(2, release(1, None))]);
    assert_eq!(node.arbiter.lock, None, "its own permission is back as well");
    assert_eq!(node.phase, Phase::Outside);
}

#[test]
fn whoever_leaves_hands_a_permission_to_the_one_that_its_arbiter_has_named() {
    let (mut arbiter, _) = node(1);
    assert_eq!(arbiter.on(0, request(1)), [send(0, reply(1, 1, 1, None))]);
    let told = arbiter.on(3, request(2));
    assert_eq!(told, [send(3, fail(2)), send(0, transfer(1, stamp(2, 3)))]);

    let (mut leaver, _) = node(0);
    leaver.does(ACQUIRE);
    leaver.on(1, reply(1, 1, 1, None));
    leaver.on(2, reply(1, 2, 1, None));
    assert_eq!(leaver.on(1, transfer(1, stamp(2, 3))), []);
    assert_eq!(
        leaver.does(Command::Release),
        [
            send(3, reply(2, 1, 2, None)),
            send(1, release(1, Some(stamp(2, 3)))),
            send(2, release(1, None)),
        ]
    );

    assert_eq!(arbiter.on(2, request(3)), [send(2, fail(3))]);
    let told = arbiter.on(0, release(1, Some(stamp(2, 3))));
    assert_eq!(told, [send(3, transfer(2, stamp(3, 2)))], "and after that one, this one");
    assert_eq!(arbiter.on(3, release(2, None)), [send(2, reply(3, 1, 3, None))]);
}

#[test]
fn a_permission_comes_with_the_name_of_who_is_next() {
    let (mut arbiter, _) = node(1);
    for (from, time) in [(0, 1), (3, 2), (1, 3)] {
        arbiter.on(from, request(time));
    }
    assert_eq!(arbiter.on(0, release(1, None)), [send(3, reply(2, 1, 2, Some(stamp(3, 1))))]);
}

#[test]
fn a_release_that_overtakes_the_news_of_its_hand_over_is_kept() {
    let (mut arbiter, _) = node(1);
    for (from, time) in [(0, 1), (3, 2), (2, 3)] {
        arbiter.on(from, request(time));
    }
    assert_eq!(arbiter.on(3, release(2, None)), []);
    let told = arbiter.on(0, release(1, Some(stamp(2, 3))));
    assert_eq!(told, [send(2, reply(3, 1, 3, None))], "two have left");
    assert_eq!(arbiter.arbiter.early, None);
}

#[test]
fn an_older_request_has_the_holder_asked_and_the_overtaken_told() {
    let (mut arbiter, _) = node(1);
    arbiter.on(3, request(1));
    assert_eq!(arbiter.on(2, request(1)), [send(3, inquire(1, stamp(1, 2)))]);
    let told = arbiter.on(0, request(1));
    assert_eq!(told, [send(2, fail(1)), send(3, transfer(1, stamp(1, 0)))], "asked once");
    let told = arbiter.on(3, give_back(1));
    assert_eq!(told, [send(0, reply(1, 1, 2, Some(stamp(1, 2))))]);
    assert_eq!(arbiter.arbiter.waiting.len(), 2, "who has yielded waits again");
}

#[test]
fn whoever_was_handed_a_permission_before_an_older_request_came_is_asked_to_yield() {
    let (mut arbiter, _) = node(1);
    for (from, time) in [(0, 1), (3, 2), (2, 2)] {
        arbiter.on(from, request(time));
    }
    let told = arbiter.on(0, release(1, Some(stamp(2, 3))));
    assert_eq!(told, [send(3, inquire(2, stamp(2, 2)))]);
}

#[test]
fn who_is_asked_for_a_permission_yields_when_it_must_wait_elsewhere() {
    let (mut asked, _) = node(3);
    asked.does(ACQUIRE);
    asked.on(1, reply(1, 1, 1, None));
    assert_eq!(asked.on(1, inquire(1, stamp(1, 0))), [], "it may still get in");
    assert_eq!(asked.on(2, fail(1)), [send(1, give_back(1))]);
    assert_eq!(asked.on(1, reply(1, 1, 3, None)), [], "and has it again later");

    let (mut failed, _) = node(3);
    failed.does(ACQUIRE);
    failed.on(2, fail(1));
    failed.on(1, reply(1, 1, 1, None));
    assert_eq!(failed.on(1, inquire(1, stamp(1, 0))), [send(1, give_back(1))]);
    assert_eq!(failed.on(1, inquire(1, stamp(1, 0))), [], "once");
}

#[test]
fn an_inquiry_that_comes_before_its_permission_waits_for_it() {
    let (mut node, _) = node(3);
    node.does(ACQUIRE);
    node.on(2, fail(1));
    assert_eq!(node.on(1, inquire(2, stamp(1, 0))), []);
    assert_eq!(node.on(0, reply(1, 1, 2, None)), [send(1, give_back(2))], "0 has brought it");
}

#[test]
fn a_refusal_that_comes_after_the_permission_is_out_of_date() {
    let (mut node, _) = node(3);
    node.does(ACQUIRE);
    node.on(0, reply(1, 1, 2, None));
    node.on(1, inquire(2, stamp(1, 0)));
    assert_eq!(node.on(1, fail(1)), []);
    assert_eq!(node.on(2, reply(1, 2, 1, None)), [ENTERED]);
}

#[test]
fn a_transfer_counts_for_the_epoch_that_it_names() {
    let (mut node, _) = node(0);
    node.does(ACQUIRE);
    node.on(1, transfer(1, stamp(1, 3)));
    node.on(2, transfer(2, stamp(1, 3)));
    node.on(2, transfer(1, stamp(1, 2)));
    node.on(1, reply(1, 1, 2, None));
    node.on(1, transfer(3, stamp(1, 3)));
    assert_eq!(node.on(3, reply(1, 2, 2, None)), [ENTERED]);
    node.on(1, transfer(1, stamp(1, 3)));
    assert_eq!(
        node.does(Command::Release),
        [
            send(1, release(2, None)),
            send(3, reply(1, 2, 3, None)),
            send(2, release(2, Some(stamp(1, 3)))),
        ]
    );
    assert_eq!(node.on(1, transfer(2, stamp(1, 3))), [], "too late");
    assert_eq!(node.phase, Phase::Outside);
}

#[test]
fn of_two_transfers_the_one_that_was_sent_last_counts_whichever_comes_first() {
    let (first, second) = (transfer(1, stamp(1, 3)), transfer(1, stamp(1, 1)));
    let permission = reply(1, 1, 1, Some(stamp(2, 3)));
    for order in [
        [permission, first, second],
        [permission, second, first],
        [first, permission, second],
        [second, permission, first],
        [second, first, permission],
        [first, second, permission],
    ] {
        let (mut node, _) = node(0);
        node.does(ACQUIRE);
        for message in order {
            node.on(1, message);
        }
        node.on(2, reply(1, 2, 1, None));
        let left = node.does(Command::Release);
        assert_eq!(left[0], send(1, reply(1, 1, 2, None)), "{order:?}");
    }
}

#[test]
fn what_no_correct_node_sends_changes_nothing() {
    let (mut holder, _) = node(1);
    holder.does(ACQUIRE);
    holder.on(0, request(2));
    holder.on(0, reply(1, 0, 1, None));
    let before = holder.clone();
    for (from, message) in [
        (0, request(2)),
        (0, give_back(1)),
        (0, release(1, None)),
        (0, release(0, None)),
        (0, release(3, None)),
        (0, release(u64::MAX, Some(stamp(2, 0)))),
        (1, release(1, Some(stamp(9, 2)))),
        (0, reply(1, 0, 7, None)),
        (0, reply(2, 3, 1, None)),
        (2, reply(1, 2, 1, None)),
        (3, reply(1, 3, 1, Some(stamp(1, 4)))),
        (3, inquire(1, stamp(1, 4))),
        (2, inquire(1, stamp(1, 0))),
        (2, fail(1)),
        (3, fail(2)),
    ] {
        assert_eq!((holder.on(from, message), &holder), (vec![], &before), "{message}");
    }
    assert_eq!(holder.on(3, reply(1, 3, u64::MAX, Some(stamp(2, 0)))), [ENTERED]);
    holder.does(Command::Release);
    let (mut free, _) = node(1);
    let before = free.clone();
    for message in [give_back(0), release(0, None), release(1, None), transfer(0, stamp(1, 3))] {
        assert_eq!((free.on(0, message), &free), (vec![], &before), "{message}");
    }
}

#[test]
fn nobody_but_the_next_holder_is_believed_to_have_left_early() {
    let (mut arbiter, _) = node(1);
    for (from, time) in [(0, 1), (3, 2)] {
        arbiter.on(from, request(time));
    }
    arbiter.on(2, release(2, None));
    arbiter.on(0, release(1, Some(stamp(2, 3))));
    assert_eq!(arbiter.arbiter.lock, Some(stamp(2, 3)));
    assert_eq!(arbiter.arbiter.early, None);
}

#[test]
fn commands_at_the_wrong_moment_are_refused_and_change_nothing() {
    let (mut node, mut fx) = node(0);
    let outside = node.clone();
    assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
    let shared = Command::Acquire(Claim::Shared);
    assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
    assert_eq!((&node, fx.take()), (&outside, vec![]));
    node.does(ACQUIRE);
    assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
    assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
    node.on(1, reply(1, 1, 1, None));
    node.on(2, reply(1, 2, 1, None));
    assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    assert_eq!(fx.take(), []);
}

#[test]
fn messages_are_shown_with_what_they_name() {
    for (message, text) in [
        (request(3), "REQUEST(3)"),
        (reply(3, 2, 1, None), "REPLY(3, of 2, epoch 1)"),
        (reply(3, 2, 1, Some(stamp(4, 0))), "REPLY(3, of 2, epoch 1, next (4, 0))"),
        (fail(3), "FAIL(3)"),
        (transfer(1, stamp(4, 0)), "TRANSFER(epoch 1, next (4, 0))"),
        (inquire(1, stamp(4, 0)), "TRANSFER(INQUIRE, epoch 1, next (4, 0))"),
        (give_back(1), "YIELD(epoch 1)"),
        (release(1, None), "RELEASE(epoch 1)"),
        (release(1, Some(stamp(4, 0))), "RELEASE(epoch 1, next (4, 0))"),
    ] {
        assert_eq!(message.to_string(), text);
    }
}

/// Nodes and what is under way between them.
#[derive(Clone)]
struct World {
    nodes: Vec<CaoSinghal>,
    flight: Vec<(NodeId, NodeId, Message)>,
    sent: usize,
}

impl World {
    fn of(quorums: &str, nodes: u32) -> Self {
        let nodes = (0..nodes).map(|me| of(quorums, nodes, me)).collect();
        Self { nodes, flight: Vec::new(), sent: 0 }
    }

    fn note(&mut self, from: NodeId, effects: Vec<Effect<CaoSinghal>>) {
        for effect in effects {
            if let Effect::Send { to, message } = effect {
                self.flight.push((from, to, message));
                self.sent += 1;
            }
        }
    }

    fn does(&mut self, node: u32, command: Command) {
        let effects = self.nodes[node as usize].does(command);
        self.note(NodeId(node), effects);
    }

    /// Lets all arrive that is under way between these, or sent between them meanwhile.
    fn deliver(&mut self, is_due: impl Fn(NodeId, NodeId) -> bool) {
        while let Some(place) = self.flight.iter().position(|(from, to, _)| is_due(*from, *to)) {
            let (from, to, message) = self.flight.remove(place);
            let effects = self.nodes[to.index()].on(from.0, message);
            self.note(to, effects);
        }
    }

    fn judge(&self) -> [bool; 2] {
        let flight = self.flight.iter().map(|(from, to, it)| (*from, *to, it)).collect();
        let situation = Situation::new(self.nodes.iter().collect(), NodeSet::EMPTY, flight);
        [lemmas::one_permission, lemmas::nobody_hopes_in_vain].map(|it| it(&situation).is_ok())
    }
}

/// Plays requests at these times and stays as long as `stay` says, where a message takes as long as
/// `delay` says. Returns who enters when, and how many messages there are.
fn timed(
    mut world: World,
    asks: &[(u64, u32)],
    stay: impl Fn(u32) -> u64,
    delay: impl Fn(u32, u32) -> u64,
) -> (Vec<(u64, u32)>, usize) {
    let mut entries = Vec::new();
    let mut commands: Vec<_> = asks.iter().map(|&(at, node)| (at, node, ACQUIRE)).collect();
    let mut due: Vec<(u64, NodeId, NodeId, Message)> = Vec::new();
    for now in 0..100 {
        for (_, from, to, message) in due.extract_if(.., |it| it.0 == now).collect::<Vec<_>>() {
            let effects = world.nodes[to.index()].on(from.0, message);
            if effects.contains(&ENTERED) {
                entries.push((now, to.0));
                commands.push((now + stay(to.0), to.0, Command::Release));
            }
            world.note(to, effects);
        }
        for &(_, node, command) in commands.iter().filter(|it| it.0 == now) {
            world.does(node, command);
        }
        let sent = world.flight.drain(..);
        due.extend(sent.map(|(from, to, it)| (now + delay(from.0, to.0), from, to, it)));
    }
    (entries, world.sent)
}

#[test]
fn one_message_after_an_exit_the_next_is_inside() {
    let square = World::of("grid", 4);
    let found = timed(square, &[(0, 0), (3, 3)], |_| 10, |_, _| 1);
    assert_eq!(found, (vec![(2, 0), (13, 3)], 16));
    // The lectures' 13 nodes, counted from 0, with three slow messages.
    let plane = "sets:0-1-2-3,1-4-7-10,2-5-7-12,3-5-9-10,0-4-5-6,1-5-8-11,1-6-9-12,0-7-8-9,\
                 2-6-8-10,2-4-9-11,0-10-11-12,3-6-7-11,3-4-8-12";
    let delay = |from, to| match (from, to) {
        (10, 0) => 3,
        (6, 12) | (7, 9) => 2,
        _ => 1,
    };
    let found = timed(World::of(plane, 13), &[(0, 10), (0, 6), (0, 7)], |_| 4, delay);
    assert_eq!(found, (vec![(6, 6), (11, 7), (16, 10)], 34));
}

/// The paper gives 6(K−1) messages for an entry at most. With ten clients and four arbiters apart
/// from them that would be 240; here, where the youngest request comes first everywhere but at the
/// last arbiter, and yields again and again, it is 7 for every request after the first at each of
/// three arbiters.
#[test]
fn more_messages_are_possible_than_the_paper_says() {
    let (clients, arbiters) = (10, [10, 11, 12, 13]);
    let quorums = "sets:".to_string() + &["10-11-12-13"; 14].join(",");
    let mut world = World::of(&quorums, 14);
    for client in 0..clients {
        world.does(client, ACQUIRE);
    }
    for client in 0..clients {
        world.deliver(|from, to| from.0 == client && to.0 == arbiters[3]);
    }
    world.deliver(|from, _| from.0 == arbiters[3]);
    for client in (0..clients).rev() {
        world.deliver(|from, _| from.0 >= client);
        assert_eq!(world.judge(), [true; 2]);
    }
    for client in 0..clients {
        world.deliver(|_, _| true);
        world.does(client, Command::Release);
    }
    world.deliver(|_, _| true);
    assert_eq!(world.sent, 3 * (7 * 10 - 5) + (5 * 10 - 2));
    assert!(world.sent > 6 * 4 * 10);
}

#[test]
fn what_the_proofs_rest_on_is_seen_to_fail() {
    let without = |world: &World, kind: &str| {
        let mut world = world.clone();
        let before = world.flight.len();
        world.flight.retain(|(_, _, message)| message.kind_name() != kind);
        assert!(world.flight.len() < before, "no {kind} is under way");
        world.judge()
    };
    // 3 is the arbiter of all. 2 has its permission, if not yet, when 1 comes, which is older.
    let mut world = World::of("sets:3,3,3,3", 4);
    for client in [2, 1] {
        world.does(client, ACQUIRE);
        world.deliver(|from, _| from.0 == client);
    }
    assert_eq!(world.judge(), [true; 2]);
    assert_eq!(without(&world, "TRANSFER"), [true, false], "2 is not asked to yield");
    assert_eq!(without(&world, "REPLY"), [false, true], "2 does not get it");
    // 0 is older still.
    world.does(0, ACQUIRE);
    world.deliver(|from, _| from.0 == 0);
    assert_eq!(world.judge(), [true; 2]);
    assert_eq!(without(&world, "FAIL"), [true, false], "1 does not hear of it");

    // 2 leaves, and hands over to 0.
    world.deliver(|_, _| true);
    world.does(2, Command::Release);
    assert_eq!(world.judge(), [true; 2]);
    assert_eq!(without(&world, "REPLY"), [false, true], "0 does not get it");
    assert_eq!(without(&world, "RELEASE"), [false, false], "the arbiter does not hear of it");
    let mut doubled = world.clone();
    doubled.flight.extend_from_within(..);
    assert_eq!(doubled.judge(), [false, true]);
    // The news is late: 0 leaves as well.
    world.deliver(|_, to| to.0 == 0);
    world.does(0, Command::Release);
    world.deliver(|from, _| from.0 == 0);
    assert_eq!(world.judge(), [true; 2]);
    world.nodes[3].arbiter.early = None;
    assert_eq!(world.judge(), [false, true], "nobody has it");
}
