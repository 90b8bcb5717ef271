//! The margins of a space-time diagram: heading, times, caption, state changes.

use crate::layout::Layout;
use crate::state_table::{PieceKind, StateTable};
use crate::story::{Clock, Event, Story, What};
use crate::svg::{Svg, width, wrap, wrap_mono};
use crate::words::{duration, round_step};

pub(crate) fn heading(svg: &mut Svg, story: &Story, layout: &Layout) -> f64 {
    svg.text((20.0, 30.0), "h", &story.title);
    let mut y = 32.0;
    for line in wrap_mono(&story.command, 10.5, layout.width() - 40.0) {
        y += 15.0;
        svg.text((20.0, y), "s m mono", &line);
    }
    y + 18.0
}

/// The events of nodes, numbered from 1.
pub(crate) fn listed(story: &Story) -> impl Iterator<Item = (usize, &Event)> {
    let has_line = |event: &&Event| match event.what {
        What::Said { is_command, .. } => is_command,
        What::Got { .. } | What::Timer(_) | What::Crash | What::Restart => true,
        _ => false,
    };
    (1..).zip(story.events.iter().filter(has_line))
}

/// The times below a row; the unit of steps below the last.
pub(crate) fn axis(svg: &mut Svg, layout: &Layout, is_last: bool) -> f64 {
    let y = layout.bottom() + 4.0;
    svg.line((layout.left - 6.0, y), (layout.right() + 10.0, y), "ax");
    let long = (layout.end - layout.begin) as f64;
    let wanted = long / (layout.span / 96.0);
    let step = match layout.clock {
        Clock::Nanoseconds => round_step(wanted).max(1.0),
        Clock::Steps => round_step(long / (layout.span / 30.0)).max(1.0),
    } as u64;
    let step = step.max(1);
    for at in (layout.begin.next_multiple_of(step)..=layout.end).step_by(step as usize) {
        let x = layout.x(at);
        svg.line((x, y), (x, y + 4.0), "ax");
        let text = match layout.clock {
            Clock::Nanoseconds if at == 0 => "0".to_owned(),
            Clock::Nanoseconds => duration(at),
            Clock::Steps => at.to_string(),
        };
        svg.text((x, y + 16.0), "s c m", &text);
    }
    if layout.clock == Clock::Steps && is_last {
        svg.text((layout.left - 14.0, y + 16.0), "s e m", "step");
    }
    y + 26.0
}

/// The caption: what went wrong, and which node waits for which.
pub(crate) fn caption(
    svg: &mut Svg,
    sentences: &[(String, bool)],
    layout: &Layout,
    mut y: f64,
) -> f64 {
    let mut say = |text: &str, class: &str| {
        for line in wrap(text, 12.0, (layout.width() - 40.0).min(900.0)) {
            y += 17.0;
            svg.text((20.0, y), class, &line);
        }
    };
    for (text, is_bad) in sentences {
        say(text, if *is_bad { "t wt b" } else { "t" });
    }
    y + 6.0
}

/// The state changes of events, a line each; then the states at the end.
pub(crate) fn states(svg: &mut Svg, story: &Story, layout: &Layout, mut y: f64) -> f64 {
    y += 10.0;
    let room = layout.width() - 40.0;
    let indent = 64.0;
    for (number, event) in listed(story) {
        y += 15.0;
        svg.text((48.0, y), "s e m", &number.to_string());
        svg.text((indent, y), "s b", &story.says(event));
        let said = width(&story.says(event), 10.5) * 1.12 + 14.0;
        let state = event.state.as_deref().unwrap_or("nothing changes");
        let begin = indent + said;
        let lines = wrap_mono(state, 10.5, (room + 10.0 - begin).max(200.0));
        for (place, line) in lines.iter().enumerate() {
            y += if place > 0 { 14.0 } else { 0.0 };
            svg.text((begin, y), "s m mono", line);
        }
    }
    match &story.states {
        None => y + 8.0,
        Some(table) => at_the_end(svg, table, layout, y),
    }
}

/// The states of all nodes: a row each, and a column for each variable.
fn at_the_end(svg: &mut Svg, table: &StateTable, layout: &Layout, mut y: f64) -> f64 {
    const LETTER: f64 = 10.5 * 0.62;
    y += 24.0;
    svg.text((20.0, y), "t b", "At the end");
    y += 4.0;
    let room = (layout.width() - 40.0) / LETTER;
    for line in table.lines(room as usize) {
        y += if line.is_empty() { 7.0 } else { 15.0 };
        for piece in line {
            let class = match piece.kind {
                PieceKind::Name => "s b",
                PieceKind::Value | PieceKind::NewValue => "s m mono",
            };
            svg.text((20.0 + piece.column as f64 * LETTER, y), class, &piece.text);
        }
    }
    y + 8.0
}
