//! How connections come about: one task listens, one dials for every peer with a lower number that
//! we are not connected with, and one asks every peer with a higher number that does not call to do
//! so. They only exchange hellos; the node's task takes over from there.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use vorrang_protocol::{Never, NodeId};

use crate::address_book::is_address;
use crate::config::Timing;
use crate::error::NetError;
use crate::handshake::{HandshakeError, judge_proof, read_frame, write_frame};
use crate::hello::{DialRequest, Hello, Introduction, JoinGrant, JoinRequest, Refusal, Refuser};
use crate::identity::Identity;
use crate::incarnations::Terms;
use crate::transport::{AnyStream, AnyTransport, Claim, ErasedListener, Tcp, Transport};
use crate::unidentified::Unidentified;
use crate::wire::{Frame, VERSION, WireError};

/// How long a listener rests when the system refuses it connections: out of file descriptors,
/// mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How much longer than the longest between two calls the pause between two such requests may
/// become.
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
    /// The peer refused us, who called it under this name, or did not call but ask to be called.
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
    Unknown(String),
}

/// Takes connections until it is dropped.
pub(crate) async fn listen(mut listener: Box<dyn ErasedListener>, line: Line) {
    let timing = line.timing;
    let mut unidentified = Unidentified::new();
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.try_join_next().is_some() {}
        let (mut stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(place) = unidentified.find_place(&from).await else { continue };
        let (line, complaints, whence) = (line.clone(), unidentified.complaints(), from.clone());
        let handshake = handshakes.spawn(async move {
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
                Err(error) => match complaints.say(&error.to_string()) {
                    Some(why) => Arrival::Malformed { from, why },
                    None => return,
                },
            };
            line.tell(arrival);
        });
        unidentified.waits(&whence, handshake);
    }
}

/// The first frame of an incoming connection.
enum Said {
    Hello(Hello),
    DialRequest(Introduction),
    JoinRequest(JoinRequest),
}

impl Said {
    /// The member that it claims to be.
    fn claim(&self) -> Claim<'_> {
        match self {
            Self::Hello(Hello { who, .. }) | Self::DialRequest(who) => {
                let address = who.peers.get(who.sender.index()).map_or("", String::as_str);
                Claim { node: Some(who.sender), address }
            }
            Self::JoinRequest(wish) => Claim { node: None, address: &wish.address },
        }
    }
}

/// Asks who has connected who it is, and whether it belongs here.
async fn ask(
    stream: &mut AnyStream,
    identity: &Identity,
    from: &str,
) -> Result<Result<Said, (RefusedPeer, Refusal)>, HandshakeError> {
    let claims = |sender| RefusedPeer::Claims(sender, from.to_owned());
    let (verdict, who, said) = match read_frame(stream).await {
        Ok(Frame::Hello(theirs)) => {
            (identity.judge_dialler(&theirs), claims(theirs.who.sender), Said::Hello(theirs))
        }
        Ok(Frame::DialRequest(request_dial)) => {
            let who = claims(request_dial.who.sender);
            (identity.judge_dial_request(&request_dial), who, Said::DialRequest(request_dial.who))
        }
        Ok(Frame::Join(wish)) => {
            let verdict = identity.judge_wish(&wish);
            (verdict, RefusedPeer::Unknown(from.to_owned()), Said::JoinRequest(wish))
        }
        Ok(Frame::Refuse(why)) => return Err(HandshakeError::RefusedUs(why)),
        Ok(Frame::Data { .. } | Frame::Ack { .. } | Frame::Bye { .. } | Frame::JoinGrant(_)) => {
            return Err(HandshakeError::NotHello);
        }
        Err(HandshakeError::Wire(WireError::Version(theirs))) => {
            let why = Refusal::Version { refuser: VERSION, refused: theirs };
            return Ok(Err((RefusedPeer::Unknown(from.to_owned()), why)));
        }
        Err(error) => return Err(error),
    };
    let verdict = verdict.and_then(|()| judge_proof(stream, said.claim()));
    Ok(verdict.map(|()| said).map_err(|why| (who, why)))
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
    pub(crate) call_now: Arc<Notify>,
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

    /// Connects with a peer, sends one frame and reads the answer.
    async fn ask(
        &self,
        peer: NodeId,
        address: &str,
        words: &Frame<Never>,
    ) -> Result<(AnyStream, Frame<Never>), HandshakeError> {
        let mut stream = connect(&self.transport, address, self.timing).await?;
        // Our words have numbers in them that are for this peer alone.
        if let Err(why) = judge_proof(&stream, Claim { node: Some(peer), address }) {
            let words = Frame::Refuse(why.clone());
            let _ = timeout(self.timing.hello, write_frame(&mut stream, &words)).await;
            return Err(HandshakeError::WeRefused(why));
        }
        exchange(stream, words, self.timing).await
    }

    /// The reason why there is no connection.
    fn failed(&self, peer: NodeId, address: &str, error: &HandshakeError) {
        self.tell(match error {
            HandshakeError::Io(error) => Arrival::Unanswered { peer, why: in_words(error) },
            HandshakeError::TooSlow => Arrival::Unanswered {
                peer,
                why: "it accepts a connection and does not answer".to_owned(),
            },
            HandshakeError::WeRefused(why) => {
                Arrival::WeRefused { who: RefusedPeer::Member(peer), why: why.clone() }
            }
            HandshakeError::Wire(_) | HandshakeError::NotHello | HandshakeError::RefusedUs(_) => {
                let from = format!("node {peer} at {address}");
                Arrival::Malformed { from, why: error.to_string() }
            }
        });
    }
}

