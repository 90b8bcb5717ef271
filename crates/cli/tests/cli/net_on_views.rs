//! `vorrang run --net --on-views` and `vorrang torture --processes`: locks on views over real
//! connections, whose processes are killed, started again, stopped and cut off.
#![cfg(unix)]

use crate::support;

use std::time::Instant;

use serde_json::Value;
use support::{Folder, PATIENCE, json, run};

/// A run with its exit code; a word of the line an argument.
fn judged(line: &str) -> (i32, Value) {
    json(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn is_fine((code, run): &(i32, Value), line: &str) {
    let said = (*code, &run["safe"], &run["quiescent"]);
    assert_eq!(said, (0, &true.into(), &true.into()), "{line}: {run:#}");
}

/// A pace that is quick, and slower than a busy machine most of the time.
const QUICK: &str = "--beat 50ms --margin 250ms";

/// In one process, at the pace of `vorrang node --on-views`, whose defaults the help has.
#[test]
fn a_lock_on_views_is_measured_over_a_network() {
    let line = "run raymond --net --on-views --nodes 3 --entries 60 --hold 1ms";
    let ran = judged(line);
    is_fine(&ran, line);
    let (_, run) = ran;
    assert_eq!((&run["entries"], &run["driver"]), (&60.into(), &"net".into()), "{run:#}");
    assert_eq!((&run["on_views"], &run["time_unit"]), (&true.into(), &"us".into()));
    assert!(run["views"].as_u64().is_some_and(|views| (1..10).contains(&views)), "{run:#}");
    assert!(run["messages_by_kind"]["LOCK"].as_u64() > Some(60), "{run:#}");
    assert!(run["safe_means"].as_str().is_some_and(|it| it.starts_with("fencing")), "{run:#}");
    let command = run["command"].as_str().expect("a line");
    for typed in [" --net ", " --beat 200ms ", " --margin 800ms ", " --on-views "] {
        assert!(command.contains(typed), "{command}");
    }
}

/// Processes that keep nothing on disk may have forgotten a view that had a holder: with leases the
/// first of them is waited for.
#[test]
fn processes_have_the_lease_that_was_asked_for() {
    let line = format!(
        "run raymond --net --processes --on-views --nodes 2 --entries 4 --lease 2s {QUICK}"
    );
    let ran = judged(&line);
    is_fine(&ran, &line);
    assert!(ran.1["response_p99"].as_f64() > Some(1_500_000.0), "{:#}", ran.1);
}

/// One at a time, and in bursts: the same as without views.
#[test]
fn other_loads_go_over_a_network_on_views_too() {
    for (algorithm, load) in [("maekawa-basic", "light"), ("ricart-agrawala", "burst")] {
        let line =
            format!("run {algorithm} --net --on-views --nodes 3 --entries 9 --load {load} {QUICK}");
        let ran = judged(&line);
        is_fine(&ran, &line);
        assert_eq!(ran.1["entries"], 9, "{:#}", ran.1);
    }
}

/// One of three is killed, and comes back as another incarnation; it and the others are served.
#[test]
fn a_killed_process_is_done_without_and_served_when_it_is_back() {
    let folder = Folder::new("net_on_views");
    let trace = folder.path("run.jsonl");
    let line = format!(
        "run ricart-agrawala --net --processes --on-views --nodes 3 --entries 150 --hold 5ms \
         {QUICK} --crash 1@200ms --restart 1@700ms --trace {trace}"
    );
    let ran = judged(&line);
    is_fine(&ran, &line);
    let (_, ended) = ran;
    assert_eq!((&ended["crashes"], &ended["restarts"]), (&1.into(), &1.into()), "{ended:#}");
    assert!(ended["views"].as_u64() >= Some(2), "{ended:#}");
    assert!(ended["entries"].as_u64() >= Some(100), "{ended:#}");

    let (code, out, err) = run(&["draw", &trace, "--format", "text"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("entered with token (") && out.contains("crash"), "{out}");
    let (code, _, err) = run(&["replay", &trace]);
    assert!(code == 2 && err.contains("it can be drawn, but neither replayed"), "{code} {err}");
}

/// With stable storage: a majority is killed at once, and goes on when it is back; meanwhile one
/// stands still, and a link is cut. A directory of one's own is there afterwards.
#[test]
fn with_stable_storage_a_majority_may_be_killed() {
    let folder = Folder::new("net_on_views_data");
    let data = folder.path("data");
    let line = format!(
        "run raymond --net --processes --on-views --nodes 3 --entries 150 --hold 5ms {QUICK} \
         --data {data} --lease 300ms --crash 0@200ms,1@250ms --restart 0@500ms,1@600ms --pause \
         2@1s..1500ms --cut 0->1@1200ms..2s --partition 2|0,1@2100ms..2300ms"
    );
    let ran = judged(&line);
    is_fine(&ran, &line);
    let struck = ["crashes", "restarts", "pauses", "partitions"].map(|key| ran.1[key].clone());
    assert_eq!(struck, [2, 2, 1, 2].map(Value::from), "{:#}", ran.1);
    for node in ["0", "1", "2"] {
        assert!(folder.file("data").join(node).join("state").exists(), "node {node}");
    }
}

/// What strikes does strike: whoever stands still or is not heard is left out of a view, and in the
/// next one, and has all its turns in the end.
#[test]
fn who_stands_still_or_is_cut_off_is_left_out_and_comes_back() {
    for fault in ["--pause 1@100ms..2s", "--cut 0->1@100ms..2s", "--partition 2|0,1@100ms..2s"] {
        let line = format!(
            "run raymond --net --processes --on-views --nodes 3 --entries 60 --hold 5ms {QUICK} \
             --data {fault}"
        );
        let ran = judged(&line);
        is_fine(&ran, &line);
        assert_eq!(ran.1["entries"], 60, "{line}: {:#}", ran.1);
        assert!(ran.1["views"].as_u64() >= Some(3), "{line}: {:#}", ran.1);
    }
}

/// What is wrong is said: without stable storage too few are left of a view for ever; and a mistake
/// lets two have one token.
#[test]
fn a_run_that_goes_wrong_is_judged_so() {
    let begun = Instant::now();
    let line = "run raymond --net --processes --on-views --nodes 3 --entries 300 --hold 5ms --beat \
                50ms --margin 100ms --margin-cap 2 --crash 0@100ms,1@100ms --restart \
                0@300ms,1@300ms";
    let (code, stuck) = judged(line);
    assert_eq!((code, &stuck["safe"], &stuck["quiescent"]), (1, &true.into(), &false.into()));
    let what = stuck["violation"].as_str().expect("a sentence");
    assert!(what.starts_with("progress: "), "{what}");
    assert!(begun.elapsed() < PATIENCE, "it is given up: {:?}", begun.elapsed());

    let line = format!(
        "run raymond --net --processes --on-views --nodes 5 --entries 150 --hold 5ms {QUICK} \
         --flaw own-order --crash 2@200ms"
    );
    let (code, wrong) = judged(&line);
    assert_eq!((code, &wrong["safe"]), (1, &false.into()), "{wrong:#}");
    let what = wrong["violation"].as_str().expect("a sentence");
    assert!(what.starts_with("fencing: "), "{what}");
}

#[test]
fn what_is_not_possible_over_a_network_is_refused_with_the_reason() {
    for (more, why) in [
        ("--net --pause 1@1s..2s", "say --processes, so that every node has one"),
        ("--net --cut 0-1@1s..2s", "say --processes, so that every node has one"),
        ("--net --crash 1@1s", "--crash kills a process"),
        ("--net --processes --loss 1%", "what else befalls messages and clocks is for the"),
        ("--net --processes --slow 0-1:x3", "--slow 0-1:x3@0..: with --net processes are killed"),
        ("--net --processes --skew 1:x2", "clocks is for the simulator"),
        ("--net --processes --crash holder@1s", "'holder' is the node inside a lock, in a sim"),
        ("--net --flaw view-ignored", "the only mistake of locks on views is own-order"),
        ("--net --flaw greedy-holder", "greedy-holder"),
        ("--net --processes --load light --crash 1@1s", "is for --load heavy"),
        ("--net --forgetful", "--forgetful: over a network nodes forget unless --data says"),
        ("--data somewhere", "--data somewhere: in the simulator nodes keep"),
    ] {
        let line = format!("run raymond --on-views --nodes 3 {more}");
        let (code, out, err) = run(&line.split_whitespace().collect::<Vec<_>>());
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 2 && out.is_empty() && err.contains(why), "{more}: {code} {err}");
    }
    let timely = ["run", "regenerating-ring", "--net", "--on-views", "--nodes", "3"];
    let (code, _, err) = run(&timely);
    assert!(code == 2 && err.contains("does not hold where connections are made anew"), "{err}");
    let line = ["run", "raymond", "--net", "--processes", "--pause", "1@1s..2s"];
    let (code, _, err) = run(&line);
    assert!(code == 2 && err.contains("--pause is for the simulator"), "{err}");
}

/// Schedules that depend on the seed alone; a mistake is found, and the command that is printed
/// repeats it.
#[test]
fn a_campaign_over_processes_strikes_locks_on_views() {
    let args = ["torture", "--processes", "--algorithms", "raymond,lamport", "--nodes", "3"];
    let (code, fine) = json(&[&args[..], &["--runs", "2", "--seed", "4"]].concat());
    assert_eq!((code, &fine["findings"]), (0, &Value::Array(Vec::new())), "{fine:#}");
    let subjects = fine["subjects"].as_array().expect("a list");
    for (subject, name) in subjects.iter().zip(["raymond --on-views", "lamport --on-views"]) {
        assert_eq!((&subject["subject"], &subject["fine"]), (&name.into(), &1.into()), "{fine:#}");
        assert!(subject["faults"].as_u64() >= Some(1), "{fine:#}");
    }
    assert_eq!(subjects.len(), 2, "{fine:#}");

    // No time is left to shrink it.
    let flawed = ["--algorithms", "raymond", "--flaw", "own-order", "--nodes", "5"];
    let soon = ["--seed", "3", "--runs", "1", "--time", "1s"];
    let (code, found) = json(&[&["torture", "--processes"], &flawed[..], &soon].concat());
    assert_eq!(code, 1, "{found:#}");
    let finding = &found["findings"][0];
    assert_eq!((&finding["verdict"], &finding["property"]), (&"unsafe".into(), &"fencing".into()));
    let line = finding["command"].as_str().expect("a command").replace('\'', "");
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..2], ["vorrang", "run"], "{line}");
    assert!(line.contains(" --net --processes ") && line.contains(" --flaw own-order"), "{line}");
    let (code, out, err) = run(&words[1..]);
    assert_eq!(code, 1, "{line}: {out}{err}");
    assert!(out.contains("violation: fencing: "), "{out}");
}

