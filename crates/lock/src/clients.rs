//! The clients of a member: who holds or waits for what, shared by the member's task, which is told
//! what is granted, and by those who ask.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use vorrang_algorithms::group::named::{Client, Key, Kind, Lead, Name, Want};

use crate::error::{LockError, Loss};
use crate::members::Members;
use crate::token::Token;

/// How a client stands to the name that it has asked for.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Waits,
    Holds {
        token: Token,
        since: Instant,
        /// Whether it may lose that soon.
        is_at_risk: bool,
    },
    Refused(LockError),
    Lost(Loss),
}

impl Standing {
    /// Whether it has been decided.
    pub(crate) const fn is_settled(&self) -> bool {
        !matches!(self, Self::Waits)
    }

    pub(crate) const fn loss(&self) -> Option<&Loss> {
        match self {
            Self::Lost(loss) => Some(loss),
            Self::Waits | Self::Holds { .. } | Self::Refused(_) => None,
        }
    }
}

/// What is known of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// Nothing yet.
    Nothing,
    /// Who leads, if somebody does.
    Lead(Option<Lead>),
}

/// What a client of this member holds or waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HoldInfo {
    /// The client, by a number that the member gives it.
    pub client: Client,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// How it is wanted.
    pub want: Want,
    /// Whether it is held.
    pub state: HoldState,
    /// Since when it is so.
    pub since: SystemTime,
    /// The token, if it is held.
    pub token: Option<Token>,
}

/// Whether something is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldState {
    /// It is waited for.
    Waiting,
    /// It is held.
    Holding,
    /// It is held, and may be lost soon.
    AtRisk,
}

/// A client.
struct Record {
    key: Key,
    want: Want,
    since: SystemTime,
    standing: watch::Sender<Standing>,
}

/// All clients.
#[derive(Default)]
struct Table {
    records: HashMap<Client, Record>,
    last: Client,
    observed: HashMap<Name, watch::Sender<Seen>>,
    /// When the lease ends, if there is one.
    lease: Option<Instant>,
    /// Why nobody can ask for anything any more.
    closed: Option<LockError>,
}

/// The clients of one member.
pub(crate) struct Clients {
    table: Mutex<Table>,
    pub(crate) members: watch::Sender<Members>,
    /// A client has nothing any more.
    gone: Notify,
}

impl Clients {
    pub(crate) fn new(members: Members) -> Self {
        let (members, _) = watch::channel(members);
        Self { table: Mutex::default(), members, gone: Notify::new() }
    }

    fn open(&self) -> MutexGuard<'_, Table> {
        // No step on the table is left half done by a panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another client, which is about to ask.
    pub(crate) fn enter(
        &self,
        key: Key,
        want: Want,
    ) -> Result<(Client, watch::Receiver<Standing>), LockError> {
        let mut table = self.open();
        if let Some(why) = &table.closed {
            return Err(why.clone());
        }
        table.last += 1;
        let client = table.last;
        let (standing, receiver) = watch::channel(Standing::Waits);
        let record = Record { key, want, since: SystemTime::now(), standing };
        table.records.insert(client, record);
        Ok((client, receiver))
    }

    /// It wants nothing any more.
    pub(crate) fn forget(&self, client: Client) {
        let forgotten = self.open().records.remove(&client);
        if forgotten.is_some() {
            self.gone.notify_waiters();
        }
    }

    /// It was granted what it asks for. False if it does not want that any more.
    pub(crate) fn grant(&self, client: Client, token: Token) -> bool {
        let mut table = self.open();
        let Some(record) = table.records.get_mut(&client) else { return false };
        record.since = SystemTime::now();
        let since = Instant::now();
        record.standing.send_replace(Standing::Holds { token, since, is_at_risk: false });
        true
    }

    /// It has nothing any more, and is told why.
    pub(crate) fn end(&self, client: Client, why: Standing) {
        let ended = self.open().records.remove(&client);
        if let Some(record) = ended {
            record.standing.send_replace(why);
            self.gone.notify_waiters();
        }
    }

    /// What a client has asked for, if it holds it.
    pub(crate) fn held_by(&self, client: Client) -> Option<Key> {
        let table = self.open();
        let record = table.records.get(&client)?;
        let is_held = matches!(*record.standing.borrow(), Standing::Holds { .. });
        is_held.then(|| record.key.clone())
    }

    /// Those who hold something may lose it soon, or not so any more: all, or this one.
    pub(crate) fn warn(&self, only: Option<Client>, is_so: bool) {
        let table = self.open();
        let is_meant = |client: &Client| only.is_none_or(|only| only == *client);
        for (_, record) in table.records.iter().filter(|(client, _)| is_meant(client)) {
            record.standing.send_if_modified(|standing| match standing {
                Standing::Holds { is_at_risk, .. } => std::mem::replace(is_at_risk, is_so) != is_so,
                Standing::Waits | Standing::Refused(_) | Standing::Lost(_) => false,
            });
        }
    }