async fn connect(
    transport: &AnyTransport,
    address: &str,
    timing: Timing,
) -> Result<AnyStream, io::Error> {
    let connecting = timeout(timing.hello, transport.connect(address)).await;
    connecting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Sends one frame and reads the answer.
async fn exchange(
    mut stream: AnyStream,
    words: &Frame<Never>,
    timing: Timing,
) -> Result<(AnyStream, Frame<Never>), HandshakeError> {
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
    let asking = async {
        let stream = connect(&transport, member, timing).await?;
        exchange(stream, &Frame::Join(wish), timing).await
    };
    let (_, answer) = asking.await.map_err(|error| {
        no(match &error {
            HandshakeError::Io(error) => in_words(error),
            HandshakeError::TooSlow => "it accepts a connection and does not answer".to_owned(),
            HandshakeError::Wire(_)
            | HandshakeError::NotHello
            | HandshakeError::RefusedUs(_)
            | HandshakeError::WeRefused(_) => error.to_string(),
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
    if error.kind() == io::ErrorKind::InvalidData {
        // Words of the transport, with names in them.
        return text;
    }
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// Dials until it is connected, with growing pauses.
///
/// A refusal ends it only if it is about this process itself; wrong settings of the peer may be
/// corrected.
pub(crate) async fn dial(line: Line, whom: Dial) {
    let Dial { peer, address, mut terms, calls, pause: first_pause, call_now, seed } = whom;
    let wait = async |pause: Duration| {
        // After the time-out or the wake-up: on to the next call.
        let _ = timeout(pause, call_now.notified()).await;
    };
    let timing = line.timing;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pause = timing.backoff_min;
    wait(first_pause).await;
    loop {
        terms.attempt = calls.fetch_add(1, Ordering::Relaxed) + 1;
        let hello = Frame::Hello(line.identity.hello(peer, terms));
        match line.ask(peer, &address, &hello).await {
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
    pub(crate) call_now: Arc<Notify>,
    /// Where it calls.
    pub(crate) address: String,
}

/// Asks a peer that should call us whether it will, until it is stopped; at first after a pause, in
/// which the peer may call by itself.
pub(crate) async fn request_dial(line: Line, peer: NodeId, address: String, first_pause: Duration) {
    let longest = line.timing.backoff_max * KNOCK_PAUSES;
    let mut pause = line.timing.backoff_max;
    sleep(first_pause).await;
    loop {
        let words = Frame::DialRequest(DialRequest { who: line.identity.introduce(peer) });
        match line.ask(peer, &address, &words).await {
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
