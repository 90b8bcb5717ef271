//! What is asked wrongly is refused with exit code 2 and a sentence; what the world does, with 1.

mod support;

use std::net::TcpListener;
use std::process::Stdio;

use support::{Folder, json, run, vorrang};

/// Refused as wrong use, with all of these words on standard error and nothing on standard output.
#[track_caller]
fn refused(command: &str, words: &[&str]) {
    let args: Vec<&str> = command.split(' ').collect();
    let (code, out, err) = run(&args);
    assert_eq!(code, 2, "vorrang {command}: {out}{err}");
    assert_eq!(out, "", "vorrang {command}");
    for word in words {
        assert!(err.contains(word), "vorrang {command}: no '{word}' in: {err}");
    }
}

#[test]
fn an_unknown_algorithm_is_refused_with_the_nearest_name() {
    for verb in ["run", "check", "explain"] {
        let nearest = ["unknown algorithm 'ricart-agrawla'", "did you mean 'ricart-agrawala'?"];
        refused(&format!("{verb} ricart-agrawla"), &nearest);
        refused(
            &format!("{verb} xyzzy"),
            &["unknown algorithm 'xyzzy'", "there are central, lamport, "],
        );
    }
    refused("compare --algorithms lamprt", &["did you mean 'lamport'?"]);
    refused("sweep --algorithms lamprt --csv never.csv", &["did you mean 'lamport'?"]);
    refused("node --id 0 --peers 127.0.0.1:1 --algorithm lamprt", &["did you mean 'lamport'?"]);
}

#[test]
fn more_nodes_than_a_simulation_can_hold_are_refused() {
    let words = ["--nodes 1000000", "ricart-agrawala", "1999998 messages"];
    refused("run ricart-agrawala --nodes 1000000", &words);
    refused("run lamport --nodes 2000000", &["2000000", "from 1 to 1000000"]);
    let (code, _, _) = run(&["run", "central", "--nodes", "100000", "--entries", "10"]);
    assert_eq!(code, 0, "where an entry takes three messages, there may be many nodes");
}

#[test]
fn an_unknown_verb_and_an_unknown_option_are_refused() {
    refused("rum", &["rum", "run"]);
    refused("run lamport --node 3", &["--node", "--nodes"]);
    refused("run lamport --load idle", &["idle", "heavy", "light", "burst"]);
}

#[test]
fn a_group_without_nodes_is_refused() {
    for verb in ["run lamport", "compare", "check lamport"] {
        refused(&format!("{verb} --nodes 0"), &["'0'", "--nodes"]);
    }
    refused("sweep --nodes 0 --csv never.csv", &["'0'", "--nodes", "from 1 to 1000000"]);
    refused("run lamport --entries 0", &["'0'", "--entries"]);
    refused("run k-exclusion --k 0", &["'0'", "--k"]);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let faults = ["--loss 1%", "--duplicate 1%", "--crash 0@0", "--restart 0@0", "--lose 1"];
    for option in ["--latency 1ms", "--order fifo", "--break-assumptions"].iter().chain(&faults) {
        let name = option.split(' ').next().expect("a name");
        let sentence = format!("{name} is for the simulator: with --net, TCP decides");
        refused(&format!("run lamport --net {option}"), &[&sentence]);
    }
    for load in ["light", "burst"] {
        let words = ["--think 1ms only means something under --load heavy", load];
        refused(&format!("run lamport --load {load} --think 1ms"), &words);
    }
    refused("run lamport --processes", &["--net"]);
    refused("run lamport --json --csv", &["--json", "--csv"]);
    refused("compare --markdown --json", &["--markdown", "--json"]);
    refused("run lamport --nodes 3 --hot 4", &["--hot 4 is more than there are", "--nodes 3"]);
    refused("run lamport --load heavy,light", &["--load takes one value here"]);
    refused("run lamport --net --nodes 500", &["--nodes 500 is too many for --net", "128"]);
}

#[test]
fn a_duration_without_a_unit_or_of_nonsense_is_refused() {
    for wrong in ["5", "ms", "-1ms", "1parsec", "uniform:3ms..1ms", "uniform:1ms", "exp:"] {
        refused(&format!("run lamport --latency={wrong}"), &[wrong, "--latency"]);
        refused(&format!("run lamport --hold={wrong}"), &[wrong, "--hold"]);
    }
    refused("sweep --think 1ms,2 --csv never.csv", &["'2'"]);
}

