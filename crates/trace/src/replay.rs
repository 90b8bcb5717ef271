//! A recorded run, done once more by the machines that it is a run of: whether they do what was
//! recorded, and whether what holds of them held on the way.
//!
//! Records of several nodes are in the order of their clocks, which may be a little apart. What
//! counts is what happened at one node before something else, and that a message is sent before it
//! arrives; of what may come next by that, the earliest does.
//!
//! All inputs of a run are in its records: commands, the order of arrivals, losses, duplicates,
//! random choices and crashes. So deterministic machines do the same again in a replay, whichever
//! driver recorded them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroU32;

use serde::de::DeserializeOwned;
use serde_json::Value;
use vorrang_protocol::{
    Effect, Event, Guard, NodeId, NodeSet, Outbox, Protocol, Situation, Violation,
};

use crate::line::{Line, LineMessage};
use crate::record::What;

/// Why a recorded run cannot be what it says, or was not as it should be. A place is that of a
/// record, counted from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Objection {
    /// A violation: after the record at that place.
    Violated(usize, Violation),
    /// The machine does something else than was recorded.
    Departed {
        /// Where; after the last record, if the machine does more than was recorded.
        place: usize,
        /// At which node.
        at: NodeId,
        /// The recorded event.
        recorded: String,
        /// The event of the machine in the replay.
        replayed: String,
    },
    /// From here on the replay is undefined.
    Unknown(usize, String),
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violated(place, violation) => write!(f, "{violation} (after record {place})"),
            Self::Departed { place, at, recorded, replayed } => {
                write!(f, "record {place}: at node {at}, {recorded}; in the replay, {replayed}")
            }
            Self::Unknown(place, why) => {
                write!(f, "the run cannot be replayed from record {place} on: {why}")
            }
        }
    }
}

impl std::error::Error for Objection {}

/// A message from how it was written, if a node knows how.
type Read<'a, P> = &'a dyn Fn(&P, &Value) -> Option<<P as Protocol>::Message>;

/// Those who do a run once more.
pub struct Cast<'a, P: Protocol> {
    size: u32,
    fresh: &'a dyn Fn(NodeId) -> P,
    read: Read<'a, P>,
    only: Option<NodeId>,
    guards: &'a [Guard<P>],
}

impl<P: Protocol> fmt::Debug for Cast<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cast").field("size", &self.size).field("only", &self.only).finish()
    }
}

impl<'a, P: Protocol> Cast<'a, P> {
    /// So many nodes, each as it was before the run.
    pub fn new(size: u32, fresh: &'a dyn Fn(NodeId) -> P) -> Self {
        Self { size, fresh, read: &|_, written| read(written), only: None, guards: &[] }
    }

    /// Another way to read a message that only its receiver has recorded.
    #[must_use]
    pub fn reading(self, read: Read<'a, P>) -> Self {
        Self { read, ..self }
    }

    /// Only what this node did was recorded.
    #[must_use]
    pub fn only(self, only: Option<NodeId>) -> Self {
        Self { only, ..self }
    }

    /// The invariants to check after every event.
    #[must_use]
    pub fn guarded(self, guards: &'a [Guard<P>]) -> Self {
        Self { guards, ..self }
    }
}

fn read<M: DeserializeOwned>(written: &Value) -> Option<M> {
    M::deserialize(written).ok()
}

/// Replays a recorded run and shows every node after each of its events, with the place of the
/// record; returns the number of events.
///
/// # Errors
///
/// If the machines do something else than was recorded, something does not hold, or the run cannot
/// be replayed. What was recorded up to then is as it should be.
pub fn replay<P: Protocol>(
    cast: &Cast<'_, P>,
    lines: &[Line],
    is_whole: bool,
    watch: &mut dyn FnMut(Option<usize>, NodeId, &P),
) -> Result<u64, Objection> {
    let mut run = Replay::new(cast, lines);
    run.start(watch)?;
    run.look(0)?;
    let mut events = 0;
    while let Some((place, line)) = run.next()? {
        if run.take(place, line)? {
            run.look(place)?;
            watch(Some(place), line.node, &run.nodes[line.node.index()]);
            events += 1;
        }
    }
    if is_whole {
        run.end(lines.len())?;
    }
    Ok(events)
}

