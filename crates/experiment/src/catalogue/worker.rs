//! One node of many, in a process of its own.

use super::catalogue;
use crate::failure::Failure;
use crate::names::unknown;
use crate::network::worker::Work;

/// Runs one node for a parent process, which gives its orders over standard input: what a program
/// does that is started with the one argument `worker`.
///
/// A run with [a process for each node](crate::network::Processes::OneEach) starts the program that
/// asked for it once more for every node, with this argument.
pub fn work() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let work = Work::read().await?;
        let found = catalogue().iter().find(|it| it.algorithm.about().name == work.algorithm());
        let entry = found.ok_or_else(|| {
            let names = catalogue().iter().map(|entry| entry.algorithm.about().name);
            unknown("algorithm", work.algorithm(), names)
        })?;
        entry.algorithm.work(work).await
    })
}
