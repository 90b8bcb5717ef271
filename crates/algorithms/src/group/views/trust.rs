//! Whose messages count: those of members within a view, those of voters about the next one.
//!
//! Links are not authenticated: a process under a number that no member has can send anything. It
//! may ask to join, and nothing else that it says is believed.
//!
//! Except where two groups meet that do not know each other: nodes without stable storage may have
//! founded another one while all members of the first were cut off. No member of one is a member of
//! the other, so the older group must believe strangers, or both would go on side by side for ever.
//! It takes more than one message: most members of the later view have said by heartbeats that they
//! are in it, and so have most founders, without all of whom no group begins. (If most of these
//! have gone since, the two go on side by side until they are back.) Or a voter of this group has,
//! with the directory that it votes with here: a group that was [recovered](super::recovery) by
//! force has one voter.
//!
//! Of messages about views that this node does not know yet few are kept, and of nodes that have
//! neither a place nor a vote, as those that join, [even fewer](Views::room_for). What is lost by
//! that is said again with heartbeats.

use alloc::vec::Vec;

use vorrang_protocol::{Effects, NodeId, NodeSet};

use super::Views;
use crate::group::decision::Decision;
use crate::group::message::{Install, Message, Status};
use crate::group::shown::Shown;
use crate::group::view::is_primary;
use crate::group::voters::Voter;

