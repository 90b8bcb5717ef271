//! Labels of a space-time diagram: what cannot be written without writing over something else is
//! not written.

use std::collections::BTreeMap;

use crate::chart::{Fate, Moment};
use crate::clocks::Clocks;
use crate::labels::Area;
use crate::margins::listed;
use crate::spacetime::{HALF, Options, Picture, between, stands_out};
use crate::story::What;
use crate::style::KINDS;
use crate::svg::{Num, width};

impl<'a> Picture<'a> {
    /// Labels: of marks first, then of tokens, then of other messages as far as there is room.
    pub(crate) fn words(&mut self, options: &Options) {
        for node in 0..self.layout.lanes {
            let (y, half) = (self.layout.y(node), HALF.min(self.layout.gap / 5.0) + 1.0);
            let (left, right) = (self.layout.left - 6.0, self.layout.width());
            // In pieces, so that the search for neighbours stays fast.
            self.taken.take(Area(left, y - half, right, y + half));
        }
        if options.states {
            self.numbers();
        }
        for ((node, at), texts) in self.marked() {
            self.mark_label((self.layout.x(at), self.layout.y(node)), &joined(&texts));
        }
        if let Some(clocks) = options.clocks {
            self.clock_labels(clocks);
        }
        if self.layout.gap < 24.0 {
            return;
        }
        let (first, then): (Vec<usize>, Vec<usize>) =
            (0..self.chart.arrows.len()).partition(|&it| stands_out(&self.chart.arrows[it]));
        for place in first.into_iter().chain(then) {
            self.label(place);
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
        for (number, event) in listed(self.story) {
            let (x, y) = (self.layout.x(event.at), self.layout.y(event.node));
            let text = number.to_string();
            let wide = width(&text, 10.5);
            let places = [-13.0, 13.0].map(|by| Area::around((x, y + by), wide, 11.0));
            if let Some(area) = self.taken.first(places) {
                self.svg.text((x, area.3 - 2.0), "l c m", &text);
            }
        }
    }

    fn clock_labels(&mut self, clocks: Clocks) {
        let stamps = clocks.of(self.story);
        for point in &self.chart.points {
            let text = &stamps[point.event];
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

    fn label(&mut self, place: usize) {
        let arrow = &self.chart.arrows[place];
        let (text, kind) = match &self.story.events[arrow.event].what {
            What::Sent { letter, .. } | What::Got { letter, .. } => (&letter.text, &letter.kind),
            _ => return,
        };
        let (from, to) = self.ways[place];
        let reach = match arrow.fate {
            Fate::Arrived | Fate::TooLate(_) => 1.0,
            Fate::Lost(_) | Fate::UnderWay => 0.45,
        };
        let lanes = (arrow.from.abs_diff(arrow.to)).max(1) as f64;
        // Where there are many, a few are named, far from each other.
        let (aside, above) =
            if self.layout.is_crowded { (90.0, self.layout.gap * 1.6) } else { (0.0, 0.0) };
        for text in [text, kind] {
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
            let places: Vec<Area> = places
                .map(|at| Area::around(at, wide + 4.0, 12.0))
                .filter(|area| area.2 < right && area.0 > self.layout.left - 6.0)
                .collect();
            let found = places.into_iter().find(|area| self.taken.is_free(area));
            if let Some(area) = found {
                self.taken.take(Area(
                    area.0 - aside,
                    area.1 - above,
                    area.2 + aside,
                    area.3 + above,
                ));
                let class = if arrow.is_token {
                    "l c b tt".to_owned()
                } else {
                    format!("l c kt{}", arrow.kind.min(KINDS))
                };
                self.backdrop(&area);
                self.svg.text((f64::midpoint(area.0, area.2), area.3 - 2.5), &class, text);
                return;
            }
        }
    }
}

/// The events of one moment, as one text: `delivers 1/0, 0/0`.
fn joined(texts: &[&str]) -> String {
    const MOST: usize = 3;
    let [first, rest @ ..] = texts else { return String::new() };
    let verb = first.split_inclusive(' ').next().unwrap_or_default();
    let mut text = (*first).to_owned();
    for more in rest.iter().take(MOST - 1) {
        text += ", ";
        text += more.strip_prefix(verb).unwrap_or(more);
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
}
