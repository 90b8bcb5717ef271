//! A search as plain as can be: whole states, copied and compared, in one sorted set. It knows
//! nothing of fingerprints, memory or threads, and says what the checker must say.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use vorrang_check::{Ask, Bound, Bounds, FOREVER, Faults, Order, Plan, System};
use vorrang_protocol::{Effect, Event, Monitor as _, NodeId, Outbox, Protocol as _};

use super::endless::Graph;
use super::judge::Judge;
use super::puppet::Puppet;
use super::world::{Before, Flying, Label, Step, World, rearmed};

/// The commands of a turn: those of nodes that take turns are taken for ever, or never.
const TURN: usize = 2;

/// What the checker must say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expected {
    pub(crate) verdict: Verdict,
    pub(crate) states: u64,
    pub(crate) steps: u64,
    pub(crate) depth: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Verified,
    Bounded(Bound),
    /// After so many steps, by one of these properties.
    Violated(usize, BTreeSet<&'static str>),
    /// For ever, by one of these.
    Endless(BTreeSet<&'static str>),
}

/// The search.
pub(crate) struct Naive<'a> {
    pub(crate) system: &'a System<Puppet, Judge>,
}

impl Naive<'_> {
    /// What the checker must say, unless there are more states than that.
    pub(crate) fn explore(&self, bounds: &Bounds, most: usize) -> Option<Expected> {
        let mut level: BTreeSet<World> = BTreeSet::new();
        let starts = self.starts();
        let failed: BTreeSet<_> = starts.iter().filter_map(|it| it.led.clone().err()).collect();
        if !failed.is_empty() {
            let verdict = Verdict::Violated(0, failed);
            return Some(Expected { verdict, states: 0, steps: 0, depth: 0 });
        }
        level.extend(starts.into_iter().filter_map(|it| it.led.ok()));
        let mut known = level.clone();
        let (mut steps, mut depth, mut graph) = (0, 0, Graph::new());
        loop {
            let mut next = BTreeSet::new();
            let (mut at_rest, mut on_the_way) = (BTreeSet::new(), BTreeSet::new());
            let mut is_cut = false;
            for world in &level {
                if self.is_at_rest(world) {
                    at_rest.extend(self.objection(world));
                }
                let all = self.steps(world);
                if bounds.depth == Some(depth) {
                    is_cut |= !all.is_empty();
                    continue;
                }
                steps += all.len() as u64;
                for step in &all {
                    match &step.led {
                        Ok(it) if known.insert(it.clone()) => drop(next.insert(it.clone())),
                        Ok(_) => {}
                        Err(property) => drop(on_the_way.insert(*property)),
                    }
                }
                let bound = all.into_iter().filter(|step| step.label.is_some());
                graph.insert(world.clone(), bound.collect());
                if known.len() > most {
                    return None;
                }
            }
            let farthest = depth + u32::from(!next.is_empty());
            let is_beyond = bounds.states.is_some_and(|most| known.len() as u64 > most);
            let verdict = match (at_rest.is_empty(), on_the_way.is_empty()) {
                (false, _) => Verdict::Violated(depth as usize, at_rest),
                (true, false) => Verdict::Violated(depth as usize + 1, on_the_way),
                (true, true) if is_cut => Verdict::Bounded(Bound::Depth),
                (true, true) if next.is_empty() => Verdict::Verified,
                (true, true) if is_beyond => Verdict::Bounded(Bound::States),
                (true, true) => {
                    (level, depth) = (next, farthest);
                    continue;
                }
            };
            let endless = match &verdict {
                Verdict::Verified | Verdict::Bounded(_) => self.endless(&graph),
                Verdict::Violated(..) | Verdict::Endless(_) => BTreeSet::new(),
            };
            let verdict = match verdict {
                _ if !endless.is_empty() => Verdict::Endless(endless),
                Verdict::Verified if self.is_doubtful(&graph) => Verdict::Bounded(Bound::Clocks),
                verdict => verdict,
            };
            let states = known.len() as u64;
            return Some(Expected { verdict, states, steps, depth: farthest });
        }
    }

    /// Whether a run can be taken, and ends in a violation of this property.
    pub(crate) fn replay(&self, starts: &[Vec<u32>], moves: &[String], property: &str) -> bool {
        self.follow_moves(starts, moves).into_iter().any(|it| match it {
            Err(violated) => violated == property,
            Ok(world) => self.is_at_rest(&world) && self.objection(&world) == Some(property),
        })
    }

    /// What a run comes to.
    pub(super) fn follow_moves(
        &self,
        starts: &[Vec<u32>],
        moves: &[String],
    ) -> Vec<Result<World, &'static str>> {
        let text = starts.iter().map(|it| chosen(it)).collect::<String>();
        let starts = self.starts().into_iter().filter(|it| it.text == text);
        moves.iter().fold(starts.map(|it| it.led).collect(), |now: Vec<_>, text| {
            let steps = now.iter().filter_map(|it| it.as_ref().ok()).flat_map(|it| self.steps(it));
            steps.filter(|it| it.text == *text).map(|it| it.led).collect()
        })
    }

    /// What is wrong with a world in which nothing is bound to happen.
    fn objection(&self, world: &World) -> Option<&'static str> {
        let judge = self.judge(world);
        let debt = judge.obligations().first().map(|it| it.property);
        judge.at_rest().err().map(|it| it.property).or(debt)
    }

    /// All ways to start all nodes.
    fn starts(&self) -> Vec<Step> {
        let System { nodes, plan, monitor, faults, .. } = self.system;
        let Faults { crashes, restarts, losses, duplicates, severing, .. } = *faults;
        let lists = match plan {
            Plan::PerNode(lists) => lists.len(),
            Plan::Script(_) | Plan::InLulls(_) => 1,
            Plan::Turns { turns, .. } => turns.len(),
        };
        let mut world = World {
            nodes: nodes.clone(),
            down: vec![false; nodes.len()],
            judge: monitor.state,
            places: vec![(0, true); lists],
            flying: Vec::new(),
            armed: BTreeMap::new(),
            faults: [crashes, restarts, losses, duplicates, u8::from(severing)],
        };
        self.tidy(&mut world);
        let mut all =
            vec![Step { text: String::new(), led: Ok(world), label: None, rearms: vec![] }];
        for at in 0..nodes.len() {
            let mut next = Vec::new();
            for Step { text, led, .. } in &all {
                let Ok(world) = led else { continue };
                self.told(world, world, at, &Event::Start, None, text, &mut next);
            }
            if next.iter().any(|it| it.led.is_err()) {
                return next;
            }
            all = next;
        }
        all
    }

    /// All that can happen.
    pub(super) fn steps(&self, world: &World) -> Vec<Step> {
        let mut all = Vec::new();
        for (list, at, command) in self.commands(world) {
            let mut next = world.clone();
            let given = match self.system.plan {
                Plan::Turns { .. } => (world.places[list].0 + 1) % TURN,
                Plan::PerNode(_) | Plan::Script(_) | Plan::InLulls(_) => world.places[list].0 + 1,
            };
            next.places[list] = (given, !self.ask(list, world).then_wait);
            let (text, first) = (format!("{command} {at}"), all.len());
            self.told(world, &next, at, &Event::Command(command), None, &text, &mut all);
            let label = match (self.is_bound(world, list), &self.system.plan) {
                (true, _) => Some(Label::Command(list)),
                (false, Plan::Turns { .. }) => Some(Label::Wish(list)),
                (false, Plan::PerNode(_) | Plan::Script(_) | Plan::InLulls(_)) => None,
            };
            all[first..].iter_mut().for_each(|step| step.label.clone_from(&label));
        }
        for place in self.arrivals(world) {
            let (first, Flying { from, to, letter, tag, .. }) = (all.len(), &world.flying[place]);
            self.arrive(world, place, &mut all);
            let label = match self.system.links.order {
                Order::Any => Label::NamedMessage(*from, *to, *letter, *tag),
                Order::Fifo => Label::Link(*from, *to),
            };
            let bound = all[first..].iter_mut().filter(|step| step.text.starts_with("deliver"));
            bound.for_each(|step| step.label = Some(label.clone()));
        }
        for &(at, timer) in world.armed.keys() {
            if world.befores().all(|it| !it.contains_key(&(at, timer))) {
                let mut next = world.clone();
                next.disarm((at, timer));
                let (text, first) = (format!("timer {at} {timer:?}"), all.len());
                self.told(world, &next, at, &Event::Timer(timer), None, &text, &mut all);
                let label = Label::Timer((at, timer));
                all[first..].iter_mut().for_each(|step| step.label = Some(label.clone()));
            }
        }
        for at in 0..world.nodes.len() {
            self.crash_or_restart(world, at, &mut all);
        }
        self.sever(world, &mut all);
        all
    }

    fn ask(&self, list: usize, world: &World) -> Ask<u8> {
        match &self.system.plan {
            Plan::PerNode(lists) => lists[list][world.places[list].0].clone(),
            Plan::Script(all) | Plan::InLulls(all) => Ask::at_once(all[world.places[0].0].1),
            Plan::Turns { leave, .. } if world.places[list].0 > 0 => Ask::to_end(*leave),
            Plan::Turns { turns, .. } => Ask::then_wait(turns[list].1),
        }
    }

    /// The lists that can go on, at which node and with which command.
    fn commands(&self, world: &World) -> Vec<(usize, usize, u8)> {
        let all: Vec<(usize, usize, u8)> = match &self.system.plan {
            Plan::PerNode(lists) => (0..lists.len())
                .filter(|&at| world.places[at].1)
                .filter_map(|at| Some((at, at, lists[at].get(world.places[at].0)?.command)))
                .collect(),
            Plan::Turns { turns, .. } => (0..turns.len())
                .filter(|&at| world.places[at].1 && turns[at].0 == FOREVER)
                .map(|at| (at, at, self.ask(at, world).command))
                .collect(),
            Plan::Script(_) if !world.armed.is_empty() => Vec::new(),
            Plan::Script(_) | Plan::InLulls(_) if !world.flying.is_empty() => Vec::new(),
            Plan::Script(all) | Plan::InLulls(all) => {
                let next = all.get(world.places[0].0).into_iter();
                next.map(|&(at, command)| (0, at.index(), command)).collect()
            }
        };
        all.into_iter().filter(|&(_, at, _)| !world.down[at]).collect()
    }

    /// Nothing is bound to happen: commands that begin something may just as well never be given.
    fn is_at_rest(&self, world: &World) -> bool {
        world.is_quiet() && !self.commands(world).iter().any(|it| self.is_bound(world, it.0))
    }

    /// Whether the next command of this list, which can be given, will be.
    fn is_bound(&self, world: &World, list: usize) -> bool {
        match &self.system.plan {
            Plan::PerNode(_) => world.places[list].0 > 0 && self.ask(list, world).goes_on,
            Plan::Script(_) | Plan::InLulls(_) => true,
            Plan::Turns { .. } => world.places[list].0 > 0,
        }
    }

    pub(super) fn judge(&self, world: &World) -> Judge {
        Judge { state: world.judge, law: Arc::clone(&self.system.monitor.law) }
    }

    /// The places of the messages that may arrive, of equal ones that of one.
    fn arrivals(&self, world: &World) -> Vec<usize> {
        let is_one = |&place: &usize| {
            let it = &world.flying[place];
            let mut earlier = world.flying[..place].iter();
            match self.system.links.order {
                Order::Any => !earlier.any(|other| other == it),
                Order::Fifo => !earlier.any(|other| (other.from, other.to) == (it.from, it.to)),
            }
        };
        (0..world.flying.len()).filter(is_one).collect()
    }

    fn arrive(&self, world: &World, place: usize, all: &mut Vec<Step>) {
        let Flying { from, to, letter, tag, .. } = world.flying[place].clone();
        let [_, _, losses, duplicates, severing] = world.faults;
        let link = format!("{from}->{to} {letter}");
        let event = Event::Message { from: NodeId(from as u32), message: letter };
        let mut without = world.clone();
        without.flying.remove(place);
        let mut arrive = |verb, next: &World| {
            let label = format!("{verb} {link}");
            if world.down[to] {
                let mut next = next.clone();
                self.tidy(&mut next);
                all.push(Step { text: label, led: Ok(next), label: None, rearms: vec![] });
            } else {
                self.told(world, next, to, &event, Some(tag), &label, all);
            }
        };
        arrive("deliver", &without);
        if duplicates > 0 {
            let mut again = world.clone();
            again.faults[3] -= 1;
            arrive("duplicate", &again);
        }
        let is_cut_off = severing == 1 && world.down[from] && self.is_last(world, place);
        if is_cut_off || losses > 0 {
            without.faults[2] -= u8::from(!is_cut_off);
            all.push(self.lose(without, &link));
        }
    }

    fn lose(&self, mut without: World, link: &str) -> Step {
        self.tidy(&mut without);
        Step { text: format!("lose {link}"), led: Ok(without), label: None, rearms: vec![] }
    }

    /// Whether nothing is behind a message on a link that keeps its order.
    fn is_last(&self, world: &World, place: usize) -> bool {
        let Flying { from, to, .. } = &world.flying[place];
        let mut later = world.flying[place + 1..].iter();
        self.system.links.order == Order::Any || !later.any(|it| (&it.from, &it.to) == (from, to))
    }

    /// What a crash takes along is the end of a queue, of which the front may be yet to arrive.
    fn sever(&self, world: &World, all: &mut Vec<Step>) {
        let [.., severing] = world.faults;
        if severing == 0 || self.system.links.order == Order::Any {
            return;
        }
        for place in 1..world.flying.len() {
            let [before, it] = [&world.flying[place - 1], &world.flying[place]];
            let Flying { from, to, letter, .. } = it;
            let is_behind = (before.from, before.to) == (*from, *to);
            if world.down[*from] && is_behind && self.is_last(world, place) {
                let mut without = world.clone();
                without.flying.remove(place);
                all.push(self.lose(without, &format!("{from}->{to} {letter}")));
            }
        }
    }

    fn crash_or_restart(&self, world: &World, at: usize, all: &mut Vec<Step>) {
        let [crashes, restarts, ..] = world.faults;
        let mut next = world.clone();
        if !world.down[at] && crashes > 0 {
            next.faults[0] -= 1;
            next.down[at] = true;
            let timers = world.armed.keys().filter(|it| it.0 == at);
            timers.for_each(|&timer| next.disarm(timer));
            next.nodes[at] = world.nodes[at].after_crash(self.system.nodes[at].clone());
            let mut judge = self.judge(world);
            judge.on_crash(NodeId(at as u32));
            next.judge = judge.state;
            match &self.system.plan {
                Plan::PerNode(lists) => {
                    let (given, _) = world.places[at];
                    let skipped = lists[at][given..].iter().take_while(|it| it.goes_on).count();
                    next.places[at] = (given + skipped, true);
                }
                Plan::Turns { .. } => next.places[at] = (0, true),
                Plan::Script(_) | Plan::InLulls(_) => {}
            }
            self.tidy(&mut next);
            let text = format!("crash {at}");
            all.push(Step { text, led: Ok(next), label: None, rearms: vec![] });
        } else if world.down[at] && restarts > 0 {
            next.faults[1] -= 1;
            next.down[at] = false;
            self.told(world, &next, at, &Event::Restart, None, &format!("restart {at}"), all);
        }
    }

    /// A node is told something, with every answer to what it asks. Of what was pending, that which
    /// happens now is in the world before, and no longer in the one now.
    #[expect(clippy::too_many_arguments, reason = "a step has many sides")]
    fn told(
        &self,
        before: &World,
        now: &World,
        at: usize,
        event: &Event<Puppet>,
        tag: Option<u8>,
        text: &str,
        all: &mut Vec<Step>,
    ) {
        let mut open = vec![Vec::new()];
        while let Some(answers) = open.pop() {
            let mut next = now.clone();
            let mut asked: Vec<(u32, u32)> = Vec::new();
            let mut outbox = Outbox::new(|bound: NonZeroU32| {
                let answer = answers.get(asked.len()).copied().unwrap_or(0);
                asked.push((answer, bound.get()));
                answer
            });
            let outcome = next.nodes[at].handle(event.clone(), &mut outbox);
            let effects = outbox.take();
            for place in answers.len()..asked.len() {
                let so_far: Vec<u32> = asked[..place].iter().map(|it| it.0).collect();
                open.extend((1..asked[place].1).map(|it| [&so_far[..], &[it]].concat()));
            }
            let answers: Vec<u32> = asked.iter().map(|it| it.0).collect();
            let text = text.to_owned() + &chosen(&answers);
            let rearms = rearmed(at, &effects);
            if outcome.is_err() {
                all.push(Step { text, led: Err("refused"), label: None, rearms });
                continue;
            }
            let led = self.follow(before, &mut next, at, event, tag, effects).map(|()| next);
            all.push(Step { text, led, label: None, rearms });
        }
    }

    /// What a node's effects do to the world, and what the monitor says to it.
    fn follow(
        &self,
        before: &World,
        next: &mut World,
        at: usize,
        event: &Event<Puppet>,
        tag: Option<u8>,
        effects: Vec<Effect<Puppet>>,
    ) -> Result<(), &'static str> {
        let mut judge = self.judge(next);
        let id = NodeId(at as u32);
        match (event, tag) {
            (Event::Command(command), _) => {
                judge.on_command(id, command).map_err(|it| it.property)?;
            }
            (Event::Restart, _) => judge.on_restart(id),
            (Event::Message { .. }, Some(tag)) => judge.on_receive(id, &tag),
            (Event::Start | Event::Timer(_) | Event::Message { .. }, _) => {}
        }
        let (mut sent, mut hours) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    let (to, tag) = (to.index(), judge.on_send(id));
                    sent.push(Flying { from: at, to, letter: message, tag, before: Before::new() });
                }
                Effect::Notify(notice) => {
                    judge.on_notice(id, &notice).map_err(|it| it.property)?;
                    if matches!(self.system.plan, Plan::PerNode(_) | Plan::Turns { .. }) {
                        next.places[at].1 = true;
                    }
                }
                Effect::SetTimer { timer, delay } => hours.push(((at, timer), Some(delay))),
                Effect::CancelTimer(timer) => hours.push(((at, timer), None)),
            }
        }
        next.judge = judge.state;
        self.keep_time(before, next, hours, &mut sent);
        next.flying.extend(sent);
        self.tidy(next);
        Ok(())
    }

    /// Forgets what nobody will ever see, and brings the rest into an order.
    fn tidy(&self, world: &mut World) {
        let down = world.down.iter().filter(|&&it| it).count() as u32;
        let [crashes, restarts, _, _, severing] = &mut world.faults;
        *restarts = u32::from(*restarts).min(u32::from(*crashes) + down) as u8;
        *severing &= u8::from(u32::from(*crashes) + down > 0);
        if *restarts == 0 {
            let down = world.down.clone();
            world.flying.retain(|it| !down[it.to]);
        }
        match self.system.links.order {
            Order::Any => world.flying.sort(),
            Order::Fifo => world.flying.sort_by_key(|it| (it.from, it.to)),
        }
    }
}

/// Answers, as moves show them.
fn chosen(answers: &[u32]) -> String {
    let word = if answers.is_empty() { "" } else { " choose" };
    answers.iter().fold(word.to_owned(), |text, it| text + " " + &it.to_string())
}
