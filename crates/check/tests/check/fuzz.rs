//! Systems drawn by lot, each explored twice: by the checker, and by a search that is as plain as
//! can be. Both must say the same.
//!
//! `VORRANG_FUZZ_SECONDS=3600` goes on for that long, from a seed of its own;
//! `VORRANG_FUZZ_SEED=17` looks at that system alone.

use crate::support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use support::judge::{Judge, Law};
use support::naive::{Expected, Naive, Verdict};
use support::puppet::{Dice, Puppet, Shape, Table, is_at_length, seeds};
use support::{ONE, TWO};
use vorrang_check::{
    Ask, Bounds, Demands, FOREVER, Faults, Fingerprint, Links, Liveness, Order, Outcome, Plan,
    System, explore,
};
use vorrang_protocol::NodeId;

/// Systems with more states are left out.
const MOST_STATES: usize = 3_000;

/// So many systems are looked at if nothing else is asked for.
const SYSTEMS: u64 = 2_500;

#[derive(Clone)]
struct Case {
    table: Arc<Table>,
    system: System<Puppet, Judge>,
    bounds: Bounds,
}

fn shape(dice: &mut Dice) -> Shape {
    let timers = dice.pick(&[0, 1, 2]);
    Shape {
        nodes: 1 + dice.small(3),
        states: 2 + dice.small(3),
        letters: 1 + dice.small(2),
        timers: timers.max(1),
        commands: 2,
        filled: 40 + dice.below(60),
        deeds: 1 + dice.small(3),
        ends: dice.percent(70),
        is_loud: false,
        odds: [6, 4 * u64::from(timers), u64::from(timers), 4, 1, 1, u64::from(dice.percent(10))],
    }
}

fn plan(dice: &mut Dice, shape: &Shape) -> Plan<u8> {
    if dice.percent(25) {
        let nodes = u64::from(shape.nodes);
        let mut command = |_| (NodeId(dice.below(nodes) as u32), dice.small(shape.commands));
        let script = (0..3).map(&mut command).collect();
        return if dice.percent(30) { Plan::InLulls(script) } else { Plan::Script(script) };
    }
    if dice.percent(20) {
        let turns = |_| (dice.pick(&[0, FOREVER, FOREVER]), dice.small(shape.commands));
        let turns: Vec<(u32, u8)> = (0..shape.nodes).map(turns).collect();
        return Plan::turns_with(turns, &dice.small(shape.commands), &[]);
    }
    let mut ask = |_| Ask {
        command: dice.small(shape.commands),
        then_wait: dice.percent(40),
        goes_on: dice.percent(30),
    };
    let mut list = |at: u8| (0..(at + 1) % 3).map(&mut ask).collect();
    Plan::PerNode((0..shape.nodes).map(&mut list).collect())
}

fn faults(dice: &mut Dice) -> Faults {
    if dice.percent(40) {
        return Faults::NONE;
    }
    let mut budget = || dice.pick(&[0, 0, 1, 1, 2]);
    let [crashes, restarts, losses, duplicates] = [budget(), budget(), budget(), budget()];
    Faults::NONE
        .crashes(crashes)
        .restarts(restarts)
        .losses(losses)
        .duplicates(duplicates)
        .severing(dice.percent(40))
}

fn draw(seed: u64) -> Case {
    let mut dice = Dice(seed);
    let shape = shape(&mut dice);
    let table = Table::draw(&mut dice, shape);
    let within = dice.pick(&[None, Some(0), Some(1), Some(2)]);
    let severity = dice.pick(&[0, 0, 3, 10]);
    let law = Law::draw(&mut dice, severity);
    let liveness = dice.pick(&[Liveness::Possible, Liveness::Fair]);
    let system = System {
        nodes: table.nodes(),
        plan: plan(&mut dice, &shape),
        monitor: Judge { state: 0, law },
        links: Links::from(dice.pick(&[Order::Any, Order::Fifo]))
            .within(within.map(Duration::from_millis)),
        faults: faults(&mut dice),
        demands: Demands::default().liveness(liveness),
    };
    let far = if shape.ends { None } else { Some(3 + dice.below(8) as u32) };
    let depth = if dice.percent(15) { Some(dice.below(6) as u32) } else { far };
    let states = dice.percent(10).then(|| dice.below(400));
    Case { table, system, bounds: Bounds::default().depth(depth).states(states) }
}

