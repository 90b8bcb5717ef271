//! Scalable reliable multicast: any member requests, any member repairs, and all hear both.
//!
//! Floyd, Jacobson, Liu, `McCanne` and Zhang, "A reliable multicast framework for light-weight
//! sessions and application level framing", IEEE/ACM Transactions on Networking 5(6), 1997.
//!
//! A member that misses a message waits for a while, the longer the farther away its sender is, and
//! then requests it from *all*. Another member that misses it too need not request it; one that has
//! it waits for a while, too, and then repairs it for all, unless another was quicker. So a loss
//! that many suffer is requested and repaired about once.
//!
//! **Use it** for very many receivers: whoever is near repairs a loss, for all who suffer it, and
//! no sender hears from each.
//!
//! ```text
//!   S  ──DATA(1)──────x──DATA(2)──┬─────────────────▲─────────┬─REPAIR(S/1)─┬──►
//!                  lost to both   │                 │         │             │
//!   A  ───────────────────────────▼──(2 d)──REQUEST─┼─────────┼─────────────▼──►   one asks,
//!                                 │           (S/1) │                       │
//!   B  ───────────────────────────▼─────────────────▼─(backs off)───────────▼──►   both get it
//! ```
//!
//! | per loss | cost |
//! | --- | --- |
//! | messages | about one request and one repair, each to N−1 members |
//! | latency | a request waits for C1 d to (C1+C2) d, a repair for D1 d to (D1+D2) d |
//! | kept | by all: messages not known to be everywhere, a window of each sender at most |
//!
//! **Request.** A member that misses a message of S waits for 2ⁱ · [C1 d, (C1+C2) d], where d is
//! the distance to S and i is 0 at first; then it sends the request, and waits again with i+1. If
//! it hears the request of another member first it backs off: i+1, and a new draw. Until half of
//! that has passed it *ignores* further requests: they belong to the same round. i is at most 5.
//!
//! **Repair.** A member that has what another asks for waits for [D1 d, (D1+D2) d], where d is the
//! distance to the one who asked, and then sends it to all, unless it has heard a repair. Having
//! sent or heard one, it *holds* for 3 d, d being the distance to the sender of what was repaired:
//! requests that come until then were made before the repair arrived.
//!
//! **Sessions.** Members report now and then how far they have delivered: that shows a loss of the
//! last message, tells senders which messages are everywhere and can be dropped, and measures
//! distances. One in twenty messages at most is of this kind, unless a window would be full
//! otherwise, or there is no other traffic; and the more members there are the more seldom each
//! reports.
//!
//! **Waits** (`--waits`): `fixed`, as in the paper, C1 = C2 = 2, D1 = D2 = log₁₀ N; `adaptive`, as
//! its section VII: more duplicates than one lengthen, delays of more than a round trip shorten;
//! `star` and `line`, what fits where only chance or only distance tells members apart; or numbers.
//!
//! **Scope** (`--scope`): a loss near one member concerns few, and yet all hear of it. With a scope
//! of h the first request for a message goes to the members that are at most h links away (section
//! VIII: local recovery by hop counts), and says so. One who has the message and is h' links away
//! repairs it for all within h + h' links of itself: among these are all who have heard the request
//! and have backed off. Whoever has asked or backed off once, and has no repair when its doubled
//! wait is over, asks all. A repair to a neighbourhood holds back no repair to all.
//!
//! **Assumes** nothing of order, losses and duplicates, but that a message sent again and again
//! arrives eventually. A message of a crashed sender that has reached one other member reaches all
//! live ones. No member is removed, so that a window may be full for ever, unless `--tries R` is
//! given: then one that was not heard while its sender said R times that it waits for it is, as
//! [with acknowledgements](super::ack), and members [come and go](super::ordered::membership). So
//! whoever is waited for says soon how far it has come, and a sender that says so again before an
//! answer can be there counts it as the same try.
//!
//! **Once, in order**: as [with acknowledgements](super::ack), by numbers. **All get it**: a member
//! that knows of a missing message requests it until it comes. Sessions see to it that it knows: a
//! sender repeats its highest number until all members have acknowledged it. A sender keeps a
//! message that any member misses, since it drops only those that all have acknowledged; its second
//! request goes to all, and so to the sender, whatever the scope of the first. **It comes
//! to rest**, since a member without new messages or pending requests is silent; only a message of
//! a crashed sender that others have heard of and nobody has is requested until the sender comes
//! back as a new incarnation.
//!
//! **Departures**: sessions end when there is nothing to say, so that a run can end; the paper's
//! go on. Randomness is a [choice](vorrang_protocol::Effects::choose) among so many values
//! (`--draws`), so that a checker can try them all: two of them, the shortest and the longest, are
//! all that it needs. Numbers are per sender, where the paper has names. A scope is widened to all
//! at once, and not step by step; sessions always go to all.

