//! `vorrang check --lemma` and `--one-at-a-time`: the lemmas of Singhal's paper under their own
//! premises.

use crate::support;

use support::{json, run};

/// Checks one lemma: the outcome, the property that is violated and after how many steps.
fn check(lemma: &str, more: &str) -> (String, String, u64) {
    let line = format!("check singhal --lemma {lemma} {more}");
    let (_, answer) = json(&line.split_whitespace().collect::<Vec<_>>());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let steps = answer["trace"].as_array().map_or(0, |steps| steps.len() as u64);
    (text(&answer["outcome"]), text(&answer["property"]), steps)
}

#[track_caller]
fn holds(lemma: &str, more: &str) {
    assert_eq!(check(lemma, more).0, "verified", "{lemma} {more}");
}

#[track_caller]
fn fails(lemma: &str, more: &str, steps: u64) {
    let property = lemma.replace('-', " ");
    assert_eq!(check(lemma, more), ("violated".to_owned(), property, steps), "{lemma} {more}");
}

const ONCE: &str = "--only safety --order fifo --entries 1,1,1";
const MORE: &str = "--only safety --order fifo --entries 1,2,2";
const PUBLISHED: &str = "--flaw as-published --only safety --order fifo --entries 1,1,1";

#[test]
fn what_the_premises_are_enough_for_holds_as_published() {
    for lemma in ["lemma-1", "lemma-2", "lemma-5", "error-1", "error-2", "error-3"] {
        holds(lemma, PUBLISHED);
        holds(lemma, &PUBLISHED.replace("1,1,1", "1,2,2"));
        holds(lemma, &PUBLISHED.replace("fifo", "any"));
        holds(lemma, MORE);
    }
    holds("lemma-3", PUBLISHED);
}

/// A REQUEST that the token has overtaken arrives, is outdated, and leaves no mark: all premises
/// are met, on links that keep their order, with one entry each.
#[test]
fn the_theorem_is_refuted_under_the_premises_that_are_published() {
    fails("lemma-4", PUBLISHED, 13);
    fails("theorem", PUBLISHED, 13);
    fails("total-order", PUBLISHED, 13);
    fails("lemma-3", &PUBLISHED.replace("1,1,1", "1,2,2"), 14);
    // Corrected rules keep FIFO links in a row.
    for lemma in ["lemma-4", "theorem", "total-order"] {
        holds(lemma, ONCE);
        holds(lemma, MORE);
    }
    // In any order they leave marks that are not needed: two nodes may mark each other.
    fails("theorem", &ONCE.replace("fifo", "any"), 15);
}

#[test]
fn with_one_request_at_a_time_all_lemmas_hold() {
    for flaw in ["", "--flaw as-published"] {
        for entries in ["2,2,2", "1,1,1,1"] {
            holds("all", &format!("{flaw} --one-at-a-time --order any --entries {entries}"));
        }
    }
}

#[test]
fn every_lemma_fails_with_some_mistake() {
    let believed = ONCE.to_owned() + " --flaw staircase-believed";
    fails("lemma-1", &believed, 4);
    fails("lemma-2", &believed, 4);
    fails("lemma-3", &(ONCE.to_owned() + " --flaw no-re-send"), 6);
    fails("lemma-4", &believed, 8);
    fails("theorem", &believed, 4);
    fails("total-order", &believed, 4);
    fails("lemma-5", &(ONCE.to_owned() + " --flaw last-asker-only"), 3);
    fails("error-1", &believed, 6);
    let older = "--flaw older-believed --only safety --order fifo --entries 2,2,2";
    fails("error-2", older, 14);
    fails("error-3", older, 14);
}

#[test]
fn requests_that_come_one_at_a_time_spare_maekawa_his_deadlock() {
    let line = "check maekawa-basic --entries 2,2,2";
    let (code, out, _) = run(&line.split(' ').collect::<Vec<_>>());
    assert!(code == 1 && out.contains("violated progress"), "{out}");
    let alone = format!("{line} --one-at-a-time");
    let (code, out, err) = run(&alone.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("verified for 3 nodes, 2 entries each, one at a time"), "{out}");
    assert!(!format!("{out}{err}").contains("assumes that requests come one at a time"), "{err}");
    for (line, why) in [
        ("check token-ring --one-at-a-time", "there is never a rest in which one could ask"),
        ("check central --lemma all", "there are no lemmas about the past of central"),
        ("check singhal --lemma lemma-9", "unknown lemma 'lemma-9'"),
        ("check singhal --property stamps", "not for singhal: its requests have no stamps"),
        ("check lamport --lemma all", "there are of singhal"),
    ] {
        let (code, _, err) = run(&line.split(' ').collect::<Vec<_>>());
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
}
