//! Members that come and go: incarnations, where each begins, and whoever leaves.
//!
//! With `--tries`, a member that crashes, leaves or is silent for too long ends an *incarnation*,
//! and comes back as a new one that knows nothing. An incarnation is named by the number of its
//! first message, which is larger than all numbers of the former and by more than a window. So a
//! message, an acknowledgement or a request that belongs to a former incarnation says so by its
//! number: receivers drop it as old or as absurd, and carriers need no further mark.
//!
//! ```text
//!   0  ──────────▲──┬──────────────▲──────DATA(5)─┬───►    0 waits for 1' from 5 on
//!            HELLO(1?)  HELLO(0, from 5?) │       │
//!   1  ─x  ──────┴─────▼───────────┴──────────────▼───►    1' is told that 0 begins with 0/5
//!       restarts                HELLO(1, from 0)
//! ```
//!
//! **Meeting.** A new incarnation says HELLO to all. Whoever hears of an incarnation that is newer
//! than the one it knows waits for the former no longer, drops what it holds of it, waits for the
//! new one from its own next message on, and answers with that number. The newcomer listens to it
//! from there, and answers in the same way. Both repeat HELLO until they are told where to begin,
//! at most so often as `--tries` says; until then nothing else of the other is heeded. What the
//! newcomer's application says meanwhile waits.
//!
//! **Leaving.** Who wants to leave takes nothing more, waits until all have what it has said, and
//! says LEAVE; it answers all else with LEAVE, too. It joins again as a new incarnation. Who wants
//! to join before it has left takes its wish to leave back.
//!
//! **Removed by mistake.** A member that was removed and is heard again is answered with REMOVED,
//! which names its incarnation; it begins a new one, and tells its application.
//!
//! **Promised**: what an incarnation says that stays, all incarnations deliver that stay, each from
//! the number on that it was told, in order and once; nobody waits for one that has ended. Of what
//! an incarnation has said that crashed, nothing is promised after its next has begun.
//!
//! **Safe**: a pair of incarnations has one beginning in each direction, since each side fixes it
//! when it first hears of the other and repeats the same. Whoever fixes it waits for the other from
//! there on, so that nothing behind it is dropped before the other has it: an acknowledgement of
//! the former incarnation is of a lower number, as it was sent before its crash, and so before the
//! beginning was fixed. **Live** as far as `--tries` is right: of so many HELLOs in a row one is
//! answered, so both meet; who is silent is removed, there or by the carrier.
//!
//! **Only in fifo order**: in any other order a member waits for what others say, and who is new
//! would have to be told what they wait for; [views](crate::group) do that.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Group, NodeId, NodeState, Refused, StateValue};

use super::Ordered;
use super::carrier::{Carrier, longest};
use crate::layer::reliable::Retries;
use crate::multicast::body::Numbered;
use crate::multicast::incarnation::{CLOSED, after, counted};
use crate::multicast::{Notice, ordered};
use crate::setup::Setup;

/// Members that are not in cannot speak.
pub const NOT_IN: Refused = Refused("it has left; say join first");
/// Nor those that are about to leave.
pub const LEAVING: Refused = Refused("it is leaving");
/// A member joins only after it has left.
pub const IS_IN: Refused = Refused("it is a member");
/// Only silence that is noticed lets members come and go.
pub const FIXED: Refused = Refused("its members are fixed; they come and go with --tries only");

/// The messages of members that come and go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Who this is.
    Hello {
        /// The sender's incarnation.
        life: u64,
        /// The receiver's, and where it begins in what the sender says, if they have met.
        to: Option<(u64, u64)>,
        /// Whether the sender must be told where it begins.
        asks: bool,
    },
    /// This incarnation of the receiver was removed.
    Removed(u64),
    /// This incarnation of the sender has left.
    Leave(u64),
}

impl Message {
    pub(super) const KINDS: [&'static str; 3] = ["HELLO", "REMOVED", "LEAVE"];

    pub(super) const fn kind(&self) -> usize {
        match self {
            Self::Hello { .. } => 0,
            Self::Removed(_) => 1,
            Self::Leave(_) => 2,
        }
    }
}

/// An incarnation, by itself.
struct Shown(u64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", counted(self.0).unwrap_or(self.0))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::KINDS[self.kind()])?;
        match self {
            Self::Hello { life, to, asks } => {
                write!(f, "({}", Shown(*life))?;
                if let Some((to, first)) = to {
                    write!(f, " to {} from {}", Shown(*to), Numbered(*first))?;
                }
                f.write_str(if *asks { "?)" } else { ")" })
            }
            Self::Removed(life) | Self::Leave(life) => write!(f, "({})", Shown(*life)),
        }
    }
}

