//! Who lives in a node: the machine and its application, as the node's task sees them.
//!
//! The task itself knows neither messages nor commands, only bytes and boxes, and is compiled once;
//! a hop takes microseconds, so a call through a table of functions is not noticed.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::time::Instant;
use vorrang_protocol::{Delay, Effects, Message, NodeId, Protocol, Refused};
use vorrang_trace::What;

use crate::application::{Application, ApplicationEffects, Later};
use crate::recorder::Tape;
use crate::timers::{Timers, deadline};
use crate::wire::WireError;

/// A command whose type the task does not know.
pub(crate) type AnyCommand = Box<dyn Any + Send>;

/// How many local events (commands of the application, messages to self) a turn handles before it
/// lets other tasks run.
const LOCAL_EVENTS_A_TURN: usize = 256;

/// The machine and its application.
pub(crate) trait Resident: Send {
    /// The node starts.
    fn start(&mut self, post: &mut dyn Post);
    /// Somebody outside asks for something.
    fn command(&mut self, command: AnyCommand, post: &mut dyn Post) -> Result<(), Refused>;
    /// Reads a message, to be handled next. False if it cannot be read.
    fn read(&mut self, message: &[u8]) -> bool;
    /// Handles the message that was read last.
    fn receive(&mut self, from: NodeId, seq: u64, post: &mut dyn Post);
    /// Passes on notices, carries out what the application asks, and delivers messages to self,
    /// until nothing is left. False if it stopped before, to let others run.
    fn settle(&mut self, acts: bool, post: &mut dyn Post) -> bool;
    /// When a timer runs out, or the application wants to be woken.
    fn next_deadline(&self) -> Option<Instant>;
    /// Handles what has run out.
    fn handle_timers(&mut self, now: Instant, post: &mut dyn Post);
    /// Forgets what it had in mind.
    fn stop_acting(&mut self);
    /// Hands over what was recorded, and says what the machine did that cannot be done.
    fn end_turn(&mut self) -> Option<String>;
    /// Messages sent and handled, by kind, and the machine as it shows itself.
    fn status(&self) -> (ByKind, ByKind, String);
}

pub(crate) type ByKind = Vec<(&'static str, u64)>;

/// Takes messages to other nodes.
pub(crate) trait Post {
    /// Queues a message and says its number; none if the peer is gone.
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError>;
}

/// A machine and its application while their types are known.
pub(crate) struct Household<P: Protocol, A> {
    machine: P,
    application: A,
    inside: Inside<P>,
    fx: ApplicationEffects<P>,
    /// Commands of the application that wait for the machine.
    asked: VecDeque<P::Command>,
    later: Timers<(u64, Later<P::Command>)>,
    later_so_far: u64,
    incoming: Option<P::Message>,
}

/// All that the machine's effects act on, but the links.
struct Inside<P: Protocol> {
    me: NodeId,
    nodes: usize,
    /// What we sent ourselves, to be handled before anything else.
    to_self: VecDeque<(u64, P::Message)>,
    sent_to_self: u64,
    timers: Timers<P::Timer>,
    rng: Xoshiro256PlusPlus,
    notices: VecDeque<P::Notice>,
    tape: Option<Tape<P>>,
    sent: Vec<u64>,
    received: Vec<u64>,
    failure: Option<String>,
    /// A message as bytes, in room that is used again.
    bytes: Vec<u8>,
}

impl<P: Protocol, A: Application<P>> Household<P, A> {
    pub(crate) fn new(
        machine: P,
        application: A,
        me: NodeId,
        nodes: usize,
        rng: Xoshiro256PlusPlus,
        tape: Option<Tape<P>>,
    ) -> Self {
        let kinds = P::Message::KINDS.len();
        let inside = Inside {
            me,
            nodes,
            to_self: VecDeque::new(),
            sent_to_self: 0,
            timers: Timers::new(),
            rng,
            notices: VecDeque::new(),
            tape,
            sent: vec![0; kinds],
            received: vec![0; kinds],
            failure: None,
            bytes: Vec::new(),
        };
        Self {
            machine,
            application,
            inside,
            fx: ApplicationEffects::new(),
            asked: VecDeque::new(),
            later: Timers::new(),
            later_so_far: 0,
            incoming: None,
        }
    }

    fn obey(&mut self, command: P::Command, post: &mut dyn Post) -> Result<(), Refused> {
        // Stamped before its effects can leave, and taken back if there are none.
        self.inside.begin(|| What::Command(command.clone()));
        let outcome = self.machine.on_command(command, &mut self.inside.sink(post));
        if outcome.is_err()
            && let Some(tape) = &mut self.inside.tape
        {
            tape.take_back();
        }
        outcome
    }

    fn handle(&mut self, from: NodeId, seq: u64, message: P::Message, post: &mut dyn Post) {
        self.inside.begin(|| What::Receive { from, seq, message: message.clone() });
        self.machine.on_message(from, message, &mut self.inside.sink(post));
    }

    fn take_wishes(&mut self) {
        self.asked.extend(self.fx.commands.drain(..));
        for (delay, later) in self.fx.later.drain(..) {
            self.later_so_far += 1;
            self.later.set((self.later_so_far, later), deadline(delay));
        }
    }
}

impl<P: Protocol, A: Application<P>> Resident for Household<P, A> {
    fn start(&mut self, post: &mut dyn Post) {
        if let Some(tape) = &mut self.inside.tape {
            tape.stamp();
        }
        self.machine.on_start(&mut self.inside.sink(post));
        self.application.on_start(&mut self.fx);
        self.take_wishes();
    }

    fn command(&mut self, command: AnyCommand, post: &mut dyn Post) -> Result<(), Refused> {
        let command = command.downcast().expect("a handle gives commands of its machine's type");
        self.obey(*command, post)
    }

    fn read(&mut self, message: &[u8]) -> bool {
        self.incoming = match postcard::take_from_bytes(message) {
            Ok((message, [])) => Some(message),
            Ok(_) | Err(_) => None,
        };
        self.incoming.is_some()
    }

    fn receive(&mut self, from: NodeId, seq: u64, post: &mut dyn Post) {
        if let Some(message) = self.incoming.take() {
            self.inside.received[message.kind()] += 1;
            self.handle(from, seq, message, post);
        }
    }

    fn settle(&mut self, acts: bool, post: &mut dyn Post) -> bool {
        for _ in 0..LOCAL_EVENTS_A_TURN {
            if let Some(notice) = self.inside.notices.pop_front() {
                self.application.on_notice(notice, &mut self.fx);
                self.take_wishes();
            } else if !acts {
                return true;
            } else if let Some((seq, message)) = self.inside.to_self.pop_front() {
                self.handle(self.inside.me, seq, message, post);
            } else if let Some(command) = self.asked.pop_front() {
                if let Err(refused) = self.obey(command, post) {
                    self.application.on_refused(refused, &mut self.fx);
                    self.take_wishes();
                }
            } else {
                return true;
            }
        }
        false
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.inside.timers.next(), self.later.next()].into_iter().flatten().min()
    }

    fn handle_timers(&mut self, now: Instant, post: &mut dyn Post) {
        while let Some(timer) = self.inside.timers.pop_due(now) {
            self.inside.begin(|| What::Timer(timer));
            self.machine.on_timer(timer, &mut self.inside.sink(post));
            self.settle(true, post);
        }
        while let Some((_, later)) = self.later.pop_due(now) {
            match later {
                Later::Wake => {
                    self.application.on_wake(&mut self.fx);
                    self.take_wishes();
                }
                Later::Command(command) => self.asked.push_back(command),
            }
            self.settle(true, post);
        }
    }

    fn stop_acting(&mut self) {
        self.inside.timers.clear();
        self.later.clear();
        self.asked.clear();
        self.inside.to_self.clear();
    }

    fn end_turn(&mut self) -> Option<String> {
        if let Some(tape) = &mut self.inside.tape {
            tape.hand_over();
        }
        self.inside.failure.take()
    }

    fn status(&self) -> (ByKind, ByKind, String) {
        let by_kind =
            |counts: &[u64]| P::Message::KINDS.iter().copied().zip(counts.to_vec()).collect();
        let Inside { sent, received, .. } = &self.inside;
        (by_kind(sent), by_kind(received), format!("{:?}", self.machine))
    }
}

