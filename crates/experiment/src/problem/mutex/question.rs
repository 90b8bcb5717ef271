//! Mutual exclusion: the question to the checker.

use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::{Besides, Card, Flaw};
use vorrang_algorithms::setup::Setup;

use super::check_scope;
use super::turns::Turns;
use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::options::choice::name;
use crate::options::mutex::{Half, MutexCheckArgs, Property};
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
        beat: None,
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
