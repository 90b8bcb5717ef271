//! A node with the votes of more than half of the nodes may enter. Majorities are those of R. H.
//! Thomas, "A majority consensus approach to concurrency control for multiple copy databases", ACM
//! Transactions on Database Systems 4(2), 1979, pp. 180–209; exclusive votes, and their return for
//! an older request, are from M. Maekawa, "A √N algorithm for mutual exclusion in decentralized
//! systems", ACM Transactions on Computer Systems 3(2), 1985, pp. 145–159.
//!
//! Every node has one vote. A node that wants to enter asks all nodes, itself included, and enters
//! with the votes of any majority: as long as a majority answers, crashed nodes are not missed. If
//! an older request comes, the arbiter inquires of the holder of its vote, which gives it back
//! unless it is inside. A node that leaves informs all, also those whose votes it did not need.
//!
//! **Use it** where some idle nodes may be down and nobody knows which: any majority will do. One
//! that crashes inside or while it waits may stop others.
//!
//! ```text
//!   0  ──REQUEST(1)─┬───────────────────────────────────▲─[ inside ]─RELEASE(1)─┬──►
//!                   │                                   │                       │
//!   2  ──LOCKED(1)┬─┼▼─INQUIRE(1)─┐         ▲─LOCKED(1)─┘                       ▼─LOCKED(1)─┐
//!                 │ │             │         │                                               │
//!   1  ───────────▼─┼─────────────▼─RELINQUISH(1)  waits for 2 again ───────────────────────▼──►
//!                   │
//!   3, 4            x  dead, and not missed
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 3(N−1) alone and under saturation; on average 6(N−1) + 3 at most |
//! | synchronisation delay | 2T; T if there are two or three nodes |
//! | response without contention | 2T + E |
//! | response under saturation | about N(2T + E) |
//!
//! If REQUEST comes so late that the request is over, or finds a vote that is out until then, there
//! is no LOCKED: an entry takes 2(N−1) + ⌊N/2⌋ messages at least. Where votes must be given back
//! first, a hand-over takes up to 4T.
//!
//! **Assumes** that messages are not lost or duplicated; their order does not matter. Up to
//! ⌊(N−1)/2⌋ nodes may crash that neither wait nor are inside, if the messages that they have sent
//! arrive, without a failure detector: there are no time-outs. If a node crashes that waits or is
//! inside, its votes are gone, and others may wait for ever (`vorrang check majority-votes
//! --crashes 1`; [in time](super::majority_votes_timely) they can be withdrawn); still no two are
//! inside. If it restarts, it tells all that its requests are over (RESTARTED), and the votes are
//! back. For this a node must keep its clock and the holder of its vote on stable storage, and
//! write them before a vote goes out: a node that forgets that it has voted votes twice (the flaw
//! `amnesia`). What it was told while it was down is lost. So whoever waits when RESTARTED comes
//! asks all anew, with a later time, which takes N−1 messages. A RELEASE that was lost is not made
//! up for: the vote is back when the node that has left asks again.
//!
//! A single message that is lost makes one arbiter useless at most, so that with three nodes or
//! more all are served; two may leave a node waiting. A duplicate of a LOCKED that arrives after
//! the vote has been given back gives one vote to two nodes: duplicates must be filtered
//! (`--reliable`).
//!
//! **Why it is safe.** Two inside have each the votes of a majority, and two majorities share an
//! arbiter. Its vote is with one request at a time: it gives it to another when the first has given
//! it back or is over, and a request that has given it back must wait to get it again. A permission
//! that is not exclusive, such as the reply of Ricart and Agrawala's algorithm, will not do: an
//! idle node would give it to both (the flaw `votes-for-all`).
//!
//! **Why no request starves.** Take the oldest request of all. Every live arbiter gives it its
//! vote, or has given it to a younger one and asked for it back. A node that is asked is inside and
//! will leave, or gives the vote back at once. So the oldest request gets the votes of all live
//! arbiters, and these are a majority; it need not give any back, since none is older. A node that
//! has left asks again with a later time, since clocks advance with every request that a node makes
//! or sees; so every request is the oldest at some time. Entries do not follow the stamps: a
//! younger request that has its majority goes first. A restart makes requests younger, each once.
//! After it they have lost nothing of what they have said to the node that was down, neither a
//! REQUEST nor a RELINQUISH: whatever is lost there was sent before its RESTARTED arrives.
//!
//! **Why 6(N−1) + 3.** Besides REQUEST, LOCKED and RELEASE, a request causes at each arbiter one
//! INQUIRE at most, one RELINQUISH for it, and a second LOCKED for the request that gave its vote
//! back; at the node's own arbiter, which takes no message itself, these three as well.
//!
//! **Where we depart from** Maekawa's rules (see [`maekawa`](super::maekawa)), apart from any
//! majority instead of a fixed quorum:
//! - There is no FAILED. In Maekawa's algorithm a refused request gives back its locks; here that
//!   does not depend on refusals. A node that kept its votes as long as enough answers might still
//!   come would wait for those of crashed nodes, and others for its votes. So a waiting node gives
//!   back every vote that it is asked for, and a refusal would tell it nothing.
//! - A node can leave before its REQUEST has arrived everywhere. So RELEASE takes a request out of
//!   line, wherever it stands, and an arbiter remembers of each node up to which time its requests
//!   are over. A new request says the same of all earlier ones.
//! - Votes beyond a majority are kept until the exit.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Group, Never, NodeId, NodeSet, NodeState, Protocol, Refused, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, MORE_THAN_HALF, RESPONSE, SYNC_DELAY,
    Setting, Terms,
};
use super::locking::{Arbiter, Phase};
use super::self_messages::HandlesSelfMessages;
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::clock::{Clock, Stamp};

