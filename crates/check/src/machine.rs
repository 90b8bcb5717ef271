//! The one place where the search meets the types of an algorithm.
//!
//! The search itself knows nodes, messages, timers and monitors by their fingerprints alone, and is
//! compiled once. The effects of an event are computed here, once; so a virtual call costs little.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vorrang_protocol::{
    Counter, Effect, Event, Message as _, Monitor, NodeId, Obligation, Protocol, Refused,
    Situation, Violation,
};

use crate::catch_panic::catch_panic;
use crate::channels::Flying;
use crate::choices::Choices;
use crate::fingerprint::{Part as Place, Print};
use crate::handler_oracle::{self, HandlerResult, equal_to_its_copy, panicked};
use crate::memory::Gauge;
use crate::model::{
    Counts, Cut, EventKind, Handled, Lowering, Machine, NodeEvent, Obligations, Part, Rest,
};
use crate::parts::Parts;
use crate::report::{Bound, Bounds};
use crate::shift::{Shifts, commutes};
use crate::state::Down;
use crate::system::System;
use crate::timers::TimerChange;

/// A message and what surrounds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Envelope<T, G> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) message: T,
    /// The tag of the monitor.
    pub(crate) tag: G,
}

/// In the place of what lies on no shelf and yet must share its print with nothing there.
#[derive(PartialEq, Eq, Debug)]
struct Reserved;

/// A system, and all the parts that its states are made of.
#[derive(Debug)]
pub(crate) struct Typed<'a, P: Protocol, M> {
    system: &'a System<P, M>,
    shelf: Parts,
    /// The bounds on memory and time.
    most_bytes: u64,
    time: Option<Duration>,
    cut: OnceLock<Bound>,
    does_shift: bool,
    shifts: Shifts,
    is_unbounded: AtomicBool,
    /// Whether what is equal must also be shown alike.
    compares_shown: AtomicBool,
    gauge: Gauge,
}

