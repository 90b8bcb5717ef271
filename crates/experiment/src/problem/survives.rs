//! What algorithms claim to survive.

/// The faults that an algorithm claims to survive, all at once, by itself, over reliable channels
/// or on views: it stays safe, and whoever is up is served once all is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each can be claimed by itself")]
pub struct Survives {
    /// Messages that are lost, arrive twice and are overtaken, for a while.
    pub messages: bool,
    /// Messages and nodes that are late: slow links, pauses.
    pub delays: bool,
    /// Networks that fall apart, and are whole again.
    pub partitions: bool,
    /// How many nodes may be down at a time.
    pub down: u32,
    /// Whether those that have crashed must come up again.
    pub all_return: bool,
}

impl Survives {
    /// Nothing at all.
    pub const NOTHING: Self =
        Self { messages: false, delays: false, partitions: false, down: 0, all_return: false };

    /// Whatever happens to links.
    pub const LINKS: Self =
        Self { messages: true, delays: true, partitions: true, ..Self::NOTHING };

    /// Crashes of so many nodes at a time, which may come up again, where all else is as assumed.
    pub const fn crashes(down: u32) -> Self {
        Self { down, ..Self::NOTHING }
    }

    /// Anything, as long as a majority of so many nodes is up.
    pub const fn majority(nodes: u32) -> Self {
        Self { down: minority(nodes), ..Self::LINKS }
    }
}

/// Fewer than half of so many.
pub const fn minority(nodes: u32) -> u32 {
    nodes.saturating_sub(1) / 2
}
