//! The event loop: nodes, what is under way between them, and who watches.

use std::collections::BTreeMap;
use std::mem;
use std::num::NonZeroU32;

use vorrang_protocol::{
    Delay, Effects, Event, Message, Monitor, NodeId, Protocol, Refused, Violation,
};
use vorrang_trace::{Meter, Record, What};

use crate::faults::{Fate, Fault, FaultCounts, Faults, Weather};
use crate::links::Links;
use crate::queue::{Key, Queue};
use crate::workload::{Due, Orders};
use crate::{Network, Random, Workload};

type MeterOf<P, W> = <W as Workload<CommandOf<P>, NoticeOf<P>>>::Meter;
type CommandOf<P> = <P as Protocol>::Command;
type NoticeOf<P> = <P as Protocol>::Notice;
type TagOf<P, W> = <MeterOf<P, W> as Meter<CommandOf<P>, NoticeOf<P>>>::Tag;
type SummaryOf<P, W> = <MeterOf<P, W> as Meter<CommandOf<P>, NoticeOf<P>>>::Summary;

/// A run that has been set up.
#[derive(Debug)]
pub struct Simulation<P, M, W, R = ()>
where
    P: Protocol,
    M: Monitor,
    W: Workload<P::Command, P::Notice>,
{
    nodes: Vec<P>,
    world: World<P, M, W, R>,
}

/// All but the nodes themselves: what their effects act upon.
#[derive(Debug)]
struct World<P, M, W, R>
where
    P: Protocol,
    M: Monitor,
    W: Workload<P::Command, P::Notice>,
{
    now_ns: u64,
    queue: Queue<Scheduled<P, M::Tag, TagOf<P, W>>>,
    timers: BTreeMap<(NodeId, P::Timer), u64>,
    links: Links,
    random: Random,
    monitor: M,
    violations: u64,
    first_violation: Option<(u64, Violation)>,
    meter: MeterOf<P, W>,
    workload: W,
    size: u32,
    due: Vec<Due<P::Command>>,
    events: u64,
    /// Nothing goes wrong where there is none, and nothing is asked.
    faults: Option<Box<Trouble<P>>>,
    recorder: R,
}

/// What goes wrong, and how nodes that come up again are made.
struct Trouble<P> {
    weather: Weather,
    fresh: Box<dyn Fn(NodeId) -> P + Send>,
}

impl<P> std::fmt::Debug for Trouble<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.weather.fmt(f)
    }
}

#[derive(Debug)]
struct Scheduled<P: Protocol, T, G> {
    node: NodeId,
    event: Upcoming<P, T, G>,
}

#[derive(Debug)]
enum Upcoming<P: Protocol, T, G> {
    Command(P::Command),
    Message { from: NodeId, message: P::Message, past: G, tag: T },
    Timer(P::Timer),
    Fault(Fault),
}

/// What is told of everything that happens. `()` listens to nothing and costs nothing.
pub trait Recorder<P: Protocol> {
    /// Whether it listens at all.
    fn listens(&self) -> bool;
    /// Something happened.
    fn record(&mut self, record: Record<P>);
}

impl<P: Protocol> Recorder<P> for () {
    fn listens(&self) -> bool {
        false
    }
    fn record(&mut self, _: Record<P>) {}
}

/// A recorder that may be left out.
impl<P: Protocol, R: Recorder<P>> Recorder<P> for Option<R> {
    fn listens(&self) -> bool {
        self.is_some()
    }
    fn record(&mut self, record: Record<P>) {
        if let Some(recorder) = self {
            recorder.record(record);
        }
    }
}

/// Keeps every record of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keep<P: Protocol>(pub Vec<Record<P>>);

impl<P: Protocol> Recorder<P> for Keep<P> {
    fn listens(&self) -> bool {
        true
    }
    fn record(&mut self, record: Record<P>) {
        self.0.push(record);
    }
}

impl<P, M, W> Simulation<P, M, W>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
{
    /// Sets up a run; the same arguments give the same run.
    pub fn new(
        nodes: impl IntoIterator<Item = P>,
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
    ) -> Self {
        Simulation::recorded(nodes, monitor, network, workload, seed, ())
    }

    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// If the workload gives a command that a node refuses.
    pub fn run(mut self) -> Result<Report<SummaryOf<P, W>>, SimError> {
        while self.run_for(u64::MAX)? {}
        Ok(self.report())
    }
}

