//! The figures of a lock.

use vorrang_algorithms::card::{Quantity, Span};
use vorrang_algorithms::mutex::card::{BUSIEST, Card, MESSAGES, RESPONSE, SYNC_DELAY, THROUGHPUT};
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::setup::Setup;
use vorrang_sim::Distribution;
use vorrang_trace::Summary;

use super::scenario::Scenario;
use crate::figures::{Figure, Reading};
use vorrang_workload::mutex::Resource;

/// The figures of a run, with times in a unit of so many nanoseconds.
pub fn figures(
    card: &Card,
    summary: &Summary,
    unit: (&'static str, f64),
    per: (&'static str, f64),
    theory: &dyn Fn(Quantity) -> Option<Span>,
) -> Vec<Figure> {
    let (unit, unit_ns) = unit;
    let time = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
    let quantile = |ns: Option<u64>| time(ns.map(|ns| ns as f64));
    let busiest = (summary.entries > 0).then(|| summary.load_max as f64 / summary.entries as f64);
    let overtakes = summary.overtakes.map_or(Reading::Unknown, Reading::Count);
    let of = |quantity: Quantity, value: Option<f64>, error: Option<f64>| {
        Figure::real(quantity.key, value)
            .labelled(quantity.name)
            .unit(if quantity.is_time { unit } else { "" })
            .theory(theory(quantity), error)
    };
    let rate = summary.throughput_per_ns().map(|rate| rate * per.1);
    // A rate is as uncertain as the delays that it is made of.
    let of_delay = summary.sync_delay_error_ns.filter(|_| per.1 > 0.0).map(|ns| ns / per.1);
    let rate_error = rate.zip(of_delay).map(|(rate, error)| rate * rate * error);
    // Where all comes to rest there are hardly any.
    let idle = Figure::of("idle_messages", Reading::Count(summary.idle_messages));
    let idle = if card.terms.perpetual { idle.labelled("idle messages") } else { idle };
    vec![
        Figure::count("entries", "entries", summary.entries).last_column("ENTRIES"),
        Figure::count("messages", "messages", summary.messages),
        idle,
        Figure::of("messages_by_kind", Reading::Counts(summary.by_kind.clone())),
        of(MESSAGES, summary.messages_per_entry(), summary.messages_per_entry_error)
            .column("MESSAGES"),
        Figure::of("transmissions", Reading::Count(summary.transmissions)),
        Figure::real("transmissions_per_entry", summary.transmissions_per_entry()),
        of(SYNC_DELAY, time(summary.sync_delay_mean_ns), time(summary.sync_delay_error_ns))
            .column("DELAY/T"),
        of(RESPONSE, time(summary.response_mean_ns), time(summary.response_error_ns))
            .column("RESPONSE/T"),
        Figure::real("response_p50", quantile(summary.response_p50_ns)).column("P50/T"),
        Figure::real("response_p99", quantile(summary.response_p99_ns)).column("P99/T"),
        of(THROUGHPUT, rate, rate_error).unit(per.0).column("PER T"),
        Figure::real("bytes_per_entry", summary.bytes_per_entry())
            .labelled("bytes per entry")
            .column("BYTES"),
        Figure::of("load_max", Reading::Count(summary.load_max)),
        of(BUSIEST, busiest, None).column("LOAD"),
        Figure::real("load_fairness", Some(summary.load_fairness)),
        Figure::real("fairness", Some(summary.fairness)).labelled("fairness (Jain)").column("FAIR"),
        Figure::of("overtakes", overtakes).labelled("overtakes").column("OVERT."),
    ]
}

/// Puts beside a throughput that the theory does not know what the measured delay makes of it,
/// 1/(delay + E), and says why there is no theory.
pub fn explain_throughput(
    figures: &mut Vec<Figure>,
    scenario: &Scenario,
    summary: &Summary,
    (stay, per): (Distribution, (&'static str, f64)),
) {
    let Some(place) = figures.iter().position(|it| it.key == THROUGHPUT.key) else { return };
    let is_unknown = figures[place].theory.is_none() && figures[place].number().is_some();
    let is_one = (scenario.card.terms.admission)(&scenario.setup) == Admission::One;
    let delay_ns = summary.sync_delay_mean_ns.filter(|_| is_one && is_unknown);
    let rate = delay_ns.map(|ns| per.1 / (ns + stay.mean_ns())).filter(|rate| rate.is_finite());
    let figure = Figure::real("throughput_of_delay", rate).unit(per.0);
    let figure = if rate.is_some() { figure.labelled("  1/(delay + E)") } else { figure };
    let why = is_unknown.then(|| scenario.no_throughput(rate.is_some()).to_owned());
    let why = Figure::of("throughput_no_theory", why.map_or(Reading::Unknown, Reading::Text));
    let rest = figures.split_off(place + 1);
    figures.extend([figure, why].into_iter().chain(rest));
}

/// Shows what a run costs on a medium on which a message to many is sent once, if that is wanted.
pub fn show_transmissions(figures: &mut [Figure], is_wanted: bool) {
    for figure in figures.iter_mut().filter(|_| is_wanted) {
        match figure.key {
            "transmissions" => figure.label = Some("on a broadcast medium"),
            "transmissions_per_entry" => {
                (figure.label, figure.column) = (Some("  per entry"), Some("ON MEDIUM"));
            }
            _ => {}
        }
    }
}

/// The figures of the resource and of the views, if there are any, with times in this unit.
pub fn of_views(
    scenario: &Scenario,
    used: Option<&Resource>,
    (unit, unit_ns): (&'static str, f64),
) -> Vec<Figure> {
    let Setup { beat, margin, late, .. } = scenario.setup;
    let patience_ns = (beat + margin + late).as_nanos() as f64;
    let change_ns = used.and_then(|it| it.changes.mean());
    let in_units = |of_ns: f64| change_ns.filter(|_| of_ns > 0.0).map(|ns| ns / of_ns);
    let count =
        |of: fn(&Resource) -> u64| used.map_or(Reading::Unknown, |it| Reading::Count(of(it)));
    let highest = used.and_then(|it| it.highest).map(|it| Reading::Text(it.to_string()));
    let safe = scenario.views.as_ref().map(|it| Reading::Text(it.safety.sentence().to_owned()));
    let known = [
        (Figure::of("safe_means", safe.unwrap_or(Reading::Unknown)), "safety means"),
        (Figure::of("views", count(Resource::views)), "views"),
        (Figure::real("view_change", in_units(unit_ns)).unit(unit), "view change"),
        (Figure::real("view_change_timeouts", in_units(patience_ns)), "  in time-outs"),
        (Figure::of("fence_highest", highest.unwrap_or(Reading::Unknown)), "highest fencing token"),
        (Figure::of("stale_writes", count(|it| it.late)), "stale writes, unfenced"),
        (Figure::of("refused", count(|it| it.refused)), "  refused by fencing"),
    ];
    let shown = |(figure, label): (Figure, &'static str)| {
        if used.is_some() { figure.labelled(label) } else { figure }
    };
    known.map(shown).into()
}
