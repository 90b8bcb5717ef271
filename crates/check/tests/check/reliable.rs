//! The layer of reliable channels, in every run with so many losses and duplicates: what is said is
//! heard once and in order.

use crate::support;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use support::explore_all;
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::layer::flaws::NoDuplicateFilter;
use vorrang_algorithms::layer::reliable::{Peers, Reliable, Retries};
use vorrang_algorithms::mutex;
use vorrang_algorithms::mutex::lamport::Lamport;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Ask, Faults, Links, Order, Outcome, Plan, System};
use vorrang_protocol::{
    Effects, Group, Message, Monitor, Never, NodeId, Protocol, Refused, Violation,
};

/// Says what it is told to say to the other node, and tells what it hears.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Talker {
    me: NodeId,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Word(char);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WORD({})", self.0)
    }
}

impl Message for Word {
    const KINDS: &'static [&'static str] = &["WORD"];
    fn kind(&self) -> usize {
        0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Say(char);

impl fmt::Display for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "say {}", self.0)
    }
}

impl Protocol for Talker {
    type Message = Word;
    type Timer = Never;
    type Command = Say;
    type Notice = char;

    fn on_command(&mut self, Say(word): Say, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        fx.send(other(self.me), Word(word));
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, Word(word): Word, fx: &mut impl Effects<Self>) {
        fx.notify(word);
    }
}

fn other(than: NodeId) -> NodeId {
    NodeId(1 - than.0)
}

/// Every word is heard at most once and in order; and if nobody is down when it is said, and nobody
/// crashes later, it is heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Heard {
    /// After a crash nothing need be heard: it may be for a life that is over.
    forgives: bool,
    somebody_crashed: bool,
    /// By speaker: what was said and may still be heard, and whether it must.
    said: [Vec<(char, bool)>; 2],
    down: [bool; 2],
}

impl Monitor for Heard {
    type Command = Say;
    type Notice = char;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, Say(word): &Say) -> Result<(), Violation> {
        let must = self.down == [false; 2] && !(self.forgives && self.somebody_crashed);
        self.said[at.index()].push((*word, must));
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, word: &char) -> Result<(), Violation> {
        let said = &mut self.said[other(at).index()];
        let what = match said.iter().position(|(it, _)| it == word) {
            None => format!("node {at} heard {word}, which was not said or was heard before"),
            Some(place) => match said.drain(..=place).rev().skip(1).find(|(_, must)| *must) {
                Some((missed, _)) => format!("node {at} heard {word} before {missed}"),
                None => return Ok(()),
            },
        };
        Err(Violation { property: "once, in order", what })
    }
    fn at_rest(&self) -> Result<(), Violation> {
        match self.said.iter().flatten().find(|(_, must)| *must) {
            Some((word, _)) => {
                let what = format!("{word} was never heard");
                Err(Violation { property: "arrival", what })
            }
            None => Ok(()),
        }
    }
    fn on_crash(&mut self, at: NodeId) {
        self.down[at.index()] = true;
        self.somebody_crashed = self.forgives;
        for (_, must) in self.said.iter_mut().flatten() {
            *must = false;
        }
    }
    fn on_restart(&mut self, at: NodeId) {
        self.down[at.index()] = false;
    }
}

const MS: Duration = Duration::from_millis(1);
const NS: Duration = Duration::from_nanos(1);

fn reliable(id: u32, tries: u8) -> Reliable<Talker> {
    let me = NodeId(id);
    Reliable::new(me, Talker { me }, Peers::All(Group::of(2)), Retries::within(MS, tries))
}

/// Each node says its words, one after the other.
fn talk<P>(nodes: [P; 2], words: [&str; 2], faults: Faults, links: Links) -> System<P, Heard>
where
    P: Protocol<Command = Say, Notice = char>,
{
    let lists = words.map(|words| words.chars().map(|word| Ask::at_once(Say(word))).collect());
    let plan = Plan::PerNode(lists.to_vec());
    System::new(nodes.into(), plan, Heard::default()).links(links).faults(faults)
}

