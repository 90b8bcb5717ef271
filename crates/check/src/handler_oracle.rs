//! The effects of handlers: each is run twice, and must do the same.
//!
//! A search that remembers what handlers did stands and falls with their doing the same again. So
//! each is run a second time, from an equal node and with equal answers to its choices. A node that
//! tosses a coin of its own, looks at a clock or counts in a static is found out where it first
//! does something else.

use std::fmt::Debug;
use std::num::NonZeroU32;

use vorrang_protocol::{Effect, Event, NodeId, Outbox, Protocol, Refused, Violation};

use crate::catch_panic::catch_panic;
use crate::choices::Choices;
use crate::fingerprint::{Part, Print};

/// The result of a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HandlerResult<P: Protocol> {
    pub(crate) node: P,
    pub(crate) effects: Vec<Effect<P>>,
    pub(crate) result: Result<(), Refused>,
}

/// Lets the node handle the event, with the answers that are due.
pub(crate) fn act<P: Protocol>(
    at: NodeId,
    node: &P,
    event: &Event<P>,
    choices: &mut Choices,
) -> Result<HandlerResult<P>, Violation> {
    let told = catch_panic(|| {
        equal_to_its_copy(&format_args!("node {at}"), node)?;
        equal_to_its_copy(&format_args!("what happens to node {at}"), event)?;
        let deed = run(node, event, |bound| choices.choose(bound));
        if choices.has_strayed() {
            return Err(undetermined(at, "it asked for another choice"));
        }
        let mut answers = choices.replay();
        let again = run(node, event, |bound| answers.choose(bound));
        if answers.has_strayed() {
            return Err(undetermined(at, "it asked for another choice"));
        }
        compare(at, &deed, &again)?;
        Ok(deed)
    });
    told.unwrap_or_else(|panic| Err(panicked(&format_args!("node {at}"), &panic)))
}

/// The node as it would restart after a crash.
pub(crate) fn remains<P: Protocol>(at: NodeId, node: &P, fresh: &P) -> Result<P, Violation> {
    let told = catch_panic(|| {
        equal_to_its_copy(&format_args!("node {at}"), node)?;
        let [first, second] = [node.after_crash(fresh.clone()), node.after_crash(fresh.clone())];
        if first != second {
            let what = format!("of a crash it kept {first:?}, then {second:?}");
            return Err(undetermined(at, &what));
        }
        Ok(first)
    });
    told.unwrap_or_else(|panic| Err(panicked(&format_args!("node {at}"), &panic)))
}

/// The effects of a handler that was run before, with these answers; if it panicked, those until
/// then.
pub(crate) fn effects<P: Protocol>(
    node: &P,
    event: Event<P>,
    choices: &[u32],
) -> (Vec<Effect<P>>, Result<(), Refused>) {
    let mut answers = choices.iter().copied();
    // A node that is not deterministic may ask more than it did.
    let mut outbox = Outbox::new(|_| answers.next().unwrap_or(0));
    let result = catch_panic(|| node.clone().handle(event, &mut outbox)).unwrap_or(Ok(()));
    (outbox.take(), result)
}

/// The violation of a handler that panics.
pub(crate) fn panicked(who: &dyn std::fmt::Display, panic: &str) -> Violation {
    Violation { property: "panic", what: format!("{who} panicked: {panic}") }
}

/// The violation of a handler that is not deterministic.
pub(crate) fn undetermined(at: NodeId, how: &str) -> Violation {
    let what = format!("node {at} is not deterministic: told the same once more, {how}");
    Violation { property: "determinism", what }
}

fn run<P: Protocol>(
    node: &P,
    event: &Event<P>,
    chooser: impl FnMut(NonZeroU32) -> u32,
) -> HandlerResult<P> {
    let mut node = node.clone();
    let mut outbox = Outbox::new(chooser);
    let result = node.handle(event.clone(), &mut outbox);
    HandlerResult { node, effects: outbox.take(), result }
}

fn compare<P: Protocol>(
    at: NodeId,
    one: &HandlerResult<P>,
    two: &HandlerResult<P>,
) -> Result<(), Violation> {
    let differ = |what: &str, one: &dyn Debug, two: &dyn Debug| {
        Err(undetermined(at, &format!("{what} {two:?}, not {one:?}")))
    };
    if one.result != two.result {
        return differ("it answered", &one.result, &two.result);
    }
    if one.effects != two.effects {
        return differ("it did", &one.effects, &two.effects);
    }
    if one.node != two.node {
        return differ("it became", &one.node, &two.node);
    }
    let print = |node: &P| Print::of(Part::Node(0), node);
    if print(&one.node) != print(&two.node) {
        return Err(undetermined(at, "it became an equal node with another hash"));
    }
    Ok(())
}

/// Objects to a value that its `Clone` changes or its `Eq` does not recognise.
pub(crate) fn equal_to_its_copy<T: Clone + Eq + Debug>(
    name: &dyn std::fmt::Display,
    value: &T,
) -> Result<(), Violation> {
    let copy = value.clone();
    if copy == *value {
        return Ok(());
    }
    let what = format!("{name} is not equal to a copy of itself: {value:?}, copied as {copy:?}");
    Err(Violation { property: "determinism", what })
}

/// Objects to a value that is equal to one kept before and shown in another way. Its `Eq` leaves
/// out something that its `Debug` does not, and what is left out may decide the future: the search
/// has followed only what comes of the one kept.
pub(crate) fn shown_alike<T: Debug>(
    name: &dyn std::fmt::Display,
    kept: &T,
    value: &T,
) -> Result<(), Violation> {
    let [one, other] = [kept, value].map(|it| format!("{it:?}"));
    if one == other {
        return Ok(());
    }
    let what = format!(
        "{name} is equal to another and not the same: {one}, and {other}; its Eq leaves something \
         out"
    );
    Err(Violation { property: "determinism", what })
}
