//! Sets of nodes that meet every quorum: the smallest, and one that contains no quorum.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::NodeId;

/// The outcome of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// There is such a set.
    Found(Vec<NodeId>),
    /// There is none.
    None,
    /// It took more steps than were allowed.
    OutOfSteps,
}

/// The smallest set that meets every quorum.
pub(super) fn smallest_transversal(nodes: u32, family: &[Vec<NodeId>], steps: u64) -> Outcome {
    let mut search = Search::new(nodes, family, steps);
    for most in 1..=nodes {
        match search.extend(Wanted::AtMost(most as usize)) {
            Outcome::None => {}
            found => return found,
        }
    }
    Outcome::None
}

/// A set that meets every quorum and contains none: with it, a better system could be made. If
/// there is none, the system is non-dominated (H. Garcia-Molina and D. Barbara, "How to assign
/// votes in a distributed system", 1985).
pub(super) fn dominating(nodes: u32, family: &[Vec<NodeId>], steps: u64) -> Outcome {
    Search::new(nodes, family, steps).extend(Wanted::ContainingNone)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// Not more than so many nodes.
    AtMost(usize),
    /// No quorum as a whole.
    ContainingNone,
}

/// Adds nodes one by one: of a quorum that is not yet met one node must be in the set, so all of
/// them are tried, each without those that were tried before.
struct Search<'a> {
    family: &'a [Vec<NodeId>],
    /// The quorums that a node is in.
    of_node: Vec<Vec<usize>>,
    /// How many nodes of a quorum are in the set.
    met: Vec<usize>,
    unmet: usize,
    chosen: Vec<NodeId>,
    is_excluded: Vec<bool>,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(nodes: u32, family: &'a [Vec<NodeId>], steps: u64) -> Self {
        let mut of_node = vec![Vec::new(); nodes as usize];
        for (index, quorum) in family.iter().enumerate() {
            for id in quorum {
                of_node[id.index()].push(index);
            }
        }
        Self {
            family,
            of_node,
            met: vec![0; family.len()],
            unmet: family.len(),
            chosen: Vec::new(),
            is_excluded: vec![false; nodes as usize],
            steps,
        }
    }

    fn extend(&mut self, wanted: Wanted) -> Outcome {
        let Some(left) = self.steps.checked_sub(1) else { return Outcome::OutOfSteps };
        self.steps = left;
        if self.unmet == 0 {
            return Outcome::Found(self.chosen.clone());
        }
        if let Wanted::AtMost(most) = wanted {
            let reach = self.of_node.iter().map(Vec::len).max().unwrap_or(0);
            if (most - self.chosen.len()) * reach < self.unmet {
                return Outcome::None;
            }
        }
        let choices =
            |quorum: &Vec<NodeId>| quorum.iter().filter(|id| !self.is_excluded[id.index()]).count();
        let unmet = self.family.iter().zip(&self.met).filter(|(_, met)| **met == 0);
        let Some((quorum, _)) = unmet.min_by_key(|(quorum, _)| choices(quorum)) else {
            return Outcome::None;
        };
        let mut tried = Vec::new();
        let mut outcome = Outcome::None;
        for &id in quorum {
            if self.is_excluded[id.index()] {
                continue;
            }
            self.choose(id);
            if wanted != Wanted::ContainingNone || !self.completes_a_quorum(id) {
                outcome = self.extend(wanted);
            }
            self.unchoose(id);
            if outcome != Outcome::None {
                break;
            }
            self.is_excluded[id.index()] = true;
            tried.push(id);
        }
        for id in tried {
            self.is_excluded[id.index()] = false;
        }
        outcome
    }

    fn choose(&mut self, id: NodeId) {
        self.chosen.push(id);
        for &quorum in &self.of_node[id.index()] {
            self.unmet -= usize::from(self.met[quorum] == 0);
            self.met[quorum] += 1;
        }
    }

    fn unchoose(&mut self, id: NodeId) {
        self.chosen.pop();
        for &quorum in &self.of_node[id.index()] {
            self.met[quorum] -= 1;
            self.unmet += usize::from(self.met[quorum] == 0);
        }
    }

    fn completes_a_quorum(&self, id: NodeId) -> bool {
        self.of_node[id.index()].iter().any(|&it| self.met[it] == self.family[it].len())
    }
}
