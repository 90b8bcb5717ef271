//! Reliable multicast by positive acknowledgements.
//!
//! The oldest way: Chang and Maxemchuk, "Reliable broadcast protocols", ACM TOCS 2(3), 1984, and
//! Pingali, Towsley and Kurose, SIGMETRICS 1994, describe and analyse it.
//!
//! A sender knows the members, keeps what it has sent until all have acknowledged it, and sends it
//! again to those that have not. Everyone acknowledges every message, also one that it has had: the
//! acknowledgement may have been lost.
//!
//! **Use it** for a few receivers: a sender hears from each of them that a message has arrived.
//!
//! ```text
//!   0  ──DATA(0)──┬──────────▲──────(time-out)──DATA(0)──┐      ▲────►   sent again to 2 alone
//!                 │        ACK(0)                        │    ACK(0)
//!   1  ───────────▼──────────┴───────────────────────────┼──────┼────►
//!                 x lost                                 │      │
//!   2  ──────────────────────────────────────────────────▼──────┴────►
//! ```
//!
//! | per multicast to N members | cost |
//! | --- | --- |
//! | messages | 2(N−1): N−1 of data, N−1 acknowledgements |
//! | control | N−1, all of them to the sender; (N−1)/(1−p) where a share p of all is lost |
//! | latency | T; a time-out more for every loss |
//! | kept | messages that are not acknowledged by all: a window at most |
//!
//! **Assumes** nothing of order, losses and duplicates, but that a message sent again and again
//! arrives eventually, and, without `--tries`, that no member crashes: a sender then never gives up
//! a member.
//!
//! **Crashes** (`--tries R`): whoever has said nothing while the first message that it has not
//! acknowledged was sent to it again R times is taken for crashed and waited for no longer, so that
//! a window is not full for ever. If a message takes no longer than
//! [`within`](crate::setup::Setup::within) and fewer than R in a row are lost, no other is removed:
//! the answer to one of the R is there before the next time-out. Where that is not so, a member
//! that is up may miss what was dropped. Who was removed, has crashed or has left comes back [as a
//! new incarnation](super::ordered::membership), which is waited for from the next message on. A
//! *sender* that crashes sends nothing again: what was lost on its way to some is delivered by the
//! others only, so that there is no agreement on its last window. With [requests to
//! all](super::srm) whoever has a message repeats it, and a view agrees on it.
//!
//! **Once, in order**: a sender's messages have numbers, without gaps; a receiver delivers them by
//! number, keeps early ones and drops duplicates. **All get it**: a message that one member has not
//! acknowledged is retransmitted to it. **Bounded**: no more than a window of messages is in
//! flight, the first of them not acknowledged by all. All members have every message before that
//! first one; so no message is further ahead than a window, and a receiver keeps less than a window
//! of every sender.
//!
//! **What it is bad at**: all acknowledgements meet at the sender. With one sender, the figure
//! `busiest_control_per_multicast` shows this *implosion*: N−1 for each of its messages, where
//! others need a small part of that.
//!
//! **Departures**: a missing message is retransmitted to each member that misses it, never once
//! more to all. A message has a time-out of its own, twice as long every time, up to 64 times as
//! long: so nothing is sent twice if nothing is lost and [`within`](crate::setup::Setup::within) is
//! true.

use alloc::collections::VecDeque;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Group, NodeId, NodeSet, NodeState, SortedMap, StateValue};

use super::body::{Body, Numbered};
use super::card::{CONTROL, Card, Demonstration, Flaw, IMPLOSION, LATENCY, Setting, TAKES, Terms};
use super::inbox::{Arrival, Inbox};
use super::ordered::carrier::{Carrier, Up, longest};
use super::ordered::{self, Ordered};
use super::silence::Silence;
use crate::card::{Assumes, Span};
use crate::layer::reliable::Retries;
use crate::setup::{Parameter, Setup};

