//! The checker has no clocks. Here the same systems run with clocks, in every way that those allow,
//! and the checker must have followed every one of these runs.
//!
//! With closed bounds on delays, clocks that tick lose nothing against continuous ones (Henzinger,
//! Manna, Pnueli, "What good are digital clocks?", ICALP 1992); since some ties are settled, they
//! tick twice a unit.
//!
//! `VORRANG_FUZZ_SECONDS` and `VORRANG_FUZZ_SEED` mean what they mean in `fuzz.rs`.

use crate::support;

use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::ONE;
use support::puppet::{Dice, Letter, Puppet, Shape, Table, is_at_length, seeds};
use vorrang_check::{Ask, Bounds, Faults, Links, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Effect, Event, Monitor, NodeId, Outbox, Protocol as _, Violation};

/// What was seen in a run: at which node, and what.
type Seen = Vec<(u8, u8)>;

const CRASH: u8 = 0x40;
const RESTART: u8 = 0x41;

const TICKS: i64 = 2;

/// So many situations with clocks are looked at in one system; what lies beyond is not compared.
const MOST_WORLDS: usize = 3_000;

/// A system in which the checker finds more is left out.
const MOST_STATES: u64 = 3_000;

/// Remembers a run, and writes down all that it has ever seen.
#[derive(Clone, Debug, Default)]
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

/// A system with clocks at one instant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    nodes: Vec<Puppet>,
    down: Vec<bool>,
    /// In the order of sending.
    flying: Vec<Flying>,
    /// In the order of setting.
    ringing: Vec<Ringing>,
    given: Vec<usize>,
    faults: Faults,
    seen: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Flying {
    from: usize,
    to: usize,
    letter: Letter,
    /// It arrives before so many ticks have passed.
    latest: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Ringing {
    at: usize,
    timer: u8,
    earliest: i64,
    latest: i64,
}

/// The workload.
type Lists = Vec<Vec<Ask<u8>>>;

/// The rules of a system with clocks.
struct Rules<'a> {
    system: &'a System<Puppet, Scribe>,
    lists: &'a Lists,
    /// How long a message takes at most, in ticks, if there is a bound.
    within: Option<i64>,
}

