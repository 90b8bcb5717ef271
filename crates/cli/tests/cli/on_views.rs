//! Locks on views: whoever crashes, stands still or is cut off, the others go on; and what a
//! resource that checks numbers has to refuse.

use crate::support;

use serde_json::Value;
use support::{Folder, json, json_of, run, run_on};
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem as _;
use vorrang_catalogue::abouts;

/// The names of all locks.
fn locks() -> Vec<&'static str> {
    let locks = abouts().into_iter().filter(|about| about.problem == Mutex::NAME);
    locks.map(|about| about.name).collect()
}

/// A run of so many entries among so many nodes on views.
fn on_views<'a>(algorithm: &'a str, nodes: &'a str, entries: &'a str) -> Vec<&'a str> {
    vec!["run", algorithm, "--on-views", "--nodes", nodes, "--entries", entries]
}

#[track_caller]
fn counts(run: &Value) -> (u64, u64) {
    let count = |key: &str| run[key].as_u64().unwrap_or_else(|| panic!("{key}: {run:#}"));
    (count("stale_writes"), count("refused"))
}

/// The holder crashes and comes back: two more views, all others are served, and so is it.
#[test]
fn every_lock_survives_that_its_holder_crashes() {
    for name in locks() {
        // One that gets stuck if two ask at once is asked by one at a time.
        let load = if name == "maekawa-basic" { "light" } else { "heavy" };
        let faults = ["--crash", "holder@20ms", "--restart", "holder@60ms", "--load", load];
        let (code, run) = json(&[&on_views(name, "5", "40")[..], &faults].concat());
        assert_eq!(code, 0, "{name}: {run:#}");
        assert_eq!((&run["crashes"], &run["restarts"]), (&1.into(), &1.into()), "{name}");
        assert_eq!(run["views"], 3, "{name}: {run:#}");
        assert_eq!(counts(&run), (0, 0), "{name}");
        let means = run["safe_means"].as_str().expect("a sentence");
        assert!(means.starts_with("exclusion (no false suspicions"), "{means}");
        // A crash is found out after a heartbeat and a margin at least, and soon after.
        let change = run["view_change_timeouts"].as_f64().expect("there was one");
        assert!((0.5..4.0).contains(&change), "{name}: {change}");
    }
}

/// Without faults the algorithm sends what it sends without views, and the views what they need to
/// notice that somebody is down.
#[test]
fn as_long_as_a_view_lasts_it_costs_no_message_of_the_lock() {
    for (name, kinds) in
        [("raymond", ["REQUEST", "TOKEN"]), ("ricart-agrawala", ["REQUEST", "REPLY"])]
    {
        let args = on_views(name, "7", "200");
        let run = json_of(&args);
        let without: Vec<&str> = args.into_iter().filter(|it| *it != "--on-views").collect();
        let without = json_of(&without);
        for kind in kinds {
            let count = |run: &Value| run["messages_by_kind"][kind].as_u64().expect("a count");
            assert_eq!(count(&run), count(&without), "{name} {kind}");
        }
        assert_eq!(run["sync_delay_mean"], without["sync_delay_mean"], "{name}");
        let sum = |run: &Value| run["messages"].as_u64().expect("a count");
        let status = run["messages_by_kind"]["STATUS"].as_u64().expect("a count");
        assert_eq!(sum(&run) - status, sum(&without), "{name}");
        assert_eq!(without["views"], Value::Null, "there are none");
    }
}

/// Node 0 is inside for long, and is cut off meanwhile.
const CUT_OFF: [&str; 8] =
    ["--hold", "150ms", "--margin", "50ms", "--partition", "0|1,2@20ms..400ms", "--seed", "1"];

