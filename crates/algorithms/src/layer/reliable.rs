//! Reliable channels: messages from one node to another arrive once, in order, over links that
//! lose, duplicate and reorder.
//!
//! After Stenning, "A data transfer protocol", Computer Networks 1(2), 1976: every message to a
//! node has a sequence number, and is kept until it is acknowledged. Acknowledgements are
//! cumulative; the receiver delivers messages in the order of their numbers, keeps those that come
//! too early, and drops duplicates. A message that is not acknowledged in time is retransmitted.
//!
//! ```text
//!   0  ──REQUEST [0]──┐    (time-out)──REQUEST [0]──┐      ▲────►    what is sent is kept until
//!                     x lost                        │ RECEIPT [1]    there is a receipt for all
//!   1  ─────────────────────────────────────────────▼──────┴────►    below a higher number
//! ```
//!
//! | n messages | cost |
//! | --- | --- |
//! | messages | 2n if nothing is lost or late: one acknowledgement each |
//! | delay | none, and a time-out for every loss |
//!
//! **Assumes** nothing of order, losses and duplicates, only that a message that is retransmitted
//! again and again arrives eventually. Links may be slow: a time-out that is too short only costs
//! messages.
//!
//! **Incarnations.** A node that crashes forgets its numbers, and must not take old messages for
//! new ones, nor be taken for its former self. So each node counts its incarnations on stable
//! storage, and every message carries those of its sender and its receiver. One to or from an
//! earlier incarnation is dropped. A restarted node greets its peers until they have answered, and
//! learns their incarnations by that; before, it sends nothing else. A node that hears of a new
//! incarnation of a peer drops the messages that the old one has not acknowledged: *a message is
//! for the incarnation of its receiver that the sender knew*, and arrives there once or, if that
//! incarnation ends, perhaps not at all. To retransmit it to the next incarnation would let two
//! incarnations act on one message, and a token would be duplicated; so algorithms that survive
//! crashes must be able to ask again.
//!
//! **Exactly once, in order**: within two lives, numbers are given out once and in order; the
//! receiver hands up number k only as the k-th; it is handed up once, since `next` only grows.
//! **It arrives**: what has not been acknowledged is sent again; what has been, was handed up.
//!
//! **It comes to rest.** A time-out runs only as long as something is not acknowledged, and is
//! twice as long every time, up to 64 times as long. After so many tries in a row without an
//! acknowledgement the peer is taken for crashed and not tried again, until there is a new message
//! for it or from it: then the tries begin anew. So a message is lost by giving up only between two
//! nodes that never send to each other again.
//!
//! **Departures**: acknowledgements are messages of their own and ride on no others, so that what
//! an algorithm costs is still seen beside what the layer does. There is no window: as much may be
//! under way as the algorithm sends.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{
    Delay, DynEffects, Effects, Graph, Group, Guard, NodeId, NodeState, Protocol, Refused,
    Situation, SortedMap,
};

use super::envelope::Incarnation;
pub use super::envelope::{Incarnations, Message, Timer, kinds};
pub use super::retries::Retries;

/// The peers of a node, which it greets when it restarts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Peers {
    /// Everyone.
    All(Group),
    /// These.
    Only(Vec<NodeId>),
}

impl Peers {
    /// The peers of a node on this graph; all nodes, if there is none.
    pub fn of(me: NodeId, group: Group, graph: Option<&Graph>) -> Self {
        match graph {
            None => Self::All(group),
            Some(graph) => Self::Only(graph.neighbours(me).to_vec()),
        }
    }

    fn get(&self, place: u32) -> Option<NodeId> {
        match self {
            Self::All(group) => Some(NodeId(place)).filter(|&id| group.contains(id)),
            Self::Only(peers) => peers.get(place as usize).copied(),
        }
    }
}

/// A node with reliable channels to its peers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reliable<P: Protocol> {
    /// The node above.
    pub(super) node: P,
    pub(super) channels: Channels<P>,
}

