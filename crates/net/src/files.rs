//! How many files a process may have open: every connection is one.

use std::io;

/// Files that a process has open besides its connections, and some to spare.
const OTHERS: u64 = 64;

/// Sees to it that this process may have so many connections and listeners open at once, by raising
/// its own limit as far as the system lets it.
///
/// Without that a group of many nodes in one process would wait for ever for connections that the
/// system does not give it.
///
/// # Errors
///
/// If the system does not let it; the error says how many files were wanted and how many there are.
pub fn reserve_files(connections: u64) -> io::Result<()> {
    let needed = connections.saturating_add(OTHERS);
    match raise(needed) {
        Some(most) if most < needed => Err(io::Error::other(format!(
            "{needed} files must be open at once, and this process may have {most}: \
             raise its limit, as with 'ulimit -n {needed}'"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Raises the limit if it is lower, as far as that goes; says what it is then, unless there is
/// none.
#[cfg(unix)]
fn raise(needed: u64) -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let current = limit.current?;
    let wanted = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    if wanted <= current {
        return Some(current);
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    Some(if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { current })
}

/// Elsewhere there is no such limit that could be asked for.
#[cfg(not(unix))]
const fn raise(_: u64) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_there_is_enough_and_what_can_never_be_is_named() {
        reserve_files(1).unwrap();
        let unlimited = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        if unlimited.is_some() {
            let error = reserve_files(u64::MAX / 2).unwrap_err().to_string();
            assert!(error.contains("files must be open at once"), "{error}");
        }
    }
}
