//! The messages of one view, in one order: a fixed sequencer, to which senders send and which sends
//! to all. (M. Frans Kaashoek and Andrew S. Tanenbaum, "Group communication in the Amoeba
//! distributed operating system", ICDCS 1991; in the terms of Défago, Schiper and Urbán, "Total
//! order broadcast and multicast algorithms", ACM Computing Surveys 36(4), 2004: unicast, then
//! broadcast.)
//!
//! The sequencer gives every message a place as it comes, each sender's in the order in which they
//! were sent. Messages are delivered in the order of places. They are kept until all members are
//! known to have them.

use alloc::vec::Vec;

use vorrang_protocol::{Data, NodeId, SortedMap};

use super::message::{Entry, Report};

/// The messages of a view that a member has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Log<B> {
    /// How many messages all members are known to have delivered: they are dropped.
    pub(super) base: u32,
    /// The messages delivered after these.
    pub(super) entries: Vec<Entry<B>>,
    /// Messages with later places.
    pub(super) early: SortedMap<u32, Entry<B>>,
    /// How many it has multicast itself.
    pub(super) sent: u32,
    /// Those of them that it has not delivered.
    pub(super) pending: Vec<Entry<B>>,
    /// Whether the first of these was there at the last beat.
    pub(super) is_slow: bool,
    /// How many of each sender have a place, and what waits for others of the same sender: known
    /// to the sequencer only.
    pub(super) placed: SortedMap<NodeId, u32>,
    pub(super) waiting: SortedMap<(NodeId, u32), B>,
    /// How many each of the others has delivered, as far as it has said.
    pub(super) had: SortedMap<NodeId, u32>,
}

impl<B: Data> Log<B> {
    pub(super) const fn new() -> Self {
        Self {
            base: 0,
            entries: Vec::new(),
            early: SortedMap::new(),
            sent: 0,
            pending: Vec::new(),
            is_slow: false,
            placed: SortedMap::new(),
            waiting: SortedMap::new(),
            had: SortedMap::new(),
        }
    }

    /// How many messages were delivered.
    pub(super) const fn upto(&self) -> u32 {
        self.base + self.entries.len() as u32
    }

    /// Numbers a message of its own.
    pub(super) fn send(&mut self, me: NodeId, payload: B) -> Entry<B> {
        let entry = Entry { from: me, number: self.sent, payload };
        self.sent += 1;
        self.pending.push(entry.clone());
        entry
    }

    /// As sequencer: puts a message in line, and gives places to those that can have one now.
    pub(super) fn place(&mut self, entry: Entry<B>) -> Vec<(u32, Entry<B>)> {
        let Entry { from, number, payload } = entry;
        let next = self.placed.get_or_insert(from, 0);
        if number >= *next {
            self.waiting.insert((from, number), payload);
        }
        let mut placed = Vec::new();
        while let Some(payload) = self.waiting.remove(&(from, *next)) {
            let place = self.base + (self.entries.len() + placed.len()) as u32;
            placed.push((place, Entry { from, number: *next, payload }));
            *next += 1;
        }
        placed
    }

    /// A message has a place: what can be delivered now.
    pub(super) fn take(&mut self, place: u32, entry: Entry<B>) -> Vec<Entry<B>> {
        if place >= self.upto() {
            self.early.insert(place, entry);
        }
        let mut ready = Vec::new();
        while let Some(entry) = self.early.remove(&self.upto()) {
            self.delivered(entry.clone());
            ready.push(entry);
        }
        ready
    }

    fn delivered(&mut self, entry: Entry<B>) {
        let before = self.pending.len();
        self.pending.retain(|it| (it.from, it.number) != (entry.from, entry.number));
        self.is_slow &= self.pending.len() == before;
        self.entries.push(entry);
    }

    /// Its own messages that have waited for a place since the last beat, to be sent again.
    pub(super) fn beat(&mut self) -> &[Entry<B>] {
        let was_slow = self.is_slow;
        self.is_slow = !self.pending.is_empty();
        if was_slow { &self.pending } else { &[] }
    }

    /// Another has delivered so many. If it has not come further since it last said so, what it
    /// should have, with the places: to be sent again.
    pub(super) fn heard(&mut self, of: NodeId, upto: u32) -> Vec<(u32, Entry<B>)> {
        let before = self.had.insert(of, upto);
        if before != Some(upto) || upto < self.base {
            return Vec::new();
        }
        let missed = self.entries.iter().skip((upto - self.base) as usize);
        places(upto).zip(missed.cloned()).collect()
    }

    /// Whether another has said how far it has come.
    pub(super) fn has_heard(&self, of: NodeId) -> bool {
        self.had.contains_key(&of)
    }

    /// Forgets what all of these others are known to have delivered.
    pub(super) fn forget(&mut self, mut others: impl Iterator<Item = NodeId>) {
        let had = |of: NodeId| self.had.get(&of).copied().unwrap_or(0);
        let Some(stable) = others.try_fold(self.upto(), |least, of| match had(of) {
            0 => None,
            upto => Some(least.min(upto)),
        }) else {
            return;
        };
        if stable > self.base {
            self.entries.drain(..(stable - self.base) as usize);
            self.base = stable;
        }
    }

    /// The report when the view ends.
    pub(super) fn report<I>(&self, info: I) -> Report<B, I> {
        Report {
            base: self.base,
            entries: self.entries.clone(),
            early: self.early.iter().map(|(&place, entry)| (place, entry.clone())).collect(),
            pending: self.pending.clone(),
            info,
        }
    }
}

/// All places from this one on; it may be one that a broken member has said, and the last there is.
const fn places(from: u32) -> core::ops::RangeInclusive<u32> {
    from..=u32::MAX
}

