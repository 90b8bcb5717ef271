//! Nodes of any algorithm as one type.
//!
//! Whatever is generic over a protocol is compiled again for every algorithm and for every mistake
//! in one. Where a virtual call is not felt (on a stage, in the checker, which asks a handler once
//! and remembers) it is enough to compile it once for every problem: for [`AnyNode`], which takes
//! the problem's commands and tells its notices, and behind which the algorithm's own types are
//! gone. What is then compiled for an algorithm is its handlers, once, and how its nodes and
//! messages are copied, compared, hashed and shown.
//!
//! All of that is passed on to the types themselves, so that a node behaves, hashes and shows
//! itself as it would without. Only what needs a type by its name cannot be had any more: messages
//! know their kinds but not the list of all, and are read back only by a node that has the type.

use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::slice;
use std::sync::{PoisonError, RwLock};

use serde::ser::SerializeTuple as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value as Json;
use vorrang_protocol::{
    Data, Delay, Effects, Event, Guard, Invariant, Message, NodeId, Protocol, Refused,
};

use crate::measure::encoded_len;

/// A node of any algorithm that takes commands `C` and tells notices `N`.
pub struct AnyNode<C, N>(Box<dyn Object<C, N>>);

impl<C: Data, N: Data> AnyNode<C, N> {
    /// The node, without its type.
    pub fn new<P: Protocol<Command = C, Notice = N>>(node: P) -> Self {
        Self(Box::new(node))
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

    /// The same of whatever guards such nodes.
    ///
    /// # Panics
    ///
    /// As [`guard`](Self::guard).
    pub fn guard_of<P>(guard: Guard<P>) -> Guard<Self>
    where
        P: Protocol<Command = C, Notice = N>,
    {
        Guard::new(guard.name(), move |at| {
            let typed =
                at.within(|node: &Self| typed(&*node.0), |message| Some(typed(&*message.0)));
            typed.judge(slice::from_ref(&guard)).map_err(|violation| violation.what)
        })
    }
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
        self.0.meet(Event::Command(command), Sink(fx))
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
    fn kept(&self, fresh: Self) -> Self {
        Self(self.0.remains(fresh.0))
    }
    fn holds(&self) -> usize {
        self.0.holds()
    }
}

impl<C: Data, N: Data> AnyNode<C, N> {
    /// A message of this node's algorithm as it was written in a trace, if it is one.
    pub fn message(&self, written: &Json) -> Option<AnyMessage> {
        self.0.read(written)
    }

    fn tell(&mut self, event: Event<Self>, fx: &mut dyn Effects<Self>) {
        self.0.meet(event, Sink(fx)).expect("only commands are refused");
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

/// A message of any algorithm.
pub struct AnyMessage(Box<dyn Letter>);

impl AnyMessage {
    /// A message, without its type.
    pub fn new(message: impl Message) -> Self {
        Self(Box::new(message))
    }

    /// As it goes over a wire; only who knows its type can read it.
    pub fn packed(&self) -> Vec<u8> {
        self.0.packed()
    }
}

/// A message's kind is the one that it has with its type: whoever counts by kinds must be told
/// their names.
impl Message for AnyMessage {
    const KINDS: &'static [&'static str] = &["message"];

    fn kind(&self) -> usize {
        self.0.kind()
    }
    fn kind_name(&self) -> &'static str {
        self.0.kind_name()
    }
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        self.0.carries(from)
    }
}

