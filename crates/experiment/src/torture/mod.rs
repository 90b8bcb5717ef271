//! A fault-injection campaign: schedules of many faults, drawn at random, for every algorithm that
//! claims to survive them; each run is judged by the monitors, and what ends badly is shrunk to a
//! shortest schedule and told by the one line that repeats it.
//!
//! The schedule of a number is a function of that number and of the campaign's seed. So it makes no
//! difference how many threads there are, and a campaign that was stopped goes on as if it had not
//! been ([`Campaign::save`], [`Campaign::resume`]).
//!
//! Of runs of a subject that are wrong in the same way, the first is shrunk and the others are
//! counted.

mod between_processes;
mod judge;
mod processes;
mod schedule;
mod shrink;
mod state;
mod subject;
mod votes;

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::{Value, json};

use self::judge::{Judged, judge};
use self::schedule::{admits, drawn};
use self::shrink::{Trials, shrunk};
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::survive::Verdict;

pub use subject::{Footing, Subject};

/// Between two looks at the clock and at whoever watches, so many schedules are tried.
const BATCH: u64 = 64;
/// At most so many runs to shrink one schedule in the simulator.
const MOST_RUNS: u32 = 3_000;
/// The same between processes, where each takes seconds.
const MOST_RUNS_OF_PROCESSES: u32 = 10;

/// What is tried, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which algorithms.
    pub entries: Vec<&'static Entry>,
    /// How many nodes, from and to.
    pub nodes: RangeInclusive<u32>,
    /// Decides all schedules.
    pub seed: u64,
    /// The mistake that is built in.
    pub flaw: Option<String>,
    /// Whether every node is a process, and faults are signals and what is done to connections.
    pub processes: bool,
}

/// How far a campaign goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many schedules in all, those before it was resumed included.
    pub runs: Option<u64>,
    /// So long.
    pub time: Option<Duration>,
    /// How many threads.
    pub jobs: NonZeroUsize,
}

/// The outcomes of a subject.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// How many runs ended how, from best to worst.
    pub ended: [u64; 3],
    /// How many faults struck, those of messages included.
    pub faults: u64,
    /// How many events there were.
    pub events: u64,
}

impl Counts {
    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.ended.iter().sum()
    }

    fn add(&mut self, judged: &Judged) {
        self.ended[judged.verdict as usize] += 1;
        self.faults += judged.faults;
        self.events += judged.events;
    }
}

/// Runs of a subject that are wrong in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The place of the subject.
    pub subject: usize,
    /// The number of the first such schedule.
    pub index: u64,
    /// How bad it is.
    pub verdict: Verdict,
    /// What is wrong, by its name.
    pub property: String,
    /// The same in a sentence, about the shrunk run.
    pub what: String,
    /// The command that repeats the shrunk run.
    pub line: String,
    /// How many runs were wrong in this way.
    pub times: u64,
}

impl Finding {
    fn is_of(&self, subject: usize, judged: &Judged) -> bool {
        let of = (self.subject, self.verdict, &self.property);
        of == (subject, judged.verdict, &judged.property)
    }
}

/// How far a campaign has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many schedules were tried, those before it was resumed included.
    pub done: u64,
    /// How many of these ended badly.
    pub bad: u64,
    /// How many were tried since it was resumed.
    pub since: u64,
    /// For how long.
    pub elapsed: Duration,
}

/// Told now and then how far a campaign has come; says whether it goes on.
pub type Watcher<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// A campaign, and what it has found so far.
#[derive(Debug)]
pub struct Campaign {
    plan: Plan,
    /// Its subjects, in the order of their turns.
    pub subjects: Vec<Subject>,
    /// The outcomes of each.
    pub counts: Vec<Counts>,
    /// All that is wrong, in the order in which it was found.
    pub findings: Vec<Finding>,
    /// How many schedules were tried.
    pub done: u64,
}

impl Campaign {
    /// One that has not begun.
    ///
    /// # Errors
    ///
    /// If none of the algorithms claims to survive anything, or there is no such mistake.
    pub fn new(plan: Plan) -> Result<Self, Failure> {
        let subjects = if plan.processes {
            processes::subjects(&plan.entries, &plan.nodes, plan.flaw.as_deref())?
        } else {
            Subject::all(&plan.entries, &plan.nodes, plan.flaw.as_deref())?
        };
        let counts = vec![Counts::default(); subjects.len()];
        Ok(Self { plan, subjects, counts, findings: Vec::new(), done: 0 })
    }

    /// One that goes on where the campaign of that file was stopped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is about another campaign: in a sentence.
    pub fn resume(plan: Plan, path: &Path) -> Result<Self, Failure> {
        let mut campaign = Self::new(plan)?;
        state::read(&mut campaign, path)?;
        Ok(campaign)
    }

