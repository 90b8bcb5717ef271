//! Who votes on the next view, where views [name their voters](crate::group::voters).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use vorrang_protocol::{Effects, NodeId, NodeSet, NodeState, Refused, StateValue};

use super::{Phase, Views};
use crate::group::decision::{Decision, Proposer};
use crate::group::message::{Install, Status};
use crate::group::shown::Shown;
use crate::group::view::Member;
use crate::group::voters::{
    ALL_VOTE, Change, NO_MEMBER, NOT_A_MEMBER, NOT_THERE, ONLY_MEMBER, ONLY_VOTER, VOTES_ALREADY,
    VOTES_NOT, Voter,
};

/// Whether a node votes, and what is to change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::group) struct Voting {
    /// On stable storage, where views name their voters: the life in which its directory was empty.
    pub(in crate::group) since: Option<u64>,
    /// The same of others, and in which life they have said so last.
    directories: BTreeMap<NodeId, Directory>,
    /// What this node was asked for and is not done.
    pub(super) own: BTreeSet<Change>,
    /// What members have asked for in this view.
    pub(super) asked: BTreeSet<Change>,
}

/// Which directory another node has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Directory {
    /// In this life.
    incarnation: u64,
    since: u64,
}

impl Voting {
    /// With this directory.
    pub(super) fn in_directory(self, since: Option<u64>) -> Self {
        Self { since, ..self }
    }

    /// What it was asked for, to be said.
    pub(super) fn pending(&self) -> Vec<Change> {
        self.own.iter().copied().collect()
    }

    /// As it is shown: nothing where nobody votes by name, and nothing is to change.
    pub(super) fn state(&self) -> NodeState {
        let state = NodeState::new();
        let state = match self.since {
            None => state,
            Some(since) => {
                let others = self.directories.iter();
                let others = others.map(|(&id, it)| (id, it.incarnation, it.since));
                let state = state.with("directory since", since);
                state.with("directories of others", StateValue::list(others))
            }
        };
        if self.asked.is_empty() && self.own.is_empty() {
            return state;
        }
        let shown = |changes: &BTreeSet<Change>| {
            StateValue::list(changes.iter().map(|it| StateValue::shown(it)))
        };
        state.with("to change", shown(&self.asked)).with("asked for here", shown(&self.own))
    }

