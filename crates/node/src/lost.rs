//! A lock that was lost, until its holder releases it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vorrang_net::{Eviction, Stage, Status};

/// That the lock was lost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lost {
    pub(crate) at: Option<Instant>,
    pub(crate) why: Option<Eviction>,
}

pub(crate) fn remembered<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer to a release of what was lost before.
pub(crate) fn lost_in_words(ago: Duration, why: Option<Eviction>) -> String {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "nothing to release: the lock was lost {:.1} s ago{why}; since then another may have \
         entered",
        ago.as_secs_f64()
    )
}

/// A request of a node that may not act is neither granted nor refused: what whoever has asked is
/// told then.
pub(crate) fn in_vain(status: Option<Status>) -> Option<String> {
    let status = status?;
    let waits = matches!(status.turn, Some((Stage::Waiting, _)));
    let why = status.fenced.filter(|_| waits)?;
    Some(format!("what it waits for is not granted as long as this node must not act: {why}"))
}
