//! The state of a member, as it is shown.

use vorrang_protocol::{NodeId, NodeState, SortedMap, StateValue};

use super::pace::{AdaptiveFactors, Experience};
use super::sessions::Sessions;
use super::stream::{Lesson, Missing, Stream};
use crate::multicast::body::{Id, Numbered};
use crate::multicast::inbox::Inbox;
use crate::multicast::srm::Srm;

impl Srm {
    /// Of every sender (sender, number); messages are called sender/number.
    pub(in crate::multicast) fn shown(&self) -> NodeState {
        let streams = &self.streams;
        let each = |of: fn(&Stream) -> u64| {
            StateValue::list(
                streams.iter().map(move |(&from, stream)| (from, Numbered(of(stream)))),
            )
        };
        let kept = streams.iter().flat_map(|(&from, stream)| {
            // In this order: behind the number of one that is not heard there is none.
            let kept = stream.kept.iter().zip(stream.first..);
            kept.map(move |(body, number)| body.shown(Id { from, number }))
        });
        let state = Inbox::state(streams.iter().map(|(&from, stream)| (from, &stream.inbox)))
            .with("sent below", each(|stream| stream.below))
            .with("told", each(|stream| stream.told))
            .with("known", StateValue::vector(self.known.iter().map(|&it| Numbered(it))))
            .with("kept", StateValue::set(kept))
            .with("missing", of_all(streams, |stream| &stream.missing, missing))
            .with(
                "repairs",
                of_all(
                    streams,
                    |stream| &stream.repairs,
                    |repair| (repair.to, repair.reach, repair.lesson.as_ref().map(lesson)).into(),
                ),
            )
            .with(
                "held",
                of_all(
                    streams,
                    |stream| &stream.held,
                    |held| {
                        let to = if held.is_local { "some" } else { "all" };
                        (to, held.came.as_ref().map(experience)).into()
                    },
                ),
            );
        let mut state =
            state.and(session(&self.sessions)).and(self.map.state()).and(self.silence.state());
        if self.silence.is_counted() {
            state = state.with("waits for answers", self.sessions.is_waiting);
        }
        if !self.pace.is_adaptive {
            return state;
        }
        let learnt = |factors: &AdaptiveFactors| factors.state();
        state.with("request", learnt(&self.pace.request)).with("repair", learnt(&self.pace.repair))
    }
}

/// Something about messages, each with its name.
fn of_all<T>(
    streams: &SortedMap<NodeId, Stream>,
    of: fn(&Stream) -> &SortedMap<u64, T>,
    shown: fn(&T) -> StateValue,
) -> StateValue {
    StateValue::list(streams.iter().flat_map(move |(&from, stream)| {
        of(stream)
            .iter()
            .map(move |(&number, it)| (StateValue::shown(&Id { from, number }), shown(it)))
    }))
}

fn missing(missing: &Missing) -> StateValue {
    let ignores = if missing.is_ignoring { "ignores requests" } else { "asks" };
    (missing.doublings, ignores, missing.lesson.as_ref().map(lesson)).into()
}

fn lesson(lesson: &Lesson) -> StateValue {
    (lesson.since, lesson.is_begun, experience(&lesson.so_far)).into()
}

fn experience(so_far: &Experience) -> StateValue {
    NodeState::new()
        .with("duplicates", so_far.duplicates)
        .with("delay", so_far.delay)
        .with("sent", so_far.sent)
        .with("closest", so_far.is_closest)
        .into()
}

fn session(sessions: &Sessions) -> NodeState {
    NodeState::new().with(
        "session",
        NodeState::new()
            .with("armed", sessions.is_armed)
            .with("due", sessions.is_due)
            .with("news", sessions.has_news)
            .with("heard", sessions.heard)
            .with("busy", sessions.is_busy)
            .with("quiet", sessions.quiet),
    )
}
