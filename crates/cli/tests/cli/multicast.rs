//! Reliable multicast, as a person meets it.

use crate::support;

use serde_json::Value;
use support::{json, json_of, run};

fn figures(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    json(&words).1
}

fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or_else(|| panic!("{key}: {run}"))
}

#[test]
fn everything_is_delivered_whatever_is_lost_and_in_whatever_order() {
    for (at, name) in ["ack", "nack", "srm"].iter().enumerate() {
        for ordering in ["fifo", "causal", "sequencer", "token", "lamport", "skeen"] {
            let loss = [0, 5, 25][at];
            let line = format!(
                "run {name} --nodes 7 --multicasts 200 --loss {loss}% --ordering {ordering}"
            );
            let run = figures(&line);
            assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run}");
            assert_eq!(run["delivered"], 1400, "{line}");
            assert_eq!(run["multicasts"], 200, "{line}");
        }
    }
}

#[test]
fn acknowledgements_cost_what_the_theory_says() {
    for (nodes, senders) in [(2, 1), (20, 20), (20, 1)] {
        let run = figures(&format!("run ack --nodes {nodes} --senders {senders}"));
        let others = f64::from(nodes) - 1.0;
        assert_eq!(run["control_per_multicast"], others, "{run}");
        assert_eq!(run["control_per_multicast_agreement"], "agrees", "{run}");
        assert_eq!(run["latency_mean_agreement"], "agrees", "{run}");
        assert_eq!(run["duplicates"], 0, "{run}");
        if senders == 1 {
            assert_eq!(run["busiest_control_per_multicast"], others, "implosion");
        }
    }
    let lossy = figures("run ack --nodes 20 --multicasts 20000 --loss 10%");
    assert_eq!(lossy["control_per_multicast_agreement"], "agrees", "{lossy}");
    // The theory is of losses by themselves: copies of their own are another matter.
    let doubled = figures("run ack --nodes 20 --duplicate 10%");
    assert!(number(&doubled, "control_per_multicast") > 19.0, "{doubled}");
    assert_eq!(doubled["control_per_multicast_agreement"], Value::Null, "{doubled}");
}

#[test]
fn negative_acknowledgements_cost_less_and_srm_repairs_for_all() {
    let of = |name: &str| figures(&format!("run {name} --nodes 20 --senders 1 --loss 1%"));
    let [ack, nack] = ["ack", "nack"].map(of);
    let control = |run: &Value| number(run, "control_per_multicast");
    assert!(control(&nack) * 3.0 < control(&ack), "{nack} {ack}");
    let line = "run srm --nodes 20 --senders 1 --every 20ms --loss 1% --topology line --waits line \
                --distances known";
    let srm = figures(line);
    let requests = number(&srm, "requests_per_loss");
    assert!((1.0..1.4).contains(&requests), "{srm}");
    let star = line.replace("line", "star").replace("--distances known", "--senders 2");
    let star = figures(&star.replace("--senders 1", ""));
    assert!((1.0..2.0).contains(&number(&star, "requests_per_loss")), "measured: {star}");
    let hasty = figures(&line.replace("--waits line", "--waits 0,0.1,0,0.1"));
    assert!(number(&hasty, "requests_per_loss") > requests, "no suppression: {hasty}");
}

#[test]
fn a_lost_tail_is_lost_for_ever_without_a_cure() {
    let (code, out, _) = run(&["check", "nack", "--flaw", "no-tail-detection"]);
    assert!(code == 1 && out.contains("A shortest run to it, 2 steps"), "{out}");
    let (_, out, _) = run(&["check", "nack", "--casts", "1,0", "--losses", "3", "--tail", "stop"]);
    assert!(out.contains("verified"), "{out}");
    // Without one, a window fills up for ever, and a run says so.
    let stuck = figures("run nack --nodes 10 --senders 1 --window 4 --loss 30% --tail none");
    assert_eq!((&stuck["safe"], &stuck["quiescent"]), (&true.into(), &false.into()), "{stuck}");
    let stops = figures("run nack --nodes 10 --senders 1 --window 4 --loss 30% --tail stop");
    assert_eq!(stops["multicasts"], 1000, "whoever waits for room goes on asking: {stops}");
}

