//! The outcomes of faults, for programs.

use serde_json::{Value, json as object};

use super::{Cell, Conditions, Fault, Row, Verdict};
use crate::problem::Role;

impl Row {
    /// Why a fault was not tried, if it was not.
    pub fn absence(&self, cell: &Cell) -> Option<&'static str> {
        if cell.tries() > 0 {
            return None;
        }
        let has_post = !self.posts.coordinators.is_empty() || !self.posts.tokens.is_empty();
        Some(match cell.fault {
            Fault::Lose(None) | Fault::Duplicate(None) | Fault::Reorder(None) => {
                "no message was sent"
            }
            Fault::Lose(Some(_)) | Fault::Duplicate(Some(_)) | Fault::Reorder(Some(_)) => {
                "no such message was sent"
            }
            Fault::OnViews => "on views already, or not for this algorithm",
            Fault::Unplug => "no cables that come and go",
            Fault::Crash(Role::Coordinator) if !has_post => "no coordinator and no token",
            Fault::Crash(_) => "no node had that role",
        })
    }
}

/// The outcomes of faults: a row for every fault and kind of message.
pub fn json(row: &Row, under: &Conditions) -> Vec<Value> {
    let about = row.entry.algorithm.about();
    let one = |cell: &Cell| {
        let [fine, stuck, wrong] = cell.counts;
        object!({
            "algorithm": about.name,
            "problem": about.problem,
            "setup": row.setup,
            "nodes": under.nodes,
            "seed": under.seed,
            "seeds": under.seeds,
            "reliable": under.reliable,
            "on_views": under.on_views || cell.fault == Fault::OnViews,
            "runs": row.runs,
            "fault": cell.fault.to_string(),
            "class": cell.fault.class(),
            "kind": cell.fault.kind(),
            "verdict": cell.verdict().map(Verdict::word),
            "tried": cell.tries(),
            "fine": fine,
            "stuck": stuck,
            "unsafe": wrong,
            "absent": row.absence(cell),
            "not_tried": row.not_tried(cell.fault).join(" "),
            "what": cell.witness.as_ref().map(|it| &it.what),
            "witness": cell.witness.as_ref().map(|it| &it.line),
            "witness_events": cell.witness.as_ref().map(|it| it.events),
        })
    };
    row.cells.iter().map(one).collect()
}
