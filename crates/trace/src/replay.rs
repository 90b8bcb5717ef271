//! A recorded run, done once more by the machines that it is a run of: whether they do what was
//! recorded, and whether what holds of them held on the way.
//!
//! Records of several nodes are in the order of their clocks, which may be a little apart. What
//! counts is what happened at one node before something else, and that a message is sent before it
//! arrives; of what may come next by that, the earliest does.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use vorrang_protocol::{
    Effect, Event, Guard, NodeId, NodeSet, Outbox, Protocol, Situation, Violation,
};

use crate::record::{Record, What};

/// Why a recorded run cannot be what it says, or was not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Objection {
    /// What must hold did not: after the record at that place.
    Violated(usize, Violation),
    /// The machine does something else than was recorded.
    Departed(usize, String),
    /// The run cannot be done once more, since chance or a fault had a part in it.
    Unknown(&'static str),
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violated(place, violation) => write!(f, "{violation} (after record {place})"),
            Self::Departed(place, what) => write!(f, "record {place}: {what}"),
            Self::Unknown(why) => write!(f, "the run cannot be done once more: {why}"),
        }
    }
}

impl std::error::Error for Objection {}

/// Does a recorded run once more with nodes as they were before it, and looks after every event
/// whether all that the guards say holds; how often it looked.
///
/// # Errors
///
/// If the machines do something else than was recorded, something does not hold, or the run cannot
/// be done once more.
pub fn replay<P: Protocol>(
    nodes: Vec<P>,
    records: &[Record<P>],
    guards: &[Guard<P>],
) -> Result<u64, Objection> {
    let mut run = Replay::new(nodes, records);
    run.start(guards)?;
    let mut looks = 1;
    while let Some((place, record)) = run.next()? {
        if run.take(place, record)? {
            run.look(place, guards)?;
            looks += 1;
        }
    }
    Ok(looks)
}

struct Replay<'a, P: Protocol> {
    nodes: Vec<P>,
    /// What is still to come at each node.
    ahead: Vec<VecDeque<(usize, &'a Record<P>)>>,
    /// What each node did and was not recorded yet.
    done: Vec<VecDeque<Effect<P>>>,
    /// Messages that were sent and have not arrived: by sender, receiver and number.
    flight: BTreeMap<(NodeId, NodeId, u64), P::Message>,
}

impl<'a, P: Protocol> Replay<'a, P> {
    fn new(nodes: Vec<P>, records: &'a [Record<P>]) -> Self {
        let size = nodes.len();
        let mut ahead: Vec<VecDeque<_>> = (0..size).map(|_| VecDeque::new()).collect();
        for (place, record) in records.iter().enumerate() {
            if let Some(list) = ahead.get_mut(record.node.index()) {
                list.push_back((place, record));
            }
        }
        let done = (0..size).map(|_| VecDeque::new()).collect();
        Self { nodes, ahead, done, flight: BTreeMap::new() }
    }

    fn start(&mut self, guards: &[Guard<P>]) -> Result<(), Objection> {
        for id in (0..self.nodes.len() as u32).map(NodeId) {
            self.happen(0, id, Event::Start)?;
        }
        self.look(0, guards)
    }

    /// The earliest record that can be next.
    fn next(&mut self) -> Result<Option<(usize, &'a Record<P>)>, Objection> {
        let is_next = |(_, record): &(usize, &Record<P>)| match record.what {
            What::Receive { from, seq, .. } => self.flight.contains_key(&(from, record.node, seq)),
            _ => true,
        };
        let heads = || self.ahead.iter().filter_map(|list| list.front().copied());
        let next = heads().filter(is_next).min_by_key(|(place, record)| (record.at_ns, *place));
        match (next, heads().min_by_key(|&(place, _)| place)) {
            (Some(next), _) => {
                self.ahead[next.1.node.index()].pop_front();
                Ok(Some(next))
            }
            (None, None) => Ok(None),
            (None, Some((place, record))) => Err(Objection::Departed(
                place,
                format!("node {} received what nobody sent", record.node),
            )),
        }
    }

    /// Lets what was recorded happen; whether it was something that happened to a node, and not
    /// something that the node did.
    fn take(&mut self, place: usize, record: &Record<P>) -> Result<bool, Objection> {
        let at = record.node;
        match &record.what {
            What::Command(command) => self.happen(place, at, Event::Command(command.clone()))?,
            What::Timer(timer) => self.happen(place, at, Event::Timer(*timer))?,
            What::Receive { from, seq, message } => {
                let sent = self.flight.remove(&(*from, at, *seq));
                if sent.as_ref() != Some(message) {
                    let what = format!("{message} arrived at node {at}, sent as {sent:?}");
                    return Err(Objection::Departed(place, what));
                }
                let event = Event::Message { from: *from, message: message.clone() };
                self.happen(place, at, event)?;
            }
            What::Send { to, seq, message } => {
                let effect = Effect::Send { to: *to, message: message.clone() };
                self.expect(place, at, &effect)?;
                self.flight.insert((at, *to, *seq), message.clone());
                return Ok(false);
            }
            What::Notice(notice) => {
                self.expect(place, at, &Effect::Notify(notice.clone()))?;
                return Ok(false);
            }
            What::Lost { .. }
            | What::Crash
            | What::Doubled { .. }
            | What::Restart
            | What::Fault(_) => {
                return Err(Objection::Unknown("something went wrong in it"));
            }
        }
        Ok(true)
    }

