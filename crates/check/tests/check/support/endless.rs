//! What goes on for ever, asked of the plain search's own states by fixpoints: sets of worlds that
//! shrink until nothing more can be taken away. No components, no loops, no levels.

use std::collections::{BTreeMap, BTreeSet};

use vorrang_check::{Liveness, Plan};
use vorrang_protocol::Monitor as _;

use super::naive::Naive;
use super::world::{Label, Step, World};

/// Every world that was explored, with the steps that are bound to be taken there.
pub(super) type Graph = BTreeMap<World, Vec<Step>>;

type Worlds<'g> = BTreeSet<&'g World>;

/// What can be owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// That the monitor has nothing to object to.
    Rest,
    /// What the monitor says is owed.
    Obligation,
    /// The next command of a script.
    Script,
}

const DUES: [(Due, &str, &str); 3] = [
    (Due::Rest, "rest", "rest"),
    (Due::Obligation, "debt", "no starvation"),
    (Due::Script, "script", "script"),
];

impl Naive<'_> {
    /// The properties of which one must be reported, if any is violated for ever.
    pub(super) fn endless(&self, graph: &Graph) -> BTreeSet<&'static str> {
        let owing = |due| graph.keys().filter(|world| self.has_obligations(world, due)).collect();
        let traps = DUES.iter().filter(|it| !trap(graph, owing(it.0)).is_empty());
        let traps: BTreeSet<_> = traps.map(|it| it.1).collect();
        match self.system.demands.liveness {
            Liveness::Fair if traps.is_empty() => {
                let fair = DUES.iter().filter(|it| !fair(graph, owing(it.0)).is_empty());
                fair.map(|it| it.2).collect()
            }
            Liveness::Fair | Liveness::Possible => traps,
        }
    }

    /// Whether something can still come, but perhaps only by timers in an order that no clock
    /// allows.
    pub(super) fn is_doubtful(&self, graph: &Graph) -> bool {
        let is_timely = self.system.links.within.is_some();
        self.system.demands.liveness == Liveness::Possible
            && DUES.iter().any(|it| {
                let owing = || graph.keys().filter(|world| self.has_obligations(world, it.0));
                !unsure(graph, owing().collect(), is_timely).is_empty()
                    && !fair(graph, owing().collect()).is_empty()
            })
    }

    /// Whether a run can be taken that goes round from there on, and owes the same throughout.
    pub(crate) fn replay_round(
        &self,
        starts: &[Vec<u32>],
        moves: &[String],
        begin: usize,
        property: &str,
    ) -> bool {
        let due = DUES.iter().find(|it| it.1 == property || it.2 == property);
        let Some(&(due, ..)) = due else { return false };
        self.follow_moves(starts, &moves[..begin]).into_iter().filter_map(Result::ok).any(|world| {
            let mut now = BTreeSet::from([world.clone()]);
            for text in &moves[begin..] {
                now.retain(|it| self.has_obligations(it, due));
                let steps = now.iter().flat_map(|it| self.steps(it));
                now = steps.filter(|it| it.text == *text).filter_map(|it| it.led.ok()).collect();
            }
            begin < moves.len() && now.contains(&world)
        })
    }

    fn has_obligations(&self, world: &World, due: Due) -> bool {
        let judge = self.judge(world);
        match due {
            Due::Rest => judge.at_rest().is_err(),
            Due::Obligation => !judge.obligations().is_empty(),
            Due::Script => match &self.system.plan {
                Plan::Script(all) | Plan::InLulls(all) => {
                    let next = all.get(world.places[0].0);
                    let in_lulls = matches!(self.system.plan, Plan::InLulls(_));
                    let waits = !world.flying.is_empty() || !in_lulls && !world.armed.is_empty();
                    waits && next.is_some_and(|it| !world.down[it.0.index()])
                }
                Plan::PerNode(_) | Plan::Turns { .. } => false,
            },
        }
    }
}