struct Replay<'a, P: Protocol> {
    cast: &'a Cast<'a, P>,
    nodes: Vec<P>,
    down: NodeSet,
    /// The remaining records of each node.
    ahead: Vec<VecDeque<(usize, &'a Line)>>,
    /// The effects of each node that were not matched with records yet.
    done: Vec<VecDeque<Effect<P>>>,
    timers: Vec<Vec<P::Timer>>,
    /// Messages that were sent and have not arrived, by sender, receiver and number; and how often
    /// each will.
    flight: BTreeMap<(NodeId, NodeId, u64), (P::Message, u32)>,
}

impl<'a, P: Protocol> Replay<'a, P> {
    fn new(cast: &'a Cast<'a, P>, lines: &'a [Line]) -> Self {
        let mut ahead = vec![VecDeque::new(); cast.size as usize];
        for (place, line) in lines.iter().enumerate() {
            if let Some(list) = ahead.get_mut(line.node.index()) {
                list.push_back((place, line));
            }
        }
        Self {
            cast,
            nodes: (0..cast.size).map(|id| (cast.fresh)(NodeId(id))).collect(),
            down: NodeSet::EMPTY,
            ahead,
            done: (0..cast.size).map(|_| VecDeque::new()).collect(),
            timers: vec![Vec::new(); cast.size as usize],
            flight: BTreeMap::new(),
        }
    }

    fn is_here(&self, id: NodeId) -> bool {
        self.cast.only.is_none_or(|only| only == id)
    }

    fn start(&mut self, watch: &mut dyn FnMut(Option<usize>, NodeId, &P)) -> Result<(), Objection> {
        for id in (0..self.cast.size).map(NodeId) {
            if self.is_here(id) {
                let place = self.ahead[id.index()].front().map_or(0, |&(place, _)| place);
                self.happen(place, id, Event::Start)?;
                watch(None, id, &self.nodes[id.index()]);
            }
        }
        Ok(())
    }

    /// The earliest record that can be next.
    fn next(&mut self) -> Result<Option<(usize, &'a Line)>, Objection> {
        let is_next = |(_, line): &(usize, &Line)| match line.what {
            What::Receive { from, seq, .. } if self.is_here(from) => {
                self.flight.contains_key(&(from, line.node, seq)) || self.down.contains(from)
            }
            _ => true,
        };
        let heads = || self.ahead.iter().filter_map(|list| list.front().copied());
        let next = heads().filter(is_next).min_by_key(|(place, line)| (line.at_ns, *place));
        match (next, heads().min_by_key(|&(place, _)| place)) {
            (Some(next), _) => {
                self.ahead[next.1.node.index()].pop_front();
                Ok(Some(next))
            }
            (None, None) => Ok(None),
            (None, Some((place, line))) => {
                Err(departed(place, line.node, said(line), "no node sent that".to_owned()))
            }
        }
    }

