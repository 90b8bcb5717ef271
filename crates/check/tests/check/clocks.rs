//! The checker has no clocks. Here the same systems run with clocks, in every way that those allow,
//! and the checker must have followed every one of these runs.
//!
//! With closed bounds on delays, clocks that tick lose nothing against continuous ones (Henzinger,
//! Manna, Pnueli, "What good are digital clocks?", ICALP 1992); since some ties are settled, they
//! tick twice a unit.
//!
//! `VORRANG_FUZZ_SECONDS` and `VORRANG_FUZZ_SEED` mean what they mean in `fuzz.rs`.

use crate::support;

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::ONE;
use support::clocked::{CRASH, Lists, RESTART, Rules, Seen, TICKS};
use support::puppet::{Cue, Dice, HandlerResult, Puppet, Row, Shape, Table, is_at_length, seeds};
use vorrang_check::{Ask, Bound, Bounds, Faults, Links, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Monitor, NodeId, Obligation, Violation};

/// A system in which the checker finds more is left out.
const MOST_STATES: u64 = 3_000;

/// Remembers a run, and writes down all that it has ever seen.
#[derive(Clone, Default)]
struct Scribe {
    seen: Seen,
    book: Arc<Mutex<BTreeSet<Seen>>>,
}

impl Scribe {
    fn see(&mut self, at: NodeId, what: u8) {
        self.seen.push((at.0 as u8, what));
        self.book.lock().unwrap().insert(self.seen.clone());
    }
}

/// The book is no part of a state.
impl fmt::Debug for Scribe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seen.fmt(f)
    }
}

impl PartialEq for Scribe {
    fn eq(&self, other: &Self) -> bool {
        self.seen == other.seen
    }
}

impl Eq for Scribe {}

impl Hash for Scribe {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.seen.hash(hasher);
    }
}

impl Monitor for Scribe {
    type Command = u8;
    type Notice = u8;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &u8) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &u8) -> Result<(), Violation> {
        self.see(at, *notice);
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
    fn on_crash(&mut self, at: NodeId) {
        self.see(at, CRASH);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.see(at, RESTART);
    }
}

/// A small system, in which a node does something two or three times, and the lists of its plan.
fn draw(dice: &mut Dice) -> (Arc<Table>, System<Puppet, Scribe>, Lists) {
    let nodes = dice.pick(&[2, 2, 3]);
    let shape = Shape {
        nodes,
        states: dice.pick(&[3, 3, 4]),
        letters: 2,
        timers: 2,
        commands: 1,
        filled: 85,
        deeds: dice.pick(&[2, 3]),
        ends: true,
        is_loud: true,
        odds: [5, 7, 1, 0, 0, 0, 0],
    };
    let table = Table::draw(dice, shape);
    let list = |_| if dice.percent(25) { vec![Ask::at_once(0)] } else { vec![] };
    let lists: Vec<_> = (0..nodes).map(list).collect();
    let crashes = u8::from(dice.percent(15));
    let faults = Faults::NONE
        .crashes(crashes)
        .restarts(crashes * dice.small(2))
        .losses(u8::from(dice.percent(10)))
        .duplicates(u8::from(dice.percent(10)))
        .severing(crashes > 0 && dice.percent(50));
    let within = dice.pick(&[0, 1, 1, 2]);
    let links =
        Links::from(dice.pick(&[Order::Any, Order::Fifo])).within(Duration::from_millis(within));
    let plan = Plan::PerNode(lists.clone());
    let monitor = Scribe::default();
    let system = System::new(table.nodes(), plan, monitor).links(links).faults(faults);
    (Arc::clone(&table), system, lists)
}

