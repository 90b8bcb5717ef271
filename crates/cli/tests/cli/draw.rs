//! Pictures: every problem, every format, whatever went wrong.

use crate::support;

use std::fs;

use support::{Folder, run, run_wide};

fn drawn(folder: &Folder, name: &str, args: &[&str]) -> Vec<u8> {
    let path = folder.path(name);
    let (code, out, aside) = run(&[&["draw"], args, &["-o", &path]].concat());
    assert_eq!(code, 0, "{args:?}: {out}{aside}");
    fs::read(&path).expect("a picture")
}

#[test]
fn a_run_of_every_problem_is_drawn_with_what_it_is_about() {
    let folder = Folder::new("draw");
    let runs: [(&[&str], &[&str]); 6] = [
        (&["run", "suzuki-kasami", "--nodes", "3", "--entries", "4"], &["inside", "the token"]),
        (&["run", "bully", "--nodes", "4", "--crash", "3@0"], &["leads", "crash", "elect"]),
        (
            &["run", "echo", "--nodes", "6", "--topology", "ring"],
            &["from parent to child", "is done"],
        ),
        (
            &["run", "heartbeat", "--nodes", "3", "--crash", "2@20ms", "--for", "60ms"],
            &["suspects"],
        ),
        (
            &["run", "virtual-synchrony", "--nodes", "3", "--multicasts", "4", "--crash", "2@22ms"],
            &["view 2 {0, 1}", "blocked", "delivers"],
        ),
        (&["check", "maekawa-basic"], &["In step 6", "waits for", "a cycle"]),
    ];
    for (number, (args, says)) in runs.iter().enumerate() {
        let svg = drawn(&folder, &format!("{number}.svg"), args);
        let svg = String::from_utf8(svg).expect("text");
        for word in *says {
            assert!(svg.contains(word), "{args:?} does not say {word}");
        }
    }
}

#[test]
fn others_are_told_in_their_languages() {
    let folder = Folder::new("draw-others");
    let args = ["run", "ricart-agrawala", "--nodes", "3", "--entries", "3"];
    let text = |name: &str| String::from_utf8(drawn(&folder, name, &args)).expect("text");
    let mermaid = text("run.mmd");
    assert!(mermaid.contains("sequenceDiagram\n    participant n0 as node 0"), "{mermaid}");
    assert!(mermaid.contains("n0-)n1: REQUEST(1)") && mermaid.contains("activate n0"), "{mermaid}");
    let perfetto: serde_json::Value = serde_json::from_str(&text("run.json")).expect("JSON");
    let events = perfetto["traceEvents"].as_array().expect("a list");
    let count = |phase: &str| events.iter().filter(|it| it["ph"] == phase).count();
    assert_eq!((count("s"), count("f")), (12, 12), "a flow for every message");
    let shiviz = text("run.log");
    assert!(shiviz.contains("node0 {\"node0\":1}\nnode 0 acquire"), "{shiviz}");
    let dot = text("run.dot");
    assert!(dot.starts_with("digraph {") && dot.matches("color=blue").count() == 12, "{dot}");
}

#[test]
fn a_terminal_of_any_width_shows_a_run() {
    for columns in [40, 80, 200] {
        let (code, out) = run_wide(columns, &["draw", "check", "maekawa-basic", "--states"]);
        assert_eq!(code, 0, "{out}");
        // The first two lines are a title and what is to be copied.
        let widest = out.lines().skip(2).map(|it| it.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns, "{widest} in {columns}:\n{out}");
        assert!(out.contains("REQUEST(1)") && out.contains("locks {0} → {0 1}"), "{out}");
        assert!(out.contains("locked for  queue  quorum\n"), "a table at the end: {out}");
    }
}

#[test]
fn a_recorded_run_is_drawn_and_so_is_one_that_was_cut_off() {
    let folder = Folder::new("draw-recorded");
    let path = folder.path("run.jsonl");
    run(&["run", "raymond", "--nodes", "5", "--entries", "6", "--trace", &path]);
    let whole = String::from_utf8(drawn(&folder, "whole.svg", &[&path])).expect("text");
    assert!(whole.contains("the token"), "{whole}");
    let text = fs::read_to_string(&path).expect("a trace");
    fs::write(&path, &text[..text.len() / 2]).expect("a place to write");
    let cut = String::from_utf8(drawn(&folder, "cut.svg", &[&path])).expect("text");
    assert!(cut.contains("The trace is cut off"), "{cut}");
}

