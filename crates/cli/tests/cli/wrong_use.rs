//! What is asked wrongly is refused with exit code 2 and a sentence; what the world does, with 4.

use crate::support;

use std::net::TcpListener;

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
fn whoever_looks_for_a_fallback_is_told_which_algorithms_have_one() {
    for command in
        ["run maekawa --fallback", "check maekawa --fallback 3", "run lamport --fallback"]
    {
        refused(
            command,
            &["unexpected argument '--fallback'", "maekawa-fallback, cao-singhal-fallback"],
        );
    }
    let (code, _, err) = run(&["run", "maekawa", "--fall"]);
    assert!(code == 2 && !err.contains("maekawa-fallback"), "{err}");
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
    let faults = [
        "--loss 1%",
        "--duplicate 1%",
        "--reorder 1%",
        "--pause 0@1ms..2ms",
        "--partition 0@1ms..2ms",
        "--slow 0-1:x2",
        "--lose 1",
        "--random-faults mild",
    ];
    for option in ["--latency 1ms", "--order fifo"].iter().chain(&faults) {
        let name = option.split(' ').next().expect("a name");
        let sentence = format!("{name} is for the simulator: with --net, TCP decides");
        refused(&format!("run lamport --net {option}"), &[&sentence]);
    }
    for load in ["light", "burst"] {
        let words = ["--think 1ms applies to --load heavy only", load];
        refused(&format!("run lamport --load {load} --think 1ms"), &words);
    }
    refused("run lamport --processes", &["--net"]);
    refused("run lamport --json --csv", &["--json", "--csv"]);
    refused("compare --markdown --json", &["--markdown", "--json"]);
    refused("run lamport --nodes 3 --hot 4", &["--hot 4 is more than there are", "--nodes 3"]);
    refused("run lamport --load heavy,light", &["'heavy,light'", "heavy, light, burst"]);
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
    let words = ["--claims has 1 value for 3 nodes"];
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
    assert_eq!((code, out.as_str()), (4, ""), "{err}");
    assert!(err.contains(&format!("cannot listen on {address}")), "{err}");
}

#[test]
fn a_trace_that_cannot_be_written_is_the_worlds_fault_and_is_named() {
    let folder = Folder::new("nowhere");
    let missing = folder.path("no/such/folder/run.jsonl");
    let directory = folder.path(".");
    // Before anything is done: the run would last for days.
    let long = ["run", "lamport", "--nodes", "3", "--entries", "1000000000000"];
    let node = ["node", "--id", "0", "--peers", "127.0.0.1:1,127.0.0.1:2"];
    for path in [&missing, &directory] {
        for args in [&long[..], &[&long[..], &["--net"]].concat(), &node] {
            let (code, _, err) = run(&[args, &["--trace", path]].concat());
            assert_eq!(code, 4, "{err}");
            assert!(err.contains(path), "{err}");
        }
    }
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
    for code in ["0  fine", "1  violated", "2  wrong use", "3  bounded", "4  I/O error"] {
        assert!(out.contains(code), "no {code} in {out}");
    }
    assert!(!out.contains("worker"), "what people do not type is not shown: {out}");
}

#[test]
fn every_number_that_is_none_is_named_with_what_is_allowed() {
    let options = [
        ("run lamport", "nodes", "from 1 to 1000000"),
        ("run lamport", "entries", "from 1 to 1000000000000"),
        ("run lamport", "hot", "from 1 to 1000000"),
        ("run lamport", "seed", "from 0 to 18446744073709551615"),
        ("run lamport", "lose", "from 0 to 18446744073709551615"),
        ("run k-exclusion", "k", "at least 1"),
        ("check lamport", "nodes", "from 1 to 64"),
        ("check lamport", "entries", "from 0 to 1000"),
        ("check lamport", "stay", "from 0 to"),
        ("check lamport", "bypass", "from 0 to"),
        ("check lamport", "crashes", "from 0 to 255"),
        ("check lamport", "restarts", "from 0 to 255"),
        ("check lamport", "losses", "from 0 to 255"),
        ("check lamport", "duplicates", "from 0 to 255"),
        ("check lamport", "threads", "from 1 to 1024"),
        ("check lamport", "max-depth", "from 0 to"),
        ("check lamport", "max-states", "from 0 to"),
        ("check lamport", "max-memory", "from 0 to"),
        ("check lamport", "walks", "from 1 to"),
        ("check lamport --walks 1", "depth", "from 1 to"),
        ("check lamport --walks 1", "seed", "from 0 to"),
        ("compare", "nodes", "from 1 to 1000000"),
        ("compare", "seeds", "from 1 to 10000"),
        ("sweep --csv never.csv", "nodes", "from 1 to 1000000"),
        ("sweep --csv never.csv", "seeds", "from 1 to 10000"),
        ("explain lamport", "nodes", "from 1 to 10000"),
        ("node --peers 127.0.0.1:1", "id", "from 0 to"),
    ];
    for (command, option, allowed) in options {
        for wrong in ["-1", "1e9", "99999999999999999999", ""] {
            let option = format!("--{option}");
            let args: Vec<&str> = command.split(' ').chain([option.as_str(), wrong]).collect();
            let (code, out, err) = run(&args);
            assert_eq!((code, out.as_str()), (2, ""), "vorrang {args:?}: {err}");
            for word in [&format!("'{wrong}'"), &option, allowed] {
                assert!(err.contains(word), "vorrang {args:?}: no {word} in {err}");
            }
        }
    }
    refused("run lamport -n -1", &["'-1'", "--nodes", "from 1 to 1000000"]);
    refused("run lamport --think -1ms", &["'-1ms'", "--think", "at least 0"]);
    refused("run lamport --loss -1%", &["'-1%'", "--loss", "1%, 0.1% or 0.01"]);
    refused("compare --load idle", &["'idle'", "--load", "heavy, light, burst"]);
    refused("check lamport --claims ", &["'' is not a claim"]);
}

