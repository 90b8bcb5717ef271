//! The one place where the search meets types.
//!
//! The search itself knows nodes, messages, timers and monitors by their fingerprints alone, and is
//! compiled once. What a node does when something happens to it is asked here, and only if it has
//! not happened before; so a call through a table of functions costs the search nothing, and an
//! algorithm costs the compiler little.

use std::num::NonZeroU32;
use std::sync::Arc;

use vorrang_protocol::{
    Debt, Delay, Effect, Effects, Event, Monitor, NodeId, Outbox, Protocol, Refused, Situation,
    Violation,
};

use crate::channels::{Flying, sum};
use crate::choices::Choices;
use crate::dues::Dues;
use crate::fingerprint::{Part, Print};
use crate::parts::Shelf;
use crate::state::Down;
use crate::system::System;
use crate::timers::TimerChange;

/// What the search asks of the system that it explores.
pub(crate) trait Machine: Sync {
    /// Every outcome of what happens to a node: one for every answer to the choices in it.
    fn handle(&self, it: &Happening) -> Vec<Handled>;
    /// Whether a system may be left like that.
    fn at_rest(&self, monitor: Print) -> Result<(), Violation>;
    /// What somebody waits for.
    fn dues(&self, monitor: Print) -> Dues;
    /// Whether there are invariants.
    fn is_guarded(&self) -> bool;
    /// Judges nodes, those down among them, and letters in flight by the invariants.
    fn judge(&self, nodes: &[Print], down: Down, letters: &[Print]) -> Result<(), Violation>;
    /// The memory that nodes, messages and monitors take.
    fn bytes(&self) -> u64;
}

/// What happened to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happening {
    pub(crate) at: NodeId,
    pub(crate) node: Print,
    pub(crate) monitor: Print,
    pub(crate) what: Occasion,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Occasion {
    /// A message to it is lost, or comes to it when it is down.
    Nothing,
    Start,
    Restart,
    Crash,
    /// This command of this list of the plan is given.
    Command {
        list: usize,
        given: u32,
    },
    /// The letter of this print arrives.
    Letter(Print),
    /// The timer of this print runs out.
    Timer(Print),
}

/// What came of it, with one way to answer the choices in it. What every step needs stands in it;
/// what few need lies elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Handled {
    pub(crate) node: Print,
    pub(crate) monitor: Print,
    /// By how much node and monitor change the print of a state.
    pub(crate) gain: Print,
    /// The sum of the prints of all that was sent.
    pub(crate) sum: Print,
    pub(crate) sent: Box<[Flying]>,
    /// Whether the application was told anything.
    pub(crate) heard: bool,
    rest: Option<Box<Rest>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Rest {
    choices: Vec<u32>,
    timers: Vec<TimerChange>,
    violation: Option<Violation>,
}

impl Handled {
    /// Nothing came of it.
    fn nothing(it: &Happening) -> Self {
        Self::new(it, it.node, it.monitor, Vec::new(), false, Rest::default())
    }

    fn new(
        it: &Happening,
        node: Print,
        monitor: Print,
        sent: Vec<Flying>,
        heard: bool,
        rest: Rest,
    ) -> Self {
        Self {
            node,
            monitor,
            gain: node - it.node + monitor - it.monitor,
            sum: sum(&sent),
            sent: sent.into(),
            heard,
            rest: (rest != Rest::default()).then(|| Box::new(rest)),
        }
    }

    pub(crate) fn choices(&self) -> &[u32] {
        self.rest.as_ref().map_or(&[], |it| &it.choices)
    }

    pub(crate) fn timers(&self) -> &[TimerChange] {
        self.rest.as_ref().map_or(&[], |it| &it.timers)
    }

    /// What it violates. Then the run ends here.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.rest.as_ref()?.violation.as_ref()
    }
}

/// A message and what surrounds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Letter<T, G> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) message: T,
    /// What rides along for the monitor.
    pub(crate) tag: G,
}

/// A system, and all the parts that its states are made of.
#[derive(Debug)]
pub(crate) struct Typed<'a, P: Protocol, M> {
    system: &'a System<P, M>,
    shelf: Shelf,
}

