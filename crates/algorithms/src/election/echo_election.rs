//! Echo election: echo with extinction. Gerard Tel, "Introduction to Distributed Algorithms", 2000,
//! §7.3, on the waves of Ernest J. H. Chang, "Echo algorithms: depth parallel operations on general
//! graphs", IEEE Transactions on Software Engineering SE-8(4), 1982.
//!
//! The nodes know their links and nothing else, and any topology will do. A node that believes that
//! there is no leader starts [an echo](crate::wave::echo) that bears its number. Of several waves a
//! node takes part in the highest that has reached it, and forgets the lower ones; if its own
//! number is higher than that of the wave, it is a candidate itself: it starts a wave of its own
//! instead. So all waves but that of the highest node die out. When that one is back, its node
//! leads, and tells all others along the tree that the wave has left behind.
//!
//! **Use it** where nodes know nothing but their links, several may call at once, and none crashes.
//!
//! ```text
//!   0  ──CANDIDATE(0)──┐      ┌─►──AGREED(2)──┐                       ┌─► [ 2 leads ]
//!                      X      │               ▼                       │
//!   1   ┌─►────────────┴─CANDIDATE(2)       AGREED(2)──┐       ┌─►LEADER(2)
//!       │                                              ▼       │
//!   2  ─┴CANDIDATE(2)                              [ 2 leads ]─┴LEADER(2)
//! ```
//!
//! | n nodes, e links, D from the highest to the farthest | the highest calls | others call |
//! | --- | --- | --- |
//! | messages | 2e + n − 1 | up to 2e more for each that stands |
//! | duration | 3D·T | and as far as the nearest caller is |
//!
//! The duration is that of a run in which every message takes T; it is one T more if two of the
//! farthest nodes are linked.
//!
//! **Assumes** a connected topology, on which messages arrive, in any order and however late; and
//! that no node crashes. Duplicates do no harm.
//!
//! **Why there is one leader.** A wave is back when all nodes have taken part in it (see there):
//! one that has gone over to a higher wave before it has echoed never echoes. And no node takes
//! part in a wave that is lower than itself. So the leader is the highest.
//!
//! **Why everyone is told.** A node that takes part in a wave explores all its links, and a node
//! that a wave reaches takes part in that or in a higher one; so every node is reached by some. The
//! highest node then starts its own, if it has not called before. No node is in a higher one, so
//! all join it when they first hear of it, and none leaves: it is an echo like any other, and comes
//! back.
//!
//! **Elections have numbers**, and every wave of a later one is higher than those of an earlier
//! one. A node that knows the result and calls again begins the next; so the wave of the one before
//! is back by then, and its remaining messages do not matter. A node that has called and gets no
//! result before the next election began gets the result of that one. A message of an earlier
//! election is lower than the wave that its receiver takes part in, and dies like a lower wave.
//!
//! **Where we depart from the book.** There, the lowest wins, and only of those that call. Here it
//! is the highest of all nodes: then the same node wins the next election, too, and no node takes
//! the lead from one that was elected by others. ([Chang and Roberts](super::chang_roberts) are
//! told like that today, too.) For that, nodes which have not called may have to start waves: up to
//! n·2e messages, where the book has 2e for every caller. The winner is made known along the tree,
//! with n − 1 messages and not 2e. The machine of the echo is used as it is, a new one for every
//! wave.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effect, Effects, Graph, Invariant, Message as _, Never, NodeId, NodeSet, NodeState, Outbox,
    Protocol, Refused, Situation,
};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, Terms};
use super::{Command, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;
use crate::topology::measure::distances;
use crate::wave::Gathered;
use crate::wave::Notice as WaveNotice;
use crate::wave::card::Setting as WaveSetting;
use crate::wave::echo::{self, Echo};

/// Which wave it is. A wave of a later election is higher, and of one election that of the higher
/// node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The number of the election, from 1.
    pub round: u32,
    /// The initiator of the wave.
    pub candidate: NodeId,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, round {}", self.candidate, self.round)
    }
}

/// The messages between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Here comes the wave.
    Candidate(Mark),
    /// It is back: all beyond this link have taken part.
    Agreed(Mark),
    /// All have, and its node leads.
    Leader(Mark),
}