#[test]
fn what_would_take_for_ever_or_overflow_is_refused() {
    refused("run bully --nodes 1000000", &["--nodes 1000000 is too many for bully", "2000"]);
    refused("check bully --within 9000000000s", &["--within 9000000000s", "a year at most"]);
    refused("run bully --latency 9000000000s", &["--within 9000000000s", "a year at most"]);
    refused("compare --seed 18446744073709551615 --seeds 2", &["goes beyond the last seed"]);
}

#[test]
fn peers_that_are_no_addresses_are_refused() {
    for wrong in ["", "localhost", "127.0.0.1:x", ":7000", "127.0.0.1:70000"] {
        let words = [&*format!("--peers: '{wrong}' is not an address"), "HOST:PORT"];
        refused(&format!("node --id 0 --peers {wrong}"), &words);
    }
}

#[test]
fn a_log_that_is_not_understood_is_refused() {
    let args = ["node", "--id", "0", "--peers", "127.0.0.1:0"];
    let ended = vorrang(&args).env("VORRANG_LOG", "vorrang_net=debgu").output();
    let ended = ended.expect("the program starts");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{told}");
    assert!(told.contains("VORRANG_LOG: 'debgu' in 'vorrang_net=debgu' is not a level"), "{told}");
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let (_, listed, _) = run(&["list", "--csv"]);
    let names: Vec<String> = support::csv(&listed)[1..].iter().map(|row| row[0].clone()).collect();
    refused("run nobody", &[&format!("there are {}", names.join(", "))]);
    for command in ["run sanders", "compare --algorithms sanders"] {
        let line = format!("{command} --nodes 2 --structure sets:0/0,1/1");
        refused(&line, &["nodes 0 and 1 could be inside together"]);
    }
    refused("compare --problem lunch", &["unknown problem 'lunch'", "mutex, mutual-exclusion"]);
    refused("compare --problem elction", &["did you mean 'election'?"]);
    refused("compare --problem waves", &["did you mean 'wave'?"]);
    refused("run echo --nodes 4 --initiator 4", &["--initiator: '4' is not a node", "is 3"]);
    refused("run lamport --initiator 1", &["lamport does not take --initiator", "echo-taboo"]);
    refused("run echo --entries 5", &["--entries is an option of mutual exclusion"]);
    refused("run echo-taboo --nodes 5000", &["--nodes 5000 is too many for echo-taboo", "4000"]);
    refused("run echo --nodes 6 --topology hypercube", &["do not make a power of two"]);
    refused("check echo --nodes 3 --topology torus", &["--topology torus"]);
    refused("explain echo --topology hypercube", &["--topology hypercube"]);
    refused("check central --flaw nonsense", &["unknown flaw of central 'nonsense'"]);
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, err) = run(&["completions", shell]);
        assert_eq!((code, err.as_str()), (0, ""));
        for word in ["vorrang", "compare", "break-assumptions"] {
            assert!(out.contains(word), "no {word} for {shell}");
        }
        assert!(!out.contains("worker"), "what people do not type is not offered by {shell}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let (_, out, _) = run(&["completions", shell]);
        let names = ["carvalho-roucairol", "bully", "terms"];
        let others = ["shared-exclusion", "deferred-never-cleared", "unordered-links"];
        for word in names.iter().chain(&others) {
            assert!(out.contains(word), "{shell} does not offer {word}");
        }
    }
    refused("completions csh", &["csh", "bash"]);
}