/// The messages between carriers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A multicast.
    Data {
        /// Its number, from 0.
        number: u64,
        /// The message.
        body: Body,
    },
    /// The sender's message of this number is here.
    Ack(u64),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &[Body::KINDS[0], Body::KINDS[1], Body::KINDS[2], Body::KINDS[3], "ACK"];

    fn kind(&self) -> usize {
        match self {
            Self::Data { body, .. } => body.kind(),
            Self::Ack(_) => 4,
        }
    }

    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        match self {
            Self::Data { number, .. } => Some((from, *number)),
            Self::Ack(_) => None,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = vorrang_protocol::Message::kind_name(self);
        match self {
            Self::Data { number, body } => write!(f, "{kind}({}{body})", Numbered(*number)),
            Self::Ack(number) => write!(f, "{kind}({})", Numbered(*number)),
        }
    }
}

/// This message has not been acknowledged by all in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resend(u64);

impl fmt::Debug for Resend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resend({})", Numbered(self.0))
    }
}

/// A member's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ack {
    me: NodeId,
    group: Group,
    window: u32,
    patience: Retries,
    pub(super) silence: Silence,
    /// Messages that not all have acknowledged, oldest first; behind the first, some may have been
    /// acknowledged by all.
    sent: VecDeque<Sent>,
    /// The number of the first of these.
    first: u64,
    pub(super) inboxes: SortedMap<NodeId, Inbox>,
    early: u32,
}

/// The message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sent {
    body: Body,
    /// The members that have not acknowledged it.
    missing: NodeSet,
    tries: u8,
}

impl Ack {
    #[cfg(test)]
    pub(super) const fn resend(number: u64) -> Resend {
        Resend(number)
    }

    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.group.others(self.me)
    }

    fn on_data(&mut self, from: NodeId, (number, body): (u64, Body), up: &mut Up) -> bool {
        let inbox = self.inboxes.get_or_default(from);
        match inbox.place(number, self.window) {
            Arrival::Absurd => return false,
            Arrival::Again => {}
            Arrival::Early => {
                inbox.early.insert(number, body);
                self.early += 1;
            }
            Arrival::InTurn => {
                inbox.next += 1;
                up.push(from, body);
                while let Some(body) = inbox.ready() {
                    self.early -= 1;
                    up.push(from, body);
                }
            }
        }
        true
    }

    pub(super) fn on_ack(
        &mut self,
        from: NodeId,
        number: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(sent) = self.sent.get_mut(place as usize) else { return };
        if sent.missing.remove(from) && sent.missing.is_empty() {
            fx.cancel_timer(ordered::Timer::Carrier(Resend(number)));
            self.settle();
        }
    }

    /// Drops what all have acknowledged that are waited for.
    fn settle(&mut self) {
        while self.sent.front().is_some_and(|sent| sent.missing.is_empty()) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// Waits no longer for those who were removed.
    fn let_go(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        for (number, sent) in (self.first..).zip(&mut self.sent) {
            let was_missing = !sent.missing.is_empty();
            let waited = sent.missing.iter().filter(|&id| !self.silence.is_removed(id));
            sent.missing = waited.collect();
            if was_missing && sent.missing.is_empty() {
                fx.cancel_timer(ordered::Timer::Carrier(Resend(number)));
            }
        }
        self.settle();
    }

    /// A message is to be sent again: that is a try for those who miss none before it. Time-outs of
    /// later ones come at the same time, and leave none of them time to answer.
    fn count_try(&mut self, place: usize, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(sent) = self.sent.get(place) else { return };
        let before = self.sent.range(..place);
        let misses_none = |id: &NodeId| !before.clone().any(|it| it.missing.contains(*id));
        if self.silence.try_again(sent.missing.iter().filter(misses_none)) {
            self.let_go(fx);
        }
    }
}

impl Carrier for Ack {
    type Message = Message;
    type Timer = Resend;

    fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            window: setup.window,
            patience: Retries::within(longest(me, setup), 0),
            silence: Silence::of(setup),
            sent: VecDeque::new(),
            first: 0,
            inboxes: SortedMap::new(),
            early: 0,
        }
    }

    fn cast(&mut self, body: Body, fx: &mut impl Effects<Ordered<Self>>) {
        if self.group.size() == 1 {
            return;
        }
        let waited = self.others().filter(|&id| !self.silence.is_removed(id));
        let missing: NodeSet = waited.collect();
        let number = self.next();
        let message = ordered::Message::Carried(Message::Data { number, body: body.clone() });
        fx.broadcast(self.others(), message);
        let is_done = missing.is_empty();
        self.sent.push_back(Sent { body, missing, tries: 0 });
        if is_done {
            return self.settle();
        }
        fx.set_timer(ordered::Timer::Carrier(Resend(number)), self.patience.delay(0));
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message,
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        self.silence.hear(from);
        match message {
            Message::Data { number, body } => {
                if self.on_data(from, (number, body), up) {
                    fx.send(from, ordered::Message::Carried(Message::Ack(number)));
                }
            }
            Message::Ack(number) => self.on_ack(from, number, fx),
        }
    }

    fn on_timer(&mut self, Resend(number): Resend, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(place) = number.checked_sub(self.first) else { return };
        self.count_try(place as usize, fx);
        // Whoever missed it may have been removed.
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(sent) = self.sent.get_mut(place as usize) else { return };
        if sent.missing.is_empty() {
            return;
        }
        let body = sent.body.clone();
        let message = ordered::Message::Carried(Message::Data { number, body });
        fx.broadcast(sent.missing.iter(), message);
        sent.tries = (sent.tries + 1).min(Retries::MOST_DOUBLINGS as u8);
        fx.set_timer(ordered::Timer::Carrier(Resend(number)), self.patience.delay(sent.tries));
    }

    fn anew(&mut self, first: u64, fx: &mut impl Effects<Ordered<Self>>) {
        for (number, sent) in (self.first..).zip(&self.sent) {
            if !sent.missing.is_empty() {
                fx.cancel_timer(ordered::Timer::Carrier(Resend(number)));
            }
        }
        self.sent.clear();
        self.inboxes.clear();
        (self.first, self.early) = (first, 0);
        self.silence.remove(self.others());
    }

    fn dismiss(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) {
        self.silence.remove([id]);
        self.let_go(fx);
    }

    fn admit(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) -> u64 {
        self.dismiss(id, fx);
        self.silence.admit(id);
        self.next()
    }

    fn listen(&mut self, from: NodeId, first: u64, _: &mut impl Effects<Ordered<Self>>) {
        let inbox = Inbox { next: first, ..Inbox::default() };
        let former = self.inboxes.insert(from, inbox);
        self.early -= former.map_or(0, |it| it.early.len() as u32);
    }

    fn heard(&mut self, id: NodeId) {
        self.silence.hear(id);
    }

    fn is_removed(&self, id: NodeId) -> bool {
        self.silence.is_removed(id)
    }

    fn owes(&self, id: NodeId) -> u64 {
        let owed = (self.first..).zip(&self.sent).find(|(_, sent)| sent.missing.contains(id));
        owed.map_or_else(|| self.next(), |(number, _)| number)
    }

    fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    fn has_room(&self) -> bool {
        self.sent.len() < self.window as usize
    }

    /// Of every message that is not acknowledged by all: its number and content, who is missing,
    /// and how often it was repeated.
    fn state(&self) -> NodeState {
        let sent = (self.first..).zip(&self.sent);
        let sent = sent.map(|(number, sent)| {
            (Numbered(number), StateValue::shown(&sent.body), (&sent.missing, sent.tries))
        });
        Inbox::state(self.inboxes.iter().map(|(&from, inbox)| (from, inbox)))
            .with("unacknowledged", StateValue::list(sent))
            .with("next number", Numbered(self.next()))
            .and(self.silence.state())
    }

    fn has_obligations(&self) -> bool {
        !self.sent.is_empty()
    }

    fn buffered(&self) -> usize {
        self.sent.len() + self.early as usize
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "ack",
    title: "Positive acknowledgements",
    solves: "reliable multicast",
    citation: "Chang and Maxemchuk, ACM TOCS 2(3), 1984",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: TAKES,
    terms: Terms { data: &["DATA"], checked: &[1, 1, 0] },
    theory: &[CONTROL.costs(control), IMPLOSION.costs(implosion), LATENCY.costs(Setting::latency)],
    flaws: FLAWS,
    page: page!("ack.rs"),
};

/// Every copy that arrives is acknowledged, and one is sent until an acknowledgement has arrived:
/// of 1/(1−p)² copies a share of 1−p arrives.
fn control(at: &Setting) -> Span {
    let others = f64::from(at.nodes()) - 1.0;
    at.control(Span::exactly(others), others / (1.0 - at.loss))
}