#[test]
fn a_network_that_breaks_what_is_assumed_is_refused_unless_that_is_asked_for() {
    let words = ["lamport assumes that messages between two nodes keep their order"];
    refused("run lamport --order any", &words);
    refused("compare --algorithms lamport --order any", &words);
    refused("run lamport --order any", &["--order fifo", "--break-assumptions"]);

    let scenario = "run lamport --order any --break-assumptions --latency exp:1ms --nodes 5";
    let (code, broken) = json(&scenario.split(' ').collect::<Vec<_>>());
    assert_eq!(broken["order"], "any");
    let violation = broken["violation"].as_str().expect("what the assumption is good for");
    assert!(violation.starts_with("progress: ") || violation.starts_with("exclusion: "));
    assert_eq!(code, 1);
}

#[test]
fn an_unknown_flaw_is_refused_with_the_nearest_name() {
    let words = ["unknown flaw of ricart-agrawala 'no-tiebreak'", "did you mean 'no-tie-break'?"];
    refused("check ricart-agrawala --flaw no-tiebreak", &words);
    let words = ["unknown flaw of lamport 'xyzzy'", "there are unordered-links"];
    refused("check lamport --flaw xyzzy", &words);
}

#[test]
fn a_list_that_does_not_fit_the_nodes_is_refused() {
    let words = ["--entries has 2 values for 3 nodes"];
    refused("check lamport --nodes 3 --entries 1,1", &words);
    let words = ["--claims has 1 values for 3 nodes"];
    refused("check readers-writers --nodes 3 --claims shared", &words);
    refused(
        "check lamport --nodes 3 --stay 3",
        &["--stay: node 3 does not exist: the last node is 2"],
    );
    refused("check lamport --claims shared,shared,shared", &["lamport grants no shared claims"]);
    refused("check lamport --claims shard", &["'shard' is not a claim"]);
}

#[test]
fn a_node_that_is_not_among_its_peers_is_refused() {
    let words = ["--id 2 does not exist", "2 addresses", "the last is 1"];
    refused("node --id 2 --peers 127.0.0.1:1,127.0.0.1:2", &words);
    let words = ["--peers names 127.0.0.1:1 twice"];
    refused("node --id 0 --peers 127.0.0.1:1,127.0.0.1:1", &words);
    refused("node --id 0", &["--peers"]);
    refused("node --peers 127.0.0.1:1", &["--id"]);
}

#[test]
fn a_port_in_use_is_the_worlds_fault_and_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, out, err) = run(&["node", "--id", "0", "--peers", &address]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains(&format!("cannot listen on {address}")), "{err}");
}

#[test]
fn a_trace_that_cannot_be_written_is_the_worlds_fault_and_is_named() {
    let folder = Folder::new("nowhere");
    let missing = folder.path("no/such/folder/run.jsonl");
    let (code, _, err) = run(&["run", "lamport", "--entries", "5", "--trace", &missing]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(&missing), "{err}");
}

#[test]
fn part_numbers_of_a_sweep_that_make_no_sense_are_refused() {
    refused("sweep --csv never.csv --shard 3/2", &["there is no part 3 of 2"]);
    refused("sweep --csv never.csv --shard half", &["'half' is not a part"]);
    refused("sweep --csv never.csv --nodes 5..=2", &["the range '5..=2' is empty"]);
    refused("sweep", &["--csv"]);
}

#[test]
fn without_a_verb_the_help_is_shown() {
    let (code, _, err) = run(&[]);
    assert_eq!(code, 2);
    assert!(err.contains("Usage: vorrang") && err.contains("vorrang list"), "{err}");
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, 0);
    assert!(out.contains("Exit codes: 0 fine, 1 a property or bound failed, 2 wrong use"), "{out}");
    assert!(!out.contains("worker"), "what people do not type is not shown: {out}");
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, err) = run(&["completions", shell]);
        assert_eq!((code, err.as_str()), (0, ""));
        for word in ["vorrang", "compare", "break-assumptions"] {
            assert!(out.contains(word), "no {word} for {shell}");
        }
    }
    refused("completions csh", &["csh", "bash"]);
}

/// As in `vorrang list | head -1`, if `head` is done before anything was written.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let run = ["run", "lamport", "--entries", "10"];
    let check = ["check", "lamport"];
    for args in [&["list"][..], &["explain", "lamport"], &["completions", "bash"], &run, &check] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = vorrang(args).stdout(writer).stderr(Stdio::piped()).spawn();
        let ended = child.expect("it starts").wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*err), (Some(0), ""), "vorrang {args:?}");
    }
}