/// The worlds from which no step leads out of the set: out of it, all would be well.
fn trap<'g>(graph: &'g Graph, mut worlds: Worlds<'g>) -> Worlds<'g> {
    let leads_out = |world: &World, worlds: &Worlds<'_>| {
        graph[world].iter().any(|step| step.is_help() && step.inside(worlds).is_none())
    };
    shrink(&mut worlds, leads_out);
    worlds
}

/// The worlds that clocks can keep in the set, whatever else is done to get out: which timer of a
/// node is the first is for the clocks to say.
fn unsure<'g>(graph: &'g Graph, mut worlds: Worlds<'g>, is_timely: bool) -> Worlds<'g> {
    shrink(&mut worlds, |world, worlds| {
        let leads_out = |step: &&Step| step.inside(worlds).is_none();
        let timer = |step: &Step| match step.label {
            Some(Label::Timer(timer)) => Some(timer),
            Some(
                Label::Command(_) | Label::Wish(_) | Label::NamedMessage(..) | Label::Link(..),
            )
            | None => None,
        };
        let steps: Vec<&Step> = graph[world].iter().filter(|step| step.is_help()).collect();
        if steps.iter().filter(|step| timer(step).is_none()).any(&leads_out) {
            return true;
        }
        let timers: BTreeSet<_> = steps.iter().filter_map(|step| timer(step)).collect();
        let is_out = |one| steps.iter().filter(|it| timer(it) == Some(one)).any(&leads_out);
        let clocks: BTreeSet<usize> =
            timers.iter().map(|it| if is_timely { 0 } else { it.0 }).collect();
        let goes_on = !is_timely || world.flying.is_empty();
        goes_on
            && clocks.iter().any(|&clock| {
                timers.iter().filter(|it| is_timely || it.0 == clock).all(|&it| is_out(it))
            })
    });
    worlds
}

/// The worlds from which a fair run stays in the set: Emerson and Lei, "Efficient model checking in
/// fragments of the propositional mu-calculus", LICS 1986.
fn fair<'g>(graph: &'g Graph, mut worlds: Worlds<'g>) -> Worlds<'g> {
    let labels: BTreeSet<&Label> = graph
        .values()
        .flatten()
        .filter(|it| it.is_help())
        .filter_map(|it| it.label.as_ref())
        .collect();
    loop {
        let before = worlds.len();
        shrink(&mut worlds, |world, worlds| {
            graph[world].iter().all(|step| step.inside(worlds).is_none())
        });
        for &label in &labels {
            worlds = can_do_justice(graph, &worlds, label);
        }
        if worlds.len() == before {
            return worlds;
        }
    }
}

/// The worlds from which, within the set, this happens, becomes needless or becomes impossible.
fn can_do_justice<'g>(graph: &'g Graph, worlds: &Worlds<'g>, label: &Label) -> Worlds<'g> {
    let mut others = worlds.clone();
    // Those that are left at the end cannot.
    shrink(&mut others, |world, others| {
        let steps = &graph[world];
        let can_happen = steps.iter().any(|step| step.label.as_ref() == Some(label));
        let does = |step: &&Step| step.label.as_ref() == Some(label) || step.rearms.contains(label);
        let mut inside = steps.iter().filter(|step| step.inside(worlds).is_some());
        !can_happen || inside.any(|step| does(&step) || step.inside(others).is_none())
    });
    worlds.difference(&others).copied().collect()
}

/// Takes out what is to go, until nothing is.
fn shrink(worlds: &mut Worlds<'_>, goes: impl Fn(&World, &Worlds<'_>) -> bool) {
    loop {
        let gone: Vec<&World> = worlds.iter().copied().filter(|it| goes(it, worlds)).collect();
        if gone.is_empty() {
            return;
        }
        for world in gone {
            worlds.remove(world);
        }
    }
}

impl Step {
    /// Whether it may settle anything: nobody is helped by what an application may ask for.
    fn is_help(&self) -> bool {
        !matches!(self.label, Some(Label::Wish(_)))
    }

    /// Where it leads, if that is one of these.
    fn inside<'s>(&'s self, worlds: &Worlds<'_>) -> Option<&'s World> {
        self.led.as_ref().ok().filter(|world| worlds.contains(world))
    }
}
