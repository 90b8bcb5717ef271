//! Who leads.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;
use vorrang_algorithms::group::named::{Command, Lead, Name};

use crate::clients::Seen;
use crate::error::LockError;
use crate::running::Running;
use crate::token::Token;

/// A leader.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Leader {
    /// The name of its member.
    pub member: String,
    /// Its fencing token: larger than that of every leader before.
    pub token: Token,
    /// What it says of itself.
    pub value: String,
}

/// Says who leads, whenever that changes.
pub struct Observer {
    member: Arc<Running>,
    name: Name,
    seen: watch::Receiver<Seen>,
    /// What was said last.
    said: Seen,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Observer {
    /// Waits until it is known who leads.
    pub(crate) async fn new(member: &Arc<Running>, name: Name) -> Result<Self, LockError> {
        let ask = || member.handle.post(Command::Observe(name.clone()));
        let seen = member.clients.observe(&name, ask)?;
        let said = Seen::Nothing;
        let mut observer = Self { member: Arc::clone(member), name, seen, said };
        let known = observer.seen.wait_for(|seen| *seen != Seen::Nothing).await.is_ok();
        if known { Ok(observer) } else { Err(member.why_over()) }
    }

    /// The name of the election.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Who leads, or none if nobody does as far as this member knows: the first time at once, and
    /// then whenever it is another one. Leaders that have led only for a moment may be left out.
    ///
    /// # Errors
    ///
    /// If the member does not take part any more.
    pub async fn next(&mut self) -> Result<Option<Leader>, LockError> {
        let said = self.said.clone();
        let seen = self.seen.wait_for(|seen| *seen != said).await.map(|seen| seen.clone());
        let seen = seen.map_err(|_| self.member.why_over())?;
        self.said = seen.clone();
        let Seen::Lead(lead) = seen else { return Ok(None) };
        Ok(lead.map(|Lead { member, token, value }| Leader {
            member: self.member.name(member),
            token: token.into(),
            value: value.as_str().to_owned(),
        }))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let tell = || self.member.handle.post(Command::Ignore(self.name.clone()));
        self.member.clients.ignore(&self.name, tell);
    }
}
