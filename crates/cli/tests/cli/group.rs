//! Group communication, as a person meets it.

use crate::support;

use serde_json::Value;
use support::node::group;
use support::{Folder, json, run, run_on};

fn figures(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    json(&words).1
}

fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or_else(|| panic!("{key}: {run}"))
}

#[track_caller]
fn is_fine(run: &Value) {
    assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run:#}");
}

#[test]
fn a_multicast_and_a_view_change_cost_what_the_theory_says() {
    for nodes in [2, 5, 13] {
        let run = figures(&format!("run virtual-synchrony --nodes {nodes} --multicasts 200"));
        is_fine(&run);
        assert_eq!((&run["views"], &run["delivered"]), (&1.into(), &(200 * nodes).into()));
        assert_eq!(run["latency_mean_agreement"], "agrees", "{run}");
        assert_eq!(run["messages_per_multicast_agreement"], "within", "{run}");
    }
    // All that is said at once is heard of before the next heartbeat: nothing is sent again.
    let at_once = "run virtual-synchrony --nodes 5 --multicasts 4 --every 2ms --senders";
    for (senders, messages) in [(1, 4 * 4), (4, 4 + 3 * 5)] {
        let run = figures(&format!("{at_once} {senders}"));
        assert_eq!(run["messages_counted"], messages, "{run}");
    }
    for (crashed, takes) in [(4, 5.0), (0, 7.0)] {
        let line =
            format!("run virtual-synchrony --nodes 5 --multicasts 20 --crash {crashed}@52ms");
        let run = figures(&line);
        is_fine(&run);
        assert_eq!((&run["change_mean"], &run["views"]), (&takes.into(), &2.into()), "{run}");
        assert_eq!(run["change_mean_agreement"], "agrees", "{run}");
        let is = |key: &str, value: f64| (number(&run, key) - value).abs() < 1e-9;
        assert!(is("change_time_outs", takes / 5.5), "5 ms and 500 us: {run}");
        // Suspected 4.5 ms later: 5.5 ms after the heartbeat of 50 ms was heard.
        assert_eq!(run["repair_mean"], 4.5 + takes, "{run}");
        assert!(is("repair_time_outs", (4.5 + takes) / 5.5), "{run}");
    }
}

#[test]
fn members_crash_come_back_are_cut_off_join_and_leave() {
    let run = figures(
        "run virtual-synchrony --nodes 5 --multicasts 200 --crash 2@50ms --restart 2@120ms \
         --partition 0,1|2,3,4@150ms..250ms",
    );
    is_fine(&run);
    assert_eq!((&run["views"], &run["evictions"]), (&5.into(), &2.into()), "{run}");
    assert!(number(&run, "blocked_max") > 99.0, "as long as the partition lasts: {run}");
    assert_eq!(run["still_blocked"], 0, "{run}");
    assert!(run["latency_mean_agreement"].is_null(), "no theory speaks of this: {run}");

    let cut_off = figures("run virtual-synchrony --nodes 5 --multicasts 50 --partition 3,4@20ms..");
    is_fine(&cut_off);
    assert_eq!((&cut_off["views"], &cut_off["still_blocked"]), (&2.into(), &2.into()));

    let comes = figures("run virtual-synchrony --nodes 5 --founders 3 --multicasts 100");
    is_fine(&comes);
    assert_eq!((&comes["join"], &comes["evictions"]), (&"3@0,4@0".into(), &0.into()), "{comes}");
    let goes = figures(
        "run virtual-synchrony --nodes 4 --founders 3 --multicasts 60 --join 3@20ms,1@41ms --leave \
         1@40ms",
    );
    is_fine(&goes);
    assert_eq!((&goes["views"], &goes["evictions"]), (&4.into(), &0.into()), "{goes}");
}

#[test]
fn nothing_is_broken_by_a_storm_and_all_come_together_after_it() {
    for seed in 0..10 {
        let line = "run virtual-synchrony --nodes 5 --multicasts 200 --random-faults harsh --seed";
        let run = figures(&format!("{line} {seed}"));
        is_fine(&run);
        assert!(number(&run, "views") > 5.0, "{run}");
    }
}