    fn happen(&mut self, place: usize, at: NodeId, event: Event<P>) -> Result<(), Objection> {
        if let Some(left) = self.done[at.index()].front() {
            let what = format!("node {at} should have done {left:?} before");
            return Err(Objection::Departed(place, what));
        }
        let has_chosen = Cell::new(false);
        let mut outbox = Outbox::new(|_| {
            has_chosen.set(true);
            0
        });
        let handled = self.nodes[at.index()].handle(event, &mut outbox);
        let is_seen = |it: &Effect<P>| matches!(it, Effect::Send { .. } | Effect::Notify(_));
        self.done[at.index()].extend(outbox.take().into_iter().filter(is_seen));
        if has_chosen.get() {
            return Err(Objection::Unknown("its nodes make choices"));
        }
        handled.map_err(|refused| {
            Objection::Departed(place, format!("node {at} refuses what it obeyed: {refused}"))
        })
    }

    fn expect(&mut self, place: usize, at: NodeId, seen: &Effect<P>) -> Result<(), Objection> {
        let done = self.done[at.index()].pop_front();
        if done.as_ref() == Some(seen) {
            return Ok(());
        }
        let what = format!("node {at} did {seen:?}, and should have done {done:?}");
        Err(Objection::Departed(place, what))
    }

    /// Judges all nodes and all messages: those recorded, and those that nodes have just sent.
    fn look(&self, place: usize, guards: &[Guard<P>]) -> Result<(), Objection> {
        if guards.is_empty() {
            return Ok(());
        }
        let recorded = self.flight.iter().map(|((from, to, _), message)| (*from, *to, message));
        let by_node = (0..).map(NodeId).zip(&self.done);
        let just_sent = by_node.flat_map(|(from, done)| {
            done.iter().filter_map(move |effect| match effect {
                Effect::Send { to, message } => Some((from, *to, message)),
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Notify(_) => None,
            })
        });
        let flight = recorded.chain(just_sent).collect();
        let situation = Situation::new(self.nodes.iter().collect(), NodeSet::EMPTY, flight);
        situation.judge(guards).map_err(|violation| Objection::Violated(place, violation))
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::central::{self, Central, Message};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::Group;

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn nodes() -> Vec<Central> {
        let group = Group::of(2);
        group.members().map(|id| Central::new(id, group)).collect()
    }
    fn guards() -> Vec<Guard<Central>> {
        central::INVARIANTS.iter().map(Into::into).collect()
    }
    fn record(at_ns: u64, node: u32, what: What<Central>) -> Record<Central> {
        Record { at_ns, node: NodeId(node), what }
    }

    /// Node 0 enters, with the key of node 1; the clocks of the two are apart.
    fn run() -> Vec<Record<Central>> {
        let request = Message::Request { number: 1 };
        let reply = Message::Reply { number: 1 };
        let (to, from) = (NodeId(1), NodeId(0));
        vec![
            record(3, 1, What::Receive { from, seq: 0, message: request }),
            record(4, 1, What::Send { to: from, seq: 0, message: reply }),
            record(5, 0, What::Command(ACQUIRE)),
            record(6, 0, What::Send { to, seq: 0, message: request }),
            record(7, 0, What::Receive { from: to, seq: 0, message: reply }),
            record(8, 0, What::Notice(Notice::Entered)),
        ]
    }

    #[test]
    fn what_was_recorded_is_done_once_more_whatever_the_clocks_say() {
        assert_eq!(replay(nodes(), &run(), &guards()), Ok(4), "at first, and after three events");
    }

    #[test]
    fn what_the_machines_would_not_do_is_found() {
        let departs = |change: fn(&mut Vec<Record<Central>>), why: &str| {
            let mut records = run();
            change(&mut records);
            let objection = replay(nodes(), &records, &guards()).unwrap_err();
            assert!(objection.to_string().contains(why), "{objection}");
        };
        departs(|it| it.truncate(1), "received what nobody sent");
        departs(|it| it[2].what = What::Notice(Notice::Entered), "and should have done None");
        departs(|it| it.insert(6, record(9, 0, What::Command(ACQUIRE))), "refuses what it obeyed");
        departs(
            |it| {
                let message = Message::Request { number: 7 };
                it[0].what = What::Receive { from: NodeId(0), seq: 0, message };
            },
            "record 0: REQUEST(7) arrived at node 1, sent as Some(Request { number: 1 })",
        );
        departs(|it| it.push(record(9, 1, What::Crash)), "something went wrong in it");
        departs(
            |it| it[1].what = What::Notice(Notice::Entered),
            "record 1: node 1 did Notify(Entered), and should have done Some(Send",
        );
    }

    #[test]
    fn what_must_hold_is_looked_at_on_the_way() {
        let never = Guard::new("never waits", |at: &Situation<'_, Central>| {
            let waits = at.messages().count() > 0;
            if waits { Err("a message is under way".to_owned()) } else { Ok(()) }
        });
        let objection = replay(nodes(), &run(), &[never]).unwrap_err();
        assert!(matches!(objection, Objection::Violated(2, _)), "{objection}");
    }
}
