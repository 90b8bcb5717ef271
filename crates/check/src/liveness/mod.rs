//! Liveness: obligations are fulfilled, judged on the graph of all states, where a system may loop
//! for ever.
//!
//! # What must hold
//!
//! *Progress*: from every state with an open obligation, a state can be reached in which it is
//! fulfilled. The steps of that path are deliveries, timers, and commands that are bound to be
//! given; not faults, nor commands that an application may never give. So an obligation is not
//! fulfilled by a fault, by a restart, or by a later request of another node. Choices may fall as
//! needed: for a coin tossed again and again, more cannot be claimed.
//!
//! Where that path takes timers in an order that perhaps no clock allows, nothing is claimed
//! ([`Bound::Clocks`], [`clocks`]).
//!
//! *No starvation* ([`Liveness::Fair`]): besides, there is no run in which something is owed for
//! ever although the run is fair: every message arrives, every timer runs out unless it is set
//! again or cancelled, every command that is bound to be given is. Choices fall as badly as they
//! can.
//!
//! # Why most systems need no graph
//!
//! Suppose that neither holds for some debt, and that every state of rest was judged. The states
//! that owe it for ever are then no states of rest, so each has a step that counts, and it leads to
//! such a state again; there are finitely many, so there is a loop, and the debt is owed throughout
//! it. Faults are used up, and so are commands, unless an application asks for ever; so all its
//! steps are deliveries, timers, and such commands. Now take for every state its level in the
//! search. A step leads at most one level down; round the loop the levels come back to where they
//! were, so one of its steps leads to a state of the same or of an earlier level. The search sees
//! that step when it takes it, and sees that both ends owe the same
//! ([`may_close_a_loop`](crate::obligations::may_close_a_loop)). Where it never did, there is
//! nothing to look for; where it did, all states are visited once more and the graph is kept.
//!
//! States that a bound kept from being explored are taken to settle everything. The second pass is
//! within the same bounds on memory and time, and tells of its progress as the first does.

mod clocks;
mod fair;
mod graph;
mod loops;
mod trap;
mod watch;

use vorrang_protocol::Violation;

pub(crate) use graph::Graph;
pub(crate) use watch::Watch;

use crate::model::{Machine, Model};
use crate::obligations::PendingObligation;
use crate::report::Bound;
use crate::retrace::{Initial, Next, Way, retrace_round};
use crate::state_hash::StateHash;
use crate::step::Stepper;
use crate::system::Liveness;
use crate::table::Table;

/// A run that something is owed at the end of, and what it then goes through for ever.
struct Lasso {
    due: PendingObligation,
    /// Where the stem begins: a state that is reached by a shortest run.
    from: u32,
    /// From there to the loop.
    stem: Vec<Hop>,
    around: Vec<Hop>,
    is_trapped: bool,
}

/// A step of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hop {
    to: u32,
    label: u32,
}

/// Looks for something that is owed for ever, in all of the graph or in a part of it.
pub(crate) fn judge<T: StateHash>(
    model: Model<'_>,
    initial: Vec<Initial<T>>,
    table: &Table<T>,
    (graph, is_whole): (&Graph<T>, bool),
    watch: &mut Watch<'_, '_>,
) -> Result<Option<(Violation, Way)>, Bound> {
    let is_timely = model.pace.within_ns.is_some();
    let found = match (trap::find(graph, watch)?, model.liveness) {
        (None, Liveness::Fair) => fair::find(graph, watch)?,
        (found, Liveness::Possible | Liveness::Fair) => found,
    };
    let Some(found) = found else {
        let is_doubtful = match model.liveness {
            Liveness::Possible if is_whole => clocks::is_doubtful(graph, is_timely, watch)?,
            Liveness::Possible | Liveness::Fair => false,
        };
        return if is_doubtful { Err(Bound::Clocks) } else { Ok(None) };
    };
    let path = |hops: &[Hop]| -> Vec<Next<T>> {
        hops.iter().map(|it| (graph.print(it.to), Some(graph.label(it.label)))).collect()
    };
    let (from, stem, around) = (graph.print(found.from), path(&found.stem), path(&found.around));
    model.machine.lift_bounds();
    let mut stepper = Stepper::new(model);
    let parent = |it| table.parent(it);
    let rounds = (&stem[..], &around[..]);
    let way = match retrace_round(model, &mut stepper, initial, &parent, from, rounds) {
        // A loop up to a shift counts only if it can be gone in the numbers that a run has.
        Err(_) if model.shifts => return Err(Bound::Counters),
        // A run that cannot be followed again is shown as far as it can be.
        Ok(way) | Err(way) => way,
    };
    let violation = found.violation(model.machine, graph, &way);
    Ok(Some((violation, way)))
}

impl Lasso {
    fn violation<T: StateHash>(
        &self,
        machine: &dyn Machine,
        graph: &Graph<T>,
        way: &Way,
    ) -> Violation {
        let (round, all) = (self.around.len(), way.legs.len());
        let since = match all.saturating_sub(round + self.stem.len()) {
            1 => "1 step".to_owned(),
            count => format!("{count} steps"),
        };
        let steps = |count: usize| match count {
            1 => "the last step".to_owned(),
            _ => format!("the last {count} steps"),
        };
        let repeats = match round {
            0 => String::new(),
            _ => format!("; {} can repeat for ever", steps(round)),
        };
        match (self.due, self.is_trapped) {
            (PendingObligation::Obligation(debt), true) => Violation {
                property: debt.property,
                what: format!(
                    "after {since} nothing that is bound to happen can ever give node {} what \
                     it waits for{repeats}",
                    debt.to
                ),
            },
            (PendingObligation::Obligation(debt), false) => Violation {
                property: "no starvation",
                what: format!(
                    "node {} waits for ever, though every message arrives and every timer runs \
                     out{repeats}",
                    debt.to
                ),
            },
            (PendingObligation::Objection(property), is_trapped) => {
                let objection = machine.at_rest(graph.monitor(self.from)).err();
                let what = objection.map_or_else(String::new, |it| it.what);
                let since = if is_trapped { format!("after {since}, ") } else { String::new() };
                Violation { property, what: format!("{since}for ever: {what}{repeats}") }
            }
            (PendingObligation::Script, true) => Violation {
                property: "script",
                what: format!(
                    "after {since} the next command of the script can never be given, for the \
                     pause that it waits for never comes{repeats}"
                ),
            },
            (PendingObligation::Script, false) => Violation {
                property: "script",
                what: format!(
                    "after {since} the next command of the script may never be given, though every \
                     message arrives and every timer runs out: the pause that it waits for need \
                     not come{repeats}"
                ),
            },
        }
    }
}
