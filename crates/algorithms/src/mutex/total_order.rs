//! A lock by totally ordered multicast: the replicated queue of Fred B. Schneider, "Implementing
//! fault-tolerant services using the state machine approach: a tutorial", ACM Computing Surveys
//! 22(4), 1990, on the orders of [reliable multicast](crate::multicast::ordering).
//!
//! Whoever wants in multicasts REQUEST, and whoever leaves multicasts RELEASE. All members deliver
//! these in one order, so all hold the same queue: a REQUEST puts its sender at the end, a RELEASE
//! takes its sender away. The first of the queue is inside. How the order comes about is not the
//! lock's concern: `--ordering` chooses.
//!
//! **Use it** where there is a totally ordered multicast anyway, and the lock is one thing more
//! that its order decides.
//!
//! ```text
//!   0  ──REQUEST─┬──ORDER(0/0)─┬──[ inside ]──RELEASE─┬──ORDER(0/1)─┬────────────►   the sequencer
//!                │             │                      │             │
//!   1  ─REQUEST──▼─────────────▼───(0 is first, 1 is next)──────────▼──[ inside ]►
//!                │             │                      │             │
//!   2  ──────────▼─────────────▼──────────────────────▼─────────────▼────────────►
//! ```
//!
//! An entry is two multicasts, of N−1 copies each, and what their order costs:
//!
//! | per entry | sequencer | token | lamport | skeen |
//! | --- | --- | --- | --- | --- |
//! | messages | 4(N−1) | from 2(N−1) | 2N(N−1), less under load | 6(N−1) |
//! | synchronisation delay | T with the sequencer, else 2T | from T | up to 2T | 3T |
//! | response without contention | E at the sequencer, else 2T + E | from E | 2T + E | 2T + E |
//!
//! [Lamport's algorithm](super::lamport) is the same queue with an order of its own. There only the
//! node that asked must know that nothing older can come, so acknowledgements go to it alone:
//! 3(N−1) messages. A multicast by stamps lets everyone know that: 2N(N−1). And a RELEASE needs no
//! place in the order of all there, since any copy of it does no harm before its turn. That is the
//! price of an order as a layer; what it buys is that the lock is a queue and nothing else.
//!
//! **Assumes** that messages between two nodes keep their order, that none is lost or doubled, and
//! that no node fails: links are the carrier here. Where messages are lost, `--reliable` puts
//! channels beneath; where nodes fail, `--on-views` puts it into a group that goes on without them.
//!
//! **Why it is safe.** What two members have delivered is one a prefix of the other. Say i and j
//! are inside, and i has delivered no more than j. i was first when it entered, and it stays in the
//! queue until its RELEASE is delivered, which it has not multicast yet. Those behind it come no
//! further. So it is the first at j, too, and j is not. This needs one order for all: where each
//! member delivers as messages come (`fifo-order`), or only after their causes (`causal-order`),
//! two requests are in two orders, and both are first. And it needs a node that asks again not to
//! take its last request for the new one, while its RELEASE is under way (`old-request-counts`).
//!
//! **Why no request starves.** Every multicast is delivered by all. So a request gets into the
//! queue, those before it are finitely many, and each leaves. How often others pass a request
//! *before* it has its place is a matter of the order: with stamps (`--ordering lamport`) entries
//! respect happened-before; with a sequencer those nearer to it may pass as often as they like
//! meanwhile.
//!
//! With applications that ask for ever (`--entries forever`), stamps and proposals need an answer
//! of everyone, so that two members are never far apart, and the search comes to an end. With a
//! sequencer or a token one member may be served for ever while what it says to others piles up on
//! its links: such a search is bounded.
//!
//! **Where we depart from the paper.** It has replicas that order the requests of clients; here
//! members are both.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Message as _, Needs, Never, NodeId, NodeState,
    Protocol, Refused, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, EVERYONE, Flaw, Load, MESSAGES, Promises, RESPONSE, SYNC_DELAY,
    Setting, Terms, UNBOUNDED,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::multicast::Text;
use crate::multicast::body::Body;
use crate::multicast::ordering::{Act, Order, OrderMessage};
use crate::recipe::{Recipe, of_setup};
use crate::setup::{Ordering, Parameter, Setup, Unfit};

