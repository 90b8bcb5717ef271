//! The event loop: takes what is under way in order of time, and lets it happen to its node.

use vorrang_protocol::{Event, Graph, Guard, Monitor, NodeId, Protocol, Situation};
use vorrang_trace::{Fault as Noted, Loss, Meter, What};

use crate::faults::{Fault, Faults};
use crate::queue::Key;
use crate::routes::Routes;
use crate::weather::{Trouble, Weather};
use crate::world::{Scheduled, SummaryOf, TagOf, Upcoming, World};
use crate::{Network, Recorder, Report, SimError, Workload};

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
    has_started: bool,
    guards: Vec<Guard<P>>,
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
    /// As [`run_for`](Self::run_for).
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
        let world = World::new(nodes.len() as u32, monitor, network, workload, seed, recorder);
        Self { nodes, world, has_started: false, guards: Vec::new() }
    }

    /// Whoever does not go down before anything happens comes up, and the workload begins. A node
    /// that stands still from the beginning has come up before.
    fn start(&mut self) {
        self.has_started = true;
        while let Some(trouble) = &mut self.world.faults
            && let Some((at_ns, fault)) = trouble.weather.next_fault(0)
        {
            self.go_wrong(at_ns, fault);
        }
        for id in (0..self.nodes.len() as u32).map(NodeId) {
            let is_down = self.world.faults.as_ref().is_some_and(|it| it.weather.is_down(id));
            if !is_down {
                self.nodes[id.index()].on_start(&mut self.world.sink(id));
            }
        }
        self.world.order(Workload::on_start);
        self.world.schedule_due();
    }

    /// Lets things go wrong, before anything has happened. `fresh` makes the nodes that come up
    /// again after a crash.
    ///
    /// # Panics
    ///
    /// If the script names a node that does not exist.
    #[must_use]
    pub fn with_faults(
        mut self,
        faults: Faults,
        seed: u64,
        fresh: impl Fn(NodeId) -> P + Send + 'static,
    ) -> Self {
        let weather = Weather::new(faults, self.nodes.len(), seed);
        if weather.has_slow_links() {
            self.world.links.expect_overtaking();
        }
        self.world.faults = Some(Box::new(Trouble { weather, fresh: Box::new(fresh) }));
        self
    }

    /// Counts messages by these kinds, before anything has happened: where the type of a message
    /// does not know their names.
    #[must_use]
    pub fn counting(mut self, kinds: &'static [&'static str]) -> Self {
        self.world.count_by(kinds);
        self
    }

    /// Looks at all nodes and all messages after every event, and objects like a monitor to
    /// whatever does not hold. That takes as long as there are nodes and messages, for every event.
    #[must_use]
    pub fn guarded(mut self, invariants: impl IntoIterator<Item = impl Into<Guard<P>>>) -> Self {
        self.guards.extend(invariants.into_iter().map(Into::into));
        self
    }

    /// Lets only those send to each other that are linked in the graph: anything else is a mistake
    /// of the algorithm, counted as a violation, and does not arrive.
    ///
    /// # Panics
    ///
    /// If it is a graph of another number of nodes.
    #[must_use]
    pub fn on(mut self, graph: Graph) -> Self {
        assert_eq!(graph.group().size() as usize, self.nodes.len(), "a graph of these nodes");
        self.world.graph = Some(graph);
        self
    }

    /// Passes messages on along the links of a graph: on every link one takes as long as the
    /// network says and is lost as often as [faults](Self::with_faults) say. What a node sends to
    /// several in one step goes over a link once.
    ///
    /// # Panics
    ///
    /// If it is a graph of another number of nodes, or one that does not hold together.
    #[must_use]
    pub fn over(mut self, graph: Graph) -> Self {
        assert_eq!(graph.group().size() as usize, self.nodes.len(), "a graph of these nodes");
        self.world.routes = Some(Box::new(Routes::new(graph)));
        self
    }

    /// Ends the run at this time, whatever is still under way: for what never comes to rest.
    #[must_use]
    pub const fn until(mut self, end_ns: u64) -> Self {
        self.world.end_ns = end_ns;
        self
    }

    /// Lets at most so many events happen; whether there may be more.
    ///
    /// # Errors
    ///
    /// If the workload gives a command that a node refuses, or simulated time runs out. A run that
    /// has failed stays failed.
    pub fn run_for(&mut self, events: u64) -> Result<bool, SimError> {
        if !self.has_started {
            self.start();
            self.look();
        }
        if self.world.is_done() || self.world.has_ended {
            return Ok(false);
        }
        let is_guarded = !self.guards.is_empty();
        for _ in 0..events {
            if let Some(error) = self.world.failed {
                return Err(error);
            }
            if self.world.faults.is_some() {
                if self.world.is_stuck() {
                    return Ok(false);
                }
                if self.suffer() {
                    self.look();
                    if self.world.is_done() {
                        return self.world.failed.map_or(Ok(false), Err);
                    }
                    continue;
                }
            }
            if let Some((key, next)) = self.world.queue.pop() {
                if key.at_ns > self.world.end_ns {
                    self.world.has_ended = true;
                    return Ok(false);
                }
                // But for a fault, only a command can be the last thing to do.
                let may_end = matches!(next.event, Upcoming::Command(_));
                self.happen(key, next);
                if is_guarded {
                    self.look();
                }
                if may_end && self.world.is_done() {
                    return self.world.failed.map_or(Ok(false), Err);
                }
            } else if self.rest() {
                self.look();
            } else {
                return Ok(false);
            }
        }
        self.world.failed.map_or(Ok(true), Err)
    }

    /// Judges how things stand by the invariants, if there are any.
    #[cold]
    fn look(&mut self) {
        if self.guards.is_empty() {
            return;
        }
        let Self { nodes, world, guards, .. } = self;
        let flight = world.queue.iter().filter_map(|it| match &it.event {
            Upcoming::Message(letter) => Some((letter.from, it.node, &letter.message)),
            Upcoming::Command(_) | Upcoming::Timer(_) => None,
        });
        let is_down = |id: &NodeId| world.faults.as_ref().is_some_and(|it| it.weather.is_down(*id));
        let down = (0..nodes.len() as u32).map(NodeId).filter(is_down).collect();
        let judged = Situation::new(nodes.iter().collect(), down, flight.collect()).judge(guards);
        world.judge(judged);
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
        self.world.report()
    }

    /// The nodes, as they are now.
    pub fn nodes(&self) -> &[P] {
        &self.nodes
    }

    /// Hands back whoever was told of everything.
    pub fn into_recorder(self) -> R {
        self.world.recorder
    }

    fn happen(&mut self, key: Key, next: Scheduled<P, M::Tag, TagOf<P, W>>) {
        let Scheduled { node: at, mut event } = next;
        if self.world.faults.is_some() {
            match self.world.let_through(key, at, event) {
                Some(through) => event = through,
                None => return,
            }
        }
        self.happen_now(key, at, event);
    }

    #[inline]
    fn happen_now(
        &mut self,
        Key { at_ns, number }: Key,
        at: NodeId,
        event: Upcoming<P, M::Tag, TagOf<P, W>>,
    ) {
        let world = &mut self.world;
        let event = match event {
            Upcoming::Command(command) => {
                world.now_ns = at_ns;
                if world.workload.withholds(at, &command) {
                    return;
                }
                world.on_command(at, &command);
                Event::Command(command)
            }
            Upcoming::Message(letter) => {
                world.now_ns = at_ns;
                let (from, message) = world.on_receive(at, number, letter);
                Event::Message { from, message }
            }
            Upcoming::Timer(timer) => {
                // A timer that was replaced or cancelled since is no event at all.
                if world.timers.get(&(at, timer)) != Some(&number) {
                    return;
                }
                world.now_ns = at_ns;
                world.timers.remove(&(at, timer));
                world.record(at, || What::Timer(timer));
                Event::Timer(timer)
            }
        };
        world.events += 1;
        let handled = self.nodes[at.index()].handle(event, &mut world.sink(at));
        world.schedule_due();
        if <W::Meter as Meter<P::Command, P::Notice>>::WEIGHS {
            world.meter.on_weight(at, self.nodes[at.index()].holds());
        }
        if let Err(refused) = handled {
            world.failed.get_or_insert(SimError::Refused { node: at, at_ns, refused });
        }
    }

    /// Nothing is under way: whether the workload, or else a fault, brings about something new.
    fn rest(&mut self) -> bool {
        let world = &mut self.world;
        // What waits for a node that stands still is not at rest.
        if world.waiting.is_empty() {
            world.order(Workload::on_rest);
        }
        if !world.due.is_empty() {
            world.schedule_due();
            return true;
        }
        let end_ns = world.end_ns;
        let next = world.faults.as_mut().and_then(|trouble| trouble.weather.next_fault(end_ns));
        next.map(|(at_ns, fault)| self.go_wrong(at_ns, fault)).is_some()
    }

    /// Lets a fault happen if one comes before all that is under way.
    #[cold]
    fn suffer(&mut self) -> bool {
        let World { queue, faults, timers, end_ns, .. } = &mut self.world;
        let Some(trouble) = faults else { return false };
        if !trouble.weather.has_faults_to_come() {
            return false;
        }
        // A timer that was replaced or cancelled is no event at all: if nothing else is under way
        // all is at rest, and what comes of that comes before the fault.
        while let Some((key, Scheduled { node, event: Upcoming::Timer(timer) })) = queue.first()
            && timers.get(&(*node, *timer)) != Some(&key.number)
        {
            queue.pop();
        }
        let Some(next_ns) = queue.next_ns() else { return false };
        let next = trouble.weather.next_fault(next_ns.min(*end_ns));
        next.map(|(at_ns, fault)| self.go_wrong(at_ns, fault)).is_some()
    }

    #[cold]
    fn go_wrong(&mut self, at_ns: u64, fault: Fault) {
        let world = &mut self.world;
        let next_number = world.queue.next_number();
        let Some(trouble) = &mut world.faults else { return };
        let weather = &mut trouble.weather;
        world.now_ns = at_ns;
        match fault {
            Fault::Crash(at) => {
                if weather.crash(at, next_number) {
                    self.crash(at);
                }
            }
            Fault::Restart(at) => {
                if weather.restart(at) {
                    world.monitor.on_restart(at);
                    world.meter.on_restart(at_ns, at);
                    world.record(at, || What::Restart);
                    self.nodes[at.index()].on_restart(&mut world.sink(at));
                    world.order(|workload, orders| workload.on_restart(at, orders));
                    world.schedule_due();
                }
            }
            Fault::Pause(at) => {
                if weather.pause(at) {
                    world.record(at, || What::Fault(Noted::Pause));
                }
            }
            Fault::Resume(at) => {
                if weather.resume(at) {
                    world.record(at, || What::Fault(Noted::Resume));
                    self.catch_up(at);
                }
            }
            Fault::Partition(partition) => {
                let sides = partition.sides();
                weather.cut(partition, next_number);
                world.monitor.on_cut(&sides);
                world.record(sides[0][0], || What::Fault(Noted::Partition { sides }));
            }
            Fault::Heal(partition) => {
                if weather.heal(&partition) {
                    let sides = partition.sides();
                    world.monitor.on_heal(&sides);
                    world.record(sides[0][0], || What::Fault(Noted::Heal { sides }));
                }
            }
            Fault::Slow(slow) => {
                let links = slow.to_string();
                weather.slow(slow);
                world.record(slow.noted_at(), || What::Fault(Noted::Slow { links }));
            }
            Fault::Recover(slow) => {
                if weather.recover(slow) {
                    let links = slow.to_string();
                    world.record(slow.noted_at(), || What::Fault(Noted::Recover { links }));
                }
            }
        }
    }

    /// A node that was up goes down.
    fn crash(&mut self, at: NodeId) {
        let Self { nodes, world, .. } = self;
        let Some(trouble) = &world.faults else { return };
        let node = &mut nodes[at.index()];
        *node = node.kept((trouble.fresh)(at));
        world.timers.retain(|&(node, _), _| node != at);
        world.monitor.on_crash(at);
        world.meter.on_crash(world.now_ns, at);
        world.record(at, || What::Crash);
        for (Key { number, .. }, it) in world.take_waiting(at) {
            world.lose(number, at, it.event, Loss::Down);
        }
        world.order(|workload, orders| workload.on_crash(at, orders));
        world.schedule_due();
    }

    /// A node goes on: what has waited for it happens now, before all else of this instant.
    fn catch_up(&mut self, at: NodeId) {
        let at_ns = self.world.now_ns;
        for (Key { number, .. }, it) in self.world.take_waiting(at) {
            if self.world.failed.is_some() {
                return;
            }
            self.happen_now(Key { at_ns, number }, at, it.event);
            self.look();
        }
    }
}
