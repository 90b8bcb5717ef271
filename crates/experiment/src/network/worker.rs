//! `vorrang worker`: one node of `vorrang run --net --processes`, told what to do by its parent.
//!
//! Line by line, over standard input and output:
//!
//! ```text
//! parent                          worker
//! the orders, as JSON         →
//!                             ←   the address that it listens on
//! all addresses, with commas  →
//! started                     →
//!                             ←   started        it has met all others
//! acquire …, elect, start     →   does it, or takes a turn
//!                             ←   entered        it has entered, if it lives on views
//!                             ←   done           it has left, or is told for the first time
//!                             ←   failed WHY     it cannot go on
//! counts                      →
//!                             ←   counts SENT RECEIVED
//! timers                      →
//!                             ←   timers set     or: timers none
//!                             ←   record …       one of its records, if it is to tell them at once
//!                             ←   clock NS       it was up then, and has told all records before
//! quit                        →
//!                             ←   its records, as JSON, one a line, and then: end
//! ```
//!
//! Where a node is to be killed, all tell their records at once, since it cannot do so in the end:
//! those of a turn before anything that it sends leaves the process. What was written into a pipe
//! outlives the writer, so whatever others have seen of a killed node is told.

use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::interval;
use vorrang_algorithms::card::Card;
use vorrang_algorithms::mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::NodeOf;
use vorrang_net::{
    Application, ApplicationEffects, Clock, Config, Generation, Handle, Log, Node, RecordOf,
    Recorder, Starting,
};
use vorrang_protocol::{Data, NodeId};
use vorrang_sim::Random;
use vorrang_trace::Record;

use super::member_on_views::{Member, ViewsOrders};
use super::turns::Turns;
use super::{Future, News};
use crate::failure::Failure;

/// The first word of a record that is told at once.
pub(super) const RECORD: &str = "record";

/// The answer of a worker whose machine may yet do something by itself.
pub(super) const TIMERS_SET: &str = "timers set";

/// The set-up of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerSetup {
    pub(super) algorithm: String,
    pub(super) setup: String,
    pub(super) id: u32,
    /// For an application that takes turns.
    pub(super) shift: Option<Shift>,
    pub(super) seed: u64,
    pub(super) epoch_ns: u64,
    /// Where it listens, if a former process of its node did.
    pub(super) listen: Option<String>,
    /// Whether processes come back, without their memory.
    pub(super) returns: bool,
    /// Whether it tells its records as they come.
    pub(super) tells_at_once: bool,
    /// For a lock on views.
    pub(super) views: Option<ViewsOrders>,
}

/// The turns that an application takes by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Shift {
    pub(super) turns: u64,
    /// Whether it is told when to take the first, which is not among these.
    pub(super) waits: bool,
    pub(super) think: String,
    pub(super) hold: String,
}

/// The set-up of a worker, and its channel to the parent.
#[derive(Debug)]
pub struct Work {
    orders: WorkerSetup,
    lines: Lines<BufReader<Stdin>>,
}

impl Work {
    /// Waits to be told what to begin with.
    pub(crate) async fn read() -> Result<Self, Failure> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let orders = next(&mut lines).await?;
        let orders = serde_json::from_str(&orders)
            .map_err(|error| Failure::usage(format!("these are no orders: {error}")))?;
        Ok(Self { orders, lines })
    }

    /// The name of the algorithm that the node is to run.
    pub(crate) fn algorithm(&self) -> &str {
        &self.orders.algorithm
    }
}

/// Does the work with nodes whose applications take turns.
pub(super) fn take_turns(
    work: Work,
    card: &'static mutex::Card,
    recipe: &Recipe<NodeOf<mutex::Mutex>>,
) -> Future<'static> {
    let (news, heard) = unbounded_channel();
    let turns = match turns(&work.orders, card, news) {
        Ok(turns) => turns,
        Err(failure) => return Box::pin(async { Err(failure) }),
    };
    let Some(views) = work.orders.views.clone() else {
        return with(work, card, recipe, (turns, heard));
    };
    match Member::of(card, (&work.orders.setup, NodeId(work.orders.id)), &views) {
        Ok(member) => {
            let make = move |config: Config| member.node(config);
            begin::<mutex::Mutex, _>(work, card.name, make, (turns, heard))
        }
        Err(failure) => Box::pin(async { Err(failure) }),
    }
}

