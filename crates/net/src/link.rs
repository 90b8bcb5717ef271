//! One node's side of the link to another: what outlives a connection, and the connection.
//!
//! A link is reliable and in order for as long as both processes live. Every message has a sequence
//! number; unacknowledged messages are sent again over the next connection; duplicates are dropped.
//! Acknowledgements are piggybacked on messages in the other direction; only when there are none
//! for a while, or too many are pending, is one sent alone.
//!
//! A side that has sent nothing for a while sends its acknowledgement once more: a **heartbeat**.
//! So each side hears from the other as long as it lives and the network works in both directions;
//! if it hears nothing for too long, it closes the connection, and the dialling side dials anew.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::{Never, NodeId};

use crate::backlog::Backlog;
use crate::config::{Limits, Timing};
use crate::connection::Connection;
use crate::hello::{Hello, Refusal};
use crate::incarnations::{Admission, Incarnations, Moment, Parting, Terms};
use crate::standing::{ConnectFailures, Health, Standing};
use crate::status::LinkStatus;
use crate::transport::AnyStream;
use crate::unproven::Unproven;
use crate::waiting::Waiting;
use crate::wire::{self, Frame, WireError};

/// How many messages may be handled before an acknowledgement is sent even with nothing to ride on.
const ACK_EVERY: u64 = 32;
/// How many bytes are handed to a connection ahead of what it has written.
const STAGE_LEN: usize = 1 << 16;
/// A connection that ended sooner has hardly been one.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// In an open group: how many messages are kept for a peer that is away, and for an id that no
/// process is known to have.
const KEPT_AWAY: usize = 1 << 15;
const KEPT_FOR_NOBODY: usize = 1 << 6;

/// The state of a link that outlives connections.
pub(crate) struct Link {
    pub(crate) peer: NodeId,
    pub(crate) address: String,
    connection: Option<Connection>,
    /// Whether it is among those with something to write.
    pub(crate) is_touched: bool,
    standing: Standing,
    backlog: Backlog,
    /// How many messages we have handled, and how many of them the peer knows of.
    received: u64,
    told: u64,
    /// The only processes that this link is between.
    pub(crate) incarnations: Incarnations,
    /// Whether the peer remembers a former life of ours, and refuses this one.
    pub(crate) is_remembered: bool,
    /// In an open group: what was known before a later process came that is no member yet.
    pub(crate) unproven: Option<Unproven>,
    pub(crate) connections: u64,
    since: Instant,
    /// How many messages had been handled and acknowledged when the connection began: one that did
    /// something was worth making, however short it was.
    before: (u64, u64),
    /// How many of the last connections, or attempts at one, came to nothing.
    failures: u32,
    dropped: u64,
    /// In an open group: messages to send as soon as there is a connection.
    waiting: Waiting,
    farewell: Farewell,
    trouble: ConnectFailures,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Farewell {
    None,
    Wanted { asks: bool },
    Sent { asks: bool },
}

impl Link {
    pub(crate) fn new(peer: NodeId, address: String) -> Self {
        Self {
            peer,
            address,
            connection: None,
            is_touched: false,
            standing: Standing::Open,
            backlog: Backlog::new(),
            received: 0,
            told: 0,
            incarnations: Incarnations::new(),
            is_remembered: false,
            unproven: None,
            connections: 0,
            since: Instant::now(),
            before: (0, 0),
            failures: 0,
            dropped: 0,
            waiting: Waiting::default(),
            farewell: Farewell::None,
            trouble: ConnectFailures::default(),
        }
    }

    /// The state of the link, for our hello.
    pub(crate) fn terms(&self, attempt: u64) -> Terms {
        self.incarnations.terms(self.received, attempt)
    }

    /// Counts our calls.
    pub(crate) fn calls(&self) -> Arc<AtomicU64> {
        self.incarnations.calls()
    }