/// What the plain search and the checker disagree about; nothing if the system is too large.
fn disagreement(case: &Case, with_threads: bool) -> Result<Option<Expected>, String> {
    let Case { system, bounds, .. } = case;
    let naive = Naive { system };
    let Some(expected) = naive.explore(bounds, MOST_STATES) else { return Ok(None) };
    let explored = catch_unwind(AssertUnwindSafe(|| explore(system, bounds, ONE, |_| {})));
    let Ok(report) = explored else { return Err("the checker panicked".to_owned()) };
    let says = |what: &str| format!("{what}\nexpected {expected:?}\nfound {report:?}");
    let does_agree = match (&expected.verdict, &report.outcome) {
        (Verdict::Verified, Outcome::Verified) => true,
        (Verdict::Bounded(bound), Outcome::Bounded { by }) => bound == by,
        (Verdict::Violated(steps, properties), Outcome::Violated { violation, run }) => {
            let starts: Vec<_> = run.starts.iter().map(|it| it.choices.clone()).collect();
            let moves: Vec<_> = run.moves.iter().map(ToString::to_string).collect();
            if !naive.replay(&starts, &moves, violation.property) {
                return Err(says("the run does not lead to the violation"));
            }
            *steps == moves.len() && properties.contains(violation.property)
        }
        (Verdict::Endless(properties), Outcome::Violated { violation, run }) => {
            let starts: Vec<_> = run.starts.iter().map(|it| it.choices.clone()).collect();
            let moves: Vec<_> = run.moves.iter().map(ToString::to_string).collect();
            let goes_round = |begin| naive.replay_round(&starts, &moves, begin, violation.property);
            if !run.repeats_from.is_some_and(goes_round) {
                return Err(says("the run does not go round, or owes nothing"));
            }
            properties.contains(violation.property)
        }
        (
            Verdict::Verified | Verdict::Bounded(_) | Verdict::Violated(..) | Verdict::Endless(_),
            _,
        ) => false,
    };
    let counted = (report.states, report.steps, report.depth);
    if !does_agree || counted != (expected.states, expected.steps, expected.depth) {
        return Err(says("another verdict or count"));
    }
    if with_threads && explore(system, bounds, TWO, |_| {}) != report {
        return Err(says("another report on two threads"));
    }
    let wide = bounds.fingerprint(Fingerprint::Bits128);
    if with_threads && explore(system, &wide, TWO, |_| {}) != report {
        return Err(says("another report with fingerprints of 128 bits"));
    }
    Ok(Some(expected))
}

/// The same case without whatever it takes nothing away from the disagreement to leave out.
fn shrink(mut case: Case) -> Case {
    let is_wrong = |case: &Case| disagreement(case, true).is_err();
    for faults in simpler(case.system.faults) {
        let mut smaller = case.clone();
        smaller.system.faults = faults;
        if is_wrong(&smaller) {
            case = smaller;
            break;
        }
    }
    let keys: Vec<_> = case.table.rows.keys().copied().collect();
    for key in keys {
        // All of a row, or one deed of it after the other, the last one first.
        for deed in (0..=case.table.rows[&key].deeds.len()).rev() {
            let mut rows = case.table.rows.clone();
            match rows.get_mut(&key) {
                Some(row) if deed < row.deeds.len() => drop(row.deeds.remove(deed)),
                Some(_) => drop(rows.remove(&key)),
                None => break,
            }
            let table = Arc::new(Table { shape: case.table.shape, rows });
            let system = System { nodes: table.nodes(), ..case.system.clone() };
            let smaller = Case { table, system, bounds: case.bounds };
            if is_wrong(&smaller) {
                case = smaller;
            }
        }
    }
    case
}

/// The same with less that may go wrong, least first.
fn simpler(faults: Faults) -> Vec<Faults> {
    let Faults { crashes, restarts, losses, duplicates, .. } = faults;
    vec![
        Faults::NONE,
        Faults::NONE.crashes(crashes.min(1)),
        Faults::NONE.losses(losses.min(1)),
        Faults::NONE.duplicates(duplicates.min(1)),
        Faults::NONE.crashes(crashes.min(1)).restarts(restarts.min(1)),
    ]
}

/// How often each verdict came about, and how many states there were in all.
type Tally = BTreeMap<&'static str, u64>;

fn look_at(seed: u64, tally: &mut Tally) {
    let case = draw(seed);
    let found = disagreement(&case, seed.is_multiple_of(8));
    if let Ok(Some(Expected { states, .. })) = found {
        *tally.entry("states").or_default() += states;
    }
    let name = match found {
        Ok(None) => "too large",
        Ok(Some(Expected { verdict: Verdict::Verified, .. })) => "verified",
        Ok(Some(Expected { verdict: Verdict::Bounded(_), .. })) => "bounded",
        Ok(Some(Expected { verdict: Verdict::Violated(..), .. })) => "violated",
        Ok(Some(Expected { verdict: Verdict::Endless(_), .. })) => "endless",
        Err(_) => {
            let case = shrink(case);
            let what = disagreement(&case, true).err();
            let what = what.unwrap_or_else(|| "it was gone when looked at again".to_owned());
            let Case { table, system, bounds } = case;
            let System { plan, links, faults, monitor, demands, .. } = system;
            panic!(
                "VORRANG_FUZZ_SEED={seed}: {what}\n{table:?}\n{monitor:?}\n{plan:?}\n{links:?} \
                 {faults:?} {bounds:?} {:?}",
                demands.liveness
            );
        }
    };
    *tally.entry(name).or_default() += 1;
}

#[test]
fn the_checker_says_what_a_plain_search_says() {
    let mut tally = Tally::new();
    seeds(SYSTEMS).for_each(|seed| look_at(seed, &mut tally));
    println!("{tally:?}");
    let of = |name| tally.get(name).copied().unwrap_or(0);
    let least = of("verified").min(of("violated")).min(of("bounded"));
    assert!(is_at_length() || least > SYSTEMS / 20, "{tally:?}");
    assert!(is_at_length() || of("endless") > SYSTEMS / 250, "{tally:?}");
}