/// All that is seen in any run that the checker follows, unless that is too much.
fn checked(system: &System<Puppet, Scribe>) -> Option<BTreeSet<Seen>> {
    let mut system = system.clone();
    system.monitor = Scribe::default();
    let bounds = Bounds::default().states(MOST_STATES);
    match explore(&system, &bounds, ONE, |_| {}).outcome {
        Outcome::Verified => {
            let book = system.monitor.book.lock().unwrap();
            Some(book.clone())
        }
        Outcome::Bounded { .. } => None,
        Outcome::Violated { violation, .. } => panic!("{violation}"),
    }
}

/// How many runs were compared.
#[derive(Debug, Default)]
struct Tally {
    with_clocks: usize,
    checked: usize,
    /// Systems in which the checker follows the very runs that clocks allow.
    exact: usize,
    compared: usize,
    /// Systems that were too large to be compared as a whole.
    cut_short: usize,
    /// Systems in which time forbids something that could else happen.
    bound_by_time: usize,
}

/// Compares systems of the first so many seeds, or of others for as long as is asked for.
fn compare(systems: u64, is_timely: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds(systems) {
        let (table, mut system, lists) = draw(&mut Dice(seed));
        let timely = system.links.within;
        let within = timely.map(|it| it.as_millis() as i64 * TICKS).filter(|_| is_timely);
        system.links.within = timely.filter(|_| is_timely);
        let (with_clocks, is_all) =
            Rules { system: &system, lists: &lists, within, remembers: true }.run();
        let Some(followed) = checked(&system) else {
            tally.cut_short += 1;
            continue;
        };
        if let Some(left_out) = with_clocks.difference(&followed).min_by_key(|it| it.len()) {
            let System { plan, links, faults, .. } = &system;
            panic!(
                "seed {seed}: left out {left_out:x?}\n{table:#?}\n{plan:?}\n{links:?} {faults:?}"
            );
        }
        if !is_all {
            tally.cut_short += 1;
            continue;
        }
        tally.compared += 1;
        tally.with_clocks += with_clocks.len();
        tally.checked += followed.len();
        tally.exact += usize::from(with_clocks == followed);
        if is_timely {
            system.links.within = None;
            let without = checked(&system);
            tally.bound_by_time += usize::from(without.is_none_or(|it| it.len() > followed.len()));
        }
    }
    tally
}

#[test]
fn no_run_is_left_out_that_clocks_allow_on_timely_links() {
    let tally = compare(500, true);
    println!("{tally:?}");
    if is_at_length() {
        return;
    }
    // Nor are so many followed that no clock allows that all this would say nothing.
    assert!(tally.compared > 400 && tally.bound_by_time > 150, "{tally:?}");
    assert!(10 * tally.exact > 8 * tally.compared, "{tally:?}");
    assert!(10 * tally.checked < 12 * tally.with_clocks, "{tally:?}");
}

#[test]
fn no_run_is_left_out_that_clocks_of_any_speed_allow() {
    let tally = compare(200, false);
    println!("{tally:?}");
    if is_at_length() {
        return;
    }
    assert!(tally.compared > 100 && 100 * tally.exact > 98 * tally.compared, "{tally:?}");
}

/// Something is owed from the start and from every notice 1 on, until a notice 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Debt {
    is_owed: bool,
}

impl Monitor for Debt {
    type Command = u8;
    type Notice = u8;
    type Tag = ();
    fn on_command(&mut self, _: NodeId, _: &u8) -> Result<(), Violation> {
        Ok(())
    }
    fn on_notice(&mut self, _: NodeId, notice: &u8) -> Result<(), Violation> {
        if *notice < 2 {
            self.is_owed = *notice == 1;
        }
        Ok(())
    }
    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }
    fn obligations(&self) -> Vec<Obligation> {
        let debt = Obligation { to: NodeId(0), property: "progress" };
        if self.is_owed { vec![debt] } else { Vec::new() }
    }
}

