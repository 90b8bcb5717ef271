//! What an algorithm must be told before its nodes can be made, as a value.
//!
//! It is written in one way everywhere: on the command line, in the headers of golden runs and of
//! traces, and in what two nodes tell each other before they work together.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use vorrang_protocol::{Group, NodeId, parse_duration_ns, show_duration_ns};

use crate::election::tree_election::Contention;
use crate::multicast::nack::Tail;
use crate::multicast::ordering::Ordering;
use crate::multicast::suppression::distance::Distances;
use crate::multicast::suppression::pace::Waits;
pub use crate::priorities::Priorities;
use crate::quorum::Quorums;
use crate::structure::Structures;
use crate::topology::Topology;
use crate::topology::ring::Ring;

/// What an algorithm must be told. Every algorithm needs the group; which of the rest it
/// [takes](crate::card::Card::takes) stands on its card.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    /// Who takes part.
    pub group: Group,
    /// How many may be inside together.
    pub k: u32,
    /// How long a message takes at most.
    pub within: Duration,
    /// Who has the token at first.
    pub holder: NodeId,
    /// Who can send to whom.
    pub topology: Topology,
    /// How often in a row a node may put its own request first.
    pub greedy: u32,
    /// Who of several that wait gets the token.
    pub arbitration: Arbitration,
    /// How long a token that nobody wants stays at a node.
    pub rest: Duration,
    /// How many resources there are, all of which an entry needs.
    pub resources: u32,
    /// Who starts, where only one may.
    pub initiator: NodeId,
    /// How urgent the requests of the nodes are.
    pub priorities: Priorities,
    /// Whom each node must ask.
    pub quorum: Quorums,
    /// Whom each node asks and informs.
    pub structure: Structures,
    /// Who comes after whom on a ring.
    pub ring: Ring,
    /// How late a timer may run out.
    pub late: Duration,
    /// How two nodes that want each other for a parent are told apart.
    pub contention: Contention,
    /// How long a node waits for a neighbour to ask it before it asks that neighbour.
    pub gather: Duration,
    /// How often a node says that it is up.
    pub beat: Duration,
    /// How much later than that a node may be heard before it is suspected, at first.
    pub margin: Duration,
    /// How many messages of a sender may be under way.
    pub window: u32,
    /// How a loss of the last message is found out.
    pub tail: Tail,
    /// In which order messages are delivered.
    pub ordering: Ordering,
    /// How long to wait before asking for what is missing, and before repairing it.
    pub waits: Waits,
    /// Whether it is known how far away others are.
    pub distances: Distances,
    /// From how many different waits one is drawn.
    pub draws: NonZeroU32,
}

/// Who of several that wait gets the token, where an algorithm leaves that open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Arbitration {
    /// The first to the right of whoever gives it away.
    #[default]
    RoundRobin,
    /// Whoever has asked least often; of several the first to the right.
    LeastServed,
    /// Whoever is nearest on the ring of all numbers; of two the one to the right.
    Nearest,
}

impl Arbitration {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::RoundRobin, Self::LeastServed, Self::Nearest];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastServed => "least-served",
            Self::Nearest => "nearest",
        }
    }
}

/// What is under way is kept.
const MOST_WINDOW: u32 = 1 << 20;
/// Finer than any difference that is seen.
const MOST_DRAWS: u32 = 1_000_000;
const USUAL_DRAWS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1000);

/// Nobody needs more, and every token is a message under way.
const MOST_RESOURCES: u32 = 64;

/// Something that an algorithm may have to be told besides the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Parameter {
    /// How many may be inside together.
    K,
    /// How long a message takes at most.
    Within,
    /// Who has the token at first.
    Holder,
    /// Who can send to whom.
    Topology,
    /// How often in a row a node may put its own request first.
    Greedy,
    /// Who of several that wait gets the token.
    Arbitration,
    /// How long a token that nobody wants stays at a node.
    Rest,
    /// How many resources there are, all of which an entry needs.
    Resources,
    /// Who starts, where only one may.
    Initiator,
    /// How urgent the requests of the nodes are.
    Priorities,
    /// Whom each node must ask.
    Quorum,
    /// Whom each node asks and informs.
    Structure,
    /// Who comes after whom on a ring.
    Ring,
    /// How late a timer may run out.
    Late,
    /// How two nodes that want each other for a parent are told apart.
    Contention,
    /// How long a node waits for its last neighbour to ask.
    Gather,
    /// How often a node says that it is up.
    Beat,
    /// How late it may be heard before it is suspected.
    Margin,
    /// How many messages of a sender may be under way.
    Window,
    /// How a loss of the last message is found out.
    Tail,
    /// In which order messages are delivered.
    Ordering,
    /// How long to wait before asking and before repairing.
    Waits,
    /// Whether it is known how far away others are.
    Distances,
    /// From how many different waits one is drawn.
    Draws,
}