impl<'a, P, M> Typed<'a, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    pub(crate) fn new(system: &'a System<P, M>, bounds: &Bounds) -> Self {
        let most_bytes = bounds.memory_bytes.unwrap_or(u64::MAX);
        let (shelf, cut, gauge) = (Parts::default(), OnceLock::new(), Gauge::new());
        // Other events have other fingerprints.
        for occasion in [Place::Nothing, Place::Start, Place::Crash, Place::Restart] {
            shelf.keep(Print::of(occasion, &()), Reserved);
        }
        let [is_unbounded, compares_shown] = [false; 2].map(AtomicBool::new);
        let time = bounds.time;
        let (does_shift, shifts) = (system.shifts(), Shifts::default());
        Self {
            system,
            shelf,
            most_bytes,
            time,
            cut,
            does_shift,
            shifts,
            is_unbounded,
            compares_shown,
            gauge,
        }
    }

    /// The bound that is hit, if any is, with so many bytes besides those counted.
    fn hit(&self, bytes: u64) -> Option<Bound> {
        if self.is_unbounded.load(Ordering::Relaxed) {
            return None;
        }
        self.gauge.look();
        let is_too_much = self.gauge.read(bytes + self.bytes()) > self.most_bytes;
        let is_too_late = self.time.is_some_and(|time| self.gauge.elapsed() >= time);
        let bound = match (is_too_much, is_too_late) {
            (true, _) => Bound::Memory,
            (false, true) => Bound::Time,
            (false, false) => return None,
        };
        // Several threads may report: the search ends either way.
        let _ = self.cut.set(bound);
        Some(bound)
    }

    /// The nodes before they start, and the monitor.
    pub(crate) fn first(&self) -> (Vec<Print>, Print) {
        let nodes = (0..).map(NodeId).zip(&self.system.nodes);
        let nodes = nodes.map(|(at, node)| self.keep_node(at, node.clone())).collect();
        (nodes, self.keep_monitor(self.system.monitor.clone()))
    }

    fn envelope(&self, print: Print) -> Arc<Envelope<P::Message, M::Tag>> {
        self.shelf.get(print)
    }

    pub(crate) fn letter(&self, print: Print) -> (NodeId, NodeId, P::Message) {
        let letter = self.envelope(print);
        (letter.from, letter.to, letter.message.clone())
    }

    pub(crate) fn command(&self, list: usize, given: u32) -> P::Command {
        let System { plan, demands, .. } = self.system;
        match &demands.beat {
            Some(beat) if list >= plan.lists() => beat.clone(),
            Some(_) | None => plan.command(list, given).clone(),
        }
    }

    pub(crate) fn timer(&self, print: Print) -> P::Timer {
        *self.shelf.get(print)
    }

    /// The effects of the event: the handler is run once more, with the same answers.
    pub(crate) fn effects(&self, it: &NodeEvent, choices: &[u32]) -> Vec<Effect<P>> {
        let Some((event, _)) = self.event(it.what) else { return Vec::new() };
        // A refusal has no effects; the violation tells of it.
        match handler_oracle::effects(&*self.shelf.get::<P>(it.node), event, choices) {
            (effects, Ok(())) => effects,
            (_, Err(Refused(_))) => Vec::new(),
        }
    }

    /// The print of a command of the plan.
    pub(crate) fn keep_command(&self, command: &P::Command) -> Print {
        self.shelf.keep(Print::of(Place::Command, command), command.clone())
    }

    fn keep_timer(&self, timer: P::Timer) -> Print {
        self.shelf.keep(Print::of(Place::Timer, &timer), timer)
    }

    fn keep_node(&self, at: NodeId, node: P) -> Print {
        self.shelf.keep(Print::of(Place::Node(at.index()), &node), node)
    }

    fn keep_letter(&self, letter: Envelope<P::Message, M::Tag>) -> Print {
        self.shelf.keep(Print::of(Place::Message, &letter), letter)
    }

    fn keep_monitor(&self, monitor: M) -> Print {
        self.shelf.keep(Print::of(Place::Monitor, &monitor), monitor)
    }

    /// The event as the handler sees it, and the tag of the message if one arrives; a crash has no
    /// handler.
    fn event(&self, what: EventKind) -> Option<(Event<P>, M::Tag)> {
        let event = match what {
            EventKind::Start => Event::Start,
            EventKind::Restart => Event::Restart,
            EventKind::Nothing | EventKind::Crash => return None,
            EventKind::Command { list, given } => Event::Command(self.command(list, given)),
            EventKind::Envelope(print) => {
                let letter = self.shelf.get::<Envelope<P::Message, M::Tag>>(print);
                let event = Event::Message { from: letter.from, message: letter.message.clone() };
                return Some((event, letter.tag.clone()));
            }
            EventKind::Timer(print) => Event::Timer(self.timer(print)),
        };
        Some((event, M::Tag::default()))
    }

    /// Lets the node handle what happens, and then shows the monitor all of it.
    fn run(
        &self,
        choices: &mut Choices,
        it: &NodeEvent,
        event: &Event<P>,
        tag: &M::Tag,
    ) -> Result<Handled, Violation> {
        let node = self.shelf.get::<P>(it.node);
        let deed = handler_oracle::act(it.at, &*node, event, choices)?;
        let made = choices.made();
        if self.does_shift {
            commutes(it.at, &*node, event, &deed, &made)?;
        }
        self.judge(it, || self.show(it, event, tag, &deed, &made))
    }

    /// The node as it would restart after a crash.
    fn crash(&self, it: &NodeEvent) -> Result<Handled, Violation> {
        let (node, fresh) = (self.shelf.get::<P>(it.node), &self.system.nodes[it.at.index()]);
        let kept = handler_oracle::remains(it.at, &*node, fresh)?;
        self.judge(it, || {
            let mut monitor = M::clone(&self.shelf.get(it.monitor));
            monitor.on_crash(it.at);
            let (node, monitor) = (self.keep_node(it.at, kept.clone()), self.keep_monitor(monitor));
            let mut rest = Rest::default();
            if self.compares_shown.load(Ordering::Relaxed) {
                rest.violation = self.shown_alike(it.at, node, &kept).err();
            }
            Handled::new(it, node, monitor, Vec::new(), false, rest)
        })
    }

    /// Lets the monitor see the same twice: it too must do the same again, and not panic.
    fn judge(&self, it: &NodeEvent, show: impl Fn() -> Handled) -> Result<Handled, Violation> {
        let told = catch_panic(|| {
            equal_to_its_copy(&"the monitor", &*self.shelf.get::<M>(it.monitor))?;
            let (handled, again) = (show(), show());
            if handled == again {
                return Ok(handled);
            }
            let what = format!(
                "the monitor is not deterministic: shown the same of node {} once more, it \
                 became {:?}, not {:?}, or judged or marked a message in another way",
                it.at,
                self.shelf.get::<M>(again.monitor),
                self.shelf.get::<M>(handled.monitor),
            );
            Err(Violation { property: "determinism", what })
        });
        told.unwrap_or_else(|panic| Err(panicked(&"the monitor", &panic)))
    }

    /// Shows the monitor what happened to a node and what the node did.
    fn show(
        &self,
        it: &NodeEvent,
        event: &Event<P>,
        tag: &M::Tag,
        deed: &HandlerResult<P>,
        choices: &[u32],
    ) -> Handled {
        let mut monitor = M::clone(&self.shelf.get(it.monitor));
        let objection = match event {
            Event::Start | Event::Timer(_) => None,
            Event::Restart => {
                monitor.on_restart(it.at);
                None
            }
            // If the node refuses it, the run ends, whatever the monitor says.
            Event::Command(command) => monitor.on_command(it.at, command).err(),
            Event::Message { .. } => {
                monitor.on_receive(it.at, tag);
                None
            }
        };
        let mut ledger = Ledger {
            at: it.at,
            machine: self,
            monitor,
            sent: Vec::new(),
            timers: Vec::new(),
            heard: false,
            violation: objection,
        };
        deed.effects.iter().for_each(|effect| ledger.enter(effect));
        if let Err(Refused(why)) = deed.result {
            ledger.violation = Some(Violation {
                property: "refused",
                what: format!("node {} refused a command of the plan: {why}", it.at),
            });
        }
        let Ledger { monitor, sent, timers, heard, mut violation, .. } = ledger;
        let node = self.keep_node(it.at, deed.node.clone());
        let kept = self.keep_monitor(monitor.clone());
        if self.compares_shown.load(Ordering::Relaxed) {
            let alike = self.shown_alike(it.at, node, &deed.node);
            let alike = alike.and_then(|()| {
                handler_oracle::shown_alike(&"the monitor", &*self.shelf.get::<M>(kept), &monitor)
            });
            violation = violation.or(alike.err());
        }
        let rest = Rest { choices: choices.to_vec(), timers, violation };
        Handled::new(it, node, kept, sent, heard, rest)
    }

    fn shown_alike(&self, at: NodeId, kept: Print, node: &P) -> Result<(), Violation> {
        handler_oracle::shown_alike(&format_args!("node {at}"), &*self.shelf.get::<P>(kept), node)
    }
}

