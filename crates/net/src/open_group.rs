//! The node's task, continued: an open group, whose members come, go and come back.
//!
//! An id belongs to the process that was started last with it, as [`Generation`](crate::Generation)
//! tells. A process that restarts without its state is admitted under its id: the links of its
//! predecessor are dropped at both ends. Open groups are only for machines that handle a member
//! without state.

use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use crate::connecting::{IncomingConnection, RefusedPeer};
use crate::driver::Driver;
use crate::event::Event;
use crate::hello::{Introduction, JoinGrant, JoinRequest, Refusal};
use crate::incarnations::Parting;
use crate::link::Link;
use crate::tcp_network::TcpNetwork;

/// How long a number is kept for a newcomer that has been given it and has not come.
const KEPT: Duration = Duration::from_secs(30);
/// After how many times the longest silence a number is free whose process is away.
const ABSENCES: u32 = 20;

impl Driver<TcpNetwork> {
    /// Another process has come under a number.
    pub(crate) fn begin_anew(&mut self, peer: NodeId, generation: u64) {
        let link = self.world.link(peer);
        let was_there = link.is_connected();
        link.begin_anew(generation);
        if was_there {
            let why = "a later incarnation of it has come".to_owned();
            self.report(Event::Lost { peer, why });
        }
    }

    /// Notes the address of a peer that was admitted or has knocked, and the addresses that it
    /// knows and we do not.
    pub(crate) fn learn_from(&mut self, who: &Introduction) {
        let Some(address_book) = self.identity.address_book.clone() else { return };
        if let Some(address) = who.peers.get(who.sender.index()) {
            address_book.note(who.sender, address);
            self.world.link(who.sender).move_to(address);
        }
        for (peer, address) in address_book.fill(&who.peers) {
            if peer != self.world.me {
                self.world.make_place(peer);
                self.world.link(peer).move_to(&address);
                self.dial(peer);
            }
        }
        self.world.given.retain(|(number, ..)| *number != who.sender);
    }

    /// Calls founders again that have left: whoever is started there next knows founders alone, and
    /// must not take them for the whole group.
    pub(crate) fn call_founders(&mut self) {
        let Some(open) = self.config.openness().filter(|_| self.acts()) else { return };
        let (founders, pause) = (open.founders, self.config.timing.backoff_max / 2);
        let has_left = |link: &&Link| {
            link.peer.0 < founders
                && matches!(link.parting(), Some(Parting::Left | Parting::LeftAsking))
                && link.missing_for().is_some_and(|since| since >= pause)
        };
        let left: Vec<NodeId> = self.world.others().filter(has_left).map(|it| it.peer).collect();
        for peer in left {
            self.world.link(peer).let_go();
            self.dial(peer);
        }
    }

    /// Forgets processes that have come under a number, are no members and are away: what they said
    /// of when they were started keeps nobody out who has the number.
    pub(crate) fn forget_unproven(&mut self) {
        let Some(group) = self.belonging.as_ref().filter(|group| group.is_in) else { return };
        let patience = self.config.timing.give_up;
        let links = self.world.others_mut();
        let over = |link: &mut Link| {
            let is_over = link.judge_unproven(group.life_of(link.peer), patience);
            is_over.then_some(link.peer)
        };
        let over: Vec<NodeId> = links.filter_map(over).collect();
        for peer in over {
            tracing::info!(%peer, "forgot a process that has not become a member");
            self.dial(peer);
        }
    }

