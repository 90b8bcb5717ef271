//! Workloads, independent of the problem.

use std::fmt::Debug;

use vorrang_protocol::NodeId;
use vorrang_trace::Meter;

use crate::{Distribution, Random};

/// The workload of a run: the commands of all applications, and the meter of their side.
pub trait Workload<C, N>: Debug {
    /// The meter of such a run.
    type Meter: Meter<C, N>;

    /// A meter for so many nodes, whose messages are of these kinds.
    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Self::Meter;

    /// The run begins.
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, C>);
    /// Whether a command that was ordered is not given after all, because the node would refuse it
    /// now: the workload will order another when the time has come.
    fn withholds(&mut self, _at: NodeId, _command: &C) -> bool {
        false
    }
    /// A node was given a command.
    fn on_command(&mut self, _at: NodeId, _command: &C, _orders: &mut WorkloadEffects<'_, C>) {}
    /// A node told its application something.
    fn on_notice(&mut self, _at: NodeId, _notice: &N, _orders: &mut WorkloadEffects<'_, C>) {}
    /// Nothing is under way any more.
    fn on_rest(&mut self, _orders: &mut WorkloadEffects<'_, C>) {}
    /// Whether all work is done, for systems that never come to rest: then the run ends. Without
    /// faults to come, crashed nodes will do nothing more.
    fn is_done(&self, _faults_to_come: bool) -> bool {
        false
    }
    /// A node crashed, and its application with it: what was ordered there will not be done.
    fn on_crash(&mut self, _at: NodeId, _orders: &mut WorkloadEffects<'_, C>) {}
    /// A node came up again. What its application had in mind before the crash is forgotten.
    fn on_restart(&mut self, _at: NodeId, _orders: &mut WorkloadEffects<'_, C>) {}
}

/// The effects of a workload: commands, at once or later, and random draws.
#[derive(Debug)]
pub struct WorkloadEffects<'a, C> {
    /// How many nodes there are.
    pub nodes: u32,
    /// The time.
    pub now_ns: u64,
    /// The one source of chance.
    pub random: &'a mut Random,
    pub(crate) due: &'a mut Vec<Due<C>>,
}

/// A command to be given later.
#[derive(Debug)]
pub(crate) struct Due<C> {
    pub(crate) in_ns: u64,
    pub(crate) node: NodeId,
    pub(crate) command: C,
}

impl<C> WorkloadEffects<'_, C> {
    /// Gives a command when so much time has passed.
    pub fn command_in(&mut self, in_ns: u64, node: NodeId, command: C) {
        self.due.push(Due { in_ns, node, command });
    }

    /// Draws a duration.
    pub fn draw(&mut self, from: Distribution) -> u64 {
        from.draw(self.random)
    }
}
