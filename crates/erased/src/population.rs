//! All nodes of a run, with their messages in flight and their timers, behind one object.
//!
//! A driver holds numbers ([`MessageId`], [`TimerId`]) instead of messages and timers. For an event
//! there is one virtual call into the population, and for each effect one out of it, at once: so
//! that random draws, records and numbers come in the order of the effects. (A buffer of effects
//! which the driver empties after the event was measured to take 13 to 21 % more instructions: it
//! is written and read again, and has to be emptied before a node may choose.)

use std::fmt::{self, Debug};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use vorrang_protocol::{
    Delay, DynEffects, Effects, Guard, Message as _, NodeId, NodeSet, Protocol, Refused, Situation,
    Violation,
};

use crate::slab::Slab;
use crate::timer_table::TimerTable;
use crate::{AnyMessage, AnyNode, AnyTimer, encoded_len};

/// A message that a population keeps. A driver that holds one delivers it
/// ([`AnyPopulation::on_message`]) or drops it ([`Messages::drop_one`]), once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(u32);

impl MessageId {
    /// The message in this place of a population's table.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Its place in the table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A timer that is set. Numbers are used again: by a count of its own a driver tells whether a
/// timer that runs out is still the one that was set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(u32);

impl TimerId {
    /// Its place in a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A message as a driver and its meters see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Which message.
    pub id: MessageId,
    /// How many bytes it takes on a wire.
    pub len: u32,
    /// Its kind.
    pub kind: u16,
}

/// The messages and timers of a population, apart from its nodes.
pub trait Messages {
    /// One more copy will be delivered: the network has doubled it, or a driver keeps it.
    fn duplicate(&mut self, id: MessageId);
    /// One copy will not be delivered.
    fn drop_one(&mut self, id: MessageId);
    /// Whether two messages are equal.
    fn are_equal(&self, one: MessageId, other: MessageId) -> bool;
    /// See [`vorrang_protocol::Message::carries`].
    fn carries(&self, id: MessageId, from: NodeId) -> Option<(NodeId, u64)>;
    /// A copy, for records.
    fn message(&self, id: MessageId) -> AnyMessage;
    /// A copy, for records.
    fn timer(&self, id: TimerId) -> AnyTimer;
    /// How many different messages are in flight.
    fn in_flight(&self) -> usize;
}

/// A driver carries out the effects of nodes, each at once. It knows which node acts.
pub trait Driver<N> {
    /// See [`Effects::send`]. False if the driver has done nothing because it must look into the
    /// message: then [`send_inspected`](Self::send_inspected) is called. This is the effect that
    /// is felt, and it is kept so small that all of it goes by registers.
    fn send(&mut self, to: NodeId, id: MessageId, len: u32, kind: u16) -> bool;
    /// The same, for drivers that record, lose, double or route messages.
    fn send_inspected(&mut self, to: NodeId, message: Stored, messages: &mut dyn Messages);
    /// See [`Effects::set_timer`]; the delay at least and at most, in nanoseconds. One that no
    /// number holds is cut to the largest.
    fn set_timer(&mut self, timer: TimerId, delay_ns: (u64, u64));
    /// See [`Effects::cancel_timer`].
    fn cancel_timer(&mut self, timer: TimerId);
    /// See [`Effects::notify`].
    fn notify(&mut self, notice: N);
    /// See [`Effects::choose`].
    fn choose(&mut self, bound: NonZeroU32) -> u32;
}

/// All nodes of a run of any algorithm that takes commands `C` and tells notices `N`.
pub trait AnyPopulation<C, N>: Messages + Debug + Send {
    /// How many nodes.
    fn size(&self) -> usize;
    /// The names of the kinds of their messages.
    fn kinds(&self) -> &'static [&'static str];
    /// A node comes up.
    fn on_start(&mut self, at: NodeId, driver: &mut dyn Driver<N>);
    /// A node comes up again after a crash.
    fn on_restart(&mut self, at: NodeId, driver: &mut dyn Driver<N>);
    /// A node is asked for something.
    ///
    /// # Errors
    ///
    /// If it refuses.
    fn on_command(
        &mut self,
        at: NodeId,
        command: C,
        driver: &mut dyn Driver<N>,
    ) -> Result<(), Refused>;
    /// A message is delivered.
    fn on_message(&mut self, at: NodeId, from: NodeId, id: MessageId, driver: &mut dyn Driver<N>);
    /// A timer runs out.
    fn on_timer(&mut self, at: NodeId, timer: TimerId, driver: &mut dyn Driver<N>);
    /// A node crashes and keeps what is in its stable storage. The timers that were set.
    fn crash(&mut self, at: NodeId) -> Vec<TimerId>;
    /// How many messages of applications a node buffers.
    fn buffered(&self, at: NodeId) -> usize;
    /// Whether there are invariants.
    fn is_guarded(&self) -> bool;
    /// Judges the nodes and these messages in flight by the invariants.
    ///
    /// # Errors
    ///
    /// If one does not hold.
    fn judge(&self, down: NodeSet, flight: &[(NodeId, NodeId, MessageId)])
    -> Result<(), Violation>;
    /// A copy of a node.
    fn node(&self, at: NodeId) -> AnyNode<C, N>;
}

