//! Voters: who decides on the next view, where nodes have stable storage.
//!
//! Every view names its voters. The successor of view v is decided by the voters of v, and while a
//! member holds a [lease](super::locks::Lease) in v, it is the voters of v that vouch for it. The
//! first view's voters are its founders. From then on they change as members do: by the next view.
//!
//! **A voter is a directory, not a number.** It is a node with what it has kept since the life in
//! which its directory was empty. That life has a number that no other of this node has, since a
//! clock gives it, so it is the voter's identity: kept in the directory, and said with every
//! heartbeat. A node whose directory was lost, or replaced by an empty one, is therefore another
//! voter than before, and has no vote until a view names it. What the former promised nobody can
//! break, since nobody votes in its place.
//!
//! ```text
//!      view 1, voters 0, 1, 2           : view 2, voters 0, 1, 2'   : view 3 …
//!   0  ──ADD VOTER 2'──ACCEPT─┐ ▲─NEWVIEW─┐────────────────────ACCEPT─┐ ▲
//!   1  ───────────────────────▼─┴──:──────▼─[ on disk ]───────────────┼─┼──
//!   2  ──✗ (disk lost)             :      │                           │ │
//!   2' ──────[ votes on nothing ]─────────▼─[ on disk: votes from now on ]─
//! ```
//!
//! **Who may promise and vote** on the successor of v: a node that knows v, and whose directory is
//! among the voters of v. One that has missed views does neither until it has learned the newest of
//! those that it is asked about: by NEWVIEW, which it gets for the heartbeat in which it says how
//! far it has come. **Who may propose**: any member of v, as ever, and where all of those are gone
//! the lowest voter that is not suspected. A proposer asks the voters of v, which it knows. Its own
//! vote counts only if it is one of them: that it has the number of one is not enough. It may be
//! one that forgets, so ballots have a part for its [life](super::decision::Proposer).
//!
//! **Safe.** By induction over views: say that there is one view v. So there is one set of voters
//! for the decision v, each with a memory that lasts as long as the voter does: a process that has
//! lost it does not answer in its place. (That two processes have copies of one directory must be
//! prevented elsewhere.) No two processes use the same ballot. So [the decision](super::synod) is
//! unique, whatever is proposed, and there is one view v + 1 with one set of voters. Nobody uses
//! the voters of v + 1 before v + 1 is decided, since they are known only by knowing it. *Leases*:
//! a lease in v has the word of so many voters of v that none can decide v + 1 without one of them,
//! and those who vouch and those who decide are the same voters.
//!
//! **Live**: v + 1 can be followed when a majority of its voters has it on disk. Until then all
//! depends on the voters of v. Each of these keeps its vote until it has v + 1 on disk instead, so
//! as long as a majority of them is up, v + 1 is not lost: either one of them knows it, and tells
//! whoever asks, or they decide the same once more. So nothing need be agreed on before a view with
//! other voters begins, but *no directory of a voter of v may be thrown away before most voters of
//! v + 1 are in v + 1*. To keep people from mistakes, no voters are proposed unless enough of them
//! are heard at that moment, each with the directory that it votes with. Whoever is to vote must be
//! a member.
//!
//! **Changes** are asked for at any member ([`Ask`](super::views::Ask)). It says so with every
//! heartbeat until a view has come in which it is so; all members heed what members say in the same
//! view, so whoever is the coordinator knows. An evicted member is treated as a suspected one: it
//! is not waited for, and if it is up it finds itself excluded, and comes back as a member without
//! a vote. A change that has become impossible is dropped: to add the directory of a node that has
//! another one by now.
//!
//! **If a majority of voters is lost for good**, no view follows, and no machine can help: see
//! [`recovery`](super::recovery).
//!
//! Where there is no stable storage views name no voters: their members vote. Nor do they where all
//! nodes have it for sure, as in a simulation: then all nodes vote, members or not.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Data, Effects, NodeId, NodeSet, NodeState, Refused, StateValue};

use super::decision::{Decision, Proposer};
use super::message::{Install, Status};
use super::view::Member;
use super::views::{Phase, Views};

/// A voter: a node with one of its directories.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Voter {
    /// The node.
    pub node: NodeId,
    /// The life in which its directory was empty.
    pub since: u64,
}

/// As the member that it was in that life.
impl fmt::Display for Voter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Member { node: self.node, incarnation: self.since }.fmt(f)
    }
}

/// What is to be different in the next view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// This member does not belong to it.
    Evict(Member),
    /// This one votes, instead of any other under its number.
    Add(Voter),
    /// This one does not vote.
    Remove(Voter),
}

impl Change {
    /// Whether not both can be.
    fn contradicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Add(one), Self::Remove(other)) | (Self::Remove(one), Self::Add(other)) => {
                one.node == other.node
            }
            (Self::Add(one), Self::Add(other)) => one.node == other.node && one != other,
            (Self::Evict(_) | Self::Remove(_), _) | (_, Self::Evict(_)) => false,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evict(member) => write!(f, "evict {member}"),
            Self::Add(voter) => write!(f, "let {voter} vote"),
            Self::Remove(voter) => write!(f, "let {voter} not vote"),
        }
    }
}

/// Whether a node votes, and what is to change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Voting {
    /// On stable storage, where views name their voters: the life in which its directory was empty.
    pub(super) since: Option<u64>,
    /// The same of others, and in which life they have said so last.
    directories: BTreeMap<NodeId, Directory>,
    /// What this node was asked for and is not done.
    own: BTreeSet<Change>,
    /// What members have asked for in this view.
    asked: BTreeSet<Change>,
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

/// To evict or to let vote without belonging to the group.
pub const NO_MEMBER: Refused = Refused("cannot change the group: this node does not belong to it");
/// To evict nobody.
pub const NOT_THERE: Refused =
    Refused("cannot evict: that node is neither a member of the view nor one of its voters");
/// To evict the last member.
pub const ONLY_MEMBER: Refused = Refused("cannot evict: it is the only member");
/// To leave no voter.
pub const ONLY_VOTER: Refused =
    Refused("cannot remove: it is the only voter, and without one no view follows; add another");
/// To let somebody vote where all do.
pub const ALL_VOTE: Refused =
    Refused("cannot change voters: this group keeps nothing on disk, so that all its members vote");
/// To let somebody vote who is not there.
pub const NOT_A_MEMBER: Refused =
    Refused("cannot add a voter: that node does not belong to the view, or was not heard yet");
/// To let vote who does.
pub const VOTES_ALREADY: Refused = Refused("cannot add a voter: that node votes already");
/// To let not vote who does not.
pub const VOTES_NOT: Refused = Refused("cannot remove a voter: that node does not vote");

impl<B: Data, I: Data, D: Decision<Install<B, I>>> Views<B, I, D> {
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

    fn as_voter(&self, member: Member) -> Option<Voter> {
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
        if D::suffices(&order, &here) { next } else { last.clone() }
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

    /// What is asked for last counts.
    fn ask_for(&mut self, changes: impl IntoIterator<Item = Change>, fx: &mut impl Effects<Self>) {
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
        let before = self.voting.asked.len();
        self.voting.asked.extend(status.changes.iter().copied());
        self.voting.asked.len() > before
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
