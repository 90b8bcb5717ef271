//! The algorithms' cards, their files, and where documents list them.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;

use vorrang_algorithms::card::About;
use vorrang_catalogue::abouts;
use vorrang_testkit::is_set;
use vorrang_tidy::{File, Offences, Tree};

const REGISTRY: &str = "crates/algorithms/src/registry.rs";
const ALGORITHMS: &str = "crates/algorithms/src/";

const FOUND: &str = "VORRANG_REWRITE=1 cargo test -p vorrang-cli --test cli pinned";

const BEGIN: &str = "<!-- algorithms -->";
const END: &str = "<!-- /algorithms -->";

#[test]
fn an_algorithm_is_called_like_its_file() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    let mut names = HashSet::new();
    for card in abouts() {
        let name = card.name;
        if !is_kebab_case(name) {
            let what = format!("'{name}' is not kebab-case: write it in small letters and hyphens");
            offences.add(REGISTRY, 1, what);
        }
        if !names.insert(name) {
            offences.add(REGISTRY, 1, format!("two cards are called '{name}': rename one"));
        }
        let wanted = name.replace('-', "_");
        let is_fine = |path: &str| {
            path.ends_with(&format!("/{wanted}.rs")) || path.ends_with(&format!("/{wanted}/mod.rs"))
        };
        match file_of(&tree, &card) {
            Some(file) if is_fine(&file.path) => {}
            Some(file) => {
                let what = format!("holds '{name}': rename the file to {wanted}.rs");
                offences.add(&file.path, 1, what);
            }
            None => {
                let what =
                    format!("the page on the card of '{name}' is of no file: take that of its own");
                offences.add(REGISTRY, 1, what);
            }
        }
    }
    offences.assert_none();
}

#[test]
fn every_card_is_in_the_registry() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    let known = abouts();
    for source in tree.sources() {
        let Some(place) = source.in_code("const CARD: Card").first().copied() else { continue };
        if !known.iter().any(|card| is_of(card, source.text)) {
            let what = format!("this card is in no catalogue: add a line for it in {REGISTRY}");
            offences.add(source.path, source.line_of(place), what);
        }
    }
    offences.assert_none();
}

#[test]
fn every_flaw_has_a_name_of_its_own_and_a_run_that_shows_it() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for card in abouts() {
        let path = file_of(&tree, &card).map_or(REGISTRY, |file| &file.path);
        let mut names = HashSet::new();
        for flaw in &card.mistakes {
            let name = flaw.name;
            let quoted = format!("\"{name}\"");
            let file =
                file_of(&tree, &card).and_then(|it| it.text.find(&quoted).map(|at| (it, at)));
            let line = file.map_or(1, |(it, at)| it.text[..at].lines().count());
            let mut check = |fine: bool, what: &str| {
                if !fine {
                    offences.add(path, line, format!("the flaw '{name}' {what}"));
                }
            };
            check(is_kebab_case(name), "is not kebab-case: write small letters and hyphens");
            check(names.insert(name), "is there twice: rename one");
            check(flaw.steps.is_some(), &format!("was never found by the checker: run {FOUND}"));
            check(!flaw.what.is_empty(), "is not described: say what is wrong, in a sentence");
            check(!flaw.breaks.is_empty(), "breaks nothing: name the property");
        }
    }
    offences.assert_none();
}

#[test]
fn the_readme_names_the_algorithms_of_the_registry() {
    check_list("README.md", &names_by_problem());
}

#[test]
fn the_table_of_algorithms_is_that_of_the_registry() {
    check_list("docs/algorithms.md", &table());
}

/// Compares what a document says between the two marks with what it should say; writes that
/// instead if `VORRANG_REWRITE` is 1.
#[track_caller]
fn check_list(path: &str, wanted: &str) {
    const FIX: &str = "VORRANG_REWRITE=1 cargo test -p vorrang-tidy";
    let tree = Tree::read();
    let mut offences = Offences::default();
    match tree.file(path).map(|file| (file, block(&file.text))) {
        None => offences.add(path, 1, "is missing: write it, with a list of the algorithms"),
        Some((_, None)) => {
            let what = format!("has no list of algorithms: add {BEGIN} and {END}, then run {FIX}");
            offences.add(path, 1, what);
        }
        Some((file, Some((before, list, after)))) => {
            let wanted = format!("\n\n{wanted}\n");
            if list != wanted && is_set("VORRANG_REWRITE") {
                let text = format!("{before}{wanted}{after}");
                fs::write(tree.locate(&file.path), text).expect("a document can be written");
            } else if list != wanted {
                let line = before.lines().count();
                let what = format!("the list of algorithms is out of date: run {FIX}");
                offences.add(path, line, what);
            }
        }
    }
    offences.assert_none();
}

/// A line a problem, with the names of the algorithms that solve it.
fn names_by_problem() -> String {
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for About { name, solves, .. } in abouts() {
        let name = format!("`{name}`");
        match lines.iter_mut().find(|(problem, _)| *problem == solves) {
            Some((_, names)) => names.push(name),
            None => lines.push((solves, vec![name])),
        }
    }
    let line =
        |(problem, names): (&str, Vec<String>)| format!("- **{problem}**: {}", names.join(", "));
    let lines: Vec<String> = lines.into_iter().map(line).collect();
    lines.join("\n") + "\n"
}

/// A line an algorithm, with what it assumes and where it comes from.
fn table() -> String {
    let mut table = "| Name | Algorithm | Problem | Links | Source |\n".to_owned();
    table.push_str("| --- | --- | --- | --- | --- |\n");
    for card in abouts() {
        let About { name, title, solves, citation, assumes, .. } = card;
        let links = assumes.in_short();
        let [title, solves, citation] = [title, solves, citation].map(in_cell);
        writeln!(table, "| `{name}` | {title} | {solves} | {links} | {citation} |")
            .expect("a string takes all that is written to it");
    }
    table
}

fn in_cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// The text up to the begin of the list, the list, and the text from its end on.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let begin = text.find(BEGIN)? + BEGIN.len();
    let end = begin + text[begin..].find(END)?;
    Some((&text[..begin], &text[begin..end], &text[end..]))
}

/// Whether this is the text of the file whose page the card has.
fn is_of(card: &About, text: &str) -> bool {
    !card.page.is_empty() && text.starts_with(card.page)
}

/// The file whose page the card has.
fn file_of<'t>(tree: &'t Tree, card: &About) -> Option<&'t File> {
    let mut files = tree.files().iter().filter(|file| file.path.starts_with(ALGORITHMS));
    files.find(|file| is_of(card, &file.text))
}

fn is_kebab_case(name: &str) -> bool {
    name.split('-').all(|part| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    })
}
