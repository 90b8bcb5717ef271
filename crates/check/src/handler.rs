//! What a node does when something happens to it, and what the monitor says to that.
//!
//! This depends on three things alone: the node, the monitor and what happens. Since few such
//! triples make up very many steps, each is worked out once and remembered.

use std::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, Event, Monitor, NodeId, Protocol, Refused, Violation};

use crate::channels::Flying;
use crate::choices::Choices;
use crate::fingerprint::{ByPrint, Print};
use crate::parts::{Letter, Parts};
use crate::timers::TimerChange;

/// Runs handlers, and remembers what came of it.
#[derive(Debug)]
pub(crate) struct Handlers<'a, P: Protocol, M: Monitor> {
    parts: &'a Parts<P, M>,
    /// How many nodes there are.
    size: usize,
    choices: Choices,
    known: ByPrint<Vec<Handled<P::Timer>>>,
}

/// What happened to a node.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) at: NodeId,
    pub(crate) node: Print,
    pub(crate) monitor: Print,
    /// The print of the event: of the letter that arrives, of the command, of the timer.
    pub(crate) event: Print,
}

/// What came of it, with one way to answer the choices in it.
#[derive(Clone, Debug)]
pub(crate) struct Handled<T> {
    pub(crate) choices: Vec<u32>,
    pub(crate) node: Print,
    pub(crate) monitor: Print,
    pub(crate) sent: Vec<Flying>,
    pub(crate) timers: Vec<TimerChange<T>>,
    /// Whether the application was told anything.
    pub(crate) heard: bool,
    /// What it violates. Then the run ends here.
    pub(crate) violation: Option<Violation>,
}

/// So many are remembered before all are forgotten: some tens of megabytes a thread.
const MOST_KNOWN: usize = 1 << 17;

impl<'a, P, M> Handlers<'a, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    pub(crate) fn new(parts: &'a Parts<P, M>, size: usize) -> Self {
        Self { parts, size, choices: Choices::default(), known: ByPrint::default() }
    }

    /// Every outcome of what happens: one for every answer to the choices in it. `event` is asked
    /// only if this has not happened before.
    pub(crate) fn handle(
        &mut self,
        it: &Happening,
        event: impl Fn(&Parts<P, M>) -> (Event<P>, M::Tag),
    ) -> &[Handled<P::Timer>] {
        let key = it.node.joined(it.monitor, it.event);
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let Self { parts, size, choices, known } = self;
        known.entry(key).or_insert_with(|| {
            let (event, tag) = event(parts);
            let mut all = Vec::new();
            choices.restart();
            loop {
                all.push(run(parts, *size, choices, it, event.clone(), &tag));
                if !choices.advance() {
                    return all;
                }
            }
        })
    }
}

/// Shows the monitor what happens, and then lets the node handle it.
fn run<P, M>(
    parts: &Parts<P, M>,
    size: usize,
    choices: &mut Choices,
    it: &Happening,
    event: Event<P>,
    tag: &M::Tag,
) -> Handled<P::Timer>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut node = P::clone(&parts.nodes.get(it.node));
    let mut monitor = M::clone(&parts.monitors.get(it.monitor));
    let objection = match &event {
        Event::Start | Event::Timer(_) => None,
        // Should the node refuse it, the run ends, whatever the monitor has seen.
        Event::Command(command) => monitor.on_command(it.at, command).err(),
        Event::Message { .. } => {
            monitor.on_receive(it.at, tag);
            None
        }
    };
    let mut sink = Sink {
        at: it.at,
        size,
        parts,
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
    Handled {
        choices: sink.choices.made(),
        node: parts.keep_node(it.at, node),
        monitor: parts.keep_monitor(sink.monitor),
        sent: sink.sent,
        timers: sink.timers,
        heard: sink.heard,
        violation: sink.violation,
    }
}

/// Takes down a node's effects.
struct Sink<'s, P: Protocol, M: Monitor> {
    at: NodeId,
    size: usize,
    parts: &'s Parts<P, M>,
    monitor: M,
    choices: &'s mut Choices,
    sent: Vec<Flying>,
    timers: Vec<TimerChange<P::Timer>>,
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
            to.index() < self.size,
            "node {from} sent {message:?} to node {to}, which is not there"
        );
        let tag = self.monitor.on_send(from);
        let letter = Letter { from, to, message, tag };
        let print = self.parts.keep_letter(letter);
        self.sent.push(Flying { print, from, to });
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.timers.push(TimerChange::Set(timer, delay));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.push(TimerChange::Cancel(timer));
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
