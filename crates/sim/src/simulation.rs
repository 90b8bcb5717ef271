//! The event loop: takes events in order of time, and lets their nodes handle them.

use vorrang_erased::AnyPopulation;
use vorrang_protocol::{Data, Graph, Monitor, NodeId};
use vorrang_trace::{Fault as Noted, Loss, Meter, What};

use crate::fault_injector::{FaultInjector, Separation};
use crate::faults::{Fault, Faults};
use crate::queue::Key;
use crate::routes::Routes;
use crate::world::{
    CommandOf, NEVER, NodeOf, NoticeOf, Scheduled, ScheduledOf, SummaryOf, Upcoming, UpcomingOf,
    World,
};
use crate::{LatencyMatrix, Link, Network, Recorder, Report, SimError, Workload};

/// A run that has been set up.
#[derive(Debug)]
pub struct Simulation<M, W, R = ()>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
{
    population: PopulationOf<M>,
    world: World<M, W, R>,
    has_started: bool,
}

type PopulationOf<M> = Box<dyn AnyPopulation<CommandOf<M>, NoticeOf<M>>>;

/// Lets something happen to a node of the population.
macro_rules! tell {
    ($self:ident, $at:expr, $method:ident($($argument:expr),*)) => {{
        $self.world.acting = $at;
        $self.population.$method($at, $($argument,)* &mut $self.world)
    }};
}

impl<M, W> Simulation<M, W>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
{
    /// Sets up a run; the same arguments give the same run.
    pub fn new(
        population: impl Into<PopulationOf<M>>,
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
    ) -> Self {
        Simulation::recorded(population, monitor, network, workload, seed, ())
    }

    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// As [`run_for`](Self::run_for).
    pub fn run(mut self) -> Result<Report<SummaryOf<M, W>>, SimError> {
        while self.run_for(u64::MAX)? {}
        Ok(self.report())
    }
}

