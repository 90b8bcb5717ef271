//! What a single fault does to every algorithm: the table, and the runs that witness it.

use crate::support;

use serde_json::Value;
use support::{csv, json, json_of, run, run_wide};
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::abouts;
use vorrang_catalogue::find;
use vorrang_protocol::Needs;

/// The locks whose rows are known from the literature, in a small group.
const SEVEN: &str = "central,lamport,ricart-agrawala,token-ring,suzuki-kasami,raymond,maekawa";
const SMALL: [&str; 5] = ["survive", "--nodes", "4", "--seeds", "1"];

fn rows(args: &[&str]) -> Vec<Value> {
    json_of(args).as_array().expect("a list").clone()
}

#[track_caller]
fn verdict<'a>(rows: &'a [Value], algorithm: &str, fault: &str) -> &'a str {
    let is_it = |row: &&Value| row["algorithm"] == algorithm && row["fault"] == fault;
    let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{algorithm} {fault}"));
    row["verdict"].as_str().unwrap_or("–")
}

#[test]
fn the_table_says_what_the_literature_says() {
    let faults = [
        "lose",
        "duplicate",
        "reorder",
        "crash-idle",
        "crash-waiting",
        "crash-holder",
        "crash-coordinator",
    ];
    // No lock stands the loss of a message, and only who is not involved may crash: with a
    // coordinator, or where only requesters and the holder matter (Suzuki and Kasami). What is
    // numbered or stamped stands a copy; a token does not. Lamport's needs links that keep order.
    let known = [
        ("central", ["stuck", "stuck", "fine", "fine", "stuck", "stuck", "stuck"]),
        ("lamport", ["unsafe", "fine", "unsafe", "stuck", "stuck", "stuck", "–"]),
        ("ricart-agrawala", ["stuck", "fine", "fine", "stuck", "stuck", "stuck", "–"]),
        ("token-ring", ["stuck", "unsafe", "fine", "stuck", "stuck", "stuck", "stuck"]),
        ("suzuki-kasami", ["stuck", "unsafe", "fine", "fine", "stuck", "stuck", "stuck"]),
        ("raymond", ["stuck", "unsafe", "fine", "stuck", "stuck", "stuck", "stuck"]),
        ("maekawa", ["stuck", "stuck", "fine", "stuck", "stuck", "stuck", "–"]),
    ];
    let rows = rows(&[&SMALL[..], &["--algorithms", SEVEN]].concat());
    for (algorithm, verdicts) in known {
        let found = faults.map(|fault| verdict(&rows, algorithm, fault));
        assert_eq!(found, verdicts, "{algorithm}: {faults:?}");
    }
    for row in &rows {
        let count = |key: &str| row[key].as_u64().expect("a count");
        assert_eq!(count("tried"), count("fine") + count("stuck") + count("unsafe"), "{row:#}");
        let worst = ["unsafe", "stuck", "fine"].into_iter().find(|&key| count(key) > 0);
        assert_eq!(row["verdict"].as_str(), worst, "{row:#}");
        assert_eq!(row["absent"].is_string(), worst.is_none(), "{row:#}");
        assert_eq!(row["witness"].is_string(), matches!(worst, Some("stuck" | "unsafe")));
    }
    every_witness_replays(&rows);
}

/// A majority of votes does without idle nodes, and without what one message says.
#[test]
fn a_majority_outlives_idle_nodes_and_not_those_that_have_votes() {
    let rows = rows(&["survive", "--nodes", "5", "--seeds", "1", "--algorithms", "majority-votes"]);
    for fault in ["lose", "reorder", "crash-idle"] {
        assert_eq!(verdict(&rows, "majority-votes", fault), "fine", "{fault}");
    }
    for fault in ["crash-waiting", "crash-holder"] {
        assert_eq!(verdict(&rows, "majority-votes", fault), "stuck", "{fault}");
    }
}