    /// We begin, in our first life.
    pub(crate) const fn begin(&mut self) {
        self.incarnations.begin();
    }

    /// The decision about the hello of a peer that dialled us. The place of a lost connection is
    /// kept for a while: its process calls again, unless it has crashed.
    pub(crate) fn admit(
        &self,
        hello: &Hello,
        (has_begun, readmits): (bool, bool),
        timing: &Timing,
    ) -> Admission {
        let is_taken = self.is_connected() || self.since.elapsed() < timing.backoff_max;
        let is_parted = self.parting();
        self.incarnations.admit(hello, Moment { has_begun, is_taken, is_parted, readmits })
    }

    /// The decision about the answer of a peer that we dialled.
    pub(crate) fn recognise(&self, answer: &Hello) -> Admission {
        match self.parting() {
            Some(parting) => Admission::Refuse(parting.refusal()),
            None => self.incarnations.recognise(answer),
        }
    }

    /// The peer's process is another one, and nothing has come of the former: we had not begun.
    pub(crate) fn forget(&mut self) {
        self.clear();
        self.incarnations.forget();
    }

    /// The peer's process has left, and we had not begun: another may take its place.
    pub(crate) fn let_go(&mut self) {
        self.clear();
        self.incarnations.let_go();
    }

    pub(crate) fn clear(&mut self) {
        self.disconnect();
        self.dropped += self.backlog.abandon() as u64;
        self.backlog = Backlog::new();
        (self.received, self.told) = (0, 0);
        self.standing = Standing::Open;
    }

    /// Whether a peer in this life is a later process than the one that we know; none if it is an
    /// earlier one.
    pub(crate) fn is_later(&self, generation: u64) -> Option<bool> {
        self.incarnations.is_later(generation)
    }

    /// Whether we have met a process there, and not forgotten it since.
    pub(crate) const fn has_met(&self) -> bool {
        self.incarnations.has_met()
    }

    /// The peer is a later process, in this life. What the former was sent is
    /// lost, and what it has sent is not read any more. What waits is for the new one.
    pub(crate) fn begin_anew(&mut self, generation: u64) {
        self.note_unproven(generation);
        self.clear();
        self.incarnations.begin_anew(generation);
    }

    /// Whether a call, made under this name, was made by what this link is now.
    pub(crate) const fn has_called_as(&self, incarnation: u64) -> bool {
        self.incarnations.are_we(incarnation)
    }

    /// In an open group: something for a peer that is not connected. It is for the process that we
    /// know, or for one that comes after it, and which others may know already.
    pub(crate) fn keep(
        &mut self,
        message: &[u8],
        is_status: bool,
        limits: &Limits,
    ) -> Result<(), WireError> {
        wire::fits(message)?;
        let most = if self.is_somebody() { KEPT_AWAY } else { KEPT_FOR_NOBODY };
        let limits = (most, limits.bytes);
        self.dropped += self.waiting.push(message, is_status, limits, Instant::now());
        Ok(())
    }

    /// Whether a process is known to have this id.
    pub(crate) const fn is_somebody(&self) -> bool {
        !self.address.is_empty() || self.connections > 0
    }

    /// Where the peer is to be found.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn move_to(&mut self, address: &str) {
        address.clone_into(&mut self.address);
    }

    /// Takes over a new connection with one who was let in. False if it has what we never sent.
    #[must_use]
    pub(crate) fn connect(&mut self, stream: AnyStream, theirs: &Hello) -> bool {
        if !self.backlog.acknowledge(theirs.received) {
            self.failures = self.failures.saturating_add(1);
            return false;
        }
        self.backlog.rewind();
        let now = Instant::now();
        self.connection = Some(Connection::new(stream, now));
        self.before = (self.received, self.backlog.first());
        self.standing = Standing::Open;
        self.is_remembered = false;
        self.note_unproven(theirs.who.generation);
        self.incarnations.meet(theirs);
        self.told = self.received;
        self.connections += 1;
        self.since = now;
        self.answered();
        if let Farewell::Sent { asks } = self.farewell {
            self.farewell = Farewell::Wanted { asks };
        }
        for message in self.waiting.take() {
            let (seq, received) = (self.backlog.next_seq(), self.received);
            let encode = |out: &mut Vec<u8>| wire::encode_data(seq, received, &message, out);
            self.backlog.push(encode).expect("what was kept fits");
        }
        true
    }

