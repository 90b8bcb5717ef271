//! The parameters of algorithms besides the group: name, meaning, parsing and printing.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::time::Duration;

use vorrang_protocol::{NodeId, parse_duration_ns, show_duration_ns};

use super::help;
use super::{
    Acknowledge, Aggregate, Arbitration, Contention, Detector, Distances, Ordering, Setup, Tail,
};
use crate::priorities::Priorities;
use crate::topology::ring::Ring;
use crate::values::Values;

/// Messages in flight are kept.
const MOST_WINDOW: u32 = 1 << 20;
/// Finer than any difference that is seen.
const MOST_DRAWS: u32 = 1_000_000;
/// A member that is silent for so long has had its chances.
const MOST_TRIES: u32 = 100;
/// A margin may be doubled ten times.
const MOST_MARGINS: u32 = 1 << 10;
/// So many times as long as at first a margin may become.
pub(super) const USUAL_MARGINS: u32 = 10;
/// After so long without a mistake a doubling is taken back.
pub(super) const USUAL_QUIET: Duration = Duration::from_secs(60);
/// Longer than any way there is.
const MOST_SCOPE: u32 = 1_000_000;
pub(super) const USUAL_DRAWS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1000);

/// More are not useful, and every token is a message in flight.
const MOST_RESOURCES: u32 = 64;

/// Every piece is a message.
const MOST_WORK: u32 = 1_000_000_000;

/// Something that an algorithm may have to be told besides the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Parameter {
    /// How many may be inside together.
    K,
    /// How long a message takes at most.
    Within,
    /// The initial holder of the token.
    Holder,
    /// The communication graph.
    Topology,
    /// How often in a row a node may put its own request first.
    Greedy,
    /// Which of several waiting nodes gets the token.
    Arbitration,
    /// How long a token stays at a node that does not need it.
    Rest,
    /// How many resources there are, all of which an entry needs.
    Resources,
    /// The initiator, where there is only one.
    Initiator,
    /// How urgent the requests of the nodes are.
    Priorities,
    /// The quorum of each node.
    Quorum,
    /// The nodes that each node asks and informs.
    Structure,
    /// The order of nodes on a ring.
    Ring,
    /// How late a timer may run out.
    Late,
    /// How two nodes that want each other for a parent are told apart.
    Contention,
    /// When a child is acknowledged.
    Acknowledge,
    /// How long a node waits for its last neighbour to ask.
    Gather,
    /// How often a node says that it is up.
    Beat,
    /// How late it may be heard before it is suspected.
    Margin,
    /// How many times as long that may become.
    MarginCap,
    /// After what time without a mistake a doubling is taken back.
    MarginHalvesAfter,
    /// How many messages of a sender may be under way.
    Window,
    /// How a loss of the last message is found out.
    Tail,
    /// How many of its messages a sender keeps that does not know its receivers.
    History,
    /// After how many unanswered tries a member is taken for crashed.
    Tries,
    /// In which order messages are delivered.
    Ordering,
    /// How long to wait before asking and before repairing.
    Waits,
    /// Whether it is known how far away others are.
    Distances,
    /// From how many different waits one is drawn.
    Draws,
    /// How far a request goes at first.
    Scope,
    /// How many nodes found the group.
    Founders,
    /// The failure detector.
    Detector,
    /// How many pieces of work a computation has.
    Work,
    /// What becomes of the values that a wave gathers.
    Aggregate,
    /// What each node gives to a wave.
    Values,
}

impl Parameter {
    /// All that there are.
    pub const ALL: [Self; 35] = [
        Self::K,
        Self::Within,
        Self::Holder,
        Self::Topology,
        Self::Greedy,
        Self::Arbitration,
        Self::Rest,
        Self::Resources,
        Self::Initiator,
        Self::Priorities,
        Self::Quorum,
        Self::Structure,
        Self::Ring,
        Self::Late,
        Self::Contention,
        Self::Acknowledge,
        Self::Gather,
        Self::Beat,
        Self::Margin,
        Self::MarginCap,
        Self::MarginHalvesAfter,
        Self::Window,
        Self::Tail,
        Self::History,
        Self::Tries,
        Self::Ordering,
        Self::Waits,
        Self::Distances,
        Self::Draws,
        Self::Scope,
        Self::Founders,
        Self::Detector,
        Self::Work,
        Self::Aggregate,
        Self::Values,
    ];

