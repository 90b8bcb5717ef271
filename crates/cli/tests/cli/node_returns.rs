//! Real processes that are killed and started again: elections and virtual synchrony, by hand and
//! in `vorrang run --net --processes`; and what a default means, measured.

use crate::support;

use std::time::{Duration, Instant};

use serde_json::Value;
#[cfg(unix)]
use support::node::signal;
use support::node::{Node, addresses};
use support::{Folder, json, json_of, run};

/// So many processes of a group, all started.
fn started(nodes: usize, options: &[&str]) -> (Vec<Node>, Vec<String>) {
    for _ in 0..5 {
        let peers = addresses(nodes);
        let group: Vec<Node> = (0..nodes).map(|id| Node::start(id, &peers, options)).collect();
        let listens = |node: &Node| node.hear().contains(" listens on ");
        if group.iter().all(listens) {
            for node in &group {
                node.until_told("started");
            }
            return (group, peers);
        }
    }
    panic!("no free ports");
}

/// Kills a node without a word, and starts it once more.
fn kill_and_start(nodes: &mut [Node], id: usize, peers: &[String], options: &[&str]) {
    nodes[id].child.kill().expect("it can be killed");
    nodes[id].child.wait().expect("it is dead");
    nodes[id] = Node::start(id, peers, options);
    nodes[id].until_told("came back");
    assert!(nodes[id].hear().contains(" listens on "));
}

fn hears(node: &Node, words: &str) {
    while node.hear() != words {}
}

#[test]
fn a_killed_node_of_an_election_comes_back_and_bullies_the_others() {
    for (algorithm, victim) in [("bully", 2), ("bully", 0), ("ring-election", 2)] {
        let options = ["--algorithm", algorithm, "--within", "200ms"];
        let (mut nodes, peers) = started(3, &options);
        nodes[1].say("elect");
        for node in &nodes {
            hears(node, "node 2 leads");
        }
        kill_and_start(&mut nodes, victim, &peers, &options);
        hears(&nodes[victim], "node 2 leads");
        if victim == 2 {
            hears(&nodes[0], "node 2 leads");
            hears(&nodes[1], "node 2 leads");
        }
        for node in nodes {
            assert_eq!(node.quit().0, Some(0), "{algorithm}");
        }
    }
}

#[test]
fn a_status_says_which_node_leads_or_which_view_it_is() {
    let bully =
        (&["--algorithm", "bully", "--within", "200ms"][..], "node 2 leads", "coordinator: 2");
    let slow = &["--algorithm", "virtual-synchrony", "--beat", "200ms", "--margin", "5s"][..];
    for (options, hears_of, says) in [bully, (slow, "view 1 {0, 1, 2}", "view 1 {0, 1, 2}")] {
        let (mut nodes, _) = started(3, options);
        if says == bully.2 {
            nodes[1].say("elect");
        }
        hears(&nodes[0], hears_of);
        nodes[0].say("status");
        let status: Vec<String> = (0..4).map(|_| nodes[0].hear()).collect();
        assert_eq!(status[1].trim(), says, "{status:?}");
        assert!(status[2].contains("node 1 at "), "{status:?}");
    }
}

#[test]
fn a_watched_leader_that_is_killed_is_replaced_and_leads_again_when_it_is_back() {
    is_replaced_and_leads_again(&["-a", "watching-bully", "--within", "200ms", "--beat", "200ms"]);
}

/// No member calls: the leader is read off every view, and the first is there when all are.
#[test]
fn a_leader_of_a_view_that_is_killed_is_missing_in_the_next_and_back_in_the_one_after() {
    is_replaced_and_leads_again(&["-a", "view-leader", "--within", "700ms", "--beat", "100ms"]);
}

fn is_replaced_and_leads_again(options: &[&str]) {
    let (mut nodes, peers) = started(3, options);
    nodes[0].say("elect");
    for node in &nodes {
        hears(node, "node 2 leads");
    }
    nodes[2].child.kill().expect("it can be killed");
    for node in &nodes[..2] {
        hears(node, "node 1 leads");
    }
    kill_and_start(&mut nodes, 2, &peers, options);
    for node in &nodes {
        hears(node, "node 2 leads");
    }
}

