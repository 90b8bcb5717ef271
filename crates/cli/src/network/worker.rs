//! `vorrang worker`: one node of `vorrang run --net --processes`, told what to do by its parent.
//!
//! Line by line, over standard input and output:
//!
//! ```text
//! parent                          worker
//! the orders, as JSON         →
//!                             ←   the address that it listens on
//! all addresses, with commas  →
//! acquire …                   →   takes a turn
//!                             ←   left           it has left
//!                             ←   failed WHY     it cannot go on
//! counts                      →
//!                             ←   counts SENT RECEIVED
//! quit                        →
//!                             ←   its records, as JSON, one a line, and then: end
//! ```

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vorrang_algorithms::mutex::{Card, Command, Notice};
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::setup::Setup;
use vorrang_net::{Clock, Config, Handle, Log, Node, Starting, bind_loopback};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::Random;
use vorrang_trace::Record;

use super::News;
use super::turns::Turns;
use crate::failure::Failure;
use crate::lookup;
use crate::output::print;
use crate::problem::Future;

/// What a worker must know to begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) algorithm: String,
    pub(super) setup: String,
    pub(super) id: u32,
    pub(super) turns: u64,
    pub(super) think: String,
    pub(super) hold: String,
    pub(super) seed: u64,
    pub(super) epoch_ns: u64,
}

/// Does what the parent says.
pub(crate) fn execute() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let orders = next(&mut lines).await?;
        let orders: Orders = serde_json::from_str(&orders)
            .map_err(|error| Failure::usage(format!("these are no orders: {error}")))?;
        let entry = lookup::algorithm(&orders.algorithm)?;
        entry.algorithm.work(Work { orders, lines }).await
    })
}

/// What a worker has been told, and who tells it more.
pub(crate) struct Work {
    orders: Orders,
    lines: Lines<BufReader<Stdin>>,
}

/// Does the work with nodes of this kind.
pub(crate) fn work<P>(work: Work, card: &'static Card, recipe: &Recipe<P>) -> Future<'static>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let setup = Setup::read(&work.orders.setup, card.takes);
    let node = match setup.and_then(|setup| recipe.nodes(&setup)) {
        Ok(node) => node,
        Err(unfit) => return Box::pin(async { Err(Failure::Usage(unfit.0)) }),
    };
    let log = Log::new();
    let (clock, records) = (Clock::since(work.orders.epoch_ns), log.clone());
    let launch = move |config: Config, listener, turns| {
        let node = Node::new(node(config.id), config).listener(listener);
        node.record(records, clock).start_with(turns)
    };
    let lines = move || {
        let line =
            |record: &Record<P>| serde_json::to_string(record).expect("a record can be written");
        log.take().iter().map(line).collect()
    };
    Box::pin(obey_to_the_end(work, card, Box::new(launch), Box::new(lines)))
}

/// Starts the node with its application.
type Launch = Box<dyn FnOnce(Config, TcpListener, Turns) -> Starting<Handle<Command>>>;

async fn obey_to_the_end(
    work: Work,
    card: &'static Card,
    launch: Launch,
    records: Box<dyn FnOnce() -> Vec<String>>,
) -> Result<(), Failure> {
    let Work { orders, mut lines } = work;
    let (mut listeners, addresses) = bind_loopback(1).await?;
    say(&addresses[0])?;
    let peers = next(&mut lines).await?.split(',').map(str::to_owned).collect();
    let id = NodeId(orders.id);
    let (news, heard) = unbounded_channel();
    let read = |text: &str| text.parse().map_err(|error| Failure::usage(format!("{error}")));
    let turns = Turns {
        node: id,
        left: orders.turns,
        claims: card.terms.claims,
        think: read(&orders.think)?,
        hold: read(&orders.hold)?,
        random: Random::new(orders.seed.wrapping_add(u64::from(orders.id))),
        news,
    };
    let listener = listeners.pop().ok_or_else(|| Failure::World("no listener".to_owned()))?;
    let (seed, setup) = (orders.seed, orders.setup);
    let config = Config { seed, setup, ..Config::new(id, peers, card.name) };
    let handle =
        launch(config, listener, turns).await.map_err(|error| Failure::World(error.to_string()))?;
    obey(&handle, &mut lines, heard).await?;
    handle.shutdown().await.map_err(|error| Failure::World(error.to_string()))?;
    for record in records() {
        say(&record)?;
    }
    say("end")
}

/// Does what the parent says, and tells it what happens, until it says to quit or goes away.
async fn obey(
    handle: &Handle<Command>,
    lines: &mut Lines<BufReader<Stdin>>,
    mut heard: UnboundedReceiver<News>,
) -> Result<(), Failure> {
    let stopped = |error: vorrang_net::Stopped| Failure::World(error.to_string());
    loop {
        tokio::select! {
            Some(news) = heard.recv() => match news {
                News::Left(_) => say("left")?,
                News::Failed(_, why) => say(&format!("failed {why}"))?,
            },
            line = lines.next_line() => match line?.as_deref() {
                None | Some("quit") => return Ok(()),
                Some("counts") => {
                    let status = handle.status().await.map_err(stopped)?;
                    let sent: u64 = status.links.iter().map(|link| link.sent).sum();
                    let received: u64 = status.links.iter().map(|link| link.received).sum();
                    say(&format!("counts {sent} {received}"))?;
                }
                Some(command) => {
                    let command = command.parse().map_err(Failure::Usage)?;
                    if let Err(error) = handle.command(command).await {
                        say(&format!("failed {error}"))?;
                    }
                }
            },
        }
    }
}

async fn next(lines: &mut Lines<BufReader<Stdin>>) -> Result<String, Failure> {
    lines.next_line().await?.ok_or_else(|| Failure::World("the parent has gone".to_owned()))
}

fn say(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
