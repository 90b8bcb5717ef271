//! `vorrang quorum`: what is built, what is said of it, and what is said of a wrong one.

use crate::support;

use std::fs;

use serde_json::{Value, json};
use support::{Folder, json as asked, json_of, run};

fn quorum(system: &str, nodes: u32, more: &[&str]) -> Value {
    json_of(&[&["quorum", system, "--nodes", &nodes.to_string()], more].concat())
}

/// The whole table of the specification, by the command that people use: the least load of most
/// rows is computed by the solver.
#[test]
fn the_reference_table_is_what_is_printed() {
    const SLIDES_13: &str = "sets:0-1-2-3,1-4-7-10,2-5-7-12,3-5-9-10,0-4-5-6,1-5-8-11,1-6-9-12,\
        0-7-8-9,2-6-8-10,2-4-9-11,0-10-11-12,3-6-7-11,3-4-8-12";
    type Row = (&'static str, u32, [u32; 2], bool, f64, u32, f64);
    let rows: [Row; 17] = [
        ("singleton", 3, [1, 1], true, 1.0, 0, 0.1),
        ("all", 4, [4, 4], false, 1.0, 0, 0.3439),
        ("majority", 5, [3, 3], true, 3.0 / 5.0, 2, 0.00856),
        ("majority", 4, [3, 3], false, 3.0 / 4.0, 1, 0.0523),
        ("plane", 7, [3, 3], true, 3.0 / 7.0, 2, 0.006_810_4),
        ("plane", 13, [4, 4], false, 4.0 / 13.0, 3, 0.001_416_77),
        (SLIDES_13, 13, [4, 4], false, 4.0 / 13.0, 3, 0.001_416_77),
        ("grid", 9, [5, 5], false, 5.0 / 9.0, 2, 0.033_308_8),
        ("grid", 16, [7, 7], false, 7.0 / 16.0, 3, 0.024_889_1),
        ("triangle:columns", 15, [5, 5], false, 2.0 / 5.0, 2, 0.035_408_0),
        ("triangle", 15, [5, 5], false, 1.0 / 3.0, 2, 0.021_839_8),
        ("wall:1,2,3", 6, [3, 3], true, 1.0 / 2.0, 2, 0.00856),
        ("wall:1,3", 4, [2, 3], true, 3.0 / 5.0, 1, 0.028),
        ("wall:1,2,2,2", 7, [2, 4], true, 8.0 / 15.0, 1, 0.012_707_2),
        ("wall:2,3", 5, [3, 3], false, 3.0 / 5.0, 1, 0.0523),
        ("tree", 3, [2, 2], true, 2.0 / 3.0, 1, 0.028),
        ("tree", 7, [3, 4], true, 1.0 / 2.0, 2, 0.006_227_2),
    ];
    for (system, nodes, [least, most], nondominated, load, resilience, fails) in rows {
        let found = quorum(system, nodes, &["--fail", "10%"]);
        assert_eq!((&found["size_min"], &found["size_max"]), (&json!(least), &json!(most)));
        assert_eq!(found["nondominated"], json!(nondominated), "{found}");
        assert_eq!(found["resilience"], json!(resilience), "{found}");
        let close = |name: &str, to: f64, by: f64| {
            let it = found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
            assert!((it - to).abs() < by, "{system} {nodes}: {name} {it} for {to}");
        };
        close("load", load, 1e-9);
        close("failure_probability", fails, 6e-8);
        assert_eq!(found["failure_exact"], json!(true));
    }
}

/// Node 3 alone is a quorum, and a part of the other one: what is said of coteries is not said of
/// this.
#[test]
fn what_is_no_coterie_is_neither_non_dominated_nor_ideal() {
    for (system, is_coterie) in [("wall:3,1", false), ("wall:1,3", true)] {
        let found = quorum(system, 4, &[]);
        for property in ["coterie", "nondominated", "ideal"] {
            assert_eq!(found[property], json!(is_coterie), "{property} of {system}: {found}");
        }
    }
}

#[test]
fn a_plane_is_assigned_drawn_and_analysed() {
    let plane = quorum("plane", 13, &[]);
    assert_eq!((&plane["construction"], &plane["nodes"]), (&json!("plane"), &json!(13)));
    for property in ["coterie", "symmetric", "ideal"] {
        assert_eq!(plane[property], json!(true), "{property}");
    }
    let sets: Vec<Vec<u32>> = serde_json::from_value(plane["assignment"].clone()).unwrap();
    assert_eq!(sets.len(), 13);
    for (one, set) in (0..).zip(&sets) {
        assert!(set.len() == 4 && set.contains(&one), "{one}: {set:?}");
        for other in sets.iter().filter(|other| *other != set) {
            assert_eq!(set.iter().filter(|id| other.contains(id)).count(), 1);
        }
    }
    let (code, text, _) = run(&["quorum", "plane", "--nodes", "13", "--show", "--analyse"]);
    assert_eq!(code, 0);
    assert!(text.contains("[ 0]"), "{text}");
    assert!(text.contains("ideal              yes\n"), "{text}");
    assert!(text.contains("least load         0.3077 (4/13)\n"), "{text}");
}

#[test]
fn pictures_have_one_quorum_in_brackets() {
    let show = |args: &[&str]| run(&[&["quorum"], args, &["--show"]].concat()).1;
    assert!(
        show(&["grid", "--nodes", "7", "--of", "4"])
            .contains("   0  [1]  2\n  [3] [4] [5]\n   6\n"),
        "{}",
        show(&["grid", "--nodes", "7", "--of", "4"])
    );
    assert!(
        show(&["wall:1,2,3", "--of", "1"]).contains("       0\n    [1] [2]\n   3  [4]  5\n"),
        "{}",
        show(&["wall:1,2,3", "--of", "1"])
    );
    let triangle = show(&["triangle", "--nodes", "6", "--of", "4"]);
    assert!(triangle.contains("  [0]\n   1  [2]\n   3  [4]  5\n"), "{triangle}");
    assert!(triangle.contains("in turn with it: 3 4 5\n"), "{triangle}");
    let tree = show(&["tree", "--nodes", "7", "--dead", "0"]);
    assert!(tree.contains("A quorum without the dead: 1 2 3 5\n"), "{tree}");
    assert!(tree.contains("x0x\n") && tree.contains("[3]  4  [5]  6"), "{tree}");
    assert!(show(&["tree", "--nodes", "3", "--dead", "0,1"]).contains("has a dead node"));
    let plane = show(&["plane", "--nodes", "21", "--of", "3"]);
    assert_eq!(plane.matches('#').count(), 5, "{plane}");
    assert!(plane.contains("\n [ 3] ") && plane.matches('o').count() >= 100, "{plane}");
    assert!(show(&["tree", "--nodes", "40"]).contains("\n     [ 1]\n        [ 3]\n"));
}

#[test]
fn systems_are_set_side_by_side() {
    let (code, text, err) = run(&["quorum", "compare", "--nodes", "49"]);
    assert_eq!(code, 0, "{err}");
    for name in ["singleton", "all", "majority", "grid", "triangle", "wall", "tree"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("the nearest are 31 and 57"), "{text}");
    assert!(text.contains("confidence interval"), "{text}");
    let compared = json_of(&["quorum", "compare", "--nodes", "4"]);
    assert_eq!(compared["systems"][3]["construction"], json!("weighted:2,1,1,1"));
    assert_eq!(compared["systems"][3]["nondominated"], json!(true), "it has no tie");
    assert_eq!(compared["unfit"][0]["construction"], json!("plane"));
}

#[test]
fn ten_thousand_nodes_are_assigned() {
    let grid = quorum("grid", 10_000, &[]);
    assert_eq!((&grid["size_min"], &grid["load"]), (&json!(199), &json!(0.0199)));
    assert_eq!(grid["assignment"].as_array().unwrap().len(), 10_000);
    assert_eq!(grid["failure_exact"], json!(false));
    let interval = &grid["failure_interval"];
    // No row or no column is alive: 1 − (1 − (1 − 0.95^100)^100)² = 0.80, but for the little that
    // rows and columns know of each other.
    assert!(interval[0].as_f64().unwrap() > 0.77, "{interval}");
    assert!(interval[1].as_f64().unwrap() < 0.83, "{interval}");
}

#[test]
fn a_file_of_sets_is_a_system_and_a_wrong_line_is_named() {
    let folder = Folder::new("quorum");
    let path = folder.path("sets.txt");
    fs::write(&path, "0 1 # of node 0\n1 2\n0 2\n").unwrap();
    let found = json_of(&["quorum", &path]);
    assert_eq!(found["construction"], json!("sets:0-1,1-2,0-2"));
    assert_eq!(found["nondominated"], json!(true));
    let wrong = |text: &str, why: &str| {
        fs::write(&path, text).unwrap();
        let (code, _, err) = run(&["quorum", &path]);
        assert_eq!(code, 4, "{err}");
        assert!(err.contains(why), "{err}");
    };
    wrong("0 1\n1 two\n", "line 2: 'two' is not a node's number");
    wrong("0 1\n1\n2\n", "node 0 (line 1) and node 2 (line 3) do not meet: 0-1 and 2");
    wrong("0 9\n0\n", "node 0 (line 1): there is no node 9");
    wrong("# nothing\n", "there is no set in it");
}

#[test]
fn what_is_no_system_is_answered_with_those_there_are() {
    for (args, why) in [
        (&["plain"][..], "'plain' is not a quorum system: say plane, plane:printed"),
        (&["plane", "--nodes", "14"], "the nearest are 13 and 21"),
        (&["wall:1,2", "--nodes", "4"], "say --nodes 3"),
        (&["weighted:1,x"], "'x' is not a weight"),
        (&["sets:0,1"], "node 0 and node 1 do not meet: 0 and 1"),
        (&["grid", "--fail", "120%"], "'120%' is not a share: write 1%"),
        (&["grid", "--nodes", "4", "--show", "--of", "4"], "there is no node 4: the last is 3"),
        (&["grid", "--nodes", "4", "--dead", "9"], "there is no node 9: the last is 3"),
        (&["grid", "--dead", "one"], "give a whole number from 0"),
        (&["grid", "--nodes", "0"], "from 1 to 1000000"),
        (&["all", "--nodes", "1000000", "--json"], "more than 20,000,000"),
    ] {
        let (code, _, err) = run(&[&["quorum"], args].concat());
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(why), "{args:?}: {err}");
    }
}

