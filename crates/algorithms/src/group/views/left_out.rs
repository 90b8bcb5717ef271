//! Members pass on whom they cannot hear, so that one broken link does not stall all.
//!
//! Every heartbeat says whom its sender misses, and a member that begins or ceases to miss another
//! says so at once. A *claim* is that one node cannot hear another. The coordinator *believes* it
//!
//! - at once if it is mutual: both are up then, and neither hears the other;
//! - else when the missed node was heard twice since the claim came, and the claim is still made.
//!   A node that has crashed is missed by others a little earlier than by the coordinator: it is
//!   not heard again, so nobody is left out for having noticed it first. And a node that was late
//!   once has been heard by then at the other end as well, and the claim is withdrawn. Whoever
//!   hears that it is missed says at once that it is up. If it is the coordinator that is missed,
//!   which is up for sure, the claim must be repeated once.
//!
//! Heartbeats that say something new of whom their sender misses come out of turn, and perhaps
//! several in a row: they do not count as being heard, nor as repeating what was claimed before.
//!
//! Of the members that it hears the coordinator leaves out [the fewest](crate::group::cover) such
//! that no believed claim is left between two that stay, itself among those that do: those with the
//! lowest numbers stay where there is a choice. They are treated as suspected ones: neither awaited
//! in the flush nor members of the next view. A node joins only if there is no believed claim
//! between it and those that stay; so a node that was left out does not come back before the link
//! is mended, and views do not change to and fro. Newcomers never displace members.
//!
//! A coordinator that misses several members at once may itself be the one that is cut off. So it
//! proposes no view before each of the others that it hears has been heard twice since, or misses
//! the same nodes. Meanwhile a member that misses only the coordinator has gone on without it.
//!
//! **Safe**, whatever is claimed: a view follows only by a decision of a primary set, and claims
//! only say what is proposed.
//!
//! **Live**: say that links break and no more change, and there is a majority whose members all
//! hear each other. With a beat of b, a margin m and a message delay T, a member misses another b +
//! m after the last heartbeat at the latest. The coordinator hears of that after T, and of both if
//! the link is broken both ways. Else the missed one is heard T later out of turn, and after
//! another
//! b once more; or the claim is repeated after b. The change takes 5T. So the group goes on after
//! 2b + m + 7T at most, or b + m + 6T where links are broken both ways, if each member misses one
//! other; three detection times are 3(b + m + T). A coordinator that misses several proposes 2b
//! later at the latest.
//!
//! **Limits**: the fewest of those that the coordinator hears; what is broken between two that it
//! does not hear it cannot know. A false claim that is made twice costs a member its place until it
//! is withdrawn, as a false suspicion of the coordinator does.

use alloc::vec::Vec;

use vorrang_protocol::{Effects, NodeId, NodeSet};

