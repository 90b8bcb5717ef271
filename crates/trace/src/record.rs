//! What can happen in a run, as data: a record is one thing that happened at one node.

use std::io::Write as _;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Message, NodeId, Protocol};

/// One thing that happened at one node.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(bound = "")]
pub struct Record<P: Protocol> {
    /// When, in nanoseconds since the run began.
    pub at_ns: u64,
    /// Where.
    pub node: NodeId,
    /// What.
    #[serde(flatten)]
    pub what: What<P>,
}

/// What can happen at a node, seen from outside.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(bound = "", rename_all = "snake_case")]
pub enum What<P: Protocol> {
    /// The application asked for something, and was not refused.
    Command(P::Command),
    /// The node told the application something.
    Notice(P::Notice),
    /// The node sent a message.
    Send {
        /// To whom.
        to: NodeId,
        /// Its number, unique on that link: what ties the receipt to the sending.
        seq: u64,
        /// What it says.
        message: P::Message,
    },
    /// A message arrived, and the node has handled it (its effects follow).
    Receive {
        /// From whom.
        from: NodeId,
        /// The number that its sender gave it on that link.
        seq: u64,
        /// What it says.
        message: P::Message,
    },
    /// A timer ran out.
    Timer(P::Timer),
    /// The node chose by lot, and this is what came up.
    Choice(u32),
    /// A message that the node sent will not arrive; if it is doubled, one of the two.
    Lost {
        /// Who will not get it.
        to: NodeId,
        /// Its number.
        seq: u64,
        /// Why.
        why: Loss,
    },
    /// A message that the node sent will arrive twice.
    Doubled {
        /// Who will get it.
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

/// What goes wrong besides crashes and losses: of all this, a monitor is told of partitions only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The node stands still from now on.
    Pause,
    /// It goes on.
    Resume,
    /// A message that the node sent takes longer than others.
    Delayed {
        /// Who will get it.
        to: NodeId,
        /// Its number.
        seq: u64,
        /// By how much.
        by_ns: u64,
    },
    /// The network fell apart. Noted at the first node that is named, like all that befalls the
    /// whole network.
    Partition {
        /// Those who hear each other; whoever is not named is on one more side.
        sides: Vec<Vec<NodeId>>,
    },
    /// It is whole again, as far as this partition goes.
    Heal {
        /// As it was.
        sides: Vec<Vec<NodeId>>,
    },
    /// Links are slow from now on.
    Slow {
        /// Which, and how slow, as on the command line: `0-1:x10`.
        links: String,
    },
    /// They no longer are.
    Recover {
        /// As it was.
        links: String,
    },
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

impl<P: Protocol> Record<P> {
    /// Adds the record to a text, as one line of a [trace](crate::file): a JSON object.
    ///
    /// A message is written as data, and beside that its kind and its text, so that a trace can be
    /// shown by whoever does not know the algorithm.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        begin(out, self.at_ns, self.node);
        match &self.what {
            What::Command(command) => named(out, "command", command),
            What::Notice(notice) => named(out, "notice", notice),
            What::Timer(timer) => named(out, "timer", timer),
            What::Send { to, seq, message } => letter(out, ("send", "to"), (*to, *seq), message),
            What::Receive { from, seq, message } => {
                letter(out, ("receive", "from"), (*from, *seq), message);
            }
            What::Choice(value) => named(out, "choice", value),
            What::Lost { to, seq, why } => {
                put(out, format_args!("\"lost\":{{\"to\":{to},\"seq\":{seq},\"why\":"));
                data(out, why);
                out.push(b'}');
            }
            What::Doubled { to, seq } => {
                put(out, format_args!("\"doubled\":{{\"to\":{to},\"seq\":{seq}}}"));
            }
            What::Crash => out.extend_from_slice(b"\"crash\":null"),
            What::Restart => out.extend_from_slice(b"\"restart\":null"),
            What::Fault(fault) => named(out, "fault", fault),
        }
        out.extend_from_slice(b"}\n");
    }

    /// The line that [`write_line`](Self::write_line) adds, without its end.
    pub fn line(&self) -> String {
        let mut line = Vec::new();
        self.write_line(&mut line);
        line.pop();
        String::from_utf8(line).expect("JSON is text")
    }
}

fn begin(out: &mut Vec<u8>, at_ns: u64, node: NodeId) {
    out.extend_from_slice(b"{\"at_ns\":");
    number(out, at_ns);
    out.extend_from_slice(b",\"node\":");
    number(out, node.0.into());
    out.push(b',');
}

fn named(out: &mut Vec<u8>, name: &str, value: &impl Serialize) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    data(out, value);
}

fn letter<M: Message>(
    out: &mut Vec<u8>,
    names: (&str, &str),
    (peer, seq): (NodeId, u64),
    message: &M,
) {
    envelope(out, names, peer, seq);
    data(out, message);
    out.extend_from_slice(b",\"kind\":");
    quoted(out, message.kind_name());
    out.extend_from_slice(b",\"text\":");
    text(out, format_args!("{message}"));
    out.push(b'}');
}

fn envelope(out: &mut Vec<u8>, (what, whom): (&str, &str), peer: NodeId, seq: u64) {
    out.push(b'"');
    out.extend_from_slice(what.as_bytes());
    out.extend_from_slice(b"\":{\"");
    out.extend_from_slice(whom.as_bytes());
    out.extend_from_slice(b"\":");
    number(out, peer.0.into());
    out.extend_from_slice(b",\"seq\":");
    number(out, seq);
    out.extend_from_slice(b",\"message\":");
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

/// The same of what is yet to be written.
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

/// Numbers are half of a trace.
fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
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
            r#"{"at_ns":120,"node":1,"send":{"to":0,"seq":0,"message":{"request":{"time":1}},"#
                .to_owned()
                + r#""kind":"REQUEST","text":"REQUEST(1)"}}"#
        );
        assert_eq!(at(What::Crash).line(), r#"{"at_ns":120,"node":1,"crash":null}"#);
        let lost = What::Lost { to: NodeId(2), seq: 7, why: Loss::Down };
        assert_eq!(
            at(lost).line(),
            r#"{"at_ns":120,"node":1,"lost":{"to":2,"seq":7,"why":"down"}}"#
        );
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
    fn numbers_of_any_size_are_written() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            super::number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }
}
