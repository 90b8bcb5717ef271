//! Locks that survive crashes: any algorithm for mutual exclusion, run inside views.
//!
//! The algorithms of [`mutex`](crate::mutex) are written for a group without crashes. Within a view
//! there are none: all members are up, and a crash appears as the next view, in which the algorithm
//! goes on with new nodes among the remaining members.
//!
//! ```text
//!         view 1 {0, 1, 2}                  : view 2 {0, 1}
//!   0  ──[ waits ]──────────[ blocked ]─────:──[ new node; waits first ]────[ inside (2, 9) ]──►
//!   1  ──[ waits ]──────────[ blocked ]─────:──[ new node; waits second ]──────────────────────►
//!   2  ──[ inside (1, 4) ]──✗               :   what it still writes is refused: (1, 4) < (2, 9)
//! ```
//!
//! **The rules.** Messages of the algorithm carry the number of their view; those of an older view
//! are dropped, those of a newer one kept until it begins. *Freeze*: a member that is told that a
//! view ends stops its algorithm, reports whether it is inside or waits, and enters no more before
//! the next view; to leave is allowed. *Rebuild*: in the next view every member knows the reports
//! of all that go on, and makes a new node of the algorithm, without a message.
//!
//! 1. Waiting members are numbered first, the longest wait lowest, then all others. Where an
//!    algorithm breaks ties by number, the longest wait goes first; where it has a token, the
//!    lowest has it, so that the longest wait ends at once. The time since which a node waits is
//!    that of the clock below: all that algorithms have in common. (Their own stamps are inside
//!    their machines, if they have any, and mean nothing to others.)
//! 2. *Directly*: every member computes by itself the state of the new nodes after those that were
//!    inside, and then those that wait, have asked, and goes on with its own ([`rebuild`]). The
//!    longest wait is inside at once, if no other member is.
//! 3. *In general*, where that cannot be computed because the algorithm depends on time or chance:
//!    those that were inside stay so, and no member asks before they have left; each tells all
//!    (LEFT). Then all that wait ask again.
//!
//! A token needs no care: it belongs to a view, and in the next one there is a new one, once, as
//! there is one next view. What it costs: nothing while views last, and nothing when one begins;
//! but in general N − 1 messages if a member is inside then, and all that wait ask again.
//!
//! **Safe.** *Within a view* the machine's nodes exchange exactly the messages of a run of the
//! algorithm without crashes, from its start or from a state that it could have come to: so at most
//! one is inside (as many as the algorithm admits). *From view to view*: by the freeze, members
//! that go on are inside as they have reported, or have left since; the algorithm knows that they
//! are, or does not start before they have left. *A member that does not go on* may believe that it
//! is inside until it hears of the next view. Hence:
//!
//! **Fencing.** Every message carries a [Lamport clock](crate::clock) that counts entries and
//! nothing else, and an entry's *fencing token* is the view and the clock. Of two entries in one
//! view the second comes after the first has left, and the algorithm can only know that by a chain
//! of messages from that exit: all of them carry the clock of the first entry or more, and the
//! second counts one more. A later view has a larger number. So tokens grow with entries, but for
//! those of members that were evicted and do not know it yet; and a resource that refuses tokens
//! lower than the highest it has seen refuses these. (With several inside at a time, as in
//! k-exclusion, there is no such chain between them: their tokens only tell views apart.) With a
//! [`Lease`], an evicted member loses the lock before others enter, if clock drift is as bounded as
//! assumed.
//!
//! **Live** as views are: a waiting member keeps its waiting time and its turn in every view, and
//! in a view that lasts is served by the algorithm.
//!
//! The chain is there because no entry happens without a message. An algorithm that gives up other
//! nodes by itself, after a time-out, breaks it: in one view an entry after the crash of a holder
//! might have that holder's token. Its time-outs must be longer than it takes until the next view.
//!
//! **Assumes** of links what the algorithm assumes within a view: over links that lose, the nodes
//! that are made should have [channels](crate::layer::Reliable) of their own. An algorithm whose
//! last node [only serves](crate::mutex::card::Terms) must let it compete.

