//! Members of a group that has a lock on views, and processes that do not belong to it: played by
//! hand, over real connections. And members that leave, which nobody has to find out.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::message::{Message, ViewMessage};
use vorrang_algorithms::group::locks::{NodeFactory, OnViews, without_memory};
use vorrang_algorithms::group::message::{Install, Message as OfViews, Progress, Status};
use vorrang_algorithms::group::{Member, View};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Command, FencingToken, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_net::wire::Frame;
use vorrang_net::{
    Config, Generation, Handle, MAX_INTEGER, Node, Open, ReleaseOutcome, Steps, Timing,
    bind_loopback,
};
use vorrang_protocol::{Group, Never, NodeId, Protocol};

use crate::support::{ACQUIRE, answer, bytes, hello, soon};

type Lock = OnViews<RicartAgrawala>;
type Said = <Lock as Protocol>::Message;

/// Places in the group.
const ROOM: u32 = 8;
/// Longer than any of these tests: nobody is suspected.
const NEVER: Duration = Duration::from_secs(3600);

struct Running {
    node: Handle<Command>,
    notices: mpsc::UnboundedReceiver<Notice>,
}

/// Three that have founded a group, and where they are.
async fn three(margin: Duration) -> (Vec<Running>, Vec<String>) {
    let (listeners, mut peers) = bind_loopback(3).await.unwrap();
    peers.resize(ROOM as usize, String::new());
    let usual = Setup::new(Group::of(ROOM));
    let setup = Setup { beat: Duration::from_millis(100), margin, ..usual };
    let timing = Timing {
        heartbeat: Duration::from_millis(400),
        give_up: Duration::from_secs(2),
        backoff_max: Duration::from_millis(200),
        ..Timing::default()
    };
    let mut nodes = Vec::new();
    for (id, listener) in (0..).map(NodeId).zip(listeners) {
        let generation = Generation::now();
        let life = generation.number();
        let founders = [0, 1, 2].map(NodeId).to_vec();
        let founding = Founding { view: life / 1000, founders, patience: 0 };
        let anew = NodeFactory::new(RicartAgrawala::new);
        let machine: Lock = without_memory(id, &setup, (life, Some(founding)), anew, None);
        let config = Config { timing, ..Config::new(id, peers.clone(), "ricart-agrawala") };
        let node = Node::new(machine, config.open(Open::new(generation, 3))).listener(listener);
        let steps = Steps::ended_by(Command::Release).evicted_by(Notice::Evicted);
        let (node, notices) = node.steps(steps).start().await.unwrap();
        nodes.push(Running { node, notices });
    }
    for node in &nodes {
        node.until_members(&[0, 1, 2]).await;
    }
    (nodes, peers)
}

