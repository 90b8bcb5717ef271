//! The records of a run into a file, while it goes on.

use std::io::Write as _;
use std::mem;
use std::path::Path;

use vorrang_algorithms::problem::Problem;
use vorrang_catalogue::NodeOf;
use vorrang_trace::{End, Header, Lines, Record, Wrong};

use crate::failure::Failure;
use crate::tracefile::TraceWriter;

/// Writes records as they come; a full disk is reported at the end.
///
/// Records are formatted on another core: a simulation is faster than its text.
pub(super) struct ToFile<Q: Problem> {
    outlet: TraceWriter,
    /// Those that were not handed on yet.
    batch: Vec<Record<NodeOf<Q>>>,
    records: u64,
    failed: Option<std::io::Error>,
}

/// So many records are handed on at once: few enough that the memory of one is at hand for another.
const BATCH: usize = 512;

impl<Q: Problem> ToFile<Q> {
    pub(super) fn new(path: &Path, header: &Header) -> Result<Self, Failure> {
        let outlet = TraceWriter::create(path).and_then(|mut outlet| {
            outlet.write_all(&header.line())?;
            Ok(outlet)
        });
        let outlet = outlet.map_err(|error| Failure::at(path, error))?;
        Ok(Self { outlet, batch: Vec::new(), records: 0, failed: None })
    }

    pub(super) fn write(&mut self, record: Record<NodeOf<Q>>) {
        self.batch.push(record);
        self.records += 1;
        if self.batch.len() == BATCH {
            let batch = mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            self.hand_on(batch);
        }
    }

    fn hand_on(&mut self, batch: Vec<Record<NodeOf<Q>>>) {
        if self.failed.is_some() {
            return;
        }
        let made = self.outlet.make(move || Lines::of(&batch));
        self.failed = made.err();
    }

    /// Hands on the rest, at the end.
    pub(super) fn end(&mut self) {
        let batch = mem::take(&mut self.batch);
        self.hand_on(batch);
    }

    pub(super) fn finish(self, path: &Path, wrong: Option<Wrong>) -> Result<(), Failure> {
        let Self { mut outlet, records, failed, .. } = self;
        let end = End { records, wrong, repeats_from: None };
        // The error of the writing thread is the cause.
        let written = failed.map_or_else(|| outlet.write_all(&end.line()), Err);
        outlet.finish().and(written).map_err(|error| Failure::at(path, error))
    }
}