/// Where one speaks, all acknowledgements come to it.
fn implosion(at: &Setting) -> Span {
    let others = f64::from(at.nodes()) - 1.0;
    match (at.senders, at.loss > 0.0, at.setup.ordering.is_total()) {
        (1, false, false) => Span::exactly(others),
        (_, false, false) => Span::between(0.0, others),
        (_, true, _) | (_, _, true) => Span::between(0.0, f64::INFINITY),
    }
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-duplicate-filter",
        what: "duplicates are delivered: a member whose acknowledgement is lost delivers \
               everything twice",
        breaks: "integrity",
        shown_by: Demonstration::of(&[1, 0]).losing(1),
    },
    Flaw {
        name: "freed-when-one-has-it",
        what: "the first acknowledgement counts for all: a message lost to another member is \
               never retransmitted",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0, 0]).losing(1),
    },
    Flaw {
        name: "causal-by-fifo-only",
        what: "messages do not carry their causes: an answer may be delivered before the \
               question",
        breaks: "causal order",
        shown_by: Demonstration::of(&[1, 1, 0]).given(&[(Parameter::Ordering, "causal")]),
    },
    Flaw {
        name: "delivered-before-stable",
        what: "the message with the first stamp is delivered before every member was heard with a \
               later one: an earlier stamp may still come",
        breaks: "total order",
        shown_by: Demonstration::of(&[1, 1, 0]).given(&[(Parameter::Ordering, "lamport")]),
    },
    Flaw {
        name: "never-removed",
        what: "a member that has crashed is waited for: the window stays full for ever",
        breaks: "room",
        shown_by: Demonstration::of(&[1, 0])
            .crashing(1)
            .given(&[(Parameter::Window, "1"), (Parameter::Tries, "1")]),
    },
    Flaw {
        name: "stale-incarnation",
        what: "a member that restarts is let in from the first message that its former incarnation \
               had not acknowledged, and an acknowledgement of that one which is still under way \
               counts for the new one: it never gets the message",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0])
            .crashing(1)
            .restarting(1)
            .given(&[(Parameter::Tries, "2")]),
    },
];

#[cfg(test)]
mod tests {
    use super::super::ordered::testing::{hear, member, run_out, say};
    use super::*;

    fn data(number: u64, text: &str) -> Message {
        Message::Data { number, body: Body::Plain(text.into()) }
    }

    #[test]
    fn what_is_said_is_sent_again_to_those_who_miss_it_until_all_have_acknowledged_it() {
        let mut node = member::<Ack>(0, 3, &[]);
        let said = ["1 DATA(0: a)", "2 DATA(0: a)", "Resend(0) in 3ms", "delivers 0/0: a"];
        assert_eq!(say(&mut node, "a"), said);
        assert_eq!(hear(&mut node, 1, Message::Ack(0)), [""; 0]);
        assert_eq!(run_out(&mut node, Resend(0)), ["2 DATA(0: a)", "Resend(0) in 6ms"]);
        assert_eq!(run_out(&mut node, Resend(0)), ["2 DATA(0: a)", "Resend(0) in 12ms"]);
        assert_eq!(hear(&mut node, 1, Message::Ack(0)), [""; 0], "again");
        assert_eq!(hear(&mut node, 2, Message::Ack(7)), [""; 0], "of nothing");
        assert_eq!(hear(&mut node, 2, Message::Ack(0)), ["no Resend(0)"]);
        assert_eq!((node.carrier.first, node.carrier.buffered()), (1, 0));
    }

    #[test]
    fn what_comes_is_acknowledged_always_and_delivered_once_in_order() {
        let mut node = member::<Ack>(1, 2, &[(Parameter::Window, "4")]);
        assert_eq!(hear(&mut node, 0, data(1, "b")), ["0 ACK(1)"], "too early");
        assert_eq!(node.carrier.buffered(), 1);
        let both = ["0 ACK(0)", "delivers 0/0: a", "delivers 0/1: b"];
        assert_eq!(hear(&mut node, 0, data(0, "a")), both);
        assert_eq!(hear(&mut node, 0, data(1, "b")), ["0 ACK(1)"], "again");
        assert_eq!(hear(&mut node, 0, data(9, "x")), [""; 0], "nobody is so far ahead");
    }

