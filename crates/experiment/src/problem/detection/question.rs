//! The question to the checker.

use std::fmt::Write as _;
use std::time::Duration;

use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::detection::card::Card;
use vorrang_algorithms::setup::Parameter;
use vorrang_check::Plan;

use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::problem::remarks::{nodes_in_words, surroundings};
use crate::problem::{Question, Remarks};

pub(super) fn question(
    card: &'static Card,
    flaw: Option<&str>,
    args: &CheckArgs,
) -> Result<Question<Detection>, Failure> {
    let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
    let nodes = args.nodes.unwrap_or_else(|| shown.map_or(2, |shown| shown.nodes));
    let about = card.about();
    let mut setup = args.setup.setup(&about, nodes)?;
    for (parameter, text) in shown.map_or(&[][..], |shown| shown.given) {
        if !args.setup.says(*parameter) {
            setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
    }
    // The checker knows which of two things comes first, and no clock: it would follow a quiet time
    // heartbeat by heartbeat.
    if !args.setup.says(Parameter::MarginHalvesAfter) {
        setup.margin_halves_after = None;
    }
    let order = args.order(card.assumes.order);
    let usual = (shown.map_or(1, |shown| shown.crashes), shown.map_or(0, |shown| shown.restarts));
    let faults = args.faults(usual);
    // Without a bound on delay, messages in flight accumulate without end.
    let mut links = args.links(&about, &setup, order);
    links.within = args.timely.or(Some(setup.within)).filter(|_| !args.asynchronous);
    let is_kept = faults.losses == 0 && args.reliable.is_none();
    let monitor = card.watch(&setup, links.within.filter(|_| is_kept));

    let mut line = args.line(&about, &setup, order);
    line.maybe("crashes", args.crashes().is_none().then_some(usual.0));
    line.maybe("restarts", (args.restarts().is_none() && usual.1 > 0).then_some(usual.1));

    let mut remarks = remarks(nodes, links.within, monitor.allowed());
    if let (Some(flaw), Some(shown)) = (flaw, shown) {
        let mut takes = format!("--nodes {} --crashes {}", shown.nodes, shown.crashes);
        if shown.restarts > 0 {
            let _ = write!(takes, " --restarts {}", shown.restarts);
        }
        for (parameter, value) in shown.given {
            let _ = write!(takes, " --{} {value}", parameter.name());
        }
        remarks.of_flaw(flaw, &takes, nodes < shown.nodes || faults.crashes < shown.crashes);
    }
    let around = surroundings(&about, &setup, &links, faults);
    Ok(Question {
        plan: Plan::PerNode(vec![Vec::new(); nodes as usize]),
        monitor,
        links,
        faults,
        fair: args.demand.fair,
        beat: None,
        properties: ["completeness", "accuracy"].map(str::to_owned).to_vec(),
        covers: format!("{}, {around}", nodes_in_words(nodes as usize)),
        remarks,
        line,
        setup,
    })
}

/// The covered number of false suspicions, as text.
fn remarks(nodes: u32, within: Option<Duration>, allowed: Option<u32>) -> Remarks {
    let mut remarks = Remarks::default();
    let mut warn = |what: &str| remarks.warnings.push(what.to_owned());
    if nodes == 1 {
        warn("a single node has no other to watch");
    }
    match (within, allowed) {
        (None, _) => {
            warn(
                "without a bound on message delay, heartbeats pile up without end: say --max-depth",
            );
        }
        (Some(_), None) => {
            warn("accuracy is not checked: messages are lost, or later than any margin");
        }
        (Some(_), Some(times)) => {
            let often = match times {
                0 => "never wrong about another".to_owned(),
                1 => "wrong about another once at most".to_owned(),
                _ => format!("wrong about another {times} times at most"),
            };
            remarks.notes.push(format!("a node that was up all along may be {often}"));
        }
    }
    remarks
}
