//! Measured points with their errors over what the theory says, each series named where it ends.
//!
//! Drawn here and not by a library: those that there are for Rust write colours into every element,
//! so that a reader's preference for the dark is lost, have legends and no direct labels, and
//! measure text with the fonts of the machine on which they run.

use std::fmt::Write as _;

use crate::style::{KINDS, Theme};
use crate::svg::{Num, Svg, escaped, width, wrap_mono};
use crate::words::{number, round_step};

/// A plot.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub remark: String,
    /// The x axis.
    pub x: Axis,
    /// The y axis.
    pub y: Axis,
    /// The series.
    pub series: Vec<Series>,
}

/// One of the two directions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Axis {
    /// Its label, with the unit.
    pub name: String,
    /// Whether equal steps are equal ratios.
    pub is_log: bool,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// The name.
    pub name: String,
    /// The measured points.
    pub points: Vec<Point>,
    /// The theory: at x, from the lower to the upper bound.
    pub theory: Vec<(f64, f64, f64)>,
}

/// A measured point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// How far it may be from the truth.
    pub error: Option<f64>,
}

const WIDE: f64 = 820.0;
const HIGH: f64 = 470.0;
const LEFT: f64 = 66.0;
const BELOW: f64 = 56.0;

/// Names do not come closer to each other than this.
const LINE: f64 = 13.0;

/// Where numbers lie.
struct Scale {
    is_log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: &[f64], is_log: bool, (from, to): (f64, f64), from_zero: bool) -> Self {
        let is_log = is_log && values.iter().all(|&it| it > 0.0);
        let mut low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if is_log {
            (low, high) = (low / 1.15, high * 1.15);
        } else {
            let room = (high - low).max(high.abs() * 0.05).max(1e-9) * 0.06;
            low = if from_zero && low >= 0.0 { 0.0 } else { low - room };
            high += room;
        }
        Self { is_log, low, high, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self, room: f64) -> Vec<f64> {
        if !self.is_log {
            let step = round_step((self.high - self.low) / ((self.to - self.from).abs() / room));
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step).floor() as i64;
            return (first..=last).map(|it| it as f64 * step).collect();
        }
        let mut ticks = Vec::new();
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = match decades {
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
        ticks
    }
}

impl Plot {
    /// Draws it as SVG.
    pub fn svg(&self, theme: Theme) -> String {
        let mut svg = Svg::default();
        svg.text((20.0, 30.0), "h", &self.title);
        let mut top = 34.0;
        for line in wrap_mono(&self.remark, 10.5, WIDE - 40.0) {
            top += 15.0;
            svg.text((20.0, top), "s m mono", &line);
        }
        top += 22.0;
        let names = self.series.iter().map(|it| width(&it.name, 10.5)).fold(0.0, f64::max);
        let right = WIDE - names - 34.0;
        // There is room for every name.
        let high = (HIGH - 120.0).max(LINE * self.series.len() as f64);
        let (bottom, height) = (top + high, top + high + BELOW);
        let points = || self.series.iter().flat_map(|it| &it.points);
        let theory = || self.series.iter().flat_map(|it| &it.theory);
        let xs: Vec<f64> = points().map(|it| it.x).chain(theory().map(|it| it.0)).collect();
        let ys: Vec<f64> = points()
            .flat_map(|it| [it.y, it.y + it.error.unwrap_or(0.0)])
            .chain(theory().flat_map(|it| [it.1, it.2]).filter(|it| it.is_finite()))
            .collect();
        let x = Scale::new(&xs, self.x.is_log, (LEFT + 12.0, right - 8.0), false);
        let y = Scale::new(&ys, self.y.is_log, (bottom, top), true);
        self.frame(&mut svg, (&x, &y), (top, bottom, right));
        for (place, series) in self.series.iter().enumerate() {
            draw(&mut svg, series, place, (&x, &y));
        }
        self.names(&mut svg, (&x, &y), (top, bottom, right));
        let has_theory = self.series.iter().any(|it| !it.theory.is_empty());
        let has_errors = points().any(|it| it.error.is_some_and(|error| error > 0.0));
        legend(&mut svg, height + 2.0, has_theory, has_errors);
        svg.finish((WIDE, height + 20.0), theme, &self.title)
    }

