//! Nodes whose every reaction stands in a table, and a monitor that knows who waits: enough to
//! build any small system, and to draw one at random.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_check::{Ask, Demands, Faults, Order, Plan, System};
use vorrang_protocol::{Delay, Effects, Monitor, NodeId, Obligation, Protocol, Refused, Violation};

/// What a node is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum On {
    Start,
    Restart,
    Command(Wish),
    Hear(char),
    Ring(char),
}

/// What an application says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Wish {
    Ask,
    Leave,
    Poke,
}
pub(crate) use Wish::{Ask as Asks, Leave, Poke};

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Asks => "ask",
            Leave => "leave",
            Poke => "poke",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Word(pub(crate) char);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl vorrang_protocol::Message for Word {
    const KINDS: &'static [&'static str] = &["WORD"];
    fn kind(&self) -> usize {
        0
    }
}

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Act {
    Say(u32, char),
    /// Arms a timer that may run out at any moment.
    Arm(char),
    Enter,
}
pub(crate) use Act::{Arm, Enter, Say};

/// At this node, in this state, when that happens: go to another state and do this. Of several
/// rules that fit, one is chosen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rule {
    pub(crate) at: u32,
    pub(crate) state: u8,
    pub(crate) on: On,
    pub(crate) next: u8,
    pub(crate) acts: Vec<Act>,
}

pub(crate) fn rule(at: u32, state: u8, on: On, next: u8, acts: &[Act]) -> Rule {
    Rule { at, state, on, next, acts: acts.to_vec() }
}

#[derive(Clone)]
pub(crate) struct Node {
    me: u32,
    state: u8,
    rules: Arc<Vec<Rule>>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        (self.me, self.state) == (other.me, other.state)
    }
}
impl Eq for Node {}
impl Hash for Node {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.me, self.state).hash(hasher);
    }
}
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.me, self.state)
    }
}

impl Node {
    pub(crate) fn state(&self) -> u8 {
        self.state
    }

    fn on(&mut self, on: On, fx: &mut impl Effects<Self>) {
        let fits = |it: &&Rule| it.at == self.me && it.state == self.state && it.on == on;
        let rules = Arc::clone(&self.rules);
        let fitting: Vec<&Rule> = rules.iter().filter(fits).collect();
        let Some(rule) = (match fitting.len() as u32 {
            0 => None,
            1 => Some(fitting[0]),
            count => Some(fitting[fx.choose(NonZeroU32::new(count).unwrap()) as usize]),
        }) else {
            return;
        };
        self.state = rule.next;
        for act in &rule.acts {
            match *act {
                Say(to, word) => fx.send(NodeId(to), Word(word)),
                Arm(timer) => {
                    let (min, max) = (Duration::from_millis(1), Duration::from_secs(1));
                    fx.set_timer(timer, Delay::between(min, max));
                }
                Enter => fx.notify('e'),
            }
        }
    }
}

impl Protocol for Node {
    type Message = Word;
    type Timer = char;
    type Command = Wish;
    type Notice = char;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.on(On::Start, fx);
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on(On::Restart, fx);
    }
    fn on_command(&mut self, order: Wish, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.on(On::Command(order), fx);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, Word(word): Word, fx: &mut impl Effects<Self>) {
        self.on(On::Hear(word), fx);
    }
    fn on_timer(&mut self, timer: char, fx: &mut impl Effects<Self>) {
        self.on(On::Ring(timer), fx);
    }
}

/// Who has asked and not entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) waiting: Vec<NodeId>,
    /// Whether it does not say to whom anything is owed.
    pub(crate) is_silent: bool,
}

impl Waits {
    fn settle(&mut self, at: NodeId) {
        self.waiting.retain(|&it| it != at);
    }
}

impl Monitor for Waits {
    type Command = Wish;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, at: NodeId, order: &Wish) -> Result<(), Violation> {
        if *order == Asks && !self.waiting.contains(&at) {
            self.waiting.push(at);
            self.waiting.sort();
        }
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, _: &char) -> Result<(), Violation> {
        self.settle(at);
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting.first() {
            None => Ok(()),
            Some(node) => {
                let what = format!("nothing more can happen, and node {node} still waits");
                Err(Violation { property: "progress", what })
            }
        }
    }
    fn obligations(&self) -> Vec<Obligation> {
        let owed = self.waiting.iter().map(|&to| Obligation { to, property: "progress" });
        owed.filter(|_| !self.is_silent).collect()
    }
    fn on_crash(&mut self, at: NodeId) {
        self.settle(at);
    }
}

/// Nodes in state 0 that follow these rules.
pub(crate) fn nodes(count: u32, rules: &[Rule]) -> Vec<Node> {
    let rules = Arc::new(rules.to_vec());
    (0..count).map(|me| Node { me, state: 0, rules: Arc::clone(&rules) }).collect()
}

/// Every node asks as often as it is said, and leaves after each time that it entered.
pub(crate) fn turns(entries: &[u32], rules: &[Rule]) -> System<Node, Waits> {
    with_plan(entries.len() as u32, Plan::turns(entries, &Asks, &Leave), rules)
}

/// Every node gives these commands, each at any moment after the one before.
pub(crate) fn orders(lists: &[&[Wish]], rules: &[Rule]) -> System<Node, Waits> {
    let list = |orders: &&[Wish]| orders.iter().copied().map(Ask::at_once).collect();
    with_plan(lists.len() as u32, Plan::PerNode(lists.iter().map(list).collect()), rules)
}

pub(crate) fn with_plan(count: u32, plan: Plan<Wish>, rules: &[Rule]) -> System<Node, Waits> {
    System {
        nodes: nodes(count, rules),
        plan,
        monitor: Waits::default(),
        links: Order::Any.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    }
}

pub(crate) const ASK: On = On::Command(Asks);
const LEAVE: On = On::Command(Leave);

/// Node 0 hands the key to itself or to node 1, and to the next when it comes back.
pub(crate) fn desk() -> Vec<Rule> {
    vec![
        // 0: free; 1: node 0 inside; 2: node 1 inside; 3 and 4: so, and the other waits.
        rule(0, 0, ASK, 1, &[Enter]),
        rule(0, 0, On::Hear('?'), 2, &[Say(1, '!')]),
        rule(0, 1, LEAVE, 0, &[]),
        rule(0, 1, On::Hear('?'), 3, &[]),
        rule(0, 3, LEAVE, 2, &[Say(1, '!')]),
        rule(0, 2, ASK, 4, &[]),
        rule(0, 2, On::Hear('.'), 0, &[]),
        rule(0, 4, On::Hear('.'), 1, &[Enter]),
        rule(1, 0, ASK, 0, &[Say(0, '?')]),
        rule(1, 0, On::Hear('!'), 0, &[Enter]),
        rule(1, 0, LEAVE, 0, &[Say(0, '.')]),
    ]
}
