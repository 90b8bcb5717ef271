//! Another quorum where a member of the node's own is down: what [Maekawa's
//! algorithm](super::maekawa_fallback) and that of Cao and Singhal with
//! fallback quorums have in common.
//!
//! A node that waits probes the members of its quorum whose permissions it does not have. One that
//! does not answer within a round is suspected, and a quorum without suspects is asked. Suspicions
//! decide who is asked, and never who may enter: a wrong one costs messages.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;

use vorrang_protocol::{Delay, Group, NodeId, NodeSet, NodeState, StateValue};

use super::card::{BUSIEST, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting};
use super::theory;
use crate::card::{Cost, Span};
use crate::setup::{Setup, Unfit};

/// The quorums of a node, and which of them is asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fallback {
    group: Group,
    /// All quorums, the node's own first.
    quorums: Arc<[Vec<NodeId>]>,
    /// How long a message takes at most.
    within: Duration,
    /// The quorum that is asked for the request; empty without one, and inside.
    pub(super) quorum: Vec<NodeId>,
    /// All that were asked for it, in this quorum and in those before, lowest first.
    pub(super) asked: Vec<NodeId>,
    /// Those among them who were probed, and have not answered.
    pub(super) probed: NodeSet,
    /// Those who did not answer, and have not been heard of since.
    pub(super) suspected: NodeSet,
}

impl Fallback {
    /// Of a node of `group` with these quorums, its own first; a message takes no longer than this.
    pub fn new(group: Group, quorums: Arc<[Vec<NodeId>]>, within: Duration) -> Self {
        let (quorum, asked) = (Vec::new(), Vec::new());
        let (probed, suspected) = (NodeSet::EMPTY, NodeSet::EMPTY);
        Self { group, quorums, within, quorum, asked, probed, suspected }
    }

    /// A quorum without suspects; none if every one has some.
    fn live(&self) -> Option<&Vec<NodeId>> {
        self.quorums.iter().find(|quorum| !quorum.iter().any(|&id| self.suspected.contains(id)))
    }

    /// For a new request: those to ask.
    pub(super) fn begin(&mut self) -> Vec<NodeId> {
        let quorum = self.live().unwrap_or(&self.quorums[0]).clone();
        self.turn_to(quorum)
    }

    /// Those of a quorum that have not been asked yet.
    fn turn_to(&mut self, quorum: Vec<NodeId>) -> Vec<NodeId> {
        let mut new = Vec::new();
        for &id in &quorum {
            if let Err(place) = self.asked.binary_search(&id) {
                self.asked.insert(place, id);
                new.push(id);
            }
        }
        self.quorum = quorum;
        new
    }

    /// Whoever is heard is up. Whether it was suspected.
    pub(super) fn hear(&mut self, from: NodeId) -> bool {
        self.probed.remove(from);
        self.suspected.remove(from)
    }

    /// All nodes but this one.
    pub(super) fn others(&self, me: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        self.group.members().filter(move |&it| it != me)
    }

    /// Whether a node was asked for the request.
    pub(super) fn has_asked(&self, id: NodeId) -> bool {
        self.asked.binary_search(&id).is_ok()
    }

    /// A round is over: whoever was probed and has not answered is suspected. Those who are to be
    /// asked now; none if every quorum has a suspect, so that there is nothing to wait for until
    /// one of them says that it has come up again.
    pub(super) fn end_round(&mut self) -> Option<Vec<NodeId>> {
        self.suspected.extend_from(&mem::take(&mut self.probed));
        if !self.quorum.iter().any(|&id| self.suspected.contains(id)) {
            return Some(Vec::new());
        }
        let next = self.live()?.clone();
        Some(self.turn_to(next))
    }

    /// Those of the quorum who are to be probed now.
    pub(super) fn probe(&mut self, is_missing: impl Fn(NodeId) -> bool) -> NodeSet {
        self.probed = self.quorum.iter().copied().filter(|&id| is_missing(id)).collect();
        self.probed.clone()
    }

    /// The request is granted, or given up: nobody is probed any more.
    pub(super) fn enter(&mut self) {
        self.probed.clear();
        self.quorum.clear();
    }

    /// The request is over; those who must hear of it.
    pub(super) fn leave(&mut self) -> Vec<NodeId> {
        self.enter();
        mem::take(&mut self.asked)
    }

    /// There and back.
    pub(super) fn round(&self) -> Delay {
        Delay::exactly(self.within.saturating_mul(2))
    }

    /// The sets, under their names.
    pub(super) fn state(&self) -> NodeState {
        NodeState::new()
            .with("quorum", StateValue::set(self.quorum.iter().copied()))
            .with("asked", StateValue::set(self.asked.iter().copied()))
            .with("probed", &self.probed)
            .with("suspected", &self.suspected)
    }
}

/// As many members of quorums as every node can list.
const MOST_MEMBERS: usize = 10_000;

/// The quorums of every node of a set-up: all know all, any two of which meet.
pub(super) fn fallbacks(setup: &Setup) -> Result<impl Fn(NodeId) -> Fallback + use<>, Unfit> {
    let system = setup.quorum.system(setup.group)?;
    let family = system.family(MOST_MEMBERS).ok_or_else(|| {
        let short = setup.quorum.in_short();
        Unfit(format!("--quorum {short}: more than {MOST_MEMBERS} members in all quorums"))
    })?;
    for (place, one) in family.iter().enumerate() {
        let misses = |other: &&Vec<NodeId>| !one.iter().any(|id| other.contains(id));
        if let Some(other) = family[..place].iter().find(misses) {
            return Err(Unfit(format!("--quorum: {one:?} and {other:?} do not meet")));
        }
    }
    let (group, within) = (setup.group, setup.within);
    Ok(move |me| {
        let own = system.of(me);
        let others = family.iter().filter(|quorum| **quorum != own).cloned();
        let all: Vec<Vec<NodeId>> = [own.clone()].into_iter().chain(others).collect();
        Fallback::new(group, all.into(), within)
    })
}

/// What an algorithm with fallbacks costs, whichever it is.
pub(super) const THEORY: &[Cost<Setting>] = &[
    MESSAGES.costs(messages),
    SYNC_DELAY.costs(|_| Span::between(0.0, f64::INFINITY)),
    RESPONSE.costs(response),
    BUSIEST.costs(|_| Span::between(0.0, f64::INFINITY)),
];

/// Without contention nobody is probed. Else the cost depends on how long a node waits.
fn messages(at: &Setting) -> Span {
    // A node begins with the same quorum every time.
    let system = theory::system(at);
    let alone = theory::of_quorums(at, |me, _| 3.0 * theory::others(me, &system.of(me)));
    match at.load {
        Load::Light => alone,
        Load::Heavy => Span::between(alone.low, f64::INFINITY),
    }
}

fn response(at: &Setting) -> Span {
    match at.load {
        Load::Light => theory::round_trip(at),
        Load::Heavy => Span::between(at.hold, f64::INFINITY),
    }
}
