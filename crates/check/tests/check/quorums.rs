//! What entries cost with locks of quorums, exactly: the cheapest and the dearest of all runs.

use crate::support;

use support::{explore_all, group, mutex};
use vorrang_algorithms::mutex::cao_singhal;
use vorrang_algorithms::mutex::maekawa::Maekawa;
use vorrang_algorithms::mutex::majority_votes::MajorityVotes;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{Recipe, of_group, of_quorums};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Order, Outcome};
use vorrang_protocol::{Monitor, NodeId, Protocol, Violation};

/// Counts the messages of a run, and objects at its end unless there were so many.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Cost {
    low: u32,
    high: u32,
    /// How many have yet to enter.
    to_enter: u32,
    messages: u32,
}

impl Monitor for Cost {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, notice: &Notice) -> Result<(), Violation> {
        self.to_enter -= u32::from(notice.is_entry());
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        let is_over = self.to_enter == 0;
        if (is_over && self.messages < self.low) || self.messages > self.high {
            let what = format!("{} messages", self.messages);
            return Err(Violation { property: "cost", what });
        }
        Ok(())
    }
    fn on_receive(&mut self, _: NodeId, (): &()) {
        self.messages += 1;
    }
}

/// All runs in which nodes make so many requests each cost between `low` and `high`, and some cost
/// just that.
fn cost<P>(recipe: &Recipe<P>, quorum: &str, entries: &[u32], low: u32, high: u32)
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let setup = Setup { quorum: quorum.parse().unwrap(), ..Setup::new(group(entries)) };
    let node = recipe.nodes(&setup).unwrap();
    let outcome = |low, high| {
        let cost = Cost { low, high, to_enter: entries.iter().sum(), messages: 0 };
        let system = mutex(entries, Order::Fifo, (Exclusion::default(), cost), |id| node(id));
        explore_all(&system).outcome
    };
    assert_eq!(outcome(low, high), Outcome::Verified, "{quorum} {entries:?}");
    for (low, high) in [(low + 1, high), (low, high - 1)] {
        let narrower = outcome(low, high);
        let Outcome::Violated { violation, .. } = narrower else { panic!("{narrower:?}") };
        assert_eq!(violation.property, "cost", "{quorum} {entries:?}");
    }
}

const RING: &str = "sets:0-1,1-2,0-2";
const TWO_DESKS: &str = "sets:3-4,3-4,3-4,3-4,3-4";
/// The plane of the lectures, with nodes counted from 0.
const PLANE: &str = "sets:0-1-2-3,1-4-7-10,2-5-7-12,3-5-9-10,0-4-5-6,1-5-8-11,1-6-9-12,0-7-8-9,\
                     2-6-8-10,2-4-9-11,0-10-11-12,3-6-7-11,3-4-8-12";

#[test]
fn every_run_costs_as_much_as_was_found_elsewhere_and_some_cost_just_that() {
    for (quorum, entries, low, high) in [
        (RING, &[1, 0, 0][..], 3, 3),
        (RING, &[1, 1, 0], 6, 6),
        (RING, &[1, 1, 1], 9, 11),
        (TWO_DESKS, &[1, 1, 1, 0, 0], 18, 28),
        ("sets:4-5,4-5,4-5,4-5,4-5,4-5", &[1, 1, 1, 1, 0, 0], 24, 40),
        (PLANE, &[0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0], 27, 32),
        ("grid", &[1, 1, 1, 1], 24, 36),
    ] {
        cost(&of_quorums(Maekawa::new), quorum, entries, low, high);
    }
}

/// Permissions that are handed on: TRANSFER besides, and no way home between two entries.
#[test]
fn what_permissions_cost_that_are_handed_on_was_found_elsewhere_as_well() {
    for (entries, low, high) in
        [(&[1, 0, 0, 0, 0][..], 6, 6), (&[1, 1, 0, 0, 0], 12, 17), (&[1, 1, 1, 0, 0], 18, 33)]
    {
        cost(&cao_singhal::recipe(), TWO_DESKS, entries, low, high);
    }
}

/// Votes that are given back, and requests that are over before they are answered.
#[test]
fn a_majority_of_votes_costs_between_what_is_asked_and_twice_as_much() {
    for (entries, low, high) in [
        (&[1, 0, 0][..], 6, 6),
        (&[2, 2], 12, 12),
        (&[1, 1, 0], 11, 15),
        (&[1, 1, 1], 16, 24),
        (&[1, 1, 0, 0], 17, 24),
    ] {
        cost(&of_group(MajorityVotes::new), "all", entries, low, high);
    }
}
