//! Regeneration of a lost token, exactly once: after Le Lann, 1977, who replaces a lost token, and
//! Garcia-Molina, 1982, whose elections decide which node does.
//!
//! A token is lost with the node that has it, or on a link, and an algorithm with one token stops.
//! This layer around the [ring](super::token_ring), [Suzuki–Kasami](super::suzuki_kasami) or
//! [Raymond's tree](super::raymond) detects and repairs that. A node that has waited for long asks
//! which node uses the token. If none answers that it does, the token is lost, or the request for
//! it is; a [leader is elected](crate::election::bully); the leader asks all nodes, and every live
//! node stops and says whether it has the token. A node that has not answered is asked once more,
//! and if it does not answer then, it is down. Then the live nodes start the algorithm anew, in a
//! new generation, where the node that had the token has it again; if none had it, the leader does.
//!
//! ```text
//!   0  ──[ waits ]──ASK─┬─┬────────(no HAVE)──ELECTION… ▲─QUERY─▼─▲────▲─INSTALL─▼──REQUEST─►
//!                       │ │                             │       │ │    │         │
//!   1  ─────────────────▼─│──────────────[ leads ]──QUERY(2.1)──┴─STATUS(no)──INSTALL(2.1: 0, 1)─►
//!                         │
//!   2  ──[ token ]──✗     ▼   (down)
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | as the algorithm within; N−1 and one answer whenever a node has waited for 4N T |
//! | a lost token besides | an election, then up to 3(N−1): QUERY, STATUS, INSTALL |
//! | a crashed node besides | a second QUERY |
//! | synchronisation delay | as the algorithm within; after a crash 4N T, 2T, the election and 5T |
//!
//! **Assumes** that a message takes no longer than a known time T, that none is doubled, and that
//! of the questions of a leader to a node, and its answers to them, no two are lost in a row. All
//! other messages may be lost, those of elections included. Nodes may crash and come up again,
//! having forgotten everything but the generation. A node that is slow and not down has its place
//! taken, and two may be inside (`vorrang check regenerating-ring --asynchronous` shows it): only a
//! resource that checks numbers could refuse the older one.
//!
//! **Why it is safe.** Every message of the algorithm carries its generation, and a node that has
//! answered a QUERY accepts no message of an older one. So a token that was in flight then is void:
//! it can no longer be at two places. Of the nodes that answer, at most one has the token, since an
//! answer is given after the node has stopped; of those that do not, none is up. The leader waits
//! for answers for 2T, asks those that are missing again, as a question or an answer may have been
//! lost, and waits for another 2T, so it knows them all. (Asking once is not enough: a node whose
//! QUERY is lost goes on with its token, and the leader makes a second one; `vorrang check
//! regenerating-ring --flaw asked-once`.) That does not depend on how the leader was elected: if a
//! message of an election is lost, two may lead, and of two censuses the newer one stops the older
//! one's nodes. In the new generation there is one token, where the
//! answers say. Generations are ordered, by a number and then by their leader, and no node goes
//! back to an older one, not even after a restart: it would ask with a number that it has used
//! before, and ignore the nodes that have answered then.
//!
//! **Why no request starves.** A waiting node repeats its question. If the token is lost, or idle
//! because the request for it went to a node that is down, an election follows, and a leader that
//! does not crash installs a generation in which every live node starts anew, with the request of
//! its application. If a leader crashes before that, the nodes that have answered it time out and
//! elect another. A restarted node calls an election (see there), and is asked with the others.
//!
//! **Where we depart.** In the literature the token is repaired in place and keeps what it knows.
//! Here the algorithm starts anew, which is the same for all of them; requests made before are made
//! again, and their order may be lost. A node asks who uses the token before it calls for
//! an election, so that a long stay inside costs some messages and no new generation.

mod among;
mod lemmas;
mod message;
mod mistakes;
mod shown;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::mem;
use core::time::Duration;

use vorrang_protocol::{
    Delay, DynEffects, Effects, Group, Lift, NodeId, NodeState, Protocol, Refused, SortedMap,
};

use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::election::bully::Bully;
use crate::election::{Command as ElectionCommand, Notice as ElectionNotice};
use crate::setup::Setup;
use among::Among;
pub(super) use message::kinds;
pub use message::{Generation, Inner, Message, Timer};
pub(super) use mistakes::flaws;