pub mod distance;
pub mod message;
pub mod pace;
mod recovery;
mod scope;
mod sessions;
mod shown;
mod stream;

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::time::Duration;

use vorrang_protocol::{Delay, Effects, Group, NodeId, NodeState, SortedMap};

use self::distance::Map;
pub use self::message::{Message, Timer};
use self::pace::Pace;
use self::scope::Scope;
use self::sessions::Sessions;
use self::stream::Stream;
use super::body::{Body, Id};
use super::card::{Card, Demonstration, Flaw, LATENCY, REQUESTS, Setting, Terms};
use super::ordered::carrier::{Carrier, Up, longest};
use super::ordered::{self, Ordered};
use super::silence::Silence;
pub use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// A member's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Srm {
    pub(super) me: NodeId,
    pub(super) group: Group,
    pub(super) window: u32,
    pub(super) draws: NonZeroU32,
    pub(super) longest: Duration,
    /// The streams of all senders, this member included.
    pub(super) streams: SortedMap<NodeId, Stream>,
    /// How far each has come with what this member has sent, as far as is known.
    pub(super) known: Vec<u64>,
    pub(super) silence: Silence,
    /// How many members have not acknowledged all of it.
    pub(super) laggards: u32,
    pub(super) map: Map,
    pub(super) scope: Scope,
    pub(super) pace: Pace,
    pub(super) sessions: Sessions,
    pub(super) kept: u32,
}

impl Srm {
    pub(super) fn say(&self, message: Message, fx: &mut impl Effects<Ordered<Self>>) {
        fx.broadcast(self.group.others(self.me), ordered::Message::Carried(message));
    }

    /// Says something to those who are at most so many links away, or to all.
    fn say_near(&self, reach: Option<u32>, message: Message, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(reach) = reach else { return self.say(message, fx) };
        let near = self.group.others(self.me).filter(|&id| self.scope.has(id, reach));
        fx.broadcast(near, ordered::Message::Carried(message));
    }

    pub(super) fn set(timer: Timer, after: Duration, fx: &mut impl Effects<Ordered<Self>>) {
        fx.set_timer(ordered::Timer::Carrier(timer), Delay::exactly(after));
    }

    pub(super) fn cancel(timer: Timer, fx: &mut impl Effects<Ordered<Self>>) {
        fx.cancel_timer(ordered::Timer::Carrier(timer));
    }

    pub(super) fn stream(&mut self, of: NodeId) -> &mut Stream {
        self.streams.get_or_default(of)
    }
}

impl Carrier for Srm {
    type Message = Message;
    type Timer = Timer;

    fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            window: setup.window,
            draws: setup.draws,
            longest: longest(me, setup),
            streams: SortedMap::new(),
            known: vec![0; setup.group.size() as usize],
            silence: Silence::of(setup),
            laggards: 0,
            map: Map::of(me, setup),
            scope: Scope::of(me, setup),
            pace: Pace::of(setup.waits, setup.group.size()),
            sessions: Sessions::default(),
            kept: 0,
        }
    }

    fn cast(&mut self, body: Body, fx: &mut impl Effects<Ordered<Self>>) {
        if self.group.size() == 1 {
            return;
        }
        let own = self.streams.get_or_default(self.me);
        let (number, stable) = (own.inbox.next, own.first);
        own.inbox.next += 1;
        own.below = own.inbox.next;
        own.told = own.inbox.next;
        own.kept.push_back(body.clone());
        self.kept += 1;
        let others = self.group.others(self.me);
        self.laggards = others.filter(|&id| !self.silence.is_removed(id)).count() as u32;
        self.say(Message::Data { number, stable, body }, fx);
        if self.laggards == 0 {
            return self.forget(self.me, number + 1);
        }
        self.sessions.quiet = 0;
        self.sessions.is_busy = true;
        self.wake(fx);
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
            Message::Data { number, stable, body } => {
                self.take(Id { from, number }, body, up, fx);
                self.forget(from, stable);
            }
            Message::Request { of, distance_ns, is_local } => {
                if self.group.contains(of.from) {
                    self.on_request((from, is_local), of, distance_ns, fx);
                }
            }
            Message::Repair { of, body, is_local } => {
                if self.group.contains(of.from) {
                    self.repaired((Some(from), is_local), of, fx);
                    // A member needs no report about its own messages.
                    if of.from != self.me {
                        self.take(of, body, up, fx);
                    }
                }
            }
            Message::Session(news) => self.on_session(from, &news, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Ordered<Self>>) {
        match timer {
            Timer::Request(of) => {
                let distance_ns = self.map.to(of.from).as_nanos() as u64;
                let missing = self.stream(of.from).missing.get(&of.number);
                let is_first = missing.is_some_and(|it| it.doublings == 0);
                let reach = self.scope.of_request(is_first);
                let request = Message::Request { of, distance_ns, is_local: reach.is_some() };
                self.say_near(reach, request, fx);
                self.asked(of, None);
                self.back_off(of, fx);
            }
            Timer::Ignore(of) => {
                if let Some(missing) = self.stream(of.from).missing.get_mut(&of.number) {
                    missing.is_ignoring = false;
                }
            }
            Timer::Repair(of) => {
                let reach =
                    self.stream(of.from).repairs.get(&of.number).and_then(|repair| repair.reach);
                let is_local = reach.is_some();
                if let Some(body) = self.stream(of.from).get(of.number).cloned() {
                    self.say_near(reach, Message::Repair { of, body, is_local }, fx);
                }
                self.repaired((None, is_local), of, fx);
            }
            Timer::Hold(of) => {
                let held = self.stream(of.from).held.remove(&of.number);
                if let Some(came) = held.and_then(|held| held.came) {
                    self.pace.repair.learn(came);
                }
            }
            Timer::Session => self.on_session_time(fx),
            Timer::Tick => self.on_tick(fx),
            Timer::Answer => self.sessions.is_waiting = false,
        }
    }

    fn anew(&mut self, first: u64, fx: &mut impl Effects<Ordered<Self>>) {
        self.begin_anew(first, fx);
    }

    fn dismiss(&mut self, id: NodeId, _: &mut impl Effects<Ordered<Self>>) {
        self.silence.remove([id]);
        self.laggards = self.seeks().count() as u32;
        self.settle();
    }

    fn admit(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) -> u64 {
        self.dismiss(id, fx);
        self.silence.admit(id);
        self.known[id.index()] = self.next();
        self.next()
    }

    fn listen(&mut self, from: NodeId, first: u64, fx: &mut impl Effects<Ordered<Self>>) {
        self.drop_stream(from, fx);
        self.streams.insert(from, Stream::from(first));
    }

    fn heard(&mut self, id: NodeId) {
        self.silence.hear(id);
    }

    fn is_removed(&self, id: NodeId) -> bool {
        self.silence.is_removed(id)
    }

    fn owes(&self, id: NodeId) -> u64 {
        self.known[id.index()]
    }

    fn next(&self) -> u64 {
        self.streams.get(&self.me).map_or(0, |own| own.inbox.next)
    }

    fn has_room(&self) -> bool {
        let own = self.streams.get(&self.me).map_or(0, |own| own.kept.len());
        own < self.window as usize
    }

    fn state(&self) -> NodeState {
        self.shown()
    }

    fn has_obligations(&self) -> bool {
        self.laggards > 0
    }

    fn buffered(&self) -> usize {
        self.kept as usize
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "srm",
    title: "Scalable reliable multicast",
    solves: "reliable multicast",
    citation: "Floyd, Jacobson, Liu, McCanne and Zhang, IEEE/ACM ToN 5(6), 1997",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: &[
        Parameter::Topology,
        Parameter::Within,
        Parameter::Window,
        Parameter::Tries,
        Parameter::Ordering,
        Parameter::Waits,
        Parameter::Distances,
        Parameter::Draws,
        Parameter::Scope,
    ],
    terms: Terms { data: &["DATA", "REPAIR"], checked: &[1, 0] },
    theory: &[LATENCY.costs(Setting::latency), REQUESTS.costs(requests)],
    flaws: FLAWS,
    page: page!("mod.rs"),
};

/// Every loss is requested.
fn requests(_: &Setting) -> Span {
    Span::between(1.0, f64::INFINITY)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-sessions",
        what: "no sender repeats its highest sequence number: if the last message is lost there \
               is no gap to show it, and it is lost for ever",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0]).losing(1),
    },
    Flaw {
        name: "no-duplicate-filter",
        what: "duplicates are delivered: two repairs of one loss are two messages",
        breaks: "integrity",
        shown_by: Demonstration::of(&[1, 0]).doubling(1),
    },
    Flaw {
        name: "no-ignore-interval",
        what: "every request for a missing message doubles the wait, also those of one round: \
               where two ask at once, both wait four times as long for a repair that may be lost",
        breaks: "one back-off a round",
        shown_by: Demonstration::of(&[1, 0, 0]).losing(2),
    },
    Flaw {
        name: "suppressed-for-ever",
        what: "a member that hears the request of another leaves the message to it, instead of \
               waiting for longer: if the repair is lost to it, it never asks",
        breaks: "every gap is asked for",
        shown_by: Demonstration::of(&[1, 0, 0]).losing(2),
    },
    Flaw {
        name: "never-removed",
        what: "a member that has crashed is waited for: the window stays full for ever",
        breaks: "room",
        shown_by: Demonstration::of(&[1, 0])
            .crashing(1)
            .given(&[(Parameter::Window, "1"), (Parameter::Tries, "3")]),
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
        name: "never-widened",
        what: "a request goes to the neighbourhood however often it was made: where nobody there \
               can answer, since the only neighbour has crashed, nobody ever does",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0, 0])
            .losing(1)
            .crashing(1)
            .timely(Duration::from_micros(1))
            .given(&[
                (Parameter::Topology, "line"),
                (Parameter::Scope, "1"),
                (Parameter::Waits, "0.1,0,0.1,0"),
            ]),
    },
];

