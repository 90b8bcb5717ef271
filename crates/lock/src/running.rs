//! A member that runs: what the group, guards and observers of a program share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use vorrang_algorithms::group::named::{Client, Command, Key, Want};
use vorrang_net::{CommandError, Handle};
use vorrang_protocol::{NodeId, WallTime};

use crate::clients::{Bounds, Clients, Standing};
use crate::config::Config;
use crate::error::{LockError, Loss};
use crate::members::{Members, Names};

/// A member of the group in this process.
pub(crate) struct Running {
    pub(crate) handle: Handle<Command>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) config: Config,
    pub(crate) bounds: Bounds,
    pub(crate) names: Names,
}

/// How long a member that was dropped tries to leave without a loss of time for the others.
const DROPPED: Duration = Duration::from_secs(2);

/// A request of a client, or what it holds: gone when it is dropped.
pub(crate) struct Claim {
    pub(crate) member: Arc<Running>,
    pub(crate) client: Client,
    pub(crate) key: Key,
    pub(crate) standing: watch::Receiver<Standing>,
    /// Whether the machine knows that the client has nothing.
    pub(crate) is_over: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.member.clients.forget(self.client);
        if !self.is_over {
            let (key, client) = (self.key.clone(), self.client);
            self.member.handle.post(Command::Withdraw { key, client });
        }
    }
}

impl Running {
    /// Asks for something, and waits until it is granted.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        key: Key,
        want: Want,
    ) -> Result<Claim, LockError> {
        let (client, mut standing) = self.clients.enter(key.clone(), want.clone())?;
        let (name, member) = (key.name.clone(), Arc::clone(self));
        let claim = Claim { member, client, key, standing: standing.clone(), is_over: false };
        let asking = self.handle.command(Command::Acquire { name, client, want });
        tokio::pin!(asking);
        let mut is_asked = false;
        loop {
            // Both of them: if it is granted at once, that comes with the answer.
            let settled = tokio::select! {
                biased;
                outcome = &mut asking, if !is_asked => {
                    is_asked = true;
                    if let Err(error) = outcome {
                        return Err(Self::why_not(error, &claim));
                    }
                    continue;
                }
                settled = settled(&mut standing) => settled,
            };
            return match settled {
                Some(Standing::Holds { .. } | Standing::Lost(_)) => Ok(claim),
                Some(Standing::Refused(why)) => Err(why),
                Some(Standing::Waits) | None => Err(self.why_over()),
            };
        }
    }

    fn why_not(error: CommandError, claim: &Claim) -> LockError {
        // It may have been said better.
        if let Standing::Refused(why) = &*claim.standing.borrow() {
            return why.clone();
        }
        LockError::of_command(error, &claim.key.name)
    }

    /// Why nobody is told anything any more.
    pub(crate) fn why_over(&self) -> LockError {
        self.clients.why_closed().unwrap_or(LockError::Leaving)
    }

    /// A time is over, in which something was not granted: the reason, if nobody could have been
    /// granted anything.
    pub(crate) fn why_in_vain(&self) -> Option<LockError> {
        let members = self.clients.members.borrow();
        members.trouble.clone().map(LockError::NoMajority)
    }

    /// The name of a member.
    pub(crate) fn name(&self, id: NodeId) -> String {
        let members = self.clients.members.borrow();
        let known = members.members.iter().find(|it| it.id == id.0);
        known.map_or_else(|| self.names.of(id, ""), |it| it.name.clone())
    }

    /// Takes no more requests, waits for a time until clients have released what they hold, and
    /// leaves the group.
    pub(crate) async fn leave(&self, within: Duration) -> Result<(), LockError> {
        let until = Instant::now() + within.min(FOR_EVER);
        self.withdraw(self.clients.close(&LockError::Leaving));
        if timeout_at(until, self.clients.none_left()).await.is_err() {
            self.withdraw(self.clients.lose_all(&Loss::Left));
        }
        part(&self.handle, &self.clients, self.time_to_part()).await
    }

    fn withdraw(&self, clients: Vec<(Client, Key)>) {
        for (client, key) in clients {
            self.handle.post(Command::Withdraw { key, client });
        }
    }

    /// How long a member waits until the others have agreed on a view without it: for as long as it
    /// takes to notice that one of them is down, and some more.
    fn time_to_part(&self) -> Duration {
        let Config { beat, margin, .. } = &self.config;
        beat.saturating_add(*margin).saturating_add(DROPPED)
    }
}

/// Waits until it is decided how a client stands; none if it never will be.
async fn settled(standing: &mut watch::Receiver<Standing>) -> Option<Standing> {
    standing.wait_for(Standing::is_settled).await.ok().map(|it| it.clone())
}

/// As good as for ever.
const FOR_EVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl Drop for Running {
    /// Leaves, if there is a runtime to do it; else the others find out that it is gone.
    fn drop(&mut self) {
        if self.handle.why_stopped().is_some() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (handle, clients) = (self.handle.clone(), Arc::clone(&self.clients));
            clients.close(&LockError::Leaving);
            let within = self.time_to_part();
            runtime.spawn(async move {
                // There is nobody to be told how that went.
                let _ = part(&handle, &clients, within).await;
            });
        }
    }
}

/// Leaves the group: the others agree on a view without this member, and wait for no lease.
async fn part(
    handle: &Handle<Command>,
    clients: &Clients,
    within: Duration,
) -> Result<(), LockError> {
    let mut members = clients.members.subscribe();
    let is_alone = |it: &Members| it.members.iter().all(|it| it.is_this || !it.is_in_view);
    let is_needed = members.borrow().is_in && !is_alone(&members.borrow());
    if is_needed && handle.command(Command::Leave).await.is_ok() {
        let out = timeout(within, members.wait_for(|it| !it.is_in)).await;
        if out.is_err() {
            let within = WallTime(within);
            tracing::warn!("the others have not agreed on a view without this member in {within}");
        }
    }
    match handle.clone().shutdown().await {
        Ok(_) => Ok(()),
        Err(stopped) => Err(LockError::Stopped(stopped.why)),
    }
}