impl Clone for AnyMessage {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl Display for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// A timer of any algorithm. There is one of each value, and for ever: timers are copied as if they
/// were numbers, and an algorithm has few.
#[derive(Clone, Copy)]
pub struct AnyTimer(&'static dyn Key);

impl AnyTimer {
    fn new<T: Data + Copy>(timer: T) -> Self {
        Self(one_of_each(&timer, &|| Box::leak(Box::new(timer))))
    }
}

impl Debug for AnyTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The timer that is equal to this one; if there is none, one that is made now.
fn one_of_each(timer: &dyn Key, make: &dyn Fn() -> &'static dyn Key) -> &'static dyn Key {
    static KNOWN: RwLock<BTreeMap<u64, Vec<&'static dyn Key>>> = RwLock::new(BTreeMap::new());
    let mut hasher = DefaultHasher::new();
    timer.hash_into(&mut hasher);
    let print = hasher.finish();
    let find = |known: &[&'static dyn Key]| known.iter().copied().find(|it| it.equals(timer));
    // A panic of a timer's own code leaves the table as it was.
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&print).and_then(|it| find(it)) {
        return found;
    }
    drop(known);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let alike = known.entry(print).or_default();
    find(alike).unwrap_or_else(|| {
        alike.push(make());
        alike[alike.len() - 1]
    })
}

/// What values without their types can do.
macro_rules! passed_on {
    ($type:ty) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.0.equals(&*other.0)
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.compare(&*other.0)
            }
        }

        impl Hash for $type {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.0.hash_into(hasher);
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(de::Error::custom("what has lost its type cannot be read back"))
            }
        }
    };
}

passed_on!(AnyMessage);
passed_on!(AnyTimer);

/// In a text as with its type; for machines, which could not read it back, as many bytes as it
/// would take.
impl Serialize for AnyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return self.0.json().serialize(serializer);
        }
        let mut bytes = serializer.serialize_tuple(self.0.encoded_len())?;
        for _ in 0..self.0.encoded_len() {
            bytes.serialize_element(&0_u8)?;
        }
        bytes.end()
    }
}

impl Serialize for AnyTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json().serialize(serializer)
    }
}

/// A value as seen from where its type is gone.
trait Value: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Eq + Hash + Debug + Send + Sync> Value for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// A timer as seen from there.
trait Key: Value {
    fn compare(&self, other: &dyn Any) -> Ordering;
    /// As it is written in a trace.
    fn json(&self) -> Json;
}

impl<T: Data> Key for T {
    fn compare(&self, other: &dyn Any) -> Ordering {
        match other.downcast_ref() {
            Some(other) => self.cmp(other),
            None => TypeId::of::<T>().cmp(&other.type_id()),
        }
    }
    fn json(&self) -> Json {
        serde_json::to_value(self).expect("what happens in a run can be written as JSON")
    }
}

/// A message as seen from there.
trait Letter: Key + Display {
    fn copy(&self) -> Box<dyn Letter>;
    fn kind(&self) -> usize;
    fn kind_name(&self) -> &'static str;
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)>;
    fn encoded_len(&self) -> usize;
    fn packed(&self) -> Vec<u8>;
}

impl<T: Message> Letter for T {
    fn copy(&self) -> Box<dyn Letter> {
        Box::new(self.clone())
    }
    fn kind(&self) -> usize {
        Message::kind(self)
    }
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
    }
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        Message::carries(self, from)
    }
    fn encoded_len(&self) -> usize {
        encoded_len(self)
    }
    fn packed(&self) -> Vec<u8> {
        let bytes = Vec::with_capacity(encoded_len(self));
        postcard::to_extend(self, bytes).expect("plain data can be encoded")
    }
}

