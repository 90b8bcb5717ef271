//! What the application asks for.

use vorrang_protocol::{Effects, Group, NodeId, Outbox, Refused};

use super::{Application, Exclusive, Locks};
use crate::mutex::{ALREADY_INSIDE, ALREADY_WAITING, Command, NOT_INSIDE};

impl<P: Exclusive> Locks<P> {
    /// The application asks for something.
    pub(super) fn on_ask(
        &mut self,
        command: Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        match (command, self.application) {
            (Command::Acquire(claim), Application::Outside | Application::Evicted) => {
                // A claim that the algorithm does not grant is refused by any of its nodes.
                let mut any = self.anew.node(NodeId(0), Group::of(1));
                any.on_command(command, &mut Outbox::default())?;
                self.application = Application::Waits { claim, since: self.clock.now() };
                self.ask(fx);
            }
            (Command::Release, Application::Inside(_)) => {
                self.application = Application::Outside;
                self.release(fx);
            }
            (Command::Release, Application::Evicted) => self.application = Application::Outside,
            (Command::Acquire(_), Application::Waits { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Application::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Application::Outside | Application::Waits { .. }) => {
                return Err(NOT_INSIDE);
            }
        }
        Ok(())
    }
}
