//! The Unix socket at which the daemon listens: one daemon a path, and what a dead one has left is
//! taken over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, flock};

/// A socket that this process listens at. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    path: PathBuf,
    /// Locked for as long as the daemon lives: a socket that answers nobody may belong to one that
    /// is stopped.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is there to be closed at the end"))]
    lock: File,
}

impl UnixSocket {
    /// Listens there, with these permissions.
    pub(crate) fn bind(path: &Path, mode: u32) -> Result<(Self, UnixListener), String> {
        let cannot = |why: io::Error| format!("cannot listen at {}: {why}", path.display());
        let lock = take(path)?;
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(cannot)?,
            Ok(_) => {
                let path = path.display();
                return Err(format!("cannot listen at {path}: a file is there that is no socket"));
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(cannot(why)),
        }
        // Nobody gets in before the permissions are as they should be.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound.map_err(cannot)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        Ok((Self { path: path.to_owned(), lock }, listener))
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Nobody else has put one there, since the lock is ours. If it cannot be removed, the next
        // daemon does it.
        let _ = fs::remove_file(&self.path);
        // The file of the lock stays: to remove it might take it from one who has just opened it.
    }
}

/// Takes the lock beside a socket, so that no other daemon listens there.
fn take(path: &Path) -> Result<File, String> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let beside = PathBuf::from(beside);
    let cannot = |why: io::Error| format!("cannot lock {}: {why}", beside.display());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // A link that somebody else has put there would be followed.
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    let mut file = options.open(&beside).map_err(cannot)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut owner = String::new();
            // Who it is is told if it can be read.
            let _ = file.read_to_string(&mut owner);
            let owner = owner.trim();
            let who = if owner.is_empty() { String::new() } else { format!(" (process {owner})") };
            return Err(format!(
                "another daemon listens at {}{who}: give this one another --socket",
                path.display()
            ));
        }
        Err(why) => return Err(cannot(why.into())),
    }
    file.set_len(0).map_err(cannot)?;
    writeln!(file, "{}", std::process::id()).map_err(cannot)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vorrang-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        path
    }

    #[test]
    fn a_living_daemon_is_refused_a_dead_one_replaced_and_the_file_removed_at_the_end() {
        let directory = directory("socket");
        let path = directory.join("s");
        let (first, listener) = UnixSocket::bind(&path, 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let why = UnixSocket::bind(&path, 0o600).unwrap_err();
        let who = format!("(process {})", std::process::id());
        assert!(why.contains("another daemon listens at") && why.contains(&who), "{why}");
        // As if it had been killed: the file stays.
        drop(listener);
        flock(&first.lock, FlockOperation::Unlock).unwrap();
        assert!(UnixStream::connect(&path).is_err());
        let (second, listener) = UnixSocket::bind(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        UnixStream::connect(&path).expect("the file is that of the second");
        std::mem::forget(first);
        drop((second, listener));
        assert!(!path.exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let directory = directory("no-socket");
        let path = directory.join("s");
        fs::write(&path, "precious").unwrap();
        let why = UnixSocket::bind(&path, 0o600).unwrap_err();
        assert!(why.contains("no socket"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let why = UnixSocket::bind(&directory.join("nowhere/s"), 0o600).unwrap_err();
        assert!(why.contains("nowhere/s.lock") && why.contains("No such file"), "{why}");
        let why = UnixSocket::bind(&directory.join("x".repeat(200)), 0o600).unwrap_err();
        assert!(why.contains("SUN_LEN"), "{why}");
        fs::remove_dir_all(&directory).unwrap();
    }
}
