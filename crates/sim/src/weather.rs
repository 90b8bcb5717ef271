//! The faults of a run under way, and what they do to the world.
//!
//! Losses and duplicates are drawn from generators of their own, one draw for every message, so
//! that neither changes any other draw.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use vorrang_protocol::{Monitor, NodeId, Protocol};
use vorrang_trace::{Meter, What};

use crate::faults::{Fault, FaultCounts, Faults, Share};
use crate::queue::Key;
use crate::world::{Letter, TagOf, Upcoming, World};
use crate::{Random, Recorder, Workload};

/// What goes wrong, and how nodes that come up again are made.
pub(crate) struct Trouble<P> {
    pub(crate) weather: Weather,
    pub(crate) fresh: Box<dyn Fn(NodeId) -> P + Send>,
}

impl<P> fmt::Debug for Trouble<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.weather.fmt(f)
    }
}

/// What is still to go wrong, and what is wrong now.
#[derive(Debug)]
pub(crate) struct Weather {
    /// Earliest first. It is no part of the queue, so that a fault to come does not keep a run from
    /// being at rest, nor takes a number that a message would have.
    script: VecDeque<(u64, Fault)>,
    loss: Share,
    duplication: Share,
    /// Sorted.
    lost: Vec<u64>,
    losses: Random,
    duplicates: Random,
    /// For the second of two equal messages that is under way, the number of the first.
    copies: BTreeMap<u64, u64>,
    pub(crate) counts: FaultCounts,
    down: Vec<bool>,
    /// For each node, the number of the first event that is not of an earlier life.
    born: Vec<u64>,
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    ArrivesTwice,
}

impl Weather {
    pub(crate) fn new(plan: Faults, nodes: usize, seed: u64) -> Self {
        let Faults { mut script, loss, duplication, mut lost } = plan;
        for (_, fault) in &script {
            let (Fault::Crash(node) | Fault::Restart(node)) = fault;
            assert!(node.index() < nodes, "there is no node {node} among {nodes} to go wrong");
        }
        script.sort_by_key(|&(at_ns, _)| at_ns);
        lost.sort_unstable();
        Self {
            script: script.into(),
            loss,
            duplication,
            lost,
            // Other generators than the one of all other draws, decided by the same seed.
            losses: Random::new(seed ^ 0x5dee_ce66_d154_21c5),
            duplicates: Random::new(seed ^ 0x2545_f491_4f6c_dd1d),
            copies: BTreeMap::new(),
            counts: FaultCounts::default(),
            down: vec![false; nodes],
            born: vec![0; nodes],
        }
    }

    /// The next fault of the script, if it comes before all else that happens from `next_ns` on.
    pub(crate) fn next_fault(&mut self, next_ns: Option<u64>) -> Option<(u64, Fault)> {
        let &(at_ns, _) = self.script.front()?;
        if next_ns.is_none_or(|next_ns| at_ns <= next_ns) { self.script.pop_front() } else { None }
    }

    pub(crate) fn has_faults_to_come(&self) -> bool {
        !self.script.is_empty()
    }

    fn fate(&mut self, seq: u64) -> Fate {
        let is_lost = self.loss.draw(&mut self.losses) || self.lost.binary_search(&seq).is_ok();
        let is_doubled = self.duplication.draw(&mut self.duplicates);
        match (is_lost, is_doubled) {
            (true, _) => {
                self.counts.lost += 1;
                Fate::Lost
            }
            (false, true) => {
                self.counts.duplicated += 1;
                Fate::ArrivesTwice
            }
            (false, false) => Fate::Arrives,
        }
    }

    /// The number that the message of event `number` was sent with.
    fn sent_as(&mut self, number: u64) -> u64 {
        self.copies.remove(&number).unwrap_or(number)
    }

    pub(crate) fn is_down(&self, node: NodeId) -> bool {
        self.down[node.index()]
    }

    /// A node crashes; false if it was down.
    pub(crate) fn crash(&mut self, node: NodeId, next_number: u64) -> bool {
        let was_up = !self.is_down(node);
        self.down[node.index()] = true;
        self.born[node.index()] = next_number;
        self.counts.crashes += u64::from(was_up);
        was_up
    }

    /// A node comes up again; false if it was up.
    pub(crate) fn restart(&mut self, node: NodeId) -> bool {
        let was_down = self.is_down(node);
        self.down[node.index()] = false;
        self.counts.restarts += u64::from(was_down);
        was_down
    }
}

impl<P, M, W, R> World<P, M, W, R>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    W: Workload<P::Command, P::Notice>,
    R: Recorder<P>,
{
    /// Whether something comes to nothing, because its node is down or was in between.
    #[cold]
    pub(crate) fn is_swallowed(
        &self,
        number: u64,
        at: NodeId,
        event: &Upcoming<P, M::Tag, TagOf<P, W>>,
    ) -> bool {
        let Some(Trouble { weather, .. }) = self.faults.as_deref() else { return false };
        match event {
            // What the application had in mind was forgotten with it.
            Upcoming::Command(_) => weather.is_down(at) || number < weather.born[at.index()],
            // What is on its way does not know who will be there to receive it.
            Upcoming::Message(_) => weather.is_down(at),
            // A crash cancels all timers.
            Upcoming::Timer(_) => false,
        }
    }

    #[cold]
    pub(crate) fn swallow(
        &mut self,
        Key { at_ns, number }: Key,
        to: NodeId,
        event: Upcoming<P, M::Tag, TagOf<P, W>>,
    ) {
        let Upcoming::Message(Letter { from, past, .. }) = event else { return };
        let Some(Trouble { weather, .. }) = self.faults.as_deref_mut() else { return };
        weather.counts.to_the_dead += 1;
        let seq = weather.sent_as(number);
        self.now_ns = at_ns;
        self.meter.on_lost(past);
        self.record(from, || What::Lost { to, seq });
    }

    /// The number that the message of event `number` was sent with, where some arrive twice.
    #[cold]
    pub(crate) fn sent_as(&mut self, number: u64) -> u64 {
        self.faults.as_mut().map_or(number, |trouble| trouble.weather.sent_as(number))
    }

    /// Sends a message where some do not arrive, and some do twice.
    #[cold]
    pub(crate) fn send_badly(
        &mut self,
        at_ns: u64,
        to: NodeId,
        letter: Letter<P, M::Tag, TagOf<P, W>>,
    ) {
        let seq = self.queue.next_number();
        let Self { faults: Some(trouble), links, now_ns, .. } = self else { return };
        let from = letter.from;
        match trouble.weather.fate(seq) {
            Fate::Arrives => self.schedule(at_ns, to, Upcoming::Message(letter)),
            Fate::Lost => {
                self.queue.skip();
                self.meter.on_lost(letter.past);
                self.record(from, || What::Lost { to, seq });
            }
            Fate::ArrivesTwice => {
                let second = links.arrival_ns(*now_ns, from, to, &mut trouble.weather.duplicates);
                let past = self.meter.on_duplicate(&letter.past);
                let (message, tag) = (letter.message.clone(), letter.tag.clone());
                let copy = Letter { from, message, past, tag };
                self.schedule(at_ns, to, Upcoming::Message(letter));
                if let Some(at_ns) = self.in_time(to, crate::Pending::Message { from }, second) {
                    let number = self.queue.next_number();
                    self.schedule(at_ns, to, Upcoming::Message(copy));
                    if let Some(trouble) = &mut self.faults {
                        trouble.weather.copies.insert(number, seq);
                    }
                }
            }
        }
    }
}
