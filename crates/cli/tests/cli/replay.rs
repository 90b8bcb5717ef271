//! Recorded runs, done once more: whoever drove them, and whatever went wrong in them.

use crate::support;

use std::fs;

use support::{Folder, json_of, run as vorrang};

/// Records a run and does it once more.
fn again(folder: &Folder, name: &str, run: &[&str]) -> serde_json::Value {
    let path = folder.path(name);
    vorrang(&[run, &["--trace", &path]].concat());
    json_of(&["replay", &path])
}

#[test]
fn a_run_is_done_once_more_whoever_drove_it_and_whatever_went_wrong() {
    let folder = Folder::new("replay");
    let runs: [&[&str]; 14] = [
        &["run", "maekawa", "--nodes", "7", "--entries", "40", "--latency", "exp:1ms"],
        &["run", "echo", "--nodes", "9", "--topology", "random:0.4", "--seed", "5"],
        &["run", "bully", "--nodes", "6", "--crash", "5@0", "--flaw", "no-guard"],
        &["run", "heartbeat", "--nodes", "4", "--crash", "2@52ms", "--restart", "2@90ms"],
        &["run", "tree-election", "--nodes", "9", "--seed", "3"],
        &["run", "raymond", "--nodes", "7", "--entries", "30", "--pause", "3@10ms..40ms"],
        &["run", "suzuki-kasami", "--nodes", "5", "--entries", "40", "--random-faults", "mild"],
        &["run", "central", "--nodes", "4", "--entries", "30", "--reliable", "--loss", "10%"],
        &["run", "token-ring", "--nodes", "4", "--entries", "20", "--net"],
        &["run", "virtual-synchrony", "--nodes", "4", "--crash", "0@42ms", "--restart", "0@90ms"],
        &["check", "virtual-synchrony", "--flaw", "votes-forgotten"],
        &["check", "maekawa-basic"],
        &["check", "ricart-agrawala", "--flaw", "deferred-never-cleared"],
        &["survive", "--witness", "central", "lose:RELEASE"],
    ];
    for (number, run) in runs.iter().enumerate() {
        let ending = if number % 2 == 0 { "jsonl" } else { "jsonl.zst" };
        let value = again(&folder, &format!("{number}.{ending}"), run);
        assert_eq!(value["same"], true, "{run:?}: {value}");
        assert_eq!(value["whole"], true, "{run:?}");
        assert!(value["events"].as_u64() > Some(4), "{run:?}: {value}");
    }
}

#[test]
fn a_run_of_processes_is_done_once_more_also_if_one_was_killed() {
    let folder = Folder::new("replay-killed");
    let run = ["run", "regenerating-ring", "--nodes", "3", "--net", "--processes"];
    let more = ["--hold", "1ms", "--within", "100ms", "--crash", "2@300ms", "--entries", "400"];
    let value = again(&folder, "killed.jsonl", &[&run[..], &more].concat());
    assert_eq!(value["same"], true, "{value}");
    let command = value["parameters"]["command"].as_str().expect("a command");
    assert!(command.contains(" --net --processes ") && command.contains("--crash 2@"), "{command}");
}

#[test]
fn what_was_changed_in_a_trace_is_found_with_both_sides() {
    let folder = Folder::new("replay-changed");
    let path = folder.path("run.jsonl");
    vorrang(&["run", "ricart-agrawala", "--nodes", "3", "--entries", "6", "--trace", &path]);
    let text = fs::read_to_string(&path).expect("a trace");
    let changed = |what: &str, with: &str| {
        assert!(text.contains(what), "{what} is not in {text}");
        let path = folder.path("changed.jsonl");
        fs::write(&path, text.replacen(what, with, 1)).expect("a place to write");
        let (code, out, _) = vorrang(&["replay", &path]);
        assert_eq!(code, 1, "{out}");
        out
    };
    // What is sent, first: the record of the sending is where it departs.
    let out = changed(r#""time":2"#, r#""time":7"#);
    assert!(out.contains("not as recorded from record"), "{out}");
    assert!(out.contains("  recorded  ") && out.contains("  replayed  "), "{out}");
    let out = changed(r#""notice","entered""#, r#""crash""#);
    assert!(out.contains("recorded"), "{out}");
    // A line less.
    let lines: Vec<&str> = text.lines().collect();
    let without = [&lines[..4], &lines[5..], &[""]].concat().join("\n");
    fs::write(&path, without).expect("a place to write");
    let (code, out, _) = vorrang(&["replay", &path]);
    assert_eq!(code, 1, "{out}");
}

#[test]
fn what_is_cut_off_is_done_as_far_as_it_goes_and_what_is_no_trace_is_refused() {
    let folder = Folder::new("replay-cut");
    let path = folder.path("run.jsonl");
    vorrang(&["run", "lamport", "--nodes", "3", "--entries", "6", "--trace", &path]);
    let text = fs::read_to_string(&path).expect("a trace");
    fs::write(&path, &text[..text.len() / 2]).expect("a place to write");
    let (code, out, aside) = vorrang(&["replay", &path]);
    assert_eq!(code, 0, "{out}{aside}");
    assert!(aside.contains("the trace is cut off: its first "), "{aside}");
    let refused = |text: &str, why: &str| {
        fs::write(&path, text).expect("a place to write");
        let (code, _, aside) = vorrang(&["replay", &path]);
        assert_eq!(code, 4, "{aside}");
        assert!(aside.contains(why), "{aside}");
    };
    refused("", "the trace is empty");
    refused("digraph {}\n", "this is not a trace");
    refused(&text.replacen("\"vorrang_trace\":3", "\"vorrang_trace\":4", 1), "a newer version");
    refused(&text.replacen("\"lamport\"", "\"lampert\"", 1), "did you mean 'lamport'?");
    assert_eq!(vorrang(&["replay", "nowhere/at/all"]).0, 4);
}