    /// Writes how far it has come.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        state::write(self, path)
    }

    /// Its seed.
    pub const fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// Whether nothing was wrong.
    pub const fn is_fine(&self) -> bool {
        self.findings.is_empty()
    }

    /// The schedule of a number, and whose it is.
    fn schedule(&self, index: u64) -> (usize, RunArgs) {
        let place = (index % self.subjects.len() as u64) as usize;
        let subject = &self.subjects[place];
        let args = if self.plan.processes {
            processes::drawn(subject, self.plan.seed, index)
        } else {
            drawn(subject, self.plan.seed, index)
        };
        (place, args)
    }

    /// The command that repeats a schedule as it was drawn.
    ///
    /// # Errors
    ///
    /// If there is no such run.
    pub fn line(&self, index: u64) -> Result<String, Failure> {
        let (place, args) = self.schedule(index);
        command(&self.subjects[place], &args, self.plan.processes)
    }

    /// Goes on until a limit is reached or the watcher has seen enough.
    ///
    /// # Errors
    ///
    /// If threads or processes cannot be had.
    pub fn run(&mut self, limits: Limits, watcher: Watcher<'_>) -> Result<(), Failure> {
        let (start, before) = (Instant::now(), self.done);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(limits.jobs.get()).build();
        let pool = pool.map_err(|error| Failure::World(format!("threads: {error}")))?;
        let batch = if self.plan.processes { 1 } else { BATCH };
        loop {
            let left = limits.runs.map_or(u64::MAX, |runs| runs.saturating_sub(self.done));
            let elapsed = start.elapsed();
            let (done, since) = (self.done, self.done - before);
            let bad = self.findings.iter().map(|it| it.times).sum();
            let goes_on = watcher(Progress { done, bad, since, elapsed }).is_continue();
            if left == 0 || !goes_on || limits.time.is_some_and(|time| elapsed >= time) {
                return Ok(());
            }
            let next = self.done..self.done.saturating_add(batch.min(left));
            let judged = pool.install(|| self.judged(next.clone()))?;
            let until = limits.time.and_then(|time| start.checked_add(time));
            self.enter(next, judged, until)?;
        }
    }

    /// What comes of these schedules, in their order.
    fn judged(&self, indices: std::ops::Range<u64>) -> Result<Vec<Judged>, Failure> {
        let one = |index| {
            let (place, args) = self.schedule(index);
            let subject = &self.subjects[place];
            if self.plan.processes {
                return processes::judge(subject, &args);
            }
            // No schedule that is drawn is refused: that would be a mistake here.
            judge(subject, &args).map_err(|failure| match failure {
                Failure::Usage(why) => {
                    Failure::Failed(format!("schedule {index} of {subject} is none: {why}"))
                }
                failure => failure,
            })
        };
        indices.into_par_iter().map(one).collect()
    }

    /// The smallest schedule that is wrong in the same way; between processes, that is found by
    /// then.
    fn shrunk(
        &self,
        subject: &Subject,
        args: RunArgs,
        judged: Judged,
        until: Option<Instant>,
    ) -> Result<(RunArgs, Judged), Failure> {
        let trials = if self.plan.processes {
            Trials {
                judge: &|args| processes::judge(subject, args),
                admits: &|args| processes::covers(subject, args),
                smaller: Trials::FEW,
                most: MOST_RUNS_OF_PROCESSES,
                until,
            }
        } else {
            Trials {
                judge: &|args| judge(subject, args),
                admits: &|args| {
                    let nodes = args.common.nodes;
                    admits(subject.survives(nodes), nodes, &args.faults)
                },
                smaller: Trials::ALL,
                most: MOST_RUNS,
                until: None,
            }
        };
        shrunk(subject, args, judged, trials)
    }

    /// Enters what came of these schedules, and shrinks what is new.
    fn enter(
        &mut self,
        indices: std::ops::Range<u64>,
        judged: Vec<Judged>,
        until: Option<Instant>,
    ) -> Result<(), Failure> {
        for (index, judged) in indices.zip(judged) {
            let (place, args) = self.schedule(index);
            self.counts[place].add(&judged);
            self.done += 1;
            if judged.verdict == Verdict::Fine {
                continue;
            }
            if let Some(known) = self.findings.iter_mut().find(|it| it.is_of(place, &judged)) {
                known.times += 1;
                continue;
            }
            let subject = &self.subjects[place];
            let (verdict, property) = (judged.verdict, judged.property.clone());
            let (args, judged) = self.shrunk(subject, args, judged, until)?;
            let line = command(subject, &args, self.plan.processes)?;
            let what = judged.what;
            self.findings.push(Finding {
                subject: place,
                index,
                verdict,
                property,
                what,
                line,
                times: 1,
            });
        }
        Ok(())
    }

    /// For programs.
    pub fn json(&self, elapsed: Duration) -> Value {
        let row = |(subject, counts): (&Subject, &Counts)| {
            let [fine, stuck, wrong] = counts.ended;
            json!({
                "subject": subject.to_string(),
                "algorithm": subject.entry.algorithm.about().name,
                "runs": counts.runs(),
                "fine": fine,
                "stuck": stuck,
                "unsafe": wrong,
                "faults": counts.faults,
                "events": counts.events,
            })
        };
        let finding = |it: &Finding| {
            json!({
                "subject": self.subjects[it.subject].to_string(),
                "schedule": it.index,
                "verdict": it.verdict.word(),
                "property": it.property,
                "what": it.what,
                "times": it.times,
                "command": it.line,
            })
        };
        json!({
            "seed": self.plan.seed,
            "nodes": [self.plan.nodes.start(), self.plan.nodes.end()],
            "processes": self.plan.processes,
            "schedules": self.done,
            "seconds": elapsed.as_secs_f64(),
            "subjects": self.subjects.iter().zip(&self.counts).map(row).collect::<Vec<_>>(),
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

/// The command that runs a schedule.
fn command(subject: &Subject, args: &RunArgs, processes: bool) -> Result<String, Failure> {
    let run = subject.entry.algorithm.run(args)?;
    let net = if processes { " --net --processes" } else { "" };
    Ok(format!("vorrang run {}{net} {}", run.about().name, run.options(processes)))
}