/// All of a node but the one above.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Channels<P: Protocol> {
    pub(super) me: NodeId,
    pub(super) peers: Peers,
    pub(super) patience: Retries,
    /// On stable storage: how often this node has crashed.
    pub(super) life: u32,
    /// Those that were ever used.
    pub(super) links: SortedMap<NodeId, Link<P::Message>>,
}

/// One end of the channels between two nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Link<M> {
    /// The other's life; not known after a crash of our own, until our greeting is answered.
    pub(super) life: Incarnation,
    /// Messages that are not acknowledged, oldest first.
    pub(super) out: VecDeque<M>,
    /// The number of the first of these.
    pub(super) first: u64,
    /// The number of the next message to be handed up.
    pub(super) next: u64,
    /// Messages that came too early.
    pub(super) early: SortedMap<u64, M>,
    /// How often in a row something was sent again, or a greeting.
    pub(super) tries: u8,
}

impl<M> Link<M> {
    const fn to(life: Incarnation) -> Self {
        Self { life, out: VecDeque::new(), first: 0, next: 0, early: SortedMap::new(), tries: 0 }
    }
}

impl<P: Protocol> Reliable<P> {
    /// A node that has never crashed, around the one above.
    pub const fn new(me: NodeId, node: P, peers: Peers, patience: Retries) -> Self {
        let links = SortedMap::new();
        Self { node, channels: Channels { me, peers, patience, life: 0, links } }
    }

    /// The node above.
    pub const fn above(&self) -> &P {
        &self.node
    }

    /// An invariant of the nodes above and their messages, lifted to these: a message is in flight
    /// until it has been delivered.
    pub fn guard(above: Guard<P>) -> Guard<Self> {
        Guard::new(above.name(), move |at: &Situation<'_, Self>| {
            let ids = || (0..).map(NodeId).take_while(|&id| id.index() < at.size());
            let mut flight = Vec::new();
            for from in ids() {
                for &to in at.node(from).channels.links.keys() {
                    let there = &at.node(to).channels;
                    let messages = at.node(from).channels.under_way(to, there);
                    flight.extend(messages.map(|it| (from, to, it)));
                }
            }
            let nodes = ids().map(|id| &at.node(id).node).collect();
            let down = ids().filter(|&id| at.is_down(id)).collect();
            let above = core::slice::from_ref(&above);
            Situation::new(nodes, down, flight).judge(above).map_err(|wrong| wrong.what)
        })
    }

    /// Lets the node above do something, with the channels to do it.
    pub(super) fn rise<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut P, &mut Through<'_, P, E>) -> T,
    ) -> T {
        act(&mut self.node, &mut Through { channels: &mut self.channels, fx })
    }

    /// A message of another life is dropped; who sent it is told ours, if it may be alive.
    fn on_data(
        &mut self,
        from: NodeId,
        lives: Incarnations,
        (number, message): (u64, P::Message),
        fx: &mut impl Effects<Self>,
    ) {
        let channels = &mut self.channels;
        if !channels.meets(from, lives, fx) {
            if !channels.link(from).life.is_over(lives.from) && lives.to < channels.life {
                fx.send(from, Message::Greeting { life: channels.life });
            }
            return;
        }
        let link = channels.link(from);
        let is_new = number >= link.next && !link.early.contains_key(&number);
        if is_new {
            link.early.insert(number, message);
            channels.take_heart(from, fx);
        }
        while let Some(message) = self.channels.ready(from) {
            self.rise(fx, |node, through| node.on_message(from, message, through));
        }
        self.channels.acknowledge(from, lives.from, fx);
    }
}