#[test]
fn graphs_are_drawn_with_what_is_looked_at() {
    let folder = Folder::new("draw-graphs");
    let plane = drawn(&folder, "plane.svg", &["quorum", "plane", "--nodes", "13"]);
    assert!(String::from_utf8_lossy(&plane).contains("They meet in"));
    let all: [&[&str]; 9] = [
        &["quorum", "grid", "--nodes", "16"],
        &["quorum", "triangle", "--nodes", "15"],
        &["quorum", "wall:1,2,3"],
        &["quorum", "tree", "--nodes", "15", "--dead", "0,1"],
        &["quorum", "majority", "--nodes", "5"],
        &["topology", "grid", "--nodes", "12"],
        &["topology", "hypercube", "--nodes", "8"],
        &["run", "echo", "--nodes", "9", "--topology", "grid", "--view", "tree"],
        &["check", "maekawa-basic", "--view", "waits"],
    ];
    for (number, args) in all.iter().enumerate() {
        let svg = drawn(&folder, &format!("{number}.svg"), args);
        assert!(String::from_utf8_lossy(&svg).matches("<circle").count() >= 3, "{args:?}");
    }
}

/// Whether a text has a 3'1 in it, and is not what explains it.
fn says_incarnation(line: &str) -> bool {
    let bytes = line.as_bytes();
    let is_one = |it: &[u8]| it[0].is_ascii_digit() && it[1] == b'\'' && it[2].is_ascii_digit();
    !line.contains("behind an apostrophe")
        && !line.contains("first time, 3'1/0")
        && bytes.windows(3).any(is_one)
}

/// A drawn run, and what was said aside.
fn drawn_run(folder: &Folder, args: &[&str]) -> (String, String) {
    let path = folder.path("run.svg");
    let (code, out, aside) = run(&[&["draw", "run"], args, &["-o", &path]].concat());
    assert_eq!(code, 0, "{args:?}: {out}{aside}");
    (fs::read_to_string(&path).expect("a picture"), aside)
}

#[test]
fn a_run_of_which_nothing_is_said_is_short_enough_to_be_read() {
    let folder = Folder::new("draw-default");
    let inside = |svg: &str| svg.matches("class=\"in\"><title>").count();
    let (svg, aside) = drawn_run(&folder, &["ricart-agrawala", "--nodes", "5"]);
    assert!(svg.contains(" --entries 10 ") && inside(&svg) >= 10, "{svg}");
    assert_eq!(aside, "");
    let (svg, _) = drawn_run(&folder, &["nack", "--nodes", "4"]);
    assert!(svg.contains(" --multicasts 10 "), "{svg}");
    let long = ["ricart-agrawala", "--nodes", "5", "--entries", "2000"];
    let (svg, aside) = drawn_run(&folder, &long);
    assert!(
        aside.contains("The picture ends at") && svg.contains("The picture ends at"),
        "{aside}"
    );
    let slab = [&long[..], &["--width", "800"]].concat();
    let (_, aside) = drawn_run(&folder, &slab);
    assert!(aside.contains("in one picture are more than can be read"), "{aside}");
    assert!(svg.len() < 1_000_000, "{}", svg.len());
}

