//! What can be asked of the group: who holds what, who belongs to it, who leads, what happens.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use vorrang_lock::{LockError, Observer};

use super::Service;
use super::answer::{self, Answer, Source};
use super::connection::Client;
use super::local_only;
use crate::api::{
    Code, ElectionEvent, Event, Evicted, HoldState, Locks, Member, MemberState, Members,
};
use crate::holds::{Owner, Refused};

/// How long members may take to agree on what somebody asks of them.
const AGREED_WITHIN: Duration = Duration::from_secs(5);

/// How often somebody who looks on is told that nothing has happened.
const ALIVE: Duration = Duration::from_secs(5);

/// All holds of the group, or those of this member.
pub(super) async fn locks(service: &Service, is_local: bool) -> Answer {
    let mut holds = service.holds.list();
    let mut unreached = Vec::new();
    if !is_local {
        let members = service.group.members().members;
        let others = members.into_iter().filter(|it| it.is_in_view && !it.is_this);
        let (more, missing) = service.others.holds(others.map(|it| it.name).collect()).await;
        holds.extend(more);
        unreached = missing;
    }
    let waits = |state| state == HoldState::Waiting;
    holds.sort_by(|one, other| {
        let key = |it: &crate::api::Hold| (it.kind, it.name.clone(), waits(it.state), it.since);
        key(one).cmp(&key(other))
    });
    answer::json(&Locks { holds, unreached })
}

/// The members, as this one sees them.
pub(crate) fn members(service: &Service) -> Members {
    let known = service.group.members();
    let config = service.group.config();
    let is_alone = config.members.is_empty() && config.join.is_empty() && config.address.is_none();
    let members = known.members.into_iter().map(|it| Member {
        http: service.others.address(&it.name).cloned(),
        name: it.name,
        // One that is alone listens nowhere.
        address: Some(it.address).filter(|it| !it.is_empty() && !is_alone),
        state: match (it.is_in_view, it.is_suspected) {
            (true, true) => MemberState::Suspected,
            (true, false) => MemberState::Member,
            (false, _) => MemberState::Absent,
        },
        voter: it.is_voter,
        vote_lost: it.has_lost_vote,
        trouble: it.trouble,
    });
    Members {
        members: members.collect(),
        group: known.group,
        this: known.this,
        algorithm: service.about.algorithm.clone(),
        view: Some(known.view).filter(|it| *it > 0),
        majority: known.is_in && known.has_majority,
        trouble: known.stopped.or(known.trouble),
        evicted: known.evicted.map(|it| Evicted {
            at: it.at.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()),
            why: it.why,
        }),
    }
}

/// Who leads, from now on.
pub(super) async fn observe(service: &Service, name: &str) -> Result<Answer, Refused> {
    let observer = service.group.observe(name).await.map_err(|why| Refused::from(&why))?;
    Ok(answer::lines(observer))
}

impl Source for Observer {
    async fn next(&mut self) -> Option<Bytes> {
        let event = match timeout(ALIVE, Self::next(self)).await {
            Ok(Ok(Some(leader))) => ElectionEvent::Leader {
                value: leader.value,
                member: leader.member,
                token: leader.token.to_string(),
            },
            Ok(Ok(None)) => ElectionEvent::Nobody,
            // The member does not take part any more.
            Ok(Err(_)) => return None,
            Err(_) => ElectionEvent::Alive,
        };
        Some(answer::line(&event).into())
    }
}

/// What happens, from now on: first how it is.
pub(super) fn events(service: &Service) -> Answer {
    let happens = service.holds.events();
    answer::events(LookingOn { first: Some(Event::Members(members(service))), happens })
}

struct LookingOn {
    first: Option<Event>,
    happens: broadcast::Receiver<Event>,
}

impl Source for LookingOn {
    async fn next(&mut self) -> Option<Bytes> {
        let event = match self.first.take() {
            Some(event) => event,
            None => match timeout(ALIVE, self.happens.recv()).await {
                Ok(Ok(event)) => event,
                Ok(Err(RecvError::Lagged(events))) => Event::Missed { events },
                Ok(Err(RecvError::Closed)) => return None,
                // What begins so is skipped by whoever reads it.
                Err(_) => return Some(Bytes::from_static(b": alive\n\n")),
            },
        };
        let data = String::from_utf8(answer::line(&event)).expect("JSON is text");
        Some(format!("event: {}\ndata: {data}\n", event.name()).into())
    }
}

/// Has the group go on without a member.
pub(super) async fn evict(
    service: &Service,
    client: &Client,
    member: &str,
) -> Result<Answer, Refused> {
    let by = local(client, "to evict a member")?;
    tracing::warn!(member, %by, "a member is to be evicted");
    agreed(service, service.group.evict(member)).await
}

/// Lets a member vote.
pub(super) async fn add(
    service: &Service,
    client: &Client,
    member: &str,
) -> Result<Answer, Refused> {
    let by = local(client, "to let a member vote")?;
    tracing::warn!(member, %by, "a member is to vote");
    agreed(service, service.group.add_voter(member)).await
}

/// Who asks, on this machine.
fn local<'a>(client: &'a Client, what: &str) -> Result<&'a Owner, Refused> {
    if client.is_local() {
        return Ok(&client.owner);
    }
    Err(local_only(what))
}

/// Waits for the members to agree.
async fn agreed(
    service: &Service,
    change: impl Future<Output = Result<(), LockError>>,
) -> Result<Answer, Refused> {
    if let Ok(done) = timeout(AGREED_WITHIN, change).await {
        return done.map(|()| answer::done()).map_err(|why| Refused::from(&why));
    }
    let trouble = service.group.members().trouble.map_or_else(String::new, |it| it + "; ");
    let why = format!(
        "it is asked for, and the members have not agreed on it within {AGREED_WITHIN:?}: \
         {trouble}it is done as soon as they can"
    );
    Err(Refused::new(Code::Unavailable, why))
}
