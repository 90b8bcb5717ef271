//! `vorrang topology`: what is shown of a graph, and what is said of a wrong one.

use crate::support;

use std::fs;

use serde_json::json;
use support::{Folder, json_of, run};

#[test]
fn a_shape_is_measured_and_its_links_are_listed() {
    let ring = json_of(&["topology", "ring", "--nodes", "6"]);
    assert_eq!((&ring["edges"], &ring["diameter"]), (&json!(6), &json!(3)));
    assert_eq!((&ring["mean_distance"], &ring["tree"]), (&json!(1.8), &json!(false)));
    assert_eq!(ring["links"][0], json!([0, 1]));
    let (code, text, _) = run(&["topology", "tree:2", "--nodes", "7"]);
    assert_eq!(code, 0);
    assert!(text.contains("diameter         4\n"), "{text}");
    assert!(text.contains("  1: 0 3 4\n"), "{text}");
    let (_, dot, _) = run(&["topology", "line", "--nodes", "3", "--dot"]);
    assert_eq!(dot, "graph {\n  node [shape=circle]\n  0 -- 1\n  1 -- 2\n}\n");
}

#[test]
fn a_seed_decides_what_is_drawn() {
    let drawn = |seed| {
        json_of(&["topology", "random:0.1", "--nodes", "50", "--seed", seed])["links"].take()
    };
    assert_eq!(drawn("7"), drawn("7"));
    assert_ne!(drawn("7"), drawn("8"));
    assert_eq!(drawn("7").as_array().unwrap().len(), 123);
    let said = json_of(&["topology", "random:0.1:7", "--nodes", "50", "--seed", "8"]);
    assert_eq!(said["links"], drawn("7"), "a seed in the name is the one that counts");
}

#[test]
fn a_file_of_links_is_a_topology_and_a_wrong_line_is_named() {
    let folder = Folder::new("topology");
    let path = folder.path("links.txt");
    fs::write(&path, "0 1\n1 2 # a path\n").unwrap();
    assert_eq!(json_of(&["topology", &path, "--nodes", "3"])["diameter"], json!(2));
    let wrong = |text: &str, nodes: &str, wanted: i32, why: &str| {
        fs::write(&path, text).unwrap();
        let (code, _, err) = run(&["topology", &path, "--nodes", nodes]);
        assert_eq!(code, wanted, "{err}");
        assert!(err.contains(why), "{err}");
    };
    wrong("0 1\n1 two\n", "3", 4, "line 2: 'two' is not a node's number");
    // The file is as it should be, and does not fit what was typed.
    wrong("0 1\n", "3", 2, "no path leads from node 0 to node 2");
    wrong("0 1\n1 9\n", "3", 2, "say --nodes 10");
}

#[test]
fn a_comparison_is_refused_where_nothing_could_take_the_topology() {
    let compare = |topology| {
        let args = ["compare", "--nodes", "4", "--entries", "20", "--load", "light"];
        run(&[&args[..], &["--topology", topology]].concat())
    };
    let (code, out, err) = compare("rnig");
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("'rnig' is not a topology"), "{err}");
    let (code, out, _) = compare("ring");
    assert_eq!(code, 0, "some of them do not care, and some take it");
    assert!(out.contains("echo-lift") && out.contains("Left out: --topology ring"), "{out}");
}

#[test]
fn what_is_no_topology_is_answered_with_those_there_are() {
    for (shape, nodes, why) in [
        ("rign", "5", "'rign' is not a topology: say ring, line"),
        ("tree:0", "5", "at least 1 child"),
        ("random:2", "5", "'2' is not a density"),
        ("hypercube", "6", "such as 4 or 8"),
        ("complete", "1000000", "more than 20000000"),
    ] {
        let (code, _, err) = run(&["topology", shape, "--nodes", nodes]);
        assert_eq!(code, 2, "{shape}: {err}");
        assert!(err.contains(why), "{shape}: {err}");
    }
}