/// The lines of the plane with 7 nodes, one after the other.
const FANO: &str = "sets:0-1-3,1-2-4,2-3-5,3-4-6,0-4-5,1-5-6,0-2-6";

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

#[test]
fn an_algorithm_takes_the_plane_if_there_is_one_and_else_the_grid() {
    let setups = |options: &str| -> Vec<String> {
        let compare = "compare --algorithms maekawa --load light --entries 50 --seeds 2";
        let rows = json_of(&words(&format!("{compare} {options}")));
        let setup = |row: &Value| row["setup"].as_str().map(str::to_owned);
        rows.as_array().unwrap().iter().filter_map(setup).collect()
    };
    let usual = ["--nodes 12 --quorum grid", "--nodes 13 --quorum plane"];
    assert_eq!(setups("--nodes 12,13"), usual);
    let asked = ["grid", "wall:1,2,3", "all", "majority"];
    let expected = asked.map(|it| format!("--nodes 6 --quorum {it}"));
    assert_eq!(setups(&format!("--nodes 6 --quorum {}", asked.join(","))), expected);
}

#[test]
fn an_algorithm_takes_a_file_of_sets_and_says_what_is_in_it() {
    let folder = Folder::new("quorum-of-a-file");
    let path = folder.path("apart.txt");
    fs::write(&path, "3 4\n".repeat(5)).unwrap();
    let sets = "--nodes 5 --quorum sets:3-4,3-4,3-4,3-4,3-4";
    let args = words("run maekawa --nodes 5 --hot 3 --entries 60 --quorum");
    let found = json_of(&[&args[..], &[&path]].concat());
    assert_eq!(found["setup"], json!(sets));
    assert_eq!(found["messages_per_entry_agreement"], json!("within"), "{found:#}");
    let args = words("check maekawa --entries 1,1,1,0,0 --quorum");
    let found = json_of(&[&args[..], &[&path]].concat());
    assert_eq!(found["outcome"], json!("verified"));
    assert!(found["command"].as_str().unwrap().contains(sets), "{found:#}");
    let trace = folder.path("trace.jsonl");
    let args = words("run maekawa --nodes 5 --entries 9 --trace");
    json_of(&[&args[..], &[&trace, "--quorum", &path]].concat());
    let header = fs::read_to_string(&trace).unwrap();
    assert!(header.lines().next().is_some_and(|it| it.contains(sets)), "{header}");
    fs::write(&path, "0 1\n1 x\n").unwrap();
    let (code, _, err) = run(&["run", "maekawa", "--nodes", "2", "--quorum", &path]);
    assert_eq!(code, 4);
    assert!(err.contains("--quorum: ") && err.contains("line 2: 'x' is not"), "{err}");
}

