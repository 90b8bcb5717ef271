//! What members say of names, and how a view begins.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use vorrang_protocol::{Delay, Digest, Effects, Never, NodeId};

use super::message::{NamedMessage, Said, Timer};
use super::name::{Key, Kind};
use super::report::{Chunk, Handover, NameReport, Names, names};
use super::report_transfer::{Added, Kept, ReportTransfer, Source};
use super::table::{Place, Table};
use crate::group::locks::in_views::{InViews, OfMember};
use crate::group::locks::message::ViewMessage;
use crate::group::locks::{Exclusive, InnerEffects};
use crate::group::message::Install;

/// How many messages are kept whose names are not known.
const MOST_UNKNOWN: usize = 4096;

/// Between one part of a long beginning and the next.
const PAUSE: Delay = Delay::exactly(core::time::Duration::from_millis(1));

impl<P: Exclusive> Table<P> {
    /// The view ends.
    pub(super) fn report(&mut self, OfMember { is_early, clock }: OfMember) -> Handover {
        let report = self.stop_all();
        let names = names(&report, self.limits.bytes);
        self.kept = match names {
            Names::These(_) => Kept::default(),
            Names::Many { .. } => Kept { names: report, ..Kept::default() },
        };
        Handover { is_early, clock, names }
    }

    /// A view begins: with what its members have reported, as soon as all of that is known.
    pub(super) fn begin_view<E: Effects<InViews<Self>>>(
        &mut self,
        install: &Install<Never, Handover>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.members = install.view.nodes().collect();
        let me = effects.me();
        let kept = core::mem::take(&mut self.kept);
        let mut sources = BTreeMap::new();
        for info in &install.infos {
            match &info.info.names {
                Names::These(names) => self.add(info.of, names.clone()),
                Names::Many { .. } if info.of == me => {
                    self.add(me, kept.names.clone());
                    self.kept = kept.for_each(self.members.iter().copied().filter(|&it| it != me));
                }
                Names::Many { count, digest } => {
                    let (have, digest_so_far) = (0, Digest(0));
                    let source = Source { count: *count, digest: *digest, have, digest_so_far };
                    sources.insert(info.of, source);
                }
            }
        }
        for (&of, source) in &sources {
            effects.say(of, ViewMessage::Lock(NamedMessage::SendNames(source.have)));
        }
        if sources.is_empty() {
            self.begin_names(effects);
        } else {
            self.transfer = Some(ReportTransfer { sources, early: Vec::new() });
        }
    }

    fn add(&mut self, of: NodeId, names: Vec<(Key, NameReport)>) {
        for (key, stand) in names {
            let is_fit = (key.kind == Kind::Semaphore) == matches!(stand, NameReport::Semaphore(_));
            if is_fit {
                self.pending.entry(key).or_default().push((of, stand));
            }
        }
    }

