//! The network of a node over UDP: sockets, peers and queues.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::Instant;
use vorrang_protocol::{NodeId, NodeSet};

use super::datagram::{self, Body, Frame, Greeting, MAX_DATAGRAM, MAX_PAYLOAD};
use super::faults::Chance;
use super::outgoing::Outgoing;
use super::peer::Peer;
use super::sockets::{self, CAST, OWN, PLACES, Sockets};
use super::{Cast, Multicast, Udp};
use crate::config::{Config, Timing};
use crate::drawn::draw_number;
use crate::error::NetError;
use crate::event::Event;
use crate::identity::Identity;
use crate::machine_io::Outbound;
use crate::rate_limit::RateLimit;
use crate::status::Datagrams;
use crate::wire::WireError;

/// How many times a goodbye is sent: it is not acknowledged.
const GOODBYES: usize = 3;
/// How long a socket is left alone that the system does not read from.
const READ_PAUSE: Duration = Duration::from_millis(50);
/// How much strangers can make us say, in events and in refusals.
const STRAYS: RateLimit = RateLimit::new(20, Duration::from_secs(1));
const REFUSALS: RateLimit = RateLimit::new(50, Duration::from_millis(50));

/// The network of a node over UDP.
pub(crate) struct UdpNetwork {
    pub(super) me: NodeId,
    pub(super) identity: Arc<Identity>,
    pub(super) timing: Timing,
    /// How all are reached at once, in words, and what members have in common, as a number.
    pub(super) cast: String,
    pub(super) digest: u64,
    /// Which process this is.
    pub(super) incarnation: u64,
    pub(super) sockets: Sockets,
    pub(super) casting: Casting,
    /// By node; none for ourselves.
    pub(super) peers: Vec<Option<Peer>>,
    /// How many of them are not gone.
    reachable: usize,
    pub(super) out: Outgoing,
    pending: Pending,
    next_number: u64,
    /// Messages that do not fit into a datagram, not yet reported.
    pub(super) too_large: Vec<(NodeId, usize)>,
    pub(super) chance: Chance,
    /// Datagrams that the next one overtakes, and until when they wait for it.
    pub(super) late: VecDeque<Arrived>,
    pub(super) late_until: Option<Instant>,
    /// Messages that came before the start.
    pub(super) held: VecDeque<Held>,
    /// How many calls there were.
    calls: u64,
    /// Everyone is there, and is called once more: all that answer a call of at least this number
    /// were there at the same time. Without connections a member may long be dead, and another life
    /// of it wait outside.
    roll: Option<u64>,
    /// When members that are not there are called next.
    pub(super) next_call: Option<Instant>,
    /// When a socket is read from again that failed.
    pub(super) next_read: Option<Instant>,
    pub(super) lookups: JoinSet<(NodeId, io::Result<SocketAddr>)>,
    pub(super) rng: Xoshiro256PlusPlus,
    pub(super) strays: RateLimit,
    pub(super) oversized: RateLimit,
    pub(super) refusals: RateLimit,
    pub(super) counts: Datagrams,
    /// Whether something was said to all since the last look.
    pub(super) has_said: bool,
    /// Room for a datagram, and a byte by which one that is too long is known.
    pub(super) room: Vec<u8>,
    /// Events to report.
    pub(super) news: Vec<Event>,
}

/// How all are reached at once.
#[derive(Clone, Debug)]
pub(super) enum Casting {
    /// By a datagram to each, as it was asked for or because nothing else works.
    Unicast,
    /// By one to this address.
    Multicast { group: SocketAddr, or_unicast: bool },
}

/// A datagram that has arrived.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    pub(super) source: SocketAddr,
    pub(super) by_cast: bool,
}

/// A message that came before the start.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) from: NodeId,
    pub(super) incarnation: u64,
    pub(super) number: u64,
    pub(super) message: Vec<u8>,
}