#[test]
fn an_algorithm_refuses_quorums_that_do_not_fit() {
    for (args, why) in [
        ("run maekawa --nodes 14 --quorum plane", "the nearest are 13 and 21"),
        ("check maekawa --quorum sets:0-1,1", "it is for 2 nodes, not 3: say --nodes 2"),
        ("check maekawa --nodes 2 --quorum sets:0,1", "node 0 and node 1 do not meet: 0 and 1"),
        ("explain maekawa --nodes 4 --quorum wall:1,2", "it is for 3 nodes, not 4"),
        ("run maekawa --quorum sets:0,,1", "--quorum: the set of node 1 is empty"),
        ("run maekawa --quorum plain", "--quorum: 'plain' is not a quorum system: say plane"),
        ("run maekawa --quorum plain", "there is no such file"),
        ("run lamport --quorum grid", "lamport does not take --quorum; maekawa-basic, maekawa"),
        ("run maekawa-basic --nodes 13", "use --load light, or --break-assumptions"),
    ] {
        let (code, _, err) = run(&words(args));
        assert_eq!(code, 2, "{args}: {err}");
        assert!(err.contains(why), "{args}: {err}");
    }
    // However many sets there are, the sentence stays short.
    let many = format!("sets:{}", vec!["0-1-2-3-4-5-6-7-8-9"; 2000].join(","));
    let (code, _, err) = run(&["run", "maekawa", "--quorum", &many]);
    assert_eq!(code, 2);
    assert!(err.contains("--quorum of 2000 sets") && err.len() < 200, "{err}");
}