impl<'a, P, M> Typed<'a, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    pub(crate) fn new(system: &'a System<P, M>) -> Self {
        Self { system, shelf: Shelf::default() }
    }

    /// The nodes before they start, and the monitor.
    pub(crate) fn first(&self) -> (Vec<Print>, Print) {
        let nodes = (0..).map(NodeId).zip(&self.system.nodes);
        let nodes = nodes.map(|(at, node)| self.keep_node(at, node.clone())).collect();
        (nodes, self.keep_monitor(self.system.monitor.clone()))
    }

    pub(crate) fn letter(&self, print: Print) -> (NodeId, NodeId, P::Message) {
        let letter = self.shelf.get::<Letter<P::Message, M::Tag>>(print);
        (letter.from, letter.to, letter.message.clone())
    }

    pub(crate) fn command(&self, list: usize, given: u32) -> P::Command {
        self.system.plan.command(list, given).clone()
    }

    pub(crate) fn timer(&self, print: Print) -> P::Timer {
        *self.shelf.get(print)
    }

    /// What the node did: its handler is run once more, with the same answers.
    pub(crate) fn effects(&self, it: &Happening, choices: &[u32]) -> Vec<Effect<P>> {
        let Some((event, _)) = self.event(it.what) else { return Vec::new() };
        let mut node = P::clone(&self.shelf.get(it.node));
        let mut answers = choices.iter().copied();
        let mut outbox =
            Outbox::new(|_| answers.next().expect("the handler asks what it asked before"));
        // A refusal has no effects; the violation tells of it.
        match node.handle(event, &mut outbox) {
            Ok(()) => outbox.take(),
            Err(Refused(_)) => Vec::new(),
        }
    }

    fn keep_node(&self, at: NodeId, node: P) -> Print {
        self.shelf.keep(Print::of(Part::Node(at.index()), &node), node)
    }

    fn keep_monitor(&self, monitor: M) -> Print {
        self.shelf.keep(Print::of(Part::Monitor, &monitor), monitor)
    }

    /// What the node is told, and the tag of the message if one arrives; nobody is told of a crash.
    fn event(&self, what: Occasion) -> Option<(Event<P>, M::Tag)> {
        let event = match what {
            Occasion::Start => Event::Start,
            Occasion::Restart => Event::Restart,
            Occasion::Nothing | Occasion::Crash => return None,
            Occasion::Command { list, given } => Event::Command(self.command(list, given)),
            Occasion::Letter(print) => {
                let letter = self.shelf.get::<Letter<P::Message, M::Tag>>(print);
                let event = Event::Message { from: letter.from, message: letter.message.clone() };
                return Some((event, letter.tag.clone()));
            }
            Occasion::Timer(print) => Event::Timer(self.timer(print)),
        };
        Some((event, M::Tag::default()))
    }

    /// Shows the monitor what happens, and then lets the node handle it.
    fn run(&self, choices: &mut Choices, it: &Happening, event: Event<P>, tag: &M::Tag) -> Handled {
        let mut node = P::clone(&self.shelf.get(it.node));
        let mut monitor = M::clone(&self.shelf.get(it.monitor));
        let objection = match &event {
            Event::Start | Event::Timer(_) => None,
            Event::Restart => {
                monitor.on_restart(it.at);
                None
            }
            // Should the node refuse it, the run ends, whatever the monitor has seen.
            Event::Command(command) => monitor.on_command(it.at, command).err(),
            Event::Message { .. } => {
                monitor.on_receive(it.at, tag);
                None
            }
        };
        let mut sink = Sink {
            at: it.at,
            machine: self,
            monitor,
            choices,
            sent: Vec::new(),
            timers: Vec::new(),
            heard: false,
            violation: objection,
        };
        if let Err(Refused(why)) = node.handle(event, &mut sink) {
            sink.violation = Some(Violation {
                property: "refused",
                what: format!("node {} refused a command of the plan: {why}", it.at),
            });
        }
        let (node, monitor) = (self.keep_node(it.at, node), self.keep_monitor(sink.monitor));
        let Sink { choices, sent, timers, heard, violation, .. } = sink;
        let rest = Rest { choices: choices.made(), timers, violation };
        Handled::new(it, node, monitor, sent, heard, rest)
    }

    /// What is left of a node that crashes.
    fn crash(&self, it: &Happening) -> Handled {
        let mut monitor = M::clone(&self.shelf.get(it.monitor));
        monitor.on_crash(it.at);
        let kept = self.shelf.get::<P>(it.node).kept(self.system.nodes[it.at.index()].clone());
        let (node, monitor) = (self.keep_node(it.at, kept), self.keep_monitor(monitor));
        Handled::new(it, node, monitor, Vec::new(), false, Rest::default())
    }
}

