//! The display of a stepped run.

use std::fmt::Write as _;

use vorrang_experiment::problem::{Glance as Look, NodeLook};
use vorrang_experiment::state_table::table;
use vorrang_node::state_text;
use vorrang_node::terminal::{BOLD, DIM, RESET, screen};

/// Lines of a list that is shown unasked.
pub(super) const FEW: usize = 20;
/// The width of a terminal, if it is unknown.
pub(super) const WIDTH: usize = 80;

/// Further commands.
pub(super) const HINT: &str = "or: crash 0, lose 0->1, duplicate 0->1, undo, check, help";
/// What Ctrl-C says.
pub(super) const KEPT: &str = "The run is kept. quit or Ctrl-D ends it, save FILE writes it.";

pub(super) const HELP: &str = "\
What happens next, by its number in the list or in words:
  acquire 0        the application at node 0 asks; see the list for others
  deliver 0->1     the oldest message from 0 to 1 arrives
  deliver 0->1 R   the oldest one that begins with R
  lose 0->1        it never arrives
  duplicate 0->1   it arrives, and will arrive again
  timer 2 Answer   a timer of node 2 runs out
  crash 2          node 2 goes down, with its timers
  restart 2        it restarts
  settle           all messages arrive, oldest first
  rest             nothing more will happen: is the state correct?
  choose 1 0       what the next step is answered if it chooses
  # ...            a remark, kept in the script
Besides:
  undo [N]         take back the last step, or N
  redo [N]         take them again
  state            all nodes, messages and timers; what the last step
                   has changed has a star before it
  state --json     the same for programs, in one line
  next             all that can happen next
  history          the script so far
  save FILE        write the script and its answers; save! overwrites
  load FILE        play a script instead, or a golden run by its name,
                   then go on
  draw FILE        the run so far as a picture: run.svg, and whatever
                   'vorrang draw --help' says, such as --states
  diagram          the run so far, here; diagram off leaves out the one
                   beside the list, on, ascii and unicode bring it back
  check            what could go wrong from here? The checker looks at
                   all that can follow if each node makes one more
                   request (--requests N, --max-states N, --crashes N,
                   --losses N, ...: as 'vorrang check --help' says)
  random [N] [SEED]  N random steps
  quit             or end the input (Ctrl-D). Ctrl-C ends a search and
                   gives up a line, and keeps the run
On a terminal lines can be edited with the usual keys, and the arrows
up and down bring back those before.
";

/// The possible next steps, numbered.
pub(super) fn next(options: &[String], most: usize) -> String {
    let mut text = String::new();
    for (number, line) in (1..).zip(options).take(most) {
        let _ = writeln!(text, "{BOLD}{number:>4}{RESET}  {line}");
    }
    if let Some(more @ 1..) = options.len().checked_sub(most) {
        let _ = writeln!(text, "      {DIM}and {more} more: next{RESET}");
    }
    text
}

/// Nodes, messages and timers. What the last step has changed has a star before it.
pub(super) fn state(Look { nodes, flight, timers }: &Look, width: usize) -> String {
    let label = |it: &NodeLook| format!("node {}{}", it.node, if it.up { "" } else { " (down)" });
    let rows: Vec<_> = nodes.iter().map(|it| (label(it), &it.state, Some(&it.before))).collect();
    let mut text = state_text::text(&table(&rows), width);
    for (title, list) in [("in flight", flight), ("timers", timers)] {
        let shown = if list.is_empty() { "none".to_owned() } else { list.join("; ") };
        wrap(&mut text, title, &shown, width);
    }
    text
}

/// How many columns the terminal has.
pub(super) fn terminal_width() -> usize {
    screen().unwrap_or(WIDTH).max(20)
}

/// A title and words, in as many lines as it takes.
fn wrap(text: &mut String, title: &str, words: &str, columns: usize) {
    const MARGIN: usize = 11;
    let mut column = MARGIN;
    let _ = write!(text, "{BOLD}{title:<MARGIN$}{RESET}");
    for (index, word) in words.split(' ').enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > columns {
            let _ = write!(text, "\n{:MARGIN$}", "");
            column = MARGIN;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::{NodeId, NodeState, StateValue};

    use super::*;

    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_state_keeps_within_the_width() {
        let node = |id: u32, up, queue: usize| {
            let queue = StateValue::list(0..queue as u64);
            let state = NodeState::new().with("queue", queue).with("phase", "outside");
            NodeLook { node: NodeId(id), up, before: state.clone(), state }
        };
        let nodes = vec![node(0, true, 100), node(1, false, 1)];
        let look = Look { nodes, flight: vec!["0 -> 1 A".to_owned()], timers: Vec::new() };
        for width in [40, WIDTH] {
            let text = bare(&state(&look, width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.contains("node 1 (down)") && text.contains("98 99"), "{text}");
            assert!(text.ends_with("in flight  0 -> 1 A\ntimers     none\n"), "{text}");
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let options: Vec<String> = (0..5).map(|it| format!("step {it}")).collect();
        assert_eq!(
            bare(&next(&options, 2)),
            "   1  step 0\n   2  step 1\n      and 3 more: next\n"
        );
        assert!(!next(&options, 5).contains("more"));
        assert!(HELP.lines().all(|line| line.len() < 80));
    }
}
