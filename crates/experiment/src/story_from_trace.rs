//! A recorded run as a story that can be drawn.

use std::collections::HashMap;

use vorrang_draw::story::{self, Clock, Event, Look, MessageLabel, Story, Wrong};
use vorrang_protocol::{NodeId, show_duration_ns};
use vorrang_trace::{Ending, Fault, Line, LineMessage, Loss, Objection, Recording, What};

use crate::failure::Failure;
use crate::format::grouped;
use crate::lookup;
use crate::problem::{Retraced, Subject, sides};

/// The story of a recorded run; with state changes, if wanted.
pub fn story(run: &Recording, with_states: bool) -> Result<Story, Failure> {
    let subject = subject(run)?;
    let (mut states, mut remarks) = (HashMap::new(), Vec::new());
    remarks.extend(remark(run).map(|text| format!("{}.", capital(&text))));
    if with_states {
        states = changes(run, subject, &mut remarks)?;
    }
    let header = &run.header;
    let flaw = header.get("flaw").map_or_else(String::new, |flaw| format!(" with the flaw {flaw}"));
    let clock = match header.get("clock") {
        Some("steps") => Clock::Steps,
        Some(_) | None => Clock::Nanoseconds,
    };
    let (mut wrong, mut repeats_from) = (None, None);
    if let Ending::Whole(end) = &run.ending {
        wrong = end.wrong.as_ref().map(|it| Wrong { at: it.at_ns, what: it.what.clone() });
        repeats_from = end.repeats_from;
    }
    let tokens = subject.tokens();
    let mut events = Vec::with_capacity(run.lines.len());
    for (place, line) in run.lines.iter().enumerate() {
        let what = happened(line, subject, tokens);
        let state = states.remove(&place);
        events.push(Event { at: line.at_ns, node: line.node.index(), what, state });
    }
    Ok(Story {
        title: format!("{}{flaw}", header.algorithm),
        command: header.get("command").unwrap_or_default().to_owned(),
        clock,
        lanes: (0..header.nodes).map(|id| format!("node {id}")).collect(),
        events,
        wrong,
        repeats_from,
        remarks,
    })
}

/// The machines of a recorded run.
pub fn subject(run: &Recording) -> Result<&'static dyn Subject, Failure> {
    let entry = lookup::algorithm(&run.header.algorithm)?;
    match run.header.get("flaw") {
        None => Ok(&*entry.correct),
        Some(flaw) => lookup::flawed(entry, flaw),
    }
}

/// The note about a truncated file.
pub fn remark(run: &Recording) -> Option<String> {
    match run.ending {
        Ending::Whole(_) => None,
        Ending::CutOff(records) => {
            Some(format!("the trace is cut off: its first {} records are whole", grouped(records)))
        }
    }
}

/// A node's state without what says nothing: who it is, of which group, and what its type is.
pub fn plain(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    // `NodeId(2)` is 2.
    while let Some((before, after)) = rest.split_once("NodeId(") {
        let (id, after) = after.split_once(')').unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(id);
        rest = after;
    }
    text.push_str(rest);
    for field in ["me: ", "group: Group { size: "] {
        if let Some(start) = text.find(field)
            && let Some(length) = text[start..].find(", ")
        {
            text.replace_range(start..start + length + 2, "");
        }
    }
    let fields = text.split_once(" { ").and_then(|(_, fields)| fields.strip_suffix(" }"));
    fields.map(str::to_owned).unwrap_or(text)
}

/// The state changes of events, by place.
fn changes(
    run: &Recording,
    subject: &dyn Subject,
    remarks: &mut Vec<String>,
) -> Result<HashMap<usize, String>, Failure> {
    let mut last: Vec<String> = vec![String::new(); run.header.nodes as usize];
    let mut all = HashMap::new();
    let retraced = subject.retrace(run, &mut |place, id, state| {
        let state = plain(&state());
        let before = std::mem::replace(&mut last[id.index()], state);
        if let Some(place) = place {
            let changed = changed(&before, &last[id.index()]);
            if !changed.is_empty() {
                all.insert(place, changed);
            }
        }
    })?;
    if let Retraced::Other(objection) = retraced {
        remarks.push(departure(&objection, run));
    }
    Ok(all)
}

fn departure(objection: &Objection, run: &Recording) -> String {
    let (place, _, [recorded, replayed]) = sides(objection, run);
    let place = place + 1;
    format!(
        "States are shown up to record {place}, where the replay differs. Recorded: {recorded}. \
         Replayed: {replayed}."
    )
}

