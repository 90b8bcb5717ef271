//! `vorrang explain`: an algorithm's card, in the words of its own file.

use std::mem;

use vorrang_algorithms::card::{Card, Load, Setting};

use crate::failure::Failure;
use crate::lookup;
use crate::output::{BOLD, RESET, print, table};
use crate::workload::span;

/// Explain one algorithm: idea, messages, costs, assumptions, known mistakes
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    /// The number of nodes to give costs for
    #[arg(long, default_value_t = 13, value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
}

impl Explain {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let card = lookup::card(&self.algorithm)?;
        print(&format!("{BOLD}{}{RESET}\n\n{}\n", card.title, readable(&card.text())))?;
        print(&costs(card, self.nodes))?;
        print(&flaws(card))
    }
}

/// Module documentation as plain text: without the marks of Markdown that a terminal does not show,
/// its tables aligned.
fn readable(text: &str) -> String {
    let mut readable = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("```")) {
        if line.starts_with("| ---") {
            continue;
        }
        if let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
            rows.push(cells.split(" | ").map(plain).collect());
            continue;
        }
        readable.push_str(&table(&mem::take(&mut rows)));
        readable.push_str(&plain(line));
        readable.push('\n');
    }
    readable + &table(&rows)
}

fn plain(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

fn costs(card: &Card, nodes: u32) -> String {
    let row = |what: &str, unit: &str, cost: &dyn Fn(Load) -> String| {
        vec![what.to_owned(), cost(Load::Light) + unit, cost(Load::Heavy) + unit]
    };
    let at = |load| Setting::new(card, nodes, load);
    let theory = &card.theory;
    let header = format!("COSTS WITH N = {nodes}, E = 0");
    let rows = [
        vec![header, "ONE AT A TIME".to_owned(), "SATURATION".to_owned()],
        row("messages per entry", "", &|load| span((theory.messages)(&at(load)))),
        row("synchronisation delay", " T", &|load| span((theory.sync_delay)(&at(load)))),
        row("response time", " T", &|load| span((theory.response)(&at(load)))),
        row("busiest node handles", "", &|load| span((theory.busiest)(&at(load)))),
    ];
    table(&rows) + "\n"
}

fn flaws(card: &Card) -> String {
    let Some(first) = card.flaws.first() else { return String::new() };
    let mut rows = vec![vec!["KNOWN MISTAKES".to_owned(), "WHAT IS WRONG".to_owned()]];
    rows.extend(card.flaws.iter().map(|flaw| vec![flaw.name.to_owned(), flaw.what.to_owned()]));
    format!("{}\nSee one happen: vorrang check {} --flaw {}\n", table(&rows), card.name, first.name)
}
