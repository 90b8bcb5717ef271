//! Members that nobody asks for anything.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::daemon::Daemons;
use crate::place::Place;
use crate::report::{Report, Target, progress, worst};
use crate::{Outcome, TableArgs};

/// For how long they are watched.
const WATCHED: Duration = Duration::from_secs(10);

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    let daemons = Daemons::start(arguments, "idle", Place::new()?, &[])?;
    progress(&format!("idle: for {WATCHED:?}"));
    let usages = || daemons.all.iter().map(|it| it.process.usage()).collect::<Outcome<Vec<_>>>();
    let (start, before) = (Instant::now(), usages()?);
    sleep(WATCHED);
    let (time, after) = (start.elapsed().as_secs_f64(), usages()?);
    let shares = before.iter().zip(&after).map(|(before, after)| {
        (after.processor.saturating_sub(before.processor)).as_secs_f64() / time * 100.0
    });
    let share = worst(&shares.collect::<Vec<_>>());
    let memory = worst(&after.iter().map(|it| it.memory as f64 / 1e6).collect::<Vec<_>>());
    report.row("idle member: share of a core", (share, "%"), Target::AtMost(1.0));
    report.row("idle member: memory", (memory, "MB"), Target::AtMost(30.0));
    Ok(())
}
