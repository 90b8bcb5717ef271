//! Elections: the question to the checker.

use std::fmt::Write as _;
use std::time::Duration;

use vorrang_algorithms::election::card::{Card, Demonstration, Flaw};
use vorrang_algorithms::election::tree_theory::decides;
use vorrang_algorithms::election::{Command, Election};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Ask, Plan};
use vorrang_protocol::{NodeId, show_duration_ns};

use crate::failure::Failure;
use crate::options::cable::{Cable, CableChange, Noticed, noticed, parse_cables, show_cables};
use crate::options::check::CheckArgs;
use crate::options::command_line::CommandLine;
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
    let cables = cables(card, shown, args, nodes)?;
    let noticed = noticed(card, &setup, &cables, |it| it.cable.to_string())?;
    let calls = args.election.calls.unwrap_or_else(|| shown.map_or(1, |shown| shown.calls));
    let usual = shown.map_or(u8::from(card.terms.crashes), |shown| shown.crashes);
    let restarts = shown.map_or(0, |shown| shown.restarts);
    let faults = args.faults((usual, restarts));
    let fair = args.demand.fair || shown.is_some_and(|shown| shown.fair);
    let order = args.order(card.assumes.order);
    let links = args.links(&about, &setup, order);

    let mut line = args.line(&about, &setup, order);
    add_calls(&mut line, card, (&initiators, calls), &cables);
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
            || (shown.cables != [""; 2] && noticed.is_empty())
            || faults.crashes < shown.crashes
            || shown.initiators.iter().any(|id| !initiators.contains(id));
        remarks.of_flaw(flaw.name, &in_words(shown), falls_short);
    }
    let all_must = card.terms.everyone_calls;
    let ask = if all_must || !noticed.is_empty() { Ask::at_once } else { Ask::then_wait };
    let asks = |id: u32| {
        let times = if initiators.contains(&id) { calls } else { 0 };
        asks_of(id, vec![ask(Command::Elect); times as usize], &noticed)
    };
    let is_timely = links.within.is_some();
    let mut properties = vec!["one leader", "termination", "agreement"];
    if card.terms.highest && (is_timely || !card.assumes.timely) {
        properties.insert(1, "legitimacy");
    }
    let covers = covers(nodes, &initiators, calls)
        + &cables_in_words(&cables)
        + &format!(", {}", surroundings(&about, &setup, &links, faults));
    Ok(Question {
        plan: Plan::PerNode((0..nodes).map(asks).collect()),
        monitor: card.watch(&setup, is_timely),
        setup,
        links,
        faults,
        fair,
        beat: None,
        properties: properties.into_iter().map(str::to_owned).collect(),
        covers,
        remarks,
        line,
    })
}

/// Who calls, how often, and what is done to cables, as they are typed.
fn add_calls(
    line: &mut CommandLine,
    card: &Card,
    (initiators, calls): (&[u32], u32),
    cables: &[CableChange],
) {
    let who = if initiators.is_empty() { "none".to_owned() } else { list(initiators) };
    line.option("initiators", who);
    line.maybe("calls", (calls > 1).then_some(calls));
    if card.terms.hot_plug {
        line.option("unplug", show_cables(&cables_that(cables, false)));
        line.option("plug", show_cables(&cables_that(cables, true)));
    }
}

/// What a node does: it calls, and notices its cables.
fn asks_of(id: u32, calls: Vec<Ask<Command>>, noticed: &[Noticed]) -> Vec<Ask<Command>> {
    let here = noticed.iter().filter(|(_, at, _)| at.0 == id);
    calls.into_iter().chain(here.map(|it| Ask::at_once(it.2))).collect()
}

/// What is done to cables, if these can come and go: what was said, or what the demonstration
/// does, or the last device is unplugged and plugged in again.
fn cables(
    card: &Card,
    shown: Option<Demonstration>,
    args: &CheckArgs,
    nodes: u32,
) -> Result<Vec<CableChange>, Failure> {
    let usual = || match shown {
        Some(shown) => parse_cables(shown.cables[0]).map_err(Failure::Usage),
        None if card.terms.hot_plug && nodes > 1 => Ok(vec![Cable::Device(NodeId(nodes - 1))]),
        None => Ok(Vec::new()),
    };
    let unplugged = match &args.election.unplug {
        Some(said) => said.clone(),
        None if args.election.plug.is_some() && !card.terms.hot_plug => Vec::new(),
        None => usual()?,
    };
    let plugged = args.election.plug.clone().unwrap_or_else(|| unplugged.clone());
    let change = |at_ns, plugs| move |cable: &Cable| CableChange { at_ns, cable: *cable, plugs };
    let first = unplugged.iter().map(change(0, false));
    Ok(first.chain(plugged.iter().map(change(1, true))).collect())
}

/// Those that are plugged in, or those that are unplugged.
fn cables_that(cables: &[CableChange], plugs: bool) -> Vec<Cable> {
    cables.iter().filter(|it| it.plugs == plugs).map(|it| it.cable).collect()
}

/// What is done to cables, as in `, unplugging 1-2, plugging in 1-2`.
fn cables_in_words(cables: &[CableChange]) -> String {
    let part = |plugs, what| match &cables_that(cables, plugs)[..] {
        [] => String::new(),
        some => format!(", {what} {}", show_cables(some)),
    };
    part(false, "unplugging") + &part(true, "plugging in")
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
        Some("none") if card.terms.hot_plug => Vec::new(),
        None if shown.is_none() && card.terms.hot_plug && nodes > 1 => Vec::new(),
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
    for (option, cables) in ["unplug", "plug"].into_iter().zip(shown.cables) {
        if !cables.is_empty() {
            let _ = write!(text, " --{option} {cables}");
        }
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
        [] => return format!("{}, nobody calls", nodes_in_words(nodes as usize)),
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
