//! Everything but the nodes themselves: events in flight, monitors and meters, and the targets of
//! the nodes' effects.

mod under_faults;

use std::mem;
use std::num::NonZeroU32;

use vorrang_erased::{AnyNode, Driver, MessageId, Messages, Stored, TimerId};
use vorrang_protocol::{Data, Graph, Monitor, NodeId, Violation};
use vorrang_trace::{Loss, Meter, Record, Sent, What};

use crate::fault_injector::FaultInjector;
use crate::links::Links;
use crate::queue::{Key, Queue};
use crate::routes::{Fate, Routes};
use crate::time::{Beyond, later_ns};
use crate::workload::{Due, WorkloadEffects};
use crate::{Network, Pending, Random, Recorder, Report, SimError, Workload};

type MeterOf<M, W> = <W as Workload<CommandOf<M>, NoticeOf<M>>>::Meter;
pub(crate) type CommandOf<M> = <M as Monitor>::Command;
pub(crate) type NoticeOf<M> = <M as Monitor>::Notice;
pub(crate) type TagOf<M, W> = <MeterOf<M, W> as Meter<CommandOf<M>, NoticeOf<M>>>::Tag;
pub(crate) type SummaryOf<M, W> = <MeterOf<M, W> as Meter<CommandOf<M>, NoticeOf<M>>>::Summary;
/// Nodes of no type, in whose terms a run is recorded.
pub(crate) type NodeOf<M> = AnyNode<CommandOf<M>, NoticeOf<M>>;
/// An event in flight to a node.
pub(crate) type ScheduledOf<M, W> = Scheduled<CommandOf<M>, <M as Monitor>::Tag, TagOf<M, W>>;
pub(crate) type UpcomingOf<M, W> = Upcoming<CommandOf<M>, <M as Monitor>::Tag, TagOf<M, W>>;
pub(crate) type LetterOf<M, W> = Envelope<<M as Monitor>::Tag, TagOf<M, W>>;

#[derive(Debug)]
pub(crate) struct World<M, W, R>
where
    M: Monitor,
    W: Workload<M::Command, M::Notice>,
{
    pub(crate) now_ns: u64,
    pub(crate) queue: Queue<ScheduledOf<M, W>>,
    /// For each timer, the number of the event at which it runs out, if it is set.
    pub(crate) timers: Vec<u64>,
    pub(crate) links: Links,
    /// The communication graph; complete if there is none.
    pub(crate) graph: Option<Graph>,
    /// On which ways messages are passed on; each goes straight to its receiver if there is none.
    pub(crate) routes: Option<Box<Routes>>,
    random: Random,
    pub(crate) monitor: M,
    violations: u64,
    first_violation: Option<(u64, Violation)>,
    pub(crate) meter: MeterOf<M, W>,
    pub(crate) workload: W,
    size: u32,
    /// Commands of the workload that are not in the queue yet.
    pub(crate) due: Vec<Due<M::Command>>,
    pub(crate) events: u64,
    /// Nothing happens after this.
    pub(crate) end_ns: u64,
    /// Something would have.
    pub(crate) has_ended: bool,
    /// Nothing goes wrong where there is none, and nothing is asked.
    pub(crate) faults: Option<Box<FaultInjector>>,
    /// Events for paused nodes, in the order of arrival.
    pub(crate) waiting: Waiting<M, W>,
    /// Why the run cannot go on.
    pub(crate) failed: Option<SimError>,
    pub(crate) recorder: R,
    /// Whose turn it is.
    pub(crate) acting: NodeId,
    /// Whether messages are looked into: where they are recorded, lost, doubled or routed.
    pub(crate) inspects: bool,
    /// The message that was sent last, by which node and at which event.
    sent_last: Option<(NodeId, MessageId, u64)>,
}

/// Events that have reached nodes and were not handled yet.
pub(crate) type Waiting<M, W> = Vec<(Key, ScheduledOf<M, W>)>;

