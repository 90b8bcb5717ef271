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
    /// How wide it would have to be to be read.
    pub(crate) natural: f64,
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
    /// Whether the run ends in this row.
    pub(crate) is_last: bool,
}

/// A message that is to be read wants to be this wide on its way.
const WAY: f64 = 78.0;
/// A step of a counterexample.
const STEP: f64 = 46.0;
pub(crate) const NARROWEST: f64 = 640.0;
/// What is wider is continued below.
const WIDEST: f64 = 1600.0;
/// What is above a row and below it.
const AROUND: f64 = 50.0;
/// Rows that are higher than this, all together, are no longer looked at; a few there are always.
const HIGHEST: f64 = 6000.0;
const FEWEST: f64 = 3.0;
const MOST_ROWS: f64 = 12.0;
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

/// Where an arrow begins and ends.
pub(crate) type Ends = ((f64, f64), (f64, f64));

/// The place after a share of a way.
pub(crate) fn between(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

/// The rows of a picture, and what of the run they leave out.
pub(crate) struct Rows {
    pub(crate) rows: Vec<Layout>,
    /// Where the picture ends, if the run goes on.
    pub(crate) cut: Option<u64>,
}

impl Layout {
    /// A picture of so many pixels in one row; else rows that can be read, as many as fit a page
    /// that can be scrolled through.
    pub(crate) fn rows(
        story: &Story,
        chart: &Chart,
        wanted: Option<f64>,
        (from, to): (Option<u64>, Option<u64>),
    ) -> Rows {
        let (first, last) = extent(story);
        let begin = from.unwrap_or(first).min(last - 1);
        let end = to.unwrap_or(last).clamp(begin + 1, last);
        let whole = Self::of(story, chart, (begin, end), wanted);
        if wanted.is_some() {
            return Rows { rows: vec![Self { is_last: end == last, ..whole }], cut: None };
        }
        // What is only a little wider is no easier to read in two halves.
        let is_wide = whole.natural > WIDEST * 1.3;
        let needed = if is_wide { (whole.natural / WIDEST).ceil() } else { 1.0 };
        let high = whole.bottom() + AROUND;
        let most = (HIGHEST / high).floor().clamp(FEWEST, MOST_ROWS);
        let count = needed.min(most) as u64;
        let share = |row: u64| {
            let all = (end - begin) as f64;
            begin + (all * row as f64 / needed).round() as u64
        };
        let is_cut = (count as f64) < needed;
        let rows = (0..count).map(|row| {
            let until = if row + 1 == count && !is_cut { end } else { share(row + 1) };
            let window = (share(row), until.max(share(row) + 1));
            let mut layout = Self { begin: window.0, end: window.1, ..whole.clone() };
            // Rows are as wide as each other.
            layout.span = (whole.natural / needed).max(NARROWEST);
            layout.is_last = row + 1 == count && end == last && !is_cut;
            layout
        });
        let rows: Vec<Self> = rows.collect();
        let cut = rows.last().map(|it| it.end).filter(|_| is_cut);
        Rows { rows, cut }
    }

    /// A picture of so many pixels, or as many as it takes to read it.
    fn of(story: &Story, chart: &Chart, (begin, end): (u64, u64), wanted: Option<f64>) -> Self {
        let lanes = story.lanes.len();
        let names = story.lanes.iter().map(|name| width(name, 13.0)).fold(30.0, f64::max);
        let left = names + 28.0;
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
            None => natural.max(NARROWEST),
        };
        let gap = match lanes {
            0..=3 => 100.0,
            4..=6 => 84.0,
            7..=10 => 64.0,
            11..=16 => 48.0,
            17..=40 => 32.0,
            _ => 20.0,
        };
        let share = if wanted.is_some() { span / natural.max(1.0) } else { 1.0 };
        let way = (WAY * share).clamp(6.0, 60.0);
        let is_crowded = share < 0.34;
        let (top, clock, is_last) = (0.0, story.clock, true);
        Self { left, top, span, natural, gap, begin, end, lanes, clock, way, is_crowded, is_last }
    }

    /// Where a moment is that may lie before the row or after it.
    pub(crate) fn anywhere(&self, at: u64) -> f64 {
        let at = at as f64 - self.begin as f64;
        self.left + at / (self.end - self.begin) as f64 * self.span
    }

    /// Whether a moment is in this row; the end of one is the beginning of the next.
    pub(crate) fn has(&self, at: u64) -> bool {
        at >= self.begin && (at < self.end || self.is_last && at == self.end)
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
