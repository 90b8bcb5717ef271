//! The mistakes that people make with many locks in one group.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use super::NamedLocks;
use super::command::Command;
use super::table::Place;
use crate::clock::Clock;
use crate::flaw::Mistake;
use crate::group::input::Input;
use crate::group::locks::Exclusive;

/// The messages of a member.
type Messages<P> = <NamedLocks<P> as Protocol>::Message;

/// A member forgets a name as soon as it is idle here, though others may use it and what they say
/// is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IdleForgotten;

impl IdleForgotten {
    fn forget<P: Exclusive>(node: &mut NamedLocks<P>) {
        let table = &mut node.inner;
        table.entries.retain(|key, _| table.busy.contains(key));
    }
}

impl<P: Exclusive> Mistake<NamedLocks<P>> for IdleForgotten {
    fn on_command(
        self,
        node: &mut NamedLocks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) -> Result<(), Refused> {
        let done = node.on_command(command, fx);
        Self::forget(node);
        done
    }
    fn on_message(
        self,
        node: &mut NamedLocks<P>,
        from: NodeId,
        message: Messages<P>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) {
        node.on_message(from, message, fx);
        Self::forget(node);
    }
}

/// A client that gets a lock from another of the same member gets its token, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenHandedOn;

impl<P: Exclusive> Mistake<NamedLocks<P>> for TokenHandedOn {
    fn on_command(
        self,
        node: &mut NamedLocks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) -> Result<(), Refused> {
        let (now, most) = (node.clock.now(), node.inner.limits.batch.clients);
        let hands_on = match &command {
            Input::Ask(Command::Release { key, .. } | Command::Withdraw { key, .. }) => {
                match node.inner.entries.get(key).map(|it| &it.place) {
                    Some(Place::Lock(clients)) => clients.has_next(most),
                    Some(Place::Semaphore(_)) | None => false,
                }
            }
            Input::Ask(_) | Input::Suspect(_) | Input::Trust(_) | Input::Beat => false,
        };
        if hands_on {
            node.clock = Clock::at(now.saturating_sub(1));
        }
        let done = node.on_command(command, fx);
        node.clock.witness(now);
        done
    }
}

/// Clients of one member have a lock one after the other, however many they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchUnbounded;

impl<P: Exclusive> Mistake<NamedLocks<P>> for BatchUnbounded {
    fn on_command(
        self,
        node: &mut NamedLocks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) -> Result<(), Refused> {
        for entry in node.inner.entries.values_mut() {
            if let Place::Lock(clients) = &mut entry.place {
                clients.served = clients.served.min(1);
            }
        }
        node.on_command(command, fx)
    }
}

/// A group that is founded anew does not wait for the leases of the one before: as if all that its
/// founders have forgotten had ended with them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RestartSkipsWait;

impl RestartSkipsWait {
    fn skip<P: Exclusive>(
        node: &mut NamedLocks<P>,
        before: u64,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) {
        if before == 0
            && let Some(current) = &mut node.current
        {
            current.is_early = false;
            node.enter(fx);
        }
    }
}

impl<P: Exclusive> Mistake<NamedLocks<P>> for RestartSkipsWait {
    fn on_command(
        self,
        node: &mut NamedLocks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) -> Result<(), Refused> {
        let before = node.view();
        let done = node.on_command(command, fx);
        Self::skip(node, before, fx);
        done
    }
    fn on_message(
        self,
        node: &mut NamedLocks<P>,
        from: NodeId,
        message: Messages<P>,
        fx: &mut impl Effects<NamedLocks<P>>,
    ) {
        let before = node.view();
        node.on_message(from, message, fx);
        Self::skip(node, before, fx);
    }
}
