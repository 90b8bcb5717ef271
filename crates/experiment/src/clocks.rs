//! Logical clocks on a script of events: what every clock reads, and in which order that puts the
//! events. After Lamport, "Time, clocks, and the ordering of events in a distributed system", 1978.

use std::collections::HashMap;

use serde_json::{Value, json};
use vorrang_algorithms::clock::{Clock, LateClock, Stamp};
use vorrang_draw::Story;
use vorrang_draw::story::{self, Event, Look, MessageLabel};
use vorrang_protocol::NodeId;

use crate::failure::{Failure, named_file};

/// What happens, one event after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    nodes: u32,
    acts: Vec<(NodeId, Act)>,
}

/// An event of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Act {
    Local,
    /// A message of this name to all of these: one event.
    Sends(String, Vec<NodeId>),
    /// The message of this name, which that node has sent.
    Gets(String, NodeId),
}

/// What the clocks read after an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Where it happened.
    pub node: NodeId,
    /// What, in words.
    pub what: String,
    /// By the rule of textbooks: count, then stamp.
    pub clock: u64,
    /// By the rule that lectures print: stamp, then count.
    pub late: u64,
    /// The stamps of the message that was sent, by both rules.
    pub sent_with: Option<(u64, u64)>,
    /// How many events of each node it depends on, itself included.
    pub vector: Vec<u64>,
}

/// As many nodes as a table has room for.
const MOST_NODES: u32 = 100;
/// As many events as somebody would read.
const MOST_EVENTS: usize = 10_000;

/// How a script is written.
pub const FORMS: &str = "'0 local', '0 local 5' for five of them, '0 sends a to 1', '0 sends b \
                         to 1,2' or '1 gets a', with semicolons or ends of lines between events";

impl Script {
    /// Reads a script as it is typed, or a file of one.
    ///
    /// # Errors
    ///
    /// If there is something else in it, or a message arrives that was not sent; with the event.
    pub fn read(text: &str) -> Result<Self, Failure> {
        if let Some(lines) = named_file(text)? {
            return Self::parse(&lines).map_err(|why| Failure::World(format!("{text}: {why}")));
        }
        // No event is a single word.
        match text.trim() {
            word if word.is_empty() || word.contains(char::is_whitespace) => {
                Self::parse(text).map_err(Failure::Usage)
            }
            word => Err(Failure::neither(
                word,
                format!("'{word}': there is no such file, nor is that an event: write {FORMS}"),
            )),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self { nodes: 0, acts: Vec::new() };
        let mut sent: HashMap<String, (NodeId, Vec<NodeId>)> = HashMap::new();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        for said in lines.flat_map(|line| line.split(';')).map(str::trim) {
            if said.is_empty() {
                continue;
            }
            let wrong = |why: &str| format!("'{said}': {why}");
            for (node, act) in acts(said).map_err(|why| wrong(&why))? {
                match act {
                    Act::Local => script.push(node, Act::Local)?,
                    Act::Sends(name, to) => {
                        if to.contains(&node) {
                            return Err(wrong("a node sends itself nothing"));
                        }
                        if sent.insert(name.clone(), (node, to.clone())).is_some() {
                            return Err(wrong(&format!("there is another message {name}")));
                        }
                        script.push(node, Act::Sends(name, to))?;
                    }
                    Act::Gets(name, _) => {
                        let Some((from, to)) = sent.get_mut(&name) else {
                            return Err(wrong(&format!("no message {name} was sent before")));
                        };
                        let Some(place) = to.iter().position(|it| *it == node) else {
                            return Err(wrong(&format!(
                                "node {node} does not get {name}: it was not sent to it, or has \
                                 arrived"
                            )));
                        };
                        to.remove(place);
                        script.push(node, Act::Gets(name, *from))?;
                    }
                }
            }
        }
        let receivers = sent.values().flat_map(|(_, to)| to).map(|it| it.0 + 1).max();
        script.nodes = script.nodes.max(receivers.unwrap_or(0));
        if script.acts.is_empty() {
            return Err(format!("nothing happens in it: write {FORMS}"));
        }
        Ok(script)
    }

    fn push(&mut self, node: NodeId, act: Act) -> Result<(), String> {
        self.nodes = self.nodes.max(node.0 + 1);
        self.acts.push((node, act));
        if self.acts.len() > MOST_EVENTS {
            return Err(format!("more than {MOST_EVENTS} events"));
        }
        Ok(())
    }

    /// What the clocks read after every event.
    pub fn readings(&self) -> Vec<Reading> {
        let size = self.nodes as usize;
        let mut clocks = vec![(Clock::default(), LateClock::default()); size];
        let mut vectors = vec![vec![0; size]; size];
        let mut carried: HashMap<&str, (u64, u64, Vec<u64>)> = HashMap::new();
        let mut all = Vec::new();
        for (node, act) in &self.acts {
            let (clock, late) = &mut clocks[node.index()];
            let mut sent_with = None;
            if let Act::Gets(name, _) = act {
                let (.., past) = &carried[name.as_str()];
                for (own, other) in vectors[node.index()].iter_mut().zip(past) {
                    *own = (*own).max(*other);
                }
            }
            vectors[node.index()][node.index()] += 1;
            match act {
                Act::Local => {
                    clock.tick();
                    late.local();
                }
                Act::Sends(name, _) => {
                    let stamps = (clock.tick(), late.send());
                    sent_with = Some(stamps);
                    carried.insert(name, (stamps.0, stamps.1, vectors[node.index()].clone()));
                }
                Act::Gets(name, _) => {
                    let (stamp, early, _) = carried[name.as_str()];
                    clock.receive(stamp);
                    late.receive(early);
                }
            }
            all.push(Reading {
                node: *node,
                what: act.in_words(),
                clock: clock.now(),
                late: late.now(),
                sent_with,
                vector: vectors[node.index()].clone(),
            });
        }
        all
    }

    /// The same as a story that can be drawn.
    pub fn story(&self, command: String) -> Story {
        let mut events = Vec::new();
        let mut numbers: HashMap<&str, u64> = HashMap::new();
        for (at, (node, act)) in (0_u64..).zip(&self.acts) {
            let label = |name: &str, number: u64| MessageLabel {
                number,
                kind: name.to_owned(),
                text: name.to_owned(),
                is_token: false,
            };
            let mut push = |what| {
                events.push(Event { at, node: node.index(), what, state: None });
            };
            match act {
                Act::Local => push(story::What::Said {
                    text: "local".to_owned(),
                    is_command: true,
                    look: Look::default(),
                }),
                Act::Sends(name, to) => {
                    numbers.insert(name, at);
                    for to in to {
                        push(story::What::Sent { to: to.index(), letter: label(name, at) });
                    }
                }
                Act::Gets(name, from) => {
                    let letter = label(name, numbers[name.as_str()]);
                    push(story::What::Got { from: from.index(), letter });
                }
            }
        }
        Story {
            title: "Logical clocks".to_owned(),
            command,
            clock: story::Clock::Steps,
            lanes: (0..self.nodes).map(|id| format!("node {id}")).collect(),
            events,
            ..Story::default()
        }
    }

    /// The receipts that stamps of the second rule put before their sends: the place of each, and
    /// both stamps.
    pub fn misplaced(&self, readings: &[Reading]) -> Vec<(usize, Stamp, Stamp)> {
        let mut sends: HashMap<&str, Stamp> = HashMap::new();
        let mut all = Vec::new();
        for (place, ((node, act), reading)) in self.acts.iter().zip(readings).enumerate() {
            let stamp = Stamp::new(reading.late, *node);
            match act {
                Act::Local => {}
                Act::Sends(name, _) => drop(sends.insert(name, stamp)),
                Act::Gets(name, _) => {
                    let sent = sends[name.as_str()];
                    if stamp < sent {
                        all.push((place, stamp, sent));
                    }
                }
            }
        }
        all
    }
}

/// The places of the events in the total order of their stamps (C, i), by the rule of textbooks.
pub fn total_order(readings: &[Reading]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..readings.len()).collect();
    places.sort_by_key(|&place| Stamp::new(readings[place].clock, readings[place].node));
    places
}

