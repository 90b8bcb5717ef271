//! Verdicts that were once wrong: what was cut short, what no clock allows, what is equal and not
//! the same, and debts that change when they are looked at.

use crate::support;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use support::{ONE, explore_all};
use vorrang_check::{Ask, Bound, Bounds, Liveness, Order, Outcome, Plan, Report, System, explore};
use vorrang_protocol::{
    Delay, Effects, Message, Monitor, NodeId, Obligation, Protocol, Refused, Violation,
};

/// A number that is sent.
#[derive(Clone, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Mail {
    text: u8,
    /// Not compared if that is wanted.
    secret: u8,
    hides: bool,
}

impl PartialEq for Mail {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && (self.hides || self.secret == other.secret)
    }
}

impl Eq for Mail {}

impl Hash for Mail {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.text.hash(hasher);
    }
}

impl fmt::Display for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

impl Message for Mail {
    const KINDS: &'static [&'static str] = &["MAIL"];
    fn kind(&self) -> usize {
        0
    }
}

/// Owes its application something from a command to a notice.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Owes {
    owed: bool,
    /// Whether it says something else whenever it is asked.
    is_fickle: bool,
}

static ASKED: AtomicU32 = AtomicU32::new(0);

impl Monitor for Owes {
    type Command = char;
    type Notice = char;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        self.owed = true;
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, _: &char) -> Result<(), Violation> {
        self.owed = false;
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
    fn obligations(&self) -> Vec<Obligation> {
        let says = !self.is_fickle || ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let debt = Obligation { to: NodeId(0), property: "progress" };
        if self.owed && says { vec![debt] } else { Vec::new() }
    }
}

/// What a node is to do.
type React = fn(&mut Actor, Cue, &mut dyn Effects<Actor>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cue {
    Command(char),
    Mail(u8, u8),
    Timer(char),
}

/// A node that a function plays.
#[derive(Clone)]
struct Actor {
    state: u8,
    secret: u8,
    /// Whether the secret is not compared.
    hides: bool,
    react: React,
    /// How often it was told something, hidden from all states.
    calls: Arc<AtomicU32>,
}

impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && (self.hides || self.secret == other.secret)
    }
}

impl Eq for Actor {}

impl Hash for Actor {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state {} with {}", self.state, self.secret)
    }
}

impl Protocol for Actor {
    type Message = Mail;
    type Timer = char;
    type Command = char;
    type Notice = char;

    fn on_command(&mut self, command: char, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        (self.react)(self, Cue::Command(command), fx);
        Ok(())
    }
    fn on_message(&mut self, _: NodeId, mail: Mail, fx: &mut impl Effects<Self>) {
        (self.react)(self, Cue::Mail(mail.text, mail.secret), fx);
    }
    fn on_timer(&mut self, timer: char, fx: &mut impl Effects<Self>) {
        (self.react)(self, Cue::Timer(timer), fx);
    }
}

fn actor(react: React) -> Actor {
    Actor { state: 0, secret: 0, hides: false, react, calls: Arc::default() }
}

fn system(node: Actor, commands: &[char]) -> System<Actor, Owes> {
    let list = commands.iter().copied().map(Ask::at_once).collect();
    System::new(vec![node], Plan::PerNode(vec![list]), Owes::default()).links(Order::Fifo)
}

/// The same, in which nothing is ever owed.
fn free(node: Actor, commands: &[char]) -> System<Actor, Option<Owes>> {
    let System { nodes, plan, links, .. } = system(node, commands);
    System::new(nodes, plan, None).links(links)
}

fn coin(fx: &mut dyn Effects<Actor>) -> u32 {
    fx.choose(NonZeroU32::new(2).expect("two is not zero"))
}

fn mail(text: u8) -> Mail {
    Mail { text, secret: 0, hides: false }
}

const BOUND: Duration = Duration::from_millis(300);

