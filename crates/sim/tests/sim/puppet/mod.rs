//! Nodes that do what a script tells them, so that tests can say exactly what happens.
#![allow(dead_code, reason = "not every test uses every string of the puppet")]

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Delay, Effects, Monitor, NodeId, Protocol, Refused, Step, Turn, Violation};
use vorrang_sim::{InMemoryRecorder, Load, Network, Report, Simulation, Turns};
use vorrang_trace::{Record, Summary, What};

/// Does what it is told, and tells what happens to it. Whatever it heard, it has forgotten after a
/// crash.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Puppet {
    pub(crate) heard: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    Ask,
    Enter,
    Leave,
    /// Send this number to that node.
    Tell(NodeId, u32),
    /// Set this timer, to run out after so many nanoseconds.
    Set(u8, u64),
    /// The same, anywhere between the two.
    SetBetween(u8, u64, u64),
    Cancel(u8),
    Choose(NonZeroU32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Notice {
    Started,
    Restarted,
    Heard(u32),
    Rang(u8),
    Chose(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Note(pub(crate) u32);

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NOTE({})", self.0)
    }
}

impl vorrang_protocol::Message for Note {
    const KINDS: &'static [&'static str] = &["NOTE"];
    fn kind(&self) -> usize {
        0
    }
}

impl Turn for Command {
    fn step(&self) -> Option<Step> {
        match self {
            Self::Ask => Some(Step::Ask),
            Self::Enter => Some(Step::Enter),
            Self::Leave => Some(Step::Leave),
            Self::Tell(..)
            | Self::Set(..)
            | Self::SetBetween(..)
            | Self::Cancel(_)
            | Self::Choose(_) => None,
        }
    }
}

impl Turn for Notice {
    fn step(&self) -> Option<Step> {
        None
    }
}

impl Protocol for Puppet {
    type Message = Note;
    type Timer = u8;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        fx.notify(Notice::Started);
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        fx.notify(Notice::Restarted);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let exactly = |ns| Delay::exactly(Duration::from_nanos(ns));
        match command {
            Command::Ask | Command::Enter | Command::Leave => {}
            Command::Tell(to, number) => fx.send(to, Note(number)),
            Command::Set(timer, ns) => fx.set_timer(timer, exactly(ns)),
            Command::SetBetween(timer, min, max) => {
                let delay = Delay::between(Duration::from_nanos(min), Duration::from_nanos(max));
                fx.set_timer(timer, delay);
            }
            Command::Cancel(timer) => fx.cancel_timer(timer),
            Command::Choose(bound) => {
                let chosen = fx.choose(bound);
                fx.notify(Notice::Chose(chosen));
            }
        }
        Ok(())
    }

    fn on_message(&mut self, _: NodeId, Note(number): Note, fx: &mut impl Effects<Self>) {
        self.heard.push(number);
        fx.notify(Notice::Heard(number));
    }

    fn on_timer(&mut self, timer: u8, fx: &mut impl Effects<Self>) {
        fx.notify(Notice::Rang(timer));
    }
}

/// Objects to nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Unwatched;

impl Monitor for Unwatched {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, _: NodeId, _: &Command) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &Notice) -> Result<(), Violation> {
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

pub(crate) type Script = Vec<(u64, NodeId, Command)>;
/// A puppet as it is recorded.
pub(crate) type Node = AnyNode<Command, Notice>;
pub(crate) type Run = Simulation<Unwatched, Turns<Command>, InMemoryRecorder<Node>>;

/// Puppets that follow a script.
pub(crate) fn puppets(size: u32, network: Network, script: Script, seed: u64) -> Run {
    let nodes = Population::new(size, |_| Puppet::default());
    let turns = Turns::new(Load::Script(script), Command::Ask, Command::Leave);
    Simulation::recorded(nodes, Unwatched, network, turns, seed, InMemoryRecorder(Vec::new()))
}

/// Runs to the end: what can be said of it, and what happened.
pub(crate) fn play(mut run: Run) -> (Report<Summary>, Vec<Record<Node>>) {
    while run.run_for(u64::MAX).expect("a puppet refuses nothing") {}
    (run.report(), run.into_recorder().0)
}

/// What a puppet has heard so far.
pub(crate) fn heard_by(run: &Run, id: NodeId) -> Vec<u32> {
    let node = run.population().node(id);
    node.downcast_ref::<Puppet>().expect("all are puppets").heard.clone()
}

/// What the nodes told, and when.
pub(crate) fn told(records: &[Record<Node>]) -> Vec<(u64, u32, Notice)> {
    let notices = records.iter().filter_map(|record| match record.what {
        What::Notice(notice) => Some((record.at_ns, record.node.0, notice)),
        _ => None,
    });
    notices.filter(|(.., notice)| *notice != Notice::Started).collect()
}
