//! Views, and messages in one order within each: the machine in the middle of the stack, between a
//! failure detector below (which feeds it) and an application above (which blocks when it is told).
//!
//! Its purpose and its proof are in [the whole](crate::group::virtual_synchrony). Here is the state
//! of a member in a view, and how it handles messages; `change.rs` has the view change.

mod change;
mod forgetful;
mod left_out;
pub mod recovery;
mod requested_changes;
mod shown;
mod trust;
mod voting;

use alloc::vec::Vec;

use serde::{Deserializer, Serializer};
use vorrang_protocol::{
    DynEffects, Effects, Group, GroupHealth, GroupView, Never, NodeId, NodeSet, NodeState,
    Protocol, Refused, SortedMap, SortedSet,
};

use self::voting::Voting;
pub use crate::group::asks::{Ask, Told};
use crate::group::claims::Claims;
use crate::group::decision::Decision;
use crate::group::founding::Founding;
use crate::group::input::Input;
use crate::group::log::Log;
use crate::group::message::{Entry, Install, Message, Progress, Report, Status};
use crate::group::shown::Shown;
use crate::group::view::{Member, View};
use crate::group::{ALREADY_IN, NOT_IN};

/// One node. `D` decides what comes next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Views<B: Shown, I: Shown, D: Decision<Install<B, I>>> {
    pub(super) me: NodeId,
    pub(super) universe: Group,
    /// Whether there is no stable storage: then a crash takes all along but the number of the life.
    pub(super) forgets: bool,
    /// Whether there is state to transfer. Then the group does not go on without all members that
    /// might have it.
    pub(super) has_state: bool,
    /// The group that this node is to found, if there is none.
    pub(super) founding: Option<Founding>,
    /// On stable storage: in which life it is. It ends with a crash, and when the node belongs to
    /// the group no more.
    pub(super) incarnation: u64,
    /// On stable storage: whether its application wants to belong to the group.
    pub(super) wants: bool,
    /// On stable storage: the newest view that it knows, whether it belongs to it or not.
    pub(super) last: Install<B, I>,
    /// Its state in that view, if it is a member.
    pub(super) inside: Option<Inside<B, I>>,
    /// The states that other nodes have reported.
    pub(super) peers: SortedMap<NodeId, Peer>,
    /// The suspected nodes.
    pub(super) suspects: NodeSet,
    /// What others say of whom they cannot hear.
    pub(super) claims: Claims,
    /// Whether it votes, and what is to change.
    pub(super) voting: Voting,
    /// Multicasts for the next view.
    pub(super) queue: Vec<B>,
    /// Messages of views that it does not know yet.
    pub(super) early: Early<B, I, D>,
    pub(super) decision: D,
}

/// Messages, and who has sent them.
type Early<B, I, D> = SortedSet<(NodeId, Message<B, I, <D as Protocol>::Message>)>;

/// The state of a member in its view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Inside<B, I> {
    pub(super) log: Log<B>,
    pub(super) phase: Phase,
    /// The coordinators that get its report, once it has stopped.
    pub(super) asked_by: NodeSet,
    /// The members that it has asked to stop.
    pub(super) asked: NodeSet,
    /// The reports of members that have stopped, itself included.
    pub(super) reports: SortedMap<NodeId, Report<B, I>>,
    /// Whether it has proposed what comes next.
    pub(super) has_proposed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Messages are sent and delivered.
    Running,
    /// The application was told to stop.
    Blocking,
    /// It has: nothing more is sent or delivered in this view.
    Frozen,
}

/// The reported state of another node: a later one is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Peer {
    pub(super) incarnation: u64,
    pub(super) wants_out: bool,
}