    fn frame(
        &self,
        svg: &mut Svg,
        (x, y): (&Scale, &Scale),
        (top, bottom, right): (f64, f64, f64),
    ) {
        for tick in y.ticks(44.0) {
            let at = y.at(tick);
            svg.line((LEFT, at), (right, at), "grid");
            svg.text((LEFT - 8.0, at + 3.6), "s e m", &number(tick));
        }
        svg.line((LEFT, bottom), (right, bottom), "ax");
        // Where few values were measured, those are the ticks.
        let mut own: Vec<f64> = Vec::new();
        for point in self.series.iter().flat_map(|it| &it.points) {
            if !own.iter().any(|&it| (it - point.x).abs() < 1e-12) {
                own.push(point.x);
            }
        }
        own.sort_by(f64::total_cmp);
        let ticks = if own.len() <= 12 { own } else { x.ticks(60.0) };
        let mut last = f64::NEG_INFINITY;
        for tick in ticks {
            let (at, text) = (x.at(tick), number(tick));
            svg.line((at, bottom), (at, bottom + 4.0), "ax");
            let half = width(&text, 10.5) / 2.0;
            if at - half > last + 4.0 {
                svg.text((at, bottom + 16.0), "s c m", &text);
                last = at + half;
            }
        }
        let middle = f64::midpoint(LEFT, right);
        let scale = if x.is_log { ", logarithmic" } else { "" };
        svg.text((middle, bottom + 36.0), "t c", &format!("{}{scale}", self.x.name));
        let scale = if y.is_log { ", logarithmic" } else { "" };
        svg.text((LEFT - 46.0, top - 10.0), "t", &format!("{}{scale}", self.y.name));
    }

    /// Names where the series end, pushed apart where they would lie over each other.
    fn names(
        &self,
        svg: &mut Svg,
        (x, y): (&Scale, &Scale),
        (top, bottom, right): (f64, f64, f64),
    ) {
        let mut ends: Vec<(usize, (f64, f64), f64)> = Vec::new();
        for (place, series) in self.series.iter().enumerate() {
            let last = series.points.iter().max_by(|a, b| a.x.total_cmp(&b.x));
            if let Some(last) = last {
                let end = (x.at(last.x), y.at(last.y));
                ends.push((place, end, end.1));
            }
        }
        ends.sort_by(|a, b| a.2.total_cmp(&b.2));
        for _ in 0..200 {
            let mut is_moved = false;
            for place in 1..ends.len() {
                let gap = ends[place].2 - ends[place - 1].2;
                if gap < LINE - 0.01 {
                    let by = (LINE - gap) / 2.0;
                    ends[place - 1].2 -= by;
                    ends[place].2 += by;
                    is_moved = true;
                }
            }
            if let Some(first) = ends.first_mut() {
                first.2 = first.2.max(top - 2.0);
            }
            if let Some(last) = ends.last_mut() {
                last.2 = last.2.min(bottom + 2.0);
            }
            if !is_moved {
                break;
            }
        }
        for (place, end, at) in ends {
            let kind = place % KINDS;
            if (at - end.1).abs() > 4.0 || right - end.0 > 24.0 {
                let (x1, y1, x2, y2) = (Num(end.0 + 5.0), Num(end.1), Num(right + 4.0), Num(at));
                svg.put(format_args!(
                    "<path class=\"ko{kind} f\" opacity=\"0.55\" d=\"M{x1} {y1}L{x2} {y2}\"/>"
                ));
            }
            let class = format!("l b kt{kind}");
            svg.text((right + 8.0, at + 3.6), &class, &self.series[place].name);
        }
    }
}

fn draw(svg: &mut Svg, series: &Series, place: usize, (x, y): (&Scale, &Scale)) {
    let kind = place % KINDS;
    let mut theory = series.theory.clone();
    theory.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve(svg, &theory, kind, (x, y));
    let mut points = series.points.clone();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut path = String::new();
    for (place, point) in points.iter().enumerate() {
        let letter = if place == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", Num(x.at(point.x)), Num(y.at(point.y)));
    }
    // Measured values are points; a thin line leads the eye where there is no theory to follow all
    // along.
    if theory.len() < points.len() && points.len() > 1 {
        svg.put(format_args!("<path class=\"ko{kind} f\" opacity=\"0.6\" d=\"{path}\"/>"));
    }
    for point in points {
        let (cx, cy) = (x.at(point.x), y.at(point.y));
        let error = point.error.filter(|it| it.is_finite() && *it > 0.0);
        if let Some(error) = error {
            let low = if y.is_log { (point.y - error).max(y.low) } else { point.y - error };
            let (up, down) = (y.at(point.y + error), y.at(low));
            let (left, right) = (Num(cx - 3.5), Num(cx + 3.5));
            svg.put(format_args!(
                "<path class=\"er ko{kind}\" d=\"M{left} {0}H{right}M{left} {1}H{right}\
                 M{2} {0}V{1}\"/>",
                Num(up),
                Num(down),
                Num(cx)
            ));
        }
        let error = error.map_or_else(String::new, |it| format!(" ± {}", number(it)));
        let title = format!("{}: {} at {}{error}", series.name, number(point.y), number(point.x));
        svg.put(format_args!(
            "<g class=\"k{kind}\">{}<title>{}</title></g>",
            sign(place, (cx, cy)),
            escaped(&title)
        ));
    }
}

