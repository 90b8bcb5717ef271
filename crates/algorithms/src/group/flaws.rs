//! The mistakes that people make with views, each around a correct machine.
//!
//! A mistake in consensus is a consensus module that decides wrongly; a mistake with messages is a
//! [`Mistake`] around [`Views`].

use core::marker::PhantomData;

use vorrang_protocol::{
    Digest, Effect, Effects, Never, NodeId, NodeSet, NodeState, Outbox, Protocol, Refused, Relay,
};

use super::Payload;
use super::decision::{Decide, Decided, Decision};
use super::informed::Informed;
use super::input::Input;
use super::message::{Install, Message};
use super::replica::Replica;
use super::synod::{self, Synod};
use super::view::is_primary;
use super::view_leader::ViewLeader;
use super::views::{Ask, Phase, Views};
use super::virtual_synchrony::recipe;
use crate::election;
use crate::flaw::{AnyMistake, Flawed, Mistake};
use crate::recipe::Recipe;

/// The value that is decided.
type Value = Install<Payload, Digest>;

/// A node in the middle of which is this.
type Around<C> = Recipe<Informed<Replica<C>>>;

/// The correct node.
type Right = Views<Payload, Digest, Synod<Value>>;

/// Nodes that decide wrongly.
pub fn deciding<F: Misjudges>() -> Around<Views<Payload, Digest, Misjudging<F>>> {
    recipe(Views::new)
}

/// Nodes that do something wrong with messages.
pub fn mistaken(mistake: &'static dyn AnyMistake<Right>) -> Around<Flawed<Right>> {
    recipe(move |me, universe, founders| Flawed::new(Views::new(me, universe, founders), mistake))
}

/// A way to decide wrongly.
pub trait Misjudges:
    Copy + Eq + core::hash::Hash + core::fmt::Debug + Send + Sync + 'static
{
    /// Every proposal is decided.
    const AT_ONCE: bool = false;
    /// However few can decide.
    const ANY_NUMBER: bool = false;
    /// A crash takes votes and promises along.
    const FORGETS: bool = false;

    /// The voters of the next view decide on it.
    const NEWEST_VOTERS: bool = false;

    /// Proposals are altered.
    fn alter(_value: &mut Value) {}
}

/// A machine that decides wrongly.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Misjudging<F> {
    synod: Synod<Value>,
    how: PhantomData<F>,
}

impl<F: Misjudges> Protocol for Misjudging<F> {
    type Message = synod::Message<Value>;
    type Timer = Never;
    type Command = Decide<Value>;
    type Notice = Decided<Value>;

    fn on_command(
        &mut self,
        mut command: Decide<Value>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        if let Decide::Propose { number, voters, value, .. } = &mut command {
            F::alter(value);
            if F::NEWEST_VOTERS {
                *voters = value.voters.iter().map(|it| it.node).collect();
            }
            if F::AT_ONCE {
                fx.notify(Decided::Learned { number: *number, value: value.clone() });
                return Ok(());
            }
        }
        self.synod.on_command(command, &mut Relay::<Self, _, _>::new(fx))
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.synod.on_message(from, message, &mut Relay::<Self, _, _>::new(fx));
    }

    fn state(&self) -> NodeState {
        self.synod.state()
    }

    fn after_crash(&self, fresh: Self) -> Self {
        if F::FORGETS {
            return fresh;
        }
        Self { synod: self.synod.after_crash(fresh.synod), ..fresh }
    }
}

impl<F: Misjudges> Decision<Value> for Misjudging<F> {
    type Votes = <Synod<Value> as Decision<Value>>::Votes;

    fn votes(&self) -> &Self::Votes {
        self.synod.votes()
    }
    fn with_votes(self, votes: Self::Votes) -> Self {
        if F::FORGETS { self } else { Self { synod: self.synod.with_votes(votes), ..self } }
    }
    fn new(me: NodeId) -> Self {
        Self { synod: Synod::new(me), how: PhantomData }
    }
    fn suffices(voters: &[NodeId], present: &NodeSet) -> bool {
        F::ANY_NUMBER || is_primary(voters, present)
    }
    fn has_voted(&self, number: u64) -> bool {
        self.synod.has_voted(number)
    }
    fn question(message: &Self::Message) -> Option<u64> {
        Synod::question(message)
    }
}

/// The coordinator installs what it has proposed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoSecondPhase;

impl Misjudges for NoSecondPhase {
    const AT_ONCE: bool = true;
}

