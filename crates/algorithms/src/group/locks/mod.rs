//! Locks that survive crashes: any algorithm for mutual exclusion, run inside views.
//!
//! The algorithms of [`mutex`](crate::mutex) are written for a group in which nobody crashes. On
//! views nobody does: within a view all members are there, and a crash appears as the next view,
//! in which the algorithm starts anew among those that are left.
//!
//! ```text
//!         view 1 {0, 1, 2}                  : view 2 {0, 1}
//!   0  ──[ waits ]──────────[ blocked ]─────:──[ starts anew; waits first ]──[ inside (2, 9) ]──►
//!   1  ──[ waits ]──────────[ blocked ]─────:──[ starts anew; waits second ]────────────────────►
//!   2  ──[ inside (1, 4) ]──✗               :   what it still writes is refused: (1, 4) < (2, 9)
//! ```
//!
//! **The rules.** Messages of the algorithm carry the number of their view; those of an older view
//! are dropped, those of a newer one kept until it begins. *Freeze*: whoever is told that a view
//! ends stops its algorithm, tells whether it is inside or waits, and enters no more before the
//! next view; to leave is allowed. *Rebuild*: in the next view everybody knows what all who go on
//! have told, and everybody makes a new node of the algorithm, without a message.
//!
//! 1. Whoever waits is numbered first, the longest wait lowest, then all others. Where an algorithm
//!    breaks ties by number, whoever waits longest goes first; where it has a token, the lowest
//!    has it, so that the longest wait ends at once. The time since which a node waits is that of
//!    the clock below: all that algorithms have in common. (Their own stamps are inside their
//!    machines, if they have any, and mean nothing to others.)
//! 2. Those who were inside stay so, and nobody asks before they have left: each says so to all
//!    (LEFT). Then all who wait ask. So the new nodes of the algorithm, which know of nobody inside,
//!    start when nobody is.
//!
//! A token needs no care: it belongs to a view, and in the next one there is a new one, once, as
//! there is one next view. What it costs: nothing while views last; after one that ends while
//! somebody is inside, N − 1 messages; and all who wait ask again.
//!
//! **Safe.** *Within a view* the machine's nodes exchange exactly the messages of a run of the
//! algorithm without crashes, which starts with nobody inside: so at most one is (as many as the
//! algorithm admits). *From view to view*: by the freeze, those who go on are inside as they have
//! told, or have left since; the algorithm does not start before these have left. *Whoever does not
//! go on* may believe that it is inside until it hears of the next view. Hence:
//!
//! **Fencing.** Every message carries a [Lamport clock](crate::clock) that counts entries and
//! nothing else, and an entry's number is the view and the clock. Of two entries in one view the
//! second comes after the first has left, and the algorithm can only know that by a chain of
//! messages from that exit: all of them carry the clock of the first entry or more, and the second
//! counts one more. A later view has a larger number. So numbers grow with entries, but for those of nodes that were
//! left behind and do not know it yet; and a resource that refuses numbers lower than the highest
//! it has seen refuses these. (With several inside at a time, as
//! in k-exclusion, there is no such chain between them: their numbers only tell views apart.)
//!
//! **Live** as views are: whoever waits keeps its time, asks again in every view, and in a view
//! that lasts is served by the algorithm.
//!
//! **Assumes** of links what the algorithm assumes within a view: over links that lose, the nodes
//! that are made should have [channels](crate::layer::Reliable) of their own. An algorithm whose
//! last node [only serves](crate::mutex::card::Terms) must let it compete.

pub mod flaws;
pub mod message;
pub mod spec;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Group, Never, NodeId, NodeSet, Protocol, Refused, Step, Turn,
};

use self::message::{Message, Timer, Word};
use super::message::Install;
use super::synod::Synod;
use super::views::{Ask, Input, Told, Views};
use crate::clock::Clock;
use crate::mutex::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, NOT_INSIDE};

/// The machine below.
pub type Below = Views<Never, Standing, Synod<Install<Never, Standing>>>;

/// What it says.
type Letter<P> = Message<<Below as Protocol>::Message, <P as Protocol>::Message>;

/// How an application stands when a view ends: what is handed over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// Since when it waits, if it does.
    pub waits_since: Option<u64>,
    /// Whether it is inside.
    pub is_inside: bool,
    /// The node's clock.
    pub clock: u64,
}

/// What an entry shows to the resource: larger is later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Fence {
    /// The view, compared first.
    pub view: u64,
    /// The Lamport clock at the entry.
    pub clock: u64,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.view, self.clock)
    }
}

/// What an application is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// You are inside, until you release or are put out.
    Entered(Fence),
    /// You are inside no more: the others have gone on without you.
    PutOut,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered(fence) => write!(f, "entered {fence}"),
            Self::PutOut => f.write_str("put out"),
        }
    }
}