/// Who is left behind writes late, unless it has a lease that is over by then: and it is, if clocks
/// are as assumed.
#[test]
fn whoever_is_cut_off_writes_late_unless_clocks_are_as_leases_assume() {
    let cut_off = |more: &[&str]| {
        json(&[&on_views("ricart-agrawala", "3", "6")[..], &CUT_OFF, more].concat())
    };
    let (code, without) = cut_off(&[]);
    assert_eq!((code, counts(&without)), (0, (1, 1)), "{without:#}");
    assert!(without["safe_means"].as_str().expect("a sentence").starts_with("fencing"));

    let (code, leased) = cut_off(&["--lease", "20ms"]);
    assert_eq!((code, counts(&leased)), (0, (0, 0)), "{leased:#}");
    assert_eq!(leased["safe_means"], "exclusion (leases)");

    let slow = ["--lease", "20ms", "--skew", "0:x8"];
    let (code, broken) = cut_off(&[&slow[..], &["--break-assumptions"]].concat());
    assert_eq!((code, counts(&broken)), (1, (1, 1)), "{broken:#}");
    let what = broken["violation"].as_str().expect("two are inside");
    assert!(what.starts_with("exclusion: node 1 enters while node 0 is inside"), "{what}");

    let (code, wide) = cut_off(&[&slow[..], &["--drift", "900"]].concat());
    assert_eq!((code, counts(&wide)), (0, (0, 0)), "{wide:#}");
}

/// Whoever stands still while others go on writes late when it goes on, and is refused.
#[test]
fn a_holder_that_stood_still_is_refused() {
    let pause = ["--hold", "20ms", "--margin", "20ms", "--pause", "holder@5ms..200ms"];
    let (code, run) = json(&[&on_views("suzuki-kasami", "5", "20")[..], &pause].concat());
    assert_eq!((code, counts(&run)), (0, (1, 1)), "{run:#}");
    assert_eq!(run["pauses"], 1);
}

#[test]
fn what_is_cut_off_for_good_waits_and_the_others_do_not() {
    let cut = ["--partition", "0|1,2@20ms.."];
    let (code, run) = json(&[&on_views("central", "3", "90")[..], &cut].concat());
    assert_eq!((code, &run["safe"], &run["quiescent"]), (1, &true.into(), &false.into()));
    let what = run["violation"].as_str().expect("it gets nowhere");
    assert!(what.contains("a node that cannot reach a majority waits"), "{what}");
    assert!(run["entries"].as_u64() >= Some(60), "{run:#}");
}

/// What is meant by safe depends on whether anybody can be suspected wrongly.
#[test]
fn exclusion_is_asked_for_where_suspicions_are_right() {
    let means = |more: &[&str]| {
        let run = json_of(&[&on_views("central", "3", "9")[..], more].concat());
        run["safe_means"].as_str().expect("a sentence").contains("exclusion")
    };
    let varied = ["--latency", "uniform:0..4ms"];
    assert!(means(&[]) && means(&["--crash", "1@5ms"]) && means(&varied));
    assert!(!means(&[&varied[..], &["--margin", "2ms"]].concat()), "some come later than that");
    assert!(!means(&["--latency", "exp:1ms"]) && !means(&["--pause", "1@5ms..9ms"]));
    assert!(!means(&["--skew", "1:x2"]) && !means(&["--loss", "1%"]));
    assert!(means(&["--loss", "1%", "--lease", "20ms"]));
    assert!(
        !means(&["--pause", "1@5ms..9ms", "--lease", "20ms"]),
        "it looks at its clock too late"
    );
}

/// Losses, doubles, pauses, crashes, partitions: no write of anybody who was left behind gets
/// through, and everyone is served in the end.
#[test]
fn whatever_goes_wrong_at_random_numbers_tell() {
    for (name, seed) in [("raymond", "1"), ("maekawa", "2"), ("central", "3"), ("lamport", "4")] {
        let harsh = ["--random-faults", "harsh", "--faults-until", "300ms", "--seed", seed];
        let (code, run) = json(&[&on_views(name, "5", "100")[..], &harsh].concat());
        assert_eq!(code, 0, "{name}: {run:#}");
        let (late, refused) = counts(&run);
        assert_eq!(late, refused, "{name}");
        assert!(run["views"].as_u64() > Some(2), "{name}: {run:#}");
    }
}