impl<M, W, R> Simulation<M, W, R>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
    R: Recorder<NodeOf<M>>,
{
    /// As [`Simulation::new`], with a recorder.
    pub fn recorded(
        population: impl Into<PopulationOf<M>>,
        monitor: M,
        network: Network,
        workload: W,
        seed: u64,
        recorder: R,
    ) -> Self {
        let population = population.into();
        let (size, kinds) = (population.size() as u32, population.kinds());
        let world = World::new(size, kinds, monitor, network, workload, seed, recorder);
        Self { population, world, has_started: false }
    }

    /// Starts the nodes that do not crash at time 0, and the workload. A node that is paused from
    /// the beginning has started before.
    fn start(&mut self) {
        self.has_started = true;
        self.world.settle();
        while let Some(injector) = &mut self.world.faults
            && let Some((at_ns, fault)) = injector.next_fault(0)
        {
            self.go_wrong(at_ns, fault);
        }
        for id in (0..self.population.size() as u32).map(NodeId) {
            let is_down = self.world.faults.as_ref().is_some_and(|it| it.is_down(id));
            if !is_down {
                tell!(self, id, on_start());
            }
        }
        self.world.order(Workload::on_start);
        self.world.schedule_due();
    }

    /// Injects faults; to be called before anything has happened.
    ///
    /// # Panics
    ///
    /// If the script names a node that does not exist.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults, seed: u64) -> Self {
        let injector = FaultInjector::new(faults, self.population.size(), seed);
        if injector.has_slow_links() {
            self.world.links.expect_overtaking();
        }
        self.world.faults = Some(Box::new(injector));
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
        assert_eq!(graph.group().size() as usize, self.population.size(), "a graph of these nodes");
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
        assert_eq!(graph.group().size() as usize, self.population.size(), "a graph of these nodes");
        self.world.routes = Some(Box::new(Routes::new(graph)));
        self
    }

    /// Lets messages take as long as a matrix says for each link, and not as long as the network
    /// says; to be called before [`with_faults`](Self::with_faults).
    ///
    /// # Panics
    ///
    /// If it is a matrix of another number of nodes.
    #[must_use]
    pub fn taking(mut self, matrix: LatencyMatrix) -> Self {
        assert_eq!(matrix.nodes(), self.population.size(), "a matrix of these nodes");
        self.world.links.take(matrix);
        self
    }

    /// Ends the run at this time: for systems that never come to rest.
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
        let is_guarded = self.population.is_guarded();
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
        let Self { population, world, .. } = self;
        if !population.is_guarded() {
            return;
        }
        let flight = world.queue.iter().filter_map(|it| match &it.event {
            Upcoming::Message(letter) => Some((letter.from, it.node, letter.message)),
            Upcoming::Command(_) | Upcoming::Timer(_) => None,
        });
        let is_down = |id: &NodeId| world.faults.as_ref().is_some_and(|it| it.is_down(*id));
        let down = (0..population.size() as u32).map(NodeId).filter(is_down).collect();
        let judged = population.judge(down, &flight.collect::<Vec<_>>());
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

    /// The report of the run so far.
    pub fn report(&self) -> Report<SummaryOf<M, W>> {
        self.world.report()
    }

    /// The nodes, as they are now.
    pub fn population(&self) -> &dyn AnyPopulation<M::Command, M::Notice> {
        &*self.population
    }

    /// Hands back the recorder.
    pub fn into_recorder(self) -> R {
        self.world.recorder
    }

    fn happen(&mut self, key: Key, next: ScheduledOf<M, W>) {
        let Scheduled { node: at, mut event } = next;
        if self.world.faults.is_some() {
            match self.world.let_through(key, at, event, &mut *self.population) {
                Some(through) => event = through,
                None => return,
            }
        }
        self.happen_now(key, at, event);
    }

    #[inline]
    fn happen_now(&mut self, Key { at_ns, number }: Key, at: NodeId, event: UpcomingOf<M, W>) {
        let world = &mut self.world;
        let handled = match event {
            Upcoming::Command(command) => {
                world.now_ns = at_ns;
                if world.workload.withholds(at, &command) {
                    return;
                }
                world.on_command(at, &command);
                world.events += 1;
                tell!(self, at, on_command(command))
            }
            Upcoming::Message(letter) => {
                world.now_ns = at_ns;
                let (from, id) = world.on_receive(at, number, letter, &mut *self.population);
                world.events += 1;
                tell!(self, at, on_message(from, id));
                Ok(())
            }
            Upcoming::Timer(timer) => {
                // A timer that was replaced or cancelled since is no event at all.
                if world.timers[timer.index()] != number {
                    return;
                }
                world.now_ns = at_ns;
                world.timers[timer.index()] = NEVER;
                world.record(at, || What::Timer(self.population.timer(timer)));
                world.events += 1;
                tell!(self, at, on_timer(timer));
                Ok(())
            }
        };
        let world = &mut self.world;
        world.schedule_due();
        if <W::Meter as Meter<M::Command, M::Notice>>::WEIGHS {
            world.meter.on_weight(at, self.population.buffered(at));
        }
        if let Err(refused) = handled {
            world.failed.get_or_insert(SimError::Refused { node: at, at_ns, refused });
        }
    }

    /// Nothing is under way: whether the workload, or else a fault, brings about something new.
    fn rest(&mut self) -> bool {
        let world = &mut self.world;
        // A system with events that wait for a paused node is not at rest.
        if world.waiting.is_empty() {
            debug_assert!(
                world.failed.is_some()
                    || self.population.in_flight() == usize::from(world.routes_keep_a_message()),
                "a message was neither delivered nor dropped"
            );
            world.order(Workload::on_rest);
        }
        if !world.due.is_empty() {
            world.schedule_due();
            return true;
        }
        let end_ns = world.end_ns;
        let next = world.faults.as_mut().and_then(|injector| injector.next_fault(end_ns));
        next.map(|(at_ns, fault)| self.go_wrong(at_ns, fault)).is_some()
    }

    /// Lets a fault happen if one comes before all that is under way.
    #[cold]
    fn suffer(&mut self) -> bool {
        let World { queue, faults, timers, end_ns, .. } = &mut self.world;
        let Some(injector) = faults else { return false };
        if !injector.has_faults_to_come() {
            return false;
        }
        // A timer that was replaced or cancelled is no event at all: if nothing else is under way
        // all is at rest, and what comes of that comes before the fault.
        while let Some((key, Scheduled { event: Upcoming::Timer(timer), .. })) = queue.first()
            && timers[timer.index()] != key.number
        {
            queue.pop();
        }
        let Some(next_ns) = queue.next_ns() else { return false };
        let next = injector.next_fault(next_ns.min(*end_ns));
        next.map(|(at_ns, fault)| self.go_wrong(at_ns, fault)).is_some()
    }

    #[cold]
    fn go_wrong(&mut self, at_ns: u64, fault: Fault) {
        let world = &mut self.world;
        let next_number = world.queue.next_number();
        let Some(injector) = &mut world.faults else { return };
        world.now_ns = at_ns;
        match fault {
            Fault::Crash(at) => {
                if injector.crash(at, next_number) {
                    self.crash(at);
                }
            }
            Fault::Restart(at) => {
                if injector.restart(at) {
                    world.monitor.on_restart(at);
                    world.meter.on_restart(at_ns, at);
                    world.record(at, || What::Restart);
                    tell!(self, at, on_restart());
                    let world = &mut self.world;
                    world.order(|workload, orders| workload.on_restart(at, orders));
                    world.schedule_due();
                }
            }
            Fault::Pause(at) => {
                if injector.pause(at) {
                    world.record(at, || What::Fault(Noted::Pause));
                }
            }
            Fault::Resume(at) => {
                if injector.resume(at) {
                    world.record(at, || What::Fault(Noted::Resume));
                    self.catch_up(at);
                }
            }
            Fault::Partition(partition) => {
                let sides = partition.sides();
                injector.cut(Separation::Partition(partition), next_number);
                world.monitor.on_cut(&sides);
                world.record(sides[0][0], || What::Fault(Noted::Partition { sides }));
            }
            Fault::Heal(partition) => {
                let sides = partition.sides();
                if injector.heal(&Separation::Partition(partition)) {
                    world.monitor.on_heal(&sides);
                    world.record(sides[0][0], || What::Fault(Noted::Heal { sides }));
                }
            }
            Fault::Cut(link) => {
                injector.cut(Separation::Link(link), next_number);
                self.note_link(link, true);
            }
            Fault::Mend(link) => {
                if injector.heal(&Separation::Link(link)) {
                    self.note_link(link, false);
                }
            }
            Fault::Slow(slow) => {
                let links = slow.to_string();
                injector.slow(slow);
                world.record(slow.noted_at(), || What::Fault(Noted::Slow { links }));
            }
            Fault::Recover(slow) => {
                if injector.recover(slow) {
                    let links = slow.to_string();
                    world.record(slow.noted_at(), || What::Fault(Noted::Recover { links }));
                }
            }
        }
    }

    /// A link is cut, or mended.
    fn note_link(&mut self, link: Link, is_cut: bool) {
        let world = &mut self.world;
        for (from, to) in link.directions() {
            if is_cut {
                world.monitor.on_link_cut(from, to);
            } else {
                world.monitor.on_link_mended(from, to);
            }
        }
        let Link { from, to, both_ways } = link;
        world.record(from, || {
            What::Fault(if is_cut {
                Noted::Cut { from, to, both_ways }
            } else {
                Noted::Mend { from, to, both_ways }
            })
        });
    }

    /// A node that was up goes down.
    fn crash(&mut self, at: NodeId) {
        let Self { population, world, .. } = self;
        for timer in population.crash(at) {
            world.timers[timer.index()] = NEVER;
        }
        world.monitor.on_crash(at);
        world.meter.on_crash(world.now_ns, at);
        world.record(at, || What::Crash);
        for (Key { number, .. }, it) in world.take_waiting(at) {
            world.lose(number, at, it.event, Loss::Down, &mut **population);
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
