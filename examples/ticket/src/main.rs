//! Your own algorithm, checked: a walk through everything that it takes.
//!
//! In a shop, node 0 hands out numbered tickets, and the other nodes are customers. What must hold:
//! no two customers ever have the same number, and whoever asks gets one.
//!
//! ```text
//!   1 (customer)  ──PLEASE──┐          ┌──►[ has ticket 0 ]──THANKS──┐
//!   0 (clerk)     ──────────▼──TICKET(0)─────────────────────────────▼──►
//! ```
//!
//! Run it with `cargo run -p ticket`. To begin something like it elsewhere, take two dependencies:
//! `vorrang` (with the feature `check`, which is on by default) and `serde` (with `derive`).
//!
//! **1. Say what nodes say.** [`Say`] is the message: plain data with a name for each kind, shown
//! as people write it. What the application asks for ([`Take`]) and is told ([`Got`]) are plain
//! data, too. All of it derives the same traits; the compiler asks for any that is missing.
//!
//! **2. Write the node as a state machine.** [`Node`] holds what decides its future and nothing
//! else. Its [`Protocol`] has a handler for each thing that can happen to it: a command, a message,
//! and, where it has any, a timer or a restart. A handler changes the node and calls
//! [`Effects`]: `send`, `notify`, `set_timer`, `choose`. No clock, no sockets, no randomness: equal
//! nodes that are told equal things must do equal things.
//!
//! **3. Say what must hold.** [`Numbers`] is a [`Monitor`]. It sees the commands and the notices,
//! never the messages, so it knows nothing of how tickets are handed out, and would judge any other
//! way to do so as well. It objects when something wrong happens (`on_notice`), and when
//! nothing more can happen and somebody still waits (`at_rest`).
//!
//! **4. Close the system.** A [`System`] is the nodes, the plan (here: every customer takes a
//! ticket, and waits until it has one), the monitor, the links, and what may go wrong. Small is
//! enough: two customers already do everything that a hundred would do to each other in pairs.
//!
//! **5. Explore it.** [`explore`] follows every order in which commands can be given and messages
//! can arrive. It ends in one of three ways: verified, and then there is no run that the monitor
//! objects to; violated, with a shortest run; or bounded, if you have set bounds and they were hit,
//! which is no verdict.
//!
//! **6. Doubt it.** A specification that never objects proves nothing. So plant a mistake that you
//! believe to be one. Here the clerk of [`Habit::CountsWhenThanked`] goes on to the next number
//! only when the customer has said thanks, so that no number is wasted on one who has left. It
//! is right in every test in which customers come one by one. The checker says:
//!
//! ```text
//! counts when thanked: unique: node 2 got ticket 0, which node 1 has
//!   take 1
//!   take 2
//!   deliver 1->0 PLEASE
//!   deliver 0->1 TICKET(0)
//!   deliver 2->0 PLEASE
//!   deliver 0->2 TICKET(0)
//! ```
//!
//! Read it as a story: the second customer is served while the first one's thanks are on their way.
//! A shortest run has no step that does not matter. `main` and the tests below do just this.
//!
//! From here: let messages be lost, or nodes crash, with `Faults`; give `Links` a bound, and
//! time-outs mean something; let the same [`Node`] run in `vorrang::sim` or over `vorrang::net`,
//! without a change.
#![forbid(unsafe_code)]

use std::fmt;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use vorrang::check::{Ask, Bounds, Order, Outcome, Plan, Report, System, explore};
use vorrang::protocol::{
    Effects, Message, Monitor, Never, NodeId, NodeState, Protocol, Refused, Violation,
};

/// What nodes say to each other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Say {
    Please,
    Ticket(u32),
    Thanks,
}

impl Message for Say {
    const KINDS: &'static [&'static str] = &["PLEASE", "TICKET", "THANKS"];

    fn kind(&self) -> usize {
        match self {
            Self::Please => 0,
            Self::Ticket(_) => 1,
            Self::Thanks => 2,
        }
    }
}

impl fmt::Display for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ticket(number) => write!(f, "{}({number})", self.kind_name()),
            Self::Please | Self::Thanks => f.write_str(self.kind_name()),
        }
    }
}

/// What a customer's application asks for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Take;

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("take")
    }
}

/// What it is told: the number on its ticket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Got(u32);

const CLERK: NodeId = NodeId(0);

/// One node: the clerk, or a customer, who has nothing to remember.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    habit: Habit,
    /// The number of the next ticket.
    next: u32,
}

/// When a clerk goes on to the next number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Habit {
    CountsAtOnce,
    /// The mistake.
    CountsWhenThanked,
}

impl Protocol for Node {
    type Message = Say;
    type Timer = Never;
    type Command = Take;
    type Notice = Got;

    fn on_command(&mut self, Take: Take, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        fx.send(CLERK, Say::Please);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Say, fx: &mut impl Effects<Self>) {
        match message {
            Say::Please => {
                fx.send(from, Say::Ticket(self.next));
                self.next += u32::from(self.habit == Habit::CountsAtOnce);
            }
            Say::Ticket(number) => {
                fx.notify(Got(number));
                fx.send(from, Say::Thanks);
            }
            Say::Thanks => self.next += u32::from(self.habit == Habit::CountsWhenThanked),
        }
    }

