//! Mutual exclusion: what an answer of the checker covers, and where that is too little.

use std::fmt::Write as _;

use vorrang_algorithms::card::Order;
use vorrang_algorithms::mutex::card::{Besides, Card, Flaw};
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::setup::Setup;
use vorrang_check::{FOREVER, Faults};

use super::turns::{Turns, claims};
use crate::options::list;
use crate::options::mutex::{Half, show_entries};
use crate::problem::remarks::{Remarks, nodes_in_words};

/// The nodes and what their applications do, as in `3 nodes, 2 entries each`.
pub(super) fn turns_in_words(card: &Card, turns: &Turns) -> String {
    let theirs: Vec<u32> = turns.entries.iter().copied().filter(|&it| it > 0).collect();
    let are_some_named = !turns.requesters.is_empty();
    let entries = match if are_some_named { &theirs[..] } else { &turns.entries[..] } {
        [] | [0] => "no entry".to_owned(),
        [first, rest @ ..] if rest.iter().all(|it| it == first) => match *first {
            0 => "no entries".to_owned(),
            1 => "1 entry each".to_owned(),
            FOREVER => "each entering again for ever".to_owned(),
            _ => format!("{first} entries each"),
        },
        mixed => format!("{} entries", show_entries(mixed)),
    };
    let mut text = nodes_in_words(turns.entries.len());
    if are_some_named {
        let _ = write!(text, " of which {} ask", list(&turns.requesters));
    }
    let _ = write!(text, ", {entries}");
    if card.terms.claims.len() > 1 {
        let _ = write!(text, ", claims {}", claims(&turns.claims));
    }
    if !turns.stay.is_empty() {
        let _ = write!(text, ", {} staying", list(&turns.stay));
    }
    if turns.one_at_a_time {
        text.push_str(", one at a time");
    }
    text
}

/// Warns of questions that no algorithm could answer wrongly.
pub(super) fn warn_of_vacuity(
    card: &Card,
    setup: &Setup,
    turns: &Turns,
    besides: &Besides,
    remarks: &mut Remarks,
) {
    let asking: Vec<usize> =
        (0..turns.entries.len()).filter(|&node| turns.entries[node] > 0).collect();
    let warnings = &mut remarks.warnings;
    match asking[..] {
        [] => warnings.push("no node ever asks: every node makes 0 entries".to_owned()),
        [_] if turns.entries.len() == 1 => {
            warnings.push("a single node has no other to exclude".to_owned());
        }
        [only] => warnings.push(format!("only node {only} ever asks: no other competes with it")),
        [..] => {
            if let Some(why) = all_fit_inside(card, setup, turns, &asking) {
                warnings.push(format!("exclusion is not tested: {why}"));
            }
            let most = asking.iter().map(|&node| turns.entries[node]).max().unwrap_or(0);
            if besides.bypass.is_some_and(|bound| most <= bound) {
                let times = if most == 1 { "once" } else { &*format!("{most} times") };
                warnings.push(format!(
                    "no starvation is not tested: no node enters more often than {times}"
                ));
            }
        }
    }
}

/// Why all that ask may be inside together, if they may.
fn all_fit_inside(card: &Card, setup: &Setup, turns: &Turns, asking: &[usize]) -> Option<String> {
    let count = asking.len();
    match (card.terms.admission)(setup) {
        Admission::One => None,
        Admission::UpTo(k) => (count <= k as usize)
            .then(|| format!("all {count} nodes that ask may be inside together")),
        Admission::Compatible => {
            let claim = |node: &usize| turns.claims[*node];
            let conflicts = |(place, one): (usize, &usize)| {
                asking[place + 1..].iter().any(|other| claim(one).conflicts_with(claim(other)))
            };
            let any = asking.iter().enumerate().any(conflicts);
            (!any).then(|| "no two claims of nodes that ask conflict".to_owned())
        }
    }
}

/// Names the demonstration of a flaw, should it not be found.
pub(super) fn remark_flaw(
    flaw: &Flaw,
    turns: &Turns,
    (setup, order, faults): (&Setup, Order, Faults),
    (besides, only): (&Besides, Option<Half>),
    remarks: &mut Remarks,
) {
    let shown = &flaw.shown_by;
    let mut takes = format!("--entries {}", list(shown.entries));
    let _ = match shown.order {
        Order::Any => write!(takes, " --order any"),
        Order::Fifo => Ok(()),
    };
    if !shown.claims.is_empty() {
        let _ = write!(takes, " --claims {}", claims(shown.claims));
    }
    if !shown.stay.is_empty() {
        let _ = write!(takes, " --stay {}", list(shown.stay));
    }
    let counts =
        [(shown.crashes, "crashes"), (shown.restarts, "restarts"), (shown.losses, "losses")];
    for (count, name) in counts {
        if count > 0 {
            let _ = write!(takes, " --{name} {count}");
        }
    }
    let goes_too_well = faults.crashes < shown.crashes
        || faults.restarts < shown.restarts
        || faults.losses < shown.losses;
    let mut is_set_up_otherwise = false;
    for (parameter, text) in shown.given {
        let _ = write!(takes, " --{} {text}", parameter.name());
        is_set_up_otherwise |= parameter.show(setup) != *text;
    }
    let is_asked = match flaw.breaks {
        "ordering" => besides.ordering,
        "no starvation" => besides.bypass.is_some() || turns.is_endless(),
        "exclusion" => only != Some(Half::Liveness),
        "progress" => only != Some(Half::Safety),
        _ => true,
    };
    if only.is_some() && !is_asked {
        takes.push_str(" without --only");
    } else if !is_asked {
        let _ = write!(takes, " --property {}", flaw.breaks.replace(' ', "-"));
    }
    let sorted = |entries: &[u32]| {
        let mut entries = entries.to_vec();
        entries.sort_unstable_by(|one, other| other.cmp(one));
        entries
    };
    let (wanted, given) = (sorted(shown.entries), sorted(&turns.entries));
    let is_fewer = given.len() < wanted.len() || wanted.iter().zip(&given).any(|(it, of)| it > of);
    let is_stricter = shown.order == Order::Any && order == Order::Fifo;
    let claims_other = !shown.claims.is_empty() && turns.claims != shown.claims;
    let nobody_stays = !shown.stay.is_empty() && turns.stay.is_empty();
    let falls_short = !is_asked
        || is_fewer
        || is_stricter
        || claims_other
        || nobody_stays
        || is_set_up_otherwise
        || goes_too_well;
    remarks.of_flaw(flaw.name, &takes, falls_short);
}
