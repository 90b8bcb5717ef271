//! Whether what can still come comes by every clock.
//!
//! A state has no clocks in it, and several timers of a node may run out in it in orders of which
//! its clock allows only one. So the way to a settled state that the graph shows may be one that no
//! clock allows: an abstraction that leaves out no run proves what never happens, not what can.
//!
//! What is sure is found backwards, as in a game (Zermelo; an attractor). In a state it is up to us
//! which message arrives, which command is given, which node's clock goes on and how coins fall,
//! but not which of the timers that may run out by that clock does so first. Where links are
//! timely, there is one clock for all nodes, and it can go on for certain only if no message is
//! under way. And if in every fair run that the graph shows the debt is settled, it is: clocks
//! allow some of these runs.

use vorrang_protocol::NodeId;

use super::fair;
use super::{Graph, Watch};
use crate::obligations::Label;
use crate::report::Bound;
use crate::state_hash::StateHash;

/// Whether something is owed in a state from which only the order of timers decides whether it can
/// ever be settled.
pub(super) fn is_doubtful<T: StateHash>(
    graph: &Graph<T>,
    is_timely: bool,
    watch: &mut Watch<'_, '_>,
) -> Result<bool, Bound> {
    if !graph.has_timers() {
        return Ok(false);
    }
    let backwards = graph.backwards();
    for (due, what) in graph.dues() {
        let sure = sure(graph, &backwards, &graph.unsettled(due), is_timely, watch)?;
        let present = graph.present(due);
        let is_doubtful = (0..graph.len()).any(|state| present[state] && !sure[state]);
        if is_doubtful && fair::find_for(graph, (due, what), u32::MAX, watch)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The states from which something that is unsettled is sure to be settled, if we want it to be.
fn sure<T: StateHash>(
    graph: &Graph<T>,
    (starts, sources): &(Vec<usize>, Vec<u32>),
    unsettled: &[bool],
    is_timely: bool,
    watch: &mut Watch<'_, '_>,
) -> Result<Vec<bool>, Bound> {
    let is_settled = |state: u32| !unsettled[state as usize] || !graph.is_explored(state);
    let mut sure: Vec<bool> = (0..graph.len() as u32).map(is_settled).collect();
    let mut queue: Vec<u32> = (0..graph.len() as u32).filter(|&it| sure[it as usize]).collect();
    while let Some(state) = queue.pop() {
        for &source in &sources[starts[state as usize]..starts[state as usize + 1]] {
            watch.go_on()?;
            if !sure[source as usize] && is_sure(graph, source, &sure, is_timely) {
                sure[source as usize] = true;
                queue.push(source);
            }
        }
    }
    Ok(sure)
}

/// Whether we can have it that the next step leads to one of these states.
fn is_sure<T: StateHash>(graph: &Graph<T>, state: u32, sure: &[bool], is_timely: bool) -> bool {
    // Timers that may run out, each with whether it leads there if coins fall well.
    let mut timers: Vec<(NodeId, u32, bool)> = Vec::new();
    let mut is_under_way = false;
    for step in graph.steps(state).iter().filter(|step| graph.is_help(**step)) {
        let leads_there = sure[step.to as usize];
        let Label::Timer(at, _) = graph.label(step.label) else {
            if leads_there {
                return true;
            }
            is_under_way |= !matches!(graph.label(step.label), Label::Command(_));
            continue;
        };
        match timers.iter_mut().find(|it| it.1 == step.label) {
            Some(it) => it.2 |= leads_there,
            None => timers.push((at, step.label, leads_there)),
        }
    }
    let does_clock = |at: NodeId| {
        let mut on_it = timers.iter().filter(|it| is_timely || it.0 == at);
        on_it.all(|it| it.2)
    };
    !(is_timely && is_under_way) && timers.iter().any(|it| does_clock(it.0))
}
