//! Golden runs: small runs of every algorithm that read as prose.
//!
//! The first line of a file in `golden` says what is run and how it is set up, as on the command
//! line: `k-exclusion --nodes 3 --k 2 --flaw debts-forgotten`, or `central --nodes 2 --reliable`.
//! What stands at the margin is done, what is indented is the answer. `VORRANG_REWRITE=1 cargo test
//! -p vorrang-catalogue --test catalogue` writes the answers anew: look at every difference as if
//! it were code.

use std::fs;
use std::path::Path;
use std::time::Duration;

use vorrang_algorithms::card::Order;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::layer::reliable::{Peers, Reliable, Retries};
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::golden as runs;
use vorrang_catalogue::{Entry, NodeOf, find};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Graph, Group, Guard, Monitor, NodeId};
use vorrang_testkit::compare_or_rewrite;
use vorrang_trace::Stage;

use crate::shown;

struct Play<'a> {
    script: &'a str,
    setup: &'a Setup,
    /// Over reliable channels.
    reliable: bool,
    /// Who can talk to whom, if not all can.
    graph: Option<Graph>,
    order: Order,
}

impl Play<'_> {
    /// Plays it, once it is known what must hold.
    fn play<Q, M>(&self, entry: &Entry<Q>, monitor: M) -> Result<String, Unfit>
    where
        Q: Problem,
        M: Monitor<Command = Q::Command, Notice = Q::Notice>,
    {
        let (nodes, guards) = (entry.nodes(self.setup)?, entry.guards.clone());
        let (nodes, guards) = if self.reliable {
            over_channels::<Q>(nodes, guards, self.graph.as_ref())
        } else {
            (nodes, guards)
        };
        let mut stage = Stage::new(nodes, monitor).guarded(guards).with_order(self.order);
        let fresh = stage.clone();
        let played = stage.play(self.script).map_err(Unfit)?;
        shown::differ(entry.card.name, fresh, self.script);
        Ok(format!("{played}= {} messages\n", stage.messages()))
    }
}

/// The same nodes with reliable channels under them.
fn over_channels<Q: Problem>(
    nodes: Vec<NodeOf<Q>>,
    guards: Vec<Guard<NodeOf<Q>>>,
    graph: Option<&Graph>,
) -> (Vec<NodeOf<Q>>, Vec<Guard<NodeOf<Q>>>) {
    let group = Group::of(nodes.len() as u32);
    let patience = Retries::within(Duration::from_millis(1), 1);
    let channels = |(id, node)| Reliable::new(id, node, Peers::of(id, group, graph), patience);
    let nodes = (0..).map(NodeId).zip(nodes).map(channels).map(AnyNode::new).collect();
    (nodes, guards.into_iter().map(Reliable::guard).map(AnyNode::guard_of).collect())
}

/// Plays a file: what is run, then the script.
pub(crate) fn play(text: &str) -> Result<String, String> {
    let (header, script) = text.split_once('\n').ok_or("a run has a header and a script")?;
    let script = script.split_once("\n= ").map_or(script, |(script, _)| script);
    let (name, rest) = header.split_once(' ').ok_or("a header names what is run")?;
    let (rest, order) = match rest.split_once(" --order ") {
        None => (rest, Order::Any),
        Some((rest, "any")) => (rest, Order::Any),
        Some((rest, "fifo")) => (rest, Order::Fifo),
        Some((_, other)) => return Err(format!("--order is any or fifo, not '{other}'")),
    };
    let (rest, reliable) = match rest.strip_suffix(" --reliable") {
        None => (rest, false),
        Some(rest) => (rest, true),
    };
    let (setup, flaw) = match rest.split_once(" --flaw ") {
        None => (rest, None),
        Some((setup, flaw)) => (setup, Some(flaw)),
    };
    let about = vorrang_catalogue::abouts().into_iter().find(|about| about.name == name);
    let about = about.ok_or_else(|| format!("there is no algorithm '{name}'"))?;
    let wrong = |unfit: Unfit| unfit.0;
    let setup = &Setup::read(setup, about.takes).map_err(wrong)?;
    let graph = about.assumes.layout.graph(setup).map_err(wrong)?;
    let play = Play { script, setup, reliable, graph, order };
    let played = match about.problem {
        Mutex::NAME => find::<Mutex>(name, flaw)
            .and_then(|entry| play.play(entry, entry.card.staged(setup, flaw))),
        Election::NAME => find::<Election>(name, flaw)
            .and_then(|entry| play.play(entry, entry.card.watch(setup, true))),
        Wave::NAME => {
            find::<Wave>(name, flaw).and_then(|entry| play.play(entry, entry.card.watch(setup)?))
        }
        Detection::NAME => find::<Detection>(name, flaw)
            .and_then(|entry| play.play(entry, entry.card.watch(setup, Some(setup.within)))),
        Multicast::NAME => find::<Multicast>(name, flaw)
            .and_then(|entry| play.play(entry, entry.card.watch(setup))),
        GroupCommunication::NAME => find::<GroupCommunication>(name, flaw)
            .and_then(|entry| play.play(entry, entry.card.watch(setup))),
        other => panic!("say here what the monitors of the problem '{other}' are"),
    };
    Ok(format!("{header}\n{}", played.map_err(wrong)?))
}

#[test]
fn the_catalogue_has_the_text_of_every_golden_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    files.sort();
    let known: Vec<String> = runs::RUNS.iter().map(|run| format!("{}.run", run.name)).collect();
    assert_eq!(known, files, "add it to src/golden.rs");
    assert!(runs::find("cao-singhal-thirteen").is_some_and(|it| it.algorithm() == "cao-singhal"));
    assert_eq!(runs::find("nobody"), None);
}

/// A list of them is read by somebody who has seen none of them.
#[test]
fn every_golden_run_says_in_a_line_what_it_shows() {
    for run in runs::RUNS {
        let (name, shows) = (run.name, run.shows);
        let length = shows.chars().count();
        assert!((20..=72).contains(&length), "{name}: {length} letters: {shows}");
        let speaks_of_another = ["The ", "the same", "The same", "other example", "but "];
        assert!(!speaks_of_another.iter().any(|it| shows.starts_with(it)), "{name}: {shows}");
        assert!(!shows.contains("the same") && !shows.contains("the other example"), "{name}");
        assert!(!shows.ends_with('.') && !shows.contains('\n'), "{name}: {shows}");
        let others = runs::RUNS.iter().filter(|it| it.algorithm() == run.algorithm());
        assert_eq!(others.filter(|it| it.shows == shows).count(), 1, "{name}: {shows}");
    }
}

#[test]
fn golden_runs_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut covered = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let played = play(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        covered.extend(played.split_whitespace().next().map(str::to_owned));
        compare_or_rewrite(&path, &played);
    }
    for about in vorrang_catalogue::abouts() {
        assert!(covered.iter().any(|name| name == about.name), "{} has no golden run", about.name);
    }
}