#[test]
fn a_part_of_a_run_is_drawn() {
    let folder = Folder::new("draw-part");
    let args = ["maekawa", "--nodes", "7", "--entries", "40"];
    let with = |more: &[&str]| drawn_run(&folder, &[&args[..], more].concat()).0;
    let part = with(&["--from", "20ms", "--to", "30ms", "--only", "REQUEST,locked"]);
    assert!(part.contains(">REQUEST<") && part.contains(">LOCKED<"), "{part}");
    assert!(!part.contains(">RELEASE<") && part.contains(" RELEASE."), "not shown, and said so");
    assert!(part.contains(">20 ms<") && part.contains(">30 ms<") && !part.contains(">18 ms<"));
    let hidden = with(&["--hide", "RELEASE"]);
    assert!(!hidden.contains("→ node 0  RELEASE") && hidden.contains("→ node 0  LOCKED"));
    let few = with(&["--nodes-shown", "0-1,6"]);
    assert!(few.contains(">node 6<") && !few.contains(">node 2<"), "{few}");
    let (code, text, _) =
        run(&[&["draw", "run"], &args[..], &["--only", "REQUEST", "--to", "5ms"]].concat());
    assert_eq!(code, 0);
    assert!(text.contains("REQUEST(1)") && !text.contains("LOCKED("), "{text}");
    assert!(text.contains("Not shown: ") && !text.contains("\n6 ms"), "{text}");
}

#[test]
fn heartbeats_do_not_drown_the_rest_and_views_are_bands() {
    let folder = Folder::new("draw-beats");
    let of = ["virtual-synchrony", "--nodes", "3", "--multicasts", "4", "--crash", "2@22ms"];
    let (svg, _) = drawn_run(&folder, &of);
    assert!(!svg.contains(">STATUS<"), "{svg}");
    assert!(
        svg.contains(" STATUS, which only say that their senders are up (--hide none"),
        "{svg}"
    );
    let (svg, _) = drawn_run(&folder, &[&of[..], &["--hide", "none"]].concat());
    assert!(svg.contains(">STATUS<") && svg.contains(" delivered)"), "{svg}");
    let on_views = ["raymond", "--on-views", "--nodes", "3", "--crash", "2@9ms"];
    let (svg, _) = drawn_run(&folder, &on_views);
    assert!(!svg.contains(">STATUS<"), "{svg}");
    assert!(svg.contains(">view 1 of 3 members<") && svg.contains("class=\"era0\""), "{svg}");
    assert!(svg.contains(">view 2 of 2 members<") && svg.contains("class=\"era1\""), "{svg}");
    // There is nothing else to see.
    let (svg, _) = drawn_run(&folder, &["heartbeat", "--nodes", "3", "--for", "20ms"]);
    assert!(svg.contains(">HEARTBEAT<"), "{svg}");
    // Elections that watch their leader.
    let (svg, _) = drawn_run(&folder, &["watching-bully", "--nodes", "4", "--for", "60ms"]);
    assert!(svg.contains(">ELECTION<") && !svg.contains(">HEARTBEAT<"), "{svg}");
}

/// Lines of a picture with a sign that is drawn, by the beginning of its element.
fn hourglasses(svg: &str) -> usize {
    svg.matches("<path class=\"pt\" d=").count()
}

#[test]
fn timers_of_which_nothing_comes_do_not_cover_a_run() {
    let folder = Folder::new("draw-idle");
    let of = ["srm", "--nodes", "4", "--multicasts", "4"];
    let (svg, _) = drawn_run(&folder, &of);
    assert!(svg.contains("timers after which nothing was sent or told (--hide none"), "{svg}");
    assert!(hourglasses(&svg) < 40, "{}", hourglasses(&svg));
    assert!(svg.contains("delivers"), "{svg}");
    let (all, _) = drawn_run(&folder, &[&of[..], &["--hide", "none"]].concat());
    assert!(hourglasses(&all) > 300 && !all.contains("Not shown"), "{}", hourglasses(&all));
    let lost = ["srm", "--nodes", "6", "--loss", "10%", "--multicasts", "10"];
    let (svg, _) = drawn_run(&folder, &lost);
    assert!(hourglasses(&svg) < 100 && svg.contains("class=\"x\""), "{}", hourglasses(&svg));
}

