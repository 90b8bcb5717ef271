//! A run as a log of `ShiViz`, with vector clocks.
//!
//! An event takes two lines: its node and its clock, and what it is. The first two lines of the
//! file are what `ShiViz` is to be told: a regular expression, and what delimits executions, which
//! is nothing.

use crate::clocks::{counts, vectors};
use crate::story::Story;

/// The regular expression by which `ShiViz` reads the log.
pub const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

/// The log.
pub fn shiviz(story: &Story) -> String {
    let mut text = format!("{PARSER}\n\n");
    let hosts: Vec<String> = story.lanes.iter().map(|name| name.replace(' ', "")).collect();
    for (event, vector) in story.events.iter().zip(vectors(story)) {
        if !counts(&event.what) {
            continue;
        }
        let known = vector.iter().enumerate().filter(|(_, count)| **count > 0);
        let clock: Vec<String> =
            known.map(|(node, count)| format!("\"{}\":{count}", hosts[node])).collect();
        let said = story.says(event).replace('\n', " ");
        text += &format!("{} {{{}}}\n{said}\n", hosts[event.node], clock.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Event, MessageLabel, What};

    #[test]
    fn every_clock_grows_by_one_and_knows_its_causes() {
        let letter = MessageLabel {
            number: 1,
            kind: "A".to_owned(),
            text: "A(1)".to_owned(),
            is_token: false,
        };
        let at = |node, what| Event { at: 0, node, what, state: None };
        let lanes = vec!["node 0".to_owned(), "node 1".to_owned()];
        let events = vec![
            at(0, What::Sent { to: 1, letter: letter.clone() }),
            at(0, What::Choice(3)),
            at(1, What::Got { from: 0, letter }),
        ];
        let log = shiviz(&Story { lanes, events, ..Story::default() });
        let said: Vec<&str> = log.lines().skip(2).collect();
        assert_eq!(
            said,
            [
                "node0 {\"node0\":1}",
                "node 0 → node 1 A(1)",
                "node1 {\"node0\":1, \"node1\":1}",
                "node 1 ← node 0 A(1)",
            ]
        );
    }
}
