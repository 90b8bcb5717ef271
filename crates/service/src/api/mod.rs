//! What is said over HTTP, as types: the daemon writes them and its clients read them, or the other
//! way round.
//!
//! The document at `/v1/openapi.json` describes the same for programs in other languages.

mod refusal;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::refusal::{Code, Refusal};

/// The version of the interface that this program speaks, as the header [`VERSION_HEADER`] has it.
pub const VERSION: u32 = 1;

/// Versions that the daemon still answers.
pub const SPOKEN: [u32; 1] = [VERSION];

/// The header that says the version: of a request which one is meant ([`VERSION`] if it is left
/// out), of an answer which one it is.
pub const VERSION_HEADER: &str = "vorrang-api";

/// The media type of a stream of JSON lines.
pub const JSON_LINES: &str = "application/x-ndjson";

/// How many bytes the body of a request has at most.
pub const LONGEST_BODY: usize = 8 << 10;

/// How many bytes the id of a hold has at most.
pub const LONGEST_ID: usize = 128;

/// How many bytes the label of a hold has at most.
pub const LONGEST_LABEL: usize = 256;

/// What is wanted: the kinds of hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A lock, alone.
    Lock,
    /// A lock, together with all others who share it.
    Shared,
    /// One of the permits of a semaphore.
    Semaphore,
    /// To lead.
    Election,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "lock",
            Self::Shared => "shared",
            Self::Semaphore => "semaphore",
            Self::Election => "election",
        })
    }
}

/// The body of `PUT /v1/holds/{id}`: what is wanted under this id.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// What.
    pub kind: Kind,
    /// Of this name.
    pub name: String,
    /// How many permits there are, for a semaphore and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permits: Option<u32>,
    /// What a candidate says of itself, for an election and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Give up if it is not granted within so many milliseconds; wait for ever if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// Who asks, for people who look at the list of locks: `host:pid command`, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl HoldRequest {
    /// One for a lock of this name, that waits for ever.
    pub fn lock(name: impl Into<String>) -> Self {
        Self {
            kind: Kind::Lock,
            name: name.into(),
            permits: None,
            value: None,
            within_ms: None,
            label: None,
        }
    }
}

/// One line of the stream that answers `PUT /v1/holds/{id}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum HoldEvent {
    /// It waits.
    Waiting {
        /// Since when, in seconds since 1970.
        since: u64,
    },
    /// It has it.
    Granted {
        /// The fencing token, as 32 hexadecimal digits.
        token: String,
        /// Its first half: the number of the membership view.
        view: u64,
        /// Its second half: the number of the entry.
        number: u64,
        /// How long a lease lasts, if there are leases.
        lease_ms: Option<u64>,
        /// When nothing may run under the hold any more unless another line comes before, on the
        /// clock `CLOCK_BOOTTIME` of this machine; null over TCP, where clients renew, and without
        /// leases.
        /// Between `at-risk` and this time are two thirds of the grace, and the last third after it
        /// until others may get the hold.
        deadline_boottime_ns: Option<u64>,
    },
    /// Nothing has happened. While the hold is held it comes with every quarter of a lease, at
    /// least once a second, and the deadline has moved; while it waits, every five seconds.
    Alive {
        /// As in `granted`; null while the hold waits.
        deadline_boottime_ns: Option<u64>,
    },
    /// The hold will be lost at the deadline unless the member can renew its lease.
    AtRisk {
        /// As in `granted`.
        deadline_boottime_ns: Option<u64>,
    },
    /// It need not be feared any more that the hold is lost.
    Safe,
    /// The hold is lost. The last line.
    Lost {
        /// Why.
        why: LossReason,
        /// The same as a sentence.
        sentence: String,
    },
    /// It was not granted in time, and is not waited for any more. The last line.
    Timeout,
    /// It is not granted, and not waited for any more. The last line.
    Refused {
        /// Why, as a sentence.
        why: String,
        /// The same for programs: `bad-request` if it makes no sense to ask again, `leaving` or
        /// `unavailable` if this member cannot grant anything.
        code: Code,
    },
    /// It was given back, or not waited for any more, as its client has asked. The last line.
    Released,
}