fn turns(
    orders: &WorkerSetup,
    card: &'static mutex::Card,
    news: UnboundedSender<News>,
) -> Result<Turns, Failure> {
    let Some(shift) = &orders.shift else {
        return Err(Failure::usage(format!("{} is to take turns, and not told which", card.name)));
    };
    let read = |text: &str| text.parse().map_err(|error| Failure::usage(format!("{error}")));
    Ok(Turns {
        node: NodeId(orders.id),
        left: shift.turns,
        waits: shift.waits,
        claims: card.terms.claims,
        think: read(&shift.think)?,
        hold: read(&shift.hold)?,
        random: Random::new(orders.seed.wrapping_add(u64::from(orders.id))),
        tells_entries: orders.views.is_some(),
        news,
    })
}

/// Does the work with nodes whose applications wait to be told something.
pub(super) fn be_told<Q: Problem>(
    work: Work,
    card: &'static Card<Q>,
    recipe: &Recipe<NodeOf<Q>>,
) -> Future<'static> {
    let (news, heard) = unbounded_channel();
    let told =
        RunRecorder::<Q> { node: NodeId(work.orders.id), news: Some(news), problem: PhantomData };
    with(work, card, recipe, (told, heard))
}

/// Reports when it is told something for the first time.
struct RunRecorder<Q> {
    node: NodeId,
    news: Option<UnboundedSender<News>>,
    problem: PhantomData<fn(Q)>,
}

impl<Q: Problem> Application for RunRecorder<Q> {
    type Command = Q::Command;
    type Notice = Q::Notice;

    fn on_notice(&mut self, _: Q::Notice, _: &mut ApplicationEffects<Q::Command>) {
        if let Some(news) = self.news.take() {
            // The receiver is gone: then the run is over.
            let _ = news.send(News::Done(self.node));
        }
    }
}

/// Does the work with nodes of this kind and an application that tells its news.
fn with<Q, A>(
    work: Work,
    card: &'static Card<Q>,
    recipe: &Recipe<NodeOf<Q>>,
    (application, heard): (A, UnboundedReceiver<News>),
) -> Future<'static>
where
    Q: Problem,
    A: Application<Command = Q::Command, Notice = Q::Notice>,
{
    let setup = Setup::read(&work.orders.setup, card.takes);
    let node = match setup.and_then(|setup| recipe.nodes(&setup)) {
        Ok(node) => node,
        Err(unfit) => return Box::pin(async { Err(Failure::Usage(unfit.0)) }),
    };
    let make = move |config: Config| Node::new(node(config.id), config);
    begin::<Q, A>(work, card.name, make, (application, heard))
}

/// Does the work with the node that is made in the end, and an application that tells its news.
fn begin<Q, A>(
    work: Work,
    name: &'static str,
    make: impl FnOnce(Config) -> Node<Q::Command, Q::Notice> + 'static,
    (application, heard): (A, UnboundedReceiver<News>),
) -> Future<'static>
where
    Q: Problem,
    A: Application<Command = Q::Command, Notice = Q::Notice>,
{
    let log = Log::new();
    let (clock, records) = (Clock::since(work.orders.epoch_ns), log.clone());
    let tells_at_once = work.orders.tells_at_once;
    let launch = move |config: Config, listener| {
        let node = make(config).listener(listener);
        let node =
            if tells_at_once { node.record(AtOnce, clock) } else { node.record(records, clock) };
        node.start_with(application)
    };
    let lines = move || -> Vec<String> { log.take().iter().map(Record::line).collect() };
    Box::pin(obey_to_the_end(work, name, Box::new(launch), heard, Box::new(lines)))
}

/// Tells the parent all records of a turn, which waits until they are in the pipe.
struct AtOnce;

