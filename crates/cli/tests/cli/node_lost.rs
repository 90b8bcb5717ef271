//! `vorrang node --on-views` without stable storage, where a month in production hurts: a process
//! that another one replaces, a majority that has forgotten all, founders that come back to a group
//! which has gone on without them, newcomers that are given the same number.
#![cfg(unix)]

use crate::node_on_views::{FencingToken, entered, leave, member, options};
use crate::support;

use std::time::{Duration, Instant};

use serde_json::Value;
use support::node::{Node, addresses, signal};
use support::{PATIENCE, vorrang};

/// How long it takes until a silent member is suspected, with the pace of these tests.
const DETECTION: Duration = Duration::from_millis(2200);

/// So many processes that have founded a group.
fn founded(count: usize) -> (Vec<Node>, Vec<String>) {
    for _ in 0..5 {
        let peers = addresses(count);
        let nodes: Option<Vec<Node>> = (0..count).map(|id| member(id, &peers)).collect();
        if let Some(nodes) = nodes {
            let all: Vec<String> = (0..count).map(|id| id.to_string()).collect();
            let view = format!("{{{}}}", all.join(", "));
            for node in &nodes {
                node.until_told(&view);
            }
            return (nodes, peers);
        }
    }
    panic!("no free ports");
}

/// Ends it as a crash does.
fn kill(node: &mut Node) {
    node.child.kill().expect("it can be killed");
    node.child.wait().expect("it is dead");
}

/// What programs are told.
fn status(node: &mut Node) -> Value {
    node.say("status --json");
    serde_json::from_str(&node.hear()).expect("a line of JSON")
}