/// The log that every member that goes on delivers in the view that ends, from these reports: how
/// many messages all have delivered, and the messages after them.
///
/// All messages with a place, up to the first place that no report has; then the multicasts of the
/// reporters without a known place, by sender and number. No member has delivered any of the
/// latter: a delivered message has a place, and so have all before it.
pub(super) fn cut<'a, B: Data, I: 'a>(
    reports: impl Iterator<Item = &'a Report<B, I>> + Clone,
) -> (u32, Vec<Entry<B>>) {
    let base = reports.clone().map(|it| it.base).max().unwrap_or(0);
    let mut known = SortedMap::new();
    for report in reports.clone() {
        known.extend(places(report.base).zip(&report.entries));
        known.extend(report.early.iter().map(|(place, entry)| (*place, entry)));
    }
    let mut log: Vec<Entry<B>> =
        places(base).map_while(|place| known.get(&place).map(|&entry| entry.clone())).collect();
    let mut rest: Vec<&Entry<B>> = reports.flat_map(|it| &it.pending).collect();
    rest.retain(|it| !log.iter().any(|had| (had.from, had.number) == (it.from, it.number)));
    rest.sort_by_key(|it| (it.from, it.number));
    log.extend(rest.into_iter().cloned());
    (base, log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(from: u32, number: u32, payload: char) -> Entry<char> {
        Entry { from: NodeId(from), number, payload }
    }

    fn text(entries: &[Entry<char>]) -> alloc::string::String {
        entries.iter().map(|it| it.payload).collect()
    }

    /// Fuzzing found it.
    #[test]
    fn a_member_that_says_it_is_at_the_last_place_there_is_does_no_harm() {
        let mut log = Log::new();
        log.take(0, entry(1, 0, 'a'));
        for _ in 0..2 {
            assert_eq!(log.heard(NodeId(2), u32::MAX), []);
        }
        let mut report = log.report(());
        report.base = u32::MAX;
        assert_eq!(text(&cut([report].iter()).1), "a");
        assert_eq!(text(&cut([log.report(())].iter()).1), "a");
    }

    #[test]
    fn a_sender_s_messages_get_places_in_the_order_in_which_they_were_sent() {
        let mut log = Log::new();
        assert_eq!(log.place(entry(1, 1, 'b')), []);
        assert_eq!(log.place(entry(1, 0, 'a')), [(0, entry(1, 0, 'a')), (1, entry(1, 1, 'b'))]);
        assert_eq!(log.place(entry(1, 0, 'a')), [], "once");
        assert!(log.waiting.is_empty());
    }

    #[test]
    fn places_are_filled_in_order_and_once() {
        let mut log = Log::new();
        assert_eq!(text(&log.take(1, entry(2, 0, 'b'))), "");
        assert_eq!(text(&log.take(0, entry(1, 0, 'a'))), "ab");
        assert_eq!(text(&log.take(0, entry(1, 0, 'a'))), "");
        assert_eq!(log.upto(), 2);
    }

    #[test]
    fn what_all_have_is_forgotten_and_who_stands_still_is_helped() {
        let mut log = Log::new();
        for (place, payload) in (0..).zip(['a', 'b', 'c']) {
            log.take(place, entry(1, place, payload));
        }
        let others = [1, 2].map(NodeId);
        assert!(!log.has_heard(NodeId(1)));
        assert_eq!(log.heard(NodeId(1), 2), []);
        assert!(log.has_heard(NodeId(1)));
        log.forget(others.into_iter());
        assert_eq!(log.base, 0, "nothing was heard of node 2");
        assert_eq!(log.heard(NodeId(2), 1), []);
        log.forget(others.into_iter());
        assert_eq!((log.base, log.upto()), (1, 3));
        assert_eq!(log.heard(NodeId(2), 1), [(1, entry(1, 1, 'b')), (2, entry(1, 2, 'c'))]);
        assert_eq!(log.heard(NodeId(2), 3), [], "it has come further");
        assert_eq!(log.heard(NodeId(2), 3), [], "and has everything");
    }

    #[test]
    fn the_cut_is_what_anybody_has_up_to_the_first_gap_and_what_is_pending() {
        let report = |base: u32, had: &[char], early: &[(u32, char)], pending: &[(u32, char)]| {
            let places = (base..).zip(had);
            Report {
                base,
                entries: places.map(|(place, &it)| entry(0, place, it)).collect(),
                early: early.iter().map(|&(place, it)| (place, entry(0, place, it))).collect(),
                pending: pending.iter().map(|&(number, it)| entry(7, number, it)).collect(),
                info: (),
            }
        };
        let cut = |reports: &[Report<char, ()>]| {
            let (base, log) = super::cut(reports.iter());
            (base, text(&log))
        };
        assert_eq!(cut(&[report(0, &['a'], &[], &[]), report(0, &[], &[], &[])]), (0, "a".into()));
        let gap = report(0, &['a'], &[(2, 'c'), (4, 'e')], &[]);
        assert_eq!(cut(core::slice::from_ref(&gap)), (0, "a".into()));
        assert_eq!(cut(&[gap, report(1, &['b'], &[], &[])]), (1, "bc".into()));
        let pending = report(0, &['a'], &[], &[(1, 'y'), (0, 'x')]);
        assert_eq!(cut(core::slice::from_ref(&pending)), (0, "axy".into()), "by sender and number");
        let mut placed = report(0, &['a'], &[], &[]);
        placed.entries.push(entry(7, 0, 'x'));
        assert_eq!(cut(&[pending, placed]), (0, "axy".into()), "once");
    }
}
