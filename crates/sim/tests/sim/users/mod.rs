//! Applications that use a lock on views, and a resource that checks their numbers.
#![allow(dead_code, reason = "not every test looks at everything")]

use vorrang_algorithms::mutex::{Claim, Command, FencingToken, Notice};
use vorrang_protocol::NodeId;
use vorrang_sim::{Workload, WorkloadEffects};
use vorrang_trace::{Meter, Sent};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

/// Every node asks, stays, leaves and asks again, until the time is over. The resource that they
/// use checks their numbers, when they come and when they go.
#[derive(Debug)]
pub(crate) struct Users {
    pub(crate) until_ns: u64,
}

impl Users {
    pub(crate) fn ask(&self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        let in_ns = orders.random.exponential(4.0 * MS as f64) as u64 + 1;
        if orders.now_ns + in_ns < self.until_ns {
            orders.command_in(in_ns, at, ACQUIRE);
        }
    }
}

impl Workload<Command, Notice> for Users {
    type Meter = Resource;

    fn meter(&self, nodes: u32, _: &'static [&'static str]) -> Resource {
        Resource::new(nodes)
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in (0..orders.nodes).map(NodeId) {
            self.ask(at, orders);
        }
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if *command == Command::Release {
            self.ask(at, orders);
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if notice.is_entry() {
            let in_ns = orders.random.exponential(3.0 * MS as f64) as u64;
            orders.command_in(in_ns, at, Command::Release);
        }
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        self.ask(at, orders);
    }
}

/// Commands at these times, in milliseconds, and no others.
#[derive(Debug)]
pub(crate) struct Script(pub(crate) Vec<(u64, u32, Command)>);

impl Workload<Command, Notice> for Script {
    type Meter = Resource;

    fn meter(&self, nodes: u32, _: &'static [&'static str]) -> Resource {
        Resource::new(nodes)
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for (at_ms, at, command) in self.0.drain(..) {
            orders.command_in(at_ms * MS, NodeId(at), command);
        }
    }
}

/// A resource that refuses whoever shows a lower number than it has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    held: Vec<Option<FencingToken>>,
    highest: Option<FencingToken>,
    /// How often each node has entered.
    pub(crate) entries_of: Vec<u64>,
    pub(crate) refused: u64,
    /// Who has entered when, in nanoseconds.
    pub(crate) entered: Vec<(u64, NodeId)>,
    /// Who was told when of a view of how many.
    pub(crate) views: Vec<(u64, NodeId, u32)>,
}

impl Resource {
    pub(crate) fn new(nodes: u32) -> Self {
        let nodes = nodes as usize;
        Self { held: vec![None; nodes], entries_of: vec![0; nodes], ..Self::default() }
    }

    pub(crate) fn entries(&self) -> u64 {
        self.entries_of.iter().sum()
    }
}

impl Meter<Command, Notice> for Resource {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, at: NodeId, command: &Command) {
        if *command == Command::Release
            && let Some(fence) = self.held[at.index()].take()
        {
            self.refused += u64::from(Some(fence) < self.highest);
        }
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match *notice {
            Notice::Entered => panic!("an entry without a number"),
            Notice::EnteredAs(fence) => {
                self.held[at.index()] = Some(fence);
                self.refused += u64::from(Some(fence) < self.highest);
                self.highest = self.highest.max(Some(fence));
                self.entries_of[at.index()] += 1;
                self.entered.push((at_ns, at));
            }
            Notice::Evicted => self.held[at.index()] = None,
            Notice::View { members, .. } => self.views.push((at_ns, at, members)),
        }
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, _: Sent) {}
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.held[at.index()] = None;
    }
    fn progress(&self) -> u64 {
        self.entries()
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}
