//! Liveness against a search that is as simple as can be: explicit states, reachability asked anew
//! for every state, components by brute force; on a few hundred systems drawn at random.

use crate::support;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use support::explore_all;
use support::table::{Act, Arm, Asks, Enter, Leave, On, Poke, Rule, Say, Wish, rule, with_plan};
use vorrang_check::{Ask, Liveness, Order, Outcome, Plan, Run};
use vorrang_protocol::Protocol;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct State {
    nodes: Vec<u8>,
    /// Oldest first on each link.
    flight: BTreeMap<(u32, u32), Vec<char>>,
    timers: BTreeSet<(u32, char)>,
    /// Given, and whether the next need not wait.
    places: Vec<(usize, bool)>,
    waiting: BTreeSet<u32>,
}

/// What fairness tells apart: a command, a message or a link, a timer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Label {
    Command(usize),
    NamedMessage(u32, u32, char),
    Link(u32, u32),
    Timer(u32, char),
}

#[derive(Clone, Debug)]
struct Step {
    text: String,
    label: Label,
    helps: bool,
    rearms: Vec<Label>,
    to: State,
}

struct Naive<'a> {
    rules: &'a [Rule],
    plan: &'a [Vec<Ask<Wish>>],
    order: Order,
}

impl Naive<'_> {
    /// Every outcome of what happens to a node: the choice, what was armed, where it leads.
    fn handle(&self, state: &State, at: u32, on: On) -> Vec<(String, Vec<Label>, State)> {
        let fits = |it: &&Rule| it.at == at && it.state == state.nodes[at as usize] && it.on == on;
        let fitting: Vec<&Rule> = self.rules.iter().filter(fits).collect();
        if fitting.is_empty() {
            return vec![(String::new(), vec![], state.clone())];
        }
        let outcome = |(choice, rule): (usize, &&Rule)| {
            let mut to = state.clone();
            to.nodes[at as usize] = rule.next;
            let mut rearms = Vec::new();
            for act in &rule.acts {
                match *act {
                    Say(other, word) => {
                        let queue = to.flight.entry((at, other)).or_default();
                        queue.push(word);
                        if self.order == Order::Any {
                            queue.sort_unstable();
                        }
                    }
                    Arm(timer) => {
                        to.timers.insert((at, timer));
                        rearms.push(Label::Timer(at, timer));
                    }
                    Enter => {
                        to.waiting.remove(&at);
                        to.places[at as usize].1 = true;
                    }
                }
            }
            let text = if fitting.len() > 1 { format!(" choose {choice}") } else { String::new() };
            (text, rearms, to)
        };
        fitting.iter().enumerate().map(outcome).collect()
    }

    fn steps(&self, state: &State) -> Vec<Step> {
        let mut all = Vec::new();
        let mut add = |before: &State, at: u32, on: On, text: String, label: Label, helps: bool| {
            for (choice, rearms, to) in self.handle(before, at, on) {
                let (text, label) = (format!("{text}{choice}"), label.clone());
                all.push(Step { text, label, helps, rearms, to });
            }
        };
        for (list, &(given, ready)) in state.places.iter().enumerate() {
            let Some(ask) = self.plan[list].get(given).filter(|_| ready) else { continue };
            let (mut before, at) = (state.clone(), list as u32);
            before.places[list] = (given + 1, !ask.then_wait);
            if ask.command == Asks {
                before.waiting.insert(at);
            }
            let text = format!("{} {at}", ask.command);
            let helps = given > 0 && ask.goes_on;
            add(&before, at, On::Command(ask.command), text, Label::Command(list), helps);
        }
        for (&(from, to), queue) in &state.flight {
            let mut words = queue.clone();
            words.dedup();
            words.truncate(if self.order == Order::Any { words.len() } else { 1 });
            for word in words {
                let mut before = state.clone();
                let queue = before.flight.get_mut(&(from, to)).unwrap();
                queue.remove(queue.iter().position(|&it| it == word).unwrap());
                before.flight.retain(|_, queue| !queue.is_empty());
                let text = format!("deliver {from}->{to} {word}");
                let label = match self.order {
                    Order::Any => Label::NamedMessage(from, to, word),
                    Order::Fifo => Label::Link(from, to),
                };
                add(&before, to, On::Hear(word), text, label, true);
            }
        }
        for &(at, timer) in &state.timers {
            let mut before = state.clone();
            before.timers.remove(&(at, timer));
            let text = format!("timer {at} {timer:?}");
            add(&before, at, On::Ring(timer), text, Label::Timer(at, timer), true);
        }
        all
    }

    fn first(&self) -> Vec<State> {
        let count = self.plan.len();
        let state =
            State { nodes: vec![0; count], places: vec![(0, true); count], ..State::default() };
        (0..count as u32).fold(vec![state], |all, at| {
            let started = |it: &State| self.handle(it, at, On::Start);
            all.iter().flat_map(started).map(|(.., to)| to).collect()
        })
    }

    /// All states with their steps; none if there are too many.
    fn all(&self) -> Option<HashMap<State, Vec<Step>>> {
        let mut known = HashMap::new();
        let mut rest = self.first();
        while let Some(state) = rest.pop() {
            if known.contains_key(&state) {
                continue;
            }
            let steps = self.steps(&state);
            rest.extend(steps.iter().map(|it| it.to.clone()));
            known.insert(state, steps);
            if known.len() > 120 {
                return None;
            }
        }
        Some(known)
    }
}

