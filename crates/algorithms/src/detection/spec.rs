//! The specification, independent of the algorithm: completeness and accuracy after Tushar Deepak
//! Chandra and Sam Toueg, "Unreliable failure detectors for reliable distributed systems", JACM
//! 43(2), 1996.
//!
//! | property | says |
//! | --- | --- |
//! | `completeness` | every crashed node is eventually suspected by every live node |
//! | `accuracy` | every suspected live node is eventually trusted again, and not suspected often |
//!
//! Together: an *eventually perfect* detector, ◇P. An algorithm's card says how often is too often:
//! false suspicions of nodes that were up all along are counted. Nodes on different sides of a
//! partition are right to suspect each other; and so is a node that suspects one that was ever down
//! or cut off: its heartbeats may still be in flight.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use super::{Command, Notice};
use crate::partition::Cuts;

const COMPLETENESS: &str = "completeness";
const ACCURACY: &str = "accuracy";

/// Both properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Suspicions {
    up: NodeSet,
    /// Up since the beginning.
    steady: NodeSet,
    /// The nodes that each node suspects.
    suspects: Vec<NodeSet>,
    cuts: Cuts,
    mistakes: Option<Mistakes>,
    is_cut_off: bool,
}

/// How often each suspected each that was up all along.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mistakes {
    allowed: u32,
    made: Vec<Vec<u32>>,
}

impl Suspicions {
    /// All nodes are up and trusted; `allowed` bounds the false suspicions of each node, if it is
    /// given.
    pub fn new(group: Group, allowed: Option<u32>) -> Self {
        let nodes = group.size() as usize;
        let up: NodeSet = group.members().collect();
        Self {
            steady: up.clone(),
            up,
            suspects: vec![NodeSet::EMPTY; nodes],
            cuts: Cuts::NONE,
            mistakes: allowed
                .map(|allowed| Mistakes { allowed, made: vec![vec![0; nodes]; nodes] }),
            is_cut_off: false,
        }
    }

    /// How often a node may be wrong about another, if anything is said of that.
    pub fn allowed(&self) -> Option<u32> {
        self.mistakes.as_ref().map(|mistakes| mistakes.allowed)
    }

    /// The same, for a run that ends while messages are under way: a suspicion that is wrong then
    /// may be about to be taken back.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self { is_cut_off: true, ..self }
    }

    /// The nodes that a live node suspects and should not, or does not suspect and should.
    fn wrong(&self, at: NodeId) -> impl Iterator<Item = (NodeId, &'static str)> {
        let suspects = &self.suspects[at.index()];
        let all = (0..self.suspects.len() as u32).map(NodeId).filter(move |&id| id != at);
        let can_hear = move |id: &NodeId| self.cuts.hears(at, *id);
        all.filter(can_hear).filter_map(move |id| {
            match (self.up.contains(id), suspects.contains(id)) {
                (false, false) => Some((id, COMPLETENESS)),
                (true, true) if !self.is_cut_off => Some((id, ACCURACY)),
                (true, _) | (false, true) => None,
            }
        })
    }

    fn on_mistake(&mut self, at: NodeId, of: NodeId) -> Result<(), Violation> {
        let Some(Mistakes { allowed, made }) = &mut self.mistakes else { return Ok(()) };
        let made = &mut made[at.index()][of.index()];
        *made += 1;
        if *made <= *allowed {
            return Ok(());
        }
        let what = format!(
            "node {at} suspects node {of}, which was up all along, for the {made}. time, and \
             {allowed} would have been enough to learn from"
        );
        Err(Violation { property: ACCURACY, what })
    }
}

