//! The events of a run, as data: a record is one event at one node. What it carries depends on who
//! looks at it, and is a type parameter: the algorithm's own commands and messages, JSON in a file,
//! or words.

use std::convert::Infallible;
use std::fmt::Debug;
use std::io::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Message, NodeId, Protocol};

use crate::fault::Fault;

/// What records carry of the commands, notices, messages and timers of a run.
pub trait Payload {
    /// Of what an application asks for.
    type Command: Clone + Eq + Debug;
    /// Of what an application is told.
    type Notice: Clone + Eq + Debug;
    /// Of what nodes tell each other.
    type Message: Clone + Eq + Debug;
    /// Of what nodes remind themselves of.
    type Timer: Clone + Eq + Debug;
}

/// By default all, as it is.
impl<P: Protocol> Payload for P {
    type Command = <P as Protocol>::Command;
    type Notice = <P as Protocol>::Notice;
    type Message = <P as Protocol>::Message;
    type Timer = <P as Protocol>::Timer;
}

/// One thing that happened at one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record<P: Payload> {
    /// When, in nanoseconds since the run began, or in steps.
    pub at_ns: u64,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: What<P>,
}

/// The events of a node, as an observer sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<P: Payload> {
    /// The application asked for something, and was not refused.
    Command(P::Command),
    /// The node told the application something.
    Notice(P::Notice),
    /// The node sent a message.
    Send {
        /// The receiver.
        to: NodeId,
        /// Its number, unique on that link: what ties the receipt to the sending.
        seq: u64,
        /// The message.
        message: P::Message,
    },
    /// A message arrived, and the node has handled it (its effects follow).
    Receive {
        /// The sender.
        from: NodeId,
        /// The number that its sender gave it on that link.
        seq: u64,
        /// The message.
        message: P::Message,
    },
    /// A timer ran out.
    Timer(P::Timer),
    /// The node chose by lot, and this is what came up.
    Choice(u32),
    /// A message that the node sent will not arrive; if it is doubled, one of the two.
    Lost {
        /// The receiver.
        to: NodeId,
        /// Its number.
        seq: u64,
        /// Why.
        why: Loss,
    },
    /// A message that the node sent will arrive twice.
    Doubled {
        /// The receiver.
        to: NodeId,
        /// Its number.
        seq: u64,
    },
    /// The node crashed.
    Crash,
    /// The node came up again.
    Restart,
    /// Something else went wrong, or no longer does.
    Fault(Fault),
}

/// Why a message did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The network lost it, by chance or on order.
    Network,
    /// A partition was in its way.
    Partition,
    /// The node to which it went was down.
    Down,
    /// There was no link to that node: a mistake of the algorithm.
    NoLink,
}

impl<P: Payload> What<P> {
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

    /// Whether it is something that goes wrong, or no longer does.
    pub const fn is_fault(&self) -> bool {
        match self {
            Self::Lost { .. }
            | Self::Doubled { .. }
            | Self::Crash
            | Self::Restart
            | Self::Fault(_) => true,
            Self::Command(_)
            | Self::Notice(_)
            | Self::Send { .. }
            | Self::Receive { .. }
            | Self::Timer(_)
            | Self::Choice(_) => false,
        }
    }
}

impl<P: Payload> Record<P> {
    /// The same record with something else in the place of commands, notices, messages and timers.
    ///
    /// # Errors
    ///
    /// The first of the functions.
    pub fn try_map<Q: Payload, E>(
        &self,
        command: impl FnOnce(&P::Command) -> Result<Q::Command, E>,
        notice: impl FnOnce(&P::Notice) -> Result<Q::Notice, E>,
        message: impl FnOnce(&P::Message) -> Result<Q::Message, E>,
        timer: impl FnOnce(&P::Timer) -> Result<Q::Timer, E>,
    ) -> Result<Record<Q>, E> {
        let what = match &self.what {
            What::Command(it) => What::Command(command(it)?),
            What::Notice(it) => What::Notice(notice(it)?),
            What::Timer(it) => What::Timer(timer(it)?),
            What::Send { to, seq, message: it } => {
                What::Send { to: *to, seq: *seq, message: message(it)? }
            }
            What::Receive { from, seq, message: it } => {
                What::Receive { from: *from, seq: *seq, message: message(it)? }
            }
            What::Choice(value) => What::Choice(*value),
            What::Lost { to, seq, why } => What::Lost { to: *to, seq: *seq, why: *why },
            What::Doubled { to, seq } => What::Doubled { to: *to, seq: *seq },
            What::Crash => What::Crash,
            What::Restart => What::Restart,
            What::Fault(fault) => What::Fault(fault.clone()),
        };
        Ok(Record { at_ns: self.at_ns, node: self.node, what })
    }

