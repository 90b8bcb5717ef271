//! What members say of names, and how a view begins.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use vorrang_protocol::{Delay, Digest, Effects, Never, NodeId};

use super::gathering::{Added, Gathering, Kept, Source};
use super::message::{Letter, Said, Timer};
use super::name::{Key, Kind};
use super::report::{Chunk, Handover, Names, Stand, names};
use super::table::{Place, Table};
use crate::group::locks::in_views::{InViews, OfMember};
use crate::group::locks::message::Word;
use crate::group::locks::{Exclusive, Hands};
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
        hands: &mut Hands<'_, Self, E>,
    ) {
        self.members = install.view.nodes().collect();
        let me = hands.me();
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
            hands.say(of, Word::Lock(Letter::SendNames(source.have)));
        }
        if sources.is_empty() {
            self.begin_names(hands);
        } else {
            self.gathering = Some(Gathering { sources, early: Vec::new() });
        }
    }

    fn add(&mut self, of: NodeId, names: Vec<(Key, Stand)>) {
        for (key, stand) in names {
            let is_fit = (key.kind == Kind::Semaphore) == matches!(stand, Stand::Semaphore(_));
            if is_fit {
                self.pending.entry(key).or_default().push((of, stand));
            }
        }
    }

    /// All reports are known.
    fn begin_names<E: Effects<InViews<Self>>>(&mut self, hands: &mut Hands<'_, Self, E>) {
        // Of these nobody has reported anything.
        for key in self.entries.keys() {
            self.pending.entry(key.clone()).or_default();
        }
        self.begin_more(hands);
    }

    /// Begins some names, and the others later, so that heartbeats are not late.
    pub(super) fn begin_more<E: Effects<InViews<Self>>>(&mut self, hands: &mut Hands<'_, Self, E>) {
        for _ in 0..self.limits.at_once {
            let Some(key) = self.pending.keys().next().cloned() else { return };
            self.act(&key, hands, |_, _| ());
        }
        if !self.pending.is_empty() {
            hands.set_timer(Timer::More, PAUSE);
        }
    }

    pub(super) fn on_letter<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        letter: Letter<P::Message>,
        hands: &mut Hands<'_, Self, E>,
    ) {
        match (letter, &mut self.gathering) {
            (Letter::SendNames(after), _) => self.on_send_names(from, after, hands),
            (Letter::Names(chunk), _) => self.on_names(from, chunk, hands),
            (letter, Some(gathering)) => gathering.early.push((from, letter)),
            (Letter::About { number, key, said }, None) => {
                let known = self.theirs.get(&(from, number));
                match known.cloned().or_else(|| key.clone()) {
                    Some(known) => {
                        self.heard(from, &known, said, hands);
                        if key.is_some() {
                            self.learn(from, number, &known, hands);
                        }
                    }
                    None => self.wonder(from, number, said, hands),
                }
            }
            (Letter::WhatIs(number), None) => {
                if let Some(key) = self.mine.get(number as usize) {
                    hands.say(from, Word::Lock(Letter::Is(number, key.clone())));
                }
            }
            (Letter::Is(number, key), None) => self.learn(from, number, &key, hands),
        }
    }

    /// Another uses a number that is not known.
    fn wonder<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        number: u32,
        said: Said<P::Message>,
        hands: &mut Hands<'_, Self, E>,
    ) {
        if self.unknown.len() >= MOST_UNKNOWN {
            // What is dropped must not be missed: in the next view nothing is under way.
            self.unknown.clear();
            return hands.renew_view();
        }
        self.unknown.push((from, number, said));
        hands.say(from, Word::Lock(Letter::WhatIs(number)));
    }

    /// Another's number is that of this name.
    fn learn<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        number: u32,
        key: &Key,
        hands: &mut Hands<'_, Self, E>,
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
            self.heard(from, key, said, hands);
        }
    }

    /// A member of the view says something of a name.
    fn heard<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        key: &Key,
        said: Said<P::Message>,
        hands: &mut Hands<'_, Self, E>,
    ) {
        let is_of_semaphore = matches!(said, Said::Permit(_));
        if is_of_semaphore != (key.kind == Kind::Semaphore) || !self.members.contains(&from) {
            return;
        }
        self.act(key, hands, |place, fx| match (place, said) {
            (Place::Lock(desk), Said::Lock(word)) => desk.seat.on_word(from, word, fx),
            (Place::Lock(desk), Said::Leads(since, lead)) => desk.on_leads(since, lead, fx),
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
        hands: &mut Hands<'_, Self, E>,
    ) {
        if let Some(chunk) = self.kept.chunk(from, after, self.limits.bytes) {
            hands.say(from, Word::Lock(Letter::Names(chunk)));
        }
    }

    fn on_names<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        chunk: Chunk,
        hands: &mut Hands<'_, Self, E>,
    ) {
        let Some(source) = self.gathering.as_mut().and_then(|it| it.sources.get_mut(&from)) else {
            return;
        };
        let added = source.add(&chunk);
        if added == Added::Nothing {
            return;
        }
        // What comes next; and if nothing does, then that all has come.
        hands.say(from, Word::Lock(Letter::SendNames(source.have)));
        match added {
            Added::Nothing => {}
            Added::Some => self.add(from, chunk.names),
            // A broken member. In the next view it may do better, or not be there.
            Added::Wrong => hands.renew_view(),
            Added::Last => {
                self.add(from, chunk.names);
                self.have_all(from, hands);
            }
        }
    }

    fn have_all<E: Effects<InViews<Self>>>(&mut self, of: NodeId, hands: &mut Hands<'_, Self, E>) {
        let Some(gathering) = &mut self.gathering else { return };
        gathering.sources.remove(&of);
        if !gathering.sources.is_empty() {
            return;
        }
        let early = self.gathering.take().map(|it| it.early).unwrap_or_default();
        self.begin_names(hands);
        for (from, letter) in early {
            self.on_letter(from, letter, hands);
        }
    }

    /// What was said may be lost.
    pub(super) fn say_again<E: Effects<InViews<Self>>>(&mut self, hands: &mut Hands<'_, Self, E>) {
        for (&of, source) in self.gathering.iter().flat_map(|it| &it.sources) {
            hands.say(of, Word::Lock(Letter::SendNames(source.have)));
        }
        for (from, number, _) in &self.unknown {
            hands.say(*from, Word::Lock(Letter::WhatIs(*number)));
        }
        for key in self.waits_for_others.clone() {
            self.act(&key, hands, |place, fx| {
                if let Place::Lock(desk) = place {
                    desk.seat.beat(fx);
                }
            });
        }
    }
}
