//! `vorrang check` where something may go wrong: budgets for every problem, faults as steps, and
//! runs to what they break that can be played by hand.

use crate::support;

use serde_json::Value;
use support::{json, json_of, run_on};
use vorrang_catalogue::abouts;

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn steps(answer: &Value) -> Vec<&str> {
    let steps = answer["trace"].as_array().expect("a run");
    steps.iter().map(|step| step.as_str().expect("a step")).collect()
}

/// Plays a run by hand, and says what was violated.
fn played(answer: &Value) -> String {
    let line = answer["command"].as_str().expect("a command");
    let mut args: Vec<&str> = Vec::new();
    // What `step` takes of it: the algorithm, its set-up and the order of its links.
    let taken = ["--nodes", "--order", "--topology", "--holder", "--initiator", "--within"];
    let mut all = line.split(' ').skip(2);
    args.push("step");
    args.extend(all.next());
    let all: Vec<&str> = all.collect();
    for (place, option) in all.iter().enumerate() {
        if taken.contains(option) {
            args.extend(&all[place..place + 2]);
        }
    }
    // What is owed is judged at rest; what is under way to the dead must vanish before.
    let is_at_rest = ["progress", "termination", "agreement"].map(Value::from);
    let end = if is_at_rest.contains(&answer["property"]) { "settle\nrest\n" } else { "" };
    let script = format!("{}\n{end}", steps(answer).join("\n"));
    let (code, out, err) = run_on(&script, &args);
    assert_eq!(code, 1, "vorrang {}: {script}{out}{err}", args.join(" "));
    out
}

#[test]
fn every_algorithm_takes_every_budget_and_what_breaks_it_can_be_played() {
    let mut broken = 0;
    for about in abouts() {
        for budget in ["--losses 1", "--duplicates 1", "--crashes 1", "--crashes 1 --restarts 1"] {
            // What is made to survive has many states: not all of them are seen here.
            let name = about.name;
            let question =
                format!("check {name} --nodes 2 --no-invariants --max-states 20000 {budget}");
            let (code, answer) = json(&words(&question));
            assert!(matches!(code, 0 | 1 | 3), "{question}: {answer:#}");
            // What is wrong with a run that repeats for ever cannot be seen in any part of it.
            if code != 1 || !answer["repeats_from"].is_null() {
                continue;
            }
            broken += 1;
            let out = played(&answer);
            let property = answer["property"].as_str().expect("a property");
            assert!(out.contains(&format!("VIOLATION {property}")), "{question}: {out}");
        }
    }
    assert!(broken > 20, "{broken}: what was not made for faults breaks");
}

#[test]
fn faults_are_steps_of_the_shortest_runs() {
    for (question, property, count, expected) in [
        ("central --nodes 2 --losses 1", "progress", 2, "acquire 0, lose 0->1 REQUEST(1)"),
        ("raymond --entries 2,2 --duplicates 1 --no-invariants", "exclusion", 9, "duplicate 0->1"),
        ("echo --nodes 2 --crashes 1", "termination", 2, "crash 1"),
        ("bully --flaw unnumbered --restarts 1", "agreement", 11, "restart 2"),
    ] {
        let (code, answer) = json(&words(&format!("check {question}")));
        let all = steps(&answer).join(", ");
        assert_eq!((code, &answer["property"]), (1, &property.into()), "{question}: {all}");
        assert!(all.contains(expected), "{question}: {all}");
        assert_eq!(steps(&answer).len(), count, "{question}: {all}");
    }
}

#[test]
fn what_a_proof_rests_on_breaks_first_and_can_be_left_out() {
    let (code, answer) = json(&words("check token-ring --nodes 2 --losses 1"));
    assert_eq!((code, &answer["property"]), (1, &"one token a resource".into()));
    let notes = answer["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|it| it.as_str().is_some_and(|it| it.contains("--no-invariants"))));
    let (code, answer) = json(&words("check token-ring --nodes 2 --losses 1 --no-invariants"));
    assert_eq!((code, &answer["property"]), (1, &"progress".into()), "safe but stuck");
    assert_eq!(answer["notes"].as_array().map(Vec::len), Some(0));
    let checked = json_of(&words("check token-ring --nodes 2 --no-invariants"))["checked"].clone();
    assert_eq!(checked, serde_json::json!(["exclusion", "progress"]));
}
