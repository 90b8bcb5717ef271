//! Elections of all algorithms: what they cost is what the cards say, whoever calls and whoever is
//! down; and whatever crashes and comes up again, one is followed in the end.

use std::time::{Duration, Instant};

use vorrang_algorithms::card::{Agreement, Card, Quantity};
use vorrang_algorithms::election::bully::Bully;
use vorrang_algorithms::election::card::{COUNTED, DURATION, MESSAGES, Setting, Terms};
use vorrang_algorithms::election::flaws::watching::DeafToOthers;
use vorrang_algorithms::election::watching::Watching;
use vorrang_algorithms::election::{Command, Election, Notice};
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::setup::{Contention, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::topology::ring::Ring;
use vorrang_catalogue::{PopulationOf, find};
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Simulation, Workload, WorkloadEffects,
};
use vorrang_trace::{Meter, Sent};

const MS: u64 = 1_000_000;

/// Every message takes as long as nodes believe that messages take at most.
const LOCKSTEP: Distribution = Distribution::Constant(MS);
/// Some are faster.
const FASTER: Distribution = Distribution::Uniform(MS / 10, MS);

/// These call when the run begins.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) who: Vec<NodeId>,
    /// What the literature counts.
    pub(crate) terms: &'static Terms,
}

impl Workload<Command, Notice> for Calls {
    type Meter = Tally;

    fn meter(&self, _: u32, kinds: &'static [&'static str]) -> Tally {
        Tally { kinds, terms: Some(self.terms), ..Tally::default() }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for &node in &self.who {
            orders.command_in(0, node, Command::Elect);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    messages: u64,
    /// Those of them that the literature counts.
    counted: u64,
    kinds: &'static [&'static str],
    terms: Option<&'static Terms>,
    ended_ns: u64,
}

impl Meter<Command, Notice> for Tally {
    /// Whether it counts if it arrives.
    type Tag = bool;
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, _: &Command) {}
    fn on_notice(&mut self, at_ns: u64, _: NodeId, _: &Notice) {
        self.ended_ns = at_ns;
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, sent: Sent) -> bool {
        let kind = self.kinds[usize::from(sent.kind)];
        let terms = self.terms.expect("it is told what counts");
        self.messages += 1;
        let counts = !terms.receipts.contains(&kind);
        self.counted += u64::from(counts && !terms.sees_crashes);
        counts && terms.sees_crashes
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, counts: bool) {
        self.counted += u64::from(counts);
    }
    fn progress(&self) -> u64 {
        0
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

/// An election, and what goes wrong.
#[derive(Clone, Debug)]
struct Run {
    setup: Setup,
    initiators: Vec<NodeId>,
    script: Vec<(u64, Fault)>,
    latency: Distribution,
    seed: u64,
    most_events: u64,
}

/// The result.
#[derive(Debug)]
struct Ended {
    is_over: bool,
    messages: u64,
    counted: u64,
    time: f64,
    /// Failure.
    wrong: Option<String>,
}

impl Run {
    fn done(&self, name: &str, flaw: Option<&str>) -> Ended {
        let entry = find::<Election>(name, flaw).unwrap();
        let card = entry.card;
        let network = Network { latency: self.latency, order: card.assumes.order };
        let mut simulation = Simulation::new(
            entry.guarded_population(&self.setup).unwrap(),
            card.watch(&self.setup, true),
            network,
            Calls { who: self.initiators.clone(), terms: &card.terms },
            self.seed,
        )
        .with_faults(Faults::default().script(self.script.clone()), self.seed);
        if let Some(settles) = card.terms.settles {
            let last_ns = self.script.iter().map(|it| it.0).max().unwrap_or(0);
            simulation = simulation.until(last_ns + settles(&self.setup).as_nanos() as u64);
        }
        let goes_on = simulation.run_for(self.most_events).unwrap();
        let report = simulation.report();
        let violation = report.first_violation.as_ref().map(|it| it.1.to_string());
        Ended {
            is_over: !goes_on,
            messages: report.summary.messages,
            counted: report.summary.counted,
            time: report.summary.ended_ns as f64 / MS as f64,
            wrong: violation.or(report.at_rest.map(|it| it.to_string())),
        }
    }
}

impl Run {
    fn of(setup: Setup, initiators: &[NodeId], dead: &[NodeId]) -> Self {
        let script = dead.iter().map(|&id| (0, Fault::Crash(id))).collect();
        let initiators = initiators.to_vec();
        Self { setup, initiators, script, latency: LOCKSTEP, seed: 1, most_events: 1_000_000 }
    }
}

fn card(name: &str) -> &'static Card<Election> {
    find::<Election>(name, None).unwrap().card
}

