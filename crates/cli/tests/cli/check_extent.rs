//! `vorrang check` where there is too much to look at: bounds of time, random walks, Ctrl-C, and
//! how sure a verdict is.

use crate::support;

use serde_json::Value;
use support::{json, json_of, run};

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// Nobody has ever seen the end of it.
const ENDLESS: &str = "check ricart-agrawala --nodes 6 --entries 5 --max-memory 1024";

#[test]
fn a_search_ends_when_its_time_is_over_and_says_how_far_it_came() {
    let (code, answer) = json(&words(&format!("{ENDLESS} --time 300ms")));
    assert_eq!((code, &answer["bound"]), (3, &"time".into()), "{answer:#}");
    assert_eq!(answer["parameters"]["time"], "300ms");
    assert!(answer["seconds"].as_f64().is_some_and(|it| it >= 0.3), "{answer:#}");
    let depth = answer["depth"].as_u64().expect("a depth");
    let reached = format!("every run of at most {} steps was followed", depth - 1);
    assert_eq!(answer["reached"], Value::from(reached), "the last level was cut short");

    let (code, out, _) = run(&words(&format!("{ENDLESS} --time 300ms")));
    assert_eq!(code, 3);
    assert!(out.contains("bounded by time for 6 nodes, 5 entries each, any order"), "{out}");
    assert!(out.contains("Not exhausted: every run of at most "), "{out}");

    let answer = json_of(&words("check lamport --nodes 2 --time 1h"));
    assert_eq!((&answer["outcome"], &answer["reached"]), (&"verified".into(), &Value::Null));
    assert_eq!(answer["parameters"]["time"], "1h");
}

