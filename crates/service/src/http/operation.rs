//! What those ask who operate the daemon: metrics, whether it is alive and ready, and what can be
//! asked at all.

use super::Service;
use super::answer::{self, Answer};
use crate::api::{Code, MemberState};
use crate::holds::Refused;
use crate::http::group;
use crate::metrics::Now;

pub(super) fn metrics(service: &Service) -> Answer {
    let members = group::members(service);
    let of = |state| members.members.iter().filter(|it| it.state == state).count();
    let counted = service.holds.count();
    let suspected = of(MemberState::Suspected);
    let now = Now {
        group: service.about.group.clone(),
        member: service.about.member.clone(),
        algorithm: service.about.algorithm.clone(),
        view: members.view,
        members: of(MemberState::Member) + suspected,
        suspected,
        majority: members.majority,
        held: counted.held,
        waiting: counted.waiting,
        lease_left: counted.left,
        certificate_expires: None,
        started: service.about.started,
    };
    answer::text("text/plain; version=0.0.4; charset=utf-8", service.metrics.text(&now))
}

/// The process lives: it answers.
pub(super) fn is_alive() -> Answer {
    answer::text("text/plain; charset=utf-8", "alive\n")
}

/// Whether it can grant something.
pub(super) fn is_ready(service: &Service) -> Result<Answer, Refused> {
    let members = group::members(service);
    if service.holds.is_leaving() {
        return Err(Refused::new(Code::Leaving, "this member leaves the group"));
    }
    if members.majority {
        return Ok(answer::text("text/plain; charset=utf-8", "ready\n"));
    }
    let why = members.trouble.unwrap_or_else(|| "this member belongs to no view yet".to_owned());
    Err(Refused::new(Code::Unavailable, why))
}

/// What can be asked, for programs.
pub(super) fn open_api() -> Answer {
    answer::text("application/json", OPEN_API)
}

pub(super) const OPEN_API: &str = include_str!("openapi.json");
