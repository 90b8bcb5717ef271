//! Turns: the workload of nodes that ask, enter and leave, and its meter.

use vorrang_protocol::{NodeId, NodeSet, Step, Turn};
use vorrang_trace::{Measure, Meter, Sent, Summary};

use crate::causality::{Causality, Past};
use crate::contenders::Contenders;
use crate::{Distribution, Workload, WorkloadEffects};

/// When nodes ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Load<C> {
    /// Every node asks again some time after it has left, until it has made its share of the
    /// entries. No time at all is saturation.
    ///
    /// A stay of no time at all makes saturation meaningless where a node that has left may enter
    /// again for free before any message arrives: see [`Turns::hold`].
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
    contenders: Contenders,
    entries: u64,
    /// Requests that may still be made: by each contender in a closed loop, otherwise, as the only
    /// one, by all together.
    left: Vec<u64>,
    /// Nodes that have asked and not left yet, where requests are made at rest only.
    busy: Vec<NodeId>,
    /// Nodes that have crashed and not come up again.
    down: Vec<NodeId>,
    /// Whether messages travel even without requests.
    perpetual: bool,
    /// Nodes that are about to ask, or have asked and not left yet, where nothing ever rests.
    active: NodeSet,
}

impl<C: Clone> Turns<C> {
    /// Nodes ask with `acquire` as `load` says, and leave with `release` at once.
    pub fn new(load: Load<C>, acquire: C, release: C) -> Self {
        Self {
            load,
            acquire: vec![acquire],
            release,
            hold: Distribution::Constant(0),
            contenders: Contenders::All,
            entries: u64::MAX,
            left: Vec::new(),
            busy: Vec::new(),
            down: Vec::new(),
            perpetual: false,
            active: NodeSet::EMPTY,
        }
    }

    /// So many requests are made in all; then no new one is, and the run drains. In a closed loop
    /// every contender makes its [share](Contenders::share) of them; otherwise it does not matter
    /// who does.
    #[must_use]
    pub const fn entries(mut self, entries: u64) -> Self {
        self.entries = entries;
        self
    }

    /// How long a node stays inside.
    #[must_use]
    pub const fn hold(mut self, hold: Distribution) -> Self {
        self.hold = hold;
        self
    }

    /// Only these nodes ever ask.
    #[must_use]
    pub fn contenders(mut self, who: Contenders) -> Self {
        self.contenders = who;
        self
    }

    /// Only the first so many nodes ever ask.
    #[must_use]
    pub fn hot(self, nodes: u32) -> Self {
        self.contenders(Contenders::First(nodes))
    }

    /// Messages travel even without requests, so that the system never comes to rest. The run is
    /// over when all requests have been made and served; and actions at rest happen when no node
    /// waits or is inside.
    #[must_use]
    pub const fn perpetual(mut self, is_so: bool) -> Self {
        self.perpetual = is_so;
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
    fn on_step(&mut self, node: NodeId, step: Step, orders: &mut WorkloadEffects<'_, C>) {
        match step {
            Step::Ask => self.activate(node),
            // A node that lost the lock still releases it, at the time at which it wanted to leave.
            Step::Enter | Step::Evicted => {}
            Step::Leave => {
                self.active.remove(node);
            }
        }
        match (&self.load, step) {
            (Load::Closed { .. } | Load::OneAtATime | Load::Burst, Step::Enter) => {
                let in_ns = orders.draw(self.hold);
                orders.command_in(in_ns, node, self.release.clone());
            }
            (&Load::Closed { think }, Step::Leave) => self.ask_again(node, think, orders),
            (Load::Closed { .. }, Step::Ask) => {
                // Counted when it happens: what a crash keeps from happening was no request.
                let left = &mut self.left[node.index()];
                *left = left.saturating_sub(1);
            }
            (Load::OneAtATime | Load::Burst, Step::Ask) => self.busy.push(node),
            (Load::OneAtATime | Load::Burst, Step::Leave) => {
                self.busy.retain(|&it| it != node);
                self.rest_if_nothing_else_does(orders);
            }
            (_, Step::Evicted) | (Load::Script(_), Step::Ask | Step::Enter | Step::Leave) => {}
        }
    }

    /// Notes that a node has a turn ahead of it, where that decides when the run is over.
    fn activate(&mut self, node: NodeId) {
        if self.perpetual {
            self.active.insert(node);
        }
    }

    /// Actions at rest happen when no node is active, where the system never comes to rest.
    fn rest_if_nothing_else_does(&mut self, orders: &mut WorkloadEffects<'_, C>) {
        if self.perpetual && self.active.is_empty() {
            self.ask_at_rest(orders);
        }
    }

    fn ask_at_rest(&mut self, orders: &mut WorkloadEffects<'_, C>) {
        if !self.busy.is_empty() {
            // A node waits in vain. That is the end, and no reason to ask again.
            return;
        }
        match &self.load {
            Load::OneAtATime => {
                let (who, size) = (&self.contenders, orders.nodes);
                let is_one = |node: &&NodeId| who.place(**node, size).is_some();
                let ready = who.count(size) - self.down.iter().filter(is_one).count() as u32;
                let drawn = orders.random.below(ready.max(1).into()) as u32;
                // Where no node is down there is none to skip.
                let node = match &self.down[..] {
                    [] => Some(who.nth(drawn)),
                    _ => self.ready(orders.nodes).nth(drawn as usize),
                };
                if let Some(node) = node {
                    self.ask_now(node, orders);
                }
            }
            Load::Burst => {
                let ready: Vec<NodeId> = self.ready(orders.nodes).collect();
                for node in ready {
                    self.ask_now(node, orders);
                }
            }
            Load::Closed { .. } | Load::Script(_) => {}
        }
    }

    fn shares(&self, size: u32) -> Vec<u64> {
        (0..size).map(|node| self.contenders.share(self.entries, NodeId(node), size)).collect()
    }

    /// The contenders that are up.
    fn ready(&self, size: u32) -> impl Iterator<Item = NodeId> + '_ {
        self.contenders.iter(size).filter(|node| !self.down.contains(node))
    }

