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
//! [`recovery`](super::views::recovery).
//!
//! Where there is no stable storage views name no voters: their members vote. Nor do they where all
//! nodes have it for sure, as in a simulation: then all nodes vote, members or not.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, Refused};

use super::view::Member;

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
    pub(super) fn contradicts(self, other: Self) -> bool {
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