/// A token algorithm that can be started anew among any nodes.
pub trait Renewable: Protocol<Command = Command, Notice = Notice, Message: Inner> {
    /// Whether the token goes to everyone by itself, wanted or not.
    const GOES_ROUND: bool;
    /// Its settings besides the participants and the holder of the token.
    type Settings: Copy + Eq + Hash + Debug + Send + Sync + 'static;

    /// Its settings, from a set-up.
    fn settings(setup: &Setup) -> Self::Settings;
    /// A node of a group in which `holder` has the token.
    fn anew(me: NodeId, group: Group, holder: NodeId, settings: Self::Settings) -> Self;
    /// Whether the token is here.
    fn has_token(&self) -> bool;
    /// Whether the message is the token.
    fn is_token(message: &Self::Message) -> bool;
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Regenerating<P: Renewable> {
    me: NodeId,
    group: Group,
    /// How long a message takes at most.
    within: Duration,
    settings: P::Settings,
    application: Application,
    /// The newest generation that it knows. It takes no message of any other.
    pub(super) generation: Generation,
    work: Work<P>,
    /// Whether it has asked which node uses the token, and has no answer yet.
    asks: bool,
    election: Bully,
    /// The census of live nodes, while this node takes one as the leader.
    census: Option<Census>,
}

/// The state of the application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Application {
    Outside,
    Waits,
    Inside,
}

/// The state of the algorithm inside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Work<P: Renewable> {
    /// It goes on, among these.
    Goes { members: Arc<[NodeId]>, node: P },
    /// It was stopped.
    Stopped {
        /// Whether the token was here.
        has: bool,
        /// Messages of the new generation that arrived before it was installed here.
        early: Vec<(NodeId, P::Message)>,
    },
}

/// The nodes that have answered, and whether one has the token.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Census {
    has: SortedMap<NodeId, bool>,
    /// Another election was called since, perhaps by a node that was down when it was asked.
    again: bool,
    /// Whether those that had not answered were asked a second time.
    asked_twice: bool,
}