/// One message, and all those it goes to as far as is known yet.
#[derive(Debug, Default)]
struct Pending {
    number: u64,
    message: Vec<u8>,
    to: Vec<NodeId>,
    /// The same, to be looked up.
    among: NodeSet,
}

impl UdpNetwork {
    /// Binds the sockets, and joins the multicast group if that is wanted.
    pub(crate) async fn open(
        udp: Udp,
        socket: Option<std::net::UdpSocket>,
        config: &Config,
        identity: &Arc<Identity>,
        rng: Xoshiro256PlusPlus,
    ) -> Result<Self, NetError> {
        udp.validate()?;
        let me = config.id;
        let own = match socket {
            Some(socket) => sockets::adopt(socket),
            None => sockets::bind(config.listens_on()).await,
        };
        let own = own.map_err(|source| {
            let address = config.listens_on().to_owned();
            NetError::Bind { address, source }
        })?;
        let (casting, hearing, news) = join(&own, udp.cast)?;
        let peer = |(id, address): (u32, &String)| {
            (id != me.0).then(|| Peer::new(NodeId(id), address.clone(), &config.timing))
        };
        let cast = udp.cast.to_string();
        let mail = Self {
            me,
            identity: Arc::clone(identity),
            timing: config.timing,
            digest: datagram::digest(identity, &cast),
            cast,
            incarnation: draw_number(),
            sockets: Sockets { own, cast: hearing },
            casting,
            peers: (0..).zip(&config.peers).map(peer).collect(),
            reachable: config.peers.len() - 1,
            out: Outgoing::default(),
            pending: Pending::default(),
            next_number: 0,
            too_large: Vec::new(),
            chance: Chance::new(udp.faults, me),
            late: VecDeque::new(),
            late_until: None,
            held: VecDeque::new(),
            calls: 0,
            roll: None,
            next_call: Some(Instant::now()),
            next_read: None,
            lookups: JoinSet::new(),
            rng,
            strays: STRAYS,
            oversized: STRAYS,
            refusals: REFUSALS,
            counts: Datagrams::default(),
            has_said: false,
            room: vec![0; MAX_DATAGRAM + 1],
            news: news.into_iter().collect(),
        };
        mail.validate()?;
        Ok(mail)
    }

    /// Makes sure that what this node says first fits into a datagram.
    fn validate(&self) -> Result<(), NetError> {
        for peer in self.others() {
            let longest = Greeting {
                generation: u64::MAX,
                knows: Some(u64::MAX),
                heartbeat_ms: u64::MAX,
                ..self.greeting(peer, Some(u64::MAX))
            };
            let frame = self.frame(Some(peer.id), Body::Hello(Box::new(longest)));
            if let Err(length) = datagram::encode(&frame, &mut Vec::new()) {
                let limit = MAX_DATAGRAM;
                return Err(NetError::GreetingTooLong { length, limit });
            }
        }
        Ok(())
    }

    /// How many places there are of which the task must be told.
    pub(crate) const PLACES: usize = PLACES;

    pub(super) fn others(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().flatten()
    }

