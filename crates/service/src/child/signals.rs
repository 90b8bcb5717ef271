//! The signals that are meant for the command, whoever they are sent to.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::ignored::Ignored;

/// They are handed on to the command.
const HANDED_ON: [Signal; 8] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::TSTP,
    Signal::CONT,
];

/// They would end a process that knows nothing of them, or stop it.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(Signal, Stream)>);

impl Signals {
    /// From now on they do nothing to this process by themselves. What was to be ignored from the
    /// start stays so, for the command as well.
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub(crate) fn listen() -> io::Result<Self> {
        let ignored = Ignored::now();
        let heeded = HANDED_ON.into_iter().filter(|it| !ignored.has(it.as_raw()));
        let streams = heeded.map(|it| Ok((it, signal(SignalKind::from_raw(it.as_raw()))?)));
        streams.collect::<io::Result<_>>().map(Self)
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let next = self.0.iter_mut().find_map(|(signal, stream)| {
                stream.poll_recv(context).is_ready().then_some(*signal)
            });
            next.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
