//! Who had the lock last, in a file that all of its clients share: read and written under the lock.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Outcome;

/// A moment on the clock that all processes of a machine share, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        Self(now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned())
    }
}

/// The file, if there is one.
#[derive(Debug)]
pub(crate) struct Last {
    file: Option<File>,
    me: u64,
}

/// Who had the lock before, and when it began to give it back.
type Entry = [u8; 16];

impl Last {
    pub(crate) fn open(path: Option<&Path>) -> Outcome<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = path.map(|path| options.open(path)).transpose()?;
        Ok(Self { file, me: u64::from(std::process::id()) })
    }

    /// When another began to give back what was now granted here; none if this was the last one.
    fn other(&self) -> std::io::Result<Option<Moment>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut entry: Entry = [0; 16];
        // The first one of all finds nothing.
        if file.read_at(&mut entry, 0)? < entry.len() {
            return Ok(None);
        }
        let (who, when) = entry.split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight of them"));
        Ok((number(who) != self.me).then(|| Moment(number(when))))
    }

    /// It is about to be given back.
    pub(crate) fn gives_back(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut entry: Entry = [0; 16];
        entry[..8].copy_from_slice(&self.me.to_le_bytes());
        entry[8..].copy_from_slice(&Moment::now().0.to_le_bytes());
        file.write_all_at(&entry, 0)
    }
}

/// What is counted in a turn.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    grants: u64,
    handovers: u64,
    /// How long hand-overs took to those who waited, in nanoseconds.
    times: Vec<u64>,
}

impl Tally {
    /// It was granted, to one who asked then.
    pub(crate) fn granted(&mut self, last: &Last, asked: Moment) -> std::io::Result<bool> {
        self.grants += 1;
        let Some(given_back) = last.other()? else { return Ok(false) };
        self.handovers += 1;
        if asked < given_back {
            self.times.push(Moment::now().0 - given_back.0);
        }
        Ok(true)
    }

    /// As the answer to `turn` has them.
    pub(crate) fn figures(&mut self, time: Duration) -> String {
        self.times.sort_unstable();
        let median = self.times.get(self.times.len() / 2).copied().unwrap_or_default();
        let (grants, handovers) = (self.grants, self.handovers);
        format!("{grants} {} {handovers} {median}", time.as_nanos())
    }
}