#[test]
fn what_gets_stuck_is_reported_as_such() {
    let (code, found) = asked(&words("run maekawa-basic --nodes 13 --break-assumptions"));
    assert_eq!((code, &found["safe"], &found["quiescent"]), (1, &json!(true), &json!(false)));
    assert!(found["violation"].as_str().is_some_and(|it| it.starts_with("progress: ")));
    // A run in which all messages take the same time may end well all the same, and says so.
    let three = "run maekawa-basic --nodes 13 --quorum plane:printed --requesters 6,7,10 \
                 --break-assumptions --entries 30";
    let (code, found) = asked(&words(three));
    let warning = found["warning"].as_str().unwrap_or_else(|| panic!("no warning: {found:#}"));
    assert!(
        code == 0 && warning.contains("--latency exp:1ms makes a deadlock likely"),
        "{found:#}"
    );
    let (code, found) = asked(&words(&format!("{three} --latency exp:1ms")));
    assert_eq!((code, &found["warning"]), (1, &Value::Null), "{found:#}");
    let (code, out, _) = run(&words("compare --nodes 5 --entries 100"));
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("Left out: maekawa-basic assumes that requests come one at a time"),
        "{out}"
    );
}

/// What is broken there is no order of messages but the load, and that is as real over TCP. How
/// likely a deadlock is depends on the machine: of runs in one process, one in ten gets through.
#[test]
fn a_deadlock_over_a_real_network_is_found_and_ends_the_run() {
    let line = "run maekawa-basic --net --nodes 13 --entries 20000 --break-assumptions";
    for more in ["--load heavy", "--load burst --processes"] {
        let mut runs = (1..=8).map(|seed| asked(&words(&format!("{line} {more} --seed {seed}"))));
        let stuck = runs.find(|(_, found)| found["quiescent"] == json!(false));
        let (code, found) = stuck.unwrap_or_else(|| panic!("eight runs {more} without a deadlock"));
        assert_eq!((code, &found["safe"]), (1, &json!(true)), "{found:#}");
        assert!(found["violation"].as_str().is_some_and(|it| it.starts_with("progress: ")));
        assert!(found["entries"].as_u64() < Some(20_000), "{found:#}");
    }
    let (code, out, _) = run(&words(&format!("{} --requesters 3", line.replace("20000", "1"))));
    assert!(code == 0 && out.contains("--seed 1 --break-assumptions"), "as it was asked: {out}");
}

