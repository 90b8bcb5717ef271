//! Reliable multicast by negative acknowledgements.
//!
//! After Jacobson's suggestion in Ramakrishnan and Jain, INFOCOM 1987, and Towsley, Kurose and
//! Pingali, IEEE JSAC 15(3), 1997, who compare it with positive ones.
//!
//! A member that gets a message whose number is too high knows that one before it is missing, and
//! requests it from the sender. Messages that have arrived are not acknowledged.
//!
//! **Use it** for many receivers and few losses: whoever has got everything says nothing.
//!
//! ```text
//!   0  ─DATA(0)─┬──DATA(1)─┬──DATA(2)─┬────────▲─DATA(1)─┐───────►    NACK{1}: the gap is seen
//!               │          x lost     │     NACK{1}      │            when 2 comes before 1
//!   1  ─────────▼─────────────────────▼────────┴─────────▼───────►
//!             deliver 0                              deliver 1, 2
//! ```
//!
//! | per multicast to N members | cost |
//! | --- | --- |
//! | messages | N−1 of data, and a digest of every member for half a window |
//! | control | 2(N−1)/W, and 2(N−1) when a sender falls silent; a NACK for every loss |
//! | latency | T; a round trip more for a loss that is seen by the next message |
//! | kept | a window of what was sent; what waits behind a gap |
//!
//! **The tail.** If the *last* message is lost, no gap shows it, and no member ever requests it:
//! the flaw `no-tail-detection` is this algorithm with `--tail none`. Two cures can be chosen. With
//! `--tail stop` a sender repeats its highest number three times, at growing intervals; with
//! `--tail heartbeat` it does so until it knows that all have everything. Against three losses in a
//! row only the latter helps.
//!
//! **The history.** With pure negative acknowledgements a sender never knows which messages will
//! not be requested any more. So members report now and then how far they have delivered
//! (*digests*): after half a window of its messages, and when they hear one of its heartbeats.
//! Messages that all have are dropped; no more than a window is kept, and a sender whose window is
//! full accepts no more.
//!
//! **Unknown receivers** (`--history N`). Who asks nobody how far it has come need not know who
//! listens. A sender then keeps its last N messages, waits for no window, and stops repeating its
//! highest number when the intervals have grown to their longest. A request for something older is
//! answered with GONE and the number of the oldest that there is. The receiver tells its
//! application which messages it *misses for ever*, and goes on behind them. Less is promised then:
//! in order, none twice, every message that a receiver has heard of is delivered or reported, and
//! nothing is reported that its sender still has. A receiver keeps less than a window of a sender,
//! and asks for no more at a time; so N is at most a window. Gaps are known in fifo order only.
//!
//! **Assumes** nothing of order, losses and duplicates, but that a message sent again and again
//! arrives eventually, and, without `--tries`, that no member crashes. With `--tries R`, one that
//! has not answered R heartbeats in a row is removed, as [with acknowledgements](super::ack), and
//! so is a sender that has not answered R repeated requests in a row: what it has said that is
//! missing is lost with it, though others may have it: there is no agreement on the last messages
//! of a sender that crashes while messages are lost. Members [come and
//! go](super::ordered::membership). Where messages are reordered, there seem to be gaps, and some
//! messages are sent twice.
//!
//! **Once, in order**: as [with acknowledgements](super::ack), by numbers. **Everyone gets it**
//! (but for `stop` and `none`): as long as the sender does not know that all have everything it
//! says how far it has come; who misses something then knows it, and asks until it comes; the
//! sender still has it, since it forgets only what all have. **It comes to rest** because digests
//! answer heartbeats until the last has arrived; where a sender may crash, only with `--tries`:
//! without it whoever misses something asks it for ever.
//!
//! **Departures**: requests and repairs go from one to one, so that they are no news to others;
//! [SRM](super::srm) shares them. Digests ride on nothing else.

mod beginnings;
mod digests;
mod gone;
pub mod message;
mod stream;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{Effects, Group, NodeId, NodeState, SortedMap, StateValue};

use self::message::ask;
pub use self::message::{Message, Timer};
pub(super) use self::stream::Stream;
use super::body::{Body, Numbered};
use super::card::{CONTROL, Card, Demonstration, Flaw, LATENCY, Setting, Terms};
use super::inbox::{Arrival, Inbox};
use super::ordered::carrier::{Carrier, Up, longest};
use super::ordered::{self, Ordered};
use super::silence::Silence;
use crate::card::{Assumes, Span};
use crate::layer::reliable::Retries;
use crate::setup::{Parameter, Setup, Tail};