/// Whom requests need, as a card has it, is what crashes show: those who are left are told by it
/// what they can and cannot do any more.
#[test]
fn cards_say_whom_requests_need() {
    let rows = rows(&["survive", "--nodes", "4", "--seeds", "1", "--problem", "mutex"]);
    let mut checked = 0;
    for about in abouts().iter().filter(|about| about.problem == Mutex::NAME) {
        let name = about.name;
        let card = find::<Mutex>(name, None).expect("it is in the catalogue").card;
        let row = rows.iter().find(|row| row["algorithm"] == name).expect("a row");
        let setup = Setup::read(row["setup"].as_str().expect("a text"), card.takes);
        let crash = |who: &str| verdict(&rows, name, &format!("crash-{who}"));
        let needs = (card.terms.needs)(&setup.expect("a set-up"));
        checked += u32::from(needs != Needs::Anyone);
        match needs {
            Needs::AllBut(0) => assert_eq!(crash("idle"), "stuck", "{name}"),
            Needs::AllBut(_) => assert_eq!(crash("idle"), "fine", "{name}"),
            Needs::One(_) => {
                assert_eq!((crash("idle"), crash("coordinator")), ("fine", "stuck"), "{name}");
            }
            Needs::Nobody => {
                for who in ["idle", "waiting", "holder"] {
                    assert_eq!(crash(who), "fine", "{name} {who}");
                }
            }
            // Perhaps anybody: that says little.
            Needs::Anyone => assert_ne!(crash("holder"), "fine", "{name} gets over it"),
        }
    }
    assert!(checked >= 10, "{checked}");
}

/// The line of every bad cell, typed, ends as the table says.
fn every_witness_replays(rows: &[Value]) {
    let mut replayed = 0;
    for row in rows.iter().filter(|row| row["kind"].is_null()) {
        let Some(line) = row["witness"].as_str() else { continue };
        let args: Vec<&str> = line.split(' ').skip(1).collect();
        let (code, measured) = json(&args);
        let is_safe = row["verdict"] == "stuck";
        assert_eq!(code, 1, "{line}");
        assert_eq!(measured["safe"], is_safe, "{line}: {measured:#}");
        assert!(!is_safe || measured["quiescent"] == false, "{line}: {measured:#}");
        assert_eq!(measured["events"], row["witness_events"], "{line}");
        let (said, what) = (measured["violation"].as_str(), row["what"].as_str());
        assert!(said.zip(what).is_some_and(|(said, what)| said.starts_with(what)), "{line}");
        // Without its fault, all goes well.
        let fault =
            args.iter().position(|it| ["--lose", "--double", "--delay", "--crash"].contains(it));
        let (code, measured) = json(&args[..fault.expect("a fault at the end")]);
        assert_eq!((code, &measured["safe"]), (0, &Value::Bool(true)), "{line}");
        replayed += 1;
    }
    assert!(replayed > 30, "{replayed}");
}

#[test]
fn every_algorithm_has_a_row_and_every_fault_a_cell() {
    let rows = rows(&["survive", "--nodes", "3", "--seeds", "1"]);
    for about in abouts() {
        let own: Vec<&Value> = rows.iter().filter(|row| row["algorithm"] == about.name).collect();
        let has = |fault: &str| own.iter().any(|row| row["fault"] == fault);
        let crashes: &[&str] = match about.problem {
            "mutex" => {
                &["crash-idle", "crash-waiting", "crash-holder", "crash-coordinator", "on-views"]
            }
            "election" => &["crash-other", "crash-initiator", "crash-leader", "unplug"],
            "detection" => &["crash-other"],
            "group" => &["crash-other", "crash-leader"],
            _ => &["crash-other", "crash-initiator"],
        };
        for fault in ["lose", "duplicate", "reorder"].iter().chain(crashes) {
            assert!(has(fault), "{}: {fault}", about.name);
        }
        // What may overtake is fine if it does, unless it is late.
        if !about.assumes.timely && about.assumes.in_short() != "FIFO" {
            assert_eq!(verdict(&rows, about.name, "reorder"), "fine", "{}", about.name);
        }
    }
    assert_eq!(verdict(&rows, "bully", "lose"), "unsafe");
    assert_eq!(verdict(&rows, "bully", "crash-leader"), "fine", "it is made for that");
    assert_eq!(verdict(&rows, "echo", "lose"), "stuck");
}