/// Loops are searched last. Where a bound ends the search before that, a verdict that names
/// starvation would claim what nobody has looked for: this system has a starving loop of 22 steps.
#[test]
fn what_only_loops_show_is_not_among_what_was_looked_at_if_loops_were_not() {
    let line = "check singhal --nodes 4 --arbitration nearest --order fifo --entries \
                forever,forever,0,1 --threads 1";
    let fair = "no starvation in fair runs";
    let (code, answer) = json(&words(&format!("{line} --time 1500ms")));
    assert_eq!((code, &answer["bound"]), (3, &"time".into()), "{answer:#}");
    let checked = answer["checked"].as_array().expect("a list");
    assert!(!checked.contains(&fair.into()), "{answer:#}");
    assert!(checked.contains(&"progress".into()), "states of rest were judged: {answer:#}");
    let skipped = answer["not_checked"].as_str().expect("a sentence");
    assert!(skipped.starts_with(fair) && skipped.contains("by time"), "{skipped}");

    let (code, out, _) = run(&words(&format!("{line} --time 1500ms")));
    assert_eq!(code, 3, "{out}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let (verdict, skipped) = out.split_once("Not looked for: ").expect("what was not looked for");
    assert!(!verdict.contains("no starvation"), "{out}");
    let is_said = "no starvation in fair runs, progress in runs that never come to rest: loops";
    assert!(skipped.starts_with(is_said), "{out}");

    let (code, answer) = json(&words(&format!("{line} --max-depth 12")));
    assert_eq!((code, &answer["bound"]), (3, &"depth".into()), "{answer:#}");
    assert!(answer["not_checked"].is_null(), "loops were searched: {answer:#}");
    assert!(answer["checked"].as_array().is_some_and(|it| it.contains(&fair.into())));
}

/// Too many runs to follow them all, by far.
#[test]
fn walks_in_projective_planes_find_nothing_but_mistakes() {
    for (name, flaws) in [
        ("maekawa", ["overtaken-not-told", "given-back-forgotten"]),
        ("cao-singhal", ["overtaken-not-told", "no-epochs"]),
    ] {
        for nodes in [7, 13] {
            let line = format!("--nodes {nodes} --quorum plane --entries 2 --order any --walks");
            let (code, answer) = json(&words(&format!("check {name} {line} 100")));
            assert_eq!((code, &answer["outcome"]), (3, &"bounded".into()), "{answer:#}");
            assert_eq!(answer["bound"], "walks", "{answer:#}");
            for flaw in flaws {
                let line = format!("check {name} --flaw {flaw} {line} 300");
                let (code, answer) = json(&words(&line));
                assert_eq!((code, &answer["property"]), (1, &"progress".into()), "{line}");
            }
        }
    }
}

#[test]
fn walks_find_what_is_wrong_and_prove_nothing_if_they_do_not() {
    let walks = "--nodes 9 --walks 20 --depth 500 --seed 3";
    let line = format!("check ricart-agrawala {walks} --entries 5");
    let (code, answer) = json(&words(&line));
    assert_eq!((code, &answer["outcome"]), (3, &"bounded".into()), "{answer:#}");
    assert_eq!(answer["bound"], "walks");
    assert_eq!(answer["reached"], "20 walks of at most 500 steps found nothing");
    for (option, value) in [("walks", 20), ("depth", 500), ("seed", 3)] {
        assert_eq!(answer["parameters"][option], value, "{option}");
    }
    let (code, out, _) = run(&words(&line));
    assert_eq!(code, 3);
    assert!(out.contains("Not exhausted: 20 walks of at most 500 steps found nothing."), "{out}");
    assert!(out.starts_with("vorrang check ricart-agrawala --nodes 9"), "{out}");
    assert!(out.lines().next().is_some_and(|it| it.contains("--walks 20 --depth 500 --seed 3")));
    assert!(!out.contains("verified"), "{out}");

    // With the same walks a mistake is found, and no system is too small to be proved by them.
    let (code, answer) = json(&words(&format!("check ricart-agrawala --flaw majority {walks}")));
    assert_eq!((code, &answer["property"]), (1, &"exclusion".into()), "{answer:#}");
    assert_eq!(answer["shortest"], false);
    let (code, out, _) = run(&words(&format!("check ricart-agrawala --flaw majority {walks}")));
    assert_eq!(code, 1);
    assert!(out.contains("A run to it, ") && !out.contains("shortest"), "{out}");
    assert_eq!(json(&words("check lamport --nodes 1 --walks 1")).0, 3);
}

#[test]
fn the_same_seed_gives_the_same_walks() {
    let of = |seed| {
        let line = format!("check lamport --nodes 5 --entries 3 --walks 5 --seed {seed}");
        let (_, answer) = json(&words(&line));
        (answer["states"].clone(), answer["steps"].clone())
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
    let (_, answer) = json(&words("check lamport --walks 5"));
    let parameters = &answer["parameters"];
    assert_eq!((&parameters["depth"], &parameters["seed"]), (&1000.into(), &1.into()));
}

#[test]
fn walks_can_be_bounded_in_time_too() {
    let line = format!("{ENDLESS} --walks 1000000000 --time 400ms");
    let (code, answer) = json(&words(&line));
    assert_eq!((code, &answer["bound"]), (3, &"time".into()), "{answer:#}");
    let reached = answer["reached"].as_str().expect("how far");
    assert!(reached.starts_with("at least ") && reached.contains("of 1,000,000,000 walks"));
}

#[test]
fn what_excludes_each_other_or_makes_no_sense_is_refused() {
    for (options, sentence) in [
        ("--depth 5", "--depth is how far a walk goes: say --walks, or --max-depth"),
        ("--seed 5", "--seed decides which walks are taken: say --walks"),
        ("--walks 5 --max-depth 5", "--max-depth bounds a search: of walks, say --depth"),
        ("--walks 5 --threads 2", "walks are taken one after the other"),
        ("--walks 5 --fair", "--walks follows none"),
        ("--walks 0", "give a whole number from 1 to"),
        ("--walks 5 --depth 0", "give a whole number from 1 to"),
        ("--time 0", "give a time of more than 0"),
        ("--time 10000000h", "that is centuries"),
        ("--time -1m", "write a time such as"),
        ("--time 10", "write a time such as"),
        ("--timely 0", "a message takes some time"),
        ("--timely 9000000000s", "a year at most"),
        ("--timely 1ms --asynchronous", "either no message takes longer, or some take for ever"),
    ] {
        let (code, out, err) = run(&words(&format!("check bully {options}")));
        assert_eq!((code, out.as_str()), (2, ""), "{options}: {err}");
        assert!(err.contains(sentence), "{options}: {err}");
    }
}

/// Where the system tells how long a process has been at work.
#[cfg(target_os = "linux")]
mod ctrl_c {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use serde_json::Value;

    use super::support::{PATIENCE, vorrang};
    use super::{ENDLESS, words};

    /// Starts a check, has it do something, and presses Ctrl-C as often: how it ends, and what it
    /// printed.
    fn interrupted(command: &str, times: u32) -> (Option<i32>, String) {
        let child = vorrang(&words(command)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        // Whoever has been at work for so long listens.
        let begun = Instant::now();
        while processor_seconds(&child) < 0.4 && child.try_wait().expect("a state").is_none() {
            assert!(begun.elapsed() < PATIENCE, "it does nothing");
            thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..times {
            let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            sent.expect("kill can be run");
            thread::sleep(Duration::from_millis(2));
        }
        let mut out = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("UTF-8");
        (child.wait().expect("it ends").code(), out)
    }

    /// How long a process has been at work.
    fn processor_seconds(child: &Child) -> f64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let ticks = stat.split(' ').skip(13).take(2).filter_map(|it| it.parse::<f64>().ok());
        ticks.sum::<f64>() / 100.0
    }

    #[test]
    fn ctrl_c_ends_a_check_with_all_that_was_seen() {
        let (code, out) = interrupted(&format!("{ENDLESS} --json"), 1);
        assert_eq!(code, Some(3), "{out}");
        let answer: Value = serde_json::from_str(&out).expect("all of it is there");
        assert_eq!(
            (&answer["outcome"], &answer["bound"]),
            (&"bounded".into(), &"interruption".into())
        );
        assert!(answer["states"].as_u64().is_some_and(|it| it > 1000), "{answer:#}");

        let (code, out) = interrupted(ENDLESS, 1);
        assert_eq!(code, Some(3), "{out}");
        assert!(out.contains("bounded by interruption for 6 nodes"), "{out}");
        assert!(out.contains("Not exhausted: every run of at most "), "{out}");

        let (code, out) = interrupted(&format!("{ENDLESS} --walks 1000000000"), 1);
        assert_eq!(code, Some(3), "{out}");
        assert!(out.contains("bounded by interruption"), "{out}");
        assert!(
            out.contains("of 1,000,000,000 walks of at most 1,000 steps found nothing"),
            "{out}"
        );
    }

    /// Between the first and the second the search may come to its end, a tenth of a second later.
    #[test]
    fn a_second_ctrl_c_ends_it_at_once() {
        let was_killed = (0..20).any(|_| {
            let (code, out) = interrupted(ENDLESS, 2);
            assert!(matches!(code, Some(3 | 130)), "{code:?}: {out}");
            code == Some(130) && !out.contains("bounded")
        });
        assert!(was_killed, "twenty searches ended before the second Ctrl-C");
    }
}

#[test]
fn how_sure_and_how_large_a_check_was_is_reported() {
    let small = json_of(&words("check lamport --nodes 2"));
    let large = json_of(&words("check ricart-agrawala --nodes 3 --entries 2"));
    for answer in [&small, &large] {
        let number = |key: &str| answer[key].as_f64().expect(key);
        assert_eq!(answer["hash_bits"], 64);
        let states = number("states");
        let expected = states * (states - 1.0) / 2.0 / 2_f64.powi(64);
        assert!((number("collision_odds") / expected - 1.0).abs() < 1e-9, "{answer:#}");
        assert!(number("memory_bytes") >= 16.0 * states, "{answer:#}");
        let share = number("memory_bytes") / states;
        assert!((number("bytes_per_state") - share).abs() < 1e-6, "{answer:#}");
    }
    assert!(small["collision_odds"].as_f64() < large["collision_odds"].as_f64());
    let line = "check ricart-agrawala --nodes 3 --entries 2";
    let surer = json_of(&words(&format!("{line} --hash-bits 128")));
    assert_eq!((&surer["hash_bits"], &surer["states"]), (&128.into(), &large["states"]));
    assert_eq!(surer["parameters"]["hash-bits"], 128);
    let odds = |answer: &Value| answer["collision_odds"].as_f64().expect("odds");
    assert!((odds(&surer) / odds(&large) * 2_f64.powi(64) - 1.0).abs() < 1e-9, "{surer:#}");
    let (code, _, err) = run(&words(&format!("{line} --hash-bits 32")));
    assert_eq!(code, 2);
    assert!(err.contains("'32'") && err.contains("64, 128"), "{err}");
    let (_, out, _) = run(&words(line));
    assert!(out.contains("with fingerprints of 64 bits, the odds that two states"), "{out}");
    assert!(out.contains("are 3e-10") && out.contains(" bytes a state"), "{out}");
}
