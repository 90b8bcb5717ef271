//! Figures say what they are of: totals are sums, runs that broke off have no means, what was not
//! exercised is named, and what is small is not nothing.

use serde_json::Value;
use vorrang_experiment::catalogue::catalogue;

use crate::support::{json, json_of, run};

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// The line of a text that begins so.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.trim_start().starts_with(name));
    line.unwrap_or_else(|| panic!("no {name}: {text}"))
}

#[test]
fn a_total_is_the_sum_of_what_stands_beneath_it() {
    let args = words("run ring-election --nodes 7 --crash 6@0");
    let run_of = json_of(&args);
    // As on the slides: 2(7 - 1).
    let counts = ["messages", "messages_counted", "receipts", "messages_to_dead"];
    assert_eq!(counts.map(|it| run_of[it].as_u64()), [26, 12, 12, 2].map(Some), "{run_of:#}");
    for figure in ["messages", "messages_counted"] {
        assert_eq!(run_of[format!("{figure}_agreement")], "agrees", "{run_of:#}");
    }
    let (_, text, _) = run(&args);
    assert!(line(&text, "messages as in textbooks").ends_with("12  12 ✓"), "{text}");
    for entry in catalogue() {
        let about = entry.algorithm.about();
        let size: &[&str] = match about.problem {
            "mutex" => &["--entries", "20", "--load", "light"],
            "multicast" | "group" => &["--multicasts", "10"],
            _ => &[],
        };
        let run_of = json_of(&[&["run", about.name, "--nodes", "7"], size].concat());
        let kinds = run_of["messages_by_kind"].as_object().expect("kinds");
        let sum: u64 = kinds.values().filter_map(Value::as_u64).sum();
        assert_eq!(run_of["messages"].as_u64(), Some(sum), "{}", about.name);
    }
}

#[test]
fn an_algorithm_that_got_stuck_has_no_means_and_comes_last() {
    let args = words(
        "compare --algorithms maekawa-basic,maekawa --load heavy --entries 1000 \
         --break-assumptions",
    );
    let (code, rows) = json(&args);
    assert_eq!(code, 1);
    let stuck = &rows[0];
    assert_eq!(stuck["algorithm"], "maekawa-basic");
    assert_eq!(stuck["broke_off"], "STUCK after 0 of 1000", "{stuck:#}");
    for figure in ["messages_per_entry", "fairness", "throughput", "messages_per_entry_agreement"] {
        assert_eq!(stuck[figure], Value::Null, "{figure}: {stuck:#}");
    }
    assert_eq!(rows[1]["broke_off"], Value::Null);
    let (_, text, _) = run(&args);
    let first = text.find("maekawa ").expect("a row");
    let last = text.find("maekawa-basic  STUCK after 0 of 1000").expect("a row");
    assert!(first < last, "{text}");
    // Two inside are no cost either.
    let lossy =
        "compare --algorithms lamport,central --nodes 5 --entries 500 --load heavy --loss 5%";
    let (code, rows) = json(&words(lossy));
    assert_eq!(code, 1, "{rows:#}");
    for row in rows.as_array().expect("rows") {
        let word = if row["safe"] == false { "UNSAFE after " } else { "STUCK after " };
        let broke_off = row["broke_off"].as_str().expect("it breaks off");
        assert!(broke_off.starts_with(word) && broke_off.ends_with(" of 500"), "{row:#}");
    }
}

#[test]
fn what_a_run_does_not_exercise_is_named() {
    let (_, text, _) = run(&words("run maekawa --entries 500"));
    let note = text.replace('\n', " ");
    assert!(note.contains("Not exercised: this run sent no INQUIRE, RELINQUISH,"), "{text}");
    assert!(note.contains("With --latency exp:1ms"), "{text}");
    // What it advises does exercise them.
    let advised = json_of(&words("run maekawa --latency exp:1ms --entries 1000"));
    assert!(advised["messages_by_kind"]["RELINQUISH"].as_u64() > Some(0), "{advised:#}");
    let (_, text, _) = run(&words("run maekawa --latency exp:1ms --entries 1000"));
    assert!(!text.contains("Not exercised"), "{text}");
}

#[test]
fn whoever_serves_all_is_fair() {
    for (nodes, entries) in [(4, 5), (4, 4), (5, 12), (4, 9), (3, 100)] {
        let (n, e) = (nodes.to_string(), entries.to_string());
        let args = ["run", "suzuki-kasami", "--nodes", &n, "--entries", &e];
        assert_eq!(json_of(&args)["fairness"], 1.0, "{nodes} {entries}");
    }
    // Whoever enters again and again before the others is not.
    let args = "run raymond --nodes 6 --entries 600 --greedy 50 --hold 0";
    let unfair = json_of(&words(args));
    assert!(unfair["fairness"].as_f64() < Some(0.9), "{unfair:#}");
}

