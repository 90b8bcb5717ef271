//! A replicated application on views: it keeps a [`ledger`] of all messages, the same at every
//! member, and transfers it to joining members.

use alloc::vec::Vec;

use serde::{Deserializer, Serializer};
use vorrang_protocol::{
    Digest, DynEffects, Effects, GroupHealth, GroupView, Lift, NodeId, NodeState, Protocol, Refused,
};

use super::input::Input;
use super::message::Install;
use super::shown::Shown as _;
use super::views::{Ask, Told};
use super::{Command, Notice, Payload, ledger};

/// One node, on top of a machine that has views.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Replica<C> {
    pub(super) views: C,
    state: Digest,
}

impl<C> Replica<C> {
    /// On top of this.
    pub const fn new(views: C) -> Self {
        Self { views, state: Digest(0) }
    }

    /// The layer below.
    pub const fn views(&self) -> &C {
        &self.views
    }
}

/// A machine with views, as this application uses it.
pub trait HasViews:
    Protocol<Command = Input<Ask<Payload, Digest>>, Notice = Told<Payload, Digest>>
{
}

impl<C: Protocol<Command = Input<Ask<Payload, Digest>>, Notice = Told<Payload, Digest>>> HasViews
    for C
{
}

impl<C: HasViews> Replica<C> {
    /// Lets the machine below act, and does what it says until it has nothing more to say.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut C, &mut Lift<'_, C, Self, E>) -> T,
    ) -> T {
        let mut told = Vec::new();
        let done = act(&mut self.views, &mut Lift::new(fx, &mut told));
        while !told.is_empty() {
            for it in core::mem::take(&mut told) {
                self.on_told(it, &mut told, fx);
            }
        }
        done
    }

    fn on_told<E: Effects<Self>>(
        &mut self,
        it: Told<Payload, Digest>,
        told: &mut Vec<Told<Payload, Digest>>,
        fx: &mut E,
    ) {
        match it {
            Told::Block => {
                fx.notify(Notice::Blocked);
                let ok = Input::Ask(Ask::BlockOk(self.state));
                let lift = &mut Lift::<'_, C, Self, E>::new(fx, told);
                self.views.on_command(ok, lift).expect("it was told to block");
            }
            Told::Deliver(entry) => {
                self.state = ledger(self.state, &entry.payload);
                let (from, number, payload) = (entry.from, entry.number, entry.payload);
                fx.notify(Notice::Delivered { from, number, payload });
            }
            Told::Installed { install, went_on } => {
                if !went_on {
                    self.state = transferred(&install);
                }
                fx.notify(Notice::View { view: install.view, state: self.state });
            }
            Told::Out { .. } => {
                self.state = Digest(0);
                fx.notify(Notice::Out);
            }
        }
    }
}

/// The transferred state of a member that goes on, and the messages that it has delivered since;
/// empty if there is no such member.
fn transferred(install: &Install<Payload, Digest>) -> Digest {
    let Some(info) = install.infos.first() else { return Digest(0) };
    let rest = install.after(info.upto).iter();
    rest.fold(info.info, |state, entry| ledger(state, &entry.payload))
}

impl<C: HasViews> Protocol for Replica<C> {
    type Message = C::Message;
    type Timer = C::Timer;
    type Command = Input<Command>;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, lift| views.on_start(lift));
    }

    fn on_command(
        &mut self,
        command: Input<Command>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        let command = match command {
            Input::Ask(Command::Join) => Input::Ask(Ask::Join),
            Input::Ask(Command::Leave) => Input::Ask(Ask::Leave),
            Input::Ask(Command::Multicast(payload)) => {
                payload.check()?;
                Input::Ask(Ask::Multicast(payload))
            }
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::Beat => Input::Beat,
        };
        self.below(fx, |views, lift| views.on_command(command, lift))
    }

    fn on_message(&mut self, from: NodeId, message: C::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, lift| views.on_message(from, message, lift));
    }

    fn on_timer(&mut self, timer: C::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, lift| views.on_timer(timer, lift));
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.below(fx, |views, lift| views.on_restart(lift));
    }

    /// The replica is the digest of what it was told.
    fn state(&self) -> NodeState {
        self.views.state().with("replica", self.state.shown())
    }

    fn group_view(&self) -> Option<GroupView> {
        self.views.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.views.group_health()
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.views.store(serializer)
    }

    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(Self { views: self.views.restore(stored)?, ..self })
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { views: self.views.after_crash(fresh.views), ..fresh }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(Self { views: self.views.without_memory(life)?, ..self })
    }
}
