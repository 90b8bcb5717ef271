//! The links of a node: one that is connected with all others.

use std::collections::VecDeque;
use std::task::Context;

use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use vorrang_protocol::NodeId;

use crate::config::{Config, Limits};
use crate::connecting::{Arrival, Caller, Line};
use crate::driver::{Driver, Member, Network};
use crate::link::Link;
use crate::machine_io::Outbound;
use crate::status::{Datagrams, LinkStatus};
use crate::wire::WireError;

pub(crate) struct TcpNetwork {
    pub(crate) me: NodeId,
    /// By node; none for ourselves.
    pub(crate) links: Vec<Option<Link>>,
    /// Links with data to write, in the order in which it was queued: the first answer is, in most
    /// algorithms, the one that the others wait for.
    touched: VecDeque<NodeId>,
    limits: Limits,
    /// Peers whose queue has overflowed, not yet reported.
    pub(crate) given_up: Vec<NodeId>,
    /// How others are reached, and those who have come.
    pub(crate) line: Line,
    pub(crate) arrivals: mpsc::UnboundedReceiver<Arrival>,
    pub(crate) tasks: JoinSet<()>,
    /// The task that is about to connect us with each peer.
    pub(crate) callers: Vec<Option<Caller>>,
    /// When acknowledgements are sent that nothing has come to ride on.
    pub(crate) next_ack: Option<Instant>,
    pub(crate) rng: Xoshiro256PlusPlus,
    /// In an open group: numbers that were given to newcomers, by where these will be, and when.
    pub(crate) given: Vec<(NodeId, String, Instant)>,
    /// Whether members come and go: then not everything is kept for those who are away.
    is_open: bool,
}

impl TcpNetwork {
    pub(crate) fn new(
        config: &Config,
        (line, arrivals): (Line, mpsc::UnboundedReceiver<Arrival>),
        tasks: JoinSet<()>,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        let (me, peers, limits) = (config.id, &config.peers, config.limits);
        let to_peer = |(id, address): (u32, &String)| {
            let peer = NodeId(id);
            // An id without a process has no link yet.
            (peer != me && !address.is_empty()).then(|| Link::new(peer, address.clone()))
        };
        Self {
            me,
            links: (0..).zip(peers).map(to_peer).collect(),
            touched: VecDeque::new(),
            limits,
            given_up: Vec::new(),
            line,
            arrivals,
            tasks,
            callers: peers.iter().map(|_| None).collect(),
            next_ack: None,
            rng,
            given: Vec::new(),
            is_open: config.openness().is_some(),
        }
    }

    /// The links to all others that are known.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().flatten().filter(|link| link.is_somebody())
    }

    /// Makes a link for a peer that is about to join.
    pub(crate) fn make_place(&mut self, peer: NodeId) {
        if peer != self.me && self.known(peer).is_none() {
            self.links[peer.index()] = Some(Link::new(peer, String::new()));
        }
    }

    /// The links over which something can be said.
    fn within_reach(&self) -> impl Iterator<Item = &Link> {
        self.others().filter(|link| !self.is_open || link.is_connected())
    }

    pub(crate) fn others_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    /// There may be something to write to it.
    pub(crate) fn touch(&mut self, peer: NodeId) {
        if !std::mem::replace(&mut self.link(peer).is_touched, true) {
            self.touched.push_back(peer);
        }
    }

    pub(crate) fn touch_all(&mut self) {
        for link in self.links.iter_mut().flatten() {
            if !std::mem::replace(&mut link.is_touched, true) {
                self.touched.push_back(link.peer);
            }
        }
    }

    /// The next one with something to write.
    pub(crate) fn next_touched(&mut self) -> Option<NodeId> {
        let peer = self.touched.pop_front()?;
        self.link(peer).is_touched = false;
        Some(peer)
    }

    /// The link to an id, if a process is known to have it.
    pub(crate) fn known(&mut self, peer: NodeId) -> Option<&mut Link> {
        self.links.get_mut(peer.index())?.as_mut()
    }

    pub(crate) fn link(&mut self, peer: NodeId) -> &mut Link {
        self.known(peer).expect("a peer is known, and never ourselves")
    }
}

impl TcpNetwork {
    fn send_or_keep(
        &mut self,
        to: NodeId,
        message: &[u8],
        is_status: bool,
    ) -> Result<Option<u64>, WireError> {
        let (limits, is_open) = (self.limits, self.is_open);
        if is_open {
            self.make_place(to);
        }
        let Some(link) = self.known(to) else { return Ok(None) };
        if is_open && !link.is_connected() && !link.is_gone() {
            link.keep(message, is_status, &limits)?;
            return Ok(None);
        }
        let was_gone = link.is_gone();
        let seq = link.send(message, &limits)?;
        if seq.is_some() {
            self.touch(to);
        } else if !was_gone {
            self.given_up.push(to);
        }
        Ok(seq)
    }
}

impl Outbound for TcpNetwork {
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        self.send_or_keep(to, message, false)
    }

    fn send_status(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        self.send_or_keep(to, message, true)
    }
}

impl Network for TcpNetwork {
    fn open(driver: &mut Driver<Self>) {
        let peers: Vec<NodeId> = driver.world.others().map(|link| link.peer).collect();
        for peer in peers {
            driver.dial(peer);
        }
    }

    fn poll_arrivals(driver: &mut Driver<Self>, cx: &mut Context<'_>) {
        driver.poll_arrivals(cx);
    }

    fn on_bell(driver: &mut Driver<Self>, place: usize) {
        driver.poll_link(NodeId(place as u32));
    }

    fn on_begun(driver: &mut Driver<Self>) {
        for index in 0..driver.world.links.len() {
            if driver.world.links[index].is_some() {
                driver.handle_frames(NodeId(index as u32));
                // It may not have been read to the end before.
                driver.ready_links.ring(index);
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.next_ack
    }

    fn on_time(driver: &mut Driver<Self>, now: Instant) {
        if driver.world.next_ack.is_some_and(|at| at <= now) {
            driver.world.next_ack = None;
            driver.acknowledge();
        }
    }

    fn look(driver: &mut Driver<Self>, now: Instant) {
        driver.look_at_links(now);
    }

    fn flush(driver: &mut Driver<Self>) {
        driver.flush();
    }

    fn say_bye(&mut self, asks: bool) {
        for link in self.others_mut() {
            link.say_bye(asks);
        }
        self.touch_all();
    }

    fn is_settled(&self) -> bool {
        self.within_reach().all(Link::is_settled)
    }

    async fn close(self) {
        let Self { links, mut tasks, .. } = self;
        drop(links);
        // Waits until the listener is closed.
        tasks.shutdown().await;
    }

    /// All that were met are the first processes of their nodes.
    fn begin(&mut self) {
        self.others_mut().for_each(Link::begin);
    }

    fn has_met_all(&self) -> bool {
        self.others().all(Link::is_connected)
    }

    fn unacknowledged(&self) -> usize {
        self.within_reach().map(Link::unacknowledged).sum()
    }

    fn members(&self) -> impl Iterator<Item = Member> {
        self.others().map(|link| Member {
            peer: link.peer,
            parting: link.parting(),
            missing_for: link.missing_for(),
            has_dropped: link.has_dropped(),
            is_remembered: link.is_remembered,
        })
    }

    fn note_remembered(&mut self, peer: NodeId) {
        self.link(peer).is_remembered = true;
    }

    fn statuses(&self) -> Vec<LinkStatus> {
        self.others().map(Link::status).collect()
    }

    fn datagrams(&self) -> Option<Datagrams> {
        None
    }
}