    /// All reports are known.
    fn begin_names<E: Effects<InViews<Self>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>) {
        // Of these nobody has reported anything.
        for key in self.entries.keys() {
            self.pending.entry(key.clone()).or_default();
        }
        self.begin_more(effects);
    }

    /// Begins some names, and the others later, so that heartbeats are not late.
    pub(super) fn begin_more<E: Effects<InViews<Self>>>(
        &mut self,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        for _ in 0..self.limits.at_once {
            let Some(key) = self.pending.keys().next().cloned() else { return };
            self.act(&key, effects, |_, _| ());
        }
        if !self.pending.is_empty() {
            effects.set_timer(Timer::More, PAUSE);
        }
    }

    pub(super) fn on_letter<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        letter: NamedMessage<P::Message>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        match (letter, &mut self.transfer) {
            (NamedMessage::SendNames(after), _) => self.on_send_names(from, after, effects),
            (NamedMessage::Names(chunk), _) => self.on_names(from, chunk, effects),
            (letter, Some(transfer)) => transfer.early.push((from, letter)),
            (NamedMessage::About { number, key, said }, None) => {
                let known = self.theirs.get(&(from, number));
                match known.cloned().or_else(|| key.clone()) {
                    Some(known) => {
                        self.heard(from, &known, said, effects);
                        if key.is_some() {
                            self.learn(from, number, &known, effects);
                        }
                    }
                    None => self.wonder(from, number, said, effects),
                }
            }
            (NamedMessage::WhatIs(number), None) => {
                if let Some(key) = self.mine.get(number as usize) {
                    effects.say(from, ViewMessage::Lock(NamedMessage::Is(number, key.clone())));
                }
            }
            (NamedMessage::Is(number, key), None) => self.learn(from, number, &key, effects),
        }
    }

    /// Another uses a number that is not known.
    fn wonder<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        number: u32,
        said: Said<P::Message>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        if self.unknown.len() >= MOST_UNKNOWN {
            // What is dropped must not be missed: in the next view nothing is under way.
            self.unknown.clear();
            return effects.renew_view();
        }
        self.unknown.push((from, number, said));
        effects.say(from, ViewMessage::Lock(NamedMessage::WhatIs(number)));
    }

    /// Another's number is that of this name.
    fn learn<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        number: u32,
        key: &Key,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        if self.theirs.contains_key(&(from, number)) {
            return;
        }
        self.theirs.insert((from, number), key.clone());
        if self.unknown.is_empty() {
            return;
        }
        let all = core::mem::take(&mut self.unknown);
        let (now, later) = all.into_iter().partition(|it| (it.0, it.1) == (from, number));
        self.unknown = later;
        for (_, _, said) in Vec::<(NodeId, u32, Said<P::Message>)>::into_iter(now) {
            self.heard(from, key, said, effects);
        }
    }

    /// A member of the view says something of a name.
    fn heard<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        key: &Key,
        said: Said<P::Message>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let is_of_semaphore = matches!(said, Said::Permit(_));
        if is_of_semaphore != (key.kind == Kind::Semaphore) || !self.members.contains(&from) {
            return;
        }
        self.act(key, effects, |place, fx| match (place, said) {
            (Place::Lock(clients), Said::Lock(word)) => clients.instance.on_word(from, word, fx),
            (Place::Lock(clients), Said::Leads(since, lead)) => clients.on_leads(since, lead, fx),
            (Place::Semaphore(semaphore), Said::Permit(message)) => {
                semaphore.on_message(from, message, fx);
            }
            (Place::Lock(_), Said::Permit(_))
            | (Place::Semaphore(_), Said::Lock(_) | Said::Leads(..)) => {}
        });
    }

    /// Another fetches what this member has reported.
    fn on_send_names<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        after: u32,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        if let Some(chunk) = self.kept.chunk(from, after, self.limits.bytes) {
            effects.say(from, ViewMessage::Lock(NamedMessage::Names(chunk)));
        }
    }

    fn on_names<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        chunk: Chunk,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let Some(source) = self.transfer.as_mut().and_then(|it| it.sources.get_mut(&from)) else {
            return;
        };
        let added = source.add(&chunk);
        if added == Added::Nothing {
            return;
        }
        // What comes next; and if nothing does, then that all has come.
        effects.say(from, ViewMessage::Lock(NamedMessage::SendNames(source.have)));
        match added {
            Added::Nothing => {}
            Added::Some => self.add(from, chunk.names),
            // A broken member. In the next view it may do better, or not be there.
            Added::Wrong => effects.renew_view(),
            Added::Last => {
                self.add(from, chunk.names);
                self.have_all(from, effects);
            }
        }
    }

    fn have_all<E: Effects<InViews<Self>>>(
        &mut self,
        of: NodeId,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let Some(transfer) = &mut self.transfer else { return };
        transfer.sources.remove(&of);
        if !transfer.sources.is_empty() {
            return;
        }
        let early = self.transfer.take().map(|it| it.early).unwrap_or_default();
        self.begin_names(effects);
        for (from, letter) in early {
            self.on_letter(from, letter, effects);
        }
    }

    /// What was said may be lost.
    pub(super) fn say_again<E: Effects<InViews<Self>>>(
        &mut self,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        for (&of, source) in self.transfer.iter().flat_map(|it| &it.sources) {
            effects.say(of, ViewMessage::Lock(NamedMessage::SendNames(source.have)));
        }
        for (from, number, _) in &self.unknown {
            effects.say(*from, ViewMessage::Lock(NamedMessage::WhatIs(*number)));
        }
        for key in self.waits_for_others.clone() {
            self.act(&key, effects, |place, fx| {
                if let Place::Lock(clients) = place {
                    clients.instance.beat(fx);
                }
            });
        }
    }
}
