//! `vorrang run` and `vorrang compare`: what is measured, beside what the theory says.

use crate::support;

use std::fs::File;
use std::io::BufReader;

use serde_json::{Value, json};
use support::{Folder, busiest, csv, json_of, run};
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{cards, find};
use vorrang_protocol::Group;
use vorrang_trace::{Record, Recording, Verdict, judge};

const FIGURES: [&str; 18] = [
    "algorithm",
    "nodes",
    "seed",
    "entries",
    "messages",
    "idle_messages",
    "messages_per_entry",
    "messages_by_kind",
    "sync_delay_mean",
    "response_mean",
    "throughput",
    "load_max",
    "fairness",
    "overtakes",
    "safe",
    "quiescent",
    "events",
    "wall_seconds",
];

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

#[test]
fn the_json_of_every_algorithm_has_every_figure() {
    for card in cards::<Mutex>() {
        let load = busiest(card.assumes);
        let run =
            json_of(&words(&format!("run {} --nodes 5 --entries 200 --load {load}", card.name)));
        for figure in FIGURES {
            // Where requests come one at a time, nobody waits for anyone to leave.
            let waits = load == "heavy" || figure != "sync_delay_mean";
            assert!(!waits || !run[figure].is_null(), "{} has no {figure}: {run:#}", card.name);
        }
        assert_eq!(run["algorithm"], card.name);
        assert_eq!(
            (&run["nodes"], &run["entries"], &run["seed"]),
            (&5.into(), &200.into(), &1.into())
        );
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()));
        assert_eq!((&run["violation"], &run["time_unit"]), (&Value::Null, &"T".into()));
        let by_kind = run["messages_by_kind"].as_object().expect("counts by kind");
        let sum: u64 = by_kind.values().map(|count| count.as_u64().expect("a count")).sum();
        assert_eq!(run["messages"], sum, "{}", card.name);
    }
}

#[test]
fn ricart_agrawala_costs_exactly_what_the_theory_says() {
    for nodes in [1_u32, 2, 3, 13, 40] {
        let size = nodes.to_string();
        for (hold, stay) in [("0", 0.0), ("500us", 0.5), ("3ms", 3.0)] {
            let args = ["run", "ricart-agrawala", "--nodes", &size, "--hold", hold, "--load"];
            let of = |load| json_of(&[&args[..], &[load, "--entries", "300"]].concat());
            let (light, heavy) = (of("light"), of("heavy"));
            for run in [&light, &heavy] {
                assert_eq!(run["messages_per_entry"], 2.0 * f64::from(nodes - 1), "{run:#}");
                assert_eq!(run["overtakes"], 0);
            }
            let round_trip = if nodes == 1 { 0.0 } else { 2.0 };
            assert_eq!(light["response_mean"], round_trip + stay);
            assert_eq!(light["sync_delay_mean"], Value::Null, "nobody ever waits for an exit");
            if nodes > 1 {
                assert_eq!(heavy["sync_delay_mean"], 1.0);
                let requests = &heavy["messages_by_kind"]["REQUEST"];
                assert_eq!(*requests, 300 * (nodes - 1));
            }
        }
    }
}

#[test]
fn the_text_begins_with_all_parameters_as_they_would_be_typed() {
    let typed = "run lamport --nodes 4 --entries 50 --load heavy --hold 1ms --think 3ms --hot 2 \
                 --seed 7 --latency exp:2ms --order fifo";
    let (code, out, err) = run(&words(typed));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.lines().next(), Some(format!("vorrang {typed}").as_str()));
    for line in ["entries", "messages per entry", "synchronisation delay", "fairness (Jain)"] {
        assert!(out.lines().any(|it| it.starts_with(line)), "no {line} in {out}");
    }
    assert!(!out.contains('\u{1b}'), "no colours where nobody sees them");

    let (_, out, _) = run(&words("run ricart-agrawala --entries 50"));
    let defaults = "vorrang run ricart-agrawala --nodes 13 --entries 50 --load heavy --hold 1ms \
                    --seed 1 --latency 1ms --order any";
    assert_eq!(out.lines().next(), Some(defaults), "what was not said is filled in");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    for card in cards::<Mutex>() {
        let of = |seed| {
            // Time-outs are made for a bound.
            let latency = if card.assumes.timely { "uniform:0ms..2ms" } else { "exp:1ms" };
            let args = ["--nodes", "5", "--entries", "300", "--latency", latency, "--seed", seed];
            let load = ["--load", busiest(card.assumes)];
            let mut run = json_of(&[&["run", card.name][..], &args, &load].concat());
            run.as_object_mut().expect("an object").remove("wall_seconds").expect("a duration");
            run
        };
        assert_eq!(of("7"), of("7"), "{}", card.name);
        assert_ne!(of("7")["response_mean"], of("8")["response_mean"], "{}", card.name);
    }
}

