//! The costs of a group: messages, and blocked time.

use std::collections::BTreeMap;

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::{Command, Member, Notice, Payload, View};
use vorrang_protocol::NodeId;
use vorrang_trace::{Meter, Sent, Traffic};

use crate::times::Times;

/// The measurements.
#[derive(Clone, Debug)]
pub struct Tally {
    traffic: Traffic,
    /// For every kind, whether it is a heartbeat.
    is_beat: Vec<bool>,
    /// When each multicast was made, by what it said: the first said 1.
    said: Vec<u64>,
    multicasts: u64,
    by_lowest: u64,
    delivered: u64,
    latency: Times,
    participants: Vec<Participant>,
    /// How many views there were, and the newest.
    views: u64,
    newest: Option<View>,
    /// For each view that has ended at some node, when it first did, and when the next last began.
    changes: BTreeMap<u64, (u64, Option<u64>)>,
    /// Those who were members when they went down: when, and when the view without them last began.
    missed: Vec<Missed>,
    blocked: Times,
    outs: u64,
}

#[derive(Clone, Debug, Default)]
struct Participant {
    view: Option<u64>,
    blocked_ns: Option<u64>,
    /// It has said that it wants to leave.
    is_leaving: bool,
}

#[derive(Clone, Debug)]
struct Missed {
    who: Member,
    crashed_ns: u64,
    /// The first view without it.
    without: Option<(u64, u64)>,
}

impl Tally {
    /// No figures yet, among so many nodes.
    pub fn new(nodes: u32, kinds: &'static [&'static str], beats: &[&str]) -> Self {
        Self {
            traffic: Traffic::new(nodes, kinds),
            is_beat: kinds.iter().map(|kind| beats.contains(kind)).collect(),
            said: Vec::new(),
            multicasts: 0,
            by_lowest: 0,
            delivered: 0,
            latency: Times::default(),
            participants: vec![Participant::default(); nodes as usize],
            views: 0,
            newest: None,
            changes: BTreeMap::new(),
            missed: Vec::new(),
            blocked: Times::default(),
            outs: 0,
        }
    }

    /// All messages.
    pub const fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// How many messages were multicast.
    pub const fn multicasts(&self) -> u64 {
        self.multicasts
    }
    /// How many of them node 0 has made.
    pub const fn by_lowest(&self) -> u64 {
        self.by_lowest
    }
    /// How often something was delivered, at its sender's too.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
    /// From when something is multicast until another delivers it.
    pub const fn latency(&self) -> Times {
        self.latency
    }
    /// How many views were installed.
    pub const fn views(&self) -> u64 {
        self.views
    }
    /// How long nodes were blocked.
    pub const fn blocked(&self) -> Times {
        self.blocked
    }
    /// How many nodes are blocked in the end.
    pub fn still_blocked(&self) -> u64 {
        self.participants.iter().filter(|participant| participant.blocked_ns.is_some()).count()
            as u64
    }
    /// How often a node was out of the group that did not want to leave.
    pub const fn outs(&self) -> u64 {
        self.outs
    }
    /// How many messages were heartbeats.
    pub fn beats(&self) -> u64 {
        let by_kind = self.traffic.by_kind();
        by_kind.iter().zip(&self.is_beat).filter(|(_, is_beat)| **is_beat).map(|it| it.0.1).sum()
    }
    /// From when the first member stopped until the last had begun the next view.
    pub fn changes(&self) -> Times {
        let mut times = Times::default();
        for (began_ns, ended_ns) in self.changes.values() {
            if let Some(ended_ns) = ended_ns {
                times.add(ended_ns.saturating_sub(*began_ns));
            }
        }
        times
    }
    /// From a crash until the last had begun a view without the crashed node.
    pub fn repairs(&self) -> Times {
        let mut times = Times::default();
        for missed in &self.missed {
            if let Some((_, at_ns)) = missed.without {
                times.add(at_ns.saturating_sub(missed.crashed_ns));
            }
        }
        times
    }

    fn on_view(&mut self, at_ns: u64, at: NodeId, view: &View) {
        if self.newest.as_ref().is_none_or(|newest| newest.id < view.id) {
            self.newest = Some(view.clone());
            self.views += 1;
        }
        if let Some((_, ended_ns)) = self.changes.get_mut(&(view.id - 1)) {
            *ended_ns = Some(at_ns);
        }
        for missed in self.missed.iter_mut().filter(|it| !view.has(it.who)) {
            let (id, last_ns) = missed.without.get_or_insert((view.id, at_ns));
            if *id == view.id {
                *last_ns = at_ns;
            }
        }
        self.unblock(at_ns, at);
        self.participants[at.index()].view = Some(view.id);
    }

    fn unblock(&mut self, at_ns: u64, at: NodeId) {
        if let Some(since_ns) = self.participants[at.index()].blocked_ns.take() {
            self.blocked.add(at_ns.saturating_sub(since_ns));
        }
    }
}

