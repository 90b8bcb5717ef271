//! `vorrang check`: outcomes and exit codes, every known mistake, and counterexamples that can be
//! played.

mod support;

use serde_json::Value;
use support::{json, json_of, run};
use vorrang_algorithms::card::Setup;
use vorrang_algorithms::mutex::card::{Card, Flaw};
use vorrang_algorithms::mutex::spec::{BoundedBypass, Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit, mutex_cards};
use vorrang_protocol::{Group, Protocol};
use vorrang_trace::Stage;

fn trace(answer: &Value) -> Vec<&str> {
    let lines = answer["trace"].as_array().expect("a trace");
    lines.iter().map(|line| line.as_str().expect("a line")).collect()
}

/// All mistakes of all algorithms.
fn flaws() -> impl Iterator<Item = (&'static Card, &'static Flaw)> {
    mutex_cards().iter().flat_map(|card| card.flaws.iter().map(move |flaw| (*card, flaw)))
}

#[test]
fn every_algorithm_keeps_its_promises_on_a_small_group() {
    for card in mutex_cards() {
        let answer = json_of(&["check", card.name, "--entries", "2,1", "--property", "promised"]);
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
        assert_eq!(checked.contains(&"ordering".into()), card.terms.promises.ordering);
        assert_eq!(checked.contains(&"no starvation".into()), card.terms.promises.bypass.is_some());
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for args in [&["check", "lamport"][..], &["check", "lamport", "--flaw", "unordered-links"]] {
        let of = |threads| {
            let (code, mut answer) = json(&[args, &["--threads", threads]].concat());
            answer.as_object_mut().expect("an object").remove("seconds");
            (code, answer)
        };
        assert_eq!(of("1"), of("3"));
    }
}

/// Plays a counterexample on a stage with the monitors of the demonstration.
struct Replay<'a> {
    flaw: &'static Flaw,
    setup: Setup,
    lines: &'a [&'a str],
}

impl Visit for Replay<'_> {
    type Output = Option<&'static str>;

    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let exclusion = Exclusion::new((card.terms.admission)(&self.setup));
        let ordering = (self.flaw.breaks == "ordering").then(HappenedBefore::default);
        let bypass = card.terms.promises.bypass.filter(|_| self.flaw.breaks == "no starvation");
        let monitor = (exclusion, (ordering, bypass.map(BoundedBypass::new)));
        let mut stage = Stage::new(self.setup.group.members().map(node), monitor);
        for (place, line) in self.lines.iter().enumerate() {
            assert!(stage.violation().is_none(), "nothing is wrong before '{line}'");
            stage.step(line).unwrap_or_else(|why| panic!("step {place}, '{line}': {why}"));
        }
        if stage.violation().is_none() {
            stage.step("rest").expect("nothing is under way at the end");
        }
        stage.violation().map(|violation| violation.property)
    }
}

#[test]
fn every_flaw_of_every_algorithm_is_found_and_its_counterexample_can_be_played() {
    for (card, flaw) in flaws() {
        let (code, answer) = json(&["check", card.name, "--flaw", flaw.name]);
        let name = format!("{} of {}: {answer:#}", flaw.name, card.name);
        assert_eq!(code, 1, "{name}");
        assert_eq!(
            (&answer["outcome"], &answer["property"]),
            (&"violated".into(), &flaw.breaks.into()),
            "{name}"
        );
        assert!(answer["violation"].is_string(), "{name}");
        let lines = trace(&answer);
        assert_eq!(lines.len(), flaw.steps, "{name}");
        let setup = Setup::new(Group::of(flaw.entries.len() as u32));
        let replay = Replay { flaw, setup, lines: &lines };
        let seen = registry::visit_flawed(card.name, flaw.name, setup, replay);
        assert_eq!(seen, Some(Some(flaw.breaks)), "{name}");
    }
}

#[test]
fn a_counterexample_is_shown_with_the_command_that_finds_it_again() {
    for (card, flaw) in flaws() {
        let (code, out, err) = run(&["check", card.name, "--flaw", flaw.name]);
        assert_eq!((code, err.as_str()), (1, ""));
        let first = out.lines().next().expect("a first line");
        assert!(first.starts_with(&format!("vorrang check {} --flaw {}", card.name, flaw.name)));
        assert!(out.contains(&format!("violated {}: ", flaw.breaks)), "{out}");
        assert!(out.contains(&format!("A shortest run to it, {} steps:", flaw.steps)), "{out}");
        let again: Vec<&str> = first.split(' ').skip(1).collect();
        let (code, answer) = json(&again);
        assert_eq!((code, &answer["property"]), (1, &flaw.breaks.into()), "{first}");
        assert_eq!(trace(&answer).len(), flaw.steps, "{first}");
    }
}

#[test]
fn the_flaws_of_every_algorithm_are_listed() {
    for card in mutex_cards() {
        let (code, out, _) = run(&["check", card.name, "--flaw", "list"]);
        assert_eq!(code, 0);
        for flaw in card.flaws {
            let line = out.lines().find(|line| line.starts_with(flaw.name)).expect(flaw.name);
            for word in [flaw.breaks, &flaw.steps.to_string(), flaw.what] {
                assert!(line.contains(word), "no '{word}' in {line}");
            }
        }
        if card.flaws.is_empty() {
            assert_eq!(out, format!("No mistakes in {} are on record.\n", card.name));
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
        assert_eq!(code, 1, "{answer:#}");
        assert_eq!((&answer["outcome"], &answer["bound"]), (&"bounded".into(), &bound.into()));
        assert_eq!((&answer["property"], trace(&answer).len()), (&Value::Null, 0));
        let (code, out, _) = run(&args);
        assert_eq!(code, 1);
        assert!(out.contains(&format!("bounded by {bound}; nothing wrong so far")), "{out}");
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
