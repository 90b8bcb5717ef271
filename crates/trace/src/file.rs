//! A run as a file, in lines of JSON. The first is a header, the last says that the run is whole
//! and how it ended; between them is a [record](crate::record) a line. `docs/trace-format.md`
//! describes it for programs.
//!
//! A file is written as the run happens. One that was cut off is read up to its last whole record,
//! and the reader reports it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vorrang_protocol::Protocol;

use crate::record::Record;

/// The format that this version writes and reads.
pub const FORMAT: u32 = 3;

/// The header of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the file's format.
    pub vorrang_trace: u32,
    /// The algorithm's name.
    pub algorithm: String,
    /// How many nodes took part.
    pub nodes: u32,
    /// The other parameters of the run: set-up, seed, load, latency and so on.
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

    /// A parameter, if there is such a one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The first line of a trace.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a header can be written");
        line.push(b'\n');
        line
    }

    /// Reads a first line.
    ///
    /// # Errors
    ///
    /// If it is not the header of a trace that this version can read.
    pub fn read(line: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_str(line).map_err(|_| ReadError::Foreign)?;
        let format = value.get("vorrang_trace").and_then(Value::as_u64);
        match format.ok_or(ReadError::Foreign)? {
            format if format == u64::from(FORMAT) => {
                serde_json::from_value(value).map_err(|source| ReadError::Line { line: 1, source })
            }
            format => Err(ReadError::Format { format }),
        }
    }
}

/// The last line of a whole trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct End {
    /// How many records there are.
    pub records: u64,
    /// The violation of the run, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<Wrong>,
    /// The time from which on the run repeats for ever, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<u64>,
}

impl End {
    /// The last line of a trace.
    pub fn line(&self) -> Vec<u8> {
        let named = BTreeMap::from([(END, self)]);
        let mut line = serde_json::to_vec(&named).expect("an end can be written");
        line.push(b'\n');
        line
    }
}

/// The violation of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Wrong {
    /// Its description.
    pub what: String,
    /// When, for a safety violation; none for an obligation that is open when the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
}

/// Whether a file was read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was.
    Whole(End),
    /// It is cut off: so many records are whole.
    CutOff(u64),
}

/// A digest by FNV-1a: for comparing texts, not for security.
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
    /// Buffered whole lines.
    lines: Vec<u8>,
    records: u64,
}

/// As much is handed on at once.
const AT_ONCE: usize = 1 << 16;

impl<W: Write> Writer<W> {
    /// Starts with the header.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        out.write_all(&header.line())?;
        Ok(Self { out, lines: Vec::with_capacity(AT_ONCE + AT_ONCE / 4), records: 0 })
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write<P: Protocol>(&mut self, record: &Record<P>) -> io::Result<()> {
        record.write_line(&mut self.lines);
        self.records += 1;
        if self.lines.len() < AT_ONCE { Ok(()) } else { self.hand_on() }
    }

    /// Adds records that have been written as lines already, so many.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write_lines(&mut self, lines: &[u8], records: u64) -> io::Result<()> {
        self.lines.extend_from_slice(lines);
        self.records += records;
        self.hand_on()
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    /// Says that the run is whole and how it ended, and hands back what was written to.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self, wrong: Option<Wrong>, repeats_from: Option<u64>) -> io::Result<W> {
        let end = End { records: self.records, wrong, repeats_from };
        self.lines.extend_from_slice(&end.line());
        self.hand_on()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The content of the last line.
const END: &str = "end";

/// Reads a file record by record.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    /// Its header.
    pub header: Header,
    /// Counted from 1.
    line: usize,
    records: u64,
    end: Option<End>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not a trace of this format.
    pub fn new(mut file: R) -> Result<Self, ReadError> {
        let mut first = String::new();
        match read_line(&mut file, &mut first) {
            Ok(()) if first.is_empty() => return Err(ReadError::Empty),
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(ReadError::Foreign);
            }
            Err(error) => return Err(error.into()),
        }
        let header = Header::read(&first)?;
        Ok(Self { file, header, line: 1, records: 0, end: None })
    }

    /// The next record, parsed by the given function; none if there are no more.
    ///
    /// # Errors
    ///
    /// If a line that is not the last one is no record.
    pub fn next_as<T>(
        &mut self,
        read: impl Fn(&str) -> serde_json::Result<T>,
    ) -> Result<Option<T>, ReadError> {
        let mut text = String::new();
        read_line(&mut self.file, &mut text)?;
        if text.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if self.end.is_some() {
            return Err(ReadError::AfterEnd { line: self.line });
        }
        let is_cut_off = !text.ends_with('\n');
        let wrong = |source| ReadError::Line { line: self.line, source };
        if text.starts_with("{\"end\":") {
            match serde_json::from_str::<BTreeMap<String, End>>(&text) {
                Ok(mut end) => self.end = end.remove(END),
                Err(_) if is_cut_off => return Ok(None),
                Err(source) => return Err(wrong(source)),
            }
            return self.next_as(read);
        }
        match read(text.trim_end_matches('\n')) {
            Ok(record) => {
                self.records += 1;
                Ok(Some(record))
            }
            Err(_) if is_cut_off => Ok(None),
            Err(source) => Err(wrong(source)),
        }
    }

    /// Whether the file was whole, once all records have been read.
    pub fn ending(&self) -> Ending {
        match &self.end {
            // Lines may be missing from the middle, too.
            Some(end) if end.records == self.records => Ending::Whole(end.clone()),
            Some(_) | None => Ending::CutOff(self.records),
        }
    }
}

