//! `vorrang explain`: an algorithm's card, in the words of its own file.

use vorrang_algorithms::card::About;
use vorrang_experiment::catalogue::catalogue;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::options::SetupArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{BOLD, RESET, print, wrapped};

use crate::prose::readable;
use crate::table::table;

/// The glossary of figures and verdicts.
const TERMS_PAGE: &str = include_str!("../terms.md");
/// Theories count messages in numbers that hold the square of this.
const MOST_NODES: u32 = 10_000;
/// Its name as an argument.
pub(crate) const TERMS: &str = "terms";

/// Explain one algorithm: idea, messages, costs, assumptions, known mistakes
///
/// `vorrang explain terms` explains the words that are used everywhere.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Which algorithm, as `vorrang list` calls it; or `terms`
    algorithm: Option<String>,
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
        let costs = algorithm.costs(&setup)?.cells();
        print(&format!("{BOLD}{}{RESET}\n\n{}\n", about.title, readable(&about.text())))?;
        print(&format!("{}\n", table(&costs)))?;
        print(&flaws(&about))
    }
}

fn flaws(about: &About) -> String {
    let (name, mistakes) = (about.name, &about.mistakes);
    let Some(first) = mistakes.first() else { return String::new() };
    let mut rows = vec![vec!["KNOWN MISTAKES".to_owned(), "WHAT IS WRONG".to_owned()]];
    rows.extend(mistakes.iter().map(|flaw| vec![flaw.name.to_owned(), flaw.what.to_owned()]));
    format!("{}\nSee one happen: vorrang check {name} --flaw {}\n", table(&rows), first.name)
}
