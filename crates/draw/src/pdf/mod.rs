//! Pictures as PDF, for papers: a translation of the SVG that this crate writes, and of no other.
//! Letters are Helvetica and Courier, which every reader of PDF has.

mod css;
mod file;
mod letters;

use std::fmt::Write as _;

use css::{Sheet, Style};
use file::Page;

/// Translates a picture that this crate has drawn, for a white or a dark page: one that leaves the
/// choice to its reader is translated for a white one.
///
/// # Errors
///
/// If it is not such a picture.
pub fn pdf(svg: &str) -> Result<Vec<u8>, String> {
    let mut translation = Translation::default();
    let mut rest = svg;
    while let Some(open) = rest.find('<') {
        translation.text(&rest[..open]);
        let tag = &rest[open + 1..];
        let close = tag.find('>').ok_or("a tag has no end")?;
        rest = &tag[close + 1..];
        let tag = &tag[..close];
        if tag == "style" {
            let end = rest.find("</style>").ok_or("the style sheet has no end")?;
            translation.sheet = Sheet::read(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        translation.tag(tag)?;
    }
    translation.page.finish()
}

/// A picture that is being translated.
#[derive(Default)]
struct Translation {
    sheet: Sheet,
    page: Page,
    /// The styles of the groups around an element.
    groups: Vec<Style>,
    /// The line of text that is being read: its style, and where it is.
    line: Option<(Style, f64, f64)>,
    /// How many elements that are not drawn are open.
    hidden: usize,
}

impl Translation {
    fn tag(&mut self, tag: &str) -> Result<(), String> {
        if let Some(name) = tag.strip_prefix('/') {
            match name {
                "title" => self.hidden = self.hidden.saturating_sub(1),
                "text" => self.line = None,
                "g" => {
                    self.groups.pop();
                    self.page.restore();
                }
                _ => {}
            }
            return Ok(());
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().unwrap_or_default();
        let element = Element(&tag[name.len()..]);
        match name {
            "svg" => self.page.size = (element.number("width")?, element.number("height")?),
            "title" if !is_empty => self.hidden += 1,
            "g" => {
                let style = self.style(name, &element);
                self.groups.push(style);
                self.page.save();
                if let Some(by) = element.get("transform").and_then(moved) {
                    self.page.move_by(by);
                }
            }
            "text" => {
                let style = self.style(name, &element);
                self.line = Some((style, element.number("x")?, element.number("y")?));
            }
            _ => {
                let style = self.style(name, &element);
                self.shape(name, &element, &style)?;
            }
        }
        Ok(())
    }

    fn style(&self, name: &str, element: &Element<'_>) -> Style {
        let mut style = self.groups.last().cloned().unwrap_or_default();
        for (key, value) in element.all() {
            style.set(key, value);
        }
        self.sheet.apply(name, element.get("class").unwrap_or_default(), &mut style);
        style
    }

    fn shape(&mut self, name: &str, element: &Element<'_>, style: &Style) -> Result<(), String> {
        let number = |key: &str| element.number(key);
        let path = match name {
            "rect" if element.get("width") == Some("100%") => {
                let (width, height) = self.page.size;
                format!("0 0 {width} {height} re\n")
            }
            "rect" => {
                let (width, height) = (number("width")?, number("height")?);
                format!("{} {} {width} {height} re\n", number("x")?, number("y")?)
            }
            "line" => {
                let (x1, y1) = (number("x1")?, number("y1")?);
                format!("{x1} {y1} m {} {} l\n", number("x2")?, number("y2")?)
            }
            "circle" => circle(number("cx")?, number("cy")?, number("r")?),
            "polygon" => polygon(element.get("points").unwrap_or_default()),
            "path" => path(element.get("d").unwrap_or_default())?,
            _ => return Err(format!("<{name}> is not known")),
        };
        self.page.paint(&path, style);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let (0, Some((style, x, y))) = (self.hidden, &self.line) {
            self.page.write(&letters::unescaped(text), style, (*x, *y));
        }
    }
}

/// The attributes of an element.
struct Element<'a>(&'a str);

impl<'a> Element<'a> {
    fn all(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut parts = self.0.split('"');
        std::iter::from_fn(move || {
            let key = parts.next()?.trim().trim_end_matches('=').trim();
            Some((key, parts.next()?))
        })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.all().find(|(key, _)| *key == name).map(|it| it.1)
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.get(name).unwrap_or("0");
        value.parse().map_err(|_| format!("{name}=\"{value}\" is not a number"))
    }
}

/// `translate(3 4)`.
fn moved(text: &str) -> Option<(f64, f64)> {
    let (x, y) = text.strip_prefix("translate(")?.strip_suffix(')')?.split_once(' ')?;
    Some((x.parse().ok()?, y.parse().ok()?))
}

/// Four curves that are a circle but for less than a thousandth of its radius.
fn circle(x: f64, y: f64, r: f64) -> String {
    let k = r * 0.5523;
    let mut path = format!("{} {y} m\n", x + r);
    let quarters = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)];
    for pair in quarters.windows(2) {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let _ = writeln!(
            path,
            "{} {} {} {} {} {} c",
            x + ax * r + bx * k,
            y + ay * r + by * k,
            x + bx * r + ax * k,
            y + by * r + ay * k,
            x + bx * r,
            y + by * r
        );
    }
    path + "h\n"
}