/// The theory: a dashed line, or a band between two.
fn curve(svg: &mut Svg, theory: &[(f64, f64, f64)], kind: usize, (x, y): (&Scale, &Scale)) {
    if theory.is_empty() {
        return;
    }
    let line = |pick: fn(&(f64, f64, f64)) -> f64| {
        let mut path = String::new();
        for point in theory.iter().filter(|it| pick(it).is_finite()) {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{} {}", Num(x.at(point.0)), Num(y.at(pick(point))));
        }
        path
    };
    let is_wide = theory.iter().any(|it| (it.2 - it.1).abs() > it.2.abs() * 1e-6);
    svg.put(format_args!("<path class=\"cv ko{kind}\" d=\"{}\"/>", line(|it| it.1)));
    if is_wide {
        svg.put(format_args!("<path class=\"cv ko{kind}\" d=\"{}\"/>", line(|it| it.2)));
    }
}

/// Shapes, so that series are told apart without colours, too.
fn sign(place: usize, (x, y): (f64, f64)) -> String {
    let (nx, ny) = (Num(x), Num(y));
    match place % 4 {
        0 => format!("<circle cx=\"{nx}\" cy=\"{ny}\" r=\"3.6\"/>"),
        1 => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"6.6\" height=\"6.6\"/>",
            Num(x - 3.3),
            Num(y - 3.3)
        ),
        2 => format!("<path d=\"M{nx} {}l4.3 7.4h-8.6Z\"/>", Num(y - 4.6)),
        _ => format!("<path d=\"M{nx} {}l4.6 4.6 -4.6 4.6 -4.6 -4.6Z\"/>", Num(y - 4.6)),
    }
}

fn legend(svg: &mut Svg, y: f64, has_theory: bool, has_errors: bool) {
    let mut x = 20.0;
    let mut say = |svg: &mut Svg, sign: &str, text: &str| {
        svg.put(format_args!("<g transform=\"translate({} {})\">{sign}</g>", Num(x), Num(y - 4.0)));
        svg.text((x + 32.0, y), "s m", text);
        x += 52.0 + width(text, 10.5);
    };
    say(
        svg,
        &format!("<g class=\"k{KINDS}\"><circle cx=\"12\" cy=\"0\" r=\"3.6\"/></g>"),
        "measured",
    );
    if has_errors {
        let bar = format!("<path class=\"er ko{KINDS}\" d=\"M8.5 -6H15.5M8.5 6H15.5M12 -6V6\"/>");
        say(svg, &bar, "95 % confidence");
    }
    if has_theory {
        let line = format!("<path class=\"cv ko{KINDS}\" d=\"M0 0H26\"/>");
        say(svg, &line, "theory; where it gives a range, its two ends");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(series: usize) -> Plot {
        let one = |place: usize| Series {
            name: format!("algorithm-{place}"),
            points: (1..6)
                .map(|it| {
                    let x = f64::from(1 << it);
                    Point { x, y: x * 2.0 + place as f64 * 0.01, error: Some(0.1) }
                })
                .collect(),
            theory: (1..6)
                .map(|it| (f64::from(1 << it), f64::from(2 << it), f64::from(2 << it)))
                .collect(),
        };
        let axis = |name: &str| Axis { name: name.to_owned(), is_log: true };
        Plot {
            title: "messages".to_owned(),
            x: axis("nodes"),
            y: axis("messages per entry"),
            series: (0..series).map(one).collect(),
            ..Plot::default()
        }
    }

    #[test]
    fn names_do_not_lie_over_each_other() {
        let svg = plot(12).svg(Theme::Auto);
        let mut heights: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("class=\"l b kt"))
            .filter_map(|line| line.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        heights.sort_by(f64::total_cmp);
        assert_eq!(heights.len(), 12);
        assert!(heights.windows(2).all(|it| it[1] - it[0] > LINE - 1.0), "{heights:?}");
    }

    #[test]
    fn it_can_be_drawn_whatever_was_measured() {
        let mut odd = plot(2);
        odd.series[0].points[0].y = 0.0;
        odd.series[1].theory.push((3.0, 1.0, f64::INFINITY));
        odd.series.push(Series { name: "nothing".to_owned(), ..Series::default() });
        for plot in [plot(1), odd, Plot::default()] {
            let svg = plot.svg(Theme::Dark);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            #[cfg(feature = "png")]
            crate::png::png(&svg, 0.5).expect("it is an SVG");
        }
    }

    #[test]
    fn ticks_are_few_and_round() {
        let scale = Scale::new(&[2.0, 256.0], true, (0.0, 700.0), false);
        assert_eq!(
            scale.ticks(60.0).iter().map(|&it| number(it)).collect::<Vec<_>>(),
            ["2", "5", "10", "20", "50", "100", "200"]
        );
    }
}
