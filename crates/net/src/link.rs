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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

    use super::*;

    fn link() -> Link {
        Link::new(NodeId(1), "somewhere:1".to_owned())
    }

    /// What the peer says when it has handled so many of our messages.
    fn hello(received: u64) -> Hello {
        Hello {
            group: String::new(),
            algorithm: String::new(),
            setup: String::new(),
            peers: Vec::new(),
            sender: NodeId(1),
            target: NodeId(0),
            incarnation: 7,
            knows: None,
            received,
            attempt: 1,
        }
    }

    /// Connects, and hands out the peer's end.
    fn connect(link: &mut Link, received: u64) -> DuplexStream {
        let (ours, theirs) = duplex(1 << 20);
        assert!(link.connect(Box::new(ours), &hello(received)));
        theirs
    }

    fn flush(link: &mut Link) {
        let mut nobody = Context::from_waker(std::task::Waker::noop());
        link.flush(&mut nobody).unwrap();
    }

    /// All frames that the peer has been sent.
    async fn frames(link: &mut Link, theirs: &mut DuplexStream) -> Vec<Frame<u8>> {
        flush(link);
        let mut bytes = vec![0; 1 << 16];
        let len = theirs.read(&mut bytes).await.unwrap();
        let (mut rest, mut frames) = (&bytes[..len], Vec::new());
        while let Some((frame, len)) = wire::decode(rest).unwrap() {
            frames.push(frame);
            rest = &rest[len..];
        }
        assert!(rest.is_empty());
        frames
    }

    const fn data(seq: u64, received: u64, message: u8) -> Frame<u8> {
        Frame::Data { seq, received, message }
    }

    #[test]
    fn a_message_is_new_once_and_none_may_be_missing_before_it() {
        let mut link = link();
        assert_eq!([0, 0, 1, 0].map(|seq| link.receive(seq)), [true, false, true, false].map(Some));
        assert_eq!(link.receive(3), None);
        assert_eq!(link.received(), 2);
    }

    #[tokio::test]
    async fn what_was_not_acknowledged_goes_over_the_next_connection() {
        let mut link = link();
        assert_eq!(link.send(&[10]), Ok(Some(0)));
        let mut theirs = connect(&mut link, 0);
        assert_eq!(link.send(&[11]), Ok(Some(1)));
        assert_eq!(frames(&mut link, &mut theirs).await, [data(0, 0, 10), data(1, 0, 11)]);
        assert!(link.disconnect() && !link.disconnect());

        let mut theirs = connect(&mut link, 1);
        assert_eq!(frames(&mut link, &mut theirs).await, [data(1, 0, 11)]);
        assert_eq!((link.unacknowledged(), link.connections), (1, 2));
        assert!(link.acknowledge(2) && !link.acknowledge(3));
        assert_eq!(link.unacknowledged(), 0);
    }

    #[test]
    fn a_peer_that_has_what_it_was_never_sent_is_not_connected_with() {
        let mut link = link();
        let (ours, _theirs) = duplex(1);
        assert!(!link.connect(Box::new(ours), &hello(1)));
        assert!(!link.is_connected());
    }

    #[tokio::test]
    async fn acknowledgements_ride_on_messages_or_go_alone_after_a_while() {
        let (mut link, timing) = (link(), Timing::default());
        let mut theirs = connect(&mut link, 0);
        link.receive(0);
        link.send(&[1]).unwrap();
        assert_eq!(frames(&mut link, &mut theirs).await, [data(0, 1, 1)]);
        assert_eq!(link.look(Instant::now(), &timing), Health::Fine);

        link.receive(1);
        assert!(link.wants_look());
        assert_eq!(link.look(Instant::now(), &timing), Health::Fine);
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Ack { received: 2 }]);

        for seq in 2..2 + ACK_EVERY {
            link.receive(seq);
        }
        let received = 2 + ACK_EVERY;
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Ack { received }]);
    }

    #[tokio::test]
    async fn a_peer_that_acknowledges_nothing_for_long_is_silent() {
        let (mut link, timing) = (link(), Timing::default());
        let _theirs = connect(&mut link, 0);
        link.send(&[1]).unwrap();
        link.send(&[2]).unwrap();
        let start = Instant::now();
        assert_eq!(link.look(start, &timing), Health::Fine);
        // Something came: it is not silent, only slow.
        assert!(link.acknowledge(1));
        assert_eq!(link.look(start + timing.silence, &timing), Health::Fine);
        assert_eq!(link.look(start + timing.silence * 2, &timing), Health::Silent);
    }

    #[tokio::test]
    async fn a_goodbye_comes_last_and_again_on_the_next_connection() {
        let mut link = link();
        let mut theirs = connect(&mut link, 0);
        link.say_bye();
        link.send(&[1]).unwrap();
        assert_eq!(frames(&mut link, &mut theirs).await, [data(0, 0, 1), Frame::Bye]);
        assert!(!link.is_settled(), "the message is not acknowledged");
        link.disconnect();
        let mut theirs = connect(&mut link, 1);
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Bye]);
        assert!(link.is_settled());
    }

    #[test]
    fn what_is_sent_to_one_who_left_is_dropped_and_counted() {
        let mut link = link();
        link.send(&[1]).unwrap();
        link.give_up("it has left");
        assert_eq!(link.send(&[2]), Ok(None));
        let status = link.status();
        assert_eq!((status.dropped, status.unacknowledged), (2, 0));
        assert_eq!(status.state, LinkState::Gone("it has left".to_owned()));
    }

    #[test]
    fn a_refusal_is_news_until_it_is_known() {
        let mut link = link();
        let size = Refusal::Size { refuser: 2, refused: 3 };
        assert!(link.refuse(&size, "of another size".to_owned()));
        assert!(!link.refuse(&size, "of another size".to_owned()));
        assert!(link.refuse(&Refusal::Fenced, "fenced".to_owned()));
        assert_eq!(link.status().state, LinkState::Refused("fenced".to_owned()));
        link.give_up("gone");
        assert!(!link.refuse(&size, "of another size".to_owned()), "it is gone anyway");
    }

    #[tokio::test]
    async fn connections_that_do_not_last_are_made_anew_with_growing_pauses() {
        let (mut link, timing) = (link(), Timing::default());
        let mut pauses = Vec::new();
        for _ in 0..12 {
            connect(&mut link, 0);
            link.disconnect();
            pauses.push(link.redial_pause(&timing));
        }
        assert_eq!(pauses[..4], [0, 10, 20, 40].map(Duration::from_millis));
        assert!(pauses.is_sorted() && pauses[11] == timing.backoff_max, "{pauses:?}");
    }
}