/// Every node in turn: the sequencer, one in the middle, the last.
#[test]
fn a_killed_member_of_a_group_comes_back_as_a_newcomer_with_the_state_of_all() {
    let options = ["-a", "virtual-synchrony", "--beat", "100ms", "--margin", "700ms"];
    let (mut nodes, peers) = started(3, &options);
    for (round, victim) in [2, 0, 1].into_iter().enumerate() {
        let speaker = (victim + 1) % 3;
        for number in 0..3 {
            nodes[speaker].say(&format!("multicast {round}{number}"));
        }
        kill_and_start(&mut nodes, victim, &peers, &options);
        let all: Vec<String> =
            (0..3)
                .map(|id| {
                    if [2, 0, 1][..=round].contains(&id) {
                        format!("{id}'")
                    } else {
                        id.to_string()
                    }
                })
                .collect();
        let ending = format!("{{{}}}", all.join(", "));
        for node in &nodes {
            while !node.hear().ends_with(&ending) {}
        }
        nodes[victim].say(&format!("multicast {round}9"));
        for node in &nodes {
            hears(node, &format!("delivers {victim}/0: {round}9"));
        }
    }
    nodes[1].say("leave");
    hears(&nodes[1], "out of the group");
    nodes[1].say("join");
    for node in &nodes {
        while !node.hear().ends_with("{0', 1', 2'}") {}
    }
    for node in nodes {
        assert_eq!(node.quit().0, Some(0));
    }
}

fn over_processes(line: &str) -> (i32, Value) {
    let words: Vec<&str> = line.split_whitespace().chain(["--net", "--processes"]).collect();
    json(&words)
}

/// Members crash, restart, leave and join over real processes; all deliver the same.
#[test]
fn a_group_over_processes_survives_what_befalls_it() {
    for (seed, what, crashes, restarts) in [
        (0, "--crash 2@300ms", 1, 0),
        (1, "--crash 0@300ms --restart 0@900ms", 1, 1),
        (2, "--crash 3@0 --restart 3@700ms --leave 1@300ms --join 1@1500ms", 1, 1),
    ] {
        let line = format!(
            "run virtual-synchrony --nodes 4 --multicasts 40 --beat 50ms --margin 150ms --seed \
             {seed} {what}"
        );
        let (code, run) = over_processes(&line);
        assert_eq!(code, 0, "{what}: {run:#}");
        assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
        let faults = (run["crashes"].as_u64(), run["restarts"].as_u64());
        assert_eq!(faults, (Some(crashes), Some(restarts)), "{run:#}");
        assert!(run["views"].as_u64() >= Some(1 + crashes + restarts), "{run:#}");
    }
}

/// A member that is killed in the midst of its multicasts has sent what others have got of it: what
/// it did in its last moment is told, or has not happened.
#[test]
fn whoever_is_killed_while_multicasts_are_under_way_has_sent_what_others_deliver() {
    for (seed, victim, after) in [(0, 1, "3ms"), (1, 0, "10ms"), (2, 3, "5ms"), (3, 1, "20ms")] {
        let line = format!(
            "run virtual-synchrony --nodes 4 --multicasts 2000 --seed {seed} --crash \
             {victim}@{after}"
        );
        let (code, run) = over_processes(&line);
        let wanted = (0, &true.into(), &1.into());
        assert_eq!((code, &run["safe"], &run["crashes"]), wanted, "{line}: {run:#}");
    }
    for (algorithm, victim) in [("ack", 1), ("nack", 2), ("srm", 1)] {
        let line = format!(
            "run {algorithm} --nodes 4 --multicasts 240 --tries 3 --seed {victim} --crash \
             {victim}@3ms"
        );
        let (_, run) = over_processes(&line);
        let wanted = (&true.into(), &1.into());
        assert_eq!((&run["safe"], &run["crashes"]), wanted, "{line}: {run:#}");
    }
}

