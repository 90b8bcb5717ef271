//! What a comparison shows beside its means, and where all output for programs says it comes from.

use crate::support;

use std::fs;

use serde_json::Value;
use support::{Folder, csv, json_of, run, run_wide};

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

#[test]
fn several_seeds_show_their_spread_or_say_why_there_is_none() {
    let args = "compare --nodes 5 --entries 300 --load heavy --algorithms lamport,maekawa";
    let (code, out, _) = run(&words(&format!("{args} --seeds 4")));
    assert_eq!(code, 0);
    let why = "All 4 seeds measure the same of everything, so there is no ±: nothing that counts \
               is drawn by lot there. With --latency exp:1ms messages differ.";
    assert!(out.contains(why), "{out}");
    let (_, out, _) = run(&words(&format!("{args} --seeds 4 --latency exp:1ms")));
    assert!(out.contains('±') && !out.contains("measure the same"), "{out}");
    assert!(out.contains("± half the 95 % confidence interval of the mean"), "{out}");
    let (_, out, _) = run(&words(args));
    assert!(!out.contains('±') && !out.contains("measure the same"), "one seed: {out}");
    // Of two loads, one in which it is drawn by lot who asks.
    let args = "compare --nodes 5 --entries 300 --algorithms maekawa --seeds 4";
    let (_, out, _) = run(&words(args));
    assert!(out.contains("All 4 seeds measure the same of maekawa,"), "{out}");
}

#[test]
fn percentiles_and_completed_entries_are_compared() {
    let args = "compare --nodes 5 --entries 400 --load heavy --algorithms lamport,maekawa \
                --latency exp:1ms --seeds 2";
    let args: Vec<&str> = args.split_whitespace().collect();
    let (_, out) = run_wide(250, &args);
    let header = out.lines().find(|line| line.starts_with("ALGORITHM")).expect("a header");
    for column in ["RESPONSE/T", "P50/T", "P99/T", "ENTRIES"] {
        assert!(header.contains(column), "no {column}: {out}");
    }
    assert!(header.ends_with("ENTRIES"), "{out}");
    let rows = json_of(&args);
    for row in rows.as_array().expect("rows") {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row:#}"));
        assert!(number("response_p50") < number("response_p99"), "{row:#}");
        assert!((number("entries") - 400.0).abs() < 1e-9, "{row:#}");
        assert!(row["response_p99_ci95"].is_number(), "{row:#}");
        let name = row["algorithm"].as_str().expect("a name");
        let line = out.lines().find(|line| line.starts_with(name)).expect("a line");
        assert!(line.ends_with("  400"), "{line}");
    }
    // A node that crashes completes fewer.
    let crashed = "compare --nodes 5 --entries 400 --load heavy --algorithms \
                   ricart-agrawala-probing --crash 2@5ms";
    let rows = json_of(&crashed.split_whitespace().collect::<Vec<_>>());
    let entries = rows[0]["entries"].as_f64().expect("a number");
    assert!(entries < 400.0, "{rows:#}");
}

#[test]
fn marks_are_explained_where_they_occur() {
    const MEANINGS: [(char, &str); 4] = [
        ('✓', "✓ as the theory predicts"),
        ('○', "○ within the range of the theory"),
        ('✗', "✗ not as predicted"),
        ('±', "± half the 95 %"),
    ];
    let mut seen = Vec::new();
    for command in [
        "compare --nodes 3 --entries 50 --algorithms lamport",
        "compare --nodes 3 --entries 50 --algorithms lamport,maekawa --seeds 3 --latency exp:1ms",
        "compare --nodes 3 --entries 50 --summary --algorithms central",
        "compare --problem group --nodes 3",
        "compare --nodes 5 --entries 50 --load heavy --algorithms maekawa --latency exp:1ms",
        "compare --problem election --nodes 4 --algorithms bully",
    ] {
        let (code, out, err) = run(&words(command));
        assert_eq!(code, 0, "{err}");
        for (mark, meaning) in MEANINGS {
            let explained = out.contains(meaning);
            let occurs = out.replace(meaning, "").contains(mark);
            assert_eq!(explained, occurs, "{command}: {mark}\n{out}");
            seen.push((mark, occurs));
        }
    }
    for mark in ['✓', '○', '±'] {
        assert!(seen.contains(&(mark, true)) && seen.contains(&(mark, false)), "{mark}");
    }
    assert!(seen.contains(&('✗', false)));
}

