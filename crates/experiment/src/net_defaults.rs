//! Defaults over a real network, where message delays are not known.

use std::time::Duration;

use vorrang_algorithms::card::About;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::{Parameter, Setup};

use crate::options::SetupArgs;

/// The default bound on message delay over a real network: longer than the delays of a busy
/// machine.
pub const TIMELY_ENOUGH: Duration = Duration::from_secs(1);

/// The same for algorithms that only send again what takes longer.
const SOON_ENOUGH: Duration = Duration::from_millis(20);

/// The default of the bound on message delay over a real network, for algorithms that take one.
pub fn within_if_real(about: &About) -> Option<Duration> {
    let sends_again = about.problem == Multicast::NAME;
    if about.assumes.timely { Some(TIMELY_ENOUGH) } else { sends_again.then_some(SOON_ENOUGH) }
}

/// The default heartbeat interval and margin over a real network: longer than the delays of a busy
/// machine.
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