impl<P: Protocol> Inside<P> {
    const fn sink<'a>(&'a mut self, post: &'a mut dyn Post) -> Sink<'a, P> {
        Sink { inside: self, post }
    }

    /// The next event begins.
    fn begin(&mut self, what: impl FnOnce() -> What<P>) {
        if let Some(tape) = &mut self.tape {
            tape.stamp();
            tape.push(what());
        }
    }

    fn record(&mut self, what: impl FnOnce() -> What<P>) {
        if let Some(tape) = &mut self.tape {
            tape.push(what());
        }
    }

    fn draw(&mut self, delay: Delay) -> Duration {
        let span = delay.max.saturating_sub(delay.min).as_nanos();
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        let drawn = below(self.rng.next_u64(), span.saturating_add(1));
        delay.min.saturating_add(Duration::from_nanos(drawn))
    }
}

/// A random word as a number below `bound`.
fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

/// What the machine does.
struct Sink<'a, P: Protocol> {
    inside: &'a mut Inside<P>,
    post: &'a mut dyn Post,
}

impl<P: Protocol> Effects<P> for Sink<'_, P> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let Self { inside, post } = self;
        if to == inside.me {
            let seq = inside.sent_to_self;
            inside.sent_to_self += 1;
            inside.to_self.push_back((seq, message.clone()));
            inside.record(|| What::Send { to, seq, message });
            return;
        }
        if to.index() >= inside.nodes {
            inside.failure = Some(format!("it sent to node {to}, which is not in its group"));
            return;
        }
        let mut bytes = std::mem::take(&mut inside.bytes);
        bytes.clear();
        let sent = match postcard::to_extend(&message, bytes) {
            Ok(bytes) => {
                let sent = post.send(to, &bytes);
                inside.bytes = bytes;
                sent
            }
            Err(error) => Err(WireError::Encode(error)),
        };
        match sent {
            Ok(Some(seq)) => {
                inside.sent[message.kind()] += 1;
                inside.record(|| What::Send { to, seq, message });
            }
            Ok(None) => {}
            Err(error) => inside.failure = Some(format!("it cannot send to node {to}: {error}")),
        }
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let at = deadline(self.inside.draw(delay));
        self.inside.timers.set(timer, at);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.inside.timers.cancel(&timer);
    }

    fn notify(&mut self, notice: P::Notice) {
        self.inside.record(|| What::Notice(notice.clone()));
        self.inside.notices.push_back(notice);
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        below(self.inside.rng.next_u64(), u64::from(bound.get())) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_draw_is_below_its_bound(word: u64, bound in 1_u64..) {
            prop_assert!(below(word, bound) < bound);
        }
    }
}
