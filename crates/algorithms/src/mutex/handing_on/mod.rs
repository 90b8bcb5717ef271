//! Permissions that are handed on from one node to the next: what [Cao–Singhal](super::cao_singhal)
//! does. That file says how it works; here it is done.
//!
//! Every node is two things. As an arbiter it has one permission, which one request has at a
//! time. As one that asks it needs the permissions of all arbiters of its quorum, itself among them
//! or not, and hands them on when it leaves.

mod arbiter;
pub(super) mod lemmas;
mod message;
pub(super) mod quorum_choice;
#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use vorrang_protocol::{Effects, Group, Never, NodeId, NodeState, Protocol, Refused, StateValue};

use super::self_messages::HandlesSelfMessages;
use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::clock::{Clock, Stamp};
use arbiter::{Arbiter, Words};
pub use message::Message;
use quorum_choice::QuorumChoice;

/// One node: one that asks, and an arbiter that others ask.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CaoSinghal {
    pub(super) me: NodeId,
    group: Group,
    /// Whom it asks.
    pub(super) schedule: QuorumChoice,
    /// The highest time counted or seen.
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    pub(super) arbiter: Arbiter,
}

/// Where a node stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// The time of its request.
        time: u64,
        /// What it has from each arbiter of its quorum, in their order.
        arbiter_states: Vec<ArbiterState>,
    },
    /// With the permissions of all arbiters of its quorum, in their order; where others were asked
    /// as well, perhaps without theirs.
    Inside(Vec<Option<Permission>>),
}

/// What a node that waits has from an arbiter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ArbiterState {
    /// Nothing but words.
    Asked {
        /// Somebody else goes first there: so said FAIL, or the node has yielded.
        failed: bool,
        /// What the arbiter has said of a permission that another node is still to bring.
        ahead: Option<Ahead>,
    },
    Granted {
        permission: Permission,
        /// The arbiter wants it back unless the node can enter.
        inquired: bool,
    },
}

/// An arbiter's permission.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Permission {
    pub(super) epoch: u64,
    /// To whom to hand it on.
    pub(super) next: Option<Stamp>,
}

/// A TRANSFER that has come before the permission that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ahead {
    pub(super) epoch: u64,
    pub(super) next: Stamp,
    pub(super) inquired: bool,
}

impl ArbiterState {
    const EMPTY: Self = Self::Asked { failed: false, ahead: None };

    /// The epoch of the permission, if it is there.
    pub(super) const fn epoch(&self) -> Option<u64> {
        match self {
            Self::Granted { permission, .. } => Some(permission.epoch),
            Self::Asked { .. } => None,
        }
    }

    const fn has_failed(&self) -> bool {
        matches!(self, Self::Asked { failed: true, .. })
    }
}

impl Ahead {
    /// Keeps the news of the latest epoch.
    fn update(known: &mut Option<Self>, mut news: Self) {
        match known {
            Some(known) if news.epoch < known.epoch => return,
            Some(known) if news.epoch == known.epoch => {
                news.next = news.next.min(known.next);
                news.inquired |= known.inquired;
            }
            Some(_) | None => {}
        }
        *known = Some(news);
    }
}

/// To whom a permission is to go: to the older of two that its arbiter has named in one epoch. That
/// is the one that it named last, whichever of its words came first.
fn oldest(one: Option<Stamp>, other: Option<Stamp>) -> Option<Stamp> {
    one.into_iter().chain(other).min()
}