/// A node as seen from there.
trait Object<C, N>: Value {
    fn meet(&mut self, event: Event<AnyNode<C, N>>, fx: Sink<'_, C, N>) -> Result<(), Refused>
    where
        C: Data,
        N: Data;
    fn read(&self, written: &Json) -> Option<AnyMessage>;
    fn remains(&self, fresh: Box<dyn Object<C, N>>) -> Box<dyn Object<C, N>>;
    fn copy(&self) -> Box<dyn Object<C, N>>;
    fn holds(&self) -> usize;
}

impl<P: Protocol> Object<P::Command, P::Notice> for P {
    fn meet(
        &mut self,
        event: Event<AnyNode<P::Command, P::Notice>>,
        mut fx: Sink<'_, P::Command, P::Notice>,
    ) -> Result<(), Refused> {
        let event = match event {
            Event::Start => Event::Start,
            Event::Restart => Event::Restart,
            Event::Command(command) => Event::Command(command),
            Event::Message { from, message } => {
                Event::Message { from, message: *unboxed(message.0) }
            }
            Event::Timer(timer) => Event::Timer(*typed(timer.0)),
        };
        self.handle(event, &mut fx)
    }
    fn read(&self, written: &Json) -> Option<AnyMessage> {
        let read = P::Message::deserialize(written).ok()?;
        Some(AnyMessage(Box::new(read)))
    }
    fn remains(
        &self,
        fresh: Box<dyn Object<P::Command, P::Notice>>,
    ) -> Box<dyn Object<P::Command, P::Notice>> {
        Box::new(self.kept(*unboxed(fresh)))
    }
    fn copy(&self) -> Box<dyn Object<P::Command, P::Notice>> {
        Box::new(self.clone())
    }
    fn holds(&self) -> usize {
        Protocol::holds(self)
    }
}

fn typed<T: 'static>(value: &dyn Any) -> &T {
    value.downcast_ref().expect("the nodes of a group are of one type")
}

fn unboxed<T: 'static>(value: Box<dyn Any>) -> Box<T> {
    value.downcast().expect("the nodes of a group are of one type")
}

/// What a node does, passed on without its types.
struct Sink<'a, C, N>(&'a mut dyn Effects<AnyNode<C, N>>);

