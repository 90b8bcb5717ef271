//! The core of a node: the machine and its application, as the node's task sees them.
//!
//! Types are forgotten in two steps. A [`Machine`] hides its messages and timers, so that what is
//! here is compiled once for every problem; a [`NodeCore`] hides commands and notices, too, so that
//! the task knows only bytes and boxes and is compiled once. A message takes microseconds, so a
//! virtual call does not matter.

use std::any::Any;
use std::collections::VecDeque;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::time::Instant;
use vorrang_protocol::{Data, GroupHealth, GroupView, NodeId, Refused};

use crate::application::{AnyApplication, ApplicationEffects, Later};
use crate::error::{CommandError, Denied, StopReason};
use crate::event::Event;
use crate::machine::{Life, Machine};
use crate::machine_io::{IoState, LengthProbe, MachineIo, Outbound};
use crate::stable_storage::StableStorage;
use crate::status::{GroupStatus, MachineReport};
use crate::timers::{Agenda, Keys, deadline};
use crate::turns::{Before, ReleaseOutcome, RequestDeadline, Requests, Stage, Steps};
use crate::wire::WireError;

/// A command whose type the task does not know.
pub(crate) type AnyCommand = Box<dyn Any + Send>;

/// How many local events (commands of the application, messages to self) a turn handles before it
/// lets other tasks run.
const LOCAL_EVENTS_A_TURN: usize = 256;

/// The refusal for the application; [`Event::TooLarge`] has the numbers.
const TOO_LARGE: Refused = Refused("a message of it would be longer than fits into one datagram");

const NOT_TO_BE_GIVEN_UP: Refused =
    Refused("that cannot be given up: it is no request, or this node does not know turns");

/// The machine and its application.
pub(crate) trait NodeCore: Send {
    /// The node starts, or restarts in a later life.
    fn start(&mut self, life: Life, outbound: &mut dyn Outbound);
    /// A command from a handle.
    fn command(
        &mut self,
        command: AnyCommand,
        patience: Option<RequestDeadline>,
        outbound: &mut dyn Outbound,
    ) -> Result<(), CommandError>;
    /// Whether a command asks for something that others must grant.
    fn asks(&self, command: &AnyCommand) -> bool;
    /// Gives up what was asked for.
    fn withdraw(&mut self) -> Result<(), Refused>;
    /// Releases what it has, or gives up what it waits for.
    fn let_go(&mut self, outbound: &mut dyn Outbound) -> ReleaseOutcome;
    /// Asks to be left out of the machine's group, if it belongs to one. Whether it has.
    fn leave_group(&mut self, outbound: &mut dyn Outbound) -> bool;
    /// Tells the application that it is inside no more, if it is: the node may not act any more.
    fn evict(&mut self);
    /// Whether the application was told that it is inside no more, since this was asked last.
    fn take_eviction(&mut self) -> bool;
    /// How far it is with its turn, and since when, if it knows turns.
    fn stage(&self) -> Option<(Stage, Duration)>;
    /// When it gives up.
    fn gives_up_at(&self) -> Option<Instant>;
    /// Gives up what has waited for too long.
    fn expire(&mut self, now: Instant);
    /// The next event of its turn that was not reported yet.
    fn next_event(&mut self) -> Option<Event>;
    /// Tells the application what happened. True if it wants something.
    fn on_event(&mut self, event: &Event) -> bool;
    /// Tells the application what is known of the group. True if it wants something.
    fn on_group(&mut self, group: &GroupStatus) -> bool;
    /// Tells the application that nothing more happens.
    fn on_stopped(&mut self, why: &StopReason);
    /// Reads a message, to be handled next.
    fn read(&mut self, message: &[u8]) -> Result<(), WireError>;
    /// Handles the message that was read last; a second time, nothing.
    fn receive(&mut self, from: NodeId, seq: u64, outbound: &mut dyn Outbound);
    /// Passes on notices and, if the node still `acts`, carries out what the application asks and
    /// delivers messages to self, until nothing is left. False if it stopped before, to let others
    /// run.
    fn settle(&mut self, acts: bool, outbound: &mut dyn Outbound) -> bool;
    /// When a timer runs out, or the application wants to be woken.
    fn next_deadline(&self) -> Option<Instant>;
    /// Handles what has run out.
    fn handle_timers(&mut self, now: Instant, outbound: &mut dyn Outbound);
    /// Drops pending commands and timers.
    fn stop_acting(&mut self);
    /// Writes what the machine must not forget to stable storage, if it has any. False if that
    /// failed: then nothing may leave this node, and [`end_turn`](Self::end_turn) says why.
    fn persist(&mut self) -> bool;
    /// Hands over what was recorded, and says what the machine did that cannot be done.
    fn end_turn(&mut self) -> Option<StopReason>;
    /// A report of the machine.
    fn account(&self) -> MachineReport;
    /// The view of its group, if it runs a membership protocol.
    fn group_view(&self) -> Option<GroupView>;
    /// Whether that group can go on.
    fn group_health(&self) -> Option<GroupHealth>;
    /// When its lease ends, if it has one.
    fn lease_until(&self) -> Option<Instant>;
}