#[test]
fn a_run_as_a_row_has_the_columns_of_its_json() {
    let args = ["run", "central", "--nodes", "4", "--entries", "100"];
    let (code, out, _) = run(&[&args[..], &["--csv"]].concat());
    assert_eq!(code, 0);
    let rows = csv(&out);
    assert_eq!(rows.len(), 2);
    let object = json_of(&args);
    let mut columns: Vec<String> = Vec::new();
    for (key, value) in object.as_object().expect("an object") {
        match value.as_object() {
            Some(inner) => columns.extend(inner.keys().map(|name| format!("{key}.{name}"))),
            None => columns.push(key.clone()),
        }
    }
    columns.sort();
    let mut header = rows[0].clone();
    header.sort();
    assert_eq!(header, columns);
    assert!(!rows[1].iter().any(|field| field.contains(['{', '['])), "no JSON in a field: {out}");
    let place = rows[0].iter().position(|it| it == "messages").expect("a column");
    assert_eq!(rows[1][place], object["messages"].to_string());
}

/// Reads a trace and judges it by the rules of its algorithm; and how many records it has.
fn judged(path: &str, card: &'static Card, setup: &Setup) -> (Verdict, usize) {
    let file = BufReader::new(File::open(path).expect("the trace is there"));
    let recording = Recording::read(file).expect("a trace that can be read");
    assert!(recording.is_whole(), "{}: {:?}", card.name, recording.ending);
    assert_eq!((&*recording.header.algorithm, recording.header.nodes), (card.name, 4));
    let entry = find::<Mutex>(card.name, None).expect("a card's name");
    let node = &entry.nodes(setup).expect("a card's algorithm can be made")[0];
    let read = |line| Record::read_by(node, line).expect("data of this algorithm");
    let records: Vec<_> = recording.lines.iter().map(read).collect();
    (judge(&records, card.exclusion(setup)), records.len())
}

#[test]
fn the_trace_of_every_algorithm_is_read_back_and_found_safe() {
    let folder = Folder::new("traces");
    for card in cards::<Mutex>() {
        for driver in ["--seed=3", "--net"] {
            let path = folder.path(&format!("{}{driver}.jsonl", card.name));
            let args = ["--nodes", "4", "--entries", "40", "--trace", &path, driver];
            let load = ["--load", busiest(card.assumes)];
            let run = json_of(&[&["run", card.name][..], &args, &load].concat());
            let setup = card.setup(Group::of(4));
            let (verdict, records) = judged(&path, card, &setup);
            assert!(verdict.is_safe() && verdict.owed.is_none(), "{}: {verdict:?}", card.name);
            let messages = run["messages"].as_u64().expect("a count") as usize;
            if card.terms.perpetual {
                assert!(verdict.in_flight <= 1, "{}: {verdict:?}", card.name);
                assert!(records >= 2 * messages + 3 * 40 - 1, "{}: and timers", card.name);
            } else if card.assumes.timely {
                assert!(verdict.is_quiescent(), "{}: {verdict:?}", card.name);
                assert!(records >= 2 * messages + 3 * 40, "{}: and timers", card.name);
            } else {
                assert!(verdict.is_quiescent(), "{}: {verdict:?}", card.name);
                assert_eq!(records, 2 * messages + 3 * 40, "sent, received; asked, entered, left");
            }
        }
    }
}

/// Under how many of the loads of a comparison an algorithm is run that was not named.
fn loads_of(card: &Card) -> usize {
    if card.assumes.one_at_a_time { 1 } else { 2 }
}