/// Tosses a coin, and at one of its calls takes longer than the search may take: the call with
/// that number is the last one before outcomes are missing.
fn slow(node: &mut Actor, tosses: u8, cue: Cue, fx: &mut dyn Effects<Actor>) {
    let (Cue::Command(_), false) = (cue, node.state > 0) else { return };
    let call = node.calls.fetch_add(1, Ordering::Relaxed);
    node.state = 1 + coin(fx) as u8;
    if call == u32::from(tosses) {
        sleep(BOUND);
    }
}

fn explore_slow<M>(system: &System<Actor, M>) -> Report<Actor>
where
    M: Monitor<Command = char, Notice = char>,
{
    explore(system, &Bounds::NONE.time(BOUND), ONE, |_| {})
}

#[test]
fn what_is_cut_short_when_handlers_are_asked_again_is_bounded_and_not_changed() {
    // The search tells it twice for each side of the coin; then all is asked about again.
    for call in [4, 5, 6, 7] {
        let play: [React; 4] = [
            |node, cue, fx| slow(node, 4, cue, fx),
            |node, cue, fx| slow(node, 5, cue, fx),
            |node, cue, fx| slow(node, 6, cue, fx),
            |node, cue, fx| slow(node, 7, cue, fx),
        ];
        let report = explore_slow(&free(actor(play[call - 4]), &['c']));
        assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Time }, "call {call}");
    }
}

/// Asked for something, it sends itself mail and tosses a coin at each: what follows from the coin
/// says whether anything can still come.
fn tosses_at_mail(node: &mut Actor, cue: Cue, fx: &mut dyn Effects<Actor>, outcomes: [u8; 2]) {
    match cue {
        Cue::Command(_) => fx.send(NodeId(0), mail(0)),
        Cue::Mail(0, _) => {
            let call = node.calls.fetch_add(1, Ordering::Relaxed);
            let side = coin(fx) as usize;
            fx.send(NodeId(0), mail(outcomes[side]));
            // Twice for each side in the search, and again afterwards; then the graph is built.
            if call == 8 {
                sleep(BOUND);
            }
        }
        Cue::Mail(1, _) => fx.notify('e'),
        Cue::Mail(text, _) => fx.send(NodeId(0), mail(text)),
        Cue::Timer(_) => {}
    }
}

#[test]
fn what_is_cut_short_when_loops_are_looked_for_is_neither_verified_nor_violated() {
    let plays: [React; 2] = [
        // A trap behind the second side of the coin.
        |node, cue, fx| tosses_at_mail(node, cue, fx, [1, 2]),
        // The first side goes back to the coin, the second settles all.
        |node, cue, fx| tosses_at_mail(node, cue, fx, [0, 1]),
    ];
    for (place, play) in plays.into_iter().enumerate() {
        let report = explore_slow(&system(actor(play), &['c']));
        assert_eq!(report.outcome, Outcome::Bounded { by: Bound::Time }, "play {place}");
    }
}

/// Timers that take exactly so many milliseconds.
fn set(timer: char, ms: u64, fx: &mut dyn Effects<Actor>) {
    fx.set_timer(timer, Delay::exactly(Duration::from_millis(ms)));
}

/// A takes 20, B takes 10 and then sets C, which takes 15; A cancels C and starts over. So A always
/// comes before C, and only C settles anything.
fn never_comes(_: &mut Actor, cue: Cue, fx: &mut dyn Effects<Actor>) {
    let (Cue::Command(what) | Cue::Timer(what)) = cue else { return };
    match what {
        'b' => set('c', 15, fx),
        'c' => fx.notify('e'),
        _ => {
            fx.cancel_timer('c');
            set('a', 20, fx);
            set('b', 10, fx);
        }
    }
}

/// The same, but B takes so short a time that C comes first.
fn comes(_: &mut Actor, cue: Cue, fx: &mut dyn Effects<Actor>) {
    let (Cue::Command(what) | Cue::Timer(what)) = cue else { return };
    match what {
        'c' => fx.notify('e'),
        _ => set('c', 15, fx),
    }
}