/// The messages between nodes, each about the request of this time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the time of the request, in all of them")]
pub enum Message {
    /// A requester: may I have your vote?
    Request { time: u64 },
    /// An arbiter: it is yours.
    Locked { time: u64 },
    /// An arbiter: would you give it back, unless you are inside?
    Inquire { time: u64 },
    /// A requester: have it back, I wait for it again.
    Relinquish { time: u64 },
    /// A requester: this request is over, and so are all before it.
    Release { time: u64 },
    /// A node: I was down, and my requests up to this one are over.
    Restarted { time: u64 },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "LOCKED", "INQUIRE", "RELINQUISH", "RELEASE", "RESTARTED"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Locked { .. } => 1,
            Self::Inquire { .. } => 2,
            Self::Relinquish { .. } => 3,
            Self::Release { .. } => 4,
            Self::Restarted { .. } => 5,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Request { time }
        | Self::Locked { time }
        | Self::Inquire { time }
        | Self::Relinquish { time }
        | Self::Release { time }
        | Self::Restarted { time }) = self;
        write!(f, "{}({time})", vorrang_protocol::Message::kind_name(self))
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MajorityVotes {
    pub(super) me: NodeId,
    pub(super) group: Group,
    /// The highest time counted or seen in a request.
    pub(super) clock: Clock,
    /// The holder of this node's vote, and the requests that wait for it.
    pub(super) arbiter: Arbiter,
    /// Whether the vote has been asked back from who has it.
    pub(super) asked_back: bool,
    /// For each node the time up to which its requests are over.
    pub(super) over: Vec<u64>,
    pub(super) phase: Phase,
    /// The arbiters whose votes our request has.
    pub(super) votes: NodeSet,
    /// Those who asked for their vote back before it came.
    pub(super) inquired: NodeSet,
}