#[cfg(test)]
mod tests {
    use super::super::ordered::testing::{came, hear, member, run_out, say};
    use super::message::News;
    use super::*;

    const LINE: &[(Parameter, &str)] = &[
        (Parameter::Topology, "line"),
        (Parameter::Waits, "2,0,1,0"),
        (Parameter::Distances, "known"),
    ];

    fn data(number: u64) -> Message {
        Message::Data { number, stable: 0, body: Body::Plain("".into()) }
    }

    fn lost() -> Id {
        Id { from: NodeId(0), number: 5 }
    }

    fn asking(of: Id, distance_ns: u64) -> Message {
        Message::Request { of, distance_ns, is_local: false }
    }

    fn repair(is_local: bool) -> Message {
        Message::Repair { of: lost(), body: Body::Plain("".into()), is_local }
    }

    /// A member that has all but number 5.
    fn misses(me: u32) -> (Ordered<Srm>, Vec<alloc::string::String>) {
        let mut node = member::<Srm>(me, 3, LINE);
        for number in 0..5 {
            hear(&mut node, 0, data(number));
        }
        let noticed = hear(&mut node, 0, data(6));
        (node, noticed)
    }

    /// The chain S–A–B of the specification, which are 0, 1 and 2.
    #[test]
    fn on_a_line_the_nearest_asks_and_the_others_back_off() {
        let (mut a, noticed) = misses(1);
        assert_eq!(noticed, ["Request(0/5) in 2ms"]);
        let (mut b, noticed) = misses(2);
        assert_eq!(noticed, ["Request(0/5) in 4ms"]);

        let asked = run_out(&mut a, Timer::Request(lost()));
        let request = ["0 REQUEST(0/5)", "2 REQUEST(0/5)"];
        assert_eq!(asked[..2], request);
        assert_eq!(asked[2..], ["Request(0/5) in 4ms", "Ignore(0/5) in 2ms"]);
        let request = asking(lost(), 1_000_000);
        let backs_off = ["Request(0/5) in 8ms", "Ignore(0/5) in 4ms"];
        assert_eq!(hear(&mut b, 1, request.clone()), backs_off);
        assert_eq!(hear(&mut b, 1, request.clone()), [""; 0], "the same round");

        let mut s = member::<Srm>(0, 3, LINE);
        for _ in 0..7 {
            say(&mut s, "");
        }
        assert_eq!(hear(&mut s, 1, request.clone()), ["Repair(0/5) in 1ms"]);
        assert_eq!(hear(&mut s, 2, request.clone()), [""; 0], "it will");
        let repairs = run_out(&mut s, Timer::Repair(lost()));
        assert_eq!(repairs, ["1 REPAIR(0/5)", "2 REPAIR(0/5)", "Hold(0/5) in 3ms"]);
        assert_eq!(hear(&mut s, 2, request.clone()), [""; 0], "it just has");
        assert_eq!(run_out(&mut s, Timer::Hold(lost())), [""; 0]);
        assert_eq!(hear(&mut s, 2, request), ["Repair(0/5) in 2ms"], "long ago");

        let repair = repair(false);
        for (node, hold) in [(&mut a, "Hold(0/5) in 3ms"), (&mut b, "Hold(0/5) in 6ms")] {
            let found = hear(node, 0, repair.clone());
            let done = [hold, "no Request(0/5)", "no Ignore(0/5)", "delivers 0/5", "delivers 0/6"];
            assert_eq!(found, done);
            assert!(node.carrier.streams[&NodeId(0)].missing.is_empty());
        }
    }

