//! Requests that are given up, nodes that leave, and what those who are left are told.

use std::time::Duration;

use tokio::time::Instant;
use vorrang_algorithms::mutex::carvalho_roucairol::CarvalhoRoucairol;
use vorrang_algorithms::mutex::central::Central;
use vorrang_algorithms::mutex::lamport::Lamport;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_net::{
    Application, ApplicationEffects, Clock, CommandError, Config, Event, Log, Node, ReleaseOutcome,
    Stage, Steps, Timing, bind_loopback,
};
use vorrang_protocol::{Group, Needs, NodeId, Prospect, Protocol, Refused};
use vorrang_trace::{What, judge};

use crate::support::{ACQUIRE, Running, config, event, quick, soon};

const GROUP: Group = Group::of(3);
/// Bounds nothing but hanging.
const LONG: Duration = Duration::from_secs(60);

fn steps() -> Steps<Command, Notice> {
    Steps::ended_by(Command::Release)
}

/// Three nodes that know turns, all met.
async fn three<P>(make: impl Fn(NodeId) -> P, needs: Needs) -> (Vec<Running>, Log<Command, Notice>)
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let (listeners, peers) = bind_loopback(3).await.unwrap();
    let (log, clock) = (Log::new(), Clock::start());
    let mut running = Vec::new();
    for (id, listener) in (0..).zip(listeners) {
        let timing = Timing {
            heartbeat: Duration::from_millis(50),
            give_up: Duration::from_millis(300),
            ..quick()
        };
        let config = Config { needs, timing, ..config(id, &peers) };
        let node = Node::new(make(NodeId(id)), config).listener(listener).steps(steps());
        let (handle, notices) = node.record(log.clone(), clock).start().await.unwrap();
        let events = handle.events();
        running.push((handle, notices, events));
    }
    for (handle, ..) in &running {
        soon("the start", handle.started()).await.unwrap();
    }
    (running, log)
}

async fn enter((handle, notices, _): &mut Running) {
    handle.command(ACQUIRE).await.unwrap();
    assert_eq!(soon("an entry", notices.recv()).await, Some(Notice::Entered));
}

async fn stage(node: &Running) -> Stage {
    node.0.status().await.unwrap().turn.expect("it knows turns").0
}

/// Node 0 is inside, node 1 gives up, node 2 waits behind it: when node 0 leaves, node 2 gets in as
/// soon as what node 1 gave up has gone through its hands.
async fn gives_up<P>(make: impl Fn(NodeId) -> P, what: &str)
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let (mut nodes, log) = three(make, Needs::Anyone).await;
    enter(&mut nodes[0]).await;
    nodes[1].0.command(ACQUIRE).await.unwrap();
    assert_eq!(stage(&nodes[1]).await, Stage::Waiting);
    let asked = Instant::now();
    nodes[1].0.withdraw().await.unwrap();
    assert!(asked.elapsed() < LONG / 2, "{what}: told at once");
    assert_eq!(stage(&nodes[1]).await, Stage::GivenUp);
    nodes[2].0.command(ACQUIRE).await.unwrap();

    nodes[0].0.command(Command::Release).await.unwrap();
    assert_eq!(soon(what, nodes[2].1.recv()).await, Some(Notice::Entered));
    event(&mut nodes[1].2, &["was granted, and released at once"]).await;
    assert_eq!(stage(&nodes[1]).await, Stage::Idle);
    assert!(nodes[1].1.try_recv().is_err(), "{what}: it is not told of what it has given up");
    nodes[2].0.command(Command::Release).await.unwrap();

    // What it has given up can be asked for anew, and whoever gave up once may wait again.
    enter(&mut nodes[1]).await;
    nodes[1].0.command(Command::Release).await.unwrap();
    for (handle, ..) in nodes {
        handle.shutdown().await.unwrap();
    }
    let records = log.take();
    let verdict = judge(&records, Exclusion::default());
    assert!(verdict.is_safe(), "{what}: {:?}", verdict.violations);
    let mut own = records.iter().filter(|record| record.node == NodeId(1));
    own.find(|record| matches!(record.what, What::Notice(Notice::Entered))).expect("an entry");
    let next = own.next().map(|record| &record.what);
    assert!(
        matches!(next, Some(What::Command(Command::Release))),
        "{what}: it holds nobody up: {next:?}"
    );
}

#[tokio::test]
async fn what_is_given_up_costs_the_others_one_hand_over() {
    gives_up(|id| RicartAgrawala::new(id, GROUP), "ricart-agrawala").await;
    gives_up(|id| Lamport::new(id, GROUP), "lamport").await;
    gives_up(|id| Central::new(id, GROUP), "central").await;
    gives_up(|id| CarvalhoRoucairol::new(id, GROUP), "carvalho-roucairol").await;
    gives_up(|id| SuzukiKasami::new(id, GROUP, NodeId(0)), "suzuki-kasami").await;
}

