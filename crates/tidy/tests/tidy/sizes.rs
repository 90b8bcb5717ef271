//! What is small stays small.
//!
//! Lines, files, functions and cycles of modules have limits. What exceeds one is listed with its
//! size in `ratchet.toml`, and only shrinks: a size there that is no longer needed, or more than
//! needed, is an offence as well, so that nothing grows back.

use std::collections::BTreeMap;

use toml::de::DeValue;
use vorrang_tidy::{Crate, Manifest, Modules, Offences, Source, Tree, Use};

const RATCHET: &str = "crates/tidy/ratchet.toml";

/// Characters in a line.
const LINE_LIMIT: usize = 100;
/// Lines in a file, its own tests aside.
const FILE_LIMIT: usize = 500;
/// Lines in a function, from its name to its last brace.
const FUNCTION_LIMIT: usize = 70;

/// What exceeds a limit, by what the ratchet calls it.
type Sizes = BTreeMap<String, Size>;

struct Size {
    size: usize,
    /// The lines to look at.
    lines: Vec<usize>,
}

#[test]
fn lines_are_no_wider_than_a_page() {
    check("lines", "line(s) wider than 100 characters", 0, "break them", |source, sizes| {
        let numbered = (1..).zip(source.text.lines());
        let wide = numbered.filter(|(_, line)| line.chars().count() > LINE_LIMIT);
        let lines: Vec<usize> = wide.map(|(number, _)| number).collect();
        if !lines.is_empty() {
            sizes.insert(source.path.to_owned(), Size { size: lines.len(), lines });
        }
    });
}

#[test]
fn files_are_no_longer_than_a_chapter() {
    check("files", "lines without tests", FILE_LIMIT, "split the file", |source, sizes| {
        let size = source.lines_without_tests();
        if size > FILE_LIMIT {
            sizes.insert(source.path.to_owned(), Size { size, lines: vec![1] });
        }
    });
}

/// Of functions that share a name and a file, the longest counts.
#[test]
fn functions_are_no_longer_than_a_page() {
    check("functions", "lines", FUNCTION_LIMIT, "give a part of it a name", |source, sizes| {
        for function in source.functions() {
            let key = format!("{}::{}", source.path, function.name);
            let longest = sizes.get(&key).map_or(FUNCTION_LIMIT, |longest| longest.size);
            if function.lines > longest {
                sizes.insert(key, Size { size: function.lines, lines: vec![function.line] });
            }
        }
    });
}

/// Modules of a crate that need each other are one module in several files.
#[test]
fn modules_form_no_cycles() {
    let tree = Tree::read();
    let sources = tree.sources();
    let (mut sizes, mut uses) = (Sizes::new(), Vec::new());
    for Crate { name, .. } in tree.crates() {
        let folder = format!("crates/{name}/src/");
        let mut all = vec![(format!("crates/{name}"), Modules::of(&sources, &folder))];
        let below = Modules::below(&sources, &folder).into_iter();
        all.extend(below.map(|(path, modules)| (format!("{folder}{path}"), modules)));
        for (key, modules) in all {
            let cycles = modules.cycles();
            let size = cycles.iter().map(Vec::len).sum();
            if size > 0 {
                sizes.insert(key.clone(), Size { size, lines: vec![1] });
            }
            let inside = cycles.iter().flat_map(|group| modules.uses_in(group));
            uses.extend(inside.map(|it| {
                let Use { module, other, path, line } = it;
                (key.clone(), format!("{path}:{line}: {module} uses {other}"))
            }));
        }
    }
    let remedy = |key: &str| {
        let of = uses.iter().filter(|(of, _)| of == key).map(|(_, text)| format!("\n    {text}"));
        format!("have them use each other in one direction only{}", of.collect::<String>())
    };
    compare(&tree, "cycles", "modules that need each other", 0, remedy, &sizes);
}

/// Compares what is there with the table of the ratchet.
#[track_caller]
fn check(
    table: &str,
    unit: &str,
    limit: usize,
    remedy: &str,
    measure: impl Fn(&Source<'_>, &mut Sizes),
) {
    let tree = Tree::read();
    let mut sizes = Sizes::new();
    for source in tree.sources() {
        measure(&source, &mut sizes);
    }
    compare(&tree, table, unit, limit, |_| remedy.to_owned(), &sizes);
}

#[track_caller]
fn compare(
    tree: &Tree,
    table: &str,
    unit: &str,
    limit: usize,
    remedy: impl Fn(&str) -> String,
    sizes: &Sizes,
) {
    let ratchet = Manifest::parse(RATCHET, tree.text(RATCHET));
    let entries = ratchet.value(&[table]).and_then(DeValue::as_table);
    let entries = entries.unwrap_or_else(|| panic!("{RATCHET} has no table [{table}]: add it"));
    let mut allowed: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, value) in entries {
        let size = value.get_ref().as_integer().and_then(|size| size.as_str().parse().ok());
        allowed.insert(key.get_ref(), size.expect("a size in the ratchet is a number"));
    }

    let mut offences = Offences::default();
    for (key, Size { size, lines }) in sizes {
        let path = key.split("::").next().expect("a split has a first part");
        let before = allowed.remove(key.as_str());
        if before.is_some_and(|before| before > *size) {
            let what = format!("{key} needs less by now: write {size}");
            offences.add(RATCHET, line_of(tree, key), what);
        } else if before != Some(*size) {
            for line in lines {
                let what = format!("{size} {unit}, {limit} is the limit: {}", remedy(key));
                offences.add(path, *line, what);
            }
        }
    }
    for key in allowed.keys() {
        let what = format!("{key} is within the limit: remove the exception");
        offences.add(RATCHET, line_of(tree, key), what);
    }
    offences.assert_none();
}

fn line_of(tree: &Tree, key: &str) -> usize {
    let quoted = format!("\"{key}\"");
    tree.text(RATCHET).lines().position(|line| line.starts_with(&quoted)).map_or(1, |at| at + 1)
}
