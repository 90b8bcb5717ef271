//! Many named locks in one group: locks that are held alone or shared, semaphores and elections,
//! each by its name, for many clients of every member.
//!
//! ```text
//!   clients of 0   a: 1 ──[ inside ]──┐ hand-over: a token of its own, no message
//!                  a: 2 ──( waits )───┴─[ inside ]──┐ the batch is over: the others' turn
//!                  a: 3 ──( waits )─────────────────┼──( waits )───────────────────────────►
//!   member 0       one instance in the algorithm of a ──┴──TOKEN──┐
//!   member 1       one instance in the algorithm of a ────────────▼──[ its clients ]───────────►
//!                  one instance in the algorithm of b, which knows nothing of a
//! ```
//!
//! **What belongs to the member** is there once, whatever the number of names: the
//! [views](super::views), the failure detector, the lease, the clock, and messages that come before
//! their view ([`InViews`]). **What belongs to a name** is an algorithm among the members of the
//! view, made when the name is first asked for, with an *instance* for each member, as in [one
//! lock](super::locks), and a *queue* before it, where the member's clients wait. Nothing is
//! created beforehand. [Semaphores](permit) have a machine of their own.
//!
//! **The rules.**
//!
//! 1. *Numbers.* A member numbers the names that it uses in a view, in the order in which it first
//!    does. To each other member it says the name with the first message, and only the number after
//!    that. What comes with a number that is not known is kept, and the name asked for. Numbers
//!    mean nothing in the next view. Whoever must drop a message ends the view.
//! 2. *Queues.* Clients are served in the order in which they came. The member asks for the claim
//!    of the first one. When it is inside, it lets the first in, and then others, one after the
//!    other or, if they share, together: each with a token of its own, from the same clock. It
//!    leaves when nobody is inside who may be, and after a *batch*: so many clients, or so long. It
//!    hands nothing over when the view has been told to end, or when less than the grace of its
//!    lease is left.
//!    With an algorithm that grants members no shared claim, the claim is exclusive, and the
//!    clients of one member share it.
//! 3. *The end of a view.* Members report the names that their clients have or wait for, and forget
//!    all others. In the next view the algorithms of the names that were reported are rebuilt, by
//!    every member alone, as those of [one lock](super::locks) are. Names that nobody has reported
//!    begin anew when somebody asks for them.
//! 4. *Idle names* are forgotten by rule 3 and in no other way. When so many names have begun in a
//!    view that memory is wasted, and most are idle, a member ends it for one of the same members.
//!    So there is at most one such view for so many new names.
//! 5. *Many reports* do not fit into a decision. Then their number and a digest are decided, and
//!    who needs them fetches them, a chunk at a time, before it begins any name ([`report`]). Names
//!    are begun some at a time, or when something is said of them, so that heartbeats are not late.
//!
//! **Safe**, for every name by itself: *within a view* all messages about it are those of a run of
//! its algorithm among these members. By rule 1 each is heard under the right name, and none is
//! left out but with the view. A member that has not begun a name keeps, or asks again for, what
//! comes; none forgets it before the view ends (rule 3), so no message finds a machine that has
//! forgotten what it did. Hence at most one member is inside, or only such as share. Its queue lets
//! in whoever may be inside together, since an exclusive claim covers all of the member's clients
//! in turn, and a shared one is given to those who share. *From view to view* as with one lock: who
//! is inside is reported, by its own member, for whoever is inside is known where it is. A name
//! that nobody reports nobody has, but perhaps a member that was left behind: what is known of
//! those belongs to the member and not to the name, is handed over even with no name at all, and
//! binds names that begin later: with [leases](super::locks::Lease) no client is let in before
//! theirs are over. *A new process is no proof that an old one has ended*, and clients outlive the
//! daemon that serves them: so a group that is founded anew waits as well.
//!
//! **Tokens** are the view and the clock of the member, as with one lock; one clock counts the
//! entries of all names. Of two entries of one name in one view the second has the larger number:
//! if they are of one member, its clock has counted; if not, the chain of messages of the name's
//! algorithm between them carries the clock. A name that was forgotten begins in a later view. So
//! the token of an exclusive hold is larger than that of every hold of the name before, and the
//! token of a shared one larger than that of every exclusive one before.
//!
//! **Live**: a member that waits is served as its algorithm does, in a view that lasts. Its clients
//! wait in a queue that only the first leave, and every stay lets at least the first in, if there
//! is a lease. Since a batch ends, other members wait for no more than a batch. At the end of a
//! view a member keeps the time since which it waits, and its clients their places.
//!
//! **Assumes** of links what the algorithm does, and that they lose nothing while both ends live,
//! as connections do: over others there must be [channels](crate::layer::Reliable). Whoever loses
//! something all the same says [`Command::Renew`].
//!
//! | | cost |
//! | --- | --- |
//! | hand-over within a batch | none |
//! | hand-over between members, messages in a name | those of the algorithm |
//! | the first message about a name, to each member | its bytes once |
//! | a view change | the names in use: up to so many bytes in the decision, else chunks |
mod command;
pub mod flaws;
mod limits;
pub mod message;
mod name;
mod on_messages;
pub mod permit;
pub mod report;
mod report_transfer;
mod shown;
pub mod spec;
mod table;
#[cfg(test)]
mod tests;