type Known = HashMap<State, Vec<Step>>;

/// All that can be reached from a state by steps that help, itself included, as long as it waits.
fn reach(known: &Known, from: &State, node: u32, only_waiting: bool) -> HashSet<State> {
    let mut reached = HashSet::new();
    let mut rest = vec![from.clone()];
    while let Some(state) = rest.pop() {
        if only_waiting && !state.waiting.contains(&node) || !reached.insert(state.clone()) {
            continue;
        }
        rest.extend(known[&state].iter().filter(|it| it.helps).map(|it| it.to.clone()));
    }
    reached
}

/// Whether somebody waits in some state and can never get it.
fn is_trap(known: &Known) -> bool {
    known.keys().any(|state| {
        state.waiting.iter().any(|&node| {
            reach(known, state, node, false).iter().all(|it| it.waiting.contains(&node))
        })
    })
}

/// Whether somebody waits for ever in a fair run.
fn is_starving(known: &Known) -> bool {
    known.keys().any(|state| {
        state.waiting.iter().any(|&node| {
            let there = reach(known, state, node, true);
            let back = |it: &&State| reach(known, it, node, true).contains(state);
            let component: HashSet<State> = there.iter().filter(back).cloned().collect();
            is_fair(known, &component)
        })
    })
}

fn is_fair(known: &Known, component: &HashSet<State>) -> bool {
    let helping = |state: &State| known[state].iter().filter(|it| it.helps).cloned();
    let inside: Vec<Step> = component
        .iter()
        .flat_map(|state| helping(state).filter(|it| component.contains(&it.to)))
        .collect();
    let labels: HashSet<Label> = component.iter().flat_map(helping).map(|it| it.label).collect();
    !inside.is_empty()
        && labels.iter().all(|label| {
            let is_taken = inside.iter().any(|it| it.label == *label || it.rearms.contains(label));
            is_taken || component.iter().any(|state| helping(state).all(|it| it.label != *label))
        })
}

/// Goes a run again; its loop must come back to where it began, with somebody waiting throughout.
fn assert_true<P: Protocol<Command = Wish>>(naive: &Naive<'_>, run: &Run<P>) {
    let mut states: Vec<Vec<State>> = vec![naive.first()];
    for step in &run.moves {
        let text = step.to_string();
        let from = states.last().unwrap();
        let steps = from.iter().flat_map(|state| naive.steps(state));
        let next: Vec<State> = steps.filter(|it| it.text == text).map(|it| it.to).collect();
        assert!(!next.is_empty(), "{text} cannot be taken in\n{run}");
        states.push(next);
    }
    let last = &states[run.moves.len()];
    let begin = run.repeats_from.unwrap_or(run.moves.len());
    assert!(states[begin].iter().any(|it| last.contains(it)), "no loop:\n{run}");
    let waits = |node: u32| {
        states[begin..].iter().all(|them| them.iter().any(|it| it.waiting.contains(&node)))
    };
    assert!((0..3).any(waits), "nobody waits throughout:\n{run}");
}

