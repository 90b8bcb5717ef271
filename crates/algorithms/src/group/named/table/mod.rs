//! The names of one member: a machine for each, made when it is first asked for.

mod client_queue;
mod effects;
mod semaphore;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use vorrang_protocol::{Effects, NodeId, NodeSet, Refused};

use self::client_queue::ClientQueue;
use self::effects::NameEffects;
use self::semaphore::Semaphore;
use super::command::{
    Command, HAS_CLIENTS, IS_LEAVING, Lead, Loss, NOT_HELD, NOT_WANTED, Notice, Want,
};
use super::limits::Limits;
use super::message::Said;
use super::name::{Key, Kind, Name};
use super::permit::Standing;
use super::report::NameReport;
use super::report_transfer::{Kept, ReportTransfer};
use crate::group::locks::in_views::InViews;
use crate::group::locks::{Exclusive, InnerEffects, NodeFactory};

/// All names of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Table<P: Exclusive> {
    pub(super) anew: NodeFactory<P>,
    /// Whether the algorithm knows shared claims.
    pub(super) shares: bool,
    pub(super) limits: Limits,
    pub(super) is_leaving: bool,
    /// Whether clients know that they may lose what they have soon.
    pub(super) is_warned: bool,
    /// The members of the view, lowest first.
    pub(super) members: Arc<[NodeId]>,
    pub(super) entries: BTreeMap<Key, Entry<P>>,
    /// The names that clients of this member have or wait for.
    pub(super) busy: BTreeSet<Key>,
    /// The names in which a client was let in and needs a lease.
    pub(super) granted: BTreeSet<Key>,
    /// In how many names a client is inside.
    pub(super) held: usize,
    /// How many names have begun in this view that were idle when it began.
    pub(super) begun: usize,
    /// The names of this view, by the number that this member gives them.
    pub(super) mine: Vec<Key>,
    /// The same, by the numbers of others.
    pub(super) theirs: BTreeMap<(NodeId, u32), Key>,
    /// What others have said by numbers that are not known, in the order of arrival.
    pub(super) unknown: Vec<(NodeId, u32, Said<P::Message>)>,
    /// The elections of which clients are told.
    pub(super) observed: BTreeSet<Name>,
    /// The names that were reported when the last view ended and are to begin in this one.
    pub(super) pending: BTreeMap<Key, Vec<(NodeId, NameReport)>>,
    /// What must be fetched before any name begins.
    pub(super) transfer: Option<ReportTransfer<P::Message>>,
    pub(super) kept: Kept,
    /// The names whose algorithm could not be rebuilt: it waits until others have left.
    pub(super) waits_for_others: BTreeSet<Key>,
}

/// A name at one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Entry<P> {
    /// The number that this member gives it, if it has begun in this view.
    pub(super) number: Option<u32>,
    /// The members that know the number.
    pub(super) told: NodeSet,
    pub(super) place: Place<P>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place<P> {
    Lock(ClientQueue<P>),
    Semaphore(Semaphore),
}

impl<P: Exclusive> Place<P> {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Lock | Kind::Election => Self::Lock(ClientQueue::new()),
            Kind::Semaphore => Self::Semaphore(Semaphore::default()),
        }
    }

    fn is_busy(&self) -> bool {
        match self {
            Self::Lock(clients) => clients.is_busy(),
            Self::Semaphore(semaphore) => semaphore.is_busy(),
        }
    }

    fn has_clients(&self) -> bool {
        match self {
            Self::Lock(clients) => clients.has_clients(),
            Self::Semaphore(semaphore) => semaphore.is_busy(),
        }
    }

    fn is_held(&self) -> bool {
        match self {
            Self::Lock(clients) => clients.is_held(),
            Self::Semaphore(semaphore) => semaphore.is_held(),
        }
    }

    fn is_granted(&self) -> bool {
        match self {
            Self::Lock(clients) => !clients.is_held() && clients.instance.needs_lease(),
            Self::Semaphore(semaphore) => semaphore.is_granted(),
        }
    }

    /// The view ends: how it stands, if it is not idle.
    fn stop(&mut self) -> Option<NameReport> {
        match self {
            Self::Lock(clients) => clients.stop(),
            Self::Semaphore(semaphore) => {
                let standing = semaphore.stop();
                (standing != Standing::default()).then_some(NameReport::Semaphore(standing))
            }
        }
    }

    /// Begins in a view at whose beginning members stood like this, if any is known to.
    fn begin<E: Effects<InViews<Table<P>>>>(
        &mut self,
        anew: &NodeFactory<P>,
        standing: Option<Vec<(NodeId, NameReport)>>,
        fx: &mut NameEffects<'_, '_, P, E>,
    ) {
        match (self, standing) {
            (Self::Lock(clients), None) => clients.instance.begin_idle(anew, fx.members, fx),
            (Self::Lock(clients), Some(standing)) => clients.begin(anew, &standing, fx),
            (Self::Semaphore(semaphore), standing) => {
                let standing: Vec<(NodeId, Standing)> = standing
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|(node, stand)| match stand {
                        NameReport::Semaphore(standing) => Some((node, standing)),
                        NameReport::Lock { .. } => None,
                    })
                    .collect();
                semaphore.begin(&standing, fx);
            }
        }
    }
}

