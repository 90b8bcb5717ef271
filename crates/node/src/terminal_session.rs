//! One node on a terminal: obeys typed commands, and prints events.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::NodeOf;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::network::Future;
use vorrang_experiment::problem::header;
use vorrang_experiment::tracefile::TraceWriter;
use vorrang_experiment::values::WallTime;
use vorrang_net::{
    Clock, Config, Event, Generation, Goodbye, Handle, LinkState, LinkStatus, Log, NetError,
    RateLimit, ReleaseOutcome, Stage, Starting, Status, Stopped,
};
use vorrang_protocol::{Needs, NodeId, Protocol as _};
use vorrang_trace::Writer;

use crate::command_queue::{CommandQueue, in_words, wrap};
use crate::hosted::Hosted;
use crate::input::{Input, MAX_LINE, Typed};
use crate::node_status;
use crate::nonblocking_output::{NonblockingOutput, harmless};
use crate::options::Node;
use crate::order::{Order, help};
use crate::signals::Signals;
use crate::terminal::{BOLD, DIM, RESET, is_closed};

/// A node that is to be run.
pub(crate) struct Served {
    pub(crate) about: About,
    pub(crate) setup: Setup,
    pub(crate) node: Node,
    pub(crate) voice: NonblockingOutput,
}

/// Runs one node until it leaves.
pub(crate) fn serve<Q: Hosted>(
    served: Served,
    make: &registry::Node<NodeOf<Q>>,
    needs: Needs,
) -> Future<'static> {
    let Served { about, setup, node, voice } = served;
    let (id, name) = (NodeId(node.number()), about.name);
    // Nodes that are set up differently would let too many in, so they must agree on it.
    let config = Config {
        group: node.group.clone(),
        setup: setup.text(about.takes),
        listen: node.listen.clone(),
        timing: node.timing(),
        needs,
        ..Config::new(id, node.peers.clone(), name)
    };
    // A process of a machine that stands it comes back without its memory; but what it then does
    // depends on the time, which is in no trace.
    let may_return = node.udp().is_none() && node.trace.is_none();
    let returns = may_return && make(id).without_memory(0).is_some();
    let config = if returns { config.returning(Generation::now()) } else { config };
    let log = node.trace.as_ref().map(|_| Log::new());
    let starting = match node.udp() {
        None => start::<Q, _>(vorrang_net::Node::new(make(id), config), log.as_ref()),
        Some(udp) => {
            start::<Q, _>(vorrang_net::Node::over_udp(udp, make(id), config), log.as_ref())
        }
    };
    let save = move |file: TraceWriter| {
        let Some(log) = log else { return Ok(()) };
        let header = header(&about, &setup).with("driver", &"node").with("node", &id);
        let records = log.take();
        let mut writer = Writer::new(file, &header)?;
        records.iter().try_for_each(|record| writer.write(record))?;
        writer.finish(None, None)?.finish()
    };
    Box::pin(attend::<Q>(name, (node, voice), starting, Box::new(save)))
}

/// Starts a node, on any network.
fn start<Q: Hosted, T>(
    mut node: vorrang_net::Node<Q::Command, Q::Notice, T>,
    log: Option<&Log<Q::Command, Q::Notice>>,
) -> Starting<Started<Q>> {
    if let Some(steps) = Q::steps() {
        node = node.steps(steps);
    }
    if let Some(log) = log {
        node = node.record(log.clone(), Clock::start());
    }
    node.start()
}

pub(super) type Started<Q> =
    (Handle<<Q as Problem>::Command>, UnboundedReceiver<<Q as Problem>::Notice>);

