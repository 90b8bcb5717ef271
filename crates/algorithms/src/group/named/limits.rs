//! What a group of named locks is told besides its algorithm.

/// What a group of named locks is told besides its algorithm: the same for all its members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// How long clients of one member may have a lock one after the other.
    pub batch: Batch,
    /// After how many names that were begun in a view another view begins, if most are idle.
    pub idle_names: usize,
    /// How many bytes of names may be part of a decision; and of a message.
    pub bytes: usize,
    /// How many names are begun at once.
    pub at_once: usize,
}

impl Limits {
    /// 100,000 idle names, 16 KiB in a decision and 512 names at once.
    pub const USUAL: Self =
        Self { batch: Batch::USUAL, idle_names: 100_000, bytes: 16 << 10, at_once: 512 };
}

/// How long clients of one member may have a lock one after the other, before the member asks
/// again: others may wait, and no machine is told of all that do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Batch {
    /// So many of them.
    pub clients: u32,
    /// For so long from when the second of them has it, if there is a limit.
    pub time: Option<core::time::Duration>,
}

impl Batch {
    /// Up to 16 clients, for up to 100 milliseconds.
    pub const USUAL: Self =
        Self { clients: 16, time: Some(core::time::Duration::from_millis(100)) };
}