#[test]
fn faults_that_cannot_happen_are_refused() {
    refused("run bully --nodes 4 --restart 2@1ms", &["--restart 2@1ms", "node 2 is not down"]);
    refused("run bully --nodes 4 --crash 3@0,3@1ms", &["--crash 3@1ms", "is down already"]);
    refused("run bully --nodes 4 --crash 4@0", &["there is no node 4"]);
    let early = ["--restart 2@1ms", "node 2 is not down at 1ms"];
    refused("run bully --nodes 4 --crash 2@5ms --restart 2@1ms", &early);
    for (faults, words) in [
        ("--pause 4@1ms..2ms", &["--pause 4@1ms..2ms", "there is no node 4: the last node is 3"]),
        ("--pause 3@2ms..1ms", &["'3@2ms..1ms'", "the range '2ms..1ms' is empty"]),
        ("--pause 3@1ms..1ms", &["'3@1ms..1ms'", "is empty"]),
        ("--pause 3@1ms", &["'1ms' is not a range of time", "10ms..40ms"]),
        ("--pause 3@1ms..", &["has no end", "--crash"]),
        ("--pause 3@1..2ms", &["'3@1..2ms'", "a number with a unit"]),
        ("--pause 3@1ms..5ms,3@4ms..9ms", &["--pause 3@4ms..9ms", "is paused already at 4ms"]),
        ("--crash 3@1ms --pause 3@2ms..3ms", &["--pause 3@2ms..3ms", "node 3 is down at 2ms"]),
        ("--partition 0,1|4@1ms..2ms", &["--partition 0,1|4@1ms..2ms", "there is no node 4"]),
        ("--partition 0,1|1@1ms..2ms", &["'0,1|1'", "node 1 is named twice"]),
        ("--partition 0,1|@1ms..2ms", &["'0,1|' is not a partition", "0,1|2,3,4"]),
        ("--partition 0,1,2,3@1ms..2ms", &["all nodes are on one side", "0,1,2,3@1ms..2ms"]),
        ("--slow 0-4:x2", &["--slow 0-4:x2@0..", "there is no node 4"]),
        ("--slow 0-0:x2", &["'0-0:x2'", "a link is between two nodes"]),
        ("--slow 0-1:2@1ms..2ms", &["'0-1:2' is not a slow link", "0-1:x10"]),
        ("--slow 0-1:x1", &["'0-1:x1'", "at least 2"]),
        ("--random-faults wild", &["'wild'", "mild, harsh"]),
        ("--faults-until 5ms", &["--faults-until 5ms", "there are no random faults"]),
        ("--reorder 101%", &["'101%'", "--reorder"]),
        ("--double x", &["'x'", "--double"]),
    ] {
        refused(&format!("run bully --nodes 4 {faults}"), words);
    }
    // What touches does not overlap.
    let (code, _, err) = run(&["run", "bully", "--nodes", "4", "--pause", "3@1ms..2ms,3@2ms..3ms"]);
    assert!(code < 2, "{err}");
    refused("run bully --nodes 4 --crash 3@0 --initiators 3", &["node 3 cannot call"]);
    refused("run bully --nodes 1 --crash 0@0", &["all nodes down"]);
    let must = ["tree-election starts at all nodes at once", "--initiators all"];
    refused("run tree-election --nodes 4 --initiators 0,1,3", &[must[0], must[1], "node 2"]);
    refused("check tree-election --nodes 3 --initiators 0", &[must[0], must[1], "node 1"]);
    refused("run tree-election --topology ring", &["a tree is needed", "13 links are none"]);
    refused(
        "run tree-election --contention coin",
        &["'coin' is not one of: wait, id, firewire, firewire-a"],
    );
    refused("run ring-election --nodes 3 --ring 0-1", &["--ring: node 2 is missing"]);
    refused("run bully --ring random", &["bully does not take --ring", "ring-election"]);
    let takers = ["total-order does not take --within; ricart-agrawala-probing, ", "srm do"];
    refused("run total-order --within 3ms", &takers);
    refused("check bully --calls 0", &["--calls"]);
    refused("check lamport --restarts 1", &["--restarts 1", "say --crashes"]);
    refused("check lamport --severing", &["--severing", "say --crashes"]);
    refused("check lamport --asynchronous", &["lamport does not assume anything of time"]);
    refused("sweep --nodes 2..=100000 --seeds 10000 --csv never.csv", &["more than 10000000 runs"]);
}
