//! Failure detection: who is down is noticed, who is up is trusted again, and mistakes end.

use std::time::Duration;

use vorrang_algorithms::detection::card::{Card, Jitter};
use vorrang_algorithms::detection::spec::Suspicions;
use vorrang_algorithms::detection::{Command, Detection, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::find;
use vorrang_protocol::{Group, NodeId, Order};
use vorrang_sim::{
    Distribution, Fault, Faults, Network, Partition, Random, Report, Simulation, Workload,
    WorkloadEffects,
};
use vorrang_trace::{Meter, Sent};

const MS: u64 = 1_000_000;

/// Nobody asks for anything; when each was first suspected is written down.
#[derive(Debug)]
struct Silent;

impl Workload<Command, Notice> for Silent {
    type Meter = Tally;

    fn meter(&self, _: u32, _: &'static [&'static str]) -> Tally {
        Tally::default()
    }
    fn on_start(&mut self, _: &mut WorkloadEffects<'_, Command>) {}
}

#[derive(Clone, Debug, Default)]
struct Tally {
    messages: u64,
    suspected: Vec<(u64, NodeId, NodeId)>,
    last_ns: u64,
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, command: &Command) {
        match *command {}
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        self.last_ns = at_ns;
        if let Notice::Suspect(of) = *notice {
            self.suspected.push((at_ns, at, of));
        }
    }
    fn on_send(&mut self, _: NodeId, _: NodeId, _: Sent) {
        self.messages += 1;
    }
    fn on_receive(&mut self, _: u64, _: NodeId, _: NodeId, (): ()) {}
    fn progress(&self) -> u64 {
        self.messages
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

struct Run<'a> {
    nodes: u32,
    latency: Distribution,
    script: Vec<(u64, Fault)>,
    end_ns: u64,
    seed: u64,
    monitor: &'a dyn Fn(&Card, &Setup) -> Suspicions,
}

impl Run<'_> {
    fn done(&self, flaw: Option<&str>) -> Report<Tally> {
        let entry = find::<Detection>("heartbeat", flaw).unwrap();
        let setup = Setup::new(Group::of(self.nodes));
        let network = Network { latency: self.latency, order: Order::Any };
        let faults = Faults::default().script(self.script.clone());
        Simulation::new(
            entry.population(&setup).unwrap(),
            (self.monitor)(entry.card, &setup),
            network,
            Silent,
            self.seed,
        )
        .with_faults(faults, self.seed)
        .until(self.end_ns)
        .run()
        .unwrap()
    }
}

/// Mistakes are counted, if messages differ by so much at most.
fn counted(spread_ns: u64) -> impl Fn(&Card, &Setup) -> Suspicions {
    move |card, setup| {
        let spread = Duration::from_nanos(spread_ns);
        let second = Some(Duration::from_secs(1));
        let allowed = (card.terms.mistakes)(setup, Jitter { longest: spread, spread }, second);
        assert!(allowed.is_some());
        Suspicions::new(setup.group, allowed).cut_off()
    }
}

/// All that is wrong when the run ends is objected to.
fn strict(_: &Card, setup: &Setup) -> Suspicions {
    Suspicions::new(setup.group, None)
}

#[test]
fn a_crash_is_noticed_by_all_when_the_card_says() {
    for (crash_ns, noticed_ns) in [(52 * MS, 56_500_000), (50 * MS, 51_500_000), (0, 5_500_000)] {
        let run = Run {
            nodes: 4,
            latency: Distribution::Constant(MS),
            script: vec![(crash_ns, Fault::Crash(NodeId(2)))],
            end_ns: 100 * MS,
            seed: 1,
            monitor: &counted(0),
        };
        let report = run.done(None);
        let all = [0, 1, 3].map(|at| (noticed_ns, NodeId(at), NodeId(2)));
        assert_eq!(report.summary.suspected, all);
        assert!(report.is_safe() && report.is_quiescent(), "{report:?}");
        let up = Run { script: Vec::new(), ..run }.done(None);
        assert_eq!(up.summary.messages, 4 * 3 * 21, "at 0, 5, 10, … and 100 ms");
    }
}

#[test]
fn nothing_happens_after_the_end() {
    let run = Run {
        nodes: 2,
        latency: Distribution::Constant(MS),
        script: vec![(99 * MS, Fault::Crash(NodeId(0))), (101 * MS, Fault::Restart(NodeId(0)))],
        end_ns: 100 * MS,
        seed: 1,
        monitor: &strict,
    };
    let report = run.done(None);
    assert!(report.is_over && report.now_ns <= 100 * MS, "{report:?}");
    assert_eq!((report.faults.crashes, report.faults.restarts), (1, 0));
    let what = report.at_rest.expect("nobody could notice so soon").what;
    assert_eq!(what, "node 1 does not suspect node 0, which is down");
}

