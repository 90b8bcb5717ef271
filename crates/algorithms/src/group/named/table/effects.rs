//! The effects of what is about one name.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, NodeSet};

use super::Table;
use crate::group::locks::in_views::InViews;
use crate::group::locks::message::ViewMessage;
use crate::group::locks::{Exclusive, InnerEffects, InstanceEffects};
use crate::group::named::command::{Lead, Notice};
use crate::group::named::limits::Batch;
use crate::group::named::message::{NamedMessage, Said, Timer};
use crate::group::named::name::{Key, Kind};
use crate::mutex::FencingToken;

/// What is about one name can do this.
pub(in crate::group::named) struct NameEffects<'x, 'a, P: Exclusive, E> {
    pub(in crate::group::named) effects: &'x mut InnerEffects<'a, Table<P>, E>,
    pub(in crate::group::named) key: &'x Key,
    /// This member's number of the name, if it has begun in this view.
    pub(in crate::group::named) number: Option<u32>,
    /// The members that know the number.
    pub(in crate::group::named) told: &'x mut NodeSet,
    pub(in crate::group::named) members: &'x Arc<[NodeId]>,
    pub(in crate::group::named) batch: Batch,
    /// Whether members can have it together.
    pub(in crate::group::named) shares: bool,
    /// Whether clients are to be told who leads.
    pub(in crate::group::named) is_observed: bool,
    /// The token with which this member has entered, until somebody has it.
    pub(in crate::group::named) entered: Option<FencingToken>,
}

impl<P: Exclusive, E: Effects<InViews<Table<P>>>> NameEffects<'_, '_, P, E> {
    /// Says something of the name, to each of these.
    pub(in crate::group::named) fn say_to_each(
        &mut self,
        to: &mut dyn Iterator<Item = NodeId>,
        said: Said<P::Message>,
    ) {
        let Some(number) = self.number else { return };
        let (told, untold): (Vec<NodeId>, Vec<NodeId>) = to.partition(|&it| self.told.contains(it));
        self.told.extend(untold.iter().copied());
        let letter = |key, said| ViewMessage::Lock(NamedMessage::About { number, key, said });
        if !told.is_empty() {
            self.effects.say_to_each(&mut told.into_iter(), letter(None, said.clone()));
        }
        if !untold.is_empty() {
            let key = Some(self.key.clone());
            self.effects.say_to_each(&mut untold.into_iter(), letter(key, said));
        }
    }

    pub(in crate::group::named) fn say(&mut self, to: NodeId, said: Said<P::Message>) {
        self.say_to_each(&mut core::iter::once(to), said);
    }

    pub(in crate::group::named) fn notify(&mut self, notice: Notice) {
        self.effects.notify(notice);
    }

    /// Tells all other members who leads.
    pub(in crate::group::named) fn tell_leads(&mut self, since: FencingToken, lead: Option<Lead>) {
        let (members, me) = (Arc::clone(self.members), self.effects.me());
        let mut others = members.iter().copied().filter(|&it| it != me);
        self.say_to_each(&mut others, Said::Leads(since, lead));
    }

    /// Tells the clients that observe who leads.
    pub(in crate::group::named) fn tell_observers(&mut self, lead: Option<&Lead>) {
        if self.is_observed && self.key.kind == Kind::Election {
            let (name, lead) = (self.key.name.clone(), lead.cloned());
            self.effects.notify(Notice::Leader { name, lead });
        }
    }
}

impl<P: Exclusive, E: Effects<InViews<Table<P>>>> InstanceEffects<P> for NameEffects<'_, '_, P, E> {
    fn me(&self) -> NodeId {
        self.effects.me()
    }
    fn now(&self) -> u64 {
        self.effects.now()
    }
    /// None before the name has begun.
    fn token(&mut self) -> Option<FencingToken> {
        self.number.and_then(|_| self.effects.token())
    }
    fn say(&mut self, to: NodeId, word: ViewMessage<P::Message>) {
        Self::say(self, to, Said::Lock(word));
    }
    fn say_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, word: ViewMessage<P::Message>) {
        Self::say_to_each(self, to, Said::Lock(word));
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        if let Some(number) = self.number {
            self.effects.set_timer(Timer::Lock(number, timer), delay);
        }
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        if let Some(number) = self.number {
            self.effects.cancel_timer(Timer::Lock(number, timer));
        }
    }
    fn entered(&mut self, token: FencingToken) {
        self.entered = Some(token);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.effects.choose(bound)
    }
}