    const NEAR: &[(Parameter, &str)] = &[
        (Parameter::Topology, "line"),
        (Parameter::Waits, "2,0,1,0"),
        (Parameter::Distances, "known"),
        (Parameter::Scope, "1"),
    ];

    #[test]
    fn the_first_request_goes_to_neighbours_and_the_next_to_all() {
        let near = || {
            let mut node = member::<Srm>(4, 6, NEAR);
            for number in (0..5).chain([6]) {
                hear(&mut node, 0, data(number));
            }
            node
        };
        let mut node = near();
        let asked = run_out(&mut node, Timer::Request(lost()));
        assert_eq!(asked[..2], ["3 REQUEST(0/5 near)", "5 REQUEST(0/5 near)"]);
        let again = run_out(&mut node, Timer::Request(lost()));
        assert_eq!(again[..2], ["0 REQUEST(0/5)", "1 REQUEST(0/5)"]);
        assert_eq!(again.iter().filter(|it| it.contains("REQUEST")).count(), 5);

        let mut node = near();
        let other = Message::Request { of: lost(), distance_ns: 0, is_local: true };
        assert!(hear(&mut node, 5, other)[0].starts_with("Request(0/5) in"));
        let asked = run_out(&mut node, Timer::Request(lost()));
        assert_eq!(asked[0], "0 REQUEST(0/5)", "the neighbourhood has been asked");
    }

