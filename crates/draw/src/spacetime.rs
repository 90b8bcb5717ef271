//! The space-time diagram: a line a node, time to the right, messages as slanted arrows.
//!
//! A label that would cover another is left out: kinds of messages replace texts, and arrows fade
//! where there are many. Tooltips have the full text.

use crate::captions;
use crate::chart::{Arrow, Chart, Fate, Moment, Outage, Point, Span};
use crate::colours::{KINDS, Theme};
use crate::labels::{Area, Taken};
use crate::layout::{Ends, Layout, Quiet, Rows, between};
use crate::legend;
use crate::margins::{axis, caption, heading, states};
use crate::story::{Bar, Gloss, Mark, Story, What};
use crate::svg::{Num, Svg, escaped, plain, pointed, width};

/// How it is drawn.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Options {
    /// For which background.
    pub theme: Theme,
    /// How many pixels wide, if that is not up to the run.
    pub width: Option<f64>,
    /// Whether what every event changed is listed below.
    pub states: bool,
    /// From when on, if not from the beginning.
    pub from: Option<u64>,
    /// Until when, if not to the end.
    pub to: Option<u64>,
}

/// Beyond so many events nothing has a title of its own: no browser would bear it.
const MOST_TITLES: usize = 20_000;

/// Beyond so many events the points of messages are not drawn.
const MOST_POINTS: usize = 4_000;

/// Half the height of a bar.
pub(crate) const HALF: f64 = 6.0;

/// With more nodes than this, messages lie over each other until no name tells whose it is.
pub(crate) const MOST_NAMED: usize = 20;

/// Beyond so many arrows in so many pixels none can be followed.
const MOST_ARROWS_A_PIXEL: f64 = 2.0;

/// Draws a run as SVG.
pub fn svg(story: &Story, options: &Options) -> String {
    let chart = Chart::of(story);
    let Rows { layouts: rows, cut, left_out } = rows(story, &chart, options);
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return String::new() };
    let shown = chart.within(first.begin, last.end, last.is_last);
    let mut svg = Svg::default();
    let mut bottom = heading(&mut svg, story, first);
    let stamped = has_stamps(story, &shown);
    let mut is_short = vec![None; chart.kinds.len()];
    let last_row = rows.len() - 1;
    for (number, row) in rows.iter().enumerate() {
        let mut layout = Layout { top: bottom, ..row.clone() };
        layout.top += if number > 0 { ROWS_APART } else { 0.0 };
        let part = chart.within(layout.begin, layout.end, layout.is_last);
        let mut picture = Picture {
            story,
            chart: &part,
            layout: &layout,
            has_titles: shown.points.len() <= MOST_TITLES,
            has_points: shown.points.len() <= MOST_POINTS,
            bars: bars(&part, layout.lanes),
            ways: Vec::new(),
            taken: Taken::default(),
            is_short: std::mem::take(&mut is_short),
            svg: std::mem::take(&mut svg),
        };
        picture.draw(options.states, stamped);
        (svg, is_short) = (picture.svg, picture.is_short);
        bottom = axis(&mut svg, &layout, number == last_row);
    }
    let last = Layout { top: bottom, ..rows[last_row].clone() };
    // What is written, in the picture and in the list below.
    let is_seen =
        |sign: &Gloss| svg.any_text(|it| sign.is_in(it)) || options.states && story.has(sign);
    let explained = story.explained(is_seen);
    bottom = legend::draw(&mut svg, &shown, shown.points.len() <= MOST_POINTS, &last, bottom);
    let mut notes = captions::of(story, &chart);
    notes.extend(explained.into_iter().map(|it| (it.to_owned(), false)));
    notes.extend(Quiet::in_words(&left_out, story).into_iter().map(|it| (it, false)));
    notes.extend(limits(story, &shown, cut, last.lanes).map(|it| (it, false)));
    bottom = caption(&mut svg, &notes, &last, bottom);
    if options.states {
        bottom = states(&mut svg, story, &last, bottom);
    }
    let title = format!("{}: {}", story.title, story.command);
    svg.finish((last.width(), bottom + 14.0), options.theme, &title)
}

