//! `vorrang list`: the catalogue.

use serde_json::{Value, json};
use vorrang_experiment::catalogue::{CostRow, Costs, Entry, catalogue};
use vorrang_experiment::failure::Failure;
use vorrang_node::terminal::{print, wrapped};
use vorrang_protocol::Group;

use crate::output::{Format, print_csv, print_json};
use vorrang_terminal::table::table;

/// List every algorithm, with what it assumes and where it comes from
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    format: Format,
}

impl List {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let rows: Vec<Value> = catalogue().iter().map(row).collect();
        if self.format.json {
            return print_json(&Value::Array(rows));
        }
        if self.format.csv {
            return print_csv(&rows);
        }
        let header = ["NAME", "PROBLEM", "LINKS", "MESSAGES (N = 13)", "SOURCE"];
        let mut cells = vec![header.map(str::to_owned).to_vec()];
        for entry in catalogue() {
            let about = entry.algorithm.about();
            cells.push(vec![
                about.name.to_owned(),
                about.solves.to_owned(),
                about.assumes.in_short().to_owned(),
                messages(entry),
                about.citation.to_owned(),
            ]);
        }
        print(&table(&cells))?;
        print(&wrapped(
            "\n'vorrang explain NAME' tells how one works, and 'vorrang explain terms' what words \
             mean.\n",
        ))
    }
}

fn row(entry: &Entry) -> Value {
    let about = entry.algorithm.about();
    json!({
        "name": about.name,
        "title": about.title,
        "problem": about.problem,
        "solves": about.solves,
        "links": about.assumes.in_short(),
        "assumes": about.assumes.sentence(),
        "takes": about.takes.iter().map(|it| it.name()).collect::<Vec<_>>().join(" "),
        "citation": about.citation,
        "flaws": about.mistakes.iter().map(|it| it.name).collect::<Vec<_>>().join(" "),
    })
}

/// Messages at both ends of the contrast that its problem knows, in a group that quorums like too.
fn messages(entry: &Entry) -> String {
    let costs = entry.algorithm.costs(&entry.algorithm.about().assumes.setup(Group::of(13)));
    let Ok(Costs { ends, rows, .. }) = costs else { return String::new() };
    let Some(CostRow { of, spans: [one, other] }) = rows.iter().find(|row| !row.of.is_time) else {
        return String::new();
    };
    let [at_one, at_other] = ends.map(str::to_lowercase);
    let text =
        if one == other { one.clone() } else { format!("{one} {at_one}, {other} {at_other}") };
    // Where the literature counts something else, it is said what.
    if of.name.starts_with("messages") { text } else { format!("{}: {text}", of.name) }
}
