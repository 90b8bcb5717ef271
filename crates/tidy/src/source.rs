//! A Rust file, understood well enough for the rules and no better.
//!
//! Every character is told to be code, comment or literal, so that a rule about code is not misled
//! by a text that speaks of it. Functions and tests are then found by counting braces. This does
//! not expand macros: a function that a macro writes is not seen, braces inside a macro count like
//! others, and a block in a signature (`[u8; { N }]` aside, which brackets hide) would be taken for
//! the body.

use std::iter;
use std::ops::Range;

/// One file, by the kinds of its characters.
#[derive(Debug)]
pub struct Source<'a> {
    /// Where it lies.
    pub path: &'a str,
    /// All of it.
    pub text: &'a str,
    chars: Vec<char>,
    kinds: Vec<Kind>,
    /// The index of the first character of every line.
    starts: Vec<usize>,
    /// Where its own tests are, in characters.
    tests: Vec<Range<usize>>,
}

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name, without its type's.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// How many lines it takes, from its name to its last brace.
    pub lines: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl<'a> Source<'a> {
    /// Understands a file.
    pub fn of(path: &'a str, text: &'a str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let kinds = kinds(&chars);
        let line_ends = chars.iter().enumerate().filter(|(_, c)| **c == '\n');
        let starts = [0].into_iter().chain(line_ends.map(|(end, _)| end + 1)).collect();
        let mut source = Self { path, text, chars, kinds, starts, tests: Vec::new() };
        source.tests = source.find_tests();
        source
    }

    /// Where a text occurs in the code, as places for [`Source::line_of`].
    pub fn in_code(&self, pattern: &str) -> Vec<usize> {
        self.find(pattern, Kind::Code)
    }

    /// Where a text occurs in the comments.
    pub fn in_comments(&self, pattern: &str) -> Vec<usize> {
        self.find(pattern, Kind::Comment)
    }

    /// The line of a place.
    pub fn line_of(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place)
    }

    /// Whether a place is in code that only tests run.
    pub fn is_test(&self, place: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|tests| tests.contains(&place))
    }

    /// Whether the whole file is there for tests or benchmarks.
    pub fn is_test_file(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.iter().any(|part| ["tests", "tests.rs", "benches"].contains(part))
    }

    /// How many lines it has, its own tests aside.
    pub fn lines_without_tests(&self) -> usize {
        let tests = self
            .tests
            .iter()
            .map(|tests| self.line_of(tests.end.saturating_sub(1)) - self.line_of(tests.start) + 1);
        self.text.lines().count() - tests.sum::<usize>()
    }

    /// The code from a place on, comments and literals left out.
    pub(crate) fn code_from(&self, place: usize) -> impl Iterator<Item = char> {
        let rest = self.chars.iter().zip(&self.kinds).skip(place);
        rest.filter(|(_, kind)| **kind == Kind::Code).map(|(letter, _)| *letter)
    }

    /// Modules within this one that have no file of their own.
    pub(crate) fn nested_modules(&self) -> Vec<Range<usize>> {
        let opened = self.in_code("mod ").into_iter().filter(|&at| !self.continues_a_path(at));
        let bodies = opened.filter_map(|at| self.body_after(at));
        bodies.map(|body| body..self.close_of(body)).collect()
    }

    /// Whether the item whose keyword stands at a place can be seen outside of its module.
    pub(crate) fn is_public(&self, keyword: usize) -> bool {
        let before: String = self.chars[..keyword].iter().collect();
        let before = before.trim_end();
        before.ends_with("pub")
            || before.rsplit_once("pub(").is_some_and(|(_, scope)| {
                scope.strip_suffix(')').is_some_and(|scope| !scope.contains(')'))
            })
    }

    /// A statement that begins at a place, up to its semicolon.
    pub(crate) fn statement(&self, place: usize) -> Range<usize> {
        let is_end = |at: &usize| self.chars[*at] == ';' && self.kinds[*at] == Kind::Code;
        place..(place..self.chars.len()).find(is_end).unwrap_or(self.chars.len())
    }

    /// Whether what begins at a place goes on a word or a path that began before.
    pub fn continues_a_path(&self, place: usize) -> bool {
        place.checked_sub(1).is_some_and(|before| {
            let letter = self.chars[before];
            is_word(letter) || letter == ':'
        })
    }

    /// The text between the delimiter at a place and the one that closes it, literals left out.
    pub fn inside(&self, open: usize) -> String {
        let close = self.close_of(open);
        (open + 1..close)
            .filter(|at| self.kinds[*at] == Kind::Code)
            .map(|at| self.chars[at])
            .collect()
    }

    /// Its functions, nested ones too, in the order of their names' places.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for at in self.in_code("fn ") {
            if at > 0 && is_word(self.chars[at - 1]) {
                continue;
            }
            let name: String = self.chars[at + 3..].iter().take_while(|c| is_word(**c)).collect();
            if let Some(body) = self.body_after(at).filter(|_| !name.is_empty()) {
                let line = self.line_of(at);
                let lines = self.line_of(self.close_of(body)) - line + 1;
                found.push(Function { name, line, lines });
            }
        }
        found
    }

    fn find(&self, pattern: &str, kind: Kind) -> Vec<usize> {
        let pattern: Vec<char> = pattern.chars().collect();
        let starts = self.chars.windows(pattern.len()).enumerate();
        starts
            .filter(|(at, window)| {
                *window == pattern
                    && self.kinds[*at..*at + pattern.len()].iter().all(|found| *found == kind)
            })
            .map(|(at, _)| at)
            .collect()
    }

    fn find_tests(&self) -> Vec<Range<usize>> {
        if !self.in_code("#![cfg(test)]").is_empty() {
            return iter::once(0..self.chars.len()).collect();
        }
        let mut found: Vec<Range<usize>> = Vec::new();
        for start in self.in_code("#[cfg(test)]") {
            if found.last().is_some_and(|last| last.contains(&start)) {
                continue;
            }
            let end = match self.body_after(start) {
                Some(body) => self.close_of(body) + 1,
                None => self.starts.get(self.line_of(start)).copied().unwrap_or(self.chars.len()),
            };
            found.push(start..end);
        }
        found
    }

    /// The brace that opens the body of the item at a place; none if it ends with a semicolon.
    fn body_after(&self, item: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (item..self.chars.len()).filter(|at| self.kinds[*at] == Kind::Code) {
            match self.chars[at] {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '{' if depth == 0 => return Some(at),
                ';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The place that closes what is opened at `open`; the end of the file if nothing does.
    fn close_of(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in (open..self.chars.len()).filter(|at| self.kinds[*at] == Kind::Code) {
            match self.chars[at] {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.chars.len().saturating_sub(1)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn kinds(chars: &[char]) -> Vec<Kind> {
    let mut kinds = Vec::with_capacity(chars.len());
    while kinds.len() < chars.len() {
        let at = kinds.len();
        let (kind, length) = token(chars, at);
        kinds.resize((at + length).min(chars.len()), kind);
    }
    kinds
}

/// What begins at a place, and how far it goes.
fn token(chars: &[char], at: usize) -> (Kind, usize) {
    let rest = &chars[at..];
    let in_word = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => {
            (Kind::Comment, rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()))
        }
        ['/', '*', ..] => (Kind::Comment, block_comment(rest)),
        ['"', ..] => (Kind::Literal, quoted(rest, '"')),
        ['b' | 'c', 'r', ..] if !in_word => match raw_string(&rest[1..]) {
            Some(length) => (Kind::Literal, length + 1),
            None => (Kind::Code, 1),
        },
        ['r', ..] if !in_word => match raw_string(rest) {
            Some(length) => (Kind::Literal, length),
            None => (Kind::Code, 1),
        },
        // A lifetime has no quote where a character's would be.
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Kind::Literal, quoted(rest, '\'')),
        _ => (Kind::Code, 1),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a raw string from its `r` on, if it is one.
fn raw_string(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    let close = rest[open + 1..].windows(end.len()).position(|window| window == end);
    Some(close.map_or(rest.len(), |close| open + 1 + close + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"//! Says word.
fn one<'a>(x: &'a str) -> [u8; 2] { // word
    let s = "word } \" word";
    let r = r#"word " word"#; /* word /* word */ } */
    let c = ['"', '\'', '}'];
    word()
}

trait T {
    fn declared(&self);
}

#[cfg(test)]
mod tests {
    fn two() {
        word()
    }
}
"##;

    fn lines(source: &Source<'_>, places: &[usize]) -> Vec<usize> {
        places.iter().map(|place| source.line_of(*place)).collect()
    }

    #[test]
    fn code_comments_and_literals_are_told_apart() {
        let source = Source::of("crates/x/src/x.rs", TEXT);
        assert_eq!(lines(&source, &source.in_code("word")), [6, 16]);
        assert_eq!(lines(&source, &source.in_comments("word")), [1, 2, 4, 4]);
    }

    #[test]
    fn functions_with_bodies_are_measured() {
        let found = Source::of("crates/x/src/x.rs", TEXT).functions();
        let found: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.line, one.lines)).collect();
        assert_eq!(found, [("one", 2, 6), ("two", 15, 3)]);
    }

    #[test]
    fn tests_are_known_and_left_out() {
        let source = Source::of("crates/x/src/x.rs", TEXT);
        let places = source.in_code("word");
        assert_eq!([source.is_test(places[0]), source.is_test(places[1])], [false, true]);
        assert_eq!(source.lines_without_tests(), 12);
        assert!(Source::of("crates/x/tests/x.rs", TEXT).is_test(places[0]));
    }

    #[test]
    fn what_is_inside_delimiters_leaves_literals_out() {
        let source = Source::of("x.rs", r#"#[allow(one, because = "two ]")]"#);
        assert_eq!(source.inside(1), "allow(one, because = )");
    }
}