impl Turn for Notice {
    fn step(&self) -> Option<Step> {
        match self {
            Self::Entered(_) => Some(Step::Enter),
            Self::PutOut => None,
        }
    }
}

/// Makes the nodes of an algorithm among so many: the same for all nodes of a group.
pub struct Anew<P>(Arc<dyn Fn(NodeId, Group) -> P + Send + Sync>);

impl<P> Anew<P> {
    /// By this.
    pub fn new(make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl<P> Clone for Anew<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// There is one in a group.
impl<P> PartialEq for Anew<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P> Eq for Anew<P> {}

impl<P> Hash for Anew<P> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<P> fmt::Debug for Anew<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anew")
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Locks<P: Protocol> {
    me: NodeId,
    anew: Anew<P>,
    views: Below,
    application: Application,
    /// Counts entries.
    clock: Clock,
    /// The algorithm, while there is a view and it has not been told to end.
    work: Option<Work<P>>,
    /// What came for views that it does not know yet, by view, in the order in which it came.
    early: BTreeMap<u64, Vec<Heard<P>>>,
}

/// What was heard, and of whom.
type Heard<P> = (NodeId, Word<<P as Protocol>::Message>);

/// What the application is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Application {
    Outside,
    Waits {
        claim: Claim,
        since: u64,
    },
    Inside,
    /// It was told that it is inside no more, and has not said that it has left.
    PutOut,
}

/// The algorithm in a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Work<P> {
    view: u64,
    /// The members, as the algorithm numbers them.
    members: Arc<[NodeId]>,
    node: P,
    /// Who was inside when the view began, and has not said that it has left.
    inside: NodeSet,
}

impl<P> Work<P> {
    fn place(&self, node: NodeId) -> Option<NodeId> {
        let place = self.members.iter().position(|&it| it == node)?;
        Some(NodeId(place as u32))
    }
}

/// An algorithm for mutual exclusion.
pub trait Exclusive: Protocol<Command = Command, Notice = crate::mutex::Notice> {}

impl<P: Protocol<Command = Command, Notice = crate::mutex::Notice>> Exclusive for P {}

impl<P: Exclusive> Locks<P> {
    /// A node of a group that these nodes have founded, among all nodes that there may ever be.
    ///
    /// # Panics
    ///
    /// As [`Views::new`].
    pub fn new(me: NodeId, universe: Group, founders: &[NodeId], anew: Anew<P>) -> Self {
        Self {
            me,
            anew,
            views: Views::new(me, universe, founders),
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

    fn standing(&self) -> Standing {
        let (waits_since, is_inside) = match self.application {
            Application::Outside | Application::PutOut => (None, false),
            Application::Waits { since, .. } => (Some(since), false),
            Application::Inside => (None, true),
        };
        Standing { waits_since, is_inside, clock: self.clock.now() }
    }

    /// Lets the machine below act, and does what it says until it has nothing more to say.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Below, &mut Beneath<'_, P, E>) -> T,
    ) -> T {
        let mut told = Vec::new();
        let done = act(&mut self.views, &mut Beneath { fx, told: &mut told, of: PhantomData });
        while !told.is_empty() {
            for it in core::mem::take(&mut told) {
                match it {
                    Told::Block => {
                        // From here on nobody enters: what the algorithm would say comes too late.
                        self.work = None;
                        let ok = Input::Ask(Ask::BlockOk(self.standing()));
                        let beneath = &mut Beneath { fx, told: &mut told, of: PhantomData };
                        self.views.on_command(ok, beneath).expect("it was told to block");
                    }
                    Told::Deliver(entry) => match entry.payload {},
                    Told::Installed { install, .. } => self.begin(&install, fx),
                    Told::Out => self.put_out(fx),
                }
            }
        }
        done
    }

    fn put_out(&mut self, fx: &mut impl Effects<Self>) {
        self.work = None;
        if self.application == Application::Inside {
            self.application = Application::PutOut;
            fx.notify(Notice::PutOut);
        }
    }

    /// Starts the algorithm anew among the members of the view.
    fn begin<E: Effects<Self>>(&mut self, install: &Install<Never, Standing>, fx: &mut E) {
        let view = install.view.id;
        let standing = |node: NodeId| {
            let info = install.infos.iter().find(|it| it.of == node)?;
            Some(info.info)
        };
        for info in &install.infos {
            self.clock.witness(info.info.clock);
        }
        let mut members: Vec<NodeId> = install.view.nodes().collect();
        members.sort_by_key(|&node| {
            let since = standing(node).and_then(|it| it.waits_since);
            (since.is_none(), since, node)
        });
        let is_inside = |node: &NodeId| standing(*node).is_some_and(|it| it.is_inside);
        let inside: NodeSet = members.iter().copied().filter(is_inside).collect();
        let group = Group::of(members.len() as u32);
        let me = members.iter().position(|&node| node == self.me).unwrap_or_default();
        let node = (self.anew.0)(NodeId(me as u32), group);
        self.work = Some(Work { view, members: members.into(), node, inside });
        self.on_work(fx, |node, among| node.on_start(among));
        let has_left = is_inside(&self.me) && self.application != Application::Inside;
        if has_left {
            self.leaves(self.me, fx);
        } else {
            self.ask(fx);
        }
        self.early = self.early.split_off(&view);
        for (from, word) in self.early.remove(&view).unwrap_or_default() {
            self.on_word(from, word, fx);
        }
    }

    /// Asks for the application, if it waits and nobody is inside from before.
    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let Application::Waits { claim, .. } = self.application else { return };
        if self.work.as_ref().is_some_and(|work| work.inside.is_empty()) {
            self.on_work(fx, |node, among| {
                let asked = node.on_command(Command::Acquire(claim), among);
                asked.expect("a node that is outside may ask");
            });
        }
    }