/// Everything that is printed for programs says which version printed it, and what repeats it.
#[test]
fn output_for_programs_says_where_it_comes_from() {
    let folder = Folder::new("origin");
    let trace = folder.path("run.jsonl");
    assert_eq!(run(&words(&format!("run lamport --nodes 2 --entries 2 --trace {trace}"))).0, 0);
    let both = [
        "list",
        "run lamport --nodes 2 --entries 5",
        "compare --nodes 2 --entries 5 --algorithms lamport,central",
        "compare --nodes 3 --entries 5 --algorithms central --summary",
        "survive --nodes 2 --seeds 1 --algorithms central",
    ];
    let alone = [
        "survive --nodes 3 --seeds 1 --witness central lose",
        "check lamport --nodes 2",
        "check lamport --flaw list",
        &format!("replay {trace}"),
        "topology ring --nodes 4",
        "structure lamport --nodes 3",
        "quorum grid --nodes 4",
        "quorum compare --nodes 4",
        "torture --runs 3 --algorithms bully",
    ];
    let clocks = ["clocks", "0 sends it to 1; 1 gets it"];
    let all = both.iter().chain(&alone).map(|command| words(command)).chain([clocks.to_vec()]);
    for args in all {
        let (_, out, err) = run(&[&args[..], &["--json"]].concat());
        let value: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?}: {err}"));
        let rows = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        assert!(!rows.is_empty(), "{args:?}");
        for row in rows {
            assert_eq!(row["version"], env!("CARGO_PKG_VERSION"), "{args:?}: {row:#}");
            let command = row["command"].as_str().unwrap_or_default();
            assert!(command.starts_with(&format!("vorrang {}", args[0])), "{args:?}: {row:#}");
        }
    }
    for command in both {
        let (_, out, _) = run(&words(&format!("{command} --csv")));
        let rows = csv(&out);
        let of = |name: &str| rows[0].iter().position(|it| it == name).expect("a column");
        let (version, typed) = (of("version"), of("command"));
        for row in &rows[1..] {
            assert_eq!(row[version], env!("CARGO_PKG_VERSION"), "{out}");
            // A run says what repeats it, whatever was typed.
            let is_run = command.starts_with("run ");
            let repeats = row[typed].starts_with("vorrang run lamport --nodes 2 --entries 5 ");
            let is_typed = row[typed] == format!("vorrang {command} --csv");
            assert!(if is_run { repeats } else { is_typed }, "{out}");
        }
    }
    let quoted = json_of(&clocks);
    assert_eq!(quoted["command"], "vorrang clocks '0 sends it to 1; 1 gets it' --json");
}

#[test]
fn a_row_of_a_sweep_is_repeated_by_its_command_and_parts_agree() {
    let folder = Folder::new("origin-sweep");
    let path = |name: &str| folder.path(name);
    let sweep = "sweep --nodes 2,3 --seeds 2 --entries 20 --latency exp:1ms --algorithms lamport";
    let (whole, joined) = (path("whole.csv"), path("joined.csv"));
    assert_eq!(run(&words(&format!("{sweep} --csv {whole}"))).0, 0);
    for part in [1, 2] {
        let part = format!("{sweep} --shard {part}/2 --csv {}", path(&format!("{part}.csv")));
        assert_eq!(run(&words(&part)).0, 0);
    }
    let merge = format!("merge {} {} --csv {joined}", path("1.csv"), path("2.csv"));
    assert_eq!(run(&words(&merge)).0, 0);
    let text = fs::read_to_string(&whole).expect("a file");
    assert_eq!(fs::read_to_string(&joined).expect("a file"), text, "parts are typed otherwise");
    let rows = csv(&text);
    let of = |name: &str| rows[0].iter().position(|it| it == name).expect("a column");
    for row in &rows[1..] {
        assert_eq!(row[of("version")], env!("CARGO_PKG_VERSION"));
        let command = row[of("command")].strip_prefix("vorrang ").expect("a command");
        let again = json_of(&words(command));
        for figure in ["messages", "response_mean", "seed", "nodes"] {
            let known: f64 = row[of(figure)].parse().expect("a number");
            assert_eq!(again[figure].as_f64(), Some(known), "{figure} of {command}");
        }
    }
}
