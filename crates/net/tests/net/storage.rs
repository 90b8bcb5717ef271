//! Stable storage: nothing leaves a node before what it depends on is on the disk, and what is
//! there
//! is what a crash leaves.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::{NodeFactory, ViewLayer, with_memory, without_memory};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, FencingToken, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::AnyNode;
use vorrang_net::{Config, Handle, Node, Open, Owner, StableStorage};
use vorrang_protocol::{Effect, Effects, Group, NodeId, Outbox, Protocol, Refused};

use crate::open_group::Word;
use crate::support::soon;

/// Keeps the last number that it was told, and says it to node 1 and to its application.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Keeper {
    kept: u32,
    restarts: u32,
}

impl Protocol for Keeper {
    type Message = Word;
    type Timer = u8;
    type Command = u32;
    type Notice = u32;

    fn on_command(&mut self, command: u32, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.kept = command;
        fx.send(NodeId(1), Word(command));
        fx.notify(command);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, Word(number): Word, fx: &mut impl Effects<Self>) {
        fx.notify(number);
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.restarts += 1;
        fx.notify(1000 * self.restarts + self.kept);
    }
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kept.serialize(serializer)
    }
    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(Self { kept: u32::deserialize(stored)?, ..self })
    }
}

fn owner(id: u32) -> Owner {
    let (group, algorithm) = ("default".to_owned(), "keeper".to_owned());
    Owner { group, algorithm, setup: String::new(), founders: 2, id: NodeId(id) }
}

async fn start(
    id: u32,
    (listener, peers): (TcpListener, Vec<String>),
    data: &Path,
) -> (Handle<u32>, mpsc::UnboundedReceiver<u32>) {
    let storage = StableStorage::open(data, owner(id), true).unwrap();
    let open = Open::new(storage.generation(), 2);
    let config = Config::new(NodeId(id), peers, "keeper").open(open);
    let keeper = Keeper { kept: 0, restarts: 0 };
    Node::new(keeper, config).listener(listener).storage(storage).start().await.unwrap()
}

