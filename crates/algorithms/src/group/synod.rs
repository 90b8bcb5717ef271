//! The decision by ballots: Leslie Lamport, "The part-time parliament", ACM TOCS 16(2), 1998, as
//! told in "Paxos made simple", SIGACT News 32(4), 2001. One decree a number, and two phases.
//!
//! A proposer picks a ballot and asks for promises to take part in no lower one; an acceptor that
//! promises reports its last vote. With the promises of a [primary set](super::view::is_primary)
//! the proposer asks for votes, for the value of the highest ballot that was reported; only if
//! there was none, for its own value. A value that such a set has voted for in one ballot is
//! decided.
//!
//! ```text
//!   1  ──PREPARE(1.1)──▼──PROMISE──▼──ACCEPT(1.1: v)──▼──ACCEPTED──▼──[ v is decided ]
//!   2  ────────────────┴───────────┴──────────────────┴────────────┴─────────────────►
//! ```
//!
//! | n voters | cost |
//! | --- | --- |
//! | messages | 2(n − 1) if the first voter proposes first, else 4(n − 1) |
//! | delay | 2T, else 4T |
//!
//! **Assumes** nothing of order, losses and duplicates. Votes and promises survive crashes
//! (stable storage); what a proposer was doing does not.
//!
//! **Safe.** Let v be decided in ballot b. A higher ballot asks for votes only after promises of a
//! primary set, which has a node in common with the one that voted in b. That node voted before it
//! promised, so the proposer is told of a vote in b or later; by induction all votes above b are
//! for v. A ballot is used once: its second part is the proposer, whose own vote is the first it
//! asks for, before anything is sent, and which never uses a ballot that is not above its own
//! promise, not even after a crash. (One that may forget that has a part for each of its
//! [lives](super::decision::Proposer), and if it is no voter, though it has the number of one, its
//! own promise and vote do not count.) *Ballot 0* belongs to the first voter and needs no promises,
//! as there is no lower one.
//!
//! **Live** if one proposer is not disturbed for long enough: a proposer that is refused stops, and
//! tries again only when it is asked to. So of two competing proposers the later wins, unless both
//! are asked again and again at the same pace; the layer above must see to it that eventually there
//! is only one.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Data, Effects, Never, NodeId, NodeSet, NodeState, Protocol, Refused, SortedMap, StateValue,
};

use super::decision::{Decide, Decided, Decision, Proposer};
use super::shown::Shown;
use super::view::is_primary;

/// A ballot: its round, and whose it is. Higher is later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ballot {
    /// From 0, which only the first voter has.
    pub round: u32,
    /// Its proposer.
    pub of: NodeId,
    /// In which life, if that matters.
    pub life: u64,
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.round, self.of)
    }
}

/// The messages between nodes, each about the instance with this number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<V> {
    /// Take part in no lower ballot.
    Prepare(u64, Ballot),
    /// I will not; and this is what I have voted for last.
    Promise(u64, Ballot, Option<(Ballot, V)>),
    /// Vote for this.
    Accept(u64, Ballot, V),
    /// I have.
    Accepted(u64, Ballot),
    /// I take part in no ballot lower than this.
    Refused(u64, Ballot),
}

impl<V: Data> vorrang_protocol::Message for Message<V> {
    const KINDS: &'static [&'static str] = &["PREPARE", "PROMISE", "ACCEPT", "ACCEPTED", "REFUSED"];

    fn kind(&self) -> usize {
        match self {
            Self::Prepare(..) => 0,
            Self::Promise(..) => 1,
            Self::Accept(..) => 2,
            Self::Accepted(..) => 3,
            Self::Refused(..) => 4,
        }
    }
}

impl<V: Data> fmt::Display for Message<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = vorrang_protocol::Message::kind_name(self);
        match self {
            Self::Prepare(number, ballot)
            | Self::Accept(number, ballot, _)
            | Self::Accepted(number, ballot)
            | Self::Refused(number, ballot)
            | Self::Promise(number, ballot, None) => write!(f, "{kind}({number}: {ballot})"),
            Self::Promise(number, ballot, Some((voted, _))) => {
                write!(f, "{kind}({number}: {ballot}, voted in {voted})")
            }
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Synod<V> {
    me: NodeId,
    /// On stable storage, for every decision that is not settled.
    votes: SortedMap<u64, Vote<V>>,
    attempt: Option<Attempt<V>>,
}

/// The promise and the vote of a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Vote<V> {
    /// It takes part in no lower ballot.
    promised: Option<Ballot>,
    accepted: Option<(Ballot, V)>,
}

