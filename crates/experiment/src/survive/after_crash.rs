//! Messages that are sent only when something has gone wrong: they are struck in a run in which a
//! node has crashed, so that what an algorithm does to recover is tried as well.

use super::fault_points::{self, FaultFreeRun};
use super::{Fault, Trial, calm, sampled};
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::options::single_fault::SingleFault;
use crate::problem::{Kinds, Role};

/// Whether others depend on the node that crashes.
const fn matters(fault: Fault) -> bool {
    match fault {
        Fault::Crash(Role::Holder | Role::Leader) => true,
        Fault::Crash(
            Role::Idle | Role::Waiting | Role::Coordinator | Role::Other | Role::Initiator,
        )
        | Fault::Lose(_)
        | Fault::Duplicate(_)
        | Fault::Reorder(_)
        | Fault::OnViews
        | Fault::Unplug => false,
    }
}

/// The same run with a crash in it, and its messages of the kinds that no other run has: where they
/// can be struck. None of an algorithm that does not get over the crash.
pub(super) fn trial(
    entry: &Entry,
    (kinds, most): (Kinds, usize),
    args: &RunArgs,
    (run, points): (&FaultFreeRun<'_>, &[(Fault, SingleFault)]),
    others: &[Trial],
) -> Result<Option<Trial>, Failure> {
    let known = points.iter().chain(others.iter().flat_map(|it| &it.points));
    let known: Vec<&str> = known.filter_map(|(fault, _)| fault.kind()).collect();
    let is_new = |kind: &&str| !known.contains(kind);
    let Some(&(_, crash)) = points.iter().find(|(fault, _)| matters(*fault)) else {
        return Ok(None);
    };
    if !kinds.iter().any(is_new) {
        return Ok(None);
    }
    let args = RunArgs { faults: crash.into(), ..args.clone() };
    let seen = match calm(entry, &args) {
        Ok((_, _, seen)) => seen,
        Err(Failure::Failed(_)) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let mut points = fault_points::all(&FaultFreeRun { seen: &seen, ..*run });
    points.retain(|(fault, _)| fault.kind().is_some_and(|kind| is_new(&kind)));
    Ok((!points.is_empty()).then(|| Trial { args, points: sampled(&points, most) }))
}
