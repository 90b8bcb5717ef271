//! Contended hand-overs between processes: every member asks again as soon as it has given back.

use crate::daemon::Daemons;
use crate::place::{Place, make_keys};
use crate::process::{Turn, Worker, turn};
use crate::report::{Report, Target, median, progress};
use crate::{Outcome, TableArgs};

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    progress("hand-overs: starting three members of each kind");
    let keys = make_keys(&arguments.program, &arguments.directory)?;
    // All of them stay, so that they can be measured in turns; who is not asked does little.
    let last = |name: &str| arguments.directory.join(format!("last-{name}")).display().to_string();
    let mut views = Place::new()?.all("views", &["--last", &last("views")])?;
    let mut plain = Place::new()?.all("library", &["--last", &last("plain")])?;
    let with_keys = Place::new()?.with_keys(&keys);
    let mut tls = with_keys.all("library", &["--last", &last("tls")])?;
    let daemons = Daemons::start(arguments, "plain", Place::new()?, &[])?;
    let mut socket = daemons.clients(&["--last", &last("socket")])?;
    let with_keys = Place::new()?.with_keys(&keys);
    let tls_daemons = Daemons::start(arguments, "tls", with_keys, &[])?;
    let mut tls_socket = tls_daemons.clients(&["--last", &last("tls-socket")])?;
    let mut all: [&mut Vec<Worker>; 5] =
        [&mut views, &mut plain, &mut tls, &mut socket, &mut tls_socket];
    let mut turns: [Vec<Turn>; 5] = Default::default();
    for round in 0..=arguments.rounds {
        progress(&format!("hand-overs: round {round} of {}", arguments.rounds));
        for (workers, turns) in all.iter_mut().zip(&mut turns) {
            let turn = turn(workers, arguments.seconds)?;
            // The first round warms up.
            if round > 0 {
                turns.push(turn);
            }
        }
    }
    show(&turns, report);
    Ok(())
}

fn show([views, plain, tls, socket, tls_socket]: &[Vec<Turn>; 5], report: &mut Report) {
    let of = |turns: &[Turn], figure: fn(&Turn) -> f64| {
        median(&turns.iter().map(figure).collect::<Vec<_>>())
    };
    let times = |turns: &[Turn]| {
        let both = turns.iter().zip(views);
        let ratios = both.map(|(turn, views)| turn.time / views.time);
        (median(&ratios.collect::<Vec<_>>()), "x")
    };
    let time = |turns| (of(turns, |it| it.time), "us");
    let rate = |turns| (of(turns, |it| it.handovers), "/s");
    report.row("hand-over to one who waits, node --on-views", time(views), Target::None);
    report.row("the same, library", time(plain), Target::None);
    report.row("  times as long", times(plain), Target::AtMost(1.1));
    report.row("the same, library, TLS", time(tls), Target::None);
    report.row("  times as long", times(tls), Target::AtMost(1.6));
    for (what, turns) in [("node --on-views", views), ("library", plain), ("library, TLS", tls)] {
        report.row(&format!("hand-overs, {what}"), rate(turns), Target::None);
    }
    report.row("hand-overs, daemon's socket", rate(socket), Target::AtLeast(8000.0));
    let tls_socket = rate(tls_socket);
    report.row("hand-overs, daemon's socket, TLS between daemons", tls_socket, Target::None);
}
