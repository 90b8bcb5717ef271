//! A lock that was last held here, and that nobody else asks for.

use std::slice::from_mut;

use crate::daemon::Daemons;
use crate::place::Place;
use crate::process::turn;
use crate::report::{Report, Target, median, progress};
use crate::{Outcome, TableArgs};

pub(crate) fn measure(arguments: &TableArgs, report: &mut Report) -> Outcome<()> {
    progress("uncontended: starting three members");
    let mut library = Place::new()?.all("library", &[])?;
    let daemons = Daemons::start(arguments, "uncontended", Place::new()?, &[])?;
    let mut socket = daemons.clients(&[])?;
    let (mut in_library, mut at_socket) = (Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        progress(&format!("uncontended: round {round} of {}", arguments.rounds));
        let rates = [
            turn(from_mut(&mut library[0]), arguments.seconds)?.grants,
            turn(from_mut(&mut socket[0]), arguments.seconds)?.grants,
        ];
        // The first round warms up.
        if round > 0 {
            in_library.push(rates[0]);
            at_socket.push(rates[1]);
        }
    }
    let library = (median(&in_library), "/s");
    report.row("lock that was last held here, library", library, Target::AtLeast(100_000.0));
    let socket = (median(&at_socket), "/s");
    report.row("lock that was last held here, socket", socket, Target::AtLeast(10_000.0));
    Ok(())
}
