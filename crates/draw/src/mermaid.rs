//! A run as a sequence diagram of Mermaid.

use crate::chart::{Chart, Fate};
use crate::story::{Bar, Story, What};

/// The diagram. Mermaid knows no slanted arrows: a message stands where it arrives.
pub fn mermaid(story: &Story) -> String {
    let chart = Chart::of(story);
    let mut text = format!("---\ntitle: {}\n---\nsequenceDiagram\n", quoted(&story.title));
    for (node, name) in story.lanes.iter().enumerate() {
        text += &format!("    participant n{node} as {}\n", plain(name));
    }
    let mut inside = vec![false; story.lanes.len()];
    for (place, event) in story.events.iter().enumerate() {
        let node = event.node;
        let remark = |said: &str| format!("    Note over n{node}: {}\n", plain(said));
        match &event.what {
            What::Said { text: said, look, .. } => {
                let enters = matches!(look.bar, Some(Bar::Filled(_)));
                if inside[node] && look.bar.is_some() {
                    text += &format!("    deactivate n{node}\n");
                    inside[node] = false;
                }
                text += &remark(said);
                if enters {
                    text += &format!("    activate n{node}\n");
                    inside[node] = true;
                }
            }
            What::Got { from, letter } => {
                let arrow = if letter.is_token { "->>" } else { "-)" };
                text += &format!("    n{from}{arrow}n{node}: {}\n", plain(&letter.text));
            }
            What::Sent { to, letter } => {
                let fate = chart.arrows.iter().find(|it| it.event == place).map(|it| it.fate);
                if let Some(Fate::Lost(_) | Fate::TooLate(_)) = fate {
                    text += &format!("    n{node}-xn{to}: {}\n", plain(&letter.text));
                }
            }
            What::Timer(timer) => text += &remark(&format!("timer {timer}")),
            What::Crash => {
                if inside[node] {
                    text += &format!("    deactivate n{node}\n");
                    inside[node] = false;
                }
                text += &remark("crashes");
            }
            What::Restart => text += &remark("restarts"),
            What::Pause => text += &remark("pauses"),
            What::Resume => text += &remark("resumes"),
            What::Network { text: said, begins } => {
                let last = story.lanes.len().saturating_sub(1);
                let over = if *begins { plain(said) } else { format!("no more: {}", plain(said)) };
                text += &format!("    Note over n0,n{last}: {over}\n");
            }
            What::Remark(_) | What::Choice(_) | What::Lost { .. } | What::Doubled { .. } => {}
        }
    }
    if let Some(wrong) = &story.wrong {
        let last = story.lanes.len().saturating_sub(1);
        text += &format!("    Note over n0,n{last}: {}\n", plain(&wrong.what));
    }
    text
}

/// Text in which nothing means anything to Mermaid.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            ';' => out.push(','),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '\n' | '\r' => out.push(' '),
            it => out.push(it),
        }
    }
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
