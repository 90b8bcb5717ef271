//! The specification, independent of the algorithm.
//!
//! | property | says |
//! | --- | --- |
//! | `tree` | a node takes part once, through a neighbour that takes part already |
//! | `decision` | the initiator, and no other node, is told once that the wave is over |
//! | `dependence` | and not before every node has taken part |
//! | `aggregate` | what it is told is the number of all nodes and the aggregate of their values |
//! | `termination` | when nothing more is bound to happen, it has been told |

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Graph, Monitor, NodeId, Obligation, Violation};

use super::termination::Terminated;
use super::{Command, Gathered, Notice};
use crate::setup::{Setup, Unfit};

/// The properties of a wave that reaches all, or those of one that finds out that work is done.
pub type Watch = (Option<Spanning>, Option<Terminated>);

/// All properties of a wave on a graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Spanning {
    graph: Arc<Graph>,
    /// What the initiator is to be told.
    due: Arc<Gathered>,
    initiator: Option<NodeId>,
    /// The parent of each node.
    parent: Vec<Option<NodeId>>,
    /// The initiator is still to be told.
    is_owed: bool,
}

impl Spanning {
    /// The wave has not started, and is to sum up the numbers of nodes.
    pub fn new(graph: Graph) -> Self {
        let due = Gathered::of_all(graph.group().members().map(Gathered::of)).into();
        let parent = vec![None; graph.group().size() as usize];
        Self { graph: Arc::new(graph), due, initiator: None, parent, is_owed: false }
    }

    /// The same, on the graph of a set-up and with its values.
    ///
    /// # Errors
    ///
    /// If there is no such graph.
    pub fn of(setup: &Setup) -> Result<Self, Unfit> {
        let given = |id| Gathered::given(setup, id);
        let due = Gathered::of_all(setup.group.members().map(given)).into();
        Ok(Self { due, ..Self::new(setup.topology.graph(setup.group)?) })
    }

    fn takes_part(&self, id: NodeId) -> bool {
        self.initiator == Some(id) || self.parent.get(id.index()).is_some_and(Option::is_some)
    }

    /// The parent of a node has joined before it: so there is no cycle, and the root is the
    /// initiator.
    fn on_joined(&mut self, at: NodeId, parent: NodeId) -> Result<(), Violation> {
        let what = if self.initiator == Some(at) {
            format!("node {at} started the wave and joined it again, through node {parent}")
        } else if let Some(first) = self.parent[at.index()] {
            format!("node {at} joined through node {first} and again through node {parent}")
        } else if !self.graph.has(at, parent) {
            format!("node {at} joined through node {parent}, to which it has no link")
        } else if !self.takes_part(parent) {
            format!("node {at} joined through node {parent}, which does not take part")
        } else {
            self.parent[at.index()] = Some(parent);
            return Ok(());
        };
        Err(Violation { property: "tree", what })
    }

    fn on_done(&mut self, at: NodeId, gathered: &Gathered) -> Result<(), Violation> {
        let wrong = |property, what: String| Err(Violation { property, what });
        if self.initiator != Some(at) {
            let what = format!("node {at} was told that the wave is over, and did not start it");
            return wrong("decision", what);
        }
        if !self.is_owed {
            return wrong("decision", format!("node {at} was told twice that the wave is over"));
        }
        self.is_owed = false;
        let group = self.graph.group();
        if let Some(missing) = group.members().find(|&id| !self.takes_part(id)) {
            let what = format!("node {at} ended the wave, and node {missing} has not taken part");
            return wrong("dependence", what);
        }
        if *gathered != *self.due {
            let what = format!(
                "node {at} was told of {}: there are {}",
                gathered.in_words("nodes"),
                self.due.in_words("nodes")
            );
            return wrong("aggregate", what);
        }
        Ok(())
    }
}

