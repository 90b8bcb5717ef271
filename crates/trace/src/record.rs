//! A run as a list of records, and as a file: one JSON object a line, the first of them a header.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, Protocol};

/// The format that this version writes and reads.
pub const FORMAT: u32 = 1;

/// What a run was a run of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the file's format.
    pub vorrang_trace: u32,
    /// The algorithm's name.
    pub algorithm: String,
    /// How many nodes took part.
    pub nodes: u32,
    /// What decides the run besides: the seed, the load, the latency, whatever there was.
    pub parameters: BTreeMap<String, String>,
}

impl Header {
    /// The header of a run of `algorithm`.
    pub fn new(algorithm: &str, nodes: u32) -> Self {
        let algorithm = algorithm.to_owned();
        Self { vorrang_trace: FORMAT, algorithm, nodes, parameters: BTreeMap::new() }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &impl ToString) -> Self {
        self.parameters.insert(name.to_owned(), value.to_string());
        self
    }
}

/// One thing that happened at one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
}

/// A whole run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace<P: Protocol> {
    /// What it was a run of.
    pub header: Header,
    /// What happened, in an order that respects cause.
    pub records: Vec<Record<P>>,
}

impl<P: Protocol> Trace<P> {
    /// Reads a file that a [`Writer`] wrote.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is not what it should be.
    pub fn read(file: impl BufRead) -> Result<Self, ReadError> {
        let mut lines = file.lines().enumerate();
        let first = lines.next().ok_or(ReadError::Empty)?.1?;
        let header: Header =
            serde_json::from_str(&first).map_err(|source| ReadError::Line { line: 1, source })?;
        if header.vorrang_trace != FORMAT {
            return Err(ReadError::Format(header.vorrang_trace));
        }
        let mut records = Vec::new();
        for (index, line) in lines {
            let record = serde_json::from_str(&line?)
                .map_err(|source| ReadError::Line { line: index + 1, source })?;
            records.push(record);
        }
        Ok(Self { header, records })
    }

    /// Writes the whole run.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(out, &self.header)?;
        for record in &self.records {
            writer.write(record)?;
        }
        writer.finish()
    }

    /// A number that two runs share only if they are the same, byte for byte: FNV-1a of what
    /// [`write`](Self::write) writes.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.write(&mut digest).expect("a digest takes all that is written");
        digest.value()
    }

    /// Puts records that several nodes made on one clock into one order: by time, and a receipt
    /// never before its sending.
    pub fn sort(&mut self) {
        self.records.sort_by_key(|record| record.at_ns);
    }
}

/// A digest of what is written to it, by FNV-1a: for telling texts apart, not for security.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Digest {
    /// The digest of what has been written.
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a run as it happens.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Starts with the header.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        line(&mut out, header)?;
        Ok(Self { out })
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write<P: Protocol>(&mut self, record: &Record<P>) -> io::Result<()> {
        line(&mut self.out, record)
    }

    /// Sees to it that all has been written.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Why a file is not a run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no header.
    #[error("the trace is empty")]
    Empty,
    /// Another version wrote it.
    #[error("the trace has format {0}, and this version reads format {FORMAT}")]
    Format(u32),
    /// A line is not a record of this algorithm.
    #[error("line {line} of the trace is not a record of this algorithm: {source}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{Message, RicartAgrawala};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};

    use super::*;

    fn sample() -> Trace<RicartAgrawala> {
        let at = |at_ns, node, what| Record { at_ns, node: NodeId(node), what };
        let message = Message::Request { time: 1 };
        Trace {
            header: Header::new("ricart-agrawala", 2).with("seed", &7),
            records: vec![
                at(0, 1, What::Command(Command::Acquire(Claim::Exclusive))),
                at(0, 1, What::Send { to: NodeId(0), seq: 0, message }),
                at(5, 0, What::Receive { from: NodeId(1), seq: 0, message }),
                at(9, 1, What::Notice(Notice::Entered)),
            ],
        }
    }

    #[test]
    fn a_run_is_read_back_as_it_was_written() {
        let mut file = Vec::new();
        sample().write(&mut file).unwrap();
        assert_eq!(Trace::read(&file[..]).unwrap(), sample());
    }

    #[test]
    fn a_record_reads_as_one_plain_line() {
        let line = serde_json::to_string(&sample().records[1]).unwrap();
        assert_eq!(
            line,
            r#"{"at_ns":0,"node":1,"send":{"to":0,"seq":0,"message":{"request":{"time":1}}}}"#
        );
    }

    #[test]
    fn a_broken_line_is_named() {
        let mut file = Vec::new();
        sample().write(&mut file).unwrap();
        file.extend_from_slice(b"{\"at_ns\":1}\n");
        let error = Trace::<RicartAgrawala>::read(&file[..]).unwrap_err();
        assert!(error.to_string().starts_with("line 6 of the trace"), "{error}");
    }

    #[test]
    fn an_empty_file_and_a_foreign_format_are_refused() {
        let error = Trace::<RicartAgrawala>::read(&b""[..]).unwrap_err();
        assert_eq!(error.to_string(), "the trace is empty");
        let mut foreign = sample();
        foreign.header.vorrang_trace = 99;
        let mut file = Vec::new();
        foreign.write(&mut file).unwrap();
        let error = Trace::<RicartAgrawala>::read(&file[..]).unwrap_err();
        assert_eq!(error.to_string(), "the trace has format 99, and this version reads format 1");
    }

    #[test]
    fn the_digest_sees_every_byte() {
        let mut other = sample();
        other.records[2].at_ns += 1;
        assert_eq!(sample().digest(), sample().digest());
        assert_ne!(sample().digest(), other.digest());
    }
}