impl CaoSinghal {
    /// A node of `group` that has neither asked nor been asked.
    pub fn new(me: NodeId, group: Group, schedule: impl Into<QuorumChoice>) -> Self {
        let (clock, arbiter, schedule) = (Clock::default(), Arbiter::new(me), schedule.into());
        Self { me, group, schedule, clock, phase: Phase::Outside, arbiter }
    }

    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let time = self.clock.tick();
        self.schedule.begin(time);
        let quorum = self.schedule.quorum();
        self.phase =
            Phase::Waiting { time, arbiter_states: vec![ArbiterState::EMPTY; quorum.len()] };
        fx.broadcast(quorum.iter().copied(), Message::Request { time });
    }

    fn on_reply(
        &mut self,
        time: u64,
        arbiter: NodeId,
        mut permission: Permission,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(place) = self.place(arbiter) else { return };
        let (ours, arbiter_states) = match &mut self.phase {
            Phase::Outside => return,
            Phase::Waiting { time, arbiter_states } => (*time, arbiter_states),
            Phase::Inside(permissions) => {
                if self.schedule.is_for(time) && permissions[place].is_none() {
                    // It could enter without.
                    permissions[place] = Some(permission);
                }
                return;
            }
        };
        let ArbiterState::Asked { ahead, .. } = arbiter_states[place] else { return };
        if time != ours {
            return;
        }
        let ahead = ahead.filter(|ahead| ahead.epoch == permission.epoch);
        permission.next = oldest(ahead.map(|ahead| ahead.next), permission.next);
        let inquired = ahead.is_some_and(|ahead| ahead.inquired);
        arbiter_states[place] = ArbiterState::Granted { permission, inquired };
        self.enter_if_all_granted(fx);
        self.yield_if_hopeless(fx);
    }

    fn on_fail(&mut self, from: NodeId, time: u64, fx: &mut impl Effects<Self>) {
        let Some(place) = self.place(from) else { return };
        match &mut self.phase {
            Phase::Waiting { time: ours, arbiter_states } if time == *ours => {
                // Where it is granted, somebody has brought the permission in the meantime.
                if let ArbiterState::Asked { failed, .. } = &mut arbiter_states[place] {
                    *failed = true;
                    self.yield_if_hopeless(fx);
                }
            }
            Phase::Outside | Phase::Waiting { .. } | Phase::Inside(_) => {}
        }
    }

    fn on_transfer(&mut self, from: NodeId, news: Ahead, fx: &mut impl Effects<Self>) {
        let Some(place) = self.place(from) else { return };
        let update = |permission: &mut Permission| {
            let is_it = permission.epoch == news.epoch;
            if is_it {
                permission.next = oldest(permission.next, Some(news.next));
            }
            is_it
        };
        match &mut self.phase {
            Phase::Outside => {}
            Phase::Inside(permissions) => {
                permissions[place].as_mut().map(update);
            }
            Phase::Waiting { arbiter_states, .. } => match &mut arbiter_states[place] {
                ArbiterState::Granted { permission, inquired } => {
                    *inquired |= update(permission) && news.inquired;
                    self.yield_if_hopeless(fx);
                }
                ArbiterState::Asked { ahead, .. } => Ahead::update(ahead, news),
            },
        }
    }

    /// The place of an arbiter in the quorum.
    pub(super) fn place(&self, arbiter: NodeId) -> Option<usize> {
        self.schedule.quorum().binary_search(&arbiter).ok()
    }

    /// Asks more nodes for the request that it waits with.
    pub(super) fn ask_also(&mut self, more: &[NodeId], fx: &mut impl Effects<Self>) {
        let mut places: Vec<usize> = more.iter().filter_map(|&id| self.place(id)).collect();
        places.sort_unstable();
        let Phase::Waiting { time, arbiter_states } = &mut self.phase else { return };
        let time = *time;
        // Lowest first, so that each is at its place when it comes.
        for place in places {
            arbiter_states.insert(place, ArbiterState::EMPTY);
        }
        fx.broadcast(more.iter().copied(), Message::Request { time });
    }

    /// The arbiters whose permissions it does not have, of those that it has asked.
    pub(super) fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        let has = |place: usize| match &self.phase {
            Phase::Outside => false,
            Phase::Waiting { arbiter_states, .. } => arbiter_states[place].epoch().is_some(),
            Phase::Inside(permissions) => permissions[place].is_some(),
        };
        let asked = self.schedule.quorum().iter().enumerate();
        asked.filter(move |(place, _)| !has(*place)).map(|(_, &id)| id)
    }

    pub(super) fn enter_if_all_granted(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { arbiter_states, .. } = &self.phase else { return };
        let permission = |state: &ArbiterState| match *state {
            ArbiterState::Granted { permission, .. } => Some(permission),
            ArbiterState::Asked { .. } => None,
        };
        let mut asked = self.schedule.quorum().iter().zip(arbiter_states);
        if asked.all(|(&id, state)| permission(state).is_some() || !self.schedule.needs(id)) {
            self.phase = Phase::Inside(arbiter_states.iter().map(permission).collect());
            fx.notify(Notice::Entered);
        }
    }

    /// Whoever must wait somewhere gives back what others want back.
    fn yield_if_hopeless(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { arbiter_states, .. } = &mut self.phase else { return };
        if !arbiter_states.iter().any(ArbiterState::has_failed) {
            return;
        }
        for (state, &arbiter) in arbiter_states.iter_mut().zip(self.schedule.quorum()) {
            if let ArbiterState::Granted { permission, inquired: true } = *state {
                *state = ArbiterState::Asked { failed: true, ahead: None };
                fx.send(arbiter, Message::Yield { epoch: permission.epoch });
            }
        }
    }

    fn leave(&mut self, permissions: &[Option<Permission>], fx: &mut impl Effects<Self>) {
        self.phase = Phase::Outside;
        for (&arbiter, permission) in self.schedule.quorum().iter().zip(permissions) {
            let Some(Permission { epoch, next }) = *permission else { continue };
            if let Some(Stamp { time, node }) = next {
                let epoch = epoch.saturating_add(1);
                fx.send(node, Message::Reply { time, arbiter, epoch, next: None });
            }
            fx.send(arbiter, Message::Release { epoch, next });
        }
        self.schedule.turn();
    }
}

