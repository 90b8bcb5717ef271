//! The style sheets of this crate: rules for classes and for one element, and nothing else.

/// How something looks: what SVG says unless a rule does.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Style {
    pub(super) fill: Option<[f64; 3]>,
    pub(super) stroke: Option<[f64; 3]>,
    pub(super) stroke_width: f64,
    pub(super) fill_opacity: f64,
    pub(super) stroke_opacity: f64,
    /// Of all around it as well.
    pub(super) opacity: f64,
    pub(super) dash: String,
    pub(super) font_size: f64,
    pub(super) is_bold: bool,
    pub(super) is_mono: bool,
    /// How much of a line of text is left of its place.
    pub(super) anchor: f64,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            fill: Some([0.0; 3]),
            stroke: None,
            stroke_width: 1.0,
            fill_opacity: 1.0,
            stroke_opacity: 1.0,
            opacity: 1.0,
            dash: String::new(),
            font_size: 16.0,
            is_bold: false,
            is_mono: false,
            anchor: 0.0,
        }
    }
}

impl Style {
    /// Sets a property, if it is one that matters here.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        let number = || value.trim_end_matches("px").parse::<f64>();
        match (key, number()) {
            ("fill", _) => self.fill = colour(value),
            ("stroke", _) => self.stroke = colour(value),
            ("stroke-width", Ok(number)) => self.stroke_width = number,
            ("fill-opacity", Ok(number)) => self.fill_opacity = number,
            ("stroke-opacity", Ok(number)) => self.stroke_opacity = number,
            ("opacity", Ok(number)) => self.opacity *= number,
            ("stroke-dasharray", _) => value.clone_into(&mut self.dash),
            ("font-size", Ok(number)) => self.font_size = number,
            ("font-weight", Ok(number)) => self.is_bold = number >= 600.0,
            ("font-family", _) => self.is_mono = value.ends_with("monospace"),
            ("text-anchor", _) => {
                self.anchor = match value {
                    "end" => 1.0,
                    "middle" => 0.5,
                    _ => 0.0,
                }
            }
            _ => {}
        }
    }
}

/// `#rrggbb`; none for anything else.
fn colour(text: &str) -> Option<[f64; 3]> {
    let hex = text.strip_prefix('#').filter(|it| it.len() == 6)?;
    let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let share = |part: u8| (f64::from(part) / 255.0 * 1000.0).round() / 1000.0;
    Some([share(part(0)?), share(part(2)?), share(part(4)?)])
}

/// Rules in their order.
#[derive(Debug, Default)]
pub(super) struct Sheet(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    /// The element that it is for, if it is for one.
    element: String,
    /// The classes that something must have.
    classes: Vec<String>,
    properties: Vec<(String, String)>,
}

impl Sheet {
    /// What is said only for readers who prefer the dark does not count.
    pub(super) fn read(text: &str) -> Self {
        let text = text.split("@media").next().unwrap_or_default();
        let mut rules = Vec::new();
        for (selectors, body) in text.split('}').filter_map(|it| it.split_once('{')) {
            let property = |it: &str| {
                let (key, value) = it.split_once(':')?;
                Some((key.trim().to_owned(), value.trim().to_owned()))
            };
            let properties: Vec<_> = body.split(';').filter_map(property).collect();
            for selector in selectors.split(',') {
                let mut parts = selector.trim().split('.');
                rules.push(Rule {
                    element: parts.next().unwrap_or_default().to_owned(),
                    classes: parts.map(str::to_owned).collect(),
                    properties: properties.clone(),
                });
            }
        }
        // Those that ask for more come later; among others, order decides.
        rules.sort_by_key(|rule| rule.classes.len());
        Self(rules)
    }

    /// What it says of an element of these classes.
    pub(super) fn apply(&self, element: &str, classes: &str, style: &mut Style) {
        let has = |class: &String| classes.split_whitespace().any(|it| it == class);
        for rule in &self.0 {
            let is_meant = rule.element.is_empty() || rule.element == element;
            if is_meant && rule.classes.iter().all(has) {
                for (key, value) in &rule.properties {
                    style.set(key, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_for_all_who_have_their_classes_and_more_classes_weigh_more() {
        let sheet = Sheet::read(
            "text{font-size:9px}.a.b{fill:#ff0000}.a,.c{fill:#00ff00;stroke:none}\
             @media (prefers-color-scheme:dark){.a{fill:#000000}}",
        );
        let fill = |classes: &str| {
            let mut style = Style::default();
            sheet.apply("text", classes, &mut style);
            (style.fill, style.font_size)
        };
        assert_eq!(fill("a"), (Some([0.0, 1.0, 0.0]), 9.0));
        assert_eq!(fill("b a").0, Some([1.0, 0.0, 0.0]));
        assert_eq!(fill("b").0, Some([0.0; 3]));
    }
}
