//! The curves of a plot: what was measured, and the theory behind it.

use std::fmt::Write as _;

use crate::colours::SERIES;
use crate::scale::Scales;
use crate::series::{Says, Series};
use crate::svg::{Num, Svg, escaped};
use crate::words::number;

/// So many shapes there are of markers.
const SHAPES: usize = 6;

/// So many styles can be told apart: beyond the first six, the same shapes are hollow.
pub const STYLES: usize = 2 * SHAPES;

pub(crate) const fn is_hollow(style: usize) -> bool {
    style % STYLES >= SHAPES
}

/// How styles are dashed.
const DASHES: [&str; SHAPES] = ["", "6 4", "2 3", "9 3 2 3", "12 5", "4 2"];

/// A line through what was measured leads the eye where the theory does not predict it all along.
pub(crate) fn line(svg: &mut Svg, series: &Series, scales: &Scales) {
    let predicted = series.theory.iter().filter(|it| matches!(it.says, Says::Value(_)));
    if series.points.len() < 2 || predicted.count() >= series.points.len() {
        return;
    }
    let mut points: Vec<(f64, f64)> = series.points.iter().map(|it| (it.x, it.y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (colour, dash) = (series.colour % SERIES, dashed(series.style));
    let path = polyline(&points, scales);
    svg.put(format_args!("<path class=\"li qo{colour}\"{dash} d=\"{path}\"/>"));
}

/// Measured points with their errors.
pub(crate) fn points(svg: &mut Svg, series: &Series, scales: &Scales) {
    let (y, colour) = (&scales.y, series.colour % SERIES);
    for point in series.points.iter().filter(|it| scales.shows(it)) {
        let (cx, cy) = scales.place(point.x, point.y);
        let error = point.error.filter(|it| it.is_finite() && *it > 0.0);
        if let Some(error) = error {
            let ends = [point.y + error, point.y - error].map(|it| y.at(y.nearest(it)));
            let (left, right) = (Num(cx - 3.5), Num(cx + 3.5));
            svg.put(format_args!(
                "<path class=\"er qo{colour}\" d=\"M{left} {0}H{right}M{left} {1}H{right}\
                 M{2} {0}V{1}\"/>",
                Num(ends[0]),
                Num(ends[1]),
                Num(cx)
            ));
        }
        let error = error.map_or_else(String::new, |it| format!(" ± {}", number(it)));
        let title = format!("{}: {} at {}{error}", series.name, number(point.y), number(point.x));
        let class = if is_hollow(series.style) { "mh qo" } else { "mk q" };
        svg.put(format_args!(
            "<g class=\"{class}{colour}\">{}<title>{}</title></g>",
            marker(series.style, (cx, cy)),
            escaped(&title)
        ));
    }
}

/// What the theory says: a broad pale line where it predicts, a band where it gives bounds; neither
/// goes on over a place of which it says something else, or nothing.
pub(crate) fn theory(svg: &mut Svg, series: &Series, scales: &Scales, places: &[f64]) {
    let says = |x: f64| series.theory.iter().find(|it| (it.x - x).abs() < 1e-12).map(|it| it.says);
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    let own =
        |x: &f64| series.points.iter().any(|it| (it.x - x).abs() < 1e-12) || says(*x).is_some();
    for said in places.iter().copied().filter(own).map(|x| (x, says(x))).chain([(0.0, None)]) {
        if !matches!(said.1, Some(Says::Value(_))) {
            curve(svg, series, &std::mem::take(&mut values), scales);
        }
        if !matches!(said.1, Some(Says::Bounds(..))) {
            band(svg, series, &std::mem::take(&mut bounds), scales);
        }
        match said {
            (x, Some(Says::Value(value))) => values.push((x, value)),
            (x, Some(Says::Bounds(low, high))) => bounds.push((x, low, high)),
            (_, None) => {}
        }
    }
}

/// How far the theory of a single place reaches to both sides.
const REACH: f64 = 9.0;

fn curve(svg: &mut Svg, series: &Series, values: &[(f64, f64)], scales: &Scales) {
    let path = match values {
        [] => return,
        [(x, y)] if scales.y.has(*y) => {
            let (x, y) = scales.place(*x, *y);
            format!("M{} {}H{}", Num(x - REACH), Num(y), Num(x + REACH))
        }
        many => polyline(many, scales),
    };
    let (colour, dash) = (series.colour % SERIES, dashed(series.style));
    svg.put(format_args!("<path class=\"th qo{colour}\"{dash} d=\"{path}\"/>"));
}

fn band(svg: &mut Svg, series: &Series, bounds: &[(f64, f64, f64)], scales: &Scales) {
    let edge = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let at = |value: f64| scales.y.at(scales.y.nearest(value));
        match bounds {
            [one] => {
                let (x, y) = (scales.x.at(one.0), at(pick(one)));
                vec![(x - REACH, y), (x + REACH, y)]
            }
            many => in_pieces(many, scales, pick),
        }
    };
    let (low, mut high) = (edge(|it| it.1), edge(|it| it.2));
    if low.is_empty() {
        return;
    }
    high.reverse();
    let mut path = String::new();
    for (x, y) in low.into_iter().chain(high) {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", Num(x), Num(y));
    }
    svg.put(format_args!("<path class=\"bd q{}\" d=\"{path}Z\"/>", series.colour % SERIES));
}

/// One edge of a band, which goes along the frame where it is beyond it.
fn in_pieces(
    bounds: &[(f64, f64, f64)],
    scales: &Scales,
    pick: fn(&(f64, f64, f64)) -> f64,
) -> Vec<(f64, f64)> {
    const PIECES: u32 = 24;
    let (top, bottom) = (scales.y.at(scales.y.high), scales.y.at(scales.y.low));
    // A bound that there is not lies far above all that is seen.
    let at = |it: &(f64, f64, f64)| {
        let y = pick(it);
        if y.is_finite() && (y > 0.0 || !scales.y.is_log) {
            scales.place(it.0, y)
        } else {
            (scales.x.at(it.0), if y > 0.0 { top } else { bottom })
        }
    };
    let mut edge = Vec::new();
    for pair in bounds.windows(2) {
        let (a, b) = (at(&pair[0]), at(&pair[1]));
        for piece in 0..=PIECES {
            let share = f64::from(piece) / f64::from(PIECES);
            edge.push((a.0 + (b.0 - a.0) * share, (a.1 + (b.1 - a.1) * share).clamp(top, bottom)));
        }
    }
    edge
}

/// The path of a line through these points, as far as it lies within the limits.
fn polyline(points: &[(f64, f64)], scales: &Scales) -> String {
    let (top, bottom) = (scales.y.at(scales.y.high), scales.y.at(scales.y.low));
    let is_known = |it: &&(f64, f64)| it.1.is_finite() && (it.1 > 0.0 || !scales.y.is_log);
    let places: Vec<(f64, f64)> =
        points.iter().filter(is_known).map(|it| scales.place(it.0, it.1)).collect();
    let mut path = String::new();
    let mut end = None;
    for pair in places.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        // The part of the way on which it crosses a height.
        let share = |y: f64| ((y - a.1) / (b.1 - a.1)).clamp(0.0, 1.0);
        let (mut from, mut to) = (0.0, 1.0);
        if (b.1 - a.1).abs() > 1e-9 {
            let (one, other) = (share(top), share(bottom));
            (from, to) = (one.min(other), one.max(other));
        } else if a.1 < top - 1e-6 || a.1 > bottom + 1e-6 {
            continue;
        }
        if to - from < 1e-9 {
            continue;
        }
        let at = |share: f64| (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
        let (first, last) = (at(from), at(to));
        if end != Some(first) {
            let _ = write!(path, "M{} {}", Num(first.0), Num(first.1));
        }
        let _ = write!(path, "L{} {}", Num(last.0), Num(last.1));
        end = Some(last);
    }
    path
}

/// How a line of a style is dashed, as an attribute.
pub(crate) fn dashed(style: usize) -> String {
    match DASHES[style % DASHES.len()] {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    }
}

/// The shape of a style.
pub(crate) fn marker(style: usize, (x, y): (f64, f64)) -> String {
    let (nx, ny) = (Num(x), Num(y));
    match style % SHAPES {
        0 => format!("<circle cx=\"{nx}\" cy=\"{ny}\" r=\"3.8\"/>"),
        1 => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"7\" height=\"7\"/>",
            Num(x - 3.5),
            Num(y - 3.5)
        ),
        2 => format!("<path d=\"M{nx} {}l4.5 7.8h-9Z\"/>", Num(y - 4.8)),
        3 => format!("<path d=\"M{nx} {}l4.8 4.8 -4.8 4.8 -4.8 -4.8Z\"/>", Num(y - 4.8)),
        4 => format!("<path d=\"M{nx} {}l4.5 -7.8h-9Z\"/>", Num(y + 4.8)),
        _ => {
            format!("<path d=\"M{} {}h3v-3h3v3h3v3h-3v3h-3v-3h-3Z\"/>", Num(x - 4.5), Num(y - 1.5))
        }
    }
}