impl<P, M> Machine for Typed<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    fn handle(&self, it: &NodeEvent) -> Result<Vec<Handled>, Cut> {
        let Some((event, tag)) = self.event(it.what) else {
            let failed = |violation| Handled::failed(it, Vec::new(), violation);
            let is_crash = matches!(it.what, EventKind::Crash);
            let handled = if is_crash { self.crash(it) } else { Ok(Handled::nothing(it)) };
            return Ok(vec![handled.unwrap_or_else(failed)]);
        };
        let (mut all, mut bytes) = (Vec::new(), 0);
        let mut choices = Choices::default();
        loop {
            let handled = self.run(&mut choices, it, &event, &tag);
            let failed = |violation| Handled::failed(it, choices.made(), violation);
            let handled = handled.unwrap_or_else(failed);
            bytes += handled.bytes() as u64;
            all.push(handled);
            let bound = self.hit(bytes);
            // A handler that chooses differently each time may choose for ever.
            if choices.has_strayed() || !choices.advance() {
                return Ok(all);
            }
            if let Some(bound) = bound {
                return Err(Cut(bound));
            }
        }
    }

    fn at_rest(&self, monitor: Print) -> Result<(), Violation> {
        let monitor = self.shelf.get::<M>(monitor);
        let told = catch_panic(|| {
            let judge = || {
                monitor.at_rest()?;
                match monitor.obligations().first() {
                    None => Ok(()),
                    Some(&Obligation { to, property }) => {
                        let what =
                            format!("nothing more is bound to happen, and node {to} still waits");
                        Err(Violation { property, what })
                    }
                }
            };
            let (judged, again) = (judge(), judge());
            if judged == again {
                return judged;
            }
            let what = format!("the monitor {monitor:?} judges rest now like this, now like that");
            Err(Violation { property: "determinism", what })
        });
        told.unwrap_or_else(|panic| Err(panicked(&"the monitor", &panic)))
    }

    fn dues(&self, monitor: Print) -> Obligations {
        let monitor = self.shelf.get::<M>(monitor);
        let told = catch_panic(|| Obligations::new(monitor.obligations(), monitor.at_rest().err()));
        told.unwrap_or_else(|panic| {
            Obligations::new(Vec::new(), Some(panicked(&"the monitor", &panic)))
        })
    }

    fn dues_again(&self, monitor: Print) -> Result<(), Violation> {
        let (dues, again) = (self.dues(monitor), self.dues(monitor));
        if dues == again {
            return Ok(());
        }
        let monitor = self.shelf.get::<M>(monitor);
        let what = format!(
            "the monitor {monitor:?} is not deterministic: asked once more what is owed, it said \
             {again}, not {dues}"
        );
        Err(Violation { property: "determinism", what })
    }

    fn compare_shown(&self, does: bool) {
        self.compares_shown.store(does, Ordering::Relaxed);
    }

    fn is_guarded(&self) -> bool {
        !self.system.demands.invariants.is_empty()
    }

    fn judge(&self, nodes: &[Print], down: Down, letters: &[Print]) -> Result<(), Violation> {
        let nodes: Vec<Arc<P>> = nodes.iter().map(|&it| self.shelf.get(it)).collect();
        let letter = |&it| self.shelf.get::<Envelope<P::Message, M::Tag>>(it);
        let letters: Vec<_> = letters.iter().map(letter).collect();
        let situation = Situation::new(
            nodes.iter().map(|it| &**it).collect(),
            (0..nodes.len() as u32).map(NodeId).filter(|&it| down.has(it)).collect(),
            letters.iter().map(|it| (it.from, it.to, &it.message)).collect(),
        );
        let told = catch_panic(|| situation.judge(&self.system.demands.invariants));
        told.unwrap_or_else(|panic| Err(panicked(&"an invariant", &panic)))
    }

    fn counts(&self, part: Part) -> Arc<Counts> {
        self.shifts.counts(part, |see| match part {
            Part::Node(_, print) => P::clone(&self.shelf.get(print)).counters(see),
            Part::Letter(print) => {
                let (from, to, mut message) = self.letter(print);
                message.counters(from, to, see);
            }
        })
    }

    fn lowered(&self, part: Part, lowering: &Lowering) -> Print {
        let ours = self.counts(part);
        // What is not in it makes no difference.
        let is_ours = |it: &&(Counter, u64, u64)| ours.binary_search(&(it.0, it.1)).is_ok();
        let lowering = lowering.iter().filter(is_ours).copied().collect();
        self.shifts.lowered(part, lowering, |lower| match part {
            Part::Node(at, print) => {
                let mut node = P::clone(&self.shelf.get(print));
                node.counters(lower);
                self.keep_node(at, node)
            }
            Part::Letter(print) => {
                let mut letter = Envelope::clone(&self.envelope(print));
                letter.message.counters(letter.from, letter.to, lower);
                self.keep_letter(letter)
            }
        })
    }

    fn bytes(&self) -> u64 {
        self.shelf.bytes()
    }

    fn cut(&self) -> Option<Bound> {
        self.cut.get().copied()
    }

    fn lift_bounds(&self) {
        self.is_unbounded.store(true, Ordering::Relaxed);
    }

    fn gauge(&self) -> &Gauge {
        &self.gauge
    }
}

