//! What a verdict of `vorrang check` covers, in words, and warnings where that is too little. Each
//! warning is there in one check, and not in another that differs in what it warns of.

use crate::support;

use serde_json::Value;
use support::{json, run, run_wide};

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

fn covers(command: &str) -> String {
    let (_, answer) = json(&words(command));
    answer["covers"].as_str().unwrap_or_else(|| panic!("{command}: {answer:#}")).to_owned()
}

#[test]
fn a_verdict_says_what_it_covers() {
    for (command, expected) in [
        ("check ricart-agrawala --entries 2", "3 nodes, 2 entries each, any order, no faults"),
        ("check lamport --entries 2,1", "2 nodes, 2,1 entries, FIFO order, no faults"),
        (
            "check lamport --nodes 2 --crashes 1 --restarts 1 --losses 2 --max-states 10",
            "2 nodes, 1 entry each, FIFO order, up to 1 crash and 1 restart and 2 lost messages",
        ),
        (
            "check k-exclusion --k 2 --stay 0",
            "3 nodes, 1 entry each, 0 staying, k 2, any order, no faults",
        ),
        (
            "check readers-writers --nodes 2 --claims shared,exclusive",
            "2 nodes, 1 entry each, claims shared,exclusive, any order, no faults",
        ),
        ("check bully", "3 nodes, node 0 calls, any order, messages within 1ms, up to 1 crash"),
        (
            "check bully --initiators 0,2 --crashes 0 --asynchronous --max-states 10",
            "3 nodes, nodes 0,2 call, any order, messages without a bound on delay, no faults",
        ),
        (
            "check ring-election --nodes 2 --initiators all --late 1ms --crashes 0",
            "2 nodes, nodes 0,1 call, late 1ms, ring ascending, any order, messages within 1ms, \
             no faults",
        ),
        (
            "check tree-election --nodes 2 --calls 2",
            "2 nodes, nodes 0,1 call twice, topology tree:2, contention wait, any order, messages \
             within 1ms, no faults",
        ),
        (
            "check lamport --nodes 2 --timely 2ms",
            "2 nodes, 1 entry each, FIFO order, messages within 2ms, no faults",
        ),
    ] {
        assert_eq!(covers(command), expected, "{command}");
    }
    let (code, out, _) = run(&words("check ricart-agrawala --entries 2"));
    assert_eq!(code, 0);
    let verdict = "verified for 3 nodes, 2 entries each, any order, no faults: exclusion, \
                   progress, known older served, known younger stay younger, unknown younger";
    assert!(out.lines().any(|line| line == verdict), "{out}");
    let (_, out, _) = run(&words("check bully --crashes 0"));
    let verdict = "verified for 3 nodes, node 0 calls, any order, messages within 1ms, no faults: \
                   one leader, legitimacy, termination, agreement";
    assert!(out.lines().any(|line| line == verdict), "{out}");
    let (_, out, _) = run(&words("check ricart-agrawala --entries 2 --max-depth 3"));
    let verdict = "bounded by depth for 3 nodes, 2 entries each, any order, no faults; nothing \
                   wrong so far with exclusion, progress, known older served, known younger \
                   stay younger, unknown younger";
    assert!(out.lines().any(|line| line == verdict), "{out}");
    assert!(out.contains("Not exhausted: every run of at most 3 steps was followed."), "{out}");
}

