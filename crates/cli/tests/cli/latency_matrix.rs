//! `--latency-matrix`: how long a message takes on each link.

use crate::support;

use std::collections::HashMap;
use std::fs;

use serde_json::Value;
use support::{Folder, json_of, run};

/// Far from node 3, and longer from 1 to 0 than from 0 to 1.
const FAR: &str = "# rows send, columns receive
- 1ms 2ms 8ms   # from 0
3ms - 1ms 8ms

2ms 1ms - 8ms
8ms 8ms 8ms 0
";

/// The same, as it is written in commands.
const IN_ROWS: &str = "rows:0-1ms-2ms-8ms/3ms-0-1ms-8ms/2ms-1ms-0-8ms/8ms-8ms-8ms-0";

/// Milliseconds from a sender to a receiver.
const MS: [[u64; 4]; 4] = [[0, 1, 2, 8], [3, 0, 1, 8], [2, 1, 0, 8], [8, 8, 8, 0]];

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// Every message of a recorded run: from where to where, and how many nanoseconds it took.
fn journeys(trace: &str) -> Vec<(usize, usize, u64)> {
    let mut sent: HashMap<u64, (usize, u64)> = HashMap::new();
    let mut all = Vec::new();
    for line in fs::read_to_string(trace).expect("the trace is there").lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let number = |place: usize| record[place].as_u64().expect("a number");
        match record[2].as_str() {
            Some("send") => drop(sent.insert(number(4), (number(1) as usize, number(0)))),
            Some("receive") => {
                let (from, since) = sent[&number(4)];
                assert_eq!(number(3) as usize, from);
                all.push((from, number(1) as usize, number(0) - since));
            }
            _ => {}
        }
    }
    all
}

#[test]
fn every_message_takes_as_long_as_the_matrix_says() {
    let folder = Folder::new("latency-matrix");
    let (file, trace) = (folder.path("far.txt"), folder.path("run.jsonl"));
    fs::write(&file, FAR).expect("it can be written");
    for more in ["", " --order fifo", " --loss 20% --reliable"] {
        let command = format!("run lamport --nodes 4 --entries 40{more} --trace {trace}");
        let (code, _, err) = run(&words(&format!("{command} --latency-matrix {file}")));
        assert_eq!(code, 0, "{command}: {err}");
        let journeys = journeys(&trace);
        for &(from, to, ns) in &journeys {
            assert_eq!(ns, MS[from][to] * 1_000_000, "{from} to {to}{more}");
        }
        for link in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
            let is_used = journeys.iter().any(|&(from, to, _)| (from, to) == link);
            assert_eq!(is_used, link.0 != link.1, "{link:?}{more}");
        }
    }
}

#[test]
fn on_a_routed_network_every_link_of_the_way_counts() {
    let folder = Folder::new("latency-matrix-routed");
    let trace = folder.path("run.jsonl");
    let command = format!(
        "run srm --nodes 3 --topology line --multicasts 3 --trace {trace} --latency-matrix \
         rows:0-1ms-50ms/2ms-0-4ms/50ms-8ms-0"
    );
    let (code, _, err) = run(&words(&command));
    assert_eq!(code, 0, "{err}");
    let takes = [[0, 1, 5], [2, 0, 4], [10, 8, 0]];
    let journeys = journeys(&trace);
    assert!(journeys.iter().any(|&(from, to, _)| (from, to) == (2, 0)), "all the way");
    for (from, to, ns) in journeys {
        assert_eq!(ns, takes[from][to] * 1_000_000, "{from} to {to}");
    }
}