    /// Whoever was inside when the view began has left. If it was this node, it says so.
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
            self.application = Application::Inside;
            let clock = self.clock.tick();
            fx.notify(Notice::Entered(Fence { view, clock }));
        }
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
            Word::HaveYouLeft if work.inside.contains(self.me) => {}
            Word::HaveYouLeft => {
                let (view, clock) = (work.view, self.clock.now());
                fx.send(from, Message::Within { view, clock, word: Word::Left });
            }
        }
    }

    /// What was said may be lost.
    fn beat(&self, fx: &mut impl Effects<Self>) {
        let Some(work) = &self.work else { return };
        let (view, clock) = (work.view, self.clock.now());
        let others = work.inside.iter().filter(|&it| it != self.me);
        fx.broadcast(others, Message::Within { view, clock, word: Word::HaveYouLeft });
    }

    fn on_ask(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.application) {
            (Command::Acquire(claim), Application::Outside | Application::PutOut) => {
                self.application = Application::Waits { claim, since: self.clock.now() };
                self.ask(fx);
            }
            (Command::Release, Application::Inside) => {
                self.application = Application::Outside;
                let was_before = self.work.as_ref().is_some_and(|it| it.inside.contains(self.me));
                if was_before {
                    self.leaves(self.me, fx);
                } else {
                    self.on_work(fx, |node, among| {
                        let left = node.on_command(Command::Release, among);
                        left.expect("a node that is inside may leave");
                    });
                }
            }
            (Command::Release, Application::PutOut) => self.application = Application::Outside,
            (Command::Acquire(_), Application::Waits { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Application::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Application::Outside | Application::Waits { .. }) => {
                return Err(NOT_INSIDE);
            }
        }
        Ok(())
    }
}

impl<P: Exclusive> Protocol for Locks<P> {
    type Message = Letter<P>;
    type Timer = Timer<P::Timer>;
    type Command = Input<Command>;
    type Notice = Notice;

    /// Whoever is not in from the beginning comes in.
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
        let Timer(view, timer) = timer;
        if self.work.as_ref().is_some_and(|work| work.view == view) {
            self.on_work(fx, |node, among| node.on_timer(timer, among));
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.below(fx, |views, beneath| views.on_restart(beneath));
    }

    /// The application has crashed as well; views have larger numbers than before.
    fn kept(&self, fresh: Self) -> Self {
        Self { views: self.views.kept(fresh.views), ..fresh }
    }
}

/// The effects of the machine below.
struct Beneath<'a, P, E> {
    fx: &'a mut E,
    told: &'a mut Vec<Told<Never, Standing>>,
    of: PhantomData<P>,
}

impl<P: Exclusive, E: Effects<Locks<P>>> Effects<Below> for Beneath<'_, P, E> {
    fn send(&mut self, to: NodeId, message: <Below as Protocol>::Message) {
        self.fx.send(to, Message::Views(message));
    }
    fn set_timer(&mut self, timer: Never, _: Delay) {
        match timer {}
    }
    fn cancel_timer(&mut self, timer: Never) {
        match timer {}
    }
    fn notify(&mut self, told: Told<Never, Standing>) {
        self.told.push(told);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// The effects of the algorithm.
struct Among<'a, E> {
    fx: &'a mut E,
    view: u64,
    clock: u64,
    members: &'a [NodeId],
    has_entered: bool,
}

impl<P: Exclusive, E: Effects<Locks<P>>> Effects<P> for Among<'_, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let (to, view, clock) = (self.members[to.index()], self.view, self.clock);
        self.fx.send(to, Message::Within { view, clock, word: Word::Lock(message) });
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer(self.view, timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer(self.view, timer));
    }
    fn notify(&mut self, _: crate::mutex::Notice) {
        self.has_entered = true;
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}