#[test]
fn what_a_sender_has_dropped_is_counted_and_a_scope_saves_messages() {
    let run = figures("run nack --nodes 5 --senders 1 --multicasts 500 --history 4 --loss 20%");
    assert_eq!((&run["safe"], &run["quiescent"]), (&true.into(), &true.into()), "{run}");
    assert!(number(&run, "missed") > 0.0, "{run}");
    let count = |key: &str| run[key].as_u64().expect(key);
    assert_eq!(count("missed") + count("delivered"), 2500, "{run}");
    let known = figures("run nack --nodes 5 --senders 1 --multicasts 50");
    assert_eq!(known["missed"], Value::Null, "who knows its receivers drops nothing: {known}");
    let line = "run srm --nodes 31 --topology tree:2 --senders 1 --multicasts 200 --every 20ms \
                --loss 1% --distances known";
    let [all, near] = ["", " --scope 1"].map(|scope| figures(&format!("{line}{scope}")));
    assert!(number(&near, "messages") < number(&all, "messages"), "{near} {all}");
}

#[test]
fn a_crashed_member_fills_windows_for_ever_unless_it_is_removed() {
    for name in ["ack", "nack", "srm"] {
        let line = format!(
            "run {name} --nodes 4 --senders 1 --multicasts 100 --window 8 --crash 3@20ms --loss 5%"
        );
        let stuck = figures(&line);
        assert!(number(&stuck, "multicasts") < 100.0, "{stuck}");
        let goes_on = figures(&format!("{line} --tries 8"));
        assert_eq!(goes_on["multicasts"], 100, "{goes_on}");
        assert_eq!((&goes_on["safe"], &goes_on["quiescent"]), (&true.into(), &true.into()));
    }
}

#[test]
fn whoever_answers_is_not_removed_however_much_is_said() {
    for name in ["ack", "nack", "srm"] {
        for (tries, seed) in [(1, 1), (2, 1), (3, 1), (3, 2)] {
            for every in ["2ms", "exp:20ms", "60ms"] {
                let line = format!(
                    "run {name} --nodes 6 --tries {tries} --every {every} --multicasts 400 --seed \
                     {seed}"
                );
                assert_eq!(verdict(&line, "REMOVED"), (true, 0), "{line}");
            }
        }
    }
}

/// What others have of a crashed sender, one may never get: but it does not ask for ever.
#[test]
fn nobody_asks_a_crashed_sender_for_ever() {
    for seed in 1..=6 {
        let line = format!(
            "run nack --nodes 3 --tries 8 --loss 0.2 --crash 0@30ms --multicasts 200 --seed {seed}"
        );
        let (_, out, err) = run(&line.split_whitespace().collect::<Vec<_>>());
        let rests = out.contains("agreement: node") || !out.contains("stuck");
        assert!(rests && !out.contains("go on for ever"), "{line}: {out}{err}");
    }
}

/// Whether it was safe and came to rest, and how many messages of a kind there were.
fn verdict(line: &str, kind: &str) -> (bool, u64) {
    let run = figures(line);
    let is_good = run["safe"] == true && run["quiescent"] == true;
    (is_good, run["messages_by_kind"][kind].as_u64().unwrap_or(0))
}

#[test]
fn whoever_restarts_leaves_or_was_removed_comes_back_and_fills_no_window() {
    for name in ["ack", "nack", "srm"] {
        for seed in 1..=4 {
            let line = format!("run {name} --nodes 4 --multicasts 200 --window 8 --seed {seed}");
            let quick = format!("{line} --tries 3 --crash 3@20ms --restart 3@24ms");
            let (is_good, hellos) = verdict(&quick, "HELLO");
            assert!(is_good && hellos >= 9, "{quick}: {hellos}");
            let lossy = format!("{line} --tries 6 --loss 5% --crash 1@10ms --restart 1@90ms");
            assert!(verdict(&lossy, "HELLO").0, "{lossy}");
            let paused = format!("{line} --tries 3 --pause 1@20ms..300ms --break-assumptions");
            let (is_good, removed) = verdict(&paused, "REMOVED");
            assert!(is_good && removed > 0, "{paused}: {removed}");
            let left = format!("{line} --tries 3 --leave 1@20ms --join 1@200ms");
            let (is_good, leaves) = verdict(&left, "LEAVE");
            assert!(is_good && leaves >= 3, "{left}: {leaves}");
        }
    }
}

#[test]
fn members_that_come_and_go_are_checked_and_a_stale_incarnation_is_found() {
    for name in ["ack", "nack", "srm"] {
        let found = |line: &str| json(&line.split_whitespace().collect::<Vec<_>>());
        let (code, answer) = found(&format!(
            "check {name} --casts 1,0 --tries 2 --losses 1 --crashes 1 --restarts 1"
        ));
        assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{answer}");
        let (code, answer) = found(&format!("check {name} --flaw stale-incarnation"));
        assert_eq!((code, &answer["property"]), (1, &"validity".into()), "{answer}");
    }
}