/// What a member knows of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Standing {
    /// Both know where they begin.
    Heard,
    /// It is asked where this member begins.
    Asked,
    /// It was asked in vain.
    Silent,
    /// It has left.
    Left,
}

impl Standing {
    const fn name(self) -> &'static str {
        match self {
            Self::Heard => "heard",
            Self::Asked => "asked",
            Self::Silent => "silent",
            Self::Left => "left",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Peer {
    /// The newest incarnation that is known.
    life: Option<u64>,
    /// Where it begins in what this member says.
    first: u64,
    standing: Standing,
}

/// The incarnations of all.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Members {
    /// This incarnation: the number of its first message.
    life: u64,
    is_in: bool,
    is_joining: bool,
    is_leaving: bool,
    peers: Vec<Peer>,
    /// How often HELLO was repeated.
    tries: u8,
    most: u8,
    patience: Retries,
    /// A new incarnation takes up what its former had not acknowledged: a mistake.
    pub(in crate::multicast) resumes: bool,
}

impl Members {
    /// All of them in their first incarnation, if they come and go.
    pub(super) fn of(me: NodeId, setup: &Setup) -> Option<Self> {
        let most = setup.tries?;
        let peer = Peer { life: Some(0), first: 0, standing: Standing::Heard };
        Some(Self {
            life: 0,
            is_in: true,
            is_joining: false,
            is_leaving: false,
            peers: vec![peer; setup.group.size() as usize],
            tries: 0,
            most: u8::try_from(most.get()).unwrap_or(u8::MAX),
            patience: Retries::within(longest(me, setup), 0),
            resumes: false,
        })
    }

    /// The same, in a later incarnation, before it has begun.
    pub(super) fn in_life(self, life: u64) -> Self {
        Self { life, ..self }
    }

    /// The next incarnation of a member that has crashed: that much is kept on stable storage.
    pub(super) const fn after_crash(&self) -> u64 {
        after(self.life, self.life, 0)
    }

    pub(super) const fn is_joining(&self) -> bool {
        self.is_joining
    }

    /// Whether it may speak.
    pub(super) const fn may_cast(&self) -> Result<(), Refused> {
        match (self.is_in, self.is_leaving) {
            (false, _) => Err(NOT_IN),
            (true, true) => Err(LEAVING),
            (true, false) => Ok(()),
        }
    }

    pub(super) fn incarnation_of(&self, me: NodeId, of: NodeId) -> u64 {
        if me == of { self.life } else { self.peers[of.index()].life.unwrap_or(0) }
    }

    fn hello(&self, to: NodeId) -> Message {
        let peer = &self.peers[to.index()];
        let asks = peer.standing != Standing::Heard;
        Message::Hello { life: self.life, to: peer.life.map(|life| (life, peer.first)), asks }
    }

    fn asked(&self) -> impl Iterator<Item = NodeId> + '_ {
        let peers = (0..).map(NodeId).zip(&self.peers);
        peers.filter(|(_, peer)| peer.standing == Standing::Asked).map(|(id, _)| id)
    }

    pub(super) fn state(&self) -> NodeState {
        let peers = self
            .peers
            .iter()
            .map(|peer| (peer.life.map(Numbered), Numbered(peer.first), peer.standing.name()));
        let now = match (self.is_in, self.is_joining, self.is_leaving) {
            (false, _, _) => "out",
            (true, true, false) => "joins",
            (true, false, false) => "in",
            (true, true, true) => "joins and leaves",
            (true, false, true) => "leaves",
        };
        NodeState::new()
            .with("incarnation", counted(self.life).unwrap_or(self.life))
            .with("is", now)
            .with("members", StateValue::list(peers))
            .with("hellos", self.tries)
    }
}

/// The handlers.
impl<C: Carrier> Ordered<C> {
    fn tell(&self, to: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        debug_assert!(to != self.me, "nobody meets itself");
        fx.send(to, ordered::Message::Member(message));
    }

    fn others(&self) -> impl Iterator<Item = NodeId> + use<C> {
        Group::of(self.heard.len() as u32).others(self.me)
    }