impl Parameter {
    /// All that there are.
    pub const ALL: [Self; 24] = [
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
        Self::Gather,
        Self::Beat,
        Self::Margin,
        Self::Window,
        Self::Tail,
        Self::Ordering,
        Self::Waits,
        Self::Distances,
        Self::Draws,
    ];

    /// What it is called, without the hyphens.
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
            Self::Gather => "gather",
            Self::Beat => "beat",
            Self::Margin => "margin",
            Self::Window => "window",
            Self::Tail => "tail",
            Self::Ordering => "ordering",
            Self::Waits => "waits",
            Self::Distances => "distances",
            Self::Draws => "draws",
        }
    }

    /// What stands for its value in a help text.
    pub const fn value(self) -> &'static str {
        match self {
            Self::K | Self::Resources | Self::Draws => "NUMBER",
            Self::Within | Self::Rest | Self::Late | Self::Gather | Self::Beat | Self::Margin => {
                "TIME"
            }
            Self::Holder | Self::Initiator => "NODE",
            Self::Topology => "SHAPE",
            Self::Greedy => "TIMES",
            Self::Arbitration | Self::Contention | Self::Tail => "RULE",
            Self::Window => "MESSAGES",
            Self::Waits => "FACTORS",
            Self::Distances => "HOW",
            Self::Ring | Self::Ordering => "ORDER",
            Self::Priorities => "NUMBERS",
            Self::Quorum => "SYSTEM",
            Self::Structure => "SETS",
        }
    }

    /// What it means, in a sentence for people.
    pub const fn what(self) -> &'static str {
        match self {
            Self::K => "How many may be inside together [default: 2]",
            Self::Within => {
                "How long a message takes at most, for algorithms with time-outs [default: what \
                 --latency allows in a simulation, 1s over a network, 1ms elsewhere]"
            }
            Self::Holder => "Who has the token at first [default: 0]",
            Self::Topology => {
                "Who can send to whom: ring, line, star, complete, tree:2, grid, torus, hypercube, \
                 random-tree, random:0.1, or a file of links [default: what the algorithm is \
                 usually run on]"
            }
            Self::Greedy => {
                "How often in a row a node with the token may put its own request before those of \
                 its neighbours [default: 0]"
            }
            Self::Arbitration => {
                "Who of several that wait gets the token: round-robin, least-served or nearest \
                 [default: round-robin]"
            }
            Self::Rest => {
                "How long a token that has come all the way round unused stays at every node \
                 [default: 1ms]"
            }
            Self::Resources => {
                "How many resources there are, each with its own token, all of which an entry \
                 needs [default: 1]"
            }
            Self::Initiator => "Who starts the wave [default: 0]",
            Self::Priorities => {
                "How urgent the requests of the nodes are, a number a node, such as 0,0,5: the \
                 highest goes first, and whoever waits ages [default: none]"
            }
            Self::Quorum => {
                "Whom each node must ask: plane, grid, majority, weighted:2,1,1, triangle, \
                 wall:1,2,3, tree, all, singleton, sets:0-1,1-2,0-2, or a file of sets [default: \
                 the plane if there is one of so many nodes, else the grid]"
            }
            Self::Structure => {
                "Whom each node asks and whom it informs: central, lamport, ricart-agrawala, \
                 maekawa, or sets:0-1/0,0-1/1,0-1-2 with a pair of sets a node [default: maekawa, \
                 over --quorum]"
            }
            Self::Ring => {
                "Who comes after whom on the ring: ascending, descending, random, or all nodes, as \
                 in 0-2-1 [default: ascending]"
            }
            Self::Late => {
                "How late a timer may run out, for algorithms with time-outs [default: 0]"
            }
            Self::Contention => {
                "How two nodes that want each other for a parent are told apart: wait (by waiting \
                 for a short or a long time, as a coin falls) or id (the higher is the parent) \
                 [default: wait]"
            }
            Self::Gather => {
                "How long a node whose last neighbour has not asked waits for that [default: 0]"
            }
            Self::Beat => "How often a node says that it is up [default: 5ms]",
            Self::Margin => {
                "How much later than --beat a node may be heard before it is suspected; twice as \
                 much after every mistake [default: 500us]"
            }
            Self::Window => {
                "How many messages of a sender may be under way before it takes no more [default: \
                 64]"
            }
            Self::Tail => {
                "How a loss of the last message is found out: heartbeat (the sender says how far \
                 it has come until all have everything), stop (it says so three times) or none \
                 [default: heartbeat]"
            }
            Self::Ordering => {
                "In which order messages are delivered: fifo, causal, sequencer, token, lamport or \
                 skeen; the last four are total [default: fifo]"
            }
            Self::Waits => {
                "How many distances to wait before asking for what is missing, and before \
                 repairing it: fixed, adaptive, star, line, or C1,C2,D1,D2 [default: fixed]"
            }
            Self::Distances => {
                "Whether it is measured how far away others are, or known: measured or known \
                 [default: measured; known in a check]"
            }
            Self::Draws => {
                "From how many different waits one is drawn, the shortest and the longest included \
                 [default: 1001; 2 in a check]"
            }
        }
    }

    fn set(self, setup: &mut Setup, text: &str) -> Result<(), String> {
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
            Self::Resources => match number() {
                Ok(resources @ 1..=MOST_RESOURCES) => setup.resources = resources,
                Ok(_) | Err(_) => {
                    return Err(format!("'{text}' is not a number from 1 to {MOST_RESOURCES}"));
                }
            },
            Self::Initiator => setup.initiator = node()?,
            Self::Priorities => setup.priorities = Priorities::read(text, group)?,
            Self::Quorum => setup.quorum = text.parse()?,
            Self::Structure => setup.structure = text.parse()?,
            Self::Ring => setup.ring = Ring::read(text, group)?,
            Self::Late => setup.late = time(text)?,
            Self::Contention => {
                setup.contention = one_of(&Contention::ALL, Contention::name, text)?;
            }
            Self::Gather => setup.gather = time(text)?,
            Self::Beat => match time(text)? {
                Duration::ZERO => return Err(format!("'{text}': between two there is some time")),
                beat => setup.beat = beat,
            },
            Self::Margin => match time(text)? {
                Duration::ZERO => return Err(format!("'{text}': twice nothing is nothing")),
                margin => setup.margin = margin,
            },
            Self::Window => match number() {
                Ok(window @ 1..=MOST_WINDOW) => setup.window = window,
                Ok(_) | Err(_) => {
                    return Err(format!("'{text}' is not a number from 1 to {MOST_WINDOW}"));
                }
            },
            Self::Tail => setup.tail = one_of(&Tail::ALL, Tail::name, text)?,
            Self::Ordering => setup.ordering = one_of(&Ordering::ALL, Ordering::name, text)?,
            Self::Waits => setup.waits = text.parse()?,
            Self::Distances => setup.distances = one_of(&Distances::ALL, Distances::name, text)?,
            Self::Draws => match number() {
                Ok(draws @ 1..=MOST_DRAWS) => {
                    setup.draws = NonZeroU32::new(draws).unwrap_or(NonZeroU32::MIN);
                }
                Ok(_) | Err(_) => {
                    return Err(format!("'{text}' is not a number from 1 to {MOST_DRAWS}"));
                }
            },
        }
        Ok(())
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
            Self::Gather => show_duration_ns(setup.gather.as_nanos() as u64),
            Self::Beat => show_duration_ns(setup.beat.as_nanos() as u64),
            Self::Margin => show_duration_ns(setup.margin.as_nanos() as u64),
            Self::Window => setup.window.to_string(),
            Self::Tail => setup.tail.name().to_string(),
            Self::Ordering => setup.ordering.name().to_string(),
            Self::Waits => setup.waits.to_string(),
            Self::Distances => setup.distances.name().to_string(),
            Self::Draws => setup.draws.to_string(),
        }
    }
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