/// The fields that are not as before, each as it was and as it is.
fn changed(before: &str, after: &str) -> String {
    let (old, new) = (fields(before), fields(after));
    let mut all = Vec::new();
    for (name, value) in &new {
        let was = old.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        match was {
            Some(was) if was == *value => {}
            Some(was) if was.len() + value.len() <= 40 => {
                all.push(format!("{}{was} → {value}", label(name)));
            }
            Some(_) | None => all.push(format!("{}{value}", label(name))),
        }
    }
    all.join(", ")
}

fn label(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}: ") }
}

/// `a: 1, b: [2, 3]` as its fields; other text has no name.
fn fields(text: &str) -> Vec<(&str, &str)> {
    let (mut depth, mut start, mut all) = (0_i32, 0, Vec::new());
    let mut parts = Vec::new();
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        all.push(part.split_once(": ").unwrap_or(("", part)));
    }
    all
}

fn happened(line: &Line, subject: &dyn Subject, tokens: &[&str]) -> story::What {
    let letter = |number: u64, message: &LineMessage| MessageLabel {
        number,
        kind: message.kind.clone(),
        text: message.text.clone(),
        is_token: tokens.contains(&&*message.kind),
    };
    match &line.what {
        told @ (What::Command(written) | What::Notice(written)) => {
            let is_command = matches!(told, What::Command(_));
            let (text, look) = subject
                .looks(line.node, told)
                .unwrap_or_else(|| (written.to_string(), Look::default()));
            story::What::Said { text, is_command, look }
        }
        What::Send { to, seq, message: it } => {
            story::What::Sent { to: to.index(), letter: letter(*seq, it) }
        }
        What::Receive { from, seq, message: it } => {
            story::What::Got { from: from.index(), letter: letter(*seq, it) }
        }
        What::Timer(timer) => story::What::Timer(unquoted(timer)),
        What::Choice(value) => story::What::Choice(*value),
        What::Lost { to, seq, why } => {
            let why = match why {
                Loss::Network => "by chance or as ordered",
                Loss::Partition => "the network is partitioned",
                Loss::Down => vorrang_draw::chart::DOWN,
                Loss::NoLink => "there is no such link",
            };
            story::What::Lost { to: to.index(), number: *seq, why }
        }
        What::Doubled { to, seq } => story::What::Doubled { to: to.index(), number: *seq },
        What::Crash => story::What::Crash,
        What::Restart => story::What::Restart,
        What::Fault(fault) => fault_of(fault),
    }
}

fn fault_of(fault: &Fault) -> story::What {
    let network = |text: String, begins| story::What::Network { text, begins };
    match fault {
        Fault::Pause => story::What::Pause,
        Fault::Resume => story::What::Resume,
        Fault::Delayed { to, seq, by_ns } => story::What::Remark(format!(
            "message {seq} to {to} takes {} longer",
            show_duration_ns(*by_ns)
        )),
        Fault::Partition { sides } => network(apart(sides), true),
        Fault::Heal { sides } => network(apart(sides), false),
        Fault::Slow { links } => network(format!("slow: {links}"), true),
        Fault::Recover { links } => network(format!("slow: {links}"), false),
    }
}

fn apart(sides: &[Vec<NodeId>]) -> String {
    let side =
        |nodes: &Vec<NodeId>| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let sides: Vec<String> = sides.iter().map(side).filter(|it| !it.is_empty()).collect();
    match &sides[..] {
        [one] => format!("cut off: {one}"),
        all => format!("apart: {}", all.join(" | ")),
    }
}

fn unquoted(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string().replace('"', ""), str::to_owned)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_shown_without_what_everybody_knows() {
        let shown = "Bully { me: NodeId(0), group: Group { size: 3 }, leader: Some(NodeId(2)) }";
        assert_eq!(plain(shown), "leader: Some(2)");
        assert_eq!(plain("Player"), "Player");
        let flawed = "Flawed { node: Toy { me: NodeId(1), on: true }, mistake: Oops }";
        assert_eq!(plain(flawed), "node: Toy { on: true }, mistake: Oops");
    }

    #[test]
    fn only_what_changed_is_said() {
        let before = "clock: 1, waiting: Some(Request { time: 1, from: [0, 2] }), inside: false";
        let after = "clock: 2, waiting: None, inside: false";
        assert_eq!(changed(before, after), "clock: 1 → 2, waiting: None");
        assert_eq!(changed(after, after), "");
        assert_eq!(changed("Idle", "Busy"), "Idle → Busy");
    }

    #[test]
    fn a_partition_is_said_in_short() {
        let sides = [vec![NodeId(0), NodeId(1)], vec![NodeId(2)]];
        assert_eq!(apart(&sides), "apart: 0 1 | 2");
        assert_eq!(apart(&sides[1..]), "cut off: 2");
    }
}
