//! Traces as files: written by a thread of their own, compressed if the name says so, and read
//! back.
//!
//! A compressed file is a row of frames, each of which can be read alone: so it can be read as far
//! as it goes if it was cut off, like any other trace.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use vorrang_protocol::Protocol;
use vorrang_trace::{End, Ending, Header, Line, ReadError, Record, Recording, Writer, Wrong};

use crate::failure::Failure;

/// How much is compressed together.
const FRAME: usize = 1 << 19;

/// How many pieces may wait to be written, before the producer blocks.
const WAITING: usize = 64;

/// The magic bytes of every frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where a trace goes: a file that is written, and compressed, by a thread of its own.
#[derive(Debug)]
pub struct TraceWriter {
    /// None once the file is to be closed.
    pieces: Option<SyncSender<Piece>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

/// A piece to write: ready, or being made.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Pending(Receiver<Vec<u8>>),
}

impl Piece {
    fn bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Pending(bytes) => {
                bytes.recv().map_err(|_| io::Error::other("a part of the trace was not made"))
            }
        }
    }
}

impl TraceWriter {
    /// Writes a piece that is made on any core, in its turn.
    pub fn make(&self, work: impl FnOnce() -> Vec<u8> + Send + 'static) -> io::Result<()> {
        let (sender, made) = sync_channel(1);
        rayon::spawn(move || {
            // The receiver is gone if the run was given up.
            let _ = sender.send(work());
        });
        let sent = self.pieces.as_ref().map(|pieces| pieces.send(Piece::Pending(made)));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(io::Error::other("the trace is closed")),
        }
    }

    /// Begins a file, compressed if its name ends in `.zst`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let is_packed = path.extension().is_some_and(|it| it == "zst");
        let (pieces, waiting) = sync_channel::<Piece>(WAITING);
        let writer = thread::spawn(move || {
            if is_packed {
                pack(waiting.into_iter(), file)
            } else {
                copy(waiting.into_iter(), file)
            }
        });
        Ok(Self { pieces: Some(pieces), writer: Some(writer) })
    }

    /// Waits until all has been written.
    pub fn finish(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        drop(self.pieces.take());
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the trace could not be written")))
    }
}