impl HoldEvent {
    /// Whether the stream ends with this line.
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Timeout | Self::Refused { .. } | Self::Released => true,
            Self::Waiting { .. }
            | Self::Granted { .. }
            | Self::Alive { .. }
            | Self::AtRisk { .. }
            | Self::Safe => false,
        }
    }
}

/// Why a hold was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// The group has gone on without the member.
    Evicted,
    /// The member could not renew its lease.
    LeaseOver,
    /// The member leaves the group.
    Leaving,
    /// Another process was started as this member.
    Replaced,
    /// The member has stopped: its storage has failed, for example.
    Stopped,
    /// It was held for longer than the configuration allows.
    MaxHold,
    /// The client did not renew it in time.
    NotRenewed,
    /// Somebody has released it by force.
    Forced,
}

impl LossReason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Evicted,
        Self::LeaseOver,
        Self::Leaving,
        Self::Replaced,
        Self::Stopped,
        Self::MaxHold,
        Self::NotRenewed,
        Self::Forced,
    ];

    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evicted => "evicted",
            Self::LeaseOver => "lease-over",
            Self::Leaving => "leaving",
            Self::Replaced => "replaced",
            Self::Stopped => "stopped",
            Self::MaxHold => "max-hold",
            Self::NotRenewed => "not-renewed",
            Self::Forced => "forced",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The answer to `POST /v1/holds/{id}/renew`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Renewal {
    /// How the hold stands.
    pub state: HoldState,
    /// For how many milliseconds from the sending of the request the client may count on the hold;
    /// null while it waits.
    pub left_ms: Option<u64>,
    /// Within how many milliseconds the next renewal must arrive.
    pub within_ms: u64,
}

/// The body of `POST /v1/holds/{id}/process`: on the Unix socket alone.
///
/// From then on the daemon kills this process group when the hold comes to its deadline, and when
/// the connection of the client breaks before it has released the hold; and only then the next one
/// gets it. A client whose command has ended therefore releases with `DELETE` before it closes its
/// connection, or takes the process back with `null`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldProcess {
    /// The process group: the number of its first process. Null: none any more.
    pub pgid: Option<u32>,
}

/// How a hold stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldState {
    /// It waits.
    Waiting,
    /// It is held.
    Held,
    /// It is held, and may be lost soon.
    AtRisk,
    /// It is over: released, lost, refused, or not granted in time.
    Over,
}

impl fmt::Display for HoldState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::AtRisk => "at risk",
            Self::Over => "over",
        })
    }
}

/// A hold as a list shows it: `GET /v1/holds/{id}`, and the lines of `GET /v1/locks`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Hold {
    /// The member at which its client asked.
    pub member: String,
    /// Its id, which its client has chosen.
    pub id: String,
    /// What.
    pub kind: Kind,
    /// Of this name.
    pub name: String,
    /// How many permits there are, of a semaphore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permits: Option<u32>,
    /// What a candidate says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How it stands.
    pub state: HoldState,
    /// Since when it stands so, in seconds since 1970: since it was asked for, or granted.
    pub since: u64,
    /// The fencing token, if it is held.
    pub token: Option<String>,
    /// What its client says of itself.
    pub label: Option<String>,
    /// Who its client is: `uid 1000` on the Unix socket, the name of its certificate over TLS.
    pub client: String,
    /// How it has ended, if it is over: the last line that its client was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<HoldEvent>,
}

/// The answer to `GET /v1/locks`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Locks {
    /// All holds of which somebody could be asked, by kind and name, holders first.
    pub holds: Vec<Hold>,
    /// The members that could not be asked, so that their holds are missing.
    pub unreached: Vec<Unreached>,
}

/// A member that could not be asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unreached {
    /// Its name.
    pub member: String,
    /// Why, as a sentence.
    pub why: String,
}

