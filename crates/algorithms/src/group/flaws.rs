//! The mistakes that people make with views, each around a correct machine.
//!
//! A mistake in consensus is a consensus module that decides wrongly; a mistake with messages is a
//! [`Mistake`] around [`Views`].

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

/// One that decides wrongly: a single type whatever is wrong, so that it is compiled once.
pub type Wrong = Views<Payload, Digest, Misjudging>;

/// Nodes that decide wrongly.
pub fn deciding(how: Misjudgement) -> Around<Wrong> {
    recipe(move |me, universe, founders| Wrong::new(me, universe, founders).misjudging(how))
}

/// Nodes that do something wrong with messages.
pub fn mistaken(mistake: &'static dyn AnyMistake<Right>) -> Around<Flawed<Right>> {
    recipe(move |me, universe, founders| Flawed::new(Views::new(me, universe, founders), mistake))
}

/// A way to decide wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Misjudgement {
    /// The coordinator installs what it has proposed.
    NoSecondPhase,
    /// The remaining members go on, however few.
    MinorityGoesOn,
    /// Messages of those who are gone are dropped.
    OrphansDropped,
    /// A joining member begins with an empty state.
    NothingHandedOver,
    /// Votes do not survive a crash.
    VotesForgotten,
    /// A proposer asks the voters of the view that it proposes instead of those of the one before.
    OldVotersForgotten,
}

impl Misjudgement {
    /// Every proposal is decided.
    const fn is_at_once(self) -> bool {
        matches!(self, Self::NoSecondPhase | Self::MinorityGoesOn)
    }

    /// Proposals are altered.
    fn alter(self, value: &mut Value) {
        match self {
            Self::OrphansDropped => {
                let view = &value.view;
                value.log.retain(|entry| view.incarnation_of(entry.from).is_some());
            }
            Self::NothingHandedOver => value.infos.clear(),
            Self::NoSecondPhase
            | Self::MinorityGoesOn
            | Self::VotesForgotten
            | Self::OldVotersForgotten => {}
        }
    }
}

/// A machine that decides wrongly, once it was told [how](Views::misjudging).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Misjudging {
    synod: Synod<Value>,
    how: Option<Misjudgement>,
}

impl Wrong {
    /// The same with this mistake.
    #[must_use]
    pub fn misjudging(mut self, how: Misjudgement) -> Self {
        self.decision.how = Some(how);
        self
    }
}

impl Protocol for Misjudging {
    type Message = synod::Message<Value>;
    type Timer = Never;
    type Command = Decide<Value>;
    type Notice = Decided<Value>;

    fn on_command(
        &mut self,
        mut command: Decide<Value>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        if let (Decide::Propose { number, voters, value, .. }, Some(how)) = (&mut command, self.how)
        {
            how.alter(value);
            if how == Misjudgement::OldVotersForgotten {
                *voters = value.voters.iter().map(|it| it.node).collect();
            }
            if how.is_at_once() {
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
        if self.how == Some(Misjudgement::VotesForgotten) {
            return fresh;
        }
        Self { synod: self.synod.after_crash(fresh.synod), ..fresh }
    }
}

impl Decision<Value> for Misjudging {
    type Votes = <Synod<Value> as Decision<Value>>::Votes;

    fn votes(&self) -> &Self::Votes {
        self.synod.votes()
    }
    fn with_votes(self, votes: Self::Votes) -> Self {
        if self.how == Some(Misjudgement::VotesForgotten) {
            return self;
        }
        Self { synod: self.synod.with_votes(votes), ..self }
    }
    fn new(me: NodeId) -> Self {
        Self { synod: Synod::new(me), how: None }
    }
    fn suffices(&self, voters: &[NodeId], present: &NodeSet) -> bool {
        self.how == Some(Misjudgement::MinorityGoesOn) || is_primary(voters, present)
    }
    fn has_voted(&self, number: u64) -> bool {
        self.synod.has_voted(number)
    }
    fn question(message: &Self::Message) -> Option<u64> {
        Synod::question(message)
    }
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
