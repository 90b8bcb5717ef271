//! `vorrang report`: all that can be said of the algorithms of a problem, on one page to hand out.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rayon::prelude::*;
use vorrang_draw::spacetime::{self, Options};
use vorrang_draw::{Excerpt, Theme};
use vorrang_experiment::catalogue::{Entry, Run};
use vorrang_experiment::csv_rows::csv_row;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::grouped;
use vorrang_experiment::means::Row;
use vorrang_experiment::options::check::CheckArgs;
use vorrang_experiment::options::check_limits::CheckLimitArgs;
use vorrang_experiment::options::command_line::CommandLine;
use vorrang_experiment::options::mutex::LoadKind;
use vorrang_experiment::options::whom::Whom;
use vorrang_experiment::options::{RunArgs, SetupArgs, list};
use vorrang_experiment::plotting::{Points, Wanted, plot};
use vorrang_experiment::selection::Selection;
use vorrang_experiment::survive::{Conditions, MOST, Row as Survivor, Trials, strike, tries};
use vorrang_experiment::values::{WallTime, whole};
use vorrang_experiment::{lookup, story_from_trace};
use vorrang_protocol::NodeId;
use vorrang_sim::Distribution;
use vorrang_trace::Recording;

use crate::commands::compare::{cells, measured};
use crate::commands::draw::record;
use crate::commands::sweep::{figures, header};
use crate::output::{progress, show_after_a_second, with_bar};
use crate::page::{Cell, Page};
use crate::report_words::{columns, folded, idea};
use crate::search_progress::SearchProgress;
use crate::survive_report::{self, legend, summary};

/// Write an HTML report: a comparison, plots, a diagram of each algorithm, single faults,
/// verification results
///
/// One HTML file that needs nothing else, neither network nor scripts; it can be read on a phone,
/// where a row of a table becomes a card, and printed. Figures and tables are numbered, columns are
/// explained below their tables, and every part comes with the command that repeats it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang report --nodes 13 -o report.html\n  \
    vorrang report --problem election --nodes 8 -o elections.html\n  \
    vorrang report --algorithms lamport,ricart-agrawala,maekawa --nodes 7 -o three.html")]
pub(crate) struct Report {
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// How many nodes are compared, N
    #[arg(long, short, default_value_t = 13, value_parser = whole(2..=256_u32))]
    nodes: u32,
    /// Which problem: mutex, election, wave, detection, or a variant such as k-exclusion
    #[arg(long, value_name = "PROBLEM", default_value = "mutex")]
    problem: String,
    /// Which algorithms, separated by commas [default: those that solve the problem as it stands]
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// How many seeds for every point
    #[arg(long, default_value_t = 3, value_parser = whole(1..=100_u64))]
    seeds: u64,
    /// How long each algorithm is checked at most, in seconds; 0 leaves that out
    #[arg(long, default_value_t = 10, value_parser = whole(0..=86_400_u64))]
    check: u64,
    /// How many nodes the runs have that single faults strike; 0 leaves that out
    #[arg(long, value_name = "NODES", default_value_t = 4, value_parser = whole(0..=20_u32))]
    survive: u32,
}

/// Entries of runs that are measured, and of those that are drawn.
const MEASURED: u64 = 1_000;
const DRAWN: u64 = 4;
/// Nodes of runs that are drawn, and of those that are checked.
const DRAWN_NODES: u32 = 4;
const CHECKED_NODES: u32 = 3;
/// Latencies of runs that are drawn: no two messages arrive at once.
const LATENCY: Distribution = Distribution::Uniform(500_000, 1_500_000);

