//! Waves: every tree that can come of one, every number of messages that one can take, and what
//! happens on links that double or lose.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::wave::echo::{self, Echo};
use vorrang_algorithms::wave::echo_taboo::{self, EchoTaboo};
use vorrang_algorithms::wave::spec::Spanning;
use vorrang_algorithms::wave::{Command, Notice};
use vorrang_check::{Ask, Bounds, Demands, Faults, Links, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Graph, Group, Monitor, NodeId, Protocol, Violation};

const SIX_LINKS: (&str, u32) = ("links:0-1,0-2,1-3,2-3,2-4,3-4", 5);

fn graph((text, nodes): (&str, u32)) -> Graph {
    text.parse::<Topology>().unwrap().graph(Group::of(nodes)).unwrap()
}

/// Explores all waves that node 0 starts: the number of states, or what is wrong.
fn explored<P, M>(
    new: fn(NodeId, &Graph, NodeId) -> P,
    graph: &Graph,
    monitor: M,
    faults: Faults,
    demands: Demands<P>,
) -> Result<u64, &'static str>
where
    P: Protocol<Command = Command, Notice = Notice>,
    M: Monitor<Command = Command, Notice = Notice>,
{
    let start = |id: NodeId| (id == NodeId(0)).then(|| Ask::then_wait(Command::Start));
    let members = || graph.group().members();
    let system = System {
        nodes: members().map(|id| new(id, graph, NodeId(0))).collect(),
        plan: Plan::PerNode(members().map(|id| start(id).into_iter().collect()).collect()),
        monitor,
        links: Links::from(Order::Any),
        faults,
        demands: demands.graph(graph.clone()),
    };
    let report = explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, .. } => Err(violation.property),
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

/// Objects to one tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NotThis {
    tree: Vec<Option<NodeId>>,
    parents: Vec<Option<NodeId>>,
}

impl Monitor for NotThis {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Joined { parent } => self.parents[at.index()] = Some(*parent),
            Notice::Done(_) if self.parents == self.tree => {
                return Err(Violation { property: "this tree", what: String::new() });
            }
            Notice::Worked | Notice::Done(_) | Notice::Over(_) => {}
        }
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

/// Every choice of a parent for each of the nodes 1 to 3, of which some make a tree.
fn choices() -> impl Iterator<Item = Vec<Option<NodeId>>> {
    let others = |of: u32| (0..4).filter(move |&id| id != of).map(NodeId);
    others(1).flat_map(move |one| {
        others(2).flat_map(move |two| {
            others(3).map(move |three| vec![None, Some(one), Some(two), Some(three)])
        })
    })
}

/// From every node the parents lead to node 0.
fn is_tree(parents: &[Option<NodeId>]) -> bool {
    let up = |id: &NodeId| parents[id.index()];
    (1..4).map(NodeId).all(|id| std::iter::successors(Some(id), up).nth(4).is_none())
}

/// Cayley: four nodes have 4^2 trees. Latencies can make any of them of a complete graph; with
/// taboo sets only the star is left.
#[test]
fn any_tree_can_come_of_an_echo_and_only_the_star_with_taboo_sets() {
    let complete = graph(("complete", 4));
    let (mut of_echo, mut of_taboo) = (BTreeSet::new(), BTreeSet::new());
    for tree in choices() {
        let monitor = NotThis { tree: tree.clone(), parents: vec![None; 4] };
        let none = Faults::NONE;
        if explored(Echo::new, &complete, monitor.clone(), none, Demands::default()).is_err() {
            of_echo.insert(tree.clone());
        }
        if explored(EchoTaboo::new, &complete, monitor, none, Demands::default()).is_err() {
            of_taboo.insert(tree);
        }
    }
    assert_eq!(of_echo, choices().filter(|tree| is_tree(tree)).collect());
    assert_eq!(of_echo.len(), 16);
    let star = vec![None, Some(NodeId(0)), Some(NodeId(0)), Some(NodeId(0))];
    assert_eq!(of_taboo, BTreeSet::from([star]));
}

/// Objects to a wave of so many messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NotSoMany {
    messages: u32,
    received: u32,
}

impl Monitor for NotSoMany {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &Notice) -> Result<(), Violation> {
        Ok(())
    }
    fn on_receive(&mut self, _: NodeId, (): &()) {
        self.received += 1;
    }
    fn at_rest(&self) -> Result<(), Violation> {
        // Before the start it is at rest as well.
        if self.received > 0 && self.received == self.messages {
            return Err(Violation { property: "so many", what: String::new() });
        }
        Ok(())
    }
}

/// All numbers of messages that a wave can take.
fn messages<P>(new: fn(NodeId, &Graph, NodeId) -> P, shape: (&str, u32)) -> Vec<u32>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let graph = graph(shape);
    let can_take = |&messages: &u32| {
        let monitor = NotSoMany { messages, received: 0 };
        explored(new, &graph, monitor, Faults::NONE, Demands::default()).is_err()
    };
    (1..=2 * graph.edges() as u32 + 2).filter(can_take).collect()
}

#[test]
fn waves_take_the_messages_that_the_literature_counts() {
    for (shape, plain, taboo) in [
        (("complete", 4), 12, &[6][..]),
        (("ring", 4), 8, &[8]),
        (("line", 3), 4, &[4]),
        (("ring", 5), 10, &[10]),
        (SIX_LINKS, 12, &[10, 12]),
    ] {
        assert_eq!(messages(Echo::new, shape), [plain], "{shape:?}");
        assert_eq!(messages(EchoTaboo::new, shape), taboo, "{shape:?}");
    }
}

#[test]
fn doubled_messages_do_no_harm() {
    let plainly = || Demands::default().invariants(echo::INVARIANTS);
    let taboo = || Demands::default().invariants(echo_taboo::INVARIANTS);
    let faults = Faults::NONE.duplicates(2);
    for shape in [("ring", 4), ("line", 4), ("complete", 3), SIX_LINKS] {
        let graph = &graph(shape);
        let plain = explored(Echo::new, graph, Spanning::new(graph.clone()), faults, plainly());
        assert!(plain.is_ok(), "{shape:?}: {plain:?}");
        let monitor = Spanning::new(graph.clone());
        let other = explored(EchoTaboo::new, graph, monitor, faults, taboo());
        assert!(other.is_ok(), "{shape:?}: {other:?}");
    }
}

#[test]
fn a_lost_message_or_a_crash_stops_a_wave() {
    let ring = &graph(("ring", 4));
    let one_lost = Faults::NONE.losses(1);
    for faults in [one_lost, Faults::NONE.crashes(1)] {
        let monitor = || Spanning::new(ring.clone());
        let plain = explored(Echo::new, ring, monitor(), faults, Demands::default());
        assert_eq!(plain, Err("termination"));
        let taboo = explored(EchoTaboo::new, ring, monitor(), faults, Demands::default());
        assert_eq!(taboo, Err("termination"));
    }
}
