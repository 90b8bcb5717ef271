//! Campaigns of drawn faults: what fails is shrunk, and the command that is printed repeats it.

use crate::support;

use std::fs;

use serde_json::Value;
use support::{Folder, json, run};

/// What a campaign comes to, without how long it took and how it was asked for.
fn campaign(args: &[&str]) -> (i32, Value) {
    let (code, mut value) = json(&[&["torture"], args].concat());
    (value["seconds"], value["command"]) = (Value::Null, Value::Null);
    (code, value)
}

/// The words of a command line as a shell would read them.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn what_claims_to_survive_does_and_threads_make_no_difference() {
    let args = ["--algorithms", "ricart-agrawala,virtual-synchrony,regenerating-ring,ack"];
    let args = [&args[..], &["--runs", "160", "--nodes", "3..=4"]].concat();
    let (code, alone) = campaign(&[&args[..], &["--jobs", "1"]].concat());
    assert_eq!(code, 0, "{alone:#}");
    assert_eq!(alone["schedules"], 160);
    let subjects = alone["subjects"].as_array().expect("a list");
    assert_eq!(subjects.len(), 8, "{alone:#}");
    for it in subjects {
        assert_eq!(it["runs"], 20, "{it:#}");
        assert_eq!(it["fine"], 20, "{it:#}");
        assert!(it["faults"].as_u64().is_some_and(|faults| faults > 20), "{it:#}");
    }
    assert_eq!(campaign(&[&args[..], &["--jobs", "3"]].concat()), (code, alone.clone()));
    let (_, other) = campaign(&[&args[..], &["--seed", "2"]].concat());
    assert_ne!(other["subjects"], alone["subjects"]);
}

/// Every mistake of locks on views, and one of a group: found, shrunk, and repeated by the command
/// that is printed.
#[test]
fn a_mistake_is_found_and_shrunk_and_the_printed_command_repeats_it() {
    for (algorithm, flaw, runs) in [
        ("suzuki-kasami", "holder-forgotten", "200"),
        ("suzuki-kasami", "clock-not-carried", "10"),
        ("suzuki-kasami", "own-order", "100"),
    ] {
        let args = ["--algorithms", algorithm, "--flaw", flaw, "--runs", runs];
        let (code, found) = campaign(&args);
        assert_eq!(code, 1, "{flaw}: {found:#}");
        let of = |storage: &str| {
            let subject = format!("{algorithm} --on-views{storage} --flaw {flaw}");
            let mut all = found["findings"].as_array().into_iter().flatten();
            all.find(|it| it["subject"] == subject.as_str())
        };
        assert!(of(" --forgetful").is_some(), "{flaw}: {found:#}");
        let finding = of("").unwrap_or_else(|| panic!("{flaw}: {found:#}"));
        let line = finding["command"].as_str().expect("a command");
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words[..2], ["vorrang", "run"], "{line}");
        let (code, out, err) = run(&words[1..]);
        assert_eq!(code, 1, "{line}: {out}{err}");
        let what = finding["what"].as_str().expect("a sentence");
        assert!(out.contains(what.split(" (at").next().unwrap_or(what)), "{what}: {out}");
        // Nothing that is left can be left out: one fault is enough for any of them.
        let faults =
            ["--crash", "--pause", "--partition", "--cut", "--slow", "--loss", "--duplicate"];
        let many = words.iter().filter(|word| faults.contains(word)).count();
        assert!(many <= 1, "{line}");
        let correct: Vec<&str> = words[1..].iter().copied().filter(|it| *it != flaw).collect();
        let correct: Vec<&str> = correct.into_iter().filter(|it| *it != "--flaw").collect();
        assert_eq!(run(&correct).0, 0, "without the mistake: {line}");
    }
}