impl<P: Protocol> Channels<P> {
    /// Messages in flight to another node: sent, and neither delivered there nor for an incarnation
    /// that is over.
    fn under_way<'a>(
        &'a self,
        to: NodeId,
        there: &Self,
    ) -> impl Iterator<Item = &'a P::Message> + use<'a, P> {
        let link = self.links.get(&to);
        let is_for_it = |link: &&Link<_>| link.life.known().is_none_or(|it| it == there.life);
        let link = link.filter(is_for_it);
        // The other end may still listen to an earlier life of ours, and has none of this one.
        let back = there.links.get(&self.me).filter(|it| it.life == Incarnation::Known(self.life));
        let had = back.map_or(0, |back| back.next);
        let numbered = link.into_iter().flat_map(|link| (link.first..).zip(&link.out));
        numbered.filter(move |(number, _)| *number >= had).map(|(_, message)| message)
    }

    fn link(&mut self, to: NodeId) -> &mut Link<P::Message> {
        let life = match self.life {
            // Everyone begins with the same one.
            0 => Incarnation::Known(0),
            mine if to == self.me => Incarnation::Known(mine),
            _ => Incarnation::AtLeast(0),
        };
        self.links.get_or_insert_with(to, || Link::to(life))
    }

    /// Puts a message on its way, or in line until the other's life is known.
    fn send(&mut self, to: NodeId, message: P::Message, fx: &mut impl Effects<Reliable<P>>) {
        let (mine, tries) = (self.life, self.patience.tries);
        let link = self.link(to);
        let is_idle = link.out.is_empty() && link.life.known().is_some();
        let is_left_alone = link.tries >= tries;
        let number = link.first + link.out.len() as u64;
        link.out.push_back(message.clone());
        match link.life {
            Incarnation::Known(life) => {
                let lives = Incarnations { from: mine, to: life };
                fx.send(to, Message::Data { lives, number, message });
            }
            Incarnation::AtLeast(_) if is_left_alone => {
                fx.send(to, Message::Greeting { life: mine });
            }
            Incarnation::AtLeast(_) => {}
        }
        if is_idle || is_left_alone {
            self.wait_anew(to, fx);
        }
    }

    /// Begins to wait for a sign of success.
    fn wait_anew(&mut self, of: NodeId, fx: &mut impl Effects<Reliable<P>>) {
        self.link(of).tries = 0;
        fx.set_timer(Timer::Resend(of), self.patience.delay(0));
    }

    /// Something new was heard of a peer that was left alone: so it is worth trying again.
    fn take_heart(&mut self, of: NodeId, fx: &mut impl Effects<Reliable<P>>) {
        let tries = self.patience.tries;
        let link = self.link(of);
        if link.tries >= tries && !link.out.is_empty() {
            self.wait_anew(of, fx);
        }
    }

    /// Whether something is from a life of a peer that is not over, as far as is known, to our
    /// present one. If it is from a new life, the old one is forgotten, and what was for it.
    pub(super) fn meets(
        &mut self,
        from: NodeId,
        lives: Incarnations,
        fx: &mut impl Effects<Reliable<P>>,
    ) -> bool {
        let life = self.link(from).life;
        if lives.to != self.life || life.is_over(lives.from) {
            return false;
        }
        if life != Incarnation::Known(lives.from) {
            self.begin(from, lives.from, fx);
        }
        true
    }

    /// The channels to a life of a peer that was not known.
    fn begin(&mut self, to: NodeId, life: u32, fx: &mut impl Effects<Reliable<P>>) {
        let link = self.link(to);
        let out = core::mem::take(&mut link.out);
        // Messages that waited for the peer's incarnation to be known were never sent.
        let out = if link.life.known().is_none() { out } else { VecDeque::new() };
        *link = Link { out, ..Link::to(Incarnation::Known(life)) };
        fx.cancel_timer(Timer::Resend(to));
        if !link.out.is_empty() {
            self.send_all(to, fx);
            self.wait_anew(to, fx);
        }
    }

    /// Sends all that is not acknowledged, or a greeting.
    fn send_all(&mut self, to: NodeId, fx: &mut impl Effects<Reliable<P>>) {
        let mine = self.life;
        let link = self.link(to);
        let Incarnation::Known(life) = link.life else {
            return fx.send(to, Message::Greeting { life: mine });
        };
        for (number, message) in (link.first..).zip(&link.out) {
            let lives = Incarnations { from: mine, to: life };
            fx.send(to, Message::Data { lives, number, message: message.clone() });
        }
    }

    /// The next message to be handed up, if it is there.
    fn ready(&mut self, from: NodeId) -> Option<P::Message> {
        let link = self.link(from);
        let message = link.early.remove(&link.next)?;
        link.next += 1;
        Some(message)
    }

    pub(super) fn acknowledge(
        &mut self,
        to: NodeId,
        life: u32,
        fx: &mut impl Effects<Reliable<P>>,
    ) {
        let lives = Incarnations { from: self.life, to: life };
        let upto = self.link(to).next;
        fx.send(to, Message::Receipt { lives, upto });
    }

    fn on_receipt(&mut self, from: NodeId, upto: u64, fx: &mut impl Effects<Reliable<P>>) {
        let link = self.link(from);
        let mut is_success = false;
        while link.first < upto && link.out.pop_front().is_some() {
            link.first += 1;
            is_success = true;
        }
        match (is_success, link.out.is_empty()) {
            (true, true) => {
                link.tries = 0;
                fx.cancel_timer(Timer::Resend(from));
            }
            (true, false) => self.wait_anew(from, fx),
            (false, _) => {}
        }
    }

    fn on_greeting(&mut self, from: NodeId, life: u32, fx: &mut impl Effects<Reliable<P>>) {
        let (mine, tries) = (self.life, self.patience.tries);
        let link = self.link(from);
        match link.life {
            it if it.is_over(life) => return,
            Incarnation::Known(known) if known == life => {}
            Incarnation::Known(_) => self.begin(from, life, fx),
            // This greeting may be old: only an answer to our own tells in which life it is now.
            Incarnation::AtLeast(known) => {
                link.life = Incarnation::AtLeast(life);
                let is_left_alone = link.tries >= tries && !link.out.is_empty();
                if known < life && is_left_alone {
                    fx.send(from, Message::Greeting { life: mine });
                    self.wait_anew(from, fx);
                }
            }
        }
        self.acknowledge(from, life, fx);
    }

    fn on_time_out(&mut self, of: NodeId, fx: &mut impl Effects<Reliable<P>>) {
        self.send_all(of, fx);
        let patience = self.patience;
        let link = self.link(of);
        link.tries = link.tries.saturating_add(1);
        if link.tries < patience.tries {
            let delay = patience.delay(link.tries);
            fx.set_timer(Timer::Resend(of), delay);
        }
    }
}