/// A device on a bus does not crash, it is unplugged, at any moment of an election; other elections
/// have no cables.
#[test]
fn a_bus_survives_that_any_device_is_unplugged() {
    let args = ["survive", "--nodes", "4", "--seeds", "1", "--algorithms", "bus-reset,bully"];
    let rows = rows(&args);
    let of = |name: &str| {
        let is_it = |row: &&Value| row["algorithm"] == name && row["fault"] == "unplug";
        rows.iter().find(is_it).expect("a row")
    };
    let (bus, bully) = (of("bus-reset"), of("bully"));
    assert_eq!(bus["verdict"], "fine", "{bus:#}");
    assert!(bus["tried"].as_u64() > Some(50), "{bus:#}");
    assert_eq!(verdict(&rows, "bus-reset", "crash-other"), "stuck", "they do not stand that");
    for row in &rows {
        let what = row["what"].as_str().unwrap_or_default();
        assert!(!what.contains("assumes"), "that is on its card: {what}");
    }
    assert_eq!(bully["absent"], "no cables that come and go");
    let (_, table, _) = run(&args);
    assert!(table.contains("  UNPLUG\n") && table.contains("a device are pulled out"), "{table}");
    let (_, without, _) = run(&[&SMALL[..], &["--algorithms", "bully"]].concat());
    assert!(!without.contains("UNPLUG"), "{without}");
}

/// Whoever crashes, whatever it was doing, the others go on; and a lost message is made up for.
#[test]
fn what_is_made_to_survive_survives() {
    let survivors = [
        "ricart-agrawala-probing",
        "regenerating-ring",
        "regenerating-suzuki-kasami",
        "regenerating-raymond",
        "majority-votes-timely",
    ];
    let rows = rows(&[&SMALL[..], &["--algorithms", &survivors.join(",")]].concat());
    for algorithm in survivors {
        let has_token = algorithm.starts_with("regenerating");
        for fault in ["lose", "crash-idle", "crash-waiting", "crash-holder"] {
            assert_eq!(verdict(&rows, algorithm, fault), "fine", "{algorithm} {fault}");
        }
        let (coordinator, duplicate) = if has_token { ("fine", "unsafe") } else { ("–", "fine") };
        assert_eq!(verdict(&rows, algorithm, "crash-coordinator"), coordinator, "{algorithm}");
        // A token that is doubled is two tokens of one generation.
        assert_eq!(verdict(&rows, algorithm, "duplicate"), duplicate, "{algorithm}");
    }
}

/// What a layer says to recover is struck as well, in a run that needs it; what is never said is
/// not called fine.
#[test]
fn every_kind_of_message_is_struck_or_said_not_to_be() {
    let args = [&SMALL[..], &["--algorithms", "regenerating-ring,maekawa-basic,central"]].concat();
    let all = rows(&args);
    for kind in ["ASK", "HAVE", "QUERY", "STATUS", "INSTALL", "ELECTION", "COORDINATOR", "TOKEN"] {
        let fault = format!("lose:{kind}");
        let is_it = |row: &&Value| row["algorithm"] == "regenerating-ring" && row["fault"] == fault;
        let row = all.iter().find(is_it).expect("a row");
        assert!(row["tried"].as_u64() > Some(0), "{row:#}");
        assert_eq!(row["verdict"], "fine", "{row:#}");
    }
    let lose = |name: &str| {
        all.iter().find(|row| row["algorithm"] == name && row["fault"] == "lose").expect("a row")
    };
    assert_eq!(
        lose("regenerating-ring")["not_tried"],
        "SUPERSEDED OUTDATED",
        "{:#}",
        lose("regenerating-ring")
    );
    assert_eq!(lose("central")["not_tried"], "");
    let (_, text, _) = run(&args);
    let text = text.replace('\n', " ");
    assert!(
        text.contains("with a crash that the algorithm got over: regenerating-ring "),
        "{text}"
    );
    let (_, alone, _) = run(&[&SMALL[..], &["--algorithms", "regenerating-ring"]].concat());
    let line = alone.lines().find(|line| line.starts_with("lose:SUPERSEDED")).expect("a line");
    assert!(line.contains("  not tried  "), "{line}");
}