/// Two events of which neither depends on the other though their clocks differ: the places of the
/// first such, the one with the lower clock first.
pub fn concurrent(readings: &[Reading]) -> Option<(usize, usize)> {
    let knows = |of: &Reading, other: &Reading| {
        of.vector[other.node.index()] >= other.vector[other.node.index()]
    };
    let pairs = (0..readings.len()).flat_map(|one| (0..readings.len()).map(move |it| (one, it)));
    let mut apart = pairs.filter(|&(one, other)| {
        let (one, other) = (&readings[one], &readings[other]);
        one.clock < other.clock && !knows(one, other) && !knows(other, one)
    });
    apart.next()
}

/// For programs.
pub fn in_json(script: &Script) -> Value {
    let readings = script.readings();
    let event = |it: &Reading| {
        json!({
            "node": it.node.0,
            "event": it.what,
            "clock": it.clock,
            "clock_late": it.late,
            "sent_with": it.sent_with.map(|stamps| stamps.0),
            "sent_with_late": it.sent_with.map(|stamps| stamps.1),
            "vector": it.vector,
        })
    };
    json!({
        "nodes": script.nodes,
        "events": readings.iter().map(event).collect::<Vec<_>>(),
        "total_order": total_order(&readings),
        "late_receipts_before_sends":
            script.misplaced(&readings).iter().map(|it| it.0).collect::<Vec<_>>(),
    })
}

impl Act {
    fn in_words(&self) -> String {
        match self {
            Self::Local => "local".to_owned(),
            Self::Sends(name, to) => {
                let to: Vec<String> = to.iter().map(ToString::to_string).collect();
                format!("sends {name} to {}", to.join(","))
            }
            Self::Gets(name, _) => format!("gets {name}"),
        }
    }
}

/// One event, or several alike.
fn acts(said: &str) -> Result<Vec<(NodeId, Act)>, String> {
    let node = |text: &str| match text.parse::<u32>() {
        Ok(id) if id < MOST_NODES => Ok(NodeId(id)),
        Ok(_) | Err(_) => {
            Err(format!("'{text}' is not a node: write a number from 0 to {}", MOST_NODES - 1))
        }
    };
    let unknown = || format!("that is no event: write {FORMS}");
    let words: Vec<&str> = said.split_whitespace().collect();
    let [at, verb, rest @ ..] = &words[..] else { return Err(unknown()) };
    let at = node(at)?;
    Ok(match (*verb, rest) {
        ("local", []) => vec![(at, Act::Local)],
        ("local", [times]) => {
            let times: usize = times.parse().map_err(|_| unknown())?;
            vec![(at, Act::Local); times.min(MOST_EVENTS + 1)]
        }
        ("sends", [name, "to", to]) => {
            let mut all: Vec<NodeId> = to.split(',').map(node).collect::<Result<_, _>>()?;
            all.sort_unstable();
            all.dedup();
            vec![(at, Act::Sends((*name).to_owned(), all))]
        }
        ("gets", [name]) => vec![(at, Act::Gets((*name).to_owned(), at))],
        _ => return Err(unknown()),
    })
}
