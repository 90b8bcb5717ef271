//! `vorrang sweep`: every combination of many values, on all cores.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::{Value, json};
use vorrang_algorithms::card::About;
use vorrang_trace::Digest;

use crate::axes::{Axes, seeds};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::lookup;
use crate::output::{csv_fields, print, progress, show_after_a_second};
use crate::problem::Run;
use crate::sheet::{Appender, IDENTITY, Sheet};

/// Measure every combination of many values, on all cores, into a CSV file
///
/// Numbers are given as 4, 2..=256, 10..=100+10 or 2..=256*2, durations as 1ms or exp:2ms, several
/// of either separated by commas. One row is written for every combination and seed, as soon as it
/// is known; when all are, the rows are put in order, so that the file is the same whatever the
/// number of cores, and however often it was interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang sweep --nodes 2..=256*2 --seeds 10 --csv out.csv\n  \
    vorrang sweep --nodes 13 --think 0,1ms,10ms --algorithms lamport,central --csv out.csv\n  \
    vorrang sweep --nodes 2..=256 --csv out.csv --resume\n  \
    vorrang sweep --nodes 2..=256 --csv part3.csv --shard 3/16")]
pub(crate) struct Sweep {
    /// Which algorithms, separated by commas, or `all` [default: those that solve the problem as it stands]
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// Which problem: mutex, election, or a variant such as k-exclusion [default: mutex]
    #[arg(long, value_name = "PROBLEM")]
    problem: Option<String>,
    #[command(flatten)]
    options: Axes,
    /// How many seeds for every combination, counted from --seed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    csv: PathBuf,
    /// Continue a sweep that was interrupted; points in the file are not computed again
    #[arg(long)]
    resume: bool,
    /// Compute only a part, say the third of sixteen; 'vorrang merge' joins the parts
    #[arg(long, value_name = "PART/PARTS", default_value = "1/1")]
    shard: Shard,
}

impl Sweep {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let runs = self.runs()?;
        let identity = (digest(&runs), runs.len() as u64);
        let sheet = self.open(&identity, &runs)?;
        let points: Vec<(u64, &dyn Run)> = (0..)
            .zip(runs.iter().map(|run| &**run))
            .filter(|(point, _)| self.shard.contains(*point))
            .collect();
        let missing: Vec<(u64, &dyn Run)> =
            points.iter().copied().filter(|(point, _)| !sheet.rows.contains_key(point)).collect();
        let done = points.len() - missing.len();
        let interrupted = AtomicBool::new(false);
        let shared = Shared { sheet: Mutex::new(sheet), interrupted: &interrupted };
        self.compute(&identity, &missing, done, &shared)?;
        let sheet = shared.sheet.into_inner().unwrap_or_else(PoisonError::into_inner);
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::Failed(format!(
                "interrupted after {} of {} points; --resume continues",
                sheet.rows.len(),
                points.len()
            )));
        }
        sheet.write(&self.csv)?;
        print(&format!(
            "{} of {} points in {}, {} computed now\n",
            sheet.rows.len(),
            identity.1,
            self.csv.display(),
            missing.len()
        ))?;
        match sheet.failed_rows() {
            0 => Ok(()),
            failed => Err(Failure::Failed(format!(
                "{failed} runs were not safe or left somebody waiting: see the columns safe, \
                 quiescent and violation"
            ))),
        }
    }

    /// Every combination, in a fixed order; what only differs in options that mean nothing to an
    /// algorithm comes once.
    fn runs(&self) -> Result<Vec<Box<dyn Run>>, Failure> {
        let axes = self.options.clone().or("nodes", &["2", "4", "8", "16", "32", "64"]);
        let points = axes.points()?;
        let entries = lookup::algorithms(&self.algorithms, self.problem.as_deref())?;
        let abouts: Vec<About> = entries.iter().map(|entry| entry.algorithm.about()).collect();
        let mut runs: Vec<Box<dyn Run>> = Vec::new();
        for entry in entries {
            // An option that an algorithm does not take gives it the same run again.
            let mut known = HashSet::new();
            for point in &points {
                point.check_fit(&abouts.iter().collect::<Vec<_>>())?;
                for seed in seeds(point.args.common.seed, self.seeds)? {
                    let mut args = point.args.clone();
                    args.common.seed = seed;
                    let run = entry.algorithm.run(&args)?;
                    if known.insert(run.options(false)) {
                        runs.push(run);
                    }
                }
            }
        }
        Ok(runs)
    }

    /// The file as it is, or a new one.
    fn open(&self, identity: &(String, u64), runs: &[Box<dyn Run>]) -> Result<Sheet, Failure> {
        let header = header(&*runs[0])?;
        let path = self.csv.display();
        // An empty file is what a sweep leaves that was killed before its first line.
        let is_empty = fs::metadata(&self.csv).is_ok_and(|file| file.len() == 0);
        if is_empty && self.resume {
            fs::remove_file(&self.csv)?;
        }
        if !self.csv.exists() {
            return Sheet::create(&self.csv, header);
        }
        if !self.resume {
            return Err(Failure::usage(format!(
                "{path} exists: --resume continues it, or choose another file"
            )));
        }
        let sheet = Sheet::read(&self.csv)?;
        let is_same = sheet.identity.as_ref().is_none_or(|found| found == identity);
        if !is_same || sheet.header != header {
            return Err(Failure::usage(format!(
                "{path} belongs to a sweep with other parameters: give the same ones to resume it"
            )));
        }
        Ok(sheet)
    }

    /// Computes the missing points on all cores, writing each as soon as it is known.
    fn compute(
        &self,
        identity: &(String, u64),
        missing: &[(u64, &dyn Run)],
        done: usize,
        shared: &Shared<'_>,
    ) -> Result<(), Failure> {
        let appender = shared.lock().appender(&self.csv)?;
        let appender = Mutex::new(appender);
        let total = (done + missing.len()) as u64;
        let bar = progress(total, "{bar:40} {pos} of {len} points, {eta} left");
        bar.set_position(done as u64);
        let stop = stop_on_interrupt()?;
        let computed = missing.par_iter().try_for_each(|(point, run)| {
            if stop.load(Ordering::Relaxed) {
                shared.interrupted.store(true, Ordering::Relaxed);
                return Ok(());
            }
            let row = row(identity, *point, *run)?;
            shared.keep(&appender, row)?;
            bar.inc(1);
            show_after_a_second(&bar);
            Ok(())
        });
        bar.finish_and_clear();
        computed
    }
}

