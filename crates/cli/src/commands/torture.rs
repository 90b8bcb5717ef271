//! `vorrang torture`: schedules of many faults, by the hundred thousand.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vorrang_experiment::catalogue::{Entry, catalogue};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::grouped;
use vorrang_experiment::lookup;
use vorrang_experiment::survive::Verdict;
use vorrang_experiment::torture::{Campaign, Finding, Limits, Plan, Progress};
use vorrang_experiment::values::{WallTime, whole};
use vorrang_node::terminal::{BAD, BOLD, GOOD, RESET, print, wrapped};

use crate::interrupt;
use crate::output::{print_json, show_after_a_second, spinner};
use vorrang_terminal::table::table;

/// As many nodes as a schedule may have.
const MOST_NODES: u32 = 20;
/// So many schedules if nothing is said.
const USUAL_RUNS: u64 = 10_000;
/// How often the state is saved.
const SAVED_EVERY: Duration = Duration::from_secs(5);

/// Draw schedules of many faults for every algorithm that claims to survive them, and shrink what
/// fails
///
/// A fault-injection campaign. For every run a schedule is drawn: nodes that crash and restart,
/// pauses, partitions, slow links, messages lost, duplicated and reordered, wrong clocks, as far as
/// the algorithm claims to survive them. Monitors judge the run: fine (safe, and everyone alive was
/// served once the faults were over), stuck (safe, but some live node waits for ever) or unsafe.
/// Of runs that fail alike the first is shrunk: faults are left out, then nodes and requests, then
/// times are shortened, as long as it fails in the same way. What is left is printed as the command
/// that repeats it.
///
/// Tried are locks on views (--on-views), also without stable storage (--forgetful: that everyone
/// is served is asked there only if no more than a minority crash before all are members again, and
/// nothing else goes wrong), locks, elections and waves over reliable channels (--reliable), and by
/// themselves the locks that tell crashed nodes by time, elections, failure detection, reliable
/// multicast and virtual synchrony.
///
/// With --processes every node is a process. Of locks on views, with stable storage or without,
/// these are killed as by kill -9 and perhaps started again, stopped by SIGSTOP and continued, and
/// cut off: from one other, in one direction or both, or from all. With stable storage a majority
/// of the founders is up and connected in the end; without, there are no more faults than a
/// majority of them survives. Algorithms that survive crashes by themselves have processes killed.
/// A seed does not decide all that happens then: what fails is shrunk to the smallest schedule that
/// was seen to fail.
///
/// A schedule depends on --seed and on its number alone: neither on --jobs nor on where a campaign
/// was interrupted and resumed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang torture\n  \
    vorrang torture --seed fresh --time 1m\n  \
    vorrang torture --runs 1000000 --resume campaign.json\n  \
    vorrang torture --algorithms raymond,ricart-agrawala --nodes 5..=7\n  \
    vorrang torture --algorithms suzuki-kasami --flaw holder-forgotten\n  \
    vorrang torture --processes --time 10m\n  \
    vorrang torture --processes --algorithms raymond --nodes 5 --flaw own-order --runs 3\n\n\
    Ctrl-C ends a campaign with the table so far; a second one at once.\n\n\
    Exit codes: 0 nothing failed, 1 something did, 2 wrong use, 4 I/O error.")]
pub(crate) struct Torture {
    /// Which algorithms, separated by commas [default: all that claim to survive anything]
    #[arg(long, short, alias = "algorithm", value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// How many nodes, drawn for every run: 5, or a range such as 3..=5
    #[arg(long, short, default_value = "3..=5", value_name = "NODES")]
    nodes: Sizes,
    /// Decides all schedules; `fresh` is drawn from the time and printed
    #[arg(long, default_value = "1")]
    seed: Seed,
    /// How many schedules in all, those before a campaign was resumed included [default: 10000, or
    /// any number with --time]
    #[arg(long, value_name = "NUMBER", value_parser = whole(1..=u64::MAX))]
    runs: Option<u64>,
    /// For how long: 90s, 10m, 2h
    #[arg(long)]
    time: Option<WallTime>,
    /// How many threads [default: one a core]
    #[arg(long, value_name = "THREADS", value_parser = whole(1..=1024_usize))]
    jobs: Option<usize>,
    /// Build in a known mistake, of the algorithm or of locks on views, to see the campaign find it
    #[arg(long, value_name = "NAME", requires = "algorithms")]
    flaw: Option<String>,
    /// Run every node as a process, one run after the other; processes are killed and started
    /// again, and those of locks on views stopped and cut off as well. A run takes some seconds,
    /// and a minute where nobody gets any further; one that has begun when --time is over goes on
    /// to its end
    #[arg(long, conflicts_with = "jobs")]
    processes: bool,
    /// Keep the state of the campaign in this file: if it exists, go on from there
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// How many nodes, from and to.
#[derive(Clone, Debug)]
struct Sizes(RangeInclusive<u32>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("give a number from 2 to {MOST_NODES}, or a range such as 3..=5");
        let number = |text: &str| {
            text.trim().parse().ok().filter(|it| (2..=MOST_NODES).contains(it)).ok_or_else(wrong)
        };
        let (first, last) = match text.split_once("..=") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first > last {
            return Err(format!("the range '{text}' is empty"));
        }
        Ok(Self(first..=last))
    }
}

/// The seed of a campaign.
#[derive(Clone, Copy, Debug)]
struct Seed(u64);

