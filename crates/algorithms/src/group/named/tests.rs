//! What the checker does not look at: leases and their grace, limits, and what is refused.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{Effect, Outbox};

use super::*;
use crate::group::input::Input;
use crate::group::locks::message::Timer as Alarm;
use crate::mutex::ricart_agrawala::RicartAgrawala;
use crate::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_protocol::Protocol;

/// Members, what is under way between them, and what they have told their clients.
struct Stage<P: Exclusive> {
    nodes: Vec<NamedLocks<P>>,
    flight: VecDeque<(NodeId, NodeId, <NamedLocks<P> as Protocol>::Message)>,
    told: Vec<(u32, Notice)>,
    timers: Vec<(u32, Alarm<Timer<P::Timer>>)>,
}

impl<P: Exclusive> Stage<P> {
    fn new(members: u32, anew: &NodeFactory<P>, limits: Limits, lease: Option<Lease>) -> Self {
        let (universe, founders) =
            (Group::of(members), (0..members).map(NodeId).collect::<Vec<_>>());
        let node =
            |id| NamedLocks::named(id, universe, &founders, anew.clone(), limits).with_lease(lease);
        let nodes = universe.members().map(node).collect();
        let (flight, told, timers) = (VecDeque::new(), Vec::new(), Vec::new());
        let mut stage = Self { nodes, flight, told, timers };
        for at in 0..members {
            stage.happens(at, Protocol::on_start);
        }
        stage
    }

