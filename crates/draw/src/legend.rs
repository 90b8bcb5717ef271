//! The legend of a space-time diagram, with the signs that occur.

use crate::chart::{Chart, Fate, Moment, Outage};
use crate::colours::KINDS;
use crate::layout::Layout;
use crate::story::{Bar, Mark};
use crate::svg::{Num, Svg, pointed, width};

/// The shape of a mark, around a place.
pub(crate) fn shape(mark: Mark, (x, y): (f64, f64)) -> String {
    match mark {
        Mark::Begins(_) => {
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"4.4\" class=\"ring\"/>", Num(x), Num(y))
        }
        Mark::Star(_) => {
            let mut points = String::new();
            for corner in 0..10 {
                let radius = if corner % 2 == 0 { 8.5 } else { 3.6 };
                let angle = std::f64::consts::PI * (f64::from(corner) / 5.0 - 0.5);
                let (dx, dy) = (radius * angle.cos(), radius * angle.sin());
                points += &format!("{},{} ", Num(x + dx), Num(y + dy));
            }
            format!("<polygon class=\"in\" points=\"{}\"/>", points.trim_end())
        }
        Mark::Diamond(_) => {
            format!("<path class=\"in\" d=\"M{} {}l5 5 -5 5 -5 -5Z\"/>", Num(x), Num(y - 5.0))
        }
        Mark::Warns(_) => {
            format!("<path class=\"wx\" d=\"M{} {}l5.5 9.5h-11Z\"/>", Num(x), Num(y - 6.0))
        }
        Mark::Flag(_) => {
            format!(
                "<path class=\"in\" d=\"M{} {}v-20h9l-3 3.5 3 3.5h-7v13Z\"/>",
                Num(x - 1.0),
                Num(y + 10.0)
            )
        }
    }
}

/// Draws it, and says where it ends.
pub(crate) fn draw(
    svg: &mut Svg,
    chart: &Chart,
    has_points: bool,
    layout: &Layout,
    top: f64,
) -> f64 {
    const ROW: f64 = 20.0;
    let (mut x, mut y) = (20.0, top + 14.0);
    for (name, sign) in signs(chart, has_points, layout.end) {
        let wide = 34.0 + width(&name, 10.5) + 18.0;
        if x + wide > layout.width() - 8.0 && x > 20.0 {
            (x, y) = (20.0, y + ROW);
        }
        svg.put(format_args!("{}", sign((x, y - 4.0))));
        svg.text((x + 34.0, y), "s m", &name);
        x += wide;
    }
    y + 10.0
}

type Sign = Box<dyn Fn((f64, f64)) -> String>;

/// Each with its name, of those that can be seen in a picture that ends at a time.
fn signs(chart: &Chart, has_points: bool, end: u64) -> Vec<(String, Sign)> {
    let mut all: Vec<(String, Sign)> = Vec::new();
    for (place, kind) in chart.kinds.iter().enumerate() {
        if !chart.arrows.iter().any(|it| it.kind == place) {
            continue;
        }
        let token = chart.arrows.iter().any(|it| it.kind == place && it.is_token);
        let class = if token { "tok".to_owned() } else { format!("a k{}", place.min(KINDS)) };
        let name = if token { format!("{kind}, the token") } else { kind.clone() };
        all.push((
            name,
            Box::new(move |(x, y)| {
                format!("<path class=\"{class}\" d=\"{}\"/>", pointed((x, y), (x + 26.0, y)))
            }),
        ));
    }
    all.extend(bars(chart, end));
    let mut marks: Vec<Mark> = Vec::new();
    for point in &chart.points {
        match point.what {
            Moment::Marked(mark) if !marks.contains(&mark) => marks.push(mark),
            _ => {}
        }
    }
    for mark in marks {
        let sign: Sign = Box::new(move |(x, y)| shape(mark, (x + 14.0, y)));
        all.push((mark.name().to_owned(), sign));
    }
    if let Some(tree) = chart.arrows.iter().find(|it| it.is_tree) {
        let class = format!("k{} way", tree.kind.min(KINDS));
        all.push((
            "from parent to child".to_owned(),
            Box::new(move |(x, y)| {
                format!("<path class=\"{class}\" d=\"{}\"/>", pointed((x, y), (x + 26.0, y)))
            }),
        ));
    }
    all.extend(eras(chart));
    all.extend(troubles(chart, has_points, end));
    all
}

