//! Virtual synchrony where anything goes wrong: nodes crash and come up again, stand still, join
//! and leave; messages are lost, doubled and overtaken; the network falls apart. Whatever happens,
//! no monitor objects, and once all is over everyone who wants in is in one view.
//!
//! `VORRANG_SCHEDULES=1000000 cargo test -p vorrang-sim --test sim groups::a_swarm` tries so many
//! seeds, and `VORRANG_SEED=17` that one alone.

use std::time::Duration;

use vorrang_algorithms::card::Agreement;
use vorrang_algorithms::group::card::{MESSAGES, Setting};
use vorrang_algorithms::group::spec::Synchrony;
use vorrang_algorithms::group::virtual_synchrony::{CARD, founded_by, of};
use vorrang_algorithms::group::{Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Severity, Simulation,
    Workload, WorkloadEffects,
};
use vorrang_trace::{Meter, Sent};

const MS: u64 = 1_000_000;

/// How long nothing goes wrong in the end: time-outs that mistakes have lengthened are longer than
/// what the card says.
const CALM_NS: u64 = 1000 * MS;

/// Every node goes on and on: it multicasts, and sometimes leaves and comes in again.
#[derive(Clone, Debug)]
pub(crate) struct Chatter {
    wants: Vec<bool>,
    gap_ns: f64,
    /// In how many commands of a hundred a node leaves.
    leaves: u64,
    until_ns: u64,
    next: u32,
}

impl Chatter {
    /// All are in the group, and nobody leaves it until then.
    pub(crate) fn new(nodes: u32, gap_ns: f64, until_ns: u64) -> Self {
        Self { wants: vec![true; nodes as usize], gap_ns, leaves: 0, until_ns, next: 0 }
    }

    /// The same, but in so many commands of a hundred a node leaves.
    pub(crate) fn leaving(self, leaves: u64) -> Self {
        Self { leaves, ..self }
    }

    fn go_on(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        let in_ns = orders.random.exponential(self.gap_ns) as u64;
        let drawn = orders.random.below(100);
        if orders.now_ns + in_ns >= self.until_ns {
            return;
        }
        let command = if !self.wants[at.index()] {
            Command::Join
        } else if drawn < self.leaves {
            Command::Leave
        } else {
            self.next += 1;
            Command::Multicast(self.next.into())
        };
        orders.command_in(in_ns, at, command);
    }
}

impl Workload<Command, Notice> for Chatter {
    type Meter = Tally;

