//! The event loop: nodes, what is under way between them, and who watches.

use std::collections::BTreeMap;
use std::mem;
use std::num::NonZeroU32;

use vorrang_protocol::{
    Delay, Effects, Event, Message, Monitor, NodeId, Protocol, Refused, Step, Turn, Violation,
};
use vorrang_trace::{Measure, Record, Summary, What};

use crate::causality::{Causality, Past};
use crate::links::Links;
use crate::queue::{Key, Queue};
use crate::workload::Due;
use crate::{Network, Random, Workload};

/// A run that has been set up.
#[derive(Debug)]
pub struct Simulation<P: Protocol, M: Monitor, R = ()> {
    nodes: Vec<P>,
    world: World<P, M, R>,
}

/// All but the nodes themselves: what their effects act upon.
#[derive(Debug)]
struct World<P: Protocol, M: Monitor, R> {
    now_ns: u64,
    queue: Queue<Scheduled<P, M::Tag>>,
    timers: BTreeMap<(NodeId, P::Timer), u64>,
    links: Links,
    random: Random,
    monitor: M,
    violations: u64,
    first_violation: Option<(u64, Violation)>,
    measure: Measure,
    causality: Option<Causality>,
    /// What each node asked with last.
    asked: Vec<Option<P::Command>>,
    workload: Workload<P::Command>,
    due: Vec<Due<P::Command>>,
    events: u64,
    recorder: R,
}

#[derive(Debug)]
struct Scheduled<P: Protocol, T> {
    node: NodeId,
    event: Upcoming<P, T>,
}

#[derive(Debug)]
enum Upcoming<P: Protocol, T> {
    Command(P::Command),
    Message { from: NodeId, message: P::Message, past: Past, tag: T },
    Timer(P::Timer),
}

/// What is told of everything that happens. `()` listens to nothing and costs nothing.
pub trait Recorder<P: Protocol> {
    /// Whether it listens at all.
    const LISTENS: bool;
    /// Something happened.
    fn record(&mut self, record: Record<P>);
}

impl<P: Protocol> Recorder<P> for () {
    const LISTENS: bool = false;
    fn record(&mut self, _: Record<P>) {}
}

/// Keeps every record of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keep<P: Protocol>(pub Vec<Record<P>>);

impl<P: Protocol> Recorder<P> for Keep<P> {
    const LISTENS: bool = true;
    fn record(&mut self, record: Record<P>) {
        self.0.push(record);
    }
}

impl<P, M> Simulation<P, M>
where
    P: Protocol<Command: Turn, Notice: Turn>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    /// Sets up a run; the same arguments give the same run.
    pub fn new(
        nodes: impl IntoIterator<Item = P>,
        monitor: M,
        network: Network,
        workload: Workload<P::Command>,
        seed: u64,
    ) -> Self {
        Simulation::recorded(nodes, monitor, network, workload, seed, ())
    }

    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// If the workload gives a command that a node refuses.
    pub fn run(mut self) -> Result<Report, SimError> {
        while self.run_for(u64::MAX)? {}
        Ok(self.report())
    }
}

