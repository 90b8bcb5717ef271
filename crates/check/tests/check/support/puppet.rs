//! Nodes that do what a table says, and tables drawn by lot.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Delay, Effects, NodeId, Protocol, Refused};
use vorrang_testkit::number;

/// The one source of chance of these tests: `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn small(&mut self, bound: u8) -> u8 {
        self.below(u64::from(bound)) as u8
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The seeds of so many systems, unless somebody asks for one of them or for others for so long.
pub(crate) fn seeds(systems: u64) -> Box<dyn Iterator<Item = u64>> {
    if let Some(seed) = number(SEED) {
        return Box::new([seed].into_iter());
    }
    let Some(seconds) = number(SECONDS) else { return Box::new(0..systems) };
    let end = Instant::now() + Duration::from_secs(seconds);
    let first = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    Box::new((first..).take_while(move |_| Instant::now() < end))
}

/// Whether somebody asks for other systems than those that are always looked at.
pub(crate) fn is_at_length() -> bool {
    number(SEED).or(number(SECONDS)).is_some()
}

const SEED: &str = "VORRANG_FUZZ_SEED";
const SECONDS: &str = "VORRANG_FUZZ_SECONDS";

/// What a node is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Cue {
    Start,
    Restart,
    Command(u8),
    Message(u8),
    Timer(u8),
}

impl Cue {
    /// As a notice.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Start => 0,
            Self::Restart => 1,
            Self::Command(command) => 0x10 + command,
            Self::Message(letter) => 0x20 + letter,
            Self::Timer(timer) => 0x30 + timer,
        }
    }
}

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandlerResult {
    Send(u8, u8),
    /// Sets a timer that takes from so many to so many milliseconds.
    Set(u8, u64, u64),
    Cancel(u8),
    Say(u8),
    /// Writes its state where a crash does not reach it.
    Write,
    /// What comes up is added to the next state, and to whatever is sent from here on.
    Toss(NonZeroU32),
    /// Only ever the first deed, and only where a command is the cue.
    Refuse,
}

/// The next state, and what is done on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) then: u8,
    pub(crate) deeds: Vec<HandlerResult>,
}

/// What each node does in each state when it is told something; without a row, nothing.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) shape: Shape,
    pub(crate) rows: BTreeMap<(u8, u8, Cue), Row>,
}

/// How large a table is, and what may be in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: u8,
    pub(crate) states: u8,
    pub(crate) letters: u8,
    pub(crate) timers: u8,
    pub(crate) commands: u8,
    /// How many cues of a hundred have a row.
    pub(crate) filled: u64,
    /// How many deeds a row has at most.
    pub(crate) deeds: u8,
    /// Whether states only ever grow, and whoever is in the last one does nothing. Else, runs may
    /// be endless.
    pub(crate) ends: bool,
    /// Whether every row begins by saying which cue it is for.
    pub(crate) is_loud: bool,
    /// How likely each kind of deed is: send, set, cancel, say, write, toss, refuse.
    pub(crate) odds: [u64; 7],
}

impl Table {
    pub(crate) fn draw(dice: &mut Dice, shape: Shape) -> Arc<Self> {
        let Shape { nodes, states, letters, timers, commands, filled, .. } = shape;
        let mut cues = vec![Cue::Start, Cue::Restart];
        cues.extend((0..commands).map(Cue::Command));
        cues.extend((0..letters).map(Cue::Message));
        cues.extend((0..timers).map(Cue::Timer));
        let mut rows = BTreeMap::new();
        for node in 0..nodes {
            for state in 0..states - u8::from(shape.ends) {
                for &cue in &cues {
                    if dice.percent(filled) || cue == Cue::Start && state == 0 {
                        rows.insert((node, state, cue), Row::draw(dice, &shape, state, cue));
                    }
                }
            }
        }
        Arc::new(Self { shape, rows })
    }

    pub(crate) fn nodes(self: &Arc<Self>) -> Vec<Puppet> {
        let node = |me| Puppet { me, state: 0, disk: 0, table: Arc::clone(self) };
        (0..self.shape.nodes).map(node).collect()
    }
}

