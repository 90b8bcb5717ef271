//! `vorrang step`: scripts in a pipe, undone, saved and played again, and what the checker says of
//! where they lead.

use crate::support;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use support::{Folder, run, run_on, vorrang};
use vorrang_catalogue::abouts;

const LAMPORT: &[&str] = &["step", "lamport", "--nodes", "3"];

/// The reply to a request overtakes a request that was made before.
const OVERTAKING: &str = "acquire 0\nacquire 1\ndeliver 1->0 REQUEST\ndeliver 0->1 ACK\n";

#[test]
fn a_script_in_a_pipe_is_answered_line_by_line() {
    let (code, out, err) = run_on("acquire 0\nsettle\nrelease 0\nquit\n", LAMPORT);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "lamport --nodes 3\n\
         acquire 0\n  0 -> 1 REQUEST(1)\n  0 -> 2 REQUEST(1)\n\
         settle\n  1 -> 0 ACK(2)\n  2 -> 0 ACK(2)\n  0 entered\n\
         release 0\n  0 -> 1 RELEASE(4, of 1)\n  0 -> 2 RELEASE(4, of 1)\n\
         = 6 messages\n"
    );
}

#[test]
fn what_is_said_to_a_golden_run_is_the_golden_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalogue/tests/golden");
    for entry in fs::read_dir(folder).expect("golden runs") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        let (code, out, err) = run(&["step", "--script", path.to_str().expect("a path")]);
        assert_eq!(out, text, "{err}");
        assert_eq!(code, i32::from(text.contains("VIOLATION")), "{err}");
        let header = text.lines().next().expect("a header").split(' ');
        let args: Vec<&str> = std::iter::once("step").chain(header).collect();
        assert_eq!(run_on(&text, &args).1, text, "also in a pipe");
    }
}

/// The checker knows that, too: from there it finds nothing wrong.
#[test]
fn nothing_rests_while_others_wait_for_whoever_is_inside() {
    let script = "acquire 0\nsettle\nacquire 1\nsettle\nrest\nrelease 0\nsettle\nrest\n";
    let (code, out, err) = run_on(script, LAMPORT);
    assert!(code == 2 && !out.contains("VIOLATION"), "{out}");
    assert!(err.contains("node 0 is inside and bound to leave: say release 0 first"), "{err}");
    let denied = ["step", "central", "--flaw", "always-denied"];
    let (code, out, _) = run_on("acquire 0\nsettle\nrest\n", &denied);
    assert!(code == 1 && out.contains("VIOLATION progress"), "nobody is inside: {out}");
}

/// The stamps of the slide, 8 and 12, and what the clocks come to.
#[test]
fn the_slide_of_ricart_and_agrawala_is_a_golden_run() {
    let script = ["step", "--script", "ricart-agrawala-stamps"];
    let (code, out, err) = run(&script);
    assert_eq!(code, 0, "{err}");
    let act: Vec<&str> = out.split("# The slide").nth(1).expect("it").lines().collect();
    let sent = |what: &str| act.iter().filter(|line| line.contains(what)).count();
    assert_eq!((sent("REQUEST(8)"), sent("REQUEST(12)")), (2, 2), "{out}");
    assert_eq!((sent("REPLY(8,"), sent("REPLY(12,")), (2, 2), "{out}");
    let entered: Vec<&str> = act.into_iter().filter(|line| line.ends_with(" entered")).collect();
    assert_eq!(entered, ["  1 entered", "  0 entered"]);
}

