//! What is said in views that a member does not know yet, until they begin.
//!
//! Links are not authenticated, so nothing of it is believed before its view begins and its sender
//! is in that view: not even the sender's clock, of which tokens are made. And it is little, so
//! that nobody fills the memory: of each node a few messages, of a few views.
//!
//! Algorithms need all that is said in a view, in order. So if more has come of a member than there
//! was room for, the member begins that view and asks for another of the same members at once:
//! nothing that was said in the former is handled.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, StateValue};

use super::message::ViewMessage;
use crate::group::view::View;

/// Of how many views of one node something is kept. Over links that keep the order it is in one
/// view at a time.
const MOST_VIEWS: usize = 4;

/// The words of all nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Early<M> {
    by_sender: BTreeMap<NodeId, Kept<M>>,
}

/// A word, and the clock of the member that says it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Said<M> {
    pub(super) from: NodeId,
    pub(super) clock: u64,
    pub(super) word: ViewMessage<M>,
}

/// The words of one node, by view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Kept<M> {
    words: BTreeMap<u64, Vec<(u64, ViewMessage<M>)>>,
    /// Whether there were more.
    has_lost: bool,
}

impl<M> Early<M> {
    pub(super) const fn new() -> Self {
        Self { by_sender: BTreeMap::new() }
    }

    /// Keeps what is said in a view, if there is room for so many words of its sender.
    pub(super) fn keep(&mut self, view: u64, said: Said<M>, room: usize) {
        let Said { from, clock, word } = said;
        let empty = || Kept { words: BTreeMap::new(), has_lost: false };
        let kept = self.by_sender.entry(from).or_insert_with(empty);
        if kept.words.values().map(Vec::len).sum::<usize>() >= room {
            kept.has_lost = true;
            return;
        }
        kept.words.entry(view).or_default().push((clock, word));
        if kept.words.len() > MOST_VIEWS {
            // The nearest ones may begin; a number that is far off may be none of a view at all.
            kept.words.pop_last();
            kept.has_lost = true;
        }
    }

    /// A view begins: what its members have said in it, and whether that is all. What others have
    /// said in it, and all that was said in earlier ones, is forgotten.
    pub(super) fn take(&mut self, view: &View) -> (Vec<Said<M>>, bool) {
        let (mut taken, mut is_all) = (Vec::new(), true);
        for (&from, kept) in &mut self.by_sender {
            let words = kept.words.remove(&view.id).unwrap_or_default();
            if view.incarnation_of(from).is_some() {
                is_all &= !core::mem::take(&mut kept.has_lost);
                taken.extend(words.into_iter().map(|(clock, word)| Said { from, clock, word }));
            }
            kept.words = kept.words.split_off(&view.id);
        }
        self.by_sender.retain(|_, kept| kept.has_lost || !kept.words.is_empty());
        (taken, is_all)
    }
}

impl<M: core::fmt::Display> Early<M> {
    /// As it is shown: view, sender, word.
    pub(super) fn shown(&self) -> StateValue {
        let all = self.by_sender.iter().flat_map(|(&from, kept)| {
            kept.words.iter().flat_map(move |(&view, words)| {
                words.iter().map(move |(_, word)| (view, from, StateValue::shown(word)))
            })
        });
        StateValue::list(all)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::group::view::Member;

    fn said(from: u32, clock: u64) -> Said<&'static str> {
        Said { from: NodeId(from), clock, word: ViewMessage::Lock("x") }
    }

    fn view(id: u64, members: &[u32]) -> View {
        let member = |&node| Member { node: NodeId(node), incarnation: 1 };
        View { id, members: members.iter().map(member).collect() }
    }

    #[test]
    fn of_members_all_is_handled_in_order_and_of_others_nothing() {
        let mut early = Early::new();
        for (view, from, clock) in [(7, 2, 1), (8, 2, 3), (7, 1, 2), (7, 2, 2), (7, 9, 5)] {
            early.keep(view, said(from, clock), 8);
        }
        let taken = early.take(&view(7, &[0, 1, 2]));
        assert_eq!(taken, (vec![said(1, 2), said(2, 1), said(2, 2)], true));
        assert_eq!(early.take(&view(8, &[0, 2])), (vec![said(2, 3)], true));
        assert_eq!(early, Early::new());
    }

    #[test]
    fn little_is_kept_and_it_is_told_if_something_is_missing() {
        let mut early = Early::new();
        for clock in 0..1000 {
            early.keep(7, said(1, clock), 8);
            early.keep(7 + clock, said(2, clock), 1000);
        }
        assert_eq!(early.by_sender[&NodeId(1)].words[&7].len(), 8);
        assert_eq!(
            early.by_sender[&NodeId(2)].words.keys().copied().collect::<Vec<_>>(),
            [7, 8, 9, 10]
        );
        assert!(!early.clone().take(&view(7, &[1])).1);
        assert!(!early.clone().take(&view(7, &[2])).1);
        let (taken, is_all) = early.take(&view(7, &[3]));
        assert_eq!((taken.len(), is_all), (0, true), "what others have said is of no concern");
        let (_, is_all) = early.take(&view(8, &[1]));
        assert!(!is_all, "until it is a member");
        assert!(early.take(&view(9, &[1])).1, "and once");
    }
}