/// Each mistake breaks in a run what its card says, or another thing that it takes along.
#[test]
fn mistakes_are_seen_in_runs() {
    for (flaw, more, breaks) in [
        ("minority-goes-on", "--partition 0,1|2,3,4@50ms..100ms", "view agreement"),
        ("no-second-phase", "--random-faults harsh", "view agreement"),
        ("no-freeze", "--crash 2@50ms --restart 2@120ms", "sending view delivery"),
        ("orphans-dropped", "--random-faults harsh", "virtual synchrony"),
        ("across-the-barrier", "--random-faults harsh", "sending view delivery"),
        ("nothing-handed-over", "--crash 2@50ms --restart 2@120ms", "state transfer"),
    ] {
        let line = format!("run virtual-synchrony --nodes 5 --multicasts 500 {more}");
        is_fine(&figures(&line));
        let run = figures(&format!("{line} --flaw {flaw}"));
        assert_eq!(run["safe"], false, "{flaw}: {run}");
        assert!(run["violation"].as_str().is_some_and(|it| it.starts_with(breaks)), "{run}");
    }
    // Whoever goes on delivering never agrees with the others again: nothing is settled.
    let line = "run virtual-synchrony --nodes 5 --multicasts 500 --crash 2@50ms --restart 2@120ms";
    let stuck = figures(&format!("{line} --flaw no-freeze"));
    assert_eq!(stuck["quiescent"], false, "{stuck}");
}

#[test]
fn the_checker_says_what_it_covers_and_where_it_covers_little() {
    let check = |line: &str| figures(&format!("check virtual-synchrony {line}"));
    let usual = check("--nodes 3");
    assert_eq!(usual["outcome"], "verified", "{usual:#}");
    let covers = usual["covers"].as_str().expect("words");
    for words in ["node 0: suspect 1", "node 2: join", "founders 2", "up to 1 crash"] {
        assert!(covers.contains(words), "{covers}");
    }
    assert!(!usual.to_string().contains("settling"), "nobody beats: {usual}");
    let settling = check("--founders 3 --happens multicast:1,suspect:2/suspect:2/ --settling");
    assert_eq!(settling["outcome"], "verified", "{settling:#}");
    assert!(settling.to_string().contains("settling"), "{settling}");
    // Who goes on after its report loses what it then says, and some never get it.
    let lost = "--founders 3 --happens suspect:2,trust:2/multicast:1/ --settling --crashes 0 \
                --losses 1";
    assert_eq!(check(lost)["outcome"], "verified");
    assert_eq!(check(&format!("{lost} --flaw no-freeze"))["property"], "settling");
    // Where nobody ever notices a crash, nothing is settled, and nothing is owed.
    let idle = check("--founders 3 --happens multicast:1//");
    assert!(idle["warnings"].to_string().contains("no view ends"), "{idle:#}");
    let short = check("--flaw no-freeze --happens multicast:1// --crashes 0");
    assert_eq!(short["outcome"], "verified", "{short:#}");
    assert!(short["warnings"].to_string().contains("cannot show here"), "{short:#}");
}

#[test]
fn a_view_change_is_played_by_hand() {
    let script = "multicast 7 1\nsuspect 2 0\nsuspect 2 1\nsettle\nsuspect 9 0\nsuspect 0 0\n";
    let step = ["step", "virtual-synchrony", "--founders", "3", "--nodes", "3"];
    let (code, out, err) = run_on(script, &step);
    assert_eq!(code, 2, "{err}");
    assert!(out.contains("  0 blocked\n") && out.contains("  1 view 2 {0, 1}\n"), "{out}");
    assert!(out.contains("cannot suspect or trust: that is no other node"), "{out}");
    let heartbeats = [&step[..], &["--detector", "heartbeats"]].concat();
    let (_, out, _) = run_on("suspect 2 0\ntimer 0 Beat\n", &heartbeats);
    assert!(out.contains("cannot be told who is down: heartbeats say so"), "{out}");
    assert!(out.contains("0 sets Beat"), "{out}");
}

#[test]
fn what_does_not_fit_is_named() {
    for (line, words) in [
        ("run virtual-synchrony --senders 50", "there are only 13 nodes"),
        ("run virtual-synchrony --nodes 3000", "at most 2000"),
        ("run virtual-synchrony --detector told", "a run has no one to say which nodes are down"),
        ("run virtual-synchrony --founders 14", "'14' is not a number from 1 to 13"),
        ("run virtual-synchrony --join 3@10ms", "node 3 belongs to the group by then"),
        ("run virtual-synchrony --leave 1@5ms,1@9ms", "node 1 is not in it then"),
        ("run virtual-synchrony --leave 13@5ms", "there is no node 13, the last is 12"),
        ("run virtual-synchrony --leave 1", "'1' is not a node and a time"),
        (
            "run raymond --leave 1@5ms",
            "--leave is an option of reliable multicast and group communication",
        ),
        ("run raymond --multicasts 5", "of reliable multicast and group communication"),
        ("check virtual-synchrony --happens suspect:7//", "there is no such node, the last is 2"),
        ("check virtual-synchrony --happens suspect:0//", "a node says nothing of itself"),
        ("check virtual-synchrony --happens join//", "--founders 2 have founded it"),
        ("check virtual-synchrony --happens leave,join//", "it may not have left yet"),
        ("check virtual-synchrony --happens //leave", "nor has asked to"),
        ("check virtual-synchrony --happens join --nodes 3", "has 1 value for 3 nodes"),
        ("check virtual-synchrony --happens enter//", "unknown command 'enter'"),
        ("check virtual-synchrony --detector heartbeats --happens beat//", "heartbeats say so"),
    ] {
        let words_typed: Vec<&str> = line.split_whitespace().collect();
        let (code, _, err) = run(&words_typed);
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 2 && err.contains(words), "{line}: {err}");
    }
}

