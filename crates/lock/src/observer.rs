//! Who leads.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;
use vorrang_algorithms::group::named::{Command, Lead, Name};

use crate::error::{About, LockError};
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
    lead: watch::Receiver<Option<Lead>>,
    /// What was said last, if anything was.
    said: Option<Option<Lead>>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Observer {
    pub(crate) async fn new(member: &Arc<Running>, name: Name) -> Result<Self, LockError> {
        let (lead, is_first) = member.clients.observe(&name)?;
        let observer = Self { member: Arc::clone(member), name, lead, said: None };
        if is_first {
            let asked = member.handle.command(Command::Observe(observer.name.clone())).await;
            let about = About { name: &observer.name, algorithm: &member.config.algorithm };
            asked.map_err(|error| LockError::of_command(error, &about))?;
        }
        Ok(observer)
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
        let is_news = |lead: &Option<Lead>| said.as_ref() != Some(lead);
        let Ok(lead) = self.lead.wait_for(is_news).await.map(|lead| lead.clone()) else {
            return Err(self.member.why_over());
        };
        self.said = Some(lead.clone());
        Ok(lead.map(|Lead { member, token, value }| Leader {
            member: self.member.name(member),
            token: token.into(),
            value: value.as_str().to_owned(),
        }))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if self.member.clients.ignore(&self.name) {
            self.member.handle.post(Command::Ignore(self.name.clone()));
        }
    }
}
