//! A run is followed as it was, and not as another that looks the same.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};

use serde::{Deserialize, Serialize};
use vorrang_check::{Ask, Bounds, Order, Outcome, Plan, Run, System, explore, explore_after};
use vorrang_protocol::{Effects, Message, Monitor, Never, NodeId, Protocol, Refused, Violation};

/// A card. All look alike from behind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Card(u32);

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

impl Message for Card {
    const KINDS: &'static [&'static str] = &["CARD"];
    fn kind(&self) -> usize {
        0
    }
}

/// What distinguishes the three cards that a player sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Deck {
    /// Their numbers.
    Sorted,
    /// Their numbers, and the first was drawn when the player came up.
    Shuffled,
    /// Nothing but which command each was sent at.
    Blank,
}

/// Sends a card whenever it is asked, and shows each that arrives.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Player {
    deck: Deck,
    next: u32,
}

impl Protocol for Player {
    type Message = Card;
    type Timer = Never;
    type Command = char;
    type Notice = u32;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.deck == Deck::Shuffled {
            self.next = fx.choose(NonZeroU32::new(3).unwrap());
        }
    }
    fn on_command(&mut self, _: char, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        fx.send(NodeId(0), Card(self.next));
        self.next += u32::from(self.deck != Deck::Blank);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, Card(card): Card, fx: &mut impl Effects<Self>) {
        fx.notify(card);
    }
}

/// Objects to two more cards after this one. Blank cards count by when they were sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Unlucky {
    deck: Deck,
    card: u32,
    commands: u32,
    arrived: u32,
    after: Option<u32>,
}

impl Monitor for Unlucky {
    type Command = char;
    type Notice = u32;
    type Tag = u32;
    fn on_command(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        self.commands += 1;
        Ok(())
    }
    fn on_send(&self, _: NodeId) -> u32 {
        self.commands
    }
    fn on_receive(&mut self, _: NodeId, sent_at: &u32) {
        self.arrived = *sent_at;
    }
    fn on_notice(&mut self, _: NodeId, number: &u32) -> Result<(), Violation> {
        let card = if self.deck == Deck::Blank { self.arrived } else { *number };
        self.after = match self.after {
            None if card == self.card => Some(0),
            // Another came first.
            None => Some(u32::MAX / 2),
            Some(count) => Some(count + 1),
        };
        let what = format!("card {} came first", self.card);
        match self.after {
            Some(2) => Err(Violation { property: "luck", what }),
            Some(_) | None => Ok(()),
        }
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
}

fn table(deck: Deck, card: u32) -> System<Player, Unlucky> {
    let plan = Plan::PerNode(vec![vec![Ask::at_once('d'); 3]]);
    let monitor = Unlucky { deck, card, commands: 0, arrived: 0, after: None };
    System::new(vec![Player { deck, next: 0 }], plan, monitor).links(Order::Any)
}

/// Follows a shortest run to a violation step by step; the rest of it must be what is left.
fn assert_followed(system: &System<Player, Unlucky>) {
    let (bounds, threads) = (Bounds::default(), NonZeroUsize::MIN);
    let whole = explore(system, &bounds, threads, |_| {});
    let Outcome::Violated { run, .. } = whole.outcome else { panic!("it breaks") };
    assert_eq!(run.moves.len(), 6);
    for taken in 0..=run.moves.len() {
        let before = run.prefix(taken);
        let (report, _) = explore_after(system, &before, &bounds, threads, |_| {}).unwrap();
        let Outcome::Violated { run: rest, violation } = report.outcome else {
            panic!("after {taken} steps it no longer breaks: {:?}", report.outcome)
        };
        let Run { starts, moves, .. } = rest;
        assert_eq!(violation.property, "luck");
        assert_eq!(starts, run.starts);
        assert_eq!(moves[..], run.moves[taken..]);
    }
}

#[test]
fn nodes_come_up_as_they_did() {
    for card in 2..5 {
        assert_followed(&table(Deck::Shuffled, card));
    }
}

#[test]
fn of_two_messages_that_look_alike_the_one_arrives_that_did() {
    for card in 0..3 {
        assert_followed(&table(Deck::Sorted, card));
    }
}

#[test]
fn of_two_messages_that_only_a_monitor_tells_apart_either_may_have_arrived() {
    for card in 1..4 {
        assert_followed(&table(Deck::Blank, card));
    }
}
