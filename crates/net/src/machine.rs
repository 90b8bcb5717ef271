//! The machine as its node sees it: all that is compiled for every algorithm.
//!
//! Messages become bytes and timers become numbers here, and nothing else happens: code that does
//! not need the algorithm's own types belongs into [`resident`](crate::resident), which is compiled
//! once for every problem, or into the driver, which is compiled once.

use std::num::NonZeroU32;

use vorrang_protocol::{Belonging, Delay, Effects, Message, NodeId, Protocol, Refused};
use vorrang_trace::What;

use crate::desk::Desk;
use crate::numbers;
use crate::recorder::Tape;
use crate::timers::{Keys, Slot};
use crate::wire::{self, UNREADABLE, WireError};

/// A machine with commands `C` and notices `N`; its types of messages and timers are erased.
pub(crate) trait Machine<C, N>: Send {
    /// The names of the kinds of its messages.
    fn kinds(&self) -> &'static [&'static str];
    /// The node starts.
    fn start(&mut self, desk: &mut Desk<'_, N>);
    /// The application asks for something.
    fn command(&mut self, command: C, desk: &mut Desk<'_, N>) -> Result<(), Refused>;
    /// Does to a copy of itself what a command would do to it.
    fn rehearse(&self, command: C, desk: &mut Desk<'_, N>);
    /// Reads a message, to be handled next, and says of which kind it is.
    fn read(&mut self, message: &[u8]) -> Result<usize, WireError>;
    /// Handles the message that was read last; a second time, nothing.
    fn receive(&mut self, from: NodeId, seq: u64, desk: &mut Desk<'_, N>);
    /// A timer that the machine has set runs out.
    fn time_out(&mut self, timer: Slot, desk: &mut Desk<'_, N>);
    /// Hands over what was recorded.
    fn end_turn(&mut self);
    /// The machine as it shows itself.
    fn show(&self) -> String;
    /// Whether others may still need it for what was asked of it.
    fn owes(&self) -> bool;
    /// The view of its group, if it runs a membership protocol.
    fn belongs(&self) -> Option<Belonging>;
}

/// A machine while its type is known.
pub(crate) struct Typed<P: Protocol> {
    machine: P,
    incoming: Option<P::Message>,
    papers: Papers<P>,
}

/// The part of the I/O state that depends on the machine's types.
struct Papers<P: Protocol> {
    timers: Keys<P::Timer>,
    tape: Option<Tape<P>>,
    /// The largest number that a message may carry.
    largest: u64,
}

impl<P: Protocol> Typed<P> {
    pub(crate) const fn new(machine: P, tape: Option<Tape<P>>, largest: u64) -> Self {
        Self { machine, incoming: None, papers: Papers { timers: Keys::new(), tape, largest } }
    }
}

impl<P: Protocol> Machine<P::Command, P::Notice> for Typed<P> {
    fn kinds(&self) -> &'static [&'static str] {
        P::Message::KINDS
    }

    fn start(&mut self, desk: &mut Desk<'_, P::Notice>) {
        if let Some(tape) = &mut self.papers.tape {
            tape.stamp();
        }
        self.machine.on_start(&mut self.papers.sink(desk));
    }

    fn command(
        &mut self,
        command: P::Command,
        desk: &mut Desk<'_, P::Notice>,
    ) -> Result<(), Refused> {
        // Stamped before its effects can leave, and taken back if there are none.
        if let Some(tape) = &mut self.papers.tape {
            tape.begin(What::Command(command.clone()));
        }
        let outcome = self.machine.on_command(command, &mut self.papers.sink(desk));
        if let (Some(tape), Err(_)) = (&mut self.papers.tape, outcome) {
            tape.take_back();
        }
        outcome
    }

    fn rehearse(&self, command: P::Command, desk: &mut Desk<'_, P::Notice>) {
        let largest = self.papers.largest;
        let mut papers = Papers { timers: Keys::new(), tape: None, largest };
        // If it is refused, it will be once more.
        let _ = self.machine.clone().on_command(command, &mut papers.sink(desk));
    }

    fn read(&mut self, message: &[u8]) -> Result<usize, WireError> {
        self.incoming = None;
        let message: P::Message = wire::read(message).ok_or(UNREADABLE)?;
        if !numbers::are_within(self.papers.largest, &message) {
            return Err(WireError::Number);
        }
        Ok(self.incoming.insert(message).kind())
    }

    fn receive(&mut self, from: NodeId, seq: u64, desk: &mut Desk<'_, P::Notice>) {
        let Some(message) = self.incoming.take() else {
            return;
        };
        if let Some(tape) = &mut self.papers.tape {
            tape.begin(What::Receive { from, seq, message: message.clone() });
        }
        self.machine.on_message(from, message, &mut self.papers.sink(desk));
    }

    fn time_out(&mut self, timer: Slot, desk: &mut Desk<'_, P::Notice>) {
        let timer = self.papers.timers.take(timer);
        if let Some(tape) = &mut self.papers.tape {
            tape.begin(What::Timer(timer));
        }
        self.machine.on_timer(timer, &mut self.papers.sink(desk));
    }

    fn end_turn(&mut self) {
        if let Some(tape) = &mut self.papers.tape {
            tape.hand_over();
        }
    }

    fn show(&self) -> String {
        format!("{:?}", self.machine)
    }
    fn owes(&self) -> bool {
        self.machine.owes()
    }
    fn belongs(&self) -> Option<Belonging> {
        self.machine.belongs()
    }
}

impl<P: Protocol> Papers<P> {
    const fn sink<'a, 'b>(&'a mut self, desk: &'a mut Desk<'b, P::Notice>) -> Sink<'a, 'b, P> {
        Sink { papers: self, desk }
    }
}

/// The effects of the machine.
struct Sink<'a, 'b, P: Protocol> {
    papers: &'a mut Papers<P>,
    desk: &'a mut Desk<'b, P::Notice>,
}

impl<P: Protocol> Sink<'_, '_, P> {
    /// Writes a message on the desk's sheet.
    #[inline(never)]
    fn write(&mut self, message: &P::Message) -> Result<(), WireError> {
        if numbers::are_within(self.papers.largest, message) {
            wire::write(message, self.desk.blank())
        } else {
            Err(WireError::Number)
        }
    }

    /// Sends what was written.
    #[inline(never)]
    fn post(&mut self, to: NodeId, message: &P::Message, written: Result<(), WireError>) {
        let seq = self.desk.send(to, message.kind(), written);
        if let (Some(seq), Some(tape)) = (seq, &mut self.papers.tape) {
            tape.push(What::Send { to, seq, message: message.clone() });
        }
    }
}

/// Not inlined: an algorithm calls these from many places, and a call costs it nothing that a
/// message over a network would notice.
impl<P: Protocol> Effects<P> for Sink<'_, '_, P> {
    #[inline(never)]
    fn send(&mut self, to: NodeId, message: P::Message) {
        let written = self.write(&message);
        self.post(to, &message, written);
    }

    /// Encoded once, for all receivers.
    fn broadcast(&mut self, to: impl IntoIterator<Item = NodeId>, message: P::Message) {
        let written = self.write(&message);
        for id in to {
            self.post(id, &message, written.clone());
        }
    }

    #[inline(never)]
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let timers = &mut self.papers.timers;
        let slot = timers.find(&timer).unwrap_or_else(|| timers.add(timer));
        self.desk.set_timer(slot, delay);
    }

    #[inline(never)]
    fn cancel_timer(&mut self, timer: P::Timer) {
        if let Some(slot) = self.papers.timers.find(&timer) {
            self.papers.timers.take(slot);
            self.desk.cancel_timer(slot);
        }
    }

    #[inline(never)]
    fn notify(&mut self, notice: P::Notice) {
        if let Some(tape) = &mut self.papers.tape {
            tape.push(What::Notice(notice.clone()));
        }
        self.desk.notify(notice);
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        let value = self.desk.choose(bound);
        if let Some(tape) = &mut self.papers.tape {
            tape.push(What::Choice(value));
        }
        value
    }
}
