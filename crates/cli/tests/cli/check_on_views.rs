//! Locks on views in the checker: crashes, suspicions and joins at every moment.

use crate::support;

use serde_json::Value;
use support::{Folder, json, run};

/// Every mistake of locks on views has a counterexample as long as the shortest that is known.
#[test]
fn every_mistake_of_locks_on_views_is_found() {
    for (flaw, order, property, steps) in [
        ("enters-frozen", "fifo", "exclusion", 9),
        ("holder-forgotten", "fifo", "exclusion", 9),
        ("view-ignored", "any", "progress", 22),
        ("clock-not-carried", "fifo", "fencing", 5),
        ("own-order", "fifo", "fencing", 15),
    ] {
        let args = ["check", "suzuki-kasami", "--on-views", "--flaw", flaw, "--order", order];
        let (code, answer) = json(&args);
        assert_eq!((code, &answer["property"]), (1, &property.into()), "{flaw}: {answer:#}");
        let run = answer["trace"].as_array().expect("a run");
        assert_eq!(run.len(), steps, "{flaw}: {answer:#}");
    }
}

#[test]
fn the_question_is_told_and_the_line_asks_it_again() {
    let small = ["check", "central", "--on-views", "--nodes", "2"];
    let (code, answer) = json(&small);
    assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{answer:#}");
    let line = answer["command"].as_str().expect("a command");
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    let (_, again) = json(&words);
    assert_eq!(again["states"], answer["states"], "{line}");
    assert!(line.contains("--on-views --suspicions 0:1 --crashes 1"), "{line}");
    let covers = answer["covers"].as_str().expect("words");
    assert!(covers.contains("on views, node 0 may suspect 1"), "{covers}");
}

#[test]
fn a_counterexample_is_written_and_drawn() {
    let folder = Folder::new("check-on-views");
    let (trace, picture) = (folder.path("run.jsonl"), folder.path("run.svg"));
    let flaw = ["--on-views", "--flaw", "clock-not-carried"];
    let args = [&["check", "suzuki-kasami"], &flaw[..], &["--trace", &trace]].concat();
    assert_eq!(run(&args).0, 1);
    let (code, out, err) = run(&["draw", &trace, "-o", &picture]);
    assert_eq!(code, 0, "{out}{err}");
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.contains("fencing") && drawn.contains("inside"), "{drawn}");
    let args = [&["draw", "check", "suzuki-kasami"], &flaw[..], &["--format", "text"]].concat();
    let (code, out, err) = run(&args);
    assert!(code == 0 && out.contains("acquire"), "{code} {out}{err}");
    is_replayed(&trace);
    // Of another process under the number of node 1, with leases and without stable storage.
    let replaced = ["--on-views", "--flaw", "replaced-life-not-awaited", "--losses", "0"];
    let args = [&["check", "central"], &replaced[..], &["--trace", &trace]].concat();
    assert_eq!(run(&args).0, 1);
    is_replayed(&trace);
    // Something else than what the nodes do.
    let text = std::fs::read_to_string(&trace).expect("a trace");
    std::fs::write(&trace, text.replace("\"lease\":\"20ms\",", "")).expect("it can be written");
    let (code, out, err) = run(&["replay", &trace]);
    assert!(code == 1 && out.contains("not as recorded"), "{code} {out}{err}");
}

fn is_replayed(trace: &str) {
    let (code, out, err) = run(&["replay", trace]);
    assert!(code == 0 && out.contains("as recorded: "), "{code} {out}{err}");
}

/// A node that was down has missed what others say again with their next heartbeat.
#[test]
fn after_a_restart_heartbeats_come_and_whoever_waits_is_served() {
    let restart = ["--on-views", "--nodes", "2", "--restarts", "1"];
    let join = ["--on-views", "--nodes", "2", "--joins", "1", "--crashes", "1", "--restarts", "1"];
    for args in [&restart[..], &join] {
        let (code, answer) = json(&[&["check", "central"], args].concat());
        assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{answer:#}");
        let (properties, covers) = (answer["checked"].to_string(), answer["covers"].to_string());
        assert!(properties.contains("progress"), "{properties}");
        assert!(covers.contains("heartbeats after a restart"), "{covers}");
    }
}

#[test]
fn leases_forgotten_views_and_second_processes_are_checked() {
    let lease = ["--lease", "20ms"];
    let tokens = ["--forgetful", "--second", "1", "--losses", "0", "--order", "fifo"];
    let second = [&tokens[..], &lease].concat();
    for (more, safety) in [
        (&lease[..], &["exclusion", "fencing"][..]),
        (&second, &["exclusion", "fencing"]),
        (&tokens, &["fencing"]),
        (&["--forgetful", "--crashes", "1", "--restarts", "1"], &["fencing"]),
    ] {
        let small = ["check", "ricart-agrawala", "--on-views", "--nodes", "2"];
        let (code, answer) = json(&[&small, more].concat());
        assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{more:?}: {answer:#}");
        assert_eq!(answer["checked"], Value::from(safety), "{more:?}: {answer:#}");
        let line = answer["command"].as_str().expect("a command");
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        assert_eq!(json(&words).1["states"], answer["states"], "{line}");
    }
    let flaw = ["--flaw", "replaced-life-not-awaited", "--order", "fifo", "--losses", "0"];
    let (code, answer) = json(&[&["check", "ricart-agrawala", "--on-views"], &flaw[..]].concat());
    // Two are inside, or the one that was replaced enters after the other.
    assert_eq!((code, answer["trace"].as_array().map(Vec::len)), (1, Some(15)), "{answer:#}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (args, what) in [
        (&["central", "--on-views", "--losses", "1"][..], "--losses is not for --on-views"),
        (&["central", "--on-views", "--second", "0"], "say --forgetful"),
        (&["central", "--on-views", "--forgetful", "--second", "3"], "the last is 2"),
        (&["central", "--on-views", "--restarts", "1", "--fair"], "heartbeats come"),
        (&["central", "--on-views", "--lease", "0"], "a lease lasts some time"),
        (&["central", "--on-views", "--joins", "3"], "--joins 3: of 3 nodes at least one"),
        (&["central", "--on-views", "--suspicions", "0:5"], "there is no node 5, the last is 2"),
        (&["central", "--on-views", "--suspicions", "0:0"], "a node does not suspect itself"),
        (&["central", "--on-views", "--suspicions", "x"], "write 0:2,1:2, or none"),
        (&["central", "--on-views", "--entries", "forever"], "on views say how many"),
        (&["central", "--on-views", "--flaw", "nothing"], "holder-forgotten"),
        (&["regenerating-ring", "--on-views"], "goes by time"),
        (&["raymond", "--on-views", "--holder", "1"], "names nodes"),
        (&["bully", "--on-views"], "is an option of mutual exclusion"),
    ] {
        let (code, out, err) = run(&[&["check"], args].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(what), "{args:?}: {err}");
    }
}
