//! What the applications do.

use vorrang_algorithms::detection::{Command, Notice};
use vorrang_sim::{Orders, Workload};

use super::meter::Tally;

/// Nobody asks for anything.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Workload<Command, Notice> for Silent {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally::new(nodes, kinds)
    }
    fn on_start(&mut self, _: &mut Orders<'_, Command>) {}
}
