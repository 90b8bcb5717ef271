//! The simulator, the network and the checker give the same answer to the same script.
//!
//! Each command is given when all is at rest, so that nothing is left to chance between commands;
//! between them the checker takes every order of deliveries, and the others the one that comes.
//! What never rests is commanded when whoever can enter has entered; how many messages travel until
//! then is left to chance, and the checker, whose scripts wait for rest, is not asked.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::registry::{self, Invariants, Node, Visit};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Bounds, Demands, Faults, Outcome, Plan, System, explore};
use vorrang_net::{Clock, Config, Handle, Log, bind_loopback};
use vorrang_protocol::{Group, Message, Monitor, NodeId, Protocol, Violation};
use vorrang_sim::{Keep, Load, Network, Simulation, Turns};
use vorrang_trace::{Record, What};

const NODES: u32 = 3;
/// Bounds hanging, nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who asks and who leaves; at most one waits, so that whoever is to leave is inside.
const SCRIPT: [(bool, u32); 14] = [
    (true, 1),
    (true, 0),
    (false, 1),
    (true, 2),
    (false, 0),
    (false, 2),
    (true, 0),
    (true, 2),
    (false, 0),
    (false, 2),
    (true, 2),
    (false, 2),
    (true, 1),
    (false, 1),
];

type Script = Vec<(NodeId, Command)>;

/// The script, with the claims that the algorithm grants, in turn.
fn script(card: &Card) -> Script {
    let command = |(asks, node): (bool, u32)| {
        let claim = card.terms.claims[node as usize % card.terms.claims.len()];
        (NodeId(node), if asks { Command::Acquire(claim) } else { Command::Release })
    };
    SCRIPT.into_iter().map(command).collect()
}

/// What the applications said and heard, in order; and the messages, by kind.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Answer {
    said: Vec<(NodeId, String)>,
    messages: BTreeMap<&'static str, u64>,
}

impl Answer {
    fn of<P: Protocol<Command = Command, Notice = Notice>>(records: &[Record<P>]) -> Self {
        let (mut said, mut messages) = (Vec::new(), BTreeMap::new());
        for Record { node, what, .. } in records {
            match what {
                What::Command(command) => said.push((*node, command.to_string())),
                What::Notice(notice) => said.push((*node, notice.to_string())),
                What::Send { to, message, .. } if to != node => {
                    *messages.entry(P::Message::KINDS[message.kind()]).or_default() += 1;
                }
                What::Send { .. }
                | What::Receive { .. }
                | What::Timer(_)
                | What::Lost { .. }
                | What::Doubled { .. }
                | What::Crash
                | What::Restart
                | What::Fault(_) => {}
            }
        }
        Self { said, messages }
    }
}

/// A hundred latencies lie between two commands of the script.
fn in_the_simulator<P>(card: &Card, node: &Node<P>) -> Answer
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    const BETWEEN_NS: u64 = 100_000_000;
    let setup = card.setup(Group::of(NODES));
    let timed =
        (1..).zip(script(card)).map(|(at, (node, command))| (at * BETWEEN_NS, node, command));
    let load = Load::Script(timed.collect());
    let mut simulation = Simulation::recorded(
        setup.group.members().map(|id| node(id)),
        card.exclusion(&setup),
        Network::constant_ms(1),
        Turns::new(load, Command::Release, Command::Release).perpetual(card.terms.perpetual),
        1,
        Keep(Vec::new()),
    );
    while simulation.run_for(u64::MAX).expect("no command is refused") {}
    let report = simulation.report();
    assert!(report.is_safe() && report.is_quiescent(), "{}", card.name);
    Answer::of(&simulation.into_recorder().0)
}

/// Each command waits until every message has been handled.
async fn on_the_network<P>(card: &Card, node: &Node<P>) -> Answer
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let (listeners, peers) = bind_loopback(NODES).await.expect("free ports");
    let (log, clock) = (Log::new(), Clock::start());
    let (mut handles, mut notices) = (Vec::new(), Vec::new());
    for (id, listener) in (0..).map(NodeId).zip(listeners) {
        let config = Config::new(id, peers.clone(), card.name);
        let starting =
            vorrang_net::Node::new(node(id), config).listener(listener).record(log.clone(), clock);
        let (handle, heard) = starting.start().await.expect("it starts");
        handles.push(handle);
        notices.push(heard);
    }
    let (mut inside, mut waiting) = (None, None);
    for (node, command) in script(card) {
        handles[node.index()].command(command).await.expect("no command is refused");
        match command {
            Command::Acquire(_) => waiting = Some(node),
            Command::Release => inside = None,
        }
        if inside.is_none()
            && let Some(next) = waiting.take()
        {
            notices[next.index()].recv().await.expect("it runs");
            inside = Some(next);
        }
        if !card.terms.perpetual {
            settle(&handles).await;
        }
    }
    for handle in handles {
        handle.shutdown().await.expect("it runs");
    }
    Answer::of(&log.take())
}

/// Waits until as much has been handled as was sent, twice in a row.
async fn settle(handles: &[Handle<Command>]) {
    let mut last = None;
    loop {
        let (mut sent, mut received) = (0, 0);
        for handle in handles {
            let status = handle.status().await.expect("it runs");
            sent += status.links.iter().map(|link| link.sent).sum::<u64>();
            received += status.links.iter().map(|link| link.received).sum::<u64>();
        }
        if sent == received && last == Some(sent) {
            return;
        }
        last = Some(sent);
        tokio::task::yield_now().await;
    }
}

