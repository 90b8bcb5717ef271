//! What goes over the connection of a link, if it has one.

use std::io;
use std::task::{Context, Poll};

use vorrang_protocol::Never;

use super::{ACK_EVERY, Farewell, Link, STAGE_LEN};
use crate::wire::{self, Frame, WireError};

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
