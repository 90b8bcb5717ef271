//! The protected resource: the node inside writes to it, and the meter counts stale writes with and
//! without fencing.
//!
//! An application writes when it enters and when it leaves; one that was told that it lost the lock
//! writes no more. A write is *stale* if another application has entered since in the same view, or
//! in a later one: the lock is that one's by now. A resource that refuses fencing tokens lower than
//! the highest that it has seen should refuse these, and no others.

use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::mutex::{Command, FencingToken, Notice};
use vorrang_protocol::NodeId;
use vorrang_sim::{TurnMeter, Turns, Workload, WorkloadEffects};
use vorrang_trace::{Batches, Meter, Sent, Summary};

/// Applications that take turns, and what they use if they are on views.
#[derive(Clone, Debug)]
pub struct Users {
    /// When nodes ask, enter and leave.
    pub turns: Turns<Command>,
    /// Which claims may be inside together, where entries have fencing tokens.
    pub numbered: Option<Admission>,
}

impl Workload<Command, Notice> for Users {
    type Meter = UseMeter;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> UseMeter {
        let turns = Workload::<Command, Notice>::meter(&self.turns, nodes, kinds);
        UseMeter { turns, used: self.numbered.map(|it| Resource::new(nodes, it)) }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        Workload::<Command, Notice>::on_start(&mut self.turns, orders);
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        Workload::<Command, Notice>::on_command(&mut self.turns, at, command, orders);
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        self.turns.on_notice(at, notice, orders);
    }
    fn on_rest(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        Workload::<Command, Notice>::on_rest(&mut self.turns, orders);
    }
    fn is_done(&self, faults_to_come: bool) -> bool {
        Workload::<Command, Notice>::is_done(&self.turns, faults_to_come)
    }
    fn on_crash(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        Workload::<Command, Notice>::on_crash(&mut self.turns, at, orders);
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        Workload::<Command, Notice>::on_restart(&mut self.turns, at, orders);
    }
}

/// The meter of turns, and of the resource.
#[derive(Clone, Debug)]
pub struct UseMeter {
    turns: TurnMeter<Command>,
    used: Option<Resource>,
}

/// The figures of a run.
#[derive(Clone, Debug)]
pub struct Uses {
    /// When nodes ask, enter and leave.
    pub turns: Summary,
    /// Where entries have numbers.
    pub used: Option<Resource>,
}

type Past = <TurnMeter<Command> as Meter<Command, Notice>>::Tag;

impl Meter<Command, Notice> for UseMeter {
    type Tag = Past;
    type Summary = Uses;

    fn on_command(&mut self, at_ns: u64, at: NodeId, command: &Command) {
        Meter::<Command, Notice>::on_command(&mut self.turns, at_ns, at, command);
        if let (Some(used), Command::Release) = (&mut self.used, command) {
            used.on_leave(at);
        }
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        self.turns.on_notice(at_ns, at, notice);
        if let Some(used) = &mut self.used {
            used.on_notice(at_ns, at, *notice);
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> Past {
        Meter::<Command, Notice>::on_send(&mut self.turns, from, to, sent)
    }
    fn on_receive(&mut self, at_ns: u64, from: NodeId, at: NodeId, past: Past) {
        Meter::<Command, Notice>::on_receive(&mut self.turns, at_ns, from, at, past);
    }
    fn on_duplicate(&mut self, past: &Past) -> Past {
        Meter::<Command, Notice>::on_duplicate(&mut self.turns, past)
    }
    fn on_lost(&mut self, at_ns: u64, past: Past) {
        Meter::<Command, Notice>::on_lost(&mut self.turns, at_ns, past);
    }
    fn on_crash(&mut self, at_ns: u64, at: NodeId) {
        Meter::<Command, Notice>::on_crash(&mut self.turns, at_ns, at);
        if let Some(used) = &mut self.used {
            used.held[at.index()] = None;
            used.on_membership(at_ns);
        }
    }
    fn on_restart(&mut self, at_ns: u64, at: NodeId) {
        Meter::<Command, Notice>::on_restart(&mut self.turns, at_ns, at);
        if let Some(used) = &mut self.used {
            used.on_membership(at_ns);
        }
    }
    fn progress(&self) -> u64 {
        Meter::<Command, Notice>::progress(&self.turns)
    }
    fn summary(&self) -> Uses {
        let turns = Meter::<Command, Notice>::summary(&self.turns);
        Uses { turns, used: self.used.clone() }
    }
}

/// An entry, by the order in which it should count: the view, and the how manieth of all it is.
type Stay = (u64, u64);

/// A resource that looks at numbers, and how it went.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Whether a later entry in the same view takes the resource from an earlier one.
    is_for_one: bool,
    /// The nodes that are inside as far as they know.
    held: Vec<Option<(FencingToken, Stay)>>,
    entries: u64,
    newest: Stay,
    /// The highest number that it has seen.
    pub highest: Option<FencingToken>,
    /// Writes that came late.
    pub late: u64,
    /// Writes that it refused.
    pub refused: u64,
    /// The newest view, how many members it has, and how many of them are in it.
    view: (u64, u32, u32),
    /// Since when there has been a reason for a next view.
    since_ns: Option<u64>,
    /// From a crash or a restart until all members of the next view are in it.
    pub changes: Batches,
}

impl Resource {
    fn new(nodes: u32, admission: Admission) -> Self {
        Self {
            is_for_one: admission == Admission::One,
            held: vec![None; nodes as usize],
            entries: 0,
            newest: (0, 0),
            highest: None,
            late: 0,
            refused: 0,
            view: (0, 0, 0),
            since_ns: None,
            changes: Batches::default(),
        }
    }