#[test]
fn an_election_over_processes_is_won_by_the_highest_when_it_is_back() {
    for algorithm in ["bully", "ring-election"] {
        let line = format!(
            "run {algorithm} --nodes 4 --within 150ms --initiators 0 --crash 3@0 --restart 3@1500ms"
        );
        let (code, run) = over_processes(&line);
        assert_eq!((code, &run["leader"]), (0, &3.into()), "{run:#}");
        assert_eq!((&run["crashes"], &run["restarts"]), (&1.into(), &1.into()), "{run:#}");
    }
}

/// Heartbeats go on for ever, and the run ends when all follow one leader again, and not when they
/// must with messages as slow as is assumed, which is 12 minutes for these.
#[test]
fn a_watched_election_over_processes_ends_when_all_follow_one_leader_again() {
    let begun = Instant::now();
    let line = "run watching-ring --nodes 4 --crash 3@30ms --restart 3@600ms";
    let (code, run) = over_processes(line);
    assert_eq!((code, &run["leader"]), (0, &3.into()), "{run:#}");
    assert_eq!((&run["crashes"], &run["restarts"]), (&1.into(), &1.into()), "{run:#}");
    assert!(begun.elapsed() < Duration::from_secs(400), "{:?}", begun.elapsed());
}

/// At time 0 nothing has happened: whoever is killed then has sent and asked nothing.
#[test]
fn time_0_is_before_anything_happens() {
    for _ in 0..3 {
        let line = "run ricart-agrawala-probing --nodes 3 --entries 30 --within 100ms --crash 2@0";
        let (code, run) = over_processes(line);
        assert_eq!((code, &run["entries"]), (0, &20.into()), "its share is never asked: {run:#}");
    }
}

