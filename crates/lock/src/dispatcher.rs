//! What runs inside the member's own task: it passes on what the machine tells to the clients that
//! it concerns, without a channel in between.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use vorrang_algorithms::group::named::{Client, Command, Notice};
use vorrang_net::{Application, ApplicationEffects, Event, GroupStatus, StopReason};
use vorrang_protocol::Refused;

use crate::clients::{Bounds, Clients, Standing};
use crate::error::{LockError, Loss};
use crate::members::{Evicted, Known};

pub(crate) struct Dispatcher {
    clients: Arc<Clients>,
    bounds: Bounds,
    known: Known,
    /// Whose time ends, and when: the first first.
    limited: VecDeque<(Instant, Client)>,
    /// How many of them were warned.
    warned: usize,
}

impl Dispatcher {
    pub(crate) const fn new(clients: Arc<Clients>, bounds: Bounds, known: Known) -> Self {
        Self { clients, bounds, known, limited: VecDeque::new(), warned: 0 }
    }

    fn tell_members(&self) {
        self.clients.members.send_if_modified(|members| {
            let before = members.clone();
            self.known.tell(members);
            *members != before
        });
    }

    fn evicted(&self, why: &str) {
        let evicted = Evicted { at: SystemTime::now(), why: why.to_owned() };
        self.clients.members.send_modify(|members| members.evicted = Some(evicted));
    }

    /// Another process is this member now.
    fn give_way(&mut self, why: &str) {
        self.clients.stop(&LockError::Replaced(why.to_owned()), &Loss::Replaced(why.to_owned()));
        self.known.end(LockError::Replaced(why.to_owned()).to_string());
        self.evicted(why);
        self.tell_members();
    }

    fn limit(&mut self, client: Client, fx: &mut ApplicationEffects<Command>) {
        if let Some(most) = self.bounds.max_hold {
            self.limited.push_back((Instant::now() + most, client));
            fx.wake_after(most.saturating_sub(self.bounds.grace));
            // Timers are as fine as a millisecond.
            fx.wake_after(most + Duration::from_millis(1));
        }
    }

    fn stop(&mut self, why: &StopReason) {
        let words = why.to_string();
        self.clients.stop(&LockError::Stopped(why.clone()), &Loss::Stopped(words.clone()));
        self.known.end(LockError::Stopped(why.clone()).to_string());
        self.clients.members.send_if_modified(|members| {
            self.known.tell(members);
            let is_first = members.stopped.is_none();
            members.stopped.get_or_insert(words);
            is_first
        });
    }
}

impl Application for Dispatcher {
    type Command = Command;
    type Notice = Notice;

    fn on_notice(&mut self, notice: Notice, fx: &mut ApplicationEffects<Command>) {
        match notice {
            Notice::Granted { client, token, key: _ } => {
                // Who does not want it any more has said so, which comes next.
                if self.clients.grant(client, token.into()) {
                    self.limit(client, fx);
                }
            }
            Notice::Lost { client, why, key: _ } => {
                self.clients.end(client, Standing::Lost(why.into()));
            }
            Notice::Refused { client, key, why } => {
                let why = LockError::of_refusal(why, key.name);
                self.clients.end(client, Standing::Refused(why));
            }
            Notice::AtRisk => self.clients.warn(None, true),
            Notice::Safe => {
                self.clients.warn(None, false);
                for (_, client) in self.limited.iter().take(self.warned) {
                    self.clients.warn(Some(*client), true);
                }
            }
            Notice::Leader { name, lead } => self.clients.lead(&name, lead),
            // The node says more of it.
            Notice::View { .. } => {}
            Notice::Removed { view } => self.known.is_removed(view),
        }
    }

    fn on_wake(&mut self, fx: &mut ApplicationEffects<Command>) {
        let now = Instant::now();
        while let Some(&(end, client)) = self.limited.front().filter(|(end, _)| *end <= now) {
            self.limited.pop_front();
            self.warned = self.warned.saturating_sub(1);
            if let Some(key) = self.clients.held_by(client) {
                let most = self.bounds.max_hold.unwrap_or_default();
                tracing::warn!(%key, client, ?end, "held for too long: released");
                self.clients.end(client, Standing::Lost(Loss::MaxHold(most)));
                fx.command(Command::Withdraw { key, client });
            }
        }
        let soon = now + self.bounds.grace;
        while let Some(&(_, client)) = self.limited.get(self.warned).filter(|it| it.0 <= soon) {
            self.warned += 1;
            self.clients.warn(Some(client), true);
        }
    }

    fn on_event(&mut self, event: &Event, _: &mut ApplicationEffects<Command>) {
        match event {
            Event::Replaced { .. } | Event::Fenced { .. } => self.give_way(&event.to_string()),
            _ => {
                if self.known.hear(event) {
                    self.tell_members();
                }
            }
        }
    }

    fn on_group(&mut self, group: &GroupStatus, _: &mut ApplicationEffects<Command>) {
        let why_out = self.known.learn(group);
        self.tell_members();
        if let Some(why) = why_out.filter(|_| self.clients.why_closed().is_none()) {
            self.evicted(&why);
        }
    }

    fn heeds_lease(&self) -> bool {
        self.bounds.has_leases
    }

    fn on_lease(&mut self, until: Option<Instant>) {
        self.clients.set_lease(until);
    }

    fn on_stopped(&mut self, why: &StopReason) {
        self.stop(why);
    }

    /// What was held for too long may have been released in the same moment.
    fn on_refused(&mut self, refused: Refused, _: &mut ApplicationEffects<Command>) {
        tracing::debug!(%refused, "released already");
    }
}

impl Drop for Dispatcher {
    /// The runtime has ended, and with it the member.
    fn drop(&mut self) {
        self.stop(&StopReason::Vanished);
    }
}