/// The states of nodes, of those that last.
fn bars(chart: &Chart, end: u64) -> Vec<(String, Sign)> {
    let mut all: Vec<(String, Sign)> = Vec::new();
    let mut bars: Vec<Bar> = Vec::new();
    for span in &chart.spans {
        // An outline that is over at once cannot be seen; what is filled has a width all the same.
        let lasts = span.until.unwrap_or(end) > span.from;
        if !bars.contains(&span.bar) && (lasts || matches!(span.bar, Bar::Filled(_))) {
            bars.push(span.bar);
        }
    }
    for bar in bars {
        let (class, name) = match bar {
            Bar::Filled(name) => ("in", name),
            Bar::Outlined(name) => ("wait", name),
            Bar::Ends => continue,
        };
        all.push((
            name.to_owned(),
            Box::new(move |(x, y)| {
                let (x, y) = (Num(x + 1.0), Num(y - 5.0));
                let place = format!("x=\"{x}\" y=\"{y}\" width=\"24\" height=\"10\"");
                format!("<rect {place} rx=\"2\" class=\"{class}\"/>")
            }),
        ));
    }
    all
}

/// The bands of what nodes are in.
fn eras(chart: &Chart) -> Option<(String, Sign)> {
    let mut eras: Vec<(usize, &'static str)> = Vec::new();
    for era in &chart.eras {
        let sort = (era.number % 2, era.name);
        if !eras.contains(&sort) {
            eras.push(sort);
        }
    }
    eras.sort_unstable();
    let &(_, name) = eras.first()?;
    let shades: Vec<usize> = eras.iter().map(|it| it.0).collect();
    let sign: Sign = Box::new(move |(x, y)| {
        let wide = 26.0 / shades.len() as f64;
        let part = |(place, shade): (usize, &usize)| {
            let (x, y, wide) = (Num(x + place as f64 * wide), Num(y - 6.0), Num(wide));
            format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"12\" \
                     class=\"era{shade}\"/>"
            )
        };
        shades.iter().enumerate().map(part).collect()
    });
    Some((name.to_owned(), sign))
}

/// Whether a timer is seen: not where a node's line is dark.
fn shows_timer(chart: &Chart) -> bool {
    let is_dark = |node: usize, at: u64| {
        chart.spans.iter().any(|it| {
            let ends = it.until.is_none_or(|until| until > at);
            it.node == node && it.from < at && ends && matches!(it.bar, Bar::Filled(_))
        })
    };
    let timers = chart.points.iter().filter(|it| it.what == Moment::Timer);
    timers.into_iter().any(|it| !is_dark(it.node, it.at))
}

fn troubles(chart: &Chart, has_points: bool, end: u64) -> Vec<(String, Sign)> {
    let is_down = |it: &&Outage| it.is_down;
    let mut all: Vec<(String, Sign)> = Vec::new();
    let mut add = |occurs: bool, name: &str, sign: Sign| {
        if occurs {
            all.push((name.to_owned(), sign));
        }
    };
    add(
        has_points && shows_timer(chart),
        "timer",
        Box::new(|(x, y)| {
            let (left, right, top, low) =
                (Num(x + 10.5), Num(x + 17.5), Num(y - 5.0), Num(y + 5.0));
            format!("<path class=\"pt\" d=\"M{left} {top}H{right}L{left} {low}H{right}Z\"/>")
        }),
    );
    let is_lost = chart.arrows.iter().any(|it| matches!(it.fate, Fate::Lost(_) | Fate::TooLate(_)));
    add(
        is_lost,
        "lost",
        Box::new(|(x, y)| {
            let line = format!("<path class=\"a k{KINDS}\" d=\"M{} {}h14\"/>", Num(x), Num(y));
            line + &cross((x + 18.0, y))
        }),
    );
    let under_way = chart.arrows.iter().any(|it| it.fate == Fate::UnderWay);
    add(
        under_way,
        "under way at the end",
        Box::new(|(x, y)| {
            format!("<path class=\"a dash k{KINDS}\" d=\"M{} {}h26\"/>", Num(x), Num(y))
        }),
    );
    add(
        chart.outages.iter().any(|it| it.is_down),
        "crash, then down",
        Box::new(|(x, y)| {
            let line = format!("<path class=\"down none\" d=\"M{} {}h22\"/>", Num(x + 5.0), Num(y));
            line + &cross((x + 4.0, y))
        }),
    );
    add(
        chart.outages.iter().filter(is_down).any(|it| it.until.is_some_and(|at| at <= end)),
        "restarts",
        Box::new(|(x, y)| {
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"4.2\" class=\"ring\"/>", Num(x + 14.0), Num(y))
        }),
    );
    add(
        chart.outages.iter().any(|it| !it.is_down),
        "paused",
        Box::new(|(x, y)| {
            let (x, y) = (Num(x + 1.0), Num(y - 7.0));
            format!("<rect x=\"{x}\" y=\"{y}\" width=\"24\" height=\"14\" class=\"still\"/>")
        }),
    );
    all
}

fn cross((x, y): (f64, f64)) -> String {
    let (left, right, top, low) = (Num(x - 4.0), Num(x + 4.0), Num(y - 4.0), Num(y + 4.0));
    format!("<path class=\"x\" d=\"M{left} {top}L{right} {low}M{left} {low}L{right} {top}\"/>")
}
