//! How far away others are, known or measured.
//!
//! SRM measures by session messages: A sends its clock; B echoes A's clock in one of its own, with
//! the time since it received it; the rest of A's time since then is the round trip. A node here
//! has no clock, so it counts ticks while it measures, and measures every other until it has three
//! answers of it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{NodeId, NodeState, SortedMap, StateValue, show_duration_ns};

use crate::multicast::ordered::carrier::{links, longest};
use crate::setup::{Distances, Setup};

/// A distance is known well enough after so many answers.
const ENOUGH: u8 = 3;
/// Ticks in the longest time that a message takes over a link.
const TICKS: u32 = 8;

/// How far away others are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Map {
    /// The assumed distance while it is not known.
    longest: Duration,
    way: Way,
    /// How long a tick takes: the same everywhere, since others hear of it.
    tick: Duration,
    /// Ticks that were counted.
    ticks: u32,
    /// How many there were when the clock was last started; none if it stands.
    began: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Way {
    /// All the same.
    Even,
    /// So many links, each of which takes so long.
    Links(Arc<[u32]>, Duration),
    /// The distances of all members, and how many are not known well enough.
    Measured { peers: SortedMap<NodeId, Peer>, left: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Peer {
    distance: Option<Duration>,
    answers: u8,
    /// Its clock, and this member's when that was heard.
    echo: Option<(u32, u32)>,
}

impl Map {
    /// The clock, and what was measured of others: distance, answers, and its clock with this
    /// member's when that was heard.
    pub(in crate::multicast) fn state(&self) -> NodeState {
        let state = NodeState::new().with("ticks", self.ticks).with("began", self.began);
        let Way::Measured { peers, .. } = &self.way else { return state };
        let peers = peers.iter().map(|(&id, peer)| {
            let distance = peer.distance.map(|it| show_duration_ns(it.as_nanos() as u64));
            (id, (distance, peer.answers, peer.echo))
        });
        state.with("distances", StateValue::list(peers))
    }

    pub(in crate::multicast) fn of(me: NodeId, setup: &Setup) -> Self {
        let others = setup.group.size() - 1;
        let way = match (setup.distances, links(me, setup)) {
            (Distances::Measured, _) => Way::Measured { peers: SortedMap::new(), left: others },
            (Distances::Known, None) => Way::Even,
            (Distances::Known, Some(links)) => Way::Links(links, setup.within),
        };
        let tick = (setup.within / TICKS).max(Duration::from_nanos(1));
        Self { longest: longest(me, setup), way, tick, ticks: 0, began: None }
    }

    pub(in crate::multicast) fn to(&self, other: NodeId) -> Duration {
        match &self.way {
            Way::Even => self.longest,
            Way::Links(links, each) => *each * links[other.index()],
            Way::Measured { peers, .. } => {
                peers.get(&other).and_then(|peer| peer.distance).unwrap_or(self.longest)
            }
        }
    }

    pub(in crate::multicast) fn clock(&self) -> Option<u32> {
        self.began.map(|_| self.ticks)
    }

    /// How long a tick takes.
    pub(in crate::multicast) const fn tick(&self) -> Duration {
        self.tick
    }

    /// Whether some distances are to be measured.
    pub(in crate::multicast) fn is_measuring(&self) -> bool {
        match &self.way {
            Way::Even | Way::Links(..) => false,
            Way::Measured { left, .. } => *left > 0,
        }
    }

    pub(in crate::multicast) const fn start(&mut self) {
        self.began = Some(self.ticks);
    }

    pub(in crate::multicast) const fn advance(&mut self) {
        self.ticks = self.ticks.saturating_add(1);
    }

    /// The clock stands, and what it said before means nothing.
    pub(in crate::multicast) fn stop(&mut self) {
        self.began = None;
        if let Way::Measured { peers, .. } = &mut self.way {
            for peer in peers.values_mut() {
                peer.echo = None;
            }
            peers.retain(|_, peer| *peer != Peer::default());
        }
    }

    /// The clocks to echo, each once.
    pub(in crate::multicast) fn echoes(&mut self) -> Vec<(NodeId, u32, u32)> {
        let clock = self.clock();
        let (Way::Measured { peers, .. }, Some(clock)) = (&mut self.way, clock) else {
            return Vec::new();
        };
        let echo = |(id, peer): (&NodeId, &mut Peer)| {
            peer.echo.take().map(|(stamp, at)| (*id, stamp, clock - at))
        };
        peers.iter_mut().filter_map(echo).collect()
    }

    /// A member has sent its clock, and echoed this member's.
    pub(in crate::multicast) fn hear(
        &mut self,
        from: NodeId,
        stamp: Option<u32>,
        echo: Option<(u32, u32)>,
    ) {
        let (tick, clock) = (self.tick, self.ticks);
        let (Way::Measured { peers, left }, Some(began)) = (&mut self.way, self.began) else {
            return;
        };
        // The clock stood still for an unknown time meanwhile.
        let echo = echo.filter(|(stamp, _)| *stamp >= began);
        let peer = peers.get_or_default(from);
        peer.echo = stamp.map(|stamp| (stamp, clock));
        let round = echo.and_then(|(stamp, since)| clock.checked_sub(stamp)?.checked_sub(since));
        if let Some(round) = round.filter(|_| peer.answers < ENOUGH) {
            let now = (tick * round / 2).max(tick / 2).min(self.longest * 4);
            // The mean of all answers.
            let before = peer.distance.unwrap_or(now);
            peer.distance =
                Some((before * u32::from(peer.answers) + now) / (u32::from(peer.answers) + 1));
            peer.answers += 1;
            *left -= u32::from(peer.answers == ENOUGH);
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::topology::Topology;

    #[test]
    fn a_distance_is_half_of_what_is_left_of_the_time_since() {
        let mut map = Map::of(NodeId(0), &Setup::new(Group::of(2)));
        let ms = Duration::from_millis;
        assert_eq!(map.to(NodeId(1)), ms(1), "not known");
        map.hear(NodeId(1), Some(7), None);
        assert_eq!(map.clock(), None, "who counts no time measures none");
        map.start();
        for _ in 0..30 {
            map.advance();
        }
        map.hear(NodeId(1), Some(9), Some((10, 12)));
        assert_eq!(map.to(NodeId(1)), ms(1) / 2, "eight ticks of 125 us there and back");
        for _ in 0..5 {
            map.advance();
        }
        assert_eq!(map.echoes(), [(NodeId(1), 9, 5)]);
        assert!(map.echoes().is_empty(), "once");
        assert!(map.is_measuring());
        for _ in 0..2 {
            map.hear(NodeId(1), None, Some((10, 1)));
        }
        assert!(!map.is_measuring());
        let measured = map.to(NodeId(1));
        assert!(measured > ms(1), "the mean of three: {measured:?}");
        map.hear(NodeId(1), None, Some((35, 0)));
        assert_eq!(map.to(NodeId(1)), measured, "enough is enough");
    }

    #[test]
    fn an_echo_of_before_the_clock_stood_still_says_nothing() {
        let mut map = Map::of(NodeId(0), &Setup::new(Group::of(2)));
        map.start();
        for _ in 0..5 {
            map.advance();
        }
        map.stop();
        map.start();
        map.advance();
        map.hear(NodeId(1), None, Some((2, 1)));
        assert_eq!(map.to(NodeId(1)), Duration::from_millis(1), "not known");
        map.hear(NodeId(1), None, Some((5, 0)));
        assert!(map.to(NodeId(1)) < Duration::from_millis(1));
    }

    #[test]
    fn all_members_count_in_the_same_ticks() {
        let mut setup = Setup::new(Group::of(5));
        setup.topology = Topology::Star;
        let ticks = [0, 1].map(|id| Map::of(NodeId(id), &setup).tick());
        assert_eq!(ticks, [setup.within / TICKS; 2]);
    }

    #[test]
    fn known_distances_are_those_of_the_links() {
        let mut setup = Setup::new(Group::of(3));
        setup.distances = Distances::Known;
        assert_eq!(Map::of(NodeId(0), &setup).to(NodeId(2)), setup.within);
        setup.topology = Topology::Line;
        let map = Map::of(NodeId(0), &setup);
        assert_eq!(map.to(NodeId(1)), setup.within);
        assert_eq!(map.to(NodeId(2)), setup.within * 2);
    }
}