/// What cannot be read, or is not there because it could not be.
pub fn remark(story: &Story, options: &Options) -> Option<String> {
    let chart = Chart::of(story);
    let Rows { layouts: rows, cut, .. } = rows(story, &chart, options);
    let (first, last) = (rows.first()?, rows.last()?);
    let shown = chart.within(first.begin, last.end, last.is_last);
    let wide: f64 = rows.iter().map(|it| it.span).sum();
    if shown.arrows.len() as f64 > wide * MOST_ARROWS_A_PIXEL {
        return Some(format!(
            "{} messages in one picture are more than can be read: --from and --to show a part of \
             the run, --only and --hide some kinds of messages, --nodes-shown some nodes",
            shown.arrows.len()
        ));
    }
    let limits = limits(story, &shown, cut, 0)?;
    Some(limits.trim_end_matches('.').to_owned())
}

fn rows(story: &Story, chart: &Chart, options: &Options) -> Rows {
    Layout::rows(story, chart, options.width, (options.from, options.to))
}

/// Whether logical clocks are written at events.
fn has_stamps(story: &Story, shown: &Chart) -> bool {
    !story.stamps.is_empty() && shown.points.len() <= MOST_POINTS
}

/// What a picture leaves out, in sentences.
fn limits(story: &Story, shown: &Chart, cut: Option<u64>, lanes: usize) -> Option<String> {
    let cut = cut.map(|at| {
        format!(
            "The picture ends at {}, the run at {}: --from and --to show another part.",
            story.when(at),
            story.when(story.end())
        )
    });
    let unnamed = (lanes > MOST_NAMED && !shown.arrows.is_empty()).then(|| {
        format!(
            "With more than {MOST_NAMED} nodes messages and marks have no names beside them; \
             --nodes-shown picks some nodes."
        )
    });
    let all: Vec<String> = cut.into_iter().chain(unnamed).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Rows are so far from each other.
const ROWS_APART: f64 = 10.0;

pub(crate) struct Picture<'a> {
    pub(crate) story: &'a Story,
    /// What is in this row.
    pub(crate) chart: &'a Chart,
    pub(crate) layout: &'a Layout,
    has_titles: bool,
    has_points: bool,
    /// The states of each node and their times, in order.
    pub(crate) bars: Vec<Vec<(u64, u64)>>,
    /// Where every arrow lies, though it may begin or end in another row.
    pub(crate) ways: Vec<Ends>,
    pub(crate) taken: Taken,
    /// Which kinds of messages are named by their kinds, as far as that has been decided.
    pub(crate) is_short: Vec<Option<bool>>,
    pub(crate) svg: Svg,
}

