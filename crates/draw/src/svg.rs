//! Text of SVG.

use std::fmt::Write as _;

use crate::colours::{Theme, sheet};

/// A picture that is being written.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    pub(crate) body: String,
    /// How many series there are that have colours of their own.
    pub(crate) series: usize,
}

impl Svg {
    /// Adds an element, or anything else.
    pub(crate) fn put(&mut self, what: std::fmt::Arguments<'_>) {
        self.body.write_fmt(what).expect("a text takes all that is written");
        self.body.push('\n');
    }

    /// Adds a line of text.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let (x, y) = (Num(x), Num(y));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{}</text>",
            escaped(text)
        ));
    }

    /// Whether some text that is read, and is no title of anything, is such a one.
    pub(crate) fn any_text(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let texts = self.body.lines().filter(|line| line.starts_with("<text "));
        let mut texts = texts.filter_map(|line| Some(line.split_once('>')?.1.split_once('<')?.0));
        texts.any(is_it)
    }

    /// Adds a straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x1, y1, x2, y2) = (Num(from.0), Num(from.1), Num(to.0), Num(to.1));
        self.put(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\"/>"
        ));
    }

    /// The whole picture, with what it is for those who cannot see it.
    pub(crate) fn finish(self, (width, height): (f64, f64), theme: Theme, title: &str) -> String {
        let (width, height) = (Num(width.ceil()), Num(height.ceil()));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n{}\
             <rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n{}</svg>\n",
            escaped(title),
            sheet(theme, self.series),
            self.body
        )
    }
}

/// A number with one decimal, and none that says nothing.
#[derive(Clone, Copy)]
pub(crate) struct Num(pub(crate) f64);

impl std::fmt::Display for Num {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{rest}"),
        }
    }
}

/// The path of a straight line.
pub(crate) fn plain(from: (f64, f64), to: (f64, f64)) -> String {
    format!("M{} {}L{} {}", Num(from.0), Num(from.1), Num(to.0), Num(to.1))
}

/// The path of a line with a head.
pub(crate) fn pointed(from: (f64, f64), to: (f64, f64)) -> String {
    const LONG: f64 = 7.0;
    const WIDE: f64 = 2.7;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(0.001);
    let (ux, uy) = (dx / length, dy / length);
    let long = LONG.min(length);
    let base = (to.0 - ux * long, to.1 - uy * long);
    let (one, other) =
        ((base.0 - uy * WIDE, base.1 + ux * WIDE), (base.0 + uy * WIDE, base.1 - ux * WIDE));
    format!(
        "{}M{} {}L{} {} {} {}Z",
        plain(from, base),
        Num(to.0),
        Num(to.1),
        Num(one.0),
        Num(one.1),
        Num(other.0),
        Num(other.1)
    )
}

/// Text as it may stand in SVG: what XML cannot say is left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            it if it.is_control() => out.push('\u{fffd}'),
            it => out.push(it),
        }
    }
    out
}

/// How wide a text is in letters of so many pixels. Those of Inter, and a tenth more: others that a
/// reader may have instead are wider.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    /// Thousandths of the size, from the space to the tilde.
    const ADVANCES: [u16; 95] = [
        281, 288, 466, 633, 642, 982, 644, 300, 365, 365, 501, 662, 288, 460, 288, 360, 631, 407,
        610, 618, 646, 593, 620, 566, 619, 620, 288, 302, 662, 662, 662, 511, 966, 690, 654, 730,
        722, 601, 590, 746, 743, 269, 571, 672, 565, 903, 753, 765, 639, 765, 644, 642, 646, 744,
        690, 985, 682, 679, 629, 365, 360, 365, 471, 456, 323, 562, 612, 571, 612, 583, 370, 613,
        591, 242, 242, 549, 242, 876, 591, 600, 612, 612, 376, 528, 327, 591, 562, 818, 546, 562,
        552, 426, 333, 426, 662,
    ];
    let advance = |letter: char| {
        let place = (letter as usize).wrapping_sub(' ' as usize);
        ADVANCES.get(place).map_or(800.0, |&it| f64::from(it))
    };
    text.chars().map(advance).sum::<f64>() * size * 1.1 / 1000.0
}

/// Lines of words, none wider than this unless a word is.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    lines(text, |line| width(line, size) <= room)
}

/// The same of letters that are all as wide as each other.
pub(crate) fn wrap_mono(text: &str, size: f64, room: f64) -> Vec<String> {
    lines(text, |line| line.chars().count() as f64 * size * 0.62 <= room)
}

fn lines(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if line.is_empty() || fits(&longer) {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let said = [0.0, 12.0, 12.34, -0.04, -3.25, 99.96].map(|it| Num(it).to_string());
        assert_eq!(said, ["0", "12", "12.3", "0", "-3.3", "100"]);
    }

    #[test]
    fn what_means_something_to_xml_is_escaped() {
        assert_eq!(escaped("a<b & \"c\"\u{7}>"), "a&lt;b &amp; &quot;c&quot;\u{fffd}&gt;");
    }

    #[test]
    fn lines_keep_within_their_room() {
        let lines = wrap("some words that do not fit one line of this size", 10.0, 100.0);
        assert!(lines.len() > 1 && lines.iter().all(|it| width(it, 10.0) <= 100.0), "{lines:?}");
        assert_eq!(wrap("", 10.0, 100.0), [""]);
    }
}