    #[test]
    fn a_repair_goes_to_all_who_may_have_heard_the_request() {
        let near = || Message::Request { of: lost(), distance_ns: 0, is_local: true };
        let about_to_repair = || {
            let mut node = member::<Srm>(2, 7, NEAR);
            for number in 0..6 {
                hear(&mut node, 0, data(number));
            }
            assert_eq!(hear(&mut node, 3, near()), ["Repair(0/5) in 1ms"]);
            node
        };
        let repairs = |node: &mut Ordered<Srm>| {
            let said = run_out(node, Timer::Repair(lost()));
            said.into_iter().filter(|it| it.contains("REPAIR")).collect::<Vec<_>>()
        };
        let said = |ids: &[u32], how: &str| {
            ids.iter().map(|id| alloc::format!("{id} REPAIR(0/5{how})")).collect::<Vec<_>>()
        };
        let all = said(&[0, 1, 3, 4, 5, 6], "");
        let mut node = about_to_repair();
        let two_links = said(&[0, 1, 3, 4], " near");
        assert_eq!(repairs(&mut node), two_links, "one to 3, and one that its request has gone");

        let mut node = about_to_repair();
        assert_eq!(hear(&mut node, 4, near()), [""; 0], "from farther away");
        assert_eq!(repairs(&mut node), said(&[0, 1, 3, 4, 5], " near"));
        assert_eq!(hear(&mut node, 3, near()), [""; 0], "it just has");
        assert_eq!(hear(&mut node, 6, asking(lost(), 0)), ["Repair(0/5) in 4ms"], "6 has not");
        assert_eq!(hear(&mut node, 3, repair(true)), [""; 0], "6 does not hear that");
        assert_eq!(repairs(&mut node), all);
        assert_eq!(hear(&mut node, 6, asking(lost(), 0)), [""; 0], "all have heard that");

        let mut node = about_to_repair();
        assert_eq!(hear(&mut node, 3, asking(lost(), 0)), [""; 0]);
        assert_eq!(repairs(&mut node), all, "who asks all widens what was to be near");
    }

    #[test]
    fn whoever_hears_of_another_repair_need_not_do_it() {
        let mut b = member::<Srm>(2, 3, LINE);
        for number in 0..6 {
            hear(&mut b, 0, data(number));
        }
        let request = asking(lost(), 0);
        assert_eq!(hear(&mut b, 1, request), ["Repair(0/5) in 1ms"]);
        let repair = repair(false);
        assert_eq!(hear(&mut b, 0, repair), ["no Repair(0/5)", "Hold(0/5) in 6ms"]);
    }

    #[test]
    fn a_request_for_what_was_not_known_to_be_sent_is_news() {
        let mut b = member::<Srm>(2, 3, LINE);
        let request = asking(Id { number: 1, ..lost() }, 0);
        let heard = hear(&mut b, 1, request);
        assert!(heard.contains(&"Request(0/0) in 4ms".into()), "{heard:?}");
        assert!(heard.contains(&"Request(0/1) in 8ms".into()), "{heard:?}");
        let absurd = asking(Id { number: 900, ..lost() }, 0);
        assert_eq!(hear(&mut b, 1, absurd), [""; 0]);
        let mine = asking(Id { from: NodeId(2), number: 0 }, 0);
        assert_eq!(hear(&mut b, 1, mine), [""; 0], "nobody has sent that");
    }