    /// Nobody can ask for anything any more. Those who wait are refused what they ask for; it is
    /// said what that was.
    pub(crate) fn close(&self, why: &LockError) -> Vec<(Client, Key)> {
        let mut table = self.open();
        table.closed.get_or_insert_with(|| why.clone());
        let waits = |record: &Record| !record.standing.borrow().is_settled();
        let waiting = table.records.extract_if(|_, record| waits(record));
        let refused: Vec<(Client, Key)> = waiting
            .map(|(client, Record { key, standing, .. })| {
                standing.send_replace(Standing::Refused(why.clone()));
                (client, key)
            })
            .collect();
        drop(table);
        self.gone.notify_waiters();
        refused
    }

    /// Those who hold something lose it.
    pub(crate) fn lose_all(&self, why: &Loss) -> Vec<(Client, Key)> {
        let mut table = self.open();
        let holds = |record: &Record| matches!(*record.standing.borrow(), Standing::Holds { .. });
        let holding = table.records.extract_if(|_, record| holds(record));
        let lost: Vec<(Client, Key)> = holding
            .map(|(client, Record { key, standing, .. })| {
                standing.send_replace(Standing::Lost(why.clone()));
                (client, key)
            })
            .collect();
        drop(table);
        self.gone.notify_waiters();
        lost
    }

    /// The member does not act any more, and never will.
    pub(crate) fn stop(&self, why: &LockError, loss: &Loss) {
        self.close(why);
        self.lose_all(loss);
        // Whoever observes is told so.
        self.open().observed.clear();
    }

    /// Waits until no client has anything.
    pub(crate) async fn none_left(&self) {
        loop {
            let gone = self.gone.notified();
            tokio::pin!(gone);
            gone.as_mut().enable();
            if self.open().records.is_empty() {
                return;
            }
            gone.await;
        }
    }

    pub(crate) fn set_lease(&self, until: Option<Instant>) {
        self.open().lease = until;
    }

    /// When the lease ends, if there is one.
    pub(crate) fn lease(&self) -> Option<Instant> {
        self.open().lease
    }

    /// Why nobody can ask for anything any more, if so.
    pub(crate) fn why_closed(&self) -> Option<LockError> {
        self.open().closed.clone()
    }

    pub(crate) fn holds(&self) -> Vec<HoldInfo> {
        let table = self.open();
        let info = |(&client, record): (&Client, &Record)| {
            let (state, token) = match *record.standing.borrow() {
                Standing::Holds { token, is_at_risk: true, .. } => (HoldState::AtRisk, Some(token)),
                Standing::Holds { token, .. } => (HoldState::Holding, Some(token)),
                Standing::Waits | Standing::Refused(_) | Standing::Lost(_) => {
                    (HoldState::Waiting, None)
                }
            };
            let Record { key: Key { kind, name }, want, since, .. } = record;
            let (kind, name, want) = (*kind, name.clone(), want.clone());
            HoldInfo { client, kind, name, want, state, since: *since, token }
        };
        let mut all: Vec<HoldInfo> = table.records.iter().map(info).collect();
        all.sort_unstable_by_key(|it| it.client);
        all
    }

    /// Somebody observes an election. If nobody else does, the member is asked to say who leads:
    /// before anybody can take that back.
    pub(crate) fn observe(
        &self,
        name: &Name,
        ask: impl FnOnce(),
    ) -> Result<watch::Receiver<Seen>, LockError> {
        let mut table = self.open();
        if let Some(why) = &table.closed {
            return Err(why.clone());
        }
        if let Some(known) = table.observed.get(name) {
            return Ok(known.subscribe());
        }
        let (seen, receiver) = watch::channel(Seen::Nothing);
        table.observed.insert(name.clone(), seen);
        ask();
        Ok(receiver)
    }

    /// One who observes an election is about to go. If it is the last, the member is told so.
    pub(crate) fn ignore(&self, name: &Name, tell: impl FnOnce()) {
        let mut table = self.open();
        if table.observed.get(name).is_some_and(|it| it.receiver_count() == 1) {
            table.observed.remove(name);
            tell();
        }
    }

    /// Somebody leads, or nobody does.
    pub(crate) fn lead(&self, name: &Name, lead: Option<Lead>) {
        if let Some(observed) = self.open().observed.get(name) {
            observed.send_replace(Seen::Lead(lead));
        }
    }
}

/// How long before the end of its lease, or of the time that it may hold something, a client must
/// have ended; and how long that time is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) has_leases: bool,
    pub(crate) grace: Duration,
    pub(crate) max_hold: Option<Duration>,
}
