//! Forced recovery, when a majority of [voters](crate::group::voters) is lost for good.
//!
//! Then no view follows the newest one, and nobody can tell from inside whether the others are lost
//! or only silent. Somebody who knows that they will not come back may make one node, which has
//! kept its directory, the only voter of a view with a much larger number. That view has no
//! members: whoever comes first follows it by one with itself, and all others come in as newcomers,
//! and are [let vote](super::Ask::AddVoter) again one by one.
//!
//! **What may be lost** is what the others have decided without this node: views that it does not
//! know, and in them who had which lock. **What is kept**: numbers of views, and tokens with them,
//! are larger than all before, as no group has so many views; and where there are leases nobody
//! enters before a lease has passed since the new view began, since every member of the view that
//! this node knows counts as gone. Members of later views it does not know: if they are cut off and
//! not lost, only tokens protect from what they do.
//!
//! It is a group founded anew, so if the others come back after all, and meet it, their
//! group [gives way](crate::group::virtual_synchrony).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use vorrang_protocol::{Group, NodeId, Refused};

use super::Views;
use crate::group::decision::Decision;
use crate::group::founding::Founding;
use crate::group::list;
use crate::group::message::Install;
use crate::group::shown::Shown;
use crate::group::view::View;
use crate::group::voters::Voter;

/// By how much the number of the view is larger, at least: another side that went on without this
/// node has not had so many views.
const LEAP: u64 = 1 << 20;

/// What was done, and what it may have cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// The only voter from now on.
    pub voter: Voter,
    /// The newest view that it knew.
    pub before: View,
    /// Who was to vote on its successor.
    pub voters: Vec<Voter>,
    /// The number of the view in which it is the only voter.
    pub view: u64,
}

impl Recovery {
    /// The voters that must never come back.
    pub fn others(&self) -> impl Iterator<Item = Voter> + '_ {
        self.voters.iter().copied().filter(|&it| it != self.voter)
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { voter, before, view, .. } = self;
        let others: String = list(self.others());
        writeln!(f, "node {} is the only voter from view {view} on", voter.node)?;
        if others.is_empty() {
            return write!(f, "it was the only one of view {before} before, so nothing is lost");
        }
        writeln!(f, "the newest view that it knew was {before}, with the other voters {others}")?;
        writeln!(
            f,
            "what these have decided without it may be lost: views after {}, and who had which \
             lock in them, with tokens of these views",
            before.id
        )?;
        write!(
            f,
            "tokens from now on are larger than all of those; do not start the other voters with \
             their old directories while anything that they protect is in use"
        )
    }
}