/// Runs an election, and compares it with what the card says; whether that was exact.
#[track_caller]
fn is_as_the_card_says(name: &str, run: &Run, dead: &[NodeId]) -> bool {
    let ended = run.done(name, None);
    assert!(ended.is_over && ended.wrong.is_none(), "{name}: {ended:?} in {run:?}");
    let setting = Setting {
        setup: run.setup.clone(),
        initiators: run.initiators.clone(),
        dead: dead.iter().copied().collect(),
        lockstep: run.latency == LOCKSTEP,
    };
    let agrees = |of: Quantity, measured: f64| {
        // Heartbeats have no end, so that only what the literature counts has a theory.
        let span = card(name).cost(of, &setting)?;
        let agreement = span.compare(measured, None);
        assert_ne!(agreement, Agreement::Disagrees, "{name}: {measured} {span:?} in {run:?}");
        Some(agreement == Agreement::Agrees)
    };
    if setting.lockstep {
        agrees(DURATION, ended.time).expect("all cards say how long it takes");
    }
    let all = agrees(MESSAGES, ended.messages as f64);
    let counted = agrees(COUNTED, ended.counted as f64);
    let both = [all, counted].into_iter().flatten();
    both.reduce(|one, other| one && other).expect("all cards say how many messages it takes")
}

/// All subsets of some nodes that have at least one.
fn some_of(nodes: &[NodeId]) -> impl Iterator<Item = Vec<NodeId>> + '_ {
    let has = |code: u32| move |(place, _): &(usize, &NodeId)| code >> place & 1 == 1;
    let subset = move |code| nodes.iter().enumerate().filter(has(code)).map(|it| *it.1).collect();
    (1..1_u32 << nodes.len()).map(subset)
}

/// Every group of up to so many, in which every non-empty set is up, and every set of those calls.
fn every_case(most: u32) -> impl Iterator<Item = (Group, Vec<NodeId>, Vec<NodeId>)> {
    (1..=most).map(Group::of).flat_map(|group| {
        let all: Vec<NodeId> = group.members().collect();
        let ups: Vec<Vec<NodeId>> = some_of(&all).collect();
        ups.into_iter().flat_map(move |up| {
            let dead: Vec<NodeId> = group.members().filter(|id| !up.contains(id)).collect();
            let calls: Vec<Vec<NodeId>> = some_of(&up).collect();
            calls.into_iter().map(move |calls| (group, dead.clone(), calls))
        })
    })
}

#[test]
fn bully_and_ring_cost_what_their_cards_say_whoever_is_down_and_whoever_calls() {
    for (group, dead, calls) in every_case(5) {
        let highest_is_down = dead.contains(&NodeId(group.size() - 1));
        for (latency, seed) in [(LOCKSTEP, 1), (FASTER, 2), (FASTER, 3)] {
            let run = Run { latency, seed, ..Run::of(Setup::new(group), &calls, &dead) };
            let alone = latency == LOCKSTEP && calls.len() == 1;
            for name in ["bully", "watching-bully"] {
                let is_exact = is_as_the_card_says(name, &run, &dead);
                assert!(is_exact || !highest_is_down && !alone, "{name} {run:?}");
            }
            let setup = Setup { ring: Ring::Random { seed: Some(seed) }, ..run.setup.clone() };
            let run = Run { setup, ..run };
            for name in ["ring-election", "watching-ring"] {
                assert!(is_as_the_card_says(name, &run, &dead), "{name} {run:?}");
            }
        }
    }
}

