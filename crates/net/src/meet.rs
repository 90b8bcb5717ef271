//! How connections come about: one task listens, and one dials for every peer with a lower number
//! that we are not connected with. Both only exchange hellos; the node's task takes over from
//! there.

use std::sync::Arc;
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use vorrang_protocol::NodeId;

use crate::config::Timing;
use crate::hello::{HandshakeError, Hello, Identity, Refusal, read_frame, write_frame};
use crate::transport::{AnyStream, AnyTransport, Door};
use crate::wire::{Frame, VERSION, WireError};

/// How many strangers may be at the door at once; more are turned away, and try again.
const MAX_AT_THE_DOOR: usize = 128;
/// How long a listener rests when the system refuses it connections: out of file descriptors,
/// mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the tasks tell the node.
pub(crate) enum Arrival {
    /// Somebody dialled us, and belongs here; it waits for our hello.
    Inbound { stream: AnyStream, theirs: Hello },
    /// We dialled, and both hellos are said.
    Dialled { stream: AnyStream, theirs: Hello },
    /// We refused somebody, and are telling it so.
    WeRefused { who: Guest, why: Refusal },
    /// The peer that we dialled refused us.
    RefusedUs { peer: NodeId, why: Refusal },
    /// Not one of us, or broken.
    Malformed { from: String, why: String },
}

/// Whom we refused, as well as it can be told.
#[derive(Clone, Debug)]
pub(crate) enum Guest {
    /// A member that we dialled.
    Member(NodeId),
    /// Somebody who says it is this node.
    Claims(NodeId, String),
    /// Somebody at this address.
    Stranger(String),
}

/// Takes connections until it is dropped.
pub(crate) async fn listen(
    mut listener: Box<dyn Door>,
    identity: Arc<Identity>,
    timing: Timing,
    arrivals: mpsc::UnboundedSender<Arrival>,
) {
    let door = Arc::new(Semaphore::new(MAX_AT_THE_DOOR));
    let mut guests = JoinSet::new();
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
        let Ok(place) = Arc::clone(&door).try_acquire_owned() else {
            tracing::warn!(%from, "too many connections without a hello: turned one away");
            continue;
        };
        let (identity, arrivals) = (Arc::clone(&identity), arrivals.clone());
        guests.spawn(async move {
            // Held until the guest is in or gone.
            let _place = place;
            let asked = timeout(timing.hello, ask(&mut stream, &identity, &from)).await;
            let arrival = match asked.unwrap_or(Err(HandshakeError::TooSlow)) {
                Ok(Ok(theirs)) => Arrival::Inbound { stream, theirs },
                Ok(Err((who, why))) => {
                    let refusal = why.clone();
                    let _ = arrivals.send(Arrival::WeRefused { who, why });
                    return refuse(stream, &refusal, timing).await;
                }
                Err(error) => Arrival::Malformed { from, why: error.to_string() },
            };
            let _ = arrivals.send(arrival);
        });
    }
}

/// Asks a guest who it is, and whether it belongs here.
async fn ask(
    stream: &mut AnyStream,
    identity: &Identity,
    from: &str,
) -> Result<Result<Hello, (Guest, Refusal)>, HandshakeError> {
    let theirs = match read_frame(stream).await {
        Ok(Frame::Hello(theirs)) => theirs,
        Ok(Frame::Refuse(_) | Frame::Data { .. } | Frame::Ack { .. } | Frame::Bye) => {
            return Err(HandshakeError::NotHello);
        }
        Err(HandshakeError::Wire(WireError::Version(theirs))) => {
            let why = Refusal::Version { refuser: VERSION, refused: theirs };
            return Ok(Err((Guest::Stranger(from.to_owned()), why)));
        }
        Err(error) => return Err(error),
    };
    Ok(match identity.judge_dialler(&theirs) {
        Ok(()) => Ok(theirs),
        Err(why) => Err((Guest::Claims(theirs.sender, from.to_owned()), why)),
    })
}

/// Says why, waits for the other side to have read it, and closes.
pub(crate) async fn refuse(mut stream: AnyStream, why: &Refusal, timing: Timing) {
    say_last(&mut stream, &Frame::Refuse(why.clone()), timing).await;
}