/// Nodes crash and come up again, and the network is cut: within the bound on mistakes, and in the
/// end all is as it should be.
#[test]
fn whatever_happens_mistakes_end_and_crashes_are_noticed() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let nodes = 2 + (seed % 5) as u32;
        let spread_ns = [0, MS / 2, 2 * MS, 5 * MS][random.below(4) as usize];
        let mut script = Vec::new();
        for id in (0..nodes).map(NodeId) {
            if random.below(3) > 0 {
                continue;
            }
            let at_ns = random.below(200 * MS);
            script.push((at_ns, Fault::Crash(id)));
            if random.below(2) == 0 {
                script.push((at_ns + 1 + random.below(50 * MS), Fault::Restart(id)));
            }
        }
        let side: Vec<NodeId> = (0..nodes).map(NodeId).filter(|_| random.below(2) == 0).collect();
        if let Ok(cut) = Partition::new(&[side])
            && random.below(2) == 0
        {
            let at_ns = random.below(100 * MS);
            script.push((at_ns, Fault::Partition(cut.clone())));
            script.push((at_ns + 1 + random.below(100 * MS), Fault::Heal(cut)));
        }
        script.sort_by_key(|it| it.0);
        let run = Run {
            nodes,
            latency: Distribution::Uniform(0, spread_ns),
            script,
            end_ns: 1000 * MS,
            seed,
            monitor: &counted(spread_ns),
        };
        let report = run.done(None);
        assert!(report.is_safe() && report.is_quiescent(), "{seed}: {report:?}");
        let strictly = Run { end_ns: 1003 * MS, monitor: &strict, ..run }.done(None);
        assert!(spread_ns > 2 * MS || strictly.is_quiescent(), "{seed}: {strictly:?}");
    }
}

#[test]
fn what_is_wrong_on_purpose_is_seen_to_be_wrong() {
    let bounded = counted(2 * MS);
    let run = |monitor, script| Run {
        nodes: 3,
        latency: Distribution::Uniform(0, 2 * MS),
        script,
        end_ns: 1000 * MS,
        seed: 1,
        monitor,
    };
    let stays = run(&strict, Vec::new()).done(Some("never-recovers"));
    assert_eq!(stays.at_rest.expect("one late message is enough").property, "accuracy");
    assert!(run(&strict, Vec::new()).done(None).is_quiescent());
    let again = run(&bounded, Vec::new()).done(Some("learns-nothing"));
    assert_eq!(again.first_violation.expect("it learns nothing").1.property, "accuracy");
    let down = vec![(0, Fault::Crash(NodeId(2)))];
    let unnoticed = run(&bounded, down).done(Some("first-awaited-for-ever"));
    assert_eq!(unnoticed.at_rest.expect("it was never heard").property, "completeness");
}

/// How long after the crash of node 1 node 0 suspects it, in microseconds: after so many times that
/// it was cut off for a while and came back, and so many seconds of quiet.
fn fail_over_us(mistakes: u64, quiet_s: u64) -> u64 {
    const AWAY: u64 = 40 * MS;
    let cut = Partition::new(&[vec![NodeId(1)]]).unwrap();
    let mut script = Vec::new();
    for time in 0..mistakes {
        let at_ns = 51 * MS + 2 * AWAY * time;
        script.push((at_ns, Fault::Partition(cut.clone())));
        script.push((at_ns + AWAY, Fault::Heal(cut.clone())));
    }
    let crash_ns = 51 * MS + 2 * AWAY * mistakes + quiet_s * 1000 * MS;
    script.push((crash_ns, Fault::Crash(NodeId(1))));
    let run = Run {
        nodes: 2,
        latency: Distribution::Constant(MS),
        script,
        end_ns: crash_ns + 1000 * MS,
        seed: 1,
        monitor: &strict,
    };
    let report = run.done(None);
    let of_it = |&&(_, at, of): &&(u64, NodeId, NodeId)| (at, of) == (NodeId(0), NodeId(1));
    let suspected: Vec<_> = report.summary.suspected.iter().filter(of_it).collect();
    assert_eq!(suspected.len() as u64, mistakes + 1, "{suspected:?}");
    (suspected[mistakes as usize].0 - crash_ns) / 1000
}

/// A crash a millisecond after a heartbeat was sent is noticed 5 ms, the margin and no more later;
/// the margin is 0.5 ms, and at most ten times that.
#[test]
fn a_crash_is_noticed_soon_however_often_its_node_was_suspected_wrongly() {
    let after = [0, 3, 6, 8].map(|mistakes| fail_over_us(mistakes, 0));
    assert_eq!(after, [5_500, 9_000, 10_000, 10_000]);
    let minutes = [1, 2, 3, 4, 5].map(|minutes| fail_over_us(8, 60 * minutes));
    assert_eq!(minutes, [9_000, 7_000, 6_000, 5_500, 5_500], "one doubling a minute");
}