/// A machine and its application while the problem is known.
pub(crate) struct TypedCore<C: Data, N: Data> {
    machine: Machine<C, N>,
    application: AnyApplication<C, N>,
    /// Whether the application wants to be told of the lease.
    heeds_lease: bool,
    /// When the lease ends, as the application was told.
    lease: Option<Instant>,
    requests: Option<Requests<C, N>>,
    events: VecDeque<Event>,
    inside: IoState,
    /// Notices of the machine that the application has not received.
    notices: VecDeque<N>,
    fx: ApplicationEffects<C>,
    /// Commands of the application that wait for the machine.
    asked: VecDeque<C>,
    /// Delayed effects of the application.
    wishes: Keys<Later<C>>,
    agenda: Agenda,
    /// The kind of the message that was read and is to be handled.
    kind: Option<usize>,
    storage: Option<StableStorage>,
    /// Why something could not be stored, which ends the node.
    forgets: Option<String>,
    /// What is to be stored, in room that is used again.
    to_store: Vec<u8>,
}

impl<C: Data, N: Data> TypedCore<C, N> {
    /// The node `me` of so many.
    pub(crate) fn new(
        machine: Machine<C, N>,
        (application, steps): (AnyApplication<C, N>, Option<Steps<C, N>>),
        (me, nodes): (NodeId, usize),
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        let inside = IoState::new((me, nodes), machine.kinds().len(), rng);
        Self {
            machine,
            heeds_lease: application.heeds_lease(),
            application,
            lease: None,
            requests: steps.map(Requests::new),
            events: VecDeque::new(),
            inside,
            notices: VecDeque::new(),
            fx: ApplicationEffects::new(),
            asked: VecDeque::new(),
            wishes: Keys::new(),
            agenda: Agenda::default(),
            kind: None,
            storage: None,
            forgets: None,
            to_store: Vec::new(),
        }
    }

    /// The same with stable storage.
    pub(crate) fn storage(self, storage: Option<StableStorage>) -> Self {
        Self { storage, ..self }
    }