/// Makes a node, at the start and after each crash.
pub type Fresh<P> = Arc<dyn Fn(NodeId) -> P + Send + Sync>;

/// All nodes of a run of one algorithm, with their messages in flight and their timers.
pub struct Population<P: Protocol> {
    nodes: Vec<P>,
    fresh: Fresh<P>,
    guards: Vec<Guard<P>>,
    kinds: &'static [&'static str],
    erase: Erase<P>,
    store: Store<P>,
}

/// Takes its type from a node.
type Erase<P> = fn(P) -> AnyNode<<P as Protocol>::Command, <P as Protocol>::Notice>;

/// Messages in flight and timers that are set.
struct Store<P: Protocol> {
    messages: Slab<P::Message>,
    timers: TimerTable<P::Timer>,
}

impl<P: Protocol> Population<P> {
    /// So many nodes.
    pub fn new(size: u32, fresh: impl Fn(NodeId) -> P + Send + Sync + 'static) -> Self {
        Self::of(size, Arc::new(fresh))
    }

    /// The same, with a shared way to make them.
    pub fn of(size: u32, fresh: Fresh<P>) -> Self {
        Self::erased_by(AnyNode::new, size, fresh)
    }

    /// The same where [copies](AnyPopulation::node) lose their type in another way: a caller that
    /// has nodes of a type around this one has that type compiled alone.
    pub fn erased_by(erase: Erase<P>, size: u32, fresh: Fresh<P>) -> Self {
        let nodes = (0..size).map(|id| fresh(NodeId(id))).collect();
        let timers = TimerTable::new(size as usize);
        let store = Store { messages: Slab::new(), timers };
        Self { nodes, fresh, guards: Vec::new(), kinds: P::Message::KINDS, erase, store }
    }

    /// The same, with invariants of all nodes and messages.
    #[must_use]
    pub fn guarded(mut self, guards: impl IntoIterator<Item = impl Into<Guard<P>>>) -> Self {
        self.guards.extend(guards.into_iter().map(Into::into));
        self
    }

    /// The same, with the names of its kinds of messages where the type of a message does not know
    /// them.
    #[must_use]
    pub const fn with_kinds(mut self, kinds: &'static [&'static str]) -> Self {
        self.kinds = kinds;
        self
    }
}

impl<P: Protocol> Debug for Population<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Population").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl<P: Protocol> From<Population<P>> for Box<dyn AnyPopulation<P::Command, P::Notice>> {
    fn from(population: Population<P>) -> Self {
        Box::new(population)
    }
}

/// Calls a handler of a node with the effects of the population.
macro_rules! handle {
    ($self:ident, $at:expr, $driver:expr, $handler:ident($($argument:expr),*)) => {{
        let effects = &mut PopulationEffects { at: $at, store: &mut $self.store, driver: $driver };
        $self.nodes[$at.index()].$handler($($argument,)* &mut DynEffects(effects))
    }};
}