#[tokio::test]
async fn nothing_is_sent_or_told_that_could_be_forgotten() {
    let folder = std::env::temp_dir().join(format!("vorrang-keeper-{}", std::process::id()));
    let data = [folder.join("0"), folder.join("1")];
    let bound = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (zero, one) = (bound().await, bound().await);
    let address = |it: &TcpListener| it.local_addr().unwrap().to_string();
    let peers = vec![address(&zero), address(&one)];
    let (_receiver, mut heard) = start(1, (one, peers.clone()), &data[1]).await;
    let (sender, mut own) = start(0, (zero, peers.clone()), &data[0]).await;
    sender.command(7).await.unwrap();
    assert_eq!(soon("a notice", own.recv()).await, Some(7));
    assert_eq!(soon("a message", heard.recv()).await, Some(7));
    sender.kill().await;

    let zero = TcpListener::bind(&peers[0]).await.unwrap();
    let (sender, mut own) = start(0, (zero, peers), &data[0]).await;
    assert_eq!(soon("what was kept", own.recv()).await, Some(1007));
    // From now on nothing can be written.
    fs::remove_dir_all(&data[0]).unwrap();
    let _ = sender.command(8).await;
    let stopped = loop {
        match sender.status().await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(stopped) => break stopped.to_string(),
        }
    };
    assert!(stopped.contains("cannot write") && stopped.contains("forget a promise"), "{stopped}");
    assert_eq!(own.recv().await, None, "it tells nobody");
    let silence = tokio::time::timeout(Duration::from_millis(300), heard.recv()).await;
    assert!(silence.is_err(), "{silence:?}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Node 1 is started twice in its directory, and then in a copy of what that had at its first
/// start: its number and its clock are right, and it has forgotten what was promised since.
#[tokio::test]
async fn a_copy_of_a_directory_is_refused_and_does_nothing() {
    let folder = std::env::temp_dir().join(format!("vorrang-copy-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let [zero, one, copy] = ["0", "1", "copy"].map(|it| folder.join(it));
    let bound = async |address: &str| TcpListener::bind(address).await.unwrap();
    let listeners = [bound("127.0.0.1:0").await, bound("127.0.0.1:0").await];
    let peers = listeners.each_ref().map(|it| it.local_addr().unwrap().to_string()).to_vec();
    let [at_zero, at_one] = listeners;
    let (witness, _heard) = start(0, (at_zero, peers.clone()), &zero).await;
    let (first, _told) = start(1, (at_one, peers.clone()), &one).await;
    first.command(5).await.unwrap();
    connected(&witness, 1).await;
    first.kill().await;
    fs::create_dir_all(&copy).unwrap();
    fs::copy(one.join("state"), copy.join("state")).unwrap();
    let (second, _told) = start(1, (bound(&peers[1]).await, peers.clone()), &one).await;
    connected(&witness, 2).await;
    second.kill().await;
    let (copied, mut told) = start(1, (bound(&peers[1]).await, peers.clone()), &copy).await;
    assert_eq!(soon("what it restarts with", told.recv()).await, Some(1005));
    let fenced = loop {
        match copied.status().await.unwrap().fenced {
            Some(why) => break why,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert!(fenced.contains("node 0 refuses it: our directory is a copy"), "{fenced}");
    let refused = copied.command(6).await.unwrap_err().to_string();
    assert!(refused.contains("our directory is a copy"), "{refused}");
    // Whoever goes on in the original is let in.
    copied.kill().await;
    let (_third, _told) = start(1, (bound(&peers[1]).await, peers), &one).await;
    connected(&witness, 3).await;
    fs::remove_dir_all(&folder).unwrap();
}

/// Waits until a node has been connected so often with the other.
async fn connected(node: &Handle<u32>, times: u64) {
    let often = async {
        while node.status().await.unwrap().links[0].connections < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon("a connection", often).await;
}

/// A majority of voters is lost for good: the one that is left goes on alone, with its directory.
#[test]
fn a_forced_recovery_makes_one_node_the_only_voter() {
    let path = std::env::temp_dir().join(format!("vorrang-recover-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let setup = Setup::new(Group::of(3));
    let make = |id: NodeId, life: u64| {
        let founders = [0, 1, 2].map(NodeId).to_vec();
        let founding = Founding { view: 5, founders, patience: 0 };
        let anew = NodeFactory::new(RicartAgrawala::new);
        AnyNode::new(with_memory(id, &setup, (life, founding), anew, None))
    };
    let mut nodes: Vec<_> = [0, 1, 2].map(|id| make(NodeId(id), 0)).into();
    let mut flight = Vec::new();
    for at in [0, 1, 2].map(NodeId) {
        let mut fx = Outbox::default();
        nodes[at.index()].on_start(&mut fx);
        flight.extend(fx.take().into_iter().map(|effect| (at, effect)));
    }
    for _ in 0..2000 {
        if flight.is_empty() {
            break;
        }
        let (from, effect) = flight.remove(0);
        if let Effect::Send { to, message } = effect {
            let mut fx = Outbox::default();
            nodes[to.index()].on_message(from, message, &mut fx);
            flight.extend(fx.take().into_iter().map(|effect| (to, effect)));
        }
    }
    let before = nodes[2].group_view().unwrap();
    assert!(before.is_in && before.members.len() == 3, "{before}");

    let mut storage = StableStorage::open(&path, owner(2), true).unwrap();
    let recover = |storage: &mut StableStorage| {
        storage.recover(ViewLayer::blank(NodeId(2)), |views| views.recovered(1000))
    };
    let empty = recover(&mut storage).unwrap_err().to_string();
    assert!(empty.contains("there is nothing in") && empty.contains("to recover"), "{empty}");
    storage.save(b"something else").unwrap();
    let unreadable = recover(&mut storage).unwrap_err().to_string();
    assert!(unreadable.contains("was not stored by such a node"), "{unreadable}");
    let mut bytes = Vec::new();
    make(NodeId(2), 0).stored(&mut bytes);
    storage.save(&bytes).unwrap();
    let refused = recover(&mut storage).unwrap_err().to_string();
    assert!(refused.contains("knows no view"), "{refused}");
    bytes.clear();
    nodes[2].stored(&mut bytes);
    storage.save(&bytes).unwrap();
    let recovery = recover(&mut storage).unwrap();
    assert_eq!(recovery.before.id, before.view);
    assert!(recovery.view > before.view + 1_000_000);
    let others: Vec<NodeId> = recovery.others().map(|it| it.node).collect();
    assert_eq!(others, [0, 1].map(NodeId));
    drop(storage);
    who_looks_leaves_everything_as_it_is(&path, recovery.view);
    let storage = StableStorage::open(&path, owner(2), true).unwrap();
    let mut left = make(NodeId(2), 7).restored(storage.machine().unwrap()).unwrap();
    left.on_restart(&mut Outbox::default());
    let view = left.group_view().unwrap();
    assert_eq!((view.view, view.is_in), (recovery.view + 1, true));
    assert_eq!(view.members.iter().collect::<Vec<_>>(), [NodeId(2)]);
    let health = left.group_health().unwrap();
    assert!(health.has_majority && health.voters.iter().eq([NodeId(2)]), "{health:?}");
    fs::remove_dir_all(&path).unwrap();
}

fn who_looks_leaves_everything_as_it_is(path: &Path, view: u64) {
    let bytes = fs::read(path.join("state")).unwrap();
    let looked = StableStorage::reopen(path).unwrap();
    assert_eq!((looked.owner(), &fs::read(path.join("state")).unwrap()), (&owner(2), &bytes));
    assert_eq!(looked.restored(ViewLayer::blank(NodeId(2))).unwrap().view().id, view);
    let twice = StableStorage::reopen(path).unwrap_err().to_string();
    assert!(twice.contains("is used by another process"), "{twice}");
    let nowhere = path.join("nowhere");
    let empty = StableStorage::reopen(&nowhere).unwrap_err().to_string();
    assert!(empty.contains("there is nothing in") && !nowhere.exists(), "{empty}");
}

type Lock = AnyNode<Command, Notice>;

/// What is under way, whose it is.
type UnderWay = Vec<(NodeId, Effect<Lock>)>;

/// Delivers all that is sent. The last token that somebody was told of.
fn settled(nodes: &mut [Lock], mut under_way: UnderWay) -> Option<FencingToken> {
    let mut token = None;
    for _ in 0..10_000 {
        if under_way.is_empty() {
            return token;
        }
        match under_way.remove(0) {
            (from, Effect::Send { to, message }) => {
                let mut fx = Outbox::default();
                nodes[to.index()].on_message(from, message, &mut fx);
                under_way.extend(fx.take().into_iter().map(|effect| (to, effect)));
            }
            (_, Effect::Notify(Notice::EnteredAs(it))) => token = Some(it),
            _ => {}
        }
    }
    panic!("messages go on for ever")
}

/// Nodes that have started, and then node 0 asks.
fn token_of(nodes: &mut [Lock], start: fn(&mut Lock, &mut Outbox<Lock>)) -> FencingToken {
    let mut under_way = UnderWay::new();
    for (at, node) in (0..).map(NodeId).zip(&mut *nodes) {
        let mut fx = Outbox::default();
        start(node, &mut fx);
        under_way.extend(fx.take().into_iter().map(|effect| (at, effect)));
    }
    settled(nodes, under_way);
    let mut fx = Outbox::default();
    nodes[0].on_command(Command::Acquire(Claim::Exclusive), &mut fx).expect("it may ask");
    let asked = fx.take().into_iter().map(|effect| (NodeId(0), effect)).collect();
    settled(nodes, asked).expect("it enters")
}

/// All members are started again at once, on machines whose clocks were set back by a day.
#[test]
fn with_stable_storage_tokens_grow_whatever_the_clocks_say_and_without_they_may_shrink() {
    const DAY: u64 = 24 * 3600 * 1_000_000;
    let setup = Setup::new(Group::of(3));
    for has_data in [true, false] {
        let make = |id: u32, life: u64| -> Lock {
            let founders = [0, 1, 2].map(NodeId).to_vec();
            let founding = Founding { view: life / 1000, founders, patience: 0 };
            let (id, anew) = (NodeId(id), NodeFactory::new(RicartAgrawala::new));
            AnyNode::new(if has_data {
                with_memory(id, &setup, (life, founding), anew, None)
            } else {
                without_memory(id, &setup, (life, Some(founding)), anew, None)
            })
        };
        let mut nodes: Vec<Lock> = (0..3).map(|id| make(id, 7 * DAY)).collect();
        let before = token_of(&mut nodes, Protocol::on_start);
        let again = |(id, node): (u32, &Lock)| {
            let (fresh, mut bytes) = (make(id, 6 * DAY), Vec::new());
            node.stored(&mut bytes);
            if has_data { fresh.restored(&bytes).expect("it has stored it") } else { fresh }
        };
        let mut later: Vec<Lock> = (0..).zip(&nodes).map(again).collect();
        let after = token_of(&mut later, |node, fx| {
            if node.group_view().is_some_and(|it| it.view > 0) {
                node.on_restart(fx);
            } else {
                node.on_start(fx);
            }
        });
        assert_eq!(after > before, has_data, "{before:?}, and then {after:?}");
    }
}

/// Three nodes of a lock on views are started, and crash after each of the first steps.
#[test]
fn what_is_stored_is_what_a_crash_leaves() {
    let setup = Setup::new(Group::of(3));
    let make = |id: NodeId| {
        let founders = [0, 1, 2].map(NodeId).to_vec();
        let founding = Founding { view: 5, founders, patience: 0 };
        let anew = NodeFactory::new(RicartAgrawala::new);
        AnyNode::new(with_memory(id, &setup, (0, founding), anew, None))
    };
    let mut nodes: Vec<_> = [0, 1, 2].map(NodeId).map(make).into();
    let (mut flight, mut stored) = (Vec::new(), Vec::new());
    let mut check = |at: NodeId, node: &AnyNode<_, _>| {
        let mut bytes = Vec::new();
        node.stored(&mut bytes);
        let restored = make(at).restored(&bytes).expect("it reads what it has stored");
        assert_eq!(restored, node.after_crash(make(at)));
        assert!(make(at).restored(&bytes[..bytes.len() - 1]).is_none());
        if !stored.contains(&bytes) {
            stored.push(bytes);
        }
    };
    for at in [0, 1, 2].map(NodeId) {
        let mut fx = Outbox::default();
        nodes[at.index()].on_start(&mut fx);
        flight.extend(fx.take().into_iter().map(|effect| (at, effect)));
    }
    for _ in 0..2000 {
        if flight.is_empty() {
            break;
        }
        let (from, effect) = flight.remove(0);
        let mut fx = Outbox::default();
        let at = match effect {
            Effect::Send { to, message } => {
                nodes[to.index()].on_message(from, message, &mut fx);
                to
            }
            Effect::SetTimer { timer, .. } => {
                nodes[from.index()].on_timer(timer, &mut fx);
                from
            }
            Effect::CancelTimer(_) | Effect::Notify(_) => continue,
        };
        check(at, &nodes[at.index()]);
        flight.extend(fx.take().into_iter().map(|effect| (at, effect)));
    }
    assert!(stored.len() > 50, "views and lives are stored: {}", stored.len());
}
