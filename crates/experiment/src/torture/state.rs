//! The file of a campaign that can be resumed: how far it has come, and of what it is a campaign.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Campaign, Counts, Finding};
use crate::failure::Failure;
use crate::survive::Verdict;

/// Says what a campaign is about: only the same goes on.
fn about(campaign: &Campaign) -> Value {
    let plan = &campaign.plan;
    let subjects: Vec<String> = campaign.subjects.iter().map(ToString::to_string).collect();
    json!({
        "vorrang": env!("CARGO_PKG_VERSION"),
        "seed": plan.seed,
        "nodes": [plan.nodes.start(), plan.nodes.end()],
        "processes": plan.processes,
        "subjects": subjects,
    })
}

/// Writes it: first beside, so that what is there is whole at any time.
pub(super) fn write(campaign: &Campaign, path: &Path) -> Result<(), Failure> {
    let counts = |it: &Counts| json!([it.ended, it.faults, it.events]);
    let finding = |it: &Finding| {
        json!({
            "subject": it.subject,
            "index": it.index,
            "verdict": it.verdict.word(),
            "property": it.property,
            "what": it.what,
            "line": it.line,
            "times": it.times,
        })
    };
    let state = json!({
        "campaign": about(campaign),
        "done": campaign.done,
        "counts": campaign.counts.iter().map(counts).collect::<Vec<_>>(),
        "findings": campaign.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&state).expect("a JSON value can be written");
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    fs::write(beside, text + "\n").map_err(|error| Failure::at(beside, error))?;
    fs::rename(beside, path).map_err(|error| Failure::at(path, error))
}

/// How many of a list are named.
const MOST_NAMED: usize = 3;

/// A value as it is named to a person: of a long list a few, and how many there are.
fn shortened(value: &Value) -> String {
    match value {
        Value::Array(all) if all.len() > MOST_NAMED => {
            let some: Vec<String> = all.iter().take(MOST_NAMED).map(Value::to_string).collect();
            format!("[{}, … {} in all]", some.join(", "), all.len())
        }
        _ => value.to_string(),
    }
}

/// Reads it into a campaign that has not begun.
pub(super) fn read(campaign: &mut Campaign, path: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
    let wrong = |why: &str| Failure::at(path, why);
    let state: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("is not the state of a campaign: {error}")))?;
    let own = about(campaign);
    let others = state["campaign"]
        .as_object()
        .ok_or_else(|| wrong("is not the state of a campaign: it does not say what it is about"))?;
    for (key, value) in own.as_object().into_iter().flatten() {
        let other = others.get(key).unwrap_or(&Value::Null);
        if other != value {
            return Err(Failure::usage(format!(
                "{}: is of another campaign: its {key} is {}, and this one's is {}",
                path.display(),
                shortened(other),
                shortened(value),
            )));
        }
    }
    let damaged = || wrong("is damaged");
    campaign.done = state["done"].as_u64().ok_or_else(damaged)?;
    let all = state["counts"].as_array().ok_or_else(damaged)?;
    campaign.counts = all.iter().map(counts).collect::<Option<_>>().ok_or_else(damaged)?;
    let all = state["findings"].as_array().ok_or_else(damaged)?;
    campaign.findings = all.iter().map(finding).collect::<Option<_>>().ok_or_else(damaged)?;
    let runs: u64 = campaign.counts.iter().map(Counts::runs).sum();
    let many = campaign.subjects.len();
    let is_whole = runs == campaign.done
        && campaign.counts.len() == many
        && campaign.findings.iter().all(|it| it.subject < many);
    if is_whole { Ok(()) } else { Err(damaged()) }
}

fn counts(value: &Value) -> Option<Counts> {
    let ended = value[0].as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>()?;
    let (ended, faults, events) = (ended.try_into().ok()?, value[1].as_u64()?, value[2].as_u64()?);
    Some(Counts { ended, faults, events })
}

fn finding(value: &Value) -> Option<Finding> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let verdict = [Verdict::Stuck, Verdict::Unsafe];
    Some(Finding {
        subject: value["subject"].as_u64()? as usize,
        index: value["index"].as_u64()?,
        verdict: verdict.into_iter().find(|it| value["verdict"] == it.word())?,
        property: text("property")?,
        what: text("what")?,
        line: text("line")?,
        times: value["times"].as_u64()?,
    })
}
