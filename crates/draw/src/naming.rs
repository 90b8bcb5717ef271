//! Labels of a space-time diagram: what cannot be written without writing over something else is
//! not written.

use std::collections::BTreeMap;

use crate::chart::{Arrow, Chart, Fate, Moment};
use crate::colours::KINDS;
use crate::labels::{Area, Taken};
use crate::layout::{Layout, between};
use crate::margins::listed;
use crate::spacetime::{HALF, MOST_NAMED, Picture, stands_out};
use crate::story::{Story, What};
use crate::svg::{Num, width};

impl<'a> Picture<'a> {
    /// Labels: of marks first, then of tokens, then of other messages as far as there is room.
    pub(crate) fn words(&mut self, has_states: bool, has_stamps: bool) {
        for node in 0..self.layout.lanes {
            let (y, half) = (self.layout.y(node), HALF.min(self.layout.gap / 5.0) + 1.0);
            let (left, right) = (self.layout.left - 6.0, self.layout.width());
            // In pieces, so that the search for neighbours stays fast.
            self.taken.take(Area(left, y - half, right, y + half));
        }
        // Labels give way to the crosses of lost messages.
        for at in (0..self.chart.arrows.len()).filter_map(|it| self.crossed(it)).collect::<Vec<_>>()
        {
            self.taken.take(Area::around(at, 11.0, 11.0));
        }
        if has_states {
            self.numbers();
        }
        self.era_labels();
        if self.layout.lanes <= MOST_NAMED {
            for ((node, at), texts) in self.marked() {
                self.mark_label((self.layout.x(at), self.layout.y(node)), &joined(&texts));
            }
        }
        if has_stamps {
            self.clock_labels();
        }
        if self.layout.lanes <= MOST_NAMED {
            self.names_of_messages();
        }
    }

    /// What nodes are in, where they come into it: unless a mark says it.
    fn era_labels(&mut self) {
        let chart = self.chart;
        for era in chart.eras.iter().filter(|it| !it.is_marked) {
            let (x, y) = (self.layout.x(era.from), self.layout.y(era.node));
            let wide = width(&era.text, 10.5);
            let places =
                [-17.0, 17.0].map(|by| Area::around((x + wide / 2.0 + 5.0, y + by), wide, 12.0));
            let fits = places[0].2 < self.layout.width();
            if let Some(area) = self.taken.first(places).filter(|_| fits) {
                self.svg.text((area.0, area.3 - 2.5), "l b", &era.text);
            }
        }
    }

    /// The names of messages: of a kind either all with what they carry, or none.
    fn names_of_messages(&mut self) {
        let arrows = &self.chart.arrows;
        let (first, then): (Vec<usize>, Vec<usize>) =
            (0..arrows.len()).partition(|&it| stands_out(&arrows[it]));
        let order: Vec<usize> = first.into_iter().chain(then).collect();
        self.decide_names(&order);
        // Where there are many, a few are named, far from each other.
        let (aside, above) =
            if self.layout.is_crowded { (90.0, self.layout.gap * 1.6) } else { (0.0, 0.0) };
        for place in order {
            let arrow = &self.chart.arrows[place];
            let is_short = self.is_short[arrow.kind].unwrap_or(true);
            let found = self.place(place, is_short, &self.taken);
            let Some((area, text)) = found else { continue };
            let Area(left, top, right, bottom) = area;
            self.taken.take(Area(left - aside, top - above, right + aside, bottom + above));
            let class = if arrow.is_token {
                "l c b tt".to_owned()
            } else {
                format!("l c kt{}", arrow.kind.min(KINDS))
            };
            self.backdrop(&area);
            self.svg.text((f64::midpoint(left, right), bottom - 2.5), &class, text);
        }
    }

