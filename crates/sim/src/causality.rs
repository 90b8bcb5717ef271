//! Overtakings: entries granted although a request that happened before was still waiting.
//!
//! Every node, and every message, carries the set of waiting requests that it knows of. A request
//! that is made by a node that knows of another came after it; if it is served first, that is an
//! overtaking. This is Lamport's happened-before, cut down to what the question needs: instead of
//! a vector of counters, one bit a node.
//!
//! The cost is kept off the hot path: sets are shared (a broadcast hands out one set to all), are
//! changed only on news, and their room is used again. A served request is removed from a set only
//! when the set is read: for that, each set has the number of served requests up to which it is
//! current.

use vorrang_protocol::NodeId;

/// A shared set of requests.
pub(crate) type Past = u32;

/// Which nodes know of which waiting requests.
#[derive(Clone, Debug)]
pub(crate) struct Causality {
    /// How many words a set has.
    width: usize,
    /// The sets, one after the other.
    words: Vec<u64>,
    sets: Vec<Set>,
    free: Vec<Past>,
    /// The knowledge of each node.
    knows: Vec<Past>,
    /// For each waiting node, what it knew when it asked.
    elders: Vec<Past>,
    /// For each node, the number of the end of its last wait, counted over all nodes from 1; 0 for
    /// none.
    ended: Vec<u64>,
    /// How many waits have ended, with an entry or a crash.
    ends: u64,
    /// The nodes whose waits ended last, the latest of them at `ends % RECENT`.
    recent: [NodeId; RECENT],
    overtakes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    owners: u32,
    /// Requests whose waits ended after so many others have not been struck out yet.
    current: u64,
}

const RECENT: usize = 16;
const NOBODY: Past = 0;

impl Causality {
    /// A set has a bit for every node; beyond this many nodes the sets would outweigh the run.
    pub(crate) const MOST_NODES: usize = 4096;

    pub(crate) fn new(nodes: usize) -> Self {
        let width = nodes.div_ceil(64);
        Self {
            width,
            words: vec![0; width],
            sets: vec![Set { owners: 1 + 2 * nodes as u32, current: 0 }],
            free: Vec::new(),
            knows: vec![NOBODY; nodes],
            elders: vec![NOBODY; nodes],
            ended: vec![0; nodes],
            ends: 0,
            recent: [NodeId(0); RECENT],
            overtakes: 0,
        }
    }

    /// How many entries overtook a request that happened before theirs.
    pub(crate) const fn overtakes(&self) -> u64 {
        self.overtakes
    }

    /// The network makes a second message of one that took `past` along.
    pub(crate) fn on_duplicate(&mut self, past: Past) -> Past {
        self.keep(past);
        past
    }

    /// `node` asks: it came after all that it knows of.
    pub(crate) fn on_ask(&mut self, node: NodeId) {
        let elders = self.knows[node.index()];
        self.strike_out(elders);
        self.keep(elders);
        self.drop(self.elders[node.index()]);
        self.elders[node.index()] = elders;
        let own = self.own(node);
        self.words[own as usize * self.width + node.index() / 64] |= 1 << (node.index() % 64);
    }

    /// `node` enters; `conflicts` says whether it should have let another go first.
    pub(crate) fn on_enter(&mut self, node: NodeId, conflicts: impl Fn(NodeId) -> bool) {
        let elders = self.elders[node.index()];
        self.strike_out(elders);
        let overtaken = nodes(self.words(elders)).any(conflicts);
        self.overtakes += u64::from(overtaken);
        self.drop(elders);
        self.keep(NOBODY);
        self.elders[node.index()] = NOBODY;
        self.strike_out_later(node);
    }

    /// `node` crashes: it takes its request back, and knows of nothing any more.
    pub(crate) fn on_crash(&mut self, node: NodeId) {
        for forgotten in [self.elders[node.index()], self.knows[node.index()]] {
            self.drop(forgotten);
            self.keep(NOBODY);
        }
        self.elders[node.index()] = NOBODY;
        self.knows[node.index()] = NOBODY;
        self.strike_out_later(node);
    }

    /// `node` sends a message: it takes along what the node knows.
    #[inline]
    pub(crate) fn on_send(&mut self, node: NodeId) -> Past {
        let past = self.knows[node.index()];
        self.keep(past);
        past
    }

    /// A message that took `past` along arrives at `node`.
    #[inline]
    pub(crate) fn on_receive(&mut self, node: NodeId, past: Past) {
        let own = self.knows[node.index()];
        if own != past {
            self.strike_out(past);
            self.strike_out(own);
            let (ours, theirs) = (self.words(own), self.words(past));
            if ours.iter().zip(theirs).any(|(ours, theirs)| theirs & !ours != 0) {
                let own = self.own(node);
                for word in 0..self.width {
                    let news = self.words[past as usize * self.width + word];
                    self.words[own as usize * self.width + word] |= news;
                }
            }
        }
        self.drop(past);
    }

    #[inline]
    fn words(&self, past: Past) -> &[u64] {
        &self.words[past as usize * self.width..][..self.width]
    }

    /// An unshared set of the node, with its knowledge.
    #[inline]
    fn own(&mut self, node: NodeId) -> Past {
        let known = self.knows[node.index()];
        if known != NOBODY && self.sets[known as usize].owners == 1 {
            return known;
        }
        let own = self.free.pop().unwrap_or_else(|| {
            self.sets.push(Set { owners: 0, current: 0 });
            self.words.resize(self.words.len() + self.width, 0);
            (self.sets.len() - 1) as Past
        });
        let from = known as usize * self.width;
        self.words.copy_within(from..from + self.width, own as usize * self.width);
        self.sets[own as usize] = Set { owners: 1, current: self.sets[known as usize].current };
        self.drop(known);
        self.knows[node.index()] = own;
        own
    }