/// What the threads of a sweep share.
struct Shared<'a> {
    sheet: Mutex<Sheet>,
    interrupted: &'a AtomicBool,
}

impl Shared<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Sheet> {
        self.sheet.lock().expect("no thread of a sweep panics")
    }

    /// Writes a row to the file, and remembers it for the final order.
    fn keep(&self, appender: &Mutex<Appender>, row: Vec<String>) -> Result<(), Failure> {
        appender.lock().expect("no thread of a sweep panics").append(&row)?;
        self.lock().add(row).map_err(Failure::Failed)
    }
}

/// A flag that Ctrl-C raises: points under way are finished, no others are begun.
fn stop_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&STOP)
}

/// Which part of a sweep: the points whose number leaves this remainder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shard {
    /// Counted from 1.
    part: u64,
    parts: u64,
}

impl Shard {
    const fn contains(self, point: u64) -> bool {
        point % self.parts == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, parts)| {
            Some(Self { part: part.parse().ok()?, parts: parts.parse().ok()? })
        });
        match numbers {
            Some(shard) if (1..=shard.parts).contains(&shard.part) => Ok(shard),
            Some(shard) => Err(format!("there is no part {} of {}", shard.part, shard.parts)),
            None => Err(format!("'{text}' is not a part: write 3/16 for the third of sixteen")),
        }
    }
}

/// One point, measured. Nothing in it depends on the machine, so that equal points are equal.
fn figures(measured: &Measured) -> Value {
    let mut figures = measured.json();
    let fields = figures.as_object_mut().expect("a measurement is an object");
    for of_the_machine in ["wall_seconds", "driver", "messages_by_kind"] {
        fields.shift_remove(of_the_machine);
    }
    for figure in measured.figures.iter().filter(|figure| figure.column.is_some()) {
        let key = figure.key;
        fields.insert(format!("{key}_theory_low"), json!(figure.theory.map(|it| it.low)));
        fields.insert(format!("{key}_theory_high"), json!(figure.theory.map(|it| it.high)));
    }
    figures
}

fn row(identity: &(String, u64), point: u64, run: &dyn Run) -> Result<Vec<String>, Failure> {
    let mut row = vec![identity.0.clone(), identity.1.to_string(), point.to_string()];
    row.extend(csv_fields(&figures(&run.simulate(None, None)?)));
    Ok(row)
}

/// The columns of a sweep's file: those of a run that has not begun.
fn header(run: &dyn Run) -> Result<Vec<String>, Failure> {
    let blank = figures(&run.blank()?);
    let columns = blank.as_object().expect("a measurement is an object").keys().cloned();
    Ok(IDENTITY.iter().map(|&name| name.to_owned()).chain(columns).collect())
}

/// A short name for the whole list of runs, the version included.
fn digest(runs: &[Box<dyn Run>]) -> String {
    let mut digest = Digest::default();
    for run in runs {
        let (name, options) = (run.about().name, run.options(false));
        writeln!(digest, "{} {name} {options}", env!("CARGO_PKG_VERSION"))
            .expect("a digest takes all that is written");
    }
    format!("{:016x}", digest.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_exactly_one_part() {
        let parts: Vec<Shard> = (1..=5).map(|part| format!("{part}/5").parse().unwrap()).collect();
        for point in 0..100 {
            assert_eq!(parts.iter().filter(|part| part.contains(point)).count(), 1);
        }
    }

    #[test]
    fn what_is_not_a_part_is_refused() {
        let error = |text: &str| text.parse::<Shard>().unwrap_err();
        assert_eq!(error("0/4"), "there is no part 0 of 4");
        assert_eq!(error("5/4"), "there is no part 5 of 4");
        assert!(error("x").contains("'x' is not a part"));
    }
}
