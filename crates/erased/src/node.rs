//! A node of any algorithm.
//!
//! Everything is passed on to the node's own type, so that a node behaves, hashes and shows itself
//! as it would without. Two things need the type by its name and are asked of the node: the list of
//! all kinds of messages ([`AnyNode::kinds`]), and to read a message back
//! ([`AnyNode::decode`], [`AnyNode::message`]).

use std::any::Any;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use vorrang_protocol::{
    CounterVisitor, Data, Delay, DynEffects, Effects, Event, GroupHealth, GroupView, Guard,
    Invariant, Message, NodeId, NodeState, Protocol, Refused,
};

use crate::message::{Appender, ErasedValue, flattened};
use crate::{AnyMessage, AnyTimer};

/// A node of any algorithm that takes commands `C` and tells notices `N`.
pub struct AnyNode<C, N>(Box<dyn ErasedNode<C, N>>);

impl<C: Data, N: Data> AnyNode<C, N> {
    /// The node, without its type. One that has lost its type already stays as it is.
    pub fn new<P: Protocol<Command = C, Notice = N>>(node: P) -> Self {
        match flattened(node) {
            Ok(node) => node,
            Err(node) => Self(Box::new(node)),
        }
    }

    /// The node with its type again. None if it is of another type.
    pub fn downcast_ref<P: Protocol>(&self) -> Option<&P> {
        let node: &dyn Any = &*self.0;
        node.downcast_ref()
    }

    /// The names of the kinds of its messages.
    pub fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    /// Reads all of `bytes` as a message of this node's algorithm, if it is one.
    pub fn decode(&self, bytes: &[u8]) -> Option<AnyMessage> {
        self.0.decode(bytes)
    }

    /// A message of this node's algorithm as it was written in a trace, if it is one.
    pub fn message(&self, written: &Json) -> Option<AnyMessage> {
        self.0.read(written)
    }

    /// The same of a timer.
    pub fn timer(&self, written: &Json) -> Option<AnyTimer> {
        self.0.read_timer(written)
    }

    /// Writes what is on its stable storage, as bytes.
    pub fn stored(&self, bytes: &mut Vec<u8>) {
        self.0.erased_store(bytes);
    }

    /// This fresh node with what was stored before a crash. None if such a node has not stored
    /// these bytes.
    #[must_use]
    pub fn restored(&self, bytes: &[u8]) -> Option<Self> {
        self.0.erased_restore(bytes).map(Self)
    }

    /// An invariant of such nodes as one of any nodes.
    ///
    /// # Panics
    ///
    /// The guard does, if the nodes that it is to judge are of another type.
    pub fn guard<P>(invariant: &Invariant<P>) -> Guard<Self>
    where
        P: Protocol<Command = C, Notice = N>,
    {
        Self::guard_of(Guard::from(invariant))
    }

    /// The same for guards of such nodes.
    ///
    /// # Panics
    ///
    /// As [`guard`](Self::guard).
    pub fn guard_of<P>(guard: Guard<P>) -> Guard<Self>
    where
        P: Protocol<Command = C, Notice = N>,
    {
        Self::guard_of_inside(guard, |node: &P| node)
    }

    /// The same for guards of what is inside such nodes and has the same messages.
    ///
    /// # Panics
    ///
    /// As [`guard`](Self::guard).
    pub fn guard_of_inside<P, Inner>(guard: Guard<Inner>, inside: fn(&P) -> &Inner) -> Guard<Self>
    where
        P: Protocol<Command = C, Notice = N, Message = Inner::Message>,
        Inner: Protocol,
    {
        Guard::new(guard.name(), move |at| {
            guard.judge(&at.within(|it| inside(typed::<P, C, N>(it)), |it| Some(typed_message(it))))
        })
    }

    /// An invariant of what is inside such nodes and has the same messages.
    ///
    /// # Panics
    ///
    /// As [`guard`](Self::guard).
    pub fn guard_inside<P, Inner>(
        &Invariant { name, holds }: &Invariant<Inner>,
        inside: fn(&P) -> &Inner,
    ) -> Guard<Self>
    where
        P: Protocol<Command = C, Notice = N, Message = Inner::Message>,
        Inner: Protocol,
    {
        Guard::new(name, move |at| {
            holds(&at.within(|it| inside(typed::<P, C, N>(it)), |it| Some(typed_message(it))))
        })
    }

    fn tell(&mut self, event: Event<Self>, fx: &mut dyn Effects<Self>) {
        self.0.meet(event, fx).expect("only commands are refused");
    }
}

const ONE_TYPE: &str = "the nodes of a group are of one type";

fn typed<P: Protocol<Command = C, Notice = N>, C: Data, N: Data>(node: &AnyNode<C, N>) -> &P {
    node.downcast_ref().expect(ONE_TYPE)
}

fn typed_message<M: Message>(message: &AnyMessage) -> &M {
    message.downcast_ref().expect(ONE_TYPE)
}

