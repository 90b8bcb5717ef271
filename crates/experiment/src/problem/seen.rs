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

use super::Driven;
use super::simulate::ToFile;

/// Something that happened at a node.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// At which node.
    pub node: NodeId,
    /// What happened.
    pub what: Sight,
}

/// What can be seen at a node.
#[derive(Clone, Debug)]
pub enum Sight {
    /// The application asked, or was told.
    Said {
        /// In words.
        text: String,
        /// What the node does from now on, if that changes.
        doing: Option<Doing>,
    },
    /// It sent a message.
    Sent {
        /// To whom.
        to: NodeId,
        /// What.
        letter: Letter,
    },
    /// A message arrived.
    Got {
        /// From whom.
        from: NodeId,
        /// What.
        letter: Letter,
    },
    /// A timer ran out.
    Timer(String),
    /// Something went wrong.
    Wrong(String),
}

/// A message.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The number by which a fault can name it.
    pub number: u64,
    pub kind: &'static str,
    text: String,
}

/// What an application asks, or is told.
#[derive(Debug)]
pub enum Said<'a, C, N> {
    /// What its application asks of it.
    Command(&'a C),
    /// What it tells its application.
    Notice(&'a N),
}

/// What a node does from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
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

impl Doing {
    /// What it looks like, at a node.
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

/// What a node is to the others when it crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It wants nothing, and nobody depends on it more than on another.
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

/// Who is more than another from the start.
#[derive(Clone, Debug, Default)]
pub struct Posts {
    /// Those who coordinate.
    pub coordinators: Vec<NodeId>,
    /// The kinds of messages that carry a token.
    pub tokens: &'static [&'static str],
}

/// Whoever is told of a run: a file, or somebody who remembers it.
pub(super) enum Witness<Q: Problem> {
    File(ToFile<Q>),
    /// Lines that somebody else has a hold of, too: they are kept if the run ends early.
    Tape(Arc<Mutex<Vec<Line>>>),
    Memory(Vec<Seen>),
    /// It only hears what applications ask and are told.
    Ears(Vec<Seen>),
}

/// A witness of a run of any algorithm of a problem.
pub(super) struct Told<Q: Problem> {
    pub(super) witness: Witness<Q>,
}

impl<Q: Problem> Told<Q> {
    pub(super) const fn of(witness: Witness<Q>) -> Self {
        Self { witness }
    }
}

impl<Q: Driven> Recorder<NodeOf<Q>> for Told<Q> {
    fn listens(&self) -> bool {
        true
    }

    fn record(&mut self, record: Record<NodeOf<Q>>) {
        match &mut self.witness {
            Witness::File(file) => file.write(record),
            Witness::Tape(lines) => {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push((&record).into());
            }
            Witness::Memory(seen) => seen.extend(sight::<Q>(record)),
            Witness::Ears(heard) => match record.what {
                What::Command(_) | What::Notice(_) => heard.extend(sight::<Q>(record)),
                // Whatever it did, it does it no more.
                What::Crash => {
                    let what =
                        Sight::Said { text: "crashes".to_owned(), doing: Some(Doing::Rests) };
                    heard.push(Seen { at_ns: record.at_ns, node: record.node, what });
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

fn sight<Q: Driven>(record: Record<NodeOf<Q>>) -> Option<Seen> {
    let letter = |number: u64, message: &AnyMessage| Letter {
        number,
        kind: message.kind_name(),
        text: message.to_string(),
    };
    let what = match record.what {
        What::Command(command) => {
            let doing = Q::doing(Said::Command(&command));
            Sight::Said { text: command.to_string(), doing }
        }
        What::Notice(notice) => {
            Sight::Said { text: notice.to_string(), doing: Q::doing(Said::Notice(&notice)) }
        }
        What::Send { to, seq, message } => Sight::Sent { to, letter: letter(seq, &message) },
        What::Receive { from, seq, message } => Sight::Got { from, letter: letter(seq, &message) },
        What::Timer(timer) => Sight::Timer(format!("{timer:?}")),
        // No place to strike: it is in the middle of an event.
        What::Choice(_) => return None,
        What::Lost { to, seq, why } => {
            let why = match why {
                Loss::Network => "",
                Loss::Partition => ": the network is partitioned",
                Loss::Down => ": that is down",
                Loss::NoLink => ": there is no link to it",
            };
            Sight::Wrong(format!("message {seq} to {to} is lost{why}"))
        }
        What::Doubled { to, seq } => Sight::Wrong(format!("message {seq} to {to} is duplicated")),
        What::Crash => Sight::Wrong("crashes".to_owned()),
        What::Restart => Sight::Wrong("restarts".to_owned()),
        What::Fault(Fault::Delayed { to, seq, by_ns }) => {
            Sight::Wrong(format!("message {seq} to {to} takes {} longer", show_duration_ns(by_ns)))
        }
        What::Fault(fault) => Sight::Wrong(format!("{fault:?}")),
    };
    Some(Seen { at_ns: record.at_ns, node: record.node, what })
}

/// A line of a run.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        write!(f, "{:>10.3} ms  ", self.at_ns as f64 / 1e6)?;
        match &self.what {
            Sight::Said { text, .. } => write!(f, "{node} {text}"),
            Sight::Sent { to, letter } => {
                write!(f, "{node} -> {to} {} #{}", letter.text, letter.number)
            }
            Sight::Got { from, letter } => {
                write!(f, "{node} <- {from} {} #{}", letter.text, letter.number)
            }
            Sight::Timer(timer) => write!(f, "{node} timer {timer}"),
            Sight::Wrong(text) => write!(f, "{node} ! {text}"),
        }
    }
}
