//! What is printed: as wide as the screen, whole for programs, and with the verdict that stands
//! even if nobody reads it.

use crate::support;

use std::process::Stdio;

use serde_json::Value;
use support::{csv, json, json_of, run, run_wide, vorrang};
use vorrang_catalogue::abouts;

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// Two are inside within the first few entries.
const BROKEN: &str =
    "lamport --order any --break-assumptions --latency exp:1ms --nodes 5 --entries 300";

/// As in `vorrang list | head -1`, if `head` is done before anything was written.
#[test]
fn a_reader_that_goes_away_changes_no_verdict() {
    let commands = [
        ("list", 0),
        ("explain lamport", 0),
        ("completions bash", 0),
        ("run lamport --entries 10", 0),
        ("check lamport --nodes 2", 0),
        ("check ricart-agrawala --flaw majority", 1),
        ("check lamport --max-states 10", 3),
        ("check lamport --max-states 10 --json", 3),
        (&format!("run {BROKEN}"), 1),
        (&format!("run {BROKEN} --json"), 1),
        (&format!("compare --load heavy --algorithms {BROKEN}"), 1),
        (&format!("compare --csv --load heavy --algorithms {BROKEN}"), 1),
        ("run nobody", 2),
    ];
    for (command, code) in commands {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = vorrang(&words(command)).stdout(writer).stderr(Stdio::piped()).spawn();
        let ended = child.expect("it starts").wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "vorrang {command}: {err}");
        assert_eq!(err.is_empty(), code != 2, "vorrang {command}: {err}");

        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = vorrang(&words(command)).stdout(Stdio::null()).stderr(writer).status();
        assert_eq!(ended.expect("it ends").code(), Some(code), "vorrang {command}, no stderr");
    }
}

#[test]
fn a_run_that_went_wrong_ends_with_that_and_not_with_what_came_of_it() {
    let broken = "run lamport --break-assumptions --order any --load burst --entries 2000";
    // Two are inside; then one may be told to leave that is not, or to ask that still waits.
    let (code, run) = json(&words(&format!("{broken} --latency uniform:1us..2ms --nodes 5")));
    let violation = run["violation"].as_str().expect("a violation");
    assert!(violation.starts_with("exclusion: "), "{run:#}");
    assert_eq!((code, &run["safe"]), (1, &false.into()));
    assert!(run["messages"].is_u64() && run["wall_seconds"].is_f64(), "all the rest is there, too");
    // Nobody is inside, nothing is under way, and one waits: no use in asking again.
    for more in ["--latency uniform:1us..20ms --hold 0", "--latency exp:1ms --hold 0 --nodes 2"] {
        let (code, run) = json(&words(&format!("{broken} {more}")));
        let violation = run["violation"].as_str().expect("a violation");
        assert!(violation.starts_with("progress: nothing more is bound to happen"), "{run:#}");
        assert_eq!((code, &run["quiescent"]), (1, &false.into()));
    }
    let (code, run) = json(&words("run lamport --loss 1% --load light --seed 3"));
    assert_eq!((code, &run["safe"], &run["quiescent"]), (1, &true.into(), &false.into()));
}

#[test]
fn what_a_message_suggests_to_see_an_algorithm_break_breaks_it() {
    let (code, _, err) = run(&["run", "lamport", "--order", "any"]);
    assert_eq!(code, 2);
    let (_, from) = err.split_once("use --order fifo, or ").expect("a suggestion");
    let (suggested, _) = from.split_once(" to see it break").expect("a suggestion");
    let (code, run) = json(&words(&format!("run lamport --order any {suggested}")));
    assert_eq!(code, 1, "{run:#}");
    assert!(run["violation"].as_str().is_some_and(|it| it.contains("was inside")), "{run:#}");
}

#[test]
fn whom_a_comparison_leaves_out_is_said_whatever_the_format() {
    let args = words("compare --order any --nodes 3 --entries 50");
    let sentence = "Left out: lamport assumes that messages between two nodes keep their order";
    let (code, out, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains(sentence), "{out}");
    for format in ["--json", "--csv"] {
        let (code, out, err) = run(&[&args[..], &[format]].concat());
        assert_eq!(code, 0);
        assert!(err.contains(sentence), "{err}");
        assert!(out.contains("ricart-agrawala") && !out.contains("lamport"), "{out}");
    }
    let (_, _, err) = run(&words("sweep --order any --nodes 3 --entries 50 --csv -"));
    assert!(err.contains(sentence), "{err}");
}