impl<P, M, W, R> Simulation<P, M, W, R>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
    R: Recorder<P>,
{
    /// As [`Simulation::new`], with somebody who is told of everything.
    pub fn recorded(
        nodes: impl IntoIterator<Item = P>,
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
        recorder: R,
    ) -> Self {
        let nodes: Vec<P> = nodes.into_iter().collect();
        let size = nodes.len() as u32;
        let world = World {
            now_ns: 0,
            queue: Queue::new(),
            timers: BTreeMap::new(),
            links: Links::new(nodes.len(), network),
            random: Random::new(seed),
            monitor,
            violations: 0,
            first_violation: None,
            meter: workload.meter(size, P::Message::KINDS),
            workload,
            size,
            due: Vec::new(),
            events: 0,
            faults: None,
            recorder,
        };
        let mut simulation = Self { nodes, world };
        for id in 0..simulation.nodes.len() {
            simulation.nodes[id].on_start(&mut simulation.world.sink(NodeId(id as u32)));
        }
        simulation.world.order(|workload, orders| workload.on_start(orders));
        simulation.world.schedule_due();
        simulation
    }

    /// Lets things go wrong, before anything has happened. `fresh` makes the nodes that come up
    /// again after a crash.
    #[must_use]
    pub fn with_faults(
        mut self,
        faults: Faults,
        seed: u64,
        fresh: impl Fn(NodeId) -> P + Send + 'static,
    ) -> Self {
        for &(at_ns, fault) in &faults.script {
            let (Fault::Crash(node) | Fault::Restart(node)) = fault;
            self.world.schedule(at_ns, node, Upcoming::Fault(fault));
        }
        let weather = Weather::new(faults, self.nodes.len(), seed);
        self.world.faults = Some(Box::new(Trouble { weather, fresh: Box::new(fresh) }));
        self
    }

    /// Lets at most so many events happen; whether there may be more.
    ///
    /// # Errors
    ///
    /// If the workload gives a command that a node refuses.
    pub fn run_for(&mut self, events: u64) -> Result<bool, SimError> {
        for _ in 0..events {
            let Some((key, next)) = self.world.queue.pop() else {
                let world = &mut self.world;
                world.order(|workload, orders| workload.on_rest(orders));
                if world.due.is_empty() {
                    return Ok(false);
                }
                world.schedule_due();
                continue;
            };
            self.happen(key, next)?;
        }
        Ok(true)
    }

    /// How many events have happened.
    pub const fn events(&self) -> u64 {
        self.world.events
    }

    /// How far the run has come, as its meter counts it.
    pub fn progress(&self) -> u64 {
        self.world.meter.progress()
    }

    /// What can be said of the run so far.
    pub fn report(&self) -> Report<SummaryOf<P, W>> {
        let world = &self.world;
        let is_over = world.queue.is_empty();
        Report {
            summary: world.meter.summary(),
            violations: world.violations,
            first_violation: world.first_violation.clone(),
            is_over,
            at_rest: world.monitor.at_rest().err().filter(|_| is_over),
            faults: world.faults.as_ref().map(|it| it.weather.counts).unwrap_or_default(),
            events: world.events,
            now_ns: world.now_ns,
        }
    }

    /// The nodes, as they are now.
    pub fn nodes(&self) -> &[P] {
        &self.nodes
    }

    /// Hands back whoever was told of everything.
    pub fn into_recorder(self) -> R {
        self.world.recorder
    }

    fn happen(
        &mut self,
        key: Key,
        next: Scheduled<P, M::Tag, TagOf<P, W>>,
    ) -> Result<(), SimError> {
        let (Key { at_ns, number }, Scheduled { node: at, event }) = (key, next);
        let world = &mut self.world;
        if world.faults.is_some() && world.is_swallowed(key, at, &event) {
            world.swallow(key, event);
            return Ok(());
        }
        let node = &mut self.nodes[at.index()];
        let event = match event {
            Upcoming::Command(command) => {
                world.now_ns = at_ns;
                world.on_command(at, &command);
                Event::Command(command)
            }
            Upcoming::Message { from, message, past, tag } => {
                world.now_ns = at_ns;
                world.on_receive(from, at, number, &message, past, &tag);
                Event::Message { from, message }
            }
            Upcoming::Timer(timer) => {
                // A timer that was replaced or cancelled since is no event at all.
                if world.timers.get(&(at, timer)) != Some(&number) {
                    return Ok(());
                }
                world.now_ns = at_ns;
                world.timers.remove(&(at, timer));
                world.record(at, || What::Timer(timer));
                Event::Timer(timer)
            }
            Upcoming::Fault(fault) => {
                world.now_ns = at_ns;
                self.go_wrong(fault);
                return Ok(());
            }
        };
        world.events += 1;
        let handled = node.handle(event, &mut world.sink(at));
        world.schedule_due();
        handled.map_err(|refused| SimError { node: at, at_ns, refused })
    }

    #[cold]
    fn go_wrong(&mut self, fault: Fault) {
        let Self { nodes, world } = self;
        let next_number = world.queue.next_number();
        let Some(trouble) = &mut world.faults else { return };
        match fault {
            Fault::Crash(at) => {
                if trouble.weather.crash(at, next_number) {
                    let node = &mut nodes[at.index()];
                    *node = node.kept((trouble.fresh)(at));
                    world.timers.retain(|&(node, _), _| node != at);
                    world.monitor.on_crash(at);
                    world.meter.on_crash(world.now_ns, at);
                    world.record(at, || What::Crash);
                }
            }
            Fault::Restart(at) => {
                if trouble.weather.restart(at) {
                    world.monitor.on_restart(at);
                    world.record(at, || What::Restart);
                    nodes[at.index()].on_restart(&mut world.sink(at));
                    world.order(|workload, orders| workload.on_restart(at, orders));
                    world.schedule_due();
                }
            }
        }
    }
}

