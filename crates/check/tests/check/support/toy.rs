//! Nodes that do as they are told, and a monitor that hears all that they say.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_check::{Ask, Demands, Faults, Order, Plan, System};
use vorrang_protocol::{Delay, Effects, Monitor, NodeId, Protocol, Refused, Violation};

/// What a toy is told to do, at once or when a message says so.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Do {
    /// Sends this to that node.
    Send(NodeId, Box<Do>),
    /// Tells the application.
    Say(char),
    /// Keeps a letter in memory.
    Keep(char),
    /// Keeps a letter where a crash does not reach it.
    Write(char),
    /// Tosses a coin of so many sides twice, and tells of both tosses.
    Toss(NonZeroU32),
    /// Arms a timer that may take from so many to so many milliseconds.
    Arm(char, u64, u64),
    Disarm(char),
    Refuse,
    All(Vec<Do>),
}
pub(crate) use Do::{All, Arm, Disarm, Keep, Refuse, Say, Send, Toss, Write};

impl std::fmt::Display for Do {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("do")
    }
}

impl vorrang_protocol::Message for Do {
    const KINDS: &'static [&'static str] = &["DO"];
    fn kind(&self) -> usize {
        0
    }
}

/// A node that does as it is told, and says when a timer runs out, and what it remembers when it
/// comes up again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Toy {
    pub(crate) on_start: Option<Do>,
    kept: String,
    disk: String,
}

impl Toy {
    fn obey(&mut self, order: Do, fx: &mut impl Effects<Self>) {
        match order {
            Send(to, what) => fx.send(to, *what),
            Say(letter) => fx.notify(letter),
            Keep(letter) => self.kept.push(letter),
            Write(letter) => self.disk.push(letter),
            Toss(sides) => {
                for _ in 0..2 {
                    let side = fx.choose(sides);
                    fx.notify(char::from_digit(side, 10).unwrap());
                }
            }
            Arm(timer, min, max) => {
                let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
                fx.set_timer(timer, Delay::between(min, max));
            }
            Disarm(timer) => fx.cancel_timer(timer),
            Refuse => unreachable!("refused before it is obeyed"),
            All(orders) => orders.into_iter().for_each(|it| self.obey(it, fx)),
        }
    }
}

impl Protocol for Toy {
    type Message = Do;
    type Timer = char;
    type Command = Do;
    type Notice = char;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(order) = self.on_start.take() {
            self.obey(order, fx);
        }
    }
    fn on_command(&mut self, order: Do, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        if order == Refuse {
            return Err(Refused("not in the mood"));
        }
        self.obey(order, fx);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, order: Do, fx: &mut impl Effects<Self>) {
        self.obey(order, fx);
    }
    fn on_timer(&mut self, timer: char, fx: &mut impl Effects<Self>) {
        fx.notify(timer);
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.kept.chars().chain(self.disk.chars()).for_each(|letter| fx.notify(letter));
    }
    fn after_crash(&self, fresh: Self) -> Self {
        Self { disk: self.disk.clone(), ..fresh }
    }
}

/// Remembers all that was said, with `!0` where node 0 crashed and `?0` where it came up again, and
/// objects to a text, when it is said or at rest.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Hears {
    pub(crate) text: String,
    never: Option<&'static str>,
    never_at_rest: Option<&'static str>,
    /// So many commands must have been given before rest is judged.
    patience: u32,
}

impl Hears {
    pub(crate) fn never(text: &'static str) -> Self {
        Self { never: Some(text), ..Self::default() }
    }
    pub(crate) fn never_at_rest(text: &'static str) -> Self {
        Self { never_at_rest: Some(text), ..Self::default() }
    }
    /// The same, once so many commands have been given.
    pub(crate) fn never_at_rest_after(commands: u32, text: &'static str) -> Self {
        Self { patience: commands, ..Self::never_at_rest(text) }
    }
    fn judge(&self, never: Option<&str>) -> Result<(), Violation> {
        if never == Some(self.text.as_str()) {
            let what = self.text.clone();
            return Err(Violation { property: "silence", what });
        }
        Ok(())
    }
}

impl Monitor for Hears {
    type Command = Do;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, command: &Do) -> Result<(), Violation> {
        self.patience = self.patience.saturating_sub(1);
        if let Say(letter) = command {
            self.text.extend(letter.to_uppercase());
        }
        self.judge(self.never)
    }
    fn on_notice(&mut self, _: NodeId, notice: &char) -> Result<(), Violation> {
        self.text.push(*notice);
        self.judge(self.never)
    }
    fn at_rest(&self) -> Result<(), Violation> {
        if self.patience > 0 { Ok(()) } else { self.judge(self.never_at_rest) }
    }
    fn on_crash(&mut self, at: NodeId) {
        self.text += &format!("!{at}");
    }
    fn on_restart(&mut self, at: NodeId) {
        self.text += &format!("?{at}");
    }
}

pub(crate) fn toys(plan: Plan<Do>, monitor: Hears, order: Order) -> System<Toy, Hears> {
    let nodes = vec![Toy::default(), Toy::default()];
    System {
        nodes,
        plan,
        monitor,
        links: order.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    }
}

/// Node 0 is told to do this, node 1 that.
pub(crate) fn each(zero: &[Do], one: &[Do]) -> Plan<Do> {
    let list = |orders: &[Do]| orders.iter().cloned().map(Ask::at_once).collect();
    Plan::PerNode(vec![list(zero), list(one)])
}

pub(crate) fn to_one(what: Do) -> Do {
    Send(NodeId(1), Box::new(what))
}