/// The state of a proposer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Attempt<V> {
    number: u64,
    by: Proposer,
    voters: Vec<NodeId>,
    ballot: Ballot,
    /// The value that it asks votes for.
    value: V,
    phase: Phase,
    /// The nodes that have promised, or voted.
    answered: NodeSet,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// It asks for promises; the highest ballot that it was told of a vote in.
    Preparing(Option<Ballot>),
    /// It asks for votes.
    Asking,
}

impl<V> Attempt<V> {
    /// An answer; its own counts if it is a voter.
    fn count(&mut self, from: NodeId, me: NodeId) {
        if from != me || self.by.votes {
            self.answered.insert(from);
        }
    }
}

impl<V: Shown> Synod<V> {
    fn vote(&mut self, number: u64) -> &mut Vote<V> {
        self.votes.get_or_insert(number, Vote { promised: None, accepted: None })
    }

    /// Begins a ballot above all that it has promised.
    fn begin(
        &mut self,
        (number, by): (u64, Proposer),
        voters: Vec<NodeId>,
        value: V,
        fx: &mut impl Effects<Self>,
    ) {
        let me = self.me;
        let promised = self.vote(number).promised;
        let is_first = by.votes && promised.is_none() && voters.first() == Some(&me);
        let round = if is_first { 0 } else { promised.map_or(1, |it| it.round + 1) };
        let ballot = Ballot { round, of: me, life: by.life };
        let phase = if is_first { Phase::Asking } else { Phase::Preparing(None) };
        let answered = NodeSet::EMPTY;
        self.attempt = Some(Attempt { number, by, voters, ballot, value, phase, answered });
        self.ask_itself(fx);
        self.ask_others(fx);
    }

    /// Its own promise or vote comes first, and without a message. A promise that it has given
    /// another proposer meanwhile binds it as any node.
    fn ask_itself(&mut self, fx: &mut impl Effects<Self>) {
        let Some(attempt) = &self.attempt else { return };
        let (number, ballot) = (attempt.number, attempt.ballot);
        let promised = self.votes.get(&number).and_then(|vote| vote.promised);
        if promised > Some(ballot) {
            self.attempt = None;
            return;
        }
        match attempt.phase {
            Phase::Preparing(_) => {
                let vote = self.vote(number);
                vote.promised = Some(ballot);
                let accepted = vote.accepted.clone();
                self.on_promise(self.me, number, ballot, accepted, fx);
            }
            Phase::Asking => {
                let value = attempt.value.clone();
                let vote = self.vote(number);
                *vote = Vote { promised: Some(ballot), accepted: Some((ballot, value)) };
                self.on_accepted(self.me, number, ballot, fx);
            }
        }
    }

    /// Asks those who have not answered.
    fn ask_others(&self, fx: &mut impl Effects<Self>) {
        let Some(attempt) = &self.attempt else { return };
        let Attempt { number, voters, ballot, value, phase, answered, .. } = attempt;
        let message = match phase {
            Phase::Preparing(_) => Message::Prepare(*number, *ballot),
            Phase::Asking => Message::Accept(*number, *ballot, value.clone()),
        };
        let silent = voters.iter().copied().filter(|&it| it != self.me && !answered.contains(it));
        fx.broadcast(silent, message);
    }

    fn on_promise(
        &mut self,
        from: NodeId,
        number: u64,
        ballot: Ballot,
        voted: Option<(Ballot, V)>,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(attempt) = &mut self.attempt else { return };
        let Phase::Preparing(highest) = attempt.phase else { return };
        if (attempt.number, attempt.ballot) != (number, ballot) {
            return;
        }
        attempt.count(from, self.me);
        if let Some((voted, value)) = voted
            && Some(voted) > highest
        {
            attempt.value = value;
            attempt.phase = Phase::Preparing(Some(voted));
        }
        if is_primary(&attempt.voters, &attempt.answered) {
            attempt.phase = Phase::Asking;
            attempt.answered.clear();
            self.ask_itself(fx);
            self.ask_others(fx);
        }
    }