impl<P, M, W, R> World<P, M, W, R>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
    R: Recorder<P>,
{
    const fn sink(&mut self, at: NodeId) -> Sink<'_, P, M, W, R> {
        Sink { at, world: self }
    }

    fn schedule(&mut self, at_ns: u64, node: NodeId, event: Upcoming<P, M::Tag, TagOf<P, W>>) {
        self.queue.push(at_ns, Scheduled { node, event });
    }

    fn schedule_due(&mut self) {
        let mut due = mem::take(&mut self.due);
        for Due { in_ns, node, command } in due.drain(..) {
            self.schedule(self.now_ns + in_ns, node, Upcoming::Command(command));
        }
        self.due = due;
    }

    fn order(&mut self, act: impl FnOnce(&mut W, &mut Orders<'_, P::Command>)) {
        let Self { workload, size, random, due, .. } = self;
        act(workload, &mut Orders { nodes: *size, random, due });
    }

    fn on_command(&mut self, at: NodeId, command: &P::Command) {
        self.record(at, || What::Command(command.clone()));
        let objection = self.monitor.on_command(at, command);
        self.judge(objection);
        self.meter.on_command(self.now_ns, at, command);
        self.order(|workload, orders| workload.on_command(at, command, orders));
    }

    fn on_receive(
        &mut self,
        from: NodeId,
        at: NodeId,
        seq: u64,
        message: &P::Message,
        past: TagOf<P, W>,
        tag: &M::Tag,
    ) {
        self.meter.on_receive(from, at, past);
        self.monitor.on_receive(at, tag);
        self.record(at, || What::Receive { from, seq, message: message.clone() });
    }

    fn judge(&mut self, objection: Result<(), Violation>) {
        if let Err(violation) = objection {
            self.violations += 1;
            self.first_violation.get_or_insert((self.now_ns, violation));
        }
    }

    fn record(&mut self, node: NodeId, what: impl FnOnce() -> What<P>) {
        if self.recorder.listens() {
            self.recorder.record(Record { at_ns: self.now_ns, node, what: what() });
        }
    }

    /// Whether something comes to nothing, because its node is down or was in between.
    #[cold]
    fn is_swallowed(&self, key: Key, at: NodeId, event: &Upcoming<P, M::Tag, TagOf<P, W>>) -> bool {
        let Some(trouble) = &self.faults else { return false };
        match event {
            Upcoming::Command(_) | Upcoming::Timer(_) => trouble.weather.is_stale(at, key.number),
            Upcoming::Message { .. } => trouble.weather.is_down(at),
            Upcoming::Fault(_) => false,
        }
    }

    #[cold]
    fn swallow(&mut self, key: Key, event: Upcoming<P, M::Tag, TagOf<P, W>>) {
        if let Upcoming::Message { past, .. } = event {
            self.now_ns = key.at_ns;
            self.meter.on_lost(past);
            if let Some(trouble) = &mut self.faults {
                trouble.weather.counts.to_the_dead += 1;
            }
        }
    }

    /// Sends a message where some do not arrive, and some do twice.
    #[cold]
    fn send_badly(
        &mut self,
        at_ns: u64,
        to: NodeId,
        from: NodeId,
        message: P::Message,
        past: TagOf<P, W>,
        tag: M::Tag,
    ) {
        let seq = self.queue.next_number();
        let Some(trouble) = &mut self.faults else { return };
        match trouble.weather.fate(seq) {
            Fate::Arrives => {
                self.schedule(at_ns, to, Upcoming::Message { from, message, past, tag });
            }
            Fate::Lost => {
                self.queue.skip();
                self.meter.on_lost(past);
                self.record(from, || What::Lost { to, seq });
            }
            Fate::ArrivesTwice => {
                let again = self.meter.on_send(from, to, &message);
                let copy =
                    Upcoming::Message { from, message: message.clone(), past, tag: tag.clone() };
                self.schedule(at_ns, to, copy);
                let at_ns = self.links.arrival_ns(self.now_ns, from, to, &mut self.random);
                self.schedule(at_ns, to, Upcoming::Message { from, message, past: again, tag });
            }
        }
    }
}

