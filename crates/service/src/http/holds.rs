//! What can be asked of a hold.

use bytes::Bytes;

use super::Service;
use super::answer::{self, Answer, Source};
use super::connection::Client;
use super::local_only;
use crate::api::{Code, HoldProcess, HoldRequest, HoldState, Renewal};
use crate::holds::{End, Lines, Owner, Refused, Status};
use crate::process_group::ProcessGroup;

pub(super) fn begin(
    service: &Service,
    client: &Client,
    id: &str,
    wish: HoldRequest,
) -> Result<Answer, Refused> {
    let owner = client.owner.clone();
    let (hold, lines) = service.holds.begin(id, owner, wish, client.asker())?;
    client.looks_at(&hold);
    // The hold must be there for as long as its lines are told.
    Ok(answer::lines(lines))
}

impl Source for Lines {
    async fn next(&mut self) -> Option<Bytes> {
        let lines = Self::next(self).await?;
        Some(lines.iter().flat_map(answer::line).collect())
    }
}

pub(super) fn show(service: &Service, id: &str) -> Result<Answer, Refused> {
    let hold = service.holds.find(id)?;
    Ok(answer::json(&hold.shown(&service.about.member)))
}

/// Gives a hold back, and answers when it is done. What is over is given back already.
pub(super) async fn release(
    service: &Service,
    client: &Client,
    id: &str,
    by_force: bool,
) -> Result<Answer, Refused> {
    let hold = if by_force {
        let Owner::User(_) = client.owner else {
            return Err(local_only("to release a hold by force"));
        };
        service.holds.find(id)?
    } else {
        service.holds.find_own(id, &client.owner)?
    };
    if by_force {
        let (name, of, by) = (&hold.request.name, &hold.owner, &client.owner);
        tracing::warn!(name, id, %of, %by, "a hold is released by force");
        hold.ask_for_end(End::Forced(by.to_string()));
    } else {
        hold.ask_for_end(End::Released);
    }
    hold.over().await;
    Ok(answer::done())
}

pub(super) fn renew(service: &Service, client: &Client, id: &str) -> Result<Answer, Refused> {
    let hold = service.holds.find_own(id, &client.owner)?;
    let within = service.holds.renew_within();
    let over = || Err(Refused::new(Code::HoldOver, format!("hold '{id}' is over")));
    let (state, left) = match &*hold.status().borrow() {
        status if status.is_over() => return over(),
        Status::Waiting => (HoldState::Waiting, None),
        Status::Held(now) => {
            // Without leases it is the client's silence alone that ends it.
            let left = now.left().map_or(within, |left| left.min(within));
            (now.state(), Some(left.as_millis() as u64))
        }
        Status::Over(_) => return over(),
    };
    hold.renew();
    Ok(answer::json(&Renewal { state, left_ms: left, within_ms: within.as_millis() as u64 }))
}

pub(super) fn process(
    service: &Service,
    client: &Client,
    id: &str,
    process: &HoldProcess,
) -> Result<Answer, Refused> {
    let Owner::User(user) = client.owner else {
        return Err(local_only("to tell which process works under a hold"));
    };
    let hold = service.holds.find_own(id, &client.owner)?;
    let group = process.pgid.map(|it| ProcessGroup::of(it, user)).transpose();
    hold.set_process(group.map_err(|why| Refused::new(Code::BadRequest, why))?);
    // If it was over before, nobody ends the process but its client, which is told so.
    if hold.status().borrow().is_over() {
        return Err(Refused::new(Code::HoldOver, format!("hold '{id}' is over")));
    }
    Ok(answer::done())
}
