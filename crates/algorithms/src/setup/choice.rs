//! Parameters whose values are a few names.

/// Which of several waiting nodes gets the token, where an algorithm leaves that open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Arbitration {
    /// The first to the right of the current holder.
    #[default]
    RoundRobin,
    /// The one that has asked least often; of several the first to the right.
    LeastServed,
    /// The nearest on the ring of all numbers; of two the one to the right.
    Nearest,
}

impl Arbitration {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::RoundRobin, Self::LeastServed, Self::Nearest];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastServed => "least-served",
            Self::Nearest => "nearest",
        }
    }
}

/// How two nodes that want each other for a parent are told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Contention {
    /// Each waits for a short or a long time, as a coin falls, and asks again.
    #[default]
    Wait,
    /// The higher one is the parent.
    Id,
    /// As with a coin, with the times of IEEE 1394-1995, whatever messages take.
    Firewire,
    /// The same with those of IEEE 1394a-2000, for longer cables.
    FirewireA,
}

impl Contention {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::Wait, Self::Id, Self::Firewire, Self::FirewireA];

    /// The shortest and the longest short wait, and the same of a long one, in nanoseconds, where
    /// a standard says them.
    pub const fn times_ns(self) -> Option<[(u64, u64); 2]> {
        match self {
            Self::Wait | Self::Id => None,
            Self::Firewire => Some([(240, 260), (570, 600)]),
            Self::FirewireA => Some([(760, 850), (1590, 1670)]),
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Id => "id",
            Self::Firewire => "firewire",
            Self::FirewireA => "firewire-a",
        }
    }
}

/// When a node is told that the one which it has asked is its parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Acknowledge {
    /// When the root is known, and who it is.
    #[default]
    WithRoot,
    /// As soon as the parent asks on its last link itself; the root is told of later.
    AtOnce,
}

impl Acknowledge {
    /// All that there are.
    pub const ALL: [Self; 2] = [Self::WithRoot, Self::AtOnce];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WithRoot => "with-root",
            Self::AtOnce => "at-once",
        }
    }
}

/// What becomes of the values that a wave gathers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Aggregate {
    /// They are added up.
    #[default]
    Sum,
    /// The largest is found.
    Max,
    /// The smallest is found.
    Min,
    /// They are counted.
    Count,
    /// All are kept, each with its node.
    Collect,
}

impl Aggregate {
    /// All that there are.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Max, Self::Min, Self::Count, Self::Collect];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "max",
            Self::Min => "min",
            Self::Count => "count",
            Self::Collect => "collect",
        }
    }
}

/// The failure detector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Detector {
    /// Heartbeats that come or do not.
    #[default]
    Heartbeats,
    /// Commands.
    Told,
}

impl Detector {
    /// All that there are.
    pub const ALL: [Self; 2] = [Self::Heartbeats, Self::Told];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeats => "heartbeats",
            Self::Told => "told",
        }
    }
}

/// Whether distances are known or measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Distances {
    /// Measured.
    #[default]
    Measured,
    /// Known from the beginning: as if they had been measured before.
    Known,
}

impl Distances {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Measured, Self::Known];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Known => "known",
        }
    }
}

/// In which [order](crate::multicast::ordering) messages are delivered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Ordering {
    /// Those of one sender as it sent them.
    #[default]
    Fifo,
    /// Besides, none before its causes.
    Causal,
    /// The same at all members, as one of them says.
    Sequencer,
    /// The same at all members, as the holder of the token says.
    Token,
    /// The same at all members, by their stamps.
    Lamport,
    /// The same at all members, by the highest of their proposals.
    Skeen,
}

impl Ordering {
    /// All that there are.
    pub const ALL: [Self; 6] =
        [Self::Fifo, Self::Causal, Self::Sequencer, Self::Token, Self::Lamport, Self::Skeen];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Causal => "causal",
            Self::Sequencer => "sequencer",
            Self::Token => "token",
            Self::Lamport => "lamport",
            Self::Skeen => "skeen",
        }
    }

    /// Whether nothing is delivered before what its sender had delivered.
    pub const fn is_causal(self) -> bool {
        !matches!(self, Self::Fifo)
    }

    /// Whether all members deliver in one order.
    pub const fn is_total(self) -> bool {
        matches!(self, Self::Sequencer | Self::Token | Self::Lamport | Self::Skeen)
    }
}

/// How a loss of the last message is found out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Tail {
    /// A sender says how far it has come until it knows that all have everything.
    #[default]
    Heartbeat,
    /// It says so three times.
    Stop,
    /// It is not.
    None,
}

impl Tail {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::Heartbeat, Self::Stop, Self::None];
    /// How often a stop signal is sent.
    pub const STOPS: u8 = 3;

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Stop => "stop",
            Self::None => "none",
        }
    }

    /// Whether there is another word after so many.
    pub(crate) const fn goes_on_after(self, beats: u8) -> bool {
        match self {
            Self::Heartbeat => true,
            Self::Stop => beats < Self::STOPS,
            Self::None => false,
        }
    }
}
