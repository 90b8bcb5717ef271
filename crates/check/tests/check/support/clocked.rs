//! Systems with clocks, run in every way that those allow.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use vorrang_check::{Ask, Faults, Order, System};
use vorrang_protocol::{Effect, Event, NodeId, Outbox, Protocol as _};

use super::puppet::{NamedMessage, Puppet};

/// What was seen in a run: at which node, and what.
pub(crate) type Seen = Vec<(u8, u8)>;

pub(crate) const CRASH: u8 = 0x40;
pub(crate) const RESTART: u8 = 0x41;

/// Clocks tick so often in a unit.
pub(crate) const TICKS: i64 = 2;

/// So many situations with clocks are looked at in one system; what lies beyond is not compared.
const MOST_WORLDS: usize = 3_000;

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
    letter: NamedMessage,
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
pub(crate) type Lists = Vec<Vec<Ask<u8>>>;

/// The rules of a system with clocks.
pub(crate) struct Rules<'a, M> {
    pub(crate) system: &'a System<Puppet, M>,
    pub(crate) lists: &'a Lists,
    /// How long a message takes at most, in ticks, if there is a bound.
    pub(crate) within: Option<i64>,
    /// Whether all that was seen is remembered, or only the last of it that makes a debt or
    /// settles it.
    pub(crate) remembers: bool,
}

impl<M> Rules<'_, M> {
    /// All that is seen in any run, and whether that is all.
    pub(crate) fn run(&self) -> (BTreeSet<Seen>, bool) {
        let first = self.first();
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

    /// Whether from every world in which something is owed one can be reached in which it is not,
    /// unless there are too many worlds to tell.
    pub(crate) fn makes_progress(&self) -> Option<bool> {
        let mut sources: HashMap<World, Vec<World>> = HashMap::new();
        let mut open = self.first();
        let mut known: HashSet<World> = open.iter().cloned().collect();
        while let Some(world) = open.pop() {
            for next in self.next(&world) {
                sources.entry(next.clone()).or_default().push(world.clone());
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
            if known.len() > MOST_WORLDS {
                return None;
            }
        }
        let mut open: Vec<World> = known.iter().filter(|it| !it.owes()).cloned().collect();
        let mut fine: HashSet<World> = open.iter().cloned().collect();
        while let Some(world) = open.pop() {
            for source in sources.get(&world).into_iter().flatten() {
                if fine.insert(source.clone()) {
                    open.push(source.clone());
                }
            }
        }
        Some(fine.len() == known.len())
    }

    fn first(&self) -> Vec<World> {
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
        first
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
        let is_fifo = self.system.links.order == Order::Fifo;
        let is_last = !world.flying[place + 1..].iter().any(|it| (it.from, it.to) == link);
        let is_cut_off = world.faults.severing && world.down[it.from] && (is_last || !is_fifo);
        if is_cut_off || world.faults.losses > 0 {
            let mut lost = without.clone();
            lost.faults.losses -= u8::from(!is_cut_off);
            all.push(lost);
        }
        let is_behind = world.flying[..place].iter().any(|it| (it.from, it.to) == link);
        if is_behind && is_fifo {
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
            Effect::Notify(_) if !self.remembers && !matches!(*effect, Effect::Notify(0 | 1)) => {}
            Effect::Notify(notice) => {
                if !self.remembers {
                    world.seen.clear();
                }
                world.seen.push((at as u8, notice));
            }
        }
        vec![world]
    }
}

impl World {
    /// Something is owed from the start and from every notice 1 on, until a notice 0.
    fn owes(&self) -> bool {
        self.seen.last().is_none_or(|it| it.1 == 1)
    }

    fn cancel(&mut self, at: usize, timer: u8) {
        self.ringing.retain(|it| (it.at, it.timer) != (at, timer));
    }
}