/// To recover a group that this node does not know.
pub const KNOWS_NO_VIEW: Refused = Refused(
    "cannot recover: this directory knows no view, so there is no group that it could go on with",
);
/// To recover where nothing is stored.
pub const STORES_NOTHING: Refused =
    Refused("cannot recover: this group keeps no votes on disk; start its members again");

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// One that is there to be [restored](vorrang_protocol::Protocol::restore) from what was
    /// stored, whatever group and algorithm that was of.
    pub fn blank(me: NodeId) -> Self {
        let founding = Founding { view: 0, founders: Vec::new(), patience: 0 };
        Self::remembering(me, Group::of(me.0.saturating_add(1)), 0, founding)
    }

    /// This node as the only voter of a view with this number, or a larger one.
    ///
    /// # Errors
    ///
    /// If there is nothing to go on with.
    pub fn recovered(self, at_least: u64) -> Result<(Self, Recovery), Refused> {
        let Some(since) = self.voting.since else { return Err(STORES_NOTHING) };
        let Install { view: before, voters, gone, .. } = self.last;
        if before.id == 0 {
            return Err(KNOWS_NO_VIEW);
        }
        let voter = Voter { node: self.me, since };
        let view = at_least.max(before.id.saturating_add(LEAP));
        let gone = if before.members.is_empty() { gone } else { before.nodes().collect() };
        let first = Install::first(View { id: view, members: Vec::new() });
        let last = Install { voters: Vec::from([voter]), gone, ..first };
        let node = Self { last, wants: true, decision: D::new(self.me), ..self };
        Ok((node, Recovery { voter, before, voters, view }))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use vorrang_protocol::{Digest, Effect, Outbox, Protocol};

    use super::*;
    use crate::group::Payload;
    use crate::group::input::Input;
    use crate::group::message::Message;
    use crate::group::synod::Synod;
    use crate::group::view::Member;

    type Node = Views<Payload, Digest, Synod<Install<Payload, Digest>>>;

    const fn member(node: u32, incarnation: u64) -> Member {
        Member { node: NodeId(node), incarnation }
    }

    /// Node 1 of three, which knows view 7.
    fn stored() -> Node {
        let founders = [0, 1, 2].map(NodeId);
        let mut node = Node::new(NodeId(1), Group::of(3), &founders).naming_voters();
        node.last.view.id = 7;
        node
    }

    #[test]
    fn the_only_voter_left_goes_on_alone_with_a_much_larger_number() {
        let (node, recovery) = stored().recovered(5).unwrap();
        assert_eq!(recovery.view, 7 + LEAP);
        let said = recovery.to_string();
        assert!(said.contains("node 1 is the only voter from view 1048583 on"), "{said}");
        assert!(said.contains("view 7 {0, 1, 2}") || said.contains("was 7 {0, 1, 2}"), "{said}");
        assert!(said.contains("voters 0, 2") && said.contains("views after 7"), "{said}");
        assert_eq!(stored().recovered(1 << 40).unwrap().1.view, 1 << 40);
        // It starts again, alone, and all old members are gone.
        let mut node = node.after_crash(stored());
        let mut fx = Outbox::default();
        node.on_restart(&mut fx);
        assert_eq!(node.view().to_string(), "1048584 {1'1}");
        assert_eq!(node.last.gone, [0, 1, 2].map(NodeId));
        assert_eq!(node.voters(), [NodeId(1)]);
        assert!(node.is_inside() && node.has_majority());
        // Whoever is up with an old directory comes in, and does not vote.
        let mut other = Node::new(NodeId(2), Group::of(3), &[0, 1, 2].map(NodeId)).naming_voters();
        other.on_start(&mut Outbox::default());
        for of in [0, 1] {
            other.on_command(Input::Suspect(NodeId(of)), &mut Outbox::default()).unwrap();
        }
        let install = Message::NewView(node.last.clone());
        other.on_message(NodeId(1), install, &mut Outbox::default());
        assert_eq!((other.view().id, other.is_inside()), (1_048_584, false));
        assert!(!other.may_vote(1_048_584));
    }

    #[test]
    fn what_was_gone_before_a_second_recovery_still_is() {
        let (once, _) = stored().recovered(0).unwrap();
        let (twice, recovery) = once.recovered(0).unwrap();
        assert_eq!(twice.last.gone, [0, 1, 2].map(NodeId));
        assert_eq!(recovery.others().count(), 0);
        assert!(recovery.to_string().contains("nothing is lost"), "{recovery}");
    }

    #[test]
    fn where_nothing_is_known_or_stored_nothing_is_recovered() {
        assert_eq!(Node::blank(NodeId(4)).recovered(9).unwrap_err(), KNOWS_NO_VIEW);
        let forgetful = Node::forgetful(NodeId(1), Group::of(3), 0, None);
        assert_eq!(forgetful.recovered(9).unwrap_err(), STORES_NOTHING);
    }

    #[test]
    fn the_members_of_the_view_before_are_those_that_are_gone() {
        let mut node = stored();
        node.last.view.members = vec![member(0, 3), member(2, 1)];
        let (node, recovery) = node.recovered(0).unwrap();
        assert_eq!(node.last.gone, [0, 2].map(NodeId));
        assert_eq!(recovery.before.to_string(), "7 {0'3, 2'1}");
        let mut node = node.after_crash(stored());
        let mut fx = Outbox::default();
        node.on_restart(&mut fx);
        let sent = fx.take().into_iter();
        assert!(sent.filter(|it| matches!(it, Effect::Send { .. })).count() > 0);
        assert_eq!(node.last.founded, 7 + LEAP);
    }
}
