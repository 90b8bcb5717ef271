//! A group whose majority is lost for good: the member that is left goes on alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::timeout;
use vorrang_algorithms::group::named::ViewLayer;
use vorrang_algorithms::group::views::recovery;
use vorrang_net::{StableStorage, StorageError};
use vorrang_protocol::{NodeId, WallTime};

use crate::config::{Config, ConfigError, Role};
use crate::error::OpenError;
use crate::group::Group;
use crate::members::Members;

/// How long is listened for a majority, besides the time in which members say that they are up.
const LISTENED: Duration = Duration::from_secs(2);

/// A forced recovery, as it would be or was done: from then on one member alone votes, and a group
/// goes on that had lost the majority of its voters for good.
///
/// What the others have decided without this member may be lost: later views than it knows, and who
/// held what in them. Tokens go on growing all the same, and nothing is granted before the leases
/// of those views are over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// The group.
    pub group: String,
    /// The member that goes on.
    pub member: String,
    /// The newest view that it knows.
    pub before: u64,
    /// The others that have a vote on what comes after that view, and lose it.
    pub others: Vec<String>,
    /// The number of the view in which it votes alone.
    pub view: u64,
}

/// Why a group is not recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// This member keeps nothing on disk.
    #[error(
        "this member keeps nothing on disk (data), so there is nothing to go on with: stop all \
         members that are left, and start them again, to found the group anew"
    )]
    NoData,
    /// It cannot be started alone.
    #[error(
        "this member joins another one whenever it is started (join), so it cannot go on alone: go \
         on from the directory of one that is in the list of members"
    )]
    Newcomer,
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its data directory cannot be used.
    #[error("data: {0}")]
    Storage(#[from] StorageError),
    /// It cannot be started to listen for the others.
    #[error("this member cannot listen for the others: {0}")]
    Open(#[from] OpenError),
    /// The others are there.
    #[error(
        "a majority of the voters answers, so nothing is to be recovered: start this member, and \
         it belongs to view {view} or a later one"
    )]
    Majority {
        /// The newest view that is known.
        view: u64,
    },
}

impl Recovery {
    /// What a recovery of the member of this configuration would do. It must not run meanwhile.
    /// Nothing is changed.
    ///
    /// # Errors
    ///
    /// If there is nothing to recover, or its data directory cannot be used: it runs, for example.
    pub fn look(config: &Config) -> Result<Self, RecoveryError> {
        let mut found = None;
        let outcome = change(config, |recovery| {
            found = Some(recovery);
            false
        });
        match (found, outcome) {
            (Some(found), _) => Ok(found),
            (None, Err(why)) => Err(why),
            (None, Ok(())) => unreachable!("what was done was agreed to"),
        }
    }

    /// Recovers the group: first this member is started, to see whether the others answer, and then
    /// it is made the only one that votes. It must not run meanwhile; start it afterwards.
    ///
    /// The others must never be started with what is in their data directories while anything that
    /// the locks protect is in use.
    ///
    /// # Errors
    ///
    /// As of [`look`](Self::look), and if a majority answers.
    pub async fn force(config: &Config) -> Result<Self, RecoveryError> {
        Self::look(config)?;
        listen(config).await?;
        let mut done = None;
        change(config, |recovery| {
            done = Some(recovery);
            true
        })?;
        Ok(done.expect("it was agreed to"))
    }

    fn of(config: &Config, recovery: &recovery::Recovery) -> Self {
        let name = |id: NodeId| {
            let founder = config.members.get(id.index()).map(|it| it.name.clone());
            founder.unwrap_or_else(|| format!("number {id}"))
        };
        Self {
            group: config.group.clone(),
            member: config.own_name().to_owned(),
            before: recovery.before.id,
            others: recovery.others().map(|it| name(it.node)).collect(),
            view: recovery.view,
        }
    }
}

/// Says what is about to be done to the data directory, and does it if that is agreed to.
fn change(config: &Config, agree: impl FnOnce(Recovery) -> bool) -> Result<(), RecoveryError> {
    let data = config.data.as_deref().ok_or(RecoveryError::NoData)?;
    if config.role()? == Role::Newcomer {
        return Err(RecoveryError::Newcomer);
    }
    let mut storage = StableStorage::reopen(data)?;
    let me = storage.owner().id;
    // As the number of a view that is founded.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let views = storage.restored(ViewLayer::blank(me))?;
    let refused = |refused| StorageError::Refused { path: data.display().to_string(), refused };
    let (_, recovery) = views.recovered(now).map_err(refused)?;
    let view = recovery.view;
    if agree(Recovery::of(config, &recovery)) {
        storage.recover(ViewLayer::blank(me), |views| views.recovered(view))?;
    }
    Ok(())
}

/// Starts the member, and listens for as long as a majority would take to answer.
async fn listen(config: &Config) -> Result<(), RecoveryError> {
    let member = Group::start(config.clone()).await?;
    let Config { beat, margin, .. } = *config;
    let within = beat.saturating_add(margin).saturating_mul(3).saturating_add(LISTENED);
    tracing::info!("listening for the others for {}", WallTime(within));
    let mut changes = member.changes();
    let is_in = |it: &Members| it.is_in && it.has_majority;
    let _ = timeout(within, changes.wait_for(is_in)).await;
    let Members { has_majority, view, .. } = member.members();
    if has_majority {
        // The others need not wait for its lease.
        let _ = member.leave(Duration::ZERO).await;
        return Err(RecoveryError::Majority { view });
    }
    member.kill().await;
    Ok(())
}
