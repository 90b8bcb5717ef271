//! Paths in code, written out: `a::{b, c::d as e}` is `a::b` and `a::c::d`.

use std::iter::Peekable;

use crate::Source;

/// One path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Path {
    /// Its words, without a star at its end.
    pub(crate) segments: Vec<String>,
    /// Whether everything there is meant.
    pub(crate) is_glob: bool,
    alias: Option<String>,
}

impl Path {
    /// What an import of it is called.
    pub(crate) fn name(&self) -> &str {
        self.alias.as_ref().or(self.segments.last()).map_or("", |word| word)
    }
}

/// The paths that begin at a place of the code: several if there are braces.
pub(crate) fn paths_at(source: &Source<'_>, place: usize) -> Vec<Path> {
    let mut letters = source.code_from(place).peekable();
    read(&mut letters)
}

fn read(letters: &mut Peekable<impl Iterator<Item = char>>) -> Vec<Path> {
    skip_space(letters);
    match letters.peek() {
        Some('{') => listed(letters),
        Some('*') => {
            letters.next();
            vec![Path { is_glob: true, ..Path::default() }]
        }
        Some(_) | None => {
            let word = word(letters);
            if word.is_empty() {
                return vec![Path::default()];
            }
            skip_space(letters);
            let mut rest = vec![Path::default()];
            if letters.next_if_eq(&':').is_some() && letters.next_if_eq(&':').is_some() {
                rest = read(letters);
            } else if letters.peek() == Some(&'a') && self::word(letters) == "as" {
                skip_space(letters);
                rest[0].alias = Some(self::word(letters));
            }
            for path in &mut rest {
                path.segments.insert(0, word.clone());
            }
            rest
        }
    }
}

/// What stands between braces.
fn listed(letters: &mut Peekable<impl Iterator<Item = char>>) -> Vec<Path> {
    letters.next();
    let mut all = Vec::new();
    loop {
        skip_space(letters);
        match letters.peek() {
            None => return all,
            Some('}') => {
                letters.next();
                return all;
            }
            Some(&letter) if letter == '{' || letter == '*' || is_word(letter) => {
                all.extend(read(letters));
            }
            Some(_) => {
                letters.next();
            }
        }
    }
}

fn skip_space(letters: &mut Peekable<impl Iterator<Item = char>>) {
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
}

fn word(letters: &mut Peekable<impl Iterator<Item = char>>) -> String {
    let mut word = String::new();
    while let Some(letter) = letters.next_if(|&letter| is_word(letter)) {
        word.push(letter);
    }
    word
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_braces_is_several_each_with_the_name_of_its_import() {
        let written = |text: &str| -> Vec<String> {
            let paths = paths_at(&Source::of("x.rs", text), 0);
            let all = paths.iter().map(|path| {
                let star = if path.is_glob { "::*" } else { "" };
                format!("{}{star} {}", path.segments.join("::"), path.name())
            });
            all.collect()
        };
        assert_eq!(written("a::b;"), ["a::b b"]);
        assert_eq!(written("a::b::<u8>() + c::d"), ["a::b b"]);
        assert_eq!(
            written("a::{self, b as e, /* f, */ c::{d::*, g},\n}; h::i"),
            ["a::self self", "a::b e", "a::c::d::* d", "a::c::g g"]
        );
    }
}