#[test]
fn runs_that_never_end_are_drawn_for_as_long_as_is_seen() {
    let folder = Folder::new("draw-lasting");
    let rows = |svg: &str| svg.matches(">node 1<").count();
    let (svg, _) = drawn_run(&folder, &["heartbeat"]);
    assert!(svg.contains("--for 17500us") && svg.contains(">HEARTBEAT<"), "{svg}");
    assert!(!svg.contains("under way"), "{svg}");
    assert_eq!(rows(&svg), 1, "{svg}");
    let (svg, _) = drawn_run(&folder, &["heartbeat", "--beat", "20ms"]);
    assert!(svg.contains("--for 70ms"), "{svg}");
    // It lasts until a crash is noticed, or for as long as it is told to.
    let (svg, _) = drawn_run(&folder, &["heartbeat", "--nodes", "3", "--crash", "2@90ms"]);
    assert!(svg.contains("suspects"), "{svg}");
    let (svg, _) = drawn_run(&folder, &["heartbeat", "--nodes", "3", "--for", "60ms"]);
    assert!(svg.contains("--for 60ms"), "{svg}");
    // Who leads is what is looked at.
    let (svg, _) = drawn_run(&folder, &["view-leader"]);
    assert!(!svg.contains(">STATUS<") && svg.contains("leads"), "{svg}");
    assert!(rows(&svg) <= 2, "{}", rows(&svg));
    assert!(svg.contains(">120 ms<") && !svg.contains(" ns<"), "{svg}");
}

#[test]
fn rows_without_anything_are_left_out() {
    let folder = Folder::new("draw-rows");
    let rows = |svg: &str| svg.matches(">node 1<").count();
    let harsh = ["ricart-agrawala", "--nodes", "5", "--random-faults", "harsh"];
    let (svg, aside) = drawn_run(&folder, &harsh);
    // Those with messages, and those in which a node crashes or comes back.
    assert!(rows(&svg) <= 9, "{}", rows(&svg));
    assert!(svg.contains("Not drawn: nothing happens from "), "{svg}");
    assert!(svg.contains("Not drawn: what goes wrong from "), "{svg}");
    assert!(!aside.contains("The picture ends"), "{aside}");
    let back = ["--crash", "1@5ms", "--restart", "1@60ms"];
    let (svg, _) =
        drawn_run(&folder, &[&["ack", "--nodes", "3", "--tries", "3"], &back[..]].concat());
    assert!(svg.contains("Not drawn: nothing happens from "), "{svg}");
    assert!(svg.contains("restarts"), "{svg}");
}

#[test]
fn what_happens_several_times_at_once_is_written_once() {
    let folder = Folder::new("draw-once");
    for nodes in ["12", "13", "20"] {
        let (svg, _) = drawn_run(&folder, &["bully", "--nodes", nodes]);
        let labels: Vec<&str> = svg.lines().filter(|it| it.contains("class=\"l c b\"")).collect();
        assert!(labels.iter().any(|it| it.contains("leads")), "{labels:?}");
        for label in labels {
            assert!(!label.contains(", ,") && !label.contains(", and "), "{label}");
            assert!(label.matches("leads").count() < 2, "{label}");
        }
    }
    let (svg, _) = drawn_run(&folder, &["bully", "--nodes", "25"]);
    assert!(!svg.contains("class=\"l c b\""), "marks of many nodes are in the legend alone");
}

#[test]
fn what_is_hidden_comes_to_what_is_hidden_anyway() {
    let folder = Folder::new("draw-hide");
    let of = ["virtual-synchrony", "--nodes", "4", "--multicasts", "6"];
    let (svg, _) = drawn_run(&folder, &[&of[..], &["--hide", "ORDER"]].concat());
    assert!(!svg.contains(">STATUS<") && svg.contains(" STATUS, which only say"), "{svg}");
    assert!(svg.contains("Not shown: 24 ORDER.<"), "{svg}");
    let (svg, _) = drawn_run(&folder, &[&of[..], &["--only", "STATUS"]].concat());
    assert!(svg.contains("→ node 0  STATUS"), "{svg}");
    for (wrong, why) in [
        (["--only", "none"], "--only none would show no message"),
        (["--hide", "none,ORDER"], "--hide none,ORDER: none is for all to be shown"),
    ] {
        let (code, _, err) = run(&[&["draw", "run"], &of[..], &wrong].concat());
        assert!(code == 2 && err.contains(why), "{err}");
    }
}