    #[test]
    fn sessions_end_when_everyone_has_told_that_it_has_everything() {
        let known = &[(Parameter::Distances, "known")];
        let mut s = member::<Srm>(0, 2, known);
        let said = say(&mut s, "");
        assert_eq!(said, ["1 DATA(0)", "Session in 2ms to 6ms", "delivers 0/0"]);
        assert_eq!(run_out(&mut s, Timer::Session), ["Session in 2ms to 6ms"], "busy until now");
        let told = run_out(&mut s, Timer::Session);
        assert_eq!(told, ["1 SESSION(0:1)", "Session in 4ms to 12ms"]);
        let mut r = member::<Srm>(1, 2, known);
        hear(&mut r, 0, data(0));
        run_out(&mut r, Timer::Session);
        assert_eq!(run_out(&mut r, Timer::Session), ["0 SESSION(0:1)"], "and no more");
        let news = News {
            streams: [(NodeId(0), 1, 1)].into_iter().collect(),
            stable: 0,
            seeks: [].into_iter().collect(),
            stamp: None,
            echoes: [].into_iter().collect(),
        };
        assert!(s.carrier.has_obligations());
        hear(&mut s, 1, Message::Session(news));
        assert!(!s.carrier.has_obligations() && s.carrier.buffered() == 0);
        assert_eq!(run_out(&mut s, Timer::Session), [""; 0]);
    }

    #[test]
    fn a_session_shows_a_lost_tail() {
        let mut r =
            member::<Srm>(1, 2, &[(Parameter::Distances, "known"), (Parameter::Waits, "line")]);
        let news = News {
            streams: [(NodeId(0), 1, 1)].into_iter().collect(),
            stable: 0,
            seeks: [NodeId(1)].into_iter().collect(),
            stamp: None,
            echoes: [].into_iter().collect(),
        };
        let heard = hear(&mut r, 0, Message::Session(news));
        assert_eq!(heard, ["Request(0/0) in 2ms", "Session in 2ms to 6ms"]);
    }

    /// What is said of one sender, and who is sought.
    fn session(of: (NodeId, u64, u64), seeks: &[NodeId]) -> Message {
        Message::Session(News {
            streams: [of].into_iter().collect(),
            stable: 0,
            seeks: seeks.iter().copied().collect(),
            stamp: None,
            echoes: [].into_iter().collect(),
        })
    }

    const TRIES: &[(Parameter, &str)] = &[(Parameter::Distances, "known"), (Parameter::Tries, "1")];

    #[test]
    fn whoever_is_sought_and_would_be_removed_answers_soon() {
        let mut r = member::<Srm>(1, 2, TRIES);
        hear(&mut r, 0, data(0));
        let sought = session((NodeId(0), 1, 1), &[NodeId(1)]);
        assert_eq!(hear(&mut r, 0, sought), ["Session in 0ns to 1ms"], "however busy it is");
        assert_eq!(run_out(&mut r, Timer::Session), ["0 SESSION(0:1)"]);
    }

    #[test]
    fn sessions_that_leave_no_time_for_an_answer_are_no_further_tries() {
        let mut s = member::<Srm>(0, 2, TRIES);
        let soon = |s: &mut Ordered<Srm>| {
            s.carrier.sessions.is_due = true;
            run_out(s, Timer::Session)
        };
        say(&mut s, "");
        assert!(soon(&mut s).contains(&"Answer in 4ms".into()), "the first try");
        for _ in 0..3 {
            assert_eq!(soon(&mut s)[0], "1 SESSION(0:1)", "it may still answer");
        }
        run_out(&mut s, Timer::Answer);
        hear(&mut s, 1, session((NodeId(0), 0, 0), &[]));
        assert_eq!(soon(&mut s)[0], "1 SESSION(0:1,1:0)", "it has answered");
        run_out(&mut s, Timer::Answer);
        assert_eq!(soon(&mut s), [""; 0], "it has not");
        assert!(s.carrier.is_removed(NodeId(1)) && s.carrier.buffered() == 0);
    }

    #[test]
    fn distances_are_measured_by_ticks_that_end() {
        let mut node = member::<Srm>(0, 2, &[]);
        let said = say(&mut node, "");
        assert_eq!(said[1..3], ["Session in 2ms to 6ms", "Tick in 125µs"]);
        assert_eq!(
            came(&mut node, |node, fx| node.carrier.on_timer(Timer::Tick, fx)),
            ["Tick in 125µs"]
        );
        node.carrier.sessions.is_armed = false;
        assert_eq!(run_out(&mut node, Timer::Tick), [""; 0]);
        assert_eq!(node.carrier.map.clock(), None);
    }
}
