//! How connections come about: one task listens, one dials for every peer with a lower number that
//! we are not connected with, and one knocks at every peer with a higher number that does not call.
//! They only exchange hellos; the node's task takes over from there.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use vorrang_protocol::{Never, NodeId};

use crate::address_book::is_address;
use crate::config::Timing;
use crate::error::NetError;
use crate::handshake::{HandshakeError, read_frame, write_frame};
use crate::hello::{DialRequest, Hello, Introduction, JoinGrant, JoinRequest, Refusal, Refuser};
use crate::identity::Identity;
use crate::incarnations::Terms;
use crate::transport::{AnyStream, AnyTransport, ErasedListener, Tcp, Transport};
use crate::wire::{Frame, VERSION, WireError};

/// How many strangers may be at the door at once; more are turned away, and try again.
const MAX_AT_THE_DOOR: usize = 128;
/// How long a listener rests when the system refuses it connections: out of file descriptors,
/// mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How much longer than the longest between two calls the pause between two knocks may become.
const KNOCK_PAUSES: u32 = 8;

/// The messages of these tasks to the node's task.
pub(crate) enum Arrival {
    /// A peer that may be a member dialled us; it waits for our hello.
    Inbound { visit: IncomingConnection, theirs: Hello },
    /// A peer that may be a member asks to be called, and waits for an answer.
    Knocked { visit: IncomingConnection, who: Introduction },
    /// A process without an id asks for one, and waits for it.
    Joins { visit: IncomingConnection, wish: JoinRequest },
    /// We dialled under this name, and both hellos are said.
    Dialled { stream: AnyStream, theirs: Hello, ours: u64 },
    /// We refused a peer, and are telling it so.
    WeRefused { who: RefusedPeer, why: Refusal },
    /// The peer refused us, who called it under this name, or did not call but knock.
    RefusedUs { peer: NodeId, why: Refusal, ours: Option<u64> },
    /// The peer does not answer at its address.
    Unanswered { peer: NodeId, why: String },
    /// Not one of us, or broken.
    Malformed { from: String, why: String },
}

/// An incoming connection, with its permit, which it keeps until it is admitted or closed:
/// otherwise the number of refused connections would be unbounded.
pub(crate) struct IncomingConnection {
    stream: AnyStream,
    from: String,
    place: OwnedSemaphorePermit,
}

impl IncomingConnection {
    /// Lets it in.
    pub(crate) fn enter(self) -> AnyStream {
        self.stream
    }

    pub(crate) fn from(&self) -> &str {
        &self.from
    }

    /// Gives it a number, waits for the other side to have read it, and closes.
    pub(crate) async fn give(self, place: JoinGrant, timing: Timing) {
        let Self { stream, from: _, place: at_the_door } = self;
        say_last(stream, &Frame::JoinGrant(place), timing).await;
        drop(at_the_door);
    }

    /// Says why not, waits for the other side to have read it, and closes.
    pub(crate) async fn refuse(self, why: Refusal, timing: Timing) {
        let Self { stream, from: _, place } = self;
        refuse(stream, &why, timing).await;
        drop(place);
    }
}

/// The refused peer, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) enum RefusedPeer {
    /// A member that we dialled.
    Member(NodeId),
    /// A process that claims this id.
    Claims(NodeId, String),
    /// A process at this address.
    Stranger(String),
}