    /// Begins as a new incarnation, which knows nobody.
    pub(super) fn begin_life(&mut self, fx: &mut impl Effects<Self>) {
        let (me, others) = (self.me, self.others());
        let Some(members) = &mut self.members else { return };
        let life = members.life;
        for (at, peer) in members.peers.iter_mut().enumerate() {
            let is_me = at == me.index();
            let standing = if is_me { Standing::Heard } else { Standing::Asked };
            *peer = Peer { life: None, first: 0, standing };
        }
        members.is_in = true;
        members.is_joining = self.heard.len() > 1;
        self.carrier.anew(life, fx);
        self.waiting.clear();
        self.heard.fill(0);
        if core::mem::take(&mut self.is_full) {
            fx.notify(Notice::Room);
        }
        fx.notify(Notice::Begins { from: me, incarnation: life, number: 0 });
        let hello = Message::Hello { life, to: None, asks: true };
        fx.broadcast(others, ordered::Message::Member(hello));
        self.ask_again_later(fx);
    }

    /// Sees to it that HELLO is repeated, from the shortest wait on.
    fn ask_again_later(&mut self, fx: &mut impl Effects<Self>) {
        let Some(members) = &mut self.members else { return };
        members.tries = 0;
        if members.asked().next().is_some() {
            fx.set_timer(ordered::Timer::Hello, members.patience.delay(0));
        }
    }

    /// Ends this incarnation.
    fn end_life(&mut self) {
        let next = self.carrier.next();
        let window = self.window;
        if let Some(members) = &mut self.members {
            members.life = after(members.life, next, window);
        }
    }

    pub(super) fn join(&mut self, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let members = self.members.as_mut().ok_or(FIXED)?;
        let was_leaving = core::mem::take(&mut members.is_leaving);
        match (members.is_in, was_leaving) {
            (true, false) => return Err(IS_IN),
            // It stays.
            (true, true) => return Ok(()),
            (false, _) => {}
        }
        self.end_life();
        self.begin_life(fx);
        Ok(())
    }

    pub(super) fn leave(&mut self) -> Result<(), Refused> {
        let members = self.members.as_mut().ok_or(FIXED)?;
        members.may_cast()?;
        members.is_leaving = true;
        Ok(())
    }

    /// Leaves, if it wants to and all have what it has said.
    pub(super) fn leave_if_done(&mut self, fx: &mut impl Effects<Self>) {
        let is_done = self.waiting.is_empty() && !self.carrier.has_obligations();
        let others = self.others();
        let Some(members) = &mut self.members else { return };
        if !members.is_in || !members.is_leaving || members.is_joining || !is_done {
            return;
        }
        members.is_in = false;
        for peer in &mut members.peers {
            *peer = Peer { life: None, first: 0, standing: Standing::Silent };
        }
        members.tries = 0;
        let life = members.life;
        fx.broadcast(others, ordered::Message::Member(Message::Leave(life)));
        fx.cancel_timer(ordered::Timer::Hello);
        self.carrier.anew(life, fx);
        fx.notify(Notice::Left);
    }

    /// Whether a message of the carrier is heeded; if not, its sender is told why.
    pub(super) fn heeds(&mut self, from: NodeId, fx: &mut impl Effects<Self>) -> bool {
        let Some(members) = &mut self.members else { return true };
        let life = members.life;
        if !members.is_in {
            self.tell(from, Message::Leave(life), fx);
            return false;
        }
        let peer = &mut members.peers[from.index()];
        match (peer.standing, peer.life) {
            (Standing::Left | Standing::Asked, _) => return false,
            (Standing::Heard | Standing::Silent, Some(theirs)) if self.carrier.is_removed(from) => {
                self.tell(from, Message::Removed(theirs), fx);
                return false;
            }
            (Standing::Heard, _) => return true,
            (Standing::Silent, _) => {}
        }
        peer.standing = Standing::Asked;
        let hello = members.hello(from);
        self.tell(from, hello, fx);
        self.ask_again_later(fx);
        false
    }

    pub(super) fn on_member(
        &mut self,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(members) = &mut self.members else { return };
        let (mine, is_in) = (members.life, members.is_in);
        match message {
            Message::Hello { .. } if !is_in => self.tell(from, Message::Leave(mine), fx),
            Message::Hello { life, to, asks } => self.on_hello(from, (life, to, asks), fx),
            Message::Removed(life) if is_in && life == mine => {
                fx.notify(Notice::Removed);
                self.end_life();
                self.begin_life(fx);
            }
            Message::Leave(life) if is_in => {
                let peer = &mut members.peers[from.index()];
                if peer.life.is_none_or(|known| known <= life) {
                    *peer = Peer { life: Some(life), standing: Standing::Left, ..*peer };
                    self.carrier.dismiss(from, fx);
                    self.joined(fx);
                }
            }
            Message::Removed(_) | Message::Leave(_) => {}
        }
    }

