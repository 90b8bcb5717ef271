//! Reliable channels under any algorithm: in runs, in checks and on a stage.

use crate::support;

use serde_json::Value;
use support::{json, json_of, run, run_on};
use vorrang_catalogue::abouts;

const BAD: [&str; 6] = ["--loss", "3%", "--duplicate", "3%", "--reorder", "3%"];

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn every_algorithm_runs_over_bad_links_as_if_they_were_good() {
    let mut broken = 0;
    for about in abouts() {
        let size: &[&str] = match about.problem {
            "mutex" if about.assumes.one_at_a_time => {
                &["--nodes", "5", "--entries", "200", "--load", "light"]
            }
            "mutex" => &["--nodes", "5", "--entries", "200"],
            _ => &["--nodes", "9"],
        };
        let args = [&["run", about.name], size, &BAD].concat();
        broken += i32::from(json(&args).0 == 1);
        // What is late by a time-out breaks what an algorithm believes of time; nothing else may.
        let (code, measured) = json(&[&args[..], &["--reliable"]].concat());
        let is_late = about.assumes.timely && measured["violation"].is_string();
        assert!(code == 0 || is_late, "{}: {measured:#}", about.name);
        let kinds = measured["messages_by_kind"].as_object().expect("kinds");
        let count = |kind: &str| kinds.get(kind).and_then(Value::as_u64).unwrap_or(0);
        assert!(count("RECEIPT") > 0 && count("GREETING") == 0, "{measured:#}");
        let sum: u64 = kinds.values().filter_map(Value::as_u64).sum();
        assert_eq!(measured["messages"].as_u64(), Some(sum), "{}", about.name);
        assert!(measured["lost"].as_u64() > Some(0), "{measured:#}");
    }
    assert!(broken > 10, "{broken}: without the layer most break");
}

#[test]
fn without_faults_it_costs_a_receipt_a_message_and_no_time() {
    let plain = json_of(&words("run ricart-agrawala --nodes 4 --entries 100"));
    let (code, _, err) = run(&words("run lamport --nodes 4 --reliable --invariants"));
    assert_eq!((code, err.contains("none are declared")), (2, true), "{err}");
    let over = json_of(&words("run ricart-agrawala --nodes 4 --entries 100 --reliable"));
    let twice = |key: &str| plain[key].as_f64().expect("a number") * 2.0;
    assert_eq!(over["messages"].as_f64(), Some(twice("messages")));
    assert_eq!(over["messages_by_kind"]["REQUEST"], plain["messages_by_kind"]["REQUEST"]);
    for same in ["sync_delay", "response", "throughput", "entries"] {
        assert_eq!(over[same], plain[same], "{same}");
    }
    assert_eq!((&over["reliable"], &plain["reliable"]), (&true.into(), &false.into()));
    assert_eq!(over["messages_per_entry_theory_high"], Value::Null, "no theory speaks of it");
    assert_eq!(over["overtakes"], Value::Null);
}

#[test]
fn what_a_proof_rests_on_is_looked_at_through_the_layer() {
    for name in ["ricart-agrawala", "raymond", "suzuki-kasami", "echo-lift", "elected-lift"] {
        let args = format!("run {name} --nodes 5 --entries 50 --reliable --invariants");
        json_of(&[&words(&args)[..], &BAD].concat());
    }
}

#[test]
fn crashes_end_and_restarts_begin_a_life() {
    // A client of the coordinator goes and comes, and greets the one that it can reach.
    let args = "run central --nodes 4 --entries 30 --crash 1@5ms --restart 1@40ms --load light";
    let measured = json_of(&[&words(args)[..], &["--reliable", "--loss", "2%"]].concat());
    assert_eq!((&measured["crashes"], &measured["restarts"]), (&1.into(), &1.into()));
    assert_eq!(measured["messages_by_kind"]["GREETING"], 1, "{measured:#}");
    // Greetings come first, and take their time: whoever believes in time-outs must allow for them.
    let all = "run bully --nodes 4 --crash 1@5ms --restart 1@40ms --reliable --within 5ms";
    let measured = json_of(&words(all));
    assert_eq!(measured["messages_by_kind"]["GREETING"], 3, "{measured:#}");
}

