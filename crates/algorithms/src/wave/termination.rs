//! The specification of termination detection, independent of the algorithm.
//!
//! | property | says |
//! | --- | --- |
//! | `tree` | a node takes part through a neighbour that takes part or has taken part |
//! | `decision` | the initiator, and no other node, is told once that all is over |
//! | `dependence` | and not before every piece of work is done |
//! | `aggregate` | what it is told is how many pieces there were, and who did them |
//! | `termination` | when nothing more is bound to happen, it has been told |

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use vorrang_protocol::{Graph, Monitor, NodeId, NodeSet, Obligation, Violation};

use super::{Command, Gathered, Notice, Summed};

/// All properties of a computation of which one node finds out that it is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Terminated {
    graph: Arc<Graph>,
    /// How many pieces of work there are.
    work: u64,
    /// The pieces that are done.
    done: Summed,
    initiator: Option<NodeId>,
    taking_part: NodeSet,
    /// The initiator is still to be told.
    is_owed: bool,
}

impl Terminated {
    /// Nobody has begun.
    pub fn new(graph: Graph, work: u32) -> Self {
        Self {
            graph: Arc::new(graph),
            work: work.into(),
            done: Summed::NOTHING,
            initiator: None,
            taking_part: NodeSet::EMPTY,
            is_owed: false,
        }
    }

    fn on_joined(&mut self, at: NodeId, parent: NodeId) -> Result<(), Violation> {
        let what = if !self.graph.has(at, parent) {
            format!("node {at} joined through node {parent}, to which it has no link")
        } else if !self.taking_part.contains(parent) {
            format!("node {at} joined through node {parent}, which has never taken part")
        } else {
            self.taking_part.insert(at);
            return Ok(());
        };
        Err(Violation { property: "tree", what })
    }

    fn on_done(&mut self, at: NodeId, gathered: &Gathered) -> Result<(), Violation> {
        let wrong = |property, what: String| Err(Violation { property, what });
        if self.initiator != Some(at) {
            let what = format!("node {at} was told that all is over, and did not begin it");
            return wrong("decision", what);
        }
        if !self.is_owed {
            return wrong("decision", format!("node {at} was told twice that all is over"));
        }
        self.is_owed = false;
        let (done, work) = (self.done.count, self.work);
        if done < work {
            let what = format!("node {at} was told that all is over after {done} of {work} pieces");
            return wrong("dependence", what);
        }
        let due = Gathered::from(self.done);
        if *gathered != due {
            let (told, due) = (gathered.in_words("pieces by nodes"), due.in_words("pieces"));
            let what = format!("node {at} was told of {told}: there were {due}");
            return wrong("aggregate", what);
        }
        Ok(())
    }
}

impl Monitor for Terminated {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, Command::Start: &Command) -> Result<(), Violation> {
        self.initiator = Some(at);
        self.taking_part.insert(at);
        self.is_owed = true;
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Joined { parent } => self.on_joined(at, *parent),
            Notice::Worked => {
                self.done = self.done.and(Summed::of(at));
                Ok(())
            }
            Notice::Done(gathered) | Notice::Over(gathered) => self.on_done(at, gathered),
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.obligations().first() {
            None => Ok(()),
            Some(Obligation { to, property }) => {
                let what = format!("node {to} was never told that all is over");
                Err(Violation { property, what })
            }
        }
    }

    fn obligations(&self) -> Vec<Obligation> {
        let to = self.initiator.filter(|_| self.is_owed);
        to.map(|to| Obligation { to, property: "termination" }).into_iter().collect()
    }

    fn on_crash(&mut self, at: NodeId) {
        self.is_owed &= self.initiator != Some(at);
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::topology::Topology;

    /// Three in a line with two pieces of work, the first of which is done.
    fn begun() -> Terminated {
        let mut monitor = Terminated::new(Topology::Line.graph(Group::of(3)).unwrap(), 2);
        monitor.at_rest().expect("nobody has asked for anything");
        monitor.on_command(NodeId(0), &Command::Start).unwrap();
        monitor.on_notice(NodeId(0), &Notice::Worked).unwrap();
        monitor
    }

    fn told(monitor: &mut Terminated, at: u32, (count, sum): (u64, u64)) -> Option<&'static str> {
        let told = monitor.on_notice(NodeId(at), &Notice::Over(Summed { count, sum }.into()));
        told.err().map(|it| it.property)
    }

    fn all_done() -> Terminated {
        let mut monitor = begun();
        monitor.on_notice(NodeId(1), &Notice::Joined { parent: NodeId(0) }).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Worked).unwrap();
        monitor
    }

    #[test]
    fn it_is_over_when_all_work_is_done_and_not_before() {
        assert_eq!(told(&mut begun(), 0, (1, 0)), Some("dependence"));
        let mut monitor = all_done();
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        assert_eq!(told(&mut monitor, 0, (2, 1)), None);
        monitor.at_rest().unwrap();
        assert_eq!(told(&mut monitor, 0, (2, 1)), Some("decision"), "twice");
    }

    #[test]
    fn another_node_is_not_told_and_nothing_wrong_is() {
        assert_eq!(told(&mut all_done(), 1, (2, 1)), Some("decision"));
        for wrong in [(1, 1), (3, 1), (2, 0), (2, 2)] {
            assert_eq!(told(&mut all_done(), 0, wrong), Some("aggregate"), "{wrong:?}");
        }
    }

    #[test]
    fn nobody_joins_from_nowhere() {
        for (at, parent, why) in [(2, 0, "no link"), (2, 1, "never taken part")] {
            let joined = Notice::Joined { parent: NodeId(parent) };
            let violation = begun().on_notice(NodeId(at), &joined).unwrap_err();
            assert!(violation.property == "tree" && violation.what.contains(why), "{violation}");
        }
        let again = Notice::Joined { parent: NodeId(0) };
        all_done().on_notice(NodeId(1), &again).expect("anybody may be engaged anew");
    }

    #[test]
    fn whoever_is_down_is_owed_nothing() {
        let mut monitor = begun();
        monitor.on_crash(NodeId(1));
        monitor.at_rest().unwrap_err();
        monitor.on_crash(NodeId(0));
        monitor.at_rest().unwrap();
    }
}