impl HandlesSelfMessages for CaoSinghal {
    fn me(&self) -> NodeId {
        self.me
    }

    fn obey(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &mut self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => self.ask(fx),
            (Command::Release, Phase::Inside(permissions)) => {
                let permissions = mem::take(permissions);
                self.leave(&permissions, fx);
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn hear(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let group = self.group;
        let is_member = |next: Option<Stamp>| next.is_none_or(|it| group.contains(it.node));
        match message {
            Message::Request { time } => {
                self.clock.witness(time);
                say(self.arbiter.on_request(Stamp::new(time, from)), fx);
            }
            Message::Reply { time, arbiter, epoch, next } if is_member(next) => {
                self.on_reply(time, arbiter, Permission { epoch, next }, fx);
            }
            Message::Fail { time } => self.on_fail(from, time, fx),
            Message::Transfer { epoch, next, inquire } if is_member(Some(next)) => {
                self.on_transfer(from, Ahead { epoch, next, inquired: inquire }, fx);
            }
            Message::Yield { epoch } => say(self.arbiter.on_yield(from, epoch), fx),
            Message::Release { epoch, next } => {
                say(self.arbiter.on_release(from, epoch, next), fx);
            }
            // Nobody in this group could be handed the permission.
            Message::Reply { .. } | Message::Transfer { .. } => {}
        }
    }
}

/// What the arbiter has to say.
pub(super) fn say(words: Words, fx: &mut impl Effects<CaoSinghal>) {
    for (to, message) in words.into_iter().flatten() {
        fx.send(to, message);
    }
}

impl Protocol for CaoSinghal {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.obey_at_home(command, fx)
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.hear_at_home(from, message, fx);
    }

    /// What each arbiter of the quorum has given or said, and what it has given as an arbiter.
    fn state(&self) -> NodeState {
        let shown = |permission: &Permission| (permission.epoch, permission.next);
        let quorum = || self.schedule.quorum().iter().copied();
        let state = NodeState::new();
        let state = match &self.phase {
            Phase::Outside => state.with("phase", "outside"),
            Phase::Waiting { time, arbiter_states } => {
                let at = |is: fn(&ArbiterState) -> bool| {
                    let arbiter_states =
                        quorum().zip(arbiter_states).filter(move |(_, state)| is(state));
                    StateValue::set(arbiter_states.map(|(id, _)| id))
                };
                let granted = quorum().zip(arbiter_states).filter_map(|(id, state)| match state {
                    ArbiterState::Granted { permission, .. } => Some((id, shown(permission))),
                    ArbiterState::Asked { .. } => None,
                });
                let ahead = quorum().zip(arbiter_states).filter_map(|(id, state)| match state {
                    ArbiterState::Asked { ahead: Some(ahead), .. } => {
                        let inquired = if ahead.inquired { "inquired" } else { "not inquired" };
                        Some((id, (ahead.epoch, ahead.next, inquired)))
                    }
                    ArbiterState::Asked { ahead: None, .. } | ArbiterState::Granted { .. } => None,
                });
                state
                    .with("phase", "waiting")
                    .with("request", *time)
                    .with("permissions", StateValue::list(granted))
                    .with("failed", at(ArbiterState::has_failed))
                    .with(
                        "inquired",
                        at(|state| matches!(state, ArbiterState::Granted { inquired: true, .. })),
                    )
                    .with("announced", StateValue::list(ahead))
            }
            Phase::Inside(permissions) => {
                let granted = quorum().zip(permissions);
                let granted = granted.filter_map(|(id, it)| Some((id, shown(it.as_ref()?))));
                state.with("phase", "inside").with("permissions", StateValue::list(granted))
            }
        };
        state
            .with("clock", self.clock.now())
            .with("given to", self.arbiter.lock)
            .with("epoch", self.arbiter.epoch)
            .with("queue", StateValue::list(self.arbiter.waiting.iter().copied()))
            .with("back from", self.arbiter.early)
            .and(self.schedule.state())
    }
}
