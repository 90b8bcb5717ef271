//! What is usual over a real network, where nobody decides how long a message takes.

use std::time::Duration;

use vorrang_algorithms::card::About;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::{Parameter, Setup};

use crate::options::SetupArgs;

/// How long a message takes at most over a real network, if nobody says: longer than a busy machine
/// is.
pub const TIMELY_ENOUGH: Duration = Duration::from_secs(1);

/// The same for algorithms that only send again what takes longer.
const SOON_ENOUGH: Duration = Duration::from_millis(20);

/// How long an algorithm believes a message to take at most over a real network, if that matters to
/// it and nobody says.
pub fn within_if_real(about: &About) -> Option<Duration> {
    let sends_again = about.problem == Multicast::NAME;
    if about.assumes.timely { Some(TIMELY_ENOUGH) } else { sends_again.then_some(SOON_ENOUGH) }
}

/// How long a heartbeat and its margin are over a real network, if nobody says: longer than a busy
/// machine is.
const SELDOM_ENOUGH: Duration = Duration::from_millis(100);

/// Has nodes on a real network say that they are up as seldom as is fit for one, unless they are
/// told how often.
pub fn beats_if_real(setup: &mut Setup, args: &SetupArgs) {
    for (parameter, time) in
        [(Parameter::Beat, &mut setup.beat), (Parameter::Margin, &mut setup.margin)]
    {
        if !args.says(parameter) {
            *time = SELDOM_ENOUGH;
        }
    }
}
