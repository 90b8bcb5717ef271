//! A recorded run, done once more: compiled once for every problem.

use vorrang_catalogue::NodeOf;
use vorrang_erased::AnyNode;
use vorrang_protocol::{NodeId, NodeState, Protocol as _};
use vorrang_trace::replay::{Cast, said};
use vorrang_trace::{Objection, Recording};
use vorrang_workload::Explored;

use crate::failure::Failure;

/// A callback with the state of a node after each of its events: after the record at that place, or
/// after its start.
pub type Watching<'a> = &'a mut dyn FnMut(Option<usize>, NodeId, &dyn Fn() -> NodeState);

/// The result.
#[derive(Debug)]
pub enum Retraced {
    /// All was as recorded: so many events.
    Same(u64),
    /// It was not.
    Other(Objection),
}

pub(super) fn retrace<Q: Explored>(
    fresh: &dyn Fn(NodeId) -> NodeOf<Q>,
    run: &Recording,
    watch: Watching<'_>,
) -> Result<Retraced, Failure> {
    let only = match run.header.get("node").map(str::parse) {
        None => None,
        Some(Ok(id)) if id < run.header.nodes => Some(NodeId(id)),
        Some(_) => return Err(Failure::usage("the trace is of a node that there is not")),
    };
    let cast = Cast::new(run.header.nodes, fresh).only(only).reading(&AnyNode::message);
    let again = Q::replay(&cast, &run.lines, run.is_whole(), &mut |place, id, node| {
        watch(place, id, &|| node.state());
    });
    Ok(again.map_or_else(Retraced::Other, Retraced::Same))
}

/// A divergence, for people: the place, and both sides.
pub fn sides(objection: &Objection, run: &Recording) -> (usize, String, [String; 2]) {
    match objection {
        Objection::Departed { place, at, recorded, replayed } => {
            (*place, format!("node {at}"), [recorded.clone(), replayed.clone()])
        }
        Objection::Violated(place, violation) => {
            (*place, "all nodes".to_owned(), [line(run, *place), violation.to_string()])
        }
        Objection::Unknown(place, why) => {
            (*place, "all nodes".to_owned(), [line(run, *place), why.clone()])
        }
        other => (0, String::new(), [String::new(), other.to_string()]),
    }
}

fn line(run: &Recording, place: usize) -> String {
    run.lines.get(place).map_or_else(|| "nothing".to_owned(), said)
}
