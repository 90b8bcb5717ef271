//! All but the nodes themselves: what is under way between them, who watches, and what the nodes'
//! effects act upon.

use std::collections::BTreeMap;
use std::mem;
use std::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, Graph, Message, Monitor, NodeId, Protocol, Violation};
use vorrang_trace::{Loss, Meter, Record, What};

use crate::links::Links;
use crate::queue::{Key, Queue};
use crate::routes::{Fate, Routes};
use crate::time::{Beyond, END_NS, later_ns};
use crate::weather::{Trouble, Weather};
use crate::workload::{Due, Orders};
use crate::{Network, Pending, Random, Recorder, Report, SimError, Workload};

type MeterOf<P, W> = <W as Workload<CommandOf<P>, NoticeOf<P>>>::Meter;
type CommandOf<P> = <P as Protocol>::Command;
type NoticeOf<P> = <P as Protocol>::Notice;
pub(crate) type TagOf<P, W> = <MeterOf<P, W> as Meter<CommandOf<P>, NoticeOf<P>>>::Tag;
pub(crate) type SummaryOf<P, W> = <MeterOf<P, W> as Meter<CommandOf<P>, NoticeOf<P>>>::Summary;

#[derive(Debug)]
pub(crate) struct World<P, M, W, R>
where
    P: Protocol,
    M: Monitor,
    W: Workload<P::Command, P::Notice>,
{
    pub(crate) now_ns: u64,
    pub(crate) queue: Queue<Scheduled<P, M::Tag, TagOf<P, W>>>,
    /// The timers that are set, with the numbers of the events at which they run out.
    pub(crate) timers: BTreeMap<(NodeId, P::Timer), u64>,
    pub(crate) links: Links,
    /// Who can send to whom; everyone to everyone if there is none.
    pub(crate) graph: Option<Graph>,
    /// On which ways messages are passed on; each goes straight to its receiver if there is none.
    pub(crate) routes: Option<Box<Routes<P::Message>>>,
    random: Random,
    pub(crate) monitor: M,
    violations: u64,
    first_violation: Option<(u64, Violation)>,
    pub(crate) meter: MeterOf<P, W>,
    pub(crate) workload: W,
    size: u32,
    /// What the workload has ordered and is not in the queue yet.
    pub(crate) due: Vec<Due<P::Command>>,
    pub(crate) events: u64,
    /// Nothing happens after this.
    pub(crate) end_ns: u64,
    /// Something would have.
    pub(crate) has_ended: bool,
    /// Nothing goes wrong where there is none, and nothing is asked.
    pub(crate) faults: Option<Box<Trouble<P>>>,
    /// What has come to nodes that stand still, in the order in which it came.
    pub(crate) waiting: Waiting<P, M::Tag, TagOf<P, W>>,
    /// Why the run cannot go on.
    pub(crate) failed: Option<SimError>,
    pub(crate) recorder: R,
}

/// What has come to nodes and has not happened yet.
pub(crate) type Waiting<P, T, G> = Vec<(Key, Scheduled<P, T, G>)>;

/// What is under way to a node.
#[derive(Debug)]
pub(crate) struct Scheduled<P: Protocol, T, G> {
    pub(crate) node: NodeId,
    pub(crate) event: Upcoming<P, T, G>,
}

#[derive(Debug)]
pub(crate) enum Upcoming<P: Protocol, T, G> {
    Command(P::Command),
    Message(Letter<P, T, G>),
    Timer(P::Timer),
}

/// A message, and what rides on it.
#[derive(Debug)]
pub(crate) struct Letter<P: Protocol, T, G> {
    pub(crate) from: NodeId,
    pub(crate) message: P::Message,
    /// For the meter.
    pub(crate) past: G,
    /// For the monitor.
    pub(crate) tag: T,
}