    /// In a closed loop: asks after some time, unless the node has made its share.
    fn ask_again(
        &mut self,
        node: NodeId,
        think: Distribution,
        orders: &mut WorkloadEffects<'_, C>,
    ) {
        if self.left[node.index()] > 0 {
            let in_ns = orders.draw(think);
            self.ask(node, in_ns, orders);
        }
    }

    /// Asks at once, unless all have made enough requests together.
    fn ask_now(&mut self, node: NodeId, orders: &mut WorkloadEffects<'_, C>) {
        if self.left[0] > 0 {
            self.left[0] -= 1;
            self.ask(node, 0, orders);
        }
    }

    fn ask(&mut self, node: NodeId, in_ns: u64, orders: &mut WorkloadEffects<'_, C>) {
        self.activate(node);
        // Nothing is drawn where there is nothing to choose.
        let choice = match self.acquire.len() {
            1 => 0,
            many => orders.random.below(many as u64) as usize,
        };
        orders.command_in(in_ns, node, self.acquire[choice].clone());
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
        let measure = Measure::new(nodes, kinds);
        let measure = match &self.load {
            Load::Closed { .. } => measure.with_shares(self.shares(nodes)),
            Load::OneAtATime | Load::Burst | Load::Script(_) => measure,
        };
        let causality = (size <= Causality::MOST_NODES).then(|| Causality::new(size));
        TurnMeter { measure, causality, asked: vec![None; size] }
    }

    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, C>) {
        match &self.load {
            &Load::Closed { think } => {
                self.left = self.shares(orders.nodes);
                // One that is down from the start asks when it comes up.
                for node in (0..orders.nodes).map(NodeId) {
                    if !self.down.contains(&node) {
                        self.ask_again(node, think, orders);
                    }
                }
            }
            Load::OneAtATime | Load::Burst => {
                self.left = vec![self.entries];
                self.rest_if_nothing_else_does(orders);
            }
            Load::Script(script) => {
                self.left = vec![script.len() as u64];
                for (in_ns, node, command) in script.iter().cloned() {
                    orders.command_in(in_ns, node, command);
                }
            }
        }
    }

    fn on_command(&mut self, at: NodeId, command: &C, orders: &mut WorkloadEffects<'_, C>) {
        if let (Load::Script(_), [left]) = (&self.load, &mut self.left[..]) {
            *left = left.saturating_sub(1);
        }
        if let Some(step) = command.step() {
            self.on_step(at, step, orders);
        }
    }

    fn on_notice(&mut self, at: NodeId, notice: &N, orders: &mut WorkloadEffects<'_, C>) {
        if let Some(step) = notice.step() {
            self.on_step(at, step, orders);
        }
    }

    fn on_rest(&mut self, orders: &mut WorkloadEffects<'_, C>) {
        self.ask_at_rest(orders);
    }

    fn is_done(&self, faults_to_come: bool) -> bool {
        if !self.perpetual || !self.active.is_empty() {
            return false;
        }
        let is_up = |node| faults_to_come || !self.down.contains(&node);
        match &self.load {
            Load::Closed { .. } => {
                let mut left = (0..).map(NodeId).zip(&self.left);
                left.all(|(node, &left)| left == 0 || !is_up(node))
            }
            // If there is more to do and no node is about to, then all candidates are down.
            Load::OneAtATime | Load::Burst => !faults_to_come || self.left == [0],
            Load::Script(_) => self.left == [0],
        }
    }

    fn on_crash(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, C>) {
        self.busy.retain(|&node| node != at);
        self.active.remove(at);
        self.down.push(at);
        // A node that is down from the start is so before anything else.
        let has_begun = !self.left.is_empty();
        if has_begun {
            self.rest_if_nothing_else_does(orders);
        }
    }

    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, C>) {
        self.down.retain(|&node| node != at);
        match &self.load {
            &Load::Closed { think } => self.ask_again(at, think, orders),
            Load::OneAtATime | Load::Burst => self.rest_if_nothing_else_does(orders),
            // A script does not belong to its node: its remaining commands are given all the same.
            Load::Script(script) => {
                for (at_ns, node, command) in script {
                    if let Some(in_ns) = at_ns.checked_sub(orders.now_ns)
                        && *node == at
                    {
                        orders.command_in(in_ns, at, command.clone());
                    }
                }
            }
        }
    }
}

/// Measures turns, and overtakings.
#[derive(Clone, Debug)]
pub struct TurnMeter<C> {
    measure: Measure,
    causality: Option<Causality>,
    /// The last claim of each node.
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
                Step::Leave | Step::Evicted => {}
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

    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> Past {
        self.measure.on_send(from, to, sent);
        self.causality.as_mut().map_or(0, |causality| causality.on_send(from))
    }

    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, past: Past) {
        self.measure.on_receive(from, at);
        if let Some(causality) = &mut self.causality {
            causality.on_receive(at, past);
        }
    }

    fn on_duplicate(&mut self, past: &Past) -> Past {
        self.causality.as_mut().map_or(0, |causality| causality.on_duplicate(*past))
    }

    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.measure.on_crash(at);
        self.asked[at.index()] = None;
        if let Some(causality) = &mut self.causality {
            causality.on_crash(at);
        }
    }

    fn on_lost(&mut self, _: u64, past: Past) {
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
