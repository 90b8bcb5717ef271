//! A run in progress: applications take turns, and processes and links are struck meanwhile.
//!
//! Heartbeats go on for ever, so silence says nothing: the run is over when all that are up have
//! taken their turns and no fault is to come, or when nobody has entered for so long that nobody
//! ever will.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use vorrang_algorithms::mutex::Command;
use vorrang_protocol::NodeId;
use vorrang_sim::{Fault, FaultCounts, Random};

use super::super::News;
use super::super::Nodes;
use super::super::local::Local;
use super::super::processes::Processes;
use super::super::turns::{acquire, quota};
use super::script;
use crate::failure::Failure;
use crate::options::mutex::LoadKind;
use crate::problem::Scene as _;
use crate::problem::mutex::Scenario;
use crate::progress::Progress;

/// How long everything else may take besides what is waited for, on a busy machine.
const BUSY: Duration = Duration::from_secs(5);
/// How long an entry may take on a busy machine, besides thinking and staying inside.
const ENTRY: Duration = Duration::from_millis(20);
/// How much longer than the mean of a time several of them may take.
const TIMES_THE_MEAN: f64 = 30.0;

/// How a run went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Whether everyone that is up has taken its turns.
    pub(super) is_over: bool,
    /// What was done to nodes and links.
    pub(super) struck: FaultCounts,
}

/// Nodes that can be struck, if each has a process.
pub(super) trait Members: Nodes {
    /// Makes a node stand still, or go on.
    fn pause(&mut self, node: NodeId, is_still: bool) -> Result<(), Failure>;
    /// Cuts these links and no others.
    fn cut(&mut self, links: BTreeSet<(NodeId, NodeId)>);
    /// So many turns are left to a node that is started again.
    fn leave_turns(&mut self, node: NodeId, turns: u64);
}

impl Members for Processes {
    fn pause(&mut self, node: NodeId, is_still: bool) -> Result<(), Failure> {
        Self::pause(self, node, is_still)
    }
    fn cut(&mut self, links: BTreeSet<(NodeId, NodeId)>) {
        Self::cut(self, links);
    }
    fn leave_turns(&mut self, node: NodeId, turns: u64) {
        Self::leave_turns(self, node, turns);
    }
}

/// Nothing is done to nodes of one process: that is refused before.
impl Members for Local<Command> {
    fn pause(&mut self, node: NodeId, _: bool) -> Result<(), Failure> {
        Err(Failure::usage(format!("node {node} has no process of its own to be stopped")))
    }
    fn cut(&mut self, _: BTreeSet<(NodeId, NodeId)>) {}
    fn leave_turns(&mut self, _: NodeId, _: u64) {}
}

/// A run in progress.
pub(super) struct Session<'a, M> {
    scenario: &'a Scenario,
    members: &'a mut M,
    news: UnboundedReceiver<News>,
    bar: Progress<'a>,
    /// The next one last, with times from the first entry on.
    to_come: Vec<(Duration, Fault)>,
    /// When somebody entered for the first time: then there is a group.
    begun: Option<Instant>,
    /// When something happened last.
    latest: Instant,
    /// By when it is given up.
    ends: Instant,
    patience: Duration,
    down: BTreeSet<NodeId>,
    were_down: BTreeSet<NodeId>,
    /// Cuts and partitions in effect.
    apart: Vec<Fault>,
    entries: BTreeMap<NodeId, u64>,
    struck: FaultCounts,
}

