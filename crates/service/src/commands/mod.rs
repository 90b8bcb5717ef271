//! The commands, one a file: what each is told, and what it does.
//!
//! [`guarded`] has what those have in common that wait for a hold; [`under_hold`], a command that
//! runs under one; [`without_command`], the same without a command; [`hold`], what the daemon says
//! of a hold.

pub(crate) mod elect;
pub(crate) mod fence;
mod guarded;
mod hold;
mod hold_args;
pub(crate) mod keys;
pub(crate) mod lock;
pub(crate) mod locks;
pub(crate) mod members;
pub(crate) mod recover;
pub(crate) mod semaphore;
pub(crate) mod serve;
mod target;
mod wait_time;
mod watch;

use crate::failure::Failure;

/// Does something that waits for the daemon, on the thread of the caller.
fn run<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|why| Failure::System(format!("the system does not let us wait: {why}")))?;
    Ok(runtime.block_on(work))
}
