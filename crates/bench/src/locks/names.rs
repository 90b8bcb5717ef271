//! Many names in use: the memory of a member, and what a change of the view takes.
//!
//! The members hold the names among them. One that has none leaves, so that nothing has to be
//! noticed first, and comes in again: the time is until all others were granted a new lock in the
//! new view.

use std::time::{Duration, Instant};

use crate::place::{NAMES, Place};
use crate::process::Worker;
use crate::report::{Report, Target, progress};
use crate::{Outcome, TableArgs};

/// A million bytes.
const MB: f64 = 1e6;

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    let place = Place::new()?;
    let mut members = place.all("library", &[])?;
    let mut last = members.pop().ok_or("no members")?;
    let share = arguments.names.div_ceil(members.len());
    progress(&format!("names: {} at each of {} members", share, members.len()));
    for member in &mut members {
        member.ask(&format!("take {share}"))?;
        member.answer("took")?;
    }
    let mut memory = 0;
    for member in members.iter_mut().chain([&mut last]) {
        memory = memory.max(member.process().usage()?.memory);
    }
    progress("names: a member leaves");
    watch(&mut members, NAMES.len() - 1)?;
    let start = Instant::now();
    last.ask("leave")?;
    let without = changed(&mut members, share)?;
    last.answer("left")?;
    drop(last);
    let left = without.at.duration_since(start);
    progress("names: it comes in again");
    watch(&mut members, NAMES.len())?;
    let start = Instant::now();
    let mut last = place.member("library", NAMES[NAMES.len() - 1], &[])?;
    let with = changed(&mut members, share)?;
    let (ready, _) = last.answer("ready")?;
    let came = with.at.max(ready).duration_since(start);
    let mut peak = 0;
    for member in members.iter_mut().chain([&mut last]) {
        peak = peak.max(member.process().usage()?.peak);
    }
    let count = arguments.names;
    let row = |what: &str| format!("{count} names in use: {what}");
    let time = |time: Duration| (time.as_secs_f64(), "s");
    report.row(&row("memory of a member"), (memory as f64 / MB, "MB"), Target::AtMost(100.0));
    report.row("  at most, changes of the view included", (peak as f64 / MB, "MB"), Target::None);
    report.row("  a member leaves, until locks are granted", time(left), Target::AtMost(3.0));
    report.row("  a process is started, until it is granted one", time(came), Target::AtMost(3.0));
    let suspected = (without.suspected + with.suspected) as f64;
    report.row("  members suspected meanwhile", (suspected, ""), Target::AtMost(0.0));
    let gone = (without.lost + with.lost) as f64;
    report.row("  locks lost meanwhile", (gone, ""), Target::AtMost(0.0));
    Ok(())
}

fn watch(members: &mut [Worker], count: usize) -> Outcome<()> {
    for member in members {
        member.ask(&format!("watch {count}"))?;
        member.answer("watching")?;
    }
    Ok(())
}

/// A change of the view, as all have seen it.
struct Changed {
    at: Instant,
    suspected: usize,
    lost: usize,
}

fn changed(members: &mut [Worker], held: usize) -> Outcome<Changed> {
    let mut all = Changed { at: Instant::now(), suspected: 0, lost: 0 };
    for member in members {
        let (at, words) = member.answer("changed")?;
        let [_, suspected, still] = words.as_slice() else {
            return Err(format!("a change has three figures, not {words:?}").into());
        };
        all.at = all.at.max(at);
        all.suspected += suspected.parse::<usize>()?;
        all.lost += held - still.parse::<usize>()?;
    }
    Ok(all)
}
