//! Mutual exclusion: the question to the checker.

use vorrang_algorithms::mutex::card::{Besides, Card, Flaw};
use vorrang_algorithms::mutex::{Claim, Command, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{FOREVER, Plan};
use vorrang_protocol::NodeId;

use super::check_scope;
use crate::failure::Failure;
use crate::options::check::{CheckArgs, one_a_node};
use crate::options::choice::name;
use crate::options::command_line::CommandLine;
use crate::options::list;
use crate::options::mutex::{Half, MutexCheckArgs, Property, requesters, show_entries};
use crate::problem::remarks::surroundings;
use crate::problem::{Question, Remarks};

/// Fills in what was not said, from the flaw or from the algorithm.
pub(super) fn question(
    card: &'static Card,
    flaw: Option<&'static Flaw>,
    args: &CheckArgs,
) -> Result<Question<Mutex>, Failure> {
    let turns = Turns::of(card, flaw, args)?;
    let assumed = flaw.map_or(card.assumes.order, |flaw| flaw.shown_by.order);
    let order = args.order(assumed);
    let setup = set_up(card, flaw, args, turns.entries.len())?;
    let budget = flaw.map_or((0, 0), |it| (it.shown_by.crashes, it.shown_by.restarts));
    let losses = flaw.map_or(0, |it| it.shown_by.losses);
    let (about, faults) = (card.about(), args.faults_of(budget, (losses, 0)));
    let links = args.links(&about, &setup, order);
    // With entries for ever a flaw that starves somebody shows without a bound on passing.
    let shown = flaw.filter(|_| !turns.is_endless());
    let (besides, mut remarks) = besides(card, shown, &setup, &args.mutex)?;
    check_scope::warn_of_vacuity(card, &setup, &turns, &besides, &mut remarks);
    let asking = turns.entries.iter().filter(|entries| **entries > 0).count();
    if flaw.is_none() && card.assumes.one_at_a_time && asking > 1 && !turns.one_at_a_time {
        let name = card.name;
        remarks.warnings.push(format!("{name} assumes that requests come one at a time"));
    }
    if let Some(flaw) = flaw {
        check_scope::remark_flaw(
            flaw,
            &turns,
            (&setup, links.order, faults),
            (&besides, args.mutex.only),
            &mut remarks,
        );
    }
    remarks.of_time(&about, &setup, &links);
    let around = surroundings(&about, &setup, &links, faults);
    let covers = format!("{}, {around}", check_scope::turns_in_words(card, &turns));
    let only = args.mutex.only;
    let mut line = args.line(&about, &setup, order);
    turns.add_to(&mut line, card);
    if !args.mutex.lemma.is_empty() {
        line.option("lemma", args.mutex.lemma.join(","));
    }
    let asked = [
        (besides.ordering, "ordering"),
        (besides.bypass.is_some(), "no-starvation"),
        (besides.stamps, "stamps"),
    ];
    let asked: Vec<&str> = asked.iter().filter(|(asked, _)| *asked).map(|it| it.1).collect();
    if !asked.is_empty() {
        line.option("property", asked.join(","));
    }
    line.maybe("bypass", besides.bypass);
    line.maybe("only", only.map(|half| name(&half)));
    let properties = properties(&besides, only);
    let (exclusion, others) = card.watch(&setup, besides);
    let monitor = (exclusion.only(only.map(Into::into)), others);
    Ok(Question {
        setup,
        plan: turns.plan(),
        monitor,
        links,
        faults,
        // Walks follow nothing for ever.
        fair: args.demand.fair || turns.is_endless() && args.limits.walks().is_none(),
        properties,
        covers,
        remarks,
        line,
    })
}

/// What is checked, as a verdict names it.
fn properties(besides: &Besides, only: Option<Half>) -> Vec<String> {
    let mut names = match only {
        None => vec!["exclusion".to_owned(), "progress".to_owned()],
        Some(Half::Safety) => vec!["exclusion".to_owned()],
        Some(Half::Liveness) => vec!["progress".to_owned()],
    };
    names.extend(besides.ordering.then(|| "ordering".to_owned()));
    let passed = |bound| match bound {
        1 => "bounded bypass (passed at most once)".to_owned(),
        _ => format!("bounded bypass (passed at most {bound} times)"),
    };
    names.extend(besides.bypass.map(passed));
    names
}

/// The options, and the defaults that show the flaw.
fn set_up(
    card: &Card,
    flaw: Option<&Flaw>,
    args: &CheckArgs,
    nodes: usize,
) -> Result<Setup, Failure> {
    let mut setup = args.setup.setup(&card.about(), nodes as u32)?;
    if let Some(flaw) = flaw.filter(|flaw| flaw.shown_by.entries.len() == nodes) {
        for (parameter, text) in flaw.shown_by.given {
            if !args.setup.says(*parameter) {
                setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?;
            }
        }
    }
    Ok(setup)
}

/// The workload.
pub(super) struct Turns {
    /// How often each node enters.
    pub(super) entries: Vec<u32>,
    /// The claim of each node.
    pub(super) claims: Vec<Claim>,
    /// The nodes that never leave after their last entry.
    pub(super) stay: Vec<u32>,
    /// The nodes that ask, lowest first, if that was said.
    pub(super) requesters: Vec<u32>,
    /// Whether a node asks only when all others are done.
    pub(super) one_at_a_time: bool,
}

impl Turns {
    pub(super) fn of(card: &Card, flaw: Option<&Flaw>, args: &CheckArgs) -> Result<Self, Failure> {
        let own = &args.mutex;
        let nodes = match (args.nodes, flaw, &own.entries[..]) {
            (Some(nodes), _, _) => nodes,
            (None, _, _) if !own.requesters.is_empty() => {
                let list = list(&own.requesters);
                return Err(Failure::usage(format!(
                    "--requesters {list}: of how many? Say --nodes"
                )));
            }
            (None, Some(flaw), []) => flaw.shown_by.entries.len() as u32,
            (None, _, [] | [_]) => 3,
            (None, _, entries) => entries.len() as u32,
        };
        let requesters = requesters(&own.requesters, nodes)?;
        let entries = match (&own.entries[..], flaw) {
            (entries, _) if !requesters.is_empty() => among(&requesters, entries, nodes)?,
            ([], Some(flaw)) if flaw.shown_by.entries.len() == nodes as usize => {
                flaw.shown_by.entries.to_vec()
            }
            ([], _) => vec![1; nodes as usize],
            ([same], _) => vec![*same; nodes as usize],
            (entries, _) if entries.len() == nodes as usize => entries.to_vec(),
            (entries, _) => return Err(one_a_node("--entries", entries.len(), nodes)),
        };
        let claims = match (&own.claims[..], flaw) {
            ([], Some(flaw)) if flaw.shown_by.claims.len() == nodes as usize => {
                flaw.shown_by.claims.to_vec()
            }
            ([], _) => card.terms.claims.iter().copied().cycle().take(nodes as usize).collect(),
            (claims, _) if claims.len() == nodes as usize => claims.to_vec(),
            (claims, _) => return Err(one_a_node("--claims", claims.len(), nodes)),
        };
        if let Some(claim) = claims.iter().find(|claim| !is_granted(card, **claim)) {
            return Err(Failure::usage(format!("{} grants no {claim} claims", card.name)));
        }
        let stay = match (&own.stay[..], flaw) {
            ([], Some(flaw)) => flaw.shown_by.stay.to_vec(),
            (stay, _) => stay.to_vec(),
        };
        check_stay(&stay, &entries)?;
        let one_at_a_time = own.one_at_a_time;
        if one_at_a_time && card.terms.perpetual {
            return Err(Failure::usage(format!(
                "--one-at-a-time: messages of {} travel even if nobody wants in, so that there is \
                 never a rest in which one could ask",
                card.name
            )));
        }
        Ok(Self { entries, claims, stay, requesters, one_at_a_time })
    }

    /// Whether some node asks for ever.
    pub(super) fn is_endless(&self) -> bool {
        self.entries.contains(&FOREVER)
    }

    /// Adds what would have to be typed for them.
    pub(super) fn add_to(&self, line: &mut CommandLine, card: &Card) {
        if self.requesters.is_empty() {
            line.option("entries", show_entries(&self.entries));
        } else {
            let theirs = self.requesters.iter().map(|&id| self.entries[id as usize]);
            line.option("requesters", list(&self.requesters));
            line.option("entries", show_entries(&theirs.collect::<Vec<_>>()));
        }
        if card.terms.claims.len() > 1 {
            line.option("claims", check_scope::claims(&self.claims));
        }
        if !self.stay.is_empty() {
            line.option("stay", list(&self.stay));
        }
        if self.one_at_a_time {
            line.flag("one-at-a-time");
        }
    }

    fn plan(&self) -> Plan<Command> {
        let asks = self.claims.iter().copied().map(Command::Acquire);
        let stay: Vec<NodeId> = self.stay.iter().copied().map(NodeId).collect();
        let plan =
            Plan::turns_with(self.entries.iter().copied().zip(asks), &Command::Release, &stay);
        if self.one_at_a_time { plan.one_at_a_time() } else { plan }
    }
}

/// How many entries each node makes, if only some ask: one number for all of these, or one each.
fn among(requesters: &[u32], entries: &[u32], nodes: u32) -> Result<Vec<u32>, Failure> {
    let theirs = match entries {
        [] => vec![1; requesters.len()],
        [same] => vec![*same; requesters.len()],
        each if each.len() == requesters.len() => each.to_vec(),
        each => {
            return Err(Failure::usage(format!(
                "--entries has {} values for the {} nodes of --requesters: give one number, or one \
                 for each of them",
                each.len(),
                requesters.len()
            )));
        }
    };
    let mut all = vec![0; nodes as usize];
    for (&id, entries) in requesters.iter().zip(theirs) {
        all[id as usize] = entries;
    }
    Ok(all)
}

/// The properties to check besides exclusion and progress, and remarks.
fn besides(
    card: &Card,
    flaw: Option<&Flaw>,
    setup: &Setup,
    own: &MutexCheckArgs,
) -> Result<(Besides, Remarks), Failure> {
    let (promised, asked) = (card.promised(setup), &own.property);
    let (name, mut remarks) = (card.name, Remarks::default());
    let mut unpromised = |what: &str, called: &str| {
        remarks.warnings.push(format!("{what} by {name}; asked anyway"));
        remarks.if_fine.push(format!(
            "{called} held here, perhaps for want of nodes or entries: {name} does not promise it"
        ));
    };
    let mut besides = match flaw {
        Some(flaw) if asked.is_empty() => card.broken_by(flaw, setup),
        Some(_) | None => Besides::default(),
    };
    if asked.contains(&Property::Promised) {
        besides = Besides { stamps: false, ..promised };
    }
    if asked.contains(&Property::Ordering) {
        besides.ordering = true;
        if !promised.ordering {
            unpromised("ordering is not promised", "ordering");
        }
    }
    if asked.contains(&Property::Stamps) {
        besides.stamps = true;
        if !promised.stamps {
            unpromised("the order of stamps is not promised", "the order of stamps");
        }
    }
    if asked.contains(&Property::NoStarvation) || own.bypass.is_some() {
        besides.bypass = own.bypass.or(promised.bypass);
        match (promised.bypass, own.bypass) {
            (None, None) => {
                return Err(Failure::usage(format!(
                    "{} promises no bound on how often a waiting node is passed; ask for one with \
                     --bypass N",
                    card.name
                )));
            }
            (None, Some(_)) => {
                unpromised("no bound on passing is promised", "the bound on passing");
            }
            (Some(promise), Some(asked)) if asked < promise => {
                let what = format!("no bound on passing below {promise} is promised");
                unpromised(&what, "the bound on passing");
            }
            (Some(_), _) => {}
        }
    }
    if asked.contains(&Property::Promised) && promised == Besides::default() {
        let nothing = "nothing promised";
        remarks.warnings.push(format!("{nothing} by {name} besides exclusion and progress"));
    }
    Ok((besides, remarks))
}

/// A node that stays must exist, must enter, and can stay only once.
fn check_stay(stay: &[u32], entries: &[u32]) -> Result<(), Failure> {
    for (place, &id) in stay.iter().enumerate() {
        let last = entries.len() - 1;
        let why = match entries.get(id as usize) {
            None => format!("does not exist: the last node is {last}"),
            Some(0) => "makes no entry that it could stay in".to_owned(),
            Some(&FOREVER) => "enters for ever, so no entry is its last".to_owned(),
            Some(_) if stay[..place].contains(&id) => "is named twice".to_owned(),
            Some(_) => continue,
        };
        return Err(Failure::usage(format!("--stay: node {id} {why}")));
    }
    Ok(())
}

fn is_granted(card: &Card, claim: Claim) -> bool {
    card.terms.claims.iter().any(|granted| match (granted, claim) {
        (Claim::Group(_), Claim::Group(_)) | (Claim::Of(_), Claim::Of(_)) => true,
        (granted, claim) => *granted == claim,
    })
}
