//! The workload.

use vorrang_algorithms::election::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_sim::{Workload, WorkloadEffects};
use vorrang_trace::Traffic;

use super::meter::Tally;

/// Some nodes call for an election when the run begins.
#[derive(Clone, Debug)]
pub struct Calls(pub Vec<NodeId>);

impl Workload<Command, Notice> for Calls {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            arrived: vec![0; kinds.len()],
            follows: vec![None; nodes as usize],
            began_ns: None,
            ended_ns: 0,
            depth: vec![0; nodes as usize],
            rounds: 0,
        }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for &node in &self.0 {
            orders.command_in(0, node, Command::Elect);
        }
    }
}