/// Takes connections until it is dropped.
pub(crate) async fn listen(mut listener: Box<dyn ErasedListener>, line: Line) {
    let timing = line.timing;
    let door = Arc::new(Semaphore::new(MAX_AT_THE_DOOR));
    let mut guests = JoinSet::new();
    // Those who have come, the oldest first.
    let mut waiting = VecDeque::new();
    loop {
        while guests.try_join_next().is_some() {}
        let (mut stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if waiting.len() >= 2 * MAX_AT_THE_DOOR {
            waiting.retain(|guest| !AbortHandle::is_finished(guest));
        }
        let Some(place) = find_place(&door, &mut waiting).await else {
            tracing::warn!(%from, "too many connections at the door: turned one away");
            continue;
        };
        let line = line.clone();
        waiting.push_back(guests.spawn(async move {
            let asked = timeout(timing.hello, ask(&mut stream, &line.identity, &from)).await;
            let arrival = match asked.unwrap_or(Err(HandshakeError::TooSlow)) {
                Ok(Ok(said)) => {
                    let visit = IncomingConnection { stream, from, place };
                    match said {
                        Said::Hello(theirs) => Arrival::Inbound { visit, theirs },
                        Said::DialRequest(who) => Arrival::Knocked { visit, who },
                        Said::JoinRequest(wish) => Arrival::Joins { visit, wish },
                    }
                }
                Ok(Err((who, why))) => {
                    line.tell(Arrival::WeRefused { who, why: why.clone() });
                    return IncomingConnection { stream, from, place }.refuse(why, timing).await;
                }
                Err(error) => Arrival::Malformed { from, why: error.to_string() },
            };
            line.tell(arrival);
        }));
    }
}

/// A permit: a free one, or that of the connection that has waited longest without a hello. A
/// member sends its hello at once; so silent connections keep no member out.
async fn find_place(
    door: &Arc<Semaphore>,
    waiting: &mut VecDeque<AbortHandle>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(door).try_acquire_owned() {
        return Some(place);
    }
    waiting.retain(|guest| !guest.is_finished());
    waiting.pop_front()?.abort();
    tracing::warn!("too many connections at the door: the oldest goes");
    // It leaves as soon as it is its turn to run.
    let leaving = timeout(ACCEPT_PAUSE, Arc::clone(door).acquire_owned());
    leaving.await.ok()?.ok()
}

/// The first frame of an incoming connection.
enum Said {
    Hello(Hello),
    DialRequest(Introduction),
    JoinRequest(JoinRequest),
}

/// Asks a guest who it is, and whether it belongs here.
async fn ask(
    stream: &mut AnyStream,
    identity: &Identity,
    from: &str,
) -> Result<Result<Said, (RefusedPeer, Refusal)>, HandshakeError> {
    let (verdict, sender, said) = match read_frame(stream).await {
        Ok(Frame::Hello(theirs)) => {
            (identity.judge_dialler(&theirs), theirs.who.sender, Said::Hello(theirs))
        }
        Ok(Frame::DialRequest(knock)) => {
            let sender = knock.who.sender;
            (identity.judge_dial_request(&knock), sender, Said::DialRequest(knock.who))
        }
        Ok(Frame::Join(wish)) => {
            let who = |why| (RefusedPeer::Stranger(from.to_owned()), why);
            return Ok(identity.judge_wish(&wish).map(|()| Said::JoinRequest(wish)).map_err(who));
        }
        Ok(
            Frame::Refuse(_)
            | Frame::Data { .. }
            | Frame::Ack { .. }
            | Frame::Bye { .. }
            | Frame::JoinGrant(_),
        ) => return Err(HandshakeError::NotHello),
        Err(HandshakeError::Wire(WireError::Version(theirs))) => {
            let why = Refusal::Version { refuser: VERSION, refused: theirs };
            return Ok(Err((RefusedPeer::Stranger(from.to_owned()), why)));
        }
        Err(error) => return Err(error),
    };
    let claims = |why| (RefusedPeer::Claims(sender, from.to_owned()), why);
    Ok(verdict.map(|()| said).map_err(claims))
}

/// Says why, waits for the other side to have read it, and closes: closing first could take the
/// words back.
pub(crate) async fn refuse(stream: AnyStream, why: &Refusal, timing: Timing) {
    say_last(stream, &Frame::Refuse(why.clone()), timing).await;
}

async fn say_last(mut stream: AnyStream, last: &Frame<Never>, timing: Timing) {
    let words = async {
        if write_frame(&mut stream, last).await.is_ok() {
            // Its end is all that matters; a peer that goes on talking is cut off.
            let _ = read_frame(&mut stream).await;
        }
    };
    let _ = timeout(timing.hello, words).await;
}

/// The peer to dial, and what is known of it.
#[derive(Debug)]
pub(crate) struct Dial {
    pub(crate) peer: NodeId,
    pub(crate) address: String,
    /// Our hello, without the number of the call.
    pub(crate) terms: Terms,
    pub(crate) calls: Arc<AtomicU64>,
    /// How long to wait before the first call: connections that do not last are not made in haste.
    pub(crate) pause: Duration,
    /// Rings when there is no reason to wait any longer.
    pub(crate) bell: Arc<Notify>,
    pub(crate) seed: u64,
}

/// How the node's tasks reach others.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) transport: AnyTransport,
    pub(crate) identity: Arc<Identity>,
    pub(crate) timing: Timing,
    pub(crate) arrivals: mpsc::UnboundedSender<Arrival>,
}

