//! The workload.

use vorrang_algorithms::detection::{Command, Notice};
use vorrang_sim::{Workload, WorkloadEffects};

use super::meter::Tally;

/// There are no commands.
#[derive(Clone, Copy, Debug)]
pub struct NoWorkload;

impl Workload<Command, Notice> for NoWorkload {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally::new(nodes, kinds)
    }
    fn on_start(&mut self, _: &mut WorkloadEffects<'_, Command>) {}
}
