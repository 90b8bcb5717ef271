//! The records of a trace without the types of the algorithm: messages, commands and notices as
//! JSON.

use std::collections::HashMap;
use std::io::BufRead;

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;
use vorrang_protocol::{Message, NodeId, Protocol};

use crate::file::{Ending, Header, ReadError, Reader};
use crate::record::{Fault, Loss, Record, What};

/// A run as it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// Its header.
    pub header: Header,
    /// The events, in an order that respects causality.
    pub lines: Vec<Line>,
    /// Whether that is all.
    pub ending: Ending,
}

impl Recording {
    /// Reads a trace of any algorithm.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a trace that this version can read.
    pub fn read(file: impl BufRead) -> Result<Self, ReadError> {
        let mut reader = Reader::new(file)?;
        let nodes = reader.header.nodes;
        let mut lines: Vec<Line> = Vec::new();
        // Where each message was sent: what it says need not be repeated where it arrives.
        let mut sent: HashMap<(NodeId, NodeId, u64), usize> = HashMap::new();
        loop {
            let letter = |from, to, seq| {
                let line = &lines[*sent.get(&(from, to, seq))?];
                let LineEvent::Send { letter, .. } = &line.what else { return None };
                Some(letter.clone())
            };
            let read = |text: &str| Line::read(text, letter)?.within(nodes);
            let Some(line) = reader.next_as(read)? else { break };
            if let LineEvent::Send { to, seq, .. } = line.what {
                sent.insert((line.node, to, seq), lines.len());
            }
            lines.push(line);
        }
        let ending = reader.ending();
        Ok(Self { header: reader.header, lines, ending })
    }

    /// Whether the file says how the run ended.
    pub const fn is_whole(&self) -> bool {
        matches!(self.ending, Ending::Whole(_))
    }
}

/// One thing that happened at one node.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// When, in nanoseconds since the run began, or in steps.
    pub at_ns: u64,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: LineEvent,
}

/// As [`What`], with JSON in the place of types.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "they are those of `What`")]
pub enum LineEvent {
    Command(Value),
    Notice(Value),
    Send { to: NodeId, seq: u64, letter: LineMessage },
    Receive { from: NodeId, seq: u64, letter: LineMessage },
    Timer(Value),
    Choice(u32),
    Lost { to: NodeId, seq: u64, why: Loss },
    Doubled { to: NodeId, seq: u64 },
    Crash,
    Restart,
    Fault(Fault),
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineMessage {
    /// As data.
    pub message: Value,
    /// Its kind.
    pub kind: String,
    /// For people.
    pub text: String,
}

impl Line {
    /// Reads a line. The content of an arriving message may have been left out: then it is looked
    /// up by sender, receiver and number.
    ///
    /// # Errors
    ///
    /// If it is not a record.
    pub fn read(
        text: &str,
        sent: impl Fn(NodeId, NodeId, u64) -> Option<LineMessage>,
    ) -> serde_json::Result<Self> {
        let fields: Vec<Value> = serde_json::from_str(text)?;
        let mut fields = Fields(fields.into_iter());
        let (at_ns, node) = (fields.next("when")?, fields.next("where")?);
        let what: String = fields.next("what")?;
        let what = LineEvent::read(&what, &mut fields, |from, seq| sent(from, node, seq))?;
        if let Some(more) = fields.0.next() {
            return Err(serde_json::Error::custom(format!("{more} is more than it should say")));
        }
        Ok(Self { at_ns, node, what })
    }

    /// The same, if there is such a node.
    fn within(self, nodes: u32) -> serde_json::Result<Self> {
        if self.node.0 < nodes {
            return Ok(self);
        }
        let (node, last) = (self.node, nodes.saturating_sub(1));
        let what = format!("there is no node {node}: the last is {last}");
        Err(serde_json::Error::custom(what))
    }
}

impl<P: Protocol> From<&Record<P>> for Line {
    fn from(record: &Record<P>) -> Self {
        let what = match &record.what {
            What::Command(command) => LineEvent::Command(data(command)),
            What::Notice(notice) => LineEvent::Notice(data(notice)),
            What::Timer(timer) => LineEvent::Timer(data(timer)),
            What::Send { to, seq, message } => {
                LineEvent::Send { to: *to, seq: *seq, letter: LineMessage::of(message) }
            }
            What::Receive { from, seq, message } => {
                LineEvent::Receive { from: *from, seq: *seq, letter: LineMessage::of(message) }
            }
            What::Choice(value) => LineEvent::Choice(*value),
            What::Lost { to, seq, why } => LineEvent::Lost { to: *to, seq: *seq, why: *why },
            What::Doubled { to, seq } => LineEvent::Doubled { to: *to, seq: *seq },
            What::Crash => LineEvent::Crash,
            What::Restart => LineEvent::Restart,
            What::Fault(fault) => LineEvent::Fault(fault.clone()),
        };
        Self { at_ns: record.at_ns, node: record.node, what }
    }
}

fn data(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("what happens in a run can be written as JSON")
}

impl LineEvent {
    fn read(
        what: &str,
        fields: &mut Fields,
        sent: impl Fn(NodeId, u64) -> Option<LineMessage>,
    ) -> serde_json::Result<Self> {
        Ok(match what {
            "command" => Self::Command(fields.next("the command")?),
            "notice" => Self::Notice(fields.next("the notice")?),
            "timer" => Self::Timer(fields.next("the timer")?),
            "choice" => Self::Choice(fields.next("the choice")?),
            "send" => {
                let (to, seq) = (fields.next("to")?, fields.next("seq")?);
                Self::Send { to, seq, letter: fields.letter()? }
            }
            "receive" => {
                let (from, seq) = (fields.next("from")?, fields.next("seq")?);
                let letter = if fields.0.as_slice().is_empty() {
                    sent(from, seq).unwrap_or_else(LineMessage::unknown)
                } else {
                    fields.letter()?
                };
                Self::Receive { from, seq, letter }
            }
            "lost" => {
                let (to, seq) = (fields.next("to")?, fields.next("seq")?);
                Self::Lost { to, seq, why: fields.next("why")? }
            }
            "doubled" => Self::Doubled { to: fields.next("to")?, seq: fields.next("seq")? },
            "crash" => Self::Crash,
            "restart" => Self::Restart,
            "fault" => Self::Fault(fields.next("the fault")?),
            _ => {
                let what = format!("nothing that happens is called '{what}'");
                return Err(serde_json::Error::custom(what));
            }
        })
    }

