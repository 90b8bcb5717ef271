//! The state of the names of a member, as it is shown.

use vorrang_protocol::{NodeState, StateValue};

use super::table::{Entry, Place, Table};
use crate::group::locks::Exclusive;

impl<P: Exclusive> Table<P> {
    pub(super) fn shown(&self) -> NodeState {
        let names = self.entries.iter().map(|(key, Entry { number, told, place })| {
            let place = match place {
                Place::Lock(desk) => desk.shown(),
                Place::Semaphore(semaphore) => semaphore.shown(),
            };
            let state = NodeState::new()
                .with("name", StateValue::shown(key))
                .with("number", number.map(StateValue::from))
                .with("told", told);
            StateValue::Inner(state.and(place))
        });
        let theirs = self.theirs.iter().map(|((of, number), key)| {
            StateValue::Tuple([(*of).into(), (*number).into(), StateValue::shown(key)].into())
        });
        NodeState::new()
            .with("members", StateValue::list(self.members.iter().copied()))
            .with("names", StateValue::list(names))
            .with("leaves", self.is_leaving)
            .with("warned", self.is_warned)
            .with("begun", self.begun)
            .with("their numbers", StateValue::list(theirs))
            .with("of unknown numbers", StateValue::payload(&self.unknown))
            .with(
                "observed",
                StateValue::list(self.observed.iter().map(|it| StateValue::shown(it))),
            )
            .with("to begin", StateValue::payload(&self.pending))
            .with("gathering", StateValue::payload(&self.gathering))
            .with("reported", StateValue::payload(&self.kept))
    }
}
