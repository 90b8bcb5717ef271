//! `vorrang list`: the catalogue.

use serde_json::{Value, json};
use vorrang_algorithms::card::{Card, Load, Order, Setting};
use vorrang_algorithms::registry::CARDS;

use crate::failure::Failure;
use crate::output::{Format, print, print_csv, print_json, table};
use crate::workload::span;

/// List every algorithm, with what it assumes and where it comes from
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    format: Format,
}

impl List {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let rows: Vec<Value> = CARDS.iter().map(|card| row(card)).collect();
        if self.format.json {
            return print_json(&Value::Array(rows));
        }
        if self.format.csv {
            return print_csv(&rows);
        }
        let header = ["NAME", "PROBLEM", "LINKS", "MESSAGES (N = 13)", "SOURCE"];
        let mut cells = vec![header.map(str::to_owned).to_vec()];
        for card in CARDS {
            cells.push(vec![
                card.name.to_owned(),
                card.problem.to_owned(),
                links(card.order).to_owned(),
                messages(card),
                card.citation.to_owned(),
            ]);
        }
        print(&table(&cells))?;
        print("\n'vorrang explain NAME' tells how one works.\n")
    }
}

fn row(card: &Card) -> Value {
    json!({
        "name": card.name,
        "title": card.title,
        "problem": card.problem,
        "links": links(card.order),
        "citation": card.citation,
        "flaws": card.flaws.iter().map(|flaw| flaw.name).collect::<Vec<_>>(),
    })
}

const fn links(order: Order) -> &'static str {
    match order {
        Order::Fifo => "FIFO",
        Order::Any => "any order",
    }
}

/// Messages per entry under light and heavy load, in a group that quorums like too.
fn messages(card: &Card) -> String {
    let at = |load| span((card.theory.messages)(&Setting::new(card, 13, load)));
    let (light, heavy) = (at(Load::Light), at(Load::Heavy));
    if light == heavy { light } else { format!("{light} light, {heavy} heavy") }
}
