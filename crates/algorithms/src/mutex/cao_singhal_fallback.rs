//! Cao and Singhal's algorithm (Guohong Cao and Mukesh Singhal, IEEE TPDS 12(12), 2001, who propose
//! to choose another quorum after a failure) with another quorum where a member of the node's own
//! is down.
//!
//! A node that waits probes the members of its quorum whose permissions it does not have. One that
//! does not answer in time is suspected, and the node asks a quorum without any that it suspects,
//! with the same stamp; it keeps the permissions that it has. It enters with the permissions of the
//! whole of one quorum. When it leaves it hands on what it has, and tells all others that it has
//! asked that its request is over (WITHDRAW).
//!
//! **Use it** like Cao and Singhal's, where idle arbiters may crash and messages take no longer
//! than a known time.
//!
//! ```text
//!   1  ──REQUEST─┬──PROBE─┬──────REQUEST─┬───▲──[ inside ]──RELEASE─┬──WITHDRAW─┬──►
//!                │        │              │   │                      │           │
//!   0  ──────────▼──╳     ╳              │   │                      │           ╳
//!                   crashed              │   │                      │
//!   2  ──────────────────────────────────▼─REPLY────────────────────▼──────────────►
//! ```
//!
//! | per entry, quorums of K | cost |
//! | --- | --- |
//! | messages | 3(K−1) without contention; more by probes, and for every quorum that is asked |
//! | synchronisation delay | T where the holder was told in time who is next |
//! | response without contention | 2T + E |
//! | recovery | 4 × the bound on message delay, until another quorum is asked |
//!
//! A node that comes up again says so to all (RESTARTED), and those who wait for its permission ask
//! again, with the same stamp. But if its permission was out when it crashed, it may have missed
//! that it was given back, or on: then it answers no probes, as if it were still down, until the
//! permission comes back, and says only then that it is up.
//!
//! **Assumes** that messages take no longer than a known bound and are not lost or duplicated, but
//! for those to a node that is down. Nodes that neither wait nor are inside may crash, and come up
//! again, as long as a quorum is left. An arbiter that missed the return of its permission is never
//! an arbiter again, and counts as down for this. (In [Maekawa's
//! algorithm](super::maekawa_fallback) locks return to their arbiters, which can ask for them.) A
//! node that crashes while it waits or is inside is not covered: its permissions are gone, and the
//! others wait. An arbiter that comes up again has not forgotten to whom it has given its
//! permission.
//!
//! **Why it is safe.** As without fallback, there is one permission of every arbiter, and whoever
//! is inside has those of all members of one quorum, which it keeps until it leaves. Any two
//! quorums of the system have a member in common, which is looked at before nodes are made; that
//! member's permission is with one of the two only, whether the arbiter is up or not. None of this
//! rests on suspicions: a node that suspects wrongly asks more nodes than it needs. What is new is
//! that an arbiter takes back a permission without having it: that of a request that was withdrawn.
//! Its node does not use it, since it has left, and drops a REPLY to a request that is over. An
//! arbiter that comes up again gives its permission to nobody before it has it back, as without a
//! crash; and a REQUEST that comes twice is known, or that of a request that is over.
//!
//! **Why no request waits for ever.** A member that is down is suspected after two rounds, and then
//! a quorum of those that are up is asked. Of these, as in Cao and Singhal's algorithm, each but
//! the oldest request is told FAIL, and gives back what it is asked for. A withdrawal finds the
//! request at the arbiter in one of three places. It waits: then it is taken out, and as long as
//! the same node has the permission the arbiter remembers that this node may have been told to hand
//! it on to it; if it does so, the permission is taken for returned. It has the permission, as far
//! as the arbiter knows: then that is taken for returned. It has not arrived yet, or is unknown:
//! then nothing happens, and a REPLY that it still gets is answered with another WITHDRAW.
//!
//! A restart: what was lost at a node that was down was sent to it before its RESTARTED arrives.
//! If it has its permission then, no request waited at it when it crashed, and what it may have
//! missed is a REQUEST, which comes again. If its permission is out, it is suspected like one that
//! is down. A node that has no quorum without suspects probes nobody any more; one that was
//! suspected rightly and serves again has said so, and the node goes on.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effect, Effects, Invariant, NodeId, NodeState, Outbox, Protocol, Refused, Situation, StateValue,
};