    /// Drops the connection; true if there was one.
    pub(crate) fn disconnect(&mut self) -> bool {
        if self.connection.take().is_none() {
            return false;
        }
        let has_progressed = self.before != (self.received, self.backlog.first());
        let has_lasted = self.since.elapsed() >= SHORT_LIFE;
        self.failures =
            if has_progressed || has_lasted { 0 } else { self.failures.saturating_add(1) };
        self.since = Instant::now();
        true
    }

    /// A connection failed though the peer was up.
    pub(crate) fn fail(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// How long to wait before dialling: not at all, unless the last connections came to nothing.
    pub(crate) fn redial_pause(&self, timing: &Timing) -> Duration {
        match self.failures {
            0 | 1 => Duration::ZERO,
            more => {
                let doubled = timing.backoff_min.saturating_mul(1 << (more - 2).min(16));
                doubled.min(timing.backoff_max)
            }
        }
    }

    /// The peer does not answer. Returns the number of calls if it is to be reported.
    pub(crate) fn unanswered(&mut self, why: String) -> Option<u64> {
        self.trouble.unanswered(why, self.since.elapsed())
    }

    /// The peer answers.
    pub(crate) fn answered(&mut self) {
        self.trouble = ConnectFailures::default();
    }

    /// One of us refuses the other. True if that is news.
    pub(crate) fn refuse(&mut self, why: &Refusal, sentence: String) -> bool {
        self.standing.refuse(why, sentence)
    }

    /// The peer will not be back, or we will not: nothing is kept for it any more.
    pub(crate) fn part(&mut self, parting: Parting, why: &str) {
        self.disconnect();
        self.dropped += self.backlog.abandon() as u64;
        self.standing = Standing::Gone(parting, why.to_owned());
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

    /// Queues a goodbye behind all that was sent; with a request that we leave behind, if that is
    /// so.
    pub(crate) fn say_bye(&mut self, asks: bool) {
        if self.farewell == Farewell::None {
            self.farewell = Farewell::Wanted { asks };
        }
    }

    /// Why an earlier process of the peer is not let in.
    pub(crate) const fn replaced(&self, generation: u64) -> Refusal {
        self.incarnations.replaced(generation, self.is_connected())
    }

    /// Queues a message and says its number; none if the peer is gone, or is from now on because
    /// too much waits for it.
    pub(crate) fn send(
        &mut self,
        message: &[u8],
        limits: &Limits,
    ) -> Result<Option<u64>, WireError> {
        if self.is_gone() {
            self.dropped += 1;
            return Ok(None);
        }
        let (seq, received) = (self.backlog.next_seq(), self.received);
        if self.backlog.push(|out| wire::encode_data(seq, received, message, out))? {
            let (peer, waiting) = (self.peer, self.backlog.len());
            tracing::warn!(%peer, waiting, "many messages wait to be acknowledged");
        }
        if self.backlog.exceeds(limits) {
            self.part(Parting::GivenUp, &format!("its queue exceeded {limits}"));
            return Ok(None);
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

    /// Sends pending acknowledgements.
    pub(crate) fn acknowledge_ours(&mut self) {
        if self.owes() > 0 && self.is_connected() {
            self.say_ack();
        }
    }

    /// Looks whether the connection still carries anything, and says that we are there if we have
    /// said nothing since the last look. To be called twice a heartbeat.
    pub(crate) fn look(&mut self, now: Instant, timing: &Timing) -> Health {
        let Some(connection) = &mut self.connection else {
            return Health::Fine;
        };
        let health = connection.look(now, timing.give_up);
        if connection.is_due_to_speak() {
            self.say_ack();
        }
        health
    }

    /// Whether an acknowledgement is owed for which nothing may come to ride on.
    pub(crate) const fn wants_ack(&self) -> bool {
        self.is_connected() && self.owes() > 0
    }

    /// Whether nothing more can be done for what was sent.
    pub(crate) fn is_settled(&self) -> bool {
        let has_said_bye = matches!(self.farewell, Farewell::Sent { .. })
            && self.connection.as_ref().is_none_or(Connection::has_written_all);
        self.backlog.is_empty() && (has_said_bye || !self.is_connected())
    }

    /// Whether enough was read for now, by a node that does not handle it yet.
    pub(crate) fn is_full(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_full)
    }

    pub(crate) const fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Whether something that was sent never arrived.
    pub(crate) const fn has_dropped(&self) -> bool {
        self.dropped > 0
    }

    /// How long there has been no connection, if there is none.
    pub(crate) fn missing_for(&self) -> Option<Duration> {
        (!self.is_connected()).then(|| self.since.elapsed())
    }

    pub(crate) const fn is_gone(&self) -> bool {
        self.parting().is_some()
    }

    /// Why the two will not come together again.
    pub(crate) const fn parting(&self) -> Option<Parting> {
        self.standing.parting()
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        self.backlog.len() + self.waiting.len()
    }

    pub(crate) fn status(&self) -> LinkStatus {
        let state = self.standing.state(self.is_connected(), self.since.elapsed());
        LinkStatus {
            peer: self.peer,
            address: self.address.clone(),
            state,
            connections: self.connections,
            unacknowledged: self.unacknowledged(),
            unacknowledged_bytes: self.backlog.len_bytes() + self.waiting.len_bytes(),
            sent: self.backlog.next_seq(),
            received: self.received,
            dropped: self.dropped,
            unanswered: self.trouble.unanswered,
            trouble: self.trouble.why.clone(),
        }
    }

    const fn owes(&self) -> u64 {
        self.received - self.told
    }
}

impl Link {
    /// Reads available bytes, once; 0 at the end. Pending, too, if there is no connection.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match &mut self.connection {
            Some(connection) => connection.poll_fill(cx),
            None => Poll::Pending,
        }
    }

    /// The next whole frame of what was read, its message as bytes in `message`; one of data only
    /// if it `takes_data`.
    pub(crate) fn next_frame(
        &mut self,
        message: &mut Vec<u8>,
        takes_data: bool,
    ) -> Result<Option<Frame<()>>, WireError> {
        match &mut self.connection {
            Some(connection) => connection.next_frame(message, takes_data),
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
            } else if let Farewell::Wanted { asks } = self.farewell {
                self.farewell = Farewell::Sent { asks };
                wire::encode::<Never>(&Frame::Bye { asks }, &mut connection.output)
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

    use super::*;
    use crate::hello::Introduction;
    use crate::standing::TROUBLE_AFTER;
    use crate::status::LinkState;

    fn link() -> Link {
        Link::new(NodeId(1), "somewhere:1".to_owned())
    }

    /// What the peer says when it has handled so many of our messages.
    fn hello(received: u64) -> Hello {
        let who = Introduction {
            group: String::new(),
            algorithm: String::new(),
            setup: String::new(),
            peers: Vec::new(),
            sender: NodeId(1),
            target: NodeId(0),
            generation: 0,
            founders: 0,
            start: None,
        };
        Hello {
            who,
            heartbeat_ms: 1,
            incarnation: 7,
            knows: None,
            received,
            attempt: 1,
            returns: false,
        }
    }

    fn send(link: &mut Link, message: u8) -> Option<u64> {
        link.send(&[message], &Limits::default()).unwrap()
    }

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
        let reading = tokio::time::timeout(Duration::from_secs(10), theirs.read(&mut bytes));
        let len = reading.await.expect("something was said").unwrap();
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
        assert_eq!(link.received, 2);
    }

    #[tokio::test]
    async fn what_was_not_acknowledged_goes_over_the_next_connection() {
        let mut link = link();
        assert_eq!(send(&mut link, 10), Some(0));
        let mut theirs = connect(&mut link, 0);
        assert_eq!(send(&mut link, 11), Some(1));
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
        let mut link = link();
        let mut theirs = connect(&mut link, 0);
        link.receive(0);
        send(&mut link, 1);
        assert_eq!(frames(&mut link, &mut theirs).await, [data(0, 1, 1)]);
        assert!(!link.wants_ack());

        link.receive(1);
        assert!(link.wants_ack());
        link.acknowledge_ours();
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Ack { received: 2 }]);

        for seq in 2..2 + ACK_EVERY {
            link.receive(seq);
        }
        let received = 2 + ACK_EVERY;
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Ack { received }]);
    }

    /// Looks twice a heartbeat for so long; says after how long the link was silent, if it was.
    fn watch(link: &mut Link, from: Instant, heartbeats: u32, timing: &Timing) -> Option<Duration> {
        (1..=2 * heartbeats).find_map(|look| {
            let passed = timing.heartbeat / 2 * look;
            (link.look(from + passed, timing) == Health::Silent).then_some(passed)
        })
    }

    async fn fill(link: &mut Link) {
        std::future::poll_fn(|cx| link.poll_fill(cx)).await.unwrap();
    }

    #[tokio::test]
    async fn an_idle_side_says_that_it_is_there_and_a_busy_one_need_not() {
        let (mut link, timing) = (link(), Timing::default());
        let mut theirs = connect(&mut link, 0);
        let now = Instant::now();
        send(&mut link, 1);
        assert_eq!(frames(&mut link, &mut theirs).await, [data(0, 0, 1)]);
        assert_eq!(link.look(now, &timing), Health::Fine);
        flush(&mut link);
        assert_eq!(link.look(now + timing.heartbeat / 2, &timing), Health::Fine);
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Ack { received: 0 }]);
    }

    #[tokio::test]
    async fn a_peer_from_which_nothing_comes_is_silent_whatever_is_owed() {
        let timing = Timing::default();
        for owes in [false, true] {
            let mut link = link();
            let mut theirs = connect(&mut link, 0);
            if owes {
                send(&mut link, 1);
            }
            let start = Instant::now();
            assert_eq!(watch(&mut link, start, 4, &timing), None);
            tokio::io::AsyncWriteExt::write_all(&mut theirs, b"V").await.unwrap();
            fill(&mut link).await;
            let later = start + timing.heartbeat * 4;
            assert_eq!(watch(&mut link, later, 4, &timing), None, "half a frame is a word");
            let after = watch(&mut link, later + timing.heartbeat * 4, 4, &timing).unwrap();
            let silence = after + timing.heartbeat * 4;
            assert!(silence <= timing.give_up + timing.heartbeat * 2, "{silence:?}");
            assert!(silence >= timing.give_up, "{silence:?}");
        }
    }

    /// A process that was stopped for an hour finds what came meanwhile only after its clock.
    #[tokio::test]
    async fn it_is_not_the_peer_that_was_silent_if_it_was_us_who_stood_still() {
        let (mut link, timing) = (link(), Timing::default());
        let mut theirs = connect(&mut link, 0);
        let later = Instant::now() + Duration::from_secs(3600);
        link.look(Instant::now(), &timing);
        tokio::io::AsyncWriteExt::write_all(&mut theirs, b"V").await.unwrap();
        assert_eq!(link.look(later, &timing), Health::Fine);
        fill(&mut link).await;
        assert_eq!(watch(&mut link, later, 3, &timing), None);
    }

    #[test]
    fn too_much_for_one_peer_is_dropped_and_it_is_given_up() {
        for (messages, bytes) in [(2, 1_000), (9, 30)] {
            let limits = Limits { messages, bytes, ..Limits::default() };
            let mut link = link();
            assert_eq!(link.send(&[1], &limits), Ok(Some(0)));
            assert_eq!(link.send(&[2], &limits), Ok(Some(1)));
            assert_eq!(link.send(&[3], &limits), Ok(None));
            assert_eq!(link.parting(), Some(Parting::GivenUp));
            let status = link.status();
            assert_eq!((status.dropped, status.unacknowledged_bytes), (3, 0));
            let words = "gone: its queue exceeded";
            assert!(status.state.to_string().starts_with(words), "{}", status.state);
            let admission = link.admit(&hello(0), (true, false), &Timing::default());
            assert_eq!(admission, Admission::Refuse(Refusal::GivenUp));
        }
    }

    #[tokio::test]
    async fn a_goodbye_comes_last_and_again_on_the_next_connection() {
        let mut link = link();
        let mut theirs = connect(&mut link, 0);
        link.say_bye(false);
        send(&mut link, 1);
        assert_eq!(
            frames(&mut link, &mut theirs).await,
            [data(0, 0, 1), Frame::Bye { asks: false }]
        );
        assert!(!link.is_settled(), "the message is not acknowledged");
        link.disconnect();
        let mut theirs = connect(&mut link, 1);
        assert_eq!(frames(&mut link, &mut theirs).await, [Frame::Bye { asks: false }]);
        assert!(link.is_settled());
    }

    #[test]
    fn what_is_sent_to_one_who_left_is_dropped_and_counted() {
        let mut link = link();
        send(&mut link, 1);
        link.part(Parting::Left, "it has left");
        assert_eq!(send(&mut link, 2), None);
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
        assert!(link.refuse(&Refusal::Taken, "taken".to_owned()));
        assert_eq!(link.status().state, LinkState::Refused("taken".to_owned()));
        link.part(Parting::Left, "gone");
        assert!(!link.refuse(&size, "of another size".to_owned()), "it is gone anyway");
    }

    #[tokio::test]
    async fn connections_that_come_to_nothing_are_made_anew_with_growing_pauses() {
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

    #[tokio::test]
    async fn a_connection_that_did_something_is_made_anew_at_once_however_short_it_was() {
        let (mut link, timing) = (link(), Timing::default());
        for round in 0..12 {
            connect(&mut link, round / 2);
            if round % 2 == 0 {
                link.receive(round / 2);
            } else {
                send(&mut link, 1);
                assert!(link.acknowledge(round / 2 + 1));
            }
            link.disconnect();
            assert_eq!(link.redial_pause(&timing), Duration::ZERO);
        }
    }

    #[test]
    fn a_peer_that_has_what_it_was_never_sent_is_not_called_in_haste() {
        let (mut link, timing) = (link(), Timing::default());
        for _ in 0..12 {
            let (ours, _theirs) = duplex(1);
            assert!(!link.connect(Box::new(ours), &hello(1)));
        }
        assert_eq!(link.redial_pause(&timing), timing.backoff_max);
    }

    #[test]
    fn an_unanswered_call_is_news_after_a_while_and_whenever_there_were_twice_as_many() {
        let mut link = link();
        assert_eq!(link.unanswered("refused".to_owned()), None, "it may be about to start");
        link.since -= TROUBLE_AFTER;
        let news: Vec<u64> =
            (0..40).filter_map(|_| link.unanswered("refused".to_owned())).collect();
        assert_eq!(news, [2, 4, 8, 16, 32]);
        assert_eq!(link.unanswered("no route".to_owned()), Some(42));
        let status = link.status();
        assert_eq!((status.unanswered, status.trouble.as_deref()), (42, Some("no route")));
        link.answered();
        assert_eq!(link.status().trouble, None);
    }
}
