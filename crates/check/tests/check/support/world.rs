//! The states and steps of the plain search, written out.

use std::collections::BTreeMap;

use vorrang_protocol::Effect;

use super::puppet::{NamedMessage, Puppet};

/// A whole system at one instant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct World {
    pub(super) nodes: Vec<Puppet>,
    pub(super) down: Vec<bool>,
    pub(super) judge: u8,
    /// How many commands of each list were given, and whether the next need not wait.
    pub(super) places: Vec<(usize, bool)>,
    pub(super) flying: Vec<Flying>,
    pub(super) armed: BTreeMap<Timer, Armed>,
    /// Crashes, restarts, losses, duplicates, severing.
    pub(super) faults: [u8; 5],
}

/// A node and its timer.
pub(super) type Timer = (usize, u8);

/// The timers that something comes before, and by how much at least, in milliseconds.
pub(super) type Before = BTreeMap<Timer, i64>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flying {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) letter: NamedMessage,
    pub(super) tag: u8,
    pub(super) before: Before,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Armed {
    pub(super) longest: i64,
    pub(super) before: Before,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) text: String,
    /// Where it leads or what it violates.
    pub(super) led: Result<World, &'static str>,
    /// What happens, if that is bound to.
    pub(super) label: Option<Label>,
    /// Timers that it sets again or cancels.
    pub(super) rearms: Vec<Label>,
}

/// What fairness tells apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Label {
    Command(usize),
    /// A command that nobody need give.
    Wish(usize),
    NamedMessage(usize, usize, NamedMessage, u8),
    Link(usize, usize),
    Timer(Timer),
}

impl World {
    pub(super) fn is_quiet(&self) -> bool {
        self.flying.is_empty() && self.armed.is_empty()
    }

    /// What each pending thing comes before.
    pub(super) fn befores(&self) -> impl Iterator<Item = &Before> {
        let armed = self.armed.values().map(|it| &it.before);
        armed.chain(self.flying.iter().map(|it| &it.before))
    }

    pub(super) fn disarm(&mut self, timer: Timer) {
        self.armed.remove(&timer);
        let armed = self.armed.values_mut().map(|it| &mut it.before);
        let all = armed.chain(self.flying.iter_mut().map(|it| &mut it.before));
        all.for_each(|it| it.retain(|&other, _| other != timer));
    }
}

/// The timers of a node that these effects set or cancel.
pub(super) fn rearmed(at: usize, effects: &[Effect<Puppet>]) -> Vec<Label> {
    let timer = |effect: &Effect<Puppet>| match effect {
        Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => Some((at, *timer)),
        Effect::Send { .. } | Effect::Notify(_) => None,
    };
    effects.iter().filter_map(timer).map(Label::Timer).collect()
}
