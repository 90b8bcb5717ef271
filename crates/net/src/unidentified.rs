//! Those who have connected and have not said yet who they are: only so many at a time, and if
//! there are more, it is the host from which most have come that must give way.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::rate_limit::RateLimit;

/// How many connections may wait for their hello at once; more are turned away, and try again.
const MAX_UNIDENTIFIED: usize = 128;
/// How long one who must go may take to leave.
const LEAVING: Duration = Duration::from_millis(50);
/// How often it is said that connections make no sense: so often at once, and then once in a while.
const COMPLAINTS: RateLimit = RateLimit::new(50, Duration::from_secs(1));

/// The connections that were accepted and are not admitted yet.
#[derive(Debug)]
pub(crate) struct Unidentified {
    places: Arc<Semaphore>,
    /// The oldest first.
    connections: VecDeque<Connection>,
    crowded: RateLimit,
    complaints: Complaints,
}

#[derive(Debug)]
struct Connection {
    /// The host that it comes from.
    host: String,
    task: AbortHandle,
}

impl Unidentified {
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_UNIDENTIFIED)),
            connections: VecDeque::new(),
            crowded: COMPLAINTS,
            complaints: Complaints::default(),
        }
    }

    /// A permit for one that comes from there: a free one, or that of a connection without a hello.
    /// A member sends its hello at once; so silent connections keep no member out, and those of one
    /// host none that comes from another.
    pub(crate) async fn find_place(&mut self, from: &str) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        self.forget_the_gone();
        let leaves = self.who_leaves().and_then(|place| self.connections.remove(place));
        if let Some(missed) = self.crowded.ask(Instant::now()) {
            let goes = leaves.as_ref().map_or("the newest", |_| "the oldest");
            tracing::warn!(%from, missed, "too many connections without a hello: {goes} goes");
        }
        leaves?.task.abort();
        // It leaves as soon as it is its turn to run.
        timeout(LEAVING, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }

    /// One that was given a place waits there.
    pub(crate) fn waits(&mut self, from: &str, task: AbortHandle) {
        if self.connections.len() >= 2 * MAX_UNIDENTIFIED {
            self.forget_the_gone();
        }
        self.connections.push_back(Connection { host: host(from).to_owned(), task });
    }

    /// What is said of those who make no sense.
    pub(crate) fn complaints(&self) -> Complaints {
        self.complaints.clone()
    }

    fn forget_the_gone(&mut self) {
        self.connections.retain(|connection| !connection.task.is_finished());
    }

    /// The oldest of the host from which most have come; of several such hosts, the oldest of all.
    fn who_leaves(&self) -> Option<usize> {
        let mut crowds: HashMap<&str, usize> = HashMap::new();
        for connection in &self.connections {
            *crowds.entry(&connection.host).or_default() += 1;
        }
        let largest = crowds.values().max()?;
        self.connections.iter().position(|connection| crowds[connection.host.as_str()] == *largest)
    }
}

/// Whose fault it is, without the port, which each connection has for itself.
fn host(from: &str) -> &str {
    from.rsplit_once(':').map_or(from, |(host, _)| host)
}

/// Rations what strangers can make a node say.
#[derive(Clone, Debug)]
pub(crate) struct Complaints(Arc<Mutex<RateLimit>>);

impl Default for Complaints {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(COMPLAINTS)))
    }
}

impl Complaints {
    /// The complaint, if there may be one now, with how many there were that were not said.
    pub(crate) fn say(&self, why: &str) -> Option<String> {
        let mut ration = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ration.ask(Instant::now())? {
            0 => Some(why.to_owned()),
            more => Some(format!("{why} (and {more} more were turned away)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections from these addresses on which nothing is said.
    fn unidentified(from: &[&str]) -> Unidentified {
        let mut unidentified = Unidentified::new();
        for from in from {
            unidentified.waits(from, tokio::spawn(std::future::pending::<()>()).abort_handle());
        }
        unidentified
    }

    #[tokio::test]
    async fn the_oldest_of_the_largest_crowd_leaves() {
        assert_eq!(unidentified(&[]).who_leaves(), None);
        assert_eq!(unidentified(&["10.0.0.1:1", "10.0.0.2:1", "10.0.0.2:2"]).who_leaves(), Some(1));
        assert_eq!(unidentified(&["10.0.0.1:1", "10.0.0.2:1"]).who_leaves(), Some(0));
        assert_eq!(
            unidentified(&["[::1]:7", "[::2]:7", "[::2]:8", "[::1]:9"]).who_leaves(),
            Some(0)
        );
    }

    /// One host connects again and again; whoever has come from elsewhere keeps its place.
    #[tokio::test]
    async fn a_crowd_from_one_host_takes_no_place_from_another() {
        let mut unidentified = Unidentified::new();
        let enter = async |unidentified: &mut Unidentified, from: &str| {
            let place = unidentified.find_place(from).await.expect("somebody leaves");
            let waits = tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop(place);
            });
            let task = waits.abort_handle();
            unidentified.waits(from, task.clone());
            task
        };
        let member = enter(&mut unidentified, "10.0.0.9:1").await;
        let mut crowd = Vec::new();
        for port in 0..4 * MAX_UNIDENTIFIED {
            crowd.push(enter(&mut unidentified, &format!("10.0.0.1:{port}")).await);
        }
        assert!(!member.is_finished());
        assert!(crowd[0].is_finished() && !crowd[crowd.len() - 1].is_finished());
        assert!(
            unidentified.connections.len() <= 2 * MAX_UNIDENTIFIED,
            "{}",
            unidentified.connections.len()
        );
    }

    #[test]
    fn complaints_are_rationed_and_those_that_were_not_said_are_counted() {
        let complaints = Complaints::default();
        let said = (0..1000).filter_map(|_| complaints.say("nonsense")).count();
        assert!((50..=60).contains(&said), "{said}");
    }
}