impl<P: Protocol> AnyPopulation<P::Command, P::Notice> for Population<P> {
    fn size(&self) -> usize {
        self.nodes.len()
    }
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }
    fn on_start(&mut self, at: NodeId, driver: &mut dyn Driver<P::Notice>) {
        handle!(self, at, driver, on_start());
    }
    fn on_restart(&mut self, at: NodeId, driver: &mut dyn Driver<P::Notice>) {
        handle!(self, at, driver, on_restart());
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: P::Command,
        driver: &mut dyn Driver<P::Notice>,
    ) -> Result<(), Refused> {
        handle!(self, at, driver, on_command(command))
    }
    fn on_message(
        &mut self,
        at: NodeId,
        from: NodeId,
        id: MessageId,
        driver: &mut dyn Driver<P::Notice>,
    ) {
        let message = self.store.messages.take(id.0);
        handle!(self, at, driver, on_message(from, message));
    }
    fn on_timer(&mut self, at: NodeId, timer: TimerId, driver: &mut dyn Driver<P::Notice>) {
        let timer = self.store.timers.take(timer.0);
        handle!(self, at, driver, on_timer(timer));
    }
    fn crash(&mut self, at: NodeId) -> Vec<TimerId> {
        let node = &mut self.nodes[at.index()];
        *node = node.after_crash((self.fresh)(at));
        self.store.timers.clear(at).map(TimerId).collect()
    }
    fn buffered(&self, at: NodeId) -> usize {
        self.nodes[at.index()].buffered()
    }
    fn is_guarded(&self) -> bool {
        !self.guards.is_empty()
    }
    fn judge(
        &self,
        down: NodeSet,
        flight: &[(NodeId, NodeId, MessageId)],
    ) -> Result<(), Violation> {
        let flight = flight.iter().map(|&(from, to, id)| (from, to, self.store.messages.get(id.0)));
        Situation::new(self.nodes.iter().collect(), down, flight.collect()).judge(&self.guards)
    }
    fn node(&self, at: NodeId) -> AnyNode<P::Command, P::Notice> {
        (self.erase)(self.nodes[at.index()].clone())
    }
}

impl<P: Protocol> Messages for Store<P> {
    fn duplicate(&mut self, id: MessageId) {
        self.messages.share(id.0);
    }
    fn drop_one(&mut self, id: MessageId) {
        self.messages.release(id.0, 1);
    }
    fn are_equal(&self, one: MessageId, other: MessageId) -> bool {
        one == other || self.messages.get(one.0) == self.messages.get(other.0)
    }
    fn carries(&self, id: MessageId, from: NodeId) -> Option<(NodeId, u64)> {
        self.messages.get(id.0).carries(from)
    }
    fn message(&self, id: MessageId) -> AnyMessage {
        AnyMessage::new(self.messages.get(id.0).clone())
    }
    fn timer(&self, id: TimerId) -> AnyTimer {
        AnyTimer::new(self.timers.get(id.0))
    }
    fn in_flight(&self) -> usize {
        self.messages.len()
    }
}

impl<P: Protocol> Messages for Population<P> {
    fn duplicate(&mut self, id: MessageId) {
        self.store.duplicate(id);
    }
    fn drop_one(&mut self, id: MessageId) {
        self.store.drop_one(id);
    }
    fn are_equal(&self, one: MessageId, other: MessageId) -> bool {
        self.store.are_equal(one, other)
    }
    fn carries(&self, id: MessageId, from: NodeId) -> Option<(NodeId, u64)> {
        self.store.carries(id, from)
    }
    fn message(&self, id: MessageId) -> AnyMessage {
        self.store.message(id)
    }
    fn timer(&self, id: TimerId) -> AnyTimer {
        self.store.timer(id)
    }
    fn in_flight(&self) -> usize {
        self.store.in_flight()
    }
}