impl Report {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        // A file that cannot be written is no surprise for the end.
        fs::write(&self.output, "").map_err(|error| Failure::at(&self.output, error))?;
        let entries = lookup::algorithms(&self.algorithms, Some(&self.problem))?;
        let first = entries.first().map(|entry| entry.algorithm.about());
        let title = first.map_or("", |about| about.problem_title);
        let mut page = Page::new(&format!("Vorrang: {title}, {} nodes", self.nodes));
        page.paragraph(&format!(
            "{} written once as a state machine and run here in a simulator and in a model \
             checker. Times are in T, the mean latency of a message. Every figure comes with the \
             command that repeats it; version {}.",
            match entries.len() {
                1 => "One algorithm,".to_owned(),
                many => format!("{many} algorithms, each of them"),
            },
            env!("CARGO_PKG_VERSION")
        ));
        let mut parts =
            vec![("comparison", "Comparison"), ("plots", "Plots"), ("diagrams", "The algorithms")];
        parts.extend((self.survive > 0).then_some(("faults", "Single faults")));
        parts.extend((self.check > 0).then_some(("verification", "Verification")));
        page.links(&parts);
        self.comparison(&mut page)?;
        self.plots(&mut page)?;
        diagrams(&mut page, &entries)?;
        if self.survive > 0 {
            self.faults(&mut page, &entries)?;
        }
        if self.check > 0 {
            self.verification(&mut page, &entries)?;
        }
        let page = page.finish();
        fs::write(&self.output, page).map_err(|error| Failure::at(&self.output, error))
    }

    fn is_mutex(&self) -> bool {
        self.problem == "mutex"
    }

    /// What is compared, with so many nodes: as values, and as it would be typed after a command.
    fn selection(&self, sizes: &[u32]) -> (Selection, Vec<RunArgs>, CommandLine) {
        let mut line = CommandLine::new("");
        line.option("nodes", list(sizes));
        let mut options = RunArgs::default();
        if self.is_mutex() {
            options.mutex.entries = MEASURED.max(20 * u64::from(self.nodes));
            line.option("entries", options.mutex.entries);
        } else {
            line.option("problem", &self.problem);
        }
        // Those that were named and cannot be asked by several at once are not compared.
        let fit = self.algorithms.iter().filter(|name| !is_one_at_a_time(name));
        let mut algorithms: Vec<String> = fit.cloned().collect();
        if algorithms.is_empty() {
            // Why none of those that were named can be compared is said when they are run.
            algorithms.clone_from(&self.algorithms);
        }
        if !algorithms.is_empty() {
            line.option("algorithms", algorithms.join(","));
        }
        line.option("seeds", self.seeds);
        let problem = (!self.is_mutex()).then(|| self.problem.clone());
        let of_size = |&nodes: &u32| {
            let mut options = options.clone();
            options.common.nodes = nodes;
            options
        };
        let points = sizes.iter().map(of_size).collect();
        (Selection { algorithms, problem, seeds: self.seeds }, points, line)
    }

    /// Those that were named and are neither compared nor plotted, in a sentence each.
    fn left_out(&self) -> Vec<String> {
        let left = self.algorithms.iter().filter(|name| is_one_at_a_time(name));
        let left: Vec<&String> = left.collect();
        if left.len() == self.algorithms.len() {
            // Then they are compared after all, and why not is said there.
            return Vec::new();
        }
        let sentence = |name: &&String| {
            format!(
                "Left out of comparison and plots: {name} assumes that requests come one at a time."
            )
        };
        left.iter().map(sentence).collect()
    }

    fn comparison(&self, page: &mut Page) -> Result<(), Failure> {
        let (selection, points, line) = self.selection(&[self.nodes]);
        let selected = selection.runs(&points, |algorithm| Some(algorithm.contrast()))?;
        let rows = measured(&selected.runs)?;
        page.part("comparison", "Comparison");
        let all: Vec<&Row> = rows.iter().collect();
        page.paragraph(&below_means(&cells(&all).0.concat().concat()));
        let mut titles: Vec<&str> = Vec::new();
        for row in &rows {
            if !titles.contains(&&*row.page) {
                titles.push(&row.page);
            }
        }
        let mut explained = Vec::new();
        for title in titles {
            let of_page: Vec<&Row> = rows.iter().filter(|row| row.page == title).collect();
            page.heading(title);
            let (cells, groups) = cells(&of_page);
            let caption =
                "measured, and below what the theory says; fewest of the first column first.";
            page.table(caption, &folded(&cells, &groups), &[]);
            let words = columns(&of_page);
            if words != explained {
                page.words(&words);
                explained = words;
            }
        }
        for sentence in selected.left_out.iter().chain(&self.left_out()) {
            page.paragraph(sentence);
        }
        page.command(&format!("vorrang compare{line}"));
        Ok(())
    }

    fn plots(&self, page: &mut Page) -> Result<(), Failure> {
        let mut sizes: Vec<u32> = vec![2, 3, 4, 6, 8, 13, 21, 32, 64, 128];
        sizes.retain(|&it| it < self.nodes);
        sizes.push(self.nodes);
        let (selection, points, line) = self.selection(&sizes);
        let selected = selection.runs(&points, |_| None)?;
        let runs: Vec<&dyn Run> = selected.runs.iter().flatten().map(|run| &**run).collect();
        let header = header(&runs)?;
        let bar = progress(runs.len() as u64, "{bar:40} {pos} of {len} points, {left} left");
        let one = |run: &&dyn Run| {
            let row = csv_row(&header, &figures(&run.simulate(None, None)?));
            bar.inc(1);
            show_after_a_second(&bar);
            Ok(row)
        };
        let rows = runs.par_iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
        bar.finish_and_clear();
        page.part("plots", "Plots");
        let file = "sweep.csv";
        page.command(&format!("vorrang sweep{line} --csv {file}"));
        for y in self.plotted() {
            let points = Points::new(&header, rows.iter().map(Vec::as_slice).collect());
            let wanted = Wanted { y: Some((*y).to_owned()), ..Wanted::default() };
            // Quantities that a problem does not measure are not plotted.
            let Ok(picture) = plot(&points, &wanted) else { continue };
            page.picture(&picture.svg(Theme::Auto), &format!("{}.", picture.title));
            page.command(&format!("vorrang plot {file} --y {y} -o {y}.svg"));
        }
        Ok(())
    }

    /// The plotted quantities.
    fn plotted(&self) -> &'static [&'static str] {
        const OF_LOCKS: [&str; 4] =
            ["messages_per_entry", "sync_delay_mean", "response_mean", "throughput"];
        if self.is_mutex() { &OF_LOCKS } else { &["messages", "duration", "detection_mean"] }
    }

    /// What a single fault does to each.
    fn faults(&self, page: &mut Page, entries: &[&'static Entry]) -> Result<(), Failure> {
        page.part("faults", "Single faults");
        let under = Conditions {
            nodes: self.survive,
            setup: SetupArgs::default(),
            seed: 1,
            seeds: 1,
            reliable: false,
            on_views: false,
            every_moment: false,
            most: MOST,
        };
        let (mut trials, mut left_out) = (Vec::new(), Vec::new());
        for one in entries.par_iter().map(|it| Trials::new(it, &under)).collect::<Vec<_>>() {
            match one {
                Ok(one) => trials.push(one),
                Err(Failure::Usage(why)) => left_out.push(format!("Left out: {why}.")),
                Err(failure) => return Err(failure),
            }
        }
        let template = "{bar:40} {human_pos} of {human_len} runs, {left} left";
        let rows = with_bar(tries(&trials), template, |told| strike(trials, told))?;
        page.paragraph(&summary(&rows, &under));
        let all: Vec<&Survivor> = rows.iter().collect();
        let cells = survive_report::cells(&all, false);
        let cells: Vec<Vec<Cell>> =
            cells.into_iter().map(|row| row.into_iter().map(Cell::from).collect()).collect();
        page.table("the worst that a single fault does.", &cells, &[]);
        for paragraph in legend(&rows).split("\n\n") {
            page.words(&explained(paragraph));
        }
        for sentence in &left_out {
            page.paragraph(sentence);
        }
        let names: Vec<&str> = entries.iter().map(|it| it.algorithm.about().name).collect();
        let names = names.join(",");
        let nodes = self.survive;
        page.command(&format!("vorrang survive --algorithms {names} --nodes {nodes} --seeds 1"));
        Ok(())
    }

    fn verification(&self, page: &mut Page, entries: &[&'static Entry]) -> Result<(), Failure> {
        page.part("verification", "Verification");
        page.paragraph(&format!(
            "Every interleaving of {CHECKED_NODES} nodes, for at most {} each. Verified \
             means that all states were explored without a violation; bounded, that no violation \
             was found within the time; violated, that there is a counterexample, which is drawn \
             below. Some algorithms are in the catalogue because they fail.",
            match self.check {
                1 => "one second".to_owned(),
                seconds => format!("{} seconds", grouped(seconds)),
            }
        ));
        let head = ["ALGORITHM", "OUTCOME", "STATES", "WHAT WAS CHECKED"];
        let mut rows = vec![head.map(str::to_owned).map(Cell::from).to_vec()];
        let mut add = |cells: [String; 4]| rows.push(cells.map(Cell::from).to_vec());
        let (mut commands, mut pictures) = (Vec::new(), Vec::new());
        for entry in entries {
            let name = entry.algorithm.about().name;
            let args = check_args(self.check);
            let query = match entry.correct.question(&args) {
                Ok(query) => query,
                Err(Failure::Usage(why)) => {
                    add([name.to_owned(), "–".to_owned(), String::new(), why]);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            commands.push(query.line.to_string());
            let answer = (query.answer)(&mut SearchProgress::new(false).watch());
            let checked = match &answer.violation {
                Some((property, what)) => format!("{property}: {what}"),
                None => answer.properties.join(", "),
            };
            add([name.to_owned(), answer.outcome.to_owned(), grouped(answer.states), checked]);
            if let Some(recorded) = answer.recorded {
                let run = recorded.into();
                pictures.push((name, drawn(&run)?));
            }
        }
        let caption = format!("what was verified, of {CHECKED_NODES} nodes.");
        page.table(&caption, &rows, &[3]);
        page.command(&commands.join("\n"));
        for (name, picture) in pictures {
            page.picture(&picture, &format!("the counterexample of {name}."));
        }
        Ok(())
    }
}

/// Whether an algorithm may get stuck when several ask.
fn is_one_at_a_time(name: &str) -> bool {
    lookup::algorithm(name).is_ok_and(|entry| entry.algorithm.about().assumes.one_at_a_time)
}

/// What stands below a mean, with the signs that are in the tables.
fn below_means(text: &str) -> String {
    const SIGNS: [(char, &str); 3] = [
        ('✓', "✓ where it predicts a value and the measured mean meets it"),
        ('○', "○ where it gives a range and the mean lies within"),
        ('✗', "✗ where the two disagree"),
    ];
    let found: Vec<&str> =
        SIGNS.iter().filter(|(sign, _)| text.contains(*sign)).map(|it| it.1).collect();
    match &found[..] {
        [] => "The theory says nothing of these runs.".to_owned(),
        all => format!("Below every mean stands what the theory says: {}.", all.join(", ")),
    }
}

/// The lines of a legend: a word and, after two spaces or more, what it means; else a sentence.
fn explained(legend: &str) -> Vec<(String, String)> {
    let line = |line: &str| match line.split_once("  ") {
        Some((word, means)) => (word.trim().to_owned(), means.trim().to_owned()),
        None => (String::new(), line.to_owned()),
    };
    legend.lines().filter(|it| !it.is_empty()).map(line).collect()
}

/// A recorded run as a picture, without heartbeats that drown the rest.
fn drawn(run: &Recording) -> Result<String, Failure> {
    let story = story_from_trace::story(run, false)?;
    let story = Excerpt::usual(&story).of(story);
    Ok(spacetime::svg(&story, &Options::default()))
}

/// A short run of each.
fn diagrams(page: &mut Page, entries: &[&'static Entry]) -> Result<(), Failure> {
    page.part("diagrams", "The algorithms");
    page.paragraph("Each with a short run: a line a node, time to the right.");
    for entry in entries {
        let about = entry.algorithm.about();
        let mut line = format!("--nodes {DRAWN_NODES} --latency {LATENCY}");
        let mut args = RunArgs::default();
        (args.common.nodes, args.common.latency) = (DRAWN_NODES, Some(LATENCY));
        if about.problem == "mutex" {
            args.mutex.entries = DRAWN;
            line += &format!(" --entries {DRAWN}");
            if about.assumes.one_at_a_time {
                args.mutex.load = LoadKind::Light;
                line += " --load light";
            } else {
                args.mutex.think = Distribution::Constant(2_000_000);
                line += &format!(" --think {}", args.mutex.think);
            }
        } else if ["multicast", "group"].contains(&about.problem) {
            args.multicast.multicasts = Some(DRAWN);
            line += &format!(" --multicasts {DRAWN}");
        } else if about.problem == "detection" {
            args.faults.crash = vec![(Whom::Node(NodeId(2)), 12_000_000)];
            args.lasting.lasting = Some(Duration::from_millis(30));
            line += " --crash 2@12ms --for 30ms";
        }
        page.heading(&format!("{}: {}", about.name, about.title));
        page.paragraph(&idea(&about.text()));
        page.paragraph(&format!("Source: {}.", about.citation.trim_end_matches('.')));
        let run = match entry.algorithm.run(&args) {
            Ok(run) => run,
            // It needs another set-up than the others.
            Err(Failure::Usage(why)) => {
                page.paragraph(&format!("Not drawn: {why}."));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let caption = format!("a run of {} with {DRAWN_NODES} nodes.", about.name);
        page.picture(&drawn(&record(&*run, false)?)?, &caption);
        page.command(&format!("vorrang draw run {} {line} -o {}.svg", about.name, about.name));
    }
    Ok(())
}

fn check_args(seconds: u64) -> CheckArgs {
    let time = Some(WallTime(Duration::from_secs(seconds)));
    let limits = CheckLimitArgs { time, ..CheckLimitArgs::default() };
    CheckArgs { nodes: Some(CHECKED_NODES), limits, ..CheckArgs::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_explained_where_they_occur() {
        assert!(below_means("2 ✓ 3 ✗").ends_with("meets it, ✗ where the two disagree."));
        assert!(!below_means("2 ✓").contains(['○', '✗']));
        assert!(!below_means("2").contains("Below every mean"));
    }
}
