//! Turns: nodes that ask, enter and leave, when they ask, how long they stay, and what is measured.

use vorrang_protocol::{Message, NodeId, Step, Turn};
use vorrang_trace::{Measure, Meter, Summary};

use crate::causality::{Causality, Past};
use crate::{Distribution, Orders, Workload};

/// When nodes ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Load<C> {
    /// Every node asks again some time after it has left. No time at all is saturation.
    Closed {
        /// From leaving to asking again.
        think: Distribution,
    },
    /// One request at a time, from a node drawn at random, when all is at rest: the light-load
    /// limit.
    OneAtATime,
    /// All nodes ask at once; when all is at rest, again.
    Burst,
    /// These commands at these times, in nanoseconds, and no others.
    Script(Vec<(u64, NodeId, C)>),
}

/// Nodes ask, enter and leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns<C> {
    load: Load<C>,
    acquire: Vec<C>,
    release: C,
    hold: Distribution,
    /// How many nodes ask at all; none for all of them.
    hot: Option<u32>,
    /// Requests that may still be made.
    left: u64,
}

impl<C: Clone> Turns<C> {
    /// Nodes ask with `acquire` as `load` says, and leave with `release` at once.
    pub fn new(load: Load<C>, acquire: C, release: C) -> Self {
        let hold = Distribution::Constant(0);
        Self { load, acquire: vec![acquire], release, hold, hot: None, left: u64::MAX }
    }

    /// So many requests are made in all; then no new one is, and the run drains.
    #[must_use]
    pub const fn entries(mut self, entries: u64) -> Self {
        self.left = entries;
        self
    }

    /// How long a node stays inside.
    #[must_use]
    pub const fn hold(mut self, hold: Distribution) -> Self {
        self.hold = hold;
        self
    }

    /// Only the first so many nodes ever ask.
    #[must_use]
    pub const fn hot(mut self, nodes: u32) -> Self {
        self.hot = Some(nodes);
        self
    }

    /// Every request is made with one of these commands, drawn at random, each as likely as it is
    /// often in the list.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn acquire_any_of(mut self, commands: Vec<C>) -> Self {
        assert!(!commands.is_empty(), "a node asks with some command");
        self.acquire = commands;
        self
    }

    /// A node asked, entered or left.
    fn on_step(&mut self, node: NodeId, step: Step, orders: &mut Orders<'_, C>) {
        match (&self.load, step) {
            (Load::Closed { .. } | Load::OneAtATime | Load::Burst, Step::Enter) => {
                let in_ns = orders.draw(self.hold);
                orders.command_in(in_ns, node, self.release.clone());
            }
            (&Load::Closed { think }, Step::Leave) => self.ask_after(node, think, orders),
            (Load::Closed { .. } | Load::OneAtATime | Load::Burst, Step::Ask)
            | (Load::OneAtATime | Load::Burst, Step::Leave)
            | (Load::Script(_), Step::Ask | Step::Enter | Step::Leave) => {}
        }
    }

    fn contenders(&self, size: u32) -> impl Iterator<Item = NodeId> + use<C> {
        (0..self.hot.unwrap_or(size).min(size)).map(NodeId)
    }

    fn ask_after(&mut self, node: NodeId, think: Distribution, orders: &mut Orders<'_, C>) {
        let in_ns = orders.draw(think);
        self.ask(node, in_ns, orders);
    }

    fn ask(&mut self, node: NodeId, in_ns: u64, orders: &mut Orders<'_, C>) {
        if self.left > 0 {
            self.left -= 1;
            // Nothing is drawn where there is nothing to choose.
            let choice = match self.acquire.len() {
                1 => 0,
                many => orders.random.below(many as u64) as usize,
            };
            orders.command_in(in_ns, node, self.acquire[choice].clone());
        }
    }
}

