//! What faults do to events in flight: some are lost, some wait, some happen late or twice.

use vorrang_erased::Messages;
use vorrang_protocol::{Data, Monitor, NodeId};
use vorrang_trace::{Fault as Noted, Loss, Meter, What};

use super::{Envelope, LetterOf, NodeOf, Scheduled, Upcoming, UpcomingOf, Waiting, World};
use crate::fault_injector::{Condition, FaultInjector};
use crate::queue::Key;
use crate::time::later_ns;
use crate::{Pending, Recorder, Workload};

impl<M, W, R> World<M, W, R>
where
    M: Monitor<Command: Data, Notice: Data>,
    W: Workload<M::Command, M::Notice>,
    R: Recorder<NodeOf<M>>,
{
    /// Lets an event happen, if the state of the node and the network allows it; else it waits, or
    /// is dropped.
    #[cold]
    pub(crate) fn let_through(
        &mut self,
        key: Key,
        at: NodeId,
        event: UpcomingOf<M, W>,
        messages: &mut dyn Messages,
    ) -> Option<UpcomingOf<M, W>> {
        let Some(injector) = self.faults.as_deref() else { return Some(event) };
        let number = key.number;
        let lost = match (&event, injector.condition(at)) {
            (Upcoming::Message(letter), _) if injector.was_cut(number, letter.from, at) => {
                Some(Loss::Partition)
            }
            // A message in flight may reach another incarnation of its receiver.
            (Upcoming::Message(_), Condition::Down) => Some(Loss::Down),
            // The plans of the application were lost in the crash.
            (Upcoming::Command(_), Condition::Down) => return None,
            (Upcoming::Command(_), _) if number < injector.born[at.index()] => return None,
            // A crash cancels all timers.
            (Upcoming::Timer(_), Condition::Down) | (_, Condition::Up | Condition::Still) => None,
        };
        if let Some(why) = lost {
            self.now_ns = key.at_ns;
            self.lose(number, at, event, why, messages);
            return None;
        }
        if injector.condition(at) == Condition::Still {
            self.waiting.push((key, Scheduled { node: at, event }));
            return None;
        }
        Some(event)
    }

    /// Events that have waited for a node, in the order of arrival.
    pub(crate) fn take_waiting(&mut self, at: NodeId) -> Waiting<M, W> {
        self.waiting.extract_if(.., |(_, it)| it.node == at).collect()
    }

    /// A message comes to nothing. Anything else was nothing to begin with.
    pub(crate) fn lose(
        &mut self,
        number: u64,
        to: NodeId,
        event: UpcomingOf<M, W>,
        why: Loss,
        messages: &mut dyn Messages,
    ) {
        let Upcoming::Message(Envelope { from, past, message, .. }) = event else { return };
        messages.drop_one(message);
        let Some(injector) = self.faults.as_deref_mut() else { return };
        let count = match why {
            Loss::Network | Loss::NoLink => &mut injector.counts.lost,
            Loss::Partition => &mut injector.counts.cut_off,
            Loss::Down => &mut injector.counts.to_the_dead,
        };
        *count += 1;
        let seq = injector.sent_as(number);
        self.meter.on_lost(self.now_ns, past);
        self.record(from, || What::Lost { to, seq, why });
    }

    /// The number that the message of event `number` was sent with, where some arrive twice.
    #[cold]
    pub(crate) fn sent_as(&mut self, number: u64) -> u64 {
        self.faults.as_mut().map_or(number, |injector| injector.sent_as(number))
    }

    /// Sends a message where some do not arrive, some do twice, and some late.
    #[cold]
    pub(crate) fn send_badly(
        &mut self,
        to: NodeId,
        letter: LetterOf<M, W>,
        messages: &mut dyn Messages,
    ) {
        let (seq, from, sent_ns) = (self.queue.next_number(), letter.from, self.now_ns);
        let way = self.travel(to, &letter, messages, |injector| injector.link_loses(sent_ns));
        let in_ns = way.map_or_else(|| self.draw_latency(from, to), |way| way.takes_ns);
        let Self { faults: Some(injector), links, now_ns, .. } = self else { return };
        let now_ns = *now_ns;
        let slowed_ns = injector.slowed_ns(in_ns, from, to);
        let mut arrival_ns = links.arrival_after_ns(now_ns, slowed_ns, from, to);
        let is_cut = injector.is_cut(from, to);
        let fate = injector.fate(seq, now_ns, way.map(|way| way.is_lost));
        if is_cut || fate.is_lost {
            self.queue.skip();
            let why = if is_cut { Loss::Partition } else { Loss::Network };
            return self.lose(seq, to, Upcoming::Message(letter), why, messages);
        }
        let mut late_ns = slowed_ns - in_ns;
        injector.counts.slowed += u64::from(late_ns > 0);
        if fate.is_overtaken {
            // Later than the link says, which does not wait for it.
            injector.counts.reordered += 1;
            late_ns = late_ns.saturating_add(injector.plan.late_ns);
            arrival_ns = arrival_ns.and_then(|at_ns| later_ns(at_ns, injector.plan.late_ns));
        }
        let second = fate.is_doubled.then(|| {
            injector.counts.duplicated += 1;
            match way {
                Some(way) => links.arrival_after_ns(now_ns, way.takes_ns, from, to),
                None => links.arrival_ns(now_ns, from, to, &mut injector.duplicates),
            }
        });
        if late_ns > 0 {
            self.record(from, || What::Fault(Noted::Delayed { to, seq, by_ns: late_ns }));
        }
        let pending = Pending::Message { from };
        let copy = second.and_then(|at_ns| {
            self.record(from, || What::Doubled { to, seq });
            let past = self.meter.on_duplicate(&letter.past);
            let (message, tag) = (letter.message, letter.tag.clone());
            let at_ns = self.in_time(to, pending, at_ns)?;
            messages.duplicate(message);
            Some((at_ns, Envelope { from, message, past, tag }))
        });
        let Some(at_ns) = self.in_time(to, pending, arrival_ns) else { return };
        self.schedule(at_ns, to, Upcoming::Message(letter));
        if let Some((at_ns, copy)) = copy {
            let number = self.queue.next_number();
            self.schedule(at_ns, to, Upcoming::Message(copy));
            if let Some(injector) = &mut self.faults {
                injector.copies.insert(number, seq);
            }
        }
    }

    /// Whether the run gets nowhere any more, though something always happens. Asked once in a
    /// while: it is a matter of very many events.
    #[cold]
    pub(crate) fn is_stuck(&mut self) -> bool {
        const EVERY: u64 = 1 << 10;
        let Some(injector) = self.faults.as_deref_mut() else { return false };
        if self.end_ns != u64::MAX {
            // It has an end anyway.
            return false;
        }
        let FaultInjector { patience, script, .. } = injector;
        if self.events.is_multiple_of(EVERY) {
            patience.look(self.meter.progress(), self.events, !script.is_empty());
        }
        patience.is_over
    }
}