/// A run that is given up keeps its records.
impl Drop for TraceWriter {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl Write for TraceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.pieces.as_ref().map(|pieces| pieces.send(Piece::Bytes(bytes.to_vec())));
        if let Some(Ok(())) = sent {
            return Ok(bytes.len());
        }
        // The other thread has given up, and says why.
        self.close()?;
        Err(io::Error::other("the trace is closed"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn copy(pieces: impl Iterator<Item = Piece>, mut file: File) -> io::Result<()> {
    for piece in pieces {
        file.write_all(&piece.bytes()?)?;
    }
    file.flush()
}

fn pack(pieces: impl Iterator<Item = Piece>, mut file: File) -> io::Result<()> {
    let (mut frame, mut under_way) = (Vec::new(), VecDeque::new());
    for piece in pieces {
        frame.extend_from_slice(&piece.bytes()?);
        if frame.len() >= FRAME {
            under_way.push_back(packed(mem::take(&mut frame)));
        }
        if under_way.len() > WAITING
            && let Some(first) = under_way.pop_front()
        {
            file.write_all(&first.bytes()?)?;
        }
    }
    if !frame.is_empty() {
        under_way.push_back(packed(frame));
    }
    for frame in under_way {
        file.write_all(&frame.bytes()?)?;
    }
    file.flush()
}

/// A frame, packed on any core.
fn packed(frame: Vec<u8>) -> Piece {
    let (sender, packed) = sync_channel(1);
    rayon::spawn(move || {
        // The receiver is gone if the run was given up.
        let _ = sender.send(compress_to_vec(&frame[..], CompressionLevel::Fastest));
    });
    Piece::Pending(packed)
}

/// Where a run is kept.
#[derive(Debug)]
pub enum Keep<'a> {
    /// Nowhere.
    Nowhere,
    /// In a file, compressed if its name ends in `.zst`.
    File(&'a Path),
    /// Here.
    Here(&'a mut Option<Recording>),
}

impl<'a> From<Option<&'a Path>> for Keep<'a> {
    fn from(path: Option<&'a Path>) -> Self {
        path.map_or(Self::Nowhere, Self::File)
    }
}

/// The destination of a run, opened before it starts, so that a file that cannot be written is
/// reported at once.
#[derive(Debug)]
pub(crate) enum Tape<'a> {
    Nowhere,
    File(&'a Path, TraceWriter),
    Here(&'a mut Option<Recording>),
}

impl<'a> Tape<'a> {
    pub(crate) fn create(keep: Keep<'a>) -> Result<Self, Failure> {
        Ok(match keep {
            Keep::Nowhere => Self::Nowhere,
            Keep::File(path) => {
                let outlet = TraceWriter::create(path).map_err(|error| Failure::at(path, error))?;
                Self::File(path, outlet)
            }
            Keep::Here(recording) => Self::Here(recording),
        })
    }

    /// Takes a whole run.
    pub(crate) fn save<P: Protocol>(
        self,
        header: Header,
        records: &[Record<P>],
        wrong: Option<Wrong>,
    ) -> Result<(), Failure> {
        match self {
            Self::Nowhere => Ok(()),
            Self::File(path, outlet) => {
                let written = Writer::new(outlet, &header).and_then(|mut writer| {
                    records.iter().try_for_each(|record| writer.write(record))?;
                    writer.finish(wrong, None)?.finish()
                });
                written.map_err(|error| Failure::at(path, error))
            }
            Self::Here(recording) => {
                let lines: Vec<Line> = records.iter().map(Into::into).collect();
                let end = End { records: lines.len() as u64, wrong, repeats_from: None };
                *recording = Some(Recording { header, lines, ending: Ending::Whole(end) });
                Ok(())
            }
        }
    }
}

/// A recorded run of any algorithm.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The header of the run.
    pub header: Header,
    /// All that happened.
    pub lines: Vec<Line>,
    /// The same, as it is written to a file.
    pub text: Vec<u8>,
    /// The error.
    pub wrong: Option<Wrong>,
    /// From which record on it repeats for ever.
    pub repeats_from: Option<u64>,
}

impl Recorded {
    /// Writes it to a file, compressed if its name ends in `.zst`.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let Self { header, lines, text, wrong, repeats_from } = self;
        let written = TraceWriter::create(path).and_then(|outlet| {
            let mut writer = Writer::new(outlet, header)?;
            writer.write_lines(text, lines.len() as u64)?;
            writer.finish(wrong.clone(), *repeats_from)?.finish()
        });
        written.map_err(|error| Failure::at(path, error))
    }
}

impl From<Recorded> for Recording {
    fn from(recorded: Recorded) -> Self {
        let Recorded { header, lines, wrong, repeats_from, .. } = recorded;
        let records = lines.len() as u64;
        let ending = Ending::Whole(End { records, wrong, repeats_from });
        Self { header, lines, ending }
    }
}

/// Reads a trace, compressed or not, with any file name.
pub fn read(path: &Path) -> Result<Recording, Failure> {
    let file = File::open(path).map_err(|error| Failure::at(path, error))?;
    let mut file = BufReader::new(file);
    let is_packed = file.fill_buf().is_ok_and(|begin| begin.starts_with(&MAGIC));
    let read = if is_packed {
        Recording::read(BufReader::new(Unpacked { file, frame: None }))
    } else {
        Recording::read(file)
    };
    read.map_err(|error| match error {
        ReadError::Io(error) => Failure::at(path, error),
        ReadError::Empty
        | ReadError::Foreign
        | ReadError::Format { .. }
        | ReadError::Line { .. }
        | ReadError::AfterEnd { .. } => Failure::at(path, error),
    })
}

/// The content of all frames of a file. A truncated frame ends the file.
struct Unpacked {
    file: BufReader<File>,
    frame: Option<(Vec<u8>, usize)>,
}

impl Unpacked {
    /// The next frame, as far as it goes; none if there are no more.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut decoder = match StreamingDecoder::new(&mut self.file) {
            Ok(decoder) => decoder,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(
                _,
            ))) => return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is damaged")),
            Err(_) => return Ok(None),
        };
        let mut frame = Vec::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match decoder.read(&mut piece) {
                Ok(0) => return Ok(Some(frame)),
                Ok(count) => frame.extend_from_slice(&piece[..count]),
                Err(_) => return Ok(Some(frame).filter(|frame| !frame.is_empty())),
            }
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((frame, done)) = &mut self.frame
                && *done < frame.len()
            {
                let count = into.len().min(frame.len() - *done);
                into[..count].copy_from_slice(&frame[*done..*done + count]);
                *done += count;
                return Ok(count);
            }
            match self.next()? {
                Some(frame) => self.frame = Some((frame, 0)),
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vorrang_protocol::NodeId;
    use vorrang_testkit::Folder;
    use vorrang_trace::What;

    use super::*;

    fn sample(records: u64) -> Recorded {
        let text = |at| format!("[{at},1,\"crash\"]\n");
        let line = |at_ns| Line { at_ns, node: NodeId(1), what: What::Crash };
        Recorded {
            header: Header::new("toy", 2),
            lines: (0..records).map(line).collect(),
            text: (0..records).map(text).collect::<String>().into_bytes(),
            wrong: None,
            repeats_from: None,
        }
    }

    #[test]
    fn a_trace_is_read_back_packed_or_not() {
        let folder = Folder::new("tracefile");
        for name in ["plain.jsonl", "packed.jsonl.zst"] {
            let path = folder.file(name);
            let all = sample(40_000);
            all.save(&path).unwrap();
            let read = read(&path).unwrap();
            assert!(read.is_whole(), "{name}");
            assert!(read == all.into(), "{name}");
            let bytes = fs::metadata(&path).unwrap().len();
            assert_eq!(bytes < 400_000, name.ends_with("zst"), "{bytes}");
        }
    }

    #[test]
    fn a_packed_trace_that_is_cut_off_is_read_as_far_as_it_goes() {
        let folder = Folder::new("tracefile");
        let path = folder.file("cut.zst");
        sample(40_000).save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() * 2 / 3]).unwrap();
        let read = read(&path).unwrap();
        let Ending::CutOff(records) = read.ending else { panic!("it is not whole") };
        assert!((10_000..40_000).contains(&records), "{records}");
        assert_eq!(read.lines.len() as u64, records);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said_so() {
        let error = sample(1).save(Path::new("nowhere/at/all")).unwrap_err();
        assert!(matches!(error, Failure::World(_)), "{error}");
    }
}
