//! What is to be different in the next view: asked for at a member, said by it with every
//! heartbeat, and heeded by all.

use vorrang_protocol::{Effects, NodeId};

use super::Views;
use super::voting::Voting;
use crate::group::decision::Decision;
use crate::group::message::{Install, Status};
use crate::group::shown::Shown;
use crate::group::view::Member;
use crate::group::voters::Change;

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// What is asked for last counts.
    pub(super) fn ask_for(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
        fx: &mut impl Effects<Self>,
    ) {
        let Voting { own, asked, .. } = &mut self.voting;
        for change in changes {
            for all in [&mut *own, &mut *asked] {
                all.retain(|it| !it.contradicts(change));
                all.insert(change);
            }
        }
        self.announce_to_members(fx);
        self.consider(false, fx);
    }

    /// A member asks for changes, in the view that this node knows; whether they are new.
    pub(super) fn hear_changes(&mut self, from: NodeId, status: &Status) -> bool {
        let view = &self.last.view;
        let member = Member { node: from, incarnation: status.incarnation };
        if status.view != view.id || !view.has(member) {
            return false;
        }
        let mut asked = core::mem::take(&mut self.voting.asked);
        asked.retain(|&it| self.can_be(it));
        let mut is_new = false;
        for &change in status.changes.iter().filter(|&&it| self.can_be(it)) {
            let is_beside = |it: &Change| match (*it, change) {
                (Change::Add(one), Change::Add(other)) => one.node == other.node,
                (Change::Add(_) | Change::Remove(_) | Change::Evict(_), _) => false,
            };
            if !asked.iter().any(is_beside) {
                is_new |= asked.insert(change);
            }
        }
        self.voting.asked = asked;
        is_new
    }

    /// Whether a change may come about in the next view, as far as is known. There are only so many
    /// such: for each member one that evicts it and one that lets it vote, and one for each voter.
    fn can_be(&self, change: Change) -> bool {
        let Change::Add(voter) = change else { return self.is_open(change) };
        let Some(incarnation) = self.last.view.incarnation_of(voter.node) else { return false };
        let now = self.as_voter(Member { node: voter.node, incarnation });
        now.is_none_or(|now| now == voter) && !self.last.voters.contains(&voter)
    }

    /// A view has begun. What this node was asked for and is not so yet, but may still be, it asks
    /// for again; others will do so themselves.
    pub(super) fn settle_changes(&mut self, is_in: bool) {
        let mut own = core::mem::take(&mut self.voting.own);
        own.retain(|&change| is_in && self.is_open(change));
        self.voting.asked.clone_from(&own);
        self.voting.own = own;
    }

    fn is_open(&self, change: Change) -> bool {
        let Install { view, voters, .. } = &self.last;
        match change {
            Change::Evict(member) => view.has(member),
            Change::Remove(voter) => voters.contains(&voter),
            Change::Add(voter) => {
                let is_voter = |&member: &Member| self.as_voter(member) == Some(voter);
                !voters.contains(&voter) && view.members.iter().any(is_voter)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use vorrang_protocol::{Digest, Group, Outbox, Protocol};

    use super::*;
    use crate::group::Payload;
    use crate::group::founding::Founding;
    use crate::group::input::Input;
    use crate::group::message::{Message, Progress};
    use crate::group::synod::Synod;
    use crate::group::view::View;
    use crate::group::views::Ask;
    use crate::group::voters::Voter;

    type Node = Views<Payload, Digest, Synod<Install<Payload, Digest>>>;

    /// Node 0 in view 7 {0, 1, 2}, where 0 and 1 vote, each in its first directory.
    fn member() -> Node {
        let founders = [0, 1].map(NodeId).to_vec();
        let founding = Founding { view: 7, founders, patience: 0 };
        let node = Node::remembering(NodeId(0), Group::of(5), 0, founding).joining();
        let members = [0, 1, 2].map(|id| Member { node: NodeId(id), incarnation: 0 }).to_vec();
        let voters = [0, 1].map(|id| Voter { node: NodeId(id), since: 0 }).to_vec();
        let last = Install { voters, ..Install::first(View { id: 7, members }) };
        let mut node = Node { last, ..node };
        node.on_start(&mut Outbox::default());
        node
    }

    /// A member in this directory asks for these changes.
    fn hears(node: &mut Node, from: u32, since: u64, changes: Vec<Change>) {
        let inside = Some(Progress { upto: 0, is_frozen: false });
        let (view, misses, since) = (7, Vec::new(), Some(since));
        let status = Status { incarnation: 0, wants: true, view, inside, misses, since, changes };
        node.on_message(NodeId(from), Message::Status(status), &mut Outbox::default());
    }

    #[test]
    fn a_member_that_asks_for_everything_fills_nothing() {
        let mut node = member();
        for number in 0..1000 {
            let (of, since) = (NodeId((number % 5) as u32), number / 5);
            let member = Member { node: of, incarnation: since };
            let voter = Voter { node: of, since };
            let all = [Change::Evict(member), Change::Add(voter), Change::Remove(voter)];
            // It has another directory each time.
            hears(&mut node, 2, number, all.to_vec());
        }
        let asked = &node.voting.asked;
        let of = |it: fn(&Change) -> bool| asked.iter().filter(|change| it(change)).count();
        assert_eq!(of(|it| matches!(it, Change::Evict(_))), 3, "{asked:?}");
        assert_eq!(of(|it| matches!(it, Change::Remove(_))), 2, "{asked:?}");
        assert!(of(|it| matches!(it, Change::Add(_))) <= 3, "{asked:?}");
    }

    #[test]
    fn what_was_asked_for_wrongly_before_a_directory_is_known_gives_way() {
        let mut node = member();
        let add = |since| vec![Change::Add(Voter { node: NodeId(2), since })];
        hears(&mut node, 1, 0, add(9));
        hears(&mut node, 1, 0, add(4));
        assert!(node.voting.asked.iter().eq(&add(9)), "of two that may be the first");
        hears(&mut node, 2, 4, Vec::new());
        hears(&mut node, 1, 0, add(4));
        assert!(node.voting.asked.iter().eq(&add(4)), "the directory that it has");
        let asked = Input::Ask(Ask::AddVoter(NodeId(2)));
        node.on_command(asked, &mut Outbox::default()).expect("it is a member, and no voter");
    }
}
