//! Gérard Le Lann, "Distributed systems: towards a formal approach", IFIP Congress, 1977: the
//! perpetuum mobile.
//!
//! The nodes stand in a ring, and a token goes round to the right for ever. A node that wants to
//! enter waits for it, enters, and passes it on when it leaves: once for every time that the token
//! comes, even if it wants to enter again at once. There are no requests.
//!
//! **Use it** where nearly all nodes want in nearly always: an entry then takes a single message.
//! Where nobody does, the token goes round all the same.
//!
//! ```text
//!   0  ──[ inside ]──TOKEN─┬────────────────────────────────────────▲──TOKEN──►
//!                          │                                        │
//!   1  ────────────────────▼──TOKEN─┬─── (does not want in)         │
//!                                   │                               │
//!   2  ─────────────────────────────▼──[ inside ]──TOKEN────────────┘
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | N/k if k of N nodes always want to enter: 1 if all do; no bound if none does |
//! | the same without contention | (N+1)/2 on average, if it asks when the last has left |
//! | synchronisation delay | as many T as nodes to the next that wants in: T … N·T |
//! | response without contention | (N+1)/2 · T + E on average; more if the token rests |
//! | response under saturation | N(T + E) |
//! | busiest node | handles two messages for every round |
//!
//! If one node at a time asks as soon as the last has left, each of the N as likely, the token has
//! 1, 2, … or N hops to go: (N+1)/2 on average. For a node that asks at any other time it is N/2 ·
//! T on average, since the token is anywhere on the ring.
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; with one token in
//! flight there is no order to keep. One node that stops, even an idle one, stops all: the token is
//! lost with it, and no node can tell a lost token from a long stay.
//!
//! **Why it is safe.** The node inside has the token, and there is one: a node that sends it has it
//! no longer.
//!
//! **Why no request starves.** The token passes all nodes in turn, and its holder leaves or passes
//! it on. Between two entries of one node it has been everywhere, so no waiting node is bypassed
//! twice.
//!
//! **In which order.** Entries follow the ring, and happened-before is not promised. A single token
//! cannot break it by itself: it stops where somebody waits, so nobody beyond hears of that request
//! before it is served. But whoever hears of it in another way may ask and be nearer to the token:
//! from an application that talks (the flaw `applications-talk`, three steps), or by a token that a
//! waiting node passes on, that of another resource or one that is reserved.
//!
//! **Rest.** A token that goes round for nothing costs messages all the same. So it counts its hops
//! since it was last used; if it has come all the way round it rests at every node for `--rest`,
//! until a node uses it. A node that wants to enter while it rests there enters at once. Under load
//! it never rests.
//!
//! **Several resources.** Every resource has a token of its own. An entry that needs several takes
//! them one after the other, all nodes in the same order: a node that holds some waits only for a
//! higher one, so waiting has no cycle. (The flaw `no-common-order` shows what happens otherwise.)
//! With `--resources 2` an entry needs both of two.
//!
//! **Priorities.** With `--priorities 0,0,5` a request of node 2 goes before those of the others.
//! The token carries a reservation: the priority and the number of a node. A waiting node with a
//! higher priority than the reserved one reserves the token and passes it on; if the reservation is
//! still its own when the token comes back, no node on the ring has a higher one: it enters. A
//! waiting node with just the reserved priority enters at once. One with a lower priority passes
//! the token on, and its priority is raised by one for as long as it waits. So an entry costs up to
//! two rounds, and no node starves: no priority grows beyond the highest that was given, since a
//! node of that priority misses no turn; a lower one reaches it after as many misses as it is
//! lower, and then its reservation stays. (Without this ageing it need never get in: the flaw
//! `no-ageing`.) Several resources have a reservation each.
//!
//! **Where we depart from the paper**, which goes on to detect and replace a lost token: here none
//! is lost. Priorities are not in it.

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, Group, NodeId, NodeState, Protocol, Refused, SortedMap, SortedSet, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, Promises, RESPONSE, SYNC_DELAY, Setting,
    Terms,
};
use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::setup::{Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Use it or pass it on.
    Token {
        /// Whose token it is.
        resource: u32,
        /// How many hops it has made since it was used or reserved, this one included, up to a
        /// whole round.
        hops: u32,
        /// The reservation, if there is one.
        reserved: Option<Reservation>,
    },
}

