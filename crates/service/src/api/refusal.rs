//! What is said by an answer that says no.

use serde::{Deserialize, Serialize};

/// The body of an answer that says no.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// Why, as a sentence.
    pub error: String,
    /// The same for programs.
    pub code: Code,
}

/// Why a request was refused, for programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There is nothing at this path.
    NotFound,
    /// There is, but not with this method.
    WrongMethod,
    /// The version of the interface is not spoken here.
    UnknownVersion,
    /// The body, the id or a parameter is not what it should be.
    BadRequest,
    /// The body is too long.
    TooLarge,
    /// The request did not arrive in time.
    TooSlow,
    /// There is no hold with this id.
    NoSuchHold,
    /// There is no member of this name.
    NoSuchMember,
    /// There is a hold with this id, and it is another one.
    OtherHold,
    /// The hold belongs to somebody else.
    NotYours,
    /// This client may not do that: another name, or one hold too many.
    NotAllowed,
    /// It works on the Unix socket alone.
    LocalOnly,
    /// The hold is over.
    HoldOver,
    /// The member leaves the group.
    Leaving,
    /// The member has stopped, or belongs to no view with a majority.
    Unavailable,
    /// Too many connections or holds.
    TooMany,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::NotFound,
        Self::WrongMethod,
        Self::UnknownVersion,
        Self::BadRequest,
        Self::TooLarge,
        Self::TooSlow,
        Self::NoSuchHold,
        Self::NoSuchMember,
        Self::OtherHold,
        Self::NotYours,
        Self::NotAllowed,
        Self::LocalOnly,
        Self::HoldOver,
        Self::Leaving,
        Self::Unavailable,
        Self::TooMany,
    ];
}