#[test]
fn all_algorithms_agree_with_their_theory_whatever_the_size_the_load_and_the_stay() {
    for nodes in ["1", "2", "3", "8", "31"] {
        for hold in ["0", "250us", "4ms"] {
            let args = ["compare", "--algorithms", "all", "--entries", "400"];
            let rows = json_of(&[&args[..], &["--nodes", nodes, "--hold", hold]].concat());
            let rows = rows.as_array().expect("rows");
            // Every algorithm under both loads, but for what stands one at a time only.
            let loads = |card: &&Card| if nodes == "1" { 2 } else { loads_of(card) };
            assert_eq!(rows.len(), cards::<Mutex>().iter().map(loads).sum::<usize>());
            for row in rows {
                assert_eq!((&row["safe"], &row["quiescent"]), (&true.into(), &true.into()));
                for figure in ["messages_per_entry", "sync_delay_mean", "response_mean"] {
                    let agreement = &row[format!("{figure}_agreement")];
                    assert_ne!(agreement, "disagrees", "{figure}, hold {hold}: {row:#}");
                    let is_measured = !row[figure].is_null();
                    assert_eq!(agreement.is_string(), is_measured, "{figure}: {row:#}");
                }
            }
        }
    }
}

#[test]
fn a_comparison_over_several_seeds_knows_its_error() {
    let args = words("compare --nodes 5 --entries 200 --latency exp:1ms --seeds 5 --load heavy");
    let rows = json_of(&args);
    for row in rows.as_array().expect("rows") {
        assert_eq!(row["seeds"], 5);
        let error = row["response_mean_ci95"].as_f64().expect("a confidence interval");
        let mean = row["response_mean"].as_f64().expect("a mean");
        assert!(error > 0.0 && error < mean, "{row:#}");
    }
}

#[test]
fn a_comparison_can_be_read_as_rows_and_as_markdown() {
    let args = words("compare --nodes 5 --entries 100 --algorithms all");
    let objects = json_of(&args);
    let objects = objects.as_array().expect("rows");

    let (code, out, _) = run(&[&args[..], &["--csv"]].concat());
    assert_eq!(code, 0);
    let rows = csv(&out);
    assert_eq!(rows.len(), 1 + objects.len());
    for (row, object) in rows[1..].iter().zip(objects) {
        assert_eq!(object["algorithm"], row[0]);
        let place = rows[0].iter().position(|it| it == "messages_per_entry").expect("a column");
        assert_eq!(object["messages_per_entry"].to_string(), row[place]);
    }

    let (code, out, _) = run(&[&args[..], &["--markdown"]].concat());
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().filter(|line| line.starts_with('|')).collect();
    let rows: usize = cards::<Mutex>().into_iter().map(loads_of).sum();
    assert_eq!(lines.len(), 2 * 2 + rows, "a table for each load: {out}");
    // Where the theory says nothing of a figure there is no column for it.
    let mut columns = 0;
    for line in &lines {
        let many = line.matches('|').count();
        if line.starts_with("| ALGORITHM ") {
            columns = many;
        }
        assert_eq!(many, columns, "{line}");
    }
    for card in cards::<Mutex>() {
        let row = format!("| {} |", card.name);
        let many = lines.iter().filter(|line| line.starts_with(&row)).count();
        assert_eq!(many, loads_of(card), "{row}");
    }
    assert!(!lines.iter().any(|line| line.contains('✗')), "{out}");
}

#[test]
fn every_algorithm_is_listed_and_explained() {
    let listed = json_of(&["list"]);
    let names: Vec<&str> =
        listed.as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, vorrang_catalogue::abouts().iter().map(|card| card.name).collect::<Vec<_>>());
    let (_, out, _) = run(&["list", "--csv"]);
    assert_eq!(csv(&out).len(), 1 + vorrang_catalogue::abouts().len());
    let (_, table, _) = run(&["list"]);
    for card in vorrang_catalogue::abouts() {
        assert!(table.lines().any(|line| line.starts_with(card.name)), "{table}");
        let (code, out, _) = run(&["explain", card.name, "--all"]);
        assert_eq!(code, 0);
        assert!(out.starts_with(card.title), "{out}");
        for flaw in &card.mistakes {
            assert!(out.contains(flaw.name), "{} is not among the mistakes: {out}", flaw.name);
        }
    }
}

#[test]
fn elections_cost_what_the_card_says_whoever_calls_and_however_many_are_down() {
    for nodes in 1..=6_u32 {
        for dead in 0..nodes {
            for initiator in 0..nodes - dead {
                let crash: Vec<String> =
                    (nodes - dead..nodes).map(|id| format!("{id}@0")).collect();
                let (n, i) = (nodes.to_string(), initiator.to_string());
                let mut args = vec!["run", "bully", "--nodes", &n, "--initiators", &i];
                let crash = crash.join(",");
                if dead > 0 {
                    args.extend(["--crash", &crash]);
                }
                let run = json_of(&args);
                assert_eq!(run["leader"], nodes - 1 - dead, "{run:#}");
                for figure in ["messages", "duration"] {
                    assert_eq!(run[format!("{figure}_agreement")], "agrees", "{figure}: {run:#}");
                }
            }
        }
    }
}

