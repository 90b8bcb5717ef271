//! Failure detection and elections whose leader is watched, as a person meets them.

use crate::support;

use serde_json::Value;
use support::{json, run};

fn figures(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    json(&words).1
}

#[test]
fn what_a_crash_and_a_heartbeat_cost_is_what_the_theory_says() {
    for (crash, detection) in [("52ms", 4.5), ("50ms", 1.5), ("0", 5.5)] {
        let run = figures(&format!("run heartbeat --nodes 5 --crash 2@{crash}"));
        assert_eq!(run["detection_mean"], detection, "{run}");
        for figure in ["detection_mean", "messages", "mistakes"] {
            assert_eq!(run[format!("{figure}_agreement")], "agrees", "{figure} {run}");
        }
        assert_eq!((&run["detections"], &run["undetected"]), (&4.into(), &0.into()));
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()));
    }
}

/// The worse the jitter, the more mistakes and the later the detection; where there is a bound, so
/// there is on mistakes.
#[test]
fn accuracy_and_detection_time_depend_on_the_latency() {
    let of = |latency: &str| {
        let line = "run heartbeat --nodes 5 --for 2s --crash 3@1003ms --latency";
        let run = figures(&format!("{line} {latency}"));
        assert_eq!((&run["safe"], &run["undetected"]), (&true.into(), &0.into()), "{run}");
        let number = |key: &str| run[key].as_f64().expect(key);
        (number("mistakes"), number("detection_mean"), number("accuracy"), run)
    };
    let (steady, jittery, wild) = (of("1ms"), of("uniform:0..2ms"), of("exp:1ms"));
    assert_eq!((steady.0, steady.2), (0.0, 1.0));
    assert!(jittery.0 > 20.0 && jittery.0 <= 40.0, "twice for every two at most: {}", jittery.0);
    assert_eq!(jittery.3["mistakes_theory_high"], 40.0);
    assert!(wild.0 > jittery.0 && wild.3["mistakes_theory_high"].is_null(), "{}", wild.3);
    assert!(steady.1 < jittery.1 && jittery.1 < wild.1, "margins have grown");
    assert!(wild.2 < jittery.2 && jittery.2 < 1.0, "{} {}", wild.2, jittery.2);
}

#[test]
fn a_run_lasts_as_long_as_it_is_told_and_as_it_takes_to_notice() {
    assert_eq!(figures("run heartbeat --nodes 2 --for 12ms")["messages"], 6, "at 0, 5 and 10 ms");
    let late = figures("run heartbeat --nodes 3 --for 12ms --crash 0@11ms");
    assert_eq!((&late["for"], &late["undetected"]), (&"17500us".into(), &0.into()), "{late}");
    let (code, _, err) = run(&["run", "bully", "--for", "1s"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "error: bully comes to rest by itself: leave out --for\n")
    );
    let (code, _, err) = run(&["run", "heartbeat", "--for", "0"]);
    assert!(code == 2 && err.contains("a run takes some time"), "{err}");
    let (code, _, err) = run(&["run", "heartbeat", "--nodes", "2001"]);
    assert!(code == 2 && err.contains("at most 2000"), "{err}");
    let (code, _, err) = run(&["run", "heartbeat", "--for", "3600000s", "--nodes", "100"]);
    assert!(code == 2 && err.contains("more than 1000000000 messages"), "{err}");
    let (code, _, err) = run(&["run", "lamport", "--for", "1s"]);
    assert!(
        code == 2 && err.contains("--for is an option of election and failure detection"),
        "{err}"
    );
}

#[test]
fn a_time_that_is_too_short_is_not_replaced_in_silence() {
    for (line, asked, until) in [
        ("run heartbeat --nodes 3 --crash 0@11ms", "12ms", "the last fault"),
        ("run watching-bully --nodes 3", "10ms", "everyone follows one leader again"),
        ("run watching-ring --nodes 3", "10ms", "everyone follows one leader again"),
        ("run view-leader --nodes 3", "10ms", "everyone follows one leader again"),
    ] {
        let run = figures(&format!("{line} --for {asked}"));
        let lasts = run["for"].as_str().expect("a time");
        let warning = run["warning"].as_str().unwrap_or_else(|| panic!("no warning: {run:#}"));
        let says = format!("--for {asked} is too short: it may take {lasts} until ");
        assert!(warning.starts_with(&says) && warning.contains(until), "{warning}");
        assert_ne!(lasts, asked);
        let words = format!("{line} --for {asked}");
        let (code, out, _) = self::run(&words.split(' ').collect::<Vec<_>>());
        assert!(code == 0 && out.contains(&format!("warning: --for {asked} is too")), "{out}");
        let enough = figures(&format!("{line} --for {lasts}"));
        assert!(enough["warning"].is_null() && enough["for"] == lasts, "{enough:#}");
    }
}