/// What one node does goes straight into the world.
struct Sink<'a, P, M, W, R>
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
        let past = world.meter.on_send(from, to, &message);
        let tag = world.monitor.on_send(from);
        let seq = world.queue.next_number();
        world.record(from, || What::Send { to, seq, message: message.clone() });
        let at_ns = world.links.arrival_ns(world.now_ns, from, to, &mut world.random);
        if world.faults.is_some() {
            return world.send_badly(at_ns, to, from, message, past, tag);
        }
        world.schedule(at_ns, to, Upcoming::Message { from, message, past, tag });
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let (min, max) = (delay.min.as_nanos() as u64, delay.max.as_nanos() as u64);
        let in_ns = self.world.random.between(min, max);
        let (at, at_ns) = (self.at, self.world.now_ns + in_ns);
        // What arrives at the very instant at which a time-out ends has arrived in time.
        let event = Scheduled { node: at, event: Upcoming::Timer(timer) };
        let number = self.world.queue.push_last(at_ns, event);
        self.world.timers.insert((at, timer), number);
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
        self.world.random.below(bound.get().into()) as u32
    }
}

/// What can be said of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report<S> {
    /// What it cost.
    pub summary: S,
    /// How often the monitor objected.
    pub violations: u64,
    /// What it objected to first, and when.
    pub first_violation: Option<(u64, Violation)>,
    /// Whether nothing is under way any more.
    pub is_over: bool,
    /// What is still owed, though nothing is under way any more.
    pub at_rest: Option<Violation>,
    /// What went wrong.
    pub faults: FaultCounts,
    /// How many events there were: commands, messages and timers.
    pub events: u64,
    /// When the last of them was.
    pub now_ns: u64,
}

impl<S> Report<S> {
    /// The monitor never objected.
    pub const fn is_safe(&self) -> bool {
        self.violations == 0
    }

    /// The run came to an end, and nobody is left waiting.
    pub const fn is_quiescent(&self) -> bool {
        self.is_over && self.at_rest.is_none()
    }
}

/// The workload gave a command that a node refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("node {node} refused a command of the workload at {at_ns} ns: {refused}")]
pub struct SimError {
    node: NodeId,
    at_ns: u64,
    refused: Refused,
}
