//! The lemmas of Singhal's paper, each under its own premises, and the theorem that they are for:
//! at rest all nodes stand in a row, and each marks just those behind whom it stands.
//!
//! Lectures after the paper prove that nobody is cut off from the token by showing that idle nodes
//! are *completely ordered*: |P| being how many nodes P does not mark, no two nodes have the same
//! |P|. The lemmas on the way speak of the past (who has entered exactly once, in which order, who
//! has never asked), which the algorithm itself does not remember. So nodes that are asked about
//! them remember when they last entered, and all other questions are as without it.
//!
//! - Lemma 1: the token marks only nodes that wait.
//! - Lemma 2: who never asked marks all who have entered, and is marked by none of them.
//! - Lemma 3: those who wait mark each other and the one inside, which marks them.
//! - Lemma 4: of two who have entered, the earlier marks the later, and not conversely.
//! - Lemma 5: those who never asked still stand as they did at first.
//! - Theorem: all are completely ordered, those who never asked as at first, then the others in the
//!   order of their entries.
//! - Total order: all are completely ordered.
//! - Errors 1 to 3: a node inside never knows that a request of another was served which its token
//!   takes for waiting (1), or a later one (2), or a later one than the last that its token knows
//!   of (3).
//!
//! The premises of 2, 4, 5 and of the theorem are that nobody has asked more than once and that
//! every REQUEST has arrived; for the theorem, besides, that nobody waits or is inside. Lemma 3
//! needs that every REQUEST has arrived and somebody is inside, the total order that every REQUEST
//! has arrived and nobody waits or is inside. Lemma 1 and the errors need nothing.
//!
//! An entry of a node that has the idle token is none of these entries: it asks nobody, and as long
//! as nobody else asks it leaves everything as it was. Premises say *every REQUEST has arrived*;
//! they do not say what has arrived before, and that is where the published rules go wrong: a
//! REQUEST that was overtaken by the token leaves no mark (the flaw `as-published`).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use vorrang_protocol::{
    DynEffects, Effects, Invariant, NodeId, NodeState, Protocol, Refused, Relay, Situation,
};

use super::singhal::{no_error_1, no_error_2, no_error_3, only_those_who_wait};
use crate::flaw::{Flawed, Mistake};
use crate::mutex::Command;
use crate::mutex::singhal::{Message, Phase, Singhal};
use crate::recipe::Recipe;

/// No mistake: so that correct nodes are of the same type as those that make one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoMistake;

impl Mistake<Singhal> for NoMistake {}

/// A node that remembers when it last got the token that it had asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dated {
    node: Flawed<Singhal>,
    /// How many nodes stood before it at first.
    stair: u32,
    /// How many requests had been served when its own was.
    entered: Option<u64>,
}

/// The same nodes, each of which remembers, and the lemmas.
pub fn dated(recipe: Recipe<Flawed<Singhal>>) -> Recipe<Dated> {
    let recipe = Recipe::new(move |setup| {
        let (node, holder, size) = (recipe.nodes(setup)?, setup.holder.0, setup.group.size());
        let stair = move |me: NodeId| (me.0 + size - holder) % size;
        Ok(move |me| Dated { node: node(me), stair: stair(me), entered: None })
    });
    recipe.guarded(LEMMAS)
}

/// The lemmas and the theorem.
pub const LEMMAS: &[Invariant<Dated>] = &[
    Invariant { name: "lemma 1", holds: |at| only_those_who_wait(&within(at)) },
    Invariant { name: "lemma 2", holds: newcomers_mark_the_others },
    Invariant { name: "lemma 3", holds: those_who_wait_mark_each_other },
    Invariant { name: "lemma 4", holds: the_earlier_marks_the_later },
    Invariant { name: "lemma 5", holds: newcomers_stand_as_at_first },
    Invariant { name: "theorem", holds: in_a_row_after_one_entry_each },
    Invariant { name: "total order", holds: in_a_row },
    Invariant { name: "error 1", holds: |at| no_error_1(&within(at)) },
    Invariant { name: "error 2", holds: |at| no_error_2(&within(at)) },
    Invariant { name: "error 3", holds: |at| no_error_3(&within(at)) },
];

fn within<'a>(at: &Situation<'a, Dated>) -> Situation<'a, Singhal> {
    at.within(|it| it.node.node(), Some)
}

impl Dated {
    const fn known(&self) -> &Singhal {
        self.node.node()
    }

