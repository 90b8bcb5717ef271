//! Which modules of a crate use which others.
//!
//! A module here is what stands at the top of a crate: `src/name.rs`, or all of `src/name/`. It
//! uses another if its code names it, from the root of the crate (`crate::other`) or from where it
//! is (`super::other`), tests aside; or if it names something that the root has imported from it.

use std::collections::{BTreeMap, BTreeSet};

use crate::Source;

/// The modules of one crate.
#[derive(Debug)]
pub struct Modules {
    /// For each, those that it uses, and where: a path and a line.
    uses: BTreeMap<String, BTreeMap<String, (String, usize)>>,
}

impl Modules {
    /// Of the sources of a crate, those under this folder.
    pub fn of(sources: &[Source<'_>], folder: &str) -> Self {
        let within: Vec<(&Source<'_>, Vec<&str>)> = sources
            .iter()
            .filter_map(|source| Some((source, place_of(source.path.strip_prefix(folder)?))))
            .collect();
        let names: BTreeSet<&str> =
            within.iter().filter(|(_, place)| !is_root(place)).map(|(_, place)| place[0]).collect();
        let mut imported: BTreeMap<String, String> = BTreeMap::new();
        for (source, _) in within.iter().filter(|(_, place)| is_root(place)) {
            for name in &names {
                for item in imports(source, name) {
                    imported.insert(item, (*name).to_owned());
                }
            }
        }
        let mut uses: BTreeMap<String, BTreeMap<String, (String, usize)>> = BTreeMap::new();
        for (source, place) in within.iter().filter(|(_, place)| !is_root(place)) {
            let from_here = "super::".repeat(place.len());
            let found = named(source, "crate::").into_iter().chain(named(source, &from_here));
            for (word, line) in found {
                let other =
                    names.get(&*word).copied().or_else(|| imported.get(&word).map(|it| &**it));
                let Some(other) = other.filter(|other| *other != place[0]) else { continue };
                let of = uses.entry(place[0].to_owned()).or_default();
                of.entry(other.to_owned()).or_insert_with(|| (source.path.to_owned(), line));
            }
        }
        Self { uses }
    }

    /// Modules that need each other, directly or by way of others: each such group.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.uses.keys().map(|name| (&**name, self.reach(name))).collect();
        let need_each_other = |one: &str, other: &str| {
            reached.get(one).is_some_and(|it| it.contains(other))
                && reached.get(other).is_some_and(|it| it.contains(one))
        };
        let mut groups: Vec<Vec<&str>> = Vec::new();
        for name in reached.keys().filter(|name| need_each_other(name, name)) {
            match groups.iter_mut().find(|group| need_each_other(group[0], name)) {
                Some(group) => group.push(name),
                None => groups.push(vec![name]),
            }
        }
        groups
    }

    /// The uses inside a group: who, whom, and where.
    pub fn uses_in<'a>(&'a self, group: &'a [&str]) -> impl Iterator<Item = Use<'a>> {
        let of = |name: &&str| self.uses.get(*name).map(move |uses| (name.to_string(), uses));
        group.iter().filter_map(of).flat_map(move |(module, uses)| {
            let inside = uses.iter().filter(|(other, _)| group.contains(&&***other));
            inside.map(move |(other, (path, line))| Use {
                module: module.clone(),
                other,
                path,
                line: *line,
            })
        })
    }

    fn reach(&self, from: &str) -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(name) = open.pop() {
            for other in self.uses.get(name).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(&**other) {
                    open.push(other);
                }
            }
        }
        reached
    }
}

/// One module that uses another.
#[derive(Debug)]
pub struct Use<'a> {
    /// Who.
    pub module: String,
    /// Whom.
    pub other: &'a str,
    /// In which file.
    pub path: &'a str,
    /// On which line.
    pub line: usize,
}

/// The modules in which a file lies, the topmost first; itself last.
fn place_of(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut place: Vec<&str> = path.split('/').collect();
    if place.len() > 1 && place.last() == Some(&"mod") {
        place.pop();
    }
    place
}

fn is_root(place: &[&str]) -> bool {
    matches!(place, ["lib" | "main"])
}

