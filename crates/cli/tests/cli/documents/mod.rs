//! What `README.md` and the pages under `docs/` show is what the program does: every command is
//! run, and every line of output that a page quotes must be in what the program printed.
//!
//! A block of kind `sh` is a command a line; in one of kind `console` commands begin with `$`, and
//! the output follows. A line `…` in it leaves lines out, and `…` within a line leaves out a part.
//! `# exit code 1` behind a command says how it ends, if not with 0. The commands of a page run in
//! one folder, one after the other. `sh terminals` and `console terminals` are several processes
//! at once: see [`terminals`].
#![cfg(unix)]

mod fences;
mod links;
mod quotes;
mod terminals;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;

use crate::support::{Folder, end_of, root};

use fences::{Fence, Kind, fences};

/// Pages with a test of their own.
const ELSEWHERE: [&str; 1] = ["docs/gallery.md"];

/// What is told to readers and not run: it builds the program, or changes the reader's shell.
const NOT_RUN: [&str; 6] =
    ["cargo build ", "cargo test ", "cargo bench ", "cargo install ", "git clone ", "export PATH="];

/// How a page runs the program before it is on the path.
const BUILD_AND_RUN: &str = "cargo run --release -- ";

/// A page, by its path from the root.
struct Page {
    path: String,
    text: String,
}

fn pages() -> Vec<Page> {
    let docs = fs::read_dir(root().join("docs")).expect("there are documents");
    let docs = docs.map(|entry| PathBuf::from(entry.expect("it can be read").file_name()));
    let docs = docs.filter(|name| name.extension().is_some_and(|it| it == "md"));
    let mut paths: Vec<String> = docs.map(|name| format!("docs/{}", name.display())).collect();
    paths.push("README.md".to_owned());
    paths.retain(|path| !ELSEWHERE.contains(&path.as_str()));
    paths.sort();
    let read = |path: String| {
        let text = fs::read_to_string(root().join(&path)).expect("a page in UTF-8");
        Page { path, text }
    };
    paths.into_iter().map(read).collect()
}

/// A command of a page, and what it is said to print.
struct Shown<'p> {
    line: usize,
    text: String,
    code: i32,
    quoted: Vec<(usize, &'p str)>,
}

/// The commands of a page that are run, in order.
fn commands<'p>(fences: &[Fence<'p>]) -> Vec<Shown<'p>> {
    let mut commands: Vec<Shown<'p>> = fences.iter().flat_map(commands_of).collect();
    for command in &mut commands {
        let code = command.text.split_once("# exit code ").map(|(_, code)| code.trim());
        command.code = code.map_or(0, |code| code.parse().expect("an exit code"));
        if let Some(arguments) = command.text.strip_prefix(BUILD_AND_RUN) {
            command.text = format!("vorrang {arguments}");
        }
    }
    commands.retain(|it| !NOT_RUN.iter().any(|begin| it.text.starts_with(begin)));
    commands
}

/// The commands of a block as they are typed. A backslash at the end continues a command.
fn commands_of<'p>(fence: &Fence<'p>) -> Vec<Shown<'p>> {
    let mut commands: Vec<Shown<'p>> = Vec::new();
    for &(line, text) in &fence.lines {
        let typed = match fence.kind {
            Kind::Commands => Some(text),
            Kind::Session => text.strip_prefix("$ "),
            Kind::Started | Kind::Transcript | Kind::Other => return Vec::new(),
        };
        match (commands.last_mut(), typed) {
            (Some(last), _) if last.text.ends_with('\\') => {
                last.text.pop();
                last.text += text;
            }
            (_, Some(typed)) => {
                let text = typed.to_owned();
                commands.push(Shown { line, text, code: 0, quoted: Vec::new() });
            }
            (Some(last), None) => last.quoted.push((line, text)),
            (None, None) => panic!("line {line}: output before any command"),
        }
    }
    commands
}

/// Where programs are looked for: first where the program is that these tests are about.
fn path() -> OsString {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_vorrang"));
    let own = own.parent().expect("a program is in a folder").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let all = [own].into_iter().chain(env::split_paths(&others));
    env::join_paths(all).expect("no folder has a colon in its name")
}

/// A line as a shell does it.
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    // No core dump of what is ended from the keyboard.
    command.arg("-c").arg(format!("ulimit -c 0; {line}"));
    command.env("PATH", path()).env("NO_COLOR", "1");
    command.env_remove("VORRANG_LOG").env_remove("COLUMNS");
    command
}

/// What is wrong with a page, a line a mistake.
fn mistakes(page: &Page) -> Vec<String> {
    let fences = fences(&page.text);
    let mut mistakes: Vec<String> = Vec::new();
    let mut add =
        |line: usize, what: String| mistakes.push(format!("{}:{line}: {what}", page.path));
    for fence in fences.iter().filter(|fence| fence.kind == Kind::Other) {
        let looks = |text: &str| text.trim_start_matches("$ ").starts_with("vorrang ");
        if let Some((line, _)) = fence.lines.iter().find(|(_, text)| looks(text)) {
            add(*line, "a command that is not run: make the block sh or console".to_owned());
        }
    }
    let folder = Folder::new(&page.path.replace('/', "-"));
    for Shown { line, text, code, quoted } in commands(&fences) {
        let child = shell(&format!("exec 2>&1; {text}"))
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let (ended, out, _) = end_of(child.expect("there is a shell"), &[&text]);
        if ended != code {
            add(line, format!("ends with {ended} and not with {code}: {text}\n{out}"));
        } else if let Some((line, what)) = quotes::difference(&quoted, &out) {
            add(line, format!("{what}\n{text}\n{out}"));
        }
    }
    mistakes
}

/// The program that commands of the lock service are handed over to. A test of the whole workspace
/// builds it; one of this crate alone must do so itself.
fn with_the_lock_service() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let own = PathBuf::from(env!("CARGO_BIN_EXE_vorrang"));
        if own.with_file_name("vorrang-service").exists() {
            return;
        }
        let folder = own.ancestors().nth(2).expect("target/debug/vorrang");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--profile", "test", "--package", "vorrang-service"]);
        cargo.args(["--target-dir".as_ref(), folder.as_os_str()]).current_dir(root());
        assert!(cargo.status().expect("cargo is there").success(), "it is built");
    });
}

#[test]
fn every_command_of_a_page_does_what_the_page_says() {
    with_the_lock_service();
    let pages = pages();
    let found: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|page| scope.spawn(|| mistakes(page))).collect();
        threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn processes_at_several_terminals_do_what_the_page_says() {
    with_the_lock_service();
    let found: Vec<String> = pages().iter().filter_map(terminals::mistake).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_page_that_is_wrong_is_found() {
    let wrong = |text: &str| {
        let path = format!("wrong-{}.md", text.len());
        mistakes(&Page { path, text: text.to_owned() })
    };
    assert_eq!(wrong("```sh\nvorrang explain lamport\n```\n"), [""; 0]);
    assert_eq!(wrong("```sh\nvorrang explain no-such # exit code 2\n```\n"), [""; 0]);
    let found = wrong("\n```sh\nvorrang explain \\\n  no-such\n```\n");
    assert!(found[0].contains(".md:3: ends with 2 and not with 0"), "{found:?}");
    let found = wrong("```console\n$ vorrang explain lamport\nRicart–Agrawala\n…\n```\n");
    assert!(found[0].contains(".md:3: 'Ricart–Agrawala' is not printed"), "{found:?}");
    let found = wrong("```\nvorrang explain lamport\n```\n");
    assert!(found[0].contains("not run"), "{found:?}");
}