#[test]
fn a_lost_message_breaks_a_check_and_does_not_over_reliable_channels() {
    for question in ["central --nodes 2", "suzuki-kasami --nodes 2", "echo --nodes 3"] {
        let args = format!("check {question} --losses 1 --no-invariants");
        let (code, answer) = json(&words(&args));
        assert_eq!(code, 1, "{args}: {answer:#}");
        assert!(["progress", "termination"].contains(&answer["property"].as_str().unwrap_or("")));
        let args = format!("check {question} --losses 1 --reliable");
        let answer = json_of(&words(&args));
        assert_eq!(answer["outcome"], "verified", "{args}");
        let covers = answer["covers"].as_str().expect("words");
        assert!(covers.ends_with("over reliable channels that try again once"), "{covers}");
    }
    let fine = json_of(&words("check lamport --nodes 2 --order any --reliable"));
    assert_eq!(fine["outcome"], "verified", "FIFO links or not");
    let two = json_of(&words("check central --nodes 2 --entries 1,0 --losses 2 --reliable"));
    let covers = two["covers"].as_str().expect("words");
    assert!(covers.contains("try again up to 2 times"), "{covers}");
}

#[test]
fn without_a_duplicate_filter_a_token_that_is_sent_again_is_doubled() {
    let question = "check raymond --nodes 2 --entries 2 --losses 1";
    let flawed = format!("{question} --reliable=no-duplicate-filter");
    let (code, answer) = json(&words(&flawed));
    assert_eq!((code, &answer["property"]), (1, &"exclusion".into()), "{answer:#}");
    let trace: Vec<&str> =
        answer["trace"].as_array().expect("a run").iter().filter_map(Value::as_str).collect();
    assert_eq!(trace.len(), 12, "{trace:?}");
    assert!(trace.contains(&"timer 0 Resend(1)"), "{trace:?}");
    let line = answer["command"].as_str().expect("a line");
    assert!(line.contains("--reliable=no-duplicate-filter"), "{line}");
    let again: Vec<&str> = line.split(' ').skip(1).collect();
    assert_eq!(json(&again).1["trace"], answer["trace"]);
    // Nothing is sent again where messages are in time and none is lost.
    let fine =
        json_of(&words("check raymond --nodes 2 --entries 2 --reliable=no-duplicate-filter"));
    assert_eq!(fine["outcome"], "verified");
    let (code, _) = json(&words(
        "check raymond --nodes 2 --entries 2 --reliable=no-duplicate-filter --asynchronous \
         --max-states 200000",
    ));
    assert_eq!(code, 1, "and is where they may be late");
}

#[test]
fn it_can_be_stepped_through() {
    let script = "acquire 0\nlose 0->1\ntimer 0 Resend(1)\nsettle\ncheck --losses 1\n";
    let (code, out, err) = run_on(script, &words("step central --nodes 2 --reliable"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("central --nodes 2 --reliable\n"), "{out}");
    assert!(out.contains("0 -> 1 REQUEST(1) [0]") && out.contains("0 entered"), "{out}");
    assert!(out.contains("# verified"), "{out}");
}

#[test]
fn where_it_makes_no_sense_it_is_refused() {
    for (command, sentence) in [
        (
            "run lamport --net --reliable",
            "--reliable is for the simulator: with --net, TCP decides",
        ),
        ("check lamport --reliable --property ordering", "acknowledgements do, of which"),
        ("check lamport --reliable --bypass 3", "acknowledgements do, of which"),
        ("check lamport --reliable=badly", "[possible values: correct, no-duplicate-filter]"),
    ] {
        let (code, out, err) = run(&words(command));
        assert_eq!((code, out.as_str()), (2, ""), "{command}");
        assert!(err.contains(sentence), "{command}: {err}");
    }
}