impl MajorityVotes {
    /// A node that has neither asked nor been asked.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self {
            me,
            group,
            clock: Clock::default(),
            arbiter: Arbiter::default(),
            asked_back: false,
            over: vec![0; group.size() as usize],
            phase: Phase::Outside,
            votes: NodeSet::EMPTY,
            inquired: NodeSet::EMPTY,
        }
    }

    /// More than half of all nodes, the dead included.
    pub(super) const fn majority(&self) -> u32 {
        self.group.size() / 2 + 1
    }

    // --- the arbiter

    /// The requests of a node are over up to this one; false if that is known.
    fn end(&mut self, Stamp { time, node }: Stamp) -> bool {
        // Messages to or from nodes outside the group are dropped.
        let Some(over) = self.over.get_mut(node.index()).filter(|over| **over < time) else {
            return false;
        };
        *over = time;
        self.arbiter.end(Stamp::new(time, node));
        true
    }

    fn on_request(&mut self, new: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(new.time);
        if self.over.get(new.node.index()).is_none_or(|&over| new.time <= over) {
            return;
        }
        self.end(Stamp { time: new.time - 1, ..new });
        self.arbiter.enqueue(new);
        match self.arbiter.lock {
            None => self.give(fx),
            Some(holder) if new < holder && !self.asked_back => {
                self.asked_back = true;
                fx.send(holder.node, Message::Inquire { time: holder.time });
            }
            Some(_) => {}
        }
    }

    fn on_relinquish(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.arbiter.unlock(request) {
            self.arbiter.enqueue(request);
            self.give(fx);
        }
    }

    fn on_release(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.end(request) {
            self.give(fx);
        }
    }

    /// Gives the vote to the oldest of those who wait, if it is here.
    fn give(&mut self, fx: &mut impl Effects<Self>) {
        if self.arbiter.lock.is_some() {
            return;
        }
        self.asked_back = false;
        self.arbiter.lock = self.arbiter.next();
        if let Some(Stamp { time, node }) = self.arbiter.lock {
            fx.send(node, Message::Locked { time });
        }
    }

    // --- the requester

    /// A new request ends all earlier ones, wherever it arrives.
    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let time = self.clock.tick();
        self.phase = Phase::Waiting(time);
        self.votes.clear();
        self.inquired.clear();
        self.everyone(Message::Request { time }, fx);
    }

    /// A node that was down may have missed the request, or that a vote was given back.
    fn on_restarted(&mut self, over: Stamp, fx: &mut impl Effects<Self>) {
        self.on_release(over, fx);
        if matches!(self.phase, Phase::Waiting(_)) {
            self.ask(fx);
        }
    }

    /// A vote that makes a majority is not given back.
    fn on_locked(&mut self, arbiter: NodeId, time: u64, fx: &mut impl Effects<Self>) {
        self.votes.insert(arbiter);
        if self.votes.len() >= self.majority() as usize {
            self.phase = Phase::Inside(time);
            self.inquired.clear();
            fx.notify(Notice::Entered);
        } else if self.inquired.contains(arbiter) {
            self.inquired.remove(arbiter);
            self.give_back(arbiter, time, fx);
        }
    }

    /// One that overtakes its vote waits for it.
    fn on_inquire(&mut self, arbiter: NodeId, time: u64, fx: &mut impl Effects<Self>) {
        if self.votes.contains(arbiter) {
            self.give_back(arbiter, time, fx);
        } else {
            self.inquired.insert(arbiter);
        }
    }

    fn give_back(&mut self, arbiter: NodeId, time: u64, fx: &mut impl Effects<Self>) {
        self.votes.remove(arbiter);
        fx.send(arbiter, Message::Relinquish { time });
    }

    fn everyone(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.broadcast(self.group.members(), message);
    }
}

impl HandlesSelfMessages for MajorityVotes {
    fn me(&self) -> NodeId {
        self.me
    }

    fn obey(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => self.ask(fx),
            (Command::Release, Phase::Inside(time)) => {
                self.phase = Phase::Outside;
                self.votes.clear();
                self.everyone(Message::Release { time }, fx);
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting(_)) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting(_)) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn hear(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { time } => self.on_request(Stamp::new(time, from), fx),
            Message::Relinquish { time } => self.on_relinquish(Stamp::new(time, from), fx),
            Message::Release { time } => self.on_release(Stamp::new(time, from), fx),
            Message::Restarted { time } => self.on_restarted(Stamp::new(time, from), fx),
            Message::Locked { time } if self.phase == Phase::Waiting(time) => {
                self.on_locked(from, time, fx);
            }
            Message::Inquire { time } if self.phase == Phase::Waiting(time) => {
                self.on_inquire(from, time, fx);
            }
            // The node is inside, has more votes than it needs, and will leave; or the message is
            // about a request that is over, and the RELEASE returns the vote.
            Message::Locked { .. } | Message::Inquire { .. } => {}
        }
    }
}

