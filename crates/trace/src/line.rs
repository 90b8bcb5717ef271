//! The records of a trace for whoever does not know the algorithm: messages, commands and notices
//! as JSON.

use std::io::BufRead;

use serde::Deserialize;
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
        let mut lines = Vec::new();
        let read = |text: &str| {
            let line = Line::read(text)?;
            if line.node.0 < nodes {
                return Ok(line);
            }
            let last = nodes.saturating_sub(1);
            Err(serde_json::Error::custom(format!(
                "there is no node {}: the last is {last}",
                line.node
            )))
        };
        while let Some(line) = reader.next_as(read)? {
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
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Letter {
    /// As data.
    pub message: Value,
    /// Its kind.
    pub kind: String,
    /// For people.
    pub text: String,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// If it is not a record.
    pub fn read(text: &str) -> serde_json::Result<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(text)?;
        let at_ns = field(&mut fields, "at_ns")?;
        let node = NodeId(field(&mut fields, "node")?);
        let mut rest = fields.into_iter();
        let (Some((name, value)), None) = (rest.next(), rest.next()) else {
            return Err(serde_json::Error::custom("it does not say one thing that happened"));
        };
        Ok(Self { at_ns, node, what: Told::read(&name, value)? })
    }
}

impl<P: Protocol> From<&Record<P>> for Line {
    fn from(record: &Record<P>) -> Self {
        Self::read(&record.line()).expect("what was written can be read")
    }
}

impl Told {
    fn read(name: &str, value: Value) -> serde_json::Result<Self> {
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
                Self::Receive { from, seq, letter: letter(fields)? }
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
        Line::read(line).unwrap_err().to_string()
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
    fn a_node_that_there_is_not_is_named() {
        let file = "{\"vorrang_trace\":2,\"algorithm\":\"x\",\"nodes\":2,\"parameters\":{}}\n\
                    {\"at_ns\":1,\"node\":2,\"crash\":null}\n";
        let error = Recording::read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("there is no node 2: the last is 1"), "{error}");
    }
}
