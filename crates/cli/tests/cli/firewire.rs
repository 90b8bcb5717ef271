//! Tree election as on a `FireWire` bus: the times of the standard, children that are acknowledged
//! at once, and ports.

use crate::support;

use support::{json, json_of, run, run_on};

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

const TWO: &str = "run tree-election --nodes 2 --topology line --contention firewire";

/// Two messages elect, and two more are taken back for every toss.
fn tosses(command: &str) -> u64 {
    let measured = json_of(&words(command));
    (measured["messages"].as_u64().expect("a number") - 2) / 2
}

#[test]
fn on_short_cables_the_first_coins_that_differ_decide() {
    let measured = json_of(&words(TWO));
    assert_eq!((&measured["latency"], &measured["warning"]), (&"23ns".into(), &().into()));
    let once = (1..=20).filter(|seed| tosses(&format!("{TWO} --seed {seed}")) == 1).count();
    assert!((3..18).contains(&once), "half of all coins differ: {once}");
}

#[test]
fn on_long_cables_no_first_coins_decide_and_that_is_said_before() {
    let slow = format!("{TWO} --latency 400ns");
    let measured = json_of(&words(&slow));
    let warning = measured["warning"].as_str().expect("a sentence");
    for part in ["up to 260ns", "up to 400ns", "570ns", "155ns at most", "309ns if both notice"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    for seed in 1..=20 {
        assert!(tosses(&format!("{slow} --seed {seed}")) > 1, "seed {seed}");
    }
    let warned = |latency: &str| {
        let measured = json_of(&words(&format!("{TWO} --latency {latency}")));
        measured["warning"].is_string()
    };
    assert_eq!(["155ns", "156ns", "uniform:0..155ns"].map(warned), [false, true, false]);
    // What coins differ by would have to add up to a millisecond.
    let (code, out, _) = run(&words(&format!("{TWO} --latency 1ms")));
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("without progress") && out.contains("warning: --contention"), "{out}");
}

#[test]
fn the_checker_warns_of_long_cables_as_well() {
    let check = "check tree-election --nodes 2 --topology line --contention";
    let answer = json_of(&words(&format!("{check} firewire")));
    assert_eq!((&answer["outcome"], &answer["warnings"]), (&"verified".into(), &[(); 0].into()));
    let covers = answer["covers"].to_string();
    assert!(covers.contains("contention firewire") && covers.contains("within 23ns"), "{covers}");
    let warnings = |more: &str| json_of(&words(&format!("{check} {more}")))["warnings"].to_string();
    assert!(warnings("firewire --within 400ns").contains("two messages of up to 400ns"));
    assert!(warnings("firewire --asynchronous").contains("needs a bound on message delay"));
    assert_eq!(warnings("firewire-a --within 370ns").replace(' ', ""), "[]");
    assert!(warnings("firewire-a --within 371ns").contains("850ns"));
}

#[test]
fn children_are_acknowledged_at_once_as_on_the_slide() {
    let run_of = "run tree-election --nodes 7 --gather 5ms --acknowledge";
    for (when, messages) in [("with-root", 12), ("at-once", 18)] {
        let measured = json_of(&words(&format!("{run_of} {when}")));
        assert_eq!(measured["messages"], messages, "{when}");
        assert_eq!(measured["leader"], 0, "{when}: the middle of the tree");
    }
    let (code, _, err) = run(&words(&format!("{run_of} never")));
    assert_eq!(code, 2);
    assert!(err.contains("'never' is not one of: with-root, at-once"), "{err}");
    let (code, answer) =
        json(&words("check tree-election --nodes 4 --topology star --acknowledge at-once"));
    assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{answer:#}");
}

#[test]
fn a_stage_shows_ports() {
    let script = "elect 0\nelect 1\nelect 2\ndeliver 0->1\nstate\n";
    let args = words("step tree-election --nodes 3 --topology line");
    let (code, out, err) = run_on(script, &args);
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().any(|line| line.contains(" ports ")), "{out}");
    let middle = out.lines().find(|line| line.starts_with("# node 1")).expect("a line");
    assert!(middle.contains("*child asked"), "port 0 and port 1: {out}");
}