    /// One with a lower number waits for our call: perhaps in another life, elsewhere.
    pub(crate) fn on_open_knock(&mut self, visit: IncomingConnection, who: &Introduction) {
        let peer = who.sender;
        self.world.make_place(peer);
        let link = self.world.link(peer);
        let why = match (link.is_later(who.generation), link.parting()) {
            (None, _) => link.replaced(who.generation),
            (Some(true), _) => {
                // A call in progress to the former process goes to another one now.
                let is_another = link.has_met();
                self.begin_anew(peer, who.generation);
                self.learn_from(who);
                if is_another {
                    self.dial(peer);
                } else {
                    self.dial_soon(peer);
                }
                Refusal::WillCall
            }
            (Some(false), Some(Parting::GivenUp)) => Refusal::GivenUp,
            (Some(false), Some(Parting::Left | Parting::LeftAsking | Parting::Restarted)) => {
                Refusal::Left
            }
            (Some(false), None) => {
                // The peer is up by now, even if the last call failed.
                if !link.is_connected() {
                    self.dial_soon(peer);
                }
                Refusal::WillCall
            }
        };
        if why != Refusal::WillCall {
            self.on_we_refused(RefusedPeer::Claims(peer, visit.from().to_owned()), &why);
        }
        self.world.tasks.spawn(visit.refuse(why, self.config.timing));
    }

    /// One who has no number yet wants one.
    pub(crate) fn on_wish(&mut self, visit: IncomingConnection, wish: &JoinRequest) {
        while self.world.tasks.try_join_next().is_some() {}
        let timing = self.config.timing;
        let (Some(address_book), Some(open)) =
            (&self.identity.address_book, self.config.openness())
        else {
            return;
        };
        let (address_book, founders) = (address_book.clone(), open.founders);
        let Some(number) = self.free_number(&wish.address, wish.but) else {
            let why = Refusal::Full;
            self.on_we_refused(RefusedPeer::Unknown(visit.from().to_owned()), &why);
            self.world.tasks.spawn(visit.refuse(why, timing));
            return;
        };
        self.world.given.retain(|(it, ..)| *it != number);
        self.world.given.push((number, wish.address.clone(), Instant::now()));
        self.report(Event::Given { number, address: wish.address.clone() });
        let place = JoinGrant { id: number, peers: address_book.addresses(), founders };
        self.world.tasks.spawn(visit.give(place, timing));
    }

    /// An id for a new member at this address: that of the process that was there before, or a free
    /// one, or one under which nobody was met though somebody has named an address for it, or the
    /// one whose process has been away for longest; `but` not this one. If two members
    /// give the same id to two new members, the one that started later has it, and the other is
    /// told so.
    fn free_number(&mut self, address: &str, but: Option<NodeId>) -> Option<NodeId> {
        self.world.given.retain(|(_, _, at)| at.elapsed() < KEPT);
        let given = &self.world.given;
        if let Some((number, ..)) = given.iter().find(|it| it.1 == address && Some(it.0) != but) {
            return Some(*number);
        }
        let (address_book, founders) =
            (self.identity.address_book.as_ref()?, self.config.openness()?.founders);
        let me = self.world.me;
        let is_free = |&number: &NodeId| number != me && Some(number) != but;
        if let Some(number) = address_book.who_is_at(address).filter(is_free) {
            return Some(number);
        }
        let is_given =
            |number: NodeId| Some(number) == but || given.iter().any(|(it, ..)| *it == number);
        let unused = address_book.unused(founders).into_iter().find(|&number| !is_given(number));
        // Anybody can say that somebody is there: that keeps a number for as long as it may take
        // to meet, and not for ever.
        let hearsay = || {
            let long = self.config.timing.give_up;
            let is_member = |peer: NodeId| {
                self.belonging.as_ref().is_some_and(|group| group.members.contains(peer))
            };
            let is_free = |link: &&Link| {
                let is_over = link.missing_for().is_some_and(|since| since >= long);
                link.connections == 0
                    && is_over
                    && link.peer.0 >= founders
                    && !is_given(link.peer)
                    && !is_member(link.peer)
            };
            self.world.others().find(is_free).map(|link| link.peer)
        };
        let away = || {
            let long = self.config.timing.give_up.saturating_mul(ABSENCES);
            let away =
                self.world.others().filter_map(|link| Some((link.missing_for()?, link.peer)));
            let is_free = |(since, peer): &(Duration, NodeId)| {
                *since >= long && peer.0 >= founders && !is_given(*peer)
            };
            away.filter(is_free).max().map(|(_, peer)| peer)
        };
        unused.or_else(hearsay).or_else(away)
    }
}
