//! A run as trace events, for Perfetto and Chrome: a track a node, bars as slices, messages as
//! flows from a small slice to another.

use serde_json::{Value, json};

use crate::chart::{Chart, Fate, Moment};
use crate::story::{Bar, Clock, Story, What};

/// The file. Times are in microseconds there; a step is one.
pub fn perfetto(story: &Story) -> String {
    let chart = Chart::of(story);
    let unit = match story.clock {
        Clock::Nanoseconds => 1_000.0,
        Clock::Steps => 1.0,
    };
    let time = |at: u64| at as f64 / unit;
    let end = story.end();
    let short = (time(end) / 2_000.0).max(0.001);
    let mut events: Vec<Value> = Vec::new();
    let name = json!({"name": "process_name", "ph": "M", "pid": 1, "args": {"name": story.title}});
    events.push(name);
    for (node, lane) in story.lanes.iter().enumerate() {
        let args = json!({"name": lane});
        events.push(json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": node, "args": args}));
        let order = json!({"sort_index": node});
        events.push(
            json!({"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": node, "args": order}),
        );
    }
    for span in &chart.spans {
        let (Bar::Filled(name) | Bar::Outlined(name)) = span.bar else { continue };
        let until = span.until.unwrap_or(end);
        events.push(slice(
            name,
            "state",
            span.node,
            time(span.from),
            time(until) - time(span.from),
        ));
    }
    for outage in &chart.outages {
        let name = if outage.is_down { "down" } else { "paused" };
        let until = outage.until.unwrap_or(end);
        let long = time(until) - time(outage.from);
        events.push(slice(name, "fault", outage.node, time(outage.from), long));
    }
    for point in &chart.points {
        let event = &story.events[point.event];
        let category = match point.what {
            Moment::Event => continue,
            Moment::Timer => "timer",
            Moment::Said | Moment::Marked(_) => "application",
        };
        let said = match &event.what {
            What::Said { text, .. } => text.clone(),
            What::Timer(timer) => format!("timer {timer}"),
            _ => story.says(event),
        };
        events.push(json!({
            "name": said, "cat": category, "ph": "i", "s": "t", "pid": 1, "tid": point.node,
            "ts": time(point.at),
        }));
    }
    messages(story, &chart, (&time, short), &mut events);
    let other = json!({"command": story.command});
    json!({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}).to_string() + "\n"
}

/// Every message: a slice where it is sent, one where it arrives, and a flow between them.
fn messages(
    story: &Story,
    chart: &Chart,
    (time, short): (&dyn Fn(u64) -> f64, f64),
    events: &mut Vec<Value>,
) {
    for (id, arrow) in chart.arrows.iter().enumerate() {
        let said = match &story.events[arrow.event].what {
            What::Sent { letter, .. } | What::Got { letter, .. } => letter.text.clone(),
            _ => continue,
        };
        let lost = matches!(arrow.fate, Fate::Lost(_) | Fate::TooLate(_));
        let name = if lost { format!("{said} (lost)") } else { said.clone() };
        events.push(slice(&format!("send {name}"), "message", arrow.from, time(arrow.sent), short));
        if let Some(got) = arrow.got {
            events.push(slice(&format!("receive {said}"), "message", arrow.to, time(got), short));
            let half = short / 2.0;
            events.push(json!({
                "name": said, "cat": "message", "ph": "s", "id": id, "pid": 1, "tid": arrow.from,
                "ts": time(arrow.sent) + half,
            }));
            events.push(json!({
                "name": said, "cat": "message", "ph": "f", "bp": "e", "id": id, "pid": 1,
                "tid": arrow.to, "ts": time(got) + half,
            }));
        }
    }
}

fn slice(name: &str, category: &str, node: usize, from: f64, long: f64) -> Value {
    json!({
        "name": name, "cat": category, "ph": "X", "pid": 1, "tid": node, "ts": from, "dur": long,
    })
}
