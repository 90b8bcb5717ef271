//! Detection of a lost last message, where no later one shows the gap.

/// How a loss of the last message is found out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Tail {
    /// A sender says how far it has come until it knows that all have everything.
    #[default]
    Heartbeat,
    /// It says so three times.
    Stop,
    /// It is not.
    None,
}

impl Tail {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::Heartbeat, Self::Stop, Self::None];
    /// How often a stop signal is sent.
    pub const STOPS: u8 = 3;

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Stop => "stop",
            Self::None => "none",
        }
    }

    /// Whether there is another word after so many.
    pub(super) const fn goes_on_after(self, beats: u8) -> bool {
        match self {
            Self::Heartbeat => true,
            Self::Stop => beats < Self::STOPS,
            Self::None => false,
        }
    }
}
