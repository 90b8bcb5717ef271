//! Several terminals at once, as a page shows them.
//!
//! Each line of a block `sh terminals` is typed at a terminal of its own, the first at terminal 1.
//! In a block `console terminals`, `2> acquire` is typed at terminal 2, and `2  entered` is printed
//! there. `^\`, `^Z` and `fg` are what they are in a shell: the process is ended at once, stopped,
//! and continued.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::TryRecvError;
use std::thread;
use std::time::{Duration, Instant};

use crate::discovery::multicast;
use crate::support::node::{Node, addresses, signal, undisturbed};
use crate::support::{Folder, PATIENCE};

use super::fences::{Kind, fences};
use super::quotes::is_like;
use super::{Page, shell};

/// How addresses of this machine begin on a page. Tests take ports that are free.
const HERE: &str = "127.0.0.1:";
/// The multicast address of pages. Tests take one that nobody else uses.
const MULTICAST: &str = "239.255.0.1:7400";

/// Longer than a busy machine keeps a process waiting.
const PATIENT: &str = "--margin 3s";

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// What happens at a terminal.
enum Act<'p> {
    Typed(&'p str),
    Printed(&'p str),
}

/// Where the page shows it, at which terminal, and what.
type Step<'p> = (usize, usize, Act<'p>);

/// A page may show several groups of processes, each begun by a block `sh terminals`.
fn sessions(page: &str) -> Vec<Vec<Step<'_>>> {
    let mut sessions: Vec<Vec<Step<'_>>> = Vec::new();
    for fence in fences(page) {
        let steps = match fence.kind {
            Kind::Started => {
                sessions.push(Vec::new());
                let started = (1..).zip(&fence.lines);
                started
                    .map(|(terminal, &(line, text))| (line, terminal, Act::Typed(text)))
                    .collect()
            }
            Kind::Transcript => fence.lines.iter().map(|&(line, text)| step(line, text)).collect(),
            Kind::Commands | Kind::Session | Kind::Other => Vec::new(),
        };
        match sessions.last_mut() {
            Some(session) => session.extend(steps),
            None => assert!(steps.is_empty(), "a transcript before anything was started"),
        }
    }
    sessions
}

fn step(line: usize, text: &str) -> Step<'_> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (terminal, rest) = text.split_at(digits);
    let terminal = terminal.parse();
    let terminal = terminal.unwrap_or_else(|_| panic!("line {line} begins with no terminal"));
    let act = match rest.strip_prefix("> ") {
        Some(typed) => Act::Typed(typed),
        None => Act::Printed(rest.trim()),
    };
    (line, terminal, act)
}

/// What is wrong with the terminals of a page, if anything is.
pub(super) fn mistake(page: &Page) -> Option<String> {
    for session in sessions(&page.text) {
        // A port that was free may be taken before a process listens on it.
        let ended = (0..3)
            .map(|_| play(&session, &Folder::new("terminals")))
            .find(|it| !matches!(it, Err((_, why)) if why.contains("in use")));
        if let Some(Err((line, why))) = ended {
            return Some(format!("{}:{line}: {why}", page.path));
        }
    }
    None
}

