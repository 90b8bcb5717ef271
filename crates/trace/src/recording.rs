//! Whole runs, as they are read from a file: with the types of an algorithm, or without.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use vorrang_protocol::{NodeId, Protocol};

use crate::file::{Digest, Ending, Header, ReadError, Reader, Writer};
use crate::line::Line;
use crate::record::{Record, What};

/// A whole run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace<P: Protocol> {
    /// Its header.
    pub header: Header,
    /// The events, in an order that respects causality.
    pub records: Vec<Record<P>>,
}

impl<P: Protocol> Trace<P> {
    /// Reads a file that a [`Writer`] wrote; also, whether it was whole.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is not what it should be.
    pub fn read(file: impl BufRead) -> Result<(Self, Ending), ReadError> {
        let Recording { header, lines, ending } = Recording::read(file)?;
        let records = lines.into_iter().zip(2..).map(|(line, number)| {
            Record::read(&line).map_err(|source| ReadError::Line { line: number, source })
        });
        Ok((Self { header, records: records.collect::<Result<_, _>>()? }, ending))
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
        writer.finish(None, None).map(drop)
    }

    /// A number that two runs share only if they are the same, byte for byte: FNV-1a of what
    /// [`write`](Self::write) writes.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.write(&mut digest).expect("a digest takes all that is written");
        digest.value()
    }
}

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
    pub fn read(mut file: impl BufRead) -> Result<Self, ReadError> {
        Self::read_any(&mut file)
    }

    /// The same, compiled here once.
    fn read_any(file: &mut dyn BufRead) -> Result<Self, ReadError> {
        let mut reader = Reader::new(file)?;
        let nodes = reader.header.nodes;
        let mut lines: Vec<Line> = Vec::new();
        // Where each message was sent: what it says need not be repeated where it arrives.
        let mut sent: HashMap<(NodeId, NodeId, u64), usize> = HashMap::new();
        loop {
            let said = |from, to, seq| {
                let line = &lines[*sent.get(&(from, to, seq))?];
                let What::Send { message, .. } = &line.what else { return None };
                Some(message.clone())
            };
            let read = |text: &str| Line::parse(text, said)?.within(nodes);
            let Some(line) = reader.next_as(read)? else { break };
            if let What::Send { to, seq, .. } = line.what {
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

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;

    use super::*;

    #[test]
    fn what_arrives_says_what_was_sent_if_it_does_not_say_it_itself() {
        let file = |number: u32| {
            let header = r#"{"vorrang_trace":3,"algorithm":"x","nodes":2,"parameters":{}}"#;
            let lines = format!(r#"[1,1,"send",0,4,"K","K(7)",7]|[2,0,"receive",1,{number}]"#);
            format!("{header}\n{}\n{{\"end\":{{\"records\":2}}}}\n", lines.replace('|', "\n"))
        };
        let arrives = |number| {
            let run = Recording::read(file(number).as_bytes()).unwrap();
            let What::Receive { message, .. } = &run.lines[1].what else { panic!("it arrives") };
            (message.data.clone(), message.text.clone())
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

    #[test]
    fn what_an_algorithm_does_not_know_is_named_by_its_line() {
        let file = "{\"vorrang_trace\":3,\"algorithm\":\"x\",\"nodes\":2,\"parameters\":{}}\n\
                    [1,0,\"crash\"]\n[2,1,\"notice\",\"sings\"]\n";
        let error = Trace::<RicartAgrawala>::read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 3 of the trace"), "{error}");
    }
}
