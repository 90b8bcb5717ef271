//! Where things are in a space-time diagram.

use crate::chart::Chart;
use crate::story::{Clock, Story};
use crate::svg::width;

/// Where time and nodes lie in a picture.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) left: f64,
    pub(crate) top: f64,
    /// How wide all of time is.
    pub(crate) span: f64,
    /// How far apart nodes are.
    pub(crate) gap: f64,
    /// From when to when.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) lanes: usize,
    pub(crate) clock: Clock,
    /// How wide a message usually is on its way.
    pub(crate) way: f64,
    /// Whether that is too little to read all that is said.
    pub(crate) is_crowded: bool,
}

/// A message that is to be read wants to be this wide on its way.
const WAY: f64 = 78.0;
/// A step of a counterexample.
const STEP: f64 = 46.0;
pub(crate) const NARROWEST: f64 = 640.0;
const WIDEST: f64 = 2400.0;
pub(crate) const RIGHT: f64 = 44.0;

/// When a picture begins and ends: with the run, unless nothing happens for long, as before all
/// nodes of a network have met.
fn extent(story: &Story) -> (u64, u64) {
    let end = story.end().max(1);
    let first = story.events.iter().map(|event| event.at).min().unwrap_or(0);
    let waits = first > (end - first) / 8;
    let begin = if waits && story.clock == Clock::Nanoseconds { first.min(end - 1) } else { 0 };
    (begin, end)
}

impl Layout {
    /// A picture of so many pixels, or as many as it takes to read it.
    pub(crate) fn of(story: &Story, chart: &Chart, wanted: Option<f64>) -> Self {
        let lanes = story.lanes.len();
        let names = story.lanes.iter().map(|name| width(name, 13.0)).fold(30.0, f64::max);
        let left = names + 28.0;
        let (begin, end) = extent(story);
        let long = (end - begin) as f64;
        let natural = match story.clock {
            Clock::Steps => long * STEP,
            Clock::Nanoseconds => {
                let mut ways: Vec<u64> = chart
                    .arrows
                    .iter()
                    .filter_map(|it| Some(it.got? - it.sent).filter(|&ns| ns > 0))
                    .collect();
                ways.sort_unstable();
                let usual = ways.get(ways.len() / 2).map_or(long / 12.0, |&ns| ns as f64);
                long / usual.max(1.0) * WAY
            }
        };
        let span = match wanted {
            Some(wanted) => (wanted - left - RIGHT).max(160.0),
            None => natural.clamp(NARROWEST, WIDEST),
        };
        let gap = match lanes {
            0..=3 => 100.0,
            4..=6 => 84.0,
            7..=10 => 64.0,
            11..=16 => 48.0,
            17..=40 => 32.0,
            _ => 20.0,
        };
        let share = span / natural.max(1.0);
        let way = (WAY * share).clamp(6.0, 60.0);
        let is_crowded = share < 0.34;
        let (top, clock) = (0.0, story.clock);
        Self { left, top, span, gap, begin, end, lanes, clock, way, is_crowded }
    }

    pub(crate) fn x(&self, at: u64) -> f64 {
        let at = at.clamp(self.begin, self.end) - self.begin;
        self.left + at as f64 / (self.end - self.begin) as f64 * self.span
    }

    pub(crate) fn y(&self, node: usize) -> f64 {
        self.top + self.edge() + node as f64 * self.gap
    }

    /// How much room there is above the first line and below the last.
    fn edge(&self) -> f64 {
        (self.gap / 2.0).min(30.0)
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + 2.0 * self.edge() + self.lanes.saturating_sub(1) as f64 * self.gap
    }

    pub(crate) fn right(&self) -> f64 {
        self.left + self.span
    }

    pub(crate) fn width(&self) -> f64 {
        self.right() + RIGHT
    }
}