const REQUEST: &str = "REQUEST";
const RELEASE: &str = "RELEASE";

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A multicast of the lock, or of the order.
    Cast(Body),
    /// A unicast of the order.
    Letter(OrderMessage),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &[REQUEST, RELEASE, "CLOCK", "ORDER", "FINAL", "WANT", "TOKEN", "PROPOSE"];

    fn kind(&self) -> usize {
        match self {
            Self::Cast(
                Body::Plain(text)
                | Body::After(_, text)
                | Body::Placed(_, text)
                | Body::Stamped(_, text),
            ) => usize::from(&*text.0 == RELEASE),
            Self::Cast(Body::Clock(_)) => 2,
            Self::Cast(Body::Next(_)) => 3,
            Self::Cast(Body::Final { .. }) => 4,
            Self::Letter(letter) => 5 + letter.kind(),
        }
    }

    fn counters(&mut self, from: NodeId, to: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Cast(body) => body.counters(from, visit),
            Self::Letter(letter) => letter.counters(to, visit),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind_name();
        match self {
            Self::Cast(Body::Plain(_)) => f.write_str(kind),
            Self::Cast(Body::After(past, _)) => {
                let counts: Vec<_> = past.0.iter().map(|count| format!("{count}")).collect();
                write!(f, "{kind}(after {})", counts.join(","))
            }
            Self::Cast(Body::Placed(place, _)) => write!(f, "{kind}(at {place})"),
            Self::Cast(Body::Stamped(time, _) | Body::Clock(time)) => write!(f, "{kind}({time})"),
            Self::Cast(Body::Next(ids)) => {
                let ids: Vec<_> = ids.0.iter().map(|id| format!("{id}")).collect();
                write!(f, "{kind}({})", ids.join(" "))
            }
            Self::Cast(Body::Final { number, place }) => {
                write!(f, "{kind}({number} at {}.{})", place.clock, place.by)
            }
            Self::Letter(letter) => letter.fmt(f),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TotalOrder {
    pub(super) me: NodeId,
    group: Group,
    pub(super) phase: Phase,
    /// Those who have asked and not left, as all have delivered it: the first is inside.
    queue: VecDeque<NodeId>,
    /// Whether its RELEASE is not delivered yet, so that its last request is still in the queue.
    pub(super) is_leaving: bool,
    /// How many multicasts of the lock have come from each.
    heard: Vec<u64>,
    pub(super) order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting,
    Inside,
}

impl TotalOrder {
    /// A node that has neither asked nor heard anything, whatever the order.
    pub(super) fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            phase: Phase::Outside,
            queue: VecDeque::new(),
            is_leaving: false,
            heard: vec![0; setup.group.size() as usize],
            order: Order::new(setup.ordering, me, setup.group),
        }
    }

    /// Multicasts a word of the lock.
    fn cast(&mut self, word: &str, fx: &mut impl Effects<Self>) {
        let mut acts = Vec::new();
        self.order.on_cast(Text::from(word), &mut acts);
        self.act(acts, fx);
        self.speak(fx);
    }

    /// Lets the order say what it has to say: links always have room.
    fn speak(&mut self, fx: &mut impl Effects<Self>) {
        while self.order.waits_for_room() {
            let mut acts = Vec::new();
            self.order.on_room(&mut acts);
            self.act(acts, fx);
        }
    }

    /// Does what the order wants done.
    fn act(&mut self, acts: Vec<Act>, fx: &mut impl Effects<Self>) {
        for act in acts {
            match act {
                Act::Deliver { from, text, .. } => self.deliver(from, &text, fx),
                Act::Put(body) => {
                    fx.broadcast(self.group.others(self.me), Message::Cast(body.clone()));
                    self.hear(self.me, body, fx);
                }
                Act::Mail { to, letter } => fx.send(to, Message::Letter(letter)),
            }
        }
    }

    /// Hears what has come, or what it multicasts itself.
    fn hear(&mut self, from: NodeId, body: Body, fx: &mut impl Effects<Self>) {
        let heard = &mut self.heard[from.index()];
        let number = *heard;
        if body.is_of_application() {
            *heard += 1;
        }
        let mut acts = Vec::new();
        self.order.on_heard(from, number, body, &mut acts);
        self.act(acts, fx);
    }

    /// A multicast of the lock has its turn.
    fn deliver(&mut self, from: NodeId, text: &Text, fx: &mut impl Effects<Self>) {
        match &*text.0 {
            REQUEST => self.queue.push_back(from),
            RELEASE => {
                self.queue.retain(|&asker| asker != from);
                self.is_leaving &= from != self.me;
            }
            // A member of the same version multicasts nothing else.
            _ => {}
        }
        self.enter_if_first(fx);
    }

    pub(super) fn enter_if_first(&mut self, fx: &mut impl Effects<Self>) {
        let is_first = self.queue.front() == Some(&self.me) && !self.is_leaving;
        if self.phase == Phase::Waiting && is_first {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for TotalOrder {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.phase = Phase::Waiting;
                self.cast(REQUEST, fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                self.is_leaving = true;
                self.cast(RELEASE, fx);
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Cast(body) => self.hear(from, body, fx),
            Message::Letter(letter) => {
                let mut acts = Vec::new();
                self.order.on_letter(from, letter, &mut acts);
                self.act(acts, fx);
            }
        }
        self.speak(fx);
    }

    fn state(&self) -> NodeState {
        let phase = match self.phase {
            Phase::Outside => "outside",
            Phase::Waiting => "waiting",
            Phase::Inside => "inside",
        };
        NodeState::new()
            .with("phase", phase)
            .with("queue", StateValue::list(self.queue.iter().copied()))
            .with("leaving", self.is_leaving)
            .with("heard", StateValue::vector(self.heard.iter().copied()))
            .beneath("order", self.order.state())
    }

    /// Members count the messages of each, and an order gives them places: each number is compared
    /// with others of its kind and counted on from, and means nothing by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        Counter::by_owner(Counter::Sequence, &mut self.heard, visit);
        self.order.counters(visit);
    }
}

/// The nodes of a set-up, if its order is one for all.
pub(crate) fn recipe() -> Recipe<TotalOrder> {
    Recipe::new(|setup| {
        if !setup.ordering.is_total() {
            let total: Vec<_> = Ordering::ALL.into_iter().filter(|it| it.is_total()).collect();
            let names: Vec<_> = total.into_iter().map(Ordering::name).collect();
            return Err(Unfit(format!(
                "--ordering {} lets members deliver two requests in two orders, and each would see \
                 another first: a lock needs one order for all, {}",
                setup.ordering.name(),
                names.join(", ")
            )));
        }
        let setup = setup.clone();
        Ok(move |id| TotalOrder::of(id, &setup))
    })
}

/// The nodes of a set-up, whether all have one order or not.
pub(crate) fn unchecked() -> Recipe<TotalOrder> {
    of_setup(TotalOrder::of)
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "total-order",
    title: "Queue by totally ordered multicast",
    solves: "mutual exclusion",
    citation: "Schneider, ACM Computing Surveys 22(4), 1990",
    assumes: Assumes::FIFO.ordering(Ordering::Sequencer),
    takes: &[Parameter::Ordering],
    terms: Terms {
        promises: Promises { ordering: keeps_causes, bypass: Some(bypass), stamps: true },
        needs,
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(sync_delay),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("total_order.rs"),
};

/// Stamps and proposals take all members; the sequencer, or who has the token, is perhaps anybody.
fn needs(setup: &Setup) -> Needs {
    match setup.ordering {
        Ordering::Lamport | Ordering::Skeen => EVERYONE(setup),
        Ordering::Fifo | Ordering::Causal | Ordering::Sequencer | Ordering::Token => Needs::Anyone,
    }
}

/// Whether a request that happened before another is served first. Stamps see to that. A sequencer
/// may hear of the later one first, a proposal may be higher for the earlier one, and on its way to
/// the token a request may be passed by one that was caused by it.
fn keeps_causes(setup: &Setup) -> bool {
    match setup.ordering {
        Ordering::Lamport => true,
        Ordering::Fifo
        | Ordering::Causal
        | Ordering::Sequencer
        | Ordering::Token
        | Ordering::Skeen => false,
    }
}

/// How often a node may pass a request that it was told of: while the sequencer has not heard of
/// it, as often as it likes. The others give a request that is known a place before all later ones;
/// only with proposals the next request of the same node may still be before it.
fn bypass(setup: &Setup) -> u32 {
    match setup.ordering {
        Ordering::Fifo | Ordering::Causal | Ordering::Sequencer => UNBOUNDED,
        Ordering::Token | Ordering::Lamport => 1,
        Ordering::Skeen => 2,
    }
}

/// Two multicasts, and what their order costs.
fn messages(at: &Setting) -> Span {
    let others = at.others();
    match at.setup.ordering {
        Ordering::Fifo | Ordering::Causal => Span::exactly(2.0 * others),
        Ordering::Sequencer => Span::exactly(4.0 * others),
        // A node without the token asks along a path through others at most, and it is sent.
        Ordering::Token if others > 0.0 => Span::between(2.0 * others, 4.0 * others + 2.0),
        Ordering::Token => Span::exactly(0.0),
        Ordering::Lamport => {
            let most = 2.0 * others * f64::from(at.nodes());
            match at.load {
                Load::Light => Span::exactly(most),
                Load::Heavy => Span::between(2.0 * others, most),
            }
        }
        Ordering::Skeen => Span::exactly(6.0 * others),
    }
}

/// How long it takes at most until another delivers a multicast, on a network that takes T for
/// every message.
fn slowest(at: &Setting) -> f64 {
    match at.setup.ordering {
        Ordering::Fifo | Ordering::Causal => 1.0,
        Ordering::Sequencer | Ordering::Lamport => 2.0,
        // The token comes by way of all who have asked for it before.
        Ordering::Token => 2.0 * f64::from(at.nodes()),
        Ordering::Skeen => 3.0,
    }
}

fn sync_delay(at: &Setting) -> Span {
    let contenders = f64::from(at.contenders);
    match at.setup.ordering {
        Ordering::Skeen => Span::exactly(3.0),
        // The sequencer delivers its own request at once: if it stays for less than T, it is back
        // inside before it has heard of another, again and again.
        Ordering::Sequencer if at.hold < 1.0 && at.contenders > 1 => Span::between(0.0, 2.0),
        // In every round it takes T into the sequencer and T out of it.
        Ordering::Sequencer if at.nodes() > 2 && at.contenders > 1 => {
            Span::between(1.0, 2.0).typically(2.0 - 2.0 / contenders)
        }
        Ordering::Sequencer | Ordering::Lamport if at.nodes() == 2 => Span::exactly(1.0),
        Ordering::Fifo
        | Ordering::Causal
        | Ordering::Sequencer
        | Ordering::Token
        | Ordering::Lamport => Span::between(1.0, slowest(at)),
    }
}

/// Until it has delivered its own request, and it is its turn.
fn response(at: &Setting) -> Span {
    let contenders = f64::from(at.contenders);
    let alone = match at.setup.ordering {
        _ if at.nodes() == 1 => Span::exactly(at.hold),
        Ordering::Fifo | Ordering::Causal => Span::exactly(at.hold),
        Ordering::Sequencer if at.contenders == 1 => Span::exactly(at.hold),
        Ordering::Sequencer => Span::between(at.hold, 2.0 + at.hold)
            .typically(2.0 * (1.0 - 1.0 / contenders) + at.hold),
        Ordering::Token => Span::between(at.hold, at.others() + 1.0 + at.hold),
        Ordering::Lamport | Ordering::Skeen => Span::exactly(2.0 + at.hold),
    };
    match at.load {
        Load::Light => alone,
        Load::Heavy if at.contenders == 1 => alone,
        Load::Heavy => Span::between(alone.low.min(1.0 + at.hold), {
            let turns = contenders * (slowest(at) + at.hold);
            turns + slowest(at)
        }),
    }
}

const FIFO: (Parameter, &str) = (Parameter::Ordering, "fifo");
const CAUSAL: (Parameter, &str) = (Parameter::Ordering, "causal");

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "fifo-order",
        what: "members deliver requests as they come, each in an order of its own",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]).fifo().given(&[FIFO]),
    },
    Flaw {
        name: "causal-order",
        what: "members deliver requests after their causes, and concurrent ones as they come",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]).fifo().given(&[CAUSAL]),
    },
    Flaw {
        name: "unordered-links",
        what: "the algorithm as it is, on links where one word of the sequencer may overtake \
               another",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "old-request-counts",
        what: "a node that asks again takes its last request, which is still in the queue, for the \
               new one",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 2]).fifo(),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox};

    use super::*;
    use crate::multicast::body::{Id, Shared};

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn node(me: u32, ordering: Ordering) -> (TotalOrder, Outbox<TotalOrder>) {
        let setup = Setup { ordering, ..Setup::new(Group::of(3)) };
        (recipe().nodes(&setup).unwrap()(NodeId(me)), Outbox::default())
    }

    fn said(fx: &mut Outbox<TotalOrder>) -> Vec<alloc::string::String> {
        let shown = |effect| match effect {
            Effect::Send { to, message } => format!("{message} to {to}"),
            Effect::Notify(notice) => format!("{notice}"),
            Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
        };
        fx.take().into_iter().map(shown).collect()
    }

    fn word(word: &str) -> Message {
        Message::Cast(Body::Plain(word.into()))
    }

    fn next(from: u32, number: u64) -> Message {
        Message::Cast(Body::Next(Shared([Id { from: NodeId(from), number }].into())))
    }

    #[test]
    fn a_request_counts_from_where_the_sequencer_puts_it() {
        let (mut node, mut fx) = node(1, Ordering::Sequencer);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(said(&mut fx), ["REQUEST to 0", "REQUEST to 2"]);
        node.on_message(NodeId(2), word(REQUEST), &mut fx);
        node.on_message(NodeId(0), next(2, 0), &mut fx);
        node.on_message(NodeId(0), next(1, 0), &mut fx);
        assert_eq!(said(&mut fx), [""; 0], "node 2 is first");
        node.on_message(NodeId(2), word(RELEASE), &mut fx);
        assert_eq!(said(&mut fx), [""; 0], "a release counts from its place, too");
        node.on_message(NodeId(0), next(2, 1), &mut fx);
        assert_eq!(said(&mut fx), ["entered"]);
    }

    #[test]
    fn the_sequencer_enters_at_once_and_says_so() {
        let (mut node, mut fx) = node(0, Ordering::Sequencer);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        let all = ["REQUEST to 1", "REQUEST to 2", "ORDER(0/0) to 1", "ORDER(0/0) to 2", "entered"];
        assert_eq!(said(&mut fx), all);
    }

    #[test]
    fn who_asks_again_waits_for_its_own_release() {
        let (mut node, mut fx) = node(1, Ordering::Sequencer);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), next(1, 0), &mut fx);
        assert_eq!(said(&mut fx).last().unwrap(), "entered");
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert!(!said(&mut fx).contains(&"entered".into()), "its last request is done with");
        node.on_message(NodeId(2), word(REQUEST), &mut fx);
        node.on_message(NodeId(0), next(2, 0), &mut fx);
        assert_eq!(said(&mut fx), [""; 0], "still first in the queue, by a request that is over");
        node.on_message(NodeId(0), next(1, 1), &mut fx);
        assert_eq!(said(&mut fx), [""; 0], "its new one has no place yet");
        node.on_message(NodeId(0), next(1, 2), &mut fx);
        assert_eq!(said(&mut fx), [""; 0], "node 2 is first");
        node.on_message(NodeId(2), word(RELEASE), &mut fx);
        node.on_message(NodeId(0), next(2, 1), &mut fx);
        assert_eq!(said(&mut fx), ["entered"]);
    }

    #[test]
    fn every_order_has_words_of_its_own() {
        let first = |ordering| {
            let (mut node, mut fx) = node(2, ordering);
            node.on_command(ACQUIRE, &mut fx).unwrap();
            said(&mut fx).swap_remove(0)
        };
        assert_eq!(first(Ordering::Lamport), "REQUEST(1) to 0");
        assert_eq!(first(Ordering::Skeen), "REQUEST to 0");
        assert_eq!(first(Ordering::Token), "WANT(2) to 0");
        let (mut node, mut fx) = node(2, Ordering::Token);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(0), Message::Letter(OrderMessage::Token(7)), &mut fx);
        assert_eq!(said(&mut fx), ["REQUEST(at 7) to 0", "REQUEST(at 7) to 1"]);
    }

    #[test]
    fn an_order_that_is_not_total_is_refused_with_those_that_are() {
        for ordering in [Ordering::Fifo, Ordering::Causal] {
            let setup = Setup { ordering, ..Setup::new(Group::of(3)) };
            let why = recipe().nodes(&setup).err().unwrap().0;
            assert!(why.starts_with(&format!("--ordering {} lets", ordering.name())), "{why}");
            assert!(why.ends_with("one order for all, sequencer, token, lamport, skeen"), "{why}");
        }
    }

    #[test]
    fn all_are_needed_where_all_have_a_say_in_the_order() {
        let of = |ordering| needs(&Setup { ordering, ..Setup::new(Group::of(3)) });
        assert_eq!(of(Ordering::Lamport), Needs::AllBut(0));
        assert_eq!(of(Ordering::Skeen), Needs::AllBut(0));
        assert_eq!(of(Ordering::Sequencer), Needs::Anyone);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0, Ordering::Sequencer);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }
}