impl Monitor for Suspicions {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, command: &Command) -> Result<(), Violation> {
        match *command {}
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match *notice {
            Notice::Suspect(of) => {
                self.suspects[at.index()].insert(of);
                let both_steady = self.steady.contains(at) && self.steady.contains(of);
                if both_steady && self.cuts.could_hear(at, of) {
                    return self.on_mistake(at, of);
                }
            }
            Notice::Trust(of) => {
                self.suspects[at.index()].remove(of);
            }
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<(), Violation> {
        for at in self.up.iter() {
            if let Some((of, property)) = self.wrong(at).next() {
                let what = match property {
                    COMPLETENESS => format!("node {at} does not suspect node {of}, which is down"),
                    _ => format!("node {at} suspects node {of}, which is up"),
                };
                return Err(Violation { property, what });
            }
        }
        Ok(())
    }

    fn obligations(&self) -> Vec<Obligation> {
        let debts =
            |to: NodeId| self.wrong(to).map(move |(_, property)| Obligation { to, property });
        let mut owed: Vec<Obligation> = self.up.iter().flat_map(debts).collect();
        owed.sort_unstable();
        owed.dedup();
        owed
    }

    fn on_crash(&mut self, at: NodeId) {
        self.up.remove(at);
        self.steady.remove(at);
        self.suspects[at.index()] = NodeSet::EMPTY;
        // A crashed node makes no more mistakes, and suspecting it is right.
        if let Some(Mistakes { made, .. }) = &mut self.mistakes {
            for of in made.iter_mut() {
                of[at.index()] = 0;
            }
            made[at.index()].fill(0);
        }
    }

    fn on_restart(&mut self, at: NodeId) {
        self.up.insert(at);
    }

    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_cut(sides);
    }

    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_heal(sides);
    }

    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_mended(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(allowed: Option<u32>) -> Suspicions {
        Suspicions::new(Group::of(3), allowed)
    }

    fn told(monitor: &mut Suspicions, at: u32, notice: fn(NodeId) -> Notice, of: u32) -> bool {
        monitor.on_notice(NodeId(at), &notice(NodeId(of))).is_ok()
    }

    fn owed(monitor: &Suspicions) -> Vec<(u32, &'static str)> {
        monitor.obligations().into_iter().map(|debt| (debt.to.0, debt.property)).collect()
    }

    #[test]
    fn whoever_is_down_must_be_suspected_by_all_that_are_up() {
        let mut monitor = three(None);
        monitor.at_rest().unwrap();
        monitor.on_crash(NodeId(2));
        assert_eq!(owed(&monitor), [(0, COMPLETENESS), (1, COMPLETENESS)]);
        assert!(told(&mut monitor, 0, Notice::Suspect, 2));
        assert_eq!(owed(&monitor), [(1, COMPLETENESS)]);
        let violation = monitor.at_rest().unwrap_err();
        assert_eq!(violation.what, "node 1 does not suspect node 2, which is down");
        monitor.on_crash(NodeId(1));
        assert_eq!(owed(&monitor), [(0, COMPLETENESS)], "who is down is owed nothing");
        assert!(told(&mut monitor, 0, Notice::Suspect, 1));
        monitor.at_rest().unwrap();
    }

    #[test]
    fn whoever_is_up_must_be_trusted_again() {
        let mut monitor = three(None);
        assert!(told(&mut monitor, 0, Notice::Suspect, 1));
        assert_eq!(owed(&monitor), [(0, ACCURACY)]);
        assert_eq!(monitor.at_rest().unwrap_err().property, ACCURACY);
        monitor.clone().cut_off().at_rest().expect("it may be about to be");
        assert!(told(&mut monitor, 0, Notice::Trust, 1));
        monitor.at_rest().unwrap();
        monitor.on_crash(NodeId(1));
        assert!(
            told(&mut monitor, 0, Notice::Suspect, 1) && told(&mut monitor, 2, Notice::Suspect, 1)
        );
        monitor.at_rest().unwrap();
        monitor.on_restart(NodeId(1));
        assert_eq!(owed(&monitor), [(0, ACCURACY), (2, ACCURACY)]);
    }

    #[test]
    fn mistakes_are_counted_for_each_two_nodes_that_were_up_all_along() {
        let mut monitor = three(Some(1));
        assert!(
            told(&mut monitor, 0, Notice::Suspect, 1) && told(&mut monitor, 0, Notice::Trust, 1)
        );
        assert!(told(&mut monitor, 1, Notice::Suspect, 0), "another two");
        let mut again = monitor.clone();
        assert!(!told(&mut again, 0, Notice::Suspect, 1), "once is enough");
        monitor.on_crash(NodeId(1));
        assert!(told(&mut monitor, 0, Notice::Suspect, 1), "no mistake");
        monitor.on_restart(NodeId(1));
        for _ in 0..3 {
            assert!(told(&mut monitor, 0, Notice::Suspect, 1), "it may not be known to be up");
            assert!(told(&mut monitor, 1, Notice::Suspect, 2), "it may have missed a heartbeat");
        }
    }

    #[test]
    fn nodes_that_cannot_hear_each_other_may_suspect_each_other() {
        let mut monitor = three(Some(0));
        let sides = [vec![NodeId(0)]];
        monitor.on_cut(&sides);
        assert!(
            told(&mut monitor, 0, Notice::Suspect, 1) && told(&mut monitor, 1, Notice::Suspect, 0)
        );
        monitor.at_rest().unwrap();
        assert!(!told(&mut monitor.clone(), 1, Notice::Suspect, 2), "these can");
        monitor.on_crash(NodeId(2));
        assert!(told(&mut monitor, 1, Notice::Suspect, 2));
        monitor.at_rest().expect("node 0 cannot know");
        monitor.on_heal(&sides);
        assert_eq!(owed(&monitor), [(0, ACCURACY), (0, COMPLETENESS), (1, ACCURACY)]);
    }
}