#[tokio::test]
async fn patience_ends_and_whoever_asks_again_has_its_old_place() {
    let (mut nodes, _) = three(|id| RicartAgrawala::new(id, GROUP), Needs::Anyone).await;
    enter(&mut nodes[0]).await;
    let short = Duration::from_millis(50);
    nodes[1].0.ask_within(ACQUIRE, short).await.unwrap();
    let asked = Instant::now();
    event(&mut nodes[1].2, &["gave up after 0.05 s"]).await;
    assert!(asked.elapsed() < LONG / 2);
    let error = nodes[1].0.withdraw().await.unwrap_err().to_string();
    assert!(error.contains("given up before"), "{error}");
    nodes[2].0.command(ACQUIRE).await.unwrap();

    // Node 1 asked first, and has not lost its place in front of node 2.
    nodes[1].0.ask_within(ACQUIRE, LONG).await.unwrap();
    let sent = nodes[1].0.status().await.unwrap().sent;
    nodes[0].0.command(Command::Release).await.unwrap();
    assert_eq!(soon("an entry", nodes[1].1.recv()).await, Some(Notice::Entered));
    assert_eq!(nodes[1].0.status().await.unwrap().sent, sent, "no new messages");
    assert!(nodes[2].1.try_recv().is_err());
    let error = nodes[1].0.withdraw().await.unwrap_err().to_string();
    assert!(error.contains("already inside"), "{error}");
    nodes[1].0.command(Command::Release).await.unwrap();
    assert_eq!(soon("an entry", nodes[2].1.recv()).await, Some(Notice::Entered));

    let error = nodes[2].0.ask_within(Command::Release, LONG).await.unwrap_err();
    assert!(error.to_string().contains("cannot be given up"), "{error}");
}

#[tokio::test]
async fn before_the_start_giving_up_takes_everything_back() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let node = Node::new(RicartAgrawala::new(NodeId(0), Group::of(2)), config(0, &peers));
    let node = node.listener(listeners.remove(0)).steps(steps());
    let (handle, _notices) = node.start().await.unwrap();
    let short = Duration::from_millis(50);
    let outcome = soon("the end of patience", handle.ask_within(ACQUIRE, short)).await;
    assert_eq!(outcome, Err(CommandError::GivenUp));

    let asking = {
        let handle = handle.clone();
        tokio::spawn(async move { handle.command(ACQUIRE).await })
    };
    tokio::task::yield_now().await;
    soon("a word", async { while handle.withdraw().await.is_err() {} }).await;
    assert_eq!(soon("an answer", asking).await.unwrap(), Err(CommandError::GivenUp));
    let left = soon("the end", handle.leave(LONG)).await.unwrap();
    assert_eq!(left.let_go, ReleaseOutcome::Nothing);
}

#[tokio::test]
async fn a_node_without_turns_says_so() {
    let (mut nodes, _) = crate::support::group(2).await;
    let error = nodes[0].0.withdraw().await.unwrap_err().to_string();
    assert!(error.contains("does not know turns"), "{error}");
    assert_eq!(nodes[0].0.status().await.unwrap().turn, None);
    let left = soon("the end", nodes.remove(0).0.leave(LONG)).await.unwrap();
    assert_eq!(left.let_go, ReleaseOutcome::Nothing);
}

/// With `central` the grant would go to a node that has left, and nobody would enter any more.
#[tokio::test]
async fn whoever_leaves_while_it_waits_wedges_nobody() {
    let central = |id| Central::new(id, GROUP);
    let (mut nodes, _) = three(central, Needs::One(NodeId(2))).await;
    enter(&mut nodes[0]).await;
    nodes[1].0.command(ACQUIRE).await.unwrap();
    let (leaver, ..) = nodes.remove(1);
    let still = leaver.clone();
    let leaving = tokio::spawn(leaver.leave(LONG));
    soon("its leave", async {
        while still.command(ACQUIRE).await != Err(CommandError::Refused(LEAVING)) {}
    })
    .await;
    assert!(!leaving.is_finished(), "its request is under way");
    nodes[0].0.command(Command::Release).await.unwrap();
    let left = soon("the end", leaving).await.unwrap().unwrap();
    assert_eq!(left.let_go, ReleaseOutcome::Withdrawn);

    event(&mut nodes[0].2, &["node 1 has left for good; ", "goes on without it"]).await;
    enter(&mut nodes[0]).await;
    nodes[0].0.command(Command::Release).await.unwrap();
    enter(&mut nodes[1]).await;
    nodes[1].0.command(ACQUIRE).await.unwrap_err();

    // The coordinator leaves from inside.
    let left = soon("the end", nodes.remove(1).0.leave(LONG)).await.unwrap();
    assert_eq!(left.let_go, ReleaseOutcome::Released);
    let sentence = event(&mut nodes[0].2, &["node 2 has left for good, and "]).await;
    assert!(sentence.ends_with("no request can be granted any more"), "{sentence}");
    let error = nodes[0].0.command(ACQUIRE).await.unwrap_err();
    assert!(matches!(&error, CommandError::Hopeless(_)), "{error}");
    assert!(error.to_string().contains("needs node 2 for every request"), "{error}");
}

