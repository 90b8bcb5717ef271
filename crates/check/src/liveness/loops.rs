//! Loops of a graph, and ways between its states.

use std::collections::{HashMap, VecDeque};

use super::graph::{Graph, Step};
use super::{Hop, Watch};
use crate::report::Bound;
use crate::state_hash::StateHash;

/// Strongly connected components of the part of the graph that is `within`, each with at least one
/// step inside: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing
/// 1(2), 1972, with a stack of its own in place of recursion.
pub(super) fn components<T: StateHash>(
    graph: &Graph<T>,
    within: &[bool],
    goes: Goes,
    watch: &mut Watch<'_, '_>,
) -> Result<Vec<Vec<u32>>, Bound> {
    let mut search = Tarjan {
        graph,
        within,
        goes,
        order: vec![NEW; graph.len()],
        low: vec![0; graph.len()],
        is_open: vec![false; graph.len()],
        open: Vec::new(),
        found: Vec::new(),
        count: 0,
    };
    for state in 0..graph.len() as u32 {
        if within[state as usize] && search.order[state as usize] == NEW {
            search.visit(state, watch)?;
        }
    }
    Ok(search.found)
}

const NEW: u32 = u32::MAX;

struct Tarjan<'a, T> {
    graph: &'a Graph<T>,
    within: &'a [bool],
    goes: Goes,
    order: Vec<u32>,
    low: Vec<u32>,
    /// Whether a state is not yet in a component that was found.
    is_open: Vec<bool>,
    open: Vec<u32>,
    found: Vec<Vec<u32>>,
    count: u32,
}

impl<T: StateHash> Tarjan<'_, T> {
    fn visit(&mut self, root: u32, watch: &mut Watch<'_, '_>) -> Result<(), Bound> {
        // States on the way, each with how many of its steps were followed.
        let mut way = vec![(root, 0)];
        self.enter(root);
        while let Some((state, followed)) = way.last_mut() {
            watch.go_on()?;
            let (state, next) = (*state, self.graph.steps(*state).get(*followed));
            *followed += 1;
            let leads =
                |step: &Step| self.within[step.to as usize] && self.goes.by(self.graph, *step);
            match next.map(|step| (step.to as usize, leads(step))) {
                Some((_, false)) => {}
                Some((to, true)) if self.order[to] == NEW => {
                    self.enter(to as u32);
                    way.push((to as u32, 0));
                }
                Some((to, true)) => {
                    if self.is_open[to] {
                        self.lower(state, self.order[to]);
                    }
                }
                None => {
                    way.pop();
                    if let Some(&(before, _)) = way.last() {
                        self.lower(before, self.low[state as usize]);
                    }
                    if self.low[state as usize] == self.order[state as usize] {
                        self.close(state);
                    }
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, state: u32) {
        self.order[state as usize] = self.count;
        self.low[state as usize] = self.count;
        self.count += 1;
        self.is_open[state as usize] = true;
        self.open.push(state);
    }

    fn lower(&mut self, state: u32, to: u32) {
        let low = &mut self.low[state as usize];
        *low = to.min(*low);
    }

    fn close(&mut self, root: u32) {
        let mut members = Vec::new();
        while let Some(state) = self.open.pop() {
            self.is_open[state as usize] = false;
            members.push(state);
            if state == root {
                break;
            }
        }
        let mut steps = self.graph.steps(root).iter();
        let is_loop = members.len() > 1
            || steps.any(|step| step.to == root && self.goes.by(self.graph, *step));
        if is_loop {
            members.sort_unstable();
            self.found.push(members);
        }
    }
}

/// By which steps one goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goes {
    ByAll,
    /// Only by those that may fulfil obligations.
    ByHelp,
}

impl Goes {
    fn by<T: StateHash>(self, graph: &Graph<T>, step: Step) -> bool {
        self == Self::ByAll || graph.is_help(step)
    }
}

/// A shortest way of at least one step, within a part of the graph, that ends with a step (by its
/// source and its place there) that `is_end`.
pub(super) fn way<T: StateHash>(
    (graph, goes): (&Graph<T>, Goes),
    from: u32,
    is_within: impl Fn(u32) -> bool,
    is_end: impl Fn(u32, usize) -> bool,
) -> Option<Vec<Hop>> {
    let mut came: HashMap<u32, (u32, Hop)> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(state) = queue.pop_front() {
        for (place, step) in graph.steps(state).iter().enumerate() {
            if !is_within(step.to) || !goes.by(graph, *step) {
                continue;
            }
            let hop = Hop { to: step.to, label: step.label };
            if is_end(state, place) {
                let mut hops = vec![hop];
                let mut last = state;
                while last != from {
                    let (before, hop) = came[&last];
                    hops.push(hop);
                    last = before;
                }
                hops.reverse();
                return Some(hops);
            }
            if step.to != from && !came.contains_key(&step.to) {
                came.insert(step.to, (state, hop));
                queue.push_back(step.to);
            }
        }
    }
    None
}
