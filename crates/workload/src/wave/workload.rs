//! The workload.

use vorrang_algorithms::wave::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_sim::{Workload, WorkloadEffects};
use vorrang_trace::Traffic;

use super::meter::Tally;

/// The initiator starts when the run begins.
#[derive(Clone, Debug)]
pub struct Once(pub NodeId);

impl Workload<Command, Notice> for Once {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            depth: vec![0; nodes as usize],
            taking_part: 0,
            worked: 0,
            began_ns: None,
            ended: None,
        }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        orders.command_in(0, self.0, Command::Start);
    }
}