    fn meter(&self, _: u32, kinds: &'static [&'static str]) -> Tally {
        Tally { kinds, ..Tally::default() }
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in (0..orders.nodes).map(NodeId) {
            self.go_on(at, orders);
        }
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        self.wants[at.index()] = *command != Command::Leave;
        if *command != Command::Leave {
            self.go_on(at, orders);
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        if *notice == Notice::Out && !self.wants[at.index()] {
            self.go_on(at, orders);
        }
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        self.go_on(at, orders);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    kinds: &'static [&'static str],
    messages: u64,
    sent_by: Vec<NodeId>,
    outs: u64,
    delivered: u64,
    views: u64,
    last_ns: u64,
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, at: NodeId, command: &Command) {
        if matches!(command, Command::Multicast(_)) {
            self.sent_by.push(at);
        }
    }
    fn on_notice(&mut self, at_ns: u64, _: NodeId, notice: &Notice) {
        self.last_ns = at_ns;
        match notice {
            Notice::Delivered { .. } => self.delivered += 1,
            Notice::View { .. } => self.views += 1,
            Notice::Out => self.outs += 1,
            Notice::Blocked => {}
        }
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, sent: Sent) {
        self.messages += u64::from(self.kinds[usize::from(sent.kind)] != "STATUS");
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn progress(&self) -> u64 {
        self.messages
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

fn swarm(seed: u64) -> Report<Tally> {
    let mut random = Random::new(seed);
    let nodes = 1 + random.below(6) as u32;
    let founders: Vec<NodeId> = (0..=random.below(nodes.into()) as u32).map(NodeId).collect();
    // Margins become ten times as long, which is more than any two messages differ by.
    let setup = Setup { margin: Duration::from_millis(1), ..Setup::new(Group::of(nodes)) };
    let latency = [
        Distribution::Constant(MS),
        Distribution::Uniform(MS / 10, 2 * MS),
        Distribution::Uniform(0, 8 * MS),
    ][random.below(3) as usize];
    let until_ns = 200 * MS + random.below(800 * MS);
    let severity = if random.below(4) == 0 { Severity::Mild } else { Severity::Harsh };
    let mut faults = Faults::drawn(severity, nodes, MS, until_ns, seed).late_ns(5 * MS);
    let order = if random.below(2) == 0 { Order::Any } else { Order::Fifo };
    if order == Order::Fifo {
        // Several that make one link slow multiply, and what comes behind waits for as long.
        faults.script.retain(|(_, it)| !matches!(it, Fault::Slow(_) | Fault::Recover(_)));
    }
    let workload = Chatter {
        wants: (0..nodes).map(|id| founders.contains(&NodeId(id))).collect(),
        gap_ns: (MS << random.below(6)) as f64,
        leaves: [0, 5, 20][random.below(3) as usize],
        until_ns,
        next: 0,
    };
    let node = {
        let (founders, setup) = (founders.clone(), setup.clone());
        move |id| founded_by(&founders, id, &setup)
    };
    Simulation::new(
        Population::new(nodes, node),
        Synchrony::new(setup.group, founders),
        Network { latency, order },
        workload,
        seed,
    )
    .with_faults(faults, seed)
    .until(until_ns + CALM_NS)
    .run()
    .unwrap()
}

fn seeds() -> std::ops::Range<u64> {
    vorrang_testkit::seeds(1000)
}

#[test]
fn a_swarm_of_faults_breaks_nothing_and_all_come_together_in_the_end() {
    let (mut views, mut delivered) = (0, 0);
    for seed in seeds() {
        let report = swarm(seed);
        let violation = report.first_violation.as_ref();
        assert!(report.is_safe(), "VORRANG_SEED={seed}: {}", violation.unwrap().1);
        assert!(report.is_quiescent(), "VORRANG_SEED={seed}: {report:#?}");
        views += report.summary.views;
        delivered += report.summary.delivered;
    }
    println!("{views} times a node installed a view, {delivered} times it delivered a message");
    assert!(views > seeds().count() as u64 && delivered > views, "something happens");
}

/// Nothing goes wrong but this; all have founded the group.
fn scripted(nodes: u32, latency: Distribution, script: Vec<(u64, Fault)>) -> Report<Tally> {
    let setup = Setup::new(Group::of(nodes));
    let last_ns = script.iter().map(|it| it.0).max().unwrap_or(0);
    let settles_ns = (CARD.terms.settles)(&setup).as_nanos() as u64;
    let group = setup.group;
    let until_ns = last_ns + settles_ns;
    let workload = Chatter::new(nodes, 0.0, 0);
    Simulation::new(
        Population::new(nodes, move |id| of(id, &setup)),
        Synchrony::new(group, group.members()),
        Network { latency, order: Order::Any },
        workload,
        1,
    )
    .with_faults(Faults::default().script(script), 1)
    .until(until_ns)
    .run()
    .unwrap()
}

/// Heartbeats come every 5 ms, and 5.5 ms after the last is suspected whoever sent it: here, at
/// 55.5 ms + 1 ms. Then FLUSH, `FLUSH_OK`, ACCEPT, ACCEPTED and NEWVIEW take a millisecond each; if
/// the lowest is down, PREPARE and PROMISE besides.
#[test]
fn a_view_change_takes_five_messages_one_after_the_other_or_seven() {
    for (crashed, takes_ms) in [(4, 5), (0, 7)] {
        let crash = vec![(52 * MS, Fault::Crash(NodeId(crashed)))];
        let report = scripted(5, Distribution::Constant(MS), crash);
        assert!(report.is_safe() && report.is_quiescent(), "{report:#?}");
        let summary = report.summary;
        assert_eq!(summary.last_ns, 56 * MS + MS / 2 + takes_ms * MS, "node {crashed}");
        assert_eq!(summary.views, 5 + 4, "view 1 and view 2");
    }
}

/// Three of five go on; the two that are cut off block, and come back as others.
#[test]
fn a_minority_blocks_and_comes_back() {
    let ids = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<Vec<_>>();
    for minority in [&[3, 4][..], &[0, 1], &[0, 4], &[2]] {
        let cut = Partition::new(&[ids(minority)]).unwrap();
        let script =
            vec![(50 * MS, Fault::Partition(cut.clone())), (150 * MS, Fault::Heal(cut.clone()))];
        let report = scripted(5, Distribution::Uniform(MS / 2, MS), script);
        assert!(report.is_safe() && report.is_quiescent(), "{minority:?}: {report:#?}");
        assert!(report.summary.outs == minority.len() as u64, "{minority:?}: {report:#?}");
        assert!(report.summary.last_ns > 150 * MS);
    }
}

/// Whoever comes back has forgotten everything: as long as one is missing, that one may know
/// something. When all are back, they begin anew.
#[test]
fn a_group_that_crashes_altogether_begins_anew_when_all_are_back() {
    let crashes = (0..3).map(|id| (50 * MS, Fault::Crash(NodeId(id))));
    let back = |ids: std::ops::Range<u32>| {
        let restarts = ids.map(|id| (100 * MS + u64::from(id), Fault::Restart(NodeId(id))));
        scripted(3, Distribution::Constant(MS), crashes.clone().chain(restarts).collect())
    };
    let all = back(0..3);
    assert!(all.is_safe() && all.is_quiescent(), "{all:#?}");
    assert_eq!(all.summary.views, 6);
    let two = back(0..2);
    assert!(two.is_safe() && two.is_quiescent(), "nothing is owed: {two:#?}");
    assert_eq!(two.summary.views, 3, "nobody has begun another");
}

/// What a multicast costs is what the card says.
#[test]
fn a_multicast_takes_as_many_messages_as_there_are_members() {
    for nodes in [1, 2, 5, 16] {
        let setup = Setup::new(Group::of(nodes));
        let pace = setup.clone();
        let until_ns = 20 * MS;
        let workload = Chatter::new(nodes, MS as f64, until_ns);
        let report = Simulation::new(
            Population::new(nodes, move |id| of(id, &pace)),
            Synchrony::new(setup.group, setup.group.members()),
            Network::constant_ms(1),
            workload,
            7,
        )
        .until(until_ns + 20 * MS)
        .run()
        .unwrap();
        assert!(report.is_safe() && report.is_quiescent(), "{report:#?}");
        let Tally { sent_by, messages, delivered, .. } = report.summary;
        let by_sequencer = sent_by.iter().filter(|it| it.0 == 0).count() as u32;
        let by_others = sent_by.len() as u32 - by_sequencer;
        assert_eq!(delivered, sent_by.len() as u64 * u64::from(nodes));
        let cost = CARD
            .cost(MESSAGES, &Setting { setup, by_sequencer, by_others, lowest_goes: false })
            .unwrap();
        assert_eq!(cost.compare(messages as f64, None), Agreement::Agrees, "{cost:?} {messages}");
    }
}
