//! Exclusion and progress, after Dijkstra, "Solution of a problem in concurrent programming
//! control", CACM 8(9), 1965: the two requirements that make a solution one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use vorrang_protocol::{Monitor, NodeId, NodeSet, Obligation, Violation};

use crate::mutex::{Claim, Command, Notice};

/// Which claims may be inside together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Admission {
    /// One at a time.
    #[default]
    One,
    /// Any of them, but at most so many: k-exclusion.
    UpTo(u32),
    /// Those whose claims do not conflict: readers and writers, groups.
    Compatible,
}

/// One of the two requirements, where the other is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Only {
    /// Nothing bad ever happens: exclusion.
    Safety,
    /// Something good happens in the end: progress.
    Liveness,
}

/// Exclusion and progress: no node enters beside a conflicting claim, no node enters unasked, and
/// when no further step is bound to happen, no node is left waiting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exclusion {
    admission: Admission,
    only: Option<Only>,
    waiting: NodeSet,
    inside: NodeSet,
    /// The claims of those waiting or inside that are not exclusive, by node.
    claims: Vec<(NodeId, Claim)>,
}

/// Which half is left out is the same in all states of a system.
impl Hash for Exclusion {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { admission, only: _, waiting, inside, claims } = self;
        (admission, waiting, inside, claims).hash(hasher);
    }
}

impl Exclusion {
    /// No node is inside; `admission` decides which may enter together.
    pub fn new(admission: Admission) -> Self {
        Self { admission, ..Self::default() }
    }

    /// The same, and one of the two is left out.
    #[must_use]
    pub fn only(self, only: Option<Only>) -> Self {
        Self { only, ..self }
    }

    fn claim(&self, of: NodeId) -> Claim {
        self.claims
            .binary_search_by_key(&of, |&(id, _)| id)
            .map_or(Claim::Exclusive, |place| self.claims[place].1)
    }

    fn forget_claim(&mut self, of: NodeId) {
        self.claims.retain(|&(id, _)| id != of);
    }

    /// The node inside that forbids `newcomer` to enter.
    fn obstacle(&self, newcomer: NodeId) -> Option<NodeId> {
        match self.admission {
            Admission::One => self.inside.iter().next(),
            Admission::UpTo(k) => self.inside.iter().nth(k.saturating_sub(1) as usize),
            Admission::Compatible => {
                let claim = self.claim(newcomer);
                self.inside.iter().find(|&id| self.claim(id).conflicts_with(claim))
            }
        }
    }
}

