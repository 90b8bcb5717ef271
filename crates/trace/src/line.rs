//! The records of a trace for whoever does not know the algorithm: messages, commands and notices
//! as JSON.

use std::collections::HashMap;
use std::io::BufRead;

use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value};
use vorrang_protocol::{NodeId, Protocol};

use crate::file::{Ending, Header, ReadError, Reader};
use crate::record::{Fault, Loss, Record};

/// A run as it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// What it was a run of.
    pub header: Header,
    /// What happened, in an order that respects cause.
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
                let Told::Send { letter, .. } = &line.what else { return None };
                Some(letter.clone())
            };
            let read = |text: &str| Line::read(text, letter)?.within(nodes);
            let Some(line) = reader.next_as(read)? else { break };
            if let Told::Send { to, seq, .. } = line.what {
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
    pub what: Told,
}

/// As [`What`](crate::record::What), with JSON in the place of types.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "they are those of `What`")]
pub enum Told {
    Command(Value),
    Notice(Value),
    Send { to: NodeId, seq: u64, letter: Letter },
    Receive { from: NodeId, seq: u64, letter: Letter },
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
pub struct Letter {
    /// As data.
    pub message: Value,
    /// Its kind.
    pub kind: String,
    /// For people.
    pub text: String,
}

impl Line {
    /// Reads a line. What a message says that arrives may have been left out: then it is looked up
    /// by who sent it, to whom, and its number.
    ///
    /// # Errors
    ///
    /// If it is not a record.
    pub fn read(
        text: &str,
        sent: impl Fn(NodeId, NodeId, u64) -> Option<Letter>,
    ) -> serde_json::Result<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(text)?;
        let at_ns = field(&mut fields, "at_ns")?;
        let node = NodeId(field(&mut fields, "node")?);
        let mut rest = fields.into_iter();
        let (Some((name, value)), None) = (rest.next(), rest.next()) else {
            return Err(serde_json::Error::custom("it does not say one thing that happened"));
        };
        let what = Told::read(&name, value, |from, seq| sent(from, node, seq))?;
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
        Self::read(&record.line(), |_, _, _| None).expect("what was written can be read")
    }
}

impl Told {
    fn read(
        name: &str,
        value: Value,
        sent: impl Fn(NodeId, u64) -> Option<Letter>,
    ) -> serde_json::Result<Self> {
        Ok(match name {
            "command" => Self::Command(value),
            "notice" => Self::Notice(value),
            "timer" => Self::Timer(value),
            "choice" => Self::Choice(serde_json::from_value(value)?),
            "send" => {
                let mut fields = object(value)?;
                let (to, seq) = (field(&mut fields, "to")?, field(&mut fields, "seq")?);
                Self::Send { to, seq, letter: letter(fields)? }
            }
            "receive" => {
                let mut fields = object(value)?;
                let (from, seq) = (field(&mut fields, "from")?, field(&mut fields, "seq")?);
                let unsent = || {
                    let what = format!("message {seq} of node {from} was not sent before");
                    serde_json::Error::custom(what)
                };
                let letter = if fields.is_empty() {
                    sent(from, seq).ok_or_else(unsent)?
                } else {
                    letter(fields)?
                };
                Self::Receive { from, seq, letter }
            }
            "lost" => {
                let mut fields = object(value)?;
                let (to, seq) = (field(&mut fields, "to")?, field(&mut fields, "seq")?);
                Self::Lost { to, seq, why: field(&mut fields, "why")? }
            }
            "doubled" => {
                let mut fields = object(value)?;
                Self::Doubled { to: field(&mut fields, "to")?, seq: field(&mut fields, "seq")? }
            }
            "crash" => Self::Crash,
            "restart" => Self::Restart,
            "fault" => Self::Fault(serde_json::from_value(value)?),
            _ => {
                let what = format!("nothing that happens is called '{name}'");
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

fn object(value: Value) -> serde_json::Result<Map<String, Value>> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(serde_json::Error::custom(format!("{value} is not an object")))
        }
    }
}

fn field<T: DeserializeOwned>(
    fields: &mut Map<String, Value>,
    name: &str,
) -> serde_json::Result<T> {
    let missing = || serde_json::Error::custom(format!("'{name}' is missing"));
    let value = fields.remove(name).ok_or_else(missing)?;
    serde_json::from_value(value)
        .map_err(|error| serde_json::Error::custom(format!("'{name}': {error}")))
}

fn letter(mut fields: Map<String, Value>) -> serde_json::Result<Letter> {
    Ok(Letter {
        message: fields
            .remove("message")
            .ok_or_else(|| serde_json::Error::custom("'message' is missing"))?,
        kind: field(&mut fields, "kind")?,
        text: field(&mut fields, "text")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        Line::read(line, |_, _, _| None).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_record_is_said() {
        assert_eq!(error(r#"{"node":1,"crash":null}"#), "'at_ns' is missing");
        assert!(error(r#"{"at_ns":-1,"node":1,"crash":null}"#).starts_with("'at_ns': invalid"));
        let two = r#"{"at_ns":1,"node":1,"crash":null,"restart":null}"#;
        assert_eq!(error(two), "it does not say one thing that happened");
        let odd = r#"{"at_ns":1,"node":1,"explode":null}"#;
        assert_eq!(error(odd), "nothing that happens is called 'explode'");
        assert_eq!(error(r#"{"at_ns":1,"node":1,"send":7}"#), "7 is not an object");
    }

    #[test]
    fn what_arrives_says_what_was_sent_if_it_does_not_say_it_itself() {
        let file = |number: u32| {
            let header = r#"{"vorrang_trace":2,"algorithm":"x","nodes":2,"parameters":{}}"#;
            let send = r#"{"at_ns":1,"node":1,"send":{"to":0,"seq":4,"message":7,"kind":"K","#
                .to_owned()
                + r#""text":"K(7)"}}"#;
            let got = format!(r#"{{"at_ns":2,"node":0,"receive":{{"from":1,"seq":{number}}}}}"#);
            format!("{header}\n{send}\n{got}\n{{\"end\":{{\"records\":2}}}}\n")
        };
        let run = Recording::read(file(4).as_bytes()).unwrap();
        let Told::Receive { letter, .. } = &run.lines[1].what else { panic!("it arrives") };
        assert_eq!((&letter.message, &*letter.text), (&Value::from(7), "K(7)"));
        let error = Recording::read(file(5).as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("message 5 of node 1 was not sent before"), "{error}");
    }

    #[test]
    fn a_node_that_there_is_not_is_named() {
        let file = "{\"vorrang_trace\":2,\"algorithm\":\"x\",\"nodes\":2,\"parameters\":{}}\n\
                    {\"at_ns\":1,\"node\":2,\"crash\":null}\n";
        let error = Recording::read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("there is no node 2: the last is 1"), "{error}");
    }
}