impl FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fresh" {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            return Ok(Self(now.as_micros() as u64));
        }
        let wrong = || format!("give a whole number from 0 to {}, or fresh", u64::MAX);
        text.parse().map(Self).map_err(|_| wrong())
    }
}

impl Torture {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let entries: Vec<&'static Entry> = match &self.algorithms[..] {
            [] => catalogue().iter().collect(),
            names => lookup::algorithms(names, None)?,
        };
        let plan = Plan {
            entries,
            nodes: self.nodes.0.clone(),
            seed: self.seed.0,
            flaw: self.flaw.clone(),
            processes: self.processes,
        };
        let mut campaign = match &self.resume {
            Some(path) if path.exists() => Campaign::resume(plan, path)?,
            Some(_) | None => Campaign::new(plan)?,
        };
        interrupt::listen()?;
        let start = Instant::now();
        let before = campaign.done;
        self.go_on(&mut campaign, start)?;
        let elapsed = start.elapsed();
        if self.json {
            print_json(&campaign.json(elapsed))?;
        } else {
            print(&shown(&campaign, campaign.done - before, elapsed, self.processes))?;
        }
        if campaign.is_fine() { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    /// Goes on to the end, and saves the state now and then.
    fn go_on(&self, campaign: &mut Campaign, start: Instant) -> Result<(), Failure> {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.jobs.and_then(NonZeroUsize::new).unwrap_or_else(cores);
        let runs = self.runs.or_else(|| self.time.is_none().then_some(USUAL_RUNS));
        let bar = spinner();
        let is_over = |done: u64| {
            runs.is_some_and(|runs| done >= runs)
                || self.time.is_some_and(|time| start.elapsed() >= time.0)
                || interrupt::is_raised()
        };
        loop {
            let left = self.time.map(|time| time.0.saturating_sub(start.elapsed()));
            let time = match (left, &self.resume) {
                (Some(left), Some(_)) => Some(left.min(SAVED_EVERY)),
                (None, Some(_)) => Some(SAVED_EVERY),
                (left, None) => left,
            };
            let limits = Limits { runs, time, jobs };
            campaign.run(limits, &mut |progress| {
                bar.set_message(line(progress, start.elapsed(), self.processes));
                if !self.json {
                    show_after_a_second(&bar);
                }
                if interrupt::is_raised() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            if let Some(path) = &self.resume {
                campaign.save(path)?;
            }
            if is_over(campaign.done) {
                bar.finish_and_clear();
                return Ok(());
            }
        }
    }
}

/// How far it has come.
fn line(progress: Progress, elapsed: Duration, processes: bool) -> String {
    let Progress { done, bad, since, elapsed: part } = progress;
    format!(
        "{} schedules in {} s, {}, {} failed",
        grouped(done),
        elapsed.as_secs(),
        rate(since, part, processes),
        grouped(bad)
    )
}

/// How many runs there were in a second; over processes, in a minute.
fn rate(runs: u64, time: Duration, processes: bool) -> String {
    let (unit, seconds) = if processes { ("a minute", 60.0) } else { ("a second", 1.0) };
    let many = runs as f64 * seconds / time.as_secs_f64().max(1e-9);
    format!("{} {unit}", grouped(many as u64))
}

/// The table, and all that failed.
fn shown(campaign: &Campaign, since: u64, elapsed: Duration, processes: bool) -> String {
    let header = ["SUBJECT", "RUNS", "FAULTS", "FINE", "STUCK", "UNSAFE"];
    let mut cells = vec![header.map(str::to_owned).to_vec()];
    for (subject, counts) in campaign.subjects.iter().zip(&campaign.counts) {
        let [fine, stuck, wrong] = counts.ended.map(grouped);
        let (runs, faults) = (grouped(counts.runs()), grouped(counts.faults));
        cells.push(vec![subject.to_string(), runs, faults, fine, stuck, wrong]);
    }
    let faults = campaign.counts.iter().map(|it| it.faults).sum();
    let mut text = table(&cells);
    text += "\n";
    for finding in &campaign.findings {
        text += &told(campaign, finding);
    }
    let bad: u64 = campaign.findings.iter().map(|it| it.times).sum();
    let schedules = if campaign.done == 1 { "schedule" } else { "schedules" };
    let verdict = if campaign.is_fine() {
        format!("{GOOD}none failed{RESET}")
    } else {
        format!("{BAD}{} failed{RESET}", grouped(bad))
    };
    text + &wrapped(&format!(
        "{BOLD}{} {schedules}{RESET} with {} faults, --seed {}: {verdict}. {} of them in {:.1} s, \
         {}. No failure is no proof: `vorrang check` exhausts all runs, of fewer nodes.\n",
        grouped(campaign.done),
        grouped(faults),
        campaign.seed(),
        grouped(since),
        elapsed.as_secs_f64(),
        rate(since, elapsed, processes)
    ))
}

/// A way to fail, with the command that repeats it.
fn told(campaign: &Campaign, finding: &Finding) -> String {
    let Finding { subject, index, verdict, what, line, times, .. } = finding;
    let verdict = match verdict {
        Verdict::Unsafe => "unsafe",
        Verdict::Stuck | Verdict::Fine => "safe but stuck",
    };
    let many = if *times == 1 { "one run".to_owned() } else { format!("{} runs", grouped(*times)) };
    let head = format!(
        "{BAD}{verdict}{RESET}: {what}\n{} failed so in {many}, first in schedule {index}; a \
         shortest that was found:\n",
        campaign.subjects[*subject]
    );
    // The command is to be copied: it is not broken.
    format!("{}{line}\n\n", wrapped(&head))
}