    #[test]
    fn whoever_does_not_answer_so_often_is_waited_for_no_longer() {
        let given = [(Parameter::Tries, "2"), (Parameter::Window, "2")];
        let mut node = member::<Ack>(0, 3, &given);
        say(&mut node, "a");
        assert_eq!(say(&mut node, "b").last().unwrap(), "has no room for more");
        hear(&mut node, 1, Message::Ack(0));
        hear(&mut node, 1, Message::Ack(1));
        assert_eq!(run_out(&mut node, Resend(0)), ["2 DATA(0: a)", "Resend(0) in 6ms"]);
        assert_eq!(run_out(&mut node, Resend(0)), ["2 DATA(0: a)", "Resend(0) in 12ms"]);
        let gone = ["no Resend(0)", "no Resend(1)", "has room again"];
        assert_eq!(run_out(&mut node, Resend(0)), gone);
        let next = say(&mut node, "c");
        assert_eq!(next[..2], ["1 DATA(2: c)", "2 DATA(2: c)"], "who is up hears it nevertheless");
        assert_eq!(hear(&mut node, 1, Message::Ack(2)), ["no Resend(2)"]);
        for _ in 0..3 {
            run_out(&mut node, Resend(2));
        }
        let mut alone = member::<Ack>(0, 2, &given);
        say(&mut alone, "a");
        (0..3).for_each(|_| drop(run_out(&mut alone, Resend(0))));
        assert_eq!(say(&mut alone, "b"), ["1 DATA(1: b)", "delivers 0/1: b"], "nobody is left");
        assert_eq!(say(&mut alone, "c")[0], "1 DATA(2: c)");
    }

    /// No two transmissions in a row are lost.
    #[test]
    fn whoever_acknowledges_something_else_meanwhile_is_not_silent() {
        let mut node = member::<Ack>(0, 2, &[(Parameter::Tries, "2")]);
        say(&mut node, "");
        for number in 1..=4 {
            say(&mut node, "");
            hear(&mut node, 1, Message::Ack(number));
            assert_eq!(run_out(&mut node, Resend(0))[0], "1 DATA(0)", "{number}");
        }
        assert!(!node.carrier.is_removed(NodeId(1)));
    }

    /// Of five that are sent at once every other is lost, and all time-outs come together.
    #[test]
    fn time_outs_of_what_was_sent_together_count_once() {
        let mut node = member::<Ack>(0, 2, &[(Parameter::Tries, "2")]);
        (0..5).for_each(|_| drop(say(&mut node, "")));
        hear(&mut node, 1, Message::Ack(1));
        hear(&mut node, 1, Message::Ack(3));
        for number in [0, 2, 4] {
            let again = alloc::format!("1 DATA({number})");
            assert_eq!(run_out(&mut node, Resend(number))[0], again);
        }
        assert!(!node.carrier.is_removed(NodeId(1)));
        run_out(&mut node, Resend(0));
        let gone = ["no Resend(0)", "no Resend(2)", "no Resend(4)"];
        assert_eq!(run_out(&mut node, Resend(0)), gone, "two tries were not answered");
    }

    #[test]
    fn acknowledgements_of_one_do_not_hold_up_those_of_another() {
        let mut node = member::<Ack>(0, 2, &[]);
        say(&mut node, "a");
        say(&mut node, "b");
        assert_eq!(hear(&mut node, 1, Message::Ack(1)), ["no Resend(1)"]);
        assert_eq!(node.carrier.sent.len(), 2, "kept behind the first");
        hear(&mut node, 1, Message::Ack(0));
        assert_eq!((node.carrier.sent.len(), node.carrier.first), (0, 2));
    }

    #[test]
    fn every_copy_that_arrives_is_acknowledged() {
        let setup = Setup::new(Group::of(20));
        let at = |loss| Setting { setup: setup.clone(), loss, senders: 20, is_complete: true };
        assert_eq!(control(&at(0.0)), Span::exactly(19.0));
        assert_eq!(control(&at(0.05)).typical, Some(20.0));
        let mut skeen = at(0.0);
        skeen.setup.set(Parameter::Ordering, "skeen").unwrap();
        assert_eq!(control(&skeen), Span::exactly(5.0 * 19.0));
    }
}
