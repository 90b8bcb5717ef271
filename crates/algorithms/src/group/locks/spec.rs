//! The specification of locks on views, independent of the algorithm inside.
//!
//! | property | says |
//! | --- | --- |
//! | `exclusion` | no node enters beside a conflicting one that is up and still has the lock |
//! | `fencing` | of two entries the later one has the larger number; the larger or the same view |
//! | | where more than one may be inside |
//! | `progress` | every live waiting node enters, if enough are up and suspicions become right |
//! | | where nothing is [lost for good](Locked::about_safety) by a crash |
//!
//! Without leases, exclusion cannot hold where a node is suspected wrongly: a node that is cut off,
//! and inside or about to enter, does not know that the others go on. There
//! [fencing](Locked::fenced) takes its place: fencing tokens grow within a view, and a node left in
//! an older view has a lower token than those that have gone on, so that a resource that checks
//! tokens refuses it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use crate::group::reach::Reach;
use crate::group::with_suspicions::{self, Suspecting};
use crate::mutex::spec::Admission;
use crate::mutex::{Claim, Command, FencingToken, Notice};

const EXCLUSION: &str = "exclusion";
const FENCING: &str = "fencing";
const PROGRESS: &str = "progress";

/// All properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Locked {
    nodes: Vec<Seen>,
    /// For every view the clock of the last entry.
    clocks: BTreeMap<u64, u64>,
    reach: Reach,
    admission: Admission,
    /// Whether the detector may be wrong about a node inside.
    is_fenced: bool,
    /// Whether nobody need be served.
    is_about_safety: bool,
}

/// The history of a node that matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen {
    is_inside: bool,
    waits: bool,
    /// Its last claim.
    claim: Claim,
}

impl Seen {
    const NEW: Self = Self { is_inside: false, waits: false, claim: Claim::Exclusive };
}

impl Locked {
    /// No request yet. All nodes have founded the group.
    pub fn new(group: Group) -> Self {
        Self {
            nodes: vec![Seen::NEW; group.size() as usize],
            clocks: BTreeMap::new(),
            reach: Reach::new(group),
            admission: Admission::One,
            is_fenced: false,
            is_about_safety: false,
        }
    }

    /// The same, where more than one may be inside.
    #[must_use]
    pub fn admitting(self, admission: Admission) -> Self {
        Self { admission, ..self }
    }

    /// The same, where a node may be suspected wrongly: only a resource that checks fencing tokens
    /// need be safe.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { is_fenced: true, ..self }
    }

    /// The same where a group may come to an end, as one whose members have forgotten it: whoever
    /// waits may do so for ever.
    #[must_use]
    pub fn about_safety(self) -> Self {
        Self { is_about_safety: true, ..self }
    }

    fn on_entered(&mut self, at: NodeId, fence: FencingToken) -> Result<(), Violation> {
        let violation = |property, what: String| Err(Violation { property, what });
        let is_left_behind = self.clocks.keys().next_back().is_some_and(|&it| fence.view < it);
        let before = self.clocks.insert(fence.view, fence.clock);
        // Between those who are inside together there is no chain of messages.
        let is_ordered = self.admission == Admission::One;
        let is_lower = is_ordered && before.is_some_and(|clock| fence.clock <= clock);
        if is_lower || (is_left_behind && !self.is_fenced) {
            let what = format!(
                "node {at} enters with fencing token {fence}, which is not the \
                                highest so far"
            );
            return violation(FENCING, what);
        }
        let node = &mut self.nodes[at.index()];
        node.is_inside = true;
        node.waits = false;
        if let Some(other) = self.obstacle(at).filter(|_| !self.is_fenced) {
            return violation(EXCLUSION, format!("node {at} enters while node {other} is inside"));
        }
        Ok(())
    }

    /// The node inside that conflicts with this one.
    fn obstacle(&self, at: NodeId) -> Option<NodeId> {
        let claim = self.nodes[at.index()].claim;
        let others = (0..).map(NodeId).zip(&self.nodes).filter(|(id, _)| *id != at);
        let mut inside = others.filter(|(id, node)| node.is_inside && self.reach.is_up(*id));
        let obstacle = match self.admission {
            Admission::One => inside.next(),
            Admission::UpTo(k) => inside.nth(k.saturating_sub(1) as usize),
            Admission::Compatible => inside.find(|(_, other)| other.claim.conflicts_with(claim)),
        };
        obstacle.map(|it| it.0)
    }

    /// The nodes that wait, unless too few others are up.
    fn waiting(&self) -> Vec<NodeId> {
        let seen = |id: NodeId| &self.nodes[id.index()];
        let served = self.reach.served().unwrap_or_default();
        let is_taken = self.reach.up().any(|it| seen(it).is_inside);
        if is_taken || self.is_about_safety {
            Vec::new()
        } else {
            served.iter().filter(|&it| seen(it).waits).collect()
        }
    }
}