impl<P: Renewable> Regenerating<P> {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let members: Arc<[NodeId]> = setup.group.members().collect();
        let settings = P::settings(setup);
        let node = P::anew(me, setup.group, setup.holder, settings);
        Self {
            me,
            group: setup.group,
            within: setup.within,
            settings,
            application: Application::Outside,
            generation: Generation::FIRST,
            work: Work::Goes { members, node },
            asks: false,
            election: Bully::of(me, setup),
            census: None,
        }
    }

    /// How long a node waits before it asks: long enough for all others, if they do not stay.
    fn patience(&self) -> Delay {
        Delay::exactly(self.within.saturating_mul(self.group.size().saturating_mul(4)))
    }

    fn messages(&self, count: u32) -> Delay {
        Delay::exactly(self.within.saturating_mul(count))
    }

    /// Whether the token is here, or was when the algorithm was stopped.
    fn has_token(&self) -> bool {
        match &self.work {
            Work::Goes { node, .. } => node.has_token(),
            Work::Stopped { has, .. } => *has,
        }
    }

    /// Whether the token is in use here, so that others need only wait. If it is idle, the request
    /// for it was lost.
    fn keeps_others_waiting(&self) -> bool {
        self.application == Application::Inside || P::GOES_ROUND && self.has_token()
    }

    /// Lets the algorithm act, if it goes on, and tells the application what it tells.
    fn on_work<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut P, &mut Among<'_, E>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Work::Goes { members, node } = &mut self.work else { return Ok(()) };
        let mut among = Among { fx, generation: self.generation, members, entered: false };
        act(node, &mut among)?;
        // A node that was inside when the algorithm started anew enters once more, for itself.
        if among.entered && self.application == Application::Waits {
            self.application = Application::Inside;
            fx.cancel_timer(Timer::Suspect);
            self.stop_asking(fx);
            fx.notify(Notice::Entered);
        }
        Ok(())
    }

    fn stop_asking(&mut self, fx: &mut impl Effects<Self>) {
        if mem::take(&mut self.asks) {
            fx.cancel_timer(Timer::Have);
        }
    }

    /// Lets the election act, and takes a census if this node leads.
    fn on_election<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Bully, &mut Lift<'_, Bully, Self, E>),
    ) {
        let mut heard = Vec::new();
        act(&mut self.election, &mut Lift::new(fx, &mut heard));
        for leader in heard.into_iter().filter_map(ElectionNotice::leader) {
            if leader == self.me {
                match &mut self.census {
                    Some(census) => census.again = true,
                    None => self.take_census(self.generation.number, fx),
                }
            }
        }
    }

    fn elect(&mut self, fx: &mut impl Effects<Self>) {
        self.on_election(fx, |election, up| {
            election.on_command(ElectionCommand::Elect, up).expect("it may always be called");
        });
    }

    /// Stops, and takes no message of an older generation from now on.
    fn stop_for(&mut self, generation: Generation, fx: &mut impl Effects<Self>) {
        self.work = Work::Stopped { has: self.has_token(), early: Vec::new() };
        self.generation = generation;
        if self.census.take().is_some() {
            fx.cancel_timer(Timer::Census);
        }
    }

    /// Asks everyone, in a generation after all of that number.
    fn take_census(&mut self, after: u64, fx: &mut impl Effects<Self>) {
        let generation = Generation { number: after.saturating_add(1), by: self.me };
        self.stop_for(generation, fx);
        fx.cancel_timer(Timer::Install);
        let has = SortedMap::from([(self.me, self.has_token())]);
        self.census = Some(Census { has, again: false, asked_twice: false });
        fx.broadcast(self.group.others(self.me), Message::Query(generation));
        fx.set_timer(Timer::Census, self.messages(2));
        self.finish_if_all_have_answered(fx);
    }

    fn on_query(&mut self, from: NodeId, generation: Generation, fx: &mut impl Effects<Self>) {
        if generation < self.generation {
            return fx.send(from, Message::Superseded(self.generation));
        }
        let is_new = generation > self.generation;
        if is_new {
            self.stop_for(generation, fx);
        }
        // Asked once more, it has stopped already: the first answer was lost.
        if matches!(self.work, Work::Stopped { .. }) {
            fx.send(from, Message::Status { generation, has: self.has_token() });
        }
        if is_new {
            // The others may have to be asked twice, and then the leader's word takes one more.
            fx.set_timer(Timer::Install, self.messages(5));
        }
    }

    /// Those that have not answered are asked once more: a message may have been lost.
    fn on_census_over(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(census) = &mut self.census
            && !census.asked_twice
        {
            census.asked_twice = true;
            let (me, has) = (self.me, &census.has);
            let missing = self.group.others(me).filter(|id| !has.contains_key(id));
            fx.broadcast(missing, Message::Query(self.generation));
            fx.set_timer(Timer::Census, self.messages(2));
        } else {
            self.finish_census(fx);
        }
    }

    fn finish_if_all_have_answered(&mut self, fx: &mut impl Effects<Self>) {
        let all = self.group.size() as usize;
        if self.census.as_ref().is_some_and(|census| census.has.len() == all) {
            fx.cancel_timer(Timer::Census);
            self.finish_census(fx);
        }
    }

    /// Starts the algorithm anew among those who have answered.
    pub(super) fn finish_census(&mut self, fx: &mut impl Effects<Self>) {
        let Some(Census { has, again, .. }) = self.census.take() else { return };
        let holder = has.iter().find(|(_, has)| **has).map_or(self.me, |(&id, _)| id);
        let members: Vec<NodeId> = has.into_keys().collect();
        let generation = self.generation;
        for &id in members.iter().filter(|&&id| id != self.me) {
            fx.send(id, Message::Install { generation, members: members.clone(), holder });
        }
        self.install(members, holder, fx);
        if again {
            self.take_census(self.generation.number, fx);
        }
    }

    /// Starts the algorithm anew among these.
    fn install(&mut self, members: Vec<NodeId>, holder: NodeId, fx: &mut impl Effects<Self>) {
        let place = |id: NodeId| members.binary_search(&id).ok().map(|place| NodeId(place as u32));
        let (Some(me), Some(holder)) = (place(self.me), place(holder)) else { return };
        let group = Group::of(members.len() as u32);
        let node = P::anew(me, group, holder, self.settings);
        let work = Work::Goes { members: members.into(), node };
        let Work::Stopped { early, .. } = mem::replace(&mut self.work, work) else { return };
        let application = self.application;
        self.stop_asking(fx);
        let started = self.on_work(fx, |node, among| {
            node.on_start(among);
            match application {
                Application::Outside => Ok(()),
                Application::Waits | Application::Inside => {
                    node.on_command(Command::Acquire(Claim::Exclusive), among)
                }
            }
        });
        started.expect("a node that is outside may ask");
        if self.application == Application::Waits {
            fx.set_timer(Timer::Suspect, self.patience());
        }
        for (from, message) in early {
            self.on_token(from, message, fx);
        }
    }

    /// A message of the algorithm, of this generation.
    fn on_token(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        match &mut self.work {
            Work::Stopped { early, .. } => early.push((from, message)),
            Work::Goes { members, .. } => {
                let Ok(place) = members.binary_search(&from) else { return };
                let from = NodeId(place as u32);
                let done = self.on_work(fx, |node, among| {
                    node.on_message(from, message, among);
                    Ok(())
                });
                done.expect("a message is not refused");
            }
        }
    }
}