    fn happens<T>(
        &mut self,
        at: u32,
        act: impl FnOnce(&mut NamedLocks<P>, &mut Outbox<NamedLocks<P>>) -> T,
    ) -> T {
        let mut fx = Outbox::default();
        let node = &mut self.nodes[at as usize];
        let done = act(node, &mut fx);
        if node.inner().entries.len() + node.inner().pending.len() < 8 {
            let shown = node.state().to_string();
            for debug in ["{ ", "NodeId(", "Some(", "None", "\""] {
                assert!(!shown.contains(debug), "'{debug}' is shown: {shown}");
            }
        }
        for effect in fx.take() {
            match effect {
                Effect::Send { to, message } => self.flight.push_back((NodeId(at), to, message)),
                Effect::Notify(notice) => self.told.push((at, notice)),
                Effect::SetTimer { timer, .. } => {
                    self.timers.retain(|it| *it != (at, timer));
                    self.timers.push((at, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|it| *it != (at, timer)),
            }
        }
        done
    }

    fn ask(&mut self, at: u32, command: Command) -> Result<(), Refused> {
        self.happens(at, |node, fx| node.on_command(Input::Ask(command), fx))
    }

    fn acquire(&mut self, at: u32, text: &str, client: Client, want: Want) {
        let name = Name::new(text).unwrap();
        self.ask(at, Command::Acquire { name, client, want }).unwrap();
    }

    fn release(&mut self, at: u32, key: &Key, client: Client) {
        self.ask(at, Command::Release { key: key.clone(), client }).unwrap();
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.flight.pop_front() {
            self.happens(to.0, |node, fx| node.on_message(from, message, fx));
        }
    }

    fn beat(&mut self) {
        for at in 0..self.nodes.len() as u32 {
            self.happens(at, |node, fx| node.on_command(Input::Beat, fx)).unwrap();
        }
        self.deliver();
    }

    /// A timer runs out.
    fn ring(&mut self, at: u32, is_it: impl Fn(&Alarm<Timer<P::Timer>>) -> bool) {
        let place = self.timers.iter().position(|it| it.0 == at && is_it(&it.1)).unwrap();
        let (_, timer) = self.timers.remove(place);
        self.happens(at, |node, fx| node.on_timer(timer, fx));
    }

    /// Who was granted what since the last look.
    fn granted(&mut self) -> Vec<(u32, Client)> {
        let told = core::mem::take(&mut self.told).into_iter();
        let client = |notice| {
            if let Notice::Granted { client, .. } = notice { Some(client) } else { None }
        };
        told.filter_map(|(at, notice)| Some((at, client(notice)?))).collect()
    }
}

fn suzuki_kasami() -> NodeFactory<SuzukiKasami> {
    NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
}

fn lock(text: &str) -> Key {
    Key { kind: Kind::Lock, name: Name::new(text).unwrap() }
}

const X: Want = Want::Exclusive;

#[test]
fn clients_of_one_member_are_served_in_their_order_and_others_after_a_batch() {
    let limits = Limits { batch: Batch { clients: 2, time: None }, ..Limits::USUAL };
    let mut stage = Stage::new(2, &suzuki_kasami(), limits, None);
    for client in 1..=5 {
        stage.acquire(0, "a", client, X);
    }
    stage.acquire(1, "a", 9, X);
    stage.deliver();
    assert_eq!(stage.granted(), [(0, 1)]);
    for (client, next) in [(1, vec![(0, 2)]), (2, vec![(1, 9)])] {
        stage.release(0, &lock("a"), client);
        stage.deliver();
        assert_eq!(stage.granted(), next);
    }
    stage.release(1, &lock("a"), 9);
    stage.deliver();
    assert_eq!(stage.granted(), [(0, 3)]);
}

#[test]
fn a_batch_is_over_after_some_time() {
    let mut stage = Stage::new(2, &suzuki_kasami(), Limits::USUAL, None);
    for client in 1..=3 {
        stage.acquire(0, "a", client, X);
    }
    stage.acquire(1, "a", 9, X);
    stage.deliver();
    assert!(stage.timers.is_empty(), "one client alone is no batch");
    stage.release(0, &lock("a"), 1);
    stage.ring(0, |it| matches!(it, Alarm::Lock(1, Timer::Turn(0))));
    stage.granted();
    stage.release(0, &lock("a"), 2);
    stage.deliver();
    assert_eq!(stage.granted(), [(1, 9)]);
    assert!(stage.timers.is_empty(), "{:?}", stage.timers);
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    let mut stage = Stage::new(1, &suzuki_kasami(), Limits::USUAL, None);
    let name = || Name::new("a").unwrap();
    let acquire = |client, want| Command::Acquire { name: name(), client, want };
    let release = |client| Command::Release { key: lock("a"), client };
    let withdraw = |client| Command::Withdraw { key: lock("a"), client };
    assert_eq!(stage.ask(0, release(1)), Err(NOT_HELD));
    assert_eq!(stage.ask(0, withdraw(1)), Err(NOT_WANTED));
    assert_eq!(stage.ask(0, acquire(1, X)), Ok(()));
    assert_eq!(stage.ask(0, acquire(1, X)), Err(ALREADY_HELD));
    assert_eq!(stage.ask(0, acquire(2, X)), Ok(()));
    assert_eq!(stage.ask(0, acquire(2, X)), Err(ALREADY_WANTED));
    assert_eq!(stage.ask(0, release(2)), Err(NOT_HELD));
    assert_eq!(stage.ask(0, withdraw(2)), Ok(()));
    assert_eq!(stage.ask(0, withdraw(1)), Ok(()), "it has it by now");
    assert_eq!(stage.ask(0, acquire(1, Want::PermitOf(0))), Err(NO_PERMITS));
    assert_eq!(stage.granted(), [(0, 1)]);
}

/// Under the exclusive claim of their member.
#[test]
fn where_members_cannot_share_the_clients_of_one_still_do() {
    let mut stage = Stage::new(2, &suzuki_kasami(), Limits::USUAL, None);
    for (member, client) in [(0, 1), (0, 2), (1, 1)] {
        stage.acquire(member, "a", client, Want::Shared);
        stage.deliver();
    }
    assert_eq!(stage.granted(), [(0, 1), (0, 2)], "the other member waits");
    stage.acquire(0, "a", 3, X);
    stage.acquire(0, "a", 4, Want::Shared);
    stage.deliver();
    assert_eq!(stage.granted(), [], "no reader passes the writer");
    for client in [1, 2] {
        stage.ask(0, Command::Release { key: lock("a"), client }).unwrap();
        stage.deliver();
    }
    assert_eq!(stage.granted(), [(0, 3)]);
}

#[test]
fn another_number_of_permits_is_refused_while_anybody_has_one() {
    let mut stage = Stage::new(3, &suzuki_kasami(), Limits::USUAL, None);
    let key = Key { kind: Kind::Semaphore, ..lock("a") };
    stage.acquire(0, "a", 1, Want::PermitOf(2));
    stage.acquire(0, "a", 2, Want::PermitOf(2));
    stage.deliver();
    assert_eq!(stage.granted(), [(0, 1), (0, 2)], "two of one member");
    stage.acquire(1, "a", 1, Want::PermitOf(3));
    stage.deliver();
    let why = Refusal::Permits { asked: 3, bound: 2 };
    assert_eq!(stage.told.pop(), Some((1, Notice::Refused { key: key.clone(), client: 1, why })));
    assert_eq!(format!("{why}"), "it was asked for as one of 3 permits, and there are 2");
    stage.acquire(1, "a", 1, Want::PermitOf(2));
    stage.deliver();
    assert_eq!(stage.granted(), []);
    for (client, next) in [(1, vec![(1, 1)]), (2, vec![])] {
        stage.release(0, &key, client);
        stage.deliver();
        assert_eq!(stage.granted(), next);
    }
    stage.release(1, &key, 1);
    stage.deliver();
    stage.acquire(2, "a", 1, Want::PermitOf(3));
    stage.deliver();
    assert_eq!(stage.granted(), [(2, 1)], "nobody has one, so it may be another number");
}

/// The lease of member 0, which alone is inside, in three steps: valid, at risk, over.
#[test]
fn a_member_whose_lease_ends_soon_warns_and_hands_nothing_over() {
    let ms = Duration::from_millis;
    let lease = Some(Lease::new(ms(20), 0).with_grace(ms(5)));
    let mut stage = Stage::new(3, &suzuki_kasami(), Limits::USUAL, lease);
    stage.acquire(0, "a", 1, X);
    stage.acquire(0, "a", 2, X);
    assert_eq!(stage.granted(), [], "no lease yet");
    stage.deliver();
    assert_eq!(stage.granted(), [(0, 1)]);
    stage.ring(0, |it| matches!(it, Alarm::Risk(_)));
    stage.flight.clear();
    assert_eq!(core::mem::take(&mut stage.told), [(0, Notice::AtRisk)]);
    stage.release(0, &lock("a"), 1);
    assert_eq!(stage.granted(), [], "it does not hand over");
    stage.beat();
    let told: Vec<_> = stage.told.iter().map(|it| &it.1).collect();
    assert!(matches!(told[..], [Notice::Safe, Notice::Granted { client: 2, .. }]), "{told:?}");
    stage.told.clear();
    stage.ring(0, |it| matches!(it, Alarm::Risk(_)));
    stage.ring(0, |it| matches!(it, Alarm::Lease(_)));
    let lost = Notice::Lost { key: lock("a"), client: 2, why: Loss::LeaseOver };
    assert_eq!(stage.told, [(0, Notice::AtRisk), (0, lost)]);
}

#[test]
fn who_leads_is_known_everywhere_also_in_the_next_view_until_it_is_not_so() {
    let mut stage = Stage::new(3, &suzuki_kasami(), Limits::USUAL, None);
    let name = Name::new("a").unwrap();
    let key = Key { kind: Kind::Election, name: name.clone() };
    stage.ask(2, Command::Observe(name.clone())).unwrap();
    stage.acquire(1, "a", 1, Want::Lead(Value::new("one").unwrap()));
    stage.deliver();
    let leads = |stage: &mut Stage<SuzukiKasami>| {
        let told = core::mem::take(&mut stage.told).into_iter();
        let lead = |notice| {
            let Notice::Leader { lead, .. } = notice else { return None };
            Some(lead.map(|it| format!("{}", it.value)))
        };
        told.filter_map(|(at, notice)| Some((at, lead(notice)?))).collect::<Vec<_>>()
    };
    assert_eq!(leads(&mut stage), [(2, None), (2, Some("one".into()))]);
    stage.ask(0, Command::Renew).unwrap();
    stage.deliver();
    assert_eq!(stage.nodes[2].view(), 2);
    assert_eq!(leads(&mut stage), [], "nothing has changed");
    stage.ask(0, Command::Observe(name)).unwrap();
    assert_eq!(leads(&mut stage), [(0, Some("one".into()))]);
    stage.release(1, &key, 1);
    stage.deliver();
    assert_eq!(leads(&mut stage), [(0, None), (2, None)]);
}

/// Each name is held by one member and waited for by another.
#[test]
fn many_names_are_fetched_and_begun_bit_by_bit() {
    let limits = Limits { bytes: 300, at_once: 7, ..Limits::USUAL };
    let mut stage = Stage::new(3, &suzuki_kasami(), limits, None);
    for number in 0..100 {
        stage.acquire(number % 3, &format!("name {number}"), 1, X);
        stage.deliver();
        stage.acquire((number + 1) % 3, &format!("name {number}"), 1, X);
        stage.deliver();
    }
    assert_eq!(stage.granted().len(), 100);
    stage.ask(1, Command::Renew).unwrap();
    stage.deliver();
    let largest = |node: &NamedLocks<SuzukiKasami>| match node.inner.kept.names.len() {
        0 => node.inner.pending.len(),
        _ => usize::MAX,
    };
    let pending: Vec<usize> = stage.nodes.iter().map(largest).collect();
    assert!(pending.iter().all(|it| (80..100).contains(it)), "not all at once: {pending:?}");
    while !stage.timers.is_empty() {
        let (at, timer) = stage.timers.remove(0);
        stage.happens(at, |node, fx| node.on_timer(timer, fx));
        stage.deliver();
    }
    assert!(stage.nodes.iter().all(|it| it.inner.pending.is_empty()));
    for number in 0..100 {
        stage.release(number % 3, &lock(&format!("name {number}")), 1);
    }
    stage.deliver();
    assert_eq!(stage.granted().len(), 100);
}

#[test]
fn ten_thousand_wait_and_each_is_served_in_its_turn() {
    let anew = NodeFactory::new(RicartAgrawala::new);
    let mut stage = Stage::new(2, &anew, Limits::USUAL, None);
    for client in 0..10_000 {
        stage.acquire(0, "a", client, X);
    }
    for client in 0..10_000 {
        stage.deliver();
        assert_eq!(stage.granted(), [(0, client)]);
        stage.release(0, &lock("a"), client);
    }
}

#[test]
fn whoever_leaves_is_gone_and_nobody_waits_for_its_lease() {
    let lease = Some(Lease::new(Duration::from_millis(20), 0));
    let mut stage = Stage::new(3, &suzuki_kasami(), Limits::USUAL, lease);
    stage.acquire(0, "a", 1, X);
    stage.deliver();
    stage.acquire(1, "a", 2, X);
    stage.deliver();
    assert_eq!(stage.granted(), [(0, 1)]);
    assert_eq!(stage.ask(0, Command::Leave), Err(HAS_CLIENTS));
    stage.release(0, &lock("a"), 1);
    stage.ask(0, Command::Leave).unwrap();
    let name = Name::new("b").unwrap();
    assert_eq!(stage.ask(0, Command::Acquire { name, client: 1, want: X }), Err(IS_LEAVING));
    stage.deliver();
    assert_eq!(stage.granted(), [(1, 2)]);
    assert!(!stage.nodes[0].group_view().unwrap().is_in);
    assert_eq!(stage.nodes[1].view(), 2);
}

/// Three nodes with stable storage, of which the first two found a group and vote; a client of each
/// wants nothing yet.
fn on_disk() -> Stage<SuzukiKasami> {
    let mut stage = Stage::new(3, &suzuki_kasami(), Limits::USUAL, None);
    for at in 0..3 {
        stage.nodes[at as usize] = with_directory(at);
        stage.happens(at, Protocol::on_start);
    }
    for _ in 0..3 {
        stage.beat();
    }
    assert_eq!(voters(&stage), [0, 1]);
    stage
}

fn with_directory(id: u32) -> NamedLocks<SuzukiKasami> {
    let founders = [0, 1].map(NodeId).to_vec();
    let founding = Founding { view: 5, founders, patience: 0 };
    let views = Views::remembering(NodeId(id), Group::of(3), 0, founding);
    NamedLocks::over(NodeId(id), views, table(suzuki_kasami(), Limits::USUAL))
}

/// The voters as all members say.
fn voters(stage: &Stage<SuzukiKasami>) -> Vec<u32> {
    let each = stage.nodes.iter().map(|it| (it.group_view().unwrap(), it.group_health().unwrap()));
    let said: Vec<_> = each.collect();
    assert!(said.iter().all(|(view, _)| view.is_in && view.view == said[0].0.view), "{said:?}");
    assert!(said.iter().all(|(_, health)| health.voters == said[0].1.voters), "{said:?}");
    said[0].1.voters.iter().map(|it| it.0).collect()
}

#[test]
fn members_and_voters_change_when_any_member_is_told_to() {
    use crate::group::voters::{ALL_VOTE, NOT_THERE, ONLY_VOTER, VOTES_ALREADY, VOTES_NOT};

    let mut stage = on_disk();
    let ask = |stage: &mut Stage<_>, at, command| {
        stage.ask(at, command).unwrap();
        stage.deliver();
        stage.beat();
        stage.beat();
    };
    ask(&mut stage, 1, Command::AddVoter(NodeId(2)));
    assert_eq!(voters(&stage), [0, 1, 2]);
    assert_eq!(stage.ask(0, Command::AddVoter(NodeId(2))), Err(VOTES_ALREADY));
    ask(&mut stage, 0, Command::RemoveVoter(NodeId(0)));
    assert_eq!(voters(&stage), [1, 2]);
    assert_eq!(stage.ask(0, Command::RemoveVoter(NodeId(0))), Err(VOTES_NOT));
    stage.acquire(1, "a", 1, X);
    stage.deliver();
    assert_eq!(stage.granted(), [(1, 1)]);
    // Node 1 is up, so it comes back, without its vote and without what its client had.
    ask(&mut stage, 2, Command::Evict(NodeId(1)));
    assert_eq!(voters(&stage), [2]);
    let lost = |it: &(u32, Notice)| matches!(it, (1, Notice::Lost { why: Loss::Removed, .. }));
    assert!(stage.told.iter().any(lost), "{:?}", stage.told);
    for command in [Command::Evict(NodeId(2)), Command::RemoveVoter(NodeId(2))] {
        assert_eq!(stage.ask(0, command), Err(ONLY_VOTER));
    }
    assert_eq!(stage.ask(0, Command::Evict(NodeId(9))), Err(NOT_THERE));
    let mut forgetful = Stage::new(2, &suzuki_kasami(), Limits::USUAL, None);
    assert_eq!(forgetful.ask(0, Command::AddVoter(NodeId(1))), Err(ALL_VOTE));
}

#[test]
fn whoever_has_left_for_good_and_is_started_again_comes_in_again() {
    let mut stage = on_disk();
    stage.ask(1, Command::Leave).unwrap();
    stage.deliver();
    assert!(!stage.nodes[1].group_view().unwrap().is_in);
    stage.nodes[1] = stage.nodes[1].after_crash(with_directory(1));
    stage.happens(1, Protocol::on_restart);
    stage.deliver();
    stage.beat();
    stage.beat();
    assert_eq!(voters(&stage), [0, 1], "it votes as before");
}
