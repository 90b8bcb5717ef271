//! All states once more, and the steps between them that count.

use std::collections::HashMap;

use super::Watch;
use crate::fingerprint::{ByTotal, Print};
use crate::model::{Cut, Model, Obligations};
use crate::obligations::{Label, PendingObligation, label, rearmed, waits_for_rest};
use crate::report::Bound;
use crate::retrace::Initial;
use crate::state::{State, States};
use crate::state_hash::StateHash;
use crate::step::Stepper;
use crate::trial::Trial;

/// The graph; states by their numbers, in the order in which the search found them.
pub(crate) struct Graph<T> {
    prints: Vec<T>,
    /// The obligations of each state, as a place in `owings`.
    kinds: Vec<u32>,
    owings: Vec<Owing>,
    dues: Vec<PendingObligation>,
    labels: Vec<Label>,
    /// Where the steps of each state begin, and the end. States from `starts.len() - 1` on were not
    /// explored.
    starts: Vec<usize>,
    steps: Vec<Step>,
    /// Timers that a step sets again or cancels, by step.
    rearmed: Vec<(usize, u32)>,
}

/// A step that counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) to: u32,
    /// The label of the step, as a place among the labels.
    pub(crate) label: u32,
}

/// The obligations of a state: places among the dues.
#[derive(Clone, Debug, Default)]
struct Owing {
    monitor: Print,
    /// Not settled.
    unsettled: Vec<u32>,
    /// Not settled, and to be.
    present: Vec<u32>,
}

impl<T: StateHash> Graph<T> {
    /// Visits all states again, but not those `unexplored` steps from the start or farther.
    pub(crate) fn build(
        model: Model<'_>,
        initial: &[Initial<T>],
        unexplored: Option<u32>,
        watch: &mut Watch<'_, '_>,
    ) -> Result<Self, Bound> {
        let mut builder = Builder::new(model);
        let mut level = States::default();
        for Initial { state, .. } in initial {
            let state = state.at(0);
            if builder.number(state.print).1 {
                level.push_copy(&state);
                builder.note(&state);
            }
        }
        let mut depth = 0;
        while level.len() > 0 && unexplored.is_none_or(|limit| depth < limit) {
            watch.begin_level(depth, level.len());
            let mut next = States::default();
            for state in level.iter() {
                builder.explore(&state, &mut next).map_err(|Cut(by)| by)?;
                watch.take(builder.bytes() + level.bytes() + next.bytes())?;
            }
            level = next;
            depth += 1;
        }
        Ok(builder.graph)
    }

    pub(crate) fn len(&self) -> usize {
        self.prints.len()
    }

    pub(crate) fn print(&self, state: u32) -> T {
        self.prints[state as usize]
    }

    pub(crate) fn monitor(&self, state: u32) -> Print {
        self.owings[self.kinds[state as usize] as usize].monitor
    }

    pub(crate) fn label(&self, label: u32) -> Label {
        self.labels[label as usize]
    }

    /// Whether a step may fulfil an obligation; others may only be part of a loop.
    pub(super) fn is_help(&self, step: Step) -> bool {
        !matches!(self.label(step.label), Label::Wish(_))
    }

    /// Whether timers run out in it.
    pub(super) fn has_timers(&self) -> bool {
        self.labels.iter().any(|it| matches!(it, Label::Timer(..)))
    }

    pub(crate) fn dues(&self) -> impl Iterator<Item = (u32, PendingObligation)> {
        (0..).zip(self.dues.iter().copied())
    }

    /// Whether a state was explored, so that all its steps are known.
    pub(crate) fn is_explored(&self, state: u32) -> bool {
        (state as usize) + 1 < self.starts.len()
    }

    pub(crate) fn steps(&self, state: u32) -> &[Step] {
        if !self.is_explored(state) {
            return &[];
        }
        &self.steps[self.starts[state as usize]..self.starts[state as usize + 1]]
    }

    /// The timers, as labels, that this how manieth step of the state sets again or cancels.
    pub(crate) fn rearmed(&self, state: u32, step: usize) -> impl Iterator<Item = u32> {
        let step = self.starts[state as usize] + step;
        let first = self.rearmed.partition_point(|it| it.0 < step);
        self.rearmed[first..].iter().take_while(move |it| it.0 == step).map(|it| it.1)
    }

    /// For every state whether this is owed in it.
    pub(crate) fn unsettled(&self, due: u32) -> Vec<bool> {
        self.by_state(|owing| owing.unsettled.contains(&due))
    }

    /// For every state whether this is owed in it, and to be settled.
    pub(crate) fn present(&self, due: u32) -> Vec<bool> {
        self.by_state(|owing| owing.present.contains(&due))
    }

    fn by_state(&self, is: impl Fn(&Owing) -> bool) -> Vec<bool> {
        let owings: Vec<bool> = self.owings.iter().map(is).collect();
        self.kinds.iter().map(|&kind| owings[kind as usize]).collect()
    }

