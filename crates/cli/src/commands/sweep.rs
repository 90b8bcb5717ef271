//! `vorrang sweep`: every combination of many values, on all cores.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use vorrang_draw::Theme;
use vorrang_experiment::catalogue::Run;
use vorrang_experiment::csv_rows::{Fields, csv_fields, csv_header, csv_row};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::figures::Measured;
use vorrang_experiment::options::axis::Axis;
use vorrang_experiment::plotting::Wanted;
use vorrang_experiment::sweep_csv::{Appender, Destination, IDENTITY, Shard, SweepCsv};
use vorrang_trace::Digest;

use crate::commands::compare::say_left_out;
use crate::commands::plot::{check_name, of_sheet, save};
use crate::output::{VERSION, progress, show_after_a_second};
use crate::selection_args::SelectionArgs;
use crate::{destination, interrupt};

/// Measure every combination of many values, on all cores, into a CSV file
///
/// Numbers are given as 4, 2..=256, 10..=100+10 or 2..=256*2, durations as 1ms or exp:2ms, several
/// of either separated by commas. One row is written for every combination and seed, as soon as it
/// is known; when all are, the rows are put in order, so that the file does not depend on the
/// number of cores or on interruptions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang sweep --nodes 2..=256*2 --seeds 10 --csv out.csv\n  \
    vorrang sweep --nodes 13 --think 0,1ms,10ms --algorithms lamport,central --csv out.csv\n  \
    vorrang sweep --nodes 2..=64*2 --seeds 5 --csv out.csv --plot messages.svg\n  \
    vorrang sweep --nodes 2..=256 --csv out.csv --resume\n  \
    vorrang sweep --nodes 2..=256 --csv part3.csv --shard 3/16")]
pub(crate) struct Sweep {
    #[command(flatten)]
    selection: SelectionArgs,
    /// The file to write; - for standard output, once all is known
    #[arg(long, value_name = "FILE")]
    csv: Destination,
    /// Continue a sweep that was interrupted; points in the file are not computed again
    #[arg(long)]
    resume: bool,
    /// Compute only a part, say the third of sixteen; 'vorrang merge' joins the parts
    #[arg(long, value_name = "PART/PARTS", default_value = "1/1")]
    shard: Shard,
    /// Also plot it, when all is known: .svg or .png. 'vorrang plot' can do more with the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// With --plot: the column that goes up [default: messages]
    #[arg(long, value_name = "COLUMN", requires = "plot")]
    y: Option<String>,
}

type Point<'a> = (u64, &'a dyn Run);

impl Sweep {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        if let Some(path) = &self.plot {
            check_name(path)?;
        }
        let selected = self.selection.runs(|_| {
            Axis::new("nodes", [2, 4, 8, 16, 32, 64], |args, nodes| args.common.nodes = *nodes)
        })?;
        say_left_out(&selected);
        let runs: Vec<&dyn Run> = selected.runs.iter().flatten().map(|run| &**run).collect();
        let identity = (digest(&runs), runs.len() as u64);
        let sheet = self.open(&identity, header(&runs)?)?;
        let mine = |(point, _): &Point<'_>| self.shard.contains(*point);
        let points: Vec<Point<'_>> = (0..).zip(runs).filter(mine).collect();
        let is_missing = |(point, _): &Point<'_>| !sheet.rows.contains_key(point);
        let missing: Vec<Point<'_>> = points.iter().copied().filter(is_missing).collect();
        let appender = match &self.csv {
            Destination::Out => None,
            Destination::File(path) => Some(sheet.appender(path)?),
        };
        let under_way = UnderWay { kept: Mutex::new((sheet, appender)), identity };
        let is_whole = under_way.compute(&missing, points.len())?;
        let sheet = under_way.kept.into_inner().unwrap_or_else(PoisonError::into_inner).0;
        let (known, wanted) = (sheet.rows.len(), points.len());
        match &self.csv {
            _ if is_whole => destination::write(&sheet, &self.csv)?,
            unfinished => {
                let then = match unfinished {
                    Destination::File(_) => "--resume continues",
                    Destination::Out => "nothing was written",
                };
                let what = format!("interrupted after {known} of {wanted} points; {then}");
                // A violation so far stays one.
                return Err(match sheet.verdict() {
                    Ok(()) => Failure::Bounded(Some(what)),
                    Err(failure) => Failure::Failed(format!("{what}; {failure}")),
                });
            }
        }
        let (all, now) = (under_way.identity.1, missing.len());
        let line = format!("{known} of {all} points in {}, {now} computed now", self.csv);
        destination::report(&self.csv, &line)?;
        if let Some(path) = &self.plot {
            let wanted = Wanted { y: self.y.clone(), ..Wanted::default() };
            save(&of_sheet(&sheet, &wanted)?, Theme::Auto, path)?;
        }
        sheet.verdict()
    }

    /// The file as it is, or a new one.
    fn open(&self, identity: &(String, u64), header: Vec<String>) -> Result<SweepCsv, Failure> {
        let path = match &self.csv {
            Destination::Out if self.resume => {
                return Err(Failure::usage("--resume continues a file, and --csv - is none"));
            }
            Destination::Out => return Ok(SweepCsv::new(header)),
            Destination::File(path) => path,
        };
        let shown = path.display();
        match fs::metadata(path) {
            Err(_) => return SweepCsv::create(path, header),
            Ok(found) if !found.is_file() => {
                return Err(Failure::World(format!(
                    "{shown} is not a file that can be continued; --csv - is standard output"
                )));
            }
            Ok(_) if !self.resume => {
                return Err(Failure::usage(format!(
                    "{shown} exists: --resume continues it, or choose another file"
                )));
            }
            // An empty file is what a sweep leaves that was killed before its first line.
            Ok(found) if found.len() == 0 => {
                fs::remove_file(path).map_err(|error| Failure::at(path, error))?;
                return SweepCsv::create(path, header);
            }
            Ok(_) => {}
        }
        let sheet = SweepCsv::read(path)?;
        let is_same = sheet.identity.as_ref().is_none_or(|found| found == identity);
        if !is_same || sheet.header != header {
            return Err(Failure::usage(format!(
                "{shown} belongs to a sweep with other parameters: give the same ones to resume it"
            )));
        }
        Ok(sheet)
    }
}

