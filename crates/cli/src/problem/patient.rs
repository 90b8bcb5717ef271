//! A workload that asks nothing more once all is at rest and somebody still waits.
//!
//! Under light and burst load everyone asks again when all is at rest. Where an algorithm was broken
//! on purpose, or messages were lost, a node may wait for ever: told to ask again it would refuse,
//! and the run would end with an error about that instead of the verdict that it has earned.

use std::collections::BTreeSet;

use vorrang_protocol::{NodeId, Step, Turn};
use vorrang_sim::{Orders, Workload};

/// The workload inside, until somebody waits for ever.
#[derive(Clone, Debug)]
pub(crate) struct Patient<W> {
    inside: W,
    waiting: BTreeSet<NodeId>,
}

impl<W> Patient<W> {
    pub(crate) const fn new(inside: W) -> Self {
        Self { inside, waiting: BTreeSet::new() }
    }

    fn on_step(&mut self, at: NodeId, step: Option<Step>) {
        match step {
            Some(Step::Ask) => {
                self.waiting.insert(at);
            }
            Some(Step::Enter | Step::Leave) => {
                self.waiting.remove(&at);
            }
            None => {}
        }
    }
}

impl<C: Turn, N: Turn, W: Workload<C, N>> Workload<C, N> for Patient<W> {
    type Meter = W::Meter;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> W::Meter {
        self.inside.meter(nodes, kinds)
    }
    fn on_start(&mut self, orders: &mut Orders<'_, C>) {
        self.inside.on_start(orders);
    }
    fn on_command(&mut self, at: NodeId, command: &C, orders: &mut Orders<'_, C>) {
        self.on_step(at, command.step());
        self.inside.on_command(at, command, orders);
    }
    fn on_notice(&mut self, at: NodeId, notice: &N, orders: &mut Orders<'_, C>) {
        self.on_step(at, notice.step());
        self.inside.on_notice(at, notice, orders);
    }
    fn on_rest(&mut self, orders: &mut Orders<'_, C>) {
        if self.waiting.is_empty() {
            self.inside.on_rest(orders);
        }
    }
    fn on_crash(&mut self, at: NodeId) {
        self.waiting.remove(&at);
        self.inside.on_crash(at);
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut Orders<'_, C>) {
        self.inside.on_restart(at, orders);
    }
}
