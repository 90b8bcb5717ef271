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
pub(crate) struct Signals {
    streams: Vec<(Signal, Stream)>,
    /// The next of this kind was heeded already.
    passed_over: Option<Signal>,
}

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
        Ok(Self { streams: streams.collect::<io::Result<_>>()?, passed_over: None })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let next = poll_fn(|context| {
                let next = self.streams.iter_mut().find_map(|(signal, stream)| {
                    stream.poll_recv(context).is_ready().then_some(*signal)
                });
                next.map_or(Poll::Pending, Poll::Ready)
            });
            let next = next.await;
            if self.passed_over.take_if(|it| *it == next).is_none() {
                return next;
            }
        }
    }

    /// The next of this kind is one that this process has sent to itself.
    pub(super) const fn pass_over(&mut self, signal: Signal) {
        self.passed_over = Some(signal);
    }
}