impl Rules<'_> {
    /// All that is seen in any run, and whether that is all.
    fn run(&self) -> (BTreeSet<Seen>, bool) {
        let size = self.system.nodes.len();
        let mut first = vec![World {
            nodes: self.system.nodes.clone(),
            down: vec![false; size],
            flying: Vec::new(),
            ringing: Vec::new(),
            given: vec![0; size],
            faults: self.system.faults,
            seen: Seen::new(),
        }];
        for at in 0..size {
            first = first.iter().flat_map(|it| self.told(it, at, Event::Start)).collect();
        }
        let mut known: HashSet<World> = first.iter().cloned().collect();
        let mut open = first;
        let mut seen = BTreeSet::new();
        while let Some(world) = open.pop() {
            if known.len() > MOST_WORLDS {
                return (seen, false);
            }
            for next in self.next(&world) {
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
            // Also what was seen half way through a step.
            let mut ends = (1..=world.seen.len()).rev();
            while ends.next().is_some_and(|end| seen.insert(world.seen[..end].to_vec())) {}
        }
        (seen, true)
    }

    fn next(&self, world: &World) -> Vec<World> {
        let mut all = self.ticks(world);
        for at in 0..world.nodes.len() {
            if let Some(ask) = self.lists[at].get(world.given[at]).filter(|_| !world.down[at]) {
                let mut next = world.clone();
                next.given[at] += 1;
                all.extend(self.told(&next, at, Event::Command(ask.command)));
            }
            all.extend(self.crash_or_restart(world, at));
        }
        for place in 0..world.flying.len() {
            all.extend(self.arrive(world, place));
        }
        for place in (0..world.ringing.len()).filter(|&it| self.may_ring(world, it)) {
            let mut next = world.clone();
            let Ringing { at, timer, .. } = next.ringing.remove(place);
            all.extend(self.told(&next, at, Event::Timer(timer)));
        }
        all
    }

    /// Time passes, at all nodes alike or at any one of them.
    fn ticks(&self, world: &World) -> Vec<World> {
        let clocks = match self.within {
            Some(_) if world.flying.iter().any(|it| it.latest == 0) => return Vec::new(),
            Some(_) if world.ringing.iter().any(|it| it.latest == 0) => return Vec::new(),
            Some(_) => 1,
            None => world.nodes.len(),
        };
        let mut all = Vec::new();
        for clock in 0..clocks {
            let mut next = world.clone();
            let is_late = |it: &Ringing| self.within.is_some() || it.at == clock;
            if self.within.is_none() && !world.ringing.iter().any(|it| is_late(it) && it.latest > 0)
            {
                continue;
            }
            for it in next.ringing.iter_mut().filter(|it| is_late(it)) {
                it.latest -= 1;
                it.earliest = match self.within {
                    Some(_) => (it.earliest - 1).max(0),
                    None => it.latest,
                };
            }
            next.flying.iter_mut().for_each(|it| it.latest -= i64::from(self.within.is_some()));
            all.push(next);
        }
        all
    }

    fn may_ring(&self, world: &World, place: usize) -> bool {
        let it = world.ringing[place];
        let mut ours = world.ringing.iter().enumerate().filter(|(_, other)| other.at == it.at);
        if self.within.is_none() {
            // A slow node finds several due, and takes them in order.
            let first = ours.min_by_key(|&(place, other)| (other.latest, place)).unwrap();
            return it.latest <= 0 && first.0 == place;
        }
        let is_message_due = world.flying.iter().any(|it| it.latest == 0);
        let is_other_first = ours.any(|(other, ringing)| other < place && ringing.latest == 0);
        it.earliest == 0 && !is_message_due && !is_other_first
    }

    /// A message arrives, is lost, or arrives and will arrive again.
    fn arrive(&self, world: &World, place: usize) -> Vec<World> {
        let it = world.flying[place];
        let link = (it.from, it.to);
        let mut all = Vec::new();
        let mut without = world.clone();
        without.flying.remove(place);
        if world.faults.losses > 0 {
            let mut lost = without.clone();
            lost.faults.losses -= 1;
            all.push(lost);
        }
        let is_behind = world.flying[..place].iter().any(|it| (it.from, it.to) == link);
        if is_behind && self.system.links.order == Order::Fifo {
            return all;
        }
        let event = Event::Message { from: NodeId(it.from as u32), message: it.letter };
        if world.faults.duplicates > 0 {
            let mut again = world.clone();
            again.faults.duplicates -= 1;
            all.extend(self.told(&again, it.to, event.clone()));
        }
        all.extend(self.told(&without, it.to, event));
        all
    }

    fn crash_or_restart(&self, world: &World, at: usize) -> Vec<World> {
        let Faults { crashes, restarts, .. } = world.faults;
        let mut next = world.clone();
        match world.down[at] {
            false if crashes > 0 => {
                next.faults.crashes -= 1;
                next.down[at] = true;
                next.ringing.retain(|it| it.at != at);
                next.nodes[at] = world.nodes[at].after_crash(self.system.nodes[at].clone());
                next.seen.push((at as u8, CRASH));
                vec![next]
            }
            true if restarts > 0 => {
                next.faults.restarts -= 1;
                next.down[at] = false;
                next.seen.push((at as u8, RESTART));
                self.told(&next, at, Event::Restart)
            }
            true | false => Vec::new(),
        }
    }

    /// A node is told something, and every delay is drawn for what it does.
    fn told(&self, world: &World, at: usize, event: Event<Puppet>) -> Vec<World> {
        let mut next = world.clone();
        if next.down[at] {
            return vec![next];
        }
        let mut outbox = Outbox::default();
        next.nodes[at].handle(event, &mut outbox).unwrap();
        let mut all = vec![next];
        for effect in outbox.take() {
            all = all.into_iter().flat_map(|world| self.done(world, at, &effect)).collect();
        }
        all
    }

    /// A node does something.
    fn done(&self, mut world: World, at: usize, effect: &Effect<Puppet>) -> Vec<World> {
        match *effect {
            Effect::Send { to, message } => {
                let latest = self.within.unwrap_or(0);
                world.flying.push(Flying { from: at, to: to.index(), letter: message, latest });
            }
            Effect::SetTimer { timer, delay } => {
                let ticks = |delay: Duration| delay.as_millis() as i64 * TICKS;
                let (earliest, latest) = (ticks(delay.min), ticks(delay.max));
                let set = |earliest, latest| {
                    let mut world = world.clone();
                    world.cancel(at, timer);
                    world.ringing.push(Ringing { at, timer, earliest, latest });
                    world
                };
                return match self.within {
                    Some(_) => vec![set(earliest, latest)],
                    None => (earliest..=latest).map(|it| set(it, it)).collect(),
                };
            }
            Effect::CancelTimer(timer) => world.cancel(at, timer),
            Effect::Notify(notice) => world.seen.push((at as u8, notice)),
        }
        vec![world]
    }
}

impl World {
    fn cancel(&mut self, at: usize, timer: u8) {
        self.ringing.retain(|it| (it.at, it.timer) != (at, timer));
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
        .severing(false);
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
        let (with_clocks, is_all) = Rules { system: &system, lists: &lists, within }.run();
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