    /// Whether something happened to the node, and not something that the node did.
    pub const fn is_event(&self) -> bool {
        match self {
            Self::Command(_)
            | Self::Receive { .. }
            | Self::Timer(_)
            | Self::Crash
            | Self::Restart => true,
            Self::Notice(_)
            | Self::Send { .. }
            | Self::Choice(_)
            | Self::Lost { .. }
            | Self::Doubled { .. }
            | Self::Fault(_) => false,
        }
    }
}

impl LineMessage {
    fn of<M: Message>(message: &M) -> Self {
        Self {
            message: data(message),
            kind: message.kind_name().to_owned(),
            text: message.to_string(),
        }
    }

    /// The content of a message that arrived without having been sent.
    fn unknown() -> Self {
        let text = "what was not sent".to_owned();
        Self { message: Value::Null, kind: "?".to_owned(), text }
    }
}

/// The fields of a line, one after the other.
struct Fields(std::vec::IntoIter<Value>);

impl Fields {
    fn next<T: DeserializeOwned>(&mut self, name: &str) -> serde_json::Result<T> {
        let missing = || serde_json::Error::custom(format!("'{name}' is missing"));
        let value = self.0.next().ok_or_else(missing)?;
        serde_json::from_value(value)
            .map_err(|error| serde_json::Error::custom(format!("'{name}': {error}")))
    }

    fn letter(&mut self) -> serde_json::Result<LineMessage> {
        let (kind, text) = (self.next("kind")?, self.next("text")?);
        Ok(LineMessage { message: self.next("message")?, kind, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        Line::read(line, |_, _, _| None).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_record_is_said() {
        assert_eq!(error("[]"), "'when' is missing");
        assert_eq!(error("[1]"), "'where' is missing");
        assert!(error(r#"[-1,1,"crash"]"#).starts_with("'when': invalid"));
        assert_eq!(error(r#"[1,1,"crash",null]"#), "null is more than it should say");
        assert_eq!(error(r#"[1,1,"explode"]"#), "nothing that happens is called 'explode'");
        assert_eq!(error(r#"[1,1,"send",0,7,"K","K"]"#), "'message' is missing");
        assert!(error(r#"{"at_ns":1,"node":1,"crash":null}"#).starts_with("invalid type: map"));
    }

    #[test]
    fn what_arrives_says_what_was_sent_if_it_does_not_say_it_itself() {
        let file = |number: u32| {
            let header = r#"{"vorrang_trace":3,"algorithm":"x","nodes":2,"parameters":{}}"#;
            let lines = format!(r#"[1,1,"send",0,4,"K","K(7)",7]|[2,0,"receive",1,{number}]"#);
            format!("{header}\n{}\n{{\"end\":{{\"records\":2}}}}\n", lines.replace('|', "\n"))
        };
        let arrives = |number| {
            let run = Recording::read(file(number).as_bytes()).unwrap();
            let LineEvent::Receive { letter, .. } = &run.lines[1].what else {
                panic!("it arrives")
            };
            (letter.message.clone(), letter.text.clone())
        };
        assert_eq!(arrives(4), (Value::from(7), "K(7)".to_owned()));
        assert_eq!(arrives(5), (Value::Null, "what was not sent".to_owned()));
    }

    #[test]
    fn a_node_that_there_is_not_is_named() {
        let file = "{\"vorrang_trace\":3,\"algorithm\":\"x\",\"nodes\":2,\"parameters\":{}}\n\
                    [1,2,\"crash\"]\n";
        let error = Recording::read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("there is no node 2: the last is 1"), "{error}");
    }
}