#[test]
fn chang_and_roberts_cost_what_the_card_says_on_every_ring() {
    for (group, dead, calls) in every_case(6).filter(|(_, dead, _)| dead.is_empty()) {
        let rings = (1..4).map(|seed| Ring::Random { seed: Some(seed) });
        for ring in rings.chain([Ring::Ascending, Ring::Descending]) {
            let setup = Setup { ring, ..Setup::new(group) };
            for latency in [LOCKSTEP, FASTER] {
                let run = Run { latency, ..Run::of(setup.clone(), &calls, &dead) };
                let is_exact = is_as_the_card_says("chang-roberts", &run, &[]);
                let all = calls.len() == group.size() as usize;
                assert!(is_exact || calls.len() > 1 && !all, "{run:?}");
            }
        }
    }
}

#[test]
fn echo_elections_cost_what_the_card_says_on_every_shape() {
    let shapes = ["line", "ring", "star", "complete", "grid", "random-tree:3", "random:0.4:5"];
    for (group, dead, calls) in every_case(6).filter(|(_, dead, _)| dead.is_empty()) {
        let highest_alone = calls == [NodeId(group.size() - 1)];
        for shape in shapes {
            let setup = Setup { topology: shape.parse().unwrap(), ..Setup::new(group) };
            for (latency, seed) in [(LOCKSTEP, 1), (FASTER, 2), (FASTER, 3)] {
                let run = Run { latency, seed, ..Run::of(setup.clone(), &calls, &dead) };
                let is_exact = is_as_the_card_says("echo-election", &run, &[]);
                assert!(is_exact || !highest_alone, "{run:?}");
            }
        }
    }
}

/// In a star around the highest no lower wave gets anywhere. In a line in ascending order every
/// node but the lowest hears of one higher after the other, and passes each on; the lowest agrees
/// with each.
#[test]
fn how_many_waves_there_are_depends_on_where_the_highest_is() {
    let all: Vec<NodeId> = (0..9).map(NodeId).collect();
    let messages = |links: String| {
        let topology = format!("links:{links}").parse().unwrap();
        let setup = Setup { topology, ..Setup::new(Group::of(9)) };
        Run::of(setup, &all, &[]).done("echo-election", None).messages
    };
    let line = (0..8).map(|id| format!("{id}-{}", id + 1)).collect::<Vec<_>>().join(",");
    let star = (0..8).map(|id| format!("{id}-8")).collect::<Vec<_>>().join(",");
    let won = 2 * 8 + 8;
    assert_eq!(messages(star), won + 8, "every other says one thing of its own");
    assert_eq!(messages(line), won + 1 + 2 * 7 + (1..8).sum::<u64>(), "and is passed on");
}

/// A tree, all of whose nodes call.
fn tree(nodes: u32, seed: u64, contention: Contention, gather_us: u64) -> Run {
    let group = Group::of(nodes);
    let topology = Topology::RandomTree { seed: Some(seed) };
    let gather = Duration::from_micros(gather_us);
    let setup = Setup { topology, contention, gather, ..Setup::new(group) };
    Run { seed, ..Run::of(setup, &group.members().collect::<Vec<_>>(), &[]) }
}

#[test]
fn trees_cost_what_the_card_says() {
    for nodes in 1..12 {
        for seed in 0..20 {
            for contention in [Contention::Wait, Contention::Id] {
                for gather_us in [0, 500, 3000] {
                    let run = tree(nodes, seed, contention, gather_us);
                    let is_exact = is_as_the_card_says("tree-election", &run, &[]);
                    let by_number = contention == Contention::Id;
                    assert!(is_exact || nodes > 1 && !by_number, "{run:?}");
                    let run = Run { latency: FASTER, ..run };
                    is_as_the_card_says("tree-election", &run, &[]);
                }
            }
        }
    }
}

/// The chance of a further toss is one half, so there are two on average.
#[test]
fn coins_fall_apart_every_second_time() {
    let runs: u32 = 2_000;
    let mut tosses = 0;
    for seed in 0..u64::from(runs) {
        let ended = tree(2, seed, Contention::Wait, 0).done("tree-election", None);
        tosses += (ended.messages - 2) / 2;
    }
    // A geometric distribution with p = 1/2 has the variance 2.
    let (mean, error) = (tosses as f64 / f64::from(runs), (2.0 / f64::from(runs)).sqrt());
    assert!((mean - 2.0).abs() < 4.0 * error, "{mean} ± {error}");
}

