//! The legend of a space-time diagram, with the signs that occur.

use crate::chart::{Chart, Fate, Moment};
use crate::layout::Layout;
use crate::story::{Bar, Mark, Story, What};
use crate::style::KINDS;
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
pub(crate) fn draw(svg: &mut Svg, chart: &Chart, story: &Story, layout: &Layout, top: f64) -> f64 {
    const ROW: f64 = 20.0;
    let (mut x, mut y) = (20.0, top + 14.0);
    for (name, sign) in signs(chart, story) {
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

/// Each with its name.
fn signs(chart: &Chart, story: &Story) -> Vec<(String, Sign)> {
    let mut all: Vec<(String, Sign)> = Vec::new();
    for (place, kind) in chart.kinds.iter().enumerate() {
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
    let mut bars: Vec<Bar> = Vec::new();
    for span in &chart.spans {
        if !bars.contains(&span.bar) {
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
    all.extend(troubles(chart, story));
    all
}

fn troubles(chart: &Chart, story: &Story) -> Vec<(String, Sign)> {
    let has = |is_it: fn(&What) -> bool| story.events.iter().any(|it| is_it(&it.what));
    let mut all: Vec<(String, Sign)> = Vec::new();
    let mut add = |occurs: bool, name: &str, sign: Sign| {
        if occurs {
            all.push((name.to_owned(), sign));
        }
    };
    add(
        has(|it| matches!(it, What::Timer(_))),
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
        has(|it| matches!(it, What::Crash)),
        "crash, then down",
        Box::new(|(x, y)| {
            let line = format!("<path class=\"down none\" d=\"M{} {}h22\"/>", Num(x + 5.0), Num(y));
            line + &cross((x + 4.0, y))
        }),
    );
    add(
        has(|it| matches!(it, What::Restart)),
        "restarts",
        Box::new(|(x, y)| {
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"4.2\" class=\"ring\"/>", Num(x + 14.0), Num(y))
        }),
    );
    add(
        has(|it| matches!(it, What::Pause)),
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
