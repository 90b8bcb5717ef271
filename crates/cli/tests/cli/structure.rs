//! `vorrang structure` and `vorrang draw structure`: Sanders' information structures.

use crate::support;

use std::fs;

use serde_json::{Value, json};
use support::{Folder, json, json_of, run, run_wide};

/// The four processes of the literature, which counts them from 1.
const EXAMPLE: &str = "sets:0-1/0,0-1/1,0-1-2,0-1-3";

#[test]
fn the_example_has_the_bounds_and_the_delays_that_are_published() {
    let report = json_of(&["structure", EXAMPLE]);
    let sets = report["sets"].as_array().expect("a node each");
    let of = |key: &str| sets.iter().map(|it| it[key].clone()).collect::<Vec<Value>>();
    assert_eq!(of("messages_min"), [2, 2, 6, 6]);
    assert_eq!(of("messages_max"), [10, 10, 15, 15]);
    assert_eq!(of("messages_alone"), [2, 2, 6, 6], "measured");
    assert_eq!(of("informed_by"), [json!([0, 2, 3]), json!([1, 2, 3]), json!([2]), json!([3])]);
    let published = json!([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]]);
    assert_eq!(report["delay_published"], published);
    let measured = json!([
        [0.0, 1.0, 1.0, 1.0],
        [1.0, 0.0, 1.0, 1.0],
        [2.0, 2.0, 0.0, 2.0],
        [2.0, 2.0, 2.0, 0.0]
    ]);
    assert_eq!(report["delay_measured"], measured);
    let mean = report["messages_saturated"].as_f64().expect("a mean");
    assert!((2.0..=15.0).contains(&mean), "{mean}");
    let (_, out, _) = run(&["structure", EXAMPLE]);
    for part in
        ["2     0 1 2    0 1 2       2                6…15      6", "safe", "a message less"]
    {
        assert!(out.contains(part), "no '{part}' in:\n{out}");
    }
}

/// What the theory expects of two nodes alone is what every run comes to, and D is a bound of it
/// unless one informs whom the other only asks.
#[test]
fn measured_delays_are_as_expected_for_any_structure() {
    let cases = [
        ("central --nodes 4", true),
        ("lamport --nodes 3", true),
        ("ricart-agrawala --nodes 4", true),
        ("maekawa --nodes 7", true),
        ("maekawa --quorum grid --nodes 6", true),
        ("sets:0-1-2/0-2,0-1-2/1,0-1-2", false),
        ("sets:0-1-2-3/0-3,0-1-2/1,0-1-2-3/2,0-1-2-3", false),
    ];
    for (text, is_bounded) in cases {
        let words: Vec<&str> = ["structure"].into_iter().chain(text.split(' ')).collect();
        let report = json_of(&words);
        let flat = |key: &str| -> Vec<f64> {
            let rows = report[key].as_array().expect("a matrix").iter();
            rows.flat_map(|row| row.as_array().expect("a row"))
                .map(|it| it.as_f64().expect("a delay"))
                .collect()
        };
        let (measured, published) = (flat("delay_measured"), flat("delay_published"));
        assert_eq!(measured, flat("delay_expected"), "{text}");
        let stays = measured.iter().zip(&published).all(|(measured, bound)| measured <= bound);
        assert_eq!(stays, is_bounded, "{text}");
    }
    let (_, out, _) = run(&["structure", "sets:0-1-2/0-2,0-1-2/1,0-1-2"]);
    assert!(out.contains("More than D from 0 to 1: node 0 informs node 2"), "{out}");
}

#[test]
fn a_structure_that_is_not_safe_is_told_with_the_two_nodes() {
    let (code, report) = json(&["structure", "sets:0-1/0,0-1/1,0-2,0-1-3"]);
    assert_eq!((code, &report["safe"]), (1, &false.into()));
    let why = report["unsafe_because"].as_str().expect("a sentence");
    assert!(why.starts_with("nodes 1 and 2 could be inside together"), "{why}");
    assert_eq!(report["delay_measured"], Value::Null, "it is not run");
    for (text, why) in [
        ("structure ring", "'ring' is not an information structure"),
        ("structure sets:0-7,0", "node 0 asks node 7: the last node is 1"),
        ("structure sets:0,0 --nodes 3", "it is for 2 nodes, not 3: say --nodes 2"),
        ("structure central --quorum grid", "--quorum is for the structure maekawa"),
        ("draw structure sets:0,/", "node 1 asks nobody"),
    ] {
        let (code, out, err) = run(&text.split(' ').collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (2, ""), "{text}");
        assert!(err.contains(why), "{text}: {err}");
    }
}

#[test]
fn a_structure_is_drawn_with_two_kinds_of_arrows() {
    let (_, out, _) = run(&["draw", "structure", EXAMPLE]);
    for part in ["0 asks 1\n", "1 asks 0\n", "2 asks and informs 0, 1\n", "3 asks and informs 0, 1"]
    {
        assert!(out.contains(part), "no '{part}' in:\n{out}");
    }
    let folder = Folder::new("structure");
    let picture = |file: &str| {
        let path = folder.path(file);
        let (code, _, err) = run(&["draw", "structure", EXAMPLE, "-o", &path]);
        assert_eq!(code, 0, "{err}");
        fs::read_to_string(path).expect("a picture")
    };
    let svg = picture("example.svg");
    assert!(svg.contains(">asks</text>") && svg.contains(">asks and informs</text>"), "a legend");
    let arrows = |class: &str| svg.matches(&format!("<path class=\"{class}\"")).count();
    assert_eq!((arrows("k2 a dash"), arrows("x a")), (2 + 1, 4 + 1), "one of each in the legend");
    let dot = picture("example.dot");
    assert!(dot.contains("n0 -> n1 [color=forestgreen, style=dashed]"), "{dot}");
    assert!(dot.contains("n3 -> n1 [color=red]"), "{dot}");
}

#[test]
fn what_it_says_fits_a_narrow_screen() {
    let (code, out) = run_wide(40, &["structure", "lamport", "--nodes", "3"]);
    assert_eq!(code, 0);
    let said = out.lines().find(|line| line.starts_with("Synchronisation")).expect("it is there");
    assert!(said.chars().count() <= 40, "{said}");
}
