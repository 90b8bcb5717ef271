//! Every handler of every algorithm, run twice from equal states, gives equal states and effects.

use crate::support;

use std::cell::RefCell;

use support::{ONE, group, mutex};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_catalogue::{Catalogued as _, Entry};
use vorrang_check::{Bounds, Order, Outcome, Plan, explore};
use vorrang_protocol::{Effect, Effects, Event, NodeId, Outbox, Protocol, Refused};

/// A node that does everything twice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Twice<P>(P);

impl<P: Protocol> Twice<P> {
    fn twice(&mut self, event: Event<P>, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let mut again = self.0.clone();
        let made = RefCell::new(Vec::new());
        let mut first = Outbox::new(|bound| {
            let choice = fx.choose(bound);
            made.borrow_mut().push(choice);
            choice
        });
        let result = self.0.handle(event.clone(), &mut first);
        let effects = first.take();
        let mut answers = made.into_inner().into_iter();
        let mut second = Outbox::new(|_| answers.next().expect("as many choices"));
        assert_eq!(again.handle(event, &mut second), result);
        assert_eq!((&again, second.take()), (&self.0, effects.clone()));
        for effect in effects {
            match effect {
                Effect::Send { to, message } => fx.send(to, message),
                Effect::SetTimer { timer, delay } => fx.set_timer(timer, delay),
                Effect::CancelTimer(timer) => fx.cancel_timer(timer),
                Effect::Notify(notice) => fx.notify(notice),
            }
        }
        result
    }
}

impl<P: Protocol> Protocol for Twice<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let _ = self.twice(Event::Start, fx);
    }
    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        self.twice(Event::Command(command), fx)
    }
    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let _ = self.twice(Event::Message { from, message }, fx);
    }
    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        let _ = self.twice(Event::Timer(timer), fx);
    }
}

fn explore_twice(entry: &Entry<Mutex>) {
    let (card, entries) = (entry.card, &[1, 1, 1]);
    let setup = card.setup(group(entries));
    let (monitor, node) = (card.exclusion(&setup), entry.recipe.nodes(&setup).expect(card.name));
    let mut plain = mutex(entries, Order::Fifo, monitor.clone(), |id| node(id));
    let mut twice = mutex(entries, Order::Fifo, monitor, |id| Twice(node(id)));
    let asks = Command::Acquire(card.terms.claims[0]);
    plain.plan = Plan::turns(entries, &asks, &Command::Release);
    twice.plan = plain.plan.clone();
    // Where messages are late, what probes others may do so without end.
    let most = card.assumes.timely.then_some(20_000);
    let bounds = Bounds::NONE.states(most);
    let plain = explore(&plain, &bounds, ONE, |_| {});
    let twice = explore(&twice, &bounds, ONE, |_| {});
    // What stands one request at a time gets stuck here, and what needs messages to be in time
    // goes wrong or does not come to an end, in the same way both times.
    let is_fine = matches!(twice.outcome, Outcome::Verified);
    let assumes_more = card.assumes.one_at_a_time || card.assumes.timely;
    assert_eq!(is_fine, !assumes_more, "{}: {:?}", card.name, twice.outcome);
    assert_eq!((twice.states, twice.steps), (plain.states, plain.steps), "{}", card.name);
}

#[test]
fn every_handler_run_twice_from_equal_states_does_the_same() {
    for entry in Mutex::entries().iter().filter(|entry| entry.flaw.is_none()) {
        explore_twice(entry);
    }
}
