//! What lies beside the code: documents, licences, and the script that checks a change.

use vorrang_tidy::{Offences, Tree};

/// What readers look for, and what they expect there.
const DOCUMENTS: [(&str, &str); 9] = [
    ("README.md", "what this is and how to use it"),
    ("ARCHITECTURE.md", "how it is built and why"),
    ("CONTRIBUTING.md", "how to change it"),
    ("CHANGELOG.md", "what has changed"),
    ("deny.toml", "which licences and sources are welcome"),
    ("SECURITY.md", "what is promised to whom, and how to report that it fails"),
    (".ci/run", "what a change must pass"),
    (WORKFLOW, "when a change must pass it"),
    (REPORT, "how somebody says that something is wrong"),
];

const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

const WORKFLOW: &str = ".github/workflows/ci.yml";
const REPORT: &str = ".github/ISSUE_TEMPLATE/wrong.yml";

const GLOSSARY: &str = "docs/glossary.md";
/// More words than that nobody learns before reading.
const MOST_WORDS: usize = 40;

/// Bytes in the page that newcomers read first.
const README_LIMIT: usize = 10_000;

/// Folders that are on every machine; any other absolute path is somebody's own.
const ON_EVERY_MACHINE: [&str; 9] =
    ["bin", "dev", "etc", "proc", "run", "srv", "tmp", "usr", "var"];

/// Where paths of the daemon's HTTP interface begin, and where they do not.
const OF_THE_INTERFACE: [&str; 2] = ["v1", "v2"];

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

/// There is one list of checks. A workflow that had another would pass what nobody can run.
#[test]
fn the_workflow_calls_the_script_and_checks_nothing_by_itself() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for (line, what) in workflow_offences(tree.text(WORKFLOW)) {
        offences.add(WORKFLOW, line, what);
    }
    offences.assert_none();
}

/// What a workflow does beside calling the script, and in which line.
fn workflow_offences(text: &str) -> Vec<(usize, &'static str)> {
    let mut found: Vec<(usize, &str)> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.split_whitespace().any(|word| word == "cargo"))
        .map(|(number, _)| (number, "checks something by itself: add it to .ci/run"))
        .collect();
    if !text.lines().any(|line| line.trim() == "run: .ci/run") {
        found.push((1, "does not run .ci/run"));
    }
    found
}

#[test]
fn a_workflow_with_checks_of_its_own_is_found() {
    assert_eq!(workflow_offences("  run: .ci/run\n"), []);
    assert_eq!(workflow_offences("  run: .ci/run\n  run: cargo test\n")[0].0, 2);
    assert_eq!(workflow_offences("  run: make\n")[0].1, "does not run .ci/run");
}

/// A report without the command that reproduces it costs two people an evening.
#[test]
fn reports_are_asked_for_the_command_that_reproduces() {
    let tree = Tree::read();
    for path in [REPORT, "SECURITY.md"] {
        let text = tree.text(path);
        assert!(text.contains("reproduces"), "{path} does not ask for the command");
        assert!(text.contains("vorrang --version"), "{path} does not ask for the version");
    }
    // Sections of a form up to the next one.
    let command = tree.text(REPORT).split("  - type:").find(|it| it.contains("id: command"));
    assert!(command.is_some_and(|it| it.contains("required: true")), "it may be left out");
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
fn the_readme_is_read_in_five_minutes() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    let length = tree.text("README.md").len();
    if length > README_LIMIT {
        let what = format!("{length} bytes, {README_LIMIT} is the limit: move a part to docs/");
        offences.add("README.md", 1, what);
    }
    offences.assert_none();
}

#[test]
fn the_glossary_is_short_and_in_two_languages() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for (line, what) in glossary_offences(tree.text(GLOSSARY)) {
        offences.add(GLOSSARY, line, what);
    }
    offences.assert_none();
}

/// What is wrong with a glossary, and in which line.
fn glossary_offences(text: &str) -> Vec<(usize, String)> {
    let is_row = |line: &str| line.starts_with("| ") && !line.starts_with("| ---");
    // The first row says what the columns are.
    let rows = (1..).zip(text.lines()).filter(|(_, line)| is_row(line)).skip(1);
    let rows: Vec<(usize, Vec<&str>)> = rows
        .map(|(number, line)| (number, line.trim_matches('|').split('|').map(str::trim).collect()))
        .collect();
    let mut found = Vec::new();
    for (number, cells) in &rows {
        if cells.len() != 3 || cells.iter().any(|cell| cell.is_empty()) {
            let what = "an entry is a word in English, the same in German, and its meaning";
            found.push((*number, what.to_owned()));
        }
    }
    for ((_, before), (number, after)) in rows.iter().zip(rows.iter().skip(1)) {
        if before[0].to_lowercase() >= after[0].to_lowercase() {
            found.push((*number, format!("'{}' comes before '{}'", after[0], before[0])));
        }
    }
    if rows.is_empty() || rows.len() > MOST_WORDS {
        let what = format!("{} entries, {MOST_WORDS} is the limit: leave some out", rows.len());
        found.push((1, what));
    }
    found
}

#[test]
fn a_glossary_that_is_long_unsorted_or_in_one_language_is_found() {
    let lines = |rows: &str| {
        let text = format!("| English | German | meaning |\n| --- | --- | --- |\n{rows}");
        glossary_offences(&text).into_iter().map(|(line, _)| line).collect::<Vec<usize>>()
    };
    assert_eq!(lines("| a | b | c |\n| B | c | d |\n"), [0; 0]);
    assert_eq!(lines("| a | b | c |\n| b | | d |\n"), [4]);
    assert_eq!(lines("| b | b | c |\n| a | c | d |\n"), [4]);
    assert_eq!(lines("| a | b | c |\n| a | c | d |\n"), [4]);
    assert_eq!(lines(""), [1]);
    let many: Vec<String> = (100..=140).map(|it| format!("| {it} | b | c |")).collect();
    assert_eq!(lines(&many.join("\n")), [1]);
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
        let is_known = ON_EVERY_MACHINE.contains(&name) || OF_THE_INTERFACE.contains(&name);
        (is_path && !is_known).then(|| &line[at..=end])
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