impl Running {
    /// Waits until it belongs to a view of these. The number of that view.
    async fn until_members(&self, members: &[u32]) -> u64 {
        let search = async {
            loop {
                let status = self.node.status().await.expect("the node runs");
                let group = status.group.expect("it is on views");
                if group.is_in && group.members.iter().map(|it| it.0).eq(members.iter().copied()) {
                    return group.view;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon("a view", search).await
    }

    async fn until_entered(&mut self) -> FencingToken {
        loop {
            match soon("an entry", self.notices.recv()).await.expect("the node runs") {
                Notice::EnteredAs(token) => return token,
                Notice::Entered | Notice::View { .. } | Notice::Evicted => {}
            }
        }
    }

    async fn enter_and_leave(&mut self) -> FencingToken {
        self.node.command(ACQUIRE).await.unwrap();
        let token = self.until_entered().await;
        self.node.command(Command::Release).await.unwrap();
        token
    }

    async fn view(&self) -> u64 {
        self.node.status().await.expect("the node runs").group.expect("it is on views").view
    }
}

/// A process that is started by somebody else, under some number.
struct Stranger {
    stream: TcpStream,
    said: u64,
}

impl Stranger {
    async fn new(number: u32, peers: &[String], generation: u64) -> Self {
        let mut peers = peers.to_vec();
        "127.0.0.1:9".clone_into(&mut peers[number as usize]);
        let mut words = hello(number, 0, &peers);
        (words.who.generation, words.who.founders) = (generation, 3);
        let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
        stream.write_all(&bytes(&Frame::<Never>::Hello(words))).await.unwrap();
        let let_in = answer(&mut stream).await;
        assert!(matches!(let_in, Frame::Hello(_)), "{let_in:?}");
        Self { stream, said: 0 }
    }

    async fn say(&mut self, message: Said) {
        let frame = Frame::Data { seq: self.said, received: 0, message };
        self.said += 1;
        self.stream.write_all(&bytes(&frame)).await.unwrap();
    }

    /// Says something, and waits until so much was handled.
    async fn tell(&mut self, to: &Running, message: Said) {
        self.say(message).await;
        let heard = async {
            loop {
                let links = to.node.status().await.expect("the node runs").links;
                if links.iter().any(|it| it.peer.0 > 2 && it.received == self.said) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon("what was said", heard).await;
    }
}

/// So many minutes after now, as a process says when it was started.
fn ahead(minutes: u64) -> u64 {
    Generation::now().number() + minutes * 60 * 1_000_000
}

#[tokio::test]
async fn the_clock_of_a_stranger_is_not_believed() {
    let (mut nodes, peers) = three(NEVER).await;
    let view = nodes[0].view().await;
    let mut stranger = Stranger::new(7, &peers, ahead(0)).await;
    for view in [view, view + 1, MAX_INTEGER] {
        let said = Message::Within { view, clock: MAX_INTEGER, word: ViewMessage::Left };
        stranger.tell(&nodes[0], said).await;
    }
    for at in [1, 0, 2, 1, 0] {
        let token = nodes[at].enter_and_leave().await;
        assert!(token.clock < 100, "{token:?}");
    }
}

#[tokio::test]
async fn of_what_a_stranger_says_of_later_views_little_is_kept() {
    let (nodes, peers) = three(NEVER).await;
    let view = nodes[0].view().await;
    let mut stranger = Stranger::new(7, &peers, ahead(0)).await;
    for number in 0..3000 {
        let within =
            Message::Within { view: view + 1000, clock: 0, word: ViewMessage::HaveYouLeft };
        stranger.say(within).await;
        let data = OfViews::Flush { view: view + 1000 + number };
        stranger.say(Message::Views(data)).await;
    }
    let within = Message::Within { view: view + 1000, clock: 0, word: ViewMessage::HaveYouLeft };
    stranger.tell(&nodes[0], within).await;
    let state = nodes[0].node.status().await.unwrap().machine.to_string();
    let kept = |word: &str| state.matches(word).count();
    assert!(kept("HAVE_YOU_LEFT") <= 8 && kept("FLUSH(") <= 8, "{}", &state[..2000]);
}

#[tokio::test]
async fn two_strangers_take_no_group_away() {
    let (mut nodes, peers) = three(NEVER).await;
    let before = nodes[0].view().await;
    let view = before + 2000;
    let members = [6, 7].map(|id| Member { node: NodeId(id), incarnation: 1 }).to_vec();
    let later = Install::first(View { id: view, members });
    let inside = Some(Progress { upto: 0, is_frozen: false });
    for number in [6, 7] {
        let mut stranger = Stranger::new(number, &peers, ahead(0)).await;
        let status = Status {
            incarnation: 1,
            wants: true,
            view,
            inside,
            misses: vec![],
            since: None,
            changes: vec![],
        };
        stranger.tell(&nodes[0], Message::Views(OfViews::Status(status))).await;
        stranger.tell(&nodes[0], Message::Views(OfViews::NewView(later.clone()))).await;
    }
    assert!(nodes[0].enter_and_leave().await.view < view);
    assert_eq!(nodes[0].view().await, before);
}

/// Under the number of a member, as if that had been started later.
#[tokio::test]
async fn one_hello_from_the_future_keeps_no_member_out() {
    let (mut nodes, peers) = three(Duration::from_secs(1)).await;
    drop(Stranger::new(2, &peers, ahead(59)).await);
    let fenced = async {
        while nodes[2].node.status().await.unwrap().fenced.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while nodes[2].node.status().await.unwrap().fenced.is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("the end of the fence", fenced).await;
    for node in &nodes {
        node.until_members(&[0, 1, 2]).await;
    }
    nodes[2].enter_and_leave().await;
}

#[tokio::test]
async fn whoever_leaves_asks_for_a_view_without_it() {
    let (mut nodes, _) = three(NEVER).await;
    nodes[0].node.command(ACQUIRE).await.unwrap();
    let first = nodes[0].until_entered().await;
    let (two, mut one) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    two.node.command(ACQUIRE).await.unwrap();
    let goodbye = soon("its leave", two.node.leave(NEVER)).await.unwrap();
    assert_eq!(goodbye.let_go, ReleaseOutcome::Withdrawn, "it waits for nobody");
    let view = one.until_members(&[0, 1]).await;
    assert!(view > first.view, "{view} after {first:?}");
    one.node.command(ACQUIRE).await.unwrap();
    let zero = nodes.pop().unwrap();
    let goodbye = soon("its leave", zero.node.leave(NEVER)).await.unwrap();
    assert_eq!(goodbye.let_go, ReleaseOutcome::Released);
    let last = one.until_entered().await;
    assert!(last > first, "{last:?} after {first:?}");
    one.until_members(&[1]).await;
    soon("its leave", one.node.leave(NEVER)).await.unwrap();
}