pub(super) async fn attend<Q: Hosted>(
    name: &'static str,
    (node, voice): (Node, NonblockingOutput),
    starting: Starting<Started<Q>>,
    save: Box<dyn FnOnce(TraceWriter) -> std::io::Result<()>>,
) -> Result<(), Failure> {
    let id = NodeId(node.number());
    // A trace that cannot be written is no surprise for the end.
    let create = |path: PathBuf| match TraceWriter::create(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(Failure::at(&path, error)),
    };
    let own = node.listens_on().to_owned();
    let leave_within = node.leave_within;
    let trace = node.trace.map(create).transpose()?;
    let mut signals = Signals::listen()?;
    let (handle, notices) = starting.await.map_err(not_started)?;
    let (nodes, views) = (node.peers.len(), node.views.is_on());
    voice.tell(if views {
        format!("node {id} of at most {nodes} listens on {own}, running {name} on views")
    } else {
        format!("node {id} of {nodes} listens on {own}, running {name}")
    });
    let mut talk = TerminalSession::<Q> {
        name,
        events: handle.events(),
        notices,
        has_started: false,
        is_on_views: views,
        lost_at: Arc::default(),
        in_line: CommandQueue::to(&handle, &voice, Q::waits, Q::obeyed),
        strangers: RateLimit::new(20, Duration::from_secs(1)),
        members: RateLimit::new(200, Duration::from_millis(100)),
        handle,
        voice,
    };
    let ended = talk.converse(&mut signals, node.stay).await;
    let impatient = tokio::spawn(signals.die_of_the_next());
    let status = talk.handle.status().await;
    let left = talk.leave(leave_within, status.as_ref().ok()).await;
    if let Some((path, file)) = trace {
        save(file).map_err(|error| Failure::at(&path, error))?;
    }
    impatient.abort();
    left.map_err(|error| stopped(&error))?;
    ended?;
    if is_closed() {
        return Err(Failure::World("standard output was closed".into()));
    }
    match status.ok().and_then(|status| kept_out(&status)) {
        Some(why) => Err(Failure::World(format!("this node could not take part: {why}"))),
        None => Ok(()),
    }
}

/// Why a node never started, if a peer refused it, or it refused a peer that it needed.
fn kept_out(status: &Status) -> Option<String> {
    let refused = |link: &LinkStatus| match &link.state {
        LinkState::Refused(why) => Some(format!("node {}: {why}", link.peer)),
        LinkState::Connected(_) | LinkState::Connecting(_) | LinkState::Gone(_) => None,
    };
    let of_links = || status.links.iter().find_map(refused).filter(|_| !status.started);
    status.fenced.clone().or_else(of_links)
}

/// A port in use is the world's fault, a list of peers that makes no sense is the caller's.
fn not_started(error: NetError) -> Failure {
    match error {
        NetError::Bind { .. } | NetError::Multicast { .. } => Failure::World(error.to_string()),
        other => Failure::Usage(other.to_string()),
    }
}

/// A node, and those who listen to it and speak to it.
struct TerminalSession<Q: Hosted> {
    name: &'static str,
    handle: Handle<Q::Command>,
    notices: UnboundedReceiver<Q::Notice>,
    events: broadcast::Receiver<Event>,
    voice: NonblockingOutput,
    has_started: bool,
    is_on_views: bool,
    /// When what this node had was taken from it, and it has not been told so in answer to a
    /// command.
    lost_at: Arc<Mutex<Option<Instant>>>,
    /// Where commands wait that are obeyed one after the other.
    in_line: CommandQueue<Q::Command>,
    /// How much is said of those who do not belong here, and how much of those who do.
    strangers: RateLimit,
    members: RateLimit,
}

impl<Q: Hosted> TerminalSession<Q> {
    /// Obeys typed commands and prints events, until either ends.
    async fn converse(&mut self, signals: &mut Signals, stay: bool) -> Result<(), Failure> {
        let mut input = Input::new(tokio::io::stdin());
        let mut has_input = true;
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        // A node whose output is closed need not stay.
        while !is_closed() {
            tokio::select! {
                Some(notice) = self.notices.recv() => self.notice(&notice),
                event = self.events.recv() => match event {
                    // The node has ended by itself; leaving says why.
                    Err(RecvError::Closed) => return Ok(()),
                    event => self.event(event),
                },
                typed = input.next(), if has_input && self.in_line.has_room() => match typed? {
                    None if stay => has_input = false,
                    None => return Ok(()),
                    Some(Typed::TooLong) => {
                        let why = format!("a line of more than {MAX_LINE} bytes is no command");
                        self.voice.tell(why);
                    }
                    Some(Typed::Line(line)) => {
                        if self.obey(&line).await? {
                            return Ok(());
                        }
                    }
                },
                signal = signals.next() => {
                    self.aside(&format!("told to stop by {signal}"));
                    return Ok(());
                }
                _ = tick.tick() => self.settle_accounts(Instant::now()),
            }
        }
        Ok(())
    }