/// Objects as soon as anything is said that the simulator did not hear there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct AsBefore {
    expected: Arc<[(NodeId, String)]>,
    messages: u64,
    heard: usize,
    received: u64,
}

impl AsBefore {
    fn hear(&mut self, at: NodeId, what: String) -> Result<(), Violation> {
        let (place, said) = (self.heard, (at, what));
        self.heard += 1;
        if self.expected.get(place) == Some(&said) {
            return Ok(());
        }
        let what = format!("{said:?} instead of {:?}", self.expected.get(place));
        Err(Violation { property: "sameness", what })
    }
}

impl Monitor for AsBefore {
    type Command = Command;
    type Notice = Notice;
    /// Every message counts one.
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        self.hear(at, command.to_string())
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        self.hear(at, notice.to_string())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        let (here, there) = ((self.heard, self.received), (self.expected.len(), self.messages));
        let what = format!("said and received: {here:?} instead of {there:?}");
        if here == there { Ok(()) } else { Err(Violation { property: "sameness", what }) }
    }
    fn on_receive(&mut self, _: NodeId, (): &()) {
        self.received += 1;
    }
}

/// Explores every order of deliveries between the commands.
fn in_the_checker<P>(card: &Card, node: &Node<P>, answer: &Answer) -> Outcome<P>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let setup = card.setup(Group::of(NODES));
    let as_before = AsBefore {
        expected: answer.said.clone().into(),
        messages: answer.messages.values().sum(),
        heard: 0,
        received: 0,
    };
    let system = System {
        nodes: setup.group.members().map(|id| node(id)).collect(),
        plan: Plan::Script(script(card)),
        monitor: (card.exclusion(&setup), as_before),
        links: card.assumes.order.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    };
    explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {}).outcome
}

/// Runs the script in all three drivers.
struct Thrice;

impl Visit<Mutex> for Thrice {
    type Output = Answer;

    fn visit<P>(self, card: &'static Card, node: Node<P>, _: Invariants<P>) -> Answer
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let mut simulated = in_the_simulator(card, &node);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let networked = runtime
            .expect("a runtime")
            .block_on(async { tokio::time::timeout(PATIENCE, on_the_network(card, &node)).await });
        let mut networked = networked.expect("an end in time");
        if card.terms.perpetual {
            simulated.messages.clear();
            networked.messages.clear();
        } else if !card.assumes.timely {
            // Where time matters the system is not at rest between two commands of the script.
            let checked = in_the_checker(card, &node, &simulated);
            assert_eq!(checked, Outcome::Verified, "{}", card.name);
        }
        assert_eq!(networked, simulated, "{}", card.name);
        simulated
    }
}

fn thrice(name: &str) -> Answer {
    let card = registry::cards::<Mutex>().into_iter().find(|card| card.name == name);
    // On a real network a message may well take longer than a millisecond.
    let within = Duration::from_secs(1);
    let setup = Setup { within, ..card.expect("a card's name").setup(Group::of(NODES)) };
    registry::visit(name, None, &setup, Thrice).expect("a card's algorithm can be made")
}

#[test]
fn ricart_agrawala_gives_the_answer_that_one_would_write_down_by_hand() {
    let answer = thrice("ricart-agrawala");
    let begins = ["1 acquire", "1 entered", "0 acquire", "1 release", "0 entered", "2 acquire"];
    let said: Vec<String> =
        answer.said.iter().map(|(node, what)| format!("{node} {what}")).collect();
    assert_eq!(said[..6], begins);
    assert_eq!(answer.messages, BTreeMap::from([("REQUEST", 7 * 2), ("REPLY", 7 * 2)]));
}

#[test]
fn every_algorithm_gives_the_same_answer_in_all_three_drivers() {
    for card in registry::cards::<Mutex>() {
        let answer = thrice(card.name);
        assert_eq!(answer.said.len(), 3 * 7, "asked, entered, left: {answer:?}");
    }
}

/// A test that cannot fail tests nothing.
#[test]
fn the_checker_objects_to_an_answer_that_was_altered() {
    struct Altered;

    impl Visit<Mutex> for Altered {
        type Output = ();

        fn visit<P>(self, card: &'static Card, node: Node<P>, _: Invariants<P>)
        where
            P: Protocol<Command = Command, Notice = Notice>,
        {
            let right = in_the_simulator(card, &node);
            let mut swapped = right.clone();
            swapped.said.swap(1, 2);
            let mut dearer = right;
            *dearer.messages.entry("REPLY").or_default() += 1;
            for wrong in [swapped, dearer] {
                let outcome = in_the_checker(card, &node, &wrong);
                let Outcome::Violated { violation, .. } = outcome else { panic!("{outcome:?}") };
                assert_eq!(violation.property, "sameness");
            }
        }
    }

    let rests = |card: &&'static Card| !card.terms.perpetual && !card.assumes.timely;
    for card in registry::cards::<Mutex>().into_iter().filter(rests) {
        let setup = card.setup(Group::of(NODES));
        registry::visit(card.name, None, &setup, Altered).expect("a card's algorithm can be made");
    }
}