/// k inside together, or readers: the view alone tells who was left behind.
#[test]
fn locks_that_share_live_on_views() {
    for name in ["k-exclusion", "readers-writers", "group-exclusion"] {
        let faults = ["--random-faults", "harsh", "--faults-until", "200ms"];
        let (code, run) = json(&[&on_views(name, "5", "60")[..], &faults].concat());
        assert_eq!(code, 0, "{name}: {run:#}");
        assert!(run["fence_highest"].as_str().expect("a number").ends_with(", 0)"), "{run:#}");
    }
}

/// A trace has all that it takes to do the run once more, and to draw it.
#[test]
fn a_run_on_views_can_be_done_once_more() {
    let scratch = Folder::new("on_views");
    let path = scratch.path("run.jsonl");
    let faults = ["--crash", "holder@20ms", "--restart", "holder@120ms", "--lease", "30ms"];
    for more in [&["--flaw", "view-ignored"][..], &["--loss", "2%"], &[]] {
        let args = [&on_views("raymond", "4", "40")[..], &faults, more, &["--trace", &path]];
        let (code, out, err) = run(&args.concat());
        assert_eq!(code, 0, "{out}{err}");
        let (code, out, err) = run(&["replay", &path]);
        assert_eq!(code, 0, "{more:?}: {out}{err}");
        assert!(out.contains("as recorded"), "{out}");
    }
    let (code, out, err) = run(&["draw", &path, "--format", "text"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("view 2 of 3 members") && out.contains("entered with token (2, "),
        "{out}"
    );

    // What the run says of itself is what would have to be typed.
    let args = [&on_views("raymond", "4", "40")[..], &faults].concat();
    let (_, out, _) = run(&args);
    let line = out.lines().next().expect("a line");
    assert!(line.contains(" --on-views --lease 30ms --drift 0 ") && !line.contains("holder@"));
    let typed: Vec<&str> = line.split(' ').skip(1).collect();
    let figures = |out: &str| out.lines().skip(1).take(30).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(figures(&run(&typed).1), figures(&out), "{line}");
}

/// Every mistake of locks on views is seen in some run.
#[test]
fn mistakes_of_locks_on_views_are_seen() {
    let wrong = |(algorithm, nodes): (&str, &str), flaw: &str, more: &[&str]| {
        let flaw = ["--flaw", flaw];
        let (code, run) = json(&[&on_views(algorithm, nodes, "60")[..], &flaw, more].concat());
        assert_eq!(code, 1, "{flaw:?}: {run:#}");
        run["violation"].as_str().expect("something").split(':').next().map(str::to_owned)
    };
    let ricart_agrawala = ("ricart-agrawala", "3");
    let clock = wrong(ricart_agrawala, "clock-not-carried", &[]);
    assert_eq!(clock.as_deref(), Some("fencing"));
    let crash = ["--hold", "20ms", "--crash", "2@5ms"];
    let forgotten = wrong(ricart_agrawala, "holder-forgotten", &crash);
    assert_eq!(forgotten.as_deref(), Some("exclusion"));
    let varied = ["--hold", "1ms", "--latency", "uniform:0..10ms", "--crash", "1@20ms"];
    let ignored = ["--restart", "1@56ms", "--seed", "141"];
    let ignored = wrong(("central", "3"), "view-ignored", &[&varied[..], &ignored].concat());
    assert_eq!(ignored.as_deref(), Some("progress"));
    let own_order = wrong(("raymond", "5"), "own-order", &["--crash", "2@10ms"]);
    assert_eq!(own_order.as_deref(), Some("fencing"));
    let back = ["--crash", "1@9ms", "--restart", "1@46ms", "--seed", "4"];
    let slow = ["--hold", "4ms", "--latency", "uniform:0..4ms"];
    let frozen = wrong(("suzuki-kasami", "4"), "enters-frozen", &[&slow[..], &back].concat());
    assert_eq!(frozen.as_deref(), Some("fencing"));
}

/// One algorithm alone is struck at every moment, by everything that befalls nodes and links; and
/// by nothing that it does not claim to survive.
#[test]
fn on_views_one_lock_is_struck_at_every_moment_by_all_there_is() {
    let tried = |names: &str| -> u64 {
        let args = ["survive", "--nodes", "3", "--seeds", "1", "--algorithms", names];
        let rows = json_of(&args);
        let is_it = |row: &&Value| row["algorithm"] == "raymond" && row["fault"] == "on-views";
        let row = rows.as_array().expect("a list").iter().find(is_it).expect("a cell");
        assert_eq!(row["verdict"], "fine", "{row:#}");
        row["tried"].as_u64().expect("a number")
    };
    let (alone, among_others) = (tried("raymond"), tried("raymond,central"));
    assert!(alone > 3 * among_others && alone.is_multiple_of(4), "{alone} and {among_others}");
    let args = ["survive", "--nodes", "3", "--seeds", "1", "--algorithms", "regenerating-ring"];
    let rows = json_of(&args);
    let of_time = rows.as_array().expect("a list").iter().find(|row| row["fault"] == "on-views");
    let of_time = of_time.expect("a cell");
    let count = of_time["tried"].as_u64();
    assert!(count.is_some_and(|count| count > 100 && count.is_multiple_of(2)), "{of_time:#}");
    assert_eq!(of_time["verdict"], "fine", "{of_time:#}");
}

/// With or without views, a crash in any role: on views it does no harm to any lock.
#[test]
fn on_views_every_crash_of_every_lock_is_fine() {
    let args = ["survive", "--nodes", "4", "--seeds", "1", "--problem", "mutex"];
    let rows = json_of(&args);
    let rows = rows.as_array().expect("a list");
    for name in locks() {
        let is_it = |row: &&Value| row["algorithm"] == name && row["fault"] == "on-views";
        let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{name} has no such cell"));
        assert_eq!(row["verdict"], "fine", "{row:#}");
        assert!(row["tried"].as_u64() > Some(20), "{row:#}");
    }
}

/// The same in every column of a table that is all on views, messages included.
#[test]
fn a_table_can_be_all_on_views() {
    let args = ["survive", "--on-views", "--seeds", "1", "--algorithms", "raymond", "--nodes", "3"];
    let mut of_a_change = 0;
    for row in json_of(&args).as_array().expect("a list") {
        assert!(row["verdict"] == "fine" || row["tried"] == 0, "{row:#}");
        let fault = row["fault"].as_str().expect("a word");
        let kind = fault.split_once(':').map_or("", |it| it.1);
        if ["FLUSH", "FLUSH_OK", "NEWVIEW", "PREPARE", "ACCEPT"].contains(&kind) {
            assert!(row["tried"].as_u64() >= Some(1), "{row:#}");
            of_a_change += 1;
        }
    }
    assert_eq!(of_a_change, 15, "each is lost, doubled and overtaken");
}

/// The column can say otherwise: one of two that are left alone cannot know whether it is the one
/// to go on.
#[test]
fn of_two_nodes_not_every_crash_is_fine_on_views() {
    let rows = json_of(&["survive", "--seeds", "1", "--algorithms", "central", "--nodes", "2"]);
    let is_it = |row: &&Value| row["fault"] == "on-views";
    let row = rows.as_array().expect("a list").iter().find(is_it).expect("a cell");
    assert_eq!(row["verdict"], "stuck", "{row:#}");
    assert_eq!(row["unsafe"], 0, "{row:#}");
    let line = row["witness"].as_str().expect("a line");
    assert!(line.contains(" --on-views "), "{line}");
    let (code, run) = json(&line.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(
        (code, &run["safe"], &run["quiescent"]),
        (1, &true.into(), &false.into()),
        "{run:#}"
    );
}

#[test]
fn a_lock_on_views_can_be_driven_by_hand() {
    // Node 2 is inside and crashes; the two others agree on a view without it.
    let script =
        "acquire 2\nsettle\nacquire 0\nsettle\ncrash 2\nsuspect 2 0\nsuspect 2 1\nsettle\n";
    let (code, out, err) = run_on(script, &["step", "lamport", "--on-views"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.starts_with("lamport --nodes 3 --on-views\n"), "{out}");
    assert!(out.contains("  2 entered with token (1, "), "{out}");
    assert!(
        out.contains("NEWVIEW(2 {0, 1}") && out.contains("  0 entered with token (2, "),
        "{out}"
    );
    // What is written is a script again.
    let (code, again, err) = run_on(&out, &["step", "lamport", "--on-views"]);
    assert_eq!((code, again), (0, out), "{err}");
    let (_, state, _) = run_on("suspect 2 0\nstate --json\n", &["step", "lamport", "--on-views"]);
    assert!(state.contains(r#""suspects":[2]"#), "{state}");
    let flawed = ["step", "suzuki-kasami", "--on-views", "--flaw", "view-ignored"];
    assert_eq!(run_on("acquire 1\nsettle\n", &flawed).0, 0);
    let (code, _, err) = run_on("check\n", &["step", "lamport", "--on-views"]);
    assert!(code == 2 && err.contains("'vorrang check NAME --on-views'"), "{err}");
}

#[test]
fn what_cannot_be_on_views_is_refused_with_the_reason() {
    let refused = |args: &[&str], words: &[&str]| {
        let (code, out, err) = run(args);
        assert_eq!((code, &*out), (2, ""), "{args:?}: {err}");
        for word in words {
            assert!(err.contains(word), "{args:?}: no '{word}' in: {err}");
        }
    };
    let with = |name: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [&on_views(name, "3", "9")[..], more].concat()
    };
    refused(&["run", "bully", "--on-views"], &["--on-views is an option of mutual exclusion"]);
    refused(&["run", "raymond", "--lease", "5ms"], &["--on-views"]);
    refused(&with("raymond", &["--drift", "5"]), &["--lease"]);
    refused(&with("raymond", &["--lease", "0"]), &["a lease lasts some time"]);
    refused(&with("raymond", &["--lease", "5ms", "--drift", "1000"]), &["'1000'", "999"]);
    refused(&with("raymond", &["--holder", "1"]), &["--holder 1", "numbers them anew"]);
    refused(&with("raymond", &["--invariants"]), &["anew in every view"]);
    refused(&with("maekawa", &["--quorum", "sets:0-1,1-2,0-2"]), &["in a view of 1 "]);
    refused(&with("regenerating-ring", &["--loss", "1%"]), &["--within", "crash nodes only"]);
    let slow = ["--lease", "5ms", "--skew", "1:x2"];
    refused(&with("raymond", &slow), &["500 parts in a thousand", "--drift 0"]);
    refused(&with("raymond", &["--skew", "3:x2"]), &["there is no node 3"]);
    refused(&with("raymond", &["--skew", "1:x2,1:x3"]), &["named twice"]);
    refused(&with("raymond", &["--crash", "hodler@5ms"]), &["'hodler@5ms'"]);
    refused(&with("raymond", &["--restart", "holder@5ms"]), &["no holder has crashed"]);
    refused(&with("raymond", &["--crash", "holder@9s"]), &["holder@9s", "none enters later"]);
    refused(&["run", "bully", "--crash", "holder@5ms"], &["'holder' is the node inside a lock"]);
    refused(&["run", "raymond", "--beat", "5ms"], &["raymond does not take --beat"]);
    refused(&with("raymond", &["--flaw", "no-such"]), &["unknown flaw of raymond 'no-such'"]);
    refused(&["survive", "--on-views", "-a", "bully"], &["mutual exclusion", "bully"]);
    refused(&["step", "bully", "--on-views"], &["--on-views is an option of mutual exclusion"]);
    refused(&["step", "lamport", "--on-views", "--reliable"], &["--reliable", "lose nothing"]);
    refused(&["step", "raymond", "--on-views", "--holder", "1"], &["--holder 1", "numbers them"]);
}