impl Meter<Input<Command>, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, at: NodeId, command: &Input<Command>) {
        match command {
            Input::Ask(Command::Multicast(payload)) => {
                // Numbers are given before they are used, and some are never used. A text is not
                // looked for again when it is delivered.
                if let Payload::Number(number) = payload {
                    let place = (*number as usize).max(1);
                    if self.said.len() < place {
                        self.said.resize(place, at_ns);
                    }
                    self.said[place - 1] = at_ns;
                }
                self.multicasts += 1;
                self.by_lowest += u64::from(at == NodeId(0));
            }
            Input::Ask(Command::Join) => self.participants[at.index()].is_leaving = false,
            Input::Ask(Command::Leave) => self.participants[at.index()].is_leaving = true,
            Input::Suspect(_) | Input::Trust(_) | Input::Beat => {}
        }
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match notice {
            Notice::View { view, .. } => self.on_view(at_ns, at, view),
            Notice::Delivered { from, payload, .. } => {
                self.delivered += 1;
                let place = match payload {
                    Payload::Number(number) => (*number as usize).checked_sub(1),
                    Payload::Text(_) => None,
                };
                let said = place.and_then(|it| self.said.get(it));
                if let Some(said_ns) = said.filter(|_| *from != at) {
                    self.latency.add(at_ns.saturating_sub(*said_ns));
                }
            }
            Notice::Blocked => {
                let participant = &mut self.participants[at.index()];
                participant.blocked_ns = Some(at_ns);
                if let Some(view) = participant.view {
                    self.changes.entry(view).or_insert((at_ns, None));
                }
            }
            Notice::Out => {
                self.unblock(at_ns, at);
                let participant = &mut self.participants[at.index()];
                self.outs += u64::from(participant.view.is_some() && !participant.is_leaving);
                participant.view = None;
            }
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.traffic.on_send(from, to, sent);
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (): ()) {
        self.traffic.on_receive(from, at);
    }
    fn on_crash(&mut self, at_ns: u64, at: NodeId) {
        self.unblock(at_ns, at);
        let view = self.participants[at.index()].view.take();
        let newest = self.newest.as_ref().filter(|newest| view == Some(newest.id));
        if let Some(incarnation) = newest.and_then(|newest| newest.incarnation_of(at)) {
            let who = Member { node: at, incarnation };
            self.missed.push(Missed { who, crashed_ns: at_ns, without: None });
        }
    }
    fn progress(&self) -> u64 {
        self.delivered
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Digest;

    use super::*;

    fn founded() -> Tally {
        let mut tally = Tally::new(3, &["STATUS", "DATA"], &["STATUS"]);
        for at in 0..3 {
            installs(&mut tally, 0, at, 1, &[0, 1, 2]);
        }
        tally
    }

    fn installs(tally: &mut Tally, at_ns: u64, at: u32, id: u64, nodes: &[u32]) {
        let members =
            nodes.iter().map(|&node| Member { node: NodeId(node), incarnation: 0 }).collect();
        let notice = Notice::View { view: View { id, members }, state: Digest(0) };
        tally.on_notice(at_ns, NodeId(at), &notice);
    }

    #[test]
    fn a_view_changes_from_when_the_first_stops_until_the_last_goes_on() {
        let mut tally = founded();
        tally.on_crash(100, NodeId(2));
        tally.on_notice(150, NodeId(0), &Notice::Blocked);
        tally.on_notice(151, NodeId(1), &Notice::Blocked);
        assert_eq!((tally.still_blocked(), tally.changes().count()), (2, 0));
        installs(&mut tally, 170, 0, 2, &[0, 1]);
        installs(&mut tally, 171, 1, 2, &[0, 1]);
        assert_eq!((tally.changes().count(), tally.changes().mean()), (1, Some(21.0)));
        assert_eq!(tally.repairs().mean(), Some(71.0));
        assert_eq!((tally.blocked().count(), tally.blocked().max()), (2, Some(20.0)));
        assert_eq!((tally.still_blocked(), tally.views()), (0, 2));
        installs(&mut tally, 400, 0, 3, &[0, 1]);
        assert_eq!(tally.repairs().mean(), Some(71.0), "later views are another matter");
    }

    #[test]
    fn whoever_is_put_out_is_counted_and_whoever_leaves_is_not() {
        let mut tally = founded();
        tally.on_command(5, NodeId(1), &Input::Ask(Command::Leave));
        for at in [1, 2, 2] {
            tally.on_notice(10, NodeId(at), &Notice::Out);
        }
        assert_eq!(tally.outs(), 1);
    }

    #[test]
    fn latency_is_from_when_it_was_said_until_another_delivers() {
        let mut tally = founded();
        tally.on_command(10, NodeId(1), &Input::Ask(Command::Multicast(2.into())));
        tally.on_command(20, NodeId(0), &Input::Ask(Command::Multicast(5.into())));
        let from = NodeId(1);
        for (at_ns, at) in [(12, 1), (14, 0), (18, 2)] {
            let notice = Notice::Delivered { from, number: 0, payload: 2.into() };
            tally.on_notice(at_ns, NodeId(at), &notice);
        }
        assert_eq!((tally.latency().count(), tally.latency().mean()), (2, Some(6.0)));
        assert_eq!((tally.delivered(), tally.multicasts(), tally.by_lowest()), (3, 2, 1));
    }
}
