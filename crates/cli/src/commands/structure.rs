//! `vorrang structure`: an information structure, judged, with what it costs.

use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::structure::Structures;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::figure;
use vorrang_experiment::options::quorums;
use vorrang_experiment::structure::{MOST_MEASURED, Report};
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{BAD, GOOD, RESET, print, wrapped};
use vorrang_protocol::{Group, NodeId};

use crate::output::print_json;
use vorrang_terminal::table::table;

/// Analyse an information structure: whom each node asks before it enters, and whom it informs when
/// it has left
///
/// Sanders' algorithm (`vorrang explain sanders`) works with any structure in which of any two
/// nodes both inform a common one, or each asks the other and informs itself. Shown are the sets of
/// every node (R, whom it asks; I, whom it informs; St, who informs it), the bounds on the messages
/// of an entry, the synchronisation delay D between any two nodes, and beside them what was
/// measured in the simulator. `vorrang draw structure` draws it. Exit code 1 if it is not safe.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang structure sets:0-1/0,0-1/1,0-1-2,0-1-3\n  \
    vorrang structure ricart-agrawala --nodes 5\n  \
    vorrang structure maekawa --quorum plane --nodes 7 --json\n  \
    vorrang draw structure sets:0-1/0,0-1/1,0-1-2,0-1-3 -o example.svg")]
pub(crate) struct Structure {
    #[command(flatten)]
    of: OfStructure,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Which structure, of how many nodes.
#[derive(Debug, clap::Args)]
pub(crate) struct OfStructure {
    /// central, lamport, ricart-agrawala, maekawa, or sets:0-1/0,0-1/1,0-1-2: for every node whom
    /// it asks and, after a slash, whom it informs if that is not the same
    structure: String,
    /// How many nodes, N [default: as many as the structure or its quorum system says, or 4]
    #[arg(long, short, value_parser = whole(1..=1_000_u32))]
    nodes: Option<u32>,
    /// The quorum system of maekawa, as `vorrang quorum` has it [default: the plane if there is one
    /// of so many nodes, else the grid]
    #[arg(long, value_name = "SYSTEM")]
    quorum: Option<String>,
}

impl OfStructure {
    /// The structure, its group and its quorums.
    pub(crate) fn read(&self) -> Result<(Structures, Group, Quorums), Failure> {
        let structure: Structures = self.structure.parse().map_err(Failure::Usage)?;
        let said = self.quorum.as_deref().map(|text| quorums(text, "")).transpose()?;
        if said.is_some() && structure != Structures::Maekawa {
            return Err(Failure::usage(format!(
                "--quorum is for the structure maekawa, not for {}",
                structure.in_short()
            )));
        }
        let own = said.as_ref().and_then(Quorums::nodes);
        let group = Group::of(self.nodes.or(structure.nodes()).or(own).unwrap_or(4));
        Ok((structure, group, said.unwrap_or_else(|| Setup::new(group).quorum)))
    }

    /// As it would be typed.
    pub(crate) fn typed(&self, group: Group) -> String {
        let quorum = self.quorum.as_ref().map_or(String::new(), |it| format!(" --quorum {it}"));
        format!("structure {} --nodes {}{quorum}", self.structure, group.size())
    }
}

/// Matrices of more nodes are not printed.
const MOST_LISTED: usize = 32;

impl Structure {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (structure, group, quorums) = self.of.read()?;
        let report = Report::new(&structure, group, &quorums)?;
        if self.json {
            print_json(&report.json())?;
        } else {
            print(&self.text(group, &report))?;
        }
        if report.unsafe_because.is_none() { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    fn text(&self, group: Group, report: &Report) -> String {
        let mut text = wrapped(&format!("vorrang {}\n", self.of.typed(group))) + "\n";
        let size = report.sets.len();
        if size > MOST_LISTED {
            text += &wrapped(&format!(
                "Of more than {MOST_LISTED} nodes the sets are not listed here: see --json.\n\n"
            ));
        } else {
            text += &table(&nodes(report));
            text += "\n";
        }
        text += &wrapped(&match &report.unsafe_because {
            None => format!(
                "{GOOD}safe{RESET}: of any two nodes both inform a common one, or each asks the \
                 other and informs itself\n"
            ),
            Some(why) => format!("{BAD}not safe{RESET}: {why}\n"),
        });
        if size <= MOST_LISTED {
            text += &wrapped(
                "\nSynchronisation delay D in T, from the exit of a node (row) to the entry of one \
                 that waits (column), at most:\n\n",
            );
            let published = report.published();
            text += &table(&matrix(&published, ToString::to_string));
        }
        let Some(measured) = &report.measured else {
            if report.unsafe_because.is_none() {
                text += &wrapped(&format!(
                    "\nMore than {MOST_MEASURED} nodes are not measured here: see `vorrang run \
                     sanders`.\n"
                ));
            }
            return text;
        };
        text += "\nMeasured, if nobody else wants in:\n\n";
        text += &table(&matrix(&measured.delays, |it| figure(*it)));
        text += &remarks(report);
        if let Some(mean) = measured.saturated {
            text += &wrapped(&format!(
                "\nMessages an entry if all nodes always want in: {}\n",
                figure(mean)
            ));
        }
        text
    }
}

/// A line a node.
fn nodes(report: &Report) -> Vec<Vec<String>> {
    let list = |nodes: &mut dyn Iterator<Item = NodeId>| {
        nodes.map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
    };
    let mut header = vec!["NODE", "R: ASKS", "I: INFORMS", "St: INFORMED BY", "MESSAGES"];
    if report.measured.is_some() {
        header.push("MEASURED ALONE");
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for (place, sets) in report.sets.iter().enumerate() {
        let (least, most) = report.bounds[place];
        let mut row = vec![
            place.to_string(),
            list(&mut sets.asks.iter().copied()),
            list(&mut sets.informs.iter().copied()),
            list(&mut report.informed_by[place].iter()),
            format!("{least}…{most}"),
        ];
        row.extend(report.measured.as_ref().map(|it| it.alone[place].to_string()));
        rows.push(row);
    }
    rows
}

fn matrix<T>(all: &[Vec<T>], show: impl Fn(&T) -> String) -> Vec<Vec<String>> {
    let header = std::iter::once(String::new()).chain((0..all.len()).map(|it| it.to_string()));
    let row = |(place, row): (usize, &Vec<T>)| {
        std::iter::once(place.to_string()).chain(row.iter().map(&show)).collect()
    };
    std::iter::once(header.collect()).chain(all.iter().enumerate().map(row)).collect()
}

/// Why what is measured differs from D.
fn remarks(report: &Report) -> String {
    let pairs = || {
        let all = report.published().into_iter().flatten();
        all.zip(report.expected().into_iter().flatten()).collect::<Vec<_>>()
    };
    let mut text = String::new();
    if pairs().iter().any(|(published, exact)| exact < published) {
        text += &wrapped(
            "\nLess than D where the node that both inform is one of the two: a message less.\n",
        );
    }
    if let Some((from, to, third)) = report.longer() {
        text += &wrapped(&format!(
            "\nMore than D from {from} to {to}: node {from} informs node {third}, which node {to} \
             asks and does not inform, so that its permission takes two messages. D looks only at \
             nodes that both inform.\n"
        ));
    }
    text
}
