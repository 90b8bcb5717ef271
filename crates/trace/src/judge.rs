//! The same monitors that watch the simulator and the checker, over a recorded run.

use std::collections::BTreeMap;

use vorrang_protocol::{Monitor, NodeId, Protocol, Violation};

use crate::fault::Fault;
use crate::record::{Record, What};

/// The verdict of the monitors on a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Verdict {
    /// Every objection, with the place of the record that caused it.
    pub violations: Vec<(usize, Violation)>,
    /// Messages that were sent and never received: the run was cut off, or they were lost.
    pub in_flight: usize,
    /// The liveness violation at the end, ignoring messages in flight.
    pub owed: Option<Violation>,
    /// The same, if nothing was in flight any more.
    pub at_rest: Option<Violation>,
}

impl Verdict {
    /// Nothing was ever wrong.
    pub fn is_safe(&self) -> bool {
        self.violations.is_empty()
    }

    /// The run came to an end and nothing was left owed.
    pub fn is_quiescent(&self) -> bool {
        self.in_flight == 0 && self.at_rest.is_none()
    }

    /// How many objections there were to one property.
    pub fn count(&self, property: &str) -> u64 {
        self.violations.iter().filter(|(_, violation)| violation.property == property).count()
            as u64
    }
}

/// Shows a run to a monitor, record by record.
///
/// The records must be in an order that respects cause. A receipt without its sending (a trace of
/// one node only) carries no tag.
pub fn judge<'a, P, M>(records: impl IntoIterator<Item = &'a Record<P>>, monitor: M) -> Verdict
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut judge = Judge { monitor, flight: BTreeMap::new(), verdict: Verdict::default() };
    for (place, Record { node, what, .. }) in records.into_iter().enumerate() {
        let seen = match what {
            What::Command(command) => Seen::Command(command),
            What::Notice(notice) => Seen::Notice(notice),
            What::Send { to, seq, .. } => Seen::Send { to: *to, seq: *seq },
            What::Receive { from, seq, .. } => Seen::Receive { from: *from, seq: *seq },
            What::Lost { to, seq, .. } => Seen::Lost { to: *to, seq: *seq },
            What::Doubled { to, seq } => Seen::Doubled { to: *to, seq: *seq },
            What::Crash => Seen::Crash,
            What::Restart => Seen::Restart,
            What::Fault(Fault::Partition { sides }) => Seen::Cut(sides),
            What::Fault(Fault::Heal { sides }) => Seen::Heal(sides),
            What::Fault(Fault::Cut { from, to, both_ways }) => {
                Seen::Link { ends: (*from, *to), both_ways: *both_ways, is_cut: true }
            }
            What::Fault(Fault::Mend { from, to, both_ways }) => {
                Seen::Link { ends: (*from, *to), both_ways: *both_ways, is_cut: false }
            }
            What::Timer(_)
            | What::Choice(_)
            | What::Fault(
                Fault::Pause
                | Fault::Resume
                | Fault::Delayed { .. }
                | Fault::Slow { .. }
                | Fault::Recover { .. },
            ) => continue,
        };
        judge.see(place, *node, &seen);
    }
    judge.end()
}

