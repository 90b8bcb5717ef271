//! Group communication: the question to the checker.

use vorrang_algorithms::group::card::{Card, Demonstration, plan, plan_text};
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::spec::WithSuspicions;
use vorrang_algorithms::group::{Command, GroupCommunication};
use vorrang_algorithms::setup::{Detector, Parameter, Setup};
use vorrang_check::{Ask, Faults, Plan};
use vorrang_protocol::NodeId;

use crate::failure::Failure;
use crate::options::check::{CheckArgs, one_a_node};
use crate::options::group::PlanOf;
use crate::problem::remarks::{nodes_in_words, surroundings};
use crate::problem::{Question, Remarks};

/// How often all say that they are up before everything must be settled.
const LAST_BEATS: usize = 3;

pub(super) fn question(
    card: &'static Card,
    flaw: Option<&str>,
    args: &CheckArgs,
) -> Result<Question<GroupCommunication>, Failure> {
    let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
    let (setup, happens) = happens(card, shown, args)?;
    let about = card.about();
    let order = args.order(shown.map_or(card.assumes.order, |shown| shown.order));
    let usual = shown.map_or((1, 0), |shown| (shown.crashes, shown.restarts));
    let faults = args.faults(usual);
    let mut links = args.links(&about, &setup, order);
    let is_told = setup.detector == Detector::Told;
    if !is_told {
        // Where messages take for ever, there is no end to heartbeats.
        links.within = args.timely.or(Some(setup.within)).filter(|_| !args.asynchronous);
    }
    let settles = args.group.settling || !is_told;
    let monitor = card.watch(&setup);
    let monitor = if settles { monitor } else { monitor.cut_off() };

    let mut line = args.line(&about, &setup, order);
    line.option("happens", plan_text(&happens));
    if args.group.settling {
        line.flag("settling");
    }
    line.maybe("crashes", (args.crashes().is_none() && usual.0 > 0).then_some(usual.0));
    line.maybe("restarts", (args.restarts().is_none() && usual.1 > 0).then_some(usual.1));

    let mut remarks = remarks(&happens, is_told, faults);
    if let (Some(flaw), Some(shown)) = (flaw, shown) {
        let many = |plan: &PlanOf| plan.iter().map(Vec::len).sum::<usize>();
        let falls_short = plan(shown.plan).is_ok_and(|plan| many(&happens) < many(&plan))
            || faults.crashes < shown.crashes
            || faults.restarts < shown.restarts;
        remarks.of_flaw(flaw, &format!("--happens {}", shown.plan), falls_short);
    }
    let properties =
        &WithSuspicions::PROPERTIES[..WithSuspicions::PROPERTIES.len() - usize::from(!settles)];
    let around = surroundings(&about, &setup, &links, faults);
    let nodes = nodes_in_words(happens.len());
    Ok(Question {
        covers: format!("{nodes}, {}, {around}", in_words(&happens)),
        plan: planned(happens, args.group.settling),
        monitor,
        links,
        faults,
        fair: args.demand.fair,
        beat: None,
        properties: properties.iter().map(|&it| it.to_owned()).collect(),
        remarks,
        line,
        setup,
    })
}

/// How the nodes are set up, and what may happen at each: as was said, or as shows the mistake, or
/// else as is usual.
fn happens(
    card: &'static Card,
    shown: Option<Demonstration>,
    args: &CheckArgs,
) -> Result<(Setup, PlanOf), Failure> {
    let said = args.group.happens.as_ref();
    let usual = || shown.map_or(3, |shown| shown.nodes());
    let nodes = args.nodes.unwrap_or_else(|| said.map_or_else(usual, |it| it.len() as u32));
    let mut setup = args.setup.setup(&card.about(), nodes)?;
    if !args.setup.says(Parameter::Detector) {
        setup.detector = Detector::Told;
    }
    if !args.setup.says(Parameter::Founders) {
        let fewer = shown.map_or(nodes.saturating_sub(1), |shown| shown.founders);
        setup.founders = fewer.clamp(1, nodes);
    }
    let happens = match (said, shown) {
        (Some(said), _) => said.clone(),
        (None, Some(shown)) if shown.nodes() == nodes => {
            plan(shown.plan).expect("a card's plan is one")
        }
        (None, _) => usual_plan(&setup),
    };
    if happens.len() != nodes as usize {
        return Err(one_a_node("--happens", happens.len(), nodes));
    }
    for (at, list) in (0..).map(NodeId).zip(&happens) {
        check_list(&setup, at, list)?;
    }
    Ok((setup, happens))
}

