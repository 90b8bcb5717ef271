//! What is drawn by lot: what applications say, and how messages are mutated.

use std::str::FromStr;

use vorrang_algorithms::group::named::{self, Key, Name, Value, Want};
use vorrang_protocol::NodeId;

use super::NODES;

/// Commands that some of the algorithms take; others refuse them.
const COMMANDS: [&str; 11] = [
    "acquire",
    "release",
    "acquire shared",
    "acquire group 1",
    "acquire of 0",
    "elect",
    "start",
    "cast 7",
    "join",
    "leave",
    "multicast 7",
];

/// What applications say, by lot.
pub(crate) struct Says<C> {
    pub(crate) anything: fn(&mut Dice) -> Option<C>,
    /// Only requests, and that what was asked for is given back.
    pub(crate) request: fn(&mut Dice) -> Option<C>,
}

impl<C: FromStr> Says<C> {
    pub(crate) const TYPED: Self = Self {
        anything: |dice| COMMANDS[dice.below(COMMANDS.len())].parse().ok(),
        request: |dice| COMMANDS[dice.below(2)].parse().ok(),
    };
}

impl Says<named::Command> {
    pub(crate) const NAMED: Self = Self {
        anything: |dice| Some(named_command(dice)),
        request: |dice| Some(named_request(dice)),
    };
}

fn named_request(dice: &mut Dice) -> named::Command {
    let name = Name::new(["a", "b"][dice.below(2)]).expect("it is a name");
    let wants = [
        Want::Exclusive,
        Want::Shared,
        Want::PermitOf(1 + dice.below(2) as u32),
        Want::Lead(Value::new("x").expect("it is a value")),
    ];
    let (want, client) = (wants[dice.below(wants.len())].clone(), dice.below(3) as u64);
    let key = Key { kind: want.kind(), name: name.clone() };
    match dice.below(3) {
        0 => named::Command::Release { key, client },
        1 => named::Command::Withdraw { key, client },
        _ => named::Command::Acquire { name, client, want },
    }
}

fn named_command(dice: &mut Dice) -> named::Command {
    let name = Name::new("a").expect("it is a name");
    match dice.below(16) {
        0 => named::Command::Observe(name),
        1 => named::Command::Ignore(name),
        2 => named::Command::Renew,
        3 => named::Command::Evict(dice.node()),
        4 => named::Command::AddVoter(dice.node()),
        5 => named::Command::RemoveVoter(dice.node()),
        6 if dice.below(8) == 0 => named::Command::Leave,
        _ => named_request(dice),
    }
}

/// Numbers by lot (`SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    pub(crate) fn node(&mut self) -> NodeId {
        NodeId(self.below(NODES as usize) as u32)
    }

    /// The same with one thing changed; `other` is another message.
    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len());
        match self.below(7) {
            _ if bytes.is_empty() => bytes.push(self.roll() as u8),
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.roll() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, self.roll() as u8),
            4 => {
                bytes.remove(at);
            }
            // A number that is as large as it may be, or a little smaller or larger.
            5 => {
                let length = 1 + self.below(8);
                let large = (0..length).map(|_| 0xff).chain([self.below(128) as u8]);
                bytes.splice(at..=at, large.collect::<Vec<_>>());
            }
            _ => {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.below(other.len())..]);
            }
        }
    }
}