const LEAVING: Refused = Refused("this node is leaving the group");

#[tokio::test]
async fn leaving_takes_no_longer_than_is_said() {
    let (mut nodes, _) = three(|id| Central::new(id, GROUP), Needs::One(NodeId(2))).await;
    enter(&mut nodes[0]).await;
    nodes[1].0.command(ACQUIRE).await.unwrap();
    let (leaver, ..) = nodes.remove(1);
    let begun = Instant::now();
    let left = soon("the end", leaver.leave(Duration::from_millis(200))).await.unwrap();
    assert_eq!(left.let_go, ReleaseOutcome::Abandoned, "node 0 has not moved");
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert!(begun.elapsed() < LONG / 2);

    // The grant goes to a node that has left: the coordinator says so.
    nodes[0].0.command(Command::Release).await.unwrap();
    event(&mut nodes[1].2, &["a message was lost with node 1", "no request is granted"]).await;
}

/// Writes down what happens to its links.
struct Listener(tokio::sync::mpsc::UnboundedSender<String>);

impl Application for Listener {
    type Command = Command;
    type Notice = Notice;

    fn on_notice(&mut self, notice: Notice, _: &mut ApplicationEffects<Command>) {
        let _ = self.0.send(notice.to_string());
    }

    fn on_event(&mut self, event: &Event, fx: &mut ApplicationEffects<Command>) {
        let _ = self.0.send(event.to_string());
        if matches!(event, Event::Lost { .. }) {
            fx.command(ACQUIRE);
        }
    }

    fn on_refused(&mut self, refused: Refused, _: &mut ApplicationEffects<Command>) {
        let _ = self.0.send(refused.to_string());
    }
}

#[tokio::test]
async fn an_application_inside_the_node_is_told_and_can_act_on_it() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let machine = |id| Central::new(NodeId(id), Group::of(2));
    let (other, listener) = (listeners.remove(0), listeners.remove(0));
    let node = Node::new(machine(1), config(1, &peers)).listener(listener);
    let _inside = node.start_with(Listener(sender)).await.unwrap();
    let (other, _) =
        Node::new(machine(0), config(0, &peers)).listener(other).start().await.unwrap();
    soon("the start", other.started()).await.unwrap();
    other.kill().await;
    let mut seen = Vec::new();
    // The coordinator needs nobody.
    while seen.last().is_none_or(|it| it != "entered") {
        seen.push(soon("an entry", heard.recv()).await.expect("the node runs"));
    }
    assert!(seen.iter().any(|it| it.contains("lost the connection with node 0")), "{seen:?}");
}

#[tokio::test]
async fn what_can_never_be_granted_is_refused_with_a_sentence() {
    let (mut nodes, _) = three(|id| RicartAgrawala::new(id, GROUP), Needs::AllBut(0)).await;
    enter(&mut nodes[0]).await;
    nodes.remove(2).0.shutdown().await.unwrap();
    event(&mut nodes[1].2, &["node 2 has left for good, and ricart-agrawala needs"]).await;
    let error = nodes[1].0.command(ACQUIRE).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 2 has left for good, and ricart-agrawala needs an answer of every node: this \
         request can never be granted"
    );
    // Whoever is inside can still leave.
    nodes[0].0.command(Command::Release).await.unwrap();
}

#[tokio::test]
async fn one_who_is_lost_is_missed_and_may_be_waited_for() {
    let (mut nodes, _) = three(|id| RicartAgrawala::new(id, GROUP), Needs::AllBut(0)).await;
    let (lost, _, mut theirs) = nodes.remove(2);
    lost.kill().await;
    while theirs.recv().await.is_ok() {}
    let missing = soon("an event", async {
        loop {
            if let Event::Missing { peer, means, .. } = nodes[0].2.recv().await.unwrap() {
                return (peer, means.prospect);
            }
        }
    })
    .await;
    assert_eq!(missing, (NodeId(2), Prospect::Hopeless));
    // It may be back: nobody is refused.
    nodes[0].0.command(ACQUIRE).await.unwrap();
    let words = ["node 2 does not answer, and ricart-agrawala needs an answer of every node"];
    let doubt = event(&mut nodes[0].2, &words).await;
    assert!(doubt.contains("waits until enough of them are back"), "{doubt}");
}

#[tokio::test]
async fn where_nobody_knows_who_is_needed_requests_are_accepted_with_a_word() {
    let holder = NodeId(0);
    let suzuki_kasami = |id| SuzukiKasami::new(id, GROUP, holder);
    let (mut nodes, _) = three(suzuki_kasami, Needs::Anyone).await;
    nodes.remove(2).0.shutdown().await.unwrap();
    event(&mut nodes[0].2, &["may need it: requests may wait for ever"]).await;
    enter(&mut nodes[0]).await;
    event(&mut nodes[0].2, &["this request may never be granted"]).await;
    nodes[0].0.command(Command::Release).await.unwrap();
    enter(&mut nodes[1]).await;
}
