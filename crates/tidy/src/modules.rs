//! Which modules of a crate use which others.
//!
//! A module here is what stands at the top of a crate: `src/name.rs`, or all of `src/name/`; and
//! the root, `src/lib.rs` or `src/main.rs`, is one. A module uses another if a path in its code,
//! tests aside, leads there: from the root of the crate (`crate::other`) or from where the path
//! stands (`super::other`), in an import or an expression, and in modules within modules. What the
//! root has imported belongs to the module from which it comes; to re-export it is no use of it.
//!
//! The same is asked of what stands next to each other in a folder further below. There `mod.rs` is
//! the whole of which the others are parts, and is not counted: it may use them, and they it.
//!
//! Types are not known here. A method is not seen to be of the module in which its `impl` stands.

use std::collections::{BTreeMap, BTreeSet};

use crate::Source;
use crate::paths::{Path, paths_at};

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
        let mut root = Root::default();
        for (source, place) in within.iter().filter(|(_, place)| is_root(place)) {
            root.read(source, place[0], &names);
        }
        let mut modules = Self { uses: BTreeMap::new() };
        for (source, place) in &within {
            for (path, at) in from_root(source, place) {
                let first = path.segments.first().map(String::as_str);
                for other in first.map(|word| root.owners(word, &names)).unwrap_or_default() {
                    modules.note(place[0], &other, source, at);
                }
            }
            if is_root(place) {
                for (path, at) in root_paths(source, &names) {
                    modules.note(place[0], &path.segments[0], source, at);
                }
            }
        }
        modules
    }

    /// Of the sources of a crate, those next to each other in each folder below the top, under the
    /// folder's path from there.
    pub fn below(sources: &[Source<'_>], folder: &str) -> BTreeMap<String, Self> {
        let within: Vec<(&Source<'_>, Vec<&str>)> = sources
            .iter()
            .filter_map(|source| Some((source, place_of(source.path.strip_prefix(folder)?))))
            .collect();
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        for (source, place) in within.iter().filter(|(_, place)| place.len() > 1) {
            for (path, at) in absolute(source, place) {
                // Where the ways to both part, they stand next to each other.
                let words = path.segments.iter().map(String::as_str);
                let shared = words.zip(place).take_while(|(one, other)| one == *other).count();
                if (1..place.len()).contains(&shared) && shared < path.segments.len() {
                    let other = &path.segments[shared];
                    let mut beside = place[..shared].to_vec();
                    beside.push(other);
                    if within.iter().any(|(_, place)| place.starts_with(&beside)) {
                        let of = all.entry(place[..shared].join("/"));
                        let of = of.or_insert_with(|| Self { uses: BTreeMap::new() });
                        of.note(place[shared], other, source, at);
                    }
                }
            }
        }
        all
    }

    fn note(&mut self, module: &str, other: &str, source: &Source<'_>, at: usize) {
        if module != other {
            let of = self.uses.entry(module.to_owned()).or_default();
            let place = || (source.path.to_owned(), source.line_of(at));
            of.entry(other.to_owned()).or_insert_with(place);
        }
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

/// What the root of a crate has, besides its modules.
#[derive(Default)]
struct Root {
    /// `lib` or `main`.
    name: String,
    /// By the names that they have there, what is imported and from which module.
    imported: BTreeMap<String, String>,
    /// Modules of which everything is imported.
    everything_of: BTreeSet<String>,
}

impl Root {
    fn read(&mut self, source: &Source<'_>, name: &str, names: &BTreeSet<&str>) {
        // Of a program and a library in one folder, modules belong to the library.
        if self.name != "lib" {
            name.clone_into(&mut self.name);
        }
        for place in source.in_code("use ") {
            if source.continues_a_path(place) || source.is_test(place) {
                continue;
            }
            for mut path in paths_at(source, place + "use ".len()) {
                path.segments.retain(|word| word != "crate" && word != "self");
                let Some(module) = path.segments.first().filter(|it| names.contains(&***it)) else {
                    continue;
                };
                if path.is_glob {
                    self.everything_of.insert(module.clone());
                } else {
                    self.imported.insert(path.name().to_owned(), module.clone());
                }
            }
        }
    }

    /// To which modules a word may belong that stands behind the root of a crate.
    fn owners(&self, word: &str, names: &BTreeSet<&str>) -> Vec<String> {
        if names.contains(word) {
            vec![word.to_owned()]
        } else if let Some(module) = self.imported.get(word) {
            vec![module.clone()]
        } else {
            self.everything_of.iter().chain([&self.name]).cloned().collect()
        }
    }
}

/// The paths of a file's code that lead to the root of its crate, and go on from there.
fn from_root(source: &Source<'_>, place: &[&str]) -> Vec<(Path, usize)> {
    resolved(source, place).filter(|it| it.base == 0).map(|it| (it.path, it.at)).collect()
}

/// The paths of a file's code, each from the root of its crate on.
fn absolute(source: &Source<'_>, place: &[&str]) -> Vec<(Path, usize)> {
    let with_base = resolved(source, place).filter(|it| it.base <= place.len()).map(|mut it| {
        it.path.segments.splice(0..0, place[..it.base].iter().map(|&word| word.to_owned()));
        (it.path, it.at)
    });
    with_base.collect()
}

/// A path in code.
struct Resolved {
    /// How many modules lie above the one from which it goes on.
    base: usize,
    /// How it goes on from there.
    path: Path,
    /// Where it stands.
    at: usize,
}

fn resolved<'a>(source: &'a Source<'_>, place: &[&str]) -> impl Iterator<Item = Resolved> + 'a {
    let depth = if is_root(place) { 0 } else { place.len() };
    let nested = source.nested_modules();
    let starts = ["crate::", "super::", "self::"].into_iter();
    let found = starts.flat_map(move |start| beginnings(source, start));
    found
        .flat_map(move |at| {
            let depth = depth + nested.iter().filter(|module| module.contains(&at)).count();
            paths_at(source, at).into_iter().map(move |mut path| {
                let is_relative = |word: &&String| ["crate", "super", "self"].contains(&&***word);
                let steps: Vec<String> =
                    path.segments.iter().take_while(is_relative).cloned().collect();
                let up = steps.iter().filter(|word| *word == "super").count();
                path.segments.drain(..steps.len());
                let is_from_root = steps.first().is_some_and(|word| word == "crate");
                let base = if is_from_root { 0 } else { depth.saturating_sub(up) };
                // What the root says of itself goes nowhere from there.
                (depth > 0 || is_from_root).then_some(Resolved { base, path, at })
            })
        })
        .flatten()
}

/// The paths of a root's code that begin with a module, but for those that are only handed on.
fn root_paths(source: &Source<'_>, names: &BTreeSet<&str>) -> Vec<(Path, usize)> {
    let nested = source.nested_modules();
    let handed_on: Vec<_> =
        source.in_code("use ").into_iter().filter(|&at| source.is_public(at)).collect();
    let mut all = Vec::new();
    for name in names {
        for at in beginnings(source, &format!("{name}::")) {
            let is_handed_on = handed_on.iter().any(|&from| source.statement(from).contains(&at));
            if !is_handed_on && !nested.iter().any(|module| module.contains(&at)) {
                all.extend(paths_at(source, at).into_iter().map(|path| (path, at)));
            }
        }
    }
    all
}

/// Where paths begin so, in code that is not of tests alone.
fn beginnings(source: &Source<'_>, path: &str) -> Vec<usize> {
    let is_one = |&at: &usize| !source.is_test(at) && !source.continues_a_path(at);
    source.in_code(path).into_iter().filter(is_one).collect()
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
            // Under another name, from further below, and with everything else.
            ("use crate::b;", "use crate::c;", "use crate::Renamed;"),
            ("use crate::b;", "use crate::c;", "use crate::Deep;"),
            ("use crate::b;", "use crate::c;", "fn f() -> crate::Any {}"),
            // In modules that have no file of their own, and in expressions.
            ("mod inner { use super::super::b; }", "use crate::c;", "use crate::a;"),
            ("fn f() { g(1 + crate::b::X) }", "fn f() { super::c::g::<u8>() }", "use super::{a};"),
            // Over several lines, with comments.
            ("use crate::{\n    // d\n    b::{X, Y as Z},\n};", "use crate::c;", "use crate::a;"),
        ] {
            let root = "mod a; mod b; mod c; mod d; pub use a::{Kept, Other as Renamed}; \
                        pub use a::{deep::{Deep}, x}; pub use a::*;";
            let files = [
                ("crates/x/src/lib.rs", root),
                ("crates/x/src/a.rs", a),
                ("crates/x/src/b/mod.rs", b),
                ("crates/x/src/c.rs", c),
                ("crates/x/src/d.rs", "// crate::a\nconst X: &str = \"crate::b\";"),
            ];
            assert_eq!(cycles(&files), found, "{a} {b} {c}");
        }
    }

    #[test]
    fn files_of_a_folder_count_for_it_however_deep_they_lie() {
        for inner in [
            "use super::super::super::a;",
            "use crate::{a};",
            "mod x { use super::super::super::super::a; }",
        ] {
            let files = [
                ("crates/x/src/lib.rs", "mod a; mod b;"),
                ("crates/x/src/a.rs", "use crate::b::X;"),
                ("crates/x/src/b/mod.rs", "mod c;"),
                ("crates/x/src/b/c/mod.rs", "mod d;"),
                ("crates/x/src/b/c/d.rs", inner),
            ];
            assert_eq!(cycles(&files), [["a", "b"].map(str::to_owned).to_vec()], "{inner}");
        }
    }

    #[test]
    fn parts_of_a_folder_are_looked_at_as_those_of_a_crate() {
        let below = |files: &[(&str, &str)]| {
            let sources: Vec<Source<'_>> =
                files.iter().map(|(path, text)| Source::of(path, text)).collect();
            let mut found = Vec::new();
            for (folder, modules) in Modules::below(&sources, "crates/x/src/") {
                let names = |group: Vec<&str>| group.into_iter().map(str::to_owned).collect();
                let groups: Vec<Vec<String>> = modules.cycles().into_iter().map(names).collect();
                found.extend(groups.into_iter().map(|group| (folder.clone(), group.join(" "))));
            }
            found
        };
        for (d, e) in [
            ("use super::e::X;", "use crate::b::d;"),
            ("fn f() { crate::b::e::g() }", "use super::{other, d::Y};"),
            ("mod x { use super::super::e::X; }", "use super::{e, d};"),
        ] {
            let files = [
                ("crates/x/src/lib.rs", "mod b;"),
                ("crates/x/src/b/mod.rs", "mod d; mod e; use d::X;"),
                ("crates/x/src/b/d/mod.rs", "mod deep;"),
                ("crates/x/src/b/d/deep.rs", d.replace("super::e", "super::super::e").leak()),
                ("crates/x/src/b/e.rs", e),
            ];
            assert_eq!(below(&files), [("b".to_owned(), "d e".to_owned())], "{d} {e}");
        }
        // A folder and its parts, tests, and others of the same name.
        assert!(
            below(&[
                ("crates/x/src/b/mod.rs", "mod d; mod e; use self::d::X; struct Whole;"),
                ("crates/x/src/b/d.rs", "use super::Whole; use super::e::Y;"),
                ("crates/x/src/b/e.rs", "#[cfg(test)]\nmod tests {\n use super::super::d::X;\n}\n"),
                ("crates/x/src/e.rs", "use crate::b::d::X;"),
            ])
            .is_empty()
        );
    }

    #[test]
    fn the_root_is_a_module_too_but_not_for_what_it_hands_on() {
        let crate_with = |root| {
            cycles(&[("crates/x/src/lib.rs", root), ("crates/x/src/a.rs", "use crate::Here;")])
        };
        let both = [["a", "lib"].map(str::to_owned).to_vec()];
        assert_eq!(crate_with("mod a; use a::X; pub struct Here(X);"), both);
        assert_eq!(crate_with("mod a; pub struct Here(crate::a::X);"), both);
        assert!(
            crate_with("mod a; pub use a::X; pub(crate) use a::Y; pub struct Here;").is_empty()
        );
        assert!(crate_with("mod a; pub use a::{X, Here};").is_empty());
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

    #[test]
    fn a_name_on_the_way_of_a_path_from_elsewhere_is_no_module() {
        let crate_with = |root| {
            cycles(&[("crates/x/src/lib.rs", root), ("crates/x/src/a.rs", "use crate::Here;")])
        };
        assert!(crate_with("mod a; use other::a::X; pub struct Here(X);").is_empty());
        assert!(crate_with("mod a; pub struct Here(other::a::X);").is_empty());
        assert!(!crate_with("mod a; pub struct Here(a::X);").is_empty());
    }
}