impl Monitor for Locked {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        let node = &mut self.nodes[at.index()];
        match command {
            Command::Acquire(claim) => (node.waits, node.claim) = (true, *claim),
            Command::Release => node.is_inside = false,
        }
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match *notice {
            Notice::EnteredAs(fence) => self.on_entered(at, fence),
            Notice::Entered => {
                let what = format!("node {at} enters without a fencing token");
                Err(Violation { property: FENCING, what })
            }
            Notice::View { .. } => Ok(()),
            Notice::Evicted => {
                self.nodes[at.index()].is_inside = false;
                Ok(())
            }
        }
    }
    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting().first() {
            Some(at) => {
                let what = format!("node {at} waits for ever");
                Err(Violation { property: PROGRESS, what })
            }
            None => Ok(()),
        }
    }
    fn obligations(&self) -> Vec<Obligation> {
        self.waiting().into_iter().map(|to| Obligation { to, property: PROGRESS }).collect()
    }
    fn on_crash(&mut self, at: NodeId) {
        self.nodes[at.index()] = Seen::NEW;
        self.reach.on_crash(at);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.reach.on_restart(at);
    }
    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.reach.cuts.on_cut(sides);
    }
    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.reach.cuts.on_heal(sides);
    }
    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.reach.cuts.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.reach.cuts.on_link_mended(from, to);
    }
}

/// The same, for machines that are fed by a failure detector.
pub type WithSuspicions = with_suspicions::WithSuspicions<Locked>;

impl WithSuspicions {
    /// The monitor sees suspicions.
    pub fn new(locked: Locked) -> Self {
        with_suspicions::WithSuspicions(Locked { reach: locked.reach.told(), ..locked })
    }
}