impl Protocol for MajorityVotes {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.obey_at_home(command, fx)
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.hear_at_home(from, message, fx);
    }

    /// Its earlier requests are over.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let time = self.clock.now();
        for other in self.group.members().filter(|&it| it != self.me) {
            fx.send(other, Message::Restarted { time });
        }
        self.hear_at_home(self.me, Message::Release { time }, fx);
    }

    /// `over`: up to which time the requests of each node are done with.
    fn state(&self) -> NodeState {
        self.phase
            .state()
            .with("clock", self.clock.now())
            .with("votes", &self.votes)
            .with("inquired", &self.inquired)
            .and(self.arbiter.state("voted for"))
            .with("asked back", self.asked_back)
            .with("over", StateValue::vector(self.over.iter().copied()))
    }

    /// The vote, and the clock: an arbiter that has forgotten the holder of its vote gives a second
    /// one, and a request that is older than one that is over is ignored.
    fn after_crash(&self, fresh: Self) -> Self {
        Self {
            clock: self.clock,
            arbiter: self.arbiter.clone(),
            asked_back: self.asked_back,
            over: self.over.clone(),
            ..fresh
        }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "majority-votes",
    title: "Majority of exclusive votes",
    solves: "mutual exclusion",
    citation: "Thomas, ACM TODS 4(2), 1979; after Maekawa, ACM TOCS 3(2), 1985",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms { needs: MORE_THAN_HALF, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| {
            Span::between(f64::from(at.nodes().min(2) - 1), theory::MOST_LOCKING_DELAY)
        }),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("majority_votes.rs"),
};

/// Asked, answered, told; unless the request is over before it can be answered. Under saturation,
/// and if all messages take the same time, all arbiters vote for the same one after the other.
fn messages(at: &Setting) -> Span {
    let all = 3.0 * at.others();
    // The answers of a majority; its own takes no message.
    let least = 2.0 * at.others() + f64::from(at.nodes() / 2);
    if at.load == Load::Heavy && at.contenders > 1 {
        Span::between(least, 6.0 * at.others() + 3.0).typically(all)
    } else if least < all {
        Span::between(least, all)
    } else {
        Span::exactly(all)
    }
}

fn response(at: &Setting) -> Span {
    let queue = theory::queue_of(at.contenders, theory::MOST_LOCKING_DELAY, at);
    if at.contenders == 1 { Span::exactly(queue.low) } else { queue }
}

