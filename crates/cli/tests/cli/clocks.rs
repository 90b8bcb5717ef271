//! `vorrang clocks`: Lamport's clocks on a script.

use crate::support;

use std::fs;

use serde_json::{Value, json};
use support::{Folder, json_of, run};

/// Three processes; the messages are a chain of causes.
const CHAIN: &str = "0 local; 0 sends a to 1; 1 gets a; 1 sends b to 2; 2 local 5; 2 gets b; \
                     2 sends c to 0; 0 gets c";

#[test]
fn the_example_reads_as_it_should_by_both_rules() {
    let told = json_of(&["clocks", CHAIN]);
    let events = told["events"].as_array().expect("events");
    let of = |key: &str| events.iter().map(|it| it[key].clone()).collect::<Vec<Value>>();
    // 0 local, 0 a!, 1 a?, 1 b!, 2 local 5 times, 2 b?, 2 c!, 0 c?
    assert_eq!(of("clock_late"), [1, 2, 2, 3, 1, 2, 3, 4, 5, 6, 7, 7]);
    assert_eq!(of("clock"), [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8]);
    let stamps = |key: &str| of(key).into_iter().filter(|it| !it.is_null()).collect::<Vec<_>>();
    assert_eq!(stamps("sent_with_late"), [1, 2, 6], "along the chain of causes");
    assert_eq!(stamps("sent_with"), [2, 4, 7]);
    assert_eq!(events[11]["vector"], json!([3, 2, 7]));
    // (1,0) < (1,2) < (2,0) < (2,2) < (3,1) < (3,2) < …
    assert_eq!(told["total_order"], json!([0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10, 11]));
    let (_, out, _) = run(&["clocks", CHAIN]);
    for part in ["4   1     sends b to 2  4  4          3   2", "1 (1,0), 5 (1,2), 2 (2,0)"] {
        assert!(out.contains(part), "no '{part}' in:\n{out}");
    }
    assert!(out.contains("Events 1 and 6 are concurrent"), "{out}");
}

/// The rule that lectures print orders messages, and not events.
#[test]
fn a_receipt_may_have_a_stamp_before_its_send_by_the_rule_of_the_lectures() {
    let (_, out, _) = run(&["clocks", "1 sends a to 0; 0 gets a"]);
    assert!(out.contains("By C' event 2 has the stamp (1,0), before (1,1)"), "{out}");
    let told = json_of(&["clocks", "1 sends a to 0; 0 gets a"]);
    assert_eq!(told["late_receipts_before_sends"], json!([1]));
    assert_eq!(told["total_order"], json!([0, 1]));
    let told = json_of(&["clocks", "0 sends a to 1; 1 gets a"]);
    assert_eq!(told["late_receipts_before_sends"], json!([]), "the number decides the tie");
}

#[test]
fn a_script_is_read_from_a_file_drawn_and_refused_with_the_event_that_is_wrong() {
    let folder = Folder::new("clocks");
    let (file, picture) = (folder.path("script.txt"), folder.path("clocks.svg"));
    fs::write(&file, "# to both\n0 sends a to 1,2\n1 gets a; 2 gets a\n").expect("written");
    let told = json_of(&["clocks", &file]);
    assert_eq!((&told["nodes"], &told["events"][2]["clock"]), (&3.into(), &2.into()));
    let spaced = folder.path("a script.txt");
    fs::write(&spaced, "0 local 5\n").expect("written");
    assert_eq!(json_of(&["clocks", &spaced])["events"][4]["clock"], 5);
    let drawn = ["draw", "clocks", CHAIN, "--clocks", "lamport", "-o", &picture];
    assert_eq!(run(&drawn).0, 0);
    let svg = fs::read_to_string(&picture).expect("a picture");
    assert!(svg.contains("node 2") && svg.contains(">8<"), "the last clock is there");
    let (_, out, _) = run(&["draw", "clocks", CHAIN]);
    assert!(out.contains("→1 a") && out.contains("←0 a"), "{out}");
    for (script, why) in [
        ("0 sleeps", "'0 sleeps': that is no event: write '0 local', '0 local 5'"),
        ("no-such.txt", "'no-such.txt': there is no such file, nor is that an event: write"),
        ("0 gets a", "'0 gets a': no message a was sent before"),
        ("0 sends a to 1; 2 gets a", "node 2 does not get a"),
        ("0 sends a to 1; 1 gets a; 1 gets a", "or has arrived"),
        ("0 sends a to 1; 0 sends a to 1", "there is another message a"),
        ("0 sends a to 0", "a node sends itself nothing"),
        ("x local", "'x' is not a node"),
        ("0 local 20000", "more than 10000 events"),
        ("# nothing", "nothing happens in it"),
    ] {
        let (code, out, err) = run(&["clocks", script]);
        let wanted = if script == "no-such.txt" { 4 } else { 2 };
        assert_eq!((code, out.as_str()), (wanted, ""), "{script}");
        assert!(err.contains(why), "{script}: {err}");
    }
}

#[test]
fn a_drawn_script_has_clocks_whether_they_are_asked_for_or_not() {
    let script = "0 sends a to 1; 1 gets a";
    let drawn = |more: &[&str]| {
        let (code, out, err) =
            run(&[&["draw", "clocks", script, "--format", "svg"], more].concat());
        assert_eq!(code, 0, "{err}");
        out
    };
    assert_eq!(drawn(&[]), drawn(&["--clocks", "lamport"]));
    assert_ne!(drawn(&[]), drawn(&["--clocks", "vector"]));
}