#[test]
fn a_run_is_told_again_by_the_line_that_it_gives() {
    let folder = Folder::new("group");
    let path = folder.path("run.jsonl");
    let line = "run virtual-synchrony --nodes 4 --founders 3 --multicasts 20 --leave 1@30ms --join \
                1@50ms,3@10ms --crash 0@20ms";
    let words: Vec<&str> = line.split_whitespace().collect();
    let (code, out, _) = run(&[&words[..], &["--trace", &path]].concat());
    assert_eq!(code, 0, "{out}");
    let again: Vec<&str> = out.lines().next().expect("a line").split(' ').skip(1).collect();
    assert!(again.contains(&"3@10ms,1@50ms"), "{again:?}");
    let (first, second) = (figures(line), json(&again).1);
    assert_eq!((&first["events"], &first["messages"]), (&second["events"], &second["messages"]));
    assert_eq!(json(&["replay", &path]).1["same"], true);
}

#[test]
fn over_tcp_everyone_delivers_everything() {
    let run = figures("run virtual-synchrony --net --nodes 3 --beat 200ms --margin 1s");
    assert_eq!((&run["safe"], &run["delivered"]), (&true.into(), &90.into()), "{run}");
}

#[test]
fn three_processes_multicast_leave_and_join() {
    let slow = ["--algorithm", "virtual-synchrony", "--beat", "200ms", "--margin", "5s"];
    let mut nodes = group(3, &slow);
    for node in &nodes {
        assert_eq!(node.hear(), "view 1 {0, 1, 2}");
    }
    nodes[1].say("multicast 7");
    for node in &nodes {
        assert_eq!(node.hear(), "delivers 1/0: 7");
    }
    // Any line that is no command is a text, as with ack, nack and srm.
    nodes[1].say("multicast hello   world");
    nodes[1].say("good morning, \u{1b}[2Jall");
    for node in &nodes {
        assert_eq!(node.hear(), "delivers 1/1: hello   world");
        let heard = node.hear();
        assert!(heard.starts_with("delivers 1/2: good morning, "), "{heard}");
        assert!(heard.ends_with("[2Jall") && !heard.contains('\u{1b}'), "not obeyed: {heard}");
    }
    nodes[1].say(&"x".repeat(1281));
    assert!(nodes[1].hear().contains("a text has at most 1280 bytes"));
    nodes[0].say(&"y".repeat(1280));
    for node in &nodes {
        assert_eq!(node.hear(), format!("delivers 0/0: {}", "y".repeat(1280)));
    }
    nodes[1].say("join");
    assert!(nodes[1].hear().starts_with("cannot join: "));
    nodes[2].say("leave");
    let told = |node: &support::node::Node, words: &str| {
        while node.hear() != words {}
    };
    told(&nodes[2], "out of the group");
    told(&nodes[0], "view 2 {0, 1}");
    told(&nodes[1], "view 2 {0, 1}");
    nodes[2].say("multicast 8");
    assert!(nodes[2].hear().starts_with("cannot leave or multicast: "));
    nodes[2].say("join");
    for node in &nodes {
        told(node, "view 3 {0, 1, 2'2}");
    }
    nodes[0].say("multicast 9");
    for node in &nodes {
        told(node, "delivers 0/0: 9");
    }
}

/// Before its node belongs to the group or has asked to, it would refuse to multicast.
#[test]
fn who_joins_later_over_a_network_speaks_when_it_has_asked_to() {
    let line = "run virtual-synchrony --net --nodes 5 --founders 4 --multicasts 40 --margin 1s \
                --join 4@300ms --leave 1@600ms";
    for processes in ["", " --processes"] {
        let words = format!("{line}{processes}");
        let (code, run) = json(&words.split_whitespace().collect::<Vec<_>>());
        assert_eq!(code, 0, "{run:#}");
        is_fine(&run);
        assert_eq!(run["multicasts"], 40, "the eight of node 4 are among them: {run:#}");
    }
}
