//! A member: a carrier that gets messages across, and an order in which they are delivered.

pub mod carrier;
pub mod membership;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Lift, NodeId, NodeState, Protocol, Refused, StateValue};

use self::carrier::{Carrier, Outcome, Up, longest};
use self::membership::Members;
use super::body::{Body, Numbered};
use super::ordering::{Act, Order, OrderMessage, Post};
use super::{Command, Notice, Text};
use crate::layer::kinds::{MOST_KINDS, with};
use crate::layer::reliable::{self, Peers, Reliable, Retries};
use crate::setup::Setup;

/// The messages between members.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<M> {
    /// A message of the carrier.
    Carried(M),
    /// A unicast of the ordering, over a reliable channel.
    Mail(reliable::Message<OrderMessage>),
    /// About members that come and go.
    Member(membership::Message),
}

const MAIL: &[&str] = <reliable::Message<OrderMessage> as vorrang_protocol::Message>::KINDS;
const MEMBER: [&str; 3] = membership::Message::KINDS;

impl<M: vorrang_protocol::Message> Message<M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &with(Self::OWN, M::KINDS);
    const OWN: [&'static str; 8] =
        [MAIL[0], MAIL[1], MAIL[2], MAIL[3], MAIL[4], MEMBER[0], MEMBER[1], MEMBER[2]];
}

impl<M: vorrang_protocol::Message> vorrang_protocol::Message for Message<M> {
    const KINDS: &'static [&'static str] =
        Self::KINDS_AND_MORE.split_at(Self::OWN.len() + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self {
            Self::Mail(mail) => mail.kind(),
            Self::Member(message) => MAIL.len() + message.kind(),
            Self::Carried(message) => Self::OWN.len() + message.kind(),
        }
    }

    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        match self {
            Self::Mail(_) | Self::Member(_) => None,
            Self::Carried(message) => message.carries(from),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carried(message) => message.fmt(f),
            Self::Mail(mail) => mail.fmt(f),
            Self::Member(message) => message.fmt(f),
        }
    }
}

/// The timers of a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// A timer of the carrier.
    Carrier(T),
    /// A timer of the channels.
    Mail(reliable::Timer<vorrang_protocol::Never>),
    /// To ask members again who have not answered.
    Hello,
}

/// As it is called on a stage.
impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carrier(timer) => timer.fmt(f),
            Self::Mail(timer) => write!(f, "Mail{timer:?}"),
            Self::Hello => f.write_str("Hello"),
        }
    }
}

impl<M> From<reliable::Message<OrderMessage>> for Message<M> {
    fn from(mail: reliable::Message<OrderMessage>) -> Self {
        Self::Mail(mail)
    }
}

impl<T> From<reliable::Timer<vorrang_protocol::Never>> for Timer<T> {
    fn from(timer: reliable::Timer<vorrang_protocol::Never>) -> Self {
        Self::Mail(timer)
    }
}

/// A sender has no room.
pub const FULL: Refused = Refused("its window is full");
/// A text is too long.
pub const TOO_LONG: Refused = Refused("a text has at most 1280 bytes, so that it fits a datagram");

/// A member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ordered<C: Carrier> {
    pub(super) me: NodeId,
    pub(super) window: u32,
    pub(super) carrier: C,
    pub(super) order: Order,
    /// Channels from one to one, where the order needs them.
    mail: Option<Reliable<Post>>,
    /// Who is there in which incarnation, where members come and go.
    pub(super) members: Option<Members>,
    /// Messages for which the carrier's window is full.
    pub(super) waiting: VecDeque<Body>,
    /// How many messages of every application have come.
    pub(super) heard: Vec<u64>,
    /// Whether the application was told that there is no room.
    pub(super) is_full: bool,
}

