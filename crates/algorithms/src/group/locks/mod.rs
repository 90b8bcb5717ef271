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

mod early;
pub mod flaws;
mod forgetful;
pub mod in_views;
pub(in crate::group) mod instance;
pub mod message;
pub mod rebuild;
pub mod spec;
mod values;

use core::num::NonZeroU32;

use vorrang_protocol::{
    Delay, Effects, Group, Never, NodeId, NodeState, Outbox, Protocol, Refused,
};

pub use self::forgetful::{with_memory, without_memory};
pub use self::in_views::effects::{InnerEffects, InstanceEffects};
pub use self::in_views::lease::Lease;
use self::in_views::{Ended, InViews, Inner, OfMember, ViewLayerOf};
use self::instance::{Application, Instance, Stance};
use self::message::ViewMessage;
pub use self::values::{ApplicationState, NodeFactory};
use super::detecting::Detecting;
use super::message::Install;
use super::views::Views;
use crate::mutex::{ALREADY_INSIDE, ALREADY_WAITING, NOT_INSIDE};
use crate::mutex::{Command, FencingToken, Notice};
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
    Detecting::new(me, setup, locks.with_lease(lease).telling_views())
}

/// The machine below.
pub type ViewLayer = ViewLayerOf<ApplicationState>;

/// One node: a member of a group that has one lock.
pub type Locks<P> = InViews<OneLock<P>>;

/// One lock inside views.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OneLock<P> {
    anew: NodeFactory<P>,
    instance: Instance<P>,
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
        let views = Views::new(me, universe, founders);
        Self::over(me, views, OneLock { anew, instance: Instance::new() })
    }
}

impl<P: Exclusive> Inner for OneLock<P> {
    type Command = Command;
    type Notice = Notice;
    type Message = P::Message;
    type Timer = P::Timer;
    type Report = ApplicationState;

    fn on_command<E: Effects<Locks<P>>>(
        &mut self,
        command: Command,
        effects: &mut InnerEffects<'_, Self, E>,
    ) -> Result<(), Refused> {
        match (command, self.instance.application) {
            (Command::Acquire(claim), Application::Outside | Application::Evicted) => {
                // A claim that the algorithm does not grant is refused by any of its nodes.
                let mut any = self.anew.node(NodeId(0), Group::of(1));
                any.on_command(command, &mut Outbox::default())?;
                self.instance.acquire(claim, effects);
            }
            (Command::Release, Application::Inside(_)) => {
                self.instance.leave(Application::Outside, effects);
            }
            (Command::Release, Application::Evicted) => {
                self.instance.application = Application::Outside;
            }
            (Command::Acquire(_), Application::Waits { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Application::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Application::Outside | Application::Waits { .. }) => {
                return Err(NOT_INSIDE);
            }
        }
        Ok(())
    }

    fn stop(&mut self, OfMember { is_early, clock }: OfMember) -> ApplicationState {
        self.instance.stop();
        let Stance { waits_since, is_inside, claim } = self.instance.stance();
        ApplicationState { waits_since, is_inside, claim, is_early, clock }
    }

    fn begin<E: Effects<Locks<P>>>(
        &mut self,
        install: &Install<Never, ApplicationState>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let standing = |node: NodeId| {
            let info = install.infos.iter().find(|it| it.of == node)?;
            let ApplicationState { waits_since, is_inside, claim, .. } = info.info;
            Some(Stance { waits_since, is_inside, claim })
        };
        self.instance.begin(&self.anew, install.view.nodes().collect(), standing, effects);
    }

    fn on_word<E: Effects<Locks<P>>>(
        &mut self,
        from: NodeId,
        word: ViewMessage<P::Message>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.instance.on_word(from, word, effects);
    }

    fn on_timer<E: Effects<Locks<P>>>(
        &mut self,
        timer: P::Timer,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.instance.on_work(effects, |node, among| node.on_timer(timer, among));
    }

    fn enter<E: Effects<Locks<P>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>) {
        self.instance.enter(effects);
    }

    fn lose<E: Effects<Locks<P>>>(&mut self, _: Ended, effects: &mut InnerEffects<'_, Self, E>) {
        if matches!(self.instance.application, Application::Inside(_)) {
            effects.notify(Notice::Evicted);
            self.instance.leave(Application::Evicted, effects);
        }
    }

    fn beat<E: Effects<Locks<P>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>) {
        self.instance.beat(effects);
    }

    fn needs_lease(&self) -> bool {
        self.instance.needs_lease()
    }

    fn of_view(number: u64, members: u32) -> Notice {
        Notice::View { number, members }
    }

    fn state(&self) -> NodeState {
        self.instance.shown()
    }
}

impl<P: Exclusive, E: Effects<Locks<P>>> InstanceEffects<P> for InnerEffects<'_, OneLock<P>, E> {
    fn me(&self) -> NodeId {
        InnerEffects::me(self)
    }
    fn now(&self) -> u64 {
        InnerEffects::now(self)
    }
    fn token(&mut self) -> Option<FencingToken> {
        InnerEffects::token(self)
    }
    fn say(&mut self, to: NodeId, word: ViewMessage<P::Message>) {
        InnerEffects::say(self, to, word);
    }
    fn say_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, word: ViewMessage<P::Message>) {
        InnerEffects::say_to_each(self, to, word);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        InnerEffects::set_timer(self, timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        InnerEffects::cancel_timer(self, timer);
    }
    fn entered(&mut self, token: FencingToken) {
        self.notify(Notice::EnteredAs(token));
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        InnerEffects::choose(self, bound)
    }
}
