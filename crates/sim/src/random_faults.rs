//! Faults drawn at random: a menu of rates, from which a seed makes a plan.
//!
//! A drawn plan is a script like any other, so that everything in it could have been ordered. All
//! times are in units of T, the mean latency of a message; gaps between faults are memoryless.
//!
//! | | mild | harsh |
//! | --- | --- | --- |
//! | messages lost, doubled, overtaken | 1 % each | 5 % each |
//! | a node stands still, for 5…50 T | every 200 T | every 100 T |
//! | a link is 2…10 times as slow, for 10…100 T | every 200 T | every 100 T |
//! | a node crashes, and is back after 20…200 T | – | every 200 T |
//! | the network falls in two, for 20…100 T | – | every 300 T |
//!
//! Fewer than half of the nodes are down at a time. All is over, and everyone up, by a given time:
//! whether an algorithm gets over its faults can only be seen if they stop.

use vorrang_protocol::NodeId;

use crate::Random;
use crate::faults::{Fault, Faults, Partition, Share, Slow, Slowness};

/// How much goes wrong at random.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// Nothing that a layer of reliable channels would not make up for.
    Mild,
    /// Crashes and partitions besides, and more of everything.
    Harsh,
}

/// From one fault of a kind to the next, in T on average; none if there are none.
struct Rates {
    messages: Share,
    pauses: Option<u64>,
    slow: Option<u64>,
    crashes: Option<u64>,
    partitions: Option<u64>,
}

