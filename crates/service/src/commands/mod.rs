//! The commands, one a file: what each is told, and what it does.

pub(crate) mod elect;
pub(crate) mod fence;
pub(crate) mod keys;
pub(crate) mod lock;
pub(crate) mod locks;
pub(crate) mod members;
pub(crate) mod recover;
pub(crate) mod semaphore;
pub(crate) mod serve;
