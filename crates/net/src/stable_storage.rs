//! Stable storage: a directory with what a node must not forget when its process ends.
//!
//! | file | has |
//! | --- | --- |
//! | `state` | the newest record: whose it is, its life and [start], what its machine [stores] |
//! | `state.new` | the next one, while it is written |
//! | `lock` | nothing; whoever has locked it uses the directory |
//!
//! A record is `VORRANG`, the version of the format, its length and a checksum (CRC-32), and the
//! record itself. It is written to another file, which is synchronised with the disk and takes the
//! place of the former one, and the directory is synchronised as well: so there is a whole record
//! at any time, and it is the newest one when [`StableStorage::save`] returns. After an error it is
//! not known what is on the disk, so the node ends.
//!
//! [start]: DirectoryStart
//! [stores]: vorrang_protocol::Protocol::store

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use vorrang_erased::AnyNode;
use vorrang_protocol::{NodeId, Protocol, Refused};

use crate::config::Generation;
use crate::directory::DirectoryStart;

const MAGIC: &[u8; 7] = b"VORRANG";
/// The version of the format.
const VERSION: u8 = 2;
/// In front of a record: magic, version, length, checksum.
const HEADER_LEN: usize = MAGIC.len() + 1 + 8 + 4;

/// Whose a directory is: all of it must be the same at every start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// The group's name.
    pub group: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// How many nodes found the group, and vote.
    pub founders: u32,
    /// The node.
    pub id: NodeId,
}

/// The newest record of a directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Record {
    owner: Owner,
    /// The life of the process that wrote it.
    generation: u64,
    /// Which start in this directory that was.
    start: DirectoryStart,
    /// What its machine has stored, once it has begun.
    machine: Option<Vec<u8>>,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system does not let us.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A write has failed before, so it is not known what is on the disk.
    #[error("{0} cannot be used any more since a write has failed")]
    Broken(String),
    /// Another process uses it.
    #[error("{0} is used by another process that runs")]
    InUse(String),
    /// What is there is not what was written.
    #[error(
        "{path} is damaged ({why}), so what this node has promised is not known: if a majority of \
         the voters is well, remove the directory, and it begins as one that was never in the \
         group, without a vote"
    )]
    Damaged {
        /// The file.
        path: String,
        /// How that is known.
        why: &'static str,
    },
    /// No machine has stored anything there.
    #[error("there is nothing in {0} to recover: no node that belonged to a group has used it")]
    Empty(String),
    /// Another machine has stored what is there.
    #[error("what is in {0} was not stored by such a node, or by another version of this program")]
    Unreadable(String),
    /// There is nothing to recover.
    #[error("{path}: {refused}")]
    Refused {
        /// The directory.
        path: String,
        /// Why.
        refused: Refused,
    },
    /// It belongs to another node, or to one that was set up differently.
    #[error("{path} belongs to {what} {there}, and this node has {what} {here}")]
    Foreign {
        /// The directory.
        path: String,
        /// What differs.
        what: &'static str,
        /// What the directory has.
        there: String,
        /// What this node has.
        here: String,
    },
}

/// A directory that is a node's stable storage; no other process uses it meanwhile.
#[derive(Debug)]
pub struct StableStorage {
    directory: PathBuf,
    record: Record,
    /// Locked as long as it is open.
    _lock: File,
    /// What is written, in room that is used again.
    bytes: Vec<u8>,
    /// Whether a write has failed.
    is_broken: bool,
}

