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

/// Two whose messages take longer than the long wait contend for ever: there is no duration.
#[test]
fn an_election_that_does_not_end_has_no_duration() {
    let (code, measured) = json(&words(&format!("{TWO} --latency 1ms")));
    assert_eq!((code, &measured["quiescent"]), (1, &false.into()), "{measured:#}");
    assert!(measured["leader"].is_null() && measured["duration"].is_null(), "{measured:#}");
}

/// A line of six, in which the higher of two that contend is the root.
const BUS: &str = "run bus-reset --nodes 6 --topology line --contention id";

#[test]
fn a_bus_that_is_torn_apart_has_a_root_in_each_part_and_one_when_it_is_whole_again() {
    let apart = json_of(&words(&format!("{BUS} --unplug 2-3@20ms")));
    assert_eq!((&apart["safe"], &apart["generation"]), (&true.into(), &2.into()), "{apart:#}");
    let roots: Vec<u32> = apart["leader"]
        .as_str()
        .expect("two")
        .split(", ")
        .map(|it| it.parse().expect("a node"))
        .collect();
    assert!(matches!(roots[..], [low, high] if low < 3 && high > 2), "{roots:?}");
    let whole = json_of(&words(&format!("{BUS} --unplug 2-3@20ms --plug 2-3@40ms")));
    assert!(whole["leader"].is_u64() && whole["safe"] == true, "{whole:#}");
    assert_eq!(whole["generation"], 3);
    assert!(whole["reorganised"].as_f64().expect("a time") < 20.0, "{whole:#}");
    let device = json_of(&words(&format!("{BUS} --unplug 2@20ms")));
    assert_eq!(device["leader"].as_str().expect("three").split(", ").count(), 3, "{device:#}");
    let early = json_of(&words(&format!("{BUS} --unplug 5@0 --initiators 0")));
    assert_eq!(early["leader"].as_str().expect("two").split(", ").last(), Some("5"));
}

#[test]
fn what_is_done_to_cables_must_be_possible_and_said_to_whom_it_concerns() {
    for (line, why) in [
        ("run tree-election --unplug 1@3ms", "tree-election has no cables that come and go"),
        ("check bully --unplug 1", "bully has no cables that come and go; bus-reset has"),
        ("run central --unplug 1@3ms", "--unplug is an option of election"),
        ("run bus-reset --nodes 3 --plug 1@3ms", "--plug 1@3ms: that is plugged in then"),
        ("run bus-reset --nodes 3 --unplug 1-2@3ms", "no cable is between nodes 1 and 2"),
        ("run bus-reset --nodes 3 --unplug 7@3ms", "there is no node 7, the last is 2"),
        ("run bus-reset --unplug 1", "'1' is not a cable and a time: write 1-2@50ms"),
        ("check bus-reset --unplug x", "'x' is neither a cable nor a device"),
    ] {
        let (code, _, err) = run(&words(line));
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
    let (code, out, err) = run_on("unplug 1 0\n", &words("step tree-election --nodes 3"));
    assert!(format!("{out}{err}").contains("only the election bus-reset"), "{code} {out} {err}");
}

#[test]
fn the_checker_lets_both_ends_notice_at_any_time() {
    let check = "check bus-reset --nodes 3 --topology line --contention id --order fifo";
    let answer = json_of(&words(&format!("{check} --initiators 0 --unplug 2 --plug 1-2")));
    assert_eq!(answer["outcome"], "verified", "{answer:#}");
    let covers = answer["covers"].to_string();
    assert!(covers.contains("unplugging 2, plugging in 1-2"), "{covers}");
    let usual = json_of(&words("check bus-reset --nodes 2"));
    let covers = usual["covers"].to_string();
    assert!(covers.contains("nobody calls, unplugging 1, plugging in 1"), "{covers}");
    assert_eq!(usual["outcome"], "verified", "{usual:#}");
    for (flaw, property) in [
        ("stale-generation", "one leader"),
        ("reset-not-flooded", "termination"),
        ("early-lost", "termination"),
    ] {
        let (code, answer) = json(&words(&format!("check bus-reset --flaw {flaw}")));
        assert_eq!((code, &answer["property"]), (1, &property.into()), "{flaw}: {answer:#}");
    }
}

#[test]
fn a_stage_and_a_picture_show_what_happens_to_cables() {
    let script = "elect 0\nsettle\nunplug 1 0\nunplug 0 1\nstate\nsettle\nplug 1 0\nplug 0 1\n\
                  settle\nrest\n";
    let args = words("step bus-reset --nodes 2 --topology line --contention id");
    let (code, out, err) = run_on(script, &args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("unplugged") && out.contains("bus reset 2"), "{out}");
    let (code, out, err) = run(&words(&format!("draw {BUS} --unplug 2-3@20ms --format text")));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("⚠ unplug 3") && out.contains("⚑ bus reset 2"), "{out}");
}