/// What goes wrong without each of its rules; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "votes-for-all",
        what: "an arbiter votes for everyone who asks, as if a reply were a vote",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "amnesia",
        what: "an arbiter that comes up again has forgotten to whom it gave its vote",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]).crashing(1, 1),
    },
    Flaw {
        name: "answered-before-voted",
        what: "an inquiry that overtakes its vote is answered, and then the vote is used",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "votes-kept",
        what: "votes are not given back for older requests",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]).fifo(),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox, Situation};

    use super::Message::{Inquire, Locked, Release, Relinquish, Request, Restarted};
    use super::*;
    use crate::mutex::lemmas::majority_votes::INVARIANTS;
    use crate::setup::Setup;

    type Node = MajorityVotes;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<Node> = Effect::Notify(Notice::Entered);

    fn node(nodes: u32, me: u32) -> (Node, Outbox<Node>) {
        (MajorityVotes::new(NodeId(me), Group::of(nodes)), Outbox::default())
    }

    /// A node of five that has asked at time 1.
    fn waiting(me: u32) -> (Node, Outbox<Node>) {
        let (mut node, mut fx) = node(5, me);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        (node, fx)
    }

    fn send(to: u32, message: Message) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message }
    }

    /// What a node does when it is told this.
    fn told(
        node: &mut Node,
        fx: &mut Outbox<Node>,
        from: u32,
        message: Message,
    ) -> Vec<Effect<Node>> {
        node.on_message(NodeId(from), message, fx);
        fx.take()
    }

    #[test]
    fn a_majority_is_more_than_half() {
        let majorities = [1, 2, 3, 4, 5, 6, 21].map(|nodes| node(nodes, 0).0.majority());
        assert_eq!(majorities, [1, 2, 2, 3, 3, 4, 11]);
    }

    #[test]
    fn all_are_asked_a_majority_suffices_and_all_are_told() {
        let (mut node, mut fx) = node(5, 1);
        let to_all = |message| [0, 2, 3, 4].map(|to| send(to, message));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), to_all(Request { time: 1 }));
        assert_eq!(node.arbiter.lock, Some(Stamp::new(1, NodeId(1))), "at home, no message");
        assert_eq!(told(&mut node, &mut fx, 4, Locked { time: 1 }), []);
        assert_eq!(told(&mut node, &mut fx, 4, Locked { time: 1 }), [], "one vote each");
        assert_eq!(told(&mut node, &mut fx, 2, Locked { time: 1 }), [ENTERED]);
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), [], "more than it needs");
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), to_all(Release { time: 1 }));
        assert_eq!(told(&mut node, &mut fx, 0, Locked { time: 1 }), [], "too late");
        assert_eq!((node.arbiter, node.votes), (Arbiter::default(), NodeSet::EMPTY));
    }

    #[test]
    fn a_node_alone_enters_at_once() {
        let (mut node, mut fx) = node(1, 0);
        for _ in 0..2 {
            node.on_command(ACQUIRE, &mut fx).unwrap();
            node.on_command(Command::Release, &mut fx).unwrap();
            assert_eq!(fx.take(), [ENTERED]);
        }
    }

    #[test]
    fn one_vote_is_out_at_a_time_and_asked_back_once_for_whoever_is_older() {
        let (mut node, mut fx) = node(9, 0);
        let mut ask = |from, time| told(&mut node, &mut fx, from, Request { time });
        assert_eq!(ask(4, 5), [send(4, Locked { time: 5 })]);
        assert_eq!(ask(5, 5), [], "younger");
        assert_eq!(ask(3, 5), [send(4, Inquire { time: 5 })], "older");
        assert_eq!(ask(6, 4), [], "older still, but it has been asked");
        let to_oldest = [send(6, Locked { time: 4 })];
        assert_eq!(told(&mut node, &mut fx, 4, Relinquish { time: 5 }), to_oldest);
        assert_eq!(
            told(&mut node, &mut fx, 8, Request { time: 1 }),
            [send(6, Inquire { time: 4 })],
            "of another holder it is asked again"
        );
        let order: Vec<u32> = core::iter::from_fn(|| {
            let Stamp { time, node: holder } = node.arbiter.lock?;
            told(&mut node, &mut fx, holder.0, Release { time });
            Some(holder.0)
        })
        .collect();
        assert_eq!(order, [6, 8, 3, 4, 5]);
    }

    #[test]
    fn an_older_request_that_is_over_does_not_have_the_vote_asked_back_twice() {
        let (mut node, mut fx) = node(5, 0);
        told(&mut node, &mut fx, 4, Request { time: 5 });
        let inquired = [send(4, Inquire { time: 5 })];
        assert_eq!(told(&mut node, &mut fx, 3, Request { time: 5 }), inquired);
        assert_eq!(told(&mut node, &mut fx, 3, Release { time: 5 }), [], "it had others' votes");
        assert_eq!(told(&mut node, &mut fx, 2, Request { time: 5 }), []);
        let given = [send(2, Locked { time: 5 })];
        assert_eq!(told(&mut node, &mut fx, 4, Relinquish { time: 5 }), given);
    }

    #[test]
    fn whoever_waits_gives_back_what_it_is_asked_for_and_whoever_is_inside_does_not() {
        let (mut node, mut fx) = waiting(0);
        let given_back = [send(3, Relinquish { time: 1 })];
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), []);
        assert_eq!(told(&mut node, &mut fx, 3, Inquire { time: 1 }), given_back);
        assert_eq!(told(&mut node, &mut fx, 4, Locked { time: 1 }), [], "3's is gone");
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), [ENTERED]);
        for arbiter in [3, 4] {
            assert_eq!(told(&mut node, &mut fx, arbiter, Inquire { time: 1 }), []);
        }
        assert_eq!(node.inquired, NodeSet::EMPTY, "nothing is remembered");
    }

    #[test]
    fn an_inquiry_that_overtakes_its_vote_waits_for_it_unless_it_makes_a_majority() {
        let (mut node, mut fx) = waiting(0);
        for arbiter in [3, 4] {
            assert_eq!(told(&mut node, &mut fx, arbiter, Inquire { time: 1 }), []);
        }
        let given_back = [send(3, Relinquish { time: 1 })];
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), given_back);
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), [], "not inquired again");
        assert_eq!(told(&mut node, &mut fx, 4, Locked { time: 1 }), [ENTERED]);
    }

    #[test]
    fn its_own_vote_is_asked_back_like_any_other() {
        let (mut node, mut fx) = waiting(2);
        // At home all happens at once: inquired, given back, given on.
        assert_eq!(told(&mut node, &mut fx, 0, Request { time: 1 }), [send(0, Locked { time: 1 })]);
        assert_eq!(node.votes, NodeSet::EMPTY);
        assert_eq!(told(&mut node, &mut fx, 0, Release { time: 1 }), []);
        assert_eq!(node.votes.iter().collect::<Vec<_>>(), [NodeId(2)]);
    }

    #[test]
    fn a_request_that_comes_after_its_end_gets_no_vote() {
        let (mut node, mut fx) = node(3, 0);
        assert_eq!(told(&mut node, &mut fx, 1, Release { time: 4 }), []);
        assert_eq!(told(&mut node, &mut fx, 1, Request { time: 4 }), []);
        assert_eq!(node.arbiter, Arbiter::default());
        assert_eq!(node.clock.now(), 4, "but its time is seen");
        assert_eq!(told(&mut node, &mut fx, 1, Request { time: 5 }), [send(1, Locked { time: 5 })]);
    }

    #[test]
    fn who_asks_again_is_done_with_what_it_asked_before() {
        let (mut node, mut fx) = node(3, 0);
        told(&mut node, &mut fx, 1, Request { time: 1 });
        told(&mut node, &mut fx, 2, Request { time: 1 });
        assert_eq!(told(&mut node, &mut fx, 1, Request { time: 2 }), [send(2, Locked { time: 1 })]);
        assert_eq!(told(&mut node, &mut fx, 1, Release { time: 1 }), [], "that is known");
        let next = [send(1, Locked { time: 2 })];
        assert_eq!(told(&mut node, &mut fx, 2, Release { time: 1 }), next);
    }

    #[test]
    fn strangers_and_other_requests_change_nothing() {
        let (mut node, mut fx) = waiting(4);
        told(&mut node, &mut fx, 3, Locked { time: 1 });
        told(&mut node, &mut fx, 0, Request { time: 7 });
        let before = node.clone();
        for time in [0, 2] {
            for message in [Locked { time }, Inquire { time }] {
                assert_eq!(told(&mut node, &mut fx, 3, message), [], "not ours: {message}");
            }
        }
        for message in [Relinquish { time: 7 }, Release { time: 6 }, Request { time: 7 }] {
            let from = if message == (Release { time: 6 }) { 9 } else { 0 };
            assert_eq!(told(&mut node, &mut fx, from, message), [], "{message}");
        }
        assert_eq!(told(&mut node, &mut fx, 9, Request { time: 7 }), [], "not of this group");
        assert_eq!(node, before);
    }

    #[test]
    fn a_vote_survives_a_crash_and_a_request_does_not() {
        let (mut node, mut fx) = waiting(0);
        told(&mut node, &mut fx, 3, Locked { time: 1 });
        told(&mut node, &mut fx, 2, Request { time: 6 });
        let mut again = node.after_crash(self::node(5, 0).0);
        assert_eq!((again.phase, &again.votes), (Phase::Outside, &NodeSet::EMPTY));
        assert_eq!(again.arbiter, node.arbiter);
        again.on_restart(&mut fx);
        let mut all: Vec<_> = [1, 2, 3, 4].map(|to| send(to, Restarted { time: 6 })).into();
        all.push(send(2, Locked { time: 6 }));
        assert_eq!(fx.take(), all, "its own vote is free again");
        let again = again.after_crash(self::node(5, 0).0);
        assert_eq!(again.arbiter.lock, Some(Stamp::new(6, NodeId(2))), "that of another is not");
        assert_eq!((again.clock.now(), again.over[0]), (6, 6));
    }

    #[test]
    fn who_waits_when_a_node_comes_up_asks_all_anew() {
        let (mut node, mut fx) = waiting(0);
        told(&mut node, &mut fx, 3, Locked { time: 1 });
        let anew = [1, 2, 3, 4].map(|to| send(to, Request { time: 2 }));
        assert_eq!(told(&mut node, &mut fx, 3, Restarted { time: 0 }), anew);
        assert_eq!(node.votes.iter().collect::<Vec<_>>(), [NodeId(0)], "its own, for the new one");
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), [], "that request is over");
        for arbiter in [1, 3] {
            told(&mut node, &mut fx, arbiter, Locked { time: 2 });
        }
        assert_eq!(told(&mut node, &mut fx, 4, Restarted { time: 0 }), [], "it is inside");
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(2, 0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        told(&mut node, &mut fx, 1, Locked { time: 1 });
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }

    /// Nodes 0 and 1 wait; node 1 has the vote of arbiter 2.
    fn three() -> [Node; 3] {
        let mut nodes = [0, 1, 2].map(|me| node(3, me).0);
        for id in [0, 1] {
            nodes[id].phase = Phase::Waiting(1);
        }
        nodes[1].votes.insert(NodeId(2));
        nodes[2].arbiter.lock = Some(Stamp::new(1, NodeId(1)));
        nodes
    }

    fn holds(nodes: &[Node; 3], down: &[u32], flight: &[(u32, u32, Message)]) -> [bool; 3] {
        let flight = flight.iter().map(|(a, b, it)| (NodeId(*a), NodeId(*b), it)).collect();
        let down = down.iter().copied().map(NodeId).collect();
        let at = Situation::new(nodes.iter().collect(), down, flight);
        [0, 1, 2].map(|number| (INVARIANTS[number].holds)(&at).is_ok())
    }

    #[test]
    fn a_vote_that_two_have_is_seen() {
        let mut nodes = three();
        assert_eq!(holds(&nodes, &[], &[]), [true; 3]);
        assert_eq!(holds(&nodes, &[], &[(2, 0, Locked { time: 1 })]), [false, true, true]);
        assert_eq!(holds(&nodes, &[], &[(2, 0, Locked { time: 9 })]), [true; 3], "of no request");
        assert_eq!(holds(&nodes, &[0], &[(2, 0, Locked { time: 1 })]), [true; 3], "to the dead");
        nodes[0].votes.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[], &[]), [false, true, true]);
        for id in [0, 1] {
            nodes[id].votes.insert(NodeId(id as u32));
        }
        assert_eq!(holds(&nodes, &[], &[]), [false, false, true]);
        assert!(holds(&nodes, &[0], &[])[1], "only one of them lives");
    }

    #[test]
    fn whoever_was_not_asked_for_its_vote_is_seen() {
        let mut nodes = three();
        nodes[2].arbiter.waiting = vec![Stamp::new(1, NodeId(0))];
        assert_eq!(holds(&nodes, &[], &[]), [true, true, false]);
        assert_eq!(holds(&nodes, &[1], &[]), [true; 3], "the dead cannot be asked");
        assert_eq!(holds(&nodes, &[2], &[]), [true; 3], "nor do they ask");
        for message in [Relinquish { time: 1 }, Release { time: 1 }] {
            assert_eq!(holds(&nodes, &[], &[(1, 2, message)]), [true; 3], "{message}");
        }
        assert_eq!(holds(&nodes, &[], &[(2, 1, Inquire { time: 1 })]), [true; 3]);
        assert_eq!(holds(&nodes, &[], &[(2, 1, Inquire { time: 2 })]), [true, true, false]);
        nodes[1].inquired.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[], &[]), [true; 3]);
        nodes[1].inquired.clear();
        nodes[1].phase = Phase::Inside(1);
        assert_eq!(holds(&nodes, &[], &[]), [true; 3]);
    }

    #[test]
    fn entries_cost_three_messages_for_every_other_node_and_twice_that_and_three_at_most() {
        let at = |nodes, contenders, load| {
            let setup = Setup::new(Group::of(nodes));
            messages(&Setting { setup, contenders, load, hold: 1.0 })
        };
        assert_eq!(at(1, 1, Load::Heavy), Span::exactly(0.0));
        assert_eq!(at(2, 2, Load::Light), Span::exactly(3.0), "both must vote");
        assert_eq!(at(5, 5, Load::Light), Span::between(10.0, 12.0));
        assert_eq!(at(5, 1, Load::Heavy), Span::between(10.0, 12.0));
        assert_eq!(at(5, 2, Load::Heavy), Span::between(10.0, 27.0).typically(12.0));
    }
}