/// Not inlined: an algorithm calls these from many places, and would be the larger for it.
impl<P: Protocol> Effects<P> for Sink<'_, P::Command, P::Notice> {
    #[inline(never)]
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.0.send(to, AnyMessage(Box::new(message)));
    }
    #[inline(never)]
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.0.set_timer(AnyTimer::new(timer), delay);
    }
    #[inline(never)]
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
    use std::time::Duration;

    use vorrang_algorithms::election::bully::{self, Bully};
    use vorrang_algorithms::election::spec::{Leadership, Promise};
    use vorrang_algorithms::mutex::central::{self, Central};
    use vorrang_algorithms::mutex::ricart_agrawala::{self, RicartAgrawala};
    use vorrang_algorithms::mutex::spec::Exclusion;
    use vorrang_protocol::{Group, Monitor, Outbox};

    use super::*;
    use crate::Stage;

    /// Plays a script with types and without, and requires the same of both.
    fn play<P, M>(nodes: &[P], monitor: &M, script: &str) -> String
    where
        P: Protocol<Command: Display + std::str::FromStr<Err: Display>, Notice: Display>,
        M: Monitor<Command = P::Command, Notice = P::Notice>,
    {
        let mut plain = Stage::new(nodes.iter().cloned(), monitor.clone());
        let mut any = Stage::new(nodes.iter().cloned().map(AnyNode::new), monitor.clone());
        let played = any.play(script).unwrap();
        assert_eq!(plain.play(script).unwrap(), played);
        assert_eq!((plain.flight(), plain.timers()), (any.flight(), any.timers()));
        for ((_, _, plain), (_, _, any)) in plain.nodes().zip(any.nodes()) {
            assert_eq!(format!("{plain:?}"), format!("{any:?}"));
            assert_eq!(print(plain), print(any));
        }
        played
    }

    fn print(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn a_node_without_its_type_does_what_it_did() {
        let group = Group::of(3);
        let nodes: Vec<_> = group.members().map(|id| RicartAgrawala::new(id, group)).collect();
        let script = "acquire 0\nacquire 2\ndeliver 2->1\nsettle\nrelease 0\nsettle\n";
        assert!(play(&nodes, &Exclusion::default(), script).contains("  2 entered\n"));
    }

    #[test]
    fn timers_crashes_and_restarts_are_passed_on() {
        let group = Group::of(3);
        let within = Duration::from_millis(1);
        let nodes: Vec<_> = group.members().map(|id| Bully::new(id, group, within)).collect();
        let script = "elect 0\ncrash 2\ndeliver 0->1\nsettle\ntimer 1 Answer\nrestart 2\n";
        let played = play(&nodes, &Leadership::new(group, Promise::Highest), script);
        assert!(played.contains("restart 2\n  2 -> 0 COORDINATOR"), "{played}");
    }

    #[test]
    fn nodes_messages_and_timers_are_compared_as_their_types_do() {
        let group = Group::of(2);
        let node = |id| AnyNode::new(RicartAgrawala::new(NodeId(id), group));
        assert!(node(0) == node(0) && node(0) != node(1));
        assert!(node(0) != AnyNode::new(Central::new(NodeId(0), group)));
        let message = |message: bully::Message| AnyMessage(Box::new(message));
        let (call, answer) = (bully::Message::Election(0), bully::Message::Answer(0));
        assert!(message(call) == message(call) && message(call) != message(answer));
        assert_eq!(message(call).cmp(&message(answer)), call.cmp(&answer));
        assert_eq!(message(call).to_string(), "ELECTION(0)");
        assert!(AnyTimer::new(1_u8) == AnyTimer::new(1_u8));
        assert!(AnyTimer::new(1_u8) < AnyTimer::new(2_u8));
        assert!(AnyTimer::new(1_u8) != AnyTimer::new(1_u16));
    }

    #[test]
    fn messages_keep_their_kinds_and_their_size() {
        let request = ricart_agrawala::Message::Request { time: 300 };
        let any = AnyMessage(Box::new(request));
        let of = |message: &dyn Letter| (message.kind(), message.kind_name());
        assert_eq!((Message::kind(&any), Message::kind_name(&any)), of(&request));
        assert_eq!(of(&request), (0, "REQUEST"));
        assert_eq!(encoded_len(&any), encoded_len(&request));
        assert_eq!(serde_json::to_string(&any).unwrap(), r#"{"request":{"time":300}}"#);
    }

    #[test]
    fn a_message_is_read_back_by_whoever_knows_its_type() {
        let request = ricart_agrawala::Message::Request { time: 300 };
        let any = AnyMessage(Box::new(request));
        let written = serde_json::to_value(&any).unwrap();
        let group = Group::of(2);
        let node = AnyNode::new(RicartAgrawala::new(NodeId(0), group));
        assert_eq!(node.message(&written), Some(any));
        let other = AnyNode::new(Central::new(NodeId(0), group));
        assert_eq!(other.message(&written), None);
    }

    #[test]
    fn there_is_one_timer_of_each_value() {
        let (first, second) = (AnyTimer::new('x'), AnyTimer::new('x'));
        assert!(std::ptr::addr_eq(first.0, second.0));
    }

    #[test]
    fn an_invariant_judges_nodes_without_their_types() {
        let group = Group::of(2);
        let nodes = || group.members().map(|id| AnyNode::new(Central::new(id, group)));
        let guards = || central::INVARIANTS.iter().map(AnyNode::guard);
        let mut sound = Stage::new(nodes(), Exclusion::default()).guarded(guards());
        sound.play("acquire 0\nsettle\n").unwrap();
        assert_eq!(sound.violation(), None);
        let mut wrong = Stage::new(nodes(), Exclusion::default()).guarded(guards());
        wrong.play("acquire 0\nsettle\ncrash 1\nrestart 1\n").unwrap();
        assert_eq!(wrong.violation().unwrap().property, central::INVARIANTS[0].name);
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

    #[test]
    fn what_has_lost_its_type_cannot_be_read_back() {
        let text = serde_json::to_string(&AnyTimer::new(7_u8)).unwrap();
        assert_eq!(text, "7");
        let why = serde_json::from_str::<AnyTimer>(&text).unwrap_err();
        assert!(why.to_string().contains("cannot be read back"));
    }
}
