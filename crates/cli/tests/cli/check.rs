//! `vorrang check`: outcomes and exit codes, every known mistake, and counterexamples that can be
//! played.

use crate::support;

use serde_json::Value;
use support::mistakes::{CHECKED_MISTAKES, CheckedMistake};
use support::{json, json_of, run};
use vorrang_algorithms::card::About;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::UNBOUNDED;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::abouts;
use vorrang_catalogue::cards;
use vorrang_catalogue::{Entry, NodeOf, find};
use vorrang_protocol::{Group, Monitor};
use vorrang_trace::Stage;

fn trace(answer: &Value) -> Vec<&str> {
    let lines = answer["trace"].as_array().expect("a trace");
    lines.iter().map(|line| line.as_str().expect("a line")).collect()
}

#[test]
fn every_algorithm_keeps_its_promises_on_a_small_group() {
    for card in cards::<Mutex>() {
        let args = ["check", card.name, "--entries", "2,1", "--property", "promised"];
        if card.assumes.one_at_a_time {
            let (code, answer) = json(&args);
            assert_eq!((code, &answer["property"]), (1, &"progress".into()), "{}", card.name);
            let warnings = answer["warnings"].to_string();
            assert!(warnings.contains("requests come one at a time"), "{answer:#}");
            continue;
        }
        let answer = json_of(&args);
        assert_eq!(answer["outcome"], "verified", "{}", card.name);
        for nothing in ["property", "violation", "bound"] {
            assert_eq!(answer[nothing], Value::Null, "{}: {nothing}", card.name);
        }
        assert_eq!(trace(&answer), [""; 0]);
        for count in ["states", "steps", "depth"] {
            assert!(answer[count].as_u64().is_some_and(|count| count > 5), "{answer:#}");
        }
        assert!(answer["seconds"].as_f64().is_some_and(|it| it >= 0.0));
        let checked = answer["checked"].as_array().expect("properties");
        assert_eq!(checked[..2], ["exclusion", "progress"]);
        let is_bypass = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("bounded bypass"));
        let bypass = checked.iter().any(is_bypass);
        let two = Setup::new(Group::of(2));
        let is_ordered = (card.terms.promises.ordering)(&two);
        assert_eq!(checked.contains(&"ordering".into()), is_ordered, "{}", card.name);
        let promised = card.terms.promises.bypass.is_some_and(|times| times(&two) != UNBOUNDED);
        assert_eq!(bypass, promised, "{}", card.name);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for args in [&["check", "lamport"][..], &["check", "lamport", "--flaw", "unordered-links"]] {
        let of = |threads| {
            let (code, mut answer) = json(&[args, &["--threads", threads]].concat());
            for own in ["seconds", "memory_bytes", "bytes_per_state"] {
                answer.as_object_mut().expect("an object").remove(own);
            }
            (code, answer)
        };
        assert_eq!(of("1"), of("3"));
    }
}

/// Plays a counterexample on a stage with the monitors of the demonstration.
struct Replay<'a> {
    setup: &'a Setup,
    lines: &'a [&'a str],
    /// How many of them there are before those that repeat for ever, if any do.
    repeats_from: Option<usize>,
    /// What is never to be had while they do.
    breaks: &'static str,
}

impl Replay<'_> {
    /// The property that is violated in the end, once it is known what must hold.
    fn play<Q, M>(&self, entry: &Entry<Q>, monitor: M) -> Option<&'static str>
    where
        Q: Problem,
        M: Monitor<Command = Q::Command, Notice = Q::Notice>,
    {
        let nodes = entry.nodes(self.setup).expect("the set-up fits");
        let mut stage = Stage::new(nodes, monitor).guarded(entry.guards.clone());
        let look = |stage: &Stage<NodeOf<Q>, M>| {
            let nodes: Vec<String> = stage.nodes().map(|(.., it)| format!("{it:?}")).collect();
            // What is under way to a node that is down will vanish.
            let down: Vec<String> = stage
                .nodes()
                .filter(|(_, is_up, _)| !is_up)
                .map(|(id, ..)| format!(" -> {id} "))
                .collect();
            let mut flight = stage.flight();
            flight.retain(|line| !down.iter().any(|to| line.contains(to)));
            flight.sort();
            (nodes, flight, stage.timers())
        };
        let mut before = None;
        for (place, line) in self.lines.iter().enumerate() {
            if self.repeats_from == Some(place) {
                before = Some(look(&stage));
            }
            assert!(stage.violation().is_none(), "nothing is wrong before '{line}'");
            stage.step(line).unwrap_or_else(|why| panic!("step {place}, '{line}': {why}"));
        }
        if let Some(before) = before {
            assert_eq!(look(&stage), before, "what can repeat leads back to where it began");
            return Some(self.breaks);
        }
        if stage.violation().is_none() {
            stage.step("rest").expect("nothing is under way at the end");
        }
        stage.violation().map(|violation| violation.property)
    }
}

/// How the program says that it set the algorithm up: the options up to the order of links.
fn setup_of(about: &About, answer: &Value) -> Setup {
    let line = answer["command"].as_str().expect("a command");
    let from = line.find("--nodes").expect("a number of nodes");
    let to = line.find(" --order ").expect("an order");
    Setup::read(&line[from..to], about.takes).expect("a set-up")
}