mod asking;
mod begin;
mod effects;
pub mod flaws;
mod forgetful;
mod lease;
pub mod message;
pub mod rebuild;
mod shown;
pub mod spec;
mod values;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;

use serde::{Deserializer, Serializer};
use vorrang_protocol::{
    Effects, Group, GroupHealth, GroupView, Never, NodeId, NodeSet, NodeState, Protocol, Refused,
};

use self::effects::{Among, ViewLayerEffects};
pub use self::forgetful::{with_memory, without_memory};
pub use self::lease::Lease;
use self::lease::LeaseState;
use self::message::{Message, Timer, Word};
pub use self::values::{ApplicationState, NodeFactory};
use super::detecting::Detecting;
use super::input::Input;
use super::message::Install;
use super::synod::Synod;
use super::views::{Ask, Told, Views};
use crate::clock::Clock;
use crate::mutex::{Claim, Command, FencingToken, Notice};
use crate::setup::Setup;

/// The whole stack: a lock that can be used as any other, with its own failure detector.
pub type OnViews<P> = Detecting<Locks<P>>;

/// A node of a group that these nodes have founded, among all nodes of the set-up, which also says
/// at what pace its failure detector works. With a lease, which must be the same for all nodes,
/// applications are inside for no longer than they can prove that they belong to the view.
///
/// # Panics
///
/// As [`Views::new`].
pub fn on_views<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    founders: &[NodeId],
    anew: NodeFactory<P>,
    lease: Option<Lease>,
) -> OnViews<P> {
    let locks = Locks::new(me, setup.group, founders, anew);
    Detecting::new(me, setup, Locks { lease, tells_views: true, ..locks })
}

/// The machine below.
pub type ViewLayer = Views<Never, ApplicationState, Synod<Install<Never, ApplicationState>>>;

/// Its messages.
type Letter<P> = Message<<ViewLayer as Protocol>::Message, <P as Protocol>::Message>;

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Locks<P: Protocol> {
    me: NodeId,
    anew: NodeFactory<P>,
    views: ViewLayer,
    lease: Option<Lease>,
    /// Whether its application is told of views.
    tells_views: bool,
    tenure: LeaseState,
    application: Application,
    /// Counts entries.
    clock: Clock,
    /// The algorithm, while there is a view and it has not been told to end.
    work: Option<Work<P>>,
    /// Messages of views that it does not know yet, by view, in the order of arrival.
    early: BTreeMap<u64, Vec<Heard<P>>>,
}

/// A message and its sender.
type Heard<P> = (NodeId, Word<<P as Protocol>::Message>);

/// The state of the application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Application {
    Outside,
    Waits {
        claim: Claim,
        since: u64,
    },
    Inside(Claim),
    /// It was told that it is inside no more, and has not said that it has left.
    Evicted,
}

/// The algorithm in a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Work<P> {
    view: u64,
    /// The members, as the algorithm numbers them.
    members: Arc<[NodeId]>,
    node: P,
    /// The members that were inside when the view began, and have not reported that they have left.
    inside: NodeSet,
    /// Whether an evicted member may not know it yet: then no member enters.
    is_early: bool,
    /// Whether the algorithm has let the application in, and it waits for a lease.
    is_granted: bool,
}

impl<P> Work<P> {
    fn place(&self, node: NodeId) -> Option<NodeId> {
        let place = self.members.iter().position(|&it| it == node)?;
        Some(NodeId(place as u32))
    }
}

/// An algorithm for mutual exclusion.
pub trait Exclusive: Protocol<Command = Command, Notice = Notice> {}

impl<P: Protocol<Command = Command, Notice = Notice>> Exclusive for P {}

impl<P: Exclusive> Locks<P> {
    /// A node of a group that these nodes have founded, among all nodes that there may ever be.
    ///
    /// # Panics
    ///
    /// As [`Views::new`].
    pub fn new(me: NodeId, universe: Group, founders: &[NodeId], anew: NodeFactory<P>) -> Self {
        Self {
            me,
            anew,
            views: Views::new(me, universe, founders).without_state(),
            lease: None,
            tells_views: false,
            tenure: LeaseState::default(),
            application: Application::Outside,
            clock: Clock::default(),
            work: None,
            early: BTreeMap::new(),
        }
    }