#[test]
fn states_are_a_table_in_the_words_of_the_papers() {
    let state = |algorithm: &str, script: &str| {
        let args: Vec<&str> = algorithm.split(' ').collect();
        let args: Vec<&str> = std::iter::once("step").chain(args).collect();
        let (code, out, err) = run_on(&format!("{script}\nstate\n"), &args);
        assert_eq!(code, 0, "{err}");
        let lines = out.lines().filter(|line| line.starts_with('#'));
        lines.flat_map(|line| [line.trim_start_matches('#'), "\n"]).collect::<String>()
    };
    assert_eq!(
        state("suzuki-kasami --nodes 3", "acquire 0\nacquire 1\ndeliver 1->0"),
        "         phase    token  RN     LN     Q\n \
         node 0  inside   yes   *0 1 0  0 0 0  –\n \
         node 1  waiting  no     0 1 0  –      –\n \
         node 2  outside  no     0 0 0  –      –\n \
         in flight  1 -> 2 REQUEST(1)\n \
         timers     none\n"
    );
    assert_eq!(
        state("singhal --nodes 3", "acquire 2\ndeliver 2->0"),
        "         SV     SN     TSV  TSN\n \
         node 0 *N N R *0 0 1 *–   *–\n \
         node 1  R N N  0 0 0  –    –\n \
         node 2  R R R  0 0 1  –    –\n \
         in flight  2 -> 1 REQUEST(1); 0 -> 2 TOKEN(R = [2], SN = [0, 0, 1])\n \
         timers     none\n"
    );
    let maekawa = state("maekawa --nodes 4", "acquire 0\nacquire 1\ndeliver 0->1");
    for name in ["locks", "failed", "inquired", "locked for", "queue", "quorum"] {
        assert!(maekawa.contains(name), "{maekawa}");
    }
    assert!(maekawa.contains("*(1,0)"), "it has come into the queue of node 1: {maekawa}");
    let sanders = state("sanders --nodes 3", "acquire 0");
    for name in ["  R ", "  I ", "  St"] {
        assert!(sanders.contains(name), "{sanders}");
    }
    let raymond = state("raymond --nodes 3", "acquire 1");
    assert!(raymond.contains("phase    holder  queue  asked"), "{raymond}");
    assert!(raymond.contains("node 1 *waiting  0      *1     *yes"), "{raymond}");
}

#[test]
fn states_are_json_for_programs() {
    let (code, out, err) =
        run_on("acquire 1\nstate --json\n", &["step", "raymond", "--nodes", "2"]);
    assert_eq!(code, 0, "{err}");
    let line = out.lines().find_map(|line| line.strip_prefix("# ")).expect("an answer");
    let look: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let node = |id: u32, phase, holder: serde_json::Value, queue: &[u32], asked| {
        let state = serde_json::json!(
            {"phase": phase, "holder": holder, "queue": queue, "asked": asked}
        );
        serde_json::json!({"node": id, "up": true, "state": state})
    };
    let expected = serde_json::json!({
        "nodes": [
            node(0, "outside", "self".into(), &[], false),
            node(1, "waiting", 0.into(), &[1], true),
        ],
        "in_flight": ["1 -> 0 REQUEST"],
        "timers": [],
    });
    assert_eq!(look, expected);
}

#[test]
fn what_can_happen_next_can_be_chosen_by_its_number() {
    let (code, out, _) = run_on("next\n2\nnext\n4\n", LAMPORT);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        "lamport --nodes 3\n\
         #    1  acquire 0\n#    2  acquire 1\n#    3  acquire 2\n#    4  rest\n\
         acquire 1\n  1 -> 0 REQUEST(1)\n  1 -> 2 REQUEST(1)\n\
         #    1  acquire 0\n#    2  acquire 2\n#    3  deliver 1->0 REQUEST(1)\n\
         #    4  deliver 1->2 REQUEST(1)\n#    5  settle\n\
         deliver 1->2 REQUEST(1)\n  2 -> 1 ACK(2)\n\
         = 3 messages\n"
    );
}

#[test]
fn what_is_undone_can_be_done_again_or_otherwise() {
    let (code, out, err) = run_on(
        "acquire 0\n# a remark\nacquire 1\nundo 2\nhistory\nredo 3\nhistory\nundo\nacquire 2\n\
         redo\n",
        LAMPORT,
    );
    assert!(out.contains("# back to 0 steps: the beginning\n# lamport --nodes 3\nacquire 0\n"));
    assert!(out.contains("# lamport --nodes 3\n# acquire 0\n# # a remark\n# acquire 1\n"), "{out}");
    assert_eq!(code, 2);
    assert!(err.contains("line 10, 'redo': nothing has been undone"), "{err}");
    assert!(out.ends_with("= 4 messages\n"), "{out}");
}

