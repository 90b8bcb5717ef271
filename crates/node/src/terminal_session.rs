//! One node on a terminal: obeys typed commands, and prints events.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use vorrang_algorithms::card::About;
use vorrang_algorithms::mutex::FencingToken;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Setup;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::tracefile::TraceWriter;
use vorrang_experiment::values::WallTime;
use vorrang_net::{
    CommandError, Event, Goodbye, Handle, NetError, RateLimit, ReleaseOutcome, Service, Stage,
    Starting, Status, Stopped,
};
use vorrang_protocol::NodeId;

use crate::command_queue::{CommandQueue, in_words, wrap};
use crate::hosted::Hosted;
use crate::input::{Input, MAX_LINE, Typed};
use crate::lost::{Lost, lost_in_words, remembered};
use crate::node_status;
use crate::nonblocking_output::NonblockingOutput;
use crate::options::Node;
use crate::order::{Order, help};
use crate::signals::Signals;
use crate::terminal::{BOLD, DIM, RESET, harmless, is_closed};

/// How long a request waits for its node to have another id.
const RENEWED_WITHIN: Duration = Duration::from_secs(10);

/// A node that is to be run.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) about: About,
    pub(crate) setup: Setup,
    pub(crate) node: Node,
    pub(crate) output: NonblockingOutput,
    /// The one at which others have found it, if they were to find each other.
    pub(crate) socket: Option<Arc<UdpSocket>>,
}

pub(super) type Started<Q> =
    (Handle<<Q as Problem>::Command>, UnboundedReceiver<<Q as Problem>::Notice>);

/// Starts a node anew whose id another process has: under another id, which was drawn for it, and
/// not under this one.
pub(super) type StartAgain<Q> = Box<dyn Fn(NodeId) -> StartingAgain<Q>>;

pub(super) type StartingAgain<Q> =
    Pin<Box<dyn std::future::Future<Output = Result<Started<Q>, Failure>>>>;

