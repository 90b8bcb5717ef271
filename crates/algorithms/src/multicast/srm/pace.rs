//! How long to wait before asking and before answering: the parameters of SRM, fixed or learnt.

use core::time::Duration;
use vorrang_protocol::NodeState;

use crate::setup::Waits;

/// The shortest wait before a second request, in thousandths of a distance, before any back-off: a
/// repair takes a round trip and its own wait.
const LEAST: u64 = 1500;

/// A wait is drawn from these many times a distance: from `start` to `start + width`, in
/// thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Factors {
    /// At least.
    pub start: u32,
    /// From there.
    pub width: u32,
}

impl Factors {
    /// The wait that was drawn, over such a distance, after so many rounds.
    pub(in crate::multicast) fn wait(
        self,
        distance: Duration,
        doublings: u8,
        (drawn, of): (u32, u32),
    ) -> Duration {
        let share = u64::from(self.width) * u64::from(drawn) / u64::from(of.max(2) - 1);
        // A member that has sent a request and draws the shortest wait of all must not repeat it at
        // once for ever.
        let least = if doublings > 0 { LEAST } else { 0 };
        let thousandths = u128::from((u64::from(self.start) + share).max(least)) << doublings;
        let ns = distance.as_nanos().saturating_mul(thousandths) / 1000;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX / 4))
    }
}

/// The factors of a member, and what it makes of its experience.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Pace {
    pub(in crate::multicast) request: AdaptiveFactors,
    pub(in crate::multicast) repair: AdaptiveFactors,
    pub(in crate::multicast) is_adaptive: bool,
}

/// Factors, and averages of what came of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct AdaptiveFactors {
    pub(in crate::multicast) factors: Factors,
    /// The lowest and the highest that they may become.
    bounds: [Factors; 2],
    /// How many more there were than one, in thousandths.
    duplicates: u32,
    /// How long it took to the first, in thousandths of a round trip.
    delay: u32,
}

/// The outcome of one loss, or of one request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Experience {
    /// How many there were besides the first.
    pub(in crate::multicast) duplicates: u32,
    /// How long it took to the first, in thousandths of a round trip.
    pub(in crate::multicast) delay: u32,
    /// Whether this member sent one.
    pub(in crate::multicast) sent: bool,
    /// Whether all duplicates came from further away.
    pub(in crate::multicast) is_closest: bool,
}

impl AdaptiveFactors {
    /// What was learnt: C1 and C2 (D1 and D2), in thousandths, duplicates and delay.
    pub(in crate::multicast) fn state(&self) -> NodeState {
        NodeState::new()
            .with("start", self.factors.start)
            .with("width", self.factors.width)
            .with("duplicates", self.duplicates)
            .with("delay", self.delay)
    }
}

impl Pace {
    pub(in crate::multicast) fn of(waits: Waits, nodes: u32) -> Self {
        let members = f64::from(nodes);
        let log = (thousandths(log10(members))).max(1);
        let root = thousandths(root(members));
        let [c1, c2, d1, d2] = match waits {
            Waits::Fixed | Waits::Adaptive => [2000, 2000, log, log],
            Waits::Star => [0, root, 0, root],
            Waits::Line => [2000, 0, 1000, 0],
            Waits::Given(factors) => factors,
        };
        let most = nodes.saturating_mul(1000).max(1000);
        let learner = |start, width, most_start: u32| AdaptiveFactors {
            factors: Factors { start, width },
            bounds: [
                Factors { start: 500, width: 1000 },
                Factors { start: most_start.max(500), width: most },
            ],
            duplicates: 0,
            delay: 0,
        };
        Self {
            request: learner(c1, c2, 2000),
            repair: learner(d1, d2, log),
            is_adaptive: waits == Waits::Adaptive,
        }
    }
}