    fn marks(&self, other: NodeId) -> bool {
        self.known().known[other.index()].is_marked
    }

    /// How often it has asked.
    fn requests(&self) -> u64 {
        self.known().known[self.known().me.index()].number
    }

    const fn is_idle(&self) -> bool {
        matches!(self.known().phase, Phase::Outside | Phase::Holding(_))
    }
}

type Lemma = Result<(), String>;

/// Every REQUEST has arrived.
fn all_have_arrived(at: &Situation<'_, Dated>) -> bool {
    !at.messages().any(|(_, _, message)| matches!(message, Message::Request { .. }))
}

/// Nobody has asked twice, and every REQUEST has arrived.
fn once_each(at: &Situation<'_, Dated>) -> bool {
    all_have_arrived(at) && at.up().all(|(_, it)| it.requests() <= 1)
}

/// Nobody waits or is inside, and every REQUEST has arrived.
fn at_rest(at: &Situation<'_, Dated>) -> bool {
    all_have_arrived(at) && at.up().all(|(_, it)| it.is_idle())
}

/// Those who never asked: NP.
fn newcomers<'a>(at: &Situation<'a, Dated>) -> impl Iterator<Item = (NodeId, &'a Dated)> {
    at.up().filter(|(_, it)| it.requests() == 0)
}

/// Those who have asked, entered and left, each with when it entered: EP.
fn entered<'a>(at: &Situation<'a, Dated>) -> impl Iterator<Item = (NodeId, &'a Dated, u64)> {
    at.up().filter(|(_, it)| it.is_idle()).filter_map(|(id, it)| Some((id, it, it.entered?)))
}

/// Of two nodes the first marks the second, and not conversely.
fn marks_only(one: (NodeId, &Dated), other: (NodeId, &Dated), why: &str) -> Lemma {
    match (one.1.marks(other.0), other.1.marks(one.0)) {
        (true, false) => Ok(()),
        (false, _) => Err(format!("node {} does not mark node {}, {why}", one.0, other.0)),
        (true, true) => Err(format!("node {} marks node {} as well, {why}", other.0, one.0)),
    }
}

fn newcomers_mark_the_others(at: &Situation<'_, Dated>) -> Lemma {
    if !once_each(at) {
        return Ok(());
    }
    for newcomer in newcomers(at) {
        for (id, it, _) in entered(at) {
            marks_only(newcomer, (id, it), "which has entered while it never asked")?;
        }
    }
    Ok(())
}

fn those_who_wait_mark_each_other(at: &Situation<'_, Dated>) -> Lemma {
    let inside = || at.up().filter(|(_, it)| matches!(it.known().phase, Phase::Inside(_)));
    if !all_have_arrived(at) || inside().next().is_none() {
        return Ok(());
    }
    let waiting = || at.up().filter(|(_, it)| it.known().phase == Phase::Waiting);
    for (one, it) in waiting().chain(inside()) {
        for (other, _) in waiting().filter(|(other, _)| *other != one) {
            if !it.marks(other) {
                return Err(format!("node {one} does not mark node {other}, which waits"));
            }
        }
    }
    for ((one, it), (other, _)) in waiting().flat_map(|one| inside().map(move |it| (one, it))) {
        if !it.marks(other) {
            return Err(format!(
                "node {one} waits and does not mark node {other}, which is inside"
            ));
        }
    }
    Ok(())
}

fn the_earlier_marks_the_later(at: &Situation<'_, Dated>) -> Lemma {
    if !once_each(at) {
        return Ok(());
    }
    for (one, it, when) in entered(at) {
        for (other, later, _) in entered(at).filter(|(_, _, later)| *later > when) {
            marks_only((one, it), (other, later), "which entered later")?;
        }
    }
    Ok(())
}

fn newcomers_stand_as_at_first(at: &Situation<'_, Dated>) -> Lemma {
    if !once_each(at) {
        return Ok(());
    }
    for one in newcomers(at) {
        for other in newcomers(at).filter(|other| other.1.stair < one.1.stair) {
            marks_only(one, other, "and neither has ever asked")?;
        }
    }
    Ok(())
}

/// |P|: how many it does not mark.
fn unmarked(at: &Situation<'_, Dated>, id: NodeId) -> usize {
    (0..at.size() as u32).map(NodeId).filter(|&other| !at.node(id).marks(other)).count()
}

