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

/// How often nodes say that they are up, and how much later they may: the defaults of a failure
/// detector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The heartbeat interval.
    pub beat: Duration,
    /// How much later a heartbeat may come before its sender is suspected.
    pub margin: Duration,
}

impl Pace {
    /// Over a real network: longer than the delays of a busy machine.
    pub const REAL: Self =
        Self { beat: Duration::from_millis(100), margin: Duration::from_millis(100) };

    /// Of a lock on views over a real network: longer than a busy machine keeps a process waiting,
    /// since a member that is suspected loses the lock.
    pub const ON_VIEWS: Self =
        Self { beat: Duration::from_millis(200), margin: Duration::from_millis(800) };

    /// Sets both, unless they were given.
    pub fn unless_told(self, setup: &mut Setup, args: &SetupArgs) {
        for (parameter, time, usual) in [
            (Parameter::Beat, &mut setup.beat, self.beat),
            (Parameter::Margin, &mut setup.margin, self.margin),
        ] {
            if !args.says(parameter) {
                *time = usual;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::show_duration_ns;

    use super::*;

    #[test]
    fn the_help_of_within_has_the_defaults_over_a_network() {
        let mut takes = vorrang_catalogue::abouts();
        takes.retain(|about| about.takes.contains(&Parameter::Within));
        let of = |time: Duration| -> Vec<&str> {
            let those = takes.iter().filter(|about| within_if_real(about) == Some(time));
            those.map(|about| about.name).collect()
        };
        let (timely, soon) = (of(TIMELY_ENOUGH), of(SOON_ENOUGH));
        assert_eq!(timely.len() + soon.len(), takes.len(), "each has a default");
        let [others @ .., last] = &soon[..] else { panic!("there are some") };
        let shown = |time: Duration| show_duration_ns(time.as_nanos() as u64);
        let said = format!(
            "over a network {}, and {} of {} and {last},",
            shown(TIMELY_ENOUGH),
            shown(SOON_ENOUGH),
            others.join(", ")
        );
        assert!(Parameter::Within.what().contains(&said), "{said}");
    }
}