impl AdaptiveFactors {
    /// Learns from an experience: Floyd et al., section VII. Averages move by a quarter.
    pub(in crate::multicast) fn learn(&mut self, it: Experience) {
        let quarter = |average: u32, now: u32| (3 * u64::from(average) + u64::from(now)) / 4;
        self.duplicates = quarter(self.duplicates, it.duplicates.saturating_mul(1000)) as u32;
        self.delay = quarter(self.delay, it.delay) as u32;
        let Factors { start, width } = &mut self.factors;
        if it.sent {
            *start = start.saturating_sub(100);
            if it.is_closest {
                *width = width.saturating_sub(100);
            }
        }
        if self.duplicates >= 1000 {
            *start = start.saturating_add(100);
            *width = width.saturating_add(500);
        } else if self.duplicates < 900 {
            if self.delay > 1000 {
                *width = width.saturating_sub(100);
                if self.duplicates < 250 {
                    *start = start.saturating_sub(50);
                }
            } else {
                *start = start.saturating_add(50);
            }
        }
        let [low, high] = self.bounds;
        *start = (*start).clamp(low.start, high.start);
        *width = (*width).clamp(low.width, high.width);
    }
}

fn thousandths(number: f64) -> u32 {
    (number * 1000.0 + 0.5) as u32
}

/// The square root, by Newton: `core` has none.
fn root(of: f64) -> f64 {
    (0..40).fold(of.max(1.0), |guess, _| f64::midpoint(guess, of / guess))
}

/// The logarithm to the base of ten, by halves: `core` has none.
fn log10(of: f64) -> f64 {
    let (mut whole, mut rest) = (0.0, of.max(1.0));
    while rest >= 10.0 {
        rest /= 10.0;
        whole += 1.0;
    }
    let (mut sum, mut power, mut step) = (0.0, 1.0, 0.5);
    let mut base = root(10.0);
    for _ in 0..30 {
        if power * base <= rest {
            power *= base;
            sum += step;
        }
        base = root(base);
        step /= 2.0;
    }
    whole + sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_ones_are_those_of_the_paper() {
        for (nodes, log, root) in
            [(1, 1, 1000), (10, 1000, 3162), (100, 2000, 10000), (20, 1301, 4472)]
        {
            let pace = Pace::of(Waits::Fixed, nodes);
            assert_eq!(pace.request.factors, Factors { start: 2000, width: 2000 });
            assert_eq!(pace.repair.factors, Factors { start: log, width: log }, "{nodes}");
            assert_eq!(Pace::of(Waits::Star, nodes).request.factors.width, root, "{nodes}");
        }
    }

    #[test]
    fn a_wait_grows_with_the_distance_the_draw_and_the_round() {
        let factors = Factors { start: 2000, width: 2000 };
        let ms = Duration::from_millis;
        assert_eq!(factors.wait(ms(3), 0, (0, 2)), ms(6));
        assert_eq!(factors.wait(ms(3), 0, (1, 2)), ms(12));
        assert_eq!(factors.wait(ms(3), 2, (500, 1001)), ms(36));
        let none = Factors { start: 0, width: 0 };
        assert_eq!(none.wait(ms(8), 0, (0, 2)), ms(0));
        assert_eq!(none.wait(ms(8), 1, (0, 2)), ms(24), "a repair takes a round trip");
    }

    #[test]
    fn many_duplicates_lengthen_waits_and_few_shorten_them() {
        let mut pace = Pace::of(Waits::Adaptive, 100);
        let learner = &mut pace.request;
        for _ in 0..50 {
            learner.learn(Experience { duplicates: 8, delay: 500, ..Experience::default() });
        }
        assert_eq!(learner.factors, Factors { start: 2000, width: 27_000 }, "but for its bound");
        for _ in 0..400 {
            learner.learn(Experience { duplicates: 0, delay: 9000, ..Experience::default() });
        }
        assert_eq!(learner.factors, Factors { start: 500, width: 1000 });
        for _ in 0..3 {
            learner.learn(Experience { delay: 0, ..Experience::default() });
        }
        assert_eq!(learner.factors.start, 500, "delays are remembered for a while");
        for _ in 0..10 {
            learner.learn(Experience { delay: 0, ..Experience::default() });
        }
        assert!(learner.factors.start > 500, "there is no hurry");
        let before = learner.factors;
        learner.learn(Experience { sent: true, is_closest: true, ..Experience::default() });
        assert!(learner.factors.start < before.start + 50, "whoever asks first shall be sooner");
    }
}
