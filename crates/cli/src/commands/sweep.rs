//! `vorrang sweep`: every combination of many values, on all cores.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::{Value, json};
use vorrang_algorithms::card::Setup;
use vorrang_protocol::Group;
use vorrang_trace::Digest;

use crate::failure::Failure;
use crate::lookup;
use crate::output::{csv_fields, print, progress, show_after_a_second};
use crate::sheet::{Appender, IDENTITY, Sheet};
use crate::simulate::simulate_quietly;
use crate::values::{Durations, Numbers};
use crate::workload::{FixedArgs, LoadKind, Scenario, ScenarioArgs, asked_k};

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
    /// Which algorithms, separated by commas, or `all` [default: plain mutual exclusion]
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// How many nodes, N
    #[arg(long, short, default_value = "2..=64*2", value_name = "NUMBERS")]
    nodes: Numbers,
    /// How many entries in all
    #[arg(long, short, default_value = "10000", value_name = "NUMBERS")]
    entries: Numbers,
    /// How busy the nodes are
    #[arg(long, short, value_enum, value_delimiter = ',', default_value = "heavy")]
    load: Vec<LoadKind>,
    /// Under heavy load: how long a node waits after leaving before it asks again
    #[arg(long, default_value = "0", value_name = "TIMES")]
    think: Durations,
    /// How long a node stays inside, E
    #[arg(long, default_value = "0", value_name = "TIMES")]
    hold: Durations,
    /// How long a message takes
    #[arg(long, default_value = "1ms", value_name = "TIMES")]
    latency: Durations,
    /// Only the first so many nodes ever ask
    #[arg(long, value_name = "NUMBERS")]
    hot: Option<Numbers>,
    /// How many may be inside together, for k-exclusion
    #[arg(long, default_value = "2", value_name = "NUMBERS")]
    k: Numbers,
    /// How many seeds for every combination, counted from --seed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    #[command(flatten)]
    fixed: FixedArgs,
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
        let scenarios = self.scenarios()?;
        let identity = (digest(&scenarios), scenarios.len() as u64);
        let sheet = self.open(&identity, &scenarios)?;
        let points: Vec<(u64, &Scenario)> =
            (0..).zip(&scenarios).filter(|(point, _)| self.shard.contains(*point)).collect();
        let missing: Vec<(u64, &Scenario)> =
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

    /// Every combination, in a fixed order.
    fn scenarios(&self) -> Result<Vec<Scenario>, Failure> {
        let mut scenarios = Vec::new();
        for card in lookup::cards(&self.algorithms)? {
            // Where k means nothing, one value of it is enough.
            let setup = Setup::new(Group::of(1));
            let ks = if asked_k(card, setup).is_some() { &self.k.0[..] } else { &self.k.0[..1] };
            for (&nodes, &entries, &load) in product(&self.nodes.0, &self.entries.0, &self.load) {
                for (&think, &hold, &latency) in
                    product(&self.think.0, &self.hold.0, &self.latency.0)
                {
                    for (&hot, &k, &seed) in product(&self.hot_list(), ks, &self.seed_list()) {
                        let args = ScenarioArgs {
                            nodes: small("--nodes", nodes)?,
                            entries,
                            load: vec![load],
                            think,
                            hold,
                            latency: Some(latency),
                            hot: hot.map(|hot| small("--hot", hot)).transpose()?,
                            k: small("--k", k)?,
                            fixed: self.fixed.clone(),
                        };
                        scenarios.push(args.scenario(card, load, seed)?);
                    }
                }
            }
        }
        Ok(scenarios)
    }

    fn hot_list(&self) -> Vec<Option<u64>> {
        match &self.hot {
            None => vec![None],
            Some(hot) => hot.0.iter().copied().map(Some).collect(),
        }
    }

    fn seed_list(&self) -> Vec<u64> {
        (self.fixed.seed..self.fixed.seed.saturating_add(self.seeds)).collect()
    }

    /// The file as it is, or a new one.
    fn open(&self, identity: &(String, u64), scenarios: &[Scenario]) -> Result<Sheet, Failure> {
        let header = header(&scenarios[0])?;
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
        missing: &[(u64, &Scenario)],
        done: usize,
        shared: &Shared<'_>,
    ) -> Result<(), Failure> {
        let appender = shared.lock().appender(&self.csv)?;
        let appender = Mutex::new(appender);
        let total = (done + missing.len()) as u64;
        let bar = progress(total, "{bar:40} {pos} of {len} points, {eta} left");
        bar.set_position(done as u64);
        let stop = stop_on_interrupt()?;
        let computed = missing.par_iter().try_for_each(|(point, scenario)| {
            if stop.load(Ordering::Relaxed) {
                shared.interrupted.store(true, Ordering::Relaxed);
                return Ok(());
            }
            let row = row(identity, *point, scenario)?;
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

/// All combinations of three lists, the last varying fastest.
fn product<'a, A, B, C>(
    a: &'a [A],
    b: &'a [B],
    c: &'a [C],
) -> impl Iterator<Item = (&'a A, &'a B, &'a C)> {
    a.iter().flat_map(move |a| b.iter().flat_map(move |b| c.iter().map(move |c| (a, b, c))))
}

fn small(option: &str, value: u64) -> Result<u32, Failure> {
    match u32::try_from(value) {
        Ok(value @ 1..=1_000_000) => Ok(value),
        Ok(_) | Err(_) => Err(Failure::usage(format!("{option} {value} is not in 1..=1000000"))),
    }
}

/// One point, measured. Nothing in it depends on the machine, so that equal points are equal.
fn figures(scenario: &Scenario) -> Result<Value, Failure> {
    let mut figures = simulate_quietly(scenario)?.json();
    let fields = figures.as_object_mut().expect("a measurement is an object");
    for of_the_machine in ["wall_seconds", "driver", "messages_by_kind"] {
        fields.shift_remove(of_the_machine);
    }
    let theory = scenario.setting().map(|setting| (scenario.card.theory.messages)(&setting));
    fields.insert("messages_theory_low".to_owned(), json!(theory.map(|it| it.low)));
    fields.insert("messages_theory_high".to_owned(), json!(theory.map(|it| it.high)));
    Ok(figures)
}

fn row(identity: &(String, u64), point: u64, scenario: &Scenario) -> Result<Vec<String>, Failure> {
    let mut row = vec![identity.0.clone(), identity.1.to_string(), point.to_string()];
    row.extend(csv_fields(&figures(scenario)?));
    Ok(row)
}

/// The columns of a sweep's file: those of the smallest run that there is.
fn header(scenario: &Scenario) -> Result<Vec<String>, Failure> {
    let setup = Setup { group: Group::of(1), ..scenario.setup };
    let smallest = figures(&Scenario { entries: 1, setup, hot: None, ..scenario.clone() })?;
    let columns = smallest.as_object().expect("a measurement is an object").keys().cloned();
    Ok(IDENTITY.iter().map(|&name| name.to_owned()).chain(columns).collect())
}

/// A short name for the whole list of scenarios, the version included.
fn digest(scenarios: &[Scenario]) -> String {
    let mut digest = Digest::default();
    for scenario in scenarios {
        let (card, options) = (scenario.card.name, scenario.options());
        writeln!(digest, "{} {card} {options}", env!("CARGO_PKG_VERSION"))
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
