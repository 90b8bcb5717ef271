//! Nodes and monitors that break the rules are found out, and the run to it is shown.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use vorrang_check::{Ask, Bounds, Demands, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Effects, Message, Monitor, Never, NodeId, Protocol, Refused, Violation};

/// What a node is told to do; all but the first break the rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Trick {
    Pass,
    /// Becomes something, tells something, sends something, asks something that is not its state's.
    BecomeRandom,
    TellRandom,
    SendRandom,
    AskRandom,
    AskRandomMuch,
    /// Is well behaved but for one call in so many.
    Rarely,
    Panic,
    PanicByChoice,
    /// From here on, copies are not equal.
    SpoilClone,
    SpoilEq,
    SpoilHash,
    /// The monitor's part.
    MonitorPanics,
    MonitorRandom,
    RestPanics,
    RestRandom,
}

impl fmt::Display for Trick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Message for Trick {
    const KINDS: &'static [&'static str] = &["TRICK"];
    fn kind(&self) -> usize {
        0
    }
}

/// Hidden from all states.
static COUNTER: AtomicU32 = AtomicU32::new(0);

fn random() -> u32 {
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

#[derive(Debug, Default)]
struct Trickster {
    number: u32,
    spoilt: Option<Trick>,
}

impl Clone for Trickster {
    fn clone(&self) -> Self {
        let number = self.number + u32::from(self.spoilt == Some(Trick::SpoilClone));
        Self { number, spoilt: self.spoilt }
    }
}

impl PartialEq for Trickster {
    fn eq(&self, other: &Self) -> bool {
        let is_spoilt = self.spoilt == Some(Trick::SpoilEq);
        !is_spoilt && (self.number, self.spoilt) == (other.number, other.spoilt)
    }
}

impl Eq for Trickster {}

impl Hash for Trickster {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.number.hash(hasher);
        if self.spoilt == Some(Trick::SpoilHash) {
            random().hash(hasher);
        }
    }
}

impl Protocol for Trickster {
    type Message = Trick;
    type Timer = Never;
    type Command = Trick;
    type Notice = Option<Trick>;