    /// How many views there were.
    pub const fn views(&self) -> u64 {
        self.view.0
    }

    /// The fencing token of an application inside.
    const fn shown(&self, fence: FencingToken) -> FencingToken {
        // Where several are inside, their numbers only tell views apart.
        let clock = if self.is_for_one { fence.clock } else { 0 };
        FencingToken { view: fence.view, clock }
    }

    fn write(&mut self, fence: FencingToken, stay: Stay) {
        let is_late = if self.is_for_one { stay < self.newest } else { stay.0 < self.newest.0 };
        self.late += u64::from(is_late);
        self.refused += u64::from(Some(self.shown(fence)) < self.highest);
    }

    fn on_leave(&mut self, at: NodeId) {
        if let Some((fence, stay)) = self.held[at.index()].take() {
            self.write(fence, stay);
        }
    }

    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: Notice) {
        match notice {
            Notice::Entered => {}
            Notice::EnteredAs(fence) => {
                self.entries += 1;
                let stay = (fence.view, self.entries);
                self.held[at.index()] = Some((fence, stay));
                self.write(fence, stay);
                self.newest = self.newest.max(stay);
                self.highest = self.highest.max(Some(self.shown(fence)));
            }
            Notice::Evicted => self.held[at.index()] = None,
            Notice::View { number, members } => self.on_view(at_ns, number, members),
        }
    }

    fn on_view(&mut self, at_ns: u64, number: u64, members: u32) {
        if number > self.view.0 {
            self.view = (number, members, 0);
        }
        if number == self.view.0 {
            self.view.2 += 1;
            if self.view.2 == members
                && let Some(since_ns) = self.since_ns.take()
            {
                self.changes.add(at_ns - since_ns);
            }
        }
    }

    /// The set of live nodes has changed.
    fn on_membership(&mut self, at_ns: u64) {
        self.since_ns.get_or_insert(at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters(resource: &mut Resource, at: u32, view: u64, clock: u64) {
        resource.on_notice(0, NodeId(at), Notice::EnteredAs(FencingToken { view, clock }));
    }

    #[test]
    fn whoever_was_overtaken_is_late_and_refused() {
        let mut resource = Resource::new(3, Admission::One);
        enters(&mut resource, 0, 1, 1);
        enters(&mut resource, 1, 2, 2);
        assert_eq!((resource.late, resource.refused), (0, 0));
        resource.on_leave(NodeId(0));
        assert_eq!((resource.late, resource.refused), (1, 1));
        resource.on_leave(NodeId(1));
        enters(&mut resource, 2, 1, 7);
        assert_eq!((resource.late, resource.refused), (2, 2), "of a view that is over");
        assert_eq!(resource.highest, Some(FencingToken { view: 2, clock: 2 }));
    }

    #[test]
    fn whoever_was_put_out_or_is_down_writes_no_more() {
        let mut resource = Resource::new(2, Admission::One);
        enters(&mut resource, 0, 1, 1);
        resource.on_notice(5, NodeId(0), Notice::Evicted);
        enters(&mut resource, 1, 2, 2);
        resource.on_leave(NodeId(0));
        assert_eq!((resource.late, resource.refused), (0, 0));
    }

    #[test]
    fn numbers_that_do_not_grow_let_somebody_in_late() {
        let mut resource = Resource::new(2, Admission::One);
        enters(&mut resource, 0, 1, 1);
        enters(&mut resource, 1, 1, 1);
        resource.on_leave(NodeId(0));
        assert_eq!((resource.late, resource.refused), (1, 0));
    }

    #[test]
    fn of_several_inside_none_is_late_but_for_one_of_an_older_view() {
        let mut resource = Resource::new(3, Admission::UpTo(2));
        enters(&mut resource, 0, 1, 2);
        enters(&mut resource, 1, 1, 1);
        resource.on_leave(NodeId(0));
        assert_eq!((resource.late, resource.refused), (0, 0));
        enters(&mut resource, 2, 2, 3);
        resource.on_leave(NodeId(1));
        assert_eq!((resource.late, resource.refused), (1, 1));
    }

    #[test]
    fn a_change_ends_when_all_members_are_in_the_next_view() {
        let mut resource = Resource::new(3, Admission::One);
        for at in 0..3 {
            resource.on_notice(0, NodeId(at), Notice::View { number: 1, members: 3 });
        }
        assert_eq!(resource.changes.count(), 0, "nothing led to the first");
        resource.on_membership(100);
        resource.on_notice(110, NodeId(0), Notice::View { number: 2, members: 2 });
        assert_eq!(resource.changes.count(), 0);
        resource.on_notice(120, NodeId(1), Notice::View { number: 2, members: 2 });
        assert_eq!((resource.changes.count(), resource.changes.mean()), (1, Some(20.0)));
        assert_eq!(resource.views(), 2);
    }
}