#[test]
fn a_script_that_is_saved_and_played_again_is_the_same() {
    let folder = Folder::new("step-save");
    let (first, second) = (folder.path("first.run"), folder.path("second.run"));
    let args = ["step", "readers-writers", "--nodes", "3"];
    let script =
        format!("# at random\nrandom 30 7\nsave {first}\nundo 5\nload {first}\nsave {second}");
    let (code, out, err) = run_on(&script, &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let text = fs::read_to_string(&first).expect("it was saved");
    assert_eq!(fs::read_to_string(&second).expect("it was saved again"), text);
    assert_eq!(run(&["step", "--script", &first]).1, text);

    let (code, _, err) = run_on(&format!("save {first}\n"), &args);
    assert_eq!(code, 2);
    assert!(err.contains("is there already; save! "), "{err}");
    assert_eq!(fs::read_to_string(&first).expect("still there"), text);
    assert_eq!(run_on(&format!("save! {first}\n"), &args).0, 0);
    assert_ne!(fs::read_to_string(&first).expect("still there"), text);
}

#[test]
fn wrong_lines_are_named_and_the_others_are_done() {
    let long = "x".repeat(100_000);
    let script = format!("jump 0\nacquire 0\nrelease 0\n99\n{long}\nacquire 1\n");
    let (code, out, err) = run_on(&script, LAMPORT);
    assert_eq!(code, 2);
    assert!(out.contains("# 'jump 0': unknown command 'jump': say acquire"), "{out}");
    assert!(out.contains("# 'release 0': cannot release: not inside\n"), "{out}");
    assert!(out.contains("# '99': the list of what can happen next goes from 1 to "), "{out}");
    assert!(out.contains("x…': which node?"), "{out}");
    assert!(out.ends_with("= 4 messages\n"), "{out}");
    assert!(err.contains("line 1, 'jump 0': unknown command"), "{err}");
    assert!(err.contains("and 3 more lines"), "{err}");
    assert!(out.lines().all(|line| line.chars().count() < 110), "{out}");
}

#[test]
fn wrong_use_is_refused() {
    let error = |args: &[&str]| {
        let (code, _, err) = run(&[&["step"], args].concat());
        assert_eq!(code, 2, "{err}");
        err
    };
    assert!(error(&["lamprot"]).contains("did you mean 'lamport'?"));
    assert!(error(&["lamport", "--k", "2"]).contains("lamport does not take --k"));
    assert!(error(&["lamport", "--flaw", "nonsense"]).contains("unknown flaw of lamport"));
    let (code, _, err) = run(&["step", "--script", "/nowhere"]);
    assert_eq!(code, 4, "there is no such file");
    assert!(err.contains("cannot read '/nowhere'"), "{err}");
    assert!(error(&[]).contains("ALGORITHM"));
    let folder = Folder::new("step-wrong");
    let path = folder.path("wrong.run");
    for (text, why) in [
        ("lamport --nodes 3\nrelease 0\n", "line 2, 'release 0': cannot release: not inside"),
        ("lamport --nodes x\n", "the first line of the script: invalid value 'x'"),
        ("lamport --nodes 3 --k 2\n", "lamport does not take --k"),
        ("", "unknown algorithm ''"),
    ] {
        fs::write(&path, text).expect("a file");
        let (code, _, err) = run(&["step", "--script", &path]);
        assert_eq!(code, 4, "it is the file that cannot be used: {err}");
        assert!(err.contains(why) && err.contains(&path), "{err}");
    }
}

#[test]
fn a_flaw_is_stepped_into_and_out_of() {
    let args = ["step", "ricart-agrawala", "--nodes", "2", "--flaw", "no-tie-break"];
    let script = "acquire 0\nacquire 1\nsettle\n";
    let (code, out, err) = run_on(script, &args);
    assert_eq!(code, 1);
    assert!(out.starts_with("ricart-agrawala --nodes 2 --flaw no-tie-break\n"), "{out}");
    assert_eq!(out.matches("VIOLATION exclusion").count(), 1, "{out}");
    assert!(err.contains("violated exclusion"), "{err}");
    assert_eq!(run_on(&format!("{script}undo\n"), &args).0, 0, "it did not happen");
}

#[test]
fn the_checker_says_that_nothing_can_go_wrong_from_here() {
    let (code, out, err) = run_on("acquire 0\nsettle\ncheck\n", LAMPORT);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains(
            "# From here, if each node makes one more request:\n# verified exclusion, progress, "
        ),
        "{out}"
    );
    let (code, out, _) = run_on("check --max-states 10\n", LAMPORT);
    assert_eq!(code, 0);
    assert!(out.contains("# bounded by states; nothing wrong so far"), "{out}");
}