impl<C: Carrier> Ordered<C> {
    /// A member that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let order = Order::new(setup.ordering, me, setup.group);
        let patience = Retries::within(longest(me, setup), u8::MAX);
        let channels = || Reliable::new(me, Post, Peers::All(setup.group), patience);
        Self {
            me,
            window: setup.window,
            carrier: C::of(me, setup),
            mail: order.writes_letters().then(channels),
            order,
            members: Members::of(me, setup),
            waiting: VecDeque::new(),
            heard: vec![0; setup.group.size() as usize],
            is_full: false,
        }
    }

    /// Hears what has come, or what it says itself.
    pub(super) fn hear(&mut self, from: NodeId, body: Body, fx: &mut impl Effects<Self>) {
        let heard = &mut self.heard[from.index()];
        let number = *heard;
        if body.kind() == 0 {
            *heard += 1;
        }
        match body {
            // Nothing is in the way of the plainest order of all.
            Body::Plain(text) if self.order == Order::Fifo => {
                let incarnation = self.incarnation_of(from);
                fx.notify(Notice::Delivered { from, incarnation, number, text });
            }
            body => {
                let mut acts = Vec::new();
                self.order.on_heard(from, number, body, &mut acts);
                self.act(acts, fx);
            }
        }
    }

    fn incarnation_of(&self, id: NodeId) -> u64 {
        self.members.as_ref().map_or(0, |members| members.incarnation_of(self.me, id))
    }

    /// Does what the order wants done.
    pub(super) fn act(&mut self, acts: Vec<Act>, fx: &mut impl Effects<Self>) {
        for act in acts {
            match act {
                Act::Deliver { from, number, text } => {
                    // Where members come and go there is no such order.
                    fx.notify(Notice::Delivered { from, incarnation: 0, number, text });
                }
                Act::Put(body) => self.put(body, fx),
                Act::Mail { to, letter } => self.post(fx, |mail, fx| {
                    mail.on_command((to, letter), fx).expect("there is always room for letters");
                }),
            }
        }
    }

    /// Has a body carried to all others, and hears it itself.
    fn put(&mut self, body: Body, fx: &mut impl Effects<Self>) {
        if self.has_room() {
            self.carrier.cast(body.clone(), fx);
        } else {
            self.waiting.push_back(body.clone());
        }
        self.hear(self.me, body, fx);
    }

    /// Lets the channels do something, and hears what comes of it.
    fn post<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Reliable<Post>, &mut Lift<'_, Reliable<Post>, Self, E>),
    ) {
        let Some(mail) = &mut self.mail else { return };
        let mut come = Vec::new();
        act(mail, &mut Lift::new(fx, &mut come));
        for (from, letter) in come {
            let mut acts = Vec::new();
            self.order.on_letter(from, letter, &mut acts);
            self.act(acts, fx);
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.is_empty() && self.may_send()
    }

    /// Whether the carrier takes one more: not before a newcomer has met all others.
    fn may_send(&self) -> bool {
        self.carrier.has_room() && !self.members.as_ref().is_some_and(Members::is_joining)
    }

    /// Tells the application whether the window is full.
    pub(super) fn look(&mut self, fx: &mut impl Effects<Self>) {
        while self.may_send()
            && let Some(body) = self.waiting.pop_front()
        {
            self.carrier.cast(body, fx);
        }
        while self.order.waits_for_room() && self.has_room() {
            let mut acts = Vec::new();
            self.order.on_room(&mut acts);
            self.act(acts, fx);
        }
        let has_room = self.waiting.is_empty() && self.carrier.has_room();
        let is_full = !has_room || self.order.own_pending() >= self.window as usize;
        if is_full != self.is_full {
            self.is_full = is_full;
            fx.notify(if is_full { Notice::Full } else { Notice::Room });
        }
        self.leave_if_done(fx);
    }

    pub(super) fn on_up(&mut self, up: Up, fx: &mut impl Effects<Self>) {
        for (from, outcome) in up.take() {
            match outcome {
                Outcome::Came(body) => self.hear(from, body, fx),
                // In fifo order every body is a message, and they are numbered alike.
                Outcome::Missed(below) => {
                    let first = core::mem::replace(&mut self.heard[from.index()], below);
                    fx.notify(Notice::Missed { from, first, below });
                }
            }
        }
    }

    fn cast(&mut self, text: Text, fx: &mut impl Effects<Self>) {
        let mut acts = Vec::new();
        self.order.on_cast(text, &mut acts);
        self.act(acts, fx);
    }
}

impl<C: Carrier> Protocol for Ordered<C> {
    type Message = Message<C::Message>;
    type Timer = Timer<C::Timer>;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let text = match command {
            Command::Cast(text) => text,
            Command::Leave => {
                self.leave()?;
                self.look(fx);
                return Ok(());
            }
            Command::Join => return self.join(fx),
        };
        self.members.as_ref().map_or(Ok(()), Members::may_cast)?;
        if text.0.len() > Text::MOST_BYTES {
            return Err(TOO_LONG);
        }
        if self.is_full {
            return Err(FULL);
        }
        self.cast(text, fx);
        self.look(fx);
        Ok(())
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message<C::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        match message {
            Message::Carried(message) => {
                if !self.heeds(from, fx) {
                    return;
                }
                let mut up = Up::default();
                self.carrier.on_message(from, message, &mut up, fx);
                self.on_up(up, fx);
            }
            Message::Mail(message) => self.post(fx, |mail, fx| mail.on_message(from, message, fx)),
            Message::Member(message) => self.on_member(from, message, fx),
        }
        self.look(fx);
    }

    fn on_timer(&mut self, timer: Timer<C::Timer>, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Carrier(timer) => self.carrier.on_timer(timer, fx),
            Timer::Mail(timer) => self.post(fx, |mail, fx| mail.on_timer(timer, fx)),
            Timer::Hello => self.on_hello_time(fx),
        }
        self.look(fx);
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.begin_life(fx);
    }

    /// Where members come and go, which incarnation this is.
    fn after_crash(&self, fresh: Self) -> Self {
        let Some((members, former)) = fresh.members.clone().zip(self.members.as_ref()) else {
            return fresh;
        };
        Self { members: Some(members.in_life(former.after_crash())), ..fresh }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        let members = self.members?.in_life(life);
        Some(Self { members: Some(members), ..self })
    }

    fn state(&self) -> NodeState {
        let waiting = self.waiting.iter().map(|body| StateValue::shown(body));
        let state = self
            .carrier
            .state()
            .with("heard", StateValue::vector(self.heard.iter().map(|&it| Numbered(it))))
            .with("waiting", StateValue::list(waiting))
            .with("full", self.is_full)
            .beneath("order", self.order.state());
        let members = self.members.iter();
        let state = members.fold(state, |state, it| state.beneath("membership", it.state()));
        self.mail.iter().fold(state, |state, mail| state.beneath("mail", mail.state()))
    }

    fn has_obligations(&self) -> bool {
        self.carrier.has_obligations() || !self.waiting.is_empty() || self.order.own_pending() > 0
    }

    fn buffered(&self) -> usize {
        self.carrier.buffered() + self.waiting.len() + self.order.buffered()
    }
}