impl Row {
    fn draw(dice: &mut Dice, shape: &Shape, state: u8, cue: Cue) -> Self {
        let then = if shape.ends { state + 1 } else { dice.small(shape.states) };
        let mut deeds = Vec::new();
        if shape.is_loud {
            deeds.push(HandlerResult::Say(cue.code()));
        }
        for _ in 0..dice.small(shape.deeds + 1) {
            let deed = HandlerResult::draw(dice, shape);
            if deed == HandlerResult::Refuse && matches!(cue, Cue::Command(_)) {
                return Self { then, deeds: vec![HandlerResult::Refuse] };
            }
            if deed != HandlerResult::Refuse {
                deeds.push(deed);
            }
        }
        Self { then, deeds }
    }
}

impl HandlerResult {
    fn draw(dice: &mut Dice, shape: &Shape) -> Self {
        let mut lot = dice.below(shape.odds.iter().sum());
        let kind = shape.odds.iter().position(|&odds| {
            let is_it = lot < odds;
            lot = lot.wrapping_sub(odds);
            is_it
        });
        match kind.unwrap() {
            0 => Self::Send(dice.small(shape.nodes), dice.small(shape.letters)),
            1 => {
                let min = dice.pick(&[0, 1, 1, 2, 2, 2, 3, 4]);
                let max = min + dice.pick(&[0, 0, 0, 0, 1, 2]);
                Self::Set(dice.small(shape.timers), min, max)
            }
            2 => Self::Cancel(dice.small(shape.timers)),
            3 => Self::Say(dice.small(4)),
            4 => Self::Write,
            5 => Self::Toss(NonZeroU32::new(2 + u32::from(dice.small(2))).unwrap()),
            _ => Self::Refuse,
        }
    }
}

/// A node that does what its table says.
#[derive(Clone)]
pub(crate) struct Puppet {
    pub(crate) me: u8,
    pub(crate) state: u8,
    pub(crate) disk: u8,
    table: Arc<Table>,
}

impl Puppet {
    const fn key(&self) -> (u8, u8, u8) {
        (self.me, self.state, self.disk)
    }

    fn react(&mut self, cue: Cue, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let table = Arc::clone(&self.table);
        let Some(row) = table.rows.get(&(self.me, self.state, cue)) else { return Ok(()) };
        let mut luck = 0;
        for &deed in &row.deeds {
            match deed {
                HandlerResult::Send(to, letter) => {
                    let letter = (letter + luck) % table.shape.letters;
                    fx.send(NodeId(u32::from(to)), NamedMessage(letter));
                }
                HandlerResult::Set(timer, min, max) => {
                    let [min, max] = [min, max].map(Duration::from_millis);
                    fx.set_timer(timer, Delay::between(min, max));
                }
                HandlerResult::Cancel(timer) => fx.cancel_timer(timer),
                HandlerResult::Say(notice) => fx.notify(notice),
                HandlerResult::Write => self.disk = self.state,
                HandlerResult::Toss(sides) => luck += fx.choose(sides) as u8,
                HandlerResult::Refuse => return Err(Refused("as the table says")),
            }
        }
        self.state = (row.then + luck) % table.shape.states;
        Ok(())
    }
}

impl PartialEq for Puppet {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Puppet {}

impl Hash for Puppet {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key().hash(hasher);
    }
}

impl PartialOrd for Puppet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Puppet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Debug for Puppet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.me, self.state, self.disk)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct NamedMessage(pub(crate) u8);

impl fmt::Display for NamedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl vorrang_protocol::Message for NamedMessage {
    const KINDS: &'static [&'static str] = &["LETTER"];
    fn kind(&self) -> usize {
        0
    }
}

impl Protocol for Puppet {
    type Message = NamedMessage;
    type Timer = u8;
    type Command = u8;
    type Notice = u8;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.react(Cue::Start, fx).unwrap();
    }
    fn on_command(&mut self, command: u8, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.react(Cue::Command(command), fx)
    }
    fn on_message(
        &mut self,
        _: NodeId,
        NamedMessage(letter): NamedMessage,
        fx: &mut impl Effects<Self>,
    ) {
        self.react(Cue::Message(letter), fx).unwrap();
    }
    fn on_timer(&mut self, timer: u8, fx: &mut impl Effects<Self>) {
        self.react(Cue::Timer(timer), fx).unwrap();
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.state = self.disk;
        self.react(Cue::Restart, fx).unwrap();
    }
    fn after_crash(&self, fresh: Self) -> Self {
        Self { disk: self.disk, ..fresh }
    }
}