/// Whether a node would accept all these commands: a refused one would end the run.
fn check_list(setup: &Setup, at: NodeId, happens: &[Input<Command>]) -> Result<(), Failure> {
    let last = setup.group.size() - 1;
    let is_told = setup.detector == Detector::Told;
    let (mut wants, mut has_left) = (at.0 < setup.founders, false);
    for it in happens {
        let why = match *it {
            Input::Suspect(_) | Input::Trust(_) | Input::Beat if !is_told => {
                "with --detector heartbeats, heartbeats say so".to_owned()
            }
            Input::Suspect(of) | Input::Trust(of) if !setup.group.contains(of) => {
                format!("there is no such node, the last is {last}")
            }
            Input::Suspect(of) | Input::Trust(of) if of == at => {
                "a node says nothing of itself".to_owned()
            }
            Input::Ask(Command::Join) if has_left => {
                "it may not have left yet, and a plan does not wait for that".to_owned()
            }
            Input::Ask(Command::Join) if wants => {
                format!("it belongs to the group: --founders {} have founded it", setup.founders)
            }
            Input::Ask(Command::Leave | Command::Multicast(_)) if !wants => {
                "it neither belongs to the group nor has asked to".to_owned()
            }
            Input::Ask(Command::Join) => {
                wants = true;
                continue;
            }
            Input::Ask(Command::Leave) => {
                (wants, has_left) = (false, true);
                continue;
            }
            Input::Ask(Command::Multicast(_))
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::Beat => continue,
        };
        return Err(Failure::usage(format!("--happens: '{it}' at node {at}: {why}")));
    }
    Ok(())
}

/// The first suspects the second, rightly or wrongly, which multicasts; and nodes that have not
/// founded the group join. That is about as much as can be exhausted.
fn usual_plan(setup: &Setup) -> PlanOf {
    let (nodes, founders) = (setup.group.size(), setup.founders);
    let is_told = setup.detector == Detector::Told;
    let suspect = |of| (is_told && founders > 1).then_some(Input::Suspect(NodeId(of)));
    let multicast = || Input::Ask(Command::Multicast(1.into()));
    let of_node = |id: u32| match id {
        _ if id >= founders => vec![Input::Ask(Command::Join)],
        0 => suspect(1).into_iter().chain((founders == 1).then(multicast)).collect(),
        1 => vec![multicast()],
        _ => Vec::new(),
    };
    (0..nodes).map(of_node).collect()
}

/// The same for the checker.
fn planned(happens: PlanOf, settling: bool) -> Plan<Input<Command>> {
    if !settling {
        let at_once = |list: Vec<_>| list.into_iter().map(Ask::at_once).collect();
        return Plan::PerNode(happens.into_iter().map(at_once).collect());
    }
    let nodes = || (0..happens.len() as u32).map(NodeId);
    let most = happens.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<(NodeId, Input<Command>)> = Vec::new();
    for round in 0..most {
        all.extend(
            nodes().zip(&happens).filter_map(|(at, list)| Some((at, list.get(round)?.clone()))),
        );
    }
    let beats = (0..LAST_BEATS).flat_map(|_| nodes().map(|at| (at, Input::Beat)));
    all.extend(beats);
    Plan::InLulls(all)
}

/// The plan as text, as in `node 0: suspect 1; node 2: join`.
fn in_words(happens: &PlanOf) -> String {
    let of_node = |(at, list): (usize, &Vec<Input<Command>>)| {
        let words: Vec<String> = list.iter().map(ToString::to_string).collect();
        (!words.is_empty()).then(|| format!("node {at}: {}", words.join(", ")))
    };
    let all: Vec<String> = happens.iter().enumerate().filter_map(of_node).collect();
    if all.is_empty() { "nothing asked".to_owned() } else { all.join("; ") }
}

/// Why less is covered than it seems.
fn remarks(happens: &PlanOf, is_told: bool, faults: Faults) -> Remarks {
    let mut remarks = Remarks::default();
    let mut warn = |what: &str| remarks.warnings.push(what.to_owned());
    let mut all = happens.iter().flatten();
    if happens.len() == 1 {
        warn("a single node agrees with itself");
    }
    if all.clone().next().is_none() && faults == Faults::NONE {
        warn("nothing happens");
    }
    let is_change = |it: &Input<Command>| {
        !matches!(it, Input::Ask(Command::Multicast(_)) | Input::Beat | Input::Trust(_))
    };
    if is_told && faults.restarts == 0 && !all.any(is_change) {
        warn("no node is suspected, joins or leaves, so no view ends");
    }
    if !is_told {
        warn("with heartbeats the state space may be too large to exhaust");
    }
    remarks
}
