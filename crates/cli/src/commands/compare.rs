//! `vorrang compare`: every algorithm on one workload, measured beside theory.

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Card, Setting, Span};

use crate::failure::Failure;
use crate::lookup;
use crate::measured::Measured;
use crate::output::{
    BAD, Format, GOOD, RESET, figure, markdown, print, print_csv, print_json, progress,
    show_after_a_second, table, table_width,
};
use crate::simulate::simulate_quietly;
use crate::statistics::Estimate;
use crate::workload::{LoadKind, Scenario, ScenarioArgs, name, span};

/// Compare algorithms on the same workloads and seeds, measured beside theory
///
/// Without --algorithms: all that solve plain mutual exclusion. Times are in units of T, the mean
/// latency. A tick says that the measured mean lies in the range that the theory gives.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang compare --nodes 13\n  \
    vorrang compare --nodes 31 --load heavy --seeds 10 --latency exp:2ms\n  \
    vorrang compare --hot 3 --algorithms ricart-agrawala,carvalho-roucairol\n  \
    vorrang compare --algorithms all --markdown")]
pub(crate) struct Compare {
    /// Which algorithms, separated by commas, or `all`
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// How many seeds, counted from --seed; more than one gives 95 % confidence intervals
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    markdown: bool,
}

impl Compare {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let cards = lookup::cards(&self.algorithms)?;
        let loads = match &self.scenario.load[..] {
            [] => vec![LoadKind::Heavy, LoadKind::Light],
            loads => loads.to_vec(),
        };
        let (scenarios, left_out) = self.scenarios(&cards, &loads)?;
        let rows = measure(&scenarios)?;
        if self.format.json {
            print_json(&rows.iter().map(Row::json).collect())?;
        } else if self.format.csv {
            print_csv(&rows.iter().map(Row::json).collect::<Vec<_>>())?;
        } else {
            for load in loads {
                print(&self.page(load, &rows))?;
            }
            for note in left_out {
                print(&format!("{note}\n"))?;
            }
        }
        if rows.iter().all(Row::is_fine) { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    /// For each algorithm and load, one scenario a seed. An algorithm that the network does not
    /// suit is left out with a sentence, unless it was asked for by name.
    fn scenarios(
        &self,
        cards: &[&'static Card],
        loads: &[LoadKind],
    ) -> Result<(Vec<Vec<Scenario>>, Vec<String>), Failure> {
        let (mut scenarios, mut left_out) = (Vec::new(), Vec::new());
        for &load in loads {
            for card in cards {
                let first = self.scenario.fixed.seed;
                let seeds = first..first.saturating_add(self.seeds);
                let of_seed = |seed| self.scenario.scenario(card, load, seed);
                match seeds.map(of_seed).collect::<Result<Vec<_>, Failure>>() {
                    Ok(of_seeds) => scenarios.push(of_seeds),
                    Err(Failure::Usage(why)) if self.algorithms.is_empty() && cards.len() > 1 => {
                        left_out.push(format!("Left out under {} load: {why}.", name(&load)));
                    }
                    Err(failure) => return Err(failure),
                }
            }
        }
        if scenarios.is_empty() {
            return Err(Failure::Usage(left_out.join("\n")));
        }
        Ok((scenarios, left_out))
    }

    /// The options; the order of messages only if it was given, for otherwise each algorithm has
    /// the one that it assumes.
    fn without_assumed_order(&self, scenario: &Scenario) -> String {
        let order = format!(" --order {}", name(&scenario.order));
        let options = scenario.options();
        if self.scenario.fixed.order.is_some() { options } else { options.replace(&order, "") }
    }

    /// The table of one load, fewest messages first.
    fn page(&self, load: LoadKind, rows: &[Row]) -> String {
        let mut rows: Vec<&Row> = rows.iter().filter(|row| row.scenario.load == load).collect();
        let Some(first) = rows.first() else { return String::new() };
        let title = format!(
            "{} load: {}{}",
            name(&load),
            self.without_assumed_order(&first.scenario),
            if self.seeds > 1 { format!(" --seeds {}", self.seeds) } else { String::new() }
        );
        let messages = |row: &Row| row.estimate(Measured::messages).map_or(0.0, |it| it.mean);
        rows.sort_by(|a, b| messages(a).total_cmp(&messages(b)));
        let header = [
            "ALGORITHM",
            "MESSAGES",
            "THEORY",
            "",
            "DELAY/T",
            "THEORY",
            "",
            "RESPONSE/T",
            "THEORY",
            "",
            "PER T",
            "BYTES",
            "LOAD",
            "FAIR",
            "OVERT.",
        ];
        let mut cells = vec![header.map(str::to_owned).to_vec()];
        cells.extend(rows.iter().map(|row| row.cells()));
        if self.markdown {
            return format!("{title}\n\n{}\n", markdown(&cells));
        }
        let text = if table_width(&cells) <= WIDTH {
            table(&cells)
        } else {
            // Too wide for one table: what has a theory, and then the rest.
            let left: Vec<_> = cells.iter().map(|row| row[..COMPARED].to_vec()).collect();
            let right = |row: &Vec<String>| [&row[..1], &row[COMPARED..]].concat();
            let right: Vec<_> = cells.iter().map(right).collect();
            table(&left) + "\n" + &table(&right)
        };
        let text =
            text.replace('✓', &format!("{GOOD}✓{RESET}")).replace('✗', &format!("{BAD}✗{RESET}"));
        let wrong: String = rows.iter().filter_map(|row| row.complaint()).collect();
        format!("{title}\n\n{text}{wrong}\n")
    }
}

/// What fits on a screen and on a slide.
const WIDTH: usize = 100;

/// How many columns, the name included, are about what has a theory.
const COMPARED: usize = 10;

/// A figure of a run.
type Figure = fn(&Measured) -> Option<f64>;

/// What the theory says of it.
type Cost = fn(&Setting) -> Span;

/// Runs everything on all cores, with a bar if it takes long.
fn measure(scenarios: &[Vec<Scenario>]) -> Result<Vec<Row>, Failure> {
    let runs = scenarios.iter().map(Vec::len).sum::<usize>() as u64;
    let bar = progress(runs, "{bar:40} {pos} of {len} runs, {eta} left");
    let row = |of_seeds: &Vec<Scenario>| {
        let one = |scenario: &Scenario| {
            let measured = simulate_quietly(scenario);
            bar.inc(1);
            show_after_a_second(&bar);
            measured
        };
        let runs = of_seeds.par_iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Row { scenario: of_seeds[0].clone(), runs })
    };
    let rows = scenarios.par_iter().map(row).collect();
    bar.finish_and_clear();
    rows
}

/// One algorithm under one load, over all seeds.
struct Row {
    scenario: Scenario,
    runs: Vec<Measured>,
}

impl Row {
    /// Nothing was wrong, and every mean is where the theory says.
    fn is_fine(&self) -> bool {
        let theory = &self.scenario.card.theory;
        let agrees = |figure: Figure, cost: Cost| {
            let estimate = self.estimate(figure);
            self.theory(cost).zip(estimate).is_none_or(|(theory, it)| theory.agrees_with(it.mean))
        };
        self.runs.iter().all(Measured::is_fine)
            && agrees(Measured::messages, theory.messages)
            && agrees(Measured::sync_delay, theory.sync_delay)
            && agrees(Measured::response, theory.response)
    }