impl Suspecting for Locked {
    fn suspects(&mut self, at: NodeId) -> &mut NodeSet {
        self.reach.suspects(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::input::Input;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn asks(monitor: &mut Locked, at: u32) {
        monitor.on_command(NodeId(at), &ACQUIRE).unwrap();
    }

    fn enters(monitor: &mut Locked, at: u32, view: u64, clock: u64) -> Result<(), &'static str> {
        let entered = Notice::EnteredAs(FencingToken { view, clock });
        monitor.on_notice(NodeId(at), &entered).map_err(|it| it.property)
    }

    #[test]
    fn two_are_not_inside_unless_one_is_down_or_was_put_out() {
        let mut monitor = Locked::new(Group::of(3));
        enters(&mut monitor, 0, 1, 1).unwrap();
        assert_eq!(enters(&mut monitor.clone(), 1, 1, 2), Err(EXCLUSION));
        assert_eq!(enters(&mut monitor.clone().fenced(), 1, 1, 2), Ok(()));
        let mut down = monitor.clone();
        down.on_crash(NodeId(0));
        enters(&mut down, 1, 2, 2).unwrap();
        let mut left = monitor.clone();
        left.on_command(NodeId(0), &Command::Release).unwrap();
        enters(&mut left, 1, 1, 2).unwrap();
        monitor.on_notice(NodeId(0), &Notice::Evicted).unwrap();
        enters(&mut monitor, 1, 2, 2).unwrap();
    }

    #[test]
    fn as_many_are_inside_as_may_and_only_their_views_must_grow() {
        let mut two = Locked::new(Group::of(4)).admitting(Admission::UpTo(2));
        enters(&mut two, 0, 1, 5).unwrap();
        enters(&mut two, 1, 1, 5).expect("there is no order between them");
        assert_eq!(enters(&mut two.clone(), 2, 1, 6), Err(EXCLUSION));
        two.on_notice(NodeId(0), &Notice::Evicted).unwrap();
        enters(&mut two, 2, 2, 1).unwrap();
        two.on_crash(NodeId(1));
        assert_eq!(enters(&mut two, 3, 1, 9), Err(FENCING), "the others are in view 2");

        let share = |monitor: &mut Locked, at, claim| {
            monitor.on_command(NodeId(at), &Command::Acquire(claim)).unwrap();
            enters(monitor, at, 1, 1)
        };
        let mut readers = Locked::new(Group::of(3)).admitting(Admission::Compatible);
        share(&mut readers, 0, Claim::Shared).unwrap();
        share(&mut readers, 1, Claim::Shared).unwrap();
        assert_eq!(share(&mut readers, 2, Claim::Exclusive), Err(EXCLUSION));
    }

    #[test]
    fn an_entry_without_a_number_is_none() {
        let mut monitor = Locked::new(Group::of(2)).fenced();
        let entered = monitor.on_notice(NodeId(0), &Notice::Entered);
        assert_eq!(entered.unwrap_err().property, FENCING);
    }

    #[test]
    fn numbers_grow_from_entry_to_entry() {
        let mut monitor = Locked::new(Group::of(3)).fenced();
        enters(&mut monitor, 0, 1, 9).unwrap();
        assert_eq!(enters(&mut monitor.clone(), 1, 1, 9), Err(FENCING));
        enters(&mut monitor, 1, 2, 1).unwrap();
        assert_eq!(enters(&mut monitor.clone(), 2, 1, 9), Err(FENCING));
        assert_eq!(enters(&mut monitor.clone(), 2, 1, 10), Ok(()), "the resource refuses it");
        monitor.is_fenced = false;
        assert_eq!(enters(&mut monitor, 2, 1, 10), Err(FENCING));
    }

    #[test]
    fn whoever_waits_enters_unless_too_few_are_up_or_somebody_is_inside() {
        let mut monitor = Locked::new(Group::of(3));
        asks(&mut monitor, 1);
        assert_eq!(monitor.at_rest().unwrap_err().property, PROGRESS);
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(1), property: PROGRESS }]);
        let mut inside = monitor.clone();
        enters(&mut inside, 0, 1, 1).unwrap();
        inside.at_rest().unwrap();
        monitor.clone().about_safety().at_rest().expect("nobody need be served");
        let mut cut = monitor.clone();
        cut.on_cut(&[vec![NodeId(1)]]);
        cut.at_rest().expect("it is alone");
        cut.on_heal(&[vec![NodeId(1)]]);
        assert!(cut.at_rest().is_err());
        cut.on_cut(&[vec![NodeId(2)]]);
        assert!(cut.at_rest().is_err(), "two can go on");
        monitor.on_crash(NodeId(2));
        let mut told = WithSuspicions::new(monitor.clone());
        told.at_rest().expect("nobody knows");
        for at in [0, 1] {
            told.on_command(NodeId(at), &Input::Suspect(NodeId(2))).unwrap();
        }
        assert!(told.at_rest().is_err());
        monitor.on_crash(NodeId(0));
        monitor.at_rest().expect("one of three");
    }
}