fn outcome<P>(system: &System<P, Heard>) -> (String, Vec<String>, u64)
where
    P: Protocol<Command = Say, Notice = char>,
{
    let report = explore_all(system);
    match report.outcome {
        Outcome::Verified => ("verified".to_owned(), Vec::new(), report.states),
        Outcome::Violated { violation, run } => {
            let moves = run.moves.iter().map(ToString::to_string).collect();
            (violation.to_string(), moves, report.states)
        }
        Outcome::Bounded { .. } => panic!("there were no bounds"),
    }
}

const ANY: Order = Order::Any;
const BAD: Faults = Faults::NONE.losses(2).duplicates(1);

#[test]
fn without_the_layer_words_are_lost_doubled_and_overtaken() {
    let talkers = || [0, 1].map(|id| Talker { me: NodeId(id) });
    let says = |words, faults, order: Order| {
        outcome(&talk(talkers(), [words, ""], faults, order.into())).0
    };
    assert_eq!(says("a", Faults::NONE.losses(1), ANY), "arrival: a was never heard");
    let twice = "once, in order: node 1 heard a, which was not said or was heard before";
    assert_eq!(says("a", Faults::NONE.duplicates(1), ANY), twice);
    assert_eq!(says("ab", Faults::NONE, ANY), "once, in order: node 1 heard b before a");
    assert_eq!(says("ab", Faults::NONE, Order::Fifo), "verified");
}

fn channels(tries: u8) -> [Reliable<Talker>; 2] {
    [0, 1].map(|id| reliable(id, tries))
}

/// How many states there are, all of them fine.
#[track_caller]
fn states(system: &System<Reliable<Talker>, Heard>) -> u64 {
    let (verdict, run, states) = outcome(system);
    assert_eq!(verdict, "verified", "{run:#?}");
    states
}

#[test]
fn with_the_layer_what_is_said_is_heard_once_and_in_order() {
    let found = [(["ab", ""], ANY), (["a", "b"], ANY), (["abc", ""], Order::Fifo)]
        .map(|(words, order)| states(&talk(channels(2), words, BAD, order.into())));
    assert_eq!(found, [11_385, 15_807, 51_950]);
}

#[test]
fn in_time_nothing_is_sent_again_for_nothing() {
    let talks = |time_out, faults| {
        let nodes = [0, 1].map(|id| {
            let (me, patience) = (NodeId(id), Retries { time_out, tries: 2 });
            Reliable::new(me, Talker { me }, Peers::All(Group::of(2)), patience)
        });
        let (verdict, run, states) =
            outcome(&talk(nodes, ["ab", "c"], faults, Links::from(ANY).within(MS)));
        assert_eq!(verdict, "verified", "{run:#?}");
        states
    };
    // Of a message and a time-out at the same instant the message comes first.
    let (patient, impatient) =
        (talks(2 * MS, Faults::NONE), talks(2 * MS.saturating_sub(NS), Faults::NONE));
    assert!(impatient > 2 * patient, "{impatient} states with needless copies, {patient} without");
    assert_eq!(talks(3 * MS, Faults::NONE), patient, "longer is no better");
    talks(3 * MS, BAD);
}

#[test]
fn who_gives_up_too_early_loses_words() {
    let (verdict, run, _) = outcome(&talk(channels(1), ["a", ""], BAD, ANY.into()));
    assert_eq!(verdict, "arrival: a was never heard", "one try, two losses");
    let lost = run.iter().filter(|it| it.starts_with("lose 0->1 WORD(a) [0]")).count();
    assert_eq!((lost, run.len()), (2, 4), "{run:#?}");
}

