//! Measured points with their errors over what the theory says, each series named where it ends.
//!
//! Drawn here and not by a library: those that there are for Rust write colours into every element,
//! so that a reader's preference for the dark is lost, have legends and no direct labels, and
//! measure text with the fonts of the machine on which they run.

use crate::colours::{SERIES, Theme};
pub use crate::curves::STYLES;
use crate::curves::{dashed, is_hollow, line, marker, points, theory};
use crate::scale::{Scale, Scales};
pub use crate::series::{Axis, Point, Says, Series, Theory};
use crate::svg::{Num, Svg, width, wrap, wrap_mono};
use crate::words::number;

/// So many things have colours of their own.
pub const COLOURS: usize = SERIES;

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
    /// The names of the styles of its series, if there are several.
    pub styles: Vec<String>,
    /// The series.
    pub series: Vec<Series>,
    /// What else must be said, below.
    pub notes: Vec<String>,
}

const WIDE: f64 = 820.0;
const HIGH: f64 = 470.0;
const LEFT: f64 = 66.0;
const BELOW: f64 = 56.0;

/// Names do not come closer to each other than this.
const LINE: f64 = 13.0;

impl Plot {
    /// Draws it as SVG.
    pub fn svg(&self, theme: Theme) -> String {
        let colours = self.series.iter().map(|it| it.colour + 1).max().unwrap_or(0);
        let mut svg = Svg { series: colours.min(SERIES), ..Svg::default() };
        let mut top = 12.0;
        for line in wrap(&self.title, 16.0, WIDE - 40.0) {
            top += 20.0;
            svg.text((20.0, top - 2.0), "h", &line);
        }
        for line in wrap_mono(&self.remark, 10.5, WIDE - 40.0) {
            top += 15.0;
            svg.text((20.0, top + 2.0), "s m mono", &line);
        }
        top += 24.0;
        let scales = self.scales(top);
        self.frame(&mut svg, &scales);
        // What was measured lies over all that was predicted.
        for series in &self.series {
            theory(&mut svg, series, &scales, &self.places());
        }
        for series in &self.series {
            line(&mut svg, series, &scales);
        }
        for series in &self.series {
            points(&mut svg, series, &scales);
        }
        self.names(&mut svg, &scales);
        let mut bottom = self.legend(&mut svg, scales.bottom + BELOW);
        let outside = self.outside(&scales);
        for note in self.notes.iter().chain(&outside) {
            for line in wrap(note, 10.5, WIDE - 40.0) {
                bottom += 15.0;
                svg.text((20.0, bottom), "s m", &line);
            }
        }
        svg.finish((WIDE, bottom + 18.0), theme, &self.title)
    }

