//! What a wave gathers: the values of all nodes, and what is made of them, in every driver.

use crate::support;

use std::fs;

use serde_json::Value;
use support::{Folder, json, json_of, run, run_on};

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

const VALUES: &str = "--nodes 5 --values 4,0,7,7,1";

/// What is asked for, and what the initiator is told of 4, 0, 7, 7 and 1.
const RESULTS: [(&str, &str); 5] = [
    ("sum", "sum 19"),
    ("max", "max 7"),
    ("min", "min 0"),
    ("count", "count 5"),
    ("collect", "0:4 1:0 2:7 3:7 4:1"),
];

#[test]
fn a_run_tells_what_was_made_of_the_values() {
    for algorithm in ["echo", "echo-taboo"] {
        for (aggregate, result) in RESULTS {
            let command = format!("run {algorithm} {VALUES} --aggregate {aggregate} --invariants");
            let measured = json_of(&words(&command));
            assert_eq!(measured["result"], result, "{command}: {measured:#}");
            assert_eq!(measured["count"], 5);
            let sum = if aggregate == "sum" { Value::from(19) } else { Value::Null };
            assert_eq!(measured["sum"], sum, "{command}");
        }
    }
    let plain = json_of(&words("run echo --nodes 5"));
    assert_eq!((&plain["result"], &plain["sum"]), (&"sum 10".into(), &10.into()));
    let (_, out, _) = run(&words(&format!("run echo {VALUES} --aggregate max")));
    assert!(
        out.lines().any(|line| line.split_whitespace().eq(words("of their values max 7"))),
        "{out}"
    );
}

#[test]
fn values_may_be_in_a_file_and_what_is_wrong_with_them_is_said() {
    let folder = Folder::new("wave-values");
    let path = folder.path("measured.txt");
    let path = path.as_str();
    fs::write(path, "4 # the first\n0, 7\n7\n1\n").expect("it can be written");
    let args = ["run", "echo", "--nodes", "5", "--aggregate", "max", "--values", path];
    assert_eq!(json_of(&args)["result"], "max 7");
    for (nodes, values, wanted, why) in [
        ("4", path, 4, "there are 5 values for 4 nodes: give one a node"),
        ("5", "7", 2, "--values: there is 1 value for 5 nodes: give one a node"),
        ("5", "1,2,3", 2, "--values: there are 3 values for 5 nodes: give one a node"),
        ("2", "1,-1", 2, "'-1' is not a value from 0 to 1000000000: say ids, or a number a node"),
        ("2", "nowhere.txt", 4, "there is no such file"),
    ] {
        let (code, _, err) = run(&["run", "echo", "--nodes", nodes, "--values", values]);
        assert_eq!((code, err.contains(why)), (wanted, true), "{values}: {err}");
    }
    let (code, _, err) = run(&["run", "echo", "--aggregate", "mean"]);
    assert_eq!(code, 2);
    assert!(err.contains("'mean' is not one of: sum, max, min, count, collect"), "{err}");
    let (code, _, err) = run(&["run", "dijkstra-scholten", "--aggregate", "max"]);
    assert_eq!((code, err.contains("--aggregate")), (2, true), "its work is only counted: {err}");
}

#[test]
fn the_checker_proves_the_result_and_finds_values_that_are_lost_or_counted_twice() {
    for (aggregate, _) in RESULTS {
        for algorithm in ["echo", "echo-taboo"] {
            let command =
                format!("check {algorithm} --nodes 4 --values 3,9,9,2 --aggregate {aggregate}");
            let answer = json_of(&words(&command));
            assert_eq!(answer["outcome"], "verified", "{command}");
            // What is gathered does not matter to how the wave gets everywhere.
            let plain = json_of(&words(&format!("check {algorithm} --nodes 4")));
            assert_eq!(answer["states"], plain["states"], "{command}");
        }
        for flaw in ["crossing-is-echoed", "children-forgotten"] {
            let command =
                format!("check echo --flaw {flaw} --values 7,7,7 --aggregate {aggregate}");
            let (code, answer) = json(&words(&command));
            assert_eq!((code, &answer["property"]), (1, &"aggregate".into()), "{command}");
        }
    }
    let (_, answer) =
        json(&words("check echo --flaw children-forgotten --values 1,9,4 --aggregate max"));
    assert_eq!(
        answer["violation"],
        "node 0 was told of 2 nodes with the max 9: there are 3 nodes with the max 9"
    );
    let covers = json_of(&words("check echo --values 1,9,4 --aggregate max"))["covers"].to_string();
    assert!(covers.contains("aggregate max, values 1,9,4"), "{covers}");
}

#[test]
fn a_stage_and_a_network_tell_the_same() {
    let setup = words("--nodes 3 --values 4,0,7 --aggregate collect");
    let (code, out, err) = run_on("start 0\nsettle\n", &[&["step", "echo"], &setup[..]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("done: 3 nodes, 0:4 1:0 2:7"), "{out}");
    let measured = json_of(&[&["run", "echo", "--net"], &setup[..]].concat());
    assert_eq!(measured["result"], "0:4 1:0 2:7", "{measured:#}");
}
