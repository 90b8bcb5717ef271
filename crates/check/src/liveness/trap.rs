//! States from which something owed can never be settled.

use super::loops::{Goes, components, way};
use super::{Graph, Lasso, Watch};
use crate::obligations::PendingObligation;
use crate::report::Bound;
use crate::state_hash::StateHash;

/// The trap nearest to the start, with a loop in it.
pub(super) fn find<T: StateHash>(
    graph: &Graph<T>,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Lasso>, Bound> {
    let backwards = graph.backwards();
    let mut nearest: Option<(u32, PendingObligation, Vec<bool>)> = None;
    for (due, what) in graph.dues() {
        watch.go_on()?;
        let trapped = trapped(graph, &backwards, &graph.unsettled(due));
        let present = graph.present(due);
        let is_bad = |state: &usize| trapped[*state] && present[*state];
        let first = (0..graph.len()).find(is_bad).map(|state| state as u32);
        if let Some(first) = first
            && nearest.as_ref().is_none_or(|it| first < it.0)
        {
            nearest = Some((first, what, trapped));
        }
    }
    let Some((from, due, trapped)) = nearest else { return Ok(None) };
    let mut is_on_a_loop = vec![false; graph.len()];
    for state in components(graph, &trapped, Goes::ByHelp, watch)?.into_iter().flatten() {
        is_on_a_loop[state as usize] = true;
    }
    let is_within = |state: u32| trapped[state as usize];
    let stem = if is_on_a_loop[from as usize] {
        Some(Vec::new())
    } else {
        way((graph, Goes::ByHelp), from, is_within, |state, place| {
            is_on_a_loop[graph.steps(state)[place].to as usize]
        })
    };
    // States of rest were judged before, so a trap has a loop in it.
    let stem = stem.unwrap_or_default();
    let entry = stem.last().map_or(from, |hop| hop.to);
    let comes_back = |state: u32, place: usize| graph.steps(state)[place].to == entry;
    let around = way((graph, Goes::ByHelp), entry, is_within, comes_back).unwrap_or_default();
    Ok(Some(Lasso { due, from, stem, around, is_trapped: true }))
}

/// The states from which no step that counts leads, at last, to one in which nothing is owed.
fn trapped<T: StateHash>(
    graph: &Graph<T>,
    backwards: &(Vec<usize>, Vec<u32>),
    unsettled: &[bool],
) -> Vec<bool> {
    let (starts, sources) = backwards;
    let mut trapped = unsettled.to_vec();
    let mut queue = Vec::new();
    for state in 0..graph.len() as u32 {
        if !unsettled[state as usize] || !graph.is_explored(state) {
            trapped[state as usize] = false;
            queue.push(state);
        }
    }
    while let Some(state) = queue.pop() {
        for &source in &sources[starts[state as usize]..starts[state as usize + 1]] {
            if trapped[source as usize] {
                trapped[source as usize] = false;
                queue.push(source);
            }
        }
    }
    trapped
}
