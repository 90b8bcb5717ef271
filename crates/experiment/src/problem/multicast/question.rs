//! Reliable multicast: the question to the checker.

use vorrang_algorithms::multicast::card::{Card, Demonstration};
use vorrang_algorithms::multicast::{Command, Multicast, Text};
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::topology::measure::shape_of;
use vorrang_check::{Ask, Faults, Plan};
use vorrang_protocol::show_duration_ns;

use crate::failure::Failure;
use crate::options::check::{CheckArgs, one_a_node};
use crate::options::list;
use crate::problem::remarks::{nodes_in_words, surroundings};
use crate::problem::{Question, Remarks};

pub(super) fn question(
    card: &'static Card,
    flaw: Option<&str>,
    args: &CheckArgs,
) -> Result<Question<Multicast>, Failure> {
    let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
    let casts = casts(args, shown.map_or(card.terms.checked, |shown| shown.casts))?;
    let nodes = casts.len() as u32;
    let about = card.about();
    let mut setup = args.setup.setup(&about, nodes)?;
    let given = shown.map_or(&[][..], |shown| shown.given);
    let found = [(Parameter::Distances, "known"), (Parameter::Draws, "2")];
    for (parameter, text) in found.iter().chain(given) {
        if card.takes.contains(parameter) && !args.setup.says(*parameter) {
            setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
    }
    if let Some(most) = casts.iter().copied().max().filter(|&most| most > setup.window) {
        return Err(Failure::usage(format!(
            "--casts {most}: in a check, applications do not wait for the window, and --window {} \
             is smaller",
            setup.window
        )));
    }
    check_leavers(&args.multicast.leavers, &setup)?;
    let order = args.order(card.assumes.order);
    let usual = shown.map_or((1, 0), |shown| (shown.losses, shown.duplicates));
    let (crashes, restarts) = shown.map_or((0, 0), |shown| (shown.crashes, shown.restarts));
    let faults = args.faults_of((crashes, restarts), usual);
    let timely = args.timely.or(shown.and_then(|shown| shown.timely));
    // Where messages take for ever, there is no end to those that are sent again.
    let mut links = args.links(&about, &setup, order);
    let longest = setup.within.saturating_mul(diameter(&setup)?);
    links.within = timely.or(Some(longest)).filter(|_| !args.asynchronous);

    let mut line = args.line(&about, &setup, order);
    line.option("casts", list(&casts));
    let leavers = &args.multicast.leavers;
    line.maybe("leavers", (!leavers.is_empty()).then(|| list(leavers)));
    let unsaid = timely.filter(|_| args.timely.is_none() && !args.asynchronous);
    line.maybe("timely", unsaid.map(|time| show_duration_ns(time.as_nanos() as u64)));
    line.maybe("crashes", (args.crashes().is_none() && crashes > 0).then_some(crashes));
    line.maybe("restarts", (args.restarts().is_none() && restarts > 0).then_some(restarts));
    line.maybe("losses", (args.losses().is_none() && usual.0 > 0).then_some(usual.0));
    line.maybe("duplicates", (args.duplicates().is_none() && usual.1 > 0).then_some(usual.1));

    let mut remarks = Remarks::default();
    remarks.warnings.extend(emptiness(&casts).map(str::to_owned));
    if let (Some(flaw), Some(shown)) = (flaw, shown) {
        let takes = format!("--casts {}", list(shown.casts));
        remarks.of_flaw(flaw, &takes, falls_short(&shown, &casts, faults));
    }
    let around = surroundings(&about, &setup, &links, faults);
    let mut said = format!("{}, multicasts {}", nodes_in_words(nodes as usize), list(&casts));
    said += &moving(leavers);
    Ok(Question {
        plan: plan(&casts, leavers),
        monitor: card.watch(&setup),
        links,
        faults,
        fair: args.demand.fair,
        beat: None,
        properties: card.watch(&setup).properties().into_iter().map(str::to_owned).collect(),
        covers: format!("{said}, {around}"),
        remarks,
        line,
        setup,
    })
}

/// Who leaves and joins, for people.
fn moving(leavers: &[u32]) -> String {
    match leavers {
        [] => String::new(),
        [one] => format!(", node {one} leaves and joins"),
        several => format!(", nodes {} leave and join", list(several)),
    }
}

/// Who speaks how often, and who then leaves and joins again.
fn plan(casts: &[u32], leavers: &[u32]) -> Plan<Command> {
    let asks = |(at, count): (u32, &u32)| {
        let casts = (0..*count).map(|_| Command::Cast(Text::default()));
        let moves = if leavers.contains(&at) { &[Command::Leave, Command::Join][..] } else { &[] };
        casts.chain(moves.iter().cloned()).map(Ask::at_once).collect()
    };
    Plan::PerNode((0..).zip(casts).map(asks).collect())
}

/// Whether there is less than a demonstration needs.
fn falls_short(shown: &Demonstration, casts: &[u32], faults: Faults) -> bool {
    let short = |at: usize| casts.get(at).copied().unwrap_or(0) < shown.casts[at];
    (0..shown.casts.len()).any(short)
        || faults.losses < shown.losses
        || faults.crashes < shown.crashes
        || faults.restarts < shown.restarts
        || faults.duplicates < shown.duplicates
}

fn check_leavers(leavers: &[u32], setup: &Setup) -> Result<(), Failure> {
    let Some(&first) = leavers.first() else { return Ok(()) };
    if setup.tries.is_none() {
        return Err(Failure::usage(format!(
            "--leavers {first}: members of a reliable multicast are fixed, unless silent ones are \
             removed; add --tries, such as --tries 2"
        )));
    }
    let nodes = setup.group.size();
    match leavers.iter().find(|&&at| at >= nodes) {
        Some(at) => Err(Failure::usage(format!(
            "--leavers {at}: there is no node {at}, the last is {}",
            nodes - 1
        ))),
        None => Ok(()),
    }
}

/// Why nothing could be wrong with this.
fn emptiness(casts: &[u32]) -> Option<&'static str> {
    match casts {
        [_] => Some("a single member has no other to send to"),
        _ if casts.iter().all(|&count| count == 0) => Some("no member multicasts anything"),
        _ => None,
    }
}

/// How often each member speaks: as was said, or else as is usual.
fn casts(args: &CheckArgs, usual: &[u32]) -> Result<Vec<u32>, Failure> {
    let said = args.multicast.casts.as_deref();
    let many = said.filter(|said| said.len() > 1).map_or(usual.len(), <[u32]>::len) as u32;
    let nodes = args.nodes.unwrap_or(many);
    match said {
        Some([one]) => Ok(vec![*one; nodes as usize]),
        Some(each) if each.len() != nodes as usize => Err(one_a_node("--casts", each.len(), nodes)),
        Some(each) => Ok(each.to_vec()),
        None => Ok((0..nodes as usize).map(|at| usual.get(at).copied().unwrap_or(0)).collect()),
    }
}

/// How many links there are between the two members that are farthest apart.
fn diameter(setup: &Setup) -> Result<u32, Failure> {
    if setup.topology == Topology::Complete {
        return Ok(1);
    }
    let graph = setup.topology.graph(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
    Ok(shape_of(&graph).diameter.unwrap_or(1).max(1))
}