use vorrang_protocol::{Effects, Group, Never, NodeId, NodeState, Outbox, Refused};

pub use self::command::{
    ALREADY_HELD, ALREADY_WANTED, Client, Command, HAS_CLIENTS, IS_LEAVING, Lead, Loss, NO_PERMITS,
    NOT_HELD, NOT_WANTED, Notice, Refusal, Want,
};
pub use self::limits::{Batch, Limits};
use self::message::{NamedMessage, Timer};
pub use self::name::{Key, Kind, LONGEST_NAME, LONGEST_VALUE, Name, UnfitText, Value};
use self::report::Handover;
use self::table::Place;
pub use self::table::Table;
use super::detecting::Detecting;
use super::founding::Founding;
use super::locks::in_views::{Ended, InViews, Inner, OfMember, ViewLayerOf};
use super::locks::message::ViewMessage;
use super::locks::{Exclusive, InnerEffects, Lease, NodeFactory};
use super::message::Install;
use super::views::{Ask, Views};
use crate::mutex::{self, Claim};
use crate::setup::Setup;

/// One node: a member of a group that has named locks.
pub type NamedLocks<P> = InViews<Table<P>>;

/// The machine below.
pub type ViewLayer = ViewLayerOf<Handover>;

/// The whole stack, with its own failure detector.
pub type OnViews<P> = Detecting<NamedLocks<P>>;

impl<P: Exclusive> NamedLocks<P> {
    /// A node of a group that these nodes have founded, among all nodes that there may ever be.
    ///
    /// # Panics
    ///
    /// As [`Views::new`].
    pub fn named(
        me: NodeId,
        universe: Group,
        founders: &[NodeId],
        anew: NodeFactory<P>,
        limits: Limits,
    ) -> Self {
        Self::over(me, Views::new(me, universe, founders), table(anew, limits))
    }
}

fn table<P: Exclusive>(anew: NodeFactory<P>, limits: Limits) -> Table<P> {
    let mut any = anew.node(NodeId(0), Group::of(1));
    let shares = mutex::Command::Acquire(Claim::Shared);
    let shares = any.on_command(shares, &mut Outbox::default()).is_ok();
    Table::new(anew, shares, limits)
}

/// A node without stable storage, in this incarnation, which knows no group yet: it joins when it
/// starts. See [`Views::forgetful`].
pub fn without_memory<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    (incarnation, founding): (u64, Option<Founding>),
    (anew, limits): (NodeFactory<P>, Limits),
    lease: Option<Lease>,
) -> OnViews<P> {
    let views = Views::forgetful(me, setup.group, incarnation, founding);
    let locks = NamedLocks::over(me, views, table(anew, limits));
    Detecting::new(me, setup, locks.with_lease(lease).telling_views())
}

