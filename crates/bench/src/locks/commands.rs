//! `vorrang lock NAME -- true`, beside `flock FILE true`.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::daemon::Daemons;
use crate::place::Place;
use crate::report::{Report, Target, median, milliseconds, progress};
use crate::{Outcome, TableArgs};

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    progress(&format!("commands: {} of each", arguments.runs));
    let daemons = Daemons::start(arguments, "commands", Place::new()?, &[])?;
    let mut lock = Command::new(&arguments.program);
    lock.args(["lock", "--socket"]).arg(&daemons.all[0].socket).args(["command", "--", "true"]);
    let mut flock = Command::new("flock");
    flock.arg(arguments.directory.join("flock")).arg("true");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        theirs.push(time(&mut flock)?);
        ours.push(time(&mut lock)?);
    }
    let more: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
    report.row("flock FILE true", (median(&theirs), "ms"), Target::None);
    report.row("vorrang lock NAME -- true", (median(&ours), "ms"), Target::None);
    report.row("  more than flock", (median(&more), "ms"), Target::AtMost(5.0));
    Ok(())
}

fn time(command: &mut Command) -> Outcome<f64> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).status();
    let program = command.get_program().display();
    let status = status.map_err(|why| format!("cannot run {program}: {why}"))?;
    if !status.success() {
        return Err(format!("{program} has failed: {status}").into());
    }
    Ok(milliseconds(start.elapsed()))
}