impl Setup {
    /// A group, and what is usual besides: two inside together, a millisecond for a message, the
    /// token at node 0, and from there round robin; everyone linked to everyone, nobody greedy, a
    /// millisecond's rest, one resource, node 0 to start, all requests alike, the [usual
    /// quorums](Quorums::usual), which are asked and informed, a ring in the order of numbers,
    /// timers that are never late, coins where two want each other for a parent, nobody
    /// waiting to be asked, a heartbeat every five milliseconds and half a one of margin, 64
    /// messages under way, delivered as each sender sent them, heartbeats until all have them, and
    /// waits and distances as the paper on SRM has them.
    pub fn new(group: Group) -> Self {
        Self {
            group,
            k: 2,
            within: Duration::from_millis(1),
            holder: NodeId(0),
            topology: Topology::Complete,
            greedy: 0,
            arbitration: Arbitration::RoundRobin,
            rest: Duration::from_millis(1),
            resources: 1,
            initiator: NodeId(0),
            priorities: Priorities::NONE,
            quorum: Quorums::usual(group),
            structure: Structures::Maekawa,
            ring: Ring::Ascending,
            late: Duration::ZERO,
            contention: Contention::Wait,
            gather: Duration::ZERO,
            beat: Duration::from_millis(5),
            margin: Duration::from_micros(500),
            window: 64,
            tail: Tail::Heartbeat,
            ordering: Ordering::Fifo,
            waits: Waits::Fixed,
            distances: Distances::Measured,
            draws: USUAL_DRAWS,
        }
    }

