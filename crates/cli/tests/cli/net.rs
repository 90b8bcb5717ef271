//! `vorrang run --net`: every algorithm over real TCP, under every load.

use crate::support;

use serde_json::Value;
use support::{json, json_of, run};
use vorrang_algorithms::card::Span;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::{Card, Load, MESSAGES, Setting};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::cards;
use vorrang_protocol::Group;

const NODES: u32 = 3;
const ENTRIES: u64 = 30;

/// What an entry costs, if that is the same at both ends of the curve or the load is at one.
fn exact_cost(card: &Card, load: &str) -> Option<f64> {
    let exact = |load| {
        let setup = card.setup(Group::of(NODES));
        let Span { low, high, .. } = card.cost(MESSAGES, &Setting::new(card, &setup, load))?;
        (low.to_bits() == high.to_bits()).then_some(low)
    };
    match load {
        "light" => exact(Load::Light),
        "heavy" => exact(Load::Heavy),
        _ => exact(Load::Light).filter(|cost| exact(Load::Heavy) == Some(*cost)),
    }
}

fn over_tcp(card: &Card, load: &str, more: &[&str]) -> Value {
    let (nodes, entries) = (NODES.to_string(), ENTRIES.to_string());
    let args = ["run", card.name, "--net", "--nodes", &nodes, "--entries", &entries];
    json_of(&[&args[..], &["--load", load], more].concat())
}

#[track_caller]
fn is_as_it_should_be(card: &Card, load: &str, run: &Value) {
    let context = format!("{} under {load} load: {run:#}", card.name);
    assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{context}");
    assert_eq!(run["entries"], ENTRIES, "{context}");
    assert_eq!((&run["time_unit"], &run["order"]), (&"us".into(), &"fifo".into()), "{context}");
    if let Some(cost) = exact_cost(card, load) {
        assert_eq!(run["messages_per_entry"], cost, "{context}");
    }
    if (card.terms.promises.ordering)(&Setup::new(Group::of(3))) {
        assert_eq!(run["overtakes"], 0, "{context}");
    }
}

/// The algorithms that stand more than one request at a time.
fn those_who_may_ask_together() -> Vec<&'static Card> {
    cards::<Mutex>().into_iter().filter(|card| !card.assumes.one_at_a_time).collect()
}

