//! Reliable multicast, as a person meets it.

use crate::support;

use serde_json::Value;
use support::{json, run};

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