impl Monitor for Exclusion {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                self.waiting.insert(at);
                if *claim != Claim::Exclusive {
                    let place = self.claims.partition_point(|&(id, _)| id < at);
                    self.claims.insert(place, (at, *claim));
                }
            }
            Command::Release => {
                self.inside.remove(at);
                self.forget_claim(at);
            }
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Entered | Notice::EnteredAs(_) => {}
            Notice::Evicted => {
                self.inside.remove(at);
                self.forget_claim(at);
                return Ok(());
            }
            Notice::View { .. } => return Ok(()),
        }
        if !self.waiting.remove(at) {
            let what = format!("node {at} entered without having asked");
            return Err(Violation { property: "exclusion", what });
        }
        let obstacle = self.obstacle(at);
        self.inside.insert(at);
        match obstacle {
            None => Ok(()),
            Some(_) if self.only == Some(Only::Liveness) => Ok(()),
            Some(other) => {
                let what = format!("node {at} entered while node {other} was inside");
                Err(Violation { property: "exclusion", what })
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting.iter().next() {
            None => Ok(()),
            Some(_) if self.only == Some(Only::Safety) => Ok(()),
            Some(id) => {
                let what = format!("nothing more is bound to happen, and node {id} still waits");
                Err(Violation { property: "progress", what })
            }
        }
    }

    fn obligations(&self) -> Vec<Obligation> {
        let owed = self.waiting.iter().filter(|_| self.only != Some(Only::Safety));
        owed.map(|to| Obligation { to, property: "progress" }).collect()
    }

    fn unfinished(&self) -> Option<String> {
        let id = self.inside.iter().next()?;
        // Those who could be inside beside it wait for something else.
        if self.waiting.iter().all(|waits| self.obstacle(waits).is_none()) {
            return None;
        }
        Some(format!("node {id} is inside and bound to leave: say release {id} first"))
    }

    /// A crashed node neither waits nor is inside. (That it may have left the resource in an
    /// intermediate state is not checked here.)
    fn on_crash(&mut self, at: NodeId) {
        self.waiting.remove(at);
        self.inside.remove(at);
        self.forget_claim(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Command = Command::Acquire(Claim::Exclusive);

    fn enter(monitor: &mut Exclusion, id: u32, claim: Claim) -> Result<(), Violation> {
        monitor.on_command(NodeId(id), &Command::Acquire(claim))?;
        monitor.on_notice(NodeId(id), &Notice::Entered)
    }

    #[test]
    fn two_inside_break_exclusion() {
        let mut monitor = Exclusion::default();
        enter(&mut monitor, 2, Claim::Exclusive).unwrap();
        let violation = enter(&mut monitor, 0, Claim::Exclusive).unwrap_err();
        assert_eq!(violation.what, "node 0 entered while node 2 was inside");
    }

    #[test]
    fn whoever_was_put_out_is_in_nobody_s_way() {
        let mut monitor = Exclusion::default();
        enter(&mut monitor, 2, Claim::Exclusive).unwrap();
        monitor.on_notice(NodeId(2), &Notice::Evicted).unwrap();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let fence = crate::mutex::FencingToken { view: 2, clock: 1 };
        monitor.on_notice(NodeId(0), &Notice::EnteredAs(fence)).unwrap();
        assert!(enter(&mut monitor, 1, Claim::Exclusive).is_err(), "0 is inside");
    }

    #[test]
    fn one_after_the_other_is_fine() {
        let mut monitor = Exclusion::default();
        for id in [1, 0, 1] {
            enter(&mut monitor, id, Claim::Exclusive).unwrap();
            monitor.on_command(NodeId(id), &Command::Release).unwrap();
        }
        assert_eq!(monitor, Exclusion::default(), "no history is kept");
    }

    #[test]
    fn whoever_never_asked_must_not_enter() {
        let violation = Exclusion::default().on_notice(NodeId(1), &Notice::Entered).unwrap_err();
        assert_eq!(violation.what, "node 1 entered without having asked");
    }

    #[test]
    fn waiting_at_rest_breaks_progress() {
        let mut monitor = Exclusion::default();
        monitor.at_rest().unwrap();
        monitor.on_command(NodeId(3), &EXCLUSIVE).unwrap();
        assert_eq!(monitor.at_rest().unwrap_err().property, "progress");
    }

    #[test]
    fn one_of_the_two_may_be_left_out() {
        let wrong = |only| {
            let mut monitor = Exclusion::default().only(only);
            enter(&mut monitor, 2, Claim::Exclusive).unwrap();
            let two_inside = enter(&mut monitor, 0, Claim::Exclusive).is_err();
            monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
            let waits = monitor.at_rest().is_err();
            assert_eq!(waits, !monitor.obligations().is_empty());
            (two_inside, waits)
        };
        assert_eq!(wrong(None), (true, true));
        assert_eq!(wrong(Some(Only::Safety)), (true, false));
        assert_eq!(wrong(Some(Only::Liveness)), (false, true));
    }

    #[test]
    fn whoever_crashes_is_neither_inside_nor_waiting() {
        let mut monitor = Exclusion::default();
        enter(&mut monitor, 0, Claim::Exclusive).unwrap();
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_crash(NodeId(0));
        enter(&mut monitor.clone(), 2, Claim::Exclusive).unwrap();
        monitor.on_crash(NodeId(1));
        monitor.at_rest().unwrap();
        let late = monitor.on_notice(NodeId(1), &Notice::Entered).unwrap_err();
        assert_eq!(late.what, "node 1 entered without having asked");
    }

    #[test]
    fn k_may_be_inside_and_no_more() {
        let mut monitor = Exclusion::new(Admission::UpTo(2));
        enter(&mut monitor, 0, Claim::Exclusive).unwrap();
        enter(&mut monitor, 1, Claim::Exclusive).unwrap();
        assert!(enter(&mut monitor, 2, Claim::Exclusive).is_err());
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let mut monitor = Exclusion::new(Admission::Compatible);
        enter(&mut monitor, 0, Claim::Shared).unwrap();
        enter(&mut monitor, 1, Claim::Shared).unwrap();
        assert!(enter(&mut monitor.clone(), 2, Claim::Exclusive).is_err());
        assert!(enter(&mut monitor.clone(), 2, Claim::Group(1)).is_err());
        monitor.on_command(NodeId(0), &Command::Release).unwrap();
        monitor.on_command(NodeId(1), &Command::Release).unwrap();
        enter(&mut monitor, 2, Claim::Group(1)).unwrap();
        enter(&mut monitor, 3, Claim::Group(1)).unwrap();
        assert!(enter(&mut monitor, 4, Claim::Group(2)).is_err());
    }

    #[test]
    fn a_claim_does_not_outlive_a_crash() {
        let mut monitor = Exclusion::new(Admission::Compatible);
        enter(&mut monitor, 0, Claim::Shared).unwrap();
        monitor.on_crash(NodeId(0));
        enter(&mut monitor, 1, Claim::Shared).unwrap();
        assert!(enter(&mut monitor, 0, Claim::Exclusive).is_err(), "it shares no longer");
    }
}