pub(super) async fn attend<Q: Hosted>(
    name: &'static str,
    (node, output): (Node, NonblockingOutput),
    (starting, again): (Starting<Started<Q>>, Option<StartAgain<Q>>),
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
    output.tell(if views {
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
        latest: again.is_some().then(|| watch::Sender::new(handle.clone())),
        again,
        asked: None,
        token: None,
        lost: Arc::default(),
        in_line: CommandQueue::to(&handle, &output, Q::waits, Q::obeyed),
        strangers: RateLimit::new(20, Duration::from_secs(1)),
        members: RateLimit::new(200, Duration::from_millis(100)),
        handle,
        output,
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
    match status.ok().and_then(|status| node_status::kept_out(&status)) {
        Some(why) => Err(Failure::World(format!("this node could not take part: {why}"))),
        None => Ok(()),
    }
}

/// A port in use is the world's fault, a list of peers that makes no sense is the caller's.
pub(super) fn not_started(error: NetError) -> Failure {
    match error {
        NetError::Bind { .. } | NetError::Multicast { .. } | NetError::Unreadable { .. } => {
            Failure::World(error.to_string())
        }
        other => Failure::Usage(other.to_string()),
    }
}

/// A node, and those who listen to it and speak to it.
struct TerminalSession<Q: Hosted> {
    name: &'static str,
    handle: Handle<Q::Command>,
    notices: UnboundedReceiver<Q::Notice>,
    events: broadcast::Receiver<Event>,
    output: NonblockingOutput,
    has_started: bool,
    is_on_views: bool,
    /// That of the last entry.
    token: Option<FencingToken>,
    /// How it gets another id, if that is not for those to say who start it.
    again: Option<StartAgain<Q>>,
    /// Itself, whenever it has another id; for those who have asked it under the one before.
    latest: Option<watch::Sender<Handle<Q::Command>>>,
    /// The last request.
    asked: Option<(Q::Command, Option<WallTime>)>,
    /// When what this node had was taken from it, and it has not been told so in answer to a
    /// command; and why.
    lost: Arc<Mutex<Lost>>,
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
                    Ok(event @ Event::Replaced { .. }) if self.again.is_some() => {
                        self.event(Ok(event));
                        self.start_again().await?;
                    }
                    event => {
                        let is_fenced =
                            matches!(event, Ok(Event::Replaced { .. } | Event::Fenced { .. }));
                        self.event(event);
                        if is_fenced {
                            self.say_if_it_waits_in_vain().await;
                        }
                    }
                },
                typed = input.next(), if has_input && self.in_line.has_room() => match typed? {
                    None if stay => has_input = false,
                    None => return Ok(()),
                    Some(Typed::TooLong) => {
                        let why = format!("a line of more than {MAX_LINE} bytes is no command");
                        self.output.tell(why);
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
            Ok(Some(Order::Help)) => self.output.tell(help::<Q>()),
            Ok(Some(Order::Status)) => {
                self.output.tell(node_status::in_words(&self.status().await?, self.name));
            }
            Ok(Some(Order::StatusInJson)) if self.is_on_views && Q::steps().is_some() => {
                let (status, name) = (self.status().await?, self.name);
                self.output.tell(node_status::on_views_in_json(&status, name, self.token));
            }
            Ok(Some(Order::StatusInJson)) => {
                self.output.tell(node_status::in_json(&self.status().await?, self.name));
            }
            Ok(Some(Order::State)) => self.output.tell(node_status::state(&self.status().await?)),
            Ok(Some(Order::Withdraw)) => {
                let outcome = self.handle.withdraw().await;
                self.output.tell(
                    outcome.map_or_else(|error| in_words(&error), |()| "withdrawn".to_owned()),
                );
            }
            Ok(Some(Order::Command(command, within))) => {
                if !Q::ends(&command) {
                    self.asked = Some((command.clone(), within));
                }
                self.pass_on(command, within);
            }
            Err(why) => self.output.tell(wrap(&harmless(&why))),
        }
        Ok(false)
    }

    /// A request of a node that may not act is neither granted nor refused: whoever has asked is
    /// told so.
    async fn say_if_it_waits_in_vain(&self) {
        let Ok(status) = self.handle.status().await else { return };
        if let (Some(why), Some((Stage::Waiting, _))) = (status.fenced, status.turn) {
            self.output.tell(wrap(&harmless(&format!(
                "what it waits for is not granted as long as this node must not act: {why}"
            ))));
        }
    }

    /// Starts the node anew under another id, and asks once more for what it waited for: two
    /// newcomers that join by two members at once may be given the same id, and one keeps it.
    async fn start_again(&mut self) -> Result<(), Failure> {
        let Some(again) = &self.again else { return Ok(()) };
        let status = self.handle.status().await.ok();
        let was_waiting =
            status.and_then(|status| status.turn).is_some_and(|(stage, _)| stage == Stage::Waiting);
        let id = self.handle.id();
        // So that its address is free.
        self.handle.clone().kill().await;
        let started = again(id);
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(&notice);
        }
        let (handle, notices) = started.await?;
        self.aside(&format!("joins again, as node {}", handle.id()));
        (self.events, self.notices) = (handle.events(), notices);
        self.in_line = CommandQueue::to(&handle, &self.output, Q::waits, Q::obeyed);
        if let Some(latest) = &self.latest {
            latest.send_replace(handle.clone());
        }
        self.handle = handle;
        if let Some((command, within)) = self.asked.clone().filter(|_| was_waiting) {
            self.pass_on(command, within);
        }
        Ok(())
    }

    /// Gives the node a command. Before all nodes have met it waits with the node; the conversation
    /// must not.
    fn pass_on(&self, command: Q::Command, within: Option<WallTime>) {
        if Q::said("").is_some() {
            return self.in_line.push(command);
        }
        let (mut handle, output) = (self.handle.clone(), self.output.clone());
        let lost = Arc::clone(&self.lost);
        let mut latest = self.latest.as_ref().map(watch::Sender::subscribe);
        tokio::spawn(async move {
            let outcome = loop {
                let outcome = match within {
                    Some(within) => handle.ask_within(command.clone(), within.0).await,
                    None => handle.command(command.clone()).await,
                };
                let is_in_vain =
                    matches!(outcome, Err(CommandError::Fenced(_) | CommandError::Stopped(_)));
                match latest.as_mut().filter(|_| is_in_vain && !Q::ends(&command)) {
                    Some(latest) => match renewed(latest, handle.id()).await {
                        Some(renewed) => handle = renewed,
                        None => break outcome,
                    },
                    None => break outcome,
                }
            };
            let Lost { at, why } = *remembered(&lost);
            let at = at.filter(|_| Q::ends(&command));
            // It is the answer as long as this node may not act.
            if at.is_some() && !matches!(outcome, Err(CommandError::Fenced(_))) {
                remembered(&lost).at = None;
            }
            let answer = match (at, outcome) {
                (Some(at), _) => Some(wrap(&lost_in_words(at.elapsed(), why))),
                (None, Ok(())) => Q::obeyed(&command).map(str::to_owned),
                (None, Err(error)) => Some(in_words(&error)),
            };
            if let Some(answer) = answer {
                output.tell(answer);
            }
        });
    }

    async fn status(&self) -> Result<Status, Failure> {
        self.handle.status().await.map_err(|error| stopped(&error))
    }

    fn notice(&mut self, notice: &Q::Notice) {
        if let Some(has_room) = Q::room(notice) {
            // Lines wait by themselves.
            return self.in_line.is_full.store(!has_room, Ordering::Relaxed);
        }
        self.token = Q::token(notice).or(self.token);
        match Q::loses(notice) {
            Some(true) => remembered(&self.lost).at = Some(Instant::now()),
            Some(false) => *remembered(&self.lost) = Lost::default(),
            None => {}
        }
        self.output.tell(format!("{BOLD}{}{RESET}", harmless(&notice.to_string())));
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
        if let Event::Evicted(why) = event {
            remembered(&self.lost).why = Some(why);
        }
        let ration = match &event {
            // The consequences are printed by a later event.
            Event::Left { .. } if self.has_started && !self.is_on_views => return,
            // The view says it all, and whoever multicasts is told of that.
            Event::Started if self.is_on_views => return,
            Event::View(_) if Q::SERVICE == Service::Multicasts => return,
            // That is an answer to what was typed.
            Event::TimedOut { .. } => {
                self.output.tell(format!("{BOLD}{}{RESET}", wrap(&event.to_string())));
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
            | Event::Evicted(_)
            | Event::Given { .. }
            | Event::View(_)
            | Event::NoMajority { .. }
            | Event::Superseded { .. }
            | Event::Majority { .. }
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
        self.output.aside(format!("{DIM}{}{RESET}", wrap(&harmless(text))));
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
        self.output.tell(wrap(&format!(
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
            let when = if self.is_on_views {
                "the others go on without it"
            } else {
                "what it asked for was granted and released"
            };
            self.output
                .tell(wrap(&format!("withdrawn; leaves when {when}, in {within} at the latest")));
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
            ReleaseOutcome::Released => self.output.tell("released"),
            ReleaseOutcome::Abandoned if self.is_on_views => self.output.tell(wrap(
                "its request was not granted in time: it is gone with this node, and the others \
                 go on without both",
            )),
            ReleaseOutcome::Abandoned => self.output.tell(wrap(
                "its request is still pending: the nodes that grant it will wait for this node",
            )),
        }
        self.output.tell(match unacknowledged {
            0 => "left".to_owned(),
            1 => wrap("left; 1 message was not acknowledged by a node that could not be reached"),
            many => wrap(&format!(
                "left; {many} messages were not acknowledged by nodes that could not be reached"
            )),
        });
        Ok(())
    }
}

/// The node under another id than this, as soon as it has one.
async fn renewed<C: Send + 'static>(
    latest: &mut watch::Receiver<Handle<C>>,
    before: NodeId,
) -> Option<Handle<C>> {
    let is_other = |handle: &Handle<C>| handle.id() != before;
    let renewed = tokio::time::timeout(RENEWED_WITHIN, latest.wait_for(is_other)).await;
    renewed.ok()?.ok().map(|handle| handle.clone())
}

fn stopped(stopped: &Stopped) -> Failure {
    Failure::World(stopped.to_string())
}