/// xorshift, so that the systems are the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % bound
    }
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn draw(dice: &mut Dice, count: u32) -> (Vec<Rule>, Vec<Vec<Ask<Wish>>>) {
    let mut rules = Vec::new();
    for at in 0..count {
        for state in 0..2 {
            for on in [
                On::Start,
                On::Command(Asks),
                On::Command(Leave),
                On::Command(Poke),
                On::Hear('a'),
                On::Hear('b'),
                On::Ring('t'),
            ] {
                let choices = dice.of(&[0, 1, 1, 1, 2]);
                for _ in 0..if on == On::Start { choices.min(1) } else { choices } {
                    let acts: Vec<Act> = (0..dice.of(&[0, 1, 1, 1, 2]))
                        .map(|_| match dice.below(9) {
                            0..=5 => Say(dice.below(u64::from(count)) as u32, dice.of(&['a', 'b'])),
                            6 => Arm('t'),
                            _ => Enter,
                        })
                        .collect();
                    rules.push(rule(at, state, on, dice.below(2) as u8, &acts));
                }
            }
        }
    }
    let list = |dice: &mut Dice| match dice.below(4) {
        0 => vec![],
        1 => vec![Ask::then_wait(Asks), Ask::to_end(Leave)],
        2 => vec![Ask::at_once(Asks), Ask::at_once(Poke)],
        _ => vec![Ask::at_once(Asks), Ask::to_end(Poke)],
    };
    let plan = (0..count).map(|_| list(dice)).collect();
    (rules, plan)
}

#[test]
fn the_verdict_is_that_of_a_naive_search_on_systems_drawn_at_random() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut counts: BTreeMap<(bool, bool, bool), u32> = BTreeMap::new();
    for round in 0..6_000 {
        let count = 1 + dice.below(3) as u32;
        let (rules, plan) = draw(&mut dice, count);
        let order = dice.of(&[Order::Any, Order::Fifo]);
        let naive = Naive { rules: &rules, plan: &plan, order };
        let Some(known) = naive.all() else { continue };
        let is_trap = is_trap(&known);
        let is_starving = is_trap || is_starving(&known);
        let mut system = with_plan(count, Plan::PerNode(plan.clone()), &rules);
        system.links.order = order;
        let mut has_loop = false;
        for (liveness, expected) in [(Liveness::Possible, is_trap), (Liveness::Fair, is_starving)] {
            system.demands.liveness = liveness;
            let report = explore_all(&system);
            match &report.outcome {
                Outcome::Verified => {
                    assert!(!expected, "round {round}: {liveness:?} {rules:#?} {plan:?}");
                    assert_eq!(report.states, known.len() as u64);
                }
                Outcome::Violated { violation, run } => {
                    assert!(expected, "round {round}: {violation}\n{run}\n{rules:#?} {plan:?}");
                    assert_true(&naive, run);
                    has_loop |= run.repeats_from.is_some();
                }
                Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
            }
        }
        *counts.entry((is_trap, is_starving, has_loop)).or_default() += 1;
    }
    // All kinds must have come up, or nothing was compared.
    let of = |trap, starving, has_loop| counts.get(&(trap, starving, has_loop)).copied();
    assert!(of(false, false, false) > Some(100), "verified: {counts:?}");
    assert!(of(true, true, true) > Some(50), "trapped in a loop: {counts:?}");
    assert!(of(false, true, true) > Some(20), "starving: {counts:?}");
    println!("{counts:?}");
}
