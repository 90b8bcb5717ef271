//! A lock by totally ordered multicast, as a person meets it.

use crate::support::{json, run};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

const TOTAL: [&str; 4] = ["sequencer", "token", "lamport", "skeen"];

#[test]
fn every_total_order_makes_a_lock_that_costs_what_the_theory_says() {
    for ordering in TOTAL {
        let line = format!("run total-order --nodes 4 --entries 200 --ordering {ordering}");
        let (code, run) = json(&words(&line));
        assert_eq!((code, &run["safe"], &run["quiescent"]), (0, &true.into(), &true.into()));
        assert_eq!(run["entries"], 200, "{run}");
        for figure in ["messages_per_entry", "sync_delay_mean", "response_mean"] {
            let agreement = &run[format!("{figure}_agreement")];
            assert!(agreement == "agrees" || agreement == "within", "{ordering} {figure} {run:#}");
        }
    }
    let cost = |ordering: &str| {
        let line = format!("run total-order --nodes 5 --load light --ordering {ordering}");
        json(&words(&line)).1["messages_per_entry"].to_string()
    };
    assert_eq!(["sequencer", "skeen", "lamport"].map(cost), ["16.0", "24.0", "40.0"]);
}

#[test]
fn an_order_that_is_not_total_makes_none() {
    for ordering in ["fifo", "causal"] {
        let (code, _, err) = run(&["run", "total-order", "--ordering", ordering]);
        assert!(code == 2 && err.contains(&format!("--ordering {ordering} lets")), "{err}");
        for total in TOTAL {
            assert!(err.contains(total), "{err}");
        }
        let flaw = format!("{ordering}-order");
        let (code, out, _) = run(&["check", "total-order", "--flaw", &flaw]);
        assert!(code == 1 && out.contains("violated exclusion"), "{out}");
    }
    // What is promised of one total order is not true of another.
    let ordering = |ordering: &str| {
        let line =
            format!("check total-order --entries 0,1,1 --property ordering --ordering {ordering}");
        run(&words(&line)).0
    };
    assert_eq!(["sequencer", "skeen"].map(ordering), [1, 1]);
    let token = "check total-order --entries 2,1,1 --property ordering --ordering token";
    assert_eq!(run(&words(token)).0, 1, "a request is passed on its way to the token");
    // What depends on the order is promised with the order that keeps it, and with no other.
    for (ordering, is_promised) in [("lamport", true), ("token", false), ("skeen", false)] {
        let line = "check total-order --entries 2,2 --property promised --ordering";
        let (code, answer) = json(&words(&format!("{line} {ordering}")));
        let checked = answer["checked"].as_array().expect("properties");
        assert_eq!((code, checked.contains(&"ordering".into())), (0, is_promised), "{ordering}");
    }
}

/// Stamps and proposals wait for everyone; with a sequencer or a token, what one says to others may
/// pile up for ever.
#[test]
fn who_asks_for_ever_is_served_by_every_order_that_waits_for_all() {
    for ordering in ["lamport", "skeen"] {
        let line = format!("check total-order --nodes 2 --entries forever --ordering {ordering}");
        let (code, out, _) = run(&words(&line));
        assert_eq!(code, 0, "{ordering}: {out}");
        assert!(out.contains("verified for 2 nodes") && out.contains("no starvation"), "{out}");
    }
    for ordering in ["sequencer", "token"] {
        let line = format!(
            "check total-order --nodes 2 --entries forever --ordering {ordering} --max-states 3000"
        );
        let (_, out, _) = run(&words(&line));
        assert!(out.contains("bounded by states"), "{ordering}: {out}");
    }
}

#[test]
fn it_goes_on_after_a_crash_on_views_and_runs_over_a_network() {
    let line = "run total-order --nodes 5 --on-views --entries 100 --crash holder@50ms \
                --restart holder@120ms";
    let (code, run) = json(&words(line));
    assert_eq!((code, &run["entries"], &run["safe"]), (0, &100.into(), &true.into()), "{run}");
    let (code, run) = json(&words("run total-order --net --nodes 3 --entries 20 --ordering token"));
    assert_eq!((code, &run["entries"], &run["safe"]), (0, &20.into(), &true.into()), "{run}");
}