    /// The machine, and where it puts what it does.
    fn at_work<'a>(
        &'a mut self,
        outbound: &'a mut dyn Outbound,
    ) -> (&'a mut Machine<C, N>, MachineIo<'a, N>) {
        let io = MachineIo { inside: &mut self.inside, outbound, notices: &mut self.notices };
        (&mut self.machine, io)
    }

    fn obey(&mut self, command: C, outbound: &mut dyn Outbound) -> Result<(), Denied> {
        let Some(requests) = &mut self.requests else {
            self.rehearse(&command, outbound)?;
            let (machine, mut io) = self.at_work(outbound);
            return Ok(machine.command(command, &mut io)?);
        };
        match requests.before(&command) {
            Before::Adopted => return Ok(()),
            Before::Refuse(refused) => return Err(refused.into()),
            Before::Pass => {}
        }
        self.rehearse(&command, outbound)?;
        let (machine, mut io) = self.at_work(outbound);
        machine.command(command.clone(), &mut io)?;
        if let Some(requests) = &mut self.requests {
            requests.after(&command);
        }
        Ok(())
    }

    /// Where messages must be short, rehearses a command on a copy of the machine: a command with a
    /// message that is too long is refused before the machine sees it.
    fn rehearse(&self, command: &C, outbound: &dyn Outbound) -> Result<(), Denied> {
        let Some(limit) = outbound.limit() else {
            return Ok(());
        };
        let (mut inside, mut notices, mut scale) =
            (self.inside.apart(), VecDeque::new(), LengthProbe(0));
        let mut io = MachineIo { inside: &mut inside, outbound: &mut scale, notices: &mut notices };
        self.machine.rehearse(command.clone(), &mut io);
        match scale {
            LengthProbe(length) if length > limit => Err(Denied::TooLarge { length, limit }),
            LengthProbe(_) => Ok(()),
        }
    }

    /// Tells the application if the lease has become another one.
    fn tell_lease(&mut self) {
        if !self.heeds_lease {
            return;
        }
        let until = self.lease_until();
        if until != self.lease {
            self.lease = until;
            self.application.on_lease(until);
        }
    }

    /// The machine tells something: to the application, unless that has given up on it.
    fn hear(&mut self, notice: N, acts: bool, outbound: &mut dyn Outbound) {
        if self.requests.as_mut().is_some_and(|requests| requests.was_told(&notice)) {
            return;
        }
        let Some(leave) = self.requests.as_mut().and_then(|requests| requests.hear(&notice)) else {
            self.application.on_notice(notice, &mut self.fx);
            self.take_wishes();
            return;
        };
        // A node that does not act any more has abandoned it.
        if acts {
            match self.obey(leave, outbound) {
                Ok(()) => self.events.push_back(Event::WithdrawnReleased),
                Err(why) => {
                    let why = CommandError::from(why);
                    self.inside.failure = Some(format!("it does not release what it got: {why}"));
                }
            }
        }
    }

    /// A command of the application was not carried out.
    fn turn_down(&mut self, denied: &Denied) {
        let refused = match *denied {
            Denied::Refused(refused) => refused,
            Denied::TooLarge { length, limit } => {
                self.events.push_back(Event::TooLarge { to: None, length, limit, more: 0 });
                TOO_LARGE
            }
        };
        self.application.on_refused(refused, &mut self.fx);
        self.take_wishes();
    }

    fn take_wishes(&mut self) {
        self.asked.extend(self.fx.commands.drain(..));
        for (delay, later) in self.fx.later.drain(..) {
            self.agenda.set(self.wishes.add(later), deadline(delay));
        }
    }
}

impl<C: Data, N: Data> NodeCore for TypedCore<C, N> {
    fn start(&mut self, life: Life, outbound: &mut dyn Outbound) {
        let (machine, mut io) = self.at_work(outbound);
        machine.start(life, &mut io);
        self.application.on_start(&mut self.fx);
        self.take_wishes();
    }

    fn command(
        &mut self,
        command: AnyCommand,
        patience: Option<RequestDeadline>,
        outbound: &mut dyn Outbound,
    ) -> Result<(), CommandError> {
        let command = command.downcast().expect("a handle gives commands of its machine's type");
        if patience.is_some()
            && !self.requests.as_ref().is_some_and(|requests| requests.asks(&command))
        {
            return Err(NOT_TO_BE_GIVEN_UP.into());
        }
        self.obey(*command, outbound)?;
        if let Some(requests) = &mut self.requests {
            requests.be_patient(patience);
        }
        Ok(())
    }

    fn asks(&self, command: &AnyCommand) -> bool {
        let command = command.downcast_ref();
        let command = command.expect("a handle gives commands of its machine's type");
        self.requests.as_ref().is_none_or(|requests| requests.asks(command))
    }

    fn withdraw(&mut self) -> Result<(), Refused> {
        self.requests.as_mut().map_or(Err(NOT_TO_BE_GIVEN_UP), Requests::withdraw)
    }

    fn let_go(&mut self, outbound: &mut dyn Outbound) -> ReleaseOutcome {
        let Some(requests) = &mut self.requests else {
            return ReleaseOutcome::Nothing;
        };
        if let Some(leave) = requests.way_out() {
            return match self.obey(leave, outbound) {
                Ok(()) => ReleaseOutcome::Released,
                Err(_) => ReleaseOutcome::Abandoned,
            };
        }
        // One that was given up before counts as well.
        let _ = requests.withdraw();
        if requests.stage() == Stage::GivenUp {
            ReleaseOutcome::Withdrawn
        } else {
            ReleaseOutcome::Nothing
        }
    }