impl<P: Renewable> Protocol for Regenerating<P> {
    type Message = Message<P::Message>;
    type Timer = Timer<P::Timer>;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        let started = self.on_work(fx, |node, among| {
            node.on_start(among);
            Ok(())
        });
        started.expect("a start is not refused");
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        match (command, self.application) {
            (Command::Acquire(Claim::Exclusive), Application::Outside) => {
                self.application = Application::Waits;
                self.on_work(fx, |node, among| node.on_command(command, among))?;
                if self.application == Application::Waits {
                    fx.set_timer(Timer::Suspect, self.patience());
                }
            }
            (Command::Release, Application::Inside) => {
                self.application = Application::Outside;
                self.on_work(fx, |node, among| node.on_command(command, among))?;
            }
            (Command::Acquire(_), Application::Outside) => return Err(EXCLUSIVE_ONLY),
            (Command::Acquire(_), Application::Waits) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Application::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Application::Outside | Application::Waits) => {
                return Err(NOT_INSIDE);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match message {
            Message::Ask if self.keeps_others_waiting() => fx.send(from, Message::Have),
            Message::Have if self.asks => {
                self.stop_asking(fx);
                fx.set_timer(Timer::Suspect, self.patience());
            }
            Message::Query(generation) => self.on_query(from, generation, fx),
            Message::Status { generation, has } if generation == self.generation => {
                if let Some(census) = &mut self.census {
                    census.has.insert(from, has);
                    self.finish_if_all_have_answered(fx);
                }
            }
            Message::Superseded(known) if self.census.is_some() && known > self.generation => {
                self.take_census(known.number, fx);
            }
            Message::Install { generation, members, holder } => {
                let is_stopped = matches!(self.work, Work::Stopped { .. });
                let is_awaited = is_stopped && self.census.is_none();
                if generation == self.generation && generation.by == from && is_awaited {
                    fx.cancel_timer(Timer::Install);
                    self.install(members, holder, fx);
                }
            }
            Message::Election(message) => {
                self.on_election(fx, |election, up| election.on_message(from, message, up));
            }
            Message::Token { generation, message } if generation == self.generation => {
                self.on_token(from, message, fx);
            }
            // Another node has the token, there is no such question, or it is of an older
            // generation.
            Message::Ask
            | Message::Have
            | Message::Status { .. }
            | Message::Superseded(_)
            | Message::Token { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match timer {
            Timer::Suspect => {
                self.asks = true;
                fx.broadcast(self.group.others(self.me), Message::Ask);
                fx.set_timer(Timer::Have, self.messages(2));
            }
            Timer::Have => {
                self.asks = false;
                fx.set_timer(Timer::Suspect, self.patience());
                self.elect(fx);
            }
            Timer::Census => self.on_census_over(fx),
            Timer::Install => {
                fx.set_timer(Timer::Install, self.patience());
                self.elect(fx);
            }
            Timer::Election(timer) => {
                self.on_election(fx, |election, up| election.on_timer(timer, up));
            }
            Timer::Token(generation, timer) if generation == self.generation => {
                let done = self.on_work(fx, |node, among| {
                    node.on_timer(timer, among);
                    Ok(())
                });
                done.expect("a timer is not refused");
            }
            Timer::Token(..) => {}
        }
    }

    /// It has no token, and asks to be asked.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.work = Work::Stopped { has: false, early: Vec::new() };
        fx.set_timer(Timer::Install, self.patience());
        self.on_election(fx, |election, up| election.on_restart(up));
    }

    fn state(&self) -> NodeState {
        self.shown()
    }

    /// The generation lies on stable storage: a leader that used the same number twice would take
    /// the nodes that answered the first time for crashed.
    fn after_crash(&self, fresh: Self) -> Self {
        let election = self.election.after_crash(fresh.election.clone());
        Self { election, generation: self.generation, ..fresh }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Message as _, Outbox};

    use super::message::OWN_KINDS;
    use super::*;
    use crate::election::bully;
    use crate::mutex::suzuki_kasami::{self, SuzukiKasami, Token};
    use crate::mutex::{token_ring, tree_token};

    type Node = Regenerating<SuzukiKasami>;
    type Said = Message<suzuki_kasami::Message>;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<Node> = Effect::Notify(Notice::Entered);
    const SECOND: Generation = Generation { number: 2, by: NodeId(2) };

    /// A node of three, of which 0 has the token.
    fn node(me: u32) -> Node {
        Node::of(NodeId(me), &Setup::new(Group::of(3)))
    }
    fn send(to: u32, message: Said) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message }
    }
    fn install(holder: u32, members: &[u32]) -> Said {
        let members = members.iter().copied().map(NodeId).collect();
        Message::Install { generation: SECOND, members, holder: NodeId(holder) }
    }
    fn token(generation: Generation, nodes: usize) -> Said {
        let token = Token { served: vec![0; nodes], ..Token::default() };
        Message::Token { generation, message: suzuki_kasami::Message::Privilege(token) }
    }
    fn tell(node: &mut Node, from: u32, message: Said) -> Vec<Effect<Node>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }
    fn sends(effects: &[Effect<Node>]) -> Vec<Effect<Node>> {
        let is_send = |effect: &&Effect<Node>| matches!(effect, Effect::Send { .. });
        effects.iter().filter(is_send).cloned().collect()
    }

    #[test]
    fn the_kinds_are_those_of_the_layer_of_elections_and_of_the_algorithm() {
        fn all<M: Inner>() {
            let (own, rest) = M::ALL_KINDS.split_at(OWN_KINDS);
            assert_eq!(own, ["ASK", "HAVE", "QUERY", "STATUS", "SUPERSEDED", "INSTALL"]);
            let (election, algorithm) = rest.split_at(bully::Message::KINDS.len());
            assert_eq!((election, algorithm), (bully::Message::KINDS, M::KINDS));
        }
        all::<token_ring::Message>();
        all::<suzuki_kasami::Message>();
        all::<tree_token::Message>();
    }

    #[test]
    fn whoever_uses_the_token_says_so_and_nobody_else() {
        let mut holder = node(0);
        assert_eq!(tell(&mut holder, 1, Message::Ask), [], "the request for it was lost");
        holder.on_command(ACQUIRE, &mut Outbox::default()).unwrap();
        assert_eq!(tell(&mut holder, 1, Message::Ask), [send(1, Message::Have)]);
        assert_eq!(tell(&mut node(2), 1, Message::Ask), []);
        let mut ring =
            Regenerating::<token_ring::TokenRing>::of(NodeId(0), &Setup::new(Group::of(3)));
        let mut fx = Outbox::default();
        ring.on_start(&mut fx);
        fx.take();
        ring.on_message(NodeId(1), Message::Ask, &mut fx);
        let have = Effect::Send { to: NodeId(1), message: Message::Have };
        assert_eq!(fx.take(), [have], "it comes by itself");
    }

    #[test]
    fn whoever_is_told_that_there_is_a_token_calls_no_election() {
        let mut node = node(1);
        let mut fx = Outbox::default();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_timer(Timer::Suspect, &mut fx);
        assert_eq!(sends(&fx.take()), [send(0, Message::Ask), send(2, Message::Ask)]);
        let mut without = node.clone();
        let told = tell(&mut node, 0, Message::Have);
        assert!(told.contains(&Effect::CancelTimer(Timer::Have)), "{told:?}");
        without.on_timer(Timer::Have, &mut fx);
        let election = Message::Election(bully::Message::Election(0));
        assert_eq!(sends(&fx.take())[..1], [send(2, election)]);
    }

    #[test]
    fn whoever_has_stopped_takes_no_token_of_an_older_generation() {
        let mut node = node(1);
        node.on_command(ACQUIRE, &mut Outbox::default()).unwrap();
        let told = tell(&mut node, 2, Message::Query(SECOND));
        let no = Message::Status { generation: SECOND, has: false };
        assert_eq!(told[..1], [send(2, no)]);
        let stopped = node.clone();
        assert_eq!(tell(&mut node, 0, token(Generation::FIRST, 3)), []);
        assert_eq!(node, stopped);
        let again = tell(&mut node, 0, Message::Query(Generation { number: 2, by: NodeId(1) }));
        assert_eq!(again, [send(0, Message::Superseded(SECOND))], "nor does it go back");
        assert_eq!(node, stopped);
    }

    #[test]
    fn what_comes_before_the_new_generation_is_not_lost() {
        let mut node = node(1);
        node.on_command(ACQUIRE, &mut Outbox::default()).unwrap();
        tell(&mut node, 2, Message::Query(SECOND));
        assert_eq!(tell(&mut node, 2, token(SECOND, 2)), []);
        let told = tell(&mut node, 2, install(2, &[1, 2]));
        assert!(told.contains(&ENTERED), "{told:?}");
    }

    #[test]
    fn whoever_is_inside_keeps_the_token_and_enters_only_once() {
        let mut node = node(0);
        let mut fx = Outbox::default();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert!(fx.take().contains(&ENTERED));
        let told = tell(&mut node, 2, Message::Query(SECOND));
        assert_eq!(told[..1], [send(2, Message::Status { generation: SECOND, has: true })]);
        assert_eq!(tell(&mut node, 1, Message::Ask), [send(1, Message::Have)]);
        let told = tell(&mut node, 2, install(0, &[0, 1, 2]));
        assert!(!told.contains(&ENTERED), "{told:?}");
        assert!(node.has_token());
        node.on_command(Command::Release, &mut fx).unwrap();
        assert!(node.has_token(), "nobody has asked");
    }

    #[test]
    fn a_leader_that_knows_too_little_asks_again() {
        let mut node = node(2);
        let mut fx = Outbox::default();
        node.on_restart(&mut fx);
        let first = Generation { number: 2, by: NodeId(2) };
        assert!(fx.take().contains(&send(0, Message::Query(first))));
        let known = Generation { number: 7, by: NodeId(1) };
        let told = tell(&mut node, 0, Message::Superseded(known));
        let next = Generation { number: 8, by: NodeId(2) };
        assert!(told.contains(&send(0, Message::Query(next))), "{told:?}");
    }

    #[test]
    fn a_node_that_has_not_answered_is_asked_once_more_and_then_it_is_down() {
        let (mut node, mut fx) = (node(2), Outbox::default());
        node.elect(&mut fx);
        fx.take();
        tell(&mut node, 0, Message::Status { generation: SECOND, has: false });
        node.on_timer(Timer::Census, &mut fx);
        let again = fx.take();
        assert_eq!(again[..1], [send(1, Message::Query(SECOND))]);
        assert_eq!(sends(&again).len(), 1, "0 has answered");
        let mut late = node.clone();
        let told = tell(&mut late, 1, Message::Status { generation: SECOND, has: true });
        assert_eq!(sends(&told), [0, 1].map(|to| send(to, install(1, &[0, 1, 2]))));
        node.on_timer(Timer::Census, &mut fx);
        assert_eq!(sends(&fx.take())[..1], [send(0, install(2, &[0, 2]))]);
    }

    #[test]
    fn whoever_is_asked_twice_says_the_same_twice_but_not_once_it_goes_on() {
        let mut node = node(1);
        let no = Message::Status { generation: SECOND, has: false };
        assert_eq!(tell(&mut node, 2, Message::Query(SECOND))[..1], [send(2, no.clone())]);
        assert_eq!(tell(&mut node, 2, Message::Query(SECOND)), [send(2, no)]);
        tell(&mut node, 2, install(2, &[1, 2]));
        assert_eq!(tell(&mut node, 2, Message::Query(SECOND)), []);
    }

    #[test]
    fn the_generation_survives_a_crash_and_is_not_given_twice() {
        let (mut old, mut fx) = (node(2), Outbox::default());
        old.elect(&mut fx);
        assert!(fx.take().contains(&send(0, Message::Query(SECOND))));
        let mut new = old.after_crash(node(2));
        new.on_restart(&mut fx);
        let third = Generation { number: 3, by: NodeId(2) };
        assert!(fx.take().contains(&send(0, Message::Query(third))));
        // What was said to the one that crashed is no answer.
        let stale = Message::Status { generation: SECOND, has: false };
        let asking = new.clone();
        assert_eq!((tell(&mut new, 0, stale), new), (vec![], asking));
    }

    #[test]
    fn a_generation_is_installed_by_whoever_asked_for_it_and_among_known_nodes() {
        let mut node = node(1);
        tell(&mut node, 2, Message::Query(SECOND));
        let stopped = node.clone();
        assert_eq!(tell(&mut node, 0, install(0, &[0, 1])), [], "it was 2 who asked");
        assert_eq!(node, stopped);
        tell(&mut node, 2, install(2, &[0, 2]));
        assert!(matches!(node.work, Work::Stopped { .. }), "it is not among them");
    }
}