impl<'a, M: Members> Session<'a, M> {
    pub(super) fn new(
        scenario: &'a Scenario,
        members: &'a mut M,
        news: UnboundedReceiver<News>,
        progress: Option<Progress<'a>>,
    ) -> Self {
        let mut to_come = script(scenario);
        let last = to_come.last().map_or(Duration::ZERO, |it| it.0);
        to_come.reverse();
        let (patience, now) = (patience(scenario), Instant::now());
        let each = ENTRY.saturating_add(Duration::from_nanos(4 * busy_ns(scenario) as u64));
        let entries = u32::try_from(scenario.entries).unwrap_or(u32::MAX);
        let lasts = patience.saturating_mul(2) + last;
        let lasts = lasts.saturating_add(each.saturating_mul(entries));
        Self {
            scenario,
            members,
            news,
            bar: progress.unwrap_or(&|_| {}),
            to_come,
            begun: None,
            latest: now,
            ends: now.checked_add(lasts).unwrap_or(now + Duration::from_secs(1 << 30)),
            patience,
            down: BTreeSet::new(),
            were_down: BTreeSet::new(),
            apart: Vec::new(),
            entries: BTreeMap::new(),
            struck: FaultCounts::default(),
        }
    }

    /// Lets the nodes do what the scenario says, to the end.
    pub(super) async fn run(mut self) -> Result<Course, Failure> {
        let scenario = self.scenario;
        let asking = scenario.asking();
        let (contenders, nodes) = (u64::from(scenario.contenders()), scenario.nodes());
        let mut random = Random::new(scenario.seed());
        let mut left = scenario.entries;
        let mut is_over = true;
        while is_over && left > 0 {
            let busy: BTreeSet<NodeId> = match scenario.load {
                // They ask by themselves; one with nothing to do is done without saying so.
                LoadKind::Heavy => asking.iter(nodes).take(contenders.min(left) as usize).collect(),
                LoadKind::Light => [asking.nth(random.below(contenders) as u32)].into(),
                LoadKind::Burst => asking.iter(nodes).take(left.min(contenders) as usize).collect(),
            };
            left -= match scenario.load {
                LoadKind::Heavy => left,
                LoadKind::Light | LoadKind::Burst => busy.len() as u64,
            };
            if scenario.load != LoadKind::Heavy {
                for &node in &busy {
                    self.members.ask(node, acquire(scenario, &mut random)).await?;
                }
            }
            is_over = self.until_done(busy).await?;
        }
        self.mend()?;
        // Asked for its counts, a node has done all that it was told before.
        self.members.counts().await?;
        Ok(Course { is_over, struck: self.struck })
    }

    /// Waits until all of these that are up have taken their turns and no fault is to come; false
    /// if that will not be.
    async fn until_done(&mut self, mut busy: BTreeSet<NodeId>) -> Result<bool, Failure> {
        const SOON: Duration = Duration::from_millis(200);
        loop {
            busy.extend(self.strike().await?);
            if self.to_come.is_empty() && busy.is_subset(&self.down) {
                return Ok(true);
            }
            let is_late = self.latest.elapsed() > self.patience;
            if is_late && self.to_come.is_empty() || Instant::now() > self.ends {
                return Ok(false);
            }
            // Where nobody enters at all, there is no group to strike.
            if self.begun.is_none() && is_late {
                return Ok(false);
            }
            let due = self.due().unwrap_or(SOON).min(SOON);
            match timeout(due, self.news.recv()).await {
                Err(_elapsed) => {}
                Ok(Some(News::Done(node))) => {
                    busy.remove(&node);
                }
                Ok(Some(News::Entered(node))) => {
                    self.begun.get_or_insert_with(Instant::now);
                    self.latest = Instant::now();
                    *self.entries.entry(node).or_default() += 1;
                    (self.bar)(self.entries.values().sum());
                }
                // The pipe of a killed process ends, perhaps after the next one has begun.
                Ok(Some(News::Gone(node))) if self.were_down.contains(&node) => {}
                // Nobody has ended it: that is a finding.
                Ok(Some(News::Gone(node))) => {
                    return Err(Failure::Failed(format!("node {node}: its process has gone")));
                }
                Ok(Some(News::Failed(node, _))) if self.down.contains(&node) => {}
                Ok(Some(News::Failed(node, why))) => {
                    return Err(Failure::Failed(format!("node {node}: {why}")));
                }
                Ok(None) => return Err(Failure::World("all nodes have gone".to_owned())),
            }
        }
    }

    /// How long it is until the next fault.
    fn due(&self) -> Option<Duration> {
        let (at, _) = self.to_come.last()?;
        Some(at.saturating_sub(self.begun?.elapsed()))
    }