#[test]
fn what_cannot_come_back_is_refused_for_the_reason_that_is_true() {
    for (line, why) in [
        (
            "run lamport --net --processes --crash 1@1s --restart 1@2s",
            "--restart: a process that is started again has lost its memory, and lamport is not \
             safe then",
        ),
        ("run bully --net --crash 1@1s --restart 1@2s", "--crash kills a process"),
        ("run lamport --net --break-assumptions", "nothing can make TCP do so"),
    ] {
        let (code, _, err) = run(&line.split_whitespace().collect::<Vec<_>>());
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
}

/// A token that stays where it is costs nothing, and measures nothing.
#[test]
fn a_lock_that_never_changes_hands_is_warned_of() {
    let line = ["run", "raymond", "--net", "--nodes", "4", "--entries", "2000"];
    let alone = json_of(&line);
    assert!(alone["messages_per_entry"].as_f64() < Some(0.5), "{alone:#}");
    let warning = alone["warning"].as_str().expect("a warning");
    assert!(warning.contains("give --hold 1ms"), "{warning}");
    let shared = json_of(&[&line[..5], &["--entries", "60", "--hold", "1ms"]].concat());
    assert_eq!(shared["warning"], Value::Null, "{shared:#}");
    let (_, out, _) = run(&line);
    assert!(out.contains("warning: most entries"), "{out}");
}

/// The defaults as the help has them, as the page has them, and as they are: from the moment in
/// which a member stands still to that in which the others go on without it.
#[cfg(unix)]
#[test]
fn a_silent_member_is_evicted_when_the_help_says() {
    let (_, help, _) = run(&["node", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("200ms of node --on-views and run --net --on-views"), "{help}");
    assert!(help.contains("800ms of node --on-views and run --net --on-views"), "{help}");
    let page = include_str!("../../../../docs/network.md");
    assert!(page.contains("`--beat` (200 ms) and `--margin` (800 ms)"));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (option, in_help, on_page) in [
        ("--margin-cap <TIMES>", "[default: 10]", "`--margin-cap` times (10)"),
        ("--margin-halves-after <TIME>", "[default: 60s;", "`--margin-halves-after` (60 s)"),
    ] {
        let of = help.split_once(option).unwrap_or_else(|| panic!("{option}: {help}")).1;
        let of = of.split(" --").next().expect("its text");
        assert!(of.contains(in_help) && page.contains(on_page), "{option}: {of}");
    }
    assert!(page.contains("8.2 s at most"), "a heartbeat and ten margins");
    let peers = addresses(3);
    let mut nodes: Vec<Node> = (0..3).map(|id| Node::start(id, &peers, &["--on-views"])).collect();
    for node in &nodes {
        node.until_told("{0, 1, 2}");
    }
    nodes[2].say("acquire");
    while !nodes[2].hear().starts_with("entered") {}
    signal(&nodes[2], "STOP");
    let stopped = Instant::now();
    nodes[0].until_told("{0, 1}");
    let took = stopped.elapsed();
    // Its last heartbeat may have come 200 ms before it stopped.
    assert!(took >= Duration::from_millis(800), "after {took:?}");
    assert!(took < Duration::from_secs(20), "after {took:?}");
    signal(&nodes[2], "CONT");
    assert_eq!(nodes[2].hear(), "lost the lock");
    nodes[2].say("release");
    let answer = nodes[2].hear();
    assert!(answer.starts_with("nothing to release: the lock was lost 0."), "{answer}");
    nodes[2].until_told("{0, 1, 2}");
    nodes[2].say("acquire");
    assert!(nodes[2].hear().starts_with("entered"));
    nodes[2].say("release");
    assert_eq!(nodes[2].hear(), "released", "that one was not lost");
}

/// However often a member was suspected wrongly, it is given no more margins than --margin-cap
/// says, and its crash is noticed after these and a heartbeat. Without, five mistakes would make
/// 9.6 s of it.
#[cfg(unix)]
#[test]
fn a_member_that_was_often_late_is_missed_in_time_all_the_same() {
    let folder = Folder::new("margins");
    let peers = addresses(3);
    let start = |id: usize| {
        let data = folder.path(&format!("data-{id}"));
        let pace = ["--beat", "50ms", "--margin", "300ms", "--margin-cap", "3"];
        let own = ["--on-views", "-a", "raymond", "--data", &data];
        Node::start(id, &peers, &[&own[..], &pace].concat())
    };
    let mut nodes: Vec<Node> = (0..3).map(start).collect();
    let all = "{0, 1, 2}";
    nodes[0].until_told(all);
    for _ in 0..5 {
        signal(&nodes[2], "STOP");
        nodes[0].until_told("{0, 1}");
        signal(&nodes[2], "CONT");
        nodes[0].until_told(all);
    }
    nodes[2].child.kill().expect("it is there");
    let killed = Instant::now();
    nodes[0].until_told("{0, 1}");
    let took = killed.elapsed();
    assert!(took > Duration::from_millis(600), "margins have grown: {took:?}");
    assert!(took < Duration::from_secs(6), "950 ms on an idle machine: {took:?}");
}

/// What a member does is recorded, that it comes back and leaves included, and can be drawn.
#[test]
fn a_trace_of_a_node_on_views_can_be_drawn() {
    let folder = Folder::new("traced");
    let (trace, peers) = (folder.path("node.jsonl"), addresses(2));
    let start = |id: usize, more: &[&str]| {
        let own = ["--on-views", "-a", "raymond", "--beat", "200ms", "--margin", "2s"];
        Node::start(id, &peers, &[&own[..], more].concat())
    };
    let mut traced = start(0, &["--trace", &trace]);
    let mut other = start(1, &[]);
    other.until_told("{0, 1}");
    traced.say("acquire");
    while !traced.hear().starts_with("entered") {}
    traced.say("release");
    other.say("acquire");
    while !other.hear().starts_with("entered") {}
    let (code, _) = traced.quit();
    assert_eq!(code, Some(0));
    let (code, out, err) = run(&["draw", &trace, "--format", "text"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("entered with token (") && out.contains("release"), "{out}");
    let (code, _, err) = run(&["replay", &trace]);
    assert!(code == 2 && err.contains("a heartbeat gives way to the next one"), "{code} {err}");
}