use super::card::{Card, Demonstration, Flaw, Terms};
use super::fallback::{Fallback, THEORY, fallbacks};
use super::handing_on::quorum_choice::QuorumChoice;
use super::handing_on::{CaoSinghal, Message as Permit, Phase, say};
use super::stamps::Stamping;
use super::{Command, Notice};
use crate::card::Assumes;
use crate::clock::Stamp;
use crate::recipe::Recipe;
use crate::setup::Parameter;

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Those of Cao and Singhal's algorithm.
    Permit(Permit),
    /// A requester: my request of this time is over, and I do not have your permission.
    Withdraw(u64),
    /// A requester: are you there?
    Probe(u64),
    /// An arbiter: I am.
    Alive(u64),
    /// An arbiter: I was down, and have my permission.
    Restarted,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &[
        "REQUEST",
        "REPLY",
        "FAIL",
        "TRANSFER",
        "YIELD",
        "RELEASE",
        "WITHDRAW",
        "PROBE",
        "ALIVE",
        "RESTARTED",
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Permit(message) => message.kind(),
            Self::Withdraw(_) => 6,
            Self::Probe(_) => 7,
            Self::Alive(_) => 8,
            Self::Restarted => 9,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permit(message) => message.fmt(f),
            Self::Withdraw(time) => write!(f, "WITHDRAW({time})"),
            Self::Probe(time) => write!(f, "PROBE({time})"),
            Self::Alive(time) => write!(f, "ALIVE({time})"),
            Self::Restarted => write!(f, "RESTARTED"),
        }
    }
}

/// The timer of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// Whoever was probed would have answered, and it is time to probe again.
    Probe,
}

/// One node: a node of Cao and Singhal's algorithm whose quorum may change while it waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CaoSinghalFallback {
    node: CaoSinghal,
}

impl Stamping for CaoSinghalFallback {
    fn time(&self) -> u64 {
        self.node.time()
    }
    fn is_inside(&self) -> bool {
        self.node.is_inside()
    }
    fn waits_since(&self) -> Option<u64> {
        self.node.waits_since()
    }
}

impl CaoSinghalFallback {
    /// Which quorum is asked.
    pub(super) fn fallback(&mut self) -> Option<&mut Fallback> {
        match &mut self.node.schedule {
            QuorumChoice::Live { fallback, .. } => Some(fallback),
            QuorumChoice::Fixed(_) => None,
        }
    }

    /// Lets something happen to the node without fallback, which hears at once what it tells
    /// itself, and sees whether it has entered, or has its permission back after a crash.
    fn act<T>(
        &mut self,
        fx: &mut impl Effects<Self>,
        act: impl FnOnce(&mut CaoSinghal, &mut Outbox<CaoSinghal>) -> T,
    ) -> T {
        let (waited, mut done) = (self.waits_since().is_some(), Outbox::default());
        let unsure = self.node.arbiter.unsure;
        let result = act(&mut self.node, &mut done);
        let (me, mut effects) = (self.node.me, VecDeque::from(done.take()));
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Send { to, message } if to == me => {
                    self.node.on_message(me, message, &mut done);
                    effects.extend(done.take());
                }
                Effect::Send { to, message } => fx.send(to, Message::Permit(message)),
                Effect::Notify(notice) => fx.notify(notice),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
        let entered = matches!(self.node.phase, Phase::Inside(_));
        if waited
            && entered
            && let Some(fallback) = self.fallback()
        {
            fallback.enter();
            fx.cancel_timer(Timer::Probe);
        }
        if unsure && !self.node.arbiter.unsure {
            self.serve_again(fx);
        }
        result
    }