    /// The labels of marks, by node and moment: several may be at one place.
    fn marked(&self) -> BTreeMap<(usize, u64), Vec<&'a str>> {
        let mut all: BTreeMap<_, Vec<&'a str>> = BTreeMap::new();
        for point in &self.chart.points {
            let Moment::Marked(mark) = point.what else { continue };
            let text = match &self.story.events[point.event].what {
                What::Said { text, .. } if self.layout.lanes <= 12 => text,
                _ => mark.name(),
            };
            all.entry((point.node, point.at)).or_default().push(text);
        }
        all
    }

    fn mark_label(&mut self, (x, y): (f64, f64), text: &str) {
        let wide = width(text, 10.5);
        let places = [
            (x + wide / 2.0 + 6.0, y - 14.0),
            (x - wide / 2.0 - 6.0, y - 14.0),
            (x + wide / 2.0 + 6.0, y + 14.0),
        ];
        let fits = |it: &(f64, f64)| it.0 + wide / 2.0 < self.layout.width() - 2.0;
        let places: Vec<Area> =
            places.iter().filter(|it| fits(it)).map(|&at| Area::around(at, wide, 12.0)).collect();
        if let Some(area) = self.taken.first(places) {
            self.svg.text((f64::midpoint(area.0, area.2), area.3 - 2.5), "l c b", text);
        }
    }

    /// The events that have a line in the list below.
    fn numbers(&mut self) {
        for (number, event) in listed(self.story).filter(|it| self.layout.has(it.1.at)) {
            let (x, y) = (self.layout.x(event.at), self.layout.y(event.node));
            let text = number.to_string();
            let wide = width(&text, 10.5);
            let places = [-13.0, 13.0].map(|by| Area::around((x, y + by), wide, 11.0));
            if let Some(area) = self.taken.first(places) {
                self.svg.text((x, area.3 - 2.0), "l c m", &text);
            }
        }
    }

    /// Decides it of the kinds that have not come before: names do not change from row to row.
    fn decide_names(&mut self, order: &[usize]) {
        let kinds = self.is_short.len();
        let named = |all_short: bool| {
            let mut taken = self.taken.clone();
            let mut named = vec![0_usize; kinds];
            for &place in order {
                let kind = self.chart.arrows[place].kind;
                let is_short = self.is_short[kind].unwrap_or(all_short);
                if let Some((area, _)) = self.place(place, is_short, &taken) {
                    taken.take(area);
                    named[kind] += 1;
                }
            }
            named
        };
        let is_new = |it: &Arrow| self.is_short[it.kind].is_none();
        if !self.chart.arrows.iter().any(is_new) {
            return;
        }
        let (long, short) = if self.layout.is_crowded {
            (vec![0; kinds], vec![1; kinds])
        } else {
            (named(false), named(true))
        };
        let mut is_long = vec![false; kinds];
        for arrow in &self.chart.arrows {
            is_long[arrow.kind] |= self.carried(arrow).is_some_and(|it| width(it, 10.5) > LONGEST);
        }
        for kind in 0..kinds {
            if self.is_short[kind].is_none() && short[kind] > 0 {
                let is_crowded = long[kind] * 10 < short[kind] * MOST_UNNAMED;
                self.is_short[kind] = Some(is_crowded || is_long[kind]);
            }
        }
    }

    fn clock_labels(&mut self) {
        let (story, chart) = (self.story, self.chart);
        for point in &chart.points {
            let text = &story.stamps[point.event];
            let (x, y) = (self.layout.x(point.at), self.layout.y(point.node));
            let wide = width(text, 10.5);
            let places = [-12.5, 13.5].map(|by| Area::around((x, y + by), wide + 2.0, 11.0));
            if let Some(area) = self.taken.first(places) {
                self.svg.text((x, area.3 - 2.0), "l c m", text);
            }
        }
    }

    /// The background of a label, so that no arrow crosses its text.
    fn backdrop(&mut self, area: &Area) {
        let (x, y) = (Num(area.0), Num(area.1));
        let (w, h) = (Num(area.2 - area.0), Num(area.3 - area.1));
        self.svg.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"3\" class=\"back\"/>"
        ));
    }

    /// A message with what it carries.
    fn carried(&self, arrow: &Arrow) -> Option<&'a str> {
        let story: &'a Story = self.story;
        match &story.events[arrow.event].what {
            What::Sent { letter, .. } | What::Got { letter, .. } => Some(&*letter.text),
            _ => None,
        }
    }

    /// A free place for the name of a message, and the name: its kind, if that is to do.
    fn place(&self, place: usize, is_short: bool, taken: &Taken) -> Option<(Area, &'a str)> {
        let arrow = &self.chart.arrows[place];
        let chart: &'a Chart = self.chart;
        let text = if is_short { &**chart.kinds.get(arrow.kind)? } else { self.carried(arrow)? };
        // One that goes on in another row is named where more of it is.
        let whole = self.ways[place];
        let middle = between(whole.0, whole.1, 0.5).0;
        let ((from, to), _) = self.in_row(whole)?;
        let Layout { left, is_last, .. } = *self.layout;
        let is_here = middle >= left && (middle < self.layout.right() || is_last);
        if !is_here && arrow.fate == Fate::Arrived {
            return None;
        }
        let reach = match arrow.fate {
            Fate::Arrived | Fate::TooLate(_) => 1.0,
            Fate::Lost(_) | Fate::UnderWay => 0.45,
        };
        let lanes = (arrow.from.abs_diff(arrow.to)).max(1) as f64;
        let wide = width(text, 10.5);
        // In the middle of each space between two lines, from the middle of the way outwards.
        let mut shares: Vec<f64> = (0..arrow.from.abs_diff(arrow.to).max(1))
            .flat_map(|space| [0.5, 0.36, 0.64].map(|at| (space as f64 + at) / lanes))
            .filter(|&share| share <= reach)
            .collect();
        shares.sort_by(|a, b| (a - 0.5).abs().total_cmp(&(b - 0.5).abs()));
        shares.truncate(12);
        let right = self.layout.width();
        let places = shares.into_iter().map(|share| between(from, to, share));
        let found = places
            .map(|at| Area::around(at, wide + 4.0, 12.0))
            .filter(|area| area.2 < right && area.0 > self.layout.left - 6.0)
            .find(|area| taken.is_free(area))?;
        Some((found, text))
    }
}

