//! One connection of a link: its bytes, and whether it still carries any.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::time::Instant;

use crate::standing::{Health, SilenceMonitor};
use crate::transport::AnyStream;
use crate::wire::{self, Frame, WireError};

/// How large the input of a connection is, unless a longer frame needs more.
const INPUT_LEN: usize = 1 << 14;
/// How much is read that cannot be handled yet. Heartbeats come behind it: there is room for those
/// of a day.
const WAITING_LEN: usize = 1 << 20;

/// One connection, and what was read from it and is to be written to it.
pub(crate) struct Connection {
    stream: AnyStream,
    input: Vec<u8>,
    start: usize,
    end: usize,
    pub(crate) output: Vec<u8>,
    written: usize,
    pulse: SilenceMonitor,
    /// Whether anything was written since the last look.
    has_said: bool,
}

impl Connection {
    pub(crate) fn new(stream: AnyStream, now: Instant) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_LEN],
            start: 0,
            end: 0,
            output: Vec::new(),
            written: 0,
            pulse: SilenceMonitor::new(now),
            has_said: true,
        }
    }

    /// Whether enough was read for now, by a node that does not handle it yet.
    pub(crate) const fn is_full(&self) -> bool {
        self.end - self.start >= WAITING_LEN
    }

    /// Looks whether anything still comes.
    pub(crate) fn look(&mut self, now: Instant, give_up: Duration) -> Health {
        // A side that does not read cannot tell.
        self.pulse.has_heard |= self.is_full();
        self.pulse.look(now, give_up)
    }

    /// Whether nothing was said since the last look, and something can be.
    pub(crate) const fn is_due_to_speak(&mut self) -> bool {
        let has_said = std::mem::replace(&mut self.has_said, false);
        !has_said && self.has_written_all()
    }

    pub(crate) const fn has_written_all(&self) -> bool {
        self.output.is_empty()
    }

    /// The next whole frame, its message as bytes in `message`; one of data only if it
    /// `takes_data`.
    pub(crate) fn next_frame(
        &mut self,
        message: &mut Vec<u8>,
        takes_data: bool,
    ) -> Result<Option<Frame<()>>, WireError> {
        if !takes_data && wire::is_data(&self.input[self.start..self.end]) {
            return Ok(None);
        }
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
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut room = ReadBuf::new(&mut self.input[self.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut room))?;
        let more = room.filled().len();
        self.end += more;
        self.pulse.has_heard = true;
        Poll::Ready(Ok(more))
    }

    /// Writes the whole output.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.output.len() {
            let rest = &self.output[self.written..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
            self.has_said = true;
        }
        self.output.clear();
        self.written = 0;
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}