#[test]
fn nothing_in_a_table_is_wider_than_the_screen() {
    let tables = [
        "list",
        "run carvalho-roucairol --entries 50 --crash 1@500ms",
        "run bully",
        "compare --algorithms all --entries 50 --latency exp:1ms --seeds 3",
        "compare --algorithms all --entries 50",
        "compare --problem election",
        "run echo",
        "compare --problem wave",
        "check ricart-agrawala --flaw list",
        "explain terms",
        "quorum compare --nodes 12",
        "topology random:0.3",
        "quorum grid --analyse --show",
        "explain",
    ];
    for table in tables {
        let plain = run(&words(table)).1;
        for columns in [40, 80, 200] {
            let (_, out) = run_wide(columns, &words(table));
            // What is to be typed again stands in one line.
            for line in out.lines().filter(|line| !line.starts_with("vorrang ")) {
                let is_word = line.split_whitespace().count() <= 1;
                let width = line.chars().count();
                assert!(width <= columns || is_word, "{width} of {columns}: {line}\n{out}");
            }
            for word in plain.split_whitespace().filter(|word| word.contains("roucairol")) {
                assert!(out.contains(word), "{word} is lost at {columns}: {out}");
            }
        }
    }
    let (_, out) = run_wide(200, &words("compare --entries 50 --load heavy"));
    assert_eq!(out.matches("ALGORITHM").count(), 1, "one table where there is room: {out}");
    let (_, out) = run_wide(60, &words("compare --entries 50 --load heavy"));
    assert!(out.matches("ALGORITHM").count() > 2, "as many as it takes: {out}");
}

#[test]
fn what_a_run_was_a_run_of_is_all_there() {
    let faults = "--loss 0.5% --duplicate 1% --crash 3@40ms --restart 3@60ms --lose 7,9";
    let args = format!("run k-exclusion --k 2 --nodes 4 --entries 30 {faults}");
    let (_, run) = json(&words(&args));
    let expected = [
        ("setup", "--nodes 4 --k 2".into()),
        ("loss", "0.5%".into()),
        ("duplicate", "1%".into()),
        ("crash", vec!["3@40ms"].into()),
        ("restart", vec!["3@60ms"].into()),
        ("lose", vec![7, 9].into()),
        ("break_assumptions", false.into()),
    ];
    for (key, value) in expected {
        let value: Value = value;
        assert_eq!(run[key], value, "{key}: {run:#}");
    }
    assert_eq!((&run["crashes"], &run["restarts"]), (&1.into(), &1.into()));

    let (_, out, _) = support::run(&words(&format!("{args} --csv")));
    let rows = csv(&out);
    let field = |name: &str| rows[1][rows[0].iter().position(|it| it == name).expect(name)].clone();
    assert_eq!((field("lose"), field("crash")), ("7 9".to_owned(), "3@40ms".to_owned()));
    assert_eq!(field("messages_by_kind.REQUEST"), run["messages_by_kind"]["REQUEST"].to_string());
    assert!(!out.contains('{'), "no JSON in a field: {out}");
}

#[test]
fn the_names_of_figures_do_not_depend_on_the_run() {
    for about in abouts() {
        let keys = |more: &[&str]| {
            let light: &[&str] = if about.assumes.one_at_a_time { &["--load=light"] } else { &[] };
            let args = [&["run", about.name, "--nodes", "4"], light, more].concat();
            let (_, run) = json(&args);
            run.as_object().expect("an object").keys().cloned().collect::<Vec<_>>()
        };
        let plain = keys(&[]);
        assert_eq!(plain, keys(&["--loss", "1%"]), "{}", about.name);
        let varied = ["--latency", "uniform:1ms..2ms"];
        assert_eq!(plain, keys(&varied), "{}", about.name);
        assert!(plain.iter().any(|key| key.ends_with("_theory_typical")), "{plain:?}");
    }
}