#[test]
fn two_that_wait_for_as_long_contend_until_somebody_pulls_the_plug() {
    for seed in 0..50 {
        let run = Run { most_events: 10_000, ..tree(2, seed, Contention::Wait, 0) };
        let equal = run.done("tree-election", Some("equal-waits"));
        assert!(!equal.is_over && equal.messages > 3_000, "{equal:?}");
        assert!(run.done("tree-election", None).is_over);
    }
}

/// The lowest of N nodes calls, and the highest is down. A node holds an election for every one
/// that a lower one holds: 1, 1, 2, 4, 8, …
#[test]
fn without_a_guard_elections_multiply() {
    for nodes in 3..=12_u64 {
        let group = Group::of(nodes as u32);
        let run = Run::of(Setup::new(group), &[NodeId(0)], &[NodeId(nodes as u32 - 1)]);
        let held = |node: u64| if node == 0 { 1 } else { 1 << (node - 1) };
        let (mut asked, mut answered) = (0, 0);
        for node in 0..nodes - 1 {
            asked += held(node) * (nodes - 1 - node);
            answered += held(node) * (nodes - 2 - node);
        }
        let told = held(nodes - 2) * (nodes - 2);
        let flawed = run.done("bully", Some("no-guard")).messages;
        assert_eq!(flawed, asked + answered + told, "{nodes} nodes");
        let right = run.done("bully", None).messages;
        assert_eq!(right, nodes * nodes - nodes - 1, "{nodes} nodes");
        if nodes == 8 {
            assert_eq!((flawed, right), (382, 55));
        }
    }
}

/// Nodes that crash and come up again at times drawn by lot, none of them for good unless drawn so.
fn misfortunes(nodes: u32, seed: u64) -> Vec<(u64, Fault)> {
    let mut random = Random::new(seed);
    let often = [2, 12, 40][random.below(3) as usize] * MS;
    let mut script = Vec::new();
    for id in (0..nodes).map(NodeId) {
        let mut at_ns = 0;
        for _ in 0..random.below(5) {
            at_ns += random.below(often);
            script.push((at_ns, Fault::Crash(id)));
            if random.below(5) == 0 {
                break;
            }
            at_ns += 1 + random.below(often);
            script.push((at_ns, Fault::Restart(id)));
        }
    }
    script.sort_by_key(|it| it.0);
    script
}

/// `VORRANG_FUZZ_SECONDS` says for how long to go on.
#[test]
fn whatever_crashes_and_comes_up_again_one_is_followed_in_the_end() {
    const AT_LEAST: u64 = 300;
    let seconds = vorrang_testkit::number("VORRANG_FUZZ_SECONDS");
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    for seed in (0..).take_while(|&seed| seed < AT_LEAST || Instant::now() < until) {
        let nodes = 2 + (seed % 5) as u32;
        let group = Group::of(nodes);
        let setup = Setup { ring: Ring::Random { seed: Some(seed) }, ..Setup::new(group) };
        for (name, latency) in [
            ("bully", LOCKSTEP),
            ("bully", FASTER),
            ("bully", Distribution::Uniform(0, MS)),
            ("watching-bully", LOCKSTEP),
            ("watching-bully", FASTER),
            ("watching-ring", FASTER),
            ("ring-election", LOCKSTEP),
            ("ring-election", FASTER),
            ("ring-election", Distribution::Uniform(0, MS)),
        ] {
            let calls: Vec<NodeId> = group.members().collect();
            let script = misfortunes(nodes, seed);
            let run = Run { script, latency, seed, ..Run::of(setup.clone(), &calls, &[]) };
            let ended = run.done(name, None);
            assert!(ended.is_over && ended.wrong.is_none(), "{name}: {ended:?} in {run:?}");
        }
    }
}

/// A network that is cut and stays so: each side does as if the others were down.
#[test]
fn each_side_of_a_network_that_is_cut_elects_its_own() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let group = Group::of(2 + (seed % 6) as u32);
        let side: Vec<NodeId> = group.members().filter(|_| random.below(2) == 0).collect();
        let Ok(cut) = Partition::new(&[side]) else { continue };
        let calls: Vec<NodeId> = group.members().collect();
        for name in ["bully", "ring-election"] {
            for (at_ns, latency) in [(0, LOCKSTEP), (random.below(12 * MS), FASTER)] {
                let script = vec![(at_ns, Fault::Partition(cut.clone()))];
                let run = Run { script, latency, seed, ..Run::of(Setup::new(group), &calls, &[]) };
                let ended = run.done(name, None);
                assert!(ended.is_over && ended.wrong.is_none(), "{name}: {ended:?} in {run:?}");
            }
        }
    }
}

