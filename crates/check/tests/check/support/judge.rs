//! A monitor that does what a table says, and tables drawn by lot.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use vorrang_protocol::{Monitor, NodeId, Obligation, Violation};

use super::puppet::Dice;

/// A monitor that does what a table says.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) state: u8,
    pub(crate) law: Arc<Law>,
}

/// The next states by what is seen; whoever comes to the last one objects.
#[derive(Debug)]
pub(crate) struct Law {
    states: u8,
    /// By state and notice.
    notices: Vec<[u8; 4]>,
    commands: Vec<u8>,
    crashes: Vec<u8>,
    restarts: Vec<u8>,
    /// By state, if the message was tagged.
    receipts: Vec<u8>,
    tags: Vec<bool>,
    /// Whether a system may be left like that.
    may_rest: Vec<bool>,
    /// Whether something is owed.
    owes: Vec<bool>,
}

impl Law {
    /// A law that so many of a hundred changes violate.
    pub(crate) fn draw(dice: &mut Dice, severity: u64) -> Arc<Self> {
        let states = 2 + dice.small(3);
        let mut next = |state: u8| match dice.percent(severity) {
            true => states,
            false if dice.percent(50) => state,
            false => dice.small(states),
        };
        let mut each = || (0..states).map(&mut next).collect::<Vec<u8>>();
        let [a, b, c, d, commands] = [each(), each(), each(), each(), each()];
        let calm = |all: Vec<u8>| all.into_iter().map(|it| it % states).collect();
        let (crashes, restarts, receipts) = (calm(each()), calm(each()), calm(each()));
        let place = |state: u8| usize::from(state);
        let notices = |state| [&a, &b, &c, &d].map(|all| all[place(state)]);
        Arc::new(Self {
            states,
            notices: (0..states).map(notices).collect(),
            commands,
            crashes,
            restarts,
            receipts,
            tags: (0..states).map(|_| dice.percent(50)).collect(),
            may_rest: (0..states).map(|_| !dice.percent(severity)).collect(),
            owes: (0..states).map(|_| dice.percent(5 + severity)).collect(),
        })
    }
}

impl Judge {
    fn turn(&mut self, next: u8, property: &'static str) -> Result<(), Violation> {
        if next == self.law.states {
            return Err(Violation { property, what: format!("in state {}", self.state) });
        }
        self.state = next;
        Ok(())
    }

    fn place(&self) -> usize {
        usize::from(self.state)
    }
}

impl PartialEq for Judge {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for Judge {}

impl Hash for Judge {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl Monitor for Judge {
    type Command = u8;
    type Notice = u8;
    type Tag = u8;
    fn on_command(&mut self, _: NodeId, _: &u8) -> Result<(), Violation> {
        self.turn(self.law.commands[self.place()], "command")
    }
    fn on_notice(&mut self, _: NodeId, notice: &u8) -> Result<(), Violation> {
        self.turn(self.law.notices[self.place()][usize::from(*notice)], "notice")
    }
    fn at_rest(&self) -> Result<(), Violation> {
        let violation = Violation { property: "rest", what: format!("in state {}", self.state) };
        if self.law.may_rest[self.place()] { Ok(()) } else { Err(violation) }
    }
    fn obligations(&self) -> Vec<Obligation> {
        let debt = Obligation { to: NodeId(0), property: "debt" };
        if self.law.owes[self.place()] { vec![debt] } else { Vec::new() }
    }
    fn on_crash(&mut self, _: NodeId) {
        self.state = self.law.crashes[self.place()];
    }
    fn on_restart(&mut self, _: NodeId) {
        self.state = self.law.restarts[self.place()];
    }
    fn on_send(&self, _: NodeId) -> u8 {
        u8::from(self.law.tags[self.place()])
    }
    fn on_receive(&mut self, _: NodeId, tag: &u8) {
        if *tag == 1 {
            self.state = self.law.receipts[self.place()];
        }
    }
}