impl Picture<'_> {
    fn draw(&mut self, has_states: bool, has_stamps: bool) {
        self.ways = self.ways();
        self.eras();
        self.ground();
        self.arrows();
        self.nodes();
        self.losses();
        self.points();
        self.wrong();
        self.words(has_states, has_stamps);
    }

    /// The background: faults of the network, and the lines of the nodes.
    fn ground(&mut self) {
        let (top, bottom) = (self.layout.top, self.layout.bottom());
        for band in &self.chart.bands {
            let (from, until) = (self.layout.x(band.from), self.until(band.until));
            let (x, y, w, h) = (Num(from), Num(top), Num(until - from), Num(bottom - top));
            self.svg.put(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" class=\"band\"><title>{}\
                 </title></rect>",
                escaped(&band.text)
            ));
            let label = (from + 4.0, top + 11.0);
            let wide = width(&band.text, 10.5);
            let area = Area(label.0, label.1 - 9.0, label.0 + wide, label.1 + 3.0);
            if label.0 + wide < self.layout.width() && self.taken.first([area]).is_some() {
                self.svg.text(label, "s bt b", &band.text);
            }
        }
        for node in 0..self.layout.lanes {
            let y = self.layout.y(node);
            self.svg.text((self.layout.left - 14.0, y + 4.5), "n e", &self.story.lanes[node]);
            let mut from = self.layout.left - 6.0;
            let down = self.chart.outages.iter().filter(|it| it.node == node && it.is_down);
            for outage in down {
                let (crashed, up) = (self.layout.x(outage.from), self.until(outage.until));
                self.svg.line((from, y), (crashed, y), "lane");
                self.svg.line((crashed, y), (up, y), "down");
                from = up;
            }
            if from < self.layout.right() {
                self.svg.line((from, y), (self.layout.right() + 10.0, y), "lane");
            }
        }
    }

    /// What nodes are in: a band behind the line of each, as dark as that of all who are in the
    /// same.
    fn eras(&mut self) {
        let half = (self.layout.gap * 0.36).min(26.0);
        let chart = self.chart;
        for era in &chart.eras {
            let (from, until) = (self.layout.x(era.from), self.until(era.until));
            let shade = era.number % 2;
            let y = self.layout.y(era.node);
            let (x, top, w, h) = (Num(from), Num(y - half), Num(until - from), Num(2.0 * half));
            self.svg.put(format_args!(
                "<rect x=\"{x}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" rx=\"3\" \
                 class=\"era{shade}\"><title>{}</title></rect>",
                escaped(&format!("{}: {}", self.story.lanes[era.node], era.text))
            ));
        }
    }

    fn until(&self, until: Option<u64>) -> f64 {
        until.map_or(self.layout.right() + 10.0, |at| self.layout.x(at))
    }

    fn arrows(&mut self) {
        // Where many lie over each other, each is fainter.
        let crowd = self.chart.arrows.len() as f64 / (self.layout.span / 10.0);
        let faint = (2.2 / crowd).clamp(0.28, 1.0);
        let is_faded = faint < 0.95;
        let fade = if is_faded { format!(" opacity=\"{faint:.2}\"") } else { String::new() };
        self.svg.put(format_args!("<g{fade}>"));
        for place in (0..self.chart.arrows.len()).filter(|&it| !stands_out(&self.chart.arrows[it]))
        {
            self.arrow(place, if is_faded { "f" } else { "a" });
        }
        self.svg.put(format_args!("</g>"));
        for place in (0..self.chart.arrows.len()).filter(|&it| stands_out(&self.chart.arrows[it])) {
            self.arrow(place, "a");
        }
    }

    fn arrow(&mut self, place: usize, class: &str) {
        let (arrow, whole) = (&self.chart.arrows[place], self.ways[place]);
        let Some(((from, to), is_cut)) = self.in_row(whole) else { return };
        let kind = arrow.kind.min(KINDS);
        let colour = match (arrow.is_token, arrow.is_tree) {
            (true, _) if self.layout.is_crowded => "tok thin".to_owned(),
            (true, _) => "tok".to_owned(),
            (false, true) => format!("k{kind} way"),
            (false, false) => format!("{class} k{kind}"),
        };
        let path = match arrow.fate {
            Fate::Arrived if arrow.from == arrow.to => loop_at(from, to),
            Fate::Arrived if !is_cut => pointed(from, to),
            Fate::Arrived | Fate::TooLate(_) => plain(from, to),
            Fate::Lost(_) => match self.in_row((whole.0, between(whole.0, whole.1, 0.5))) {
                Some(((from, to), _)) => plain(from, to),
                None => return,
            },
            Fate::UnderWay => plain(from, between(from, to, 0.45)),
        };
        let dash = if arrow.fate == Fate::UnderWay { " dash" } else { "" };
        if self.has_titles {
            let title = self.title(arrow);
            self.svg.put(format_args!(
                "<path class=\"{colour}{dash}\" d=\"{path}\"><title>{title}</title></path>"
            ));
        } else {
            self.svg.put(format_args!("<path class=\"{colour}{dash}\" d=\"{path}\"/>"));
        }
    }

    /// Where messages are lost: over bars, which would hide it.
    fn losses(&mut self) {
        for place in 0..self.chart.arrows.len() {
            if let Some(at) = self.crossed(place) {
                self.cross(at);
            }
        }
    }

    fn title(&self, arrow: &Arrow) -> String {
        let (story, event) = (self.story, &self.story.events[arrow.event]);
        let text = match &event.what {
            What::Sent { letter, .. } | What::Got { letter, .. } => &*letter.text,
            _ => "",
        };
        let sent = story.when(arrow.sent);
        let then = match arrow.fate {
            Fate::Arrived => {
                format!("arrives at {}", story.when(arrow.got.unwrap_or(arrow.sent)))
            }
            Fate::Lost(_) => "is lost".to_owned(),
            Fate::TooLate(_) => "is lost: the receiver is down".to_owned(),
            Fate::UnderWay => "is still under way".to_owned(),
        };
        let lane = |node: usize| story.lanes.get(node).map_or("?", String::as_str);
        let (from, to) = (lane(arrow.from), lane(arrow.to));
        escaped(&format!("{from} → {to}  {text}\nsent at {sent}, {then}"))
    }

    fn cross(&mut self, (x, y): (f64, f64)) {
        let (left, right, top, low) = (Num(x - 4.0), Num(x + 4.0), Num(y - 4.0), Num(y + 4.0));
        let path = format!("M{left} {top}L{right} {low}M{left} {low}L{right} {top}");
        // On a dark bar it would not be seen without an outline.
        self.svg.put(format_args!("<path class=\"xo\" d=\"{path}\"/>"));
        self.svg.put(format_args!("<path class=\"x\" d=\"{path}\"/>"));
    }

    /// The states of nodes, and when they were down or paused.
    fn nodes(&mut self) {
        for span in &self.chart.spans {
            self.bar(span);
        }
        for outage in &self.chart.outages {
            self.outage(outage);
        }
    }

    fn bar(&mut self, span: &Span) {
        let (from, until) = (self.layout.x(span.from), self.until(span.until));
        let (class, name) = match span.bar {
            Bar::Filled(name) => ("in", name),
            Bar::Outlined(name) if self.layout.is_crowded => ("wait thin", name),
            Bar::Outlined(name) => ("wait", name),
            Bar::Ends => return,
        };
        // A bar of length 0 is visible as well.
        let wide = (until - from).max(if class == "in" { 2.0 } else { 0.8 });
        let half = HALF.min(self.layout.gap / 5.0);
        let y = self.layout.y(span.node);
        let (x, top, w, h) = (Num(from), Num(y - half), Num(wide), Num(2.0 * half));
        let until = match span.until {
            Some(until) => format!("until {}", self.story.when(until)),
            None => "to the end".to_owned(),
        };
        let title = format!(
            "{} {name} from {} {until}",
            self.story.lanes[span.node],
            self.story.when(span.from)
        );
        let title = if self.has_titles { escaped(&title) } else { String::new() };
        self.svg.put(format_args!(
            "<rect x=\"{x}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" rx=\"2\" class=\"{class}\">\
             <title>{title}</title></rect>"
        ));
    }

    fn outage(&mut self, outage: &Outage) {
        let y = self.layout.y(outage.node);
        let (from, until) = (self.layout.x(outage.from), self.until(outage.until));
        if outage.is_down {
            if self.layout.has(outage.from) {
                self.cross((from, y));
            }
            if outage.until.is_some_and(|at| self.layout.has(at)) {
                let (x, y) = (Num(until), Num(y));
                self.svg.put(format_args!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"4.2\" \
                     class=\"ring\"><title>restarts</title></circle>"
                ));
            }
        } else {
            let (x, w, y) = (Num(from), Num(until - from), Num(y - HALF - 2.0));
            self.svg.put(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{}\" \
                 class=\"still\"><title>paused</title></rect>",
                Num(2.0 * HALF + 4.0)
            ));
        }
    }

    fn points(&mut self) {
        let has_points = self.has_points;
        for point in &self.chart.points {
            match point.what {
                Moment::Marked(mark) => self.mark(point, mark),
                Moment::Timer if has_points => self.timer(point),
                Moment::Event if has_points => self.dot(point),
                // A local event of a script has a stamp and nothing else.
                Moment::Said if has_points && !self.story.stamps.is_empty() => self.dot(point),
                Moment::Said | Moment::Timer | Moment::Event => {}
            }
        }
    }

    fn dot(&mut self, point: &Point) {
        let (x, y) = (Num(self.layout.x(point.at)), Num(self.layout.y(point.node)));
        let title = self.event_title(point);
        self.svg.put(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"1.9\" class=\"pt\"><title>{title}</title></circle>"
        ));
    }

    fn event_title(&self, point: &Point) -> String {
        let event = &self.story.events[point.event];
        let mut title = format!("{}: {}", self.story.when(point.at), self.story.says(event));
        if let Some(state) = &event.state {
            title += &format!("\n{state}");
        }
        escaped(&title)
    }

    fn timer(&mut self, point: &Point) {
        let (x, y) = (self.layout.x(point.at), self.layout.y(point.node));
        let title = self.event_title(point);
        let (left, right, top, low) = (Num(x - 3.5), Num(x + 3.5), Num(y - 5.0), Num(y + 5.0));
        self.svg.put(format_args!(
            "<path class=\"pt\" d=\"M{left} {top}H{right}L{left} {low}H{right}Z\"><title>{title}\
             </title></path>"
        ));
    }

    fn mark(&mut self, point: &Point, mark: Mark) {
        let at = (self.layout.x(point.at), self.layout.y(point.node));
        let title = self.event_title(point);
        let shape = legend::shape(mark, at);
        self.svg.put(format_args!("<g>{shape}<title>{title}</title></g>"));
    }

    /// The moment at which something was wrong.
    fn wrong(&mut self) {
        let at = self.story.wrong.as_ref().and_then(|wrong| wrong.at);
        let Some(at) = at.filter(|&at| self.layout.has(at)) else { return };
        let x = self.layout.x(at);
        let (top, bottom) = (self.layout.top - 4.0, self.layout.bottom());
        self.svg.line((x, top), (x, bottom), "wl");
        let (x1, x2, y1, y2) = (Num(x - 5.0), Num(x + 5.0), Num(top - 8.0), Num(top));
        self.svg.put(format_args!("<path class=\"wx\" d=\"M{x1} {y1}H{x2}L{} {y2}Z\"/>", Num(x)));
        self.taken.take(Area(x - 3.0, top, x + 3.0, bottom));
    }
}