/// The number of the view in a line.
fn view_in(line: &str) -> u64 {
    let number = line.split("view ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("no view: {line}"))
}

fn newcomer(by: &str, own: &str) -> Node {
    let join = ["node", "--join", by, "--listen", own];
    Node::of(vorrang(&[&join[..], &options()].concat()))
}

/// Two processes run under one id: an operator has started it elsewhere and forgotten the first.
#[test]
fn a_holder_that_another_process_replaces_says_that_it_lost_the_lock() {
    let (mut nodes, peers) = founded(3);
    nodes[2].say("acquire");
    let first = entered(&nodes[2]);
    let own = &addresses(1)[0];
    let mut second = Node::start(2, &peers, &[&options()[..], &["--listen", own]].concat());
    second.hear();
    assert_eq!(nodes[2].hear(), "lost the lock");
    nodes[2].until_told("lost the lock: another process was started under the id of this node");
    let evicted = status(&mut nodes[2]);
    assert_eq!(evicted["last_eviction"]["reason"], "replaced", "{evicted}");
    assert_eq!((&evicted["holding"], &evicted["is_member"]), (&false.into(), &false.into()));
    for _ in 0..2 {
        nodes[2].say("release");
        let said = nodes[2].hear();
        let begins = said.starts_with("nothing to release: the lock was lost ");
        assert!(begins && said.contains("another process was started under the id"), "{said}");
    }
    nodes[2].say("acquire");
    assert!(nodes[2].hear().starts_with("this node must not act: "), "it is not a member");
    second.until_told("{0, 1, 2}");
    second.say("acquire");
    let later = entered(&second);
    assert!(later > first, "{later:?} after {first:?}");
    let (code, _) = nodes.remove(2).quit();
    assert_eq!(code, Some(4), "it could not take part");
}

/// Node 1 stands still, so that the view is {0, 2}; then node 0 is killed and forgets that.
#[test]
fn whoever_has_no_majority_any_more_says_so_and_what_to_do() {
    let (mut nodes, peers) = founded(3);
    signal(&nodes[1], "STOP");
    let view = view_in(&nodes[0].until_told("{0, 2}"));
    nodes[2].until_told("{0, 2}");
    kill(&mut nodes[0]);
    nodes[0] = member(0, &peers).expect("its address is free");
    signal(&nodes[1], "CONT");
    let begun = Instant::now();
    let words = format!("no majority of view {view} {{0, 2}} is left");
    for node in &mut nodes {
        let line = node.until_told(&words);
        assert!(line.contains("forgotten the view: 0): start 2 again, too"), "{line}");
        assert!(line.contains("or use --data"), "{line}");
        assert!(begun.elapsed() < 2 * DETECTION, "{:?}", begun.elapsed());
        let status = status(node);
        assert_eq!(status["majority"], false, "{status}");
        assert!(status["trouble"].to_string().contains(&words), "{status}");
        node.say("status");
        let mut lines = (0..6).map(|_| node.hear());
        assert!(lines.any(|line| line.contains(&words)));
        while node.out.recv_timeout(Duration::from_millis(100)).is_ok() {}
    }
    // As was told.
    kill(&mut nodes[2]);
    nodes[2] = member(2, &peers).expect("its address is free");
    nodes[0].until_told("{0, 1, 2}");
    nodes[0].say("acquire");
    let (entered, _) = entered(&nodes[0]);
    assert!(entered > view, "{entered} after {view}");
}

#[test]
fn the_last_of_five_says_that_it_is_alone_and_the_others_that_they_have_forgotten() {
    let (mut nodes, peers) = founded(5);
    nodes[4].say("acquire");
    let before = entered(&nodes[4]);
    leave(&mut nodes[4]);
    for node in &mut nodes[..4] {
        kill(node);
    }
    let begun = Instant::now();
    let line = nodes[4].until_told("no majority of view ");
    assert!(begun.elapsed() < 2 * DETECTION, "{:?}", begun.elapsed());
    assert!(line.contains("{0, 1, 2, 3, 4} answers"), "{line}");
    assert!(line.contains("(silent: ") && line.contains("or use --data"), "{line}");
    for (id, node) in nodes.iter_mut().enumerate().take(4) {
        *node = member(id, &peers).expect("its address is free");
    }
    for node in &nodes {
        node.until_told("{0, 1, 2, 3, 4} is left");
    }
    assert_eq!(status(&mut nodes[0])["majority"], false);
    kill(&mut nodes[4]);
    nodes[4] = member(4, &peers).expect("its address is free");
    nodes[4].until_told("view ");
    nodes[4].until_told("{0, 1, 2, 3, 4}");
    nodes[4].say("acquire");
    let after = entered(&nodes[4]);
    assert!(after > before, "{after:?} after {before:?}");
}

/// Three founders and two that joined them; of the founders one after the other is killed.
fn without_founders() -> (Vec<Node>, Vec<String>) {
    let (mut nodes, peers) = founded(3);
    for view in ["{0, 1, 2, 3}", "{0, 1, 2, 3, 4}"] {
        nodes.push(newcomer(&peers[0], "127.0.0.1:0"));
        for node in &nodes {
            node.until_told(view);
        }
    }
    for (id, view) in [(0, "{1, 2, 3, 4}"), (1, "{2, 3, 4}"), (2, "{3, 4}")] {
        kill(&mut nodes[id]);
        for node in &nodes[id + 1..] {
            node.until_told(view);
        }
    }
    (nodes, peers)
}

#[test]
fn founders_that_come_back_find_the_group_that_has_gone_on_without_them() {
    let (mut nodes, peers) = without_founders();
    nodes[3].hear();
    nodes[3].say("acquire");
    let before = entered(&nodes[3]);
    for (id, node) in nodes.iter_mut().enumerate().take(3) {
        *node = member(id, &peers).expect("its address is free");
    }
    for node in &nodes {
        let view = node.until_told("{0, 1, 2, 3, 4}");
        let later = view_in(&view) - before.0;
        assert!((1..100).contains(&later), "it is the same group: {view} after {before:?}");
    }
    nodes[0].say("acquire");
    leave(&mut nodes[3]);
    assert!(entered(&nodes[0]) > before);
}

/// The two stand still meanwhile, as if they were cut off: nobody can find them.
#[test]
fn of_two_groups_that_meet_the_older_one_is_evicted_and_says_so() {
    let (mut nodes, peers) = without_founders();
    nodes[3].hear();
    nodes[3].say("acquire");
    let before = entered(&nodes[3]);
    signal(&nodes[3], "STOP");
    signal(&nodes[4], "STOP");
    let begun = Instant::now();
    for (id, node) in nodes.iter_mut().enumerate().take(3) {
        *node = member(id, &peers).expect("its address is free");
    }
    nodes[0].until_told("{0, 1, 2}");
    assert!(begun.elapsed() >= DETECTION, "founders wait: {:?}", begun.elapsed());
    nodes[0].say("acquire");
    let after = entered(&nodes[0]);
    assert!(after > before, "{after:?} after {before:?}");
    signal(&nodes[3], "CONT");
    signal(&nodes[4], "CONT");
    assert_eq!(nodes[3].hear(), "lost the lock");
    // The other one may have been evicted by it before.
    let line = nodes[3].until_told("evicted: there were two groups");
    assert!(line.contains("to which this node belonged, is over"), "{line}");
    // Which views a process tells of on the way, and in which order with the above, depends on how
    // much of a busy machine it gets.
    let begun = Instant::now();
    while status(&mut nodes[3])["members"] != Value::from(vec![0, 1, 2, 3, 4]) {
        assert!(begun.elapsed() < PATIENCE, "{}", status(&mut nodes[3]));
    }
    for node in nodes.iter().filter(|node| node.child.id() != nodes[3].child.id()) {
        node.until_told("{0, 1, 2, 3, 4}");
    }
    nodes[3].say("release");
    assert!(nodes[3].hear().starts_with("nothing to release: the lock was lost "));
}

/// With which number it is inside; none if it has lost the lock since it entered, as one does that
/// was a member for a moment under a number that another newcomer keeps.
fn token_held(node: &mut Node) -> Option<FencingToken> {
    node.say("status --json");
    let mut has_lost = false;
    loop {
        let line = node.hear();
        if line == "lost the lock" {
            has_lost = true;
            continue;
        }
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        let part = |place: usize| told["token"][place].as_u64();
        return part(0).zip(part(1)).filter(|_| !has_lost);
    }
}

/// Both are given the lowest number that is free, unless the members have told each other before.
#[test]
fn newcomers_that_join_by_two_members_at_once_all_get_in() {
    let (nodes, peers) = founded(3);
    let mut joined: Vec<FencingToken> = Vec::new();
    let mut newcomers: Vec<Node> = peers.iter().map(|by| newcomer(by, "127.0.0.1:0")).collect();
    for node in &mut newcomers {
        node.hear();
        // What it waits for, it waits for under whatever number.
        node.say("acquire");
    }
    for node in nodes.iter().chain(&newcomers) {
        node.until_told("{0, 1, 2, 3, 4, 5}");
    }
    let begun = Instant::now();
    let mut waiting: Vec<Node> = newcomers;
    while !waiting.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{} wait", waiting.len());
        let has_entered = |node: &mut Node| {
            let line = node.out.recv_timeout(Duration::from_millis(10));
            line.is_ok_and(|line| line.starts_with("entered with token "))
        };
        if let Some(place) = waiting.iter_mut().position(has_entered) {
            let mut holder = waiting.remove(place);
            let Some(token) = token_held(&mut holder) else {
                holder.say("acquire");
                waiting.push(holder);
                continue;
            };
            joined.push(token);
            leave(&mut holder);
        }
    }
    assert!(joined.is_sorted() && joined.len() == 3, "{joined:?}");
}