    /// The number of the newest view that it knows.
    const fn view(&self) -> u64 {
        self.views.view().id
    }

    fn standing(&self) -> ApplicationState {
        let (waits_since, is_inside, claim) = match self.application {
            Application::Outside | Application::Evicted => (None, false, Claim::default()),
            Application::Waits { since, claim } => (Some(since), false, claim),
            Application::Inside(claim) => (None, true, claim),
        };
        let is_early = self.work.as_ref().is_some_and(|work| work.is_early);
        ApplicationState { waits_since, is_inside, claim, is_early, clock: self.clock.now() }
    }

    /// Lets the machine below act, and does what it says until it has nothing more to say.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut ViewLayer, &mut ViewLayerEffects<'_, P, E>) -> T,
    ) -> T {
        let mut told = Vec::new();
        let done =
            act(&mut self.views, &mut ViewLayerEffects { fx, told: &mut told, of: PhantomData });
        while !told.is_empty() {
            for it in core::mem::take(&mut told) {
                match it {
                    Told::Block => {
                        // From here on this node does not enter: notices of the algorithm come too
                        // late.
                        let ok = Input::Ask(Ask::BlockOk(self.standing()));
                        self.work = None;
                        let beneath =
                            &mut ViewLayerEffects { fx, told: &mut told, of: PhantomData };
                        self.views.on_command(ok, beneath).expect("it was told to block");
                    }
                    Told::Deliver(entry) => match entry.payload {},
                    Told::Installed { install, .. } => self.begin(&install, fx),
                    Told::Out => self.evict(fx),
                }
            }
        }
        done
    }

    fn evict(&mut self, fx: &mut impl Effects<Self>) {
        self.work = None;
        if matches!(self.application, Application::Inside(_)) {
            self.application = Application::Evicted;
            fx.notify(Notice::Evicted);
        }
    }

    /// Asks for the application, if it waits and no member is inside from the last view.
    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let Application::Waits { claim, .. } = self.application else { return };
        if self.work.as_ref().is_some_and(|work| work.inside.is_empty()) {
            // A node that is outside may ask. One that messages of a broken member have led astray
            // may refuse; the next view makes another.
            self.on_work(fx, |node, among| {
                let _ = node.on_command(Command::Acquire(claim), among);
            });
        }
    }

    /// A member that was inside when the view began has left. If it was this node, it tells the
    /// others.
    fn leaves(&mut self, who: NodeId, fx: &mut impl Effects<Self>) {
        let Some(work) = self.work.as_mut() else { return };
        if !work.inside.remove(who) {
            return;
        }
        let is_free = work.inside.is_empty();
        if who == self.me {
            let (view, clock) = (work.view, self.clock.now());
            let others = work.members.iter().copied().filter(|&it| it != who);
            fx.broadcast(others, Message::Within { view, clock, word: Word::Left });
        }
        if is_free {
            self.ask(fx);
        }
    }

    /// Lets the algorithm act, if it goes on, and the application enter if it says so.
    fn on_work<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut P, &mut Among<'_, E>),
    ) {
        let Some(work) = &mut self.work else { return };
        let (view, clock) = (work.view, self.clock.now());
        let mut among = Among { fx, view, clock, members: &work.members, has_entered: false };
        act(&mut work.node, &mut among);
        if among.has_entered && matches!(self.application, Application::Waits { .. }) {
            work.is_granted = true;
            self.enter(fx);
        }
    }

    /// Lets the application enter, if the algorithm lets it and it has a lease, if it needs one.
    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        let Some(work) = self.work.as_mut().filter(|it| it.is_granted && !it.is_early) else {
            return;
        };
        let Application::Waits { claim, .. } = self.application else { return };
        if self.lease.is_some() && self.tenure.valid.is_none() {
            return self.keep_lease(fx);
        }
        work.is_granted = false;
        let (view, clock) = (work.view, self.clock.tick());
        self.application = Application::Inside(claim);
        fx.notify(Notice::EnteredAs(FencingToken { view, clock }));
    }

    /// The application is inside no more, as far as the algorithm is concerned.
    fn release(&mut self, fx: &mut impl Effects<Self>) {
        let was_before = self.work.as_ref().is_some_and(|it| it.inside.contains(self.me));
        if was_before {
            return self.leaves(self.me, fx);
        }
        // As with asking.
        self.on_work(fx, |node, among| {
            let _ = node.on_command(Command::Release, among);
        });
    }

    /// Something of the view that this node is in.
    fn on_word(&mut self, from: NodeId, said: Word<P::Message>, fx: &mut impl Effects<Self>) {
        let Some(work) = &self.work else { return };
        let Some(place) = work.place(from) else { return };
        match said {
            Word::Lock(message) => {
                self.on_work(fx, |node, among| node.on_message(place, message, among));
            }
            Word::Left => self.leaves(from, fx),
            // These are said by those who are in no view, too.
            Word::AreYouThere(_) | Word::IAmThere(_) => {}
            Word::HaveYouLeft if work.inside.contains(self.me) => {}
            Word::HaveYouLeft => {
                let (view, clock) = (work.view, self.clock.now());
                fx.send(from, Message::Within { view, clock, word: Word::Left });
            }
        }
    }

    /// The message may be lost.
    fn beat(&self, fx: &mut impl Effects<Self>) {
        let Some(work) = &self.work else { return };
        let (view, clock) = (work.view, self.clock.now());
        let others = work.inside.iter().filter(|&it| it != self.me);
        fx.broadcast(others, Message::Within { view, clock, word: Word::HaveYouLeft });
    }
}

