//! The card of a group communication algorithm.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::Order;

use super::input::Input;
use super::spec::WithSuspicions;
use super::{Command, GroupCommunication};
use crate::card::Quantity;
use crate::setup::Setup;

/// An algorithm's card.
pub type Card = crate::card::Card<GroupCommunication>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<GroupCommunication>;

/// The card of a group communication algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long after the last fault all that can hear each other are in one view with all
    /// messages, if the time-outs have not been lengthened by mistakes.
    pub settles: fn(&Setup) -> Duration,
    /// The kinds of messages that are heartbeats.
    pub beats: &'static [&'static str],
}

impl Card {
    /// The monitor of its promises.
    pub fn watch(&self, setup: &Setup) -> WithSuspicions {
        WithSuspicions::of(setup)
    }
}

/// Messages without heartbeats.
pub const MESSAGES: Quantity = Quantity::number("messages_counted", "messages");
/// From when an application multicasts until another is told, on average.
pub const LATENCY: Quantity = Quantity::time("latency_mean", "latency");
/// From when the first member stops until the last has begun the next view, if no member is
/// suspected meanwhile.
pub const CHANGE: Quantity = Quantity::time("change_mean", "view change");

/// The parameters of the theory: all nodes are members, and the only event is that one leaves.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// How many messages the lowest node multicasts.
    pub by_sequencer: u32,
    /// How many the others do.
    pub by_others: u32,
    /// Whether it is the lowest node that goes.
    pub lowest_goes: bool,
}

/// The commands of a check at each node, in this order, as text: nodes are separated by `/`, the
/// commands of one by `,`, and words by `:`, as in `suspect:1/multicast:7,leave/join`.
///
/// # Errors
///
/// If something is no command.
pub fn plan(text: &str) -> Result<Vec<Vec<Input<Command>>>, String> {
    let command = |it: &str| it.replace(':', " ").parse();
    let of_node = |list: &str| {
        let commands = list.split(',').map(str::trim).filter(|it| !it.is_empty());
        commands.map(command).collect()
    };
    text.split('/').map(of_node).collect()
}

/// The same, as it is typed.
pub fn plan_text(plan: &[Vec<Input<Command>>]) -> String {
    let of_node = |list: &Vec<Input<Command>>| {
        let words: Vec<String> = list.iter().map(|it| it.to_string().replace(' ', ":")).collect();
        words.join(",")
    };
    plan.iter().map(of_node).collect::<Vec<String>>().join("/")
}

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes have founded the group.
    pub founders: u32,
    /// The commands at each node: see [`plan`].
    pub plan: &'static str,
    /// How many of them may crash.
    pub crashes: u8,
    /// How many of those may come up again.
    pub restarts: u8,
    /// Whether messages between two nodes may overtake each other.
    pub order: Order,
}

impl Demonstration {
    /// A group founded by so many, at whose nodes this may happen.
    pub const fn of(founders: u32, plan: &'static str) -> Self {
        Self { founders, plan, crashes: 0, restarts: 0, order: Order::Any }
    }

    /// The same, with so many crashes and restarts.
    #[must_use]
    pub const fn crashing(self, crashes: u8, restarts: u8) -> Self {
        Self { crashes, restarts, ..self }
    }

    /// The same, with messages that keep their order.
    #[must_use]
    pub const fn in_order(self) -> Self {
        Self { order: Order::Fifo, ..self }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.plan.split('/').count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let text = "suspect:1,trust:1/multicast:7,leave//beat,join";
        let read = plan(text).expect("a plan");
        assert_eq!(read.len(), 4);
        assert_eq!(read[1], [Command::Multicast(7.into()), Command::Leave].map(Input::Ask));
        assert_eq!(plan_text(&read), text);
        assert!(plan("suspect:x").unwrap_err().contains("'x' is not the number of a node"));
        assert!(plan("join/enter").unwrap_err().contains("unknown command 'enter'"));
    }
}
