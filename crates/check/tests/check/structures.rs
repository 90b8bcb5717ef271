//! Sanders' algorithm: how many messages every run takes, from the least to the most.

use crate::support;

use std::num::NonZeroUsize;

use support::{group, mutex};
use vorrang_algorithms::mutex::sanders::{self, Sanders};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Bounds, Order, Outcome, explore};
use vorrang_protocol::{Monitor, NodeId, Violation};

/// Counts the messages that have arrived, and objects to counts that it is told of when everybody
/// has left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Count {
    /// How many have yet to leave.
    to_leave: u32,
    arrived: u32,
    objects: Objects,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Objects {
    ViewLayer(u32),
    Above(u32),
    At(u32),
}

impl Monitor for Count {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, command: &Command) -> Result<(), Violation> {
        self.to_leave -= u32::from(*command == Command::Release);
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &Notice) -> Result<(), Violation> {
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        let is_wrong = match self.objects {
            Objects::ViewLayer(least) => self.arrived < least,
            Objects::Above(most) => self.arrived > most,
            Objects::At(count) => self.arrived == count,
        };
        if is_wrong && self.to_leave == 0 {
            return Err(Violation { property: "count", what: self.arrived.to_string() });
        }
        Ok(())
    }
    fn on_send(&self, _: NodeId) {}
    fn on_receive(&mut self, _: NodeId, (): &()) {
        self.arrived += 1;
    }
}

/// Whether there is a run to whose end the monitor objects.
fn is_met(structure: &str, entries: &[u32], objects: Objects) -> bool {
    let setup = Setup { structure: structure.parse().unwrap(), ..Setup::new(group(entries)) };
    let node = sanders::recipe().nodes(&setup).unwrap();
    let count = Count { to_leave: entries.iter().sum(), arrived: 0, objects };
    let system = mutex::<Sanders, _>(entries, Order::Fifo, count, |id| node(id));
    match explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {}).outcome {
        Outcome::Verified => false,
        Outcome::Violated { violation, .. } if violation.property == "count" => true,
        other => panic!("{other:?}"),
    }
}

/// The figures of the literature's example, and of others that were counted elsewhere.
#[test]
fn runs_take_as_many_messages_as_they_should() {
    const EXAMPLE: &str = "sets:0-1/0,0-1/1,0-1-2,0-1-3";
    let cases: [(&str, &[u32], u32, u32); 7] = [
        (EXAMPLE, &[1, 0, 0, 0], 2, 2),
        (EXAMPLE, &[0, 0, 1, 0], 6, 6),
        (EXAMPLE, &[1, 1, 0, 0], 4, 5),
        (EXAMPLE, &[1, 0, 1, 0], 8, 12),
        (EXAMPLE, &[0, 0, 1, 1], 12, 16),
        ("sets:0-1,1-2,0-2", &[1, 1, 0], 6, 6),
        ("sets:0-1,1-2,0-2", &[1, 1, 1], 9, 11),
    ];
    for (structure, entries, least, most) in cases {
        let is_met = |objects| is_met(structure, entries, objects);
        assert!(is_met(Objects::At(least)), "{structure} {entries:?}: never {least}");
        assert!(is_met(Objects::At(most)), "{structure} {entries:?}: never {most}");
        assert!(!is_met(Objects::ViewLayer(least)), "{structure} {entries:?}: below {least}");
        assert!(!is_met(Objects::Above(most)), "{structure} {entries:?}: above {most}");
    }
}
