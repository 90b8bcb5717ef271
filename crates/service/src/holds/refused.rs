//! Why something is refused, as a sentence and for programs.

use vorrang_lock::LockError;

use crate::api::{Code, HoldEvent};

/// Why something of a hold is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    pub(crate) why: String,
}

impl Refused {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

impl From<&LockError> for Refused {
    fn from(error: &LockError) -> Self {
        let code = match error {
            LockError::Leaving => Code::Leaving,
            LockError::Stopped(_)
            | LockError::Replaced(_)
            | LockError::NoMajority(_)
            | LockError::Outside(_) => Code::Unavailable,
            LockError::NotAMember(_) => Code::NoSuchMember,
            LockError::Name { .. }
            | LockError::Value { .. }
            | LockError::Twice(_)
            | LockError::Permits { .. }
            | LockError::NoPermits(_)
            | LockError::Refused(_) => Code::BadRequest,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Refused> for HoldEvent {
    fn from(Refused { code, why }: Refused) -> Self {
        Self::Refused { why, code }
    }
}
