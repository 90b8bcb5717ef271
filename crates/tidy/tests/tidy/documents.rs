//! What lies beside the code: documents, licences, and the script that checks a change.

use vorrang_tidy::{Offences, Tree};

/// What readers look for, and what they expect there.
const DOCUMENTS: [(&str, &str); 6] = [
    ("README.md", "what this is and how to use it"),
    ("ARCHITECTURE.md", "how it is built and why"),
    ("CONTRIBUTING.md", "how to change it"),
    ("CHANGELOG.md", "what has changed"),
    ("deny.toml", "which licences and sources are welcome"),
    (".ci/run", "what a change must pass"),
];

const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Folders that are on every machine; any other absolute path is somebody's own.
const ON_EVERY_MACHINE: [&str; 5] = ["bin", "dev", "etc", "proc", "usr"];

#[test]
fn readers_find_what_they_look_for() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for (path, what) in DOCUMENTS {
        if tree.file(path).is_none_or(|file| file.text.trim().is_empty()) {
            offences.add(path, 1, format!("is missing: write down {what}"));
        }
    }
    offences.assert_none();
}

#[test]
fn both_licences_are_there() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for path in LICENCES {
        if tree.file(path).is_none_or(|file| file.text.trim().is_empty()) {
            offences.add(path, 1, "is missing: add the text of the licence");
        }
    }
    let workspace = tree.workspace();
    if workspace.str(&["workspace", "package", "license"]) != Some("MIT OR Apache-2.0") {
        offences.add("Cargo.toml", 1, "license differs from the files: write MIT OR Apache-2.0");
    }
    offences.assert_none();
}

#[test]
fn nothing_speaks_of_one_machine() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for file in tree.files() {
        for (number, line) in (1..).zip(file.text.lines()) {
            for path in foreign_paths(line) {
                let what = format!("'{path}' is a place on one machine: name it relative to here");
                offences.add(&file.path, number, what);
            }
        }
    }
    offences.assert_none();
}

/// The beginnings of absolute paths that not every machine has. An absolute path is a slash at the
/// begin of a word, a name and one more slash.
fn foreign_paths(line: &str) -> Vec<&str> {
    let slashes = line.match_indices('/').map(|(at, _)| at);
    let paths = slashes.filter_map(|at| {
        let before = line[..at].chars().next_back();
        let begins_a_word = before.is_none_or(|c| c.is_whitespace() || "\"'`(=[,:|".contains(c));
        let name = line[at + 1..].split('/').next()?;
        let end = at + 1 + name.len();
        let is_name = name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        let is_path = begins_a_word && is_name && !name.is_empty() && line[end..].starts_with('/');
        (is_path && !ON_EVERY_MACHINE.contains(&name)).then(|| &line[at..=end])
    });
    paths.collect()
}

#[test]
fn a_place_on_one_machine_is_told_from_other_slashes() {
    let own = concat!("see '/", "nest/egg' and /", "nest/, but not nest/egg");
    assert_eq!(foreign_paths(own), [concat!("/", "nest/"); 2]);
    for fine in ["a/b/c", "https://example.org/a/b", "/dev/null", "// a / b / c", "</b>", "/b c"] {
        assert!(foreign_paths(fine).is_empty(), "{fine}");
    }
}

#[test]
fn a_change_is_tested_with_the_command_that_the_readme_gives() {
    const STAGE: &str = "stage test ";
    let tree = Tree::read();
    let mut offences = Offences::default();
    let script = tree.file(".ci/run").map_or("", |file| &file.text);
    let run = script.lines().find_map(|line| line.strip_prefix(STAGE));
    if run.is_none() {
        offences.add(".ci/run", 1, format!("runs no tests: add a line '{STAGE}cargo test ...'"));
    }
    let Some(readme) = tree.file("README.md") else {
        offences.add("README.md", 1, "is missing: write it, with the command that runs the tests");
        return offences.assert_none();
    };
    let mut lines = (1..).zip(readme.text.lines().map(|line| line.trim_start_matches("$ ")));
    match lines.find(|(_, line)| line.starts_with("cargo test")) {
        None => offences.add("README.md", 1, "gives no line 'cargo test ...': add it"),
        Some((number, line)) if Some(line) != run => {
            let what = format!("'{line}' is not what .ci/run runs: make them one");
            offences.add("README.md", number, what);
        }
        Some(_) => {}
    }
    offences.assert_none();
}