impl Message {
    /// Which wave it belongs to.
    pub const fn mark(&self) -> Mark {
        let (Self::Candidate(mark) | Self::Agreed(mark) | Self::Leader(mark)) = self;
        *mark
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["CANDIDATE", "AGREED", "LEADER"];

    fn kind(&self) -> usize {
        match self {
            Self::Candidate(_) => 0,
            Self::Agreed(_) => 1,
            Self::Leader(_) => 2,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind_name(), self.mark())
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EchoElection {
    me: NodeId,
    links: Arc<[NodeId]>,
    /// The last election that it has heard of; 0 before the first.
    pub(super) round: u32,
    /// Its part in that one; none when it has been told who leads.
    pub(super) part: Option<Part>,
}

/// The part of a node in the highest wave that has reached it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Part {
    pub(super) candidate: NodeId,
    wave: Echo,
    /// Over whose links it has come back: the tree below this node.
    children: NodeSet,
}

/// The nodes of a set-up.
pub fn recipe() -> Recipe<EchoElection> {
    Recipe::new(|setup| {
        let graph = setup.topology.graph(setup.group)?;
        Ok(move |id| EchoElection::new(id, &graph))
    })
}

impl EchoElection {
    /// A node that has heard of no election.
    pub fn new(me: NodeId, graph: &Graph) -> Self {
        Self { me, links: graph.neighbours(me).into(), round: 0, part: None }
    }

    /// The highest wave that has come by. When an election is over, no wave of it is higher.
    pub(super) fn reached(&self) -> Mark {
        let over = NodeId(u32::MAX);
        Mark { round: self.round, candidate: self.part.as_ref().map_or(over, |it| it.candidate) }
    }

    /// Takes part in a wave from its beginning.
    fn take_part(&mut self, mark: Mark) {
        self.round = mark.round;
        let wave = Echo::among(self.me, Arc::clone(&self.links));
        self.part = Some(Part { candidate: mark.candidate, wave, children: NodeSet::EMPTY });
    }

    /// Starts a wave of its own.
    fn stand(&mut self, round: u32, fx: &mut impl Effects<Self>) {
        self.take_part(Mark { round, candidate: self.me });
        self.on_wave(fx, |wave, inner| wave.start(inner).expect("it is new"));
    }

    /// Lets the wave that it takes part in act, and leads if that is its own and has come back.
    fn on_wave(
        &mut self,
        fx: &mut impl Effects<Self>,
        act: impl FnOnce(&mut Echo, &mut Outbox<Echo>),
    ) {
        let mark = self.reached();
        let Some(part) = &mut self.part else { return };
        let mut inner = Outbox::default();
        act(&mut part.wave, &mut inner);
        for effect in inner.take() {
            match effect {
                Effect::Send { to, message: echo::Message::Explorer } => {
                    fx.send(to, Message::Candidate(mark));
                }
                // That all have taken part is all that there is to know.
                Effect::Send { to, message: echo::Message::Echo(_) } => {
                    fx.send(to, Message::Agreed(mark));
                }
                Effect::Notify(
                    WaveNotice::Joined { .. } | WaveNotice::Worked | WaveNotice::Over(_),
                ) => {}
                Effect::Notify(WaveNotice::Done(_)) => self.tell(fx),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
    }

    /// The election is over: passes on who leads.
    fn tell(&mut self, fx: &mut impl Effects<Self>) {
        let mark = self.reached();
        let Some(part) = self.part.take() else { return };
        fx.broadcast(part.children.iter(), Message::Leader(mark));
        fx.notify(Notice::Leader(mark.candidate));
    }

    fn on_candidate(&mut self, from: NodeId, mark: Mark, fx: &mut impl Effects<Self>) {
        match mark.cmp(&self.reached()) {
            // It dies here.
            Ordering::Less => return,
            Ordering::Equal => {}
            Ordering::Greater if mark.candidate > self.me => self.take_part(mark),
            Ordering::Greater => return self.stand(mark.round, fx),
        }
        self.on_wave(fx, |wave, inner| wave.on_message(from, echo::Message::Explorer, inner));
    }
}

impl Protocol for EchoElection {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        // The result of the current election will reach it.
        if self.part.is_none() {
            self.stand(self.round.saturating_add(1), fx);
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let is_mine = message.mark() == self.reached();
        match message {
            Message::Candidate(mark) => self.on_candidate(from, mark, fx),
            Message::Agreed(_) if is_mine => {
                if let Some(part) = &mut self.part {
                    part.children.insert(from);
                }
                let echo = echo::Message::Echo(Gathered::NOTHING);
                self.on_wave(fx, |wave, inner| wave.on_message(from, echo, inner));
            }
            Message::Leader(_) if is_mine => self.tell(fx),
            Message::Agreed(_) | Message::Leader(_) => {}
        }
    }

    fn state(&self) -> NodeState {
        let state = NodeState::new().with("election", self.round);
        match &self.part {
            None => state,
            Some(Part { candidate, wave, children }) => state
                .with("candidate", *candidate)
                .with("children", children)
                .beneath("wave", wave.state()),
        }
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<EchoElection>] = &[
    Invariant { name: "no way back", holds: no_way_back },
    Invariant { name: "all have agreed", holds: all_have_agreed },
];

/// A node that has sent a message of a wave is in that or in a higher one; and so is the receiver
/// of an echo or of the result.
fn no_way_back(at: &Situation<'_, EchoElection>) -> Result<(), String> {
    for (from, to, message) in at.messages() {
        let ends: &[NodeId] = match message {
            Message::Candidate(_) => &[from],
            Message::Agreed(_) | Message::Leader(_) => &[from, to],
        };
        let is_behind = |id: &&NodeId| at.node(**id).reached() < message.mark();
        if let Some(id) = ends.iter().find(is_behind) {
            return Err(format!(
                "{message} is under way from node {from} to node {to}, and node {id} is in a lower \
                 wave"
            ));
        }
    }
    Ok(())
}

/// When it is said that one leads, everyone has been in its wave.
fn all_have_agreed(at: &Situation<'_, EchoElection>) -> Result<(), String> {
    let leads = |message: &Message| match message {
        Message::Leader(mark) => Some(*mark),
        Message::Candidate(_) | Message::Agreed(_) => None,
    };
    let Some(mark) = at.messages().filter_map(|(.., it)| leads(it)).max() else { return Ok(()) };
    match at.up().find(|(id, node)| *id > mark.candidate || node.reached() < mark) {
        None => Ok(()),
        Some((id, _)) => Err(format!("LEADER({mark}) is under way, and node {id} has not agreed")),
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "echo-election",
    title: "Echo election (extinction)",
    solves: "election",
    citation: "Tel, 2000, §7.3; after Chang, IEEE TSE SE-8(4), 1982",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Grid)),
    takes: &[Parameter::Topology],
    terms: Terms { crashes: false, ..Terms::PLAIN },
    theory: &[MESSAGES.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("echo_election.rs"),
};

/// The cost if these nodes call, lowest first, before they have heard of each other.
///
/// The highest wave is an echo, and then there is the result. In any other wave a node that is not
/// higher sends one message over each of its links at most; a caller sends the first of them at
/// once. A node that has not called starts a wave only if a lower one comes, from a lower
/// neighbour: a higher neighbour takes part in no such wave.
pub(crate) fn messages_among(graph: &Graph, initiators: &[NodeId]) -> Span {
    let degree = |id: NodeId| graph.neighbours(id).len();
    let (Some(highest), Some(&lowest)) = (graph.group().members().next_back(), initiators.first())
    else {
        return Span::exactly(0.0);
    };
    let won = 2 * graph.edges() + highest.index();
    let (mut least, mut most, mut not_higher) = (won, won, 0);
    for id in graph.group().members().filter(|&id| id != highest) {
        not_higher += degree(id);
        let calls = initiators.binary_search(&id).is_ok();
        if calls {
            least += degree(id);
        }
        if calls || id > lowest && graph.neighbours(id).iter().any(|&other| other < id) {
            most += not_higher;
        }
    }
    Span::between(least as f64, most as f64)
}

fn messages(at: &Setting) -> Span {
    let Ok(graph) = at.setup.topology.graph(at.setup.group) else {
        return Span::between(0.0, f64::INFINITY);
    };
    let span = messages_among(&graph, &at.initiators);
    if span.low < span.high { span } else { Span::exactly(span.low) }
}

/// The first wave to reach a node comes from the nearest caller by a shortest path, for every node
/// that is reached explores all links. From when a wave reaches the highest node, there is an echo
/// and then the way down the tree, which is no deeper than the distance of the farthest node.
fn duration(at: &Setting) -> Span {
    let Ok(graph) = at.setup.topology.graph(at.setup.group) else {
        return Span::between(0.0, f64::INFINITY);
    };
    let highest = NodeId(at.nodes() - 1);
    let far = distances(&graph, highest);
    let nearest = at.initiators.iter().filter_map(|id| far[id.index()]).min().unwrap_or(0);
    let WaveSetting { farthest, farthest_linked, .. } = WaveSetting::new(&graph, highest);
    let wave = 2 * farthest + u64::from(farthest_linked);
    Span::exactly((u64::from(nearest) + wave + farthest) as f64)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "lower-waves-answered",
        what: "a lower wave does not die: a node in a higher one echoes it, so that it seems to \
               have been everywhere",
        breaks: "legitimacy",
        shown_by: Demonstration::of(2, &[0]),
    },
    Flaw {
        name: "first-wave-stays",
        what: "a node in a wave does not go over to a higher one: two that wait for each other do \
               so for ever",
        breaks: "termination",
        shown_by: Demonstration::of(2, &[0, 1]),
    },
    Flaw {
        name: "unnumbered",
        what: "elections have no number: the result of the last is taken for that of the next, \
               whose wave never comes back",
        breaks: "termination",
        shown_by: Demonstration::of(3, &[0, 2]).calling(2).given(&[(Parameter::Topology, "line")]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use vorrang_protocol::Group;

    use super::*;
    use crate::setup::Setup;

    fn graph(topology: &str, nodes: u32) -> Graph {
        topology.parse::<Topology>().unwrap().graph(Group::of(nodes)).unwrap()
    }

    /// A node of three in a line, 0 - 1 - 2.
    fn node(me: u32) -> EchoElection {
        EchoElection::new(NodeId(me), &graph("line", 3))
    }

    fn effects(
        node: &mut EchoElection,
        step: impl FnOnce(&mut EchoElection, &mut Outbox<EchoElection>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        step(node, &mut fx);
        let shown = |effect: &Effect<EchoElection>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::Notify(notice) => notice.to_string(),
            Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match *timer {},
        };
        fx.take().iter().map(shown).collect()
    }

    fn calls(node: &mut EchoElection) -> Vec<String> {
        effects(node, |node, fx| node.on_command(Command::Elect, fx).unwrap())
    }

    fn hears(node: &mut EchoElection, from: u32, message: Message) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    fn mark(candidate: u32, round: u32) -> Mark {
        Mark { round, candidate: NodeId(candidate) }
    }

    #[test]
    fn a_higher_wave_is_joined_and_a_lower_one_dies() {
        let mut middle = node(1);
        let joined = hears(&mut middle, 2, Message::Candidate(mark(2, 1)));
        assert_eq!(joined, ["0 CANDIDATE(2, round 1)"]);
        assert_eq!(hears(&mut middle, 0, Message::Candidate(mark(0, 1))), [""; 0]);
        assert_eq!(calls(&mut middle), [""; 0], "one is under way");
        let back = hears(&mut middle, 0, Message::Agreed(mark(2, 1)));
        assert_eq!(back, ["2 AGREED(2, round 1)"]);
        let told = hears(&mut middle, 2, Message::Leader(mark(2, 1)));
        assert_eq!(told, ["0 LEADER(2, round 1)", "node 2 leads"]);
        assert_eq!(hears(&mut middle, 2, Message::Leader(mark(2, 1))), [""; 0], "it knows");
    }

    #[test]
    fn whoever_is_higher_than_what_comes_stands_itself_and_goes_over_to_what_is_higher_still() {
        let mut middle = node(1);
        let stood = hears(&mut middle, 0, Message::Candidate(mark(0, 1)));
        assert_eq!(stood, ["0 CANDIDATE(1, round 1)", "2 CANDIDATE(1, round 1)"]);
        assert_eq!(hears(&mut middle, 0, Message::Agreed(mark(1, 1))), [""; 0]);
        let went = hears(&mut middle, 2, Message::Candidate(mark(2, 1)));
        assert_eq!(went, ["0 CANDIDATE(2, round 1)"], "what has come back is forgotten");
        assert_eq!(hears(&mut middle, 0, Message::Agreed(mark(1, 1))), [""; 0]);
        let back = hears(&mut middle, 0, Message::Agreed(mark(2, 1)));
        assert_eq!(back, ["2 AGREED(2, round 1)"]);
    }

    #[test]
    fn whose_wave_is_back_leads() {
        let mut last = node(2);
        assert_eq!(calls(&mut last), ["1 CANDIDATE(2, round 1)"]);
        let led = hears(&mut last, 1, Message::Agreed(mark(2, 1)));
        assert_eq!(led, ["1 LEADER(2, round 1)", "node 2 leads"]);
        let mut alone = EchoElection::new(NodeId(0), &graph("line", 1));
        assert_eq!(calls(&mut alone), ["node 0 leads"]);
        assert_eq!(calls(&mut alone), ["node 0 leads"], "and again");
    }

    #[test]
    fn what_is_left_of_an_election_is_none_of_the_next() {
        let mut end = node(0);
        assert_eq!(calls(&mut end), ["1 CANDIDATE(0, round 1)"]);
        // The next election comes before the result of this one.
        let next = hears(&mut end, 1, Message::Candidate(mark(1, 2)));
        assert_eq!(next, ["1 AGREED(1, round 2)"]);
        for left in [Message::Candidate(mark(2, 1)), Message::Leader(mark(2, 1))] {
            assert_eq!(hears(&mut end, 1, left), [""; 0]);
        }
        let further = hears(&mut end, 1, Message::Candidate(mark(2, 2)));
        assert_eq!(further, ["1 AGREED(2, round 2)"]);
        assert_eq!(hears(&mut end, 1, Message::Leader(mark(1, 2))), [""; 0]);
        assert_eq!(hears(&mut end, 1, Message::Leader(mark(2, 2))), ["node 2 leads"]);
        assert_eq!(hears(&mut end, 1, Message::Candidate(mark(1, 2))), [""; 0], "it is over");
        assert_eq!(calls(&mut end), ["1 CANDIDATE(0, round 3)"]);
    }

    #[test]
    fn invariants_hold_and_object() {
        let mut nodes = [node(0), node(1), node(2)];
        let judged = |nodes: &[EchoElection; 3], flight: &[(u32, u32, Message)]| {
            let flight = flight.iter().map(|(from, to, it)| (NodeId(*from), NodeId(*to), it));
            let at = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, flight.collect());
            at.judge(&INVARIANTS.iter().map(Into::into).collect::<Vec<_>>())
                .err()
                .map(|violation| violation.property)
        };
        calls(&mut nodes[2]);
        let said = (2, 1, Message::Candidate(mark(2, 1)));
        assert_eq!(judged(&nodes, &[said]), None);
        let unsaid = (1, 0, Message::Candidate(mark(2, 1)));
        assert_eq!(judged(&nodes, &[unsaid]), Some("no way back"), "1 has not heard of it");
        hears(&mut nodes[1], 2, said.2);
        assert_eq!(judged(&nodes, &[unsaid]), None);
        assert_eq!(judged(&nodes, &[(1, 0, Message::Agreed(mark(2, 1)))]), Some("no way back"));
        let leads = (2, 1, Message::Leader(mark(2, 1)));
        assert_eq!(judged(&nodes, &[leads]), Some("all have agreed"), "0 has not");
        hears(&mut nodes[0], 1, unsaid.2);
        assert_eq!(judged(&nodes, &[leads]), None);
        let lower = (1, 0, Message::Leader(mark(1, 1)));
        assert_eq!(judged(&nodes, &[lower]), Some("all have agreed"), "2 never could");
    }

    fn at(topology: &str, nodes: u32, initiators: &[u32]) -> Setting {
        let topology = topology.parse().unwrap();
        let setup = Setup { topology, ..Setup::new(Group::of(nodes)) };
        let initiators = initiators.iter().copied().map(NodeId).collect();
        Setting { setup, initiators, dead: NodeSet::EMPTY, lockstep: true }
    }

    #[test]
    fn it_costs_an_echo_and_a_tree_and_what_lower_waves_cost() {
        let of = |topology, nodes, initiators: &[u32]| {
            let span = messages(&at(topology, nodes, initiators));
            (span.low as u32, span.high as u32)
        };
        assert_eq!(of("ring", 8, &[7]), (16 + 7, 16 + 7));
        assert_eq!(of("complete", 5, &[4]), (20 + 4, 20 + 4));
        assert_eq!(of("line", 1, &[0]), (0, 0));
        // 0 is heard of by 1, which stands, and is agreed with by 0.
        assert_eq!(of("line", 3, &[0]), (4 + 2 + 1, 4 + 2 + 1 + 3));
        assert_eq!(of("line", 2, &[0, 1]), (2 + 1 + 1, 2 + 1 + 1));
        // Node 1 of 1 - 2 - 0 has no lower neighbour, and does not stand unless it calls.
        assert_eq!(of("links:1-2,0-2", 3, &[0]), (4 + 2 + 1, 4 + 2 + 1));
        assert_eq!(of("links:1-2,0-2", 3, &[0, 1]), (4 + 2 + 2, 4 + 2 + 1 + 2));
    }

    #[test]
    fn it_takes_an_echo_and_a_tree_from_when_the_highest_is_reached() {
        let of = |topology, nodes, calls: &[u32]| duration(&at(topology, nodes, calls)).low as u32;
        assert_eq!(of("line", 5, &[4]), 12);
        assert_eq!(of("line", 5, &[0, 3]), 13);
        assert_eq!(of("ring", 5, &[4]), 7, "the two farthest are linked");
        assert_eq!(of("line", 1, &[0]), 0);
    }
}