impl Monitor for Spanning {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, Command::Start: &Command) -> Result<(), Violation> {
        self.initiator = Some(at);
        self.is_owed = true;
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Joined { parent } => self.on_joined(at, *parent),
            Notice::Worked => Ok(()),
            Notice::Done(gathered) | Notice::Over(gathered) => self.on_done(at, gathered),
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.obligations().first() {
            None => Ok(()),
            Some(Obligation { to, property }) => {
                let what = format!("node {to} was never told that the wave is over");
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
    use crate::setup::Aggregate;
    use crate::topology::Topology;
    use crate::wave::Summed;

    /// Three in a line, and the first has started.
    fn line() -> Spanning {
        let mut monitor = Spanning::new(Topology::Line.graph(Group::of(3)).unwrap());
        monitor.at_rest().expect("nobody has asked for anything");
        monitor.on_command(NodeId(0), &Command::Start).unwrap();
        monitor
    }

    fn joined(monitor: &mut Spanning, at: u32, parent: u32) -> Result<(), Violation> {
        monitor.on_notice(NodeId(at), &Notice::Joined { parent: NodeId(parent) })
    }

    fn done(monitor: &mut Spanning, at: u32, (count, sum): (u64, u64)) -> Result<(), Violation> {
        monitor.on_notice(NodeId(at), &Notice::Done(Summed { count, sum }.into()))
    }

    fn all_joined() -> Spanning {
        let mut monitor = line();
        joined(&mut monitor, 1, 0).unwrap();
        joined(&mut monitor, 2, 1).unwrap();
        monitor
    }

    #[test]
    fn a_wave_that_reaches_all_and_comes_back_is_right() {
        let mut monitor = all_joined();
        done(&mut monitor, 0, (3, 3)).unwrap();
        monitor.at_rest().unwrap();
        assert!(monitor.obligations().is_empty());
    }

    #[test]
    fn the_activation_edges_are_links_and_make_a_tree() {
        let what = |at, parent| {
            let violation = joined(&mut all_joined(), at, parent).unwrap_err();
            assert_eq!(violation.property, "tree");
            violation.what
        };
        assert_eq!(what(0, 1), "node 0 started the wave and joined it again, through node 1");
        assert_eq!(what(1, 2), "node 1 joined through node 0 and again through node 2");
        let early = joined(&mut line(), 2, 1).unwrap_err();
        assert_eq!(early.what, "node 2 joined through node 1, which does not take part");
        for stranger in [0, 9] {
            let apart = joined(&mut line(), 2, stranger).unwrap_err();
            assert_eq!(apart.property, "tree");
            assert!(apart.what.ends_with("to which it has no link"), "{apart}");
        }
    }

    #[test]
    fn only_the_initiator_is_told_and_only_once() {
        assert_eq!(done(&mut all_joined(), 1, (3, 3)).unwrap_err().property, "decision");
        let mut monitor = all_joined();
        done(&mut monitor, 0, (3, 3)).unwrap();
        let twice = done(&mut monitor, 0, (3, 3)).unwrap_err();
        assert_eq!(twice.property, "decision");
        assert!(twice.what.contains("twice"));
    }

    #[test]
    fn a_wave_is_not_over_before_every_node_has_taken_part() {
        let mut monitor = line();
        joined(&mut monitor, 1, 0).unwrap();
        let violation = done(&mut monitor, 0, (3, 3)).unwrap_err();
        assert_eq!(violation.property, "dependence");
        assert!(violation.what.ends_with("node 2 has not taken part"), "{violation}");
    }

    #[test]
    fn every_node_is_counted_once() {
        for wrong in [(2, 3), (4, 3), (3, 2), (3, 4)] {
            let violation = done(&mut all_joined(), 0, wrong).unwrap_err();
            assert_eq!(violation.property, "aggregate", "{wrong:?}");
        }
    }

    #[test]
    fn every_value_is_in_the_result_once_whatever_is_made_of_them() {
        for aggregate in Aggregate::ALL {
            let topology = Topology::Line;
            let mut setup = Setup { topology, aggregate, ..Setup::new(Group::of(3)) };
            setup.set(crate::setup::Parameter::Values, "5,9,5").unwrap();
            let of = |node| Gathered::given(&setup, NodeId(node));
            let told = |all: &[u32]| {
                let mut monitor = Spanning::of(&setup).unwrap();
                monitor.on_command(NodeId(0), &Command::Start).unwrap();
                joined(&mut monitor, 1, 0).unwrap();
                joined(&mut monitor, 2, 1).unwrap();
                let gathered = Gathered::of_all(all.iter().copied().map(of));
                let told = monitor.on_notice(NodeId(0), &Notice::Done(gathered));
                told.map_err(|violation| violation.property)
            };
            assert_eq!(told(&[2, 0, 1]), Ok(()), "{aggregate:?}");
            for wrong in [&[0, 1, 2, 2][..], &[0, 1], &[1, 2], &[1, 1, 2, 0]] {
                assert_eq!(told(wrong), Err("aggregate"), "{aggregate:?}: {wrong:?}");
            }
        }
    }

    #[test]
    fn whoever_starts_a_wave_must_be_told_of_its_end() {
        let mut monitor = all_joined();
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(0), property: "termination" }]);
        monitor.on_crash(NodeId(1));
        monitor.at_rest().expect_err("the initiator is up and waits");
        monitor.on_crash(NodeId(0));
        monitor.at_rest().expect("nobody is owed anything who is down");
    }
}
