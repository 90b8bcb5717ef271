//! The set-up of an algorithm, as a value.
//!
//! It is written in one way everywhere: on the command line, in the headers of golden runs and of
//! traces, and in what two nodes tell each other before they work together.

mod choice;
mod help;
mod parameter;
mod waits;

use alloc::format;
use alloc::string::{String, ToString as _};
use core::num::NonZeroU32;
use core::time::Duration;

use vorrang_protocol::{Group, NodeId};

pub use choice::{
    Acknowledge, Aggregate, Arbitration, Contention, Detector, Distances, Ordering, Tail,
};
pub use parameter::Parameter;
pub use waits::Waits;

pub use crate::priorities::Priorities;
use crate::quorum::Quorums;
use crate::structure::Structures;
use crate::topology::Topology;
use crate::topology::ring::Ring;
pub use crate::unfit::Unfit;
pub use crate::values::Values;

/// The set-up of an algorithm. Every algorithm needs the group; its card says which of the other
/// parameters it [takes](crate::card::Card::takes).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    /// The participants.
    pub group: Group,
    /// How many may be inside together.
    pub k: u32,
    /// How long a message takes at most.
    pub within: Duration,
    /// The initial holder of the token.
    pub holder: NodeId,
    /// The communication graph.
    pub topology: Topology,
    /// How often in a row a node may put its own request first.
    pub greedy: u32,
    /// Which of several waiting nodes gets the token.
    pub arbitration: Arbitration,
    /// How long a token stays at a node that does not need it.
    pub rest: Duration,
    /// How many resources there are, all of which an entry needs.
    pub resources: u32,
    /// The initiator, where there is only one.
    pub initiator: NodeId,
    /// How urgent the requests of the nodes are.
    pub priorities: Priorities,
    /// The quorum of each node.
    pub quorum: Quorums,
    /// The nodes that each node asks and informs.
    pub structure: Structures,
    /// The order of nodes on a ring.
    pub ring: Ring,
    /// How late a timer may run out.
    pub late: Duration,
    /// How two nodes that want each other for a parent are told apart.
    pub contention: Contention,
    /// When a child is acknowledged.
    pub acknowledge: Acknowledge,
    /// How long a node waits for a neighbour to ask it before it asks that neighbour.
    pub gather: Duration,
    /// How often a node says that it is up.
    pub beat: Duration,
    /// How much later than that a node may be heard before it is suspected, at first.
    pub margin: Duration,
    /// How many times as long it may become.
    pub margin_cap: u32,
    /// After what time without a false suspicion a doubling is taken back, if ever.
    pub margin_halves_after: Option<Duration>,
    /// How many messages of a sender may be under way.
    pub window: u32,
    /// How a loss of the last message is found out.
    pub tail: Tail,
    /// How many of its messages a sender keeps that does not know its receivers; none, if it keeps
    /// what not all are known to have.
    pub history: Option<NonZeroU32>,
    /// After how many unanswered tries a member is taken for crashed, if ever.
    pub tries: Option<NonZeroU32>,
    /// In which order messages are delivered.
    pub ordering: Ordering,
    /// How long to wait before requesting a missing message, and before repairing it.
    pub waits: Waits,
    /// Whether it is known how far away others are.
    pub distances: Distances,
    /// From how many different waits one is drawn.
    pub draws: NonZeroU32,
    /// How many links a request goes at first, if not to all.
    pub scope: Option<NonZeroU32>,
    /// How many nodes found the group: those with the lowest numbers.
    pub founders: u32,
    /// The failure detector.
    pub detector: Detector,
    /// How many pieces of work a computation has.
    pub work: u32,
    /// What becomes of the values that a wave gathers.
    pub aggregate: Aggregate,
    /// What each node gives to a wave.
    pub values: Values,
}