impl Line {
    fn tell(&self, arrival: Arrival) {
        // A node that has ended need not know.
        let _ = self.arrivals.send(arrival);
    }

    /// Connects, sends one frame and reads the answer.
    async fn ask(
        &self,
        address: &str,
        words: &Frame<Never>,
    ) -> Result<(AnyStream, Frame<Never>), HandshakeError> {
        ask_at(&self.transport, address, words, self.timing).await
    }

    /// The reason why there is no connection.
    fn failed(&self, peer: NodeId, address: &str, error: &HandshakeError) {
        self.tell(match error {
            HandshakeError::Io(error) => Arrival::Unanswered { peer, why: in_words(error) },
            HandshakeError::TooSlow => Arrival::Unanswered {
                peer,
                why: "it accepts a connection and does not answer".to_owned(),
            },
            HandshakeError::Wire(_) | HandshakeError::NotHello => {
                let from = format!("node {peer} at {address}");
                Arrival::Malformed { from, why: error.to_string() }
            }
        });
    }
}

/// Connects, sends one frame and reads the answer.
async fn ask_at(
    transport: &AnyTransport,
    address: &str,
    words: &Frame<Never>,
    timing: Timing,
) -> Result<(AnyStream, Frame<Never>), HandshakeError> {
    let connecting = timeout(timing.hello, transport.connect(address)).await;
    let mut stream = connecting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    let asking = async {
        write_frame(&mut stream, words).await?;
        read_frame(&mut stream).await
    };
    let answer = match timeout(timing.hello, asking).await {
        Ok(Err(HandshakeError::Wire(WireError::Version(theirs)))) => {
            // A frame of another version can only mean this.
            Frame::Refuse(Refusal::Version { refuser: theirs, refused: VERSION })
        }
        Ok(answer) => answer?,
        Err(_elapsed) => return Err(HandshakeError::TooSlow),
    };
    Ok((stream, answer))
}

/// Asks a member of an open group, which listens there, for a number, and where the others are.
///
/// # Errors
///
/// If there is no answer, the group is another one or has no free id, or the answer is invalid.
pub async fn request_id(
    member: &str,
    wish: JoinRequest,
    timing: Timing,
) -> Result<JoinGrant, NetError> {
    request_id_over(Tcp, member, wish, timing).await
}

/// The same over another transport.
///
/// # Errors
///
/// As of [`request_id`].
pub async fn request_id_over(
    transport: impl Transport,
    member: &str,
    wish: JoinRequest,
    timing: Timing,
) -> Result<JoinGrant, NetError> {
    let no = |why: String| NetError::NotLetIn { address: member.to_owned(), why };
    let (room, own) = (wish.room as usize, wish.address.clone());
    let transport: AnyTransport = Arc::new(transport);
    let asked = ask_at(&transport, member, &Frame::Join(wish), timing).await;
    let (_, answer) = asked.map_err(|error| {
        no(match &error {
            HandshakeError::Io(error) => in_words(error),
            HandshakeError::TooSlow => "it accepts a connection and does not answer".to_owned(),
            HandshakeError::Wire(_) | HandshakeError::NotHello => error.to_string(),
        })
    })?;
    match answer {
        Frame::JoinGrant(JoinGrant { id, mut peers, founders })
            if id.index() < room && peers.len() == room =>
        {
            for address in peers.iter_mut().filter(|it| !is_address(it)) {
                address.clear();
            }
            peers[id.index()] = own;
            Ok(JoinGrant { id, peers, founders })
        }
        Frame::JoinGrant(JoinGrant { id, peers, founders: _ }) => {
            Err(no(format!("it gives us number {id} of {}, and there are {room}", peers.len())))
        }
        Frame::Refuse(why) => Err(no(why.sentence(Refuser::Them))),
        Frame::Hello(_)
        | Frame::Data { .. }
        | Frame::Ack { .. }
        | Frame::Bye { .. }
        | Frame::DialRequest(_)
        | Frame::Join(_) => Err(no("it answers something else".to_owned())),
    }
}