#[test]
fn over_reliable_channels_nothing_befalls_messages_and_crashes_do_as_before() {
    let algorithms = "central,lamport,suzuki-kasami,raymond";
    let args = ["survive", "--nodes", "3", "--seeds", "1", "--algorithms", algorithms];
    let rows = rows(&[&args[..], &["--reliable"]].concat());
    for algorithm in algorithms.split(',') {
        for fault in ["lose", "duplicate", "reorder", "lose:REQUEST", "lose:RECEIPT"] {
            assert_eq!(verdict(&rows, algorithm, fault), "fine", "{algorithm} {fault}");
        }
        assert_eq!(verdict(&rows, algorithm, "crash-holder"), "stuck", "{algorithm}");
    }
    // Time-outs that were cancelled do not put off what happens when all is at rest: whoever
    // crashes is what it was in the run without a crash.
    for algorithm in ["central", "suzuki-kasami"] {
        assert_eq!(verdict(&rows, algorithm, "crash-idle"), "fine", "{algorithm}");
    }
}

#[test]
fn a_witness_is_the_line_the_run_and_the_verdict() {
    let args = [&SMALL[..], &["--witness", "central", "lose:request"]].concat();
    let (code, out, _) = run(&args);
    assert_eq!(code, 0, "{out}");
    let mut lines = out.lines();
    let first = lines.next().expect("a line");
    assert!(first.starts_with("vorrang run central --nodes 4 "), "{out}");
    assert!(first.contains(" --lose "), "{out}");
    let number = first.rsplit(' ').next().expect("a number");
    assert!(out.contains(&format!("REQUEST(1) #{number}\n")), "{out}");
    assert!(out.contains(&format!(" ! message {number} to 3 is lost\n")), "{out}");
    assert!(out.contains("safe but stuck: progress: "), "{out}");
    let value = json_of(&args);
    assert_eq!((&value["witness"], &value["verdict"]), (&first.into(), &"stuck".into()));
    assert!(value["trace"].as_array().is_some_and(|lines| lines.len() > 2), "{value:#}");

    // Of an unsafe run, all up to where it is.
    let (code, out, _) = run(&[&SMALL[..], &["--witness", "lamport", "reorder"]].concat());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(" lines after\n\nunsafe: exclusion: "), "{out}");
    let (last, _) = out.split_once(" lines after").expect("it ends early");
    assert!(last.lines().rev().nth(1).is_some_and(|it| it.ends_with(" entered")), "{out}");
}

#[test]
fn where_nothing_is_bad_there_is_no_witness() {
    let (code, out, _) = run(&[&SMALL[..], &["--witness", "central", "crash-idle"]].concat());
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("no witness: for central, crash-idle was tried "), "{out}");
    let none = ["--witness", "lamport", "crash-coordinator"];
    let (code, out, _) = run(&[&SMALL[..], &none].concat());
    assert_eq!(
        (code, &*out),
        (0, "no witness: for lamport, there is nothing to try crash-coordinator on\n")
    );
}

#[test]
fn the_same_options_give_the_same_bytes_in_every_form() {
    let args = [&SMALL[..], &["--algorithms", "central,singhal,bully,echo"]].concat();
    for form in [&[][..], &["--json"], &["--csv"], &["--markdown"]] {
        let once = run(&[&args[..], form].concat());
        assert_eq!(once, run(&[&args[..], form].concat()), "{form:?}");
        assert_eq!(once.0, 0, "{}", once.2);
    }
    let (_, text, _) = run(&[&args[..], &["--csv"]].concat());
    let records = csv(&text);
    assert_eq!(records[0][..3], ["algorithm", "problem", "setup"]);
    assert!(records.len() > 40, "{}", records.len());
    let (_, text, _) = run(&[&args[..], &["--markdown"]].concat());
    let central = "\n| central | stuck | stuck | fine | fine | stuck | stuck | stuck | fine |\n";
    assert!(text.contains(central), "{text}");
    assert!(text.contains("\nElection:\n") && text.contains("| bully | "), "{text}");
}