fn warnings(command: &str) -> Vec<String> {
    let (_, answer) = json(&words(command));
    let warnings = answer["warnings"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    warnings.iter().map(|it| it.as_str().expect("a sentence").to_owned()).collect()
}

#[test]
fn a_check_that_shows_little_says_so_and_another_does_not() {
    let vague = "ordering held here, perhaps for want of nodes or entries";
    // A warning, a check that has it, and one that has not.
    for (warning, there, not_there) in [
        ("no node ever asks", "check lamport --entries 0", "check lamport"),
        ("only node 1 ever asks", "check lamport --entries 0,1", "check lamport --entries 1,1"),
        ("a single node has no other to exclude", "check lamport --nodes 1", "check lamport"),
        ("a single node has no other to agree with", "check bully --nodes 1", "check bully"),
        (
            "exclusion is not tested: all 2 nodes that ask may be inside together",
            "check k-exclusion --k 2 --nodes 2",
            "check k-exclusion --k 2 --nodes 3",
        ),
        (
            "exclusion is not tested: no two claims of nodes that ask conflict",
            "check readers-writers --nodes 2 --claims shared,shared",
            "check readers-writers --nodes 2 --claims shared,exclusive",
        ),
        (
            "ordering is not promised by central; asked anyway",
            "check central --property ordering --entries 1,1,0",
            "check lamport --property ordering",
        ),
        (
            vague,
            "check central --property ordering --entries 1",
            "check lamport --property ordering",
        ),
        (
            "no bound on passing below 1 is promised by lamport; asked anyway",
            "check lamport --nodes 2 --bypass 0",
            "check lamport --nodes 2 --bypass 1",
        ),
        (
            "no bound on passing is promised by k-exclusion; asked anyway",
            "check k-exclusion --bypass 1",
            "check lamport --bypass 1",
        ),
        (
            "no starvation is not tested: no node enters more often than once",
            "check lamport --nodes 2 --property no-starvation",
            "check lamport --nodes 2 --property no-starvation --entries 3",
        ),
        (
            "nothing promised by k-exclusion besides exclusion and progress",
            "check k-exclusion --property promised",
            "check lamport --nodes 2 --property promised",
        ),
        (
            "bully believes that no message takes longer than 1ms, and here some take 2ms",
            "check bully --within 1ms --timely 2ms --crashes 0",
            "check bully --within 1ms --timely 1ms --crashes 0",
        ),
    ] {
        let has = |command| warnings(command).iter().any(|it| it.contains(warning));
        assert!(has(there), "{there}: {:?}", warnings(there));
        assert!(!has(not_there), "{not_there}: {:?}", warnings(not_there));
        let (_, out, _) = run(&words(there));
        assert!(out.contains(&format!("warning: {warning}")), "{there}: {out}");
    }
    let plain = warnings("check ricart-agrawala --entries 2,1");
    assert_eq!(plain, [""; 0], "where there is nothing to say, nothing is");
}

#[test]
fn what_was_violated_is_not_said_to_have_held() {
    let (code, answer) = json(&words("check central --property ordering --entries 1,1,1"));
    let held = answer["warnings"].to_string().contains("held here");
    assert_eq!(held, code == 0, "{answer:#}");
    let (code, answer) = json(&words("check lamport --nodes 2 --order any --bypass 0"));
    assert_eq!(code, 1);
    assert!(!answer["warnings"].to_string().contains("held here"), "{answer:#}");
}

#[test]
fn a_flaw_that_was_not_met_is_not_taken_for_a_proof() {
    let majority = "the flaw majority cannot show here: this is less than --entries 1,1,1";
    for (smaller, warning) in [
        ("ricart-agrawala --flaw majority --nodes 2", majority),
        ("ricart-agrawala --flaw majority --entries 1,0,0", majority),
        (
            "lamport --flaw unordered-links --order fifo",
            "the flaw unordered-links cannot show here: this is less than --entries 1,1 \
             --order any, which shows it",
        ),
        (
            "bully --flaw no-second-time-out --crashes 1",
            "the flaw no-second-time-out cannot show here: this is less than --nodes 3 \
             --initiators 0 --crashes 2",
        ),
        ("bully --flaw short-time-out --nodes 1", "the flaw short-time-out cannot show here"),
        (
            "tree-election --flaw stale-be-my-parent --calls 1",
            "the flaw stale-be-my-parent cannot show here: this is less than --nodes 2 \
             --initiators all --calls 2",
        ),
    ] {
        let command = format!("check {smaller}");
        let (code, answer) = json(&words(&command));
        assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{command}: {answer:#}");
        let found = warnings(&command);
        assert!(found.iter().any(|it| it.starts_with(warning)), "{command}: {found:?}");
    }
    let command = "check ricart-agrawala --flaw majority --max-depth 2";
    let (code, answer) = json(&words(command));
    assert_eq!(code, 3);
    let found = answer["warnings"].to_string();
    assert!(found.contains("the flaw majority was not found: it is shown by --entries"), "{found}");
    let (code, answer) = json(&words("check ricart-agrawala --flaw majority"));
    assert_eq!((code, &answer["warnings"]), (1, &Value::Array(Vec::new())), "{answer:#}");
}

#[test]
fn time_makes_no_difference_where_nobody_looks_at_it() {
    let (_, with) = json(&words("check lamport --entries 1 --timely 5ms"));
    let (_, without) = json(&words("check lamport --entries 1"));
    assert_eq!(with["states"], without["states"]);
    let note = "lamport sets no timers: time makes no difference to it";
    assert_eq!(with["notes"], Value::from(vec![note]));
    assert_eq!(without["notes"], Value::Array(Vec::new()));
    assert_eq!(with["parameters"]["timely"], "5ms");
    let (_, timely) = json(&words("check bully --timely 1ms"));
    assert_eq!(timely["notes"], Value::Array(Vec::new()));
    let (_, implied) = json(&words("check bully"));
    assert_eq!((&timely["states"], &timely["outcome"]), (&implied["states"], &implied["outcome"]));
}

#[test]
fn a_network_slower_than_believed_breaks_what_relies_on_it() {
    let (code, answer) = json(&words("check bully --within 1ms --timely 3ms --crashes 0"));
    assert_eq!((code, &answer["outcome"]), (1, &"violated".into()), "{answer:#}");
    let (code, answer) = json(&words("check bully --within 3ms --timely 1ms --crashes 0"));
    assert_eq!(code, 0, "sooner than believed is no harm: {answer:#}");
}

#[test]
fn a_verdict_is_no_wider_than_the_screen() {
    for command in [
        "check lamport --nodes 2",
        "check lamport --entries 0 --property promised",
        "check bully --max-states 10",
        "check lamport --nodes 2 --walks 3",
    ] {
        for columns in [40, 80, 200] {
            let (_, out) = run_wide(columns, &words(command));
            for line in out.lines().filter(|line| !line.starts_with("vorrang ")) {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn what_was_asked_is_repeated_and_gives_the_same_again() {
    let line = "check bully --within 2ms --timely 3ms --crashes 0 --time 10m --max-depth 9";
    let (code, answer) = json(&words(line));
    let again = answer["command"].as_str().expect("a line").to_owned();
    for option in ["--within 2ms", "--timely 3ms", "--time 10m", "--max-depth 9"] {
        assert!(again.contains(option), "no {option} in {again}");
    }
    let again: Vec<&str> = again.split(' ').skip(1).collect();
    let (same_code, same) = json(&again);
    assert_eq!((code, &answer["states"]), (same_code, &same["states"]));
    assert_eq!(answer["command"], same["command"]);
}

#[test]
fn a_verdict_speaks_of_starvation_only_where_nodes_ask_for_ever() {
    let fair = "nobody waits for ever in fair runs of so many requests";
    let singhal = "check singhal --nodes 3 --arbitration nearest --entries 2";
    for (line, says) in [
        ("check raymond --nodes 2 --entries 2 --fair", fair),
        ("check lamport --nodes 2 --property promised --entries 2 --fair", fair),
        (&*format!("{singhal} --fair"), fair),
        ("check raymond --nodes 2 --entries forever", "no starvation in fair runs"),
    ] {
        let (code, out, _) = run(&words(line));
        assert_eq!(code, 0, "{line}\n{out}");
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(says), "{line}\n{out}");
        assert_eq!(out.contains("no starvation"), line.contains("forever"), "{line}\n{out}");
    }
    let (_, out, _) = run(&words("check raymond --nodes 2 --entries forever --walks 5 --depth 20"));
    assert!(!out.contains("no starvation"), "{out}");
}

#[test]
fn who_is_starved_by_others_who_ask_for_ever_is_found() {
    for (line, who) in [
        ("token-ring --flaw no-ageing --nodes 2 --priorities 0,1 --entries forever", 0),
        (
            "readers-writers --flaw readers-preference --nodes 3 --claims exclusive,shared,shared \
             --entries forever",
            0,
        ),
        (
            "singhal --nodes 4 --arbitration nearest --order fifo --entries forever,forever,0,1 \
             --max-depth 24",
            3,
        ),
    ] {
        let (code, answer) = json(&words(&format!("check {line}")));
        assert_eq!((code, &answer["outcome"]), (1, &"violated".into()), "{line}");
        assert_eq!(answer["property"], "no starvation", "{line}");
        let violation = answer["violation"].to_string();
        assert!(violation.contains(&format!("node {who} waits for ever")), "{line}: {violation}");
        assert!(answer["repeats_from"].is_u64(), "{line}");
    }
}

#[test]
fn entries_are_numbers_or_for_ever() {
    for (line, why) in [
        ("--entries always", "give a whole number from 0 to 1000, or forever"),
        ("--nodes 2 --entries forever --stay 0", "node 0 enters for ever, so no entry is its last"),
    ] {
        let (code, _, err) = run(&words(&format!("check raymond {line}")));
        assert_eq!(code, 2, "{line}: {err}");
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(err.contains(why), "{line}: {err}");
    }
}