#[test]
fn a_process_that_is_started_again_is_let_in_again() {
    for name in ["ack", "nack", "srm"] {
        let line = format!(
            "run {name} --nodes 3 --multicasts 30 --tries 3 --net --processes --crash 2@300ms \
             --restart 2@500ms"
        );
        let (is_good, hellos) = verdict(&line, "HELLO");
        assert!(is_good && hellos >= 6, "{line}: {hellos}");
    }
}

/// Only a sender repeats its messages, and with `srm` everyone does. Nobody is stuck for that.
#[test]
fn what_a_crashed_sender_had_not_got_to_all_is_missed_by_some() {
    for (algorithm, code) in [("nack", 1), ("srm", 0)] {
        let line = format!(
            "run {algorithm} --nodes 4 --multicasts 200 --tries 6 --window 8 --seed 3 --crash \
             0@30ms --loss 10%"
        );
        let (said, out, _) = run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(said, code, "{out}");
        assert_eq!(out.contains("safe but incomplete: agreement: node 1"), code == 1, "{out}");
        assert!(!out.contains("stuck"), "{out}");
    }
}

/// Over TCP, too, with all nodes in a process and with one each.
#[test]
fn members_leave_and_join_over_a_real_network() {
    for algorithm in ["ack", "nack", "srm"] {
        for processes in ["", " --processes"] {
            let line = format!(
                "run {algorithm} --nodes 3 --multicasts 30 --tries 3 --net{processes} --leave \
                 1@100ms --join 1@300ms"
            );
            let value = json_of(&line.split_whitespace().collect::<Vec<_>>());
            assert_eq!((&value["safe"], &value["quiescent"]), (&true.into(), &true.into()));
            let kinds = &value["messages_by_kind"];
            assert!(kinds["LEAVE"].as_u64() > Some(0), "{line}: {value:#}");
            assert!(kinds["HELLO"].as_u64() > Some(0), "{line}: {value:#}");
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    for (line, words) in [
        ("run ack --senders 50", "there are only 13 members"),
        ("run ack --nodes 30000", "at most 20000"),
        ("run raymond --multicasts 5", "--multicasts is an option of reliable multicast"),
        ("run nack --tail never", "'never' is not one of: heartbeat, stop, none"),
        ("run ack --ordering random", "fifo, causal, sequencer, token, lamport, skeen"),
        ("run srm --waits 1,2", "four numbers"),
        ("run srm --scope 0", "'0' is not a number from 1 to 1000000, nor all"),
        ("run nack --history 5 --ordering causal", "only fifo order is kept"),
        ("run nack --history 65", "--window 64 of a sender, so say 64 at most"),
        ("check nack --history none", "nor all"),
        ("run nack --history 5 --tries 2", "waits for nobody needs no --tries"),
        ("run ack --tries 2 --ordering token", "only in fifo order"),
        ("run ack --leave 1@5ms", "--leave: members of a reliable multicast are fixed"),
        ("run ack --tries 2 --leave 9@5ms --nodes 3", "there is no node 9, the last is 2"),
        ("run ack --tries 2 --join 1@5ms", "node 1 belongs to the group by then"),
        ("check ack --leavers 1", "--leavers 1: members of a reliable multicast are fixed"),
        ("check ack --leavers 5 --tries 2", "there is no node 5"),
        ("run srm --tries 0", "'0' is not a number from 1 to 100, nor never"),
        ("run ack --history 5", "--history"),
        ("check ack --casts 2 --window 1", "--window 1 is smaller"),
        ("run ack --net --nodes 3 --multicasts 5000", "more than its --window of 64"),
        ("node --id 0 --peers 127.0.0.1:1,127.0.0.1:2 -a raymond --udp", "datagrams are lost"),
        ("node --id 0 --peers 127.0.0.1:1,127.0.0.1:2 -a ack --udp 1.2.3.4:5", "'1.2.3.4:5'"),
    ] {
        let words_typed: Vec<&str> = line.split_whitespace().collect();
        let (code, _, err) = run(&words_typed);
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 2 && err.contains(words), "{line}: {err}");
    }
}

#[test]
fn over_tcp_everyone_hears_everything() {
    let run = figures("run nack --net --nodes 3 --ordering lamport");
    assert_eq!((&run["safe"], &run["delivered"]), (&true.into(), &90.into()), "{run}");
}
