//! The model that is searched: what can happen, what came of it, and the system behind both as a
//! trait object without types of the algorithm.

use std::fmt;
use std::sync::Arc;

use vorrang_protocol::{Counter, NodeId, Obligation, Violation};

use crate::channels::{Flying, sum};
use crate::fingerprint::Print;
use crate::memory::Gauge;
use crate::plan::Agenda;
use crate::report::Bound;
use crate::state::Down;
use crate::system::Liveness;
use crate::timers::{Pace, TimerChange};

/// Something that can happen in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// A node comes up. Not a step of a run: it makes the initial states.
    Start(NodeId),
    /// The next command of this list of the plan is given.
    Command { list: usize },
    /// The message at this place in flight arrives.
    Deliver { place: usize },
    /// A timer runs out.
    Fire { at: NodeId, timer: Print },
    /// A node crashes.
    Crash(NodeId),
    /// A node comes up again.
    Restart(NodeId),
    /// The message at this place is lost.
    Lose { place: usize },
    /// The message at this place arrives, and will arrive again.
    Duplicate { place: usize },
}

/// The model that is searched, without types of the algorithm.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) agenda: &'a Agenda,
    pub(crate) pace: Pace<'a>,
    pub(crate) liveness: Liveness,
    /// Whether states are the same if they differ in a shift of counters alone.
    pub(crate) shifts: bool,
}

/// A part of a state that may hold counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    Node(NodeId, Print),
    Letter(Print),
}

/// The counters in something, in order, none twice.
pub(crate) type Counts = Vec<(Counter, u64)>;

/// What becomes of each of these counters.
pub(crate) type Lowering = Vec<(Counter, u64, u64)>;

/// The system that the search explores, as a trait object.
pub(crate) trait Machine: Sync {
    /// Every outcome of what happens to a node: one for every answer to the choices in it. All of
    /// them, or none.
    fn handle(&self, it: &NodeEvent) -> Result<Vec<Handled>, Cut>;
    /// Whether a system may be left like that.
    fn at_rest(&self, monitor: Print) -> Result<(), Violation>;
    /// The open obligations.
    fn dues(&self, monitor: Print) -> Obligations;
    /// Objects to a monitor that lists other obligations when it is asked once more.
    fn dues_again(&self, monitor: Print) -> Result<(), Violation>;
    /// Says whether it is objected to nodes, messages and monitors that are equal to others and
    /// shown in another way: their `Eq` leaves something out.
    fn compare_shown(&self, does: bool);
    /// Whether there are invariants.
    fn is_guarded(&self) -> bool;
    /// Judges nodes, those down among them, and letters in flight by the invariants.
    fn judge(&self, nodes: &[Print], down: Down, letters: &[Print]) -> Result<(), Violation>;
    /// The counters in it.
    fn counts(&self, part: Part) -> Arc<Counts>;
    /// The print of the same with other counters: all that are in it must be among those lowered.
    fn lowered(&self, part: Part, lowering: &Lowering) -> Print;
    /// The memory that nodes, messages and monitors take.
    fn bytes(&self) -> u64;
    /// The bound that was hit within a handler, if any was: the search is to end.
    fn cut(&self) -> Option<Bound>;
    /// From here on nothing is cut: all that is left is to tell the run to what was found.
    fn lift_bounds(&self);
    /// The memory gauge of the process.
    fn gauge(&self) -> &Gauge;
}

/// A bound was hit before all outcomes of an event were known. Those that were known are no answer,
/// and nobody gets to see them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut(pub(crate) Bound);

/// An event at a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeEvent {
    pub(crate) at: NodeId,
    pub(crate) node: Print,
    pub(crate) monitor: Print,
    pub(crate) what: EventKind,
}

/// The kinds of events at a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventKind {
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
    Envelope(Print),
    /// The timer of this print runs out.
    Timer(Print),
}

/// The result of an event, with one answer to each of its choices. Data that every step needs is
/// inline; rare data is stored elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
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
pub(crate) struct Rest {
    pub(crate) choices: Vec<u32>,
    pub(crate) timers: Vec<TimerChange>,
    pub(crate) violation: Option<Violation>,
}

impl Handled {
    /// Nothing came of it.
    pub(crate) fn nothing(it: &NodeEvent) -> Self {
        Self::new(it, it.node, it.monitor, Vec::new(), false, Rest::default())
    }

    /// Something went wrong before anything came of it.
    pub(crate) fn failed(it: &NodeEvent, choices: Vec<u32>, violation: Violation) -> Self {
        let rest = Rest { choices, timers: Vec::new(), violation: Some(violation) };
        Self::new(it, it.node, it.monitor, Vec::new(), false, rest)
    }

    pub(crate) fn new(
        it: &NodeEvent,
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

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let rest = self.rest.as_ref().map_or(0, |it| {
            size_of::<Rest>()
                + size_of_val(&it.choices[..])
                + size_of_val(&it.timers[..])
                + it.violation.as_ref().map_or(0, |it| it.what.len())
        });
        size_of::<Self>() + size_of_val(&*self.sent) + rest
    }

    /// The violation, if any. Then the run ends here.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.rest.as_ref()?.violation.as_ref()
    }
}

/// The obligations that the monitor lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Obligations {
    /// Each once, in order.
    pub(crate) owed: Vec<Obligation>,
    /// The violation that it would report at rest, if any.
    pub(crate) objection: Option<&'static str>,
}

impl Obligations {
    pub(crate) fn new(mut owed: Vec<Obligation>, objection: Option<Violation>) -> Self {
        owed.sort_unstable();
        owed.dedup();
        Self { owed, objection: objection.map(|it| it.property) }
    }

    /// The property that would be violated at rest, if that is not about a debt.
    pub(crate) fn other_objection(&self) -> Option<&'static str> {
        self.objection.filter(|&it| self.owed.iter().all(|debt| debt.property != it))
    }

    /// Whether a loop through two such states may leave an obligation open throughout.
    pub(crate) fn share(&self, other: &Self) -> bool {
        // A state with an objection of its own may lie elsewhere on the way into the loop.
        let objects = self.objection.is_some() && other.objection.is_some();
        objects || self.owed.iter().any(|it| other.owed.contains(it))
    }
}

/// As a person would list them.
impl fmt::Display for Obligations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owed = self.owed.iter().map(|it| format!("{} to node {}", it.property, it.to));
        let objection = self.objection.iter().map(|it| format!("an objection by {it}"));
        let all: Vec<String> = owed.chain(objection).collect();
        f.write_str(if all.is_empty() { "nothing" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}