/// The shared state of a sweep's threads.
struct UnderWay {
    kept: Mutex<(SweepCsv, Option<Appender>)>,
    identity: (String, u64),
}

impl UnderWay {
    /// Computes the missing points on all cores, writing each as soon as it is known; whether it
    /// was not interrupted.
    fn compute(&self, missing: &[Point<'_>], total: usize) -> Result<bool, Failure> {
        let bar = progress(total as u64, "{bar:40} {pos} of {len} points, {left} left");
        bar.set_position((total - missing.len()) as u64);
        interrupt::listen()?;
        let interrupted = AtomicBool::new(false);
        let computed = missing.par_iter().try_for_each(|&(point, run)| {
            // Points under way are finished, no others are begun.
            if interrupt::is_raised() {
                interrupted.store(true, Ordering::Relaxed);
                return Ok(());
            }
            self.keep(point, &with_origin(figures(&run.simulate(None, None)?), run))?;
            bar.inc(1);
            show_after_a_second(&bar);
            Ok(())
        });
        bar.finish_and_clear();
        computed.map(|()| !interrupted.into_inner())
    }

    /// Writes a row to the file, and remembers it for the final order.
    fn keep(&self, point: u64, figures: &Fields) -> Result<(), Failure> {
        let mut kept = self.kept.lock().expect("no thread of a sweep panics");
        let (sheet, appender) = &mut *kept;
        let (sweep, points) = &self.identity;
        let mut row = vec![sweep.clone(), points.to_string(), point.to_string()];
        row.extend(csv_row(&sheet.header[IDENTITY.len()..], figures));
        if let Some(appender) = appender {
            appender.append(&row)?;
        }
        sheet.add(row).map_err(Failure::World)
    }
}

/// One point, measured. Nothing in it depends on the machine, so that equal points are equal; and
/// nothing on the algorithm, so that all have the same columns.
pub(crate) fn figures(measured: &Measured) -> Fields {
    let mut figures = measured.json();
    let fields = figures.as_object_mut().expect("a measurement is an object");
    for not_everywhere in ["wall_seconds", "driver", "messages_by_kind"] {
        fields.shift_remove(not_everywhere);
    }
    csv_fields(&figures)
}

/// The same with the version and the command that repeats it. Not the one that was typed: parts of
/// a sweep are typed otherwise, and so is what continues it.
fn with_origin(mut fields: Fields, run: &dyn Run) -> Fields {
    let command = format!("vorrang run {} {}", run.about().name, run.options(false));
    fields.push(("version".to_owned(), VERSION.to_owned()));
    fields.push(("command".to_owned(), command));
    fields
}

/// The columns of a sweep's file: those of runs that have not begun, one of each problem.
pub(crate) fn header(runs: &[&dyn Run]) -> Result<Vec<String>, Failure> {
    let mut problems = HashSet::new();
    let mut columns = vec![IDENTITY.map(|name| (name.to_owned(), String::new())).to_vec()];
    for run in runs.iter().filter(|run| problems.insert(run.about().problem)) {
        columns.push(with_origin(figures(&run.blank()?), *run));
    }
    Ok(csv_header(&columns))
}

/// A short name for the whole list of runs, the version included.
fn digest(runs: &[&dyn Run]) -> String {
    let mut digest = Digest::default();
    for run in runs {
        let (name, options) = (run.about().name, run.options(false));
        writeln!(digest, "{VERSION} {name} {options}").expect("a digest takes all that is written");
    }
    format!("{:016x}", digest.value())
}