#[test]
fn every_flaw_of_every_algorithm_is_found_and_its_counterexample_can_be_played() {
    for CheckedMistake { about: card, flaw, code, answer } in &*CHECKED_MISTAKES {
        let name = format!("{} of {}: {answer:#}", flaw.name, card.name);
        assert_eq!(*code, 1, "{name}");
        assert_eq!(
            (&answer["outcome"], &answer["property"]),
            (&"violated".into(), &flaw.breaks.into()),
            "{name}"
        );
        assert!(answer["violation"].is_string(), "{name}");
        let lines = trace(answer);
        let setup = &setup_of(card, answer);
        let repeats_from = answer["repeats_from"].as_u64().map(|it| it as usize);
        let replay = Replay { setup, lines: &lines, repeats_from, breaks: flaw.breaks };
        let mistake = Some(flaw.name);
        let seen = match card.problem {
            Mutex::NAME => find::<Mutex>(card.name, mistake).map(|entry| {
                let flaw = entry.card.flaw(flaw.name).expect("a flaw on the card");
                let besides = entry.card.broken_by(flaw, setup);
                replay.play(entry, entry.card.watch(setup, besides))
            }),
            Election::NAME => find::<Election>(card.name, mistake)
                .map(|entry| replay.play(entry, entry.card.watch(setup, true))),
            Wave::NAME => find::<Wave>(card.name, mistake)
                .map(|entry| replay.play(entry, entry.card.watch(setup).expect("a graph"))),
            Detection::NAME => find::<Detection>(card.name, mistake)
                .map(|entry| replay.play(entry, entry.card.watch(setup, Some(setup.within)))),
            Multicast::NAME => find::<Multicast>(card.name, mistake)
                .map(|entry| replay.play(entry, entry.card.watch(setup))),
            GroupCommunication::NAME => find::<GroupCommunication>(card.name, mistake)
                .map(|entry| replay.play(entry, entry.card.watch(setup))),
            other => panic!("say here how a run of '{other}' is judged"),
        };
        assert_eq!(seen, Ok(Some(flaw.breaks)), "{name}");
    }
}

/// In text, of one mistake of each algorithm: the others are printed by the same code.
#[test]
fn a_counterexample_is_shown_with_the_command_that_finds_it_again() {
    let firsts = CHECKED_MISTAKES.chunk_by(|it, other| it.about.name == other.about.name);
    for CheckedMistake { about: card, flaw, answer, .. } in firsts.map(|them| &them[0]) {
        let (code, out, err) = run(&["check", card.name, "--flaw", flaw.name]);
        assert_eq!((code, err.as_str()), (1, ""));
        let first = out.lines().next().expect("a first line");
        assert!(first.starts_with(&format!("vorrang check {} --flaw {}", card.name, flaw.name)));
        assert!(out.contains(&format!("violated {}: ", flaw.breaks)), "{out}");
        let steps = flaw.steps.expect("a flaw that was found");
        assert!(out.contains(&format!("A shortest run to it, {steps} steps:")), "{out}");
        assert_eq!(trace(answer).len(), steps as usize, "{first}");
        let again: Vec<&str> = first.split(' ').skip(1).collect();
        let (code, again) = json(&again);
        assert_eq!((code, &again["property"]), (1, &flaw.breaks.into()), "{first}");
        assert_eq!(trace(&again).len(), steps as usize, "{first}");
    }
}

#[test]
fn the_flaws_of_every_algorithm_are_listed() {
    for about in abouts() {
        let args = ["check", about.name, "--flaw", "list"];
        let (code, out, _) = run(&args);
        assert_eq!(code, 0);
        let listed = json_of(&args);
        assert_eq!(listed.as_array().map(Vec::len), Some(about.mistakes.len()));
        for flaw in &about.mistakes {
            let line = out.lines().find(|line| line.starts_with(flaw.name)).expect(flaw.name);
            let steps = flaw.steps.expect("a flaw that was found").to_string();
            for word in [flaw.breaks, &steps] {
                assert!(line.contains(word), "no '{word}' in {line}");
            }
        }
        if about.mistakes.is_empty() {
            assert_eq!(out, format!("No mistakes in {} are on record.\n", about.name));
        }
    }
}

#[test]
fn lamport_on_links_without_order_breaks_as_its_card_says() {
    let (code, answer) = json(&["check", "lamport", "--nodes", "2", "--order", "any"]);
    assert_eq!((code, &answer["property"]), (1, &"exclusion".into()));
    assert_eq!(trace(&answer).len(), 4);
}

#[test]
fn a_bound_that_was_hit_is_named_and_is_not_a_success() {
    for (option, value, bound) in [
        ("--max-states", "10", "states"),
        ("--max-depth", "3", "depth"),
        ("--max-memory", "0", "memory"),
    ] {
        let args = ["check", "ricart-agrawala", option, value];
        let (code, answer) = json(&args);
        assert_eq!(code, 3, "{answer:#}");
        assert_eq!((&answer["outcome"], &answer["bound"]), (&"bounded".into(), &bound.into()));
        assert_eq!((&answer["property"], trace(&answer).len()), (&Value::Null, 0));
        let (code, out, _) = run(&args);
        assert_eq!(code, 3);
        assert!(out.contains(&format!("bounded by {bound} for 3 nodes, ")), "{out}");
    }
    let answer = json_of(&["check", "ricart-agrawala", "--nodes", "2", "--max-depth", "100"]);
    assert_eq!(answer["outcome"], "verified", "a bound that was not hit does not matter");
}

#[test]
fn whoever_stays_for_ever_keeps_the_others_out() {
    let (code, answer) = json(&["check", "ricart-agrawala", "--nodes", "2", "--stay", "0"]);
    assert_eq!((code, &answer["property"]), (1, &"progress".into()), "{answer:#}");
    let (code, _) = json(&["check", "k-exclusion", "--nodes", "3", "--stay", "0"]);
    assert_eq!(code, 0, "where two may be inside, one may stay");
}