/// A member's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nack {
    me: NodeId,
    group: Group,
    pub(super) window: u32,
    patience: Retries,
    tail: Tail,
    /// How many of its messages it keeps, if it does not ask who has them.
    pub(super) keeps: Option<NonZeroU32>,
    /// Sent messages that perhaps not all have, oldest first.
    pub(super) history: VecDeque<Body>,
    /// The number of the first of these.
    pub(super) first: u64,
    /// How far each member has come, as far as is known.
    pub(super) known: Vec<u64>,
    pub(super) silence: Silence,
    /// How often it has said how far it has come, since the last message; up to the most that makes
    /// a difference.
    pub(super) beats: u8,
    pub(super) streams: SortedMap<NodeId, Stream>,
    pub(super) early: u32,
}

impl Nack {
    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.group.others(self.me)
    }

    /// After how many messages a digest is due.
    pub(super) const fn digest_every(&self) -> u64 {
        let half = self.window as u64 / 2;
        if half == 0 { 1 } else { half }
    }

    /// Whether it goes on saying how far it has come. One that is never told that all have
    /// everything stops when its intervals do not grow any more.
    fn goes_on(&self) -> bool {
        let is_last = u32::from(self.beats) == Retries::MOST_DOUBLINGS;
        self.tail.goes_on_after(self.beats) && (self.keeps.is_none() || !is_last)
    }

    fn on_data(
        &mut self,
        from: NodeId,
        (number, body): (u64, Body),
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let stream = self.streams.get_or_default(from);
        match stream.inbox.place(number, self.window) {
            Arrival::Again => return,
            // It has no place here yet; who waits for nobody may be as far ahead.
            Arrival::Absurd => return self.learn(from, number.saturating_add(1), fx),
            Arrival::Early => {
                stream.inbox.early.insert(number, body);
                self.early += 1;
            }
            Arrival::InTurn => {
                let had_gap = stream.has_gap();
                stream.inbox.next += 1;
                up.push(from, body);
                while let Some(body) = stream.inbox.ready() {
                    self.early -= 1;
                    up.push(from, body);
                }
                if had_gap {
                    stream.tries = 0;
                    if stream.inbox.next >= stream.below {
                        fx.cancel_timer(ordered::Timer::Carrier(Timer::Repeat(from)));
                    }
                }
            }
        }
        self.learn(from, number + 1, fx);
        self.digest_if_due(from, fx);
    }

    /// All below this number were sent: requests those that are newly found missing. A sender that
    /// waits for its receivers is never further ahead than a window. Of one that does not, as many
    /// are requested as there is room for: the first of them is gone, and the answer says from
    /// where on there is more.
    pub(super) fn learn(&mut self, from: NodeId, below: u64, fx: &mut impl Effects<Ordered<Self>>) {
        let stream = self.streams.get_or_default(from);
        let most = stream.inbox.next.saturating_add(u64::from(self.window));
        if below > most && self.keeps.is_none() {
            return;
        }
        let below = below.min(most);
        if below <= stream.below {
            return;
        }
        let had_gap = stream.has_gap();
        let known = core::mem::replace(&mut stream.below, below);
        ask(from, stream.inbox.missing(below).filter(|&number| number >= known), fx);
        if !had_gap && stream.has_gap() {
            let timer = ordered::Timer::Carrier(Timer::Repeat(from));
            fx.set_timer(timer, self.patience.delay(0));
        }
    }

    /// Messages that all have are dropped.
    pub(super) fn on_digest(
        &mut self,
        from: NodeId,
        upto: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let next = self.next();
        let known = &mut self.known[from.index()];
        if upto <= *known || upto > next {
            return;
        }
        let was_last = *known == self.first;
        *known = upto;
        if was_last && !self.history.is_empty() {
            self.settle(fx);
        }
    }

    /// Drops what all have that are waited for.
    fn settle(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        let others = self.others().filter(|&id| !self.silence.is_removed(id));
        let all = others.map(|id| self.known[id.index()]).min().unwrap_or_else(|| self.next());
        while self.first < all && self.history.pop_front().is_some() {
            self.first += 1;
        }
        if self.history.is_empty() {
            fx.cancel_timer(ordered::Timer::Carrier(Timer::Beat));
        }
    }
}

impl Carrier for Nack {
    type Message = Message;
    type Timer = Timer;

    fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            window: setup.window,
            patience: Retries::within(longest(me, setup), 0),
            tail: setup.tail,
            keeps: setup.history,
            history: VecDeque::new(),
            first: 0,
            known: vec![0; setup.group.size() as usize],
            silence: Silence::of(setup),
            beats: 0,
            streams: SortedMap::new(),
            early: 0,
        }
    }

    fn cast(&mut self, body: Body, fx: &mut impl Effects<Ordered<Self>>) {
        if self.group.size() == 1 {
            return;
        }
        let number = self.next();
        let message = ordered::Message::Carried(Message::Data { number, body: body.clone() });
        fx.broadcast(self.others(), message);
        self.history.push_back(body);
        if self.others().all(|id| self.silence.is_removed(id)) {
            return self.settle(fx);
        }
        if self.keeps.is_some_and(|most| self.history.len() > most.get() as usize) {
            self.history.pop_front();
            self.first += 1;
        }
        self.beats = 0;
        if self.tail.goes_on_after(0) {
            fx.set_timer(ordered::Timer::Carrier(Timer::Beat), self.patience.delay(0));
        }
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message,
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        self.hear_of(from);
        match message {
            Message::Data { number, body } => self.on_data(from, (number, body), up, fx),
            Message::Nack { first, mask } => self.on_nack(from, (first, mask), fx),
            Message::Heartbeat(below) => self.on_heartbeat(from, below, fx),
            Message::Digest(upto) => self.on_digest(from, upto, fx),
            Message::Gone { first, below } => {
                if self.keeps.is_some() {
                    self.on_gone(from, (first, below), up, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Ordered<Self>>) {
        match timer {
            Timer::Beat => {
                let next = self.next();
                let waited = self.others().filter(|id| self.known[id.index()] < next);
                let waited: Vec<NodeId> = waited.collect();
                if self.silence.try_again(waited.into_iter()) {
                    self.settle(fx);
                    if self.history.is_empty() {
                        return;
                    }
                }
                let beat = Message::Heartbeat(self.next());
                fx.broadcast(self.others(), ordered::Message::Carried(beat));
                self.beats = (self.beats + 1).min(Retries::MOST_DOUBLINGS as u8);
                // With a full window there is no next message to show the gap.
                let must_know = self.tail != Tail::None && !self.has_room();
                if must_know || self.goes_on() {
                    let delay = self.patience.delay(self.beats);
                    fx.set_timer(ordered::Timer::Carrier(Timer::Beat), delay);
                }
            }
            Timer::Repeat(of) => {
                let Some(stream) = self.streams.get_mut(&of) else { return };
                if self.silence.is_enough(stream.tries) {
                    return self.give_up(of, fx);
                }
                ask(of, stream.inbox.missing(stream.below), fx);
                // What is asked for too late is gone: no time to ask more and more seldom.
                if self.keeps.is_none() {
                    let most = self.silence.most.map_or(0, NonZeroU32::get);
                    stream.tries = (stream.tries + 1).min(Retries::MOST_DOUBLINGS.max(most) as u8);
                }
                let delay = self.patience.delay(stream.tries);
                fx.set_timer(ordered::Timer::Carrier(Timer::Repeat(of)), delay);
            }
        }
    }

    fn anew(&mut self, first: u64, fx: &mut impl Effects<Ordered<Self>>) {
        self.begin_anew(first, fx);
    }

    fn dismiss(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) {
        self.silence.remove([id]);
        if !self.history.is_empty() {
            self.settle(fx);
        }
    }

    fn admit(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) -> u64 {
        self.dismiss(id, fx);
        self.silence.admit(id);
        self.known[id.index()] = self.next();
        self.next()
    }

    fn listen(&mut self, from: NodeId, first: u64, fx: &mut impl Effects<Ordered<Self>>) {
        self.take_from(from, first, fx);
    }

    fn heard(&mut self, id: NodeId) {
        self.hear_of(id);
    }

    fn is_removed(&self, id: NodeId) -> bool {
        self.silence.is_removed(id)
    }

    fn owes(&self, id: NodeId) -> u64 {
        self.known[id.index()]
    }

    fn next(&self) -> u64 {
        self.first + self.history.len() as u64
    }

    fn has_room(&self) -> bool {
        self.keeps.is_some() || self.history.len() < self.window as usize
    }

    /// Of every sender (sender, number): how many messages it has sent as far as is known, up to
    /// which this member has said to have them, how often a request was repeated.
    fn state(&self) -> NodeState {
        let each = |of: fn(&Stream) -> u64| {
            StateValue::list(self.streams.iter().map(move |(&from, it)| (from, Numbered(of(it)))))
        };
        let history = (self.first..).zip(&self.history);
        let history = history.map(|(number, body)| (Numbered(number), StateValue::shown(body)));
        Inbox::state(self.streams.iter().map(|(&from, stream)| (from, &stream.inbox)))
            .with("sent below", each(|stream| stream.below))
            .with("told", each(|stream| stream.told))
            .with("tries", each(|stream| stream.tries.into()))
            .with("history", StateValue::list(history))
            .with("next number", Numbered(self.next()))
            .with("known", StateValue::vector(self.known.iter().map(|&it| Numbered(it))))
            .with("beats", self.beats)
            .and(self.silence.state())
    }

    fn has_obligations(&self) -> bool {
        !self.history.is_empty() && (self.keeps.is_none() || self.goes_on())
    }

    fn buffered(&self) -> usize {
        self.history.len() + self.early as usize
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "nack",
    title: "Negative acknowledgements",
    solves: "reliable multicast",
    citation: "Ramakrishnan and Jain, INFOCOM 1987",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: &[
        Parameter::Topology,
        Parameter::Within,
        Parameter::Window,
        Parameter::Tail,
        Parameter::History,
        Parameter::Tries,
        Parameter::Ordering,
    ],
    terms: Terms { data: &["DATA"], checked: &[1, 1, 0] },
    theory: &[CONTROL.costs(control), LATENCY.costs(Setting::latency)],
    flaws: FLAWS,
    page: page!("mod.rs"),
};

/// A digest of everyone for half a window, and a heartbeat with its digests when a sender falls
/// silent, which may be never or after every message; more where something is lost.
fn control(at: &Setting) -> Span {
    if at.setup.history.is_some() {
        return Span::between(0.0, f64::INFINITY);
    }
    let others = f64::from(at.nodes()) - 1.0;
    let digests = others / f64::from((at.setup.window / 2).max(1));
    let silence = if at.setup.tail == Tail::None { 0.0 } else { 2.0 * others };
    let most = if at.loss > 0.0 { f64::INFINITY } else { digests + silence };
    at.control(Span::between(0.0, most), f64::NAN)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-tail-detection",
        what: "no sender repeats its highest sequence number: if the last message is lost there \
               is no gap to show it, and it is lost for ever",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0]).losing(1).given(&[(Parameter::Tail, "none")]),
    },
    Flaw {
        name: "no-duplicate-filter",
        what: "duplicates are delivered: a request that is repeated too early is answered twice",
        breaks: "integrity",
        shown_by: Demonstration::of(&[1, 0]).doubling(1),
    },
    Flaw {
        name: "freed-when-one-has-it",
        what: "a message that one member has is dropped: another may still ask for it",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0, 0]).losing(1),
    },
    Flaw {
        name: "gap-not-reported",
        what: "a receiver that is told that a message is gone goes on with the next, and does not \
               tell its application",
        breaks: "reported gaps",
        shown_by: Demonstration::of(&[2, 0]).losing(1).given(&[(Parameter::History, "1")]),
    },
    Flaw {
        name: "never-removed",
        what: "a member that has crashed is waited for: the window stays full for ever",
        breaks: "room",
        shown_by: Demonstration::of(&[1, 0])
            .crashing(1)
            .given(&[(Parameter::Window, "1"), (Parameter::Tries, "2")]),
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
    Flaw {
        name: "gone-not-said",
        what: "a request for a message that was dropped is ignored: whoever misses it asks for \
               ever, and delivers nothing that came after it",
        breaks: "validity",
        shown_by: Demonstration::of(&[2, 0]).losing(1).given(&[(Parameter::History, "1")]),
    },
];