    fn leave_group(&mut self, outbound: &mut dyn Outbound) -> bool {
        let (machine, mut io) = self.at_work(outbound);
        machine.leave(&mut io)
    }

    fn evict(&mut self) {
        let eviction = self.requests.as_mut().and_then(Requests::eviction);
        self.notices.extend(eviction);
    }

    fn take_eviction(&mut self) -> bool {
        self.requests.as_mut().is_some_and(Requests::take_eviction)
    }

    fn stage(&self) -> Option<(Stage, Duration)> {
        self.requests.as_ref().map(|requests| (requests.stage(), requests.since()))
    }

    fn gives_up_at(&self) -> Option<Instant> {
        self.requests.as_ref().and_then(Requests::gives_up_at)
    }

    fn expire(&mut self, now: Instant) {
        if let Some(after) = self.requests.as_mut().and_then(|requests| requests.expire(now)) {
            self.events.push_back(Event::TimedOut { after });
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn on_event(&mut self, event: &Event) -> bool {
        self.application.on_event(event, &mut self.fx);
        self.take_wishes();
        !self.asked.is_empty()
    }

    fn on_group(&mut self, group: &GroupStatus) -> bool {
        self.application.on_group(group, &mut self.fx);
        self.take_wishes();
        !self.asked.is_empty()
    }

    fn on_stopped(&mut self, why: &StopReason) {
        self.application.on_stopped(why);
    }

    fn read(&mut self, message: &[u8]) -> Result<(), WireError> {
        self.kind = None;
        self.kind = Some(self.machine.read(message)?);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, seq: u64, outbound: &mut dyn Outbound) {
        let Some(kind) = self.kind.take() else {
            return;
        };
        self.inside.received[kind] += 1;
        let (machine, mut io) = self.at_work(outbound);
        machine.receive(from, seq, &mut io);
    }

    fn settle(&mut self, acts: bool, outbound: &mut dyn Outbound) -> bool {
        for _ in 0..LOCAL_EVENTS_A_TURN {
            if !self.notices.is_empty() && !self.persist() {
                return true;
            }
            if let Some(notice) = self.notices.pop_front() {
                self.tell_lease();
                self.hear(notice, acts, outbound);
            } else if !acts {
                return true;
            } else if let Some((seq, message)) = self.inside.to_self.pop_front() {
                let me = self.inside.me;
                let (machine, mut io) = self.at_work(outbound);
                machine.read(&message).expect("a node reads what it wrote");
                machine.receive(me, seq, &mut io);
            } else if let Some(command) = self.asked.pop_front() {
                if let Err(denied) = self.obey(command, outbound) {
                    self.turn_down(&denied);
                }
            } else {
                return true;
            }
        }
        false
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.inside.timers.next(), self.agenda.next()].into_iter().flatten().min()
    }

    fn handle_timers(&mut self, now: Instant, outbound: &mut dyn Outbound) {
        while let Some(timer) = self.inside.timers.pop_due(now) {
            let (machine, mut io) = self.at_work(outbound);
            machine.time_out(timer, &mut io);
            self.settle(true, outbound);
        }
        while let Some(wish) = self.agenda.pop_due(now) {
            match self.wishes.take(wish) {
                Later::Wake => {
                    self.application.on_wake(&mut self.fx);
                    self.take_wishes();
                }
                Later::Command(command) => self.asked.push_back(command),
            }
            self.settle(true, outbound);
        }
    }

    fn stop_acting(&mut self) {
        self.inside.timers.clear();
        self.agenda.clear();
        self.asked.clear();
        self.inside.to_self.clear();
    }

    fn persist(&mut self) -> bool {
        let Some(storage) = &mut self.storage else { return true };
        self.to_store.clear();
        self.machine.stored(&mut self.to_store);
        match storage.save(&self.to_store) {
            Ok(_) => true,
            Err(error) => {
                let why = format!("{error}, so it could forget a promise");
                self.forgets.get_or_insert(why);
                false
            }
        }
    }

    fn end_turn(&mut self) -> Option<StopReason> {
        self.tell_lease();
        self.machine.end_turn();
        let failed = self.inside.failure.take().map(|why| StopReason::Failed(why.into()));
        failed.or_else(|| self.forgets.take().map(|why| StopReason::Storage(why.into())))
    }

    fn account(&self) -> MachineReport {
        let kinds = self.machine.kinds();
        let by_kind = |counts: &[u64]| kinds.iter().copied().zip(counts.to_vec()).collect();
        let IoState { sent, received, .. } = &self.inside;
        let (machine, owes) = (self.machine.state(), self.machine.has_obligations());
        let awaits_timer = self.inside.timers.next().is_some();
        let (sent, received) = (by_kind(sent), by_kind(received));
        MachineReport { sent, received, owes, awaits_timer, machine }
    }

    fn group_view(&self) -> Option<GroupView> {
        self.machine.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.machine.group_health()
    }

    fn lease_until(&self) -> Option<Instant> {
        self.inside.timers.when(self.machine.lease()?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use rand_core::SeedableRng as _;
    use serde::{Deserialize, Serialize};
    use vorrang_protocol::{Delay, Effects, Message, NodeState, Protocol};
    use vorrang_trace::{Record, What};

    use super::*;
    use crate::application::Application;
    use vorrang_erased::{AnyMessage, AnyNode, AnyTimer, MessageBounds};

    use crate::recorder::{Log, RecordBuffer};
    use crate::{Clock, MAX_INTEGER};

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    enum Word {
        Say(u32),
        Secret(String),
    }

    impl std::fmt::Display for Word {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match self {
                Self::Say(number) => write!(f, "SAY({number})"),
                Self::Secret(_) => f.write_str("SECRET"),
            }
        }
    }

    impl Message for Word {
        const KINDS: &'static [&'static str] = &["SAY", "SECRET"];
        fn kind(&self) -> usize {
            match self {
                Self::Say(_) => 0,
                Self::Secret(_) => 1,
            }
        }
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    enum Ask {
        Send(u32, Word),
        Set(char, u64),
        Cancel(char),
        Nonsense,
    }

    const REFUSED: Refused = Refused("that is nonsense");

    /// Tells whatever happens to it.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Parrot;

    impl Protocol for Parrot {
        type Message = Word;
        type Timer = char;
        type Command = Ask;
        type Notice = String;

        fn on_start(&mut self, fx: &mut impl Effects<Self>) {
            fx.notify("start".to_owned());
        }

        fn on_command(&mut self, ask: Ask, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
            let minutes = |many| Delay::exactly(Duration::from_secs(60 * many));
            match ask {
                Ask::Send(to, word) => fx.send(NodeId(to), word),
                Ask::Set(timer, many) => fx.set_timer(timer, minutes(many)),
                Ask::Cancel(timer) => fx.cancel_timer(timer),
                Ask::Nonsense => return Err(REFUSED),
            }
            Ok(())
        }

        fn on_message(&mut self, from: NodeId, word: Word, fx: &mut impl Effects<Self>) {
            fx.notify(format!("{from}: {word:?}"));
        }

        fn on_timer(&mut self, timer: char, fx: &mut impl Effects<Self>) {
            fx.notify(format!("timer {timer}"));
        }

        fn state(&self) -> NodeState {
            NodeState::new().with("says", "as heard")
        }
    }

    /// Writes down what it hears.
    struct Ear(Arc<Mutex<Vec<String>>>);

    impl Application for Ear {
        type Command = Ask;
        type Notice = String;

        fn on_notice(&mut self, notice: String, fx: &mut ApplicationEffects<Ask>) {
            if notice == "timer n" {
                fx.command(Ask::Nonsense);
            }
            self.0.lock().unwrap().push(notice);
        }

        fn on_refused(&mut self, refused: Refused, _fx: &mut ApplicationEffects<Ask>) {
            self.0.lock().unwrap().push(refused.to_string());
        }
    }

    /// Node 1 of three, seen from its task, which knows none of these types.
    struct Home {
        core: Box<dyn NodeCore>,
        heard: Arc<Mutex<Vec<String>>>,
        outbound: Letters,
        log: Log<Ask, String>,
    }

    #[derive(Default)]
    struct Letters(Vec<(NodeId, Vec<u8>)>, Option<usize>);

    /// Node 2 has left.
    impl Outbound for Letters {
        fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
            self.0.push((to, message.to_vec()));
            Ok((to != NodeId(2)).then_some(self.0.len() as u64 - 1))
        }

        fn limit(&self) -> Option<usize> {
            self.1
        }
    }

    impl Home {
        fn new() -> Self {
            let (log, heard) = (Log::new(), Arc::default());
            let me = NodeId(1);
            let tape = RecordBuffer::new(me, Box::new(log.clone()), Clock::start());
            let bounds = MessageBounds { largest: MAX_INTEGER, nodes: 3 };
            let machine = Machine::new(AnyNode::new(Parrot), Some(tape), bounds);
            let application = Box::new(Ear(Arc::clone(&heard)));
            let rng = Xoshiro256PlusPlus::seed_from_u64(0);
            let core = Box::new(TypedCore::new(machine, (application, None), (me, 3), rng));
            Self { core, heard, outbound: Letters::default(), log }
        }

        fn ask(&mut self, ask: Ask) -> Result<(), CommandError> {
            let outcome = self.core.command(Box::new(ask), None, &mut self.outbound);
            assert!(self.core.settle(true, &mut self.outbound));
            outcome
        }

        /// As the driver does with a message that is new.
        fn deliver(&mut self, from: u32, seq: u64, message: &[u8]) -> bool {
            let is_read = self.core.read(message).is_ok();
            if is_read {
                self.core.receive(NodeId(from), seq, &mut self.outbound);
                self.core.settle(true, &mut self.outbound);
            }
            is_read
        }

        fn pass(&mut self, minutes: u64) {
            let then = Instant::now() + Duration::from_secs(60 * minutes);
            self.core.handle_timers(then, &mut self.outbound);
        }

        fn heard(&self) -> Vec<String> {
            std::mem::take(&mut self.heard.lock().unwrap())
        }

        fn records(&mut self) -> Vec<Record<AnyNode<Ask, String>>> {
            assert_eq!(self.core.end_turn(), None);
            self.log.take()
        }
    }

    fn bytes(word: &Word) -> Vec<u8> {
        postcard::to_allocvec(word).unwrap()
    }

    #[test]
    fn a_message_to_another_is_posted_counted_and_recorded() {
        let mut home = Home::new();
        let word = Word::Secret("x".to_owned());
        home.ask(Ask::Send(0, word.clone())).unwrap();
        home.ask(Ask::Send(2, word.clone())).unwrap();
        let posted = (NodeId(0), bytes(&word));
        assert_eq!(home.outbound.0, [posted, (NodeId(2), bytes(&word))]);
        let account = home.core.account();
        assert_eq!(account.sent, [("SAY", 0), ("SECRET", 1)], "node 2 is gone");
        assert_eq!(account.machine.to_string(), "says as heard");
        let records: Vec<_> = home.records().into_iter().map(|record| record.what).collect();
        let commands = [0, 2].map(|to| What::Command(Ask::Send(to, word.clone())));
        let sent = What::Send { to: NodeId(0), seq: 0, message: AnyMessage::new(word.clone()) };
        let [first, second] = commands;
        assert_eq!(records, [first, sent, second], "what goes to node 2 does not leave");
    }

    #[test]
    fn a_message_to_self_is_handled_at_once_and_neither_posted_nor_counted() {
        let mut home = Home::new();
        for number in [7, 8] {
            home.ask(Ask::Send(1, Word::Say(number))).unwrap();
        }
        assert_eq!(home.heard(), ["1: Say(7)", "1: Say(8)"]);
        assert!(home.outbound.0.is_empty());
        let account = home.core.account();
        let none = [("SAY", 0), ("SECRET", 0)];
        assert_eq!(account.sent, none);
        assert_eq!(account.received, none);
        let mut seqs = Vec::new();
        for record in home.records() {
            if let What::Receive { from: NodeId(1), seq, .. } = record.what {
                seqs.push(seq);
            }
        }
        assert_eq!(seqs, [0, 1]);
    }

    #[test]
    fn messages_to_self_are_forgotten_by_a_node_that_stops_acting() {
        let mut home = Home::new();
        let ask = Box::new(Ask::Send(1, Word::Say(7)));
        home.core.command(ask, None, &mut home.outbound).unwrap();
        home.core.stop_acting();
        assert!(home.core.settle(true, &mut home.outbound));
        assert!(home.heard().is_empty());
    }

    #[test]
    fn bytes_that_are_no_message_change_nothing() {
        let mut home = Home::new();
        let mut too_long = bytes(&Word::Say(1));
        too_long.push(0);
        for nonsense in [&[][..], &[9], &[1, 5, b'x'], &[1, 1, 0xff], &too_long] {
            assert!(!home.deliver(0, 0, nonsense), "{nonsense:?}");
        }
        assert!(home.deliver(0, 0, &bytes(&Word::Say(1))));
        assert_eq!(home.heard(), ["0: Say(1)"]);
        assert_eq!(home.core.account().received, [("SAY", 1), ("SECRET", 0)]);
    }

    #[test]
    fn what_was_read_and_not_wanted_is_not_handled_later() {
        let mut home = Home::new();
        // As when it had been handled before and came again.
        home.core.read(&bytes(&Word::Say(1))).unwrap();
        home.ask(Ask::Send(1, Word::Say(2))).unwrap();
        assert!(home.deliver(0, 1, &bytes(&Word::Say(3))));
        home.core.receive(NodeId(0), 1, &mut home.outbound);
        assert!(home.core.settle(true, &mut home.outbound));
        assert_eq!(home.heard(), ["1: Say(2)", "0: Say(3)"]);
        assert_eq!(home.core.account().received, [("SAY", 1), ("SECRET", 0)]);
    }

    #[test]
    fn timers_are_set_replaced_and_cancelled() {
        let mut home = Home::new();
        assert_eq!(home.core.next_deadline(), None);
        let set = [('a', 2), ('b', 9), ('c', 3), ('d', 50), ('a', 25)];
        for (timer, minutes) in set {
            home.ask(Ask::Set(timer, minutes)).unwrap();
        }
        for timer in ['c', 'x', 'c'] {
            home.ask(Ask::Cancel(timer)).unwrap();
        }
        home.pass(5);
        assert!(home.heard().is_empty(), "one is replaced, one is cancelled");
        home.pass(30);
        assert_eq!(home.heard(), ["timer b", "timer a"]);
        home.ask(Ask::Set('a', 1)).unwrap();
        home.pass(60);
        assert_eq!(home.heard(), ["timer a", "timer d"]);
        assert_eq!(home.core.next_deadline(), None);

        home.ask(Ask::Set('e', 1)).unwrap();
        home.core.stop_acting();
        home.pass(60);
        assert!(home.heard().is_empty(), "it has stopped acting");
    }

    #[test]
    fn a_command_with_too_long_a_message_is_refused_before_anything_has_happened() {
        let mut home = Home::new();
        home.outbound.1 = Some(10);
        let send = |length| Ask::Send(0, Word::Secret("x".repeat(length)));
        home.ask(send(8)).unwrap();
        // A byte says which word it is, another how long it is.
        let denied = CommandError::TooLarge { length: 11, limit: 10 };
        assert_eq!(home.ask(send(9)), Err(denied));
        assert_eq!(home.outbound.0.len(), 1);
        assert_eq!(home.records().len(), 2, "the first command, and what was sent for it");
        home.outbound.1 = None;
        home.ask(send(9)).unwrap();
    }

    #[test]
    fn a_refused_command_is_not_recorded_and_its_giver_is_told() {
        let mut home = Home::new();
        home.core.start(Life::AsMade, &mut home.outbound);
        assert_eq!(home.ask(Ask::Nonsense), Err(REFUSED.into()));
        assert_eq!(home.heard(), ["start"]);
        home.ask(Ask::Set('n', 1)).unwrap();
        home.pass(2);
        assert_eq!(home.heard(), ["timer n", "that is nonsense"]);
        let records = home.records().into_iter().map(|record| record.what);
        assert_eq!(
            records.collect::<Vec<_>>(),
            [
                What::Notice("start".to_owned()),
                What::Command(Ask::Set('n', 1)),
                What::Timer(AnyTimer::new('n')),
                What::Notice("timer n".to_owned()),
            ]
        );
    }

    #[test]
    fn a_message_to_nobody_is_a_failure() {
        let mut home = Home::new();
        home.ask(Ask::Send(3, Word::Say(1))).unwrap();
        let why = "it sent to node 3, which is not in its group".to_owned();
        assert_eq!(home.core.end_turn(), Some(StopReason::Failed(why.into())));
        assert_eq!(home.core.end_turn(), None);
    }
}