#[test]
fn what_programs_are_told_on_views_is_what_is_documented() {
    let peers = addresses(1);
    let lease = [&options()[..], &["--lease", "2s"]].concat();
    let mut alone = Node::start(0, &peers, &lease);
    alone.hear();
    alone.until_told("{0}");
    alone.say("acquire");
    let (view, clock) = entered(&alone);
    let told = status(&mut alone);
    assert_eq!(told["id"], 0);
    assert_eq!(told["algorithm"], "raymond");
    assert_eq!((told["view"].as_u64(), &told["members"]), (Some(view), &[0][..].into()));
    assert_eq!((&told["suspected"], &told["lost"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    assert_eq!((&told["is_member"], &told["majority"]), (&true.into(), &true.into()));
    assert_eq!((&told["trouble"], &told["last_eviction"]), (&Value::Null, &Value::Null));
    assert_eq!(told["token"], Value::from(vec![view, clock]));
    assert_eq!((&told["holding"], &told["waiting_since"]), (&true.into(), &Value::Null));
    let seconds = |field: &str| told[field].as_f64().expect("seconds since 1970");
    let lasts = seconds("lease_until") - seconds("holding_since");
    assert!(lasts > 0.0 && lasts < PATIENCE.as_secs_f64(), "{told}");
    let page = support::root().join("docs/network.md");
    let documented = std::fs::read_to_string(page).expect("the page");
    for field in told.as_object().expect("fields").keys() {
        assert!(documented.contains(&format!("| `{field}` |")), "{field} is not documented");
    }
    leave(&mut alone);
    let told = status(&mut alone);
    assert_eq!((&told["holding"], &told["token"]), (&false.into(), &Value::Null));
}

#[test]
fn whoever_is_stopped_while_it_waits_on_views_does_not_say_that_others_wait_for_it() {
    let (mut nodes, _) = founded(2);
    nodes[0].say("acquire");
    entered(&nodes[0]);
    let mut waits = nodes.remove(1);
    waits.say("acquire --timeout 1ms");
    assert!(waits.hear().starts_with("gave up after"), "it waits");
    signal(&waits, "TERM");
    let mut said = Vec::new();
    while let Ok(line) = waits.out.recv_timeout(PATIENCE) {
        said.push(line);
    }
    let words = said.join("\n");
    assert!(words.contains("leaves when the others go on without it"), "{words}");
    assert!(words.ends_with("left") && !words.contains("its request"), "{words}");
    // Nobody has to find out that it is gone: long before it would be suspected.
    nodes[0].until_told("{0}");
}

/// What nodes say when something befalls them, as the page quotes it, is what these tests wait for.
#[test]
fn the_page_about_faults_quotes_what_nodes_are_heard_to_say() {
    const TESTS: [&str; 7] = [
        include_str!("node_lost.rs"),
        include_str!("node_links.rs"),
        include_str!("node_on_views.rs"),
        include_str!("node_data.rs"),
        include_str!("node_ends.rs"),
        include_str!("../../../net/tests/net/open_group.rs"),
        include_str!("../../../net/tests/net/strangers.rs"),
    ];
    let page = include_str!("../../../../docs/faults.md");
    let table = page.split("| fault | what happens |").nth(1).expect("the table");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with("| ")).collect();
    let mut quoted = 0;
    for row in &rows {
        let said = row.split(" | ").nth(2).unwrap_or_else(|| panic!("four columns: {row}"));
        for words in said.split('`').skip(1).step_by(2).filter(|words| !words.contains('\u{2026}'))
        {
            assert!(TESTS.iter().any(|text| text.contains(words)), "nobody waits for '{words}'");
            quoted += 1;
        }
    }
    assert!(rows.len() > 12 && quoted > 10, "{quoted} in {} rows", rows.len());
}