/// The node that gets the token unless another has a higher priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reservation {
    /// Its priority when it reserved the token.
    pub priority: u32,
    /// The node.
    pub node: NodeId,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["TOKEN"];

    fn kind(&self) -> usize {
        match self {
            Self::Token { .. } => 0,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Token { resource, hops, reserved } = self;
        f.write_str("TOKEN(")?;
        if *resource > 0 {
            write!(f, "resource {resource}, ")?;
        }
        write!(f, "hops {hops}")?;
        if let Some(Reservation { priority, node }) = reserved {
            write!(f, ", reserved for {node} with {priority}")?;
        }
        f.write_str(")")
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// The token of this resource has rested here.
    Rest(u32),
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TokenRing {
    pub(super) me: NodeId,
    group: Group,
    /// The node that has all tokens at the start.
    holder: NodeId,
    pub(super) resources: u32,
    rest: Duration,
    /// How urgent its requests are, where some nodes' are more urgent than others'.
    priority: Option<u32>,
    pub(super) phase: Phase,
    /// Whose tokens are here without being used.
    pub(super) resting: SortedSet<u32>,
    /// The reservations of the tokens that are used here, by resource.
    kept_for: SortedMap<u32, Reservation>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// The resource whose token it waits for: it has those of all lower ones.
        next: u32,
        /// How often it had to pass on a token because another node had a higher priority.
        missed: u32,
    },
    Inside,
}

/// What a waiting node does with the token that arrives.
enum Use {
    /// It takes it, and remembers the reservation.
    Take(Option<Reservation>),
    /// It passes it on, kept for itself.
    Reserve(Reservation),
    /// It passes it on as it came.
    Miss(Reservation),
}

impl TokenRing {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            holder: setup.holder,
            resources: setup.resources,
            rest: setup.rest,
            priority: setup.priorities.of(me),
            phase: Phase::Outside,
            resting: SortedSet::new(),
            kept_for: SortedMap::new(),
        }
    }

    fn on_token(
        &mut self,
        resource: u32,
        hops: u32,
        reserved: Option<Reservation>,
        fx: &mut impl Effects<Self>,
    ) {
        match self.phase {
            Phase::Waiting { next, missed } if next == resource => {
                match self.use_of_token(missed, reserved) {
                    Use::Take(kept_for) => {
                        self.kept_for.extend(kept_for.map(|it| (resource, it)));
                        self.phase = Phase::Waiting { next: next + 1, missed };
                        self.take_what_is_here(fx);
                    }
                    Use::Reserve(mine) => self.pass_on(resource, 1, Some(mine), fx),
                    Use::Miss(theirs) => {
                        self.phase = Phase::Waiting { next, missed: missed.saturating_add(1) };
                        self.pass_on(resource, hops + 1, Some(theirs), fx);
                    }
                }
            }
            Phase::Outside | Phase::Waiting { .. } | Phase::Inside => {
                // The node of the reservation uses the token before it has gone round: it does not
                // rest.
                if hops < self.group.size() || reserved.is_some() {
                    self.pass_on(resource, hops + 1, reserved, fx);
                } else {
                    self.let_rest(resource, fx);
                }
            }
        }
    }

    /// What to do with a token that this node waits for and has missed so often.
    fn use_of_token(&self, missed: u32, reserved: Option<Reservation>) -> Use {
        let Some(priority) = self.priority else { return Use::Take(None) };
        let mine = Reservation { priority: priority.saturating_add(missed), node: self.me };
        match reserved {
            Some(it) if it.node == self.me => Use::Take(None),
            Some(it) if it.priority == mine.priority => Use::Take(Some(it)),
            Some(it) if it.priority > mine.priority => Use::Miss(it),
            Some(_) | None => Use::Reserve(mine),
        }
    }

    /// Takes the tokens that rest here and are next, and enters with the last.
    fn take_what_is_here(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Waiting { next, missed } = self.phase {
            if next == self.resources {
                self.phase = Phase::Inside;
                fx.notify(Notice::Entered);
            } else if self.resting.remove(&next) {
                fx.cancel_timer(Timer::Rest(next));
                self.phase = Phase::Waiting { next: next + 1, missed };
            } else {
                return;
            }
        }
    }

    fn pass_on(
        &mut self,
        resource: u32,
        hops: u32,
        reserved: Option<Reservation>,
        fx: &mut impl Effects<Self>,
    ) {
        if self.group.size() == 1 {
            // There is no other node to pass it on to.
            self.resting.insert(resource);
        } else {
            let next = NodeId((self.me.0 + 1) % self.group.size());
            let hops = hops.min(self.group.size());
            fx.send(next, Message::Token { resource, hops, reserved });
        }
    }

    /// Keeps an unused token for a while.
    fn let_rest(&mut self, resource: u32, fx: &mut impl Effects<Self>) {
        if self.rest.is_zero() || self.group.size() == 1 {
            self.pass_on(resource, self.group.size(), None, fx);
        } else {
            self.resting.insert(resource);
            fx.set_timer(Timer::Rest(resource), Delay::exactly(self.rest));
        }
    }

    /// Whether the token of that resource is here, used or not.
    pub(super) fn has(&self, resource: u32) -> bool {
        let is_used = match self.phase {
            Phase::Outside => false,
            Phase::Waiting { next, .. } => resource < next,
            Phase::Inside => true,
        };
        is_used || self.resting.contains(&resource)
    }
}