/// Support for tests of all carriers and orderings.
#[cfg(test)]
pub(super) mod testing {
    use alloc::format;
    use alloc::string::String;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::setup::Parameter;

    /// A member of so many, with these parameters.
    pub(in crate::multicast) fn member<C: Carrier>(
        me: u32,
        nodes: u32,
        given: &[(Parameter, &str)],
    ) -> Ordered<C> {
        let mut setup = Setup::new(Group::of(nodes));
        for (parameter, text) in given {
            setup.set(*parameter, text).unwrap();
        }
        Ordered::of(NodeId(me), &setup)
    }

    /// The effects of an event, as text.
    pub(in crate::multicast) fn came<C: Carrier>(
        node: &mut Ordered<C>,
        act: impl FnOnce(&mut Ordered<C>, &mut Outbox<Ordered<C>>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        act(node, &mut fx);
        let shown = |effect: Effect<Ordered<C>>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } if delay.min == delay.max => {
                format!("{timer:?} in {:?}", delay.min)
            }
            Effect::SetTimer { timer, delay } => {
                format!("{timer:?} in {:?} to {:?}", delay.min, delay.max)
            }
            Effect::CancelTimer(timer) => format!("no {timer:?}"),
            Effect::Notify(notice) => format!("{notice}"),
        };
        fx.take().into_iter().map(shown).collect()
    }

    pub(in crate::multicast) fn say<C: Carrier>(node: &mut Ordered<C>, text: &str) -> Vec<String> {
        came(node, |node, fx| node.on_command(Command::Cast(text.into()), fx).unwrap())
    }

    pub(in crate::multicast) fn hear<C: Carrier>(
        node: &mut Ordered<C>,
        from: u32,
        message: C::Message,
    ) -> Vec<String> {
        let message = Message::Carried(message);
        came(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    pub(in crate::multicast) fn run_out<C: Carrier>(
        node: &mut Ordered<C>,
        timer: C::Timer,
    ) -> Vec<String> {
        came(node, |node, fx| node.on_timer(Timer::Carrier(timer), fx))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::testing::{came, hear, member, say};
    use super::*;
    use crate::multicast::ack::{self, Ack};
    use crate::multicast::nack::Nack;
    use crate::setup::Parameter;

    #[test]
    fn whoever_has_no_room_says_so_and_takes_nothing_until_there_is() {
        let mut node = member::<Ack>(0, 2, &[(Parameter::Window, "1")]);
        let said = say(&mut node, "a");
        assert_eq!(said.last().unwrap(), "has no room for more");
        assert!(node.has_obligations(), "the other may miss it");
        let before = node.clone();
        let again = Command::Cast("b".into());
        came(&mut node, |node, fx| assert!(node.on_command(again, fx).is_err()));
        assert_eq!(node, before);
        assert_eq!(hear(&mut node, 1, ack::Message::Ack(0)), ["no Resend(0)", "has room again"]);
        assert!(!node.has_obligations());
    }

    #[test]
    fn a_member_alone_hears_itself() {
        for ordering in ["fifo", "causal", "sequencer", "token", "lamport", "skeen"] {
            let given = [(Parameter::Ordering, ordering)];
            assert_eq!(say(&mut member::<Nack>(0, 1, &given), "a"), ["delivers 0/0: a"]);
        }
    }

    #[test]
    fn messages_are_counted_by_kind() {
        use vorrang_protocol::Message as _;
        type Both = Message<ack::Message>;
        assert_eq!(Both::KINDS[..5], ["GREETING", "RECEIPT", "WANT", "TOKEN", "PROPOSE"]);
        assert_eq!(Both::KINDS[5..8], ["HELLO", "REMOVED", "LEAVE"]);
        assert_eq!(Both::KINDS[8..], ["DATA", "CLOCK", "ORDER", "FINAL", "ACK"]);
        let ack: Both = Message::Carried(ack::Message::Ack(3));
        assert_eq!((ack.kind_name(), ack.to_string().as_str()), ("ACK", "ACK(3)"));
        let mail = Message::<ack::Message>::Mail(reliable::Message::Greeting { life: 1 });
        assert_eq!(mail.kind_name(), "GREETING");
    }
}