    /// It is an arbiter again, for others and for itself.
    fn serve_again(&mut self, fx: &mut impl Effects<Self>) {
        let me = self.node.me;
        if let Some(fallback) = self.fallback() {
            fallback.hear(me);
            let others = fallback.others(me);
            fx.broadcast(others, Message::Restarted);
        }
        self.go_on(fx);
    }

    /// A node that waits may have stopped probing, with a suspect in every quorum.
    fn go_on(&mut self, fx: &mut impl Effects<Self>) {
        if self.waits_since().is_some()
            && let Some(fallback) = self.fallback()
        {
            let round = fallback.round();
            fx.set_timer(Timer::Probe, round);
        }
    }

    /// An arbiter does not know what it was told while it was down.
    fn on_restarted(&mut self, from: NodeId, fx: &mut impl Effects<Self>) {
        if let Some(time) = self.waits_since()
            && self.node.missing().any(|id| id == from)
        {
            fx.send(from, Message::Permit(Permit::Request { time }));
        }
        self.go_on(fx);
    }

    /// Tells an arbiter that a request of this node is over.
    fn withdraw(&mut self, time: u64, arbiter: NodeId, fx: &mut impl Effects<Self>) {
        if arbiter == self.node.me {
            self.on_withdrawal(Stamp::new(time, arbiter), fx);
        } else {
            fx.send(arbiter, Message::Withdraw(time));
        }
    }

    fn on_withdrawal(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        self.act(fx, |node, fx| say(node.arbiter.on_withdrawal(request), fx));
    }

    /// Those who have given nothing, if it leaves now.
    fn ungiven(&self) -> Option<(u64, Vec<NodeId>)> {
        match (&self.node.phase, &self.node.schedule) {
            (Phase::Inside(_), QuorumChoice::Live { time: Some(time), .. }) => {
                Some((*time, self.node.missing().collect()))
            }
            (Phase::Outside | Phase::Waiting { .. } | Phase::Inside(_), _) => None,
        }
    }
}

impl Protocol for CaoSinghalFallback {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let ungiven = self.ungiven();
        self.act(fx, |node, fx| node.on_command(command, fx))?;
        if let (Command::Release, Some((time, arbiters))) = (command, ungiven) {
            for arbiter in arbiters {
                self.withdraw(time, arbiter, fx);
            }
        }
        self.go_on(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        if let Some(fallback) = self.fallback() {
            fallback.hear(from);
        }
        match message {
            Message::Permit(Permit::Reply { time, arbiter, .. })
                if !self.node.schedule.is_for(time) =>
            {
                self.withdraw(time, arbiter, fx);
            }
            Message::Permit(message) => {
                self.act(fx, |node, fx| node.on_message(from, message, fx));
            }
            Message::Withdraw(time) => self.on_withdrawal(Stamp::new(time, from), fx),
            Message::Probe(time) if !self.node.arbiter.unsure => {
                fx.send(from, Message::Alive(time));
            }
            Message::Restarted => self.on_restarted(from, fx),
            // As an arbiter it is not there.
            Message::Probe(_) | Message::Alive(_) => {}
        }
    }

    /// Whoever was probed and has not answered is suspected. Whoever is missing is probed.
    fn on_timer(&mut self, Timer::Probe: Timer, fx: &mut impl Effects<Self>) {
        let Some(time) = self.waits_since() else { return };
        let Some(new) = self.fallback().and_then(Fallback::end_round) else { return };
        self.act(fx, |node, fx| {
            node.ask_also(&new, fx);
            node.enter_if_all_granted(fx);
        });
        if self.waits_since().is_some() {
            let (me, missing) = (self.node.me, self.node.missing());
            let missing: Vec<NodeId> = missing.filter(|&id| id != me).collect();
            let Some(fallback) = self.fallback() else { return };
            let (probed, round) = (fallback.probe(|id| missing.contains(&id)), fallback.round());
            fx.broadcast(probed.iter(), Message::Probe(time));
            fx.set_timer(Timer::Probe, round);
        }
    }