impl<P, M, W, R> World<P, M, W, R>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
    R: Recorder<P>,
{
    pub(crate) fn new(
        size: u32,
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
        recorder: R,
    ) -> Self {
        Self {
            now_ns: 0,
            queue: Queue::new(),
            timers: BTreeMap::new(),
            links: Links::new(size as usize, network),
            graph: None,
            routes: None,
            random: Random::new(seed),
            monitor,
            violations: 0,
            first_violation: None,
            meter: workload.meter(size, P::Message::KINDS),
            workload,
            size,
            due: Vec::new(),
            events: 0,
            end_ns: u64::MAX,
            has_ended: false,
            faults: None,
            waiting: Vec::new(),
            failed: None,
            recorder,
        }
    }

    pub(crate) fn count_by(&mut self, kinds: &'static [&'static str]) {
        self.meter = self.workload.meter(self.size, kinds);
    }

    pub(crate) const fn sink(&mut self, at: NodeId) -> Sink<'_, P, M, W, R> {
        Sink { at, world: self }
    }

    pub(crate) fn schedule(
        &mut self,
        at_ns: u64,
        node: NodeId,
        event: Upcoming<P, M::Tag, TagOf<P, W>>,
    ) {
        self.queue.push(at_ns, Scheduled { node, event });
    }

    /// How long a message takes, unless something goes wrong.
    pub(crate) fn draw_latency(&mut self) -> u64 {
        self.links.draw(&mut self.random)
    }

    /// When a message arrives that is passed on from link to link.
    #[cold]
    fn arrival_by_routes(
        &mut self,
        to: NodeId,
        letter: &Letter<P, M::Tag, TagOf<P, W>>,
    ) -> Result<u64, Beyond> {
        let takes_ns = self.travel(to, letter, |_| false).map_or(0, |fate| fate.takes_ns);
        self.links.arrival_after_ns(self.now_ns, takes_ns, letter.from, to)
    }

    /// What becomes of a message on its way, if there are ways, given whether a link loses it.
    pub(crate) fn travel(
        &mut self,
        to: NodeId,
        letter: &Letter<P, M::Tag, TagOf<P, W>>,
        loses: impl Fn(&mut Weather) -> bool,
    ) -> Option<Fate> {
        let Self { routes, links, random, faults, events, .. } = self;
        let routes = routes.as_mut()?;
        Some(routes.travel((letter.from, to), (*events, &letter.message), || Fate {
            takes_ns: links.draw(random),
            is_lost: faults.as_mut().is_some_and(|trouble| loses(&mut trouble.weather)),
        }))
    }

    pub(crate) fn schedule_due(&mut self) {
        // After most events, which are messages, nothing is.
        if self.due.is_empty() {
            return;
        }
        let mut due = mem::take(&mut self.due);
        for Due { in_ns, node, command } in due.drain(..) {
            let at_ns = later_ns(self.now_ns, in_ns);
            if let Some(at_ns) = self.in_time(node, Pending::Command, at_ns) {
                self.schedule(at_ns, node, Upcoming::Command(command));
            }
        }
        self.due = due;
    }

    /// When something will happen to `node`; if that is after the end of time, the run has failed.
    pub(crate) fn in_time(
        &mut self,
        node: NodeId,
        pending: Pending,
        at_ns: Result<u64, Beyond>,
    ) -> Option<u64> {
        match at_ns {
            Ok(at_ns) => Some(at_ns),
            Err(beyond) => {
                self.run_out_of_time(node, pending, beyond);
                None
            }
        }
    }

    #[cold]
    fn run_out_of_time(&mut self, node: NodeId, pending: Pending, Beyond { in_ns }: Beyond) {
        let at_ns = self.now_ns;
        self.failed.get_or_insert(SimError::OutOfTime { node, at_ns, in_ns, pending });
    }

    pub(crate) fn order(&mut self, act: impl FnOnce(&mut W, &mut Orders<'_, P::Command>)) {
        let Self { workload, size, random, now_ns, due, .. } = self;
        act(workload, &mut Orders { nodes: *size, now_ns: *now_ns, random, due });
    }

    /// Whether the run is over though messages travel.
    pub(crate) fn is_done(&self) -> bool {
        let weather = self.faults.as_ref().map(|trouble| &trouble.weather);
        self.workload.is_done(weather.is_some_and(Weather::has_faults_to_come))
    }

    pub(crate) fn on_command(&mut self, at: NodeId, command: &P::Command) {
        self.record(at, || What::Command(command.clone()));
        let objection = self.monitor.on_command(at, command);
        self.judge(objection);
        self.meter.on_command(self.now_ns, at, command);
        self.order(|workload, orders| workload.on_command(at, command, orders));
    }

    /// A message arrives, as event `number`; who sent it, and what it says.
    #[inline]
    pub(crate) fn on_receive(
        &mut self,
        at: NodeId,
        number: u64,
        letter: Letter<P, M::Tag, TagOf<P, W>>,
    ) -> (NodeId, P::Message) {
        let Letter { from, message, past, tag } = letter;
        let seq = if self.faults.is_some() { self.sent_as(number) } else { number };
        self.meter.on_receive(self.now_ns, from, at, past);
        self.monitor.on_receive(at, &tag);
        self.record(at, || What::Receive { from, seq, message: message.clone() });
        (from, message)
    }

    pub(crate) fn judge(&mut self, objection: Result<(), Violation>) {
        if let Err(violation) = objection {
            self.violations += 1;
            self.first_violation.get_or_insert((self.now_ns, violation));
        }
    }

    /// A message for which there is no link: a mistake of the algorithm.
    #[cold]
    fn go_astray(&mut self, from: NodeId, to: NodeId, message: &P::Message) {
        let what = format!("node {from} sent {message} to node {to}, to which it has no link");
        self.judge(Err(Violation { property: "stray message", what }));
        let seq = self.queue.next_number();
        self.record(from, || What::Send { to, seq, message: message.clone() });
        self.record(from, || What::Lost { to, seq, why: Loss::NoLink });
    }

    pub(crate) fn record(&mut self, node: NodeId, what: impl FnOnce() -> What<P>) {
        if self.recorder.listens() {
            self.recorder.record(Record { at_ns: self.now_ns, node, what: what() });
        }
    }

    pub(crate) fn report(&self) -> Report<SummaryOf<P, W>> {
        let weather = self.faults.as_ref().map(|trouble| &trouble.weather);
        let is_silent = self.queue.is_empty() && !weather.is_some_and(Weather::has_faults_to_come);
        let is_over = (is_silent || self.has_ended || self.is_done()) && self.failed.is_none();
        let is_stuck = !is_over && weather.is_some_and(|weather| weather.patience.is_over);
        let at_rest = if is_stuck {
            Some(self.stuck())
        } else {
            self.monitor.at_rest().err().filter(|_| is_over)
        };
        Report {
            summary: self.meter.summary(),
            violations: self.violations,
            first_violation: self.first_violation.clone(),
            is_over,
            at_rest,
            faults: weather.map(|weather| weather.counts).unwrap_or_default(),
            events: self.events,
            now_ns: self.now_ns,
        }
    }

    /// What there is to say of a run that goes on for ever and gets nowhere.
    fn stuck(&self) -> Violation {
        let owed = self.monitor.owed();
        let (property, who) = match owed.first() {
            Some(debt) => (debt.property, format!("node {} still waits", debt.to)),
            None => ("progress", "there is more to do".to_owned()),
        };
        let what = format!("messages go on for ever, nobody gets any further, and {who}");
        Violation { property, what }
    }
}