    /// Changes one thing, given as text.
    ///
    /// # Errors
    ///
    /// If the text is not a value of it.
    pub fn set(&mut self, parameter: Parameter, text: &str) -> Result<(), Unfit> {
        parameter.set(self, text).map_err(|why| Unfit(format!("--{}: {why}", parameter.name())))
    }

    /// The set-up of an algorithm that takes these, in one line: `--nodes 5 --k 2`.
    pub fn text(&self, takes: &[Parameter]) -> String {
        let mut text = format!("--nodes {}", self.group.size());
        for parameter in takes {
            text.push_str(&format!(" --{} {}", parameter.name(), parameter.show(self)));
        }
        text
    }

    /// Reads what [`text`](Self::text) writes; what is not said is as usual.
    ///
    /// # Errors
    ///
    /// If there is no number of nodes, or something that is not taken, or a value is none.
    pub fn read(text: &str, takes: &[Parameter]) -> Result<Self, Unfit> {
        let mut words = text.split_whitespace();
        let mut setup: Option<Self> = None;
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").unwrap_or(word);
            let value = words.next().ok_or_else(|| Unfit(format!("{word} wants a value")))?;
            match (&mut setup, takes.iter().find(|parameter| parameter.name() == name)) {
                (None, _) if name == "nodes" => match value.parse() {
                    Ok(nodes @ 1..) => setup = Some(Self::new(Group::of(nodes))),
                    Ok(0) | Err(_) => {
                        return Err(Unfit(format!("--nodes: '{value}' is not a number of nodes")));
                    }
                },
                (None, _) => return Err(Unfit(format!("'{text}' must begin with --nodes"))),
                (Some(setup), Some(parameter)) => setup.set(*parameter, value)?,
                (Some(_), None) => return Err(Unfit(format!("{word} is not taken here"))),
            }
        }
        setup.ok_or_else(|| Unfit("how many nodes? say --nodes 3".to_string()))
    }
}