/// The effects of one node of a population.
struct PopulationEffects<'a, P: Protocol> {
    at: NodeId,
    store: &'a mut Store<P>,
    driver: &'a mut dyn Driver<P::Notice>,
}

/// More owners than a broadcast can have.
const WHILE_SENDING: u32 = 1 << 30;

impl<P: Protocol> PopulationEffects<'_, P> {
    fn keep(&mut self, message: P::Message, owners: u32) -> Stored {
        let (len, kind) = (encoded_len(&message) as u32, message.kind() as u16);
        Stored { id: MessageId(self.store.messages.put(message, owners)), len, kind }
    }

    fn hand_over(&mut self, to: NodeId, message: Stored) {
        let Stored { id, len, kind } = message;
        if !self.driver.send(to, id, len, kind) {
            self.driver.send_inspected(to, message, self.store);
        }
    }
}

impl<P: Protocol> Effects<P> for PopulationEffects<'_, P> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let message = self.keep(message, 1);
        self.hand_over(to, message);
    }
    /// The message is stored once, however many receive it.
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        // While it is sent it has more owners than receivers: the driver may lose a copy at once.
        let message = self.keep(message, WHILE_SENDING);
        let mut sent = 0;
        for to in to {
            sent += 1;
            self.hand_over(to, message);
        }
        self.store.messages.release(message.id.0, WHILE_SENDING - sent);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let timer = TimerId(self.store.timers.set(self.at, timer));
        let ns = |delay: Duration| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.driver.set_timer(timer, (ns(delay.min), ns(delay.max)));
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        if let Some(timer) = self.store.timers.cancel(self.at, timer) {
            self.driver.cancel_timer(TimerId(timer));
        }
    }
    fn notify(&mut self, notice: P::Notice) {
        self.driver.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.driver.choose(bound)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::election::Command as Call;
    use vorrang_algorithms::election::bully::Bully;
    use vorrang_algorithms::mutex::ricart_agrawala::{self, RicartAgrawala};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::Group;

    use super::*;

    /// What a driver does with a copy of a message as soon as it is sent.
    type Treatment = fn(&mut dyn Messages, MessageId);

    /// Keeps what it is given, and does nothing about it.
    struct Keeper<N> {
        /// Only if messages are looked into.
        inspects: Option<Treatment>,
        sent: Vec<(NodeId, Stored)>,
        set: Vec<TimerId>,
        told: Vec<N>,
    }

    impl<N> Keeper<N> {
        fn new(inspects: Option<Treatment>) -> Self {
            Self { inspects, sent: Vec::new(), set: Vec::new(), told: Vec::new() }
        }
    }

    impl<N> Driver<N> for Keeper<N> {
        fn send(&mut self, to: NodeId, id: MessageId, len: u32, kind: u16) -> bool {
            if self.inspects.is_none() {
                self.sent.push((to, Stored { id, len, kind }));
            }
            self.inspects.is_none()
        }
        fn send_inspected(&mut self, to: NodeId, message: Stored, messages: &mut dyn Messages) {
            self.sent.push((to, message));
            if let Some(treat) = self.inspects {
                treat(messages, message.id);
            }
        }
        fn set_timer(&mut self, timer: TimerId, _: (u64, u64)) {
            self.set.push(timer);
        }
        fn cancel_timer(&mut self, timer: TimerId) {
            self.set.retain(|it| *it != timer);
        }
        fn notify(&mut self, notice: N) {
            self.told.push(notice);
        }
        fn choose(&mut self, _: NonZeroU32) -> u32 {
            0
        }
    }

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const FIRST: NodeId = NodeId(0);

    fn locks() -> Population<RicartAgrawala> {
        let group = Group::of(4);
        Population::new(4, move |id| RicartAgrawala::new(id, group))
    }

    #[test]
    fn a_broadcast_is_one_message_until_all_have_it() {
        let (mut locks, mut keeper) = (locks(), Keeper::new(None));
        locks.on_command(FIRST, ACQUIRE, &mut keeper).unwrap();
        let sent = std::mem::take(&mut keeper.sent);
        assert_eq!(sent.iter().map(|(to, _)| to.0).collect::<Vec<_>>(), [1, 2, 3]);
        let Stored { id, len, kind } = sent[0].1;
        assert!(sent.iter().all(|it| it.1 == sent[0].1), "one message for all");
        let request = AnyMessage::new(ricart_agrawala::Message::Request { time: 1 });
        assert_eq!((locks.message(id), len, kind), (request, 2, 0));
        assert_eq!(locks.in_flight(), 1);
        for (to, message) in sent {
            locks.on_message(to, FIRST, message.id, &mut keeper);
        }
        assert_eq!(locks.in_flight(), 3, "replies alone");
        for (from, (to, message)) in (1..).map(NodeId).zip(std::mem::take(&mut keeper.sent)) {
            assert_eq!(to, FIRST);
            locks.on_message(to, from, message.id, &mut keeper);
        }
        assert_eq!((locks.in_flight(), keeper.told), (0, vec![Notice::Entered]));
    }

    #[test]
    fn what_becomes_of_a_copy_while_others_are_sent_is_its_own_affair() {
        let treatments: [(Treatment, usize); 3] = [
            (|messages, id| messages.drop_one(id), 0),
            (|messages, id| messages.duplicate(id), 6),
            (|_, _| {}, 3),
        ];
        for (treat, copies) in treatments {
            let mut locks = locks();
            let mut keeper = Keeper::new(Some(treat));
            locks.on_command(FIRST, ACQUIRE, &mut keeper).unwrap();
            let id = keeper.sent[0].1.id;
            for _ in 0..copies {
                assert_eq!(locks.in_flight(), 1);
                locks.drop_one(id);
            }
            assert_eq!(locks.in_flight(), 0, "{copies} copies");
        }
    }

    #[test]
    fn a_node_that_crashes_loses_its_timers_and_is_made_anew() {
        let (group, within) = (Group::of(3), Duration::from_millis(1));
        let mut nodes = Population::new(3, move |id| Bully::new(id, group, within));
        let before = nodes.node(FIRST);
        let mut keeper = Keeper::new(None);
        nodes.on_command(FIRST, Call::Elect, &mut keeper).unwrap();
        nodes.on_command(NodeId(1), Call::Elect, &mut keeper).unwrap();
        let [first, second] = keeper.set[..] else { panic!("two wait: {:?}", keeper.set) };
        assert!(first != second && nodes.timer(first) == nodes.timer(second));
        assert_ne!(nodes.node(FIRST), before);
        let kept = before.downcast_ref::<Bully>().unwrap().clone();
        let expected = nodes.node(FIRST).downcast_ref::<Bully>().unwrap().after_crash(kept);
        assert_eq!(nodes.crash(FIRST), [first]);
        assert_eq!(nodes.node(FIRST), AnyNode::new(expected));
        assert_eq!(nodes.crash(FIRST), [], "it has none left");
        nodes.on_restart(FIRST, &mut keeper);
        assert_eq!(keeper.set[2..], [first], "numbers are used again");
    }

    #[test]
    fn messages_are_equal_if_they_say_the_same_wherever_they_are_kept() {
        let (mut locks, mut keeper) = (locks(), Keeper::new(None));
        let second = NodeId(1);
        locks.on_command(FIRST, ACQUIRE, &mut keeper).unwrap();
        locks.on_command(second, ACQUIRE, &mut keeper).unwrap();
        let id_of = |keeper: &Keeper<Notice>, at: usize| keeper.sent[at].1.id;
        let (one, other) = (id_of(&keeper, 0), id_of(&keeper, 3));
        assert_ne!(one, other);
        assert!(locks.are_equal(one, one) && locks.are_equal(one, other));
        locks.on_message(NodeId(3), second, other, &mut keeper);
        assert!(!locks.are_equal(one, id_of(&keeper, 6)), "a reply is no request");
    }
}