    pub(super) fn others_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.iter_mut().flatten()
    }

    pub(super) fn peer(&mut self, id: NodeId) -> &mut Peer {
        self.peers[id.index()].as_mut().expect("a peer is never ourselves")
    }

    /// The set of reachable peers may have changed.
    pub(super) fn recount(&mut self) {
        self.reachable = self.others().filter(|peer| !peer.is_gone()).count();
    }

    pub(super) const fn frame<'a>(&self, to: Option<NodeId>, body: Body<'a>) -> Frame<Body<'a>> {
        Frame { digest: self.digest, from: self.me, to, incarnation: self.incarnation, body }
    }

    /// Sends a hello to a peer, as a call or as an answer.
    fn greeting(&self, peer: &Peer, answers: Option<u64>) -> Greeting {
        let Identity { group, algorithm, setup, peers, .. } = &*self.identity;
        Greeting {
            group: group.clone(),
            algorithm: algorithm.clone(),
            setup: setup.clone(),
            nodes: self.identity.nodes(),
            cast: self.cast.clone(),
            here: peers[self.me.index()].clone(),
            there: peer.address.clone(),
            heartbeat_ms: self.identity.heartbeat_ms(),
            generation: self.identity.generation,
            returns: self.identity.returns(peer.is_original),
            knows: peer.incarnation,
            hears: match self.casting {
                Casting::Unicast => None,
                Casting::Multicast { .. } => Some(peer.hearing.is_heard),
            },
            call: answers.unwrap_or(self.calls),
            is_answer: answers.is_some(),
        }
    }

    /// Says hello.
    pub(super) fn greet(&mut self, id: NodeId, answers: Option<u64>) {
        self.calls += u64::from(answers.is_none());
        let Some(peer) = &self.peers[id.index()] else { return };
        let Some(at) = peer.at else { return };
        let greeting = self.greeting(peer, answers);
        self.push_to(id, at, Body::Hello(Box::new(greeting)));
    }

    /// Queues a frame to one address.
    pub(super) fn push_to(&mut self, id: NodeId, at: SocketAddr, body: Body<'_>) {
        self.post_pending();
        let frame = self.frame(Some(id), body);
        let pushed = self.out.push(&frame, [(Some(id), at)]);
        self.counts.unicast += pushed.expect("what a node says by itself is short");
    }

    /// Queues a frame to all that were met, by one datagram if that reaches them.
    pub(super) fn push_to_all(&mut self, body: Body<'_>) {
        self.post_pending();
        let frame = self.frame(None, body);
        let is_met = |peer: &&Peer| peer.incarnation.is_some() && !peer.is_gone();
        let met = self.peers.iter().flatten().filter(is_met);
        if met.clone().next().is_none() {
            return;
        }
        let casts = match &self.casting {
            Casting::Unicast => None,
            Casting::Multicast { group, .. } => Some(*group),
        };
        let each = met
            .filter(|peer| casts.is_none() || !peer.hears_casts())
            .filter_map(|peer| Some((Some(peer.id), peer.at?)));
        let sent = match casts {
            None => 0,
            Some(group) => self.out.push(&frame, [(None, group)]).unwrap_or_default(),
        };
        self.counts.multicast += sent;
        self.counts.unicast += self.out.push(&frame, each).unwrap_or_default();
        self.has_said = true;
    }

    /// Queues the message that waits for more receivers: from now on others come behind it.
    pub(super) fn post_pending(&mut self) {
        let Pending { number, message, mut to, mut among } = std::mem::take(&mut self.pending);
        if !to.is_empty() {
            let frame = self.frame(None, Body::Data { number, message: &message });
            let is_for_all = to.len() == self.reachable;
            let hears =
                |id: &NodeId| self.peers[id.index()].as_ref().is_some_and(Peer::hears_casts);
            let listeners = to.iter().filter(|id| hears(id)).count();
            if let (true, 2.., Casting::Multicast { group, .. }) =
                (is_for_all, listeners, &self.casting)
            {
                let sent = self.out.push(&frame, [(None, *group)]);
                self.counts.multicast += sent.unwrap_or_default();
                to.retain(|id| !hears(id));
            }
            let peers = &self.peers;
            let each =
                to.iter().filter_map(|&id| Some((Some(id), peers[id.index()].as_ref()?.at?)));
            self.counts.unicast += self.out.push(&frame, each).unwrap_or_default();
            self.has_said |= is_for_all;
        }
        // Its room is used again.
        to.clear();
        among.clear();
        self.pending = Pending { number, message, to, among };
    }

    /// Begins to call everyone once more if everyone is there, or gives that up if not.
    pub(super) fn call_the_roll(&mut self) {
        let timing = self.timing;
        let are_there = self.others().all(|peer| peer.is_there);
        match (are_there, self.roll) {
            (true, None) => {
                self.roll = Some(self.calls + 1);
                self.others_mut().for_each(|peer| peer.hasten(&timing));
                self.call_by(Instant::now());
            }
            (false, Some(_)) => self.roll = None,
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Whether a peer was there when everyone was.
    pub(super) fn has_answered(&self, peer: &Peer) -> bool {
        peer.is_there && self.roll.is_some_and(|roll| peer.calls.answered >= roll)
    }

    /// Notes that members that are not there are to be called by then.
    pub(super) fn call_by(&mut self, then: Instant) {
        self.next_call = Some(self.next_call.map_or(then, |next| next.min(then)));
    }

    /// A number between 0 and 1.
    pub(super) fn jitter(&mut self) -> f64 {
        f64::from(self.rng.next_u32()) / f64::from(u32::MAX)
    }

    /// Queues a goodbye to everyone.
    pub(super) fn push_goodbyes(&mut self) {
        for _ in 0..GOODBYES {
            self.push_to_all(Body::Bye);
        }
    }

    pub(super) fn poll_receive(
        &mut self,
        place: usize,
        cx: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = self.sockets.poll_receive(place, cx, room);
        if let Poll::Ready(Err(_)) = &received {
            self.next_read = Some(Instant::now() + READ_PAUSE);
        }
        received
    }

    /// Multicasts do not work here: does without, if that is allowed, and says why.
    pub(super) fn fall_back(&mut self, why: &io::Error) -> Option<Event> {
        let Casting::Multicast { or_unicast: true, .. } = self.casting else { return None };
        self.casting = Casting::Unicast;
        self.sockets.cast = None;
        for peer in self.others_mut() {
            // It has to be told.
            peer.is_there = false;
        }
        self.call_by(Instant::now());
        Some(Event::Unicast { peer: None, why: in_words(&self.cast, why) })
    }
}

fn in_words(cast: &str, why: &io::Error) -> String {
    format!("{cast} does not work: {why}")
}

/// How a node can reach all at once.
type Joined = (Casting, Option<UdpSocket>, Option<Event>);

/// Joins the multicast group, or does without if that is allowed.
fn join(own: &UdpSocket, cast: Cast) -> Result<Joined, NetError> {
    let Cast::Multicast(multicast) = cast else {
        return Ok((Casting::Unicast, None, None));
    };
    let Multicast { group, interface, or_unicast, ttl: _ } = multicast;
    match sockets::join(own, &multicast) {
        Ok(hearing) => {
            let casting = Casting::Multicast { group: group.into(), or_unicast };
            Ok((casting, Some(hearing), None))
        }
        Err(error) if or_unicast => {
            let why = in_words(&cast.to_string(), &error);
            Ok((Casting::Unicast, None, Some(Event::Unicast { peer: None, why })))
        }
        Err(source) => Err(NetError::Multicast { group, interface, source }),
    }
}

impl Outbound for UdpNetwork {
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        let peer = self.peer(to);
        if peer.is_gone() {
            peer.dropped += 1;
            return Ok(None);
        }
        if message.len() > MAX_PAYLOAD {
            self.too_large.push((to, message.len()));
            return Ok(None);
        }
        peer.sent += 1;
        let is_same = !self.pending.to.is_empty()
            && self.pending.message == message
            && !self.pending.among.contains(to);
        if !is_same {
            self.post_pending();
            self.pending.number = self.next_number;
            self.pending.message.clear();
            self.pending.message.extend_from_slice(message);
            self.next_number += 1;
        }
        self.pending.to.push(to);
        self.pending.among.insert(to);
        Ok(Some(self.pending.number))
    }

    fn limit(&self) -> Option<usize> {
        Some(MAX_PAYLOAD)
    }
}

/// The places to look at when all are to be.
pub(super) const ALL_PLACES: [usize; PLACES] = [OWN, CAST];