/// As long as those that an independent model of the algorithm has found.
#[test]
fn the_shortest_runs_to_mistakes_are_as_long_as_elsewhere() {
    let grid = "--nodes 4 --quorum grid";
    for (args, steps) in [
        (format!("overtaken-not-told --quorum {FANO} --entries 1,1,1,1,0,0,0 --order fifo"), 17),
        (format!("overtaken-not-told {grid} --entries 0,1,1,1 --order fifo"), 14),
        (format!("given-back-forgotten {grid} --entries 0,1,1,1 --order fifo"), 20),
        (format!("one-flag-for-all --quorum {FANO} --entries 1,1,1,0,0,0,0 --order any"), 13),
    ] {
        let (code, found) = asked(&words(&format!("check maekawa --flaw {args}")));
        assert_eq!((code, found["trace"].as_array().map(Vec::len)), (1, Some(steps)), "{args}");
    }
    // Links that keep their order hide this one.
    let hidden = "check maekawa --flaw answered-before-locked --order fifo";
    assert_eq!(json_of(&words(hidden))["outcome"], json!("verified"));
}

#[test]
fn deep_walks_in_planes_find_nothing_but_mistakes() {
    for nodes in [7, 13] {
        for order in ["any", "fifo"] {
            let walks = format!("--nodes {nodes} --entries 2 --order {order} --walks 60");
            let (code, found) = asked(&words(&format!("check maekawa {walks}")));
            assert_eq!((code, &found["bound"]), (3, &json!("walks")), "{found:#}");
            let flaw = format!("check maekawa --flaw one-flag-for-all --quorum plane {walks}");
            let (code, found) = asked(&words(&flaw));
            assert_eq!((code, &found["property"]), (1, &json!("progress")), "{found:#}");
        }
    }
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    for (line, why) in [
        ("quorum compare --show", "--show draws one system"),
        ("quorum compare --of 1", "--of is about one system"),
        ("quorum compare --dead 1", "--dead is about one system"),
        ("quorum grid --of 1", "say --show"),
        ("quorum grid --fail 1%", "--fail is for what is analysed"),
        ("quorum grid --seed 3", "--seed is for what is analysed"),
    ] {
        let (code, _, err) = run(&line.split_whitespace().collect::<Vec<_>>());
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
}

#[test]
fn what_is_printed_first_can_be_typed_again() {
    let (_, out, _) = run(&["quorum", "sets:0-1,1-2,0-2"]);
    assert!(out.starts_with("vorrang quorum sets:0-1,1-2,0-2 --nodes 3\n"), "{out}");
}

#[test]
fn a_chance_that_no_number_holds_is_not_nothing() {
    let (code, out, _) = run(&["quorum", "all", "--nodes", "400", "--analyse", "--fail", "0%"]);
    assert!(code == 0 && out.contains("fails              0, if"), "{out}");
    let majority = ["quorum", "majority", "--nodes", "2001", "--analyse", "--fail", "0.1%"];
    let (_, out, _) = run(&majority);
    assert!(out.contains("less than 1e-300"), "{out}");
}

#[test]
fn a_folder_is_no_system() {
    let (code, _, err) = run(&["quorum", "/"]);
    assert!(code != 0 && err.contains("directory"), "{err}");
}

#[test]
fn a_structure_that_no_memory_holds_is_refused_at_once() {
    let line = "run sanders --nodes 30000 --structure lamport";
    let (code, _, err) = run(&line.split_whitespace().collect::<Vec<_>>());
    assert!(code == 2 && err.contains("10000 nodes at most, not 30000"), "{err}");
}

/// An assignment is judged whatever it is, also by the first condition, without which it is no
/// quorum system and every other command refuses it.
#[test]
fn any_assignment_is_judged_by_maekawas_conditions() {
    let folder = Folder::new("conditions");
    let file = folder.path("sets.txt");
    let judged = |lines: &str| {
        fs::write(&file, lines).expect("it can be written");
        let (code, out, err) = run(&["quorum", &file, "--conditions"]);
        assert_eq!(err, "");
        (code, out)
    };
    // The plane of the lectures, counted from 1.
    let plane = "from 1\n1 2 3 4\n2 5 8 11\n3 6 8 13\n4 6 10 11\n1 5 6 7\n2 6 9 12\n2 7 10 13\n\
        1 8 9 10\n3 7 9 11\n3 5 10 12\n1 11 12 13\n4 7 8 12\n4 5 9 13\n";
    let (code, out) = judged(plane);
    assert_eq!((code, out.matches(" yes\n").count()), (0, 4), "{out}");
    let broken = [
        // 10 in place of 11: those of nodes 1 and 8 no longer meet.
        (plane.replace("2 5 8 11", "2 5 8 10"), ["1  any two sets meet", "no: those of nodes"]),
        (plane.replace("2 5 8 11", "5 8 11"), ["2  every node is in its own set", "no: not 1\n"]),
        (
            plane.replace("2 5 8 11", "2 5 8 11 12"),
            ["3  all sets are of one size", "no: that of node 0 has 4, that of node 1 has 5"],
        ),
        (
            plane.replace("2 5 8 11", "2 5 8 11 12"),
            ["4  every node is in as many sets", "no: node 0 is in 4, node 11 is in 5"],
        ),
    ];
    for (lines, [condition, why]) in broken {
        let (code, out) = judged(&lines);
        let line = out.lines().find(|it| it.contains(condition)).expect("a line each");
        assert!(code == 1 && format!("{line}\n").contains(why), "no '{why}' in {line}");
    }
    let (code, found) = asked(&["quorum", "sets:0-1,1-2,2-3,3-0", "--conditions"]);
    assert_eq!((code, &found["apart"], &found["equal_size"]), (1, &json!([0, 2]), &true.into()));
    let (code, _) = asked(&["quorum", "grid", "--nodes", "9", "--conditions"]);
    assert_eq!(code, 0, "a square grid meets all");
    for (line, why) in [
        ("quorum sets:0-9,0 --conditions", "there is no node 9"),
        ("quorum compare --conditions", "--conditions judges one system"),
        ("quorum sets:0,0 --nodes 3 --conditions", "it is for 2 nodes, not 3"),
    ] {
        let (code, _, err) = run(&line.split(' ').collect::<Vec<_>>());
        assert!(code == 2 && err.contains(why), "{line}: {err}");
    }
}