#[cfg(test)]
mod tests {
    use super::super::ordered::testing::{hear, member, run_out, say};
    use super::*;

    fn data(number: u64) -> Message {
        Message::Data { number, body: Body::Plain("".into()) }
    }

    /// Messages 1 to 7 of the specification are 0 to 6 here.
    #[test]
    fn a_gap_is_asked_for_and_a_lost_tail_is_not_noticed_without_a_heartbeat() {
        let mut node = member::<Nack>(1, 2, &[]);
        assert_eq!(hear(&mut node, 0, data(0)), ["delivers 0/0"]);
        assert_eq!(hear(&mut node, 0, data(1)), ["delivers 0/1"]);
        assert_eq!(hear(&mut node, 0, data(3)), ["0 NACK{2}", "Repeat(0) in 3ms"]);
        assert_eq!(hear(&mut node, 0, data(4)), [""; 0], "asked for already");
        let repaired = ["no Repeat(0)", "delivers 0/2", "delivers 0/3", "delivers 0/4"];
        assert_eq!(hear(&mut node, 0, data(2)), repaired);
        assert_eq!(hear(&mut node, 0, data(5)), ["delivers 0/5"]);
        let told = hear(&mut node, 0, Message::Heartbeat(7));
        assert_eq!(told, ["0 DIGEST(6)", "0 NACK{6}", "Repeat(0) in 3ms"]);
        assert_eq!(run_out(&mut node, Timer::Repeat(NodeId(0))), ["0 NACK{6}", "Repeat(0) in 6ms"]);
        assert_eq!(hear(&mut node, 0, data(6)), ["no Repeat(0)", "delivers 0/6"]);
        assert_eq!(hear(&mut node, 0, data(6)), [""; 0], "again");
        assert_eq!(hear(&mut node, 0, Message::Heartbeat(500)), [""; 0], "nobody is so far ahead");
    }