    fn on_hello(
        &mut self,
        from: NodeId,
        (life, to, asks): (u64, Option<(u64, u64)>, bool),
        fx: &mut impl Effects<Self>,
    ) {
        let Some(members) = &mut self.members else { return };
        let (mine, resumes) = (members.life, members.resumes);
        let known = members.peers[from.index()];
        let is_new = known.life != Some(life);
        if known.life.is_some_and(|known| life < known)
            || (!is_new && known.standing == Standing::Left)
        {
            return;
        }
        if is_new {
            self.carrier.listen(from, CLOSED, fx);
            let takes_up = resumes && known.life.is_some() && !self.carrier.is_removed(from);
            let first =
                if takes_up { self.carrier.owes(from) } else { self.carrier.admit(from, fx) };
            let peer = Peer { life: Some(life), first, standing: Standing::Asked };
            self.members.as_mut().expect("it has members").peers[from.index()] = peer;
        } else if self.carrier.is_removed(from) {
            return self.tell(from, Message::Removed(life), fx);
        }
        self.carrier.heard(from);
        let members = self.members.as_mut().expect("it has members");
        let peer = &mut members.peers[from.index()];
        let begins = to
            .filter(|&(to, first)| to == mine && first >= life && peer.standing != Standing::Heard);
        if let Some((_, first)) = begins {
            peer.standing = Standing::Heard;
            let number = first - life;
            self.heard[from.index()] = number;
            self.carrier.listen(from, first, fx);
            fx.notify(Notice::Begins { from, incarnation: life, number });
        }
        if asks || is_new {
            let hello = self.members.as_ref().expect("it has members").hello(from);
            self.tell(from, hello, fx);
        }
        if is_new && begins.is_none() {
            self.ask_again_later(fx);
        }
        self.joined(fx);
    }

    /// Nobody is to be waited for any more, if it is so.
    fn joined(&mut self, fx: &mut impl Effects<Self>) {
        let Some(members) = &mut self.members else { return };
        if members.asked().next().is_none() {
            members.is_joining = false;
            members.tries = 0;
            fx.cancel_timer(ordered::Timer::Hello);
        }
    }

