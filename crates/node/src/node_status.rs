//! How a node is: for people, and for programs.

use std::time::Duration;

use serde_json::{Map, Value, json};
use vorrang_experiment::state_table::table;
use vorrang_net::{LinkState, LinkStatus, Stage, Status};

use crate::nonblocking_output::harmless;
use crate::terminal::{screen, wrapped};

/// For people, no wider than the screen.
pub(super) fn in_words(status: &Status, algorithm: &str) -> String {
    let nodes = status.links.len() + 1;
    let mut text = format!("node {} of {nodes}, running {algorithm}\n", status.id);
    let mut add = |line: &str| text.push_str(&format!("  {}\n", harmless(line)));
    match (&status.fenced, status.started, status.turn) {
        (Some(why), _, _) => add(&format!("must not act: {why}")),
        (None, false, _) => add("waits to meet all others"),
        (None, true, Some((stage, since))) => add(&turn(stage, since)),
        (None, true, None) => {}
    }
    status.group.iter().for_each(|it| add(&it.to_string()));
    status.links.iter().for_each(|it| add(&link(it)));
    wrapped(&text).trim_end().to_owned()
}

fn turn(stage: Stage, since: Duration) -> String {
    let since = since.as_secs_f64();
    match stage {
        Stage::Idle => {
            "neither inside nor waiting; whether another node is inside is not known here"
                .to_owned()
        }
        Stage::Waiting => format!(
            "waiting to enter, for {since:.1} s: another node is inside, or asked first, or does \
             not answer"
        ),
        Stage::GivenUp => format!(
            "has withdrawn its request, {since:.1} s ago; it is released as soon as it is granted"
        ),
        Stage::Inside => format!("inside, for {since:.1} s"),
    }
}

fn link(link: &LinkStatus) -> String {
    let mut text = format!("node {} at {}: {}", link.peer, link.address, link.state);
    if let Some(trouble) = &link.trouble {
        let calls = if link.unanswered == 1 { "call" } else { "calls" };
        text.push_str(&format!(" ({trouble}, {} {calls})", link.unanswered));
    }
    let messages = |many: u64| if many == 1 { "message" } else { "messages" };
    let waiting = link.unacknowledged as u64;
    if waiting > 0 {
        text.push_str(&format!(", {waiting} {} not acknowledged", messages(waiting)));
    }
    if link.dropped > 0 {
        text.push_str(&format!(", {} {} lost with it", link.dropped, messages(link.dropped)));
    }
    text
}

/// The variables of the machine, a line each.
pub(super) fn state(status: &Status) -> String {
    let width = screen().unwrap_or(usize::MAX);
    let name = format!("node {}", status.id);
    let table = table(&[(name, &status.machine, None)]);
    table.text(width, &|_, text| harmless(text)).trim_end().to_owned()
}

/// For programs, in one line.
pub(super) fn in_json(status: &Status, algorithm: &str) -> String {
    let by_kind = |counts: &[(&'static str, u64)]| -> Value {
        let counts = counts.iter().map(|&(kind, count)| (kind.to_owned(), json!(count)));
        Value::Object(counts.collect::<Map<_, _>>())
    };
    let (stage, since) = status.turn.unzip();
    let value = json!({
        "node": status.id,
        "nodes": status.links.len() + 1,
        "algorithm": algorithm,
        "started": status.started,
        "fenced": status.fenced,
        "turn": stage,
        "turn_seconds": since.map(|since| since.as_secs_f64()),
        "group": status.group,
        "links": status.links.iter().map(link_in_json).collect::<Vec<_>>(),
        "sent": by_kind(&status.sent),
        "received": by_kind(&status.received),
        "state": status.machine,
    });
    value.to_string()
}

fn link_in_json(link: &LinkStatus) -> Value {
    let seconds = |since: &Duration| Some(since.as_secs_f64());
    let (state, seconds, why) = match &link.state {
        LinkState::Connected(since) => ("connected", seconds(since), None),
        LinkState::Connecting(since) => ("connecting", seconds(since), None),
        LinkState::Refused(why) => ("refused", None, Some(why)),
        LinkState::Gone(why) => ("gone", None, Some(why)),
    };
    json!({
        "peer": link.peer,
        "address": link.address,
        "state": state,
        "seconds": seconds,
        "why": why,
        "connections": link.connections,
        "unacknowledged": link.unacknowledged,
        "unacknowledged_bytes": link.unacknowledged_bytes,
        "sent": link.sent,
        "received": link.received,
        "dropped": link.dropped,
        "unanswered": link.unanswered,
        "trouble": link.trouble,
    })
}