    /// Only if its permission is not with another node, it is an arbiter at once.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let me = self.node.me;
        match self.node.arbiter.lock {
            Some(lock) if lock.node != me => {
                self.node.arbiter.unsure = true;
                if let Some(fallback) = self.fallback() {
                    fallback.suspected.insert(me);
                }
                return;
            }
            // It was waiting or inside with it when it crashed.
            Some(own) => self.on_withdrawal(own, fx),
            None => {}
        }
        self.serve_again(fx);
    }

    /// Permissions and queue, which quorum is asked, and which requests were withdrawn.
    fn state(&self) -> NodeState {
        self.node
            .state()
            .with("withdrawn", StateValue::set(self.node.arbiter.withdrawn()))
            .with("unsure", self.node.arbiter.unsure)
    }

    /// Permission, queue and clock lie on stable storage.
    fn after_crash(&self, fresh: Self) -> Self {
        let mut node = fresh.node;
        (node.clock, node.arbiter) = (self.node.clock, self.node.arbiter.clone());
        Self { node }
    }
}

/// The nodes of a set-up: all know all quorums, any two of which meet.
pub fn recipe() -> Recipe<CaoSinghalFallback> {
    Recipe::new(|setup| {
        let (group, fallback) = (setup.group, fallbacks(setup)?);
        Ok(move |me| CaoSinghalFallback { node: CaoSinghal::new(me, group, fallback(me)) })
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<CaoSinghalFallback>] =
    &[Invariant { name: "one permission", holds: one_permission }];

/// No two nodes have the permission of one arbiter.
fn one_permission(at: &Situation<'_, CaoSinghalFallback>) -> Result<(), String> {
    let mut held: Vec<(NodeId, NodeId)> = Vec::new();
    for (id, CaoSinghalFallback { node }) in at.up() {
        let missing: Vec<NodeId> = node.missing().collect();
        let has = node.schedule.quorum().iter().filter(|it| !missing.contains(it));
        held.extend(has.map(|&arbiter| (arbiter, id)));
    }
    held.sort_unstable();
    match held.windows(2).find(|two| two[0].0 == two[1].0) {
        None => Ok(()),
        Some(two) => Err(format!(
            "nodes {} and {} both have the permission of arbiter {}",
            two[0].1, two[1].1, two[0].0
        )),
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "cao-singhal-fallback",
    title: "Cao–Singhal with fallback quorums",
    solves: "mutual exclusion",
    citation: "after Cao and Singhal, IEEE TPDS 12(12), 2001",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Quorum, Parameter::Within],
    terms: Terms::PLAIN,
    theory: THEORY,
    flaws: FLAWS,
    page: page!("cao_singhal_fallback.rs"),
};

const TREE: &[(Parameter, &str)] = &[(Parameter::Quorum, "tree")];

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "dead-members-dropped",
        what: "a node goes on with what is left of its quorum instead of asking another one: what \
               is left of two quorums need not meet",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[0, 1, 1]).given(TREE).crashing(1, 0),
    },
    Flaw {
        name: "arbiter-forgets",
        what: "an arbiter that comes up again has forgotten to whom it has given its permission",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[0, 1, 1]).given(TREE).crashing(1, 1),
    },
    Flaw {
        name: "waits-for-the-dead",
        what: "no other quorum is asked: a node whose quorum has a dead member waits for ever",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 1, 0]).given(TREE).crashing(1, 0),
    },
    Flaw {
        name: "restart-unheeded",
        what: "a node that waits takes no notice of an arbiter that comes up again: its request, \
               which came while the arbiter was down, is not repeated, and probes are answered",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 1, 0]).given(TREE).crashing(1, 1),
    },
    Flaw {
        name: "return-missed",
        what: "an arbiter whose permission was out while it was down answers probes, though it may \
               have missed the return: nobody asks another quorum",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 2, 0]).fifo().given(TREE).crashing(1, 1),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::time::Duration;

    use vorrang_protocol::Group;

    use super::*;
    use crate::mutex::Claim;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<CaoSinghalFallback> = Effect::Notify(Notice::Entered);

    /// Node 1 of three on a tree: its own quorum is the root and itself.
    fn node() -> (CaoSinghalFallback, Outbox<CaoSinghalFallback>) {
        let quorums = [[0, 1], [0, 2], [1, 2]].map(|ids| ids.map(NodeId).to_vec());
        let within = Duration::from_secs(1);
        let fallback = Fallback::new(Group::of(3), quorums.to_vec().into(), within);
        let node = CaoSinghal::new(NodeId(1), Group::of(3), fallback);
        (CaoSinghalFallback { node }, Outbox::default())
    }

    fn hears(
        node: &mut CaoSinghalFallback,
        from: u32,
        message: Message,
    ) -> Vec<Effect<CaoSinghalFallback>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }

    fn sent(to: u32, message: Message) -> Effect<CaoSinghalFallback> {
        Effect::Send { to: NodeId(to), message }
    }

    fn reply(time: u64, arbiter: u32, epoch: u64) -> Message {
        Message::Permit(Permit::Reply { time, arbiter: NodeId(arbiter), epoch, next: None })
    }

    fn request(time: u64) -> Message {
        Message::Permit(Permit::Request { time })
    }

    /// It has asked, and probed twice, and the root has not answered.
    fn fallen_back() -> CaoSinghalFallback {
        let (mut node, mut fx) = node();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_timer(Timer::Probe, &mut fx);
        fx.take();
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take()[0], sent(2, request(1)));
        node
    }

    #[test]
    fn whoever_does_not_answer_is_replaced_and_told_of_the_exit_all_the_same() {
        let mut node = fallen_back();
        let cancelled = Effect::CancelTimer(Timer::Probe);
        assert_eq!(hears(&mut node, 2, reply(1, 2, 1)), [ENTERED, cancelled]);
        let mut fx = Outbox::default();
        node.on_command(Command::Release, &mut fx).unwrap();
        let release = Message::Permit(Permit::Release { epoch: 1, next: None });
        assert_eq!(fx.take(), [sent(2, release), sent(0, Message::Withdraw(1))]);
    }

    #[test]
    fn a_permission_that_comes_late_is_used_inside_and_given_back_after() {
        let mut node = fallen_back();
        hears(&mut node, 2, reply(1, 2, 1));
        let mut after = node.clone();
        assert_eq!(hears(&mut node, 0, reply(1, 0, 4)), [], "it will be given back with the rest");
        let mut fx = Outbox::default();
        node.on_command(Command::Release, &mut fx).unwrap();
        let release = |epoch| Message::Permit(Permit::Release { epoch, next: None });
        assert_eq!(fx.take(), [sent(0, release(4)), sent(2, release(1))]);
        after.on_command(Command::Release, &mut fx).unwrap();
        fx.take();
        assert_eq!(hears(&mut after, 0, reply(1, 0, 4)), [sent(0, Message::Withdraw(1))]);
    }

    /// Node 0 has the permission of node 1, and was told to hand it on to node 2, which withdraws.
    #[test]
    fn a_permission_that_went_to_a_withdrawn_request_is_taken_for_returned() {
        let (mut arbiter, _) = node();
        assert_eq!(hears(&mut arbiter, 0, request(1)), [sent(0, reply(1, 1, 1))]);
        let told = hears(&mut arbiter, 2, request(2));
        let next = Some(Stamp::new(2, NodeId(2)));
        assert!(told.contains(&sent(2, Message::Permit(Permit::Fail { time: 2 }))));
        assert_eq!(hears(&mut arbiter, 2, Message::Withdraw(2)), []);
        let handed_on = Message::Permit(Permit::Release { epoch: 1, next });
        assert_eq!(hears(&mut arbiter, 0, handed_on), [], "nobody waits");
        // The epoch in which node 2 was given it is over as well.
        assert_eq!(hears(&mut arbiter, 0, request(3)), [sent(0, reply(3, 1, 3))]);
        // One that has the permission as far as is known, and will not use it.
        assert_eq!(hears(&mut arbiter, 0, Message::Withdraw(3)), []);
        assert_eq!(hears(&mut arbiter, 2, request(4)), [sent(2, reply(4, 1, 4))]);
        assert_eq!(hears(&mut arbiter, 0, Message::Withdraw(9)), [], "it is not known");
    }

    #[test]
    fn an_arbiter_does_not_forget_and_a_probe_is_answered() {
        let (mut arbiter, _) = node();
        hears(&mut arbiter, 0, request(1));
        let restarted = arbiter.after_crash(node().0);
        assert_eq!(restarted.node.arbiter, arbiter.node.arbiter);
        let alive = vec![sent(2, Message::Alive(7))];
        assert_eq!(hears(&mut arbiter, 2, Message::Probe(7)), alive);
    }

    /// An arbiter that has given its permission to node 0, was down and is up again.
    fn unsure() -> CaoSinghalFallback {
        let (mut arbiter, mut fx) = node();
        hears(&mut arbiter, 0, request(1));
        let mut again = arbiter.after_crash(node().0);
        again.on_restart(&mut fx);
        assert_eq!(fx.take(), [], "it does not say that it is up");
        again
    }

    #[test]
    fn an_arbiter_whose_permission_was_out_is_silent_until_it_is_back() {
        let mut again = unsure();
        assert_eq!(hears(&mut again, 2, Message::Probe(7)), []);
        hears(&mut again, 2, request(7));
        let back = Message::Permit(Permit::Release { epoch: 1, next: None });
        let restarted = [0, 2].map(|to| sent(to, Message::Restarted));
        let mut then = vec![sent(2, reply(7, 1, 2))];
        then.extend(restarted);
        assert_eq!(hears(&mut again, 0, back), then);
        assert_eq!(hears(&mut again, 2, Message::Probe(7)), [sent(2, Message::Alive(7))]);
    }

    #[test]
    fn that_a_permission_was_handed_on_does_not_mean_that_it_will_come_back() {
        let mut again = unsure();
        hears(&mut again, 2, request(7));
        let next = Some(Stamp::new(7, NodeId(2)));
        hears(&mut again, 0, Message::Permit(Permit::Release { epoch: 1, next }));
        assert_eq!(hears(&mut again, 2, Message::Probe(7)), [], "node 2 may have left as well");
    }

    #[test]
    fn while_it_is_silent_it_does_not_wait_for_itself_either() {
        let (mut again, mut fx) = (unsure(), Outbox::default());
        again.on_command(ACQUIRE, &mut fx).unwrap();
        let asked = [0, 2].map(|to| sent(to, request(2)));
        assert_eq!(fx.take()[..2], asked);
    }

    #[test]
    fn who_waits_for_an_arbiter_that_was_down_asks_again_and_goes_on() {
        let mut node = fallen_back();
        let mut fx = Outbox::default();
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take(), [], "0 and 2 are suspected");
        let delay = node.fallback().unwrap().round();
        let timer = Effect::SetTimer { timer: Timer::Probe, delay };
        assert_eq!(hears(&mut node, 0, Message::Restarted), [sent(0, request(1)), timer]);
        assert_eq!(hears(&mut node, 0, reply(1, 0, 1)), []);
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take()[0], ENTERED, "0 and itself are a quorum without suspects");
    }

    #[test]
    fn an_arbiter_that_had_its_own_permission_has_it_still() {
        let (mut node, mut fx) = node();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        let mut again = node.after_crash(super::tests::node().0);
        fx.take();
        again.on_restart(&mut fx);
        assert_eq!(fx.take(), [0, 2].map(|to| sent(to, Message::Restarted)));
        assert_eq!(hears(&mut again, 0, request(4)), [sent(0, reply(4, 1, 2))]);
    }
}