    /// All steps that may fulfil an obligation, backwards: where those to each state begin, and
    /// where they come from.
    pub(crate) fn backwards(&self) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0; self.len() + 1];
        for step in self.steps.iter().filter(|step| self.is_help(**step)) {
            starts[step.to as usize + 1] += 1;
        }
        for state in 1..starts.len() {
            starts[state] += starts[state - 1];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; starts[self.len()]];
        for state in 0..self.len() as u32 {
            for step in self.steps(state).iter().filter(|step| self.is_help(**step)) {
                let place = &mut next[step.to as usize];
                sources[*place] = state;
                *place += 1;
            }
        }
        (starts, sources)
    }
}

struct Builder<'a, T> {
    model: Model<'a>,
    stepper: Stepper<'a, T>,
    numbers: ByTotal<T, u32>,
    known_owings: HashMap<(Print, bool), u32>,
    known_labels: HashMap<Label, u32>,
    graph: Graph<T>,
}

impl<'a, T: StateHash> Builder<'a, T> {
    fn new(model: Model<'a>) -> Self {
        Self {
            model,
            stepper: Stepper::new(model),
            numbers: ByTotal::default(),
            known_owings: HashMap::new(),
            known_labels: HashMap::new(),
            graph: Graph {
                prints: Vec::new(),
                kinds: Vec::new(),
                owings: Vec::new(),
                dues: Vec::new(),
                labels: Vec::new(),
                starts: vec![0],
                steps: Vec::new(),
                rearmed: Vec::new(),
            },
        }
    }

    /// The number of a state, and whether it is a new one.
    fn number(&mut self, print: T) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(print).or_insert(next);
        (number, number == next)
    }

    /// Notes the obligations of the state that was numbered last.
    fn note(&mut self, state: &State<'_, T>) {
        let waits = waits_for_rest(self.model, state);
        let kind = match self.known_owings.get(&(state.monitor, waits)) {
            Some(&kind) => kind,
            None => self.learn_owing(state.monitor, waits),
        };
        self.graph.prints.push(state.print);
        self.graph.kinds.push(kind);
    }

    fn learn_owing(&mut self, monitor: Print, waits_for_rest: bool) -> u32 {
        let dues = self.model.machine.dues(monitor);
        let Obligations { owed, objection } = &dues;
        let mut owing = Owing { monitor, ..Owing::default() };
        let others =
            objection.iter().map(|&it| (PendingObligation::Objection(it), dues.other_objection()));
        let others = others.map(|(due, other)| (due, other.is_some()));
        let debts = owed.iter().map(|&it| (PendingObligation::Obligation(it), true));
        let script = waits_for_rest.then_some((PendingObligation::Script, true));
        for (due, is_present) in debts.chain(others).chain(script) {
            let place = self.place_of(due);
            owing.unsettled.push(place);
            if is_present {
                owing.present.push(place);
            }
        }
        let kind = self.graph.owings.len() as u32;
        self.graph.owings.push(owing);
        self.known_owings.insert((monitor, waits_for_rest), kind);
        kind
    }

    /// An objection is settled only when there is none at all: so all of them are one.
    fn place_of(&mut self, due: PendingObligation) -> u32 {
        let is_objection = |it: PendingObligation| matches!(it, PendingObligation::Objection(_));
        let same = |it: &PendingObligation| *it == due || is_objection(*it) && is_objection(due);
        let dues = &mut self.graph.dues;
        dues.iter().position(same).unwrap_or_else(|| {
            dues.push(due);
            dues.len() - 1
        }) as u32
    }

    /// Takes all steps of the state whose turn it is.
    fn explore(&mut self, state: &State<'_, T>, next: &mut States<T>) -> Result<(), Cut> {
        let mut stepper = std::mem::replace(&mut self.stepper, Stepper::new(self.model));
        stepper.make_room();
        let tried = stepper.try_all(state, |trial| self.take(state, trial, next));
        self.stepper = stepper;
        self.graph.starts.push(self.graph.steps.len());
        tried
    }

    fn take(&mut self, state: &State<'_, T>, trial: Trial<'_, T>, next: &mut States<T>) {
        let (to, is_new) = self.number(trial.print);
        if let Some(what) = label(self.model, state, trial.action) {
            let label = self.place_of_label(what);
            for timer in rearmed(&trial) {
                let timer = self.place_of_label(timer);
                self.graph.rearmed.push((self.graph.steps.len(), timer));
            }
            self.graph.steps.push(Step { to, label });
        }
        if is_new {
            trial.build(next);
            self.note(&next.at(next.len() - 1));
        }
    }

    fn place_of_label(&mut self, label: Label) -> u32 {
        let labels = &mut self.graph.labels;
        *self.known_labels.entry(label).or_insert_with(|| {
            labels.push(label);
            labels.len() as u32 - 1
        })
    }

    /// The memory taken, with what turning the steps round will take.
    fn bytes(&self) -> u64 {
        let numbers = self.numbers.capacity() * size_of::<(T, u32)>() * 8 / 7;
        let Graph { prints, kinds, starts, steps, rearmed, .. } = &self.graph;
        let graph = prints.capacity() * size_of::<T>()
            + kinds.capacity() * size_of::<u32>()
            + 3 * starts.capacity() * size_of::<usize>()
            + steps.capacity() * (size_of::<Step>() + size_of::<u32>())
            + rearmed.capacity() * size_of::<(usize, u32)>();
        (numbers + graph) as u64
    }
}
