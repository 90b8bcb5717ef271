//! kill -9 of the member whose client holds a lock, until another member's client, which waits for
//! it, is granted it.

use std::thread::sleep;
use std::time::Duration;

use crate::daemon::Daemons;
use crate::place::{NAMES, Place};
use crate::process::Worker;
use crate::report::{Report, Target, median, progress, worst};
use crate::{Outcome, TableArgs};

/// How long the next one waits before the holder is killed.
const WAITS: Duration = Duration::from_millis(300);

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    let targets = |most| (Target::AtMost(most), "median", median as fn(&[f64]) -> f64);
    let worst_of = |most| (most, "worst", worst as fn(&[f64]) -> f64);
    let with = [targets(2.3), worst_of(Target::AtMost(3.0))];
    let without = [targets(1.3), worst_of(Target::None)];
    for (what, more, rows) in
        [("defaults", &[][..], with), ("without leases", &["--lease", "off"], without)]
    {
        let times = times(arguments, what, more)?;
        for (target, which, of) in rows {
            let what = format!("kill -9 to the next grant, {what}: {which} of {}", times.len());
            report.row(&what, (of(&times), "s"), target);
        }
    }
    Ok(())
}

fn times(arguments: &TableArgs, what: &str, more: &[&str]) -> Outcome<Vec<f64>> {
    let directory = format!("kill-{}", what.replace(' ', "-"));
    let mut daemons = Daemons::start(arguments, &directory, Place::new()?, more)?;
    let mut clients = daemons.clients(&[])?;
    let mut times = Vec::new();
    for kill in 0..arguments.kills {
        progress(&format!("kill -9, {what}: {} of {}", kill + 1, arguments.kills));
        let (victim, next) = (kill % NAMES.len(), (kill + 1) % NAMES.len());
        hold(&mut clients[victim])?;
        clients[next].ask("hold")?;
        // If it has not asked by then, the time that is measured is longer, and not shorter.
        sleep(WAITS);
        let start = daemons.all[victim].process.kill()?;
        let (granted, _) = clients[next].answer("held")?;
        times.push(granted.duration_since(start).as_secs_f64());
        clients[next].ask("free")?;
        clients[next].answer("freed")?;
        daemons.all[victim] = daemons.one(victim)?;
        daemons.wait()?;
        clients[victim] = daemons.all[victim].client(&[])?;
        clients[victim].answer("ready")?;
    }
    Ok(times)
}

fn hold(client: &mut Worker) -> Outcome<()> {
    client.ask("hold")?;
    client.answer("held").map(drop)
}