#[test]
fn a_comparison_of_all_problems_keeps_its_columns_apart() {
    let args = words("compare --algorithms lamport,bully --nodes 4 --entries 50");
    let objects = json_of(&args);
    let (_, out, _) = run(&[&args[..], &["--csv"]].concat());
    let rows = csv(&out);
    let objects = objects.as_array().expect("rows");
    assert_eq!(rows.len(), 1 + objects.len());
    for (row, object) in rows[1..].iter().zip(objects) {
        // They were asked for differently.
        for (name, field) in rows[0].iter().zip(row).filter(|(name, _)| *name != "command") {
            let value = match &object[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(items) => {
                    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                }
                other => other.to_string(),
            };
            // A number that is read may be off by its last bit.
            let is_near = match (field.parse::<f64>(), value.parse::<f64>()) {
                (Ok(one), Ok(other)) => (one - other).abs() < 1e-9,
                (Ok(_) | Err(_), _) => *field == value,
            };
            assert!(is_near, "{name}: {field}, not {value}: {object:#}");
        }
    }
}

#[test]
fn a_check_says_what_was_asked_and_what_every_step_did() {
    let (_, answer) = json(&words("check ricart-agrawala --flaw majority --max-depth 50"));
    let parameters = &answer["parameters"];
    assert_eq!((&parameters["flaw"], &parameters["nodes"]), (&"majority".into(), &3.into()));
    assert_eq!((&parameters["entries"], &parameters["max-depth"]), (&"1,1,1".into(), &50.into()));
    let (steps, effects) = (answer["trace"].as_array(), answer["effects"].as_array());
    let (steps, effects) = (steps.expect("steps"), effects.expect("effects"));
    assert_eq!(steps.len(), effects.len());
    assert!(effects.iter().any(|of| of.as_array().is_some_and(|of| !of.is_empty())));
    let (_, answer) = json(&words("check bully --asynchronous --max-states 10 --severing"));
    assert_eq!(answer["parameters"]["asynchronous"], true);
    assert_eq!(answer["parameters"]["severing"], true);
}

#[test]
fn the_version_is_that_of_the_program() {
    let expected = format!("vorrang {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (0, expected, String::new()));
}

#[test]
fn the_terms_are_explained_and_names_are_listed() {
    let (code, out, _) = run(&["explain", "terms"]);
    assert_eq!(code, 0);
    let terms = "N|K|T|E|synchronisation delay|response time|throughput|messages per entry|\
                 busiest node|fairness (Jain)|overtakes|safe|quiescent|✓|○|✗|95 % interval|\
                 standard error|P50/T, P99/T|fencing token|evicted|view change|state|\
                 step|depth|bounded|flaw|legitimacy|termination|\
                 agreement|no starvation|ordering";
    for term in terms.split('|') {
        assert!(out.lines().any(|line| line.starts_with(&format!("{term} "))), "no {term}: {out}");
    }
    assert!(!out.contains("**") && !out.contains("| "), "no marks of Markdown: {out}");
    let (code, out, _) = run(&["explain"]);
    assert_eq!(code, 0);
    for about in abouts() {
        assert!(out.contains(about.name), "{out}");
    }
    assert!(out.contains("terms"), "{out}");
}

#[test]
fn runs_too_short_for_what_is_typical_are_not_held_to_it() {
    let args = words("compare --algorithms carvalho-roucairol --load light --nodes 2 --entries 1");
    let rows = json_of(&[&args[..], &["--seeds", "20"]].concat());
    assert_eq!(rows[0]["messages_per_entry_agreement"], "within", "{rows:#}");
}

#[test]
fn a_problem_means_its_algorithms_and_not_their_variants() {
    let compared = |options: &str| -> Vec<String> {
        let args = format!("compare --nodes 3 --entries 5 {options}");
        let rows = json_of(&words(args.trim_end()));
        let mut names: Vec<String> = Vec::new();
        for row in rows.as_array().expect("rows") {
            let name = row["algorithm"].as_str().expect("a name").to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let plain = ["central", "lamport", "ricart-agrawala", "carvalho-roucairol"];
    assert_eq!(compared("")[..4], plain);
    assert_eq!(compared("--problem mutex"), compared(""));
    assert_eq!(compared("--problem mutual-exclusion"), compared(""));
    assert_eq!(compared("--problem k-exclusion"), ["k-exclusion"]);
    assert!(compared("--problem mutex --algorithms all").contains(&"k-exclusion".to_owned()));
    assert_eq!(compared("--algorithms lamport,central,lamport"), ["lamport", "central"]);
    let (code, _, err) = run(&words("compare --problem election --algorithms lamport"));
    assert!(code == 2 && err.contains("lamport solves"), "{err}");
}