    fn all_points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|it| &it.points)
    }

    fn scales(&self, top: f64) -> Scales {
        let names = self.series.iter().map(|it| width(&it.name, 10.5)).fold(0.0, f64::max);
        let right = WIDE - names - 34.0;
        // There is room for every name.
        let bottom = top + (HIGH - 120.0).max(LINE * self.series.len() as f64);
        let theory = || self.series.iter().flat_map(|it| &it.theory);
        let xs: Vec<f64> =
            self.all_points().map(|it| it.x).chain(theory().map(|it| it.x)).collect();
        let said = |it: &Theory| match it.says {
            Says::Value(value) => [value, value],
            Says::Bounds(low, high) => [low, high],
        };
        // Shares may differ by less than their errors, which go on to the frame then.
        let has_errors = !self.y.is_share;
        let reach = |it: &Point| it.y + it.error.filter(|_| has_errors).unwrap_or(0.0);
        let ys: Vec<f64> = self
            .all_points()
            .flat_map(|it| [it.y, reach(it)])
            .chain(theory().flat_map(said).filter(|it| it.is_finite()))
            .collect();
        let x = Scale::new(&xs, &self.x, (LEFT + 12.0, right - 8.0), false);
        let y = Scale::new(&ys, &self.y, (bottom, top), true);
        Scales { x, y, top, bottom, right }
    }

    /// Where something was measured or predicted.
    fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = Vec::new();
        let theory = self.series.iter().flat_map(|it| &it.theory).map(|it| it.x);
        for x in self.all_points().map(|it| it.x).chain(theory) {
            if !places.iter().any(|&it| (it - x).abs() < 1e-12) {
                places.push(x);
            }
        }
        places.sort_by(f64::total_cmp);
        places
    }

    fn frame(&self, svg: &mut Svg, scales: &Scales) {
        let Scales { x, y, top, bottom, right } = scales;
        for (tick, text) in y.ticks(44.0) {
            let at = y.at(tick);
            svg.line((LEFT, at), (*right, at), "grid");
            svg.text((LEFT - 8.0, at + 3.6), "s e m", &text);
        }
        svg.line((LEFT, *bottom), (*right, *bottom), "ax");
        // Where few values were measured, those are the ticks.
        let own = self.places();
        let ticks = if own.len() <= 12 {
            own.into_iter().map(|it| (it, number(it))).collect()
        } else {
            x.ticks(60.0)
        };
        let mut last = f64::NEG_INFINITY;
        for (tick, text) in ticks.into_iter().filter(|it| x.has(it.0)) {
            let at = x.at(tick);
            svg.line((at, *bottom), (at, bottom + 4.0), "ax");
            let half = width(&text, 10.5) / 2.0;
            if at - half > last + 4.0 {
                svg.text((at, bottom + 16.0), "s c m", &text);
                last = at + half;
            }
        }
        let middle = f64::midpoint(LEFT, *right);
        let scale = if x.is_log { ", logarithmic" } else { "" };
        svg.text((middle, bottom + 36.0), "t c", &format!("{}{scale}", self.x.name));
        let scale = match (y.is_log, y.low > 0.0) {
            (true, _) => ", logarithmic",
            (false, true) => " (the axis does not begin at 0)",
            (false, false) => "",
        };
        svg.text((LEFT - 46.0, top - 10.0), "t", &format!("{}{scale}", self.y.name));
    }

    /// Names where the series end, pushed apart where they would lie over each other.
    fn names(&self, svg: &mut Svg, scales: &Scales) {
        let Scales { top, bottom, right, .. } = *scales;
        let mut ends: Vec<(&Series, (f64, f64))> = Vec::new();
        for series in &self.series {
            let seen = series.points.iter().filter(|it| scales.shows(it));
            if let Some(last) = seen.max_by(|a, b| a.x.total_cmp(&b.x)) {
                ends.push((series, scales.place(last.x, last.y)));
            }
        }
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let wanted: Vec<f64> = ends.iter().map(|it| it.1.1).collect();
        for ((series, end), at) in ends.iter().zip(apart(&wanted, (top, bottom))) {
            let colour = series.colour % SERIES;
            if (at - end.1).abs() > 4.0 || right - end.0 > 24.0 {
                let (x1, y1, x2, y2) = (Num(end.0 + 5.0), Num(end.1), Num(right + 4.0), Num(at));
                svg.put(format_args!(
                    "<path class=\"qo{colour} f\" opacity=\"0.55\" d=\"M{x1} {y1}L{x2} {y2}\"/>"
                ));
            }
            svg.text((right + 8.0, at + 3.6), &format!("l b qt{colour}"), &series.name);
        }
    }

    /// What lies beyond the limits.
    fn outside(&self, scales: &Scales) -> Option<String> {
        match self.all_points().filter(|it| !scales.shows(it)).count() {
            0 => None,
            1 => Some("One point lies outside.".to_owned()),
            many => Some(format!("{many} points lie outside.")),
        }
    }

    fn legend(&self, svg: &mut Svg, y: f64) -> f64 {
        let (mut x, mut y) = (20.0, y + 2.0);
        let mut say = |svg: &mut Svg, sign: &str, text: &str| {
            let wide = 52.0 + width(text, 10.5);
            if x + wide > WIDE - 8.0 && x > 20.0 {
                (x, y) = (20.0, y + 18.0);
            }
            let at = (Num(x), Num(y - 4.0));
            svg.put(format_args!("<g transform=\"translate({} {})\">{sign}</g>", at.0, at.1));
            svg.text((x + 32.0, y), "s m", text);
            x += wide;
        };
        let said = |is_it: fn(Says) -> bool| {
            self.series.iter().any(|it| it.theory.iter().any(|it| is_it(it.says)))
        };
        if self.styles.len() < 2 {
            say(svg, &format!("<g class=\"pt\">{}</g>", marker(0, (12.0, 0.0))), "measured");
        } else {
            let is_drawn = |style: usize| self.series.iter().any(|it| it.style == style);
            let drawn = self.styles.iter().enumerate().filter(|it| is_drawn(it.0));
            for (style, name) in drawn {
                let dash = dashed(style);
                let class = if is_hollow(style) { "ring" } else { "pt" };
                let sign = format!(
                    "<path class=\"ax\"{dash} d=\"M0 0H26\"/><g class=\"{class}\">{}</g>",
                    marker(style, (13.0, 0.0))
                );
                say(svg, &sign, &format!("measured, {name}"));
            }
        }
        if self.all_points().any(|it| it.error.is_some_and(|error| error > 0.0)) {
            let bar = "<path class=\"er ax\" d=\"M8.5 -6H15.5M8.5 6H15.5M12 -6V6\"/>";
            say(svg, bar, "95 % confidence");
        }
        if said(|it| matches!(it, Says::Value(_))) {
            say(svg, "<path class=\"th ax\" d=\"M0 0H26\"/>", "the theory predicts");
        }
        if said(|it| matches!(it, Says::Bounds(..))) {
            let band = "<rect class=\"bd pt\" x=\"0\" y=\"-6\" width=\"26\" height=\"12\"/>";
            say(svg, band, "the theory gives bounds");
        }
        y
    }
}

