//! The direct rebuild: what the nodes of an algorithm are if those who are inside when a view
//! begins, and then those who wait, have asked already.
//!
//! Every member knows these, so each can simulate it alone: it makes *all* nodes of the view, lets
//! them ask one after the other, delivers every message at once, and keeps the node that is its
//! own. All do the same with the same result, so together they are in a reachable state of the
//! algorithm, with no message in flight; and no message was sent.
//!
//! That is exact only if the algorithm comes to rest by itself, without time and without chance.
//! Otherwise, or where it would take too long, those who wait ask again once those who are inside
//! have left.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, Group, NodeId};

use super::Exclusive;
use crate::mutex::{Claim, Command, Notice};

/// How many messages are carried at most.
const MOST_MESSAGES: usize = 1 << 14;

/// How the members of a view stand when it begins, by their numbers in the algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roster {
    /// The nodes inside.
    pub inside: Vec<(NodeId, Claim)>,
    /// The waiting nodes, the longest wait first.
    pub waiting: Vec<(NodeId, Claim)>,
}

impl Roster {
    /// Whether no node is inside or waits.
    pub const fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.waiting.is_empty()
    }

    /// Whether this node waits.
    pub fn waits(&self, id: NodeId) -> bool {
        self.waiting.iter().any(|it| it.0 == id)
    }
}

/// A node of an algorithm that has started already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebuilt<P> {
    /// The node.
    pub node: P,
    /// Whether the algorithm has let it in.
    pub is_in: bool,
}

/// A node as it should be by now, if the algorithm comes to rest.
pub(super) fn rebuild<P: Exclusive>(
    make: &dyn Fn(NodeId, Group) -> P,
    (me, group): (NodeId, Group),
    roster: &Roster,
) -> Option<Rebuilt<P>> {
    let size = group.size() as usize;
    // Each is told of by most others, in most algorithms.
    if (roster.inside.len() + roster.waiting.len()) * size > MOST_MESSAGES {
        return None;
    }
    let mut rehearsal = RebuildRun {
        nodes: group.members().map(|id| make(id, group)).collect(),
        flight: VecDeque::new(),
        is_in: vec![false; size],
        is_exact: true,
        carried: 0,
    };
    for id in group.members() {
        rehearsal.act(id, |node, effects| node.on_start(effects));
        rehearsal.carry()?;
    }
    for (is_inside, &(id, claim)) in
        roster.inside.iter().map(|it| (true, it)).chain(roster.waiting.iter().map(|it| (false, it)))
    {
        let acquire = Command::Acquire(claim);
        rehearsal.act(id, |node, effects| node.on_command(acquire, effects)).ok()?;
        rehearsal.carry()?;
        if is_inside && !rehearsal.is_in[id.index()] {
            return None;
        }
    }
    let is_in = rehearsal.is_in[me.index()];
    Some(Rebuilt { node: rehearsal.nodes.swap_remove(me.index()), is_in })
}

/// All nodes of a view, in the head of one.
struct RebuildRun<P: Exclusive> {
    nodes: Vec<P>,
    flight: VecDeque<(NodeId, NodeId, P::Message)>,
    is_in: Vec<bool>,
    /// Whether nothing was left to time or chance.
    is_exact: bool,
    carried: usize,
}

impl<P: Exclusive> RebuildRun<P> {
    fn act<T>(
        &mut self,
        at: NodeId,
        act: impl FnOnce(&mut P, &mut RebuildEffects<'_, P>) -> T,
    ) -> T {
        let Self { nodes, flight, is_in, is_exact, .. } = self;
        let is_in = &mut is_in[at.index()];
        act(&mut nodes[at.index()], &mut RebuildEffects { at, flight, is_in, is_exact })
    }

    /// Carries all that is under way, the first first; none if that has no end.
    fn carry(&mut self) -> Option<()> {
        while let Some((from, to, message)) = self.flight.pop_front() {
            self.carried += 1;
            if self.carried > MOST_MESSAGES || !self.is_exact {
                return None;
            }
            self.act(to, |node, effects| node.on_message(from, message, effects));
        }
        self.is_exact.then_some(())
    }
}

/// The effects of one of these nodes.
struct RebuildEffects<'a, P: Exclusive> {
    at: NodeId,
    flight: &'a mut VecDeque<(NodeId, NodeId, P::Message)>,
    is_in: &'a mut bool,
    is_exact: &'a mut bool,
}

