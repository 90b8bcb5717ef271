//! One node's side of the link to another: what outlives a connection, and the connection.
//!
//! A link is reliable and in order for as long as both processes live. Every message has a number;
//! what is not acknowledged is sent again over the next connection; a number seen before is
//! dropped. Acknowledgements ride on messages that go the other way; only when there are none for a
//! while, or too many are owed, does one go alone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::time::Instant;
use vorrang_protocol::{Never, NodeId};

use crate::backlog::Backlog;
use crate::config::Timing;
use crate::hello::{Hello, Refusal};
use crate::status::{LinkState, LinkStatus};
use crate::transport::AnyStream;
use crate::wire::{self, Frame, WireError};

/// How many messages may be handled before an acknowledgement is sent even with nothing to ride on.
const ACK_EVERY: u64 = 32;
/// How many bytes are handed to a connection ahead of what it has written.
const STAGE_LEN: usize = 1 << 16;
/// A connection that ended sooner has hardly been one.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// How large the input of a connection is, unless a longer frame needs more.
const INPUT_LEN: usize = 1 << 14;

/// What outlives a connection.
pub(crate) struct Link {
    pub(crate) peer: NodeId,
    address: String,
    connection: Option<Connection>,
    standing: Standing,
    backlog: Backlog,
    /// How many messages we have handled, and how many of them the peer knows of.
    received: u64,
    told: u64,
    /// The only incarnation of the peer that we deal with.
    pub(crate) incarnation: Option<u64>,
    pub(crate) attempt: u32,
    pub(crate) connections: u64,
    since: Instant,
    /// How many of the last connections ended as soon as they had begun.
    short_lives: u32,
    dropped: u64,
    /// What was the oldest unacknowledged message when, to notice a peer that has fallen silent.
    waiting: Option<(u64, Instant)>,
    farewell: Farewell,
}

#[derive(Debug)]
enum Standing {
    Open,
    Refused(Refusal, String),
    Gone(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Farewell {
    None,
    Wanted,
    Sent,
}

struct Connection {
    stream: AnyStream,
    input: Vec<u8>,
    start: usize,
    end: usize,
    output: Vec<u8>,
    written: usize,
}

/// What the regular look at a link found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    Fine,
    Silent,
}

impl Link {
    pub(crate) fn new(peer: NodeId, address: String) -> Self {
        Self {
            peer,
            address,
            connection: None,
            standing: Standing::Open,
            backlog: Backlog::new(),
            received: 0,
            told: 0,
            incarnation: None,
            attempt: 0,
            connections: 0,
            since: Instant::now(),
            short_lives: 0,
            dropped: 0,
            waiting: None,
            farewell: Farewell::None,
        }
    }

    /// Takes over a new connection, of which the hello has been exchanged: `ours` says what we
    /// have. False if the peer has what we never sent.
    #[must_use]
    pub(crate) fn connect(&mut self, stream: AnyStream, theirs: &Hello) -> bool {
        if !self.backlog.acknowledge(theirs.received) {
            return false;
        }
        self.backlog.rewind();
        self.connection = Some(Connection {
            stream,
            input: vec![0; INPUT_LEN],
            start: 0,
            end: 0,
            output: Vec::new(),
            written: 0,
        });
        self.standing = Standing::Open;
        self.incarnation = Some(theirs.incarnation);
        self.attempt = theirs.attempt.max(self.attempt);
        self.told = self.received;
        self.connections += 1;
        self.since = Instant::now();
        self.waiting = None;
        if self.farewell == Farewell::Sent {
            self.farewell = Farewell::Wanted;
        }
        true
    }

    /// Drops the connection; true if there was one.
    pub(crate) fn disconnect(&mut self) -> bool {
        let was_connected = self.connection.take().is_some();
        if was_connected {
            let is_short = self.since.elapsed() < SHORT_LIFE;
            self.short_lives = if is_short { self.short_lives + 1 } else { 0 };
            self.since = Instant::now();
        }
        was_connected
    }

    /// How long to wait before dialling: not at all, unless the last connections did not last.
    pub(crate) fn redial_pause(&self, timing: &Timing) -> Duration {
        match self.short_lives {
            0 | 1 => Duration::ZERO,
            more => {
                let doubled = timing.backoff_min.saturating_mul(1 << (more - 2).min(16));
                doubled.min(timing.backoff_max)
            }
        }
    }

    /// One of us refuses the other. True if that is news.
    pub(crate) fn refuse(&mut self, why: &Refusal, sentence: String) -> bool {
        match &self.standing {
            Standing::Gone(_) => false,
            Standing::Refused(known, _) if known == why => false,
            Standing::Refused(..) | Standing::Open => {
                self.standing = Standing::Refused(why.clone(), sentence);
                true
            }
        }
    }

    /// The peer will not be back, or we will not.
    pub(crate) fn give_up(&mut self, why: &str) {
        self.disconnect();
        self.dropped += self.backlog.abandon() as u64;
        self.standing = Standing::Gone(why.to_owned());
    }

    /// Queues a frame that only this connection needs.
    pub(crate) fn say(&mut self, frame: &Frame<Never>) {
        if let Some(connection) = &mut self.connection {
            wire::encode(frame, &mut connection.output).expect("control frames are short");
        }
    }

    pub(crate) fn say_ack(&mut self) {
        self.told = self.received;
        self.say(&Frame::Ack { received: self.received });
    }

    /// Queues a goodbye behind all that was sent.
    pub(crate) fn say_bye(&mut self) {
        if self.farewell == Farewell::None {
            self.farewell = Farewell::Wanted;
        }
    }