impl<C, N> Workload<C, N> for Turns<C>
where
    C: Turn + Clone + std::fmt::Debug,
    N: Turn,
{
    type Meter = TurnMeter<C>;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> TurnMeter<C> {
        let size = nodes as usize;
        TurnMeter {
            measure: Measure::new(nodes, kinds),
            causality: (size <= Causality::MOST_NODES).then(|| Causality::new(size)),
            asked: vec![None; size],
        }
    }

    fn on_start(&mut self, orders: &mut Orders<'_, C>) {
        match &self.load {
            &Load::Closed { think } => {
                for node in self.contenders(orders.nodes) {
                    self.ask_after(node, think, orders);
                }
            }
            Load::OneAtATime | Load::Burst => {}
            Load::Script(script) => {
                for (in_ns, node, command) in script.iter().cloned() {
                    orders.command_in(in_ns, node, command);
                }
            }
        }
    }

    fn on_command(&mut self, at: NodeId, command: &C, orders: &mut Orders<'_, C>) {
        if let Some(step) = command.step() {
            self.on_step(at, step, orders);
        }
    }

    fn on_notice(&mut self, at: NodeId, notice: &N, orders: &mut Orders<'_, C>) {
        if let Some(step) = notice.step() {
            self.on_step(at, step, orders);
        }
    }

    fn on_rest(&mut self, orders: &mut Orders<'_, C>) {
        match &self.load {
            Load::OneAtATime => {
                let hot = u64::from(self.hot.unwrap_or(orders.nodes).min(orders.nodes));
                let node = NodeId(orders.random.below(hot) as u32);
                self.ask(node, 0, orders);
            }
            Load::Burst => {
                for node in self.contenders(orders.nodes) {
                    self.ask(node, 0, orders);
                }
            }
            Load::Closed { .. } | Load::Script(_) => {}
        }
    }

    fn on_restart(&mut self, at: NodeId, orders: &mut Orders<'_, C>) {
        match &self.load {
            &Load::Closed { think } => self.ask_after(at, think, orders),
            Load::OneAtATime | Load::Burst | Load::Script(_) => {}
        }
    }
}

/// Measures turns, and who overtook whom.
#[derive(Clone, Debug)]
pub struct TurnMeter<C> {
    measure: Measure,
    causality: Option<Causality>,
    /// What each node asked with last.
    asked: Vec<Option<C>>,
}

impl<C: Turn + Clone> TurnMeter<C> {
    fn on_step(&mut self, at_ns: u64, at: NodeId, step: Step) {
        self.measure.on_step(at_ns, at, step);
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
    }
}

impl<C, N> Meter<C, N> for TurnMeter<C>
where
    C: Turn + Clone + std::fmt::Debug,
    N: Turn,
{
    type Tag = u32;
    type Summary = Summary;

    fn on_command(&mut self, at_ns: u64, at: NodeId, command: &C) {
        let step = command.step();
        if step == Some(Step::Ask) {
            self.asked[at.index()] = Some(command.clone());
        }
        if let Some(step) = step {
            self.on_step(at_ns, at, step);
        }
    }

    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &N) {
        if let Some(step) = notice.step() {
            self.on_step(at_ns, at, step);
        }
    }

    fn on_send<M: Message>(&mut self, from: NodeId, to: NodeId, message: &M) -> Past {
        self.measure.on_send(from, to, message);
        self.causality.as_mut().map_or(0, |causality| causality.on_send(from))
    }

    fn on_receive(&mut self, from: NodeId, at: NodeId, past: Past) {
        self.measure.on_receive(from, at);
        if let Some(causality) = &mut self.causality {
            causality.on_receive(at, past);
        }
    }

    fn on_lost(&mut self, past: Past) {
        if let Some(causality) = &mut self.causality {
            causality.drop(past);
        }
    }

    fn progress(&self) -> u64 {
        self.measure.entries()
    }

    fn summary(&self) -> Summary {
        let overtakes = self.causality.as_ref().map(Causality::overtakes);
        Summary { overtakes, ..self.measure.summary() }
    }
}
