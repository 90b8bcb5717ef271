//! Discovery on sockets.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use vorrang_protocol::NodeId;

use super::agreement::{Agreement, Candidate, Heed, MOST_CANDIDATES, News, Patience, Said};
use super::announcement::{Announcement, shorten};
use crate::config::Generation;
use crate::drawn::draw_number;
use crate::error::NetError;
use crate::udp::datagram::{self, MAX_DATAGRAM};
use crate::udp::faults::{Chance, Fate};
use crate::udp::{Cast, Faults, Multicast, Udp, sockets};

/// The mean interval of announcements, and the shortest.
const EVERY: Duration = Duration::from_millis(100);
const SOONEST: Duration = Duration::from_millis(10);
/// How long a candidate may be silent, and how long a commitment waits for the others'.
const PATIENCE: Patience =
    Patience { silence: Duration::from_millis(1_500), commitment: Duration::from_secs(5) };
/// How long a process that has agreed goes on without being asked.
const LINGER: Duration = Duration::from_secs(5);
/// How often a process that goes says so: nobody acknowledges it.
const GOODBYES: usize = 3;

/// What is looked for, and from where.
#[derive(Clone, Debug)]
pub struct Search {
    /// Where processes announce themselves, and later reach all at once.
    pub multicast: Multicast,
    /// The name of the group.
    pub group: String,
    /// The name of the algorithm.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// How many members there are to be: 2 to 64.
    pub nodes: u32,
    /// The address at which members will reach this one: an IPv4 address of its own, with a port or
    /// with 0 for any that is free.
    pub listen: String,
    /// Of these, losses: injected faults of announcements that arrive.
    pub faults: Faults,
}

/// What is worth a word during a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sighting {
    /// What the agreement has to say.
    News(News),
    /// A process of a group of this name that is set up differently: where it is, and how.
    SetUpDifferently(SocketAddrV4, String),
    /// Announcements cannot be sent.
    Unsent(String),
}

/// Others have agreed on a list without this process.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the group is complete without this process")]
pub struct LeftOut(
    /// Its members.
    pub Vec<SocketAddrV4>,
);

/// A process that looks for others.
#[derive(Debug)]
pub struct Discovery {
    own: UdpSocket,
    cast: UdpSocket,
    group: SocketAddr,
    name: u64,
    settings: u64,
    text: String,
    agreement: Agreement,
    begun: Instant,
    /// When an announcement was sent last, and when the next is due.
    sent: Option<Instant>,
    next: Option<Instant>,
    /// Whether someone spoke since that does not know the list that was agreed on.
    is_asked: bool,
    rng: Xoshiro256PlusPlus,
    chance: Chance,
    /// Who was reported as set up differently, and whether it was that nothing can be sent.
    different: BTreeSet<SocketAddrV4>,
    is_unsent: bool,
    dropped: u64,
    room: Vec<u8>,
}

/// A place in a group.
#[derive(Debug)]
pub struct Found {
    /// Which of the peers this is.
    pub id: NodeId,
    /// The addresses of all.
    pub peers: Vec<String>,
    /// The socket that is bound to this one's.
    pub socket: std::net::UdpSocket,
    /// How many datagrams were no announcements, and were dropped.
    pub dropped: u64,
    /// Answers those who come late, until it is dropped.
    pub answering: Answering,
}

