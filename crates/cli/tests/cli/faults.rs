//! What goes wrong in a run, typed in one vocabulary: whatever the problem, in every command that
//! simulates, the same again for the same seed, and told as it happened.

use crate::support;

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use support::{Folder, json, json_of, run};

/// One of everything.
const ALL: [&str; 24] = [
    "--loss",
    "1%",
    "--duplicate",
    "2%",
    "--reorder",
    "2%",
    "--crash",
    "2@5ms",
    "--crash",
    "3@6ms",
    "--restart",
    "2@8ms",
    "--pause",
    "1@2ms..4ms",
    "--partition",
    "0,1|2,3@3ms..5ms",
    "--slow",
    "*-0:x3@1ms..9ms",
    "--lose",
    "7",
    "--double",
    "9",
    "--delay",
    "11",
];

/// Runs, and counts what the trace says by kind.
fn traced(args: &[&str], file: &str) -> (i32, Value, String, BTreeMap<String, u64>) {
    let (code, mut measured) = json(&[args, &["--trace", file]].concat());
    measured.as_object_mut().expect("an object").remove("wall_seconds");
    let trace = fs::read_to_string(file).expect("a trace");
    let mut counts = BTreeMap::new();
    // Between a header and an end.
    let mut lines = trace.lines().skip(1).collect::<Vec<_>>();
    lines.pop();
    for line in lines {
        let record: Value = serde_json::from_str(line).expect("a record");
        let name = match (record[2].as_str().expect("a what"), &record[3]) {
            ("fault", Value::String(name)) => name.clone(),
            ("fault", Value::Object(of)) => of.keys().next().expect("a name").clone(),
            ("lost", _) => format!("lost_{}", record[5].as_str().expect("a reason")),
            (what, _) => what.to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
    (code, measured, trace, counts)
}

#[test]
fn every_problem_takes_every_fault_and_tells_what_really_happened() {
    let folder = Folder::new("faults-all");
    for command in ["run ricart-agrawala", "run lamport", "run raymond", "run bully", "run echo"] {
        let command: Vec<&str> = command.split(' ').collect();
        let sets: [&[&str]; 3] =
            [&ALL, &["--random-faults", "harsh", "--seed", "5"], &["--random-faults", "mild"]];
        for faults in sets {
            let args = [&command[..], &["--nodes", "4"], faults].concat();
            let (code, measured, trace, counts) = traced(&args, &folder.path("one"));
            let again = traced(&args, &folder.path("two"));
            assert_eq!((code, &measured, &trace), (again.0, &again.1, &again.2), "{args:?}");
            assert!(code < 2, "{args:?}: {measured:#}");
            let count = |what: &str| counts.get(what).copied().unwrap_or(0);
            for (key, what) in [
                ("crashes", "crash"),
                ("restarts", "restart"),
                ("pauses", "pause"),
                ("partitions", "partition"),
                ("lost", "lost_network"),
                ("cut_off", "lost_partition"),
                ("messages_to_dead", "lost_down"),
                ("duplicated", "doubled"),
            ] {
                assert_eq!(measured[key], count(what), "{key} of {args:?}: {measured:#}");
            }
            let late = |key: &str| measured[key].as_u64().expect("a count");
            let (slowed, reordered) = (late("slowed"), late("reordered"));
            let delayed = slowed.max(reordered)..=slowed + reordered;
            assert!(delayed.contains(&count("delayed")), "{args:?}: {measured:#}");
        }
    }
}

#[test]
fn what_is_printed_first_can_be_typed_again() {
    let args = [&["run", "ricart-agrawala", "--nodes", "4", "--entries", "20"][..], &ALL].concat();
    let (code, out, _) = run(&args);
    let first = out.lines().next().expect("a line").replace('\'', "");
    let typed: Vec<&str> = first.split(' ').skip(1).collect();
    let (again, same, _) = run(&typed);
    let figures = |out: &str| out.lines().take_while(|it| !it.contains(" events in ")).count();
    assert_eq!((code, out.lines().next()), (again, same.lines().next()));
    let all = figures(&out);
    assert_eq!(
        out.lines().take(all).collect::<Vec<_>>(),
        same.lines().take(all).collect::<Vec<_>>()
    );
    for fault in [
        "--crash 2@5ms",
        "--crash 3@6ms",
        "--restart 2@8ms",
        "--pause 1@2ms..4ms",
        "--partition '0,1|2,3@3ms..5ms'",
        "--slow '*-0:x3@1ms..9ms'",
        "--loss 1%",
        "--double 9",
    ] {
        assert!(out.contains(fault), "{fault}: {out}");
    }
}

#[test]
fn another_seed_is_another_run() {
    let faults = |seed: &str| {
        let args = ["run", "suzuki-kasami", "--nodes", "5", "--random-faults", "harsh"];
        let measured = json(&[&args[..], &["--seed", seed]].concat()).1;
        (measured["events"].clone(), measured["crashes"].clone(), measured["lost"].clone())
    };
    let all: Vec<_> = ["1", "2", "3", "4"].map(faults).to_vec();
    assert!(all.iter().any(|it| *it != all[0]), "{all:?}");
}

#[test]
fn whoever_is_down_is_owed_nothing_and_survivors_are() {
    // A client that never asks is missed by nobody.
    let idle = ["run", "central", "--nodes", "5", "--hot", "2", "--entries", "50"];
    let measured = json_of(&[&idle[..], &["--crash", "3@5ms"]].concat());
    assert_eq!((&measured["crashes"], &measured["entries"]), (&1.into(), &50.into()));
    // Nor one that has asked and died, if nobody needs it.
    let measured = json_of(&["run", "echo", "--nodes", "1", "--crash", "0@5ms"]);
    assert_eq!(measured["crashes"], 1);
    // The one inside takes the key along; nobody is inside any more, and the others wait for ever.
    let inside = ["run", "central", "--nodes", "3", "--entries", "10", "--crash", "0@2500us"];
    let (code, measured) = json(&inside);
    assert_eq!((code, &measured["safe"], &measured["quiescent"]), (1, &true.into(), &false.into()));
    let (_, out, _) = run(&inside);
    assert!(out.contains("safe but stuck: progress: nothing more is bound"), "{out}");
    let note =
        "A crashed node does not count: it is not inside, does not wait and need not be served";
    assert!(out.contains(note), "{out}");
    let (_, out, _) = run(&["run", "central", "--nodes", "3", "--entries", "10", "--loss", "0%"]);
    assert!(out.contains("faults") && out.contains("none") && !out.contains(note), "{out}");
}

#[test]
fn pauses_partitions_and_slow_links_are_got_over() {
    for faults in [
        &["--pause", "1@2ms..40ms,2@50ms..60ms", "--pause", "0@70ms..90ms"][..],
        &["--slow", "0-1:x10@10ms..40ms,*->2:+5ms@20ms..30ms"],
        // Longer than the run: the partition comes when all is over.
        &["--partition", "0@10s.."],
    ] {
        let args =
            [&["run", "ricart-agrawala", "--nodes", "3", "--entries", "60"], faults].concat();
        let measured = json_of(&args);
        assert_eq!(measured["entries"], 60, "{args:?}");
    }
}

#[test]
fn comparisons_and_sweeps_take_them_as_well() {
    let pages = ["compare", "--algorithms", "ricart-agrawala,central", "--nodes", "3"];
    let faults = ["--entries", "20", "--load", "heavy", "--pause", "1@1ms..2ms,2@1ms..3ms"];
    let more = ["--pause", "0@5ms..6ms", "--slow", "0-1:x2"];
    let (code, out, err) = run(&[&pages[..], &faults, &more].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let typed = "--pause 1@1ms..2ms --pause 2@1ms..3ms --pause 0@5ms..6ms --slow 0-1:x2@0..";
    assert!(out.contains(typed), "{out}");

    let sweep = ["sweep", "--algorithms", "bully", "--nodes", "4", "--csv", "-", "--seeds", "3"];
    let how = ["--random-faults", "mild,harsh", "--crash", "3@0", "--crash", "2@1ms"];
    let (code, out, err) = run(&[&sweep[..], &how].concat());
    assert!(code < 2, "{err}");
    assert_eq!(out.lines().count(), 1 + 2 * 3, "{out}");
    assert!(out.contains("3@0 2@1ms") && out.contains("mild") && out.contains("harsh"), "{out}");
}

/// Which assumption was violated can be told only if it is among those that are listed.
#[test]
fn who_is_stuck_after_a_crash_is_told_which_crashes_are_not_covered() {
    let waits =
        "If a node crashes while it waits or is inside, its locks are gone until it comes up";
    let tried = "whoever has said nothing while the first message that it has not acknowledged was \
                 sent to it again R times is taken for crashed";
    for (line, says) in [
        ("run maekawa-fallback --nodes 7 --quorum tree --crash 0@20ms", waits),
        ("run ack --nodes 3 --crash 1@20ms", "that no member crashes"),
        ("run nack --nodes 3 --crash 1@20ms", "that no member crashes"),
        ("run lamport --nodes 3 --crash 1@20ms", "and that no node fails"),
        ("check maekawa-fallback --nodes 3 --crashes 1", waits),
        ("check ack --nodes 3 --crashes 1", "that no member crashes"),
        ("check ack --nodes 3 --crashes 1 --losses 2 --tries 1", tried),
    ] {
        let (code, out, _) = run(&line.split_whitespace().collect::<Vec<_>>());
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, 1, "{line}: {out}");
        assert!(out.contains(says), "{line}: {out}");
    }
}
