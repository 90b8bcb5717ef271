//! How other members are asked what their clients hold.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use vorrang_lock::tls::Tls;

use crate::api::{Hold, Unreached};
use crate::client::{Client, Server, Target};

/// How long the others may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Where the HTTP interfaces of members are, as far as the configuration says.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    http: BTreeMap<String, String>,
    keys: Option<Tls>,
}

impl Others {
    pub(crate) const fn new(http: BTreeMap<String, String>, keys: Option<Tls>) -> Self {
        Self { http, keys }
    }

    /// The keys of this member.
    pub(super) const fn keys(&self) -> Option<&Tls> {
        self.keys.as_ref()
    }

    /// That of this member.
    pub(super) fn address(&self, member: &str) -> Option<&String> {
        self.http.get(member)
    }

    /// The holds of these members, all asked at once; and which could not be asked.
    pub(super) async fn holds(&self, members: Vec<String>) -> (Vec<Hold>, Vec<Unreached>) {
        let mut asked = JoinSet::new();
        for member in members {
            let address = self.http.get(&member).cloned();
            let tls = self.keys.as_ref().map(|keys| keys.remote().connector().clone());
            asked.spawn(async move {
                let outcome = match address {
                    Some(address) => ask(Server { address, tls }).await,
                    None => Err("its configuration here has no http address".to_owned()),
                };
                (member, outcome)
            });
        }
        let (mut holds, mut unreached) = (Vec::new(), Vec::new());
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok((_, Ok(some))) => holds.extend(some),
                Ok((member, Err(why))) => unreached.push(Unreached { member, why }),
                Err(why) => tracing::error!(%why, "a member could not be asked"),
            }
        }
        unreached.sort_by(|one, other| one.member.cmp(&other.member));
        (holds, unreached)
    }
}

async fn ask(server: Server) -> Result<Vec<Hold>, String> {
    let client = Client::new(Target::Server(server));
    match timeout(ANSWER_WITHIN, client.locks(true)).await {
        Ok(Ok(locks)) => Ok(locks.holds),
        Ok(Err(why)) => Err(why.to_string()),
        Err(_) => Err(format!("it has not answered for {ANSWER_WITHIN:?}")),
    }
}
