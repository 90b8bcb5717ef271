//! `vorrang explain`: an algorithm's card, in the words of its own file.

use vorrang_algorithms::card::About;
use vorrang_experiment::catalogue::{CostRow, Costs, catalogue};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::options::SetupArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{BOLD, RESET, length, print, screen, wrap, wrapped};

use crate::prose::{idea_and_use, readable};
use vorrang_terminal::table::table;

/// The glossary of figures and verdicts.
const TERMS_PAGE: &str = include_str!("../terms.md");
/// Theories count messages in numbers that hold the square of this.
const MOST_NODES: u32 = 10_000;
/// Its name as an argument.
pub(crate) const TERMS: &str = "terms";
/// An opening is made for lines of this width, and is no wider where nothing says how wide it may
/// be.
const WIDTH: usize = 80;
/// So many lines of it are for the idea, and so many for the costs.
const IDEA: usize = 4;
const COSTS: usize = 2;

/// Explain one algorithm in ten lines: idea, costs, when to use it
///
/// With --all: the whole page, with messages, assumptions, why it is safe and live, what differs
/// from the paper, and known mistakes. `vorrang explain terms` explains the words that are used
/// everywhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang explain ricart-agrawala\n  \
    vorrang explain maekawa --all --nodes 31\n  \
    vorrang explain terms")]
pub(crate) struct Explain {
    /// Which algorithm, as `vorrang list` calls it; or `terms`
    algorithm: Option<String>,
    /// Print the whole page
    #[arg(long)]
    all: bool,
    /// The number of nodes to give costs for
    #[arg(long, short, default_value_t = 13, value_parser = whole(1..=MOST_NODES))]
    nodes: u32,
    #[command(flatten)]
    setup: ExplicitArgs<SetupArgs>,
}

impl Explain {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let name = match self.algorithm.as_deref() {
            None => {
                let names = catalogue().iter().map(|entry| entry.algorithm.about().name);
                let names: Vec<&str> = names.chain([TERMS]).collect();
                return print(&wrapped(&format!("Explain which? {}\n", names.join(", "))));
            }
            Some(TERMS) => return print(&readable(TERMS_PAGE)),
            Some(name) => name,
        };
        let algorithm = &*lookup::algorithm(name)?.algorithm;
        let about = algorithm.about();
        self.setup.check_fit(&[&about])?;
        let setup = self.setup.args.setup(&about, self.nodes)?;
        let costs = algorithm.costs(&setup)?;
        if !self.all {
            return print(&opening(&about, &costs, screen().unwrap_or(WIDTH)));
        }
        let title = wrapped(&format!("{BOLD}{}{RESET}\n", about.title));
        print(&format!("{title}\n{}\n", readable(&about.text())))?;
        print(&format!("{}\n", table(&costs.cells())))?;
        print(&flaws(&about))
    }
}

/// What it is, what it costs and when to use it: ten lines at most where there is room.
fn opening(about: &About, costs: &Costs, width: usize) -> String {
    let [idea, used] = idea_and_use(&about.text());
    let parts = [beginning(&idea), priced(costs), used];
    let lines = parts.iter().flat_map(|part| wrap(part, width));
    let title = format!("{BOLD}{}{RESET} ({})", about.title, about.solves);
    let rest = format!("The rest: vorrang explain {} --all", about.name);
    let lines = wrap(&title, width).into_iter().chain(lines).chain(wrap(&rest, width));
    lines.map(|line| line + "\n").collect()
}

/// As many whole sentences as there are lines for, and at least one.
fn beginning(text: &str) -> String {
    let is_end = |&(at, _): &(usize, char)| {
        let rest = text[at..].strip_prefix(". ").or_else(|| text[at..].strip_prefix(": "));
        rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
    };
    let ends: Vec<usize> =
        text.char_indices().filter(is_end).map(|(at, _)| at + 1).chain([text.len()]).collect();
    let fits = |end: &&usize| wrap(&text[..**end], WIDTH).len() <= IDEA;
    let end = ends.iter().rev().find(fits).or(ends.first()).copied().unwrap_or(0);
    text[..end].to_owned()
}

/// The costs in a sentence, as many as there are lines for.
fn priced(Costs { common, ends, rows }: &Costs) -> String {
    // In tables these are headers.
    let common: Vec<String> = common.split(' ').map(lowered).collect();
    let mut text = format!("Costs with {}:", common.join(" "));
    let [at_one, at_other] = ends.map(str::to_lowercase);
    for (index, CostRow { of, spans: [one, other] }) in rows.iter().enumerate() {
        let both = if one == other {
            one.clone()
        } else {
            let ends = [(one, &at_one), (other, &at_other)];
            let known = ends.iter().filter(|(span, _)| *span != "–");
            known.map(|(span, at)| format!("{span} {at}")).collect::<Vec<_>>().join(", ")
        };
        let comma = if index == 0 { "" } else { ";" };
        let longer = format!("{text}{comma} {} {both}", of.name);
        if both == "–" {
            continue;
        }
        if wrap(&longer, WIDTH).len() > COSTS || length(&longer) + 1 > COSTS * WIDTH {
            break;
        }
        text = longer;
    }
    text + "."
}

/// A word of a header as it stands in a sentence; signs such as T and options stay as they are.
fn lowered(word: &str) -> String {
    let letters = word.chars().filter(|it| it.is_alphabetic()).count();
    let is_shouted = letters > 1 && !word.chars().any(char::is_lowercase);
    if is_shouted || word == "A" { word.to_lowercase() } else { word.to_owned() }
}

fn flaws(about: &About) -> String {
    let (name, mistakes) = (about.name, &about.mistakes);
    let Some(first) = mistakes.first() else { return String::new() };
    let mut rows = vec![vec!["KNOWN MISTAKES".to_owned(), "WHAT IS WRONG".to_owned()]];
    rows.extend(mistakes.iter().map(|flaw| vec![flaw.name.to_owned(), flaw.what.to_owned()]));
    let see = format!("\nSee one happen: vorrang check {name} --flaw {}\n", first.name);
    format!("{}{}", table(&rows), wrapped(&see))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lowered_and_signs_are_not() {
        let header = "--nodes 13, 100 BEATS, T = 1ms, A CRASH";
        let words: Vec<String> = header.split(' ').map(lowered).collect();
        assert_eq!(words.join(" "), "--nodes 13, 100 beats, T = 1ms, a crash");
    }

    #[test]
    fn no_word_of_any_opening_is_a_header() {
        for entry in catalogue() {
            let algorithm = &*entry.algorithm;
            let about = algorithm.about();
            let setup = SetupArgs::default().setup(&about, 13).expect("13 fit all");
            let Ok(costs) = algorithm.costs(&setup) else { continue };
            let priced = priced(&costs);
            let is_shouted = |word: &&str| {
                word.len() > 2 && word.chars().all(|it| it.is_ascii_uppercase() || it == ',')
            };
            let shouted: Vec<&str> = priced.split(' ').filter(is_shouted).collect();
            assert!(shouted.is_empty(), "{}: {shouted:?} in {priced}", about.name);
        }
    }
}