/// The effects of the node above, over the channels.
pub(super) struct Through<'a, P: Protocol, E> {
    channels: &'a mut Channels<P>,
    fx: &'a mut E,
}

impl<P: Protocol, E: Effects<Reliable<P>>> Effects<P> for Through<'_, P, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.channels.send(to, message, self.fx);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Above(timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Above(timer));
    }
    fn notify(&mut self, notice: P::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

impl<P: Protocol> Protocol for Reliable<P> {
    type Message = Message<P::Message>;
    type Timer = Timer<P::Timer>;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.rise(fx, |node, through| node.on_start(through));
    }

    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        self.rise(fx, |node, through| node.on_command(command, through))
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message<P::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        let fx = &mut DynEffects(fx);
        match message {
            Message::Greeting { life } => self.channels.on_greeting(from, life, fx),
            Message::Receipt { lives, upto } => {
                if self.channels.meets(from, lives, fx) {
                    self.channels.on_receipt(from, upto, fx);
                }
            }
            Message::Data { lives, number, message } => {
                self.on_data(from, lives, (number, message), fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer<P::Timer>, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match timer {
            Timer::Resend(of) => self.channels.on_time_out(of, fx),
            Timer::Above(timer) => self.rise(fx, |node, through| node.on_timer(timer, through)),
        }
    }

    /// Greets everyone, so that what they send next is for the life that has begun.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        let channels = &mut self.channels;
        let mut place = 0;
        while let Some(peer) = channels.peers.get(place) {
            place += 1;
            if peer != channels.me {
                fx.send(peer, Message::Greeting { life: channels.life });
                channels.wait_anew(peer, fx);
            }
        }
        self.rise(fx, |node, through| node.on_restart(through));
    }

    fn state(&self) -> NodeState {
        self.node.state().beneath("channel", self.channels.state())
    }

    fn buffered(&self) -> usize {
        self.node.buffered()
    }

    fn after_crash(&self, fresh: Self) -> Self {
        let node = self.node.after_crash(fresh.node);
        Self { node, channels: Channels { life: self.channels.life + 1, ..fresh.channels } }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use alloc::vec;
    use core::fmt;
    use core::time::Duration;

    use serde::{Deserialize, Serialize};

    use vorrang_protocol::{Effect, Message as _, Never, Outbox};

    use super::*;

    /// Sends on what it is told to send, and tells what it hears.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Echo;

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    struct Word(char);

    impl fmt::Display for Word {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "WORD({})", self.0)
        }
    }

    impl vorrang_protocol::Message for Word {
        const KINDS: &'static [&'static str] = &["WORD"];
        fn kind(&self) -> usize {
            0
        }
    }

    impl Protocol for Echo {
        type Message = Word;
        type Timer = Never;
        type Command = (u32, char);
        type Notice = (u32, char);

        fn on_command(
            &mut self,
            (to, word): (u32, char),
            fx: &mut impl Effects<Self>,
        ) -> Result<(), Refused> {
            fx.send(NodeId(to), Word(word));
            Ok(())
        }
        fn on_message(&mut self, from: NodeId, Word(word): Word, fx: &mut impl Effects<Self>) {
            fx.notify((from.0, word));
        }
    }

    fn node(id: u32) -> Reliable<Echo> {
        let patience = Retries::within(Duration::from_millis(1), 2);
        Reliable::new(NodeId(id), Echo, Peers::All(Group::of(3)), patience)
    }

    /// What came of something, a line each.
    fn came(act: impl FnOnce(&mut Outbox<Reliable<Echo>>)) -> Vec<String> {
        let mut fx = Outbox::default();
        act(&mut fx);
        let shown = |effect: Effect<Reliable<Echo>>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } => format!("{timer:?} in {:?}", delay.min),
            Effect::CancelTimer(timer) => format!("no {timer:?}"),
            Effect::Notify((from, word)) => format!("{word} from {from}"),
        };
        fx.take().into_iter().map(shown).collect()
    }

    fn say(node: &mut Reliable<Echo>, to: u32, word: char) -> Vec<String> {
        came(|fx| node.on_command((to, word), fx).unwrap())
    }

    fn hear(node: &mut Reliable<Echo>, from: u32, message: Message<Word>) -> Vec<String> {
        came(|fx| node.on_message(NodeId(from), message, fx))
    }

    fn run_out(node: &mut Reliable<Echo>, of: u32) -> Vec<String> {
        came(|fx| node.on_timer(Timer::Resend(NodeId(of)), fx))
    }

    const fn word(from: u32, to: u32, number: u64, word: char) -> Message<Word> {
        Message::Data { lives: Incarnations { from, to }, number, message: Word(word) }
    }

    const fn receipt(from: u32, to: u32, upto: u64) -> Message<Word> {
        Message::Receipt { lives: Incarnations { from, to }, upto }
    }

    #[test]
    fn what_is_sent_is_sent_again_until_there_is_a_receipt() {
        let mut node = node(0);
        assert_eq!(say(&mut node, 1, 'a'), ["1 WORD(a) [0]", "Resend(1) in 3ms"]);
        assert_eq!(say(&mut node, 1, 'b'), ["1 WORD(b) [1]"]);
        let again = ["1 WORD(a) [0]", "1 WORD(b) [1]", "Resend(1) in 6ms"];
        assert_eq!(run_out(&mut node, 1), again);
        assert_eq!(hear(&mut node, 1, receipt(0, 0, 1)), ["Resend(1) in 3ms"], "some success");
        assert_eq!(hear(&mut node, 1, receipt(0, 0, 0)), [""; 0], "an old one");
        assert_eq!(run_out(&mut node, 1), ["1 WORD(b) [1]", "Resend(1) in 6ms"]);
        assert_eq!(hear(&mut node, 1, receipt(0, 0, 2)), ["no Resend(1)"]);
        assert_eq!(say(&mut node, 1, 'c'), ["1 WORD(c) [2]", "Resend(1) in 3ms"]);
    }

    #[test]
    fn what_comes_is_handed_up_once_and_in_order() {
        let mut node = node(1);
        assert_eq!(hear(&mut node, 0, word(0, 0, 1, 'b')), ["0 RECEIPT [0]"], "too early");
        assert_eq!(hear(&mut node, 0, word(0, 0, 1, 'b')), ["0 RECEIPT [0]"], "and again");
        let both = ["a from 0", "b from 0", "0 RECEIPT [2]"];
        assert_eq!(hear(&mut node, 0, word(0, 0, 0, 'a')), both);
        assert_eq!(hear(&mut node, 0, word(0, 0, 0, 'a')), ["0 RECEIPT [2]"], "had it");
        assert_eq!(hear(&mut node, 2, word(0, 0, 0, 'z')), ["z from 2", "2 RECEIPT [1]"]);
    }

    #[test]
    fn who_does_not_answer_is_left_alone_until_there_is_something_new() {
        let mut node = node(0);
        say(&mut node, 1, 'a');
        assert_eq!(run_out(&mut node, 1), ["1 WORD(a) [0]", "Resend(1) in 6ms"]);
        assert_eq!(run_out(&mut node, 1), ["1 WORD(a) [0]"], "for the last time");
        let mut other = node.clone();
        assert_eq!(say(&mut node, 1, 'b'), ["1 WORD(b) [1]", "Resend(1) in 3ms"]);
        let heard = hear(&mut other, 1, word(0, 0, 0, 'x'));
        assert_eq!(heard, ["Resend(1) in 3ms", "x from 1", "1 RECEIPT [1]"]);
        let old = hear(&mut other, 1, word(0, 0, 0, 'x'));
        assert_eq!(old, ["1 RECEIPT [1]"], "nothing new");
    }

    #[test]
    fn time_outs_double_and_then_no_more() {
        let patience = Retries::within(Duration::from_millis(1), 200);
        let delays = [0, 1, 5, 6, 7, 199].map(|tries| patience.delay(tries).max.as_millis());
        assert_eq!(delays, [3, 6, 96, 192, 192, 192]);
    }

    #[test]
    fn who_comes_up_again_greets_everyone_and_says_nothing_before_it_is_answered() {
        let mut node = node(1);
        say(&mut node, 0, 'a');
        node = node.after_crash(self::node(1));
        let greeted = came(|fx| node.on_restart(fx));
        let all =
            ["0 GREETING [life 1]", "Resend(0) in 3ms", "2 GREETING [life 1]", "Resend(2) in 3ms"];
        assert_eq!(greeted, all);
        assert_eq!(say(&mut node, 0, 'b'), [""; 0], "in line");
        assert_eq!(run_out(&mut node, 0), ["0 GREETING [life 1]", "Resend(0) in 6ms"]);
        assert_eq!(hear(&mut node, 0, receipt(4, 0, 1)), [""; 0], "for the life before");
        let answered = hear(&mut node, 0, receipt(4, 1, 0));
        let sent = ["no Resend(0)", "0 WORD(b) [0, lives 1 to 4]", "Resend(0) in 3ms"];
        assert_eq!(answered, sent);
        let again = node.after_crash(self::node(1));
        assert_eq!(again.channels.life, 2);
    }

    #[test]
    fn an_answer_of_a_life_that_is_over_is_not_believed() {
        let mut node = node(1).after_crash(node(1));
        came(|fx| node.on_restart(fx));
        let greeting = Message::Greeting { life: 3 };
        assert_eq!(hear(&mut node, 0, greeting), ["0 RECEIPT [0, lives 1 to 3]"]);
        assert_eq!(hear(&mut node, 0, receipt(2, 1, 0)), [""; 0], "it has ended since");
        assert_eq!(hear(&mut node, 0, receipt(3, 1, 0)), ["no Resend(0)"]);
    }

    #[test]
    fn what_was_for_a_life_that_is_over_dies_with_it() {
        let mut node = node(0);
        say(&mut node, 1, 'a');
        let greeting = Message::Greeting { life: 1 };
        let forgets = ["no Resend(1)", "1 RECEIPT [0, lives 0 to 1]"];
        assert_eq!(hear(&mut node, 1, greeting.clone()), forgets);
        assert_eq!(hear(&mut node, 1, greeting), forgets[1..], "known");
        assert_eq!(hear(&mut node, 1, Message::Greeting { life: 0 }), [""; 0], "over");
        assert_eq!(hear(&mut node, 1, word(0, 0, 0, 'x')), [""; 0], "of the life before");
        assert_eq!(say(&mut node, 1, 'b')[0], "1 WORD(b) [0, lives 0 to 1]");
        let mut again = self::node(1).after_crash(self::node(1));
        came(|fx| again.on_restart(fx));
        let told = hear(&mut again, 0, word(0, 0, 7, 'x'));
        assert_eq!(told, ["0 GREETING [life 1]"], "who does not know better is told");
    }

    #[test]
    fn a_node_talks_to_itself_as_to_others_whatever_its_life() {
        let mut node = node(1).after_crash(node(1));
        assert_eq!(say(&mut node, 1, 'a'), ["1 WORD(a) [0, lives 1 to 1]", "Resend(1) in 3ms"]);
        let heard = hear(&mut node, 1, word(1, 1, 0, 'a'));
        assert_eq!(heard, ["a from 1", "1 RECEIPT [1, lives 1 to 1]"]);
    }

    #[test]
    fn messages_are_counted_by_the_kinds_of_the_layer_and_of_the_node_above() {
        assert_eq!(Message::<Word>::KINDS, ["GREETING", "RECEIPT", "WORD"]);
        assert_eq!(kinds(Word::KINDS), Message::<Word>::KINDS);
        let all = [Message::Greeting { life: 1 }, receipt(0, 0, 1), word(0, 0, 1, 'a')];
        for (kind, message) in all.iter().enumerate() {
            assert_eq!((message.kind(), message.kind_name()), (kind, Message::<Word>::KINDS[kind]));
            assert!(message.to_string().starts_with(message.kind_name()), "{message}");
        }
    }

    #[test]
    fn an_invariant_of_the_nodes_above_sees_what_has_not_been_handed_up() {
        let at_most_one = Guard::new("at most one", |at: &Situation<'_, Echo>| {
            let words: Vec<char> = at.messages().map(|(.., word)| word.0).collect();
            if words.len() > 1 { Err(words.iter().collect()) } else { Ok(()) }
        });
        let guards = [Reliable::guard(at_most_one)];
        let wrong = |nodes: &[Reliable<Echo>]| {
            let situation =
                Situation::new(nodes.iter().collect(), [].into_iter().collect(), vec![]);
            situation.judge(&guards).err().map(|violation| violation.what)
        };
        let mut nodes = [node(0), node(1), node(2)];
        say(&mut nodes[0], 1, 'a');
        assert_eq!(wrong(&nodes), None);
        say(&mut nodes[0], 1, 'b');
        assert_eq!(wrong(&nodes).as_deref(), Some("ab"), "lost or not, they are under way");
        hear(&mut nodes[1], 0, word(0, 0, 1, 'b'));
        assert_eq!(wrong(&nodes).as_deref(), Some("ab"), "too early is not handed up");
        hear(&mut nodes[1], 0, word(0, 0, 0, 'a'));
        assert_eq!(wrong(&nodes), None, "whatever the receipts do");
        say(&mut nodes[2], 1, 'c');
        say(&mut nodes[2], 1, 'd');
        assert_eq!(wrong(&nodes).as_deref(), Some("cd"));
        nodes[1] = nodes[1].after_crash(node(1));
        assert_eq!(wrong(&nodes), None, "for a life that is over");
    }

    #[test]
    fn once_all_has_arrived_a_link_is_as_if_nothing_had_been_sent_twice() {
        let (mut quick, mut slow) = (node(0), node(0));
        say(&mut quick, 1, 'a');
        say(&mut slow, 1, 'a');
        run_out(&mut slow, 1);
        assert_ne!(slow, quick, "it counts how often it has tried");
        hear(&mut quick, 1, receipt(0, 0, 1));
        hear(&mut slow, 1, receipt(0, 0, 1));
        assert_eq!(slow, quick);
    }
}