impl<P: Exclusive> Table<P> {
    pub(super) fn new(anew: NodeFactory<P>, shares: bool, limits: Limits) -> Self {
        Self {
            anew,
            shares,
            limits,
            is_leaving: false,
            is_warned: false,
            members: Arc::new([]),
            entries: BTreeMap::new(),
            busy: BTreeSet::new(),
            granted: BTreeSet::new(),
            held: 0,
            begun: 0,
            mine: Vec::new(),
            theirs: BTreeMap::new(),
            unknown: Vec::new(),
            observed: BTreeSet::new(),
            pending: BTreeMap::new(),
            transfer: None,
            kept: Kept::default(),
            waits_for_others: BTreeSet::new(),
        }
    }

    /// A client asks for something of a name. If the name has not begun in this view, that comes
    /// after: or it might begin with a client inside that wants it no more.
    fn ask<E: Effects<InViews<Self>>, T>(
        &mut self,
        key: &Key,
        effects: &mut InnerEffects<'_, Self, E>,
        ask: impl FnOnce(&mut Place<P>, &mut NameEffects<'_, '_, P, E>) -> T,
    ) -> T {
        let done = self.touch(key, false, effects, ask);
        if self.entries.get(key).is_some_and(|it| it.number.is_none()) {
            self.act(key, effects, |_, _| ());
        }
        done
    }

    /// Lets something happen to a name, which begins if it has not in this view.
    pub(super) fn act<E: Effects<InViews<Self>>, T>(
        &mut self,
        key: &Key,
        effects: &mut InnerEffects<'_, Self, E>,
        act: impl FnOnce(&mut Place<P>, &mut NameEffects<'_, '_, P, E>) -> T,
    ) -> T {
        self.touch(key, true, effects, act)
    }

    fn touch<E: Effects<InViews<Self>>, T>(
        &mut self,
        key: &Key,
        may_begin: bool,
        effects: &mut InnerEffects<'_, Self, E>,
        act: impl FnOnce(&mut Place<P>, &mut NameEffects<'_, '_, P, E>) -> T,
    ) -> T {
        let runs = may_begin && effects.is_running() && self.transfer.is_none();
        let place = || Entry { number: None, told: NodeSet::EMPTY, place: Place::new(key.kind) };
        let Entry { number, told, place } = self.entries.entry(key.clone()).or_insert_with(place);
        let begins = runs && number.is_none();
        if begins {
            *number = Some(self.mine.len() as u32);
            self.mine.push(key.clone());
        }
        let was_held = place.is_held();
        let mut fx = NameEffects {
            effects,
            key,
            number: *number,
            told,
            members: &self.members,
            batch: self.limits.batch,
            shares: self.shares,
            is_observed: key.kind == Kind::Election && self.observed.contains(&key.name),
            entered: None,
        };
        if begins {
            let standing = self.pending.remove(key);
            self.begun += usize::from(standing.is_none());
            place.begin(&self.anew, standing, &mut fx);
            place.settle(&mut fx);
        }
        let done = act(place, &mut fx);
        place.settle(&mut fx);
        self.note(key, was_held);
        if begins && self.begun >= self.limits.idle_names && self.is_mostly_idle() {
            effects.renew_view();
        }
        done
    }

    fn is_mostly_idle(&self) -> bool {
        self.pending.is_empty() && 2 * self.busy.len() <= self.entries.len()
    }

    /// What has happened to a name may have made it busy, or idle.
    fn note(&mut self, key: &Key, was_held: bool) {
        let Some(Entry { place, .. }) = self.entries.get(key) else { return };
        let is_held = place.is_held();
        self.held = self.held + usize::from(is_held) - usize::from(was_held);
        mark(&mut self.busy, key, place.is_busy());
        mark(&mut self.granted, key, place.is_granted());
        let waits = matches!(place, Place::Lock(clients) if clients.instance.waits_for_others());
        mark(&mut self.waits_for_others, key, waits);
    }

    /// Forgets what is idle: how all others stand.
    pub(super) fn stop_all(&mut self) -> Vec<(Key, NameReport)> {
        let mut report = Vec::new();
        let mut held = 0;
        self.entries.retain(|key, Entry { number, told, place }| {
            *number = None;
            told.clear();
            report.extend(place.stop().map(|stand| (key.clone(), stand)));
            held += usize::from(place.is_held());
            let is_observed = self.observed.contains(&key.name) && key.kind == Kind::Election;
            place.is_busy() || (is_observed && matches!(place, Place::Lock(it) if it.has_lead()))
        });
        self.held = held;
        self.busy = report.iter().map(|it| it.0.clone()).collect();
        self.granted.clear();
        self.begun = 0;
        self.mine.clear();
        self.theirs.clear();
        self.unknown.clear();
        self.pending.clear();
        self.transfer = None;
        self.waits_for_others.clear();
        report
    }