impl StableStorage {
    /// Opens a directory, which is made if there is none, in the name of this node, and begins its
    /// next life there: larger than all before, and no smaller than the clock says.
    ///
    /// With `keeps_id` the directory must be that of this very node. Without, it may be that of
    /// another one that has joined the same group: then that one's state is dropped, and only its
    /// life is counted on.
    ///
    /// # Errors
    ///
    /// If it cannot be written, another process uses it, its file is damaged, or it belongs to
    /// another node.
    pub fn open(path: &Path, owner: Owner, keeps_id: bool) -> Result<Self, StorageError> {
        fs::create_dir_all(path).map_err(at("make the directory", path))?;
        let lock = path.join("lock");
        let lock_file = File::create(&lock).map_err(at("write", &lock))?;
        if !try_lock(&lock_file).map_err(at("lock", &lock))? {
            return Err(StorageError::InUse(path.display().to_string()));
        }
        let (mut generation, mut machine) = (Generation::now().number(), None);
        let mut last = None;
        if let Some(former) = read(&path.join("state"))? {
            if let Some((what, there, here)) = difference(&former.owner, &owner, keeps_id) {
                let path = path.display().to_string();
                return Err(StorageError::Foreign { path, what, there, here });
            }
            generation = generation.max(former.generation + 1);
            if former.owner.id == owner.id {
                (machine, last) = (former.machine, Some(former.start));
            }
        }
        let record = Record { owner, generation, start: DirectoryStart::after(last), machine };
        let (directory, bytes) = (path.to_owned(), Vec::new());
        let mut storage = Self { directory, record, _lock: lock_file, bytes, is_broken: false };
        storage.write()?;
        Ok(storage)
    }

    /// Opens the directory of whoever has used it last, to look at what is stored there or to
    /// [recover](Self::recover) it. Nothing is begun there: what is opened next in its name finds
    /// it as if nobody had looked.
    ///
    /// # Errors
    ///
    /// If there is nothing, another process uses it, or its file is damaged.
    pub fn reopen(path: &Path) -> Result<Self, StorageError> {
        let empty = || StorageError::Empty(path.display().to_string());
        let lock = path.join("lock");
        // Who looks into the wrong place leaves nothing there.
        let lock_file = match File::options().write(true).open(&lock) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(empty()),
            Err(error) => return Err(at("open", &lock)(error)),
        };
        if !try_lock(&lock_file).map_err(at("lock", &lock))? {
            return Err(StorageError::InUse(path.display().to_string()));
        }
        let record = read(&path.join("state"))?.ok_or_else(empty)?;
        let (directory, bytes) = (path.to_owned(), Vec::new());
        Ok(Self { directory, record, _lock: lock_file, bytes, is_broken: false })
    }

    /// Whose the directory is.
    pub const fn owner(&self) -> &Owner {
        &self.record.owner
    }

    /// The life of this process.
    pub const fn generation(&self) -> Generation {
        Generation::stored(self.record.generation)
    }

    /// Which start in this directory this is.
    pub(crate) const fn start(&self) -> DirectoryStart {
        self.record.start
    }

    /// What the machine stored before this process began, or since.
    pub fn machine(&self) -> Option<&[u8]> {
        self.record.machine.as_deref()
    }

    /// Writes what the machine has to store by now, if that has changed. True if it has.
    ///
    /// # Errors
    ///
    /// If it cannot be written: then it is not known which of the two is on the disk.
    pub fn save(&mut self, machine: &[u8]) -> Result<bool, StorageError> {
        if self.is_broken {
            return Err(StorageError::Broken(self.directory.display().to_string()));
        }
        if self.machine() == Some(machine) {
            return Ok(false);
        }
        let kept = self.record.machine.get_or_insert_default();
        kept.clear();
        kept.extend_from_slice(machine);
        // After an error the system may believe that all is written: it is not tried again.
        self.is_broken = true;
        self.write()?;
        self.is_broken = false;
        Ok(true)
    }

    /// Lets the machine that was stored here change before it is started again, as a forced
    /// recovery does. `blank` is one that has never been in a group: it is given what is stored,
    /// and what `change` makes of it is stored instead. Says what `change` does.
    ///
    /// # Errors
    ///
    /// If no such machine was stored, the change is refused, or the outcome cannot be written. The
    /// directory is as it was then, except where it could not be written: that is not known.
    pub fn recover<P: Protocol, T>(
        &mut self,
        blank: P,
        change: impl FnOnce(P) -> Result<(P, T), Refused>,
    ) -> Result<T, StorageError> {
        let node = self.restored(blank)?;
        let path = self.directory.display().to_string();
        let refused = |refused| StorageError::Refused { path, refused };
        let (node, done) = change(node).map_err(refused)?;
        let mut bytes = Vec::new();
        AnyNode::new(node).stored(&mut bytes);
        self.save(&bytes)?;
        Ok(done)
    }

    /// The machine that was stored here: what `blank`, which has never been in a group, becomes
    /// with it.
    ///
    /// # Errors
    ///
    /// If no such machine was stored.
    pub fn restored<P: Protocol>(&self, blank: P) -> Result<P, StorageError> {
        let path = || self.directory.display().to_string();
        let stored = self.machine().ok_or_else(|| StorageError::Empty(path()))?;
        let node = AnyNode::new(blank).restored(stored);
        let node = node.as_ref().and_then(AnyNode::downcast_ref::<P>).cloned();
        node.ok_or_else(|| StorageError::Unreadable(path()))
    }

    fn write(&mut self) -> Result<(), StorageError> {
        let Self { directory, record, bytes, .. } = self;
        let (next, state) = (directory.join("state.new"), directory.join("state"));
        let body = postcard::to_allocvec(record).expect("plain data can be encoded");
        bytes.clear();
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&checksum(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        let mut file = File::create(&next).map_err(at("write", &next))?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at("write", &next))?;
        drop(file);
        fs::rename(&next, &state).map_err(at("write", &state))?;
        synchronise(directory).map_err(at("synchronise", directory))
    }
}

fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
    let path = path.display().to_string();
    move |source| StorageError::Io { what, path, source }
}

/// What differs between the owner of a directory and the one who wants to use it.
fn difference(
    there: &Owner,
    here: &Owner,
    keeps_id: bool,
) -> Option<(&'static str, String, String)> {
    let quoted = |text: &str| format!("'{text}'");
    if there.group != here.group {
        return Some(("the group", quoted(&there.group), quoted(&here.group)));
    }
    if there.algorithm != here.algorithm {
        return Some(("the algorithm", quoted(&there.algorithm), quoted(&here.algorithm)));
    }
    if there.setup != here.setup {
        return Some(("the set-up", quoted(&there.setup), quoted(&here.setup)));
    }
    if there.founders != here.founders {
        let count = |owner: &Owner| owner.founders.to_string();
        return Some(("a number of founders of", count(there), count(here)));
    }
    let is_other = keeps_id && there.id != here.id;
    is_other.then(|| ("the id", there.id.to_string(), here.id.to_string()))
}

/// The record in a file, if there is a file.
fn read(path: &Path) -> Result<Option<Record>, StorageError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at("read", path)(error)),
    };
    let damaged = |why| StorageError::Damaged { path: path.display().to_string(), why };
    parse(&bytes).map(Some).map_err(damaged)
}

fn parse(bytes: &[u8]) -> Result<Record, &'static str> {
    let (header, body) = bytes.split_at_checked(HEADER_LEN).ok_or("it is too short")?;
    let (magic, header) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err("it does not begin as such a file does");
    }
    let (version, header) = header.split_at(1);
    if version != [VERSION] {
        return Err("it is of another version of this program");
    }
    let (length, sum) = header.split_at(8);
    if length != (body.len() as u64).to_le_bytes() {
        return Err("its length is wrong");
    }
    if sum != checksum(body).to_le_bytes() {
        return Err("its checksum is wrong");
    }
    postcard::from_bytes(body).map_err(|_| "it cannot be read")
}

/// CRC-32 as in IEEE 802.3, bit by bit: records are short, and written seldom.
fn checksum(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 }
        })
    })
}

/// Locks a file until it is closed; false if another process has.
#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};

    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A rename is on the disk when its directory is.