/// As much of a record as a monitor sees.
enum Seen<'a, C, N> {
    Command(&'a C),
    Notice(&'a N),
    Send { to: NodeId, seq: u64 },
    Receive { from: NodeId, seq: u64 },
    Lost { to: NodeId, seq: u64 },
    Doubled { to: NodeId, seq: u64 },
    Crash,
    Restart,
    Cut(&'a [Vec<NodeId>]),
    Heal(&'a [Vec<NodeId>]),
    Link { ends: (NodeId, NodeId), both_ways: bool, is_cut: bool },
}

/// A monitor at work. It knows no algorithm, so it is compiled once and not for each.
struct Judge<M: Monitor> {
    monitor: M,
    /// The messages in flight, with their tags and how often they will still arrive.
    flight: BTreeMap<(NodeId, NodeId, u64), (M::Tag, u32)>,
    verdict: Verdict,
}

impl<M: Monitor> Judge<M> {
    fn see(&mut self, place: usize, node: NodeId, seen: &Seen<'_, M::Command, M::Notice>) {
        let Self { monitor, flight, .. } = self;
        let objection = match *seen {
            Seen::Command(command) => monitor.on_command(node, command),
            Seen::Notice(notice) => monitor.on_notice(node, notice),
            Seen::Send { to, seq } => {
                flight.insert((node, to, seq), (monitor.on_send(node), 1));
                Ok(())
            }
            Seen::Receive { from, seq } => {
                if let Some(tag) = take_one(flight, &(from, node, seq)) {
                    monitor.on_receive(node, &tag);
                }
                Ok(())
            }
            Seen::Lost { to, seq } => {
                take_one(flight, &(node, to, seq));
                Ok(())
            }
            Seen::Doubled { to, seq } => {
                if let Some((_, times)) = flight.get_mut(&(node, to, seq)) {
                    *times += 1;
                }
                Ok(())
            }
            Seen::Crash => {
                monitor.on_crash(node);
                Ok(())
            }
            Seen::Restart => {
                monitor.on_restart(node);
                Ok(())
            }
            Seen::Cut(sides) => {
                monitor.on_cut(sides);
                Ok(())
            }
            Seen::Heal(sides) => {
                monitor.on_heal(sides);
                Ok(())
            }
            Seen::Link { ends, both_ways, is_cut } => {
                let back = both_ways.then_some((ends.1, ends.0));
                for (from, to) in [ends].into_iter().chain(back) {
                    if is_cut {
                        monitor.on_link_cut(from, to);
                    } else {
                        monitor.on_link_mended(from, to);
                    }
                }
                Ok(())
            }
        };
        if let Err(violation) = objection {
            self.verdict.violations.push((place, violation));
        }
    }

    fn end(self) -> Verdict {
        let mut verdict = self.verdict;
        verdict.in_flight = self.flight.len();
        verdict.owed = self.monitor.at_rest().err();
        verdict.at_rest = verdict.owed.clone().filter(|_| verdict.in_flight == 0);
        verdict
    }
}

/// Removes a message that arrives or never will, and returns its tag.
fn take_one<K: Ord, T: Clone>(flight: &mut BTreeMap<K, (T, u32)>, key: &K) -> Option<T> {
    match flight.get_mut(key)? {
        (tag, times) if *times > 1 => {
            *times -= 1;
            Some(tag.clone())
        }
        _ => flight.remove(key).map(|(tag, _)| tag),
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{Message, RicartAgrawala};
    use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};

    use super::*;

    type Happened = What<RicartAgrawala>;
    const ASK: Happened = What::Command(Command::Acquire(Claim::Exclusive));
    const LEAVE: Happened = What::Command(Command::Release);
    const ENTER: Happened = What::Notice(Notice::Entered);
    const MESSAGE: Message = Message::Request { time: 1 };

    fn run(happened: &[(u32, Happened)]) -> Vec<Record<RicartAgrawala>> {
        let record = |(node, what): &(u32, Happened)| Record {
            at_ns: 0,
            node: NodeId(*node),
            what: what.clone(),
        };
        happened.iter().map(record).collect()
    }

    #[test]
    fn a_clean_run_is_safe_and_quiescent() {
        let run = run(&[(0, ASK), (0, ENTER), (0, LEAVE), (1, ASK), (1, ENTER), (1, LEAVE)]);
        let verdict = judge(&run, Exclusion::default());
        assert!(verdict.is_safe() && verdict.is_quiescent());
    }

    #[test]
    fn an_overlap_is_found_with_its_place() {
        let run = run(&[(0, ASK), (1, ASK), (0, ENTER), (1, ENTER)]);
        let verdict = judge(&run, Exclusion::default());
        assert_eq!(verdict.violations[0].0, 3);
        assert_eq!(verdict.count("exclusion"), 1);
    }

    #[test]
    fn a_run_that_was_cut_off_is_not_blamed_for_who_waits() {
        let sent = What::Send { to: NodeId(1), seq: 0, message: MESSAGE };
        let cut = run(&[(0, ASK), (0, sent)]);
        let verdict = judge(&cut, Exclusion::default());
        assert_eq!((verdict.in_flight, &verdict.at_rest), (1, &None));
        assert!(verdict.owed.is_some(), "but it is said");
        assert!(!verdict.is_quiescent());

        let starved = run(&[(0, ASK)]);
        assert!(judge(&starved, Exclusion::default()).at_rest.is_some());
    }

    #[test]
    fn cause_is_followed_from_sending_to_receipt() {
        let sent = What::Send { to: NodeId(1), seq: 0, message: MESSAGE };
        let received = What::Receive { from: NodeId(0), seq: 0, message: MESSAGE };
        let run = run(&[(0, ASK), (0, sent), (1, received), (1, ASK), (1, ENTER), (0, ENTER)]);
        assert_eq!(judge(&run, HappenedBefore::default()).count("ordering"), 1);
    }

    #[test]
    fn a_message_that_was_doubled_is_under_way_until_both_have_arrived() {
        let (to, from, seq) = (NodeId(1), NodeId(0), 0);
        let sent = (0, What::Send { to, seq, message: MESSAGE });
        let doubled = (0, What::Doubled { to, seq });
        let received = (1, What::Receive { from, seq, message: MESSAGE });
        let all = run(&[sent, doubled, received.clone(), received]);
        let under_way = |upto: usize| judge(&all[..upto], Exclusion::default()).in_flight;
        assert_eq!([1, 2, 3, 4].map(under_way), [1, 1, 1, 0]);
    }
}