impl Protocol for TokenRing {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.me == self.holder {
            for resource in 0..self.resources {
                self.let_rest(resource, fx);
            }
        }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.phase = Phase::Waiting { next: 0, missed: 0 };
                self.take_what_is_here(fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                for resource in 0..self.resources {
                    let kept_for = self.kept_for.remove(&resource);
                    self.pass_on(resource, 1, kept_for, fx);
                }
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Token { resource, hops, reserved } = message;
        let size = self.group.size();
        let left = NodeId((self.me.0 + size - 1) % size);
        // A token from elsewhere, of something else, or one more than there is, is not one of ours.
        if from == left && resource < self.resources && !self.has(resource) {
            self.on_token(resource, hops.min(size), reserved, fx);
        }
    }

    fn on_timer(&mut self, Timer::Rest(resource): Timer, fx: &mut impl Effects<Self>) {
        if self.resting.remove(&resource) {
            self.pass_on(resource, self.group.size(), None, fx);
        }
    }

    /// The tokens that rest here, and for whom those that are used here are reserved.
    fn state(&self) -> NodeState {
        let (phase, next, missed) = match self.phase {
            Phase::Outside => ("outside", None, None),
            Phase::Waiting { next, missed } => ("waiting", Some(next), Some(missed)),
            Phase::Inside => ("inside", None, None),
        };
        let shown = |(&resource, kept): (&u32, &Reservation)| (resource, kept.priority, kept.node);
        NodeState::new()
            .with("phase", phase)
            .with("waits for token", next)
            .with("missed", missed)
            .with("tokens at rest", StateValue::set(self.resting.iter().copied()))
            .with("reserved", StateValue::list(self.kept_for.iter().map(shown)))
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "token-ring",
    title: "Le Lann's token ring",
    solves: "mutual exclusion",
    citation: "Le Lann, IFIP Congress, 1977",
    assumes: Assumes::ANY_ORDER.on(Layout::Ring),
    takes: &[Parameter::Holder, Parameter::Rest, Parameter::Resources, Parameter::Priorities],
    terms: Terms {
        promises: Promises { bypass: Some(bypass), ..Promises::NONE },
        perpetual: true,
        tokens: &["TOKEN"],
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(sync_delay),
        RESPONSE.costs(response),
        BUSIEST.costs(busiest),
    ],
    flaws: FLAWS,
    page: page!("token_ring.rs"),
};

/// A waiting node enters the next time that it gets the token, unless others have higher
/// priorities; then it misses at most as many turns as its priority is lower. In every round its
/// neighbour may enter once. In the one after a miss it may well; in the one after a reservation
/// only if it has the same priority as the node of the reservation. If it has entered after the
/// miss as well, that is its priority when it has not waited at all, and the other's is such only
/// once. So it enters once for every miss, and once more.
fn bypass(setup: &Setup) -> u32 {
    setup.priorities.spread() + 1
}

/// How many hops there are round the ring.
fn round(at: &Setting) -> f64 {
    if at.nodes() == 1 { 0.0 } else { f64::from(at.nodes()) }
}

/// How far the token has to go, for every entry. Under saturation every round serves every
/// contender once. If requests come one at a time it is a round for a node that asks again, and
/// else half a round on average.
fn hops(at: &Setting) -> f64 {
    let contenders = f64::from(at.contenders);
    match at.load {
        Load::Light => round(at) / 2.0 * (1.0 + 1.0 / contenders),
        Load::Heavy => round(at) / contenders,
    }
}

/// One resource's token goes just where it is wanted. With several, how far each goes in vain
/// depends on where the others are; with priorities it depends on who else waits.
fn of_one(at: &Setting, span: Span) -> Span {
    let is_plain = at.setup.resources == 1 && at.setup.priorities.spread() == 0;
    if is_plain { span } else { UNBOUNDED }
}

/// An unused token goes round without bound, before the first request or between two; times have no
/// bound either, since it may rest on its way.
const UNBOUNDED: Span = Span::between(0.0, f64::INFINITY);

fn messages(at: &Setting) -> Span {
    of_one(at, UNBOUNDED.typically(hops(at)))
}

fn sync_delay(at: &Setting) -> Span {
    let range = UNBOUNDED;
    of_one(
        at,
        match at.load {
            Load::Light => range,
            Load::Heavy => range.typically(hops(at)),
        },
    )
}

fn response(at: &Setting) -> Span {
    let contenders = f64::from(at.contenders);
    of_one(
        at,
        match at.load {
            Load::Light => Span::between(at.hold, f64::INFINITY).typically(at.hold + hops(at)),
            Load::Heavy => {
                let turn = round(at) + contenders * at.hold;
                Span::between(at.hold, f64::INFINITY).typically(turn)
            }
        },
    )
}

/// Every node gets the token and passes it on once a round, and the number of rounds has no bound.
fn busiest(_: &Setting) -> Span {
    UNBOUNDED
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "kept-until-wanted",
        what: "a node that does not need the token keeps it, instead of passing it on",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "timer-not-cancelled",
        what: "a node that enters with a resting token still passes it on when the rest is over",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "no-common-order",
        what: "of two resources odd nodes take the second first, and each waits for the other's",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]).given(&[(Parameter::Resources, "2")]),
    },
    Flaw {
        name: "no-ageing",
        what: "a request of low priority does not age, however long it waits",
        breaks: "no starvation",
        shown_by: Demonstration::of(&[1, 3]).given(&[(Parameter::Priorities, "0,1")]),
    },
    Flaw {
        name: "applications-talk",
        what: "no mistake, but a limit: an application that hears of a request may get in first",
        breaks: "ordering",
        shown_by: Demonstration::of(&[1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<TokenRing> = Effect::Notify(Notice::Entered);

    fn token(resource: u32, hops: u32) -> Message {
        Message::Token { resource, hops, reserved: None }
    }
    fn kept_for(node: u32, priority: u32, hops: u32) -> Message {
        let reserved = Some(Reservation { priority, node: NodeId(node) });
        Message::Token { resource: 0, hops, reserved }
    }
    fn send(to: u32, message: Message) -> Effect<TokenRing> {
        Effect::Send { to: NodeId(to), message }
    }
    fn rests(resource: u32) -> Effect<TokenRing> {
        let delay = Delay::exactly(Duration::from_millis(1));
        Effect::SetTimer { timer: Timer::Rest(resource), delay }
    }
    fn setup(nodes: u32, resources: u32) -> Setup {
        Setup { resources, ..Setup::new(Group::of(nodes)) }
    }
    /// Node `me` of four, just come up, with what it did then.
    fn node(me: u32) -> (TokenRing, Outbox<TokenRing>) {
        let mut node = TokenRing::of(NodeId(me), &setup(4, 1));
        let mut fx = Outbox::default();
        node.on_start(&mut fx);
        (node, fx)
    }

    #[test]
    fn who_does_not_want_in_passes_the_token_on() {
        let (mut node, mut fx) = node(3);
        node.on_message(NodeId(2), token(0, 2), &mut fx);
        assert_eq!(fx.take(), [send(0, token(0, 3))]);
    }

    #[test]
    fn who_wants_in_enters_with_it_once_and_passes_it_on_as_used() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [], "nobody is asked");
        node.on_message(NodeId(0), token(0, 3), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, token(0, 1))]);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [], "the token is gone, and comes again");
    }

    #[test]
    fn a_token_that_has_come_all_the_way_round_rests_until_it_is_wanted() {
        let (mut node, mut fx) = node(2);
        node.on_message(NodeId(1), token(0, 4), &mut fx);
        assert_eq!(fx.take(), [rests(0)]);
        let mut patient = node.clone();
        patient.on_timer(Timer::Rest(0), &mut fx);
        assert_eq!(fx.take(), [send(3, token(0, 4))], "it rests at the next as well");
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::CancelTimer(Timer::Rest(0)), ENTERED]);
        node.on_timer(Timer::Rest(0), &mut fx);
        assert_eq!(fx.take(), [], "a timer that ran out all the same does not take it away");
    }

    #[test]
    fn at_first_the_token_rests_at_its_holder() {
        assert_eq!(node(0).1.take(), [rests(0)]);
        assert_eq!(node(1).1.take(), []);
    }

    #[test]
    fn alone_a_node_keeps_the_token_and_sends_nothing() {
        let mut node = TokenRing::of(NodeId(0), &setup(1, 1));
        let mut fx = Outbox::default();
        node.on_start(&mut fx);
        for _ in 0..2 {
            node.on_command(ACQUIRE, &mut fx).unwrap();
            assert_eq!(fx.take().last(), Some(&ENTERED));
            node.on_command(Command::Release, &mut fx).unwrap();
            assert_eq!(fx.take(), []);
        }
    }

    #[test]
    fn a_token_that_does_not_come_from_the_left_is_not_taken() {
        let (mut node, mut fx) = node(2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let waiting = node.clone();
        for stranger in [0, 2, 3, 9] {
            node.on_message(NodeId(stranger), token(0, 1), &mut fx);
            assert_eq!((&node, fx.take()), (&waiting, vec![]));
        }
        node.on_message(NodeId(1), token(0, 1), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
    }

    #[test]
    fn several_resources_are_taken_in_their_order() {
        let mut node = TokenRing::of(NodeId(1), &setup(4, 2));
        let mut fx = Outbox::default();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), token(1, 1), &mut fx);
        assert_eq!(fx.take(), [send(2, token(1, 2))], "the first comes first");
        node.on_message(NodeId(0), token(0, 1), &mut fx);
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(0), token(1, 4), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, token(0, 1)), send(2, token(1, 1))]);
    }

    /// Node `me` of four that waits, with these priorities.
    fn waiting(me: u32, priorities: &str) -> TokenRing {
        let mut setup = setup(4, 1);
        setup.set(Parameter::Priorities, priorities).unwrap();
        let mut node = TokenRing::of(NodeId(me), &setup);
        node.on_command(ACQUIRE, &mut Outbox::default()).unwrap();
        node
    }

    #[test]
    fn who_is_more_urgent_than_is_reserved_reserves_the_token_and_enters_a_round_later() {
        let mut node = waiting(1, "0,5,5,9");
        let mut fx = Outbox::default();
        node.on_message(NodeId(0), token(0, 3), &mut fx);
        assert_eq!(fx.take(), [send(2, kept_for(1, 5, 1))]);
        let mut also = node.clone();
        also.on_message(NodeId(0), kept_for(0, 4, 2), &mut fx);
        assert_eq!(fx.take(), [send(2, kept_for(1, 5, 1))], "a lower reservation is nothing");
        node.on_message(NodeId(0), kept_for(1, 5, 4), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, token(0, 1))], "its own reservation is used up");
    }

    #[test]
    fn who_is_as_urgent_as_is_reserved_enters_at_once_and_the_reservation_stays() {
        let mut node = waiting(2, "0,5,5,9");
        let mut fx = Outbox::default();
        node.on_message(NodeId(1), kept_for(1, 5, 1), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(3, kept_for(1, 5, 1))]);
    }

    #[test]
    fn who_is_less_urgent_passes_the_token_on_and_ages_until_it_enters() {
        let mut node = waiting(0, "7,5,5,9");
        let mut fx = Outbox::default();
        for _ in 0..2 {
            node.on_message(NodeId(3), kept_for(3, 9, 1), &mut fx);
            assert_eq!(fx.take(), [send(1, kept_for(3, 9, 2))]);
        }
        node.on_message(NodeId(3), kept_for(3, 9, 1), &mut fx);
        assert_eq!(fx.take(), [ENTERED], "by now it is as urgent");
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(3), token(0, 1), &mut fx);
        assert_eq!(fx.take(), [send(1, kept_for(0, 7, 1))], "and young again");
    }

    #[test]
    fn a_reserved_token_goes_by_whoever_does_not_want_in_and_does_not_rest() {
        let mut setup = setup(4, 1);
        setup.set(Parameter::Priorities, "0,0,0,1").unwrap();
        let mut node = TokenRing::of(NodeId(1), &setup);
        let mut fx = Outbox::default();
        node.on_message(NodeId(0), kept_for(3, 1, 4), &mut fx);
        assert_eq!(fx.take(), [send(2, kept_for(3, 1, 4))]);
    }

    #[test]
    fn equal_priorities_are_none() {
        let mut node = waiting(1, "3,3,3,3");
        let mut fx = Outbox::default();
        node.on_message(NodeId(0), token(0, 3), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
    }

    #[test]
    fn what_is_no_token_of_the_group_is_dropped() {
        let (mut node, mut fx) = node(1);
        node.on_message(NodeId(0), token(7, 1), &mut fx);
        assert_eq!(fx.take(), []);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), token(0, u32::MAX), &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        let inside = node.clone();
        node.on_message(NodeId(0), token(0, 1), &mut fx);
        assert_eq!((&node, fx.take()), (&inside, vec![]), "there is no second");
    }

    #[test]
    fn tokens_name_their_resources_where_there_are_several() {
        assert_eq!(token(0, 2).to_string(), "TOKEN(hops 2)");
        assert_eq!(token(1, 2).to_string(), "TOKEN(resource 1, hops 2)");
        let text = "TOKEN(hops 2, reserved for 3 with 5)";
        assert_eq!(kept_for(3, 5, 2).to_string(), text);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused_and_change_nothing() {
        let (mut node, mut fx) = node(1);
        let outside = node.clone();
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        assert_eq!((&node, fx.take()), (&outside, vec![]));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        node.on_message(NodeId(0), token(0, 1), &mut fx);
        fx.take();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
        assert_eq!(fx.take(), []);
    }
}