/// Who cannot begin a turn is asked for none: one that is outside of its group, or has left.
#[test]
fn the_checker_asks_nobody_who_refuses() {
    let check = |script: &str, line: &str| {
        let words: Vec<&str> = ["step"].into_iter().chain(line.split(' ')).collect();
        let (code, out, err) = run_on(script, &words);
        assert_eq!(code, 0, "{line}: {out}{err}");
        out
    };
    let out = check("check --max-states 3000\n", "virtual-synchrony --nodes 3");
    assert!(out.contains("none by node 2 (cannot leave or multicast"), "{out}");
    let out = check("leave 2\nsettle\ncheck --max-states 3000\n", "ack --nodes 3 --tries 2");
    assert!(out.contains("none by node 2 (it has left"), "{out}");
    for about in abouts() {
        let out = check("check --max-states 100\n", about.name);
        assert!(!out.contains("violated"), "{}: {out}", about.name);
    }
}

#[test]
fn the_checker_finds_a_shortest_way_to_ruin() {
    let args = ["step", "lamport", "--nodes", "3", "--order", "any"];
    let (code, out, err) = run_on(&format!("{OVERTAKING}check\n"), &args);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("# violated exclusion: "), "{out}");
    assert!(err.contains("can be violated: exclusion: "), "{err}");
    // What it says can be done.
    let numbered = |line: &str| {
        let (number, step) = line.strip_prefix("# ")?.trim_start().split_once(". ")?;
        number.parse::<u32>().ok().map(|_| format!("{step}\n"))
    };
    let rest: String = out.lines().filter_map(numbered).collect();
    assert_eq!(rest.lines().count(), 3, "{out}");
    let (code, out, _) = run_on(&format!("{OVERTAKING}{rest}check\n"), &args);
    assert!(out.contains("VIOLATION exclusion"), "{out}");
    assert_eq!(code, 2, "to check what has gone wrong already is wrong use");
}

#[test]
fn links_keep_their_order_where_that_is_assumed() {
    let (code, _, err) = run_on(OVERTAKING, &["step", "lamport", "--nodes", "2"]);
    assert_eq!(code, 2);
    assert!(err.contains("messages from 0 to 1 keep their order: first comes REQUEST(1)"), "{err}");
}

#[test]
fn timers_are_as_late_as_a_clock_makes_them_unless_a_person_was_faster() {
    let args = ["step", "bully", "--nodes", "3"];
    let (code, out, _) = run_on("crash 2\nelect 0\ncheck --crashes 0\n", &args);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("# verified one leader, legitimacy, termination, agreement\n"), "{out}");
    let (_, out, _) = run_on("elect 0\ntimer 0 Answer\ncheck\n", &args);
    assert!(out.contains("VIOLATION legitimacy"), "{out}");
    let early = "elect 0\ndeliver 0->1\ncrash 2\ntimer 1 Answer\ncheck --requests 0 --crashes 0\n";
    let (_, out, err) = run_on(early, &args);
    assert!(!out.contains("VIOLATION"), "{out}{err}");
    assert!(out.contains("# No clock allows 'timer 1 Answer' where it was done"), "{out}{err}");
    assert!(out.contains("# From here, if no node asks for more:\n"), "{out}{err}");
}

