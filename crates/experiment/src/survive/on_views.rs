//! A lock on views, struck by all that befalls nodes and links.

use super::fault_points::{self, FaultFreeRun};
use super::{Fault, MOST, Trial, calm, sampled, struck};
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::options::single_fault::SingleFault;

/// The same run on views, where nodes and links fail; none if the algorithm cannot be there.
pub(super) fn trial(
    entry: &Entry,
    args: &RunArgs,
    without: &FaultFreeRun<'_>,
    most: usize,
) -> Result<Option<Trial>, Failure> {
    let mut args = args.clone();
    args.views.on_views = true;
    let seen = match calm(entry, &args) {
        Ok((_, _, seen)) => seen,
        Err(Failure::Usage(_)) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let crashes = fault_points::own_crashes(&FaultFreeRun { seen: &seen, ..*without });
    let crashes: Vec<_> = crashes.into_iter().map(|(role, it)| (Fault::Crash(role), it)).collect();
    let sampled = sampled(&crashes, most).into_iter().map(|(_, crash)| crash).collect();
    let points = befalling(entry, &args, (sampled, without.nodes, most >= MOST))?;
    Ok(Some(Trial { args, points }))
}

/// These crashes, and what may befall a node instead: all of it, or one thing after the other; but
/// for what the algorithm does not claim to survive.
fn befalling(
    entry: &Entry,
    args: &RunArgs,
    (crashes, nodes, all): (Vec<SingleFault>, u32, bool),
) -> Result<Vec<(Fault, SingleFault)>, Failure> {
    let mut fits: Vec<bool> = Vec::new();
    let first = crashes.first().map(|&crash| fault_points::instead(crash, nodes, 0));
    for it in first.into_iter().flatten() {
        fits.push(match entry.algorithm.run(&struck(args, it)) {
            Ok(_) => true,
            Err(Failure::Usage(_)) => false,
            Err(failure) => return Err(failure),
        });
    }
    let mut points = Vec::new();
    for (number, crash) in (0..).zip(crashes) {
        points.push(crash);
        let others = fault_points::instead(crash, nodes, number).into_iter().zip(&fits);
        let others: Vec<_> = others.filter_map(|(it, fits)| fits.then_some(it)).collect();
        let one = number as usize % others.len().max(1);
        let is_wanted = |(place, _): &(usize, SingleFault)| all || *place == one;
        points.extend(others.into_iter().enumerate().filter(is_wanted).map(|it| it.1));
    }
    Ok(points.into_iter().map(|it| (Fault::OnViews, it)).collect())
}
