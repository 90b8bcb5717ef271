//! The network: how long a message takes, and whether it may overtake another.

use std::collections::HashMap;

use vorrang_protocol::{NodeId, Order};

use crate::time::{Beyond, later_ns};
use crate::{Distribution, LatencyMatrix, Random};

/// How messages travel between any two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// How long a message takes.
    pub latency: Distribution,
    /// Whether messages from one node to another keep their order. On a FIFO link, one that would
    /// overtake arrives together with the one before.
    pub order: Order,
}

impl Network {
    /// Every message takes so many milliseconds.
    pub const fn constant_ms(ms: u64) -> Self {
        // A time that overflows lies beyond the end of simulated time, where the run reports it.
        Self { latency: Distribution::Constant(ms.saturating_mul(1_000_000)), order: Order::Any }
    }
}

/// When the last message on each link arrives: what keeps a FIFO link in order.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    nodes: usize,
    network: Network,
    /// How long a message takes on each link, if not on all alike.
    matrix: Option<LatencyMatrix>,
    arrivals: Arrivals,
}

#[derive(Clone, Debug)]
enum Arrivals {
    /// Nothing can overtake, so nothing needs to be remembered.
    InOrderAnyway,
    Dense(Vec<u64>),
    Sparse(HashMap<(NodeId, NodeId), u64>),
}

/// A table of all links is faster than a map, up to this many nodes (8 MiB).
const DENSE_NODES: usize = 1024;

impl Links {
    pub(crate) fn new(nodes: usize, network: Network) -> Self {
        let mut links = Self { nodes, network, matrix: None, arrivals: Arrivals::InOrderAnyway };
        if !network.latency.is_constant() {
            links.expect_overtaking();
        }
        links
    }

    /// Messages take as long as the matrix says; on one link all take equally long, so that none
    /// overtakes another.
    pub(crate) fn take(&mut self, matrix: LatencyMatrix) {
        (self.matrix, self.arrivals) = (Some(matrix), Arrivals::InOrderAnyway);
    }

    /// Messages do not take equally long: where they keep their order, that must be seen to.
    pub(crate) fn expect_overtaking(&mut self) {
        self.arrivals = match self.network.order {
            Order::Any => Arrivals::InOrderAnyway,
            Order::Fifo if self.nodes <= DENSE_NODES => {
                Arrivals::Dense(vec![0; self.nodes * self.nodes])
            }
            Order::Fifo => Arrivals::Sparse(HashMap::new()),
        };
    }

    /// How long a message takes.
    #[inline]
    pub(crate) fn draw(&self, from: NodeId, to: NodeId, random: &mut Random) -> u64 {
        match &self.matrix {
            None => self.network.latency.draw(random),
            Some(matrix) => matrix.takes_ns(from, to),
        }
    }

    /// When a message sent now arrives, unless time has ended by then.
    #[inline]
    pub(crate) fn arrival_ns(
        &mut self,
        now_ns: u64,
        from: NodeId,
        to: NodeId,
        random: &mut Random,
    ) -> Result<u64, Beyond> {
        let in_ns = self.draw(from, to, random);
        self.arrival_after_ns(now_ns, in_ns, from, to)
    }

    /// The same, if it takes so long.
    #[inline]
    pub(crate) fn arrival_after_ns(
        &mut self,
        now_ns: u64,
        in_ns: u64,
        from: NodeId,
        to: NodeId,
    ) -> Result<u64, Beyond> {
        let arrival_ns = later_ns(now_ns, in_ns)?;
        let last_ns = match &mut self.arrivals {
            Arrivals::InOrderAnyway => return Ok(arrival_ns),
            Arrivals::Dense(last_ns) => &mut last_ns[from.index() * self.nodes + to.index()],
            Arrivals::Sparse(last_ns) => last_ns.entry((from, to)).or_default(),
        };
        *last_ns = arrival_ns.max(*last_ns);
        Ok(*last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(order: Order, nodes: usize) -> Vec<u64> {
        let network = Network { latency: Distribution::Uniform(0, 1000), order };
        let mut links = Links::new(nodes, network);
        let mut random = Random::new(1);
        let (from, to) = (NodeId(0), NodeId(1));
        (0..50).map(|now| links.arrival_ns(now, from, to, &mut random).unwrap()).collect()
    }

    #[test]
    fn a_fifo_link_keeps_order_and_another_does_not() {
        assert!(arrivals(Order::Fifo, 2).is_sorted());
        assert!(!arrivals(Order::Any, 2).is_sorted());
    }

    #[test]
    fn large_groups_keep_order_as_well() {
        assert_eq!(arrivals(Order::Fifo, 2), arrivals(Order::Fifo, DENSE_NODES + 1));
    }

    #[test]
    fn a_fifo_link_that_is_slow_for_a_while_keeps_its_order() {
        let network = Network { latency: Distribution::Constant(5), order: Order::Fifo };
        let (from, to, mut random) = (NodeId(0), NodeId(1), Random::new(1));
        let mut links = Links::new(2, network);
        links.expect_overtaking();
        assert_eq!(links.arrival_after_ns(0, 50, from, to), Ok(50));
        assert_eq!(links.arrival_ns(10, from, to, &mut random), Ok(50));
        assert_eq!(links.arrival_ns(60, from, to, &mut random), Ok(65));
    }

    #[test]
    fn links_do_not_hold_each_other_up() {
        let network = Network { latency: Distribution::Constant(5), order: Order::Fifo };
        let mut links = Links::new(3, network);
        let mut random = Random::new(1);
        assert_eq!(links.arrival_ns(10, NodeId(0), NodeId(1), &mut random), Ok(15));
        assert_eq!(links.arrival_ns(0, NodeId(1), NodeId(0), &mut random), Ok(5));
    }

    #[test]
    fn a_message_that_would_arrive_after_the_end_of_time_does_not_arrive_before_it() {
        let network = Network { latency: Distribution::Uniform(1, 10), order: Order::Fifo };
        let (from, to, mut random) = (NodeId(0), NodeId(1), Random::new(1));
        let mut links = Links::new(2, network);
        let last = u64::MAX - 11;
        let before = links.arrival_ns(last, from, to, &mut random).unwrap();
        assert!(before > last);
        let beyond = links.arrival_ns(u64::MAX - 1, from, to, &mut random).unwrap_err();
        assert!((1..=10).contains(&beyond.in_ns));
        // The one that never arrives does not hold up others.
        assert!(links.arrival_ns(last, from, to, &mut random).unwrap() < u64::MAX);
        let mut never = Links::new(2, Network::constant_ms(u64::MAX));
        assert!(never.arrival_ns(0, from, to, &mut random).is_err());
    }
}
