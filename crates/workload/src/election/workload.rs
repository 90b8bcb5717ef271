//! The workload.

use vorrang_algorithms::election::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_sim::{Workload, WorkloadEffects};
use vorrang_trace::Traffic;

use super::meter::Tally;

/// Some nodes call for an election when the run begins, and some notice what happens to cables.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Those who call.
    pub callers: Vec<NodeId>,
    /// Who notices what, and when, in nanoseconds; at a time of 0, before anybody calls.
    pub cables: Vec<(u64, NodeId, Command)>,
}

impl Workload<Command, Notice> for Calls {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            arrived: vec![0; kinds.len()],
            follows: vec![None; nodes as usize],
            began_ns: None,
            changed_ns: None,
            generation: 0,
            ended_ns: 0,
            depth: vec![0; nodes as usize],
            rounds: 0,
        }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        let (before, later): (Vec<_>, Vec<_>) = self.cables.iter().partition(|it| it.0 == 0);
        for &(_, node, command) in &before {
            orders.command_in(0, node, command);
        }
        for &node in &self.callers {
            orders.command_in(0, node, Command::Elect);
        }
        for &(at_ns, node, command) in &later {
            orders.command_in(at_ns, node, command);
        }
    }
}