/// What follows this path in code that is not of tests alone: the first word of each.
fn named(source: &Source<'_>, path: &str) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for place in source.in_code(path).into_iter().filter(|&place| !source.is_test(place)) {
        if source.continues_a_path(place) {
            continue;
        }
        let line = source.line_of(place);
        let after = place + path.chars().count();
        let words = source.word_at(after).map_or_else(|| listed(source, after), |it| vec![it]);
        all.extend(words.into_iter().map(|word| (word, line)));
    }
    all
}

/// The first words of what stands between braces, if a brace is there.
fn listed(source: &Source<'_>, place: usize) -> Vec<String> {
    if source.char_at(place) != Some('{') {
        return Vec::new();
    }
    let (mut depth, mut words, mut is_next) = (0, Vec::new(), true);
    let mut word = String::new();
    for letter in source.inside(place).chars().chain([',']) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && letter == ',' {
            words.push(std::mem::take(&mut word));
            is_next = true;
        } else if depth == 0 && is_next && (letter.is_alphanumeric() || letter == '_') {
            word.push(letter);
        } else if !word.is_empty() {
            is_next = false;
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What the root imports from a module, by the names that it then has there.
fn imports(source: &Source<'_>, module: &str) -> Vec<String> {
    let mut all = Vec::new();
    for path in [format!("use {module}::"), format!("use crate::{module}::")] {
        for place in source.in_code(&path) {
            let after = place + path.chars().count();
            all.extend(source.word_at(after));
            all.extend(listed(source, after));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source<'_>> =
            files.iter().map(|(path, text)| Source::of(path, text)).collect();
        let modules = Modules::of(&sources, "crates/x/src/");
        let owned = |group: Vec<&str>| group.into_iter().map(str::to_owned).collect();
        modules.cycles().into_iter().map(owned).collect()
    }

    #[test]
    fn a_planted_cycle_is_found_however_modules_are_named() {
        let found = [["a", "b", "c"].map(str::to_owned).to_vec()];
        for (a, b, c) in [
            ("use crate::b::X;", "use crate::{c::Y, d};", "use crate::a;"),
            ("fn f() { super::b::g() }", "use super::{d, c};", "use crate::a;"),
            ("use crate::b;", "use crate::{d::{c}, c};", "use super::a;"),
            ("use crate::b;", "use crate::c;", "use crate::Kept;"),
        ] {
            let files = [
                ("crates/x/src/lib.rs", "mod a; mod b; mod c; mod d; pub use a::{Kept, Other};"),
                ("crates/x/src/a.rs", a),
                ("crates/x/src/b/mod.rs", b),
                ("crates/x/src/c.rs", c),
                ("crates/x/src/d.rs", "// crate::a\nconst X: &str = \"crate::b\";"),
            ];
            assert_eq!(cycles(&files), found, "{a} {b} {c}");
        }
    }

    #[test]
    fn what_is_no_cycle_is_none() {
        let tests = "use crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n";
        let files = [
            ("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
            ("crates/x/src/a.rs", tests),
            // Within a module everything may use everything.
            ("crates/x/src/b/mod.rs", "mod inner; use crate::c;"),
            ("crates/x/src/b/inner.rs", "use super::c; use crate::b::X; use super::super::c;"),
            ("crates/x/src/c.rs", "use other::a; fn crate_a() {} use self::a::b;"),
            ("crates/y/src/c.rs", "use crate::a;"),
        ];
        assert!(cycles(&files).is_empty());
        let uses = [
            ("crates/x/src/lib.rs", "mod a; mod b;"),
            ("crates/x/src/a.rs", "\n\nuse crate::b;"),
            ("crates/x/src/b.rs", "use crate::a;"),
        ];
        let sources: Vec<Source<'_>> =
            uses.iter().map(|(path, text)| Source::of(path, text)).collect();
        let modules = Modules::of(&sources, "crates/x/src/");
        let group = modules.cycles().remove(0);
        let first = modules.uses_in(&group).next().expect("there is a cycle");
        assert_eq!((&*first.module, first.other, first.line), ("a", "b", 3));
    }
}
