//! The state of a peer, independent of the transport: whether one side refuses the other or has
//! left for good, whether the peer answers, and whether it is still heard.

use std::time::Duration;

use tokio::time::Instant;

use crate::hello::Refusal;
use crate::incarnations::Parting;
use crate::status::LinkState;

/// How long a peer may not answer before that is worth a word.
pub(crate) const TROUBLE_AFTER: Duration = Duration::from_millis(250);

/// Whether one side refuses the other, or has parted.
#[derive(Debug)]
pub(crate) enum Standing {
    Open,
    Refused(Refusal, String),
    Gone(Parting, String),
}

impl Standing {
    /// One of the two refuses the other. True if that is news.
    pub(crate) fn refuse(&mut self, why: &Refusal, sentence: String) -> bool {
        match self {
            Self::Gone(..) => false,
            Self::Refused(known, _) if known == why => false,
            Self::Refused(..) | Self::Open => {
                *self = Self::Refused(why.clone(), sentence);
                true
            }
        }
    }

    /// Why the two will not come together again.
    pub(crate) const fn parting(&self) -> Option<Parting> {
        match self {
            Self::Gone(parting, _) => Some(*parting),
            Self::Open | Self::Refused(..) => None,
        }
    }

    /// The same for people, of a peer that has been there, or not, for so long.
    pub(crate) fn state(&self, is_connected: bool, since: Duration) -> LinkState {
        match (self, is_connected) {
            (Self::Gone(_, why), _) => LinkState::Gone(why.clone()),
            (_, true) => LinkState::Connected(since),
            (Self::Refused(_, why), false) => LinkState::Refused(why.clone()),
            (Self::Open, false) => LinkState::Connecting(since),
        }
    }
}

/// Unanswered calls in a row, and the error of the last.
#[derive(Debug, Default)]
pub(crate) struct ConnectFailures {
    pub(crate) unanswered: u64,
    pub(crate) why: Option<String>,
    is_told: bool,
}

impl ConnectFailures {
    /// Counts another unanswered call to a peer that has been away for so long. Returns the number
    /// of calls if it is to be reported: not at once, since the peer may not have been started yet,
    /// and later whenever the number has doubled.
    pub(crate) fn unanswered(&mut self, why: String, away: Duration) -> Option<u64> {
        self.unanswered += 1;
        let is_other = self.why.as_ref() != Some(&why);
        self.why = Some(why);
        let is_due = away >= TROUBLE_AFTER;
        let is_news = is_due && (is_other || !self.is_told || self.unanswered.is_power_of_two());
        self.is_told |= is_news;
        is_news.then_some(self.unanswered)
    }
}

/// Whether a peer is still heard, looked at twice a heartbeat. Flags, and no clock for every
/// message.
#[derive(Debug)]
pub(crate) struct SilenceMonitor {
    pub(crate) has_heard: bool,
    /// Nothing was heard from then on.
    quiet_since: Instant,
    /// It was quiet for too long when we last looked. One look is not enough: if it was us who
    /// stood still, what came meanwhile has not been read yet.
    is_suspect: bool,
}

/// The result of the periodic check of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    Fine,
    Silent,
}

impl SilenceMonitor {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { has_heard: true, quiet_since: now, is_suspect: false }
    }

    /// Whether anything has been heard for less than so long, as far as the last look tells.
    pub(crate) fn is_fresh(&self, within: Duration) -> bool {
        self.has_heard || self.quiet_since.elapsed() < within
    }

    /// Looks whether anything still comes.
    pub(crate) fn look(&mut self, now: Instant, give_up: Duration) -> Health {
        if std::mem::take(&mut self.has_heard) {
            (self.quiet_since, self.is_suspect) = (now, false);
        } else if now.saturating_duration_since(self.quiet_since) >= give_up {
            if self.is_suspect {
                return Health::Silent;
            }
            self.is_suspect = true;
        }
        Health::Fine
    }
}