#[test]
fn what_may_get_stuck_is_not_run_over_tcp_under_heavy_load() {
    let (code, _, err) = run(&["run", "maekawa-basic", "--net", "--nodes", "3"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("maekawa-basic assumes that requests come one at a time"), "{err}");
}

#[test]
fn every_algorithm_runs_over_tcp_under_heavy_load() {
    for card in those_who_may_ask_together() {
        is_as_it_should_be(card, "heavy", &over_tcp(card, "heavy", &[]));
    }
}

#[test]
fn every_algorithm_runs_over_tcp_under_light_load() {
    for card in cards::<Mutex>() {
        let run = over_tcp(card, "light", &[]);
        is_as_it_should_be(card, "light", &run);
        assert_eq!(run["sync_delay_mean"], Value::Null, "nobody ever waits: {run:#}");
    }
}

#[test]
fn every_algorithm_runs_over_tcp_in_bursts() {
    for card in those_who_may_ask_together() {
        is_as_it_should_be(card, "burst", &over_tcp(card, "burst", &[]));
    }
}

#[test]
fn stays_and_pauses_are_taken_over_tcp_too() {
    for card in those_who_may_ask_together() {
        let run = over_tcp(card, "heavy", &["--hold", "1ms", "--think", "uniform:0..1ms"]);
        is_as_it_should_be(card, "heavy", &run);
        let response = run["response_mean"].as_f64().expect("a mean");
        assert!(response >= 1000.0, "no shorter than the stay, in microseconds: {response}");
    }
}

#[test]
fn a_process_a_node_gives_the_same_counts() {
    let is_meant = |card: &&Card| ["ricart-agrawala", "central"].contains(&card.name);
    for card in cards::<Mutex>().into_iter().filter(|card| is_meant(card)) {
        for load in ["heavy", "light", "burst"] {
            is_as_it_should_be(card, load, &over_tcp(card, load, &["--processes"]));
        }
    }
}

#[test]
fn waves_run_over_tcp_and_cost_the_same() {
    for shape in ["ring", "complete", "tree:2"] {
        let args =
            ["run", "echo", "--net", "--nodes", "7", "--topology", shape, "--initiator", "3"];
        let run = json_of(&args);
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
        assert_eq!((&run["driver"], &run["latency"]), (&"net".into(), &Value::Null), "{run:#}");
        assert_eq!((&run["count"], &run["sum"]), (&7.into(), &21.into()), "{run:#}");
        assert_eq!(run["messages_agreement"], "agrees", "{run:#}");
        assert_eq!(run["tree_depth_agreement"], "within", "{run:#}");
        assert_eq!((&run["time_unit"], &run["duration_agreement"]), (&"us".into(), &Value::Null));
    }
    let args = ["run", "echo-taboo", "--net", "--nodes", "5", "--topology", "complete"];
    assert_eq!(json_of(&args)["messages"], 8, "a star");
    assert_eq!(json_of(&["run", "echo", "--net", "--nodes", "1"])["count"], 1);
}

#[test]
fn elections_run_over_tcp() {
    for (args, leader, messages) in [
        ("bully --initiators highest", 4, Some(4)),
        ("bully --initiators lowest", 4, None),
        ("ring-election --initiators 2", 4, Some(10)),
        ("ring-election --initiators all --ring random", 4, None),
        ("chang-roberts --initiators lowest", 4, Some(14)),
        ("chang-roberts --initiators all --ring descending", 4, None),
        ("tree-election --contention id --topology line", 5, Some(9)),
        ("tree-election --contention wait --topology tree:2 --within 10ms", 5, None),
        ("tree-election --topology star --gather 500ms", 0, Some(8)),
        ("echo-election --topology ring --initiators highest", 4, Some(14)),
        ("echo-election --topology complete --initiators all", 4, None),
    ] {
        let args = format!("run {args} --net --nodes 5");
        let run = json_of(&args.split(' ').collect::<Vec<_>>());
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
        assert_eq!((&run["driver"], &run["time_unit"]), (&"net".into(), &"us".into()), "{run:#}");
        // In a tree any node may be the root.
        let elected = run["leader"].as_u64().expect("a leader");
        assert!(elected == leader || leader == 5 && elected < 5, "{args}: {run:#}");
        if let Some(messages) = messages {
            assert_eq!(run["messages_counted"], messages, "{args}: {run:#}");
        }
        assert_ne!(run["messages_agreement"], "disagrees", "{args}: {run:#}");
        assert_eq!(run["duration_agreement"], Value::Null, "{run:#}");
    }
}

#[test]
fn elections_and_waves_are_run_by_a_process_a_node() {
    for (args, key, value) in [
        ("bully --initiators 2", "leader", 3),
        ("ring-election --initiators 0,1", "leader", 3),
        ("chang-roberts", "messages", 11),
        ("echo-election --topology ring --initiators 0,2", "leader", 3),
        ("echo --topology ring", "messages", 8),
    ] {
        let args = format!("run {args} --net --processes --nodes 4");
        let run = json_of(&args.split(' ').collect::<Vec<_>>());
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
        assert_eq!(run[key], value, "{args}: {run:#}");
        assert_ne!(run["messages_agreement"], "disagrees", "{args}: {run:#}");
    }
}

#[test]
fn one_node_alone_needs_no_network() {
    let run = json_of(&["run", "ricart-agrawala", "--net", "--nodes", "1", "--entries", "10"]);
    assert_eq!((&run["messages"], &run["entries"]), (&0.into(), &10.into()));
}

/// Both ends of every connection are in one process: 40 nodes have 1,560 of them.
#[cfg(unix)]
#[test]
fn more_connections_than_files_are_asked_for_or_refused_in_a_sentence() {
    let under = |limit: &str| {
        let line = format!(
            "ulimit {limit} && exec {} run central --net --nodes 40 --entries 40",
            env!("CARGO_BIN_EXE_vorrang")
        );
        let out = std::process::Command::new("sh").args(["-c", &line]).output();
        let out = out.expect("a shell");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, err) = under("-Sn 1024");
    assert_eq!(code, Some(0), "it may have more, and takes them: {err}");
    let (code, err) = under("-n 1024");
    assert_eq!(code, Some(4), "{err}");
    let words = "40 nodes in one process: 1664 files must be open at once";
    assert!(err.contains(words) && err.contains("--processes"), "{err}");
}

#[test]
fn fewer_entries_than_nodes_come_to_an_end() {
    for load in ["heavy", "light", "burst"] {
        let args = ["run", "ricart-agrawala", "--net", "--nodes", "5", "--entries", "2"];
        let run = json_of(&[&args[..], &["--load", load]].concat());
        assert_eq!((&run["entries"], &run["safe"]), (&2.into(), &true.into()));
    }
}

#[test]
fn the_text_says_that_it_was_a_real_network() {
    let (code, out, _) = run(&["run", "lamport", "--net", "--nodes", "3", "--entries", "20"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("vorrang run lamport --net --nodes 3 "), "{out}");
    assert!(out.contains(" us") && out.contains(" per s"), "{out}");
}

#[test]
fn what_the_proof_rests_on_is_looked_at_in_the_recorded_run() {
    for (name, place) in [("raymond", "--net"), ("suzuki-kasami", "--processes"), ("echo", "--net")]
    {
        let mut args = vec!["run", name, "--net", "--nodes", "4", "--invariants"];
        args.extend((place != "--net").then_some(place));
        args.extend((name != "echo").then_some("--entries=40"));
        let run = json_of(&args);
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
    }
    let (code, _, err) = crate::support::run(&["run", "lamport", "--net", "--invariants"]);
    assert_eq!(code, 2);
    assert!(err.contains("--invariants: none are declared for lamport"), "{err}");
}

/// A process is killed for good; what the others have recorded is judged.
#[test]
fn a_process_that_is_killed_is_survived_where_that_is_promised() {
    const LINE: &str = "--net --processes --nodes 3 --within 200ms --entries 90 --hold 5ms";
    let kill = |line: &str, crash: &str| {
        let words: Vec<&str> = line.split_whitespace().chain(LINE.split_whitespace()).collect();
        json(&[&words[..], &["--crash", crash]].concat())
    };
    for name in ["ricart-agrawala-probing", "regenerating-suzuki-kasami", "regenerating-raymond"] {
        let (code, run) = kill(&format!("run {name}"), "1@150ms");
        assert_eq!(code, 0, "{run:#}");
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
        let entries = run["entries"].as_u64().expect("a number");
        assert!((60..90).contains(&entries), "two do all their turns, one some: {run:#}");
        assert_eq!(run["crashes"], 1, "{run:#}");
    }
}

#[test]
fn a_process_that_is_killed_is_missed_for_ever_where_nothing_is_promised() {
    let line = "run ricart-agrawala --net --processes --nodes 3 --entries 6000 --hold 1ms";
    let words: Vec<&str> = line.split_whitespace().chain(["--crash", "2@200ms"]).collect();
    let (code, run) = json(&words);
    assert_eq!((code, &run["safe"]), (1, &true.into()), "{run:#}");
    assert_eq!((&run["quiescent"], &run["crashes"]), (&false.into(), &1.into()), "{run:#}");
    assert!(run["violation"].as_str().expect("a sentence").contains("still waits"), "{run:#}");
}

#[test]
fn elections_do_without_a_process_that_is_killed() {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        json_of(&[&words[..], &["--net", "--processes", "--within", "200ms"]].concat())
    };
    let late = of("run watching-bully --nodes 3 --for 1s");
    assert!(late["receipts"].as_u64() > Some(100), "heartbeats for a second: {late:#}");
    let bully = of("run bully --nodes 6 --crash 5@0");
    assert_eq!((&bully["leader"], &bully["messages"]), (&4.into(), &29.into()), "{bully:#}");
    assert_eq!(bully["messages_agreement"], "agrees");
    // The leader is the last to be told, and its time-out for the dead node comes after that.
    let ring = of("run ring-election --nodes 7 --crash 6@0");
    assert_eq!((&ring["leader"], &ring["messages"]), (&5.into(), &26.into()), "{ring:#}");
    assert_eq!(ring["messages_counted"], 12, "{ring:#}");
    let run = of("run watching-bully --nodes 3 --beat 100ms --crash 2@500ms");
    assert_eq!((&run["leader"], &run["quiescent"]), (&1.into(), &true.into()), "{run:#}");
}

#[test]
fn what_cannot_be_done_to_a_process_is_refused() {
    for (line, why) in [
        ("run lamport --net --crash 1@1s", "say --processes"),
        ("run lamport --net --processes --crash 1@1s --restart 1@2s", "lamport is not safe then"),
        ("run lamport --net --processes --load light --crash 1@1s", "is for --load heavy"),
        ("run token-ring --net --processes --invariants --crash 1@1s", "ends early"),
    ] {
        let (code, _, err) = run(&line.split_whitespace().collect::<Vec<_>>());
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
}