/// The remaining members go on, however few.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MinorityGoesOn;

impl Misjudges for MinorityGoesOn {
    const AT_ONCE: bool = true;
    const ANY_NUMBER: bool = true;
}

/// Messages of those who are gone are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrphansDropped;

impl Misjudges for OrphansDropped {
    fn alter(value: &mut Value) {
        let view = &value.view;
        value.log.retain(|entry| view.incarnation_of(entry.from).is_some());
    }
}

/// A joining member begins with an empty state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NothingHandedOver;

impl Misjudges for NothingHandedOver {
    fn alter(value: &mut Value) {
        value.infos.clear();
    }
}

/// Votes do not survive a crash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VotesForgotten;

impl Misjudges for VotesForgotten {
    const FORGETS: bool = true;
}

/// A proposer asks the voters of the view that it proposes instead of those of the one before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OldVotersForgotten;

impl Misjudges for OldVotersForgotten {
    const NEWEST_VOTERS: bool = true;
}

/// A node whose directory is lost is taken for the voter that it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TakenForTheFormer;

impl<D: Decision<Value>> Mistake<Views<Payload, Digest, D>> for TakenForTheFormer {
    fn after_crash(
        self,
        node: &Views<Payload, Digest, D>,
        fresh: Views<Payload, Digest, D>,
    ) -> Views<Payload, Digest, D> {
        let mut left = node.after_loss(fresh);
        left.voting.since = node.voting.since;
        left
    }
}

/// A member that has reported goes on delivering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoFreeze;

impl<D: Decision<Value>> Mistake<Views<Payload, Digest, D>> for NoFreeze {
    fn on_command(
        self,
        node: &mut Views<Payload, Digest, D>,
        command: Input<Ask<Payload, Digest>>,
        fx: &mut impl Effects<Views<Payload, Digest, D>>,
    ) -> Result<(), Refused> {
        let has_told = matches!(command, Input::Ask(Ask::BlockOk(_)));
        node.on_command(command, fx)?;
        let leads = node.active().next() == Some(node.me);
        if let Some(inside) = node.inside.as_mut().filter(|_| has_told && !leads) {
            inside.phase = Phase::Running;
        }
        Ok(())
    }
}

/// A late message is delivered in the next view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AcrossTheBarrier;

impl<D: Decision<Value>> Mistake<Views<Payload, Digest, D>> for AcrossTheBarrier {
    fn on_message(
        self,
        node: &mut Views<Payload, Digest, D>,
        from: NodeId,
        mut message: Message<Payload, Digest, D::Message>,
        fx: &mut impl Effects<Views<Payload, Digest, D>>,
    ) {
        if let Message::Ordered { view, .. } = &mut message {
            *view = (*view).max(node.view().id);
        }
        node.on_message(from, message, fx);
    }
}

/// When a view begins, the leader is the highest member of the one before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaleView;

impl StaleView {
    /// Lets the node act, and has it follow the leader that it had before.
    fn act(
        node: &mut ViewLeader,
        fx: &mut impl Effects<ViewLeader>,
        act: impl FnOnce(&mut ViewLeader, &mut Outbox<ViewLeader>),
    ) {
        let before = node.leader;
        let mut out = Outbox::default();
        act(node, &mut out);
        for effect in out.take() {
            match effect {
                Effect::Send { to, message } => fx.send(to, message),
                Effect::SetTimer { timer, delay } => fx.set_timer(timer, delay),
                Effect::CancelTimer(timer) => fx.cancel_timer(timer),
                Effect::Notify(election::Notice::Leader(leader)) => {
                    let stale = before.unwrap_or(leader);
                    node.leader = Some(stale);
                    fx.notify(election::Notice::Leader(stale));
                }
                Effect::Notify(notice @ election::Notice::Reset(_)) => fx.notify(notice),
            }
        }
    }
}

impl Mistake<ViewLeader> for StaleView {
    fn on_message(
        self,
        node: &mut ViewLeader,
        from: NodeId,
        message: <ViewLeader as Protocol>::Message,
        fx: &mut impl Effects<ViewLeader>,
    ) {
        Self::act(node, fx, |node, out| node.on_message(from, message, out));
    }

    fn on_timer(
        self,
        node: &mut ViewLeader,
        timer: <ViewLeader as Protocol>::Timer,
        fx: &mut impl Effects<ViewLeader>,
    ) {
        Self::act(node, fx, |node, out| node.on_timer(timer, out));
    }
}
