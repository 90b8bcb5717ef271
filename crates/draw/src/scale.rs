//! Where numbers lie along an axis, and how they are written there.

use crate::series::{Axis, Point};
use crate::words::{number, round_step};

/// Where numbers lie.
pub(crate) struct Scale {
    pub(crate) is_log: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Above this there are no ticks, and no values.
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis to the right or up with these values, from one place to another. One that goes up
    /// begins at 0, unless it is logarithmic or a share: all shares of a run may be close to 1.
    pub(crate) fn new(values: &[f64], axis: &Axis, (from, to): (f64, f64), is_up: bool) -> Self {
        let (least, most) = axis.limits;
        let values = || {
            let fits = move |it: &f64| {
                least.is_none_or(|least| *it >= least) && most.is_none_or(|most| *it <= most)
            };
            values.iter().copied().filter(fits).chain(least).chain(most)
        };
        let is_log = axis.is_log && values().all(|it| it > 0.0);
        let mut low = values().fold(f64::INFINITY, f64::min);
        let mut high = values().fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if is_log {
            (low, high) = (low / 1.15, high * 1.15);
        } else {
            let least = if axis.is_share { 1e-4 } else { high.abs() * 0.05 };
            let room = (high - low).max(least).max(1e-9) * 0.06;
            low = if is_up && !axis.is_share && low >= 0.0 { 0.0 } else { low - room };
            high += room;
        }
        if axis.is_share {
            // Whatever a mean is, a share is none beyond these.
            high = high.min(1.0 + (1.0 - low).max(1e-4) * 0.06);
        }
        let most = if axis.is_share { 1.0 } else { f64::INFINITY };
        (low, high) = (axis.limits.0.unwrap_or(low), axis.limits.1.unwrap_or(high));
        if high <= low {
            high = low + 1.0;
        }
        Self { is_log, low, high, most, from, to }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Whether a value lies on it.
    pub(crate) fn has(&self, value: f64) -> bool {
        let room = (self.high - self.low) * 1e-9;
        value >= self.low - room && value <= self.high + room
    }

    /// The value on it that is next to this one: no share is above 1.
    pub(crate) fn nearest(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high.min(self.most.max(self.low)))
    }

    /// Values that are marked, and how they are written, so many pixels from each other.
    pub(crate) fn ticks(&self, room: f64) -> Vec<(f64, String)> {
        if !self.is_log {
            let step = round_step((self.high - self.low) / ((self.to - self.from).abs() / room));
            let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
            let digits = (-(step * 1.001).log10().floor()).clamp(0.0, 12.0) as usize;
            return (first as i64..=last as i64)
                .map(|it| it as f64 * step)
                .filter(|&it| it <= self.most + step * 1e-6)
                .map(|it| (it, short(it, digits)))
                .collect();
        }
        let mut ticks = Vec::new();
        let steps: &[f64] = match (self.high / self.low).log10() {
            it if it > 4.0 => &[1.0],
            it if it > 1.6 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        for power in first..=last {
            let all = steps.iter().map(|step| step * 10_f64.powi(power));
            ticks.extend(all.filter(|&it| it >= self.low && it <= self.high));
        }
        ticks.into_iter().map(|it| (it, number(it))).collect()
    }
}

/// The two axes.
pub(crate) struct Scales {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) right: f64,
}

impl Scales {
    pub(crate) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }
    /// Whether a point lies within the limits.
    pub(crate) fn shows(&self, point: &Point) -> bool {
        self.x.has(point.x) && self.y.has(point.y)
    }
}

/// A number with so many decimals at most, and none that say nothing.
fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], axis: &Axis, is_up: bool) -> Vec<String> {
        let scale = Scale::new(values, axis, (0.0, 350.0), is_up);
        scale.ticks(60.0).into_iter().map(|it| it.1).collect()
    }

    #[test]
    fn ticks_are_few_and_round() {
        let axis = Axis { is_log: true, ..Axis::default() };
        let scale = Scale::new(&[2.0, 256.0], &axis, (0.0, 700.0), false);
        let texts: Vec<String> = scale.ticks(60.0).into_iter().map(|it| it.1).collect();
        assert_eq!(texts, ["2", "5", "10", "20", "50", "100", "200"]);
    }

    #[test]
    fn shares_that_hardly_differ_are_told_apart_and_none_is_above_1() {
        let axis = Axis { is_share: true, ..Axis::default() };
        let texts = labels(&[0.9991, 1.0], &axis, true);
        assert_eq!(texts, ["0.9992", "0.9994", "0.9996", "0.9998", "1"]);
        let mut texts = labels(&[1.0], &axis, true);
        assert_eq!(texts.pop().as_deref(), Some("1"));
        let counts = labels(&[90.0, 100.0], &Axis::default(), true);
        assert_eq!(counts[0], "0", "what is counted is seen from 0");
    }

    #[test]
    fn limits_are_kept() {
        let axis = Axis { limits: (Some(0.5), None), ..Axis::default() };
        let scale = Scale::new(&[0.1, 0.6, 2.0], &axis, (0.0, 350.0), true);
        assert!((scale.low - 0.5).abs() < 1e-12 && scale.high > 2.0);
        assert!(scale.has(0.5) && !scale.has(0.4));
    }
}