/// A task that ends when it is dropped.
#[derive(Debug)]
pub struct Answering(JoinHandle<()>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Search {
    /// Binds the socket, and joins the multicast group.
    ///
    /// # Errors
    ///
    /// If that is not possible, or others could not reach the address.
    pub async fn begin(self) -> Result<Discovery, NetError> {
        let Self { multicast, group, algorithm, setup, nodes, listen, faults } = self;
        let cast = Cast::Multicast(multicast);
        Udp { cast, faults }.validate()?;
        if nodes < 2 || nodes as usize > MOST_CANDIDATES {
            let why = format!("{nodes} processes cannot find each other, only 2 to 64 can");
            return Err(NetError::Udp(why));
        }
        let at = |source| NetError::Bind { address: listen.clone(), source };
        let own = sockets::bind(&listen).await.map_err(at)?;
        let address = match own.local_addr().map_err(at)? {
            SocketAddr::V4(address) if !address.ip().is_unspecified() => address,
            SocketAddr::V4(_) | SocketAddr::V6(_) => {
                return Err(NetError::Udp(format!(
                    "{listen} is not where others reach this process: discovery needs an IPv4 \
                     address of its own, such as 127.0.0.1:0"
                )));
            }
        };
        let Multicast { group: to, interface, .. } = multicast;
        let heard = sockets::join(&own, &multicast).map_err(|source| NetError::Multicast {
            group: to,
            interface,
            source,
        })?;
        let me = Candidate { address, life: Generation::now().number() };
        let seed = draw_number();
        Ok(Discovery {
            own,
            cast: heard,
            group: to.into(),
            name: datagram::digest_of(&group),
            settings: datagram::digest_of(&(&algorithm, &setup, nodes, cast.to_string())),
            text: shorten(&format!("{algorithm} among {nodes} {setup}")),
            agreement: Agreement::new(me, nodes as usize, PATIENCE),
            begun: Instant::now(),
            sent: None,
            next: Some(Instant::now()),
            is_asked: false,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            chance: Chance::new(Faults { seed: faults.seed ^ seed, ..faults }, NodeId(0)),
            different: BTreeSet::new(),
            is_unsent: false,
            dropped: 0,
            room: vec![0; MAX_DATAGRAM + 1],
        })
    }
}

impl Discovery {
    /// Where this process is reached.
    pub const fn address(&self) -> SocketAddrV4 {
        self.agreement.me().address
    }

    /// Looks for the others until there is a list; [`settle`](Self::settle) then, since the others
    /// may not know it yet, and nobody is answered in between. It may be dropped, and called again.
    ///
    /// # Errors
    ///
    /// If others have agreed on a list without this process.
    pub async fn run(&mut self, mut report: impl FnMut(Sighting)) -> Result<(), LeftOut> {
        while self.agreement.agreed().is_none() {
            if let Some(list) = self.agreement.left_out_of() {
                return Err(LeftOut(list.iter().map(|it| it.address).collect()));
            }
            self.step(&mut report).await;
        }
        Ok(())
    }

    /// Says goodbye.
    pub async fn leave(self) {
        for _ in 0..GOODBYES {
            let _ = self.own.send_to(&self.announcement(Said::Leaves), self.group).await;
        }
    }

    /// Takes the place that was found; from now on those who come late are answered.
    ///
    /// # Errors
    ///
    /// If the system does not give a second handle of the socket.
    ///
    /// # Panics
    ///
    /// If none was found yet.
    pub fn settle(mut self) -> io::Result<Found> {
        let list = self.agreement.agreed().expect("there is a list");
        let peers: Vec<String> = list.iter().map(|it| it.address.to_string()).collect();
        let place = (0..).zip(list).find(|(_, it)| it.address == self.address());
        let id = place.map(|(id, _)| NodeId(id)).expect("whoever has a list is in it");
        let dropped = self.dropped;
        let socket = self.own.into_std()?;
        self.own = UdpSocket::from_std(socket.try_clone()?)?;
        let answering = Answering(tokio::spawn(self.answer()));
        Ok(Found { id, peers, socket, dropped, answering })
    }

    /// Tells the others the list until all have it, and later whoever asks.
    async fn answer(mut self) {
        let until = Instant::now() + LINGER;
        self.next = Some(Instant::now());
        loop {
            self.step(&mut |_| ()).await;
            let is_known = self.agreement.is_common_knowledge() || Instant::now() > until;
            if is_known && !self.is_asked {
                self.next = None;
            }
        }
    }

    /// Announces this process if it is time, and otherwise waits for a datagram until it is.
    async fn step(&mut self, report: &mut impl FnMut(Sighting)) {
        let next = self.next;
        let is_due = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        let before = (self.agreement.me(), self.agreement.says());
        tokio::select! {
            () = is_due => {
                self.agreement.tick(self.begun.elapsed());
                self.announce(report).await;
            }
            received = self.cast.recv_from(&mut self.room) => match received {
                Ok((length, source)) => self.on_arrival(length, source, report),
                Err(_) => tokio::time::sleep(SOONEST).await,
            }
        }
        if before != (self.agreement.me(), self.agreement.says()) {
            self.hasten();
        }
        for news in self.agreement.take_news() {
            report(Sighting::News(news));
        }
    }

    /// The next announcement is due as soon as it may be.
    fn hasten(&mut self) {
        let soonest = self.sent.map_or_else(Instant::now, |sent| sent + SOONEST);
        self.next = Some(self.next.map_or(soonest, |next| next.min(soonest)));
    }

    fn announcement(&self, said: Said) -> Vec<u8> {
        let Self { name, settings, ref text, ref agreement, .. } = *self;
        Announcement { name, settings, text: text.clone(), from: agreement.me(), said }.encode()
    }

    async fn announce(&mut self, report: &mut impl FnMut(Sighting)) {
        self.is_asked = false;
        let words = self.announcement(self.agreement.says());
        let sent = self.own.send_to(&words, self.group).await;
        let now = Instant::now();
        // Spread, so that processes that were started together do not speak at the same time.
        let spread = f64::from(self.rng.next_u32()) / f64::from(u32::MAX);
        (self.sent, self.next) = (Some(now), Some(now + EVERY.mul_f64(0.75 + 0.5 * spread)));
        if let Err(error) = sent
            && !std::mem::replace(&mut self.is_unsent, true)
        {
            report(Sighting::Unsent(error.to_string()));
        }
    }

    fn on_arrival(&mut self, length: usize, source: SocketAddr, report: &mut impl FnMut(Sighting)) {
        let bytes = &self.room[..length];
        if bytes.starts_with(&datagram::MAGIC) {
            // Members of a group that has begun share the address.
            return;
        }
        let read = Announcement::decode(bytes).filter(|it| {
            SocketAddr::V4(it.from.address) == source && Generation::is_plausible(it.from.life)
        });
        let Some(Announcement { name, settings, text, from, said }) = read else {
            self.dropped += 1;
            return;
        };
        let is_own = from.address == self.address();
        if is_own || name != self.name || self.chance.draw() == Fate::Lost {
            return;
        }
        if settings != self.settings {
            if self.different.len() < MOST_CANDIDATES && self.different.insert(from.address) {
                report(Sighting::SetUpDifferently(from.address, text));
            }
            return;
        }
        let asks = !matches!(said, Said::Agreed(_) | Said::Leaves);
        match self.agreement.hear(self.begun.elapsed(), from, said) {
            Heed::Heard if asks && self.agreement.agreed().is_some() => {
                // Not at once: one answer is for all who ask at a time.
                let soonest = self.sent.map_or_else(Instant::now, |sent| sent + EVERY / 2);
                let answer = soonest.max(Instant::now() + SOONEST);
                self.next = Some(self.next.map_or(answer, |next| next.min(answer)));
                self.is_asked = true;
            }
            Heed::Heard => {}
            Heed::Implausible | Heed::Full => self.dropped += 1,
        }
    }
}