#[test]
fn a_campaign_goes_on_where_it_was_stopped() {
    let folder = Folder::new("torture");
    let file = folder.path("campaign.json");
    let args = ["--algorithms", "suzuki-kasami", "--flaw", "own-order", "--runs"];
    let whole = campaign(&[&args[..], &["90"]].concat());
    let part = campaign(&[&args[..], &["40", "--resume", &file]].concat());
    assert_eq!(part.1["schedules"], 40);
    assert_ne!(part, whole);
    let resumed = campaign(&[&args[..], &["90", "--resume", &file]].concat());
    assert_eq!(resumed, whole);
    // It is at its end already.
    assert_eq!(campaign(&[&args[..], &["90", "--resume", &file]].concat()), whole);
    for (other, what) in [(["--seed", "2"], "seed is 1"), (["--nodes", "4"], "nodes is [3,5]")] {
        let command = [&["torture"], &args[..], &["90", "--resume", &file], &other].concat();
        let (code, out, err) = run(&command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("is of another campaign") && err.contains(what), "{err}");
    }
    fs::write(&file, "{}").expect("it can be written");
    let (code, _, err) = run(&["torture", "--resume", &file]);
    assert_eq!(code, 4);
    assert!(err.contains("is not the state of a campaign"), "{err}");
}

/// What the table says to people, and how it ends by time.
#[test]
fn the_table_counts_what_was_tried() {
    let args = ["torture", "--algorithms", "bully", "--time", "50ms", "--seed", "fresh"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("SUBJECT  RUNS"), "{out}");
    assert!(out.contains("none failed") && out.contains("a second"), "{out}");
    let (code, out, _) = run(&["torture", "--algorithms", "bully", "--runs", "7"]);
    assert_eq!(code, 0);
    assert!(out.contains("7 schedules with") && out.contains("--seed 1"), "{out}");
}

#[test]
fn wrong_use_is_told() {
    for (args, what) in [
        (&["--algorithms", "tree-election"][..], "nothing there claims to survive any fault"),
        (&["--algorithms", "bully", "--flaw", "no-such"], "no-such"),
        (&["--nodes", "1"], "give a number from 2 to 20, or a range such as 3..=5"),
        (&["--nodes", "5..=3"], "the range '5..=3' is empty"),
        (&["--seed", "x"], "or fresh"),
        (&["--time", "soon"], "write a time such as 500ms, 90s, 10m or 2h"),
        (&["--runs", "0"], "give a whole number from 1"),
        (&["-a", "raymond", "--flaw", "replaced-life-not-awaited"], "starts a second process"),
        (&["--processes", "--algorithms", "ack"], "none of the algorithms claims to survive that"),
        (&["--processes", "--jobs", "2"], "cannot be used with"),
    ] {
        let (code, out, err) = run(&[&["torture"], args].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(what), "{args:?}: {err}");
    }
}

/// A campaign found both: a node that is down from the start made a run panic, and another wait.
#[test]
fn a_node_may_be_down_from_the_start_on_views() {
    for load in ["light", "burst", "heavy"] {
        let args = ["run", "maekawa", "--on-views", "--nodes", "3", "--entries", "3"];
        let (code, out, err) = run(&[&args[..], &["--load", load, "--crash", "0@0"]].concat());
        assert_eq!(code, 0, "{load}: {out}{err}");
        assert!(out.contains("quiescent"), "{out}");
    }
}

/// Each was found by a campaign, and was no mistake of an algorithm: a join that waited for the end
/// of a pause was lost in a crash, and still waited for; nodes that were down from the start were
/// asked before and after they came up; and runs ended before a crash had to be noticed, since
/// margins had grown by partitions, or a heartbeat from before was overtaken and came late.
#[test]
fn what_campaigns_found_stays_mended() {
    for line in [
        "virtual-synchrony --nodes 3 --multicasts 1 --every 4ms --leave 1@7ms --join 1@15ms \
         --pause 1@10ms..22400us --crash 1@20ms --restart 1@21ms",
        "virtual-synchrony --nodes 3 --multicasts 3 --crash 0@0 --restart 0@5ms",
        "resource-sets --nodes 3 --entries 2 --think uniform:0..10ms --on-views --crash 1@0 \
         --restart 1@600us",
        "heartbeat --nodes 4 --for 27500us --seed 2 --latency uniform:500us..1500us --crash 3@16ms \
         --delay 111",
        "heartbeat --nodes 3 --for 1812ms --crash 2@1805500us --partition 0@1s..1001ms \
         --partition 2@700ms..701ms",
    ] {
        let args: Vec<&str> = ["run"].into_iter().chain(line.split(' ')).collect();
        let (code, out, err) = run(&args);
        assert_eq!(code, 0, "{line}: {out}{err}");
    }
}