#[test]
fn what_is_small_is_not_nothing() {
    let (_, text, _) = run(&words("run raymond --nodes 20000 --entries 20000 --load burst"));
    let busiest = line(&text, "busiest node handles").split_whitespace().nth(3).expect("a value");
    assert!(busiest.parse::<f64>().is_ok_and(|it| it > 0.0), "{busiest}");
    assert!(!text.contains(" events in 0 s"), "{text}");
}

#[test]
fn in_the_column_of_messages_are_messages() {
    let (_, text, _) = run(&["list"]);
    assert!(line(&text, "srm ").contains("  requests per loss: 1 at least  "), "{text}");
    assert!(line(&text, "ack ").contains("  control per multicast: 12 nothing lost"), "{text}");
    assert!(line(&text, "ring-election ").contains("  24  "), "{text}");
    let column = text.lines().next().and_then(|it| it.find("MESSAGES")).expect("a column");
    for line in text.lines().skip(1).take_while(|line| !line.is_empty()) {
        let cell: String = line.chars().skip(column).collect();
        let cell = cell.split("  ").next().expect("a cell");
        assert!(!cell.split([' ', ',']).any(|word| word == "T"), "a time: {line}");
    }
}

#[test]
fn explanations_name_no_files() {
    let (_, text, _) = run(&["explain", "virtual-synchrony"]);
    assert!(!text.contains(".rs"), "{text}");
    assert!(text.contains("\nlayer      does\n"), "{text}");
    for entry in catalogue() {
        let name = entry.algorithm.about().name;
        let (_, text, _) = run(&["explain", name]);
        assert!(!text.contains(".rs") && !text.contains(" |\n"), "{name}: {text}");
    }
}

#[test]
fn throughput_stands_beside_one_over_delay_and_stay() {
    let args = words("run ricart-agrawala --nodes 5 --entries 500 --hold 3ms");
    let run_of = json_of(&args);
    assert_eq!(run_of["throughput"], 0.25, "1 / (1 + 3)");
    assert_eq!(run_of["throughput_theory_typical"], 0.25);
    assert_eq!(run_of["throughput_agreement"], "agrees");
    let (_, text, _) = run(&args);
    assert!(line(&text, "throughput").ends_with("0.25 per T  0.25 per T ✓"), "{text}");
    // Where several may be inside, or one asks alone, nothing follows from the delay.
    for silent in [
        "run k-exclusion --nodes 5 --entries 100",
        "run ricart-agrawala --nodes 5 --entries 100 --load light",
        "run ricart-agrawala --nodes 5 --entries 100 --hot 1",
        "run ricart-agrawala --nodes 5 --entries 100 --latency exp:1ms",
    ] {
        assert_eq!(json_of(&words(silent))["throughput_theory_low"], Value::Null, "{silent}");
    }
    let rows = json_of(&words("compare --load heavy --nodes 5 --entries 1000"));
    let rows = rows.as_array().expect("rows");
    let agree = rows.iter().filter(|row| row["throughput_agreement"] == "agrees").count();
    assert!(agree >= 8, "{rows:#?}");
    let (_, text, _) = run(&["explain", "central"]);
    assert!(line(&text, "throughput").ends_with("–              0.333"), "{text}");
}

#[test]
fn what_is_said_of_any_two_quorums_is_vacuous_of_one() {
    let (_, text, _) = run(&words("quorum all --nodes 7 --analyse"));
    for property in ["any two meet", "coterie", "ideal"] {
        assert!(line(&text, property).ends_with("vacuous: there is only one quorum"), "{text}");
    }
    assert_eq!(json_of(&words("quorum all --nodes 7"))["vacuous"], true);
    // Not all take part, so that one is not even vacuously ideal.
    let (_, text, _) = run(&words("quorum singleton --nodes 7 --analyse"));
    assert!(line(&text, "ideal").ends_with(" no"), "{text}");
    let plane = json_of(&words("quorum plane --nodes 7"));
    assert_eq!((&plane["vacuous"], &plane["ideal"]), (&false.into(), &true.into()));
    let (_, text, _) = run(&words("quorum compare --nodes 7"));
    assert!(line(&text, "all ").trim_end().ends_with("vacuous"), "{text}");
}
