//! Semaphores: of every name one member of the view, its *home*, keeps the permits and a queue.
//!
//! ```text
//!   0  ──ASK_PERMIT(7 of 2)──┐         ┌──[ inside ]──FREE_PERMIT(7)──┐
//!   1 (home)                 ▼─PERMIT──┘ two are inside, others wait  ▼──PERMIT──► the next
//! ```
//!
//! Which member is the home follows from the name and the members of the view, so all know it. A
//! member asks for each of its clients, under a number of its own. The home lets the first in as
//! long as permits are left. Who withdraws, or has asked in vain, frees what it may have been
//! given.
//!
//! **Safe.** The home counts who is inside; each of them was let in once, and is counted until it
//! says that it has left. When a view ends, each member reports how many of its clients are inside
//! and since when others wait, and all compute what the next home knows. What a client has done
//! since the report, the member tells the next home. A report may count a client that has left, and
//! never leaves one out that is inside.
//!
//! **Live**: who has left is no longer counted when its message has come, and then the longest wait
//! is next.
//!
//! **The number of permits** is that of the first who asks; whoever says another number is refused,
//! and told both, for as long as anybody is inside or waits.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use vorrang_protocol::{Effects, NodeId, NodeState, Refused, StateValue};

use super::Table;
use super::effects::NameEffects;
use crate::group::locks::in_views::InViews;
use crate::group::locks::{Exclusive, InstanceEffects as _};
use crate::group::named::command::{
    ALREADY_HELD, ALREADY_WANTED, Client, Loss, NO_PERMITS, NOT_HELD, NOT_WANTED, Notice, Refusal,
};
use crate::group::named::message::Said;
use crate::group::named::name::Name;
use crate::group::named::permit::{Message, Standing};
use crate::mutex::FencingToken;

/// A semaphore at one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::group::named) struct Semaphore {
    /// How many requests it has numbered in this view.
    tickets: u32,
    inside: Vec<Holder>,
    waiting: Vec<Waiter>,
    /// Requests that were reported and ended before the next view began.
    ended: BTreeSet<u32>,
    /// What the home knows, if this is the home.
    home: Option<Home>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Holder {
    ticket: u32,
    client: Client,
    permits: u32,
    token: FencingToken,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiter {
    ticket: u32,
    client: Client,
    permits: u32,
    since: u64,
    /// Whether it was let in, and needs a lease.
    is_granted: bool,
}

/// What the home knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Home {
    inside: BTreeSet<(NodeId, u32)>,
    /// Those who wait: first come, first served.
    queue: VecDeque<(NodeId, u32)>,
    permits: u32,
}

/// The home of a name among the members of a view.
fn home(name: &Name, members: &[NodeId]) -> NodeId {
    // FNV-1a.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = name.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    members[(hash % members.len().max(1) as u64) as usize]
}

impl Home {
    /// Somebody asks; the answer, if there is one now.
    fn ask(&mut self, who: (NodeId, u32), permits: u32) -> Option<Message> {
        let (_, ticket) = who;
        if self.inside.is_empty() && self.queue.is_empty() {
            self.permits = permits;
        }
        if permits != self.permits {
            return Some(Message::Refuse { ticket, bound: self.permits });
        }
        if !self.inside.contains(&who) && !self.queue.contains(&who) {
            self.queue.push_back(who);
        }
        None
    }

    fn free(&mut self, who: (NodeId, u32)) {
        if !self.inside.remove(&who) {
            self.queue.retain(|it| *it != who);
        }
    }

    /// Who is let in next, if anybody is.
    fn next(&mut self) -> Option<(NodeId, u32)> {
        if self.inside.len() >= self.permits as usize {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.inside.insert(next);
        Some(next)
    }
}

impl Semaphore {
    pub(in crate::group::named) fn is_busy(&self) -> bool {
        !self.inside.is_empty() || !self.waiting.is_empty() || !self.ended.is_empty()
    }

    pub(in crate::group::named) fn is_held(&self) -> bool {
        !self.inside.is_empty()
    }

    pub(in crate::group::named) fn is_granted(&self) -> bool {
        self.waiting.iter().any(|it| it.is_granted)
    }