    /// HELLO was not answered.
    pub(super) fn on_hello_time(&mut self, fx: &mut impl Effects<Self>) {
        let Some(members) = &mut self.members else { return };
        let asked: Vec<NodeId> = members.asked().collect();
        if members.tries < members.most {
            members.tries += 1;
            for &id in &asked {
                fx.send(id, ordered::Message::Member(members.hello(id)));
            }
            return fx.set_timer(ordered::Timer::Hello, members.patience.delay(members.tries));
        }
        for id in asked {
            members.peers[id.index()].standing = Standing::Silent;
            self.carrier.dismiss(id, fx);
        }
        members.tries = 0;
        members.is_joining = false;
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use vorrang_protocol::Protocol as _;

    use super::super::testing::{came, hear, member, say};
    use super::*;
    use crate::multicast::Command;
    use crate::multicast::ack::{self, Ack};
    use crate::multicast::nack::Nack;
    use crate::multicast::srm::Srm;
    use crate::setup::Parameter;

    const TRIES: &[(Parameter, &str)] = &[(Parameter::Tries, "2")];
    const SECOND: u64 = 1 << 32;

    fn meet<C: Carrier>(node: &mut Ordered<C>, from: u32, message: Message) -> Vec<String> {
        let message = ordered::Message::Member(message);
        came(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    fn asked_again<C: Carrier>(node: &mut Ordered<C>) -> Vec<String> {
        came(node, |node, fx| node.on_timer(ordered::Timer::Hello, fx))
    }

    fn reborn<C: Carrier>(me: u32, nodes: u32) -> Ordered<C> {
        let former = member::<C>(me, nodes, TRIES);
        former.after_crash(member(me, nodes, TRIES))
    }

    const fn hello(life: u64, to: Option<(u64, u64)>, asks: bool) -> Message {
        Message::Hello { life, to, asks }
    }

    #[test]
    fn a_new_incarnation_asks_all_where_it_begins_and_keeps_what_it_says_until_it_knows() {
        let mut node = reborn::<Ack>(1, 3);
        let begins = ["begins with 1'1/0", "0 HELLO(1?)", "2 HELLO(1?)", "Hello in 3ms"];
        assert_eq!(came(&mut node, vorrang_protocol::Protocol::on_restart), begins);
        assert_eq!(say(&mut node, "a"), ["delivers 1'1/0: a", "has no room for more"]);
        let told = meet(&mut node, 0, hello(0, Some((SECOND, 5)), true));
        assert_eq!(told, ["begins with 0/5", "0 HELLO(1 to 0 from 1'0)"]);
        assert_eq!(asked_again(&mut node), ["2 HELLO(1?)", "Hello in 6ms"]);
        assert_eq!(asked_again(&mut node), ["2 HELLO(1?)", "Hello in 12ms"]);
        let alone = asked_again(&mut node);
        assert_eq!(alone[..2], ["0 DATA(1'0: a)", "2 DATA(1'0: a)"], "2 is down");
        assert_eq!(hear(&mut node, 0, ack::Message::Ack(SECOND)), ["no Resend(1'0)"]);
        let late =
            ack::Message::Data { number: 4, body: crate::multicast::body::Body::Plain("".into()) };
        assert_eq!(hear(&mut node, 0, late), ["0 ACK(4)"], "from before it began");
    }

    #[test]
    fn a_new_incarnation_that_has_heard_nobody_can_be_looked_at() {
        fn looks<C: Carrier>() {
            let mut node = reborn::<C>(1, 3);
            came(&mut node, vorrang_protocol::Protocol::on_restart);
            assert!(node.state().get("heard").is_some());
        }
        looks::<Ack>();
        looks::<Nack>();
        looks::<Srm>();
    }

    #[test]
    fn whoever_hears_of_a_new_incarnation_waits_for_the_former_no_longer() {
        fn admits<C: Carrier>() {
            let given = [(Parameter::Tries, "2"), (Parameter::Window, "1")];
            let mut node = member::<C>(0, 2, &given);
            assert_eq!(say(&mut node, "a").last().unwrap(), "has no room for more");
            let told = meet(&mut node, 1, hello(SECOND, None, true));
            assert!(told.contains(&"1 HELLO(0 to 1 from 1?)".into()), "{told:?}");
            assert_eq!(told.last().unwrap(), "has room again");
            let again = meet(&mut node, 1, hello(SECOND, None, true));
            assert_eq!(again, ["1 HELLO(0 to 1 from 1?)"], "the same");
            let heard = meet(&mut node, 1, hello(SECOND, Some((0, SECOND)), false));
            assert_eq!(heard, ["begins with 1'1/0", "no Hello"]);
            assert_eq!(meet(&mut node, 1, hello(0, None, true)), [""; 0], "a former one");
        }
        admits::<Ack>();
        admits::<Nack>();
        admits::<Srm>();
    }

    #[test]
    fn who_leaves_waits_until_all_have_what_it_said_and_comes_back_as_another() {
        let mut node = member::<Ack>(0, 2, TRIES);
        say(&mut node, "a");
        let ask = |node: &mut Ordered<Ack>, what: Command| {
            let mut outcome = Ok(());
            let said = came(node, |node, fx| outcome = node.on_command(what, fx));
            (outcome, said)
        };
        assert_eq!(ask(&mut node, Command::Join).0, Err(IS_IN));
        assert_eq!(ask(&mut node, Command::Leave), (Ok(()), Vec::new()));
        assert_eq!(ask(&mut node, Command::Cast("b".into())).0, Err(LEAVING));
        let left = hear(&mut node, 1, ack::Message::Ack(0));
        assert_eq!(left, ["no Resend(0)", "1 LEAVE(0)", "no Hello", "has left the group"]);
        assert_eq!(ask(&mut node, Command::Cast("b".into())).0, Err(NOT_IN));
        assert_eq!(hear(&mut node, 1, ack::Message::Ack(0)), ["1 LEAVE(0)"]);
        let back = ask(&mut node, Command::Join).1;
        assert_eq!(back, ["begins with 0'1/0", "1 HELLO(1?)", "Hello in 3ms"]);
        let mut fixed = member::<Ack>(0, 2, &[]);
        assert_eq!(ask(&mut fixed, Command::Leave).0, Err(FIXED));
    }

    #[test]
    fn who_was_removed_and_is_heard_again_begins_anew() {
        let mut node = member::<Ack>(0, 2, TRIES);
        say(&mut node, "a");
        for _ in 0..3 {
            super::super::testing::came(&mut node, |node, fx| {
                let resend = Ack::resend(0);
                node.on_timer(ordered::Timer::Carrier(resend), fx);
            });
        }
        assert_eq!(hear(&mut node, 1, ack::Message::Ack(0)), ["1 REMOVED(0)"]);
        let mut other = member::<Ack>(1, 2, TRIES);
        let told = meet(&mut other, 0, Message::Removed(0));
        assert_eq!(
            told[..2],
            ["was removed, and comes back as a new incarnation", "begins with 1'1/0"]
        );
        assert_eq!(meet(&mut other, 0, Message::Removed(0)), [""; 0], "that was the former");
    }
}
