//! A run as it looks from outside, with all types gone: who was doing what when something went
//! wrong, and what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use vorrang_algorithms::problem::Problem;
use vorrang_catalogue::NodeOf;
use vorrang_draw::{Bar, Look, Mark};
use vorrang_protocol::{Message as _, NodeId};
use vorrang_sim::Recorder;
use vorrang_trace::{Line, Loss, Payload, Record, What};

use super::ProblemDriver;
use super::to_file::ToFile;

/// A record carries here what can be said of it without the types of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {}

impl Payload for Words {
    type Command = Said;
    type Notice = Said;
    type Message = ObservedMessage;
    type Timer = String;
}

/// Something that happened at a node.
pub type Observation = Record<Words>;

/// A command or a notice, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// What was asked or told.
    pub text: String,
    /// The new activity of the node, if it changes.
    pub doing: Option<Activity>,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedMessage {
    /// The name of its kind.
    pub kind: &'static str,
    text: String,
}

/// A command or a notice.
#[derive(Debug)]
pub enum ApplicationEvent<'a, C, N> {
    /// A command of its application.
    Command(&'a C),
    /// A notice to its application.
    Notice(&'a N),
}

/// The activity of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// It waits to enter.
    Waits,
    /// It is inside.
    IsInside,
    /// It wants nothing.
    Rests,
    /// It is one of those who began.
    Began,
    /// It follows this one.
    Follows(NodeId),
}

impl Activity {
    /// Its appearance, at a node.
    pub(super) fn look(self, at: NodeId) -> Look {
        match self {
            Self::Waits => Look::bar(Bar::Outlined("waits")),
            Self::IsInside => Look::bar(Bar::Filled("inside")),
            Self::Rests => Look::bar(Bar::Ends),
            Self::Began => Look::mark(Mark::Begins("begins")),
            Self::Follows(leader) if leader == at => {
                Look { mark: Some(Mark::Star("leads")), ..Look::bar(Bar::Filled("leads")) }
            }
            Self::Follows(_) => {
                Look { mark: Some(Mark::Diamond("follows")), ..Look::bar(Bar::Ends) }
            }
        }
    }
}

/// The role of a node when it crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It has no request, and others do not depend on it in particular.
    Idle,
    /// It has asked, and is not inside.
    Waiting,
    /// It is inside.
    Holder,
    /// It serves the others; or it has the token and is not inside.
    Coordinator,
    /// It did not begin, and does not come to lead.
    Other,
    /// It began, and does not come to lead.
    Initiator,
    /// It comes to lead, if nothing happens to it.
    Leader,
}

/// The nodes with special roles from the start.
#[derive(Clone, Debug, Default)]
pub struct InitialRoles {
    /// Those who coordinate.
    pub coordinators: Vec<NodeId>,
    /// The kinds of messages that carry a token.
    pub tokens: &'static [&'static str],
}

/// The sink of a run's records: a file, or memory.
pub(super) enum RecordSink<Q: Problem> {
    File(ToFile<Q>),
    /// Lines that are shared: they are kept if the run ends early.
    Tape(Arc<Mutex<Vec<Line>>>),
    Memory(Vec<Observation>),
    /// It only hears what applications ask and are told.
    ApplicationEvents(Vec<Observation>),
}

/// A witness of a run of any algorithm of a problem.
pub(super) struct RunRecorder<Q: Problem> {
    pub(super) witness: RecordSink<Q>,
}

impl<Q: Problem> RunRecorder<Q> {
    pub(super) const fn of(witness: RecordSink<Q>) -> Self {
        Self { witness }
    }
}

impl<Q: ProblemDriver> Recorder<NodeOf<Q>> for RunRecorder<Q> {
    fn listens(&self) -> bool {
        true
    }

    fn record(&mut self, record: Record<NodeOf<Q>>) {
        match &mut self.witness {
            RecordSink::File(file) => file.write(record),
            RecordSink::Tape(lines) => {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push((&record).into());
            }
            // A choice is in the middle of an event, and no place for a fault.
            RecordSink::Memory(seen) if !matches!(record.what, What::Choice(_)) => {
                seen.push(observed::<Q>(&record));
            }
            RecordSink::Memory(_) => {}
            RecordSink::ApplicationEvents(heard) => match record.what {
                // With a crash, its activity is over.
                What::Command(_) | What::Notice(_) | What::Crash => {
                    heard.push(observed::<Q>(&record));
                }
                What::Send { .. }
                | What::Receive { .. }
                | What::Timer(_)
                | What::Choice(_)
                | What::Lost { .. }
                | What::Doubled { .. }
                | What::Restart
                | What::Fault(_) => {}
            },
        }
    }
}

fn observed<Q: ProblemDriver>(record: &Record<NodeOf<Q>>) -> Observation {
    record.map(
        |command| Said {
            text: command.to_string(),
            doing: Q::activity(ApplicationEvent::Command(command)),
        },
        |notice| Said {
            text: notice.to_string(),
            doing: Q::activity(ApplicationEvent::Notice(notice)),
        },
        |message| ObservedMessage { kind: message.kind_name(), text: message.to_string() },
        |timer| format!("{timer:?}"),
    )
}

/// The new activity of a node, if what its application asks or is told changes it.
pub(crate) const fn doing(it: &Observation) -> Option<Activity> {
    match &it.what {
        What::Command(said) | What::Notice(said) => said.doing,
        What::Send { .. }
        | What::Receive { .. }
        | What::Timer(_)
        | What::Choice(_)
        | What::Lost { .. }
        | What::Doubled { .. }
        | What::Crash
        | What::Restart
        | What::Fault(_) => None,
    }
}

/// An observation as a line of text.
pub fn observed_line(it: &Observation) -> String {
    let node = it.node;
    let what = match &it.what {
        What::Command(said) | What::Notice(said) => format!("{node} {}", said.text),
        What::Send { to, seq, message } => format!("{node} -> {to} {} #{seq}", message.text),
        What::Receive { from, seq, message } => {
            format!("{node} <- {from} {} #{seq}", message.text)
        }
        What::Timer(timer) => format!("{node} timer {timer}"),
        What::Choice(value) => format!("{node} draws {value}"),
        What::Lost { to, seq, why } => {
            let why = match why {
                Loss::Network => "",
                Loss::Partition => ": the network is partitioned",
                Loss::Down => ": that is down",
                Loss::NoLink => ": there is no link to it",
            };
            format!("{node} ! message {seq} to {to} is lost{why}")
        }
        What::Doubled { to, seq } => format!("{node} ! message {seq} to {to} is duplicated"),
        What::Crash => format!("{node} ! crashes"),
        What::Restart => format!("{node} ! restarts"),
        What::Fault(fault) => format!("{node} ! {fault}"),
    };
    format!("{:>10.3} ms  {what}", it.at_ns as f64 / 1e6)
}