/// The answer to `GET /v1/members`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Members {
    /// The name of the group.
    pub group: String,
    /// The member that answers.
    pub this: String,
    /// The algorithm that runs its locks.
    pub algorithm: String,
    /// The number of the newest membership view that it knows, if there is one.
    pub view: Option<u64>,
    /// Whether it belongs to that view, and a majority of it answers. Only then anything is
    /// granted.
    pub majority: bool,
    /// Why nothing is granted, if so, and what will change that.
    pub trouble: Option<String>,
    /// When and why the member that answers was evicted last, if it was.
    pub evicted: Option<Evicted>,
    /// All that it knows of, in the order of their numbers: the founders first.
    pub members: Vec<Member>,
}

/// An eviction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evicted {
    /// When it was noticed, in seconds since 1970.
    pub at: u64,
    /// Why, as a sentence.
    pub why: String,
}

/// One member, as another sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where other members reach it, if that is known.
    pub address: Option<String>,
    /// Where its HTTP interface is, if it has one for other machines.
    pub http: Option<String>,
    /// How it stands.
    pub state: MemberState,
    /// Whether its vote counts when a view is decided.
    pub voter: bool,
    /// Whether it has a vote that it cannot use any more, since its data directory was lost: until
    /// it is let vote again.
    #[serde(default)]
    pub vote_lost: bool,
    /// Why there is no connection with it, if there is none and that is known.
    pub trouble: Option<String>,
}

/// How a member stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// It belongs to the view.
    Member,
    /// It belongs to the view, and has been silent for too long.
    Suspected,
    /// It does not belong to the view: it has left, was evicted, or has never come.
    Absent,
}

impl MemberState {
    /// Whether it belongs to the view.
    pub const fn is_in_view(self) -> bool {
        match self {
            Self::Member | Self::Suspected => true,
            Self::Absent => false,
        }
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Member => "member",
            Self::Suspected => "suspected",
            Self::Absent => "absent",
        })
    }
}

/// One line of the stream that answers `GET /v1/elections/{name}`: the first at once, others when
/// it has changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ElectionEvent {
    /// This one leads.
    Leader {
        /// What it says of itself.
        value: String,
        /// At which member it has asked.
        member: String,
        /// The fencing token, as 32 hexadecimal digits.
        token: String,
    },
    /// Nobody leads, as far as this member knows.
    Nobody,
    /// Nothing has happened.
    Alive,
}

/// The data of `GET /v1/events`: server-sent events of the same names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// How the group is: the first event, and whenever it has changed.
    Members(Members),
    /// A hold of this member has begun, or has changed.
    Hold(Hold),
    /// So many events were left out, since the reader was too slow: ask for everything again.
    Missed {
        /// How many.
        events: u64,
    },
}

impl Event {
    /// The name of a server-sent event.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Members(_) => "members",
            Self::Hold(_) => "hold",
            Self::Missed { .. } => "missed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_documented_interface() {
        let line = |event: &HoldEvent| serde_json::to_string(event).unwrap();
        assert_eq!(line(&HoldEvent::Waiting { since: 7 }), r#"{"event":"waiting","since":7}"#);
        let deadline_boottime_ns = None;
        assert_eq!(
            line(&HoldEvent::AtRisk { deadline_boottime_ns }),
            r#"{"event":"at-risk","deadline_boottime_ns":null}"#
        );
        assert_eq!(line(&HoldEvent::Safe), r#"{"event":"safe"}"#);
        let sentence = String::new();
        assert_eq!(
            line(&HoldEvent::Lost { why: LossReason::LeaseOver, sentence }),
            r#"{"event":"lost","why":"lease-over","sentence":""}"#
        );
        for why in LossReason::ALL {
            assert_eq!(serde_json::to_value(why).unwrap(), why.name());
        }
    }

    #[test]
    fn a_request_needs_no_more_than_a_kind_and_a_name_and_takes_nothing_unknown() {
        let read = serde_json::from_str::<HoldRequest>;
        assert_eq!(read(r#"{"kind":"lock","name":"a"}"#).unwrap(), HoldRequest::lock("a"));
        let why = read(r#"{"kind":"lock","name":"a","with_in":3}"#).unwrap_err().to_string();
        assert!(why.contains("`with_in`"), "{why}");
        let why = read(r#"{"kind":"mutex","name":"a"}"#).unwrap_err().to_string();
        assert!(why.contains("`mutex`") && why.contains("`semaphore`"), "{why}");
    }
}