/// Where texts go that want to be at these places, in their order: as near as can be if none is
/// less than a line from the next, by isotonic regression.
fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    // Without the lines between them, they must only not decrease: those that would are put in one
    // place, their mean.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (number, place) in wanted.iter().enumerate() {
        let mut block = (place - number as f64 * LINE, 1);
        while let Some(&(mean, count)) = blocks.last().filter(|it| it.0 >= block.0) {
            let sum = mean * count as f64 + block.0 * block.1 as f64;
            block = (sum / (count + block.1) as f64, count + block.1);
            blocks.pop();
        }
        blocks.push(block);
    }
    let last = bottom - LINE * wanted.len().saturating_sub(1) as f64;
    let places = blocks.iter().flat_map(|&(mean, count)| std::iter::repeat_n(mean, count));
    places
        .enumerate()
        .map(|(number, it)| it.min(last).max(top.min(last)) + number as f64 * LINE)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(series: usize) -> Plot {
        let one = |place: usize| Series {
            name: format!("algorithm-{place}"),
            colour: place,
            style: 0,
            points: (1..6)
                .map(|it| {
                    let x = f64::from(1 << it);
                    Point { x, y: x * 2.0 + place as f64 * 0.01, error: Some(0.1) }
                })
                .collect(),
            theory: (1..6)
                .map(|it| Theory { x: f64::from(1 << it), says: Says::Value(f64::from(2 << it)) })
                .collect(),
        };
        let axis = |name: &str| Axis { name: name.to_owned(), is_log: true, ..Axis::default() };
        Plot {
            title: "messages".to_owned(),
            x: axis("nodes"),
            y: axis("messages per entry"),
            series: (0..series).map(one).collect(),
            ..Plot::default()
        }
    }

    /// The lines of elements of a class.
    fn of<'a>(svg: &'a str, class: &'a str) -> Vec<&'a str> {
        svg.lines().filter(|line| line.contains(&format!("class=\"{class}"))).collect()
    }

    fn heights(svg: &str) -> Vec<f64> {
        let mut heights: Vec<f64> = of(svg, "l b qt")
            .iter()
            .filter_map(|line| line.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        heights.sort_by(f64::total_cmp);
        heights
    }

    #[test]
    fn names_do_not_lie_over_each_other_even_if_all_series_end_in_one_place_at_the_top() {
        let mut same = plot(23);
        for point in same.series.iter_mut().flat_map(|it| &mut it.points) {
            point.y = 1.0;
        }
        for (plot, count) in [(plot(12), 12), (same, 23)] {
            let heights = heights(&plot.svg(Theme::Auto));
            assert_eq!(heights.len(), count);
            assert!(heights.windows(2).all(|it| it[1] - it[0] > LINE - 0.2), "{heights:?}");
        }
    }

    #[test]
    fn texts_are_as_near_as_can_be_to_where_they_want_to_be() {
        let places = apart(&[100.0, 100.0, 300.0], (0.0, 400.0));
        assert_eq!(places, [93.5, 106.5, 300.0]);
        assert_eq!(apart(&[0.0, 0.0], (0.0, 400.0)), [0.0, LINE]);
        assert_eq!(apart(&[400.0, 400.0], (0.0, 400.0)), [400.0 - LINE, 400.0]);
        assert_eq!(apart(&[], (0.0, 400.0)), [0.0; 0]);
    }

    #[test]
    fn twelve_circumstances_have_signs_of_their_own_and_those_without_points_none() {
        let mut plot = plot(STYLES);
        for (style, series) in plot.series.iter_mut().enumerate() {
            (series.colour, series.style) = (0, style);
        }
        plot.styles = (0..STYLES).map(|it| format!("latency {it}ms")).collect();
        let signs = |svg: &str| {
            let is_sign =
                |line: &&str| line.starts_with("<g transform=") && line.contains("M0 0H26\"/><g");
            let sign = |line: &str| line.split_once(")\">").map(|it| it.1.to_owned());
            let mut all: Vec<String> = svg.lines().filter(is_sign).filter_map(sign).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let svg = plot.svg(Theme::Light);
        assert_eq!(signs(&svg), STYLES, "{svg}");
        assert_eq!((of(&svg, "mk q0").len(), of(&svg, "mh qo0").len()), (30, 30));
        plot.series.remove(3);
        let svg = plot.svg(Theme::Light);
        assert!(!svg.contains("latency 3ms") && svg.contains("latency 4ms"), "{svg}");
    }

    #[test]
    fn shares_are_told_apart_though_their_errors_reach_beyond_1() {
        let mut plot = plot(3);
        (plot.y.is_share, plot.y.is_log) = (true, false);
        for (place, series) in plot.series.iter_mut().enumerate() {
            series.theory.clear();
            for point in &mut series.points {
                (point.y, point.error) = (0.97 + place as f64 * 0.015, Some(0.4));
            }
        }
        let svg = plot.svg(Theme::Light);
        let markers: Vec<f64> = of(&svg, "mk q")
            .iter()
            .filter_map(|line| line.split("cy=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        let (highest, lowest) = (
            markers.iter().copied().fold(f64::MAX, f64::min),
            markers.iter().copied().fold(0.0, f64::max),
        );
        assert!(lowest - highest > 150.0, "{highest} to {lowest} of 350");
        let ticks = svg.lines().filter(|it| it.contains("class=\"s e m\"")).count();
        assert!(ticks >= 4, "{svg}");
        let scale = |it: &&str| it.contains("class=\"s e m\"");
        let above: Vec<&str> = svg.lines().filter(scale).filter(|it| it.contains(">1.")).collect();
        assert!(svg.contains(">1<") && above.is_empty(), "nothing is above 1: {above:?}");
        let ends = of(&svg, "er qo").into_iter().filter_map(|line| {
            line.split("d=\"M").nth(1)?.split_once(' ')?.1.split('H').next()?.parse::<f64>().ok()
        });
        assert!(ends.into_iter().all(|it| (it - highest).abs() < 0.2), "errors end at 1: {svg}");
    }

    #[test]
    fn a_colour_is_what_a_series_is_of_and_a_marker_with_its_dash_the_circumstances() {
        let mut plot = plot(24);
        let mut light = plot.series[3].clone();
        (light.style, light.theory) = (1, light.theory[..3].to_vec());
        plot.series.push(light);
        plot.styles = vec!["load heavy".to_owned(), "load light".to_owned()];
        let svg = plot.svg(Theme::Light);
        let mut colours: Vec<&str> = of(&svg, "mk q")
            .iter()
            .map(|line| line.split("mk ").nth(1).and_then(|it| it.split('"').next()).expect("one"))
            .collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 24);
        let squares = |line: &&&str| line.contains("<rect");
        assert_eq!(of(&svg, "mk q3\"").iter().filter(squares).count(), 5);
        assert_eq!(of(&svg, "mk q3\"").len(), 10);
        assert_eq!(of(&svg, "li qo3\"").len(), 1);
        assert!(of(&svg, "li qo3\"")[0].contains("dasharray=\"6 4\""), "{svg}");
        assert!(svg.contains("measured, load light"), "{svg}");
    }

    #[test]
    fn theory_is_a_line_or_a_band_and_neither_goes_on_over_the_other() {
        let mut plot = plot(1);
        plot.series[0].theory[2].says = Says::Bounds(8.0, 20.0);
        plot.series[0].theory[3].says = Says::Bounds(8.0, f64::INFINITY);
        let svg = plot.svg(Theme::Light);
        let (lines, bands) = (of(&svg, "th qo0"), of(&svg, "bd q0"));
        assert_eq!((lines.len(), bands.len()), (2, 1), "{svg}");
        assert!(lines[0].matches('L').count() == 1, "from the first to the second: {}", lines[0]);
        assert!(lines[1].contains('H'), "the last stands alone: {}", lines[1]);
        assert!(svg.contains("the theory predicts") && svg.contains("the theory gives bounds"));
        plot.series[0].theory.clear();
        let bare = plot.svg(Theme::Light);
        assert!(!bare.contains("the theory"), "{bare}");
    }

    #[test]
    fn colours_of_names_outweigh_the_ink_that_pictures_further_down_a_page_declare() {
        let svg = plot(2).svg(Theme::Light);
        let rule = |name: &str| svg.contains(&format!("{name}{{fill:#"));
        assert!(rule(".l.qt0") && rule(".l.qt1") && !rule("}.qt0"), "{svg}");
    }

    #[test]
    fn what_was_measured_lies_over_all_theory() {
        let svg = plot(9).svg(Theme::Light);
        let last_theory = svg.rfind("class=\"th qo").expect("theory");
        let first_point = svg.find("class=\"mk q").expect("a point");
        assert!(last_theory < first_point);
    }

    #[test]
    fn beyond_the_limits_nothing_is_drawn_and_that_is_said() {
        let mut plot = plot(1);
        plot.y.limits = (Some(5.0), Some(40.0));
        let svg = plot.svg(Theme::Light);
        assert_eq!(of(&svg, "mk q0").len(), 3, "8, 16 and 32 of 4 to 64");
        assert!(svg.contains("2 points lie outside."), "{svg}");
    }

    #[test]
    fn it_can_be_drawn_whatever_was_measured() {
        let mut odd = plot(2);
        odd.series[0].points[0].y = 0.0;
        odd.series[1].theory.push(Theory { x: 3.0, says: Says::Bounds(0.0, f64::INFINITY) });
        odd.series.push(Series { name: "nothing".to_owned(), ..Series::default() });
        let mut still = plot(2);
        still.series[0].points.truncate(1);
        still.series[0].theory.truncate(1);
        for plot in [plot(1), odd, still, Plot::default()] {
            let svg = plot.svg(Theme::Dark);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            #[cfg(feature = "png")]
            crate::png::png(&svg, 0.5).expect("it is an SVG");
        }
    }
}