    #[test]
    fn a_sender_says_how_far_it_has_come_until_it_knows_that_all_have_everything() {
        let mut node = member::<Nack>(0, 3, &[]);
        let said = ["1 DATA(0: a)", "2 DATA(0: a)", "Beat in 3ms", "delivers 0/0: a"];
        assert_eq!(say(&mut node, "a"), said);
        let beats = ["1 HEARTBEAT(1)", "2 HEARTBEAT(1)", "Beat in 6ms"];
        assert_eq!(run_out(&mut node, Timer::Beat), beats);
        assert_eq!(run_out(&mut node, Timer::Beat).last().unwrap(), "Beat in 12ms");
        assert_eq!(hear(&mut node, 1, Message::Nack { first: 0, mask: 5 }), ["1 DATA(0: a)"]);
        assert_eq!(hear(&mut node, 1, Message::Digest(1)), [""; 0], "one of two");
        assert_eq!(hear(&mut node, 2, Message::Digest(9)), [""; 0], "of what was never sent");
        assert_eq!(hear(&mut node, 2, Message::Digest(1)), ["no Beat"]);
        assert_eq!(node.carrier.buffered(), 0);
        assert_eq!(hear(&mut node, 1, Message::Nack { first: 0, mask: 1 }), [""; 0], "forgotten");
    }

    #[test]
    fn a_stop_signal_is_said_three_times_and_no_tail_never() {
        let mut stop = member::<Nack>(0, 2, &[(Parameter::Tail, "stop")]);
        say(&mut stop, "a");
        for left in [2, 1, 0] {
            let said = run_out(&mut stop, Timer::Beat);
            assert_eq!(said.len(), 1 + usize::from(left > 0), "{said:?}");
        }
        let mut none = member::<Nack>(0, 2, &[(Parameter::Tail, "none")]);
        assert_eq!(say(&mut none, "a"), ["1 DATA(0: a)", "delivers 0/0: a"]);
    }

    #[test]
    fn a_sender_that_does_not_answer_is_not_asked_for_ever() {
        let repeat = Timer::Repeat(NodeId(0));
        let mut node = member::<Nack>(1, 3, &[(Parameter::Tries, "2")]);
        hear(&mut node, 0, data(3));
        assert_eq!(run_out(&mut node, repeat)[1], "Repeat(0) in 6ms");
        assert_eq!(run_out(&mut node, repeat)[1], "Repeat(0) in 12ms");
        hear(&mut node, 0, data(2));
        assert_eq!(run_out(&mut node, repeat), ["0 NACK{0,1}", "Repeat(0) in 6ms"], "it is there");
        assert_eq!(run_out(&mut node, repeat), ["0 NACK{0,1}", "Repeat(0) in 12ms"]);
        assert_eq!(run_out(&mut node, repeat), ["no Repeat(0)"], "it is not");
        assert!(node.carrier.is_removed(NodeId(0)) && node.carrier.buffered() == 0);
        assert_eq!(hear(&mut node, 0, data(0)), ["0 REMOVED(0)"], "it comes back as another");
    }

    #[test]
    fn half_a_window_is_worth_a_digest() {
        let mut node = member::<Nack>(1, 2, &[(Parameter::Window, "4")]);
        assert_eq!(hear(&mut node, 0, data(0)), ["delivers 0/0"]);
        assert_eq!(hear(&mut node, 0, data(1)), ["0 DIGEST(2)", "delivers 0/1"]);
        assert_eq!(hear(&mut node, 0, data(2)), ["delivers 0/2"]);
    }

    #[test]
    fn wide_gaps_take_several_requests() {
        let mut node = member::<Nack>(1, 2, &[(Parameter::Window, "100")]);
        let asked = hear(&mut node, 0, data(50));
        assert_eq!(asked.len(), 3, "{asked:?}");
        assert!(asked[0].starts_with("0 NACK{0,1,") && asked[1].starts_with("0 NACK{32,33,"));
    }
}