    /// Queues a message and says its number; none if the peer is gone.
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<Option<u64>, WireError> {
        if matches!(self.standing, Standing::Gone(_)) {
            self.dropped += 1;
            return Ok(None);
        }
        let (seq, received) = (self.backlog.next_seq(), self.received);
        if self.backlog.push(|out| wire::encode_data(seq, received, message, out))? {
            let (peer, waiting) = (self.peer, self.backlog.len());
            tracing::warn!(%peer, waiting, "many messages wait to be acknowledged");
        }
        self.told = received;
        Ok(Some(seq))
    }

    /// A message with this number has come: is it the next one? None if one is missing.
    pub(crate) fn receive(&mut self, seq: u64) -> Option<bool> {
        if seq > self.received {
            return None;
        }
        let is_new = seq == self.received;
        self.received += u64::from(is_new);
        Some(is_new)
    }

    #[must_use]
    pub(crate) fn acknowledge(&mut self, received: u64) -> bool {
        self.backlog.acknowledge(received)
    }

    /// Acknowledges what is owed, and looks whether the peer does the same.
    pub(crate) fn look(&mut self, now: Instant, timing: &Timing) -> Health {
        if self.owes() > 0 && self.is_connected() {
            self.say_ack();
        }
        if self.backlog.is_empty() || !self.is_connected() {
            self.waiting = None;
            return Health::Fine;
        }
        match self.waiting {
            Some((first, since)) if first == self.backlog.first() => {
                if now.duration_since(since) >= timing.silence {
                    self.waiting = None;
                    return Health::Silent;
                }
            }
            Some(_) | None => self.waiting = Some((self.backlog.first(), now)),
        }
        Health::Fine
    }

    /// Whether it is worth looking at again soon.
    pub(crate) fn wants_look(&self) -> bool {
        self.is_connected() && (self.owes() > 0 || !self.backlog.is_empty())
    }

    /// Whether nothing more can be done for what was sent.
    pub(crate) fn is_settled(&self) -> bool {
        let has_said_bye = self.farewell == Farewell::Sent
            && self.connection.as_ref().is_none_or(Connection::has_written_all);
        self.backlog.is_empty() && (has_said_bye || !self.is_connected())
    }

    /// Whether enough was read for now, by a node that does not handle it yet.
    pub(crate) fn is_full(&self) -> bool {
        let buffered = self.connection.as_ref().map(|it| it.end - it.start);
        buffered.is_some_and(|len| len >= INPUT_LEN)
    }

    pub(crate) const fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    pub(crate) const fn is_gone(&self) -> bool {
        matches!(self.standing, Standing::Gone(_))
    }

    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        self.backlog.len()
    }

    pub(crate) fn status(&self) -> LinkStatus {
        let since = self.since.elapsed();
        let state = match (&self.standing, &self.connection) {
            (Standing::Gone(why), _) => LinkState::Gone(why.clone()),
            (_, Some(_)) => LinkState::Connected(since),
            (Standing::Refused(_, why), None) => LinkState::Refused(why.clone()),
            (Standing::Open, None) => LinkState::Connecting(since),
        };
        LinkStatus {
            peer: self.peer,
            address: self.address.clone(),
            state,
            connections: self.connections,
            unacknowledged: self.backlog.len(),
            unacknowledged_bytes: self.backlog.len_bytes(),
            sent: self.backlog.next_seq(),
            received: self.received,
            dropped: self.dropped,
        }
    }

    const fn owes(&self) -> u64 {
        self.received - self.told
    }
}

impl Link {
    /// Reads what is there, once; 0 at the end. Pending, too, if there is no connection.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match &mut self.connection {
            Some(connection) => connection.poll_fill(cx),
            None => Poll::Pending,
        }
    }

    /// The next whole frame of what was read, its message as bytes in `message`.
    pub(crate) fn next_frame(
        &mut self,
        message: &mut Vec<u8>,
    ) -> Result<Option<Frame<()>>, WireError> {
        match &mut self.connection {
            Some(connection) => connection.next_frame(message),
            None => Ok(None),
        }
    }

    /// Writes as much as the connection takes now: all that a turn has queued, at once.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.owes() >= ACK_EVERY {
            self.say_ack();
        }
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        loop {
            if self.backlog.has_unstaged() {
                self.backlog.stage(&mut connection.output, STAGE_LEN);
            } else if self.farewell == Farewell::Wanted {
                self.farewell = Farewell::Sent;
                wire::encode::<Never>(&Frame::Bye, &mut connection.output)
                    .expect("a goodbye is short");
            }
            if connection.has_written_all() {
                return Ok(());
            }
            match connection.poll_write(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(()),
            }
        }
    }
}

impl Connection {
    const fn has_written_all(&self) -> bool {
        self.output.is_empty()
    }

    fn next_frame(&mut self, message: &mut Vec<u8>) -> Result<Option<Frame<()>>, WireError> {
        match wire::decode_raw(&self.input[self.start..self.end], message)? {
            Some((frame, len)) => {
                self.start += len;
                Ok(Some(frame))
            }
            None => Ok(None),
        }
    }

    /// Room for more at the end of the input.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > INPUT_LEN {
                // One long frame should not cost its room for ever.
                self.input = vec![0; INPUT_LEN];
            }
        }
        if self.end == self.input.len() {
            if self.start > 0 {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.input.resize(self.input.len() * 2, 0);
            }
        }
    }
}

impl Connection {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut room = ReadBuf::new(&mut self.input[self.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut room))?;
        let more = room.filled().len();
        self.end += more;
        Poll::Ready(Ok(more))
    }

    /// Writes the whole output.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.output.len() {
            let rest = &self.output[self.written..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        self.output.clear();
        self.written = 0;
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}