#[test]
fn the_run_is_recorded_with_its_matrix_and_repeated_by_its_command() {
    let folder = Folder::new("latency-matrix-recorded");
    let (file, trace) = (folder.path("far.txt"), folder.path("run.jsonl"));
    fs::write(&file, FAR).expect("it can be written");
    let command = format!("run maekawa --nodes 4 --entries 30 --latency-matrix {file}");
    let (first, again) = (
        json_of(&words(&format!("{command} --trace {trace}"))),
        json_of(&words(&command.replace(&file, IN_ROWS))),
    );
    assert_eq!(first["latency_matrix"], IN_ROWS);
    assert_eq!((&first["latency"], &first["latency_mean"]), (&Value::Null, &"4833333ns".into()));
    for figure in ["messages", "sync_delay_mean", "response_mean", "hold"] {
        assert_eq!(first[figure], again[figure], "{figure}");
    }
    let text = fs::read_to_string(&trace).expect("the trace is there");
    let header: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    let command = header["parameters"]["command"].as_str().expect("a command");
    assert!(command.contains(&format!("--latency-matrix {IN_ROWS}")), "{command}");
    let second = folder.path("again.jsonl");
    let repeated = format!("{} --trace {second}", command.trim_start_matches("vorrang "));
    assert_eq!(run(&words(&repeated)).0, 0, "{repeated}");
    assert_eq!(fs::read_to_string(&second).expect("a trace"), text);
}

#[test]
fn figures_say_what_t_is_and_theories_of_equal_links_keep_silent() {
    let (_, out, _) = run(&words(&format!("run central --nodes 4 --latency-matrix {IN_ROWS}")));
    assert!(out.contains("T is 4833333ns, the mean of the latency matrix"), "{out}");
    let far = json_of(&words(&format!("run central --nodes 4 --latency-matrix {IN_ROWS}")));
    assert_eq!(far["sync_delay_mean_theory"], Value::Null, "links are not alike");
    // Where all are alike, the matrix is nothing else than --latency.
    let alike = "rows:0-2ms-2ms/2ms-0-2ms/2ms-2ms-0";
    let [matrix, same] = [format!("--latency-matrix {alike}"), "--latency 2ms".to_owned()]
        .map(|latency| json_of(&words(&format!("run lamport --nodes 3 {latency}"))));
    for figure in ["messages", "sync_delay_mean", "response_mean", "sync_delay_mean_theory"] {
        assert_eq!(matrix[figure], same[figure], "{figure}");
    }
    let compared = format!("compare --problem detection --nodes 4 --latency-matrix {IN_ROWS}");
    let (_, out, _) = run(&words(&compared));
    assert_eq!(out.matches("(T = 4833333ns, its mean)").count(), 1, "one page: {out}");
    assert!(!out.contains("--latency exp"), "{out}");
}

#[test]
fn what_is_not_a_matrix_of_these_nodes_is_refused() {
    let folder = Folder::new("latency-matrix-wrong");
    let file = folder.path("wrong.txt");
    let refused = |matrix: &str, words: &[&str]| {
        fs::write(&file, matrix).expect("it can be written");
        let (code, out, err) = run(&["run", "central", "--nodes", "2", "--latency-matrix", &file]);
        // A matrix as it should be, for another group, is wrong use.
        let wanted = if matrix == "0\n" { 2 } else { 4 };
        assert_eq!((code, out.as_str()), (wanted, ""), "{err}");
        for word in words {
            assert!(err.contains(word), "no '{word}' in: {err}");
        }
    };
    refused("0 1ms\n# back\n-1ms 0\n", &[&file, "line 3, column 1: '-1ms'", "at least 0"]);
    refused("0 soon\n1ms 0\n", &["line 1, column 2: 'soon'", "a number with a unit"]);
    refused("0 1ms\n1ms 0 2ms\n", &["line 2, column 3: '2ms' is one too many"]);
    refused("0 1ms\n1ms\n", &["line 2 has 1 columns", "2 nodes"]);
    refused("# nothing\n", &["there is no latency in it", "a line a sender"]);
    refused("0\n", &["it is for 1 nodes, not 2: say --nodes 1"]);
    let gone = folder.path("gone.txt");
    let asked = ["run", "central", "--latency-matrix", &gone];
    assert!(run(&asked).2.contains("there is no such file"), "{gone}");
    let both = run(&words("run central --latency 1ms --latency-matrix rows:0"));
    assert!(both.0 == 2 && both.2.contains("give one of the two"), "{}", both.2);
    let net = run(&words("run central --nodes 1 --net --latency-matrix rows:0"));
    assert!(net.0 == 2 && net.2.contains("--latency-matrix is for the simulator"), "{}", net.2);
}