/// Takes down a node's effects.
struct Ledger<'s, P: Protocol, M> {
    at: NodeId,
    machine: &'s Typed<'s, P, M>,
    monitor: M,
    sent: Vec<Flying>,
    timers: Vec<TimerChange>,
    heard: bool,
    /// The first objection is the one reported.
    violation: Option<Violation>,
}

impl<P, M> Ledger<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    fn enter(&mut self, effect: &Effect<P>) {
        match effect {
            Effect::Send { to, message } => self.send(*to, message),
            Effect::SetTimer { timer, delay } => {
                self.timers.push(TimerChange::Set(self.machine.keep_timer(*timer), *delay));
            }
            Effect::CancelTimer(timer) => {
                self.timers.push(TimerChange::Cancel(self.machine.keep_timer(*timer)));
            }
            Effect::Notify(notice) => {
                self.heard = true;
                if self.violation.is_none() {
                    self.violation = self.monitor.on_notice(self.at, notice).err();
                }
            }
        }
    }

    fn send(&mut self, to: NodeId, message: &P::Message) {
        let from = self.at;
        let System { nodes, demands, .. } = self.machine.system;
        let is_there = to.index() < nodes.len();
        let graph = demands.graph.as_ref().filter(|_| from != to);
        let is_linked = graph.is_none_or(|graph| graph.has(from, to));
        if !is_there || !is_linked {
            let why = if is_there { "to which it has no link" } else { "which is not there" };
            let what = format!("node {from} sent {message} to node {to}, {why}");
            self.violation.get_or_insert(Violation { property: "stray message", what });
            return;
        }
        let tag = self.monitor.on_send(from);
        let letter = Envelope { from, to, message: message.clone(), tag };
        let print = self.machine.keep_letter(letter);
        if self.machine.compares_shown.load(Ordering::Relaxed) && self.violation.is_none() {
            let kept = self.machine.letter(print).2;
            self.violation = handler_oracle::shown_alike(&"a message", &kept, message).err();
        }
        self.sent.push(Flying { print, from, to });
    }
}
