//! The clients of one lock at one member: they wait here, first come, first served, and the member
//! asks the others once for all of them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use vorrang_protocol::{Delay, Effects, NodeId, NodeState, Refused, StateValue};

use super::Table;
use super::effects::NameEffects;
use crate::group::locks::in_views::InViews;
use crate::group::locks::instance::{Application, Instance, Stance};
use crate::group::locks::{Exclusive, InstanceEffects as _, NodeFactory};
use crate::group::named::command::{
    ALREADY_HELD, ALREADY_WANTED, Client, Lead, Loss, NOT_HELD, NOT_WANTED, Notice,
};
use crate::group::named::message::Timer;
use crate::group::named::name::Value;
use crate::group::named::report::{NameReport, claim};
use crate::mutex::{Claim, FencingToken};

/// Those who have the lock and those who wait for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::group::named) struct ClientQueue<P> {
    pub(in crate::group::named) instance: Instance<P>,
    queue: VecDeque<Waiter>,
    /// The clients inside.
    holders: Vec<Holder>,
    /// How many have been let in since the member is inside.
    pub(in crate::group::named) served: u32,
    /// Whether that was long ago.
    is_spent: bool,
    /// The last leader that is known, and since when: of an election.
    lead: Option<(FencingToken, Option<Lead>)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiter {
    client: Client,
    is_shared: bool,
    /// What it would lead as.
    value: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Holder {
    client: Client,
    is_shared: bool,
    token: FencingToken,
}

impl<P: Exclusive> ClientQueue<P> {
    pub(in crate::group::named) const fn new() -> Self {
        Self {
            instance: Instance::new(),
            queue: VecDeque::new(),
            holders: Vec::new(),
            served: 0,
            is_spent: false,
            lead: None,
        }
    }

    /// Whether a client has it or waits, or the member does for one that has withdrawn.
    pub(in crate::group::named) fn is_busy(&self) -> bool {
        self.has_clients() || !self.is_outside()
    }

    pub(in crate::group::named) fn has_clients(&self) -> bool {
        !self.queue.is_empty() || !self.holders.is_empty()
    }

    const fn is_outside(&self) -> bool {
        matches!(self.instance.application, Application::Outside | Application::Evicted)
    }

    pub(in crate::group::named) fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// Whether a client gets it when the one who has it leaves, in batches of so many.
    pub(in crate::group::named) fn has_next(&self, most: u32) -> bool {
        self.holders.len() == 1 && !self.queue.is_empty() && self.served < most
    }

    /// The leader that is known.
    pub(in crate::group::named) fn lead(&self) -> Option<&Lead> {
        self.lead.as_ref()?.1.as_ref()
    }

    pub(in crate::group::named) const fn has_lead(&self) -> bool {
        self.lead.is_some()
    }

    /// The view ends: how it stands, if it is not idle. A request that nobody waits for is
    /// forgotten with it.
    pub(in crate::group::named) fn stop(&mut self) -> Option<NameReport> {
        self.instance.stop();
        if self.queue.is_empty() && matches!(self.instance.application, Application::Waits { .. }) {
            self.instance.application = Application::Outside;
        }
        let Stance { waits_since, is_inside, claim } = self.instance.stance();
        let is_leading = |it: &&Lead| self.holders.iter().any(|holder| holder.token == it.token);
        let lead = self.lead().filter(is_leading).cloned();
        let is_shared = claim == Claim::Shared;
        let is_idle = !is_inside && waits_since.is_none();
        (!is_idle).then_some(NameReport::Lock { waits_since, is_shared, lead })
    }

    /// A view begins, at whose beginning members stand like this.
    pub(in crate::group::named) fn begin<E: Effects<InViews<Table<P>>>>(
        &mut self,
        anew: &NodeFactory<P>,
        standing: &[(NodeId, NameReport)],
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let of = |node: NodeId| standing.iter().find(|it| it.0 == node)?.1.stance();
        self.instance.begin(anew, fx.members.to_vec(), of, fx);
        if self.served >= 2 {
            Self::time_batch(fx);
        }
        let lead = standing.iter().find_map(|(_, stand)| match stand {
            NameReport::Lock { lead, .. } => lead.clone(),
            NameReport::Semaphore(_) => None,
        });
        self.begin_lead(lead, fx);
    }

    pub(in crate::group::named) fn acquire<E: Effects<InViews<Table<P>>>>(
        &mut self,
        (client, is_shared, value): (Client, bool, Option<Value>),
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        if self.holders.iter().any(|it| it.client == client) {
            return Err(ALREADY_HELD);
        }
        if self.queue.iter().any(|it| it.client == client) {
            return Err(ALREADY_WANTED);
        }
        self.queue.push_back(Waiter { client, is_shared, value });
        self.settle(fx);
        Ok(())
    }

    pub(in crate::group::named) fn release<E: Effects<InViews<Table<P>>>>(
        &mut self,
        client: Client,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        let at = self.holders.iter().position(|it| it.client == client).ok_or(NOT_HELD)?;
        let Holder { token, .. } = self.holders.swap_remove(at);
        self.resign(token, fx);
        self.settle(fx);
        Ok(())
    }

    pub(in crate::group::named) fn withdraw<E: Effects<InViews<Table<P>>>>(
        &mut self,
        client: Client,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) -> Result<(), Refused> {
        let Some(at) = self.queue.iter().position(|it| it.client == client) else {
            return self.release(client, fx).map_err(|_| NOT_WANTED);
        };
        // If the member asks for this one alone, it leaves as soon as it is inside.
        self.queue.remove(at);
        self.settle(fx);
        Ok(())
    }

    /// All clients inside are so no more.
    pub(in crate::group::named) fn lose<E: Effects<InViews<Table<P>>>>(
        &mut self,
        why: Loss,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        for Holder { client, token, .. } in core::mem::take(&mut self.holders) {
            let key = fx.key.clone();
            fx.notify(Notice::Lost { key, client, why });
            self.resign(token, fx);
        }
        self.settle(fx);
    }

    /// The member has been inside for long.
    pub(in crate::group::named) const fn spend(&mut self) {
        self.is_spent = true;
    }

    /// After anything that has happened to the instance: lets clients in and the member out until
    /// nobody else may be.
    pub(in crate::group::named) fn settle<E: Effects<InViews<Table<P>>>>(
        &mut self,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        loop {
            match self.instance.application {
                Application::Waits { .. } => return,
                Application::Inside(claim) => {
                    self.serve(claim, fx);
                    if !self.holders.is_empty() {
                        return;
                    }
                    if let Some(number) = fx.number.filter(|_| self.served >= 2) {
                        fx.effects.cancel_timer(Timer::Turn(number));
                    }
                    (self.served, self.is_spent) = (0, false);
                    self.instance.leave(Application::Outside, fx);
                }
                Application::Outside | Application::Evicted => {
                    let Some(front) = self.queue.front() else { return };
                    // Where members cannot share, its own clients still can, under its claim.
                    self.instance.acquire(claim(front.is_shared && fx.shares), fx);
                }
            }
        }
    }

    /// Lets those in front in who may be: with the token of the member's own entry, and then with
    /// one of its own for each, as long as the batch and the lease last.
    fn serve<E: Effects<InViews<Table<P>>>>(
        &mut self,
        claim: Claim,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        while let Some(&Waiter { client, is_shared, .. }) = self.queue.front() {
            let fits = if is_shared {
                self.holders.iter().all(|it| it.is_shared)
            } else {
                self.holders.is_empty() && claim == Claim::Exclusive
            };
            if !fits {
                return;
            }
            let token = match fx.entered.take() {
                Some(token) => token,
                None if self.served >= fx.batch.clients || self.is_spent => return,
                None => match fx.token() {
                    Some(token) => token,
                    None => return,
                },
            };
            self.served += 1;
            if self.served == 2 {
                Self::time_batch(fx);
            }
            let value = self.queue.pop_front().and_then(|it| it.value);
            self.holders.push(Holder { client, is_shared, token });
            let key = fx.key.clone();
            fx.notify(Notice::Granted { key, client, token });
            if let Some(value) = value {
                let member = fx.effects.me();
                self.leads(token, Some(Lead { member, token, value }), fx);
            }
        }
    }

    /// Limits how long clients have it one after the other, from this one on.
    fn time_batch<E: Effects<InViews<Table<P>>>>(fx: &mut NameEffects<'_, '_, P, E>) {
        if let (Some(time), Some(number)) = (fx.batch.time, fx.number) {
            fx.effects.set_timer(Timer::Turn(number), Delay::exactly(time));
        }
    }

    /// Tells all members who leads.
    fn leads<E: Effects<InViews<Table<P>>>>(
        &mut self,
        since: FencingToken,
        lead: Option<Lead>,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        fx.tell_leads(since, lead.clone());
        self.on_leads(since, lead, fx);
    }

    /// Whoever led does so no more.
    fn resign<E: Effects<InViews<Table<P>>>>(
        &mut self,
        token: FencingToken,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        if self.lead().is_some_and(|it| it.token == token) {
            self.leads(token, None, fx);
        }
    }

    /// A member says who leads. Later tokens are of later leaders, and nobody leads again with the
    /// same.
    pub(in crate::group::named) fn on_leads<E: Effects<InViews<Table<P>>>>(
        &mut self,
        since: FencingToken,
        lead: Option<Lead>,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        let is_new = match &self.lead {
            None => true,
            Some((known, of)) => since > *known || (since == *known && of.is_some()),
        };
        if is_new && self.lead() != lead.as_ref() {
            fx.tell_observers(lead.as_ref());
        }
        if is_new {
            self.lead = Some((since, lead));
        }
    }

    /// A view begins in which this is known of who leads.
    fn begin_lead<E: Effects<InViews<Table<P>>>>(
        &mut self,
        lead: Option<Lead>,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        if self.lead() != lead.as_ref() {
            fx.tell_observers(lead.as_ref());
        }
        self.lead = lead.map(|lead| (lead.token, Some(lead)));
        // It may have given up while it could not tell.
        let me = fx.effects.me();
        if let Some(Lead { token, .. }) = self.lead().filter(|it| it.member == me).cloned()
            && self.holders.iter().all(|it| it.token != token)
        {
            self.leads(token, None, fx);
        }
    }

    pub(in crate::group::named) fn shown(&self) -> NodeState {
        let queue = self.queue.iter().map(|it| (it.client, it.is_shared));
        let holders = self.holders.iter().map(|it| {
            StateValue::Tuple(alloc::vec![
                it.client.into(),
                it.is_shared.into(),
                StateValue::shown(&it.token),
            ])
        });
        let values = self.queue.iter().filter_map(|it| Some(StateValue::shown(it.value.as_ref()?)));
        let lead = self
            .lead
            .as_ref()
            .map(|(since, lead)| (StateValue::shown(since), lead.as_ref().map(Lead::shown)));
        self.instance
            .shown()
            .with("clients inside", StateValue::list(holders))
            .with("clients waiting", StateValue::list(queue))
            .with("values", StateValue::list(values))
            .with("served", self.served)
            .with("spent", self.is_spent)
            .with("lead", lead)
    }
}