impl<C: Data, N: Data> Protocol for AnyNode<C, N> {
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Command = C;
    type Notice = N;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.tell(Event::Start, fx);
    }
    fn on_command(&mut self, command: C, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.0.meet(Event::Command(command), fx)
    }
    fn on_message(&mut self, from: NodeId, message: AnyMessage, fx: &mut impl Effects<Self>) {
        self.tell(Event::Message { from, message }, fx);
    }
    fn on_timer(&mut self, timer: AnyTimer, fx: &mut impl Effects<Self>) {
        self.tell(Event::Timer(timer), fx);
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.tell(Event::Restart, fx);
    }
    fn on_leave(&mut self, fx: &mut impl Effects<Self>) -> bool {
        self.0.leave(fx)
    }
    fn after_crash(&self, fresh: Self) -> Self {
        Self(self.0.erased_after_crash(fresh.0))
    }
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        self.stored(&mut bytes);
        serializer.serialize_bytes(&bytes)
    }
    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(stored)?;
        self.restored(bytes).ok_or_else(|| D::Error::custom("another node has stored this"))
    }
    fn state(&self) -> NodeState {
        self.0.state()
    }
    fn without_memory(self, life: u64) -> Option<Self> {
        self.0.erased_without_memory(life).map(Self)
    }
    fn buffered(&self) -> usize {
        self.0.buffered()
    }
    fn has_obligations(&self) -> bool {
        self.0.has_obligations()
    }
    fn group_view(&self) -> Option<GroupView> {
        self.0.group_view()
    }
    fn group_health(&self) -> Option<GroupHealth> {
        self.0.group_health()
    }
    fn lease(&self) -> Option<AnyTimer> {
        self.0.erased_lease()
    }
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.0.counters(visit);
    }
}

impl<C: Data, N: Data> Clone for AnyNode<C, N> {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl<C: Data, N: Data> PartialEq for AnyNode<C, N> {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl<C: Data, N: Data> Eq for AnyNode<C, N> {}

impl<C: Data, N: Data> Hash for AnyNode<C, N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl<C: Data, N: Data> Debug for AnyNode<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A node without its type.
trait ErasedNode<C, N>: ErasedValue {
    fn meet(
        &mut self,
        event: Event<AnyNode<C, N>>,
        fx: &mut dyn Effects<AnyNode<C, N>>,
    ) -> Result<(), Refused>
    where
        C: Data,
        N: Data;
    fn leave(&mut self, fx: &mut dyn Effects<AnyNode<C, N>>) -> bool
    where
        C: Data,
        N: Data;
    fn kinds(&self) -> &'static [&'static str];
    fn decode(&self, bytes: &[u8]) -> Option<AnyMessage>;
    fn read(&self, written: &Json) -> Option<AnyMessage>;
    fn read_timer(&self, written: &Json) -> Option<AnyTimer>;
    fn erased_after_crash(&self, fresh: Box<dyn ErasedNode<C, N>>) -> Box<dyn ErasedNode<C, N>>;
    fn erased_without_memory(&self, life: u64) -> Option<Box<dyn ErasedNode<C, N>>>;
    fn erased_store(&self, bytes: &mut Vec<u8>);
    fn erased_restore(&self, bytes: &[u8]) -> Option<Box<dyn ErasedNode<C, N>>>;
    fn copy(&self) -> Box<dyn ErasedNode<C, N>>;
    fn state(&self) -> NodeState;
    fn buffered(&self) -> usize;
    fn has_obligations(&self) -> bool;
    fn group_view(&self) -> Option<GroupView>;
    fn group_health(&self) -> Option<GroupHealth>;
    fn erased_lease(&self) -> Option<AnyTimer>;
    fn counters(&mut self, visit: CounterVisitor<'_>);
}

impl<P: Protocol> ErasedNode<P::Command, P::Notice> for P {
    fn meet(
        &mut self,
        event: Event<AnyNode<P::Command, P::Notice>>,
        fx: &mut dyn Effects<AnyNode<P::Command, P::Notice>>,
    ) -> Result<(), Refused> {
        let event = match event {
            Event::Start => Event::Start,
            Event::Restart => Event::Restart,
            Event::Command(command) => Event::Command(command),
            Event::Message { from, message } => {
                Event::Message { from, message: message.downcast().expect(ONE_TYPE) }
            }
            Event::Timer(timer) => Event::Timer(timer.downcast().expect(ONE_TYPE)),
        };
        self.handle(event, &mut DynEffects(&mut Erasing(fx)))
    }
    fn leave(&mut self, fx: &mut dyn Effects<AnyNode<P::Command, P::Notice>>) -> bool {
        self.on_leave(&mut DynEffects(&mut Erasing(fx)))
    }
    fn kinds(&self) -> &'static [&'static str] {
        P::Message::KINDS
    }
    fn decode(&self, bytes: &[u8]) -> Option<AnyMessage> {
        match postcard::take_from_bytes::<P::Message>(bytes) {
            Ok((message, [])) => Some(AnyMessage::new(message)),
            Ok(_) | Err(_) => None,
        }
    }
    fn read(&self, written: &Json) -> Option<AnyMessage> {
        P::Message::deserialize(written).ok().map(AnyMessage::new)
    }
    fn read_timer(&self, written: &Json) -> Option<AnyTimer> {
        P::Timer::deserialize(written).ok().map(AnyTimer::new)
    }
    fn erased_after_crash(
        &self,
        fresh: Box<dyn ErasedNode<P::Command, P::Notice>>,
    ) -> Box<dyn ErasedNode<P::Command, P::Notice>> {
        let fresh: Box<dyn Any> = fresh;
        Box::new(Protocol::after_crash(self, *fresh.downcast().expect(ONE_TYPE)))
    }
    fn erased_without_memory(
        &self,
        life: u64,
    ) -> Option<Box<dyn ErasedNode<P::Command, P::Notice>>> {
        let node = Protocol::without_memory(self.clone(), life)?;
        Some(Box::new(node))
    }
    fn erased_store(&self, bytes: &mut Vec<u8>) {
        let stored = postcard::to_extend(&Stored(self), Appender(bytes));
        stored.map(|_| ()).expect("plain data can be encoded");
    }
    fn erased_restore(&self, bytes: &[u8]) -> Option<Box<dyn ErasedNode<P::Command, P::Notice>>> {
        let mut stored = postcard::Deserializer::from_bytes(bytes);
        let node = Protocol::restore(self.clone(), &mut stored).ok()?;
        let rest = stored.finalize().ok()?;
        rest.is_empty().then(|| Box::new(node) as Box<_>)
    }
    fn copy(&self) -> Box<dyn ErasedNode<P::Command, P::Notice>> {
        Box::new(self.clone())
    }
    fn state(&self) -> NodeState {
        Protocol::state(self)
    }
    fn buffered(&self) -> usize {
        Protocol::buffered(self)
    }
    fn has_obligations(&self) -> bool {
        Protocol::has_obligations(self)
    }
    fn group_view(&self) -> Option<GroupView> {
        Protocol::group_view(self)
    }
    fn group_health(&self) -> Option<GroupHealth> {
        Protocol::group_health(self)
    }
    fn erased_lease(&self) -> Option<AnyTimer> {
        Protocol::lease(self).map(AnyTimer::new)
    }
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        Protocol::counters(self, visit);
    }
}

