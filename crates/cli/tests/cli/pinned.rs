//! What the checker says of every algorithm and of every mistake, pinned: a checker that suddenly
//! sees fewer states is broken, and so is one that sees more or finds a longer run.
//!
//! `VORRANG_REWRITE=1 cargo test -p vorrang-cli --test cli pinned` writes the numbers anew: look at
//! every difference as if it were code. To pin another question, add a line with a `?` for its
//! number.
//!
//! Questions with more than 200,000 states take longer than all others together, and are asked only
//! with `VORRANG_LARGE=1`, and then they alone; with `VORRANG_MOST_STATES=3000000` only
//! those with no more states than that. `.ci/run` asks these as well.

use crate::support;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use support::json;
use support::mistakes::{CHECKED_MISTAKES, CheckedMistake};
use vorrang_catalogue::abouts;
use vorrang_testkit::{compare_or_rewrite, is_set, number};

/// A number of states, and the options of `vorrang check` that give it.
const STATES: &str = "tests/states.txt";
/// Algorithm, mistake, steps of a shortest run.
const SHORTEST: &str = "../algorithms/src/shortest.txt";

/// Questions with more states are large ones.
const LARGE: u64 = 200_000;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn questions() -> String {
    fs::read_to_string(path(STATES)).expect(STATES)
}

#[test]
fn every_question_has_exactly_so_many_states() {
    let text = questions();
    let (mut found, mut asked) = (String::new(), 0);
    let due = if is_set("VORRANG_LARGE") {
        LARGE + 1..=number("VORRANG_MOST_STATES").unwrap_or(u64::MAX)
    } else {
        0..=LARGE
    };
    for line in text.lines() {
        let question = line.split_once(" states: ");
        assert!(question.is_some() || line.is_empty() || line.starts_with('#'), "{line}?");
        // One that has no number yet is asked in any case.
        let is_due = |states: &str| states.parse().map_or(states == "?", |it| due.contains(&it));
        let Some((_, question)) = question.filter(|it| is_due(it.0)) else {
            writeln!(found, "{line}").expect("a string takes all");
            continue;
        };
        asked += 1;
        let args: Vec<&str> = ["check"].into_iter().chain(question.split(' ')).collect();
        let (code, answer) = json(&args);
        assert_eq!((code, &answer["outcome"]), (0, &"verified".into()), "{question}: {answer:#}");
        writeln!(found, "{} states: {question}", answer["states"]).expect("a string takes all");
    }
    assert!(asked > 0, "nothing was asked");
    compare_or_rewrite(&path(STATES), &found);
}

#[test]
fn every_algorithm_is_pinned_in_every_order_that_it_stands() {
    let text = questions();
    for about in abouts() {
        let begin = format!(" states: {} ", about.name);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(&begin)).collect();
        assert!(!lines.is_empty(), "{} is not in {STATES}: add a line with a ?", about.name);
        if about.assumes.order == vorrang_algorithms::card::Order::Any {
            assert!(
                ["any", "fifo"].iter().all(|order| {
                    lines.iter().any(|line| line.contains(&format!("--order {order}")))
                }),
                "{} is not pinned in both orders",
                about.name
            );
        }
    }
}

#[test]
fn every_mistake_is_found_with_a_shortest_run() {
    let mut found = String::new();
    for CheckedMistake { about, flaw, code, answer } in &*CHECKED_MISTAKES {
        let context = format!("{} of {}: {answer:#}", flaw.name, about.name);
        assert_eq!((*code, &answer["property"]), (1, &flaw.breaks.into()), "{context}");
        let steps = answer["trace"].as_array().expect("a run").len();
        writeln!(found, "{} {} {steps}", about.name, flaw.name).expect("a string takes all");
    }
    compare_or_rewrite(&path(SHORTEST), &found);
}
