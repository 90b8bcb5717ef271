//! `vorrang clocks`: Lamport's clocks and vectors on a script of events.

use vorrang_algorithms::clock::Stamp;
use vorrang_experiment::clocks::{Script, concurrent, in_json, total_order};
use vorrang_experiment::failure::Failure;
use vorrang_node::terminal::{print, wrapped};

use crate::output::print_json;
use vorrang_terminal::table::table;

/// Show what logical clocks read in a script of events
///
/// A script says what happens at which node, one event after the other: `0 local`, `0 sends a to 1`
/// (or to 1,2: one event), `1 gets a`; with semicolons or ends of lines between them. `0 local 5`
/// are five. C is Lamport's clock by the rule of textbooks (count, then stamp the message), C' by
/// the rule that lectures print (stamp, then count), and the vector says on how many events of each
/// node an event depends. `vorrang draw clocks` draws the script.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang clocks '0 local; 0 sends a to 1; 1 gets a; 1 sends b to 2; 2 local 5; 2 gets b; \
    2 sends c to 0; 0 gets c'\n  \
    vorrang clocks script.txt --json\n  \
    vorrang draw clocks '1 sends a to 0; 0 gets a' --clocks lamport -o clocks.svg")]
pub(crate) struct Clocks {
    #[command(flatten)]
    of: OfScript,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OfScript {
    /// The events, or a file of them
    script: String,
}

impl OfScript {
    pub(crate) fn read(&self) -> Result<(Script, String), Failure> {
        let command = format!("clocks '{}'", self.script);
        Ok((Script::read(&self.script)?, command))
    }
}

impl Clocks {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (script, _) = self.of.read()?;
        if self.json { print_json(&in_json(&script)) } else { print(&text(&script)) }
    }
}

fn text(script: &Script) -> String {
    let readings = script.readings();
    let header = ["#", "NODE", "EVENT", "C", "SENT WITH", "C'", "SENT WITH", "VECTOR"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for (number, it) in (1..).zip(&readings) {
        let stamp = |stamp: Option<u64>| stamp.map_or(String::new(), |it| it.to_string());
        rows.push(vec![
            number.to_string(),
            it.node.to_string(),
            it.what.clone(),
            it.clock.to_string(),
            stamp(it.sent_with.map(|it| it.0)),
            it.late.to_string(),
            stamp(it.sent_with.map(|it| it.1)),
            it.vector.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        ]);
    }
    let mut text = table(&rows);
    let order = total_order(&readings);
    let shown = order.iter().map(|&place| {
        let Stamp { time, node } = Stamp::new(readings[place].clock, readings[place].node);
        format!("{} ({time},{node})", place + 1)
    });
    text += &wrapped(&format!(
        "\nTotal order of the events by (C, node): {}\n",
        shown.collect::<Vec<_>>().join(", ")
    ));
    if let Some((one, other)) = concurrent(&readings) {
        text += &wrapped(&format!(
            "\nEvents {} and {} are concurrent, as their vectors show, though {} < {}: a lower \
             clock does not mean a cause.\n",
            one + 1,
            other + 1,
            readings[one].clock,
            readings[other].clock
        ));
    }
    for (place, got, sent) in script.misplaced(&readings) {
        text += &wrapped(&format!(
            "\nBy C' event {} has the stamp ({},{}), before ({},{}) of the send that it depends \
             on: C' orders messages, and not events.\n",
            place + 1,
            got.time,
            got.node,
            sent.time,
            sent.node
        ));
    }
    text
}