    fn estimate(&self, figure: impl Fn(&Measured) -> Option<f64>) -> Option<Estimate> {
        let samples: Vec<f64> = self.runs.iter().filter_map(figure).collect();
        Estimate::of(&samples)
    }

    fn theory(&self, cost: Cost) -> Option<Span> {
        self.scenario.setting().map(|setting| cost(&setting))
    }

    fn cells(&self) -> Vec<String> {
        let theory = &self.scenario.card.theory;
        let mut cells = vec![self.scenario.card.name.to_owned()];
        self.compared(&mut cells, Measured::messages, theory.messages);
        self.compared(&mut cells, Measured::sync_delay, theory.sync_delay);
        self.compared(&mut cells, Measured::response, theory.response);
        for figure in [Measured::throughput, Measured::bytes, Measured::busiest, Measured::fairness]
        {
            cells.push(show(self.estimate(figure)));
        }
        cells.push(show(self.estimate(Measured::overtakings)));
        cells
    }

    fn compared(&self, cells: &mut Vec<String>, figure: Figure, cost: Cost) {
        let (estimate, theory) = (self.estimate(figure), self.theory(cost));
        cells.push(show(estimate));
        cells.push(theory.map_or(String::new(), span));
        cells.push(match (estimate, theory) {
            (Some(estimate), Some(theory)) if theory.agrees_with(estimate.mean) => "✓".to_owned(),
            (Some(_), Some(_)) => "✗".to_owned(),
            (_, None) | (None, _) => String::new(),
        });
    }

