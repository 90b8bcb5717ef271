//! Recorders of runs.

use vorrang_protocol::Protocol;
use vorrang_trace::Record;

/// A recorder of all events. `()` records nothing and costs nothing.
pub trait Recorder<P: Protocol> {
    /// Whether it listens at all.
    fn listens(&self) -> bool;
    /// Something happened.
    fn record(&mut self, record: Record<P>);
}

impl<P: Protocol> Recorder<P> for () {
    fn listens(&self) -> bool {
        false
    }
    fn record(&mut self, _: Record<P>) {}
}

impl<P: Protocol, R: Recorder<P> + ?Sized> Recorder<P> for Box<R> {
    fn listens(&self) -> bool {
        (**self).listens()
    }
    fn record(&mut self, record: Record<P>) {
        (**self).record(record);
    }
}

/// A recorder that may be left out.
impl<P: Protocol, R: Recorder<P>> Recorder<P> for Option<R> {
    fn listens(&self) -> bool {
        self.as_ref().is_some_and(Recorder::listens)
    }
    fn record(&mut self, record: Record<P>) {
        if let Some(recorder) = self {
            recorder.record(record);
        }
    }
}

/// Keeps every record of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InMemoryRecorder<P: Protocol>(pub Vec<Record<P>>);

impl<P: Protocol> Recorder<P> for InMemoryRecorder<P> {
    fn listens(&self) -> bool {
        true
    }
    fn record(&mut self, record: Record<P>) {
        self.0.push(record);
    }
}
