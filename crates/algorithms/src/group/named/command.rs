//! What applications ask for, and are told.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, Refused, StateValue};

use super::name::{Key, Kind, Name, Value};
use crate::mutex::FencingToken;

/// A client of a member, by a number that the member's driver gives it.
pub type Client = u64;

/// The commands of the clients of one member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Wants it.
    Acquire {
        /// The name.
        name: Name,
        /// Who wants it.
        client: Client,
        /// What.
        want: Want,
    },
    /// Has it, and gives it back.
    Release {
        /// What.
        key: Key,
        /// Who.
        client: Client,
    },
    /// Wants it no more: whether it waits or has been granted it by now, it has nothing afterwards.
    Withdraw {
        /// What.
        key: Key,
        /// Who.
        client: Client,
    },
    /// Wants to be told who leads.
    Observe(Name),
    /// Does not want to be told any more.
    Ignore(Name),
    /// A message to or from another member could not be kept: the view is to end, and another one
    /// of the same members to begin, in which nothing is under way.
    Renew,
    /// The member leaves the group for good. Its clients have given back all that they had, and
    /// want nothing: so nobody waits for its lease.
    Leave,
    /// A node is no member any more, and has [no vote](crate::group::voters). If it is up, it comes
    /// back as a member without a vote.
    Evict(NodeId),
    /// A member votes from the next view on, with the directory that it has now: instead of one
    /// that was lost, if it had another vote before.
    AddVoter(NodeId),
    /// A node votes no more.
    RemoveVoter(NodeId),
}

/// What a client wants.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// The lock, alone.
    Exclusive,
    /// The lock, together with all others who share it; with those of one member, if the algorithm
    /// grants members none that are shared.
    Shared,
    /// A permit of so many.
    PermitOf(u32),
    /// To lead, and to be known by this.
    Lead(Value),
}

impl Want {
    /// Names of this kind are wanted so.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Exclusive | Self::Shared => Kind::Lock,
            Self::PermitOf(_) => Kind::Semaphore,
            Self::Lead(_) => Kind::Election,
        }
    }
}

/// The notices to the clients of one member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// It has it, until it releases or loses it.
    Granted {
        /// What.
        key: Key,
        /// Who.
        client: Client,
        /// To be shown to the resource.
        token: FencingToken,
    },
    /// It has it no more.
    Lost {
        /// What.
        key: Key,
        /// Who.
        client: Client,
        /// Why.
        why: Loss,
    },
    /// It does not get it, and waits no more.
    Refused {
        /// What.
        key: Key,
        /// Who.
        client: Client,
        /// Why.
        why: Refusal,
    },
    /// The clients of this member may lose all that they have, soon.
    AtRisk,
    /// They need not fear that any more.
    Safe,
    /// Who leads, to those who observe that.
    Leader {
        /// The election.
        name: Name,
        /// The leader, if one is known.
        lead: Option<Lead>,
    },
    /// The member belongs to a view from now on: its number, and how many members it has.
    View {
        /// The number.
        number: u64,
        /// This one included.
        members: u32,
    },
    /// The member belongs to the group no more, as somebody has [asked](Command::Evict).
    Removed {
        /// Since this view.
        view: u64,
    },
}

/// Why a client has lost what it had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The group has gone on without this member.
    Evicted,
    /// The same, and somebody has [asked](Command::Evict) it to.
    Removed,
    /// The member could not prove for as long as a lease lasts that it belongs to the group.
    LeaseOver,
}

/// Why a client does not get what it wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Others, who have or want it, say that there are another number of permits.
    Permits {
        /// As this one says.
        asked: u32,
        /// As others do.
        bound: u32,
    },
}

/// A leader.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Lead {
    /// Its member.
    pub member: NodeId,
    /// With this token.
    pub token: FencingToken,
    /// What it says of itself.
    pub value: Value,
}

impl Lead {
    /// As it is shown in a state.
    pub(super) fn shown(&self) -> StateValue {
        let Self { member, token, value } = self;
        (*member, StateValue::shown(token), StateValue::shown(value)).into()
    }
}

/// To want what one has.
pub const ALREADY_HELD: Refused =
    Refused("cannot acquire: this client holds it already, and locks are not re-entrant");
/// To want what one wants.
pub const ALREADY_WANTED: Refused = Refused("cannot acquire: this client waits for it already");
/// To release what one does not have.
pub const NOT_HELD: Refused = Refused("cannot release: this client does not hold it");
/// To withdraw what one neither wants nor has.
pub const NOT_WANTED: Refused =
    Refused("cannot withdraw: this client neither waits for it nor holds it");
/// To leave the group while clients hold or wait for something.
pub const HAS_CLIENTS: Refused =
    Refused("cannot leave the group: clients of this member hold or wait for something");
/// To want something of a member that leaves.
pub const IS_LEAVING: Refused = Refused("cannot acquire: this member leaves the group");
/// No permit at all.
pub const NO_PERMITS: Refused = Refused("cannot acquire: a semaphore has at least one permit");

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquire { name, client, want } => {
                write!(f, "acquire {} {name} for {client}", want.kind())?;
                match want {
                    Want::Exclusive => Ok(()),
                    Want::Shared => f.write_str(", shared"),
                    Want::PermitOf(permits) => write!(f, ", one of {permits}"),
                    Want::Lead(value) => write!(f, ", {value}"),
                }
            }
            Self::Release { key, client } => write!(f, "release {key} for {client}"),
            Self::Withdraw { key, client } => write!(f, "withdraw {key} for {client}"),
            Self::Observe(name) => write!(f, "observe {name}"),
            Self::Ignore(name) => write!(f, "ignore {name}"),
            Self::Renew => f.write_str("renew the view"),
            Self::Leave => f.write_str("leave the group"),
            Self::Evict(node) => write!(f, "evict {node}"),
            Self::AddVoter(node) => write!(f, "let {node} vote"),
            Self::RemoveVoter(node) => write!(f, "let {node} not vote"),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted { key, client, token } => {
                write!(f, "{client} has {key} with token {token}")
            }
            Self::Lost { key, client, why } => write!(f, "{client} has lost {key}: {why}"),
            Self::Refused { key, client, why } => write!(f, "{client} does not get {key}: {why}"),
            Self::AtRisk => f.write_str("at risk"),
            Self::Safe => f.write_str("safe"),
            Self::Leader { name, lead: None } => write!(f, "nobody leads {name}"),
            Self::Leader { name, lead: Some(lead) } => {
                write!(f, "{} leads {name} with token {}", lead.value, lead.token)
            }
            Self::View { number, members } => write!(f, "view {number} of {members} members"),
            Self::Removed { view } => write!(f, "evicted as was asked for, by view {view}"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Evicted => "the group has gone on without this member",
            Self::Removed => "the group has gone on without this member, as was asked for",
            Self::LeaseOver => "the member could not renew its lease",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permits { asked, bound } => {
                write!(f, "it was asked for as one of {asked} permits, and there are {bound}")
            }
        }
    }
}
