//! The view change: flush, proposal, decision.
//!
//! ```text
//!   0  ──FLUSH──┐ ▲─FLUSH_OK    ──ACCEPT──┐ ▲─ACCEPTED   ──NEWVIEW──┐   (0: lowest that is up)
//!   1  ─────────▼─┴───[ blocked ]─────────▼─┴───────────────────────▼──[ next view ]──►
//!   2  ✗                                                            T: 5 in all
//! ```

use alloc::vec::Vec;

use vorrang_protocol::{Effects, Lift, NodeId, NodeSet};

use super::{Inside, Phase, Told, Views};
use crate::group::decision::{Decide, Decided, Decision};
use crate::group::log;
use crate::group::message::{Info, Install, Message, Report};
use crate::group::shown::Shown;
use crate::group::view::{Member, View};

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// Whether a node has begun another life since it became a member: that one is over for sure.
    pub(super) fn is_over(&self, member: Member) -> bool {
        match self.peers.get(&member.node) {
            Some(peer) => peer.incarnation > member.incarnation,
            None => member.node == self.me && self.incarnation > member.incarnation,
        }
    }

    /// The members that seem to be there, lowest first.
    pub(super) fn heard(&self) -> impl Iterator<Item = NodeId> + '_ {
        let is_there = |it: &&Member| !self.is_over(**it) && !self.suspects.contains(it.node);
        self.last.view.members.iter().filter(is_there).map(|it| it.node)
    }

    /// Those of them that are neither [left out](Self::left_out) nor to be
    /// [evicted](Self::evicted).
    pub(in crate::group) fn active(&self) -> impl Iterator<Item = NodeId> + '_ {
        let (left_out, evicted) = (self.left_out(), self.evicted());
        self.heard().filter(move |&it| !left_out.contains(it) && !evicted.contains(it))
    }

    /// Whether this node is the coordinator of the view change: the lowest member that is not
    /// suspected. If all members are known to have begun other incarnations, no member knows the
    /// state of the view, and the lowest node (where views name their voters, the lowest voter) is
    /// the coordinator; also if all members are suspected, and there is no state to hand over.
    fn is_coordinator(&self) -> bool {
        if self.inside.is_some() {
            return self.active().next() == Some(self.me);
        }
        // Before the first view there is none to follow: it is founded.
        if self.forgets || self.last.view.id == 0 {
            return false;
        }
        let is_gone =
            |it: &Member| self.is_over(*it) || (!self.has_state && self.suspects.contains(it.node));
        let may_lead = |&it: &NodeId| !self.suspects.contains(it) && self.may_lead_from_outside(it);
        let lowest = self.universe.members().find(may_lead);
        lowest == Some(self.me) && self.last.view.members.iter().all(is_gone)
    }

    /// The members of the next view, if nothing changes.
    fn next_members(&self) -> Vec<Member> {
        let (left_out, evicted) = (self.left_out(), self.evicted());
        let is_missing = |node| self.suspects.contains(node) || left_out.contains(node);
        let stays = |it: &&Member| match self.peers.get(&it.node) {
            _ if evicted.contains(it.node) => false,
            _ if it.node == self.me => self.wants && self.inside.is_some(),
            _ if is_missing(it.node) => false,
            Some(peer) => peer.incarnation <= it.incarnation && !peer.wants_out,
            None => true,
        };
        let mut next: Vec<Member> = self.last.view.members.iter().filter(stays).copied().collect();
        for (&node, peer) in &self.peers {
            let member = Member { node, incarnation: peer.incarnation };
            let is_newer = self
                .last
                .view
                .incarnation_of(node)
                .is_none_or(|incarnation| incarnation < peer.incarnation);
            if is_newer && !peer.wants_out && !is_missing(node) {
                next.push(member);
            }
        }
        let comes_back = self.wants && self.inside.is_none();
        // One member must be left, or no node could ever join.
        let is_last = next.is_empty() && self.inside.is_some();
        if comes_back || is_last {
            next.push(self.itself());
        }
        next.sort_unstable();
        next
    }

    /// Whether the next view would differ.
    fn has_reason(&self) -> bool {
        let members = self.next_members();
        members != self.last.view.members || self.next_voters(&members) != self.last.voters
    }

    /// Ends the view if this node is the coordinator and there is a reason: a member leaves or
    /// joins, or a member has been stopped already, perhaps by a coordinator that could not go on.
    pub(super) fn consider(&mut self, is_stopped: bool, fx: &mut impl Effects<Self>) {
        if !self.is_coordinator() {
            return;
        }
        if let Some(inside) = &self.inside
            && inside.phase == Phase::Running
        {
            if !is_stopped && !self.has_reason() {
                return;
            }
            self.block(fx);
        }
        self.ask_to_stop(false, fx);
        self.propose(false, fx);
    }

    /// The same once more, since what was sent may be lost.
    pub(super) fn insist(&mut self, fx: &mut impl Effects<Self>) {
        let is_running = self.inside.as_ref().is_some_and(|it| it.phase == Phase::Running);
        if self.is_coordinator() && !is_running {
            self.ask_to_stop(true, fx);
            self.propose(true, fx);
        }
    }

    /// Tells the application to stop.
    fn block(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(inside) = &mut self.inside
            && inside.phase == Phase::Running
        {
            inside.phase = Phase::Blocking;
            fx.notify(Told::Block);
        }
    }

    /// Ends the view though its members stay. One that has stopped says so, and the coordinator
    /// asks the others to stop as well.
    pub(super) fn renew(&mut self, fx: &mut impl Effects<Self>) {
        self.block(fx);
        self.announce_to_members(fx);
    }

    /// Members that are there as far as is known, and have not stopped.
    fn awaited(&self) -> Vec<NodeId> {
        let Some(inside) = &self.inside else { return Vec::new() };
        self.active().filter(|node| !inside.reports.contains_key(node)).collect()
    }

    fn ask_to_stop(&mut self, again: bool, fx: &mut impl Effects<Self>) {
        let (awaited, me, view) = (self.awaited(), self.me, self.last.view.id);
        let Some(inside) = &mut self.inside else { return };
        for node in awaited {
            if node != me && (inside.asked.insert(node) || again) {
                fx.send(node, Message::Flush { view });
            }
        }
    }

    /// A node of the view asks for it to end; perhaps of an earlier life of this node.
    pub(super) fn on_flush(&mut self, from: NodeId, fx: &mut impl Effects<Self>) {
        let view = self.last.view.id;
        let Some(inside) = &mut self.inside else { return self.announce_to(from, fx) };
        if let Some(report) = inside.reports.get(&self.me) {
            return fx.send(from, Message::FlushOk { view, report: report.clone() });
        }
        inside.asked_by.insert(from);
        self.block(fx);
    }

    /// The application has stopped. From here on it delivers nothing in this view.
    pub(super) fn on_block_ok(&mut self, info: I, fx: &mut impl Effects<Self>) {
        let view = self.last.view.id;
        let Some(inside) = self.inside.as_mut().filter(|it| it.phase == Phase::Blocking) else {
            return;
        };
        inside.phase = Phase::Frozen;
        let report = inside.log.report(info);
        for to in core::mem::take(&mut inside.asked_by).iter() {
            fx.send(to, Message::FlushOk { view, report: report.clone() });
        }
        inside.reports.insert(self.me, report);
        self.consider(true, fx);
    }

    pub(super) fn on_flush_ok(
        &mut self,
        from: NodeId,
        report: Report<B, I>,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(inside) = &mut self.inside else { return };
        if inside.phase != Phase::Running {
            inside.reports.insert(from, report);
            self.consider(true, fx);
        }
    }

    /// Whether those that it hears, and that hear each other, are enough to go on. While it is not
    /// so, no view can follow as far as this node knows.
    pub fn has_majority(&self) -> bool {
        let voters = self.voters();
        let left_out = self.left_out();
        let here: NodeSet = if self.forgets {
            // Also those that are to be evicted: they vote on that as well.
            self.heard().filter(|&it| !left_out.contains(it)).collect()
        } else {
            let is_missing = |it| self.suspects.contains(it) || left_out.contains(it);
            let is_here = |&it: &NodeId| !is_missing(it) && !self.is_replaced(it);
            voters.iter().copied().filter(is_here).collect()
        };
        self.decision.suffices(&voters, &here)
    }

    /// Proposes what comes next, once all that are there have stopped, if they are enough.
    fn propose(&mut self, again: bool, fx: &mut impl Effects<Self>) {
        if !self.awaited().is_empty() || self.is_unsure() {
            return;
        }
        let is_done = self.inside.as_ref().is_some_and(|it| it.has_proposed) && !again;
        if is_done || !self.has_majority() || self.next_members().is_empty() {
            return;
        }
        let (number, voters, value) = (self.last.view.id, self.voters(), self.next());
        if let Some(inside) = &mut self.inside {
            inside.has_proposed = true;
        }
        let command = Decide::Propose { number, by: self.proposer(), voters, value };
        self.decide(fx, |decision, lift| {
            decision.on_command(command, lift).expect("anything may be proposed");
        });
    }

    /// The proposal for the next view, from the reports of stopped members.
    fn next(&self) -> Install<B, I> {
        let members = self.next_members();
        let voters = self.next_voters(&members);
        let view = View { id: self.last.view.id + 1, members };
        let founded = self.last.founded;
        let Some(inside) = &self.inside else {
            let mut gone: Vec<NodeId> = self.last.view.nodes().collect();
            if gone.is_empty() {
                // Nobody was in that view: those of the one before are still gone.
                gone.clone_from(&self.last.gone);
            }
            return Install { founded, voters, gone, ..Install::first(view) };
        };
        let active: NodeSet = self.active().collect();
        let counts = |node: NodeId| active.contains(node);
        let reports = inside.reports.iter().filter(|&(&node, _)| counts(node));
        let (base, log) = log::cut(reports.clone().map(|(_, report)| report));
        let infos = reports.map(|(&of, report)| Info {
            of,
            upto: report.base.saturating_add(report.entries.len() as u32),
            info: report.info.clone(),
        });
        // Whoever did not report in the life that the view has, replaced by another life or not:
        // that another process has begun under its number does not end the first one.
        let gone = self.last.view.nodes().filter(|&it| !counts(it)).collect();
        Install { view, founded, voters, base, log, infos: infos.collect(), gone }
    }

    /// Lets the machine that decides act, and hears what it says.
    fn decide<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut D, &mut Lift<'_, D, Self, E>),
    ) {
        let mut heard = Vec::new();
        act(&mut self.decision, &mut Lift::new(fx, &mut heard));
        for Decided::Learned { number, value } in heard {
            if number == self.last.view.id {
                let gone = self
                    .last
                    .view
                    .nodes()
                    .filter(|&node| value.view.incarnation_of(node).is_none());
                let all = gone.chain(value.view.nodes()).filter(|&node| node != self.me);
                let voters = self.voters_outside(&value);
                fx.broadcast(all.chain(voters.iter()), Message::NewView(value.clone()));
                self.install(value, fx);
            }
        }
    }

    pub(super) fn on_decision(
        &mut self,
        from: NodeId,
        message: D::Message,
        fx: &mut impl Effects<Self>,
    ) {
        match D::question(&message) {
            Some(number) if number < self.last.view.id => {
                fx.send(from, Message::NewView(self.last.clone()));
            }
            Some(number) if !self.may_vote(number) || !self.is_heeded(from) => {}
            _ => self.decide(fx, |decision, lift| decision.on_message(from, message, lift)),
        }
    }

    /// A view that was decided on: it begins, with this node or without.
    pub(super) fn install(&mut self, install: Install<B, I>, fx: &mut impl Effects<Self>) {
        if install.view.id <= self.last.view.id {
            return;
        }
        let has_it = install.view.has(self.itself());
        let was_in = self.inside.is_some();
        // A node that has missed a view was not a member of it, and joins from outside.
        let went_on = has_it && was_in && install.view.id == self.last.view.id + 1;
        let is_in = went_on || (has_it && self.wants);
        if let Some(before) = self.inside.take().filter(|_| went_on) {
            for entry in install.after(before.log.upto()) {
                fx.notify(Told::Deliver(entry.clone()));
            }
        }
        let is_asked_for = self.is_to_be_evicted();
        self.last = install;
        self.claims.settle();
        self.settle_changes(is_in);
        let (view, id) = (&self.last.view, self.last.view.id);
        self.peers.retain(|&node, peer| match view.incarnation_of(node) {
            Some(incarnation) => *peer > (super::Peer { incarnation, wants_out: false }),
            None => true,
        });
        self.decide(fx, |decision, lift| {
            decision.on_command(Decide::Settled(id - 1), lift).expect("anything may be settled");
        });
        if was_in && !went_on {
            fx.notify(Told::Out { is_asked_for });
        }
        if is_in {
            self.inside = Some(Inside::new());
            fx.notify(Told::Installed { install: self.last.clone(), went_on });
            for payload in core::mem::take(&mut self.queue) {
                self.multicast(payload, fx);
            }
        } else if was_in || has_it {
            self.incarnation += 1;
            self.announce(fx);
        }
        self.catch_up(fx);
        self.consider(false, fx);
    }

    /// Messages of the view that arrived before it began.
    fn catch_up(&mut self, fx: &mut impl Effects<Self>) {
        let id = self.last.view.id;
        for (from, message) in core::mem::take(&mut self.early) {
            match message {
                Message::Data { view, .. }
                | Message::Ordered { view, .. }
                | Message::Flush { view }
                | Message::FlushOk { view, .. } => {
                    if view == id {
                        self.on_current(from, message, fx);
                    } else if view > id {
                        self.early.insert((from, message));
                    }
                }
                Message::Status(status) => self.on_standing(from, status, false, fx),
                Message::NewView(_) | Message::Decision(_) => {}
            }
        }
    }
}