#[test]
fn without_a_filter_a_word_that_is_sent_again_is_heard_again() {
    let flawed = || channels(1).map(|node| Flawed::new(node, &NoDuplicateFilter));
    let twice = "once, in order: node 1 heard a, which was not said or was heard before";
    let (verdict, run, _) = outcome(&talk(flawed(), ["a", ""], Faults::NONE, ANY.into()));
    assert_eq!(verdict, twice);
    let (first, second) = ("deliver 0->1 WORD(a) [0]", "timer 0 Resend(1)");
    assert_eq!(run.len(), 4, "{run:#?}");
    assert_eq!((run[0].as_str(), run[3].as_str()), ("say a 0", first), "{run:#?}");
    assert!(run[1..3].iter().any(|it| it == second), "{run:#?}");
    // Where time-outs are long enough it takes a lost acknowledgement.
    let timely = Links::from(ANY).within(MS);
    assert_eq!(outcome(&talk(flawed(), ["a", ""], Faults::NONE, timely)).0, "verified");
    let (verdict, run, _) = outcome(&talk(flawed(), ["a", ""], Faults::NONE.losses(1), timely));
    assert_eq!(verdict, twice);
    assert_eq!(run, ["say a 0", first, "lose 1->0 RECEIPT [1]", second, first]);
}

#[test]
fn no_life_hears_what_was_for_another() {
    let found = [(["ab", ""], 1), (["a", "b"], 0)].map(|(words, losses)| {
        let faults = Faults::NONE.crashes(1).restarts(1).losses(losses).duplicates(1);
        let mut system = talk(channels(1), words, faults, ANY.into());
        // A word that is said before the greeting is there is for the life that is over.
        let (verdict, run, _) = outcome(&system);
        let place = |word: &str| run.iter().position(|it| it.contains(word)).expect(word);
        assert!(verdict != "verified" && place("say") < place("GREETING"), "{verdict}: {run:#?}");
        system.monitor.forgives = true;
        states(&system)
    });
    assert_eq!(found, [110_149, 66_926]);
}

#[test]
fn who_comes_up_again_can_talk_and_listen() {
    // What is said when all is quiet is heard, whoever has crashed before.
    let say = |id, word| (NodeId(id), Say(word));
    let script = Plan::Script(vec![say(0, 'a'), say(1, 'b'), say(0, 'c')]);
    let found = [(1, 1), (2, 0)].map(|(crashes, losses)| {
        let faults = Faults::NONE.crashes(crashes).restarts(crashes).losses(losses).duplicates(1);
        let system = talk(channels(1), ["", ""], faults, ANY.into());
        states(&System { plan: script.clone(), ..system })
    });
    assert_eq!(found, [6_217, 96_058]);
}

/// An algorithm that wants reliable channels, on links that are anything but.
#[test]
fn algorithms_run_over_it_as_if_links_were_reliable() {
    fn judged<P>(node: impl Fn(NodeId) -> P, order: Order, faults: Faults) -> (String, u64)
    where
        P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
    {
        let system = support::mutex(&[1, 1], order, Exclusion::default(), node).faults(faults);
        let system = system.links(Links::from(order).within(MS));
        let bounds = vorrang_check::Bounds::default().states(1_000_000);
        let report = vorrang_check::explore(&system, &bounds, support::ONE, |_| {});
        match report.outcome {
            Outcome::Verified => ("verified".to_owned(), report.states),
            Outcome::Violated { violation, .. } => (violation.property.to_owned(), report.states),
            Outcome::Bounded { .. } => ("bounded".to_owned(), report.states),
        }
    }
    fn over<P: Protocol>(node: impl Fn(NodeId) -> P) -> impl Fn(NodeId) -> Reliable<P> {
        let (peers, patience) = (Peers::All(Group::of(2)), Retries::within(MS, 1));
        move |id| Reliable::new(id, node(id), peers.clone(), patience)
    }
    let group = Group::of(2);
    let lamport = |id| Lamport::new(id, group);
    let suzuki = |id| SuzukiKasami::of(id, &Setup::new(group));
    let (loss, twice) = (Faults::NONE.losses(1), Faults::NONE.losses(1).duplicates(1));
    assert_eq!(judged(lamport, Order::Fifo, loss).0, "progress");
    assert_eq!(judged(lamport, ANY, Faults::NONE).0, "exclusion");
    assert_eq!(judged(over(lamport), ANY, loss), ("verified".to_owned(), 224_605));
    assert_eq!(judged(suzuki, ANY, loss).0, "progress");
    assert_eq!(judged(over(suzuki), ANY, twice), ("verified".to_owned(), 11_277));
}