fn polygon(points: &str) -> String {
    let mut path = String::new();
    for point in points.split_whitespace() {
        let operator = if path.is_empty() { 'm' } else { 'l' };
        let _ = writeln!(path, "{} {operator}", point.replace(',', " "));
    }
    path + "h\n"
}

/// Straight lines: the letters M, L, H, V, Z, and l, h, v from where the pen is.
fn path(text: &str) -> Result<String, String> {
    let mut path = String::new();
    let (mut at, mut start) = ((0.0, 0.0), (0.0, 0.0));
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let end = rest[1..].find(char::is_alphabetic).map_or(rest.len(), |it| it + 1);
        let numbers = numbers(&rest[1..end])?;
        rest = &rest[end..];
        let (dx, dy) = if letter.is_lowercase() { at } else { (0.0, 0.0) };
        // Where the pen goes with each of the numbers, or each two of them.
        let places: Vec<(f64, f64)> = match letter.to_ascii_uppercase() {
            'M' | 'L' => numbers.chunks_exact(2).map(|it| (it[0], it[1])).collect(),
            'H' => numbers.iter().map(|&x| (x, at.1 - dy)).collect(),
            'V' => numbers.iter().map(|&y| (at.0 - dx, y)).collect(),
            'Z' => {
                path += "h\n";
                at = start;
                continue;
            }
            _ => return Err(format!("a path with '{letter}' is not known")),
        };
        let is_relative = letter.is_lowercase();
        for (number, (x, y)) in places.into_iter().enumerate() {
            at = if is_relative { (at.0 + x, at.1 + y) } else { (x, y) };
            // The other coordinate of a line along an axis was given as it is.
            if is_relative && letter == 'h' {
                at.1 = dy;
            } else if is_relative && letter == 'v' {
                at.0 = dx;
            }
            let moves = letter == 'M' && number == 0;
            if moves {
                start = at;
            }
            let _ = writeln!(path, "{} {} {}", at.0, at.1, if moves { 'm' } else { 'l' });
        }
    }
    Ok(path)
}

fn numbers(text: &str) -> Result<Vec<f64>, String> {
    // A sign begins a number, as a space does.
    let text = text.replace('-', " -").replace(',', " ");
    let number = |it: &str| it.parse().map_err(|_| format!("'{it}' is not a number"));
    text.split_whitespace().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colours::Theme;
    use crate::plot::{Axis, Plot, Point, Series};

    #[test]
    fn lines_go_where_their_paths_say() {
        assert_eq!(path("M1 2L3 4").unwrap(), "1 2 m\n3 4 l\n");
        assert_eq!(path("M1 2h3v-4Z").unwrap(), "1 2 m\n4 2 l\n4 -2 l\nh\n");
        assert_eq!(path("M1 2H5V6").unwrap(), "1 2 m\n5 2 l\n5 6 l\n");
        assert_eq!(path("M1 1l2 3 -2-3").unwrap(), "1 1 m\n3 4 l\n1 1 l\n");
        assert!(path("M1 1C1 1 1 1 1 1").unwrap_err().contains('C'));
    }

    /// Where each object of a file begins, as its table says, and where it does.
    fn offsets(file: &str) -> Vec<(usize, usize)> {
        let start = file.rfind("startxref\n").expect("a start") + 10;
        let table: usize = file[start..].lines().next().expect("a line").parse().expect("a place");
        assert!(file[table..].starts_with("xref\n"));
        let rows = file[table..].lines().skip(3).take_while(|it| it.ends_with("n "));
        let said = rows.map(|it| it[..10].parse().expect("a place"));
        let real = (1..).map(|it| file.find(&format!("\n{it} 0 obj")).map_or(0, |at| at + 1));
        said.zip(real).collect()
    }

    #[test]
    fn a_plot_becomes_a_file_whose_objects_are_where_its_table_says() {
        let points = vec![Point { x: 1.0, y: 2.0, error: Some(0.5) }];
        let series = Series { name: "a (b) \\ µ ≈".to_owned(), points, ..Series::default() };
        let x = Axis { name: "nodes, N".to_owned(), ..Axis::default() };
        let plot = Plot { series: vec![series], x, ..Plot::default() };
        for theme in [Theme::Auto, Theme::Light, Theme::Dark] {
            let bytes = pdf(&plot.svg(theme)).expect("our own picture");
            // A byte a letter, so that places in the text are those in the file.
            let plain = |&it: &u8| if it.is_ascii() { it as char } else { '^' };
            let file: String = bytes.iter().map(plain).collect();
            assert!(file.starts_with("%PDF-1.4\n") && file.ends_with("%%EOF\n"));
            let all = offsets(&file);
            assert_eq!(all.len(), 7);
            assert!(all.iter().all(|(said, real)| said == real), "{all:?}");
            assert!(file.contains("(a \\(b\\) \\\\ ^ ~) Tj"), "{file}");
            let is_dark = file.contains("0.063 0.082 0.106 rg");
            assert_eq!(is_dark, theme == Theme::Dark, "the paper");
        }
    }

    #[test]
    fn what_is_no_picture_of_ours_is_refused() {
        assert!(pdf("<svg width=\"1\" height=\"1\"><image/></svg>").unwrap_err().contains("image"));
        assert!(pdf("<svg width=\"x\"></svg>").unwrap_err().contains("not a number"));
        assert!(pdf("no picture").is_err());
    }
}