impl<P, M, R> Simulation<P, M, R>
where
    P: Protocol<Command: Turn, Notice: Turn>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    R: Recorder<P>,
{
    /// As [`Simulation::new`], with somebody who is told of everything.
    pub fn recorded(
        nodes: impl IntoIterator<Item = P>,
        monitor: M,
        network: Network,
        workload: Workload<P::Command>,
        seed: u64,
        recorder: R,
    ) -> Self {
        let nodes: Vec<P> = nodes.into_iter().collect();
        let causality = (nodes.len() <= Causality::MOST_NODES).then(|| Causality::new(nodes.len()));
        let world = World {
            now_ns: 0,
            queue: Queue::new(),
            timers: BTreeMap::new(),
            links: Links::new(nodes.len(), network),
            random: Random::new(seed),
            monitor,
            violations: 0,
            first_violation: None,
            measure: Measure::new(nodes.len() as u32, P::Message::KINDS),
            causality,
            asked: vec![None; nodes.len()],
            workload,
            due: Vec::new(),
            events: 0,
            recorder,
        };
        let mut simulation = Self { nodes, world };
        for id in 0..simulation.nodes.len() {
            simulation.nodes[id].on_start(&mut simulation.world.sink(NodeId(id as u32)));
        }
        let world = &mut simulation.world;
        let size = simulation.nodes.len() as u32;
        world.workload.on_start(size, &mut world.random, &mut world.due);
        world.schedule_due();
        simulation
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
                let size = self.nodes.len() as u32;
                world.workload.on_rest(size, &mut world.random, &mut world.due);
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

    /// How many times a node has entered.
    pub const fn entries(&self) -> u64 {
        self.world.measure.entries()
    }

    /// What can be said of the run so far.
    pub fn report(&self) -> Report {
        let world = &self.world;
        let is_over = world.queue.is_empty();
        Report {
            summary: world.measure.summary(),
            overtakes: world.causality.as_ref().map(Causality::overtakes),
            violations: world.violations,
            first_violation: world.first_violation.clone(),
            is_over,
            at_rest: world.monitor.at_rest().err().filter(|_| is_over),
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

    fn happen(&mut self, key: Key, next: Scheduled<P, M::Tag>) -> Result<(), SimError> {
        let (Key { at_ns, number }, Scheduled { node: at, event }) = (key, next);
        let world = &mut self.world;
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
        };
        world.events += 1;
        let handled = node.handle(event, &mut world.sink(at));
        world.schedule_due();
        handled.map_err(|refused| SimError { node: at, at_ns, refused })
    }
}

impl<P, M, R> World<P, M, R>
where
    P: Protocol<Command: Turn, Notice: Turn>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    R: Recorder<P>,
{
    const fn sink(&mut self, at: NodeId) -> Sink<'_, P, M, R> {
        Sink { at, world: self }
    }

    fn schedule(&mut self, at_ns: u64, node: NodeId, event: Upcoming<P, M::Tag>) {
        self.queue.push(at_ns, Scheduled { node, event });
    }

    fn schedule_due(&mut self) {
        let mut due = mem::take(&mut self.due);
        for Due { in_ns, node, command } in due.drain(..) {
            self.schedule(self.now_ns + in_ns, node, Upcoming::Command(command));
        }
        self.due = due;
    }

    fn on_command(&mut self, at: NodeId, command: &P::Command) {
        self.record(at, || What::Command(command.clone()));
        let objection = self.monitor.on_command(at, command);
        self.judge(objection);
        let step = command.step();
        if step == Some(Step::Ask) {
            self.asked[at.index()] = Some(command.clone());
        }
        self.on_step(at, step);
    }

    fn on_step(&mut self, at: NodeId, step: Option<Step>) {
        let Some(step) = step else { return };
        self.measure.on_step(self.now_ns, at, step);
        if let Some(causality) = &mut self.causality {
            match step {
                Step::Ask => causality.on_ask(at),
                Step::Enter => {
                    let ours = self.asked[at.index()].as_ref();
                    let conflicts = |other: NodeId| {
                        let theirs = self.asked[other.index()].as_ref();
                        ours.zip(theirs).is_none_or(|(ours, theirs)| ours.conflicts_with(theirs))
                    };
                    causality.on_enter(at, conflicts);
                }
                Step::Leave => {}
            }
        }
        self.workload.on_step(at, step, &mut self.random, &mut self.due);
    }

    fn on_receive(
        &mut self,
        from: NodeId,
        at: NodeId,
        seq: u64,
        message: &P::Message,
        past: Past,
        tag: &M::Tag,
    ) {
        self.measure.on_receive(from, at);
        if let Some(causality) = &mut self.causality {
            causality.on_receive(at, past);
        }
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
        if R::LISTENS {
            self.recorder.record(Record { at_ns: self.now_ns, node, what: what() });
        }
    }
}

/// What one node does goes straight into the world.
struct Sink<'a, P: Protocol, M: Monitor, R> {
    at: NodeId,
    world: &'a mut World<P, M, R>,
}

impl<P, M, R> Effects<P> for Sink<'_, P, M, R>
where
    P: Protocol<Command: Turn, Notice: Turn>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    R: Recorder<P>,
{
    fn send(&mut self, to: NodeId, message: P::Message) {
        let (from, world) = (self.at, &mut *self.world);
        world.measure.on_send(from, to, &message);
        let past = world.causality.as_mut().map_or(0, |causality| causality.on_send(from));
        let tag = world.monitor.on_send(from);
        let seq = world.queue.next_number();
        world.record(from, || What::Send { to, seq, message: message.clone() });
        let at_ns = world.links.arrival_ns(world.now_ns, from, to, &mut world.random);
        world.schedule(at_ns, to, Upcoming::Message { from, message, past, tag });
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let (min, max) = (delay.min.as_nanos() as u64, delay.max.as_nanos() as u64);
        let in_ns = self.world.random.between(min, max);
        let at_ns = self.world.now_ns + in_ns;
        let number = self.world.queue.next_number();
        self.world.timers.insert((self.at, timer), number);
        self.world.schedule(at_ns, self.at, Upcoming::Timer(timer));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.world.timers.remove(&(self.at, timer));
    }

    fn notify(&mut self, notice: P::Notice) {
        self.world.record(self.at, || What::Notice(notice.clone()));
        let objection = self.world.monitor.on_notice(self.at, &notice);
        self.world.judge(objection);
        self.world.on_step(self.at, notice.step());
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.world.random.below(bound.get().into()) as u32
    }
}

/// What can be said of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// What it cost.
    pub summary: Summary,
    /// Entries that overtook a request that happened before theirs; none if there were too many
    /// nodes to keep track.
    pub overtakes: Option<u64>,
    /// How often the monitor objected.
    pub violations: u64,
    /// What it objected to first, and when.
    pub first_violation: Option<(u64, Violation)>,
    /// Whether nothing is under way any more.
    pub is_over: bool,
    /// What is still owed, though nothing is under way any more.
    pub at_rest: Option<Violation>,
    /// How many events there were: commands, messages and timers.
    pub events: u64,
    /// When the last of them was.
    pub now_ns: u64,
}

impl Report {
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