    /// As [`try_map`](Self::try_map), where nothing can go wrong.
    pub fn map<Q: Payload>(
        &self,
        command: impl FnOnce(&P::Command) -> Q::Command,
        notice: impl FnOnce(&P::Notice) -> Q::Notice,
        message: impl FnOnce(&P::Message) -> Q::Message,
        timer: impl FnOnce(&P::Timer) -> Q::Timer,
    ) -> Record<Q> {
        let Ok(record) = self.try_map::<Q, Infallible>(
            |it| Ok(command(it)),
            |it| Ok(notice(it)),
            |it| Ok(message(it)),
            |it| Ok(timer(it)),
        );
        record
    }
}

impl<P: Protocol> Record<P> {
    /// Adds the record to a text, as one line of a [trace](crate::file): a JSON array.
    ///
    /// A message is written as data, and beside that its kind and its text, so that a trace can be
    /// shown without the types of the algorithm.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        match &self.what {
            What::Command(command) => self.named(out, b"\"command\",", command),
            What::Notice(notice) => self.named(out, b"\"notice\",", notice),
            What::Timer(timer) => self.named(out, b"\"timer\",", timer),
            What::Send { to, seq, message } => {
                self.envelope(out, SEND, (*to, *seq));
                letter(out, message);
            }
            What::Receive { from, seq, message } => {
                self.envelope(out, RECEIVE, (*from, *seq));
                letter(out, message);
            }
            What::Choice(value) => self.named(out, b"\"choice\",", value),
            What::Lost { to, seq, why } => {
                self.envelope(out, LOST, (*to, *seq));
                out.push(b',');
                data(out, why);
            }
            What::Doubled { to, seq } => self.envelope(out, DOUBLED, (*to, *seq)),
            What::Crash => self.begin(out, b"\"crash\""),
            What::Restart => self.begin(out, b"\"restart\""),
            What::Fault(fault) => self.named(out, b"\"fault\",", fault),
        }
        out.extend_from_slice(b"]\n");
    }

    /// When, where and what.
    fn begin<const N: usize>(&self, out: &mut Vec<u8>, what: &[u8; N]) {
        let mut short = Short::of(self.at_ns, self.node);
        short.text(what);
        out.extend_from_slice(short.as_bytes());
    }

    fn named<const N: usize>(&self, out: &mut Vec<u8>, what: &[u8; N], value: &impl Serialize) {
        self.begin(out, what);
        data(out, value);
    }

    /// Time and node, and for a message its peer and its number.
    fn envelope<const N: usize>(
        &self,
        out: &mut Vec<u8>,
        what: &[u8; N],
        (peer, seq): (NodeId, u64),
    ) {
        let mut short = Short::of(self.at_ns, self.node);
        short.text(what);
        short.number(peer.0.into());
        short.text(b",");
        short.number(seq);
        out.extend_from_slice(short.as_bytes());
    }

    /// The line that [`write_line`](Self::write_line) adds, without its end.
    pub fn line(&self) -> String {
        let mut line = Vec::new();
        self.write_line(&mut line);
        line.pop();
        String::from_utf8(line).expect("JSON is text")
    }
}

/// The records of a run that has all of them, as lines: as short and as quick as they can be.
///
/// The content of a message is written where it is sent, and not once more where it arrives; and a
/// broadcast is formatted once.
#[derive(Debug)]
pub struct Lines<'a, P: Protocol> {
    bytes: Vec<u8>,
    /// The last message that was put into words, and where.
    last: Option<(&'a P::Message, Range<usize>)>,
}

impl<'a, P: Protocol> Lines<'a, P> {
    /// The lines of these records.
    pub fn of(records: &'a [Record<P>]) -> Vec<u8> {
        const USUAL: usize = 80;
        let mut lines = Self { bytes: Vec::with_capacity(records.len() * USUAL), last: None };
        for record in records {
            lines.add(record);
        }
        lines.bytes
    }

    fn add(&mut self, record: &'a Record<P>) {
        let out = &mut self.bytes;
        match &record.what {
            What::Send { to, seq, message } => {
                record.envelope(out, SEND, (*to, *seq));
                match &self.last {
                    Some((last, place)) if *last == message => {
                        out.extend_from_within(place.clone());
                    }
                    Some(_) | None => {
                        let start = out.len();
                        letter(out, message);
                        self.last = Some((message, start..out.len()));
                    }
                }
                out.extend_from_slice(b"]\n");
            }
            What::Receive { from, seq, .. } => {
                record.envelope(out, RECEIVE, (*from, *seq));
                out.extend_from_slice(b"]\n");
            }
            What::Command(_)
            | What::Notice(_)
            | What::Timer(_)
            | What::Choice(_)
            | What::Lost { .. }
            | What::Doubled { .. }
            | What::Crash
            | What::Restart
            | What::Fault(_) => record.write_line(out),
        }
    }
}