impl Setup {
    /// A group, and the default of every parameter: two inside together, a millisecond for a
    /// message, the token at node 0, and from there round robin; a complete graph, no greedy nodes,
    /// a millisecond's rest, one resource, node 0 to start, all requests alike, the [usual
    /// quorums](Quorums::usual), which are asked and informed, a ring in the order of numbers,
    /// timers that are never late, coins for root contention, children that are
    /// acknowledged when the root is known, no time to gather, a heartbeat every
    /// five milliseconds and half a one of margin, which becomes ten times as long at most and is
    /// halved after a quiet minute, 64 messages under way, delivered as each sender
    /// sent them, heartbeats until all have them, waits and distances as the paper on SRM has them,
    /// with requests to all, nobody who is taken for crashed, and a group that all have founded,
    /// who watch each other by heartbeats; two pieces of work for each, and the sum of their
    /// numbers to gather.
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
            acknowledge: Acknowledge::WithRoot,
            gather: Duration::ZERO,
            beat: Duration::from_millis(5),
            margin: Duration::from_micros(500),
            margin_cap: parameter::USUAL_MARGINS,
            margin_halves_after: Some(parameter::USUAL_QUIET),
            window: 64,
            tail: Tail::Heartbeat,
            history: None,
            tries: None,
            ordering: Ordering::Fifo,
            waits: Waits::Fixed,
            distances: Distances::Measured,
            draws: parameter::USUAL_DRAWS,
            scope: None,
            founders: group.size(),
            detector: Detector::Heartbeats,
            work: group.size().saturating_mul(2),
            aggregate: Aggregate::Sum,
            values: Values::IDS,
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
        for parameter in takes.iter().filter(|it| !it.goes_without_saying(self)) {
            text.push_str(&format!(" --{} {}", parameter.name(), parameter.show(self)));
        }
        text
    }

    /// Reads what [`text`](Self::text) writes; other parameters have their defaults.
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
            (Parameter::Acknowledge, "at-once"),
            (Parameter::Gather, "2ms"),
            (Parameter::Beat, "7ms"),
            (Parameter::Margin, "300us"),
            (Parameter::MarginCap, "4"),
            (Parameter::MarginHalvesAfter, "never"),
            (Parameter::Window, "5"),
            (Parameter::Tail, "stop"),
            (Parameter::History, "3"),
            (Parameter::Tries, "4"),
            (Parameter::Ordering, "skeen"),
            (Parameter::Waits, "2,0,1,0.5"),
            (Parameter::Distances, "known"),
            (Parameter::Draws, "7"),
            (Parameter::Scope, "2"),
            (Parameter::Founders, "2"),
            (Parameter::Detector, "told"),
            (Parameter::Work, "9"),
            (Parameter::Aggregate, "max"),
            (Parameter::Values, "7,1,1,9,0"),
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
                    --contention id --acknowledge at-once --gather 2ms --beat 7ms --margin 300us \
                    --margin-cap 4 --margin-halves-after never --window 5 --tail stop --history 3 \
                    --tries 4 --ordering skeen --waits \
                    2,0,1,0.5 --distances known --draws 7 --scope 2 --founders 2 --detector told \
                    --work 9 --aggregate max --values 7,1,1,9,0";
        assert_eq!(setup.text(&Parameter::ALL), text);
        assert_eq!(Setup::read(text, &Parameter::ALL), Ok(setup));
    }

    #[test]
    fn what_a_wave_gathers_is_said_only_if_it_is_not_the_usual() {
        let takes = [Parameter::Aggregate, Parameter::Values];
        let written = |text| Setup::read(text, &takes).unwrap().text(&takes);
        assert_eq!(written("--nodes 3 --aggregate sum --values ids"), "--nodes 3");
        assert_eq!(written("--nodes 3 --values 0,1,2"), "--nodes 3", "their numbers");
        for said in ["--nodes 3 --aggregate count", "--nodes 3 --values 0,1,3"] {
            assert_eq!(written(said), said);
        }
        let wrong = |text| Setup::read(text, &takes).unwrap_err().0;
        assert_eq!(
            wrong("--nodes 3 --aggregate mean"),
            "--aggregate: 'mean' is not one of: sum, max, min, count, collect"
        );
        assert_eq!(
            wrong("--nodes 3 --values 1"),
            "--values: there is 1 value for 3 nodes: give one a node"
        );
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
            "--contention: 'coin' is not one of: wait, id, firewire, firewire-a"
        );
        assert_eq!(
            wrong("--nodes 3 --scope 0"),
            "--scope: '0' is not a number from 1 to 1000000, nor all"
        );
        assert_eq!(wrong("--nodes 3 --founders 4"), "--founders: '4' is not a number from 1 to 3");
        assert_eq!(
            wrong("--nodes 3 --detector none"),
            "--detector: 'none' is not one of: heartbeats, told"
        );
        assert_eq!(wrong("--nodes 3 --work 0"), "--work: '0' is not a number from 1 to 1000000000");
        assert_eq!(wrong("--nodes 3 --quota 3"), "--quota is not taken here");
        assert_eq!(wrong("--nodes 3 --k"), "--k wants a value");
        assert_eq!(wrong("--k 3"), "'--k 3' must begin with --nodes");
        assert_eq!(wrong("--nodes 3 --within 0"), "--within: '0': a message takes some time");
        assert_eq!(wrong("--nodes 3 --margin 0"), "--margin: '0': a margin of 0 cannot be doubled");
        assert_eq!(
            wrong("--nodes 3 --margin-cap 0"),
            "--margin-cap: '0' is not a number from 1 to 1024"
        );
        assert_eq!(
            wrong("--nodes 3 --margin-halves-after 0"),
            "--margin-halves-after: '0': a time longer than 0, or never"
        );
        assert_eq!(wrong("--nodes 3 --beat 0"), "--beat: '0': an interval is longer than 0");
        assert_eq!(wrong(""), "how many nodes? say --nodes 3");
    }
}