impl<P: Exclusive> Protocol for Locks<P> {
    type Message = Letter<P>;
    type Timer = Timer<P::Timer>;
    type Command = Input<Command>;
    type Notice = Notice;

    /// A node that has not founded the group joins.
    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
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
        command: Input<Command>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let below = match command {
            Input::Ask(command) => return self.on_ask(command, fx),
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::Beat => {
                self.beat(fx);
                self.keep_lease(fx);
                Input::Beat
            }
        };
        self.below(fx, |views, beneath| views.on_command(below, beneath))
    }

    fn on_message(&mut self, from: NodeId, message: Letter<P>, fx: &mut impl Effects<Self>) {
        match message {
            Message::Views(message) => {
                self.below(fx, |views, beneath| views.on_message(from, message, beneath));
            }
            Message::Within { view, word: Word::AreYouThere(round), .. } => {
                self.vouch(from, view, round, fx);
            }
            Message::Within { view, word: Word::IAmThere(round), .. } => {
                if self.work.as_ref().is_some_and(|work| work.view == view) {
                    self.on_there(from, round, fx);
                }
            }
            Message::Within { view, clock, word } => {
                let now = self.view();
                if view > now {
                    self.early.entry(view).or_default().push((from, word));
                    // It is in no entry before that view begins.
                    self.clock.witness(clock);
                } else if self.work.as_ref().is_some_and(|work| work.view == view) {
                    self.clock.witness(clock);
                    self.on_word(from, word, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let is_now = |view: u64| self.work.as_ref().is_some_and(|work| work.view == view);
        match timer {
            Timer::Lock(view, timer) if is_now(view) => {
                self.on_work(fx, |node, among| node.on_timer(timer, among));
            }
            Timer::Over(view) if is_now(view) => {
                if let Some(work) = &mut self.work {
                    work.is_early = false;
                }
                self.enter(fx);
            }
            Timer::Lease(round) => self.on_lease_over(round, fx),
            Timer::Lock(..) | Timer::Over(_) => {}
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, beneath| views.on_restart(beneath));
    }

    fn state(&self) -> NodeState {
        self.shown()
    }

    fn group_view(&self) -> Option<GroupView> {
        Some(self.views.group_view())
    }

    fn group_health(&self) -> Option<GroupHealth> {
        Some(self.views.health())
    }

    fn lease(&self) -> Option<Self::Timer> {
        self.lease.and(self.tenure.valid).map(Timer::Lease)
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.views.store(serializer)
    }

    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(Self { views: self.views.restore(stored)?, ..self })
    }

    /// The application has crashed as well; views have larger numbers than before.
    fn after_crash(&self, fresh: Self) -> Self {
        Self { views: self.views.after_crash(fresh.views), ..fresh }
    }
}
