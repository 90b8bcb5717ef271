//! A recorded run as a story that can be drawn.

use std::collections::HashMap;

use serde_json::Value;
use vorrang_draw::story::{self, Clock, Event, Gloss, Look, MessageLabel, Story, Wrong};
use vorrang_protocol::NodeState;
use vorrang_trace::{Ending, Fault, Line, LineMessage, Loss, Objection, Recording, What};

use crate::failure::Failure;
use crate::format::grouped;
use crate::lookup;
use crate::problem::{Retraced, Subject, sides};
use crate::state_table::{changes, table};

/// The story of a recorded run; with state changes, if wanted.
pub fn story(run: &Recording, with_states: bool) -> Result<Story, Failure> {
    let subject = subject(run)?;
    let (mut shown, mut remarks) = (None, Vec::new());
    remarks.extend(remark(run).map(|text| format!("{}.", capital(&text))));
    if with_states {
        shown = Some(states(run, subject, &mut remarks)?);
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
        let state = shown.as_mut().and_then(|it| it.changes.remove(&place));
        events.push(Event { at: line.at_ns, node: line.node.index(), what, state });
    }
    let lanes: Vec<String> = (0..header.nodes).map(|id| format!("node {id}")).collect();
    let beats = subject.beats(header.get("on_views").is_some());
    let states = shown.map(|shown| {
        let nodes = lanes.iter().zip(&shown.last).map(|(lane, state)| (lane.clone(), state, None));
        table(&nodes.collect::<Vec<_>>())
    });
    Ok(Story {
        title: format!("{}{flaw}", header.algorithm),
        command: header.get("command").unwrap_or_default().to_owned(),
        clock,
        lanes,
        events,
        wrong,
        repeats_from,
        remarks,
        glosses: SIGNS,
        states,
        beats: beats.iter().map(ToString::to_string).collect(),
        ..Story::default()
    })
}

/// Signs that messages and notices have of any problem.
const SIGNS: &[Gloss] = &[
    Gloss {
        sign: "0'0",
        means: "\
    A number behind an apostrophe counts how often a node has come back: 3'1 is node 3 after the \
    first time, 3'1/0 its first message since then, and 1'0 the message 0 of such a node.",
    },
    Gloss {
        sign: "delivers 0/0",
        means: "delivers 1/0: the message 0 of node 1, and behind a colon what it says.",
    },
    Gloss {
        sign: "[view 0",
        means: "\
    [view 2, clock 7]: a message between members of view 2, whose sender has counted 7 entries.",
    },
    Gloss {
        sign: "after [",
        means: "NEWVIEW(2 {0, 1} after [m]): view 2 has the members 0 and 1, who deliver m first.",
    },
];

/// The machines of a recorded run.
pub fn subject(run: &Recording) -> Result<&'static dyn Subject, Failure> {
    // Nobody has typed these names.
    let foreign = |failure: Failure| Failure::World(format!("the trace: {failure}"));
    let entry = lookup::algorithm(&run.header.algorithm).map_err(foreign)?;
    match run.header.get("flaw") {
        None => Ok(&*entry.correct),
        Some(flaw) => lookup::flawed(entry, flaw).map_err(foreign),
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

/// The states of a run.
#[derive(Default)]
struct States {
    /// The changes of events, by place.
    changes: HashMap<usize, String>,
    /// Those of all nodes at the end.
    last: Vec<NodeState>,
}

fn states(
    run: &Recording,
    subject: &dyn Subject,
    remarks: &mut Vec<String>,
) -> Result<States, Failure> {
    let mut states = States::default();
    states.last.resize(run.header.nodes as usize, NodeState::new());
    let retraced = subject.retrace(run, &mut |place, id, state| {
        let before = std::mem::replace(&mut states.last[id.index()], state());
        if let Some(place) = place {
            let changed = changes(&before, &states.last[id.index()]);
            if !changed.is_empty() {
                states.changes.insert(place, changed);
            }
        }
    })?;
    if let Retraced::Other(objection) = retraced {
        remarks.push(departure(&objection, run));
    }
    Ok(states)
}

fn departure(objection: &Objection, run: &Recording) -> String {
    let (place, _, [recorded, replayed]) = sides(objection, run);
    let place = place + 1;
    format!(
        "States are shown up to record {place}, where the replay differs. Recorded: {recorded}. \
         Replayed: {replayed}."
    )
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
        What::Timer(timer) => story::What::Timer(named(timer)),
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
    match (fault, fault.of_network()) {
        (_, Some((text, begins))) => story::What::Network { text, begins },
        (Fault::Pause, None) => story::What::Pause,
        (Fault::Resume, None) => story::What::Resume,
        (other, None) => story::What::Remark(other.to_string()),
    }
}

/// A timer by the name that it has without the layers it belongs to, and what it is about: `Beat`
/// for `{"heartbeat":"Beat"}`, `Resend(0)` for `{"carrier":{"Resend":0}}`.
fn named(timer: &Value) -> String {
    match timer {
        Value::String(name) => name.clone(),
        Value::Array(all) => all.iter().map(named).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let named = |(name, about): (&String, &Value)| match about {
                Value::String(_) | Value::Object(_) => named(about),
                Value::Null => name.clone(),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                    format!("{name}({})", named(about))
                }
            };
            fields.iter().map(named).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => timer.to_string(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_timer_has_a_name_and_no_layers() {
        for (timer, name) in [
            (json!("Probe"), "Probe"),
            (json!({"heartbeat": "Beat"}), "Beat"),
            (json!({"heartbeat": {"Overdue": 1}}), "Overdue(1)"),
            (json!({"carrier": {"mail": {"resend": [0, 1]}}}), "resend(0, 1)"),
            (json!({"lock": [3, "Probe"]}), "lock(3, Probe)"),
        ] {
            assert_eq!(named(&timer), name);
        }
    }
}