    /// Does what a line says. True if that is to leave.
    async fn obey(&mut self, line: &str) -> Result<bool, Failure> {
        match Order::read::<Q>(line) {
            Ok(None) => {}
            Ok(Some(Order::Quit)) => return Ok(true),
            Ok(Some(Order::Help)) => self.voice.tell(help::<Q>()),
            Ok(Some(Order::Status)) => {
                self.voice.tell(node_status::in_words(&self.status().await?, self.name));
            }
            Ok(Some(Order::StatusInJson)) => {
                self.voice.tell(node_status::in_json(&self.status().await?, self.name));
            }
            Ok(Some(Order::State)) => self.voice.tell(node_status::state(&self.status().await?)),
            Ok(Some(Order::Withdraw)) => {
                let outcome = self.handle.withdraw().await;
                self.voice.tell(
                    outcome.map_or_else(|error| in_words(&error), |()| "withdrawn".to_owned()),
                );
            }
            Ok(Some(Order::Command(command, within))) => self.pass_on(command, within),
            Err(why) => self.voice.tell(wrap(&harmless(&why))),
        }
        Ok(false)
    }

    /// Gives the node a command. Before all nodes have met it waits with the node; the conversation
    /// must not.
    fn pass_on(&self, command: Q::Command, within: Option<WallTime>) {
        if Q::said("").is_some() {
            return self.in_line.push(command);
        }
        let (handle, voice) = (self.handle.clone(), self.voice.clone());
        let lost_at = Arc::clone(&self.lost_at);
        tokio::spawn(async move {
            let outcome = match within {
                Some(within) => handle.ask_within(command.clone(), within.0).await,
                None => handle.command(command.clone()).await,
            };
            match outcome {
                Ok(()) => {
                    let lost = Q::ends(&command).then(|| remembered(&lost_at).take()).flatten();
                    let answer = match lost {
                        Some(at) => Some(wrap(&lost_in_words(at.elapsed()))),
                        None => Q::obeyed(&command).map(str::to_owned),
                    };
                    if let Some(answer) = answer {
                        voice.tell(answer);
                    }
                }
                Err(error) => voice.tell(in_words(&error)),
            }
        });
    }

    async fn status(&self) -> Result<Status, Failure> {
        self.handle.status().await.map_err(|error| stopped(&error))
    }

    fn notice(&self, notice: &Q::Notice) {
        if let Some(has_room) = Q::room(notice) {
            // Lines wait by themselves.
            return self.in_line.is_full.store(!has_room, Ordering::Relaxed);
        }
        match Q::loses(notice) {
            Some(true) => *remembered(&self.lost_at) = Some(Instant::now()),
            Some(false) => *remembered(&self.lost_at) = None,
            None => {}
        }
        self.voice.tell(format!("{BOLD}{}{RESET}", harmless(&notice.to_string())));
    }