    /// A node says with which directory it is up.
    pub(super) fn hear(&mut self, from: NodeId, status: &Status) {
        let &Status { incarnation, since: Some(since), .. } = status else { return };
        let known = self.directories.get(&from);
        if known.is_none_or(|known| known.incarnation <= incarnation) {
            self.directories.insert(from, Directory { incarnation, since });
        }
    }
}

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// The same where views name their voters, of a group that is founded already: to begin with,
    /// its founders.
    #[must_use]
    pub fn naming_voters(self) -> Self {
        let founders = self.last.view.members.iter();
        let voter = |it: &Member| Voter { node: it.node, since: it.incarnation };
        let last = Install { voters: founders.map(voter).collect(), ..self.last };
        Self { voting: self.voting.in_directory(Some(self.incarnation)), last, ..self }
    }

    /// What is left of it if its directory is lost as well: nothing but the time. It is another
    /// voter.
    #[must_use]
    pub fn after_loss(&self, fresh: Self) -> Self {
        let fresh = self.remains(fresh);
        let since = self.voting.since.map(|_| fresh.incarnation);
        Self { voting: fresh.voting.in_directory(since), ..fresh }
    }

    /// The voters on the successor of the newest view that it knows: its members, lowest first, and
    /// then all others that have a vote.
    pub fn voters(&self) -> Vec<NodeId> {
        self.in_order(&self.last.view.members, |node| self.has_vote(node))
    }

    /// Those that vote, members first.
    fn in_order(&self, members: &[Member], votes: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
        let is_other = |node: &NodeId| members.binary_search_by_key(node, |it| it.node).is_err();
        let others = self.universe.members().filter(is_other);
        members.iter().map(|it| it.node).chain(others).filter(|&node| votes(node)).collect()
    }

    /// The voters that the newest view names, if it does.
    pub fn named_voters(&self) -> &[Voter] {
        &self.last.voters
    }

    /// Whether a node is asked to vote. Before there is a view it will be the founders.
    pub(super) fn has_vote(&self, node: NodeId) -> bool {
        if self.forgets {
            return self.last.view.incarnation_of(node).is_some();
        }
        if self.voting.since.is_some() && self.last.view.id > 0 {
            return self.voter(node).is_some();
        }
        self.founding.as_ref().is_none_or(|founding| founding.founders.contains(&node))
    }

    /// The voter of the view that has this number.
    fn voter(&self, node: NodeId) -> Option<Voter> {
        self.last.voters.iter().copied().find(|it| it.node == node)
    }

    /// Whether it is a voter itself, where views name them.
    fn is_voter(&self) -> bool {
        let itself = |since| Voter { node: self.me, since };
        self.voting.since.is_some_and(|since| self.voter(self.me) == Some(itself(since)))
    }

    /// Whether it may promise and vote on the successor of this view. Without stable storage only
    /// as the member that the view has, since an earlier life of this node may have voted.
    pub(super) fn may_vote(&self, number: u64) -> bool {
        let view = &self.last.view;
        if self.voting.since.is_some() {
            return number == view.id && self.is_voter();
        }
        !self.forgets || (number == view.id && view.has(self.itself()))
    }

    /// Whether it has not voted on a successor of this view: while enough voters say so, there is
    /// none.
    pub fn vouches_for(&self, view: u64) -> bool {
        let is_running = self.inside.as_ref().is_none_or(|it| it.phase == Phase::Running);
        let is_voter = if self.forgets {
            self.inside.is_some() && view == self.last.view.id
        } else {
            self.may_vote(view)
        };
        is_voter && is_running && view >= self.last.view.id && !self.decision.has_voted(view)
    }

    /// Whether a node that is a voter by its number is known to be up with another directory.
    pub(super) fn is_replaced(&self, node: NodeId) -> bool {
        let Some(voter) = self.voter(node) else { return false };
        let now = if node == self.me {
            self.voting.since
        } else {
            self.voting.directories.get(&node).map(|it| it.since)
        };
        now.is_some_and(|since| since != voter.since)
    }

    /// Whether a node may be the one that proposes where all members are gone: if it is a voter,
    /// as far as is known.
    pub(super) fn may_lead_from_outside(&self, node: NodeId) -> bool {
        self.voting.since.is_none() || (self.has_vote(node) && !self.is_replaced(node))
    }

    /// What it is when it proposes.
    pub(super) fn proposer(&self) -> Proposer {
        match self.voting.since {
            None => Proposer::VOTER,
            Some(_) => Proposer { votes: self.is_voter(), life: self.incarnation },
        }
    }

    /// As voters, these members in these lives, if they have said with which directories they are
    /// up. None where views name no voters.
    pub(super) fn as_voters(&self, members: &[Member]) -> Option<Vec<Voter>> {
        if self.voting.since.is_none() {
            return Some(Vec::new());
        }
        members.iter().map(|&member| self.as_voter(member)).collect()
    }

    pub(super) fn as_voter(&self, member: Member) -> Option<Voter> {
        let Member { node, incarnation } = member;
        let since = if member == self.itself() {
            self.voting.since
        } else {
            let known = self.voting.directories.get(&node);
            known.filter(|it| it.incarnation == incarnation).map(|it| it.since)
        };
        since.map(|since| Voter { node, since })
    }

    /// The voters of the next view, if it has these members: as they are, but for what members have
    /// asked for, if enough of those that vote then are there.
    pub(super) fn next_voters(&self, members: &[Member]) -> Vec<Voter> {
        let last = &self.last.voters;
        if self.voting.asked.is_empty() {
            return last.clone();
        }
        let is_there = |voter: Voter| members.iter().any(|&it| self.as_voter(it) == Some(voter));
        let mut next = last.clone();
        for &change in &self.voting.asked {
            match change {
                Change::Add(voter) if is_there(voter) => {
                    next.retain(|it| it.node != voter.node);
                    next.push(voter);
                }
                Change::Remove(voter) => next.retain(|&it| it != voter),
                Change::Add(_) | Change::Evict(_) => {}
            }
        }
        next.sort_unstable();
        let left_out = self.left_out();
        let counts = |it: &&Voter| {
            let is_kept = last.contains(it) && !self.is_replaced(it.node);
            let is_heard = !self.suspects.contains(it.node) && !left_out.contains(it.node);
            is_heard && (is_kept || is_there(**it))
        };
        let here: NodeSet = next.iter().filter(counts).map(|it| it.node).collect();
        let order = self.in_order(members, |node| next.iter().any(|it| it.node == node));
        if self.decision.suffices(&order, &here) { next } else { last.clone() }
    }

    /// The members that are to be evicted, unless nobody would go on then.
    pub(super) fn evicted(&self) -> NodeSet {
        let member = |change: &Change| match change {
            Change::Evict(member) if self.last.view.has(*member) => Some(member.node),
            Change::Evict(_) | Change::Add(_) | Change::Remove(_) => None,
        };
        let evicted: NodeSet = self.voting.asked.iter().filter_map(member).collect();
        if evicted.is_empty() {
            return evicted;
        }
        let left_out = self.left_out();
        let goes_on = |it: NodeId| !left_out.contains(it) && !evicted.contains(it);
        if self.heard().any(goes_on) { evicted } else { NodeSet::EMPTY }
    }

    /// Whether somebody has asked for the next view to be without this member.
    pub(super) fn is_to_be_evicted(&self) -> bool {
        self.voting.asked.contains(&Change::Evict(self.itself()))
    }

    /// The voters of the view before and of this one that are members of neither.
    pub(super) fn voters_outside(&self, next: &Install<B, I>) -> NodeSet {
        let voters = self.last.voters.iter().chain(&next.voters).map(|it| it.node);
        let is_member = |node: NodeId| {
            let views = [&self.last.view, &next.view];
            views.iter().any(|view| view.incarnation_of(node).is_some())
        };
        voters.filter(|&it| it != self.me && !is_member(it)).collect()
    }

    pub(super) fn evict(
        &mut self,
        node: NodeId,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        if self.inside.is_none() {
            return Err(NO_MEMBER);
        }
        let view = &self.last.view;
        let member = view.incarnation_of(node).map(|incarnation| Member { node, incarnation });
        let voter = self.voter(node);
        match (member, voter) {
            (None, None) => return Err(NOT_THERE),
            (Some(_), _) if view.members.len() == 1 => return Err(ONLY_MEMBER),
            (_, Some(_)) if self.last.voters.len() == 1 => return Err(ONLY_VOTER),
            (Some(_), _) | (None, Some(_)) => {}
        }
        let evicts = member.map(Change::Evict).into_iter().chain(voter.map(Change::Remove));
        self.ask_for(evicts, fx);
        Ok(())
    }

    pub(super) fn add_voter(
        &mut self,
        node: NodeId,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.can_change_voters()?;
        let incarnation = self.last.view.incarnation_of(node).ok_or(NOT_A_MEMBER)?;
        let voter = self.as_voter(Member { node, incarnation }).ok_or(NOT_A_MEMBER)?;
        if self.last.voters.contains(&voter) {
            return Err(VOTES_ALREADY);
        }
        self.ask_for([Change::Add(voter)], fx);
        Ok(())
    }

    pub(super) fn remove_voter(
        &mut self,
        node: NodeId,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.can_change_voters()?;
        let voter = self.voter(node).ok_or(VOTES_NOT)?;
        if self.last.voters.len() == 1 {
            return Err(ONLY_VOTER);
        }
        self.ask_for([Change::Remove(voter)], fx);
        Ok(())
    }

    const fn can_change_voters(&self) -> Result<(), Refused> {
        match (self.voting.since, &self.inside) {
            (None, _) => Err(ALL_VOTE),
            (Some(_), None) => Err(NO_MEMBER),
            (Some(_), Some(_)) => Ok(()),
        }
    }
}
