//! The machine as its node sees it: messages become bytes here, and timers become numbers.

use std::num::NonZeroU32;

use vorrang_erased::{AnyMessage, AnyNode, AnyTimer, MessageBounds};
use vorrang_protocol::{
    Data, Delay, Effects, GroupHealth, GroupView, Message as _, NodeId, NodeState, Protocol,
    Refused,
};
use vorrang_trace::What;

use crate::machine_io::MachineIo;
use crate::recorder::RecordBuffer;
use crate::timers::{Keys, Slot};
use crate::wire::{UNREADABLE, WireError};

/// A machine with commands `C` and notices `N`; its types of messages and timers are erased.
pub(crate) struct Machine<C: Data, N: Data> {
    node: AnyNode<C, N>,
    incoming: Option<AnyMessage>,
    typed_io: TypedIo<C, N>,
}

/// In which life a machine begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// That is no matter: it never comes back, or its maker has told it.
    AsMade,
    /// In the first of a node without stable storage.
    First,
    /// In a later one, of this number.
    Later(u64),
    /// In a later one of a node with stable storage: with what it had there.
    Restored,
}

/// What is kept beside a machine.
struct TypedIo<C: Data, N: Data> {
    timers: Keys<AnyTimer>,
    tape: Option<RecordBuffer<C, N>>,
    /// What a message may say at most.
    bounds: MessageBounds,
}

impl<C: Data, N: Data> Machine<C, N> {
    pub(crate) const fn new(
        node: AnyNode<C, N>,
        tape: Option<RecordBuffer<C, N>>,
        bounds: MessageBounds,
    ) -> Self {
        Self { node, incoming: None, typed_io: TypedIo { timers: Keys::new(), tape, bounds } }
    }

    /// The names of the kinds of its messages.
    pub(crate) fn kinds(&self) -> &'static [&'static str] {
        self.node.kinds()
    }

    /// The node starts, or restarts in a later life.
    pub(crate) fn start(&mut self, life: Life, io: &mut MachineIo<'_, N>) {
        let number = match life {
            Life::AsMade | Life::Restored => None,
            Life::First => Some(0),
            Life::Later(number) => Some(number),
        };
        let forgetful = number.and_then(|number| self.node.clone().without_memory(number));
        if let Some(node) = forgetful {
            self.node = node;
        }
        if let (Life::Later(_) | Life::Restored, Some(tape)) = (life, &mut self.typed_io.tape) {
            tape.begin(What::Restart);
        } else if let Some(tape) = &mut self.typed_io.tape {
            tape.stamp();
        }
        match life {
            Life::AsMade | Life::First => self.node.on_start(&mut self.typed_io.sink(io)),
            Life::Later(_) | Life::Restored => self.node.on_restart(&mut self.typed_io.sink(io)),
        }
    }

    /// The application asks for something.
    pub(crate) fn command(&mut self, command: C, io: &mut MachineIo<'_, N>) -> Result<(), Refused> {
        // Stamped before its effects can leave, and taken back if there are none.
        if let Some(tape) = &mut self.typed_io.tape {
            tape.begin(What::Command(command.clone()));
        }
        let outcome = self.node.on_command(command, &mut self.typed_io.sink(io));
        if let (Some(tape), Err(_)) = (&mut self.typed_io.tape, outcome) {
            tape.take_back();
        }
        outcome
    }

    /// The process is about to leave. Whether the machine asks its group to be left out.
    pub(crate) fn leave(&mut self, io: &mut MachineIo<'_, N>) -> bool {
        self.node.on_leave(&mut self.typed_io.sink(io))
    }

    /// Does to a copy of itself what a command would do to it.
    pub(crate) fn rehearse(&self, command: C, io: &mut MachineIo<'_, N>) {
        let bounds = self.typed_io.bounds;
        let mut typed_io = TypedIo { timers: Keys::new(), tape: None, bounds };
        // If it is refused, it will be once more.
        let _ = self.node.clone().on_command(command, &mut typed_io.sink(io));
    }

    /// Reads a message, to be handled next, and says of which kind it is.
    pub(crate) fn read(&mut self, message: &[u8]) -> Result<usize, WireError> {
        self.incoming = None;
        let message = self.node.decode(message).ok_or(UNREADABLE)?;
        if !message.is_bounded(self.typed_io.bounds) {
            return Err(WireError::Number);
        }
        Ok(self.incoming.insert(message).kind())
    }

    /// Handles the message that was read last; a second time, nothing.
    pub(crate) fn receive(&mut self, from: NodeId, seq: u64, io: &mut MachineIo<'_, N>) {
        let Some(message) = self.incoming.take() else {
            return;
        };
        if let Some(tape) = &mut self.typed_io.tape {
            tape.begin(What::Receive { from, seq, message: message.clone() });
        }
        self.node.on_message(from, message, &mut self.typed_io.sink(io));
    }

    /// A timer that the machine has set runs out.
    pub(crate) fn time_out(&mut self, timer: Slot, io: &mut MachineIo<'_, N>) {
        let timer = self.typed_io.timers.take(timer);
        if let Some(tape) = &mut self.typed_io.tape {
            tape.begin(What::Timer(timer));
        }
        self.node.on_timer(timer, &mut self.typed_io.sink(io));
    }

    /// Hands over what was recorded.
    pub(crate) fn end_turn(&mut self) {
        if let Some(tape) = &mut self.typed_io.tape {
            tape.hand_over();
        }
    }

    /// What it has to store by now.
    pub(crate) fn stored(&self, bytes: &mut Vec<u8>) {
        self.node.stored(bytes);
    }

    /// The machine's variables.
    pub(crate) fn state(&self) -> NodeState {
        self.node.state()
    }

    /// Whether others may still need it for what was asked of it.
    pub(crate) fn has_obligations(&self) -> bool {
        self.node.has_obligations()
    }

    /// Whether its group can go on, if it runs a membership protocol.
    pub(crate) fn group_health(&self) -> Option<GroupHealth> {
        self.node.group_health()
    }

    /// The timer that would end its lease.
    pub(crate) fn lease(&self) -> Option<Slot> {
        self.typed_io.timers.find(&self.node.lease()?)
    }

    /// The view of its group, if it runs a membership protocol.
    pub(crate) fn group_view(&self) -> Option<GroupView> {
        self.node.group_view()
    }
}

