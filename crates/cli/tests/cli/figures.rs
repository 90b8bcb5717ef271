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
    let (_, text, _) = run(&["explain", "virtual-synchrony", "--all"]);
    assert!(!text.contains(".rs"), "{text}");
    assert!(text.contains("\nlayer      does\n"), "{text}");
    for entry in catalogue() {
        let name = entry.algorithm.about().name;
        let (_, text, _) = run(&["explain", name, "--all"]);
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
    for (silent, why) in [
        ("run k-exclusion --nodes 5 --entries 100", "several may be inside at once"),
        ("run resource-sets --nodes 5 --entries 100", "several may be inside at once"),
        ("run ricart-agrawala --nodes 5 --entries 100 --load light", "nobody waited"),
        ("run ricart-agrawala --nodes 5 --entries 100 --hot 1", "nobody waited"),
    ] {
        let found = json_of(&words(silent));
        assert_eq!(found["throughput_theory_low"], Value::Null, "{silent}");
        assert_eq!(found["throughput_of_delay"], Value::Null, "{silent}");
        let (_, text, _) = run(&words(silent));
        assert!(text.contains(&format!("No theory of the throughput: {why}")), "{text}");
    }
    let rows = json_of(&words("compare --load heavy --nodes 5 --entries 1000"));
    let rows = rows.as_array().expect("rows");
    let agree = rows.iter().filter(|row| row["throughput_agreement"] == "agrees").count();
    assert!(agree >= 8, "{rows:#?}");
    let (_, text, _) = run(&["explain", "central", "--all"]);
    assert!(line(&text, "throughput").ends_with("–              0.333"), "{text}");
}

