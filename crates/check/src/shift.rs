//! Counters of nodes and messages: read, lowered, and raised to see whether handlers care.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use vorrang_protocol::{
    Counter, CounterVisitor, Effect, Event, Message as _, NodeId, Outbox, Protocol, Violation,
};

use crate::catch_panic::catch_panic;
use crate::fingerprint::Print;
use crate::handler_oracle::{HandlerResult, panicked};
use crate::model::{Counts, Lowering, Part};

/// The counters of all parts that were asked about.
#[derive(Debug, Default)]
pub(crate) struct Shifts {
    counts: Mutex<HashMap<Part, Arc<Counts>>>,
    lowered: Mutex<HashMap<(Part, Lowering), Print>>,
}

const NO_PANIC: &str = "no thread panics while it looks up counters";

impl Shifts {
    /// The counters in a part, which shows them to whoever asks.
    pub(crate) fn counts(&self, part: Part, show: impl FnOnce(CounterVisitor<'_>)) -> Arc<Counts> {
        if let Some(counts) = self.counts.lock().expect(NO_PANIC).get(&part) {
            return Arc::clone(counts);
        }
        let mut counts = Counts::new();
        show(&mut |counter, number| counts.push((counter, *number)));
        counts.sort_unstable();
        counts.dedup();
        let counts = Arc::new(counts);
        self.counts.lock().expect(NO_PANIC).insert(part, Arc::clone(&counts));
        counts
    }

    /// The print of a part with these counters lowered, which it keeps if it is asked to.
    pub(crate) fn lowered(
        &self,
        part: Part,
        lowering: Lowering,
        keep: impl FnOnce(CounterVisitor<'_>) -> Print,
    ) -> Print {
        let key = (part, lowering);
        if let Some(print) = self.lowered.lock().expect(NO_PANIC).get(&key) {
            return *print;
        }
        let print = keep(&mut |counter, number| *number = moved(&key.1, counter, *number));
        self.lowered.lock().expect(NO_PANIC).insert(key, print);
        print
    }
}

/// What becomes of a counter. One that is not listed is larger than all that are, as one that was
/// just counted, and stays as far ahead.
fn moved(moves: &Lowering, counter: Counter, number: u64) -> u64 {
    let ours = moves.iter().filter(|it| it.0 == counter);
    let before = ours.take_while(|it| it.1 <= number).last();
    before.map_or(number, |(_, old, new)| new + (number - old))
}

/// How counters are changed in a way that does not matter, to see whether a handler then does the
/// same: all of a class are raised, a little or much and each class by another number, and numbers
/// of requests that are not each other's next are moved apart.
fn raising(counts: &Counts, round: u64) -> Lowering {
    let mut raising = Lowering::with_capacity(counts.len());
    for &(counter, number) in counts {
        let before = raising.last().filter(|it: &&(Counter, u64, u64)| it.0 == counter);
        let raised = match (counter, before) {
            (Counter::Common, None) => number + [1, 1_000_003][round as usize],
            (Counter::Of(owner) | Counter::Ranked(owner) | Counter::Sequence(owner), None) => {
                let owner = u64::from(owner.0);
                number + [2 + owner, 1_000_003 + 101 * owner][round as usize]
            }
            (_, Some((_, old, new))) => {
                let gap = number - old;
                let apart = match counter {
                    Counter::Common | Counter::Sequence(_) => 0,
                    Counter::Of(_) => u64::from(gap > 1),
                    Counter::Ranked(_) => 1,
                };
                new + gap + 5 * round * apart
            }
        };
        raising.push((counter, number, raised));
    }
    raising
}

/// Objects to a handler that does not do the same with higher counters.
pub(crate) fn commutes<P: Protocol>(
    at: NodeId,
    node: &P,
    event: &Event<P>,
    deed: &HandlerResult<P>,
    choices: &[u32],
) -> Result<(), Violation> {
    let told =
        catch_panic(|| (0..2).try_for_each(|round| compare(at, node, event, deed, choices, round)));
    told.unwrap_or_else(|panic| Err(panicked(&format_args!("node {at}"), &panic)))
}

fn compare<P: Protocol>(
    at: NodeId,
    node: &P,
    event: &Event<P>,
    deed: &HandlerResult<P>,
    choices: &[u32],
    round: u64,
) -> Result<(), Violation> {
    let mut counts = Counts::new();
    let mut see = |counter: Counter, number: &mut u64| counts.push((counter, *number));
    node.clone().counters(&mut see);
    if let Event::Message { from, message } = event {
        message.clone().counters(*from, at, &mut see);
    }
    counts.sort_unstable();
    counts.dedup();
    let raising = raising(&counts, round);
    if raising.is_empty() {
        return Ok(());
    }
    let mut up = |counter: Counter, number: &mut u64| *number = moved(&raising, counter, *number);
    let mut higher = node.clone();
    higher.counters(&mut up);
    let told = match event.clone() {
        Event::Message { from, mut message } => {
            message.counters(from, at, &mut up);
            Event::Message { from, message }
        }
        event @ (Event::Start | Event::Restart | Event::Command(_) | Event::Timer(_)) => event,
    };
    let mut expected = deed.clone();
    expected.node.counters(&mut up);
    for effect in &mut expected.effects {
        match effect {
            Effect::Send { to, message } => message.counters(at, *to, &mut up),
            Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Notify(_) => {}
        }
    }
    let mut answers = choices.iter().copied();
    let mut outbox = Outbox::new(|_| answers.next().unwrap_or(0));
    let result = higher.handle(told, &mut outbox);
    let found = HandlerResult { node: higher, effects: outbox.take(), result };
    if found == expected {
        return Ok(());
    }
    let what = format!(
        "node {at} does something else where counters differ in nothing that matters: it came to \
         {found:?}, not to {expected:?}; so they are no counters"
    );
    Err(Violation { property: "counters", what })
}