impl<C: Data, N: Data> TypedIo<C, N> {
    const fn sink<'a, 'b>(&'a mut self, io: &'a mut MachineIo<'b, N>) -> Sink<'a, 'b, C, N> {
        Sink { typed_io: self, io }
    }
}

/// The effects of the machine.
struct Sink<'a, 'b, C: Data, N: Data> {
    typed_io: &'a mut TypedIo<C, N>,
    io: &'a mut MachineIo<'b, N>,
}

impl<C: Data, N: Data> Sink<'_, '_, C, N> {
    /// Writes a message on the desk's sheet.
    fn write(&mut self, message: &AnyMessage) -> Result<(), WireError> {
        if message.is_bounded(self.typed_io.bounds) {
            message.encode(self.io.blank()).map_err(WireError::Encode)
        } else {
            Err(WireError::Number)
        }
    }

    /// Sends what was written.
    fn post(&mut self, to: NodeId, message: &AnyMessage, written: Result<(), WireError>) {
        let seq = self.io.send(to, (message.kind(), message.is_status()), written);
        if let (Some(seq), Some(tape)) = (seq, &mut self.typed_io.tape) {
            tape.push(What::Send { to, seq, message: message.clone() });
        }
    }
}

impl<C: Data, N: Data> Effects<AnyNode<C, N>> for Sink<'_, '_, C, N> {
    fn send(&mut self, to: NodeId, message: AnyMessage) {
        let written = self.write(&message);
        self.post(to, &message, written);
    }

    /// Encoded once, for all receivers.
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: AnyMessage) {
        let written = self.write(&message);
        for id in to {
            self.post(id, &message, written.clone());
        }
    }

    fn set_timer(&mut self, timer: AnyTimer, delay: Delay) {
        let timers = &mut self.typed_io.timers;
        let slot = timers.find(&timer).unwrap_or_else(|| timers.add(timer));
        self.io.set_timer(slot, delay);
    }

    fn cancel_timer(&mut self, timer: AnyTimer) {
        if let Some(slot) = self.typed_io.timers.find(&timer) {
            self.typed_io.timers.take(slot);
            self.io.cancel_timer(slot);
        }
    }

    fn notify(&mut self, notice: N) {
        if let Some(tape) = &mut self.typed_io.tape {
            tape.push(What::Notice(notice.clone()));
        }
        self.io.notify(notice);
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        let value = self.io.choose(bound);
        if let Some(tape) = &mut self.typed_io.tape {
            tape.push(What::Choice(value));
        }
        value
    }
}