/// A set-up that an algorithm cannot work with, in a sentence that says why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit(pub String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Unfit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_is_read_as_it_is_written() {
        let mut setup = Setup::new(Group::of(5));
        for (parameter, text) in [
            (Parameter::K, "3"),
            (Parameter::Within, "1500us"),
            (Parameter::Holder, "4"),
            (Parameter::Topology, "random:0.5:9"),
            (Parameter::Greedy, "1"),
            (Parameter::Arbitration, "nearest"),
            (Parameter::Rest, "20us"),
            (Parameter::Resources, "2"),
            (Parameter::Initiator, "2"),
            (Parameter::Priorities, "0,3,1,0,0"),
            (Parameter::Quorum, "wall:2,3"),
            (Parameter::Structure, "lamport"),
            (Parameter::Ring, "4-0-2-1-3"),
            (Parameter::Late, "100us"),
            (Parameter::Contention, "id"),
            (Parameter::Gather, "2ms"),
            (Parameter::Beat, "7ms"),
            (Parameter::Margin, "300us"),
        ] {
            setup.set(parameter, text).unwrap();
        }
        for takes in [&Parameter::ALL[..], &[Parameter::Holder, Parameter::K]] {
            let text = setup.text(takes);
            assert_eq!(Setup::read(&text, takes).unwrap().text(takes), text);
        }
        let text = "--nodes 5 --k 3 --within 1500us --holder 4 --topology random:0.5:9 --greedy 1 \
                    --arbitration nearest --rest 20us --resources 2 --initiator 2 --priorities \
                    0,3,1,0,0 --quorum wall:2,3 --structure lamport --ring 4-0-2-1-3 --late 100us \
                    --contention id --gather 2ms --beat 7ms --margin 300us";
        assert_eq!(setup.text(&Parameter::ALL), text);
        assert_eq!(Setup::read(text, &Parameter::ALL), Ok(setup));
    }

    #[test]
    fn quorums_are_those_that_are_said_or_those_that_are_usual_for_so_many() {
        let read = |text| Setup::read(text, &[Parameter::Quorum]).unwrap();
        assert_eq!(read("--nodes 13").text(&[Parameter::Quorum]), "--nodes 13 --quorum plane");
        assert_eq!(read("--nodes 14").text(&[Parameter::Quorum]), "--nodes 14 --quorum grid");
        let said = "--nodes 13 --quorum grid";
        assert_eq!(read(said).text(&[Parameter::Quorum]), said);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text| Setup::read(text, &Parameter::ALL).unwrap_err().0;
        assert_eq!(wrong("--nodes 0"), "--nodes: '0' is not a number of nodes");
        assert_eq!(wrong("--nodes 3 --k 0"), "--k: '0' is not a number of at least 1");
        assert_eq!(
            wrong("--nodes 3 --holder 3"),
            "--holder: '3' is not a node: the last node is 2"
        );
        assert_eq!(
            wrong("--nodes 3 --arbitration fair"),
            "--arbitration: 'fair' is not one of: round-robin, least-served, nearest"
        );
        assert_eq!(
            wrong("--nodes 3 --resources 65"),
            "--resources: '65' is not a number from 1 to 64"
        );
        assert_eq!(
            wrong("--nodes 3 --initiator x"),
            "--initiator: 'x' is not a node: the last node is 2"
        );
        assert_eq!(
            wrong("--nodes 3 --priorities 1,2"),
            "--priorities: '1,2' has 2 priorities, and there are 3 nodes"
        );
        assert_eq!(
            wrong("--nodes 3 --priorities 1,x,1001"),
            "--priorities: 'x' is not a priority from 0 to 1000"
        );
        assert!(wrong("--nodes 3 --quorum x").starts_with("--quorum: 'x' is not a quorum system"));
        assert_eq!(
            wrong("--nodes 3 --ring 0-2"),
            "--ring: node 1 is missing: a ring has all of them"
        );
        assert_eq!(
            wrong("--nodes 3 --contention coin"),
            "--contention: 'coin' is not one of: wait, id"
        );
        assert_eq!(wrong("--nodes 3 --quota 3"), "--quota is not taken here");
        assert_eq!(wrong("--nodes 3 --k"), "--k wants a value");
        assert_eq!(wrong("--k 3"), "'--k 3' must begin with --nodes");
        assert_eq!(wrong("--nodes 3 --within 0"), "--within: '0': a message takes some time");
        assert_eq!(wrong("--nodes 3 --margin 0"), "--margin: '0': twice nothing is nothing");
        assert_eq!(wrong("--nodes 3 --beat 0"), "--beat: '0': between two there is some time");
        assert_eq!(wrong(""), "how many nodes? say --nodes 3");
    }
}