    /// The view ends: requests are numbered anew, as they are reported.
    pub(in crate::group::named) fn stop(&mut self) -> Standing {
        self.home = None;
        self.ended.clear();
        let mut tickets = 0..;
        let mut number = |ticket: &mut u32| *ticket = tickets.next().unwrap_or_default();
        self.inside.iter_mut().for_each(|it| number(&mut it.ticket));
        for it in &mut self.waiting {
            number(&mut it.ticket);
            it.is_granted = false;
        }
        self.tickets = (self.inside.len() + self.waiting.len()) as u32;
        Standing {
            inside: self.inside.iter().map(|it| it.permits).collect(),
            waiting: self.waiting.iter().map(|it| (it.since, it.permits)).collect(),
        }
    }

    /// A view begins, at whose end before members stood like this.
    pub(in crate::group::named) fn begin<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        standing: &[(NodeId, Standing)],
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let reported = standing.iter().find(|it| it.0 == fx.effects.me());
        let reported = reported.map_or(0, |(_, it)| it.inside.len() + it.waiting.len()) as u32;
        if home(&fx.key.name, fx.members) == fx.effects.me() {
            self.rebuild_home(standing, fx);
        }
        for ticket in core::mem::take(&mut self.ended) {
            if ticket < reported {
                self.tell_home(Message::Free(ticket), fx);
            }
        }
        let late: Vec<Waiter> =
            self.waiting.iter().filter(|it| it.ticket >= reported).copied().collect();
        for Waiter { ticket, permits, .. } in late {
            self.tell_home(Message::Ask { ticket, permits }, fx);
        }
    }