/// An event in flight to a node.
#[derive(Debug)]
pub(crate) struct Scheduled<C, T, G> {
    pub(crate) node: NodeId,
    pub(crate) event: Upcoming<C, T, G>,
}

#[derive(Debug)]
pub(crate) enum Upcoming<C, T, G> {
    Command(C),
    Message(Envelope<T, G>),
    Timer(TimerId),
}

/// A message, and what rides on it.
#[derive(Debug)]
pub(crate) struct Envelope<T, G> {
    pub(crate) from: NodeId,
    pub(crate) message: MessageId,
    /// For the meter.
    pub(crate) past: G,
    /// For the monitor.
    pub(crate) tag: T,
}

/// The number of no event: a timer that is not set.
pub(crate) const NEVER: u64 = u64::MAX;

impl<M, W, R> World<M, W, R>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
    R: Recorder<NodeOf<M>>,
{
    pub(crate) fn new(
        size: u32,
        kinds: &'static [&'static str],
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
        recorder: R,
    ) -> Self {
        Self {
            now_ns: 0,
            queue: Queue::new(),
            timers: Vec::new(),
            links: Links::new(size as usize, network),
            graph: None,
            routes: None,
            random: Random::new(seed),
            monitor,
            violations: 0,
            first_violation: None,
            meter: workload.meter(size, kinds),
            workload,
            size,
            due: Vec::new(),
            sent_last: None,
            events: 0,
            end_ns: u64::MAX,
            has_ended: false,
            faults: None,
            waiting: Vec::new(),
            failed: None,
            recorder,
            acting: NodeId(0),
            inspects: true,
        }
    }

    /// Decides whether messages are looked into, before anything happens.
    pub(crate) fn settle(&mut self) {
        self.inspects = self.recorder.listens() || self.routes.is_some() || self.faults.is_some();
    }

    pub(crate) fn schedule(&mut self, at_ns: u64, node: NodeId, event: UpcomingOf<M, W>) {
        self.queue.push(at_ns, Scheduled { node, event });
    }

    /// Routes keep the message that was sent last, to know a further copy of it.
    pub(crate) fn routes_keep_a_message(&self) -> bool {
        self.routes.as_ref().is_some_and(|routes| routes.has_last())
    }

    fn are_linked(&self, from: NodeId, to: NodeId) -> bool {
        self.graph.as_ref().is_none_or(|graph| from == to || graph.has(from, to))
    }

    /// How long a message takes, unless something goes wrong.
    pub(crate) fn draw_latency(&mut self, from: NodeId, to: NodeId) -> u64 {
        self.links.draw(from, to, &mut self.random)
    }

    /// When a message arrives that is passed on from link to link.
    #[cold]
    fn arrival_by_routes(
        &mut self,
        to: NodeId,
        letter: &LetterOf<M, W>,
        messages: &mut dyn Messages,
    ) -> Result<u64, Beyond> {
        let takes_ns = self.travel(to, letter, messages, |_| false).map_or(0, |fate| fate.takes_ns);
        self.links.arrival_after_ns(self.now_ns, takes_ns, letter.from, to)
    }

    /// The fate of a message along its route, if there are routes, given whether a link loses it.
    pub(crate) fn travel(
        &mut self,
        to: NodeId,
        letter: &LetterOf<M, W>,
        messages: &mut dyn Messages,
        loses: impl Fn(&mut FaultInjector) -> bool,
    ) -> Option<Fate> {
        let Self { routes, links, random, faults, events, .. } = self;
        let routes = routes.as_mut()?;
        Some(routes.travel((letter.from, to), (*events, letter.message), messages, |from, to| {
            Fate {
                takes_ns: links.draw(from, to, random),
                is_lost: faults.as_deref_mut().is_some_and(&loses),
            }
        }))
    }

    /// After most events, which are messages, nothing is due.
    #[inline]
    pub(crate) fn schedule_due(&mut self) {
        if !self.due.is_empty() {
            self.schedule_all_due();
        }
    }

    fn schedule_all_due(&mut self) {
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

    pub(crate) fn order(&mut self, act: impl FnOnce(&mut W, &mut WorkloadEffects<'_, M::Command>)) {
        let Self { workload, size, random, now_ns, due, .. } = self;
        act(workload, &mut WorkloadEffects { nodes: *size, now_ns: *now_ns, random, due });
    }

    /// Whether the run is over though messages travel.
    pub(crate) fn is_done(&self) -> bool {
        let injector = self.faults.as_deref();
        self.workload.is_done(injector.is_some_and(FaultInjector::has_faults_to_come))
    }

    pub(crate) fn on_command(&mut self, at: NodeId, command: &M::Command) {
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
        letter: LetterOf<M, W>,
        messages: &mut dyn Messages,
    ) -> (NodeId, MessageId) {
        let Envelope { from, message, past, tag } = letter;
        self.meter.on_receive(self.now_ns, from, at, past);
        self.monitor.on_receive(at, &tag);
        if self.inspects {
            self.record_receive(at, number, (from, message), messages);
        }
        (from, message)
    }

    #[cold]
    fn record_receive(
        &mut self,
        at: NodeId,
        number: u64,
        (from, message): (NodeId, MessageId),
        messages: &mut dyn Messages,
    ) {
        let seq = if self.faults.is_some() { self.sent_as(number) } else { number };
        self.record(at, || What::Receive { from, seq, message: messages.message(message) });
    }

    pub(crate) fn judge(&mut self, objection: Result<(), Violation>) {
        if let Err(violation) = objection {
            self.violations += 1;
            self.first_violation.get_or_insert((self.now_ns, violation));
        }
    }

    /// A message for which there is no link: a mistake of the algorithm.
    #[cold]
    fn go_astray(&mut self, from: NodeId, to: NodeId, id: MessageId, messages: &mut dyn Messages) {
        let message = messages.message(id);
        messages.drop_one(id);
        let what = format!("node {from} sent {message} to node {to}, to which it has no link");
        self.judge(Err(Violation { property: "stray message", what }));
        let seq = self.queue.next_number();
        self.record(from, || What::Send { to, seq, message: message.clone() });
        self.record(from, || What::Lost { to, seq, why: Loss::NoLink });
    }

    pub(crate) fn record(&mut self, node: NodeId, what: impl FnOnce() -> What<NodeOf<M>>) {
        if self.recorder.listens() {
            self.recorder.record(Record { at_ns: self.now_ns, node, what: what() });
        }
    }

    /// Whether this message was sent just before, in the same step, to another node: a message to
    /// many is stored once.
    #[inline]
    fn is_copy(&mut self, from: NodeId, id: MessageId) -> bool {
        let now = Some((from, id, self.events));
        mem::replace(&mut self.sent_last, now) == now
    }

    pub(crate) fn report(&self) -> Report<SummaryOf<M, W>> {
        let injector = self.faults.as_deref();
        let is_silent =
            self.queue.is_empty() && !injector.is_some_and(FaultInjector::has_faults_to_come);
        let is_over = (is_silent || self.has_ended || self.is_done()) && self.failed.is_none();
        let is_stuck = !is_over && injector.is_some_and(|injector| injector.patience.is_over);
        let at_rest = if is_stuck {
            Some(self.stuck())
        } else {
            self.monitor.at_rest().err().filter(|_| is_over)
        };
        Report {
            progress: self.meter.progress(),
            summary: self.meter.summary(),
            violations: self.violations,
            first_violation: self.first_violation.clone(),
            is_over,
            at_rest,
            faults: injector.map(|injector| injector.counts).unwrap_or_default(),
            events: self.events,
            now_ns: self.now_ns,
        }
    }

    /// The violation of a run that goes on for ever without progress.
    fn stuck(&self) -> Violation {
        let owed = self.monitor.obligations();
        let (property, who) = match owed.first() {
            Some(debt) => (debt.property, format!("node {} still waits", debt.to)),
            None => ("progress", "there is more to do".to_owned()),
        };
        let what = format!("messages go on for ever without progress, and {who}");
        Violation { property, what }
    }
}

/// The effects of a node, applied to the world.
impl<M, W, R> Driver<M::Notice> for World<M, W, R>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
    R: Recorder<NodeOf<M>>,
{
    fn send(&mut self, to: NodeId, id: MessageId, len: u32, kind: u16) -> bool {
        let from = self.acting;
        if self.inspects
            || <MeterOf<M, W> as Meter<M::Command, M::Notice>>::READS_CONTENT
            || !self.are_linked(from, to)
        {
            return false;
        }
        let is_copy = self.is_copy(from, id);
        let past = self.meter.on_send(from, to, Sent { kind, len, is_copy, carries: None });
        let tag = self.monitor.on_send(from);
        let letter = Envelope { from, message: id, past, tag };
        let at_ns = self.links.arrival_ns(self.now_ns, from, to, &mut self.random);
        // A message that comes too late stays where it is: the run has failed.
        if let Some(at_ns) = self.in_time(to, Pending::Message { from }, at_ns) {
            self.schedule(at_ns, to, Upcoming::Message(letter));
        }
        true
    }

    #[cold]
    fn send_inspected(&mut self, to: NodeId, letter: Stored, messages: &mut dyn Messages) {
        let (from, Stored { id, len, kind }) = (self.acting, letter);
        if !self.are_linked(from, to) {
            return self.go_astray(from, to, id, messages);
        }
        let asks = <MeterOf<M, W> as Meter<M::Command, M::Notice>>::READS_CONTENT;
        let carries = if asks { messages.carries(id, from) } else { None };
        let is_copy = self.is_copy(from, id);
        let past = self.meter.on_send(from, to, Sent { kind, len, is_copy, carries });
        let tag = self.monitor.on_send(from);
        let seq = self.queue.next_number();
        self.record(from, || What::Send { to, seq, message: messages.message(id) });
        let letter = Envelope { from, message: id, past, tag };
        if self.faults.is_some() {
            return self.send_badly(to, letter, messages);
        }
        let at_ns = if self.routes.is_some() {
            self.arrival_by_routes(to, &letter, messages)
        } else {
            self.links.arrival_ns(self.now_ns, from, to, &mut self.random)
        };
        let Some(at_ns) = self.in_time(to, Pending::Message { from }, at_ns) else { return };
        self.schedule(at_ns, to, Upcoming::Message(letter));
    }

    fn set_timer(&mut self, timer: TimerId, (min_ns, max_ns): (u64, u64)) {
        let at = self.acting;
        let in_ns = self.random.between(min_ns, max_ns);
        let in_ns = self.faults.as_ref().map_or(in_ns, |it| it.by_clock(at, in_ns));
        let at_ns = later_ns(self.now_ns, in_ns);
        let Some(at_ns) = self.in_time(at, Pending::Timer, at_ns) else { return };
        // A message that arrives at the very instant of a time-out is in time.
        let event = Scheduled { node: at, event: Upcoming::Timer(timer) };
        let number = self.queue.push_last(at_ns, event);
        if timer.index() >= self.timers.len() {
            self.timers.resize(timer.index() + 1, NEVER);
        }
        self.timers[timer.index()] = number;
    }

    fn cancel_timer(&mut self, timer: TimerId) {
        // A timer that would run out beyond the end of time is in no table: the run has failed.
        if let Some(number) = self.timers.get_mut(timer.index()) {
            *number = NEVER;
        }
    }

    fn notify(&mut self, notice: M::Notice) {
        let at = self.acting;
        self.record(at, || What::Notice(notice.clone()));
        let objection = self.monitor.on_notice(at, &notice);
        self.judge(objection);
        self.meter.on_notice(self.now_ns, at, &notice);
        self.order(|workload, orders| workload.on_notice(at, &notice, orders));
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        let value = self.random.below(bound.get().into()) as u32;
        self.record(self.acting, || What::Choice(value));
        value
    }
}