#[test]
fn a_wave_is_started_once_and_by_its_initiator() {
    let args = ["step", "echo", "--nodes", "4", "--initiator", "2"];
    let (code, out, _) = run_on("check --requests 3\nstart 2\ncheck\nsettle\nrest\n", &args);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("echo --nodes 4 --topology ring --initiator 2\n"), "{out}");
    let verified = "# verified tree, decision, dependence, aggregate, termination\n";
    assert_eq!(out.matches(verified).count(), 2, "{out}");
    assert!(out.contains("# From here, if no node asks for more:\n"), "{out}");
    assert!(out.ends_with("  2 done: 4 nodes, sum 6\nrest\n= 8 messages\n"), "{out}");
    let (code, _, err) = run_on("start 0\n", &args);
    assert_eq!(code, 2);
    assert!(err.contains("another node is the initiator"), "{err}");
    let (_, _, err) = run_on("start 2\nstart 2\n", &args);
    assert!(err.contains("the wave is under way or over"), "{err}");
}

#[test]
fn random_steps_are_those_of_their_seed() {
    let of = |seed: &str| run_on(&format!("random 20 {seed}\n"), LAMPORT).1;
    assert_eq!(of("3"), of("3"));
    assert_ne!(of("3"), of("4"));
    assert!(of("3").contains("# seed 3\n"));
}

