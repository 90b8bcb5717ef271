//! What the library is compared with: one lock on views between processes, as `vorrang node
//! --on-views` has it, of which the application is inside the node's task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use vorrang_algorithms::mutex::{self, Claim, Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::on_views::{LockBetweenProcesses, founding};
use vorrang_lock::Config;
use vorrang_net::{Application, ApplicationEffects, Generation, Node, Open};
use vorrang_protocol::{Group, NodeId};

use crate::Outcome;
use crate::client::ClientArgs;
use crate::last::{Last, Moment, Tally};
use crate::place::NAMES;

/// What the node's task and the one that gives orders share.
#[derive(Debug, Default)]
struct Turn {
    is_on: AtomicBool,
    tally: Mutex<Tally>,
    /// It was granted the lock, and has not asked for it again: others may not have been heard yet.
    rests: Notify,
}

impl Turn {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks, leaves as soon as it is in, and asks again.
struct Contender {
    turn: Arc<Turn>,
    last: Last,
    asked: Moment,
}

impl Contender {
    fn ask(&mut self, fx: &mut ApplicationEffects<Command>) {
        self.asked = Moment::now();
        fx.command(Command::Acquire(Claim::Exclusive));
    }
}

impl Application for Contender {
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Command>) {
        self.ask(fx);
    }

    fn on_notice(&mut self, notice: Notice, fx: &mut ApplicationEffects<Command>) {
        if !notice.is_entry() {
            return;
        }
        let is_handover = self.turn.tally().granted(&self.last, self.asked);
        let is_handover = is_handover.expect("the file can be read");
        self.last.gives_back().expect("the file can be written");
        fx.command(Command::Release);
        if is_handover && self.turn.is_on.load(Ordering::Relaxed) {
            self.ask(fx);
        } else {
            // Asked for in the node's own task, it would be granted for ever without looking at the
            // network once.
            self.asked = Moment::now();
            self.turn.rests.notify_one();
        }
    }
}

pub(crate) async fn run(
    arguments: &ClientArgs,
    last: Last,
    orders: &mut UnboundedReceiver<String>,
) -> Outcome<()> {
    let turn = Arc::new(Turn::default());
    let contender = Contender { turn: Arc::clone(&turn), last, asked: Moment::now() };
    let node = start(arguments)?.start_with(contender).await?;
    turn.rests.notified().await;
    println!("ready");
    while let Some(line) = orders.recv().await {
        let Some(seconds) = line.strip_prefix("turn ") else {
            return Err(format!("not understood: '{line}'").into());
        };
        let length = Duration::from_secs_f64(seconds.parse()?);
        *turn.tally() = Tally::default();
        let start = Instant::now();
        turn.is_on.store(true, Ordering::Relaxed);
        node.command(Command::Acquire(Claim::Exclusive)).await?;
        while let Some(left) = length.checked_sub(start.elapsed()) {
            if timeout(left, turn.rests.notified()).await.is_ok() {
                node.command(Command::Acquire(Claim::Exclusive)).await?;
            }
        }
        turn.is_on.store(false, Ordering::Relaxed);
        turn.rests.notified().await;
        println!("turned {}", turn.tally().figures(start.elapsed()));
    }
    Ok(())
}

/// The member, with the algorithm and the detector of the library's defaults.
fn start(arguments: &ClientArgs) -> Outcome<Node<Command, Notice>> {
    let members: Vec<(&str, &str)> =
        arguments.members.split(',').filter_map(|it| it.split_once('=')).collect();
    let place = members.iter().position(|(name, _)| *name == arguments.name);
    let id = NodeId(place.ok_or("--name is none of --members")? as u32);
    let peers: Vec<String> = members.iter().map(|(_, address)| (*address).to_owned()).collect();
    let usual = Config::default();
    let (beat, margin) = (usual.beat, usual.margin);
    let founders = NAMES.len() as u32;
    let setup = Setup { beat, margin, ..Setup::new(Group::of(founders)) };
    let entry = vorrang_catalogue::find::<mutex::Mutex>(&usual.algorithm, None)?;
    let by_size = entry.in_every_view(&setup).map_err(|(_, unfit)| unfit)?;
    let generation = Generation::now();
    let pauses = Some(vorrang_net::Timing::default().backoff_max);
    let founding = founding(generation.number(), founders, &setup, pauses);
    let lock = LockBetweenProcesses::new(by_size, None);
    let born = (generation.number(), Some(founding));
    let machine = lock.without_memory(id, &setup, born);
    let config = vorrang_net::Config::new(id, peers, &usual.algorithm);
    Ok(Node::new(machine, config.open(Open::new(generation, founders))))
}
