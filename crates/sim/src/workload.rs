//! What the applications do: when they ask, how long they stay, and when they stop asking.

use vorrang_protocol::{NodeId, Step};

use crate::{Distribution, Random};

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

/// What the applications do in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload<C> {
    load: Load<C>,
    acquire: Vec<C>,
    release: C,
    hold: Distribution,
    /// How many nodes ask at all; none for all of them.
    hot: Option<u32>,
    /// Requests that may still be made.
    left: u64,
}

/// A command to be given later.
#[derive(Debug)]
pub(crate) struct Due<C> {
    pub(crate) in_ns: u64,
    pub(crate) node: NodeId,
    pub(crate) command: C,
}

impl<C: Clone> Workload<C> {
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

    /// The run begins.
    pub(crate) fn on_start(&mut self, size: u32, random: &mut Random, due: &mut Vec<Due<C>>) {
        match &self.load {
            &Load::Closed { think } => {
                for node in self.contenders(size) {
                    self.ask(node, think.draw(random), random, due);
                }
            }
            Load::OneAtATime | Load::Burst => {}
            Load::Script(script) => {
                for (in_ns, node, command) in script.iter().cloned() {
                    due.push(Due { in_ns, node, command });
                }
            }
        }
    }

    /// A node asked, entered or left.
    pub(crate) fn on_step(
        &mut self,
        node: NodeId,
        step: Step,
        random: &mut Random,
        due: &mut Vec<Due<C>>,
    ) {
        match (&self.load, step) {
            (Load::Closed { .. } | Load::OneAtATime | Load::Burst, Step::Enter) => {
                let in_ns = self.hold.draw(random);
                due.push(Due { in_ns, node, command: self.release.clone() });
            }
            (&Load::Closed { think }, Step::Leave) => {
                self.ask(node, think.draw(random), random, due);
            }
            (Load::Closed { .. } | Load::OneAtATime | Load::Burst, Step::Ask)
            | (Load::OneAtATime | Load::Burst, Step::Leave)
            | (Load::Script(_), Step::Ask | Step::Enter | Step::Leave) => {}
        }
    }

    /// Nothing is under way any more.
    pub(crate) fn on_rest(&mut self, size: u32, random: &mut Random, due: &mut Vec<Due<C>>) {
        match &self.load {
            Load::OneAtATime => {
                let hot = u64::from(self.hot.unwrap_or(size).min(size));
                let node = NodeId(random.below(hot) as u32);
                self.ask(node, 0, random, due);
            }
            Load::Burst => {
                for node in self.contenders(size) {
                    self.ask(node, 0, random, due);
                }
            }
            Load::Closed { .. } | Load::Script(_) => {}
        }
    }

    fn contenders(&self, size: u32) -> impl Iterator<Item = NodeId> + use<C> {
        (0..self.hot.unwrap_or(size).min(size)).map(NodeId)
    }

    fn ask(&mut self, node: NodeId, in_ns: u64, random: &mut Random, due: &mut Vec<Due<C>>) {
        if self.left > 0 {
            self.left -= 1;
            // Nothing is drawn where there is nothing to choose.
            let choice = match self.acquire.len() {
                1 => 0,
                many => random.below(many as u64) as usize,
            };
            due.push(Due { in_ns, node, command: self.acquire[choice].clone() });
        }
    }
}