/// Says one thing and waits for the other side to close: closing first could take the words back.
pub(crate) async fn say_last(
    stream: &mut AnyStream,
    frame: &Frame<vorrang_protocol::Never>,
    timing: Timing,
) {
    let words = async {
        if write_frame(stream, frame).await.is_ok() {
            // Its end is all that matters; a peer that goes on talking is cut off.
            let _ = read_frame(stream).await;
        }
    };
    let _ = timeout(timing.hello, words).await;
}

/// Whom to dial, and what is known of it.
#[derive(Debug)]
pub(crate) struct Dial {
    pub(crate) peer: NodeId,
    pub(crate) address: String,
    pub(crate) knows: Option<u64>,
    pub(crate) received: u64,
    pub(crate) attempt: u32,
    /// How long to wait before the first call: connections that do not last are not made in haste.
    pub(crate) pause: Duration,
    pub(crate) seed: u64,
}

/// Dials until it is connected, with growing pauses.
///
/// A refusal ends it only if it is about what this process is; whoever gave the peer wrong settings
/// may correct them.
pub(crate) async fn dial(
    transport: AnyTransport,
    identity: Arc<Identity>,
    timing: Timing,
    mut whom: Dial,
    arrivals: mpsc::UnboundedSender<Arrival>,
) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(whom.seed);
    let mut pause = timing.backoff_min;
    sleep(whom.pause).await;
    loop {
        whom.attempt += 1;
        let call = timeout(timing.hello, call(&transport, &identity, &whom)).await;
        match call.unwrap_or(Err(HandshakeError::TooSlow)) {
            Ok(Answer::Welcome { stream, theirs }) => {
                let _ = arrivals.send(Arrival::Dialled { stream, theirs });
                return;
            }
            Ok(Answer::WeRefuse { stream, why }) => {
                let (who, refusal) = (Guest::Member(whom.peer), why.clone());
                let _ = arrivals.send(Arrival::WeRefused { who, why });
                refuse(stream, &refusal, timing).await;
                pause = timing.backoff_max;
            }
            Ok(Answer::TheyRefuse(why)) => {
                let peer = whom.peer;
                let is_final = why.is_final();
                let _ = arrivals.send(Arrival::RefusedUs { peer, why });
                if is_final {
                    return;
                }
                pause = timing.backoff_max;
            }
            Err(HandshakeError::Io(error)) => {
                tracing::debug!(peer = %whom.peer, address = whom.address, %error, "no connection");
            }
            Err(error) => {
                let from = format!("node {} at {}", whom.peer, whom.address);
                let why = error.to_string();
                let _ = arrivals.send(Arrival::Malformed { from, why });
            }
        }
        let jitter = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        sleep(pause.mul_f64(0.5 + jitter / 2.0)).await;
        pause = (pause * 2).min(timing.backoff_max);
    }
}

enum Answer {
    Welcome { stream: AnyStream, theirs: Hello },
    WeRefuse { stream: AnyStream, why: Refusal },
    TheyRefuse(Refusal),
}

async fn call(
    transport: &AnyTransport,
    identity: &Identity,
    whom: &Dial,
) -> Result<Answer, HandshakeError> {
    let mut stream = transport.connect(&whom.address).await?;
    let ours = identity.hello(whom.peer, whom.knows, whom.received, whom.attempt);
    write_frame(&mut stream, &Frame::Hello(ours)).await?;
    let theirs = match read_frame(&mut stream).await {
        Ok(Frame::Hello(theirs)) => theirs,
        Ok(Frame::Refuse(why)) => return Ok(Answer::TheyRefuse(why)),
        Ok(Frame::Data { .. } | Frame::Ack { .. } | Frame::Bye) => {
            return Err(HandshakeError::NotHello);
        }
        Err(HandshakeError::Wire(WireError::Version(theirs))) => {
            // Whatever it says in its own version, it can only be this.
            return Ok(Answer::TheyRefuse(Refusal::Version { refuser: theirs, refused: VERSION }));
        }
        Err(error) => return Err(error),
    };
    let verdict = identity.judge(&theirs).and_then(|()| {
        if theirs.sender != whom.peer {
            return Err(Refusal::Sender { claimed: theirs.sender, refuser: identity.me });
        }
        match whom.knows {
            Some(known) if known != theirs.incarnation => {
                Err(Refusal::Restarted { known, new: theirs.incarnation })
            }
            Some(_) | None => Ok(()),
        }
    });
    Ok(match verdict {
        Ok(()) => Answer::Welcome { stream, theirs },
        Err(why) => Answer::WeRefuse { stream, why },
    })
}
