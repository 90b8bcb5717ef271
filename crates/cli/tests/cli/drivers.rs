//! The simulator, the network and the checker give the same answer to the same script.
//!
//! Each command is given when all is at rest, so that there are no random faults between commands;
//! between them the checker takes every order of deliveries, and the others the one that comes.
//! What never rests is commanded when whoever can enter has entered; how many messages travel until
//! then is left to chance, and the checker, whose scripts wait for rest, is not asked.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{Catalogued as _, Entry, NodeOf, find};
use vorrang_check::{Bounds, Demands, Faults, Outcome, Plan, System, explore};
use vorrang_net::{Clock, Config, Handle, Log, Started, Starting, bind_loopback};
use vorrang_protocol::{Group, Message as _, Monitor, NodeId, Violation};
use vorrang_sim::{InMemoryRecorder, Load, Network, Simulation, Turns};
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
    fn of(records: &[Record<NodeOf<Mutex>>], kinds: &[&'static str]) -> Self {
        let (mut said, mut messages) = (Vec::new(), BTreeMap::new());
        for Record { node, what, .. } in records {
            match what {
                What::Command(command) => said.push((*node, command.to_string())),
                What::Notice(notice) => said.push((*node, notice.to_string())),
                What::Send { to, message, .. } if to != node => {
                    *messages.entry(kinds[message.kind()]).or_default() += 1;
                }
                What::Send { .. }
                | What::Receive { .. }
                | What::Timer(_)
                | What::Choice(_)
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
fn in_the_simulator(entry: &Entry<Mutex>) -> Answer {
    const BETWEEN_NS: u64 = 100_000_000;
    let (card, setup) = (entry.card, setup(entry.card));
    let timed =
        (1..).zip(script(card)).map(|(at, (node, command))| (at * BETWEEN_NS, node, command));
    let load = Load::Script(timed.collect());
    let mut simulation = Simulation::recorded(
        entry.population(&setup).expect("a card's algorithm can be made"),
        card.exclusion(&setup),
        Network::constant_ms(1),
        Turns::new(load, Command::Release, Command::Release).perpetual(card.terms.perpetual),
        1,
        InMemoryRecorder(Vec::new()),
    );
    while simulation.run_for(u64::MAX).expect("no command is refused") {}
    let report = simulation.report();
    assert!(report.is_safe() && report.is_quiescent(), "{}", card.name);
    Answer::of(&simulation.into_recorder().0, entry.kinds)
}

/// Starts a node of an algorithm.
type Launch<'a> = &'a dyn Fn(Config, TcpListener) -> Starting<Started<Command, Notice>>;

/// Each command waits until every message has been handled.
async fn on_the_network(card: &Card, launch: Launch<'_>) {
    let (listeners, peers) = bind_loopback(NODES).await.expect("free ports");
    let (mut handles, mut notices) = (Vec::new(), Vec::new());
    for (id, listener) in (0..).map(NodeId).zip(listeners) {
        let config = Config::new(id, peers.clone(), card.name);
        let (handle, heard) = launch(config, listener).await.expect("it starts");
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
fn in_the_checker(entry: &Entry<Mutex>, answer: &Answer) -> Outcome<NodeOf<Mutex>> {
    let (card, setup) = (entry.card, setup(entry.card));
    let as_before = AsBefore {
        expected: answer.said.clone().into(),
        messages: answer.messages.values().sum(),
        heard: 0,
        received: 0,
    };
    let system = System {
        nodes: entry.nodes(&setup).expect("a card's algorithm can be made"),
        plan: Plan::Script(script(card)),
        monitor: (card.exclusion(&setup), as_before),
        links: card.assumes.order.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    };
    explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {}).outcome
}

/// Three nodes, where on a real network a message may well take longer than a millisecond.
fn setup(card: &Card) -> Setup {
    Setup { within: Duration::from_secs(1), ..card.setup(Group::of(NODES)) }
}

/// Runs the script over the network.
fn networked(entry: &Entry<Mutex>) -> Answer {
    let node = entry.recipe.nodes(&setup(entry.card)).expect("a card's algorithm can be made");
    let (log, clock) = (Log::new(), Clock::start());
    let launch = |config: Config, listener| {
        let starting = vorrang_net::Node::new(node(config.id), config).listener(listener);
        starting.record(log.clone(), clock).start()
    };
    in_time(on_the_network(entry.card, &launch));
    Answer::of(&log.take(), entry.kinds)
}

fn in_time(networked: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let networked = async { tokio::time::timeout(PATIENCE, networked).await };
    runtime.expect("a runtime").block_on(networked).expect("an end in time");
}

/// Runs the script in all three drivers.
fn thrice(name: &str) -> Answer {
    let entry = find::<Mutex>(name, None).expect("a card's name");
    let (card, mut simulated) = (entry.card, in_the_simulator(entry));
    let mut networked = networked(entry);
    // How many messages it takes to elect somebody depends on who is faster.
    let begins_with_a_race = name == "elected-lift";
    if card.terms.perpetual || begins_with_a_race {
        simulated.messages.clear();
        networked.messages.clear();
    } else if !card.assumes.timely {
        // Where time matters the system is not at rest between two commands of the script.
        let checked = in_the_checker(entry, &simulated);
        assert_eq!(checked, Outcome::Verified, "{name}");
    }
    assert_eq!(networked, simulated, "{name}");
    simulated
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
    for entry in Mutex::entries().iter().filter(|entry| entry.flaw.is_none()) {
        let answer = thrice(entry.card.name);
        assert_eq!(answer.said.len(), 3 * 7, "asked, entered, left: {answer:?}");
    }
}

/// A test that cannot fail tests nothing.
#[test]
fn the_checker_objects_to_an_answer_that_was_altered() {
    let rests = |card: &Card| !card.terms.perpetual && !card.assumes.timely;
    let correct = Mutex::entries().iter().filter(|entry| entry.flaw.is_none());
    for entry in correct.filter(|entry| rests(entry.card)) {
        let right = in_the_simulator(entry);
        let mut swapped = right.clone();
        swapped.said.swap(1, 2);
        let mut dearer = right;
        *dearer.messages.entry("REPLY").or_default() += 1;
        for wrong in [swapped, dearer] {
            let outcome = in_the_checker(entry, &wrong);
            let Outcome::Violated { violation, .. } = outcome else { panic!("{outcome:?}") };
            assert_eq!(violation.property, "sameness");
        }
    }
}
