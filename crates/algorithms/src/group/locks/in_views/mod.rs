//! A member of a group around what runs inside its views: what all names of locks have in common.
//! It has the view layer, the lease, and messages that come before their view; what is inside has
//! the rest.

pub(super) mod effects;
pub mod lease;
mod report;

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use serde::{Deserializer, Serializer};
use vorrang_protocol::{
    Data, DynEffects, Effects, GroupHealth, GroupView, Never, NodeId, NodeState, Protocol, Refused,
};

use self::effects::{InnerEffects, OfView, ViewLayerEffects};
use self::lease::{Lease, LeaseState};
pub use self::report::{OfMember, Report};
use super::early::{Early, Said};
use super::message::{Message, Timer, ViewMessage};
use crate::clock::Clock;
use crate::group::input::Input;
use crate::group::message::Install;
use crate::group::synod::Synod;
use crate::group::views::{Ask, Told, Views};

/// The machine below, where this is handed over when a view ends.
pub type ViewLayerOf<R> = Views<Never, R, Synod<Install<Never, R>>>;

/// Why whoever was inside is so no more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ended {
    /// The group has gone on without this member.
    Out,
    /// The same, and somebody has asked it to.
    Removed,
    /// It could not prove that it belongs to the view for as long as a lease lasts.
    LeaseOver,
}

/// What runs inside views.
pub trait Inner: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The commands of its applications.
    type Command: Data;
    /// The notices to them.
    type Notice: Data;
    /// The messages within a view.
    type Message: vorrang_protocol::Message;
    /// The timers within a view.
    type Timer: Data + Copy;
    /// What it hands over when a view ends.
    type Report: Report;

    /// An application asks for something.
    ///
    /// # Errors
    ///
    /// As [`Protocol::on_command`].
    fn on_command<E: Effects<InViews<Self>>>(
        &mut self,
        command: Self::Command,
        effects: &mut InnerEffects<'_, Self, E>,
    ) -> Result<(), Refused>;

    /// What a command asks of the views instead of what is inside.
    fn to_views(_command: &Self::Command) -> Option<Ask<Never, Self::Report>> {
        None
    }

    /// The view ends: nobody enters until the next one begins.
    fn stop(&mut self, member: OfMember) -> Self::Report;

    /// A view begins.
    fn begin<E: Effects<InViews<Self>>>(
        &mut self,
        install: &Install<Never, Self::Report>,
        effects: &mut InnerEffects<'_, Self, E>,
    );

    /// Something of the view, by one of its members.
    fn on_word<E: Effects<InViews<Self>>>(
        &mut self,
        from: NodeId,
        word: ViewMessage<Self::Message>,
        effects: &mut InnerEffects<'_, Self, E>,
    );

    /// A timer of the view.
    fn on_timer<E: Effects<InViews<Self>>>(
        &mut self,
        timer: Self::Timer,
        effects: &mut InnerEffects<'_, Self, E>,
    );

    /// Who was let in, and waited for a lease or for others to be gone, may enter now.
    fn enter<E: Effects<InViews<Self>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>);

    /// Whoever is inside is so no more.
    fn lose<E: Effects<InViews<Self>>>(
        &mut self,
        why: Ended,
        effects: &mut InnerEffects<'_, Self, E>,
    );

    /// Those inside will lose it soon if the lease is not renewed (or not so, any more).
    fn risk<E: Effects<InViews<Self>>>(
        &mut self,
        _is_so: bool,
        _hands: &mut InnerEffects<'_, Self, E>,
    ) {
    }

    /// What was said may be lost.
    fn beat<E: Effects<InViews<Self>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>);

    /// Whether somebody is inside, or is let in and must prove that this member belongs to the
    /// view.
    fn needs_lease(&self) -> bool;

    /// How applications are told of a view of so many members.
    fn of_view(number: u64, members: u32) -> Self::Notice;

    /// How applications are told that the group was asked to go on without this member, and has,
    /// with this view; if they are.
    fn of_removal(_view: u64) -> Option<Self::Notice> {
        None
    }

    /// Its state, as it is shown.
    fn state(&self) -> NodeState;
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InViews<A: Inner> {
    pub(super) me: NodeId,
    pub(super) views: ViewLayerOf<A::Report>,
    pub(super) lease: Option<Lease>,
    /// Whether its application is told of views.
    pub(super) tells_views: bool,
    pub(super) tenure: LeaseState,
    /// Counts entries.
    pub(in crate::group) clock: Clock,
    /// The view, if there is one and it has not been told to end.
    pub(in crate::group) current: Option<Current>,
    pub(in crate::group) inner: A,
    /// What was said in views that it does not know yet.
    pub(super) early: Early<A::Message>,
}

/// By how much the clock of another member of the view may be ahead of that of this one, which has
/// not heard of so many entries. All begin a view at the same count.
const LEAP: u64 = 1 << 40;
/// The largest count that a view begins with. More entries nobody can have counted, and as many
/// again can be.
const LATEST: u64 = 1 << 55;