/// Ctrl-C is heeded by the campaign, which lets the run come to its end, and not by its processes.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_campaign_over_processes_with_the_table_so_far() {
    use std::os::unix::process::CommandExt as _;
    use std::process::Stdio;
    use support::node::undisturbed;

    let args = ["torture", "--processes", "--algorithms", "raymond", "--nodes", "3", "--runs", "4"];
    let mut campaign = undisturbed(&support::vorrang(&args));
    campaign.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = campaign.spawn().expect("the program starts");
    let (id, begun) = (child.id(), Instant::now());
    // Any of its threads may have started them.
    let children = |task: std::fs::DirEntry| {
        let children = std::fs::read_to_string(task.path().join("children"));
        children.map_or(0, |it| it.split_whitespace().count())
    };
    let workers = || -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("it lives");
        tasks.map_while(Result::ok).map(children).sum()
    };
    while workers() < 3 {
        assert!(begun.elapsed() < PATIENCE, "no processes");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let group = format!("-{id}");
    let sent = std::process::Command::new("kill").args(["-s", "INT", "--", &group]).status();
    assert!(sent.expect("kill is there").success());
    let (code, out, err) = support::end_of(child, &args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("1 schedule") && out.contains("none failed"), "{out}");
}

/// What a campaign over processes says to people, and what it does not try.
#[test]
fn a_campaign_over_processes_says_its_rate_by_the_minute() {
    let args = ["torture", "--processes", "--algorithms", "token-ring", "--runs", "1"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("token-ring --on-views  1") && out.contains(" a minute"), "{out}");
    for (args, why) in [
        (&["--algorithms", "raymond", "--nodes", "2"][..], "three at least"),
        (&["--algorithms", "raymond", "--flaw", "view-ignored"], "is own-order"),
        (&["--algorithms", "echo"], "none of the algorithms claims to survive that"),
    ] {
        let (code, _, err) = run(&[&["torture", "--processes"], args].concat());
        assert!(code == 2 && err.contains(why), "{args:?}: {err}");
    }
}
