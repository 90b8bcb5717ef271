//! Nodes driven by hand: a script of commands and deliveries, and what came of each.
//!
//! ```text
//! acquire 1              the application at node 1 asks
//!   1 -> 0 REQUEST(1)
//! deliver 1->0           the oldest message from 1 to 0 arrives
//!   0 -> 1 REPLY(1, clock 1)
//! settle                 all messages arrive, oldest first, until none is left
//!   1 entered
//! rest                   nothing more will happen: is anything still owed?
//! ```
//!
//! Whoever is inside is bound to leave: as long as others wait for that, nothing rests.
//!
//! Lines at the margin are the script; indented lines are the answers. So a run can be kept in a
//! file that reads as prose, and a counterexample that the checker prints is a script too: `deliver
//! 0->1 REPLY(1, clock 1)` names the message where several are under way.
//!
//! | line | what happens |
//! | --- | --- |
//! | `COMMAND 1` | the application at node 1 asks for something |
//! | `deliver 1->0 TEXT` | the oldest message from 1 to 0 that begins so arrives |
//! | `lose 1->0 TEXT` | the message never arrives |
//! | `duplicate 1->0 TEXT` | it arrives, and will arrive again |
//! | `timer 2 NAME` | a timer of node 2 runs out |
//! | `crash 2`, `restart 2` | node 2 goes down with all its timers; it comes up again |
//! | `settle` | all messages arrive, oldest first, until none is left |
//! | `rest` | nothing more will happen: is anything still owed? |
//! | `choose 1 0` | what the next step is answered if it asks; also at the end of its own line |

mod line;
mod next;

use std::fmt::{Display, Write as _};
use std::num::NonZeroU32;
use std::str::FromStr;

pub use line::{Line, Says, Which};
use vorrang_protocol::{
    Effect, Event, Guard, Monitor, NodeId, NodeSet, Occurrence, Order, Outbox, Prefix, Protocol,
    Situation, Transition, Violation,
};

/// So many deliveries, and messages that only beget messages will never settle.
const MOST_TO_SETTLE: usize = 10_000;

/// A group of nodes, the messages between them, and a monitor.
#[derive(Clone, Debug)]
pub struct Stage<P: Protocol, M: Monitor> {
    nodes: Vec<P>,
    /// As they were before they started: what a node that lost its memory comes up with.
    fresh: Vec<P>,
    down: NodeSet,
    order: Order,
    flight: Vec<Envelope<P, M::Tag>>,
    timers: Vec<(NodeId, P::Timer)>,
    /// Answers to the choices of the next step.
    told: Vec<u32>,
    monitor: M,
    invariants: Vec<Guard<P>>,
    violation: Option<Violation>,
    messages: usize,
    said: String,
    /// How its nodes came up, and every single step.
    prefix: Prefix<P>,
    /// What each of them did when it came up.
    start_effects: Vec<Vec<Effect<P>>>,
    /// What came of each step.
    step_effects: Vec<Vec<Effect<P>>>,
    /// After how many steps the violation came.
    violated_after: usize,
}

#[derive(Clone, Debug)]
struct Envelope<P: Protocol, T> {
    from: NodeId,
    to: NodeId,
    message: P::Message,
    tag: T,
}

