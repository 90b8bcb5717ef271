//! A failure detector below a machine that needs one: [heartbeats](crate::detection::heartbeat),
//! which carry what the machine has to say anyway.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vorrang_protocol::{
    Data, Delay, DynEffects, Effects, GroupHealth, GroupView, NodeId, NodeState, Protocol, Refused,
    SortedMap, StateValue,
};

use super::input::Input;
use super::message::Beat;
use crate::detection::Notice as Belief;
use crate::detection::heartbeat::{self, Heartbeat};
use crate::setup::Setup;

/// One node, with the machine above.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Detecting<P> {
    detector: Heartbeat,
    /// In which lives others were heard last.
    lives: SortedMap<NodeId, u64>,
    above: P,
}

impl<P> Detecting<P> {
    /// Below this, at the pace that the set-up says.
    pub fn new(me: NodeId, setup: &Setup, above: P) -> Self {
        Self { detector: Heartbeat::of(me, setup), lives: SortedMap::new(), above }
    }

    /// The same below something else, such as a mistake around the machine above.
    pub fn map<T>(self, around: impl FnOnce(P) -> T) -> Detecting<T> {
        Detecting { detector: self.detector, above: around(self.above), lives: self.lives }
    }

    /// The machine above.
    pub const fn above(&self) -> &P {
        &self.above
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// By the detector.
    Heartbeat(heartbeat::Timer),
    /// By the machine above.
    Above(T),
}

/// As each is called without the other.
impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heartbeat(timer) => timer.fmt(f),
            Self::Above(timer) => timer.fmt(f),
        }
    }
}

impl<C, P> Detecting<P>
where
    C: Data,
    P: Protocol<Command = Input<C>, Message: Beat>,
{
    /// Lets the detector act, and passes on what it believes.
    fn on_detector<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Heartbeat, &mut DetectorEffects<'_, P, E>),
    ) {
        let mut believed = Vec::new();
        let above = PhantomData;
        act(&mut self.detector, &mut DetectorEffects { fx, believed: &mut believed, above });
        for belief in believed {
            let input = match belief {
                Belief::Suspect(node) => Input::Suspect(node),
                Belief::Trust(node) => Input::Trust(node),
            };
            self.tell(input, fx);
        }
    }

    /// A new incarnation after a crash: the node was down, and not late. A node that begins a new
    /// incarnation because it was evicted counts by one, and a clock does not: such a one may have
    /// been late after all.
    fn on_life(&mut self, of: NodeId, incarnation: Option<u64>) {
        let Some(incarnation) = incarnation else { return };
        if self.lives.insert(of, incarnation).is_some_and(|before| incarnation > before + 1) {
            self.detector.forgive(of);
        }
    }

    fn tell(&mut self, input: Input<C>, fx: &mut impl Effects<Self>) {
        let told = self.above.on_command(input, &mut Through { fx });
        told.expect("what a detector says is never refused");
    }
}

impl<C, P> Protocol for Detecting<P>
where
    C: Data,
    P: Protocol<Command = Input<C>, Message: Beat>,
{
    type Message = P::Message;
    type Timer = Timer<P::Timer>;
    type Command = C;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.above.on_start(&mut Through { fx });
        self.on_detector(fx, |detector, unheard| detector.on_start(unheard));
        self.tell(Input::Beat, fx);
    }

    fn on_command(&mut self, command: C, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        self.above.on_command(Input::Ask(command), &mut Through { fx })
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        if message.is_beat() {
            self.on_detector(fx, |detector, unheard| {
                detector.on_message(from, heartbeat::Message::Heartbeat, unheard);
            });
            self.on_life(from, message.life());
        }
        self.above.on_message(from, message, &mut Through { fx });
    }

    fn on_timer(&mut self, timer: Timer<P::Timer>, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match timer {
            Timer::Heartbeat(timer) => {
                self.on_detector(fx, |detector, unheard| detector.on_timer(timer, unheard));
                if timer == heartbeat::Timer::Beat {
                    self.tell(Input::Beat, fx);
                }
            }
            Timer::Above(timer) => self.above.on_timer(timer, &mut Through { fx }),
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.above.on_restart(&mut Through { fx });
        self.on_detector(fx, |detector, unheard| detector.on_restart(unheard));
    }

    fn on_leave(&mut self, fx: &mut impl Effects<Self>) -> bool {
        let fx = &mut DynEffects(fx);
        self.above.on_leave(&mut Through { fx })
    }

    fn state(&self) -> NodeState {
        let lives = self.lives.iter().map(|(&id, &life)| (id, life));
        self.above
            .state()
            .with("lives heard", StateValue::list(lives))
            .beneath("detector", self.detector.state())
    }

    fn group_view(&self) -> Option<GroupView> {
        self.above.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.above.group_health()
    }

    fn lease(&self) -> Option<Self::Timer> {
        self.above.lease().map(Timer::Above)
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.above.store(serializer)
    }

    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(Self { above: self.above.restore(stored)?, ..self })
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { above: self.above.after_crash(fresh.above), ..fresh }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(Self { above: self.above.without_memory(life)?, ..self })
    }
}

/// The effects of the detector. What it would send is left to the machine above.
struct DetectorEffects<'a, P, E> {
    fx: &'a mut E,
    believed: &'a mut Vec<Belief>,
    above: PhantomData<P>,
}

impl<C, P, E> Effects<Heartbeat> for DetectorEffects<'_, P, E>
where
    C: Data,
    P: Protocol<Command = Input<C>, Message: Beat>,
    E: Effects<Detecting<P>>,
{
    fn send(&mut self, _: NodeId, _: heartbeat::Message) {}
    fn set_timer(&mut self, timer: heartbeat::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Heartbeat(timer), delay);
    }
    fn cancel_timer(&mut self, timer: heartbeat::Timer) {
        self.fx.cancel_timer(Timer::Heartbeat(timer));
    }
    fn notify(&mut self, belief: Belief) {
        self.believed.push(belief);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// The effects of the machine above.
pub(super) struct Through<'a, E> {
    fx: &'a mut E,
}

impl<'a, E> Through<'a, E> {
    pub(super) const fn new(fx: &'a mut E) -> Self {
        Self { fx }
    }
}

impl<C, P, E> Effects<P> for Through<'_, E>
where
    C: Data,
    P: Protocol<Command = Input<C>, Message: Beat>,
    E: Effects<Detecting<P>>,
{
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.fx.send(to, message);
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        self.fx.send_to_each(to, message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Above(timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Above(timer));
    }
    fn notify(&mut self, notice: P::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}
