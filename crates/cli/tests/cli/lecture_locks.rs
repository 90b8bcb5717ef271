//! What lectures on mutual exclusion show of locks, each as one command: the deadlock of three of
//! thirteen nodes, entries in the order of stamps, solutions that are only safe or only live, and
//! resources that are taken in different orders.

use crate::support;

use serde_json::Value;
use support::{Folder, json, json_of, run, run_on};

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

fn answer(command: &str) -> (i32, Value) {
    json(&words(command))
}

#[track_caller]
fn is_verified(command: &str) -> Value {
    let (code, answer) = answer(command);
    assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{command}: {answer:#}");
    answer
}

#[track_caller]
fn breaks(command: &str, property: &str) -> Value {
    let (code, answer) = answer(command);
    assert_eq!((code, &answer["property"]), (1, &property.into()), "{command}: {answer:#}");
    answer
}

#[track_caller]
fn refused(command: &str, why: &[&str]) {
    let (code, _, err) = run(&words(command));
    assert_eq!(code, 2, "{command}: {err}");
    assert!(why.iter().all(|why| err.contains(why)), "{command}: {err}");
}

/// A token ring does not promise the order of happened-before. One token by itself keeps it, since
/// it stops where somebody waits; applications that talk, a second token and priorities do not.
#[test]
fn a_token_ring_breaks_happened_before_as_soon_as_anybody_hears_of_a_request() {
    const ASKED: &str = "check token-ring --property ordering --entries 1,1";
    let kept = is_verified(ASKED);
    let warnings = kept["warnings"].to_string();
    assert!(warnings.contains("ordering is not promised by token-ring"), "{warnings}");
    assert!(warnings.contains("ordering held here, perhaps for want of nodes"), "{warnings}");
    for (more, steps) in [
        ("--flaw applications-talk", 3),
        ("--resources 2", 6),
        ("--priorities 0,1 --entries 2,2", 10),
    ] {
        let command = format!("{ASKED} {more}");
        let command = command.replace("--entries 1,1 --priorities", "--priorities");
        let broken = breaks(&command, "ordering");
        assert_eq!(broken["trace"].as_array().map(Vec::len), Some(steps), "{broken:#}");
    }
    // Nobody overtakes for ever: what is promised instead holds all the same.
    is_verified("check token-ring --entries 2,2 --resources 2 --property promised");
}

/// The slide's nodes 7, 8 and 11 are 6, 7 and 10 here.
const THREE_OF_13: &str = "--nodes 13 --quorum plane:printed --requesters 6,7,10";

/// The same sets as they are printed, counted from 1.
const AS_PRINTED: &str = "sets-from-1:1-2-3-4,2-5-8-11,3-6-8-13,4-6-10-11,1-5-6-7,2-6-9-12,\
    2-7-10-13,1-8-9-10,3-7-9-11,3-5-10-12,1-11-12-13,4-7-8-12,4-5-9-13";

#[test]
fn three_of_thirteen_nodes_deadlock_as_on_the_slide() {
    let found = breaks(&format!("check maekawa-basic {THREE_OF_13}"), "progress");
    let lines: Vec<&str> =
        found["trace"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let asks = |line: &&&str| line.contains("acquire");
    assert_eq!(lines.iter().filter(asks).count(), 3, "{lines:#?}");
    let covers = found["covers"].as_str().unwrap();
    assert!(covers.starts_with("13 nodes of which 6,7,10 ask, 1 entry each, quorum plane:printed"));
    // Whoever repeats the command that is told asks the same.
    let again = found["command"].as_str().unwrap().strip_prefix("vorrang ").unwrap().to_owned();
    assert!(again.contains("--requesters 6,7,10 --entries 1,1,1"), "{again}");
    assert_eq!(breaks(&again, "progress")["states"], found["states"]);
    let typed = format!("check maekawa-basic --nodes 13 --quorum {AS_PRINTED} --requesters 6,7,10");
    assert_eq!(breaks(&typed, "progress")["states"], found["states"]);
    is_verified("check maekawa --nodes 13 --quorum plane:printed --requesters 6,7");
}

#[test]
fn the_circle_can_be_drawn() {
    let command = format!("draw check maekawa-basic {THREE_OF_13} --view waits");
    let (code, out, err) = run(&words(&command));
    assert_eq!(code, 0, "{err}");
    for wait in ["6 waits for 12", "7 waits for 9", "10 waits for 0"] {
        assert!(out.contains(wait), "{out}");
    }
}

#[test]
fn only_requesters_ask_in_simulated_runs_and_over_a_network() {
    let folder = Folder::new("requesters");
    let path = folder.path("run.jsonl");
    for (load, how) in
        [("heavy", ""), ("light", ""), ("burst", ""), ("heavy", "--net"), ("burst", "--net")]
    {
        let command = format!(
            "run maekawa {THREE_OF_13} --load {load} --entries 10 --seed 4 --trace {path} {how}"
        );
        let done = json_of(&words(&command));
        assert_eq!((&done["contenders"], &done["entries"]), (&3.into(), &10.into()), "{done:#}");
        let trace = std::fs::read_to_string(&path).unwrap();
        let acquires = trace.lines().filter(|line| line.contains("\"acquire\""));
        let mut asking: Vec<u64> = acquires
            .map(|line| serde_json::from_str::<Value>(line).unwrap()[1].as_u64().unwrap())
            .collect();
        assert_eq!(asking.len(), 10, "{command}");
        asking.sort_unstable();
        asking.dedup();
        assert_eq!(asking, [6, 7, 10], "{command}");
    }
    let stuck = format!(
        "run maekawa-basic {THREE_OF_13} --load burst --entries 300 --break-assumptions \
         --latency exp:1ms"
    );
    let (code, out, _) = run(&words(&stuck));
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("still waits"), "{out}");
}

#[test]
fn requesters_that_make_no_sense_are_refused() {
    refused("run lamport --nodes 3 --requesters 3", &["--requesters", "'3' is not a node"]);
    refused("run lamport --nodes 3 --requesters 1,1", &["node 1 is named twice"]);
    refused("run lamport --nodes 3 --requesters 1 --hot 2", &["--hot 2 and --requesters 1"]);
    refused("check lamport --requesters 1", &["--requesters 1: of how many? Say --nodes"]);
    refused(
        "check lamport --nodes 3 --requesters 0,1,2 --entries 1,1",
        &["--entries has 2 values for the 3 nodes of --requesters"],
    );
    refused("run echo --requesters 1", &["--requesters is an option of mutual exclusion"]);
    // The theory speaks of the first nodes, and says nothing of others.
    let theory = |who: &str| {
        let run = json_of(&words(&format!("run maekawa --nodes 13 --entries 9 {who}")));
        run["messages_per_entry_theory_low"].clone()
    };
    assert!(theory("--hot 2").is_number());
    assert_eq!(theory("--requesters 0,1"), theory("--hot 2"));
    assert!(theory("--requesters 0,3").is_null());
}

#[test]
fn the_order_of_stamps_is_more_than_happened_before_and_less() {
    is_verified("check ricart-agrawala --entries 2,1 --property stamps");
    is_verified("check lamport --entries 2,1 --property stamps");
    // As published: replies carry no clock, so that stamps are kept, and cause is not.
    let published = "check ricart-agrawala --flaw replies-carry-no-clock --entries 2,1,1";
    is_verified(&format!("{published} --property stamps"));
    breaks(&format!("{published} --property ordering"), "ordering");
    is_verified("check ricart-agrawala-probing --entries 1,1 --property stamps");
    is_verified("check total-order --ordering lamport --entries 1,1 --property stamps");
    refused(
        "check total-order --property stamps",
        &["--ordering sequencer", "stamps (t, i) only with --ordering lamport"],
    );
    // Cause is kept by the first two, and stamps are not; nor are they where the younger of two may
    // have all its locks before the older one has asked.
    for (command, size) in [
        ("carvalho-roucairol", "--entries 2,1"),
        ("maekawa", "--nodes 3"),
        ("sanders --structure maekawa", "--nodes 3"),
        ("cao-singhal", "--nodes 3"),
        ("majority-votes", "--nodes 3"),
    ] {
        let found = breaks(&format!("check {command} {size} --property stamps"), "stamp order");
        let warnings = found["warnings"].to_string();
        assert!(warnings.contains("the order of stamps is not promised"), "{warnings}");
        let what = found["violation"].as_str().unwrap();
        assert!(what.contains("waits with the older one"), "{what}");
    }
    refused(
        "check central --property stamps",
        &["not for central: its requests have no stamps", "it is for lamport, ricart-agrawala"],
    );
    refused(
        "check k-exclusion --k 2 --property stamps",
        &["not for k-exclusion: several may be inside together"],
    );
}

#[test]
fn each_half_of_mutual_exclusion_has_a_trivial_solution() {
    let denied = "check central --flaw always-denied";
    breaks(denied, "progress");
    let safe = is_verified(&format!("{denied} --only safety"));
    assert_eq!(safe["checked"], serde_json::json!(["exclusion"]));
    breaks(&format!("{denied} --only liveness"), "progress");
    let granted = "check central --flaw always-granted";
    breaks(granted, "exclusion");
    let live = is_verified(&format!("{granted} --only liveness"));
    assert_eq!(live["checked"], serde_json::json!(["progress"]));
    breaks(&format!("{granted} --only safety"), "exclusion");
    // The simulator tells them apart as well.
    let run = |flaw| answer(&format!("run central --nodes 3 --entries 9 --flaw {flaw}")).1;
    let (denied, granted) = (run("always-denied"), run("always-granted"));
    assert_eq!((&denied["safe"], &denied["quiescent"]), (&true.into(), &false.into()));
    assert_eq!((&granted["safe"], &granted["quiescent"]), (&false.into(), &true.into()));
}

#[test]
fn resources_taken_one_by_one_deadlock_and_as_a_set_they_do_not() {
    let both = "--entries 1,1 --claims of:a+b,of:a+b";
    is_verified(&format!("check resource-sets {both}"));
    breaks(&format!("check resource-sets --flaw one-after-the-other {both}"), "progress");
    // Who begins at the same end, or needs nothing that the other needs, waits for nobody for ever.
    is_verified(
        "check resource-sets --flaw one-after-the-other --entries 1,0,1 \
                 --claims of:a+b,of:a+b,of:a+b",
    );
    is_verified(
        "check resource-sets --flaw one-after-the-other --entries 1,1 \
                 --claims of:a+b,of:c+d",
    );
    let apart = answer("check resource-sets --entries 1,1 --claims of:a,of:b").1;
    assert!(apart["warnings"].to_string().contains("exclusion is not tested"), "{apart:#}");
    refused("check resource-sets --claims of:a,of:1,of:b", &["'of:1' is not a claim"]);
    refused("check lamport --claims of:a,of:b,of:c", &["lamport grants no of a claims"]);
}

#[test]
fn whoever_began_a_computation_knows_when_it_is_over() {
    let done = json_of(&words("run dijkstra-scholten --nodes 9 --topology grid --work 40"));
    assert_eq!((&done["count"], &done["messages"]), (&40.into(), &78.into()), "{done:#}");
    let net = json_of(&words("run dijkstra-scholten --net --nodes 4 --topology ring --work 12"));
    assert_eq!((&net["count"], &net["messages"]), (&12.into(), &22.into()), "{net:#}");
    let lost = breaks("check dijkstra-scholten --losses 1 --no-invariants", "termination");
    assert!(lost["violation"].as_str().unwrap().contains("never told that all is over"));
    refused("run echo --work 3", &["echo does not take --work", "dijkstra-scholten does"]);
    // Alone, it would do all of it in one step.
    for command in ["run", "check"] {
        refused(
            &format!("{command} dijkstra-scholten --nodes 1 --work 1000000000"),
            &["--work 1000000000: a node alone does all pieces in one step, at most 10000"],
        );
    }
}

/// The same of permissions that are handed on, for four kinds of quorum systems.
#[test]
fn permissions_that_are_handed_on_fall_back_as_well() {
    let on = |quorum: &str, of: &str| {
        format!("check cao-singhal-fallback --quorum {quorum} --requesters {of} --spare {of}")
    };
    for (quorum, of) in [
        ("tree --nodes 3", "1,2"),
        ("triangle --nodes 3", "1,2"),
        ("wall:1,2 --nodes 3", "0,1"),
        ("wall:1,2 --nodes 3", "1,2"),
    ] {
        is_verified(&format!("{} --crashes 1", on(quorum, of)));
    }
    is_verified(&format!("{} --crashes 1 --order fifo", on("grid --nodes 4", "0,3")));
    let tree = on("tree --nodes 3", "1,2");
    let plain = tree.replace("-fallback", "");
    breaks(&format!("{plain} --crashes 1 --no-invariants"), "progress");
    // Whoever crashes while it waits or is inside is not covered.
    let any = "check cao-singhal-fallback --quorum tree --nodes 3 --requesters 1,2 --crashes 1";
    breaks(&format!("{any} --no-invariants"), "progress");
    // Who comes up again: what it missed is said again, or it is taken for down.
    is_verified(&format!("{} --entries 0,2,0 --crashes 1 --restarts 1", on_a_tree("cao-singhal")));
    // But one that missed the return of its permission is never an arbiter again.
    let missed = "acquire 0\nsettle\ncrash 1\nrelease 0\nsettle\nrestart 1\ncrash 2\n";
    let (code, out, _) = run_on(
        &format!("{missed}acquire 0\ncheck --requests 0\n"),
        &words("step cao-singhal-fallback --nodes 3 --quorum majority"),
    );
    assert!(code == 1 && out.contains("violated progress"), "{out}");
    // That it is safe rests on no clock.
    let (code, late) =
        answer(&format!("{tree} --crashes 1 --asynchronous --only safety --max-states 20000"));
    assert_eq!((code, &late["property"]), (3, &Value::Null), "probes never end there: {late:#}");
    let run = json_of(&words(
        "run cao-singhal-fallback --nodes 9 --quorum grid --requesters 0,4,8 --entries 30 \
         --crash 1@3ms --crash 5@20ms",
    ));
    assert_eq!((&run["entries"], &run["safe"]), (&30.into(), &true.into()), "{run:#}");
}

/// Three nodes on a tree, of which node 1 never crashes.
fn on_a_tree(of: &str) -> String {
    format!("check {of}-fallback --nodes 3 --quorum tree --spare 1")
}

/// Never more than one node is down, which neither waits nor is inside; and one that has been down
/// is needed afterwards.
#[test]
fn whoever_was_down_and_missed_something_is_as_good_as_before() {
    // A REQUEST is lost at node 1, and then node 2 crashes.
    let request = "crash 1\nacquire 0\ndeliver 0->1\nrestart 1\ndeliver 1->0\ndeliver 1->2\ncrash \
                   2\nsettle\n";
    // A RELEASE is lost at node 0, which node 2 asks.
    let release = "acquire 1\nsettle\ncrash 0\nrelease 1\nsettle\nrestart 0\nacquire 2\nsettle\n";
    // Node 1 is suspected and comes up, and then node 2 crashes.
    let suspected = "crash 1\nacquire 0\nsettle\ntimer 0 Probe\nsettle\ntimer 0 Probe\nrestart \
                     1\ncrash 2\nsettle\n";
    for (of, script) in [
        ("majority-votes-timely", request),
        ("maekawa-fallback --quorum tree", release),
        ("maekawa-fallback --quorum majority", suspected),
        ("cao-singhal-fallback --quorum tree", release),
        ("cao-singhal-fallback --quorum majority", suspected),
    ] {
        let asked = format!("{script}check --requests 0\n");
        let (code, out, err) = run_on(&asked, &words(&format!("step {of} --nodes 3")));
        assert_eq!((code, err.as_str()), (0, ""), "{of}: {out}");
        assert!(out.contains("# verified exclusion, progress"), "{of}: {out}");
    }
}

/// Two who ask, on the tree of three nodes: the quorums of both have the root, which crashes.
const ON_A_TREE: &str = "check maekawa-fallback --nodes 3 --quorum tree --requesters 1,2";

#[test]
fn locks_fall_back_to_another_quorum_where_an_arbiter_has_crashed() {
    // Plain Maekawa waits for the dead for ever.
    breaks(&ON_A_TREE.replace("maekawa-fallback", "maekawa --crashes 1 --spare 1,2"), "progress");
    let found = is_verified(&format!("{ON_A_TREE} --crashes 1 --spare 1,2"));
    let covers = found["covers"].as_str().unwrap();
    assert!(covers.ends_with("up to 1 crash of others than 1,2"), "{covers}");
    // Whoever crashes while it waits or is inside is not covered, and the checker says so.
    breaks(&format!("{ON_A_TREE} --crashes 1 --no-invariants"), "progress");
    // Who comes up again has missed a REQUEST, a RELINQUISH or a RELEASE, and is told.
    is_verified(&format!("{} --entries 0,2,0 --crashes 1 --restarts 1", on_a_tree("maekawa")));
    // Locks of a node that is down are not taken back before it comes up.
    breaks(
        "check maekawa-fallback --nodes 3 --quorum tree --spare 2 --entries 0,1,1 --crashes 2 \
         --restarts 1",
        "progress",
    );
    // That it is safe rests on no clock: a wrong suspicion does no harm.
    let (code, late) = answer(&format!(
        "{ON_A_TREE} --crashes 1 --spare 1,2 --asynchronous --only safety --max-states 20000"
    ));
    assert_eq!((code, &late["property"]), (3, &Value::Null), "probes never end there: {late:#}");
    let run = json_of(&words(
        "run maekawa-fallback --nodes 9 --quorum grid --requesters 0,4,8 --entries 30 \
         --crash 1@3ms --crash 5@20ms",
    ));
    assert_eq!((&run["entries"], &run["safe"]), (&30.into(), &true.into()), "{run:#}");
    refused("check maekawa --spare 1", &["--spare 1: say --crashes"]);
}
