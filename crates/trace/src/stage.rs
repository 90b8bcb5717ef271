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
//! The script is what stands at the margin; what is indented is the answer. So a run can be kept in
//! a file that reads as prose, and a counterexample that the checker prints is a script too:
//! `deliver 0->1 REPLY(1, clock 1)` names the message where several are under way.

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use vorrang_protocol::{Effect, Event, Monitor, NodeId, Outbox, Protocol, Violation};

/// A group of nodes, the messages between them, and a monitor.
#[derive(Clone, Debug)]
pub struct Stage<P: Protocol, M: Monitor> {
    nodes: Vec<P>,
    flight: Vec<Envelope<P, M::Tag>>,
    timers: Vec<(NodeId, P::Timer)>,
    monitor: M,
    violation: Option<Violation>,
    messages: usize,
    said: String,
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
        let mut stage = Self {
            nodes: nodes.into_iter().collect(),
            flight: Vec::new(),
            timers: Vec::new(),
            monitor,
            violation: None,
            messages: 0,
            said: String::new(),
        };
        for id in 0..stage.nodes.len() {
            stage.happen(NodeId(id as u32), Event::Start).expect("a start is never refused");
        }
        stage
    }

    /// Plays a script and returns it with the answers, whatever answers it had before.
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
    /// If it cannot be taken.
    pub fn step(&mut self, step: &str) -> Result<(), String> {
        self.said.clear();
        match step.split_once(' ').unwrap_or((step, "")) {
            ("settle", "") => {
                while !self.flight.is_empty() {
                    self.deliver(0);
                }
            }
            ("rest", "") => {
                if !self.flight.is_empty() {
                    return Err(format!("{} messages are still under way", self.flight.len()));
                }
                if let Err(violation) = self.monitor.at_rest() {
                    self.object(violation);
                }
            }
            ("deliver", which) => {
                let place = self.find(which)?;
                self.deliver(place);
            }
            ("timer", which) => {
                let armed = |(id, timer): &(NodeId, P::Timer)| format!("{id} {timer:?}") == which;
                let place = self.timers.iter().position(armed).ok_or("no such timer is armed")?;
                let (id, timer) = self.timers.remove(place);
                self.happen(id, Event::Timer(timer)).expect("a timer is never refused");
            }
            _ => self.command(step)?,
        }
        Ok(())
    }

    /// What the monitor objected to first.
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// How many messages have been sent between different nodes.
    pub const fn messages(&self) -> usize {
        self.messages
    }

    fn command(&mut self, step: &str) -> Result<(), String> {
        let (words, node) = step.rsplit_once(' ').ok_or("which node?")?;
        let id = self.node(node)?;
        let command: P::Command = words.parse().map_err(|why| format!("{why}"))?;
        self.happen(id, Event::Command(command))
    }

    /// The place of the oldest message that `1->2 Text` means.
    fn find(&self, which: &str) -> Result<usize, String> {
        let (link, text) = which.split_once(' ').unwrap_or((which, ""));
        let (from, to) = link.split_once("->").ok_or("say deliver FROM->TO")?;
        let (from, to) = (self.node(from)?, self.node(to)?);
        let is_meant = |it: &Envelope<P, M::Tag>| {
            it.from == from && it.to == to && it.message.to_string().starts_with(text)
        };
        let missing = || format!("no such message is under way from {from} to {to}");
        self.flight.iter().position(is_meant).ok_or_else(missing)
    }

    fn node(&self, text: &str) -> Result<NodeId, String> {
        let id = text.parse().map_err(|_| format!("'{text}' is not a node's number"))?;
        let last = self.nodes.len() - 1;
        if id as usize > last {
            return Err(format!("there is no node {id}: the last is {last}"));
        }
        Ok(NodeId(id))
    }

    fn deliver(&mut self, place: usize) {
        let Envelope { from, to, message, tag } = self.flight.remove(place);
        self.monitor.on_receive(to, &tag);
        self.happen(to, Event::Message { from, message }).expect("a message is never refused");
    }

    fn happen(&mut self, at: NodeId, event: Event<P>) -> Result<(), String> {
        let mut fx = Outbox::default();
        let command = match &event {
            Event::Command(command) => Some(command.clone()),
            Event::Start | Event::Restart | Event::Message { .. } | Event::Timer(_) => None,
        };
        self.nodes[at.index()].handle(event, &mut fx).map_err(|refused| refused.to_string())?;
        if let Some(Err(violation)) = command.map(|it| self.monitor.on_command(at, &it)) {
            self.object(violation);
        }
        for effect in fx.take() {
            self.apply(at, effect);
        }
        Ok(())
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

    fn object(&mut self, violation: Violation) {
        self.say(format_args!("VIOLATION {violation}"));
        self.violation.get_or_insert(violation);
    }

    fn say(&mut self, what: std::fmt::Arguments<'_>) {
        writeln!(self.said, "  {what}").expect("a string can be written to");
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
    use vorrang_algorithms::mutex::spec::Exclusion;
    use vorrang_protocol::Group;

    use super::*;

    fn stage() -> Stage<RicartAgrawala, Exclusion> {
        let group = Group::of(2);
        let nodes = group.members().map(|id| RicartAgrawala::new(id, group));
        Stage::new(nodes, Exclusion::default())
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
}