/// A view that lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::group) struct Current {
    pub(in crate::group) view: u64,
    /// Whether an evicted member may not know it yet: then no member enters.
    pub(in crate::group) is_early: bool,
}

impl<A: Inner> InViews<A> {
    /// Around this, over that.
    pub(in crate::group) fn over(me: NodeId, views: ViewLayerOf<A::Report>, inner: A) -> Self {
        Self {
            me,
            views: views.without_state(),
            lease: None,
            tells_views: false,
            tenure: LeaseState::default(),
            clock: Clock::default(),
            current: None,
            inner,
            early: Early::new(),
        }
    }

    /// The same with leases.
    #[must_use]
    pub fn with_lease(self, lease: Option<Lease>) -> Self {
        Self { lease, ..self }
    }

    /// The same, and applications are told of views.
    #[must_use]
    pub fn telling_views(self) -> Self {
        Self { tells_views: true, ..self }
    }

    /// What runs inside.
    pub const fn inner(&self) -> &A {
        &self.inner
    }

    /// The number of the newest view that it knows.
    pub(in crate::group) const fn view(&self) -> u64 {
        self.views.view().id
    }

    /// Whether this is the view that it is in, and that has not been told to end.
    fn is_current(&self, view: u64) -> bool {
        self.current.is_some_and(|it| it.view == view)
    }

    /// Lets what is inside act, and does for the member what comes of it.
    pub(super) fn within<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut A, &mut InnerEffects<'_, A, E>) -> T,
    ) -> T {
        let has_lease = self.lease.is_none() || self.tenure.is_safe();
        let mut effects = InnerEffects::new(fx, self.me, &mut self.clock, self.current, has_lease);
        let done = act(&mut self.inner, &mut effects);
        let InnerEffects { wants_lease, wants_of_view, .. } = effects;
        if wants_lease {
            self.keep_lease(fx);
        }
        match wants_of_view {
            None => {}
            Some(OfView::Renewal) => self.ask_below(Ask::Renew, fx),
            Some(OfView::Exit) => self.ask_below(Ask::Leave, fx),
        }
        done
    }

    /// Ends the view, for another of the same members or for one without this one.
    fn ask_below(&mut self, ask: Ask<Never, A::Report>, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, beneath| {
            // Who does not belong to the group has left it.
            let _ = views.on_command(Input::Ask(ask), beneath);
        });
    }

    /// Lets the machine below act, and does what it says until it has nothing more to say.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut ViewLayerOf<A::Report>, &mut ViewLayerEffects<'_, A, E>) -> T,
    ) -> T {
        let mut told = Vec::new();
        let done = act(&mut self.views, &mut ViewLayerEffects { fx, told: &mut told });
        while !told.is_empty() {
            for it in core::mem::take(&mut told) {
                match it {
                    Told::Block => {
                        // From here on this node does not enter: notices of the algorithm come too
                        // late.
                        let ok = Input::Ask(Ask::BlockOk(self.stop()));
                        let beneath = &mut ViewLayerEffects { fx, told: &mut told };
                        self.views.on_command(ok, beneath).expect("it was told to block");
                    }
                    Told::Deliver(entry) => match entry.payload {},
                    Told::Installed { install, .. } => self.begin(&install, fx),
                    Told::Out { is_asked_for } => self.be_out(is_asked_for, fx),
                }
            }
        }
        done
    }

    /// This member is out of the group.
    fn be_out(&mut self, is_asked_for: bool, fx: &mut impl Effects<Self>) {
        self.stop();
        let why = if is_asked_for { Ended::Removed } else { Ended::Out };
        if is_asked_for
            && self.tells_views
            && let Some(notice) = A::of_removal(self.view())
        {
            fx.notify(notice);
        }
        self.within(fx, |inner, effects| inner.lose(why, effects));
    }

    fn stop(&mut self) -> A::Report {
        let is_early = self.current.take().is_some_and(|it| it.is_early);
        self.inner.stop(OfMember { is_early, clock: self.clock.now() })
    }

    fn begin<E: Effects<Self>>(&mut self, install: &Install<Never, A::Report>, fx: &mut E) {
        let view = install.view.id;
        for clock in install.infos.iter().map(|it| it.info.clock()).filter(|it| *it <= LATEST) {
            self.clock.witness(clock);
        }
        let (early, is_all) = self.early.take(&install.view);
        for said in &early {
            self.witness(said.clock);
        }
        let was_early = install.infos.iter().any(|it| it.info.is_early());
        let is_early = self.lease.is_some() && (was_early || !install.gone.is_empty());
        self.current = Some(Current { view, is_early });
        if self.tells_views {
            fx.notify(A::of_view(view, install.view.members.len() as u32));
        }
        self.wait_for_the_left_behind(fx);
        self.within(fx, |inner, effects| inner.begin(install, effects));
        if !is_all {
            return self.ask_below(Ask::Renew, fx);
        }
        for said in early {
            self.on_word(said, fx);
        }
    }

    /// Something of the view that this node is in, by one of its members.
    fn on_word(&mut self, said: Said<A::Message>, fx: &mut impl Effects<Self>) {
        let Said { from, clock, word } = said;
        if self.current.is_some() && self.witness(clock) {
            self.within(fx, |inner, effects| inner.on_word(from, word, effects));
        }
    }

    /// The clock of a member of the view, if it can be.
    fn witness(&mut self, clock: u64) -> bool {
        let is_plausible = clock.saturating_sub(self.clock.now()) <= LEAP;
        if is_plausible {
            self.clock.witness(clock);
        }
        is_plausible
    }

    /// Lets in who may enter by now.
    pub(in crate::group) fn enter(&mut self, fx: &mut impl Effects<Self>) {
        if self.current.is_some() {
            self.within(fx, Inner::enter);
        }
    }

    /// The member as it is shown, under what is inside.
    pub(super) fn shown(&self) -> NodeState {
        let state = NodeState::new().with("entries", self.clock.now());
        let state = match self.current {
            None => state,
            Some(Current { view, is_early }) => {
                state.with("in view", view).with("must wait", is_early)
            }
        };
        let state = match &self.lease {
            None => state,
            Some(_) => state.with("lease", self.tenure.state()),
        };
        state.with("early locks", self.early.shown())
    }
}

