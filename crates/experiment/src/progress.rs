//! Progress reports.

/// Told how much of the work is done; it may be called from any thread.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);
