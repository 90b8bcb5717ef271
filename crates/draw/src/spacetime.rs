//! The space-time diagram: a line a node, time to the right, messages as slanted arrows.
//!
//! A label that would cover another is left out: kinds of messages replace texts, and arrows fade
//! where there are many. Tooltips have the full text.

use std::collections::HashMap;

use crate::chart::{Arrow, Chart, Fate, Moment, Outage, Point, Span};
use crate::clocks::Clocks;
use crate::labels::{Area, Taken};
use crate::layout::Layout;
use crate::legend;
use crate::margins::{axis, caption, heading, states};
use crate::story::{Bar, Mark, Story, What};
use crate::style::{KINDS, Theme};
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
    /// Which logical clocks are written at events.
    pub clocks: Option<Clocks>,
}

/// Beyond so many events nothing has a title of its own: no browser would bear it.
const MOST_TITLES: usize = 20_000;

/// Beyond so many events the points of messages are not drawn.
const MOST_POINTS: usize = 4_000;

/// Half the height of a bar.
pub(crate) const HALF: f64 = 6.0;

/// Draws a run as SVG.
pub fn svg(story: &Story, options: &Options) -> String {
    let chart = Chart::of(story);
    let mut layout = Layout::of(story, &chart, options.width);
    let mut svg = Svg::default();
    layout.top = heading(&mut svg, story, &layout);
    let mut picture = Picture {
        story,
        chart: &chart,
        layout: &layout,
        has_titles: story.events.len() <= MOST_TITLES,
        bars: bars(&chart, layout.lanes),
        ways: Vec::new(),
        taken: Taken::default(),
        svg,
    };
    picture.ways = picture.ways();
    picture.ground();
    picture.arrows();
    picture.nodes();
    picture.points();
    picture.wrong();
    picture.words(options);
    let mut svg = picture.svg;
    let mut bottom = axis(&mut svg, &layout);
    bottom = legend::draw(&mut svg, &chart, story, &layout, bottom);
    bottom = caption(&mut svg, story, &chart, &layout, bottom);
    if options.states {
        bottom = states(&mut svg, story, &layout, bottom);
    }
    let title = format!("{}: {}", story.title, story.command);
    svg.finish((layout.width(), bottom + 14.0), options.theme, &title)
}

/// An arrow and where it lies.
type Ends = ((f64, f64), (f64, f64));

pub(crate) struct Picture<'a> {
    pub(crate) story: &'a Story,
    pub(crate) chart: &'a Chart,
    pub(crate) layout: &'a Layout,
    has_titles: bool,
    /// The states of each node and their times, in order.
    bars: Vec<Vec<(u64, u64)>>,
    /// Where every arrow lies.
    pub(crate) ways: Vec<Ends>,
    pub(crate) taken: Taken,
    pub(crate) svg: Svg,
}

impl Picture<'_> {
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

    fn until(&self, until: Option<u64>) -> f64 {
        until.map_or(self.layout.right() + 10.0, |at| self.layout.x(at))
    }

    /// Where arrows begin and end. Of several that would lie over each other, each is a little to
    /// the right of the last.
    fn ways(&self) -> Vec<Ends> {
        let mut alike: HashMap<_, u32> = HashMap::new();
        let mut ways = Vec::with_capacity(self.chart.arrows.len());
        for arrow in &self.chart.arrows {
            let (mut from, mut to) = self.way(arrow);
            let count = alike.entry((arrow.from, arrow.to, arrow.sent, arrow.got)).or_default();
            let aside = f64::from(*count) * 5.0;
            *count += 1;
            (from.0, to.0) = (from.0 + aside, to.0 + aside);
            ways.push((from, to));
        }
        ways
    }

    /// Whether a node is in something at a time, so that a bar lies over its line.
    fn has_bar(&self, node: usize, at: u64) -> bool {
        let Some(bars) = self.bars.get(node) else { return false };
        let next = bars.partition_point(|&(from, _)| from <= at);
        next.checked_sub(1).is_some_and(|last| bars[last].1 >= at)
    }

    fn way(&self, arrow: &Arrow) -> Ends {
        let layout = self.layout;
        let (x1, y1, mut y2) = (layout.x(arrow.sent), layout.y(arrow.from), layout.y(arrow.to));
        // The head is not hidden by a bar.
        if arrow.got.is_some_and(|got| self.has_bar(arrow.to, got)) {
            y2 += (y1 - y2).signum() * (HALF.min(layout.gap / 5.0) + 0.5);
        }
        let x2 = match arrow.fate {
            Fate::Arrived => layout.x(arrow.got.unwrap_or(arrow.sent)),
            Fate::TooLate(at) | Fate::Lost(at) if at > arrow.sent => layout.x(at),
            Fate::TooLate(_) | Fate::Lost(_) => x1 + layout.way,
            Fate::UnderWay => layout.right() + 22.0,
        };
        ((x1, y1), (x2, y2))
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
        let (arrow, (from, to)) = (&self.chart.arrows[place], self.ways[place]);
        let kind = arrow.kind.min(KINDS);
        let colour = match (arrow.is_token, arrow.is_tree) {
            (true, _) if self.layout.is_crowded => "tok thin".to_owned(),
            (true, _) => "tok".to_owned(),
            (false, true) => format!("k{kind} way"),
            (false, false) => format!("{class} k{kind}"),
        };
        let path = match arrow.fate {
            Fate::Arrived if arrow.from == arrow.to => loop_at(from, to),
            Fate::Arrived => pointed(from, to),
            Fate::TooLate(_) => plain(from, to),
            Fate::Lost(_) => plain(from, between(from, to, 0.5)),
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
        match arrow.fate {
            Fate::Lost(_) => self.cross(between(from, to, 0.5)),
            Fate::TooLate(_) => self.cross(between(from, to, 0.94)),
            Fate::Arrived | Fate::UnderWay => {}
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
        self.svg.put(format_args!(
            "<path class=\"x\" d=\"M{left} {top}L{right} {low}M{left} {low}L{right} {top}\"/>"
        ));
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
            self.cross((from, y));
            if outage.until.is_some() {
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
        let has_points = self.story.events.len() <= MOST_POINTS;
        for point in &self.chart.points {
            match point.what {
                Moment::Marked(mark) => self.mark(point, mark),
                Moment::Timer if has_points => self.timer(point),
                Moment::Event if has_points => self.dot(point),
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
        let Some(at) = self.story.wrong.as_ref().and_then(|wrong| wrong.at) else { return };
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

pub(crate) fn between(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
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
        for (lanes, messages) in [(2, 12), (5, 100), (30, 2_000)] {
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
        assert!(named(30, 2_000) < 500);
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
            let clocks = Some(Clocks::Vector);
            let options = Options { theme, states: true, clocks, width: Some(700.0) };
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