#[test]
fn what_comes_only_by_an_order_of_timers_that_no_clock_allows_is_not_verified() {
    for within in [None, Some(Duration::from_millis(1))] {
        let mut system = system(actor(never_comes), &['a']);
        system.links.within = within;
        let outcome = explore_all(&system).outcome;
        assert_eq!(outcome, Outcome::Bounded { by: Bound::Clocks }, "{within:?}");
        system.demands.liveness = Liveness::Fair;
        let outcome = explore_all(&system).outcome;
        assert!(matches!(outcome, Outcome::Violated { .. }), "{within:?}: {outcome:?}");
        system.nodes = vec![actor(comes)];
        assert_eq!(explore_all(&system).outcome, Outcome::Verified, "{within:?}");
        system.demands.liveness = Liveness::Possible;
        assert_eq!(explore_all(&system).outcome, Outcome::Verified, "{within:?}");
    }
}

/// The first two commands lead to nodes that differ in a secret alone; the third tells them apart.
fn hides(node: &mut Actor, cue: Cue, _: &mut dyn Effects<Actor>) {
    match cue {
        Cue::Command('s') => node.secret = 1,
        Cue::Command('p') => assert!(node.secret != 1, "the secret is out"),
        Cue::Command(_) | Cue::Mail(..) | Cue::Timer(_) => {}
    }
}

/// The same with a secret in a message.
fn hides_mail(_: &mut Actor, cue: Cue, fx: &mut dyn Effects<Actor>) {
    let secret = match cue {
        Cue::Command('s') => 1,
        Cue::Command(_) => 0,
        Cue::Mail(_, secret) => return assert!(secret != 1, "the secret is out"),
        Cue::Timer(_) => return,
    };
    fx.send(NodeId(0), Mail { text: 7, secret, hides: true });
}

#[test]
fn what_is_equal_and_not_the_same_is_found() {
    for (play, who) in [(hides as React, "node 0"), (hides_mail as React, "a message")] {
        let node = Actor { hides: true, ..actor(play) };
        let Outcome::Violated { violation, .. } =
            explore_all(&free(node, &['i', 's', 'p'])).outcome
        else {
            panic!("{who} was not found out");
        };
        assert_eq!(violation.property, "determinism");
        let what = format!("{who} is equal to another and not the same");
        assert!(violation.what.starts_with(&what), "{violation}");
    }
    let honest = actor(hides);
    let outcome = explore_all(&free(honest, &['i', 's', 'p'])).outcome;
    assert!(
        matches!(outcome, Outcome::Violated { violation, .. } if violation.property == "panic")
    );
}

#[test]
fn a_monitor_that_owes_something_else_when_it_is_asked_again_is_found() {
    let mut system = system(
        actor(|_, cue, fx| match cue {
            Cue::Command(_) => fx.send(NodeId(0), mail(0)),
            Cue::Mail(..) => fx.notify('e'),
            Cue::Timer(_) => {}
        }),
        &['c'],
    );
    system.monitor.is_fickle = true;
    let Outcome::Violated { violation, .. } = explore_all(&system).outcome else {
        panic!("it was not found out");
    };
    assert_eq!(violation.property, "determinism");
    assert!(violation.what.contains("asked once more what is owed"), "{violation}");
}

/// Mail goes round and round; a coin may end it.
fn rests_if_lucky(_: &mut Actor, cue: Cue, fx: &mut dyn Effects<Actor>) {
    match cue {
        Cue::Command(_) => fx.send(NodeId(0), mail(0)),
        Cue::Mail(..) if coin(fx) == 0 => fx.send(NodeId(0), mail(0)),
        Cue::Mail(..) | Cue::Timer(_) => fx.notify('e'),
    }
}

#[test]
fn a_script_that_only_bad_luck_holds_up_may_never_go_on() {
    let commands = vec![(NodeId(0), 'c'), (NodeId(0), 'c')];
    let nodes = vec![actor(rests_if_lucky)];
    let mut system = System::new(nodes, Plan::Script(commands), None::<Owes>);
    assert_eq!(explore_all(&system).outcome, Outcome::Verified);
    system.demands.liveness = Liveness::Fair;
    let Outcome::Violated { violation, run } = explore_all(&system).outcome else {
        panic!("it was not found");
    };
    assert!(run.repeats_from.is_some());
    assert_eq!(violation.property, "script");
    assert!(violation.what.contains("may never be given"), "{violation}");
}