impl<A: Inner> Protocol for InViews<A> {
    type Message = Message<<ViewLayerOf<A::Report> as Protocol>::Message, A::Message>;
    type Timer = Timer<A::Timer>;
    type Command = Input<A::Command>;
    type Notice = A::Notice;

    /// A node that has not founded the group joins.
    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, beneath| {
            views.on_start(beneath);
            if !views.is_inside() {
                let joined = views.on_command(Input::Ask(Ask::Join), beneath);
                joined.expect("a node that is not in may join");
            }
        });
    }

    fn on_command(
        &mut self,
        command: Input<A::Command>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        let below = match command {
            Input::Ask(command) => match A::to_views(&command) {
                Some(ask) => Input::Ask(ask),
                None => {
                    return self.within(fx, |inner, effects| inner.on_command(command, effects));
                }
            },
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::Beat => {
                if self.current.is_some() {
                    self.within(fx, Inner::beat);
                }
                self.keep_lease(fx);
                Input::Beat
            }
        };
        self.below(fx, |views, beneath| views.on_command(below, beneath))
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match message {
            Message::Views(message) => {
                self.below(fx, |views, beneath| views.on_message(from, message, beneath));
            }
            Message::Within { view, word: ViewMessage::AreYouThere(round), .. } => {
                self.vouch(from, view, round, fx);
            }
            Message::Within { view, word: ViewMessage::IAmThere(round), .. } => {
                if self.is_current(view) {
                    self.on_there(from, round, fx);
                }
            }
            Message::Within { view, clock, word } => {
                let said = Said { from, clock, word };
                if view > self.view() {
                    self.early.keep(view, said, self.views.room_for(from));
                } else if self.is_current(view) && self.views.view().incarnation_of(from).is_some()
                {
                    self.on_word(said, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match timer {
            Timer::Lock(view, timer) if self.is_current(view) => {
                self.within(fx, |inner, effects| inner.on_timer(timer, effects));
            }
            Timer::Over(view) if self.is_current(view) => {
                if let Some(current) = &mut self.current {
                    current.is_early = false;
                }
                self.enter(fx);
            }
            Timer::Lease(round) => self.on_lease_over(round, fx),
            Timer::Risk(round) => self.on_risk(round, fx),
            Timer::Lock(..) | Timer::Over(_) => {}
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, beneath| {
            views.on_restart(beneath);
            // One that had left for good, and was started again; others want to be in already.
            let _ = views.on_command(Input::Ask(Ask::Join), beneath);
        });
    }

    fn on_leave(&mut self, fx: &mut impl Effects<Self>) -> bool {
        let fx = &mut DynEffects(fx);
        self.ask_below(Ask::Leave, fx);
        // A view has one member at least, so the last one goes without another.
        self.views.is_inside() && self.views.view().members.len() > 1
    }

    /// What is inside (which numbers nodes as `members` does, from 0), the lease, and the views
    /// below.
    fn state(&self) -> NodeState {
        let state = self.inner.state().beneath("member", self.shown());
        state.beneath("group", self.views.state())
    }

    fn group_view(&self) -> Option<GroupView> {
        self.views.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.views.group_health()
    }

    fn lease(&self) -> Option<Self::Timer> {
        self.lease.and(self.tenure.timer())
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.views.store(serializer)
    }

    /// A process that is started again wants to be a member, even if the one before had left.
    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(Self { views: self.views.restore(stored)?.joining(), ..self })
    }

    /// The application has crashed as well; views have larger numbers than before.
    fn after_crash(&self, fresh: Self) -> Self {
        Self { views: self.views.after_crash(fresh.views), ..fresh }
    }
}