#[test]
fn it_fits_the_screen() {
    for columns in [40, 80, 200] {
        for algorithms in ["central,carvalho-roucairol,bully", "carvalho-roucairol"] {
            let (code, out) = run_wide(columns, &[&SMALL[..], &["-a", algorithms]].concat());
            assert_eq!(code, 0, "{out}");
            let widest = out.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{columns}: {out}");
        }
    }
    let (_, out) = run_wide(90, &[&SMALL[..], &["-a", "central,carvalho-roucairol"]].concat());
    assert_eq!(out.lines().filter(|line| line.starts_with("ALGORITHM")).count(), 1, "{out}");
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let refused = |args: &[&str], words: &[&str]| {
        let (code, out, err) = run(&[&["survive"], args].concat());
        assert_eq!((code, &*out), (2, ""), "{args:?}: {err}");
        for word in words {
            assert!(err.contains(word), "{args:?}: no '{word}' in: {err}");
        }
    };
    refused(&["-a", "lamprt"], &["did you mean 'lamport'?"]);
    refused(&["--problem", "lunch"], &["unknown problem 'lunch'", "election"]);
    refused(&["--witness", "lamprt", "lose"], &["did you mean 'lamport'?"]);
    let known = ["unknown fault for lamport 'lsoe'", "did you mean 'lose'?", "crash-waiting"];
    refused(&["--witness", "lamport", "lsoe"], &known);
    refused(&["--witness", "lamport", "lose:TOKEN"], &["lose:REQUEST, lose:ACK, lose:RELEASE"]);
    refused(&["--witness", "lamport"], &["--witness", "FAULT"]);
    refused(&["--nodes", "0"], &["'0'", "from 1 to 100"]);
    refused(&["-a", "lamport", "--quorum", "grid"], &["lamport does not take --quorum"]);
    refused(&["--seed", "18446744073709551615"], &["goes beyond the last seed"]);
}

#[test]
fn a_node_alone_has_nothing_to_lose() {
    let rows = rows(&["survive", "--nodes", "1", "-a", "lamport", "--seeds", "1"]);
    assert_eq!(verdict(&rows, "lamport", "lose"), "–");
    assert_eq!(rows[0]["absent"], "no message was sent");
    assert_eq!(verdict(&rows, "lamport", "crash-holder"), "fine", "the dead are owed nothing");
}

/// A sample of the places: what is bad in it is bad, and it is much less work.
#[test]
fn in_a_hurry_a_sample_is_tried_and_nothing_is_made_up() {
    let of = |more: &[&str]| {
        let args = ["survive", "--nodes", "4", "--algorithms", "central,maekawa,raymond"];
        rows(&[&args[..], more].concat())
    };
    let (quick, whole) = (of(&["--quick"]), of(&[]));
    let tried = |rows: &[Value]| -> u64 {
        let columns = rows.iter().filter(|row| row["kind"].is_null());
        columns.map(|row| row["tried"].as_u64().expect("a count")).sum()
    };
    assert!(tried(&quick) * 3 < tried(&whole), "{} of {}", tried(&quick), tried(&whole));
    let badness = |row: &Value| match row["verdict"].as_str() {
        Some("unsafe") => 2,
        Some("stuck") => 1,
        _ => 0,
    };
    let (mut same, mut all) = (0, 0);
    for row in &quick {
        let is_same = |it: &&Value| ["algorithm", "fault"].iter().all(|key| it[*key] == row[*key]);
        let known = whole.iter().find(is_same).expect("the same row");
        assert!(badness(row) <= badness(known), "{row:#}: {known:#}");
        all += 1;
        same += u32::from(badness(row) == badness(known));
    }
    assert!(same * 10 >= all * 9, "{same} of {all} verdicts are those of all places");
    let (code, text, _) = run(&["survive", "--quick", "--nodes", "3", "--algorithm", "central"]);
    assert_eq!(code, 0);
    assert!(text.contains("seed 1: ") && text.contains("(at most 20 times of a kind"), "{text}");
    let (_, text, _) = run(&["survive", "--quick", "--seeds", "2", "--algorithm", "central"]);
    assert!(text.contains("seeds 1 to 2: "), "seeds can be asked for: {text}");
    let (code, _, err) = run(&["survive", "--quick", "--witness", "central", "lose"]);
    assert!(code == 2 && err.contains("--quick"), "{err}");
}

/// The documents say that all algorithms take a few seconds in a hurry. Programs for tests are
/// slower, and what runs beside them takes its share.
#[test]
fn in_a_hurry_all_algorithms_are_tried_at_few_places() {
    let (code, text, err) = run(&["survive", "--quick"]);
    assert_eq!(code, 0, "{err}");
    // Of all places there are more than 400,000.
    let runs = text.split(", and ").nth(1).and_then(|it| it.split(" with one fault each").next());
    let runs: u64 = runs.expect("a count").replace(',', "").parse().expect("a number");
    assert!((1_000..60_000).contains(&runs), "{text}");
    for about in abouts() {
        assert!(text.contains(about.name), "{} is missing: {text}", about.name);
    }
}
