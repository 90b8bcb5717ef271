//! The failure detector: [heartbeats](super::detecting), or commands.
//!
//! A running group uses heartbeats. In checks and stepped runs commands suspect and trust nodes:
//! every output of a failure detector, right or wrong and at any moment, can be tried.

use core::fmt;

use serde::{Deserializer, Serializer};
use vorrang_protocol::{
    Data, Effects, Group, GroupHealth, GroupView, NodeId, NodeState, Protocol, Refused, Relay,
};

use super::detecting::{Detecting, Through, Timer};
use super::input::Input;
use super::message::Beat;
use crate::setup::{Detector, Setup};

/// One node: a machine, and what it lives on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Informed<P> {
    /// A detector of its own.
    ByHeartbeats(Detecting<P>),
    /// Its state.
    ByOthers {
        /// Who it is.
        me: NodeId,
        /// The universe of nodes.
        group: Group,
        /// The machine.
        machine: P,
    },
}

/// To say by hand what heartbeats say.
pub const HEARTBEATS_SAY_IT: Refused =
    Refused("cannot be told who is down: heartbeats say so; --detector told does without them");
/// A command to suspect or trust an unknown node, or oneself.
pub const NOBODY_ELSE: Refused = Refused("cannot suspect or trust: that is no other node");

impl<P> Informed<P> {
    /// A machine, informed as the set-up says.
    pub fn new(me: NodeId, setup: &Setup, machine: P) -> Self {
        match setup.detector {
            Detector::Heartbeats => Self::ByHeartbeats(Detecting::new(me, setup, machine)),
            Detector::Told => Self::ByOthers { me, group: setup.group, machine },
        }
    }
}

/// As without this around it.
impl<P: fmt::Debug> fmt::Debug for Informed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByHeartbeats(node) => node.fmt(f),
            Self::ByOthers { machine, .. } => machine.fmt(f),
        }
    }
}

impl<C, P> Protocol for Informed<P>
where
    C: Data,
    P: Protocol<Command = Input<C>, Message: Beat>,
{
    type Message = P::Message;
    type Timer = Timer<P::Timer>;
    type Command = Input<C>;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let mut fx = Relay::<Self, _, _>::new(fx);
        match self {
            Self::ByHeartbeats(node) => node.on_start(&mut fx),
            Self::ByOthers { machine, .. } => machine.on_start(&mut Through::new(&mut fx)),
        }
    }

    fn on_command(
        &mut self,
        command: Input<C>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let mut fx = Relay::<Self, _, _>::new(fx);
        match (self, command) {
            (Self::ByHeartbeats(node), Input::Ask(command)) => node.on_command(command, &mut fx),
            (Self::ByHeartbeats(_), Input::Suspect(_) | Input::Trust(_) | Input::Beat) => {
                Err(HEARTBEATS_SAY_IT)
            }
            (Self::ByOthers { me, group, .. }, Input::Suspect(of) | Input::Trust(of))
                if of == *me || !group.contains(of) =>
            {
                Err(NOBODY_ELSE)
            }
            (Self::ByOthers { machine, .. }, command) => {
                machine.on_command(command, &mut Through::new(&mut fx))
            }
        }
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let mut fx = Relay::<Self, _, _>::new(fx);
        match self {
            Self::ByHeartbeats(node) => node.on_message(from, message, &mut fx),
            Self::ByOthers { machine, .. } => {
                machine.on_message(from, message, &mut Through::new(&mut fx));
            }
        }
    }

    fn on_timer(&mut self, timer: Timer<P::Timer>, fx: &mut impl Effects<Self>) {
        let mut fx = Relay::<Self, _, _>::new(fx);
        match (self, timer) {
            (Self::ByHeartbeats(node), timer) => node.on_timer(timer, &mut fx),
            (Self::ByOthers { machine, .. }, Timer::Above(timer)) => {
                machine.on_timer(timer, &mut Through::new(&mut fx));
            }
            // It is never set.
            (Self::ByOthers { .. }, Timer::Heartbeat(_)) => {}
        }
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let mut fx = Relay::<Self, _, _>::new(fx);
        match self {
            Self::ByHeartbeats(node) => node.on_restart(&mut fx),
            Self::ByOthers { machine, .. } => machine.on_restart(&mut Through::new(&mut fx)),
        }
    }

    fn state(&self) -> NodeState {
        match self {
            Self::ByHeartbeats(node) => node.state(),
            Self::ByOthers { machine, .. } => machine.state(),
        }
    }

    fn group_view(&self) -> Option<GroupView> {
        match self {
            Self::ByHeartbeats(node) => node.group_view(),
            Self::ByOthers { machine, .. } => machine.group_view(),
        }
    }

    fn group_health(&self) -> Option<GroupHealth> {
        match self {
            Self::ByHeartbeats(node) => node.group_health(),
            Self::ByOthers { machine, .. } => machine.group_health(),
        }
    }

    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::ByHeartbeats(node) => node.store(serializer),
            Self::ByOthers { machine, .. } => machine.store(serializer),
        }
    }

    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        Ok(match self {
            Self::ByHeartbeats(node) => Self::ByHeartbeats(node.restore(stored)?),
            Self::ByOthers { me, group, machine } => {
                Self::ByOthers { me, group, machine: machine.restore(stored)? }
            }
        })
    }

    fn after_crash(&self, fresh: Self) -> Self {
        match (self, fresh) {
            (Self::ByHeartbeats(node), Self::ByHeartbeats(fresh)) => {
                Self::ByHeartbeats(node.after_crash(fresh))
            }
            (Self::ByOthers { machine, .. }, Self::ByOthers { me, group, machine: fresh }) => {
                Self::ByOthers { me, group, machine: machine.after_crash(fresh) }
            }
            // A node is informed in one way in all its lives.
            (_, fresh) => fresh,
        }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(match self {
            Self::ByHeartbeats(node) => Self::ByHeartbeats(node.without_memory(life)?),
            Self::ByOthers { me, group, machine } => {
                Self::ByOthers { me, group, machine: machine.without_memory(life)? }
            }
        })
    }
}
