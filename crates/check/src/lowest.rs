//! States up to what does not matter about counters: of all that differ in it alone, the lowest.
//!
//! Where an application asks for ever, clocks and numbers of requests grow for ever. A machine that
//! declares them ([`Counter`](vorrang_protocol::Counter)) does the same with others of which only
//! the differences are the same, or, of numbers of requests, the order and which is the next of
//! which. So a state stands for all that differ from it in nothing else; the search keeps the one
//! with the lowest counters. A run is told in the numbers that it really has:
//! [`retrace`](crate::retrace) follows it as it is.

use vorrang_protocol::{Counter, NodeId};

use crate::channels::{Flying, arrange};
use crate::fingerprint::Print;
use crate::model::{Counts, Lowering, Machine, Model, Part};
use crate::state::{State, States};
use crate::state_hash::StateHash;

/// The lowest of all states that differ from this one in counters alone; nothing if it is itself.
pub(crate) fn lowest<T: StateHash>(model: Model<'_>, state: &State<'_, T>) -> Option<States<T>> {
    let machine = model.machine;
    let nodes = || (0..).map(NodeId).zip(state.nodes).map(|(at, &node)| Part::Node(at, node));
    let letters = state.flight.iter().map(|it| Part::Letter(it.print));
    let mut counts = Counts::new();
    for part in nodes().chain(letters) {
        counts.extend_from_slice(&machine.counts(part));
    }
    let lowering = lowering(counts);
    if lowering.iter().all(|(_, old, new)| old == new) {
        return None;
    }
    let nodes = nodes().map(|part| machine.lowered(part, &lowering)).collect();
    let lowered = |it: Flying| {
        let print = machine.lowered(Part::Letter(it.print), &lowering);
        Flying { print, ..it }
    };
    let mut flight: Vec<Flying> = state.flight.iter().map(lowered).collect();
    arrange(&mut flight, model.pace.order);
    Some(States::like(state, nodes, flight, model.pace.order))
}

/// The print of that state.
pub(crate) fn lowest_print<T: StateHash>(model: Model<'_>, state: &State<'_, T>) -> T {
    lowest(model, state).map_or(state.print, |it| it.at(0).print)
}

/// What a message has in common with all that differ from it in counters alone.
pub(crate) fn lowest_letter(machine: &dyn Machine, letter: Print) -> Print {
    let part = Part::Letter(letter);
    machine.lowered(part, &lowering(Counts::clone(&machine.counts(part))))
}

/// The lowest counters that differ from these in nothing that matters. The lowest of each class
/// becomes 0. Times keep their distances; of numbers of requests it matters at most whether one is
/// the next after another.
pub(crate) fn lowering(mut counts: Counts) -> Lowering {
    counts.sort_unstable();
    counts.dedup();
    let mut lowering = Lowering::with_capacity(counts.len());
    for (counter, number) in counts {
        let before = lowering.last().filter(|it: &&(Counter, u64, u64)| it.0 == counter);
        let lowered = before.map_or(0, |&(_, old, new)| {
            new + match counter {
                Counter::Common | Counter::Sequence(_) => number - old,
                Counter::Of(_) => (number - old).min(2),
                Counter::Ranked(_) => 1,
            }
        });
        lowering.push((counter, number, lowered));
    }
    lowering
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_distances_and_numbers_whether_they_are_the_next() {
        let (time, number) = (Counter::Common, Counter::Of(NodeId(1)));
        let counts = vec![(time, 17), (number, 4), (time, 9), (number, 5), (number, 99), (time, 9)];
        let expected =
            vec![(time, 9, 0), (time, 17, 8), (number, 4, 0), (number, 5, 1), (number, 99, 3)];
        assert_eq!(lowering(counts), expected);
        let of = Counter::Sequence(NodeId(0));
        let expected = vec![(of, 7, 0), (of, 8, 1), (of, 12, 5)];
        assert_eq!(lowering(vec![(of, 12), (of, 7), (of, 8)]), expected, "all distances");
    }
}