/// What a node has on stable storage.
struct Stored<'a, P>(&'a P);

impl<P: Protocol> Serialize for Stored<'_, P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.store(serializer)
    }
}

/// The effects of a node, passed on without its types.
struct Erasing<'a, C, N>(&'a mut dyn Effects<AnyNode<C, N>>);

impl<P: Protocol> Effects<P> for Erasing<'_, P::Command, P::Notice> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.0.send(to, AnyMessage::new(message));
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        self.0.send_to_each(to, AnyMessage::new(message));
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.0.set_timer(AnyTimer::new(timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.0.cancel_timer(AnyTimer::new(timer));
    }
    fn notify(&mut self, notice: P::Notice) {
        self.0.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.0.choose(bound)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::central::Central;
    use vorrang_algorithms::mutex::ricart_agrawala::{self, RicartAgrawala};
    use vorrang_protocol::{Group, Outbox};

    use super::*;

    #[test]
    fn nodes_are_compared_as_their_types_do() {
        let group = Group::of(2);
        let node = |id| AnyNode::new(RicartAgrawala::new(NodeId(id), group));
        assert!(node(0) == node(0) && node(0) != node(1));
        assert!(node(0) != AnyNode::new(Central::new(NodeId(0), group)));
        let again = AnyNode::new(node(0));
        assert!(again.downcast_ref::<RicartAgrawala>().is_some(), "erased once");
    }

    #[test]
    fn a_message_is_read_back_only_by_a_node_that_knows_its_type() {
        let any = AnyMessage::new(ricart_agrawala::Message::Request { time: 300 });
        let written = serde_json::to_value(&any).unwrap();
        let mut bytes = Vec::new();
        any.encode(&mut bytes).unwrap();
        let group = Group::of(2);
        let node = AnyNode::new(RicartAgrawala::new(NodeId(0), group));
        assert_eq!(node.message(&written), Some(any.clone()));
        assert_eq!(node.decode(&bytes), Some(any));
        bytes.push(0);
        assert_eq!(node.decode(&bytes), None, "one byte too many");
        let other = AnyNode::new(Central::new(NodeId(0), group));
        assert_eq!(other.message(&written), None);
    }

    #[test]
    fn a_refusal_is_passed_on_and_changes_nothing() {
        let group = Group::of(2);
        let before = AnyNode::new(RicartAgrawala::new(NodeId(0), group));
        let mut node = before.clone();
        let release = "release".parse().unwrap();
        node.on_command(release, &mut Outbox::default()).unwrap_err();
        assert_eq!(node, before);
    }
}