    /// The request of `node` waits no more: it is removed when a set is read.
    fn strike_out_later(&mut self, node: NodeId) {
        self.ends += 1;
        self.ended[node.index()] = self.ends;
        self.recent[self.ends as usize % RECENT] = node;
    }

    /// Strikes out the requests that have been served since the set was last looked at.
    fn strike_out(&mut self, past: Past) {
        let current = self.sets[past as usize].current;
        let since = self.ends - current;
        if since == 0 {
            return;
        }
        let words = &mut self.words[past as usize * self.width..][..self.width];
        if since < RECENT as u64 {
            for end in current + 1..=self.ends {
                let node = self.recent[end as usize % RECENT].index();
                words[node / 64] &= !(1 << (node % 64));
            }
        } else {
            for (index, word) in words.iter_mut().enumerate() {
                let mut rest = *word;
                while rest != 0 {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    if self.ended[index * 64 + bit] > current {
                        *word &= !(1 << bit);
                    }
                }
            }
        }
        self.sets[past as usize].current = self.ends;
    }

    #[inline]
    fn keep(&mut self, past: Past) {
        self.sets[past as usize].owners += 1;
    }

    #[inline]
    pub(crate) fn drop(&mut self, past: Past) {
        let set = &mut self.sets[past as usize];
        set.owners -= 1;
        if set.owners == 0 {
            self.free.push(past);
        }
    }
}

/// The nodes whose bits are set.
fn nodes(words: &[u64]) -> impl Iterator<Item = NodeId> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(NodeId(index as u32 * 64 + bit))
        })
    })
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::spec::HappenedBefore;
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::Monitor as _;

    use super::*;
    use crate::Random;

    /// The monitor `HappenedBefore` keeps counters where this keeps shared bits; on random runs
    /// that respect no algorithm at all, both must count the same.
    #[test]
    fn counts_what_the_monitor_counts() {
        let mut counted = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let nodes = 2 + random.below(300) as usize;
            counted += compare(nodes, &mut random);
        }
        assert!(counted > 1000, "only {counted} overtakings: the runs show too little");
    }

    fn compare(nodes: usize, random: &mut Random) -> u64 {
        let (mut ours, mut spec) = (Causality::new(nodes), HappenedBefore::default());
        let (mut waiting, mut flight) = (vec![None; nodes], Vec::new());
        let mut overtakes = 0;
        // A few nodes, so that they meet again, but of all words of a set.
        let active = nodes.min(5 + nodes / 10);
        for _ in 0..600 {
            let index = random.below(active as u64) as usize * (nodes - 1) / (active - 1);
            let node = NodeId(index as u32);
            match random.below(4) {
                0 if waiting[index].is_some() => {
                    let claim: Claim = waiting[index].take().unwrap();
                    let conflicts = |other: NodeId| {
                        waiting[other.index()].is_some_and(|it| claim.conflicts_with(it))
                    };
                    ours.on_enter(node, conflicts);
                    overtakes += u64::from(spec.on_notice(node, &Notice::Entered).is_err());
                }
                0 => {
                    let claim = [Claim::Exclusive, Claim::Shared][random.below(2) as usize];
                    waiting[index] = Some(claim);
                    ours.on_ask(node);
                    spec.on_command(node, &Command::Acquire(claim)).unwrap();
                }
                1 => flight.push((ours.on_send(node), spec.on_send(node))),
                _ if !flight.is_empty() => {
                    let (past, tag) =
                        flight.swap_remove(random.below(flight.len() as u64) as usize);
                    ours.on_receive(node, past);
                    spec.on_receive(node, &tag);
                }
                _ => {}
            }
            assert_eq!(ours.overtakes(), overtakes);
        }
        overtakes
    }

    /// A request is known of across the whole set: `first` asks and tells, `second` asks later.
    fn overtaken(first: u32, second: u32, crash: Option<u32>) -> u64 {
        let mut causality = Causality::new(200);
        causality.on_ask(NodeId(first));
        let past = causality.on_send(NodeId(first));
        causality.on_receive(NodeId(second), past);
        causality.on_ask(NodeId(second));
        if let Some(node) = crash {
            causality.on_crash(NodeId(node));
        }
        causality.on_enter(NodeId(second), |_| true);
        causality.overtakes()
    }

    #[test]
    fn requests_are_told_apart_beyond_one_word() {
        for (first, second) in [(0, 1), (63, 64), (64, 63), (70, 6), (6, 70), (199, 0), (0, 199)] {
            assert_eq!(overtaken(first, second, None), 1, "{second} overtakes {first}");
        }
    }

    #[test]
    fn a_crash_takes_the_request_back_and_forgets() {
        assert_eq!(overtaken(130, 2, Some(130)), 0, "who is down cannot be overtaken");
        assert_eq!(overtaken(130, 2, Some(2)), 0, "who comes up again knows of nothing");
        assert_eq!(overtaken(130, 2, Some(66)), 1, "others do not matter");
    }

    #[test]
    fn sets_that_nobody_looks_at_any_more_are_used_again() {
        let mut causality = Causality::new(3);
        for _ in 0..1000 {
            causality.on_ask(NodeId(0));
            let past = causality.on_send(NodeId(0));
            let copy = causality.on_duplicate(past);
            let lost = causality.on_send(NodeId(0));
            causality.on_receive(NodeId(1), past);
            causality.on_receive(NodeId(1), copy);
            causality.drop(lost);
            causality.on_crash(NodeId(0));
        }
        assert!(causality.sets.len() < 10, "{} sets", causality.sets.len());
    }
}