    fn event(&mut self, event: Result<Event, RecvError>) {
        let event = match event {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                self.aside(&format!("{missed} events were too many to show"));
                return;
            }
            Err(RecvError::Closed) => return,
        };
        self.has_started |= event == Event::Started;
        let ration = match &event {
            // The consequences are printed by a later event.
            Event::Left { .. } if self.has_started && !self.is_on_views => return,
            // The view says it all.
            Event::Started if self.is_on_views => return,
            // That is an answer to what was typed.
            Event::TimedOut { .. } => {
                self.voice.tell(format!("{BOLD}{}{RESET}", wrap(&event.to_string())));
                return;
            }
            Event::Malformed { .. } | Event::WeRefused { .. } | Event::Stray { .. } => {
                &mut self.strangers
            }
            Event::Connected { .. }
            | Event::Lost { .. }
            | Event::RefusedUs { .. }
            | Event::Unanswered { .. }
            | Event::GivenUp { .. }
            | Event::Left { .. }
            | Event::Missing { .. }
            | Event::Gone { .. }
            | Event::Undelivered { .. }
            | Event::Doubt { .. }
            | Event::WithdrawnReleased
            | Event::Started
            | Event::Returned
            | Event::TooLarge { .. }
            | Event::Unsent { .. }
            | Event::Unicast { .. }
            | Event::Replaced { .. }
            | Event::Given { .. }
            | Event::View(_)
            | Event::Fenced { .. } => &mut self.members,
        };
        if let Some(missed) = ration.ask(Instant::now()) {
            self.say_missed(missed);
            self.aside(&event.to_string());
        }
    }

    /// Says how much was left out, if nothing else comes to say it and it is time by now.
    fn settle_accounts(&mut self, now: Instant) {
        for missed in
            [self.strangers.suppressed(now), self.members.suppressed(now)].into_iter().flatten()
        {
            self.say_missed(missed);
        }
    }

    fn say_missed(&self, missed: u64) {
        if missed > 0 {
            self.aside(&format!("… and {missed} more like that, left out: too many at once"));
        }
    }

    fn aside(&self, text: &str) {
        self.voice.aside(format!("{DIM}{}{RESET}", wrap(&harmless(text))));
    }

    /// Waits until all typed messages are sent, and no member needs this node for them any more; no
    /// longer than this.
    async fn see_through(&mut self, within: WallTime) -> Result<(), Stopped> {
        let (begun, mut tick) = (Instant::now(), tokio::time::interval(Duration::from_millis(20)));
        while begun.elapsed() < within.0 {
            tokio::select! {
                Some(notice) = self.notices.recv() => self.notice(&notice),
                Ok(event) = self.events.recv() => self.event(Ok(event)),
                _ = tick.tick() => {
                    let is_said = self.in_line.is_empty();
                    let status = self.handle.status().await?;
                    if !status.started || (is_said && !status.owes) {
                        return Ok(());
                    }
                }
            }
        }
        self.voice.tell(wrap(&format!(
            "the last messages may not have reached all members within {within} (--leave-within)"
        )));
        Ok(())
    }

    /// Leaves the group, and tells what happens meanwhile.
    async fn leave(&mut self, within: WallTime, status: Option<&Status>) -> Result<(), Stopped> {
        if Q::said("").is_some() {
            self.see_through(within).await?;
        }
        let stage = status.and_then(|status| status.turn).map(|(stage, _)| stage);
        if matches!(stage, Some(Stage::Waiting | Stage::GivenUp)) {
            self.voice.tell(wrap(&format!(
                "withdrawn; leaves when what it asked for was granted and released, in {within} at \
                 the latest"
            )));
        }
        let mut leaving = Box::pin(self.handle.clone().leave(within.0));
        let goodbye = loop {
            tokio::select! {
                goodbye = &mut leaving => break goodbye?,
                Some(notice) = self.notices.recv() => self.notice(&notice),
                Ok(event) = self.events.recv() => self.event(Ok(event)),
            }
        };
        // There is no later.
        self.settle_accounts(Instant::now() + Duration::from_secs(3600));
        let Goodbye { unacknowledged, let_go } = goodbye;
        match let_go {
            ReleaseOutcome::Nothing | ReleaseOutcome::Withdrawn => {}
            ReleaseOutcome::Released => self.voice.tell("released"),
            ReleaseOutcome::Abandoned => self.voice.tell(wrap(
                "its request is still pending: the nodes that grant it will wait for this node",
            )),
        }
        self.voice.tell(match unacknowledged {
            0 => "left".to_owned(),
            1 => wrap("left; 1 message was not acknowledged by a node that could not be reached"),
            many => wrap(&format!(
                "left; {many} messages were not acknowledged by nodes that could not be reached"
            )),
        });
        Ok(())
    }
}

fn remembered<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer to a release of what was lost before.
fn lost_in_words(ago: Duration) -> String {
    format!(
        "nothing to release: the lock was lost {:.1} s ago, when the others went on without this \
         node, which they had not heard in time; since then another may have entered",
        ago.as_secs_f64()
    )
}

fn stopped(stopped: &Stopped) -> Failure {
    Failure::World(stopped.to_string())
}
