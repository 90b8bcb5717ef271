//! What machines of a group pass on, as it is shown.

use alloc::format;

use vorrang_protocol::{Data, Digest, Never, StateValue};

use super::Payload;

/// What the machines of a group pass on without looking into it: they show it in its own words.
pub trait Shown: Data {
    /// As a value of a variable.
    fn shown(&self) -> StateValue;
}

impl Shown for Never {
    fn shown(&self) -> StateValue {
        match *self {}
    }
}

impl Shown for Payload {
    fn shown(&self) -> StateValue {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => StateValue::shown(text),
        }
    }
}

/// In short: what matters of it is whether it is that of another.
impl Shown for Digest {
    fn shown(&self) -> StateValue {
        let Self(digest) = self;
        format!("#{:08x}", (digest >> 32 ^ digest) as u32).into()
    }
}