#[cfg(unix)]
fn synchronise(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere a directory cannot be locked by these means.
#[cfg(not(unix))]
const fn try_lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// Elsewhere a directory cannot be synchronised.
#[cfg(not(unix))]
const fn synchronise(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        let (group, algorithm) = ("g".to_owned(), "raymond".to_owned());
        Owner { group, algorithm, setup: "--data".to_owned(), founders: 3, id: NodeId(1) }
    }

    /// An empty directory for a test of this name.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vorrang-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn what_was_saved_is_there_in_the_next_life_which_is_larger_whatever_the_clock_says() {
        let path = directory("saved");
        let mut storage = StableStorage::open(&path, owner(), true).unwrap();
        let (first, begun) = (storage.generation(), storage.start());
        assert_eq!((storage.machine(), begun.count), (None, 1));
        assert!(storage.save(b"one").unwrap() && storage.save(b"two").unwrap());
        assert!(!storage.save(b"two").unwrap(), "nothing has changed");
        // The clock was a year ahead.
        storage.record.generation += 31_536_000_000_000;
        let ahead = storage.generation();
        storage.save(b"three").unwrap();
        drop(storage);
        let again = StableStorage::open(&path, owner(), true).unwrap();
        assert_eq!(again.machine(), Some(&b"three"[..]));
        assert_eq!((again.start().directory, again.start().count), (begun.directory, 2));
        assert_ne!(again.start().nonce, begun.nonce);
        assert!(again.generation() > ahead && ahead > first);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_directory_is_used_by_one_process_and_one_node() {
        let path = directory("owned");
        let storage = StableStorage::open(&path, owner(), true).unwrap();
        let twice = StableStorage::open(&path, owner(), true).unwrap_err();
        assert!(matches!(twice, StorageError::InUse(_)), "{twice}");
        drop(storage);
        let refused = |owner: Owner| StableStorage::open(&path, owner, true).unwrap_err();
        for (other, words) in [
            (Owner { group: "h".to_owned(), ..owner() }, "belongs to the group 'g', and this node"),
            (Owner { algorithm: "x".to_owned(), ..owner() }, "the algorithm 'raymond'"),
            (Owner { setup: String::new(), ..owner() }, "the set-up '--data'"),
            (Owner { founders: 5, ..owner() }, "a number of founders of 3"),
            (Owner { id: NodeId(2), ..owner() }, "the id 1, and this node has the id 2"),
        ] {
            let why = refused(other).to_string();
            assert!(why.contains(words), "{why}");
        }
        let mut storage = StableStorage::open(&path, owner(), true).unwrap();
        storage.save(b"of node 1").unwrap();
        let life = storage.generation();
        drop(storage);
        let other = Owner { id: NodeId(2), ..owner() };
        let storage = StableStorage::open(&path, other, false).unwrap();
        assert_eq!(storage.machine(), None, "that was another one's");
        assert_eq!(storage.start().count, 1, "another node's is another directory");
        assert!(storage.generation() > life);
        drop(storage);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn no_byte_can_be_changed_or_left_out_without_notice() {
        let path = directory("damaged");
        let mut storage = StableStorage::open(&path, owner(), true).unwrap();
        storage.save(b"promises").unwrap();
        let whole = fs::read(path.join("state")).unwrap();
        drop(storage);
        parse(&whole).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            assert!(parse(&bytes).is_err(), "byte {place}");
            assert!(parse(&whole[..place]).is_err(), "the first {place}");
        }
        fs::write(path.join("state"), &whole[..whole.len() - 1]).unwrap();
        let why = StableStorage::open(&path, owner(), true).unwrap_err().to_string();
        assert!(why.contains("state is damaged (its length is wrong)"), "{why}");
        // A process that ends while it writes leaves the former record.
        fs::write(path.join("state"), &whole).unwrap();
        fs::write(path.join("state.new"), &whole[..3]).unwrap();
        let storage = StableStorage::open(&path, owner(), true).unwrap();
        assert_eq!(storage.machine(), Some(&b"promises"[..]));
        drop(storage);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let path = directory("gone");
        let mut storage = StableStorage::open(&path, owner(), true).unwrap();
        fs::remove_dir_all(&path).unwrap();
        let why = storage.save(b"lost").unwrap_err().to_string();
        assert!(why.contains("cannot write") && why.contains("state.new"), "{why}");
        fs::create_dir_all(&path).unwrap();
        let again = storage.save(b"lost").unwrap_err();
        assert!(matches!(again, StorageError::Broken(_)), "{again}");
        fs::remove_dir_all(&path).unwrap();
    }
}