    /// What was wrong with a run, if anything was.
    fn complaint(&self) -> Option<String> {
        let run = self.runs.iter().find(|run| !run.is_fine())?;
        let what = run.violation.as_deref().unwrap_or("the run did not come to rest");
        let (name, seed) = (self.scenario.card.name, run.scenario.seed);
        Some(format!("{BAD}{name}, seed {seed}: {what}{RESET}\n"))
    }

    fn json(&self) -> Value {
        let scenario = &self.scenario;
        let theory = &scenario.card.theory;
        let mut row = Map::new();
        row.insert("algorithm".to_owned(), json!(scenario.card.name));
        row.insert("load".to_owned(), json!(name(&scenario.load)));
        row.insert("nodes".to_owned(), json!(scenario.nodes()));
        row.insert("contenders".to_owned(), json!(scenario.contenders()));
        row.insert("entries".to_owned(), json!(scenario.entries));
        row.insert("seed".to_owned(), json!(scenario.seed));
        row.insert("seeds".to_owned(), json!(self.runs.len()));
        let compared: [(&str, Figure, Cost); 3] = [
            ("messages_per_entry", Measured::messages, theory.messages),
            ("sync_delay_mean", Measured::sync_delay, theory.sync_delay),
            ("response_mean", Measured::response, theory.response),
        ];
        for (key, figure, cost) in compared {
            let estimate = self.estimate(figure);
            let theory = self.theory(cost);
            self.insert(&mut row, key, figure);
            row.insert(format!("{key}_theory_low"), json!(theory.map(|it| it.low)));
            row.insert(format!("{key}_theory_typical"), json!(theory.and_then(|it| it.typical)));
            row.insert(format!("{key}_theory_high"), json!(theory.map(|it| it.high)));
            let agrees = theory.zip(estimate).map(|(theory, it)| theory.agrees_with(it.mean));
            row.insert(format!("{key}_agrees"), json!(agrees));
        }
        let plain: [(&str, Figure); 5] = [
            ("throughput", Measured::throughput),
            ("bytes_per_entry", Measured::bytes),
            ("load_max_per_entry", Measured::busiest),
            ("fairness", Measured::fairness),
            ("overtakes", Measured::overtakings),
        ];
        for (key, figure) in plain {
            self.insert(&mut row, key, figure);
        }
        row.insert("safe".to_owned(), json!(self.runs.iter().all(|run| run.safe)));
        row.insert("quiescent".to_owned(), json!(self.runs.iter().all(|run| run.quiescent)));
        Value::Object(row)
    }

    fn insert(&self, row: &mut Map<String, Value>, key: &str, figure: Figure) {
        let estimate = self.estimate(figure);
        row.insert(key.to_owned(), json!(estimate.map(|it| it.mean)));
        row.insert(format!("{key}_ci95"), json!(estimate.and_then(|it| it.half_width)));
    }
}

/// A mean as text, with its error if that is known and not nothing.
fn show(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate { mean, half_width: Some(error) }) if error >= 0.0005 => {
            format!("{}±{}", figure(mean), figure(error))
        }
        Some(Estimate { mean, .. }) => figure(mean),
    }
}