/// One or two nodes whose timers run out again and again.
fn draw_restless(dice: &mut Dice) -> System<Puppet, Debt> {
    let shape = Shape {
        nodes: dice.pick(&[1, 1, 2]),
        states: dice.pick(&[2, 3]),
        letters: 1,
        timers: 3,
        commands: 1,
        filled: 90,
        deeds: 3,
        ends: false,
        is_loud: false,
        odds: [dice.pick(&[0, 1]), 9, 2, 2, 0, 0, 0],
    };
    let nodes = Table::draw(dice, shape).nodes();
    let plan = Plan::PerNode(vec![vec![]; nodes.len()]);
    System::new(nodes, plan, Debt { is_owed: true })
}

/// Timer 0 takes so long; timer 1 takes so long and sets timer 2, which takes so long and settles
/// all. When timer 0 runs out, it cancels timer 2 and sets both anew. (Whether the third comes
/// before the first is for clocks to say.)
fn race([first, second, third]: [u64; 3]) -> System<Puppet, Debt> {
    let shape = Shape {
        nodes: 1,
        states: 2,
        letters: 1,
        timers: 3,
        commands: 1,
        filled: 0,
        deeds: 1,
        ends: false,
        is_loud: false,
        odds: [1, 0, 0, 0, 0, 0, 0],
    };
    let set = |timer, ms| HandlerResult::Set(timer, ms, ms);
    let both = vec![HandlerResult::Cancel(2), set(0, first), set(1, second)];
    let rows = [
        (Cue::Start, both.clone()),
        (Cue::Timer(0), both),
        (Cue::Timer(1), vec![set(2, third)]),
        (Cue::Timer(2), vec![HandlerResult::Say(0)]),
    ];
    let rows = rows.map(|(cue, deeds)| ((0, 0, cue), Row { then: 0, deeds })).into();
    let nodes = Arc::new(Table { shape, rows }).nodes();
    System::new(nodes, Plan::PerNode(vec![vec![]]), Debt { is_owed: true })
}

/// Whether progress is verified, and whether clocks allow it; nothing if it is neither verified nor
/// left open.
fn judged(system: &System<Puppet, Debt>) -> Option<(bool, bool)> {
    let is_verified =
        match explore(system, &Bounds::default().states(MOST_STATES), ONE, |_| {}).outcome {
            Outcome::Verified => true,
            Outcome::Bounded { by: Bound::Clocks } => false,
            Outcome::Bounded { .. } | Outcome::Violated { .. } => return None,
        };
    let lists = vec![vec![]; system.nodes.len()];
    let within = system.links.within.map(|it| it.as_millis() as i64 * TICKS);
    let rules = Rules { system, lists: &lists, within, remembers: false };
    rules.makes_progress().map(|makes_progress| (is_verified, makes_progress))
}

#[test]
fn progress_is_verified_only_where_clocks_allow_it() {
    let mut verified = 0;
    for seed in seeds(400) {
        let mut system = draw_restless(&mut Dice(seed));
        system.links.within = [None, Some(Duration::from_millis(1))][seed as usize % 2];
        let Some((is_verified, makes_progress)) = judged(&system) else { continue };
        assert!(makes_progress || !is_verified, "VORRANG_FUZZ_SEED={seed}: no clock allows it");
        verified += u32::from(is_verified);
    }
    assert!(is_at_length() || verified > 20, "{verified}");
}

#[test]
fn a_timer_that_another_always_outruns_is_no_help() {
    let (mut verified, mut rightly_bounded) = (0, 0);
    for within in [None, Some(Duration::from_millis(1))] {
        for delays in (0..64).map(|it| [1 + it / 16, 1 + it / 4 % 4, 1 + it % 4]) {
            let mut system = race(delays);
            system.links.within = within;
            let Some((is_verified, makes_progress)) = judged(&system) else { continue };
            assert!(makes_progress || !is_verified, "{delays:?}, {within:?}");
            verified += u32::from(is_verified);
            rightly_bounded += u32::from(!is_verified && !makes_progress);
        }
    }
    assert!(verified > 0 && rightly_bounded > 10, "{verified} {rightly_bounded}");
}
