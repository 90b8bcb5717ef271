//! The records of a trace without the types of the algorithm: messages, commands and notices as
//! JSON.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;
use vorrang_erased::AnyNode;
use vorrang_protocol::{Data, Message, NodeId, Protocol};

use crate::record::{Payload, Record, What};

/// A record is JSON here, and has the types of no algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Json {}

impl Payload for Json {
    type Command = Value;
    type Notice = Value;
    type Message = LineMessage;
    type Timer = Value;
}

/// One thing that happened at one node, as a line of a file says it.
pub type Line = Record<Json>;

/// What happened there.
pub type LineEvent = What<Json>;

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineMessage {
    /// As data.
    pub data: Value,
    /// Its kind.
    pub kind: String,
    /// For people.
    pub text: String,
}

impl Line {
    /// The record of a text. The content of an arriving message may have been left out: then it is
    /// looked up by sender, receiver and number.
    ///
    /// # Errors
    ///
    /// If it is not a record.
    pub fn parse(
        text: &str,
        sent: impl Fn(NodeId, NodeId, u64) -> Option<LineMessage>,
    ) -> serde_json::Result<Self> {
        let fields: Vec<Value> = serde_json::from_str(text)?;
        let mut fields = Fields(fields.into_iter());
        let (at_ns, node) = (fields.next("when")?, fields.next("where")?);
        let what: String = fields.next("what")?;
        let what = read_what(&what, &mut fields, |from, seq| sent(from, node, seq))?;
        if let Some(more) = fields.0.next() {
            return Err(serde_json::Error::custom(format!("{more} is more than it should say")));
        }
        Ok(Self { at_ns, node, what })
    }

    /// The same, if there is such a node.
    pub(crate) fn within(self, nodes: u32) -> serde_json::Result<Self> {
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
        record.map(data, data, LineMessage::of, data)
    }
}

impl<P: Protocol> Record<P> {
    /// The record that a line of a file is.
    ///
    /// # Errors
    ///
    /// If its data are not of this algorithm.
    pub fn read(line: &Line) -> serde_json::Result<Self> {
        line.try_map(typed, typed, |it| typed(&it.data), typed)
    }
}

impl<C: Data, N: Data> Record<AnyNode<C, N>> {
    /// As [`read`](Self::read), where only a node of the algorithm knows the types of messages and
    /// timers.
    ///
    /// # Errors
    ///
    /// If its data are not of this node's algorithm.
    pub fn read_by(node: &AnyNode<C, N>, line: &Line) -> serde_json::Result<Self> {
        let unknown =
            |what: &str, it: &Value| serde_json::Error::custom(format!("{it} is no {what} of it"));
        line.try_map(
            typed,
            typed,
            |it| node.message(&it.data).ok_or_else(|| unknown("message", &it.data)),
            |it| node.timer(it).ok_or_else(|| unknown("timer", it)),
        )
    }
}

fn typed<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    T::deserialize(value)
}

fn data(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("what happens in a run can be written as JSON")
}

fn read_what(
    what: &str,
    fields: &mut Fields,
    sent: impl Fn(NodeId, u64) -> Option<LineMessage>,
) -> serde_json::Result<LineEvent> {
    Ok(match what {
        "command" => What::Command(fields.next("the command")?),
        "notice" => What::Notice(fields.next("the notice")?),
        "timer" => What::Timer(fields.next("the timer")?),
        "choice" => What::Choice(fields.next("the choice")?),
        "send" => {
            let (to, seq) = (fields.next("to")?, fields.next("seq")?);
            What::Send { to, seq, message: fields.message()? }
        }
        "receive" => {
            let (from, seq) = (fields.next("from")?, fields.next("seq")?);
            let message = if fields.0.as_slice().is_empty() {
                sent(from, seq).unwrap_or_else(LineMessage::unknown)
            } else {
                fields.message()?
            };
            What::Receive { from, seq, message }
        }
        "lost" => {
            let (to, seq) = (fields.next("to")?, fields.next("seq")?);
            What::Lost { to, seq, why: fields.next("why")? }
        }
        "doubled" => What::Doubled { to: fields.next("to")?, seq: fields.next("seq")? },
        "crash" => What::Crash,
        "restart" => What::Restart,
        "fault" => What::Fault(fields.next("the fault")?),
        _ => {
            let what = format!("nothing that happens is called '{what}'");
            return Err(serde_json::Error::custom(what));
        }
    })
}

impl LineMessage {
    fn of<M: Message>(message: &M) -> Self {
        Self {
            data: data(message),
            kind: message.kind_name().to_owned(),
            text: message.to_string(),
        }
    }

    /// The content of a message that arrived without having been sent.
    fn unknown() -> Self {
        let text = "what was not sent".to_owned();
        Self { data: Value::Null, kind: "?".to_owned(), text }
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

    fn message(&mut self) -> serde_json::Result<LineMessage> {
        let (kind, text) = (self.next("kind")?, self.next("text")?);
        Ok(LineMessage { data: self.next("message")?, kind, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        Line::parse(line, |_, _, _| None).unwrap_err().to_string()
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
}
