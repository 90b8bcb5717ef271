//! The state of the names of a member, as it is shown.

use vorrang_protocol::{NodeState, StateValue};

use super::message::NamedMessage;
use super::report::named;
use super::report_transfer::{Kept, ReportTransfer};
use super::table::{Entry, Place, Table};
use crate::group::locks::Exclusive;
use crate::group::shown::Shown as _;

impl<P: Exclusive> Table<P> {
    pub(super) fn shown(&self) -> NodeState {
        let names = self.entries.iter().map(|(key, Entry { number, told, place })| {
            let place = match place {
                Place::Lock(clients) => clients.shown(),
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
        let unknown = self.unknown.iter().map(|(from, number, said)| {
            let (number, said) = (*number, said.clone());
            (*from, StateValue::shown(&NamedMessage::About { number, key: None, said }))
        });
        let pending = self.pending.iter().map(|(key, stands)| {
            let stands = stands.iter().map(|(of, stand)| (*of, stand.shown()));
            (StateValue::shown(key), StateValue::list(stands))
        });
        NodeState::new()
            .with("members", StateValue::list(self.members.iter().copied()))
            .with("names", StateValue::list(names))
            .with("leaves", self.is_leaving)
            .with("warned", self.is_warned)
            .with("begun", self.begun)
            .with("their numbers", StateValue::list(theirs))
            .with("of unknown numbers", StateValue::list(unknown))
            .with(
                "observed",
                StateValue::list(self.observed.iter().map(|it| StateValue::shown(it))),
            )
            .with("to begin", StateValue::list(pending))
            .with("transfer", self.transfer.as_ref().map(ReportTransfer::shown))
            .with("reported", self.kept.shown())
    }
}

impl<M: vorrang_protocol::Message> ReportTransfer<M> {
    /// How much of which report is here, and what others have said meanwhile.
    fn shown(&self) -> StateValue {
        let sources = self.sources.iter().map(|(of, source)| {
            let report = NodeState::new()
                .with("names", source.count)
                .with("digest", source.digest.shown())
                .with("here", source.have)
                .with("their digest", source.digest_so_far.shown());
            (*of, report)
        });
        let early = self.early.iter().map(|(from, letter)| (*from, StateValue::shown(letter)));
        NodeState::new()
            .with("reports", StateValue::list(sources))
            .with("said meanwhile", StateValue::list(early))
            .into()
    }
}

impl Kept {
    fn shown(&self) -> StateValue {
        NodeState::new().with("names", named(&self.names)).with("for", &self.missing).into()
    }
}