    /// What a person is shown of it.
    fn state(&self) -> NodeState {
        NodeState::new().with("next ticket", self.next)
    }
}

/// What must hold: every number is given once, and whoever asks gets one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Numbers {
    waiting: Vec<NodeId>,
    /// Who has which, in the order in which they got them.
    given: Vec<(u32, NodeId)>,
}

impl Monitor for Numbers {
    type Command = Take;
    type Notice = Got;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, Take: &Take) -> Result<(), Violation> {
        self.waiting.push(at);
        // What is equal must look equal, or states are told apart for nothing.
        self.waiting.sort_unstable();
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Got(number): &Got) -> Result<(), Violation> {
        if let Some((_, other)) = self.given.iter().find(|(given, _)| given == number) {
            let what = format!("node {at} got ticket {number}, which node {other} has");
            return Err(Violation { property: "unique", what });
        }
        self.waiting.retain(|&it| it != at);
        self.given.push((*number, at));
        self.given.sort_unstable();
        Ok(())
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting.first() {
            None => Ok(()),
            Some(at) => {
                let what = format!("node {at} asked and never got a ticket");
                Err(Violation { property: "served", what })
            }
        }
    }
}

/// A clerk and so many customers, each of whom takes one ticket.
fn shop(habit: Habit, customers: usize) -> System<Node, Numbers> {
    let takes = vec![Ask::then_wait(Take)];
    let lists = [vec![]].into_iter().chain(std::iter::repeat_n(takes, customers));
    let nodes = vec![Node { habit, next: 0 }; 1 + customers];
    System::new(nodes, Plan::PerNode(lists.collect()), Numbers::default()).links(Order::Any)
}

fn check(system: &System<Node, Numbers>) -> Report<Node> {
    explore(system, &Bounds::default(), NonZeroUsize::MIN, |_| {})
}

/// What came of it, for people.
fn tell(name: &str, report: &Report<Node>) -> String {
    match &report.outcome {
        Outcome::Verified => format!("{name}: verified, {} states\n", report.states),
        Outcome::Violated { violation, run } => {
            let moves = run.moves.iter().map(|it| format!("  {it}\n"));
            moves.fold(format!("{name}: {violation}\n"), |text, it| text + &it)
        }
        Outcome::Bounded { by } => format!("{name}: no verdict, bounded by {by:?}\n"),
    }
}

fn main() -> ExitCode {
    let right = check(&shop(Habit::CountsAtOnce, 3));
    let wrong = check(&shop(Habit::CountsWhenThanked, 2));
    print!("{}", tell("counts at once", &right));
    print!("{}", tell("counts when thanked", &wrong));
    let is_as_told =
        right.outcome == Outcome::Verified && matches!(wrong.outcome, Outcome::Violated { .. });
    if is_as_told { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use vorrang::check::explore_after;
    use vorrang::trace::Stage;

    use super::*;

    impl FromStr for Take {
        type Err = String;
        fn from_str(text: &str) -> Result<Self, String> {
            if text == "take" { Ok(Self) } else { Err(format!("'{text}' is not 'take'")) }
        }
    }

    impl fmt::Display for Got {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "got {}", self.0)
        }
    }

    #[test]
    fn a_clerk_who_counts_at_once_gives_every_number_once() {
        for customers in 0..=3 {
            assert_eq!(check(&shop(Habit::CountsAtOnce, customers)).outcome, Outcome::Verified);
        }
    }

    /// There are several shortest runs, so the walk may show another than the checker does.
    #[test]
    fn the_mistake_is_found_as_the_walk_shows() {
        let shop = shop(Habit::CountsWhenThanked, 2);
        let mut walk = include_str!("main.rs")
            .lines()
            .skip_while(|line| !line.starts_with("//! counts when thanked: "))
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!").trim().to_owned());
        let told = walk.next().unwrap();
        let mut stage = Stage::new(shop.nodes.iter().cloned(), shop.monitor.clone());
        for step in walk {
            stage.step(&step).unwrap();
        }
        let (before, bounds) = (stage.prefix(), Bounds::default());
        let walked = explore_after(&shop, before, &bounds, NonZeroUsize::MIN, &mut |_| {});
        let Outcome::Violated { violation, run } = walked.unwrap().0.outcome else {
            panic!("the walk leads nowhere");
        };
        assert_eq!(format!("counts when thanked: {violation}"), told);
        assert_eq!(run.moves, [], "nothing is left to do");
        let Outcome::Violated { run, .. } = check(&shop).outcome else { panic!("not found") };
        assert_eq!(run.moves.len(), before.steps.len(), "no run is shorter");
    }

    #[test]
    fn one_customer_alone_does_not_show_it() {
        assert_eq!(check(&shop(Habit::CountsWhenThanked, 1)).outcome, Outcome::Verified);
    }

    #[test]
    fn whoever_waits_for_ever_is_told() {
        let mut lossy = shop(Habit::CountsAtOnce, 1);
        lossy.faults.losses = 1;
        let Outcome::Violated { violation, run } = check(&lossy).outcome else {
            panic!("a lost PLEASE is never answered");
        };
        assert_eq!((violation.property, run.moves.len()), ("served", 2));
    }
}