/// The states of each node and their times, in order.
fn bars(chart: &Chart, lanes: usize) -> Vec<Vec<(u64, u64)>> {
    let mut bars = vec![Vec::new(); lanes];
    for span in &chart.spans {
        bars[span.node].push((span.from, span.until.unwrap_or(u64::MAX)));
    }
    bars
}

/// Whether a message is drawn over all others.
pub(crate) fn stands_out(arrow: &Arrow) -> bool {
    arrow.is_token || arrow.is_tree || arrow.fate != Fate::Arrived
}

/// A message to oneself: above the line and back.
fn loop_at(from: (f64, f64), to: (f64, f64)) -> String {
    let middle = f64::midpoint(from.0, to.0);
    let top = (middle, from.1 - 20.0);
    format!("{}{}", plain(from, top), pointed(top, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::story::{Clock, Event, Look, MessageLabel, Wrong};

    /// So many nodes send each other so many messages, in a circle.
    fn story(lanes: usize, messages: u64) -> Story {
        let mut events = Vec::new();
        for number in 0..messages {
            let node = number as usize % lanes;
            let to = (node + 1 + number as usize / lanes % (lanes - 1)) % lanes;
            let letter = MessageLabel {
                number,
                kind: "REQUEST".to_owned(),
                text: format!("REQUEST({number})"),
                is_token: number % 7 == 0,
            };
            let at = number * 400_000;
            let sent = What::Sent { to, letter: letter.clone() };
            events.push(Event { at, node, what: sent, state: None });
            let what = What::Got { from: node, letter };
            events.push(Event { at: at + 1_000_000, node: to, what, state: None });
        }
        events.sort_by_key(|event| event.at);
        let lanes = (0..lanes).map(|it| format!("node {it}")).collect();
        Story { title: "a <toy>".to_owned(), lanes, events, ..Story::default() }
    }

    /// The same with so many times as many messages at once.
    fn dense(lanes: usize, messages: u64, times: u64) -> Story {
        let mut story = story(lanes, messages);
        for event in &mut story.events {
            let late = if matches!(event.what, What::Got { .. }) { 1_000_000 } else { 0 };
            event.at = (event.at - late) / times + late;
        }
        story.events.sort_by_key(|event| event.at);
        story
    }

    /// Every number in an attribute of that name.
    fn labels(svg: &str) -> Vec<Area> {
        let number = |text: &str, name: &str| -> f64 {
            let start = text.find(&format!("{name}=\"")).expect("it has one") + name.len() + 2;
            let end = text[start..].find('"').expect("an end") + start;
            text[start..end].parse().expect("a number")
        };
        let is_label = |line: &&str| line.contains("class=\"back\"");
        let area = |line: &str| {
            let (x, y) = (number(line, "x"), number(line, "y"));
            Area(x, y, x + number(line, "width") - 0.2, y + number(line, "height") - 0.2)
        };
        svg.lines().filter(is_label).map(area).collect()
    }

    #[test]
    fn no_label_is_written_over_another() {
        for (lanes, messages) in [(2, 12), (5, 100), (16, 2_000)] {
            let drawn = svg(&story(lanes, messages), &Options::default());
            let all = labels(&drawn);
            assert!(!all.is_empty(), "{lanes} × {messages}: nothing is named");
            let mut taken = Taken::default();
            for area in all {
                assert!(taken.is_free(&area), "{lanes} × {messages}: {area:?}");
                taken.take(area);
            }
        }
    }

    #[test]
    fn few_messages_are_all_named_and_many_are_not() {
        let named = |lanes, messages| {
            labels(&svg(&story(lanes, messages), &Options::default())).len() as u64
        };
        assert_eq!(named(3, 10), 10);
        assert!(named(16, 2_000) < 500);
    }

    #[test]
    fn messages_of_many_nodes_have_colours_and_no_names_and_that_is_said() {
        for (lanes, is_named) in [(20, true), (25, false)] {
            let drawn = svg(&story(lanes, 30), &Options::default());
            assert_eq!(!labels(&drawn).is_empty(), is_named, "{lanes}");
            assert_eq!(drawn.contains("have no names beside them"), !is_named, "{lanes}");
        }
    }

    #[test]
    fn messages_of_a_kind_are_all_named_with_what_they_carry_or_none_is() {
        for (times, is_long) in [(1, true), (20, false)] {
            let drawn = svg(&dense(7, 400, times), &Options::default());
            let is_label = |line: &&str| line.contains("l c kt") || line.contains("l c b tt");
            let texts: Vec<&str> = drawn.lines().filter(is_label).collect();
            assert!(texts.len() > 3, "{texts:?}");
            let long = texts.iter().filter(|it| it.contains("REQUEST(")).count();
            assert_eq!(long, if is_long { texts.len() } else { 0 }, "{texts:?}");
        }
    }

    #[test]
    fn labels_give_way_to_the_crosses_of_lost_messages() {
        let mut story = dense(4, 60, 6);
        let look = Look::bar(Bar::Outlined("waits"));
        let waits = What::Said { text: "acquire".to_owned(), is_command: true, look };
        story.events.insert(0, Event { at: 0, node: 1, what: waits, state: None });
        let lost: Vec<(usize, u64)> = story
            .events
            .iter()
            .filter_map(|event| match &event.what {
                What::Got { from, letter } if letter.number % 3 == 0 => {
                    Some((*from, letter.number))
                }
                _ => None,
            })
            .collect();
        for event in &mut story.events {
            if let What::Got { from, letter } = &event.what
                && lost.contains(&(*from, letter.number))
            {
                let (to, number) = (event.node, letter.number);
                event.node = *from;
                event.what = What::Lost { to, number, why: "chance" };
            }
        }
        let drawn = svg(&story, &Options::default());
        let crosses: Vec<Area> = drawn
            .lines()
            .filter(|it| it.starts_with("<path class=\"x\""))
            .filter_map(|line| {
                let (x, y) = line.split("d=\"M").nth(1)?.split_once('L')?.0.split_once(' ')?;
                let (x, y): (f64, f64) = (x.parse().ok()?, y.parse().ok()?);
                Some(Area(x, y, x + 8.0, y + 8.0))
            })
            .collect();
        assert_eq!(crosses.len(), 20);
        let mut taken = Taken::default();
        for area in crosses {
            taken.take(area);
        }
        let last_bar = drawn.rfind("class=\"wait\"><title>").expect("a bar");
        let first_cross = drawn.find("<path class=\"x\"").expect("a cross");
        assert!(last_bar < first_cross, "bars hide no cross either");
        let all = labels(&drawn);
        assert!(all.len() > 10, "{}", all.len());
        assert!(all.iter().all(|area| taken.is_free(area)), "{drawn}");
    }

    /// The width and the height of a picture.
    fn size(svg: &str) -> (f64, f64) {
        let number = |name: &str| -> f64 {
            let text = svg.split(name).nth(1).and_then(|it| it.split('"').next());
            text.expect("it has one").parse().expect("a number")
        };
        (number("width=\""), number("height=\""))
    }

    #[test]
    fn what_is_wide_goes_on_below_with_all_messages_and_each_head_once() {
        let heads = |drawn: &str| {
            drawn
                .lines()
                .filter(|it| it.starts_with("<path class=\"a k0\"") && it.contains('Z'))
                .count()
        };
        let (short, long) = (story(3, 20), story(3, 100));
        let one = svg(&short, &Options::default());
        let many = svg(&long, &Options::default());
        let rows = |drawn: &str| drawn.matches(">node 1<").count();
        assert_eq!((rows(&one), rows(&many)), (1, 2));
        assert!(size(&many).0 < 1_750.0 && size(&many).1 > 1.5 * size(&one).1, "{:?}", size(&many));
        // Of 100 messages 15 carry a token, and look otherwise.
        assert_eq!(heads(&many), 100 - 15);
        assert_eq!(
            labels(&many).len(),
            labels(&svg(&long, &Options { width: Some(6_000.0), ..Options::default() })).len()
        );
        assert_eq!(remark(&long, &Options::default()), None);
    }

    #[test]
    fn a_run_that_is_too_long_is_drawn_from_its_beginning_and_that_is_said() {
        let long = story(3, 5_000);
        let drawn = svg(&long, &Options::default());
        assert!(drawn.contains("The picture ends at ") && drawn.contains("the run at 2.001 s"));
        let said = remark(&long, &Options::default()).expect("a remark");
        assert!(said.contains("--from and --to show another part"), "{said}");
        assert_eq!(drawn.matches(">node 1<").count(), 12, "rows");
        let some =
            Options { from: Some(1_000_000_000), to: Some(1_005_000_000), ..Options::default() };
        let part = svg(&long, &some);
        assert_eq!(part.matches(">node 1<").count(), 1);
        let wide = size(&part).0;
        let reach = |line: &str| line.split('L').nth(1)?.split(' ').next()?.parse::<f64>().ok();
        let is_arrow = |line: &&str| line.starts_with("<path class=\"a k0");
        assert!(part.lines().filter(is_arrow).filter_map(reach).all(|x| x < wide - 30.0), "{part}");
        assert!(part.contains(">1.002 s<") && !part.contains("The picture ends"), "{part}");
        assert_eq!(remark(&long, &some), None);
        let slab = Options { width: Some(900.0), ..Options::default() };
        let said = remark(&long, &slab).expect("a remark");
        assert!(said.contains("5000 messages in one picture are more than can be read"), "{said}");
    }

    #[test]
    fn rows_in_which_nothing_happens_are_left_out_and_that_is_said() {
        let mut long = story(3, 40);
        for event in &mut long.events {
            event.at += if event.at > 9_000_000 { 90_000_000 } else { 0 };
        }
        let end = long.end();
        let rows = |drawn: &str| drawn.matches(">node 1<").count();
        let drawn = svg(&long, &Options::default());
        assert_eq!(rows(&drawn), 2, "{drawn}");
        assert!(drawn.contains("Not drawn: nothing happens from "), "{drawn}");
        assert!(drawn.contains(">REQUEST(39)<"), "the end is there");
        // Faults that come when all is over are no more than said.
        let mut add = |at, what| long.events.push(Event { at, node: 1, what, state: None });
        add(end + 50_000_000, What::Pause);
        add(end + 51_000_000, What::Resume);
        add(end + 120_000_000, What::Crash);
        let drawn = svg(&long, &Options::default());
        assert_eq!(rows(&drawn), 2, "{drawn}");
        assert!(drawn.contains("when nothing else happens."), "{drawn}");
        // So are pauses between, and a crash is shown.
        long.events.push(Event { at: 60_000_000, node: 1, what: What::Pause, state: None });
        assert_eq!(rows(&svg(&long, &Options::default())), 2);
        long.events.push(Event { at: 60_000_000, node: 1, what: What::Crash, state: None });
        assert_eq!(rows(&svg(&long, &Options::default())), 3);
        for _ in 0..2 {
            long.events.pop();
        }
        // A violation is something that happens.
        long.wrong = Some(Wrong { at: Some(end + 120_000_000), what: "stuck".to_owned() });
        assert_eq!(rows(&svg(&long, &Options::default())), 3);
    }

    #[test]
    fn a_sign_is_explained_where_it_is_written_and_nowhere_else() {
        let mut story = story(2, 4);
        story.glosses = &[Gloss { sign: "0'0", means: "It has come back." }];
        let explains = |story: &Story, options| svg(story, &options).contains("It has come back.");
        assert!(!explains(&story, Options::default()));
        for event in &mut story.events {
            if let What::Sent { letter, .. } | What::Got { letter, .. } = &mut event.what {
                letter.text = format!("REQUEST({}'1)", letter.number);
            }
        }
        assert!(explains(&story, Options::default()));
        assert!(!explains(
            &story,
            Options { to: Some(0), width: Some(200.0), ..Options::default() }
        ));
    }

    #[test]
    fn messages_with_very_long_texts_are_named_by_their_kind() {
        for (carried, is_long) in [(5, true), (60, false)] {
            let mut story = story(3, 6);
            for event in &mut story.events {
                if let What::Sent { letter, .. } | What::Got { letter, .. } = &mut event.what {
                    letter.text = format!("REQUEST({})", "7".repeat(carried));
                }
            }
            let drawn = svg(&story, &Options::default());
            assert_eq!(drawn.contains(">REQUEST(7"), is_long, "{drawn}");
            let named =
                drawn.lines().filter(|it| it.contains(" class=\"l c ") && it.contains(">REQUEST"));
            assert!(named.count() >= 6, "{drawn}");
        }
    }

    #[test]
    fn a_timer_is_in_the_legend_if_it_is_seen() {
        let mut story = story(2, 4);
        story.events.push(Event {
            at: 500_000,
            node: 0,
            what: What::Timer("late".to_owned()),
            state: None,
        });
        let has_timer = |story: &Story, to: Option<u64>| {
            svg(story, &Options { to, ..Options::default() }).contains(">timer<")
        };
        assert!(has_timer(&story, None));
        assert!(!has_timer(&story, Some(300_000)), "it is later");
        let said =
            |bar| What::Said { text: "in".to_owned(), is_command: true, look: Look::bar(bar) };
        let (at, node, what) = (100_000, 0, said(Bar::Filled("inside")));
        story.events.insert(0, Event { at, node, what, state: None });
        assert!(!has_timer(&story, None), "it is behind a dark bar");
    }

    #[test]
    fn views_are_bands_behind_the_lines_of_those_who_are_in_them() {
        let mut story = story(2, 6);
        for (at, node, text) in [(0, 0, "view 1"), (0, 1, "view 1"), (1_000_000, 0, "view 2")] {
            let look = Look { era: Some("in a view"), ..Look::default() };
            let what = What::Said { text: text.to_owned(), is_command: false, look };
            story.events.push(Event { at, node, what, state: None });
        }
        let crash = What::Crash;
        story.events.push(Event { at: 2_000_000, node: 1, what: crash, state: None });
        let drawn = svg(&story, &Options::default());
        let bands = |class: &str| drawn.matches(&format!("class=\"{class}\"><title>")).count();
        assert_eq!((bands("era0"), bands("era1")), (2, 1));
        let ends = Chart::of(&story).eras.iter().map(|it| it.until).collect::<Vec<_>>();
        assert_eq!(ends, [Some(1_000_000), Some(2_000_000), None], "a crash ends a view");
        assert!(drawn.contains(">view 2<") && drawn.contains(">in a view<"), "{drawn}");
    }

    #[test]
    fn it_is_xml_whatever_is_said_and_pixels_can_be_made_of_it() {
        let mut story = story(3, 10);
        story.clock = Clock::Steps;
        story.events.truncate(7);
        story.events.push(Event { at: 3, node: 1, what: What::Crash, state: None });
        let text = "says \"<&>\"".to_owned();
        let look = Look::mark(Mark::Star("leads"));
        let said = What::Said { text, is_command: true, look };
        story.events.push(Event { at: 4, node: 2, what: said, state: Some("a < b".to_owned()) });
        story.wrong = Some(Wrong { at: Some(4), what: "x < y & z".to_owned() });
        for theme in [Theme::Auto, Theme::Light, Theme::Dark] {
            story.stamps = Clocks::Vector.of(&story);
            let width = Some(700.0);
            let options = Options { theme, states: true, width, ..Options::default() };
            let drawn = svg(&story, &options);
            #[cfg(feature = "png")]
            assert!(crate::png::png(&drawn, 0.5).expect("it is an SVG").len() > 1_000);
            assert!(drawn.contains("In step 4: x &lt; y &amp; z."), "{drawn}");
        }
    }

    #[test]
    fn what_comes_before_the_first_event_of_a_network_is_not_drawn() {
        let mut late = story(3, 10);
        for event in &mut late.events {
            event.at += 1_000_000_000;
        }
        let (drawn, early) =
            (svg(&late, &Options::default()), svg(&story(3, 10), &Options::default()));
        assert_eq!(labels(&drawn).len(), labels(&early).len());
        assert!(drawn.contains(">1.002 s<"), "{drawn}");
    }

    #[test]
    fn a_reader_who_prefers_the_dark_gets_it() {
        let story = story(2, 3);
        let with = |theme| svg(&story, &Options { theme, ..Options::default() });
        assert!(with(Theme::Auto).contains("prefers-color-scheme:dark"));
        assert!(!with(Theme::Light).contains("prefers-color-scheme"));
        assert_ne!(with(Theme::Light), with(Theme::Dark));
    }
}