    /// Its name, without the hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::K => "k",
            Self::Within => "within",
            Self::Holder => "holder",
            Self::Topology => "topology",
            Self::Greedy => "greedy",
            Self::Arbitration => "arbitration",
            Self::Rest => "rest",
            Self::Resources => "resources",
            Self::Initiator => "initiator",
            Self::Priorities => "priorities",
            Self::Quorum => "quorum",
            Self::Structure => "structure",
            Self::Ring => "ring",
            Self::Late => "late",
            Self::Contention => "contention",
            Self::Acknowledge => "acknowledge",
            Self::Gather => "gather",
            Self::Beat => "beat",
            Self::Margin => "margin",
            Self::MarginCap => "margin-cap",
            Self::MarginHalvesAfter => "margin-halves-after",
            Self::Window => "window",
            Self::Tail => "tail",
            Self::History => "history",
            Self::Tries => "tries",
            Self::Ordering => "ordering",
            Self::Waits => "waits",
            Self::Distances => "distances",
            Self::Draws => "draws",
            Self::Scope => "scope",
            Self::Founders => "founders",
            Self::Detector => "detector",
            Self::Work => "work",
            Self::Aggregate => "aggregate",
            Self::Values => "values",
        }
    }

    /// The placeholder of its value in a help text.
    pub const fn value(self) -> &'static str {
        match self {
            Self::K | Self::Resources | Self::Draws | Self::Founders | Self::Work => "NUMBER",
            Self::Within
            | Self::Rest
            | Self::Late
            | Self::Gather
            | Self::Beat
            | Self::Margin
            | Self::MarginHalvesAfter => "TIME",
            Self::Holder | Self::Initiator => "NODE",
            Self::Topology => "SHAPE",
            Self::Greedy | Self::Tries | Self::MarginCap => "TIMES",
            Self::Arbitration
            | Self::Contention
            | Self::Acknowledge
            | Self::Tail
            | Self::Aggregate => "RULE",
            Self::Window | Self::History => "MESSAGES",
            Self::Scope => "LINKS",
            Self::Waits => "FACTORS",
            Self::Distances | Self::Detector => "HOW",
            Self::Ring | Self::Ordering => "ORDER",
            Self::Priorities | Self::Values => "NUMBERS",
            Self::Quorum => "SYSTEM",
            Self::Structure => "SETS",
        }
    }

    /// Its help text.
    pub const fn what(self) -> &'static str {
        match self {
            Self::K => "How many may be inside together [default: 2]",
            Self::Within => {
                "How long a message takes at most, for algorithms with time-outs [default: what \
                 --latency allows in a simulation; over a network 1s, and 20ms of ack, nack and \
                 srm, which send again what takes longer; 1ms elsewhere]"
            }
            Self::Holder => "The initial holder of the token [default: 0]",
            Self::Topology => help::TOPOLOGY,
            Self::Greedy => {
                "How often in a row a node with the token may serve its own request before those \
                 of its neighbours [default: 0]"
            }
            Self::Arbitration => {
                "Which of several waiting neighbours gets the token: round-robin, least-served or \
                 nearest [default: round-robin]"
            }
            Self::Rest => help::REST,
            Self::Resources => help::RESOURCES,
            Self::Initiator => "The node that starts the wave [default: 0]",
            Self::Priorities => {
                "The priorities of requests, a number a node, such as 0,0,5: the highest goes \
                 first, and priorities of waiting nodes age [default: none]"
            }
            Self::Quorum => help::QUORUM,
            Self::Structure => {
                "The information structure, whom each node asks and whom it informs: central, \
                 lamport, ricart-agrawala, maekawa, or sets:0-1/0,0-1/1,0-1-2 with a pair of sets \
                 a node [default: maekawa, over --quorum]"
            }
            Self::Ring => {
                "The order of nodes on the ring: ascending, descending, random, or all nodes, as \
                 in 0-2-1 [default: ascending]"
            }
            Self::Late => {
                "How late a timer may run out, for algorithms with time-outs [default: 0]"
            }
            Self::Contention => help::CONTENTION,
            Self::Acknowledge => help::ACKNOWLEDGE,
            Self::Gather => {
                "How long a node waits for the request of its last neighbour before it asks \
                 itself [default: 0]"
            }
            Self::Beat => {
                "The interval of heartbeats [default: 5ms; 100ms over a network, 200ms of node \
                 --on-views and run --net --on-views]"
            }
            Self::Margin => help::MARGIN,
            Self::MarginCap => help::MARGIN_CAP,
            Self::MarginHalvesAfter => help::MARGIN_HALVES_AFTER,
            Self::Window => help::WINDOW,
            Self::Tail => help::TAIL,
            Self::History => help::HISTORY,
            Self::Tries => help::TRIES,
            Self::Ordering => help::ORDERING,
            Self::Waits => help::WAITS,
            Self::Distances => help::DISTANCES,
            Self::Draws => help::DRAWS,
            Self::Scope => help::SCOPE,
            Self::Founders => help::FOUNDERS,
            Self::Detector => help::DETECTOR,
            Self::Work => help::WORK,
            Self::Aggregate => help::AGGREGATE,
            Self::Values => help::VALUES,
        }
    }

    pub(super) fn set(self, setup: &mut Setup, text: &str) -> Result<(), String> {
        let number = || text.parse::<u32>();
        let group = setup.group;
        let node = || match number() {
            Ok(id) if group.contains(NodeId(id)) => Ok(NodeId(id)),
            Ok(_) | Err(_) => {
                Err(format!("'{text}' is not a node: the last node is {}", group.size() - 1))
            }
        };
        match self {
            Self::K => match number() {
                Ok(k) if k > 0 => setup.k = k,
                Ok(_) | Err(_) => return Err(format!("'{text}' is not a number of at least 1")),
            },
            Self::Within => match time(text)? {
                Duration::ZERO => return Err(format!("'{text}': a message takes some time")),
                within => setup.within = within,
            },
            Self::Holder => setup.holder = node()?,
            Self::Topology => setup.topology = text.parse()?,
            Self::Greedy => match number() {
                Ok(times) => setup.greedy = times,
                Err(_) => return Err(format!("'{text}' is not a number of at least 0")),
            },
            Self::Arbitration => {
                setup.arbitration = one_of(&Arbitration::ALL, Arbitration::name, text)?;
            }
            Self::Rest => setup.rest = time(text)?,
            Self::Resources => setup.resources = up_to(text, MOST_RESOURCES)?.get(),
            Self::Initiator => setup.initiator = node()?,
            Self::Priorities => setup.priorities = Priorities::read(text, group)?,
            Self::Quorum => setup.quorum = text.parse()?,
            Self::Structure => setup.structure = text.parse()?,
            Self::Ring => setup.ring = Ring::read(text, group)?,
            Self::Late => setup.late = time(text)?,
            Self::Contention => {
                setup.contention = one_of(&Contention::ALL, Contention::name, text)?;
            }
            Self::Acknowledge => {
                setup.acknowledge = one_of(&Acknowledge::ALL, Acknowledge::name, text)?;
            }
            Self::Gather => setup.gather = time(text)?,
            Self::Beat => match time(text)? {
                Duration::ZERO => return Err(format!("'{text}': an interval is longer than 0")),
                beat => setup.beat = beat,
            },
            Self::Margin => match time(text)? {
                Duration::ZERO => return Err(format!("'{text}': a margin of 0 cannot be doubled")),
                margin => setup.margin = margin,
            },
            Self::MarginCap => setup.margin_cap = up_to(text, MOST_MARGINS)?.get(),
            Self::MarginHalvesAfter => {
                setup.margin_halves_after = match text {
                    NEVER => None,
                    _ => match time(text).map_err(|why| format!("{why}, or {NEVER}"))? {
                        Duration::ZERO => {
                            return Err(format!("'{text}': a time longer than 0, or {NEVER}"));
                        }
                        quiet => Some(quiet),
                    },
                };
            }
            Self::Window => setup.window = up_to(text, MOST_WINDOW)?.get(),
            Self::Tail => setup.tail = one_of(&Tail::ALL, Tail::name, text)?,
            Self::History => setup.history = number_or(ALL, text, MOST_WINDOW)?,
            Self::Tries => setup.tries = number_or(NEVER, text, MOST_TRIES)?,
            Self::Ordering => setup.ordering = one_of(&Ordering::ALL, Ordering::name, text)?,
            Self::Waits => setup.waits = text.parse()?,
            Self::Distances => setup.distances = one_of(&Distances::ALL, Distances::name, text)?,
            Self::Draws => setup.draws = up_to(text, MOST_DRAWS)?,
            Self::Scope => setup.scope = number_or(ALL, text, MOST_SCOPE)?,
            Self::Founders => setup.founders = up_to(text, group.size())?.get(),
            Self::Detector => setup.detector = one_of(&Detector::ALL, Detector::name, text)?,
            Self::Work => setup.work = up_to(text, MOST_WORK)?.get(),
            Self::Aggregate => setup.aggregate = one_of(&Aggregate::ALL, Aggregate::name, text)?,
            Self::Values => setup.values = Values::read(text, group)?,
        }
        Ok(())
    }

    /// Whether it has its default in a set-up and is not written then: for what is rarely asked
    /// for, such as what a wave gathers.
    pub fn goes_without_saying(self, setup: &Setup) -> bool {
        match self {
            Self::Acknowledge => setup.acknowledge == Acknowledge::default(),
            Self::Aggregate => setup.aggregate == Aggregate::default(),
            Self::Values => setup.values == Values::IDS,
            Self::History => setup.history.is_none(),
            Self::Tries => setup.tries.is_none(),
            Self::MarginCap => setup.margin_cap == USUAL_MARGINS,
            Self::MarginHalvesAfter => setup.margin_halves_after == Some(USUAL_QUIET),
            Self::Scope => setup.scope.is_none(),
            Self::K
            | Self::Within
            | Self::Holder
            | Self::Topology
            | Self::Greedy
            | Self::Arbitration
            | Self::Rest
            | Self::Resources
            | Self::Initiator
            | Self::Priorities
            | Self::Quorum
            | Self::Structure
            | Self::Ring
            | Self::Late
            | Self::Contention
            | Self::Gather
            | Self::Beat
            | Self::Margin
            | Self::Window
            | Self::Tail
            | Self::Ordering
            | Self::Waits
            | Self::Distances
            | Self::Draws
            | Self::Founders
            | Self::Detector
            | Self::Work => false,
        }
    }

    /// Its value in a set-up, as it is written.
    pub fn show(self, setup: &Setup) -> String {
        match self {
            Self::K => setup.k.to_string(),
            Self::Within => show_duration_ns(setup.within.as_nanos() as u64),
            Self::Holder => setup.holder.to_string(),
            Self::Topology => setup.topology.to_string(),
            Self::Greedy => setup.greedy.to_string(),
            Self::Arbitration => setup.arbitration.name().to_string(),
            Self::Rest => show_duration_ns(setup.rest.as_nanos() as u64),
            Self::Resources => setup.resources.to_string(),
            Self::Initiator => setup.initiator.to_string(),
            Self::Priorities => setup.priorities.to_string(),
            Self::Quorum => setup.quorum.to_string(),
            Self::Structure => setup.structure.to_string(),
            Self::Ring => setup.ring.to_string(),
            Self::Late => show_duration_ns(setup.late.as_nanos() as u64),
            Self::Contention => setup.contention.name().to_string(),
            Self::Acknowledge => setup.acknowledge.name().to_string(),
            Self::Gather => show_duration_ns(setup.gather.as_nanos() as u64),
            Self::Beat => show_duration_ns(setup.beat.as_nanos() as u64),
            Self::Margin => show_duration_ns(setup.margin.as_nanos() as u64),
            Self::MarginCap => setup.margin_cap.to_string(),
            Self::MarginHalvesAfter => setup
                .margin_halves_after
                .map_or_else(|| NEVER.to_string(), |it| show_duration_ns(it.as_nanos() as u64)),
            Self::Window => setup.window.to_string(),
            Self::Tail => setup.tail.name().to_string(),
            Self::History => shown_or(ALL, setup.history),
            Self::Tries => shown_or(NEVER, setup.tries),
            Self::Ordering => setup.ordering.name().to_string(),
            Self::Waits => setup.waits.to_string(),
            Self::Distances => setup.distances.name().to_string(),
            Self::Draws => setup.draws.to_string(),
            Self::Scope => shown_or(ALL, setup.scope),
            Self::Founders => setup.founders.to_string(),
            Self::Detector => setup.detector.name().to_string(),
            Self::Work => setup.work.to_string(),
            Self::Aggregate => setup.aggregate.name().to_string(),
            Self::Values => setup.values.to_string(),
        }
    }
}

fn up_to(text: &str, most: u32) -> Result<NonZeroU32, String> {
    let number = text.parse::<NonZeroU32>().ok().filter(|number| number.get() <= most);
    number.ok_or_else(|| format!("'{text}' is not a number from 1 to {most}"))
}

// The words for no limit.
const ALL: &str = "all";
const NEVER: &str = "never";

fn number_or(word: &str, text: &str, most: u32) -> Result<Option<NonZeroU32>, String> {
    if text == word {
        return Ok(None);
    }
    up_to(text, most).map(Some).map_err(|why| format!("{why}, nor {word}"))
}

fn shown_or(word: &str, number: Option<NonZeroU32>) -> String {
    number.map_or_else(|| word.to_string(), |it| it.to_string())
}

fn time(text: &str) -> Result<Duration, String> {
    let ns = parse_duration_ns(text).map_err(|why| format!("'{text}': {why}"))?;
    Ok(Duration::from_nanos(ns))
}

fn one_of<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Result<T, String> {
    all.iter().copied().find(|&it| name(it) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&it| name(it)).collect();
        format!("'{text}' is not one of: {}", names.join(", "))
    })
}