/// Ten years in milliseconds.
const DECADE: u64 = 10 * 366 * 24 * 3600 * 1000;
/// How many messages of later views are kept of a member or a voter,
const ROOM: usize = 1 << 12;
/// and of any other node.
const STRANGERS_ROOM: usize = 8;

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// Whether a node has a say in what comes after the view: as one of its members, or by its
    /// vote.
    pub(super) fn is_heeded(&self, from: NodeId) -> bool {
        self.last.view.incarnation_of(from).is_some() || self.has_vote(from)
    }

    /// Whether another node may tell that this view was decided. A member that hears a majority
    /// hears of the next view from one that has a say in it; others may have been left behind by
    /// all of them, and must believe whoever tells them. (The first view has a number by the
    /// clock, in milliseconds, and an incarnation one in microseconds: a view that is ten years
    /// ahead of the incarnation cannot have come about.)
    pub(super) fn believes(&self, from: NodeId, install: &Install<B, I>) -> bool {
        let latest = self.incarnation / 1000 + DECADE;
        if self.founding.is_some() && install.view.id > latest {
            return false;
        }
        self.inside.is_none()
            || self.is_heeded(from)
            || !self.has_majority()
            || self.is_of_a_later_group(install)
    }

    /// Whether a view belongs to a group that was founded later than that of this member, as far as
    /// enough of its members have told.
    fn is_of_a_later_group(&self, install: &Install<B, I>) -> bool {
        let view = &install.view;
        let in_it = self.early.iter().filter_map(|(from, message)| {
            let Message::Status(it) = message else { return None };
            let is_it = view.incarnation_of(*from) == Some(it.incarnation);
            (is_it && it.view == view.id && it.inside.is_some()).then_some(*from)
        });
        let in_it: NodeSet = in_it.collect();
        let members: Vec<NodeId> = view.nodes().collect();
        install.founded > self.last.founded
            && is_primary(&members, &in_it)
            && (self.has_most_founders(&in_it) || self.has_own_voter(&in_it))
    }

    fn has_most_founders(&self, among: &NodeSet) -> bool {
        let founding = self.founding.as_ref();
        founding.is_some_and(|founding| is_primary(&founding.founders, among))
    }

    /// Whether one of these votes on what comes after the view of this node, with the directory
    /// that it has.
    fn has_own_voter(&self, among: &NodeSet) -> bool {
        self.early.iter().any(|(from, message)| match message {
            Message::Status(Status { since: Some(since), .. }) if among.contains(*from) => {
                self.named_voters().contains(&Voter { node: *from, since: *since })
            }
            _ => false,
        })
    }

    /// How many messages of views that it does not know yet are kept of a node.
    pub(in crate::group) fn room_for(&self, node: NodeId) -> usize {
        if self.is_heeded(node) { ROOM } else { STRANGERS_ROOM }
    }

    /// A message of the view that this node is in.
    pub(super) fn on_current(
        &mut self,
        from: NodeId,
        message: Message<B, I, D::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        if self.last.view.incarnation_of(from).is_none() {
            return;
        }
        match message {
            Message::Data { number, payload, .. } => self.on_data(from, number, payload, fx),
            Message::Ordered { place, entry, .. } => self.on_ordered(place, entry, fx),
            Message::Flush { .. } => self.on_flush(from, fx),
            Message::FlushOk { report, .. } => self.on_flush_ok(from, report, fx),
            // These are not about this view, or not only.
            Message::Status(_) | Message::NewView(_) | Message::Decision(_) => {}
        }
    }

    /// A message of another view: an older one is dropped, a newer one kept until that view.
    pub(super) fn on_view_message(
        &mut self,
        from: NodeId,
        view: u64,
        message: Message<B, I, D::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        match view.cmp(&self.last.view.id) {
            core::cmp::Ordering::Less => {
                if matches!(message, Message::Flush { .. }) {
                    fx.send(from, Message::NewView(self.last.clone()));
                }
            }
            core::cmp::Ordering::Equal => self.on_current(from, message, fx),
            core::cmp::Ordering::Greater => {
                if self.early.iter().filter(|it| it.0 == from).count() < self.room_for(from) {
                    self.early.insert((from, message));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;

    use vorrang_protocol::{Digest, Group, Outbox, Protocol};

    use super::*;
    use crate::group::Payload;
    use crate::group::founding::Founding;
    use crate::group::message::{Entry, Progress, Report};
    use crate::group::synod::Synod;
    use crate::group::view::{Member, View};

    type Node = Views<Payload, Digest, Synod<Install<Payload, Digest>>>;

    fn view(id: u64, members: &[u32]) -> Install<Payload, Digest> {
        let member = |&node| Member { node: NodeId(node), incarnation: 0 };
        Install::first(View { id, members: members.iter().map(member).collect() })
    }

    /// Node 3, a member of view 7 {3, 4}, as is node 4. Nodes 0 to 2 are founders.
    fn member() -> Node {
        let founders = [0, 1, 2].map(NodeId).to_vec();
        let founding = Some(Founding { view: 1000, founders, patience: 0 });
        let mut node = Node::forgetful(NodeId(3), Group::of(7), 0, founding).joining();
        node.last = view(7, &[3, 4]);
        node.on_start(&mut Outbox::default());
        node
    }

    /// That these are in a view.
    fn are_in(node: &mut Node, view: u64, members: &[u32]) {
        for &from in members {
            let inside = Some(Progress { upto: 0, is_frozen: false });
            let status = Status {
                incarnation: 0,
                wants: true,
                view,
                inside,
                misses: vec![],
                since: None,
                changes: vec![],
            };
            node.on_message(NodeId(from), Message::Status(status), &mut Outbox::default());
        }
    }

    /// The view that it is in after it was told of this one by that node.
    fn told(node: &mut Node, from: u32, install: Install<Payload, Digest>) -> u64 {
        node.on_message(NodeId(from), Message::NewView(install), &mut Outbox::default());
        node.view().id
    }

    #[test]
    fn a_stranger_alone_makes_nobody_believe_in_a_view() {
        let forged = [view(2000, &[5]), view(2000, &[3, 5]), view(2000, &[0, 1, 5])];
        for forged in forged {
            let mut node = member();
            assert_eq!(told(&mut node, 5, forged.clone()), 7, "out of the blue: {forged:?}");
            are_in(&mut node, 2000, &[5]);
            assert_eq!(told(&mut node, 5, forged.clone()), 7, "it says so itself: {forged:?}");
            assert_eq!(told(&mut node, 4, forged), 2000, "another member says so");
        }
    }

    #[test]
    fn a_later_group_is_believed_when_most_of_its_members_say_that_they_are_in_it() {
        let mut node = member();
        are_in(&mut node, 1000, &[1, 2]);
        assert_eq!(told(&mut node, 0, view(1000, &[0, 1, 2, 5])), 7, "two of four");
        are_in(&mut node, 1000, &[5]);
        assert_eq!(told(&mut node, 0, view(1000, &[0, 1, 2, 5])), 1000);
        assert!(!node.is_inside(), "it was evicted");
        let mut of_newcomers = member();
        are_in(&mut of_newcomers, 1000, &[5, 6]);
        assert_eq!(told(&mut of_newcomers, 6, view(1000, &[5, 6])), 7, "nobody has founded it");
        let mut of_a_founder = member();
        are_in(&mut of_a_founder, 1000, &[2, 5]);
        assert_eq!(told(&mut of_a_founder, 2, view(1000, &[2, 5])), 7, "one of three founders");
        let mut of_most_founders = member();
        are_in(&mut of_most_founders, 1000, &[1, 2]);
        assert_eq!(told(&mut of_most_founders, 2, view(1000, &[1, 2, 5])), 1000);
        let mut earlier = member();
        are_in(&mut earlier, 1000, &[0, 1]);
        let same = Install { founded: 7, ..view(1000, &[0, 1]) };
        assert_eq!(told(&mut earlier, 0, same), 7, "of its own group members tell");
    }

    #[test]
    fn a_group_that_was_recovered_by_a_voter_is_believed_to_be_later() {
        let founders = [0, 1, 2].map(NodeId);
        let of_founders = || {
            let founding = Founding { view: 7, founders: founders.to_vec(), patience: 0 };
            let node = Node::remembering(NodeId(0), Group::of(7), 0, founding).joining();
            let voters = founders.map(|node| Voter { node, since: 0 }).to_vec();
            let mut node = Node { last: Install { voters, ..view(7, &[0, 2]) }, ..node };
            node.on_start(&mut Outbox::default());
            node
        };
        for (since, comes) in [(0, 1000), (4, 7)] {
            let mut node = of_founders();
            let inside = Some(Progress { upto: 0, is_frozen: false });
            let status = Status {
                incarnation: 0,
                wants: true,
                view: 1000,
                inside,
                misses: vec![],
                since: Some(since),
                changes: vec![],
            };
            node.on_message(NodeId(1), Message::Status(status), &mut Outbox::default());
            assert_eq!(told(&mut node, 3, view(1000, &[1])), comes, "directory {since}");
        }
    }

    #[test]
    fn of_later_views_little_is_kept_and_of_strangers_less() {
        let mut node = member();
        for number in 0..10_000 {
            let data = |view| Message::Data { view, number, payload: 7.into() };
            for from in [4, 5] {
                node.on_message(NodeId(from), data(8), &mut Outbox::default());
            }
            node.on_message(NodeId(6), data(u64::from(number) + 8), &mut Outbox::default());
        }
        let kept = [4, 5, 6].map(|of| node.early.iter().filter(|it| it.0 == NodeId(of)).count());
        assert_eq!(kept, [ROOM, STRANGERS_ROOM, STRANGERS_ROOM]);
    }

    #[test]
    fn nobody_believes_in_a_view_of_the_far_future() {
        let mut node = member();
        assert_eq!(told(&mut node, 4, view(DECADE + 1, &[4])), 7);
        assert_eq!(told(&mut node, 4, view(DECADE, &[4])), DECADE);
    }

    #[test]
    fn what_a_stranger_says_of_the_view_changes_nothing() {
        let entry = Entry { from: NodeId(5), number: 0, payload: 7.into() };
        let report = Report {
            base: 0,
            entries: vec![],
            early: vec![],
            pending: vec![entry.clone()],
            info: Digest(0),
        };
        for message in [
            Message::Flush { view: 7 },
            Message::Data { view: 7, number: 0, payload: 7.into() },
            Message::Ordered { view: 7, place: 0, entry },
            Message::FlushOk { view: 7, report },
        ] {
            let mut node = member();
            let before = node.clone();
            let mut fx = Outbox::default();
            node.on_message(NodeId(5), message.clone(), &mut fx);
            assert_eq!((format!("{node:?}"), fx.take()), (format!("{before:?}"), vec![]));
        }
        let mut node = member();
        let mut fx = Outbox::default();
        node.on_message(NodeId(4), Message::Flush { view: 7 }, &mut fx);
        assert!(!fx.take().is_empty(), "what a member says does");
    }
}
