//! Where things are in a space-time diagram.

use crate::chart::Chart;
use crate::story::{Clock, Story, What};
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
    pub(crate) layouts: Vec<Layout>,
    /// Where the picture ends, if the run goes on.
    pub(crate) cut: Option<u64>,
    /// What is not drawn because there is nothing to see.
    pub(crate) left_out: Vec<Quiet>,
}

/// A time in which nothing happens that a picture is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quiet {
    from: u64,
    until: u64,
    /// Whether there are faults all the same.
    has_faults: bool,
}

impl Quiet {
    /// In a sentence for each reason.
    pub(crate) fn in_words(all: &[Self], story: &Story) -> Vec<String> {
        let times = |has_faults: bool| {
            let some = all.iter().filter(|it| it.has_faults == has_faults);
            let time =
                |it: &Self| format!("from {} to {}", story.when(it.from), story.when(it.until));
            let times: Vec<String> = some.map(time).collect();
            (!times.is_empty()).then(|| times.join(", "))
        };
        let nothing = times(false).map(|it| format!("Not drawn: nothing happens {it}."));
        let faults = times(true)
            .map(|it| format!("Not drawn: what goes wrong {it}, when nothing else happens."));
        nothing.into_iter().chain(faults).collect()
    }
}

/// When something happens, in order.
struct Busy {
    /// Anything.
    all: Vec<u64>,
    /// What nodes do, and that they crash and come back.
    seen: Vec<u64>,
    /// When the last thing happens that is no fault.
    last: u64,
}

impl Busy {
    fn of(story: &Story) -> Self {
        let is_outage = |what: &What| matches!(what, What::Crash | What::Restart);
        let lasts = |what: &What| matches!(what, What::Pause | What::Resume | What::Network { .. });
        let wrong = story.wrong.as_ref().and_then(|it| it.at);
        let when = |is_it: &dyn Fn(&What) -> bool| {
            let events = story.events.iter().filter(|it| is_it(&it.what)).map(|it| it.at);
            let mut all: Vec<u64> = events.chain(wrong).collect();
            all.sort_unstable();
            all
        };
        // A picture of faults alone shows them.
        let others = when(&|what| !is_outage(what) && !lasts(what));
        let last = others.last().copied().unwrap_or(u64::MAX);
        Self { all: when(&|_| true), seen: when(&|what| !lasts(what)), last }
    }

    /// What can be left out of a row; its end belongs to the next, unless there is none.
    fn quiet(&self, from: u64, until: u64, is_last: bool) -> Option<Quiet> {
        let is_in = |all: &[u64]| {
            let first = all.get(all.partition_point(|&it| it < from));
            first.is_some_and(|&it| it < until || is_last && it == until)
        };
        let is_seen = is_in(&self.seen) && self.last >= from;
        (!is_seen).then(|| Quiet { from, until, has_faults: is_in(&self.all) })
    }
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
            let rows = vec![Self { is_last: end == last, ..whole }];
            return Rows { layouts: rows, cut: None, left_out: Vec::new() };
        }
        // What is only a little wider is no easier to read in two halves.
        let is_wide = whole.natural > WIDEST * 1.3;
        let needed = if is_wide { (whole.natural / WIDEST).ceil() } else { 1.0 };
        let high = whole.bottom() + AROUND;
        let most = (HIGHEST / high).floor().clamp(FEWEST, MOST_ROWS);
        let share = |row: u64| {
            let all = (end - begin) as f64;
            begin + (all * row as f64 / needed).round() as u64
        };
        let busy = Busy::of(story);
        let (mut rows, mut left_out) = (Vec::new(), Vec::<Quiet>::new());
        for row in 0..needed as u64 {
            let is_end = row + 1 == needed as u64;
            let until = if is_end { end } else { share(row + 1) };
            let (begin, end) = (share(row), until.max(share(row) + 1));
            let is_last = is_end && end == last;
            if let Some(quiet) = busy.quiet(begin, end, is_end).filter(|_| !rows.is_empty()) {
                match left_out.last_mut() {
                    Some(before)
                        if before.until == begin && before.has_faults == quiet.has_faults =>
                    {
                        before.until = end;
                    }
                    _ => left_out.push(quiet),
                }
                continue;
            }
            if rows.len() as f64 >= most {
                let cut = rows.last().map(|it: &Self| it.end);
                left_out.retain(|it| Some(it.until) <= cut);
                return Rows { layouts: rows, cut, left_out };
            }
            // Rows are as wide as each other.
            let span = (whole.natural / needed).max(NARROWEST);
            rows.push(Self { span, begin, end, is_last, ..whole.clone() });
        }
        if let Some(row) = rows.last_mut() {
            // What comes after it is not drawn.
            row.is_last |= end == last;
        }
        Rows { layouts: rows, cut: None, left_out }
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