#[test]
fn a_closed_output_ends_it_quietly() {
    let mut child = vorrang(LAMPORT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let mut pipe = child.stdin.take().expect("a pipe");
    let _ = pipe.write_all(b"acquire 0\nacquire 1\n");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn many_lines_are_no_burden() {
    let script = "acquire 0\nsettle\nrelease 0\nsettle\n".repeat(5_000) + "undo 19999\nhistory\n";
    let (code, out, _) = run_on(&script, LAMPORT);
    assert_eq!(code, 0);
    assert!(out.ends_with("# lamport --nodes 3\n# acquire 0\n= 2 messages\n"));
}

#[test]
fn the_checker_refuses_what_the_stage_has_decided() {
    for option in ["--stay 0", "--entries 5", "--nodes 2", "--order any", "--initiators 0"] {
        let (code, out, _) = run_on(&format!("check {option}\n"), LAMPORT);
        assert_eq!(code, 2, "{option}: {out}");
        let word = option.split(' ').next().expect("a word");
        assert!(out.contains(word) && !out.contains("verified"), "{out}");
    }
    let (code, out, _) = run_on("check --requests 4294967295\n", LAMPORT);
    assert_eq!(code, 2, "{out}");
}

#[test]
fn the_checker_looks_for_all_that_is_promised() {
    let (_, out, _) = run_on("check --requests 0\n", LAMPORT);
    assert!(out.contains("verified exclusion, progress, ordering, bounded bypass"), "{out}");
}

#[test]
fn more_can_be_undone_than_was_done() {
    let (code, out, _) = run_on("acquire 0\nundo 9999999999999\n", LAMPORT);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("back to 0 steps"), "{out}");
}

#[test]
fn the_order_of_links_is_part_of_a_script() {
    let folder = Folder::new("order");
    let path = folder.path("any.run");
    let script = format!("{OVERTAKING}save {path}\n");
    let (_, out, _) = run_on(&script, &["step", "lamport", "--nodes", "2", "--order", "any"]);
    assert!(out.starts_with("lamport --nodes 2 --order any\n"), "{out}");
    let (_, again, err) = run(&["step", "--script", &path]);
    assert_eq!(again, fs::read_to_string(&path).expect("a script"), "{err}");
    let (code, _, err) = run(&["step", "--script", &path, "--k", "3"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn golden_runs_are_listed_and_played_by_their_names() {
    let (code, out, err) = run(&["step", "--list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalogue/tests/golden");
    let mut played = 0;
    for entry in fs::read_dir(folder).expect("golden runs") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|it| it.to_str()).expect("a name").replace('_', "-");
        let text = fs::read_to_string(&path).expect("a text");
        let algorithm = text.split(' ').next().expect("a name");
        let is_its = |line: &&str| line.starts_with(&format!("{name} "));
        let line = out.lines().find(is_its).unwrap_or_else(|| panic!("no {name}: {out}"));
        assert!(
            line.contains(algorithm) && line.len() > name.len() + algorithm.len() + 14,
            "{line}"
        );
        if played < 5 {
            assert_eq!(run(&["step", "--script", &name]).1, text);
            played += 1;
        }
    }
    assert_eq!(out.lines().count(), 1 + vorrang_catalogue::golden::RUNS.len());
    assert!(run(&["step", "--script", "maekawa_thirteen"]).1.starts_with("maekawa --nodes 13"));
    // A file of that name is meant, if there is one.
    let (_, out, _) = run_on("load reliable\nhistory\n", LAMPORT);
    assert!(out.contains("# central --nodes 3 --reliable\n"), "{out}");
    let (code, _, err) = run(&["step", "--script", "maekawa-thirten"]);
    assert!(code == 2 && err.contains("did you mean 'maekawa-thirteen'?"), "{err}");
    assert!(err.contains("vorrang step --list"), "{err}");
    let (code, _, err) = run(&["step", "maekawa-thirteen"]);
    assert!(code == 2 && err.contains("vorrang step --script maekawa-thirteen plays it"), "{err}");
    assert_eq!(run(&["step", "--script", "no-such.run"]).0, 4, "that is a file");
    assert_eq!(run(&["step", "--list", "lamport"]).0, 2);
}

#[test]
fn the_run_so_far_is_drawn_into_a_file() {
    let folder = Folder::new("step-draw");
    let (svg, text) = (folder.path("run.svg"), folder.path("run.txt"));
    let nowhere = folder.path("no/such/run.svg");
    let script = format!(
        "acquire 0\nacquire 1\nlose 0->2\ndraw {svg}\nundo\ncrash 2\ndeliver 0->2\n\
         draw {text} --states\ndraw {nowhere}\ndraw run.nonsense\ndraw\n\
         draw {svg} --format nonsense\nacquire 2\n"
    );
    let (code, out, err) = run_on(&script, LAMPORT);
    assert_eq!(code, 2, "three lines cannot be done: {err}");
    assert!(out.contains(&format!("# drawn in {svg}\n")), "{out}");
    for why in ["No such file", "nothing is known by that ending", "say draw FILE", "nonsense"] {
        assert!(out.contains(why), "no '{why}' in {out}");
    }
    assert!(out.contains("# 'acquire 2': node 2 is down"), "the session goes on: {out}");
    let svg = fs::read_to_string(&svg).expect("a picture");
    assert!(svg.starts_with("<svg") || svg.starts_with("<?xml"), "{svg}");
    assert!(svg.contains("lamport") && svg.contains("vorrang step lamport --nodes 3"), "{svg}");
    let text = fs::read_to_string(&text).expect("a picture");
    assert!(text.contains("acquire") && text.contains("crashes"), "{text}");
    assert!(text.contains("node 2 down") || text.contains("✗ →2"), "a lost message: {text}");
    assert!(text.contains("phase") || text.contains("queue"), "states: {text}");
}

#[test]
fn a_violation_by_hand_is_in_the_picture_and_in_the_diagram() {
    let folder = Folder::new("step-draw-violation");
    let path = folder.path("run.txt");
    let args = ["step", "ricart-agrawala", "--nodes", "2", "--flaw", "no-tie-break"];
    let script = format!("diagram\nacquire 0\nacquire 1\nsettle\ndraw {path}\ndiagram\n");
    let (_, out, _) = run_on(&script, &args);
    assert!(out.contains("# 'diagram': there is nothing to see yet"), "{out}");
    assert!(fs::read_to_string(&path).expect("a picture").contains("exclusion"), "{out}");
    let drawn = out.lines().filter(|line| line.starts_with("# ") && line.contains('▶'));
    assert!(drawn.count() >= 2, "two messages to the right: {out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}