impl<P: Exclusive> Effects<P> for RebuildEffects<'_, P> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.flight.push_back((self.at, to, message));
    }
    fn set_timer(&mut self, _: P::Timer, _: Delay) {
        *self.is_exact = false;
    }
    /// None was set.
    fn cancel_timer(&mut self, _: P::Timer) {}
    fn notify(&mut self, notice: Notice) {
        *self.is_in |= notice.is_entry();
    }
    fn choose(&mut self, _: NonZeroU32) -> u32 {
        *self.is_exact = false;
        0
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox};

    use super::*;
    use crate::mutex::ricart_agrawala::RicartAgrawala;
    use crate::mutex::suzuki_kasami::SuzukiKasami;

    const EXCLUSIVE: Claim = Claim::Exclusive;

    /// All nodes, each as it has found out by itself, and whether it is in.
    fn all<P: Exclusive>(
        make: impl Fn(NodeId, Group) -> P,
        size: u32,
        roster: &Roster,
    ) -> Vec<Rebuilt<P>> {
        let group = Group::of(size);
        let each = group.members().map(|me| rebuild(&make, (me, group), roster));
        each.collect::<Option<_>>().expect("it comes to rest")
    }

    /// Who enters, one after the other, if each leaves at once.
    fn entries<P: Exclusive>(nodes: Vec<Rebuilt<P>>) -> Vec<u32> {
        let inside = nodes.iter().position(|it| it.is_in).expect("somebody is in");
        let mut nodes: Vec<P> = nodes.into_iter().map(|it| it.node).collect();
        let mut entries = vec![inside as u32];
        let mut flight = VecDeque::new();
        let mut fx = Outbox::default();
        nodes[inside].on_command(Command::Release, &mut fx).unwrap();
        let mut at = NodeId(inside as u32);
        loop {
            for effect in fx.take() {
                match effect {
                    Effect::Send { to, message } => flight.push_back((at, to, message)),
                    Effect::Notify(Notice::Entered) => entries.push(at.0),
                    Effect::Notify(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {
                        unreachable!("nothing else happens")
                    }
                }
            }
            if entries.last() == Some(&at.0) && entries.len() > 1 {
                // Not all leave: it might have been in before.
                let left = nodes[at.index()].on_command(Command::Release, &mut fx);
                if left.is_ok() {
                    continue;
                }
            }
            let Some((from, to, message)) = flight.pop_front() else { return entries };
            nodes[to.index()].on_message(from, message, &mut fx);
            at = to;
        }
    }

    #[test]
    fn those_who_wait_enter_in_their_order_after_those_who_are_inside() {
        let roster = Roster {
            inside: vec![(NodeId(2), EXCLUSIVE)],
            waiting: [3, 0].map(|id| (NodeId(id), EXCLUSIVE)).to_vec(),
        };
        let nodes = all(RicartAgrawala::new, 4, &roster);
        let is_in: Vec<bool> = nodes.iter().map(|it| it.is_in).collect();
        assert_eq!(is_in, [false, false, true, false]);
        assert_eq!(entries(nodes), [2, 3, 0]);
        let token = |me, group| SuzukiKasami::new(me, group, NodeId(0));
        assert_eq!(entries(all(token, 4, &roster)), [2, 3, 0]);
        let free = Roster { inside: Vec::new(), ..roster };
        assert_eq!(entries(all(RicartAgrawala::new, 4, &free)), [3, 0]);
    }

    /// Two who were inside together cannot both have been let in by this one.
    #[test]
    fn what_cannot_be_is_not_rebuilt() {
        let roster = Roster {
            inside: [0, 1].map(|id| (NodeId(id), EXCLUSIVE)).to_vec(),
            waiting: Vec::new(),
        };
        let group = Group::of(3);
        assert!(rebuild(&RicartAgrawala::new, (NodeId(0), group), &roster).is_none());
        let twice = Roster { inside: Vec::new(), waiting: roster.inside[..1].repeat(2) };
        assert!(rebuild(&RicartAgrawala::new, (NodeId(0), group), &twice).is_none());
        let all: Vec<_> = (0..1000).map(|id| (NodeId(id), EXCLUSIVE)).collect();
        let large = Roster { inside: Vec::new(), waiting: all };
        let group = Group::of(1000);
        assert!(rebuild(&RicartAgrawala::new, (NodeId(0), group), &large).is_none());
    }
}