impl<P, M> Machine for Typed<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    fn handle(&self, it: &Happening) -> Vec<Handled> {
        let Some((event, tag)) = self.event(it.what) else {
            let is_crash = matches!(it.what, Occasion::Crash);
            return vec![if is_crash { self.crash(it) } else { Handled::nothing(it) }];
        };
        let mut all = Vec::new();
        let mut choices = Choices::default();
        loop {
            all.push(self.run(&mut choices, it, event.clone(), &tag));
            if !choices.advance() {
                return all;
            }
        }
    }

    fn at_rest(&self, monitor: Print) -> Result<(), Violation> {
        let monitor = self.shelf.get::<M>(monitor);
        monitor.at_rest()?;
        match monitor.owed().first() {
            None => Ok(()),
            Some(&Debt { to, property }) => {
                let what = format!("nothing more is bound to happen, and node {to} still waits");
                Err(Violation { property, what })
            }
        }
    }

    fn dues(&self, monitor: Print) -> Dues {
        let monitor = self.shelf.get::<M>(monitor);
        Dues::new(monitor.owed(), monitor.at_rest().err())
    }

    fn is_guarded(&self) -> bool {
        !self.system.demands.invariants.is_empty()
    }

    fn judge(&self, nodes: &[Print], down: Down, letters: &[Print]) -> Result<(), Violation> {
        let nodes: Vec<Arc<P>> = nodes.iter().map(|&it| self.shelf.get(it)).collect();
        let letter = |&it| self.shelf.get::<Letter<P::Message, M::Tag>>(it);
        let letters: Vec<_> = letters.iter().map(letter).collect();
        let situation = Situation::new(
            nodes.iter().map(|it| &**it).collect(),
            (0..nodes.len() as u32).map(NodeId).filter(|&it| down.has(it)).collect(),
            letters.iter().map(|it| (it.from, it.to, &it.message)).collect(),
        );
        situation.judge(&self.system.demands.invariants)
    }

    fn bytes(&self) -> u64 {
        self.shelf.bytes()
    }
}

/// Takes down a node's effects.
struct Sink<'s, P: Protocol, M> {
    at: NodeId,
    machine: &'s Typed<'s, P, M>,
    monitor: M,
    choices: &'s mut Choices,
    sent: Vec<Flying>,
    timers: Vec<TimerChange>,
    heard: bool,
    violation: Option<Violation>,
}

impl<P, M> Effects<P> for Sink<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    fn send(&mut self, to: NodeId, message: P::Message) {
        let from = self.at;
        assert!(
            to.index() < self.machine.system.nodes.len(),
            "node {from} sent {message} to node {to}, which is not there"
        );
        let tag = self.monitor.on_send(from);
        let letter = Letter { from, to, message, tag };
        let print = self.machine.shelf.keep(Print::of(Part::Message, &letter), letter);
        self.sent.push(Flying { print, from, to });
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let print = self.machine.shelf.keep(Print::of(Part::Timer, &timer), timer);
        self.timers.push(TimerChange::Set(print, delay));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.push(TimerChange::Cancel(Print::of(Part::Timer, &timer)));
    }

    fn notify(&mut self, notice: P::Notice) {
        self.heard = true;
        // The first objection is the one reported.
        if self.violation.is_none() {
            self.violation = self.monitor.on_notice(self.at, &notice).err();
        }
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.choices.choose(bound)
    }
}