/// A name that is wider than this, in pixels, is longer than anybody reads along an arrow: messages
/// of its kind are named by their kind, and what they carry is in their titles.
const LONGEST: f64 = 240.0;

/// Of ten messages that could be named by their kinds so many must have room for what they carry.
const MOST_UNNAMED: usize = 7;

/// The events of one moment, as one text: `delivers 1/0, 0/0`. What is said several times is said
/// once, and a word with which the one before begins as well is left out.
fn joined(all: &[&str]) -> String {
    const MOST: usize = 3;
    let mut texts: Vec<&str> = Vec::new();
    for text in all {
        if !texts.contains(text) {
            texts.push(text);
        }
    }
    let [first, ..] = texts[..] else { return String::new() };
    let mut text = first.to_owned();
    for pair in texts.windows(2).take(MOST - 1) {
        let verb = pair[0].split_inclusive(' ').next().unwrap_or_default();
        text += ", ";
        text += pair[1].strip_prefix(verb).unwrap_or(pair[1]);
    }
    if texts.len() > MOST {
        text += &format!(" and {} more", texts.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_at_once_is_said_at_once() {
        assert_eq!(joined(&["leads"]), "leads");
        assert_eq!(joined(&["delivers 1/0", "delivers 0/0"]), "delivers 1/0, 0/0");
        assert_eq!(joined(&["asks", "delivers 0/0"]), "asks, delivers 0/0");
        let many = ["delivers 1", "delivers 2", "delivers 3", "delivers 4"];
        assert_eq!(joined(&many), "delivers 1, 2, 3 and 1 more");
    }

    #[test]
    fn what_happens_several_times_at_once_is_said_once() {
        assert_eq!(joined(&["leads", "leads"]), "leads");
        let elected = ["node 11 leads", "node 11 leads", "node 11 leads", "node 11 leads"];
        assert_eq!(joined(&elected), "node 11 leads");
        assert_eq!(joined(&["follows", "begins", "follows"]), "follows, begins");
        let between = ["node 3 leads", "elect", "node 4 leads"];
        assert_eq!(joined(&between), "node 3 leads, elect, node 4 leads");
        assert_eq!(joined(&["delivers 1", "delivers 1", "delivers 2"]), "delivers 1, 2");
    }
}
