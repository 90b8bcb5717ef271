//! A run for a terminal: a column a node, a line an event, in as many columns as there are.

use std::fmt::Write as _;

use crate::captions;
use crate::chart::Chart;
use crate::state_table::PieceKind;
use crate::story::{Bar, Event, Mark, Story, What};

/// The colours of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// States of nodes, and notices.
    Strong,
    /// A message.
    Message,
    /// A token.
    Token,
    /// Violations and faults.
    Bad,
    /// Secondary text.
    Dim,
}

/// Narrower than this a column says nothing.
const NARROWEST: usize = 12;

/// Draws a run in so many columns, coloured by `paint`: columns side by side if they fit, else a
/// line an event.
pub fn text(story: &Story, columns: usize, paint: &dyn Fn(Paint, &str) -> String) -> String {
    let chart = Chart::of(story);
    let stamp = story.events.iter().map(|it| story.when(it.at).chars().count()).max().unwrap_or(1);
    let lanes = story.lanes.len().max(1);
    let column = columns.saturating_sub(stamp + 2) / lanes;
    let mut out = String::new();
    if column >= NARROWEST {
        side_by_side(story, (stamp, column.min(30)), paint, &mut out);
    } else {
        one_below_the_other(story, (stamp, columns), paint, &mut out);
    }
    if let Some(states) = &story.states {
        out.push('\n');
        out += &states.text(columns, &|kind, text| match kind {
            PieceKind::Name => paint(Paint::Strong, text),
            PieceKind::Value | PieceKind::NewValue => text.to_owned(),
        });
    }
    let explained =
        story.explained(|it| story.has(it)).into_iter().map(|it| (it.to_owned(), false));
    for (sentence, is_bad) in captions::of(story, &chart).into_iter().chain(explained) {
        out.push('\n');
        for line in folded(&sentence, columns) {
            let line = if is_bad { paint(Paint::Bad, &line) } else { line };
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn side_by_side(
    story: &Story,
    (stamp, column): (usize, usize),
    paint: &dyn Fn(Paint, &str) -> String,
    out: &mut String,
) {
    let mut line = format!("{:stamp$}  ", "");
    for (node, name) in story.lanes.iter().enumerate() {
        let is_last = node + 1 == story.lanes.len();
        let cell = if is_last { cut(name, column) } else { fitted(name, column) };
        line += &paint(Paint::Strong, &cell);
    }
    let _ = writeln!(out, "{line}");
    let mut inside: Vec<char> = vec!['│'; story.lanes.len()];
    let mut last = None;
    for event in &story.events {
        let (what, how) = said(story, event);
        let shown = story.when(event.at);
        let at = if last == Some(event.at) { String::new() } else { shown };
        last = Some(event.at);
        let mut line = paint(Paint::Dim, &format!("{at:>stamp$}  "));
        enter(&mut inside, event);
        for (node, bar) in inside.iter().enumerate() {
            let (text, how) = if node == event.node {
                (what.clone(), how)
            } else {
                (bar.to_string(), Paint::Dim)
            };
            let is_last = node + 1 == inside.len();
            let cell = if is_last { cut(&text, column) } else { fitted(&text, column) };
            line += &paint(how, &cell);
        }
        let _ = writeln!(out, "{line}");
        if let Some(state) = &event.state {
            let whole = column * story.lanes.len();
            let indent = stamp + 4 + (event.node * column).min(whole / 2);
            for line in folded(state, (stamp + 2 + whole).saturating_sub(indent)) {
                let _ = writeln!(out, "{:indent$}{}", "", paint(Paint::Dim, &line));
            }
        }
    }
}

/// The state of a node, as a vertical line.
fn enter(inside: &mut [char], event: &Event) {
    match &event.what {
        What::Said { look, .. } => match look.bar {
            Some(Bar::Filled(_)) => inside[event.node] = '█',
            Some(Bar::Outlined(_)) => inside[event.node] = '║',
            Some(Bar::Ends) => inside[event.node] = '│',
            None => {}
        },
        What::Crash => inside[event.node] = ' ',
        What::Restart => inside[event.node] = '│',
        _ => {}
    }
}

fn one_below_the_other(
    story: &Story,
    (stamp, columns): (usize, usize),
    paint: &dyn Fn(Paint, &str) -> String,
    out: &mut String,
) {
    let names = story.lanes.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    for event in &story.events {
        let (what, how) = said(story, event);
        let at = paint(Paint::Dim, &format!("{:>stamp$}  ", story.when(event.at)));
        let name = paint(Paint::Strong, &format!("{:names$}  ", story.lanes[event.node]));
        let room = columns.saturating_sub(stamp + names + 4).max(8);
        let _ = writeln!(out, "{at}{name}{}", paint(how, &cut(&what, room)));
        if let Some(state) = &event.state {
            for line in folded(state, columns.saturating_sub(stamp + 4).max(8)) {
                let _ = writeln!(out, "{:stamp$}    {}", "", paint(Paint::Dim, &line));
            }
        }
    }
}

/// The event, as its own node would describe it.
fn said(story: &Story, event: &Event) -> (String, Paint) {
    let lane = |node: usize| {
        story.lanes.get(node).map_or("?", String::as_str).trim_start_matches("node ").to_owned()
    };
    let of = |is_token: bool| if is_token { Paint::Token } else { Paint::Message };
    match &event.what {
        What::Said { text, look, .. } => {
            let sign = match look.mark {
                Some(Mark::Star(_)) => "★ ",
                Some(Mark::Warns(_)) => "⚠ ",
                Some(Mark::Flag(_)) => "⚑ ",
                Some(Mark::Begins(_) | Mark::Diamond(_)) | None => "",
            };
            (format!("{sign}{text}"), Paint::Strong)
        }
        What::Sent { to, letter } => {
            (format!("→{} {}", lane(*to), letter.text), of(letter.is_token))
        }
        What::Got { from, letter } => {
            (format!("←{} {}", lane(*from), letter.text), of(letter.is_token))
        }
        What::Timer(timer) => (format!("timer {timer}"), Paint::Dim),
        What::Choice(value) => (format!("draws {value}"), Paint::Dim),
        What::Lost { to, why, .. } => (format!("✗ →{} {why}", lane(*to)), Paint::Bad),
        What::Doubled { to, .. } => (format!("→{} twice", lane(*to)), Paint::Bad),
        What::Crash => ("✗ crashes".to_owned(), Paint::Bad),
        What::Restart => ("restarts".to_owned(), Paint::Bad),
        What::Pause => ("pauses".to_owned(), Paint::Bad),
        What::Resume => ("resumes".to_owned(), Paint::Bad),
        What::Network { text, begins } => {
            (if *begins { text.clone() } else { format!("no more: {text}") }, Paint::Bad)
        }
        What::Remark(text) => (text.clone(), Paint::Bad),
    }
}

/// Text in exactly so many columns.
fn fitted(text: &str, column: usize) -> String {
    format!("{:column$}", cut(text, column - 1))
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Look, MessageLabel};

    fn story() -> Story {
        let letter = MessageLabel {
            number: 1,
            kind: "REQUEST".to_owned(),
            text: "REQUEST(1, with much to say that fits no column)".to_owned(),
            is_token: false,
        };
        let ask = What::Said {
            text: "acquire".to_owned(),
            is_command: true,
            look: Look::bar(Bar::Outlined("waits")),
        };
        let at = |at, node, what, state: &str| Event {
            at,
            node,
            what,
            state: Some(state.to_owned()).filter(|it| !it.is_empty()),
        };
        Story {
            lanes: (0..4).map(|it| format!("node {it}")).collect(),
            events: vec![
                at(0, 0, ask, &"clock: 1 → 2, ".repeat(9)),
                at(0, 0, What::Sent { to: 3, letter: letter.clone() }, ""),
                at(1_500_000, 3, What::Got { from: 0, letter }, "clock: 2"),
                at(2_000_000, 1, What::Crash, ""),
            ],
            wrong: Some(crate::story::Wrong { at: None, what: "it waits ".repeat(30) }),
            ..Story::default()
        }
    }

    #[test]
    fn lines_keep_within_any_width() {
        for columns in [40, 60, 80, 200] {
            let shown = text(&story(), columns, &|_, it| it.to_owned());
            let widest = shown.lines().map(|it| it.chars().count()).max().unwrap_or(0);
            assert!(widest <= columns, "{widest} in {columns}:\n{shown}");
            assert!(shown.contains("acquire") && shown.contains("crashes"), "{shown}");
        }
    }

    #[test]
    fn whoever_waits_is_seen_further_down() {
        let shown = text(&story(), 100, &|_, it| it.to_owned());
        let lines: Vec<&str> = shown.lines().collect();
        let crash = lines.iter().find(|it| it.contains("crashes")).expect("a line");
        assert!(crash.contains('║'), "{shown}");
    }
}