/// A line with its end, if it has one; nothing at the end of the file. What breaks off in the
/// middle of a letter breaks off before it.
fn read_line(file: &mut impl BufRead, text: &mut String) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.read_until(b'\n', &mut bytes)?;
    match std::str::from_utf8(&bytes) {
        Ok(line) => text.push_str(line),
        Err(error) if error.error_len().is_none() => {
            text.push_str(&String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
            // Not a whole line, even if it parses.
            text.push(' ');
        }
        Err(_) => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not text"));
        }
    }
    Ok(())
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
    /// It is something else.
    #[error("this is not a trace: its first line is not a header with vorrang_trace")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "the trace has format {format}, and this version reads format {FORMAT}{}",
        newer(*format)
    )]
    Format {
        /// Which it has.
        format: u64,
    },
    /// A line is not a record of this algorithm.
    #[error("line {line} of the trace is not a record of this algorithm: {source}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The error.
        source: serde_json::Error,
    },
    /// Something follows on the line that says that the run is whole.
    #[error("line {line} of the trace comes after its end")]
    AfterEnd {
        /// Counted from 1.
        line: usize,
    },
}

fn newer(format: u64) -> &'static str {
    if format > u64::from(FORMAT) { ": a newer version wrote it" } else { "" }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{Message, RicartAgrawala};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::NodeId;

    use super::*;
    use crate::fault::Fault;
    use crate::record::{Lines, Loss, What};
    use crate::recording::Trace;

    fn sample() -> Trace<RicartAgrawala> {
        let at = |at_ns, node, what| Record { at_ns, node: NodeId(node), what };
        let message = Message::Request { time: 1 };
        let (to, seq) = (NodeId(0), 0);
        Trace {
            header: Header::new("ricart-agrawala", 2).with("seed", &7),
            records: vec![
                at(0, 1, What::Command(Command::Acquire(Claim::Exclusive))),
                at(0, 1, What::Send { to, seq, message }),
                at(0, 1, What::Doubled { to, seq }),
                at(0, 1, What::Fault(Fault::Delayed { to, seq, by_ns: 3 })),
                at(0, 1, What::Choice(3)),
                at(5, 0, What::Receive { from: NodeId(1), seq, message }),
                at(6, 1, What::Lost { to, seq, why: Loss::Down }),
                at(7, 0, What::Crash),
                at(8, 0, What::Restart),
                at(8, 0, What::Fault(Fault::Pause)),
                at(8, 0, What::Fault(Fault::Partition { sides: vec![vec![to], vec![]] })),
                at(9, 1, What::Notice(Notice::Entered)),
            ],
        }
    }

    fn written() -> Vec<u8> {
        let mut file = Vec::new();
        sample().write(&mut file).unwrap();
        file
    }

    fn error(file: &[u8]) -> String {
        Trace::<RicartAgrawala>::read(file).unwrap_err().to_string()
    }

    #[test]
    fn a_run_is_read_back_as_it_was_written() {
        let (read, ending) = Trace::read(&written()[..]).unwrap();
        assert_eq!(read, sample());
        let records = sample().records.len() as u64;
        assert_eq!(ending, Ending::Whole(End { records, ..End::default() }));
    }

    #[test]
    fn the_short_lines_of_a_whole_run_are_read_back_as_well() {
        let mut run = sample();
        let times = [(1, 3), (2, 3), (3, 4), (4, 3)];
        let sends = times.map(|(seq, time)| (seq, Message::Request { time }));
        for (seq, message) in sends {
            let what = What::Send { to: NodeId(1), seq, message };
            run.records.push(Record { at_ns: 9, node: NodeId(0), what });
            let what = What::Receive { from: NodeId(0), seq, message };
            run.records.push(Record { at_ns: 9, node: NodeId(1), what });
        }
        let lines = Lines::of(&run.records);
        assert!(lines.len() < run.records.iter().map(|it| it.line().len()).sum());
        let mut writer = Writer::new(Vec::new(), &run.header).unwrap();
        writer.write_lines(&lines, run.records.len() as u64).unwrap();
        let file = writer.finish(None, None).unwrap();
        let (read, ending) = Trace::read(&file[..]).unwrap();
        assert_eq!(read, run);
        assert!(matches!(ending, Ending::Whole(_)));
    }

    #[test]
    fn what_was_wrong_is_read_back_too() {
        let mut writer = Writer::new(Vec::new(), &sample().header).unwrap();
        writer.write(&sample().records[0]).unwrap();
        let wrong = Wrong { what: "two inside".to_owned(), at_ns: Some(9) };
        let file = writer.finish(Some(wrong.clone()), Some(4)).unwrap();
        let (_, ending) = Trace::<RicartAgrawala>::read(&file[..]).unwrap();
        let end = End { records: 1, wrong: Some(wrong), repeats_from: Some(4) };
        assert_eq!(ending, Ending::Whole(end));
    }

    #[test]
    fn wherever_a_file_is_cut_off_it_is_read_up_to_its_last_whole_record() {
        let (file, all) = (written(), sample().records);
        let header = file.iter().position(|&byte| byte == b'\n').unwrap();
        for cut in header + 1..file.len() - 2 {
            let (read, ending) = Trace::<RicartAgrawala>::read(&file[..cut]).unwrap();
            let whole = read.records.len();
            assert_eq!(read.records, all[..whole], "cut at {cut}");
            let ends = String::from_utf8_lossy(&file[header + 1..cut]).matches('\n').count();
            assert!((ends.min(all.len())..=ends + 1).contains(&whole), "cut at {cut}");
            assert_eq!(ending, Ending::CutOff(whole as u64), "cut at {cut}");
        }
    }

    #[test]
    fn a_file_that_lacks_a_line_is_not_whole() {
        let text = String::from_utf8(written()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let without = [&lines[..3], &lines[4..], &[""]].concat().join("\n");
        let (read, ending) = Trace::<RicartAgrawala>::read(without.as_bytes()).unwrap();
        assert_eq!(ending, Ending::CutOff(read.records.len() as u64));
    }

    #[test]
    fn a_broken_line_is_named() {
        let text = String::from_utf8(written()).unwrap();
        let broken = text.replacen("\"command\"", "\"commend\"", 1);
        assert!(error(broken.as_bytes()).starts_with("line 2 of the trace"), "{broken}");
        let more = [&written()[..], b"{}\n"].concat();
        assert_eq!(error(&more), "line 15 of the trace comes after its end");
    }

    #[test]
    fn what_is_no_trace_of_this_format_is_refused() {
        assert_eq!(error(b""), "the trace is empty");
        for foreign in [&b"hello\n"[..], b"{\"traceEvents\":[]}\n", b"\x89PNG\r\n\x1a\n\0"] {
            assert!(error(foreign).starts_with("this is not a trace"), "{foreign:?}");
        }
        let mut foreign = sample();
        foreign.header.vorrang_trace = 99;
        let mut file = Vec::new();
        foreign.write(&mut file).unwrap();
        let newer = "the trace has format 99, and this version reads format 3: a newer version \
                     wrote it";
        assert_eq!(error(&file), newer);
        let older = error(b"{\"vorrang_trace\":1}\n");
        assert_eq!(older, "the trace has format 1, and this version reads format 3");
    }

    #[test]
    fn the_digest_sees_every_byte() {
        let mut other = sample();
        other.records[2].at_ns += 1;
        assert_eq!(sample().digest(), sample().digest());
        assert_ne!(sample().digest(), other.digest());
    }
}
