//! A run as it looks from outside, with all types gone: who was doing what when something went
//! wrong, and what came of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use vorrang_algorithms::problem::Problem;
use vorrang_catalogue::NodeOf;
use vorrang_draw::{Bar, Look, Mark};
use vorrang_erased::AnyMessage;
use vorrang_protocol::{Message as _, NodeId, show_duration_ns};
use vorrang_sim::Recorder;
use vorrang_trace::{Fault, Line, Loss, Record, What};

use super::ProblemDriver;
use super::simulate::ToFile;

/// Something that happened at a node.
#[derive(Clone, Debug)]
pub struct Observation {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// At which node.
    pub node: NodeId,
    /// What happened.
    pub what: ObservationKind,
}

/// The kinds of observations.
#[derive(Clone, Debug)]
pub enum ObservationKind {
    /// The application asked, or was told.
    ApplicationEvent {
        /// In words.
        text: String,
        /// The new activity of the node, if it changes.
        doing: Option<Activity>,
    },
    /// It sent a message.
    Sent {
        /// The receiver.
        to: NodeId,
        /// What.
        letter: ObservedMessage,
    },
    /// A message arrived.
    Got {
        /// The sender.
        from: NodeId,
        /// What.
        letter: ObservedMessage,
    },
    /// A timer ran out.
    Timer(String),
    /// Something went wrong.
    Wrong(String),
}

/// A message.
#[derive(Clone, Debug)]
pub struct ObservedMessage {
    /// The number by which a fault can name it.
    pub number: u64,
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
            RecordSink::Memory(seen) => seen.extend(sight::<Q>(record)),
            RecordSink::ApplicationEvents(heard) => match record.what {
                What::Command(_) | What::Notice(_) => heard.extend(sight::<Q>(record)),
                // Its activity is over.
                What::Crash => {
                    let what = ObservationKind::ApplicationEvent {
                        text: "crashes".to_owned(),
                        doing: Some(Activity::Rests),
                    };
                    heard.push(Observation { at_ns: record.at_ns, node: record.node, what });
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

fn sight<Q: ProblemDriver>(record: Record<NodeOf<Q>>) -> Option<Observation> {
    let letter = |number: u64, message: &AnyMessage| ObservedMessage {
        number,
        kind: message.kind_name(),
        text: message.to_string(),
    };
    let what = match record.what {
        What::Command(command) => {
            let doing = Q::activity(ApplicationEvent::Command(&command));
            ObservationKind::ApplicationEvent { text: command.to_string(), doing }
        }
        What::Notice(notice) => ObservationKind::ApplicationEvent {
            text: notice.to_string(),
            doing: Q::activity(ApplicationEvent::Notice(&notice)),
        },
        What::Send { to, seq, message } => {
            ObservationKind::Sent { to, letter: letter(seq, &message) }
        }
        What::Receive { from, seq, message } => {
            ObservationKind::Got { from, letter: letter(seq, &message) }
        }
        What::Timer(timer) => ObservationKind::Timer(format!("{timer:?}")),
        // Not a place for a fault: it is in the middle of an event.
        What::Choice(_) => return None,
        What::Lost { to, seq, why } => {
            let why = match why {
                Loss::Network => "",
                Loss::Partition => ": the network is partitioned",
                Loss::Down => ": that is down",
                Loss::NoLink => ": there is no link to it",
            };
            ObservationKind::Wrong(format!("message {seq} to {to} is lost{why}"))
        }
        What::Doubled { to, seq } => {
            ObservationKind::Wrong(format!("message {seq} to {to} is duplicated"))
        }
        What::Crash => ObservationKind::Wrong("crashes".to_owned()),
        What::Restart => ObservationKind::Wrong("restarts".to_owned()),
        What::Fault(Fault::Delayed { to, seq, by_ns }) => ObservationKind::Wrong(format!(
            "message {seq} to {to} takes {} longer",
            show_duration_ns(by_ns)
        )),
        What::Fault(fault) => ObservationKind::Wrong(format!("{fault:?}")),
    };
    Some(Observation { at_ns: record.at_ns, node: record.node, what })
}

/// A line of a run.
impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        write!(f, "{:>10.3} ms  ", self.at_ns as f64 / 1e6)?;
        match &self.what {
            ObservationKind::ApplicationEvent { text, .. } => write!(f, "{node} {text}"),
            ObservationKind::Sent { to, letter } => {
                write!(f, "{node} -> {to} {} #{}", letter.text, letter.number)
            }
            ObservationKind::Got { from, letter } => {
                write!(f, "{node} <- {from} {} #{}", letter.text, letter.number)
            }
            ObservationKind::Timer(timer) => write!(f, "{node} timer {timer}"),
            ObservationKind::Wrong(text) => write!(f, "{node} ! {text}"),
        }
    }
}
