//! Fair loops in which something is owed throughout.
//!
//! A loop is fair if every event that is enabled in all its states happens in it. The larger a
//! loop, the fewer events are enabled in all its states, and the more happen in it. So of all loops
//! within a strongly connected component the one through all of it is the fairest: if it is not
//! fair, none is, and if it is, it is a counterexample.
//!
//! Enabled events: on a FIFO link, that its first message arrives; on others, for each message in
//! flight, that it arrives (of equal ones, one); for each timer that may run out, that it does; for
//! each command that is bound to be given, that it is. A timer that is set again or cancelled in
//! the loop need not run out. Commands that an application need not give may be part of a loop if
//! it asks for ever, and are asked of none.

use std::collections::{BTreeMap, HashSet};

use super::loops::{Goes, components, way};
use super::{Graph, Hop, Lasso, Watch};
use crate::obligations::PendingObligation;
use crate::report::Bound;
use crate::state_hash::StateHash;

/// A fair loop as near to the start as its component reaches.
pub(super) fn find<T: StateHash>(
    graph: &Graph<T>,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Lasso>, Bound> {
    let mut nearest: Option<Lasso> = None;
    for due in graph.dues() {
        let before = nearest.as_ref().map_or(u32::MAX, |it| it.from);
        nearest = find_for(graph, due, before, watch)?.or(nearest);
    }
    Ok(nearest)
}

/// The same for what is owed, if it begins before this state.
pub(super) fn find_for<T: StateHash>(
    graph: &Graph<T>,
    (due, what): (u32, PendingObligation),
    mut before: u32,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Lasso>, Bound> {
    let mut nearest = None;
    let (unsettled, present) = (graph.unsettled(due), graph.present(due));
    for members in components(graph, &unsettled, Goes::ByAll, watch)? {
        let entry = members.iter().copied().find(|&state| present[state as usize]);
        if let Some(from) = entry
            && from < before
            && let Some(around) = fair_loop(graph, &members, from, watch)?
        {
            let stem = Vec::new();
            nearest = Some(Lasso { due: what, from, stem, around, is_trapped: false });
            before = from;
        }
    }
    Ok(nearest)
}

/// A fair loop through this state of a component, if the component has one.
fn fair_loop<T: StateHash>(
    graph: &Graph<T>,
    members: &[u32],
    from: u32,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Vec<Hop>>, Bound> {
    let component = Component::new(graph, members);
    if component.labels.iter().any(|it| it.is_everywhere && !it.happens) {
        return Ok(None);
    }
    let is_within = |state: u32| component.inside.contains(&state);
    let mut hops: Vec<Hop> = Vec::new();
    let mut here = from;
    for &Demand { label, is_everywhere, .. } in &component.labels {
        if component.is_met(label, from, &hops) {
            continue;
        }
        watch.go_on()?;
        let path = way((graph, Goes::ByAll), here, is_within, |state, place| {
            if is_everywhere {
                component.does(state, place, label)
            } else {
                !component.can(graph.steps(state)[place].to, label)
            }
        });
        let Some(path) = path else { return Ok(None) };
        here = path.last().map_or(here, |hop| hop.to);
        hops.extend(path);
    }
    if here != from || hops.is_empty() {
        let comes_back = |state: u32, place: usize| graph.steps(state)[place].to == from;
        let Some(back) = way((graph, Goes::ByAll), here, is_within, comes_back) else {
            return Ok(None);
        };
        hops.extend(back);
    }
    Ok(Some(hops))
}

/// States between which there is a way both ways.
struct Component<'a, T> {
    graph: &'a Graph<T>,
    inside: HashSet<u32>,
    /// All that can happen in any of its states.
    labels: Vec<Demand>,
}

/// Something that fairness asks for: to happen, or to be impossible at times.
#[derive(Clone, Copy, Debug)]
struct Demand {
    label: u32,
    /// Whether it can happen in every state of the component.
    is_everywhere: bool,
    /// Whether it happens in a step from one of its states to another, or becomes needless.
    happens: bool,
}

impl<'a, T: StateHash> Component<'a, T> {
    fn new(graph: &'a Graph<T>, members: &[u32]) -> Self {
        let inside: HashSet<u32> = members.iter().copied().collect();
        // How many states it can happen in, and whether it does.
        let mut known: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for &state in members {
            // Nobody need wish for anything.
            let steps = graph.steps(state).iter().filter(|step| graph.is_help(**step));
            let mut labels: Vec<u32> = steps.map(|it| it.label).collect();
            labels.sort_unstable();
            labels.dedup();
            for label in labels {
                known.entry(label).or_default().0 += 1;
            }
        }
        for &state in members {
            for (place, step) in graph.steps(state).iter().enumerate() {
                if !inside.contains(&step.to) {
                    continue;
                }
                for label in graph.rearmed(state, place).chain([step.label]) {
                    if let Some(it) = known.get_mut(&label) {
                        it.1 = true;
                    }
                }
            }
        }
        let demand = |(label, (count, happens))| {
            let is_everywhere = count == members.len();
            Demand { label, is_everywhere, happens }
        };
        Self { graph, inside, labels: known.into_iter().map(demand).collect() }
    }

    /// Whether it can happen in this state.
    fn can(&self, state: u32, label: u32) -> bool {
        self.graph.steps(state).iter().any(|it| it.label == label)
    }

    /// Whether it happens in this step, or is made needless by it.
    fn does(&self, state: u32, place: usize, label: u32) -> bool {
        self.graph.steps(state)[place].label == label
            || self.graph.rearmed(state, place).any(|timer| timer == label)
    }

    /// Whether it happens on this way, or becomes impossible.
    fn is_met(&self, label: u32, from: u32, hops: &[Hop]) -> bool {
        let mut state = from;
        hops.iter().any(|hop| {
            let mut steps = self.graph.steps(state).iter();
            let place = steps.position(|it| (it.to, it.label) == (hop.to, hop.label));
            let happens = place.is_some_and(|place| self.does(state, place, label));
            state = hop.to;
            happens || !self.can(hop.to, label)
        })
    }
}