    /// Lets what was recorded happen; whether it was something that happened to a node, and not
    /// something that the node did.
    fn take(&mut self, place: usize, line: &Line) -> Result<bool, Objection> {
        let at = line.node;
        match &line.what {
            What::Command(command) => {
                let Some(command) = read(command) else {
                    let what = "there is no such command".to_owned();
                    return Err(departed(place, at, said(line), what));
                };
                self.up(place, line)?;
                self.happen(place, at, Event::Command(command))?;
            }
            What::Timer(timer) => {
                self.up(place, line)?;
                let timer = self.run_out(place, line, timer)?;
                self.happen(place, at, Event::Timer(timer))?;
            }
            What::Receive { from, seq, message } => {
                self.up(place, line)?;
                let message = self.arrived(place, line, (*from, *seq), message)?;
                self.happen(place, at, Event::Message { from: *from, message })?;
            }
            What::Send { to, seq, message: recorded } => {
                let sent = self.expect(place, line, |effect| match effect {
                    Effect::Send { to: whom, message } if whom == to => {
                        written(message) == recorded.data
                    }
                    Effect::Send { .. }
                    | Effect::Notify(_)
                    | Effect::SetTimer { .. }
                    | Effect::CancelTimer(_) => false,
                })?;
                if let Effect::Send { message, .. } = sent {
                    self.flight.insert((at, *to, *seq), (message, 1));
                }
                return Ok(false);
            }
            What::Notice(notice) => {
                self.expect(place, line, |effect| match effect {
                    Effect::Notify(done) => written(done) == *notice,
                    Effect::Send { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => false,
                })?;
                return Ok(false);
            }
            What::Lost { to, seq, .. } => {
                self.take_one(at, *to, *seq);
                return Ok(false);
            }
            What::Doubled { to, seq } => {
                if let Some((_, times)) = self.flight.get_mut(&(at, *to, *seq)) {
                    *times += 1;
                }
                return Ok(false);
            }
            // Random choices were answered when they were made.
            What::Choice(_) | What::Fault(_) => return Ok(false),
            What::Crash => self.crash(at),
            What::Restart => {
                self.down.remove(at);
                self.happen(place, at, Event::Restart)?;
            }
        }
        Ok(true)
    }

    /// A node that is down does nothing.
    fn up(&self, place: usize, line: &Line) -> Result<(), Objection> {
        if !self.down.contains(line.node) {
            return Ok(());
        }
        Err(departed(place, line.node, said(line), "the node is down".to_owned()))
    }

    /// Its last effects are unknown: a killed process writes no records.
    fn crash(&mut self, at: NodeId) {
        let node = &mut self.nodes[at.index()];
        *node = node.after_crash((self.cast.fresh)(at));
        self.down.insert(at);
        self.done[at.index()].clear();
        self.timers[at.index()].clear();
    }

    fn run_out(&mut self, place: usize, line: &Line, timer: &Value) -> Result<P::Timer, Objection> {
        let timers = &mut self.timers[line.node.index()];
        if let Some(found) = timers.iter().position(|it| written(it) == *timer) {
            return Ok(timers.swap_remove(found));
        }
        let set: Vec<String> = timers.iter().map(|it| format!("{it:?}")).collect();
        let what = match &set[..] {
            [] => "no timer is set".to_owned(),
            set => format!("only {} is set", set.join(", ")),
        };
        Err(departed(place, line.node, said(line), what))
    }

    /// The message that was sent, or the recorded one where the send was not recorded.
    fn arrived(
        &mut self,
        place: usize,
        line: &Line,
        (from, seq): (NodeId, u64),
        recorded: &LineMessage,
    ) -> Result<P::Message, Objection> {
        let at = line.node;
        if let Some(sent) = self.take_one(from, at, seq) {
            if written(&sent) == recorded.data {
                return Ok(sent);
            }
            let what = format!("{from} -> {at} {sent} arrives, as it was sent");
            return Err(departed(place, at, said(line), what));
        }
        let read = (self.cast.read)(&self.nodes[at.index()], &recorded.data);
        read.ok_or_else(|| {
            let why = format!("what node {from} did was not recorded, and '{}'", recorded.text);
            Objection::Unknown(place, format!("{why} is no message that node {at} can read"))
        })
    }

    fn take_one(&mut self, from: NodeId, to: NodeId, seq: u64) -> Option<P::Message> {
        let key = (from, to, seq);
        match self.flight.get_mut(&key)? {
            (message, times) if *times > 1 => {
                *times -= 1;
                Some(message.clone())
            }
            _ => self.flight.remove(&key).map(|(message, _)| message),
        }
    }

    fn happen(&mut self, place: usize, at: NodeId, event: Event<P>) -> Result<(), Objection> {
        if let Some(left) = self.done[at.index()].front() {
            let next = self.ahead[at.index()].front().map(|&(_, line)| line);
            let recorded = next.map_or_else(|| "something else happens".to_owned(), said);
            return Err(departed(place, at, recorded, shown(at, left)));
        }
        // Random choices are recorded between this event and the next.
        let own = self.ahead[at.index()].iter().take_while(|(_, line)| !line.what.is_event());
        let mut choices: VecDeque<u32> = own
            .filter_map(|(_, line)| match line.what {
                What::Choice(value) => Some(value),
                _ => None,
            })
            .collect();
        let mut is_short = false;
        let mut outbox = Outbox::new(|bound: NonZeroU32| match choices.pop_front() {
            Some(value) if value < bound.get() => value,
            Some(_) | None => {
                is_short = true;
                0
            }
        });
        let handled = self.nodes[at.index()].handle(event, &mut outbox);
        let effects = outbox.take();
        drop(outbox);
        if let Err(refused) = handled {
            let what = format!("the node refuses it: {refused}");
            return Err(departed(place, at, "it is obeyed".to_owned(), what));
        }
        if is_short || !choices.is_empty() {
            let (recorded, replayed) = if is_short {
                ("no matching random choice follows", "the node draws")
            } else {
                ("a random choice is made", "the node draws nothing more")
            };
            return Err(departed(place, at, recorded.to_owned(), replayed.to_owned()));
        }
        for effect in effects {
            let timers = &mut self.timers[at.index()];
            match effect {
                Effect::SetTimer { timer, .. } => {
                    timers.retain(|it| *it != timer);
                    timers.push(timer);
                }
                Effect::CancelTimer(timer) => timers.retain(|it| *it != timer),
                Effect::Send { .. } | Effect::Notify(_) => self.done[at.index()].push_back(effect),
            }
        }
        Ok(())
    }

    fn expect(
        &mut self,
        place: usize,
        line: &Line,
        is_it: impl Fn(&Effect<P>) -> bool,
    ) -> Result<Effect<P>, Objection> {
        let at = line.node;
        match self.done[at.index()].pop_front() {
            Some(effect) if is_it(&effect) => Ok(effect),
            Some(other) => Err(departed(place, at, said(line), shown(at, &other))),
            None => Err(departed(place, at, said(line), "the node does nothing more".to_owned())),
        }
    }

    /// Whether no node did more than was recorded.
    fn end(&self, place: usize) -> Result<(), Objection> {
        for (at, done) in (0..).map(NodeId).zip(&self.done) {
            if let Some(left) = done.front() {
                let recorded = "the run is over".to_owned();
                return Err(departed(place, at, recorded, shown(at, left)));
            }
        }
        Ok(())
    }

    /// Judges all nodes and all messages: those recorded, and those that nodes have just sent.
    fn look(&self, place: usize) -> Result<(), Objection> {
        if self.cast.guards.is_empty() {
            return Ok(());
        }
        let recorded = self.flight.iter();
        let recorded = recorded.map(|((from, to, _), (message, _))| (*from, *to, message));
        let by_node = (0..).map(NodeId).zip(&self.done);
        let just_sent = by_node.flat_map(|(from, done)| {
            done.iter().filter_map(move |effect| match effect {
                Effect::Send { to, message } => Some((from, *to, message)),
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Notify(_) => None,
            })
        });
        let flight = recorded.chain(just_sent).collect();
        let situation = Situation::new(self.nodes.iter().collect(), self.down.clone(), flight);
        situation.judge(self.cast.guards).map_err(|violation| Objection::Violated(place, violation))
    }
}

fn departed(place: usize, at: NodeId, recorded: String, replayed: String) -> Objection {
    Objection::Departed { place, at, recorded, replayed }
}

fn written(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("what happens in a run can be written as JSON")
}

/// The recorded event, as text.
pub fn said(line: &Line) -> String {
    let at = line.node;
    match &line.what {
        What::Command(command) => format!("{at} is told {command}"),
        What::Notice(notice) => format!("{at} tells {notice}"),
        What::Send { to, message, .. } => format!("{at} -> {to} {} is sent", message.text),
        What::Receive { from, message, .. } => {
            format!("{from} -> {at} {} arrives", message.text)
        }
        What::Timer(timer) => format!("timer {timer} of {at} runs out"),
        What::Choice(value) => format!("{at} draws {value}"),
        What::Lost { to, seq, .. } => format!("message {seq} from {at} to {to} is lost"),
        What::Doubled { to, seq } => format!("message {seq} from {at} to {to} is duplicated"),
        What::Crash => format!("{at} crashes"),
        What::Restart => format!("{at} restarts"),
        What::Fault(fault) => format!("{at}: {fault}"),
    }
}

/// The same of what a machine does.
fn shown<P: Protocol>(at: NodeId, effect: &Effect<P>) -> String {
    match effect {
        Effect::Send { to, message } => format!("{at} -> {to} {message} is sent"),
        Effect::Notify(notice) => format!("{at} tells {}", written(notice)),
        Effect::SetTimer { timer, .. } => format!("{at} sets {timer:?}"),
        Effect::CancelTimer(timer) => format!("{at} cancels {timer:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde::{Deserialize, Serialize};
    use vorrang_algorithms::mutex::central::{self, Central, Message};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::{Delay, Effects, Group, Never, Refused};

    use super::*;
    use crate::record::{Loss, Record};

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn record<P: Protocol>(at_ns: u64, node: u32, what: What<P>) -> Record<P> {
        Record { at_ns, node: NodeId(node), what }
    }

    /// Node 0 enters, with the key of node 1; the clocks of the two are apart.
    fn run() -> Vec<Record<Central>> {
        let request = Message::Request { number: 1 };
        let reply = Message::Reply { number: 1 };
        let (to, from) = (NodeId(1), NodeId(0));
        vec![
            record(3, 1, What::Receive { from, seq: 0, message: request }),
            record(4, 1, What::Send { to: from, seq: 0, message: reply }),
            record(5, 0, What::Command(ACQUIRE)),
            record(6, 0, What::Send { to, seq: 0, message: request }),
            record(7, 0, What::Receive { from: to, seq: 0, message: reply }),
            record(8, 0, What::Notice(Notice::Entered)),
        ]
    }

    fn again(
        records: &[Record<Central>],
        only: Option<u32>,
        guards: &[Guard<Central>],
    ) -> Result<u64, Objection> {
        let group = Group::of(2);
        let fresh = |id| Central::new(id, group);
        let cast = Cast::new(2, &fresh).only(only.map(NodeId)).guarded(guards);
        let lines: Vec<Line> = records.iter().map(Line::from).collect();
        replay(&cast, &lines, true, &mut |_, _, _| {})
    }

    #[test]
    fn what_was_recorded_is_done_once_more_whatever_the_clocks_say() {
        let guards: Vec<_> = central::INVARIANTS.iter().map(Into::into).collect();
        assert_eq!(again(&run(), None, &guards), Ok(3));
    }

    #[test]
    fn what_the_machines_would_not_do_is_found() {
        let departs = |change: fn(&mut Vec<Record<Central>>), why: &str| {
            let mut records = run();
            change(&mut records);
            let objection = again(&records, None, &[]).unwrap_err().to_string();
            assert!(objection.contains(why), "{objection}");
        };
        departs(|it| it.truncate(1), "no node sent that");
        departs(|it| it[2].what = What::Notice(Notice::Entered), "the node does nothing more");
        departs(|it| it.insert(6, record(9, 0, What::Command(ACQUIRE))), "the node refuses it");
        departs(
            |it| {
                let message = Message::Request { number: 7 };
                it[0].what = What::Receive { from: NodeId(0), seq: 0, message };
            },
            "record 0: at node 1, 0 -> 1 REQUEST(7) arrives; in the replay, 0 -> 1 REQUEST(1) \
             arrives, as it was sent",
        );
        departs(
            |it| it[1].what = What::Notice(Notice::Entered),
            "record 1: at node 1, 1 tells \"entered\"; in the replay, 1 -> 0 REPLY(1) is sent",
        );
        departs(
            |it| it.truncate(5),
            "record 5: at node 0, the run is over; in the replay, 0 tells \"entered\"",
        );
        departs(
            |it| it.insert(5, record(7, 0, What::Choice(1))),
            "a random choice is made; in the replay, the node draws nothing more",
        );
        departs(|it| it.insert(3, record(5, 0, What::Crash)), "the node does nothing more");
    }

    #[test]
    fn what_went_wrong_goes_wrong_once_more() {
        let request = Message::Request { number: 1 };
        let (to, seq) = (NodeId(1), 0);
        let sent = [
            record(1, 0, What::Command(ACQUIRE)),
            record(1, 0, What::Send { to, seq, message: request }),
        ];
        let lost = [record(2, 0, What::Lost { to, seq, why: Loss::Network })];
        assert_eq!(again(&[&sent[..], &lost].concat(), None, &[]), Ok(1));
        let arrives = record(3, 1, What::Receive { from: NodeId(0), seq, message: request });
        let all = [&sent[..], &lost, &[arrives]].concat();
        let objection = again(&all, None, &[]).unwrap_err().to_string();
        assert!(objection.ends_with("in the replay, no node sent that"), "{objection}");
        // It forgets that it has asked, and asks for the first time once more.
        let down = [record(4, 0, What::Crash), record(5, 0, What::Restart)];
        assert_eq!(again(&[&sent[..], &down].concat(), None, &[]), Ok(3));
        let asleep = [record(4, 0, What::Crash), record(5, 0, What::Command(ACQUIRE))];
        let objection = again(&[&sent[..], &asleep].concat(), None, &[]).unwrap_err().to_string();
        assert!(objection.ends_with("the node is down"), "{objection}");
    }

    #[test]
    fn one_node_alone_is_done_once_more_too() {
        let alone: Vec<_> = run().into_iter().filter(|it| it.node == NodeId(0)).collect();
        assert_eq!(again(&alone, Some(0), &[]), Ok(2));
        let mut other = alone;
        let message = Message::Reply { number: 9 };
        other[2].what = What::Receive { from: NodeId(1), seq: 0, message };
        let objection = again(&other, Some(0), &[]).unwrap_err().to_string();
        assert!(objection.contains("the node does nothing more"), "{objection}");
    }

    #[test]
    fn what_must_hold_is_looked_at_on_the_way() {
        let never = Guard::new("never waits", |at: &Situation<'_, Central>| {
            let waits = at.messages().count() > 0;
            if waits { Err("a message is under way".to_owned()) } else { Ok(()) }
        });
        let objection = again(&run(), None, &[never]).unwrap_err();
        assert!(matches!(objection, Objection::Violated(2, _)), "{objection}");
    }

    /// Tells what comes up.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    struct Dice;

    impl Protocol for Dice {
        type Message = central::Message;
        type Timer = Never;
        type Command = ();
        type Notice = u32;

        fn on_command(&mut self, (): (), fx: &mut impl Effects<Self>) -> Result<(), Refused> {
            let came_up = fx.choose(NonZeroU32::MIN.saturating_add(5));
            fx.notify(came_up);
            Ok(())
        }
        fn on_message(&mut self, _: NodeId, _: Message, _: &mut impl Effects<Self>) {}
        fn on_timer(&mut self, timer: Never, _: &mut impl Effects<Self>) {
            match timer {}
        }
    }

    #[test]
    fn what_came_up_by_lot_comes_up_once_more() {
        let throw = |value, told| {
            [
                record::<Dice>(1, 0, What::Command(())),
                record(1, 0, What::Choice(value)),
                record(1, 0, What::Notice(told)),
            ]
        };
        let again = |records: &[Record<Dice>]| {
            let fresh = |_| Dice;
            let lines: Vec<Line> = records.iter().map(Line::from).collect();
            let watch = &mut |_: Option<usize>, _, _: &Dice| {};
            replay(&Cast::new(1, &fresh), &lines, true, watch)
        };
        assert_eq!(again(&[throw(3, 3), throw(5, 5)].concat()), Ok(2));
        assert!(again(&throw(3, 4)).unwrap_err().to_string().contains("0 tells 3"));
        let objection = again(&throw(6, 6)).unwrap_err().to_string();
        assert!(objection.contains("no matching random choice follows"), "{objection}");
    }

    /// Is reminded once of what it is told.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Alarm;

    impl Protocol for Alarm {
        type Message = central::Message;
        type Timer = u32;
        type Command = u32;
        type Notice = u32;

        fn on_command(&mut self, of: u32, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
            fx.set_timer(of, Delay::exactly(Duration::from_millis(1)));
            Ok(())
        }
        fn on_message(&mut self, _: NodeId, _: Message, _: &mut impl Effects<Self>) {}
        fn on_timer(&mut self, of: u32, fx: &mut impl Effects<Self>) {
            fx.notify(of);
        }
    }

    #[test]
    fn a_timer_does_not_outlive_a_crash() {
        let again = |between: &[What<Alarm>]| {
            let set = [What::Command(7)];
            let rings = [What::Timer(7), What::Notice(7)];
            let all = [&set, between, &rings].concat();
            let lines: Vec<Line> = (1..)
                .zip(all)
                .map(|(at_ns, what)| Line::from(&record::<Alarm>(at_ns, 0, what)))
                .collect();
            let watch = &mut |_: Option<usize>, _, _: &Alarm| {};
            replay(&Cast::new(1, &|_| Alarm), &lines, true, watch)
        };
        assert_eq!(again(&[]), Ok(2));
        let objection = again(&[What::Crash, What::Restart]).unwrap_err().to_string();
        assert!(objection.ends_with("in the replay, no timer is set"), "{objection}");
    }
}