#[test]
fn a_throughput_without_a_theory_stands_beside_the_measured_delay() {
    let known = "it is known only where every message takes T";
    let lock = "--nodes 5 --entries 400";
    for (more, why) in [
        (format!("run ricart-agrawala {lock} --latency exp:1ms --hold 2ms"), known),
        (format!("run ricart-agrawala {lock} --think 1ms"), known),
        ("run lamport --nodes 2 --entries 400 --latency-matrix rows:0-1ms/3ms-0".to_owned(), known),
        (format!("run raymond {lock} --requesters 1,4"), "depends on who asks"),
        (format!("run suzuki-kasami {lock} --net --hold 1ms"), known),
    ] {
        let found = json_of(&words(&more));
        assert_eq!(found["throughput_theory_low"], Value::Null, "{more}");
        let of = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key}: {found:#}"));
        let (rate, of_delay) = (of("throughput"), of("throughput_of_delay"));
        // Over a network a stay is never shorter than it was to be.
        let most = if more.contains("--net") { f64::INFINITY } else { 1.1 };
        assert!(rate < of_delay * 1.1 && of_delay < rate * most, "{rate} {of_delay}: {more}");
        let said = found["throughput_no_theory"].as_str().expect("a sentence");
        assert!(said.contains(why), "{more}: {said}");
    }
    let (_, text, _) = run(&words(&format!("run ricart-agrawala {lock} --latency exp:1ms")));
    assert!(line(&text, "1/(delay + E)").ends_with(" per T"), "{text}");
    // Where each asks all others it is the same for all who ask.
    for name in ["lamport", "ricart-agrawala"] {
        let of = |who: &str| json_of(&words(&format!("run {name} {lock} {who}")));
        let (these, first) = (of("--requesters 0,3"), of("--hot 2"));
        for figure in ["throughput", "messages_per_entry", "sync_delay_mean", "response_mean"] {
            let theory = format!("{figure}_theory_low");
            assert_eq!(these[&theory], first[&theory], "{name} {figure}");
            assert!(these[&theory].is_number(), "{name} {these:#}");
            let agreement = these[format!("{figure}_agreement")].as_str();
            assert!(agreement.is_some_and(|it| it != "disagrees"), "{name} {these:#}");
        }
    }
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

/// Lamport's algorithm sends each REQUEST and RELEASE to all, and each REPLY to one.
#[test]
fn on_a_broadcast_medium_a_message_to_many_counts_once() {
    let per_entry = |args: &str| {
        let run_of = json_of(&words(args));
        run_of["transmissions_per_entry"].as_f64().expect("a number")
    };
    let close = |args: &str, expected: f64| {
        let found = per_entry(args);
        assert!((found - expected).abs() < 1e-9, "{args}: {found}, not {expected}");
    };
    close("run lamport --nodes 7 --entries 100 --load light", 6.0 + 2.0);
    close("run ricart-agrawala --nodes 7 --entries 100 --load light", 6.0 + 1.0);
    close("run central --nodes 7 --entries 100 --load light", 3.0);
    close("run central --nodes 7 --entries 100 --trace /dev/null", 3.0);
    // What is recorded counts as what is not.
    let args = "run lamport --nodes 5 --entries 100 --latency exp:1ms --seed 3";
    let plain = per_entry(args);
    close(&format!("{args} --crash 4@1000s"), plain);
    let shown = format!("{args} --broadcast-medium");
    let (_, text, _) = run(&words(&shown));
    assert!(line(&text, "on a broadcast medium").split_whitespace().count() > 4, "{text}");
    assert!(text.starts_with("vorrang run lamport") && text.contains(" --broadcast-medium "));
    let (_, text, _) = run(&words(args));
    assert!(!text.contains("broadcast medium"), "{text}");
    let compared = words("compare --algorithms lamport,central --nodes 5 --entries 100");
    let (_, text, _) = run(&[&compared[..], &["--broadcast-medium"]].concat());
    assert!(text.contains("ON MEDIUM"), "{text}");
}

#[test]
fn one_table_joins_costs_and_fault_tolerance() {
    let args = words("compare --summary --load heavy --nodes 7 --entries 500 --algorithms");
    let algorithms = "central,ricart-agrawala,majority-votes,majority-votes-timely,token-ring";
    let args = [&args[..], &[algorithms]].concat();
    let rows = json_of(&args);
    let row = |name: &str| {
        let rows = rows.as_array().expect("rows");
        rows.iter().find(|row| row["algorithm"] == name).expect("a row").clone()
    };
    let tolerant = |name: &str| row(name)["survives_crashes_of"].as_str().map(str::to_owned);
    assert_eq!(tolerant("ricart-agrawala").as_deref(), Some("none"));
    assert_eq!(tolerant("majority-votes").as_deref(), Some("idle"));
    assert_eq!(tolerant("majority-votes-timely").as_deref(), Some("any"));
    assert_eq!(row("token-ring")["lost_message"], "stuck");
    assert_eq!(row("ricart-agrawala")["throughput"], 0.5);
    assert_eq!(row("central")["load_max_per_entry"], 3.0);
    let (code, text, _) = run(&args);
    assert_eq!(code, 0, "{text}");
    let head = line(&text, "ALGORITHM");
    for column in ["MESSAGES", "DELAY/T", "PER T", "LOAD", "SURVIVES CRASHES OF", "LOST MESSAGE"] {
        assert!(text.contains(column), "{column}: {head}");
    }
    assert!(line(&text, "central ").contains("0.333 ✓"), "{text}");
    let (code, _, err) = run(&words("compare --summary --problem election"));
    assert_eq!((code, err.contains("--summary is of locks")), (2, true), "{err}");
}

/// Whoever holds votes and crashes blocks the rest for ever, unless votes are withdrawn; and that
/// is safe only if messages are in time.
#[test]
fn votes_are_withdrawn_from_the_dead_and_only_in_time() {
    let check = |args: &str| run(&[&["check"], &words(args)[..]].concat());
    let (code, text, _) = check("majority-votes --crashes 1 --entries 1,1,0");
    assert!(code == 1 && text.contains("violated progress"), "{text}");
    let (code, text, _) = check("majority-votes-timely --crashes 1 --entries 1,1,0");
    assert!(code == 0 && text.contains("verified"), "{text}");
    let (code, text, _) = check("majority-votes-timely --asynchronous");
    assert!(code == 1 && text.contains("violated exclusion"), "{text}");
    let (_, text, _) = run(&["explain", "majority-votes", "--all"]);
    assert!(text.contains("vorrang check majority-votes"), "{text}");
}
