//! What is held.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;
use vorrang_algorithms::group::named::{Client, Command, Kind, Name};
use vorrang_net::{CommandError, Stopped};

use crate::clients::Standing;
use crate::error::{LockError, Loss};
use crate::running::Claim;
use crate::token::Token;

/// A lock, a permit or a leadership that this process holds. Dropping it releases.
///
/// It may be lost before: if the member is evicted, or cannot renew its lease in time. First it is
/// [at risk](Self::at_risk), by `grace` before, and then [lost](Self::lost). What it protects
/// should be told its [token](Self::token) as well, since a program that stands still is not warned
/// in time.
pub struct Guard {
    claim: Claim,
    token: Token,
    since: Instant,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("name", &self.claim.key)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// Of a claim that was granted.
    pub(crate) fn new(claim: Claim) -> Result<Self, LockError> {
        let standing = claim.standing.borrow().clone();
        match standing {
            Standing::Holds { token, since, .. } => Ok(Self { claim, token, since }),
            // Granted and lost in one step: as if it had never been granted.
            Standing::Lost(loss) => Err(LockError::Refused(format!("lost at once: {loss}"))),
            Standing::Refused(why) => Err(why),
            Standing::Waits => Err(claim.member.why_over()),
        }
    }

    /// The name.
    pub fn name(&self) -> &Name {
        &self.claim.key.name
    }

    /// Of what it is the name.
    pub fn kind(&self) -> Kind {
        self.claim.key.kind
    }

    /// The number of this client at its member, as in [`HoldInfo`](crate::HoldInfo).
    pub fn client(&self) -> Client {
        self.claim.client
    }

    /// The fencing token, to be shown to the resource.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Waits until it may be lost soon: what is done under it should be stopped. Also returns if it
    /// is lost without a warning.
    pub async fn at_risk(&self) {
        let is_at_risk = |standing: &Standing| {
            !matches!(standing, Standing::Holds { is_at_risk: false, .. } | Standing::Waits)
        };
        // An error means that nothing more will be told: then it is lost as well.
        let _ = self.claim.standing.clone().wait_for(is_at_risk).await;
    }

    /// Waits until it is not at risk, or not any more; for ever if it is lost.
    pub async fn safe(&self) {
        let is_safe =
            |standing: &Standing| matches!(standing, Standing::Holds { is_at_risk: false, .. });
        if self.claim.standing.clone().wait_for(is_safe).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until it is lost, and says why.
    pub async fn lost(&self) -> Loss {
        let mut standing = self.claim.standing.clone();
        let lost = standing.wait_for(|standing| standing.loss().is_some()).await;
        lost.ok().and_then(|standing| standing.loss().cloned()).unwrap_or_else(|| self.stopped())
    }

    fn stopped(&self) -> Loss {
        Loss::Stopped(self.claim.member.why_over().to_string())
    }

    /// Whether it is lost, and why. It looks at the clock as well: after a time in which the
    /// program stood still this may be the first to notice.
    pub fn is_lost(&self) -> Option<Loss> {
        if let Some(loss) = self.claim.standing.borrow().loss() {
            return Some(loss.clone());
        }
        let (now, bounds) = (Instant::now(), self.claim.member.bounds);
        let is_over = |end: Option<Instant>| end.is_some_and(|end| end <= now);
        let loss = match bounds.max_hold {
            Some(most) if is_over(Some(self.since + most)) => Loss::MaxHold(most),
            _ if bounds.has_leases && is_over(self.claim.member.clients.lease()) => Loss::LeaseOver,
            _ => return None,
        };
        // Once said, it stays so: whatever comes late does not take it back.
        let (key, client) = (self.claim.key.clone(), self.claim.client);
        self.claim.member.clients.end(client, Standing::Lost(loss));
        self.claim.member.handle.post(Command::Withdraw { key, client });
        self.claim.standing.borrow().loss().cloned()
    }

    /// When what is done under it must have ended, unless the lease is renewed before: `grace`
    /// before its end. None if there is no lease and no limit.
    pub fn deadline(&self) -> Option<std::time::Instant> {
        let bounds = self.claim.member.bounds;
        let lease = self.claim.member.clients.lease().filter(|_| bounds.has_leases);
        let limit = bounds.max_hold.map(|most| self.since + most);
        let end = [lease, limit].into_iter().flatten().min()?;
        let earlier = |grace: Duration| end.checked_sub(grace);
        Some(earlier(bounds.grace).unwrap_or(end).into_std())
    }

    /// Releases it, and waits until the member has taken note of that: whoever asks next at this
    /// member comes after.
    ///
    /// # Errors
    ///
    /// If it was lost before.
    pub async fn release(mut self) -> Result<(), Loss> {
        if let Some(loss) = self.is_lost() {
            return Err(loss);
        }
        let (key, client) = (self.claim.key.clone(), self.claim.client);
        let released = self.claim.member.handle.command(Command::Release { key, client }).await;
        match released {
            Ok(()) => {
                self.claim.is_over = true;
                Ok(())
            }
            Err(CommandError::Fenced(why)) => Err(Loss::Replaced(why)),
            Err(CommandError::Stopped(Stopped { why })) => Err(Loss::Stopped(why.to_string())),
            Err(error) => {
                let known = self.claim.standing.borrow().loss().cloned();
                Err(known.unwrap_or_else(|| Loss::Stopped(error.to_string())))
            }
        }
    }
}