/// The same with stable storage, in a group that these are to found, and have the first votes in:
/// see [`Views::remembering`]. Voters change by [commands](Command::AddVoter).
pub fn with_memory<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    (incarnation, founding): (u64, Founding),
    (anew, limits): (NodeFactory<P>, Limits),
    lease: Option<Lease>,
) -> OnViews<P> {
    let views = Views::remembering(me, setup.group, incarnation, founding);
    let locks = NamedLocks::over(me, views, table(anew, limits));
    Detecting::new(me, setup, locks.with_lease(lease).telling_views())
}

impl<P: Exclusive> Inner for Table<P> {
    type Command = Command;
    type Notice = Notice;
    type Message = NamedMessage<P::Message>;
    type Timer = Timer<P::Timer>;
    type Report = Handover;

    fn on_command<E: Effects<NamedLocks<P>>>(
        &mut self,
        command: Command,
        effects: &mut InnerEffects<'_, Self, E>,
    ) -> Result<(), Refused> {
        self.on_ask(command, effects)
    }

    fn to_views(command: &Command) -> Option<Ask<Never, Handover>> {
        match *command {
            Command::Evict(node) => Some(Ask::Evict(node)),
            Command::AddVoter(node) => Some(Ask::AddVoter(node)),
            Command::RemoveVoter(node) => Some(Ask::RemoveVoter(node)),
            Command::Acquire { .. }
            | Command::Release { .. }
            | Command::Withdraw { .. }
            | Command::Observe(_)
            | Command::Ignore(_)
            | Command::Renew
            | Command::Leave => None,
        }
    }

    fn stop(&mut self, member: OfMember) -> Handover {
        self.report(member)
    }

    fn begin<E: Effects<NamedLocks<P>>>(
        &mut self,
        install: &Install<Never, Handover>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.begin_view(install, effects);
    }

    fn on_word<E: Effects<NamedLocks<P>>>(
        &mut self,
        from: NodeId,
        word: ViewMessage<NamedMessage<P::Message>>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        // Others are about names.
        if let ViewMessage::Lock(letter) = word {
            self.on_letter(from, letter, effects);
        }
    }

    fn on_timer<E: Effects<NamedLocks<P>>>(
        &mut self,
        timer: Timer<P::Timer>,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let number = match timer {
            Timer::More => return self.begin_more(effects),
            Timer::Lock(number, _) | Timer::Turn(number) => number,
        };
        let Some(key) = self.mine.get(number as usize).cloned() else { return };
        self.act(&key, effects, |place, fx| match (place, timer) {
            (Place::Lock(clients), Timer::Lock(_, timer)) => {
                clients.instance.on_work(fx, |node, among| node.on_timer(timer, among));
            }
            (Place::Lock(clients), Timer::Turn(_)) => clients.spend(),
            (Place::Lock(_), Timer::More) | (Place::Semaphore(_), _) => {}
        });
    }

    fn enter<E: Effects<NamedLocks<P>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>) {
        self.enter_all(effects);
    }

    fn lose<E: Effects<NamedLocks<P>>>(
        &mut self,
        why: Ended,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        let why = match why {
            Ended::Out => Loss::Evicted,
            Ended::Removed => Loss::Removed,
            Ended::LeaseOver => Loss::LeaseOver,
        };
        self.lose_all(why, effects);
    }

    fn risk<E: Effects<NamedLocks<P>>>(
        &mut self,
        is_so: bool,
        effects: &mut InnerEffects<'_, Self, E>,
    ) {
        self.warn(is_so, effects);
    }

    fn beat<E: Effects<NamedLocks<P>>>(&mut self, effects: &mut InnerEffects<'_, Self, E>) {
        self.say_again(effects);
    }

    fn needs_lease(&self) -> bool {
        self.held > 0 || !self.granted.is_empty()
    }

    fn of_view(number: u64, members: u32) -> Notice {
        Notice::View { number, members }
    }

    fn of_removal(view: u64) -> Option<Notice> {
        Some(Notice::Removed { view })
    }

    fn state(&self) -> NodeState {
        self.shown()
    }
}