// The beginning of a message's fields.
const SEND: &[u8; 7] = b"\"send\",";
const RECEIVE: &[u8; 10] = b"\"receive\",";
const LOST: &[u8; 7] = b"\"lost\",";
const DOUBLED: &[u8; 10] = b"\"doubled\",";

/// A short piece of a line, put together before it is added: numbers and names are many.
struct Short {
    bytes: [u8; Self::LONGEST],
    len: usize,
}

impl Short {
    /// As long as four numbers and the names before them.
    const LONGEST: usize = 128;

    /// When and where.
    fn of(at_ns: u64, node: NodeId) -> Self {
        let mut short = Self { bytes: [0; Self::LONGEST], len: 0 };
        short.text(b"[");
        short.number(at_ns);
        short.text(b",");
        short.number(node.0.into());
        short.text(b",");
        short
    }

    /// For texts of known length: no call for a few letters.
    fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(text);
        self.len += N;
    }

    fn number(&mut self, mut number: u64) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        for place in self.bytes[self.len..self.len + digits].iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.len += digits;
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The message.
fn letter<M: Message>(out: &mut Vec<u8>, message: &M) {
    out.push(b',');
    quoted(out, message.kind_name());
    out.push(b',');
    text(out, format_args!("{message}"));
    out.push(b',');
    data(out, message);
}

fn data(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("what happens in a run can be written as JSON");
}

fn put(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a text takes all that is written");
}

/// In quotes: at once if nothing in it means anything to JSON, and nearly nothing ever does.
fn quoted(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        data(out, &text);
    }
}

fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

/// The same for records that are yet to be written.
fn text(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    let start = out.len();
    out.push(b'"');
    put(out, what);
    if is_plain(&out[start + 1..]) {
        out.push(b'"');
    } else {
        let said = String::from_utf8_lossy(&out[start + 1..]).into_owned();
        out.truncate(start);
        data(out, &said);
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{self, RicartAgrawala};

    use super::*;

    #[test]
    fn a_record_reads_as_one_plain_line() {
        let at = |what| Record::<RicartAgrawala> { at_ns: 120, node: NodeId(1), what };
        let message = ricart_agrawala::Message::Request { time: 1 };
        assert_eq!(
            at(What::Send { to: NodeId(0), seq: 0, message }).line(),
            r#"[120,1,"send",0,0,"REQUEST","REQUEST(1)",{"request":{"time":1}}]"#
        );
        assert_eq!(at(What::Crash).line(), r#"[120,1,"crash"]"#);
        let lost = What::Lost { to: NodeId(2), seq: 7, why: Loss::Down };
        assert_eq!(at(lost).line(), r#"[120,1,"lost",2,7,"down"]"#);
    }

    #[test]
    fn what_means_something_to_json_is_escaped() {
        let mut out = Vec::new();
        text(&mut out, format_args!("say \"{}\"", 1));
        assert_eq!(out, br#""say \"1\"""#);
        out.clear();
        text(&mut out, format_args!("plain"));
        assert_eq!(out, br#""plain""#);
    }

    #[test]
    fn the_longest_line_is_written() {
        let (node, seq) = (NodeId(u32::MAX), u64::MAX);
        let message = ricart_agrawala::Message::Request { time: u64::MAX };
        let what = What::Receive { from: node, seq, message };
        let line = Record::<RicartAgrawala> { at_ns: u64::MAX, node, what }.line();
        assert!(line.contains(&format!("\"receive\",{node},{seq},")), "{line}");
    }

    #[test]
    fn numbers_of_any_size_are_written() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut short = Short { bytes: [0; Short::LONGEST], len: 0 };
            short.number(number);
            assert_eq!(short.as_bytes(), number.to_string().as_bytes());
        }
    }

    #[test]
    fn what_happens_to_a_node_is_an_event_and_what_it_does_is_none() {
        type Happened = What<RicartAgrawala>;
        let message = ricart_agrawala::Message::Request { time: 1 };
        let (to, seq) = (NodeId(0), 0);
        let events: [Happened; 3] =
            [What::Receive { from: to, seq, message }, What::Crash, What::Restart];
        assert!(events.iter().all(What::is_event));
        let others: [Happened; 4] = [
            What::Send { to, seq, message },
            What::Choice(1),
            What::Doubled { to, seq },
            What::Fault(Fault::Pause),
        ];
        assert!(!others.iter().any(What::is_event));
    }
}
