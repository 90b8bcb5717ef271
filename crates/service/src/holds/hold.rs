//! One hold as all see it who have to do with it: the task that keeps it, the streams that tell its
//! client of it, and the requests that ask something of it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::Instant;
use vorrang_lock::Token;

use crate::api::{self, HoldEvent, HoldRequest, HoldState};
use crate::process_group::ProcessGroup;

/// Who has asked for a hold: only the same may end it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Owner {
    /// A user of this machine, on the Unix socket.
    User(u32),
    /// A client that has the certificate of this name.
    Certificate(String),
    /// Another member, by the same.
    Member(String),
    /// Anybody on this machine, over a port of it.
    Loopback,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "uid {user}"),
            Self::Certificate(name) => f.write_str(name),
            Self::Member(name) => write!(f, "member {name}"),
            Self::Loopback => f.write_str("loopback"),
        }
    }
}

/// How a hold stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Waiting,
    Held(Held),
    /// It is over, and this is the last line of its streams.
    Over(HoldEvent),
}

impl Status {
    /// Whether nobody may count on it any more.
    pub(crate) const fn is_over(&self) -> bool {
        match self {
            Self::Waiting => false,
            Self::Held(held) => held.is_ending,
            Self::Over(_) => true,
        }
    }
}

/// A hold that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) token: Token,
    /// In seconds since 1970.
    pub(crate) since: u64,
    /// When it is lost, unless that moves.
    pub(crate) deadline: Option<Instant>,
    pub(crate) is_at_risk: bool,
    /// It is about to be given back: from now on nobody may count on it.
    pub(crate) is_ending: bool,
}

/// Why a hold is to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Its client has asked for it.
    Released,
    /// The last connection of its client is gone.
    Abandoned,
    /// This one has asked for it.
    Forced(String),
}

/// A hold.
pub(crate) struct Hold {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) request: HoldRequest,
    /// Its client is on this machine: the hold ends with its connection. Others renew theirs.
    pub(crate) is_local: bool,
    /// The process that has asked for it, where that is known.
    pub(crate) client: Option<u32>,
    /// Since when it is asked for, in seconds since 1970.
    pub(crate) asked: u64,
    pub(super) asked_at: Instant,
    pub(super) status: watch::Sender<Status>,
    pub(super) end: watch::Sender<Option<End>>,
    pub(super) renewed: watch::Sender<Instant>,
    process: watch::Sender<Option<ProcessGroup>>,
    streams: AtomicUsize,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("id", &self.id)
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

impl Hold {
    pub(super) fn new(id: String, owner: Owner, request: HoldRequest, by: Asker) -> Self {
        Self {
            id,
            owner,
            request,
            is_local: by.is_local,
            client: by.process,
            asked: unix_seconds(),
            asked_at: Instant::now(),
            status: watch::Sender::new(Status::Waiting),
            end: watch::Sender::new(None),
            renewed: watch::Sender::new(Instant::now()),
            process: watch::Sender::new(None),
            streams: AtomicUsize::new(0),
        }
    }

    /// How it stands, from now on.
    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Asks for its end. What was asked for first counts, but force comes before all else.
    pub(crate) fn ask_for_end(&self, end: End) {
        self.end.send_if_modified(|asked| {
            let is_first = asked.is_none() || matches!(end, End::Forced(_));
            if is_first {
                *asked = Some(end);
            }
            is_first
        });
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) {
        // Its own end of the channel is there for as long as it is.
        let _ = self.status.subscribe().wait_for(|it| matches!(it, Status::Over(_))).await;
    }

    /// Its client is alive.
    pub(crate) fn renew(&self) {
        self.renewed.send_replace(Instant::now());
    }

    pub(crate) fn process(&self) -> Option<ProcessGroup> {
        *self.process.borrow()
    }

    pub(crate) fn set_process(&self, process: Option<ProcessGroup>) {
        self.process.send_replace(process);
    }

    pub(super) fn begin_stream(&self) {
        self.streams.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn has_streams(&self) -> bool {
        self.streams.load(Ordering::Acquire) > 0
    }

    /// A stream has ended. With the last one, a local client is gone.
    pub(super) fn end_stream(&self) {
        if self.streams.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_local {
            self.ask_for_end(End::Abandoned);
        }
    }

    /// As a list shows it.
    pub(crate) fn shown(&self, member: &str) -> api::Hold {
        let HoldRequest { kind, name, permits, value, within_ms: _, label } = self.request.clone();
        let (state, since, token, ended) = match &*self.status.borrow() {
            Status::Waiting => (HoldState::Waiting, self.asked, None, None),
            Status::Held(held) => (held.state(), held.since, Some(held.token.to_string()), None),
            Status::Over(last) => (HoldState::Over, self.asked, None, Some(last.clone())),
        };
        let (id, client, member) = (self.id.clone(), self.owner.to_string(), member.to_owned());
        api::Hold {
            member,
            id,
            kind,
            name,
            permits,
            value,
            state,
            since,
            token,
            label,
            client,
            ended,
        }
    }
}

impl Held {
    pub(crate) const fn state(&self) -> HoldState {
        if self.is_at_risk { HoldState::AtRisk } else { HoldState::Held }
    }

    /// How long its client may count on it.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|it| it.saturating_duration_since(Instant::now()))
    }
}

/// By what means a hold was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asker {
    /// On the Unix socket.
    pub(crate) is_local: bool,
    /// By this process.
    pub(crate) process: Option<u32>,
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