#[test]
fn an_election_is_reported_in_full() {
    let args = "run bully --nodes 8 --initiators 0 --crash 7@0";
    let run = json_of(&args.split(' ').collect::<Vec<_>>());
    assert_eq!((&run["messages"], &run["messages_to_dead"]), (&55.into(), &7.into()), "{run:#}");
    let kinds = json!({ "ELECTION": 28, "ANSWER": 21, "COORDINATOR": 6, "OUTDATED": 0 });
    assert_eq!(run["messages_by_kind"], kinds);
    assert_eq!(
        (&run["leader"], &run["rounds"], &run["duration"]),
        (&6.into(), &3.into(), &4.0.into())
    );
    assert_eq!((&run["safe"], &run["quiescent"]), (&json!(true), &json!(true)));
}

#[test]
fn all_elections_stand_side_by_side_with_their_theory() {
    let (code, rows) = support::json(&["compare", "--problem", "election", "--nodes", "9"]);
    assert_eq!(code, 0, "{rows:#}");
    let rows = rows.as_array().expect("rows");
    let together: Vec<&Value> = rows
        .iter()
        .filter(|row| row["initiators"].as_array().is_some_and(|it| it.len() == 9))
        .collect();
    let names = [
        "bully",
        "ring-election",
        "watching-bully",
        "watching-ring",
        "view-leader",
        "chang-roberts",
        "tree-election",
        "bus-reset",
        "echo-election",
    ];
    assert_eq!(together.iter().map(|row| &row["algorithm"]).collect::<Vec<_>>(), names);
    for row in rows {
        // Heartbeats have no end, and so no theory.
        let name = row["algorithm"].as_str().expect("a name");
        let is_watching = name.starts_with("watching") || name == "view-leader";
        for figure in [if is_watching { "messages_counted" } else { "messages" }, "duration"] {
            let agreement = &row[format!("{figure}_agreement")];
            let has_lower_waves = row["initiators"] != json!([8]) && figure == "messages";
            let is_ranged = ["tree-election", "bus-reset"].contains(&name)
                || name == "view-leader"
                || row["algorithm"] == "echo-election" && has_lower_waves
                || row["algorithm"] == "ring-election" && figure == "duration"
                || row["algorithm"] == "watching-ring" && figure == "duration";
            let is_fine = agreement == "agrees" || is_ranged && agreement == "within";
            assert!(is_fine, "{figure} {agreement}: {row:#}");
        }
    }
}

/// Of 7 nodes; whatever comes after the tree is for the entries.
#[test]
fn a_lift_from_nothing_pays_once_for_an_election_and_a_tree() {
    for (shape, edges) in [("line", 6), ("star", 6), ("ring", 7), ("grid", 8), ("complete", 21)] {
        for latency in ["1ms", "uniform:1us..1ms"] {
            let args = ["run", "elected-lift", "--nodes", "7", "--entries", "70", "--invariants"];
            let run = json_of(&[&args[..], &["--topology", shape, "--latency", latency]].concat());
            let of = |kind: &str| run["messages_by_kind"][kind].as_u64().expect("a count");
            assert_eq!((of("LEADER"), of("ECHO")), (6, 6), "{run:#}");
            assert_eq!(of("EXPLORER"), 2 * edges - 6, "{run:#}");
            assert_eq!(of("REQUEST"), of("TOKEN"), "{run:#}");
            // The highest wave takes as many, and everyone has called before it hears of that.
            assert!(of("AGREED") >= 6 && of("CANDIDATE") > 2 * edges - 6, "{run:#}");
            assert_eq!((&run["safe"], &run["quiescent"]), (&json!(true), &json!(true)));
        }
    }
}

#[test]
fn a_node_that_comes_up_again_costs_what_the_literature_says() {
    // Eleven for the election, and the highest tells three when it comes up again.
    let args = "run bully --nodes 4 --initiators 0 --crash 3@0 --restart 3@20ms";
    let run = json_of(&args.split(' ').collect::<Vec<_>>());
    assert_eq!((&run["messages"], &run["leader"]), (&14.into(), &3.into()), "{run:#}");
    assert_eq!(run["messages_agreement"], Value::Null, "the card speaks of one election");
}