impl<C: Data, N: Data> Recorder<C, N> for AtOnce {
    fn record(&mut self, record: RecordOf<C, N>) {
        self.record_all(&mut vec![record]);
    }

    fn record_all(&mut self, records: &mut Vec<RecordOf<C, N>>) {
        let mut text = String::new();
        for record in records.drain(..) {
            text.push_str(RECORD);
            text.push(' ');
            text.push_str(&record.line());
            text.push('\n');
        }
        print(&text).expect("the parent can be told");
    }
}

/// Starts the node with its application.
type Launch<C> = Box<dyn FnOnce(Config, TcpListener) -> Starting<Handle<C>>>;

async fn obey_to_the_end<C>(
    work: Work,
    name: &'static str,
    launch: Launch<C>,
    heard: UnboundedReceiver<News>,
    records: Box<dyn FnOnce() -> Vec<String>>,
) -> Result<(), Failure>
where
    C: FromStr<Err = String> + Send + 'static,
{
    let Work { orders, mut lines } = work;
    let at = orders.listen.as_deref().unwrap_or("127.0.0.1:0");
    let listener = TcpListener::bind(at).await?;
    say(&listener.local_addr()?.to_string())?;
    let peers = next(&mut lines).await?.split(',').map(str::to_owned).collect();
    let id = NodeId(orders.id);
    let (seed, setup) = (orders.seed, orders.setup);
    let config = Config { seed, setup, ..Config::new(id, peers, name) };
    let config = if orders.returns { config.returning(Generation::now()) } else { config };
    let handle =
        launch(config, listener).await.map_err(|error| Failure::World(error.to_string()))?;
    let clock = Clock::since(orders.epoch_ns);
    obey(&handle, &mut lines, heard, orders.tells_at_once.then_some(clock)).await?;
    handle.shutdown().await.map_err(|error| Failure::World(error.to_string()))?;
    let mut text = String::new();
    for record in records() {
        text.push_str(&record);
        text.push('\n');
        if text.len() >= BATCH {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    say("end")
}

/// How many bytes of records are said at once: each time costs a call of the system here, and one
/// of the parent's.
const BATCH: usize = 1 << 16;

/// Does what the parent says, and tells it what happens, until it says to quit or goes away; and
/// again and again what time it is, if there is a clock.
async fn obey<C>(
    handle: &Handle<C>,
    lines: &mut Lines<BufReader<Stdin>>,
    mut heard: UnboundedReceiver<News>,
    clock: Option<Clock>,
) -> Result<(), Failure>
where
    C: FromStr<Err = String> + Send + 'static,
{
    let mut soon = interval(Duration::from_millis(5));
    let stopped = |error: vorrang_net::Stopped| Failure::World(error.to_string());
    loop {
        tokio::select! {
            Some(news) = heard.recv() => match news {
                News::Done(_) => say("done")?,
                News::Entered(_) => say("entered")?,
                News::Failed(_, why) => say(&format!("failed {why}"))?,
                News::Gone(_) => {}
            },
            _ = soon.tick(), if clock.is_some() => clock.iter().try_for_each(|clock| {
                say(&format!("clock {}", clock.now_ns()))
            })?,
            line = lines.next_line() => match line?.as_deref() {
                None | Some("quit") => return Ok(()),
                Some("started") => {
                    handle.started().await.map_err(stopped)?;
                    say("started")?;
                }
                Some("counts") => {
                    let status = handle.status().await.map_err(stopped)?;
                    let sent: u64 = status.links.iter().map(|link| link.sent).sum();
                    let received: u64 = status.links.iter().map(|link| link.received).sum();
                    say(&format!("counts {sent} {received}"))?;
                }
                Some("timers") => {
                    let status = handle.status().await.map_err(stopped)?;
                    say(if status.awaits_timer { TIMERS_SET } else { "timers none" })?;
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

/// Says something to the parent. One that has gone is noticed by the end of its orders.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said.map_err(|why| Failure::World(format!("standard output: {why}"))),
    }
}