impl<B: Shown, I: Shown> Inside<B, I> {
    pub(super) const fn new() -> Self {
        Self {
            log: Log::new(),
            phase: Phase::Running,
            asked_by: NodeSet::EMPTY,
            asked: NodeSet::EMPTY,
            reports: SortedMap::new(),
            has_proposed: false,
        }
    }
}

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// A node of a group that these nodes have founded, among all nodes that there may ever be.
    ///
    /// # Panics
    ///
    /// If there is no founder, or a founder is not in the universe.
    pub fn new(me: NodeId, universe: Group, founders: &[NodeId]) -> Self {
        assert!(!founders.is_empty(), "a group is founded by at least one node");
        assert!(founders.iter().all(|&id| universe.contains(id)), "founders are nodes");
        Self {
            me,
            universe,
            forgets: false,
            has_state: true,
            founding: None,
            incarnation: 0,
            wants: founders.contains(&me),
            last: Install::first(View::first(founders.iter().copied())),
            inside: None,
            peers: SortedMap::new(),
            suspects: NodeSet::EMPTY,
            claims: Claims::default(),
            voting: Voting::default(),
            queue: Vec::new(),
            early: SortedSet::new(),
            decision: D::new(me),
        }
    }

    /// The same for an application that hands over nothing without which others could not begin.
    #[must_use]
    pub fn without_state(self) -> Self {
        Self { has_state: false, ..self }
    }

    /// The newest view that it knows.
    pub const fn view(&self) -> &View {
        &self.last.view
    }

    /// The members of the view before that view that may not know that theirs has ended.
    pub(super) fn gone(&self) -> &[NodeId] {
        &self.last.gone
    }

    /// Whether it belongs to that view.
    pub const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    pub(super) const fn itself(&self) -> Member {
        Member { node: self.me, incarnation: self.incarnation }
    }

    /// All members of the view but itself.
    pub(super) fn others(&self) -> Vec<NodeId> {
        self.last.view.nodes().filter(|&node| node != self.me).collect()
    }

    fn join(&mut self, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        // A member that is still in the view has asked to leave, which cannot be taken back.
        if self.wants || self.inside.is_some() {
            return Err(ALREADY_IN);
        }
        self.wants = true;
        // That it wanted out, in this life, may have been heard.
        self.incarnation += 1;
        self.announce(fx);
        self.found(fx);
        Ok(())
    }

    fn leave(&mut self, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        if !self.wants {
            return Err(NOT_IN);
        }
        self.wants = false;
        self.queue.clear();
        if self.inside.is_some() {
            fx.broadcast(self.others(), Message::Status(self.status()));
            self.consider(false, fx);
        } else {
            // Nodes that have received its request to join must not admit it any more.
            self.incarnation += 1;
            fx.notify(Told::Out { is_asked_for: false });
            self.announce(fx);
        }
        Ok(())
    }

    pub(super) fn multicast(&mut self, payload: B, fx: &mut impl Effects<Self>) {
        let sequencer = self.last.view.sequencer();
        let view = self.last.view.id;
        let Some(inside) = self.inside.as_mut().filter(|it| it.phase == Phase::Running) else {
            return self.queue.push(payload);
        };
        let entry = inside.log.send(self.me, payload);
        match sequencer {
            Some(other) if other != self.me => {
                let Entry { number, payload, .. } = entry;
                fx.send(other, Message::Data { view, number, payload });
            }
            _ => self.place(entry, fx),
        }
    }

    /// As sequencer: gives a message its place, and tells everyone.
    fn place(&mut self, entry: Entry<B>, fx: &mut impl Effects<Self>) {
        let (view, others) = (self.last.view.id, self.others());
        let Some(inside) = &mut self.inside else { return };
        for (place, entry) in inside.log.place(entry) {
            let message = Message::Ordered { view, place, entry: entry.clone() };
            fx.broadcast(others.iter().copied(), message);
            for entry in inside.log.take(place, entry) {
                fx.notify(Told::Deliver(entry));
            }
        }
    }

    /// A message of the view that this node is in, while it lasts.
    pub(super) fn on_ordered(&mut self, place: u32, entry: Entry<B>, fx: &mut impl Effects<Self>) {
        let Some(inside) = &mut self.inside else { return };
        if inside.phase == Phase::Running {
            for entry in inside.log.take(place, entry) {
                fx.notify(Told::Deliver(entry));
            }
        }
    }

    pub(super) fn on_data(
        &mut self,
        from: NodeId,
        number: u32,
        payload: B,
        fx: &mut impl Effects<Self>,
    ) {
        let is_mine = self.last.view.sequencer() == Some(self.me);
        let is_running = self.inside.as_ref().is_some_and(|it| it.phase == Phase::Running);
        if is_mine && is_running {
            self.place(Entry { from, number, payload }, fx);
        }
    }

    fn on_status(&mut self, from: NodeId, status: Status, fx: &mut impl Effects<Self>) {
        let is_telling = self.on_claims(from, &status.misses, fx);
        self.voting.hear(from, &status);
        self.on_standing(from, status, is_telling, fx);
    }

    /// How another stands, apart from whom it misses: that is heard once, though this may be looked
    /// at again when a view has begun.
    pub(super) fn on_standing(
        &mut self,
        from: NodeId,
        status: Status,
        is_telling: bool,
        fx: &mut impl Effects<Self>,
    ) {
        if status.view > self.last.view.id {
            // A life that ended with a view that is not known here says nothing of those that are.
            let is_other = |it: &(NodeId, _)| it.0 != from || !matches!(it.1, Message::Status(_));
            self.early.retain(is_other);
            self.early.insert((from, Message::Status(status)));
            return;
        }
        let news = Peer { incarnation: status.incarnation, wants_out: !status.wants };
        // A member of a view that is over, and that does not know it, does not ask to join.
        let says_something = status.inside.is_none() || news.wants_out;
        let is_new = says_something
            && match (self.peers.get(&from), self.last.view.incarnation_of(from)) {
                (Some(known), _) => news > *known,
                (None, Some(incarnation)) => news > Peer { incarnation, wants_out: false },
                (None, None) => true,
            };
        if is_new {
            self.peers.insert(from, news);
        }
        let is_asking = self.hear_changes(from, &status);
        if status.view < self.last.view.id {
            if self.helps(from) {
                fx.send(from, Message::NewView(self.last.clone()));
            }
        } else if status.view == self.last.view.id
            && let Some(progress) = status.inside
        {
            self.on_progress(from, progress, fx);
        }
        if is_new {
            self.found(fx);
        }
        if is_new || is_telling || is_asking {
            self.consider(false, fx);
        }
    }

    /// Whether it is up to this node to tell another what it has missed: to the lowest that is
    /// known to be in the view, and that the other can hear. Those who should be may have missed it
    /// as well.
    fn helps(&self, whom: NodeId) -> bool {
        let Some(inside) = &self.inside else { return true };
        let is_in = |node: NodeId| {
            node != whom && inside.log.has_heard(node) && !self.claims.says(whom, node)
        };
        !self.active().take_while(|&node| node < self.me).any(is_in)
    }

    fn on_progress(&mut self, from: NodeId, progress: Progress, fx: &mut impl Effects<Self>) {
        let Progress { upto, is_frozen } = progress;
        let (view, is_sequencer) = (self.last.view.id, self.last.view.sequencer() == Some(self.me));
        let Some(inside) = &mut self.inside else { return };
        if is_frozen {
            return self.consider(true, fx);
        }
        let missed = inside.log.heard(from, upto);
        if is_sequencer && inside.phase == Phase::Running {
            for (place, entry) in missed {
                fx.send(from, Message::Ordered { view, place, entry });
            }
        }
    }

    /// Says how it stands, and says again what may be lost.
    fn beat(&mut self, fx: &mut impl Effects<Self>) {
        self.announce(fx);
        let (view, others) = (self.last.view.id, self.others());
        let sequencer = self.last.view.sequencer();
        if let Some(inside) = &mut self.inside
            && inside.phase == Phase::Running
        {
            inside.log.forget(others.into_iter());
            for Entry { number, payload, .. } in inside.log.beat().iter().cloned() {
                if let Some(other) = sequencer.filter(|&it| it != self.me) {
                    fx.send(other, Message::Data { view, number, payload });
                }
            }
        }
        self.insist(fx);
        self.found_in_time(fx);
    }
}

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Protocol for Views<B, I, D> {
    type Message = Message<B, I, D::Message>;
    type Timer = Never;
    type Command = Input<Ask<B, I>>;
    type Notice = Told<B, I>;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        if self.last.view.has(self.itself()) {
            self.inside = Some(Inside::new());
            let install = self.last.clone();
            fx.notify(Told::Installed { install, went_on: false });
        }
    }

    /// A node that was a member comes back, as a new incarnation.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.announce(fx);
        self.consider(false, fx);
    }

    fn on_command(
        &mut self,
        command: Input<Ask<B, I>>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        match command {
            Input::Ask(Ask::Join) => return self.join(fx),
            Input::Ask(Ask::Leave) => return self.leave(fx),
            Input::Ask(Ask::Multicast(_)) if !self.wants => return Err(NOT_IN),
            Input::Ask(Ask::Multicast(payload)) => self.multicast(payload, fx),
            Input::Ask(Ask::BlockOk(info)) => self.on_block_ok(info, fx),
            Input::Ask(Ask::Renew) => self.renew(fx),
            Input::Ask(Ask::Evict(node)) => return self.evict(node, fx),
            Input::Ask(Ask::AddVoter(node)) => return self.add_voter(node, fx),
            Input::Ask(Ask::RemoveVoter(node)) => return self.remove_voter(node, fx),
            Input::Suspect(node) => {
                if self.suspects.insert(node) {
                    self.on_missing(node);
                    self.claim(node, fx);
                }
                self.consider(false, fx);
            }
            Input::Trust(node) => {
                if self.suspects.remove(node) {
                    self.withdraw(fx);
                }
                self.consider(false, fx);
            }
            Input::Beat => self.beat(fx),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match message {
            Message::Status(status) => self.on_status(from, status, fx),
            Message::Data { view, .. }
            | Message::Ordered { view, .. }
            | Message::Flush { view }
            | Message::FlushOk { view, .. } => self.on_view_message(from, view, message, fx),
            Message::NewView(install) => {
                if self.believes(from, &install) {
                    self.install(install, fx);
                }
            }
            Message::Decision(message) => self.on_decision(from, message, fx),
        }
    }

    fn state(&self) -> NodeState {
        self.shown()
    }

    fn group_view(&self) -> Option<GroupView> {
        Some(self.newest_view())
    }

    fn group_health(&self) -> Option<GroupHealth> {
        Some(self.health())
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(self.without_storage().in_life(life))
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stored(serializer)
    }

    fn restore<'de, R: Deserializer<'de>>(self, stored: R) -> Result<Self, R::Error> {
        self.with_stored(stored)
    }

    fn after_crash(&self, fresh: Self) -> Self {
        if self.forgets {
            return self.remains(fresh);
        }
        Self {
            incarnation: self.incarnation + 1,
            wants: self.wants,
            last: self.last.clone(),
            voting: fresh.voting.in_directory(self.voting.since),
            decision: self.decision.after_crash(fresh.decision),
            ..fresh
        }
    }
}