    /// Does what is due; the nodes that were started again and have turns to take.
    async fn strike(&mut self) -> Result<BTreeSet<NodeId>, Failure> {
        let mut again = BTreeSet::new();
        while self.due() == Some(Duration::ZERO)
            && let Some((_, fault)) = self.to_come.pop()
        {
            self.latest = Instant::now();
            match fault {
                Fault::Crash(node) => {
                    self.members.kill(node).await?;
                    self.struck.crashes += 1;
                    self.down.insert(node);
                    self.were_down.insert(node);
                }
                Fault::Restart(node) => {
                    let whole = quota(self.scenario, node);
                    let taken = self.entries.get(&node).copied().unwrap_or_default();
                    // One at least: whoever comes back is to be served.
                    let turns = if whole == 0 { 0 } else { whole.saturating_sub(taken).max(1) };
                    self.members.leave_turns(node, turns);
                    self.members.restart(node).await?;
                    self.struck.restarts += 1;
                    self.down.remove(&node);
                    again.extend((turns > 0).then_some(node));
                }
                Fault::Pause(node) => {
                    self.members.pause(node, true)?;
                    self.struck.pauses += 1;
                }
                Fault::Resume(node) => self.members.pause(node, false)?,
                Fault::Partition(_) | Fault::Cut(_) => {
                    self.struck.partitions += 1;
                    self.apart.push(fault);
                    self.cut();
                }
                Fault::Heal(ref partition) => {
                    let is_it = |it: &Fault| matches!(it, Fault::Partition(it) if it == partition);
                    self.whole(is_it);
                }
                Fault::Mend(ref link) => {
                    self.whole(|it| matches!(it, Fault::Cut(it) if it == link));
                }
                // How long messages take is not known there: refused before.
                Fault::Slow(_) | Fault::Recover(_) => {}
            }
        }
        Ok(again)
    }

    /// Such a cut is over; others like it may not be.
    fn whole(&mut self, is_it: impl Fn(&Fault) -> bool) {
        if let Some(place) = self.apart.iter().position(is_it) {
            self.apart.remove(place);
        }
        self.cut();
    }

    fn cut(&mut self) {
        let nodes = || (0..self.scenario.nodes()).map(NodeId);
        let pairs = nodes().flat_map(|from| nodes().map(move |to| (from, to)));
        let is_cut = |&(from, to): &(NodeId, NodeId)| {
            self.apart.iter().any(|it| match it {
                Fault::Partition(partition) => partition.separates(from, to),
                Fault::Cut(link) => link.carries(from, to),
                _ => false,
            })
        };
        let links = pairs.filter(is_cut).collect();
        self.members.cut(links);
    }

    /// Lets everybody go on, so that all can be stopped in good order.
    fn mend(&mut self) -> Result<(), Failure> {
        self.apart.clear();
        self.cut();
        let over = std::mem::take(&mut self.to_come);
        for (_, fault) in over {
            if let Fault::Resume(node) = fault {
                self.members.pause(node, false)?;
            }
        }
        Ok(())
    }
}

/// How long a node thinks and stays inside, on average.
fn busy_ns(scenario: &Scenario) -> f64 {
    scenario.think.mean_ns() + scenario.hold_over_tcp().mean_ns()
}

/// For how long nobody enters though somebody will: after many wrong suspicions a silent node is
/// given as many margins as there may be, and leases are waited for besides.
fn patience(scenario: &Scenario) -> Duration {
    let setup = scenario.setup();
    let noticed = setup.beat.saturating_add(setup.margin.saturating_mul(setup.margin_cap));
    let lease = scenario.views.as_ref().and_then(|it| it.orders().0);
    let lease = lease.map_or(Duration::ZERO, |(length, _)| length);
    let busy = Duration::from_nanos((TIMES_THE_MEAN * busy_ns(scenario)) as u64);
    BUSY.saturating_add(noticed.saturating_add(lease).saturating_mul(2)).saturating_add(busy)
}