/// What one node does goes straight into the world.
pub(crate) struct Sink<'a, P, M, W, R>
where
    P: Protocol,
    M: Monitor,
    W: Workload<P::Command, P::Notice>,
{
    at: NodeId,
    world: &'a mut World<P, M, W, R>,
}

impl<P, M, W, R> Effects<P> for Sink<'_, P, M, W, R>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
    R: Recorder<P>,
{
    fn send(&mut self, to: NodeId, message: P::Message) {
        let (from, world) = (self.at, &mut *self.world);
        if let Some(graph) = &world.graph
            && from != to
            && !graph.has(from, to)
        {
            return world.go_astray(from, to, &message);
        }
        let past = world.meter.on_send(from, to, &message);
        let tag = world.monitor.on_send(from);
        let seq = world.queue.next_number();
        world.record(from, || What::Send { to, seq, message: message.clone() });
        let letter = Letter { from, message, past, tag };
        if world.faults.is_some() {
            return world.send_badly(to, letter);
        }
        let at_ns = if world.routes.is_some() {
            world.arrival_by_routes(to, &letter)
        } else {
            world.links.arrival_ns(world.now_ns, from, to, &mut world.random)
        };
        let Some(at_ns) = world.in_time(to, Pending::Message { from }, at_ns) else { return };
        world.schedule(at_ns, to, Upcoming::Message(letter));
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let (at, world) = (self.at, &mut *self.world);
        // A delay that no number holds lies beyond the end of time.
        let ns = |delay: std::time::Duration| u64::try_from(delay.as_nanos()).unwrap_or(END_NS);
        let in_ns = world.random.between(ns(delay.min), ns(delay.max));
        let in_ns = world.faults.as_ref().map_or(in_ns, |it| it.weather.by_clock(at, in_ns));
        let at_ns = later_ns(world.now_ns, in_ns);
        let Some(at_ns) = world.in_time(at, Pending::Timer, at_ns) else { return };
        // What arrives at the very instant at which a time-out ends has arrived in time.
        let event = Scheduled { node: at, event: Upcoming::Timer(timer) };
        let number = world.queue.push_last(at_ns, event);
        world.timers.insert((at, timer), number);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.world.timers.remove(&(self.at, timer));
    }

    fn notify(&mut self, notice: P::Notice) {
        let (at, world) = (self.at, &mut *self.world);
        world.record(at, || What::Notice(notice.clone()));
        let objection = world.monitor.on_notice(at, &notice);
        world.judge(objection);
        world.meter.on_notice(world.now_ns, at, &notice);
        world.order(|workload, orders| workload.on_notice(at, &notice, orders));
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        let value = self.world.random.below(bound.get().into()) as u32;
        self.world.record(self.at, || What::Choice(value));
        value
    }
}