    fn on_accepted(
        &mut self,
        from: NodeId,
        number: u64,
        ballot: Ballot,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(attempt) = &mut self.attempt else { return };
        if (attempt.number, attempt.ballot, attempt.phase) != (number, ballot, Phase::Asking) {
            return;
        }
        attempt.count(from, self.me);
        if is_primary(&attempt.voters, &attempt.answered) {
            let value = attempt.value.clone();
            self.attempt = None;
            fx.notify(Decided::Learned { number, value });
        }
    }
}

impl<V: Shown> Protocol for Synod<V> {
    type Message = Message<V>;
    type Timer = Never;
    type Command = Decide<V>;
    type Notice = Decided<V>;

    fn on_command(
        &mut self,
        command: Decide<V>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        match command {
            Decide::Propose { number, .. }
                if self.attempt.as_ref().is_some_and(|it| it.number == number) =>
            {
                self.ask_others(fx);
            }
            Decide::Propose { number, by, voters, value } => {
                self.begin((number, by), voters, value, fx);
            }
            Decide::Settled(number) => {
                self.votes = self.votes.split_off(&(number + 1));
                self.attempt.take_if(|it| it.number <= number);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message<V>, fx: &mut impl Effects<Self>) {
        match message {
            Message::Prepare(number, ballot) => {
                let vote = self.vote(number);
                let answer = match vote.promised {
                    Some(promised) if promised > ballot => Message::Refused(number, promised),
                    _ => {
                        vote.promised = Some(ballot);
                        Message::Promise(number, ballot, vote.accepted.clone())
                    }
                };
                fx.send(from, answer);
            }
            Message::Accept(number, ballot, value) => {
                let vote = self.vote(number);
                let answer = match vote.promised {
                    Some(promised) if promised > ballot => Message::Refused(number, promised),
                    _ => {
                        *vote = Vote { promised: Some(ballot), accepted: Some((ballot, value)) };
                        Message::Accepted(number, ballot)
                    }
                };
                fx.send(from, answer);
            }
            Message::Promise(number, ballot, accepted) => {
                self.on_promise(from, number, ballot, accepted, fx);
            }
            Message::Accepted(number, ballot) => self.on_accepted(from, number, ballot, fx),
            Message::Refused(number, promised) => {
                if self.attempt.take_if(|it| it.number == number && it.ballot < promised).is_some()
                {
                    // As if it had been asked itself: so that its next ballot is above that.
                    let vote = self.vote(number);
                    vote.promised = vote.promised.max(Some(promised));
                }
            }
        }
    }

    /// What it has promised and accepted, by the number of the view, and what it proposes.
    fn state(&self) -> NodeState {
        let ballot = |&Ballot { round, of, life }: &Ballot| match life {
            0 => StateValue::from((round, of)),
            life => StateValue::from((round, of, life)),
        };
        let promised = self
            .votes
            .iter()
            .filter_map(|(&number, vote)| vote.promised.as_ref().map(|it| (number, ballot(it))));
        let accepted = self.votes.iter().filter_map(|(&number, vote)| {
            let (of, value) = vote.accepted.as_ref()?;
            Some((number, ballot(of), value.shown()))
        });
        let known = self.votes.keys().copied();
        let attempt = self.attempt.as_ref().map(|attempt| {
            let (phase, highest) = match &attempt.phase {
                Phase::Preparing(highest) => ("preparing", highest.as_ref().map(ballot)),
                Phase::Asking => ("asking for votes", None),
            };
            NodeState::new()
                .with("view", attempt.number)
                .with("ballot", ballot(&attempt.ballot))
                .with("phase", phase)
                .with("highest", highest)
                .with("answered", &attempt.answered)
                .with("voters", StateValue::set(attempt.voters.iter().copied()))
                .with("value", attempt.value.shown())
        });
        NodeState::new()
            .with("decisions", StateValue::set(known))
            .with("promised", StateValue::list(promised))
            .with("accepted", StateValue::list(accepted))
            .with("proposes", attempt)
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { votes: self.votes.clone(), ..fresh }
    }
}

impl<V: Shown> Decision<V> for Synod<V> {
    type Votes = SortedMap<u64, Vote<V>>;

    fn votes(&self) -> &Self::Votes {
        &self.votes
    }

    fn with_votes(self, votes: Self::Votes) -> Self {
        Self { votes, ..self }
    }

    fn new(me: NodeId) -> Self {
        Self { me, votes: SortedMap::new(), attempt: None }
    }

    fn suffices(&self, voters: &[NodeId], present: &NodeSet) -> bool {
        is_primary(voters, present)
    }

    fn has_voted(&self, number: u64) -> bool {
        self.votes.from_key(&number).any(|(_, vote)| vote.accepted.is_some())
    }

    fn question(message: &Message<V>) -> Option<u64> {
        match message {
            Message::Prepare(number, _) | Message::Accept(number, ..) => Some(*number),
            Message::Promise(..) | Message::Accepted(..) | Message::Refused(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    impl Shown for char {
        fn shown(&self) -> StateValue {
            StateValue::shown(self)
        }
    }

    fn came(
        node: &mut Synod<char>,
        act: impl FnOnce(&mut Synod<char>, &mut Outbox<Synod<char>>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        act(node, &mut fx);
        let shown = |effect: Effect<Synod<char>>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::Notify(Decided::Learned { number, value }) => format!("{number}: {value}"),
            Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
        };
        fx.take().into_iter().map(shown).collect()
    }

    fn propose(node: &mut Synod<char>, value: char) -> Vec<String> {
        let voters = [0, 1, 2].map(NodeId).to_vec();
        came(node, |node, fx| {
            let by = Proposer::VOTER;
            node.on_command(Decide::Propose { number: 5, by, voters, value }, fx).unwrap();
        })
    }

    fn hear(node: &mut Synod<char>, from: u32, message: Message<char>) -> Vec<String> {
        came(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    const fn ballot(round: u32, of: u32) -> Ballot {
        Ballot { round, of: NodeId(of), life: 0 }
    }

    #[test]
    fn the_lowest_needs_one_phase_and_the_others_two() {
        let mut lowest = Synod::new(NodeId(0));
        assert_eq!(propose(&mut lowest, 'a'), ["1 ACCEPT(5: 0.0)", "2 ACCEPT(5: 0.0)"]);
        assert_eq!(hear(&mut lowest, 2, Message::Accepted(5, ballot(0, 0))), ["5: a"]);
        let mut other = Synod::new(NodeId(1));
        assert_eq!(propose(&mut other, 'b'), ["0 PREPARE(5: 1.1)", "2 PREPARE(5: 1.1)"]);
        let asks = ["0 ACCEPT(5: 1.1)", "2 ACCEPT(5: 1.1)"];
        assert_eq!(hear(&mut other, 2, Message::Promise(5, ballot(1, 1), None)), asks);
        assert_eq!(propose(&mut other, 'x'), asks, "once more");
        assert_eq!(hear(&mut other, 0, Message::Accepted(5, ballot(1, 1))), ["5: b"]);
    }

    #[test]
    fn what_may_have_been_decided_is_proposed_again() {
        let mut node = Synod::new(NodeId(1));
        propose(&mut node, 'b');
        let voted = Some((ballot(0, 0), 'a'));
        hear(&mut node, 0, Message::Promise(5, ballot(1, 1), voted));
        assert_eq!(hear(&mut node, 2, Message::Accepted(5, ballot(1, 1))), ["5: a"]);
    }

    #[test]
    fn promises_and_votes_outlive_a_crash_and_no_ballot_is_used_twice() {
        let mut node = Synod::new(NodeId(0));
        propose(&mut node, 'a');
        node = node.after_crash(Synod::new(NodeId(0)));
        assert_eq!(propose(&mut node, 'b'), ["1 PREPARE(5: 1.0)", "2 PREPARE(5: 1.0)"]);
        hear(&mut node, 1, Message::Promise(5, ballot(1, 0), None));
        assert_eq!(hear(&mut node, 1, Message::Accepted(5, ballot(1, 0))), ["5: a"]);
        let lower = hear(&mut node, 2, Message::Prepare(5, ballot(0, 2)));
        assert_eq!(lower, ["2 REFUSED(5: 1.0)"]);
        let higher = hear(&mut node, 2, Message::Prepare(5, ballot(1, 2)));
        assert_eq!(higher, ["2 PROMISE(5: 1.2, voted in 1.0)"]);
        assert_eq!(
            hear(&mut node, 1, Message::Accept(5, ballot(1, 1), 'c')),
            ["1 REFUSED(5: 1.2)"]
        );
    }

    #[test]
    fn whoever_is_refused_stops_and_tries_higher_when_it_is_asked_again() {
        let mut node = Synod::new(NodeId(1));
        propose(&mut node, 'b');
        assert_eq!(hear(&mut node, 0, Message::Refused(5, ballot(3, 0))), [""; 0]);
        assert_eq!(hear(&mut node, 2, Message::Promise(5, ballot(1, 1), None)), [""; 0]);
        assert_eq!(propose(&mut node, 'b'), ["0 PREPARE(5: 4.1)", "2 PREPARE(5: 4.1)"]);
    }

    #[test]
    fn whoever_proposes_keeps_what_it_has_promised_others() {
        let mut node = Synod::new(NodeId(1));
        propose(&mut node, 'b');
        let promises = hear(&mut node, 0, Message::Prepare(5, ballot(2, 0)));
        assert_eq!(promises, ["0 PROMISE(5: 2.0)"]);
        assert_eq!(hear(&mut node, 2, Message::Promise(5, ballot(1, 1), None)), [""; 0]);
        let voted = hear(&mut node, 0, Message::Accept(5, ballot(2, 0), 'a'));
        assert_eq!(voted, ["0 ACCEPTED(5: 2.0)"]);
    }

    /// A proposer with the number of the first voter, and without what that one has kept.
    fn propose_as_another(node: &mut Synod<char>, life: u64, value: char) -> Vec<Message<char>> {
        let voters = [1, 2, 3].map(NodeId).to_vec();
        let by = Proposer { votes: false, life };
        let mut fx = Outbox::default();
        node.on_command(Decide::Propose { number: 5, by, voters, value }, &mut fx).unwrap();
        let sent = |effect| match effect {
            Effect::Send { message, .. } => message,
            Effect::Notify(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => panic!(),
        };
        fx.take().into_iter().map(sent).collect()
    }

    #[test]
    fn whoever_only_has_the_number_of_a_voter_has_neither_its_vote_nor_its_first_ballot() {
        let mut node = Synod::new(NodeId(1));
        let of = |life| Ballot { round: 1, of: NodeId(1), life };
        let asks = propose_as_another(&mut node, 7, 'a');
        assert_eq!(asks, [Message::Prepare(5, of(7)), Message::Prepare(5, of(7))]);
        assert_eq!(hear(&mut node, 2, Message::Promise(5, of(7), None)), [""; 0], "one of three");
        assert!(!hear(&mut node, 3, Message::Promise(5, of(7), None)).is_empty());
        assert_eq!(hear(&mut node, 2, Message::Accepted(5, of(7))), [""; 0], "one of three");
        assert_eq!(hear(&mut node, 3, Message::Accepted(5, of(7))), ["5: a"]);
    }

    /// A voter has voted for what the former life proposed, and the next life knows nothing of it.
    #[test]
    fn two_lives_that_know_nothing_of_each_other_propose_in_different_ballots() {
        let mut voter = Synod::new(NodeId(2));
        let asks = |life, value| {
            let mut node = Synod::new(NodeId(1));
            propose_as_another(&mut node, life, value).swap_remove(0)
        };
        let (former, latter) = (asks(7, 'a'), asks(9, 'b'));
        assert_ne!(former, latter);
        let Message::Prepare(5, ballot) = former else { panic!() };
        hear(&mut voter, 1, Message::Accept(5, ballot, 'a'));
        let said = hear(&mut voter, 1, latter);
        assert_eq!(said, ["1 PROMISE(5: 1.1, voted in 1.1)"]);
        let late = hear(&mut voter, 1, Message::Accept(5, ballot, 'a'));
        assert_eq!(late, ["1 REFUSED(5: 1.1)"], "of the former life");
    }

    #[test]
    fn what_is_settled_is_forgotten() {
        let mut node = Synod::new(NodeId(1));
        propose(&mut node, 'b');
        came(&mut node, |node, fx| node.on_command(Decide::Settled(5), fx).unwrap());
        assert_eq!(node, Synod::new(NodeId(1)));
    }

    #[test]
    fn of_several_votes_that_of_the_highest_ballot_counts() {
        let mut node = Synod::new(NodeId(1));
        hear(&mut node, 0, Message::Accept(5, ballot(2, 0), 'a'));
        assert_eq!(propose(&mut node, 'b'), ["0 PREPARE(5: 3.1)", "2 PREPARE(5: 3.1)"]);
        let lower = Some((ballot(1, 2), 'c'));
        hear(&mut node, 2, Message::Promise(5, ballot(3, 1), lower));
        assert_eq!(hear(&mut node, 2, Message::Accepted(5, ballot(3, 1))), ["5: a"]);
    }
}
