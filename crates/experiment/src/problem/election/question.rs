//! Elections: the question to the checker.

use std::fmt::Write as _;
use std::time::Duration;

use vorrang_algorithms::election::card::{Card, Demonstration, Flaw};
use vorrang_algorithms::election::tree_theory::decides;
use vorrang_algorithms::election::{Command, Election};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Ask, Plan};
use vorrang_protocol::show_duration_ns;

use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::options::{list, nodes_of};
use crate::problem::remarks::{nodes_in_words, surroundings};
use crate::problem::{Question, Remarks};

/// Refuses that only some call, lowest first, where all must.
pub(super) fn check_all_call(
    card: &Card,
    initiators: &[u32],
    mut must: impl Iterator<Item = u32>,
) -> Result<(), Failure> {
    match must.find(|node| initiators.binary_search(node).is_err()) {
        None => Ok(()),
        Some(node) => Err(Failure::usage(format!(
            "{} starts at all nodes at once, and node {node} is not among the initiators: say \
             --initiators all",
            card.name
        ))),
    }
}

/// Why different coins may fail to resolve root contention on links that take no longer than this,
/// where the times to wait are given.
pub(super) fn slow_links(setup: &Setup, within: Option<Duration>) -> Option<String> {
    let [(_, short), (long, _)] = setup.contention.times_ns()?;
    let name = setup.contention.name();
    let Some(within) = within else {
        return Some(format!(
            "--contention {name} needs a bound on message delay: else different coins may contend \
             again"
        ));
    };
    let most = (long - short) / 2;
    let is_slower = !decides(setup.contention, within);
    let within = show_duration_ns(within.as_nanos() as u64);
    is_slower.then(|| {
        format!(
            "--contention {name}: a short wait of up to {short}ns and two messages of up to \
             {within} may last longer than a long wait of {long}ns, so that different coins \
             contend again: links must take {most}ns at most ({}ns if both notice the contention \
             at once)",
            long - short - 1
        )
    })
}

/// Fills in what was not said, from the flaw or from the algorithm.
pub(super) fn question(
    card: &'static Card,
    flaw: Option<&'static Flaw>,
    args: &CheckArgs,
) -> Result<Question<Election>, Failure> {
    let shown = flaw.map(|flaw| flaw.shown_by);
    let about = card.about();
    let nodes = args.nodes.unwrap_or_else(|| shown.map_or(3, |shown| shown.nodes));
    let setup = set_up(card, shown, args, nodes)?;
    let initiators = initiators(card, shown, args, nodes)?;
    let calls = args.election.calls.unwrap_or_else(|| shown.map_or(1, |shown| shown.calls));
    let usual = shown.map_or(u8::from(card.terms.crashes), |shown| shown.crashes);
    let restarts = shown.map_or(0, |shown| shown.restarts);
    let faults = args.faults((usual, restarts));
    let fair = args.demand.fair || shown.is_some_and(|shown| shown.fair);
    let order = args.order(card.assumes.order);
    let links = args.links(&about, &setup, order);

    let mut line = args.line(&about, &setup, order);
    line.option("initiators", list(&initiators));
    line.maybe("calls", (calls > 1).then_some(calls));
    line.maybe("crashes", args.crashes().is_none().then_some(usual));
    line.maybe("restarts", (args.restarts().is_none() && restarts > 0).then_some(restarts));
    if fair && !args.demand.fair {
        line.flag("fair");
    }

    let mut remarks = Remarks::default();
    remarks.of_time(&about, &setup, &links);
    remarks.warnings.extend(slow_links(&setup, links.within));
    if nodes == 1 {
        remarks.warnings.push("a single node has no other to agree with".to_owned());
    }
    if let (Some(flaw), Some(shown)) = (flaw, shown) {
        let falls_short = nodes < shown.nodes
            || calls < shown.calls
            || faults.crashes < shown.crashes
            || shown.initiators.iter().any(|id| !initiators.contains(id));
        remarks.of_flaw(flaw.name, &in_words(shown), falls_short);
    }
    let all_must = card.terms.everyone_calls;
    let asks = |id: u32| {
        let ask = if all_must { Ask::at_once } else { Ask::then_wait };
        let times = if initiators.contains(&id) { calls } else { 0 };
        (0..times).map(|_| ask(Command::Elect)).collect()
    };
    let is_timely = links.within.is_some();
    let mut properties = vec!["one leader", "termination", "agreement"];
    if card.terms.highest && (is_timely || !card.assumes.timely) {
        properties.insert(1, "legitimacy");
    }
    let covers = covers(nodes, &initiators, calls)
        + &format!(", {}", surroundings(&about, &setup, &links, faults));
    Ok(Question {
        plan: Plan::PerNode((0..nodes).map(asks).collect()),
        monitor: card.watch(&setup, is_timely),
        setup,
        links,
        faults,
        fair,
        properties: properties.into_iter().map(str::to_owned).collect(),
        covers,
        remarks,
        line,
    })
}

/// The options, and the defaults that show the flaw.
fn set_up(
    card: &Card,
    shown: Option<Demonstration>,
    args: &CheckArgs,
    nodes: u32,
) -> Result<Setup, Failure> {
    let mut setup = args.setup.setup(&card.about(), nodes)?;
    for (parameter, text) in shown.map_or(&[][..], |shown| shown.given) {
        if !args.setup.says(*parameter) {
            setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
    }
    Ok(setup)
}

/// The callers: those given, or those of the demonstration, or those that must call.
fn initiators(
    card: &Card,
    shown: Option<Demonstration>,
    args: &CheckArgs,
    nodes: u32,
) -> Result<Vec<u32>, Failure> {
    let must = card.terms.everyone_calls;
    let mut initiators: Vec<u32> = match args.election.initiators.as_deref() {
        Some("all") => (0..nodes).collect(),
        Some(text) => nodes_of("--initiators", text, nodes)?,
        None if must => (0..nodes).collect(),
        None => {
            // In a smaller group than the one that shows the flaw, some may not be there.
            let calls = shown.map_or(&[0][..], |shown| shown.initiators);
            let there: Vec<u32> = calls.iter().copied().filter(|&it| it < nodes).collect();
            if there.is_empty() { vec![0] } else { there }
        }
    };
    initiators.sort_unstable();
    if must {
        check_all_call(card, &initiators, 0..nodes)?;
    }
    Ok(initiators)
}

/// The demonstration of a flaw, as it would be typed.
fn in_words(shown: Demonstration) -> String {
    let mut text = format!("--nodes {}", shown.nodes);
    let initiators = if shown.initiators.is_empty() { "all" } else { &list(shown.initiators) };
    let _ = write!(text, " --initiators {initiators}");
    if shown.calls > 1 {
        let _ = write!(text, " --calls {}", shown.calls);
    }
    let _ = write!(text, " --crashes {}", shown.crashes);
    if shown.restarts > 0 {
        let _ = write!(text, " --restarts {}", shown.restarts);
    }
    for (parameter, value) in shown.given {
        let _ = write!(text, " --{} {value}", parameter.name());
    }
    text
}

/// The nodes and who calls, as in `3 nodes, node 0 calls`.
fn covers(nodes: u32, initiators: &[u32], calls: u32) -> String {
    let who = match initiators {
        [one] => format!("node {one} calls"),
        many => format!("nodes {} call", list(many)),
    };
    let often = match calls {
        1 => String::new(),
        2 => " twice".to_owned(),
        many => format!(" {many} times"),
    };
    format!("{}, {who}{often}", nodes_in_words(nodes as usize))
}