impl<P, M> Stage<P, M>
where
    P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    /// The nodes come up, in order.
    pub fn new(nodes: impl IntoIterator<Item = P>, monitor: M) -> Self {
        let nodes: Vec<P> = nodes.into_iter().collect();
        let mut stage = Self {
            fresh: nodes.clone(),
            nodes,
            down: NodeSet::EMPTY,
            order: Order::Any,
            flight: Vec::new(),
            timers: Vec::new(),
            told: Vec::new(),
            monitor,
            invariants: Vec::new(),
            violation: None,
            messages: 0,
            said: String::new(),
            prefix: Prefix { starts: Some(Vec::new()), steps: Vec::new() },
            start_effects: Vec::new(),
            step_effects: Vec::new(),
            violated_after: 0,
        };
        for id in 0..stage.nodes.len() {
            stage.happen(NodeId(id as u32), Event::Start, None).expect("a start is never refused");
        }
        stage
    }

    /// Which of the messages from one node to another may arrive: any, by default.
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Judges by these invariants now and after every step.
    #[must_use]
    pub fn guarded(mut self, invariants: impl IntoIterator<Item = impl Into<Guard<P>>>) -> Self {
        self.invariants = invariants.into_iter().map(Into::into).collect();
        self.judge();
        self
    }

    /// All that was done, as the checker can do it again: `settle` is the deliveries that it was.
    pub const fn prefix(&self) -> &Prefix<P> {
        &self.prefix
    }

    /// What every node did when it came up.
    pub fn start_effects(&self) -> &[Vec<Effect<P>>] {
        &self.start_effects
    }

    /// What came of every single step, in the order of [`Stage::prefix`].
    pub fn step_effects(&self) -> &[Vec<Effect<P>>] {
        &self.step_effects
    }

    /// Plays a script and returns it with new answers.
    ///
    /// # Errors
    ///
    /// If a line is not a step that can be taken; the error names it.
    pub fn play(&mut self, script: &str) -> Result<String, String> {
        let mut written = String::new();
        for (index, line) in script.lines().enumerate() {
            if line.starts_with(char::is_whitespace) {
                continue;
            }
            written.push_str(line.trim_end());
            written.push('\n');
            let step = line.split('#').next().unwrap_or_default().trim();
            if !step.is_empty() {
                self.step(step).map_err(|why| format!("line {}, '{step}': {why}", index + 1))?;
                written.push_str(&self.said);
            }
        }
        Ok(written)
    }

    /// Takes one step of a script.
    ///
    /// # Errors
    ///
    /// If it cannot be taken; then nothing has changed.
    pub fn step(&mut self, step: &str) -> Result<(), String> {
        let Line { says, choices } = Line::read(step, self.nodes.len())?;
        let told = self.told.len();
        self.told.extend(choices);
        if says == Says::Settle && !self.told.is_empty() {
            self.told.truncate(told);
            return Err("settle is many steps: choose for each of them".to_owned());
        }
        self.said.clear();
        let taken = self.take(says);
        if taken.is_err() {
            self.told.truncate(told);
        }
        taken
    }

    fn take(&mut self, says: Says<'_>) -> Result<(), String> {
        match says {
            Says::Choose => return Ok(()),
            Says::Settle => return self.settle(),
            Says::Rest => {
                self.check_silence()?;
                if let Err(violation) = self.monitor.at_rest() {
                    if let Some(unfinished) = self.monitor.unfinished() {
                        return Err(unfinished);
                    }
                    self.object(violation);
                }
            }
            Says::Deliver(which) => {
                let place = self.find(which)?;
                self.deliver(place)?;
            }
            Says::Duplicate(which) => {
                let place = self.find(which)?;
                self.check_up(which.to)?;
                let Envelope { from, to, message, tag } = self.flight[place].clone();
                let what = Occurrence::Duplicate { from, to, message: message.clone() };
                self.arrive(what, from, to, message, &tag)?;
            }
            Says::Lose(which) => {
                let place = self.find(which)?;
                // A message to the dead is lost as it is.
                self.check_up(which.to)?;
                let Envelope { from, to, message, .. } = self.flight.remove(place);
                self.remember(Occurrence::Lose { from, to, message }.into(), &[]);
                self.judge();
            }
            Says::Timer(id, name) => {
                let armed =
                    |(at, timer): &(NodeId, P::Timer)| *at == id && format!("{timer:?}") == name;
                let place = self.timers.iter().position(armed).ok_or("no such timer is armed")?;
                let armed = self.timers.remove(place);
                let what = Occurrence::Timer { at: id, timer: armed.1 };
                if let Err(why) = self.happen(id, Event::Timer(armed.1), Some(what)) {
                    self.timers.insert(place, armed);
                    return Err(why);
                }
            }
            Says::Crash(id) => self.crash(id)?,
            Says::Restart(id) => {
                if !self.down.contains(id) {
                    return Err(format!("node {id} is not down"));
                }
                let what = Occurrence::Restart { at: id };
                let before = self.monitor.clone();
                self.monitor.on_restart(id);
                self.down.remove(id);
                if let Err(why) = self.happen(id, Event::Restart, Some(what)) {
                    self.monitor = before;
                    self.down.insert(id);
                    return Err(why);
                }
            }
            Says::Command(id, words) => {
                let command: P::Command = words.parse().map_err(|why| format!("{why}"))?;
                self.check_up(id)?;
                let what = Occurrence::Command { at: id, command: command.clone() };
                self.happen(id, Event::Command(command), Some(what))?;
            }
        }
        Ok(())
    }

    /// The output of the last step, a line each, indented.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// The first violation.
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// After how many single steps the first violation came, if there is one.
    pub const fn violated_after(&self) -> usize {
        self.violated_after
    }

    /// How many messages have been sent between different nodes.
    pub const fn messages(&self) -> usize {
        self.messages
    }

    fn settle(&mut self) -> Result<(), String> {
        for _ in 0..MOST_TO_SETTLE {
            if self.flight.is_empty() {
                return Ok(());
            }
            self.deliver(0)?;
        }
        self.say(format_args!("... after {MOST_TO_SETTLE} messages it has not settled"));
        Ok(())
    }

    fn check_silence(&self) -> Result<(), String> {
        // Messages to a crashed node are never delivered.
        let arrives = |it: &&Envelope<P, M::Tag>| !self.down.contains(it.to);
        match (self.flight.iter().filter(arrives).count(), self.timers.len()) {
            (0, 0) => Ok(()),
            (0, 1) => Err("a timer is still armed".to_owned()),
            (0, timers) => Err(format!("{timers} timers are still armed")),
            (1, _) => Err("1 message is still under way".to_owned()),
            (messages, _) => Err(format!("{messages} messages are still under way")),
        }
    }

    fn check_up(&self, id: NodeId) -> Result<(), String> {
        if self.down.contains(id) { Err(format!("node {id} is down")) } else { Ok(()) }
    }

    /// The place of the oldest message that is meant.
    fn find(&self, Which { from, to, text }: Which<'_>) -> Result<usize, String> {
        let mut prefixed = None;
        let mut oldest = None;
        for (place, it) in self.flight.iter().enumerate() {
            if (it.from, it.to) != (from, to) {
                continue;
            }
            let shown = it.message.to_string();
            let is_first = oldest.is_none();
            oldest.get_or_insert_with(|| shown.clone());
            let may_arrive = is_first || self.order == Order::Any;
            if may_arrive && shown == text {
                return Ok(place);
            }
            if may_arrive && prefixed.is_none() && shown.starts_with(text) {
                prefixed = Some(place);
            }
        }
        prefixed.ok_or_else(|| match (oldest, self.order) {
            (Some(oldest), Order::Fifo) => {
                format!("messages from {from} to {to} keep their order: first comes {oldest}")
            }
            (Some(_), Order::Any) | (None, _) => {
                format!("no such message is under way from {from} to {to}")
            }
        })
    }

    fn deliver(&mut self, place: usize) -> Result<(), String> {
        let Envelope { from, to, message, tag } = self.flight[place].clone();
        // It is taken away first, so that what the node sends comes after all the others.
        let taken = self.flight.remove(place);
        let what = Occurrence::Deliver { from, to, message: message.clone() };
        let arrived = self.arrive(what, from, to, message, &tag);
        if arrived.is_err() {
            self.flight.insert(place, taken);
        }
        arrived
    }

    fn arrive(
        &mut self,
        what: Occurrence<P>,
        from: NodeId,
        to: NodeId,
        message: P::Message,
        tag: &M::Tag,
    ) -> Result<(), String> {
        if self.down.contains(to) {
            self.say(format_args!("{from} -> {to} {message} vanishes: node {to} is down"));
            self.remember(what.into(), &[]);
            return Ok(());
        }
        let before = self.monitor.clone();
        self.monitor.on_receive(to, tag);
        let arrived = self.happen(to, Event::Message { from, message }, Some(what));
        if arrived.is_err() {
            self.monitor = before;
        }
        arrived
    }

    fn crash(&mut self, id: NodeId) -> Result<(), String> {
        self.check_up(id)?;
        self.remember(Occurrence::Crash { at: id }.into(), &[]);
        self.down.insert(id);
        for (_, timer) in self.timers.extract_if(.., |(at, _)| *at == id) {
            let _ = writeln!(self.said, "  {id} forgets {timer:?}");
        }
        let node = &mut self.nodes[id.index()];
        *node = node.after_crash(self.fresh[id.index()].clone());
        self.monitor.on_crash(id);
        self.judge();
        Ok(())
    }

    /// Something happens to a node: a step, or its start. If it is refused, or the answers to its
    /// choices do not fit, nothing has changed.
    fn happen(
        &mut self,
        at: NodeId,
        event: Event<P>,
        step: Option<Occurrence<P>>,
    ) -> Result<(), String> {
        let mut asked: Vec<NonZeroU32> = Vec::new();
        let told = &self.told;
        let mut fx = Outbox::new(|bound: NonZeroU32| {
            asked.push(bound);
            let answer = told.get(asked.len() - 1).copied().unwrap_or(0);
            answer.min(bound.get() - 1)
        });
        let command = match &event {
            Event::Command(command) => Some(command.clone()),
            Event::Start | Event::Restart | Event::Message { .. } | Event::Timer(_) => None,
        };
        let mut node = self.nodes[at.index()].clone();
        node.handle(event, &mut fx).map_err(|refused| refused.to_string())?;
        let effects = fx.take();
        drop(fx);
        let choices = self.answers(at, &asked)?;
        if let Some(what) = step {
            self.remember(Transition { what, choices }, &effects);
        } else {
            self.prefix.starts.get_or_insert_default().push(choices);
            self.start_effects.push(effects.clone());
        }
        self.nodes[at.index()] = node;
        if let Some(Err(violation)) = command.map(|it| self.monitor.on_command(at, &it)) {
            self.object(violation);
        }
        for effect in effects {
            self.apply(at, effect);
        }
        self.judge();
        Ok(())
    }

    fn remember(&mut self, step: Transition<P>, effects: &[Effect<P>]) {
        self.prefix.steps.push(step);
        self.step_effects.push(effects.to_vec());
    }

    /// Uses up what was told, and says what was chosen.
    fn answers(&mut self, at: NodeId, asked: &[NonZeroU32]) -> Result<Vec<u32>, String> {
        let mut told = std::mem::take(&mut self.told);
        let wrong = told.iter().zip(asked).find(|(answer, bound)| **answer >= bound.get());
        let why = match wrong {
            Some((answer, bound)) => format!("choose {answer}: it must be below {bound}"),
            None if told.len() > asked.len() => {
                format!("choose: it asks {} times, not {}", asked.len(), told.len())
            }
            None => {
                told.resize(asked.len(), 0);
                for (answer, bound) in told.iter().zip(asked) {
                    self.say(format_args!("{at} chooses {answer}, below {bound}"));
                }
                return Ok(told);
            }
        };
        self.told = told;
        Err(why)
    }

    fn apply(&mut self, at: NodeId, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message } => {
                self.say(format_args!("{at} -> {to} {message}"));
                self.messages += usize::from(at != to);
                let tag = self.monitor.on_send(at);
                self.flight.push(Envelope { from: at, to, message, tag });
            }
            Effect::Notify(notice) => {
                self.say(format_args!("{at} {notice}"));
                if let Err(violation) = self.monitor.on_notice(at, &notice) {
                    self.object(violation);
                }
            }
            Effect::SetTimer { timer, .. } => {
                self.say(format_args!("{at} sets {timer:?}"));
                self.timers.retain(|armed| *armed != (at, timer));
                self.timers.push((at, timer));
            }
            Effect::CancelTimer(timer) => self.timers.retain(|armed| *armed != (at, timer)),
        }
    }

    /// Objects if an invariant does not hold.
    fn judge(&mut self) {
        if self.invariants.is_empty() {
            return;
        }
        let flight = self.flight.iter().map(|it| (it.from, it.to, &it.message)).collect();
        let situation = Situation::new(self.nodes.iter().collect(), self.down.clone(), flight);
        let judged = situation.judge(&self.invariants);
        if let Err(violation) = judged {
            self.object(violation);
        }
    }

    fn object(&mut self, violation: Violation) {
        self.say(format_args!("VIOLATION {violation}"));
        if self.violation.is_none() {
            self.violation = Some(violation);
            self.violated_after = self.prefix.steps.len();
        }
    }

    fn say(&mut self, what: std::fmt::Arguments<'_>) {
        writeln!(self.said, "  {what}").expect("a string can be written to");
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher as _};
    use std::time::Duration;

    use vorrang_algorithms::election;
    use vorrang_algorithms::election::bully::{self, Bully};
    use vorrang_algorithms::election::spec::{Leadership, Promise};
    use vorrang_algorithms::mutex::central::{self, Central};
    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
    use vorrang_algorithms::mutex::spec::Exclusion;
    use vorrang_erased::AnyNode;
    use vorrang_protocol::{Effects, Group, Invariant, Never, Refused};

    use super::*;

    fn stage() -> Stage<RicartAgrawala, Exclusion> {
        let group = Group::of(2);
        let nodes = group.members().map(|id| RicartAgrawala::new(id, group));
        Stage::new(nodes, Exclusion::default())
    }

    fn steps<P, M>(stage: &Stage<P, M>) -> Vec<String>
    where
        P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
        M: Monitor<Command = P::Command, Notice = P::Notice>,
    {
        stage.prefix().steps.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_script_is_played_and_answered() {
        let script = "acquire 1  # asks\ndeliver 1->0\nsettle\n";
        let played = stage().play(script).unwrap();
        assert_eq!(
            played,
            "acquire 1  # asks\n  1 -> 0 REQUEST(1)\n\
             deliver 1->0\n  0 -> 1 REPLY(1, clock 1)\n\
             settle\n  1 entered\n"
        );
        assert_eq!(stage().play(&played).unwrap(), played, "old answers are replaced");
    }

    #[test]
    fn a_step_that_cannot_be_taken_is_named() {
        let error = |script| stage().play(script).unwrap_err();
        assert_eq!(error("\nrelease 1"), "line 2, 'release 1': cannot release: not inside");
        assert!(error("deliver 0->1").contains("no such message is under way from 0 to 1"));
        assert!(error("acquire 7").contains("there is no node 7: the last is 1"));
        assert!(error("jump 0").contains("unknown command 'jump'"));
        assert!(error("deliver 0").contains("say deliver FROM->TO"));
    }

    #[test]
    fn a_message_can_be_named_where_several_are_under_way() {
        let mut stage = stage();
        stage.play("acquire 0\nacquire 1\nsettle\nrelease 0\nacquire 0").unwrap();
        stage.step("deliver 0->1 REQUEST(2)").unwrap();
        stage.step("deliver 0->1 REPLY").unwrap();
        assert_eq!(stage.said, "  1 entered\n");
    }

    #[test]
    fn a_step_that_cannot_be_taken_changes_nothing() {
        let mut stage = stage();
        stage.play("acquire 0\ncrash 1").unwrap();
        let before = format!("{stage:?}");
        for step in ["acquire 0", "acquire 1", "crash 1", "restart 0", "lose 1->0", "x"] {
            stage.step(step).unwrap_err();
            stage.said.clear();
            assert_eq!(format!("{stage:?}"), before, "{step}");
        }
    }

    #[test]
    fn an_invariant_is_judged_after_every_step() {
        fn at_most_one(at: &Situation<'_, RicartAgrawala>) -> Result<(), String> {
            match at.messages().count() {
                0 | 1 => Ok(()),
                count => {
                    Err(format!("{count} messages, {} down", usize::from(at.up().count() < 2)))
                }
            }
        }
        let mut stage = stage().guarded(&[Invariant { name: "calm", holds: at_most_one }]);
        stage.step("acquire 0").unwrap();
        assert_eq!(stage.violation(), None);
        stage.step("acquire 1").unwrap();
        assert_eq!(stage.said, "  1 -> 0 REQUEST(1)\n  VIOLATION calm: 2 messages, 0 down\n");
        stage.step("crash 0").unwrap();
        assert_eq!(stage.said, "  VIOLATION calm: 2 messages, 1 down\n");
        stage.step("lose 0->1").unwrap();
        assert_eq!(stage.said, "");
        assert_eq!(stage.violation().unwrap().property, "calm");
    }

    #[test]
    fn messages_are_lost_and_doubled() {
        let script = "acquire 0\nduplicate 0->1\nlose 0->1\nsettle\n";
        let played = stage().play(script).unwrap();
        assert_eq!(
            played,
            "acquire 0\n  0 -> 1 REQUEST(1)\n\
             duplicate 0->1\n  1 -> 0 REPLY(1, clock 1)\n\
             lose 0->1\n\
             settle\n  0 entered\n"
        );
    }

    #[test]
    fn a_message_to_a_node_that_is_down_vanishes() {
        let mut stage = stage();
        let played = stage.play("acquire 0\ncrash 1\nsettle\nrest").unwrap();
        assert!(played.contains("settle\n  0 -> 1 REQUEST(1) vanishes: node 1 is down\n"));
        assert_eq!(stage.violation().unwrap().property, "progress");
        assert_eq!(stage.options(&[]), ["restart 1"]);
    }

    #[test]
    fn nothing_rests_while_something_can_arrive_or_run_out() {
        let error = |script| bullies().play(script).unwrap_err();
        assert!(error("elect 0\nrest").contains("2 messages are still under way"));
        assert!(error("crash 2\nelect 1\nrest").contains("a timer is still armed"));
        bullies().play("crash 2\nelect 1\ntimer 1 Answer\nlose 1->0\nrest").unwrap();
    }

    #[test]
    fn whoever_is_inside_is_bound_to_leave_before_anything_rests() {
        let mut stage = stage();
        stage.play("acquire 0\nsettle\nrest\nacquire 1\nsettle").unwrap();
        let before = steps(&stage);
        let why = stage.step("rest").unwrap_err();
        assert_eq!(why, "node 0 is inside and bound to leave: say release 0 first");
        assert_eq!((steps(&stage), stage.violation()), (before, None));
        stage.play("release 0\nsettle\nrest").unwrap();
        assert_eq!(stage.violation(), None, "node 1 is inside, and nobody waits");
    }

    #[test]
    fn links_that_keep_their_order_deliver_the_oldest_only() {
        let mut stage = stage().with_order(Order::Fifo);
        stage.play("acquire 0\nacquire 1\nsettle\nrelease 0\nacquire 0").unwrap();
        assert_eq!(stage.options(&[]), ["deliver 0->1 REPLY(1, clock 1)"]);
        let why = stage.step("deliver 0->1 REQUEST").unwrap_err();
        assert!(why.contains("keep their order: first comes REPLY(1"), "{why}");
        stage.step("deliver 0->1 REPLY").unwrap();
        stage.step("deliver 0->1 REQUEST").unwrap();
    }

    fn bullies() -> Stage<Bully, Leadership> {
        let group = Group::of(3);
        let nodes = group.members().map(|id| Bully::new(id, group, Duration::from_millis(1)));
        Stage::new(nodes, Leadership::new(group, Promise::Highest))
    }

    #[test]
    fn a_crash_takes_the_timers_and_a_restart_begins_anew() {
        let script = "elect 1\ncrash 1\nrestart 1\n";
        assert_eq!(
            bullies().play(script).unwrap(),
            "elect 1\n  1 -> 2 ELECTION(0)\n  1 sets Answer\n\
             crash 1\n  1 forgets Answer\n\
             restart 1\n  1 -> 2 ELECTION(0)\n  1 sets Answer\n"
        );
    }

    #[test]
    fn what_can_happen_next_is_what_can_be_said() {
        let mut stage = bullies();
        stage.play("crash 2\nelect 0\ndeliver 0->1").unwrap();
        let options = stage.options(&[election::Command::Elect]);
        assert_eq!(
            options,
            [
                "elect 0",
                "elect 1",
                "restart 2",
                "deliver 0->2 ELECTION(0)",
                "deliver 1->0 ANSWER(0)",
                "deliver 1->2 ELECTION(0)",
                "timer 0 Answer",
                "timer 1 Answer"
            ]
        );
        for option in options {
            stage.clone().step(&option).unwrap();
        }
        assert_eq!(stage.timers(), ["0 Answer", "1 Answer"]);
        assert_eq!(
            stage.flight(),
            ["0 -> 2 ELECTION(0)", "1 -> 0 ANSWER(0)", "1 -> 2 ELECTION(0)"]
        );
        let up: Vec<bool> = stage.nodes().map(|(_, is_up, _)| is_up).collect();
        assert_eq!(up, [true, true, false]);
    }

    #[test]
    fn steps_are_kept_one_by_one() {
        let mut stage = stage();
        stage.play("acquire 0\nsettle\nrest").unwrap();
        assert_eq!(
            steps(&stage),
            ["acquire 0", "deliver 0->1 REQUEST(1)", "deliver 1->0 REPLY(1, clock 1)"]
        );
    }

    /// Draws a card of so many when asked, and tells which; of one card, node 0 draws another.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Player;

    impl Protocol for Player {
        type Message = bully::Message;
        type Timer = Never;
        type Command = u32;
        type Notice = u32;

        fn on_command(&mut self, cards: u32, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
            let cards = NonZeroU32::new(cards).ok_or(Refused("there are no cards"))?;
            let card = fx.choose(cards);
            fx.notify(card);
            if cards == NonZeroU32::MIN {
                fx.send(NodeId(0), bully::Message::Election(0));
            }
            Ok(())
        }
        fn on_message(&mut self, _: NodeId, _: bully::Message, fx: &mut impl Effects<Self>) {
            let card = fx.choose(NonZeroU32::MIN.saturating_add(1));
            fx.notify(card);
        }
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Bystander {
        /// How many messages have arrived.
        heard: u32,
    }

    impl Monitor for Bystander {
        type Command = u32;
        type Notice = u32;
        type Tag = ();
        fn on_command(&mut self, _: NodeId, _: &u32) -> Result<(), Violation> {
            Ok(())
        }
        fn on_notice(&mut self, _: NodeId, _: &u32) -> Result<(), Violation> {
            Ok(())
        }
        fn at_rest(&self) -> Result<(), Violation> {
            Ok(())
        }
        fn on_receive(&mut self, _: NodeId, (): &()) {
            self.heard += 1;
        }
    }

    #[test]
    fn a_choice_is_said_and_can_be_told() {
        let mut stage = Stage::new([Player], Bystander { heard: 0 });
        let played = stage.play("9 0\n9 0 choose 3\nchoose 4\n9 0").unwrap();
        assert_eq!(
            played,
            "9 0\n  0 chooses 0, below 9\n  0 0\n\
             9 0 choose 3\n  0 chooses 3, below 9\n  0 3\n\
             choose 4\n9 0\n  0 chooses 4, below 9\n  0 4\n"
        );
        let error = stage.step("9 0 choose 9").unwrap_err();
        assert_eq!(error, "choose 9: it must be below 9");
        let last = stage.prefix().steps.last().unwrap();
        assert_eq!(last.what, Occurrence::Command { at: NodeId(0), command: 9 });
        assert_eq!(last.choices, [4]);
        let error = stage.step("9 0 choose 1 1").unwrap_err();
        assert_eq!(error, "choose: it asks 1 times, not 2");
        assert_eq!(steps(&stage), ["9 0 choose 0", "9 0 choose 3", "9 0 choose 4"]);
    }

    /// Plays a script with types and without, and requires the same of both.
    fn play<P, M>(nodes: &[P], monitor: &M, script: &str) -> String
    where
        P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
        M: Monitor<Command = P::Command, Notice = P::Notice>,
    {
        let mut plain = Stage::new(nodes.iter().cloned(), monitor.clone());
        let mut any = Stage::new(nodes.iter().cloned().map(AnyNode::new), monitor.clone());
        let played = any.play(script).unwrap();
        assert_eq!(plain.play(script).unwrap(), played);
        assert_eq!((plain.flight(), plain.timers()), (any.flight(), any.timers()));
        for ((_, _, plain), (_, _, any)) in plain.nodes().zip(any.nodes()) {
            assert_eq!(format!("{plain:?}"), format!("{any:?}"));
            assert_eq!(print(plain), print(any));
            assert_eq!(any.downcast_ref(), Some(plain));
        }
        played
    }

    fn print(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn a_node_without_its_type_does_what_it_did() {
        let group = Group::of(3);
        let nodes: Vec<_> = group.members().map(|id| RicartAgrawala::new(id, group)).collect();
        let script = "acquire 0\nacquire 2\ndeliver 2->1\nsettle\nrelease 0\nsettle\n";
        assert!(play(&nodes, &Exclusion::default(), script).contains("  2 entered\n"));
    }

    #[test]
    fn timers_crashes_and_restarts_are_passed_on() {
        let group = Group::of(3);
        let within = Duration::from_millis(1);
        let nodes: Vec<_> = group.members().map(|id| Bully::new(id, group, within)).collect();
        let script = "elect 0\ncrash 2\ndeliver 0->1\nsettle\ntimer 1 Answer\nrestart 2\n";
        let played = play(&nodes, &Leadership::new(group, Promise::Highest), script);
        assert!(played.contains("restart 2\n  2 -> 0 COORDINATOR"), "{played}");
    }

    #[test]
    fn an_invariant_judges_nodes_without_their_types() {
        let group = Group::of(2);
        let nodes = || group.members().map(|id| AnyNode::new(Central::new(id, group)));
        let guards = || central::INVARIANTS.iter().map(AnyNode::guard);
        let mut sound = Stage::new(nodes(), Exclusion::default()).guarded(guards());
        sound.play("acquire 0\nsettle\n").unwrap();
        assert_eq!(sound.violation(), None);
        let mut wrong = Stage::new(nodes(), Exclusion::default()).guarded(guards());
        wrong.play("acquire 0\nsettle\ncrash 1\nrestart 1\n").unwrap();
        assert_eq!(wrong.violation().unwrap().property, central::INVARIANTS[0].name);
    }

    #[test]
    fn a_monitor_is_told_who_has_come_up_again() {
        let mut stage = bullies();
        stage.play("crash 2\nrestart 2\nlose 2->0\ndeliver 2->1\nrest").unwrap();
        let what = "agreement: node 0 was not told that node 2 leads";
        assert_eq!(stage.violation().map(ToString::to_string).as_deref(), Some(what));
    }

    #[test]
    fn a_message_that_does_not_arrive_after_all_tells_nobody_anything() {
        let mut stage = Stage::new([Player, Player], Bystander { heard: 0 });
        stage.play("1 1").unwrap();
        stage.said.clear();
        let before = format!("{stage:?}");
        stage.step("deliver 1->0 choose 2").unwrap_err();
        stage.said.clear();
        assert_eq!(format!("{stage:?}"), before);
        stage.step("deliver 1->0 choose 1").unwrap();
        assert_eq!(stage.monitor, Bystander { heard: 1 });
    }
}