/// How a network falls apart, and where somebody crashes besides.
fn cuts(group: Group, seed: u64) -> Vec<(u64, Fault)> {
    let mut random = Random::new(seed);
    let mut script = Vec::new();
    let mut at_ns = random.below(30 * MS);
    for _ in 0..2 {
        let side: Vec<NodeId> = group.members().filter(|_| random.below(2) == 0).collect();
        if let Ok(cut) = Partition::new(&[side]) {
            script.push((at_ns, Fault::Partition(cut.clone())));
            at_ns += 1 + random.below(200 * MS);
            script.push((at_ns, Fault::Heal(cut)));
        }
        at_ns += random.below(100 * MS);
    }
    let down = NodeId(random.below(group.size().into()) as u32);
    script.push((random.below(at_ns), Fault::Crash(down)));
    script.sort_by_key(|it| it.0);
    script
}

#[test]
fn where_leaders_are_watched_one_is_left_when_a_network_has_healed() {
    let mut divided = [0; 2];
    for seed in 0..200 {
        let group = Group::of(2 + (seed % 5) as u32);
        let calls: Vec<NodeId> = group.members().collect();
        let script = cuts(group, seed);
        let run = Run { script, latency: FASTER, seed, ..Run::of(Setup::new(group), &calls, &[]) };
        for name in ["watching-bully", "watching-ring"] {
            let ended = run.done(name, None);
            assert!(ended.is_over && ended.wrong.is_none(), "{name}: {ended:?} in {run:?}");
        }
        for (count, name) in divided.iter_mut().zip(["watching-bully", "watching-ring"]) {
            *count += u32::from(run.done(name, Some("nobody-calls")).wrong.is_some());
        }
    }
    assert!(divided.iter().all(|&often| often > 40), "nobody notices a crash: {divided:?}");
}

/// Where nobody listens to any leader but its own, two are left when a network has healed.
#[test]
fn where_nobody_hears_other_leaders_two_are_left() {
    let group = Group::of(4);
    let cut = Partition::new(&[vec![NodeId(0), NodeId(1)]]).unwrap();
    let script =
        vec![(20 * MS, Fault::Partition(cut.clone())), (200 * MS, Fault::Heal(cut.clone()))];
    let setup = Setup::new(group);
    let follows = |is_deaf: bool| {
        let monitor = card("watching-bully").watch(&setup, true);
        let network = Network { latency: LOCKSTEP, order: Order::Any };
        let calls = Calls { who: vec![NodeId(0)], terms: &Terms::PLAIN };
        let faults = Faults::default().script(script.clone());
        let node = move |id: NodeId| Watching::<Bully>::of(id, &Setup::new(group));
        let deaf = move |id: NodeId| Flawed::new(node(id), &DeafToOthers);
        let population: PopulationOf<Election> =
            if is_deaf { Population::new(4, deaf).into() } else { Population::new(4, node).into() };
        let report = Simulation::new(population, monitor, network, calls, 1)
            .with_faults(faults, 1)
            .until(1000 * MS)
            .run()
            .unwrap();
        report.at_rest.map(|violation| violation.what)
    };
    assert_eq!(follows(false), None);
    let what = follows(true).expect("two are left");
    assert_eq!(what, "node 2 follows node 3, others follow node 1");
}

/// However long messages take, questions that come late are none that multiply.
#[test]
fn bully_takes_no_more_messages_than_the_square_of_its_nodes() {
    for nodes in [8, 24, 40] {
        for seed in 1..4 {
            let latency = Distribution::Uniform(0, MS);
            let run =
                Run { latency, seed, ..Run::of(Setup::new(Group::of(nodes)), &[NodeId(0)], &[]) };
            let ended = run.done("bully", None);
            assert!(ended.is_over && ended.wrong.is_none(), "{ended:?}");
            let most = u64::from(nodes) * u64::from(nodes) - 1;
            assert!(ended.messages <= most, "{} messages among {nodes}", ended.messages);
        }
    }
}