#[test]
fn no_label_is_a_digest() {
    let folder = Folder::new("draw-long");
    let of = ["virtual-synchrony", "--nodes", "5", "--crash", "2@10ms", "--restart", "2@40ms"];
    let (svg, _) = drawn_run(&folder, &of);
    assert!(svg.contains(">FLUSH_OK<"), "{svg}");
    let named = svg.lines().filter(|it| it.starts_with("<text ") && it.contains("FLUSH_OK("));
    assert_eq!(named.count(), 0, "{svg}");
    assert!(svg.contains("FLUSH_OK(1: "), "the title of the arrow has it");
    assert!(svg.contains("delivers 1/0: the message 0 of node 1"), "{svg}");
}

#[test]
fn a_member_that_has_come_back_is_explained() {
    let folder = Folder::new("draw-again");
    let back = ["nack", "--nodes", "3", "--multicasts", "9", "--tries", "3"];
    let faults = ["--crash", "1@2ms", "--restart", "1@60ms", "--every", "12ms"];
    let (svg, _) = drawn_run(&folder, &[&back[..], &faults].concat());
    assert!(svg.contains("1&apos;1") || svg.contains("1'1"), "{svg}");
    assert!(svg.contains("counts how often a node has come back"), "{svg}");
    let (svg, _) = drawn_run(&folder, &back);
    assert!(!svg.contains("counts how often"), "{svg}");
    // Messages that are hidden or have no names say nothing of it.
    let on_views = ["ricart-agrawala", "--on-views", "--nodes", "4", "--cut", "1-2@5ms..40ms"];
    let (svg, _) = drawn_run(&folder, &on_views);
    let is_written = svg.lines().any(|it| it.starts_with("<text ") && says_incarnation(it));
    assert_eq!(svg.contains("counts how often"), is_written, "{svg}");
    assert!(!is_written, "nobody has come back");
}

#[test]
fn every_picture_is_there_for_papers() {
    let folder = Folder::new("draw-pdf");
    let all: [&[&str]; 4] = [
        &["run", "echo", "--nodes", "6", "--topology", "ring"],
        &["check", "maekawa-basic", "--states"],
        &["quorum", "plane", "--nodes", "7"],
        &["run", "virtual-synchrony", "--nodes", "3", "--crash", "2@22ms"],
    ];
    for args in all {
        let pdf = drawn(&folder, "picture.pdf", args);
        assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"), "{args:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let refused = |args: &[&str], code: i32, why: &str| {
        let (got, _, aside) = run(&[&["draw"], args].concat());
        assert_eq!(got, code, "{args:?}: {aside}");
        assert!(aside.contains(why), "{args:?}: {aside}");
    };
    refused(&["check", "ricart-agrawala"], 1, "there is nothing to draw");
    let list = ["check", "ricart-agrawala", "--flaw", "list"];
    refused(&list, 2, "vorrang check ricart-agrawala --flaw list names flaws");
    refused(&["check", "maekawa-basic", "-o", "x.bmp"], 2, "nothing is known by that ending");
    refused(&["check", "maekawa-basic", "--view", "tree"], 2, "there is no tree");
    refused(&["quorum", "plane", "--nodes", "13", "--of", "13"], 2, "there is no node 13");
    refused(&["quorum", "plane", "--nodes", "13", "--format", "perfetto"], 2, "is for runs");
    let args = ["run", "raymond", "--nodes", "3"];
    let part = |more: &[&str], why: &str| refused(&[&args[..], more].concat(), 2, why);
    part(&["--only", "REQUST"], "did you mean 'REQUEST'?");
    part(&["--hide", "ACK"], "there are REQUEST, TOKEN");
    part(&["--nodes-shown", "0,3"], "there is no node 3: the last is 2");
    part(&["--from", "20ms", "--to", "10ms"], "--to 10 ms is not after --from 20 ms");
    part(&["--from", "9s"], "--from 9 s: the run ends at");
    part(&["--from", "5"], "--from 5: a time has a unit, as in 5ms");
    part(&["--format", "pdf"], "PDF is not for a terminal");
    refused(&["check", "maekawa-basic", "--from", "5ms"], 2, "this run is counted in steps");
    refused(&["nowhere.jsonl"], 4, "nowhere.jsonl");
}