    pub(super) fn on_ask<E: Effects<InViews<Self>>>(
        &mut self,
        command: Command,
        effects: &mut InnerEffects<'_, Self, E>,
    ) -> Result<(), Refused> {
        match command {
            Command::Acquire { .. } if self.is_leaving => Err(IS_LEAVING),
            Command::Acquire { name, client, want } => {
                let key = Key { kind: want.kind(), name };
                self.ask(&key, effects, |place, fx| match (place, want) {
                    (Place::Lock(clients), Want::Lead(value)) => {
                        clients.acquire((client, false, Some(value)), fx)
                    }
                    (Place::Lock(clients), want) => {
                        clients.acquire((client, want == Want::Shared, None), fx)
                    }
                    (Place::Semaphore(semaphore), Want::PermitOf(permits)) => {
                        semaphore.acquire((client, permits), fx)
                    }
                    (Place::Semaphore(_), _) => unreachable!("the kind of a name is what it is"),
                })
            }
            Command::Release { key, client } => {
                self.known(&key, NOT_HELD)?;
                self.ask(&key, effects, |place, fx| match place {
                    Place::Lock(clients) => clients.release(client, fx),
                    Place::Semaphore(semaphore) => semaphore.release(client, fx),
                })
            }
            Command::Withdraw { key, client } => {
                self.known(&key, NOT_WANTED)?;
                self.ask(&key, effects, |place, fx| match place {
                    Place::Lock(clients) => clients.withdraw(client, fx),
                    Place::Semaphore(semaphore) => semaphore.withdraw(client, fx),
                })
            }
            Command::Observe(name) => {
                self.observe(name, effects);
                Ok(())
            }
            Command::Ignore(name) => {
                self.observed.remove(&name);
                Ok(())
            }
            Command::Renew => {
                effects.renew_view();
                Ok(())
            }
            Command::Leave if self.entries.values().any(|it| it.place.has_clients()) => {
                Err(HAS_CLIENTS)
            }
            Command::Leave => {
                self.is_leaving = true;
                effects.leave_group();
                Ok(())
            }
            Command::Evict(_) | Command::AddVoter(_) | Command::RemoveVoter(_) => {
                unreachable!("these are for the layer below")
            }
        }
    }

    /// A name of which nothing is known here nobody has, or wants.
    fn known(&self, key: &Key, why: Refused) -> Result<(), Refused> {
        if self.busy.contains(key) { Ok(()) } else { Err(why) }
    }

    fn observe<E: Effects<InViews<Self>>>(
        &mut self,
        name: Name,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let key = Key { kind: Kind::Election, name };
        if self.pending.contains_key(&key) {
            self.act(&key, effects, |_, _| ());
        }
        let lead: Option<Lead> = match self.entries.get(&key).map(|it| &it.place) {
            Some(Place::Lock(clients)) => clients.lead().cloned(),
            Some(Place::Semaphore(_)) | None => None,
        };
        self.observed.insert(key.name.clone());
        effects.notify(Notice::Leader { name: key.name, lead });
    }

    /// Warns clients that have something, or takes that back.
    pub(super) fn warn<E: Effects<InViews<Self>>>(
        &mut self,
        is_so: bool,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let is_told = if is_so { self.held > 0 } else { self.is_warned };
        if is_told {
            self.is_warned = is_so;
            effects.notify(if is_so { Notice::AtRisk } else { Notice::Safe });
        }
    }

    /// Whoever is inside is so no more.
    pub(super) fn lose_all<E: Effects<InViews<Self>>>(
        &mut self,
        why: Loss,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.is_warned = false;
        let held: Vec<Key> = self
            .busy
            .iter()
            .filter(|key| self.entries.get(key).is_some_and(|it| it.place.is_held()))
            .cloned()
            .collect();
        for key in held {
            self.act(&key, effects, |place, fx| match place {
                Place::Lock(clients) => clients.lose(why, fx),
                Place::Semaphore(semaphore) => semaphore.lose(why, fx),
            });
        }
    }

    /// Lets those in who were let in and waited for a lease.
    pub(super) fn enter_all<E: Effects<InViews<Self>>>(
        &mut self,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        for key in self.granted.clone() {
            self.act(&key, effects, |place, fx| match place {
                Place::Lock(clients) => clients.instance.enter(fx),
                Place::Semaphore(semaphore) => semaphore.enter(fx),
            });
        }
    }
}

fn mark(set: &mut BTreeSet<Key>, key: &Key, is_in: bool) {
    if !is_in {
        set.remove(key);
    } else if !set.contains(key) {
        set.insert(key.clone());
    }
}

impl<P: Exclusive> Place<P> {
    fn settle<E: Effects<InViews<Table<P>>>>(&mut self, fx: &mut NameEffects<'_, '_, P, E>) {
        if let Self::Lock(clients) = self {
            clients.settle(fx);
        }
    }
}