/// An error of the system without its number, and an end of file as what it means here.
fn in_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "it closed the connection without an answer".to_owned();
    }
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// Dials until it is connected, with growing pauses.
///
/// A refusal ends it only if it is about this process itself; wrong settings of the peer may be
/// corrected.
pub(crate) async fn dial(line: Line, whom: Dial) {
    let Dial { peer, address, mut terms, calls, pause: first_pause, bell, seed } = whom;
    let wait = async |pause: Duration| {
        // After the time-out or the wake-up: on to the next call.
        let _ = timeout(pause, bell.notified()).await;
    };
    let timing = line.timing;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pause = timing.backoff_min;
    wait(first_pause).await;
    loop {
        terms.attempt = calls.fetch_add(1, Ordering::Relaxed) + 1;
        let hello = Frame::Hello(line.identity.hello(peer, terms));
        match line.ask(&address, &hello).await {
            Ok((stream, Frame::Hello(theirs))) => match line.identity.judge_answer(peer, &theirs) {
                Ok(()) => {
                    let ours = terms.incarnation;
                    return line.tell(Arrival::Dialled { stream, theirs, ours });
                }
                Err(why) => {
                    let who = RefusedPeer::Member(peer);
                    line.tell(Arrival::WeRefused { who, why: why.clone() });
                    refuse(stream, &why, timing).await;
                    pause = timing.backoff_max;
                }
            },
            Ok((_, Frame::Refuse(why))) => {
                let is_final = why.is_final();
                line.tell(Arrival::RefusedUs { peer, why, ours: Some(terms.incarnation) });
                if is_final {
                    return;
                }
                pause = timing.backoff_max;
            }
            Ok((
                _,
                Frame::Data { .. }
                | Frame::Ack { .. }
                | Frame::Bye { .. }
                | Frame::DialRequest(_)
                | Frame::Join(_)
                | Frame::JoinGrant(_),
            )) => line.failed(peer, &address, &HandshakeError::NotHello),
            Err(error) => line.failed(peer, &address, &error),
        }
        let jitter = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        wait(pause.mul_f64(0.5 + jitter / 2.0)).await;
        pause = (pause * 2).min(timing.backoff_max);
    }
}

/// A task that is about to connect us with a peer.
pub(crate) struct Caller {
    pub(crate) task: AbortHandle,
    /// Ends its pause, if it makes one.
    pub(crate) bell: Arc<Notify>,
    /// Where it calls.
    pub(crate) address: String,
}

/// Asks a peer that should call us whether it will, until it is stopped; at first after a pause, in
/// which the peer may call by itself.
pub(crate) async fn knock(line: Line, peer: NodeId, address: String, first_pause: Duration) {
    let longest = line.timing.backoff_max * KNOCK_PAUSES;
    let mut pause = line.timing.backoff_max;
    sleep(first_pause).await;
    loop {
        let words = Frame::DialRequest(DialRequest { who: line.identity.introduce(peer) });
        match line.ask(&address, &words).await {
            Ok((_, Frame::Refuse(why))) => {
                line.tell(Arrival::RefusedUs { peer, why, ours: None });
            }
            Ok((
                _,
                Frame::Hello(_)
                | Frame::Data { .. }
                | Frame::Ack { .. }
                | Frame::Bye { .. }
                | Frame::DialRequest(_)
                | Frame::Join(_)
                | Frame::JoinGrant(_),
            )) => line.failed(peer, &address, &HandshakeError::NotHello),
            Err(error) => line.failed(peer, &address, &error),
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
