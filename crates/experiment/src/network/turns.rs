//! The application inside a node: takes turns by itself, or one whenever it is told to.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_net::{Application, ApplicationEffects};
use vorrang_protocol::{NodeId, Refused};
use vorrang_sim::{Distribution, Random};

use super::News;
use crate::options::mutex::LoadKind;
use crate::problem::mutex::Scenario;

/// Asks, stays, leaves, and asks again as often as it is to.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) node: NodeId,
    /// Turns still to be taken without being told.
    pub(super) left: u64,
    /// Whether it is told when to take the first.
    pub(super) waits: bool,
    pub(super) claims: &'static [Claim],
    pub(super) think: Distribution,
    pub(super) hold: Distribution,
    pub(super) random: Random,
    /// Whether it tells of every entry.
    pub(super) tells_entries: bool,
    pub(super) news: UnboundedSender<News>,
}

impl Turns {
    fn ask(&mut self, fx: &mut ApplicationEffects<Command>) {
        self.left -= 1;
        let claim = self.claims[self.random.below(self.claims.len() as u64) as usize];
        let think = Duration::from_nanos(self.think.draw(&mut self.random));
        fx.command_after(think, Command::Acquire(claim));
    }

    fn leave(&mut self, fx: &mut ApplicationEffects<Command>) {
        fx.command(Command::Release);
        if self.left > 0 {
            self.ask(fx);
        } else {
            self.tell(News::Done(self.node));
        }
    }

    fn tell(&self, news: News) {
        // The receiver is gone: then the run is over.
        let _ = self.news.send(news);
    }
}

impl Application for Turns {
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Command>) {
        if self.left > 0 && !self.waits {
            self.ask(fx);
        }
    }

    fn on_notice(&mut self, notice: Notice, fx: &mut ApplicationEffects<Command>) {
        match notice {
            // One that was put out says so when it wanted to leave anyway.
            Notice::Evicted | Notice::View { .. } => {}
            Notice::Entered | Notice::EnteredAs(_) => {
                if self.tells_entries {
                    self.tell(News::Entered(self.node));
                }
                let hold = Duration::from_nanos(self.hold.draw(&mut self.random));
                if hold.is_zero() { self.leave(fx) } else { fx.wake_after(hold) }
            }
        }
    }

    fn on_wake(&mut self, fx: &mut ApplicationEffects<Command>) {
        self.leave(fx);
    }

    fn on_refused(&mut self, refused: Refused, _: &mut ApplicationEffects<Command>) {
        self.tell(News::Failed(self.node, refused.to_string()));
    }
}

/// How many turns each node takes by itself: under heavy load its share, as in the simulator,
/// otherwise none.
pub(super) fn quota(scenario: &Scenario, node: NodeId) -> u64 {
    match scenario.load {
        LoadKind::Heavy => scenario.asking().share(scenario.entries, node, scenario.nodes()),
        LoadKind::Light | LoadKind::Burst => 0,
    }
}

/// One of the claims that the algorithm grants.
pub(super) fn acquire(scenario: &Scenario, random: &mut Random) -> Command {
    let claims = scenario.card.terms.claims;
    Command::Acquire(claims[random.below(claims.len() as u64) as usize])
}