use super::{Phase, Views};
use crate::group::claims::TWICE;
use crate::group::cover::fewest;
use crate::group::decision::Decision;
use crate::group::message::{Install, Message, Progress, Status};
use crate::group::shown::Shown;

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// How it stands, and whom it misses.
    pub(super) fn status(&self) -> Status {
        let inside = self.inside.as_ref().map(|inside| Progress {
            upto: inside.log.upto(),
            is_frozen: inside.phase != Phase::Running,
        });
        Status {
            incarnation: self.incarnation,
            wants: self.wants,
            view: self.last.view.id,
            inside,
            misses: self.suspects.iter().collect(),
            since: self.voting.since,
            changes: self.voting.pending(),
        }
    }

    /// Tells another how it stands.
    pub(super) fn announce_to(&self, to: NodeId, fx: &mut impl Effects<Self>) {
        fx.send(to, Message::Status(self.status()));
    }

    /// Tells everyone how it stands.
    pub(super) fn announce(&self, fx: &mut impl Effects<Self>) {
        fx.broadcast(self.universe.others(self.me), Message::Status(self.status()));
    }

    /// The nodes that it hears and leaves out all the same, since they and others do not hear each
    /// other.
    pub(super) fn left_out(&self) -> NodeSet {
        if self.claims.missed_by.is_empty() {
            return NodeSet::EMPTY;
        }
        let is_cut = |one, other| self.claims.is_cut(one, other);
        let wants_out = |it: &NodeId| self.peers.get(it).is_some_and(|peer| peer.wants_out);
        let stays = |it: &NodeId| *it != self.me && !wants_out(it);
        let (apart, members): (Vec<NodeId>, Vec<NodeId>) =
            self.heard().filter(stays).partition(|&it| is_cut(self.me, it));
        let mut out = fewest(&members, is_cut);
        out.extend(apart);
        let kept: Vec<NodeId> = members.iter().copied().filter(|&it| !out.contains(it)).collect();
        let is_new = |it: &NodeId| {
            !members.contains(it) && !self.suspects.contains(*it) && stays(it) && !out.contains(*it)
        };
        let newcomers = self.peers.keys().copied().filter(is_new);
        let (apart, newcomers): (Vec<NodeId>, Vec<NodeId>) = newcomers
            .partition(|&it| is_cut(self.me, it) || kept.iter().any(|&other| is_cut(it, other)));
        out.extend_from(&fewest(&newcomers, is_cut));
        out.extend(apart);
        out
    }

    /// A heartbeat says whom its sender misses; whether that changes who is left out, or whether
    /// this node is still unsure. If it is this node that is missed, it says that it is up.
    pub(super) fn on_claims(
        &mut self,
        from: NodeId,
        missed: &[NodeId],
        fx: &mut impl Effects<Self>,
    ) -> bool {
        let is_other = |it: &NodeId| *it != from && self.universe.contains(*it);
        let missed: NodeSet = missed.iter().copied().filter(is_other).collect();
        let is_missed = missed.contains(self.me) && !self.claims.says(from, self.me);
        let (before, was_unsure) = (self.left_out(), self.is_unsure());
        self.claims.hear(self.me, from, missed);
        if is_missed {
            self.announce_to_members(fx);
        }
        before != self.left_out() || was_unsure
    }

    /// A node is not heard any more.
    pub(super) fn on_missing(&mut self, node: NodeId) {
        self.claims.forget(node);
        let is_member = self.last.view.incarnation_of(node).is_some();
        if is_member && self.missing().len() > 1 {
            let others = self.heard().filter(|&it| it != self.me).map(|it| (it, 0));
            self.claims.unsure = others.collect();
        }
    }

    /// The members that it cannot hear.
    fn missing(&self) -> NodeSet {
        let is_missing = |it: &NodeId| self.suspects.contains(*it);
        self.last.view.nodes().filter(is_missing).collect()
    }

    /// Whether it misses several members and does not know yet whether others do.
    pub(super) fn is_unsure(&self) -> bool {
        if self.claims.unsure.is_empty() {
            return false;
        }
        let missing = self.missing();
        let is_sure = |it: NodeId| {
            let often = self.claims.unsure.get(&it);
            let agrees = || missing.iter().all(|of| self.claims.says(it, of));
            often.is_none_or(|&often| often >= TWICE) || agrees()
        };
        missing.len() > 1 && !self.heard().all(is_sure)
    }

    /// Says at once that it misses a member, unless it acts on that itself.
    pub(super) fn claim(&self, of: NodeId, fx: &mut impl Effects<Self>) {
        let is_member = self.last.view.incarnation_of(of).is_some();
        if is_member && self.active().next() != Some(self.me) {
            self.announce_to_members(fx);
        }
    }

    /// Says at once that it misses a node no more, be it a member or one that joins.
    pub(super) fn withdraw(&self, fx: &mut impl Effects<Self>) {
        if self.active().next() != Some(self.me) {
            self.announce_to_members(fx);
        }
    }

    /// Tells the members that it hears how it stands, if it is one.
    pub(super) fn announce_to_members(&self, fx: &mut impl Effects<Self>) {
        if self.inside.is_some() {
            for to in self.heard().filter(|&it| it != self.me) {
                self.announce_to(to, fx);
            }
        }
    }
}