    /// Those inside stay so; then come those who wait, the longest wait first.
    fn rebuild_home<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        standing: &[(NodeId, Standing)],
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let mut known = Home::default();
        let mut queue = Vec::new();
        for (node, Standing { inside, waiting }) in standing {
            for (ticket, permits) in (0..).zip(inside) {
                known.inside.insert((*node, ticket));
                known.permits = *permits;
            }
            let tickets = inside.len() as u32..;
            let waiting = tickets.zip(waiting);
            queue
                .extend(waiting.map(|(ticket, &(since, permits))| (since, *node, ticket, permits)));
        }
        queue.sort_unstable();
        self.home = Some(known);
        for (_, node, ticket, permits) in queue {
            self.on_home(node, Message::Ask { ticket, permits }, fx);
        }
    }

    /// The home hears something.
    fn on_home<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        from: NodeId,
        message: Message,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let home = self.home.get_or_insert_default();
        let answer = match message {
            Message::Ask { ticket, permits } => home.ask((from, ticket), permits),
            Message::Free(ticket) => {
                home.free((from, ticket));
                None
            }
            Message::Grant(_) | Message::Refuse { .. } => None,
        };
        if let Some(answer) = answer {
            self.answer(from, answer, fx);
        }
        while let Some((node, ticket)) = self.home.as_mut().and_then(Home::next) {
            self.answer(node, Message::Grant(ticket), fx);
        }
    }

    fn answer<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        to: NodeId,
        message: Message,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        if to == fx.effects.me() {
            self.on_answer(message, fx);
        } else {
            fx.say(to, Said::Permit(message));
        }
    }

    fn tell_home<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        message: Message,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        if fx.number.is_none() {
            // There is no view, or it ends.
            if let Message::Free(ticket) = message {
                self.ended.insert(ticket);
            }
            return;
        }
        let home = home(&fx.key.name, fx.members);
        if home == fx.effects.me() {
            self.on_home(home, message, fx);
        } else {
            fx.say(home, Said::Permit(message));
        }
    }

    pub(in crate::group::named) fn on_message<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        from: NodeId,
        message: Message,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let home = home(&fx.key.name, fx.members);
        match message {
            Message::Ask { .. } | Message::Free(_) if home == fx.effects.me() => {
                self.on_home(from, message, fx);
            }
            Message::Grant(_) | Message::Refuse { .. } if from == home => {
                self.on_answer(message, fx);
            }
            // It is said to another, or by another, than who has to do with it.
            Message::Ask { .. } | Message::Free(_) | Message::Grant(_) | Message::Refuse { .. } => {
            }
        }
    }

    /// The home has answered.
    fn on_answer<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        message: Message,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        match message {
            Message::Grant(ticket) => {
                if let Some(waiter) = self.waiting.iter_mut().find(|it| it.ticket == ticket) {
                    waiter.is_granted = true;
                    self.enter(fx);
                } else if self.inside.iter().all(|it| it.ticket != ticket) {
                    self.tell_home(Message::Free(ticket), fx);
                }
            }
            Message::Refuse { ticket, bound } => {
                if let Some(at) = self.waiting.iter().position(|it| it.ticket == ticket) {
                    let Waiter { client, permits: asked, .. } = self.waiting.remove(at);
                    let (key, why) = (fx.key.clone(), Refusal::Permits { asked, bound });
                    fx.notify(Notice::Refused { key, client, why });
                }
            }
            Message::Ask { .. } | Message::Free(_) => {}
        }
    }

    /// Lets clients in that the home has let in, if the member may.
    pub(in crate::group::named) fn enter<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        while let Some(at) = self.waiting.iter().position(|it| it.is_granted) {
            let Some(token) = fx.token() else { return };
            let Waiter { ticket, client, permits, .. } = self.waiting.remove(at);
            self.inside.push(Holder { ticket, client, permits, token });
            let key = fx.key.clone();
            fx.notify(Notice::Granted { key, client, token });
        }
    }

    pub(in crate::group::named) fn acquire<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        (client, permits): (Client, u32),
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        if permits == 0 {
            return Err(NO_PERMITS);
        }
        if self.inside.iter().any(|it| it.client == client) {
            return Err(ALREADY_HELD);
        }
        if self.waiting.iter().any(|it| it.client == client) {
            return Err(ALREADY_WANTED);
        }
        let (ticket, since) = (self.tickets, fx.effects.now());
        self.tickets += 1;
        self.waiting.push(Waiter { ticket, client, permits, since, is_granted: false });
        self.tell_home(Message::Ask { ticket, permits }, fx);
        Ok(())
    }

    pub(in crate::group::named) fn release<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        client: Client,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        let at = self.inside.iter().position(|it| it.client == client).ok_or(NOT_HELD)?;
        let Holder { ticket, .. } = self.inside.swap_remove(at);
        self.tell_home(Message::Free(ticket), fx);
        Ok(())
    }

    pub(in crate::group::named) fn withdraw<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        client: Client,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        let Some(at) = self.waiting.iter().position(|it| it.client == client) else {
            return self.release(client, fx).map_err(|_| NOT_WANTED);
        };
        let Waiter { ticket, .. } = self.waiting.remove(at);
        self.tell_home(Message::Free(ticket), fx);
        Ok(())
    }

    pub(in crate::group::named) fn lose<P: Exclusive, E: Effects<InViews<Table<P>>>>(
        &mut self,
        why: Loss,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        for Holder { ticket, client, .. } in core::mem::take(&mut self.inside) {
            let key = fx.key.clone();
            fx.notify(Notice::Lost { key, client, why });
            self.tell_home(Message::Free(ticket), fx);
        }
    }

    pub(in crate::group::named) fn shown(&self) -> NodeState {
        let inside = self.inside.iter().map(|it| {
            let Holder { ticket, client, permits, token } = it;
            let holder = NodeState::new().with("ticket", *ticket).with("client", *client);
            holder.with("permits", *permits).with("token", StateValue::shown(token))
        });
        let waiting = self.waiting.iter().map(|it| {
            let &Waiter { ticket, client, permits, since, is_granted } = it;
            let waiter = NodeState::new().with("ticket", ticket).with("client", client);
            waiter.with("permits", permits).with("since", since).with("granted", is_granted)
        });
        let home = self.home.as_ref().map(|Home { inside, queue, permits }| {
            NodeState::new()
                .with("permits", *permits)
                .with("inside", StateValue::set(inside.iter().copied()))
                .with("queue", StateValue::list(queue.iter().copied()))
        });
        NodeState::new()
            .with("tickets", self.tickets)
            .with("clients inside", StateValue::list(inside))
            .with("clients waiting", StateValue::list(waiting))
            .with("ended", StateValue::set(self.ended.iter().copied()))
            .with("home", home)
    }
}