/// Does what is typed, in this folder, and waits for what is printed before anything else is typed.
fn play(session: &[Step<'_>], folder: &Folder) -> Result<(), (usize, String)> {
    let commands = session.iter().filter_map(|(_, _, act)| match act {
        Act::Typed(text) => Some(*text),
        Act::Printed(_) => None,
    });
    let free = free_addresses(commands);
    let elsewhere = |text: &str| {
        free.iter().fold(text.to_owned(), |text, (shown, free)| text.replace(shown, free))
    };
    let mut nodes: BTreeMap<usize, Node> = BTreeMap::new();
    let mut printed = Vec::new();
    for (line, terminal, act) in session {
        let text = match act {
            Act::Printed(text) => {
                printed.push((*line, *terminal, elsewhere(text)));
                continue;
            }
            Act::Typed(text) => *text,
        };
        wait(&nodes, &mut printed)?;
        if text.starts_with("vorrang ") {
            let of_groups = ["--on-views", "--member ", "--join "];
            let is_group = of_groups.iter().any(|it| text.contains(it));
            let patient = if is_group { PATIENT } else { "" };
            let mut command = shell(&format!("exec {} {patient}", elsewhere(text)));
            command.current_dir(folder);
            nodes.insert(*terminal, Node::of(undisturbed(&command)));
            continue;
        }
        let node = nodes.get_mut(terminal).expect("a process was started there");
        match text {
            "^\\" => {
                signal(node, "QUIT");
                node.child.wait().expect("it ends");
            }
            "^Z" => signal(node, "STOP"),
            "fg" => signal(node, "CONT"),
            text => node.say(text),
        }
    }
    wait(&nodes, &mut printed)
}

/// For every address that the commands name, one that is free.
fn free_addresses<'p>(commands: impl Iterator<Item = &'p str>) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::new();
    for command in commands {
        for (at, _) in command.match_indices(HERE) {
            let port = &command[at + HERE.len()..];
            let end = port.find(|c: char| !c.is_ascii_digit()).unwrap_or(port.len());
            shown.insert(format!("{HERE}{}", &port[..end]), String::new());
        }
    }
    let free = addresses(shown.len());
    let multicast = (MULTICAST.to_owned(), multicast());
    shown.into_keys().zip(free).chain([multicast]).collect()
}

/// Waits until all of this was printed, on either output. Two threads write these, so what follows
/// from one thing typed may be printed in any order, and other lines between.
fn wait(
    nodes: &BTreeMap<usize, Node>,
    printed: &mut Vec<(usize, usize, String)>,
) -> Result<(), (usize, String)> {
    let begun = Instant::now();
    let mut seen = String::new();
    while let Some(&(line, terminal, ref wanted)) = printed.first() {
        let node = &nodes[&terminal];
        let read = node.out.try_recv().or_else(|out| node.err.try_recv().map_err(|err| [out, err]));
        let text = match read {
            Ok(text) => text,
            Err(ends) if ends.contains(&TryRecvError::Empty) && begun.elapsed() < PATIENCE => {
                thread::sleep(BETWEEN_LOOKS);
                continue;
            }
            Err(_) => return Err((line, format!("'{wanted}' is not printed, but this:\n{seen}"))),
        };
        let is_it = |(_, at, wanted): &(usize, usize, String)| {
            *at == terminal && is_like(wanted, text.trim())
        };
        match printed.iter().position(is_it) {
            Some(found) => drop(printed.remove(found)),
            None => seen = format!("{seen}{text}\n"),
        }
    }
    Ok(())
}

#[test]
fn terminals_that_do_something_else_are_found() {
    let page = |shown: &str| Page {
        path: "page.md".to_owned(),
        text: format!(
            "```sh terminals\nvorrang node --id 0 --peers 127.0.0.1:7000\n```\n\
             ```console terminals\n1> acquire\n1> quit\n1  {shown}\n```\n"
        ),
    };
    assert_eq!(mistake(&page("left")), None);
    let found = mistake(&page("right")).expect("it leaves");
    assert!(found.starts_with("page.md:7: 'right' is not printed"), "{found}");
}

/// What processes leave behind is gone with the terminals.
#[test]
fn terminals_write_nothing_where_the_tests_are_run() {
    let page = Page {
        path: "page.md".to_owned(),
        text: "```sh terminals\nvorrang node --on-views --data left-behind --id 0 --peers \
               127.0.0.1:7000\n```\n```console terminals\n1  view \u{2026} {0}\n1> quit\n1  left\n\
               ```\n"
            .to_owned(),
    };
    assert_eq!(mistake(&page), None);
    assert!(!Path::new("left-behind").exists());
}