/// |P| grows from each to the next.
fn grows(at: &Situation<'_, Dated>, row: &[NodeId]) -> Lemma {
    let counts: Vec<usize> = row.iter().map(|&id| unmarked(at, id)).collect();
    if counts.is_sorted_by(|one, next| one < next) {
        return Ok(());
    }
    let row: Vec<u32> = row.iter().map(|id| id.0).collect();
    Err(format!("nodes {row:?} do not mark {counts:?} nodes, which should be 1, 2, 3, …"))
}

fn in_a_row_after_one_entry_each(at: &Situation<'_, Dated>) -> Lemma {
    if !once_each(at) || !at_rest(at) {
        return Ok(());
    }
    let mut newcomers: Vec<NodeId> = newcomers(at).map(|(id, _)| id).collect();
    newcomers.sort_unstable_by_key(|&id| Reverse(at.node(id).stair));
    let mut others: Vec<(u64, NodeId)> = entered(at).map(|(id, _, when)| (when, id)).collect();
    others.sort_unstable();
    newcomers.extend(others.iter().map(|(_, id)| *id));
    grows(at, &newcomers)
}

fn in_a_row(at: &Situation<'_, Dated>) -> Lemma {
    if !at_rest(at) {
        return Ok(());
    }
    let mut row: Vec<NodeId> = at.up().map(|(id, _)| id).collect();
    row.sort_unstable_by_key(|&id| unmarked(at, id));
    grows(at, &row)
}

impl Protocol for Dated {
    type Message = Message;
    type Timer = <Singhal as Protocol>::Timer;
    type Command = <Singhal as Protocol>::Command;
    type Notice = <Singhal as Protocol>::Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_command(command, &mut DynEffects(fx))
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        // Of every node the token has the last request that it knows of, and whether that waits.
        let served = match &message {
            Message::Token(token) => {
                token.0.iter().map(|it| it.number.saturating_sub(it.is_marked.into())).sum()
            }
            Message::Request { .. } => 0,
        };
        let waited = self.known().phase == Phase::Waiting;
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_message(from, message, &mut DynEffects(fx));
        if waited && matches!(self.known().phase, Phase::Inside(_)) {
            self.entered = Some(served);
        }
    }

    fn state(&self) -> NodeState {
        self.node.state().with("entered", self.entered)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Group, NodeSet};

    use super::*;
    use crate::setup::Setup;

    /// Three nodes as they are at first, and one of them changed.
    fn judged(change: impl Fn(&mut [Singhal])) -> Vec<&'static str> {
        let setup = Setup { holder: NodeId(1), ..Setup::new(Group::of(3)) };
        let mut nodes: Vec<Singhal> =
            setup.group.members().map(|id| Singhal::of(id, &setup)).collect();
        change(&mut nodes);
        let dated: Vec<Dated> = nodes
            .into_iter()
            .zip([2, 0, 1])
            .map(|(node, stair)| {
                let entered = (node.known[node.me.index()].number > 0).then_some(0);
                Dated { node: Flawed::new(node, &NoMistake), stair, entered }
            })
            .collect();
        let at = Situation::new(dated.iter().collect(), NodeSet::EMPTY, Vec::new());
        LEMMAS.iter().filter(|it| (it.holds)(&at).is_err()).map(|it| it.name).collect()
    }

    #[test]
    fn at_first_all_hold() {
        assert!(judged(|_| {}).is_empty());
    }

    #[test]
    fn a_newcomer_that_marks_another_than_at_first_is_found_out() {
        let marks = |of: usize, other: usize, is_so: bool| {
            judged(move |nodes| nodes[of].known[other].is_marked = is_so)
        };
        // The staircase goes up from 1 over 2 to 0.
        assert_eq!(marks(0, 2, false), ["lemma 5", "theorem", "total order"]);
        assert_eq!(marks(2, 0, true), ["lemma 5", "theorem", "total order"]);
    }

    #[test]
    fn who_has_entered_must_be_marked_by_who_never_asked() {
        let entered = |marks: bool| {
            judged(move |nodes| {
                // Node 2 has entered and has the token.
                let Phase::Holding(token) = nodes[1].phase.clone() else { panic!("the holder") };
                (nodes[1].phase, nodes[2].phase) = (Phase::Outside, Phase::Holding(token));
                nodes[2].known[2].number = 1;
                nodes[2].known[1].is_marked = false;
                nodes[1].known[2].is_marked = marks;
            })
        };
        assert!(entered(true).is_empty());
        assert_eq!(entered(false), ["lemma 2", "theorem", "total order"]);
    }
}