#[test]
fn a_leader_that_crashes_is_missed_and_replaced() {
    for name in ["watching-bully", "watching-ring"] {
        let run = figures(&format!("run {name} --nodes 6 --crash 5@50ms"));
        assert_eq!((&run["leader"], &run["safe"]), (&4.into(), &true.into()), "{run}");
        assert_eq!(run["quiescent"], true, "{run}");
        let healed = format!("run {name} --nodes 5 --partition 0,1|2,3,4@100ms..900ms");
        let healed = figures(&healed);
        assert_eq!((&healed["leader"], &healed["quiescent"]), (&4.into(), &true.into()));
        let untold = figures(&format!("run {name} --nodes 3 --partition 0|1,2@0..50ms --for 2s"));
        assert_eq!(
            (&untold["leader"], &untold["quiescent"]),
            (&2.into(), &true.into()),
            "{untold}"
        );
        let flawed = run_of(&format!("run {name} --nodes 6 --crash 5@50ms --flaw nobody-calls"));
        assert!(flawed.0 == 1 && flawed.1.contains("follows node 5, which is down"), "{flawed:?}");
    }
}

fn run_of(line: &str) -> (i32, String, String) {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

/// As many messages as the printed code sends, and as it should.
#[test]
fn an_algorithm_runs_with_a_known_mistake() {
    let right = figures("run bully --nodes 8 --crash 7@0");
    let wrong = figures("run bully --nodes 8 --crash 7@0 --flaw no-guard");
    assert_eq!((&right["messages"], &wrong["messages"]), (&55.into(), &382.into()));
    assert_eq!((&right["flaw"], &wrong["flaw"]), (&Value::Null, &"no-guard".into()));
    assert_eq!(wrong["messages_agreement"], "disagrees");
    let (code, out, _) = run_of("run ricart-agrawala --nodes 3 --flaw no-tie-break");
    assert!(code == 1 && out.contains("violation: exclusion"), "{out}");
    assert!(out.starts_with("vorrang run ricart-agrawala") && out.contains("--flaw no-tie-break"));
    let (code, _, err) = run_of("run bully --flaw no-gard");
    assert!(code == 2 && err.contains("did you mean 'no-guard'?"), "{err}");
    let (code, _, err) = run_of("run lamport --net --nodes 2 --flaw unordered-links");
    assert!(code == 2 && err.contains("--flaw is for the simulator"), "{err}");
    let over = figures("run lamport --nodes 3 --reliable --flaw unordered-links --loss 5%");
    assert_eq!(over["safe"], true, "channels give back the order: {over}");
}

/// What is wrong on purpose is wrong in a run, too; and what goes on for ever is ended.
#[test]
fn a_detector_with_a_mistake_does_not_pass() {
    let (code, out, _) = run_of("run heartbeat --latency uniform:0..4ms --flaw never-recovers");
    assert!(code == 1 && out.contains("violation: accuracy: node"), "{out}");
    let (code, out, _) = run_of("run heartbeat --latency uniform:0..2ms --flaw learns-nothing");
    assert!(code == 1 && out.contains("violation: accuracy: node"), "{out}");
    assert_eq!(run_of("run heartbeat --latency uniform:0..4ms").0, 0);
    let (code, out, _) = run_of("run tree-election --nodes 2 --flaw equal-waits");
    assert!(code == 1 && out.contains("without progress"), "{out}");
}

/// Of the whole family, side by side, on three kinds of links.
#[test]
fn detectors_are_compared_by_how_long_messages_take() {
    let (code, out, err) = run_of("compare --problem detection --nodes 4");
    assert_eq!((code, err.as_str()), (0, ""));
    for latency in ["--latency 1ms", "--latency uniform:0..2ms", "--latency exp:1ms"] {
        assert!(out.contains(latency), "{out}");
    }
    assert!(out.contains("DETECTION/T") && out.contains("MISTAKES"), "{out}");
}

#[test]
fn a_detector_runs_over_tcp() {
    let run = figures("run heartbeat --nodes 3 --net --beat 20ms --margin 100ms --for 200ms");
    let messages = run["messages"].as_u64().expect("a number");
    assert!((30..=72).contains(&messages), "{run}");
    assert_eq!((&run["safe"], &run["detections"]), (&true.into(), &0.into()), "{run}");
    let killed = "run heartbeat --nodes 3 --net --processes --beat 50ms --margin 50ms";
    let killed = figures(&format!("{killed} --crash 1@200ms"));
    assert_eq!((&killed["detections"], &killed["undetected"]), (&2.into(), &0.into()), "{killed}");
}