    fn on_command(&mut self, trick: Trick, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        fx.send(NodeId(1), trick);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, trick: Trick, fx: &mut impl Effects<Self>) {
        let below = |bound| NonZeroU32::new(bound).unwrap();
        match trick {
            Trick::Pass => self.number += 1,
            Trick::BecomeRandom => self.number = random(),
            Trick::TellRandom if random().is_multiple_of(2) => fx.notify(None),
            Trick::SendRandom if random().is_multiple_of(2) => fx.send(from, Trick::Pass),
            Trick::TellRandom | Trick::SendRandom => {}
            Trick::AskRandom => {
                fx.choose(below(2 + random() % 2));
            }
            Trick::AskRandomMuch => {
                for _ in 0..random() % 3 {
                    fx.choose(below(2));
                }
            }
            Trick::Rarely => self.number = u32::from(random().is_multiple_of(7)),
            Trick::Panic => panic!("never heard of {trick}"),
            Trick::PanicByChoice => {
                let chosen = fx.choose(below(3));
                assert!(chosen != 2, "it came up {chosen}");
            }
            Trick::SpoilClone | Trick::SpoilEq | Trick::SpoilHash => self.spoilt = Some(trick),
            Trick::MonitorPanics | Trick::MonitorRandom | Trick::RestPanics | Trick::RestRandom => {
                fx.notify(Some(trick));
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Watch {
    number: u32,
    last: Option<Trick>,
}

impl Monitor for Watch {
    type Command = Trick;
    type Notice = Option<Trick>;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &Trick) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, notice: &Option<Trick>) -> Result<(), Violation> {
        self.last = *notice;
        assert!(self.last != Some(Trick::MonitorPanics), "the monitor has had enough");
        if self.last == Some(Trick::MonitorRandom) {
            self.number = random();
        }
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        assert!(self.last != Some(Trick::RestPanics), "no rest");
        if self.last == Some(Trick::RestRandom) && random().is_multiple_of(2) {
            return Err(Violation { property: "rest", what: "now".to_owned() });
        }
        Ok(())
    }
}

/// Node 1 is sent two messages that are harmless, and one that is not.
fn outcome(trick: Trick, threads: usize) -> Outcome<Trickster> {
    let asks = [Trick::Pass, trick, Trick::Pass].map(Ask::at_once).to_vec();
    let system = System {
        nodes: vec![Trickster::default(), Trickster::default()],
        plan: Plan::PerNode(vec![asks, vec![]]),
        monitor: Watch::default(),
        links: Order::Any.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    explore(&system, &Bounds::default(), threads, |_| {}).outcome
}

/// What is objected to, and the moves to it.
fn objection(trick: Trick) -> (&'static str, String, Vec<String>) {
    match outcome(trick, 1) {
        Outcome::Violated { violation, run } => {
            let moves = run.moves.iter().map(ToString::to_string).collect();
            (violation.property, violation.what, moves)
        }
        Outcome::Verified | Outcome::Bounded { .. } => panic!("{trick} was not found out"),
    }
}

#[test]
fn who_keeps_the_rules_is_verified() {
    assert_eq!(outcome(Trick::Pass, 1), Outcome::Verified);
    assert_eq!(outcome(Trick::Pass, 2), Outcome::Verified);
}

#[test]
fn hidden_randomness_is_found_where_it_first_shows() {
    for trick in [
        Trick::BecomeRandom,
        Trick::TellRandom,
        Trick::SendRandom,
        Trick::AskRandom,
        Trick::AskRandomMuch,
    ] {
        for _ in 0..10 {
            let (property, what, moves) = objection(trick);
            assert_eq!(property, "determinism", "{trick}: {what}");
            assert!(what.starts_with("node 1 is not deterministic"), "{what}");
            assert_eq!(moves.len(), 3, "{moves:?}");
            assert!(moves[2].starts_with(&format!("deliver 0->1 {trick}")), "{moves:?}");
        }
    }
}

#[test]
fn randomness_that_shows_in_one_call_of_many_does_no_harm() {
    // Whether it shows is a matter of luck; but nothing is worse than a verdict.
    for threads in [1, 2] {
        for _ in 0..50 {
            match outcome(Trick::Rarely, threads) {
                Outcome::Violated { violation, .. } => {
                    assert_eq!(violation.property, "determinism");
                }
                Outcome::Verified | Outcome::Bounded { .. } => {}
            }
        }
    }
}

#[test]
fn values_that_are_not_equal_to_their_copies_are_found() {
    for trick in [Trick::SpoilClone, Trick::SpoilEq, Trick::SpoilHash] {
        let (property, what, _) = objection(trick);
        assert_eq!(property, "determinism", "{trick}: {what}");
    }
}

#[test]
fn a_panic_of_a_node_is_a_violation_with_a_shortest_run() {
    for threads in [1, 2] {
        let Outcome::Violated { violation, run } = outcome(Trick::Panic, threads) else { panic!() };
        assert_eq!(violation.property, "panic");
        let start = "node 1 panicked: never heard of Panic, at ";
        assert!(violation.what.starts_with(start), "{}", violation.what);
        assert_eq!(run.moves.len(), 3);
        assert_eq!(run.moves[2].to_string(), "deliver 0->1 Panic");
    }
    let (property, what, moves) = objection(Trick::PanicByChoice);
    assert_eq!(property, "panic");
    assert!(what.contains("it came up 2"), "{what}");
    assert_eq!(moves[2], "deliver 0->1 PanicByChoice choose 2");
}

#[test]
fn a_monitor_that_panics_or_is_random_is_a_violation() {
    for (trick, expected, steps) in [
        (Trick::MonitorPanics, "panic", 3),
        (Trick::MonitorRandom, "determinism", 3),
        (Trick::RestPanics, "panic", 4),
        (Trick::RestRandom, "determinism", 4),
    ] {
        let (property, what, moves) = objection(trick);
        assert_eq!(property, expected, "{trick}: {what}");
        assert!(what.starts_with("the monitor "), "{what}");
        assert_eq!(moves.len(), steps, "{moves:?}");
    }
}
