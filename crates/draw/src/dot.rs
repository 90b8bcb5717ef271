//! A run for Graphviz: events as points on the lines of their nodes, messages between them; and the
//! wait-for graph.

use std::fmt::Write as _;

use crate::chart::{Chart, Fate};
use crate::clocks::counts;
use crate::story::{Story, What};

/// The order of events: what happened before what.
pub fn dot(story: &Story) -> String {
    let chart = Chart::of(story);
    let mut text = format!(
        "digraph {{\n  label={}\n  rankdir=LR\n  node [shape=point, width=0.08]\n  edge \
         [arrowsize=0.6]\n",
        quoted(&story.title)
    );
    for (node, lane) in story.lanes.iter().enumerate() {
        let mut last = format!("n{node}");
        let _ = writeln!(text, "  {last} [shape=plaintext, label={}]", quoted(lane));
        let own = story.events.iter().enumerate().filter(|(_, it)| it.node == node);
        for (place, event) in own.filter(|(_, it)| counts(&it.what)) {
            let this = format!("e{place}");
            match &event.what {
                What::Said { text: said, .. } => {
                    let _ = writeln!(text, "  {this} [xlabel={}]", quoted(said));
                }
                What::Crash => {
                    let _ = writeln!(text, "  {this} [color=red, xlabel=crash]");
                }
                _ => {}
            }
            let _ = writeln!(text, "  {last} -> {this} [weight=100, arrowhead=none]");
            last = this;
        }
    }
    for arrow in chart.arrows.iter().filter(|it| it.fate == Fate::Arrived) {
        let (Some(got), What::Sent { letter, .. }) =
            (arrow.arrival, &story.events[arrow.event].what)
        else {
            continue;
        };
        let wide = if arrow.is_token { ", penwidth=2" } else { "" };
        let label = quoted(&letter.text);
        let _ = writeln!(text, "  e{} -> e{got} [label={label}, color=blue{wide}]", arrow.event);
    }
    text + "}\n"
}

/// Text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
