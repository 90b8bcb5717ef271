//! The same monitors that watch the simulator and the checker, over a recorded run.

use std::collections::BTreeMap;

use vorrang_protocol::{Monitor, NodeId, Protocol, Violation};

use crate::record::{Record, What};

/// What the monitors say of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// Every objection, with the place of the record that caused it.
    pub violations: Vec<(usize, Violation)>,
    /// Messages that were sent and never received: the run was cut off, or they were lost.
    pub in_flight: usize,
    /// What was still owed at the end, whatever was in flight.
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
pub fn judge<'a, P, M>(records: impl IntoIterator<Item = &'a Record<P>>, mut monitor: M) -> Verdict
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut verdict = Verdict::default();
    let mut tags: BTreeMap<(NodeId, NodeId, u64), M::Tag> = BTreeMap::new();
    for (place, Record { node, what, .. }) in records.into_iter().enumerate() {
        let objection = match what {
            What::Command(command) => monitor.on_command(*node, command),
            What::Notice(notice) => monitor.on_notice(*node, notice),
            What::Send { to, seq, .. } => {
                tags.insert((*node, *to, *seq), monitor.on_send(*node));
                Ok(())
            }
            What::Receive { from, seq, .. } => {
                if let Some(tag) = tags.remove(&(*from, *node, *seq)) {
                    monitor.on_receive(*node, &tag);
                }
                Ok(())
            }
            What::Lost { to, seq } => {
                tags.remove(&(*node, *to, *seq));
                Ok(())
            }
            What::Crash => {
                monitor.on_crash(*node);
                Ok(())
            }
            What::Restart => {
                monitor.on_restart(*node);
                Ok(())
            }
            What::Timer(_) => Ok(()),
        };
        if let Err(violation) = objection {
            verdict.violations.push((place, violation));
        }
    }
    verdict.in_flight = tags.len();
    verdict.owed = monitor.at_rest().err();
    verdict.at_rest = verdict.owed.clone().filter(|_| verdict.in_flight == 0);
    verdict
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
}
