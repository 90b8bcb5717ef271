//! `vorrang explain`: an algorithm's card, in the words of its own file.

use std::mem;

use vorrang_algorithms::card::About;

use crate::failure::Failure;
use crate::lookup;
use crate::options::{Given, SetupArgs};
use crate::output::{BOLD, RESET, print, table};

/// Explain one algorithm: idea, messages, costs, assumptions, known mistakes
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    /// The number of nodes to give costs for
    #[arg(long, short, default_value_t = 13, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    #[command(flatten)]
    setup: Given<SetupArgs>,
}

impl Explain {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let algorithm = &*lookup::algorithm(&self.algorithm)?.algorithm;
        let about = algorithm.about();
        self.setup.check_fit(&[&about])?;
        let setup = self.setup.args.setup(&about, self.nodes)?;
        print(&format!("{BOLD}{}{RESET}\n\n{}\n", about.title, readable(&about.text())))?;
        print(&format!("{}\n", table(&algorithm.costs(&setup))))?;
        print(&flaws(&about))
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

fn flaws(about: &About) -> String {
    let (name, mistakes) = (about.name, &about.mistakes);
    let Some(first) = mistakes.first() else { return String::new() };
    let mut rows = vec![vec!["KNOWN MISTAKES".to_owned(), "WHAT IS WRONG".to_owned()]];
    rows.extend(mistakes.iter().map(|flaw| vec![flaw.name.to_owned(), flaw.what.to_owned()]));
    format!("{}\nSee one happen: vorrang check {name} --flaw {}\n", table(&rows), first.name)
}