#[test]
fn late_timers_make_elections_take_longer() {
    let of = |late: &str| {
        let args = ["run", "bully", "--nodes", "5", "--crash", "4@0", "--late", late];
        json_of(&args)["duration"].as_f64().expect("a time")
    };
    assert!((of("0") - 4.0).abs() < 1e-9);
    let late = of("1ms");
    assert!(late > 4.0 && late <= 5.0, "{late}");
}

#[test]
fn on_a_drawn_ring_numbers_meet_a_higher_one_soon() {
    let args =
        "compare --algorithms chang-roberts --ring random --initiators all --nodes 32 --seeds 200";
    let (code, rows) = support::json(&args.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 0, "{rows:#}");
    let harmonic: f64 = (1..=32).map(|it| 1.0 / f64::from(it)).sum();
    let (mean, error) = (&rows[0]["messages"], &rows[0]["messages_ci95"]);
    let distance = mean.as_f64().expect("a mean") - 32.0 * (harmonic + 1.0);
    assert!(distance.abs() < 2.0 * error.as_f64().expect("an error"), "{mean} ± {error}");
    assert_eq!(rows[0]["messages_agreement"], "agrees", "each is as its ring makes it: {rows:#}");
}

#[test]
fn waves_cost_what_the_card_says_on_every_shape() {
    let shapes = ["ring", "line", "star", "complete", "tree:2", "grid", "random:0.2"];
    for shape in shapes {
        for nodes in ["1", "2", "3", "4", "9", "16"] {
            for latency in ["1ms", "uniform:1us..1ms"] {
                let args = ["--nodes", nodes, "--topology", shape, "--latency", latency];
                let plain = json_of(&[&["run", "echo"], &args[..]].concat());
                let edges = plain["edges"].as_u64().expect("links");
                assert_eq!(plain["messages"], 2 * edges, "{plain:#}");
                assert_eq!(plain["messages_agreement"], "agrees", "{plain:#}");
                let by_kind = plain["messages_by_kind"].as_object().expect("kinds");
                assert_eq!(by_kind["ECHO"], nodes.parse::<u64>().expect("nodes") - 1);
                assert_eq!(plain["count"].to_string(), nodes, "{plain:#}");
                let duration = if latency == "1ms" { json!("agrees") } else { Value::Null };
                assert_eq!(plain["duration_agreement"], duration, "{plain:#}");
                let taboo = json_of(&[&["run", "echo-taboo"], &args[..]].concat());
                assert!(taboo["messages"].as_u64() <= Some(2 * edges), "{taboo:#}");
                for run in [&plain, &taboo] {
                    assert_ne!(run["messages_agreement"], "disagrees", "{run:#}");
                    assert_ne!(run["tree_depth_agreement"], "disagrees", "{run:#}");
                    assert_eq!((&run["safe"], &run["quiescent"]), (&json!(true), &json!(true)));
                }
            }
        }
    }
}

#[test]
fn a_wave_that_loses_a_message_never_ends_and_says_so() {
    let (code, run) = support::json(&["run", "echo", "--nodes", "4", "--lose", "1"]);
    assert_eq!((code, &run["safe"], &run["quiescent"]), (1, &json!(true), &json!(false)));
    assert!(run["violation"].as_str().expect("a violation").starts_with("termination"), "{run:#}");
    let nothing = (&run["count"], &run["duration"], &run["messages_agreement"]);
    assert_eq!(nothing, (&Value::Null, &Value::Null, &Value::Null));
}

#[test]
fn a_drawn_graph_is_another_for_every_seed_and_the_theory_follows() {
    let args = "compare --problem wave --nodes 20 --topology random:0.1 --seeds 10";
    let (code, rows) = support::json(&args.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 0, "{rows:#}");
    let row = &rows[0];
    assert_eq!((&row["algorithm"], &row["duration_agreement"]), (&json!("echo"), &json!("agrees")));
    assert!(row["duration_ci95"].as_f64() > Some(0.0), "graphs differ: {row:#}");
    assert_eq!(row["duration"], row["duration_theory_low"]);
}

#[test]
fn theory_is_silent_where_links_are_not_what_it_speaks_of() {
    for fault in [
        &["--loss", "1%"][..],
        &["--duplicate", "50%"],
        &["--within", "100us", "--break-assumptions"],
        &["--crash", "1@1ms"],
    ] {
        let args = [&["run", "bully", "--nodes", "4", "--initiators", "0"][..], fault].concat();
        let (_, run) = support::json(&args);
        assert_eq!(run["messages_agreement"], Value::Null, "{fault:?}: {run:#}");
    }
}