impl Severity {
    const fn rates(self) -> Rates {
        match self {
            Self::Mild => Rates {
                messages: Share::percent(1),
                pauses: Some(200),
                slow: Some(200),
                crashes: None,
                partitions: None,
            },
            Self::Harsh => Rates {
                messages: Share::percent(5),
                pauses: Some(100),
                slow: Some(100),
                crashes: Some(200),
                partitions: Some(300),
            },
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Pause,
    Slow,
    Crash,
    Partition,
}

/// The most faults in one plan: a short T would make too many.
const MOST: usize = 100_000;

impl Faults {
    /// The plan for so many nodes: with T in nanoseconds, and all faults over by `until_ns`.
    pub fn drawn(severity: Severity, nodes: u32, unit_ns: u64, until_ns: u64, seed: u64) -> Self {
        let rates = severity.rates();
        let mut draw = Draw {
            // Another generator than those of all other draws, decided by the same seed.
            random: Random::new(seed ^ 0x9fb2_1c65_1e98_df25),
            nodes,
            unit_ns: unit_ns.max(1),
            until_ns,
            free_ns: vec![0; nodes as usize],
            down: Vec::new(),
            script: Vec::new(),
        };
        let kinds = [
            (Kind::Pause, rates.pauses),
            (Kind::Slow, rates.slow),
            (Kind::Crash, rates.crashes),
            (Kind::Partition, rates.partitions),
        ];
        let mut next: Vec<(u64, Kind, u64)> = Vec::new();
        for (kind, every) in kinds {
            if let Some(every) = every {
                next.push((draw.gap_ns(every), kind, every));
            }
        }
        while let Some(first) = next.iter_mut().min_by_key(|(at_ns, ..)| *at_ns)
            && first.0 < until_ns
            && draw.script.len() < MOST
        {
            let (at_ns, kind, every) = *first;
            first.0 = at_ns.saturating_add(draw.gap_ns(every));
            draw.add(at_ns, kind);
        }
        let mut script = draw.script;
        script.sort_by_key(|&(at_ns, _)| at_ns);
        Self::default()
            .script(script)
            .loss(rates.messages)
            .duplication(rates.messages)
            .reordering(rates.messages)
            .until_ns(until_ns)
    }
}

/// A plan in the making.
struct Draw {
    random: Random,
    nodes: u32,
    unit_ns: u64,
    until_ns: u64,
    /// For each node, until when it is down or stands still.
    free_ns: Vec<u64>,
    /// Until when a node is down.
    down: Vec<u64>,
    script: Vec<(u64, Fault)>,
}

impl Draw {
    fn gap_ns(&mut self, every: u64) -> u64 {
        self.random.exponential(every as f64 * self.unit_ns as f64) as u64
    }

    /// The end of something that begins at a time and takes so many T.
    fn end_ns(&mut self, at_ns: u64, shortest: u64, longest: u64) -> u64 {
        let units = |count: u64| count.saturating_mul(self.unit_ns);
        let ns = self.random.between(units(shortest), units(longest));
        at_ns.saturating_add(ns).min(self.until_ns)
    }

    fn node(&mut self) -> NodeId {
        NodeId(self.random.below(self.nodes.into()) as u32)
    }

    /// One that is up at this time and does not stand still, if the draw falls on one.
    fn free_node(&mut self, at_ns: u64) -> Option<NodeId> {
        let node = self.node();
        (self.free_ns[node.index()] <= at_ns).then_some(node)
    }

    /// Everything is drawn whether or not it can happen, so that one fault that cannot does not
    /// make another plan of the rest.
    fn add(&mut self, at_ns: u64, kind: Kind) {
        match kind {
            Kind::Pause => {
                let (node, end_ns) = (self.free_node(at_ns), self.end_ns(at_ns, 5, 50));
                if let Some(node) = node {
                    self.free_ns[node.index()] = end_ns;
                    self.span(at_ns, end_ns, Fault::Pause(node), Fault::Resume(node));
                }
            }
            Kind::Slow => {
                let (one, other) = (self.node(), self.node());
                let by = Slowness::Times(self.random.between(2, 10) as u32);
                let end_ns = self.end_ns(at_ns, 10, 100);
                let slow = Slow { from: Some(one), to: Some(other), both_ways: true, by };
                if one != other {
                    self.span(at_ns, end_ns, Fault::Slow(slow), Fault::Recover(slow));
                }
            }
            Kind::Crash => {
                let (node, end_ns) = (self.free_node(at_ns), self.end_ns(at_ns, 20, 200));
                self.down.retain(|&until_ns| until_ns > at_ns);
                let is_minority = 2 * (self.down.len() as u32 + 1) < self.nodes;
                if let Some(node) = node.filter(|_| is_minority) {
                    self.free_ns[node.index()] = end_ns;
                    self.down.push(end_ns);
                    self.span(at_ns, end_ns, Fault::Crash(node), Fault::Restart(node));
                }
            }
            Kind::Partition => {
                let nodes = (0..self.nodes).map(NodeId);
                let side: Vec<NodeId> = nodes.filter(|_| self.random.below(2) == 0).collect();
                let end_ns = self.end_ns(at_ns, 20, 100);
                if let Ok(partition) = Partition::new(&[side])
                    && partition.is_real(self.nodes)
                {
                    let healed = Fault::Heal(partition.clone());
                    self.span(at_ns, end_ns, Fault::Partition(partition), healed);
                }
            }
        }
    }

    fn span(&mut self, at_ns: u64, end_ns: u64, begins: Fault, ends: Fault) {
        self.script.push((at_ns, begins));
        self.script.push((end_ns, ends));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u64 = 1_000_000;

    fn drawn(severity: Severity, nodes: u32, seed: u64) -> Faults {
        Faults::drawn(severity, nodes, T, 1000 * T, seed)
    }

    #[test]
    fn a_seed_makes_one_plan_and_another_seed_another() {
        assert_eq!(drawn(Severity::Harsh, 5, 7), drawn(Severity::Harsh, 5, 7));
        assert_ne!(drawn(Severity::Harsh, 5, 7), drawn(Severity::Harsh, 5, 8));
    }

    #[test]
    fn everything_begins_once_and_is_over_in_time_and_few_are_down_together() {
        for seed in 0..200 {
            for nodes in [1, 2, 3, 8] {
                let (mut down, mut still, mut cut, mut slow) = (vec![], vec![], vec![], vec![]);
                let plan = drawn(Severity::Harsh, nodes, seed);
                assert!(plan.script.is_sorted_by_key(|&(at_ns, _)| at_ns));
                for (at_ns, fault) in plan.script {
                    assert!(at_ns <= 1000 * T);
                    let is_free = |node| !down.contains(&node) && !still.contains(&node);
                    match fault {
                        Fault::Crash(node) => {
                            assert!(is_free(node));
                            down.push(node);
                            assert!(2 * (down.len() as u32) < nodes, "{down:?} of {nodes}");
                        }
                        Fault::Restart(node) => down.retain(|&it| it != node),
                        Fault::Pause(node) => {
                            assert!(is_free(node));
                            still.push(node);
                        }
                        Fault::Resume(node) => still.retain(|&it| it != node),
                        Fault::Partition(partition) => cut.push(partition),
                        Fault::Heal(partition) => cut.retain(|it| *it != partition),
                        Fault::Cut(_) | Fault::Mend(_) => panic!("no link is cut by chance"),
                        Fault::Slow(it) => slow.push(it),
                        Fault::Recover(it) => slow.retain(|other| *other != it),
                    }
                }
                assert!(down.is_empty() && still.is_empty() && cut.is_empty() && slow.is_empty());
            }
        }
    }

    #[test]
    fn as_much_is_drawn_as_the_menu_says() {
        let count = |severity, is_it: fn(&Fault) -> bool| {
            let plans = (0..200).map(|seed| drawn(severity, 9, seed));
            plans.flat_map(|plan| plan.script).filter(|(_, fault)| is_it(fault)).count()
        };
        let pauses = |it: &Fault| matches!(it, Fault::Pause(_));
        let crashes = |it: &Fault| matches!(it, Fault::Crash(_));
        let partitions = |it: &Fault| matches!(it, Fault::Partition(_));
        // 200 plans of 1000 T each; some draws fall on nodes that are down or stand still.
        assert!((900..1050).contains(&count(Severity::Mild, pauses)));
        assert!((1700..2050).contains(&count(Severity::Harsh, pauses)));
        assert!((850..1050).contains(&count(Severity::Harsh, crashes)));
        assert!((600..730).contains(&count(Severity::Harsh, partitions)));
        assert_eq!(count(Severity::Mild, crashes) + count(Severity::Mild, partitions), 0);
    }

    #[test]
    fn a_short_unit_does_not_make_endless_plans() {
        assert!(Faults::drawn(Severity::Harsh, 5, 0, u64::MAX, 1).script.len() <= MOST + 1);
    }
}
